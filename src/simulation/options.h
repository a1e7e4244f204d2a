// simulation/options.h: checks of all options of a simulation.
#ifndef KD_SIMULATION_OPTIONS_H
#define KD_SIMULATION_OPTIONS_H

#include <kardan/simulation.h>

// Were all structures made by their default functions? Otherwise KD_ERR_ARGUMENT, by name; those of start and events
// within their ranges (the others are checked by who takes them).
kd_status kd_simulation_check_options(const kd_simulation_options *opt, char *message, size_t size) KD_NODISCARD;

// The first option whose values in both differ, of those whose names do not begin with one of these (up to NULL); NULL: none
const kd_option *kd_options_difference(const kd_simulation_options *a, const kd_simulation_options *b,
                                       const char *const *without);

#endif
