// Static equilibrium: closed forms, the published four-bar linkage, vehicles, contact, and models that have none.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <gallery.h>
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MODEL(name) KD_SOURCE_DIR "/models/" name ".yaml"

typedef struct loaded {
    kd_model             *model;
    kd_system            *system;
    const kd_eom         *eom;
    kd_state             *x;
    kd_equilibrium_result result;
    char                  message[800];
} loaded;

static void finish(loaded *l, kd_coordinates coordinates)
{
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    if (kd_system_create(l->model, &opt, &l->system, l->message, sizeof l->message) < 0 ||
        kd_state_create(kd_system_eom(l->system), &l->x) < 0 ||
        kd_system_start(l->system, l->x, l->message, sizeof l->message) < 0)
        fail_msg("%s", l->message);
    l->eom = kd_system_eom(l->system);
}

static loaded load_text(const char *text, kd_coordinates coordinates)
{
    loaded l = {0};
    if (kd_model_read_text("test", text, strlen(text), NULL, 0, &l.model, l.message, sizeof l.message) < 0)
        fail_msg("%s", l.message);
    finish(&l, coordinates);
    return l;
}

static loaded load_file(const char *path, const char *name, const char *value, kd_coordinates coordinates)
{
    loaded           l = {0};
    const kd_setting setting = {name, value};
    if (kd_model_read(path, &setting, name ? 1 : 0, &l.model, l.message, sizeof l.message) < 0)
        fail_msg("%s", l.message);
    finish(&l, coordinates);
    return l;
}

static void unload(loaded *l)
{
    kd_state_destroy(l->x);
    kd_system_destroy(l->system);
    kd_model_destroy(l->model);
}

static kd_status rest(loaded *l, const kd_equilibrium_options *opt)
{
    return kd_equilibrium(l->eom, kd_system_inputs(l->system), opt, l->x, &l->result, l->message, sizeof l->message);
}

static void must_rest(loaded *l)
{
    if (rest(l, NULL) != KD_OK) fail_msg("%s", l->message);
    assert_true(l->result.residual <= 1e-9 * l->result.force_scale);
}

// The sensor of this name
static double sensor(const loaded *l, const char *wanted)
{
    const kd_dims n = kd_eom_dims(l->eom);
    kd_eom_data  *d;
    double        u[3][16] = {{0}}, y[64];
    char          name[200];
    assert_true(n.nu <= 16 && n.ny <= 64);
    assert_int_equal(kd_eom_data_create(l->eom, &d), KD_OK);
    const kd_inputs *inputs = kd_system_inputs(l->system);
    if (inputs && inputs->eval) assert_int_equal(inputs->eval(l->x->t, inputs->context, u[0], u[1], u[2]), KD_EVAL_OK);
    kd_eom_at_time(d, l->x->t, u[0], u[1], u[2], l->x->z);
    kd_eom_at_position(d, l->x->p, l->x->s);
    kd_eom_at_velocity(d, l->x->v, l->x->r);
    kd_eom_at_acceleration(d, l->x->a, l->x->w, l->x->lambda, l->x->mu);
    assert_int_equal(kd_eom_eval(d, KD_Y, y), KD_EVAL_OK);
    kd_eom_data_destroy(d);
    for (int i = 0; i < n.ny; i++)
        if (strcmp(kd_eom_name(l->eom, KD_NAME_Y, i, name, sizeof name), wanted) == 0) return y[i];
    fail_msg("no sensor %s", wanted);
    return NAN;
}

static void close_to(double found, double wanted, double tolerance)
{
    if (!(fabs(found - wanted) <= tolerance)) print_error("%.15g instead of %.15g\n", found, wanted);
    assert_true(fabs(found - wanted) <= tolerance);
}

