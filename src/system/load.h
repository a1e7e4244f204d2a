// load.h: what acts: loads with their laws, and what a law reads.
//
// A load gives a force along each of its channels (measures) and a rate of each of its inner states, both by a law of
// values that stand in slots: time, inputs, states, measures and their rates, multipliers. Algorithms see a load by its
// class alone.
#ifndef KARDAN_SYSTEM_LOAD_H
#define KARDAN_SYSTEM_LOAD_H

#include <kardan/system.h>

#include "element/wheel.h"
#include "expr/expr.h"
#include "model/model.h"
#include "system/discrete.h"

// ---- variables of expressions ---------------------------------------------------------------------------------------
typedef enum kd_slot_kind {
    KD_SLOT_TIME,
    KD_SLOT_INPUT,    // index: input
    KD_SLOT_STATE,    // index: place in r
    KD_SLOT_DISCRETE, // index: place in z
    KD_SLOT_OUT, // index: controller, a state element or behind those a block without period; level: number of the output
    KD_SLOT_MEASURE, // index: measure; level 0 value, 1 rate, 2 acceleration (sensors only)
    KD_SLOT_CONTACT, // index: wheel on a rail: coordinate xi of the contact; laws of its creep forces only
    KD_SLOT_LAMBDA,  // index: wheel on a rail: multiplier; the same
    KD_SLOT_W,       // index: place in w
    KD_SLOT_HOLD,    // index: row of g, its multiplier with the sign of readings; equations of algebraic variables only
    KD_SLOT_REACTION,   // index: joint; level: component 0..5. This and the following: sensors only
    KD_SLOT_MULTIPLIER, // index: constraint; level: number of the row within it
    KD_SLOT_WHEEL,      // index: constraint, a wheel on a rail; level: component 0..5 of its wrench
    KD_SLOT_CHANNEL,    // index: force (or number of forces + user force); level: number of the force
    KD_SLOT_SENSOR,     // index: sensor
    KD_SLOT_ENERGY,     // level 0 kinetic, 1 potential, 2 total
    KD_SLOT_STRESS,     // index: flexible body; level: KD_STRESS_KINDS times the named place, and the kind
    KD_SLOT_SIGNAL,     // index: input of a block, while it is sampled
} kd_slot_kind;

typedef struct kd_slot {
    kd_slot_kind kind;
    int          index, level;
} kd_slot;

// ---- auxiliary variables --------------------------------------------------------------------------------------------
// First the algebraic variables of the model, 0 = law of an equation (kd_system.equation), then forces across joints.
//
// The force across a joint from the multipliers of its rows: 0 = w - sqrt(least^2 + sum (factor_i lambda_i)^2).
// `least`, far below every force that matters, keeps it smooth. A row that was left out as redundant carries nothing.
enum { KD_ACROSS_ROWS = 4 };
typedef struct kd_across {
    int         nrows;
    int         row[KD_ACROSS_ROWS]; // in row_g
    double      factor[KD_ACROSS_ROWS];
    double      least;
    int         force; // that reads it
    const char *name;  // of that
} kd_across;

// ---- loads ----------------------------------------------------------------------------------------------------------
struct kd_load;
struct kd_work;

// What the law of a load is and does, for all algorithms: they ask the class, never for the kind of an element.
typedef enum kd_effect { KD_EFFECT_FORCE, KD_EFFECT_RATE, KD_EFFECT_VALUE } kd_effect;

typedef struct kd_law_cost {     // operations and calls of functions, without those of expressions
    int operations, functions;   // of force and rates
    int slopes, slope_functions; // of their derivatives
    int per_pair, per_variable;  // in addition: operations per pair of channels; of derivatives per variable
} kd_law_cost;

