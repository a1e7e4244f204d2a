// cli/live_run.h: what moves a live model: the integrator that kardan simulate would take, or the stepper of kardan realtime.
#ifndef KD_CLI_LIVE_RUN_H
#define KD_CLI_LIVE_RUN_H

#include <kardan/realtime.h>
#include <kardan/simulation.h>

typedef struct kd_live_run {
    kd_simulation   *simulation; // one of the two; neither: nothing runs
    kd_realtime     *stepper;
    const kd_eom    *eom;
    const kd_inputs *inputs;
    kd_state        *x;        // where it is
    double           h;        // step of the stepper [s]
    double           owed;     // time that is shorter than a step
    bool            *external; // (nu) none: inputs come from the model and from who holds them
    bool             late;     // the last piece was not done in time
    char             message[1000];
} kd_live_run;

// From x on, which is moved. step 0: as options say, otherwise by steps of that length [s]. On failure nothing runs.
kd_status kd_live_run_make(kd_live_run *run, const kd_eom *eom, const kd_inputs *inputs,
                           const kd_simulation_options *options, double step, kd_state *x, char *message,
                           size_t size) KD_NODISCARD;
void      kd_live_run_drop(kd_live_run *run);
bool      kd_live_run_is_made(const kd_live_run *run);
// So much further; not beyond the deadline (kd_cli_seconds). Of an integrator its output function looks after that. KD_STOPPED as of the two.
kd_status kd_live_run_by(kd_live_run *run, double seconds, double deadline) KD_NODISCARD;
// Equations, or positions that inputs prescribe, have changed; resume: forces only.
kd_status   kd_live_run_restart(kd_live_run *run) KD_NODISCARD;
kd_status   kd_live_run_resume(kd_live_run *run) KD_NODISCARD;
const char *kd_live_run_message(const kd_live_run *run);

#endif
