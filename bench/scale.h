// scale.h: the parts of the benchmark "scale": models of many bodies that are made here, and runs in processes of their
// own, so that one that does not end, or takes all memory, is an outcome, too.
#ifndef KD_BENCH_SCALE_H
#define KD_BENCH_SCALE_H

#include <kardan/kardan.h>

#include "common_rows.h"

// ---- models ---------------------------------------------------------------------------------------------------------

typedef enum scale_kind {
    SCALE_CHAIN,           // chain.yaml: point masses on massless rods
    SCALE_CHAIN_CARTESIAN, // the same in Cartesian coordinates
    SCALE_LOOPS,           // n-four-bar.yaml: n loops, 2 n + 1 bodies
    SCALE_ROPE,            // n links of 0.1 m and 0.05 kg with stiff rotational springs and dampers
    SCALE_TREE,            // binary tree of revolute joints
    SCALE_LATTICE,         // free bodies in a cube, springs to their neighbours
    SCALE_LATTICE_STIFF,   // the same with springs a thousand times as stiff, strongly damped
    SCALE_CONVOY,          // independent planar half cars of three bodies
    SCALE_GENERATED,       // random trees and loops; n is the seed
    SCALE_GALLERY,         // models of the gallery; n is the number
    SCALE_KIND_COUNT
} scale_kind;

typedef struct scale_subject {
    char          name[64];
    kd_model     *model;
    kd_system    *system;
    const kd_eom *eom;
    kd_state     *start;
    double        t_end, h_max; // of the model's run; h_max 0: no limit
} scale_subject;

const char *scale_word(scale_kind kind);
// Largest n of a model that has no more than so many bodies
int         scale_size(scale_kind kind, int bodies);
int         scale_gallery_count(void);
const char *scale_gallery_name(int i);
// false: message says why. Closed in either case.
bool scale_open(scale_subject *subject, scale_kind kind, int n, char *message, size_t size);
void scale_close(scale_subject *subject);
// The text of a generated model, to be freed with free()
char *scale_text(scale_kind kind, int n);

// ---- methods --------------------------------------------------------------------------------------------------------

typedef struct scale_method {
    bool               chosen; // by kardan: the default
    kd_formulation     formulation;
    kd_integrator_kind integrator;
} scale_method;
extern const scale_method SCALE_DEFAULT;
const char               *scale_method_word(scale_method method, char *text, size_t size);
kd_simulation_options     scale_options(const scale_subject *subject, scale_method method, double tolerance);

// ---- runs -----------------------------------------------------------------------------------------------------------

typedef struct scale_outcome {
    kd_status status; // < 0: failed
    bool      killed; // by one of the limits
    int       bodies;
    double    assembly, setup; // [s] of processor time: model and system, the simulation
    double    seconds;         // [s] of the run
    double    megabytes;       // largest size of the process
    long      steps;           // attempted
    double    t;               // reached
    char      method[40];      // that was taken
    char      message[200];
} scale_outcome;

// At most so many attempted steps and, where steps are long, until so much processor time is used up; seconds and
// megabytes beyond which it is killed. t_end 0: the model's
typedef struct scale_limits {
    long   steps;
    double t_end, enough, seconds, megabytes;
} scale_limits;
scale_outcome scale_run(scale_kind kind, int n, scale_method method, double tolerance, scale_limits limits);

// ---- parts ----------------------------------------------------------------------------------------------------------
void scale_growth(bench *b);      // growth.*, setup.*, memory.*
void scale_large(bench *b);       // 10,000 bodies
void scale_default(bench *b);     // default.*: the default beside all other methods at the same error
void scale_certificate(bench *b); // certificate.share
void scale_mujoco(bench *b);      // ratio.mujoco.*

#endif
