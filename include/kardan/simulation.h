// kardan/simulation.h: equations of motion in, motion out: initial values, formulation, integrator, output.
#ifndef KARDAN_SIMULATION_H
#define KARDAN_SIMULATION_H

#include <kardan/eom.h>
#include <kardan/formulation.h>
#include <kardan/initial.h>
#include <kardan/integrator.h>
#include <kardan/probe.h>
#include <kardan/saved.h>

KD_EXTERN_C_BEGIN

// Output function: called at the start, after each accepted step (at_time false), and at each wanted time (at_time
// true); at an instant that changes the state twice, with the limits from both sides. x is valid during the call.
// Answer KD_EVAL_OK to go on, KD_EVAL_STOP to end the run with KD_STOPPED.
typedef kd_eval (*kd_output)(const kd_state *x, bool at_time, void *context);

// Instants of hybrid equations (kd_jump), for logs.
typedef enum kd_event_kind {
    KD_EVENT_SWITCH,  // a switching function changed its sign; index: its number
    KD_EVENT_IMPACT,  // a one-sided row was hit; index: row of lambda
    KD_EVENT_REST,    // a one-sided row holds from now on
    KD_EVENT_RELEASE, // it no longer does
    KD_EVENT_STICK,   // dry friction; index: row of mu
    KD_EVENT_SLIDE,
    KD_EVENT_SAMPLE, // discrete states were renewed; index -1
    KD_EVENT_BREAK,  // a function of time is not smooth here; index -1
    KD_EVENT_KICK,   // a prescribed velocity jumped; index: row of lambda or (nlambda + i) of mu; -1 - i: drive i
    KD_EVENT_KIND_COUNT
} kd_event_kind;
KD_API const char *kd_event_word(kd_event_kind kind); // "impact"

typedef struct kd_event {
    double        t;
    kd_event_kind kind;
    int           index;
    int           direction; // of a switching function: 1 rose, -1 fell; of sliding: 1, -1
    const char   *text;      // in words, with names
    double        impulse;   // of a kick: what the drive or row gave [N s, N m s]; otherwise 0
    double        work;      // of all kicks of the instant together [J]; NAN: the equations have no energies
} kd_event;
// Called for everything that happens at an instant, in its order, when the state behind it is consistent; before and
// after are the limits from both sides. Answer as an output function does. Valid during the call.
typedef kd_eval (*kd_event_listener)(const kd_event *event, const kd_state *before, const kd_state *after,
                                     void *context);

typedef struct kd_event_options {
    double accuracy; // of the time of an event, relative to the step                                 default 1e-12
    // More than max_chatter events without an accepted step longer than chatter_time (relative to the time so far)
    // between them end the run with KD_ERR_CHATTER.
    long              max_chatter;  //                                                                default 1000
    double            chatter_time; //                                                                default 1e-9
    double            rest;         // an impact rests when its flight would be shorter than this [s] default 1e-6
    bool              samples;      // tell samples to the listener, too                              default false
    kd_event_listener listener;     // may be NULL
    void             *context;      // of listener
    unsigned          cookie;       // set by kd_event_options_default
} kd_event_options;
KD_API kd_event_options kd_event_options_default(void);

// What was found by checking accepted steps against the equations of motion inside them (docs/guide/trust.md).
typedef struct kd_verification {
    bool        searched;     // false: steps were not checked, why_not says the reason
    const char *why_not;      // NULL: they were
    long        steps;        // accepted steps that were looked at
    long        checked;      // of these checked at points inside
    long        points;       // such points
    long        redone;       // steps that did not stand and were made again, shorter
    long        unverified;   // steps that did not stand, but could not be made shorter: kept
    double      worst;        // largest defect of a step that was kept, in tolerances
    double      t_worst;      // its time
    double      t_unverified; // time of the first step that could not be verified
    double      lost;         // sum of what steps lost at most at kinks and jumps of laws, in tolerances
    const char *lost_by;      // such a law; NULL: none
    double      rounded;      // errors of velocities by the rounding of times where drives are very fast, in tolerances
    const char *rounded_by;   // the fastest one; NULL: none
} kd_verification;

