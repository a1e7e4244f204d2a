// tests/fuzz/fuzz_state.c: any bytes as a file of states.
//
// A refusal says why and leaves the state alone; what is accepted is finite, and is written and read again to the last
// bit.
#define _GNU_SOURCE
#include "fuzz/fuzz.h"

#include <kardan/formalism.h>
#include <kardan/model.h>
#include <math.h>

#include "fuzz/fuzz_file.h"
#include "io/state_file.h"

static const char MODEL[] = "kardan: 1\nbodies: {b: {mass: 1, inertia: [1, 1, 1]}}\n"
                            "joints: {j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [1, 0, 0]}}\n"
                            "states: {s: {type: lag, input: joint.j.q, time_constant: 1}}\n";

static kd_system *system_of(kd_state **x, kd_state **other)
{
    static kd_system *s;
    static kd_state  *states[2];
    kd_model         *m;
    char              message[1000];
    if (!s) {
        demand(kd_model_read_text("m", MODEL, sizeof MODEL - 1, NULL, 0, &m, message, sizeof message) == KD_OK);
        demand(kd_system_create(m, NULL, &s, message, sizeof message) == KD_OK);
        for (int i = 0; i < 2; i++) demand(kd_state_create(kd_system_eom(s), &states[i]) == KD_OK);
    }
    *x = states[0];
    *other = states[1];
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kd_state     *x, *other;
    const kd_eom *eom = kd_system_eom(system_of(&x, &other));
    char          message[600] = "";
    for (size_t i = 0; i < x->size; i++) x->p[i] = other->p[i] = 7;
    const char     *path = file_of(data, size);
    const kd_status status = kd_state_file_load(path, size % 2 ? 1.0 : NAN, eom, x, message, sizeof message);
    if (status < 0) {
        demand(status == KD_ERR_FILE && message[0] && x->p[0] == 7);
        return 0;
    }
    for (size_t i = 0; i < x->size; i++) demand(isfinite(x->p[i]));
    const char *again = "/dev/shm/kardan-fuzz-state";
    char        own[64];
    snprintf(own, sizeof own, "%s-%ld", again, (long)getpid());
    demand(kd_state_file_save(own, "fuzz", eom, (const kd_state *const[]){x}, 1, message, sizeof message) == KD_OK);
    demand(kd_state_file_load(own, NAN, eom, other, message, sizeof message) == KD_OK);
    demand(memcmp(x->p, other->p, x->size * sizeof *x->p) == 0 && x->t == other->t);
    (void)remove(own);
    return 0;
}
