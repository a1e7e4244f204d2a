// The stepper as an object: ports, memory, deadlines, failures and the way back from them, models in both coordinates.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>

#include "core/failing_allocator.h"
#include "realtime/stepping.h"
#include "systems/systems.h"

// ---- models ---------------------------------------------------------------------------------------------------------
typedef struct loaded {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
} loaded;

static loaded load_text(const char *text, kd_coordinates coordinates)
{
    loaded            l;
    char              message[800];
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    if (kd_model_read_text("test", text, strlen(text), NULL, 0, &l.model, message, sizeof message) < 0 ||
        kd_system_create(l.model, &opt, &l.system, message, sizeof message) < 0 ||
        kd_state_create(kd_system_eom(l.system), &l.x) < 0 ||
        kd_system_start(l.system, l.x, message, sizeof message) < 0)
        fail_msg("%s", message);
    return l;
}

static loaded load_file(const char *path, kd_coordinates coordinates)
{
    loaded            l;
    char              message[800];
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    if (kd_model_read(path, NULL, 0, &l.model, message, sizeof message) < 0 ||
        kd_system_create(l.model, &opt, &l.system, message, sizeof message) < 0 ||
        kd_state_create(kd_system_eom(l.system), &l.x) < 0 ||
        kd_system_start(l.system, l.x, message, sizeof message) < 0)
        fail_msg("%s: %s", path, message);
    return l;
}

static void unload(loaded *l)
{
    kd_state_destroy(l->x);
    kd_system_destroy(l->system);
    kd_model_destroy(l->model);
}

static kd_realtime *step_model(const loaded *l, const kd_realtime_options *opt)
{
    return start_stepper(kd_system_eom(l->system), kd_system_inputs(l->system), opt, l->x);
}

// A slider on a spring, pushed by an input from outside.
static const char *slider = "kardan: 1\n"
                            "title: slider\n"
                            "gravity: [0, 0, 0]\n"
                            "inputs:\n"
                            "  push: {start: 0}\n"
                            "bodies:\n"
                            "  mass: {mass: 2, inertia: [1, 1, 1]}\n"
                            "joints:\n"
                            "  rail: {type: prismatic, bodies: [ground, mass], point: [0, 0, 0], axis: [1, 0, 0]}\n"
                            "forces:\n"
                            "  spring: {type: joint_spring, joint: rail, law: input.push - 50*joint.rail.q}\n"
                            "sensors:\n"
                            "  place: joint.rail.q\n"
                            "  speed: joint.rail.v\n";

// Ports are found by name; a held input moves the slider to its new equilibrium, and outputs tell.
static void ports(void **state)
{
    (void)state;
    loaded              l = load_text(slider, KD_JOINT);
    kd_realtime_options opt = kd_realtime_options_default();
    opt.part = KD_PART_ALL;
    kd_realtime *rt = step_model(&l, &opt);
    double       in[1] = {10.0}, out[2] = {0};
    int          push = kd_realtime_input(rt, "push"), place = kd_realtime_output(rt, "place");
    assert_int_equal(push, 0);
    assert_int_equal(kd_realtime_input(rt, "pull"), -1);
    assert_int_equal(kd_realtime_output(rt, "pus"), -1);
    assert_true(place >= 0 && kd_realtime_output(rt, "speed") >= 0);
    // undamped: swings between 0 and twice the static deflection of 0.2 m
    double most = 0.0;
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(kd_realtime_step(rt, i == 0 ? in : NULL, out), KD_OK);
        most = fmax(most, out[place]);
        assert_true(out[place] == kd_realtime_state(rt)->p[0]);
    }
    assert_true(fabs(most - 0.4) < 2e-3);
    kd_realtime_destroy(rt);

    // an input that is not external is not read
    opt.external = (bool[]){false};
    rt = step_model(&l, &opt);
    for (int i = 0; i < 100; i++) assert_int_equal(kd_realtime_step(rt, in, out), KD_OK);
    assert_true(out[place] == 0.0);
    kd_realtime_destroy(rt);
    unload(&l);
}

// A quaternion and its negative are the same orientation.
static void same_side(const double *q, double *other)
{
    double dot = 0.0;
    for (int i = 0; i < 4; i++) dot += q[i] * other[i];
    for (int i = 0; i < 4 && dot < 0.0; i++) other[i] = -other[i];
}

