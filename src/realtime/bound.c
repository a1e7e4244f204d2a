// bound.c: bound of the position error of steps with one projection (S4 section 3, Eq. 10 to 13).
//
// p~ = p0 oplus h v0 with G v0 = 0 leaves g(p~) = g(p0) + h^2 R1; the projection dp = -P g(p~), G(p0) P = 1, leaves what
// G changes along h v0 and along dp. In the largest components, with
//
//     A1 = 1/2 |g_pp(v, v)|,  A2 = 1/2 max |g_pp(P x, P x)|,  A3 = max |g_pp(v, P x)|   over |x| <= 1
//     |g_n+1| <= C2 |g_n|^2 + h C1 |g_n| + h^3 C0,  C2 = A2,  C1 = A3 + 2 h A2 A1,  C0 = A3 A1 + h A2 A1^2
//
// the error stays below the smaller fixed point of the right-hand side if h C1 < 1 and (1 - h C1)^2 > 4 h^3 C0 C2.
//
// S4 prints C1 = A3 + h A2 A1, but its own quadratic form has 2 h^2 R2(P R1, P g): a point on a circle exceeds the bound
// otherwise.
//
// g_pp(v, v) is gII without accelerations. The matrices D_j = d(GZ P e_j)/dp give both others: A3 has the columns D_j v
// + g_tp P e_j (what moves in time), A2 the entries D_j P e_k. Assumed: the constants between the states that are looked at are not larger.
#include "realtime/bound.h"

#include <math.h>
#include <string.h>

#include "realtime/internal.h"

struct kd_realtime_bound {
    kd_realtime *rt;
    kd_eom_data *data;
    double      *P;           // (nv x nlambda)
    double      *D, *rest;    // (nlambda x nv) d gI/dp with the velocity P e_j, and without velocity
    double      *unknowns;    // (unknowns of the stepper)
    double      *row;         // (nlambda)
    double      *sum2, *sum3; // (nlambda) of |D_j P e_k|, of |D_j v|
    double       C0, C1, C2;
    long         states;
    kd_arena     arena;
};

