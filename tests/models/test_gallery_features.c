// Model files of the gallery that show elements: each against a closed form, an invariant or a second formulation, in
// joint and in Cartesian coordinates, with the certificate clean and all sensors equal.
#define _POSIX_C_SOURCE 200809L
#include <complex.h>
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "model/model.h"
#include "model/schema.h"

#define PI 3.14159265358979323846
static const double G = 9.81;

#define assert_close(a, b, tolerance) close_to((a), (b), (tolerance), #a, __LINE__)
static void close_to(double a, double b, double tolerance, const char *what, int line)
{
    if (fabs(a - b) <= tolerance) return;
    print_error("line %d, %s: %.12g instead of %.12g\n", line, what, a, b);
    fail();
}

// ---- a run of a model file ------------------------------------------------------------------------------------------

enum { MOST_SETTINGS = 8 };

typedef struct scenario {
    const char *file; // in models/
    kd_setting  set[MOST_SETTINGS];
    double      t_end;   // 0: as in the file
    int         samples; // wanted times behind the start
    double      agree;   // sensors in both coordinate sets, relative to their largest values
    double      balance; // relative error of the energy balance; 0: 1e-5
    const char *unlike;  // a sensor that differs: its reaction is not unique
    double      tighter; // factor of the file's tolerances; 0: 1
} scenario;

typedef struct run {
    kd_model      *model;
    kd_system     *system;
    kd_simulation *simulation;
    kd_certifier  *certifier;
    kd_eom_data   *data;
    kd_inputs      inputs;
    double         u[3 * 16];
    int            ny, n, capacity; // sensors, states recorded
    double        *t, *y;           // (n), (n x ny)
    double        *times;
} run;

static void record(run *r, const kd_state *x)
{
    int nu = kd_eom_dims(kd_system_eom(r->system)).nu;
    assert_true(r->n < r->capacity && 3 * nu <= 3 * 16);
    if (r->inputs.eval)
        assert_int_equal(r->inputs.eval(x->t, r->inputs.context, r->u, r->u + nu, r->u + 2 * nu), KD_EVAL_OK);
    kd_eom_at_time(r->data, x->t, r->u, r->u + nu, r->u + 2 * nu, x->z);
    kd_eom_at_position(r->data, x->p, x->s);
    kd_eom_at_velocity(r->data, x->v, x->r);
    kd_eom_at_acceleration(r->data, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(r->data, KD_Y, r->y + r->n * r->ny), KD_EVAL_OK);
    r->t[r->n++] = x->t;
}

static kd_eval take(const kd_state *x, bool at_time, void *context)
{
    run *r = context;
    assert_true(kd_certifier_see(r->certifier, r->simulation, x) >= 0);
    if (at_time || r->n == 0) record(r, x);
    return KD_EVAL_OK;
}

static void assert_clean(const scenario *s, run *r, kd_status status)
{
    kd_certificate c = kd_certifier_certificate(r->certifier);
    c.status = status;
    c.atol = kd_model_run(r->model)->atol;
    bool good = kd_certificate_norm(&c).good;
    for (int level = 0; level < KD_LEVEL_COUNT; level++) good = good && kd_certificate_level(&c, (kd_level)level).good;
    good = good && kd_certificate_energy_error(&c) <= (s->balance > 0 ? s->balance : 1e-5);
    if (good) return;
    char text[4000];
    kd_certificate_describe(&c, text, sizeof text);
    print_error("%s\n%s", s->file, text);
    fail();
}

static void read_scenario(const scenario *s, run *r)
{
    char path[400], message[2000] = "";
    int  n = 0;
    while (n < MOST_SETTINGS && s->set[n].name) n++;
    snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s.yaml", s->file);
    if (kd_model_read(path, s->set, n, &r->model, message, sizeof message) < 0) {
        print_error("%s\n", message);
        fail();
    }
}

static void create(const scenario *s, kd_coordinates coordinates, kd_state **x, run *r)
{
    kd_system_options opt = kd_system_options_default();
    char              message[2000] = "";
    opt.coordinates = coordinates;
    kd_status status = kd_system_create(r->model, &opt, &r->system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(r->system), x);
    if (status >= 0) status = kd_system_start(r->system, *x, message, sizeof message);
    if (status < 0) {
        print_error("%s: %s\n", s->file, message);
        fail();
    }
    r->inputs = *kd_system_inputs(r->system);
    r->ny = kd_eom_dims(kd_system_eom(r->system)).ny;
    r->capacity = s->samples + 2;
    r->t = calloc((size_t)r->capacity, sizeof *r->t);
    r->y = calloc((size_t)(r->capacity * r->ny), sizeof *r->y);
    r->times = calloc((size_t)s->samples, sizeof *r->times);
    assert_true(r->t && r->y && r->times);
    assert_int_equal(kd_eom_data_create(kd_system_eom(r->system), &r->data), KD_OK);
    assert_int_equal(kd_certifier_create(kd_system_eom(r->system), &r->inputs, &r->certifier), KD_OK);
}

static run play_model(const scenario *s, kd_model *model, kd_coordinates coordinates)
{
    run       r = {.model = model};
    kd_state *x = NULL;
    char      message[1000] = "";
    if (!model) read_scenario(s, &r);
    create(s, coordinates, &x, &r);
    const kd_run_def     *def = kd_model_run(r.model);
    double                t_end = s->t_end > 0 ? s->t_end : def->t_end;
    kd_simulation_options o = kd_simulation_options_default();
    for (int i = 0; i < s->samples; i++) r.times[i] = t_end * (i + 1) / s->samples;
    r.times[s->samples - 1] = t_end;
    const double factor = s->tighter > 0 ? s->tighter : 1;
    o.rtol = factor * def->rtol, o.atol = factor * def->atol;
    o.output = take, o.context = &r;
    o.times = r.times, o.ntimes = s->samples;
    o.integrator_options.h_max = def->max_step > 0 ? def->max_step : 0;
    o.integrator_options.max_steps = 100000;
    kd_status status =
        kd_simulation_create(kd_system_eom(r.system), &r.inputs, &o, x, &r.simulation, message, sizeof message);
    if (status >= 0) status = kd_simulation_run(r.simulation, t_end);
    if (status < 0) {
        print_error("%s: %s\n", s->file, r.simulation ? kd_simulation_message(r.simulation) : message);
        fail();
    }
    assert_clean(s, &r, status);
    assert_int_equal(r.n, s->samples + 1);
    kd_simulation_destroy(r.simulation);
    kd_certifier_destroy(r.certifier);
    kd_eom_data_destroy(r.data);
    kd_state_destroy(x);
    free(r.times);
    return r;
}

static run play(const scenario *s, kd_coordinates coordinates)
{
    return play_model(s, NULL, coordinates);
}

static void release(run *r)
{
    free(r->t);
    free(r->y);
    kd_system_destroy(r->system);
    kd_model_destroy(r->model);
}

