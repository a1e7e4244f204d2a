// kardan realtime, run as a user runs it: what is told, what is written, what is refused. Nothing depends on how fast
// the machine is.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-realtime"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"
#include "results/markup.h"

#define MODEL(name) "'" KD_SOURCE_DIR "/models/" name ".yaml' "
#define CRANK MODEL("slider-crank")
#define FAST "--as-fast-as-possible "

static char *text_of(const char *name)
{
    char path[1000];
    snprintf(path, sizeof path, OUT "/%s", name);
    char *text = read_text(path);
    if (!text) print_error("no file %s\n", path);
    assert_non_null(text);
    return text;
}

// The value of a key inside an object of the outcome
static double inner_number(const char *text, const char *object, const char *key)
{
    char pattern[100];
    snprintf(pattern, sizeof pattern, "\"%s\": {", object);
    const char *found = strstr(text, pattern);
    if (!found) print_error("no %s in %s\n", object, text);
    assert_non_null(found);
    return json_number(found, key);
}

// A run tells the cost of steps, deadline, constraint errors, energy and a histogram, and writes its files.
static void run_is_told_and_written(void **state)
{
    (void)state;
    command_result           result = expect("realtime " CRANK FAST "--duration 0.3 --output new/folder", 0,
                                             "300 steps of 0.001 s to t = 0.3 s, as fast as possible");
    static const char *const parts[] = {"method: j2",
                                        "index 2, ggl (matrix: step)",
                                        "cost of a step, minimum ",
                                        "cost of a step, median ",
                                        "cost of a step, 99.9 % ",
                                        "cost of a step, worst ",
                                        "of the step length)",
                                        "real-time factor ",
                                        "deadline                     1.00 ms, missed by ",
                                        "position error               at most ",
                                        "velocity error               at most ",
                                        "kinetic + potential energy   ",
                                        "energy balance               within ",
                                        " us  ####",
                                        "table:  new/folder/slider-crank.realtime.csv",
                                        "report: new/folder/slider-crank.realtime.html"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) must_contain(result.text, parts[i]);
    char fault[200], *table = text_of("new/folder/slider-crank.realtime.csv"),
                     *page = text_of("new/folder/slider-crank.realtime.html"),
                     *picture = text_of("new/folder/slider-crank.realtime.svg");
    int lines = 0;
    for (char *c = table; c && *c; c = strchr(c, '\n') + 1) lines += *c != '#';
    assert_int_equal(lines, 1 + 301); // no more outputs than steps
    must_contain(table, "\n# method: j2");
    must_contain(table, "\n# cost of a step, worst: ");
    must_contain(table, "position violation");
    must_contain(page, "Cost of a step");
    must_contain(page, "Worst cost of a step between outputs");
    must_contain(page, "Violation of the constraints");
    must_contain(page, "Energy");
    must_contain(page, ">real-time factor<");
    assert_null(strstr(page, "<h2>Certificate<"));
    if (!markup_is_sound(page, fault, sizeof fault) || !markup_is_sound(picture, fault, sizeof fault))
        fail_msg("%s", fault);
    free(table);
    free(page);
    free(picture);
}

// The outcome as JSON parses, the classes of cost are in order, and a smaller step makes smaller errors: constraints by
// the third power, energy by the first.
static void outcome_as_json(void **state)
{
    (void)state;
    command_result coarse = expect("realtime " CRANK FAST "--duration 0.5 --stabilisation projection --json", 0,
                                   "\"ok\": true"),
                   fine =
                       expect("realtime " CRANK FAST "--duration 0.5 --stabilisation projection --step 2.5e-4 --json",
                              0, "\"ok\": true");
    must_be_json(coarse.text);
    assert_true(json_number(coarse.text, "steps") == 500 && json_number(fine.text, "steps") == 2000);
    assert_true(fabs(json_number(coarse.text, "t") - 0.5) < 1e-9);
    double least = inner_number(coarse.text, "cost", "minimum"), median = inner_number(coarse.text, "cost", "median"),
           late = inner_number(coarse.text, "cost", "quantile_99_9"),
           worst = inner_number(coarse.text, "cost", "worst");
    assert_true(least > 0 && least <= median && median <= late && late <= worst);
    assert_true(inner_number(coarse.text, "position_error", "largest") >
                20 * inner_number(fine.text, "position_error", "largest"));
    assert_true(inner_number(coarse.text, "energy_balance", "largest") >
                3 * inner_number(fine.text, "energy_balance", "largest"));
    assert_true(inner_number(coarse.text, "velocity_error", "largest") < 1e-12);
    assert_null(strstr(coarse.text, "lateness"));
}

