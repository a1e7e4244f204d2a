// simulation/verify_impl.h: the object behind verify.h and what its files share. Not for others.
#ifndef KD_SIMULATION_VERIFY_IMPL_H
#define KD_SIMULATION_VERIFY_IMPL_H

#include "core/memory.h"
#include "point/acceleration.h"
#include "point/dense_output.h"
#include "simulation/course.h"
#include "simulation/verify.h"

typedef struct kd_verify_past { // start of an earlier step
    double  t;
    double *x, *d; // (n)
} kd_verify_past;

struct kd_verify {
    kd_arena         arena;
    const kd_eom    *eom;
    kd_inputs        inputs;
    kd_dims          dims;
    kd_dae          *dae;
    kd_integrator   *integrator;
    kd_acceleration *acceleration; // forms without right-hand side
    double           rtol, atol, allowed;
    int              n, np, nv, nr; // of x; where positions, velocities and inner states begin
    int              v, r, w, s, lambda, mu, a;
    bool             identity;            // p' = v
    bool             knows_a;             // x has accelerations
    int              dense;               // points in a run at least, where accuracy does not limit steps
    int              dense_inputs;        // the same for inputs, where only they can have done something
    double           odd;                 // a time in this step at which they have; NaN: none
    double          *u[3];                // (3 nu) u, u', u'' at the ends of the step and inside
    kd_course       *course;              // (nu) inputs along the step
    kd_verify_past   before[2];           // starts of the steps before, the last one first
    int              chained, chain_most; // so many of them are nodes of the polynomial; at most
    double          *x_end;               // (n) end of the last step that was seen
    double          *d0, *d1;             // (n)
    double          *x, *slope, *cubic;   // (n) of the polynomial, x_I, x_I' and that of the cubic
    double          *rate;                // (n) x' by the equations
    double          *noise;               // (n) h |delta| that was seen and had no weight
    int              fading;              // points in a row at which far less was seen
    double          *part, *y, *F, *dx;   // of the correction
    double          *x_mid, *d_mid;       // (n)
    double          *moved;               // (n) by the correction, along the motion
    double          *tolerance;           // (n) of positions, velocities and inner states in this step
    bool             solved;              // slopes of this step are those of the equations
    bool             corrects;            // a correction is possible
    int              period, pause;       // at least every so many steps are checked; at present
    bool             idle;                // accuracy hardly limited the last step that was checked
    bool             calm;                // and its defect was far below what is allowed
    long             sequence;            // number of the point
    int              since;               // steps since the last check
    long             rejected;            // attempts that the integrator has rejected so far
    int              troubled;            // so many steps are still to be checked since it last did
    double           h_known, h_last;     // longest step that was checked lately, last step
    bool             singular;            // this step may have passed a singular position
    bool             late;                // the method does not evaluate at the start of a step
    double           change, change_last; // of the slopes in this step and in the last one, in tolerances
    double           t_start, span;       // of all runs
    double           doubt; // a time inside a step that did not stand: up to it all steps are checked; NaN: none
    kd_verification  result;
    char             why[200];
};

// ---- verify_motion.c ------------------------------------------------------------------------------------------------

// x_I, x_I' and the derivative of the cubic at t
void kd_verify_interpolate(kd_verify *self, const kd_step_ends *e, double t);
// The same from dense output of the integrator, which has no cubic beside it
kd_status kd_verify_dense(kd_verify *self, const kd_step_ends *e, double t) KD_NODISCARD;
// rate: x' at (t, x) of velocities and inner states
kd_eval kd_verify_evaluate(kd_verify *self, double t) KD_NODISCARD;
// The same, about, with the matrix of the last point that was solved; *done false: there is none, or it is too far away
kd_eval kd_verify_glance(kd_verify *self, double t, bool *done) KD_NODISCARD;

// ---- verify_correction.c --------------------------------------------------------------------------------------------

// tolerance of positions, velocities and inner states in this step
void kd_verify_take_tolerance(kd_verify *self, const kd_step_ends *e);
// gamma h |x - x_I| in tolerances: how far the equations move x_I; INFINITY: no solution close by
double kd_verify_correction(kd_verify *self, const kd_step_ends *e, double t);

#endif
