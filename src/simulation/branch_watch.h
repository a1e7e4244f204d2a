// simulation/branch_watch.h: do auxiliary variables stay on the solution of their equations that they started on?
#ifndef KD_SIMULATION_BRANCH_WATCH_H
#define KD_SIMULATION_BRANCH_WATCH_H

#include <kardan/eom.h>

typedef struct kd_branch_watch kd_branch_watch;

// *watch is NULL without auxiliary variables, where their equations do not change with the motion, and with more of them
// than can be watched at the price of a step. inputs are copied; data is moved by each look, and must outlive it.
kd_status kd_branch_watch_create(kd_eom_data *data, const kd_inputs *inputs, kd_branch_watch **watch);
void      kd_branch_watch_destroy(kd_branch_watch *watch);                // NULL is fine
void      kd_branch_watch_archive(kd_branch_watch *watch, kd_archive *a); // save or restore
// From here on: KD_OK, or KD_ERR_CALLBACK_STOP. Does not allocate.
kd_status kd_branch_watch_start(kd_branch_watch *watch, const kd_state *x, char *message, size_t size);
// The end of an accepted step: KD_OK, KD_ERR_CALLBACK_STOP, or KD_ERR_SINGULAR_DW with the reason in message. Does not
// allocate.
kd_status kd_branch_watch_look(kd_branch_watch *watch, const kd_state *x, char *message, size_t size);

#endif
