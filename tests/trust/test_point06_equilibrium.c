// test_point06_equilibrium.c: closed elements keep what they hold; moving models keep their motion; oil that boils is
// told.
#include "case.h"
#include "trust/statics.h"

enum { CYLINDERS = 12 };

typedef struct ram {
    double m, area[2], volume[2], stroke, bulk, x, p[2], leak;
} ram;

static ram random_ram(uint64_t *seed)
{
    ram r = {.m = decades(10, 1e5, seed), .stroke = between(0.3, 2, seed), .bulk = decades(2e8, 2e9, seed)};
    r.area[0] = r.m * 9.81 / between(5e5, 1e7, seed);
    r.area[1] = between(0.3, 0.9, seed) * r.area[0];
    for (int i = 0; i < 2; i++) {
        r.volume[i] = between(0.05, 1, seed) * r.area[i] * r.stroke;
        r.p[i] = between(1e5, 2e7, seed);
    }
    r.x = between(0.4, 0.6, seed) * r.stroke;
    return r;
}

static void open_ram(plant *p, kd_coordinates c, const ram *r)
{
    plant_open(
        p, c,
        "kardan: 1\ngravity: [0, 0, -9.81]\n"
        "bodies:\n  load: {position: [0, 0, 3], mass: %.17g, inertia: [1, 1, 1]}\n"
        "joints:\n  guide: {type: prismatic, bodies: [ground, load], point: [0, 0, 3], axis: [0, 0, 1]}\n"
        "forces:\n  ram: {type: hydraulic, from: ground, to: load, length: %.17g, area: [%.17g, %.17g], stroke: %.17g, "
        "volume: [%.17g, %.17g], bulk: %.17g, leakage: %.17g, pressure: [%.17g, %.17g]}\n"
        "sensors:\n  x: {value: body.load.pos.z - 3}\n  a: {value: force.ram.pressure_a}\n"
        "  b: {value: force.ram.pressure_b}\n",
        r->m, 3 - r->x, r->area[0], r->area[1], r->stroke, r->volume[0], r->volume[1], r->bulk, r->leak, r->p[0],
        r->p[1]);
}

static double volume(const ram *r, int i, double x)
{
    return r->volume[i] + r->area[i] * (i == 0 ? r->x + x : r->stroke - r->x - x);
}

// Pressure of the closed chamber after the piston moved by x: p + E log(V0/V)
static double closed(const ram *r, int i, double x)
{
    return r->p[i] + r->bulk * log(volume(r, i, 0) / volume(r, i, x));
}

// A closed cylinder carries its load on the oil that it has: closed form by bisection.
static void test_closed_cylinder(void **state)
{
    uint64_t seed = test_seed(61);
    (void)state;
    for (int k = 0; k < CYLINDERS; k++) {
        const ram r = random_ram(&seed);
        double    low = -0.999 * r.x, high = 0.999 * (r.stroke - r.x), y[3];
        for (int i = 0; i < 200; i++) {
            const double x = 0.5 * (low + high),
                         f = r.area[0] * closed(&r, 0, x) - r.area[1] * closed(&r, 1, x) - r.m * 9.81;
            if (f > 0)
                low = x;
            else
                high = x;
        }
        for (int which = 0; which < 2; which++) {
            plant p;
            open_ram(&p, BOTH[which], &r);
            const kd_equilibrium_result found = plant_rest(&p, false);
            plant_outputs(&p, y);
            assert_near(y[0], low, 1e-9);
            assert_near(y[1], closed(&r, 0, low), 1e-6 * r.bulk * 1e-3);
            assert_near(y[2], closed(&r, 1, low), 1e-6 * r.bulk * 1e-3);
            assert_int_equal(found.kept, 2);
            assert_int_equal(found.stability, KD_STABLE);
            assert_non_null(strstr(p.message, "force.ram.pressure_b"));
            plant_close(&p);
        }
    }
}

