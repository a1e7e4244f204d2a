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
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
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
    kd_formulation     form;
    kd_integrator_kind integrator;
} combination;

static const combination all_methods[] = {
    {KD_PSF, KD_RADAU},        {KD_PSF, KD_BDF},           {KD_GGL, KD_RADAU},         {KD_GGL, KD_BDF},
    {KD_GGL, KD_IDA},          {KD_PSF1, KD_RADAU},        {KD_ODASSL, KD_BDF},        {KD_INDEX3, KD_RADAU},
    {KD_INDEX2, KD_RADAU},     {KD_INDEX1, KD_BDF},        {KD_BAUMGARTE1, KD_BDF},    {KD_BAUMGARTE2, KD_RADAU},
    {KD_PSF, KD_SDIRK},        {KD_ODE, KD_RADAU},         {KD_ODE, KD_CVODE},         {KD_ODE, KD_ARKODE},
    {KD_ODE, KD_DOPRI5},       {KD_ODE, KD_DOP853},        {KD_ODE, KD_EXTRAPOLATION}, {KD_ODE, KD_HALF_EXPLICIT},
    {KD_STATESPACE, KD_RADAU}, {KD_STATESPACE, KD_DOPRI5}, {KD_STATESPACE, KD_BDF},    {KD_ODE, KD_ADAMS},
};
enum { METHODS = sizeof all_methods / sizeof *all_methods };

static bool use(kd_simulation_options *opt, combination c)
{
    opt->formulation = c.form;
    opt->integrator = c.integrator;
    return kd_integrator_about(c.integrator, NULL)->available;
}

