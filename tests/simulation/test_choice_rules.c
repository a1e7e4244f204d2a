// The rules of the choice of a method along a motion, step by step, as docs/methods/choice.md has them: which lengths of steps
// lead to a change, after how many, and which do not.
//
// One mass on a spring, x'' = -k x: rho is known, and k may become another one between two steps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "simulation/choice.h"

enum { BLOCK = 8, BLOCKS = 3 };

typedef struct fixture {
    double       k;
    int          block; // entries in a column of M
    kd_eom      *eom;
    kd_eom_data *point;
    kd_state    *x;
    kd_choice   *choice;
} fixture;

// blocks of 1 + 0.1 (1 1')
static kd_eval mass(const kd_point *x, void *context, double *M)
{
    const fixture *f = context;
    const int      n = f->block == 1 ? 1 : BLOCK * BLOCKS;
    (void)x;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (i / f->block == j / f->block) M[i + n * j] = (i == j) + (f->block > 1 ? 0.1 : 0);
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    const fixture *f = context;
    const int      n = f->block == 1 ? 1 : BLOCK * BLOCKS;
    for (int i = 0; i < n; i++) out[i] = -f->k * x->p[i];
    return KD_EVAL_OK;
}

static kd_eval constraint(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0] - x->p[1];
    return KD_EVAL_OK;
}

static void open_fixture(fixture *f, double rtol, int block)
{
    kd_eom_def            def = kd_eom_def_default();
    kd_simulation_options opt = kd_simulation_options_default();
    const int             n = block == 1 ? 1 : BLOCK * BLOCKS;
    *f = (fixture){.k = 1e4, .block = block};
    opt.rtol = opt.atol = rtol;
    def.dims = (kd_dims){.np = n, .nv = n, .nlambda = block > 1};
    def.context = f;
    def.M = mass, def.f = force;
    if (block > 1) def.g = constraint;
    assert_int_equal(kd_eom_create(&def, &f->eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f->eom, &f->x), KD_OK);
    assert_int_equal(kd_eom_data_create(f->eom, &f->point), KD_OK);
    assert_int_equal(kd_choice_create(f->point, NULL, f->x, &opt, &f->choice), KD_OK);
    assert_true(kd_choice_may_change(f->choice) && !kd_choice_starts_stiff(f->choice));
    kd_choice_begin(f->choice, false);
}

static void close_fixture(fixture *f)
{
    kd_choice_destroy(f->choice);
    kd_eom_data_destroy(f->point);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

// Steps of this length until a change; 0: there is none in `most`
static int changes_after(fixture *f, double h, int most)
{
    for (int i = 1; i <= most; i++)
        if (kd_choice_look(f->choice, f->x, h, false)) return i;
    return 0;
}

// Five steps with h rho > 3.5, or twenty beyond 2.5 (9! rtol)^(1/9); none beyond 12, and none where others lie between.
static void steps_near_the_border_of_stability(void **state)
{
    static const struct {
        double rtol, reach;
        int    steps;
    } rows[] = {{1e-6, 2.1, 0}, {1e-6, 2.4, 20}, {1e-6, 3.3, 20},  {1e-6, 3.7, 5}, {1e-6, 11, 5},
                {1e-6, 13, 0},  {1e-9, 0.95, 0}, {1e-9, 1.15, 20}, {1e-3, 3.3, 0}, {1e-3, 3.7, 5}};
    fixture f;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_fixture(&f, rows[i].rtol, 1);
        const int found = changes_after(&f, rows[i].reach / kd_choice_radius(f.choice), 200);
        if (found != rows[i].steps) fail_msg("rtol %g, h rho %g: %d steps", rows[i].rtol, rows[i].reach, found);
        close_fixture(&f);
    }
    open_fixture(&f, 1e-6, 1);
    const double rho = kd_choice_radius(f.choice);
    for (int i = 0; i < 200; i++)
        assert_false(kd_choice_look(f.choice, f.x, (i % 2 == 0 ? 4 : 1) / rho, false) ||
                     kd_choice_look(f.choice, f.x, 1 / rho, false));
    close_fixture(&f);
}

