// wire.c: datagrams with a sequence number. Both programs run on one machine, so numbers travel as they are in memory.
#define _POSIX_C_SOURCE 200809L
#include "cli/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef KD_WITH_CRYPTO
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

enum {
    MAGIC = 0x4b445032 /* KDP2 */,
    CODE = 32 /* bytes of an HMAC-SHA256 */,
    REPEATS = 3,
    LEFTOVERS = 32 /* datagrams that are looked at after time is up */
};
static const double AGAIN = 0.05; // [s] between two hellos

// kinds of datagrams, in the order of a conversation
typedef enum kind { HELLO, SESSION, WELCOME, REFUSED, VALUES, GOODBYE } kind;

// all of one size: what has another one is not ours
typedef struct datagram {
    unsigned char code[CODE]; // of all that follows; 0 without a key
    uint32_t      magic, kind;
    uint64_t      session, number;
    double        time;
    uint32_t      nreads, nwrites; // HELLO; VALUES: nreads values
    union {
        double value[WIRE_PORTS];
        char   name[2 * WIRE_PORTS][WIRE_NAME]; // read, then written
        char   text[200];
    };
} datagram;

// a clock that never goes back
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// with the reason of the system
static wire_status tell_system_error(wire *l, const char *what)
{
    snprintf(l->message, sizeof l->message, "%s: %s", what, strerror(errno));
    return WIRE_FAILED;
}

// this machine only
static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// the key survives: it is set before
static wire_status open_socket(wire *l)
{
    const wire_key key = l->key;
    *l = (wire){.socket = socket(AF_INET, SOCK_DGRAM, 0), .key = key};
    return l->socket < 0 ? tell_system_error(l, "no socket") : WIRE_OK;
}

void wire_close(wire *l)
{
    if (l->socket >= 0) close(l->socket);
    l->socket = -1;
}

// A new number, which nobody can foresee
static uint64_t new_session(void)
{
    uint64_t number = 0;
    int      file = open("/dev/urandom", O_RDONLY);
    bool     whole = file >= 0 && read(file, &number, sizeof number) == (ssize_t)sizeof number;
    if (file >= 0) close(file);
    // without random numbers at least another one each time
    if (!whole) number = (uint64_t)(1e9 * now()) ^ (uint64_t)getpid() << 40;
    return number | 1; // never 0
}

// ---- codes ----------------------------------------------------------------------------------------------------------

#ifdef KD_WITH_CRYPTO
// of everything behind the code itself
static bool find_code(const wire_key *key, const datagram *d, unsigned char code[CODE])
{
    const unsigned char *from = d->code + CODE;
    unsigned             size = 0;
    return HMAC(EVP_sha256(), key->bytes, (int)key->size, from, sizeof *d - CODE, code, &size) && size == CODE;
}

// in a time that does not depend on where they differ
static bool same_code(const unsigned char *a, const unsigned char *b)
{
    return CRYPTO_memcmp(a, b, CODE) == 0;
}
static const bool HAS_CODES = true;
#else
// without libcrypto there are no codes
static bool find_code(const wire_key *key, const datagram *d, unsigned char code[CODE])
{
    (void)key, (void)d, (void)code;
    return false;
}

static bool same_code(const unsigned char *a, const unsigned char *b)
{
    (void)a, (void)b;
    return false;
}
static const bool HAS_CODES = false;
#endif

bool wire_read_key(const char *path, wire_key *key, char *message, size_t size)
{
    *key = (wire_key){0};
    if (!HAS_CODES) {
        snprintf(message, size, "keys need libcrypto (OpenSSL), which was missing when this program was built");
        return false;
    }
    FILE *file = fopen(path, "rb");
    if (!file) {
        snprintf(message, size, "the key '%.100s' cannot be read: %s", path, strerror(errno));
        return false;
    }
    // without the line break at its end
    key->size = fread(key->bytes, 1, sizeof key->bytes, file);
    // one byte more than there is room for is too long
    bool more = key->size == sizeof key->bytes && fgetc(file) != EOF, broken = ferror(file) != 0;
    fclose(file);
    while (key->size > 0 && (key->bytes[key->size - 1] == '\n' || key->bytes[key->size - 1] == '\r')) key->size--;
    if (!more && !broken && key->size >= WIRE_KEY_LEAST) return true;
    key->size = 0;
    snprintf(message, size, "a key has %d to %d bytes; '%.100s' has not", WIRE_KEY_LEAST, WIRE_KEY_MOST, path);
    return false;
}

// ---- datagrams ------------------------------------------------------------------------------------------------------

