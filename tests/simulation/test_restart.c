// Restarts that keep what is good: behind a jump of z the motion, its accelerations and the counters of every
// integrator; behind a jump of the state those that keep their matrices.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/failing_allocator.h"

// ---- systems --------------------------------------------------------------------------------------------------------

// A pendulum of length 1 in the plane, q = p / scale, p' = scale v, with a horizontal force z and a little damping;
// without its rod: a point between springs, which is linear
typedef struct shape {
    double scale;
    bool   rod;
} shape;
static const shape pendulum = {1, true}, scaled_pendulum = {2, true}, springs = {1, false};

static const double MASS = 2, GRAVITY = 9.81, DAMPING = 0.3, STIFFNESS = 40;

static kd_eval kinematics(const kd_point *x, void *context, double *out)
{
    const shape *s = context;
    for (int i = 0; i < 2; i++) out[i] = s->scale * x->v[i];
    return KD_EVAL_OK;
}

static kd_eval Z(const kd_point *x, void *context, double *out)
{
    const shape *s = context;
    (void)x;
    out[0] = out[3] = s->scale;
    return KD_EVAL_OK;
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = MASS;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    const shape *s = context;
    for (int i = 0; i < 2; i++) out[i] = -DAMPING * x->v[i] - (s->rod ? 0 : STIFFNESS * x->p[i]);
    out[0] += x->z[0];
    out[1] -= MASS * GRAVITY;
    return KD_EVAL_OK;
}

static kd_eval g(const kd_point *x, void *context, double *out)
{
    const shape *s = context;
    out[0] = 0.5 * ((x->p[0] * x->p[0] + x->p[1] * x->p[1]) / (s->scale * s->scale) - 1);
    return KD_EVAL_OK;
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    const shape *s = context;
    out[0] = (x->p[0] * x->v[0] + x->p[1] * x->v[1]) / s->scale;
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    const shape *s = context;
    out[0] = (x->p[0] * x->a[0] + x->p[1] * x->a[1]) / s->scale + x->v[0] * x->v[0] + x->v[1] * x->v[1];
    return KD_EVAL_OK;
}

