// test_simulation_faults.c: simulations whose functions fail, or whose equations cannot be solved: a sentence, a name and
// the last good state.
#include "simulation/simulation_cases.h"

// ---- functions that fail --------------------------------------------------------------------------------------------

// Systems in which every kind of function occurs, and how long they run.
typedef struct victim {
    kd_eom     *eom; // of which the definition is used
    kd_state   *x;
    const char *name;
    double      t_end;
} victim;

static victim make_victim(int k)
{
    victim v = {.t_end = 0.4};
    if (k == 0) { // M, f, b, d, c, g, gI, gII, h, hI
        kd_eom_def def = everything();
        v.name = "everything";
        v.eom = make(&def);
        v.x = make_state(v.eom);
        everything_start(v.x);
    } else if (k == 1) { // residual, M, e, derivative
        v.name = "pendulum with energy";
        assert_int_equal(kd_pendulum_create(gravity, (double[]){0, -1}, (double[]){v10, 0}, true, &v.eom, &v.x), KD_OK);
    } else { // work object
        const kd_example *example = kd_gallery_find("caraxis");
        kd_inputs         inputs;
        v.name = "caraxis";
        assert_int_equal(example->create(&v.eom, &v.x, &inputs), KD_OK);
        v.t_end = 0.2;
    }
    return v;
}

enum { VICTIMS = 3 };

// The last state that an output function saw.
typedef struct last_seen {
    kd_state *x;
    int       calls;
} last_seen;

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    last_seen *l = context;
    (void)at_time;
    kd_state_copy(x, l->x);
    l->calls++;
    return KD_EVAL_OK;
}

// One disturbed run of a victim. *accepted: steps before it ended.
static kd_status run_disturbed(const victim *v, disturbed *k, kd_formulation form, kd_state *end, char *message,
                               size_t size)
{
    kd_eom_def            def = disturbed_definition(k, kd_eom_definition(v->eom));
    kd_eom               *eom = make(&def);
    kd_state             *x0 = make_state(eom);
    last_seen             seen = {.x = make_state(eom)};
    kd_simulation_options opt = with_tolerance(1e-6);
    opt.formulation = form;
    opt.formulation_options.invariants = kd_formulation_about(form)->keeps_invariants;
    opt.output = see;
    opt.context = &seen;
    kd_state_copy(v->x, end);
    kd_state_copy(v->x, x0);
    memset(k->calls, 0, sizeof k->calls);
    k->disturbances = 0;
    message[0] = '\0';
    kd_status status = kd_simulate(eom, NULL, &opt, end, v->t_end, NULL, message, size);
    assert_true(all_finite(end));
    // the state is the last accepted one, which was shown; before any output the start, perhaps made consistent
    // (forms without accelerations may fail to find those of an accepted state, which then is not shown)
    if (seen.calls > 0)
        assert_true(same(end, seen.x) || (form != KD_PSF && status < 0 && end->t > seen.x->t));
    else
        assert_true(end->t == x0->t && fabs(end->p[0] - x0->p[0]) < 0.1);
    kd_state_destroy(x0);
    kd_state_destroy(seen.x);
    kd_eom_destroy(eom);
    return status;
}

static const long calls_to_try[] = {1, 2, 3, 4, 7, 12, 25, 40, 77, 150, 400};
enum { TRIES = sizeof calls_to_try / sizeof *calls_to_try };

