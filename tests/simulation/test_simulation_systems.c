// Small systems against their second description, in every formulation that applies: nonholonomic, redundant, with
// inner states, auxiliary variables and contact coordinates, with quaternions, with friction that depends on
// multipliers.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <string.h>

#include "systems/systems.h"

static double error_of(int n, const double *x, const double *ref)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i] - ref[i]) / fmax(1, fabs(ref[i])));
    return most;
}

// Errors of the state against the solution at its time: motion (p, v, s), inner states r, forces (w, lambda, mu).
typedef struct errors {
    double motion, inner, forces;
} errors;

static errors errors_of(const kd_test_system *system, const kd_eom *eom, const kd_state *x, kd_state *exact)
{
    kd_dims d = kd_eom_dims(eom);
    errors  e = {0};
    system->solution(x->t, exact);
    e.motion = fmax(error_of(d.np, x->p, exact->p), error_of(d.nv, x->v, exact->v));
    e.motion = fmax(e.motion, error_of(d.ns, x->s, exact->s));
    e.inner = error_of(d.nr, x->r, exact->r);
    e.forces = error_of(d.nw, x->w, exact->w);
    if (system->multipliers) e.forces = fmax(e.forces, error_of(d.nlambda + d.nmu, x->lambda, exact->lambda));
    return e;
}

// What the output function collects.
typedef struct collect {
    const kd_test_system *system;
    const kd_eom         *eom;
    kd_state             *exact;
    errors                between;                          // at wanted times
    double                position, velocity, acceleration; // residuals everywhere
    int                   times;
} collect;

static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    collect       *c = context;
    kd_consistency r;
    assert_true(kd_initial_residuals(c->eom, NULL, x, &r) >= 0);
    double size = 1;
    for (int i = 0; i < kd_eom_dims(c->eom).nv; i++) size = fmax(size, fabs(x->a[i]));
    c->position = fmax(c->position, at_time ? 0.1 * r.position : r.position); // one projection between steps
    if (!at_time || kd_eom_dims(c->eom).ne == 0) c->velocity = fmax(c->velocity, r.velocity); // e holds at steps only
    c->acceleration = fmax(c->acceleration, r.acceleration / size);
    if (!at_time) return KD_EVAL_OK;
    errors e = errors_of(c->system, c->eom, x, c->exact);
    c->between.motion = fmax(c->between.motion, e.motion);
    c->between.inner = fmax(c->between.inner, e.inner);
    c->between.forces = fmax(c->between.forces, e.forces);
    c->times++;
    return KD_EVAL_OK;
}

enum { TIMES = 7 };

typedef struct result {
    kd_status status;
    errors    end;
    collect   seen;
    kd_stats  stats;
    char      message[800];
} result;

static result run(const kd_test_system *system, kd_simulation_options opt, bool output)
{
    result    r = {0};
    kd_eom   *eom;
    kd_state *x, *exact;
    double    times[TIMES];
    assert_int_equal(system->create(&eom, &x), KD_OK);
    assert_int_equal(kd_state_create(eom, &exact), KD_OK);
    for (int i = 0; i < TIMES; i++) times[i] = system->t_end * (i + 0.37) / TIMES;
    r.seen = (collect){.system = system, .eom = eom, .exact = exact};
    if (output) {
        opt.times = times;
        opt.ntimes = TIMES;
        opt.output = look;
        opt.context = &r.seen;
    }
    r.status = kd_simulate(eom, NULL, &opt, x, system->t_end, &r.stats, r.message, sizeof r.message);
    if (r.status >= 0) r.end = errors_of(system, eom, x, exact);
    kd_state_destroy(exact);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return r;
}

static kd_simulation_options with_tolerance(double tolerance)
{
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = opt.atol = tolerance;
    return opt;
}

// Systems that oscillate fast lose some digits.
static double hardness(const kd_test_system *system)
{
    return strcmp(system->name, "heavy top") == 0 ? 30 : 1;
}