static void make_system(const shape *s, kd_eom **eom, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    char       message[300];
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = s->rod, .nz = 1};
    def.context = (void *)s;
    if (s->scale != 1) def.kinematics = kinematics, def.Z = Z;
    def.M = mass;
    def.f = force;
    if (s->rod) def.g = g, def.gI = gI, def.gII = gII;
    def.autonomous = true;
    if (kd_eom_create(&def, eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    assert_int_equal(kd_state_create(*eom, x), KD_OK);
    (*x)->p[0] = 0.6 * s->scale;
    (*x)->p[1] = -0.8 * s->scale;
}

// ---- methods --------------------------------------------------------------------------------------------------------

typedef struct method {
    kd_formulation     formulation;
    kd_integrator_kind integrator;
    bool               own; // of kardan: has a past, or needs none
} method;
static const method methods[] = {
    {KD_PSF, KD_RADAU, true},         {KD_GGL, KD_RADAU, true},        {KD_PSF1, KD_RADAU, true},
    {KD_INDEX1, KD_RADAU, true},      {KD_STATESPACE, KD_RADAU, true}, {KD_PSF, KD_BDF, true},
    {KD_GGL, KD_BDF, true},           {KD_INDEX2, KD_BDF, true},       {KD_INDEX3, KD_BDF, true},
    {KD_ODASSL, KD_BDF, true},        {KD_STATESPACE, KD_BDF, true},   {KD_ODE, KD_BDF, true},
    {KD_PSF, KD_SDIRK, true},         {KD_STATESPACE, KD_SDIRK, true}, {KD_GGL, KD_SDIRK, true},
    {KD_ODE, KD_DOPRI5, true},        {KD_ODE, KD_DOP853, true},       {KD_ODE, KD_HALF_EXPLICIT, true},
    {KD_ODE, KD_EXTRAPOLATION, true}, {KD_GGL, KD_IDA, false},         {KD_ODE, KD_CVODE, false},
    {KD_ODE, KD_ARKODE, false},       {KD_ODE, KD_ADAMS, true},
};
enum { METHODS = sizeof methods / sizeof *methods };

static bool is_missing(const method *m)
{
    return (m->integrator == KD_IDA && !kd_integrator_about(KD_IDA, NULL)->available) ||
           (m->integrator == KD_CVODE && !kd_integrator_about(KD_CVODE, NULL)->available) ||
           (m->integrator == KD_ARKODE && !kd_integrator_about(KD_ARKODE, NULL)->available);
}

static const char *words(const method *m)
{
    static char text[80];
    (void)snprintf(text, sizeof text, "%s %s", kd_formulation_word(m->formulation), kd_integrator_word(m->integrator));
    return text;
}

static kd_simulation_options options_of(const method *m, double tol)
{
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = m->formulation;
    o.integrator = m->integrator;
    o.rtol = o.atol = tol;
    return o;
}

static kd_simulation *simulate(const kd_eom *eom, const kd_simulation_options *opt, kd_state *x)
{
    kd_simulation *s;
    char           message[800];
    if (kd_simulation_create(eom, NULL, opt, x, &s, message, sizeof message) < 0) fail_msg("%s", message);
    return s;
}

// ---- runs -----------------------------------------------------------------------------------------------------------

#define PERIOD 0.01

typedef enum keeping { NOTHING_DONE, RESUMED, RESTARTED } keeping;

// Forces that jump up and down by about their own size
static double wild(int k)
{
    return 5 * cos(2.0 * k);
}

static double constant(int k)
{
    (void)k;
    return 1.5;
}

static void go_on(kd_simulation *s, keeping how)
{
    kd_status status = how == RESUMED ? kd_simulation_resume(s) : how == RESTARTED ? kd_simulation_restart(s) : KD_OK;
    if (status < 0) fail_msg("%s", kd_simulation_message(s));
}

static void run_to(kd_simulation *s, double t)
{
    if (kd_simulation_run(s, t) < 0) fail_msg("%s", kd_simulation_message(s));
}

// samples periods with z of each; the end in x
static kd_stats sampled_run(const shape *what, const method *m, double tol, int samples, double (*z)(int), keeping how,
                            double end[5])
{
    kd_eom               *eom;
    kd_state             *x;
    kd_simulation_options opt = options_of(m, tol);
    make_system(what, &eom, &x);
    x->z[0] = z(0);
    kd_simulation *s = simulate(eom, &opt, x);
    for (int k = 1; k <= samples; k++) {
        run_to(s, k * PERIOD);
        x->z[0] = z(k);
        go_on(s, how);
    }
    run_to(s, (samples + 0.5) * PERIOD);
    kd_stats stats = kd_simulation_stats(s);
    memcpy(end, x->p, 5 * sizeof *end);
    if (!what->rod) end[4] = 0;
    kd_simulation_destroy(s);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return stats;
}

// Off the exact motion after a second with tolerance 1e-8: one-step methods stay near it, errors of multistep methods
// add up
static double allowed(const method *m)
{
    const bool multistep = m->integrator == KD_BDF || m->integrator == KD_IDA || m->integrator == KD_CVODE;
    return multistep ? (m->formulation == KD_INDEX3 ? 3e-5 : 1e-5) : m->formulation == KD_GGL ? 2e-6 : 1e-7;
}

static double distance(int n, const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

// ---- behind a jump of z ---------------------------------------------------------------------------------------------

// Resumed runs with jumping forces follow the same motion as one that starts anew at every jump, on a closed loop and
// with positions that are no integrals of velocities.
static void same_motion_as_with_fresh_starts(void **state)
{
    (void)state;
    const shape *shapes[] = {&pendulum, &scaled_pendulum, &springs};
    for (int k = 0; k < 3; k++) {
        double reference[5], end[5];
        (void)sampled_run(shapes[k], &methods[0], 1e-11, 60, wild, RESTARTED, reference);
        for (int i = 0; i < METHODS; i++) {
            const method *m = &methods[i];
            if (is_missing(m) || (m->formulation == KD_ODASSL && !shapes[k]->rod)) continue;
            if (m->formulation == KD_STATESPACE && shapes[k]->scale != 1) continue;
            (void)sampled_run(shapes[k], m, 1e-8, 60, wild, RESUMED, end);
            const double off = distance(4, end, reference);
            if (off > allowed(m)) fail_msg("%s, system %d: %g off", words(m), k, off);
        }
    }
}

// Samples that change nothing change neither the motion nor, by more than the look at each of them, the work.
static void samples_without_effect(void **state)
{
    (void)state;
    const int samples = 100;
    for (int i = 0; i < METHODS; i++) {
        const method *m = &methods[i];
        double        with[5], without[5];
        if (!m->own) continue;
        kd_stats a = sampled_run(&pendulum, m, 1e-8, samples, constant, RESUMED, with);
        kd_stats b = sampled_run(&pendulum, m, 1e-8, samples, constant, NOTHING_DONE, without);
        if (distance(4, with, without) > allowed(m)) fail_msg("%s: %g off", words(m), distance(4, with, without));
        const bool slow = m->formulation == KD_INDEX3; // its errors follow the step sizes: others fail elsewhere
        if (a.accepted > b.accepted + b.accepted / (slow ? 2 : 10) + 2)
            fail_msg("%s: %ld steps instead of %ld", words(m), a.accepted, b.accepted);
        if (!slow && a.solves > b.solves + b.solves / 10 + 5)
            fail_msg("%s: %ld solves instead of %ld", words(m), a.solves, b.solves);
        if (!slow && a.jacobians > b.jacobians + b.jacobians / 10 + 3)
            fail_msg("%s: %ld Jacobians instead of %ld", words(m), a.jacobians, b.jacobians);
        if (!slow && a.residuals > b.residuals + b.residuals / 10 + 2 * samples + 5)
            fail_msg("%s: %ld evaluations instead of %ld", words(m), a.residuals, b.residuals);
    }
}

// Where the equations are linear, no derivatives are evaluated at samples, and where all steps are equal nothing is
// factored, however much the force jumps.
static void matrices_are_kept(void **state)
{
    (void)state;
    const method linear[] = {{KD_PSF, KD_RADAU, true},        {KD_GGL, KD_RADAU, true}, {KD_ODE, KD_RADAU, true},
                             {KD_STATESPACE, KD_RADAU, true}, {KD_GGL, KD_BDF, true},   {KD_ODE, KD_BDF, true},
                             {KD_STATESPACE, KD_BDF, true},   {KD_ODE, KD_SDIRK, true}, {KD_GGL, KD_SDIRK, true}};
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++) {
        double   end[5];
        kd_stats few = sampled_run(&springs, &linear[i], 1e-4, 50, wild, RESUMED, end);
        kd_stats many = sampled_run(&springs, &linear[i], 1e-4, 250, wild, RESUMED, end);
        if (many.jacobians > few.jacobians)
            fail_msg("%s: %ld Jacobians in 200 samples", words(&linear[i]), many.jacobians - few.jacobians);
        if (many.decompositions > few.decompositions + 10)
            fail_msg("%s: %ld decompositions in 200 samples", words(&linear[i]),
                     many.decompositions - few.decompositions);
        if (many.accepted - few.accepted > 202)
            fail_msg("%s: %ld steps in 200 samples", words(&linear[i]), many.accepted - few.accepted);
    }
}

static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    (void)x, (void)at_time, (void)context;
    return KD_EVAL_OK;
}

