// corrector.c: simplified Newton iteration of a multistep step (S0 Eq. 14, 18; BCP 5.2.2) and its matrix.
//
//     x <- x - J \ (C F(t, x, x')),   J = cj_old F_x' + F_x of an earlier point,   C = diag(c .. c, 1 .. 1)
//
// c = 2 / (1 + cj / cj_old) on the differential rows makes up for a cj that changed since J was factored. Constraint
// rows do not contain cj and are solved unscaled; scaled, they would keep |1 - c|^m of their residual.
#include "integrator/corrector.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double SLOW = 0.9;     // rate of convergence that is given up
static const double ROUNDING = 100; // increments below this many units in the last place are converged

void kd_corrector_cut(kd_corrector *c, kd_arena *arena, kd_dae *dae, const kd_corrector_options *opt)
{
    c->dae = dae;
    c->opt = *opt;
    c->F = kd_cut_double(arena, dae->nrows);
    c->part = kd_cut_double(arena, dae->n);
    c->y = kd_cut_double(arena, dae->nreduced_max);
    c->dx = kd_cut_double(arena, dae->n);
    c->x_start = kd_cut_double(arena, dae->n);
    c->xdot_start = kd_cut_double(arena, dae->n);
    for (int i = 0; i < dae->n; i++) c->counted += dae->index[i] > 0;
    if (c->counted == 0) c->counted = 1;
}

void kd_corrector_start(kd_corrector *c, bool keep)
{
    c->exists = c->exists && keep;
    c->restart = !c->exists;
    c->cj_factored = 0; // the leading coefficient is new in any case
    c->evaluate_next = false;
    c->rate = 1;
}

// ---- the matrix -----------------------------------------------------------------------------------------------------

// The table of docs/methods/bdf.md, line by line
kd_matrix_action kd_corrector_decide(const kd_corrector_options *opt, const kd_matrix_state *s)
{
    bool in_bounds = s->ratio >= opt->cj_lower && s->ratio <= opt->cj_upper;
    if (!s->exists) return KD_MATRIX_EVALUATE;
    if (opt->dassl_rules) {
        if (s->failed) return s->fresh ? KD_MATRIX_GIVE_UP : KD_MATRIX_EVALUATE;
        if (!in_bounds) return KD_MATRIX_EVALUATE;
        return s->scales || s->ratio == 1 ? KD_MATRIX_KEEP : KD_MATRIX_FACTOR;
    }
    if (s->failed) {
        if (s->fresh) return KD_MATRIX_GIVE_UP;
        return s->has_update && !s->renewed && s->ratio != 1 ? KD_MATRIX_UPDATE : KD_MATRIX_EVALUATE;
    }
    if (s->ratio == 0) return KD_MATRIX_FACTOR; // a restart: derivatives are said to be good
    if (!in_bounds) return s->has_update ? KD_MATRIX_UPDATE : KD_MATRIX_EVALUATE;
    return s->scales || s->ratio == 1 ? KD_MATRIX_KEEP : KD_MATRIX_FACTOR;
}

static void note_news(kd_corrector *c, kd_matrix_news news)
{
    if (news > c->news) c->news = news;
}

// Do what was decided, at the starting values. KD_OK or < 0
static kd_status renew(kd_corrector *c, kd_matrix_action action, double t, double cj)
{
    kd_dae   *dae = c->dae;
    kd_status status = KD_OK;
    dae->gamma = cj;
    if (action == KD_MATRIX_EVALUATE) {
        c->exists = false;
        c->cj_factored = 0;
        status = dae->methods->linearize(dae->impl, t, c->x_start, c->xdot_start, c->restart);
        dae->widen = false;
        c->restart = c->evaluate_next = false;
        note_news(c, KD_MATRIX_EVALUATED);
        if (status < 0) return status;
        c->exists = c->fresh = true;
    } else if (action == KD_MATRIX_UPDATE) {
        c->cj_factored = 0;
        status = dae->methods->update(dae->impl, t, c->x_start, c->xdot_start);
        note_news(c, KD_MATRIX_UPDATED);
        if (status < 0) return status;
    } else {
        note_news(c, KD_MATRIX_FACTORED);
    }
    c->renewed = true;
    status = dae->methods->factor(dae->impl, cj, cj, 0);
    if (status < 0) return status;
    c->cj_factored = cj;
    return KD_OK;
}