// Vehicles, rails, loops, in both coordinate sets: the same motion up to the error of the method, constraints held.
static void models_in_both_coordinates(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double      t, h, tolerance;
    } models[] = {{"four-bar", 0.5, 1e-3, 2e-2},
                  {"slider-crank", 0.05, 1e-4, 2e-2},
                  {"stewart", 0.2, 1e-3, 2e-2},
                  {"gyroscope", 0.3, 1e-4, 5e-2}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        double pose[2][7 * 32];
        int    n = 0;
        for (int c = 0; c < 2; c++) {
            char path[300];
            snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, models[i].file);
            loaded              l = load_file(path, c == 0 ? KD_JOINT : KD_CARTESIAN);
            kd_realtime_options opt = kd_realtime_options_default();
            kd_realtime_defect  defect;
            kd_poses           *poses;
            opt.part = KD_PART_ALL;
            opt.h = models[i].h;
            opt.external = calloc(16, sizeof *opt.external);
            kd_realtime *rt = step_model(&l, &opt);
            make_steps(rt, lround(models[i].t / opt.h));
            assert_int_equal(kd_realtime_defects(rt, &defect), KD_OK);
            if (defect.position > 1e-6 || defect.velocity > 1e-9)
                fail_msg("%s: defects %.3g, %.3g", models[i].file, defect.position, defect.velocity);
            assert_int_equal(kd_poses_create(l.system, &poses), KD_OK);
            assert_int_equal(kd_poses_at(poses, kd_realtime_state(rt), pose[c]), KD_EVAL_OK);
            n = kd_system_info_of(l.system).nbodies;
            kd_poses_destroy(poses);
            kd_realtime_destroy(rt);
            free((void *)opt.external);
            unload(&l);
        }
        for (int b = 0; b < n; b++) same_side(pose[0] + 7 * b + 3, pose[1] + 7 * b + 3);
        double d = distance(pose[0], pose[1], 7 * n);
        if (d > models[i].tolerance) fail_msg("%s: the coordinate sets differ by %.3g", models[i].file, d);
    }
}

// ---- fixed work -----------------------------------------------------------------------------------------------------
// Steps do not allocate, and the evaluations of a step are those that the structure tells.
static void work_is_fixed(void **state)
{
    (void)state;
    for (int s = 0; s < KD_REALTIME_STABILISATION_COUNT; s++)
        for (int j = 0; j < KD_REALTIME_JACOBIAN_COUNT; j++) {
            failing_allocator   f = {0};
            subject             e = open_example("caraxis");
            kd_realtime_options opt = kd_realtime_options_default();
            opt.stabilisation = (kd_realtime_stabilisation)s;
            opt.jacobian = (kd_realtime_jacobian)j;
            if (s == KD_REALTIME_GGL && j == KD_REALTIME_EXACT) opt.stabilisation = KD_REALTIME_PROJECTION;
            failing_allocator_use(&f);
            kd_realtime *rt = start_stepper(e.eom, NULL, &opt, e.x);
            long         before = f.calls;
            make_steps(rt, 20);
            assert_int_equal(f.calls, before);
            kd_realtime_work w = kd_realtime_work_of(rt);
            assert_int_equal(w.unknowns, 6);
            assert_true(w.factorisations >= 1 && w.solves >= 1 && w.factor_operations > 0 && w.solve_operations > 0);
            assert_true(w.calls[KD_RESIDUAL] == (j == KD_REALTIME_J3 ? 2 : 1));
            kd_realtime_destroy(rt);
            assert_int_equal(f.live, 0);
            kd_set_allocator(NULL);
            close_example(&e);
        }
}

// Every allocation of the creation may fail.
static void memory_may_end(void **state)
{
    (void)state;
    subject             e = open_example("caraxis");
    kd_realtime_options opt = kd_realtime_options_default();
    opt.stabilisation = KD_REALTIME_PROJECTION;
    for (long fail_at = 1;; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        kd_realtime      *rt;
        failing_allocator_use(&f);
        kd_status status = kd_realtime_create(e.eom, NULL, &opt, e.x, &rt, NULL, 0);
        kd_realtime_destroy(rt);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        if (f.calls < fail_at) {
            assert_int_equal(status, KD_OK);
            break;
        }
        assert_true(status < 0);
        assert_null(rt);
    }
    close_example(&e);
}

