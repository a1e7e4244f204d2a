// coupling_map.h: the linear map from one communication point to the next that a master makes of two masses, from its own steps: runs from
// independent starts, least squares, spectral radius.
#ifndef KD_BENCH_COUPLING_MAP_H
#define KD_BENCH_COUPLING_MAP_H

#include <kardan/cosim.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "math/dense.h"

// Systems files with places for start and speed of both masses
static const char *const MAP_FORCE_DISPLACEMENT =
    "systems:\n  left: {model: mass.yaml, set: {start: %g, speed: %g}}\n  right: {model: tied-mass.yaml, set: {start: "
    "%g, speed: %g}}\n"
    "connections:\n  left.F: right.F\n  right.x: left.x\n  right.v: left.v\n";
static const char *const MAP_DISPLACEMENTS =
    "systems:\n  left: {model: tied-mass.yaml, set: {start: %g, speed: %g}}\n  right: {model: tied-mass.yaml, set: "
    "{start: %g, speed: %g}}\n"
    "connections:\n  left.x: right.x\n  left.v: right.v\n  right.x: left.x\n  right.v: left.v\n";
static const char *const MAP_FORCES =
    "systems:\n  left: {model: mass.yaml, set: {start: %g, speed: %g}}\n  right: {model: mass.yaml, set: {start: %g, "
    "speed: %g}}\n"
    "  spring:\n    inputs: {x1: m, v1: m/s, x2: m, v2: m/s}\n    parameters: {k: 100, d: 1}\n"
    "    outputs: {F: {value: k*(x2 - x1) + d*(v2 - v1), unit: N}}\n"
    "connections:\n  left.F: spring.F\n  right.F: {from: spring.F, factor: -1}\n  spring.x1: left.x\n  spring.v1: "
    "left.v\n"
    "  spring.x2: right.x\n  spring.v2: right.v\n";

enum { MAP_STARTS = 4, MAP_STEPS = 4, MAP_STATES = 5 };

static inline void map_read(const kd_cosim *c, int n, double *x)
{
    static const char *const names[MAP_STATES] = {"left.x", "left.v", "right.x", "right.v", "left.F"};
    // of similar size
    static const double scale[MAP_STATES] = {10, 1, 10, 1, 0.1};
    for (int i = 0; i < n; i++) x[i] = scale[i] * kd_cosim_read_value(c, names[i]);
}

// Sums X X' and Y X' over one run; false: it failed, with words on standard error
static inline bool map_run(const char *text, kd_cosim_options opt, const double *start, int n, int steps, double *XX,
                           double *YX)
{
    char      file[2000], message[1000] = "";
    kd_cosim *c = NULL;
    double    x[MAP_STATES], y[MAP_STATES];
    snprintf(file, sizeof file, text, start[0], start[1], start[2], start[3]);
    opt.t_end = (steps + 1) * opt.step;
    bool good = kd_cosim_read_text(KD_SOURCE_DIR "/models/systems/map.yaml", file, strlen(file), &c, message,
                                   sizeof message) >= 0 &&
                kd_cosim_set_options(c, &opt, message, sizeof message) >= 0 &&
                kd_cosim_start(c, message, sizeof message) >= 0;
    for (int k = 0; k < steps && good; k++) {
        map_read(c, n, x);
        good = kd_cosim_advance(c, (k + 1) * opt.step, message, sizeof message) >= 0;
        map_read(c, n, y);
        for (int i = 0; i < n && good; i++)
            for (int j = 0; j < n; j++) XX[j * n + i] += x[i] * x[j], YX[j * n + i] += x[i] * y[j]; // column j: X y_j
    }
    if (!good) fprintf(stderr, "%s\n", message);
    kd_cosim_destroy(c);
    return good;
}

// Spectral radius of the map; held: the force that was read with held inputs is a state of its own. NaN: a run failed
static inline double map_radius(const char *text, const kd_cosim_options *opt, bool held)
{
    const int n = held ? 5 : 4;
    double    XX[MAP_STATES * MAP_STATES] = {0}, YX[MAP_STATES * MAP_STATES] = {0}, real[MAP_STATES],
                           imaginary[MAP_STATES];
    double work[8192], radius = 0;
    int    pivot[MAP_STATES];
    for (int i = 0; i < MAP_STARTS; i++) {
        double start[4] = {0, 0, 0, 0};
        start[i] = i % 2 == 0 ? 0.1 : 1;
        if (!map_run(text, *opt, start, n, held ? MAP_STEPS : 1, XX, YX)) return NAN;
    }
    // A' = inv(X X') X Y'
    if (kd_lu_factor(n, XX, pivot) != 0 || kd_eigen_work(n) > 8192) return NAN;
    kd_lu_solve(n, XX, pivot, YX, n);
    if (kd_eigen(n, YX, real, imaginary, NULL, work) != 0) return NAN;
    for (int i = 0; i < n; i++) radius = fmax(radius, hypot(real[i], imaginary[i]));
    return radius;
}

#endif
