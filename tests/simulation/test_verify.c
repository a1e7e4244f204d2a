// Accepted steps against the equations of motion: how large a defect may be, what is excused since it moved nothing when
// it was seen first, how that is forgotten, and what is not a number.
//
// Two masses move freely. Behind a step, before it is looked at, the equations become others, so that the defect is
// known: a force A on one mass has h A / m; with A - k (v - v0), k large, it has the same but moves nothing.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "case.h"
#include "simulation/verify.h"
#include "trust/seeded.h"

static const double MARGIN = 0.01; // around limits
static const double ALLOWED = 100; // tolerances of a defect
static const double SPAN = 20;     // steps in the run: each of them has several points

typedef struct masses masses;
struct masses {
    double m, v0[2];
    int    pushed;                            // the mass that the force acts on
    double A, k;                              // of the force
    double (*course)(masses *self, double t); // further acceleration of that mass; NULL: none
    double c, h, tolerance;                   // of the course
    double size, at;                          // of its defect, in what is allowed, at the time that is looked at first
};

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    const masses *s = context;
    (void)x;
    out[0] = out[3] = s->m;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    masses *s = context;
    out[s->pushed] = s->A - s->k * (x->v[s->pushed] - s->v0[s->pushed]);
    if (s->course) out[s->pushed] += s->m * s->course(s, x->t);
    out[1 - s->pushed] = 0;
    return KD_EVAL_OK;
}

typedef struct fixture {
    masses         s;
    double         h, tolerance[2]; // of the velocities
    kd_eom        *eom;
    kd_eom_data   *data;
    kd_state      *x;
    kd_dae        *dae;
    kd_integrator *it;
    kd_verify     *verify;
} fixture;

