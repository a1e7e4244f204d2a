// Point 1 (c) where bodies go round: in joint coordinates a step may be several turns long, and its ends tell nothing of the
// places that laws and events read in between. Narrow fields of force that arms and turntables pass, and events on their way.
#include "case.h"
#include "certified_run.h"

static const double pi = 3.14159265358979323846;

// A field of force in the plane, the gradient of a hill of height work*exp(-distance^2/size^2)
typedef struct field {
    double at[2], size, work;
} field;

// An arm that turns freely (mass m at its end, radius r), or a turntable that is driven with w and carries m at r in an upright
// guide; the hill pushes it up there
typedef struct round {
    bool   table;
    double m, r, w, q0;
    field  field;
} round_trip;

static double hill_at(const field *f, const double x[2])
{
    const double d0 = x[0] - f->at[0], d1 = x[1] - f->at[1], s = f->size * f->size;
    return f->work / f->size * exp(-(d0 * d0 + d1 * d1) / s);
}

static double force_at(const field *f, const double x[2], int i)
{
    const double d0 = x[0] - f->at[0], d1 = x[1] - f->at[1], s = f->size * f->size;
    return 2.0 * f->work / s * exp(-(d0 * d0 + d1 * d1) / s) * (i == 0 ? d0 : d1);
}

// y: angle or height, and its rate
static void slopes(const round_trip *n, double t, const double *y, double *dy)
{
    const double angle = n->table ? n->q0 + n->w * t : y[0];
    const double e[2] = {cos(angle), sin(angle)}, x[2] = {n->r * e[0], n->r * e[1]};
    const double f[2] = {force_at(&n->field, x, 0), force_at(&n->field, x, 1)};
    dy[0] = y[1];
    dy[1] = n->table ? hill_at(&n->field, x) / n->m : (f[1] * e[0] - f[0] * e[1]) / (n->m * n->r);
}

// The classic method of order 4, in steps that are short beside the field
static double reference(const round_trip *n, double more, double t_end)
{
    double       y[2] = {n->table ? 0.0 : n->q0, n->table ? 0.0 : n->w}, k[4][2], z[2], t = 0.0;
    const double limit = 0.05 * n->field.size / (n->r * n->w);
    const int    steps = (int)(t_end / limit) + 1;
    const double h = t_end / steps;
    y[1] *= 1.0 + more;
    for (int i = 0; i < steps; i++, t = i * h) {
        static const double part[] = {0.0, 0.5, 0.5, 1.0};
        for (int j = 0; j < 4; j++) {
            for (int c = 0; c < 2; c++) z[c] = y[c] + (j > 0 ? part[j] * h * k[j - 1][c] : 0.0);
            slopes(n, t + part[j] * h, z, k[j]);
        }
        for (int c = 0; c < 2; c++) y[c] += h / 6.0 * (k[0][c] + 2.0 * k[1][c] + 2.0 * k[2][c] + k[3][c]);
    }
    return y[0];
}

static void write_model(const round_trip *n, char *text, size_t size)
{
    const double s = n->field.size * n->field.size;
    int          at = snprintf(text, size, "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n");
    if (n->table) at += snprintf(text + at, size - (size_t)at, "  table: {mass: 1, inertia: [1, 1, 1]}\n");
    at +=
        snprintf(text + at, size - (size_t)at,
                 "  load: {position: [%.17g, 0, 0], mass: %.17g, inertia: [1e-9, 1e-9, 1e-9]}\njoints:\n", n->r, n->m);
    if (n->table)
        at += snprintf(
            text + at, size - (size_t)at,
            "  drive: {type: revolute, bodies: [ground, table], point: [0, 0, 0], axis: [0, 0, 1], motion: "
            "\"%.17g + %.17g*t\"}\n  guide: {type: prismatic, bodies: [table, load], point: [%.17g, 0, 0], axis: "
            "[0, 0, 1], q: 0}\n",
            n->q0, n->w, n->r);
    else
        at += snprintf(
            text + at, size - (size_t)at,
            "  hinge: {type: revolute, bodies: [ground, load], point: [0, 0, 0], axis: [0, 0, 1], q: %.17g, v: "
            "%.17g}\n",
            n->q0, n->w);
    at += snprintf(
        text + at, size - (size_t)at,
        "expressions: {hill: \"%.17g*exp(-((body.load.pos.x - %.17g)^2 + (body.load.pos.y - %.17g)^2)/%.17g)\"}\n"
        "forces:\n",
        (n->table ? n->field.work / n->field.size : 2.0 * n->field.work / s), n->field.at[0], n->field.at[1], s);
    if (n->table)
        snprintf(text + at, size - (size_t)at, "  push: {type: applied, body: load, force: [0, 0, hill]}\n");
    else
        snprintf(text + at, size - (size_t)at,
                 "  push: {type: applied, body: load, force: [\"hill*(body.load.pos.x - %.17g)\", "
                 "\"hill*(body.load.pos.y - %.17g)\", 0]}\n",
                 n->field.at[0], n->field.at[1]);
}