static bool is_multistep(kd_integrator_kind integrator)
{
    return integrator == KD_BDF || integrator == KD_IDA || integrator == KD_CVODE || integrator == KD_ADAMS;
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
    if (!(crossed[0] == -1 && x->p[0] <= 1e-12 && x->v[0] < 0))
        fail_msg("t = %.17g: crossed %d, p %g, v %g", x->t, crossed[0], x->p[0], x->v[0]);
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

// A ball that an event sends back: all impacts to 1e-10 (bdf, whose starts take x'' from short differences, to 2e-10), each
// once, with every integrator.
static void impacts_are_exact(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        ball                  b = {9.81, 0.8, false, 0};
        kd_eom_def            def = ball_def(&b);
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        story                 l;
        bool                  sundials = all_methods[k].integrator == KD_IDA || all_methods[k].integrator == KD_CVODE;
        kd_simulation_options opt = options(sundials ? 1e-13 : 1e-9, &l);
        if (!use(&opt, all_methods[k])) continue;
        x->p[0] = 1;
        run(eom, NULL, &opt, x, 3.6);
        double worst = 0;
        for (int i = 0; i < l.n && i < 10; i++) {
            worst = fmax(worst, fabs(l.t[i] - impact_time(0.8, i + 1)));
            assert_true(l.kind[i] == KD_EVENT_SWITCH && l.direction[i] == -1);
            assert_true(fabs(l.v_after[i] + 0.8 * l.v_before[i]) < 1e-12);
            assert_true(fabs(l.v_after[i] - pow(0.8, i + 1) * sqrt(2 * 9.81)) < 1e-8);
        }
        const double most = all_methods[k].integrator == KD_BDF ? 2e-10 : 1e-10;
        if (l.n != 10 || worst > most) print_error("%s: %d impacts, worst %g\n", words(all_methods[k]), l.n, worst);
        assert_true(l.n == 10 && b.calls == 10 && worst <= most);
        assert_string_equal(l.text, "the ball hit the floor at 0.59 m/s");
        // behind the last one
        double s = 3.6 - impact_time(0.8, 10), v = pow(0.8, 10) * sqrt(2 * 9.81);
        assert_true(x->t == 3.6 && fabs(x->p[0] - (v * s - 0.5 * 9.81 * s * s)) < 1e-9);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

static kd_eval falling_height(const kd_point *x, void *context, double *out) // of a ball thrown through a band
{
    (void)context;
    out[0] = 1.2 - x->p[0];
    return KD_EVAL_OK;
}

static kd_eval falling_bounds(const kd_point *x0, const kd_point *x1, void *context, double *lower, double *upper)
{
    double h = x1->t - x0->t, g = ((ball *)context)->g;
    lower[0] = 1.2 - fmax(x0->p[0], x1->p[0]) - 0.125 * g * h * h;
    upper[0] = 1.2 - fmin(x0->p[0], x1->p[0]);
    return KD_EVAL_OK;
}

static kd_eval only_watch(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    (void)x, (void)jump;
    ((ball *)context)->calls += crossed[0] != 0;
    return KD_EVAL_OK;
}

// Peers and extrapolation begin with their own first step.
static bool first_step_is_free(kd_integrator_kind kind)
{
    return kind != KD_IDA && kind != KD_CVODE && kind != KD_ARKODE && kind != KD_EXTRAPOLATION;
}

// A throw that passes a height upwards and downwards inside one step: both crossings, each once, at the exact times;
// a throw that stays below by a millionth of a metre has none.
static void double_crossings(void **state)
{
    (void)state;
    for (int bounds = 0; bounds < 2; bounds++) {
        for (int touch = 0; touch < 3; touch++) {
            for (int k = 0; k < METHODS; k++) {
                // multistep methods of this tolerance leave more than a millionth
                bool   multistep = is_multistep(all_methods[k].integrator);
                double loose = multistep ? 1e-5 : 0;
                if (multistep && touch > 0) continue;
                ball       b = {9.81, 1, false, 0};
                kd_eom_def def = ball_def(&b);
                def.switching = falling_height;
                def.event = only_watch;
                if (bounds) def.switch_bounds = falling_bounds;
                kd_eom               *eom = make(&def);
                kd_state             *x = make_state(eom);
                story                 l;
                kd_simulation_options opt = options(1e-6, &l);
                if (!use(&opt, all_methods[k])) continue;
                if (first_step_is_free(opt.integrator)) opt.integrator_options.h_first = 1;
                // highest point: 1.2 + rise
                double rise = touch == 0 ? 0.05 : touch == 1 ? 1e-6 : -1e-6;
                x->v[0] = sqrt(2 * 9.81 * (1.2 + rise));
                double top = x->v[0] / 9.81;
                run(eom, NULL, &opt, x, 1);
                double half = rise > 0 ? sqrt(2 * rise / 9.81) : 0;
                int    n = rise > 0 ? 2 : 0;
                if (l.n != n || (n > 0 && !(fabs(l.t[0] - (top - half)) < 1e-10 + loose &&
                                            fabs(l.t[1] - (top + half)) < 1e-10 + loose))) {
                    print_error("%s, bounds %d, rise %g: %d crossings (%g, %g)\n", words(all_methods[k]), bounds, rise,
                                l.n, l.n > 0 ? l.t[0] - top + half : 0, l.n > 1 ? l.t[1] - top - half : 0);
                    fail();
                }
                if (n == 2) assert_true(l.direction[0] == -1 && l.direction[1] == 1);
                kd_state_destroy(x);
                kd_eom_destroy(eom);
            }
        }
    }
}

// ---- samples --------------------------------------------------------------------------------------------------------

// Section 3 and 4 of the test problems: z = [held output u, integral]
typedef struct loop {
    double m, d, Ts, Kp, Kd, Ki;
    bool   speed; // control of the speed, otherwise of the position
    int    samples;
} loop;

static kd_eval loop_mass(const kd_point *x, void *context, double *M)
{
    (void)x;
    M[0] = ((loop *)context)->m;
    return KD_EVAL_OK;
}

static kd_eval loop_force(const kd_point *x, void *context, double *f)
{
    f[0] = -((loop *)context)->d * x->v[0] + x->z[0];
    return KD_EVAL_OK;
}

static double loop_next(const kd_point *x, void *context)
{
    double Ts = ((loop *)context)->Ts;
    return Ts * (floor(x->t / Ts + 1e-9) + 1);
}

static kd_eval loop_sample(const kd_point *x, void *context, double *z)
{
    loop  *l = context;
    double k = floor(x->t / l->Ts + 0.5), error = 1 - (l->speed ? x->v[0] : x->p[0]);
    assert_true(x->t == k * l->Ts && (int)k == l->samples); // at the exact time, none twice, none left out
    l->samples++;
    z[0] = l->Kp * error - l->Kd * x->v[0] + l->Ki * x->z[1];
    z[1] = x->z[1] + l->Ts * error;
    return KD_EVAL_OK;
}

static kd_eom_def loop_def(loop *l)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nz = 2};
    def.context = l;
    def.M = loop_mass;
    def.f = loop_force;
    def.next_sample = loop_next;
    def.discrete = loop_sample;
    return def;
}