// Two chambers joined by a leak share their oil: one pressure, that carries the load, and the mass of both.
static void test_shared_oil(void **state)
{
    uint64_t seed = test_seed(62);
    (void)state;
    for (int k = 0; k < CYLINDERS; k++) {
        ram    r = random_ram(&seed);
        double y[3];
        r.leak = decades(1e-14, 1e-10, &seed);
        const double pressure = r.m * 9.81 / (r.area[0] - r.area[1]);
        double       mass = 0;
        for (int i = 0; i < 2; i++) mass += volume(&r, i, 0) * exp(r.p[i] / r.bulk);
        // V_A + V_B is linear in x
        const double x =
            (mass * exp(-pressure / r.bulk) - volume(&r, 0, 0) - volume(&r, 1, 0)) / (r.area[0] - r.area[1]);
        if (x < -0.8 * r.x || x > 0.8 * (r.stroke - r.x)) continue; // beyond the stroke
        for (int which = 0; which < 2; which++) {
            plant p;
            open_ram(&p, BOTH[which], &r);
            const kd_equilibrium_result found = plant_rest(&p, false);
            plant_outputs(&p, y);
            assert_near(y[0], x, 1e-8);
            assert_near(y[1], pressure, 1e-7 * pressure);
            assert_near(y[2], pressure, 1e-7 * pressure);
            assert_int_equal(found.kept, 1);
            plant_close(&p);
        }
    }
}

// Air in a closed bellows: p V^n stays; with an auxiliary volume behind a throttle that holds the same pressure too,
// the air of both.
static void test_closed_air(void **state)
{
    uint64_t seed = test_seed(63);
    (void)state;
    for (int k = 0; k < CYLINDERS; k++) {
        const double n = between(1, 1.4, &seed), m = decades(10, 1e4, &seed), p0 = between(2e5, 8e5, &seed), amb = 1e5;
        const double area = m * 9.81 / (between(0.7, 1.3, &seed) * (p0 - amb)), V0 = 0.3 * area,
                     V1 = between(0.1, 3, &seed) * V0;
        for (int auxiliary = 0; auxiliary < 2; auxiliary++)
            for (int which = 0; which < 2; which++) {
                char   more[200] = "";
                double y[2];
                plant  p;
                snprintf(more, sizeof more, ", auxiliary: %.17g, flow: %.17g, drop: 1e4", V1, 0.1 * area);
                plant_open(
                    &p, BOTH[which],
                    "kardan: 1\ngravity: [0, 0, -9.81]\n"
                    "bodies:\n  load: {position: [0, 0, 1], mass: %.17g, inertia: [1, 1, 1]}\n"
                    "joints:\n  guide: {type: prismatic, bodies: [ground, load], point: [0, 0, 1], axis: [0, 0, 1]}\n"
                    "forces:\n  air: {type: air_spring, from: ground, to: load, area: %.17g, volume: %.17g, "
                    "exponent: %.17g, pressure: %.17g, ambient: 1e5%s}\n"
                    "sensors:\n  x: {value: body.load.pos.z - 1}\n  p: {value: force.air.pressure}\n",
                    m, area, V0, n, p0, auxiliary ? more : "");
                (void)plant_rest(&p, false);
                plant_outputs(&p, y);
                const double pressure = amb + m * 9.81 / area, all = V0 + (auxiliary ? V1 : 0);
                assert_near(y[1], pressure, 1e-6 * pressure);
                assert_near(y[0], (all * pow(p0 / pressure, 1 / n) - all) / area, 1e-8);
                plant_close(&p);
            }
    }
}

// A state that only follows the motion (its rate vanishes at rest) follows it to the equilibrium: r' = v (1 + q^2)
// gives q + q^3/3; one that nothing moves stays; an integrator with a target is no conserved quantity and finds its
// force.
static void test_states(void **state)
{
    uint64_t seed = test_seed(64);
    (void)state;
    for (int k = 0; k < CYLINDERS; k++) {
        const double stiffness = decades(10, 1e4, &seed), q = between(-0.9, 0.9, &seed), r0 = between(-2, 2, &seed);
        double       y[3];
        for (int which = 0; which < 2; which++) {
            plant p;
            plant_open(
                &p, BOTH[which],
                "kardan: 1\ngravity: [0, 0, 0]\n"
                "bodies:\n  b: {mass: 3, inertia: [1, 1, 1]}\n  c: {position: [0, 1, 0], mass: 2, inertia: [1, 1, 1]}\n"
                "joints:\n  j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [0, 0, 1]}\n"
                "  k: {type: prismatic, bodies: [ground, c], point: [0, 1, 0], axis: [0, 0, 1]}\n"
                "states:\n  way: {type: ode, input: joint.j.v*(1 + joint.j.q^2), start: %.17g}\n  still: {type: ode, "
                "input: 0*t, start: %.17g}\n"
                "  to: {type: ode, input: 0.25 - joint.k.q, start: 0}\n"
                "forces:\n  s: {type: joint_spring, joint: j, rest: %.17g, stiffness: %.17g, damping: 1}\n"
                "  d: {type: joint_spring, joint: k, rest: 0, stiffness: 40, damping: 1, law: state.to}\n"
                "sensors:\n  way: {value: state.way}\n  still: {value: state.still}\n  to: {value: state.to}\n",
                r0, 2 * r0, q, stiffness);
            const kd_equilibrium_result found = plant_rest(&p, false);
            plant_outputs(&p, y);
            assert_near(y[0], r0 + q + q * q * q / 3, 1e-7);
            assert_near(y[1], 2 * r0, 1e-12);
            assert_near(y[2], 40 * 0.25, 1e-6);
            assert_int_equal(found.kept, 2);
            plant_close(&p);
        }
    }
}

