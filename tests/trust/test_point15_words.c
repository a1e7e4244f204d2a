// Point 15 of "never wrong in silence": numbers with units, places of messages, tolerances of files, units of inner
// states, counts, models in which nothing moves.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include <kardan/model.h>

#include "case.h"
#include "expr/quantity.h"
#include "model/build.h"
#include "project/command.h"
#include "results/table.h"

#define KARDAN "'" KD_BINARY_DIR "/kardan' "
#define OUT KD_BINARY_DIR "/test-point15"

static unsigned long long seed = 15;

static double uniform(double low, double high)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

static int clean(void **state)
{
    (void)state;
    return run_command("rm -rf '" OUT "' && mkdir -p '" OUT "'").status;
}

static command_result run(const char *format, ...)
{
    char    line[3000];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    return run_command(line);
}

static void write_model(const char *name, const char *format, ...)
{
    char    path[1000];
    va_list list;
    snprintf(path, sizeof path, OUT "/%s", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    va_start(list, format);
    vfprintf(file, format, list);
    va_end(list);
    fclose(file);
}

// ---- quantities -----------------------------------------------------------------------------------------------------

// A number with a unit is what the number in SI would be, to the last bit, for any digits.
static void units_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *wanted;
        int         decimal;
    } list[] = {{"mm", "m", -3},
                {"km", "m", 3},
                {"um", "m", -6},
                {"\xC2\xB5m", "m", -6},
                {"g", "kg", -3},
                {"t", "kg", 3},
                {"kg", "kg", 0},
                {"ms", "s", -3},
                {"kN", "N", 3},
                {"MPa", "Pa", 6},
                {"bar", "Pa", 5},
                {"mbar", "Pa", 2},
                {"N/mm", "N/m", 3},
                {"kN/m", "N/m", 3},
                {"kNm", "N m", 3},
                {"g cm^2", "kg m^2", -7},
                {"kg mm^2", "kg m^2", -6},
                {"g/cm^3", "kg/m^3", 3},
                {"cm2", "m^2", -4},
                {"l/s", "m^3/s", -3},
                {"mm/s", "m/s", -3},
                {"Nm/mrad", "N m/rad", 3},
                {"N*s/mm", "N s/m", 3},
                {"mm\xC2\xB3/(s bar)", "m^3/(s Pa)", -14}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int k = 0; k < 40; k++) {
            char         number[40], text[120], plain[120];
            const double x = uniform(-9, 9) * pow(10, floor(uniform(-5, 5)));
            snprintf(number, sizeof number, "%.*g", 1 + (int)uniform(0, 16), x);
            snprintf(text, sizeof text, "%s%s%s", number, k % 2 ? " " : "", list[i].unit);
            char *e = strchr(number, 'e');
            snprintf(plain, sizeof plain, "%.*se%d", e ? (int)(e - number) : (int)strlen(number), number,
                     (e ? atoi(e + 1) : 0) + list[i].decimal);
            const kd_quantity q = kd_quantity_read(text, list[i].wanted, NULL);
            if (q.kind != KD_QUANTITY_GOOD || q.value != strtod(plain, NULL))
                fail_msg("%s: %d %.17g, wanted %s: %s", text, (int)q.kind, q.value, plain, q.text);
        }
}

// Factors that are no powers of ten: angles as deg() gives them, times, speeds.
static void other_factors(void **state)
{
    (void)state;
    for (int k = 0; k < 100; k++) {
        char         text[60];
        const double x = floor(uniform(-1000, 1000));
        const struct {
            const char *unit, *wanted;
            double      factor;
        } list[] = {{"deg", "rad", 3.14159265358979323846 / 180},
                    {"rpm", "rad/s", 3.14159265358979323846 / 30},
                    {"min", "s", 60},
                    {"km/h", "m/s", 1 / 3.6},
                    {"\xC2\xB0", "rad", 3.14159265358979323846 / 180},
                    {"deg/s", "rad/s", 3.14159265358979323846 / 180},
                    {"l/min", "m^3/s", 1e-3 / 60}};
        for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
            snprintf(text, sizeof text, "%.0f %s", x, list[i].unit);
            const kd_quantity q = kd_quantity_read(text, list[i].wanted, NULL);
            assert_int_equal(q.kind, KD_QUANTITY_GOOD);
            assert_true(fabs(q.value - x * list[i].factor) <= 4e-16 * fabs(q.value));
        }
    }
}

