// cli/saved.h: runs that are saved on the way and go on later: --write-state, --write-every, --continue.
#ifndef KD_CLI_SAVED_H
#define KD_CLI_SAVED_H

#include <kardan/kardan.h>

#include "cli/subject.h"

// Model and parameters that a saved run belongs to, as a part of it.
kd_status kd_cli_saved_mark(kd_saved *saved, const kd_subject *subject, const kd_subject_request *request) KD_NODISCARD;
// Is it a run of this model with these parameters? KD_ERR_SAVED: no, message says why.
kd_status kd_cli_saved_check(const kd_saved *saved, const kd_subject *subject, const kd_subject_request *request,
                             char *message, size_t size) KD_NODISCARD;
// Does the file keep a single state as a table (for --start-state), not a whole run?
bool kd_cli_is_state_table(const char *path);

#endif
