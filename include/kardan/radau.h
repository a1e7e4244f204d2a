// kardan/radau.h: Radau IIa, 3 stages, order 5, for 0 = F(t, x, x').  Method: docs/methods/radau.md
#ifndef KARDAN_RADAU_H
#define KARDAN_RADAU_H

#include <kardan/dae.h>

KD_EXTERN_C_BEGIN

typedef struct kd_radau kd_radau;

// Names in capitals are those of S3 (IOPT, ROPT). Defaults are the paper's, except newton_stop (docs/methods/radau.md).
typedef struct kd_radau_options {
    double        rtol;       // RTOL, >= 10 uround                                                    default 1e-6
    double        atol;       // ATOL, > 0                                                             default 1e-6
    const double *rtol_each;  // (dae->nstate) or NULL; copied
    const double *atol_each;  // (dae->nstate) or NULL; copied
    double        h_first;    // H; first step [s]; 0: estimated                                       default 0
    double        h_max;      // HMAX; 0: t_end - t                                                    default 0
    long          max_steps;  // NMAX; attempts of one run (kd_simulation_run); a further run goes on  default 100000
    int           max_newton; // NIT                                                                   default 10
    bool          start_zero; // STARTN = 1: zero instead of extrapolated starting values              default false
    int           reference;  // NWTMAT: Newton matrix at x_k (0) or extrapolated stage 1..3           default 0
    int           newton_updates; // NWTUPD: new Newton matrices inside one Newton iteration            default 0
    bool          classical;      // PRED = 2: classical instead of predictive step control                default false
    double        uround;         // UROUND                                                                default 1e-16
    double        safety;         // SAFE                                                                  default 0.9
    double        theta;       // THET: keep the Jacobian while Newton contracts faster; < 0: never keep default 0.001
    double        newton_stop; // FNEWT; 0: chosen by rtol, see the method                                     default 0
    double        quot1;       // QUOT1: h is kept if quot1 <= h_new / h <= quot2                       default 1.0
    double        quot2;       // QUOT2                                                                 default 1.2
    double        fac_upper;   // FACL: h_new / h <= fac_upper                                          default 8
    double        fac_lower;   // FACR: h_new / h >= fac_lower                                          default 0.2
} kd_radau_options;

KD_API kd_radau_options kd_radau_options_default(void);

// Counters of S3's IWORK, with causes.
typedef struct kd_stats {
    long   accepted;          // NACCPT
    long   rejected_error;    // NERJCT
    long   rejected_newton;   // NCRJCT
    long   retracted;         // accepted at first, taken back by who verified them; not among accepted
    long   steps;             // NSTEP: all attempts
    long   residuals;         // NEOM
    long   for_differences;   // evaluations made for differences (in addition)
    long   mass;              // NMAS
    long   jacobians;         // NJAC
    long   selectors;         // NSEL
    long   predecompositions; // NPDEC
    long   decompositions;    // NEDEC
    long   solves;            // NBSUB
    long   newton_updates;    // NWTUPD used
    long   updates;           // cheap updates of the Newton matrix (S0 Eq. 24 to 26)
    long   pattern_changes;   // growth of an estimated pattern
    long   groups;            // column groups of the present pattern; 0: not differenced by groups
    long   fullest_row;       // lower bound of groups
    long   factorizations;    // sparse, with new pivoting
    long   refactorizations;  // sparse, with the old pivoting
    long   projections;       // S1 Eq. 36
    long   accelerations;     // systems of hidden accelerations solved for states that are shown, by the driver
    int    order_last;        // order of the last step (multistep methods; 0: fixed)
    double h_last;            // last used step size
} kd_stats;

// Allocates everything that steps need. On failure *radau is NULL. message: why.
KD_API kd_status kd_radau_create(kd_dae *dae, const kd_radau_options *opt, kd_radau **radau, char *message,
                                 size_t size) KD_NODISCARD;
// Set the state (x consistent); forgets the past.
KD_API kd_status kd_radau_start(kd_radau *radau, double t, const double *x) KD_NODISCARD;
// The same with what mode allows to keep: after events and samples.
KD_API kd_status kd_radau_restart(kd_radau *radau, double t, const double *x, kd_restart mode) KD_NODISCARD;
// One accepted step, not beyond t_end. Does not allocate. KD_OK; < 0: failed, the state is the last accepted one.
KD_API kd_status kd_radau_step(kd_radau *radau, double t_end) KD_NODISCARD;
// Take the last accepted step back, right after it: time and state are those of its start, the next step is at most h
// long. KD_ERR_STAGE: there is none, or steps have a fixed size.
KD_API kd_status kd_radau_retract(kd_radau *radau, double h) KD_NODISCARD;
// Both ends of the last step; false: there is none, or x' is not known there.
KD_API bool kd_radau_ends(kd_radau *radau, kd_step_ends *ends);
// Somebody else used the linear algebra of the DAE between two steps: matrices are made anew.
KD_API void kd_radau_refresh(kd_radau *radau);

KD_API double        kd_radau_time(const kd_radau *radau);
KD_API double        kd_radau_time_old(const kd_radau *radau); // start of the last accepted step
KD_API const double *kd_radau_x(const kd_radau *radau);        // (n)
// Dense output in [time_old, time].
KD_API kd_status kd_radau_dense(kd_radau *radau, double t, double *x) KD_NODISCARD;
KD_API kd_stats  kd_radau_stats(const kd_radau *radau);
// Why it failed: time, cause, component by name, advice; beside the status sentence.
KD_API const char *kd_radau_message(const kd_radau *radau);
KD_API void        kd_radau_destroy(kd_radau *radau);

KD_EXTERN_C_END
#endif
