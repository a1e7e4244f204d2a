// fits.h: methods that were left open as a whole: chosen for the equations, they may change on the way.
#ifndef KD_SIMULATION_FITS_H
#define KD_SIMULATION_FITS_H

#include <kardan/simulation.h>

bool kd_method_is_free(const kd_simulation_options *opt);
void kd_method_free(kd_simulation_options *opt);

#endif
