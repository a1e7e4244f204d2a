// tests/fuzz/fuzz_wire.c: any bytes as datagrams, to a plant that waits for a controller or for an answer, with and
// without a key.
//
// Whatever comes: ports stay within their bounds, names have ends, inputs stay finite, and each datagram is counted
// once.
// clang-format off
#include "../../src/cli/wire.c" // its static functions
// clang-format on
#include "fuzz/fuzz.h"

static void demand_names(const wire_ports *p)
{
    demand(p->nreads >= 0 && p->nreads <= WIRE_PORTS && p->nwrites >= 0 && p->nwrites <= WIRE_PORTS);
    for (int i = 0; i < p->nreads; i++) demand(memchr(p->read[i], '\0', WIRE_NAME));
    for (int i = 0; i < p->nwrites; i++) demand(memchr(p->write[i], '\0', WIRE_NAME));
}

// One datagram of the given bytes; the magic number and the session are put right where the first byte says so.
static void hear(wire *l, uint8_t how, const uint8_t *data, size_t size)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = (uint16_t)(how & 8 ? 1 : 2)};
    datagram           d;
    double             inputs[WIRE_PORTS] = {0};
    memset(&d, 0, sizeof d);
    memcpy(&d, data, size < sizeof d ? size : sizeof d);
    if (how & 1) d.magic = MAGIC;
    if (how & 2) d.session = l->session;
    const long before = l->strange + l->forged;
    const bool ours = is_ours(l, &d, how & 4 ? sizeof d : size, &from);
    demand(l->strange + l->forged == before + !ours);
    if (!ours) return;
    demand(l->key.size == 0 || HAS_CODES);
    if (!l->has_peer && is_hello(l, &d)) {
        take_ports(&d, &l->ports);
        demand_names(&l->ports);
        l->peer = from;
        l->has_peer = true;
    } else if (d.kind == VALUES) {
        const long  sum = l->fresh + l->wrong + l->stale;
        wire_status status = take_answer(l, &d, l->last + 1, inputs);
        demand(l->fresh + l->wrong + l->stale == sum + 1);
        for (int i = 0; i < WIRE_PORTS; i++) demand(isfinite(inputs[i]));
        demand(status == WIRE_OK || status == WIRE_WRONG || status == WIRE_HELD);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wire l = {.socket = -1, .session = 7};
    if (size == 0) return 0;
    if (data[0] & 1) l.key = (wire_key){.size = WIRE_KEY_LEAST};
    for (size_t at = 1; at + 3 <= size;) {
        size_t length = (size_t)data[at + 1] + 256u * data[at + 2];
        if (length > size - at - 3) length = size - at - 3;
        hear(&l, data[at], data + at + 3, length);
        at += 3 + length;
    }
    return 0;
}
