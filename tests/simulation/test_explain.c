// Who limits the steps: reports of the integrators, attempts made by hand with known shares, and models whose limiting
// element is known.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "core/failing_allocator.h"

// ---- models ---------------------------------------------------------------------------------------------------------

// Two masses on slides: a fast one, undamped, and a slow one.
static const char TWO[] = "kardan: 1\n"
                          "bodies:\n  a: {mass: 2, inertia: [1, 1, 1]}\n  b: {mass: 2, inertia: [1, 1, 1]}\n"
                          "joints:\n"
                          "  fast: {type: prismatic, from: ground, to: a, q: 0.1}\n"
                          "  slow: {type: prismatic, from: ground, to: b, q: 0.1}\n"
                          "forces:\n"
                          "  hard: {type: joint_spring, joint: fast, stiffness: 20000, rest: 0}\n"
                          "  soft: {type: joint_spring, joint: slow, stiffness: 2, rest: 0}\n";

// A mass that falls on a stop at t = 1 and stays there.
static const char STOP[] = "kardan: 1\ngravity: [0, 0, 2]\n"
                           "bodies:\n  a: {mass: 1, inertia: [1, 1, 1]}\n"
                           "joints:\n  slide: {type: prismatic, from: ground, to: a}\n"
                           "forces:\n"
                           "  wall: {type: joint_stop, joint: slide, upper: 1, stiffness: 1e6, damping: 2000}\n";

// A pendulum in a loop: two hinges and a distance.
static const char LOOP[] =
    "kardan: 1\ngravity: [0, -9.81, 0]\n"
    "bodies:\n  a: {mass: 1, inertia: [1, 1, 1], position: [1, 0, 0]}\n"
    "  b: {mass: 1, inertia: [1, 1, 1], position: [2, 0, 0]}\n"
    "joints:\n  first: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1]}\n"
    "  second: {type: revolute, bodies: [ground, b], point: [3, 0, 0], axis: [0, 0, 1]}\n"
    "constraints:\n  rod: {type: distance, from: a, to: b}\n";

typedef struct fixture {
    kd_model      *model;
    kd_system     *system;
    kd_state      *x;
    kd_simulation *simulation;
    kd_explainer  *explainer;
} fixture;

