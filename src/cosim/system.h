// cosim/system.h: what takes part in a co-simulation: a model, an FMU, another process; one small interface for all.
//
// A system goes from one communication point to the next by itself. In between its inputs are polynomials of the time that the
// master has made of what the others told. A new kind of system is a file with one kd_cosim_class and a function that creates
// it: the object begins with a kd_cosim_system, whose ports are filled in at creation. Every function that answers kd_status
// leaves a sentence in `message` where it fails.
#ifndef KD_COSIM_SYSTEM_H
#define KD_COSIM_SYSTEM_H

#include <kardan/cosim.h>

enum { KD_COSIM_SLOTS = 3, KD_COSIM_MESSAGE = 600 };

typedef struct kd_port {
    const char *name;
    const char *unit;  // "N"; "": not known
    double      start; // of an input, until others tell it
} kd_port;

// An input over a macro step: c[0] + c[1] (t - t0) + c[2] (t - t0)^2
typedef struct kd_signal {
    double t0, c[3];
} kd_signal;

static inline double kd_signal_at(const kd_signal *s, double t)
{
    const double x = t - s->t0;
    return s->c[0] + x * (s->c[1] + x * s->c[2]);
}

typedef struct kd_cosim_system kd_cosim_system;

typedef struct kd_cosim_class {
    const char *word; // "model"
    // The number of an output by its name, also of one that was not listed before; -1: there is none. Before start. NULL: those
    // that are listed are all
    int (*find_output)(kd_cosim_system *s, const char *name);
    // From now on input i is `driven` from outside. Before start. NULL: all are
    void (*drive)(kd_cosim_system *s, int i);
    // Consistent initial values at t with inputs that are held: u (ninputs). Called once
    kd_status (*start)(kd_cosim_system *s, double t, const double *u);
    // Inputs from now on, (ninputs) polynomials with all their derivatives; they may jump against the last ones
    void (*set_inputs)(kd_cosim_system *s, const kd_signal *u);
    // On to t_end. *event: the first instant on the way at which the motion jumped or a switch was passed; infinity: none
    kd_status (*step)(kd_cosim_system *s, double t_end, double *event);
    // y (noutputs) at the present state, with inputs u (ninputs) in place of those that were held: what depends on them
    // directly (forces, accelerations) follows. The state does not change
    kd_status (*outputs)(kd_cosim_system *s, const double *u, double *y);
    // Keep all that the rest of the run depends on in one of the slots, and go back there, bit for bit. NULL: it cannot
    kd_status (*save)(kd_cosim_system *s, int slot);
    kd_status (*restore)(kd_cosim_system *s, int slot);
    // dy (noutputs) = y_u du at the present state and inputs u, du (ninputs). NULL: differences of outputs
    kd_status (*directional)(kd_cosim_system *s, const double *u, const double *du, double *dy);
    // The next time behind the present one at which it samples or a function of time is not smooth; infinity. NULL: none
    double (*next_event)(kd_cosim_system *s);
    // dy (noutputs) >= 0: what errors of its own tolerances make of the outputs at the present state with inputs u. NULL: nothing
    kd_status (*noise)(kd_cosim_system *s, const double *u, double *dy);
    // In words, how far its own run is good; clean: nothing is bad. NULL: not known
    bool (*verdict)(kd_cosim_system *s, char *sentence, size_t size);
    // Foreign code: is it trusted, and [s] for one call otherwise. Before start. NULL: it is code of kardan
    void (*trust)(kd_cosim_system *s, bool in_process, double timeout);
    // Other programs: the line to them, NULL: there is none. Before start. NULL: it needs none
    void (*lay_line)(kd_cosim_system *s, const kd_cosim_wire *wire);
    void (*destroy)(kd_cosim_system *s);
} kd_cosim_class;

struct kd_cosim_system {
    const kd_cosim_class *class;
    const char *name;
    int         ninputs, noutputs;
    kd_port    *input, *output;            // (ninputs), (noutputs); noutputs may grow until start
    bool        algebraic;                 // it has no state: outputs are functions of inputs and time
    bool        forgets;                   // it has save and restore, but cannot use them as it is set up
    bool        jumps;                     // its motion may jump or switch at instants that nobody knows before
    double      t;                         // of the present state
    char        message[KD_COSIM_MESSAGE]; // why the last call failed
};

static inline bool kd_cosim_restores(const kd_cosim_system *s)
{
    return s->algebraic || (s->class->save && s->class->restore && !s->forgets);
}

#endif