// What does not fit is refused, and says what is wanted; what is no quantity is left alone.
static void wrong_units_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted, *part;
    } list[] = {{"5 mm", "kg", "is in kg"},       {"1 kg", "m", "is in m"},
                {"90 deg", "m", "is in m"},       {"3 N", "N m", "is in N m"},
                {"2 Hz", "rad/s", "is in rad/s"}, {"2 1/s", "rad/s", "is in rad/s"},
                {"2 deg", "", "plain number"},    {"2 furlong", "m", "unknown unit 'furlong'"},
                {"2 m^", "m", "must follow"},     {"3 m^3/s Pa", "m^3/(s Pa)", "parentheses"},
                {"5 mm", "rad|N", "rad or N"},    {"4 Nm/rad", "N/m", "is in N/m"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const kd_quantity q = kd_quantity_read(list[i].text, list[i].wanted, NULL);
        if (q.kind != KD_QUANTITY_WRONG || !strstr(q.text, list[i].part)) fail_msg("%s: %s", list[i].text, q.text);
        assert_true(q.column >= 1 && q.column <= (int)strlen(list[i].text) + 1);
    }
    static const char *const others[] = {"5",    "2*x",    "5 and 3", "sin(3)", "2e-3", "-1",
                                         "3 pi", "2*3 mm", "",        "m",      "1.5.2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(kd_quantity_read(others[i], NULL, NULL).kind, KD_QUANTITY_NONE);
    assert_int_equal(kd_quantity_read("3 N m", "N m/rad", NULL).kind, KD_QUANTITY_GOOD);
    assert_int_equal(kd_quantity_read("3 mm", "m|rad", NULL).kind, KD_QUANTITY_GOOD);
}

static const char MODEL[] =
    "kardan: 1\n"
    "gravity: [0, 0, %s]\n"
    "parameters: {l: %s, angle: %s}\n"
    "bodies: {arm: {mass: %s, centre: [l/2, 0, 0], inertia: [%s, %s, %s]}}\n"
    "joints: {hinge: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 1, 0],\n"
    "         q: %s, v: %s}}\n"
    "forces: {spring: {type: joint_spring, joint: hinge, stiffness: %s, damping: %s, rest: angle}}\n"
    "run: {t_end: %s, intervals: 5}\n";

// A model in millimetres, degrees and tonnes moves as the same one in SI, to the last bit; --set understands them, too.
static void models_with_units(void **state)
{
    (void)state;
    write_model("si.yaml", MODEL, "-9.81", "0.3", "deg(30)", "2500", "0.002", "3e-3", "4e-3", "deg(45)", "deg(-10)",
                "20", "5e-3", "1.5");
    write_model("units.yaml", MODEL, "-9.81 m/s^2", "300 mm", "30 deg", "2.5 t", "20 kg cm^2", "30kg cm^2",
                "40 kg cm^2", "45 deg", "-10 deg/s", "0.02 kNm/rad", "5 mNm s/rad", "1500 ms");
    const char *name[] = {"si", "units"};
    for (int i = 0; i < 2; i++) {
        command_result result = run(KARDAN "simulate '" OUT "/%s.yaml' --output '" OUT "' --quiet", name[i]);
        if (result.status != 0) fail_msg("%s", result.text);
    }
    kd_table a, b;
    assert_int_equal(kd_table_read(OUT "/si.csv", &a, NULL, 0), KD_OK);
    assert_int_equal(kd_table_read(OUT "/units.csv", &b, NULL, 0), KD_OK);
    assert_int_equal(a.nrows, b.nrows);
    for (int i = 0; i < a.nrows * a.ncolumns; i++) assert_true(a.value[i] == b.value[i]);
    kd_table_release(&a);
    kd_table_release(&b);

    kd_setting set[] = {{"l", "47 cm"}};
    char       message[1000];
    kd_model  *m = NULL;
    double     value;
    assert_int_equal(kd_model_read(OUT "/units.yaml", set, 1, &m, message, sizeof message), KD_OK);
    assert_true(kd_model_use_parameter(m, "l", &value) && value == 0.47);
    // written and read again it is the same
    assert_int_equal(kd_model_write(m, OUT "/again.yaml", message, sizeof message), KD_OK);
    kd_model_destroy(m);
    assert_int_equal(kd_model_read(OUT "/again.yaml", NULL, 0, &m, message, sizeof message), KD_OK);
    assert_true(kd_model_use_parameter(m, "l", &value) && value == 0.47);
    kd_model_destroy(m);
    set[0].value = "47 parsec";
    assert_int_equal(kd_model_read(OUT "/units.yaml", set, 1, &m, message, sizeof message), KD_ERR_MODEL);
    assert_non_null(strstr(message, "unknown unit 'parsec'"));
}

// Wrong units of fields have file, line and column; units inside of expressions and names that are units are explained.
static void messages_about_units(void **state)
{
    (void)state;
    static const struct {
        const char *field, *part;
    } list[] = {
        {"bodies: {b: {mass: 5 mm, inertia: [1, 1, 1]}}",
         "m.yaml:2:22: body 'b': 'mass': 'mm' is no unit of this, which is in kg"},
        {"bodies: {b: {mass: 2*5 kg, inertia: [1, 1, 1]}}", "a unit stands only behind a single number"},
        {"bodies: {b: {mass: 1, orientation: {yaw: 2*90 deg}, inertia: [1, 1, 1]}}", "write deg(90)"},
        {"bodies: {b: {mass: 1, orientation: {yaw: 90 kg}, inertia: [1, 1, 1]}}", "which is in rad"},
        {"parameters: {l: 2, k: 3 l}\nbodies: {b: {mass: k, inertia: [1, 1, 1]}}",
         "'l' is a unit and also a name of this file"},
        {"bodies: {b: {mass: 1, inertia: [1, 1, 1]}}\njoints: {j: {type: prismatic, bodies: [ground, b], point: [0, 0, "
         "0], "
         "axis: [0, 0, 1], q: 90 deg}}",
         "'deg' is no unit of this, which is in m"},
        {"bodies: {b: {mass: 1, inertia: [1, 1, 1]}}\njoints: {j: {type: revolute, bodies: [ground, b], point: [0, 0, "
         "0], "
         "axis: [0, 0, 1]}}\nforces: {f: {type: joint_spring, joint: j, stiffness: 20 N/mm}}",
         "which is in N m/rad"},
        {"bodies: {b: {mass: 1, inertia: [1, 1, 1]}}\njoints: {j: {type: free, bodies: [ground, b], "
         "q: [1 mm, 0, 0, 1 m, 0, 0, 0]}}",
         "plain number"},
        {"bodies: {b: {mass: 1, inertia: [1, 1, 1]}}\nrun: {t_end: 10 m}", "which is in s"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        write_model("m.yaml", "kardan: 1\n%s\n", list[i].field);
        command_result result = run("cd '" OUT "' && " KARDAN "check m.yaml");
        if (result.status != 1 || !strstr(result.text, list[i].part)) fail_msg("%s\n%s", list[i].field, result.text);
    }
}

// ---- run: -----------------------------------------------------------------------------------------------------------

static const char BODY[] =
    "kardan: 1\nbodies: {b: {mass: 1, inertia: [1, 1, 1]}}\n"
    "joints: {j: {type: revolute, bodies: [ground, b], point: [0, 0, 0], axis: [0, 1, 0], v: 1}}\n";

// Every mistake in run: is told with file, line and column, also those that only a command can find.
static void mistakes_of_run_have_places(void **state)
{
    (void)state;
    static const struct {
        const char *run, *part;
    } list[] = {
        {"formulation: psg", "r.yaml:5:16: run: unknown formulation 'psg', did you mean 'psf'?"},
        {"integrator: xyzzy", "r.yaml:5:15: run: unknown integrator 'xyzzy'"},
        {"plots: [joint.j.q, joint.k.q]", "r.yaml:5:22: run: channel 'joint.k.q': unknown joint 'k'"},
        {"plots: [nothing]", "r.yaml:5:11: run: unknown channel 'nothing'"},
        {"coordinates: polar", "r.yaml:5:16: run: 'coordinates' cannot be 'polar'"},
        {"intervals: 2.9999999999", "r.yaml:5:14: run: 'intervals' must be a whole number, but is 2.9999999999"},
        {"t_end: 0", "r.yaml:5:10: run: 't_end' must be positive"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        write_model("r.yaml", "%srun:\n  %s\n", BODY, list[i].run);
        command_result result = run("cd '" OUT "' && " KARDAN "simulate r.yaml --quiet");
        if (result.status == 0 || !strstr(result.text, list[i].part)) fail_msg("%s\n%s", list[i].run, result.text);
    }
    write_model("r.yaml", "%srun:\n  formulation: index3\n  integrator: sdirk\n", BODY);
    command_result result = run("cd '" OUT "' && " KARDAN "simulate r.yaml --quiet");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.text, "r.yaml:5:16: run: formulation: index3"));
    assert_non_null(strstr(result.text, "r.yaml:6:15: run: integrator: sdirk"));
}

// rtol of a file is --rtol: without atol it sets both; and a written file keeps both.
static void rtol_of_a_file(void **state)
{
    (void)state;
    char      message[1000];
    kd_model *m = NULL;
    for (int k = 0; k < 8; k++) {
        const double rtol = k == 0 ? 1e-6 : pow(10, -floor(uniform(3, 11))), atol = pow(10, -floor(uniform(3, 11)));
        const struct {
            bool   r, a;
            double rtol, atol;
        } list[] = {{0, 0, 1e-6, 1e-8}, {1, 0, rtol, rtol}, {0, 1, 1e-6, atol}, {1, 1, rtol, atol}, {1, 1, rtol, 1e-8}};
        for (int i = 0; i < 5; i++) {
            char words[100] = "t_end: 1";
            if (list[i].r) snprintf(words + strlen(words), 40, ", rtol: %g", rtol);
            if (list[i].a) snprintf(words + strlen(words), 40, ", atol: %g", i == 4 ? 1e-8 : atol);
            write_model("t.yaml", "%srun: {%s}\n", BODY, words);
            for (int again = 0; again < 2; again++) {
                assert_int_equal(kd_model_read(OUT "/t.yaml", NULL, 0, &m, message, sizeof message), KD_OK);
                assert_true(kd_model_run(m)->rtol == list[i].rtol);
                assert_true(kd_model_run(m)->atol == list[i].atol);
                assert_int_equal(kd_model_write(m, OUT "/t.yaml", message, sizeof message), KD_OK);
                kd_model_destroy(m);
            }
        }
    }
    write_model("t.yaml", "%srun: {t_end: 1, rtol: 3e-5}\n", BODY);
    run(KARDAN "simulate '" OUT "/t.yaml' --quiet --output '" OUT "/f'");
    write_model("t.yaml", "%srun: {t_end: 1}\n", BODY);
    run(KARDAN "simulate '" OUT "/t.yaml' --quiet --output '" OUT "/c' --rtol 3e-5");
    assert_int_equal(run("grep -v '^# \\(wall\\|model\\)' '" OUT "/f/t.csv' > '" OUT "/1' && "
                         "grep -v '^# \\(wall\\|model\\)' '" OUT "/c/t.csv' | cmp - '" OUT "/1'")
                         .status,
                     0);
}

// ---- counts, units of results, reactions ----------------------------------------------------------------------------

// A count that is nearly whole is refused with digits that show it.
static void counts_are_whole(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        const int    n = (int)uniform(2, 1000);
        const double off = (k % 2 ? 1 : -1) * pow(10, -floor(uniform(3, 12)));
        char         number[40];
        snprintf(number, sizeof number, "%.17g", n + off);
        write_model(
            "n.yaml",
            "kardan: 1\nparameters: {N: %s}\nbodies: {\"b(i)\": {for: i = 1..N, mass: 1, inertia: [1, 1, 1]}}\n",
            number);
        command_result result = run(KARDAN "check '" OUT "/n.yaml'");
        assert_int_equal(result.status, 1);
        const char *is = strstr(result.text, "but is ");
        assert_non_null(is);
        const double told = atof(is + 7);
        assert_true(told != floor(told) && fabs(told - (n + off)) <= 0.51 * fabs(off));
    }
}

