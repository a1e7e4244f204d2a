// results/postmortem.h: why a run failed, as text: the last good state, residuals there and one step ahead, directions
// in which the constraints are singular, who limited the steps, and the command that runs into it again.
#ifndef KD_RESULTS_POSTMORTEM_H
#define KD_RESULTS_POSTMORTEM_H

#include <kardan/eom.h>

typedef struct kd_postmortem {
    const char      *title;
    const kd_eom    *eom;
    const kd_inputs *inputs; // may be NULL
    const kd_state  *x;      // last good state
    const kd_state  *before; // an earlier one, when all was well; may be NULL
    double           h;      // step that was to follow, roughly; 0: none
    kd_status        status;
    const char      *message;     // what the integrator said
    const char      *explanation; // who limited the steps, lines; NULL: nothing is known
    const char      *replay;      // command; NULL: there is none
} kd_postmortem;

kd_status kd_postmortem_save(const kd_postmortem *facts, const char *path, char *message, size_t size) KD_NODISCARD;

#endif
