// cli/live.h: a model that runs along with a clock while somebody turns its parameters and inputs and pulls its bodies.
//
// It is simulated by the integrator that kardan simulate would take, in pieces of one picture. A change of a parameter
// starts the integrator afresh from the present state, made consistent; one of an input or of the place that a body is
// pulled to lets it go on. A body is pulled by a spring (cli/pull.h), which is part of the model while the body is
// held.
#ifndef KD_CLI_LIVE_H
#define KD_CLI_LIVE_H

#include "cli/live_message.h"
#include "cli/subject.h"

typedef struct kd_live kd_live;

// Read the model and stand at its start. folder: where states are saved. step: of the real-time stepper [s]; 0: as kardan simulate runs it. After a failure *live is NULL and message says
// why, for a wrong file with its lines; standard error has been told, too.
kd_status kd_live_open(const kd_subject_request *request, const char *folder, double step, kd_live **live,
                       char *message, size_t size) KD_NODISCARD;
void      kd_live_close(kd_live *live); // NULL is fine

// Do what a page asked for. What came of it, if there is something to say, is in kd_live_note.
void kd_live_obey(kd_live *live, const kd_live_message *message);
// Go on by so much of the clock, if it runs: not longer than `budget` seconds of computing. true: something has moved.
bool kd_live_advance(kd_live *live, double seconds, double budget);
// Files that parts of the model came from, without the model's own; their names stay the model's. Returns how many there are,
// at most `room`.
int kd_live_files(const kd_live *live, const char **file, int room);
// Go on as the other one did: running or not, at its speed.
void kd_live_go_on_as(kd_live *live, const kd_live *other);

// ---- what a page is told: text in JSON, for free(); NULL: no memory -------------------------------------------------
// The mechanism, its parameters, inputs and channels. `generation` is in the frames that fit it.
char *kd_live_scene(kd_live *live, unsigned generation, size_t *length);
char *kd_live_certificate(kd_live *live, size_t *length);
// An object with a text: {"kind": "fault", "text": ...}
char *kd_live_words(const char *kind, const char *text, size_t *length);
// Numbers of the present state, little-endian doubles: generation, t, pace, running, poses (7 each), channels. Valid
// until the next call.
const double *kd_live_frame(kd_live *live, unsigned generation, size_t *count);

// News for people since the last call, "" if there is none; is_fault: something went wrong.
const char *kd_live_note(kd_live *live, bool *is_fault);
// Has the mechanism changed (a parameter), so that pages need its scene again? Asked once.
bool kd_live_is_changed(kd_live *live);

#endif
