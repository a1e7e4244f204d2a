// Radau of orders 9 and 13, and of variable order, on all forms that radau runs on: the same motion as order 5 at a tighter
// tolerance, in joint and in Cartesian coordinates, with analytic matrices and differences, dense, sparse and along a tree.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <kardan/kardan.h>

enum { MOST = 400 };

typedef struct way {
    const char    *model; // in models/
    kd_formulation form;
    kd_coordinates coordinates;
    double         t_end;
    bool           differences; // grouped, of an estimated pattern
    const char    *N;           // parameter, or NULL
} way;

static const way WAYS[] = {
    {"slider-crank", KD_PSF, KD_JOINT, 0.5, false, NULL},
    {"slider-crank", KD_PSF, KD_CARTESIAN, 0.5, false, NULL},
    {"slider-crank", KD_PSF1, KD_JOINT, 0.5, false, NULL},
    {"slider-crank", KD_GGL, KD_CARTESIAN, 0.5, false, NULL},
    {"slider-crank", KD_GGL, KD_CARTESIAN, 0.5, true, NULL},
    {"slider-crank", KD_INDEX3, KD_JOINT, 0.5, false, NULL},
    {"slider-crank", KD_INDEX2, KD_JOINT, 0.5, false, NULL},
    {"slider-crank", KD_INDEX1, KD_JOINT, 0.5, false, NULL},
    {"slider-crank", KD_BAUMGARTE1, KD_JOINT, 0.5, false, NULL},
    {"slider-crank", KD_STATESPACE, KD_JOINT, 0.5, false, NULL},
    {"spatial-slider-crank", KD_GGL, KD_CARTESIAN, 0.2, false, NULL},
    {"spatial-slider-crank", KD_STATESPACE, KD_CARTESIAN, 0.2, false, NULL},
    {"double-pendulum", KD_ODE, KD_JOINT, 0.5, false, NULL},
    {"heavy-top", KD_ODE, KD_CARTESIAN, 0.2, false, NULL},
    {"chain", KD_ODE, KD_JOINT, 1, false, "40"},
    {"chain", KD_GGL, KD_CARTESIAN, 0.5, false, "12"},
};

// Positions at the end; their number, 0 where form and model do not go together
static int run(const way *w, double tol, int order_max, int order_fixed, double *p, kd_stats *stats)
{
    char                  path[300], message[1000] = "";
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    kd_simulation        *simulation = NULL;
    kd_simulation_options o = kd_simulation_options_default();
    const kd_setting      setting = {"N", w->N};
    snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, w->model);
    if (kd_model_read(path, &setting, w->N ? 1 : 0, &model, message, sizeof message) < 0) fail_msg("%s", message);
    kd_system_options options = kd_system_options_of(model);
    options.coordinates = w->coordinates;
    if (kd_system_create(model, &options, &system, message, sizeof message) < 0) fail_msg("%s", message);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    if (kd_system_start(system, x, message, sizeof message) < 0) fail_msg("%s", message);
    o.formulation = w->form;
    o.integrator = KD_RADAU;
    o.rtol = o.atol = tol;
    o.integrator_options.radau.order_max = order_max;
    o.integrator_options.radau.order_fixed = order_fixed;
    if (w->differences) {
        o.formulation_options.derivatives = KD_DERIVATIVES_GROUPED;
        o.formulation_options.estimated = true;
    }
    int             n = kd_eom_dims(kd_system_eom(system)).np;
    const kd_status made = kd_simulation_create(kd_system_eom(system), kd_system_inputs(system), &o, x, &simulation,
                                                message, sizeof message);
    if (made == KD_ERR_UNSUPPORTED)
        n = 0;
    else if (made < 0 || kd_simulation_run(simulation, w->t_end) < 0)
        fail_msg("%s, %s, order %d: %s %s", w->model, kd_formulation_word(w->form), order_max, message,
                 simulation ? kd_simulation_message(simulation) : "");
    assert_true(n <= MOST);
    if (n > 0) memcpy(p, x->p, (size_t)n * sizeof *p);
    if (n > 0) *stats = kd_simulation_stats(simulation);
    kd_simulation_destroy(simulation);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return n;
}

static void same_motion(void **state)
{
    (void)state;
    static const int orders[][2] = {{13, 9}, {13, 13}, {9, 0}, {13, 0}}; // highest, fixed
    int              compared = 0;
    for (size_t k = 0; k < sizeof WAYS / sizeof *WAYS; k++) {
        const way *w = &WAYS[k];
        double     exact[MOST], p[MOST];
        kd_stats   five, stats;
        const int  n = run(w, 1e-9, 5, 0, exact, &five);
        for (int j = 0; j < 4 && n > 0; j++) {
            double worst = 0;
            assert_int_equal(run(w, 1e-8, orders[j][0], orders[j][1], p, &stats), n);
            for (int i = 0; i < n; i++) worst = fmax(worst, fabs(p[i] - exact[i]) / (1 + fabs(exact[i])));
            if (!(worst < 2e-6) || stats.order_last == 0 || stats.accepted > five.accepted)
                fail_msg("%s, %s, %s coordinates, orders %d, %d: off by %.1e after %ld steps (order 5: %ld), order %d",
                         w->model, kd_formulation_word(w->form), w->coordinates == KD_JOINT ? "joint" : "Cartesian",
                         orders[j][0], orders[j][1], worst, stats.accepted, five.accepted, stats.order_last);
            compared++;
        }
    }
    assert_true(compared >= 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_motion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
