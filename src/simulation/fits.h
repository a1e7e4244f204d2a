// fits.h: methods that were left open, in part or as a whole.
#ifndef KD_SIMULATION_FITS_H
#define KD_SIMULATION_FITS_H

#include <kardan/simulation.h>

bool kd_method_is_open(const kd_simulation_options *opt);

#endif
