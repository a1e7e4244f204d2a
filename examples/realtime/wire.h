// wire.h: values of named ports between two programs on one machine, as datagrams (UDP) on the loopback interface.
//
// The plant listens. A controller says hello with the names of the outputs that it reads and of the inputs that it
// writes, and is welcomed or refused. From then on the plant sends its outputs with a sequence number, and the
// controller answers with inputs of the same number. Nothing waits for longer than it is told to: an answer that does
// not come in time is a status, and one that comes later is recognised by its number and dropped.
#ifndef WIRE_H
#define WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_PORTS = 16, WIRE_NAME = 32 }; // most ports of a wire, longest name

typedef enum wire_status {
    WIRE_OK,
    WIRE_HELD,  // no answer in time: the values are those of before
    WIRE_ENDED, // the other side said goodbye
    WIRE_FAILED // message says why
} wire_status;

// What a controller wants, by name.
typedef struct wire_ports {
    int  nreads, nwrites; // outputs of the plant, inputs of the plant
    char read[WIRE_PORTS][WIRE_NAME], write[WIRE_PORTS][WIRE_NAME];
} wire_ports;

typedef struct wire {
    int                socket; // -1: closed
    struct sockaddr_in peer;
    bool               has_peer;
    wire_ports         ports;
    uint64_t           last;               // sequence number of the last values that were taken
    long               fresh, held, stale; // answers in time, missing, too late (or doubled)
    char               message[200];
} wire;

void wire_close(wire *l);

// ---- plant ----------------------------------------------------------------------------------------------------------
// Listen on a port of this machine; *port 0: any, and it is told there.
wire_status wire_listen(wire *l, int *port);
// Wait for a controller; its wishes are then in l->ports. To be answered by wire_welcome; refusal NULL: welcome.
wire_status wire_accept(wire *l, double seconds);
wire_status wire_welcome(wire *l, const char *refusal);
// Send outputs (nreads) and wait for the inputs (nwrites) of the same number, > 0 and rising.
wire_status wire_exchange(wire *l, uint64_t number, double time, const double *outputs, double *inputs, double seconds);
void        wire_goodbye(wire *l);

// ---- controller -----------------------------------------------------------------------------------------------------
// Say hello until the plant answers.
wire_status wire_connect(wire *l, int port, const wire_ports *ports, double seconds);
// The next outputs (nreads); those with a number that was seen already are dropped.
wire_status wire_receive(wire *l, uint64_t *number, double *time, double *outputs, double seconds);
wire_status wire_answer(wire *l, uint64_t number, double time, const double *inputs);

#endif