// ---- failures -------------------------------------------------------------------------------------------------------
// The explicit method leaves the finite on a stiff spring: the status says so, the state is the last good one.
static void divergence_is_told(void **state)
{
    (void)state;
    subject             e = open_example("caraxis");
    kd_realtime_options opt = kd_realtime_options_default();
    opt.h = 0.5;
    opt.jacobian = KD_REALTIME_EXPLICIT;
    opt.stabilisation = KD_REALTIME_NONE;
    opt.index = 1;
    kd_realtime *rt;
    char         message[500];
    kd_status    status = kd_realtime_create(e.eom, NULL, &opt, e.x, &rt, message, sizeof message);
    for (int i = 0; status >= 0 && i < 2000; i++) status = kd_realtime_step(rt, NULL, NULL);
    assert_true(status < 0);
    if (rt) {
        const kd_state *x = kd_realtime_state(rt);
        for (int i = 0; i < x->n; i++) assert_true(isfinite(x->p[i]));
        assert_true(strlen(kd_realtime_message(rt)) > 20);
        double t = x->t;
        assert_int_equal(kd_realtime_step(rt, NULL, NULL), status);
        assert_true(kd_realtime_state(rt)->t == t);
    } else {
        assert_true(strlen(message) > 20);
    }
    kd_realtime_destroy(rt);
    close_example(&e);
}

// A state of the past gives the steps of the past again, bit by bit.
static void way_back(void **state)
{
    (void)state;
    subject             e = open_example("circulartrack");
    kd_realtime_options opt = kd_realtime_options_default();
    kd_realtime        *rt = start_stepper(e.eom, NULL, &opt, e.x);
    kd_state           *kept, *later;
    assert_int_equal(kd_state_create(e.eom, &kept), KD_OK);
    assert_int_equal(kd_state_create(e.eom, &later), KD_OK);
    make_steps(rt, 50);
    kd_state_copy(kd_realtime_state(rt), kept);
    assert_int_equal(kd_realtime_restore(rt, kept), KD_OK);
    make_steps(rt, 100);
    assert_int_equal(kd_realtime_steps(rt), 100);
    kd_state_copy(kd_realtime_state(rt), later);
    assert_int_equal(kd_realtime_restore(rt, kept), KD_OK);
    make_steps(rt, 100);
    assert_memory_equal(later->p, kd_realtime_state(rt)->p, later->size * sizeof(double));
    assert_true(later->t == kd_realtime_state(rt)->t);
    kd_state_destroy(kept);
    kd_state_destroy(later);
    kd_realtime_destroy(rt);
    close_example(&e);
}

// An input that is no number is refused by name and forgotten.
static void bad_inputs(void **state)
{
    (void)state;
    loaded              l = load_text(slider, KD_JOINT);
    kd_realtime_options opt = kd_realtime_options_default();
    kd_realtime        *rt = step_model(&l, &opt), *other = step_model(&l, &opt);
    const double        good[1] = {10.0}, none[1] = {NAN};
    assert_int_equal(kd_realtime_step(rt, good, NULL), KD_OK);
    assert_int_equal(kd_realtime_step(rt, none, NULL), KD_ERR_NOT_FINITE);
    assert_non_null(strstr(kd_realtime_message(rt), "push"));
    assert_int_equal(kd_realtime_step(rt, NULL, NULL), KD_OK); // the last good ones
    assert_int_equal(kd_realtime_step(other, good, NULL), KD_OK);
    make_steps(other, 1);
    assert_true(kd_realtime_state(rt)->p[0] == kd_realtime_state(other)->p[0]);
    assert_true(kd_realtime_state(rt)->v[0] == kd_realtime_state(other)->v[0]);
    kd_realtime_destroy(rt);
    kd_realtime_destroy(other);
    unload(&l);
}

// ---- discrete states ------------------------------------------------------------------------------------------------
static kd_eval unit_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 1.0;
    return KD_EVAL_OK;
}
static kd_eval sampled_force(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->z[0] + x->u[0];
    return x->u[0] > 100.0 ? KD_EVAL_RETRY : KD_EVAL_OK;
}
static double every_tenth_step(const kd_point *x, void *context)
{
    (void)context;
    return 0.01 * (floor(100.0 * x->t) + 1.0);
}
static kd_eval count_up(const kd_point *x, void *context, double *z)
{
    (void)context;
    z[0] = x->z[0] + 1.0;
    return KD_EVAL_OK;
}

