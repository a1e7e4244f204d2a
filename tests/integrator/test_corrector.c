// The corrector iteration: the rules of its matrix line by line, the factor c, updates, refusals, on small DAEs.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "integrator/corrector.h"
#include "integrator/dense_dae.h"

static const kd_corrector_options own = {.max_newton = 4, .stop = 1e-9, .cj_lower = 0.6, .cj_upper = 1.667};
static const kd_corrector_options dassl = {
    .max_newton = 4, .stop = 1e-9, .cj_lower = 0.6, .cj_upper = 1.667, .dassl_rules = true};

// ---- rules ----------------------------------------------------------------------------------------------------------

// The table of docs/methods/bdf.md.
static void rules_line_by_line(void **state)
{
    (void)state;
    const struct {
        const char      *what;
        kd_matrix_state  s;
        kd_matrix_action own, dassl;
    } line[] = {
        {"nothing there", {.scales = true}, KD_MATRIX_EVALUATE, KD_MATRIX_EVALUATE},
        {"restart with good derivatives", {.exists = true, .scales = true}, KD_MATRIX_FACTOR, KD_MATRIX_EVALUATE},
        {"same cj", {.exists = true, .scales = true, .ratio = 1}, KD_MATRIX_KEEP, KD_MATRIX_KEEP},
        {"cj within bounds", {.exists = true, .scales = true, .ratio = 1.5}, KD_MATRIX_KEEP, KD_MATRIX_KEEP},
        {"cj within bounds, rows unknown", {.exists = true, .ratio = 1.5}, KD_MATRIX_FACTOR, KD_MATRIX_FACTOR},
        {"same cj, rows unknown", {.exists = true, .ratio = 1}, KD_MATRIX_KEEP, KD_MATRIX_KEEP},
        {"cj too small", {.exists = true, .scales = true, .ratio = 0.5}, KD_MATRIX_FACTOR, KD_MATRIX_EVALUATE},
        {"cj too large", {.exists = true, .scales = true, .ratio = 1.7}, KD_MATRIX_FACTOR, KD_MATRIX_EVALUATE},
        {"cj too large again and again",
         {.exists = true, .scales = true, .has_update = true, .shrunk = 3, .ratio = 1.7},
         KD_MATRIX_EVALUATE,
         KD_MATRIX_EVALUATE},
        {"cj too small after that", {.exists = true, .shrunk = 3, .ratio = 0.5}, KD_MATRIX_FACTOR, KD_MATRIX_EVALUATE},
        {"cj far too small for the derivatives",
         {.exists = true, .scales = true, .has_update = true, .outgrown = true, .ratio = 0.5},
         KD_MATRIX_EVALUATE,
         KD_MATRIX_EVALUATE},
        {"restart with derivatives of far shorter steps",
         {.exists = true, .scales = true, .outgrown = true},
         KD_MATRIX_EVALUATE,
         KD_MATRIX_EVALUATE},
        {"far shorter steps, but factors that serve",
         {.exists = true, .scales = true, .outgrown = true, .ratio = 0.8},
         KD_MATRIX_KEEP,
         KD_MATRIX_KEEP},
        {"cj too large, with update",
         {.exists = true, .scales = true, .has_update = true, .ratio = 1.7},
         KD_MATRIX_UPDATE,
         KD_MATRIX_EVALUATE},
        {"cj stays and costs iterations",
         {.exists = true, .scales = true, .spent = 8, .ratio = 1.2},
         KD_MATRIX_FACTOR,
         KD_MATRIX_KEEP},
        {"the same with update",
         {.exists = true, .scales = true, .has_update = true, .spent = 8, .ratio = 1.2},
         KD_MATRIX_UPDATE,
         KD_MATRIX_KEEP},
        {"not enough of them",
         {.exists = true, .scales = true, .has_update = true, .spent = 7, .ratio = 1.2},
         KD_MATRIX_KEEP,
         KD_MATRIX_KEEP},
        {"iterations with factors of this cj",
         {.exists = true, .scales = true, .has_update = true, .spent = 100, .ratio = 1},
         KD_MATRIX_KEEP,
         KD_MATRIX_KEEP},
        {"slow, old", {.exists = true, .failed = true, .ratio = 1}, KD_MATRIX_EVALUATE, KD_MATRIX_EVALUATE},
        {"slow, old, cj changed, with update",
         {.exists = true, .failed = true, .has_update = true, .ratio = 1.2},
         KD_MATRIX_UPDATE,
         KD_MATRIX_EVALUATE},
        {"slow, old, same cj, with update",
         {.exists = true, .failed = true, .has_update = true, .ratio = 1},
         KD_MATRIX_EVALUATE,
         KD_MATRIX_EVALUATE},
        {"slow, updated now",
         {.exists = true, .failed = true, .has_update = true, .renewed = true, .ratio = 1},
         KD_MATRIX_EVALUATE,
         KD_MATRIX_EVALUATE},
        {"slow, evaluated now",
         {.exists = true, .failed = true, .has_update = true, .renewed = true, .fresh = true, .ratio = 1},
         KD_MATRIX_GIVE_UP,
         KD_MATRIX_GIVE_UP},
    };
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        kd_matrix_action a = kd_corrector_decide(&own, &line[i].s), b = kd_corrector_decide(&dassl, &line[i].s);
        if (a != line[i].own || b != line[i].dassl) fail_msg("%s: %d, %d", line[i].what, (int)a, (int)b);
    }
}