static double at(const run *r, int i, const char *sensor)
{
    int k = kd_model_find(r->model, KD_SECTION_SENSOR, sensor);
    assert_true(k >= 0 && i >= 0 && i < r->n);
    return r->y[i * r->ny + k];
}

static double largest(const run *r, int k)
{
    double most = 1e-3;
    for (int i = 0; i < r->n; i++) most = fmax(most, fabs(r->y[i * r->ny + k]));
    return most;
}

static void assert_same(const scenario *s, const run *a, const run *b)
{
    for (int k = 0; k < a->ny; k++) {
        const char *name = a->model->sensor[k].name;
        double      scale = largest(a, k);
        if (s->unlike && strcmp(s->unlike, name) == 0) continue;
        for (int i = 0; i < a->n; i++) {
            double x = a->y[i * a->ny + k], y = b->y[i * b->ny + k];
            if (fabs(x - y) <= s->agree * scale) continue;
            print_error("%s, sensor '%s' at t = %g: %.12g in joint, %.12g in Cartesian coordinates\n", s->file, name,
                        a->t[i], x, y);
            fail();
        }
    }
}

// Both coordinate sets: the test on each, and equal sensors.
static void both(const scenario *s, void (*test)(const run *r))
{
    run a = play(s, KD_JOINT), b = play(s, KD_CARTESIAN);
    test(&a);
    test(&b);
    assert_same(s, &a, &b);
    release(&a);
    release(&b);
}

// ---- gyroscope ------------------------------------------------------------------------------------------------------

static void is_steady(const run *r)
{
    for (int i = 0; i < r->n; i++) {
        assert_close(at(r, i, "elevation"), 0.0, 1e-8);
        assert_close(at(r, i, "precession"), 0.05 * G * 0.12 / (1.2e-3 * 300), 1e-8);
    }
}

static void is_cycloid(const run *r)
{
    const double ml2 = 0.05 * 0.12 * 0.12, torque = 0.05 * G * 0.12, C = 1.2e-3, H = C * 300;
    const double Ix = 4e-4 + ml2 + 7e-4, Iz = 9e-4 + 8e-4 + ml2 + 7e-4; // about tilt and turn, axle horizontal
    const double n = H / sqrt(Ix * Iz), a = torque * Iz / (H * H);
    for (int i = 0; i < r->n; i++) {
        double q = at(r, i, "elevation"), t = r->t[i];
        // small motion, linear: relative error a
        assert_close(q, -a * (1 - cos(n * t)), 0.02 * a);
        assert_close(at(r, i, "turned"), torque / H * (t - sin(n * t) / n), 0.02 * torque / H / n);
        // momentum about the vertical: 0, exactly
        double inertia = 9e-4 + 4e-4 * sin(q) * sin(q) + (8e-4 + ml2 + 7e-4) * cos(q) * cos(q);
        assert_close(at(r, i, "precession") * inertia + H * sin(q), 0.0, 1e-8);
    }
}

// Steady precession has no nutation; from rest the axle draws the cycloid of the fast symmetric top.
static void gyroscope(void **state)
{
    (void)state;
    both(&(scenario){.file = "gyroscope",
                     .set = {{"start", "0.05*9.81*0.12/(1.2e-3*300)"}},
                     .t_end = 0.3,
                     .samples = 20,
                     .agree = 1e-5,
                     .tighter = 0.01},
         is_steady);
    both(&(scenario){.file = "gyroscope", .t_end = 0.3, .samples = 100, .agree = 1e-5}, is_cycloid);
}

// ---- spatial slider-crank -------------------------------------------------------------------------------------------

static void slides(const run *r)
{
    for (int i = 0; i < r->n; i++) {
        double q = PI / 2 + at(r, i, "angle"), y = 0.1 + 0.08 * cos(q), z = 0.12 + 0.08 * sin(q);
        assert_close(at(r, i, "x"), sqrt(0.09 - y * y - z * z), 1e-12);
    }
    assert_true(fabs(at(r, r->n - 1, "angle")) > 4.0); // it goes round
}

// The slider is where crank angle and lengths put it.
static void spatial_slider_crank(void **state)
{
    (void)state;
    both(&(scenario){.file = "spatial-slider-crank", .t_end = 2, .samples = 100, .agree = 1e-5}, slides);
}

// ---- rolling disc ---------------------------------------------------------------------------------------------------

static void rolls_in_a_circle(const run *r)
{
    const double m = 0.2, R = 0.1, a = 70 * PI / 180, W = 3, A = m * R * R / 4, C = m * R * R / 2;
    const double s = cos(a) * (A * W * W * sin(a) - m * G * R) / ((C + m * R * R) * W * sin(a));
    for (int i = 0; i < r->n; i++) {
        double t = r->t[i];
        assert_close(at(r, i, "height"), R * sin(a), 1e-7);
        assert_close(at(r, i, "lean"), a, 1e-6);
        assert_close(at(r, i, "x"), R * s / W * sin(W * t), 1e-6);
        assert_close(at(r, i, "y"), R * s / W * (1 - cos(W * t)), 1e-6);
        assert_close(at(r, i, "load"), m * G, 1e-4);
    }
}

static void sways(const run *r)
{
    double low = 2, high = 0;
    for (int i = 0; i < r->n; i++) low = fmin(low, at(r, i, "lean")), high = fmax(high, at(r, i, "lean"));
    assert_true(high - low > 0.02); // else the balance says little
}

// A disc rolls steadily on a circle; disturbed, it sways and keeps its energy.
static void rolling_disc(void **state)
{
    (void)state;
    both(&(scenario){.file = "rolling-disc", .t_end = 3, .samples = 60, .agree = 1e-6}, rolls_in_a_circle);
    both(&(scenario){.file = "rolling-disc", .set = {{"kick", "0.3"}}, .t_end = 2, .samples = 60, .agree = 1e-5},
         sways);
}

// ---- bicycle --------------------------------------------------------------------------------------------------------

static double largest_lean(const run *r, double from, double to)
{
    double most = 0;
    for (int i = 0; i < r->n; i++)
        if (r->t[i] >= from && r->t[i] <= to) most = fmax(most, fabs(at(r, i, "lean")));
    return most;
}

static void balances(const run *r)
{
    assert_true(largest_lean(r, 0, 2) > 1e-3);
    assert_true(largest_lean(r, 4, 5) < 0.3 * largest_lean(r, 0, 2));
}

static void falls(const run *r)
{
    assert_true(largest_lean(r, 1.5, 2) > 3 * largest_lean(r, 0, 0.5));
}

// The bicycle balances itself at 5 m/s, where all its eigenvalues decay, and falls at 3 m/s, where the weave grows.
static void bicycle(void **state)
{
    (void)state;
    both(&(scenario){.file = "bicycle", .set = {{"push", "0.02"}}, .t_end = 5, .samples = 100, .agree = 1e-5},
         balances);
    both(
        &(scenario){.file = "bicycle", .set = {{"push", "0.02"}, {"v", "3"}}, .t_end = 2, .samples = 40, .agree = 1e-5},
        falls);
}

