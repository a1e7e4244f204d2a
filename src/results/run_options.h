// results/run_options.h: what runs of a model without freedom need, for all that choose options of a run.
#ifndef KD_RESULTS_RUN_OPTIONS_H
#define KD_RESULTS_RUN_OPTIONS_H

#include <kardan/system.h>

// The largest step of a run over this duration, where nobody asks for one: a mechanism without freedom is driven, no
// error limits its steps, and one step might pass over everything that it does. 0: no limit, it has freedom
double kd_driven_step(const kd_system_info *info, double duration);

#endif
