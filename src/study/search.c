// search.c: the best parameters of a study, by the methods of NLopt.
//
//     minimise f(theta),  g(theta) <= 0,  theta = a + (b - a) u,  0 <= u <= 1
//
// Several objectives give a front. After the best of each alone, a search for point c of the front (c on the plane through the minima, in
// normalised objectives F_i = (f_i - ideal_i)/(nadir_i - ideal_i)) minimises t with F_i - c_i <= t: the point where the ray from c along
// (1, .., 1) meets the front (Pascoletti, Serafini, JOTA 42 (1984) 499), be it convex or not.
//
// A search is a function of the study and its number: random numbers are seeded by it, and it sees its own rows only (for the front: and
// those of the first stage, which are complete by then). A row that is there already, from a call that was killed, is not made again: the
// search is replayed through it. Runs that fail are worse than all that went before. Gradients are central differences of runs.
#include "study/search.h"

#include <math.h>
#include <string.h>

static const double FEASIBLE = 1e-6; // of the limit of a constraint, by which it may be passed

void kd_search_prepare(kd_study *s)
{
    kd_search *q = &s->search;
    q->point = kd_cut_matrix(&s->arena, s->design.nrows, s->nparameters);
    q->end = kd_arena_cut(&s->arena, (size_t)q->nsearches, sizeof *q->end);
    s->design.list = q->point;
    // starts beside the first: a Latin hypercube
    q->others = (kd_design){.kind = KD_DESIGN_LATIN,
                            .nparameters = s->nparameters,
                            .distribution = s->distribution,
                            .n = q->starts,
                            .seed = q->seed};
    char why[100];
    if (kd_design_prepare(&q->others, &s->arena, why, sizeof why) < 0) s->arena.failed = true;
    // the model's own values, where they lie inside
    kd_parameter_info list[KD_STUDY_MOST];
    const int         n = s->model ? kd_model_parameters(s->model, list, KD_STUDY_MOST) : 0;
    for (int i = 0; i < s->nparameters; i++) {
        const double a = s->distribution[i].a, b = s->distribution[i].b;
        const int    j = s->model ? kd_model_parameter_index(s->model, s->parameter[i]) : -1;
        if (!isnan(q->start[i])) continue;
        q->start[i] = j >= 0 && j < n && j < KD_STUDY_MOST ? list[j].value : NAN;
        if (!(q->start[i] >= a && q->start[i] <= b)) q->start[i] = 0.5 * (a + b);
    }
}

double kd_search_objective(const kd_study *s, int row, int i)
{
    return s->search.objective[i].sign * kd_searcher_value(s, row, s->search.objective[i].output);
}

bool kd_search_is_feasible(const kd_study *s, int row)
{
    for (int i = 0; i < s->search.nconstraints; i++) {
        const double g = kd_searcher_value(s, row, s->search.constraint[i].output);
        if (!((s->search.constraint[i].equal ? fabs(g) : g) <= s->search.constraint[i].size * FEASIBLE)) return false;
    }
    return true;
}

bool kd_search_is_first(const kd_study *s, int k)
{
    return k < s->search.nobjectives * s->search.starts;
}

// ---- what is minimised ----------------------------------------------------------------------------------------------

double kd_searcher_normalised(const kd_searcher *f, int row, int i)
{
    return (kd_search_objective(f->study, row, i) - f->ideal[i]) / f->width[i] - f->c[i];
}

// Of a row that did not fail: its objective, or how far along the ray it lies
double kd_searcher_merit(const kd_searcher *f, int row)
{
    if (f->objective >= 0) return kd_search_objective(f->study, row, f->objective);
    double most = kd_searcher_normalised(f, row, 0);
    for (int i = 1; i < f->q->nobjectives; i++) most = fmax(most, kd_searcher_normalised(f, row, i));
    return most;
}

// ---- where it begins ------------------------------------------------------------------------------------------------

