// foreign/continuous.h: foreign code with continuous states, which are states of the model: a unit of model exchange.
//
//     x' = f(t, x, u),  y = g(t, x, u),  indicators z(t, x, u)      between events of the unit
//
// What else it remembers changes at its events only. Such a part of its life is an epoch: how many events there were, and the time of
// the last one, which the model keeps in its discrete states. A unit goes on from its present epoch, begins anew with epoch 0, goes back
// to one that it could save, and refuses everything else in words. One run at a time can use it.
#ifndef KD_FOREIGN_CONTINUOUS_H
#define KD_FOREIGN_CONTINUOUS_H

#include "foreign/foreign.h"

typedef struct kd_continuous kd_continuous;

typedef struct kd_epoch {
    double count, t; // t: of its beginning; 0 of the first one
} kd_epoch;

// Where it is evaluated
typedef struct kd_unit_point {
    kd_epoch      epoch;
    double        t;
    const double *u, *x;
} kd_unit_point;

// What it answers there, until the next call
typedef struct kd_unit_values {
    const double *dx, *z, *y;
} kd_unit_values;

typedef struct kd_continuous_class {
    const char *(*state_name)(const kd_continuous *unit, int i);
    // Initialised at t with inputs u; x: its states. The same start again costs nothing
    kd_status (*start)(kd_continuous *unit, double t, const double *u, double *x);
    kd_status (*values)(kd_continuous *unit, const kd_unit_point *at, kd_unit_values *out);
    // Derivatives of (dx, y) by (x, u), column by column
    kd_status (*slopes)(kd_continuous *unit, const kd_unit_point *at, const double **J);
    // Time of the next event that is known; infinity
    kd_status (*next)(kd_continuous *unit, kd_epoch epoch, double *t);
    // A step has ended there: does it ask for an event?
    kd_status (*completed)(kd_continuous *unit, const kd_unit_point *at, bool *event);
    // Its event there: the epoch and the states x behind it. *stop: it asks for the end of the run
    kd_status (*event)(kd_continuous *unit, const kd_unit_point *at, kd_epoch *epoch, double *x, bool *stop);
    // Other parameters, from the next start on
    void (*change)(kd_continuous *unit, const double *parameter);
    void (*destroy)(kd_continuous *unit);
} kd_continuous_class;

// The object of a class begins with this
struct kd_continuous {
    const kd_continuous_class *class;
    int  nstates, nindicators, ninputs, noutputs;
    bool has_slopes; // of its own; otherwise differences are taken
    bool has_started;
    bool is_broken;                   // the last call failed
    char message[KD_FOREIGN_MESSAGE]; // why
};

// Files are read and names are found, nothing of it runs yet. fmi/fmu_continuous.c; the runtime refuses
kd_status kd_continuous_open(const kd_foreign_setup *setup, kd_continuous **unit, char *message,
                             size_t size) KD_NODISCARD;

#endif