// Sampled PI control of a speed and PID control of a position follow the exact discrete solution at every end of a run,
// whichever way the time is cut into runs; sample 200 at 10 s.
static void sampled_control(void **state)
{
    (void)state;
    for (int speed = 0; speed < 2; speed++) {
        for (int k = 0; k < METHODS; k++) {
            loop           l = speed ? (loop){2, 1, 0.05, 8, 0, 4, true, 0} : (loop){1, 0, 0.1, 4, 3, 1, false, 0};
            kd_eom_def     def = loop_def(&l);
            kd_eom        *eom = make(&def);
            kd_state      *x = make_state(eom);
            kd_simulation *s;
            kd_simulation_options opt = options(1e-9, NULL);
            if (!use(&opt, all_methods[k])) continue;
            assert_true(kd_simulation_create(eom, NULL, &opt, x, &s, NULL, 0) >= 0);
            assert_int_equal(l.samples, 1);
            double p = 0, v = 0, z = 0, a = exp(-l.d * l.Ts / l.m), u = 0, worst = 0;
            double bound = is_multistep(opt.integrator) ? 2e-6 : 1e-8;
            for (int i = 0; i <= 10 / l.Ts + 0.5; i++) {
                double error = 1 - (speed ? v : p);
                if (i % 7 == 0 || i == 200 || i == 100) assert_true(kd_simulation_run(s, i * l.Ts) >= 0);
                if (x->t == i * l.Ts) worst = fmax(worst, fmax(fabs(x->v[0] - v), speed ? 0 : fabs(x->p[0] - p)));
                if (x->t == i * l.Ts) worst = fmax(worst, fabs(x->z[1] - (z + l.Ts * error)));
                u = l.Kp * error - l.Kd * v + l.Ki * z;
                z += l.Ts * error;
                if (speed) {
                    v = a * v + (1 - a) / l.d * u;
                } else {
                    p += l.Ts * v + l.Ts * l.Ts * u / (2 * l.m);
                    v += l.Ts * u / l.m;
                }
                if (speed && i == 39) assert_true(fabs(v - 1.00059416895586) < 1e-12); // the published table
                if (!speed && i == 49) assert_true(fabs(p - 1.07257413865329) < 1e-12);
            }
            if (!(worst < bound)) print_error("%s, %s: %g\n", words(all_methods[k]), speed ? "PI" : "PID", worst);
            assert_true(worst < bound && x->t == 10);
            assert_int_equal(l.samples, speed ? 201 : 101);
            assert_int_equal(kd_simulation_events(s, KD_EVENT_SAMPLE), l.samples); // with that at the start
            kd_simulation_destroy(s);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
    }
}

// ---- breaks ---------------------------------------------------------------------------------------------------------

static const double jump_time = 0.3;

static kd_eval oscillator_force(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -100 * x->p[0] + x->u[0];
    return KD_EVAL_OK;
}

static kd_eval jumping_input(double t, void *context, double *u, double *du, double *ddu)
{
    (void)context;
    u[0] = t < jump_time ? 0 : 50;
    du[0] = ddu[0] = 0;
    return KD_EVAL_OK;
}

static double jump_break(const kd_point *x, void *context)
{
    (void)context;
    return x->t < jump_time ? jump_time : HUGE_VAL;
}

typedef struct limits {
    int    n;
    double t[2000], a[2000];
    bool   at_time[2000];
} limits;

static kd_eval watch_limits(const kd_state *x, bool at_time, void *context)
{
    limits *l = context;
    assert_true(l->n < 2000 && (l->n == 0 || x->t >= l->t[l->n - 1]));
    l->t[l->n] = x->t;
    l->a[l->n] = x->a[0];
    l->at_time[l->n++] = at_time;
    return KD_EVAL_OK;
}

// An input that jumps: no step crosses the jump, the exact solution is met to the tolerance, output shows both limits
// of the acceleration, and the wanted time at the jump the one from the right.
static void breaks_are_landed_on(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 1, .nv = 1, .nu = 1};
        def.M = unit_mass;
        def.f = oscillator_force;
        def.next_break = jump_break;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        kd_inputs             inputs = {jumping_input, NULL};
        story                 l;
        static limits         seen;
        kd_simulation_options opt = options(1e-9, &l);
        double                times[] = {0.1, 0.3, 0.5};
        if (!use(&opt, all_methods[k])) continue;
        seen.n = 0;
        opt.output = watch_limits;
        opt.context = &seen;
        opt.times = times;
        opt.ntimes = 3;
        x->p[0] = 0.1;
        run(eom, &inputs, &opt, x, 1);
        assert_true(l.n == 1 && l.t[0] == 0.3 && l.kind[0] == KD_EVENT_BREAK);
        // p = 0.1 cos 10 t, then about 0.5
        double c = 0.1 * cos(3) - 0.5, w = -sin(3) * 0.1, p = 0.5 + c * cos(7) + w * sin(7);
        double bound = is_multistep(opt.integrator) ? 1e-6 : 1e-7;
        if (!(fabs(x->p[0] - p) < bound)) print_error("%s: %g\n", words(all_methods[k]), x->p[0] - p);
        assert_true(fabs(x->p[0] - p) < bound);
        int at = 0;
        while (seen.t[at] < 0.3 - 1e-12) at++;
        assert_true(seen.t[at] < 0.3 && seen.t[at + 1] == 0.3 && seen.t[at + 2] == 0.3 && seen.t[at + 3] > 0.3);
        assert_true(fabs(seen.a[at + 1] - seen.a[at] - 50) < 1e-4 && seen.a[at + 2] == seen.a[at + 1]);
        assert_true(!seen.at_time[at] && seen.at_time[at + 1] && !seen.at_time[at + 2]);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- order ----------------------------------------------------------------------------------------------------------

static double sample_with_impact(const kd_point *x, void *context)
{
    (void)context;
    double t1 = impact_time(0.8, 1), t2 = impact_time(0.8, 2);
    return x->t < t1 ? t1 : x->t < t2 ? t2 : HUGE_VAL;
}

static kd_eval take_speed(const kd_point *x, void *context, double *z)
{
    (void)context;
    if (x->t > 0) z[0] = x->v[0];
    return KD_EVAL_OK;
}

// A sample at the time of an impact sees the state behind it (section 6 of the test problems).
static void samples_see_events(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        ball       b = {9.81, 0.8, false, 0};
        kd_eom_def def = ball_def(&b);
        def.dims.nz = 1;
        def.next_sample = sample_with_impact;
        def.discrete = take_speed;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        story                 l;
        kd_simulation_options opt = options(is_multistep(all_methods[k].integrator) ? 1e-12 : 1e-9, &l);
        if (!use(&opt, all_methods[k])) continue;
        opt.events.samples = true;
        opt.events.accuracy = 1e-8; // simultaneous: the impact is as exact as the tolerance
        x->p[0] = 1;
        run(eom, NULL, &opt, x, 1.3);
        if (l.n != 4) print_error("%s: %d, %.17g %.17g\n", words(all_methods[k]), l.n, l.t[0], l.t[1]);
        assert_true(l.n == 4);
        for (int i = 0; i < 2; i++) {
            assert_true(l.kind[2 * i] == KD_EVENT_SWITCH && l.kind[2 * i + 1] == KD_EVENT_SAMPLE);
            assert_true(l.t[2 * i] == impact_time(0.8, i + 1) && l.t[2 * i + 1] == l.t[2 * i]);
            assert_true(fabs(l.z_after[2 * i + 1] - pow(0.8, i + 1) * sqrt(2 * 9.81)) < 1e-6);
        }
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// An event ends the run with KD_STOPPED and words; going on continues behind the event.
static void events_stop(void **state)
{
    (void)state;
    ball                  b = {9.81, 0.8, true, 0};
    kd_eom_def            def = ball_def(&b);
    kd_eom               *eom = make(&def);
    kd_state             *x = make_state(eom);
    kd_simulation        *s;
    kd_simulation_options opt = options(1e-9, NULL);
    x->p[0] = 1;
    assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &s, NULL, 0), KD_OK);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(kd_simulation_run(s, 2), KD_STOPPED);
        assert_true(fabs(x->t - impact_time(0.8, i)) < 1e-10 && x->v[0] > 0);
        assert_non_null(strstr(kd_simulation_message(s), "the ball hit the floor at"));
    }
    assert_int_equal(kd_simulation_run(s, 2), KD_OK);
    assert_int_equal(kd_simulation_events(s, KD_EVENT_SWITCH), 3);
    kd_simulation_destroy(s);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- chattering -----------------------------------------------------------------------------------------------------

