// Comparison of methods and cross-checks: errors that are estimated are the true ones, wrong equations are found, chaos
// is told, and nothing is lost when runs fail or are stopped.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/compare_internal.h"
#include "core/failing_allocator.h"
#include "systems/systems.h"

enum { TIMES = 20 };

// ---- a bead on a circle ---------------------------------------------------------------------------------------------

// Mass 1 on the circle of radius 1 in gravity: a pendulum in Cartesian coordinates. Its pull and the second derivative
// of its constraint may be wrong.
typedef struct bead {
    double gravity;
    double wrong; // gII = p.a + (1 + wrong) v.v
} bead;

static kd_eval bead_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 1;
    return KD_EVAL_OK;
}
static kd_eval bead_force(const kd_point *x, void *context, double *f)
{
    (void)x;
    f[0] = 0;
    f[1] = -((const bead *)context)->gravity;
    return KD_EVAL_OK;
}
static kd_eval bead_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 0.5 * (x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1);
    return KD_EVAL_OK;
}
static kd_eval bead_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->v[0] + x->p[1] * x->v[1];
    return KD_EVAL_OK;
}
static kd_eval bead_gII(const kd_point *x, void *context, double *g)
{
    double wrong = ((const bead *)context)->wrong;
    g[0] = x->p[0] * x->a[0] + x->p[1] * x->a[1] + (1 + wrong) * (x->v[0] * x->v[0] + x->v[1] * x->v[1]);
    return KD_EVAL_OK;
}
static kd_eval bead_output(const kd_point *x, void *context, double *y)
{
    (void)context;
    y[0] = x->p[0];
    y[1] = x->lambda[0];
    return KD_EVAL_OK;
}

static void create_bead(bead *b, kd_eom **eom, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "bead";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .ny = 2};
    def.context = b;
    def.M = bead_mass;
    def.f = bead_force;
    def.g = bead_g;
    def.gI = bead_gI;
    def.gII = bead_gII;
    def.y = bead_output;
    assert_int_equal(kd_eom_create(&def, eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(*eom, x), KD_OK);
    (*x)->p[0] = 1;
    (*x)->v[1] = 2;
}

// ---- helpers --------------------------------------------------------------------------------------------------------

static kd_compare_options quick(double t_end, const char *only)
{
    static const double TOLERANCE[] = {1e-4, 1e-6, 1e-8};
    kd_compare_options  o = kd_compare_options_default();
    o.t_end = t_end;
    o.tolerances = TOLERANCE;
    o.ntolerances = 3;
    o.times = TIMES;
    o.repetitions = 1;
    o.only = only;
    o.budget = 1e9; // tests do not look at the clock
    o.patience = 1e9;
    return o;
}

static kd_comparison *compare(const kd_compare_side *side, int nsides, const kd_compare_options *o, kd_status wanted)
{
    kd_comparison *c = NULL;
    char           message[400] = "";
    kd_status      status = kd_compare(side, nsides, o, &c, message, sizeof message);
    if (status != wanted) print_error("%s: %s\n", kd_status_name(status), message);
    assert_int_equal(status, wanted);
    return c;
}

