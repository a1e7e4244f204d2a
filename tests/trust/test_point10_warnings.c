// Point 10: what looks odd in a model is warned of, by check and by simulate, and models that are well are not.
#define _POSIX_C_SOURCE 200809L // popen
#include "trust/certified_run.h"

#include "case.h"
#include "cli/json.h"
#include "project/command.h"

#define KARDAN "'" KD_BINARY_DIR "/kardan'"
#define OUT KD_BINARY_DIR "/test-point10-warnings"

static const char *body_with(const char *gravity, double mass, const double I[3], const char *shape, const char *force)
{
    static char text[2000];
    snprintf(text, sizeof text,
             "kardan: 1\ntitle: odd\ngravity: %s\nbodies:\n"
             "  block: {mass: %.17g, inertia: [%.17g, %.17g, %.17g]%s}\n"
             "joints:\n  j: {type: prismatic, bodies: [ground, block], axis: [1, 0, 0], point: [0.1, 0, 0]}\n"
             "forces:\n  spring: {type: joint_spring, joint: j, %s}\n",
             gravity, mass, I[0], I[1], I[2], shape, force);
    return text;
}

static bool warns(const char *text, const char *part)
{
    kd_model *model = model_of(text);
    bool      found = false;
    for (int i = 0; i < kd_model_warning_count(model); i++)
        found = found || !part || strstr(kd_model_warning(model, i), part);
    kd_model_destroy(model);
    return found;
}

static const double PLAIN[] = {0.02, 0.02, 0.02};

// Random bodies and springs of usual signs and sizes: no warning.
static void plain_models_are_quiet(void **state)
{
    (void)state;
    srand(test_seed(100));
    for (int k = 0; k < 50; k++) {
        const double m = of_order(1e-3, 1e4), a = of_order(0.01, 1), b = of_order(0.01, 1), c = of_order(0.01, 1);
        const double I[] = {m * (b * b + c * c) / 12, m * (a * a + c * c) / 12, m * (a * a + b * b) / 12};
        char         shape[200], force[200];
        snprintf(shape, sizeof shape, ", shape: {box: [%.17g, %.17g, %.17g]}", a, b, c);
        snprintf(force, sizeof force, "stiffness: %.17g, damping: %.17g", of_order(1e-3, 1e9), of_order(1e-3, 1e6));
        if (warns(body_with("[0, 0, -9.81]", m, I, shape, force), NULL)) print_error("%s %s\n", shape, force);
        assert_false(warns(body_with("[0, 0, -9.81]", m, I, shape, force), NULL));
        assert_false(warns(body_with("[0, -1.62, 0]", m, I, "", force), NULL));
        assert_false(warns(body_with("[9.81, 0, 0]", m, I, "", force), NULL)); // x down is a custom
    }
}

static void odd_models_are_warned_of(void **state)
{
    (void)state;
    srand(test_seed(101));
    for (int k = 0; k < 20; k++) {
        const double size = of_order(1e-6, 1e6), m = of_order(0.01, 100);
        char         force[200], gravity[100];
        snprintf(force, sizeof force, "stiffness: 10, damping: %.17g", -size);
        assert_true(warns(body_with("[0, 0, -9.81]", 1, PLAIN, "", force), "damping"));
        assert_true(warns(body_with("[0, 0, -9.81]", 1, PLAIN, "", force), "feeds energy"));
        snprintf(force, sizeof force, "stiffness: %.17g", -size);
        assert_true(warns(body_with("[0, 0, -9.81]", 1, PLAIN, "", force), "drives away"));
        snprintf(gravity, sizeof gravity, "[0, %.17g, %.17g]", k % 2 ? 9.81 : 0, k % 2 ? 0 : 9.81);
        assert_true(warns(body_with(gravity, 1, PLAIN, "", "stiffness: 1"), "gravity lifts"));
        // kg mm^2 in place of kg m^2
        const double a = of_order(0.02, 0.5), I = m * a * a / 6, mm[] = {1e6 * I, 1e6 * I, 1e6 * I};
        char         shape[100];
        snprintf(shape, sizeof shape, ", shape: {box: [%.17g, %.17g, %.17g]}", a, a, a);
        assert_true(warns(body_with("[0, 0, -9.81]", m, mm, shape, "stiffness: 1"), "radius of gyration"));
        const double flat[] = {1, 1, 2.1}, negative[] = {-1, 1, 1}, large[] = {3e4 * m, 3e4 * m, 3e4 * m};
        assert_true(warns(body_with("[0, 0, -9.81]", 1, flat, "", "stiffness: 1"), "triangle inequality"));
        assert_true(warns(body_with("[0, 0, -9.81]", 1, negative, "", "stiffness: 1"), "not positive"));
        assert_true(warns(body_with("[0, 0, -9.81]", m, large, "", "stiffness: 1"), "far beyond the body"));
    }
    assert_true(warns(body_with("[0, 0, -9810]", 1, PLAIN, "", "stiffness: 1"), "gravity is 9810"));
}

