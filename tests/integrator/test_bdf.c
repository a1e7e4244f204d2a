// BDF of order 1 to 5: measured orders with fixed steps, error and tolerance, restarts, dense output, what observers
// hear, moved points, options, on small DAEs and on the pendulum in all forms.
#include "core/failing_allocator.h"
#include "forms/whole.h"
#include "integrator/dense_dae.h"
#include "pendulum.h"
#include <kardan/integrator.h>

#define GRAVITY 13.75
#define SPEED 2.9

enum { MOST = 12 };

static kd_integrator *create(kd_dae *dae, const kd_integrator_options *opt)
{
    kd_integrator *b;
    char           message[400];
    if (kd_integrator_create(dae, KD_BDF, opt, &b, message, sizeof message) != KD_OK) fail_msg("%s", message);
    return b;
}

static kd_integrator_options with_tolerance(double tolerance)
{
    kd_integrator_options o = kd_integrator_options_default();
    o.rtol = o.atol = tolerance;
    return o;
}

static void run(kd_integrator *b, double t_end)
{
    while (kd_integrator_time(b) < t_end)
        if (kd_integrator_step(b, t_end) != KD_OK) fail_msg("%s", kd_integrator_message(b));
    assert_true(kd_integrator_time(b) == t_end);
}

// ---- the pendulum in every form -------------------------------------------------------------------------------------

typedef struct swing {
    kd_eom   *eom;
    kd_state *x;
    kd_dae   *dae;
    double    start[MOST];
} swing;

static swing make_cartesian(kd_formulation form)
{
    const double p0[2] = {0, -1}, v0[2] = {SPEED, 0};
    swing        s = {0};
    assert_int_equal(kd_pendulum_create(GRAVITY, p0, v0, false, &s.eom, &s.x), KD_OK);
    s.x->lambda[0] = SPEED * SPEED + GRAVITY; // mass and length 1
    s.x->a[1] = SPEED * SPEED;
    s.dae = make_dae(s.eom, NULL, s.x, form, NULL);
    kd_formulation_pack(s.dae, s.x, s.start);
    double lambda;
    kd_pendulum_exact(GRAVITY, false, SPEED, 0, NULL, NULL, &lambda);
    s.start[4] = lambda;
    return s;
}

static kd_eval angle_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}
static kd_eval angle_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -GRAVITY * sin(x->p[0]);
    return KD_EVAL_OK;
}

// The same in its joint coordinate: an ODE
static swing make_joint(void)
{
    swing      s = {0};
    kd_eom_def def = kd_eom_def_default();
    def.title = "angle";
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.M = angle_M;
    def.f = angle_f;
    s.eom = make(&def);
    assert_int_equal(kd_state_create(s.eom, &s.x), KD_OK);
    s.x->v[0] = SPEED;
    s.dae = make_dae(s.eom, NULL, s.x, KD_INDEX1, NULL);
    kd_formulation_pack(s.dae, s.x, s.start);
    return s;
}

static void drop(swing *s)
{
    kd_dae_destroy(s->dae);
    kd_state_destroy(s->x);
    kd_eom_destroy(s->eom);
}

// Largest error of positions and of velocities
static void measure(bool joint, double t, const double *x, double *p_error, double *v_error)
{
    double p[2], v[2], y[4];
    memcpy(y, x, (joint ? 2 : 4) * sizeof *y);
    kd_pendulum_exact(GRAVITY, false, SPEED, t, p, v, NULL);
    if (joint) {
        y[0] = sin(x[0]), y[1] = -cos(x[0]);
        y[2] = cos(x[0]) * x[1], y[3] = sin(x[0]) * x[1];
    }
    *p_error = fmax(fabs(y[0] - p[0]), fabs(y[1] - p[1]));
    *v_error = fmax(fabs(y[2] - v[0]), fabs(y[3] - v[1]));
}

// ---- orders ---------------------------------------------------------------------------------------------------------

// Steps of fixed size and order k: halving the step divides the errors of p and v by 2^k, for the ODE and the DAEs.
static void orders_one_to_five(void **state)
{
    (void)state;
    const int forms[] = {-1, KD_GGL, KD_INDEX2};
    for (int f = 0; f < 3; f++) {
        for (int k = 1; k <= 5; k++) {
            double error[2][2];
            int    n = k == 1 ? 2000 : k == 2 ? 400 : k == 3 ? 200 : 150;
            for (int half = 0; half < 2; half++) {
                swing                 s = forms[f] < 0 ? make_joint() : make_cartesian((kd_formulation)forms[f]);
                kd_integrator_options o = with_tolerance(1e-12);
                o.bdf.order_fixed = k;
                o.h_fixed = 1.0 / (n << half);
                kd_integrator *b = create(s.dae, &o);
                assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
                run(b, 1);
                assert_int_equal(kd_integrator_stats(b).order_last, k);
                assert_close(kd_integrator_stats(b).h_last, o.h_fixed, 1e-9);
                measure(forms[f] < 0, 1, kd_integrator_x(b), &error[half][0], &error[half][1]);
                kd_integrator_destroy(b);
                drop(&s);
            }
            for (int i = 0; i < 2; i++) {
                double order = log2(error[0][i] / error[1][i]);
                if (!(fabs(order - k) < (k < 5 ? 0.25 : 0.4)) || error[1][i] < 1e-11)
                    fail_msg("form %d, %s: order %.2f instead of %d (errors %.2e, %.2e)", forms[f], i ? "v" : "p",
                             order, k, error[0][i], error[1][i]);
            }
        }
    }
}

