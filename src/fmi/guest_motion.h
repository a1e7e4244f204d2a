// fmi/guest_motion.h: the motion of an FMU for model exchange: states integrated, events located and passed.
#ifndef KD_FMI_GUEST_MOTION_H
#define KD_FMI_GUEST_MOTION_H

#include "fmi/guest.h"

typedef struct kd_guest_motion_options {
    double rtol;
    double step; // the scale of the motion: first step behind a start or event at most
    // Inputs of the time t are to be set, before all evaluations; may be NULL: they stay
    kd_status (*feed)(double t, kd_guest *guest, void *context);
    // On both sides of events; may be NULL
    kd_status (*show)(double t, kd_guest *guest, void *context);
    void *context;
} kd_guest_motion_options;

typedef struct kd_guest_motion_news {
    double t, next; // where it is, the next time event that is known
    long   steps, events;
    bool   stopped; // the FMU has asked for the end
} kd_guest_motion_news;

typedef struct kd_guest_motion kd_guest_motion;

// Of an FMU that has been initialised. kd_guest_message says why it failed.
kd_status kd_guest_motion_create(kd_guest *guest, const kd_guest_motion_options *opt, double t,
                                 kd_guest_motion **motion) KD_NODISCARD;
void      kd_guest_motion_destroy(kd_guest_motion *motion); // NULL is fine
// Steps up to a time, with errors below the tolerance
kd_status kd_guest_motion_to(kd_guest_motion *motion, double t_end) KD_NODISCARD;
// Inputs jump: `feed` of the options sets them in event mode
kd_status kd_guest_motion_jump(kd_guest_motion *motion) KD_NODISCARD;
// The end of such a jump, where inputs were set behind kd_guest_enter by others
kd_status            kd_guest_motion_settle(kd_guest_motion *motion) KD_NODISCARD;
kd_status            kd_guest_motion_save(kd_guest_motion *motion, int slot) KD_NODISCARD;
kd_status            kd_guest_motion_restore(kd_guest_motion *motion, int slot) KD_NODISCARD;
kd_guest_motion_news kd_guest_motion_about(const kd_guest_motion *motion);

#endif
