// kardan/bdf.h: variable-step, variable-order BDF with fixed leading coefficient (DASSL) for 0 = F(t, x, x').
// Method: docs/methods/bdf.md
#ifndef KARDAN_BDF_H
#define KARDAN_BDF_H

#include <kardan/dae.h>
#include <kardan/radau.h>

KD_EXTERN_C_BEGIN

typedef struct kd_bdf kd_bdf;

typedef struct kd_bdf_options {
    double        rtol, atol;         //                                                          default 1e-6
    const double *rtol_each;          // (dae->nstate) or NULL; copied
    const double *atol_each;          // (dae->nstate) or NULL; copied
    double        h_first, h_max;     // [s] 0: estimated; t_end - t                              default 0
    double        h_fixed;            // [s] > 0: constant steps without error control            default 0
    int           order_max;          // 1 .. 5                                                   default 5
    int           order_fixed;        // 1 .. 5: this order only, after start values; 0: variable default 0
    long          max_steps;          // attempts of one run                                      default 100000
    int           max_newton;         // iterations of the corrector                              default 4
    double        newton_stop;        // kappa: stop when the iteration error is below; 0: chosen default 0
    double        cj_lower, cj_upper; // the matrix is kept while cj / cj_old is between          default 0.6, 1.667
    bool          dassl_rules;        // DASSL's own rules of re-evaluation, the baseline of S0   default false
} kd_bdf_options;

// The defaults given above.
KD_API kd_bdf_options kd_bdf_options_default(void);

// dae must outlive it; opt NULL: defaults. Allocates everything that steps need. On failure *bdf is NULL, message (may
// be NULL): why.
KD_API kd_status kd_bdf_create(kd_dae *dae, const kd_bdf_options *opt, kd_bdf **bdf, char *message,
                               size_t size) KD_NODISCARD;
// Set the state (x consistent); forgets the past. keep_matrix: derivatives of before are still good (a restart after an
// event), only the leading coefficient is new.
KD_API kd_status kd_bdf_start(kd_bdf *bdf, double t, const double *x, bool keep_matrix) KD_NODISCARD;
// The same with what mode allows to keep: after events and samples.
KD_API kd_status kd_bdf_restart(kd_bdf *bdf, double t, const double *x, kd_restart mode) KD_NODISCARD;
// One accepted step, not beyond t_end. Does not allocate. KD_OK; < 0: failed, the state is the last accepted one.
KD_API kd_status kd_bdf_step(kd_bdf *bdf, double t_end) KD_NODISCARD;
// Take the last accepted step back, right after it: time and state are those of its start, the next step is at most h
// long. KD_ERR_STAGE: there is none, or steps have a fixed size.
KD_API kd_status kd_bdf_retract(kd_bdf *bdf, double h) KD_NODISCARD;
// Both ends of the last step; false: there is none, or x' is not known there.
KD_API bool kd_bdf_ends(kd_bdf *bdf, kd_step_ends *ends);
// Somebody else used the linear algebra of the DAE between two steps: matrices are made anew.
KD_API void          kd_bdf_refresh(kd_bdf *bdf);
KD_API double        kd_bdf_time(const kd_bdf *bdf);
KD_API double        kd_bdf_time_old(const kd_bdf *bdf); // start of the last accepted step
KD_API const double *kd_bdf_x(const kd_bdf *bdf);        // (n)
// Dense output in [time_old, time].
KD_API kd_status   kd_bdf_dense(kd_bdf *bdf, double t, double *x) KD_NODISCARD;
KD_API kd_stats    kd_bdf_stats(const kd_bdf *bdf);
KD_API const char *kd_bdf_message(const kd_bdf *bdf); // why it failed: time, cause, component by name, advice
KD_API void        kd_bdf_destroy(kd_bdf *bdf);       // NULL is fine

KD_EXTERN_C_END
#endif