// Variable steps of a fixed order: the order is kept once it is reached.
static void fixed_order_with_variable_steps(void **state)
{
    (void)state;
    for (int k = 1; k <= 5; k++) {
        dense_dae             d;
        double                x[2], exact[2];
        kd_integrator_options o = with_tolerance(1e-6);
        dense_make(&d, &waves);
        o.bdf.order_fixed = k;
        kd_integrator *b = create(&d.dae, &o);
        waves.solution(0, x);
        assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
        for (int i = 0; kd_integrator_time(b) < 1; i++) {
            assert_int_equal(kd_integrator_step(b, 1), KD_OK);
            if (i >= 5) assert_int_equal(kd_integrator_stats(b).order_last, k);
        }
        waves.solution(1, exact);
        for (int i = 0; i < 2; i++) assert_close(kd_integrator_x(b)[i], exact[i], k == 1 ? 1e-2 : 1e-4);
        kd_integrator_destroy(b);
    }
}

// The largest order is respected and, without limit, all orders occur.
static void order_max(void **state)
{
    (void)state;
    for (int most = 1; most <= 5; most++) {
        dense_dae             d;
        double                x[2];
        int                   seen = 0;
        kd_integrator_options o = with_tolerance(1e-8);
        dense_make(&d, &waves);
        o.bdf.order_max = most;
        kd_integrator *b = create(&d.dae, &o);
        waves.solution(0, x);
        assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
        while (kd_integrator_time(b) < 0.2) {
            assert_int_equal(kd_integrator_step(b, 0.2), KD_OK);
            if (kd_integrator_stats(b).order_last > seen) seen = kd_integrator_stats(b).order_last;
        }
        assert_int_equal(seen, most);
        kd_integrator_destroy(b);
    }
}

// ---- accuracy -------------------------------------------------------------------------------------------------------

// The error follows the tolerance in every form, with own and with DASSL's rules.
static void error_follows_the_tolerance(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_GGL, KD_INDEX2, KD_INDEX1, KD_BAUMGARTE2, KD_BAUMGARTE1, KD_PSF, KD_PSF1};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        for (int rules = 0; rules < 2; rules++) {
            double last = INFINITY;
            for (double tolerance = 1e-4; tolerance > 1e-9; tolerance *= 1e-2) {
                swing                 s = make_cartesian(forms[f]);
                kd_integrator_options o = with_tolerance(tolerance);
                double                p, v;
                o.bdf.dassl_rules = rules;
                kd_integrator *b = create(s.dae, &o);
                assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
                run(b, 2);
                measure(false, 2, kd_integrator_x(b), &p, &v);
                double error = fmax(p, v), bound = 200 * tolerance;
                if (!(error < bound) || !(error < 0.3 * last))
                    fail_msg("%s, rules %d, %g: error %.2e", kd_formulation_word(forms[f]), rules, tolerance, error);
                kd_stats stats = kd_integrator_stats(b);
                assert_true(stats.accepted > 50 && stats.steps >= stats.accepted);
                assert_int_equal(stats.steps, stats.accepted + stats.rejected_error + stats.rejected_newton);
                last = error;
                kd_integrator_destroy(b);
                drop(&s);
            }
        }
    }
}

// A stiff equation is integrated with steps that do not depend on its stiffness.
static void stiff_equation(void **state)
{
    (void)state;
    dense_dae             d;
    double                x[2];
    kd_integrator_options o = with_tolerance(1e-6);
    dense_make(&d, &stiff);
    kd_integrator *b = create(&d.dae, &o);
    stiff.solution(0, x);
    assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
    run(b, 10);
    stiff.solution(10, x);
    for (int i = 0; i < 2; i++) assert_close(kd_integrator_x(b)[i], x[i], 1e-4);
    assert_true(kd_integrator_stats(b).accepted < 300);
    kd_integrator_destroy(b);
}

// Own rules need fewer evaluations of F and fewer matrices than DASSL's for about the same accuracy, in the mean of
// several tolerances.
static void own_rules_are_cheaper(void **state)
{
    (void)state;
    double work[2] = {0}, error[2] = {0}; // error: sums of logarithms
    int    runs = 0;
    for (int rules = 0; rules < 2; rules++) {
        for (double tolerance = 1e-5; tolerance > 1e-9; tolerance /= 3) {
            swing                 s = make_cartesian(KD_GGL);
            kd_integrator_options o = with_tolerance(rules ? tolerance : 2 * tolerance);
            double                p, v;
            o.bdf.dassl_rules = rules;
            kd_integrator *b = create(s.dae, &o);
            assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
            run(b, 3);
            measure(false, 3, kd_integrator_x(b), &p, &v);
            error[rules] += log(fmax(p, v));
            work[rules] += (double)(kd_integrator_stats(b).residuals + 10 * kd_integrator_stats(b).jacobians);
            kd_integrator_destroy(b);
            drop(&s);
            runs += rules;
        }
    }
    if (!(work[0] < 0.6 * work[1] && error[0] < error[1] + runs * log(1.5)))
        fail_msg("work %.0f, %.0f, logarithms of errors %g, %g", work[0], work[1], error[0], error[1]);
}

