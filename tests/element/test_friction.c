// Friction along joints: laws, the force across a joint as an auxiliary variable, derivatives, and what is refused.
#include "model/build_helpers.h"

#include <kardan/kardan.h>

#include "core/failing_allocator.h"

#define assert_close(a, b, tolerance) close_or_fail((a), (b), (tolerance), __LINE__)
static void close_or_fail(double a, double b, double tolerance, int line)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("line %d: %.15g and %.15g", line, a, b);
}

typedef struct fixture {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
} fixture;

static fixture open_text(const char *text, kd_coordinates coordinates)
{
    fixture           f = {0};
    char              message[2000] = "";
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    kd_status status = kd_model_read_text("test", text, strlen(text), NULL, 0, &f.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(f.model, &opt, &f.system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(f.system), &f.x);
    if (status >= 0) status = kd_system_start(f.system, f.x, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    return f;
}

static void close_text(fixture *f)
{
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static void sensors(const fixture *f, double *y)
{
    kd_eom_data *data = NULL;
    CHECK(kd_eom_data_create(kd_system_eom(f->system), &data));
    kd_eom_at_time(data, f->x->t, NULL, NULL, NULL, f->x->z);
    kd_eom_at_position(data, f->x->p, f->x->s);
    kd_eom_at_velocity(data, f->x->v, f->x->r);
    kd_eom_at_acceleration(data, f->x->a, f->x->w, f->x->lambda, f->x->mu);
    assert_int_equal(kd_eom_eval(data, KD_Y, y), KD_EVAL_OK);
    kd_eom_data_destroy(data);
}

static void refuses(const char *text, const char *part)
{
    char      message[2000] = "";
    kd_model *model = NULL;
    assert_int_equal(kd_model_read_text("test", text, strlen(text), NULL, 0, &model, message, sizeof message),
                     KD_ERR_MODEL);
    assert_has(message, part);
    kd_model_destroy(model);
}

// ---- single joints with known reactions -----------------------------------------------------------------------------

#define BLOCK                                                                                                          \
    "kardan: 1\nbodies: {block: {mass: 3, inertia: [1, 1, 1]}}\n"                                                      \
    "joints: {slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [4, 0, 3], q: 1, v: 2}}\n"
#define WHEEL                                                                                                          \
    "kardan: 1\nbodies: {wheel: {mass: 3, inertia: [1, 1, 2]}}\n"                                                      \
    "joints: {axle: {type: revolute, bodies: [ground, wheel], point: [0, 0, 0], axis: [0, 1, 0], q: 9, v: -2}}\n"      \
    "gravity: [0, 0, -10]\n"

// A block on an incline: force across m g cos, deceleration g (sin + mu cos); start values as given.
static void block_on_an_incline(void **state)
{
    static const char text[] =
        BLOCK "gravity: [0, 0, -10]\n"
              "forces: {rub: {type: joint_friction, joint: slide, normal: 0.5, slip: 1e-3}}\n"
              "sensors: {a: joint.slide.a, q: joint.slide.q, v: joint.slide.v, f: force.rub.force}\n";
    (void)state;
    for (int c = 0; c < 2; c++) {
        double  y[4];
        char    name[100];
        fixture f = open_text(text, (kd_coordinates)c);
        sensors(&f, y);
        assert_int_equal(kd_eom_dims(kd_system_eom(f.system)).nw, 1);
        assert_int_equal(kd_system_info_of(f.system).dof, 1);
        assert_string_equal(kd_eom_name(kd_system_eom(f.system), KD_NAME_W, 0, name, sizeof name),
                            "force 'rub' normal force");
        assert_close(f.x->w[0], 24, 1e-9);
        assert_close(y[0], -10 * (0.6 + 0.5 * 0.8), 1e-9);
        assert_close(y[1], 1, 1e-12);
        assert_close(y[2], 2, 1e-12);
        assert_close(y[3], -12, 1e-9);
        close_text(&f);
    }
}

// Coulomb and Stribeck parts add to those of the force across: level at one Stribeck velocity.
static void parts_add(void **state)
{
    static const char text[] =
        BLOCK "gravity: [0, 0, -10]\n"
              "forces: {rub: {type: joint_friction, joint: slide, normal: [0.5, 0.75], coulomb: 2, "
              "breakaway: 5, stribeck: 2, viscous: 0.5, slip: 1e-3}}\n"
              "sensors: {f: force.rub.force}\n";
    (void)state;
    double  y[1], sliding = 2 + 12, before = 5 + 18;
    fixture f = open_text(text, KD_JOINT);
    sensors(&f, y);
    assert_close(y[0], -(sliding + (before - sliding) * exp(-1) + 0.5 * 2), 1e-9);
    close_text(&f);
}

// Moments across a guide rub with their lever: a load in front of the joint, hypot(m g, m g b/lever).
static void moments_rub(void **state)
{
    static const char text[] =
        "kardan: 1\nbodies: {block: {mass: 3, centre: [0, 0.4, 0], inertia: [1, 1, 1]}}\n"
        "joints: {slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [0, 1, 0], v: 2}}\n"
        "gravity: [0, 0, -10]\n"
        "forces: {rub: {type: joint_friction, joint: slide, normal: 0.5, lever: 0.2, slip: 1e-3}}\n"
        "sensors: {a: joint.slide.a}\n";
    (void)state;
    for (int c = 0; c < 2; c++) {
        double  y[1];
        fixture f = open_text(text, (kd_coordinates)c);
        sensors(&f, y);
        assert_close(f.x->w[0], hypot(30, 30 * 0.4 / 0.2), 1e-9);
        assert_close(y[0], -0.5 * f.x->w[0] / 3, 1e-9);
        close_text(&f);
    }
}

// A journal: torque mu r m g; the turns of the start are kept.
static void wheel_in_its_bearing(void **state)
{
    static const char text[] =
        WHEEL "forces: {rub: {type: joint_friction, joint: axle, normal: 0.2, lever: 0.05, coulomb: 1, slip: 1e-3}}\n"
              "sensors: {a: joint.axle.a, q: joint.axle.q, v: joint.axle.v}\n";
    (void)state;
    for (int c = 0; c < 2; c++) {
        double  y[3];
        fixture f = open_text(text, (kd_coordinates)c);
        sensors(&f, y);
        assert_close(f.x->w[0], 30, 1e-9);
        assert_close(y[0], 1 + 0.2 * 0.05 * 30, 1e-9);
        assert_close(y[1], 9, 1e-12);
        assert_close(y[2], -2, 1e-12);
        close_text(&f);
    }
}

// A nut on a shaft: turn and shift rub with the same radial force.
static void both_coordinates_of_a_cylindrical_joint(void **state)
{
    static const char text[] =
        "kardan: 1\nbodies: {nut: {mass: 2, inertia: [1, 1, 2]}}\n"
        "joints: {shaft: {type: cylindrical, bodies: [ground, nut], point: [0, 0, 0], axis: [0, 1, 0], v: [3, -2]}}\n"
        "gravity: [0, 0, -10]\n"
        "forces:\n"
        "  turn: {type: joint_friction, joint: shaft, coordinate: 1, normal: 0.5, lever: 0.1, slip: 1e-3}\n"
        "  slide: {type: joint_friction, joint: shaft, coordinate: 2, normal: 0.5, slip: 1e-3}\n"
        "sensors: {a1: joint.shaft.a1, a2: joint.shaft.a2}\n";
    (void)state;
    for (int c = 0; c < 2; c++) {
        double  y[2];
        fixture f = open_text(text, (kd_coordinates)c);
        sensors(&f, y);
        assert_close(y[0], -0.5 * 0.1 * 20, 1e-9);
        assert_close(y[1], 0.5 * 20 / 2, 1e-9);
        close_text(&f);
    }
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// A chain of joints of all kinds that rub, one of them reversed, started with all velocities.
#define CHAIN                                                                                                          \
    "kardan: 1\nbodies:\n"                                                                                             \
    "  a: {mass: 2, centre: [0.1, 0.2, 0], inertia: [1, 2, 1.5]}\n"                                                    \
    "  b: {mass: 1, position: [1, 0, 0], centre: [0, 0.1, 0.2], inertia: [0.5, 0.7, 0.4]}\n"                           \
    "  c: {mass: 1, position: [1, 1, 0], inertia: [0.5, 0.7, 0.4]}\n"                                                  \
    "  d: {mass: 1, position: [1, 1, 1], inertia: [0.5, 0.7, 0.4]}\n"                                                  \
    "joints:\n"                                                                                                        \
    "  slide: {type: prismatic, bodies: [ground, a], point: [0, 0, 0], axis: [1, 0.2, 0], q: 0.2, v: 1}\n"             \
    "  ball: {type: universal, bodies: [a, b], point: [0.5, 0, 0], axis: [0, 0, 1], q: [0.1, 0.2], v: [1, -2]}\n"      \
    "  hinge: {type: revolute, bodies: [c, b], point: [1, 0.5, 0], axis: [0, 0.3, 1], q: 0.3, v: 1.5}\n"               \
    "  shaft: {type: cylindrical, bodies: [c, d], point: [1, 1, 0.5], axis: [0.1, 0, 1], q: [0.4, 0.1], v: [1, 2]}\n"  \
    "forces:\n"                                                                                                        \
    "  one: {type: joint_friction, joint: slide, normal: [0.2, 0.3], stribeck: 2, lever: 0.3, slip: 1}\n"              \
    "  two: {type: joint_friction, joint: hinge, normal: 0.2, lever: 0.1, slip: 1}\n"                                  \
    "  three: {type: joint_friction, joint: shaft, coordinate: 2, normal: 0.3, lever: 0.2, slip: 1}\n"                 \
    "sensors: {a: joint.slide.a, b: joint.ball.a1, c: joint.ball.a2, d: joint.hinge.a, e: joint.shaft.a1, "            \
    "f: joint.shaft.a2, q: joint.hinge.q, v: joint.hinge.v, p: joint.ball.q2, w: joint.ball.v1}\n"

// All derivatives agree with differences, in both coordinate sets, in full and sparse.
static void derivatives_agree(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        char    report[2000] = "";
        fixture f = open_text(CHAIN, (kd_coordinates)c);
        if (kd_eom_check(kd_system_eom(f.system), kd_system_inputs(f.system), f.x, NULL, report, sizeof report) < 0)
            fail_msg("%s", report);
        close_text(&f);
    }
}

// Both coordinate sets start alike and accelerate alike; the uncut part of the tree keeps the given coordinates.
static void coordinates_agree(void **state)
{
    double y[2][10];
    (void)state;
    for (int c = 0; c < 2; c++) {
        fixture f = open_text(CHAIN, (kd_coordinates)c);
        assert_int_equal(kd_system_info_of(f.system).dof, 6);
        sensors(&f, y[c]);
        close_text(&f);
    }
    for (int i = 0; i < 10; i++) assert_close(y[0][i], y[1][i], 1e-9 * (1 + fabs(y[1][i])));
    assert_close(y[0][6], 0.3, 1e-12);
    assert_close(y[0][7], 1.5, 1e-12);
    assert_close(y[0][8], 0.2, 1e-12);
    assert_close(y[0][9], 1, 1e-12);
}

// All formulations move the chain alike.
static void formulations_agree(void **state)
{
    static const kd_formulation form[] = {KD_PSF, KD_GGL, KD_INDEX1, KD_INDEX2, KD_STATESPACE, KD_ODE};
    double                      y[10], reference[10] = {0};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
            char                  message[1000] = "";
            fixture               f = open_text(CHAIN, (kd_coordinates)c);
            kd_simulation_options opt = kd_simulation_options_default();
            opt.formulation = form[k];
            opt.rtol = opt.atol = 1e-9;
            if (kd_simulate(kd_system_eom(f.system), kd_system_inputs(f.system), &opt, f.x, 0.3, NULL, message,
                            sizeof message) < 0)
                fail_msg("form %d: %s", (int)form[k], message);
            sensors(&f, y);
            for (int i = 6; i < 10; i++) {
                if (c == 0 && k == 0) reference[i] = y[i];
                assert_close(y[i], reference[i], 2e-6);
            }
            close_text(&f);
        }
}

// ---- dry friction ---------------------------------------------------------------------------------------------------

typedef struct events {
    int    n;
    double t[8];
} events;

static kd_eval note_event(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    events *e = context;
    (void)before, (void)after;
    assert_true(e->n < 8);
    e->t[e->n++] = event->t;
    return KD_EVAL_OK;
}

static void run_dry(fixture *f, kd_formulation form, double t_end, events *e)
{
    char                  message[1000] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    e->n = 0;
    opt.formulation = form;
    opt.rtol = opt.atol = 1e-11;
    opt.events.listener = note_event;
    opt.events.context = e;
    if (kd_simulate(kd_system_eom(f->system), kd_system_inputs(f->system), &opt, f->x, t_end, NULL, message,
                    sizeof message) < 0)
        fail_msg("form %d: %s", (int)form, message);
}

#define DRY "kardan: 1\ngravity: [0, 0, -10]\nbodies: {block: {mass: 2, inertia: [1, 1, 1]}}\n"

// A block slides to rest: v0/(mu g), v0^2/(2 mu g) with friction of the force across, and stays. It has one direction.
static void dry_block_comes_to_rest(void **state)
{
    static const char text[] =
        DRY "joints: {j: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0], v: -3}}\n"
            "forces: {rub: {type: joint_friction, joint: j, normal: [0.4, 0.6], stribeck: 0, stick: true}}\n"
            "sensors: {q: joint.j.q, v: joint.j.v, f: force.rub.force}\n";
    static const kd_formulation form[] = {KD_PSF, KD_GGL, KD_STATESPACE, KD_ODE};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
            double  y[3];
            char    name[100];
            events  e;
            fixture f = open_text(text, (kd_coordinates)c);
            kd_dims n = kd_eom_dims(kd_system_eom(f.system));
            assert_int_equal(n.nz, 1);
            assert_int_equal(n.nmu, 1);
            assert_int_equal(kd_system_info_of(f.system).dof, 1);
            assert_string_equal(kd_eom_name(kd_system_eom(f.system), KD_NAME_Z, 0, name, sizeof name),
                                "force.rub.direction");
            run_dry(&f, form[k], 2, &e);
            assert_int_equal(e.n, 1);
            assert_close(e.t[0], 3 / (0.4 * 10), 1e-10);
            sensors(&f, y);
            assert_close(y[0], -9 / (2 * 0.4 * 10), 1e-10);
            assert_close(y[1], 0, 1e-12);
            assert_close(y[2], 0, 1e-8);
            close_text(&f);
        }
}

// A block is pulled by a growing force: it breaks loose at mu_0 m g, and slides with mu m g from then on. With a
// journal the same holds for torques.
static void dry_block_breaks_loose(void **state)
{
    static const char *const text[] = {
        DRY "joints: {j: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0]}}\n"
            "forces:\n  rub: {type: joint_friction, joint: j, normal: [0.4, 0.6], stribeck: 0, stick: true}\n"
            "  pull: {type: joint_spring, joint: j, law: 8*t}\n"
            "sensors: {q: joint.j.q, v: joint.j.v, f: force.rub.force}\n",
        DRY
        "joints: {j: {type: revolute, bodies: [ground, block], point: [0, 0, 0], axis: [0, 1, 0]}}\n"
        "forces:\n  rub: {type: joint_friction, joint: j, normal: [0.4, 0.6], lever: 0.5, stribeck: 0, stick: true}\n"
        "  pull: {type: joint_spring, joint: j, law: 4*t}\n"
        "sensors: {q: joint.j.q, v: joint.j.v, f: force.rub.force}\n"};
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int c = 0; c < 2; c++) {
            double  y[3], loose = 0.6 * 20 / 8, t = 2, inertia = kind == 0 ? 2 : 1, rate = kind == 0 ? 8 : 4;
            double  force = kind == 0 ? 0.4 * 20 : 0.5 * 0.4 * 20;
            events  e;
            fixture f = open_text(text[kind], (kd_coordinates)c);
            run_dry(&f, KD_PSF, t, &e);
            assert_int_equal(e.n, 1);
            assert_close(e.t[0], loose, 1e-10);
            sensors(&f, y);
            assert_close(y[1], (rate / 2 * (t * t - loose * loose) - force * (t - loose)) / inertia, 1e-9);
            assert_close(y[2], -force, 1e-8);
            close_text(&f);
        }
}

