// initial_large.c: position and velocity level of the initial values of large systems, by the definition's own solution
// of K = [M (GZ)' (HZ)'; GZ 0 0; HZ 0 0] (kd_eom_def.kkt_factor): time and memory as that solution needs them, where
// the general way (closest.c) has full matrices and their singular values.
//
//     K [e; .]  = -[0; g; 0],    p <- p oplus e        Newton's method; each step is the shortest one in the norm of M
//     K [dv; .] = -[0; gI; h],   v <- v + dv           linear: the closest velocity
//
// Held components are rows E'y = 0 more:  y <- y - X (E'X)^-1 E'y,  K X = E. Redundant rows do no harm where the
// definition leaves out those that depend on others (models do, as long as they do not know them): in the end all rows
// must hold. Whatever is unusual (conditions, many held components, no convergence) is left to the general way, which
// also finds out what is wrong.
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "start/initial_system.h"

#define LARGE 250         // velocities: below, the general way takes milliseconds
#define VELOCITY_STEPS 3  // linear: the further ones take rounding away
#define LONGEST_STEP 10.0 // increments beyond: the guess is too far away for steps without control
#define STAGNATED 0.1     // residuals that fall less are rounding
#define POSITION_STEPS 20
#define MOST_HELD 100   // components, each costs a solution with K
#define IMMOVABLE 1e-10 // part of its mobility that other held components leave to one that depends on them

typedef struct large {
    kd_iv  *iv;
    double *y; // (nv + nlambda + nmu)
    double *p; // (np)
    // held components of the level
    int     nheld, *held; // (nheld)
    double *X;            // (nv + nlambda + nmu) a column of K^-1 E
    double *moves;        // (nv x nheld) the velocities of all of them
    double *S, *z;        // (nheld x nheld) E'X and its factor; (nheld)
} large;

static bool is_suitable(const kd_iv *iv)
{
    if (iv->n.nv < LARGE || iv->opt->nconditions > 0 || iv->opt->euclidean || iv->n.ns > 0) return false;
    for (int i = 0; i < iv->n.nlambda; i++)
        if (!iv->now->active_lambda[i]) return false;
    for (int i = 0; i < iv->n.nmu; i++)
        if (!iv->now->active_mu[i]) return false;
    return true;
}

// Can p or v be moved by the definition's solution? What fits already need not.
static bool is_movable(const kd_iv *iv)
{
    const kd_eom_def *def = iv->def;
    return def->kkt_factor && (iv->n.nq == 0 || (def->oplus && def->normalise));
}

// ---- held components ------------------------------------------------------------------------------------------------

// Room for those of a level; false: too many of them, or no memory (the general way will say so)
static bool list_held(large *l, const bool *hold, kd_arena *arena)
{
    const kd_dims *n = &l->iv->n;
    l->nheld = 0;
    // each of them is one more right-hand side
    for (int i = 0; hold && i < n->nv; i++) l->nheld += hold[i];
    if (l->nheld == 0) return true;
    if (l->nheld > MOST_HELD) return false;
    // y - X (E'X)^-1 E'y with K X = E: S = E'X is as small as their number
    l->held = kd_cut_int(arena, l->nheld);
    l->X = kd_cut_double(arena, n->nv + n->nlambda + n->nmu);
    l->moves = kd_cut_matrix(arena, n->nv, l->nheld);
    l->S = kd_cut_matrix(arena, l->nheld, l->nheld);
    l->z = kd_cut_double(arena, l->nheld);
    if (arena->failed) return false;
    for (int i = 0, k = 0; i < n->nv; i++)
        if (hold[i]) l->held[k++] = i;
    return true;
}

// S = L L', definite but for components that others and the rows hold already: these get a row of their own without
// coupling
static bool factor_held(large *l)
{
    const int n = l->nheld;
    for (int k = 0; k < n; k++) {
        const double whole = l->S[k + n * k];
        double       left = whole;
        // what is left of the diagonal when the components before are held
        for (int j = 0; j < k; j++) left -= l->S[k + n * j] * l->S[k + n * j];
        const bool free = left > IMMOVABLE * whole && left > 0;
        l->S[k + n * k] = free ? sqrt(left) : 1.0;
        // a column of L; nothing hangs on a component that cannot move anyway
        for (int i = k + 1; i < n; i++) {
            double sum = l->S[i + n * k];
            for (int j = 0; j < k; j++) sum -= l->S[i + n * j] * l->S[k + n * j];
            l->S[i + n * k] = free ? sum / l->S[k + n * k] : 0.0;
        }
        for (int j = 0; j < k && !free; j++) l->S[k + n * j] = 0.0;
        if (!isfinite(left)) return false;
    }
    return true;
}

