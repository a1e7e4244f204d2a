// Units of model exchange as parts of a model: their states are integrated with it, their events are events of the run, their derivatives
// stand in Newton's matrices. Against closed forms, and against the same mechanism inside of the model.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define OUT KD_BINARY_DIR "/test-continuous"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"
#include "fmi/make_fmu.h"

enum { COLUMNS = 60, LINE = 4000 };

typedef struct table {
    char   name[COLUMNS][60];
    int    n;
    double row[COLUMNS]; // the last one that was read
    FILE  *file;
} table;

static void table_open(table *t, const char *path)
{
    char line[LINE];
    *t = (table){.file = fopen(path, "r")};
    if (!t->file) fail_msg("%s is missing", path);
    do assert_non_null(fgets(line, sizeof line, t->file));
    while (line[0] == '#');
    for (char *word = strtok(line, ",\n"); word && t->n < COLUMNS; word = strtok(NULL, ",\n"))
        snprintf(t->name[t->n++], sizeof t->name[0], "%s", word);
}

static bool table_next(table *t)
{
    char line[LINE], *at = line;
    if (!fgets(line, sizeof line, t->file)) return false;
    for (int i = 0; i < t->n; i++) {
        t->row[i] = strtod(at, &at);
        if (*at == ',') at++;
    }
    return true;
}

static double value_of(const table *t, const char *column)
{
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->name[i], column) == 0) return t->row[i];
    fail_msg("there is no column %s", column);
    return 0;
}

// The last row of the model MODEL.yaml
static double last_of(const char *model, const char *column)
{
    table  t;
    double value = NAN;
    char   path[400];
    snprintf(path, sizeof path, OUT "/own/%s.csv", model);
    table_open(&t, path);
    while (table_next(&t)) value = value_of(&t, column);
    fclose(t.file);
    return value;
}

// A cart that moves with x = t, and a block of these fields
static void write_cart(const char *block, const char *more, const char *run)
{
    FILE *file = fopen(OUT "/cart.yaml", "w");
    assert_non_null(file);
    fprintf(file,
            "kardan: 1\ngravity: [0, 0, 0]\nbodies: {cart: {mass: 2, inertia: [0.1, 0.1, 0.1]}}\n"
            "joints: {slide: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0], v: 1}}\n"
            "blocks:\n  unit: {%s}\n%s\nrun: {%s}\n",
            block, more, run);
    fclose(file);
}

static void simulate(const char *options)
{
    char command[400];
    snprintf(command, sizeof command, "simulate cart.yaml --no-drawing --quiet -o own %s", options);
    expect(command, 0, "");
}

// Times of the events of a run, up to n
static int event_times(double *t, int n)
{
    FILE *file = fopen(OUT "/own/cart-events.csv", "r");
    char  line[LINE];
    int   count = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strstr(line, "event of block 'unit'") && count < n) t[count++] = strtod(line, NULL);
    fclose(file);
    return count;
}

// ---- the shared descriptions ----------------------------------------------------------------------------------------

// x' = -k x with several integrators and formulations; k is a parameter of the model
static void exponential_is_integrated(void **state)
{
    static const char *const way[] = {"--integrator dop853",
                                      "--integrator radau",
                                      "--integrator bdf",
                                      "--integrator sdirk",
                                      "--coordinates cartesian --formulation psf",
                                      "--in-process",
                                      "--formulation ggl --integrator ida"};
    (void)state;
    if (!has_shared()) skip();
    for (int version = 2; version <= 3; version++) {
        char path[400];
        snprintf(path, sizeof path, SHARED "/models/Dahlquist/FMI%d.xml", version);
        make_fmu("Dahlquist", path, "dahlquist", version, "unit.fmu");
        write_cart("type: fmu, file: unit.fmu, parameters: {k: k}, output: [x]",
                   "parameters: {k: 1}\nsensors: {x: block.unit.out}", "t_end: 1.3, rtol: 1e-9, atol: 1e-10");
        for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
            char options[200];
            snprintf(options, sizeof options, "%s --set k=%g", way[i], 1 + 0.3 * (double)i);
            simulate(options);
            const double d = fabs(last_of("cart", "x") - exp(-1.3 * (1 + 0.3 * (double)i)));
            if (!(d < 3e-8)) fail_msg("FMI %d, %s: %g", version, way[i], d);
        }
    }
}