static round_trip random_trip(bool table)
{
    const double r = of_order(0.1, 3), w = of_order(1, 30), m = of_order(0.1, 10), angle = between(0.7, 5.5);
    round_trip   n = {.table = table, .m = m, .r = r, .w = w, .q0 = between(0, 0.2)};
    const double beside = between(-0.5, 0.5), size = r * of_order(3e-3, 0.1);
    n.field = (field){{(r + beside * size) * cos(angle), (r + beside * size) * sin(angle)}, size, 0.0};
    n.field.work = m * r * r * w * w * of_order(0.003, 0.1);
    return n;
}

static void fields_are_met_by(bool table, int count, uint32_t seed)
{
    static const kd_integrator_kind method[] = {KD_RADAU, KD_SDIRK, KD_DOPRI5, KD_DOP853, KD_BDF};
    srand(test_seed(seed));
    for (int i = 0; i < count; i++) {
        const round_trip n = random_trip(table);
        const double     t_end = between(4, 20) / n.w * 2.0, rtol = of_order(1e-8, 1e-5);
        const double     right = reference(&n, 0.0, t_end), sense = fabs(reference(&n, 1e-6, t_end) - right) / 1e-6;
        char             text[2000];
        certified        c;
        write_model(&n, text, sizeof text);
        kd_simulation_options opt = with_method(method[i % 5], rtol);
        if (i % 6 == 5) opt.formulation = KD_FORMULATION_CHOSEN, opt.integrator = KD_INTEGRATOR_CHOSEN;
        certify_text(text, KD_JOINT, t_end, opt, &c);
        assert_true(c.status >= 0);
        const double got = c.p[0], unit = rtol * (1.0 + fabs(right) + 2.0 * sense + t_end);
        if (!(fabs(got - right) < 1000.0 * unit))
            fail_msg("%s, rtol %.1e, size %g of %g, %g turns: %.9g instead of %.9g, %g tolerances; %s\n%s",
                     table ? "table" : "arm", rtol, n.field.size, n.r, n.w * t_end / (2 * pi), got, right,
                     fabs(got - right) / unit, c.verdict.sentence, text);
    }
}

static void arms_meet_fields(void **state)
{
    (void)state;
    fields_are_met_by(false, 30, 141);
}

static void turntables_meet_fields(void **state)
{
    (void)state;
    fields_are_met_by(true, 20, 142);
}

// Events where an arm that nothing brakes passes a line, next to where it turns back from it: none is left out.
static void events_on_the_way_are_counted(void **state)
{
    static const double levels[] = {0.3, 0.9, 0.99, 0.999, 0.9999, -0.7, -0.999};
    (void)state;
    srand(test_seed(143));
    for (int i = 0; i < 35; i++) {
        const double w = of_order(1, 300) + 0.3, t_end = between(5, 200) / w, q0 = between(0, 6), level = levels[i % 7];
        const double first = i % 2 ? asin(level) : -acos(level); // where it rises through the level
        const double turns = floor((q0 + w * t_end - first) / (2 * pi)) - floor((q0 - first) / (2 * pi));
        static const kd_integrator_kind method[] = {KD_RADAU, KD_SDIRK, KD_DOPRI5, KD_DOP853, KD_BDF};
        char                            text[1500];
        certified                       c;
        snprintf(
            text, sizeof text,
            "kardan: 1\ngravity: [0, 0, 0]\nbodies: {counter: {mass: 1, inertia: [1, 1, 1]}, "
            "load: {position: [1, 0, 0], mass: 1, inertia: [1, 1, 1]}}\n"
            "joints: {hinge: {type: revolute, bodies: [ground, load], point: [0, 0, 0], axis: [0, 0, 1], q: %.17g, v: "
            "%.17g}, count: {type: prismatic, bodies: [ground, counter], point: [0, 0, 0], axis: [1, 0, 0]}}\n"
            "events: {pass: {when: \"body.load.pos.%s - %.17g\", crossing: rising, set: {joint.count.v: joint.count.v "
            "+ "
            "1}}}\n",
            q0, w, i % 2 ? "y" : "x", level);
        certify_text(text, KD_JOINT, t_end, with_method(method[i % 5], 1e-6), &c);
        assert_true(c.status >= 0);
        const double counted = c.v[fabs(c.v[0] - w) < 1e-3 ? 1 : 0]; // the velocity that is not that of the arm
        if (!(fabs(counted - turns) < 1e-6))
            fail_msg("level %g, %g turns: %g crossings, there are %g\n%s", level, w * t_end / (2 * pi), counted, turns,
                     text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arms_meet_fields),
        cmocka_unit_test(turntables_meet_fields),
        cmocka_unit_test(events_on_the_way_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