// psf reaches the second description of every system with every decomposition, at the end and at wanted times between
// steps, and holds all constraints to rounding.
static void psf_reaches_every_system(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        for (int decomposition = 0; decomposition < 3; decomposition++) {
            if (system->redundant && decomposition != KD_DECOMPOSE_SVD) continue;
            kd_simulation_options opt = with_tolerance(1e-8);
            opt.formulation_options.constraints = (kd_decomposition)decomposition;
            result r = run(system, opt, true);
            if (r.status < 0) fail_msg("%s: %s", system->name, r.message);
            double bound = 5e-8 * hardness(system);
            if (!(r.end.motion < bound && r.end.inner < bound && r.end.forces < bound))
                fail_msg("%s, %d: errors %.1e %.1e", system->name, decomposition, r.end.motion, r.end.forces);
            // r is interpolated by a cubic
            if (!(r.seen.between.motion < 2 * bound && r.seen.between.inner < 2e-6 &&
                  r.seen.between.forces < 20 * bound))
                fail_msg("%s, %d: between steps %.1e %.1e %.1e", system->name, decomposition, r.seen.between.motion,
                         r.seen.between.inner, r.seen.between.forces);
            assert_int_equal(r.seen.times, TIMES);
            if (!(r.seen.position < 1e-12 && r.seen.velocity < 1e-11 && r.seen.acceleration < 1e-10))
                fail_msg("%s, %d: constraints %.1e %.1e %.1e", system->name, decomposition, r.seen.position,
                         r.seen.velocity, r.seen.acceleration);
        }
    }
}

// All other formulations reach them, too; redundant systems with the SVD.
static void all_forms_reach_every_system(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        for (int form = KD_PSF + 1; form < KD_FORMULATION_COUNT; form++) {
            kd_simulation_options opt = with_tolerance(1e-7);
            opt.formulation = (kd_formulation)form;
            opt.formulation_options.invariants = kd_formulation_about(opt.formulation)->keeps_invariants;
            if (system->redundant) opt.formulation_options.constraints = KD_DECOMPOSE_SVD;
            result      r = run(system, opt, false);
            const char *word = kd_formulation_word(opt.formulation);
            if (r.status < 0) fail_msg("%s, %s: %s", system->name, word, r.message);
            double bound = form == KD_INDEX3 ? 3e-5 : 1e-6; // velocities of index 3 lose an order
            if (!(r.end.motion < bound * hardness(system)))
                fail_msg("%s, %s: error %.1e", system->name, word, r.end.motion);
        }
    }
}

// IDA on the forms that it can take.
static void ida_reaches_every_system(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_GGL, KD_INDEX2, KD_INDEX1};
    if (!kd_integrator_about(KD_IDA, NULL)->available) skip();
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        for (int i = 0; i < 3; i++) {
            kd_simulation_options opt = with_tolerance(1e-7);
            opt.formulation = forms[i];
            opt.formulation_options.invariants = false;
            opt.integrator = KD_IDA;
            if (system->redundant) opt.formulation_options.constraints = KD_DECOMPOSE_SVD;
            result r = run(system, opt, false);
            if (r.status < 0) fail_msg("%s, %s: %s", system->name, kd_formulation_word(forms[i]), r.message);
            if (!(r.end.motion < 1e-4 * hardness(system)))
                fail_msg("%s, %s: error %.1e", system->name, kd_formulation_word(forms[i]), r.end.motion);
        }
    }
}

// Without the SVD redundant constraints are refused at once, in every form that needs it, and the redundant rows are
// named.
static void redundancy_is_named(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        if (!system->redundant) continue;
        for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
            if (form == KD_STATESPACE) continue; // leaves redundant rows out by itself
            for (int decomposition = 0; decomposition < 2; decomposition++) {
                kd_simulation_options opt = with_tolerance(1e-6);
                opt.formulation = (kd_formulation)form;
                opt.formulation_options.constraints = (kd_decomposition)decomposition;
                result r = run(system, opt, false);
                if (r.status != KD_ERR_REDUNDANT)
                    fail_msg("%s, %s: %s", system->name, kd_formulation_word(opt.formulation), r.message);
                assert_int_equal(r.stats.accepted, 0);
                assert_non_null(strstr(r.message, "lambda["));
                assert_non_null(strstr(r.message, "SVD"));
            }
        }
    }
}

// The error of psf falls with the tolerance on every system, down to 1e-10.
static void error_follows_tolerance(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        const double          tolerances[] = {1e-4, 1e-7, 1e-10};
        double                before = 1;
        for (int i = 0; i < 3; i++) {
            kd_simulation_options opt = with_tolerance(tolerances[i]);
            if (system->redundant) opt.formulation_options.constraints = KD_DECOMPOSE_SVD;
            result r = run(system, opt, false);
            if (r.status < 0) fail_msg("%s: %s", system->name, r.message);
            if (!(r.end.motion < 20 * tolerances[i] * hardness(system) && r.end.motion < before))
                fail_msg("%s at %.0e: error %.1e after %.1e", system->name, tolerances[i], r.end.motion, before);
            before = r.end.motion;
        }
    }
}

