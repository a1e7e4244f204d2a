// kardan/sdirk.h: singly diagonally implicit Runge-Kutta method SDIRK 4/15, order 4, L-stable, for 0 = F(t, x, x'); for
// x' = rhs(t, x) also one with an explicit first stage and stage order 2 and the Rosenbrock method RODAS, both of order
// 4 and L-stable.  Method: docs/methods/sdirk.md
#ifndef KARDAN_SDIRK_H
#define KARDAN_SDIRK_H

#include <kardan/dae.h>
#include <kardan/radau.h> // kd_stats

KD_EXTERN_C_BEGIN

typedef struct kd_sdirk kd_sdirk;

// Methods: name, word, sentence.
#define KD_SDIRK_METHOD_LIST(X)                                                                                        \
    X(KD_SDIRK_NEWTON, "sdirk", "SDIRK 4/15, stages by Newton's method")                                               \
    X(KD_SDIRK_STAGE_ORDER_2, "esdirk", "ESDIRK 4(3)7L[2]SA, stage order 2, by Newton's method")                       \
    X(KD_SDIRK_ROSENBROCK, "rosenbrock", "RODAS, one linear system per stage, a new Jacobian in every step")

typedef enum kd_sdirk_method {
#define KD_SDIRK_METHOD_ENUM(name, word, sentence) name,
    KD_SDIRK_METHOD_LIST(KD_SDIRK_METHOD_ENUM)
#undef KD_SDIRK_METHOD_ENUM
        KD_SDIRK_METHOD_COUNT
} kd_sdirk_method;

typedef struct kd_sdirk_options {
    kd_sdirk_method method;     //                                                                       default sdirk
    double          rtol;       // >= 10 uround                                                          default 1e-6
    double          atol;       // > 0                                                                   default 1e-6
    const double   *rtol_each;  // (dae->nstate) or NULL; copied
    const double   *atol_each;  // (dae->nstate) or NULL; copied
    double          h_first;    // first step [s]; 0: estimated                                          default 0
    double          h_max;      // 0: t_end - t                                                          default 0
    long            max_steps;  // attempts of one run (kd_simulation_run); a further run goes on        default 100000
    int             max_newton; // Newton iterations of a stage                                          default 10
    bool            start_zero; // zero instead of predicted stage increments                            default false
    bool            classical;  // classical instead of predictive step control                          default false
    double          uround;     //                                                                       default 1e-16
    double          safety;     //                                                                       default 0.9
    double          theta; // keep the Jacobian while Newton contracts faster; < 0: never keep; 0: chosen    default 0
    double          newton_stop; // Newton error relative to the tolerance; 0: chosen, see the method     default 0
    double          quot1;       // h is kept if quot1 <= h_new / h <= quot2                              default 1.0
    double          quot2;       //                                                                       default 1.2
    double          fac_upper;   // h_new / h <= fac_upper                                                default 5
    double          fac_lower;   // h_new / h >= fac_lower                                                default 0.2
} kd_sdirk_options;

KD_API kd_sdirk_options kd_sdirk_options_default(void);

// Allocates everything that steps need. dae must outlive it; opt NULL: defaults. On failure *sdirk is NULL and message
// (may be NULL) says why: KD_ERR_UNSUPPORTED for forms with components of index 3, and without rhs for
// esdirk and rosenbrock.
KD_API kd_status kd_sdirk_create(kd_dae *dae, const kd_sdirk_options *opt, kd_sdirk **sdirk, char *message,
                                 size_t size) KD_NODISCARD;
// Set the state (x consistent); forgets the past.
KD_API kd_status kd_sdirk_start(kd_sdirk *sdirk, double t, const double *x) KD_NODISCARD;
// The same with what mode allows to keep: after events and samples.
KD_API kd_status kd_sdirk_restart(kd_sdirk *sdirk, double t, const double *x, kd_restart mode) KD_NODISCARD;
// One accepted step, not beyond t_end. Does not allocate. KD_OK; < 0: failed, the state is the last accepted one.
// Coordinates are chosen anew (kd_dae_class.relabel) at the start of a step: dense output of the last one stays valid
// until then.
KD_API kd_status kd_sdirk_step(kd_sdirk *sdirk, double t_end) KD_NODISCARD;
// Take the last accepted step back, right after it: time and state are those of its start, the next step is at most h
// long. KD_ERR_STAGE: there is none, or steps have a fixed size.
KD_API kd_status kd_sdirk_retract(kd_sdirk *sdirk, double h) KD_NODISCARD;
// Both ends of the last step; false: there is none, or x' is not known there.
KD_API bool kd_sdirk_ends(kd_sdirk *sdirk, kd_step_ends *ends);
// Somebody else used the linear algebra of the DAE between two steps: matrices are made anew.
KD_API void kd_sdirk_refresh(kd_sdirk *sdirk);

KD_API double        kd_sdirk_time(const kd_sdirk *sdirk);
KD_API double        kd_sdirk_time_old(const kd_sdirk *sdirk); // start of the last accepted step
KD_API const double *kd_sdirk_x(const kd_sdirk *sdirk);        // (n)
// Dense output in [time_old, time]: the formulation's, else cubic Hermite.
KD_API kd_status kd_sdirk_dense(kd_sdirk *sdirk, double t, double *x) KD_NODISCARD;
KD_API kd_stats  kd_sdirk_stats(const kd_sdirk *sdirk);
// Why it failed: time, cause, component by name, advice; beside the status sentence.
KD_API const char *kd_sdirk_message(const kd_sdirk *sdirk);
KD_API void        kd_sdirk_destroy(kd_sdirk *sdirk); // NULL is fine

KD_EXTERN_C_END
#endif