// With the clock a run takes its time, tells how late steps began, and comes to the same state.
static void paced_run_keeps_to_the_clock(void **state)
{
    (void)state;
    command_result paced = expect("realtime " CRANK "--duration 0.2 --json", 0, "\"paced\": true"),
                   fast = expect("realtime " CRANK FAST "--duration 0.2 --json", 0, "\"paced\": false");
    must_be_json(paced.text);
    assert_true(json_number(paced.text, "wall_seconds") > 0.199); // the last step begins one step before
    assert_true(inner_number(paced.text, "lateness", "worst") >= 0);
    assert_true(json_number(paced.text, "energy_end") == json_number(fast.text, "energy_end"));
    expect("realtime " CRANK "--duration 0.05", 0, "start of a step ");
}

// The steps are those of the method asked for: all of them run on a loop, and errors are what the method leaves.
static void methods_run(void **state)
{
    (void)state;
    static const struct {
        const char *options, *method;
        double      most; // position error, at least a tenth of it
    } runs[] = {
        {"--jacobian j1", "j1", 1e-5},
        {"--jacobian j3", "j3, index 2, ggl", 1e-5},
        {"--jacobian explicit", "explicit, index 2, ggl", 1e-5},
        {"--jacobian exact", "exact of all elements, index 2, projection", 1e-5},
        {"--stiff all", "j2 of all elements", 1e-5},
        {"--forces old", ", forces at the old positions", 1e-5},
        {"--velocities-first", "velocities first, index 2, projection", 1e-5},
        {"--index 1", "index 1, projection", 1e-5},
        {"--stabilisation none", "index 2, none", 1},
        {"--stabilisation baumgarte --alpha 100", "baumgarte, alpha 100", 1e-2},
        {"--index 1 --stabilisation baumgarte --alpha 100 --beta 1e4", "alpha 100, beta 10000", 1e-1},
        {"--stabilisation projection --projector start", "projection (matrix: start)", 1e-5},
        {"--projector predicted", "ggl (matrix: predicted)", 1e-6},
        {"--stabilisation regularisation", "regularisation", 1e-1},
        {"--coordinates cartesian", "index 2, ggl", 1e-4},
        {"--set speed=10", "index 2, ggl", 1e-5},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char line[500];
        snprintf(line, sizeof line, "realtime " CRANK FAST "--duration 0.2 --json %s", runs[i].options);
        command_result result = expect(line, 0, runs[i].method);
        double         error = inner_number(result.text, "position_error", "largest");
        if (!(error < runs[i].most)) print_error("%s: position error %g\n", runs[i].options, error);
        assert_true(error < runs[i].most);
    }
}

// The bound of the position error lies above the errors, not far, and takes less than a fiftieth of the steps, with a
// matrix of derivatives counted as two of them.
static void error_stays_below_bound(void **state)
{
    (void)state;
    static const char *const run[] = {"realtime " MODEL("closed-loop-car") FAST "--json",
                                      "realtime " MODEL("hmmwv") FAST "--json"};
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        command_result result = expect(run[i], 0, "\"ok\": true");
        const double   error = inner_number(result.text, "position_error", "largest"),
                     bound = json_number(result.text, "position_bound"),
                     states = json_number(result.text, "position_bound_states"),
                     matrices = json_number(result.text, "position_bound_matrices");
        assert_true(error > 1e-9 && error <= bound && bound < 1.5 * error);
        assert_true(states >= 2 && matrices > states);
        assert_true(2 * matrices * 50 <= json_number(result.text, "steps"));
    }
}

