// models/long-swing.yaml: a conservative motion with constraints for many periods in constant steps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kardan/kardan.h>
#include <math.h>

#define PI 3.14159265358979323846

typedef struct swings {
    kd_probe *probe;
    int       energy, x;
    double    start, first, last, total; // energy; its largest errors in the first and last 10 s, and in all
    double    t_old, x_old, crossing[2]; // of x = 0 upwards: first and last time
    int       count;
} swings;

static kd_eval watch(const kd_state *x, bool at_time, void *context)
{
    swings *s = context;
    (void)at_time;
    assert_true(kd_probe_set(s->probe, x) >= 0);
    const double energy = kd_probe_value(s->probe, s->energy), at = kd_probe_value(s->probe, s->x);
    if (x->t == 0) s->start = energy;
    const double error = fabs(energy - s->start);
    s->total = fmax(s->total, error);
    if (x->t <= 10) s->first = fmax(s->first, error);
    if (x->t >= 110) s->last = fmax(s->last, error);
    if (x->t > 0 && s->x_old < 0 && at >= 0) {
        const double t = s->t_old + (x->t - s->t_old) * s->x_old / (s->x_old - at); // nearly straight there
        s->crossing[s->count++ > 0] = t;
    }
    s->t_old = x->t;
    s->x_old = at;
    return KD_EVAL_OK;
}

// K(k) by the arithmetic-geometric mean
static double complete_integral(double k)
{
    double a = 1, b = sqrt(1 - k * k);
    for (int i = 0; i < 8; i++) {
        const double mean = 0.5 * (a + b);
        b = sqrt(a * b);
        a = mean;
    }
    return PI / (2 * a);
}

static swings run(double h)
{
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    swings                s = {0};
    char                  message[1000] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    if (kd_model_read(KD_SOURCE_DIR "/models/"
                                    "long-swing"
                                    ".yaml",
                      NULL, 0, &model, message, sizeof message) < 0 ||
        kd_system_create(model, NULL, &system, message, sizeof message) < 0)
        fail_msg("%s", message);
    assert_true(kd_eom_dims(kd_system_eom(system)).nlambda == 5); // the model's own coordinates are Cartesian
    assert_true(kd_state_create(kd_system_eom(system), &x) >= 0);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    assert_true(kd_probe_of_system(system, NULL, &s.probe) >= 0);
    s.energy = kd_probe_find(s.probe, "energy");
    s.x = kd_probe_find(s.probe, "x");
    assert_true(s.energy >= 0 && s.x >= 0);
    opt.formulation = KD_ODE;
    opt.integrator = KD_MIDPOINT;
    opt.integrator_options.h_fixed = h;
    opt.output = watch;
    opt.context = &s;
    if (kd_simulate(kd_system_eom(system), kd_system_inputs(system), &opt, x, 120, NULL, message, sizeof message) < 0)
        fail_msg("%s", message);
    kd_probe_destroy(s.probe);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return s;
}

// The energy is as good after two minutes as after ten seconds, its error falls with h^2, and so does that of the period.
static void energy_stays_and_period_is_known(void **state)
{
    (void)state;
    const double w0 = sqrt(2 * 9.81 / (0.5 + 2)), period = 4 * complete_integral(sin(PI / 6)) / w0;
    double       energy[2], off[2];
    for (int k = 0; k < 2; k++) {
        const swings s = run(k ? 0.01 : 0.02);
        energy[k] = s.last;
        off[k] = fabs((s.crossing[1] - s.crossing[0]) / (s.count - 1) - period);
        print_message("energy %.3g J first, %.3g J last; %d swings, period off by %.2e of %.6f s\n", s.first, s.last,
                      s.count, off[k], period);
        assert_true(s.last < 1.01 * s.first && s.total < 5e-4 * 2 * 9.81);
        assert_true(s.count >= 49);
    }
    assert_true(energy[0] / energy[1] > 3.8 && energy[0] / energy[1] < 4.2);
    assert_true(off[0] < 6e-4 && off[0] / off[1] > 3.7 && off[0] / off[1] < 4.3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(energy_stays_and_period_is_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
