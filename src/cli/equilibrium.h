// cli/equilibrium.h: the equilibrium of a subject as its start, in words and in a file.
#ifndef KD_CLI_EQUILIBRIUM_H
#define KD_CLI_EQUILIBRIUM_H

#include "cli/subject.h"

// Which one-sided rows of the start hold, and which friction sticks; samples are not made. message: why it fails
kd_status kd_cli_settle(kd_subject *subject, char *message, size_t size) KD_NODISCARD;
// A line about the equilibrium that is the start, and about controllers whose outputs are held, if there are any
void kd_cli_tell_held(const kd_subject *subject);
// The equilibrium becomes the start of the subject, with keep_motion that of a start that moves. message: what was
// found, or why not.
kd_status kd_cli_rest(kd_subject *subject, bool stable, bool keep_motion, kd_equilibrium_result *result, char *message,
                      size_t size) KD_NODISCARD;
// Is a law used at the state of the subject where it no longer holds? text says which; a line that warns of it
bool kd_cli_caution(const kd_subject *subject, char *text, size_t size);
void kd_cli_tell_caution(const kd_subject *subject);
// DIR/NAME.ENDING.state.csv; false: standard error has been told.
bool kd_cli_save_state(const kd_subject *subject, const char *folder, const char *ending, char *path, size_t size);
void kd_cli_tell_rest(const kd_subject *subject, const double *before); // positions (np) of the start
void kd_cli_tell_motion_json(kd_json *json, const kd_subject *subject, const kd_equilibrium_result *result);
void kd_cli_tell_rest_json(kd_json *json, const kd_subject *subject, const kd_equilibrium_result *result);

#endif