// The best row of the search so far, feasible if there is one; -1: all failed
int kd_searcher_best(const kd_searcher *f, int first, int last)
{
    int  best = -1;
    bool feasible = false;
    for (int row = first; row < last; row++) {
        if (!kd_searcher_is_good(f->study, row)) continue;
        const bool fits = kd_search_is_feasible(f->study, row);
        if (best >= 0 && (feasible && !fits)) continue;
        if (best < 0 || (fits && !feasible) || kd_searcher_merit(f, row) < kd_searcher_merit(f, best))
            best = row, feasible = fits;
    }
    return best;
}

// Ideal and nadir of the front by the best rows of the first stage; false: an objective has none
static bool frame_front(kd_searcher *f)
{
    const kd_search *q = f->q;
    int              best[KD_SEARCH_OBJECTIVES];
    for (int i = 0; i < q->nobjectives; i++) {
        f->objective = i;
        best[i] = kd_searcher_best(f, i * q->starts * q->runs, (i + 1) * q->starts * q->runs);
        if (best[i] < 0) return false;
    }
    f->objective = -1;
    for (int i = 0; i < q->nobjectives; i++) {
        double most = -INFINITY;
        f->ideal[i] = kd_search_objective(f->study, best[i], i);
        for (int j = 0; j < q->nobjectives; j++) most = fmax(most, kd_search_objective(f->study, best[j], i));
        f->width[i] = fmax(most - f->ideal[i], 1e-9 * (fabs(f->ideal[i]) + 1e-300));
    }
    return true;
}

// Place of point number of n on the plane through the minima: evenly on a line, by counted numbers beyond
static void choose_point(kd_searcher *f, int number, int n)
{
    const kd_search *q = f->q;
    double           sum = 0;
    if (q->nobjectives == 2) {
        f->c[0] = (number + 1.0) / (n + 1.0), f->c[1] = 1 - f->c[0];
        return;
    }
    // uniform on the simplex: exponential numbers over their sum; the numbers of a Latin hypercube
    double          u[KD_SEARCH_OBJECTIVES];
    kd_distribution unit[KD_SEARCH_OBJECTIVES];
    for (int i = 0; i < q->nobjectives; i++) unit[i] = (kd_distribution){.kind = KD_UNIFORM, .a = 0, .b = 1};
    const kd_design plane = {
        .kind = KD_DESIGN_SOBOL, .nparameters = q->nobjectives, .distribution = unit, .n = n, .seed = q->seed + 1};
    kd_design_row(&plane, number, u);
    for (int i = 0; i < q->nobjectives; i++) sum += f->c[i] = -log(u[i]);
    for (int i = 0; i < q->nobjectives; i++) f->c[i] /= sum;
}

// u of the first point; false: there is none
bool kd_searcher_start(const kd_searcher *f, double *u)
{
    const kd_search *q = f->q;
    double           theta[KD_STUDY_MOST];
    if (f->objective >= 0) {
        const int start = f->k % q->starts;
        memcpy(theta, q->start, (size_t)f->p * sizeof *theta);
        if (start > 0) kd_design_row(&q->others, start, theta);
    } else {
        const int row = kd_searcher_best(f, 0, q->nobjectives * q->starts * q->runs);
        if (row < 0) return false;
        memcpy(theta, kd_searcher_point(f, row), (size_t)f->p * sizeof *theta);
    }
    for (int i = 0; i < f->p; i++) {
        const double a = f->study->distribution[i].a, b = f->study->distribution[i].b;
        u[i] = fmin(1, fmax(0, (theta[i] - a) / (b - a)));
    }
    return true;
}

void kd_searcher_place(const kd_searcher *f, int row, double *u)
{
    for (int i = 0; i < f->p; i++) {
        const double a = f->study->distribution[i].a, b = f->study->distribution[i].b;
        u[i] = fmin(1, fmax(0, (kd_searcher_point(f, row)[i] - a) / (b - a)));
    }
}

bool kd_searcher_init(kd_searcher *f, kd_study *s, int k)
{
    const kd_search *q = &s->search;
    const int        first_stage = q->nobjectives * q->starts;
    *f = (kd_searcher){.study = s, .q = q, .k = k, .p = s->nparameters, .first = k * q->runs};
    f->objective = k < first_stage ? k / q->starts : -1;
    if (f->objective >= 0) return true;
    choose_point(f, k - first_stage, q->front);
    return frame_front(f);
}
