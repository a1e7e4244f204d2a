// test_point08_bushings.c: bushings through large rotations: a potential of the rotation vector, alike about all axes,
// smooth at 90 degrees of pitch, named when half a turn is reached.
#include "case.h"
#include "trust/statics.h"

// Torque-free start: a body of random inertia on a bushing with full symmetric matrix, spun up; undamped energy stays
// through large angles, in both coordinate sets, which agree.
static void test_energy(void **state)
{
    uint64_t seed = test_seed(91);
    (void)state;
    for (int k = 0; k < 4; k++) {
        double y[2][6], spin[3], stiffness[3];
        for (int i = 0; i < 3; i++) spin[i] = between(-4, 4, &seed), stiffness[i] = between(4, 9, &seed);
        for (int which = 0; which < 2; which++) {
            plant p;
            plant_open(&p, BOTH[which],
                       "kardan: 1\ngravity: [0, 0, 0]\n"
                       "bodies:\n  b: {mass: 2, inertia: [1, 1.3, 0.8], angular_velocity: [%.17g, %.17g, %.17g]}\n"
                       "joints:\n  j: {type: free, bodies: [ground, b]}\n"
                       "forces:\n  mount: {type: bushing, from: {body: ground, point: [0.1, 0, 0]}, to: {body: b, "
                       "point: [0.1, 0, 0]}, "
                       "stiffness: [40, 50, 60, %.17g, %.17g, %.17g]}\n"
                       "sensors:\n  e: {value: energy.kinetic + energy.potential}\n  pitch: {value: body.b.R.zx}\n"
                       "  xx: {value: body.b.R.xx}\n  xy: {value: body.b.R.xy}\n  yy: {value: body.b.R.yy}\n  yz: "
                       "{value: body.b.R.yz}\n",
                       spin[0], spin[1], spin[2], stiffness[0], stiffness[1], stiffness[2]);
            plant_outputs(&p, y[which]);
            const double before = y[which][0];
            plant_run(&p, 3, 1e-9);
            plant_outputs(&p, y[which]);
            assert_near(y[which][0], before, 1e-6 * before);
            plant_close(&p);
        }
        for (int i = 0; i < 6; i++) assert_near(y[0][i], y[1][i], 1e-5);
    }
}

// Equal stiffnesses: a turn about any axis by any angle below half a turn is answered by the torque -k theta along it.
// 90 degrees of pitch are an angle as any other.
static void test_isotropic(void **state)
{
    uint64_t seed = test_seed(92);
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double stiffness = decades(0.1, 1e6, &seed), z = between(-1, 1, &seed), a = between(0, 6.28, &seed);
        const bool   pitch = k == 0;
        const double angle = pitch   ? 0.5 * 3.14159265358979
                             : k < 5 ? decades(1e-12, 1e-3, &seed)
                                     : between(0.1, 3, &seed);
        const double n[3] = {pitch ? 0 : sqrt(1 - z * z) * cos(a), pitch ? 1 : sqrt(1 - z * z) * sin(a), pitch ? 0 : z};
        double       y[3];
        plant        p;
        plant_open(
            &p, BOTH[k % 2],
            "kardan: 1\nbodies:\n  b: {mass: 2, inertia: [1, 1, 1], orientation: {axis: [%.17g, %.17g, %.17g], angle: "
            "%.17g}}\n"
            "joints:\n  j: {type: free, bodies: [ground, b]}\n"
            "forces:\n  mount: {type: bushing, from: ground, to: b, stiffness: [1, 1, 1, %.17g, %.17g, %.17g]}\n"
            "sensors:\n  x: {value: force.mount.tx}\n  y: {value: force.mount.ty}\n  z: {value: force.mount.tz}\n",
            n[0], n[1], n[2], angle, stiffness, stiffness, stiffness);
        plant_outputs(&p, y);
        for (int i = 0; i < 3; i++) assert_near(y[i], -stiffness * angle * n[i], 1e-9 * stiffness * fmax(angle, 1e-6));
        plant_close(&p);
    }
}

// Rotation vector of a rotation matrix (columns), by its skew part and trace
static void log_of(const double R[9], double phi[3])
{
    const double c = 0.5 * (R[0] + R[4] + R[8] - 1), angle = acos(fmax(-1, fmin(1, c))),
                 factor = angle / (2 * sin(angle));
    phi[0] = factor * (R[5] - R[7]), phi[1] = factor * (R[6] - R[2]), phi[2] = factor * (R[1] - R[3]);
}

