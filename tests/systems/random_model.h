// tests/systems/random_model.h: reproducible random mechanisms with every kind of element, and the same mechanism
// written in other ways: other order of its elements, moved as a whole, other joints cut.
#ifndef KD_TEST_RANDOM_MODEL_H
#define KD_TEST_RANDOM_MODEL_H

#include <kardan/system.h>
#include <stdint.h>

#include "math/space.h"

enum { MAX_BODIES = 8, MAX_JOINTS = 14, MAX_CONSTRAINTS = 6, MAX_FORCES = 13, MAX_STATES = 4, POOL = 16384 };

typedef struct mechanism_options {
    int  bodies, loops, constraints, forces;
    bool floating;     // nothing holds it to the ground; no gravity
    bool conservative; // no dampers, no drives, nothing that depends on time
    bool invariant;    // nothing reads world coordinates
    bool smooth;       // no element with kinks
    bool rubs;         // friction may depend on the force across its joint
    bool at_rest;      // all start velocities are 0
    bool driven;       // one coordinate is prescribed
    bool states;       // inner states, inputs and laws that read them
    bool flexible;     // every other body has modes
} mechanism_options;

typedef struct mechanism {
    int               nbodies, ntree, njoints, nconstraints, nforces, nstates, ninputs, nuser;
    double            gravity[3];
    kd_body_def       body[MAX_BODIES];
    kd_joint_def      joint[MAX_JOINTS]; // ntree of the tree, then those that close loops
    double            design[MAX_JOINTS][6];
    kd_constraint_def constraint[MAX_CONSTRAINTS];
    kd_force_def      force[MAX_FORCES];
    kd_state_def      state[MAX_STATES];
    kd_user_force_def user;
    const char       *user_measure[2];
    double            user_start[1];
    char              pool[POOL]; // texts
    size_t            used;
    uint64_t          seed, made; // made: the seed of the whole
    mechanism_options opt;
} mechanism;

typedef struct mechanism_variant {
    bool          reorder;   // bodies and joints in another order
    bool          turn_over; // from and to of joints without coordinates exchanged
    bool          moved;     // everything, gravity too
    kd_quat       turn;
    kd_vec3       shift;
    const kd_cut *cut;     // (njoints) in place of those of the mechanism; NULL: those
    int           sensors; // 0: none, 1: positions of bodies (9 numbers each: pos, R.x, R.y), 2: all there is
} mechanism_variant;

double  mechanism_random(uint64_t *seed); // uniform in [-1, 1)
int     mechanism_below(int n, uint64_t *seed);
kd_vec3 mechanism_vec(double size, uint64_t *seed);
kd_quat mechanism_quat(uint64_t *seed);

// A mechanism whose constraints are independent at the design position, where all of them hold.
void mechanism_make(mechanism *m, uint64_t seed, const mechanism_options *opt);
// The finished model; NULL: the message was printed.
kd_model *mechanism_build(const mechanism *m, const mechanism_variant *v);
// Smallest over largest singular value of the constraint matrices at the start; 1 without constraints, 0: no start.
double      mechanism_condition(const kd_system *s);
const char *mechanism_body_name(int i);
// random_flexible.c: has it modes, its part in a model and definition, a place as an interface of it
bool        mechanism_is_flexible(const mechanism *m, int body);
bool        mechanism_add_flexible(kd_model *model, const mechanism *m, int body, kd_body_def *def);
kd_place    mechanism_place(const mechanism *m, const kd_place *place);
const char *mechanism_joint_name(int i);

#endif
