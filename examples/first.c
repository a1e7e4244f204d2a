// first.c: load a model, simulate it, read a sensor at every step.
// Usage: first models/pendulum.yaml tension 2
#include <kardan/kardan.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct reader {
    kd_probe *probe; // answers questions about a state, by name
    int       sensor;
} reader;

// Called at the start and after each accepted step
static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    const reader *r = context;
    (void)at_time;
    if (kd_probe_set(r->probe, x) < 0) return KD_EVAL_STOP;
    printf("%10.6f  %12.6f\n", x->t, kd_probe_value(r->probe, r->sensor));
    return KD_EVAL_OK;
}

int main(int argc, char **argv)
{
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    reader                r = {NULL, -1};
    kd_simulation_options options = kd_simulation_options_default();
    char                  message[1000] = "";
    if (argc != 4) return fprintf(stderr, "usage: first MODEL SENSOR SECONDS\n"), 2;

    // the file, its equations of motion, a state, and the start that the file gives
    kd_status status = kd_model_read(argv[1], NULL, 0, &model, message, sizeof message);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    if (status >= 0) status = kd_probe_of_system(system, NULL, &r.probe);
    if (status >= 0 && (r.sensor = kd_probe_find(r.probe, argv[2])) < 0) {
        status = KD_ERR_ARGUMENT;
        snprintf(message, sizeof message, "the model has nothing that is called '%s'", argv[2]);
    }
    if (status >= 0) {
        options.rtol = options.atol = 1e-8;
        options.output = look, options.context = &r;
        status = kd_simulate(kd_system_eom(system), kd_system_inputs(system), &options, x, atof(argv[3]), NULL, message,
                             sizeof message);
    }
    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_probe_destroy(r.probe);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status < 0;
}
