// integrator/attempt.h: what kardan's own integrators share around an attempt of a step: weights of Newton increments,
// the component to blame, its share in a norm, words of a failure, counters of the formulation.
#ifndef KD_INTEGRATOR_ATTEMPT_H
#define KD_INTEGRATOR_ATTEMPT_H

#include <kardan/integrator.h>

// What absolute tolerances and steps are measured with: natural units where the formulation gives them, else SI
static inline double kd_attempt_unit(const kd_dae *dae, int i)
{
    return dae->unit ? dae->unit[i] : 1;
}

static inline double kd_attempt_time(const kd_dae *dae)
{
    return dae->time > 0 ? dae->time : 1;
}

// weight_newton (n) = weight times 1, min(h, 1), min(h^2, 1) for components of index 1, 2, 3 (h in units of
// kd_attempt_time); 0: not counted. Velocities of index 2 (index3) count as in 0.03 of the longest step so far, or 1e-3, at
// least: h alone would let tiny steps, as beside singular positions, change the velocity at will. longest = 0: by h alone.
void kd_attempt_weights(const kd_dae *dae, double h, double longest, const double *weight, double *weight_newton);
// Component with the largest |x_i weight_i|, or the first that is not a number
int kd_attempt_worst(int n, const double *x, const double *weight);
// share (n): part of each component in the square of the weighted norm of x; controlled: only those of the error test.
// Components that are not finite have all of it. NULL: all are zero.
const double *kd_attempt_shares(const kd_dae *dae, const double *x, const double *weight, bool controlled,
                                double *share);
// Length of a step planned with h that shall end at t_end or, where h is shorter by more than the part stretch, be one
// of a few equal ones that do; h if there are many to come. h_last where that differs from the last step by
// the rounding of t only: what was factored for it serves again.
double kd_attempt_landing(double t, double t_end, double h, double stretch, double h_last);
// h or, where t + h is so far from its rounded value that h differs by more than a part of 1e-10, the way between the two
// times that a step really has: t + h is exact then, and forces that change within 1e9 steps of the time are integrated
// over the time that passes. Steps that follow with this length end at exact times, too.
double kd_attempt_exact(double t, double h);
// A failure in words: head, the reason that message has on entry, the worst component (-1: none), advice ("": none)
void kd_attempt_explain(const kd_dae *dae, const char *head, int worst, const char *advice, char *message, size_t size);
// What to try after a failure of an implicit method; "": nothing in particular
const char *kd_attempt_advice(kd_status status);
const char *kd_attempt_advice_fixed(void); // where steps have a fixed size
// What the formulation counted, into the statistics of an integrator
void kd_attempt_counters(const kd_dae *dae, kd_stats *stats);

#endif
