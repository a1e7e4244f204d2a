// Whole runs where things nearly go wrong: the last bit of the end time, functions with a boundary of their domain, one
// tolerance alone.
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

#include "gallery.h"
#include "pendulum.h"

// ---- helpers --------------------------------------------------------------------------------------------------------

static kd_eval unit_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

// one mass with the given force
static kd_eom *make(kd_function f, void *context, kd_state **x)
{
    kd_eom    *eom;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.context = context;
    def.M = unit_M;
    def.f = f;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, x), KD_OK);
    return eom;
}

static kd_simulation *start(const kd_eom *eom, const kd_simulation_options *opt, kd_state *x)
{
    kd_simulation *s;
    char           message[800];
    if (kd_simulation_create(eom, NULL, opt, x, &s, message, sizeof message) < 0) fail_msg("%s", message);
    return s;
}

static kd_eval spring_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -x->p[0];
    return KD_EVAL_OK;
}

// ---- the end time ---------------------------------------------------------------------------------------------------

// Runs from a negative time end at t_end to the bit, a second run to the same end is fine, one to the next number too.
static void end_is_exact(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int k = 0; k < 300; k++) {
        kd_state             *x;
        kd_eom               *eom = make(spring_f, NULL, &x);
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        seed = seed * 1664525u + 1013904223u;
        double t_end = 0.1 * (seed + 1.0) / 4294967297.0;
        x->t = -1;
        x->p[0] = 1;
        kd_simulation *s = start(eom, &opt, x);
        for (int i = 0; i < 2; i++) {
            if (kd_simulation_run(s, t_end) != KD_OK) fail_msg("%.17g: %s", t_end, kd_simulation_message(s));
            assert_true(x->t == t_end);
            assert_true(fabs(x->p[0] - cos(t_end + 1)) < 1e-4);
        }
        t_end = nextafter(t_end, 1);
        if (kd_simulation_run(s, t_end) != KD_OK) fail_msg("%.17g: %s", t_end, kd_simulation_message(s));
        assert_true(x->t == t_end);
        assert_int_equal(kd_simulation_run(s, 1), KD_OK);
        assert_true(x->t == 1 && fabs(x->p[0] - cos(2)) < 1e-4);
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

static kd_eval stop_after(const kd_state *x, bool at_time, void *context)
{
    (void)at_time;
    return x->t > *(double *)context ? KD_EVAL_STOP : KD_EVAL_OK;
}

// A run without an end in sight (t_end = 1e16) goes well until the output function stops it.
static void end_far_away(void **state)
{
    (void)state;
    const double ends[] = {1e6, 1e16, 1e300};
    for (int k = 0; k < 3; k++) {
        kd_state             *x;
        kd_eom               *eom = make(spring_f, NULL, &x);
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        double stop = 5;
        char   message[600] = "";
        opt.output = stop_after;
        opt.context = &stop;
        x->p[0] = 1;
        kd_status status = kd_simulate(eom, NULL, &opt, x, ends[k], NULL, message, sizeof message);
        if (status != KD_STOPPED) fail_msg("%g: %s", ends[k], message);
        assert_true(x->t > 5 && x->t < 7);
        assert_true(fabs(x->p[0] - cos(x->t)) < 1e-4);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- the boundary of a domain ---------------------------------------------------------------------------------------

// A force that keeps u inside (-1, 1) and is known there only: NaN outside, or RETRY
typedef struct walls {
    bool retry;
    long outside; // calls there
} walls;

static kd_eval walls_f(const kd_point *x, void *context, double *f)
{
    walls *k = context;
    double u = x->p[0];
    if (fabs(u) >= 1) {
        k->outside++;
        f[0] = NAN;
        return k->retry ? KD_EVAL_RETRY : KD_EVAL_OK;
    }
    f[0] = -2 * atanh(u) - 0.5 * u / (1 - u * u);
    return KD_EVAL_OK;
}

// |v|^2/2 + potential of the above
static double walls_energy(const kd_state *x)
{
    double u = x->p[0];
    return 0.5 * x->v[0] * x->v[0] + 2 * u * atanh(u) + 0.75 * log(1 - u * u);
}

// Functions that give NaN beyond a boundary which only guesses cross do not end the run, wherever Newton matrices are
// taken.
static void boundary_of_a_domain(void **state)
{
    (void)state;
    const struct {
        int reference, updates;
    } option[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {0, 2}, {1, 2}, {2, 2}, {3, 2}};
    long outside = 0;
    for (size_t k = 0; k < 2 * sizeof option / sizeof *option; k++) {
        walls                 context = {.retry = k % 2 == 1};
        kd_state             *x;
        kd_eom               *eom = make(walls_f, &context, &x);
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        char     message[600] = "";
        kd_stats stats;
        opt.rtol = opt.atol = 1e-3;
        opt.integrator_options.radau.reference = option[k / 2].reference;
        opt.integrator_options.radau.newton_updates = option[k / 2].updates;
        x->v[0] = 2.5;
        double energy = walls_energy(x);
        if (kd_simulate(eom, NULL, &opt, x, 10, &stats, message, sizeof message) != KD_OK)
            fail_msg("reference %d, updates %d: %s", option[k / 2].reference, option[k / 2].updates, message);
        assert_true(x->t == 10);
        assert_true(fabs(walls_energy(x) - energy) < 0.1);
        outside += context.outside;
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    assert_true(outside > 50);
}

// ---- tolerances -----------------------------------------------------------------------------------------------------

static double pendulum_error(double rtol, double atol, kd_stats *stats)
{
    kd_eom   *eom;
    kd_state *x;
    double    p[2], v[2], error = 0;
    assert_int_equal(kd_pendulum_create(13.75, (double[]){0, -1}, (double[]){2.8, 0}, false, &eom, &x), KD_OK);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = rtol;
    opt.atol = atol;
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 5, stats, NULL, 0), KD_OK);
    kd_pendulum_exact(13.75, false, 2.8, 5, p, v, NULL);
    for (int i = 0; i < 2; i++) error = fmax(error, fmax(fabs(x->p[i] - p[i]), fabs(x->v[i] - v[i])));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return error;
}

static double caraxis_error(double rtol, double atol, kd_stats *stats)
{
    const kd_example *example = kd_gallery_find("caraxis");
    kd_eom           *eom;
    kd_state         *x;
    kd_inputs         inputs;
    double            error = 0;
    assert_int_equal(example->create(&eom, &x, &inputs), KD_OK);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = rtol;
    opt.atol = atol;
    assert_int_equal(kd_simulate(eom, &inputs, &opt, x, example->t_end, stats, NULL, 0), KD_OK);
    for (int i = 0; i < kd_eom_dims(eom).np; i++) error = fmax(error, fabs(x->p[i] - example->reference[i]));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return error;
}

// A smaller rtol alone never makes the result worse or the steps fewer; with both smaller, the error follows.
static void relative_tolerance_alone(void **state)
{
    (void)state;
    double (*const error_of[])(double, double, kd_stats *) = {pendulum_error, caraxis_error};
    for (int k = 0; k < 2; k++) {
        double   before = INFINITY, both = INFINITY;
        kd_stats fewer = {0}, stats;
        for (double rtol = 1e-5; rtol > 0.9e-9; rtol *= 1e-2) {
            double error = error_of[k](rtol, 1e-6, &stats);
            if (!(error <= before) || stats.accepted < fewer.accepted)
                fail_msg("%d: rtol %g: error %g after %g, steps %ld after %ld", k, rtol, error, before, stats.accepted,
                         fewer.accepted);
            before = error;
            fewer = stats;
            error = error_of[k](rtol, rtol, &stats);
            if (!(error < 0.1 * both && error < 20 * rtol)) fail_msg("%d: rtol = atol = %g: error %g", k, rtol, error);
            both = error;
        }
    }
}

// ---- parameters -----------------------------------------------------------------------------------------------------

static kd_eval spring(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -x->theta[0] * x->p[0];
    return KD_EVAL_OK;
}

// Parameters of the state reach every function in every form: x'' = -theta x with theta = 9 instead of the default 1.
static void parameters_of_the_state(void **state)
{
    (void)state;
    const double         standard = 1, other = 9;
    const kd_formulation forms[] = {KD_PSF, KD_GGL, KD_INDEX1};
    for (int k = 0; k < 3; k++) {
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 1, .nv = 1, .ntheta = 1};
        def.M = unit_M;
        def.f = spring;
        def.theta = &standard;
        kd_eom               *eom;
        kd_state             *x;
        kd_simulation_options opt = kd_simulation_options_default();
        opt.rtol = opt.atol = 1e-9;
        opt.formulation = forms[k];
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        x->p[0] = 1;
        x->theta = &other;
        assert_int_equal(kd_simulate(eom, NULL, &opt, x, 1, NULL, NULL, 0), KD_OK);
        assert_true(fabs(x->p[0] - cos(3)) < 1e-7);
        assert_true(fabs(x->a[0] + 9 * x->p[0]) < 1e-9);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- continuation ---------------------------------------------------------------------------------------------------

// Runs that end with too many steps go on where they stopped, with IDA as with Radau.
static void continued_runs(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        if (k == 1 && !kd_integrator_about(KD_IDA, NULL)->available) continue;
        const kd_example     *example = kd_gallery_find("pendulum");
        kd_eom               *eom;
        kd_state             *x;
        kd_inputs             inputs;
        kd_simulation        *s;
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_GGL;
        opt.integrator = k ? KD_IDA : KD_RADAU;
        opt.integrator_options.max_steps = 30;
        assert_int_equal(example->create(&eom, &x, &inputs), KD_OK);
        assert_true(kd_simulation_create(eom, NULL, &opt, x, &s, NULL, 0) >= 0);
        kd_status status;
        double    before = -1;
        int       runs = 0;
        do {
            status = kd_simulation_run(s, 2);
            assert_true(x->t > before);
            before = x->t;
        } while (status == KD_ERR_TOO_MANY_STEPS && ++runs < 100);
        assert_int_equal(status, KD_OK);
        assert_true(runs > 0);
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_is_exact),
        cmocka_unit_test(end_far_away),
        cmocka_unit_test(boundary_of_a_domain),
        cmocka_unit_test(relative_tolerance_alone),
        cmocka_unit_test(parameters_of_the_state),
        cmocka_unit_test(continued_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