// What the certificate of a run looks at. Only a full one can be clean.  Guide: docs/guide/certificate.md
typedef enum kd_certificate_kind {
    KD_CERTIFICATE_FULL,  // constraints, norms, invariants and the energy balance at every step
    KD_CERTIFICATE_LIGHT, // the same without the energy balance
    KD_CERTIFICATE_NONE,  // nothing: states are recorded, not judged
    KD_CERTIFICATE_KIND_COUNT
} kd_certificate_kind;
KD_API const char *kd_certificate_kind_word(kd_certificate_kind kind); // "full", "light", "none"; "?" otherwise

typedef struct kd_simulation_options {
    // KD_FORMULATION_CHOSEN with KD_INTEGRATOR_CHOSEN: both are chosen for the equations (kd_method_automatic) and
    // changed on the way where counts say that another method is better; changes are told in the message. One of them
    // chosen beside a name: psf where it fits, else the form that suits the integrator; radau.
    kd_formulation         formulation; // default KD_FORMULATION_CHOSEN
    kd_integrator_kind     integrator;  // default KD_INTEGRATOR_CHOSEN
    kd_formulation_options formulation_options;
    kd_integrator_options  integrator_options; // of all integrators, with those that all have
    kd_initial_options     initial;
    kd_event_options       events;
    bool                   verify;      // check accepted steps against the equations inside them   default true
    kd_certificate_kind    certificate; // of who records the run (kd_recorder)      default KD_CERTIFICATE_FULL
    double                 rtol, atol;  // for short: set those of integrator_options; 0: take them  default 0
    kd_output              output;      // may be NULL
    // Forms without accelerations (ggl, index 1 to 3, ..) solve a system for those of every state that is shown.
    // false: states are shown without (kd_state.unsolved), who wants them asks a probe      default true
    bool  accelerations;
    void *context; // of output
    // (ntimes) increasing times at which output is wanted; those before the start are skipped, those beyond t_end wait
    // for a later run. Not copied: must outlive the simulation
    const double *times;
    int           ntimes;
    unsigned      cookie; // set by kd_simulation_options_default
} kd_simulation_options;

// A method that suits the equations, all parts with their own defaults, no output.
KD_API kd_simulation_options kd_simulation_options_default(void);

// ---- options by name ------------------------------------------------------------------------------------------------
// One table of all options of a simulation: of the steps ("steps.h_max"), of every integrator ("radau.max_newton"), of
// the forms ("form.projection"), of start, events and checks. Reference: docs/guide/options.md
// i = 0, 1, ...; NULL: no more.
KD_API const kd_option *kd_option_at(int i);
KD_API const kd_option *kd_option_find(const char *name); // NULL: there is none
// What values it may have, in words: "2 to 5", "lu, qr, svd"; returns buffer.
KD_API const char *kd_option_values(const kd_option *option, char *buffer, size_t size);
// Set by name from text; text of an option of type TEXT is not copied. KD_ERR_ARGUMENT: the name is unknown or the value
// not allowed, message (may be NULL) says what was probably meant, or what is allowed.
KD_API kd_status kd_option_set(kd_simulation_options *opt, const char *name, const char *text, char *message,
                               size_t size) KD_NODISCARD;
// Its value as text.
KD_API kd_status kd_option_get(const kd_simulation_options *opt, const char *name, char *buffer,
                               size_t size) KD_NODISCARD;

