// system/start.h: what start.c and start_carried.c share.
#ifndef KD_SYSTEM_START_H
#define KD_SYSTEM_START_H

#include "system/system.h"

// The pose of `to` in `from` of a joint, and its motion
typedef struct kd_joint_motion {
    kd_mat3 C;
    kd_vec3 d, dd, omega; // d' in the axes of `from`, omega in those of `to`
} kd_joint_motion;

// Bring w to the velocity stage at a state
kd_eval kd_start_place(kd_work *w, double t, const double *p, const double *v, const double *r, double *u);
// Blocks without period begin at a motion; r: their states there
void kd_start_units(const kd_system *s, kd_work *w, double t, const double *p, const double *v, double *r, double *u);
// Counted angles of p, at the position of w
void kd_start_turns(const kd_system *s, kd_work *w, double *p);
// Where the search for algebraic variables begins; contacts of wheels on rails, where w found them
void kd_start_algebraic(const kd_system *s, double *w);
void kd_start_contacts(const kd_system *s, const kd_work *w, double *contact);

// start_carried.c: the start of a system in other coordinates than those of its joints
kd_status kd_start_by_joints(const kd_system *s, kd_state *x, char *message, size_t size) KD_NODISCARD;

#endif
