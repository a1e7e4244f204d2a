// Tests of the SUNDIALS ARKODE adapter: what is its own; the rest in sundials_ode.h.
#include "sundials_ode.h"

static const kd_integrator_kind KIND = KD_ARKODE;

static bool choose(kd_integrator_options *opt, enum variant variant, bool projected)
{
    (void)projected;
    opt->arkode.method = variant == PLAIN ? KD_ARKODE_ERK : KD_ARKODE_DIRK;
    opt->arkode.own_linear_algebra = variant == IMPLICIT_OWN;
    return true;
}

static double fixed_step_error(kd_arkode_method method, int order, bool projected, double h)
{
    kd_integrator_options opt = kd_integrator_options_default();
    opt.arkode.method = (int)method;
    opt.arkode.order = order;
    opt.h_fixed = h;
    opt.rtol = opt.atol = 1e-11; // of Newton's method
    opt.arkode.own_linear_algebra = true;
    fixture f = make_fixture(&opt, projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER);
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    run_until(f.solver, 1.5);
    double error = pendulum_error(kd_integrator_x(f.solver), 1.5);
    drop_fixture(&f);
    return error;
}

// The slope of the error over constant steps is the order of the method, projected or not.
static void orders_are_measured_with_and_without_projection(void **state)
{
    (void)state;
    const struct {
        kd_arkode_method method;
        int              order, steps;
    } kind[] = {{KD_ARKODE_ERK, 2, 400},  {KD_ARKODE_ERK, 3, 200},  {KD_ARKODE_ERK, 4, 100}, {KD_ARKODE_ERK, 5, 60},
                {KD_ARKODE_DIRK, 2, 400}, {KD_ARKODE_DIRK, 3, 200}, {KD_ARKODE_DIRK, 4, 100}};
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        for (int projected = 0; projected < 2; projected++) {
            double h = 1.5 / kind[k].steps;
            double coarse = fixed_step_error(kind[k].method, kind[k].order, projected, h);
            double fine = fixed_step_error(kind[k].method, kind[k].order, projected, h / 2);
            double order = log2(coarse / fine);
            if (!(order > kind[k].order - 0.3 && order < kind[k].order + 1.2))
                fail_msg("method %d, order %d, projected %d: %.2f (%.2g, %.2g)", (int)kind[k].method, kind[k].order,
                         projected, order, coarse, fine);
        }
    }
}

// A table that is asked for by name sets the order; extrapolated stages need fewer evaluations, for the same motion.
static void tables_and_extrapolated_stages(void **state)
{
    (void)state;
    long evaluations[2];
    for (int k = 0; k < 2; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        opt.arkode.method = KD_ARKODE_DIRK;
        opt.arkode.table = "ARKODE_ARK437L2SA_DIRK_7_3_4";
        opt.arkode.own_linear_algebra = true;
        opt.arkode.extrapolate = k == 1;
        opt.rtol = opt.atol = 1e-8;
        fixture f = make_fixture(&opt, KD_PROJECT_NEVER);
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        run_until(f.solver, 1.5);
        kd_stats s = kd_integrator_stats(f.solver);
        assert_int_equal(s.order_last, 4);
        assert_true(pendulum_error(kd_integrator_x(f.solver), 1.5) < 1e-5);
        evaluations[k] = s.residuals;
        drop_fixture(&f);
    }
    assert_true((double)evaluations[1] < 0.7 * (double)evaluations[0]);
}

// Refused with words: tolerances that are none, methods and orders that are none, every formulation but ode.
static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    fixture               f = make_fixture(NULL, KD_PROJECT_NEVER);
    kd_integrator_options opt = kd_integrator_options_default();
    kd_integrator        *it;
    char                  message[200];
    opt.rtol = 0;
    assert_int_equal(kd_integrator_create(f.dae, KD_ARKODE, &opt, &it, message, sizeof message), KD_ERR_TOLERANCE);
    opt = kd_integrator_options_default();
    opt.max_steps = 0;
    assert_int_equal(kd_integrator_create(f.dae, KD_ARKODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    opt = kd_integrator_options_default();
    opt.arkode.method = (kd_arkode_method)7;
    assert_int_equal(kd_integrator_create(f.dae, KD_ARKODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    opt = kd_integrator_options_default();
    opt.arkode.order = 7;
    assert_int_equal(kd_integrator_create(f.dae, KD_ARKODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    opt.arkode.order = 6;
    opt.arkode.method = KD_ARKODE_DIRK;
    assert_int_equal(kd_integrator_create(f.dae, KD_ARKODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "2 to 5"));
    opt = kd_integrator_options_default();
    opt.arkode.method = KD_ARKODE_DIRK;
    opt.arkode.table = "ARKODE_SDIRK_9_9_9";
    assert_int_equal(kd_integrator_create(f.dae, KD_ARKODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "ARKODE_SDIRK_9_9_9"));
    opt = kd_integrator_options_default();
    opt.h_fixed = -1;
    assert_int_equal(kd_integrator_create(f.dae, KD_ARKODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_create(NULL, KD_ARKODE, NULL, &it, message, sizeof message), KD_ERR_ARGUMENT);
    for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
        if (form == KD_ODE || form == KD_STATESPACE) continue;
        kd_dae *dae = make_dae(f.eom, NULL, f.x, (kd_formulation)form, NULL);
        assert_int_equal(kd_integrator_create(dae, KD_ARKODE, NULL, &it, message, sizeof message), KD_ERR_UNSUPPORTED);
        assert_non_null(strstr(message, "use the formulation ode"));
        assert_null(it);
        kd_dae_destroy(dae);
    }
    drop_fixture(&f);
}

int main(void)
{
    RUN_SUNDIALS_ODE(cmocka_unit_test(orders_are_measured_with_and_without_projection),
                     cmocka_unit_test(tables_and_extrapolated_stages), cmocka_unit_test(wrong_arguments_are_refused));
}
