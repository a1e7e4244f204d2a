// Point 1 (c) for surfaces: two bodies that fly past each other are far apart at both ends of a step and touch in between. Impacts
// and compliant contacts are met by every method, whatever the surfaces are.
#include "case.h"
#include "certified_run.h"

// The second body is at rest at (way, beside), the first comes along x with v. In the plane both are round, with the radii r; e:
// restitution, or a stiffness k with k depth^1.5
typedef struct meeting {
    double m[2], r[2], way, beside, v, e, k, spin;
} meeting;

static meeting random_meeting(void)
{
    meeting n = {{of_order(0.3, 5), of_order(0.3, 5)}, {of_order(0.02, 0.2), of_order(0.02, 0.2)}, 0, 0, 0, 1, 0, 0};
    n.way = between(1, 3);
    n.v = of_order(0.5, 5);
    n.beside = between(0, 0.999) * (n.r[0] + n.r[1]);
    n.e = rand() % 2 ? 1.0 : between(0.1, 1);
    n.spin = rand() % 4 ? 0.0 : between(-20, 20); // steps are short where bodies turn
    return n;
}

// ---- closed form ----------------------------------------------------------------------------------------------------

// Places of both along x and y when they meet; t: when
static double meets_at(const meeting *n, double normal[2])
{
    const double sum = n->r[0] + n->r[1], along = sqrt(sum * sum - n->beside * n->beside);
    normal[0] = along / sum, normal[1] = n->beside / sum;
    return (n->way - along) / n->v;
}

// The first body at the end, from the impulse along the normal
static void after_impact(const meeting *n, double t_end, double x[2])
{
    double       normal[2];
    const double t = meets_at(n, normal), mass = n->m[0] * n->m[1] / (n->m[0] + n->m[1]);
    const double change = -(1.0 + n->e) * mass * n->v * normal[0] / n->m[0];
    x[0] = n->v * t_end + change * normal[0] * (t_end - t);
    x[1] = change * normal[1] * (t_end - t);
}

// ---- models ---------------------------------------------------------------------------------------------------------

// What is round in the plane z = 0
static void write_surface(const char *place, int kind, double r, char *text, size_t size)
{
    static const char *const format[] = {
        "%s_surface: sphere, %s_size: [%.17g]", "%s_surface: cylinder, %s_size: [%.17g]",
        "%s_surface: ellipsoid, %s_size: [%.17g, %.17g, %.17g]", "%s_surface: torus, %s_size: [%.17g, %.17g]"};
    if (kind < 2)
        snprintf(text, size, format[kind], place, place, r);
    else if (kind == 2)
        snprintf(text, size, format[kind], place, place, r, r, 0.7 * r);
    else
        snprintf(text, size, format[kind], place, place, 0.8 * r, 0.2 * r);
}

// One of both is a ball, `swapped` which
static void write_model(const meeting *n, int kind, bool swapped, char *text, size_t size)
{
    char         from[200], to[200], law[100];
    const double spin = kind == 0 ? n->spin : 0.5 * n->spin;
    write_surface("from", swapped ? kind : 0, n->r[0], from, sizeof from);
    write_surface("to", swapped ? 0 : kind, n->r[1], to, sizeof to);
    if (n->k > 0.0)
        snprintf(law, sizeof law, "stiffness: %.17g", n->k);
    else
        snprintf(law, sizeof law, "restitution: %.17g", n->e);
    snprintf(
        text, size,
        "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n"
        "  a: {mass: %.17g, inertia: [0.01, 0.01, 0.01], velocity: [%.17g, 0, 0], angular_velocity: [0, 0, %.17g]}\n"
        "  b: {position: [%.17g, %.17g, 0], mass: %.17g, inertia: [0.01, 0.01, 0.01]}\n"
        "forces: {f: {type: surface_contact, from: a, to: b, %s, %s, %s}}\n",
        n->m[0], n->v, spin, n->way, n->beside, n->m[1], from, to, law);
}

static const kd_integrator_kind method[] = {KD_RADAU, KD_BDF, KD_DOPRI5, KD_SDIRK, KD_DOP853};

static certified run_of(const meeting *n, int k, int kind, double t_end, double tolerance)
{
    char      text[2000];
    certified r;
    write_model(n, kind, k / 2 % 2, text, sizeof text);
    certify_text(text, k % 3 == 0 ? KD_CARTESIAN : KD_JOINT, t_end, with_method(method[k % 5], tolerance), &r);
    return r;
}

