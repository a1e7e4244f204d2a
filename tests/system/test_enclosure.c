// Ranges of what expressions read between two points of a motion: they hold the motion, and are narrow for small steps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "system/system.h"

typedef struct fixture {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_eom_data *data;
    kd_work     *work, *other; // other: for the values in between
    double       u[30];
} fixture;

static fixture make(const char *text, kd_coordinates coordinates)
{
    fixture           f = {0};
    char              message[1000] = "";
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    kd_status status = kd_model_read_text("test.yaml", text, strlen(text), NULL, 0, &f.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(f.model, &opt, &f.system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(f.system), &f.x);
    if (status >= 0) status = kd_system_start(f.system, f.x, message, sizeof message);
    if (status >= 0) status = kd_eom_data_create(kd_system_eom(f.system), &f.data);
    if (status < 0) print_error("%s\n", message);
    assert_true(status >= 0);
    f.work = kd_work_create(f.system);
    f.other = kd_work_create(f.system);
    return f;
}

static void unmake(fixture *f)
{
    kd_work_destroy(f->work);
    kd_work_destroy(f->other);
    kd_eom_data_destroy(f->data);
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static void set_time(fixture *f, double t)
{
    const int nu = kd_eom_dims(kd_system_eom(f->system)).nu;
    assert_int_equal(kd_system_input_values(t, f->system, f->u, f->u + nu, f->u + 2 * nu), KD_EVAL_OK);
    kd_eom_at_time(f->data, t, f->u, f->u + nu, f->u + 2 * nu, NULL);
}

// Rates of y = (p, v, r) of a tree with p' = v; accelerations go to x->a
static void rates(fixture *f, double t, const double *y, double *out)
{
    const kd_dims n = kd_eom_dims(kd_system_eom(f->system));
    assert_true(n.np == n.nv && n.nlambda == 0);
    set_time(f, t);
    kd_eom_at_position(f->data, y, NULL);
    kd_eom_at_velocity(f->data, y + n.np, y + n.np + n.nv);
    assert_int_equal(kd_eom_accelerations(f->data, f->x->a, f->x->lambda, f->x->mu), KD_EVAL_OK);
    kd_eom_at_acceleration(f->data, f->x->a, NULL, NULL, NULL);
    memcpy(out, y + n.np, (size_t)n.nv * sizeof *out);
    memcpy(out + n.np, f->x->a, (size_t)n.nv * sizeof *out);
    if (n.nr > 0) assert_int_equal(kd_eom_eval(f->data, KD_B, out + n.np + n.nv), KD_EVAL_OK);
}

// One step of the classical method of Runge and Kutta; then a belongs to the new state
static void step(fixture *f, double h)
{
    const kd_dims n = kd_eom_dims(kd_system_eom(f->system));
    const int     size = n.np + n.nv + n.nr;
    double        k[4][20], y[20], moved[20];
    assert_true(size <= 20);
    memcpy(y, f->x->p, (size_t)n.np * sizeof *y);
    memcpy(y + n.np, f->x->v, (size_t)n.nv * sizeof *y);
    memcpy(y + n.np + n.nv, f->x->r, (size_t)n.nr * sizeof *y);
    for (int stage = 0; stage < 4; stage++) {
        static const double part[] = {0.0, 0.5, 0.5, 1.0};
        for (int i = 0; i < size; i++) moved[i] = y[i] + (stage ? h * part[stage] * k[stage - 1][i] : 0.0);
        rates(f, f->x->t + part[stage] * h, moved, k[stage]);
    }
    for (int i = 0; i < size; i++) y[i] += h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
    f->x->t += h;
    rates(f, f->x->t, y, k[0]);
    memcpy(f->x->p, y, (size_t)n.np * sizeof *y);
    memcpy(f->x->v, y + n.np, (size_t)n.nv * sizeof *y);
    memcpy(f->x->r, y + n.np + n.nv, (size_t)n.nr * sizeof *y);
}

// A point of its own, with its inputs
static kd_point point_at(fixture *f, const kd_state *x, double *u)
{
    const int nu = kd_eom_dims(kd_system_eom(f->system)).nu;
    assert_int_equal(kd_system_input_values(x->t, f->system, u, u + nu, u + 2 * nu), KD_EVAL_OK);
    return kd_point_of(x, u, nu);
}

enum { INNER = 40, SLOTS = 60 };

// Walk along a motion in steps of h: each variable that has a range stays in it. Answers the largest part of the ranges
// that is not used, by the slot.
static void walk(fixture *f, double h, int steps, double *waste)
{
    const kd_system *s = f->system;
    const kd_eom    *eom = kd_system_eom(s);
    kd_state        *before = NULL;
    double           u0[30], u1[30], u[30];
    unsigned long    stamp = 1;
    assert_true(s->nslots <= SLOTS);
    assert_int_equal(kd_state_create(eom, &before), KD_OK);
    for (int i = 0; i < s->nslots; i++) waste[i] = 0.0;
    step(f, 1e-9); // for the accelerations
    for (int k = 0; k < steps; k++) {
        double least[SLOTS], most[SLOTS];
        for (int i = 0; i < s->nslots; i++) least[i] = INFINITY, most[i] = -INFINITY;
        kd_state_copy(f->x, before);
        for (int i = 0; i <= INNER; i++) {
            if (i > 0) step(f, h / INNER);
            kd_point x = point_at(f, f->x, u);
            x.time_stamp = x.position_stamp = x.velocity_stamp = x.acceleration_stamp = ++stamp;
            kd_work_acceleration(f->other, &x, KD_FOR_ALL);
            for (int j = 0; j < s->nslots; j++) {
                least[j] = fmin(least[j], f->other->slot[j]);
                most[j] = fmax(most[j], f->other->slot[j]);
            }
        }
        const kd_point     x0 = point_at(f, before, u0), x1 = point_at(f, f->x, u1);
        const kd_interval *range = f->work->enclosure.slot;
        assert_int_equal(kd_work_enclose(f->work, &x0, &x1, KD_FOR_ALL), KD_EVAL_OK);
        for (int j = 0; j < s->nslots; j++) {
            const double tiny = 1e-11 * (1.0 + fabs(most[j])); // of the integration
            if (!(range[j].lower <= least[j] + tiny && range[j].upper >= most[j] - tiny))
                fail_msg("slot %d (kind %d, level %d), step %d: %.15g .. %.15g is not in %.15g .. %.15g", j,
                         (int)s->slot[j].kind, s->slot[j].level, k, least[j], most[j], range[j].lower, range[j].upper);
            waste[j] = fmax(waste[j], (range[j].upper - range[j].lower) - (most[j] - least[j]));
        }
    }
    kd_state_destroy(before);
}

static const char free_fall[] =
    "kardan: 1\n"
    "bodies:\n  ball: {mass: 2, inertia: [0.01, 0.01, 0.01]}\n"
    "joints:\n  up: {type: prismatic, bodies: [ground, ball], point: [0, 0, 0], axis: [0, 0, 1], v: 3}\n"
    "sensors: {z: body.ball.pos.z, v: body.ball.vel.z, a: body.ball.acc.z}\n";

// Free fall: the ranges of height, speed and acceleration are those of the parabola, whatever the step.
static void free_fall_is_met(void **state)
{
    fixture f = make(free_fall, KD_JOINT);
    double  waste[SLOTS];
    (void)state;
    walk(&f, 0.2, 5, waste);
    for (int j = 0; j < f.system->nslots; j++) {
        // the coefficients of the parabola reach beyond it by a tenth of g h^2/2 at most
        const double most = f.system->slot[j].kind == KD_SLOT_MEASURE && f.system->slot[j].level == 0 ? 0.02 : 1e-9;
        assert_true(waste[j] <= most);
    }
    unmake(&f);
}

static const char double_pendulum[] =
    "kardan: 1\n"
    "inputs: {push: 2*sin(3*t)}\n"
    "bodies:\n"
    "  a: {mass: 1, inertia: [0.1, 0.2, 0.2], position: [0.5, 0, 0]}\n"
    "  b: {mass: 2, inertia: [0.1, 0.2, 0.2], position: [1.5, 0, 0]}\n"
    "joints:\n"
    "  one: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0], q: -2.5, v: 1}\n"
    "  two: {type: revolute, bodies: [a, b], point: [1, 0, 0], axis: [0, 0.6, 0.8], q: 0.2, v: -2}\n"
    "states:\n"
    "  lag: {type: lag, input: joint.one.q, time_constant: 0.3}\n"
    "  pi: {type: pi, input: input.push - joint.two.v, kp: 0.5, ki: 2}\n"
    "forces:\n"
    "  motor: {type: joint_spring, joint: two, law: input.push - state.lag - 0.5*v}\n"
    "  angles: {type: bushing, from: ground, to: b, damping: [0, 0, 0, 1e-12, 0, 1e-12]}\n"
    "sensors:\n"
    "  height: body.b.pos.z\n  speed: body.b.vel.x\n  acc: body.b.acc.z\n  turn: body.b.omega.z\n"
    "  spin: body.b.alpha.x\n  cosine: body.b.R.xx\n  pitch: body.b.pitch\n"
    "  q: joint.two.q\n  a: joint.two.a\n  out: state.pi.out\n  r: state.lag\n  force: force.motor.force\n"
    "  energy: energy.kinetic\n";

// A double pendulum that turns over, with inner states and inputs: everything read stays in its range, and what the
// ranges hold in vain falls faster than the step.
static void a_pendulum_stays_in_its_ranges(void **state)
{
    double    waste[3][SLOTS];
    const int steps[3] = {40, 80, 160};
    (void)state;
    for (int k = 0; k < 3; k++) {
        fixture f = make(double_pendulum, KD_JOINT);
        walk(&f, 2.0 / steps[k], steps[k], waste[k]);
        int known = 0;
        for (int j = 0; k == 2 && j < f.system->nslots; j++) {
            const kd_slot at = f.system->slot[j];
            const bool    forces = at.kind > KD_SLOT_MEASURE;
            if (forces) {
                assert_true(waste[k][j] == INFINITY);
            } else if (at.kind != KD_SLOT_TIME && waste[0][j] < 6.0) { // not an angle that has jumped
                known++;
                const double part = at.kind == KD_SLOT_OUT ? 0.35 : 0.2; // a sum of what moves together
                if (!(waste[2][j] <= part * waste[0][j] + 1e-9))
                    fail_msg("slot %d kind %d level %d: %g %g %g", j, (int)at.kind, at.level, waste[0][j], waste[1][j],
                             waste[2][j]);
            }
        }
        assert_true(k < 2 || known >= 12);
        unmake(&f);
    }
}

// Both coordinate sets give the same ranges for the same motion.
static void coordinates_do_not_matter(void **state)
{
    fixture   f = make(double_pendulum, KD_JOINT), g = make(double_pendulum, KD_CARTESIAN);
    kd_state *x0[2] = {NULL, NULL}, *x1[2] = {NULL, NULL};
    fixture  *both[2] = {&f, &g};
    double    u[2][30];
    (void)state;
    for (int k = 0; k < 2; k++) {
        const kd_eom         *eom = kd_system_eom(both[k]->system);
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        char message[400] = "";
        assert_int_equal(kd_state_create(eom, &x0[k]), KD_OK);
        assert_int_equal(kd_state_create(eom, &x1[k]), KD_OK);
        kd_state_copy(both[k]->x, x1[k]);
        opt.rtol = opt.atol = 1e-11;
        for (int end = 0; end < 2; end++) {
            assert_true(kd_simulate(eom, kd_system_inputs(both[k]->system), &opt, x1[k], 0.1 * (end + 1), NULL, message,
                                    sizeof message) >= 0);
            if (end == 0) kd_state_copy(x1[k], x0[k]);
        }
        const kd_point a = point_at(both[k], x0[k], u[0]), b = point_at(both[k], x1[k], u[1]);
        assert_int_equal(kd_work_enclose(both[k]->work, &a, &b, KD_FOR_ALL), KD_EVAL_OK);
    }
    for (int i = 0; i < f.system->nsensors; i++) {
        const kd_interval a = kd_expr_bounds(f.system->sensor[i], f.work->enclosure.slot, f.work->breaks.work);
        const kd_interval b = kd_expr_bounds(g.system->sensor[i], g.work->enclosure.slot, g.work->breaks.work);
        assert_true(a.lower == b.lower || fabs(a.lower - b.lower) < 1e-5 * (1.0 + fabs(a.lower)));
        assert_true(a.upper == b.upper || fabs(a.upper - b.upper) < 1e-5 * (1.0 + fabs(a.upper)));
    }
    for (int k = 0; k < 2; k++) {
        kd_state_destroy(x0[k]);
        kd_state_destroy(x1[k]);
        unmake(both[k]);
    }
}

static const char thrown[] =
    "kardan: 1\n"
    "parameters: {top: 9/(2*9.81)}\n"
    "gravity: [0, 0, -9.81]\n"
    "bodies: {ball: {mass: 2, inertia: [0.01, 0.01, 0.01]}}\n"
    "joints: {up: {type: prismatic, bodies: [ground, ball], point: [0, 0, 0], axis: [0, 0, 1], v: 3}}\n"
    "inputs: {wave: sin(50*t)}\n"
    "variables: {tops: 0, waves: 0, beats: 0}\n"
    "events:\n"
    "  tops: {when: body.ball.pos.z - (top - 1e-8), set: {variable.tops: variable.tops + 1}}\n"
    "  waves: {when: input.wave - 0.9999, set: {variable.waves: variable.waves + 1}}\n"
    "  beats: {when: \"cos(30*t)^2 - 0.99999\", set: {variable.beats: variable.beats + 1}}\n"
    "sensors: {tops: variable.tops, waves: variable.waves, beats: variable.beats}\n";

// Crossings in pairs, closer together than any step: a ball that just reaches a height, waves that just reach theirs.
static void no_pair_of_crossings_is_missed(void **state)
{
    static const kd_integrator_kind integrators[] = {KD_RADAU, KD_BDF, KD_DOPRI5};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++) {
            fixture               f = make(thrown, c ? KD_CARTESIAN : KD_JOINT);
            kd_simulation_options opt = kd_simulation_options_default();
            char                  message[400] = "";
            opt.integrator = integrators[k];
            if (k == 2) opt.formulation = KD_ODE;
            opt.rtol = opt.atol = 1e-8;
            if (kd_simulate(kd_system_eom(f.system), kd_system_inputs(f.system), &opt, f.x, 1.0, NULL, message,
                            sizeof message) < 0)
                fail_msg("%s", message);
            assert_true(f.x->z[0] == 2.0);
            assert_true(f.x->z[1] == 16.0); // at (pi/2 + 2 pi k)/50, k < 8
            assert_true(f.x->z[2] == 19.0); // at pi k/30, from k = 0 on, where only the end is seen
            unmake(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_fall_is_met),
        cmocka_unit_test(a_pendulum_stays_in_its_ranges),
        cmocka_unit_test(coordinates_do_not_matter),
        cmocka_unit_test(no_pair_of_crossings_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
