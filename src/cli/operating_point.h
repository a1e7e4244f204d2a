// cli/operating_point.h: the linear equations of a model at its start or along its motion, with their modes.
#ifndef KD_CLI_OPERATING_POINT_H
#define KD_CLI_OPERATING_POINT_H

#include "cli/subject.h"

typedef struct kd_operating_point {
    kd_subject_request request;
    double             at;    // time to simulate to; NaN: the start
    bool               rest;  // the equilibrium is the start
    const char        *start; // file of the state to start from; NULL: the model's
    bool               descriptor;
    bool               few;   // few modes will do
    int                count; // modes that are wanted; 0: all
    double             near;  // those nearest to this frequency [Hz]
    kd_subject         subject;
    kd_linear         *linear; // NULL: few modes of a large model
    kd_modes          *modes;
    char               message[2000]; // news
} kd_operating_point;

// Options that say where, those of the subject included; returns their number.
enum { KD_OPERATING_POINT_OPTIONS = 3 + KD_SUBJECT_OPTIONS };
int kd_operating_point_options(kd_operating_point *point, kd_cli_option *options);

// Open the model, go to the time, linearise. false: standard error has been told, *exit_status is set.
bool kd_operating_point_open(kd_operating_point *point, int *exit_status);
// The same of a point that is open, with another value of a parameter that its request has set: the model is changed,
// or where that is not possible read again.
bool kd_operating_point_change(kd_operating_point *point, const char *name, double value, int *exit_status);
void kd_operating_point_close(kd_operating_point *point); // keeps the request

// Few modes are found without full matrices from this number of velocities on, and all of them are not offered beyond
// the second one.
enum { KD_FEW_MODES_FROM = 300, KD_ALL_MODES_TO = 1000, KD_FEW_MODES = 20 };

// "joint.hinge.q 1.00, joint.slider.q 0.25": what moves most in a mode, largest first, written to text, which is
// returned.
const char *kd_operating_point_moves_most(const kd_operating_point *point, int mode, char *text, size_t size);
// Members real, imaginary, frequency, damping.
void kd_cli_tell_modes(kd_json *json, const kd_modes *modes);

#endif
