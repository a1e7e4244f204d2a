// Point 3, far places: a mechanism far from the origin of the world is the same mechanism. Its positions have fewer digits
// there, which stops Newton's method above what it asks for near the origin: no reason to end a run.
#include "case.h"
#include "trust/certified_run.h"

// A four-bar linkage at (0.6, -0.7, 0.4) far on the ground, or on a base that flies and turns
static const char *four_bar(double far, bool flies, double speed)
{
    static char  text[3000];
    const double a = 0.1, b = 0.35, c = 0.25, d = 0.3, s = d - a, cx = a + (b * b - c * c + s * s) / (2 * s),
                 cy = sqrt(b * b - (cx - a) * (cx - a)), x = 0.6 * far, y = -0.7 * far, z = 0.4 * far;
    const char *base = flies ? "base" : "ground";
    size_t      n = (size_t)snprintf(
             text, sizeof text,
             "kardan: 1\ngravity: [0, %g, 0]\nbodies:\n"
                  "  crank: {position: [%.17g, %.17g, %.17g], mass: 0.3, inertia: [1e-4, 1e-3, 1e-3]}\n"
                  "  coupler: {position: [%.17g, %.17g, %.17g], orientation: {axis: [0, 0, 1], angle: %.17g}, mass: 1, "
                  "inertia: [1e-3, 1e-2, 1e-2]}\n"
                  "  rocker: {position: [%.17g, %.17g, %.17g], orientation: {axis: [0, 0, 1], angle: %.17g}, mass: 1, "
                  "inertia: [1e-3, 1e-2, 1e-2]}\n",
        flies ? 0 : -9.81, x + a / 2, y, z, x + (a + cx) / 2, y + cy / 2, z, atan2(cy, cx - a), x + (d + cx) / 2,
             y + cy / 2, z, atan2(cy, cx - d));
    if (flies)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "  base: {position: [%.17g, %.17g, %.17g], mass: 5, inertia: [1, 1, 1], "
                              "velocity: [3, 2, 1], angular_velocity: [0.1, 0.2, 0.5]}\n",
                              x, y, z);
    snprintf(text + n, sizeof text - n,
             "joints:\n"
             "  m: {type: revolute, bodies: [%s, crank], point: [%.17g, %.17g, %.17g], axis: [0, 0, 1], v: %.17g, "
             "hold: true}\n"
             "  p: {type: revolute, bodies: [crank, coupler], point: [%.17g, %.17g, %.17g], axis: [0, 0, 1]}\n"
             "  q: {type: revolute, bodies: [coupler, rocker], point: [%.17g, %.17g, %.17g], axis: [0, 0, 1]}\n"
             "  r: {type: revolute, bodies: [%s, rocker], point: [%.17g, %.17g, %.17g], axis: [0, 0, 1]}\n",
             base, x, y, z, speed, x + a, y, z, x + cx, y + cy, z, base, x + d, y, z);
    return text;
}

// Up to 600 km away, standing and flying, in both coordinate sets: forms that meet the constraints to rounding reach the end,
// clean, and with one degree of freedom or seven the energies are those of the same mechanism at the origin.
static void far_mechanisms_move_alike(void **state)
{
    static const struct {
        kd_formulation     form;
        kd_integrator_kind integrator;
    } WAY[] = {{KD_PSF, KD_RADAU},  {KD_PSF1, KD_RADAU}, {KD_PSF, KD_SDIRK},
               {KD_ODE, KD_DOP853}, {KD_GGL, KD_RADAU},  {KD_STATESPACE, KD_RADAU}};
    enum { WAYS = sizeof WAY / sizeof *WAY };
    (void)state;
    srand(test_seed(33));
    for (int k = 0; k < 8 * WAYS; k++) {
        const double          far = of_order(1e2, k % WAYS < 2 ? 6e5 : 5e4), speed = between(5, 12);
        const bool            flies = k / WAYS % 2;
        const kd_coordinates  set = k / WAYS / 2 % 2 ? KD_CARTESIAN : KD_JOINT;
        certified             here, there;
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = WAY[k % WAYS].form;
        opt.integrator = WAY[k % WAYS].integrator;
        opt.rtol = opt.atol = 1e-6;
        opt.integrator_options.max_steps = 20000;
        certify_text(four_bar(0, flies, speed), set, 1, opt, &here);
        certify_text(four_bar(far, flies, speed), set, 1, opt, &there);
        if (there.status < 0 || !there.verdict.clean)
            fail_msg("%d: %s with %s at %g m: %s; %s", k, kd_formulation_word(opt.formulation),
                     kd_integrator_word(opt.integrator), far, there.message, there.verdict.sentence);
        // not more than the rounding of positions and errors of tolerances make
        const double T = here.certificate.kinetic, other = there.certificate.kinetic;
        if (!(fabs(other - T) <= 1e-3 * (1 + T))) fail_msg("%d: %g m: %g J, near %g J", k, far, other, T);
        assert_true(there.stats.steps < 2 * here.stats.steps + 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_mechanisms_move_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
