// Point 1 (c) for distances: two bodies that fly past each other are far apart at both ends of a step. A law of their distance
// acts in between, and events are counted, by every method.
#include "case.h"
#include "certified_run.h"

// Bodies of m1 and m2; the second is at (way, beside) and at rest, the first comes along x with v; a law of the distance pushes
// them apart: force*exp(-((distance - at)/width)^2)
typedef struct passing {
    double m1, m2, way, beside, v, force, at, width;
} passing;

static void slopes(const passing *n, const double *y, double *dy)
{
    const double l = hypot(y[0], y[1]), u = (l - n->at) / n->width;
    const double a = n->force * exp(-u * u) * (1.0 / n->m1 + 1.0 / n->m2) / l;
    dy[0] = y[2], dy[1] = y[3], dy[2] = a * y[0], dy[3] = a * y[1];
}

// The first body at the end, by the classic method of order 4 for the vector between them
static void reference(const passing *n, double more, double t_end, double x[2])
{
    const int    steps = 400 * (int)(n->v * t_end / n->width + 1.0);
    const double h = t_end / steps, share = n->m2 / (n->m1 + n->m2);
    double       y[4] = {n->way, n->beside * (1.0 + more), -n->v, 0.0}, k[4][4], z[4];
    for (int i = 0; i < steps; i++) {
        static const double part[] = {0.0, 0.5, 0.5, 1.0};
        for (int j = 0; j < 4; j++) {
            for (int c = 0; c < 4; c++) z[c] = y[c] + (j > 0 ? part[j] * h * k[j - 1][c] : 0.0);
            slopes(n, z, k[j]);
        }
        for (int c = 0; c < 4; c++) y[c] += h / 6.0 * (k[0][c] + 2.0 * k[1][c] + 2.0 * k[2][c] + k[3][c]);
    }
    // the centre of mass goes straight on
    x[0] = share * n->way + (1.0 - share) * n->v * t_end - share * y[0];
    x[1] = share * n->beside * (1.0 + more) - share * y[1];
}

static passing random_passing(void)
{
    const double beside = of_order(0.01, 0.3), v = of_order(0.5, 5), m1 = of_order(0.3, 5), m2 = of_order(0.3, 5);
    const double width = beside * between(0.1, 0.6), t = width / v;
    return (passing){m1,           m2,   between(1, 3),
                     beside,       v,    between(0.1, 0.8) * beside / (t * t) * 0.1 * fmin(m1, m2),
                     beside * 1.1, width};
}

static void write_model(const passing *n, const char *more, char *text, size_t size)
{
    snprintf(text, size,
             "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n%s"
             "  a: {mass: %.17g, inertia: [1, 1, 1], velocity: [%.17g, 0, 0]}\n"
             "  b: {position: [%.17g, %.17g, 0], mass: %.17g, inertia: [1, 1, 1]}\n"
             "forces: {f: {type: tsda, from: a, to: b, law: \"-%.17g*exp(-((length - %.17g)/%.17g)^2)\"}}\n%s",
             more ? "  counter: {mass: 1, inertia: [1, 1, 1]}\n" : "", n->m1, n->v, n->way, n->beside, n->m2, n->force,
             n->at, n->width, more ? more : "");
}

static const kd_integrator_kind method[] = {KD_RADAU, KD_BDF, KD_DOPRI5, KD_SDIRK, KD_DOP853};

static void laws_of_distances_are_met(void **state)
{
    srand(test_seed(21));
    (void)state;
    for (int k = 0; k < 60; k++) {
        const passing n = random_passing();
        const double  t_end = 2.0 * n.way / n.v, tolerance = of_order(1e-8, 1e-5);
        char          text[2000];
        double        x[2], other[2];
        certified     r;
        reference(&n, 0.0, t_end, x);
        reference(&n, 1e-6, t_end, other); // how far one part in a million moves the end
        write_model(&n, NULL, text, sizeof text);
        certify_text(text, k % 3 == 0 ? KD_CARTESIAN : KD_JOINT, t_end, with_method(method[k % 5], tolerance), &r);
        const double off = hypot(r.p[0] - x[0], r.p[1] - x[1]), moved = hypot(other[0] - x[0], other[1] - x[1]);
        const double allowed = 1000.0 * tolerance * (1.0 + n.way + moved / 1e-6);
        if (r.status < 0 || !(off <= allowed || !r.verdict.clean))
            fail_msg("%d: beside %g, width %g at %g m/s, rtol %.1e: %g off, %g allowed, status %d %s", k, n.beside,
                     n.width, n.v, tolerance, off, allowed, (int)r.status, r.message);
    }
}