// A single NaN or infinity from any function at any call: a smaller step goes around it, and the end is that of the
// undisturbed run; or the run ends with its status and words. No NaN ever comes out.
static void one_bad_number(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_PSF, KD_GGL};
    int                  recovered = 0, ended = 0;
    for (int n = 0; n < VICTIMS * 2; n++) {
        victim         v = make_victim(n / 2);
        kd_formulation form = forms[n % 2];
        kd_state      *end = make_state(v.eom), *good = make_state(v.eom);
        disturbed      k = {0};
        char           message[800];
        assert_true(run_disturbed(&v, &k, form, good, message, sizeof message) >= 0);
        for (int slot = 0; slot < DISTURBED_COUNT; slot++) {
            if (!disturbed_has(kd_eom_definition(v.eom), slot)) continue;
            for (int i = 0; i < TRIES; i++) {
                k = (disturbed){.slot = slot, .call = calls_to_try[i], .value = i % 2 ? NAN : INFINITY};
                kd_status status = run_disturbed(&v, &k, form, end, message, sizeof message);
                if (k.disturbances == 0) continue;
                if (status >= 0) {
                    recovered++;
                    for (int j = 0; j < kd_eom_dims(v.eom).np; j++)
                        if (fabs(end->p[j] - good->p[j]) > 1e-4)
                            fail_msg("%s, %s, call %ld: p[%d] is %g, not %g", v.name, disturbed_word(slot), k.call, j,
                                     end->p[j], good->p[j]);
                } else {
                    ended++;
                    if (status != KD_ERR_NOT_FINITE && status != KD_ERR_IV_CALLBACK)
                        fail_msg("%s, %s, call %ld: %s, %s", v.name, disturbed_word(slot), k.call,
                                 kd_status_name(status), message);
                    if (!strstr(message, i % 2 ? "NaN" : "infinity") || !strstr(message, "t = "))
                        fail_msg("%s, %s, call %ld: %s", v.name, disturbed_word(slot), k.call, message);
                }
            }
        }
        kd_state_destroy(end);
        kd_state_destroy(good);
        kd_state_destroy(v.x);
        kd_eom_destroy(v.eom);
    }
    assert_true(recovered > 20 && ended > 20);
}

// A function that gives NaN from some time on ends the run shortly before it, naming function, row and time.
static void bad_numbers_from_a_time_on(void **state)
{
    (void)state;
    static const struct {
        int         slot;
        const char *words[2];
    } list[] = {{DISTURBED_f, {"f returned", "row 4"}},
                {DISTURBED_M, {"M returned", "row 4 (p 'skate angle'), column 4"}},
                {DISTURBED_b, {"b returned", "damper force"}},
                {DISTURBED_d, {"d returned", "drag"}},
                {DISTURBED_c, {"c returned", "foot point"}},
                {DISTURBED_g, {"g returned", "bead on curve"}},
                {DISTURBED_gI, {"gI returned", "bead on curve"}},
                {DISTURBED_gII, {"gII returned", "bead on curve"}},
                {DISTURBED_h, {"h returned", "blade"}},
                {DISTURBED_hI, {"hI returned", "blade"}}};
    victim    v = make_victim(0);
    kd_state *end = make_state(v.eom);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        disturbed  k = {.slot = list[i].slot, .value = NAN};
        char       message[800];
        kd_eom_def def = disturbed_definition(&k, kd_eom_definition(v.eom));
        kd_eom    *eom = make(&def);
        k.beyond = 0.2;
        kd_simulation_options opt = with_tolerance(1e-6);
        kd_state_copy(v.x, end);
        kd_status status = kd_simulate(eom, NULL, &opt, end, v.t_end, NULL, message, sizeof message);
        if (status != KD_ERR_NOT_FINITE)
            fail_msg("%s: %s, %s", disturbed_word(list[i].slot), kd_status_name(status), message);
        assert_true(all_finite(end));
        if (!(end->t <= 0.2 && end->t > 0.15))
            fail_msg("%s: ended at t = %g, %s", disturbed_word(list[i].slot), end->t, message);
        for (int j = 0; j < 2; j++)
            if (!strstr(message, list[i].words[j])) fail_msg("'%s' does not contain '%s'", message, list[i].words[j]);
        assert_non_null(strstr(message, "at t = 0.2"));
        kd_eom_destroy(eom);
    }
    kd_state_destroy(end);
    kd_state_destroy(v.x);
    kd_eom_destroy(v.eom);
}

// A function that asks to stop, at any call, ends everything at once: it is not called again.
static void functions_that_stop(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_PSF, KD_GGL};
    for (int n = 0; n < VICTIMS * 2; n++) {
        victim    v = make_victim(n / 2);
        kd_state *end = make_state(v.eom);
        for (int slot = 0; slot < DISTURBED_COUNT; slot++) {
            if (!disturbed_has(kd_eom_definition(v.eom), slot)) continue;
            for (int i = 0; i < TRIES; i++) {
                disturbed k = {.slot = slot, .call = calls_to_try[i], .answer = KD_EVAL_STOP};
                char      message[800];
                kd_status status = run_disturbed(&v, &k, forms[n % 2], end, message, sizeof message);
                if (k.disturbances == 0) {
                    assert_true(status >= 0);
                    continue;
                }
                if (status != KD_ERR_CALLBACK_STOP && status != KD_ERR_IV_CALLBACK)
                    fail_msg("%s, %s, call %ld: %s, %s", v.name, disturbed_word(slot), k.call, kd_status_name(status),
                             message);
                assert_non_null(strstr(message, "stop"));
                if (k.calls[slot] != k.call)
                    fail_msg("%s, %s: called %ld times after it stopped", v.name, disturbed_word(slot),
                             k.calls[slot] - k.call);
            }
        }
        kd_state_destroy(end);
        kd_state_destroy(v.x);
        kd_eom_destroy(v.eom);
    }
}

