// The one table of options: defaults, ranges, values by name and text, cookies, and docs/guide/options.md, which is what
// the table gives. After a change of the table write it anew: KARDAN_WRITE_REFERENCE=1 build/tests/test_options
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
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/written_page.h"
#include "pendulum.h"
#include "simulation/options.h"

#define PAGE KD_SOURCE_DIR "/docs/guide/options.md"

enum { SIZE = 1 << 16 };

// Names are "group.name" and unique, sentences are there, and the default of every row lies in its range: it can be
// printed and read again, and is what the default function gives.
static void defaults_are_allowed(void **state)
{
    (void)state;
    const kd_option *row, *other;
    for (int i = 0; (row = kd_option_at(i)); i++) {
        kd_simulation_options o = kd_simulation_options_default(), again = kd_simulation_options_default();
        char                  value[200], message[400];
        assert_non_null(strchr(row->name, '.'));
        assert_true(strlen(row->sentence) > 10);
        for (int k = 0; k < i && (other = kd_option_at(k)); k++) assert_string_not_equal(row->name, other->name);
        assert_ptr_equal(kd_option_find(row->name), row);
        assert_int_equal(kd_option_get(&o, row->name, value, sizeof value), KD_OK);
        if (row->type == KD_OPTION_TEXT) continue;
        if (kd_option_set(&again, row->name, value, message, sizeof message) < 0) fail_msg("%s", message);
        assert_memory_equal(&o, &again, sizeof o);
    }
    assert_true(row == NULL);
}

// Values by name reach the place where C programs write them; all types.
static void values_reach_their_place(void **state)
{
    (void)state;
    kd_simulation_options o = kd_simulation_options_default();
    char                  value[100];
    assert_int_equal(kd_option_set(&o, "radau.max_newton", "7", NULL, 0), KD_OK);
    assert_int_equal(o.integrator_options.radau.max_newton, 7);
    assert_int_equal(kd_option_set(&o, "steps.max_steps", "12345678901", NULL, 0), KD_OK);
    assert_true(o.integrator_options.max_steps == 12345678901);
    assert_int_equal(kd_option_set(&o, "form.constraints", "svd", NULL, 0), KD_OK);
    assert_int_equal(o.formulation_options.constraints, KD_DECOMPOSE_SVD);
    assert_int_equal(kd_option_set(&o, "bdf.dassl_rules", "yes", NULL, 0), KD_OK);
    assert_true(o.integrator_options.bdf.dassl_rules);
    assert_int_equal(kd_option_set(&o, "check.steps", "false", NULL, 0), KD_OK);
    assert_false(o.verify);
    assert_int_equal(kd_option_set(&o, "events.rest", "2.5e-5", NULL, 0), KD_OK);
    assert_true(o.events.rest == 2.5e-5);
    assert_int_equal(kd_option_set(&o, "arkode.table", "ARKODE_CASH_5_3_4", NULL, 0), KD_OK);
    assert_string_equal(o.integrator_options.arkode.table, "ARKODE_CASH_5_3_4");
    assert_int_equal(kd_option_get(&o, "form.constraints", value, sizeof value), KD_OK);
    assert_string_equal(value, "svd");
}

// What is wrong is refused with the name that was meant, or with what is allowed; the value stays.
static void wrong_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *word;
    } wrong[] = {
        {"radau.max_newtn", "7", "did you mean 'radau.max_newton'"},
        {"radau.max_newton", "1", "at least 2"},
        {"radau.max_newton", "2.5", "not a whole number"},
        {"radau.safety", "1", "below 1"},
        {"steps.h_max", "-1", "at least 0"},
        {"steps.h_max", "long", "not a number"},
        {"form.update", "partitoned", "did you mean 'partitioned'"},
        {"form.natural", "maybe", "no, yes"},
        {"bdf.order_max", "6", "1 to 5"},
        {"max_newton", "7", "there is no option"},
        {"steps.atol", "nan", "not a number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kd_simulation_options o = kd_simulation_options_default(), before = kd_simulation_options_default();
        char                  message[400] = "";
        assert_int_equal(kd_option_set(&o, wrong[i].name, wrong[i].value, message, sizeof message), KD_ERR_ARGUMENT);
        if (!strstr(message, wrong[i].word)) fail_msg("%s: %s", wrong[i].word, message);
        assert_memory_equal(&o, &before, sizeof o);
    }
}

