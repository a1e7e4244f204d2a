// kardan/integrator.h: one kind of integrator for 0 = F(t, x, x') and x' = f(t, x).
//
// A method is a class: what it needs, what it can, which options it has. All are created, started, stepped and asked
// in the same way. Methods: docs/methods/radau.md, bdf.md, sdirk.md, midpoint.md, explicit.md, half-explicit.md,
// extrapolation.md, adams.md. ida, cvode and arkode are SUNDIALS, for those who prefer it and as the standing comparison; where
// kardan was built without it they answer KD_ERR_UNAVAILABLE.
#ifndef KARDAN_INTEGRATOR_H
#define KARDAN_INTEGRATOR_H

#include <kardan/dae.h>
#include <kardan/option.h>

KD_EXTERN_C_BEGIN

// All of them: name, name of the class (kd_NAME_class in its own file, which says word, sentence and properties).
#define KD_INTEGRATOR_LIST(X)                                                                                          \
    X(KD_RADAU, radau)                                                                                                 \
    X(KD_BDF, bdf)                                                                                                     \
    X(KD_IDA, ida)                                                                                                     \
    X(KD_CVODE, cvode)                                                                                                 \
    X(KD_ARKODE, arkode)                                                                                               \
    X(KD_SDIRK, sdirk)                                                                                                 \
    X(KD_DOPRI5, dopri5)                                                                                               \
    X(KD_DOP853, dop853)                                                                                               \
    X(KD_HALF_EXPLICIT, half_explicit)                                                                                 \
    X(KD_EXTRAPOLATION, extrapolation)                                                                                 \
    X(KD_MIDPOINT, midpoint)                                                                                           \
    X(KD_ADAMS, adams)

typedef enum kd_integrator_kind {
    KD_INTEGRATOR_CHOSEN = -1, // by the simulation, for the equations
#define KD_INTEGRATOR_ENUM(name, class_name) name,
    KD_INTEGRATOR_LIST(KD_INTEGRATOR_ENUM)
#undef KD_INTEGRATOR_ENUM
        KD_INTEGRATOR_COUNT
} kd_integrator_kind;

// ---- options --------------------------------------------------------------------------------------------------------
// Defaults, ranges and sentences: docs/guide/options.md, or kd_option_at.

// radau, sdirk, midpoint
typedef struct kd_implicit_options {
    int    method;         // kd_sdirk_method
    int    max_newton;     // NIT
    bool   start_zero;     // STARTN = 1: zero instead of extrapolated starting values
    int    reference;      // NWTMAT: Newton matrix at x_k (0) or extrapolated stage 1..3; radau
    int    newton_updates; // NWTUPD: new Newton matrices inside one Newton iteration; radau
    int    order_max;      // 5, 9 or 13: highest order; radau
    int    order_fixed;    // 5, 9 or 13: this order only; 0: variable up to order_max; radau
    bool   classical;      // PRED = 2: classical instead of predictive step control
    double uround;         // UROUND
    double safety;         // SAFE
    double theta;          // THET: keep the Jacobian while Newton contracts faster; < 0: never keep; 0: chosen
    double newton_stop;    // FNEWT; 0: chosen by rtol, see the method
    double quot1, quot2;   // QUOT1, QUOT2: h is kept if quot1 <= h_new / h <= quot2
    double fac_upper;      // FACL: h_new / h <= fac_upper
    double fac_lower;      // FACR: h_new / h >= fac_lower
} kd_implicit_options;

typedef enum kd_sdirk_method { // sdirk.method
    KD_SDIRK_NEWTON,           // SDIRK 4/15, stages by Newton's method
    KD_SDIRK_STAGE_ORDER_2,    // ESDIRK 4(3)7L[2]SA, stage order 2, by Newton's method
    KD_SDIRK_ROSENBROCK,       // RODAS, one linear system per stage, a new Jacobian in every step
    KD_SDIRK_METHOD_COUNT
} kd_sdirk_method;

typedef struct kd_bdf_options {
    int    order_max;          // 1 .. 5
    int    order_fixed;        // 1 .. 5: this order only, after start values; 0: variable
    int    max_newton;         // iterations of the corrector
    double newton_stop;        // kappa: stop when the iteration error is below; 0: chosen
    double cj_lower, cj_upper; // the matrix is kept while cj / cj_old is between
    bool   dassl_rules;        // DASSL's own rules of re-evaluation, the baseline of S0
} kd_bdf_options;