// Nothing acts; the distance falls below a value and rises again, within one step.
static void events_of_distances_are_counted(void **state)
{
    srand(test_seed(22));
    (void)state;
    for (int k = 0; k < 40; k++) {
        passing      n = random_passing();
        const double near = n.beside * between(1.01, 3.0);
        char         text[2000], more[300];
        certified    r;
        n.force = 0.0;
        snprintf(more, sizeof more,
                 "joints: {count: {type: prismatic, bodies: [ground, counter], point: [0, 0, 0], axis: [1, 0, 0]}}\n"
                 "events: {near: {when: \"force.f.length - %.17g\", set: {joint.count.v: joint.count.v + 1}}}\n",
                 near);
        write_model(&n, more, text, sizeof text);
        certify_text(text, KD_JOINT, 2.0 * n.way / n.v, with_method(method[k % 5], 1e-6), &r);
        if (r.status < 0 || fabs(r.v[0] - 2.0) > 1e-9)
            fail_msg("%d: %g events at %g, beside %g; status %d %s", k, r.v[0], near, n.beside, (int)r.status,
                     r.message);
    }
}

// The same with the gap of two balls, which do not touch, and with an arm that passes a point in every turn.
static void events_of_gaps_and_turns_are_counted(void **state)
{
    srand(test_seed(23));
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double way = between(1, 3), beside = of_order(0.01, 0.3), v = of_order(0.5, 5);
        const double size[2] = {beside * between(0.05, 0.4), beside * between(0.05, 0.4)};
        const double near = (beside - size[0] - size[1]) * between(1.01, 3.0);
        const bool   turns = k % 2;
        char         text[2000];
        certified    r;
        if (turns)
            snprintf(
                text, sizeof text,
                "kardan: 1\ngravity: [0, 0, 0]\nbodies: {counter: {mass: 1, inertia: [1, 1, 1]}, arm: {mass: 1, "
                "inertia: "
                "[1, 1, 1]}}\nforces: {f: {type: tsda, from: {body: ground, point: [%.17g, 0, 0]}, to: {body: arm, "
                "point: "
                "[0, 1, 0]}}}\njoints:\n  count: {type: prismatic, bodies: [ground, counter], point: [0, 0, 0], axis: "
                "[1, 0, 0]}\n  hinge: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 0, 1], v: "
                "%.17g}\nevents: {near: {when: \"force.f.length - %.17g\", set: {joint.count.v: joint.count.v + 1}}}\n",
                1.0 + beside, v, 1.3 * beside);
        else
            snprintf(text, sizeof text,
                     "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n  counter: {mass: 1, inertia: [1, 1, 1]}\n"
                     "  a: {mass: 2, inertia: [1, 1, 1], velocity: [%.17g, 0, 0]}\n  b: {position: [%.17g, %.17g, 0], "
                     "mass: 3, "
                     "inertia: [1, 1, 1]}\nforces: {f: {type: surface_contact, from: a, to: b, from_surface: sphere, "
                     "from_size: "
                     "[%.17g], to_surface: sphere, to_size: [%.17g], stiffness: 1e6}}\njoints: {count: {type: "
                     "prismatic, bodies: "
                     "[ground, counter], point: [0, 0, 0], axis: [1, 0, 0]}}\nevents: {near: {when: \"force.f.gap - "
                     "%.17g\", "
                     "set: {joint.count.v: joint.count.v + 1}}}\n",
                     v, way, beside, size[0], size[1], near);
        // five turns but for a radian: the arm, from a right angle on, passes the point five times
        const double t_end = turns ? (10.0 * 3.14159265358979 - 1.0) / v : 2.0 * way / v * between(0.9, 3.0);
        const double count = turns ? 10.0 : 2.0;
        certify_text(text, KD_JOINT, t_end, with_method(method[k / 2 % 5], 1e-6), &r);
        if (r.status < 0 || fabs(r.v[0] - count) > 1e-9)
            fail_msg("%d: %g events within %g, beside %g; status %d %s", k, r.v[0], near, beside, (int)r.status,
                     r.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_of_distances_are_met),
        cmocka_unit_test(events_of_distances_are_counted),
        cmocka_unit_test(events_of_gaps_and_turns_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
