// cli/realtime.h: the parts of kardan realtime: what was asked for, what runs, what came out.
#ifndef KD_CLI_REALTIME_H
#define KD_CLI_REALTIME_H

#include "cli/channels.h"
#include "cli/pace.h"
#include "cli/replay.h"
#include "core/timing.h"
#include "drawing/drawing.h"
#include "realtime/bound.h"
#include "report/svg.h"
#include "results/result.h"

struct kd_realtime_line; // to a controller
enum { KD_REALTIME_PATH = 4096, KD_REALTIME_MESSAGE = 1600, KD_REALTIME_WORDS = 400 };

// A quantity that is looked at from time to time: its largest value and the last one.
typedef struct kd_watched {
    double most, most_at, last;
} kd_watched;

typedef struct kd_realtime_task {
    // as asked for
    kd_subject_request request;
    kd_plot_channels   channels;
    const char        *folder, *start_state;
    const char        *write_state, *go_on; // files of the stepper at the end and at the start; NULL: none
    const char        *jacobian, *stabilisation, *projector, *stiff, *forces; // words; NULL: the default
    double             duration, from, max_misses; // < 0: the model's; NaN: the last one; NaN: any
    int                index, intervals, priority, check_every;
    bool               fast, bound, quiet, json, no_drawing, plain;
    int                argc; // the words themselves, for the replay
    char             **argv;
    double             port, timeout, patience; // NaN: nobody takes part; [s] for an answer, for a controller to appear
    int                give_up, max_wrong;      // answers in a row that are missing, that are no numbers
    const char        *key;                     // file; NULL: none
    // while it runs
    kd_realtime_options      options;
    kd_subject               subject;
    kd_realtime             *stepper;
    kd_state                *start;                  // that was read; NULL: the model's
    kd_saved                *saved;                  // stepper that was read; NULL: none
    bool                    *external;               // (nu) inputs that come from a controller
    double                  *outputs;                // (ny)
    double                  *inputs;                 // (nu) for the next step
    double                  *applied, *applied_rate; // (nu) of the last one
    struct kd_realtime_line *line;                   // NULL: nobody takes part
    kd_inputs                held;                   // inputs as they are applied
    kd_probe                *probe;                  // reads the states of the samples
    kd_certifier            *certifier;
    kd_recording            *recording;
    kd_drawing              *drawing; // NULL: none
    kd_replay               *replay;
    kd_progress              progress;
    kd_pace                  pace;
    long                     nsteps;
    int                      nsampled;                // outputs so far
    long                     due;                     // step with the next one
    double                   check_cost, sample_cost; // [s] of looking at a state, at present
    double                  *peak_time, *peak;        // (intervals + 2) largest cost of a step up to each output [s]
    double                   peak_now;                // since the last one
    kd_energies              power;                   // at the last state that was looked at
    double                   checked_at;              // its time
    // what came out
    kd_status          status;
    kd_timing          cost, lateness; // of the steps; of their starts
    long               misses;
    double             first_miss; // [s] end of the first step that was late
    double             wall_seconds;
    long               checks; // states that were looked at
    kd_watched         position, velocity, auxiliary, balance;
    kd_realtime_bound *below;    // of the position error; NULL: none
    bool               exploded; // positions or velocities grew beyond all bounds
    bool               has_energy;
    double             energy_start, energy_end, dissipated, supplied; // [J]
    double             energy_scale;                                   // [J] largest of kinetic energy and work done
    bool               ended;                                          // by an event of the model
    char               method[KD_REALTIME_WORDS];
    char               message[KD_REALTIME_MESSAGE], news[KD_REALTIME_MESSAGE];
    char               command[2 * KD_REALTIME_PATH]; // that replays the last second of a run that failed; "": none
    bool               has_postmortem;
    char               csv[KD_REALTIME_PATH], html[KD_REALTIME_PATH], svg[KD_REALTIME_PATH];
    char               postmortem[KD_REALTIME_PATH], states[KD_REALTIME_PATH];
} kd_realtime_task;

// ---- saved steppers (realtime_saved.c) ------------------------------------------------------------------------------
bool      kd_realtime_saved_read(kd_realtime_task *task);  // --continue; false: told on standard error
kd_status kd_realtime_saved_go_on(kd_realtime_task *task); // by the stepper, when it is made
kd_status kd_realtime_saved_write(kd_realtime_task *task); // --write-state

// ---- what came out (realtime_outcome.c) -----------------------------------------------------------------------------
// Table, report and plots. A failure to write is the status of a run that went well, and one more sentence of one that
// did not; then false.
bool        kd_realtime_write(kd_realtime_task *task);
void        kd_realtime_write_postmortem(kd_realtime_task *task);
void        kd_realtime_tell(const kd_realtime_task *task, bool written);      // on standard output, in words
void        kd_realtime_tell_json(const kd_realtime_task *task, bool written); // the same as one object
const char *kd_realtime_advice(const kd_realtime_task *task);                  // what to try after a failure; ""

// ---- a controller in another program (realtime_listen.c) ------------------------------------------------------------
// Wait for one, find its ports, mark its inputs as external. KD_ERR_CONNECTION: nobody came, or a port is unknown.
kd_status kd_realtime_listen(kd_realtime_task *task) KD_NODISCARD;
// Outputs of step n (from 1) to the controller, inputs from it, for which there is so much time. KD_ERR_CONNECTION:
// lost.
kd_status kd_realtime_exchange(kd_realtime_task *task, long n, double seconds) KD_NODISCARD;
typedef struct kd_realtime_answers {
    long in_time, missing, too_late;
    long wrong;                    // not finite: held
    long strange, forged, refused; // datagrams of others, without the key; hellos that did not fit
} kd_realtime_answers;
kd_realtime_answers kd_realtime_answers_of(const kd_realtime_task *task);
void                kd_realtime_hang_up(kd_realtime_task *task); // goodbye; fine without a controller

// ---- the bound of a step (realtime_bound.c) -------------------------------------------------------------------------
void kd_realtime_tell_bound(const kd_realtime_task *task);

#endif
