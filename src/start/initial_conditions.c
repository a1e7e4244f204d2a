// initial_conditions.c: which unknowns conditions of a start depend on, by moves of the guess.
//
// A condition is a row of the first level that holds all it depends on. Nobody tells what that is: values change where
// positions, velocities, or accelerations and multipliers are moved alone.
#include <math.h>
#include <string.h>

#include "start/initial_system.h"

#define SAMPLE_SPREAD 1e-2 // moves that show what a condition depends on

double kd_iv_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

static void move_array(double *x, int n, double spread, unsigned *seed)
{
    for (int i = 0; i < n; i++) x[i] += spread * fmax(1.0, fabs(x[i])) * (1.5 + 0.5 * kd_iv_random(seed));
}

static kd_eval move_levels(kd_iv *iv, unsigned levels, double spread, unsigned *seed)
{
    kd_state      *x = iv->now;
    const kd_dims *n = &iv->n;
    // positions along increments, contact coordinates
    if (levels & KD_IV_POSITION) {
        memset(iv->e, 0, (size_t)n->nv * sizeof(double));
        move_array(iv->e, n->nv, spread, seed);
        memcpy(iv->base, x->p, (size_t)n->np * sizeof(double));
        kd_eval e = kd_eom_oplus(iv->data, iv->base, iv->e, x->p);
        if (e != KD_EVAL_OK) return e;
        move_array(x->s, n->ns, spread, seed);
    }
    // velocities and inner states
    if (levels & KD_IV_VELOCITY) {
        move_array(x->v, n->nv, spread, seed);
        move_array(x->r, n->nr, spread, seed);
    }
    // accelerations, auxiliary variables, multipliers
    if (levels & KD_IV_ACCELERATION) {
        move_array(x->a, n->nv, spread, seed);
        move_array(x->w, n->nw, spread, seed);
        move_array(x->lambda, n->nlambda, spread, seed);
        move_array(x->mu, n->nmu, spread, seed);
    }
    kd_iv_set_point(iv);
    return KD_EVAL_OK;
}

// levels[i]: a move of that level alone changes the value of condition i
static kd_eval sample_conditions(kd_iv *iv, double spread)
{
    unsigned seed = 7;
    unsigned all = KD_IV_POSITION | KD_IV_VELOCITY | KD_IV_ACCELERATION;
    // values at a point beside the guess
    kd_eval answer = move_levels(iv, all, spread, &seed);
    if (answer == KD_EVAL_OK) answer = kd_iv_conditions(iv, iv->value_near);
    memset(iv->levels, 0, (size_t)iv->opt->nconditions);
    for (int k = 0; k < 6 && answer == KD_EVAL_OK; k++) {
        // which of them change when one level moves?
        unsigned level = 1u << (k % 3);
        answer = move_levels(iv, level, spread, &seed);
        if (answer == KD_EVAL_OK) answer = kd_iv_conditions(iv, iv->value);
        for (int i = 0; i < iv->opt->nconditions && answer == KD_EVAL_OK; i++) {
            if (iv->value[i] != iv->value_near[i]) iv->levels[i] |= (unsigned char)level;
            iv->value_near[i] = iv->value[i];
        }
    }
    return answer;
}

kd_status kd_iv_find_levels(kd_iv *iv, const kd_state *x)
{
    kd_eval answer = KD_EVAL_RETRY;
    double  spread = SAMPLE_SPREAD;
    if (iv->opt->nconditions == 0) return KD_OK;
    for (int k = 0; k < 4 && answer == KD_EVAL_RETRY; k++, spread *= 0.1) {
        answer = sample_conditions(iv, spread);
        kd_state_copy(x, iv->now);
    }
    if (iv->stopped) return iv->fault;
    if (answer != KD_EVAL_OK)
        memset(iv->levels, KD_IV_POSITION | KD_IV_VELOCITY | KD_IV_ACCELERATION, (size_t)iv->opt->nconditions);
    return KD_OK;
}
