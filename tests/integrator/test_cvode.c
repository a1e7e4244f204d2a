// Tests of the SUNDIALS CVODE adapter: what is its own; the rest in sundials_ode.h.
#include "sundials_ode.h"

static const kd_integrator_kind KIND = KD_CVODE;

static bool choose(kd_integrator_options *opt, enum variant variant, bool projected)
{
    opt->cvode.method = variant == PLAIN ? KD_CVODE_ADAMS : KD_CVODE_BDF;
    opt->cvode.own_linear_algebra = variant == IMPLICIT_OWN;
    return variant != PLAIN || !projected;
}

// Error against tolerance: projection does not cost accuracy, and error falls in proportion to the tolerance. A larger
// order takes fewer steps.
static void order_is_kept_with_projection(void **state)
{
    (void)state;
    double error[2][2];
    for (int projected = 0; projected < 2; projected++) {
        for (int fine = 0; fine < 2; fine++) {
            kd_integrator_options opt = kd_integrator_options_default();
            opt.rtol = opt.atol = fine ? 1e-10 : 1e-7;
            fixture f = make_fixture(&opt, projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER);
            assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
            run_until(f.solver, 5);
            error[projected][fine] = pendulum_error(kd_integrator_x(f.solver), 5);
            if (fine) assert_int_equal(kd_integrator_stats(f.solver).order_last, 5);
            drop_fixture(&f);
        }
        double exponent = log10(error[projected][0] / error[projected][1]) / 3;
        if (!(exponent > 0.7 && exponent < 1.3)) fail_msg("projected %d: exponent %.2f", projected, exponent);
    }
    assert_true(error[1][1] < 2 * error[0][1]);
    long steps[3];
    for (int k = 0; k < 3; k++) {
        const int             order[] = {2, 5, 12};
        kd_integrator_options opt = kd_integrator_options_default();
        opt.cvode.method = k < 2 ? KD_CVODE_BDF : KD_CVODE_ADAMS;
        opt.cvode.order_max = order[k];
        opt.rtol = opt.atol = 1e-8;
        fixture f = make_fixture(&opt, KD_PROJECT_NEVER);
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        run_until(f.solver, 2);
        steps[k] = kd_integrator_stats(f.solver).accepted;
        assert_true(kd_integrator_stats(f.solver).order_last <= order[k]);
        drop_fixture(&f);
    }
    assert_true(steps[0] > 3 * steps[1] && steps[1] > steps[2]);
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
    assert_int_equal(kd_integrator_create(f.dae, KD_CVODE, &opt, &it, message, sizeof message), KD_ERR_TOLERANCE);
    opt = kd_integrator_options_default();
    opt.max_steps = 0;
    assert_int_equal(kd_integrator_create(f.dae, KD_CVODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    opt = kd_integrator_options_default();
    opt.cvode.method = (kd_cvode_method)7;
    assert_int_equal(kd_integrator_create(f.dae, KD_CVODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    opt = kd_integrator_options_default();
    opt.cvode.order_max = 6;
    assert_int_equal(kd_integrator_create(f.dae, KD_CVODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "between 1 and 5"));
    opt.cvode.method = KD_CVODE_ADAMS;
    opt.cvode.order_max = 13;
    assert_int_equal(kd_integrator_create(f.dae, KD_CVODE, &opt, &it, message, sizeof message), KD_ERR_ARGUMENT);
    opt.cvode.order_max = 0;
    kd_formulation_options always = kd_formulation_options_default();
    always.projection = KD_PROJECT_ALWAYS;
    kd_dae *projected = make_dae(f.eom, NULL, f.x, KD_ODE, &always);
    assert_int_equal(kd_integrator_create(projected, KD_CVODE, &opt, &it, message, sizeof message), KD_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "bdf"));
    kd_dae_destroy(projected);
    assert_int_equal(kd_integrator_create(NULL, KD_CVODE, NULL, &it, message, sizeof message), KD_ERR_ARGUMENT);
    for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
        if (form == KD_ODE || form == KD_STATESPACE) continue;
        kd_dae *dae = make_dae(f.eom, NULL, f.x, (kd_formulation)form, NULL);
        assert_int_equal(kd_integrator_create(dae, KD_CVODE, NULL, &it, message, sizeof message), KD_ERR_UNSUPPORTED);
        assert_non_null(strstr(message, "use the formulation ode"));
        assert_null(it);
        kd_dae_destroy(dae);
    }
    drop_fixture(&f);
}

int main(void)
{
    RUN_SUNDIALS_ODE(cmocka_unit_test(order_is_kept_with_projection), cmocka_unit_test(wrong_arguments_are_refused));
}
