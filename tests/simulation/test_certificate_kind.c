// Kinds of certificates: a light one finds the violations of a full one, none finds nothing, and neither is ever clean.
// Work by a coarse look is as accurate as by a fine one.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <kardan/kardan.h>

#include "results/oscillator.h"

// A pendulum with a loop's worth of constraints (Cartesian), a damper and a spring
static const char PENDULUM[] =
    "kardan: 1\n"
    "bodies: {rod: {mass: 2, inertia: [0.3, 0.3, 0.01], centre: [0, 0, -0.6]}}\n"
    "joints: {hinge: {type: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: [0, 1, 0], q: 0.7}}\n"
    "forces: {brake: {type: joint_spring, joint: hinge, damping: 0.4, stiffness: 1}}\n"
    "run: {coordinates: cartesian, t_end: 2, formulation: ggl, integrator: bdf, rtol: 1e-5%s}\n";

typedef struct run {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_recorder *recorder;
} run;

static run open_run(const char *of_run, const kd_recorder_options *opt)
{
    char text[1000], message[500] = "";
    run  r = {0};
    snprintf(text, sizeof text, PENDULUM, of_run);
    kd_status status = kd_model_read_text("pendulum", text, strlen(text), NULL, 0, &r.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(r.model, NULL, &r.system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(r.system), &r.x);
    if (status >= 0) status = kd_system_start(r.system, r.x, message, sizeof message);
    if (status >= 0) status = kd_recorder_create(r.system, opt, &r.recorder, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    return r;
}

static void close_run(run *r)
{
    kd_recorder_destroy(r->recorder);
    kd_state_destroy(r->x);
    kd_system_destroy(r->system);
    kd_model_destroy(r->model);
}

static bool has_check(const kd_clean *v, const char *name, kd_check_verdict verdict)
{
    for (int i = 0; i < v->nchecks; i++)
        if (strcmp(v->check[i].name, name) == 0) return v->check[i].verdict == verdict;
    return false;
}

static int column_of(const kd_recorder *recorder, const char *name)
{
    for (int i = 0; i < kd_recorder_columns(recorder); i++)
        if (strcmp(kd_recorder_name(recorder, i), name) == 0) return i;
    fail_msg("there is no channel '%s'", name);
    return -1;
}

// ---- kinds ----------------------------------------------------------------------------------------------------------

// The same motion with all three: rows are equal to the last bit but for the energies of the run, which only a full
// certificate knows; violations are those of the full one; the words say what was not looked at.
static void rows_are_the_same(void **state)
{
    (void)state;
    static const char *const asked[] = {"", ", check: {certificate: light}", ", check: {certificate: none}"};
    static const char *const words[] = {"clean", "not certified (light certificate)", "not certified (no certificate)"};
    static kd_clean          v;
    run                      full = open_run(asked[0], NULL);
    assert_int_equal(kd_recorder_simulate(full.recorder, NULL, full.x, 2), KD_OK);
    for (int kind = 0; kind < KD_CERTIFICATE_KIND_COUNT; kind++) {
        run    r = open_run(asked[kind], NULL);
        size_t stride, stride_full;
        char   text[8000];
        assert_int_equal(kd_recorder_simulate(r.recorder, NULL, r.x, 2), KD_OK);
        assert_int_equal(kd_recorder_rows(r.recorder), kd_recorder_rows(full.recorder));
        const double *a = kd_recorder_table(r.recorder, &stride), *b = kd_recorder_table(full.recorder, &stride_full);
        const int     balance = column_of(r.recorder, "energy balance");
        assert_true(stride == stride_full);
        for (int i = 0; i < kd_recorder_rows(r.recorder); i++)
            for (int j = 0; j < kd_recorder_columns(r.recorder); j++) {
                const double x = a[(size_t)i * stride + (size_t)j], y = b[(size_t)i * stride + (size_t)j];
                if (kind > 0 && j >= balance - 2 && j <= balance)
                    assert_true(isnan(x) && isfinite(y));
                else
                    assert_true(x == y);
            }
        // verdict, figures, words
        const kd_certificate *c = kd_recorder_certificate(r.recorder), *d = kd_recorder_certificate(full.recorder);
        kd_certificate_verdict(c, &v);
        assert_int_equal(c->kind, kind);
        assert_true(v.clean == (kind == 0));
        assert_memory_equal(v.sentence, words[kind], strlen(words[kind]));
        if (kind > 0) assert_null(strstr(v.sentence, "clean"));
        for (int level = 0; level < 2 && kind < KD_CERTIFICATE_NONE; level++)
            assert_true(c->level[level].value == d->level[level].value && c->level[level].value > 0);
        assert_true(kind == KD_CERTIFICATE_NONE ? c->states < d->states : c->states == d->states);
        assert_true(has_check(&v, "energy balance", kind == 0 ? KD_CHECK_GOOD : KD_CHECK_NOT_SEARCHED) ||
                    kind == KD_CERTIFICATE_NONE);
        kd_certificate_json(c, text, sizeof text);
        char wanted[60];
        snprintf(wanted, sizeof wanted, "\"kind\": \"%s\"", kd_certificate_kind_word((kd_certificate_kind)kind));
        assert_non_null(strstr(text, wanted));
        kd_certificate_describe(c, text, sizeof text);
        assert_non_null(strstr(text, words[kind]));
        assert_true((strstr(text, "energy balance: largest error") != NULL) == (kind == 0));
        close_run(&r);
    }
    close_run(&full);
}

// What is bad is bad in a light certificate, too, and a limit that it cannot know is named; without a certificate a run
// that failed is not clean either.
static void bad_stays_bad(void **state)
{
    (void)state;
    static kd_clean     v;
    kd_recorder_options opt = kd_recorder_options_default();
    opt.limits = kd_limits_none();
    opt.limits.position = 1e-18;
    opt.limits.energy = 1e-3;
    run r = open_run(", check: {certificate: light}", &opt);
    assert_int_equal(kd_recorder_simulate(r.recorder, NULL, r.x, 2), KD_OK);
    kd_certificate c = *kd_recorder_certificate(r.recorder);
    kd_certificate_verdict(&c, &v);
    assert_true(!v.clean && has_check(&v, "limits", KD_CHECK_BAD));
    assert_true(has_check(&v, "limit of the energy balance", KD_CHECK_NOT_SEARCHED));
    assert_memory_equal(v.sentence, "not clean: limits", 17);
    close_run(&r);
    // the same figures with a failure
    for (int kind = KD_CERTIFICATE_LIGHT; kind < KD_CERTIFICATE_KIND_COUNT; kind++) {
        c.kind = (kd_certificate_kind)kind;
        c.status = KD_ERR_STEP_TOO_SMALL;
        c.limits = kd_limits_none();
        kd_certificate_verdict(&c, &v);
        assert_true(!v.clean && has_check(&v, "run", KD_CHECK_BAD));
        assert_memory_equal(v.sentence, "not clean: run", 14);
    }
}

// A run in two parts is worth what the worse part is worth.
static void worse_part_counts(void **state)
{
    (void)state;
    for (int first = 0; first < KD_CERTIFICATE_KIND_COUNT; first++)
        for (int second = 0; second < KD_CERTIFICATE_KIND_COUNT; second++) {
            run             r = open_run("", NULL);
            const kd_eom   *eom = kd_system_eom(r.system);
            kd_certifier   *before, *behind;
            kd_simulation  *simulation;
            kd_saved       *saved = NULL;
            char            message[300] = "";
            static kd_clean v;
            assert_true(kd_simulation_create(eom, NULL, NULL, r.x, &simulation, message, sizeof message) >= 0);
            assert_int_equal(kd_certifier_create(eom, NULL, &before), KD_OK);
            assert_int_equal(kd_certifier_create(eom, NULL, &behind), KD_OK);
            kd_certifier_ask(before, (kd_certificate_kind)first, NULL);
            kd_certifier_ask(behind, (kd_certificate_kind)second, NULL);
            assert_int_equal(kd_certifier_see(before, simulation, kd_simulation_state(simulation)), KD_OK);
            assert_int_equal(kd_simulation_save(simulation, &saved, message, sizeof message), KD_OK);
            assert_int_equal(kd_certifier_save(before, saved), KD_OK);
            assert_int_equal(kd_certifier_restore(behind, saved, message, sizeof message), KD_OK);
            const kd_certificate c = kd_certifier_certificate(behind);
            kd_certificate_verdict(&c, &v);
            assert_int_equal(c.kind, first > second ? first : second);
            assert_true(c.has_energy == (first + second == 0));
            kd_saved_destroy(saved);
            kd_certifier_destroy(behind);
            kd_certifier_destroy(before);
            kd_simulation_destroy(simulation);
            close_run(&r);
        }
}

// By name, as all options; what is none of the words is refused.
static void chosen_by_name(void **state)
{
    (void)state;
    kd_simulation_options o = kd_simulation_options_default();
    char                  text[200];
    assert_int_equal(o.certificate, KD_CERTIFICATE_FULL);
    for (int kind = KD_CERTIFICATE_KIND_COUNT - 1; kind >= 0; kind--) {
        const char *word = kd_certificate_kind_word((kd_certificate_kind)kind);
        assert_int_equal(kd_option_set(&o, "check.certificate", word, text, sizeof text), KD_OK);
        assert_int_equal(o.certificate, kind);
        assert_int_equal(kd_option_get(&o, "check.certificate", text, sizeof text), KD_OK);
        assert_string_equal(text, word);
    }
    assert_int_equal(kd_option_set(&o, "check.certificate", "some", text, sizeof text), KD_ERR_ARGUMENT);
    assert_non_null(strstr(text, "full, light, none"));
    assert_string_equal(kd_certificate_kind_word(KD_CERTIFICATE_KIND_COUNT), "?");
    // a number that is no kind, set past the table
    run            r = open_run("", NULL);
    kd_simulation *simulation;
    o.certificate = KD_CERTIFICATE_KIND_COUNT;
    assert_int_equal(kd_simulation_create(kd_system_eom(r.system), NULL, &o, r.x, &simulation, text, sizeof text),
                     KD_ERR_ARGUMENT);
    close_run(&r);
}

// ---- work by a coarse look ------------------------------------------------------------------------------------------

typedef struct watched {
    kd_certifier  *certifier;
    kd_simulation *simulation;
} watched;

static kd_eval see_steps(const kd_state *x, bool at_time, void *context)
{
    watched *w = context;
    (void)at_time;
    return kd_certifier_see(w->certifier, w->simulation, x) < 0 ? KD_EVAL_STOP : KD_EVAL_OK;
}

static kd_certificate certify(const kd_eom *eom, kd_state *x, kd_integrator_kind method, double tolerance,
                              const kd_limits *limits)
{
    watched               w = {0};
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = KD_ODE;
    o.integrator = method;
    o.rtol = o.atol = tolerance;
    o.output = see_steps;
    o.context = &w;
    oscillator_state(0, x);
    assert_int_equal(kd_certifier_create(eom, NULL, &w.certifier), KD_OK);
    kd_certifier_ask(w.certifier, KD_CERTIFICATE_FULL, limits);
    assert_true(kd_simulation_create(eom, NULL, &o, x, &w.simulation, NULL, 0) >= 0);
    assert_true(kd_simulation_run(w.simulation, 10) >= 0);
    const kd_certificate c = kd_certifier_certificate(w.certifier);
    kd_simulation_destroy(w.simulation);
    kd_certifier_destroy(w.certifier);
    return c;
}

// A damped oscillator, seen at its steps only, where powers come from the steps before or from the middle of a step: what
// it has dissipated is what the motion at its end has lost, within few tolerances, with methods of short and long
// steps; and within a part of a limit, where the caller has one.
static void coarse_work_is_accurate(void **state)
{
    (void)state;
    static const kd_integrator_kind methods[] = {KD_DOPRI5, KD_DOP853, KD_BDF, KD_RADAU, KD_SDIRK};
    kd_eom_def                      def = oscillator();
    kd_eom                         *eom;
    kd_state                       *x;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    const double stiffness = 1 + oscillator_damping * oscillator_damping / 4;
    const double v0 = -oscillator_damping / 2, start = 0.5 * v0 * v0 + 0.5 * stiffness;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        for (int k = 3; k <= 9; k += 2) {
            const double         tolerance = pow(10, -k);
            const kd_certificate c = certify(eom, x, methods[i], tolerance, NULL);
            // energies at the end are those of the run, not the exact ones: its own errors do not count here
            const double lost = start - c.kinetic - c.potential;
            if (!(fabs(c.dissipated - lost) < 20 * tolerance))
                print_error("%s, %g: %g J too much\n", kd_integrator_word(methods[i]), tolerance, c.dissipated - lost);
            assert_true(fabs(c.dissipated - lost) < 20 * tolerance && c.supplied == 0);
            // a limit on the balance is worth a closer look
            kd_limits limits = kd_limits_none();
            limits.energy = 1e-14;
            const kd_certificate fine = certify(eom, x, methods[i], tolerance, &limits);
            assert_true(fine.energy.value <= 1.1 * c.energy.value + 3 * tolerance);
        }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_same),       cmocka_unit_test(bad_stays_bad),
        cmocka_unit_test(worse_part_counts),       cmocka_unit_test(chosen_by_name),
        cmocka_unit_test(coarse_work_is_accurate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
