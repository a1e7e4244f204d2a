// Impacts of stops and contacts with restitution, in models: times in closed form, rest after infinitely many impacts,
// energy and momentum, in both coordinate sets and several formulations.
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
#include <stdlib.h>
#include <string.h>

#define GRAVITY 9.81
#define MODEL(name) KD_SOURCE_DIR "/models/" name ".yaml"

#define assert_near(a, b, tolerance) near_to((a), (b), (tolerance), __LINE__)
static void near_to(double a, double b, double tolerance, int line)
{
    if (fabs(a - b) <= tolerance) return;
    fail_msg("line %d: %.17g instead of %.17g, difference %.3g", line, a, b, a - b);
}

// ---- runs -----------------------------------------------------------------------------------------------------------

enum { MOST_EVENTS = 400, MOST_SENSORS = 8 };

typedef struct log_entry {
    kd_event_kind kind;
    double        t;
    int           index;
} log_entry;

typedef struct run {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_eom_data *data;
    double      *M; // (nv x nv)
    int          count;
    log_entry    log[MOST_EVENTS];
    double       y[MOST_SENSORS]; // at the end
    double       worst_identity;  // of energies at impacts
    double       e;
    kd_stats     stats;
    char         last_text[200];
} run;

typedef struct method {
    kd_coordinates     coordinates;
    kd_formulation     formulation;
    kd_integrator_kind integrator;
} method;

static const method METHODS[] = {
    {KD_JOINT, KD_PSF, KD_RADAU},        {KD_CARTESIAN, KD_PSF, KD_RADAU},        {KD_CARTESIAN, KD_GGL, KD_RADAU},
    {KD_CARTESIAN, KD_INDEX1, KD_RADAU}, {KD_CARTESIAN, KD_STATESPACE, KD_RADAU}, {KD_JOINT, KD_ODE, KD_DOP853},
    {KD_CARTESIAN, KD_ODE, KD_DOP853},
};
enum { NMETHODS = sizeof METHODS / sizeof METHODS[0] };

static double kinetic_norm(run *r, const double *a, const double *b)
{
    int    nv = kd_eom_dims(kd_system_eom(r->system)).nv;
    double sum = 0;
    for (int i = 0; i < nv; i++)
        for (int j = 0; j < nv; j++) sum += (a[i] - b[i]) * r->M[i + j * nv] * (a[j] - b[j]);
    return sum;
}

// One row is hit: T - T+ = (1 - e) / (2 (1 + e)) |v+ - v|^2 in the norm of M.
static void check_energy(run *r, const kd_state *before, const kd_state *after)
{
    double zero[64] = {0};
    kd_eom_at_time(r->data, before->t, NULL, NULL, NULL, before->z);
    kd_eom_at_position(r->data, before->p, before->s);
    assert_int_equal(kd_eom_eval(r->data, KD_MASS, r->M), KD_EVAL_OK);
    double lost = 0.5 * (kinetic_norm(r, before->v, zero) - kinetic_norm(r, after->v, zero));
    double told = (1 - r->e) / (2 * (1 + r->e)) * kinetic_norm(r, after->v, before->v);
    r->worst_identity = fmax(r->worst_identity, fabs(lost - told));
}

static kd_eval listen(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    run *r = context;
    assert_true(r->count < MOST_EVENTS);
    r->log[r->count++] = (log_entry){event->kind, event->t, event->index};
    if (event->kind == KD_EVENT_IMPACT && r->e >= 0) check_energy(r, before, after);
    snprintf(r->last_text, sizeof r->last_text, "%s", event->text);
    return KD_EVAL_OK;
}

static void read_sensors(run *r)
{
    kd_dims n = kd_eom_dims(kd_system_eom(r->system));
    assert_true(n.ny <= MOST_SENSORS);
    kd_eom_at_time(r->data, r->x->t, NULL, NULL, NULL, r->x->z);
    kd_eom_at_position(r->data, r->x->p, r->x->s);
    kd_eom_at_velocity(r->data, r->x->v, r->x->r);
    kd_eom_at_acceleration(r->data, r->x->a, r->x->w, r->x->lambda, r->x->mu);
    assert_int_equal(kd_eom_eval(r->data, KD_Y, r->y), KD_EVAL_OK);
}