// ---- skate ----------------------------------------------------------------------------------------------------------

static void draws_cycloids(const run *r)
{
    const double w = 2, down = G * sin(10 * PI / 180);
    for (int i = 0; i < r->n; i++) {
        double t = r->t[i];
        assert_close(at(r, i, "heading"), w * t, 1e-7);
        assert_close(at(r, i, "downhill"), down / (2 * w * w) * sin(w * t) * sin(w * t), 1e-7);
        assert_close(at(r, i, "across"), down / (2 * w * w) * (w * t - sin(2 * w * t) / 2), 1e-7);
        assert_close(at(r, i, "side"), -2 * 60 * down * sin(w * t), 1e-4); // the multiplier opposes the force
    }
}

// Chaplygin's skate draws cycloids across the slope, held by 2 m g sin(slope) sin(w t) from the side.
static void skate(void **state)
{
    (void)state;
    both(&(scenario){.file = "skate", .samples = 100, .agree = 1e-6}, draws_cycloids);
}

// ---- gear train -----------------------------------------------------------------------------------------------------

static void hoists(const run *r)
{
    const double zs = 18, zr = 54, zc = zs + zr, R = 0.15, load = 200, stall = 150, idle = 60, brake = 40, drag = 2;
    const double Js = 0.02, Jr = 0.2, Jc = 0.5 + load * R * R;
    // start: tooth force x from zs a_s + zr a_r = zc a_c
    double x = (zs * stall / Js + zc * load * G * R / Jc) / (zs * zs / Js + zr * zr / Jr + zc * zc / Jc);
    assert_close(at(r, 0, "acceleration"), R * (zc * x - load * G * R) / Jc, 1e-9);
    assert_close(at(r, 0, "torque"), stall, 1e-9);
    // settled: zc x = drag w_c + load g R, w_s = idle (1 - zs x/stall), w_r = -zr x/brake
    x = (load * G * R + drag * zs * idle / zc) / (zc + drag * (zs * zs * idle / stall + zr * zr / brake) / zc);
    int last = r->n - 1;
    assert_close(at(r, last, "ring"), -zr * x / brake, 1e-5);
    assert_close(at(r, last, "speed"), R * (zc * x - load * G * R) / drag, 1e-5);
    assert_close(at(r, last, "torque"), zs * x, 1e-4);
    assert_close(at(r, last, "tension"), load * G, 1e-3);
}

// A hoist with a planetary gear: accelerations at the start and speeds after a while from the torques of its shafts.
static void gear_train(void **state)
{
    (void)state;
    both(&(scenario){.file = "gear-train", .samples = 30, .agree = 1e-5}, hoists);
}

// ---- bouncing ball --------------------------------------------------------------------------------------------------

// speed u after an impact at v: u + v = log((1 + d v)/(1 - d u))/d, by bisection
static double speed_after(double v, double d)
{
    double low = 0, high = v;
    for (int k = 0; k < 100; k++) {
        double u = 0.5 * (low + high);
        if (log((1 + d * v) / (1 - d * u)) / d < u + v)
            low = u;
        else
            high = u;
    }
    return low;
}

static void bounces_once(const run *r)
{
    const double v = 4, d = 0.12, u = speed_after(v, d), mu = 0.3, vx = at(r, 0, "vx");
    int          last = r->n - 1;
    assert_close(speed_after(0.1 * v, d) / (0.1 * v), 1 - 2.0 / 3.0 * d * 0.1 * v, 2e-3); // for small d v
    assert_close(at(r, last, "vz"), u, 1e-4);
    assert_close(at(r, last, "vx"), vx - mu * (u + v), 1e-4);
    assert_close(at(r, last, "spin"), mu * (u + v) / (0.4 * 0.1), 1e-3); // m R^2 0.4 w = R m mu (u + v)
    assert_close(at(r, last, "press"), 0.0, 0.0);
}

// A ball that grips rolls on: 5/7 of its speed, whatever the friction.
static void grips(const run *r)
{
    int last = r->n - 1;
    assert_close(at(r, last, "vx"), 5.0 / 7.0 * at(r, 0, "vx"), 1e-3);
    assert_close(at(r, last, "spin"), at(r, last, "vx") / 0.1, 1e-2);
}

static void keeps_bouncing(const run *r)
{
    int    top = 0;
    double high = 0;
    for (int i = 0; i < r->n; i++) // second flight
        if (r->t[i] > 0.5 && r->t[i] < 1.2 && at(r, i, "height") > high) high = at(r, i, "height"), top = i;
    double v = sqrt(2 * G), u = speed_after(v, 0.12);
    assert_close(high, u * u / (2 * G), 0.01);
    assert_true(top > 0 && at(r, r->n - 1, "energy") < at(r, 0, "energy"));
}

// Hunt and Crossley's contact: restitution and friction of one impact exactly, height of the second flight.
static void bouncing_ball(void **state)
{
    (void)state;
    both(&(scenario){.file = "bouncing-ball",
                     .set = {{"g", "0"}, {"v0", "-4"}, {"h", "0.02"}, {"vx", "12"}},
                     .t_end = 0.02,
                     .samples = 10,
                     .agree = 1e-6},
         bounces_once);
    both(&(scenario){.file = "bouncing-ball",
                     .set = {{"g", "0"}, {"v0", "-4"}, {"h", "0.02"}, {"vx", "3"}},
                     .t_end = 0.02,
                     .samples = 10,
                     .agree = 1e-6},
         grips);
    // errors of one tolerance explain 2e-4 of the energy
    both(&(scenario){.file = "bouncing-ball", .t_end = 1.2, .samples = 120, .agree = 1e-5, .balance = 5e-5},
         keeps_bouncing);
}

// ---- damper test ----------------------------------------------------------------------------------------------------

static void tests_damper(const run *r)
{
    const double A = 0.01, w = 2 * PI * 5, k = 2e4, ks = 3e5, c = 1e4, F = 500, cutoff = 2 * PI * 50, T = c / ks,
                 wT = w * T;
    double complex stiffness = k + ks * I * wT / (1 + I * wT), filter = 1 / (1 + I * w / cutoff);
    for (int i = 0; i < r->n; i++) {
        double t = r->t[i], e = A * sin(w * t);
        double damper = A / (1 + wT * wT) * (sin(w * t) - wT * cos(w * t) + wT * exp(-t / T));
        assert_close(at(r, i, "stroke"), e, 1e-15);
        // the place of the damper has the tolerance of the run, 1e-8 m, which its spring makes a force of
        assert_close(at(r, i, "force"), k * e + ks * (e - damper) - F, ks * 3e-8);
        if (t < 0.9) continue;
        assert_close(at(r, i, "filtered"), cimag(filter * stiffness * A * cexp(I * w * t)) - F, ks * 3e-8);
    }
    // the last cycle of 0.2 s
    double cycle = at(r, r->n - 1, "work") - at(r, r->n - 1 - (r->n - 1) / 5, "work");
    assert_close(cycle, PI * A * A * ks * wT / (1 + wT * wT), 1e-4);
}

