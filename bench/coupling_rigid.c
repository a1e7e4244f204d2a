// coupling_rigid.c: two masses of ratio 10 that a rigid joint of the systems file holds together, without and with preconditioning; the truck
// with semi-active dampers, controllers apart, against the controllers inside.
#include <kardan/results.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coupling.h"

static kd_status run_link(int index, const char *precondition, double *error, kd_cosim_certificate *z)
{
    char      text[800], message[1000];
    kd_cosim *c;
    snprintf(text, sizeof text,
             "systems:\n  a: {model: point.yaml, set: {m: 10}}\n  b: {model: point.yaml, set: {k: 30}}\n"
             "joints: {link: {type: spherical, frames: [a.end, b.end]}}\n"
             "master: {step: 1e-3, degree: 0, index: %d, precondition: %s, threads: 1}\nrun: {t_end: 1}\n",
             index, precondition);
    kd_status status =
        kd_cosim_read_text(KD_SOURCE_DIR "/models/systems/bench.yaml", text, strlen(text), &c, message, sizeof message);
    if (status < 0) fprintf(stderr, "%s\n", message);
    if (status >= 0) status = kd_cosim_run(c, message, sizeof message);
    // both are one mass of 11 kg on 40 N/m
    *error = status < 0 ? NAN : fabs(kd_cosim_read_value(c, "b.x") - cos(sqrt(40.0 / 11)));
    kd_cosim_certify(c, z);
    kd_cosim_destroy(c);
    return status;
}

void coupling_rigid(bench *b)
{
    static kd_cosim_certificate z; // large
    for (int index = 1; index <= 2; index++) {
        double error;
        char   note[200];
        if (!bench_wants(b, "rigid.index%d", index)) continue;
        const kd_status status = run_link(index, "no", &error, &z);
        bench_row(b, bench_exactly(1), NAN, status == KD_ERR_NEWTON, "",
                  "mass ratio 10 without preconditioning: 1 if it diverges and says so", "rigid.index%d.diverges",
                  index);
        const kd_status with = run_link(index, "auto", &error, &z);
        snprintf(
            note, sizeof note,
            "mass ratio 10, contraction %.3g without: error at 1 s, H = 1 ms; at most %.1e m apart, %.1f passes a step",
            z.contraction, z.joint_position, (double)z.iterations / (double)(z.steps > 0 ? z.steps : 1));
        bench_row(b, bench_below(5e-3), NAN, with < 0 ? NAN : error, "m", note, "rigid.index%d.converges", index);
    }
}

// Sensor of the controlled truck in one model at the end
static double whole_truck(double t_end, const char *name)
{
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    kd_simulation        *simulation = NULL;
    kd_simulation_options opt;
    char                  message[1000] = "";
    double                value = NAN;
    kd_status             status =
        kd_model_read(KD_SOURCE_DIR "/models/semi-active-truck.yaml", NULL, 0, &model, message, sizeof message);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_system_run_options(system, &opt, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    if (status >= 0)
        status = kd_simulation_create(kd_system_eom(system), kd_system_inputs(system), &opt, x, &simulation, message,
                                      sizeof message);
    if (status >= 0) status = kd_simulation_run(simulation, t_end);
    if (status >= 0) value = kd_simulation_output(simulation, name);
    kd_simulation_destroy(simulation);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return value;
}

void coupling_semi_active(bench *b)
{
    const double t_end = bench_quick(b) ? 2 : 10;
    kd_cosim    *c = NULL;
    char         message[1000] = "", note[200];
    if (!bench_wants(b, "semi_active.rms")) return;
    const double whole = whole_truck(t_end, "rms");
    bool good = kd_cosim_read(KD_SOURCE_DIR "/models/systems/semi-active-truck.yaml", &c, message, sizeof message) >= 0;
    kd_cosim_options opt = kd_cosim_options_of(c);
    opt.t_end = t_end;
    good = good && kd_cosim_set_options(c, &opt, message, sizeof message) >= 0 &&
           kd_cosim_run(c, message, sizeof message) >= 0;
    const double apart = good ? kd_cosim_read_value(c, "plant.rms") : NAN;
    snprintf(note, sizeof note,
             "cabin's acceleration (rms) with controllers apart %.6g, inside %.6g m/s^2, at %g s, 200 Hz%s%s", apart,
             whole, t_end, good ? "" : "; ", good ? "" : message);
    bench_row(b, bench_below(1e-3), NAN, fabs(apart - whole) / whole, "", note, "semi_active.rms");
    kd_cosim_destroy(c);
}
