// The hunting wheelset: wave length by Klingel's formula, critical speed by eigenvalues and by simulation.
#include <math.h>

#include "analysis/linear_subject.h"

#define PI 3.14159265358979323846

enum { SETTINGS = 7 };

// At rest in the middle of the track but for a lateral offset
static subject open_wheelset(double V, double spring, double delta, double offset)
{
    static char  text[4][40];
    kd_setting   settings[SETTINGS] = {{"x0", "0"},        {"yaw0", "0"},   {"V", text[0]},          {"c", text[1]},
                                       {"delta", text[2]}, {"y0", text[3]}, {"unknown_contact", "0"}};
    const double value[] = {V, spring, delta, offset};
    for (int i = 0; i < 4; i++) snprintf(text[i], sizeof text[i], "%.17g", value[i]);
    return open_model("hunting-wheelset.yaml", settings, SETTINGS, KD_JOINT, false);
}

// The pair that moves sideways and is damped least: it is the hunting
static void hunting(const subject *s, double *real, double *imaginary)
{
    const kd_modes *m = s->modes;
    *real = -INFINITY;
    for (int k = 0; k < m->n; k++) {
        const size_t at = (size_t)k * (size_t)m->nv;
        if (m->imaginary[k] <= 0 || hypot(m->shape_re[at + 1], m->shape_im[at + 1]) < 0.1) continue;
        if (m->real[k] > *real) *real = m->real[k], *imaginary = m->imaginary[k];
    }
    assert_true(isfinite(*real));
}

static double wave_length(double V, double delta)
{
    double  real, imaginary = 0;
    subject s = open_wheelset(V, 0, delta, 0);
    linearize(&s);
    hunting(&s, &real, &imaginary);
    close_model(&s);
    return 2 * PI * V / imaginary;
}

static double klingel(double delta)
{
    return 2 * PI * sqrt(0.1 * 0.1506 / tan(delta));
}

// Free and slow, the wheelset rolls along Klingel's wave 2 pi sqrt(r0 a/lambda). Rail heads of radius R let the contact
// points wander, which makes the conicity lambda (1 + lambda R/a): the difference falls with the cone.
static void linear_wave_is_klingels(void **state)
{
    (void)state;
    static const double cone[] = {1e-2, 1e-3, 1e-4};
    for (int i = 0; i < 3; i++) {
        const double lambda = tan(cone[i]), by_rail = 1 / sqrt(1 + lambda * 0.06 / 0.1506);
        assert_close(wave_length(0.1, cone[i]) / klingel(cone[i]), by_rail, 0.1 * lambda + 1e-6);
    }
    assert_close(wave_length(0.1, 1e-4) / klingel(1e-4), 1, 3e-5);
}

static double simulated(subject *s, double t)
{
    char                  message[1000] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    opt.rtol = 1e-9, opt.atol = 1e-13;
    must(kd_simulate(s->eom, kd_system_inputs(s->system), &opt, s->x, t, NULL, message, sizeof message), message);
    return s->x->p[0 + 1]; // shift to the side
}

// The nonlinear equations, released 10 micrometres off the middle: half waves between zeros of the lateral shift have
// the length of Klingel's formula but for the rail heads.
static void simulated_wave_is_klingels(void **state)
{
    (void)state;
    const double V = 1, delta = 2e-3, step = 0.05;
    subject      s = open_wheelset(V, 0, delta, 1e-5);
    double       before = simulated(&s, step), zero[3];
    int          n = 0;
    for (int i = 2; n < 3; i++) {
        const double t = i * step, now = simulated(&s, t);
        if ((now > 0) != (before > 0)) zero[n++] = t - step * now / (now - before);
        before = now;
        assert_true(i < 2000);
    }
    assert_close((zero[2] - zero[0]) * V / klingel(delta), 1 / sqrt(1 + tan(delta) * 0.06 / 0.1506), 1e-4);
    close_model(&s);
}