// The ball bounces when it should, to 1e-9 s, and comes to rest with the eleventh bounce
static void ball_bounces(void **state)
{
    static const char *const way[] = {"--integrator dop853", "--integrator radau", "--integrator bdf"};
    const double             g = 9.81, e = 0.7;
    (void)state;
    if (!has_shared()) skip();
    for (int version = 2; version <= 3; version++) {
        char path[400];
        snprintf(path, sizeof path, SHARED "/models/BouncingBall/FMI%d.xml", version);
        make_fmu("BouncingBall", path, "ball", version, "unit.fmu");
        for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
            double times[40], bounce = sqrt(2 / g), v = g * bounce;
            write_cart("type: fmu, file: unit.fmu, output: [h, v]", "sensors: {h: block.unit.out1, v: block.unit.out2}",
                       "t_end: 3, rtol: 1e-10, atol: 1e-12");
            simulate(way[i]);
            const int n = event_times(times, 40);
            if (n != 11) fail_msg("FMI %d, %s: %d bounces", version, way[i], n);
            for (int k = 0; k < n; k++) {
                if (!(fabs(times[k] - bounce) < 1e-9))
                    fail_msg("FMI %d, %s: bounce %d at %.12g, not %.12g", version, way[i], k + 1, times[k], bounce);
                v *= e;
                bounce += 2 * v / g;
            }
            assert_true(last_of("cart", "v") == 0);
            assert_true(fabs(last_of("cart", "h")) < 1e-9);
        }
        // one that cannot save its states: runs go forward, and a second one begins anew
        char command[600];
        snprintf(command, sizeof command,
                 "sed -E 's/canGetAndSetFMU[sS]tate=\"true\"//; s/canSerializeFMU[sS]tate=\"true\"//' '%s' > '" OUT
                 "/plain.xml'",
                 path);
        assert_int_equal(run_command(command).status, 0);
        make_fmu("BouncingBall", OUT "/plain.xml", "ball", version, "unit.fmu");
        simulate("--cross-check");
        double times[40];
        assert_int_equal(event_times(times, 40), 11);
    }
}

// ---- time and step events, derivatives ------------------------------------------------------------------------------

static void write_stages(bool directional, bool step_events)
{
    FILE *file = fopen(OUT "/stages.xml", "w");
    assert_non_null(file);
    fprintf(
        file,
        "<?xml version=\"1.0\"?>\n<fmiModelDescription fmiVersion=\"3.0\" modelName=\"s\" instantiationToken=\"s\">\n"
        "<ModelExchange modelIdentifier=\"s\" needsCompletedIntegratorStep=\"%s\" "
        "providesDirectionalDerivatives=\"%s\"/>\n"
        "<ModelVariables><Float64 name=\"time\" valueReference=\"0\" causality=\"independent\"/>\n"
        "<Float64 name=\"x\" valueReference=\"1\" causality=\"output\" initial=\"exact\" start=\"0.5\"/>\n"
        "<Float64 name=\"der(x)\" valueReference=\"2\" derivative=\"1\"/>\n"
        "<Float64 name=\"k\" valueReference=\"3\" causality=\"output\" variability=\"discrete\" initial=\"exact\" "
        "start=\"2\"/>\n"
        "<Float64 name=\"u\" valueReference=\"4\" causality=\"input\" start=\"0\"/>\n"
        "<Float64 name=\"y\" valueReference=\"6\" causality=\"output\"/>\n"
        "<Float64 name=\"slopes\" valueReference=\"7\" causality=\"output\"/></ModelVariables>\n"
        "<ModelStructure><Output valueReference=\"1\"/><Output valueReference=\"3\"/><Output valueReference=\"6\"/>"
        "<Output valueReference=\"7\"/><ContinuousStateDerivative valueReference=\"2\"/>"
        "<InitialUnknown valueReference=\"2\"/><InitialUnknown valueReference=\"6\"/><InitialUnknown "
        "valueReference=\"7\"/></ModelStructure></fmiModelDescription>\n",
        step_events ? "true" : "false", directional ? "true" : "false");
    fclose(file);
    make_fmu("s", OUT "/stages.xml", "stages", 3, "unit.fmu");
}

// x' = a u - 2 x with u = q = t: a is 1, then -1 from 0.25 s, then 2 from 0.6 s on
static double stages_at(double t)
{
    const double end[] = {0.25, 0.6, HUGE_VAL}, a[] = {1, -1, 2};
    double       x = 0.5, from = 0;
    for (int i = 0; i < 3 && from < t; i++) {
        const double to = fmin(end[i], t), h = to - from;
        // particular solution a (t/2 - 1/4)
        x = (x - a[i] * (from / 2 - 0.25)) * exp(-2 * h) + a[i] * (to / 2 - 0.25);
        from = to;
    }
    return x;
}

