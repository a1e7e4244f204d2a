// realtime_loop.c: steps of fixed length and work against the clock; a controller turns the motor of a press.
// Usage: realtime_loop examples/realtime/press.yaml 0.6
#define _POSIX_C_SOURCE 200809L
#include <kardan/kardan.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double H = 1e-3, WANTED = 12; // length of a step [s], speed of the crank [rad/s]

// The loop: the plant one step further, its speed to the controller, then sleep until the next step is due
static kd_status turn(kd_realtime *rt, double t_end, int nu, int ny)
{
    double         *u = calloc((size_t)(nu + ny), sizeof *u), *y = u + nu, sum = 0;
    const int       torque = kd_realtime_input(rt, "input.torque"), speed = kd_realtime_output(rt, "speed");
    kd_status       status = u && torque >= 0 && speed >= 0 ? KD_OK : KD_ERR_ARGUMENT;
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    while (status >= 0 && kd_realtime_state(rt)->t < t_end - 0.5 * H) {
        status = kd_realtime_step(rt, u, y);
        double missing = WANTED - y[speed];
        sum += H * missing;
        u[torque] = 40 * missing + 100 * sum;
        due.tv_nsec += (long)(1e9 * H);
        if (due.tv_nsec >= 1000000000) due.tv_sec++, due.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    if (status >= 0)
        printf("%ld steps, t = %.3f s, speed %.4f rad/s\n", kd_realtime_steps(rt), kd_realtime_state(rt)->t, y[speed]);
    free(u);
    return status;
}

int main(int argc, char **argv)
{
    kd_model           *model = NULL;
    kd_system          *system = NULL;
    kd_state           *x = NULL;
    kd_realtime        *rt = NULL;
    kd_realtime_options options = kd_realtime_options_default();
    char                message[1000] = "";
    if (argc != 3) return fprintf(stderr, "usage: realtime_loop MODEL SECONDS\n"), 2;
    options.h = H;
    kd_status status = kd_model_read(argv[1], NULL, 0, &model, message, sizeof message);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    if (status >= 0)
        status = kd_realtime_create(kd_system_eom(system), kd_system_inputs(system), &options, x, &rt, message,
                                    sizeof message);
    if (status >= 0) {
        kd_dims dims = kd_eom_dims(kd_system_eom(system));
        status = turn(rt, atof(argv[2]), dims.nu, dims.ny);
    }
    if (status < 0)
        fprintf(stderr, "%s: %s%s\n", kd_status_sentence(status), message, rt ? kd_realtime_message(rt) : "");
    kd_realtime_destroy(rt);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status < 0;
}
