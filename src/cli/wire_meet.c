// wire_meet.c: the hello of a controller, answered with what the model has.
#define _POSIX_C_SOURCE 200809L
#include "cli/wire_meet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/text.h"

static const double SLICE = 0.1; // [s] of waiting between two looks at Ctrl-C

// An input or output by its name, inputs also without "input." in front; -1: there is none
static int find_named(const kd_eom *eom, kd_kind kind, int n, const char *name)
{
    // names of paths or without their first word
    char own[200], whole[60];
    kd_text(whole, sizeof whole, "input.%s", name);
    for (int i = 0; i < n; i++) {
        kd_eom_name(eom, kind, i, own, sizeof own);
        if (strcmp(own, name) == 0 || (kind == KD_NAME_U && strcmp(own, whole) == 0)) return i;
    }
    return -1;
}

// The ports of the controller; false: there is no such port, said in refusal
static bool find_ports(const wire *w, const kd_eom *eom, int *read, int *write, char *refusal, size_t size)
{
    const kd_dims d = kd_eom_dims(eom);
    // all are looked for, so that the last one that is missing is told
    for (int k = 0; k < w->ports.nreads; k++) {
        read[k] = find_named(eom, KD_NAME_Y, d.ny, w->ports.read[k]);
        if (read[k] < 0) kd_text(refusal, size, "the model has no output '%s'", w->ports.read[k]);
    }
    for (int k = 0; k < w->ports.nwrites; k++) {
        write[k] = find_named(eom, KD_NAME_U, d.nu, w->ports.write[k]);
        if (write[k] < 0) kd_text(refusal, size, "the model has no input '%s'", w->ports.write[k]);
    }
    return refusal[0] == '\0';
}

// Nobody came; what came instead is told.
static void say_nobody(wire *w, double patience, const char *refusal)
{
    kd_text(w->message, sizeof w->message,
            kd_cli_is_interrupted() ? "interrupted before a controller came" : "no controller within %g s", patience);
    if (w->refused > 0)
        kd_text_append(w->message, sizeof w->message, "; %ld refused, the last one because %s", w->refused, refusal);
    if (w->forged > 0) kd_text_append(w->message, sizeof w->message, "; %ld words without the key", w->forged);
    if (w->strange > 0) kd_text_append(w->message, sizeof w->message, "; %ld strange words", w->strange);
}

bool kd_wire_meet(wire *w, const kd_eom *eom, double patience, int *read, int *write)
{
    char   refusal[200] = "";
    double until = kd_cli_seconds() + patience;
    // in slices, so that Ctrl-C is heard
    while (kd_cli_seconds() < until && !kd_cli_is_interrupted()) {
        wire_status status = wire_accept(w, fmin(SLICE, patience));
        if (status == WIRE_HELD) continue;
        if (status != WIRE_OK) return false;
        // all its ports must be there
        refusal[0] = '\0';
        bool fits = find_ports(w, eom, read, write, refusal, sizeof refusal);
        (void)wire_welcome(w, fits ? NULL : refusal);
        if (fits) return true;
        fprintf(stderr, "kardan: a controller was refused: %s\n", refusal);
    }
    say_nobody(w, patience, refusal);
    return false;
}