// The bound of a step tells unknowns, calls and operations, and runs nothing; the sum is that of its items, and
// Cartesian coordinates have more.
static void bound_is_told(void **state)
{
    (void)state;
    command_result words = expect("realtime " CRANK "--bound", 0, "factorisation of the matrix");
    must_contain(words.text, "a step, whatever the state");
    must_contain(words.text, "in all, at most");
    must_contain(words.text, "not counted: outputs");
    command_result joint = expect("realtime " CRANK "--bound --json", 0, "\"unknowns\": "),
                   cartesian = expect("realtime " CRANK "--bound --json --coordinates cartesian", 0, "\"unknowns\": "),
                   equations = expect("realtime andrews --bound --json", 0, "which are written in C");
    must_be_json(joint.text);
    must_be_json(equations.text);
    assert_true(json_number(joint.text, "unknowns") == 3 + 2);
    assert_true(json_number(cartesian.text, "unknowns") > json_number(joint.text, "unknowns"));
    static const char *const items[] = {"factorisation", "solution",    "position", "velocity", "residual",
                                        "mass",          "constraints", "GZ",       "stiff"};
    double                   sum = 0;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        double times = inner_number(joint.text, items[i], "times");
        assert_true(times >= 1);
        sum += times * inner_number(joint.text, items[i], "operations");
    }
    assert_true(inner_number(joint.text, "sum", "operations") == sum && sum > 0);
    assert_true(inner_number(cartesian.text, "sum", "operations") > sum);
    assert_string_equal(run_command("ls '" OUT "'").text, "");
}

// Stiff elements: as the model says, by the criterion, by name, all; the bound lists them with their speeds.
static void stiff_elements_are_chosen(void **state)
{
    (void)state;
#define TRUCK "realtime " MODEL("quarter-car") "--bound "
    expect(TRUCK, 0, "j2 of 2 stiff elements out of 3");
    expect(TRUCK "--stiff elements,-strut", 0, "j2 of 1 stiff element out of 3");
    expect(TRUCK "--stiff -strut,-tyre", 0, "j2 of 0 stiff elements out of 3");
    expect(TRUCK "--stiff boot", 0, "j2 of 3 stiff elements out of 3");
    expect(TRUCK "--stiff all", 0, "j2 of all elements");
    expect(TRUCK "--stiff criterion --step 1e-2", 0, "j2 of 2 stiff elements out of 3");
    expect(TRUCK "--stiff criterion --step 1e-6", 0, "j2 of 0 stiff elements out of 3");
    expect(TRUCK "--stiff criterion,boot --step 1e-6", 0, "j2 of 1 stiff element out of 3");
    int            before, after;
    command_result car = expect("realtime " MODEL("closed-loop-car") "--bound", 0, "j2 of "),
                   less = expect(
                       "realtime " MODEL("closed-loop-car") "--bound --stiff '-corner(1,1).tyre, -corner(2,2).tyre'", 0,
                       "");
    assert_int_equal(sscanf(strstr(car.text, "j2 of "), "j2 of %d stiff", &before), 1);
    assert_int_equal(sscanf(strstr(less.text, "j2 of "), "j2 of %d stiff", &after), 1);
    assert_int_equal(after, before - 2); // commas inside parentheses do not part names
    expect("realtime " MODEL("closed-loop-car") FAST
           "--duration 0.01 --plots 'force.corner(1,2).tyre.force,joint.body.q3'",
           0, "report: ");
    command_result result = expect(TRUCK, 0, "force element, inner state");
    must_contain(strstr(result.text, "tyre "), "yes\n");
#undef TRUCK
}

