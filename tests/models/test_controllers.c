// tests/models/test_controllers.c: models with sampled controllers, variables and events, simulated: at every sample
// the exact recursion, at every event the closed solution, whatever the coordinates, formulation and integrator.
#include "gallery_run.h"

// ---- a run with its events ------------------------------------------------------------------------------------------

enum { MAX_EVENTS = 40 };

typedef struct happened {
    int    n;
    double t[MAX_EVENTS], v[MAX_EVENTS];
    char   text[MAX_EVENTS][80];
} happened;

static kd_eval hear(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    happened *h = context;
    (void)after;
    if (event->kind != KD_EVENT_SWITCH) return KD_EVAL_OK; // crossings the other way are not told
    assert_true(h->n < MAX_EVENTS);
    h->t[h->n] = event->t;
    h->v[h->n] = before->v[0];
    snprintf(h->text[h->n++], sizeof h->text[0], "%s", event->text);
    return KD_EVAL_OK;
}

typedef struct method {
    kd_coordinates     coordinates;
    kd_formulation     formulation;
    kd_integrator_kind integrator;
} method;

// Runs a model with outputs at the given times; look sees the states there. Answers the status of the run.
static kd_status run_method(const char *name, const method *m, double t_end, int ntimes, const double *times,
                            kd_output look, void *context, happened *events, kd_state *end)
{
    char                  message[MAX_MODEL_TEXT] = "";
    kd_model             *model = read_gallery(name, NULL);
    kd_system_options     options = kd_system_options_default();
    kd_simulation_options opt = kd_simulation_options_default();
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    options.coordinates = m->coordinates;
    must(kd_system_create(model, &options, &system, message, sizeof message), name, m->coordinates, message);
    must(kd_state_create(kd_system_eom(system), &x), name, m->coordinates, "");
    must(kd_system_start(system, x, message, sizeof message), name, m->coordinates, message);
    opt.formulation = m->formulation;
    opt.integrator = m->integrator;
    opt.rtol = opt.atol = 1e-12;
    opt.times = times, opt.ntimes = ntimes, opt.output = look, opt.context = context;
    opt.events.listener = events ? hear : NULL;
    opt.events.context = events;
    kd_status status =
        kd_simulate(kd_system_eom(system), kd_system_inputs(system), &opt, x, t_end, NULL, message, sizeof message);
    must(status, name, m->coordinates, message);
    if (end) *end = (kd_state){.t = x->t};
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status;
}

static const method methods[] = {
    {KD_JOINT, KD_PSF, KD_RADAU},      {KD_CARTESIAN, KD_PSF, KD_RADAU}, {KD_CARTESIAN, KD_GGL, KD_RADAU},
    {KD_CARTESIAN, KD_ODE, KD_DOP853}, {KD_JOINT, KD_ODE, KD_DOPRI5},    {KD_CARTESIAN, KD_STATESPACE, KD_DOP853},
    {KD_CARTESIAN, KD_GGL, KD_BDF},    {KD_CARTESIAN, KD_PSF, KD_BDF},   {KD_JOINT, KD_STATESPACE, KD_SDIRK},
};
enum { METHODS = sizeof methods / sizeof *methods };

// Digits that a method has at tolerances of 1e-12
static double accuracy(const method *m)
{
    return m->integrator == KD_BDF ? 1e-8 : m->integrator == KD_SDIRK ? 1e-9 : 1e-10;
}

// ---- speed ----------------------------------------------------------------------------------------------------------

enum { SAMPLES = 100 };

typedef struct recursion {
    int    n;
    double v[SAMPLES + 1], z[SAMPLES + 1], u[SAMPLES + 1]; // at t_k: before the sample v, z; u is that of the sample
    double x[SAMPLES + 1];
    double largest; // difference found
} recursion;

// m v' = -d v + u with m = 2, d = 1, Ts = 0.05, kp = 8, ki = 4, wanted 1
static void speed_recursion(recursion *r)
{
    const double a = exp(-0.025);
    for (int k = 0; k <= SAMPLES; k++) {
        r->u[k] = 8 * (1 - r->v[k]) + 4 * r->z[k];
        if (k == SAMPLES) break;
        r->v[k + 1] = a * r->v[k] + (1 - a) * r->u[k];
        r->z[k + 1] = r->z[k] + 0.05 * (1 - r->v[k]);
    }
}

static kd_eval compare_speed(const kd_state *x, bool at_time, void *context)
{
    recursion *r = context;
    if (!at_time) return KD_EVAL_OK;
    // outputs are in the middle between samples: half a period from the last one
    const int    k = r->n++;
    const double half = exp(-0.0125), v = half * r->v[k] + (1 - half) * r->u[k];
    r->largest = fmax(r->largest, fabs(x->v[0] - v));
    assert_close(x->z[0], r->u[k], 1e-6);
    assert_true(x->z[2] == k + 1); // number of the next sample
    return KD_EVAL_OK;
}