static const char *unit_of(const kd_table *table, const char *name)
{
    const int i = kd_table_column(table, name);
    assert_true(i >= 0);
    return table->unit[i];
}

// Inner states of elements and states with a unit have it in the results.
static void inner_states_have_units(void **state)
{
    (void)state;
    kd_table    table;
    const char *models[] = {"hydraulic-cylinder", "air-suspension"};
    for (int i = 0; i < 2; i++)
        run(KARDAN "simulate '" KD_SOURCE_DIR "/models/%s.yaml' --t-end 0.01 --quiet --output '" OUT "'", models[i]);
    assert_int_equal(kd_table_read(OUT "/hydraulic-cylinder.csv", &table, NULL, 0), KD_OK);
    assert_string_equal(unit_of(&table, "force.ram.pressure_a"), "Pa");
    assert_string_equal(unit_of(&table, "force.ram.pressure_b"), "Pa");
    kd_table_release(&table);
    assert_int_equal(kd_table_read(OUT "/air-suspension.csv", &table, NULL, 0), KD_OK);
    assert_string_equal(unit_of(&table, "force.bellows.air"), "m^3");
    kd_table_release(&table);
    write_model(
        "s.yaml",
        "%sforces: {m: {type: maxwell, from: {body: ground, point: [0, 0, 1]}, to: {body: b, point: [1, 0, 0]}, "
        "stiffness: 1, series: 5, damping: 1}}\n"
        "states: {lag: {type: lag, input: joint.j.v, time_constant: 0.1}, i: {type: ode, input: joint.j.q, unit: rad "
        "s},\n"
        "  a: {type: lag, input: state.c, time_constant: 1}, c: {type: lag, input: state.a, time_constant: 1}}\n"
        "run: {t_end: 0.1}\n",
        BODY);
    command_result result = run(KARDAN "simulate '" OUT "/s.yaml' --quiet --output '" OUT "'");
    if (result.status != 0) fail_msg("%s", result.text);
    assert_int_equal(kd_table_read(OUT "/s.csv", &table, NULL, 0), KD_OK);
    assert_string_equal(unit_of(&table, "force.m"), "m");
    assert_string_equal(unit_of(&table, "state.lag"), "rad/s");
    assert_string_equal(unit_of(&table, "state.i"), "rad s");
    assert_string_equal(unit_of(&table, "state.a"), "");
    kd_table_release(&table);
}

