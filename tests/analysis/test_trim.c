// Trim: inputs and parameters that hold a position or a steady motion, in closed form.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <string.h>

#include "core/failing_allocator.h"

static void close_to(double found, double wanted, double tolerance)
{
    if (!(fabs(found - wanted) <= tolerance)) print_error("%.15g instead of %.15g\n", found, wanted);
    assert_true(fabs(found - wanted) <= tolerance);
}

// Pendulum with two motors and a damper: J a = u1 + 2 u2 - theta0 v - m g l sin(p)
static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 0.5;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->u[0] + 2 * x->u[1] - x->theta[0] * x->v[0] - 10 * sin(x->p[0]);
    return KD_EVAL_OK;
}

typedef struct fixture {
    kd_eom   *eom;
    kd_state *x;
} fixture;

static const double DAMPING[] = {0.25};

static fixture make(void)
{
    fixture    f;
    char       message[200];
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nu = 2, .ntheta = 1};
    def.M = mass;
    def.f = force;
    def.theta = DAMPING;
    if (kd_eom_create(&def, &f.eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    f.x->p[0] = 0.6;
    return f;
}

static void drop(fixture *f)
{
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static kd_eval no_torque(double t, void *context, double *u, double *du, double *ddu)
{
    (void)t, (void)context;
    for (int i = 0; i < 2; i++) u[i] = du[i] = ddu[i] = 0;
    return KD_EVAL_OK;
}
static const kd_inputs INPUTS = {no_torque, NULL};

// One motor holds the pendulum where it is.
static void one_input_holds(void **state)
{
    (void)state;
    fixture       f = make();
    kd_adjustable a = {KD_U, 0, 0};
    assert_int_equal(kd_trim(f.eom, &INPUTS, NULL, f.x, &a, 1, NULL, NULL, 0), KD_OK);
    close_to(a.value, 10 * sin(0.6), 1e-9);
    close_to(f.x->p[0], 0.6, 0);
    drop(&f);
}

// Two motors share the load such that the sum of squares is least: (1, 2)/5 of it.
static void two_inputs_share_the_load(void **state)
{
    (void)state;
    fixture       f = make();
    kd_adjustable a[] = {{KD_U, 0, 0}, {KD_U, 1, 0}};
    assert_int_equal(kd_trim(f.eom, &INPUTS, NULL, f.x, a, 2, NULL, NULL, 0), KD_OK);
    close_to(a[0].value + 2 * a[1].value, 10 * sin(0.6), 1e-9);
    close_to(a[1].value, 2 * a[0].value, 1e-6);
    drop(&f);
}

// At a given speed a parameter, the damping, keeps the torques in balance.
static void parameter_keeps_a_motion(void **state)
{
    (void)state;
    fixture       f = make();
    kd_adjustable a = {KD_THETA, 0, 0.25};
    f.x->v[0] = -3;
    assert_int_equal(kd_trim(f.eom, &INPUTS, NULL, f.x, &a, 1, NULL, NULL, 0), KD_OK);
    close_to(a.value, 10 * sin(0.6) / 3, 1e-9);
    drop(&f);
}

// At a given acceleration the motor also moves the mass; a free position gives way instead.
static void acceleration_and_free_position(void **state)
{
    (void)state;
    fixture         f = make();
    kd_adjustable   a = {KD_U, 0, 0};
    const bool      free_p[] = {true};
    kd_trim_options opt = kd_trim_options_default();
    f.x->a[0] = 4;
    assert_int_equal(kd_trim(f.eom, &INPUTS, NULL, f.x, &a, 1, NULL, NULL, 0), KD_OK);
    close_to(a.value, 2 + 10 * sin(0.6), 1e-9);
    opt.free_p = free_p;
    assert_int_equal(kd_trim(f.eom, &INPUTS, &opt, f.x, NULL, 0, NULL, NULL, 0), KD_OK);
    close_to(10 * sin(f.x->p[0]), -2, 1e-8);
    drop(&f);
}

// Where the adjusted quantity has no influence, the force that remains is named and nothing changes.
static void no_influence_is_told(void **state)
{
    (void)state;
    fixture               f = make();
    kd_adjustable         a = {KD_THETA, 0, 0.25}; // at rest the damper has no force
    kd_equilibrium_result r;
    char                  message[300];
    assert_int_equal(kd_trim(f.eom, &INPUTS, NULL, f.x, &a, 1, &r, message, sizeof message), KD_ERR_NO_EQUILIBRIUM);
    close_to(r.residual, 10 * sin(0.6), 1e-9);
    close_to(a.value, 0.25, 0);
    assert_non_null(strstr(message, "remains on 'v[0]'"));
    a.index = 1;
    assert_int_equal(kd_trim(f.eom, &INPUTS, NULL, f.x, &a, 1, NULL, NULL, 0), KD_ERR_ARGUMENT);
    drop(&f);
}

// ---- the smallest change --------------------------------------------------------------------------------------------

// A curved condition: u0 + u1^2 = 10 sin(p)
static kd_eval curved_force(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->u[0] + x->u[1] * x->u[1] - 10 * sin(x->p[0]);
    return KD_EVAL_OK;
}

// Of all solutions the nearest to the first guess is taken also where the condition is curved: there the change is at
// right angles to the curve, (1, 2 u1) times a factor.
static void smallest_change_on_a_curve(void **state)
{
    (void)state;
    fixture    f = {0};
    char       message[200];
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nu = 2};
    def.M = mass;
    def.f = curved_force;
    if (kd_eom_create(&def, &f.eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    f.x->p[0] = 0.6;
    kd_adjustable a[] = {{KD_U, 0, 0.3}, {KD_U, 1, 0.5}};
    assert_int_equal(kd_trim(f.eom, &INPUTS, NULL, f.x, a, 2, NULL, NULL, 0), KD_OK);
    close_to(a[0].value + a[1].value * a[1].value, 10 * sin(0.6), 1e-9);
    close_to((a[1].value - 0.5) / (a[0].value - 0.3), 2 * a[1].value, 1e-7);
    // no neighbour on the curve is nearer
    const double distance = hypot(a[0].value - 0.3, a[1].value - 0.5);
    for (int side = -1; side <= 1; side += 2) {
        const double u1 = a[1].value + side * 1e-3, u0 = 10 * sin(0.6) - u1 * u1;
        assert_true(hypot(u0 - 0.3, u1 - 0.5) > distance);
    }
    drop(&f);
}

// ---- families -------------------------------------------------------------------------------------------------------

typedef struct family {
    kd_eom *made;
    double  load;
    int     count; // equations made
    bool    larger;
} family;

// J a = input - load^3 sin(p)
static kd_eval family_force(const kd_point *x, void *context, double *out)
{
    const double load = *(const double *)context;
    out[0] = x->u[0] - load * load * load * sin(x->p[0]);
    return KD_EVAL_OK;
}

static kd_status make_family(const double *value, void *context, const kd_eom **eom, const kd_inputs **inputs)
{
    static const kd_inputs none = {no_torque, NULL};
    family                *f = context;
    kd_eom_def             def = kd_eom_def_default();
    kd_eom_destroy(f->made);
    f->made = NULL;
    f->load = value[0];
    f->count++;
    def.dims = (kd_dims){.np = 1, .nv = 1, .nu = 2, .nr = f->larger};
    def.M = mass;
    def.f = family_force;
    def.context = &f->load;
    if (f->larger) def.b = mass;
    *inputs = &none;
    kd_status status = kd_eom_create(&def, &f->made, NULL, 0);
    *eom = f->made;
    return status;
}

// A parameter that only the maker of the equations knows is adjusted by making them again; equations of another size
// are refused.
static void parameter_of_a_family(void **state)
{
    (void)state;
    family           first = {0}, f = {0};
    const kd_eom    *eom;
    const kd_inputs *inputs;
    kd_state        *x;
    kd_adjustable    a[] = {{KD_VAR_COUNT, 0, 2}};
    const double     start[] = {2};
    kd_trim_options  opt = kd_trim_options_default();
    const kd_family  maker = {1, make_family, &f};
    assert_int_equal(make_family(start, &first, &eom, &inputs), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->p[0] = 0.6;
    x->a[0] = -27 * sin(0.6) / 0.5;
    assert_int_equal(kd_trim(eom, inputs, &opt, x, a, 1, NULL, NULL, 0), KD_ERR_ARGUMENT); // no family
    opt.family = &maker;
    assert_int_equal(kd_trim(eom, inputs, &opt, x, a, 1, NULL, NULL, 0), KD_OK);
    close_to(a[0].value, 3, 1e-8);
    assert_true(f.count > 2);
    f.larger = true;
    a[0].value = 2;
    char message[200];
    assert_int_equal(kd_trim(eom, inputs, &opt, x, a, 1, NULL, message, sizeof message), KD_ERR_CALLBACK_STOP);
    assert_non_null(strstr(message, "other values of the parameters"));
    kd_state_destroy(x);
    kd_eom_destroy(first.made);
    kd_eom_destroy(f.made);
}

// Wherever memory ends, also while equations are made again, nothing stays allocated and nothing is changed.
static void memory_may_end(void **state)
{
    (void)state;
    family            first = {0}, f = {0};
    const kd_eom     *eom;
    const kd_inputs  *inputs;
    kd_state         *x;
    const double      start[] = {2};
    kd_trim_options   opt = kd_trim_options_default();
    const kd_family   maker = {1, make_family, &f};
    failing_allocator allocator = {0};
    kd_status         status = KD_ERR_MEMORY;
    assert_int_equal(make_family(start, &first, &eom, &inputs), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    opt.family = &maker;
    failing_allocator_use(&allocator);
    for (long k = 1; k < 5000 && status < 0; k++) {
        kd_adjustable a = {KD_VAR_COUNT, 0, 2};
        x->p[0] = 0.6;
        x->a[0] = -27 * sin(0.6) / 0.5;
        allocator = (failing_allocator){.fail_at = k};
        status = kd_trim(eom, inputs, &opt, x, &a, 1, NULL, NULL, 0);
        kd_eom_destroy(f.made);
        f.made = NULL;
        if (status < 0) close_to(a.value, 2, 0);
        assert_int_equal(allocator.live, 0);
    }
    kd_set_allocator(NULL);
    assert_true(status >= 0);
    kd_state_destroy(x);
    kd_eom_destroy(first.made);
}

// A turn needs a free body: six velocities, three places and a quaternion.
static void turn_of_nothing_is_refused(void **state)
{
    (void)state;
    fixture         f = make();
    const kd_turn   turn = {.rate = 1};
    kd_trim_options opt = kd_trim_options_default();
    opt.turn = &turn;
    assert_int_equal(kd_trim(f.eom, &INPUTS, &opt, f.x, NULL, 0, NULL, NULL, 0), KD_ERR_ARGUMENT);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_input_holds),          cmocka_unit_test(two_inputs_share_the_load),
        cmocka_unit_test(parameter_keeps_a_motion), cmocka_unit_test(acceleration_and_free_position),
        cmocka_unit_test(no_influence_is_told),     cmocka_unit_test(smallest_change_on_a_curve),
        cmocka_unit_test(parameter_of_a_family),    cmocka_unit_test(turn_of_nothing_is_refused),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