typedef struct kd_load_class {
    // force along each channel, rate of each state; x: values of all slots
    kd_eval (*eval)(const struct kd_load *load, const double *x, struct kd_work *work, double *force, double *rate);
    // the same of four loads that are alike, at once; NULL: there is no such way. Forces go to force[i], rates to rate[i]
    kd_eval (*eval_four)(const struct kd_load *const load[4], const double *x, struct kd_work *work,
                         double *const force[4], double *const rate[4]);
    bool (*is_like)(const struct kd_load *a, const struct kd_load *b);
    // derivatives by the slots load->variable: (nchannels + nstates) x nvariables, column-major, zero on entry
    kd_eval (*jacobian)(const struct kd_load *load, const double *x, struct kd_work *work, double *J);
    // adds potential energy, dissipated and supplied power; NULL: all power counts as supplied
    void (*energy)(const struct kd_load *load, const double *x, struct kd_work *work, kd_energies *sum);
    // amounts behind its states, which stay while nothing flows, and their slopes by r; NULL: none is known
    void (*content)(const struct kd_load *load, const double *x, double *amount, double *slope);
    // whether its law no longer holds at x, appended to a text; NULL: it always does. True: it does not
    bool (*caution)(const struct kd_load *load, const double *x, char *text, size_t size);
    // what is worth a word at x although the law holds, written to a text; NULL: nothing. True: there is something
    bool (*notice)(const struct kd_load *load, const double *x, struct kd_work *work, char *text, size_t size);
    // why it has no value at x, appended to a text; NULL: nothing more is known
    void (*reason)(const struct kd_load *load, const double *x, char *text, size_t size);
    // range of what has a gap or a kink in its force along the first channel, for variables anywhere in their ranges;
    // NULL: there is nothing of the kind
    kd_interval (*bounds)(const struct kd_load *load, const kd_interval *x, struct kd_work *work);
    // of a law that has neither gap nor kink, but is steep: is it bent as a parabola at most along a share of these
    // ranges? NULL: it has one, and is 0 on one side of it
    bool (*is_even)(const struct kd_load *load, const kd_interval *x, double share);
    // range of the elevation of a road from a file under it, x NULL: anywhere; NULL: it stands on none
    kd_interval (*elevation)(const struct kd_load *load, const kd_interval *x, struct kd_work *work);
    // start values of its states at x; NULL: 0. settles: once more where assembly has moved the bodies
    void (*start)(const struct kd_load *load, const double *x, struct kd_work *work, double *r);
    bool settles;
    // what sensors read as number (of kd_readable), at the acceleration stage; NULL: the force along that channel
    double (*reading)(const struct kd_load *load, const struct kd_work *work, const kd_point *x, int number);
    // largest force while it sticks; NULL: it never does
    double (*limit)(const struct kd_load *load, const double *x, struct kd_work *work);
    kd_effect effect;                             // of the expressions in its law: on the force, a rate, or more
    double (*factor)(const struct kd_load *load); // of that effect; NULL: 1
    bool        jets;                             // its expressions are evaluated with derivatives in time
    kd_law_cost cost;
} kd_load_class;

typedef enum kd_by_unit { KD_BY_UNIT_UNKNOWN, KD_BY_UNIT, KD_BY_NO_UNIT } kd_by_unit;

typedef struct kd_load {
    const kd_load_class *class;
    const char              *name;
    const kd_force_def      *def;   // NULL: state or user force
    int                      force; // its number
    const kd_state_def      *state_def;
    const kd_user_force_def *user;
    const kd_sampler        *unit;                                  // block without period
    kd_by_unit               by_unit;                               // its output: by one of those, also through others
    const kd_wheel          *wheel;                                 // creep forces
    const kd_curve          *curve;                                 // volumes of an air spring
    int                      nchannels, nvariables, nstates, state; // state: first place in r
    int                     *channel;                               // (nchannels) measures
    int                     *variable;                              // (nvariables) slots
    int                     *rate_slot; // (nchannels) slot of the rate of each channel's measure, for the power
    kd_expr                 *law[6];
    const char              *law_text[6];        // as they were written; NULL
    double                   constant[4];        // free length and the like, set at creation
    const double            *length_of, *arm_of; // of constant[0], constant[1] in the model; NULL: they do not change
    int                      direction;          // dry friction: slot of its direction; -1: regularised
    int                      direction_across;   // the same of the second component, in a plane of contact
    bool                     stiff;
    bool                     relaxes; // constant 0 is taken from the start
    const double            *row;     // (nvariables) of modes: stiffness and damping along them
    int                      body;    // of modes: which one deforms
    double                   feed[2]; // state: its output is feed_1 input + feed_2 x
} kd_load;

// Loads of the modes of one body together: numbers of the loads, and stiffness and damping (element/modes.c)
typedef struct kd_modal {
    int           first, m;      // loads
    int           position, dof; // of its amplitudes in x, in dx
    bool          diagonal;      // then (m), otherwise (m x m)
    const double *K, *D;
} kd_modal;

// A law in which something may hide from a step, unseen_laws.c
typedef struct kd_law {
    const char    *name;
    const kd_expr *expr; // what is searched are its terms; NULL: the bounds of the load's class
    const kd_load *load; // NULL: of a constraint or a prescribed motion
    kd_effect      effect;
    int            measure; // force: along which it acts
    int            state;   // rate: place in r
    double         factor;  // from the law to force or rate
    int            nterms, nslots;
    int            room; // for terms
    kd_expr_term  *term;
    int           *slot;        // (nslots) that it reads, and those controllers do whose outputs it reads
    int            npi, *pi;    // these controllers, each behind those that it reads: numbers of loads
    bool           of_time;     // reads times and inputs alone
    bool           on_file;     // the elevation of a road from a file, in place of the bounds
    int            box, nboxes; // place of its ranges in those of all laws: of its variables, of states of controllers
} kd_law;

#endif