// ---- iteration ------------------------------------------------------------------------------------------------------

typedef struct fixture {
    dense_dae    d;
    kd_arena     arena;
    kd_corrector c;
    double       weight[DENSE_MOST], x[DENSE_MOST], xdot[DENSE_MOST];
} fixture;

static void make(fixture *f, const dense_problem *problem, const kd_corrector_options *opt)
{
    *f = (fixture){0};
    dense_make(&f->d, problem);
    kd_corrector_cut(&f->c, &f->arena, &f->d.dae, opt);
    assert_false(f->arena.failed);
    for (int i = 0; i < problem->n; i++) f->weight[i] = 1;
    f->c.weight = f->weight;
    kd_corrector_start(&f->c, false);
}

static void drop(fixture *f)
{
    kd_arena_release(&f->arena);
}

// Solve near the solution at t with x' = its derivative there; x is what comes out.
static kd_status solve_at(fixture *f, double t, double cj)
{
    double later[DENSE_MOST];
    f->d.problem->solution(t, f->x);
    f->d.problem->solution(t + 1e-6, later);
    for (int i = 0; i < f->d.problem->n; i++) {
        f->xdot[i] = (later[i] - f->x[i]) / 1e-6 + 0.1; // off
        f->x[i] += 1e-3;
    }
    f->d.nlog = 0;
    return kd_corrector_solve(&f->c, t, 1 / cj, cj, f->x, f->xdot);
}

static double residual(const fixture *f, double t)
{
    double F[DENSE_MOST], most = 0;
    (void)f->d.problem->residual(t, f->x, f->xdot, F);
    for (int i = 0; i < f->d.problem->n; i++) most = fmax(most, fabs(F[i]));
    return most;
}

// The residual vanishes, x' follows x, and the log shows what was done.
static void finds_the_zero(void **state)
{
    (void)state;
    fixture f;
    make(&f, &index1, &own);
    assert_int_equal(solve_at(&f, 0.3, 100), KD_OK);
    assert_true(residual(&f, 0.3) < 1e-9 * 100);
    assert_int_equal(memcmp(f.d.log, "EFr", 3), 0);
    assert_int_equal(f.c.news, KD_MATRIX_EVALUATED);
    assert_true(f.d.gamma == 100 && f.d.dae.gamma == 100 && f.d.dae.h == 0.01);
    assert_int_equal(f.c.iterations, f.d.counters.residuals);
    assert_int_equal(f.d.restarted, 1);
    for (int i = 0; i < 2; i++)
        assert_true(fabs(f.xdot[i] - f.c.xdot_start[i] - 100 * (f.x[i] - f.c.x_start[i])) < 1e-9);
    drop(&f);
}