// Times that the unit tells are met, whatever the steps are; outputs follow inputs at once
static void time_events_are_met(void **state)
{
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    for (int directional = 0; directional < 2; directional++)
        for (int radau = 0; radau < 2; radau++) {
            double times[10];
            write_stages(directional, false);
            write_cart("type: fmu, file: unit.fmu, input: {u: joint.slide.q}, output: [x, y, slopes]",
                       "sensors: {x: block.unit.out1, y: block.unit.out2, slopes: block.unit.out3}",
                       "t_end: 1.1, rtol: 1e-10, atol: 1e-12");
            simulate(radau ? "--integrator radau" : "--integrator dop853");
            assert_int_equal(event_times(times, 10), 2);
            assert_true(fabs(times[0] - 0.25) < 1e-12 && fabs(times[1] - 0.6) < 1e-12);
            assert_true(fabs(last_of("cart", "x") - stages_at(1.1)) < 1e-9);
            assert_true(fabs(last_of("cart", "y") - stages_at(1.1) - 3 * 1.1) < 1e-9);
            // an implicit method asks for derivatives where the unit has them
            const double asked = last_of("cart", "slopes");
            assert_true(directional && radau ? asked > 0 : !directional ? asked == 0 : true);
        }
}

// x1' = a t - 2 x1 and x2' = a (x1 + 3 t) - 2 x2 by the classical method of Runge and Kutta
static void two_stages_at(double t, double *x)
{
    const double end[] = {0.25, 0.6, HUGE_VAL}, a[] = {1, -1, 2}, part[] = {0, 0.5, 0.5, 1}, weight[] = {1, 2, 2, 1};
    const int    n = 2000;
    double       from = 0;
    x[0] = x[1] = 0.5;
    for (int i = 0; i < 3 && from < t; i++) {
        const double to = fmin(end[i], t), h = (to - from) / n;
        for (int step = 0; step < n; step++) {
            double k[2] = {0, 0}, sum[2] = {0, 0};
            for (int stage = 0; stage < 4; stage++) {
                const double at = from + (step + part[stage]) * h, y0 = x[0] + h * part[stage] * k[0],
                             y1 = x[1] + h * part[stage] * k[1];
                k[0] = a[i] * at - 2 * y0;
                k[1] = a[i] * (y0 + 3 * at) - 2 * y1;
                for (int m = 0; m < 2; m++) sum[m] += h * weight[stage] * k[m] / 6;
            }
            x[0] += sum[0];
            x[1] += sum[1];
        }
        from = to;
    }
}

// One unit reads the output of another that stands behind it in the file; a lag and an algebraic variable read both; derivatives go through
static void units_read_units(void **state)
{
    double x[2];
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    for (int directional = 0; directional < 2; directional++) {
        write_stages(directional, false);
        write_cart("type: fmu, file: unit.fmu, input: {u: block.first.out2}, output: [x, y]",
                   "  first: {type: fmu, file: unit.fmu, input: {u: joint.slide.q}, output: [x, y]}\n"
                   "states: {lag: {type: lag, input: block.unit.out2, time_constant: 0.1}}\n"
                   "algebraic: {w: {equation: w + w^3 - block.unit.out1}}\n"
                   "forces: {push: {type: joint_spring, joint: slide, rest: 0, law: 0*(block.unit.out1 + algebraic.w + "
                   "state.lag)}}\n"
                   "sensors: {x1: block.first.out1, x2: block.unit.out1, y2: block.unit.out2, w: algebraic.w}",
                   "t_end: 1.1, rtol: 1e-10, atol: 1e-12");
        expect("check cart.yaml --derivatives", 0, "");
        simulate(directional ? "--integrator radau" : "--integrator bdf --rtol 1e-10");
        two_stages_at(1.1, x);
        const double w = last_of("cart", "w");
        assert_true(fabs(last_of("cart", "x1") - x[0]) < 1e-8);
        assert_true(fabs(last_of("cart", "x2") - x[1]) < 1e-8);
        assert_true(fabs(last_of("cart", "y2") - (x[1] + 3 * (x[0] + 3 * 1.1))) < 1e-7);
        assert_true(fabs(w + w * w * w - x[1]) < 1e-7);
    }
}

