// bdf on the projected strangeness-free forms: constraints to rounding after every step, errors that follow the
// tolerance, few Jacobians.
#include "eom/systems.h" // cmocka
#include <kardan/kardan.h>

#include "gallery.h"

typedef struct watch {
    const kd_eom    *eom;
    const kd_inputs *inputs;
    double           position, velocity;
} watch;

static kd_eval watch_levels(const kd_state *x, bool at_time, void *context)
{
    watch         *w = context;
    kd_consistency c;
    (void)at_time;
    assert_true(kd_initial_residuals(w->eom, w->inputs, x, &c) >= 0);
    w->position = fmax(w->position, c.position);
    w->velocity = fmax(w->velocity, c.velocity);
    return KD_EVAL_OK;
}

// error of the positions relative to the largest one
static double run(const char *name, kd_formulation form, kd_decomposition decomposition, double tolerance,
                  kd_stats *stats)
{
    const kd_example *example = kd_gallery_find(name);
    kd_eom           *eom;
    kd_state         *x;
    kd_inputs         inputs;
    assert_int_equal(example->create(&eom, &x, &inputs), KD_OK);
    kd_simulation_options opt = kd_simulation_options_default();
    watch                 w = {.eom = eom, .inputs = &inputs};
    opt.formulation = form;
    opt.integrator = KD_BDF;
    opt.formulation_options.constraints = decomposition;
    opt.rtol = opt.atol = tolerance;
    opt.output = watch_levels;
    opt.context = &w;
    assert_int_equal(kd_simulate(eom, &inputs, &opt, x, example->t_end, stats, NULL, 0), KD_OK);
    if (w.position > 1e-11 || w.velocity > 1e-11) fail_msg("%s: levels %.1e %.1e", name, w.position, w.velocity);
    double error = 0, size = 0;
    int    np = kd_eom_dims(eom).np;
    for (int i = 0; i < np; i++) size = fmax(size, fabs(example->reference[i]));
    for (int i = 0; i < np; i++) error = fmax(error, fabs(x->p[i] - example->reference[i]) / size);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return error;
}

// geometric mean over three neighbouring tolerances: one run alone may hit the reference by accident
static double mean_error(const char *name, kd_formulation form, double tolerance, kd_stats *stats)
{
    double product = 1;
    for (int k = -1; k <= 1; k++) product *= run(name, form, KD_DECOMPOSE_LU, tolerance * pow(1.3, k), stats);
    return cbrt(product);
}

// two tolerances a hundred times apart; most: of the error at the tighter one, 1e-7
static void check(const char *name, double most)
{
    static const kd_formulation forms[] = {KD_PSF, KD_PSF1};
    for (int i = 0; i < 2; i++) {
        kd_stats loose, tight;
        double   first = mean_error(name, forms[i], 1e-5, &loose);
        double   second = mean_error(name, forms[i], 1e-7, &tight);
        if (!(second < most)) fail_msg("%s, form %d: error %.1e", name, forms[i], second);
        if (!(second < 0.2 * first)) fail_msg("%s, form %d: errors %.1e and %.1e", name, forms[i], first, second);
        assert_true(4 * tight.jacobians < tight.accepted && tight.rejected_newton <= 3);
    }
}

static void small_systems(void **state)
{
    (void)state;
    check("pendulum", 1e-5);
    check("pendulum-release", 1e-4);
    check("andrews", 1e-5);
}

static void larger_systems(void **state)
{
    (void)state;
    check("caraxis", 1e-5);
    check("fekete", 1e-6);
    check("truck7-bump", 1e-2);
}

// rows combined by singular values
static void with_svd(void **state)
{
    (void)state;
    kd_stats stats;
    double   error = run("andrews", KD_PSF, KD_DECOMPOSE_SVD, 1e-7, &stats);
    if (error > 1e-5) fail_msg("error %.1e", error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_systems), cmocka_unit_test(larger_systems),
                                       cmocka_unit_test(with_svd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
