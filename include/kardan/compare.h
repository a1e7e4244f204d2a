// kardan/compare.h: one motion by many methods: what each costs, how accurate it is, whether independent ones agree.
// Method: docs/methods/compare.md   Guide: docs/guide/compare.md
//
// Equations (a model in joint and in Cartesian coordinates, or equations written in C) are run through all sensible
// combinations of coordinates, formulation and integrator over a range of tolerances. No reference solution is needed:
// the reference is the run on which independent methods agree best, and their spread is the error that remains in it.
#ifndef KARDAN_COMPARE_H
#define KARDAN_COMPARE_H

#include <kardan/eom.h>
#include <kardan/simulation.h>
#include <kardan/system.h>

KD_EXTERN_C_BEGIN

// ---- what is compared -----------------------------------------------------------------------------------------------

// One set of equations for the motion. All sides must have the same channels: of models (system given) positions,
// orientations and velocities of all bodies, inner states and outputs; otherwise p, v, r and outputs.
typedef struct kd_compare_side {
    const char      *word; // "joint", "cartesian"; "": it has no name
    const kd_eom    *eom;
    const kd_inputs *inputs;    // may be NULL
    const kd_state  *start;     // copied for every run
    const kd_system *system;    // NULL: equations written in C
    bool             redundant; // constraints are dependent at the start: decomposition by singular values
} kd_compare_side;

// A method
typedef struct kd_compare_method {
    kd_formulation     formulation;
    kd_integrator_kind integrator;
    int                family;    // variant of the integrator (kd_integrator_variants); 0 where it has none
    bool               projected; // onto the constraints after every step
    bool               drifts;    // left out unless asked for
    bool               free;      // worth while without constraints, when most formulations are the same
    bool               is_explicit;
    bool               uses_gII; // its motion depends on the second derivative of the constraints
    int                partner;  // place among those that check others, from 1 on; 0: it does not
} kd_compare_method;
// Those that make sense, as the classes of the integrators tell (kd_integrator_info.compared): the first `size` of them
// into list (may be NULL); answers how many there are, at most KD_COMPARE_METHODS.
enum { KD_COMPARE_METHODS = 200 };
KD_API int kd_compare_methods(kd_compare_method *list, int size);
// "ode + dop853", "statespace + cvode-adams"; returns buffer.
KD_API const char *kd_compare_method_words(const kd_compare_method *method, char *buffer, size_t size);
// Options of a simulation by this method; tolerances, times and output are the caller's.
KD_API kd_simulation_options kd_compare_method_options(const kd_compare_method *method);
// Is it among the words of a list such as "radau,ggl+bdf,cvode-adams"? NULL: yes. A word names a formulation, an
// integrator, a method of one, or both with a plus sign.
KD_API bool kd_compare_method_matches(const kd_compare_method *method, const char *words);

enum { KD_COMPARE_SIDES = 4, KD_COMPARE_TOLERANCES = 20, KD_COMPARE_ACCURACIES = 3 };

typedef struct kd_compare_progress {
    int         run, runs; // of all that are planned, from 0
    double      t;         // reached in this run
    const char *words;     // "cartesian ode + dop853, tolerance 1e-06"
} kd_compare_progress;

typedef struct kd_compare_options {
    double        t_end;
    const double *tolerances;  // (ntolerances) falling; NULL: 1e-3, 1e-4 .. 1e-9
    int           ntolerances; // at most KD_COMPARE_TOLERANCES
    double        atol;        // absolute tolerance and floor of the errors, as a share of the relative one  default 1
    int           times;       // states of each run that are compared                                       default 50
    double        h_max;       // 0: no limit                                                                default 0
    const char   *only;     // words of methods, see above; NULL: all                                     default NULL
    bool          all;      // those that drift off the constraints as well                               default false
    double        budget;   // [s] of computing for all runs together                                     default 120
    double        patience; // a run is cut off when it takes so many times the time of the fastest one at its
                            // tolerance ...                                                              default 20
    double least;           // [s] ... and at least this long                                             default 0.2
    int    repetitions;     // of runs shorter than 20 ms, of which the fastest counts                    default 8
    double parting;         // methods part where their spread exceeds this                               default 1e-3
    int jobs; // threads, which share the memory of the machine: times are a little longer; 0: one for each processor.
              // Inputs and equations in C must be callable from them, go_on is called by one after the other  default 1
    int usual_side; // what is chosen when nothing is asked for: side and, in usual, formulation and integrator
    kd_compare_method usual;
    // Called at every step; false ends the comparison, which keeps what is done. May be NULL.
    bool (*go_on)(const kd_compare_progress *progress, void *context);
    void    *context;
    unsigned cookie; // set by kd_compare_options_default
} kd_compare_options;
KD_API kd_compare_options kd_compare_options_default(void);

