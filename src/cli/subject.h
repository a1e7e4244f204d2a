// cli/subject.h: what a command works on: a model file or a built-in example, as equations of motion with a start.
#ifndef KD_CLI_SUBJECT_H
#define KD_CLI_SUBJECT_H

#include "cli/cli.h"

enum { KD_SUBJECT_NAME = 200, KD_SUBJECT_MESSAGE = 8000 };

typedef struct kd_subject {
    char        name[KD_SUBJECT_NAME]; // of result files: the example, or the model file without folder and ending
    const char *title, *about;         // about may be NULL
    const kd_example *example;         // NULL: a model file
    const kd_eom     *eom;
    kd_inputs         inputs;                      // eval NULL: none
    kd_state         *x;                           // the start
    kd_run_def        run;                         // as the file says, or as the example wants
    kd_eom           *own;                         // eom of an example
    char              message[KD_SUBJECT_MESSAGE]; // why it failed
} kd_subject;

// From the word on the command line. After a failure (false) the exit status is in *exit_status, and standard error has
// been told.
bool kd_subject_open(kd_subject *subject, const char *word, int *exit_status);
void kd_subject_close(kd_subject *subject); // what was opened, also in part

static inline const kd_inputs *kd_subject_inputs(const kd_subject *subject)
{
    return subject->inputs.eval ? &subject->inputs : NULL;
}

#endif
