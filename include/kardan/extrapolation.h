// kardan/extrapolation.h: extrapolation of the explicit midpoint rule (Gragg, Bulirsch, Stoer) with control of order
// and step size and dense output, for forms with a right-hand side x' = f(t, x): ode, statespace.
// Method: docs/methods/extrapolation.md
#ifndef KARDAN_EXTRAPOLATION_H
#define KARDAN_EXTRAPOLATION_H

#include <kardan/dae.h>
#include <kardan/radau.h>

KD_EXTERN_C_BEGIN

typedef struct kd_extrapolation kd_extrapolation;

#define KD_EXTRAPOLATION_ORDER_MAX 20

// Name, word, sentence.
#define KD_SEQUENCE_LIST(X)                                                                                            \
    X(KD_SEQUENCE_CHOSEN, "chosen", "harmonic; a simulation with wanted times takes midpoint")                         \
    X(KD_SEQUENCE_HARMONIC, "harmonic", "2, 4, 6, 8, ...: the least work; dense output evaluates further columns")     \
    X(KD_SEQUENCE_MIDPOINT, "midpoint", "2, 6, 10, 14, ...: dense output without further evaluations")

typedef enum kd_sequence {
#define KD_SEQUENCE_ENUM(name, word, sentence) name,
    KD_SEQUENCE_LIST(KD_SEQUENCE_ENUM)
#undef KD_SEQUENCE_ENUM
        KD_SEQUENCE_COUNT
} kd_sequence;

typedef struct kd_extrapolation_options {
    double rtol, atol;       // > 0                                                              default 1e-6
    double h_first;          // first step [s]; 0: estimated                                     default 0
    double h_max;            // 0: t_end - t                                                     default 0
    double h_fixed;          // [s] > 0: constant steps without error control                    default 0
    long   max_steps;        // attempts of one run (kd_simulation_run)                          default 100000
    double safety;           // < 1, factor of the proposed step; 0: 0.94                        default 0
    int    order_max;        // 4 .. 20, highest order; odd ones count as the even one below     default 18
    int    order;            // > 0: constant order, even, 2 with h_fixed only .. order_max; 0: chosen from step to step
                             // by work per unit step; with h_fixed order_max                    default 0
    kd_sequence sequence;    // substeps of the columns                                          default chosen
    int         stiff_steps; // stiffness is looked for every so many steps; 0: never            default 20
} kd_extrapolation_options;

KD_API kd_extrapolation_options kd_extrapolation_options_default(void);

// Allocates everything that steps need; opt NULL: defaults. On failure *self is NULL and message (may be NULL) says
// why: KD_ERR_UNSUPPORTED for a form without right-hand side, ...
KD_API kd_status kd_extrapolation_create(kd_dae *dae, const kd_extrapolation_options *opt, kd_extrapolation **self,
                                         char *message, size_t size) KD_NODISCARD;
// Set the state (x consistent); forgets the past.
KD_API kd_status kd_extrapolation_start(kd_extrapolation *self, double t, const double *x) KD_NODISCARD;
// The same with what mode allows to keep: after events and samples.
KD_API kd_status kd_extrapolation_restart(kd_extrapolation *self, double t, const double *x,
                                          kd_restart mode) KD_NODISCARD;
// One accepted step, not beyond t_end. Does not allocate. KD_OK; KD_STIFF: the same, and kd_extrapolation_message
// advises an implicit method, once after each start; < 0: failed, the state is the last accepted one.
KD_API kd_status kd_extrapolation_step(kd_extrapolation *self, double t_end) KD_NODISCARD;
// Take the last accepted step back, right after it: time and state are those of its start, the next step is at most h
// long. KD_ERR_STAGE: there is none, or steps have a fixed size.
KD_API kd_status kd_extrapolation_retract(kd_extrapolation *self, double h) KD_NODISCARD;
// Both ends of the last step; false: there is none, or x' is not known there.
KD_API bool          kd_extrapolation_ends(kd_extrapolation *self, kd_step_ends *ends);
KD_API double        kd_extrapolation_time(const kd_extrapolation *self);
KD_API double        kd_extrapolation_time_old(const kd_extrapolation *self); // start of the last accepted step
KD_API const double *kd_extrapolation_x(const kd_extrapolation *self);        // (n)
// Dense output in [time_old, time], projected where the steps are; one order below the step's.
KD_API kd_status   kd_extrapolation_dense(kd_extrapolation *self, double t, double *x) KD_NODISCARD;
KD_API kd_stats    kd_extrapolation_stats(const kd_extrapolation *self);
KD_API const char *kd_extrapolation_message(const kd_extrapolation *self); // why it failed, or advice
KD_API void        kd_extrapolation_destroy(kd_extrapolation *self);       // NULL is fine

KD_EXTERN_C_END
#endif
