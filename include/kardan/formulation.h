// kardan/formulation.h: from equations of motion to the DAE that is integrated.
// Methods: docs/methods/psf.md, assembled.md
#ifndef KARDAN_FORMULATION_H
#define KARDAN_FORMULATION_H

#include <kardan/dae.h>
#include <kardan/eom.h>
#include <kardan/option.h>

KD_EXTERN_C_BEGIN

// Name, word on the command line, sentence.
#define KD_FORMULATION_LIST(X)                                                                                         \
    X(KD_PSF, "psf", "projected strangeness-free form: all constraint levels hold (S3 Theorem 2.4)")                   \
    X(KD_PSF1, "psf1", "projected strangeness-index-1 form: without acceleration level (S3 FORM = 1)")                 \
    X(KD_GGL, "ggl", "Gear-Gupta-Leimkuhler: position and velocity level with extra multipliers")                      \
    X(KD_ODASSL, "odassl",                                                                                             \
      "overdetermined: position and velocity level, extra multipliers only inside Newton's method")                    \
    X(KD_INDEX3, "index3", "constraints on position level")                                                            \
    X(KD_INDEX2, "index2", "constraints on velocity level; positions drift")                                           \
    X(KD_INDEX1, "index1", "constraints on acceleration level; positions and velocities drift")                        \
    X(KD_BAUMGARTE2, "baumgarte2", "gI + alpha g = 0")                                                                 \
    X(KD_BAUMGARTE1, "baumgarte1", "gII + 2 alpha gI + beta^2 g = 0")                                                  \
    X(KD_ODE, "ode", "ordinary differential equations of p, v, r, the rest solved inside; p and v drift")              \
    X(KD_STATESPACE, "statespace", "ordinary differential equations of independent coordinates: constraints hold (S2)")

typedef enum kd_formulation {
    KD_FORMULATION_CHOSEN = -1, // by the simulation, for the equations
#define KD_FORMULATION_ENUM(name, word, sentence) name,
    KD_FORMULATION_LIST(KD_FORMULATION_ENUM)
#undef KD_FORMULATION_ENUM
        KD_FORMULATION_COUNT
} kd_formulation;

// What a formulation is, for those who choose.
typedef struct kd_formulation_info {
    int  index;              // highest differentiation index of a component
    bool has_rhs;            // x' = f(t, x): integrators of ordinary differential equations run on it
    bool has_stages;         // half-explicit stages: constraints on velocity level (kd_dae_class.stage)
    bool overdetermined;     // more rows than unknowns: its own matrices alone solve them
    bool selectors;          // change between steps, which multistep methods of others cannot see
    bool drifts;             // off the constraints: projection is of use
    bool strategies;         // choice of derivatives, updates and the explicit form; its matrix can be shown
    bool keeps_acceleration; // among its unknowns
    bool keeps_invariants;   // 0 = e can be imposed (kd_formulation_options.invariants)
    bool compares_velocity;  // v has a derivative in it that steps can be checked with
    bool uses_gII;           // its motion depends on the second derivative of the constraints
} kd_formulation_info;
// NULL for a number that is none.
KD_API const kd_formulation_info *kd_formulation_about(kd_formulation form);

// DECOMPC of S3: how the constraint matrices are decomposed and selectors are found.
typedef enum kd_decomposition {
    KD_DECOMPOSE_LU,  // full pivoting
    KD_DECOMPOSE_QR,  // column pivoting
    KD_DECOMPOSE_SVD, // the only one that treats redundant constraints
} kd_decomposition;

// Where the derivatives of F come from (S0 sections 2.2, 3.1).
typedef enum kd_derivatives {
    KD_DERIVATIVES_ANALYTIC, // of the equations of motion (differences of single functions where those are missing)
    KD_DERIVATIVES_DENSE,    // differences of F, column by column (S0 Eq. 16, 17)
    KD_DERIVATIVES_GROUPED,  // differences of F, groups of columns together (Eq. 20)
} kd_derivatives;

// What happens when the Newton matrix is to be renewed and the derivatives may still be good (S0 sections 3.2, 3.3).
typedef enum kd_update {
    KD_UPDATE_FULL,        // evaluate all derivatives again
    KD_UPDATE_PARTITIONED, // new mass matrix, derivatives by x kept (Eq. 24, 25)
    KD_UPDATE_EXTENDED,    // and moved with the inputs by second derivatives taken once at the start (Eq. 26)
} kd_update;

// When positions and velocities are projected onto their constraints (S1 Eq. 36).
typedef enum kd_projection {
    KD_PROJECT_NEVER,
    KD_PROJECT_BOUND,  // when the violation exceeds projection_bound
    KD_PROJECT_ALWAYS, // after every step
    KD_PROJECT_AUTO,   // by a simulation: always for the form ode with explicit methods; never otherwise
} kd_projection;

// How the state-space form chooses its coordinates (S2 sections 1 and 2).
typedef enum kd_parametrisation {
    KD_PARAMETRISATION_PARTITION, // independent ones among p and v
    KD_PARAMETRISATION_TANGENT,   // along the null space of the constraints (SVD)
} kd_parametrisation;

