// The generalised Gruebler condition: Painleve's rod, whose friction has a critical coefficient in closed form, and
// equations in C whose forces depend on multipliers directly.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#define assert_close(a, b, tolerance) close_or_fail((a), (b), (tolerance), __LINE__)
static void close_or_fail(double a, double b, double tolerance, int line)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("line %d: %.15g and %.15g", line, a, b);
}

// ---- Painleve's rod: a uniform rod of length 2 l on a light slider, at an angle to the rough guide ------------------

static const double angle = 1.1, slider = 0.05, rod = 1;

// The inverse inertia at the hinge is e e'/(m1 + m) + n n'/(m1 + m/4), e along the rod: the normal acceleration by a
// normal force N with friction mu N vanishes for this mu. Without slider (1 + 3 cos^2)/(3 sin cos), not below 4/3.
static double critical(void)
{
    double s = sin(angle), c = cos(angle), along = 1 / (slider + rod), across = 1 / (slider + rod / 4);
    return (s * s * along + c * c * across) / (s * c * (across - along));
}

static const char text[] =
    "kardan: 1\n"
    "parameters: {mu: 0.1, v: 1, l: 0.5, angle: 1.1}\n"
    "bodies:\n"
    "  slider: {mass: 0.05, inertia: [0.01, 0.01, 0.01]}\n"
    "  rod: {position: [l*cos(angle), 0, l*sin(angle)], orientation: {axis: [0, -1, 0], angle: angle}, mass: 1,\n"
    "        inertia: [1e-3, l^2/3, l^2/3]}\n"
    "joints:\n"
    "  guide: {type: prismatic, bodies: [ground, slider], point: [0, 0, 0], axis: [1, 0, 0], v: v}\n"
    "  hinge: {type: revolute, bodies: [slider, rod], point: [0, 0, 0], axis: [0, -1, 0]}\n"
    "forces: {rub: {type: joint_friction, joint: guide, normal: mu, slip: 1e-3}}\n";

typedef struct fixture {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
    kd_status  status; // of the start
    char       message[1000];
} fixture;

static fixture open_rod(double mu, const char *v, kd_coordinates coordinates)
{
    fixture           f = {0};
    char              number[40];
    kd_system_options opt = kd_system_options_default();
    snprintf(number, sizeof number, "%.17g", mu);
    const kd_setting set[] = {{"mu", number}, {"v", v}};
    opt.coordinates = coordinates;
    kd_status status = kd_model_read_text("rod", text, strlen(text), set, 2, &f.model, f.message, sizeof f.message);
    if (status >= 0) status = kd_system_create(f.model, &opt, &f.system, f.message, sizeof f.message);
    if (status >= 0) status = kd_state_create(kd_system_eom(f.system), &f.x);
    if (status < 0) fail_msg("%s", f.message);
    f.status = kd_system_start(f.system, f.x, f.message, sizeof f.message);
    return f;
}

static void close_rod(fixture *f)
{
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

// The limit is the critical coefficient over the given one, whichever way the rod slides: one reaction or its reverse.
static void limit_of_the_rod(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++)
        for (int way = 0; way < 2; way++) {
            char           words[500];
            kd_solvability found;
            fixture        f = open_rod(0.5 * critical(), way ? "1" : "-1", (kd_coordinates)c);
            assert_true(f.status >= 0);
            assert_int_equal(kd_initial_solvable(kd_system_eom(f.system), kd_system_inputs(f.system), f.x, &found,
                                                 words, sizeof words),
                             KD_OK);
            assert_string_equal(words, "");
            assert_int_equal(found.rank, found.rows);
            assert_false(found.without);
            assert_close(fmin(found.limit, found.reversed), 2, 1e-9);
            assert_true(isinf(fmax(found.limit, found.reversed))); // the other way friction only helps
            assert_int_equal(found.nnames, 1);
            close_rod(&f);
        }
}

// Below the critical coefficient there is a start, above it one way has none, and the message says by how much.
static void start_of_the_rod(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        fixture f = open_rod(0.999 * critical(), "-1", (kd_coordinates)c);
        assert_true(f.status >= 0);
        close_rod(&f);
        f = open_rod(1.25 * critical(), "-1", (kd_coordinates)c);
        assert_true(f.status < 0);
        assert_non_null(strstr(f.message, "force 'rub' normal force"));
        assert_non_null(strstr(f.message, "below 0.8 times"));
        close_rod(&f);
    }
}

// The other way there is a solution, beside a second one with the reaction reversed: a simulation says so and runs.
static void second_solution_is_news(void **state)
{
    char           message[1000] = "";
    kd_simulation *s = NULL;
    fixture        f = open_rod(1.25 * critical(), "1", KD_JOINT);
    (void)state;
    assert_true(f.status >= 0);
    assert_true(kd_simulation_create(kd_system_eom(f.system), kd_system_inputs(f.system), NULL, f.x, &s, message,
                                     sizeof message) >= 0);
    assert_non_null(strstr(message, "below 0.8 times"));
    kd_simulation_destroy(s);
    close_rod(&f);
}

// ---- equations in C -------------------------------------------------------------------------------------------------

// Two masses x, y on y = slope x with a force k lambda along x: N = 1 + slope^2 + k slope (unit masses, G = (-slope,
// 1)).
typedef struct incline {
    double slope, k;
} incline;

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    const incline *i = context;
    out[0] = i->k * x->lambda[0];
    out[1] = -1;
    return KD_EVAL_OK;
}

static kd_eval constraint(const kd_point *x, void *context, double *out)
{
    const incline *i = context;
    out[0] = x->p[1] - i->slope * x->p[0];
    return KD_EVAL_OK;
}

// k = -(1 + slope^2)/slope makes the matrix singular, of either sign; the limit is the ratio.
static void direct_dependence(void **state)
{
    (void)state;
    for (double factor = 0.25; factor < 3; factor *= 2) {
        incline    i = {.slope = 0.5};
        kd_eom_def def = kd_eom_def_default();
        kd_eom    *eom = NULL;
        kd_state  *x = NULL;
        i.k = -factor * (1 + i.slope * i.slope) / i.slope;
        def.dims.np = def.dims.nv = 2;
        def.dims.nlambda = 1;
        def.context = &i;
        def.M = mass, def.f = force, def.g = constraint;
        def.force_of_multipliers = true;
        def.autonomous = true;
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        kd_solvability found;
        char           words[500];
        kd_status      status = kd_initial_solvable(eom, NULL, x, &found, words, sizeof words);
        assert_int_equal(status, factor == 1 ? KD_ERR_SINGULAR_MASS : KD_OK);
        assert_true(found.without);
        assert_close(found.limit, 1 / factor, 1e-6);
        assert_int_equal(words[0] == '\0', factor < 1);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Without forces of multipliers, without constraints that hold, without arguments there is nothing to say.
static void nothing_to_say(void **state)
{
    kd_solvability found;
    fixture        f = open_rod(0.1, "1", KD_JOINT);
    (void)state;
    memset(f.x->active_lambda, 0, (size_t)kd_eom_dims(kd_system_eom(f.system)).nlambda);
    assert_int_equal(kd_initial_solvable(kd_system_eom(f.system), NULL, f.x, &found, NULL, 0), KD_ERR_UNSUPPORTED);
    assert_int_equal(kd_initial_solvable(NULL, NULL, f.x, &found, NULL, 0), KD_ERR_ARGUMENT);
    close_rod(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_of_the_rod),        cmocka_unit_test(start_of_the_rod),
        cmocka_unit_test(second_solution_is_news), cmocka_unit_test(direct_dependence),
        cmocka_unit_test(nothing_to_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