// A sledge with a pendulum keeps its speed, the swing ends; without keep_motion the drop is told; and so in both
// coordinate sets.
static void test_motion(void **state)
{
    uint64_t seed = test_seed(65);
    (void)state;
    for (int k = 0; k < 6; k++)
        for (int which = 0; which < 2; which++)
            for (int keep = 0; keep < 2; keep++) {
                const double speed = between(-40, 40, &seed);
                double       y[3];
                plant        p;
                plant_open(
                    &p, BOTH[which],
                    "kardan: 1\ngravity: [0, 0, -9.81]\n"
                    "bodies:\n  car: {position: [0, 0, 1], mass: %.17g, inertia: [1, 1, 1], velocity: [%.17g, 0, 0]}\n"
                    "  bob: {position: [0, 0, 0.4], mass: %.17g, inertia: [1, 1, 1], velocity: [%.17g, 0, 0]}\n"
                    "joints:\n  rail: {type: prismatic, bodies: [ground, car], point: [0, 0, 1], axis: [1, 0, 0]}\n"
                    "  pin: {type: revolute, bodies: [car, bob], point: [0, 0, 1], axis: [0, 1, 0], q: 0.4}\n"
                    "sensors:\n  v: {value: body.car.vel.x}\n  w: {value: body.bob.omega.y}\n  q: {value: "
                    "body.bob.pitch}\n",
                    decades(1, 1e4, &seed), speed, decades(1, 1e4, &seed), speed);
                const kd_equilibrium_result found = plant_rest(&p, keep);
                plant_outputs(&p, y);
                assert_near(y[0], keep ? speed : 0, 1e-9 * fabs(speed));
                assert_near(y[1], 0, 1e-9 * fabs(speed));
                assert_near(y[2], 0, 1e-6);
                assert_int_equal(found.motion, keep ? KD_MOTION_STEADY : KD_MOTION_DROPPED);
                assert_non_null(strstr(p.message, keep ? "goes on" : "dropped"));
                plant_close(&p);
            }
}

// Oil below its vapour pressure is told by the certificate with element and time; oil above it is not.
static void test_vapour(void **state)
{
    (void)state;
    for (int low = 0; low < 2; low++) {
        const ram     r = {.m = 2000,
                           .area = {0.005, 0.003},
                           .volume = {5e-4, 5e-4},
                           .stroke = 1,
                           .bulk = 1.4e9,
                           .x = 0.3,
                           .p = {low ? 1e5 : (2000 * 9.81 + 0.003 * 4e6) / 0.005, low ? 0 : 4e6}};
        kd_certifier *certifier = NULL;
        plant         p;
        open_ram(&p, KD_JOINT, &r);
        if (low) (void)plant_rest(&p, false);
        assert_true(kd_certifier_create(p.eom, plant_inputs(&p), &certifier) >= 0);
        assert_true(kd_certifier_see(certifier, NULL, p.x) >= 0);
        const kd_certificate c = kd_certifier_certificate(certifier);
        assert_int_equal(c.cautions, low);
        if (low) assert_non_null(strstr(c.caution, "force 'ram': the oil in chamber B"));
        kd_certifier_destroy(certifier);
        plant_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_cylinder), cmocka_unit_test(test_shared_oil), cmocka_unit_test(test_closed_air),
        cmocka_unit_test(test_states),          cmocka_unit_test(test_motion),     cmocka_unit_test(test_vapour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
