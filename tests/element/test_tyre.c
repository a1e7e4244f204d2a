// tests/element/test_tyre.c: forces of a tyre with slip, by hand. (Derivatives and power: test_load_laws.c)
#include "model/build_helpers.h"

#include <stdlib.h>

#include "element/force.h"

enum { X, Z, VX, VY, VZ, NX, NY, NZ, WX, WY, WZ, RX, RY, COUNT };

#define RADIUS 0.3
#define STIFFNESS 2e5
#define MU 0.9
#define NOMINAL 3000.0

static const double longitudinal[2] = {1e5, 1.8e5}, lateral[2] = {8e4, 1.4e5};

static kd_force_def tyre(void)
{
    kd_force_def f = kd_force_def_default(KD_TYRE);
    f.to = kd_in("arm", 0, 0, 0);
    f.to.axis[1] = 1;
    f.tyre.radius = RADIUS, f.tyre.stiffness = STIFFNESS, f.tyre.damping = 500;
    f.tyre.friction = MU, f.tyre.load = NOMINAL, f.tyre.slip = 1e-3;
    memcpy(f.tyre.longitudinal, longitudinal, sizeof longitudinal);
    memcpy(f.tyre.lateral, lateral, sizeof lateral);
    return f;
}

// Force on the wheel, moment about its centre, and rates of the slips, at given variables.
typedef struct answer {
    double F[3], N[3], rate[2];
} answer;

static answer at(const kd_force_def *def, const double *value)
{
    kd_model  *m = arm_model();
    kd_system *s = NULL;
    char       message[300] = "";
    double     out[6];
    answer     a = {0};
    CHECK(kd_model_add_force(m, "tyre", def));
    CHECK(kd_model_finish(m));
    if (kd_system_create(m, NULL, &s, message, sizeof message) < 0) fail_msg("%s", message);
    kd_work       *w = kd_work_create(s);
    const kd_load *l = &s->load[0];
    double        *x = calloc((size_t)s->nslots, sizeof *x);
    assert_true(w && x && l->nchannels == 6);
    for (int i = 0; i < l->nvariables; i++) x[l->variable[i]] = value[i];
    w->jet[0] = (kd_jet){.x1 = 1};
    assert_int_equal(l->class->eval(l, x, w, out, a.rate), KD_EVAL_OK);
    const double F[3] = {out[1], out[2], out[0]};
    memcpy(a.F, F, sizeof F);
    memcpy(a.N, out + 3, sizeof a.N);
    memcpy(w->slot, x, (size_t)s->nslots * sizeof *x); // what sensors read: along the wheel
    memcpy(w->force + w->force_at[0], out, sizeof out);
    assert_true(fabs(l->class->reading(l, w, NULL, 1) * value[NY] - out[1]) < 1e-9 || value[NX] != 0);
    free(x);
    kd_work_destroy(w);
    kd_system_destroy(s);
    kd_model_destroy(m);
    return a;
}

#define assert_near_to(a, b, tolerance)                                                                                \
    do {                                                                                                               \
        double a_ = (a), b_ = (b);                                                                                     \
        if (!(fabs(a_ - b_) <= (tolerance))) fail_msg("line %d: %.12g instead of %.12g", __LINE__, a_, b_);            \
    } while (0)

// an upright wheel 2 cm deep that rolls forward at 20 m/s
static void rolling(double x[COUNT])
{
    memset(x, 0, COUNT * sizeof *x);
    x[Z] = RADIUS - 0.02;
    x[VX] = 20;
    x[NY] = 1;
    x[WY] = x[VX] / x[Z];
}

static const double load = STIFFNESS * 0.02;

// C by the parabola through 0, the nominal load and twice that
static double slope(const double C[2], double Fz)
{
    double q = Fz / NOMINAL;
    return q * (2 * C[0] - C[1] / 2 - (C[0] - C[1] / 2) * q);
}

// Pure rolling: the load and nothing else; in the air nothing at all.
static void test_rolling(void **state)
{
    kd_force_def f = tyre();
    double       x[COUNT];
    (void)state;
    rolling(x);
    answer a = at(&f, x);
    assert_near_to(a.F[2], load, 1e-8);
    assert_near_to(a.F[0], 0, 1e-8);
    assert_near_to(a.F[1], 0, 1e-8);
    for (int i = 0; i < 3; i++) assert_near_to(a.N[i], 0, 1e-8);
    x[VZ] = -0.1;
    assert_near_to(at(&f, x).F[2], load + 50, 1e-8);
    x[Z] = RADIUS + 0.01, x[VY] = 3;
    a = at(&f, x);
    for (int i = 0; i < 3; i++) assert_near_to(fabs(a.F[i]) + fabs(a.N[i]), 0, 0);
}

// Side slip: the tanh law with the slope of the load; to the left a force to the right, at the point of contact.
static void test_side_slip(void **state)
{
    kd_force_def f = tyre();
    double       x[COUNT];
    (void)state;
    assert_near_to(slope(lateral, NOMINAL), lateral[0], 1e-9);
    assert_near_to(slope(lateral, 2 * NOMINAL), lateral[1], 1e-9);
    for (int k = 1; k <= 40; k++) {
        rolling(x);
        x[VY] = 0.1 * k;
        answer a = at(&f, x);
        double force = MU * load * tanh(slope(lateral, load) * x[VY] / x[VX] / (MU * load));
        assert_near_to(a.F[1], -force, 1e-4);
        assert_near_to(a.F[0], 0, 1e-8);
        assert_near_to(a.N[0], x[Z] * a.F[1], 1e-8); // c x F, c = (0, 0, -z)
    }
}