static void expect(const meeting *n, int k, int kind, const certified *r, const double x[2], double allowed)
{
    const double off = hypot(r->p[0] - x[0], r->p[1] - x[1]);
    if (r->status < 0 || !(off <= allowed))
        fail_msg("%d: surface %d, radii %g and %g, beside %g, %g m/s: %g off, %g allowed, status %d %s", k, kind,
                 n->r[0], n->r[1], n->beside, n->v, off, allowed, (int)r->status, r->message);
}

// ---- tests ----------------------------------------------------------------------------------------------------------

static void impacts_of_balls_are_met(void **state)
{
    srand(test_seed(31));
    (void)state;
    for (int k = 0; k < 100; k++) {
        const meeting n = random_meeting();
        const double  t_end = 2.0 * n.way / n.v, tolerance = of_order(1e-8, 1e-5);
        double        x[2], normal[2];
        meets_at(&n, normal);
        after_impact(&n, t_end, x);
        const certified r = run_of(&n, k, 0, t_end, tolerance);
        expect(&n, k, 0, &r, x, 100.0 * tolerance * (1.0 + n.way / normal[0]));
    }
}

static void impacts_of_other_surfaces_are_met(void **state)
{
    srand(test_seed(32));
    (void)state;
    for (int k = 0; k < 90; k++) {
        const int     kind = 1 + k % 3;
        const meeting n = random_meeting();
        const double  t_end = 2.0 * n.way / n.v, tolerance = of_order(1e-8, 1e-5);
        double        x[2], normal[2];
        meets_at(&n, normal);
        after_impact(&n, t_end, x);
        const certified r = run_of(&n, k, kind, t_end, tolerance);
        expect(&n, k, kind, &r, x, 1000.0 * tolerance * (1.0 + n.way / normal[0]));
    }
}

// Nothing happens to bodies that pass each other, and the steps stay few
static void near_misses_pass(void **state)
{
    srand(test_seed(33));
    (void)state;
    for (int k = 0; k < 40; k++) {
        meeting n = random_meeting();
        n.spin = 0.0;
        n.beside = (1.0 + of_order(1e-3, 1)) * (n.r[0] + n.r[1]);
        const double    t_end = 2.0 * n.way / n.v, x[2] = {n.v * t_end, 0.0};
        const certified r = run_of(&n, k, 0, t_end, 1e-6);
        expect(&n, k, 0, &r, x, 1e-6 * n.way);
        assert_true(r.verdict.clean);
        if (r.stats.accepted >= 100) fail_msg("%d: %ld steps", k, r.stats.accepted);
    }
}

// A compliant contact: the way of the first body by the classic method of order 4 from where they meet until they part
static void after_contact(const meeting *n, double t_end, double x[2])
{
    const double sum = n->r[0] + n->r[1], share = n->m[1] / (n->m[0] + n->m[1]);
    const double mass = n->m[0] * share, h = 1e-3 * pow(mass * mass / (n->k * n->k * n->v), 0.2);
    double       normal[2], t = meets_at(n, normal);
    double       y[4] = {sum * normal[0], sum * normal[1], -n->v, 0.0}, k[4][4], z[4];
    do {
        static const double part[] = {0.0, 0.5, 0.5, 1.0};
        for (int j = 0; j < 4; j++) {
            for (int c = 0; c < 4; c++) z[c] = y[c] + (j > 0 ? part[j] * h * k[j - 1][c] : 0.0);
            const double l = hypot(z[0], z[1]), a = n->k * pow(fmax(sum - l, 0.0), 1.5) / mass / l;
            k[j][0] = z[2], k[j][1] = z[3], k[j][2] = a * z[0], k[j][3] = a * z[1];
        }
        for (int c = 0; c < 4; c++) y[c] += h / 6.0 * (k[0][c] + 2.0 * k[1][c] + 2.0 * k[2][c] + k[3][c]);
        t += h;
    } while (hypot(y[0], y[1]) < sum && t < t_end);
    // straight from there, the centre of mass as well
    x[0] = share * n->way + (1.0 - share) * n->v * t_end - share * (y[0] + y[2] * (t_end - t));
    x[1] = share * n->beside - share * (y[1] + y[3] * (t_end - t));
}