// Functions that refuse a single point are gone around; those that refuse from a time on end with their own status.
static void functions_that_refuse(void **state)
{
    (void)state;
    victim     v = make_victim(0);
    kd_state  *end = make_state(v.eom);
    disturbed  k = {.slot = DISTURBED_f, .answer = KD_EVAL_RETRY};
    char       message[800];
    kd_eom_def def = disturbed_definition(&k, kd_eom_definition(v.eom));
    kd_eom    *eom = make(&def);
    k.beyond = 0.2;
    kd_simulation_options opt = with_tolerance(1e-6);
    kd_state_copy(v.x, end);
    assert_int_equal(kd_simulate(eom, NULL, &opt, end, v.t_end, NULL, message, sizeof message), KD_ERR_RETRY_FAILED);
    assert_true(end->t <= 0.2 && end->t > 0.15);
    assert_non_null(strstr(message, "f cannot be evaluated"));
    kd_eom_destroy(eom);
    kd_state_destroy(end);
    kd_state_destroy(v.x);
    kd_eom_destroy(v.eom);
}

// ---- equations that cannot be solved --------------------------------------------------------------------------------

static kd_eval flat_d(const kd_point *x, void *context, double *d)
{
    (void)context;
    d[0] = 0 * x->w[0] + x->v[0] - x->v[0]; // does not determine w
    return KD_EVAL_OK;
}
static kd_eval flat_c(const kd_point *x, void *context, double *c)
{
    (void)context;
    c[0] = 0 * x->s[0];
    return KD_EVAL_OK;
}

// d_w or c_s singular: a status of its own, words, the state untouched; with and without computed initial values.
static void equations_that_determine_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        kd_eom_def def = everything();
        if (k % 2 == 0)
            def.d = flat_d;
        else
            def.c = flat_c;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom), *x0 = make_state(eom);
        kd_simulation_options opt = with_tolerance(1e-6);
        char                  message[800] = "";
        everything_start(x);
        if (k >= 2) {
            opt.initial.assume = true;
            opt.initial.compute_multipliers = false;
        }
        kd_state_copy(x, x0);
        kd_status status = kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message);
        kd_status expected = k % 2 == 0 ? KD_ERR_SINGULAR_DW : KD_ERR_SINGULAR_CS;
        if (status != expected) fail_msg("case %d: %s, %s", k, kd_status_name(status), message);
        assert_true(same(x, x0));
        if (!strstr(message, k % 2 == 0 ? "0 = d" : "0 = c")) fail_msg("case %d: '%s'", k, message);
        kd_state_destroy(x);
        kd_state_destroy(x0);
        kd_eom_destroy(eom);
    }
}

static kd_eval twice_g(const kd_point *x, void *context, double *g)
{
    const double *radius = context;
    for (int i = 0; i < 2; i++) g[i] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - radius[i] * radius[i];
    return KD_EVAL_OK;
}
static kd_eval twice_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 1, M[1] = M[2] = 0;
    return KD_EVAL_OK;
}
static kd_eval twice_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0, f[1] = -9.81;
    return KD_EVAL_OK;
}
static const char *twice_name(kd_kind kind, int i, void *context)
{
    static const char *const names[] = {"inner rod", "outer rod"};
    (void)context;
    return kind == KD_NAME_LAMBDA ? names[i] : NULL;
}

// Two rods: of the same length they are redundant, which only the SVD can treat; of different lengths they contradict
// each other.
static void redundant_and_contradictory_constraints(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        double     radius[] = {1, k < 2 ? 1 : 1.5};
        kd_eom_def def = kd_eom_def_default();
        def.title = "two rods";
        def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 2};
        def.context = radius;
        def.M = twice_M;
        def.f = twice_f;
        def.g = twice_g;
        def.name = twice_name;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom), *x0 = make_state(eom);
        kd_simulation_options opt = with_tolerance(1e-6);
        char                  message[800] = "";
        if (k == 1) opt.formulation_options.constraints = KD_DECOMPOSE_SVD;
        x->p[0] = 0.6, x->p[1] = -0.8;
        kd_state_copy(x, x0);
        kd_status       status = kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message);
        const kd_status expected[] = {KD_ERR_REDUNDANT, KD_REDUNDANT, KD_ERR_IV_CONTRADICTORY};
        if (status != expected[k]) fail_msg("case %d: %s, %s", k, kd_status_name(status), message);
        if (k != 1) {
            assert_true(x->t == 0 && memcmp(x->p, x0->p, 4 * sizeof(double)) == 0);
            assert_non_null(strstr(message, "inner rod"));
            assert_non_null(strstr(message, "outer rod"));
        } else {
            assert_non_null(strstr(message, "1 of 2 constraints is redundant"));
        }
        kd_state_destroy(x);
        kd_state_destroy(x0);
        kd_eom_destroy(eom);
    }
}