// A Maxwell element under a harmonic motion, its filtered force and the work of a cycle.
static void damper_test(void **state)
{
    (void)state;
    both(&(scenario){.file = "damper-test", .samples = 100, .agree = 1e-5}, tests_damper);
}

// ---- speed control --------------------------------------------------------------------------------------------------

static void keeps_speed(const run *r)
{
    const double s = 10, wanted = 3.5, load = 2, J = 0.2;
    for (int i = 0; i < r->n; i++) {
        double t = r->t[i], late = fmax(0, t - 2);
        double speed = wanted * (1 - exp(-s * t) * (1 - s * t)) - load / J * late * exp(-s * late);
        assert_close(at(r, i, "speed"), speed, 1e-5);
    }
    assert_close(at(r, r->n - 1, "torque"), load, 1e-4);
}

// A PI controller with a double pole: step of the wanted speed, step of the load.
static void speed_control(void **state)
{
    (void)state;
    both(&(scenario){.file = "speed-control", .samples = 80, .agree = 1e-5}, keeps_speed);
}

// ---- crane ----------------------------------------------------------------------------------------------------------

static void keeps_oil(const run *r)
{
    double l0 = at(r, 0, "length"), p0 = at(r, 0, "pressure");
    for (int i = 0; i < r->n; i++)
        assert_close(at(r, i, "pressure") - p0, 8e9 * (at(r, i, "pumped") - 0.008 * (at(r, i, "length") - l0)), 10.0);
    assert_close(at(r, 0, "height"), 2 + 5 * sin(10 * PI / 180), 1e-12); // the fork sits at the end of the boom
}

// potential energy and length of the ram at an angle of the boom
static double crane_energy(double q, double *length)
{
    const double steel = 7800, boom = 5 * 0.2 * 0.25 * 900, barrel = PI * (0.08 * 0.08 - 0.06 * 0.06) * steel,
                 rod = PI * 0.03 * 0.03 * steel;
    double x = 1.6 * cos(q) - 0.4, z = 2 + 1.6 * sin(q) - 0.6;
    *length = hypot(x, z);
    double rise = z / *length; // of the ram
    return G * (boom * 2.5 * sin(q) + 350 * 5 * sin(q) + barrel * 0.5 * rise + rod * (*length - 0.5) * rise);
}

static void rests(const run *r)
{
    keeps_oil(r);
    int    last = r->n - 1;
    double q = at(r, last, "angle"), h = 1e-5, up, down;
    double work = crane_energy(q + h, &up) - crane_energy(q - h, &down);
    assert_close(at(r, last, "push"), work / (up - down), 1.0);
    assert_close(at(r, last, "push"), 0.008 * at(r, last, "pressure"), 1.0);
    assert_true(q > 0.5);
}

// A crane: the oil is kept, the ram carries the weights, and with cushion and friction the energies balance.
static void crane(void **state)
{
    (void)state;
    both(
        &(scenario){
            .file = "crane", .set = {{"friction", "0"}, {"stroke", "2"}}, .t_end = 12, .samples = 60, .agree = 1e-5},
        rests);
    both(&(scenario){.file = "crane", .samples = 90, .agree = 1e-4}, keeps_oil);
}

// ---- bushing mount --------------------------------------------------------------------------------------------------

// Motion from rest with velocities (v, w) of m x'' + k x - k e y = 0, J y'' - k e x + (kt + k e^2) y = 0
static void two_modes(double m, double J, double k, double kt, double e, double v, double w, double t, double *x,
                      double *y)
{
    double a = k / m, b = -k * e / m, c = -k * e / J, d = (kt + k * e * e) / J;
    double mean = 0.5 * (a + d), root = sqrt(0.25 * (a - d) * (a - d) + b * c);
    double l1 = mean - root, l2 = mean + root; // squares of the eigenfrequencies; modes (b, l - a)
    double det = b * (l2 - a) - b * (l1 - a), c1 = (v * (l2 - a) - w * b) / det, c2 = (b * w - (l1 - a) * v) / det;
    double s1 = c1 * sin(sqrt(l1) * t) / sqrt(l1), s2 = c2 * sin(sqrt(l2) * t) / sqrt(l2);
    *x = b * (s1 + s2);
    *y = (l1 - a) * s1 + (l2 - a) * s2;
}

static void vibrates(const run *r)
{
    const double m = 120, k = 3e5, kz = 8e5, kt = 2e4, e = 0.15, Jy = 6, Jz = 5;
    for (int i = 0; i < r->n; i++) {
        double t = r->t[i], x, pitch;
        two_modes(m, Jy, k, kt, e, 0.01, 0, t, &x, &pitch);
        assert_close(at(r, i, "x"), x, 2e-7); // amplitude 2e-4; angles of 1e-3 are small
        assert_close(at(r, i, "pitch"), pitch, 1e-6);
        assert_close(at(r, i, "z"), 0.02 / sqrt(kz / m) * sin(sqrt(kz / m) * t), 2e-7);
        assert_close(at(r, i, "yaw"), 0.03 / sqrt(kt / Jz) * sin(sqrt(kt / Jz) * t), 1e-6);
        assert_close(at(r, i, "foot"), m * G - kz * at(r, i, "z"), 1e-6);
    }
}

static void comes_to_rest(const run *r)
{
    int last = r->n - 1;
    assert_close(at(r, last, "x"), 0.0, 1e-6);
    assert_close(at(r, last, "z"), 0.0, 1e-6);
    assert_close(at(r, last, "foot"), 120 * G, 1.0);
}

// An engine on a bushing vibrates in the modes of its 2 x 2 blocks; damped, it comes to rest under its preload.
static void bushing_mount(void **state)
{
    (void)state;
    both(&(scenario){.file = "bushing-mount", .t_end = 0.5, .samples = 50, .agree = 1e-5}, vibrates);
    both(&(scenario){.file = "bushing-mount", .set = {{"damping", "3000"}}, .t_end = 1, .samples = 10, .agree = 1e-4},
         comes_to_rest);
}

// ---- guides that let go ---------------------------------------------------------------------------------------------

// m q'' = -k q - F - m g from q0, v0 on
static double flies(double t, double q0, double v0)
{
    const double W = sqrt(200 / 0.3), middle = -(4 + 0.3 * G) / 200;
    return middle + (q0 - middle) * cos(W * t) + v0 / W * sin(W * t);
}