// A chain with dry friction that sticks and slides: derivatives agree with differences whichever rows hold.
static void derivatives_of_dry_friction(void **state)
{
    static const char text[] =
        "kardan: 1\nbodies:\n"
        "  a: {mass: 2, centre: [0.1, 0.2, 0], inertia: [1, 2, 1.5]}\n"
        "  b: {mass: 1, position: [1, 0, 0], centre: [0, 0.1, 0.2], inertia: [0.5, 0.7, 0.4]}\n"
        "joints:\n"
        "  slide: {type: prismatic, bodies: [ground, a], point: [0, 0, 0], axis: [1, 0.2, 0], v: 1}\n"
        "  hinge: {type: revolute, bodies: [a, b], point: [1, 0.5, 0], axis: [0, 0.3, 1], v: 1.5}\n"
        "forces:\n"
        "  one: {type: joint_friction, joint: slide, normal: [0.2, 0.3], stribeck: 2, stick: true}\n"
        "  two: {type: joint_friction, joint: hinge, coulomb: 2, breakaway: 3, stribeck: 1, viscous: 0.3, stick: "
        "true}\n";
    (void)state;
    for (int c = 0; c < 2; c++)
        for (int direction = -1; direction <= 1; direction++) {
            char    report[2000] = "";
            fixture f = open_text(text, (kd_coordinates)c);
            f.x->z[0] = direction, f.x->z[1] = -direction;
            f.x->active_mu[0] = f.x->active_mu[1] = direction == 0;
            if (kd_eom_check(kd_system_eom(f.system), kd_system_inputs(f.system), f.x, NULL, report, sizeof report) < 0)
                fail_msg("%s", report);
            close_text(&f);
        }
}

