// results/state_file.h: states in a file, to start from them again to the last bit: a table with one row per state and
// the columns t, p, v, r, w, s, lambda, mu, a, z and the flags of active rows.
#ifndef KD_RESULTS_STATE_FILE_H
#define KD_RESULTS_STATE_FILE_H

#include <kardan/eom.h>

// The states (count, times increasing) of equations of motion. title says what they are. KD_ERR_NOT_FINITE: a state
// holds NaN or infinity.
kd_status kd_state_file_save(const char *path, const char *title, const kd_eom *eom, const kd_state *const *states,
                             int count, char *message, size_t size) KD_NODISCARD;
// The last state not later than t (NaN: the last of all) into x; parameters (x->theta) stay. KD_ERR_FILE: no such file,
// not a table of states of these equations (message says which column differs), or no state that early; then x is
// unchanged. Angles that this system counts and the one of before did not are taken from the bodies; inputs (NULL: none)
// are those of the equations.
kd_status kd_state_file_load(const char *path, double t, const kd_eom *eom, const kd_inputs *inputs, kd_state *x,
                             char *message, size_t size) KD_NODISCARD;

#endif