static double sampled(const kd_realtime *rt)
{
    return kd_realtime_state(rt)->z[0];
}

// Samples come at their times, also after a way back between two of them; a step that fails takes its sample and its
// inputs with it.
static void discrete_states(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nz = 1, .nu = 1};
    def.M = unit_mass;
    def.f = sampled_force;
    def.next_sample = every_tenth_step;
    def.discrete = count_up;
    kd_eom             *eom;
    kd_state           *x, *kept;
    const double        refused[1] = {200.0}, one[1] = {1.0};
    kd_realtime_options opt = kd_realtime_options_default();
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_int_equal(kd_state_create(eom, &kept), KD_OK);
    kd_realtime *rt = start_stepper(eom, NULL, &opt, x);
    assert_int_equal(kd_realtime_step(rt, one, NULL), KD_OK);
    make_steps(rt, 14);
    assert_true(sampled(rt) == 2.0); // at 0 and 0.01
    kd_state_copy(kd_realtime_state(rt), kept);
    make_steps(rt, 10);
    assert_true(sampled(rt) == 3.0);
    assert_int_equal(kd_realtime_restore(rt, kept), KD_OK);
    make_steps(rt, 4);
    assert_true(sampled(rt) == 2.0); // that of 0.02 is still to come
    assert_true(kd_realtime_step(rt, refused, NULL) < 0);
    assert_true(sampled(rt) == 2.0);
    double v = kd_realtime_state(rt)->v[0];
    make_steps(rt, 1);
    assert_true(sampled(rt) == 3.0); // at the end of the step
    assert_true(fabs(kd_realtime_state(rt)->v[0] - v - 3.0 * opt.h) < 1e-15);
    kd_state_copy(kd_realtime_state(rt), kept);
    assert_int_equal(kd_realtime_restore(rt, kept), KD_OK);
    make_steps(rt, 1);
    assert_true(sampled(rt) == 3.0); // once
    assert_true(fabs(kd_realtime_state(rt)->v[0] - v - 7.0 * opt.h) < 1e-15);
    kd_realtime_destroy(rt);
    kd_state_destroy(x);
    kd_state_destroy(kept);
    kd_eom_destroy(eom);
}

// A sampled controller of a model is computed at each fiftieth step, also after an hour of small steps, when times that
// were added up would be off; at a first-order distance from the exact recursion in the beginning.
static void sampled_model(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/models/sampled-speed.yaml", KD_SOURCE_DIR);
    for (int c = 0; c < 2; c++) {
        loaded              l = load_file(path, c == 0 ? KD_JOINT : KD_CARTESIAN);
        kd_realtime_options opt = kd_realtime_options_default();
        kd_realtime        *rt = step_model(&l, &opt);
        const int           last = kd_eom_dims(kd_system_eom(l.system)).nz - 1; // number of the next sample
        for (int k = 1; k <= (c == 0 ? 7200 : 100); k++) {
            assert_true(kd_realtime_state(rt)->z[last] == k);
            make_steps(rt, 49);
            assert_true(kd_realtime_state(rt)->z[last] == k);
            make_steps(rt, 1);
            assert_true(kd_realtime_state(rt)->z[last] == k + 1);
            if (k == 10) assert_true(fabs(kd_realtime_state(rt)->v[0] - 0.890131264226897) < 1e-4);
        }
        kd_realtime_destroy(rt);
        unload(&l);
    }
}

