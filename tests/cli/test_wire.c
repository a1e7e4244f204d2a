// The wire between a plant and its controller against what may come from elsewhere: wrong sizes, wrong numbers, names
// without an end, too many datagrams.
// clang-format off
#include "../../src/cli/wire.c" // first: its static functions are tested too
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

typedef struct pair {
    wire plant, other; // other: a socket that sends to the plant
} pair;

static pair set_up(void)
{
    pair p = {0};
    int  port = 0;
    assert_int_equal(wire_listen(&p.plant, &port), WIRE_OK);
    assert_int_equal(open_socket(&p.other), WIRE_OK);
    p.other.peer = loopback(port);
    p.other.session = p.plant.session;
    return p;
}

static void tear_down(pair *p)
{
    wire_close(&p->plant);
    wire_close(&p->other);
}

static void send_bytes(const pair *p, const void *bytes, size_t size)
{
    const struct sockaddr *to = (const struct sockaddr *)&p->other.peer;
    assert_int_equal(sendto(p->other.socket, bytes, size, 0, to, sizeof p->other.peer), size);
}

static datagram hello(const pair *p, uint32_t nreads, uint32_t nwrites)
{
    datagram d = {.magic = MAGIC, .kind = HELLO, .session = p->plant.session, .nreads = nreads, .nwrites = nwrites};
    memset(d.name, 'x', sizeof d.name); // no end
    return d;
}

// A hello with more ports than there are is passed over, names are cut off.
static void wrong_hellos(void **state)
{
    (void)state;
    pair     p = set_up();
    datagram d = hello(&p, WIRE_PORTS + 1, 0);
    send_bytes(&p, &d, sizeof d);
    d = hello(&p, 0, UINT32_MAX);
    send_bytes(&p, &d, sizeof d);
    assert_int_equal(wire_accept(&p.plant, 0.01), WIRE_HELD);
    d = hello(&p, WIRE_PORTS, WIRE_PORTS);
    send_bytes(&p, &d, sizeof d - 1);
    assert_int_equal(wire_accept(&p.plant, 0.01), WIRE_HELD);
    send_bytes(&p, &d, sizeof d);
    assert_int_equal(wire_accept(&p.plant, 1), WIRE_OK);
    assert_int_equal(p.plant.ports.nreads, WIRE_PORTS);
    assert_int_equal(strlen(p.plant.ports.write[WIRE_PORTS - 1]), WIRE_NAME - 1);
    tear_down(&p);
}

// When time is up only a few datagrams are looked at: a flood does not keep the plant from its next step.
static void floods(void **state)
{
    (void)state;
    pair         p = set_up();
    datagram     d = hello(&p, 1, 1);
    const double out[1] = {0};
    double       in[1];
    for (int i = 0; i < 2 * LEFTOVERS; i++) send_bytes(&p, "x", 1);
    send_bytes(&p, &d, sizeof d);
    assert_int_equal(wire_accept(&p.plant, 0), WIRE_HELD);
    assert_int_equal(wire_accept(&p.plant, 1), WIRE_OK);
    // answers to other steps
    d = (datagram){.magic = MAGIC, .session = p.plant.session, .kind = VALUES, .number = 1, .nreads = 1};
    for (int i = 0; i < LEFTOVERS + 5; i++) send_bytes(&p, &d, sizeof d);
    assert_int_equal(wire_exchange(&p.plant, 2, 0, out, in, 0), WIRE_HELD);
    assert_int_equal(p.plant.stale, LEFTOVERS);
    d.number = 3;
    d.value[0] = 7;
    send_bytes(&p, &d, sizeof d);
    assert_int_equal(wire_exchange(&p.plant, 3, 0, out, in, 1), WIRE_OK);
    assert_true(in[0] == 7);
    tear_down(&p);
}

// An answer is taken once and from the controller only, with as many values as it said.
static void strangers(void **state)
{
    (void)state;
    pair         p = set_up();
    wire         stranger = {0};
    datagram     d = hello(&p, 1, 2);
    const double out[1] = {0};
    double       in[2];
    send_bytes(&p, &d, sizeof d);
    assert_int_equal(wire_accept(&p.plant, 1), WIRE_OK);
    assert_int_equal(open_socket(&stranger), WIRE_OK);
    stranger.peer = p.other.peer;
    stranger.session = p.plant.session;
    d = (datagram){.magic = MAGIC, .session = p.plant.session, .kind = VALUES, .number = 1, .nreads = 2};
    assert_int_equal(send_datagram(&stranger, &d), WIRE_OK);
    d.kind = GOODBYE;
    assert_int_equal(send_datagram(&stranger, &d), WIRE_OK);
    assert_int_equal(wire_exchange(&p.plant, 1, 0, out, in, 0.01), WIRE_HELD);
    d.kind = VALUES;
    d.nreads = 1;
    send_bytes(&p, &d, sizeof d);
    assert_int_equal(wire_exchange(&p.plant, 1, 0, out, in, 0.01), WIRE_HELD);
    d.nreads = 2;
    send_bytes(&p, &d, sizeof d);
    assert_int_equal(wire_exchange(&p.plant, 1, 0, out, in, 1), WIRE_OK);
    send_bytes(&p, &d, sizeof d);
    assert_int_equal(wire_exchange(&p.plant, 2, 0, out, in, 0.01), WIRE_HELD);
    wire_close(&stranger);
    tear_down(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_hellos),
        cmocka_unit_test(floods),
        cmocka_unit_test(strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
