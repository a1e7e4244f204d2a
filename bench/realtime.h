// realtime.h: parts of the benchmark of steps in real time.
#ifndef KD_BENCH_REALTIME_H
#define KD_BENCH_REALTIME_H

#include "common_rows.h"

// Rows ratio.mujoco.vehicle, defect.*: the car of models/closed-loop-car.yaml in steps of 1 ms, beside MuJoCo.
void realtime_vehicle(bench *b);
// Rows ten_minutes.*: long drives round a figure eight.
void realtime_long(bench *b);

// ---------------------------------------------------------------------------------------------------------------------
// The same car in MuJoCo.

// What both programs are compared by.
typedef struct realtime_motion {
    double x, y, z, roll, travel[4]; // car body; lower arms: front left, front right, rear left, rear right
} realtime_motion;

typedef struct realtime_peer realtime_peer;

const char     *realtime_peer_version(void);                                             // NULL: built without MuJoCo
realtime_peer  *realtime_peer_create(double h, bool sparse, char *message, size_t size); // NULL: message says why
void            realtime_peer_destroy(realtime_peer *p);
void            realtime_peer_reset(realtime_peer *p);
void            realtime_peer_step(realtime_peer *p, double steer); // angle at the front wheels
realtime_motion realtime_peer_motion(const realtime_peer *p);
double          realtime_peer_defect(realtime_peer *p); // largest error of the loops
double          realtime_peer_tyres(realtime_peer *p);  // seconds of one evaluation of all tyres

#endif