// All bodies are fixed: the reactions are those of statics, in both coordinates, for random masses, arms and loads.
static void reactions_of_what_is_fixed(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        const double g = uniform(1, 20), m1 = uniform(0.1, 50), m2 = uniform(0.1, 50), a = uniform(0.2, 3),
                     b = uniform(0.2, 3), f = uniform(-100, 100), t = uniform(0.5, 3);
        write_model("fixed.yaml",
                    "kardan: 1\ngravity: [0, 0, %.17g]\n"
                    "bodies:\n  wall: {mass: %.17g, inertia: [1, 1, 1]}\n"
                    "  arm: {mass: %.17g, position: [%.17g, 0, 0], inertia: [1, 1, 1]}\n"
                    "joints:\n  base: {type: fixed, bodies: [ground, wall], point: [0, 0, 0]}\n"
                    "  weld: {type: fixed, bodies: [wall, arm], point: [%.17g, 0, 0]}\n"
                    "forces: {push: {type: applied, body: arm, point: [%.17g, 0, 0], force: [0, %.17g*t, 0]}}\n"
                    "sensors: {fy: joint.base.force.y, fz: joint.base.force.z, ty: joint.base.torque.y,\n"
                    "  tz: joint.base.torque.z, wz: joint.weld.force.z, wy: joint.weld.torque.y}\n"
                    "run: {t_end: %.17g, intervals: 3}\n",
                    -g, m1, m2, a + b, a, a + b, f, t);
        const struct {
            const char *name;
            double      value;
        } wanted[] = {{"fy", -f * t},           {"fz", (m1 + m2) * g}, {"ty", -m2 * g * (a + b)},
                      {"tz", -f * t * (a + b)}, {"wz", m2 * g},        {"wy", -m2 * g * b}};
        for (int c = 0; c < 2; c++) {
            kd_table       table;
            command_result result =
                run(KARDAN "simulate '" OUT "/fixed.yaml' --quiet --output '" OUT "' --coordinates %s",
                    c ? "cartesian" : "joint");
            if (result.status != 0) fail_msg("%s", result.text);
            assert_int_equal(kd_table_read(OUT "/fixed.csv", &table, NULL, 0), KD_OK);
            assert_int_equal(table.nrows, 4);
            for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
                const double found = table.value[3 * table.ncolumns + kd_table_column(&table, wanted[i].name)];
                if (!(fabs(found - wanted[i].value) <= 1e-11 * (1 + fabs(wanted[i].value))))
                    fail_msg("%s: %.17g, statics: %.17g", wanted[i].name, found, wanted[i].value);
            }
            kd_table_release(&table);
        }
    }
}