typedef struct kd_formulation_options {
    kd_decomposition   constraints;         // DECOMPC: algebraic part                                default LU
    bool               differential_qr;     // DECOMPD = 1: QR, not LU, for the differential part     default false
    bool               selectors_each_step; // SELCOMP = 1                                            default false
    bool               invariants;          // impose 0 = e (psf, psf1)                               default true
    bool               control_multipliers; // lambda, mu, w count in the error norm                  default false
    bool               sparse;              // KLU whatever the size (not psf, psf1)                  default false
    double             rank_tolerance;      // SVD: zero below this times the largest singular value  default 1e-8
    double             baumgarte_alpha;     // [1/s]                                                  default 10
    double             baumgarte_beta;      // [1/s]                                                  default 10
    double             stabilisation;       // ode: gamma of x' = f - gamma F h (S2 Eq. 9) [1/s]      default 0
    kd_derivatives     derivatives;         //                                                        default analytic
    bool               estimated;           // grouped: pattern from difference matrices, not topologydefault false
    bool               estimated_at_start;  // the same, at first from that of the start alone (S0)   default false
    kd_update          update;              //                                                        default full
    bool               explicit_form;       // v' - a (S0 Eq. 10) instead of the residual (Eq. 9)     default false
    kd_projection      projection;          // index2, index1, baumgarte, ode: onto g, gI, h          default auto
    bool               project_mass;        // in the norm of M instead of the Euclidean one          default true
    double             projection_bound;    // KD_PROJECT_BOUND: |g|, |gI|, |h| that is left alone    default 1e-8
    kd_parametrisation parametrisation;     // statespace                                             default partition
    bool               natural;             // atol counts in natural units of the model, not in SI   default false
    kd_part            part;                // derivatives of all, or of stiff elements only          default all
    // ode and statespace: no Newton matrices are prepared, as for explicit integrators, which do not ask for them; set by
    // simulations                                                                                  default false
    bool without_matrices;
    // An evaluation point of the caller for what is solved at single points (starts, dense output, all of ode without
    // matrices), which is moved; Newton iterations keep one of their own. Set by simulations     default NULL: another one
    kd_eom_data *point;
    unsigned     cookie; // set by kd_formulation_options_default
} kd_formulation_options;

// The defaults given above.
KD_API kd_formulation_options kd_formulation_options_default(void);
// The same as rows; their offsets count from the start of kd_formulation_options.
KD_API int kd_formulation_option_rows(const kd_option **options);
// Word and sentence of the list above; "unknown", "unknown formulation" for a number that is none.
KD_API const char *kd_formulation_word(kd_formulation form);
KD_API const char *kd_formulation_sentence(kd_formulation form);
// From the word; false for an unknown one, which leaves *form alone.
KD_API bool kd_formulation_parse(const char *word, kd_formulation *form);

// The DAE of a formulation, to be destroyed with kd_dae_destroy. eom and x must outlive it; *inputs (may be NULL: all
// zero) is copied; opt NULL: defaults. x gives discrete states and active rows, which stay the caller's and may change
// between steps (then restart the integrator). On failure *dae is NULL and message (may be NULL) says why.
KD_API kd_status kd_formulation_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                                       kd_formulation form, const kd_formulation_options *opt, kd_dae **dae,
                                       char *message, size_t size) KD_NODISCARD;

// The structure of the Newton matrix (S0 figures 3 to 5), positions along increments. Blocks of rows: kinematic,
// dynamic, r, w (d), s (c), constraints of the form with h, position constraints of ggl and odassl; blocks of columns:
// p, v, r, w, s, lambda and mu, eta. block_row, block_column: where they start.
enum { KD_STRUCTURE_BLOCKS = 7 };
typedef struct kd_structure {
    kd_pattern pattern;
    int        block_row[KD_STRUCTURE_BLOCKS + 1], block_column[KD_STRUCTURE_BLOCKS + 1];
    const int *group; // (columns) consistent groups of the columns that are differenced; -1: known without differences
    int        groups, fullest_row; // number of groups; entries of the fullest row, of these columns
} kd_structure;

// KD_ERR_UNSUPPORTED for psf, psf1 and SVD, which have dense matrices; also before the first linearisation with an
// estimated pattern. *structure is to be destroyed.
KD_API kd_status kd_formulation_structure(const kd_dae *dae, kd_structure **structure) KD_NODISCARD;
KD_API void      kd_structure_destroy(kd_structure *structure); // NULL is fine

// Components of a state <-> vector of the DAE (internal components from a, or 0). Unpacking the forms ode and
// statespace solves for w, s, lambda, mu and a as well; what the state has there serves as guess, and stays if there is
// no solution.
KD_API void kd_formulation_pack(const kd_dae *dae, const kd_state *state, double *x);
KD_API void kd_formulation_unpack(const kd_dae *dae, double t, const double *x, kd_state *state);

KD_EXTERN_C_END
#endif
