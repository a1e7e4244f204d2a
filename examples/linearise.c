// linearise.c: equilibrium of a model, linear equations around it, and the modes of its small motions.
// Usage: linearise models/quarter-car.yaml
#include <kardan/kardan.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    kd_model  *model = NULL;
    kd_system *system = NULL;
    kd_state  *x = NULL;
    kd_linear *linear = NULL;
    kd_modes  *modes = NULL;
    char       message[1000] = "";
    if (argc != 2) return fprintf(stderr, "usage: linearise MODEL\n"), 2;

    // the model, its equations of motion, and the state that the file gives
    kd_status status = kd_model_read(argv[1], NULL, 0, &model, message, sizeof message);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);

    // rest near that state, and x' = A x + B u, y = C x + D u around it
    const kd_eom    *eom = system ? kd_system_eom(system) : NULL;
    const kd_inputs *inputs = system ? kd_system_inputs(system) : NULL;
    if (status >= 0) status = kd_equilibrium(eom, inputs, NULL, x, NULL, message, sizeof message);
    if (status >= 0) status = kd_linearize(eom, inputs, NULL, x, &linear, message, sizeof message);
    if (status >= 0) status = kd_modes_create(linear, &modes);
    if (status >= 0) {
        printf("%d states, %d inputs, %d outputs\n   [Hz]   damping\n", linear->nx, linear->nu, linear->ny);
        for (int i = 0; i < modes->n; i++)
            if (modes->imaginary[i] >= 0) printf("%8.4f  %8.5f\n", modes->frequency[i], modes->damping[i]);
    }

    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_modes_destroy(modes);
    kd_linear_destroy(linear);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status < 0;
}