static kd_eval relay_rate(const kd_point *x, void *context, double *b)
{
    (void)context;
    b[0] = x->z[0];
    return KD_EVAL_OK;
}

static kd_eval relay_error(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->r[0];
    return KD_EVAL_OK;
}

static kd_eval relay_event(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    (void)x, (void)context;
    jump->z[0] = -crossed[0];
    return KD_EVAL_OK;
}

static const char *relay_name(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_SWITCH ? "error of the relay" : NULL;
}

// A relay without dead band, and a ball that never comes to rest: both end with words that name the function, and not
// in an endless loop.
static void chattering_ends(void **state)
{
    (void)state;
    char message[1000];
    for (int k = 0; k < METHODS; k++) {
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 1, .nv = 1, .nr = 1, .nz = 1, .nswitch = 1};
        def.M = unit_mass;
        def.f = weight;
        def.b = relay_rate;
        def.switching = relay_error;
        def.event = relay_event;
        def.name = relay_name;
        ball b = {9.81, 0.8, false, 0};
        def.context = &b;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        kd_simulation_options opt = options(1e-6, NULL);
        if (!use(&opt, all_methods[k])) continue;
        x->r[0] = 0.5;
        x->z[0] = -1;
        kd_status status = kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message);
        if (status != KD_ERR_CHATTER)
            print_error("%s: %s, %s\n", words(all_methods[k]), kd_status_name(status), message);
        assert_int_equal(status, KD_ERR_CHATTER);
        assert_non_null(strstr(message, "error of the relay"));
        assert_non_null(strstr(message, "t = 0.5"));
        assert_true(fabs(x->t - 0.5) < 1e-5);
        kd_state_destroy(x);
        kd_eom_destroy(eom);

        // flights below the tolerance: only methods that are exact for parabolas resolve them
        if (is_multistep(opt.integrator)) continue;
        def = ball_def(&b);
        eom = make(&def);
        x = make_state(eom);
        x->p[0] = 1;
        status = kd_simulate(eom, NULL, &opt, x, 5, NULL, message, sizeof message);
        if (status != KD_ERR_CHATTER)
            print_error("%s: %s, %s\n", words(all_methods[k]), kd_status_name(status), message);
        assert_int_equal(status, KD_ERR_CHATTER);
        assert_true(fabs(x->t - impact_time(0.8, 1) * 9) < 1e-4);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- events with constraints ----------------------------------------------------------------------------------------