// Where the force of the cam vanishes, m e w^2 cos + k e (1 - cos) + F + m g = 0, the foot leaves it; it comes back where
// both ways are the same again, and bounces by its restitution relative to the cam.
static void lifts_off(const run *r)
{
    const double m = 0.3, e = 0.01, w = 80, k = 200, F = 4, c = 0.2;
    const double off = acos(-(F + m * G + k * e) / (m * e * w * w - k * e)) / w;
    const double q0 = e * (1 - cos(w * off)), v0 = e * w * sin(w * off);
    double       down = 0.06, up = 0.09; // it lands between these
    for (int i = 0; i < 60; i++) {
        const double t = 0.5 * (down + up);
        *(flies(t - off, q0, v0) > e * (1 - cos(w * t)) ? &down : &up) = t;
    }
    const double landed = 0.5 * (down + up), q1 = flies(landed - off, q0, v0), cam = e * w * sin(w * landed), d = 1e-6;
    const double v1 = (flies(landed - off + d, q0, v0) - flies(landed - off - d, q0, v0)) / (2 * d);
    int          flights = 0, bounces = 0;
    assert_close(off, 0.026469740163395337, 1e-14); // by numpy and scipy's brentq
    assert_close(landed, 0.08045916949564744, 1e-12);
    for (int i = 0; i < r->n; i++) {
        const double t = r->t[i];
        assert_true(at(r, i, "gap") > -1e-9);
        if (t < off) {
            assert_close(at(r, i, "lift"), e * (1 - cos(w * t)), 1e-10);
            assert_close(at(r, i, "press"), m * e * w * w * cos(w * t) + k * e * (1 - cos(w * t)) + F + m * G, 1e-6);
        } else if (t < landed) {
            assert_close(at(r, i, "lift"), flies(t - off, q0, v0), 1e-8);
            assert_close(at(r, i, "press"), 0.0, 1e-12);
            flights++;
        } else if (t < 0.0864) {
            assert_close(at(r, i, "lift"), flies(t - landed, q1, cam - c * (v1 - cam)), 1e-7);
            bounces++;
        }
    }
    assert_true(flights > 10 && bounces > 0);
}

// A follower lifts off its cam and lands on it, by closed forms of both ways.
static void cam_lift_off(void **state)
{
    (void)state;
    both(&(scenario){.file = "cam-lift-off", .t_end = 0.09, .samples = 80, .agree = 1e-7}, lifts_off);
}

static void guides_let_go(const run *r)
{
    const double taut = sqrt(2 * 0.2 / G), off = acos(-G / (0.01 * 1600)) / 40, speed = 0.01 * 40 * sin(40 * off);
    for (int i = 0; i < r->n; i++) {
        const double t = r->t[i];
        // the bell falls, and is thrown back with half its speed
        assert_close(at(r, i, "bell"),
                     t < taut ? 0.2 - 0.5 * G * t * t : 0.5 * G * taut * (t - taut) - 0.5 * G * (t - taut) * (t - taut),
                     1e-8);
        assert_close(at(r, i, "crate"), 0.1 * (1 - cos(5 * t)), 1e-9);
        assert_close(at(r, i, "press"), 3 * (G + 2.5 * cos(5 * t)), 1e-7);
        // the cup stands on the edge, then flies
        const double edge = 0.01 * (1 - cos(40 * t)), since = t - off;
        assert_true(at(r, i, "cup") > edge - 1e-9);
        if (t < 0.15)
            assert_close(at(r, i, "cup"),
                         since < 0 ? edge : 0.01 * (1 - cos(40 * off)) + speed * since - 0.5 * G * since * since, 1e-8);
    }
}

// A rope that is slack and taut, a table that lifts, an edge that shakes a cup off.
static void loose_guides(void **state)
{
    (void)state;
    both(&(scenario){.file = "loose-guides", .t_end = 0.29, .samples = 58, .agree = 1e-7}, guides_let_go);
}

// ---- damper with two passages -----------------------------------------------------------------------------------------

// Shift and speed by scipy: Radau at 1e-10, pressure and flow by its root finder at every evaluation
static void takes_both_ways(const run *r)
{
    static const double reference[][3] = {{0.5, -0.003205168988567, -0.07811251648738},
                                          {1.0, 0.004699286515059, 0.01024951537244},
                                          {1.5, -0.002736526278743, 0.01625803884477},
                                          {2.0, 0.0001501307961688, -0.01930305815731}};
    const double        R = 400, K = 200;
    int                 compared = 0;
    for (int i = 0; i < r->n; i++) {
        const double v = at(r, i, "speed"), q = R / (2 * K) * (sqrt(1 + 4 * K * fabs(v) / R) - 1);
        assert_close(at(r, i, "orifice"), copysign(q, v), 1e-9);
        assert_close(at(r, i, "pressure"), copysign(K * q * q, v), 1e-6);
        assert_close(at(r, i, "gap") + at(r, i, "orifice"), v, 1e-10);
        for (int k = 0; k < 4; k++) {
            if (fabs(r->t[i] - reference[k][0]) > 1e-9) continue;
            assert_close(at(r, i, "shift"), reference[k][1], 1e-7);
            assert_close(v, reference[k][2], 1e-6);
            compared++;
        }
    }
    assert_int_equal(compared, 4);
}

// Oil takes two ways at once: algebraic variables by their closed form, the motion by a reference of other software.
static void damper_valves(void **state)
{
    (void)state;
    both(&(scenario){.file = "damper-valves", .samples = 80, .agree = 1e-6}, takes_both_ways);
}

// ---- quarter car ----------------------------------------------------------------------------------------------------

static void follows_waves(const run *r)
{
    const double         m = 350, mw = 40, w = 2 * PI * 15 / 6;
    const double complex s = 2e4 + I * w * 1500, k = 1.8e5 + I * w * 100; // strut, tyre
    const double complex road = 0.004;
    double complex       ratio = s / (s - m * w * w), wheel = k * road / (s + k - mw * w * w - s * ratio),
                   cab = ratio * wheel;
    for (int i = 0; i < r->n; i++) {
        double t = r->t[i];
        if (t < 8) continue;
        assert_close(at(r, i, "cab"), cimag(cab * cexp(I * w * t)), 1e-7);
        assert_close(at(r, i, "wheel"), cimag(wheel * cexp(I * w * t)), 1e-7);
        assert_close(at(r, i, "comfort"), -w * w * at(r, i, "cab"), 1e-4);
    }
}

static void takes_bump(const run *r)
{
    double low = 1e9;
    for (int i = 0; i < r->n; i++) low = fmin(low, at(r, i, "wheel-load"));
    assert_close(low, 0.0, 0.0);                                              // the tyre lifts off
    assert_close(at(r, r->n - 1, "cab"), -500 * (1 / 2e4 + 1 / 1.8e5), 3e-3); // the luggage is in
}

// A quarter car on waves: the complex response of two masses; over a bump the tyre lifts off.
static void quarter_car(void **state)
{
    (void)state;
    both(
        &(scenario){
            .file = "quarter-car", .set = {{"bump", "0"}, {"luggage", "0"}}, .t_end = 9, .samples = 90, .agree = 1e-5},
        follows_waves);
    both(&(scenario){.file = "quarter-car", .set = {{"amplitude", "0"}}, .samples = 500, .agree = 1e-4}, takes_bump);
}