// ---- what came out --------------------------------------------------------------------------------------------------

typedef enum kd_compare_outcome {
    KD_COMPARE_DONE,
    KD_COMPARE_CUT,      // took much longer than others
    KD_COMPARE_FAILED,   //
    KD_COMPARE_REFUSED,  // has no meaning for these equations, or was not built
    KD_COMPARE_SKIPPED,  // a looser tolerance was cut off, failed or refused, or the budget was used up
    KD_COMPARE_STOPPED,  // by go_on
    KD_COMPARE_LEFT_OUT, // without constraints the same as another one, or drifts with them
    KD_COMPARE_OUTCOMES
} kd_compare_outcome;
KD_API const char *kd_compare_outcome_word(kd_compare_outcome outcome); // "done", "cut off", ...

typedef struct kd_compare_run {
    int                side, method; // index into the sides and into kd_comparison.method
    double             tolerance;
    kd_compare_outcome outcome;
    kd_status          status;
    kd_stats           stats;
    double             seconds;        // of computing by this thread, the fastest repetition, output not counted
    double             t;              // reached
    double             error;          // largest distance from the reference until methods part; NaN: not known
    double             output_error;   // the same of outputs; NaN: there are none
    double             t_good;         // the error stays below kd_compare_options.parting up to here
    double             position_level; // largest |g|, |gI|
    double             velocity_level;
    bool               is_reference;
    char               message[240]; // why it is not done
} kd_compare_run;

// The fastest way to an accuracy.
typedef struct kd_compare_choice {
    double accuracy;
    int    run;           // first tolerance at which it is reached; -1: by no run
    double seconds;       // interpolated between tolerances
    double tolerance;     // the same
    double usual_seconds; // of the usual method; NaN: it does not reach it
} kd_compare_choice;

// Channels that are compared, and the largest difference between the reference and the independent run next to it.
typedef struct kd_compare_channel {
    char   name[100];
    bool   is_output; // not part of the errors, which are those of the motion
    bool   of_forces; // depends on accelerations or multipliers
    double scale;     // what differences are divided by: floor + largest value of the reference
    double spread;    // relative
    double t;         // where
} kd_compare_channel;

typedef struct kd_comparison {
    int                 nsides, nmethods, nruns, nchannels;
    char                side[KD_COMPARE_SIDES][24];
    kd_compare_method  *method;
    kd_compare_run     *run; // by side, method, tolerance
    kd_compare_channel *channel;
    int                 tolerances; // runs of one side and method
    double              t_start, t_end;
    int                 reference;      // run; -1: there is none, all errors are NaN
    int                 companion;      // the independent run that is nearest to it; -1: none
    double              uncertainty;    // their distance: errors below are not resolved; NaN: not known
    double              t_part;         // methods part here; infinity: nowhere
    bool                split;          // the tightest runs fall into groups that agree inside, and not with each other
    double              split_distance; // between the groups
    char                split_words[200]; // what the groups have in common: "those that use gII (...)"
    bool                stopped, over_budget;
    double              seconds;                       // of all
    double              parting;                       // as in the options
    int                 usual_side, usual_method;      // -1: not among the methods
    kd_compare_choice   choice[KD_COMPARE_ACCURACIES]; // 1e-3, 1e-5, 1e-7
} kd_comparison;

// Run all of it. KD_OK; KD_STOPPED: go_on ended it, *comparison has what is done; < 0: *comparison is NULL and message
// (may be NULL) says why. A run that fails is no failure of the comparison.
KD_API kd_status kd_compare(const kd_compare_side *sides, int nsides, const kd_compare_options *opt,
                            kd_comparison **comparison, char *message, size_t size) KD_NODISCARD;
KD_API void      kd_comparison_destroy(kd_comparison *comparison); // NULL is fine

// Time [s] of a side and method to an accuracy, interpolated between tolerances; infinity: it does not get there.
KD_API double kd_comparison_time_to(const kd_comparison *comparison, int side, int method, double accuracy);