// Held components that contradict the constraints: inconsistent initial values are reported, not changed.
static void held_initial_values(void **state)
{
    (void)state;
    kd_eom    *eom;
    kd_state  *x;
    const bool hold[] = {true, true};
    char       message[800] = "";
    make_pendulum(&eom, &x);
    x->p[0] = 0.5;
    kd_simulation_options opt = with_tolerance(1e-6);
    opt.initial.hold_p = hold;
    kd_status status = kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message);
    if (status != KD_ERR_INCONSISTENT && status != KD_ERR_IV_CONTRADICTORY)
        fail_msg("%s, %s", kd_status_name(status), message);
    assert_true(x->p[0] == 0.5 && x->t == 0);
    assert_non_null(strstr(message, "rod length"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Tolerances that are not positive are refused before anything else happens.
static void wrong_tolerances(void **state)
{
    (void)state;
    const double wrong[] = {-1e-6, NAN, INFINITY};
    for (int i = 0; i < 6; i++) {
        for (int integrator = 0; integrator < KD_INTEGRATOR_COUNT; integrator++) {
            if (integrator == KD_IDA && !kd_integrator_about(KD_IDA, NULL)->available) continue;
            kd_eom   *eom;
            kd_state *x;
            char      message[400] = "";
            make_pendulum(&eom, &x);
            kd_simulation_options opt = with_tolerance(1e-6);
            opt.integrator = (kd_integrator_kind)integrator;
            opt.formulation = kd_method_formulation(&opt);
            if (i < 3)
                opt.rtol = wrong[i];
            else
                opt.atol = wrong[i - 3];
            kd_status status = kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message);
            if (status != KD_ERR_TOLERANCE) fail_msg("case %d: %s, %s", i, kd_status_name(status), message);
            assert_non_null(strstr(message, i < 3 ? "rtol" : "atol"));
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
    }
}

static kd_eval burst_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = 1.5 * x->p[0] * x->p[0]; // p = 4 / (1 - t)^2 from p = 4, v = 8
    return KD_EVAL_OK;
}
static const char *burst_name(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_P ? "bomb" : kind == KD_NAME_V ? "speed of the bomb" : NULL;
}

// A force that blows up: the step becomes too small; status, time and the component by its name, in every form.
static void force_that_blows_up(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_PSF, KD_GGL, KD_INDEX1};
    for (int k = 0; k < 3; k++) {
        kd_eom_def def = kd_eom_def_default();
        char       message[800] = "";
        def.title = "bomb";
        def.dims = (kd_dims){.np = 1, .nv = 1};
        def.M = cart_M;
        def.f = burst_f;
        def.name = burst_name;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        kd_simulation_options opt = with_tolerance(1e-6);
        opt.formulation = forms[k];
        x->p[0] = 4;
        x->v[0] = 8;
        kd_status status = kd_simulate(eom, NULL, &opt, x, 2, NULL, message, sizeof message);
        if (status != KD_ERR_STEP_TOO_SMALL) fail_msg("%s at t = %g, %s", kd_status_name(status), x->t, message);
        assert_true(x->t > 0.99 && x->t < 1.001 && all_finite(x));
        assert_non_null(strstr(message, "at t = "));
        if (!strstr(message, "bomb")) fail_msg("%s", message);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bad_number),
        cmocka_unit_test(bad_numbers_from_a_time_on),
        cmocka_unit_test(functions_that_stop),
        cmocka_unit_test(functions_that_refuse),
        cmocka_unit_test(equations_that_determine_nothing),
        cmocka_unit_test(redundant_and_contradictory_constraints),
        cmocka_unit_test(held_initial_values),
        cmocka_unit_test(wrong_tolerances),
        cmocka_unit_test(force_that_blows_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
