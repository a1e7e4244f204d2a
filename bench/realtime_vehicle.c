// realtime_vehicle.c: one step of 1 ms of a car on closed loops (models/closed-loop-car.yaml: 17 bodies, 30 tree
// coordinates, 16 loop equations), over a bump and through a lane change, beside MuJoCo with the same bodies, loops,
// springs and tyres. Thread CPU time; the drive is cut into pieces that both programs do in turn, and the smallest time
// of each piece counts; once without outputs, and once with the sensors of the model, read after every step. Tyres count
// on both sides: here as elements of the model file, with
// their derivatives, there as plain C, without.
#include "realtime.h"

#include <math.h>
#include <stdio.h>

#include <kardan/kardan.h>
#include <kardan/realtime.h>

#include "common_run.h"
#include "core/text.h"

#define STEP 1e-3
#define END 6.0 // [s]
enum { PIECES = 12, PORTS = 2, OUTPUTS = 40 };

static const double PI = 3.14159265358979323846;

// The lane change of the model file; held over the step that ends at t.
static double steer_at(double t)
{
    const double s = 2 * PI * (t - 2) / 3;
    return s < 0 || s >= 2 * PI ? 0 : 0.0391 * (sin(s) - sin(2 * s) / 2);
}

// ---- kardan --------------------------------------------------------------------------------------------------------

typedef struct vehicle {
    kd_model    *model;
    kd_system   *system;
    kd_state    *start;
    kd_realtime *stepper;
    int          steer, y[8]; // ports: input, outputs in the order of realtime_motion
} vehicle;

static void vehicle_close(vehicle *v)
{
    kd_realtime_destroy(v->stepper);
    kd_state_destroy(v->start);
    kd_system_destroy(v->system);
    kd_model_destroy(v->model);
}

static bool vehicle_open(vehicle *v, const kd_realtime_options *opt, char *message, size_t size)
{
    static const char *const name[8] = {"x",           "y",           "height",      "roll",
                                        "travel(1,1)", "travel(1,2)", "travel(2,1)", "travel(2,2)"};
    *v = (vehicle){0};
    if (kd_model_read(KD_MODELS_DIR "/closed-loop-car.yaml", NULL, 0, &v->model, message, size) < 0) return false;
    if (kd_system_create(v->model, NULL, &v->system, message, size) < 0) return false;
    if (kd_state_create(kd_system_eom(v->system), &v->start) < 0) return false;
    if (kd_system_start(v->system, v->start, message, size) < 0) return false;
    if (kd_realtime_create(kd_system_eom(v->system), kd_system_inputs(v->system), opt, v->start, &v->stepper, message,
                           size) < 0)
        return false;
    kd_state_copy(kd_realtime_state(v->stepper), v->start);
    v->steer = kd_realtime_input(v->stepper, "steer");
    bool good = v->steer >= 0 && kd_eom_dims(kd_system_eom(v->system)).ny <= OUTPUTS;
    for (int i = 0; i < 8; i++) good = (v->y[i] = kd_realtime_output(v->stepper, name[i])) >= 0 && good;
    if (!good) kd_text(message, size, "the model has not the ports that are expected");
    return good;
}

static bool vehicle_step(vehicle *v, double steer, double *outputs)
{
    double inputs[PORTS] = {0};
    inputs[v->steer] = steer;
    return kd_realtime_step(v->stepper, inputs, outputs) >= 0;
}

static realtime_motion vehicle_motion(const vehicle *v, const double *outputs)
{
    realtime_motion m = {outputs[v->y[0]], outputs[v->y[1]], outputs[v->y[2]], outputs[v->y[3]], {0}};
    for (int k = 0; k < 4; k++) m.travel[k] = outputs[v->y[4 + k]];
    return m;
}

// ---- cost ----------------------------------------------------------------------------------------------------------

typedef struct cost {
    double kardan[PIECES], peer[PIECES]; // seconds, the smallest of all rounds
} cost;

// The smallest times of each piece; with sensors: all of them are read after every step
static bool one_round(vehicle *v, realtime_peer *peer, bool sensors, cost *c)
{
    const long n = lrint(END / STEP) / PIECES;
    double     y[OUTPUTS];
    bool       good = kd_realtime_restore(v->stepper, v->start) >= 0;
    if (peer) realtime_peer_reset(peer);
    for (int piece = 0; piece < PIECES && good; piece++) {
        double start = bench_cpu_seconds();
        for (long k = piece * n; k < (piece + 1) * n && good; k++)
            good = vehicle_step(v, steer_at((double)(k + 1) * STEP), sensors ? y : NULL);
        c->kardan[piece] = fmin(c->kardan[piece], bench_cpu_seconds() - start);
        if (!peer) continue;
        start = bench_cpu_seconds();
        for (long k = piece * n; k < (piece + 1) * n; k++) {
            realtime_peer_step(peer, steer_at((double)(k + 1) * STEP));
            if (sensors) realtime_peer_read(peer, y);
        }
        c->peer[piece] = fmin(c->peer[piece], bench_cpu_seconds() - start);
    }
    return good;
}

