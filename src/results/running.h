// results/running.h: the table of a run while it goes on, so that a run that is killed leaves what it had found.
//
// Rows of a recording go to a file of their own (NAME.partial.csv) as they come: whole rows only, at least four times a
// second. It is a table like the final one, which takes its rows from it; then it is removed.
#ifndef KD_RESULTS_RUNNING_H
#define KD_RESULTS_RUNNING_H

#include "results/recording.h"

#include <stdio.h>

typedef struct kd_result  kd_result;
typedef struct kd_running kd_running;

// Open the file and write its head; another run that is writing to the same name makes it one with the number of the
// process. lazy: only a run that takes longer than a second leaves a file. now: any clock that does not go back [s].
// On failure *running is NULL and message says why.
kd_status kd_running_create(const kd_result *result, const char *path, bool lazy, double now, kd_running **running,
                            char *message, size_t size) KD_NODISCARD;
// Rows that the recording has got. Does not allocate. KD_ERR_FILE: they could not be written (kd_running_message); the
// file ends with the last row that could.
kd_status kd_running_follow(kd_running *running, double now) KD_NODISCARD;
// Append all rows of the recording, header line in front, to another file, called path in messages.
kd_status   kd_running_copy(kd_running *running, FILE *to, const char *path) KD_NODISCARD;
const char *kd_running_path(const kd_running *running); // "" as long as there is no file
const char *kd_running_message(const kd_running *running);
// Close, and remove the file unless it is to stay. NULL is fine.
void kd_running_destroy(kd_running *running, bool stays);

#endif