// ---- cams -----------------------------------------------------------------------------------------------------------

static void lifts_valve(const run *r)
{
    const double w = 2 * PI * 20, h = 0.01, m = 0.12, k = 2e4, F = 250;
    for (int i = 0; i < r->n; i++) {
        double q = w * r->t[i], z = h / 2 * (1 - cos(2 * q)), a = 2 * h * w * w * cos(2 * q),
               push = m * (a + G) + k * z + F;
        assert_close(at(r, i, "lift"), z, 1e-12);
        assert_close(at(r, i, "acceleration"), a, 1e-7);
        assert_close(at(r, i, "contact"), push, 1e-6);
        assert_close(at(r, i, "torque"), push * h * sin(2 * q), 1e-7);
    }
}

// The valve follows the law of its cam; force and torque follow from its acceleration and from virtual work.
static void cam(void **state)
{
    (void)state;
    both(&(scenario){.file = "cam", .t_end = 0.1, .samples = 50, .agree = 1e-8}, lifts_valve);
}

static void follows_edge(const run *r)
{
    for (int i = 0; i < r->n; i++) {
        double w = 2 * PI, x = 0.1 * sin(w * r->t[i]), v = 0.1 * w * cos(w * r->t[i]), a = -w * w * x;
        double z = 0.02 + 0.15 * x - 4 * x * x * x, slope = 0.15 - 12 * x * x, az = slope * a - 24 * x * v * v;
        assert_close(at(r, i, "z"), z, 1e-12);
        assert_close(at(r, i, "acceleration"), az, 1e-8);
        double press = 0.8 * (az + G) + 400 * (0.05 + z);
        assert_close(at(r, i, "press"), press, 1e-8);
        assert_close(at(r, i, "drive"), -3 * a - press * slope, 1e-8); // the plate moves against x
    }
}

// The follower is on the cubic that the plate's table was made from; forces from its acceleration.
static void plate_cam(void **state)
{
    (void)state;
    both(&(scenario){.file = "plate-cam", .samples = 40, .agree = 1e-8, .balance = 1e-3}, follows_edge);
}

// ---- screw jack -----------------------------------------------------------------------------------------------------

static void lifts_load(const run *r)
{
    const double s = 0.006 / (2 * PI), M = 804;
    for (int i = 0; i < r->n; i++) {
        double t = r->t[i], v = at(r, i, "speed"), x = fmin(1, fmax(0, (t - 1) / 0.05));
        double motor = 20 * (1 - x * x * x * (10 - 15 * x + 6 * x * x));
        double friction = (9 + exp(-v * v / (0.05 * 0.05))) * tanh(v / 1e-3) + 0.02 * v;
        assert_close(at(r, i, "acceleration") * (0.05 + M * s * s), motor - friction - M * G * s, 1e-6);
        assert_close(at(r, i, "height"), 0.4 + s * at(r, i, "angle"), 1e-12);
        assert_close(at(r, i, "thrust"), 800 * (G + s * at(r, i, "acceleration")), 1e-3);
    }
    assert_true(at(r, r->n / 2, "speed") > 20);
    assert_close(at(r, r->n - 1, "speed"), 0.0, 1.1e-3); // held by friction
}

// A screw jack obeys the equation of its one degree of freedom, and its thread holds the load.
static void screw_jack(void **state)
{
    (void)state;
    both(&(scenario){.file = "screw-jack", .samples = 100, .agree = 1e-4}, lifts_load);
}

// ---- Cardan shaft ---------------------------------------------------------------------------------------------------

static void turns_evenly(const run *r)
{
    const double cosine = sqrt(1 - 0.09 / 0.64), J = 0.02, Jm = 0.004;
    double       energy = 0;
    for (int i = 0; i < r->n; i++) {
        double q = at(r, i, "in"), v = at(r, i, "in-speed");
        double middle = v * cosine / (cosine * cosine * cos(q) * cos(q) + sin(q) * sin(q));
        assert_close(at(r, i, "out"), q, 1e-10);
        assert_close(at(r, i, "slide"), 0.0, 1e-10);
        assert_close(at(r, i, "middle-speed"), middle, 1e-8);
        double now = J * v * v + 0.5 * Jm * middle * middle;
        if (i == 0) energy = now;
        assert_close(now, energy, 1e-5);
    }
    assert_true(at(r, r->n - 1, "in") > 10);
}

// A Cardan shaft in Z arrangement: output as input, the middle by tan q' = tan q/cos b.
static void cardan_shaft(void **state)
{
    (void)state;
    both(&(scenario){.file = "cardan-shaft", .t_end = 0.4, .samples = 80, .agree = 1e-5}, turns_evenly);
}

// ---- half shaft -----------------------------------------------------------------------------------------------------

static void turns_as_fast(const run *r)
{
    const double b = 15 * PI / 180;
    double       most = 0;
    for (int i = 0; i < r->n; i++) {
        assert_close(at(r, i, "out"), at(r, i, "in"), 1e-12);
        assert_close(at(r, i, "out-speed"), at(r, i, "in-speed"), 1e-11);
        assert_close(at(r, i, "shaft-speed"), at(r, i, "in-speed"), 1e-11);
        assert_close(at(r, i, "in-speed"), 30.0, 3e-6); // nothing brakes, all bodies are round
        assert_close(at(r, i, "slide"), 0.0, 1e-12);
        assert_close(at(r, i, "bend-inner"), b, 1e-12);
        assert_close(at(r, i, "bend-outer"), fabs(b - at(r, i, "steering")), 1e-7);
        most = fmax(most, fabs(b - at(r, i, "steering")));
    }
    assert_true(at(r, r->n - 1, "in") > 10 && most > 0.4);
}

// Constant velocity joints: hub and shaft turn as the input does at any bend, also while the bend changes.
static void half_shaft(void **state)
{
    (void)state;
    both(&(scenario){.file = "half-shaft", .t_end = 1, .samples = 80, .agree = 1e-6}, turns_as_fast);
}

// ---- axles by tables ------------------------------------------------------------------------------------------------

static void moves_as_the_mechanism(const run *r)
{
    double most = 0;
    for (int i = 0; i < r->n; i++) {
        // five links, their table by turns, the same by a quaternion in a mirror
        assert_close(at(r, i, "lift-left"), at(r, i, "lift"), 1e-7);
        assert_close(at(r, i, "lift-right"), at(r, i, "lift"), 1e-7);
        assert_close(at(r, i, "y-left"), at(r, i, "y-linked"), 1e-7);
        assert_close(at(r, i, "y-right"), at(r, i, "y-linked"), 1e-7);
        assert_close(at(r, i, "camber-left"), at(r, i, "camber-linked"), 1e-7);
        assert_close(at(r, i, "camber-right"), at(r, i, "camber-linked"), 1e-7);
        assert_close(at(r, i, "spin-left"), at(r, i, "spin-linked"), 1e-5);
        assert_close(at(r, i, "spin-right"), at(r, i, "spin-linked"), 1e-5);
        // a hinge with an arm, and the table of its circle
        assert_close(at(r, i, "swung"), at(r, i, "arm"), 1e-7);
        assert_close(at(r, i, "swung-acc"), at(r, i, "arm-acc"), 1e-4);
        most = fmax(most, fabs(at(r, i, "lift")));
    }
    assert_true(most > 0.08 && fabs(at(r, r->n - 1, "camber-left")) > 1e-3);
}

