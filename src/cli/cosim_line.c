// cosim_line.c: the wire as the line of a co-simulation to other programs: the master is the controller of each of them.
#include <stdlib.h>
#include <string.h>

#include "cli/cosim_line.h"
#include "cli/wire.h"
#include "core/text.h"

// Names into the ports of the wire, as far as they have room
static bool put_names(int n, const char *const *name, int *count, char (*to)[WIRE_NAME], char *message, size_t size)
{
    *count = n;
    if (n > WIRE_PORTS) {
        kd_text(message, size, "%d ports one way; a wire has %d", n, WIRE_PORTS);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (strlen(name[i]) >= WIRE_NAME) {
            kd_text(message, size, "'%.60s' is too long a name for a port: %d letters at most", name[i], WIRE_NAME - 1);
            return false;
        }
        kd_text(to[i], WIRE_NAME, "%s", name[i]);
    }
    return true;
}

static void hang_up(void *line)
{
    wire *w = line;
    wire_goodbye(w);
    wire_close(w);
    free(w);
}

static void *connect_to(int port, const char *key, const kd_cosim_ports *ports, double seconds, char *message,
                        size_t size)
{
    wire_ports names = {0};
    wire      *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->socket = -1;
    bool good = put_names(ports->nreads, ports->read, &names.nreads, names.read, message, size) &&
                put_names(ports->nwrites, ports->write, &names.nwrites, names.write, message, size);
    if (good && key) good = wire_read_key(key, &w->key, message, size);
    if (good && wire_connect(w, port, &names, seconds) != WIRE_OK) {
        kd_text(message, size, "%s", w->message[0] ? w->message : "nobody answers");
        good = false;
    }
    if (good) return w;
    wire_close(w);
    free(w);
    return NULL;
}

static bool receive(void *line, uint64_t *number, double *t, double *values, double seconds, char *message, size_t size)
{
    wire             *w = line;
    const wire_status status = wire_receive(w, number, t, values, seconds);
    if (status == WIRE_OK) return true;
    kd_text(message, size, "%s",
            status == WIRE_HELD    ? "the other program does not answer"
            : status == WIRE_WRONG ? "the other program tells values that are not finite"
            : status == WIRE_ENDED ? "the other program has ended its run"
                                   : w->message);
    return false;
}

static bool answer(void *line, uint64_t number, double t, const double *inputs, char *message, size_t size)
{
    wire *w = line;
    if (wire_answer(w, number, t, inputs) == WIRE_OK) return true;
    kd_text(message, size, "%s", w->message[0] ? w->message : "the other program cannot be reached");
    return false;
}

const kd_cosim_wire kd_cli_cosim_wire = {connect_to, receive, answer, hang_up};
