// Issue point 13: a controller over UDP that sends what is no number, wrong hellos, strangers, keys and old datagrams;
// kardan realtime runs in a process of its own, this program speaks with it over the loopback interface.
// clang-format off
#include "../../src/cli/wire.c" // first: its static functions are used too
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <cmocka.h>
// clang-format on
#include "case.h"
#include "seeded.h"

#define FOLDER KD_BINARY_DIR "/test-point13"
#define KEY FOLDER "/key"
static const wire_ports PORTS = {.nreads = 1, .nwrites = 1, .read = {"speed"}, .write = {"input.torque"}};
static const double     PATIENCE = 20; // [s] nothing waits longer

// ---- the plant in its process ---------------------------------------------------------------------------------------

typedef struct process {
    pid_t id;
    int   port;
} process;

static char *text_of(const char *name)
{
    static char text[20000];
    FILE       *file = fopen(name, "r");
    size_t      size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[size] = '\0';
    return text;
}

static process start_plant(const char *options)
{
    char    command[2000];
    process p = {0};
    snprintf(command, sizeof command,
             "rm -rf '" FOLDER "/out'; exec '" KD_BINARY_DIR "/kardan' realtime '" KD_SOURCE_DIR
             "/examples/realtime/press.yaml' --listen 0 --as-fast-as-possible --step 1e-3 --duration 0.2 --timeout 5 "
             "--output '" FOLDER "/out' --no-drawing --json %s > '" FOLDER "/told' 2> '" FOLDER "/said'",
             options);
    unlink(FOLDER "/said");
    p.id = fork();
    assert_true(p.id >= 0);
    if (p.id == 0) {
        alarm(60); // whatever happens, it ends
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    for (double until = now() + PATIENCE; p.port == 0 && now() < until;) {
        const char *found = strstr(text_of(FOLDER "/said"), "port ");
        if (found && strchr(found, '\n')) p.port = atoi(found + 5);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    assert_true(p.port > 0);
    return p;
}

static int end_of(const process *p)
{
    int status = 0;
    assert_int_equal(waitpid(p->id, &status, 0), p->id);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static long count(const char *name)
{
    char key[60];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = strstr(text_of(FOLDER "/told"), key);
    assert_non_null(found);
    return atol(found + strlen(key));
}

// Answer until the plant ends; every n-th answer (0: none) is no number
static long serve(wire *w, int every, double bad)
{
    uint64_t number;
    double   time, speed, torque;
    long     wrong = 0;
    while (wire_receive(w, &number, &time, &speed, PATIENCE) == WIRE_OK) {
        bool is_bad = every > 0 && number % (uint64_t)every == 0;
        torque = is_bad ? bad : 20 * (12 - speed);
        wrong += is_bad;
        assert_int_equal(wire_answer(w, number, time, &torque), WIRE_OK);
    }
    return wrong;
}

// ---- values that are no numbers -------------------------------------------------------------------------------------

// They are held and counted apart from answers in time, and the run goes on.
static void not_finite_is_counted(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    uint64_t            seed = test_seed(13);
    for (int k = 0; k < 3; k++) {
        process p = start_plant("");
        wire    w = {.socket = -1};
        assert_int_equal(wire_connect(&w, p.port, &PORTS, PATIENCE), WIRE_OK);
        long wrong = serve(&w, (int)seeded_between(&seed, 2, 9), bad[k]);
        wire_close(&w);
        assert_int_equal(end_of(&p), 0);
        assert_int_equal(count("not_finite"), wrong);
        assert_int_equal(count("in_time") + count("missing"), 200 - wrong);
        assert_true(wrong > 0);
    }
}

// In a row they end the run with words, and the results so far are there.
static void too_many_end_the_run(void **state)
{
    (void)state;
    process p = start_plant("--max-wrong 7");
    wire    w = {.socket = -1};
    assert_int_equal(wire_connect(&w, p.port, &PORTS, PATIENCE), WIRE_OK);
    assert_int_equal(serve(&w, 1, NAN), 7);
    wire_close(&w);
    assert_int_equal(end_of(&p), 1);
    assert_non_null(strstr(text_of(FOLDER "/said"), "7 times in a row with values that are not finite"));
    assert_int_equal(count("not_finite"), 7);
    assert_non_null(strstr(text_of(FOLDER "/out/press.realtime.csv"), "\n0,"));
}

// ---- wrong hellos ---------------------------------------------------------------------------------------------------

// Garbage, other versions, other lengths and controllers with unknown ports do not end the plant.
static void wrong_hellos_are_refused(void **state)
{
    (void)state;
    process    p = start_plant("");
    wire_ports unknown = PORTS;
    wire       w = {.socket = -1}, other = {.socket = -1};
    datagram   d = {.magic = 0x4b445031, .kind = HELLO, .nreads = 1, .nwrites = 1};
    assert_int_equal(open_socket(&other), WIRE_OK);
    other.peer = loopback(p.port);
    const struct sockaddr *to = (const struct sockaddr *)&other.peer;
    assert_true(sendto(other.socket, &d, sizeof d, 0, to, sizeof other.peer) > 0);     // another version
    assert_true(sendto(other.socket, &d, sizeof d - 8, 0, to, sizeof other.peer) > 0); // another length
    assert_true(sendto(other.socket, "hello", 5, 0, to, sizeof other.peer) > 0);
    snprintf(unknown.read[0], WIRE_NAME, "spede");
    assert_int_equal(wire_connect(&w, p.port, &unknown, PATIENCE), WIRE_FAILED);
    assert_non_null(strstr(w.message, "spede"));
    wire_close(&w);
    assert_int_equal(wire_connect(&w, p.port, &PORTS, PATIENCE), WIRE_OK);
    d = (datagram){.kind = GOODBYE}; // of somebody else
    assert_int_equal(send_datagram(&other, &d), WIRE_OK);
    assert_int_equal(serve(&w, 0, 0), 0);
    wire_close(&w);
    wire_close(&other);
    assert_int_equal(end_of(&p), 0);
    assert_int_equal(count("refused"), 1);
    assert_true(count("strange") >= 3);
    assert_int_equal(count("in_time") + count("missing"), 200);
}

// ---- keys -----------------------------------------------------------------------------------------------------------

static void write_key(const char *path, const char *bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(bytes, file);
    fclose(file);
}

// Who has the key is heard, who has not or has another one is not; keys that are too short are refused.
static void keys(void **state)
{
    (void)state;
    char     message[200] = "";
    wire_key key, wrong;
    write_key(KEY, "0123456789abcdef-shared\n");
    write_key(KEY "2", "0123456789abcdef-other!\n");
    write_key(KEY "3", "too short\n");
    if (!HAS_CODES) {
        assert_false(wire_read_key(KEY, &key, message, sizeof message));
        assert_non_null(strstr(message, "libcrypto"));
        skip();
    }
    assert_true(wire_read_key(KEY, &key, message, sizeof message));
    assert_int_equal(key.size, 23);
    assert_true(wire_read_key(KEY "2", &wrong, message, sizeof message));
    assert_false(wire_read_key(KEY "3", &(wire_key){0}, message, sizeof message));
    assert_false(wire_read_key(KEY "4", &(wire_key){0}, message, sizeof message));
    process p = start_plant("--key '" KEY "'");
    wire    none = {.socket = -1}, other = {.socket = -1, .key = wrong}, w = {.socket = -1, .key = key};
    assert_int_equal(wire_connect(&none, p.port, &PORTS, 0.2), WIRE_HELD);
    assert_int_equal(wire_connect(&other, p.port, &PORTS, 0.2), WIRE_HELD);
    wire_close(&none);
    wire_close(&other);
    assert_int_equal(wire_connect(&w, p.port, &PORTS, PATIENCE), WIRE_OK);
    assert_int_equal(serve(&w, 0, 0), 0);
    wire_close(&w);
    assert_int_equal(end_of(&p), 0);
    assert_true(count("forged") >= 2);
    assert_int_equal(count("in_time") + count("missing"), 200);
}

// Every byte of a datagram counts in its code.
static void codes(void **state)
{
    (void)state;
    if (!HAS_CODES) skip();
    wire_key      key = {.size = 20, .bytes = "01234567890123456789"};
    datagram      d = {.magic = MAGIC, .kind = VALUES, .number = 5}, changed;
    unsigned char code[CODE], other[CODE];
    assert_true(find_code(&key, &d, code));
    for (size_t i = CODE; i < sizeof d; i += 13) {
        memcpy(&changed, &d, sizeof d);
        ((unsigned char *)&changed)[i] ^= 1;
        assert_true(find_code(&key, &changed, other));
        assert_false(same_code(code, other));
    }
}

// ---- old datagrams --------------------------------------------------------------------------------------------------

// Answers of an earlier session, of numbers that were taken, and old hellos are not taken.
static void replays(void **state)
{
    (void)state;
    wire         plant = {.socket = -1}, w = {.socket = -1};
    int          port = 0;
    const double out[1] = {1};
    double       in[1] = {0};
    assert_int_equal(wire_listen(&plant, &port), WIRE_OK);
    assert_int_equal(open_socket(&w), WIRE_OK);
    w.peer = loopback(port);
    w.session = plant.session ^ 6; // of yesterday
    datagram d = {.kind = HELLO, .nreads = 1, .nwrites = 1};
    assert_int_equal(send_datagram(&w, &d), WIRE_OK);
    assert_int_equal(wire_accept(&plant, 0.02), WIRE_HELD);
    w.session = plant.session;
    assert_int_equal(send_datagram(&w, &d), WIRE_OK);
    assert_int_equal(wire_accept(&plant, 1), WIRE_OK);
    d = (datagram){.kind = VALUES, .number = 1, .nreads = 1, .value = {3}};
    w.session = plant.session ^ 6;
    assert_int_equal(send_datagram(&w, &d), WIRE_OK);
    assert_int_equal(wire_exchange(&plant, 1, 0, out, in, 0.02), WIRE_HELD);
    w.session = plant.session;
    assert_int_equal(send_datagram(&w, &d), WIRE_OK);
    assert_int_equal(wire_exchange(&plant, 1, 0, out, in, 1), WIRE_OK);
    assert_true(in[0] == 3);
    assert_int_equal(send_datagram(&w, &d), WIRE_OK); // the same once more
    assert_int_equal(wire_exchange(&plant, 2, 0, out, in, 0.02), WIRE_HELD);
    assert_int_equal(plant.stale, 2);
    wire_close(&plant);
    wire_close(&w);
}

static int start_afresh(void **state)
{
    (void)state;
    return system("rm -rf '" FOLDER "' && mkdir '" FOLDER "'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_finite_is_counted),
        cmocka_unit_test(too_many_end_the_run),
        cmocka_unit_test(wrong_hellos_are_refused),
        cmocka_unit_test(keys),
        cmocka_unit_test(codes),
        cmocka_unit_test(replays),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
