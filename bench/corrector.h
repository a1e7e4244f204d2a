// corrector.h: the parts of the benchmark "corrector" and what they share. S0 is the paper of M. Arnold, A. Fuchs, C.
// Fuehrer, Efficient corrector iteration for DAE time integration in multibody dynamics.
#ifndef KD_BENCH_CORRECTOR_H
#define KD_BENCH_CORRECTOR_H

#include "common_rows.h"
#include "common_run.h"

// ---- problems -------------------------------------------------------------------------------------------------------

typedef struct corrector_problem {
    const char   *name;
    kd_model     *model; // of a file; both NULL: equations written in C
    kd_system    *system;
    kd_eom       *written;
    const kd_eom *eom;
    kd_inputs     inputs;
    kd_state     *x; // consistent initial state
    double        t_end;
    long          steps;     // a run ends after so many; 0: at t_end
    int           instants;  // at which errors are measured, the last at t_end; 0: as 1
    double       *reference; // (np x instants) positions there; NULL: none
} corrector_problem;

// A model of the folder models/; settings: "N=16 w=0.05" or NULL. false: message says why.
bool corrector_open_model(corrector_problem *problem, const char *file, const char *settings,
                          kd_coordinates coordinates, char *message, size_t size);
// An example written in C
bool corrector_open_example(corrector_problem *problem, const char *name, char *message, size_t size);
void corrector_close(corrector_problem *problem);
// The start goes on to the time t, by radau with tolerance tol: what settles there is over.
bool corrector_advance(corrector_problem *problem, double t, double tol, char *message, size_t size);
// Positions at the instants by radau with tolerance tol, on psf or, where that is too large, on the sparse form ggl.
bool corrector_make_reference(corrector_problem *problem, double tol, char *message, size_t size);

// ---- runs -----------------------------------------------------------------------------------------------------------

// What is run; 0 and false stand for the defaults.
typedef struct corrector_method {
    const char        *name;
    kd_integrator_kind integrator; // KD_BDF, KD_IDA or KD_RADAU
    kd_formulation     form;
    kd_derivatives     derivatives;
    bool               estimated;
    bool               at_start; // estimated at the start alone, which is S0's rule
    kd_update          update;
    bool               explicit_form;
    bool               dassl_rules;  // bdf
    bool               all_in_error; // ida: algebraic variables count in the error test
    bool               own_linear;   // ida: Newton matrices of the formulation
} corrector_method;

typedef struct corrector_outcome {
    kd_status status;  // < 0: failed; KD_ERR_TOO_MANY_STEPS also when the time limit was over
    double    seconds; // of the integration: thread CPU time, objects made before; also of a run that was given up
    double
        error; // max |p - ref| / max(1e-3, |ref|), its root mean square over the instants; NaN: failed or no reference
    kd_stats stats;
    char     message[300];
} corrector_outcome;

typedef void (*corrector_observer)(const kd_attempt_report *report, void *context);

// One run with new objects, given up after max_seconds. observe may be NULL.
corrector_outcome corrector_run(const corrector_problem *problem, const corrector_method *method, double rtol,
                                double atol, double max_seconds, corrector_observer observe, void *context);

// One more measurement: the smallest time of all so far.
void corrector_again(const corrector_problem *problem, const corrector_method *method, double rtol, double atol,
                     double max_seconds, bool first, corrector_outcome *best);

// ---- parts ----------------------------------------------------------------------------------------------------------

void corrector_tables(bench *b);   // S0 tables 1, 2 and 3, and the test rig
void corrector_ratios(bench *b);   // against IDA
void corrector_growth(bench *b);   // time per step of long chains
void corrector_pictures(bench *b); // S0 figures 3, 4, 5 and 7

#endif
