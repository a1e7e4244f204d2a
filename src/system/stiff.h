// stiff.h: data of the derivatives of stiff loads: stiff_part.c, stiff_states.c
#ifndef KARDAN_SYSTEM_STIFF_H
#define KARDAN_SYSTEM_STIFF_H

#include "system/matrix.h"
#include "tree/path_product.h"

// The stiff part of the residual's derivatives, stiff_part.c
typedef struct kd_stiff_path { // a pair that stiff loads act between
    int          pair;
    kd_path_load load;  // all of them together
    double      *block; // (nsteps x nsteps, and more) their sum of stiffness and damping when it was renewed last
    bool         renew;
    int          nruns;
    kd_path_run *run; // (nruns) its entries in M
} kd_stiff_path;

enum { KD_STIFF_PARTS = 4 }; // up to so many parts in turn have a sum each

typedef struct kd_stiff_load {
    int  number;
    bool spring;            // along a distance, and depends on it and its rate only
    bool plain;             // all channels are shifts and turns, whose gradients are unit vectors:
    int  part[6];           // which ones, of (N, F)
    bool flat;              // and all variables are shifts, turns or cosines:
    int *component;         // (nvariables) of the pose or its rate; a cosine: minus its axis less 1
    int  pair;              // of all channels and variables; -1: there are several
    int *outer_p, *outer_v; // otherwise: places of the products of rows, ..
    int *outer_mass;        // .. and in M; -1: prescribed

    double       *kept;       // derivatives of its law, for stiff_states.c; NULL: not wanted there
    unsigned long kept_stamp; // where they were taken
} kd_stiff_load;

typedef struct kd_stiff_part {
    int              nloads, npaths;
    kd_stiff_load   *load;
    kd_stiff_path   *path;
    int             *path_of;               // (pairs of loads) number of the path; -1
    bool             by_slopes;             // products of rows need slopes of pairs
    int              longest;               // path
    double          *scratch;               // of kd_path_product
    kd_matrix_values p, v;                  // in the patterns of residual_p, residual_v
    double           by_p, by_v, *together; // while by_p p + by_v v is summed up: there; NULL
    bool             blocks_known;
    bool             fits_mass;           // all entries are places of M, too
    bool             with_mass;           // while they are added there
    double          *sum[KD_STIFF_PARTS]; // minus all blocks of a part, in the pattern of M; NULL: not kept
    int              summed;              // number of parts that those are of; 0: nothing stands there
    unsigned long    stamp;
} kd_stiff_part;

// Derivatives by inner states and of their rates, of the stiff loads, stiff_states.c
enum { KD_STIFF_R, KD_STIFF_B_P, KD_STIFF_B_V, KD_STIFF_B_R, KD_STIFF_STATES };

typedef struct kd_stiff_state_load { // has states, or reads some
    int number;
    int next[KD_STIFF_STATES]; // its first addition to each matrix

    kd_stiff_load *across; // the same load of several pairs; NULL: it is none
} kd_stiff_state_load;

typedef struct kd_stiff_states {
    int                  nloads, nmeasures, npairs;
    kd_stiff_state_load *load;
    int                 *measure, *pair;          // whose slopes and columns are needed
    kd_matrix_values     matrix[KD_STIFF_STATES]; // in the patterns of residual_r, b_p, b_v, b_r
    unsigned long        stamp;
} kd_stiff_states;

#endif
