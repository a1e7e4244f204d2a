// balance_kept.c: what closed elements keep: the equations of forces in balance do not know how much oil is in a
// cylinder, but it stays the same on every way to rest.
//
// Where n'b vanishes whatever the unknowns are, n'b = 0 says nothing about an equilibrium, and n'r follows the motion
// alone: n'(dr - b_v dp) = 0. An element that knows the amount c_i(p, r_i) behind its state (kd_eom_def.content, W_i
// its slope by r_i: dc_i = W_i (dr_i - b_v dp)_i) keeps n'c; all other states keep n'(r - the integral of b_v dp along
// the way), c = r and W = 1. So the equations get the rows
//     0 = n'(c - c_start - drift),   derivatives n'W by r and -n'W b_v by p,
// n in the left null space of W b_x, x all unknowns and held positions, found by a QR decomposition with pivoting of
// its transpose, rows of length 1: a dependent row i is a combination of independent ones, n = e_i - sum.
#include <math.h>
#include <string.h>

#include "analysis/balance.h"
#include "math/dense.h"

enum { PARTS = 4 };               // of a step, each by the classical Runge-Kutta method
static const double RANK = 1e-10; // rows of length 1 whose remainder is shorter depend on others
static const double NONE = 1e-12; // a row this small beside its derivative by velocities is 0

void kd_kept_cut(kd_kept *k, kd_arena *arena, const kd_dims *n, int columns)
{
    const int nr = n->nr, all = columns + n->nv;
    k->nr = nr;
    k->N = kd_cut_matrix(arena, nr, nr);
    k->N_new = kd_cut_matrix(arena, nr, nr);
    k->row = kd_cut_int(arena, nr);
    k->replaced = kd_cut_bool(arena, nr);
    k->own = kd_cut_bool(arena, nr);
    k->c = kd_cut_double(arena, nr);
    k->c_start = kd_cut_double(arena, nr);
    k->W = kd_cut_double(arena, nr);
    k->drift = kd_cut_double(arena, nr);
    k->drift_trial = kd_cut_double(arena, nr);
    k->length = kd_cut_double(arena, nr);
    k->A = kd_cut_matrix(arena, all, nr);
    k->tau = kd_cut_double(arena, nr);
    k->work = kd_cut_double(arena, kd_qr_work(all, nr) + all + nr);
    k->pivot = kd_cut_int(arena, nr);
    k->b_v = kd_cut_matrix(arena, nr, n->nv);
    k->r = kd_cut_double(arena, nr);
    k->p = kd_cut_double(arena, n->np);
    k->e = kd_cut_double(arena, n->nv);
    for (int i = 0; i < 4; i++) k->slope[i] = kd_cut_double(arena, nr);
}

// c and W at the point of b->data, whose inner states are r
static kd_eval read_content(kd_balance *b, const double *r)
{
    kd_kept *k = &b->kept;
    kd_eval  answer = kd_eom_content(b->data, k->c, k->W);
    for (int i = 0; i < k->nr && answer == KD_EVAL_OK; i++) {
        k->own[i] = !isnan(k->c[i]);
        if (!k->own[i]) k->c[i] = r[i], k->W[i] = 1;
    }
    return answer;
}

kd_eval kd_kept_start(kd_balance *b)
{
    kd_kept *k = &b->kept;
    if (k->nr == 0) return KD_EVAL_OK;
    const kd_eval answer = read_content(b, b->x->r);
    memcpy(k->c_start, k->c, (size_t)k->nr * sizeof(double));
    return answer;
}

// ---- which combinations ---------------------------------------------------------------------------------------------