// ---- the iteration --------------------------------------------------------------------------------------------------

static kd_eval evaluate(kd_corrector *c, double t, const double *x, const double *xdot, double scale)
{
    kd_dae             *dae = c->dae;
    const kd_dae_class *f = dae->methods;
    if (f->evaluate) return f->evaluate(dae->impl, t, x, xdot, c->part, c->y);
    kd_eval answer = f->residual(dae->impl, t, x, xdot, c->F);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; scale != 1 && i < dae->ndifferential; i++) c->F[i] *= scale;
    f->reduce(dae->impl, c->F, c->part, c->y);
    return answer;
}

static double weighted_norm(const kd_corrector *c, const double *x)
{
    double sum = 0;
    for (int i = 0; i < c->dae->n; i++) {
        double z = x[i] * c->weight[i];
        sum += z * z;
    }
    return sqrt(sum / c->counted);
}

// One step; the increment is c->dx, its size c->norm.
static kd_status newton_step(kd_corrector *c, double t, double cj, double scale, double *x, double *xdot)
{
    const kd_dae_class *f = c->dae->methods;
    c->iterations++;
    c->answer = evaluate(c, t, x, xdot, scale);
    if (c->answer != KD_EVAL_OK) return c->answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
    f->solve_real(c->dae->impl, c->y);
    f->expand(c->dae->impl, c->part, c->y, c->dx);
    for (int i = 0; i < c->dae->n; i++) {
        x[i] += c->dx[i];
        xdot[i] += cj * c->dx[i];
    }
    c->norm = weighted_norm(c, c->dx);
    return isfinite(c->norm) ? KD_OK : KD_ERR_NEWTON;
}

// Iterate with the present matrix. KD_ERR_NEWTON: too slow
static kd_status iterate(kd_corrector *c, double t, double cj, double *x, double *xdot)
{
    double scale = 2 / (1 + cj / c->cj_factored), first = 0, floor = ROUNDING * DBL_EPSILON * weighted_norm(c, x);
    double rate = c->rate;
    for (int m = 0; m < c->opt.max_newton; m++) {
        kd_status status = newton_step(c, t, cj, scale, x, xdot);
        if (status < 0) return status;
        if (c->norm <= floor) return KD_OK;
        if (m == 0) {
            first = c->norm;
        } else {
            rate = pow(c->norm / first, 1.0 / m);
            if (rate > SLOW) return KD_ERR_NEWTON;
            c->rate = rate;
        }
        if (rate < 1 && rate / (1 - rate) * c->norm <= c->opt.stop) return KD_OK;
    }
    return KD_ERR_NEWTON;
}

kd_status kd_corrector_solve(kd_corrector *c, double t, double h, double cj, double *x, double *xdot)
{
    kd_dae         *dae = c->dae;
    size_t          bytes = (size_t)dae->n * sizeof *x;
    kd_matrix_state state = {.has_update = dae->methods->update, .scales = dae->ndifferential > 0};
    kd_status       status = KD_OK;
    memcpy(c->x_start, x, bytes);
    memcpy(c->xdot_start, xdot, bytes);
    dae->h = h;
    if (c->opt.dassl_rules && cj != c->cj_last) c->rate = 1;
    c->cj_last = cj;
    c->fresh = c->renewed = false;
    c->iterations = 0;
    c->news = KD_MATRIX_KEPT;
    c->norm = 0;
    c->answer = KD_EVAL_OK;
    for (;;) {
        state.exists = c->exists && !c->evaluate_next;
        state.fresh = c->fresh;
        state.renewed = c->renewed;
        state.ratio = c->cj_factored > 0 ? cj / c->cj_factored : 0;
        kd_matrix_action action = kd_corrector_decide(&c->opt, &state);
        if (action == KD_MATRIX_GIVE_UP) {
            dae->widen = c->evaluate_next = c->restart = true;
            return KD_ERR_NEWTON;
        }
        if (action != KD_MATRIX_KEEP) {
            if (c->opt.dassl_rules) c->rate = 1;
            status = renew(c, action, t, cj);
            if (status < 0) return status;
        }
        status = iterate(c, t, cj, x, xdot);
        if (status != KD_ERR_NEWTON) return status;
        state.failed = true;
        memcpy(x, c->x_start, bytes);
        memcpy(xdot, c->xdot_start, bytes);
    }
}