// A coarse iteration leaves noise that the predictor amplifies; it must not make the steps vanish (it did, while old
// derivatives were kept for ever shorter steps).
static void coarse_iteration(void **state)
{
    (void)state;
    for (double tolerance = 1e-4; tolerance > 1e-9; tolerance *= 0.4641588833612779) {
        swing                 s = make_cartesian(KD_GGL);
        kd_integrator_options o = with_tolerance(tolerance);
        double                p, v;
        o.bdf.newton_stop = 0.33;
        kd_integrator *b = create(s.dae, &o);
        assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
        run(b, 4);
        measure(false, 4, kd_integrator_x(b), &p, &v);
        assert_true(fmax(p, v) < 2000 * tolerance);
        kd_integrator_destroy(b);
        drop(&s);
    }
}

// Tolerances of single components: a loose one saves steps.
static void tolerances_of_components(void **state)
{
    (void)state;
    long steps[2];
    for (int loose = 0; loose < 2; loose++) {
        dense_dae             d;
        double                x[2], rtol[2] = {loose ? 1e-3 : 1e-8, 1e-8}, atol[2] = {loose ? 1e-3 : 1e-8, 1e-8};
        kd_integrator_options o = kd_integrator_options_default();
        dense_make(&d, &stiff);
        o.rtol_each = rtol;
        o.atol_each = atol;
        kd_integrator *b = create(&d.dae, &o);
        rtol[0] = rtol[1] = atol[0] = atol[1] = 1; // copied
        stiff.solution(0, x);
        assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
        run(b, 20);
        steps[loose] = kd_integrator_stats(b).accepted;
        kd_integrator_destroy(b);
    }
    assert_true(steps[1] < 0.8 * (double)steps[0]);
}

// ---- restarts, ends, dense output -----------------------------------------------------------------------------------

// A second start repeats the first; one that keeps the matrix makes no new one and reaches the same accuracy.
static void restarts(void **state)
{
    (void)state;
    swing                 s = make_cartesian(KD_GGL);
    kd_integrator_options o = with_tolerance(1e-7);
    kd_integrator        *b = create(s.dae, &o);
    double                first[MOST], p, v;
    assert_int_equal(kd_integrator_step(b, 1), KD_ERR_STAGE);
    assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
    run(b, 0.5);
    memcpy(first, kd_integrator_x(b), (size_t)s.dae->n * sizeof(double));
    kd_stats before = kd_integrator_stats(b);
    assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
    run(b, 0.5);
    assert_memory_equal(kd_integrator_x(b), first, (size_t)s.dae->n * sizeof(double));
    kd_stats stats = kd_integrator_stats(b);
    assert_int_equal(stats.accepted, 2 * before.accepted);
    kd_integrator_destroy(b);
    drop(&s);

    s = make_joint();
    b = create(s.dae, &o);
    assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
    run(b, 0.5);
    stats = kd_integrator_stats(b);
    memcpy(first, kd_integrator_x(b), (size_t)s.dae->n * sizeof(double));
    assert_int_equal(kd_integrator_restart(b, 0.5, first, KD_RESTART_SAME_ROWS), KD_OK);
    assert_int_equal(kd_integrator_step(b, 1), KD_OK);
    assert_int_equal(kd_integrator_stats(b).jacobians, stats.jacobians);
    assert_int_equal(kd_integrator_stats(b).decompositions, stats.decompositions + 1);
    run(b, 1);
    measure(true, 1, kd_integrator_x(b), &p, &v);
    assert_true(fmax(p, v) < 1e-5);
    kd_integrator_destroy(b);
    drop(&s);
}

// Orders grow fast after a start: order 4 or more within the first ten steps, and few steps for the first period.
static void quick_start(void **state)
{
    (void)state;
    swing                 s = make_cartesian(KD_GGL);
    kd_integrator_options o = with_tolerance(1e-6);
    kd_integrator        *b = create(s.dae, &o);
    int                   order = 0;
    assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(kd_integrator_step(b, 1), KD_OK);
        if (kd_integrator_stats(b).order_last > order) order = kd_integrator_stats(b).order_last;
    }
    assert_true(order >= 4);
    assert_true(kd_integrator_time(b) > 0.02);
    kd_integrator_destroy(b);
    drop(&s);
}

// Many ends on the way cost few steps: the history and the proposed step survive.
static void ends_on_the_way(void **state)
{
    (void)state;
    long steps[2];
    for (int many = 0; many < 2; many++) {
        dense_dae             d;
        double                x[2], exact[2];
        kd_integrator_options o = with_tolerance(1e-7);
        dense_make(&d, &waves);
        kd_integrator *b = create(&d.dae, &o);
        waves.solution(0, x);
        assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
        for (int i = 1; many && i < 10; i++) run(b, 0.2 * i);
        run(b, 2);
        waves.solution(2, exact);
        for (int i = 0; i < 2; i++) assert_close(kd_integrator_x(b)[i], exact[i], 2e-5);
        steps[many] = kd_integrator_stats(b).accepted;
        kd_integrator_destroy(b);
    }
    if (steps[1] > steps[0] + 60) fail_msg("%ld steps instead of %ld", steps[1], steps[0]);
}

// Ends before, at and just after the present time.
static void end_times(void **state)
{
    (void)state;
    dense_dae d;
    double    x[2];
    dense_make(&d, &waves);
    kd_integrator *b = create(&d.dae, NULL);
    waves.solution(1, x);
    assert_int_equal(kd_integrator_start(b, 1, x), KD_OK);
    assert_int_equal(kd_integrator_step(b, 0.5), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(b, NAN), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(b, 1), KD_OK);
    assert_true(kd_integrator_time(b) == 1 && kd_integrator_stats(b).steps == 0);
    double close = nextafter(1, 2);
    assert_int_equal(kd_integrator_step(b, close), KD_OK);
    assert_true(kd_integrator_time(b) == close);
    assert_memory_equal(kd_integrator_x(b), x, sizeof x);
    run(b, 1.25);
    assert_true(kd_integrator_time_old(b) < 1.25);
    kd_integrator_destroy(b);
}

