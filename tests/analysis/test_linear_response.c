// Frequency response: transfer functions in closed form, also of inputs that move bodies, and steady simulations under
// a sine.
#include <complex.h>
#include <math.h>

#include "analysis/linear_subject.h"

// A table that the input moves, a mass on a spring and damper beside it, and one that slides on it; a third one is
// pushed by a force.
static const char TABLE[] =
    "kardan: 1\n"
    "title: masses on a moving table\n"
    "gravity: [0, 0, 0]\n"
    "inputs: {u: {value: 0}, push: {value: 0}}\n"
    "bodies:\n"
    "  table: {mass: 1, inertia: [1, 1, 1]}\n"
    "  beside: {position: [1, 0, 0], mass: 2, inertia: [1, 1, 1]}\n"
    "  upon: {position: [0, 1, 0], mass: 3, inertia: [1, 1, 1]}\n"
    "  third: {position: [0, 2, 0], mass: 4, inertia: [1, 1, 1]}\n"
    "joints:\n"
    "  table: {type: prismatic, bodies: [ground, table], point: [0, 0, 0], axis: [1, 0, 0], motion: input.u}\n"
    "  beside: {type: prismatic, bodies: [ground, beside], point: [1, 0, 0], axis: [1, 0, 0]}\n"
    "  upon: {type: prismatic, bodies: [table, upon], point: [0, 1, 0], axis: [1, 0, 0]}\n"
    "  third: {type: prismatic, bodies: [ground, third], point: [0, 2, 0], axis: [1, 0, 0]}\n"
    "forces:\n"
    "  link: {type: tsda, bodies: [table, beside], points: [[0, 0, 0], [1, 0, 0]], stiffness: 50, damping: 3}\n"
    "  hold: {type: joint_spring, joint: upon, rest: 0, law: -40*q - 2*v}\n"
    "  wall: {type: joint_spring, joint: third, rest: 0, law: -70*q - 5*v + input.push}\n"
    "sensors:\n"
    "  beside: {value: body.beside.pos.x}\n"
    "  relative: {value: body.upon.pos.x - body.table.pos.x}\n"
    "  felt: {value: body.upon.acc.x}\n"
    "  third: {value: body.third.pos.x}\n"
    "  rate: {value: body.table.vel.x}\n";

enum { BESIDE, RELATIVE, FELT, THIRD, RATE, SENSORS };

static double complex transfer(int sensor, int input, double w)
{
    const double complex i = I;
    if (input == 1) return sensor == THIRD ? 1 / (70 - 4 * w * w + 5 * i * w) : 0;
    const double complex relative = 3 * w * w / (40 - 3 * w * w + 2 * i * w);
    switch (sensor) {
    case BESIDE:
        return (50 + 3 * i * w) / (50 - 2 * w * w + 3 * i * w);
    case RELATIVE:
        return relative;
    case FELT:
        return -w * w * (1 + relative);
    case RATE:
        return i * w;
    default:
        return 0;
    }
}

// All pairs of inputs and sensors over five decades, in both coordinate sets: forces act by u, moved bodies by u, u',
// u''.
static void transfer_functions_in_closed_form(void **state)
{
    (void)state;
    enum { N = 11 };
    double omega[N];
    for (int k = 0; k < N; k++) omega[k] = pow(10, -2 + 0.5 * k);
    for (int c = 0; c < 2; c++) {
        subject s = open_model(TABLE, NULL, 0, BOTH[c], false);
        double  re[N * 2 * SENSORS], im[N * 2 * SENSORS];
        linearize(&s);
        assert_int_equal(s.linear->nx, 6);
        assert_true(s.linear->moves[0]);
        assert_false(s.linear->moves[1]);
        assert_int_equal(kd_linear_response(s.linear, N, omega, re, im), KD_OK);
        for (int k = 0; k < N; k++)
            for (int input = 0; input < 2; input++)
                for (int sensor = 0; sensor < SENSORS; sensor++) {
                    const int            at = sensor + SENSORS * (input + 2 * k);
                    const double complex exact = transfer(sensor, input, omega[k]);
                    assert_close(cabs(re[at] + I * im[at] - exact), 0,
                                 1e-8 * fmax(cabs(exact), 1) + 1e-12 * omega[k] * omega[k]);
                }
        close_model(&s);
    }
}

