// kardan/ida.h: SUNDIALS IDA, the standing comparison. It runs on the formulations ggl, index2, index1, baumgarte2,
// baumgarte1, ode and, with velocities and multipliers of less accuracy, index3; forms with selectors (psf) and
// projection are refused with KD_ERR_UNSUPPORTED. Without SUNDIALS every call answers KD_ERR_UNAVAILABLE.
#ifndef KARDAN_IDA_H
#define KARDAN_IDA_H

#include <kardan/dae.h>
#include <kardan/radau.h>

KD_EXTERN_C_BEGIN

typedef struct kd_ida kd_ida;

typedef struct kd_ida_options {
    double rtol, atol;         //                                                                     default 1e-6
    double h_first, h_max;     // 0: chosen by IDA                                                     default 0
    long   max_steps;          //                                                                     default 100000
    bool   suppress_algebraic; // multipliers and auxiliary variables out of the error test            default true
    bool   own_linear_algebra; // Newton matrices of the formulation instead of IDA's dense differences default false
} kd_ida_options;

// The defaults given above.
KD_API kd_ida_options kd_ida_options_default(void);
// Was the library built with SUNDIALS?
KD_API bool kd_ida_available(void);
// dae must outlive it; opt NULL: defaults. On failure *ida is NULL and message (may be NULL) says why:
// KD_ERR_UNAVAILABLE, KD_ERR_UNSUPPORTED (another formulation), ...
KD_API kd_status kd_ida_create(kd_dae *dae, const kd_ida_options *opt, kd_ida **ida, char *message,
                               size_t size) KD_NODISCARD;
// Set the state (x consistent); forgets the past.
KD_API kd_status kd_ida_start(kd_ida *ida, double t, const double *x) KD_NODISCARD;
// The same with what mode allows to keep: after events and samples.
KD_API kd_status kd_ida_restart(kd_ida *ida, double t, const double *x, kd_restart mode) KD_NODISCARD;
KD_API kd_status kd_ida_step(kd_ida *ida, double t_end) KD_NODISCARD; // one internal step, not beyond t_end
// Take the last accepted step back, right after it: time and state are those of its start, the next step is at most h
// long. KD_ERR_STAGE: there is none, or steps have a fixed size.
KD_API kd_status kd_ida_retract(kd_ida *ida, double h) KD_NODISCARD;
// Both ends of the last step; false: there is none, or x' is not known there.
KD_API bool          kd_ida_ends(kd_ida *ida, kd_step_ends *ends);
KD_API double        kd_ida_time(const kd_ida *ida);
KD_API double        kd_ida_time_old(const kd_ida *ida); // start of the last step
KD_API const double *kd_ida_x(const kd_ida *ida);        // (n) at kd_ida_time
// Dense output in [time_old, time].
KD_API kd_status   kd_ida_dense(kd_ida *ida, double t, double *x) KD_NODISCARD;
KD_API kd_stats    kd_ida_stats(const kd_ida *ida);   // since creation
KD_API const char *kd_ida_message(const kd_ida *ida); // why the last call failed
KD_API void        kd_ida_destroy(kd_ida *ida);       // NULL is fine

KD_EXTERN_C_END
#endif
