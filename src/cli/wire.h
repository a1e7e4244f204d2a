// wire.h: values of named ports between two programs on one machine, as datagrams (UDP) on the loopback interface.
//
// The plant listens. A controller says hello with the names of the outputs that it reads and of the inputs that it
// writes. The plant answers with the number of its session, with which the controller says hello once more, and is
// welcomed or refused: words of an earlier session are not taken for those of this one. From then on the plant sends
// its outputs with a sequence number, and the controller answers with inputs of the same number. Nothing waits for
// longer than it is told to: an answer that does not come in time is a status, and one that comes later is recognised
// by its number and dropped. Values that are no numbers are a status of their own.
//
// With a shared key (wire_read_key) every datagram carries an HMAC-SHA256 of its bytes; without the right one it is
// passed over. The code is that of OpenSSL's libcrypto; built without it, keys are refused.
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
    WIRE_WRONG, // the answer has values that are not finite: the values are those of before
    WIRE_ENDED, // the other side said goodbye
    WIRE_FAILED // message says why
} wire_status;

// What a controller wants, by name.
typedef struct wire_ports {
    int  nreads, nwrites; // outputs of the plant, inputs of the plant
    char read[WIRE_PORTS][WIRE_NAME], write[WIRE_PORTS][WIRE_NAME];
} wire_ports;

enum { WIRE_KEY_LEAST = 16, WIRE_KEY_MOST = 256 }; // bytes

typedef struct wire_key {
    size_t        size; // 0: none
    unsigned char bytes[WIRE_KEY_MOST];
} wire_key;

typedef struct wire {
    int                socket; // -1: closed
    struct sockaddr_in peer;
    bool               has_peer;
    wire_ports         ports;
    uint64_t           last;               // sequence number of the last values that were taken
    uint64_t           session;            // of the plant
    wire_key           key;                // to be set before listening or connecting
    long               fresh, held, stale; // answers in time, missing, too late (or doubled)
    long               wrong;              // answers that were no numbers
    long               strange;            // datagrams of others, of another version, length or session
    long               forged;             // without the right code
    long               refused;            // hellos that did not fit
    char               message[200];
} wire;

// A key from the bytes of a file, without line ends behind them; false: words in message.
bool wire_read_key(const char *path, wire_key *key, char *message, size_t size);

void wire_close(wire *l);

// ---- plant ----------------------------------------------------------------------------------------------------------
// Listen on a port of this machine; *port 0: any, and it is told there.
wire_status wire_listen(wire *l, int *port);
// Wait for a controller; its wishes are then in l->ports. To be answered by wire_welcome; refusal NULL: welcome.
// Whoever was refused is forgotten: wait for the next one.
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
