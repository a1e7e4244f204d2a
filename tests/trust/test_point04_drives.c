// Point 4, drives: where a prescribed velocity jumps, momentum decides what the others do, alike in both coordinate
// sets, for every way to write the motion and every method; jumps of prescribed positions are refused by name.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case.h"

static double random_between(uint32_t *seed, double low, double high)
{
    *seed = *seed * 1664525u + 1013904223u;
    return low + (high - low) * (double)(*seed >> 8) / 16777216.0;
}

// ---- running a model ------------------------------------------------------------------------------------------------

typedef struct outcome {
    kd_status status;
    double    y[4];  // sensors at the end
    int       kicks; // told
    double    impulse, work;
    char      text[200], message[800];
} outcome;

static kd_eval hear(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    outcome *o = context;
    (void)before, (void)after;
    if (event->kind != KD_EVENT_KICK) return KD_EVAL_OK;
    o->kicks++;
    o->impulse = event->impulse;
    o->work = event->work;
    snprintf(o->text, sizeof o->text, "%s", event->text);
    return KD_EVAL_OK;
}

static void read_sensors(const kd_system *system, const kd_state *x, double *y)
{
    const kd_eom *eom = kd_system_eom(system);
    kd_eom_data  *d;
    double        u[4], du[4], ddu[4];
    assert_int_equal(kd_eom_data_create(eom, &d), KD_OK);
    const kd_inputs *in = kd_system_inputs(system);
    if (in && in->eval) assert_int_equal(in->eval(x->t, in->context, u, du, ddu), KD_EVAL_OK);
    kd_eom_at_time(d, x->t, u, du, ddu, x->z);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(d, KD_Y, y), KD_EVAL_OK);
    kd_eom_data_destroy(d);
}

static outcome run(const char *text, kd_coordinates coordinates, kd_formulation formulation,
                   kd_integrator_kind integrator, double t_end)
{
    outcome           o = {0};
    kd_model         *model;
    kd_system        *system;
    kd_state         *x;
    kd_system_options how = kd_system_options_default();
    how.coordinates = coordinates;
    if (kd_model_read_text("test", text, strlen(text), NULL, 0, &model, o.message, sizeof o.message) != KD_OK)
        fail_msg("%s", o.message);
    if (kd_system_create(model, &how, &system, o.message, sizeof o.message) != KD_OK) fail_msg("%s", o.message);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, o.message, sizeof o.message) >= 0);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = formulation;
    opt.integrator = integrator;
    opt.rtol = 1e-9;
    opt.atol = 1e-10;
    opt.events.listener = hear;
    opt.events.context = &o;
    o.status =
        kd_simulate(kd_system_eom(system), kd_system_inputs(system), &opt, x, t_end, NULL, o.message, sizeof o.message);
    read_sensors(system, x, o.y);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return o;
}

