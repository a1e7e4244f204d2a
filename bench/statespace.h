// statespace.h: the parts of the benchmark "statespace" and what they share. S2 is the paper of D. Negrut, E. J. Haug,
// H. C. German, An implicit Runge-Kutta method for integration of differential algebraic equations of multibody
// dynamics.
#ifndef KD_BENCH_STATESPACE_H
#define KD_BENCH_STATESPACE_H

#include "common_rows.h"
#include "common_run.h"

typedef struct statespace_problem {
    kd_model     *model;
    kd_system    *system;
    kd_eom       *written; // equations written in C
    const kd_eom *eom;
    kd_eom_data  *data;
    kd_state     *start;
} statespace_problem;

// A model of the folder models/; settings: (nsettings) or NULL. false: message says why.
bool statespace_open(statespace_problem *problem, const char *file, const kd_setting *settings, int nsettings,
                     kd_coordinates coordinates, char *message, size_t size);
// The double pendulum of S2 in planar Cartesian coordinates; outputs as those of the model file
bool      statespace_open_planar(statespace_problem *problem, char *message, size_t size);
void      statespace_close(statespace_problem *problem);
kd_status statespace_planar(kd_eom **eom, kd_state **x, char *message, size_t size);
// Outputs at a state; false: they cannot be evaluated.
bool statespace_outputs(const statespace_problem *problem, const kd_state *x, double *y);
// Largest |g| and |gI| at a state
void statespace_residuals(const statespace_problem *problem, const kd_state *x, double *position, double *velocity);

// Words of formulation and integrator, so that what is not built can be said, not guessed.
typedef struct statespace_method {
    const char     *form, *integrator;
    bool            adams, dirk; // of cvode; of arkode, with the Newton matrices of the formulation
    const char     *table;       // of arkode's dirk; NULL: that of order 4
    int             order;       // of arkode's explicit methods; 0: 5
    bool            extrapolate; // of arkode's dirk
    kd_sdirk_method sdirk;
} statespace_method;

// "statespace", or the word of another form that keeps the constraints to rounding, where it is not built
const char *statespace_form(void);
bool        statespace_known(const statespace_method *method);

typedef struct statespace_run {
    double        tol;
    const double *stops; // (nstops) instants at which a step must end; the last one is the end
    int           nstops;
    double       *seconds; // (nstops) thread CPU time from the start to each of them; may be NULL
    const double *times;   // (ntimes) of output
    int           ntimes;
    kd_output     output; // may be NULL
    void         *context;
} statespace_run;

typedef struct statespace_outcome {
    kd_status status;
    double    seconds; // thread CPU time, objects made before; NaN: failed
    kd_stats  stats;
    char      message[300];
} statespace_outcome;

// x (may be NULL): the state at the end
statespace_outcome statespace_simulate(const statespace_problem *problem, const statespace_method *method,
                                       const statespace_run *run, kd_state *x);

// ---- the HMMWV ------------------------------------------------------------------------------------------------------

enum { STATESPACE_STOPS = 16 };
// Instants at which wheels meet or leave the bump, and the end
int statespace_stops(double end, double stops[STATESPACE_STOPS]);
// One run with these stops, the smallest time of several
statespace_outcome statespace_drive(const statespace_problem *problem, const statespace_method *method, double tol,
                                    double end, int rounds, kd_state *x);
// Largest difference of positions, |a - b| / max(1e-3, |b|)
double statespace_difference(const statespace_problem *problem, const kd_state *a, const kd_state *b);
// Place of an output; -1: there is none
int statespace_output(const statespace_problem *problem, const char *name);

void statespace_pendulum(bench *b); // S2 tables II and III
void statespace_hmmwv(bench *b);    // figure 5, constraints, eigenvalue, ARKODE's implicit methods
void statespace_times(bench *b);    // S2 tables V and VI

#endif
