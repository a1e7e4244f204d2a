// projection.c: accepted points back onto the constraints that a form does not solve (S1 Eq. 36):
//
//     |p^ - p| -> min,  g(p^) = 0;     |v^ - v| -> min,  gI(p^, v^) = 0, h(p^, v^) = 0
//
// by simplified Newton with one matrix [M C'; C 0], C = [GZ; HZ] (I for M: Euclidean norm), see acceleration.c. The
// point moves by as much as the drift of one step, so that the order of the integrator is kept.
#include "point/projection.h"
#include <math.h>

bool kd_projects(const kd_eom *eom, kd_formulation form, const kd_formulation_options *opt)
{
    kd_dims d = kd_eom_dims(eom);
    if (opt->projection == KD_PROJECT_NEVER || opt->projection == KD_PROJECT_AUTO || d.nlambda + d.nmu == 0)
        return false;
    switch (form) {
    case KD_INDEX2:
    case KD_INDEX1:
    case KD_BAUMGARTE2:
    case KD_BAUMGARTE1:
    case KD_ODE:
        return true;
    default:
        return false;
    }
}

// largest entry of the active rows of fn; *violation grows to it
static kd_eval measure(kd_eom_data *data, kd_fn fn, int count, const unsigned char *active, double *rows,
                       double *violation)
{
    if (count == 0) return KD_EVAL_OK;
    kd_eval answer = kd_eom_eval(data, fn, rows);
    for (int i = 0; i < count && answer == KD_EVAL_OK; i++)
        if (active[i]) *violation = fmax(*violation, fabs(rows[i]));
    return answer;
}

// Is one of |g|, |gI|, |h| above the bound? A row that cannot be evaluated is left to the projection, which says why.
static bool exceeds(kd_acceleration *acceleration, double bound, double t, const double *p, double *s, const double *v,
                    const double *r, double *rows)
{
    const kd_state *state = kd_acceleration_state(acceleration);
    kd_dims         d = kd_eom_dims(kd_acceleration_eom(acceleration));
    kd_eom_data    *data = kd_acceleration_data(acceleration);
    double          violation = 0;
    kd_eval         answer = kd_acceleration_contacts(acceleration, t, p, s);
    if (answer == KD_EVAL_OK) answer = kd_acceleration_at(acceleration, t, p, s, v, r);
    if (answer == KD_EVAL_OK) answer = measure(data, KD_G, d.nlambda, state->active_lambda, rows, &violation);
    if (answer == KD_EVAL_OK) answer = measure(data, KD_GI, d.nlambda, state->active_lambda, rows, &violation);
    if (answer == KD_EVAL_OK) answer = measure(data, KD_H, d.nmu, state->active_mu, rows, &violation);
    return answer != KD_EVAL_OK || violation > bound;
}

// Nothing is to be met where no row is active
static bool has_active(kd_acceleration *acceleration)
{
    const kd_state *state = kd_acceleration_state(acceleration);
    kd_dims         d = kd_eom_dims(kd_acceleration_eom(acceleration));
    for (int i = 0; i < d.nlambda; i++)
        if (state->active_lambda[i]) return true;
    for (int i = 0; i < d.nmu; i++)
        if (state->active_mu[i]) return true;
    return false;
}

kd_eval kd_project(kd_acceleration *acceleration, const kd_formulation_options *opt, double t, double *p, double *s,
                   double *v, const double *r, double *rows, bool *moved)
{
    *moved = opt->projection == KD_PROJECT_ALWAYS ||
             (opt->projection == KD_PROJECT_BOUND && exceeds(acceleration, opt->projection_bound, t, p, s, v, r, rows));
    *moved = *moved && has_active(acceleration);
    return *moved ? kd_acceleration_project(acceleration, t, p, s, v, r, false) : KD_EVAL_OK;
}
