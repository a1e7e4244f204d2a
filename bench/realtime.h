// realtime.h: parts of the benchmark of steps in real time.
#ifndef KD_BENCH_REALTIME_H
#define KD_BENCH_REALTIME_H

#include <kardan/kardan.h>

#include "common_rows.h"

// Rows stability.*, figure 1: limits of stability of q'' = -a q - b q'.
void realtime_stability(bench *b);
// Rows track.*, figure 3: drift on the circular track.
void realtime_track(bench *b);
// Rows slope.*, drift.*, error.*, figures 5 to 8: the car axis.
void realtime_axis(bench *b);
// Rows hitch.*, figures 10 and 11: car with caravan, coupled by constraints or by a spring-damper.
void realtime_hitch(bench *b);
// Rows cost.*: a step of 1 ms of larger models.
void realtime_cost(bench *b);
// Row work.variation: instructions of 1000 steps on a smooth road and over a bump, counted by callgrind. The program
// calls itself for it: arguments --steps TIME COUNT make only these, with the bump
// at a time; exit status.
void realtime_work(bench *b);
int  realtime_work_steps(const char *reach, const char *count);

// ---------------------------------------------------------------------------------------------------------------------
// A model file with its stepper.

typedef struct realtime_ride {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x; // start
    kd_realtime *stepper;
} realtime_ride;

// name: of the file in models. explicit_load: a force element that is left out of the matrix; NULL: none. false:
// message says why; close it all the same.
bool realtime_ride_open(realtime_ride *r, const char *name, const kd_setting *settings, int nsettings,
                        const char *explicit_load, const kd_realtime_options *opt, char *message, size_t size);
void realtime_ride_close(realtime_ride *r);

// Car and caravan as modules, each with a stepper of its own, and the hook between them.
enum { REALTIME_OUTPUTS = 60 };
typedef struct realtime_train {
    realtime_ride module[2]; // car, caravan
    kd_hook      *hook;
} realtime_train;

bool realtime_train_open(realtime_train *t, const kd_realtime_options *opt, char *message,
                         size_t size); // close it in any case
void realtime_train_close(realtime_train *t);
// One step; how far ball and eye are apart, and the force of the caravan on the car, axes of the car
bool realtime_train_step(realtime_train *t, double distance[3], double force[3]);
// Row hitch.modules.cost: processor time beside that of the assembled step
void realtime_train_cost(bench *b, const kd_realtime_options *opt);

// ---------------------------------------------------------------------------------------------------------------------

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

const char    *realtime_peer_version(void);                                             // NULL: built without MuJoCo
realtime_peer *realtime_peer_create(double h, bool sparse, char *message, size_t size); // NULL: message says why
void           realtime_peer_destroy(realtime_peer *p);
void           realtime_peer_reset(realtime_peer *p);
void           realtime_peer_step(realtime_peer *p, double steer); // angle at the front wheels
// Sensors of models/closed-loop-car.yaml, in its order; off at the beginning
enum { REALTIME_SENSORS = 17 };
void            realtime_peer_sense(realtime_peer *p, bool on);
void            realtime_peer_read(const realtime_peer *p, double y[REALTIME_SENSORS]);
realtime_motion realtime_peer_motion(const realtime_peer *p);
double          realtime_peer_defect(realtime_peer *p); // largest error of the loops
double          realtime_peer_tyres(realtime_peer *p);  // seconds of one evaluation of all tyres

#endif
