// wire.c: datagrams with a sequence number. Both programs run on one machine, so numbers travel as they are in memory.
#define _POSIX_C_SOURCE 200809L
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAGIC = 0x4b445031 /* KDP1 */, REPEATS = 3, LEFTOVERS = 32 /* datagrams that are looked at after time is up */ };
static const double AGAIN = 0.05; // [s] between two hellos

typedef enum kind { HELLO, WELCOME, REFUSED, VALUES, GOODBYE } kind;

typedef struct datagram {
    uint32_t magic, kind;
    uint64_t number;
    double   time;
    uint32_t nreads, nwrites; // HELLO; VALUES: nreads values
    union {
        double value[WIRE_PORTS];
        char   name[2 * WIRE_PORTS][WIRE_NAME]; // read, then written
        char   text[200];
    };
} datagram;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static wire_status fail(wire *l, const char *what)
{
    snprintf(l->message, sizeof l->message, "%s: %s", what, strerror(errno));
    return WIRE_FAILED;
}

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static wire_status open_socket(wire *l)
{
    *l = (wire){.socket = socket(AF_INET, SOCK_DGRAM, 0)};
    return l->socket < 0 ? fail(l, "no socket") : WIRE_OK;
}

void wire_close(wire *l)
{
    if (l->socket >= 0) close(l->socket);
    l->socket = -1;
}

static wire_status put(wire *l, const datagram *d)
{
    ssize_t sent = sendto(l->socket, d, sizeof *d, 0, (const struct sockaddr *)&l->peer, sizeof l->peer);
    // nobody listens (any more): the same as a datagram that is lost
    if (sent == (ssize_t)sizeof *d || errno == ECONNREFUSED || errno == EAGAIN || errno == ENOBUFS) return WIRE_OK;
    return fail(l, "sending");
}

// The next datagram before the clock shows until. What is not of this protocol, or of somebody else, is passed over;
// after that time no more than *leftovers are looked at, so that a flood of them does not keep anybody waiting.
static wire_status get(wire *l, datagram *d, double until, int *leftovers)
{
    for (;;) {
        double left = fmax(0, until - now());
        if (left <= 0 && (*leftovers)-- <= 0) return WIRE_HELD;
        struct timespec    wait = {.tv_sec = (time_t)left, .tv_nsec = (long)(1e9 * fmod(left, 1))};
        struct sockaddr_in from;
        socklen_t          size = sizeof from;
        fd_set             set;
        FD_ZERO(&set);
        FD_SET(l->socket, &set);
        int ready = pselect(l->socket + 1, &set, NULL, NULL, &wait, NULL);
        if (ready < 0 && errno != EINTR) return fail(l, "waiting");
        if (ready <= 0 && now() >= until) return WIRE_HELD;
        if (ready <= 0) continue;
        ssize_t got = recvfrom(l->socket, d, sizeof *d, MSG_DONTWAIT, (struct sockaddr *)&from, &size);
        if (got != (ssize_t)sizeof *d || d->magic != MAGIC) continue;
        bool is_peer = from.sin_port == l->peer.sin_port && from.sin_addr.s_addr == l->peer.sin_addr.s_addr;
        if (l->has_peer && !is_peer) continue;
        if (!l->has_peer) l->peer = from;
        return WIRE_OK;
    }
}

// ---- plant ----------------------------------------------------------------------------------------------------------

wire_status wire_listen(wire *l, int *port)
{
    struct sockaddr_in address = loopback(*port);
    socklen_t          size = sizeof address;
    if (open_socket(l) != WIRE_OK) return WIRE_FAILED;
    if (bind(l->socket, (struct sockaddr *)&address, sizeof address) != 0) return fail(l, "listening");
    if (getsockname(l->socket, (struct sockaddr *)&address, &size) != 0) return fail(l, "listening");
    *port = ntohs(address.sin_port);
    return WIRE_OK;
}

wire_status wire_accept(wire *l, double seconds)
{
    datagram    d;
    wire_status status;
    double      until = now() + seconds;
    int         leftovers = LEFTOVERS;
    do status = get(l, &d, until, &leftovers);
    while (status == WIRE_OK && (d.kind != HELLO || d.nreads > WIRE_PORTS || d.nwrites > WIRE_PORTS));
    if (status == WIRE_HELD) snprintf(l->message, sizeof l->message, "no controller within %g s", seconds);
    if (status != WIRE_OK) return status;
    l->has_peer = true;
    l->ports = (wire_ports){.nreads = (int)d.nreads, .nwrites = (int)d.nwrites};
    for (int i = 0; i < l->ports.nreads; i++) snprintf(l->ports.read[i], WIRE_NAME, "%.31s", d.name[i]);
    for (int i = 0; i < l->ports.nwrites; i++)
        snprintf(l->ports.write[i], WIRE_NAME, "%.31s", d.name[l->ports.nreads + i]);
    return WIRE_OK;
}

