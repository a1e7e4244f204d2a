// results.c: simulate a model as its file says, and leave the table and the page that `kardan simulate` leaves.
// Usage: results models/slider-crank.yaml speed run.csv run.html
#include <kardan/kardan.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    kd_model           *model = NULL;
    kd_system          *system = NULL;
    kd_state           *x = NULL;
    kd_recorder        *recorder = NULL;
    kd_recorder_options options = kd_recorder_options_default();
    kd_system_options   form;
    char                message[1000] = "";
    if (argc != 5) return fprintf(stderr, "usage: results MODEL CHANNEL TABLE PAGE\n"), 2;

    kd_status status = kd_model_read(argv[1], NULL, 0, &model, message, sizeof message);
    form = kd_system_options_of(model); // coordinates and plots as the file says
    if (status >= 0) status = kd_system_create(model, &form, &system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);

    // the recorder simulates and remembers: NULL, with the method that the file asks for
    options.model_file = argv[1];
    if (status >= 0) status = kd_recorder_create(system, &options, &recorder, message, sizeof message);
    if (status >= 0) status = kd_recorder_simulate(recorder, NULL, x, kd_model_run(model)->t_end);
    if (status >= 0) status = kd_recorder_save_csv(recorder, argv[3], message, sizeof message);
    if (status >= 0) status = kd_recorder_save_report(recorder, argv[4], message, sizeof message);

    // what it remembers is at hand, too
    const int column = kd_recorder_find(recorder, argv[2]), rows = kd_recorder_rows(recorder);
    double    largest = 0;
    for (int i = 0; i < rows; i++) {
        const double value = kd_recorder_value(recorder, i, column);
        if (value > largest) largest = value;
    }
    if (status >= 0)
        printf("%d rows, largest %s %.9g %s, energy balance within %.1e J\n", rows, argv[2], largest,
               kd_recorder_unit(recorder, column), kd_recorder_certificate(recorder)->energy.value);
    else
        fprintf(stderr, "%s: %s%s\n", kd_status_sentence(status), message, kd_recorder_message(recorder));
    kd_recorder_destroy(recorder);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status < 0;
}
