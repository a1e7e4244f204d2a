// formalism.h: the systems of the benchmark "formalism", their states, and the peer.
#ifndef KD_BENCH_FORMALISM_H
#define KD_BENCH_FORMALISM_H

#include "common_rows.h"
#include "tree/tree.h"

typedef enum formalism_shape { FORMALISM_CHAIN, FORMALISM_TREE, FORMALISM_ROBOT } formalism_shape;

enum { FORMALISM_STATES = 4 }; // different ones in turn, so that nothing is learnt by heart

// One system with all that its evaluations need.
typedef struct formalism_system {
    kd_arena  arena;
    kd_tree   tree;
    kd_motion m;
    int       nbodies;
    double   *x[FORMALISM_STATES], *dx[FORMALISM_STATES], *ddx[FORMALISM_STATES];
    kd_mat3  *axes;            // (nlinks) principal axes of inertia in the link
    kd_vec3  *central;         // (nlinks) moments of inertia about them and the centre of mass
    double   *tau, *a;         // (ndof)
    double   *M, *by_p, *by_v; // in the pattern; NULL without one
    kd_vec3   g;
} formalism_system;

// chain: revolute joints with alternating axes; tree: the same with two branches at each body; robot: free torso with
// 30 revolute joints (waist 2, head 2, arms 2 x 7, legs 2 x 6). All with offset centres of mass and full inertias.
bool formalism_open(formalism_system *s, formalism_shape shape, int nbodies, bool with_matrices);
void formalism_close(formalism_system *s);

// ---- the evaluations, state k --------------------------------------------------------------------------------------
typedef enum formalism_task { FORWARD, INVERSE, MASS, JACOBIAN, FORMALISM_TASKS } formalism_task;

void formalism_run(formalism_system *s, formalism_task task, int k);

// ---- the peer: MuJoCo ----------------------------------------------------------------------------------------------
typedef struct formalism_peer formalism_peer;

const char     *formalism_peer_version(void); // of MuJoCo: "2.2.2"; NULL: not built with it
formalism_peer *formalism_peer_create(const formalism_system *s, char *message, size_t size); // NULL: message says why
void            formalism_peer_destroy(formalism_peer *p);
void            formalism_peer_run(formalism_peer *p, formalism_task task, int k);
// largest difference of the results of the task in state k, relative to the largest entry
double formalism_peer_error(formalism_peer *p, formalism_system *s, formalism_task task, int k);

#endif