// h_first and h_max are respected.
static void first_and_largest_step(void **state)
{
    (void)state;
    dense_dae             d;
    double                x[2];
    kd_integrator_options o = with_tolerance(1e-3);
    dense_make(&d, &stiff);
    o.h_first = 1e-4;
    o.h_max = 0.01;
    kd_integrator *b = create(&d.dae, &o);
    stiff.solution(0, x);
    assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
    assert_int_equal(kd_integrator_step(b, 1), KD_OK);
    assert_true(kd_integrator_time(b) == 1e-4);
    while (kd_integrator_time(b) < 1) {
        assert_int_equal(kd_integrator_step(b, 1), KD_OK);
        assert_true(kd_integrator_time(b) - kd_integrator_time_old(b) <= 0.01 + 1e-12);
    }
    kd_integrator_destroy(b);
}

// Dense output: continuous at both ends of a step, as accurate inside as at the ends, in p and v of the DAE.
static void dense_output(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_GGL, KD_INDEX2};
    for (int f = 0; f < 2; f++) {
        swing                 s = make_cartesian(forms[f]);
        kd_integrator_options o = with_tolerance(1e-8);
        kd_integrator        *b = create(s.dae, &o);
        double                x[MOST], old[MOST], p, v, at_ends = 0, inside = 0;
        size_t                bytes = (size_t)s.dae->n * sizeof(double);
        assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
        assert_int_equal(kd_integrator_dense(b, 0, x), KD_OK);
        assert_memory_equal(x, s.start, bytes);
        while (kd_integrator_time(b) < 2) {
            memcpy(old, kd_integrator_x(b), bytes);
            assert_int_equal(kd_integrator_step(b, 2), KD_OK);
            double t0 = kd_integrator_time_old(b), t1 = kd_integrator_time(b);
            assert_int_equal(kd_integrator_dense(b, t1, x), KD_OK);
            assert_memory_equal(x, kd_integrator_x(b), bytes);
            assert_int_equal(kd_integrator_dense(b, t0, x), KD_OK);
            for (int i = 0; i < 4; i++) assert_close(x[i], old[i], 1e-13);
            measure(false, t1, kd_integrator_x(b), &p, &v);
            at_ends = fmax(at_ends, fmax(p, v));
            for (int i = 1; i < 4; i++) {
                double t = t0 + 0.25 * i * (t1 - t0);
                assert_int_equal(kd_integrator_dense(b, t, x), KD_OK);
                measure(false, t, x, &p, &v);
                inside = fmax(inside, fmax(p, v));
            }
            assert_int_equal(kd_integrator_dense(b, t1 + 1e-3, x), KD_ERR_TIME);
            assert_int_equal(kd_integrator_dense(b, t0 - 1e-3, x), KD_ERR_TIME);
        }
        if (!(inside < 1.1 * at_ends)) fail_msg("inside %.2e, at ends %.2e", inside, at_ends);
        kd_integrator_destroy(b);
        drop(&s);
    }
}

// Multipliers have no derivative at a start; inside the first steps they are right all the same.
static void multipliers_after_a_start(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_GGL, KD_INDEX2, KD_INDEX1};
    for (int f = 0; f < 3; f++) {
        swing                 s = make_cartesian(forms[f]);
        kd_integrator_options o = with_tolerance(1e-7);
        kd_integrator        *b = create(s.dae, &o);
        double                x[MOST], lambda;
        kd_pendulum_exact(GRAVITY, false, SPEED, 0.3, s.start, s.start + 2, s.start + 4); // lambda' is not 0 there
        assert_int_equal(kd_integrator_start(b, 0.3, s.start), KD_OK);
        for (int k = 0; k < 20; k++) {
            assert_int_equal(kd_integrator_step(b, 2), KD_OK);
            double t0 = kd_integrator_time_old(b), t1 = kd_integrator_time(b);
            for (int i = 0; i < 4; i++) {
                double t = t0 + 0.25 * i * (t1 - t0);
                assert_int_equal(kd_integrator_dense(b, t, x), KD_OK);
                kd_pendulum_exact(GRAVITY, false, SPEED, t, NULL, NULL, &lambda);
                if (!(fabs(x[4] - lambda) < 1e-3 * lambda))
                    fail_msg("%s, step %d: %g, not %g", s.dae->methods->name, k, x[4], lambda);
            }
        }
        kd_integrator_destroy(b);
        drop(&s);
    }
}

// Order of the dense output with fixed steps of order 4 and 5, in the middle of steps: 4 at least.
static void order_of_dense_output(void **state)
{
    (void)state;
    for (int k = 4; k <= 5; k++) {
        double error[2];
        for (int half = 0; half < 2; half++) {
            swing                 s = make_cartesian(KD_GGL);
            kd_integrator_options o = with_tolerance(1e-12);
            double                x[MOST], p, v;
            o.bdf.order_fixed = k;
            o.h_fixed = 1.0 / (150 << half);
            kd_integrator *b = create(s.dae, &o);
            assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
            run(b, 1);
            double t = 0.5 * (kd_integrator_time_old(b) + kd_integrator_time(b));
            assert_int_equal(kd_integrator_dense(b, t, x), KD_OK);
            measure(false, t, x, &p, &v);
            error[half] = fmax(p, v);
            kd_integrator_destroy(b);
            drop(&s);
        }
        double order = log2(error[0] / error[1]);
        if (!(order > k - 0.3)) fail_msg("order %.2f with k = %d", order, k);
    }
}

