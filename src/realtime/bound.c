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
//
// A look costs 1 + nlambda matrices of derivatives, each about two steps: nothing for a loop against the clock. There states are only
// copied, the same numbers in every step, and of each part of the run that before the largest error stays. From g_n <= g_n+1 follows
// g_n+1 <= C2 g_n+1^2 + h C1 g_n+1 + h^3 C0 with the constants of that state alone: the limit is not below the largest error.
#include "realtime/bound.h"

#include <math.h>
#include <string.h>

#include "realtime/internal.h"

#define MATRIX_STEPS 2 // a matrix of derivatives counts as so many steps
#define SHARE 50       // looks cost less than this part of all steps
#define MOST_PARTS 32  // of a run

// A state with what the step from it projects with
typedef struct sight {
    kd_state *x;
    double   *held, *held_rate; // (nu) external inputs
    double   *factors;          // of the projector
    double    error;            // that the step from it left
    long      steps;            // that led to it
    bool      known;
} sight;

struct kd_realtime_bound {
    kd_realtime *rt;
    kd_eom_data *data;
    sight        now;           // the present state, or that before the last step
    sight       *worst;         // (nparts) before the largest error of each part of a run
    int          nparts;        // 0: no room
    long         first, nsteps; // of the run
    double      *u, *du, *ddu;  // (nu) at the state that is looked at
    double      *present;       // factors of the stepper, while it has those of a state
    int         *i, *k;         // (nlambda x nv) places of what does not vanish in D
    int          nonzero;
    double      *P;           // (nv x nlambda)
    double      *D, *rest;    // (nlambda x nv) d gI/dp with the velocity P e_j, and without velocity
    double      *unknowns;    // (unknowns of the stepper)
    double      *row;         // (nlambda)
    double      *sum2, *sum3; // (nlambda) of |D_j P e_k|, of |D_j v|
    double       C0, C1, C2;
    long         states, matrices;
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
static kd_status cut_sight(kd_realtime_bound *b, sight *s)
{
    s->held = kd_cut_double(&b->arena, b->rt->n.nu);
    s->held_rate = kd_cut_double(&b->arena, b->rt->n.nu);
    s->factors = kd_arena_cut(&b->arena, kd_elimination_numbers(projector_of(b->rt)->lu), sizeof *s->factors);
    return b->arena.failed ? KD_ERR_MEMORY : kd_state_create(b->rt->eom, &s->x);
}

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
    b->u = kd_cut_double(&b->arena, rt->n.nu);
    b->du = kd_cut_double(&b->arena, rt->n.nu);
    b->ddu = kd_cut_double(&b->arena, rt->n.nu);
    b->i = kd_cut_int(&b->arena, rt->n.nv * rt->n.nlambda);
    b->k = kd_cut_int(&b->arena, rt->n.nv * rt->n.nlambda);
    b->present = kd_arena_cut(&b->arena, kd_elimination_numbers(projector_of(rt)->lu), sizeof *b->present);
    kd_status status = b->arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(rt->eom, &b->data);
    if (status >= 0) status = cut_sight(b, &b->now);
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
    kd_state_destroy(b->now.x);
    for (int i = 0; i < b->nparts; i++) kd_state_destroy(b->worst[i].x);
    kd_arena_release(&b->arena);
    kd_free(b);
}

kd_status kd_realtime_bound_reserve(kd_realtime_bound *b, long nsteps)
{
    if (!b) return KD_OK;
    if (nsteps < 1 || b->nparts > 0) return KD_ERR_ARGUMENT;
    // as many parts as their looks leave cheap; one in any case
    const long parts = nsteps / (SHARE * MATRIX_STEPS * (long)(1 + b->rt->n.nlambda));
    const int  count = parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : (int)parts;
    b->worst = kd_arena_cut(&b->arena, (size_t)count, sizeof *b->worst);
    if (!b->worst) return KD_ERR_MEMORY;
    b->nparts = count;
    b->first = b->rt->steps;
    b->nsteps = nsteps;
    for (int i = 0; i < count; i++) {
        const kd_status status = cut_sight(b, &b->worst[i]);
        if (status < 0) return status;
    }
    return KD_OK;
}

