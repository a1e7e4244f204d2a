// results/recorder.h: a recorder as the report and the command line see it.
#ifndef KD_RESULTS_RECORDER_H
#define KD_RESULTS_RECORDER_H

#include <kardan/results.h>

#include "results/result.h"

// Attach without output function: the caller's own calls kd_recorder_see.
kd_status kd_recorder_prepare(kd_recorder *recorder, kd_simulation_options *options, double t_start,
                              double t_end) KD_NODISCARD;
// The caller's output function asks the run to stop.
void kd_recorder_stop(kd_recorder *recorder);

const kd_system *kd_recorder_system(const kd_recorder *recorder); // NULL: equations written in C
kd_probe        *kd_recorder_probe(const kd_recorder *recorder);  // set to any state
kd_recording    *kd_recorder_recording(const kd_recorder *recorder);
kd_event_log    *kd_recorder_events(const kd_recorder *recorder); // NULL: the equations have none
bool             kd_recorder_draws(const kd_recorder *recorder);
// Is there anything to be written to path? false: message says that there is not
bool kd_recorder_has_rows(const kd_recorder *recorder, const char *path, char *message, size_t size);
// All that is known of the run; it points into the recorder. Without drawing.
kd_result kd_recorder_result(const kd_recorder *recorder);

#endif