// Accelerations and multipliers behind a jump are those that a consistent start has there; positions and velocities
// stay bit by bit.
static void forces_behind_a_jump(void **state)
{
    (void)state;
    const shape *shapes[] = {&pendulum, &scaled_pendulum};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < METHODS; i++) {
            const method         *m = &methods[i];
            kd_simulation_options opt = options_of(m, 1e-8);
            kd_eom               *eom;
            kd_state             *x, *y;
            if (is_missing(m) || m->integrator == KD_CVODE || m->integrator == KD_ARKODE) continue;
            if (m->formulation == KD_STATESPACE && shapes[k]->scale != 1) continue;
            opt.output = look;
            make_system(shapes[k], &eom, &x);
            assert_int_equal(kd_state_create(eom, &y), KD_OK);
            kd_simulation *s = simulate(eom, &opt, x);
            run_to(s, 0.3);
            kd_state_copy(x, y);
            x->z[0] = y->z[0] = 30;
            go_on(s, RESUMED);
            assert_true(distance(4, x->p, y->p) < 1e-14);
            kd_initial_options initial = kd_initial_options_default();
            assert_true(kd_initial_consistent(eom, NULL, &initial, y, NULL, 0) >= 0);
            // multipliers of forms of higher index are less accurate than the tolerance
            if (distance(2, x->a, y->a) > 1e-3 || fabs(x->lambda[0] - y->lambda[0]) > 0.02)
                fail_msg("%s: a = %g %g, lambda = %g instead of %g %g, %g", words(m), x->a[0], x->a[1], x->lambda[0],
                         y->a[0], y->a[1], y->lambda[0]);
            kd_simulation_destroy(s);
            kd_state_destroy(x);
            kd_state_destroy(y);
            kd_eom_destroy(eom);
        }
    }
}