static void compliant_contacts_are_met(void **state)
{
    srand(test_seed(34));
    (void)state;
    for (int k = 0; k < 60; k++) {
        const int kind = k % 4;
        meeting   n = random_meeting();
        double    x[2], other[2], depth = 0.1 * fmin(n.r[0], n.r[1]) * between(0.1, 1);
        n.beside *= 0.9;
        // so stiff that they are not far in each other
        n.k = 1.25 * n.m[0] * n.m[1] / (n.m[0] + n.m[1]) * n.v * n.v * pow(depth, -2.5);
        const double t_end = 2.0 * n.way / n.v, tolerance = of_order(1e-8, 1e-6);
        meeting      moved = n;
        moved.beside *= 1.0 + 1e-6;
        after_contact(&n, t_end, x);
        after_contact(&moved, t_end, other);
        const double    amplified = 1e6 * hypot(other[0] - x[0], other[1] - x[1]);
        const certified r = run_of(&n, k, kind, t_end, tolerance);
        if (r.status >= 0 && !r.verdict.clean) continue; // told
        expect(&n, k, kind, &r, x, 1000.0 * tolerance * (1.0 + n.way + amplified));
    }
}

// A bar turns at a constant rate, many times in a step, and strikes a ball that comes into its circle
static void turning_bars_strike(void **state)
{
    srand(test_seed(35));
    (void)state;
    for (int k = 0; k < 15; k++) {
        const double length = between(0.2, 0.6), r = of_order(0.02, 0.1), rate = of_order(1, 30), v = of_order(0.5, 2);
        const double beside = between(-0.8, 0.8) * length, t_end = 3.0 / v;
        char         text[2000];
        certified    long_steps, short_steps;
        snprintf(text, sizeof text,
                 "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n"
                 "  bar: {mass: 5, inertia: [1, 1, 1]}\n"
                 "  ball: {position: [2, %.17g, 0], mass: 0.5, inertia: [0.01, 0.01, 0.01], velocity: [-%.17g, 0, 0]}\n"
                 "joints: {hinge: {type: revolute, bodies: [ground, bar], point: [0, 0, 0], axis: [0, 0, 1], v: "
                 "%.17g}}\n"
                 "forces: {f: {type: surface_contact, from: bar, to: ball, from_surface: ellipsoid, from_size: [%.17g, "
                 "%.17g, "
                 "%.17g], to_surface: sphere, to_size: [%.17g], restitution: 1}}\n",
                 beside, v, rate, length, 0.25 * length, 0.25 * length, r);
        // until the first impact both are the same to rounding; behind it small differences grow
        kd_simulation_options opt = with_method(method[k % 5], 1e-9);
        certify_text(text, KD_JOINT, t_end, opt, &long_steps);
        opt.integrator_options.h_max = 0.1 / (rate + v / r);
        certify_text(text, KD_JOINT, t_end, opt, &short_steps);
        assert_true(long_steps.status >= 0 && short_steps.status >= 0);
        for (int i = 0; i < 3; i++)
            if (fabs(long_steps.v[i] - short_steps.v[i]) > 1e-4 * (1.0 + rate))
                fail_msg("%d: bar %g at %g rad/s, ball %g at %g m/s: %g and %g", k, length, rate, r, v, long_steps.v[i],
                         short_steps.v[i]);
    }
}

// The run ends where the balls, without an impact, would just about leave each other on the far side: a step that ends there
// shows a little depth, but has gone through.
static void impacts_are_met_before_the_far_side(void **state)
{
    srand(test_seed(35));
    (void)state;
    for (int k = 0; k < 60; k++) {
        const meeting n = random_meeting();
        double        x[2], normal[2];
        const double  t = meets_at(&n, normal), through = 2.0 * (n.way / n.v - t);
        const double  t_end = t + through * (1.0 - of_order(1e-6, 1e-2)), tolerance = of_order(1e-8, 1e-5);
        after_impact(&n, t_end, x);
        const certified r = run_of(&n, k, k % 4, t_end, tolerance);
        expect(&n, k, k % 4, &r, x, 1000.0 * tolerance * (1.0 + n.way / normal[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impacts_of_balls_are_met),          cmocka_unit_test(impacts_are_met_before_the_far_side),
        cmocka_unit_test(impacts_of_other_surfaces_are_met), cmocka_unit_test(near_misses_pass),
        cmocka_unit_test(compliant_contacts_are_met),        cmocka_unit_test(turning_bars_strike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
