// plant.c: a model in real time with a controller in another program: hardware in the loop, with software for hardware.
//
//     plant press.yaml &            prints the port that it listens on
//     controller PORT
//
// Each turn: one step of fixed work, outputs to the controller, inputs from it for the next step. An answer that does
// not come in time is counted, and the last input holds. The step function is the library's; the loop is the program's.
#define _POSIX_C_SOURCE 200809L
#include <kardan/kardan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/wire.h"
#include "control.h"

enum { ROWS = 20 }; // printed

typedef struct plant {
    // as asked for
    const char *path;
    double      h, timeout, patience; // [s] step; wait for an answer, for the first word
    long        steps, give_up;       // answers missing in a row until the controller counts as lost
    long        max_wrong;            // answers in a row that are not finite
    const char *key;                  // file; NULL: none
    int         port;
    bool        inside, paced; // the same controller in this program; with the clock
    // the model
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_realtime *stepper;
    bool        *external;                            // (nu)
    double      *u, *y;                               // (nu), (ny) all ports of the model
    int          read[WIRE_PORTS], write[WIRE_PORTS]; // those of the controller
    wire         wire;
    control      control;
    long         late;
    char         message[2000];
} plant;

static kd_status load(plant *p)
{
    kd_status status = kd_model_read(p->path, NULL, 0, &p->model, p->message, sizeof p->message);
    if (status >= 0) status = kd_system_create(p->model, NULL, &p->system, p->message, sizeof p->message);
    if (status >= 0) status = kd_state_create(kd_system_eom(p->system), &p->x);
    if (status >= 0) status = kd_system_start(p->system, p->x, p->message, sizeof p->message);
    return status;
}

// As kd_realtime_input: "input.torque" or "torque"
static bool is_input(const char *name, const char *wanted)
{
    static const char prefix[] = "input.";
    bool              has_prefix = strncmp(name, prefix, sizeof prefix - 1) == 0;
    return strcmp(name, wanted) == 0 || (has_prefix && strcmp(name + sizeof prefix - 1, wanted) == 0);
}

// The stepper; the inputs that the controller writes come from outside, the others stay the model's
static kd_status make_stepper(plant *p)
{
    const kd_eom       *eom = kd_system_eom(p->system);
    const kd_dims       d = kd_eom_dims(eom);
    kd_realtime_options options = kd_realtime_options_default(); // j2, index 2, ggl
    options.h = p->h;
    options.deadline = p->h;
    p->external = calloc((size_t)d.nu + 1, sizeof *p->external);
    p->u = calloc((size_t)d.nu + 1, sizeof *p->u);
    p->y = calloc((size_t)d.ny + 1, sizeof *p->y);
    if (!p->external || !p->u || !p->y) return KD_ERR_MEMORY;
    options.external = p->external;
    // names are known before the stepper is: an input is external by its place in the equations
    for (int i = 0; i < d.nu; i++) {
        char name[100];
        kd_eom_name(eom, KD_NAME_U, i, name, sizeof name);
        for (int k = 0; k < p->wire.ports.nwrites; k++)
            if (is_input(name, p->wire.ports.write[k])) p->external[i] = true;
    }
    return kd_realtime_create(eom, kd_system_inputs(p->system), &options, p->x, &p->stepper, p->message,
                              sizeof p->message);
}

// Where the ports of the controller are; false: there is no such port, said in refusal
static bool find_ports(plant *p, char *refusal, size_t size)
{
    for (int k = 0; k < p->wire.ports.nreads; k++) {
        p->read[k] = kd_realtime_output(p->stepper, p->wire.ports.read[k]);
        if (p->read[k] < 0) snprintf(refusal, size, "the model has no output '%s'", p->wire.ports.read[k]);
    }
    for (int k = 0; k < p->wire.ports.nwrites; k++) {
        p->write[k] = kd_realtime_input(p->stepper, p->wire.ports.write[k]);
        if (p->write[k] < 0) snprintf(refusal, size, "the model has no input '%s'", p->wire.ports.write[k]);
    }
    return refusal[0] == '\0';
}