// The rate of an inner state grows from 10 to 1e4 1/s: at the end h times it is 10, which a derivative of the beginning does not
// hold. Renewed in parts it follows the slider as closely as with derivatives of every step.
static void states_in_parts(void **state)
{
    (void)state;
    static const char *text = "kardan: 1\n"
                              "title: follower\n"
                              "gravity: [0, 0, 0]\n"
                              "bodies:\n"
                              "  mass: {mass: 2, inertia: [1, 1, 1], velocity: [0.3, 0, 0]}\n"
                              "joints:\n"
                              "  guide: {type: prismatic, bodies: [ground, mass], point: [0, 0, 0], axis: [1, 0, 0]}\n"
                              "states:\n"
                              "  follower: {type: ode, input: (10 + 1e4*t)*(joint.guide.q - state.follower)}\n"
                              "forces:\n"
                              "  spring: {type: joint_spring, joint: guide, stiffness: 200, stiff: true}\n"
                              "  drag: {type: joint_spring, joint: guide, law: -20*state.follower, stiff: true}\n";
    double             r[3];
    for (int k = 0; k < 3; k++) {
        loaded              l = load_text(text, KD_JOINT);
        kd_realtime_options opt = kd_realtime_options_default();
        opt.refresh = (const int[]){1, 3, 4}[k];
        kd_realtime *rt = step_model(&l, &opt);
        make_steps(rt, 1000);
        const kd_state *x = kd_realtime_state(rt);
        r[k] = x->r[0];
        assert_true(fabs(x->r[0] - x->p[0]) < 2e-4);
        assert_true(fabs(x->p[0]) > 0.01);
        kd_realtime_destroy(rt);
        unload(&l);
    }
    assert_true(fabs(r[1] - r[0]) < 1e-5 && fabs(r[2] - r[0]) < 1e-5);
    assert_true(r[1] != r[0] && r[2] != r[0]);
}

// ---- motions --------------------------------------------------------------------------------------------------------
// A prescribed crank that starts gently turns three times; the angle at the far end of its rod, which is counted and
// moves also by itself, stays between its bounds.
static void counted_angle(void **state)
{
    (void)state;
    static const char *text =
        "kardan: 1\n"
        "title: crank\n"
        "gravity: [0, 0, 0]\n"
        "bodies:\n"
        "  crank: {position: [0, 0, 0.1], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
        "  rod: {position: [0.3, 0, 0.2], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
        "  slider: {position: [0.6, 0, 0.2], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
        "joints:\n"
        "  bearing: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 1, 0], motion: 10*t^2}\n"
        "  pin: {type: revolute, bodies: [crank, rod], point: [0, 0, 0.2], axis: [0, 1, 0]}\n"
        "  guide: {type: prismatic, bodies: [ground, slider], point: [0.6, 0, 0.2], axis: [1, 0, 0]}\n"
        "  end: {type: revolute, bodies: [rod, slider], point: [0.6, 0, 0.2], axis: [0, 1, 0], cut: yes}\n"
        "forces:\n"
        "  spring: {type: joint_spring, joint: end, law: -1*q}\n"
        "sensors:\n"
        "  angle: joint.end.q\n";
    for (int ahead = 0; ahead < 2; ahead++) {
        loaded              l = load_text(text, KD_JOINT);
        kd_realtime_options opt = kd_realtime_options_default();
        double              angle[1], most = 0.0;
        opt.ahead = ahead;
        kd_realtime *rt = step_model(&l, &opt);
        for (int i = 0; i < 1400; i++) {
            assert_int_equal(kd_realtime_step(rt, NULL, angle), KD_OK);
            most = fmax(most, fabs(angle[0]));
        }
        // height of the crank's end above the guide 0.4 m at most, length of the rod 0.6 m
        if (fabs(most - asin(0.4 / 0.6)) > 0.02) fail_msg("angle up to %.4f", most);
        kd_realtime_destroy(rt);
        unload(&l);
    }
}

// A step that takes longer than its deadline is done and told.
static void deadlines(void **state)
{
    (void)state;
    subject             e = open_example("caraxis");
    kd_realtime_options opt = kd_realtime_options_default();
    opt.deadline = 1e-12;
    kd_realtime *rt = start_stepper(e.eom, NULL, &opt, e.x);
    assert_int_equal(kd_realtime_step(rt, NULL, NULL), KD_LATE);
    assert_int_equal(kd_realtime_steps(rt), 1);
    assert_true(kd_realtime_seconds(rt) > 0.0);
    assert_non_null(strstr(kd_realtime_message(rt), "deadline"));
    kd_realtime_destroy(rt);
    opt.deadline = 1e6;
    rt = start_stepper(e.eom, NULL, &opt, e.x);
    assert_int_equal(kd_realtime_step(rt, NULL, NULL), KD_OK);
    kd_realtime_destroy(rt);
    close_example(&e);
}