// The same matrix serves the next step with another cj; outside of the bounds it does not.
static void matrix_is_kept(void **state)
{
    (void)state;
    fixture f;
    make(&f, &index1, &own);
    assert_int_equal(solve_at(&f, 0.3, 100), KD_OK);
    assert_int_equal(solve_at(&f, 0.31, 120), KD_OK);
    assert_true(residual(&f, 0.31) < 1e-9 * 120);
    assert_int_equal(f.c.news, KD_MATRIX_KEPT);
    assert_int_equal(f.d.counters.decompositions, 1);
    assert_int_equal(solve_at(&f, 0.32, 200), KD_OK);
    assert_int_equal(f.c.news, KD_MATRIX_FACTORED);
    assert_int_equal(solve_at(&f, 0.32, 400), KD_OK);
    assert_int_equal(f.c.news, KD_MATRIX_FACTORED);
    assert_int_equal(f.d.counters.jacobians, 1);
    assert_int_equal(solve_at(&f, 0.32, 800), KD_OK);
    assert_int_equal(f.c.news, KD_MATRIX_FACTORED);
    assert_int_equal(solve_at(&f, 0.32, 1600), KD_OK); // the fourth time that the step becomes so much shorter
    assert_int_equal(f.c.news, KD_MATRIX_EVALUATED);
    drop(&f);
}

static kd_eval line_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] + 0.01 * x[0] - cos(t);
    F[1] = x[1] - 2 * t;
    return KD_EVAL_OK;
}
static void line_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[0] = 0.01, F_x[3] = 1, F_xdot[0] = 1;
}
static void line_solution(double t, double *x)
{
    x[0] = sin(t);
    x[1] = 2 * t;
}
static const dense_problem line = {"line", 2, 1, line_residual, line_derivatives, line_solution};

// After cj changed by r = 1.5 one iteration leaves |1 - r| / (1 + r) = 0.2 of differential rows thanks to c, instead of
// 0.5, and nothing of algebraic rows.
static void scaling_of_rows(void **state)
{
    (void)state;
    fixture f;
    make(&f, &line, &dassl); // without secants
    assert_int_equal(solve_at(&f, 0.3, 100), KD_OK);
    // one iteration with the factors of cj = 100
    f.c.opt.stop = 1e9;
    f.c.rate = 0.5;
    f.c.cj_last = 150;
    assert_int_equal(solve_at(&f, 0.3, 150), KD_OK);
    assert_int_equal(f.c.news, KD_MATRIX_KEPT);
    assert_int_equal(f.c.iterations, 1);
    double F[2];
    (void)line_residual(0.3, f.x, f.xdot, F);
    double before = f.c.xdot_start[0] + 0.01 * f.c.x_start[0] - cos(0.3);
    assert_true(fabs(F[0] / before) < 0.21 && fabs(F[0] / before) > 0.19); // (r - 1) / (r + 1); 0.5 without c
    assert_true(fabs(F[1]) < 1e-15);
    drop(&f);
}

// An update comes first when cj left its bounds; if it does not help, all derivatives are evaluated.
static void updates(void **state)
{
    (void)state;
    fixture f;
    make(&f, &index1, &own);
    f.d.methods.update = dense_update;
    assert_int_equal(solve_at(&f, 0.3, 100), KD_OK);
    assert_int_equal(solve_at(&f, 0.3, 300), KD_OK);
    assert_int_equal(memcmp(f.d.log, "UFr", 3), 0);
    assert_int_equal(f.c.news, KD_MATRIX_UPDATED);
    assert_int_equal(f.d.counters.updates, 1);
    memset(f.d.F_x, 0, sizeof f.d.F_x); // derivatives that are no good: singular without them
    f.d.F_x[3] = -5;
    assert_int_equal(solve_at(&f, 0.3, 900), KD_OK);
    f.d.log[f.d.nlog] = '\0';
    assert_int_equal(memcmp(f.d.log, "UFr", 3), 0);
    assert_non_null(strstr(f.d.log, "EF"));
    assert_int_equal(f.c.news, KD_MATRIX_EVALUATED);
    drop(&f);
}