// At the end of the first step with x < -0.1 the unit asks for an event, which changes its rate
static void ends_of_steps_are_told(void **state)
{
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    double times[10];
    write_stages(true, true);
    write_cart("type: fmu, file: unit.fmu, input: {u: -4}, output: [x, k]",
               "sensors: {x: block.unit.out1, k: block.unit.out2}",
               "t_end: 0.24, max_step: 0.001, rtol: 1e-9, intervals: 240");
    simulate("--integrator dop853");
    assert_int_equal(event_times(times, 10), 1);
    // x = -2 + 2.5 exp(-2 t) passes -0.1 here
    const double crossing = log(2.5 / 1.9) / 2;
    assert_true(times[0] >= crossing && times[0] < crossing + 0.0011);
    // behind it k = 5: x = -0.8 + .. exp(-5 (t - t1))
    const double x1 = -2 + 2.5 * exp(-2 * times[0]);
    assert_true(last_of("cart", "k") == 5);
    assert_true(fabs(last_of("cart", "x") - (-0.8 + (x1 + 0.8) * exp(-5 * (0.24 - times[0])))) < 1e-8);
}

// ---- a mechanism in a unit ------------------------------------------------------------------------------------------

static void write_two_masses(double kc, double dc)
{
    FILE *file = fopen(OUT "/whole.yaml", "w");
    assert_non_null(file);
    fprintf(file,
            "kardan: 1\ngravity: [0, 0, 0]\nparameters: {kc: %g, dc: %g}\n"
            "bodies: {a: {mass: 1, inertia: [1, 1, 1]}, b: {mass: 1, inertia: [1, 1, 1]}}\n"
            "joints:\n  slide: {type: prismatic, bodies: [ground, a], point: [0, 0, 0], axis: [1, 0, 0], q: 1, v: 0}\n"
            "  second: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [1, 0, 0], q: 0, v: 0}\n"
            "forces:\n  own: {type: joint_spring, joint: slide, rest: 0, stiffness: 10, damping: 0.1, law: "
            "kc*(joint.second.q - q) + "
            "dc*(joint.second.v - v)}\n"
            "  other: {type: joint_spring, joint: second, rest: 0, stiffness: 10, damping: 0.1, law: kc*(joint.slide.q "
            "- q) + "
            "dc*(joint.slide.v - v)}\n"
            "sensors: {x: joint.slide.q, v: joint.slide.v, other: joint.second.q}\nrun: {t_end: 2, rtol: 1e-8, atol: "
            "1e-9}\n",
            kc, dc);
    fclose(file);
}

static double run_difference(const char *a, const char *b)
{
    static const char *const column[] = {"x", "v", "other"};
    table                    p, q;
    double                   most = 0;
    char                     path[2][400];
    snprintf(path[0], sizeof path[0], OUT "/own/%s.csv", a);
    snprintf(path[1], sizeof path[1], OUT "/own/%s.csv", b);
    table_open(&p, path[0]);
    table_open(&q, path[1]);
    while (table_next(&p)) {
        assert_true(table_next(&q));
        for (int i = 0; i < 3; i++) most = fmax(most, fabs(value_of(&p, column[i]) - value_of(&q, column[i])));
    }
    fclose(p.file);
    fclose(q.file);
    return most;
}

// One of two masses in a unit moves as both in one model: soft and stiff couplings, both versions, by its derivatives or differences
static void mechanism_in_a_unit_moves_as_inside(void **state)
{
    static const struct {
        double      kc, dc, bound;
        const char *options;
    } way[] = {{100, 1, 1e-6, "--integrator dop853"},
               {100, 1, 1e-6, "--integrator bdf"},
               {1e6, 1e3, 1e-6, "--integrator radau"},
               {3e7, 1e5, 1e-5, "--integrator sdirk --in-process"}};
    (void)state;
    for (int version = 2; version <= 3; version++)
        for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
            char command[700];
            snprintf(command, sizeof command,
                     "export fmu " MODELS "systems/tied-mass.yaml --fmi %d --kind me --set kc=%g --set dc=%g --quiet",
                     version, way[i].kc, way[i].dc);
            expect(command, 0, "");
            assert_int_equal(run_command("cp " MODELS "foreign/mass-fmu.yaml '" OUT "'").status, 0);
            write_two_masses(way[i].kc, way[i].dc);
            snprintf(command, sizeof command,
                     "simulate mass-fmu.yaml --t-end 2 --rtol 1e-8 --atol 1e-9 --no-drawing --quiet -o own %s",
                     way[i].options);
            expect(command, 0, "");
            snprintf(command, sizeof command, "simulate whole.yaml --no-drawing --quiet -o own %s", way[i].options);
            expect(command, 0, "");
            const double d = run_difference("mass-fmu", "whole");
            if (!(d < way[i].bound)) fail_msg("FMI %d, %g, %s: %g", version, way[i].kc, way[i].options, d);
        }
}

