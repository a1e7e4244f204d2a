// Constraints whose constants change with time, inputs or the motion: names, jumps, ropes, what is refused.
#include "text_subject.h"

// Parameters of a model keep their meaning in motions, whatever they are called: x and z are also coordinates of the
// elements.
static void names_of_users(void **state)
{
    static const struct {
        const char *constraint, *reading;
        double      value; // at t = 1
    } known[] = {
        {"{type: point_on_curve, from: ground, to: a, curve: c, motion: x*t^2}", "body.a.pos.z", 0.5},
        {"{type: point_on_curve, from: ground, to: a, curve: c, motion: z*t^2}", "body.a.pos.z", 3.0},
        {"{type: rope, from: {body: ground, point: [1, 0, -4]}, to: a, motion: L*t^2 + s0*t^3}", "body.a.pos.z", 1.1},
        {"{type: point_on_plane, from: ground, to: a, motion: z*t^2}", "body.a.pos.z", 3.0},
        {"{type: point_on_line, from: {body: ground, point: [1, 0, 0], axis: [0, 1, 0], reference: [1, 0, 0]}, to: a, "
         "motion: [x*t^2, -z*t^2]}",
         "body.a.pos.x", 1.5},
        {"{type: orientation, from: ground, to: {body: a, axis: [1, 0, 0]}, angle: 1.5707963267948966, motion: "
         "c_*t^2}",
         "body.a.R.zx", -0.47942553860420301},
    };
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (int c = 0; c < 2; c++) {
            char text[1000];
            snprintf(text, sizeof text,
                     "kardan: 1\ngravity: [0, 0, 0]\nparameters: {x: 0.5, z: 3, L: 1, s0: 0.1, c_: 0.5}\n"
                     "curves: {c: {x: [-10, 10], y: [0, 0]}}\nbodies: {a: {mass: 1, inertia: [1, 1, 1], position: [1, "
                     "0, 0]}}\njoints: {p: {type: planar, bodies: [ground, a], point: [1, 0, 0], axis: [0, 1, 0]}}\n"
                     "constraints: {c: %s}\nsensors: {value: %s}\n",
                     known[k].constraint, known[k].reading);
            subject s = started(text, BOTH[c]);
            if (run_to(&s, 1.0) < 0) fail_msg("%s", s.message);
            const double value = read_name(&s, "value");
            if (!(fabs(value - known[k].value) < 1e-8)) fail_msg("%s: %.12g", known[k].constraint, value);
            close_subject(&s);
        }
}

#define WHEELS(value)                                                                                                  \
    "kardan: 1\ngravity: [0, 0, 0]\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}, b: {mass: 1, inertia: [3, 3, 3]}}\n"    \
    "joints:\n  a: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1], v: 1, hold: true}\n"       \
    "  b: {type: revolute, bodies: [ground, b], point: [0, 0, 0], axis: [0, 0, 1]}\n"                                  \
    "constraints: {gear: {type: velocity, value: " value "}}\nsensors: {a: joint.a.v, b: joint.b.v}\n"

// A ratio that jumps from 2 to 3 is an impulse: 3 w_a + w_b stays, so that w_b = (3 + 3*0.5)/(9 + 3).
static void ratio_that_jumps(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        subject s = started(WHEELS("joint.a.v - (2 + step(t - 1))*joint.b.v"), BOTH[c]);
        assert_true(fabs(read_name(&s, "b") - 0.5) < 1e-12);
        if (run_to(&s, 2.0) < 0) fail_msg("%s", s.message);
        assert_true(fabs(read_name(&s, "b") - 0.375) < 1e-9);
        assert_true(fabs(read_name(&s, "a") - 1.125) < 1e-9);
        close_subject(&s);
    }
}

// What is not linear in velocities, or reads none, is no constraint of this kind.
static void refused(void **state)
{
    static const struct {
        const char *text, *message;
    } known[] = {
        {WHEELS("joint.a.v - 2*joint.b.v^2"),
         "file:7: constraint 'gear': 'joint.a.v - 2*joint.b.v^2' is not linear in the velocities, so that there "
         "is no one direction of its force"},
        {WHEELS("joint.a.q - 2*joint.b.q"), "file:7: constraint 'gear': 'joint.a.q - 2*joint.b.q' reads no "
                                            "velocity; 'type: expression' holds positions"}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        char       message[1000];
        kd_model  *m = NULL;
        kd_system *s = NULL;
        assert_true(kd_model_read_text("file", known[k].text, strlen(known[k].text), NULL, 0, &m, message,
                                       sizeof message) >= 0);
        assert_int_equal(kd_system_create(m, NULL, &s, message, sizeof message), KD_ERR_MODEL);
        assert_string_equal(message, known[k].message);
        kd_model_destroy(m);
    }
}

// A tackle with four parts lifts its load by a quarter of what the drum winds up, and pulls with a quarter of its weight;
// both ends may be on the ground.
static void tackle(void **state)
{
    static const char *const text =
        "kardan: 1\nbodies: {hook: {mass: 40, inertia: [1, 1, 1], position: [0, 0, -8]}, drum: {mass: 10, inertia: [1, "
        "2, "
        "1], position: [0, 0, 1]}}\nframes: {crown: {body: ground, point: [0, 0, 0]}}\njoints:\n"
        "  guide: {type: prismatic, bodies: [ground, hook], point: [0, 0, -8], axis: [0, 0, 1]}\n"
        "  drum: {type: revolute, bodies: [ground, drum], point: [0, 0, 1], axis: [0, 1, 0], motion: 3*t^2}\n"
        "constraints: {rope: {type: rope, from: {body: ground, point: [0, 0, 1]}, over: [hook, crown, hook], to: "
        "crown, "
        "motion: -0.2*joint.drum.q}}\nsensors: {lift: joint.guide.q, pull: constraint.rope.force}\n";
    (void)state;
    for (int c = 0; c < 2; c++) {
        subject s = started(text, BOTH[c]);
        if (run_to(&s, 2.0) < 0) fail_msg("%s", s.message);
        assert_true(fabs(read_name(&s, "lift") - 0.6) < 1e-9);
        // 0.2 q''/4 = 0.3 m/s^2
        assert_true(fabs(read_name(&s, "pull") - 10 * (9.81 + 0.3)) < 1e-6);
        close_subject(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_of_users), cmocka_unit_test(ratio_that_jumps),
                                       cmocka_unit_test(refused), cmocka_unit_test(tackle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