// Derivatives that are wrong even when fresh: the attempt is given up, and the next linearisation may widen its
// pattern.
static void wrong_derivatives(void **state)
{
    (void)state;
    fixture f;
    make(&f, &stiff, &own);
    f.d.spoil = -0.3;
    assert_int_equal(solve_at(&f, 0.3, 100), KD_ERR_NEWTON);
    assert_true(f.d.dae.widen);
    assert_int_equal(f.d.widened, 0);
    f.d.spoil = 1;
    assert_int_equal(solve_at(&f, 0.3, 100), KD_OK);
    assert_int_equal(f.d.log[0], 'E');
    assert_int_equal(f.d.widened, 1);
    assert_int_equal(f.d.restarted, 2);
    assert_false(f.d.dae.widen);
    drop(&f);
}

// x is what is left of a difference of much larger numbers, 50 (1 + x - 1): F has steps of 1e-14, where the matrix of
// its slope helps little. What the tolerance does not see is no slow iteration.
static kd_eval rest_residual(double t, const double *x, const double *xdot, double *F)
{
    volatile double sum = 1 + x[0];
    (void)t;
    F[0] = xdot[0] + 50 * (sum - 1);
    return KD_EVAL_OK;
}
static void rest_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[0] = 50;
    F_xdot[0] = 1;
}
static void rest_solution(double t, double *x)
{
    (void)t;
    x[0] = 0;
}
static const dense_problem rest = {"rest", 1, 1, rest_residual, rest_derivatives, rest_solution};

static void rounding_is_not_slow(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        fixture f;
        make(&f, &rest, k ? &dassl : &own);
        f.x[0] = 0;
        f.xdot[0] = 1e-17;
        assert_int_equal(kd_corrector_solve(&f.c, 0.3, 1, 1, f.x, f.xdot), k ? KD_ERR_NEWTON : KD_OK);
        assert_true(fabs(f.x[0]) < 1e-15);
        drop(&f);
    }
}

// Answers of the functions come through; a residual that is not a number is a failed iteration.
static void refusals(void **state)
{
    (void)state;
    const struct {
        kd_eval   answer;
        bool      nan, singular;
        kd_status status;
    } one[] = {{KD_EVAL_RETRY, false, false, KD_ERR_RETRY_FAILED},
               {KD_EVAL_STOP, false, false, KD_ERR_CALLBACK_STOP},
               {KD_EVAL_OK, true, false, KD_ERR_NEWTON},
               {KD_EVAL_OK, false, true, KD_ERR_DECOMPOSITION}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        fixture f;
        make(&f, &waves, &own);
        f.d.beyond = 0.2;
        f.d.beyond_answer = one[i].answer;
        f.d.not_a_number = one[i].nan;
        f.d.singular = one[i].singular;
        assert_int_equal(solve_at(&f, 0.3, 100), one[i].status);
        f.d.beyond = INFINITY;
        f.d.singular = false;
        assert_int_equal(solve_at(&f, 0.3, 100), KD_OK);
        drop(&f);
    }
}

// A restart that keeps the derivatives factors only.
static void restart_keeps_derivatives(void **state)
{
    (void)state;
    fixture f;
    make(&f, &waves, &own);
    assert_int_equal(solve_at(&f, 0.3, 100), KD_OK);
    kd_corrector_start(&f.c, true);
    assert_int_equal(solve_at(&f, 0.31, 1000), KD_OK);
    assert_int_equal(memcmp(f.d.log, "Fr", 2), 0);
    assert_int_equal(f.c.news, KD_MATRIX_FACTORED);
    kd_corrector_start(&f.c, false);
    assert_int_equal(solve_at(&f, 0.31, 1000), KD_OK);
    assert_int_equal(f.d.log[0], 'E');
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_line_by_line),
        cmocka_unit_test(finds_the_zero),
        cmocka_unit_test(matrix_is_kept),
        cmocka_unit_test(scaling_of_rows),
        cmocka_unit_test(updates),
        cmocka_unit_test(wrong_derivatives),
        cmocka_unit_test(rounding_is_not_slow),
        cmocka_unit_test(refusals),
        cmocka_unit_test(restart_keeps_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