// What has no meaning is refused in words that name a way out; redundant rows need the regularisation.
static void refusals(void **state)
{
    (void)state;
    subject                   e = open_example("caraxis");
    const kd_realtime_options good = kd_realtime_options_default();
    kd_realtime_options       bad[8];
    const char *word[8] = {"step", "step", "index", "index 2", "projection", "projection", "number", "meaning"};
    for (int i = 0; i < 8; i++) bad[i] = good;
    bad[0].h = 0.0;
    bad[1].h = NAN;
    bad[2].index = 3;
    bad[3].index = 1;
    bad[4].velocities_first = true;
    bad[5].jacobian = KD_REALTIME_EXACT;
    bad[6].alpha = NAN;
    bad[7].projector = KD_REALTIME_PROJECTOR_COUNT;
    for (int i = 0; i < 8; i++) {
        kd_realtime *rt;
        char         message[300];
        assert_true(kd_realtime_create(e.eom, NULL, &bad[i], e.x, &rt, message, sizeof message) < 0);
        assert_null(rt);
        if (!strstr(message, word[i])) fail_msg("case %d: '%s'", i, message);
    }
    close_example(&e);

    kd_eom      *eom;
    kd_state    *x;
    kd_realtime *rt;
    char         message[800];
    assert_int_equal(kd_test_bricard_create(&eom, &x), KD_OK);
    assert_int_equal(kd_realtime_create(eom, NULL, &good, x, &rt, message, sizeof message), KD_ERR_REDUNDANT);
    assert_non_null(strstr(message, "regularisation"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Energies where the equations know them.
static void energies(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/models/double-pendulum.yaml", KD_SOURCE_DIR);
    loaded              l = load_file(path, KD_JOINT);
    kd_realtime_options opt = kd_realtime_options_default();
    kd_energies         e0, e1;
    kd_realtime        *rt = step_model(&l, &opt);
    assert_int_equal(kd_realtime_energies(rt, &e0), KD_OK);
    make_steps(rt, 200);
    assert_int_equal(kd_realtime_energies(rt, &e1), KD_OK);
    assert_true(fabs(e1.kinetic - e0.kinetic) > 0.1);
    assert_true(fabs(e1.kinetic + e1.potential - e0.kinetic - e0.potential) < 0.05 * fabs(e1.kinetic));
    kd_realtime_destroy(rt);
    unload(&l);
}

// ---- events ---------------------------------------------------------------------------------------------------------

// A cart between two buffers at p = -1 and 1, which reverse its velocity and count (z); a counter of 3 rings a bell
// (z[1]), one of 5 stops.
static kd_eval cart_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 2;
    return KD_EVAL_OK;
}

static kd_eval cart_force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    return KD_EVAL_OK;
}

static kd_eval cart_functions(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = 1 - x->p[0];
    out[1] = 1 + x->p[0];
    out[2] = x->z[0] - 2.5;
    return KD_EVAL_OK;
}

static kd_eval cart_event(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    const int *mode = context;
    if (crossed[2] > 0) jump->z[1] = x->t;
    if ((crossed[0] < 0 && x->v[0] > 0) || (crossed[1] < 0 && x->v[0] < 0)) {
        jump->v[0] = -x->v[0];
        jump->z[0] += 1;
        jump->moved = true;
        if (*mode == 1) jump->active_lambda[0] = 0;
    }
    jump->stop = jump->z[0] == 5;
    return *mode == 2 && jump->z[0] == 2 ? KD_EVAL_STOP : KD_EVAL_OK;
}

static kd_eval cart_track(const kd_point *x, void *context, double *g) // a second coordinate that does not move
{
    (void)context;
    g[0] = x->p[1];
    return KD_EVAL_OK;
}

static kd_eval track_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 2;
    return KD_EVAL_OK;
}

static kd_eval track_force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = f[1] = 0;
    return KD_EVAL_OK;
}