// The factored matrix that projects the next position; NULL: the estimate does not apply
static const kd_rt_matrix *projector_of(const kd_realtime *rt)
{
    const kd_realtime_options *o = &rt->opt;
    if (rt->n.nlambda == 0 || o->velocities_first || o->jacobian == KD_REALTIME_EXACT) return NULL;
    if (o->stabilisation == KD_REALTIME_GGL && o->projector == KD_REALTIME_PROJECTOR_STEP) return &rt->step;
    if (o->stabilisation == KD_REALTIME_PROJECTION && o->projector == KD_REALTIME_PROJECTOR_START) return &rt->mass;
    return NULL;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------
kd_status kd_realtime_bound_create(kd_realtime *rt, kd_realtime_bound **bound)
{
    *bound = NULL;
    if (!projector_of(rt)) return KD_ERR_UNSUPPORTED;
    kd_realtime_bound *b = kd_alloc(sizeof *b);
    if (!b) return KD_ERR_MEMORY;
    b->rt = rt;
    b->P = kd_cut_double(&b->arena, rt->n.nv * rt->n.nlambda);
    b->D = kd_cut_double(&b->arena, rt->n.nv * rt->n.nlambda);
    b->rest = kd_cut_double(&b->arena, rt->n.nv * rt->n.nlambda);
    b->unknowns = kd_cut_double(&b->arena, rt->nunknowns);
    b->row = kd_cut_double(&b->arena, rt->n.nlambda);
    b->sum2 = kd_cut_double(&b->arena, rt->n.nlambda);
    b->sum3 = kd_cut_double(&b->arena, rt->n.nlambda);
    kd_status status = b->arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(rt->eom, &b->data);
    if (status < 0) {
        kd_realtime_bound_destroy(b);
        return status;
    }
    *bound = b;
    return KD_OK;
}

void kd_realtime_bound_destroy(kd_realtime_bound *b)
{
    if (!b) return;
    kd_eom_data_destroy(b->data);
    kd_arena_release(&b->arena);
    kd_free(b);
}

// ---- constants ------------------------------------------------------------------------------------------------------
// P e_j: answers of the velocities to the rows of the multipliers
static void fill_projector(kd_realtime_bound *b, const kd_rt_matrix *matrix)
{
    const kd_dims *n = &b->rt->n;
    for (int j = 0; j < n->nlambda; j++) {
        memset(b->unknowns, 0, (size_t)b->rt->nunknowns * sizeof *b->unknowns);
        b->unknowns[n->nv + n->nr + j] = 1.0;
        kd_elimination_solve(matrix->lu, b->unknowns);
        memcpy(b->P + j * n->nv, b->unknowns, (size_t)n->nv * sizeof *b->P);
    }
}

// out = d gI/dp with the velocity v
static kd_eval rate_matrix(kd_realtime_bound *b, const double *v, double *out)
{
    kd_blocks blocks = {0};
    blocks.block[KD_GI][KD_P] = out;
    kd_eom_at_velocity(b->data, v, b->rt->now->r);
    return kd_eom_derivatives(b->data, KD_PART_ALL, &blocks);
}

// row += A x, A (nlambda x nv)
static void add_product(kd_realtime_bound *b, const double *A, const double *x)
{
    const kd_dims *n = &b->rt->n;
    for (int k = 0; k < n->nv; k++)
        for (int i = 0; i < n->nlambda; i++) b->row[i] += A[i + k * n->nlambda] * x[k];
}

// sum += |row|; the row begins anew
static void take_row(kd_realtime_bound *b, double *sum)
{
    for (int i = 0; i < b->rt->n.nlambda; i++) {
        sum[i] += fabs(b->row[i]);
        b->row[i] = 0.0;
    }
}

static double largest(const double *x, int n)
{
    double most = 0.0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

// A1: gII at the velocity of the state, without accelerations
static kd_eval second_rate(kd_realtime_bound *b, double *A1)
{
    const kd_state *x = b->rt->now;
    kd_eom_at_velocity(b->data, x->v, x->r);
    kd_eom_at_acceleration(b->data, b->rt->zero, x->w, x->lambda, x->mu);
    const kd_eval answer = kd_eom_eval(b->data, KD_GII, b->row);
    *A1 = 0.5 * largest(b->row, b->rt->n.nlambda);
    return answer;
}

// A2, A3: sums of rows over all multipliers
static kd_eval changes_of_rows(kd_realtime_bound *b, double *A2, double *A3)
{
    const kd_dims *n = &b->rt->n;
    memset(b->sum2, 0, (size_t)n->nlambda * sizeof *b->sum2);
    memset(b->sum3, 0, (size_t)n->nlambda * sizeof *b->sum3);
    memset(b->row, 0, (size_t)n->nlambda * sizeof *b->row);
    // g_tp: not a change of GZ along p, but one in time
    kd_eval answer = rate_matrix(b, b->rt->zero, b->rest);
    for (int j = 0; j < n->nlambda && answer == KD_EVAL_OK; j++) {
        answer = rate_matrix(b, b->P + j * n->nv, b->D);
        for (int i = 0; i < n->nlambda * n->nv; i++) b->D[i] -= b->rest[i];
        add_product(b, b->D, b->rt->now->v);
        add_product(b, b->rest, b->P + j * n->nv);
        take_row(b, b->sum3);
        for (int k = 0; k < n->nlambda; k++) {
            add_product(b, b->D, b->P + k * n->nv);
            take_row(b, b->sum2);
        }
    }
    *A2 = 0.5 * largest(b->sum2, n->nlambda);
    *A3 = largest(b->sum3, n->nlambda);
    return answer;
}

kd_status kd_realtime_bound_see(kd_realtime_bound *b)
{
    kd_realtime        *rt = b->rt;
    const kd_rt_matrix *matrix = projector_of(rt);
    const double        h = rt->opt.h;
    double              A1 = 0.0, A2 = 0.0, A3 = 0.0;
    if (!matrix->known) return KD_OK; // before the first step
    // at the state and with the inputs of the stepper
    kd_eval answer = kd_rt_inputs(rt, rt->now->t);
    if (answer == KD_EVAL_OK) {
        kd_eom_at_time(b->data, rt->now->t, rt->u, rt->du, rt->ddu, rt->now->z);
        kd_eom_at_position(b->data, rt->now->p, rt->now->s);
        fill_projector(b, matrix);
        answer = second_rate(b, &A1);
    }
    if (answer == KD_EVAL_OK) answer = changes_of_rows(b, &A2, &A3);
    if (answer != KD_EVAL_OK) return KD_ERR_RETRY_FAILED;
    b->C0 = fmax(b->C0, A3 * A1 + h * A2 * A1 * A1);
    b->C1 = fmax(b->C1, A3 + 2.0 * h * A2 * A1);
    b->C2 = fmax(b->C2, A2);
    b->states++;
    return KD_OK;
}

kd_realtime_limit kd_realtime_bound_limit(const kd_realtime_bound *b)
{
    const double      h = b->rt->opt.h, left = 1.0 - h * b->C1, root2 = left * left - 4.0 * h * h * h * b->C0 * b->C2;
    kd_realtime_limit out = {b->C0, b->C1, b->C2, INFINITY, b->states};
    // (left - sqrt(root2))/(2 C2), written so that nothing cancels and C2 may vanish
    if (left > 0.0 && root2 > 0.0) out.limit = 2.0 * h * h * h * b->C0 / (left + sqrt(root2));
    return out;
}
