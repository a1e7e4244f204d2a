// best.c: what the searches of a study have found: the best rows, the front, the searches one by one.
#include <math.h>
#include <stdlib.h>

#include "study/search.h"

static bool is_wrong_row(const kd_study *s, int row)
{
    return row < 0 || row >= kd_study_rows(s) || !s->cell[row].done || s->cell[row].status < 0;
}

int kd_study_objectives(const kd_study *s)
{
    return s ? s->search.nobjectives : 0;
}

int kd_study_objective(const kd_study *s, int i, bool *largest)
{
    if (i < 0 || i >= kd_study_objectives(s)) return -1;
    if (largest) *largest = s->search.objective[i].sign < 0;
    return s->search.objective[i].output;
}

bool kd_study_feasible(const kd_study *s, int row)
{
    return !is_wrong_row(s, row) && kd_search_is_feasible(s, row);
}

// The best of some rows, the first of equal ones
static int best_of(const kd_study *s, int objective, int first, int last)
{
    int best = -1;
    for (int row = first; row < last; row++)
        if (kd_study_feasible(s, row) &&
            (best < 0 || kd_search_objective(s, row, objective) < kd_search_objective(s, best, objective)))
            best = row;
    return best;
}

int kd_study_best(const kd_study *s, int objective)
{
    return objective >= 0 && objective < kd_study_objectives(s) ? best_of(s, objective, 0, kd_study_rows(s)) : -1;
}

// ---- the front ------------------------------------------------------------------------------------------------------

// Is b at least as good in everything, and better in something, or the same and earlier?
static bool is_beaten(const kd_study *s, int a, int b)
{
    bool better = false;
    for (int i = 0; i < s->search.nobjectives; i++) {
        const double x = kd_search_objective(s, a, i), y = kd_search_objective(s, b, i);
        if (y > x) return false;
        better = better || y < x;
    }
    return better || b < a;
}

typedef struct candidate {
    const kd_study *study;
    int             row;
} candidate;

// By the objectives in their order, then by the row
static int compare(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    for (int i = 0; i < x->study->search.nobjectives; i++) {
        const double p = kd_search_objective(x->study, x->row, i), q = kd_search_objective(y->study, y->row, i);
        if (p != q) return p < q ? -1 : 1;
    }
    return x->row - y->row;
}

// Sorted by the first objective, a row can only be beaten by one before it that is on the front itself
int kd_study_front(const kd_study *s, int *row, int size)
{
    const int rows = kd_study_objectives(s) > 0 ? kd_study_rows(s) : 0;
    int       n = 0, m = 0;
    // feasible rows only
    for (int i = 0; i < rows; i++) n += kd_study_feasible(s, i);
    candidate *list = n > 0 ? kd_alloc((size_t)n * sizeof *list) : NULL;
    if (!list) return 0;
    n = 0;
    for (int i = 0; i < rows; i++)
        if (kd_study_feasible(s, i)) list[n++] = (candidate){s, i};
    qsort(list, (size_t)n, sizeof *list, compare);
    // the front grows in place: m of them are on it
    for (int i = 0; i < n; i++) {
        bool beaten = false;
        for (int j = m - 1; j >= 0 && !beaten; j--) beaten = is_beaten(s, list[i].row, list[j].row);
        if (!beaten) list[m++] = list[i];
    }
    for (int i = 0; row && i < m && i < size; i++) row[i] = list[i].row;
    kd_free(list);
    return m;
}

// ---- searches -------------------------------------------------------------------------------------------------------

int kd_study_searches(const kd_study *s)
{
    return s ? s->search.nsearches : 0;
}

// By its own measure: an objective, or the place on its ray
static int best_row(const kd_study *s, int k, int runs)
{
    kd_searcher f;
    if (!kd_searcher_init(&f, (kd_study *)s, k)) return -1; // reads only
    const int best = kd_searcher_best(&f, f.first, f.first + runs);
    return best >= 0 && kd_search_is_feasible(s, best) ? best : -1;
}

kd_study_search kd_study_search_of(const kd_study *s, int i)
{
    kd_study_search r = {.objective = -1, .best = -1, .end = "", .gradient_error = NAN};
    if (i < 0 || i >= kd_study_searches(s)) return r;
    const kd_search     *q = &s->search;
    const kd_search_end *end = &q->end[i];
    r.done = end->done, r.first = i * q->runs, r.runs = end->used, r.gradient_error = end->gradient_error;
    if (!r.done)
        while (r.runs < q->runs && s->cell[r.first + r.runs].done) r.runs++;
    if (kd_search_is_first(s, i)) r.objective = i / q->starts;
    r.best = best_row(s, i, r.runs);
    if (r.done) r.end = kd_search_words(end->code);
    return r;
}
