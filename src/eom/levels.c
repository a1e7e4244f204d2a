// levels.c: constraint levels that the definition does not give, from the level below along the motion.
//
//     p(tau) = p oplus (v tau + a tau^2 / 2),  v(tau) = v + a tau,  t + tau,  u + u' tau + u'' tau^2 / 2,
//     s(tau) from c(p(tau), s(tau), t + tau) = c(p, s, t)
//     gI = d/dtau g,  gII = d^2/dtau^2 g = d/dtau gI,  hI = d/dtau h  at tau = 0
//
// Central formulas of order 8. Their difference to order 6 on the same points measures the truncation error: the step
// is made smaller until that is negligible or rounding takes over. A supplied g_p gives gI = GZ v + g_t directly.
#include <float.h>
#include <math.h>
#include <string.h>

#include "eom/internal.h"
#include "math/dense.h"

#define FIRST_MOVE 0.05  // motion in one step of the formula [rad, m]: order 8 leaves 0.05^8 / 630 = 6e-14 of sin
#define FIRST_TIME 0.01  // [s] the same for functions of time, whose frequencies are not known
#define SMALLER 0.25     // next step, if truncation shows
#define ATTEMPTS 9       // down to moves of 1e-6
#define RELATIVE 1e-9    // accepted difference of the two orders; the better one is then wrong by far less
#define ROUNDING 1e-13   // the same, of values of size 1, for the sum of a stencil
#define CONTACT_STEPS 40 // simplified Newton for s
#define CONTACT_LIMIT 1e-12

// clang-format off
static const double first[2][4] = {{3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0, 0.0},                    // order 6
                                   {4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0}};          // order 8
static const double second[2][4] = {{3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0, 0.0},
                                    {8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0}};
// clang-format on

// Position of one difference along the motion.
typedef struct motion {
    kd_fn         fn;    // what is differenced
    int           order; // 1, 2
    const double *v, *a;
} motion;

// First step: moves of FIRST_MOVE; a power of two, so that t + tau and v tau are exact. 0: nothing moves.
static double first_step(const kd_eom_data *d, const motion *m)
{
    const kd_dims *n = &d->eom->def.dims;
    double         speed = fmax(kd_norm_max(n->nv, m->v), kd_norm_max(n->nu, d->x.du));
    double         growth = fmax(kd_norm_max(n->nv, m->a), kd_norm_max(n->nu, d->x.ddu));
    if (speed == 0.0 && growth == 0.0 && !d->eom->moves_in_time) return 0.0;
    // |v| tau and |a| tau^2 / 2 of FIRST_MOVE at most
    double tau = d->eom->moves_in_time ? FIRST_TIME : 1.0;
    if (speed > 0.0) tau = fmin(tau, FIRST_MOVE / speed);
    if (growth > 0.0) tau = fmin(tau, sqrt(2.0 * FIRST_MOVE / growth));
    int exponent;
    (void)frexp(fmax(tau, 1e-12), &exponent);
    return ldexp(1.0, exponent - 1);
}

// s from c(p, s, t) = c_0 at the moved point, simplified Newton with c_s of the point where the motion starts.
static kd_eval follow_contact(kd_eom_data *d, const double *c_0)
{
    const int ns = d->eom->def.dims.ns;
    // s starts from that of the sample before (curve_s), so that few steps are needed
    double last = HUGE_VAL, *dc = d->curve_c + ns;
    for (int k = 0; k < CONTACT_STEPS; k++) {
        // s -= c_s \ (c - c_0)
        kd_restamp(d, KD_STAGE_POSITION);
        kd_eval answer = kd_eom_eval(d, KD_C, dc);
        if (answer != KD_EVAL_OK) return answer;
        kd_axpy(ns, -1.0, c_0, dc);
        kd_lu_solve(ns, d->curve_c_s, d->curve_pivot, dc, 1);
        kd_axpy(ns, -1.0, dc, d->curve_s);
        // converged to rounding, or no longer falling
        double size = fmax(kd_norm_max(ns, d->curve_s), 1.0), change = kd_norm_max(ns, dc);
        bool   stalled = change >= 0.9 * last;
        if (change <= DBL_EPSILON * size || (stalled && change <= CONTACT_LIMIT * size)) return KD_EVAL_OK;
        if (stalled && k > 3) break;
        last = change;
    }
    return kd_fault_status(d, KD_C, KD_ERR_SINGULAR_CS, "0 = c could not be solved for s along the motion",
                           KD_EVAL_RETRY);
}