static double growth(double V)
{
    double  real, imaginary;
    subject s = open_wheelset(V, 6400, 0.0262, 0);
    linearize(&s);
    hunting(&s, &real, &imaginary);
    close_model(&s);
    return real;
}

// The largest lateral shift in a stretch of time
static double largest(subject *s, double from, double to)
{
    double most = 0;
    for (double t = from; t < to; t += 0.02) most = fmax(most, fabs(simulated(s, t)));
    return most;
}

// Eigenvalues cross the axis at the critical speed; simulations from a small offset die out a little below and grow
// above, both at the rate of the eigenvalue.
static void critical_speed_parts_decay_from_growth(void **state)
{
    (void)state;
    double low = 10, high = 40;
    while (high - low > 1e-9) {
        const double V = (low + high) / 2;
        *(growth(V) > 0 ? &high : &low) = V;
    }
    assert_close(low, 25.0598459, 1e-6);
    for (int k = 0; k < 2; k++) {
        const double V = k == 0 ? 0.92 * low : 1.08 * low, rate = growth(V);
        subject      s = open_wheelset(V, 6400, 0.0262, 1e-5);
        const double early = largest(&s, 0.5, 1), late = largest(&s, 2, 2.5);
        assert_true(k == 0 ? late < early : late > early);
        assert_close(log(late / early) / 1.5, rate, 0.05 * fabs(rate) + 0.02);
        close_model(&s);
    }
}

static void run_to(kd_simulation *simulation, double t)
{
    const kd_status status = kd_simulation_run(simulation, t);
    must(status, kd_simulation_message(simulation));
}

static kd_simulation *simulation_of(subject *s)
{
    char                  message[1000] = "";
    kd_simulation        *simulation = NULL;
    kd_simulation_options opt = kd_simulation_options_default();
    opt.rtol = 1e-9, opt.atol = 1e-13;
    must(kd_simulation_create(s->eom, kd_system_inputs(s->system), &opt, s->x, &simulation, message, sizeof message),
         message);
    return simulation;
}

// Where the chosen bdf gets no further, as near the rounding of its history, radau goes on, says so, and does so in a
// restored simulation, too: same bits.
static void retreats_are_saved(void **state)
{
    (void)state;
    subject        a = open_wheelset(23.05506, 6400, 0.0262, 1e-5), b = open_wheelset(23.05506, 6400, 0.0262, 1e-5);
    kd_simulation *first = simulation_of(&a), *second = simulation_of(&b);
    char           message[1000] = "";
    kd_saved      *saved = NULL;
    run_to(first, 0.1);
    assert_int_equal(kd_simulation_changes(first), 1);
    assert_non_null(strstr(kd_simulation_message(first), "on psf with radau, as bdf gets no further"));
    must(kd_simulation_save(first, &saved, message, sizeof message), message);
    must(kd_simulation_restore(second, saved, message, sizeof message), message);
    run_to(first, 0.2);
    run_to(second, 0.2);
    assert_memory_equal(a.x->p, b.x->p, (size_t)kd_eom_dims(a.eom).np * sizeof(double));
    assert_memory_equal(a.x->v, b.x->v, (size_t)kd_eom_dims(a.eom).nv * sizeof(double));
    // the other way round is refused: there is no way back to bdf
    subject        c = open_wheelset(23.05506, 6400, 0.0262, 1e-5);
    kd_simulation *fresh = simulation_of(&c);
    kd_saved      *early = NULL;
    must(kd_simulation_save(fresh, &early, message, sizeof message), message);
    assert_int_equal(kd_simulation_restore(second, early, message, sizeof message), KD_ERR_SAVED);
    kd_saved_destroy(saved);
    kd_saved_destroy(early);
    kd_simulation_destroy(first);
    kd_simulation_destroy(second);
    kd_simulation_destroy(fresh);
    close_model(&a);
    close_model(&b);
    close_model(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_wave_is_klingels),
        cmocka_unit_test(simulated_wave_is_klingels),
        cmocka_unit_test(critical_speed_parts_decay_from_growth),
        cmocka_unit_test(retreats_are_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