static void open_fixture(fixture *f, masses s, kd_integrator_kind method, double h)
{
    const kd_inputs       none = {0};
    kd_eom_def            def = kd_eom_def_default();
    kd_simulation_options opt = kd_simulation_options_default();
    double                y[8];
    *f = (fixture){.s = s, .h = h};
    def.dims = (kd_dims){.np = 2, .nv = 2};
    def.context = &f->s;
    def.M = mass, def.f = force;
    opt.formulation = KD_ODE;
    opt.integrator = method;
    opt.integrator_options.rtol = opt.integrator_options.atol = 1e-4;
    opt.integrator_options.h_first = opt.integrator_options.h_max = h;
    assert_int_equal(kd_eom_create(&def, &f->eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f->eom, &f->x), KD_OK);
    for (int i = 0; i < 2; i++) {
        f->x->v[i] = s.v0[i];
        f->tolerance[i] = 1e-4 * (1 + fabs(s.v0[i]));
    }
    assert_int_equal(kd_formulation_create(f->eom, NULL, f->x, KD_ODE, NULL, &f->dae, NULL, 0), KD_OK);
    kd_formulation_pack(f->dae, f->x, y);
    assert_int_equal(kd_integrator_create(f->dae, method, &opt.integrator_options, &f->it, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(f->it, 0, y), KD_OK);
    assert_int_equal(kd_eom_data_create(f->eom, &f->data), KD_OK);
    assert_int_equal(kd_verify_create(f->data, &none, &opt, f->dae, f->it, f->x, &f->verify), KD_OK);
    kd_verify_run(f->verify, SPAN * h);
    kd_verify_restart(f->verify);
}

static void close_fixture(fixture *f)
{
    kd_verify_destroy(f->verify);
    kd_eom_data_destroy(f->data);
    kd_integrator_destroy(f->it);
    kd_dae_destroy(f->dae);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

// A free step, looked at with a force whose defect is `size` tolerances; does it stand?
static bool stands(fixture *f, double size, bool stiff)
{
    kd_step_verdict verdict;
    const long      checked = kd_verify_result(f->verify)->checked;
    f->s.A = f->s.k = 0;
    assert_int_equal(kd_integrator_step(f->it, INFINITY), KD_OK);
    f->s.A = size * f->tolerance[f->s.pushed] * f->s.m / f->h;
    f->s.k = stiff ? 1e9 * f->s.m / f->h : 0;
    assert_int_equal(kd_verify_look(f->verify, false, &verdict), KD_OK);
    assert_int_equal(kd_verify_result(f->verify)->checked, checked + 1);
    return verdict.h >= f->h;
}

static const kd_integrator_kind methods[] = {KD_RADAU, KD_SDIRK, KD_DOPRI5};

static masses random_masses(uint64_t *seed)
{
    return (masses){.m = seeded_log(seed, 0.1, 10), .v0 = {seeded_between(seed, -2, 2), seeded_between(seed, -2, 2)}};
}

// Up to 100 tolerances stand, more do not.
static void defects_have_their_limit(void **state)
{
    uint64_t seed = test_seed(1);
    (void)state;
    for (int k = 0; k < 30; k++) {
        const masses s = random_masses(&seed);
        const double h = seeded_log(&seed, 1e-3, 10);
        for (int i = 0; i < 3; i++) {
            fixture f;
            open_fixture(&f, s, methods[i], h);
            assert_true(stands(&f, ALLOWED * (1 - MARGIN), false));
            assert_false(stands(&f, ALLOWED * (1 + MARGIN), false));
            close_fixture(&f);
        }
    }
}

// A large defect that moves nothing is learned: from then on twice of it is excused, and no more. Where less is seen it
// is forgotten by half from point to point: a stiff past hides nothing.
static void noise_excuses_twice_itself(void **state)
{
    uint64_t seed = test_seed(2);
    (void)state;
    for (int k = 0; k < 30; k++) {
        const masses s = random_masses(&seed);
        const double h = seeded_log(&seed, 1e-3, 10), noise = ALLOWED * seeded_log(&seed, 2, 1e3);
        for (int i = 0; i < 4; i++) {
            fixture f;
            open_fixture(&f, s, methods[i % 2], h);
            assert_true(stands(&f, noise, true));
            if (i < 2) {
                assert_true(stands(&f, (2 * noise + ALLOWED) * (1 - MARGIN), false));
            } else {
                assert_false(stands(&f, (2 * noise + ALLOWED) * (1 + MARGIN), false));
            }
            close_fixture(&f);
            if (i >= 2) continue;
            open_fixture(&f, s, methods[i], h);
            assert_true(stands(&f, noise, true));
            for (int quiet = 0; quiet < 3; quiet++) assert_true(stands(&f, 0, false));
            assert_false(stands(&f, ALLOWED + 0.1 * noise, false));
            close_fixture(&f);
        }
    }
}

// ---- noise that fades -----------------------------------------------------------------------------------------------

static const double TWO_POINTS = 60; // steps in the run: each of them has two points

static void open_with_two_points(fixture *f, masses s, kd_integrator_kind method, double h)
{
    open_fixture(f, s, method, h);
    kd_verify_run(f->verify, TWO_POINTS * h);
}

// With so much noise left twice of it is excused, and no more: one side of the limit, as asked
static void check_limit(fixture *f, double left, bool above)
{
    const long   points = kd_verify_result(f->verify)->points;
    const double limit = 2 * left + ALLOWED;
    assert_int_equal(stands(f, limit * (above ? 1 + MARGIN : 1 - MARGIN), false), !above);
    assert_int_equal(kd_verify_result(f->verify)->points, points + (above ? 1 : 2));
}

// Each quiet point leaves 1/2, 1/4, 1/16, ... of what the one before has left; a point with more than half of it begins
// anew, and so does new noise of another mass; a restart leaves nothing.
static void noise_fades_ever_faster(void **state)
{
    uint64_t seed = test_seed(4);
    (void)state;
    for (int k = 0; k < 40; k++) {
        const masses s = random_masses(&seed);
        const double h = seeded_log(&seed, 1e-3, 10), noise = ALLOWED * seeded_log(&seed, 200, 1e4);
        const bool   above = k / 2 % 2 == 1;
        fixture      f;
        // two quiet points
        open_with_two_points(&f, s, methods[k % 2], h);
        assert_true(stands(&f, noise, true));
        assert_true(stands(&f, 0, false));
        check_limit(&f, noise / 8, above);
        close_fixture(&f);
        // the same, two points with 0.7 of what is left, and two quiet ones
        open_with_two_points(&f, s, methods[k % 2], h);
        assert_true(stands(&f, noise, true));
        assert_true(stands(&f, 0, false));
        assert_true(stands(&f, 0.7 * noise / 8, false));
        assert_true(stands(&f, 0, false));
        check_limit(&f, 0.7 * noise / 64, above);
        close_fixture(&f);
        // two quiet points, then noise of the other mass
        open_with_two_points(&f, s, methods[k % 2], h);
        assert_true(stands(&f, noise, true));
        assert_true(stands(&f, 0, false));
        f.s.pushed = 1;
        assert_true(stands(&f, 3 * noise, true));
        f.s.pushed = 0;
        check_limit(&f, noise / 32, above);
        close_fixture(&f);
        // a restart
        open_with_two_points(&f, s, methods[k % 2], h);
        assert_true(stands(&f, noise, true));
        kd_verify_restart(f.verify);
        check_limit(&f, 0, above);
        close_fixture(&f);
    }
}

// ---- the polynomial's own error -------------------------------------------------------------------------------------

// Of v = c/4 (t - 1.5 h)^4, which polynomials of two steps know and the cubic of one does not
static double quartic(masses *s, double t)
{
    return s->c * pow(t - 1.5 * s->h, 3);
}

// The slope of the cubic through both ends of the first step: the quartic without c/4 t^2 (t - h)^2
static double cubic_of_first(masses *s, double t)
{
    return quartic(s, t) - s->c / 2 * t * (t - s->h) * (2 * t - s->h);
}

// What is excused at t in the second step: 0.3 h |c/4 ((t - h)^2 (t - 2 h)^2)'|, and no more than 1000 tolerances
static double excused(const masses *s, double t)
{
    return fmin(0.3 * s->h * fabs(s->c / 2 * (t - s->h) * (t - 2 * s->h) * (2 * t - 3 * s->h)), 1000 * s->tolerance);
}

// The quartic, and a defect at the time inside of the second step that is looked at first
static double with_defect(masses *s, double t)
{
    if (isnan(s->at) && t > s->h * (1 + 1e-9) && t < 2 * s->h * (1 - 1e-9)) s->at = t;
    return quartic(s, t) + (t == s->at ? s->size * (ALLOWED * s->tolerance + excused(s, t)) / s->h : 0);
}

static double step_with(fixture *f, double (*while_looking)(masses *, double))
{
    kd_step_verdict verdict;
    f->s.course = quartic;
    assert_int_equal(kd_integrator_step(f->it, INFINITY), KD_OK);
    f->s.course = while_looking;
    assert_int_equal(kd_verify_look(f->verify, false, &verdict), KD_OK);
    return verdict.h;
}

// A part of what the polynomial knows and that of one step less does not is its own error and excused, up to a bound: just
// below the limit a defect stands, just above it does not.
static void own_errors_are_excused(void **state)
{
    uint64_t seed = test_seed(5);
    int      part = 0, most = 0;
    (void)state;
    for (int k = 0; k < 200; k++) {
        const double u = seeded_between(&seed, -1, 1);
        masses       s = {.m = seeded_log(&seed, 0.1, 10),
                          .h = seeded_log(&seed, 1e-2, 10),
                          .at = NAN,
                          .pushed = k % 2,
                          .course = quartic};
        fixture      f;
        s.c = (k % 4 < 2 ? 1e-4 : -1e-4) * seeded_log(&seed, 2e3, 1e7) / pow(s.h, 4);
        s.v0[s.pushed] = u + s.c / 4 * pow(1.5 * s.h, 4);
        s.tolerance = 1e-4 * (1 + fabs(u + s.c / 64 * pow(s.h, 4))); // by the velocity at the ends of the second step
        s.size = k / 4 % 2 ? 1 + MARGIN : 1 - MARGIN;
        // its error estimate knows quintics, as positions are; every step of so short a run is looked at
        open_fixture(&f, s, KD_DOP853, s.h);
        kd_verify_run(f.verify, 5 * s.h);
        assert_true(step_with(&f, cubic_of_first) >= s.h);
        assert_true((step_with(&f, with_defect) >= s.h) == (s.size < 1));
        assert_true(f.s.at > s.h);
        const double own = excused(&f.s, f.s.at) / s.tolerance;
        part += own > 10 && own < 999;
        most += own > 999;
        close_fixture(&f);
    }
    assert_true(part > 20 && most > 20);
}

// ---- not a number ---------------------------------------------------------------------------------------------------

static struct {
    const kd_dae_class *form;
    int                 component; // of the velocities that is not a number
} broken;

static kd_eval broken_rhs(void *impl, double t, const double *x, double *xdot)
{
    kd_eval answer = broken.form->rhs(impl, t, x, xdot);
    xdot[2 + broken.component] = NAN;
    return answer;
}

// A slope that is not a number in one component does not stand, whatever the others are.
static void not_a_number_does_not_stand(void **state)
{
    uint64_t seed = test_seed(3);
    (void)state;
    for (int k = 0; k < 4; k++) {
        fixture         f;
        kd_step_verdict verdict;
        open_fixture(&f, random_masses(&seed), k % 2 == 0 ? KD_DOPRI5 : KD_DOP853, 0.1);
        assert_true(stands(&f, 0, false));
        f.s.A = 0;
        assert_int_equal(kd_integrator_step(f.it, INFINITY), KD_OK);
        kd_dae_class changed = *f.dae->methods;
        broken.form = f.dae->methods;
        broken.component = k / 2;
        changed.rhs = broken_rhs;
        f.dae->methods = &changed;
        assert_int_equal(kd_verify_look(f.verify, false, &verdict), KD_OK);
        f.dae->methods = broken.form;
        assert_true(verdict.h < f.h);
        assert_true(verdict.size > 1e300);
        close_fixture(&f);
    }
}

// Steps of equal length are looked at once in the period of the method, not more often.
static void equal_steps_are_checked_by_periods(void **state)
{
    enum { STEPS = 400 };
    uint64_t seed = test_seed(4);
    (void)state;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        const long      period = kd_integrator_about(methods[k], NULL)->check_period;
        fixture         f;
        kd_step_verdict verdict;
        open_fixture(&f, random_masses(&seed), methods[k], 0.1);
        kd_verify_run(f.verify, 1.2 * STEPS * f.h);
        for (int i = 0; i < STEPS; i++) {
            assert_int_equal(kd_integrator_step(f.it, INFINITY), KD_OK);
            assert_int_equal(kd_verify_look(f.verify, false, &verdict), KD_OK);
            assert_true(verdict.h >= f.h);
        }
        const long checked = kd_verify_result(f.verify)->checked;
        if (checked < STEPS / period || checked > STEPS / period + 4)
            fail_msg("method %zu: %ld of %d steps, period %ld", k, checked, STEPS, period);
        close_fixture(&f);
    }
}

// ---- points inside --------------------------------------------------------------------------------------------------

static struct {
    double t[4096];
    int    n;
} seen;

// Notes the times at which the equations are looked at
static double note_time(masses *self, double t)
{
    (void)self;
    for (int i = 0; i < seen.n; i++)
        if (seen.t[i] == t) return 0;
    assert_true(seen.n < 4096);
    seen.t[seen.n++] = t;
    return 0;
}

// Times strictly inside of one step of a run of `steps` such steps
static int points_inside(masses m, kd_integrator_kind method, double steps, bool singular)
{
    const double    h = 0.1;
    fixture         f;
    kd_step_verdict verdict;
    int             inside = 0;
    open_fixture(&f, m, method, h);
    kd_verify_run(f.verify, steps * h);
    assert_int_equal(kd_integrator_step(f.it, INFINITY), KD_OK);
    seen.n = 0;
    f.s.course = note_time;
    assert_int_equal(kd_verify_look(f.verify, singular, &verdict), KD_OK);
    assert_true(verdict.h >= h);
    for (int i = 0; i < seen.n; i++) inside += seen.t[i] > 1e-9 * h && seen.t[i] < (1 - 1e-9) * h;
    close_fixture(&f);
    return inside;
}

// A step that may have passed a singular position is looked at in four points at least, in more where a run of few steps
// asks for more anyway: that never makes them fewer.
static void singular_steps_have_more_points(void **state)
{
    uint64_t seed = test_seed(5);
    (void)state;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        const masses m = random_masses(&seed);
        assert_in_range(points_inside(m, methods[k], 1e6, false), 0, 2);
        assert_in_range(points_inside(m, methods[k], 1e6, true), 4, 5);
        const int plain = points_inside(m, methods[k], 1, false);
        assert_true(plain > 5);
        assert_true(points_inside(m, methods[k], 1, true) >= plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defects_have_their_limit),        cmocka_unit_test(noise_excuses_twice_itself),
        cmocka_unit_test(noise_fades_ever_faster),         cmocka_unit_test(own_errors_are_excused),
        cmocka_unit_test(not_a_number_does_not_stand),     cmocka_unit_test(equal_steps_are_checked_by_periods),
        cmocka_unit_test(singular_steps_have_more_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