// Value of the function at tau.
static kd_eval value_at(kd_eom_data *d, const motion *m, kd_eom_frame *frame, double tau, double *out)
{
    const kd_dims  *n = &d->eom->def.dims;
    const kd_point *x0 = &frame->saved;
    // u, u', v and the increment of p at tau
    for (int i = 0; i < n->nu; i++) {
        frame->u[i] = x0->u[i] + tau * (x0->du[i] + 0.5 * tau * x0->ddu[i]);
        frame->du[i] = x0->du[i] + tau * x0->ddu[i];
    }
    for (int i = 0; i < n->nv; i++) {
        d->curve_e[i] = tau * (m->v[i] + 0.5 * tau * m->a[i]);
        frame->v[i] = m->v[i] + tau * m->a[i];
    }
    // p(tau) by the midpoint rule, s(tau) from c
    d->x.t = x0->t + tau;
    kd_restamp(d, KD_STAGE_TIME); // before Z and c are asked, and again when p and s have followed
    kd_eval answer = kd_move_midpoint(d, x0->p, d->curve_e, d->curve_p);
    if (answer != KD_EVAL_OK) return answer;
    memcpy(frame->p, d->curve_p, (size_t)n->np * sizeof(double));
    if (n->ns > 0) answer = follow_contact(d, d->curve_c);
    if (answer != KD_EVAL_OK) return answer;
    kd_restamp(d, KD_STAGE_TIME);
    return kd_eom_eval(d, m->fn, out);
}

// Values at -4 .. 4 (without 0) times tau: curve[0..3] right, curve[4..7] left.
static kd_eval sample_motion(kd_eom_data *d, const motion *m, kd_eom_frame *frame, double tau)
{
    kd_eval answer = KD_EVAL_OK;
    for (int k = 0; k < 8 && answer == KD_EVAL_OK; k++) {
        // both sides start at the middle and walk outwards: s follows from sample to sample
        if (k % 4 == 0 && d->eom->def.dims.ns > 0)
            memcpy(d->curve_s, frame->saved.s, (size_t)d->eom->def.dims.ns * sizeof(double));
        answer = value_at(d, m, frame, (k < 4 ? k + 1 : 3 - k) * tau, d->curve[k]);
    }
    return answer;
}

// Both formulas from the samples; value gets the better one, the answer is their largest difference.
static double combine_samples(const kd_eom_data *d, const motion *m, double tau, double *value, double *size,
                              double *samples)
{
    const int rows = d->entry[m->fn].rows;
    const double(*weight)[4] = m->order == 1 ? first : second;
    const double sign = m->order == 1 ? -1.0 : 1.0, scale = m->order == 1 ? tau : tau * tau;
    double       difference = 0.0;
    *size = *samples = 0.0;
    for (int i = 0; i < rows; i++) {
        double sum[2] = {0.0, 0.0};
        for (int k = 0; k < 4; k++) {
            double right = d->curve[k][i], left = d->curve[k + 4][i];
            // second derivative: the weights add up to 0 with that of the middle, so the middle is subtracted
            double pair =
                m->order == 1 ? right + sign * left : (right - d->curve_value[i]) + (left - d->curve_value[i]);
            sum[0] += weight[0][k] * pair;
            sum[1] += weight[1][k] * pair;
            *samples = fmax(*samples, fmax(fabs(right), fabs(left)));
        }
        value[i] = sum[1] / scale;
        difference = fmax(difference, fabs(sum[1] - sum[0]) / scale);
        *size = fmax(*size, fabs(value[i]));
    }
    return difference;
}