static kd_eval sine(double t, void *context, double *u, double *du, double *ddu)
{
    const double w = *(const double *)context;
    u[0] = 0.1 * sin(w * t), du[0] = 0.1 * w * cos(w * t), ddu[0] = -w * w * u[0];
    u[1] = du[1] = ddu[1] = 0;
    return KD_EVAL_OK;
}

// Simulated under a sine until the start is forgotten: amplitude and phase are those of the response, at three
// frequencies below, near and above the resonances.
static void simulated_sine(void **state)
{
    (void)state;
    static const double omega[] = {1, 4.6, 15};
    for (int k = 0; k < 6; k++) {
        double                w = omega[k / 2];
        const kd_inputs       inputs = {sine, &w};
        char                  message[1000] = "";
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        subject      s = open_model(TABLE, NULL, 0, BOTH[k & 1], false);
        double       re[2 * SENSORS], im[2 * SENSORS], y[SENSORS], u[2], du[2], ddu[2];
        kd_eom_data *d;
        linearize(&s);
        assert_int_equal(kd_linear_response(s.linear, 1, &w, re, im), KD_OK);
        must(kd_initial_consistent(s.eom, &inputs, NULL, s.x, message, sizeof message), message);
        opt.rtol = opt.atol = 1e-10;
        must(kd_simulate(s.eom, &inputs, &opt, s.x, 70, NULL, message, sizeof message), message);
        must(kd_eom_data_create(s.eom, &d), "");
        assert_int_equal(sine(70, &w, u, du, ddu), KD_EVAL_OK);
        kd_eom_at_time(d, 70, u, du, ddu, s.x->z);
        kd_eom_at_position(d, s.x->p, s.x->s);
        kd_eom_at_velocity(d, s.x->v, s.x->r);
        kd_eom_at_acceleration(d, s.x->a, s.x->w, s.x->lambda, s.x->mu);
        assert_int_equal(kd_eom_eval(d, KD_Y, y), KD_EVAL_OK);
        for (int sensor = 0; sensor < SENSORS; sensor++) {
            const double offset = sensor == BESIDE ? 1 : 0; // position of the drawing
            const double expected = 0.1 * cimag((re[sensor] + I * im[sensor]) * cexp(I * w * 70));
            assert_close(y[sensor] - offset, expected, 1e-6 * fmax(1, w * w));
        }
        kd_eom_data_destroy(d);
        close_model(&s);
    }
}

// Both trucks follow the road by tyre dampers, too: joint and Cartesian coordinates, and at low frequency the wheel
// follows the road.
static void trucks_over_the_road(void **state)
{
    (void)state;
    static const double omega[] = {0.1, 6, 60};
    double              re[2][3 * 2 * 16], im[2][3 * 2 * 16];
    int                 size = 0;
    for (int c = 0; c < 2; c++) {
        subject s = open_model("truck7.yaml", NULL, 0, BOTH[c], false);
        linearize(&s);
        size = s.linear->nu * s.linear->ny;
        assert_true(s.linear->moves[0] && s.linear->moves[1] && size <= 32);
        assert_int_equal(kd_linear_response(s.linear, 3, omega, re[c], im[c]), KD_OK);
        close_model(&s);
    }
    for (int i = 0; i < 3 * size; i++) {
        const double scale = fmax(1e-3, hypot(re[0][i], im[0][i]));
        assert_close(re[0][i], re[1][i], 1e-5 * scale);
        assert_close(im[0][i], im[1][i], 1e-5 * scale);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfer_functions_in_closed_form),
        cmocka_unit_test(simulated_sine),
        cmocka_unit_test(trucks_over_the_road),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
