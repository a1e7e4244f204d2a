// simulation_impl.h: what the files of the driver share.
//
//     simulation.c           start, steps that stand, instants, output: a run
//     simulation_create.c    options, method, watchers
//     simulation_state.c     vectors of the DAE as states
//     simulation_change.c    another method on the way; sums over methods
//     simulation_advice.c    would another method have been cheaper?
//     simulation_failure.c   why a run failed
//     simulation_save.c      saved and restored
#ifndef KD_SIMULATION_SIMULATION_IMPL_H
#define KD_SIMULATION_SIMULATION_IMPL_H

#include <kardan/simulation.h>

#include "point/acceleration.h"
#include "simulation/branch_watch.h"
#include "simulation/choice.h"
#include "simulation/collapse.h"
#include "simulation/hybrid.h"
#include "simulation/rank_watch.h"
#include "simulation/unseen.h"
#include "simulation/verify.h"

struct kd_simulation {
    const kd_eom             *eom;
    kd_inputs                 inputs;
    kd_simulation_options     opt;
    kd_simulation_options     given;  // opt as it was given: what a change of the method begins with
    char                     *listed; // all options of given as text, for saving; NULL: not asked for yet
    kd_state                 *x;      // the caller's: present state, discrete states, active rows
    kd_state                 *at;     // state between steps
    kd_state                 *origin; // the last start
    double                   *vector; // (n) of the DAE
    double                   *xdot;   // (n) its derivative, for accelerations
    unsigned char            *active; // (nlambda + nmu) rows at the last start
    kd_dae                   *dae;
    kd_acceleration          *least;  // redundant rows (SVD): multipliers of least norm; NULL: no need
    const kd_integrator_info *method; // properties of the integrator
    kd_integrator            *integrator;
    kd_choice                *choice;       // NULL: formulation and integrator were named
    bool                      implicit;     // the present method is the choice for stiff motions
    bool                      advised;      // the integrator has found the equations stiff
    kd_dae                   *form[2];      // of motions that are not stiff and of stiff ones; dae is one of them
    kd_stats                  before;       // counters of methods that were left
    kd_verification           verified;     // by them
    char                      lost_by[100]; // a name in it that was read back
    long                      changes;
    double                    begun;         // time of the first start
    double                    t_run;         // end of the present run
    kd_hybrid                *hybrid;        // NULL: the equations are smooth
    kd_probe                 *probe;         // of who asks by name; NULL: nobody has asked
    const kd_state           *seen;          // the state that is shown, or x
    unsigned long             version, read; // of that state; of the one that the probe is set to
    bool                      lazy;          // accelerations of states that are shown are left to who asks
    long                      solved;        // accelerations for states that were shown
    kd_eom_data              *data;          // where watchers look: of whoever asks, until the next does
    kd_rank_watch            *ranks;         // NULL: no constraints, or too many of them (unwatched)
    bool                      unwatched;
    kd_branch_watch          *branches; // NULL: no auxiliary variables that could have several solutions
    kd_collapse              *collapse;
    kd_unseen                *search; // NULL: there is nothing to be searched, or it is not wanted
    const kd_state           *end;    // its state of the end of the last step, if that was solved for; NULL: it was not
    kd_verify                *verify; // NULL: steps are not checked
    long                      max_steps;
    int                       next_time; // first wanted time that is still to come
    bool                      shown;     // the start has been shown
    double                    from;      // time of the last start; x may be the limit from the right, an ulp later
    double                    passed;    // time of the last instant
    bool                      unseen;    // the end of the last step has not been shown yet
    kd_status                 started;   // what the last start answered: KD_OK, KD_CORRECTED, KD_REDUNDANT
    char                      news[800]; // the same in words, and advice of the integrator
    bool                      stiff;     // advised in this run
    bool                      busy;      // at work: callbacks must not call it
    bool                      inside;    // a step or start of the integrator is being made
    bool                      broken;    // a restore ended half-way
    kd_consistency            assumed;   // residuals of a start that was assumed to be consistent
    char                      message[1600];
};

// ---- simulation.c ---------------------------------------------------------------------------------------------------

// Begin at x, with what the mode says is still good; whoever remembers the motion before forgets it.
kd_status kd_simulation_start_integrator(kd_simulation *s, kd_restart mode);
// Consistent values in x and a fresh integrator, KD_OK, > 0 with news, < 0
kd_status kd_simulation_begin(kd_simulation *s, bool created);

// ---- simulation_create.c --------------------------------------------------------------------------------------------

kd_tolerances kd_simulation_tolerances_of(const kd_simulation_options *o);
bool          kd_simulation_may_take_back(const kd_simulation *s);    // a step that was accepted
const char   *kd_simulation_why_not_verified(const kd_simulation *s); // NULL: accepted steps are checked
bool          kd_simulation_leaves_accelerations(kd_simulation *s);
kd_status     kd_simulation_create_checks(kd_simulation *s);
kd_status     kd_simulation_create_method(kd_simulation *s, bool implicit, char *message, size_t size);

// ---- simulation_state.c ---------------------------------------------------------------------------------------------

kd_status     kd_simulation_dense(kd_simulation *s, double t); // into s->vector
bool          kd_simulation_keeps_accelerations(const kd_simulation *s);
kd_status     kd_simulation_set_acceleration(kd_simulation *s, double t, const double *x, kd_state *state);
bool          kd_simulation_is_watched(const kd_simulation *s);
kd_status     kd_simulation_unpack(kd_simulation *s, double t, const double *x, kd_state *state);
const double *kd_simulation_vector(const kd_simulation *s, double *t); // where the integrator is
kd_status     kd_simulation_take_state(kd_simulation *s);
kd_status     kd_simulation_finish(kd_simulation *s, kd_status status);
kd_status     kd_simulation_state_inside(double t, kd_state *x, void *context); // of the simulation

// ---- simulation_change.c --------------------------------------------------------------------------------------------

kd_verification kd_simulation_own_verification(const kd_simulation *s); // what the present method found
kd_status       kd_simulation_cure(kd_simulation *s); // another method, where the present one gets no further
kd_status       kd_simulation_reconsider(kd_simulation *s);
// The other method in place of the present one, without a start
kd_status kd_simulation_switch(kd_simulation *s, bool implicit);
bool      kd_simulation_is_curable(const kd_simulation *s, kd_status status);

// ---- simulation_failure.c -------------------------------------------------------------------------------------------

void      kd_simulation_measure_assumed(kd_simulation *s);
void      kd_simulation_recall_assumed(kd_simulation *s);
kd_status kd_simulation_tell_friction(kd_simulation *s, kd_status status);
kd_status kd_simulation_tell_reason(kd_simulation *s, kd_status status);

#endif