static void finish(run *r)
{
    kd_eom_data_destroy(r->data);
    kd_state_destroy(r->x);
    kd_system_destroy(r->system);
    kd_model_destroy(r->model);
    free(r->M);
}

// e: restitution for the identity of energies; < 0: not checked
static void simulate(run *r, kd_model *model, const method *m, double e, double rtol, double t_end)
{
    char              message[600] = "";
    kd_system_options options = kd_system_options_default();
    memset(r, 0, sizeof *r);
    r->model = model;
    r->e = e;
    options.coordinates = m->coordinates;
    if (kd_system_create(model, &options, &r->system, message, sizeof message) < 0) fail_msg("%s", message);
    const kd_eom *eom = kd_system_eom(r->system);
    int           nv = kd_eom_dims(eom).nv;
    assert_int_equal(kd_state_create(eom, &r->x), KD_OK);
    assert_int_equal(kd_eom_data_create(eom, &r->data), KD_OK);
    r->M = calloc((size_t)(nv * nv), sizeof *r->M);
    if (kd_system_start(r->system, r->x, message, sizeof message) < 0) fail_msg("%s", message);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = m->formulation;
    opt.integrator = m->integrator;
    opt.rtol = rtol;
    opt.atol = rtol;
    if (!isnan(kd_model_run(model)->max_step)) opt.integrator_options.h_max = kd_model_run(model)->max_step;
    opt.events.listener = listen;
    opt.events.context = r;
    if (m->formulation == KD_INDEX1 || m->formulation == KD_ODE) opt.formulation_options.projection = KD_PROJECT_ALWAYS;
    kd_status status =
        kd_simulate(eom, kd_system_inputs(r->system), &opt, r->x, t_end, &r->stats, message, sizeof message);
    if (status < 0)
        fail_msg("%s, %s: %s", kd_formulation_word(m->formulation), kd_integrator_word(m->integrator), message);
    assert_near(r->x->t, t_end, 0);
    read_sensors(r);
}

static kd_model *read_file(const char *path, const kd_setting *settings, int n)
{
    char      message[600] = "";
    kd_model *model = NULL;
    if (kd_model_read(path, settings, n, &model, message, sizeof message) < 0) fail_msg("%s", message);
    return model;
}

