// Point 1 (d) of "never wrong in silence": accepted steps are verified inside. Forces written in C, whose nature nobody
// knows: what happens inside a step is found and resolved; contacts of any stiffness give back the energy.
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

#include "case.h"

// ---- random numbers -------------------------------------------------------------------------------------------------

static uint64_t seed = 88172645463325252u;

static double uniform(double low, double high)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

// equally often in each decade
static double logarithmic(double low, double high)
{
    return low * pow(high / low, uniform(0, 1));
}

// ---- methods --------------------------------------------------------------------------------------------------------

typedef struct method {
    kd_formulation     formulation;
    kd_integrator_kind integrator;
} method;
static const method methods[] = {
    {KD_PSF, KD_RADAU},         {KD_PSF1, KD_RADAU},       {KD_GGL, KD_RADAU},         {KD_ODASSL, KD_RADAU},
    {KD_ODE, KD_RADAU},         {KD_STATESPACE, KD_RADAU}, {KD_INDEX1, KD_RADAU},      {KD_BAUMGARTE1, KD_RADAU},
    {KD_PSF, KD_SDIRK},         {KD_STATESPACE, KD_SDIRK}, {KD_ODE, KD_DOPRI5},        {KD_ODE, KD_DOP853},
    {KD_GGL, KD_BDF},           {KD_ODE, KD_BDF},          {KD_STATESPACE, KD_DOP853}, {KD_ODE, KD_HALF_EXPLICIT},
    {KD_ODE, KD_EXTRAPOLATION}, {KD_ODE, KD_ADAMS},
};
enum { METHODS = sizeof methods / sizeof *methods };

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

// ---- a mass and a smooth pulse in C ---------------------------------------------------------------------------------

typedef struct pulse {
    double mass, size, at, width;
    bool   of_position; // instead of time
} pulse;

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x;
    out[0] = ((pulse *)context)->mass;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    const pulse *s = context;
    double       u = ((s->of_position ? x->p[0] : x->t) - s->at) / s->width;
    out[0] = s->size * exp(-u * u);
    return KD_EVAL_OK;
}

// integral of exp(-u^2) over time or position from 0 to x
static double integral(const pulse *s, double x)
{
    return 0.5 * sqrt(acos(-1)) * s->width * (erf((x - s->at) / s->width) + erf(s->at / s->width));
}