// The error of a run against the exact solution, at the times and in the scales of the comparison
static double true_error(const kd_test_system *system, const kd_compare_side *side, const kd_comparison *c,
                         const kd_compare_run *run)
{
    kd_dims         d = kd_eom_dims(side->eom);
    double          times[TIMES], worst = 0;
    kd_track_of_run track = {.times = times, .ntimes = TIMES, .nvalues = d.np + d.nv + d.nr + d.ny};
    kd_compare_run  out = {0};
    kd_state       *x = NULL;
    kd_run_request  request = {.side = side,
                               .options = kd_compare_method_options(&c->method[run->method]),
                               .rtol = run->tolerance,
                               .atol = run->tolerance,
                               .t_end = c->t_end,
                               .limit = INFINITY};
    for (int i = 0; i < TIMES; i++) times[i] = c->t_end * (i + 0.6180339887498949) / TIMES;
    times[TIMES - 1] = c->t_end;
    track.value = calloc((size_t)TIMES * (size_t)track.nvalues, sizeof(double));
    assert_non_null(track.value);
    assert_int_equal(kd_run_once(&request, &track, &out), KD_OK);
    assert_int_equal(out.outcome, KD_COMPARE_DONE);
    assert_int_equal(track.rows, TIMES);
    assert_int_equal(kd_state_create(side->eom, &x), KD_OK);
    for (int row = 0; row < TIMES; row++) {
        const double *value = track.value + row * track.nvalues;
        system->solution(times[row], x);
        const double *part[] = {x->p, x->v, x->r};
        const int     n[] = {d.np, d.nv, d.nr};
        for (int k = 0, channel = 0; k < 3; k++)
            for (int i = 0; i < n[k]; i++, channel++)
                worst = fmax(worst, fabs(value[channel] - part[k][i]) / c->channel[channel].scale);
    }
    kd_state_destroy(x);
    free(track.value);
    return worst;
}

// ---- tests ----------------------------------------------------------------------------------------------------------