static double real_time(const char *text, kd_coordinates coordinates, double h, double t_end)
{
    kd_model         *model;
    kd_system        *system;
    kd_state         *x;
    kd_realtime      *rt;
    char              message[800];
    double            y[4];
    kd_system_options how = kd_system_options_default();
    how.coordinates = coordinates;
    assert_int_equal(kd_model_read_text("test", text, strlen(text), NULL, 0, &model, message, sizeof message), KD_OK);
    assert_int_equal(kd_system_create(model, &how, &system, message, sizeof message), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    kd_realtime_options opt = kd_realtime_options_default();
    bool                external[1] = {false};
    opt.h = h;
    opt.external = external;
    opt.part = KD_PART_ALL;
    kd_status status =
        kd_realtime_create(kd_system_eom(system), kd_system_inputs(system), &opt, x, &rt, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    while (kd_realtime_state(rt)->t < t_end - 0.5 * h) assert_int_equal(kd_realtime_step(rt, NULL, NULL), KD_OK);
    read_sensors(system, kd_realtime_state(rt), y);
    kd_realtime_destroy(rt);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return y[0];
}

// ---- a load on a spring and a damper on a shaker --------------------------------------------------------------------

typedef struct shaker {
    double table, m, k, c, slope, t[3]; // up from t[0] to t[1], down until t[2]
} shaker;

static shaker random_shaker(uint32_t *seed)
{
    shaker s = {.table = random_between(seed, 0.5, 40), .m = random_between(seed, 1, 400)};
    double omega = random_between(seed, 3, 15);
    s.k = s.m * omega * omega;
    s.c = 2 * random_between(seed, 0.05, 0.6) * s.m * omega;
    s.slope = random_between(seed, 0.05, 2);
    s.t[0] = random_between(seed, 0.05, 0.3);
    s.t[1] = s.t[0] + random_between(seed, 0.05, 0.2);
    s.t[2] = 2 * s.t[1] - s.t[0];
    return s;
}

static void write_shaker(const shaker *s, const char *curves, const char *inputs, const char *motion, char *text,
                         size_t size)
{
    snprintf(text, size,
             "kardan: 1\ngravity: [0, 0, 0]\n%s%sbodies:\n"
             "  table: {position: [0, 0, 0], mass: %.17g, inertia: [1, 1, 1]}\n"
             "  load: {position: [0, 0, 1], mass: %.17g, inertia: [1, 1, 1]}\n"
             "joints:\n"
             "  drive: {type: prismatic, bodies: [ground, table], point: [0, 0, 0], axis: [0, 0, 1], motion: \"%s\"}\n"
             "  guide: {type: prismatic, bodies: [table, load], point: [0, 0, 1], axis: [0, 0, 1]}\n"
             "forces:\n  spring: {type: tsda, from: table, to: load, stiffness: %.17g, damping: %.17g, length: 1}\n"
             "sensors:\n  z: {value: body.load.com.z - 1}\n  v: {value: body.load.vel.z}\n",
             curves, inputs, s->table, s->m, motion, s->k, s->c);
}

// z'' = -(k (z - u) + c (z' - u'))/m, u piecewise linear: with d = z - u, whose rate jumps by -jump of u', d is a free
// damped oscillation from each kink on.
static void closed_form(const shaker *s, double t_end, double *z, double *v)
{
    const double delta = s->c / (2 * s->m), nu = sqrt(s->k / s->m - delta * delta);
    const double at[] = {s->t[0], s->t[1], s->t[2], t_end}, rate[] = {s->slope, -s->slope, 0};
    double       d = 0, dd = 0, u = 0, before = 0;
    for (int i = 0; i < 3; i++) {
        const double tau = at[i + 1] - at[i], e = exp(-delta * tau);
        dd -= rate[i] - before;
        before = rate[i];
        const double A = d, B = (dd + delta * d) / nu, cosine = cos(nu * tau), sine = sin(nu * tau);
        d = e * (A * cosine + B * sine);
        dd = e * ((-delta * A + nu * B) * cosine - (delta * B + nu * A) * sine);
        u += rate[i] * tau;
    }
    *z = u + d;
    *v = before + dd;
}

static int ways_to_write(const shaker *s, int way, char *text, size_t size)
{
    char         curves[300] = "", inputs[300] = "", motion[400];
    const double a = s->slope, *t = s->t;
    switch (way) {
    case 0:
        snprintf(curves, sizeof curves,
                 "curves:\n  bump: {form: linear, x: [0, %.17g, %.17g, %.17g, 9], y: [0, 0, %.17g, 0, 0]}\n", t[0],
                 t[1], t[2], a * (t[1] - t[0]));
        snprintf(motion, sizeof motion, "bump(t)");
        break;
    case 1:
        snprintf(motion, sizeof motion,
                 "if(t < %.17g, 0, if(t < %.17g, %.17g*(t - %.17g), if(t < %.17g, %.17g*(%.17g - t), 0)))", t[0], t[1],
                 a, t[0], t[2], a, t[2]);
        break;
    case 2:
        snprintf(motion, sizeof motion, "%.17g*(max(0, t - %.17g) - 2*max(0, t - %.17g) + max(0, t - %.17g))", a, t[0],
                 t[1], t[2]);
        break;
    case 3:
        snprintf(motion, sizeof motion, "%.17g*(abs(t - %.17g) - 2*abs(t - %.17g) + abs(t - %.17g))/2", a, t[0], t[1],
                 t[2]);
        break;
    default:
        snprintf(inputs, sizeof inputs, "inputs:\n  up: {value: \"%.17g*(max(0, t - %.17g) - 2*max(0, t - %.17g))\"}\n",
                 a, t[0], t[1]);
        snprintf(motion, sizeof motion, "input.up + %.17g*max(0, t - %.17g)", a, t[2]);
    }
    write_shaker(s, curves, inputs, motion, text, size);
    return 5;
}

static void load_on_shaker_moves_by_momentum(void **state)
{
    static const struct {
        kd_formulation     formulation;
        kd_integrator_kind integrator;
    } way[] = {{KD_PSF, KD_RADAU},    {KD_GGL, KD_BDF},           {KD_ODE, KD_DOPRI5},
               {KD_ODE, KD_DOP853},   {KD_ODE, KD_HALF_EXPLICIT}, {KD_STATESPACE, KD_SDIRK},
               {KD_INDEX1, KD_RADAU}, {KD_ODE, KD_EXTRAPOLATION}};
    uint32_t seed = test_seed(20);
    (void)state;
    for (int k = 0; k < 16; k++) {
        shaker s = random_shaker(&seed);
        char   text[2000];
        double z, v;
        ways_to_write(&s, k % 5, text, sizeof text);
        closed_form(&s, 1, &z, &v);
        const size_t m = (size_t)k % (sizeof way / sizeof *way);
        for (int c = 0; c < 2; c++) {
            outcome o = run(text, c ? KD_CARTESIAN : KD_JOINT, way[m].formulation, way[m].integrator, 1);
            if (o.status != KD_OK) fail_msg("%s", o.message);
            const double scale = s.slope * (s.t[1] - s.t[0]);
            assert_true(fabs(o.y[0] - z) < 1e-5 * scale);
            assert_true(fabs(o.y[1] - v) < 1e-5 * s.slope);
            assert_int_equal(o.kicks, 3);
            // the table alone takes part in the last kick: from -slope to rest
            assert_true(fabs(o.impulse - s.table * s.slope) < 1e-6 * s.table * s.slope);
            assert_true(fabs(o.work + 0.5 * s.table * s.slope * s.slope) < 1e-6 * s.table * s.slope * s.slope);
        }
    }
}

static void real_time_follows(void **state)
{
    uint32_t seed = test_seed(31);
    (void)state;
    for (int k = 0; k < 5; k++) {
        shaker s = random_shaker(&seed);
        char   text[2000];
        double z, v, scale = s.slope * (s.t[1] - s.t[0]);
        ways_to_write(&s, k, text, sizeof text);
        closed_form(&s, 1, &z, &v);
        for (int c = 0; c < 2; c++) {
            double rough = fabs(real_time(text, c ? KD_CARTESIAN : KD_JOINT, 1e-3, 1) - z);
            double fine = fabs(real_time(text, c ? KD_CARTESIAN : KD_JOINT, 1e-4, 1) - z);
            assert_true(rough < 0.05 * scale);
            assert_true(fine < 0.005 * scale); // of first order
        }
    }
}

// ---- a pendulum on a slider, by the formula of the impulse ----------------------------------------------------------

// The pivot of a pendulum (point mass at length l, angle phi from below) gets the velocity w along x at t1: its angular
// velocity jumps by -w cos(phi)/l.
static void pendulum_on_slider(void **state)
{
    uint32_t seed = test_seed(5);
    (void)state;
    for (int k = 0; k < 4; k++) {
        const double l = random_between(&seed, 0.2, 3), phi = random_between(&seed, -1.2, 1.2),
                     I = random_between(&seed, 0.01, 2), m = random_between(&seed, 0.1, 20),
                     w = random_between(&seed, -3, 3), t1 = 0.25;
        char text[2000];
        snprintf(text, sizeof text,
                 "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n"
                 "  slider: {position: [0, 0, 0], mass: 3, inertia: [1, 1, 1]}\n"
                 "  bob: {position: [%.17g, 0, %.17g], mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\n"
                 "joints:\n"
                 "  rail: {type: prismatic, bodies: [ground, slider], point: [0, 0, 0], axis: [1, 0, 0], motion: "
                 "\"%.17g*max(0, t - "
                 "%.17g)\"}\n"
                 "  pin: {type: revolute, bodies: [slider, bob], point: [0, 0, 0], axis: [0, 1, 0]}\n"
                 "sensors:\n  w: {value: joint.pin.v}\n",
                 l * sin(phi), -l * cos(phi), m, I, I, I, w, t1);
        for (int c = 0; c < 2; c++) {
            outcome o = run(text, c ? KD_CARTESIAN : KD_JOINT, KD_PSF, KD_RADAU, t1 + 1e-9);
            assert_int_equal(o.status, KD_OK);
            // about y with the bob below: x = -l sin(q) grows with -q; (I + m l^2) dq' = m l w cos(phi)
            double expected = m * l * w * cos(phi) / (I + m * l * l);
            assert_true(fabs(o.y[0] - expected) < 1e-7 * (1 + fabs(expected)));
            double dx = w - l * cos(phi) * expected, dz = -l * sin(phi) * expected;
            double energy = 0.5 * (3 * w * w + m * (dx * dx + dz * dz) + I * expected * expected);
            assert_true(fabs(o.work - energy) < 1e-7 * (1 + energy));
        }
    }
}

// Several drives, one of them a rotation, in a loop (four-bar driven at its crank, on a driven carriage with a load):
// both coordinate sets agree.
static void loops_agree(void **state)
{
    uint32_t seed = test_seed(8);
    (void)state;
    for (int k = 0; k < 3; k++) {
        const double w = random_between(&seed, 1, 4), u = random_between(&seed, -1, 1),
                     t1 = random_between(&seed, 0.1, 0.2);
        char text[2500];
        snprintf(
            text, sizeof text,
            "kardan: 1\nbodies:\n"
            "  carriage: {position: [0, 0, 0], mass: 5, inertia: [1, 1, 1]}\n"
            "  crank: {position: [0, 0, 0.25], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
            "  coupler: {position: [0.5, 0, 0.75], mass: 2, inertia: [0.2, 0.2, 0.2]}\n"
            "  rocker: {position: [1, 0, 0.5], mass: 1.5, inertia: [0.1, 0.1, 0.1]}\n"
            "  flail: {position: [0.5, 0, 0.35], mass: 0.7, inertia: [0.02, 0.02, 0.02]}\n"
            "joints:\n"
            "  way: {type: prismatic, bodies: [ground, carriage], point: [0, 0, 0], axis: [1, 0, 0], motion: "
            "\"%.17g*max(0, t - "
            "%.17g)\"}\n"
            "  a: {type: revolute, bodies: [carriage, crank], point: [0, 0, 0], axis: [0, 1, 0], motion: \"%.17g*t - "
            "%.17g*max(0, t - %.17g)\"}\n"
            "  b: {type: revolute, bodies: [crank, coupler], point: [0, 0, 0.5], axis: [0, 1, 0]}\n"
            "  c: {type: revolute, bodies: [coupler, rocker], point: [1, 0, 1], axis: [0, 1, 0]}\n"
            "  d: {type: revolute, bodies: [carriage, rocker], point: [1, 0, 0], axis: [0, 1, 0]}\n"
            "  e: {type: revolute, bodies: [coupler, flail], point: [0.5, 0, 0.75], axis: [0, 1, 0]}\n"
            "sensors:\n  x: {value: body.flail.com.x}\n  v: {value: body.flail.vel.x}\n  z: {value: "
            "body.flail.vel.z}\n",
            u, t1, w, 2 * w, t1);
        outcome joint = run(text, KD_JOINT, KD_PSF, KD_RADAU, 0.4);
        outcome cartesian = run(text, KD_CARTESIAN, KD_GGL, KD_BDF, 0.4);
        if (joint.status < 0) fail_msg("%s", joint.message);
        if (cartesian.status < 0) fail_msg("%s", cartesian.message);
        for (int i = 0; i < 3; i++) assert_true(fabs(joint.y[i] - cartesian.y[i]) < 1e-5);
        assert_int_equal(joint.kicks, 2);
        assert_true(fabs(joint.work - cartesian.work) < 1e-5 * (1 + fabs(joint.work)));
    }
}

// A ball that rests on the table is thrown by a kick upwards and left behind by one downwards.
static void resting_contact_follows(void **state)
{
    char text[2000];
    (void)state;
    for (int up = 0; up < 2; up++) {
        snprintf(text, sizeof text,
                 "kardan: 1\nbodies:\n"
                 "  table: {position: [0, 0, 0], mass: 3, inertia: [1, 1, 1]}\n"
                 "  load: {position: [0, 0, 1], mass: 2, inertia: [1, 1, 1]}\n"
                 "joints:\n"
                 "  drive: {type: prismatic, bodies: [ground, table], point: [0, 0, 0], axis: [0, 0, 1], motion: "
                 "\"%s*max(0, t - "
                 "0.2)\"}\n"
                 "  guide: {type: prismatic, bodies: [table, load], point: [0, 0, 1], axis: [0, 0, 1]}\n"
                 "forces:\n  rest: {type: joint_stop, joint: guide, lower: 0, restitution: 0.5}\n"
                 "sensors:\n  v: {value: body.load.vel.z}\n",
                 up ? "2" : "-2");
        for (int c = 0; c < 2; c++) {
            outcome o = run(text, c ? KD_CARTESIAN : KD_JOINT, KD_PSF, KD_RADAU, 0.2 + 1e-9);
            if (o.status < 0) fail_msg("%s", o.message);
            assert_true(fabs(o.y[0] - (up ? 3.0 : 0.0)) < 1e-6); // (1 + restitution) 2, or still at rest
        }
    }
}

static void position_jumps_are_refused(void **state)
{
    shaker            s = {.table = 1, .m = 2, .k = 100, .c = 1};
    char              text[2000];
    const char *const motion[] = {"if(t < 0.3, 0, 0.02)", "0.1*step(t - 0.2)", "0.3*t + if(t < 0.31, 0, 1e-6)"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        write_shaker(&s, "", "", motion[k], text, sizeof text);
        for (int c = 0; c < 2; c++) {
            outcome o = run(text, c ? KD_CARTESIAN : KD_JOINT, KD_PSF, KD_RADAU, 1);
            assert_int_equal(o.status, KD_ERR_POSITION_JUMP);
            assert_non_null(strstr(o.message, "drive"));
            assert_non_null(strstr(o.message, k == 1 ? "0.2" : "0.3"));
        }
    }
}

// ---- equations in C -------------------------------------------------------------------------------------------------

// A mass m on a spring k to a base that moves with velocity w from t = `at` on, where it jumps by a little: absolute with a row
// for the base (rows), or relative to it (drives)
typedef struct base {
    double m, M, k, w, at, jump;
} base;

static double base_rate(double t, const base *b)
{
    return t < b->at ? 0 : b->w;
}

static double base_position(double t, const base *b)
{
    return t < b->at ? 0 : b->jump + b->w * (t - b->at);
}

static double next_break(const kd_point *x, void *context)
{
    const double at = ((const base *)context)->at;
    return x->t < at ? at : HUGE_VAL;
}

static kd_eval absolute_mass(const kd_point *x, void *context, double *out)
{
    const base *b = context;
    (void)x;
    out[0] = b->M;
    out[3] = b->m;
    return KD_EVAL_OK;
}

static kd_eval absolute_force(const kd_point *x, void *context, double *out)
{
    const base *b = context;
    out[0] = -b->k * (x->p[0] - x->p[1]);
    out[1] = -out[0];
    return KD_EVAL_OK;
}

static kd_eval absolute_g(const kd_point *x, void *context, double *out)
{
    out[0] = x->p[0] - base_position(x->t, context);
    return KD_EVAL_OK;
}

static kd_eval absolute_gI(const kd_point *x, void *context, double *out)
{
    out[0] = x->v[0] - base_rate(x->t, context);
    return KD_EVAL_OK;
}

static kd_eval absolute_gII(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->a[0];
    return KD_EVAL_OK;
}

static kd_eval relative_mass(const kd_point *x, void *context, double *out)
{
    (void)x;
    out[0] = ((const base *)context)->m;
    return KD_EVAL_OK;
}

static kd_eval relative_force(const kd_point *x, void *context, double *out)
{
    out[0] = -((const base *)context)->k * x->p[0];
    return KD_EVAL_OK;
}

static kd_eval drives(const kd_point *x, void *context, double *q, double *dq, double *ddq)
{
    dq[0] = base_rate(x->t, context);
    q[0] = base_position(x->t, context);
    ddq[0] = 0;
    return KD_EVAL_OK;
}

static kd_eval impulses(const kd_point *x, const double *dv, const double *dx, const double *Lambda, const double *Pi,
                        void *context, double *free, double *driven)
{
    const base *b = context;
    (void)x, (void)Lambda, (void)Pi;
    free[0] = b->m * (dv[0] + dx[0]);
    driven[0] = b->m * (dv[0] + dx[0]) + b->M * dx[0];
    return KD_EVAL_OK;
}

// The two ways to write it
static void define(base *b, kd_eom_def def[2])
{
    def[0] = def[1] = kd_eom_def_default();
    def[0].dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
    def[0].M = absolute_mass, def[0].f = absolute_force;
    def[0].g = absolute_g, def[0].gI = absolute_gI, def[0].gII = absolute_gII;
    def[1].dims = (kd_dims){.np = 1, .nv = 1};
    def[1].M = relative_mass, def[1].f = relative_force;
    def[1].ndrives = 1, def[1].drives = drives, def[1].impulses = impulses;
    for (int i = 0; i < 2; i++) {
        def[i].context = b;
        def[i].next_break = next_break;
    }
}

// *x at t_end; its status
static kd_status move_base(const kd_eom_def *def, double t_end, kd_eom **eom, kd_state **x, outcome *o)
{
    kd_simulation_options opt = kd_simulation_options_default();
    *o = (outcome){0};
    assert_int_equal(kd_eom_create(def, eom, o->message, sizeof o->message), KD_OK);
    assert_int_equal(kd_state_create(*eom, x), KD_OK);
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = opt.atol = 1e-10;
    opt.events.listener = hear;
    opt.events.context = o;
    return kd_simulate(*eom, NULL, &opt, *x, t_end, NULL, o->message, sizeof o->message);
}

static void equations_in_c(void **state)
{
    base       b = {.m = 2.5, .M = 7, .k = 60, .w = 0.7, .at = 1};
    kd_eom_def def[2];
    (void)state;
    define(&b, def);
    for (int i = 0; i < 2; i++) {
        kd_eom   *eom;
        kd_state *x;
        outcome   o;
        assert_int_equal(move_base(&def[i], 2, &eom, &x, &o), KD_OK);
        const double omega = sqrt(b.k / b.m), expected = -b.w / omega * sin(omega); // relative to the base
        assert_true(fabs((i == 0 ? x->p[1] - x->p[0] : x->p[0]) - expected) < 1e-8);
        assert_int_equal(o.kicks, 1);
        assert_true(fabs(o.impulse - b.M * b.w) < 1e-9);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// A position that jumps by less than its way in 1e-9 of the time, as laws of large times do, is none that jumps; above it is.
static void jumps_of_the_rounding_of_time(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++) {
        const bool   refused = k % 2 == 1;
        const double at = k / 4 == 0 ? 20 : k / 4 == 1 ? 300 : 4000, way = 1e-9 * at * 0.7;
        base         b = {.m = 2.5, .M = 7, .k = 60, .w = 0.7, .at = at, .jump = (refused ? 1.3 : 0.7) * way};
        kd_eom_def   def[2];
        kd_eom      *eom;
        kd_state    *x;
        outcome      o;
        define(&b, def);
        const kd_status status = move_base(&def[k / 2 % 2], at + 0.01, &eom, &x, &o);
        if (status != (refused ? KD_ERR_POSITION_JUMP : KD_OK)) fail_msg("trial %d: %d, %s", k, status, o.message);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_on_shaker_moves_by_momentum),
        cmocka_unit_test(real_time_follows),
        cmocka_unit_test(pendulum_on_slider),
        cmocka_unit_test(loops_agree),
        cmocka_unit_test(resting_contact_follows),
        cmocka_unit_test(position_jumps_are_refused),
        cmocka_unit_test(jumps_of_the_rounding_of_time),
        cmocka_unit_test(equations_in_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