// Columns of A: the rows W b_x, each of length 1 or 0
static void list_rows(const kd_balance *b, kd_kept *k)
{
    const int     nv = b->n.nv, nr = k->nr, all = b->columns + nv, first = b->first[1];
    const double *b_p = b->block[1][0], *b_v = b->block[1][1];
    for (int i = 0; i < nr; i++) {
        double *to = k->A + (size_t)i * (size_t)all, fast = 0;
        // row i of b_x: by all unknowns, scaled, then by all positions, held or not
        for (int j = 0; j < b->columns; j++)
            to[j] = b->J[(size_t)j * (size_t)b->rows + (size_t)(first + i)] * b->column_scale[j];
        for (int j = 0; j < nv; j++) to[b->columns + j] = b_p ? b_p[(size_t)j * (size_t)nr + (size_t)i] : 0;
        for (int j = 0; j < nv && b_v; j++) fast = fmax(fast, fabs(b_v[(size_t)j * (size_t)nr + (size_t)i]));
        // rounding of a row that its velocities alone make is no row
        const double length = sqrt(kd_dot(all, to, to));
        k->length[i] = length > NONE * fast ? length * fabs(k->W[i]) : 0;
        for (int j = 0; j < all; j++) to[j] = k->length[i] > 0 ? to[j] / length : 0;
    }
}

// A base of the left null space in N, and the rows of b that it stands for; how many
static int find_base(const kd_balance *b, kd_kept *k, double *N)
{
    const int nr = k->nr, all = b->columns + b->n.nv;
    list_rows(b, k);
    bool none = true;
    for (int i = 0; i < nr; i++) none = none && k->length[i] == 0;
    for (int i = 0; i < nr; i++) k->pivot[i] = i;
    // the pivots are the independent rows
    const int rank = none ? 0 : kd_qr_pivot(all, nr, k->A, k->pivot, k->tau, RANK, k->work);
    memset(N, 0, (size_t)nr * (size_t)nr * sizeof(double));
    for (int i = 0; i < nr; i++) k->replaced[i] = false;
    // each dependent row is share' (independent ones): n = e_row - share, undone of the scaling to length 1
    for (int d = rank; d < nr; d++) {
        const int row = k->pivot[d];
        double   *n = N + (size_t)(d - rank) * (size_t)nr, *share = k->work;
        memcpy(share, k->A + (size_t)d * (size_t)all, (size_t)rank * sizeof(double));
        if (rank > 0) kd_qr_solve_r(rank, k->A, all, share, 1);
        n[row] = 1;
        for (int j = 0; j < rank && k->length[row] > 0; j++)
            if (fabs(share[j]) > RANK) n[k->pivot[j]] = -share[j] * k->length[row] / k->length[k->pivot[j]];
        k->row[d - rank] = row;
        k->replaced[row] = true;
    }
    return nr - rank;
}

bool kd_kept_find(kd_balance *b)
{
    kd_kept *k = &b->kept;
    if (k->nr == 0 || read_content(b, b->x->r) != KD_EVAL_OK) return false;
    const int count = find_base(b, k, k->N_new);
    // the same combinations as before? Then nothing is new
    double change = count == k->count ? 0 : 1;
    for (int i = 0; i < k->nr * count && change < 1; i++) {
        const double size = fmax(fabs(k->N[i]), fabs(k->N_new[i]));
        if (size > 0) change = fmax(change, fabs(k->N_new[i] - k->N[i]) / size);
    }
    if (change < 1e-12) return false;
    memcpy(k->N, k->N_new, (size_t)k->nr * (size_t)k->nr * sizeof(double));
    k->count = count;
    return true;
}

// ---- equations ------------------------------------------------------------------------------------------------------

kd_eval kd_kept_evaluate(kd_balance *b, const kd_state *x, double *F)
{
    kd_kept *k = &b->kept;
    if (k->nr == 0) return KD_EVAL_OK;
    const double *drift = x == b->trial ? k->drift_trial : k->drift;
    const kd_eval answer = k->count > 0 ? read_content(b, x->r) : KD_EVAL_OK;
    memset(F, 0, (size_t)k->nr * sizeof(double));
    for (int m = 0; m < k->count && answer == KD_EVAL_OK; m++)
        for (int i = 0; i < k->nr; i++)
            F[m] +=
                k->N[(size_t)m * (size_t)k->nr + (size_t)i] * (k->c[i] - k->c_start[i] - (k->own[i] ? 0 : drift[i]));
    return answer;
}

