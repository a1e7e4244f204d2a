// kardan/base.h: what every public header needs: visibility, must-use results, the status of a call.
#ifndef KARDAN_BASE_H
#define KARDAN_BASE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
#define KD_EXTERN_C_BEGIN extern "C" {
#define KD_EXTERN_C_END }
#else
#define KD_EXTERN_C_BEGIN
#define KD_EXTERN_C_END
#endif

#if defined(__GNUC__)
#define KD_API __attribute__((visibility("default")))
#define KD_NODISCARD __attribute__((warn_unused_result))
#define KD_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define KD_API
#define KD_NODISCARD
#define KD_PRINTF(text, first)
#endif

KD_EXTERN_C_BEGIN

// Fields of objects on their way to bytes and back (kd_simulation_save). Only the library looks inside.
typedef struct kd_archive kd_archive;

// Every status: name, value, sentence. 0 success, > 0 success with news, < 0 failure. The number in brackets is the
// code of the GEOMS report (S3, manual) for the same situation.
#define KD_STATUS_LIST(X)                                                                                              \
    X(KD_OK, 0, "success")                                                                                             \
    X(KD_STOPPED, 1, "stopped on request of the output function or of an event [-1101]")                               \
    X(KD_CORRECTED, 2, "initial values were corrected to be consistent")                                               \
    X(KD_REDUNDANT, 3, "constraints are redundant: multipliers are not unique, the motion is")                         \
    X(KD_STIFF, 4, "the equations are stiff: an implicit method would need less work than the explicit one")           \
    X(KD_LATE, 5, "the step was made, but not before its deadline")                                                    \
    X(KD_ERR_ARGUMENT, -1, "an argument is missing or out of range [-1001]")                                           \
    X(KD_ERR_MEMORY, -2, "out of memory")                                                                              \
    X(KD_ERR_STAGE, -3, "a quantity was asked for before the state that it depends on was set")                        \
    X(KD_ERR_DEFINITION, -4, "the equations of motion are incomplete or their sizes contradict each other")            \
    X(KD_ERR_CHECK, -5, "a supplied derivative or constraint level disagrees with differences")                        \
    X(KD_ERR_BUSY, -6, "an object was called from one of its own callbacks, while it is at work")                      \
    X(KD_ERR_TOLERANCE, -10, "a tolerance is not positive or not finite [-1001]")                                      \
    X(KD_ERR_TIME, -11, "the end time lies before the start time [-1106]")                                             \
    X(KD_ERR_CALLBACK_STOP, -12, "a function of the equations of motion asked to stop [-1102, -1103, -1104]")          \
    X(KD_ERR_NOT_FINITE, -13, "a function of the equations of motion returned NaN or infinity")                        \
    X(KD_ERR_RETRY_FAILED, -14, "a function of the equations of motion refuses every smaller step")                    \
    X(KD_ERR_INCONSISTENT, -20, "initial values are not consistent and must not be changed [-1105]")                   \
    X(KD_ERR_IV_CALLBACK, -21,                                                                                         \
      "a function of the equations of motion stopped the computation of initial values [-2101]")                       \
    X(KD_ERR_IV_CONDITION, -22, "the function of user conditions stopped the computation of initial values [-2102]")   \
    X(KD_ERR_IV_DECOMPOSITION, -23, "a decomposition failed while computing initial values [-2103]")                   \
    X(KD_ERR_IV_CONTRADICTORY, -24, "constraints and user conditions contradict each other [-2104]")                   \
    X(KD_ERR_IV_NO_CONVERGENCE, -25, "no consistent initial values found within the allowed iterations [-2105]")       \
    X(KD_ERR_IV_UNDETERMINED, -26, "user conditions do not determine the initial values uniquely [-2106]")             \
    X(KD_ERR_SINGULAR_DW, -30, "d_w is singular: the equations 0 = d do not determine w [-1401]")                      \
    X(KD_ERR_SINGULAR_CS, -31, "c_s is singular: the equations 0 = c do not determine s [-1403]")                      \
    X(KD_ERR_SINGULAR_MASS, -32, "mass matrix and constraints do not determine the accelerations")                     \
    X(KD_ERR_REDUNDANT, -33, "constraints are redundant, which only the SVD decomposition can treat [-1401 to -1403]") \
    X(KD_ERR_RANK_CHANGE, -34, "the rank of the constraints changed: a singular position is near [-2401 to -2403]")    \
    X(KD_ERR_DECOMPOSITION, -35, "a matrix decomposition failed [-1111 to -1114]")                                     \
    X(KD_ERR_NEWTON, -40, "Newton's method fails repeatedly [-1115, -1116]")                                           \
    X(KD_ERR_STEP_TOO_SMALL, -41, "the step size became too small [-1118]")                                            \
    X(KD_ERR_TOO_MANY_STEPS, -42, "more steps are needed than allowed [-1117]")                                        \
    X(KD_ERR_CHATTER, -44, "events follow each other without end")                                                     \
    X(KD_ERR_POSITION_JUMP, -45, "a prescribed position jumps, which no force can do")                                 \
    X(KD_ERR_STAGNATION, -46, "steps gain no time: a force jumps, or nearly so, where the motion is")                  \
    X(KD_ERR_BLOW_UP, -47, "the motion grows beyond all measure: an element feeds it with energy")                     \
    X(KD_ERR_NO_EQUILIBRIUM, -43, "no equilibrium was found: forces remain that nothing balances")                     \
    X(KD_ERR_UNAVAILABLE, -50, "this part was not built: an optional library is missing")                              \
    X(KD_ERR_UNSUPPORTED, -51, "this combination has no meaning")                                                      \
    X(KD_ERR_MODEL, -70, "the model is wrong")                                                                         \
    X(KD_ERR_FILE, -60, "a file could not be written or read")                                                         \
    X(KD_ERR_CONNECTION, -61, "another program that takes part does not answer")                                       \
    X(KD_ERR_SAVED, -62, "what was saved is damaged, or belongs to another model, version or machine")

typedef enum kd_status {
#define KD_STATUS_ENUM(name, value, sentence) name = (value),
    KD_STATUS_LIST(KD_STATUS_ENUM)
#undef KD_STATUS_ENUM
} kd_status;

// "KD_ERR_NEWTON"; "unknown status" for a number that is none.
KD_API const char *kd_status_name(kd_status status);
// The sentence of the list above.
KD_API const char *kd_status_sentence(kd_status status);

// What a function of the equations of motion answers.
typedef enum kd_eval {
    KD_EVAL_OK = 0,
    KD_EVAL_RETRY = 1, // not possible here; try a smaller step
    KD_EVAL_STOP = -1, // end the run
} kd_eval;

// Memory: every allocation of the library goes through these functions (default: malloc and free). Set them before the
// first object is created; they serve the whole process and must be callable from several threads.
typedef struct kd_allocator {
    void *(*allocate)(size_t size, void *context); // aligned as by malloc, content undefined; NULL on failure
    void (*release)(void *memory, void *context);  // never called with NULL
    void *context;
} kd_allocator;

KD_API void kd_set_allocator(const kd_allocator *allocator); // NULL: back to malloc and free

KD_API const char *kd_version(void); // "0.1.0"

// Kernels that the BLAS library runs, "Zen"; "unknown" where it does not tell.
KD_API const char *kd_blas_kernels(void);
// Better ones where the library does not know the processor (OpenBLAS falls back to SSE3 on processors that are newer than
// itself), unless OPENBLAS_CORETYPE is set; answers those that run now. For programs, once, before other threads run.
KD_API const char *kd_blas_choose_kernels(void);

KD_EXTERN_C_END
#endif
