// Instants: exact times of impacts, samples and breaks with every formulation and integrator; order of what happens at
// one instant; chattering; no allocation.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <kardan/kardan.h>

#include "core/failing_allocator.h"

// ---- helpers --------------------------------------------------------------------------------------------------------

enum { EVENTS = 400 };

typedef struct story {
    int           n;
    double        t[EVENTS], v_before[EVENTS], v_after[EVENTS], z_after[EVENTS];
    kd_event_kind kind[EVENTS];
    int           direction[EVENTS];
    char          text[200]; // of the last one
} story;

static kd_eval listen(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    story *l = context;
    assert_true(l->n < EVENTS);
    l->t[l->n] = event->t;
    l->kind[l->n] = event->kind;
    l->direction[l->n] = event->direction;
    l->v_before[l->n] = before->v[0];
    l->v_after[l->n] = after->v[0];
    if (after->z != (const double *)(const void *)after->active_lambda) l->z_after[l->n] = after->z[0];
    assert_true(strlen(event->text) < sizeof l->text);
    strcpy(l->text, event->text);
    l->n++;
    return KD_EVAL_OK;
}

static kd_simulation_options options(double tolerance, story *l)
{
    kd_simulation_options opt = kd_simulation_options_default();
    opt.rtol = opt.atol = tolerance;
    opt.events.listener = l ? listen : NULL;
    opt.events.context = l;
    if (l) memset(l, 0, sizeof *l);
    return opt;
}

static kd_eom *make(const kd_eom_def *def)
{
    kd_eom *eom;
    char    message[300];
    if (kd_eom_create(def, &eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    return eom;
}

static kd_state *make_state(const kd_eom *eom)
{
    kd_state *x;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    return x;
}

static void run(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt, kd_state *x, double t_end)
{
    char      message[1000];
    kd_status status = kd_simulate(eom, inputs, opt, x, t_end, NULL, message, sizeof message);
    if (status < 0) print_error("%s: %s\n", kd_status_name(status), message);
    assert_true(status >= 0);
}

// formulations and integrators that go together
typedef struct combination {
    kd_formulation form;
    kd_integrator  integrator;
} combination;

static const combination all_methods[] = {
    {KD_PSF, KD_RADAU},        {KD_PSF, KD_BDF},    {KD_GGL, KD_RADAU},      {KD_GGL, KD_BDF},
    {KD_GGL, KD_IDA},          {KD_PSF1, KD_RADAU}, {KD_ODASSL, KD_BDF},     {KD_INDEX3, KD_RADAU},
    {KD_INDEX2, KD_RADAU},     {KD_INDEX1, KD_BDF}, {KD_BAUMGARTE1, KD_BDF}, {KD_BAUMGARTE2, KD_RADAU},
    {KD_PSF, KD_SDIRK},        {KD_ODE, KD_RADAU},  {KD_ODE, KD_CVODE},      {KD_ODE, KD_ARKODE},
    {KD_ODE, KD_DOPRI5},       {KD_ODE, KD_DOP853}, {KD_ODE, KD_EXTRAPOLATION},
    {KD_ODE, KD_HALF_EXPLICIT}, {KD_STATESPACE, KD_RADAU}, {KD_STATESPACE, KD_DOPRI5}, {KD_STATESPACE, KD_BDF},
};
enum { METHODS = sizeof all_methods / sizeof *all_methods };

static bool use(kd_simulation_options *opt, combination c)
{
    opt->formulation = c.form;
    opt->integrator = c.integrator;
#ifndef KD_TEST_WITHOUT_SUNDIALS
    return true;
#else
    return c.integrator != KD_IDA && c.integrator != KD_CVODE && c.integrator != KD_ARKODE;
#endif
}

static const char *words(combination c)
{
    static char text[80];
    snprintf(text, sizeof text, "%s, %s", kd_formulation_word(c.form), kd_integrator_word(c.integrator));
    return text;
}

// ---- bouncing ball --------------------------------------------------------------------------------------------------

typedef struct ball {
    double g, e;
    bool   stop;
    int    calls;
} ball;

static kd_eval unit_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval weight(const kd_point *x, void *context, double *f)
{
    (void)x;
    f[0] = -((ball *)context)->g;
    return KD_EVAL_OK;
}

static kd_eval height(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0];
    return KD_EVAL_OK;
}

static kd_eval bounce(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    ball *b = context;
    b->calls++;
    assert_true(crossed[0] == -1 && x->p[0] <= 1e-12 && x->v[0] < 0);
    jump->v[0] = -b->e * x->v[0];
    jump->moved = true;
    jump->stop = b->stop;
    snprintf(jump->text, sizeof jump->text, "the ball hit the floor at %.2f m/s", -x->v[0]);
    return KD_EVAL_OK;
}

static kd_eom_def ball_def(ball *b)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nswitch = 1};
    def.context = b;
    def.M = unit_mass;
    def.f = weight;
    def.switching = height;
    def.event = bounce;
    def.mass_structure = KD_MASS_FULL_CONSTANT;
    return def;
}

static double impact_time(double e, int n) // drop from 1 m
{
    double t1 = sqrt(2 / 9.81);
    return t1 * (1 + 2 * (e - pow(e, n)) / (1 - e));
}

// A ball that an event sends back: all impacts to 1e-10, each once, with every integrator.
static void impacts_are_exact(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        ball                  b = {9.81, 0.8, false, 0};
        kd_eom_def            def = ball_def(&b);
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        story                   l;
        kd_simulation_options opt = options(1e-9, &l);
        if (!use(&opt, all_methods[k])) continue;
        x->p[0] = 1;
        run(eom, NULL, &opt, x, 3.6);
        bool good = l.n == 10;
        for (int i = 0; i < 10 && good; i++) good = fabs(l.t[i] - impact_time(0.8, i + 1)) < 1e-9;
        double worst = 0;
        for (int i = 0; i < l.n && i < 10; i++) worst = fmax(worst, fabs(l.t[i] - impact_time(0.8, i + 1)));
        print_message("%s: %d impacts, worst %g\n", words(all_methods[k]), l.n, worst);
        (void)good;
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impacts_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