// A chain of three rods, pulled sideways at its end by F: tan(angle of rod i) = F/(m g (3 - i + 1/2)), i = 1 .. 3.
static void chain_has_closed_form(void **state)
{
    (void)state;
    static const char text[] = "kardan: 1\ngravity: [0, 0, -10]\nbodies:\n"
                               "  a: {position: [0, 0, -0.5], mass: 1, inertia: [0.1, 0.1, 0.01]}\n"
                               "  b: {position: [0, 0, -1.5], mass: 1, inertia: [0.1, 0.1, 0.01]}\n"
                               "  c: {position: [0, 0, -2.5], mass: 1, inertia: [0.1, 0.1, 0.01]}\n"
                               "joints:\n"
                               "  A: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, -1, 0]}\n"
                               "  B: {type: revolute, bodies: [a, b], point: [0, 0, -1], axis: [0, -1, 0]}\n"
                               "  C: {type: revolute, bodies: [b, c], point: [0, 0, -2], axis: [0, -1, 0]}\n"
                               "forces:\n"
                               "  pull: {type: applied, body: c, point: [0, 0, -3], force: [12, null, null]}\n"
                               "sensors: {A: joint.A.q, B: joint.B.q, C: joint.C.q}\n";
    for (int k = 0; k < 2; k++) {
        loaded l = load_text(text, k == 0 ? KD_JOINT : KD_CARTESIAN);
        must_rest(&l);
        assert_int_equal(l.result.stability, KD_STABLE);
        const double angle[] = {atan(12 / 25.0), atan(12 / 15.0), atan(12 / 5.0)};
        close_to(sensor(&l, "A"), angle[0], 1e-10);
        close_to(sensor(&l, "B"), angle[1] - angle[0], 1e-10);
        close_to(sensor(&l, "C"), angle[2] - angle[1], 1e-10);
        unload(&l);
    }
}

// The published equilibrium of the parallelogram with a diagonal spring, from a start beside the unstable one.
static void four_bar_finds_the_published_equilibrium(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        loaded l = load_file(MODEL("four-bar-spring"), NULL, NULL, k == 0 ? KD_JOINT : KD_CARTESIAN);
        must_rest(&l);
        assert_int_equal(l.result.stability, KD_STABLE);
        close_to(sensor(&l, "phi"), 2.2343310190175859, 1e-10);
        close_to(sensor(&l, "length"), 0.876464037592681483, 1e-10);
        close_to(sensor(&l, "force"), -13.4437381195103391, 1e-8);
        unload(&l);
    }
}

// At phi = pi/2 the spring is relaxed: an equilibrium, but an unstable one, which stays unless a stable one is wanted.
static void unstable_equilibrium_is_told(void **state)
{
    (void)state;
    loaded l = load_file(MODEL("four-bar-spring"), "phi", "pi/2", KD_JOINT);
    must_rest(&l);
    assert_int_equal(l.result.stability, KD_UNSTABLE);
    close_to(sensor(&l, "phi"), acos(0), 1e-9);
    kd_equilibrium_options opt = kd_equilibrium_options_default();
    opt.stable = true;
    assert_int_equal(rest(&l, &opt), KD_OK);
    assert_int_equal(l.result.stability, KD_STABLE);
    double phi = fmod(sensor(&l, "phi") + 6 * acos(-1), 2 * acos(-1));
    assert_true(fabs(phi - 2.2343310190175859) < 1e-9 || fabs(phi - 1.5 * acos(-1)) < 1e-9);
    unload(&l);
}

// A pendulum that starts upright falls only when a stable equilibrium is wanted.
static void inverted_pendulum(void **state)
{
    (void)state;
    static const char text[] = "kardan: 1\ngravity: [0, 0, -9.81]\nbodies:\n"
                               "  rod: {position: [0, 0, 0.5], mass: 2, inertia: [0.1, 0.1, 0.01]}\n"
                               "joints:\n"
                               "  A: {type: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: [0, 1, 0]}\n"
                               "sensors: {z: body.rod.pos.z}\n";
    for (int k = 0; k < 2; k++) {
        loaded l = load_text(text, k == 0 ? KD_JOINT : KD_CARTESIAN);
        must_rest(&l);
        assert_int_equal(l.result.stability, KD_UNSTABLE);
        close_to(sensor(&l, "z"), 0.5, 1e-12);
        kd_equilibrium_options opt = kd_equilibrium_options_default();
        opt.stable = true;
        assert_int_equal(rest(&l, &opt), KD_OK);
        assert_int_equal(l.result.stability, KD_STABLE);
        close_to(sensor(&l, "z"), -0.5, 1e-10);
        unload(&l);
    }
}