// ---- moved points ---------------------------------------------------------------------------------------------------

// A formulation that drifts and projects: the circle x0^2 + x1^2 = 1 with angular speed 3
static kd_eval circle_residual(double t, const double *x, const double *xdot, double *F)
{
    (void)t;
    F[0] = xdot[0] + 3 * x[1];
    F[1] = xdot[1] - 3 * x[0];
    return KD_EVAL_OK;
}
static void circle_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[1] = -3, F_x[2] = 3;
    F_xdot[0] = F_xdot[3] = 1;
}
static void circle_solution(double t, double *x)
{
    x[0] = cos(3 * t);
    x[1] = sin(3 * t);
}
static const dense_problem circle = {"circle", 2, 2, circle_residual, circle_derivatives, circle_solution};

static kd_eval circle_project(void *impl, double t, double *x, bool *moved)
{
    dense_dae *d = impl;
    double     r = hypot(x[0], x[1]);
    (void)t;
    *moved = true;
    x[0] /= r;
    x[1] /= r;
    d->counters.projections++;
    if (t <= d->beyond) return KD_EVAL_OK;
    d->status = KD_ERR_SINGULAR_MASS;
    return KD_EVAL_RETRY;
}

// Projection after every step keeps the invariant to rounding and the order of the method.
static void projection_keeps_the_order(void **state)
{
    (void)state;
    for (int k = 1; k <= 5; k++) {
        double error[2], drift[2];
        int    n = k == 1 ? 1000 : k < 4 ? 200 : 80;
        for (int half = 0; half < 2; half++) {
            dense_dae             d;
            double                x[2], exact[2];
            kd_integrator_options o = with_tolerance(1e-12);
            dense_make(&d, &circle);
            d.methods.project = circle_project;
            o.bdf.order_fixed = k;
            o.h_fixed = 1.0 / (n << half);
            kd_integrator *b = create(&d.dae, &o);
            circle.solution(0, x);
            assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
            run(b, 1);
            circle.solution(1, exact);
            memcpy(x, kd_integrator_x(b), sizeof x);
            error[half] = hypot(x[0] - exact[0], x[1] - exact[1]);
            drift[half] = fabs(hypot(x[0], x[1]) - 1);
            assert_true(kd_integrator_stats(b).projections >= n << half);
            kd_integrator_destroy(b);
        }
        double order = log2(error[0] / error[1]);
        if (!(order > k - 0.25)) fail_msg("order %.2f instead of %d (%.2e, %.2e)", order, k, error[0], error[1]);
        assert_true(fmax(drift[0], drift[1]) < 1e-14);
    }
}

// With variable steps projection costs no steps; a projection that fails makes the step shorter.
static void projection_with_variable_steps(void **state)
{
    (void)state;
    long steps[2];
    for (int projected = 0; projected < 2; projected++) {
        dense_dae             d;
        double                x[2];
        kd_integrator_options o = with_tolerance(1e-6);
        dense_make(&d, &circle);
        if (projected) d.methods.project = circle_project;
        kd_integrator *b = create(&d.dae, &o);
        circle.solution(0, x);
        assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
        run(b, 5);
        steps[projected] = kd_integrator_stats(b).accepted;
        d.beyond = 6;
        if (projected) {
            kd_status status = KD_OK;
            while (status == KD_OK) status = kd_integrator_step(b, 7);
            assert_int_equal(status, KD_ERR_SINGULAR_MASS);
            assert_true(kd_integrator_time(b) <= 6 && kd_integrator_time(b) > 5.99);
        }
        kd_integrator_destroy(b);
    }
    assert_true((double)steps[1] < 1.1 * (double)steps[0]);
}

// ---- observers ------------------------------------------------------------------------------------------------------

typedef struct heard {
    long   attempts[4], matrices[4];
    int    most_order;
    double t_end, shares;
    bool   wrong;
} heard;

static void listen(const kd_attempt_report *r, void *context)
{
    heard *h = context;
    h->attempts[r->outcome]++;
    h->matrices[r->matrix]++;
    if (r->order > h->most_order) h->most_order = r->order;
    if (r->outcome == KD_ATTEMPT_ACCEPTED) h->t_end = r->t + r->h;
    double sum = 0;
    for (int i = 0; r->share && i < 2; i++) sum += r->share[i];
    if (r->share && fabs(sum - 1) > 1e-12) h->wrong = true;
    if (r->outcome == KD_ATTEMPT_ERROR && (!r->share || !(r->error > 1))) h->wrong = true;
    if (r->outcome == KD_ATTEMPT_ACCEPTED && !(r->error <= 1)) h->wrong = true;
    if (r->iterations < 1 || !(r->h > 0)) h->wrong = true;
}