// Every error that is told is the true one within a factor of 3, where it is resolved; and where it is not, the true
// one is not above three times the uncertainty. The reference is what it is said to be.
static void errors_are_true(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        kd_eom               *eom;
        kd_state             *x;
        int                   judged = 0;
        if (system->redundant || strstr(system->name, "friction")) continue;
        assert_int_equal(system->create(&eom, &x), KD_OK);
        const kd_compare_side side = {.word = "", .eom = eom, .start = x};
        kd_compare_options    o = quick(fmin(system->t_end, 2), "radau,bdf,dop853,psf+sdirk");
        kd_comparison        *c = compare(&side, 1, &o, KD_OK);
        assert_true(c->reference >= 0 && c->run[c->reference].is_reference && !c->split);
        assert_true(isinf(c->t_part) && c->uncertainty < 1e-4);
        for (int i = 0; i < c->nruns; i++) {
            const kd_compare_run *run = &c->run[i];
            if (run->outcome != KD_COMPARE_DONE) continue;
            double error = true_error(system, &side, c, run);
            bool   resolved = run->error > 3 * c->uncertainty;
            bool   good = error <= 3 * run->error && (!resolved || error >= run->error / 3);
            char   words[60];
            if (!good)
                print_error("%s, %s at %g: estimated %.2e, true %.2e, uncertainty %.2e\n", system->name,
                            kd_compare_method_words(&c->method[run->method], words, sizeof words), run->tolerance,
                            run->error, error, c->uncertainty);
            assert_true(good);
            judged += resolved;
        }
        if (judged < 3) print_error("%s: only %d errors are resolved\n", system->name, judged);
        assert_true(judged >= 3);
        kd_comparison_destroy(c);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Every row of the table of methods runs on a mechanism with constraints, or says that it was not built.
static void every_method_runs(void **state)
{
    (void)state;
    bead                  b = {.gravity = 9.81};
    kd_eom               *eom;
    kd_state             *x;
    const double          tolerance = 1e-5;
    kd_compare_options    o = quick(0.5, NULL);
    const kd_compare_side side = {.word = "", .eom = (create_bead(&b, &eom, &x), eom), .start = x};
    o.tolerances = &tolerance;
    o.ntolerances = 1;
    o.all = true;
    kd_comparison *c = compare(&side, 1, &o, KD_OK);
    assert_int_equal(c->nmethods, kd_compare_methods(NULL, 0));
    for (int i = 0; i < c->nruns; i++) {
        const kd_compare_run *run = &c->run[i];
        char                  words[60];
        bool                  good = run->status == KD_ERR_UNAVAILABLE ||
                    (run->outcome == KD_COMPARE_DONE && run->error < 1e-2 && run->position_level < 1e-2);
        if (!good)
            print_error("%s: %s, error %g\n", kd_compare_method_words(&c->method[run->method], words, sizeof words),
                        run->message, run->error);
        assert_true(good);
        assert_true(run->status == KD_ERR_UNAVAILABLE || run->output_error >= 0); // known of all that ran
    }
    assert_true(c->channel[c->nchannels - 1].of_forces && c->channel[c->nchannels - 1].is_output);
    assert_true(c->channel[c->nchannels - 2].is_output && !c->channel[c->nchannels - 2].of_forces);
    kd_comparison_destroy(c);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Two sets of equations of which one has the wrong gravity: the split is found, and named after the sides.
static void wrong_equations_are_found(void **state)
{
    (void)state;
    bead            right = {.gravity = 9.81}, wrong = {.gravity = 9.9};
    kd_eom         *eom[2];
    kd_state       *x[2];
    char            text[4000];
    kd_compare_side side[2];
    create_bead(&right, &eom[0], &x[0]);
    create_bead(&wrong, &eom[1], &x[1]);
    for (int i = 0; i < 2; i++)
        side[i] = (kd_compare_side){.word = i ? "wrong" : "right", .eom = eom[i], .start = x[i]};
    kd_compare_options o = quick(1, "radau,bdf,dop853");
    kd_comparison     *c = compare(side, 2, &o, KD_OK);
    assert_true(c->split && c->split_distance > 1e-3);
    assert_non_null(strstr(c->split_words, "coordinates against the others"));
    kd_comparison_advice(c, text, sizeof text);
    assert_non_null(strstr(text, "WARNING: the methods contradict each other"));
    kd_comparison_destroy(c);

    // the same by a cross-check: both converge, to different motions
    kd_cross_check       *check;
    kd_cross_result       result;
    kd_cross_options      cross = kd_cross_options_default();
    kd_simulation_options run = kd_method_named(NULL); // psf with radau: its partners are known
    double                times[TIMES];
    for (int nsides = 1; nsides <= 2; nsides++) {
        kd_state *moving;
        for (int i = 0; i < TIMES; i++) times[i] = (i + 1.0) / TIMES;
        run.rtol = run.atol = 1e-6;
        assert_int_equal(kd_cross_check_create(side, nsides, &run, times, TIMES, &check, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom[0], &moving), KD_OK);
        for (int i = 0; i < TIMES; i++) { // each time from the start: slow and simple
            kd_state_copy(x[0], moving);
            assert_true(kd_simulate(eom[0], NULL, &run, moving, times[i], NULL, NULL, 0) >= 0);
            assert_int_equal(kd_cross_check_see(check, moving), KD_OK);
        }
        assert_int_equal(kd_cross_check_run(check, &cross, &result), KD_OK);
        assert_int_equal(result.verdict, nsides == 1 ? KD_CROSS_AGREES : KD_CROSS_CONTRADICTS);
        assert_int_equal(result.gross, nsides == 2);
        if (nsides == 1) assert_true(result.error < 1e-5 && result.runs >= 1);
        assert_int_equal(strncmp(result.partner, nsides == 1 ? "right ode" : "wrong ode", 9), 0);
        assert_int_equal(result.nchannels, 6);
        kd_cross_describe(&result, 10, text, sizeof text);
        assert_non_null(strstr(text, result.sentence));
        kd_cross_check_destroy(check);
        kd_state_destroy(moving);
    }
    for (int i = 0; i < 2; i++) kd_state_destroy(x[i]), kd_eom_destroy(eom[i]);
}

// A wrong second derivative of the constraint: formulations that use it contradict those that do not.
static void wrong_level_is_found(void **state)
{
    (void)state;
    bead      b = {.gravity = 9.81, .wrong = 0.2};
    kd_eom   *eom;
    kd_state *x;
    create_bead(&b, &eom, &x);
    const kd_compare_side side = {.word = "", .eom = eom, .start = x};
    kd_compare_options    o = quick(1, "ggl,psf,statespace,odassl");
    kd_comparison        *c = compare(&side, 1, &o, KD_OK);
    assert_true(c->split && c->split_distance > 1e-2);
    assert_non_null(strstr(c->split_words, "gII"));
    kd_comparison_destroy(c);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static kd_model *read_gallery(const char *name)
{
    char      path[400], message[1000] = "";
    kd_model *model = NULL;
    snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, name);
    if (kd_model_read(path, NULL, 0, &model, message, sizeof message) < 0) print_error("%s\n", message);
    assert_non_null(model);
    return model;
}

// The double pendulum is chaotic: methods part, tighter tolerances later; errors are those before.
static void chaos_is_told(void **state)
{
    (void)state;
    kd_model           *model = read_gallery("double-pendulum");
    kd_compare_side     side[2];
    kd_system          *system[2];
    kd_state           *x[2];
    static const double TOLERANCE[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8};
    double              parted[2];
    char                text[4000];
    for (int i = 0; i < 2; i++) {
        kd_system_options options = kd_system_options_default();
        options.coordinates = i ? KD_CARTESIAN : KD_JOINT;
        assert_true(kd_system_create(model, &options, &system[i], NULL, 0) >= 0);
        assert_int_equal(kd_state_create(kd_system_eom(system[i]), &x[i]), KD_OK);
        assert_true(kd_system_start(system[i], x[i], NULL, 0) >= 0);
        side[i] = (kd_compare_side){.word = i ? "cartesian" : "joint",
                                    .eom = kd_system_eom(system[i]),
                                    .inputs = kd_system_inputs(system[i]),
                                    .start = x[i],
                                    .system = system[i]};
    }
    for (int k = 0; k < 2; k++) {
        kd_compare_options o = quick(25, "psf+radau,ode+dop853,ode+esdirk");
        o.tolerances = TOLERANCE;
        o.ntolerances = k == 0 ? 4 : 6;
        o.times = 100;
        kd_comparison *c = compare(side, 2, &o, KD_OK);
        parted[k] = c->t_part;
        assert_true(!c->split && c->t_part > 2 && c->t_part < 25);
        assert_true(c->uncertainty <= c->parting);
        for (int i = 0; i < c->nruns; i++)
            if (c->run[i].outcome == KD_COMPARE_DONE) assert_true(isfinite(c->run[i].error) && c->run[i].t_good < 25);
        kd_comparison_advice(c, text, sizeof text);
        assert_non_null(strstr(text, "The methods part at t = "));
        kd_comparison_destroy(c);
    }
    assert_true(parted[1] > parted[0]);
    for (int i = 0; i < 2; i++) kd_state_destroy(x[i]), kd_system_destroy(system[i]);
    kd_model_destroy(model);
}

static bool stop_later(const kd_compare_progress *progress, void *context)
{
    (void)context;
    return progress->run < 4;
}

// What is done before a stop is kept and judged; what makes no sense is refused with a sentence.
static void stops_and_refusals(void **state)
{
    (void)state;
    bead      b = {.gravity = 9.81};
    kd_eom   *eom;
    kd_state *x;
    char      message[200], *text;
    create_bead(&b, &eom, &x);
    const kd_compare_side side = {.word = "", .eom = eom, .start = x};
    kd_compare_options    o = quick(1, "radau,bdf");
    o.go_on = stop_later;
    kd_comparison *c = compare(&side, 1, &o, KD_STOPPED);
    assert_true(c->stopped && c->reference >= 0);
    size_t size = kd_comparison_json(c, NULL, 0) + 1;
    assert_non_null(text = malloc(size));
    assert_int_equal(kd_comparison_json(c, text, size), size - 1);
    assert_non_null(strstr(text, "\"stopped\": true"));
    assert_non_null(strstr(text, "\"outcome\": \"stopped\""));
    free(text);
    kd_comparison_destroy(c);

    o = quick(1, "gears");
    assert_int_equal(kd_compare(&side, 1, &o, &c, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "no method is called 'gears'"));
    o = quick(-1, NULL);
    assert_int_equal(kd_compare(&side, 1, &o, &c, message, sizeof message), KD_ERR_ARGUMENT);
    const double rising[] = {1e-6, 1e-4};
    o = quick(1, NULL);
    o.tolerances = rising;
    o.ntolerances = 2;
    assert_int_equal(kd_compare(&side, 1, &o, &c, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "tolerances must fall"));
    assert_null(c);

    // a budget that is used up leaves the rest undone, and says so
    o = quick(1, "radau,bdf");
    o.budget = 1e-9;
    c = compare(&side, 1, &o, KD_OK);
    assert_true(c->over_budget);
    assert_int_equal(c->run[c->nruns - 1].outcome, KD_COMPARE_SKIPPED);
    kd_comparison_destroy(c);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Each allocation may fail: no crash, no leak; single runs may be lost, the comparison goes on without them.
static void memory_may_end(void **state)
{
    (void)state;
    bead      b = {.gravity = 9.81};
    kd_eom   *eom;
    kd_state *x;
    create_bead(&b, &eom, &x);
    const kd_compare_side side = {.word = "", .eom = eom, .start = x};
    kd_compare_options    o = quick(0.1, "psf+radau,ode+dopri5");
    o.ntolerances = 2;
    o.times = 3;
    failing_allocator f = {0};
    failing_allocator_use(&f);
    kd_comparison *c = NULL;
    assert_int_equal(kd_compare(&side, 1, &o, &c, NULL, 0), KD_OK);
    kd_comparison_destroy(c);
    assert_int_equal(f.live, 0);
    long calls = f.calls;
    for (long n = 1; n <= calls; n++) {
        f = (failing_allocator){.fail_at = n};
        kd_status status = kd_compare(&side, 1, &o, &c, NULL, 0);
        assert_true(status == KD_OK || (status < 0 && !c));
        kd_comparison_destroy(c);
        assert_int_equal(f.live, 0);
    }
    kd_set_allocator(NULL);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Words name formulations, integrators, their methods, or pairs.
static void words_of_methods(void **state)
{
    (void)state;
    const kd_compare_method adams = {.formulation = KD_STATESPACE, .integrator = KD_CVODE, .family = KD_CVODE_ADAMS};
    const kd_compare_method esdirk = {
        .formulation = KD_ODE, .integrator = KD_SDIRK, .family = KD_SDIRK_STAGE_ORDER_2, .projected = true};
    char words[60];
    assert_string_equal(kd_compare_method_words(&adams, words, sizeof words), "statespace + cvode-adams");
    assert_string_equal(kd_compare_method_words(&esdirk, words, sizeof words), "ode + esdirk");
    assert_true(kd_compare_method_matches(&adams, NULL) && kd_compare_method_matches(&adams, "radau,cvode"));
    assert_true(kd_compare_method_matches(&adams, "cvode-adams") && !kd_compare_method_matches(&adams, "cvode-bdf"));
    assert_true(kd_compare_method_matches(&esdirk, "ode+esdirk") && kd_compare_method_matches(&esdirk, "ode+sdirk"));
    assert_true(!kd_compare_method_matches(&esdirk, "psf+esdirk") && !kd_compare_method_matches(&esdirk, "od"));
    kd_simulation_options o = kd_compare_method_options(&esdirk);
    assert_true(o.formulation == KD_ODE && o.integrator == KD_SDIRK &&
                o.integrator_options.sdirk.method == KD_SDIRK_STAGE_ORDER_2);
    assert_int_equal(o.formulation_options.projection, KD_PROJECT_ALWAYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_true),
        cmocka_unit_test(every_method_runs),
        cmocka_unit_test(wrong_equations_are_found),
        cmocka_unit_test(wrong_level_is_found),
        cmocka_unit_test(chaos_is_told),
        cmocka_unit_test(stops_and_refusals),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(words_of_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