// Wheel loads of a vehicle with stiffer springs in front: as heavy as before, symmetric, equal in both coordinate sets.
static void hmmwv_wheel_loads(void **state)
{
    (void)state;
    double height[2];
    for (int k = 0; k < 2; k++) {
        loaded l = load_file(MODEL("hmmwv"), "spring_front", "14000", k == 0 ? KD_JOINT : KD_CARTESIAN);
        double before = sensor(&l, "height");
        must_rest(&l);
        assert_true(l.result.stability != KD_UNSTABLE);
        double front[] = {sensor(&l, "front-load(1)"), sensor(&l, "front-load(2)")};
        double rear[] = {sensor(&l, "rear-load(1)"), sensor(&l, "rear-load(2)")};
        close_to(fabs(front[0] + front[1] + rear[0] + rear[1]), 2 * (6150.92301455 + 5751.17720545), 1e-3);
        close_to(front[0], front[1], 1e-3);
        close_to(rear[0], rear[1], 1e-3);
        height[k] = sensor(&l, "height");
        assert_true(fabs(height[k] - before) > 1e-4);
        unload(&l);
    }
    close_to(height[0], height[1], 1e-8);
}

// Both trucks are drawn in equilibrium: nothing moves.
static void trucks_are_in_equilibrium(void **state)
{
    (void)state;
    static const char *const path[] = {MODEL("truck5"), MODEL("truck7")};
    for (int i = 0; i < 4; i++) {
        loaded l = load_file(path[i / 2], NULL, NULL, i % 2 == 0 ? KD_JOINT : KD_CARTESIAN);
        must_rest(&l);
        assert_int_equal(l.result.stability, KD_STABLE);
        assert_true(l.result.moved < 1e-9);
        unload(&l);
    }
}

// A ball falls onto the ground and rests in it, as deep as k d^1.5 = m g, free to roll.
static void ball_comes_to_rest_on_the_ground(void **state)
{
    (void)state;
    loaded l = load_file(MODEL("bouncing-ball"), NULL, NULL, KD_JOINT);
    must_rest(&l);
    close_to(sensor(&l, "height"), -pow(0.5 * 9.81 / 2e6, 1 / 1.5), 1e-12);
    close_to(sensor(&l, "x"), 0, 1e-9);
    assert_int_equal(l.result.stability, KD_INDIFFERENT);
    assert_int_equal(l.result.free_directions, 5);
    assert_true(l.result.by_dynamics);
    unload(&l);
}

// The tyre of a quarter car carries both masses.
static void quarter_car_carries_its_weight(void **state)
{
    (void)state;
    loaded l = load_file(MODEL("quarter-car"), NULL, NULL, KD_JOINT);
    must_rest(&l);
    close_to(sensor(&l, "wheel-load"), 390 * 9.81, 1e-6);
    unload(&l);
}

// A body that nothing holds has no equilibrium: the message names its weight and its direction; the state stays.
static void free_fall_has_none(void **state)
{
    (void)state;
    static const char text[] = "kardan: 1\ngravity: [0, 0, -9.81]\nbodies:\n"
                               "  stone: {position: [0, 0, 5], mass: 2, inertia: [0.1, 0.1, 0.1]}\n"
                               "sensors: {z: body.stone.pos.z}\n";
    for (int k = 0; k < 2; k++) {
        loaded l = load_text(text, k == 0 ? KD_JOINT : KD_CARTESIAN);
        assert_int_equal(rest(&l, NULL), KD_ERR_NO_EQUILIBRIUM);
        assert_non_null(strstr(l.message, "a force of 19.62 remains on '"));
        assert_non_null(strstr(l.message, "stone"));
        close_to(l.result.residual, 19.62, 1e-9);
        close_to(sensor(&l, "z"), 5, 0);
        unload(&l);
    }
}

