// Backward Euler with changing steps: multipliers of the index-3 form do not converge, those of reduced index do.
//
// S1 section 4: M = I, f = 0, 0 = C y - z(t), so that lambda = -(C C')^-1 z''. Backward Euler gives C y_n = z(t_n),
// hence
//     lambda_(n+1) = -(C C')^-1 [(z_(n+1) - z_n) / h_n - (z_n - z_(n-1)) / h_(n-1)] / h_n
// and, for z'' constant, exactly (h_n + h_(n-1)) / (2 h_n) times the right value.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "integrator/euler.h"
#include <kardan/kardan.h>

#define C1 0.6
#define C2 1.7
#define BEND 3.0 // z = BEND t^2 / 2

static const double lambda_exact = -BEND / (C1 * C1 + C2 * C2);

// ---- the system -----------------------------------------------------------------------------------------------------

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[1] = 0;
    return KD_EVAL_OK;
}

static kd_eval g(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = C1 * x->p[0] + C2 * x->p[1] - 0.5 * BEND * x->t * x->t;
    return KD_EVAL_OK;
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = C1 * x->v[0] + C2 * x->v[1] - BEND * x->t;
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = C1 * x->a[0] + C2 * x->a[1] - BEND;
    return KD_EVAL_OK;
}

typedef struct fixture {
    kd_eom   *eom;
    kd_state *x;
    kd_dae   *dae;
} fixture;

static fixture open_system(kd_formulation form)
{
    fixture    f;
    kd_eom_def def = kd_eom_def_default();
    def.title = "driven constraint";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
    def.M = mass;
    def.f = force;
    def.g = g;
    def.gI = gI;
    def.gII = gII;
    assert_int_equal(kd_eom_create(&def, &f.eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    f.x->lambda[0] = lambda_exact;
    assert_int_equal(kd_formulation_create(f.eom, NULL, f.x, form, NULL, &f.dae, NULL, 0), KD_OK);
    return f;
}

static void close_system(fixture *f)
{
    kd_dae_destroy(f->dae);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static const kd_formulation reduced[] = {KD_INDEX2, KD_INDEX1, KD_GGL};

// ---- tests ----------------------------------------------------------------------------------------------------------

// Ten steps of h_before, one of h_after: lambda / lambda_exact
static double factor_after_change(kd_formulation form, double h_before, double h_after)
{
    fixture f = open_system(form);
    euler   e = {.dae = f.dae};
    kd_formulation_pack(f.dae, f.x, e.x);
    for (int n = 0; n < 10; n++) assert_int_equal(euler_step(&e, h_before, 3), KD_OK);
    assert_int_equal(euler_step(&e, h_after, 3), KD_OK);
    kd_formulation_unpack(f.dae, e.t, e.x, f.x);
    const double factor = f.x->lambda[0] / lambda_exact;
    close_system(&f);
    return factor;
}

// On index 3 the multiplier after a change of the step is wrong by (h_n + h_(n-1)) / (2 h_n), the worse the shorter
// h_n.
static void index_3_has_the_wrong_multiplier(void **state)
{
    (void)state;
    for (double h = 0.2; h > 1e-4; h /= 4)
        assert_true(fabs(factor_after_change(KD_INDEX3, 0.1, h) / ((h + 0.1) / (2 * h)) - 1) < 1e-6);
}

// With equal steps it is right, also on index 3.
static void equal_steps_have_the_right_multiplier(void **state)
{
    (void)state;
    assert_true(fabs(factor_after_change(KD_INDEX3, 0.1, 0.1) - 1) < 1e-9);
}

// On the forms of reduced index the step may change as it likes.
static void reduced_index_has_the_right_multiplier(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof reduced / sizeof *reduced; k++)
        for (double h = 0.2; h > 1e-4; h /= 4) assert_true(fabs(factor_after_change(reduced[k], 0.1, h) - 1) < 1e-6);
}

// The same with the BDF integrator, order 1: a new start with another step is a change of the step of a one-step
// method.
static double bdf_factor(kd_formulation form, double h_before, double h_after)
{
    fixture               f = open_system(form);
    kd_integrator_options opt = kd_integrator_options_default();
    double                x[EULER_MAX];
    double                t = 0;
    opt.bdf.order_max = 1;
    opt.rtol = 0.5, opt.atol = 1; // no error test: steps are as long as they may be
    opt.bdf.newton_stop = 1e-9;
    kd_formulation_pack(f.dae, f.x, x);
    for (int part = 0; part < 2; part++) {
        kd_integrator *bdf;
        const double   t_end = part == 0 ? 10 * h_before : 10 * h_before + h_after;
        opt.h_first = opt.h_max = part == 0 ? h_before : h_after;
        assert_int_equal(kd_integrator_create(f.dae, KD_BDF, &opt, &bdf, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(bdf, t, x), KD_OK);
        while (kd_integrator_time(bdf) < t_end) assert_int_equal(kd_integrator_step(bdf, t_end), KD_OK);
        memcpy(x, kd_integrator_x(bdf), (size_t)f.dae->n * sizeof *x);
        t = t_end;
        kd_integrator_destroy(bdf);
    }
    kd_formulation_unpack(f.dae, t, x, f.x);
    const double factor = f.x->lambda[0] / lambda_exact;
    close_system(&f);
    return factor;
}

// The BDF integrator shows the same wrong multiplier on index 3, and the right one on the forms of reduced index.
static void bdf_of_order_1_does_the_same(void **state)
{
    (void)state;
    assert_true(fabs(bdf_factor(KD_INDEX3, 0.125, 0.0125) / 5.5 - 1) < 1e-6);
    for (size_t k = 0; k < sizeof reduced / sizeof *reduced; k++)
        assert_true(fabs(bdf_factor(reduced[k], 0.125, 0.0125) - 1) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_3_has_the_wrong_multiplier),
        cmocka_unit_test(equal_steps_have_the_right_multiplier),
        cmocka_unit_test(reduced_index_has_the_right_multiplier),
        cmocka_unit_test(bdf_of_order_1_does_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
