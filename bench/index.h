// index.h: the parts of the benchmark "index" (S1 section 4) and what they share.
#ifndef KD_BENCH_INDEX_H
#define KD_BENCH_INDEX_H

#include "common_rows.h"
#include "common_run.h"

// How a run is made; 0 and false stand for the defaults.
typedef struct index_method {
    kd_formulation     form;
    kd_integrator_kind integrator;
    kd_projection      projection;
    double             rtol, atol;
    double             kappa;      // bound of Newton's error, part of the tolerance
    double             step;       // constant step [s]; radau
    bool               start_zero; // radau: Newton starts from zero increments
} index_method;

// What a run shows at each of its times.
typedef void (*index_watch)(const kd_state *x, int sample, void *context);

// Run from a copy of the problem's start; watch is called at times[0 .. ntimes-1]. The last one is the end. < 0:
// failed.
kd_status index_run(const bench_problem *problem, const index_method *method, const double *times, int ntimes,
                    index_watch watch, void *context, kd_state *x, char *message, size_t size);

void index_wheelset(bench *b); // figures 2, 3, 4; digits in all forms
void index_track(bench *b);    // drift on the circular track

#endif