// ---- states ---------------------------------------------------------------------------------------------------------
void kd_realtime_bound_before(kd_realtime_bound *b)
{
    if (!b) return;
    const kd_realtime  *rt = b->rt;
    const kd_rt_matrix *matrix = projector_of(rt);
    const size_t        size = (size_t)rt->n.nu * sizeof *rt->held;
    b->now.known = matrix->known && kd_state_copy(rt->now, b->now.x) >= 0; // not before the first step
    b->now.steps = rt->steps;
    memcpy(b->now.held, rt->held, size);
    memcpy(b->now.held_rate, rt->held_rate, size);
    kd_elimination_keep(matrix->lu, b->now.factors);
}

void kd_realtime_bound_after(kd_realtime_bound *b, double error)
{
    if (!b || !b->now.known || b->nparts == 0 || b->rt->steps != b->now.steps + 1) return;
    const long part = (b->now.steps - b->first) * b->nparts / b->nsteps;
    sight     *worst = &b->worst[part < b->nparts ? part : b->nparts - 1];
    if (!isfinite(error) || (worst->known && error <= worst->error)) return;
    // the two change places: nothing is copied
    const sight free = *worst;
    *worst = b->now;
    worst->error = error;
    b->now = free;
    b->now.known = false;
}

// ---- constants ------------------------------------------------------------------------------------------------------
// P e_j: answers of the velocities to the rows of the multipliers
static void fill_projector(kd_realtime_bound *b, const sight *at)
{
    const kd_dims      *n = &b->rt->n;
    const kd_rt_matrix *matrix = projector_of(b->rt);
    kd_elimination_keep(matrix->lu, b->present);
    kd_elimination_put_back(matrix->lu, at->factors);
    for (int j = 0; j < n->nlambda; j++) {
        memset(b->unknowns, 0, (size_t)b->rt->nunknowns * sizeof *b->unknowns);
        b->unknowns[n->nv + n->nr + j] = 1.0;
        kd_elimination_solve(matrix->lu, b->unknowns);
        memcpy(b->P + j * n->nv, b->unknowns, (size_t)n->nv * sizeof *b->P);
    }
    kd_elimination_put_back(matrix->lu, b->present);
}

// out = d gI/dp with the velocity v
static kd_eval rate_matrix(kd_realtime_bound *b, const kd_state *x, const double *v, double *out)
{
    kd_blocks blocks = {0};
    blocks.block[KD_GI][KD_P] = out;
    b->matrices++;
    kd_eom_at_velocity(b->data, v, x->r);
    return kd_eom_derivatives(b->data, KD_PART_ALL, &blocks);
}

// row += A x, A (nlambda x nv)
static void add_product(kd_realtime_bound *b, const double *A, const double *x)
{
    const kd_dims *n = &b->rt->n;
    for (int k = 0; k < n->nv; k++)
        for (int i = 0; i < n->nlambda; i++) b->row[i] += A[i + k * n->nlambda] * x[k];
}

// D -= rest, and what is left of it in a row: entries of two bodies, not of all
static void gather(kd_realtime_bound *b)
{
    const kd_dims *n = &b->rt->n;
    b->nonzero = 0;
    for (int k = 0; k < n->nv; k++)
        for (int i = 0; i < n->nlambda; i++) {
            const double change = b->D[i + k * n->nlambda] - b->rest[i + k * n->nlambda];
            if (change == 0.0) continue;
            b->D[b->nonzero] = change; // never beyond what was read
            b->i[b->nonzero] = i;
            b->k[b->nonzero++] = k;
        }
}