// v at the end over its closed form, in tolerances; status of the run
static double pulse_error(pulse *s, const kd_simulation_options *o, double t_end, kd_verification *found)
{
    kd_eom_def     def = kd_eom_def_default();
    kd_eom        *eom;
    kd_state      *x;
    kd_simulation *simulation;
    char           message[1000];
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.context = s;
    def.M = mass;
    def.f = force;
    assert_int_equal(kd_eom_create(&def, &eom, message, sizeof message), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->v[0] = s->of_position ? 1 : 0;
    if (kd_simulation_create(eom, NULL, o, x, &simulation, message, sizeof message) < 0) fail_msg("%s", message);
    if (kd_simulation_run(simulation, t_end) < 0) fail_msg("%s", kd_simulation_message(simulation));
    double v = s->of_position ? sqrt(1 + 2 * s->size / s->mass * integral(s, x->p[0]))
                              : s->size / s->mass * integral(s, t_end);
    double error = fabs(x->v[0] - v) / (o->rtol * (1 + fabs(v)));
    *found = kd_simulation_verification(simulation);
    kd_simulation_destroy(simulation);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return error;
}

// Pulses of 1/200 to 1/10 of the run, in time and along the way of a mass that nothing else moves, are found by all
// methods at all tolerances: the error is one of tolerances, not of the pulse.
static void pulses_are_found(void **state)
{
    (void)state;
    long redone = 0;
    for (int k = 0; k < 25 * METHODS; k++) {
        const method *m = &methods[k % METHODS];
        pulse         s = {.mass = logarithmic(0.01, 100), .at = uniform(1, 9), .width = logarithmic(0.05, 1)};
        s.of_position = k / METHODS % 2 == 1;
        s.size = s.mass * logarithmic(0.3, 300);
        if (s.of_position) s.size = (k % 4 < 2 ? -1 : 1) * s.mass * logarithmic(0.02, 0.4) / s.width / 2;
        kd_simulation_options o = options_of(m, logarithmic(1e-9, 1e-4));
        kd_verification       found;
        if (m->integrator == KD_BDF) s.width = fmin(s.width, 0.15); // its steps stall in the tails of wide ones
        double error = pulse_error(&s, &o, 10, &found);
        if (!(error < 1000) && found.unverified == 0)
            fail_msg("%s, rtol %.1e, pulse %.3g at %.6g of width %.3g on %.3g kg: error of %.3g tolerances", words(m),
                     o.rtol, s.size, s.at, s.width, s.mass, error);
        assert_true(found.searched);
        redone += found.redone;
    }
    assert_true(redone > 100); // most of them were stepped over at first
}

// Pulses that hid: a stage in their tails made the step look as if accuracy limited it, or they lay behind its very start.
static void tails_hide_no_pulse(void **state)
{
    static const struct {
        method m;
        double tolerance;
        pulse  s;
    } hidden[] = {
        {{KD_ODE, KD_RADAU},
         4.5263812258539612e-09,
         {79.057652817675589, -9.3965118987039364, 4.6573774684940474, 0.18731155611397177, true}},
        {{KD_GGL, KD_RADAU},
         2.4135248664114287e-08,
         {0.021636047567108536, 0.014722859820713504, 6.6882558025206436, 0.21344155541974541, true}},
        {{KD_ODE, KD_DOPRI5},
         1.5068848556176767e-06,
         {0.10049745137259121, 0.049047872478525149, 2.3745559423948635, 0.050524528370828041, true}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof hidden / sizeof *hidden; k++) {
        pulse                 s = hidden[k].s;
        kd_simulation_options o = options_of(&hidden[k].m, hidden[k].tolerance);
        kd_verification       found;
        const double          error = pulse_error(&s, &o, 10, &found);
        if (!(error < 1000)) fail_msg("%s: error of %.3g tolerances", words(&hidden[k].m), error);
    }
}

// Without verification they are stepped over in silence: the test above can fail.
static void pulses_are_missed_otherwise(void **state)
{
    (void)state;
    pulse                 s = {.mass = 1, .size = 100, .at = 5, .width = 0.05};
    kd_simulation_options o = options_of(&methods[0], 1e-6);
    kd_verification       found;
    assert_true(pulse_error(&s, &o, 10, &found) < 1000);
    assert_true(found.redone > 0);
    o.verify = false;
    assert_true(pulse_error(&s, &o, 10, &found) > 1e5);
    assert_false(found.searched);
    assert_non_null(found.why_not);
}

// ---- inputs in C of equations that hide nothing ---------------------------------------------------------------------

static kd_eval pushed(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->u[0];
    return KD_EVAL_OK;
}

static const char *nothing(int i, void *context)
{
    (void)i, (void)context;
    return NULL;
}

// The pulse on top of a slow wave, with its derivatives
static kd_eval pulse_of_time(double t, void *context, double *u, double *du, double *ddu)
{
    const pulse *s = context;
    const double z = (t - s->at) / s->width, e = s->size * exp(-z * z), w = 0.3;
    u[0] = e + s->mass * sin(w * t);
    du[0] = -2 * z / s->width * e + s->mass * w * cos(w * t);
    ddu[0] = (4 * z * z - 2) / (s->width * s->width) * e - s->mass * w * w * sin(w * t);
    return KD_EVAL_OK;
}

// Equations in C may say that they hide nothing. Then only inputs are looked at in long steps: pulses of them are found
// as before, for fewer points of the equations; and the run is searched.
static void pulses_of_inputs_are_found(void **state)
{
    (void)state;
    for (int k = 0; k < 5 * METHODS; k++) {
        const method *m = &methods[k % METHODS];
        pulse         s = {.mass = logarithmic(0.01, 100), .at = uniform(1, 9), .width = logarithmic(0.05, 0.15)};
        kd_simulation_options o = options_of(m, logarithmic(1e-9, 1e-4));
        kd_eom_def            def = kd_eom_def_default();
        kd_inputs             inputs = {pulse_of_time, &s};
        kd_eom               *eom;
        kd_state             *x;
        kd_simulation        *simulation;
        char                  message[1000];
        s.size = s.mass * logarithmic(0.3, 300);
        def.dims = (kd_dims){.np = 1, .nv = 1, .nu = 1};
        def.context = &s;
        def.M = mass;
        def.f = pushed;
        def.unsearched = nothing;
        assert_int_equal(kd_eom_create(&def, &eom, message, sizeof message), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        if (kd_simulation_create(eom, &inputs, &o, x, &simulation, message, sizeof message) < 0)
            fail_msg("%s", message);
        if (kd_simulation_run(simulation, 10) < 0) fail_msg("%s", kd_simulation_message(simulation));
        const double v = s.size / s.mass * integral(&s, 10) + (1 - cos(3)) / 0.3;
        const double error = fabs(x->v[0] - v) / (o.rtol * (1 + fabs(v)));
        if (!(error < 1000) && kd_simulation_verification(simulation).unverified == 0)
            fail_msg("%s, rtol %.1e, pulse %.3g at %.6g of width %.3g: error of %.3g tolerances", words(m), o.rtol,
                     s.size / s.mass, s.at, s.width, error);
        assert_null(kd_simulation_not_searched(simulation, 0));
        kd_simulation_destroy(simulation);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- contacts -------------------------------------------------------------------------------------------------------

typedef struct ball {
    double k, exponent, radius, mass, height;
} ball;

static kd_model *make_ball(const ball *b)
{
    char      text[1000], message[600];
    kd_model *model;
    double    I = 0.4 * b->mass * b->radius * b->radius;
    int       length = snprintf(text, sizeof text,
                                "kardan: 1\n"
                                      "gravity: [0, 0, -9.81]\n"
                                      "bodies:\n"
                                      "  ball: {position: [0, 0, %.17g], mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\n"
                                      "forces:\n"
                                      "  ground: {type: contact, from: ground, to: ball, radius: %.17g, stiffness: %.17g, "
                                      "exponent: %.17g}\n",
                                b->height + b->radius, b->mass, I, I, I, b->radius, b->k, b->exponent);
    if (kd_model_read_text("ball", text, (size_t)length, NULL, 0, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    return model;
}

// Relative error of the energy at the end
static double ball_error(const ball *b, const kd_simulation_options *o, double t_end)
{
    kd_model  *model = make_ball(b);
    kd_system *system;
    kd_state  *x;
    char       message[1000];
    assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    kd_status status =
        kd_simulate(kd_system_eom(system), kd_system_inputs(system), o, x, t_end, NULL, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    double deep = fmax(0, b->radius - x->p[2]), start = 9.81 * b->mass * (b->height + b->radius);
    double energy = 9.81 * b->mass * x->p[2] + 0.5 * b->mass * x->v[2] * x->v[2] +
                    b->k * pow(deep, b->exponent + 1) / (b->exponent + 1);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return fabs(energy - start) / start;
}

static void bounce(const method *m, int count, bool verify)
{
    for (int k = 0; k < count; k++) {
        const ball            b = {.k = logarithmic(1e4, 1e12),
                                   .exponent = k % 2 ? 1 : 1.5,
                                   .radius = logarithmic(0.01, 1),
                                   .mass = logarithmic(0.01, 100),
                                   .height = logarithmic(0.05, 20)};
        kd_simulation_options o = options_of(m, logarithmic(1e-9, 1e-4));
        o.verify = verify;
        double error = ball_error(&b, &o, sqrt(2 * b.height / 9.81) * uniform(4, 12));
        double allowed = fmax(0.1, 3e4 * o.rtol); // impacts add the errors of many tolerances
        if (!(error < allowed))
            fail_msg("%s, rtol %.1e, stiffness %.4g, exponent %g, radius %.3g, mass %.3g, height %.3g: energy %.3g",
                     words(m), o.rtol, b.k, b.exponent, b.radius, b.mass, b.height, error);
    }
}

// An elastic ball keeps its energy on contacts of all stiffnesses, by all methods.
static void contacts_give_back(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++)
        if (methods[i].integrator != KD_BDF) bounce(&methods[i], 6, true);
}

// radau and sdirk themselves do not step over impacts, without anybody who verifies: derivatives of the contact are not
// kept through the flight, and the rate of Newton's method is measured again when steps grow.
static void methods_are_not_blind(void **state)
{
    (void)state;
    bounce(&(const method){KD_PSF, KD_RADAU}, 60, false);
    bounce(&(const method){KD_GGL, KD_RADAU}, 20, false);
    bounce(&(const method){KD_PSF, KD_SDIRK}, 30, false);
}

// A force that jumps: steps shrink until the tolerance resolves it, and the run ends well.
static kd_eval jump(const kd_point *x, void *context, double *out)
{
    const pulse *s = context;
    out[0] = x->t > s->at ? s->size : 0;
    return KD_EVAL_OK;
}

static void jumps_end(void **state)
{
    (void)state;
    for (int k = 0; k < 4 * METHODS; k++) {
        const method         *m = &methods[k % METHODS];
        pulse                 s = {.mass = logarithmic(0.1, 10), .at = uniform(1, 9), .size = logarithmic(1, 1000)};
        kd_eom_def            def = kd_eom_def_default();
        kd_eom               *eom;
        kd_state             *x;
        char                  message[1000];
        kd_simulation_options o = options_of(m, logarithmic(1e-8, 1e-4));
        def.dims = (kd_dims){.np = 1, .nv = 1};
        def.context = &s;
        def.M = mass;
        def.f = jump;
        assert_int_equal(kd_eom_create(&def, &eom, message, sizeof message), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        kd_stats  stats;
        kd_status status = kd_simulate(eom, NULL, &o, x, 10, &stats, message, sizeof message);
        if (status < 0) fail_msg("%s: %s", words(m), message);
        double v = s.size / s.mass * (10 - s.at);
        if (!(fabs(x->v[0] - v) < 2000 * o.rtol * (1 + v)))
            fail_msg("%s, rtol %.1e: v %.9g, right is %.9g", words(m), o.rtol, x->v[0], v);
        assert_true(stats.steps < 2000);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- a pulse behind a stiff past ------------------------------------------------------------------------------------

// A mass that is held stiffly along sin 3t until it is let go
typedef struct held {
    pulse  pulse;
    double stiffness, until, within;
} held;

static kd_eval held_force(const kd_point *x, void *context, double *out)
{
    const held  *s = context;
    const double part = 0.5 * (1 - tanh((x->t - s->until) / s->within)),
                 damping = 2 * sqrt(s->stiffness * s->pulse.mass);
    const kd_eval answer = force(x, context, out);
    out[0] -= part * (s->stiffness * (x->p[0] - sin(3 * x->t)) + damping * (x->v[0] - 3 * cos(3 * x->t)));
    return answer;
}

static double velocity_of_held(held *s, const kd_simulation_options *o)
{
    kd_eom_def def = kd_eom_def_default();
    kd_eom    *eom;
    kd_state  *x;
    char       message[1000] = "";
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.context = s;
    def.M = mass;
    def.f = held_force;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->v[0] = 3;
    if (kd_simulate(eom, NULL, o, x, 10, NULL, message, sizeof message) < 0) fail_msg("%s", message);
    const double v = x->v[0];
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return v;
}

// What was excused while forces were stiff is an error when they have gone: the velocity that a pulse gives later is
// right, thousands of tolerances.
static void a_stiff_past_hides_no_pulse(void **state)
{
    static const kd_formulation forms[] = {KD_PSF, KD_ODE, KD_GGL, KD_STATESPACE};
    (void)state;
    for (int k = 0; k < 24; k++) {
        const method          m = {forms[k % 4], KD_RADAU};
        kd_simulation_options o = options_of(&m, 1e-6);
        held         s = {.pulse = {.mass = logarithmic(0.3, 3), .at = uniform(6.5, 8.5), .width = uniform(0.1, 0.2)},
                          .stiffness = logarithmic(1e6, 1e12),
                          .until = uniform(2, 5),
                          .within = 0.05};
        const double before = velocity_of_held(&s, &o), gain = uniform(0.01, 0.1);
        s.pulse.size = gain * s.pulse.mass / (sqrt(acos(-1)) * s.pulse.width);
        const double v = velocity_of_held(&s, &o) - before;
        if (!(fabs(v - gain) < 1e-3)) fail_msg("%s, stiffness %g: %g instead of %g", words(&m), s.stiffness, v, gain);
    }
}

int main(void)
{
    seed += test_seed(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pulses_are_found),
        cmocka_unit_test(tails_hide_no_pulse),
        cmocka_unit_test(pulses_are_missed_otherwise),
        cmocka_unit_test(pulses_of_inputs_are_found),
        cmocka_unit_test(contacts_give_back),
        cmocka_unit_test(methods_are_not_blind),
        cmocka_unit_test(jumps_end),
        cmocka_unit_test(a_stiff_past_hides_no_pulse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