// rho is found anew after 25 steps, and before a change: stiffness that came is seen, one that has gone is not believed.
static void stiffness_that_comes_and_goes(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, 1e-6, 1);
    const double h = 1 / kd_choice_radius(f.choice);
    f.k *= 36; // h rho 6
    const int found = changes_after(&f, h, 200);
    if (found < 25 || found > 31) fail_msg("%d steps", found);
    close_fixture(&f);
    open_fixture(&f, 1e-6, 1);
    assert_int_equal(changes_after(&f, 6 * h, 4), 0);
    f.k /= 400;
    assert_int_equal(changes_after(&f, 6 * h, 200), 0);
    close_fixture(&f);
}

// Explicit steps of h with h rho = 6 are left
static void leave_explicit(fixture *f, double *h)
{
    open_fixture(f, 1e-6, 1);
    *h = 6 / kd_choice_radius(f->choice);
    assert_int_equal(changes_after(f, *h, 200), 5);
    kd_choice_begin(f->choice, true);
}

// Implicit steps below 0.9 R of the explicit ones have not paid, which the first look sees; longer ones have, as do shorter ones
// where rho has grown meanwhile. Who comes back needs four times as many steps near the border the next time.
static void changes_that_do_not_pay(void **state)
{
    fixture f;
    double  h;
    (void)state;
    leave_explicit(&f, &h);
    assert_int_equal(changes_after(&f, 0.88 * h, 200), 8);
    kd_choice_begin(f.choice, false);
    assert_int_equal(changes_after(&f, h, 200), 20);
    close_fixture(&f);
    leave_explicit(&f, &h);
    assert_int_equal(changes_after(&f, 0.95 * h, 200), 0);
    close_fixture(&f);
    const double lengths[] = {0.6, 0.435};
    for (int i = 0; i < 2; i++) {
        leave_explicit(&f, &h);
        f.k *= 4;
        assert_int_equal(changes_after(&f, lengths[i] * h, 200), i == 0 ? 0 : 8);
        close_fixture(&f);
    }
}

// Steps with h rho < 5 R are left to the explicit method, which is looked at after 8 steps, 16 more, 32 more; not as long as they
// grow, and not where rho was larger at the look before.
static void implicit_steps_are_judged(void **state)
{
    fixture f;
    (void)state;
    for (int kept = 0; kept < 4; kept++) {
        // that many pauses with longer steps
        const int before = kept == 0 ? 0 : (8 << kept) - 8;
        open_fixture(&f, 1e-6, 1);
        kd_choice_begin(f.choice, true);
        const double h = 1 / kd_choice_radius(f.choice);
        assert_int_equal(changes_after(&f, 5.5 * h, before), 0);
        assert_int_equal(changes_after(&f, 4.5 * h, 200), 8 << kept);
        close_fixture(&f);
    }
    // the eighth step is 1.33 times the mean of the last four
    open_fixture(&f, 1e-6, 1);
    kd_choice_begin(f.choice, true);
    const double h = 1 / kd_choice_radius(f.choice);
    assert_int_equal(changes_after(&f, 2 * h, 7), 0);
    assert_int_equal(changes_after(&f, 3 * h, 200), 9);
    close_fixture(&f);
    // rho falls before the first look
    open_fixture(&f, 1e-6, 1);
    kd_choice_begin(f.choice, true);
    f.k /= 100;
    assert_int_equal(changes_after(&f, 6 * h, 200), 24);
    close_fixture(&f);
}

// bdf with sparse matrices, R = (0.35 + (e / 165)^2) / (1 + e / 8) with e = 8 entries in a column of M: at rtol 1e-4 errors make its
// steps dearer by Q = (9! 30 rtol)^(1/9) / (13.7 rtol)^(1/6), R Q = 1.15, so that a change is worth a look at the border only.
static void errors_count_as_costs(void **state)
{
    fixture f;
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_fixture(&f, 1e-4, BLOCK);
        assert_int_equal(kd_choice_method(f.choice, true).integrator, KD_BDF);
        const double R = (0.35 + pow(8.0 / 165, 2)) / 2;
        assert_true(fabs(kd_choice_cost(f.choice) - R) < 1e-12);
        assert_int_equal(changes_after(&f, (i == 0 ? 3.3 : 3.7) / kd_choice_radius(f.choice), 200), i == 0 ? 0 : 5);
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_near_the_border_of_stability),
        cmocka_unit_test(stiffness_that_comes_and_goes),
        cmocka_unit_test(changes_that_do_not_pay),
        cmocka_unit_test(implicit_steps_are_judged),
        cmocka_unit_test(errors_count_as_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