// Bushings: by their matrices, not by single entries
static void bushings_are_looked_at(void **state)
{
    (void)state;
    static const struct {
        const char *stiffness, *damping, *part;
    } CASE[] = {
        {"[1, 1, 1, 1, 1, 1]", "[1, 1, 1, 0, 0, 0]", NULL},
        {"[1, 1, -1, 1, 1, 1]", "[1, 1, 1, 0, 0, 0]", "stiffness is negative in a direction"},
        {"[1, 1, 1, 1, 1, 1]", "[1, 1, 1, 0, 0, -1e-6]", "damping is negative in a direction"},
        {"[[1, 2, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, "
         "0, 0, "
         "0, 1]]",
         "[1, 1, 1, 0, 0, 0]", "stiffness is negative in a direction"},
    };
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++) {
        char text[1500];
        snprintf(text, sizeof text,
                 "kardan: 1\ntitle: bush\nbodies:\n  b: {mass: 1, inertia: [1, 1, 1]}\nforces:\n"
                 "  bush: {type: bushing, bodies: [ground, b], point: [0, 0, 0], stiffness: %s, damping: %s}\n",
                 CASE[k].stiffness, CASE[k].damping);
        assert_int_equal(warns(text, CASE[k].part), CASE[k].part != NULL);
    }
}

// simulate repeats them: one line each, in JSON, table and report; check says the same
static void simulate_repeats_warnings(void **state)
{
    (void)state;
    assert_int_equal(run_command("mkdir -p '" OUT "'").status, 0);
    FILE *file = fopen(OUT "/odd.yaml", "w");
    assert_non_null(file);
    fputs(body_with("[0, 0, 9.81]", 1, PLAIN, "", "stiffness: 100, damping: -0.01"), file);
    fclose(file);
    command_result r = run_command(KARDAN " simulate '" OUT "/odd.yaml' --t-end 1 --output '" OUT "'");
    assert_int_equal(r.status, 0);
    must_contain(r.text, "  warning: ");
    must_contain(r.text, "its damping -0.01 is negative: it feeds energy\n");
    must_contain(r.text, "gravity lifts");
    must_contain(r.text, "  verdict: clean\n");
    r = run_command(KARDAN " simulate '" OUT "/odd.yaml' --t-end 1 --json --output '" OUT "'");
    must_be_json(r.text);
    must_contain(r.text, "\"warnings\": [\"");
    must_contain(r.text, "\"clean\": true");
    must_contain(r.text, "\"not_searched\": []");
    r = run_command("grep -c 'feeds energy' '" OUT "/odd.csv' '" OUT "/odd.html'");
    must_contain(r.text, "odd.csv:1");
    must_contain(r.text, "odd.html:1");
    r = run_command(KARDAN " check '" OUT "/odd.yaml'");
    must_contain(r.text, "gravity lifts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_models_are_quiet),
        cmocka_unit_test(odd_models_are_warned_of),
        cmocka_unit_test(bushings_are_looked_at),
        cmocka_unit_test(simulate_repeats_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