// The speed between all samples, and sum and output there, against the recursion; the numbers of the table.
static void sampled_speed(void **state)
{
    (void)state;
    recursion r = {0};
    double    times[SAMPLES];
    speed_recursion(&r);
    assert_close(r.v[10], 0.890131264226897, 1e-14);
    assert_close(r.z[100], 0.250325833434467, 1e-14);
    for (int k = 0; k < SAMPLES; k++) times[k] = 0.05 * k + 0.025;
    for (int i = 0; i < METHODS; i++) {
        r.n = 0, r.largest = 0;
        run_method("sampled-speed", &methods[i], 5, SAMPLES, times, compare_speed, &r, NULL, NULL);
        assert_int_equal(r.n, SAMPLES);
        if (r.largest > accuracy(&methods[i])) print_error("method %d\n", i);
        assert_close(r.largest, 0, accuracy(&methods[i]));
    }
}

// ---- position -------------------------------------------------------------------------------------------------------

static void position_recursion(recursion *r)
{
    for (int k = 0; k <= SAMPLES; k++) {
        r->u[k] = 4 * (1 - r->x[k]) - 3 * r->v[k] + r->z[k];
        if (k == SAMPLES) break;
        r->x[k + 1] = r->x[k] + 0.1 * r->v[k] + 0.005 * r->u[k];
        r->v[k + 1] = r->v[k] + 0.1 * r->u[k];
        r->z[k + 1] = r->z[k] + 0.1 * (1 - r->x[k]);
    }
}

static kd_eval compare_position(const kd_state *x, bool at_time, void *context)
{
    recursion *r = context;
    if (!at_time) return KD_EVAL_OK;
    const int k = r->n++;
    r->largest = fmax(r->largest, fabs(x->p[0] - (r->x[k] + 0.05 * r->v[k] + 0.00125 * r->u[k])));
    r->largest = fmax(r->largest, fabs(x->v[0] - (r->v[k] + 0.05 * r->u[k])));
    return KD_EVAL_OK;
}

static void position_control(void **state)
{
    (void)state;
    recursion r = {0};
    double    times[SAMPLES];
    position_recursion(&r);
    assert_close(r.x[100], 1.01440488668887, 1e-14);
    for (int k = 0; k < SAMPLES; k++) times[k] = 0.1 * k + 0.05;
    for (int i = 0; i < METHODS; i++) {
        r.n = 0, r.largest = 0;
        run_method("position-control", &methods[i], 10, SAMPLES, times, compare_position, &r, NULL, NULL);
        assert_int_equal(r.n, SAMPLES);
        if (r.largest > accuracy(&methods[i])) print_error("method %d\n", i);
        assert_close(r.largest, 0, accuracy(&methods[i]));
    }
}

// ---- inverted pendulum ----------------------------------------------------------------------------------------------

enum { PERIODS = 1200 };

typedef struct pendulum_run {
    int    n;
    double place[PERIODS / 20 + 1], lean[PERIODS / 20 + 1]; // every 0.2 s
    double largest;
    double force, push; // of the reference
    int    full;
} pendulum_run;

// y = (x, angle, x', angle'), Lagrange's equations of a cart and a uniform rod of half length l
static void pendulum_rate(double t, const double *y, void *context, double *dy)
{
    const pendulum_run *r = context;
    const double        M = 1, m = 0.2, l = 0.5, J = m * l * l / 3 + m * l * l, s = sin(y[1]), c = cos(y[1]);
    const double        f = r->force - 0.1 * y[2] + r->push + m * l * s * y[3] * y[3];
    const double        g = m * GRAVITY * l * s + 2 * l * c * r->push;
    const double        det = (M + m) * J - m * l * c * m * l * c;
    (void)t;
    dy[0] = y[2];
    dy[1] = y[3];
    dy[2] = (J * f - m * l * c * g) / det;
    dy[3] = ((M + m) * g - m * l * c * f) / det;
}

// The controllers by hand, in the order of the file
static void pendulum_reference(pendulum_run *r)
{
    const double T = 0.01, w = 1.5;
    double       y[4] = {0, 0.05, 0, 0}, order[2] = {0}, sum = 0, error = 0, d = 0, lean = 0, rate = 0, before = 0;
    for (int k = 0; k < PERIODS; k++) {
        const double place = order[0], slope = order[1];
        order[0] += T * slope;
        order[1] += T * (w * w * (1 - place) - 2 * w * slope);
        if (k % 5 == 1) {
            const double e = place - y[0];
            if (k > 1) d = (0.05 * d + e - error) / 0.1;
            const double free = 0.08 * e + 0.01 * sum + 0.12 * d;
            error = e;
            lean = fmin(0.15, fmax(-0.15, free));
            if (!(free > 0.15 && e > 0) && !(free < -0.15 && e < 0)) sum += 0.05 * e;
        }
        rate = ((y[1] - before) * 2 / T - rate * (1 - 0.04 / T)) / (1 + 0.04 / T);
        before = y[1];
        const double wanted = 60 * (y[1] - lean) + 12 * rate;
        r->force = fmin(10, fmax(-10, wanted));
        r->full += fabs(wanted) > 10;
        r->push = k >= 600 && k < 610 ? 1 : 0;
        runge_kutta(pendulum_rate, r, 4, 0, T, 20, y);
        if (k % 20 == 19) r->place[(k + 1) / 20] = y[0], r->lean[(k + 1) / 20] = y[1];
    }
}

