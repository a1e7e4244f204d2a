// simulation/rows_internal.h: the insides of kd_event_rows, shared by rows_of_events.c and settle.c.
#ifndef KD_SIMULATION_ROWS_INTERNAL_H
#define KD_SIMULATION_ROWS_INTERNAL_H

#include "core/memory.h"
#include "point/acceleration.h"
#include "simulation/rows_of_events.h"

// Rows that may open or slide. At an instant everything is tried on the copy x, which becomes the state at the end.
struct kd_event_rows {
    kd_arena         arena;
    const kd_eom    *eom;
    kd_dims          dims;
    double           rest;       // [s] options.rest: shorter flights are none
    double           rtol, atol; // of the velocities
    bool             natural;    // atol in natural units
    int              none_sided, nfriction;
    int             *one_sided, *friction; // rows of lambda, of mu; of a plane of friction the first
    kd_state        *x;                    // on trial: solver has its rows and z
    kd_acceleration *solver;
    double          *g, *gI, *gII, *h, *hI, *limit; // (nlambda), (nmu) levels, breakaway forces
    double          *noise;                         // (nmu) errors that the tolerances admit in h
    double          *met;                           // (nlambda) gI before the first impact
    double          *force, *v;                     // (nv)
    unsigned char   *hit, *struck, *holds, *leaves; // hit now, hit at this instant, rows of h in an impact, crossed
    unsigned char   *lifted;                        // held until this impact
    unsigned char   *held;                          // (nlambda + nmu) before the instant
    double          *p, *s;                         // (np), (ns)
    double          *base; // (nlambda) g_i that counts as zero: behind an instant a row that is touched may lie below
    bool            *held_by; // (nmu) friction that sticks, but as other rows hold it: its own row is off
    bool            *implied; // (nlambda) off, but at rest as others that hold imply: its function does not count
    double          *GZ, *HZ; // at the position of the instant
    double          *Q, *row; // (nv x most), (nv) basis of the rows that hold
    bool             matrices_known;
    double           largest_force, largest_acceleration; // so far, at the instant
    bool             of_solver;                           // it knows why something failed
    char             unsettled[200];                      // why the rows do not settle
};

// Dry friction i: row i of mu, a line, or rows i and j of a plane. Does it slide in x? Otherwise it sticks, or is open.
bool kd_rows_slides(const kd_event_rows *self, const kd_state *x, int i);
bool kd_rows_sticks(const kd_event_rows *self, const kd_state *x, int i);
// Its two components of a vector of h (of a line: one), their size, their part along the direction of sliding
double kd_rows_size(const kd_event_rows *self, int i, const double *a);
double kd_rows_along(const kd_event_rows *self, const kd_state *x, int i, const double *a);
// From now on it slides along a, sticks, or is open
void kd_rows_slide(kd_event_rows *self, int i, const double *a);
void kd_rows_stick(kd_event_rows *self, int i);
void kd_rows_open(kd_event_rows *self, int i);
// Is the contact that it belongs to open? It then neither sticks nor slides
bool kd_rows_is_open(const kd_event_rows *self, const kd_state *x, int i);
// Directions of rows that move, from h. Rows that stick but were set in motion slide.
void kd_rows_directions(kd_event_rows *self);

// g, gI, h at the state on trial; then the accelerations and multipliers of its rows, gII, hI and limit.
kd_eval kd_rows_levels(kd_event_rows *self);
kd_eval kd_rows_solve(kd_event_rows *self);

// Scales: positions, the speed below which a row is at rest; is row i of g met?
double kd_rows_length(const kd_event_rows *self);
double kd_rows_speed(const kd_event_rows *self);
double kd_rows_slow(const kd_event_rows *self);
bool   kd_rows_touches(const kd_event_rows *self, int i);

// GZ, HZ of the instant
kd_eval kd_rows_matrices(kd_event_rows *self);
// Does row i of g follow from the rows that hold? Such a row must not hold as well: forces would not be unique.
kd_eval kd_rows_follows(kd_event_rows *self, int i, bool *follows);

// Which rows hold, for given p and v; velocities of rows that now hold, accelerations and multipliers.
kd_status kd_rows_settle(kd_event_rows *self);

#endif