typedef struct kd_explicit_options { // dopri5, dop853, half-explicit
    double safety;                   // < 1, factor of the proposed step; 0: the method's
    double beta;                     // 0 .. 0.2, integral part of the step control; < 0: the method's
    int    stiff_steps;              // stiffness is looked for every so many steps; 0: never
} kd_explicit_options;

#define KD_EXTRAPOLATION_ORDER_MAX 20

typedef enum kd_sequence { // extrapolation.sequence: substeps of the columns
    KD_SEQUENCE_CHOSEN,    // harmonic; midpoint where dense output is wanted often
    KD_SEQUENCE_HARMONIC,  // 2, 4, 6, 8, ...: the least work; dense output evaluates further columns
    KD_SEQUENCE_MIDPOINT,  // 2, 6, 10, 14, ...: dense output without further evaluations
    KD_SEQUENCE_COUNT
} kd_sequence;

typedef struct kd_extrapolation_options {
    double safety;        // < 1, factor of the proposed step; 0: 0.94
    int    order_max;     // 4 .. 20, highest order; odd ones count as the even one below
    int    order;         // > 0: constant order, even, 2 with h_fixed only .. order_max; 0: chosen from step to step by
                          // work per unit step; with h_fixed order_max
    kd_sequence sequence; // substeps of the columns
    int         stiff_steps; // stiffness is looked for every so many steps; 0: never
} kd_extrapolation_options;

typedef struct kd_adams_options {
    int order_max;   // 2 .. 13, highest order
    int order;       // > 0: constant order after the first steps; 0: chosen from step to step
    int stiff_steps; // stiffness is looked for every so many steps; 0: never
} kd_adams_options;

typedef enum kd_cvode_method { // cvode.method
    KD_CVODE_BDF,              // BDF with Newton's method; can project
    KD_CVODE_ADAMS,            // Adams-Moulton with fixed-point iteration, for motions that are not stiff
    KD_CVODE_METHOD_COUNT
} kd_cvode_method;

typedef enum kd_arkode_method { // arkode.method
    KD_ARKODE_ERK,              // explicit Runge-Kutta
    KD_ARKODE_DIRK,             // diagonally implicit Runge-Kutta with Newton's method
    KD_ARKODE_METHOD_COUNT
} kd_arkode_method;

typedef struct kd_sundials_options { // ida, cvode, arkode
    int         method;              // kd_cvode_method, kd_arkode_method
    bool        suppress_algebraic;  // ida: multipliers and auxiliary variables out of the error test
    bool        own_linear_algebra;  // Newton matrices of the formulation instead of SUNDIALS' dense differences
    int         order_max;           // cvode: 1 .. 5 (bdf), 1 .. 12 (adams); 0: the largest
    int         order;               // arkode: 2 .. 6, 8 (erk), 2 .. 5 (dirk)
    const char *table;               // arkode, dirk: ARKODE's name of a table instead of the order; not kept
    bool extrapolate; // arkode, dirk: stages begin on the polynomial of the last step, their slopes are taken from
                      // Newton's solution; ARKODE by itself does neither
} kd_sundials_options;

typedef struct kd_integrator_options {
    double                   rtol;                                     // RTOL
    double                   atol;                                     // ATOL
    const double            *rtol_each;                                // (dae->nstate) or NULL; copied
    const double            *atol_each;                                // (dae->nstate) or NULL; copied
    double                   rtol_position, rtol_velocity, rtol_inner; // of p, v, r alone; 0: rtol. *_each goes first
    double                   atol_position, atol_velocity, atol_inner; // the same; 0: atol
    double                   h_first;                                  // H; first step [s]; 0: estimated
    double                   h_max;                                    // HMAX; 0: t_end - t
    double                   h_fixed;     // [s] > 0: constant steps without error control, where the method has them
    long                     max_steps;   // NMAX; attempts of one run (kd_simulation_run); a further run goes on
    bool                     dense_often; // dense output is asked for in most steps: choose what makes it cheap
    kd_implicit_options      radau, sdirk, midpoint;
    kd_bdf_options           bdf;
    kd_explicit_options      explicit_rk; // of dopri5, dop853, half-explicit
    kd_extrapolation_options extrapolation;
    kd_adams_options         adams;
    kd_sundials_options      ida, cvode, arkode;
    unsigned                 cookie; // set by kd_integrator_options_default
} kd_integrator_options;