// A steered wheel: what counts is the direction of its axle.
static void test_steered(void **state)
{
    kd_force_def f = tyre();
    double       x[COUNT], angle = 0.05;
    (void)state;
    rolling(x);
    x[NX] = -sin(angle), x[NY] = cos(angle); // to the left
    double spin = x[VX] * cos(angle) / x[Z];
    x[WX] = spin * x[NX], x[WY] = spin * x[NY];
    answer a = at(&f, x);
    double force = MU * load * tanh(slope(lateral, load) * tan(angle) / (MU * load));
    assert_near_to(a.F[0], -force * sin(angle), 1e-4);
    assert_near_to(a.F[1], force * cos(angle), 1e-4);
}

// Driving, braking and a locked wheel; together with side slip the resultant does not exceed the friction.
static void test_longitudinal_slip(void **state)
{
    kd_force_def f = tyre();
    double       x[COUNT];
    (void)state;
    rolling(x);
    x[WY] *= 1.001;
    assert_near_to(at(&f, x).F[0], MU * load * tanh(slope(longitudinal, load) * 0.001 / (MU * load)), 1e-4);
    assert_near_to(at(&f, x).N[1], -x[Z] * at(&f, x).F[0], 1e-8); // it brakes the spin
    x[WY] = 0;
    assert_near_to(at(&f, x).F[0], -MU * load, 1e-3);
    x[VY] = 5;
    answer a = at(&f, x);
    assert_near_to(hypot(a.F[0], a.F[1]), MU * load, 1e-3);
    assert_true(a.F[0] < -1000 && a.F[1] < -500);
}

// Leaning wheels: deeper along the plane of the wheel, thrust to the side where the top leans, contact below the
// centre.
static void test_camber(void **state)
{
    kd_force_def f = tyre();
    double       x[COUNT], gamma = 0.1;
    (void)state;
    f.tyre.camber = 0.2;
    rolling(x);
    x[NY] = cos(gamma), x[NZ] = sin(gamma); // left end up: the top leans to the right
    double rho = x[Z] / cos(gamma), spin = x[VX] / rho, Fz = STIFFNESS * (RADIUS - rho) / cos(gamma);
    x[WY] = spin * x[NY], x[WZ] = spin * x[NZ];
    answer a = at(&f, x);
    assert_near_to(a.F[2], Fz, 1e-8);
    double thrust = MU * Fz * tanh(slope(lateral, Fz) * f.tyre.camber * sin(gamma) / (MU * Fz));
    assert_near_to(a.F[1], -thrust, 1e-4);
    assert_near_to(a.N[0], x[Z] * tan(gamma) * Fz + x[Z] * a.F[1], 1e-8); // contact at (0, z tan gamma, -z)
}

// Slips with relaxation: at rest in their steady values; and rolling resistance against the spin.
static void test_relaxation_and_rolling(void **state)
{
    kd_force_def f = tyre();
    double       x[COUNT];
    (void)state;
    rolling(x);
    x[VY] = 0.6;
    double steady = at(&f, x).F[1];
    f.tyre.relaxation = 0.4;
    answer a = at(&f, x);
    assert_near_to(a.F[1], 0, 0);
    assert_near_to(a.rate[1], -0.6 / 0.4, 1e-12);
    x[RY] = -0.6 / 20;
    a = at(&f, x);
    assert_near_to(a.rate[1], 0, 1e-8);
    assert_near_to(a.F[1], steady, 1e-4);
    f = tyre();
    f.tyre.rolling_resistance = 0.02;
    rolling(x);
    assert_near_to(at(&f, x).N[1], -0.02 * load * x[Z], 1e-6);
    x[VX] = -x[VX], x[WY] = -x[WY];
    assert_near_to(at(&f, x).N[1], 0.02 * load * x[Z], 1e-6);
}

// A wheel on a plate that is lifted: the same as a wheel that sinks; a tyre with friction must know its load.
static void test_carried_road(void **state)
{
    kd_force_def f = tyre();
    double       x[COUNT];
    (void)state;
    f.tyre.road = "0.01";
    rolling(x);
    assert_near_to(at(&f, x).F[2], load + 0.01 * STIFFNESS, 1e-8);
    f = tyre();
    f.tyre.load = NAN;
    kd_model *m = arm_model();
    CHECK(kd_model_add_force(m, "tyre", &f));
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    assert_non_null(strstr(kd_model_message(m), "needs its nominal 'load'"));
    kd_model_destroy(m);
    f = tyre();
    f.from = kd_in("arm", 0, 0, 0);
    m = arm_model();
    CHECK(kd_model_add_force(m, "tyre", &f));
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rolling),      cmocka_unit_test(test_side_slip),
        cmocka_unit_test(test_steered),      cmocka_unit_test(test_longitudinal_slip),
        cmocka_unit_test(test_camber),       cmocka_unit_test(test_relaxation_and_rolling),
        cmocka_unit_test(test_carried_road),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