static wire_status send_datagram(wire *l, datagram *d)
{
    // the code comes last: it covers what was filled in
    d->magic = MAGIC;
    d->session = l->session;
    if (l->key.size > 0 && !find_code(&l->key, d, d->code)) return tell_system_error(l, "code");
    ssize_t sent = sendto(l->socket, d, sizeof *d, 0, (const struct sockaddr *)&l->peer, sizeof l->peer);
    // nobody listens (any more): the same as a datagram that is lost
    if (sent == (ssize_t)sizeof *d || errno == ECONNREFUSED || errno == EAGAIN || errno == ENOBUFS) return WIRE_OK;
    return tell_system_error(l, "sending");
}

// Is it of this protocol, of the other side, and has it the right code? What is not is counted.
static bool is_ours(wire *l, const datagram *d, size_t size, const struct sockaddr_in *from)
{
    unsigned char code[CODE];
    bool          is_peer = from->sin_port == l->peer.sin_port && from->sin_addr.s_addr == l->peer.sin_addr.s_addr;
    // length and mark first, then who sent it
    if (size != sizeof *d || d->magic != MAGIC || (l->has_peer && !is_peer)) {
        l->strange++;
        return false;
    }
    // with a key its code must be right
    if (l->key.size == 0 || (find_code(&l->key, d, code) && same_code(code, d->code))) return true;
    l->forged++;
    return false;
}

// The next datagram before the clock shows until. What is not ours is passed over;
// after that time no more than *leftovers are looked at, so that a flood of them does not keep anybody waiting.
static wire_status get(wire *l, datagram *d, double until, int *leftovers)
{
    for (;;) {
        double left = fmax(0, until - now());
        if (left <= 0 && (*leftovers)-- <= 0) return WIRE_HELD;
        // wait for a datagram, but not longer than there is time
        struct timespec    wait = {.tv_sec = (time_t)left, .tv_nsec = (long)(1e9 * fmod(left, 1))};
        struct sockaddr_in from = {0};
        socklen_t          size = sizeof from;
        fd_set             set;
        FD_ZERO(&set);
        FD_SET(l->socket, &set);
        int ready = pselect(l->socket + 1, &set, NULL, NULL, &wait, NULL);
        if (ready < 0 && errno != EINTR) return tell_system_error(l, "waiting");
        if (ready <= 0 && now() >= until) return WIRE_HELD;
        if (ready <= 0) continue;
        // who speaks first, and rightly, is the other side
        ssize_t got = recvfrom(l->socket, d, sizeof *d, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &size);
        if (got < 0 || !is_ours(l, d, (size_t)got, &from)) continue;
        if (!l->has_peer) l->peer = from;
        return WIRE_OK;
    }
}

// ---- plant ----------------------------------------------------------------------------------------------------------

wire_status wire_listen(wire *l, int *port)
{
    struct sockaddr_in address = loopback(*port);
    // port 0: the system chooses, and tells which
    socklen_t size = sizeof address;
    if (open_socket(l) != WIRE_OK) return WIRE_FAILED;
    if (bind(l->socket, (struct sockaddr *)&address, sizeof address) != 0) return tell_system_error(l, "listening");
    if (getsockname(l->socket, (struct sockaddr *)&address, &size) != 0) return tell_system_error(l, "listening");
    *port = ntohs(address.sin_port);
    l->session = new_session();
    return WIRE_OK;
}

// A hello of this session with ports that there may be. One without the session is told it, without more.
static bool is_hello(wire *l, const datagram *d)
{
    // numbers that an array would not hold are no hello
    if (d->kind != HELLO || d->nreads > WIRE_PORTS || d->nwrites > WIRE_PORTS) {
        l->strange++;
        return false;
    }
    datagram answer = {.kind = SESSION};
    if (d->session != l->session) (void)send_datagram(l, &answer);
    return d->session == l->session;
}

// names may lack their end: at most 31 characters are taken
static void take_ports(const datagram *d, wire_ports *out)
{
    *out = (wire_ports){.nreads = (int)d->nreads, .nwrites = (int)d->nwrites};
    for (int i = 0; i < out->nreads; i++) snprintf(out->read[i], WIRE_NAME, "%.31s", d->name[i]);
    for (int i = 0; i < out->nwrites; i++) snprintf(out->write[i], WIRE_NAME, "%.31s", d->name[out->nreads + i]);
}

wire_status wire_accept(wire *l, double seconds)
{
    datagram    d;
    wire_status status;
    double      until = now() + seconds;
    int         leftovers = LEFTOVERS;
    // whoever says hello without the session is told it, and asked to come again
    do status = get(l, &d, until, &leftovers);
    while (status == WIRE_OK && !is_hello(l, &d));
    if (status == WIRE_HELD) snprintf(l->message, sizeof l->message, "no controller within %g s", seconds);
    if (status != WIRE_OK) return status;
    // from now on only this one is listened to
    l->has_peer = true;
    take_ports(&d, &l->ports);
    return WIRE_OK;
}

