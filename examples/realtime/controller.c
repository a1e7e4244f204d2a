// controller.c: speed control of the plant from another program; control.h has the law, wire.h the way.
//
//     controller PORT
//
// --drop N leaves every N-th measurement without an answer, --late N answers it together with the next one: what a
// busy network does. --wrong N answers every N-th one with something that is no number: what a bug does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/wire.h"
#include "control.h"

typedef struct wishes {
    long   drop, late, wrong; // 0: never
    double patience;          // [s] for the plant to appear, and between two of its messages
} wishes;

static wire_status run(wire *w, control *c, const wishes *f)
{
    double   time = 0, speed = 0, torque = 0, kept = 0;
    uint64_t number = 0, kept_number = 0; // an answer that waits
    for (;;) {
        wire_status status = wire_receive(w, &number, &time, &speed, f->patience);
        if (status != WIRE_OK) return status;
        torque = control_update(c, time, speed);
        if (kept_number > 0) (void)wire_answer(w, kept_number, time, &kept);
        kept_number = 0;
        if (f->drop > 0 && number % (uint64_t)f->drop == 0) continue;
        if (f->late > 0 && number % (uint64_t)f->late == 0) {
            kept = torque, kept_number = number;
            continue;
        }
        if (f->wrong > 0 && number % (uint64_t)f->wrong == 0) torque = NAN;
        if (wire_answer(w, number, time, &torque) != WIRE_OK) return WIRE_FAILED;
    }
}

int main(int argc, char **argv)
{
    const wire_ports ports = {.nreads = 1, .nwrites = 1, .read = {"speed"}, .write = {"input.torque"}};
    wire             w = {.socket = -1};
    control          c = control_default();
    wishes           f = {.patience = 20};
    const char      *key = NULL;
    int              port = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--drop") == 0) f.drop = atol(argv[i + 1]);
        if (strcmp(argv[i], "--late") == 0) f.late = atol(argv[i + 1]);
        if (strcmp(argv[i], "--wrong") == 0) f.wrong = atol(argv[i + 1]);
        if (strcmp(argv[i], "--key") == 0) key = argv[i + 1];
        if (strcmp(argv[i], "--patience") == 0) f.patience = atof(argv[i + 1]);
    }
    if (port <= 0 || port > 65535) {
        fputs("usage: controller PORT [--drop N] [--late N] [--wrong N] [--key FILE] [--patience S]\n", stderr);
        return 2;
    }
    wire_status status = key && !wire_read_key(key, &w.key, w.message, sizeof w.message)
                             ? WIRE_FAILED
                             : wire_connect(&w, port, &ports, f.patience);
    if (status == WIRE_OK) {
        status = run(&w, &c, &f);
        fprintf(stderr, "controller: %ld measurements%s\n", w.fresh, status == WIRE_HELD ? ", then silence" : "");
    } else {
        fprintf(stderr, "controller: %s\n", w.message);
    }
    wire_close(&w);
    return status != WIRE_ENDED;
}