// ---- what fits together ---------------------------------------------------------------------------------------------
// Formulation, integrator and their options. A simulation that does not fit is refused with the same words.
typedef struct kd_misfit {
    char        what[120]; // "update with ida"
    const char *why;       // "it evaluates or keeps its matrix by its own rules"
    const char *works;     // what does: "integrator bdf"; names and values in turn
} kd_misfit;
// true: they do not fit, *misfit (may be NULL) says why.
KD_API bool kd_method_misfit(const kd_simulation_options *opt, kd_misfit *misfit);
// The other way round, in one sentence: "update with ida: it evaluates ... rules; integrator bdf works". why: may be
// NULL, "" where they fit.
KD_API bool kd_method_fits(const kd_simulation_options *opt, char *why, size_t size);
// The formulation that suits the integrator (chosen: radau) and the options, whatever opt->formulation is.
KD_API kd_formulation kd_method_formulation(const kd_simulation_options *opt);
// The same options with a formulation and an integrator where they were left open: radau, psf where that fits, else the
// form that suits. For who wants one method for all of a run, or for many runs. NULL: the default options, so named.
KD_API kd_simulation_options kd_method_named(const kd_simulation_options *opt);
// Is the formulation or the integrator left open?
KD_API bool kd_method_is_open(const kd_simulation_options *opt);

// The method that a simulation which chooses begins with at x, from size, constraints, events, samples and the spectral radius of the
// linearised equations: set in *opt, whose other options are looked at. why (may be NULL): "as the fastest motion ...".
KD_API kd_status kd_method_automatic(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                                     kd_simulation_options *opt, char *why, size_t size) KD_NODISCARD;

typedef struct kd_simulation kd_simulation;

// Initial values are made consistent in x, which the simulation goes on writing to. eom, x, the contexts and the arrays
// that opt points to (times, initial.hold_p, ...) must outlive the simulation; *inputs and *opt are copied. opt NULL:
// defaults; inputs NULL: all inputs are 0. message (size bytes) may be NULL. On failure *simulation is NULL and message
// says why. Success is KD_OK, or > 0 with news of kd_initial_consistent in message: KD_CORRECTED (what moved, by how
// much), KD_REDUNDANT.
KD_API kd_status kd_simulation_create(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt,
                                      kd_state *x, kd_simulation **simulation, char *message, size_t size) KD_NODISCARD;
// From a callback of the simulation itself, run, restart and resume answer KD_ERR_BUSY, and nothing changes.
//
// Run to t_end (again later to go on); x is the state at the end or, after a failure, the last accepted one. t_end
// equal to the time of x: consistent values only. KD_OK, KD_STOPPED, KD_STIFF (t_end was reached, but the message
// advises another integrator), or < 0. After KD_ERR_TOO_MANY_STEPS call again to continue. A run that gets nowhere ends
// by itself: KD_ERR_STAGNATION where steps gain no time because a force jumps at the state, KD_ERR_BLOW_UP where an
// element feeds energy without end; the message names it. Called again it goes on until that is found once more.
KD_API kd_status kd_simulation_run(kd_simulation *simulation, double t_end) KD_NODISCARD;
// Use the changed x (after an event, other active rows): consistent values again, fresh start. Answers as creation
// does. Without it the integrator goes on from its own copy: changes of p .. mu in x are ignored and overwritten.
KD_API kd_status kd_simulation_restart(kd_simulation *simulation) KD_NODISCARD;
// z of x or an input has jumped, nothing else: p, v, r and the active rows of x are those of the last step. Much
// cheaper than a restart: the integrator goes on with its step size, matrices and past (docs/methods/restart.md).
KD_API kd_status kd_simulation_resume(kd_simulation *simulation) KD_NODISCARD;
// All that the rest of the run depends on: state, past of the integrator, matrices, step size, events, samples, checks.
// KD_ERR_UNSUPPORTED: the integrator keeps its past to itself (SUNDIALS). Between runs, or behind one that was stopped.
KD_API kd_status kd_simulation_save(kd_simulation *simulation, kd_saved **saved, char *message,
                                    size_t size) KD_NODISCARD;
// Go on from there: a further run gives the same bits as one of the simulation that was saved. simulation must have been
// created for the same equations, inputs and options, with an output function if that one had one; wanted times may be
// others. KD_ERR_SAVED: it does not fit, message says why; if that was found on the way, the simulation is of no use any
// more but for another restore, and says so when it is run.
KD_API kd_status kd_simulation_restore(kd_simulation *simulation, const kd_saved *saved, char *message,
                                       size_t size) KD_NODISCARD;
