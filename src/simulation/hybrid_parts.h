// simulation/hybrid_parts.h: the object of hybrid.h, for the files that it is made of: hybrid.c (instants), hybrid_look.c (when they come).
#ifndef KD_SIMULATION_HYBRID_PARTS_H
#define KD_SIMULATION_HYBRID_PARTS_H

#include "simulation/chatter.h"
#include "simulation/crossing.h"
#include "simulation/fits.h"
#include "simulation/hybrid.h"
#include "simulation/kick.h"
#include "simulation/limit.h"
#include "simulation/teller.h"

typedef enum kd_need {
    KD_NEED_NOTHING,
    KD_NEED_SOLVE,
    KD_NEED_PROJECT
} kd_need; // what a state lacks behind an instant, the more the larger

struct kd_hybrid {
    const kd_eom    *eom;
    kd_event_options opt;
    kd_dims          dims;
    kd_dense_motion  motion; // dense output of the last step
    void            *motion_context;
    kd_arena         arena;
    kd_state        *x;                       // of the simulation
    kd_state        *before;                  // limit from the left
    kd_state        *jump;                    // what an event writes to
    kd_state        *inside;                  // at times in a step
    kd_state        *end[2];                  // of a part of a step, for bounds
    double          *inputs;                  // (2 x 3 nu) of the ends
    kd_event_rows   *rows;                    // one-sided rows and dry friction; NULL: none
    kd_limit        *limit;                   // solves for what belongs to p, v, r
    kd_kick         *kick;                    // NULL: no function of time breaks
    unsigned char   *moving;                  // (nlambda + nmu) rows that a kick moves
    signed char     *kicked;                  // (functions of rows) those that follow
    kd_crossing      crossing;                // of the switching functions, then of the functions of rows
    signed char     *alone;                   // (nswitch) crossed, but for one function
    unsigned char   *seen;                    // functions that crossed at the last instants, for words on chattering
    double          *fall;                    // how fast functions fell in the last step
    double           next_break, next_sample; // [s] known in advance; infinity: none
    bool             pending, at_break, at_sample, has_crossed; // an instant is to be passed, and by what
    kd_need          need;                                      // what x lacks to be consistent
    bool             moved;                                     // an event changed p, v, r or rows
    bool             rows_changed;
    bool             smooth;          // p, v, r and the rows are those of before
    bool             stop;            // an event asked for the end
    double           from, tolerance; // start of the step of the last crossing, exactness of its time
    kd_chatter       chatter;         // events in quick succession
    kd_teller        teller;          // what is told about the present instant
    char             message[900];
};

// Where it failed, in the message; hands the status on
kd_status kd_hybrid_failed(kd_hybrid *self, kd_status status, const char *where) KD_NODISCARD;
double    kd_hybrid_ulps(double t, int n); // n units in the last place of t
// Breaks and samples that are due at a time
void kd_hybrid_find_due(kd_hybrid *self, double t);

#endif