// Every attempt is reported, with shares that add up to 1.
static void observers(void **state)
{
    (void)state;
    dense_dae             d;
    double                x[2];
    heard                 h = {0};
    kd_integrator_options o = with_tolerance(1e-6);
    dense_make(&d, &waves);
    d.dae.observe = listen;
    d.dae.observer = &h;
    kd_integrator *b = create(&d.dae, &o);
    waves.solution(0, x);
    assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
    run(b, 3);
    d.beyond = 3.1; // from here on it refuses
    d.beyond_answer = KD_EVAL_RETRY;
    kd_status status = KD_OK;
    while (status == KD_OK) status = kd_integrator_step(b, 4);
    kd_stats stats = kd_integrator_stats(b);
    assert_false(h.wrong);
    assert_int_equal(h.attempts[KD_ATTEMPT_ACCEPTED], stats.accepted);
    assert_int_equal(h.attempts[KD_ATTEMPT_ERROR], stats.rejected_error);
    assert_true(stats.rejected_error > 0);
    assert_int_equal(h.attempts[KD_ATTEMPT_NEWTON] + h.attempts[KD_ATTEMPT_EVALUATE], stats.rejected_newton);
    assert_true(h.attempts[KD_ATTEMPT_EVALUATE] > 10);
    assert_true(h.matrices[KD_MATRIX_KEPT] > h.matrices[KD_MATRIX_EVALUATED] && h.matrices[KD_MATRIX_EVALUATED] > 0);
    assert_int_equal(h.most_order, 5);
    kd_integrator_destroy(b);
}

// ---- memory, options ------------------------------------------------------------------------------------------------

// Steps, dense output and restarts do not allocate; a creation that runs out of memory leaves nothing behind.
static void memory(void **state)
{
    (void)state;
    failing_allocator f = {0};
    swing             s = make_cartesian(KD_GGL);
    kd_integrator    *b;
    double            x[MOST];
    failing_allocator_use(&f);
    assert_int_equal(kd_integrator_create(s.dae, KD_BDF, NULL, &b, NULL, 0), KD_OK);
    long calls = f.calls;
    assert_int_equal(kd_integrator_start(b, 0, s.start), KD_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(kd_integrator_step(b, 10), KD_OK);
        assert_int_equal(kd_integrator_dense(b, 0.5 * (kd_integrator_time(b) + kd_integrator_time_old(b)), x), KD_OK);
    }
    assert_int_equal(kd_integrator_restart(b, 0, s.start, KD_RESTART_SAME_ROWS), KD_OK);
    assert_int_equal(kd_integrator_step(b, 10), KD_OK);
    assert_int_equal(f.calls, calls);
    kd_integrator_destroy(b);
    assert_int_equal(f.live, 0);
    for (long at = 1; at <= calls; at++) {
        char message[200];
        f = (failing_allocator){.fail_at = at};
        assert_int_equal(kd_integrator_create(s.dae, KD_BDF, NULL, &b, message, sizeof message), KD_ERR_MEMORY);
        assert_null(b);
        assert_int_equal(f.live, 0);
        assert_true(strlen(message) > 5);
    }
    kd_set_allocator(NULL);
    drop(&s);
}