// K at the point, X = K^-1 E and S = E'X
static bool factor(large *l)
{
    const kd_dims *n = &l->iv->n;
    const int      all = n->nv + n->nlambda + n->nmu;
    if (kd_eom_kkt_factor(l->iv->data) != KD_EVAL_OK) return false;
    for (int k = 0; k < l->nheld; k++) {
        memset(l->X, 0, (size_t)all * sizeof *l->X);
        l->X[l->held[k]] = 1.0;
        kd_eom_kkt_solve(l->iv->data, l->X);
        memcpy(l->moves + (size_t)n->nv * (size_t)k, l->X, (size_t)n->nv * sizeof *l->X);
        for (int i = 0; i < l->nheld; i++) l->S[i + l->nheld * k] = l->X[l->held[i]];
    }
    return factor_held(l);
}

// y <- the solution with K whose held components are zero
static void solve(large *l)
{
    const int nv = l->iv->n.nv;
    kd_eom_kkt_solve(l->iv->data, l->y);
    for (int k = 0; k < l->nheld; k++) l->z[k] = l->y[l->held[k]];
    if (l->nheld == 0) return;
    kd_cholesky_solve(l->nheld, l->S, l->z, 1);
    kd_gemv(nv, l->nheld, -1.0, l->moves, l->z, 1.0, l->y);
    for (int k = 0; k < l->nheld; k++) l->y[l->held[k]] = 0.0;
}

// ---- levels ---------------------------------------------------------------------------------------------------------

// y = -[0; g; 0] or -[0; gI; h]; *size: its largest entry
static bool fill_rows(large *l, bool velocity, double *size)
{
    const kd_dims *n = &l->iv->n;
    double        *lambda = l->y + n->nv, *mu = lambda + n->nlambda;
    memset(l->y, 0, (size_t)(n->nv + n->nlambda + n->nmu) * sizeof *l->y);
    kd_iv_set_point(l->iv);
    if (n->nlambda > 0 && kd_eom_eval(l->iv->data, velocity ? KD_GI : KD_G, lambda) != KD_EVAL_OK) return false;
    if (velocity && n->nmu > 0 && kd_eom_eval(l->iv->data, KD_H, mu) != KD_EVAL_OK) return false;
    for (int i = 0; i < n->nlambda + n->nmu; i++) lambda[i] = -lambda[i];
    *size = kd_norm_max(n->nlambda + n->nmu, lambda);
    return isfinite(*size);
}

static bool find_position(large *l, bool *moved)
{
    kd_iv        *iv = l->iv;
    const kd_dims n = iv->n;
    double        size, last = INFINITY;
    for (int k = 0; k < POSITION_STEPS; k++) {
        if (!fill_rows(l, false, &size)) return false;
        // what fits is left as it is; what is moved goes on to rounding
        if (size <= iv->opt->tolerance && (k == 0 || size >= STAGNATED * last)) return true;
        last = size;
        if (!is_movable(iv) || !factor(l)) return false;
        // K [e; .] = -[0; g; 0], p <- p oplus e
        solve(l);
        if (!(kd_norm_max(n.nv, l->y) <= LONGEST_STEP)) return false;
        if (kd_eom_oplus(iv->data, iv->now->p, l->y, l->p) != KD_EVAL_OK) return false;
        (void)kd_eom_normalise(iv->data, l->p);
        memcpy(iv->now->p, l->p, (size_t)n.np * sizeof *l->p);
        *moved = true;
    }
    return false;
}

static bool find_velocity(large *l, bool *moved)
{
    kd_iv *iv = l->iv;
    double size, speed;
    for (int k = 0; k <= VELOCITY_STEPS; k++) {
        if (!fill_rows(l, true, &size)) return false;
        speed = fmax(1.0 / kd_eom_time(iv->eom), kd_norm_max(iv->n.nv, iv->now->v));
        if (size <= iv->opt->tolerance * speed) return true;
        if (!is_movable(iv) || !factor(l)) return false;
        // K [dv; .] = -[0; gI; h], v <- v + dv
        solve(l);
        kd_axpy(iv->n.nv, 1.0, l->y, iv->now->v);
        *moved = true;
    }
    return false;
}

kd_status kd_iv_large(kd_iv *iv, bool *found, bool *moved)
{
    kd_arena  arena = {0};
    kd_state *kept = NULL;
    bool      changed = false;
    *found = false;
    if (!is_suitable(iv)) return KD_OK;
    large     l = {.iv = iv,
                   .y = kd_cut_double(&arena, iv->n.nv + iv->n.nlambda + iv->n.nmu),
                   .p = kd_cut_double(&arena, iv->n.np)};
    kd_status status = arena.failed ? KD_ERR_MEMORY : kd_state_create(iv->eom, &kept);
    if (status == KD_OK) {
        // both levels, or everything as it was
        kd_state_copy(iv->now, kept);
        *found = list_held(&l, iv->opt->hold_p, &arena) && find_position(&l, &changed) &&
                 list_held(&l, iv->opt->hold_v, &arena) && find_velocity(&l, &changed);
        if (*found)
            *moved = *moved || changed;
        else
            kd_state_copy(kept, iv->now);
        kd_iv_set_point(iv);
    }
    kd_state_destroy(kept);
    kd_arena_release(&arena);
    return status;
}
