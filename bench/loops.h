// loops.h: the hanging ladder of N four-bar loops, and the programs that swing it.
#ifndef KD_BENCH_LOOPS_H
#define KD_BENCH_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LOOPS_LARGEST = 160 };
#define LOOPS_END 10.0 // [s]
#define LOOPS_GRAVITY 9.81

// One run: thread CPU time of the motion alone and the largest error of the angles of all cranks at the end. NaN:
// failed.
typedef struct loops_outcome {
    double seconds, error;
    long   steps;
} loops_outcome;

// A program that swings the ladder. Accuracy: fineness 0, 1, 2, ...; exact: angle of all cranks at LOOPS_END, from the
// hanging position, first towards its own side; clock: seconds of this thread.
typedef struct loops_peer loops_peer;

typedef struct loops_program {
    const char *name, *method;
    const char *(*version)(void);                             // NULL: the benchmark was built without it
    loops_peer *(*create)(int n, char *message, size_t size); // NULL: message says why
    loops_outcome (*run)(loops_peer *peer, int fineness, double exact, double (*clock)(void));
    void (*destroy)(loops_peer *peer);
    int first[3], levels; // fineness around the wanted error with 1, up to 10 and more loops
} loops_program;

extern const loops_program loops_mujoco;
extern const loops_program loops_simbody; // in a module of its own, see loops_simbody.cpp

#ifdef __cplusplus
}
#endif
#endif
