// kardan/arkode.h: SUNDIALS ARKODE, explicit and diagonally implicit Runge-Kutta methods, on the formulation ode.
// Other formulations are refused with KD_ERR_UNSUPPORTED. Without SUNDIALS every call answers KD_ERR_UNAVAILABLE.
#ifndef KARDAN_ARKODE_H
#define KARDAN_ARKODE_H

#include <kardan/dae.h>
#include <kardan/radau.h>

KD_EXTERN_C_BEGIN

typedef struct kd_arkode kd_arkode;

// Name, word on the command line, sentence.
#define KD_ARKODE_METHOD_LIST(X)                                                                                       \
    X(KD_ARKODE_ERK, "erk", "explicit Runge-Kutta")                                                                    \
    X(KD_ARKODE_DIRK, "dirk", "diagonally implicit Runge-Kutta with Newton's method")

typedef enum kd_arkode_method {
#define KD_ARKODE_METHOD_ENUM(name, word, sentence) name,
    KD_ARKODE_METHOD_LIST(KD_ARKODE_METHOD_ENUM)
#undef KD_ARKODE_METHOD_ENUM
        KD_ARKODE_METHOD_COUNT
} kd_arkode_method;

typedef struct kd_arkode_options {
    double           rtol, atol;     //                                                               default 1e-6
    double           h_first, h_max; // 0: chosen by ARKODE                                           default 0
    double           h_fixed;        // [s] > 0: constant steps without error control                 default 0
    long             max_steps;      //                                                               default 100000
    kd_arkode_method method;         //                                                               default erk
    int              order;          // 2 .. 6, 8 (erk), 2 .. 5 (dirk)                                default 5
    const char      *table;          // dirk: ARKODE's name of a table, e.g. ARKODE_ARK437L2SA_DIRK_7_3_4, instead of
                                     // the order; not kept. NULL: by order                          default NULL
    bool extrapolate;                // dirk: stages begin on the polynomial of the last step, their slopes are taken
                                     // from Newton's solution; ARKODE by itself does neither       default false
    bool own_linear_algebra;         // dirk: Newton matrices of the formulation instead of ARKODE's dense differences
        //                                                                       default false
} kd_arkode_options;

// The defaults given above.
KD_API kd_arkode_options kd_arkode_options_default(void);
// Was the library built with SUNDIALS?
KD_API bool kd_arkode_available(void);
// dae must outlive it; opt NULL: defaults. On failure *arkode is NULL and message (may be NULL) says why:
// KD_ERR_UNAVAILABLE, KD_ERR_UNSUPPORTED (another formulation), ...
KD_API kd_status kd_arkode_create(kd_dae *dae, const kd_arkode_options *opt, kd_arkode **arkode, char *message,
                                  size_t size) KD_NODISCARD;
// Set the state; forgets the past.
KD_API kd_status kd_arkode_start(kd_arkode *arkode, double t, const double *x) KD_NODISCARD;
// The same with what mode allows to keep: after events and samples.
KD_API kd_status kd_arkode_restart(kd_arkode *arkode, double t, const double *x, kd_restart mode) KD_NODISCARD;
KD_API kd_status kd_arkode_step(kd_arkode *arkode, double t_end) KD_NODISCARD; // one internal step, not beyond t_end
// Take the last accepted step back, right after it: time and state are those of its start, the next step is at most h
// long. KD_ERR_STAGE: there is none, or steps have a fixed size.
KD_API kd_status kd_arkode_retract(kd_arkode *arkode, double h) KD_NODISCARD;
// Both ends of the last step; false: there is none, or x' is not known there.
KD_API bool          kd_arkode_ends(kd_arkode *arkode, kd_step_ends *ends);
KD_API double        kd_arkode_time(const kd_arkode *arkode);
KD_API double        kd_arkode_time_old(const kd_arkode *arkode); // start of the last step
KD_API const double *kd_arkode_x(const kd_arkode *arkode);        // (n) at kd_arkode_time
// Dense output of ARKODE in [time_old, time], projected where the steps are.
KD_API kd_status   kd_arkode_dense(kd_arkode *arkode, double t, double *x) KD_NODISCARD;
KD_API kd_stats    kd_arkode_stats(const kd_arkode *arkode);   // since creation
KD_API const char *kd_arkode_message(const kd_arkode *arkode); // why the last call failed
KD_API void        kd_arkode_destroy(kd_arkode *arkode);       // NULL is fine

KD_EXTERN_C_END
#endif
