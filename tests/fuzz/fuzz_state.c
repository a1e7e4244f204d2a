// tests/fuzz/fuzz_state.c: any bytes as a file of states.
//
// A refusal says why and leaves the state alone; what is accepted is finite, and is written and read again to the last
// bit.
#define _GNU_SOURCE
#include "fuzz/fuzz.h"

#include <kardan/model.h>
#include <kardan/system.h>
#include <math.h>

#include "fuzz/fuzz_file.h"
#include "results/state_file.h"

static const char MODEL[] = "kardan: 1\nbodies: {b: {mass: 1, inertia: [1, 1, 1]}}\n"
                            "joints: {j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [1, 0, 0]}}\n"
                            "states: {s: {type: lag, input: joint.j.q, time_constant: 1}}\n";

static kd_system *system_of(kd_model **m)
{
    kd_system *s;
    char       message[1000];
    demand(kd_model_read_text("m", MODEL, sizeof MODEL - 1, NULL, 0, m, message, sizeof message) == KD_OK);
    demand(kd_system_create(*m, NULL, &s, message, sizeof message) == KD_OK);
    return s;
}

static void write_and_read(const kd_eom *eom, const kd_state *x, kd_state *other)
{
    char path[64], message[600];
    for (size_t i = 0; i < x->size; i++) demand(isfinite(x->p[i]));
    snprintf(path, sizeof path, "/dev/shm/kardan-fuzz-state-%ld", (long)getpid());
    demand(kd_state_file_save(path, "fuzz", eom, (const kd_state *const[]){x}, 1, message, sizeof message) == KD_OK);
    demand(kd_state_file_load(path, NAN, eom, NULL, other, message, sizeof message) == KD_OK);
    demand(memcmp(x->p, other->p, x->size * sizeof *x->p) == 0 && x->t == other->t);
    (void)remove(path);
}

// Everything is made and destroyed for each input: the sanitizer takes empty arrays that stay for leaks.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kd_model     *m;
    kd_system    *s = system_of(&m);
    const kd_eom *eom = kd_system_eom(s);
    kd_state     *x, *other;
    char          message[600] = "";
    demand(kd_state_create(eom, &x) == KD_OK && kd_state_create(eom, &other) == KD_OK);
    for (size_t i = 0; i < x->size; i++) x->p[i] = other->p[i] = 7;
    const kd_status status =
        kd_state_file_load(file_of(data, size), size % 2 ? 1.0 : NAN, eom, NULL, x, message, sizeof message);
    if (status < 0)
        demand(status == KD_ERR_FILE && message[0] && x->p[0] == 7);
    else
        write_and_read(eom, x, other);
    kd_state_destroy(x);
    kd_state_destroy(other);
    kd_system_destroy(s);
    kd_model_destroy(m);
    return 0;
}