static kd_model *read_text(const char *text)
{
    char      message[600] = "";
    kd_model *model = NULL;
    if (kd_model_read_text("text", text, strlen(text), NULL, 0, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    return model;
}

static int count_of(const run *r, kd_event_kind kind)
{
    int n = 0;
    for (int i = 0; i < r->count; i++) n += r->log[i].kind == kind;
    return n;
}

// Time of impact number n, from 1
static double impact(const run *r, int n)
{
    for (int i = 0; i < r->count; i++)
        if (r->log[i].kind == KD_EVENT_IMPACT && --n == 0) return r->log[i].t;
    fail_msg("there are only %d impacts", count_of(r, KD_EVENT_IMPACT));
    return 0;
}

// ---- pendulum with a stop -------------------------------------------------------------------------------------------

// Impacts that die out towards grazing: times by elliptic integrals, in all methods.
static void test_pendulum_dies_out(void **state)
{
    (void)state;
    static const double times[] = {0.636375398716223335, 1.95380341134222952, 3.35390204401843567, 4.85825288596778513,
                                   6.47219706421657315,  8.18626110954932096, 9.98255359072926082};
    for (int k = 0; k < NMETHODS; k++) {
        run r;
        simulate(&r, read_file(MODEL("pendulum-stop"), NULL, 0), &METHODS[k], 0.7, 1e-12, 10);
        assert_int_equal(count_of(&r, KD_EVENT_IMPACT), 7);
        assert_int_equal(r.count, 7);
        for (int i = 0; i < 7; i++) assert_near(impact(&r, i + 1), times[i], 1e-10);
        assert_true(r.worst_identity < 1e-12);
        assert_non_null(strstr(r.last_text, "joint 'hinge' lower stop"));
        finish(&r);
    }
}

// The stop before the bottom: infinitely many impacts in finite time, then rest with the moment m g l sin 0.3.
static void test_pendulum_rests(void **state)
{
    (void)state;
    static const double     times[] = {0.433193401563121087, 1.18877951287651045, 1.83248201300491137,
                                       2.35827891937854433,  2.76794069122247198, 3.07431161199941802};
    static const kd_setting stop = {"stop", "0.3"};
    for (int k = 0; k < NMETHODS; k++) {
        run    r;
        double rtol = METHODS[k].formulation == KD_ODE ? 1e-13 : 1e-12;
        simulate(&r, read_file(MODEL("pendulum-stop"), &stop, 1), &METHODS[k], -1, rtol, 5);
        for (int i = 0; i < 6; i++) assert_near(impact(&r, i + 1), times[i], 1e-10);
        assert_near(impact(&r, 10), 3.647248119945612, 1e-10);
        assert_near(impact(&r, 20), 3.82717193772388401, 1e-10);
        assert_int_equal(count_of(&r, KD_EVENT_REST), 1);
        assert_int_equal(r.log[r.count - 1].kind, KD_EVENT_REST);
        assert_near(r.log[r.count - 1].t, 3.8324079952018349, 1e-5);
        assert_near(r.y[0], 0.3, 1e-10);
        assert_near(r.y[1], 0, 1e-10);
        assert_near(r.y[2], GRAVITY * sin(0.3), 1e-9);
        finish(&r);
    }
}

// ---- ball on a plane -----------------------------------------------------------------------------------------------

// Impacts in closed form, level and on a slope, rest, the force and the motion along the plane afterwards.
static void test_ball(void **state)
{
    (void)state;
    static const kd_setting slope = {"a", "0.3"};
    for (int k = 0; k < NMETHODS; k++)
        for (int tilted = 0; tilted < 2; tilted++) {
            run          r;
            const double a = tilted ? 0.3 : 0, e = 0.8, t1 = sqrt(2 / (GRAVITY * cos(a)));
            simulate(&r, read_file(MODEL("impact-ball"), &slope, tilted), &METHODS[k], -1, 1e-12, 5);
            for (int n = 1; n <= 20; n++) assert_near(impact(&r, n), t1 * (1 + 2 * (e - pow(e, n)) / (1 - e)), 1e-10);
            assert_int_equal(count_of(&r, KD_EVENT_REST), 1);
            assert_near(r.log[r.count - 1].t, t1 * (1 + e) / (1 - e), 2e-5);
            assert_near(r.y[0], 0, 1e-10);
            assert_near(r.y[1], 0.5 * GRAVITY * sin(a) * 25, 1e-10 * (1 + r.y[1]));
            assert_near(r.y[2], GRAVITY * sin(a) * 5, 1e-10 * (1 + r.y[2]));
            assert_near(r.y[3], 0.5 * GRAVITY * cos(a), 1e-9);
            finish(&r);
        }
}

// Matrices serve on behind impacts: of more than thirty, at most a few ask for a new one.
static void test_matrices_are_kept(void **state)
{
    (void)state;
    static const kd_integrator_kind integrators[] = {KD_RADAU, KD_BDF, KD_SDIRK};
    for (int k = 0; k < 3; k++) {
        run          r;
        const method m = {KD_JOINT, KD_GGL, integrators[k]};
        simulate(&r, read_file(MODEL("impact-ball"), NULL, 0), &m, -1, 1e-8, 5);
        int impacts = count_of(&r, KD_EVENT_IMPACT);
        if (!(impacts > 30 && r.stats.jacobians <= 5))
            fail_msg("%s: %d impacts, %ld Jacobians", kd_integrator_word(m.integrator), impacts, r.stats.jacobians);
        finish(&r);
    }
}

// ---- balls in a row ------------------------------------------------------------------------------------------------

// Without loss each ball hands on its velocity, there and back again; no energy is lost.
static void test_row_of_balls(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        run r;
        simulate(&r, read_file(MODEL("ball-row"), NULL, 0), &METHODS[k], 1, 1e-10, 0.3);
        assert_int_equal(r.count, 5);
        for (int n = 1; n <= 4; n++) assert_near(impact(&r, n), 0.1 + 0.01 * (n - 1), 1e-10);
        assert_near(impact(&r, 5), 0.28, 1e-10);
        assert_near(r.y[0], 0, 1e-10);
        assert_near(r.y[1], 0, 1e-10);
        assert_near(r.y[2], -1, 1e-10);
        assert_near(r.y[4], 0.1, 1e-11);
        assert_true(r.worst_identity < 1e-12);
        finish(&r);
        simulate(&r, read_file(MODEL("ball-row"), NULL, 0), &METHODS[k], 1, 1e-10, 1);
        assert_near(r.y[0], -1, 1e-10);
        assert_near(r.y[2], 0, 1e-10);
        finish(&r);
    }
}

// With e = 0.5 the first two balls leave their impact with v (1 - e)/2 and v (1 + e)/2; momentum is kept to the end.
static void test_row_with_loss(void **state)
{
    (void)state;
    static const kd_setting settings[] = {{"e", "0.5"}, {"wall", "10"}};
    for (int k = 0; k < 2; k++) {
        run r;
        simulate(&r, read_file(MODEL("ball-row"), settings, 2), &METHODS[k], -1, 1e-10, 0.105);
        assert_int_equal(r.count, 1);
        assert_near(r.y[0], 0.25, 1e-11);
        assert_near(r.y[1], 0.75, 1e-11);
        finish(&r);
        simulate(&r, read_file(MODEL("ball-row"), settings, 2), &METHODS[k], -1, 1e-10, 1);
        double momentum = 0;
        if (METHODS[k].coordinates == KD_CARTESIAN)
            for (int i = 0; i < 5; i++) momentum += 0.2 * r.x->v[6 * i];
        else
            for (int i = 0; i < 5; i++) momentum += 0.2 * (5 - i) * r.x->v[i];
        assert_near(momentum, 0.2, 1e-10);
        assert_true(r.count > 4);
        finish(&r);
    }
}

// ---- a closed loop -------------------------------------------------------------------------------------------------

static const char four_bar[] =
    "kardan: 1\n"
    "title: Four-bar linkage with a stop\n"
    "parameters: {a: 0.1, b: 0.35, c: 0.25, d: 0.3, s: d - a, cx: a + (b^2 - c^2 + s^2)/(2*s), cy: 'sqrt(b^2 - (cx - "
    "a)^2)'}\n"
    "gravity: [0, -9.81, 0]\n"
    "bodies:\n"
    "  crank: {position: [a/2, 0, 0], mass: 0.1, inertia: [1e-4, 1e-4, 1e-4]}\n"
    "  coupler: {position: [(a + cx)/2, cy/2, 0], mass: 0.4, inertia: [4e-3, 4e-3, 4e-3]}\n"
    "  rocker: {position: [(d + cx)/2, cy/2, 0], mass: 0.3, inertia: [2e-3, 2e-3, 2e-3]}\n"
    "joints:\n"
    "  motor: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1], q: 0.4, v: 3}\n"
    "  crank-pin: {type: revolute, bodies: [crank, coupler], point: [a, 0, 0], axis: [0, 0, 1]}\n"
    "  rocker-pin: {type: revolute, bodies: [coupler, rocker], point: [cx, cy, 0], axis: [0, 0, 1], cut: yes}\n"
    "  pivot: {type: revolute, bodies: [ground, rocker], point: [d, 0, 0], axis: [0, 0, 1]}\n"
    "forces:\n"
    "  knee: {type: joint_stop, joint: rocker-pin, lower: -0.1, upper: 0.35, restitution: 0.6}\n"
    "sensors:\n"
    "  angle: {value: joint.rocker-pin.q}\n"
    "  crank: {value: joint.motor.q}\n";

// The stop of the joint that closes the loop: the same impacts in all methods, and the identity of the energies.
static void test_closed_loop(void **state)
{
    (void)state;
    run first = {0};
    for (int k = 0; k < NMETHODS; k++) {
        run r;
        simulate(&r, read_text(four_bar), &METHODS[k], 0.6, 1e-10, 1.5);
        assert_true(r.worst_identity < 1e-11);
        if (k == 0) {
            first = r;
            assert_true(r.count >= 3);
        } else {
            assert_int_equal(r.count, first.count);
            for (int i = 0; i < r.count; i++) {
                assert_near(r.log[i].t, first.log[i].t, 1e-8);
                assert_int_equal(r.log[i].kind, first.log[i].kind);
            }
            for (int i = 0; i < 2; i++) assert_near(r.y[i], first.y[i], 1e-7);
        }
        finish(&r);
    }
}

// ---- many rows of one body -----------------------------------------------------------------------------------------

// A cube comes to rest on a face, on at most three of its corners; vertical forces keep spin and momentum.
static void test_dice(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        run r;
        simulate(&r, read_file(MODEL("dice"), NULL, 0), &METHODS[k], -1, 1e-9, 4);
        int held = 0, first = kd_eom_dims(kd_system_eom(r.system)).nlambda - 8;
        for (int i = 0; i < 8; i++) held += r.x->active_lambda[first + i];
        assert_true(held == 2 || held == 3); // its centre may lie above a diagonal
        assert_near(r.y[0], 0.1, 1e-9);
        assert_near(r.y[1], 0.3, 1e-9);
        assert_near(r.y[2], 3, 1e-5);
        assert_near(r.y[3], 0, 1e-12);
        assert_near(r.y[4], GRAVITY, 1e-6);
        finish(&r);
    }
}