kd_eval kd_kept_differentiate(kd_balance *b)
{
    kd_kept *k = &b->kept;
    if (k->count == 0) return KD_EVAL_OK;
    const kd_eval answer = read_content(b, b->x->r);
    const double *b_v = b->block[1][1];
    for (int j = 0; j < b->columns && answer == KD_EVAL_OK; j++) {
        const int at = b->column[j].index;
        double   *column = b->J + (size_t)j * (size_t)b->rows + k->first;
        for (int m = 0; m < k->count; m++) {
            const double *n = k->N + (size_t)m * (size_t)k->nr;
            // n'W by r, -n'W b_v by p
            if (b->column[j].var == KD_R) column[m] = n[at] * k->W[at];
            if (b->column[j].var != KD_P || !b_v) continue;
            for (int i = 0; i < k->nr; i++)
                if (n[i] != 0) column[m] -= n[i] * k->W[i] * b_v[(size_t)at * (size_t)k->nr + (size_t)i];
        }
    }
    return answer;
}

// ---- drift ----------------------------------------------------------------------------------------------------------

// Is there a state without content of its own that is kept and that velocities change?
static bool is_drifting(const kd_balance *b)
{
    const kd_kept *k = &b->kept;
    const double  *b_v = b->block[1][1];
    bool           drifts = false;
    for (int i = 0; i < k->nr && b_v; i++)
        for (int m = 0; m < k->count && !k->own[i] && !drifts; m++)
            for (int j = 0; j < b->n.nv && k->N[(size_t)m * (size_t)k->nr + (size_t)i] != 0; j++)
                drifts = drifts || b_v[(size_t)j * (size_t)k->nr + (size_t)i] != 0;
    return drifts;
}

// b_v e at p oplus share e with the states r, of those that are kept
static kd_eval drift_rate(kd_balance *b, const kd_state *x, const double *e, double share, const double *r,
                          double *rate)
{
    kd_kept  *k = &b->kept;
    kd_blocks blocks = {0};
    // p oplus share e
    for (int j = 0; j < b->n.nv; j++) k->e[j] = share * e[j];
    kd_eval answer = kd_eom_oplus(b->data, x->p, k->e, k->p);
    if (answer != KD_EVAL_OK) return answer;
    blocks.block[KD_B][KD_V] = k->b_v;
    kd_eom_at_position(b->data, k->p, x->s);
    kd_eom_at_velocity(b->data, x->v, r);
    kd_eom_at_acceleration(b->data, x->a, x->w, x->lambda, x->mu);
    answer = kd_eom_derivatives(b->data, KD_PART_ALL, &blocks);
    // b_v e, 0 for states whose content is known
    for (int i = 0; i < k->nr; i++) {
        rate[i] = 0;
        for (int j = 0; j < b->n.nv && !k->own[i] && k->length[i] == 0; j++)
            rate[i] += k->b_v[(size_t)j * (size_t)k->nr + (size_t)i] * e[j];
    }
    return answer;
}

kd_eval kd_kept_drift(kd_balance *b, const kd_state *x, const double *e)
{
    static const double AT[] = {0, 0.5, 0.5, 1}, WEIGHT[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    kd_kept            *k = &b->kept;
    kd_eval             answer = KD_EVAL_OK;
    if (k->nr == 0) return answer;
    memcpy(k->drift_trial, k->drift, (size_t)k->nr * sizeof(double));
    if (k->count == 0 || !is_drifting(b)) return answer;
    for (int part = 0; part < PARTS; part++)
        for (int stage = 0; stage < 4 && answer == KD_EVAL_OK; stage++) {
            const double h = 1.0 / PARTS;
            // states at the stage: r + drift so far + h AT slope
            for (int i = 0; i < k->nr; i++)
                k->r[i] = x->r[i] + k->drift_trial[i] - k->drift[i] +
                          (stage > 0 ? h * AT[stage] * k->slope[stage - 1][i] : 0);
            answer = drift_rate(b, x, e, h * (part + AT[stage]), k->r, k->slope[stage]);
            // drift += h sum WEIGHT slope
            for (int i = 0; i < k->nr && stage == 3; i++)
                for (int s = 0; s < 4; s++) k->drift_trial[i] += h * WEIGHT[s] * k->slope[s][i];
        }
    return answer;
}