static kd_eval compare_place(const kd_state *x, bool at_time, void *context)
{
    pendulum_run *r = context;
    if (at_time) r->n++, r->largest = fmax(r->largest, fabs(x->p[0] - r->place[r->n]));
    return KD_EVAL_OK;
}

// Against Lagrange's equations: the place of the cart with strict tolerances; all sensors with those of the file, and
// its certificate is clean.
static void inverted_pendulum(void **state)
{
    (void)state;
    static pendulum_run r;
    static table        result;
    double              times[PERIODS / 20];
    pendulum_reference(&r);
    for (int k = 0; k < PERIODS / 20; k++) times[k] = 0.2 * (k + 1);
    for (int i = 0; i < METHODS; i += 3) {
        r.n = 0, r.largest = 0;
        run_method("inverted-pendulum", &methods[i], 12, PERIODS / 20, times, compare_place, &r, NULL, NULL);
        assert_int_equal(r.n, PERIODS / 20);
        assert_close(r.largest, 0, 10 * accuracy(&methods[i]));
    }
    for (int c = 0; c < 2; c++) {
        run_with("inverted-pendulum", NULL, BOTH[c], 12, 60, 1.0, &result);
        for (int k = 1; k <= 60; k++) {
            assert_close(at(&result, k, "place"), r.place[k], 1e-6);
            assert_close(at(&result, k, "lean"), r.lean[k], 1e-6);
        }
        assert_close(at(&result, -1, "place"), 1, 0.2); // on its way back from the push
        assert_close(at(&result, -1, "full"), r.full, 0);
        assert_true(r.full > 0 && at(&result, -1, "arrivals") >= 1);
    }
}

// A push that is too strong: the pole falls, the motor is off from then on, in both coordinate sets.
static void pendulum_falls(void **state)
{
    (void)state;
    static table result;
    for (int c = 0; c < 2; c++) {
        run_with("inverted-pendulum", "push=5", BOTH[c], 7, 70, 1.0, &result);
        assert_close(at(&result, -1, "force"), 0, 0);
        assert_true(fabs(at(&result, -1, "lean")) > 1 && fabs(at(&result, 59, "lean")) < 0.1);
    }
}

// ---- gears ----------------------------------------------------------------------------------------------------------

// Phases of the car: speed and way after time t with the final speed c
static void drive(double c, double t, double *v, double *x)
{
    const double T = 1200.0 / 40.0, e = exp(-t / T);
    *x += c * t + (*v - c) * T * (1 - e);
    *v = c + (*v - c) * e;
}

static void gear_shift(void **state)
{
    (void)state;
    const double T = 1200.0 / 40.0;
    double       t = 0, v = 0, x = 0, time[7], speed[7];
    int          n = 0;
    for (int gear = 1; gear <= 3; gear++) {
        const double c = 150.0 / gear, dt = T * log((c - v) / (c - 10.0 * gear));
        drive(c, dt, &v, &x);
        time[n] = t += dt, speed[n++] = v; // shift
        drive(0, 0.4, &v, &x);
        time[n] = t += 0.4, speed[n++] = v; // clutch
    }
    double low = 0, high = 30, vf, xf; // finish, by bisection
    for (int i = 0; i < 200; i++) {
        const double middle = 0.5 * (low + high);
        vf = v, xf = x;
        drive(37.5, middle, &vf, &xf);
        *(xf < 800 ? &low : &high) = middle;
    }
    time[n] = t + low, speed[n++] = vf;
    for (int i = 0; i < METHODS; i++) {
        happened events = {0};
        kd_state end;
        assert_int_equal(run_method("gear-shift", &methods[i], 40, 0, NULL, NULL, NULL, &events, &end), KD_STOPPED);
        assert_int_equal(events.n, 7);
        for (int k = 0; k < n; k++) {
            assert_close(events.t[k], time[k], 1e2 * accuracy(&methods[i]));
            assert_close(events.v[k], speed[k], 1e2 * accuracy(&methods[i]));
            assert_string_equal(events.text[k], k == 6 ? "finish" : k % 2 == 0 ? "shift up" : "clutch closes");
        }
        assert_close(end.t, time[6], 1e2 * accuracy(&methods[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_speed),  cmocka_unit_test(position_control), cmocka_unit_test(inverted_pendulum),
        cmocka_unit_test(pendulum_falls), cmocka_unit_test(gear_shift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
