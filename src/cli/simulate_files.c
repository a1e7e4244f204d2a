// simulate_files.c: what a run leaves on disk: results, report, pictures, post-mortem, last state.
#include <math.h>
#include <stdio.h>

#include "cli/saved.h"
#include "cli/simulate_task.h"
#include "core/text.h"
#include "results/postmortem.h"
#include "results/state_file.h"

// a run that failed at once has no poses
bool kd_simulate_has_picture(const kd_simulate_task *t)
{
    return t->drawing && kd_drawing_length(t->drawing) > 0;
}

// in this order: data before pictures
static kd_status write_files(kd_simulate_task *t, char *message, size_t size)
{
    kd_result_setting settings[KD_SIMULATE_SETTINGS + KD_CLI_LONGEST_LIST];
    const kd_result   result = kd_simulate_result(t, settings);
    kd_status         status = KD_OK;
    // table, HDF5, events, report, plots, picture, cross-check, pictures of the Jacobian
    if (t->with_csv) status = kd_result_save_csv(&result, t->csv, message, size);
    if (status >= 0 && t->with_hdf5) status = kd_result_save_hdf5(&result, t->hdf5, message, size);
    if (status >= 0 && t->with_mat) status = kd_result_save_mat(&result, t->mat, message, size);
    if (status >= 0) status = kd_cli_events_save(&t->events, t->subject.title, message, size);
    if (status >= 0) status = kd_report_save(&result, t->html, message, size);
    if (status >= 0) status = kd_report_save_svg(&result, t->svg, message, size);
    if (status >= 0 && kd_simulate_has_picture(t))
        status = kd_drawing_save_svg(t->drawing, t->subject.title, t->picture, message, size);
    if (status >= 0 && t->cross.done) status = kd_cross_save(&t->cross, t->subject.title, t->crossed, message, size);
    if (status >= 0 && t->instants) {
        const kd_jacobian jacobian = {kd_simulation_dae(t->simulation),
                                      t->subject.title,
                                      t->jacobian_plots,
                                      t->subject.name,
                                      t->instants,
                                      t->recording};
        status = kd_jacobian_save(&jacobian, message, size);
    }
    return status;
}

// Write what was computed, also by a run that failed. A failure to write is the status of a run that went well, and one
// more sentence of one that did not.
bool kd_simulate_write_results(kd_simulate_task *t)
{
    char      problem[KD_SIMULATE_MESSAGE_SIZE] = "";
    kd_status status = write_files(t, problem, sizeof problem);
    // the partial table stays where the whole one could not be written
    const bool stays = status < 0 && t->running && kd_running_path(t->running)[0];
    if (stays) kd_text_append(problem, sizeof problem, "; rows so far: %s", kd_running_path(t->running));
    kd_running_destroy(t->running, stays);
    t->running = NULL;
    if (status >= 0) return true;
    // the first failure is the one that matters
    if (t->status < 0) {
        kd_text_append(t->message, sizeof t->message, "%s%s", t->message[0] ? "; " : "", problem);
    } else {
        t->status = status;
        kd_text(t->message, sizeof t->message, "%s", problem);
    }
    return false;
}

// What can be said about a run that failed, in a file of its own
void kd_simulate_write_postmortem(kd_simulate_task *t)
{
    static char     words[KD_SIMULATE_EXPLANATION_SIZE]; // large
    char            problem[KD_SIMULATE_MESSAGE_SIZE] = "";
    double          from;
    const kd_stats *stats = &t->certificate.stats;
    // a file that cannot be written needs no post-mortem of the motion
    if (t->status >= 0 || t->status == KD_ERR_FILE || !t->replay) return;
    kd_explanation_describe(&t->explanation, words, sizeof words);
    // states of the last second, and the command that starts from them
    if (t->simulation &&
        kd_replay_save(t->replay, t->subject.x, t->subject.title, t->states, &from, problem, sizeof problem) >= 0)
        kd_replay_command(
            &(kd_replay_words){"simulate", "--t-end", t->argc, t->argv, t->folder, t->states, from, t->t_end},
            t->command, sizeof t->command);
    const kd_postmortem facts = {
        .title = t->subject.title,
        .eom = t->subject.eom,
        .inputs = kd_subject_inputs(&t->subject),
        .x = kd_replay_good(t->replay, t->subject.x),
        .before = kd_replay_oldest(t->replay),
        // a step that shrank to nothing says little: at least a tenth of the usual one
        .h = fmax(stats->h_last, 0.1 * t->explanation.h_typical),
        .status = t->status,
        .message = t->message,
        .explanation = t->explanation.attempts > 0 ? words : NULL,
        .replay = t->command[0] ? t->command : NULL,
    };
    t->has_postmortem = kd_postmortem_save(&facts, t->postmortem, problem, sizeof problem) >= 0;
    if (problem[0]) kd_text_append(t->message, sizeof t->message, "%s%s", t->message[0] ? "; " : "", problem);
}

// The end of a good run, to go on from
bool kd_simulate_write_last_state(const kd_simulate_task *t)
{
    const kd_state *states[] = {t->subject.x};
    char            message[KD_SIMULATE_MESSAGE_SIZE] = "";
    if (!t->write_state || t->status < 0 || t->status == KD_STOPPED || !kd_cli_is_state_table(t->write_state))
        return true;
    if (kd_state_file_save(t->write_state, t->subject.title, t->subject.eom, states, 1, message, sizeof message) >= 0)
        return true;
    fprintf(stderr, "kardan: --write-state: %s\n", message);
    return false;
}
