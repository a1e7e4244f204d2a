// cli/replay.h: starting a run again shortly before its end: states kept on the way, and the command that starts from
// one of them.
#ifndef KD_CLI_REPLAY_H
#define KD_CLI_REPLAY_H

#include <kardan/eom.h>

typedef struct kd_replay kd_replay;

// eom must outlive it. On failure *replay is NULL.
kd_status kd_replay_create(const kd_eom *eom, kd_replay **replay) KD_NODISCARD;
void      kd_replay_destroy(kd_replay *replay); // NULL is fine
// An accepted state; one with NaN or infinity is passed over. Keeps one about every half second of the motion, the
// latest few of them. Does not allocate.
void kd_replay_see(kd_replay *replay, const kd_state *x);
// The oldest state that is kept; NULL: none.
const kd_state *kd_replay_oldest(const kd_replay *replay);
// The state that a run can start from again: the last one, or if that one blew up the newest one that is kept.
const kd_state *kd_replay_good(const kd_replay *replay, const kd_state *last);
// Write the states that were kept, and last if it is good, to a file of results/state_file.h; *from is the time of the
// latest one that lies a second before last (or of the first one).
kd_status kd_replay_save(const kd_replay *replay, const kd_state *last, const char *title, const char *path,
                         double *from, char *message, size_t size) KD_NODISCARD;
// A command that replays the end of a run: "kardan simulate ARGUMENT...", quoted for the shell, without what says where
// a run starts and ends, and with that of the replay, whose results go to a folder inside folder.
typedef struct kd_replay_words {
    const char *command;    // "simulate"
    const char *end_option; // "--t-end"
    int         argc;       // behind the name of the command
    char      **argv;
    const char *folder, *states; // of the results; file of the states
    double      from, end;       // [s] time of the state to start from; value of end_option
} kd_replay_words;
void kd_replay_command(const kd_replay_words *words, char *text, size_t size);

#endif
