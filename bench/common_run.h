// common_run.h: run a problem with a method and a tolerance; errors against the reference; thread CPU time.
#ifndef KD_BENCH_RUN_H
#define KD_BENCH_RUN_H

#include <kardan/kardan.h>

typedef struct bench_problem {
    const char   *name;
    kd_eom       *eom;
    kd_state     *x; // consistent initial state
    kd_inputs     inputs;
    double        t_end;
    const double *reference; // (x->n) at t_end, NaN where unknown; NULL: none
    double        digits;    // trusted digits of it
} bench_problem;

// From the gallery; false: message says why.
bool bench_problem_open(bench_problem *problem, const char *name, char *message, size_t size);
// Make problem->x consistent, for problems that were put together elsewhere.
bool bench_problem_start(bench_problem *problem, char *message, size_t size);
void bench_problem_close(bench_problem *problem);

typedef struct bench_method {
    const char        *name;
    kd_formulation     formulation;
    kd_integrator_kind integrator;
    bool               invariants;   // impose known invariants
    bool               all_in_error; // ida: algebraic variables count in the error test
    bool               own_linear; // ida: Newton matrices of the formulation and their factors, not its own differences
    kd_projection      projection; // of forms that have one
    int                order_max, order_fixed; // radau; 0: as it comes
} bench_method;

typedef struct bench_outcome {
    double    tol;
    kd_status status;  // < 0: failed; KD_ERR_TOO_MANY_STEPS also when the time limit was over
    bool      skipped; // not tried, because two looser tolerances failed
    double    t;       // reached
    kd_stats  stats;
    double    error;                 // max |p - ref| / max(1e-3, |ref|) at t_end; NaN: failed or no reference
    double    error_v, error_lambda; // the same for v and for the multipliers
    double    mescd_p, mescd_v;      // min of -log10(|err| / (1 + |ref|))
    double    seconds;               // of one integration; NaN: not measured
    char      message[200];
} bench_outcome;

typedef void (*bench_observer)(const kd_state *x, void *context); // at the start and after each accepted step

// One run, not timed. h_first 0: the integrator's own choice. observe may be NULL.
bench_outcome bench_run(const bench_problem *problem, const bench_method *method, double tol, double h_first,
                        bench_observer observe, void *context);

// One run, repeated until the whole took min_seconds: seconds is the mean of one, the rest is of the first. Objects are
// made before the clock starts; each repetition starts the integrator again. A run is given up after max_seconds.
bench_outcome bench_run_timed(const bench_problem *problem, const bench_method *method, double tol, double min_seconds,
                              double max_seconds);

// Work and precision of several methods: out[m * ntol + k], tol falling. All combinations are measured in turn, rounds
// times; seconds is the smallest. A combination that failed is not tried again. A method is given up where it needs
// many times the time of the first one, and for all tighter tolerances after two failures in a row.
void bench_work_precision(const bench_problem *problem, const bench_method *methods, int nmethods, const double *tol,
                          int ntol, int rounds, double min_seconds, bench_outcome *out);

double bench_cpu_seconds(void); // of this thread

#endif