// Equations written in C: the pendulum of the gallery hangs straight down, the car axis comes to rest, too.
static void equations_in_c(void **state)
{
    (void)state;
    static const char *const name[] = {"pendulum", "truck5", "truck7", "caraxis"};
    for (size_t i = 0; i < 4; i++) {
        kd_eom               *eom;
        kd_state             *x;
        kd_inputs             inputs = {0};
        kd_equilibrium_result r;
        char                  message[400];
        assert_int_equal(kd_gallery_find(name[i])->create(&eom, &x, &inputs), KD_OK);
        if (kd_equilibrium(eom, inputs.eval ? &inputs : NULL, NULL, x, &r, message, sizeof message) != KD_OK)
            fail_msg("%s: %s", name[i], message);
        assert_true(r.residual <= 1e-9 * r.force_scale && r.constraint < 1e-9);
        assert_true(r.stability != KD_UNSTABLE);
        if (i == 0) {
            close_to(x->p[0], 0, 1e-9);
            assert_true(x->p[1] < 0);
        }
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// A skate on a slope rests where its blade lies across: nonholonomic constraints leave a continuum of such places, and
// the one in which the skate turns without wandering off is taken.
static void skate_turns_on_the_spot(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        loaded l = load_file(MODEL("skate"), NULL, NULL, k == 0 ? KD_JOINT : KD_CARTESIAN);
        assert_int_equal(rest(&l, NULL), KD_OK);
        close_to(fabs(sensor(&l, "heading")), acos(0), 1e-8);
        close_to(sensor(&l, "downhill"), 0, 0.1);
        close_to(sensor(&l, "across"), 0, 0.1);
        close_to(fabs(sensor(&l, "side")), 60 * 9.81 * sin(acos(0) / 9), 1e-6);
        unload(&l);
    }
}

// A car with a speed controller has no equilibrium, and the message says that it may move steadily.
static void no_rest_for_what_is_driven(void **state)
{
    (void)state;
    loaded l = load_file(MODEL("passenger-car"), NULL, NULL, KD_JOINT);
    assert_int_equal(rest(&l, NULL), KD_ERR_NO_EQUILIBRIUM);
    assert_non_null(strstr(l.message, "remains on 'joint.rear(1).spin.v'"));
    assert_non_null(strstr(l.message, "the start moves ('joint.front(1).spin.v' with 72."));
    unload(&l);
}

// Arguments that make no sense are refused.
static void wrong_arguments(void **state)
{
    (void)state;
    loaded                 l = load_file(MODEL("pendulum"), NULL, NULL, KD_JOINT);
    kd_equilibrium_options opt = kd_equilibrium_options_default();
    assert_int_equal(kd_equilibrium(NULL, NULL, NULL, l.x, NULL, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_equilibrium(l.eom, NULL, NULL, NULL, NULL, NULL, 0), KD_ERR_ARGUMENT);
    opt.tolerance = 0;
    assert_int_equal(rest(&l, &opt), KD_ERR_ARGUMENT);
    unload(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_has_closed_form),
        cmocka_unit_test(four_bar_finds_the_published_equilibrium),
        cmocka_unit_test(unstable_equilibrium_is_told),
        cmocka_unit_test(inverted_pendulum),
        cmocka_unit_test(hmmwv_wheel_loads),
        cmocka_unit_test(trucks_are_in_equilibrium),
        cmocka_unit_test(ball_comes_to_rest_on_the_ground),
        cmocka_unit_test(quarter_car_carries_its_weight),
        cmocka_unit_test(free_fall_has_none),
        cmocka_unit_test(equations_in_c),
        cmocka_unit_test(skate_turns_on_the_spot),
        cmocka_unit_test(no_rest_for_what_is_driven),
        cmocka_unit_test(wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