// Structures that were filled by hand are refused by name.
static void cookies_are_asked_for(void **state)
{
    (void)state;
    static const char *const name[] = {"kd_simulation_options", "kd_formulation_options", "kd_integrator_options",
                                       "kd_initial_options", "kd_event_options"};
    kd_eom                  *eom;
    kd_state                *x;
    assert_int_equal(kd_pendulum_create(9.81, (double[]){0, -1}, (double[]){1, 0}, false, &eom, &x), KD_OK);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        kd_simulation_options o = kd_simulation_options_default();
        kd_simulation        *s;
        char                  message[400] = "";
        unsigned *const       cookie[] = {&o.cookie, &o.formulation_options.cookie, &o.integrator_options.cookie,
                                          &o.initial.cookie, &o.events.cookie};
        *cookie[i] = 0;
        assert_int_equal(kd_simulation_create(eom, NULL, &o, x, &s, message, sizeof message), KD_ERR_ARGUMENT);
        if (!strstr(message, name[i])) fail_msg("%s: %s", name[i], message);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Tolerances by kind of component are used: a tight one of the velocities costs steps; with all the same it is as with
// one for all.
static void tolerances_by_kind(void **state)
{
    (void)state;
    static const kd_integrator_kind kinds[] = {KD_RADAU, KD_BDF, KD_SDIRK, KD_DOPRI5, KD_CVODE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        long steps[3];
        if (!kd_integrator_about(kinds[i], NULL)->available) continue;
        for (int k = 0; k < 3; k++) {
            kd_eom               *eom;
            kd_state             *x;
            kd_stats              stats;
            char                  message[400] = "";
            kd_simulation_options o = kd_simulation_options_default();
            o.integrator = kinds[i];
            o.verify = false; // which has the general tolerance
            o.formulation = kd_method_formulation(&o);
            kd_integrator_options *own = &o.integrator_options;
            own->rtol = own->atol = k == 1 ? 1e-9 : 1e-5;
            if (k == 1) own->rtol_position = own->atol_position = own->rtol_velocity = own->atol_velocity = 1e-5;
            if (k == 2) own->rtol_velocity = own->atol_velocity = 1e-9;
            assert_int_equal(kd_pendulum_create(9.81, (double[]){0, -1}, (double[]){1, 0}, false, &eom, &x), KD_OK);
            if (kd_simulate(eom, NULL, &o, x, 3, &stats, message, sizeof message) < 0) fail_msg("%s", message);
            steps[k] = stats.accepted;
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
        if (labs(steps[1] - steps[0]) > steps[0] / 2) // Newton's method and multipliers have the general one
            fail_msg("%s: %ld, %ld steps", kd_integrator_word(kinds[i]), steps[0], steps[1]);
        if (steps[2] < 2 * steps[0]) fail_msg("%s: %ld, %ld steps", kd_integrator_word(kinds[i]), steps[0], steps[2]);
    }
}

// Every pair of formulation and integrator is either possible, and makes its first step, or refused by the rules with
// what works; the formulation that is proposed fits.
static void rules_are_those_of_the_methods(void **state)
{
    (void)state;
    for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
        for (int kind = 0; kind < KD_INTEGRATOR_COUNT; kind++) {
            kd_eom               *eom;
            kd_state             *x;
            kd_simulation        *s;
            char                  message[600] = "", why[400];
            kd_simulation_options o = kd_simulation_options_default();
            o.formulation = (kd_formulation)form;
            o.integrator = (kd_integrator_kind)kind;
            if (!kd_integrator_about(o.integrator, NULL)->available) continue;
            const bool fits = kd_method_fits(&o, why, sizeof why);
            assert_int_equal(fits, why[0] == '\0');
            if (!fits) assert_non_null(strstr(why, " works"));
            assert_int_equal(kd_pendulum_create(9.81, (double[]){0, -1}, (double[]){1, 0}, false, &eom, &x), KD_OK);
            kd_status status = kd_simulation_create(eom, NULL, &o, x, &s, message, sizeof message);
            if (status >= 0) status = kd_simulation_run(s, 0.01);
            if (fits != (status >= 0) || (!fits && status != KD_ERR_UNSUPPORTED))
                fail_msg("%s with %s: fits %d, %s, %s", kd_formulation_word(o.formulation),
                         kd_integrator_word(o.integrator), fits, kd_status_name(status), message);
            kd_simulation_destroy(s);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
            o.formulation = kd_method_formulation(&o);
            assert_true(kd_method_fits(&o, NULL, 0));
        }
    }
    kd_compare_method method[KD_COMPARE_METHODS];
    const int         count = kd_compare_methods(method, KD_COMPARE_METHODS);
    assert_true(count > 30 && count <= KD_COMPARE_METHODS);
    for (int i = 0; i < count; i++) { // and so are those of comparisons
        kd_simulation_options o = kd_compare_method_options(&method[i]);
        char                  why[400];
        if (!kd_method_fits(&o, why, sizeof why)) fail_msg("row %d of kd_compare_methods: %s", i, why);
    }
}

// ---- the page -------------------------------------------------------------------------------------------------------

static char page[SIZE];

#define PUT(...) kd_text_append(page, SIZE, __VA_ARGS__)

static void put_group(const char *name, size_t length)
{
    static const struct {
        const char *word, *sentence;
    } about[] = {{"steps", "All integrators."},
                 {"form", "Formulations ([formulations](formulations.md))."},
                 {"start", "Consistent initial values ([method](../methods/initial.md))."},
                 {"events", "Events ([guide](events.md))."},
                 {"check", "Verification of steps ([trust](trust.md))."},
                 {"explicit", "dopri5, dop853, half-explicit ([method](../methods/explicit.md))."}};
    PUT("\n## %.*s\n\n", (int)length, name);
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        if (strlen(about[i].word) == length && strncmp(about[i].word, name, length) == 0)
            PUT("%s\n\n", about[i].sentence);
    PUT("| option | default | values | meaning | known as |\n|---|---|---|---|---|\n");
}

static void make_page(void)
{
    const kd_simulation_options standard = kd_simulation_options_default();
    const kd_option            *row;
    const char                 *group = "";
    PUT("# Options of methods\n\nWritten by `tests/simulation/test_options.c` from the table of the library "
        "(`kd_option_at`). On the command line: `--option radau.max_newton=7`, as often as wanted; `kardan help "
        "options` lists them. In model files: `run: {radau: {max_newton: 7}, form: {constraints: qr}}`, group by "
        "group, where "
        "numbers may be expressions of parameters and have units; `--option` overrides the file. In C: "
        "`options.integrator_options.radau.max_newton = 7`, or "
        "`kd_option_set(&options, \"radau.max_newton\", \"7\", message, size)`. `known as`: the name in S3 table 1 "
        "(IOPT, ROPT) or in DASSL.\n");
    for (int i = 0; (row = kd_option_at(i)); i++) {
        char         value[100], range[200];
        const size_t n = strcspn(row->name, ".");
        if (strcspn(group, ".") != n || strncmp(row->name, group, n) != 0) put_group(row->name, n);
        group = row->name;
        assert_int_equal(kd_option_get(&standard, row->name, value, sizeof value), KD_OK);
        PUT("| `%s` | %s | %s | %s | %s |\n", row->name, value, kd_option_values(row, range, sizeof range),
            row->sentence, row->paper ? row->paper : "");
    }
}

// Structures of options of all other functions, too, are refused by name without their default function.
static void all_cookies_are_asked_for(void **state)
{
    (void)state;
    static const char TEXT[] =
        "kardan: 1\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
        "joints: {s: {type: prismatic, bodies: [ground, a], point: [0, 0, 0], axis: [1, 0, 0]}}\n";
    kd_model         *model = NULL, *other = NULL;
    kd_system        *system = NULL, *none = NULL;
    kd_state         *x = NULL;
    kd_linear        *linear = NULL;
    kd_recorder      *recorder = NULL;
    kd_realtime      *realtime = NULL;
    kd_comparison    *comparison = NULL;
    char              message[10][300] = {""};
    const char *const name[] = {"kd_system_options",   "kd_check_options",     "kd_equilibrium_options",
                                "kd_trim_options",     "kd_linearize_options", "kd_recorder_options",
                                "kd_realtime_options", "kd_urdf_options",      "kd_compare_options"};
    assert_int_equal(kd_model_read_text("file", TEXT, sizeof TEXT - 1, NULL, 0, &model, NULL, 0), KD_OK);
    assert_int_equal(kd_system_create(model, NULL, &system, NULL, 0), KD_OK);
    const kd_eom *eom = kd_system_eom(system);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    // as the defaults, but for the cookie
    kd_system_options      one = kd_system_options_default();
    kd_check_options       two = kd_check_options_default();
    kd_equilibrium_options three = kd_equilibrium_options_default();
    kd_trim_options        four = kd_trim_options_default();
    kd_linearize_options   five = kd_linearize_options_default();
    kd_recorder_options    six = kd_recorder_options_default();
    kd_realtime_options    seven = kd_realtime_options_default();
    kd_urdf_options        eight = kd_urdf_options_default();
    kd_compare_options     nine = kd_compare_options_default();
    const kd_compare_side  side = {.word = "", .eom = eom, .start = x};
    one.cookie = two.cookie = three.cookie = four.cookie = five.cookie = six.cookie = seven.cookie = eight.cookie =
        nine.cookie = 0;
    const size_t    size = sizeof message[0];
    const kd_status answer[] = {
        kd_system_create(model, &one, &none, message[0], size),
        kd_eom_check(eom, NULL, x, &two, message[1], size),
        kd_equilibrium(eom, NULL, &three, x, NULL, message[2], size),
        kd_trim(eom, NULL, &four, x, NULL, 0, NULL, message[3], size),
        kd_linearize(eom, NULL, &five, x, &linear, message[4], size),
        kd_recorder_create(system, &six, &recorder, message[5], size),
        kd_realtime_create(eom, NULL, &seven, x, &realtime, message[6], size),
        kd_model_read_urdf_text("robot", "<robot/>", 8, &eight, &other, NULL, 0, message[7], size),
        kd_compare(&side, 1, &nine, &comparison, message[8], size),
    };
    for (size_t i = 0; i < sizeof answer / sizeof *answer; i++) {
        char words[200];
        snprintf(words, sizeof words, "%s do not start from %s_default", name[i], name[i]);
        assert_int_equal(answer[i], KD_ERR_ARGUMENT);
        assert_string_equal(message[i], words);
    }
    assert_true(!none && !linear && !recorder && !realtime && !other && !comparison);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// docs/guide/options.md is what the table gives.
static void page_is_up_to_date(void **state)
{
    (void)state;
    make_page();
    assert_true(strlen(page) + 1 < SIZE);
    assert_page(PAGE, page, "test_options");
}

// A value other than that of the default; false: there is none
static bool set_other(kd_simulation_options *o, const kd_option *row)
{
    char       text[60], message[300];
    const bool words = row->type == KD_OPTION_WORD;
    for (int k = 0; k < 4; k++) {
        const double value = k == 0 ? row->standard + 1 : k == 1 ? row->standard / 2 : k == 2 ? 0.5 : 2;
        kd_text(text, sizeof text, "%.12g", value);
        if (row->type == KD_OPTION_SWITCH) kd_text(text, sizeof text, "%s", row->standard != 0 ? "no" : "yes");
        if (words) kd_text(text, sizeof text, "%s", row->words[row->standard == 0 ? 1 : 0]);
        if (row->type == KD_OPTION_TEXT) kd_text(text, sizeof text, "%s", "some");
        if (value == row->standard && row->type <= KD_OPTION_LONG) continue;
        if (kd_option_set(o, row->name, text, message, sizeof message) == KD_OK) return true;
    }
    return false;
}

// Every option that differs from its default is found, by its name, unless that is not looked at
static void differences_are_found(void **state)
{
    (void)state;
    const kd_simulation_options usual = kd_simulation_options_default();
    const char *const           all[] = {NULL};
    const kd_option            *row;
    int                         count = 0;
    assert_null(kd_options_difference(&usual, &usual, all));
    for (int i = 0; (row = kd_option_at(i)); i++) {
        kd_simulation_options o = usual;
        const char *const     others[] = {"no such", row->name, NULL};
        if (!set_other(&o, row)) continue;
        const kd_option *found = kd_options_difference(&o, &usual, all);
        assert_non_null(found);
        assert_string_equal(found->name, row->name);
        assert_null(kd_options_difference(&o, &usual, others));
        count++;
    }
    assert_true(count > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_allowed),      cmocka_unit_test(values_reach_their_place),
        cmocka_unit_test(wrong_values_are_refused),  cmocka_unit_test(cookies_are_asked_for),
        cmocka_unit_test(tolerances_by_kind),        cmocka_unit_test(rules_are_those_of_the_methods),
        cmocka_unit_test(all_cookies_are_asked_for), cmocka_unit_test(page_is_up_to_date),
        cmocka_unit_test(differences_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