// Joints by tables move as the mechanisms that the tables were made of.
static void look_up_axle(void **state)
{
    (void)state;
    both(&(scenario){.file = "look-up-axle", .samples = 80, .agree = 1e-6, .tighter = 0.01}, moves_as_the_mechanism);
}

// ---- delta robot ----------------------------------------------------------------------------------------------------

static void stays_level(const run *r)
{
    double most = 0;
    for (int i = 0; i < r->n; i++) {
        assert_close(at(r, i, "tilt"), 0.0, 1e-10);
        assert_close(at(r, i, "yaw"), 0.0, 1e-10);
        most = fmax(most, fabs(at(r, i, "x")));
    }
    assert_true(most > 0.05);
}

// Six rods keep the platform level; three rods and constraints of orientation give the same motion.
static void delta_robot(void **state)
{
    (void)state;
    const scenario rods = {.file = "delta-robot", .samples = 50, .agree = 1e-6, .tighter = 0.01};
    const scenario other = {
        .file = "delta-robot", .set = {{"parallelograms", "0"}}, .samples = 50, .agree = 1e-6, .tighter = 0.01};
    both(&rods, stays_level);
    both(&other, stays_level);
    run a = play(&rods, KD_JOINT), b = play(&other, KD_JOINT);
    assert_same(&rods, &a, &b);
    release(&a);
    release(&b);
}

// ---- ladder, trammel, satellite -------------------------------------------------------------------------------------

static void slides_down(const run *r)
{
    const double l = 4, m = 12, s0 = sin(75 * PI / 180);
    bool         held = false, pulled = false;
    for (int i = 0; i < r->n; i++) {
        double q = at(r, i, "angle"), s = sin(q), rise = -0.75 * G * cos(q) * cos(q) - 1.5 * G * (s0 * s - s * s);
        assert_close(at(r, i, "rate") * at(r, i, "rate"), 3 * G / l * (s0 - s), 1e-6);
        assert_close(at(r, i, "height"), l * s, 1e-12);
        assert_close(at(r, i, "wall"), 0.75 * m * G * cos(q) * (3 * s - 2 * s0), 1e-5);
        assert_close(at(r, i, "floor"), m * (G + rise), 1e-5);
        held = held || at(r, i, "wall") > 1;
        pulled = pulled || at(r, i, "wall") < -1;
    }
    assert_true(held && pulled); // it passed two thirds of its height
}

// A ladder slides with the energy that it lost, and the wall's force changes its sign at two thirds of the height.
static void ladder(void **state)
{
    (void)state;
    both(&(scenario){.file = "ladder", .samples = 60, .agree = 1e-6}, slides_down);
}

static void draws_ellipse(const run *r)
{
    const double a = 0.2, c = 0.1, n = sqrt(0.05 / (4e-3 + 0.4 * a * a / 4));
    for (int i = 0; i < r->n; i++) {
        double t = r->t[i], x = at(r, i, "x"), y = at(r, i, "y"), q = 0.4 * cos(n * t) + 2 / n * sin(n * t);
        assert_close(x * x / ((a + c) * (a + c)) + y * y / (c * c), 1.0, 1e-11);
        assert_close(at(r, i, "angle"), -q, 1e-7);
        assert_close(at(r, i, "torque"), 0.05 * q, 1e-8);
    }
}

// The trammel's pen is on its ellipse, and its angle swings as a torsional spring lets it.
static void trammel(void **state)
{
    (void)state;
    both(&(scenario){.file = "trammel", .samples = 60, .agree = 1e-6}, draws_ellipse);
}

static void spins_up(const run *r)
{
    const double A = 40, C = 60, n0 = 1, T = 6, on = 2;
    for (int i = 0; i < r->n; i++) {
        double t = r->t[i], s = fmin(t, on), turned = n0 * t + T * s * s / (2 * C) + T * s / C * (t - s);
        double phase = (C - A) / A * turned;
        assert_close(at(r, i, "spin"), n0 + T * s / C, 5e-6);
        assert_close(at(r, i, "w1"), 0.2 * cos(phase), 5e-6);
        assert_close(at(r, i, "w2"), 0.2 * sin(phase), 5e-6);
        assert_close(at(r, i, "x"), 1 + 0.1 * t, 1e-9);
    }
}

// A symmetric satellite under a couple that turns with it: spin and wobble in closed form.
static void satellite(void **state)
{
    (void)state;
    both(&(scenario){.file = "satellite", .samples = 100, .agree = 1e-5}, spins_up);
}

static void turns_over(const run *r)
{
    double least = 1, most = -1;
    for (int i = 0; i < r->n; i++) {
        const double side = at(r, i, "side");
        least = fmin(least, side), most = fmax(most, side);
        assert_close(at(r, i, "energy"), 0.5 * (0.001 * 1e-4 + 0.016 * 1e-4 + 0.015 * 25), 1e-3);
    }
    assert_true(least < -0.9 && most > 0.9);
}

// The racket turns over and keeps its energy; its motion and all invariants: tests/system/test_invariants.c
static void tennis_racket(void **state)
{
    (void)state;
    both(&(scenario){.file = "tennis-racket", .samples = 200, .agree = 0.05, .tighter = 1e-2, .t_end = 30}, turns_over);
}

// ---- robot ----------------------------------------------------------------------------------------------------------

static const char *const ANGLE[] = {"angle(1)", "angle(2)", "angle(3)", "angle(4)", "angle(5)", "angle(6)"};

static void reaches_target(const run *r)
{
    const double target[] = {1.2, 0.6, -0.5, 0.8, 0.9, -1.5};
    for (int i = 0; i < 6; i++) assert_close(at(r, r->n - 1, ANGLE[i]), target[i], 2e-2);
}

static void does_not_move(const run *r)
{
    const double start[] = {0.3, 0.5, -0.4, 1.1, 0.7, -0.6};
    for (int k = 0; k < r->n; k++)
        for (int i = 0; i < 6; i++) assert_close(at(r, k, ANGLE[i]), start[i], 1e-9);
}

// The robot's controllers reach their targets, and gravity compensation alone keeps it at rest anywhere.
static void robot6(void **state)
{
    (void)state;
    both(&(scenario){.file = "robot6", .samples = 30, .agree = 1e-4}, reaches_target);
    both(&(scenario){.file = "robot6",
                     .set = {{"control", "0"},
                             {"friction", "0"},
                             {"q1", "0.3"},
                             {"q2", "0.5"},
                             {"q3", "-0.4"},
                             {"q4", "1.1"},
                             {"q5", "0.7"},
                             {"q6", "-0.6"}},
                     .t_end = 0.5,
                     .samples = 5,
                     .agree = 1e-6,
                     .balance = 2}, // rounding of 1e-11 J is all the energy there is
         does_not_move);
}