wire_status wire_welcome(wire *l, const char *refusal)
{
    datagram d = {.kind = refusal ? REFUSED : WELCOME};
    if (refusal) snprintf(d.text, sizeof d.text, "%s", refusal);
    wire_status status = send_datagram(l, &d);
    l->refused += refusal != NULL;
    // refused: the next one may come
    l->has_peer = l->has_peer && !refusal;
    return status;
}

// An answer to the values of a number: taken, wrong, or (WIRE_HELD) not the one that is waited for
static wire_status take_answer(wire *l, const datagram *d, uint64_t number, double *inputs)
{
    const size_t bytes = (size_t)l->ports.nwrites * sizeof *inputs;
    bool         finite = true;
    // of another session, too late, or twice
    if (d->session != l->session || d->number != number || d->number <= l->last ||
        d->nreads != (uint32_t)l->ports.nwrites) {
        l->stale++;
        return WIRE_HELD;
    }
    // values that are not finite are never taken
    l->last = number;
    for (int i = 0; i < l->ports.nwrites; i++) finite = finite && isfinite(d->value[i]);
    l->fresh += finite;
    l->wrong += !finite;
    if (finite) memcpy(inputs, d->value, bytes);
    return finite ? WIRE_OK : WIRE_WRONG;
}

wire_status wire_exchange(wire *l, uint64_t number, double time, const double *outputs, double *inputs, double seconds)
{
    datagram    d = {.kind = VALUES, .number = number, .time = time};
    double      until = now() + seconds;
    int         leftovers = LEFTOVERS;
    wire_status status;
    // the outputs of this step, once: what is lost is lost
    d.nreads = (uint32_t)l->ports.nreads;
    memcpy(d.value, outputs, (size_t)l->ports.nreads * sizeof *outputs);
    if (send_datagram(l, &d) != WIRE_OK) return WIRE_FAILED;
    // until the answer to this very number has come, or time is up
    while ((status = get(l, &d, until, &leftovers)) == WIRE_OK) {
        if (d.kind == GOODBYE && d.session == l->session) return WIRE_ENDED;
        if (d.kind == HELLO && is_hello(l, &d) && wire_welcome(l, NULL) != WIRE_OK) return WIRE_FAILED; // it was lost
        if (d.kind != VALUES) continue;
        status = take_answer(l, &d, number, inputs);
        if (status != WIRE_HELD) return status;
    }
    // nothing in time: the caller holds its values
    if (status == WIRE_HELD) l->held++;
    return status;
}

// several times: datagrams may be lost
void wire_goodbye(wire *l)
{
    datagram d = {.kind = GOODBYE};
    for (int i = 0; l->has_peer && i < REPEATS; i++) (void)send_datagram(l, &d);
}

// ---- controller -----------------------------------------------------------------------------------------------------

wire_status wire_connect(wire *l, int port, const wire_ports *ports, double seconds)
{
    datagram hello = {.kind = HELLO}, answer;
    double   until = now() + seconds;
    // ports by name, read ones first
    hello.nreads = (uint32_t)ports->nreads;
    hello.nwrites = (uint32_t)ports->nwrites;
    memcpy(hello.name, ports->read, (size_t)ports->nreads * WIRE_NAME);
    memcpy(hello.name + ports->nreads, ports->write, (size_t)ports->nwrites * WIRE_NAME);
    if (open_socket(l) != WIRE_OK) return WIRE_FAILED;
    // the plant may not be there yet
    l->peer = loopback(port);
    l->has_peer = true;
    l->ports = *ports;
    // hello again and again: first it brings the number of the session, then the welcome
    while (now() < until) {
        if (send_datagram(l, &hello) != WIRE_OK) return WIRE_FAILED;
        int         leftovers = LEFTOVERS;
        wire_status status = get(l, &answer, fmin(until, now() + AGAIN), &leftovers);
        if (status == WIRE_FAILED) return status;
        if (status != WIRE_OK) continue;
        if (answer.kind == SESSION) l->session = answer.session;
        if (answer.session != l->session) continue;
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
    // goodbye ends it; values of this session that are newer than the last ones are taken
    while ((status = get(l, &d, until, &leftovers)) == WIRE_OK) {
        if (d.session != l->session) continue;
        if (d.kind == GOODBYE) return WIRE_ENDED;
        if (d.kind != VALUES || d.nreads != (uint32_t)l->ports.nreads) continue;
        // values that were overtaken
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
    datagram d = {.kind = VALUES, .number = number, .time = time};
    // the same number tells the plant which step it is for
    d.nreads = (uint32_t)l->ports.nwrites;
    memcpy(d.value, inputs, (size_t)l->ports.nwrites * sizeof *inputs);
    return send_datagram(l, &d);
}
