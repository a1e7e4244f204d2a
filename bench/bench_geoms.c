// bench_geoms.c: the experiments of the GEOMS report (A. Steinbrecher, WIAS Berlin; section 4: "S3") made again with
// kardan: step counts of the pendulum (tables 3 and 4), constraints, energy and errors over [0, 1000] (figures 1, 4,
// 5), work against precision (figures 2, 3, 8), robustness and accuracy on the gallery, and the time that SUNDIALS IDA
// needs on the GGL form.
#include "geoms.h"
#include "pendulum.h"
#include <stdlib.h>

const bench_method geoms_methods[GEOMS_METHODS] = {
    [GEOMS_PSF] = {.name = "psf", .formulation = KD_PSF},
    [GEOMS_PSF_ORDERS] = {.name = "psf, order to 13", .formulation = KD_PSF, .order_max = 13},
    [GEOMS_PSF_INVARIANT] = {.name = "psf+invariant", .formulation = KD_PSF, .invariants = true},
    [GEOMS_PSF1] = {.name = "psf1", .formulation = KD_PSF1},
    [GEOMS_STATESPACE] = {.name = "statespace", .formulation = KD_STATESPACE},
    [GEOMS_RADAU_GGL] = {.name = "radau ggl", .formulation = KD_GGL},
    [GEOMS_RADAU_INDEX3] = {.name = "radau index3", .formulation = KD_INDEX3},
    [GEOMS_RADAU_INDEX2] = {.name = "radau index2", .formulation = KD_INDEX2},
    [GEOMS_RADAU_INDEX1] = {.name = "radau index1", .formulation = KD_INDEX1},
    [GEOMS_ODASSL_BDF] = {.name = "bdf odassl", .formulation = KD_ODASSL, .integrator = KD_BDF},
    [GEOMS_EXTRAPOLATION] = {.name = "extrapolation",
                             .formulation = KD_ODE,
                             .integrator = KD_EXTRAPOLATION,
                             .projection = KD_PROJECT_ALWAYS},
    [GEOMS_HALF_EXPLICIT] = {.name = "half-explicit",
                             .formulation = KD_ODE,
                             .integrator = KD_HALF_EXPLICIT,
                             .projection = KD_PROJECT_ALWAYS},
    [GEOMS_IDA_GGL] = {.name = "ida ggl", .formulation = KD_GGL, .integrator = KD_IDA},
    [GEOMS_IDA_GGL_ALL] = {.name = "ida ggl, all", .formulation = KD_GGL, .integrator = KD_IDA, .all_in_error = true},
    [GEOMS_IDA_SAME] = {.name = "ida same J", .formulation = KD_GGL, .integrator = KD_IDA, .own_linear = true},
    [GEOMS_IDA_SAME_ALL] = {.name = "ida same J, all",
                            .formulation = KD_GGL,
                            .integrator = KD_IDA,
                            .own_linear = true,
                            .all_in_error = true},
};

void geoms_pendulum_exact(double gravity, double v10, double t, double exact[5])
{
    kd_pendulum_exact(gravity, v10 == 0, v10, t, exact, exact + 2, exact + 4);
}

bool geoms_pendulum_open(bench_problem *problem, double gravity, double v10, double t_end, double reference[5],
                         char *message, size_t size)
{
    double start[5];
    geoms_pendulum_exact(gravity, v10, 0, start);
    *problem = (bench_problem){.name = "pendulum", .t_end = t_end, .reference = reference, .digits = 14};
    geoms_pendulum_exact(gravity, v10, t_end, reference);
    return kd_pendulum_create(gravity, start, start + 2, true, &problem->eom, &problem->x) >= 0 &&
           bench_problem_start(problem, message, size);
}

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b = bench_create(argc, argv, "The experiments of the GEOMS report made again.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    geoms_counters(b);
    geoms_ratio(b);
    geoms_pendulum(b);
    geoms_accuracy(b);
    return bench_end(b);
}