static double per_step(const double piece[PIECES])
{
    double sum = 0;
    for (int i = 0; i < PIECES; i++) sum += piece[i];
    return 1e6 * sum / (END / STEP); // microseconds
}

// Dense or sparse: what MuJoCo does faster.
static realtime_peer *faster_peer(vehicle *v, char *message, size_t size)
{
    realtime_peer *peer[2];
    double         time[2];
    for (int sparse = 0; sparse < 2; sparse++) {
        cost c;
        for (int i = 0; i < PIECES; i++) c.kardan[i] = c.peer[i] = INFINITY;
        peer[sparse] = realtime_peer_create(STEP, sparse != 0, message, size);
        if (peer[sparse]) (void)one_round(v, peer[sparse], false, &c);
        time[sparse] = per_step(c.peer);
    }
    const int worse = time[0] <= time[1] ? 1 : 0;
    realtime_peer_destroy(peer[worse]);
    return peer[1 - worse];
}

static cost measure_cost(const bench *b, vehicle *v, realtime_peer *peer, bool sensors, bool *good)
{
    const int rounds = bench_quick(b) ? 3 : 12;
    cost      c;
    *good = true;
    for (int i = 0; i < PIECES; i++) c.kardan[i] = c.peer[i] = INFINITY;
    if (peer) realtime_peer_sense(peer, sensors);
    for (int r = 0; r < rounds && *good; r++) *good = one_round(v, peer, sensors, &c);
    if (peer) realtime_peer_sense(peer, false);
    return c;
}

// Rows of one way to keep the constraints; the first one gives the row of the issue its name without an ending.
static void measure_ratio(bench *b, vehicle *v, realtime_peer *peer, int refresh, const char *word, bool first)
{
    bool         good;
    char         note[200];
    const cost   c = measure_cost(b, v, peer, false, &good);
    const double own = good ? per_step(c.kardan) : NAN, other = peer ? per_step(c.peer) : NAN;
    kd_text(note, sizeof note, "J2, 1 ms, over bump and lane change; derivatives renewed in %d parts", refresh);
    bench_row(b, bench_no_goal(false), NAN, own, "us", good ? note : kd_realtime_message(v->stepper), "vehicle.step.%s",
              word);
    const bench_goal goal = first ? bench_above(3) : bench_no_goal(true);
    const char      *dot = first ? "" : ".", *ending = first ? "" : word;
    if (!realtime_peer_version())
        bench_row_without(b, goal, "MuJoCo", "libmujoco-dev", "ratio.mujoco.vehicle%s%s", dot, ending);
    if (!peer) return;
    kd_text(note, sizeof note, "MuJoCo Euler; %.2f us are tyres", 1e6 * realtime_peer_tyres(peer));
    if (first) bench_row(b, bench_no_goal(false), NAN, other, "us", note, "vehicle.step.mujoco");
    bench_row(b, goal, NAN, other / own, "", "MuJoCo / kardan, aim 4; same bodies, loops, springs and tyres",
              "ratio.mujoco.vehicle%s%s", dot, ending);
}

// The same with all sensors read after every step, on both sides
static void measure_sensors(bench *b, vehicle *v, realtime_peer *peer)
{
    bool         good;
    const cost   c = measure_cost(b, v, peer, true, &good);
    const double own = good ? per_step(c.kardan) : NAN, other = peer ? per_step(c.peer) : NAN;
    bench_row(b, bench_no_goal(false), NAN, own, "us", "17 sensors: place, attitude, rates, lateral, travels, loads",
              "vehicle.step.sensors");
    if (!realtime_peer_version())
        bench_row_without(b, bench_above(2.5), "MuJoCo", "libmujoco-dev", "ratio.mujoco.vehicle.sensors");
    if (!peer) return;
    bench_row(b, bench_no_goal(false), NAN, other, "us", "MuJoCo's own sensors of the same",
              "vehicle.step.mujoco_sensors");
    bench_row(b, bench_above(2.5), NAN, other / own, "", "MuJoCo / kardan, sensors read on both sides",
              "ratio.mujoco.vehicle.sensors");
}

// ---- constraints, and whether both are the same car ----------------------------------------------------------------