// fn at tau = 0 for second derivatives; c there and the factors of c_s
static kd_eval prepare_middle(kd_eom_data *d, const motion *m)
{
    kd_eval answer = KD_EVAL_OK;
    if (m->order == 2) answer = kd_eom_eval(d, m->fn, d->curve_value);
    if (d->eom->def.dims.ns == 0 || answer != KD_EVAL_OK) return answer;
    answer = kd_precise_block(d, KD_C, KD_S, d->curve_c_s);
    if (answer == KD_EVAL_OK) answer = kd_factor_c_s(d, d->curve_c_s, d->curve_pivot);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(d, KD_C, d->curve_c);
    return answer;
}

// Derivative of fn along the motion: the step shrinks until both orders agree or differ by rounding only.
static kd_eval along_motion(kd_eom_data *d, const motion *m, double *out)
{
    const int rows = d->entry[m->fn].rows;
    double    tau = first_step(d, m), best = HUGE_VAL;
    memset(out, 0, (size_t)rows * sizeof(double));
    if (tau == 0.0) return KD_EVAL_OK;
    kd_eval answer = prepare_middle(d, m);
    if (answer != KD_EVAL_OK) return answer;

    // from here on the point moves along the curve in arrays of its own
    double internal = fmax(kd_norm_max(d->eom->def.dims.np, d->x.p), 1.0); // terms that cancel are as large as this
    kd_eom_frame *frame = kd_eom_frame_push(d);
    d->x.u = frame->u;
    d->x.du = frame->du;
    d->x.p = frame->p;
    d->x.v = frame->v;
    if (d->eom->def.dims.ns > 0) d->x.s = d->curve_s;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++, tau *= SMALLER) {
        double size, samples;
        // orders 6 and 8 from the same samples; the best so far is kept
        answer = sample_motion(d, m, frame, tau);
        if (answer == KD_EVAL_RETRY) continue;
        if (answer == KD_EVAL_STOP) break;
        double difference = combine_samples(d, m, tau, d->curve_best, &size, &samples);
        double scale = m->order == 1 ? tau : tau * tau;
        if (difference < best) {
            best = difference;
            memcpy(out, d->curve_best, (size_t)rows * sizeof(double));
        }
        if (best <= RELATIVE * size + ROUNDING * fmax(samples, internal) / scale) break;
    }
    kd_eom_frame_pop(d);
    return answer == KD_EVAL_RETRY && best < HUGE_VAL ? KD_EVAL_OK : answer;
}

// gI = GZ v + g_t with supplied g_p; otherwise d/dtau g.
kd_eval kd_fallback_gI(kd_eom_data *d, double *out)
{
    const kd_dims *n = &d->eom->def.dims;
    d->counters.fn[KD_GI]++;
    if (d->eom->GZ != KD_GZ_FROM_G_P && d->eom->GZ != KD_GZ_FROM_GI_V)
        return along_motion(d, &(motion){KD_G, 1, d->x.v, d->zero}, out);

    // GZ v, and g_t from a motion in which only time passes
    kd_eval answer = kd_update_GZ(d);
    if (answer != KD_EVAL_OK) return answer;
    memset(out, 0, (size_t)n->nlambda * sizeof(double));
    if (d->eom->moves_in_time) answer = along_motion(d, &(motion){KD_G, 1, d->zero, d->zero}, out);
    kd_gemv(n->nlambda, n->nv, 1.0, d->GZ, d->x.v, 1.0, out);
    return answer;
}

kd_eval kd_fallback_gII(kd_eom_data *d, double *out)
{
    d->counters.fn[KD_GII]++;
    // from gI where it is exact: a first derivative keeps more digits than a second one
    bool from_gI = !d->entry[KD_GI].noisy; // supplied, or exact
    return along_motion(d, &(motion){from_gI ? KD_GI : KD_G, from_gI ? 1 : 2, d->x.v, d->x.a}, out);
}

kd_eval kd_fallback_hI(kd_eom_data *d, double *out)
{
    d->counters.fn[KD_HI]++;
    return along_motion(d, &(motion){KD_H, 1, d->x.v, d->x.a}, out);
}
