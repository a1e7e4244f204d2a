// integrate.c: the list of systems, their creation, and an integrator of ordinary differential equations that shares
// nothing with the library: the extrapolated modified midpoint rule (Gragg, Bulirsch, Stoer) with step numbers 2, 4,
// .., 16.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "systems/systems.h"

const kd_test_system kd_test_systems[KD_TEST_SYSTEM_COUNT] = {
    {"skate", kd_test_skate_create, kd_test_skate_solution, 3, 2, false, true},
    {"rolling disc", kd_test_disc_create, kd_test_disc_solution, 3, 2, false, true},
    {"parallelogram", kd_test_parallelogram_create, kd_test_parallelogram_solution, 2, 1, true, false},
    {"Bricard mechanism", kd_test_bricard_create, kd_test_bricard_solution, 2, 1, true, false},
    {"bead with contact coordinate", kd_test_bead_create, kd_test_bead_solution, 3, 1, false, true},
    {"pendulum with friction", kd_test_friction_create, kd_test_friction_solution, 3, 1, false, true},
    {"free body", kd_test_free_body_create, kd_test_free_body_solution, 2, 6, false, true},
    {"free body with invariant", kd_test_free_body_invariant_create, kd_test_free_body_solution, 2, 6, false, true},
    {"heavy top", kd_test_heavy_top_create, kd_test_heavy_top_solution, 0.3, 3, false, true},
};

enum { COLUMNS = 8 };

static void extrapolated_step(kd_test_rhs rhs, int n, double t, double h, double *y)
{
    double T[COLUMNS][KD_TEST_ODE_MAX], f[KD_TEST_ODE_MAX], d[KD_TEST_ODE_MAX];
    rhs(t, y, f);
    for (int k = 0; k < COLUMNS; k++) {
        const int steps = 2 * (k + 1);
        double    old[KD_TEST_ODE_MAX], now[KD_TEST_ODE_MAX], step = h / steps;
        for (int i = 0; i < n; i++) old[i] = y[i], now[i] = y[i] + step * f[i];
        for (int m = 1; m < steps; m++) {
            rhs(t + m * step, now, d);
            for (int i = 0; i < n; i++) {
                const double next = old[i] + 2 * step * d[i];
                old[i] = now[i];
                now[i] = next;
            }
        }
        rhs(t + h, now, d);
        for (int i = 0; i < n; i++) {
            double value = 0.5 * (old[i] + now[i] + step * d[i]);
            for (int j = 0; j < k; j++) { // Neville's scheme in step^2
                const double q = (double)(k + 1) / (k - j), before = T[j][i];
                T[j][i] = value;
                value += (value - before) / (q * q - 1);
            }
            T[k][i] = value;
        }
    }
    memcpy(y, T[COLUMNS - 1], (size_t)n * sizeof *y);
}

void kd_test_integrate(kd_test_rhs rhs, int n, double t_end, double h, double *y)
{
    assert(n <= KD_TEST_ODE_MAX);
    const int steps = (int)ceil(fabs(t_end) / h);
    for (int i = 0; i < steps; i++) extrapolated_step(rhs, n, t_end * i / steps, t_end / steps, y);
}

kd_status kd_test_create(const kd_eom_def *def, void (*solution)(double t, kd_state *x), kd_eom **eom, kd_state **x)
{
    *eom = NULL;
    *x = NULL;
    kd_status status = kd_eom_create(def, eom, NULL, 0);
    if (status == KD_OK) status = kd_state_create(*eom, x);
    if (status == KD_OK) {
        solution(0, *x);
    } else {
        kd_eom_destroy(*eom);
        *eom = NULL;
    }
    return status;
}
