// Point 1 (c) for constraints: a bead slides along a wire with a narrow bump. Positions follow a constraint at each node of a step
// alone, so that a node that meets the bump by chance has not seen it; whoever steps over it is too far by what the wire is longer.
// The same over the top of a hill in a plane: a constraint of several variables.
#include "case.h"
#include "certified_run.h"

// y = height*exp(-((x - at)/width)^2), passed with the speed v along the wire
typedef struct wire {
    double height, width, at, v, m;
} wire;

static wire random_wire(void)
{
    const double width = of_order(5e-4, 3e-2);
    return (wire){width * of_order(0.3, 3), width, between(1, 3), of_order(0.3, 3), of_order(0.3, 5)};
}

// Length of the bump beyond that of a straight wire: sqrt(1 + y'^2) - 1 by Simpson's rule over 16 widths
static double longer(const wire *n)
{
    const int    parts = 4000;
    const double h = 16.0 / parts;
    double       sum = 0.0;
    for (int i = 0; i <= parts; i++) {
        const double u = -8.0 + i * h, slope = -2.0 * u * n->height / n->width * exp(-u * u);
        sum += (i == 0 || i == parts ? 1.0 : i % 2 ? 4.0 : 2.0) * (hypot(1.0, slope) - 1.0);
    }
    return sum * h / 3.0 * n->width;
}

static const struct form {
    kd_formulation     formulation;
    kd_integrator_kind integrator;
} form[] = {
    {KD_PSF, KD_RADAU},  {KD_PSF1, KD_RADAU},       {KD_GGL, KD_RADAU},         {KD_GGL, KD_BDF},
    {KD_ODASSL, KD_BDF}, {KD_STATESPACE, KD_RADAU}, {KD_STATESPACE, KD_SDIRK},  {KD_STATESPACE, KD_BDF},
    {KD_ODE, KD_DOPRI5}, {KD_ODE, KD_DOP853},       {KD_STATESPACE, KD_DOP853}, {KD_ODE, KD_RADAU},
};
#define FORMS ((int)(sizeof form / sizeof *form))

static void run_along(const wire *n, int k, double t_end, double tolerance, certified *r)
{
    char text[1000], start[300], beside[80] = "";
    if (k / FORMS % 4 < 2)
        snprintf(start, sizeof start,
                 "bodies: {b: {mass: %.17g, inertia: [1, 1, 1]}}\njoints: {s: {type: planar, bodies: [ground, b], "
                 "point: [0, 0, "
                 "0], axis: [0, 0, 1], reference: [1, 0, 0], v: [%.17g, 0, 0]}}",
                 n->m, n->v);
    else {
        snprintf(start, sizeof start, "bodies: {b: {mass: %.17g, inertia: [1, 1, 1], velocity: [%.17g, 0, 0]}}", n->m,
                 n->v);
        snprintf(beside, sizeof beside, " - (body.b.pos.z/%.17g)^2", n->width);
    }
    snprintf(text, sizeof text,
             "kardan: 1\ngravity: [0, 0, 0]\n%s\nconstraints: {wire: {type: expression, value: \"body.b.pos.y - "
             "%.17g*exp(-((body.b.pos.x - %.17g)/%.17g)^2%s)\"}}\n",
             start, n->height, n->at, n->width, beside);
    kd_simulation_options opt = with_method(form[k % FORMS].integrator, tolerance);
    opt.formulation = form[k % FORMS].formulation;
    certify_text(text, k / FORMS % 2 ? KD_JOINT : KD_CARTESIAN, t_end, opt, r);
}

// What is told to be clean is right, and steps that met the bump are the rule.
static void bumps_of_wires_are_met(void **state)
{
    (void)state;
    int clean = 0, runs = 30 * FORMS;
    srand(test_seed(1000044));
    for (int k = 0; k < runs; k++) {
        const wire   n = random_wire();
        const double t_end = n.at / n.v * between(1.5, 3.0), tolerance = of_order(1e-8, 1e-5);
        const double x = n.v * t_end - longer(&n), allowed = 1000.0 * tolerance * (1.0 + x);
        certified    r;
        run_along(&n, k, t_end, tolerance, &r);
        const double off = fabs(r.p[0] - x);
        clean += r.status >= 0 && r.verdict.clean;
        if (r.status < 0 || (r.verdict.clean && !(off <= allowed)))
            fail_msg("%d: %s + %s, height %g, width %g, at %g, %g m/s, t_end %.17g, rtol %.17g: %g off, %g allowed, "
                     "longer by %g; "
                     "status %d %s",
                     k, kd_formulation_word(form[k % FORMS].formulation),
                     kd_integrator_word(form[k % FORMS].integrator), n.height, n.width, n.at, n.v, t_end, tolerance,
                     off, allowed, longer(&n), (int)r.status, r.message);
    }
    // of ggl + radau many are not: their accelerations are told to drift
    if (clean < runs * 8 / 10) fail_msg("%d of %d clean", clean, runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bumps_of_wires_are_met)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