// Lines of text: the table; recommendation and warnings. Return the number of characters of the whole text.
KD_API size_t kd_comparison_table(const kd_comparison *comparison, char *text, size_t size);
KD_API size_t kd_comparison_advice(const kd_comparison *comparison, char *text, size_t size);
KD_API size_t kd_comparison_json(const kd_comparison *comparison, char *text, size_t size); // one object

// ---- cross-check of one run -----------------------------------------------------------------------------------------

typedef enum kd_cross_verdict {
    KD_CROSS_AGREES,        // an independent method gives the same motion within 10 times the tolerance
    KD_CROSS_LESS_ACCURATE, // the motion is right, but less accurate than its tolerance suggests
    KD_CROSS_PARTS,         // the motion is so sensitive that methods part
    KD_CROSS_CONTRADICTS,   // both methods converge, to different motions
    KD_CROSS_DIFFERS,       // the other method converges, this run is somewhere else
    KD_CROSS_UNDECIDED,     // no other method could be run to the end
    KD_CROSS_VERDICTS
} kd_cross_verdict;
KD_API const char *kd_cross_verdict_word(kd_cross_verdict verdict); // "agrees"

typedef struct kd_cross_options {
    double rtol, atol, h_max;     // of the run; rtol, atol > 0
    double parting;               //                                                                      default 1e-3
    double budget;                // [s] of computing; 0: no limit                                        default 0
    bool (*go_on)(void *context); // may be NULL
    void    *context;
    unsigned cookie; // set by kd_cross_options_default
} kd_cross_options;
KD_API kd_cross_options kd_cross_options_default(void);

enum { KD_CROSS_CHANNELS = 400, KD_CROSS_RUNS = 5 };

typedef struct kd_cross_channel {
    char   name[100];
    bool   is_output;
    bool   of_forces;
    double difference, t; // largest one, in the unit of the channel, and its time
    double scale;         // floor + largest value
} kd_cross_channel;

typedef struct kd_cross_result {
    kd_cross_verdict verdict;
    bool             gross; // the run cannot be trusted: motions that converged differ by more than 1e-3 of their size,
                            // or the run by more than 1e-2 from one that converged
    double           rtol;  // of the run
    long             partner_steps; // that the partner made ..
    double           partner_h_max; // .. and that it was allowed [s]: other steps than those of the run
    double           moved;         // how far the run moves, relative to the sizes of the channels
    char             partner[120];  // the method that it is compared with: "cartesian ggl + bdf"
    double           difference;    // largest relative one until methods part
    double           error;         // of the run, estimated by tighter runs where these were made, else difference
    double           partner_error; // the same of the partner; NaN: not known
    double           t_part;        // infinity: nowhere
    int              runs;          // that were made
    double           seconds;
    int              nchannels; // told: those that differ most first
    kd_cross_channel channel[KD_CROSS_CHANNELS];
    double           t_good;                  // the run keeps within parting of the best that is known up to here
    char             sentence[500];           // the verdict in words
    char             log[KD_CROSS_RUNS][240]; // each run in words
} kd_cross_result;

typedef struct kd_cross_check kd_cross_check;

// Sides as above, the first one is that of the run, made by method. Its states are told by kd_cross_check_see at
// wanted times (increasing, after the start; not more than 400 of them are used). On failure *check is NULL.
KD_API kd_status kd_cross_check_create(const kd_compare_side *sides, int nsides, const kd_simulation_options *method,
                                       const double *times, int ntimes, kd_cross_check **check, char *message,
                                       size_t size) KD_NODISCARD;
KD_API kd_status kd_cross_check_see(kd_cross_check *check, const kd_state *x) KD_NODISCARD; // does not allocate
// Run the other methods and judge, up to where the run came (an event may have ended it).
// KD_OK, KD_STOPPED (go_on), < 0.
KD_API kd_status kd_cross_check_run(kd_cross_check *check, const kd_cross_options *opt,
                                    kd_cross_result *result) KD_NODISCARD;
KD_API void      kd_cross_check_destroy(kd_cross_check *check); // NULL is fine
// The same motion with an error of less than 1000 tolerances.
KD_API bool kd_cross_is_good(const kd_cross_result *result);
// Lines of text; one JSON object.
KD_API size_t kd_cross_describe(const kd_cross_result *result, int most_channels, char *text, size_t size);
KD_API size_t kd_cross_json(const kd_cross_result *result, char *text, size_t size);

KD_EXTERN_C_END
#endif