wire_status wire_welcome(wire *l, const char *refusal)
{
    datagram d = {.magic = MAGIC, .kind = refusal ? REFUSED : WELCOME};
    if (refusal) snprintf(d.text, sizeof d.text, "%s", refusal);
    return put(l, &d);
}

wire_status wire_exchange(wire *l, uint64_t number, double time, const double *outputs, double *inputs, double seconds)
{
    datagram    d = {.magic = MAGIC, .kind = VALUES, .number = number, .time = time};
    double      until = now() + seconds;
    int         leftovers = LEFTOVERS;
    wire_status status;
    d.nreads = (uint32_t)l->ports.nreads;
    memcpy(d.value, outputs, (size_t)l->ports.nreads * sizeof *outputs);
    if (put(l, &d) != WIRE_OK) return WIRE_FAILED;
    while ((status = get(l, &d, until, &leftovers)) == WIRE_OK) {
        if (d.kind == GOODBYE) return WIRE_ENDED;
        if (d.kind == HELLO && wire_welcome(l, NULL) != WIRE_OK) return WIRE_FAILED; // the answer was lost
        if (d.kind != VALUES) continue;
        if (d.number != number || d.nreads != (uint32_t)l->ports.nwrites) {
            l->stale++;
            continue;
        }
        memcpy(inputs, d.value, (size_t)l->ports.nwrites * sizeof *inputs);
        l->fresh++;
        return WIRE_OK;
    }
    if (status == WIRE_HELD) l->held++;
    return status;
}

void wire_goodbye(wire *l)
{
    datagram d = {.magic = MAGIC, .kind = GOODBYE};
    for (int i = 0; l->has_peer && i < REPEATS; i++) (void)put(l, &d);
}

// ---- controller -----------------------------------------------------------------------------------------------------

wire_status wire_connect(wire *l, int port, const wire_ports *ports, double seconds)
{
    datagram hello = {.magic = MAGIC, .kind = HELLO}, answer;
    double   until = now() + seconds;
    hello.nreads = (uint32_t)ports->nreads;
    hello.nwrites = (uint32_t)ports->nwrites;
    memcpy(hello.name, ports->read, (size_t)ports->nreads * WIRE_NAME);
    memcpy(hello.name + ports->nreads, ports->write, (size_t)ports->nwrites * WIRE_NAME);
    if (open_socket(l) != WIRE_OK) return WIRE_FAILED;
    l->peer = loopback(port);
    l->has_peer = true;
    l->ports = *ports;
    while (now() < until) {
        if (put(l, &hello) != WIRE_OK) return WIRE_FAILED;
        int         leftovers = LEFTOVERS;
        wire_status status = get(l, &answer, fmin(until, now() + AGAIN), &leftovers);
        if (status == WIRE_FAILED) return status;
        if (status != WIRE_OK) continue;
        if (answer.kind == WELCOME) return WIRE_OK;
        if (answer.kind != REFUSED) continue;
        snprintf(l->message, sizeof l->message, "the plant refuses: %.150s", answer.text);
        return WIRE_FAILED;
    }
    snprintf(l->message, sizeof l->message, "no plant on port %d within %g s", port, seconds);
    return WIRE_HELD;
}

wire_status wire_receive(wire *l, uint64_t *number, double *time, double *outputs, double seconds)
{
    datagram    d;
    double      until = now() + seconds;
    int         leftovers = LEFTOVERS;
    wire_status status;
    while ((status = get(l, &d, until, &leftovers)) == WIRE_OK) {
        if (d.kind == GOODBYE) return WIRE_ENDED;
        if (d.kind != VALUES || d.nreads != (uint32_t)l->ports.nreads) continue;
        if (d.number <= l->last) {
            l->stale++;
            continue;
        }
        *number = l->last = d.number;
        *time = d.time;
        memcpy(outputs, d.value, (size_t)l->ports.nreads * sizeof *outputs);
        l->fresh++;
        return WIRE_OK;
    }
    return status;
}

wire_status wire_answer(wire *l, uint64_t number, double time, const double *inputs)
{
    datagram d = {.magic = MAGIC, .kind = VALUES, .number = number, .time = time};
    d.nreads = (uint32_t)l->ports.nwrites;
    memcpy(d.value, inputs, (size_t)l->ports.nwrites * sizeof *inputs);
    return put(l, &d);
}
