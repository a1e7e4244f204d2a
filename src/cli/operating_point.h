// cli/operating_point.h: the linear equations of a model at its start or along its motion, with their modes.
#ifndef KD_CLI_OPERATING_POINT_H
#define KD_CLI_OPERATING_POINT_H

#include "cli/subject.h"

typedef struct kd_operating_point {
    kd_subject_request request;
    double             at; // time to simulate to; NaN: the start
    bool               descriptor;
    kd_subject         subject;
    kd_linear         *linear;
    kd_modes          *modes;
    char               message[2000]; // news
} kd_operating_point;

// Open the model, go to the time, linearise. false: standard error has been told, *exit_status is set.
bool kd_operating_point_open(kd_operating_point *point, int *exit_status);
void kd_operating_point_close(kd_operating_point *point); // keeps the request

#endif
