// trust.h: the parts of the benchmark "trust" and what they share.
//
// Random models with something planted that is easy to miss, each with a reference that was computed without kardan.
// A run is silently wrong if it ends with success and a clean certificate, but its motion is not right.
#ifndef KD_BENCH_TRUST_H
#define KD_BENCH_TRUST_H

#include <stdint.h>

#include <kardan/kardan.h>

#include "common_rows.h"

#define TRUST_TIMES 4   // times at which a motion is judged, the last is the end of the run
#define TRUST_TEXT 4000 // characters of a model file

// ---- random numbers (splitmix64), the same on every machine ---------------------------------------------------------
typedef struct trust_dice {
    uint64_t state;
} trust_dice;
double trust_uniform(trust_dice *dice, double low, double high);
double trust_decades(trust_dice *dice, double low, double high); // uniform in the logarithm
int    trust_choice(trust_dice *dice, int n);                    // 0 .. n - 1
double trust_sign(trust_dice *dice);

// ---- one random model -----------------------------------------------------------------------------------------------
typedef struct trust_case {
    const char *family;
    char        text[TRUST_TEXT]; // the model file
    int         body;             // the moving body that is looked at
    double      length;           // size of the motion: what an error of positions is compared with
    double      atol_scale;       // absolute tolerance / relative tolerance
    double      times[TRUST_TIMES];
    double      r[TRUST_TIMES][3];      // where the origin of the body is
    double      condition[TRUST_TIMES]; // change of that place per relative change of the start, at least 1
} trust_case;

// A place of the body as a function of the case's own numbers, its start moved by a part delta of its size
typedef void (*trust_motion)(const void *numbers, double delta, const double *times, double r[][3]);
extern double trust_fork; // relative errors of the start up to here are tried for the condition; 0: the tangent alone
// times evenly up to t_end, the motion at them and its condition
void trust_case_solve(trust_case *c, double t_end, trust_motion motion, const void *numbers);

void trust_write(trust_case *c, const char *format, ...) KD_PRINTF(2, 3); // further lines of the model file

typedef void (*trust_family)(trust_dice *dice, trust_case *c);
void trust_pulse(trust_dice *dice, trust_case *c);    // a short force or motion of time
void trust_bump(trust_dice *dice, trust_case *c);     // a force in a narrow band of a coordinate
void trust_impact(trust_dice *dice, trust_case *c);   // elastic contacts and stops
void trust_singular(trust_dice *dice, trust_case *c); // positions where the mechanism could turn over
void trust_scaled(trust_dice *dice, trust_case *c);   // very small, large, slow and fast mechanisms
void trust_kink(trust_dice *dice, trust_case *c);     // drives whose velocity jumps
void trust_chatter(trust_dice *dice, trust_case *c);  // forces that jump with the velocity
void trust_innocent(trust_dice *dice, trust_case *c); // nothing planted
void trust_teeth(trust_dice *dice, trust_case *c);    // forces with many jumps or kinks in a coordinate
void trust_stops(trust_dice *dice, trust_case *c);    // pendulums between elastic stops, many bounces
void trust_mixed(trust_dice *dice, trust_case *c);    // a drive with kinks, a pulse and a stiff contact in one model
void trust_passage(trust_dice *dice, trust_case *c);  // other linkages that could turn over, six-bars among them

// ---- references -----------------------------------------------------------------------------------------------------
// y' = f(t, y) by extrapolation of the midpoint rule to order 10; the caller says how long steps may be, and where f is
// not smooth: at times, or at values of y[0], where steps end.
typedef struct trust_ode {
    int n; // <= TRUST_STATES
    void (*f)(double t, const double *y, double *dy, const void *context);
    double (*step)(double t, const double *y, const void *context);
    const void *context;
    int         ntimes, nplaces;
    double      times[8], places[8]; // increasing
    double      pitch;               // not 0: also at all its multiples
} trust_ode;
#define TRUST_STATES 4
void trust_solve(const trust_ode *ode, double *y, double t0, double t1);
// integral of f from a to b, 40 Gauss points on each of n parts
double trust_integral(double (*f)(double x, const void *context), const void *context, double a, double b, int n);

// ---- runs -----------------------------------------------------------------------------------------------------------
typedef struct trust_method {
    kd_formulation     formulation;
    kd_integrator_kind integrator;
    bool               chosen; // by kardan, whatever stands above
} trust_method;

typedef enum trust_ending {
    TRUST_DONE,       // success
    TRUST_REFUSED,    // the run failed and said so
    TRUST_NEVER_ENDS, // killed after TRUST_SECONDS of processor time
    TRUST_CRASHED,
    TRUST_BROKEN, // the case itself could not be made: an error of this benchmark
} trust_ending;
#define TRUST_SECONDS 20

typedef struct trust_outcome {
    trust_ending       ending;
    kd_status          status;
    bool               clean;
    double             error; // largest distance from the reference in tolerances, times condition
    double             plain; // the same without the condition
    double             seconds;
    long               steps;
    kd_integrator_kind integrator; // that it began with
    char               message[400];
} trust_outcome;

// In a process of its own, so that a run that does not end or crashes is an outcome, too
trust_outcome trust_run(const trust_case *c, trust_method method, kd_coordinates coordinates, double rtol);

void trust_cost(bench *b, const char *program);                             // what verification costs; program: argv[0]
int  trust_cost_child(const char *subject_number, const char *kind_number); // its part under callgrind

#endif
