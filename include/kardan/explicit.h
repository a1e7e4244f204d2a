// kardan/explicit.h: explicit Runge-Kutta methods of Dormand and Prince with dense output, for forms with a right-hand
// side x' = f(t, x): ode, statespace; and the half-explicit one of order 5 for the equations of motion with constraints
// on velocity level (index 2), on the form ode.  Methods: docs/methods/explicit.md, half-explicit.md
#ifndef KARDAN_EXPLICIT_H
#define KARDAN_EXPLICIT_H

#include <kardan/dae.h>
#include <kardan/radau.h>

KD_EXTERN_C_BEGIN

typedef struct kd_explicit kd_explicit;

// Name, word, sentence.
#define KD_EXPLICIT_METHOD_LIST(X)                                                                                     \
    X(KD_EXPLICIT_DOPRI5, "dopri5", "order 5(4), 6 evaluations per step, dense output of order 4")                     \
    X(KD_EXPLICIT_DOP853, "dop853", "order 8(5,3), 12 evaluations per step, dense output of order 7")                  \
    X(KD_EXPLICIT_HALF, "half-explicit",                                                                               \
      "order 5(4), constraints on velocity level in 5 stages, dense output of order 4")

typedef enum kd_explicit_method {
#define KD_EXPLICIT_METHOD_ENUM(name, word, sentence) name,
    KD_EXPLICIT_METHOD_LIST(KD_EXPLICIT_METHOD_ENUM)
#undef KD_EXPLICIT_METHOD_ENUM
        KD_EXPLICIT_METHOD_COUNT
} kd_explicit_method;

typedef struct kd_explicit_options {
    kd_explicit_method method;      //                                                                  default dopri5
    double             rtol, atol;  // > 0                                                              default 1e-6
    double             h_first;     // first step [s]; 0: estimated                                     default 0
    double             h_max;       // 0: t_end - t                                                     default 0
    double             h_fixed;     // [s] > 0: constant steps without error control                    default 0
    long               max_steps;   // attempts of one run (kd_simulation_run)                          default 100000
    double             safety;      // < 1, factor of the proposed step; 0: the method's                default 0
    double             beta;        // 0 .. 0.2, integral part of the step control; < 0: the method's   default -1
    int                stiff_steps; // stiffness is looked for every so many steps; 0: never            default 50
} kd_explicit_options;

KD_API kd_explicit_options kd_explicit_options_default(void);

// Allocates everything that steps need; opt NULL: defaults. On failure *self is NULL and message (may be NULL) says
// why: KD_ERR_UNSUPPORTED for a form without right-hand side, or without half-explicit stages, ...
KD_API kd_status kd_explicit_create(kd_dae *dae, const kd_explicit_options *opt, kd_explicit **self, char *message,
                                    size_t size) KD_NODISCARD;
// Set the state (x consistent); forgets the past.
KD_API kd_status kd_explicit_start(kd_explicit *self, double t, const double *x) KD_NODISCARD;
// The same with what mode allows to keep: after events and samples.
KD_API kd_status kd_explicit_restart(kd_explicit *self, double t, const double *x, kd_restart mode) KD_NODISCARD;
// One accepted step, not beyond t_end. Does not allocate. KD_OK; KD_STIFF: the same, and kd_explicit_message advises an
// implicit method, once after each start; < 0: failed, the state is the last accepted one.
KD_API kd_status kd_explicit_step(kd_explicit *self, double t_end) KD_NODISCARD;
// Take the last accepted step back, right after it: time and state are those of its start, the next step is at most h
// long. KD_ERR_STAGE: there is none, or steps have a fixed size.
KD_API kd_status kd_explicit_retract(kd_explicit *self, double h) KD_NODISCARD;
// Both ends of the last step; false: there is none, or x' is not known there.
KD_API bool          kd_explicit_ends(kd_explicit *self, kd_step_ends *ends);
KD_API double        kd_explicit_time(const kd_explicit *self);
KD_API double        kd_explicit_time_old(const kd_explicit *self); // start of the last accepted step
KD_API const double *kd_explicit_x(const kd_explicit *self);        // (n)
// Dense output in [time_old, time], projected where the steps are. dop853 makes 3 more evaluations at the first call
// after a step.
KD_API kd_status   kd_explicit_dense(kd_explicit *self, double t, double *x) KD_NODISCARD;
KD_API kd_stats    kd_explicit_stats(const kd_explicit *self);
KD_API const char *kd_explicit_message(const kd_explicit *self); // why it failed, or that an implicit method is advised
KD_API void        kd_explicit_destroy(kd_explicit *self);       // NULL is fine

KD_EXTERN_C_END
#endif