// Unknown bodies are told beside unknown keys, in the same element and in others, each at its place; names that exist are not.
static void all_mistakes_of_joints_are_told(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++) {
        char text[2000], wanted[100];
        bool body[4], key[4];
        int  n = 0, all = 0;
        n = snprintf(text, sizeof text, "kardan: 1\nbodies: {rod: {mass: 1, inertia: [1, 1, 1]}}\njoints:\n");
        for (int i = 0; i < 4; i++) {
            body[i] = uniform(0, 1) < 0.5, key[i] = uniform(0, 1) < 0.5;
            all += body[i] + key[i];
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "  j%d: {type: revolute, bodies: [ground, %s], point: [0, 0, 0], %s: [0, 0, 1]}\n", i,
                          body[i] ? "rodd" : "rod", key[i] ? "axes" : "axis");
        }
        if (all == 0) continue;
        write_model("joints.yaml", "%s", text);
        const command_result r = run(KARDAN "check '" OUT "/joints.yaml'");
        assert_int_equal(r.status, 1);
        for (int i = 0; i < 4; i++) {
            snprintf(wanted, sizeof wanted, "joint 'j%d': unknown body 'rodd', did you mean 'rod'?", i);
            if (body[i] != (strstr(r.text, wanted) != NULL)) fail_msg("%s%s", text, r.text);
            snprintf(wanted, sizeof wanted, "joint 'j%d': unknown key 'axes'", i);
            if (key[i] != (strstr(r.text, wanted) != NULL)) fail_msg("%s%s", text, r.text);
        }
        assert_null(strstr(r.text, "missing")); // nothing that only follows
    }
}