// Tolerances that the integrator has.
typedef struct kd_tolerances {
    double rtol, atol;
    double h_fixed; // [s] > 0: constant steps without error control
} kd_tolerances;
KD_API kd_tolerances kd_simulation_tolerances(const kd_simulation *simulation);
// The present ones, where they are the simulation's choice, and how often they were changed.
KD_API kd_formulation     kd_simulation_formulation(const kd_simulation *simulation);
KD_API kd_integrator_kind kd_simulation_integrator(const kd_simulation *simulation);
KD_API long               kd_simulation_changes(const kd_simulation *simulation);
// Why it began with the method it chose, as kd_method_automatic says it; "": the method was named.
KD_API const char *kd_simulation_choice(const kd_simulation *simulation);
// Would another method have been cheaper for the run so far? By its counts, and the fastest motion of the present state:
// "ode with dop853 would probably have been cheaper: ..."; "": none is known to be.
KD_API kd_status kd_simulation_advice(kd_simulation *simulation, char *text, size_t size);
// The DAE that is integrated, for observers (kd_dae.observe) and pictures; it stays the simulation's. A change of the
// method goes on with another one, which takes over the observer; this one stays valid.
KD_API kd_dae *kd_simulation_dae(const kd_simulation *simulation);
// The x of creation.
KD_API const kd_state *kd_simulation_state(const kd_simulation *simulation);
// Start of the last step; the time of the state before the first one.
KD_API double kd_simulation_step_start(const kd_simulation *simulation);
// The motion inside the last step: p .. mu at a time between kd_simulation_step_start and the time of the state, by
// dense output, without accelerations. Also from inside the output function. Does not allocate.
KD_API kd_status kd_simulation_inside(kd_simulation *simulation, double t, kd_state *x) KD_NODISCARD;
// What is to be read about the state that is shown, or after a run about its end, by name: "joint.hinge.q", a sensor
// of the model (kd_probe_find). NaN: there is none, or it cannot be evaluated. The first call allocates.
KD_API double kd_simulation_output(kd_simulation *simulation, const char *name);
// The same as a reader of all there is, set to that state; it stays the simulation's. NULL: no memory.
KD_API kd_probe *kd_simulation_probe(kd_simulation *simulation);
// Accelerations (nv) of a state that was shown without them, from the system of the formulation. From inside the
// output function, too. Does not allocate.
KD_API kd_status kd_simulation_accelerations(kd_simulation *simulation, const kd_state *x, double *a) KD_NODISCARD;
// Counters since creation, over all runs and restarts.
KD_API kd_stats kd_simulation_stats(const kd_simulation *simulation);
// How the checks of accepted steps ended, since creation.
KD_API kd_verification kd_simulation_verification(const kd_simulation *simulation);
// How many events of a kind there were since creation; samples with those at the start.
KD_API long kd_simulation_events(const kd_simulation *simulation, kd_event_kind kind);
// What was not searched for things that happen inside of steps, by the names of the elements, i = 0, 1, ...: functions
// in C whose switching nobody knows, laws whose bounds did not tell. NULL: no more. (docs/methods/intervals.md)
KD_API const char *kd_simulation_not_searched(const kd_simulation *simulation, int i);
// Are there too many constraints for their rank to be watched along the motion?
KD_API bool kd_simulation_rank_unwatched(const kd_simulation *simulation);
// Why the last call failed or stopped; otherwise the news of the last start, "" if there is none.
KD_API const char *kd_simulation_message(const kd_simulation *simulation);
// NULL is fine. eom, inputs and x stay the caller's. From a callback of the simulation itself: nothing is done.
KD_API void kd_simulation_destroy(kd_simulation *simulation);

// All of the above in one call. KD_OK, or > 0 with news: KD_STOPPED; t_end was reached, but from a start that was
// corrected (KD_CORRECTED) or has redundant constraints (KD_REDUNDANT), or KD_STIFF, message says more. < 0: failed,
// message says why. So compare with < 0, not with KD_OK.
// stats (may be NULL) are all 0 if the simulation could not be created.
KD_API kd_status kd_simulate(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt, kd_state *x,
                             double t_end, kd_stats *stats, char *message, size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