static kd_eom *make_cart(int *mode)
{
    kd_eom    *eom;
    char       message[300];
    kd_eom_def def = kd_eom_def_default();
    bool       track = *mode == 1;
    def.dims = (kd_dims){.np = 1 + track, .nv = 1 + track, .nlambda = track, .nz = 2, .nswitch = 3};
    def.context = mode;
    def.M = track ? track_mass : cart_mass;
    def.f = track ? track_force : cart_force;
    if (track) def.g = cart_track;
    def.switching = cart_functions;
    def.event = cart_event;
    if (kd_eom_create(&def, &eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    return eom;
}

// Events come at the end of the step in which a function changed its sign, those that they cause a step later; one that
// stops says so. Going back gives the same again, bit by bit, without memory.
static void events_at_ends_of_steps(void **state)
{
    (void)state;
    int                 mode = 0;
    kd_eom             *eom = make_cart(&mode);
    kd_state           *x, *middle;
    kd_realtime_options opt = kd_realtime_options_default();
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_int_equal(kd_state_create(eom, &middle), KD_OK);
    opt.h = 1e-2;
    x->v[0] = 1.003;
    kd_realtime *rt = start_stepper(eom, NULL, &opt, x);
    for (int again = 0; again < 2; again++) {
        int n = 0, bounces = 0;
        for (kd_status status = KD_OK; status == KD_OK; n++) {
            double v = kd_realtime_state(rt)->v[0];
            status = kd_realtime_step(rt, NULL, NULL);
            assert_true(status == KD_OK || status == KD_STOPPED);
            const kd_state *now = kd_realtime_state(rt);
            if (now->v[0] * v < 0) {
                bounces++;
                assert_true(fabs(now->p[0]) > 1 && fabs(now->p[0]) < 1 + 1.003e-2);
                if (bounces == 2) kd_state_copy(now, middle);
            }
            assert_true(now->z[0] == bounces);
        }
        const kd_state *now = kd_realtime_state(rt);
        assert_int_equal(bounces, 5);
        assert_non_null(strstr(kd_realtime_message(rt), "stopped by an event at t = "));
        // 1 + 4 * 2 m and what was driven beyond the buffers
        assert_true(now->t * 1.003 > 9 && now->t * 1.003 < 9 + 9 * 1.003e-2);
        assert_true(now->z[1] > 4.98 && now->z[1] < 5.03); // the third bounce
        // from the second bounce again, twice, without memory
        double            end[2][2];
        failing_allocator a = {0};
        failing_allocator_use(&a);
        for (int k = 0; k < 2; k++) {
            kd_status status = kd_realtime_restore(rt, middle);
            while (status == KD_OK) status = kd_realtime_step(rt, NULL, NULL);
            end[k][0] = kd_realtime_state(rt)->t;
            end[k][1] = kd_realtime_state(rt)->p[0];
        }
        kd_set_allocator(NULL);
        assert_int_equal(a.calls, 0);
        assert_memory_equal(end[0], end[1], sizeof end[0]);
        assert_int_equal(kd_realtime_restore(rt, x), KD_OK);
    }
    kd_realtime_destroy(rt);
    kd_state_destroy(middle);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Events that switch constraints are refused where they happen; functions that stop are told: the state stays.
static void events_that_cannot_be(void **state)
{
    (void)state;
    for (int mode = 1; mode <= 2; mode++) {
        kd_eom             *eom = make_cart(&mode);
        kd_state           *x;
        kd_realtime_options opt = kd_realtime_options_default();
        kd_status           status = KD_OK;
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        opt.h = 1e-2;
        x->v[0] = 1;
        kd_realtime *rt = start_stepper(eom, NULL, &opt, x);
        while (status == KD_OK) status = kd_realtime_step(rt, NULL, NULL);
        assert_int_equal(status, mode == 1 ? KD_ERR_UNSUPPORTED : KD_ERR_CALLBACK_STOP);
        assert_non_null(strstr(kd_realtime_message(rt), mode == 1 ? "switches constraints" : "the state is that of"));
        assert_true(fabs(kd_realtime_state(rt)->t - (mode == 1 ? 1 : 3.01)) < 2.1e-2);
        kd_realtime_destroy(rt);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports),
        cmocka_unit_test(models_in_both_coordinates),
        cmocka_unit_test(work_is_fixed),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(divergence_is_told),
        cmocka_unit_test(way_back),
        cmocka_unit_test(bad_inputs),
        cmocka_unit_test(discrete_states),
        cmocka_unit_test(sampled_model),
        cmocka_unit_test(states_in_parts),
        cmocka_unit_test(counted_angle),
        cmocka_unit_test(deadlines),
        cmocka_unit_test(refusals),
        cmocka_unit_test(energies),
        cmocka_unit_test(events_at_ends_of_steps),
        cmocka_unit_test(events_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