// The driver of the library knows four manoeuvres; form.stabilisation is none of half-explicit's: both are told.
static void idle_choices_are_refused(void **state)
{
    (void)state;
    const int            wrong = (int)uniform(4, 100);
    const command_result r =
        run(KARDAN "simulate '" KD_SOURCE_DIR "/models/tractor-semitrailer.yaml' --set manoeuvre=%d "
                   "--t-end 0.01 --output '" OUT "'",
            wrong);
    assert_int_equal(r.status, 1);
    assert_non_null(strstr(r.text, "driver.steer"));
    const command_result h =
        run(KARDAN "simulate '" KD_SOURCE_DIR "/models/pendulum.yaml' --formulation ode --integrator "
                   "half-explicit --option form.stabilisation=%g --output '" OUT "'",
            uniform(1, 50));
    assert_int_equal(h.status, 1);
    assert_non_null(strstr(h.text, "without form.stabilisation"));
}

int main(void)
{
    seed += test_seed(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_exact),
        cmocka_unit_test(other_factors),
        cmocka_unit_test(wrong_units_are_refused),
        cmocka_unit_test(models_with_units),
        cmocka_unit_test(messages_about_units),
        cmocka_unit_test(mistakes_of_run_have_places),
        cmocka_unit_test(rtol_of_a_file),
        cmocka_unit_test(counts_are_whole),
        cmocka_unit_test(inner_states_have_units),
        cmocka_unit_test(reactions_of_what_is_fixed),
        cmocka_unit_test(all_mistakes_of_joints_are_told),
        cmocka_unit_test(idle_choices_are_refused),
    };
    return cmocka_run_group_tests(tests, clean, NULL);
}
