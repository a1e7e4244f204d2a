// simulate_task.h: kardan simulate: what was asked for, the run, what came out; shared by simulate*.c.
#ifndef KD_CLI_SIMULATE_TASK_H
#define KD_CLI_SIMULATE_TASK_H

#include "cli/channels.h"
#include "cli/cross.h"
#include "cli/events.h"
#include "cli/hot_spots.h"
#include "cli/jacobian.h"
#include "cli/method.h"
#include "cli/replay.h"
#include "cli/subject.h"
#include "drawing/drawing.h"
#include "report/beside.h"
#include "report/report.h"
#include "results/recorder.h"
#include "results/running.h"

// sizes of texts and lists
enum {
    KD_SIMULATE_PATH_SIZE = 4096,
    KD_SIMULATE_MESSAGE_SIZE = 2000,
    KD_SIMULATE_CERTIFICATE_SIZE = 32000,
    KD_SIMULATE_EXPLANATION_SIZE = 16000,
    KD_SIMULATE_COMMAND_SIZE = 8192,
    KD_SIMULATE_SETTINGS = 26,
};

typedef struct kd_simulate_task {
    // as asked for
    kd_subject_request  request;
    const char         *folder, *format;
    const char         *jacobian_plots;       // folder; NULL: none
    double              t_end;                // < 0: the model's
    double              max_step;             // 0: no limit
    int                 intervals, max_steps; // 0: the model's; as many as it takes
    const char         *start_state;          // file; NULL: the model's start
    const char         *beside_path;          // report; NULL: none
    double              from;                 // [s] state of that file; NaN: its last one
    bool                from_equilibrium;     // start at rest
    bool                quiet, json, stats, no_drawing, plain, explain, cross_check, no_verify, must_be_clean;
    kd_verification     verification;
    int                 argc; // the words themselves, for the replay
    char              **argv;
    kd_limits           limits;           // NaN: the model's
    const char         *certificate_kind; // word; NULL: as the options say
    kd_certificate_kind kind;
    kd_method           method;
    bool                with_csv, with_hdf5, with_mat;
    const char         *write_state; // file for the last state of a good run (.csv) or for the whole run; NULL: none
    double              write_every; // [s] of the motion, from time to time as well; 0: at the end only
    const char         *go_on;       // file of a saved run that goes on; NULL: none
    double              port;        // of a controller outside; NaN: there is none
    double              macro_step, patience; // [s] between two exchanges with it; until it comes or answers
    const char         *key;                  // file that both share; NULL: none
    // while it runs
    double                   next_write; // [s] when it is to be written next
    bool                     pausing;    // it stands still to be written
    bool                     unwritten;  // that failed
    kd_subject               subject;
    struct kd_simulate_line *line;      // to that controller; NULL: there is none
    kd_recorder             *recorder;  // sees all states that the simulation shows
    kd_recording            *recording; // its rows
    kd_drawing              *drawing;   // NULL: none
    kd_simulation           *simulation;
    kd_beside               *beside;       // that report's run
    kd_explainer            *explainer[2]; // of the first method and of another that the run has changed to; NULL: none
    const kd_dae            *heard;        // the form that the first one listens to
    kd_instants             *instants;     // NULL: not wanted
    kd_replay               *replay;
    kd_running              *running; // the table so far; NULL: the run has not begun
    kd_cli_events            events;
    kd_cross                 cross;
    kd_progress              progress;
    kd_status                followed; // first failure of the file of rows or the cross-check
    long                     steps;
    kd_plot_channels         channels; // of the report
    // what came out
    kd_status        status; // of all, files included
    kd_certificate   certificate;
    kd_cli_hot_spots hot_spots; // of flexible bodies with stress
    double           reference_error;
    kd_explanation   explanation;
    char             advice[400];                       // a cheaper method; "": none is known
    char             command[KD_SIMULATE_COMMAND_SIZE]; // that replays the last second of a run that failed; "": none
    bool             has_postmortem;
    char             message[KD_SIMULATE_MESSAGE_SIZE], broken[KD_SIMULATE_MESSAGE_SIZE];
    kd_clean         verdict;
    const char     **warnings; // of the model
    int              nwarnings;
    char             method_value[9][40], options[2000];
    char             number[5][40], set_name[KD_CLI_LONGEST_LIST][100];
    char             csv[KD_SIMULATE_PATH_SIZE], hdf5[KD_SIMULATE_PATH_SIZE], mat[KD_SIMULATE_PATH_SIZE],
        html[KD_SIMULATE_PATH_SIZE], svg[KD_SIMULATE_PATH_SIZE], picture[KD_SIMULATE_PATH_SIZE];
    char postmortem[KD_SIMULATE_PATH_SIZE], states[KD_SIMULATE_PATH_SIZE], crossed[KD_SIMULATE_PATH_SIZE],
        partial[KD_SIMULATE_PATH_SIZE];
} kd_simulate_task;

// simulate.c: the run as files describe it; settings has room for KD_SIMULATE_SETTINGS + KD_CLI_LONGEST_LIST
kd_result kd_simulate_result(kd_simulate_task *t, kd_result_setting *settings);

// simulate_listen.c: wait for a controller outside, whose words are inputs from then on; run with it; say goodbye
kd_status kd_simulate_listen(kd_simulate_task *t);
kd_status kd_simulate_run_listening(kd_simulate_task *t);
void      kd_simulate_hang_up(kd_simulate_task *t);

// simulate_files.c
bool kd_simulate_has_picture(const kd_simulate_task *t);
bool kd_simulate_write_results(kd_simulate_task *t); // what was computed, also by a run that failed
void kd_simulate_write_postmortem(kd_simulate_task *t);
bool kd_simulate_write_last_state(const kd_simulate_task *t);

// simulate_tell.c
bool kd_simulate_is_unclean(const kd_simulate_task *t);
void kd_simulate_tell_words(const kd_simulate_task *t, bool written);
void kd_simulate_tell_json(const kd_simulate_task *t, bool written);

#endif