// All methods with their own defaults.
KD_API kd_integrator_options kd_integrator_options_default(void);

// ---- properties -----------------------------------------------------------------------------------------------------
typedef enum kd_integrates {
    KD_INTEGRATES_RESIDUAL, // 0 = F(t, x, x'), with the linear algebra of the form
    KD_INTEGRATES_RHS,      // x' = f(t, x)
    KD_INTEGRATES_STAGES,   // x' = f(t, x) with constraints on velocity level in its stages (kd_dae_class.stage)
} kd_integrates;

typedef enum kd_continues { // from a state that a projection has moved
    KD_CONTINUES_NEVER,
    KD_CONTINUES_ALWAYS, // when all steps are projected; now and then it looks like an error
    KD_CONTINUES,
} kd_continues;

typedef struct kd_integrator_info {
    const char   *word;     // "cvode"
    const char   *variant;  // word of its option `method` that the options choose, "adams"; NULL: it has none
    const char   *own_word; // by which the variant is known, "esdirk", "cvode-adams"
    const char   *sentence;
    bool          available; // false: kardan was built without it
    kd_integrates needs;
    bool          one_step; // nothing but the last point counts: forms may change between steps at no cost
    kd_continues  projected;
    bool          projects;     // by itself, after every step, where a form with a right-hand side drifts
    int           index_max;    // highest differentiation index of the forms that it integrates
    bool          selectors;    // forms whose selectors or coordinates change between steps (psf)
    bool          updates;      // uses the cheap updates of the Newton matrix (kd_dae_class.update)
    bool          own_matrices; // its Newton matrices are those of the form (kd_dae_class.linearize)
    bool          is_explicit;  // no systems of equations but those of the form: steps are short where motion is stiff
    bool          fixed_steps;  // h_fixed
    int           order;        // of the method; the highest where it varies
    int           order_least;  // the lowest order that can be asked for
    int           order_gap;    // the order between them that does not exist; 0: all do
    const char   *order_option; // "bdf.order_max" or "arkode.order"; NULL: the order is what it is
    int           order_dense;  // of dense output, at the highest order
    double        least_rtol;   // smaller ones are raised to it, atol in proportion; 0: no limit
    int           turns;        // of a component that one step can follow
    int           nnodes;       // relative times inside a step at which it evaluates the equations
    const double *nodes;        // (nnodes)
    int           check_period; // steps from check to check of accepted steps, by what a check costs beside a step
    bool loose_inside; // inside a step it is less accurate than at its end: 0.1 tol^((order + 3) / (2 order + 2))
    // Formulations on which it is worth a comparison (kd_compare), words with blanks between them; behind a word: * also
    // without constraints, when most formulations are the same; - only where those that drift are asked for, without
    // projection; 1, 2, ..: its place among the methods that check others (kd_cross_check). NULL: on none
    const char *compared;
} kd_integrator_info;

// Of a kind with these options (NULL: default ones); NULL for a number that is none.
KD_API const kd_integrator_info *kd_integrator_about(kd_integrator_kind kind, const kd_integrator_options *opt);
// The word; "unknown" for a number that is none.
KD_API const char *kd_integrator_word(kd_integrator_kind kind);
// The other way round; false for an unknown word, which leaves *kind alone.
KD_API bool kd_integrator_parse(const char *word, kd_integrator_kind *kind);
// Options that the kind has for itself, in *options; their offsets count from the start of kd_integrator_options.
KD_API int kd_integrator_own_options(kd_integrator_kind kind, const kd_option **options);
// Options that all have.
KD_API int kd_integrator_common_options(const kd_option **options);
// Its choice of variants, "sdirk.method"; NULL: it has none.
KD_API const kd_option *kd_integrator_variants(kd_integrator_kind kind);
// The variant that is chosen, counted from 0; 0 where there are none. And choose one, which need not exist.
KD_API int  kd_integrator_variant(kd_integrator_kind kind, const kd_integrator_options *opt);
KD_API void kd_integrator_set_variant(kd_integrator_kind kind, int variant, kd_integrator_options *opt);