// Fixed steps show order 5 in p and v for nonholonomic constraints, inner states and contact coordinates, and for
// quaternions.
static void order_is_five(void **state)
{
    (void)state;
    const struct {
        int    system;
        double h;
    } list[] = {{0, 0.2}, {1, 0.2}, {4, 0.06}, {6, 0.1}};
    for (int k = 0; k < 4; k++) {
        const kd_test_system *system = &kd_test_systems[list[k].system];
        double                error[2];
        for (int i = 0; i < 2; i++) {
            kd_simulation_options opt = with_tolerance(1);
            opt.integrator_options.h_first = opt.integrator_options.h_max = i == 0 ? list[k].h : list[k].h / 2;
            opt.integrator_options.radau.newton_stop = 1e-13;
            opt.integrator_options.radau.max_newton = 50;
            opt.integrator_options.radau.theta = -1;
            result r = run(system, opt, false);
            if (r.status < 0) fail_msg("%s: %s", system->name, r.message);
            assert_int_equal(r.stats.rejected_error + r.stats.rejected_newton, 0);
            error[i] = r.end.motion;
        }
        double slope = log2(error[0] / error[1]);
        if (!(slope > 4.6 && slope < 5.6))
            fail_msg("%s: slope %.2f (%.1e %.1e)", system->name, slope, error[0], error[1]);
    }
}

// A free body keeps its energy, momentum and angular momentum to the tolerance, and its energy to rounding when that is
// an invariant; the quaternion stays on the sphere.
static void free_body_constants(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        kd_eom   *eom;
        kd_state *x;
        double    before[7], after[7];
        assert_int_equal(k == 0 ? kd_test_free_body_create(&eom, &x) : kd_test_free_body_invariant_create(&eom, &x),
                         KD_OK);
        kd_simulation_options opt = with_tolerance(1e-7);
        kd_test_free_body_constants(x, before);
        assert_int_equal(kd_simulate(eom, NULL, &opt, x, 5, NULL, NULL, 0), KD_OK);
        kd_test_free_body_constants(x, after);
        for (int i = 0; i < 7; i++)
            if (fabs(after[i] - before[i]) > 2e-6 * fmax(1, fabs(before[i])))
                fail_msg("constant %d: %g, %g", i, before[i], after[i]);
        if (k == 1) assert_true(fabs(after[3] - before[3]) < 1e-11 * fmax(1, fabs(before[3])));
        double norm = 0;
        for (int i = 3; i < 7; i++) norm += x->p[i] * x->p[i];
        assert_true(fabs(norm - 1) < 1e-14);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Friction takes its multiplier into the force: without the coupling the motion would be another one.
static void friction_depends_on_the_multiplier(void **state)
{
    (void)state;
    kd_eom   *eom;
    kd_state *x;
    assert_int_equal(kd_test_friction_create(&eom, &x), KD_OK);
    kd_simulation_options opt = with_tolerance(1e-9);
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 0.4, NULL, NULL, 0), KD_OK);
    double        w = x->w[0], lambda = x->lambda[0];
    kd_eom_data  *d;
    const double *zero = NULL;
    double        residual;
    assert_int_equal(kd_eom_data_create(eom, &d), KD_OK);
    kd_eom_at_time(d, x->t, zero, zero, zero, zero);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(d, KD_D, &residual), KD_EVAL_OK);
    assert_true(fabs(residual) < 1e-12);
    x->lambda[0] = 0.5 * lambda; // the brake needs the force in the rod
    assert_int_equal(kd_eom_eval(d, KD_D, &residual), KD_EVAL_OK);
    assert_true(fabs(residual) > 0.05 * fabs(w));
    kd_eom_data_destroy(d);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(psf_reaches_every_system), cmocka_unit_test(all_forms_reach_every_system),
        cmocka_unit_test(ida_reaches_every_system), cmocka_unit_test(redundancy_is_named),
        cmocka_unit_test(error_follows_tolerance),  cmocka_unit_test(order_is_five),
        cmocka_unit_test(free_body_constants),      cmocka_unit_test(friction_depends_on_the_multiplier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