// A free mass under sampled control of its position: x_(k+1) = x_k + T v_k + T^2 u_k / 2, v_(k+1) = v_k + T u_k.
static kd_eval free_mass(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->z[0];
    return KD_EVAL_OK;
}

static kd_eval unit_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 1;
    return KD_EVAL_OK;
}

static void sampled_control_of_a_mass(void **state)
{
    (void)state;
    const double T = 0.1, Kp = 4, Kd = 3, Ki = 1;
    kd_eom_def   def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nz = 1};
    def.M = unit_mass;
    def.f = free_mass;
    for (int i = 0; i < METHODS; i++) {
        const method         *m = &methods[i];
        kd_simulation_options opt = options_of(m, 1e-9);
        kd_eom               *eom;
        kd_state             *x;
        double                sum = 0;
        if (!m->own || m->formulation == KD_ODASSL) continue;
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        kd_simulation *s = simulate(eom, &opt, x);
        for (int k = 0; k < 100; k++) {
            x->z[0] = Kp * (1 - x->p[0]) - Kd * x->v[0] + Ki * sum;
            sum += T * (1 - x->p[0]);
            go_on(s, RESUMED);
            run_to(s, (k + 1) * T);
        }
        if (fabs(x->p[0] - 1.01440488668887) > 1e-8 || fabs(x->v[0] + 0.00467834026814) > 1e-8)
            fail_msg("%s: x = %.12g, v = %.12g", words(m), x->p[0], x->v[0]);
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// The same controller as part of the equations: z = (u, sum of the errors)
static double next_sample(const kd_point *x, void *context)
{
    (void)context;
    return 0.1 * (floor(10 * x->t + 1e-6) + 1);
}

static kd_eval control(const kd_point *x, void *context, double *z_new)
{
    (void)context;
    z_new[0] = 4 * (1 - x->p[0]) - 3 * x->v[0] + x->z[1];
    z_new[1] = x->z[1] + 0.1 * (1 - x->p[0]);
    return KD_EVAL_OK;
}

// The driver samples a controller that says that it looks at the motion only, and one that does not, with the same
// motion, which is the exact one.
static void sampled_by_the_driver(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        const method         *m = &methods[i];
        kd_simulation_options opt = options_of(m, 1e-9);
        if (!m->own || m->formulation == KD_ODASSL) continue;
        for (int of_motion = 0; of_motion < 2; of_motion++) {
            kd_eom    *eom;
            kd_state  *x;
            kd_eom_def def = kd_eom_def_default();
            def.dims = (kd_dims){.np = 1, .nv = 1, .nz = 2};
            def.M = unit_mass;
            def.f = free_mass;
            def.next_sample = next_sample;
            def.discrete = control;
            def.discrete_of_motion = of_motion;
            assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
            assert_int_equal(kd_state_create(eom, &x), KD_OK);
            kd_simulation *s = simulate(eom, &opt, x);
            run_to(s, 10);
            if (fabs(x->p[0] - 1.01440488668887) > 1e-8 || fabs(x->v[0] + 0.00467834026814) > 1e-8)
                fail_msg("%s, %d: x = %.12g, v = %.12g", words(m), of_motion, x->p[0], x->v[0]);
            assert_int_equal(kd_simulation_events(s, KD_EVENT_SAMPLE), 101);
            kd_simulation_destroy(s);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
    }
}

// Multistep methods keep their order, all methods their step: one step from sample to sample where the motion between
// them is smooth enough for more, from the first sample on.
static void order_and_step_are_kept(void **state)
{
    (void)state;
    const method bdf[] = {{KD_GGL, KD_BDF, true}, {KD_PSF, KD_BDF, true}, {KD_ODE, KD_BDF, true}};
    for (size_t i = 0; i < sizeof bdf / sizeof *bdf; i++) {
        kd_simulation_options opt = options_of(&bdf[i], 1e-6);
        kd_eom               *eom;
        kd_state             *x;
        make_system(&pendulum, &eom, &x);
        kd_simulation *s = simulate(eom, &opt, x);
        run_to(s, 1);
        const kd_stats before = kd_simulation_stats(s);
        for (int k = 1; k <= 200; k++) {
            x->z[0] = 0.2 * cos(0.1 * k);
            go_on(s, RESUMED);
            run_to(s, 1 + 1e-3 * k);
        }
        const kd_stats after = kd_simulation_stats(s);
        if (after.accepted - before.accepted > 202 || after.rejected_error > before.rejected_error + 2)
            fail_msg("%s: %ld steps", words(&bdf[i]), after.accepted - before.accepted);
        if (after.order_last < 2) fail_msg("%s: order %d", words(&bdf[i]), after.order_last);
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// A step that was cut short by a sample is not the measure of the next one.
static void short_steps_are_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        const method         *m = &methods[i];
        kd_simulation_options opt = options_of(m, 1e-6);
        kd_eom               *eom;
        kd_state             *x;
        if (!m->own) continue;
        make_system(&pendulum, &eom, &x);
        kd_simulation *s = simulate(eom, &opt, x);
        run_to(s, 2);
        const long first = kd_simulation_stats(s).accepted;
        run_to(s, 4);
        const long usual = kd_simulation_stats(s).accepted - first;
        go_on(s, RESUMED);
        run_to(s, 4 + 1e-7);
        go_on(s, RESUMED);
        run_to(s, 6);
        const long after = kd_simulation_stats(s).accepted - first - usual;
        if (after > usual + usual / (m->formulation == KD_INDEX3 ? 2 : 4) + 4)
            fail_msg("%s: %ld steps instead of %ld", words(m), after, usual);
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Resuming does not allocate.
static void nothing_is_allocated(void **state)
{
    (void)state;
    failing_allocator count = {0};
    failing_allocator_use(&count);
    for (int i = 0; i < METHODS; i++) {
        const method         *m = &methods[i];
        kd_simulation_options opt = options_of(m, 1e-6);
        kd_eom               *eom;
        kd_state             *x;
        if (!m->own) continue;
        make_system(&pendulum, &eom, &x);
        kd_simulation *s = simulate(eom, &opt, x);
        run_to(s, 0.1);
        const long calls = count.calls;
        x->z[0] = 2;
        go_on(s, RESUMED);
        run_to(s, 0.2);
        if (count.calls != calls) fail_msg("%s allocates", words(m));
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    kd_set_allocator(NULL);
    assert_int_equal(count.live, 0);
}

// An input that jumps outside, without any z: nobody may go on with what was computed at the same point for the last one
static kd_eval pushed_mass(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->u[0];
    return KD_EVAL_OK;
}

static kd_eval given_input(double t, void *context, double *u, double *du, double *ddu)
{
    (void)t;
    u[0] = *(const double *)context;
    du[0] = ddu[0] = 0;
    return KD_EVAL_OK;
}

static void inputs_that_jump_outside(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nu = 1};
    def.M = unit_mass;
    def.f = pushed_mass;
    for (int i = 0; i < 2 * METHODS; i++) {
        const method         *m = &methods[i / 2];
        const double          T = i % 2 == 0 ? 0.01 : 1e-7; // of long and of tiny steps the first derivative is a part
        kd_simulation_options opt = options_of(m, 1e-9);
        double                u = 0, p = 0, v = 0;
        const kd_inputs       inputs = {given_input, &u};
        kd_eom               *eom;
        kd_state             *x;
        kd_simulation        *s;
        char                  message[400];
        if (!m->own || m->formulation == KD_ODASSL) continue;
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        assert_int_equal(kd_simulation_create(eom, &inputs, &opt, x, &s, message, sizeof message), KD_OK);
        for (int k = 0; k < 50; k++) {
            u = 20 * wild(k);
            go_on(s, RESUMED);
            run_to(s, (k + 1) * T);
            p += T * v + 0.5 * T * T * u;
            v += T * u;
            if (fabs(x->v[0] - v) > 1e-7 * 100 * T || fabs(x->p[0] - p) > 1e-7 * 100 * T * T * (k + 1))
                fail_msg("%s, T = %g, step %d: x = %.12g (%.12g), v = %.12g (%.12g)", words(m), T, k, x->p[0], p,
                         x->v[0], v);
        }
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// A resume before the first step is one, too.
static void resume_before_the_first_step(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        const method         *m = &methods[i];
        kd_simulation_options opt = options_of(m, 1e-8);
        double                end[2][4];
        if (is_missing(m)) continue;
        for (int late = 0; late < 2; late++) {
            kd_eom   *eom;
            kd_state *x;
            make_system(&pendulum, &eom, &x);
            x->z[0] = late ? 0 : 7;
            kd_simulation *s = simulate(eom, &opt, x);
            x->z[0] = 7;
            if (late) go_on(s, RESUMED);
            run_to(s, 0.5);
            memcpy(end[late], x->p, sizeof end[late]);
            kd_simulation_destroy(s);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
        if (distance(4, end[0], end[1]) > allowed(m)) fail_msg("%s: %g off", words(m), distance(4, end[0], end[1]));
    }
    assert_int_equal(kd_simulation_resume(NULL), KD_ERR_ARGUMENT);
}

// ---- behind a jump of the state -------------------------------------------------------------------------------------

// From a state with reversed velocities an integrator that keeps its matrices and its step goes the same way as one
// that forgets them, without more work; most need half the Jacobians.
static void kept_matrices_go_the_same_way(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        const method         *m = &methods[i];
        kd_simulation_options opt = options_of(m, 1e-8);
        double                end[2][4];
        long                  jacobians[2], steps[2];
        opt.integrator_options.rtol = opt.integrator_options.atol = 1e-8;
        if (is_missing(m)) continue;
        for (int keep = 0; keep < 2; keep++) {
            kd_eom        *eom;
            kd_state      *x;
            kd_dae        *dae;
            kd_integrator *self;
            double         vector[16];
            make_system(&pendulum, &eom, &x);
            assert_true(kd_initial_consistent(eom, NULL, &opt.initial, x, NULL, 0) >= 0);
            assert_int_equal(kd_formulation_create(eom, NULL, x, m->formulation, NULL, &dae, NULL, 0), KD_OK);
            assert_int_equal(kd_integrator_create(dae, m->integrator, &opt.integrator_options, &self, NULL, 0), KD_OK);
            assert_true(dae->n <= 16);
            kd_formulation_pack(dae, x, vector);
            assert_int_equal(kd_integrator_restart(self, 0, vector, KD_RESTART_FRESH), KD_OK);
            while (kd_integrator_time(self) < 0.4) assert_true(kd_integrator_step(self, 0.4) >= 0);
            for (int hit = 0; hit < 10; hit++) {
                const double t = kd_integrator_time(self), t_end = t + 0.05;
                kd_formulation_unpack(dae, t, kd_integrator_x(self), x);
                for (int k = 0; k < 2; k++) x->v[k] = -0.9 * x->v[k];
                assert_true(kd_initial_consistent(eom, NULL, &opt.initial, x, NULL, 0) >= 0);
                kd_formulation_pack(dae, x, vector);
                assert_int_equal(kd_integrator_restart(self, t, vector, keep ? KD_RESTART_SAME_ROWS : KD_RESTART_FRESH),
                                 KD_OK);
                while (kd_integrator_time(self) < t_end) assert_true(kd_integrator_step(self, t_end) >= 0);
            }
            kd_formulation_unpack(dae, kd_integrator_time(self), kd_integrator_x(self), x);
            memcpy(end[keep], x->p, sizeof end[keep]);
            jacobians[keep] = kd_integrator_stats(self).jacobians;
            steps[keep] = kd_integrator_stats(self).steps;
            kd_integrator_destroy(self);
            kd_dae_destroy(dae);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
        if (distance(4, end[0], end[1]) > allowed(m)) fail_msg("%s: %g off", words(m), distance(4, end[0], end[1]));
        if (m->own && jacobians[1] > jacobians[0] + jacobians[0] / 10)
            fail_msg("%s: %ld Jacobians instead of %ld", words(m), jacobians[1], jacobians[0]);
        if (m->own && steps[1] > steps[0] + steps[0] / 6)
            fail_msg("%s: %ld steps instead of %ld", words(m), steps[1], steps[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_motion_as_with_fresh_starts),
        cmocka_unit_test(samples_without_effect),
        cmocka_unit_test(matrices_are_kept),
        cmocka_unit_test(forces_behind_a_jump),
        cmocka_unit_test(sampled_control_of_a_mass),
        cmocka_unit_test(sampled_by_the_driver),
        cmocka_unit_test(order_and_step_are_kept),
        cmocka_unit_test(short_steps_are_forgotten),
        cmocka_unit_test(nothing_is_allocated),
        cmocka_unit_test(inputs_that_jump_outside),
        cmocka_unit_test(resume_before_the_first_step),
        cmocka_unit_test(kept_matrices_go_the_same_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