static void drop_stepper(plant *p)
{
    kd_realtime_destroy(p->stepper);
    free(p->external);
    free(p->u);
    free(p->y);
    p->stepper = NULL;
    p->external = NULL;
    p->u = p->y = NULL;
}

// A stepper for the ports that somebody wishes; refusal: why not
static kd_status fit(plant *p, char *refusal, size_t size)
{
    refusal[0] = '\0';
    kd_status status = make_stepper(p);
    if (status < 0) snprintf(refusal, size, "the model cannot be run");
    return status >= 0 && !find_ports(p, refusal, size) ? KD_ERR_ARGUMENT : status;
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

// A controller that fits. One that does not is refused, and the next one may come.
static kd_status wait_for_controller(plant *p)
{
    char            refusal[200] = "";
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (p->key && !wire_read_key(p->key, &p->wire.key, p->message, sizeof p->message)) return KD_ERR_UNAVAILABLE;
    wire_status heard = wire_listen(&p->wire, &p->port);
    if (heard == WIRE_OK) printf("port %d\n", p->port);
    fflush(stdout);
    while (heard == WIRE_OK &&
           (heard = wire_accept(&p->wire, fmax(0, p->patience - seconds_since(&start)))) == WIRE_OK) {
        kd_status status = fit(p, refusal, sizeof refusal);
        (void)wire_welcome(&p->wire, refusal[0] ? refusal : NULL);
        if (status >= 0) return status;
        fprintf(stderr, "plant: a controller was refused: %s\n", refusal);
        drop_stepper(p);
    }
    if (heard == WIRE_HELD)
        snprintf(p->message, sizeof p->message, "no controller within %g s", p->patience);
    else
        snprintf(p->message, sizeof p->message, "%s", p->wire.message);
    return KD_ERR_UNAVAILABLE;
}

// A controller that fits, from outside or from inside
static kd_status meet_controller(plant *p)
{
    if (!p->inside) return wait_for_controller(p);
    p->wire.ports = (wire_ports){.nreads = 1, .nwrites = 1, .read = {"speed"}, .write = {"input.torque"}};
    return fit(p, p->message, sizeof p->message);
}

// Outputs out, inputs in
static wire_status exchange(plant *p, long n)
{
    double out[WIRE_PORTS], in[WIRE_PORTS];
    for (int k = 0; k < p->wire.ports.nreads; k++) out[k] = p->y[p->read[k]];
    wire_status status = WIRE_OK;
    if (p->inside)
        in[0] = control_update(&p->control, kd_realtime_state(p->stepper)->t, out[0]);
    else
        status = wire_exchange(&p->wire, (uint64_t)n, kd_realtime_state(p->stepper)->t, out, in, p->timeout);
    for (int k = 0; status == WIRE_OK && k < p->wire.ports.nwrites; k++) // what did not come, or is no number, holds
        p->u[p->write[k]] = in[k];
    return status;
}

static void print_row(const plant *p)
{
    printf("%.6f", kd_realtime_state(p->stepper)->t);
    for (int k = 0; k < p->wire.ports.nreads; k++) printf("  %.17g", p->y[p->read[k]]);
    for (int k = 0; k < p->wire.ports.nwrites; k++) printf("  %.17g", p->u[p->write[k]]);
    printf("\n");
}

static void wait_until(const struct timespec *start, double seconds)
{
    double          t = (double)start->tv_nsec * 1e-9 + seconds;
    struct timespec until = {.tv_sec = start->tv_sec + (time_t)t, .tv_nsec = (long)(1e9 * fmod(t, 1))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static kd_status run(plant *p)
{
    struct timespec start;
    long            missing = 0, wrong = 0; // answers in a row
    long            every = p->steps > ROWS ? p->steps / ROWS : 1;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long n = 1; n <= p->steps; n++) {
        if (p->paced) wait_until(&start, (double)(n - 1) * p->h);
        kd_status status = kd_realtime_step(p->stepper, p->u, p->y);
        if (status < 0) { // the state is that of the last good step: go on from there, or stop, as here
            snprintf(p->message, sizeof p->message, "%s", kd_realtime_message(p->stepper));
            return status;
        }
        p->late += status == KD_LATE;
        wire_status answer = exchange(p, n);
        if (n % every == 0 || n == p->steps) print_row(p);
        missing = answer == WIRE_HELD ? missing + 1 : 0;
        wrong = answer == WIRE_WRONG ? wrong + 1 : answer == WIRE_OK ? 0 : wrong;
        if (wrong >= p->max_wrong) {
            snprintf(p->message, sizeof p->message, "%ld answers in a row are not finite, the last one at t = %.6g s",
                     wrong, kd_realtime_state(p->stepper)->t);
            return KD_STOPPED;
        }
        if (answer == WIRE_FAILED || answer == WIRE_ENDED || missing >= p->give_up) {
            snprintf(p->message, sizeof p->message, "the controller is lost at t = %.6g s%s%s",
                     kd_realtime_state(p->stepper)->t, p->wire.message[0] ? ": " : "", p->wire.message);
            return KD_STOPPED;
        }
    }
    return KD_OK;
}

static bool read_arguments(plant *p, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--inside") == 0)
            p->inside = true;
        else if (strcmp(argv[i], "--paced") == 0)
            p->paced = true;
        else if (strcmp(argv[i], "--port") == 0)
            p->port = atoi(value), i++;
        else if (strcmp(argv[i], "--steps") == 0)
            p->steps = atol(value), i++;
        else if (strcmp(argv[i], "--give-up") == 0)
            p->give_up = atol(value), i++;
        else if (strcmp(argv[i], "--max-wrong") == 0)
            p->max_wrong = atol(value), i++;
        else if (strcmp(argv[i], "--key") == 0)
            p->key = value, i++;
        else if (strcmp(argv[i], "--step") == 0)
            p->h = atof(value), i++;
        else if (strcmp(argv[i], "--timeout") == 0)
            p->timeout = atof(value), i++;
        else if (strcmp(argv[i], "--patience") == 0)
            p->patience = atof(value), i++;
        else if (argv[i][0] != '-' && !p->path)
            p->path = argv[i];
        else
            return false;
    }
    return p->path && p->steps > 0 && p->h > 0 && p->timeout > 0 && p->give_up > 0 && p->max_wrong > 0;
}

int main(int argc, char **argv)
{
    plant p = {.h = 1e-3,
               .steps = 2000,
               .timeout = 1,
               .patience = 20,
               .give_up = 50,
               .max_wrong = 100,
               .wire = {.socket = -1},
               .control = control_default()};
    if (!read_arguments(&p, argc, argv)) {
        fputs("usage: plant MODEL [--port P] [--step H] [--steps N] [--timeout S] [--patience S] [--give-up N]\n"
              "             [--max-wrong N] [--key FILE] [--paced] [--inside]\n",
              stderr);
        return 2;
    }
    kd_status status = load(&p);
    if (status >= 0) status = meet_controller(&p);
    if (status >= 0) {
        status = run(&p);
        fprintf(stderr, "plant: %ld steps, %ld late; answers: %ld in time, %ld missing, %ld too late, %ld not finite\n",
                kd_realtime_steps(p.stepper), p.late, p.wire.fresh, p.wire.held, p.wire.stale, p.wire.wrong);
    }
    if (status != KD_OK) fprintf(stderr, "plant: %s: %s\n", kd_status_sentence(status), p.message);
    wire_goodbye(&p.wire);
    wire_close(&p.wire);
    drop_stepper(&p);
    kd_state_destroy(p.x);
    kd_system_destroy(p.system);
    kd_model_destroy(p.model);
    return status < 0 ? 1 : status == KD_STOPPED ? 3 : 0;
}