// Options out of range are refused with their name.
static void options_are_validated(void **state)
{
    (void)state;
    dense_dae d;
    dense_make(&d, &waves);
    const double nan_each[2] = {1e-6, NAN};
    struct {
        kd_integrator_options o;
        kd_status             status;
        const char           *word;
    } wrong[16];
    int n = 0;
#define WRONG(field, value, s, w)                                                                                      \
    do {                                                                                                               \
        wrong[n].o = kd_integrator_options_default();                                                                  \
        wrong[n].o.field = (value);                                                                                    \
        wrong[n].status = (s);                                                                                         \
        wrong[n++].word = (w);                                                                                         \
    } while (0)
    WRONG(rtol, -1, KD_ERR_TOLERANCE, "rtol");
    WRONG(rtol, NAN, KD_ERR_TOLERANCE, "rtol");
    WRONG(atol, 0, KD_ERR_TOLERANCE, "atol");
    WRONG(atol, INFINITY, KD_ERR_TOLERANCE, "atol");
    WRONG(rtol_each, nan_each, KD_ERR_TOLERANCE, "component 1");
    WRONG(h_first, -1, KD_ERR_ARGUMENT, "h_first");
    WRONG(h_max, NAN, KD_ERR_ARGUMENT, "h_max");
    WRONG(h_fixed, -1, KD_ERR_ARGUMENT, "h_fixed");
    WRONG(bdf.order_max, 6, KD_ERR_ARGUMENT, "order_max");
    WRONG(bdf.order_max, 0, KD_ERR_ARGUMENT, "order_max");
    WRONG(bdf.order_fixed, 6, KD_ERR_ARGUMENT, "order_fixed");
    WRONG(max_steps, 0, KD_ERR_ARGUMENT, "max_steps");
    WRONG(bdf.max_newton, 1, KD_ERR_ARGUMENT, "max_newton");
    WRONG(bdf.newton_stop, -1, KD_ERR_ARGUMENT, "newton_stop");
    WRONG(bdf.cj_lower, 1.5, KD_ERR_ARGUMENT, "cj_lower");
    WRONG(bdf.cj_upper, 0.5, KD_ERR_ARGUMENT, "cj_upper");
#undef WRONG
    for (int i = 0; i < n; i++) {
        kd_integrator *b = (kd_integrator *)&d;
        char           message[300] = "";
        assert_int_equal(kd_integrator_create(&d.dae, KD_BDF, &wrong[i].o, &b, message, sizeof message),
                         wrong[i].status);
        assert_null(b);
        if (!strstr(message, wrong[i].word)) fail_msg("%s: %s", wrong[i].word, message);
    }
    kd_integrator *b;
    assert_int_equal(kd_integrator_create(NULL, KD_BDF, NULL, &b, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_create(&d.dae, KD_BDF, NULL, NULL, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_start(NULL, 0, NULL), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_step(NULL, 0), KD_ERR_ARGUMENT);
    kd_integrator_destroy(NULL);
}

// ---- failures -------------------------------------------------------------------------------------------------------

// Run until it fails
static kd_status run_to_failure(dense_dae *d, kd_integrator *b, double t_end)
{
    double    x[DENSE_MOST];
    kd_status status = KD_OK;
    d->problem->solution(0, x);
    assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
    while (status == KD_OK && kd_integrator_time(b) < t_end) status = kd_integrator_step(b, t_end);
    for (int i = 0; i < d->problem->n; i++) assert_true(isfinite(kd_integrator_x(b)[i]));
    return status;
}

// A solution that blows up: time, component and advice are named.
static void step_becomes_too_small(void **state)
{
    (void)state;
    dense_dae d;
    dense_make(&d, &burst);
    kd_integrator *b = create(&d.dae, NULL);
    assert_int_equal(run_to_failure(&d, b, 2), KD_ERR_STEP_TOO_SMALL);
    assert_true(kd_integrator_time(b) > 0.99 && kd_integrator_time(b) < 1.001);
    assert_non_null(strstr(kd_integrator_message(b), "at t = "));
    assert_non_null(strstr(kd_integrator_message(b), "x[0] of the test"));
    assert_non_null(strstr(kd_integrator_message(b), "discontinuity"));
    kd_integrator_destroy(b);
}

// A function that refuses beyond a time is approached to rounding, and its reason is told.
static void function_refuses(void **state)
{
    (void)state;
    dense_dae d;
    dense_make(&d, &waves);
    d.beyond = 0.7;
    d.beyond_answer = KD_EVAL_RETRY;
    kd_integrator *b = create(&d.dae, NULL);
    assert_int_equal(run_to_failure(&d, b, 1), KD_ERR_NOT_FINITE);
    assert_true(kd_integrator_time(b) <= 0.7 && kd_integrator_time(b) > 0.7 - 1e-9);
    assert_non_null(strstr(kd_integrator_message(b), "the reason of the test"));
    d.beyond_answer = KD_EVAL_STOP;
    assert_int_equal(run_to_failure(&d, b, 1), KD_ERR_CALLBACK_STOP);
    kd_integrator_destroy(b);
}

// What fails in steps of the size of rounding does not hide why they became so short.
static void first_reason_counts(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++) {
        dense_dae d;
        dense_make(&d, &waves);
        d.beyond = 0.3 + 0.17 * k;
        d.beyond_answer = KD_EVAL_RETRY;
        d.other_reason = true;
        kd_integrator *b = create(&d.dae, NULL);
        assert_int_equal(run_to_failure(&d, b, 2), KD_ERR_NOT_FINITE);
        assert_int_equal(d.status, KD_ERR_SINGULAR_MASS); // the last one
        kd_integrator_destroy(b);
    }
}

// Residuals that are not numbers do not get into the state.
static void not_a_number(void **state)
{
    (void)state;
    dense_dae d;
    dense_make(&d, &waves);
    d.beyond = 0.7;
    d.not_a_number = true;
    kd_integrator *b = create(&d.dae, NULL);
    assert_int_equal(run_to_failure(&d, b, 1), KD_ERR_STEP_TOO_SMALL);
    assert_true(kd_integrator_time(b) <= 0.7);
    kd_integrator_destroy(b);
}

// A matrix that stays singular.
static void singular_matrix(void **state)
{
    (void)state;
    dense_dae d;
    dense_make(&d, &waves);
    d.singular = true;
    kd_integrator *b = create(&d.dae, NULL);
    assert_int_equal(run_to_failure(&d, b, 1), KD_ERR_DECOMPOSITION);
    assert_int_equal(kd_integrator_stats(b).steps, 10);
    assert_non_null(strstr(kd_integrator_message(b), "the reason of the test"));
    kd_integrator_destroy(b);
}

// Matrices that the formulation does not have so far ahead, behind a singular position: shorter steps are tried.
static kd_status short_sighted(void *impl, double t, const double *x, const double *xdot, bool restart)
{
    dense_dae *d = impl;
    return d->dae.h > 1e-4 ? (d->status = KD_ERR_RANK_CHANGE) : dense_linearize(impl, t, x, xdot, restart);
}
static void matrix_is_not_to_be_had(void **state)
{
    (void)state;
    dense_dae             d;
    kd_integrator_options o = with_tolerance(1e-6);
    double                x[2];
    dense_make(&d, &waves);
    d.methods.linearize = short_sighted;
    o.h_first = 0.01;
    kd_integrator *b = create(&d.dae, &o);
    waves.solution(0, x);
    assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
    run(b, 0.01);
    assert_true(kd_integrator_stats(b).rejected_newton > 0);
    waves.solution(0.01, x);
    assert_true(fabs(kd_integrator_x(b)[0] - x[0]) < 1e-5);
    kd_integrator_destroy(b);
}

// A step of fixed size that cannot be made says so.
static void fixed_step_fails(void **state)
{
    (void)state;
    dense_dae             d;
    kd_integrator_options o = with_tolerance(1e-8);
    dense_make(&d, &stiff);
    o.h_fixed = 0.05;
    o.bdf.order_fixed = 2;
    kd_integrator *b = create(&d.dae, &o);
    double         x[2];
    stiff.solution(0, x);
    assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
    run(b, 0.5);
    d.spoil = -0.3;
    d.beyond = 0.6;
    d.not_a_number = true;
    kd_status status = KD_OK;
    while (status == KD_OK) status = kd_integrator_step(b, 1);
    assert_int_equal(status, KD_ERR_NEWTON);
    assert_non_null(strstr(kd_integrator_message(b), "h_fixed"));
    kd_integrator_destroy(b);
}

// Cheap updates replace evaluations when the step size changes.
static void updates_are_used(void **state)
{
    (void)state;
    long jacobians[2];
    for (int cheap = 0; cheap < 2; cheap++) {
        dense_dae             d;
        double                x[2], exact[2];
        kd_integrator_options o = with_tolerance(1e-6);
        dense_make(&d, &index1);
        if (cheap) d.methods.update = dense_update;
        kd_integrator *b = create(&d.dae, &o);
        index1.solution(0, x);
        assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
        run(b, 2);
        index1.solution(2, exact);
        for (int i = 0; i < 2; i++) assert_close(kd_integrator_x(b)[i], exact[i], 1e-4);
        kd_stats stats = kd_integrator_stats(b);
        jacobians[cheap] = stats.jacobians;
        assert_int_equal(stats.updates > 0, cheap);
        if (cheap) assert_int_equal(stats.decompositions, stats.jacobians + stats.updates);
        kd_integrator_destroy(b);
    }
    assert_true(jacobians[0] > 0 && jacobians[1] <= jacobians[0]);
}

// A step that an instant cuts short says nothing against the length that was proposed: the next one is as long as those
// before. Steps that grow from a hundredth again would need half a dozen.
static void short_steps_are_no_brake(void **state)
{
    (void)state;
    for (int k = 0; k < 5; k++) {
        kd_integrator_options o = with_tolerance(pow(10, -4 - k));
        dense_dae             d;
        double                x[2], before = 0;
        dense_make(&d, &stiff);
        kd_integrator *b = create(&d.dae, &o);
        stiff.solution(0, x);
        assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
        while (kd_integrator_time(b) < 1) assert_int_equal(kd_integrator_step(b, 100), KD_OK);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(kd_integrator_step(b, 100), KD_OK);
            before = kd_integrator_time(b) - kd_integrator_time_old(b);
            assert_int_equal(kd_integrator_step(b, kd_integrator_time(b) + 0.01 * before), KD_OK);
            assert_int_equal(kd_integrator_step(b, 100), KD_OK);
            const double after = kd_integrator_time(b) - kd_integrator_time_old(b);
            if (!(after > 0.5 * before)) fail_msg("tolerance %g: %g after %g", o.rtol, after, before);
        }
        kd_integrator_destroy(b);
    }
}

