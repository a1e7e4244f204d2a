// plant_impl.h: what the files of the plant share.
//
//     plant.c         life, start, values
//     plant_names.c   the list of variables
//     plant_run.c     steps, states, instants, derivatives along directions
//     plant_saved.c   saved and restored
#ifndef KD_FMI_PLANT_IMPL_H
#define KD_FMI_PLANT_IMPL_H

#include <kardan/simulation.h>
#include <kardan/system.h>

#include "core/memory.h"
#include "fmi/plant.h"
#include "simulation/exchange.h"

enum { KD_PLANT_PATH = 4096 };

struct kd_plant {
    char               folder[KD_PLANT_PATH];
    kd_model          *model;
    kd_system         *system;
    kd_dims            dims;
    kd_probe          *probe; // of x
    kd_eom_data       *data;  // rates of x
    kd_state          *x;
    kd_state          *moved; // for differences
    kd_simulation     *simulation;
    kd_exchange       *exchange;
    kd_plant_mode      mode;
    bool               started;
    bool               probed; // the probe is set to x as it is now
    double             t_start, tolerance;
    bool               event;    // the listener has seen one in this step
    bool               to_event; // and is to stop there
    kd_plant_watcher   watcher;  // of steps; NULL
    void              *watcher_context;
    double             from;                  // where the step of co-simulation began
    bool               asked;                 // it has asked for an early return
    kd_arena           arena;                 // of the list and of the arrays below
    bool              *outside;               // (nu) inputs that come from outside
    double            *u, *du, *t_u;          // (nu) their values, rates, and since when
    double            *own;                   // (3 nu) of the model
    double            *theta, *default_theta; // (ntheta)
    int                ntheta;
    bool               new_inputs, new_theta; // set since the last step
    kd_plant_variable *variable;
    int                count;
    int                first[KD_PLANT_LOCAL + 2]; // reference of the first of each kind, of all: count
    double            *work;                      // (3 states) for derivatives
    char               message[2000];
};

// The list of variables, in the arena
kd_status kd_plant_list(kd_plant *plant);
// Is the input of this name from outside, by plant.txt or because the model gives it no law?
bool      kd_plant_reads_outside(const kd_plant *plant, int input, const char *list);
kd_inputs kd_plant_inputs(kd_plant *plant);
kd_status kd_plant_refuse(kd_plant *plant, kd_status status, const char *format, ...) KD_PRINTF(3, 4);
kd_status kd_plant_apply(kd_plant *plant); // parameters that were set
bool      kd_plant_drop(kd_plant *plant);  // simulation or exchange; false always

#endif
