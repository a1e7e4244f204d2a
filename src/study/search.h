// study/search.h: one search of a study as it runs.
#ifndef KD_STUDY_SEARCH_H
#define KD_STUDY_SEARCH_H

#include "study/search_methods.h"
#include "study/study.h"

typedef struct kd_searcher {
    kd_study        *study;
    const kd_search *q;
    int              k, p, first; // the search; parameters; its first row
    int              used, most;  // rows
    int              objective;   // -1: a point of the front
    double           c[KD_SEARCH_OBJECTIVES], ideal[KD_SEARCH_OBJECTIVES], width[KD_SEARCH_OBJECTIVES]; // of the front
    double           size, worst; // of the objective: what it is divided by; the largest so far
    double           scale[KD_SEARCH_CONSTRAINTS];
    bool (*make)(void *context, int row);
    void               *context;
    struct nlopt_opt_s *opt;
    bool                stopped, full;
} kd_searcher;

static inline const double *kd_searcher_point(const kd_searcher *f, int row)
{
    return f->q->point + (size_t)row * (size_t)f->p;
}

static inline bool kd_searcher_is_good(const kd_study *s, int row)
{
    return s->cell[row].done && s->cell[row].status >= 0;
}

static inline double kd_searcher_value(const kd_study *s, int row, int output)
{
    return s->values[(size_t)row * (size_t)s->noutputs + (size_t)output];
}

// Search k; a point of the front is placed between what the first stage has found. false: that has found nothing.
bool kd_searcher_init(kd_searcher *f, kd_study *study, int k);
// Of a row that did not fail: its objective, or how far along the ray it lies (the largest of the normalised objectives less c).
double kd_searcher_merit(const kd_searcher *f, int row);
double kd_searcher_normalised(const kd_searcher *f, int row, int i);
// The best of some rows, feasible if there is one; -1: all failed.
int kd_searcher_best(const kd_searcher *f, int first, int last);
// u of the first point; false: there is none. u of a row.
bool kd_searcher_start(const kd_searcher *f, double *u);
void kd_searcher_place(const kd_searcher *f, int row, double *u);

#endif
