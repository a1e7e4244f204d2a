// vehicle_gallery.h: models of the gallery simulated as their files say, with their sensors.
#ifndef KD_BENCH_VEHICLE_GALLERY_H
#define KD_BENCH_VEHICLE_GALLERY_H

#include "common_run.h"
#include "vehicle.h"

enum { VEHICLE_SENSORS = 40, VEHICLE_TIMES = 201 };

// A model of the gallery simulated as its file says; sensors at equal times, the start among them
typedef struct vehicle_run {
    kd_status status;
    double    t, seconds; // reached, thread CPU time
    long      steps;
    int       rows, columns;
    char      name[VEHICLE_SENSORS][48];
    double    value[VEHICLE_TIMES][VEHICLE_SENSORS];
    char      message[200];
} vehicle_run;

// settings: "NAME=VALUE NAME=VALUE"
void   vehicle_simulate(const char *model, const char *settings, double t_end, int intervals, vehicle_run *out);
double vehicle_sensor(const vehicle_run *run, int row, const char *sensor); // row -1: the last; NaN: none

#endif
