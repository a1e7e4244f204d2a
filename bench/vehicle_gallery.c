// vehicle_gallery.c: a model of the gallery simulated as its file says, with its sensors.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vehicle_gallery.h"

typedef struct keeper {
    vehicle_run     *out;
    kd_simulation   *simulation;
    const kd_eom    *eom;
    kd_eom_data     *data;
    const kd_inputs *inputs;
} keeper;

static kd_eval keep(const kd_state *x, bool at_time, void *context)
{
    keeper       *k = context;
    double        u[96] = {0};
    const kd_dims n = kd_eom_dims(k->eom);
    k->out->t = x->t;
    if ((!at_time && k->out->rows > 0) || k->out->rows >= VEHICLE_TIMES || n.nu > 32) return KD_EVAL_OK;
    if (k->inputs && k->inputs->eval) (void)k->inputs->eval(x->t, k->inputs->context, u, u + n.nu, u + 2 * n.nu);
    kd_eom_at_time(k->data, x->t, u, u + n.nu, u + 2 * n.nu, x->z);
    kd_eom_at_position(k->data, x->p, x->s);
    kd_eom_at_velocity(k->data, x->v, x->r);
    kd_eom_at_acceleration(k->data, x->a, x->w, x->lambda, x->mu);
    return n.ny > 0 ? kd_eom_eval(k->data, KD_Y, k->out->value[k->out->rows++]) : KD_EVAL_OK;
}

static kd_model *read_model(const char *name, const char *settings, char *message, size_t size)
{
    char       path[600], text[300];
    kd_setting list[8];
    kd_model  *model = NULL;
    int        n = 0;
    snprintf(path, sizeof path, "%s/%s.yaml", KD_MODELS_DIR, name);
    snprintf(text, sizeof text, "%s", settings);
    for (char *word = strtok(text, " "); word && n < 8; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        if (!value) continue;
        *value++ = '\0';
        list[n++] = (kd_setting){word, value};
    }
    const kd_status status = kd_model_read_with(path, list, n, NULL, 0, &model, message, size);
    return status < 0 ? NULL : model;
}

static void simulate(kd_system *system, kd_state *x, const kd_run_def *run, double t_end, int intervals,
                     vehicle_run *out)
{
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    double times[VEHICLE_TIMES];
    keeper k = {.out = out, .eom = kd_system_eom(system), .inputs = kd_system_inputs(system)};
    for (int i = 0; i < intervals; i++) times[i] = t_end * (i + 1) / intervals;
    opt.rtol = run->rtol, opt.atol = run->atol;
    if (run->max_step > 0) opt.integrator_options.h_max = run->max_step;
    opt.times = times, opt.ntimes = intervals, opt.output = keep, opt.context = &k;
    out->status = kd_eom_data_create(k.eom, &k.data);
    if (out->status >= 0)
        out->status = kd_simulation_create(k.eom, k.inputs, &opt, x, &k.simulation, out->message, sizeof out->message);
    if (out->status >= 0) {
        const double start = bench_cpu_seconds();
        out->status = kd_simulation_run(k.simulation, t_end);
        out->seconds = bench_cpu_seconds() - start;
        out->steps = kd_simulation_stats(k.simulation).steps;
        if (out->status < 0) snprintf(out->message, sizeof out->message, "%s", kd_simulation_message(k.simulation));
    }
    kd_simulation_destroy(k.simulation);
    kd_eom_data_destroy(k.data);
}

void vehicle_simulate(const char *name, const char *settings, double t_end, int intervals, vehicle_run *out)
{
    kd_system *system = NULL;
    kd_state  *x = NULL;
    memset(out, 0, sizeof *out);
    kd_model *model = read_model(name, settings, out->message, sizeof out->message);
    out->status = model ? kd_system_create(model, NULL, &system, out->message, sizeof out->message) : KD_ERR_MODEL;
    if (out->status >= 0) out->status = kd_state_create(kd_system_eom(system), &x);
    if (out->status >= 0) out->status = kd_system_start(system, x, out->message, sizeof out->message);
    if (out->status >= 0 && kd_eom_dims(kd_system_eom(system)).ny > VEHICLE_SENSORS) out->status = KD_ERR_ARGUMENT;
    if (out->status >= 0) {
        out->columns = kd_eom_dims(kd_system_eom(system)).ny;
        for (int i = 0; i < out->columns; i++)
            kd_eom_name(kd_system_eom(system), KD_NAME_Y, i, out->name[i], sizeof out->name[i]);
        simulate(system, x, kd_model_run(model), t_end, intervals, out);
    }
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

double vehicle_sensor(const vehicle_run *run, int row, const char *sensor)
{
    if (run->status < 0 || run->rows == 0) return NAN;
    for (int i = 0; i < run->columns; i++)
        if (strcmp(run->name[i], sensor) == 0) return run->value[row < 0 ? run->rows - 1 : row][i];
    return NAN;
}