static kd_eval wanted_answer;
static kd_eval relabel_refuses(void *impl, double t, double *x, bool *changed)
{
    (void)impl, (void)t, (void)x, (void)changed;
    return wanted_answer;
}
static kd_eval waves_rhs(void *impl, double t, const double *x, double *xdot)
{
    const double zero[2] = {0};
    kd_eval      answer = dense_residual(impl, t, x, zero, xdot);
    for (int i = 0; i < 2; i++) xdot[i] = -xdot[i];
    return answer;
}

// A form that cannot look at its coordinates and has no status for that ends the run with what it answered.
static void refused_coordinates_have_a_status(void **state)
{
    (void)state;
    const kd_eval   answer[] = {KD_EVAL_STOP, KD_EVAL_RETRY};
    const kd_status expected[] = {KD_ERR_CALLBACK_STOP, KD_ERR_RETRY_FAILED};
    for (int k = 0; k < 2; k++) {
        dense_dae             d;
        double                x[2];
        kd_integrator_options o = with_tolerance(1e-6);
        dense_make(&d, &waves);
        d.methods.relabel = relabel_refuses;
        d.methods.rhs = waves_rhs;
        wanted_answer = answer[k];
        kd_integrator *b = create(&d.dae, &o);
        waves.solution(0, x);
        assert_int_equal(kd_integrator_start(b, 0, x), KD_OK);
        kd_status status = KD_OK;
        for (int i = 0; status == KD_OK && i < 3; i++) status = kd_integrator_step(b, 1);
        assert_int_equal(status, expected[k]);
        kd_integrator_destroy(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_one_to_five),
        cmocka_unit_test(refused_coordinates_have_a_status),
        cmocka_unit_test(fixed_order_with_variable_steps),
        cmocka_unit_test(order_max),
        cmocka_unit_test(error_follows_the_tolerance),
        cmocka_unit_test(stiff_equation),
        cmocka_unit_test(own_rules_are_cheaper),
        cmocka_unit_test(coarse_iteration),
        cmocka_unit_test(tolerances_of_components),
        cmocka_unit_test(restarts),
        cmocka_unit_test(quick_start),
        cmocka_unit_test(ends_on_the_way),
        cmocka_unit_test(end_times),
        cmocka_unit_test(short_steps_are_no_brake),
        cmocka_unit_test(first_and_largest_step),
        cmocka_unit_test(dense_output),
        cmocka_unit_test(multipliers_after_a_start),
        cmocka_unit_test(order_of_dense_output),
        cmocka_unit_test(projection_keeps_the_order),
        cmocka_unit_test(projection_with_variable_steps),
        cmocka_unit_test(observers),
        cmocka_unit_test(memory),
        cmocka_unit_test(options_are_validated),
        cmocka_unit_test(step_becomes_too_small),
        cmocka_unit_test(function_refuses),
        cmocka_unit_test(first_reason_counts),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(singular_matrix),
        cmocka_unit_test(matrix_is_not_to_be_had),
        cmocka_unit_test(fixed_step_fails),
        cmocka_unit_test(updates_are_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
