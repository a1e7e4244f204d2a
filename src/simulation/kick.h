// simulation/kick.h: where a prescribed velocity jumps, momentum decides what everything else does.
#ifndef KD_SIMULATION_KICK_H
#define KD_SIMULATION_KICK_H

#include <kardan/simulation.h>

#include "point/acceleration.h"
#include "simulation/teller.h"

typedef struct kd_kick kd_kick;

// acceleration: of the state of the simulation; it stays the caller's.
kd_status kd_kick_create(const kd_eom *eom, kd_acceleration *acceleration, kd_kick **kick) KD_NODISCARD;
void      kd_kick_destroy(kd_kick *self);                // NULL is fine
void      kd_kick_archive(kd_kick *self, kd_archive *a); // save or restore
int       kd_kick_room(const kd_eom *eom);               // events that one instant can have
// What time prescribes at the limit from the left.
kd_status kd_kick_before(kd_kick *self, const kd_state *x) KD_NODISCARD;
// x has the time of the limit from the right, and p, v of the left: v jumps. One-sided rows and dry friction take no
// part; those that hold in x, but move now, are marked in moving (nlambda + nmu). Jumps are told.
// KD_ERR_POSITION_JUMP: a prescribed position jumps, which no force can do
kd_status   kd_kick_make(kd_kick *self, kd_state *x, unsigned char *moving, kd_teller *teller) KD_NODISCARD;
const char *kd_kick_message(const kd_kick *self); // why it failed

#endif