// Derivatives of the whole model against differences
static void derivatives_go_through_a_unit(void **state)
{
    (void)state;
    expect("export fmu " MODELS "systems/tied-mass.yaml --kind me --quiet", 0, "");
    assert_int_equal(run_command("cp " MODELS "foreign/mass-fmu.yaml '" OUT "'").status, 0);
    expect("check mass-fmu.yaml --derivatives", 0, "");
}

// ---- what is wrong --------------------------------------------------------------------------------------------------

static void wrong_units_are_told(void **state)
{
    static const struct {
        const char *block, *more, *command, *sentence;
    } wrong[] = {
        {"type: fmu, file: GOOD.fmu, kind: cs, output: [x]", "", "check cart.yaml", "give it a period"},
        {"type: fmu, file: GOOD.fmu, output: [x], offset: 1", "", "check cart.yaml",
         "without period it is not sampled"},
        {"type: fmu, file: GOOD.fmu, output: [x], start_output: 1", "", "check cart.yaml",
         "without period it is not sampled"},
        {"type: fmu, file: unit.fmu, input: {u: block.unit.out}, output: [y]", "", "check cart.yaml", "algebraic loop"},
        {"type: fmu, file: unit.fmu, input: {u: joint.slide.a}, output: [y]", "", "check cart.yaml",
         "cannot be read here"},
        {"type: fmu, file: NAN.fmu, output: [x]", "", "simulate cart.yaml --no-drawing",
         "block 'unit': the FMU: derivative 1 is no finite number"},
        {"type: fmu, file: CRASH.fmu, output: [x]", "", "simulate cart.yaml --no-drawing",
         "block 'unit': the FMU crashed in the start of initialisation"},
        {"type: fmu, file: GOOD.fmu, output: [x]", "", "realtime cart.yaml", "give blocks of FMUs a period"},
        {"type: fmu, file: GOOD.fmu, output: [x]", "", "compare cart.yaml --jobs 2", "serves one run at a time"},
    };
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    make_hostile("GOOD");
    make_hostile("NAN");
    make_hostile("CRASH");
    write_stages(true, false);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_cart(wrong[i].block, wrong[i].more, "t_end: 0.5");
        expect(wrong[i].command, 1, wrong[i].sentence);
    }
}

// A run goes on from a file as long as the unit had no event, and is refused behind one
static void runs_go_on_without_events(void **state)
{
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    write_stages(true, false);
    write_cart("type: fmu, file: unit.fmu, input: {u: joint.slide.q}, output: [x]", "sensors: {x: block.unit.out}",
               "t_end: 1.1, rtol: 1e-10, integrator: dop853");
    simulate("--t-end 0.2 --write-state own/cart.saved");
    expect("simulate cart.yaml --no-drawing --quiet --t-end 0.4 -o own --continue own/cart.saved", 0, "");
    assert_true(fabs(last_of("cart", "x") - stages_at(0.4)) < 1e-8);
    simulate("--t-end 0.4 --write-state own/cart.saved");
    expect("simulate cart.yaml --no-drawing --quiet --t-end 0.5 -o own --continue own/cart.saved", 1,
           "it keeps what its events have changed to itself");
}

// Written and read again it is the same block; as an FMU it is refused
static void block_is_written(void **state)
{
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    make_hostile("GOOD");
    write_cart("type: fmu, file: GOOD.fmu, output: [x]", "sensors: {x: block.unit.out}", "t_end: 0.5, rtol: 1e-8");
    expect("convert cart.yaml again.yaml --quiet", 0, "");
    expect("simulate again.yaml --no-drawing --quiet -o own", 0, "");
    assert_true(fabs(last_of("again", "x") - exp(-0.5)) < 1e-6);
    expect("export fmu cart.yaml", 1, "foreign code, which an FMU cannot carry");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential_is_integrated),     cmocka_unit_test(ball_bounces),
        cmocka_unit_test(time_events_are_met),           cmocka_unit_test(units_read_units),
        cmocka_unit_test(ends_of_steps_are_told),        cmocka_unit_test(mechanism_in_a_unit_moves_as_inside),
        cmocka_unit_test(derivatives_go_through_a_unit), cmocka_unit_test(wrong_units_are_told),
        cmocka_unit_test(runs_go_on_without_events),     cmocka_unit_test(block_is_written),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
