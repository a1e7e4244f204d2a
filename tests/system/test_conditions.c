// Conditions of the start in model files: they hold at the start together with the constraints, in both coordinate sets;
// what contradicts is named.
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

// A crank of 0.3 m drives a rod of 1 m whose end slides along x
#define SLIDER_CRANK                                                                                                   \
    "kardan: 1\nparameters: {level: 0.2}\nbodies:\n"                                                                   \
    "  crank: {mass: 1, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0]}\n"                                              \
    "  rod: {mass: 1, inertia: [0.1, 0.1, 0.1], position: [0.3, 0, 0]}\n"                                              \
    "  block: {mass: 1, inertia: [0.1, 0.1, 0.1], position: [1.3, 0, 0]}\n"                                            \
    "joints:\n"                                                                                                        \
    "  hinge: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1]}\n"                          \
    "  pin: {type: revolute, bodies: [crank, rod], point: [0.3, 0, 0], axis: [0, 0, 1]}\n"                             \
    "  wrist: {type: revolute, bodies: [rod, block], point: [1.3, 0, 0], axis: [0, 0, 1]}\n"                           \
    "  slide: {type: prismatic, bodies: [ground, block], point: [1.3, 0, 0], axis: [1, 0, 0]}\n"

static kd_status start(const char *text, kd_coordinates coordinates, double *height, double *speed, char *message,
                       size_t size)
{
    kd_model         *model = NULL;
    kd_system        *system = NULL;
    kd_state         *x = NULL;
    kd_probe         *probe = NULL;
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    if (kd_model_read_text("file", text, strlen(text), NULL, 0, &model, message, size) < 0) fail_msg("%s", message);
    kd_status status = kd_system_create(model, &opt, &system, message, size);
    if (status >= 0) {
        assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
        status = kd_system_start(system, x, message, size);
    }
    if (status >= 0) {
        assert_int_equal(kd_probe_of_system(system, NULL, &probe), KD_OK);
        assert_int_equal(kd_probe_set(probe, x), KD_OK);
        *height = kd_probe_read(probe, "height");
        *speed = kd_probe_read(probe, "speed");
        kd_consistency now;
        assert_int_equal(kd_initial_residuals(kd_system_eom(system), kd_system_inputs(system), x, &now), KD_OK);
        assert_true(now.position < 1e-8 && now.velocity < 1e-8);
    }
    kd_probe_destroy(probe);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status;
}

// Height of the pin and speed of the block, of position and velocity level, with a parameter.
static void conditions_hold(void **state)
{
    (void)state;
    static const char TEXT[] = SLIDER_CRANK
        "sensors: {height: body.rod.pos.y, speed: body.block.vel.x}\n"
        "start:\n  conditions:\n    height: body.rod.pos.y - level\n    speed: {value: body.block.vel.x, equals: 2}\n";
    for (int k = 0; k < 2; k++) {
        double height = 0, speed = 0;
        char   message[600];
        if (start(TEXT, k ? KD_CARTESIAN : KD_JOINT, &height, &speed, message, sizeof message) < 0)
            fail_msg("%s", message);
        assert_true(fabs(height - 0.2) < 1e-8 && fabs(speed - 2) < 1e-8);
    }
}

// Conditions that no position fulfils, that contradict each other, that read what a start does not have.
static void contradictions_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *conditions;
        const char *words[2];
    } list[] = {
        {"{far: body.rod.pos.y - 2}", {"far", "far"}},
        {"{one: body.rod.pos.y - 0.1, two: body.rod.pos.y - 0.2}", {"one", "two"}},
        {"{fast: {value: body.crank.pos.x, equals: 1}}", {"fast", "fast"}},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char   text[3000], message[1200] = "";
        double height, speed;
        snprintf(text, sizeof text, "%sstart: {conditions: %s}\n", SLIDER_CRANK, list[i].conditions);
        const kd_status status = start(text, KD_JOINT, &height, &speed, message, sizeof message);
        if (status >= 0 || !strstr(message, list[i].words[0]) || !strstr(message, list[i].words[1]))
            fail_msg("%s: %d, %s", list[i].conditions, status, message);
    }
}

// A condition that others and the constraints imply is told by its name, at both levels; the others are not.
static void spare_conditions_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *conditions, *spare;
    } list[] = {
        {"{one: body.rod.pos.y - 0.2, two: 3*body.rod.pos.y - 0.6}", "condition 'two' holds, but follows from"},
        {"{one: body.rod.pos.y - 0.2, level: body.block.pos.y}", "condition 'level' holds, but follows from"},
        {"{one: body.rod.pos.y - 0.2, v: body.block.vel.x - 1, w: {value: 2*body.block.vel.x, equals: 2}}",
         "condition 'w' holds, but follows from"},
        {"{one: body.rod.pos.y - 0.2, v: body.block.vel.x - 1}", NULL},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int k = 0; k < 2; k++) {
            char   text[3000], message[1200] = "";
            double height, speed;
            snprintf(text, sizeof text,
                     "%ssensors: {height: body.rod.pos.y, speed: body.block.vel.x}\n"
                     "start: {conditions: %s}\n",
                     SLIDER_CRANK, list[i].conditions);
            const kd_status status = start(text, k ? KD_CARTESIAN : KD_JOINT, &height, &speed, message, sizeof message);
            const bool      told = strstr(message, list[i].spare ? list[i].spare : "but follow") != NULL;
            if (status < 0 || told != (list[i].spare != NULL))
                fail_msg("%s: %d, %s", list[i].conditions, status, message);
        }
}

// From a stretched arm, where the first linear model knows no direction, the start bends it by less than a turn; without a
// bound of the increments it was turned by 4e5 rad, which left 5e-5 of the conditions.
static void stretched_arms_are_bent(void **state)
{
    char text[1500];
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double c = cos(0.16 * k), s = sin(0.16 * k);
        double       height = NAN, speed = NAN;
        char         message[1000];
        snprintf(
            text, sizeof text,
            "kardan: 1\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}, b: {position: [%.17g, 0, %.17g], mass: 1, inertia: "
            "[1, "
            "1, 1]}}\njoints:\n  j: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0]}\n"
            "  k: {type: revolute, bodies: [a, b], point: [%.17g, 0, %.17g], axis: [0, 1, 0]}\n"
            "frames: {tip: {body: b, point: [%.17g, 0, %.17g]}}\nstart: {conditions: {z: frame.tip.pos.z - 0.5, x: "
            "frame.tip.pos.x - 1.5, v: frame.tip.vel.z - 0.3}}\n"
            "sensors: {height: joint.j.q, speed: frame.tip.pos.x}\n",
            c, s, c, s, c, s);
        if (start(text, KD_JOINT, &height, &speed, message, sizeof message) < 0) continue; // told
        if (!(fabs(height) < 10 && fabs(speed - 1.5) < 1e-9)) fail_msg("%d: angle %g, x %.12g", k, height, speed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_hold),
        cmocka_unit_test(contradictions_are_named),
        cmocka_unit_test(spare_conditions_are_named),
        cmocka_unit_test(stretched_arms_are_bent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
