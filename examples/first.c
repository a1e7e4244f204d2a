// first.c: load a model, simulate it, read a sensor at every step.
// Usage: first models/pendulum.yaml tension 2
#include <kardan/kardan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    kd_eom_data *data; // an evaluation point: the equations at one state
    int          sensor;
} reader;

// Called at the start and after each accepted step
static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    const reader *r = context;
    double        y[64];
    (void)at_time;
    kd_eom_at_time(r->data, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(r->data, x->p, x->s);
    kd_eom_at_velocity(r->data, x->v, x->r);
    kd_eom_at_acceleration(r->data, x->a, x->w, x->lambda, x->mu);
    if (kd_eom_eval(r->data, KD_Y, y) != KD_EVAL_OK) return KD_EVAL_STOP;
    printf("%10.6f  %12.6f\n", x->t, y[r->sensor]);
    return KD_EVAL_OK;
}

static int find_sensor(const kd_eom *eom, const char *name)
{
    char buffer[100];
    for (int i = 0; i < kd_eom_dims(eom).ny && i < 64; i++)
        if (strcmp(kd_eom_name(eom, KD_NAME_Y, i, buffer, sizeof buffer), name) == 0) return i;
    return -1;
}

int main(int argc, char **argv)
{
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    reader                r = {0};
    kd_simulation_options options = kd_simulation_options_default();
    char                  message[1000] = "";
    if (argc != 4) return fprintf(stderr, "usage: first MODEL SENSOR SECONDS\n"), 2;

    kd_status status = kd_model_read(argv[1], NULL, 0, &model, message, sizeof message);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    if (status >= 0) status = kd_eom_data_create(kd_system_eom(system), &r.data);
    if (status >= 0 && (r.sensor = find_sensor(kd_system_eom(system), argv[2])) < 0) status = KD_ERR_ARGUMENT;
    if (status >= 0) {
        options.rtol = options.atol = 1e-8;
        options.output = look, options.context = &r;
        status = kd_simulate(kd_system_eom(system), kd_system_inputs(system), &options, x, atof(argv[3]), NULL, message,
                             sizeof message);
    }
    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_eom_data_destroy(r.data);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status < 0;
}
