// The bound of the position error (S4 Eq. 13): constants of the circular track in closed form, measured errors below it,
// its order in the step, and where it is not to be had.
#include "realtime/bound.h"
#include "stepping.h"

static const double ROUNDING = 4e-16; // of |g|

// Largest |g| of a run, and the bound from all of its states but the start
static double run_beside_bound(const char *name, const kd_realtime_options *opt, double t_end, kd_realtime_limit *limit)
{
    subject            s = open_example(name);
    kd_realtime       *rt = start_stepper(s.eom, s.inputs.eval ? &s.inputs : NULL, opt, s.x);
    kd_realtime_bound *bound = NULL;
    kd_realtime_defect at;
    double             most = 0.0;
    assert_int_equal(kd_realtime_bound_create(rt, &bound), KD_OK);
    for (long i = 0; i < lround(t_end / opt->h); i++) {
        make_steps(rt, 1);
        assert_int_equal(kd_realtime_defects(rt, &at), KD_OK);
        assert_int_equal(kd_realtime_bound_see(bound), KD_OK);
        if (i > 0) most = fmax(most, at.position);
    }
    *limit = kd_realtime_bound_limit(bound);
    kd_realtime_bound_destroy(bound);
    kd_realtime_destroy(rt);
    close_example(&s);
    return most;
}

static kd_realtime_options projected(double h)
{
    kd_realtime_options opt = kd_realtime_options_default();
    opt.h = h;
    opt.stabilisation = KD_REALTIME_PROJECTION;
    opt.projector = KD_REALTIME_PROJECTOR_START;
    return opt;
}

// On the circle g = x^2 + y^2 - 1: P = q/2, g_pp = 2, so that A1 = v^2, A2 = 1/4, and A3 = |q.v| = 0. The speed rises up
// to 10/9 (models/c/circulartrack.c).
static void constants_of_the_circle(void **state)
{
    const double              v2 = 100.0 / 81.0;
    const kd_realtime_options opt = projected(1e-2);
    kd_realtime_limit         limit;
    (void)state;
    const double most = run_beside_bound("circulartrack", &opt, 3.0, &limit);
    assert_true(fabs(limit.C2 - 0.25) < 1e-4);
    assert_true(fabs(limit.C1 - 2 * opt.h * 0.25 * v2) < 0.02 * limit.C1);
    assert_true(fabs(limit.C0 - opt.h * 0.25 * v2 * v2) < 0.04 * limit.C0);
    assert_true(most > 0.5 * limit.limit && most <= limit.limit + ROUNDING);
    assert_int_equal(limit.states, 300);
}

// Errors stay below the bound, which falls with the cube of the step; it is not far above them
static void errors_stay_below(void **state)
{
    static const struct {
        const char *name;
        double      h, t_end;
    } run[] = {{"pendulum", 2e-3, 2.0}, {"caraxis", 1e-3, 1.0}, {"andrews", 2e-5, 0.01}, {"fekete", 2e-3, 0.4}};
    (void)state;
    for (size_t i = 0; i < sizeof run / sizeof *run; i++)
        for (int projection = 0; projection < 2; projection++) {
            double limits[2];
            for (int half = 0; half < 2; half++) {
                kd_realtime_options opt = projected(run[i].h / (1 + half));
                kd_realtime_limit   limit;
                if (!projection) opt.stabilisation = KD_REALTIME_GGL, opt.projector = KD_REALTIME_PROJECTOR_STEP;
                const double most = run_beside_bound(run[i].name, &opt, run[i].t_end, &limit);
                limits[half] = limit.limit;
                assert_true(most > 0.0 && most <= limit.limit + ROUNDING);
            }
            const double order = log2(limits[0] / limits[1]);
            assert_true(order > 2.5 && order < 4.5);
        }
}

// Too long a step has no bound; other stabilisations and systems without constraints have none at all.
static void where_it_does_not_apply(void **state)
{
    kd_realtime_options opt = projected(1.5);
    kd_realtime_limit   limit;
    kd_realtime_bound  *bound = NULL;
    (void)state;
    (void)run_beside_bound("circulartrack", &opt, 6.0, &limit);
    assert_true(isinf(limit.limit));
    opt = kd_realtime_options_default();
    opt.stabilisation = KD_REALTIME_BAUMGARTE;
    subject      s = open_example("circulartrack");
    kd_realtime *rt = start_stepper(s.eom, s.inputs.eval ? &s.inputs : NULL, &opt, s.x);
    assert_int_equal(kd_realtime_bound_create(rt, &bound), KD_ERR_UNSUPPORTED);
    assert_null(bound);
    kd_realtime_destroy(rt);
    close_example(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_of_the_circle),
        cmocka_unit_test(errors_stay_below),
        cmocka_unit_test(where_it_does_not_apply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