// ---- steps ----------------------------------------------------------------------------------------------------------
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
    int    order_last;        // order of the last step (where it varies or can be chosen; 0: fixed)
    double h_last;            // last used step size
} kd_stats;

typedef struct kd_integrator kd_integrator;

// Allocates everything that steps need. dae must outlive it; opt NULL: defaults. On failure *integrator is NULL and
// message (may be NULL) says why: KD_ERR_UNSUPPORTED for a form that it does not integrate, KD_ERR_UNAVAILABLE, ...
KD_API kd_status kd_integrator_create(kd_dae *dae, kd_integrator_kind kind, const kd_integrator_options *opt,
                                      kd_integrator **integrator, char *message, size_t size) KD_NODISCARD;
// Set the state (x consistent); forgets the past.
KD_API kd_status kd_integrator_start(kd_integrator *integrator, double t, const double *x) KD_NODISCARD;
// The same with what mode allows to keep: after events and samples.
KD_API kd_status kd_integrator_restart(kd_integrator *integrator, double t, const double *x,
                                       kd_restart mode) KD_NODISCARD;
// The first step after the next start is about h long, instead of steps.h_first.
KD_API void kd_integrator_propose(kd_integrator *integrator, double h);
// One accepted step, not beyond t_end. Does not allocate. KD_OK; KD_STIFF (explicit methods): the same, and the message
// advises an implicit method, once after each start; < 0: failed, the state is the last accepted one. Coordinates are
// chosen anew (kd_dae_class.relabel) at the start of a step: dense output of the last one stays valid until then.
KD_API kd_status kd_integrator_step(kd_integrator *integrator, double t_end) KD_NODISCARD;
// Take the last accepted step back, right after it: time and state are those of its start, the next step is at most h
// long. KD_ERR_STAGE: there is none, or steps have a fixed size.
KD_API kd_status kd_integrator_retract(kd_integrator *integrator, double h) KD_NODISCARD;
// Both ends of the last step; false: there is none, or x' is not known there.
KD_API bool kd_integrator_ends(kd_integrator *integrator, kd_step_ends *ends);
// Somebody else used the linear algebra of the DAE between two steps: matrices are made anew.
KD_API void kd_integrator_refresh(kd_integrator *integrator);
// What the last step has left in the linear algebra of the DAE, for somebody who solves with it between two steps: > 0:
// factors of gamma F_x' + F_x, this is gamma; 0: derivatives that serve here, but no factors: whoever makes some need
// not tell; < 0: neither.
KD_API double kd_integrator_gamma(const kd_integrator *integrator);
// Estimated errors, in tolerances, of steps that a method with a memory made with less than its order behind restarts:
// they point the same way, time and again, and add up. 0: the method keeps its order there.
KD_API double kd_integrator_lost(const kd_integrator *integrator);

KD_API double        kd_integrator_time(const kd_integrator *integrator);
KD_API double        kd_integrator_time_old(const kd_integrator *integrator); // start of the last accepted step
KD_API const double *kd_integrator_x(const kd_integrator *integrator);        // (n)
// Dense output in [time_old, time], on the constraints where the steps are.
KD_API kd_status kd_integrator_dense(kd_integrator *integrator, double t, double *x) KD_NODISCARD;
KD_API kd_stats  kd_integrator_stats(const kd_integrator *integrator); // since creation
// Why it failed (time, cause, component by name, advice; beside the status sentence), or advice.
KD_API const char *kd_integrator_message(const kd_integrator *integrator);
// Save or restore all that the next step depends on; the DAE is archived by its owner, before it.
KD_API void               kd_integrator_archive(kd_integrator *integrator, kd_archive *archive);
KD_API kd_integrator_kind kd_integrator_kind_of(const kd_integrator *integrator);
KD_API void               kd_integrator_destroy(kd_integrator *integrator); // NULL is fine

KD_EXTERN_C_END
#endif