// What has no meaning is refused in words, before anything runs.
static void refusals_have_words(void **state)
{
    (void)state;
    static const struct {
        const char *options, *words;
    } list[] = {
        {"--jacobian j4", "unknown jacobian 'j4', did you mean 'j"},
        {"--stabilisation projektion", "did you mean 'projection'?"},
        {"--projector stop", "did you mean 'step'?"},
        {"--stiff some", "unknown force element 'some'; known are elements, criterion, all, gas"},
        {"--stiff gass", "did you mean 'gas'?"},
        {"--index 3", "--index wants 1 (acceleration level) or 2 (velocity level)"},
        {"--index 0", "--index wants a whole number"},
        {"--index 1 --stabilisation ggl", "--index 1 works with projection and baumgarte"},
        {"--jacobian exact --stabilisation ggl", "work with projection"},
        {"--velocities-first --stabilisation ggl", "work with projection"},
        {"--alpha 10", "--alpha and --beta are for --stabilisation baumgarte"},
        {"--stabilisation baumgarte --beta 10", "--beta is for --index 1"},
        {"--epsilon 1e-3", "--epsilon is for --stabilisation regularisation"},
        {"--stabilisation none --projector step", "--projector is for"},
        {"--jacobian j3 --stiff all", "--jacobian explicit and j3 have none there"},
        {"--jacobian exact --stiff elements", "--jacobian exact takes all derivatives"},
        {"--stiff 'gas, -'", "unknown force element ''"},
        {"--stiff 'gas(1,2'", "unknown force element 'gas(1,2'"},
        {"--forces both", "unknown forces 'both'; known are new, old"},
        {"--forces old --jacobian j3", "--forces is for --jacobian j1 and j2"},
        {"--forces new --velocities-first", "--forces is for --jacobian j1 and j2"},
        {"--max-misses 1.5", "--max-misses wants a whole number"},
        {"--max-misses -1", "--max-misses wants a number that is not negative"},
        {"--from 1", "--from is for --start-state"},
        {"--step 0", "--step wants a positive number, not '0'"},
        {"--step nan", "--step wants a positive number"},
        {"--step=1e-3x", "--step wants a positive number"},
        {"--step 1e-12 --duration 1", "more than a billion steps"},
        {"--duration 0", "--duration wants a positive number"},
        {"--duration 1e999", "--duration wants"},
        {"--deadline -1", "--deadline wants"},
        {"--intervals 0", "--intervals wants a whole number"},
        {"--check-every 0", "--check-every wants a whole number"},
        {"--priority 0", "--priority wants a whole number"},
        {"--priority 100", "--priority wants a number from 1 to 99"},
        {"--start-state nothing.csv", "--start-state: "},
        {"--plots nothing", "unknown channel 'nothing'"},
        {"--output ''", "cannot be the name of a folder"},
        {"--stepp 1", "did you mean '--step'?"},
        {"--set nothing=1", "nothing"},
        {"more", "one word too many"},
        {"--as-fast-as-possible=1", "wants no value"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char line[500];
        snprintf(line, sizeof line, KARDAN "realtime " CRANK "%s", list[i].options);
        command_result result = run_command(line);
        if (result.status != 1 && result.status != 2) print_error("%s: %s\n", list[i].options, result.text);
        assert_true(result.status == 2 || (result.status == 1 && strstr(list[i].options, "--set")));
        must_contain(result.text, list[i].words);
    }
    expect("realtime", 2, "MODEL is missing");
    expect("realtime nonsense", 2, "unknown example 'nonsense'");
    expect("realtime caraxis --stiff criterion", 2, "equations written in C say themselves what is stiff");
    expect("realtime caraxis --stiff spring", 2, "equations written in C say themselves what is stiff");
    expect("realtime caraxis --set a=1", 2, "--set is for model files");
    expect("realtime nothing.yaml", 1, "nothing.yaml");
    expect("realtime --help", 0, "Examples:");
    expect("help realtime", 0, "--as-fast-as-possible");
    expect("help", 0, "realtime ");
}

// A stepper that is written and goes on makes the same steps as one that was not stopped; what does not fit is told.
static void steppers_go_on(void **state)
{
    (void)state;
    expect("realtime " CRANK FAST "--duration 0.4 --intervals 40 --output whole --quiet", 0, "");
    expect("realtime " CRANK FAST "--duration 0.2 --output half --quiet --write-state half.run", 0, "");
    expect("realtime " CRANK FAST "--duration 0.2 --intervals 20 --output rest --quiet --continue half.run", 0, "");
    const char *same = "cd '" OUT "' && tail -qn1 whole/slider-crank.realtime.csv | cut -d, -f1-8 > w && "
                       "tail -qn1 rest/slider-crank.realtime.csv | cut -d, -f1-8 | cmp - w";
    assert_int_equal(run_command(same).status, 0);
    expect("realtime " CRANK FAST "--step 0.002 --duration 0.1 --continue half.run", 1, "steps are 0.001 s there");
    expect("realtime " MODEL("four-bar") FAST "--continue half.run", 2, "the model file is another one");
    expect("realtime " CRANK FAST "--duration 0.1 --write-state nowhere/x.run", 1, "--write-state: ");
}

// A priority that the system does not permit is an error with words, one that it does permit changes nothing else.
static void priority_is_tried(void **state)
{
    (void)state;
    command_result result =
        run_command("cd '" OUT "' && " KARDAN "realtime " CRANK FAST "--duration 0.01 --priority 1 --quiet");
    if (result.status == 0) return;
    assert_int_equal(result.status, 1);
    must_contain(result.text, "limits.conf");
}

// A step that fails ends the run with status 1: time and name, advice, a post-mortem file and states, and the command
// in it runs into the same failure.
static void failure_has_a_post_mortem(void **state)
{
    (void)state;
    command_result result =
        expect("realtime " MODEL("stiff-double-pendulum") FAST "--jacobian explicit --step 0.01 --duration 100", 1,
               "kardan: stiff-double-pendulum: ");
    must_contain(result.text, "t = ");
    must_contain(result.text, "try: --jacobian j2");
    must_contain(result.text, "post-mortem: results/stiff-double-pendulum.realtime.post-mortem.txt");
    char *text = text_of("results/stiff-double-pendulum.realtime.post-mortem.txt"),
         *command = strstr(text, "kardan realtime "), line[4000];
    assert_non_null(command);
    must_contain(text, "last good state");
    must_contain(text, "Try --jacobian j2");
    command[strcspn(command, "\n")] = '\0';
    snprintf(line, sizeof line, "%s --json 2>/dev/null", command + strlen("kardan "));
    command_result again = expect(line, 1, "\"ok\": false"),
                   whole = expect("realtime " MODEL("stiff-double-pendulum") FAST
                                  "--jacobian explicit --step 0.01 --duration 100 --json 2>/dev/null",
                                  1, "\"ok\": false");
    assert_true(json_number(again.text, "t") == json_number(whole.text, "t"));
    must_be_json(again.text);
    must_contain(again.text, "\"replay\": \"kardan realtime ");
    free(text);
    char *table = text_of("results/replay/stiff-double-pendulum.realtime.csv");
    assert_null(strstr(table, "nan"));
    free(table);
}

// States that were written can be started from: two halves give the same end as the whole, to the last bit.
static void states_can_be_started_from(void **state)
{
    (void)state;
    expect("realtime " MODEL("stiff-double-pendulum") FAST "--jacobian explicit --step 0.01 --duration 100 --quiet", 1,
           "");
    command_result first = expect("realtime " MODEL("stiff-double-pendulum") FAST
                                  "--jacobian explicit --step 0.01 --duration 100 --json --start-state "
                                  "results/stiff-double-pendulum.realtime.state.csv --from 0.01 2>/dev/null",
                                  1, "\"ok\": false"),
                   whole = expect("realtime " MODEL("stiff-double-pendulum") FAST
                                  "--jacobian explicit --step 0.01 --duration 100 --json 2>/dev/null",
                                  1, "\"ok\": false");
    assert_true(json_number(first.text, "energy_end") == json_number(whole.text, "energy_end"));
    assert_true(json_number(first.text, "steps") < json_number(whole.text, "steps"));
}

// A motion whose energy comes from nowhere is doubted.
static void wrong_motion_is_doubted(void **state)
{
    (void)state;
    expect("realtime " MODEL("stiff-double-pendulum") FAST "--jacobian explicit --step 0.002 --duration 0.01", 0,
           "grew beyond all bounds");
    expect("realtime " MODEL("heavy-top") FAST "--jacobian explicit --duration 1", 0, "energy comes from nowhere");
    command_result good = expect("realtime " CRANK FAST "--duration 0.1 --json", 0, "\"doubt\": \"\"");
    must_be_json(good.text);
}

// More misses than permitted give status 3; results are written all the same.
static void misses_have_a_status(void **state)
{
    (void)state;
    command_result result = expect("realtime " CRANK FAST "--duration 0.05 --deadline 1e-9 --max-misses 49", 3,
                                   "50 steps were late, first at t = 0.001 s; --max-misses permits 49");
    must_contain(result.text, "missed by 50 of 50 steps");
    must_contain(result.text, "report: ");
    expect("realtime " CRANK FAST "--duration 0.05 --deadline 1e-9 --max-misses 50 --quiet", 0, "");
    result = expect("realtime " CRANK FAST "--duration 0.05 --deadline 1e-9 --max-misses 0 --json 2>/dev/null", 3,
                    "\"ok\": false");
    assert_true(json_number(result.text, "misses") == 50);
    expect("realtime " CRANK FAST "--duration 0.05 --deadline 1000 --max-misses 0", 0, "missed by 0 of 50 steps");
}

// Ctrl-C ends a run at its next step with summary and results.
static void interrupted_run_is_summed_up(void **state)
{
    (void)state;
    // in the foreground timeout sends one signal, otherwise a second one to the group
    command_result result = run_command("cd '" OUT "' && timeout --foreground --preserve-status -s INT 3 " KARDAN
                                        "realtime " CRANK "--duration 100");
    assert_int_equal(result.status, 130);
    must_contain(result.text, "interrupted at t = ");
    must_contain(result.text, "cost of a step, median ");
    char *table = text_of("results/slider-crank.realtime.csv");
    must_contain(table, "stopped on request");
    free(table);
}

// Inputs of the model are evaluated; --quiet is silent; a folder that cannot be made is found before anything runs.
static void small_things(void **state)
{
    (void)state;
    assert_string_equal(expect("realtime caraxis " FAST "--duration 0.1 --quiet", 0, "").text, "");
    expect("realtime " MODEL("speed-control") FAST "--duration 1 --plots speed --intervals 4", 0, "1000 steps");
    char *table = text_of("results/speed-control.realtime.csv");
    must_contain(table, "input.wanted");
    free(table);
    expect("realtime " CRANK FAST "--output /dev/full/x", 1, "cannot create the folder");
    command_result json = expect("realtime " CRANK FAST "--json --output /dev/full/x 2>/dev/null", 1, "\"ok\": false");
    must_be_json(json.text);
    assert_int_equal(run_command("ln -sf /dev/full '" OUT "/caraxis.realtime.csv'").status, 0);
    expect("realtime caraxis " FAST "--duration 0.01 --output .", 1, "No space left on device");
    expect("realtime caraxis " FAST "--duration 0.01 --check-every 3 --intervals 1", 0,
           "states that were looked at   5");
    expect("realtime " CRANK FAST "--duration 0.01 --no-drawing", 0, "report: ");
}

// The motion is that of kardan simulate, to the order of the step.
static void motion_is_that_of_simulate(void **state)
{
    (void)state;
    expect("realtime pendulum " FAST "--duration 1 --step 1e-4 --stiff all --json", 0, "\"ok\": true");
    expect("simulate pendulum --t-end 1 --quiet", 0, "");
    char  *rough = text_of("results/pendulum.realtime.csv"), *exact = text_of("results/pendulum.csv");
    double t, x, y, reference[2];
    assert_int_equal(sscanf(strrchr((rough[strlen(rough) - 1] = '\0', rough), '\n'), "%lf,%lf,%lf", &t, &x, &y), 3);
    assert_int_equal(
        sscanf(strrchr((exact[strlen(exact) - 1] = '\0', exact), '\n'), "%lf,%lf,%lf", &t, reference, reference + 1),
        3);
    assert_true(hypot(x - reference[0], y - reference[1]) < 2e-3);
    assert_true(hypot(x - reference[0], y - reference[1]) > 1e-8); // it is another method
    free(rough);
    free(exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(run_is_told_and_written, start_afresh),
        cmocka_unit_test_setup(outcome_as_json, start_afresh),
        cmocka_unit_test_setup(paced_run_keeps_to_the_clock, start_afresh),
        cmocka_unit_test_setup(methods_run, start_afresh),
        cmocka_unit_test_setup(bound_is_told, start_afresh),
        cmocka_unit_test_setup(error_stays_below_bound, start_afresh),
        cmocka_unit_test_setup(stiff_elements_are_chosen, start_afresh),
        cmocka_unit_test_setup(refusals_have_words, start_afresh),
        cmocka_unit_test_setup(steppers_go_on, start_afresh),
        cmocka_unit_test_setup(priority_is_tried, start_afresh),
        cmocka_unit_test_setup(failure_has_a_post_mortem, start_afresh),
        cmocka_unit_test_setup(states_can_be_started_from, start_afresh),
        cmocka_unit_test_setup(wrong_motion_is_doubted, start_afresh),
        cmocka_unit_test_setup(misses_have_a_status, start_afresh),
        cmocka_unit_test_setup(interrupted_run_is_summed_up, start_afresh),
        cmocka_unit_test_setup(small_things, start_afresh),
        cmocka_unit_test_setup(motion_is_that_of_simulate, start_afresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
