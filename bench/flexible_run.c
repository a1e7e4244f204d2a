// flexible_run.c: runs with flexible bodies: time of a step in real time of the published rotor, and steps of stiff integrators with
// lightly damped modes beside those of modes that creep.
#include <math.h>
#include <stdio.h>

#include "common_run.h"
#include "flexible.h"
#include "model/part.h"

// ---- real time ------------------------------------------------------------------------------------------------------

typedef struct rotor {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_realtime *stepper;
} rotor;

static void close_rotor(rotor *r)
{
    kd_realtime_destroy(r->stepper);
    kd_state_destroy(r->x);
    kd_system_destroy(r->system);
    kd_model_destroy(r->model);
    *r = (rotor){0};
}

// The rotor on elastic bearings at both ends, turning with 1000 rad/s
static bool open_rotor(rotor *r, kd_flexible_body *body, char *message, size_t size)
{
    static const char *const end[] = {"low", "high"};
    kd_body_def              def = kd_body_def_default();
    kd_realtime_options      opt = kd_realtime_options_default();
    bool                     good = kd_model_create(&r->model) >= 0;
    def.flexible = "rotor";
    def.read = good ? kd_model_part_enter(r->model, "rotor", 1, 1, body) : NULL;
    def.angular_velocity[2] = 1000;
    good = def.read && kd_model_add_body(r->model, "rotor", &def) >= 0;
    for (int i = 0; i < 2 && good; i++) {
        kd_force_def bearing = kd_force_def_default(KD_BUSHING);
        for (int d = 0; d < 3; d++) bearing.bushing.matrix[0][7 * d] = 1e7, bearing.bushing.matrix[1][7 * d] = 1e3;
        bearing.from = kd_in("ground", 0, 0, def.read->frame[i].at.z);
        bearing.to = kd_at_node("rotor", end[i]);
        good = kd_model_add_force(r->model, end[i], &bearing) >= 0;
    }
    opt.h = 1e-4;
    return good && kd_model_finish(r->model) >= 0 && kd_system_create(r->model, NULL, &r->system, message, size) >= 0 &&
           kd_state_create(kd_system_eom(r->system), &r->x) >= 0 &&
           kd_system_start(r->system, r->x, message, size) >= 0 &&
           kd_realtime_create(kd_system_eom(r->system), kd_system_inputs(r->system), &opt, r->x, &r->stepper, message,
                              size) >= 0;
}

void flexible_rotor(bench *b, const kd_fe_structure *s, const kd_interface *faces)
{
    enum { STEPS = 500 };
    kd_reduction     reduction = {0};
    kd_flexible_body body = {0};
    rotor            r = {0};
    char             message[600] = "";
    double           best = INFINITY;
    if (!bench_wants(b, "realtime.rotor")) return;
    bool good = kd_reduce(s, faces, 2, &(kd_reduction_options){.modes = 8, .dynamic = true}, &reduction, message,
                          sizeof message) == KD_OK &&
                kd_flexible_body_make(&reduction, &(kd_reference){KD_REFERENCE_MEAN, 0, 0}, 8, 0.01, &body, message,
                                      sizeof message) == KD_OK &&
                open_rotor(&r, &body, message, sizeof message);
    for (int round = 0; good && round < (bench_quick(b) ? 3 : 20); round++) {
        const double start = bench_cpu_seconds();
        for (int i = 0; i < STEPS && good; i++) good = kd_realtime_step(r.stepper, NULL, NULL) >= 0;
        best = fmin(best, 1e6 * (bench_cpu_seconds() - start) / STEPS);
    }
    if (!good && r.stepper) snprintf(message, sizeof message, "%s", kd_realtime_message(r.stepper));
    bench_row(b, bench_no_goal(false), 138, good ? best : NAN, "us",
              good ? "8 modes, 1000 rad/s on two elastic bearings, steps of 0.1 ms" : message, "realtime.rotor");
    close_rotor(&r);
    kd_reduction_release(&reduction);
}

// ---- steps ----------------------------------------------------------------------------------------------------------

