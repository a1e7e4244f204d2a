// kardan simulate where something goes wrong or slowly: options of the method and their refusals, who limits the steps,
// post-mortem files and the command that replays the last second.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-explain"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"
#include "results/markup.h"

static void write_model(const char *name, const char *text)
{
    char path[1000];
    snprintf(path, sizeof path, OUT "/%s", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// A file of the folder; valid until the next call
static const char *text_of(const char *name)
{
    static char text[400000];
    char        path[1000];
    snprintf(path, sizeof path, OUT "/%s", name);
    char *whole = read_text(path);
    if (!whole) print_error("no file %s\n", path);
    assert_non_null(whole);
    snprintf(text, sizeof text, "%s", whole);
    free(whole);
    return text;
}

static double number_behind(const char *text, const char *part)
{
    const char *found = strstr(text, part);
    if (!found) print_error("missing: %s\nin: %s\n", part, text);
    assert_non_null(found);
    return strtod(found + strlen(part), NULL);
}

// A mass on a stiff spring beside a slow one.
static const char TWO[] = "kardan: 1\n"
                          "bodies:\n  a: {mass: 2, inertia: [1, 1, 1]}\n  b: {mass: 2, inertia: [1, 1, 1]}\n"
                          "joints:\n"
                          "  fast: {type: prismatic, from: ground, to: a, q: 0.1}\n"
                          "  slow: {type: prismatic, from: ground, to: b, q: 0.1}\n"
                          "forces:\n"
                          "  hard: {type: joint_spring, joint: fast, stiffness: 20000, rest: 0}\n"
                          "  soft: {type: joint_spring, joint: slow, stiffness: 2, rest: 0}\n"
                          "run: {t_end: 2}\n";

// A root that becomes imaginary at q = 3, after about 1.45 s.
static const char ROOT[] = "kardan: 1\ngravity: [0, 0, 0]\n"
                           "bodies:\n  arm: {mass: 1, inertia: [1, 1, 1]}\n"
                           "joints:\n  slide: {type: prismatic, from: ground, to: arm, v: 1}\n"
                           "forces:\n  odd: {type: joint_spring, joint: slide, law: sqrt(3 - q)}\n"
                           "run: {t_end: 5}\n";

// A slider that is pulled until crank and rod are in line: a singular position at t = 2.8.
static const char REACH[] =
    "kardan: 1\n"
    "bodies:\n"
    "  crank: {position: [0.5, 0, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
    "  slider: {position: [1.2, 0, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
    "joints:\n"
    "  pivot: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1]}\n"
    "  guide: {type: prismatic, from: {body: ground, point: [1.2, 0, 0], axis: [1, 0, 0]},\n"
    "    to: {body: slider, axis: [1, 0, 0]}, motion: 0.5*t - 0.6}\n"
    "constraints:\n  rod: {type: distance, from: {body: crank, point: [0.5, 0, 0]}, to: slider, length: 1}\n"
    "run: {t_end: 5}\n";

// Combinations without meaning are refused with the reason and something that works, before anything is computed.
static void refused_combinations(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *part;
    } list[] = {
        {"--formulation psf --derivatives grouped", "--formulation ggl works"},
        {"--formulation psf --update partitioned", "--formulation ggl works"},
        {"--formulation psf --form explicit", "--formulation ggl works"},
        {"--formulation ggl --integrator cvode", "--formulation ode works"},
        {"--formulation ode --update partitioned", "--formulation ggl works"},
        {"--integrator ida --projection always", "--integrator bdf works"},
        {"--pattern estimated", "--derivatives grouped works"},
        {"--pattern estimated --derivatives dense", "--derivatives grouped works"},
        {"--order-max 3", "--integrator bdf works"},
        {"--integrator ida --update partitioned", "--integrator bdf works"},
        {"--integrator cvode --derivatives dense", "--integrator bdf --formulation ggl works"},
        {"--integrator cvode --order-max 6", "cvode-bdf has the orders 1 to 5; --order-max 5 works"},
        {"--integrator cvode --method adams --order-max 13", "--order-max 12 works"},
        {"--integrator arkode --order-max 7", "2 to 8 without 7; --order-max 8 works"},
        {"--integrator arkode --method dirk --order-max 1", "2 to 5; --order-max 5 works"},
        {"--integrator bdf --decomposition svd --derivatives grouped", "--decomposition lu works"},
        {"--formulation ggl --decomposition svd --jacobian-plots pictures", "--decomposition lu works"},
        {"--integrator bdf --order-max 6", "--order-max 5 works"},
        {"--formulation ggl --projection always", "--formulation index2 works"},
        {"--formulation index2 --projection always --projection-bound 1e-9", "leaving one of the two out works"},
        {"--derivatives analytical", "did you mean 'analytic'"},
        {"--update partitoned", "did you mean 'partitioned'"},
        {"--projection sometimes", "never, bound, always"},
        {"--form implicit", "did you mean 'explicit'"},
        {"--projection-bound 0", "a positive number"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char line[300];
        snprintf(line, sizeof line, "simulate pendulum %s", list[i].arguments);
        expect(line, 2, list[i].part);
    }
}

// Options reach the run: they are told again, chosen formulations fit them, and the counters of differences and updates
// are there in words and in JSON.
static void options_of_the_newton_matrix(void **state)
{
    (void)state;
    command_result r =
        expect("simulate pendulum --derivatives grouped --json --output a", 0, "\"formulation\": \"ggl\"");
    must_contain(r.text, "\"derivatives\": \"grouped\"");
    must_contain(r.text, "\"pattern\": \"topology\"");
    assert_true(number_behind(r.text, "\"groups\": ") >= number_behind(r.text, "\"fullest_row\": "));
    assert_true(number_behind(r.text, "\"for_differences\": ") > 0);
    assert_true(number_behind(r.text, "\"calls\": ") ==
                number_behind(r.text, "\"residuals\": ") + number_behind(r.text, "\"for_differences\": "));
    r = expect("simulate pendulum --plain --derivatives dense --stats --output a", 0,
               "a formulation that has these options");
    must_contain(r.text, "evaluations in total (#fc)");
    assert_null(strstr(r.text, "column groups"));
    must_contain(text_of("a/pendulum.html"), "<td>derivatives</td><td class=\"n\">dense</td>");
    r = expect("simulate pendulum --integrator bdf --order-max 2 --json --output a", 0, "\"order_max\": \"2\"");
    assert_true(number_behind(r.text, "\"order_last\": ") <= 2);
    r = expect("simulate pendulum --projection-bound 1e-9 --json --output a", 0, "\"projection\": \"bound\"");
    must_contain(r.text, "\"formulation\": \"index2\"");
}

// Who limits the steps: a table, the stiff spring by name, the same in JSON and in the report.
static void explain(void **state)
{
    (void)state;
    char           fault[200];
    command_result r = expect("simulate two.yaml --explain --output a", 0, "who limits the steps");
    must_contain(r.text, "joint.fast");
    must_contain(r.text, "'hard' (joint_spring) is stiff");
    r = expect("simulate two.yaml --plain --explain --json --output a", 0, "\"explanation\": {");
    must_contain(r.text, "\"limiters\": [{\"name\": \"joint.fast\"");
    const char *page = text_of("a/two.html");
    must_contain(page, "<h2>Who limits the steps</h2>");
    must_contain(page, "joint.fast");
    if (!markup_is_sound(page, fault, sizeof fault)) fail_msg("%s", fault);
    r = expect("simulate two.yaml --plain --output a", 0, "report:");
    assert_null(strstr(r.text, "who limits"));
    assert_null(strstr(text_of("a/two.html"), "Who limits"));
}

// The command of a post-mortem file
static void replay_of(const char *text, char *command, size_t size)
{
    const char *found = strstr(text, "  kardan simulate ");
    assert_non_null(found);
    found += strlen("  kardan ");
    snprintf(command, size, "%.*s", (int)strcspn(found, "\n"), found);
}

// A function that becomes NaN: the file names it, and its command runs into it again at the same time.
static void not_a_number(void **state)
{
    (void)state;
    char           command[2000];
    command_result r = expect("simulate root.yaml --output a --rtol 1e-7", 1, "post-mortem: a/root.post-mortem.txt");
    const char    *text = text_of("a/root.post-mortem.txt");
    must_contain(text, "KD_ERR_NOT_FINITE");
    must_contain(text, "cannot be evaluated");
    must_contain(text, "joint.slide");
    const double t = number_behind(text, "\n  t   ");
    assert_true(t > 1.44 && t < 1.46);
    replay_of(text, command, sizeof command);
    must_contain(command, "root.yaml --rtol 1e-7 --output a/replay --start-state a/root.state.csv --from 0 --t-end 5");
    expect(command, 1, "post-mortem: a/replay/root.post-mortem.txt");
    assert_true(fabs(number_behind(text_of("a/replay/root.post-mortem.txt"), "\n  t   ") - t) < 1e-4);
    r = expect("simulate root.yaml --output a --json", 1, "\"post_mortem\": \"a/root.post-mortem.txt\"");
    must_contain(r.text, "\"replay\": \"kardan simulate root.yaml --json --output a/replay");
}

// A singular position: the file says that the constraint no longer prevents the motion of the crank.
static void singular_position(void **state)
{
    (void)state;
    expect("simulate reach.yaml --output a", 1, "reach.post-mortem.txt");
    const char *text = text_of("a/reach.post-mortem.txt");
    must_contain(text, "nearly singular");
    must_contain(strstr(text, "depend on each other"), "constraint 'rod' length");
    must_contain(strstr(text, "hardly prevented"), "joint.pivot.v");
    assert_true(number_behind(text, "--from ") <= 1.8);
}

// Too many steps: the run goes on from the written state, and ends where the whole run ends.
static void going_on(void **state)
{
    (void)state;
    command_result r = expect("simulate two.yaml --rtol 1e-9 --json --output a", 0, "KD_OK");
    expect("simulate two.yaml --rtol 1e-9 --max-steps 100 --output b", 1, "more steps are needed");
    must_contain(text_of("b/two.post-mortem.txt"), "KD_ERR_TOO_MANY_STEPS");
    const char *whole = text_of("a/two.csv");
    double      end = number_behind(strrchr(whole, '\n') - 200 > whole ? strstr(whole, "\n2,") : whole, "\n2,");
    r = expect("simulate two.yaml --rtol 1e-9 --output c --start-state b/two.state.csv", 0, "report:");
    must_contain(r.text, "checked at");
    const char *rest = text_of("c/two.csv");
    assert_true(fabs(number_behind(rest, "\n2,") - end) < 1e-6);
    const double from = number_behind(r.text, "states from t = ");
    assert_true(from > 0.05 && from < 2);
}

// Pictures of the Newton matrix: four sound files, with the numbers of groups and evaluations of the statistics;
// without a formulation one is chosen that has such a matrix, psf is refused.
static void pictures_of_the_matrix(void **state)
{
    (void)state;
    static const char *const ENDING[] = {"pattern", "groups", "compressed", "instants"};
    char                     path[100], fault[200], part[100];
    command_result           r = expect("simulate andrews --integrator bdf --derivatives grouped --update partitioned "
                                                  "--jacobian-plots pictures --json --output a --t-end 0.004",
                                        0, "\"jacobian_plots\": \"pictures\"");
    for (int k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "pictures/andrews-%s.svg", ENDING[k]);
        if (!markup_is_sound(text_of(path), fault, sizeof fault)) fail_msg("%s", fault);
    }
    snprintf(part, sizeof part, "; %.0f groups, fullest row %.0f", number_behind(r.text, "\"groups\": "),
             number_behind(r.text, "\"fullest_row\": "));
    must_contain(text_of("pictures/andrews-groups.svg"), part);
    snprintf(part, sizeof part, "%.0f evaluations of the Jacobian (dotted)", number_behind(r.text, "\"jacobians\": "));
    must_contain(text_of("pictures/andrews-instants.svg"), part);
    expect("simulate two.yaml --jacobian-plots pictures --output a", 0, "matrix: pictures/two-pattern.svg");
    expect("simulate two.yaml --formulation psf --jacobian-plots pictures --output a", 2, "--formulation ggl works");
}

// States that are not there or belong to another model are refused.
static void wrong_start(void **state)
{
    (void)state;
    expect("simulate two.yaml --output a --start-state nowhere.csv", 1, "cannot read 'nowhere.csv'");
    expect("simulate two.yaml --max-steps 5 --output b", 1, "post-mortem");
    expect("simulate root.yaml --output a --start-state b/two.state.csv", 1, "states of another model");
    expect("simulate two.yaml --output a --start-state two.yaml", 1, "column 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_combinations),
        cmocka_unit_test(options_of_the_newton_matrix),
        cmocka_unit_test(explain),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(singular_position),
        cmocka_unit_test(going_on),
        cmocka_unit_test(pictures_of_the_matrix),
        cmocka_unit_test(wrong_start),
    };
    if (start_afresh(NULL) != 0) return 1;
    write_model("two.yaml", TWO);
    write_model("root.yaml", ROOT);
    write_model("reach.yaml", REACH);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
