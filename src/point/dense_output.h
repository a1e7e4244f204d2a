// point/dense_output.h: the motion between two accepted points, from the points alone.
#ifndef KD_POINT_DENSE_OUTPUT_H
#define KD_POINT_DENSE_OUTPUT_H

#include "point/acceleration.h"

typedef struct kd_dense_output kd_dense_output;

// acceleration is shared and must outlive the object. project: p and v are projected onto all constraint levels; only
// for forms whose accepted points satisfy them.
kd_status kd_dense_output_create(kd_acceleration *acceleration, bool project, kd_dense_output **dense) KD_NODISCARD;
void      kd_dense_output_destroy(kd_dense_output *self);                // NULL is fine
void      kd_dense_output_forget(kd_dense_output *self);                 // the ends are others
void      kd_dense_output_archive(kd_dense_output *self, kd_archive *a); // save or restore

// x(t) = [p v r w s lambda mu] for t0 <= t <= t1 from x0 = x(t0), x1 = x(t1). What belongs to an end (accelerations) is
// kept until the end, the discrete states or the active rows change. a (nv, may be NULL): acceleration at t.
kd_eval kd_dense_output_eval(kd_dense_output *self, double t0, const double *x0, double t1, const double *x1, double t,
                             double *x, double *a) KD_NODISCARD;

// p, v, r, s of x(t) alone, the rest are guesses; behind x0 and x1 stand their accelerations (nv), so that nothing has to
// be solved at the ends.
kd_eval kd_dense_output_motion(kd_dense_output *self, double t0, const double *x0, double t1, const double *x1,
                               double t, double *x) KD_NODISCARD;

// x(t) = [p v r w s lambda mu] of another polynomial: norms, constraints and algebraic components as above. Nothing
// happens where the form's accepted points do not satisfy the constraints.
kd_eval kd_dense_output_settle(kd_dense_output *self, double t, double *x, double *a) KD_NODISCARD;

// Quintic Hermite polynomial of (x, x', x'') at t0 and t1, at t: value and derivative by time. In steps so short that
// x1 - x0 is rounding the derivative is the cubic of (x', x'').
void kd_quintic(double t0, double t1, double t, double x0, double d0, double dd0, double x1, double d1, double dd1,
                double *value, double *rate);

#endif
