// simulation/chatter.h: events that follow each other without end.
#ifndef KD_SIMULATION_CHATTER_H
#define KD_SIMULATION_CHATTER_H

#include <kardan/simulation.h>

typedef struct kd_chatter {
    long   most;     // events in quick succession that are permitted
    double quick;    // relative to the time
    double last;     // time of the last events
    double gap;      // between them and those before
    long   count;    // events since a step of some length
    int    repeated; // the same function again, at hardly another time
    int    function; // which
} kd_chatter;

void kd_chatter_begin(kd_chatter *self, const kd_event_options *opt);
// Events at time t, the first of them of a function. false: too many, one after the other
bool kd_chatter_add(kd_chatter *self, double t, int function) KD_NODISCARD;
// The time in which they came
double kd_chatter_time(const kd_chatter *self);
// Where a step from the last events has to end: as far as dense output has digits left for the next one.
double kd_chatter_target(const kd_chatter *self, double t, double target);

#endif
