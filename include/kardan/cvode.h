// kardan/cvode.h: SUNDIALS CVODE, variable-order Adams and BDF methods, on the formulation ode. Other
// formulations are refused with KD_ERR_UNSUPPORTED. Projection: at every step (KD_PROJECT_ALWAYS), by bdf; a bound must
// lie well below the tolerances, or what it moves looks like an error.
// Without SUNDIALS every call answers KD_ERR_UNAVAILABLE.
#ifndef KARDAN_CVODE_H
#define KARDAN_CVODE_H

#include <kardan/dae.h>
#include <kardan/radau.h>

KD_EXTERN_C_BEGIN

typedef struct kd_cvode kd_cvode;

// Name, word on the command line, sentence.
#define KD_CVODE_METHOD_LIST(X)                                                                                        \
    X(KD_CVODE_BDF, "bdf", "BDF with Newton's method; can project")                                                    \
    X(KD_CVODE_ADAMS, "adams", "Adams-Moulton with fixed-point iteration, for motions that are not stiff")

typedef enum kd_cvode_method {
#define KD_CVODE_METHOD_ENUM(name, word, sentence) name,
    KD_CVODE_METHOD_LIST(KD_CVODE_METHOD_ENUM)
#undef KD_CVODE_METHOD_ENUM
        KD_CVODE_METHOD_COUNT
} kd_cvode_method;

typedef struct kd_cvode_options {
    double          rtol, atol;         //                                                                default 1e-6
    double          h_first, h_max;     // 0: chosen by CVODE                                             default 0
    long            max_steps;          //                                                                default 100000
    kd_cvode_method method;             //                                                                default bdf
    int             order_max;          // 1 .. 5 (bdf), 1 .. 12 (adams); 0: the largest                  default 0
    bool            own_linear_algebra; // bdf: Newton matrices of the formulation instead of CVODE's dense differences
        //                                                                       default false
} kd_cvode_options;

// The defaults given above.
KD_API kd_cvode_options kd_cvode_options_default(void);
// Was the library built with SUNDIALS?
KD_API bool kd_cvode_available(void);
// dae must outlive it; opt NULL: defaults. On failure *cvode is NULL and message (may be NULL) says why:
// KD_ERR_UNAVAILABLE, KD_ERR_UNSUPPORTED (another formulation), ...
KD_API kd_status kd_cvode_create(kd_dae *dae, const kd_cvode_options *opt, kd_cvode **cvode, char *message,
                                 size_t size) KD_NODISCARD;
// Set the state; forgets the past.
KD_API kd_status kd_cvode_start(kd_cvode *cvode, double t, const double *x) KD_NODISCARD;
// The same with what mode allows to keep: after events and samples.
KD_API kd_status kd_cvode_restart(kd_cvode *cvode, double t, const double *x, kd_restart mode) KD_NODISCARD;
KD_API kd_status kd_cvode_step(kd_cvode *cvode, double t_end) KD_NODISCARD; // one internal step, not beyond t_end
// Take the last accepted step back, right after it: time and state are those of its start, the next step is at most h
// long. KD_ERR_STAGE: there is none, or steps have a fixed size.
KD_API kd_status kd_cvode_retract(kd_cvode *cvode, double h) KD_NODISCARD;
// Both ends of the last step; false: there is none, or x' is not known there.
KD_API bool          kd_cvode_ends(kd_cvode *cvode, kd_step_ends *ends);
KD_API double        kd_cvode_time(const kd_cvode *cvode);
KD_API double        kd_cvode_time_old(const kd_cvode *cvode); // start of the last step
KD_API const double *kd_cvode_x(const kd_cvode *cvode);        // (n) at kd_cvode_time
// Dense output of CVODE in [time_old, time], projected where the steps are.
KD_API kd_status   kd_cvode_dense(kd_cvode *cvode, double t, double *x) KD_NODISCARD;
KD_API kd_stats    kd_cvode_stats(const kd_cvode *cvode);   // since creation
KD_API const char *kd_cvode_message(const kd_cvode *cvode); // why the last call failed
KD_API void        kd_cvode_destroy(kd_cvode *cvode);       // NULL is fine

KD_EXTERN_C_END
#endif