// exp of a small turn e about axis i, times R (columns)
static void turn(const double R[9], int i, double e, double out[9])
{
    const int    j = (i + 1) % 3, k = (i + 2) % 3;
    const double c = cos(e), s = sin(e);
    for (int column = 0; column < 3; column++) {
        const double *from = R + 3 * column;
        double       *to = out + 3 * column;
        to[i] = from[i], to[j] = c * from[j] - s * from[k], to[k] = s * from[j] + c * from[k];
    }
}

static double potential(const double R[9], const double K[3])
{
    double phi[3];
    log_of(R, phi);
    return 0.5 * (K[0] * phi[0] * phi[0] + K[1] * phi[1] * phi[1] + K[2] * phi[2] * phi[2]);
}

// Unequal stiffnesses: the torque is the gradient of the potential phi'K phi/2 of the rotation vector, differenced
// here.
static void test_gradient(void **state)
{
    uint64_t seed = test_seed(93);
    (void)state;
    for (int n = 0; n < 20; n++) {
        const double K[3] = {between(1, 9, &seed), between(1, 9, &seed), between(1, 9, &seed)};
        const double v[3] = {between(-1, 1, &seed), between(-1, 1, &seed), between(-1, 1, &seed)};
        double       y[12];
        plant        p;
        plant_open(
            &p, BOTH[n % 2],
            "kardan: 1\nbodies:\n  b: {mass: 2, inertia: [1, 1, 1], orientation: {axis: [%.17g, %.17g, %.17g], angle: "
            "%.17g}}\n"
            "joints:\n  j: {type: free, bodies: [ground, b]}\n"
            "forces:\n  mount: {type: bushing, from: ground, to: b, stiffness: [1, 1, 1, %.17g, %.17g, %.17g]}\n"
            "sensors:\n  x: {value: force.mount.tx}\n  y: {value: force.mount.ty}\n  z: {value: force.mount.tz}\n"
            "  xx: {value: body.b.R.xx}\n  yx: {value: body.b.R.yx}\n  zx: {value: body.b.R.zx}\n"
            "  xy: {value: body.b.R.xy}\n  yy: {value: body.b.R.yy}\n  zy: {value: body.b.R.zy}\n"
            "  xz: {value: body.b.R.xz}\n  yz: {value: body.b.R.yz}\n  zz: {value: body.b.R.zz}\n",
            v[0], v[1], v[2], between(0.2, 2.9, &seed), K[0], K[1], K[2]);
        plant_outputs(&p, y);
        for (int i = 0; i < 3; i++) {
            double       up[9], down[9];
            const double e = 1e-5;
            turn(y + 3, i, e, up);
            turn(y + 3, i, -e, down);
            assert_near(y[i], -(potential(up, K) - potential(down, K)) / (2 * e), 1e-6);
        }
        plant_close(&p);
    }
}

// Half a turn is the end, and the element is named; a bushing that leaves an axis free lets it turn for ever, and so
// does one with dampers only.
static void test_range(void **state)
{
    static const char *const LAW[] = {"stiffness: [1, 1, 1, 1, 1, 1]", "stiffness: [1, 1, 1, 5, 5, 0]",
                                      "stiffness: [1, 1, 1, 0, 0, 0], damping: [0, 0, 0, 1e-3, 1e-3, 1e-3]"};
    (void)state;
    for (int which = 0; which < 2; which++)
        for (int k = 0; k < 3; k++) {
            kd_simulation_options opt = kd_simulation_options_default();
            opt.formulation = KD_PSF;
            opt.integrator = KD_RADAU;
            plant p;
            plant_open(&p, BOTH[which],
                       "kardan: 1\nbodies:\n  b: {mass: 2, inertia: [1, 1, 1], angular_velocity: [0.1, 0.2, 8]}\n"
                       "joints:\n  j: {type: free, bodies: [ground, b]}\n"
                       "forces:\n  mount: {type: bushing, from: ground, to: b, %s}\n",
                       LAW[k]);
            const kd_status status =
                kd_simulate(p.eom, plant_inputs(&p), &opt, p.x, 4, NULL, p.message, sizeof p.message);
            if (k == 0) {
                assert_true(status < 0);
                assert_non_null(strstr(p.message, "mount"));
                assert_non_null(strstr(p.message, "turned by"));
            } else {
                if (status < 0) print_error("%s\n", p.message);
                assert_true(status >= 0);
            }
            plant_close(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energy),
        cmocka_unit_test(test_isotropic),
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