// row += D x
static void add_change(kd_realtime_bound *b, const double *x)
{
    for (int e = 0; e < b->nonzero; e++) b->row[b->i[e]] += b->D[e] * x[b->k[e]];
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
static kd_eval second_rate(kd_realtime_bound *b, const kd_state *x, double *A1)
{
    kd_eom_at_velocity(b->data, x->v, x->r);
    kd_eom_at_acceleration(b->data, b->rt->zero, x->w, x->lambda, x->mu);
    const kd_eval answer = kd_eom_eval(b->data, KD_GII, b->row);
    *A1 = 0.5 * largest(b->row, b->rt->n.nlambda);
    return answer;
}

// A2, A3: sums of rows over all multipliers
static kd_eval changes_of_rows(kd_realtime_bound *b, const kd_state *x, double *A2, double *A3)
{
    const kd_dims *n = &b->rt->n;
    memset(b->sum2, 0, (size_t)n->nlambda * sizeof *b->sum2);
    memset(b->sum3, 0, (size_t)n->nlambda * sizeof *b->sum3);
    memset(b->row, 0, (size_t)n->nlambda * sizeof *b->row);
    // g_tp: not a change of GZ along p, but one in time
    kd_eval answer = rate_matrix(b, x, b->rt->zero, b->rest);
    for (int j = 0; j < n->nlambda && answer == KD_EVAL_OK; j++) {
        answer = rate_matrix(b, x, b->P + j * n->nv, b->D);
        gather(b);
        add_change(b, x->v);
        add_product(b, b->rest, b->P + j * n->nv);
        take_row(b, b->sum3);
        for (int k = 0; k < n->nlambda; k++) {
            add_change(b, b->P + k * n->nv);
            take_row(b, b->sum2);
        }
    }
    *A2 = 0.5 * largest(b->sum2, n->nlambda);
    *A3 = largest(b->sum3, n->nlambda);
    return answer;
}

// data at a state, with the inputs that the stepper had there
static kd_eval stand(kd_realtime_bound *b, const sight *at)
{
    const kd_realtime *rt = b->rt;
    const kd_state    *x = at->x;
    kd_eval            answer = KD_EVAL_OK;
    if (rt->inputs.eval) answer = rt->inputs.eval(x->t, rt->inputs.context, b->u, b->du, b->ddu);
    for (int i = 0; i < rt->n.nu; i++)
        if (rt->external[i]) b->u[i] = at->held[i], b->du[i] = at->held_rate[i], b->ddu[i] = 0.0;
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_time(b->data, x->t, b->u, b->du, b->ddu, x->z);
    kd_eom_at_position(b->data, x->p, x->s);
    return KD_EVAL_OK;
}

static kd_status look_at(kd_realtime_bound *b, const sight *at)
{
    const double h = b->rt->opt.h;
    double       A1 = 0.0, A2 = 0.0, A3 = 0.0;
    fill_projector(b, at);
    kd_eval answer = stand(b, at);
    if (answer == KD_EVAL_OK) answer = second_rate(b, at->x, &A1);
    if (answer == KD_EVAL_OK) answer = changes_of_rows(b, at->x, &A2, &A3);
    if (answer != KD_EVAL_OK) return KD_ERR_RETRY_FAILED;
    b->C0 = fmax(b->C0, A3 * A1 + h * A2 * A1 * A1);
    b->C1 = fmax(b->C1, A3 + 2.0 * h * A2 * A1);
    b->C2 = fmax(b->C2, A2);
    b->states++;
    return KD_OK;
}

kd_status kd_realtime_bound_see(kd_realtime_bound *b)
{
    kd_realtime_bound_before(b);
    return b->now.known ? look_at(b, &b->now) : KD_OK;
}

kd_status kd_realtime_bound_look(kd_realtime_bound *b)
{
    kd_status status = KD_OK;
    for (int i = 0; b && i < b->nparts && status >= 0; i++) {
        if (b->worst[i].known) status = look_at(b, &b->worst[i]);
        b->worst[i].known = false;
    }
    return status;
}

kd_realtime_limit kd_realtime_bound_limit(const kd_realtime_bound *b)
{
    const double      h = b->rt->opt.h, left = 1.0 - h * b->C1, root2 = left * left - 4.0 * h * h * h * b->C0 * b->C2;
    kd_realtime_limit out = {b->C0, b->C1, b->C2, INFINITY, b->states, b->matrices};
    // (left - sqrt(root2))/(2 C2), written so that nothing cancels and C2 may vanish
    if (left > 0.0 && root2 > 0.0) out.limit = 2.0 * h * h * h * b->C0 / (left + sqrt(root2));
    return out;
}
