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

double loops_cpu_seconds(void);  // of this thread
double loops_exact_angle(int n); // of all cranks at LOOPS_END, from the hanging position, first towards its own side

// A peer: version NULL if the benchmark was built without it. Accuracy: fineness 0, 1, 2, ...
typedef struct loops_peer loops_peer;

const char   *loops_mujoco_version(void);
loops_peer   *loops_mujoco_create(int n, char *message, size_t size); // NULL: message says why
loops_outcome loops_mujoco_run(loops_peer *peer, int fineness);
void          loops_mujoco_destroy(loops_peer *peer);

#ifdef __cplusplus
}
#endif
#endif