static fixture make(const char *text, kd_formulation form, kd_integrator_kind integrator, kd_coordinates coordinates)
{
    fixture               f = {0};
    char                  message[1000] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    kd_system_options     system = kd_system_options_default();
    system.coordinates = coordinates;
    opt.formulation = form;
    opt.integrator = integrator;
    kd_status status = kd_model_read_text("test.yaml", text, strlen(text), NULL, 0, &f.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(f.model, &system, &f.system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(f.system), &f.x);
    if (status >= 0) status = kd_system_start(f.system, f.x, message, sizeof message);
    if (status >= 0)
        status = kd_simulation_create(kd_system_eom(f.system), kd_system_inputs(f.system), &opt, f.x, &f.simulation,
                                      message, sizeof message);
    if (status < 0) print_error("%s\n", message);
    assert_true(status >= 0);
    kd_dae *dae = kd_simulation_dae(f.simulation);
    assert_int_equal(kd_explainer_create(dae, kd_system_eom(f.system), &f.explainer), KD_OK);
    dae->observe = kd_explainer_see;
    dae->observer = f.explainer;
    return f;
}

static void unmake(fixture *f)
{
    kd_simulation_destroy(f->simulation);
    kd_explainer_destroy(f->explainer);
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static int suspects(int velocity, kd_suspect *list, int size, void *context)
{
    const fixture *f = context;
    kd_influence   found[8];
    const int      n = kd_system_influences(f->system, f->x, velocity, found, size);
    for (int i = 0; i < n; i++) list[i] = (kd_suspect){found[i].name, found[i].kind, found[i].frequency, found[i].rate};
    return n;
}

static kd_explanation run(fixture *f, double t_end)
{
    static kd_explanation e;
    assert_true(kd_simulation_run(f->simulation, t_end) >= 0);
    kd_explainer_result(f->explainer, suspects, f, &e);
    return e;
}

// ---- reports of the integrators -------------------------------------------------------------------------------------

typedef struct notes {
    int    n;     // of the DAE
    double t, t0; // end of the last accepted step, its start
    long   attempts, accepted, errors, newton, evaluated, retracted;
} notes;

static void take_note(const kd_attempt_report *r, void *context)
{
    notes *k = context;
    double sum = 0;
    if (r->outcome == KD_ATTEMPT_RETRACTED) { // the last accepted step, once
        assert_true(k->t > k->t0 && r->t == k->t0 && fabs(r->t + r->h - k->t) <= 1e-12 && r->why && r->error > 1);
        k->t = k->t0;
        k->accepted--;
        k->retracted++;
        return;
    }
    k->attempts++;
    assert_true(r->h > 0 && fabs(r->t - k->t) <= 1e-12);
    for (int i = 0; r->share && i < k->n; i++) {
        assert_true(r->share[i] >= 0);
        sum += r->share[i];
    }
    if (r->share) assert_true(fabs(sum - 1) < 1e-12);
    assert_true(r->outcome != KD_ATTEMPT_ERROR || r->error >= 1);
    assert_true(r->outcome != KD_ATTEMPT_ACCEPTED || r->error <= 1);
    assert_true(r->iterations > 0 && r->order >= 1 && r->order <= 5);
    k->accepted += r->outcome == KD_ATTEMPT_ACCEPTED;
    k->errors += r->outcome == KD_ATTEMPT_ERROR;
    k->newton += r->outcome == KD_ATTEMPT_NEWTON;
    k->evaluated += r->matrix == KD_MATRIX_EVALUATED;
    if (r->outcome != KD_ATTEMPT_ACCEPTED) return;
    k->t0 = r->t;
    k->t = r->t + r->h;
}

// Every attempt is told once, and once more if it is taken back: accepted steps lie end to end, shares have the sum 1,
// counts are those of the statistics; listening changes no bit of the motion.
static void integrators_report(void **state)
{
    (void)state;
    static const kd_integrator_kind integrator[] = {KD_RADAU, KD_RADAU, KD_BDF};
    static const kd_formulation     form[] = {KD_PSF, KD_GGL, KD_GGL};
    for (int k = 0; k < 3; k++) {
        double  end[4];
        fixture f = make(STOP, form[k], integrator[k], KD_JOINT);
        kd_dae *dae = kd_simulation_dae(f.simulation);
        notes   noted = {.n = dae->n};
        dae->observe = take_note;
        dae->observer = &noted;
        assert_true(kd_simulation_run(f.simulation, 2) >= 0);
        const kd_stats stats = kd_simulation_stats(f.simulation);
        assert_int_equal(noted.attempts, stats.steps);
        assert_int_equal(noted.accepted, stats.accepted);
        assert_int_equal(noted.retracted, stats.retracted);
        assert_int_equal(noted.errors, stats.rejected_error);
        assert_int_equal(noted.newton, stats.rejected_newton);
        assert_true(noted.errors > 0 && noted.evaluated > 0);
        memcpy(end, f.x->p, 2 * sizeof *end);
        unmake(&f);
        f = make(STOP, form[k], integrator[k], KD_JOINT);
        kd_simulation_dae(f.simulation)->observe = NULL;
        assert_true(kd_simulation_run(f.simulation, 2) >= 0);
        assert_memory_equal(end, f.x->p, 2 * sizeof *end);
        unmake(&f);
    }
}

// ---- models with a known culprit ------------------------------------------------------------------------------------

// The fast slide limits all the time, by its stiff spring, whose frequency is sqrt(k / m).
static void stiff_spring(void **state)
{
    (void)state;
    static const kd_integrator_kind integrator[] = {KD_RADAU, KD_BDF};
    for (int k = 0; k < 2; k++) {
        fixture        f = make(TWO, KD_GGL, integrator[k], KD_JOINT);
        kd_explanation e = run(&f, 3);
        assert_true(e.nlimiters >= 1);
        assert_string_equal(e.limiter[0].name, "joint.fast");
        assert_non_null(strstr(e.limiter[0].component, "joint.fast."));
        assert_true(e.limiter[0].share > 0.9 && e.limiter[0].small > 0.9);
        assert_false(e.limiter[0].local);
        assert_int_equal(e.limiter[0].nsuspects, 1);
        assert_string_equal(e.limiter[0].suspect[0].name, "hard");
        assert_true(fabs(e.limiter[0].suspect[0].frequency - 100) < 1e-9);
        assert_non_null(strstr(e.limiter[0].advice, "'hard' (joint_spring) is stiff"));
        unmake(&f);
    }
}

// Inside of subsystems owners are elements, not the subsystems that they are in: bodies and joints, states of the user.
static void elements_of_subsystems(void **state)
{
    static const char model[] = "kardan: 1\ndefinitions:\n  pair:\n"
                                "    bodies: {a: {mass: 2, inertia: [1, 1, 1]}, b: {mass: 2, inertia: [1, 1, 1]}}\n"
                                "    joints: {fast: {type: prismatic, from: ground, to: a, q: 0.1}, slow: {type: "
                                "prismatic, from: ground, to: b, "
                                "q: 0.1}}\n"
                                "    forces: {hard: {type: joint_spring, joint: fast, stiffness: 20000, rest: 0},\n"
                                "        soft: {type: joint_spring, joint: slow, stiffness: 2, rest: 0}}\n"
                                "subsystems: {left(1): {of: pair}, right: {of: pair, position: [0, 1, 0]}}\n";
    (void)state;
    for (int c = 0; c < 2; c++) {
        fixture        f = make(model, KD_PSF, KD_RADAU, (kd_coordinates)c);
        kd_explanation e = run(&f, 3);
        bool           left = false, right = false;
        for (int i = 0; i < e.nlimiters && i < 2; i++) {
            left = left || strcmp(e.limiter[i].name, c ? "body.left(1).a" : "joint.left(1).fast") == 0;
            right = right || strcmp(e.limiter[i].name, c ? "body.right.a" : "joint.right.fast") == 0;
            assert_int_equal(e.limiter[i].nsuspects, 1);
            assert_non_null(strstr(e.limiter[i].suspect[0].name, ".hard"));
        }
        assert_true(left && right);
        unmake(&f);
    }
}

// A stop at t = 1: the trouble is local, its time is told, and so is the element.
static void stop_at_known_time(void **state)
{
    (void)state;
    char           text[8000];
    fixture        f = make(STOP, KD_PSF, KD_RADAU, KD_CARTESIAN);
    kd_explanation e = run(&f, 20);
    assert_string_equal(e.limiter[0].name, "body.a");
    assert_true(e.limiter[0].local && e.limiter[0].from <= 1.01 && e.limiter[0].to >= 1 - 1e-6);
    bool told = false;
    for (int i = 0; i < e.nsteps; i++) told = told || (fabs(e.step[i].t - 1) < 0.5 && e.step[i].h < 1e-2);
    assert_true(told);
    assert_non_null(strstr(e.limiter[0].advice, "abruptly"));
    assert_non_null(strstr(e.limiter[0].advice, "'wall' (joint_stop)"));
    const size_t length = kd_explanation_describe(&e, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_non_null(strstr(text, "body.a"));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) assert_true(strcspn(line, "\n") <= 120);
    unmake(&f);
}

// Coordinates and multipliers of an element are one owner: positions, velocities, constraints by their element.
static void owners(void **state)
{
    (void)state;
    fixture f = make(LOOP, KD_GGL, KD_RADAU, KD_JOINT);
    kd_dae *dae = kd_simulation_dae(f.simulation);
    double  share[20] = {0};
    assert_true(dae->n == 6);
    static const char *const name[] = {"joint.first",  "joint.second",   "joint.first",
                                       "joint.second", "constraint.rod", "constraint.rod"};
    for (int i = 0; i < 6; i++) {
        kd_explainer  *one;
        kd_explanation e;
        assert_int_equal(kd_explainer_create(dae, kd_system_eom(f.system), &one), KD_OK);
        memset(share, 0, sizeof share);
        share[i] = 1;
        kd_explainer_see(&(kd_attempt_report){.h = 1, .outcome = KD_ATTEMPT_NEWTON, .error = 1, .share = share}, one);
        kd_explainer_result(one, NULL, NULL, &e);
        assert_int_equal(e.nlimiters, 1);
        assert_string_equal(e.limiter[0].name, name[i]);
        kd_explainer_destroy(one);
    }
    unmake(&f);
}

// ---- attempts made by hand ------------------------------------------------------------------------------------------

// Shares by weight 1 + ln(h_ref / h), window and smallest steps are those of the attempts.
static void weights(void **state)
{
    (void)state;
    fixture        f = make(TWO, KD_PSF, KD_RADAU, KD_JOINT);
    const int      n = kd_simulation_dae(f.simulation)->n;
    double         fast[20] = {0}, slow[20] = {0}, unit = exp(1);
    kd_explanation e;
    assert_true(n <= 20);
    fast[2] = 1; // velocities behind two positions
    slow[3] = 1;
    double t = 0;
    for (int k = 0; k < 1000; k++, t += 1) // long steps, limited by the slow one
        kd_explainer_see(&(kd_attempt_report){.t = t, .h = 1, .error = 0.5, .share = slow}, f.explainer);
    for (int k = 0; k < 10; k++, t += 1 / unit) // then short ones by the fast one, each of weight 2
        kd_explainer_see(&(kd_attempt_report){.t = t, .h = 1 / unit, .error = 0.5, .share = fast}, f.explainer);
    for (int k = 0; k < 5; k++) // rejected ones count as well
        kd_explainer_see(&(kd_attempt_report){.t = t, .h = 1, .outcome = KD_ATTEMPT_ERROR, .error = 2, .share = fast},
                         f.explainer);
    kd_explainer_see(&(kd_attempt_report){.t = t, .h = 1, .error = 1e-6, .share = fast}, f.explainer); // not limited
    kd_explainer_see(&(kd_attempt_report){.t = t + 1, .h = 1, .outcome = KD_ATTEMPT_EVALUATE}, f.explainer);
    kd_explainer_result(f.explainer, NULL, NULL, &e);
    assert_int_equal(e.attempts, 1017);
    assert_int_equal(e.accepted, 1011);
    assert_int_equal(e.rejected_error, 5);
    assert_int_equal(e.refused, 1);
    assert_int_equal(e.unlimited, 1);
    assert_int_equal(e.nlimiters, 2);
    assert_string_equal(e.limiter[0].name, "joint.slow");
    assert_true(fabs(e.limiter[0].share - 1000.0 / 1025) < 1e-9);
    assert_true(fabs(e.limiter[1].small - 20.0 / 1020) < 1e-9 && fabs(e.limiter[1].error - 1) < 1e-9);
    assert_true(e.limiter[1].local && e.limiter[1].from > 990 && e.limiter[1].to <= t + 1);
    assert_false(e.limiter[0].local);
    assert_true(e.h_least == 1 / unit && fabs(e.step[0].h - 1 / unit) < 1e-12 && e.step[0].t >= 1000);
    assert_string_equal(e.step[0].name, "joint.fast");
    unmake(&f);
}

// ---- bins that become longer ----------------------------------------------------------------------------------------

enum { BINS = 256, TRIALS = 200, ATTEMPTS = 60 };

static double uniform(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) * 0x1p-24;
}

// Smallest window of bins with 4/5 of all, by trying every pair of ends; n of them at bin[i]
static void window_of(const int *bin, int n, int *from, int *to)
{
    int best_first = 0, best_last = BINS - 1;
    for (int first = 0; first < BINS; first++)
        for (int last = first; last < BINS && last - first < best_last - best_first; last++) {
            int inside = 0;
            for (int i = 0; i < n; i++) inside += bin[i] >= first && bin[i] <= last;
            if (inside >= 0.8 * n) best_first = first, best_last = last;
        }
    *from = best_first;
    *to = best_last;
}

// Attempts at times that grow by any factor: windows and smallest steps are those of bins that had their last length
// from the beginning, whatever was in use when they became longer.
static void longer_bins(void **state)
{
    (void)state;
    fixture  f = make(TWO, KD_PSF, KD_RADAU, KD_JOINT);
    kd_dae  *dae = kd_simulation_dae(f.simulation);
    uint32_t seed = 1;
    for (int trial = 0; trial < TRIALS; trial++) {
        double         share[2][20] = {{0}}, t[ATTEMPTS], h[ATTEMPTS], width = 1.0 / 8;
        int            who[ATTEMPTS], bin[ATTEMPTS], from, to;
        kd_explainer  *rejected, *accepted;
        kd_explanation e;
        share[0][2] = share[1][3] = 1;
        assert_int_equal(kd_explainer_create(dae, kd_system_eom(f.system), &rejected), KD_OK);
        assert_int_equal(kd_explainer_create(dae, kd_system_eom(f.system), &accepted), KD_OK);
        const double growth = 1 + uniform(&seed), stretch = 1 + 40 * uniform(&seed);
        for (int i = 0; i < ATTEMPTS; i++) {
            t[i] =
                i == 0 ? 0 : fmax(growth * t[i - 1] * (1 - 0.5 * uniform(&seed)), t[i - 1]) + stretch * uniform(&seed);
            h[i] = i == 0 ? 1 : 0.5 + 1e-3 * uniform(&seed);
            who[i] = uniform(&seed) < 0.3;
            // rejected attempts of one length weigh 1 each
            kd_explainer_see(
                &(kd_attempt_report){
                    .t = t[i], .h = 1, .outcome = KD_ATTEMPT_ERROR, .error = 2, .share = share[who[i]]},
                rejected);
            kd_explainer_see(&(kd_attempt_report){.t = t[i], .h = h[i], .error = 0.5, .share = share[who[i]]},
                             accepted);
        }
        // rejected ones: the window of each owner
        while (t[ATTEMPTS - 1] >= BINS * width) width *= 2;
        kd_explainer_result(rejected, NULL, NULL, &e);
        for (int k = 0; k < e.nlimiters; k++) {
            const int owner = strcmp(e.limiter[k].name, "joint.slow") == 0;
            int       n = 0;
            for (int i = 0; i < ATTEMPTS; i++)
                if (who[i] == owner) bin[n++] = (int)(t[i] / width);
            window_of(bin, n, &from, &to);
            assert_true(fabs(e.limiter[k].share - n / (double)ATTEMPTS) < 1e-12);
            assert_true(e.limiter[k].from == from * width &&
                        e.limiter[k].to == fmin((to + 1) * width, t[ATTEMPTS - 1]));
        }
        // accepted ones: the smallest step of all, then the smallest that is 8 bins away from those told
        width = 1.0 / 8;
        while (t[ATTEMPTS - 1] + h[ATTEMPTS - 1] >= BINS * width) width *= 2;
        kd_explainer_result(accepted, NULL, NULL, &e);
        for (int k = 0; k < KD_EXPLAIN_STEPS; k++) {
            int best = -1;
            for (int i = 0; i < ATTEMPTS; i++) {
                bool far = true;
                for (int l = 0; l < k; l++) far = far && abs((int)(t[i] / width) - (int)(e.step[l].t / width)) > 8;
                if (far && (best < 0 || h[i] < h[best])) best = i;
            }
            assert_int_equal(best >= 0, k < e.nsteps);
            if (best < 0) break;
            assert_true(e.step[k].h == h[best] && e.step[k].t == t[best]);
            assert_string_equal(e.step[k].name, who[best] ? "joint.slow" : "joint.fast");
        }
        kd_explainer_destroy(rejected);
        kd_explainer_destroy(accepted);
    }
    unmake(&f);
}

// Nothing seen, and nothing limited, is told in words; JSON is closed.
static void quiet(void **state)
{
    (void)state;
    fixture        f = make(TWO, KD_PSF, KD_RADAU, KD_JOINT);
    kd_explanation e;
    char           text[4000];
    int            open = 0;
    kd_explainer_result(f.explainer, suspects, &f, &e);
    kd_explanation_describe(&e, text, sizeof text);
    assert_non_null(strstr(text, "tells nothing"));
    kd_explainer_see(&(kd_attempt_report){.h = 1, .error = 1e-9}, f.explainer);
    kd_explainer_result(f.explainer, suspects, &f, &e);
    kd_explanation_describe(&e, text, sizeof text);
    assert_non_null(strstr(text, "no step was limited"));
    e = run(&f, 1);
    const size_t length = kd_explanation_json(&e, text, sizeof text);
    assert_true(length == strlen(text) && text[0] == '{');
    for (const char *c = text; *c; c++) {
        open += (*c == '{' || *c == '[') - (*c == '}' || *c == ']');
        assert_true(open > 0 || c[1] == '\0');
    }
    assert_int_equal(open, 0);
    assert_non_null(strstr(text, "\"name\": \"joint.fast\""));
    assert_int_equal(kd_explanation_json(&e, NULL, 0), length);
    unmake(&f);
}

// Listening does not allocate; creation may fail at every allocation.
static void memory(void **state)
{
    (void)state;
    fixture           f = make(TWO, KD_PSF, KD_RADAU, KD_JOINT);
    kd_dae           *dae = kd_simulation_dae(f.simulation);
    kd_explainer     *e;
    failing_allocator hooks = {.fail_at = 1};
    kd_status         status;
    failing_allocator_use(&hooks);
    while ((status = kd_explainer_create(dae, kd_system_eom(f.system), &e)) == KD_ERR_MEMORY) {
        assert_null(e);
        assert_int_equal(hooks.live, 0);
        hooks.calls = 0;
        hooks.fail_at++;
    }
    assert_int_equal(status, KD_OK);
    assert_true(hooks.fail_at > 3);
    const long calls = hooks.calls;
    double     share[20] = {1};
    for (int k = 0; k < 100; k++)
        kd_explainer_see(&(kd_attempt_report){.t = k * k, .h = 1e-3, .error = 1, .share = share}, e);
    assert_int_equal(hooks.calls, calls);
    kd_explainer_destroy(e);
    kd_set_allocator(NULL);
    kd_explainer_destroy(NULL);
    assert_int_equal(kd_explainer_create(NULL, NULL, &e), KD_ERR_ARGUMENT);
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integrators_report), cmocka_unit_test(stiff_spring), cmocka_unit_test(elements_of_subsystems),
        cmocka_unit_test(stop_at_known_time), cmocka_unit_test(owners),       cmocka_unit_test(weights),
        cmocka_unit_test(longer_bins),        cmocka_unit_test(quiet),        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