static void measure_defects(bench *b, vehicle *v, realtime_peer *peer, const char *word, bool first)
{
    double own = kd_realtime_restore(v->stepper, v->start) < 0 ? NAN : 0, other = 0;
    if (peer) realtime_peer_reset(peer);
    for (long k = 0; k < lrint(END / STEP); k++) {
        kd_realtime_defect defect = {.position = NAN, .velocity = NAN};
        double             outputs[OUTPUTS];
        if (!vehicle_step(v, steer_at((double)(k + 1) * STEP), outputs) || kd_realtime_defects(v->stepper, &defect) < 0)
            own = NAN;
        own = defect.position > own ? defect.position : own;
        if (!peer) continue;
        realtime_peer_step(peer, steer_at((double)(k + 1) * STEP));
        other = fmax(other, realtime_peer_defect(peer));
    }
    bench_row(b, bench_below(1e-7), NAN, own, "m", "largest error of the loops", "vehicle.defect.%s", word);
    if (!realtime_peer_version())
        bench_row_without(b, bench_above(100), "MuJoCo", "libmujoco-dev", "ratio.mujoco.defect.%s", word);
    if (!peer) return;
    if (first)
        bench_row(b, bench_no_goal(false), NAN, other, "m", "as hard as MuJoCo goes: solref -1/h^2, -1/h",
                  "vehicle.defect.mujoco");
    bench_row(b, bench_above(100), NAN, other / own, "", "MuJoCo / kardan", "ratio.mujoco.defect.%s", word);
}

static double difference(const realtime_motion *a, const realtime_motion *b)
{
    double worst = fmax(fabs(a->z - b->z), fabs(a->roll - b->roll));
    for (int k = 0; k < 4; k++) worst = fmax(worst, fabs(a->travel[k] - b->travel[k]));
    return worst;
}

// Small steps of both: height, roll and angles of the arms. Here the steering is that of the model file, with its rate:
// inputs that come from outside are held, and the velocities of the wheels do not know that the rack moves.
static void measure_difference(bench *b, const kd_realtime_options *usual)
{
    static const bool   none[PORTS] = {false, false};
    kd_realtime_options opt = *usual;
    vehicle             v;
    char                message[500] = "";
    double              worst = 0;
    const bench_goal    goal = bench_below(bench_quick(b) ? 3e-3 : 1e-3);
    opt.h = bench_quick(b) ? 2.5e-4 : 1e-4;
    opt.external = none;
    bool           good = vehicle_open(&v, &opt, message, sizeof message);
    realtime_peer *peer = good ? realtime_peer_create(opt.h, false, message, sizeof message) : NULL;
    for (long k = 0; k < lrint(END / opt.h) && peer && good; k++) {
        const double steer = steer_at((double)(k + 1) * opt.h);
        double       outputs[OUTPUTS];
        good = vehicle_step(&v, steer, outputs);
        realtime_peer_step(peer, steer);
        const realtime_motion a = vehicle_motion(&v, outputs), c = realtime_peer_motion(peer);
        worst = fmax(worst, difference(&a, &c));
    }
    if (peer) {
        kd_text(message, sizeof message, "height, roll, arms; the largest is 0.17 rad; steps of %g s", opt.h);
        bench_row(b, goal, NAN, good ? worst : NAN, "m, rad", message, "vehicle.difference");
    } else if (!realtime_peer_version()) {
        bench_row_without(b, goal, "MuJoCo", "libmujoco-dev", "vehicle.difference");
    }
    realtime_peer_destroy(peer);
    vehicle_close(&v);
}

static void measure(bench *b, kd_realtime_stabilisation stabilisation, int refresh, const char *word, bool first)
{
    kd_realtime_options opt = kd_realtime_options_default();
    vehicle             v;
    char                message[500] = "", peer_message[500] = "";
    opt.stabilisation = stabilisation;
    opt.refresh = refresh;
    if (vehicle_open(&v, &opt, message, sizeof message)) {
        realtime_peer *peer = realtime_peer_version() ? faster_peer(&v, peer_message, sizeof peer_message) : NULL;
        if (!peer && first) bench_say(b, "MuJoCo is missing (package libmujoco-dev): no ratios\n");
        measure_ratio(b, &v, peer, refresh, word, first);
        if (first) measure_sensors(b, &v, peer);
        measure_defects(b, &v, peer, word, first);
        if (first) measure_difference(b, &opt);
        realtime_peer_destroy(peer);
    } else {
        bench_row(b, bench_above(3), NAN, NAN, "", message, "ratio.mujoco.vehicle");
    }
    vehicle_close(&v);
}

void realtime_vehicle(bench *b)
{
    if (!bench_wants(b, "vehicle.") && !bench_wants(b, "ratio.mujoco.")) return;
    measure(b, KD_REALTIME_GGL, 4, "ggl", true);
    measure(b, KD_REALTIME_GGL, 1, "ggl-all", false);
    measure(b, KD_REALTIME_PROJECTION, 4, "projection", false);
}