static kd_eval rod_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 2;
    return KD_EVAL_OK;
}

static kd_eval rod_force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    f[1] = -2 * 9.81;
    return KD_EVAL_OK;
}

static kd_eval rod_length(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 0.5 * (x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1);
    return KD_EVAL_OK;
}

static kd_eval rod_stop(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = atan2(x->p[0], -x->p[1]) + 0.3;
    return KD_EVAL_OK;
}

static kd_eval rod_bounce(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    (void)context;
    assert_int_equal(crossed[0], -1);
    for (int i = 0; i < 2; i++) jump->v[i] = -0.7 * x->v[i];
    jump->moved = true;
    return KD_EVAL_OK;
}

// Pendulum with a stop, a mass point with a rod (index 3): impact times of elliptic integrals in every formulation.
static void impacts_with_constraints(void **state)
{
    (void)state;
    static const double times[] = {0.636375398716223335, 1.95380341134222952, 3.35390204401843567, 4.85825288596778513,
                                   6.47219706421657315};
    for (int k = 0; k < METHODS; k++) {
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .nswitch = 1};
        def.M = rod_mass;
        def.f = rod_force;
        def.g = rod_length;
        def.switching = rod_stop;
        def.event = rod_bounce;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        story                 l;
        kd_simulation_options opt = options(all_methods[k].integrator == KD_IDA ? 1e-7 : 1e-10, &l);
        if (!use(&opt, all_methods[k])) continue;
        x->p[0] = sin(1);
        x->p[1] = -cos(1);
        run(eom, NULL, &opt, x, 7);
        double worst = 0;
        for (int i = 0; i < l.n && i < 5; i++) worst = fmax(worst, fabs(l.t[i] - times[i]));
        double bound = opt.integrator == KD_IDA || opt.integrator == KD_CVODE ? 1e-5 : 2e-8;
        if (l.n != 5 || worst > bound) print_error("%s: %d impacts, worst %g\n", words(all_methods[k]), l.n, worst);
        assert_true(l.n == 5 && worst <= bound);
        assert_true(fabs(hypot(x->p[0], x->p[1]) - 1) < 1e-7);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- rows that come and go ------------------------------------------------------------------------------------------

static const double floor_restitution[] = {0.8};

// A ball on a one-sided row: all impacts to 1e-10, then it rests at the end of infinitely many, and the floor carries
// its weight.
static void ball_comes_to_rest(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        ball       b = {9.81, 0, false, 0};
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 1, .nv = 1, .nlambda = 1};
        def.context = &b;
        def.M = unit_mass;
        def.f = weight;
        def.g = height;
        def.restitution = floor_restitution;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        story                 l;
        bool                  multistep = is_multistep(all_methods[k].integrator);
        kd_simulation_options opt = options(multistep ? 1e-12 : 1e-9, &l);
        if (!use(&opt, all_methods[k])) continue;
        opt.events.rest = 1e-4;
        x->p[0] = 1;
        run(eom, NULL, &opt, x, 5);
        double worst = 0;
        for (int i = 0; i < l.n && i < 10; i++) {
            assert_int_equal(l.kind[i], KD_EVENT_IMPACT);
            worst = fmax(worst, fabs(l.t[i] - impact_time(0.8, i + 1)));
        }
        bool good = l.n > 20 && l.kind[l.n - 1] == KD_EVENT_REST && worst < (multistep ? 1e-8 : 1e-10) &&
                    fabs(l.t[l.n - 1] - 9 * impact_time(0.8, 1)) < 1e-3 && fabs(x->p[0]) < 1e-9 &&
                    fabs(x->v[0]) < 1e-9 && fabs(x->lambda[0] + 9.81) < 1e-6;
        if (!good)
            print_error("%s: %d events, worst %g, last %s at %.9g, p %g, lambda %g\n", words(all_methods[k]), l.n,
                        worst, kd_event_word(l.kind[l.n - 1]), l.t[l.n - 1], x->p[0], x->lambda[0]);
        assert_true(good);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

static kd_eval counted_weight(const kd_point *x, void *context, double *f)
{
    ((ball *)context)->calls++;
    return weight(x, context, f);
}

// While no row holds, a one-sided row costs no more forces than a function of positions that is watched: accelerations
// are not solved for along the steps. The start and the events of both differ.
static void flights_need_no_accelerations(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        int calls[2];
        for (int row = 0; row < 2; row++) {
            ball       b = {9.81, 0, false, 0};
            kd_eom_def def = kd_eom_def_default();
            def.dims = row ? (kd_dims){.np = 1, .nv = 1, .nlambda = 1} : (kd_dims){.np = 1, .nv = 1, .nswitch = 1};
            def.context = &b;
            def.M = unit_mass;
            def.f = counted_weight;
            if (row) {
                def.g = height;
                def.restitution = floor_restitution;
            } else {
                def.switching = height;
                def.event = bounce;
                def.zero[KD_SWITCH] = 1u << KD_A | 1u << KD_W | 1u << KD_LAMBDA | 1u << KD_MU;
            }
            kd_eom               *eom = make(&def);
            kd_state             *x = make_state(eom);
            kd_simulation_options opt = options(1e-6, NULL);
            bool                  there = use(&opt, all_methods[k]);
            x->p[0] = 1000;
            if (there) run(eom, NULL, &opt, x, 10);
            calls[row] = b.calls;
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
        if (all_methods[k].integrator == KD_IDA || all_methods[k].integrator == KD_HALF_EXPLICIT)
            continue; // other steps
        // at the instants dense output of bdf is moved onto the constraints, for which it solves
        // and Adams methods begin with steps that are estimated anew
        const kd_integrator_kind kind = all_methods[k].integrator;
        int                      more = kind == KD_BDF || kind == KD_ADAMS ? 12 : 7;
        if (calls[1] > calls[0] + more)
            fail_msg("%s: %d forces with a function, %d with a row", words(all_methods[k]), calls[0], calls[1]);
    }
}

// Section 2 of the test problems: a mass on a belt, h = v - 0.1
static kd_eval belt_force(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -100 * x->p[0] - 6 * x->z[0];
    return KD_EVAL_OK;
}

static kd_eval belt_row(const kd_point *x, void *context, double *h)
{
    (void)context;
    h[0] = x->v[0] - 0.1;
    return KD_EVAL_OK;
}

static kd_eval belt_limit(const kd_point *x, void *context, double *limit)
{
    (void)x, (void)context;
    limit[0] = 10;
    return KD_EVAL_OK;
}

static const int belt_friction[] = {0};

// Stick-slip on a belt: the switching times of the closed form to 1e-10.
static void stick_and_slip(void **state)
{
    (void)state;
    static const double times[] = {1, 1.3631549979843522, 2.1631549979843525, 2.5263099959687043};
    for (int k = 0; k < METHODS; k++) {
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 1, .nv = 1, .nmu = 1, .nz = 1};
        def.M = unit_mass;
        def.f = belt_force;
        def.h = belt_row;
        def.friction = belt_friction;
        def.breakaway = belt_limit;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        story                 l;
        bool                  multistep = is_multistep(all_methods[k].integrator);
        kd_simulation_options opt = options(1e-10, &l);
        if (!use(&opt, all_methods[k])) continue;
        x->v[0] = 0.1;
        run(eom, NULL, &opt, x, 3);
        double worst = 0;
        for (int i = 0; i < l.n && i < 4; i++) {
            worst = fmax(worst, fabs(l.t[i] - times[i]));
            assert_int_equal(l.kind[i], i % 2 == 0 ? KD_EVENT_SLIDE : KD_EVENT_STICK);
        }
        bool good = l.n == 4 && worst < (multistep ? 1e-6 : 1e-9);
        if (!good) print_error("%s: %d events, worst %g\n", words(all_methods[k]), l.n, worst);
        assert_true(good);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// No event, sample or break allocates.
static void nothing_is_allocated(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .nswitch = 1};
        def.M = rod_mass;
        def.f = rod_force;
        def.g = rod_length;
        def.switching = rod_stop;
        def.event = rod_bounce;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        story                 l;
        kd_simulation        *s;
        kd_simulation_options opt = options(1e-6, &l);
        if (!use(&opt, all_methods[k])) continue;
        x->p[0] = sin(1);
        x->p[1] = -cos(1);
        assert_true(kd_simulation_create(eom, NULL, &opt, x, &s, NULL, 0) >= 0);
        assert_true(kd_simulation_run(s, 0.3) >= 0);
        failing_allocator a = {0};
        failing_allocator_use(&a);
        kd_status status = kd_simulation_run(s, 4);
        kd_set_allocator(NULL);
        if (a.calls > 0) print_error("%s: %ld allocations\n", words(all_methods[k]), a.calls);
        assert_true(status >= 0 && a.calls == 0 && l.n == 3);
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- functions that jump --------------------------------------------------------------------------------------------

static kd_eval turned_function(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->z[0] * x->t - 0.7;
    return KD_EVAL_OK;
}

static kd_eval turn_around(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    (void)crossed, (void)context;
    jump->z[0] = -x->z[0];
    return KD_EVAL_OK;
}

// A function that its own event sends back to where it came from has no second event there.
static void own_events_do_not_follow(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        kd_eom_def def = kd_eom_def_default();
        ball       b = {9.81, 0.8, false, 0};
        def.dims = (kd_dims){.np = 1, .nv = 1, .nz = 1, .nswitch = 1};
        def.context = &b;
        def.M = unit_mass;
        def.f = weight;
        def.switching = turned_function;
        def.event = turn_around;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        story                 l;
        kd_simulation_options opt = options(1e-6, &l);
        x->z[0] = 1;
        if (use(&opt, all_methods[k])) {
            run(eom, NULL, &opt, x, 2);
            assert_int_equal(l.n, 1);
            assert_true(fabs(l.t[0] - 0.7) < 1e-11 && l.direction[0] == 1 && x->z[0] == -1);
        }
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Functions: time of the next alarm, and whether it is armed. At t = 1 the alarm is set to 1.25, by which the first
// function jumps from above zero to far below it, and armed, by which the second one rises at the same instant.
static kd_eval alarm_functions(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->t - x->z[0];
    out[1] = x->z[1] - 0.5;
    out[2] = x->t - 1;
    return KD_EVAL_OK;
}

static kd_eval alarm_event(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    (void)context;
    if (crossed[2] > 0) jump->z[0] = x->t + 0.25, jump->z[1] = 1;
    if (crossed[0] > 0) jump->z[1] = 0;
    return KD_EVAL_OK;
}

// A function that an event makes jump through zero crosses at that instant, and crosses back exactly when it comes to
// zero by itself, however far it jumped.
static void functions_jump(void **state)
{
    (void)state;
    for (int k = 0; k < METHODS; k++) {
        kd_eom_def def = kd_eom_def_default();
        ball       b = {9.81, 0.8, false, 0};
        def.dims = (kd_dims){.np = 1, .nv = 1, .nz = 2, .nswitch = 3};
        def.context = &b;
        def.M = unit_mass;
        def.f = weight;
        def.switching = alarm_functions;
        def.event = alarm_event;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        story                 l;
        kd_simulation_options opt = options(1e-6, &l);
        const double          t[] = {1, 1, 1, 1.25, 1.25};
        const int             direction[] = {1, -1, 1, 1, -1};
        if (use(&opt, all_methods[k])) {
            x->z[0] = -1;
            run(eom, NULL, &opt, x, 3);
            if (l.n != 5) print_error("%s: %d events\n", words(all_methods[k]), l.n);
            assert_int_equal(l.n, 5);
            for (int i = 0; i < 5; i++) {
                assert_true(fabs(l.t[i] - t[i]) < 1e-11);
                assert_int_equal(l.direction[i], direction[i]);
            }
        }
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// Memory that ends anywhere at the creation of hybrid equations with everything ends in a message, and leaves nothing.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    static const double restitution[] = {0.8};
    ball                b = {9.81, 0.8, false, 0};
    kd_eom_def          def = ball_def(&b);
    def.dims.nlambda = 1;
    def.g = height;
    def.restitution = restitution;
    kd_eom   *eom = make(&def);
    kd_state *x = make_state(eom);
    long      failures = 0;
    for (long fail_at = 1;; fail_at++) {
        failing_allocator     a = {.fail_at = fail_at};
        char                  message[300] = "";
        kd_simulation        *s;
        kd_simulation_options opt = options(1e-6, NULL);
        x->t = 0;
        x->p[0] = 1;
        x->v[0] = 0;
        failing_allocator_use(&a);
        kd_status status = kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message);
        kd_simulation_destroy(s);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (a.calls < fail_at) {
            assert_true(status >= 0);
            break;
        }
        failures += status < 0;
        if (status < 0) assert_true(status == KD_ERR_MEMORY && message[0] != '\0');
    }
    assert_true(failures > 20);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impacts_are_exact),
        cmocka_unit_test(double_crossings),
        cmocka_unit_test(sampled_control),
        cmocka_unit_test(breaks_are_landed_on),
        cmocka_unit_test(samples_see_events),
        cmocka_unit_test(events_stop),
        cmocka_unit_test(chattering_ends),
        cmocka_unit_test(impacts_with_constraints),
        cmocka_unit_test(ball_comes_to_rest),
        cmocka_unit_test(flights_need_no_accelerations),
        cmocka_unit_test(stick_and_slip),
        cmocka_unit_test(nothing_is_allocated),
        cmocka_unit_test(functions_jump),
        cmocka_unit_test(own_events_do_not_follow),
        cmocka_unit_test(failed_allocation_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
