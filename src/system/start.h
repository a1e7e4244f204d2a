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

// positions and velocities of the start alone, of a system in joint coordinates: forces are not solved for.
// point, here and below: an evaluation point of s->eom to work at; NULL: one for the call
kd_status kd_system_start_motion(const kd_system *s, kd_eom_data *point, kd_state *x, char *message,
                                 size_t size) KD_NODISCARD;
// the start x that was found when the system was made serves once more, unless free lengths were set by it
kd_status kd_system_adopt_start(kd_system *s, kd_eom_data *point, const kd_state *x, kd_status status,
                                const char *news) KD_NODISCARD;

#endif