// Steps of a beam with 8 modes and a load at its tip that is turned by a drive, from rest to rest; -1: it failed
static long steps_of(kd_integrator_kind integrator, double EI, double damping, double rtol, char *message, size_t size)
{
    const flexible_beam   beam = {1, EI, 2, 8, true, damping};
    kd_model             *model = NULL;
    kd_system            *s = NULL;
    kd_state             *x = NULL;
    kd_simulation        *sim = NULL;
    kd_body_def           def, load = kd_body_def_default();
    kd_joint_def          hub = kd_joint_def_default(KD_REVOLUTE), end = kd_joint_def_default(KD_FIXED);
    kd_simulation_options opt = kd_simulation_options_default();
    const double          none[3] = {0};
    long                  steps = -1;
    hub.to = kd_at_node("beam", "root");
    // theta' = 6.4 sin(pi t)^6: it begins so gently that the modes follow without swinging
    hub.motion[0] = "2*t - (15*sin(2*pi*t) - 3*sin(4*pi*t) + sin(6*pi*t)/3)/(10*pi)";
    load.mass = 1;
    load.position[0] = 1;
    for (int d = 0; d < 6; d++) load.inertia[d] = d < 3 ? 1e-3 : 0;
    end.from = kd_at_node("beam", "tip");
    end.to = kd_in("load", 0, 0, 0);
    opt.integrator = integrator;
    opt.rtol = rtol;
    opt.atol = rtol;
    bool good = kd_model_create(&model) >= 0 && kd_model_set_gravity(model, none) >= 0 &&
                flexible_read(model, &beam, &def, message, size) && kd_model_add_body(model, "beam", &def) >= 0 &&
                kd_model_add_body(model, "load", &load) >= 0 && kd_model_add_joint(model, "hub", &hub) >= 0 &&
                kd_model_add_joint(model, "end", &end) >= 0 && kd_model_finish(model) >= 0 &&
                kd_system_create(model, NULL, &s, message, size) >= 0 && kd_state_create(kd_system_eom(s), &x) >= 0 &&
                kd_system_start(s, x, message, size) >= 0 &&
                kd_simulation_create(kd_system_eom(s), kd_system_inputs(s), &opt, x, &sim, message, size) >= 0 &&
                kd_simulation_run(sim, 1) >= 0;
    if (!good && sim)
        snprintf(message, size, "%s", kd_simulation_message(sim));
    else if (!good && !message[0])
        snprintf(message, size, "%s", kd_model_message(model));
    if (good) steps = kd_simulation_stats(sim).accepted;
    kd_simulation_destroy(sim);
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(model);
    return steps;
}

// Lightly damped modes beside those that creep. BDF of orders 3, 4, 5 are unstable for modes with 1 % damping while h omega is between
// 0.36 and 1.86, 0.51 and 4.64, 0.78 and 9.3 (roots of the method at fixed steps): beside the beam of 1e4 N m^2 (its lowest mode has
// 140 rad/s, steps of 20 ms are wanted) there is one ten times as fast, whose modes are beyond that.
void flexible_steps(bench *b)
{
    static const struct {
        const char        *name;
        kd_integrator_kind integrator;
        double             EI;
    } ways[] = {{"default", KD_INTEGRATOR_CHOSEN, 1e4},
                {"radau", KD_RADAU, 1e4},
                {"bdf", KD_BDF, 1e4},
                {"bdf.fast", KD_BDF, 1e6}};
    for (int i = 0; i < 4; i++)
        for (int digits = 5; digits <= 6; digits++) {
            char message[600] = "", note[120];
            if (!bench_wants(b, "steps.%s.1e-%d", ways[i].name, digits)) continue;
            const double rtol = pow(10, -digits);
            const long   light = steps_of(ways[i].integrator, ways[i].EI, 0.01, rtol, message, sizeof message),
                       creeping = steps_of(ways[i].integrator, ways[i].EI, 1, rtol, message, sizeof message);
            snprintf(note, sizeof note, "modes with 1 %% damping %ld steps, that creep %ld%s", light, creeping,
                     i == 2 ? "; orders 3 to 5 are unstable there" : "");
            bench_row(b, bench_below(1.2), NAN, light > 0 && creeping > 0 ? (double)light / (double)creeping : NAN, "",
                      light > 0 && creeping > 0 ? note : message, "steps.%s.1e-%d", ways[i].name, digits);
        }
}
