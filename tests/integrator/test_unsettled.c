// tests/integrator/test_unsettled.c: answers that a form marks as not settled.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka wants some of the above first
#include <cmocka.h>

#include "integrator/shared.h"

static kd_eval (*true_residual)(void *impl, double t, const double *x, const double *xdot, double *F);
static kd_dae *asked;
static double  asked_t[16];
static int     count;
static long    unsettled;

// The first answer at a time is that all is well, where a patient integrator asks; it is marked
static kd_eval praise(void *impl, double t, const double *x, const double *xdot, double *F)
{
    bool known = false;
    for (int k = 0; k < 16; k++) known = known || asked_t[k] == t;
    if (known || !asked->patient) return true_residual(impl, t, x, xdot, F);
    asked_t[count++ % 16] = t;
    memset(F, 0, (size_t)asked->n * sizeof *F);
    asked->unsettled = true;
    unsettled++;
    return KD_EVAL_OK;
}

static double error_of_run(kd_integrator_kind kind, bool praised)
{
    kd_integrator_options o = kd_integrator_options_default();
    double                p[2], v[2];
    o.rtol = o.atol = 1e-7;
    fixture      f = make_pendulum(kind, &o, KD_STATESPACE, NULL);
    kd_dae_class methods = *f.dae->methods;
    asked = f.dae;
    true_residual = methods.residual;
    for (int k = 0; k < 16; k++) asked_t[k] = -1;
    if (praised) methods.residual = praise;
    f.dae->methods = &methods;
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    run_until(f.solver, 2);
    kd_formulation_unpack(f.dae, 2, kd_integrator_x(f.solver), f.x);
    kd_pendulum_exact(GRAVITY, false, SPEED, 2, p, v, NULL);
    const double error = fmax(fabs(f.x->p[0] - p[0]), fabs(f.x->p[1] - p[1]));
    drop_fixture(&f);
    return error;
}

// No iteration ends with an answer that is not settled, though it promises that nothing is left to be done.
static void iterations_go_on(void **state)
{
    (void)state;
    const kd_integrator_kind kinds[] = {KD_RADAU, KD_SDIRK};
    for (int k = 0; k < 2; k++) {
        unsettled = 0;
        const double plain = error_of_run(kinds[k], false), praised = error_of_run(kinds[k], true);
        print_message("%s: %ld answers, error %g, without them %g\n", kd_integrator_word(kinds[k]), unsettled, praised,
                      plain);
        assert_true(unsettled > 100 && praised < 1e-5 && plain < 1e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(iterations_go_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
