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

// A run as against the clock: copies in the loop, looks behind it. The constants of each state alone, at[], were told by the other way.
typedef struct paced {
    double            most;  // |g|
    long              worst; // state before it
    kd_realtime_limit during, behind;
} paced;

static paced run_paced(const char *name, const kd_realtime_options *opt, long steps, kd_realtime_limit *at)
{
    subject            s = open_example(name);
    kd_realtime       *rt = start_stepper(s.eom, s.inputs.eval ? &s.inputs : NULL, opt, s.x);
    kd_realtime_bound *bound = NULL, *alone = NULL;
    kd_realtime_defect defect;
    paced              out = {0};
    assert_int_equal(kd_realtime_bound_create(rt, &bound), KD_OK);
    assert_int_equal(kd_realtime_bound_reserve(bound, steps), KD_OK);
    for (long i = 0; i < steps; i++) {
        kd_realtime_bound_before(bound);
        if (at) {
            assert_int_equal(kd_realtime_bound_create(rt, &alone), KD_OK);
            assert_int_equal(kd_realtime_bound_see(alone), KD_OK);
            at[i] = kd_realtime_bound_limit(alone);
            kd_realtime_bound_destroy(alone);
        }
        make_steps(rt, 1);
        assert_int_equal(kd_realtime_defects(rt, &defect), KD_OK);
        kd_realtime_bound_after(bound, defect.position);
        if (i > 0 && defect.position > out.most) out.most = defect.position, out.worst = i;
    }
    out.during = kd_realtime_bound_limit(bound);
    // the factors of the stepper are put back: its next step is the same
    kd_realtime *twin = start_stepper(s.eom, s.inputs.eval ? &s.inputs : NULL, opt, s.x);
    make_steps(twin, steps + 1);
    assert_int_equal(kd_realtime_bound_look(bound), KD_OK);
    make_steps(rt, 1);
    const kd_state *x = kd_realtime_state(rt), *y = kd_realtime_state(twin);
    assert_memory_equal(x->p, y->p, x->size * sizeof *x->p);
    out.behind = kd_realtime_bound_limit(bound);
    kd_realtime_destroy(twin);
    kd_realtime_bound_destroy(bound);
    kd_realtime_destroy(rt);
    close_example(&s);
    return out;
}

// In one part of a run the constants are, bit for bit, those of the state before the largest error; the bound holds.
static void the_worst_state_is_kept(void **state)
{
    static const struct {
        const char *name;
        double      h;
    } run[] = {{"circulartrack", 1e-2}, {"pendulum", 2e-3}, {"caraxis", 1e-3}, {"andrews", 2e-5}, {"fekete", 2e-3}};
    static kd_realtime_limit at[99];
    (void)state;
    for (size_t i = 0; i < sizeof run / sizeof *run; i++)
        for (int projection = 0; projection < 2; projection++) {
            kd_realtime_options opt = projected(run[i].h);
            if (!projection) opt.stabilisation = KD_REALTIME_GGL, opt.projector = KD_REALTIME_PROJECTOR_STEP;
            const paced              got = run_paced(run[i].name, &opt, 99, at);
            const kd_realtime_limit *want = &at[got.worst], *have = &got.behind;
            assert_int_equal(have->states, 1);
            assert_true(have->C0 == want->C0 && have->C1 == want->C1 && have->C2 == want->C2);
            assert_true(have->C2 > 0.0 && got.most <= have->limit + ROUNDING);
        }
}

// Nothing is evaluated in the loop; behind it 1 + nlambda matrices for each part, at two steps each no more than a
// fiftieth of the steps, and never more than 32 parts.
static void evaluations_are_counted(void **state)
{
    static const struct {
        const char *name;
        double      h;
        int         nlambda;
        long        steps, parts;
    } run[] = {{"circulartrack", 1e-2, 1, 10, 1},
               {"circulartrack", 1e-2, 1, 600, 3},
               {"circulartrack", 1e-2, 1, 20000, 32},
               {"caraxis", 1e-3, 2, 3000, 10},
               {"andrews", 2e-5, 6, 1500, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        const kd_realtime_options opt = projected(run[i].h);
        const paced               got = run_paced(run[i].name, &opt, run[i].steps, NULL);
        const long                matrices = got.behind.matrices;
        assert_int_equal(got.during.matrices, 0);
        assert_int_equal(got.during.states, 0);
        assert_int_equal(got.behind.states, run[i].parts);
        assert_int_equal(matrices, run[i].parts * (1 + run[i].nlambda));
        assert_true(run[i].parts == 1 || 2 * matrices * 50 <= run[i].steps);
        assert_true(got.most <= got.behind.limit + ROUNDING);
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
        cmocka_unit_test(constants_of_the_circle), cmocka_unit_test(errors_stay_below),
        cmocka_unit_test(the_worst_state_is_kept), cmocka_unit_test(evaluations_are_counted),
        cmocka_unit_test(where_it_does_not_apply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