// Without control and payload the robot falls as the imported URDF does.
static void robot6_is_the_urdf(void **state)
{
    (void)state;
    const scenario s = {
        .file = "robot6", .set = {{"control", "0"}, {"carry", "0"}, {"payload", "1e-9"}}, .t_end = 0.5, .samples = 10};
    char      message[1000] = "";
    kd_model *urdf = NULL;
    kd_status status =
        kd_model_read_urdf(KD_SOURCE_DIR "/models/robot6.urdf", NULL, &urdf, NULL, 0, message, sizeof message);
    if (status == KD_ERR_UNAVAILABLE) skip();
    assert_true(status >= 0);
    run       mine = play(&s, KD_JOINT);
    run       theirs = {.model = urdf};
    kd_state *x = NULL;
    create(&(scenario){.file = "robot6.urdf", .samples = 1}, KD_JOINT, &x, &theirs);
    kd_simulation_options o = kd_simulation_options_default();
    o.rtol = o.atol = 1e-8;
    assert_true(kd_simulate(kd_system_eom(theirs.system), &theirs.inputs, &o, x, 0.5, NULL, message, sizeof message) >=
                0);
    for (int i = 0; i < 6; i++) assert_close(at(&mine, mine.n - 1, ANGLE[i]), x->p[i], 1e-6);
    assert_true(fabs(x->p[1]) > 0.1); // it did fall
    kd_state_destroy(x);
    kd_certifier_destroy(theirs.certifier);
    kd_eom_data_destroy(theirs.data);
    free(theirs.times);
    release(&theirs);
    release(&mine);
}

// ---- all of the gallery ---------------------------------------------------------------------------------------------

enum { LARGEST_GALLERY = 1 << 20 };

// All model files of a folder, one behind the other, without comments; answers where the text ends.
static size_t read_gallery(const char *name, char *text, size_t n)
{
    DIR           *folder = opendir(name);
    struct dirent *entry;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0) continue;
        char path[400], line[2000];
        snprintf(path, sizeof path, "%.190s/%.200s", name, entry->d_name);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file)) {
            char *comment = line[0] == '#' ? line : strstr(line, " #");
            if (comment) comment[0] = '\n', comment[1] = '\0';
            size_t length = strlen(line);
            assert_true(n + length < LARGEST_GALLERY);
            memcpy(text + n, line, length + 1);
            n += length;
        }
        fclose(file);
    }
    closedir(folder);
    return n;
}

static bool says(const char *text, const char *key, const char *word)
{
    char   wanted[100];
    size_t length = (size_t)snprintf(wanted, sizeof wanted, "%s:%s%s", key, word[0] ? " " : "", word);
    for (const char *s = strstr(text, wanted); s; s = strstr(s + 1, wanted)) {
        bool starts = s == text || strchr(" {\n", s[-1]) != NULL;
        if (starts && (!word[0] || strchr(",}\n", s[length]))) return true;
    }
    return false;
}

// Fields of code of others (fmu) that depend on what it is
static bool is_foreign(const kd_field *f)
{
    return strcmp(f->key, "kind") == 0 || strcmp(f->key, "tolerance") == 0;
}

// Every kind of element, every field and every word of a choice but the default is shown by a file of the gallery.
static void gallery_shows_everything(void **state)
{
    (void)state;
    char *text = malloc(LARGEST_GALLERY);
    int   missing = 0;
    assert_non_null(text);
    text[0] = '\0';
    size_t models = read_gallery(KD_SOURCE_DIR "/models", text, 0);
    models = read_gallery(KD_SOURCE_DIR "/models/foreign", text, models);
    (void)read_gallery(KD_SOURCE_DIR "/models/library", text, models);
    for (int id = 0; id < KD_SCHEMA_COUNT; id++) {
        const kd_schema *s = kd_schema_of((kd_schema_id)id);
        for (int k = 0; kd_schema_has_kinds(s) && k < s->nkinds; k++) {
            const char *word = kd_schema_word(s, k)->word;
            if (!word || strncmp(word, "left_", 5) == 0) continue; // images, made by mirrors
            if (says(text, s->kind_by_key ? word : "type", s->kind_by_key ? "" : word)) continue;
            print_error("no model has a %s '%s'\n", s->singular, word);
            missing++;
        }
        for (int i = 0; i < kd_schema_field_count(s, -1); i++) {
            const kd_field *f = kd_schema_field_at(s, -1, i);
            bool            chosen = f->type == KD_FIELD_WORD || f->type == KD_FIELD_TEXT;
            if (id == KD_SCHEMA_CURVE_ROAD) chosen = false; // its classes differ by a factor, the rest is as in curves
            if (id == KD_SCHEMA_FRAME) continue;            // has the keys of a place
            const bool written = strcmp(f->key, "piece") == 0 || strcmp(f->key, "image") == 0;
            if (id == KD_SCHEMA_BODY && written) continue;        // of models that were written
            if (id == KD_SCHEMA_BLOCK && is_foreign(f)) continue; // tests/fmi/test_foreign.c
            if (!says(text, f->key, "")) print_error("no model gives '%s' of %s\n", f->key, s->word), missing++;
            for (int k = 0; chosen && f->words && f->words[k]; k++)
                if (!(f->type == KD_FIELD_WORD && k == (int)f->value) && !says(text, f->key, f->words[k]))
                    print_error("no model has '%s: %s'\n", f->key, f->words[k]), missing++;
        }
    }
    free(text);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gyroscope),
        cmocka_unit_test(spatial_slider_crank),
        cmocka_unit_test(rolling_disc),
        cmocka_unit_test(bicycle),
        cmocka_unit_test(skate),
        cmocka_unit_test(gear_train),
        cmocka_unit_test(bouncing_ball),
        cmocka_unit_test(damper_test),
        cmocka_unit_test(speed_control),
        cmocka_unit_test(crane),
        cmocka_unit_test(bushing_mount),
        cmocka_unit_test(damper_valves),
        cmocka_unit_test(cam_lift_off),
        cmocka_unit_test(loose_guides),
        cmocka_unit_test(quarter_car),
        cmocka_unit_test(cam),
        cmocka_unit_test(plate_cam),
        cmocka_unit_test(screw_jack),
        cmocka_unit_test(cardan_shaft),
        cmocka_unit_test(half_shaft),
        cmocka_unit_test(look_up_axle),
        cmocka_unit_test(delta_robot),
        cmocka_unit_test(ladder),
        cmocka_unit_test(trammel),
        cmocka_unit_test(satellite),
        cmocka_unit_test(tennis_racket),
        cmocka_unit_test(robot6),
        cmocka_unit_test(robot6_is_the_urdf),
        cmocka_unit_test(gallery_shows_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
