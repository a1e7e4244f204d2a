// initial_large.c: position and velocity level of the initial values of large systems, by the definition's own solution
// of K = [M (GZ)' (HZ)'; GZ 0 0; HZ 0 0] (kd_eom_def.kkt_factor): time and memory as that solution needs them, where
// the general way (closest.c) has full matrices and their singular values.
//
//     K [e; .]  = -[0; g; 0],    p <- p oplus e        Newton's method; each step is the shortest one in the norm of M
//     K [dv; .] = -[0; gI; h],   v <- v + dv           linear: the closest velocity
//
// Whatever is unusual (conditions, held components that would have to move, redundant rows, no convergence) is left to
// the general way, which also finds out what is wrong.
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "start/initial_system.h"

#define LARGE 250         // velocities: below, the general way takes milliseconds
#define VELOCITY_STEPS 3  // linear: the further ones take rounding away
#define LONGEST_STEP 10.0 // increments beyond: the guess is too far away for steps without control
#define STAGNATED 0.1     // residuals that fall less are rounding
#define POSITION_STEPS 20

typedef struct large {
    kd_iv  *iv;
    double *y; // (nv + nlambda + nmu)
    double *p; // (np)
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
static bool is_movable(const kd_iv *iv, const bool *hold)
{
    const kd_eom_def *def = iv->def;
    for (int i = 0; hold && i < iv->n.nv; i++)
        if (hold[i]) return false;
    return def->kkt_factor && (iv->n.nq == 0 || (def->oplus && def->normalise));
}

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
        if (!is_movable(iv, iv->opt->hold_p) || kd_eom_kkt_factor(iv->data) != KD_EVAL_OK) return false;
        // K [e; .] = -[0; g; 0], p <- p oplus e
        kd_eom_kkt_solve(iv->data, l->y);
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
        if (!is_movable(iv, iv->opt->hold_v) || kd_eom_kkt_factor(iv->data) != KD_EVAL_OK) return false;
        // K [dv; .] = -[0; gI; h], v <- v + dv
        kd_eom_kkt_solve(iv->data, l->y);
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
        *found = find_position(&l, &changed) && find_velocity(&l, &changed);
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