// ---- refused --------------------------------------------------------------------------------------------------------

// Joints without one force across them, turns without a radius, joints that must not be cut, and motions that are
// given.
static void what_cannot_rub_is_refused(void **state)
{
    (void)state;
    refuses(WHEEL "forces: {rub: {type: joint_friction, joint: axle, normal: 0.2}}\n", "'lever'");
    refuses("kardan: 1\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
            "joints: {j: {type: universal, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1]}}\n"
            "forces: {rub: {type: joint_friction, joint: j, normal: 0.2}}\n",
            "not revolute, prismatic or cylindrical");
    refuses("kardan: 1\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
            "joints: {j: {type: prismatic, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1], cut: no}}\n"
            "forces: {rub: {type: joint_friction, joint: j, normal: 0.2}}\n",
            "cut: no");
    refuses("kardan: 1\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
            "joints: {j: {type: prismatic, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1], motion: sin(t)}}\n"
            "forces: {rub: {type: joint_friction, joint: j, coulomb: 2, stick: true}}\n",
            "prescribed");
    refuses(BLOCK "forces: {rub: {type: joint_friction, joint: slide, normal: [0.2, 0.3, 0.4]}}\n", "normal");
    refuses(BLOCK "forces: {rub: {type: joint_friction, joint: slide, normal: -0.2}}\n", "normal");
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// Whichever allocation fails, creation says so and leaves nothing behind; so does the look at solvability.
static void memory_runs_out(void **state)
{
    static const char text[] =
        DRY "joints: {j: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0], v: -3}}\n"
            "forces: {rub: {type: joint_friction, joint: j, normal: [0.4, 0.6], lever: 0.1, stick: true}}\n";
    fixture f = open_text(text, KD_JOINT);
    (void)state;
    for (int c = 0; c < 2; c++) {
        kd_system_options opt = kd_system_options_default();
        kd_status         status = KD_ERR_MEMORY;
        opt.coordinates = (kd_coordinates)c;
        for (long n = 1; status < 0; n++) {
            failing_allocator a = {.fail_at = n};
            kd_system        *s = NULL;
            failing_allocator_use(&a);
            status = kd_system_create(f.model, &opt, &s, NULL, 0);
            if (status < 0 && status != KD_ERR_MEMORY) fail_msg("allocation %ld: %d", n, (int)status);
            kd_system_destroy(s);
            kd_set_allocator(NULL);
            assert_int_equal(a.live, 0);
            if (a.calls >= n) status = KD_ERR_MEMORY; // another way was found without it
        }
    }
    kd_status status = KD_ERR_MEMORY;
    for (long n = 1; status == KD_ERR_MEMORY; n++) {
        failing_allocator a = {.fail_at = n};
        kd_solvability    found;
        failing_allocator_use(&a);
        status = kd_initial_solvable(kd_system_eom(f.system), kd_system_inputs(f.system), f.x, &found, NULL, 0);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
    }
    assert_int_equal(status, KD_OK);
    close_text(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_on_an_incline),
        cmocka_unit_test(parts_add),
        cmocka_unit_test(moments_rub),
        cmocka_unit_test(wheel_in_its_bearing),
        cmocka_unit_test(both_coordinates_of_a_cylindrical_joint),
        cmocka_unit_test(derivatives_agree),
        cmocka_unit_test(coordinates_agree),
        cmocka_unit_test(formulations_agree),
        cmocka_unit_test(dry_block_comes_to_rest),
        cmocka_unit_test(dry_block_breaks_loose),
        cmocka_unit_test(derivatives_of_dry_friction),
        cmocka_unit_test(what_cannot_rub_is_refused),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