static const char shaker[] = "kardan: 1\n"
                             "title: Ball on a shaking table\n"
                             "parameters: {A: 0.05, w: 20}\n"
                             "gravity: [0, 0, -9.81]\n"
                             "bodies:\n"
                             "  table: {mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
                             "  ball: {position: [0, 0, 0.1], mass: 0.5, inertia: [0.01, 0.01, 0.01]}\n"
                             "joints: {drive: {type: prismatic, from: ground, to: table, motion: 'A*sin(w*t)'}}\n"
                             "forces: {touch: {type: contact, from: table, to: ball, radius: 0.1, restitution: 0}}\n"
                             "sensors: {press: force.touch.fz}\n";

// A ball on a table that shakes: it leaves where A w^2 sin(w t) = g, flies, lands without a bounce and leaves again.
static void test_shaken(void **state)
{
    (void)state;
    const double A = 0.05, w = 20, leaves = asin(GRAVITY / (A * w * w)) / w;
    const double z0 = A * sin(w * leaves), v0 = A * w * cos(w * leaves);
    double       low = 0.1, high = 0.25; // of the flight: the ball is above the table, then below
    for (int i = 0; i < 80; i++) {
        double t = 0.5 * (low + high), gap = z0 + v0 * t - 0.5 * GRAVITY * t * t - A * sin(w * (leaves + t));
        *(gap > 0 ? &low : &high) = t;
    }
    for (int k = 0; k < NMETHODS; k++) {
        run r;
        simulate(&r, read_text(shaker), &METHODS[k], -1, 1e-11, 0.3);
        assert_true(r.count >= 3);
        assert_int_equal(r.log[0].kind, KD_EVENT_RELEASE);
        assert_near(r.log[0].t, leaves, 1e-10);
        assert_int_equal(r.log[1].kind, KD_EVENT_IMPACT);
        assert_near(r.log[1].t, leaves + low, 1e-9);
        finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pendulum_dies_out),
        cmocka_unit_test(test_pendulum_rests),
        cmocka_unit_test(test_ball),
        cmocka_unit_test(test_matrices_are_kept),
        cmocka_unit_test(test_row_of_balls),
        cmocka_unit_test(test_row_with_loss),
        cmocka_unit_test(test_closed_loop),
        cmocka_unit_test(test_dice),
        cmocka_unit_test(test_shaken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
