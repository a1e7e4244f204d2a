// fmi/fmu_unit.h: an FMU as a unit of a model (foreign/foreign.h) or of a co-simulation: ports by their names, steps of either kind.
#ifndef KD_FMI_FMU_UNIT_H
#define KD_FMI_FMU_UNIT_H

#include "fmi/guest.h"
#include "foreign/foreign.h"

typedef struct kd_fmu_unit kd_fmu_unit;

// setup->ninputs < 0: all inputs and all outputs that are numbers.
kd_status kd_fmu_unit_open(const kd_foreign_setup *setup, kd_fmu_unit **unit, char *message, size_t size) KD_NODISCARD;
kd_foreign *kd_fmu_unit_base(kd_fmu_unit *unit); // kd_foreign_close ends it

const kd_fmi_description *kd_fmu_unit_about(const kd_fmu_unit *unit);
kd_guest                 *kd_fmu_unit_guest(kd_fmu_unit *unit); // NULL: it has not started

const kd_fmi_variable *kd_fmu_unit_input(const kd_fmu_unit *unit, int i);
const kd_fmi_variable *kd_fmu_unit_output(const kd_fmu_unit *unit, int i);
// The number of an output of this name, also of a local variable that becomes one; -1: there is none, or no room
int kd_fmu_unit_find(kd_fmu_unit *unit, const char *name);

// Inputs as functions of the time, from now on; eval NULL: they stay as kd_fmu_unit_outputs gave them. Co-simulation takes the
// value in the middle of each step.
typedef struct kd_fmu_inputs {
    void (*eval)(double t, void *context, double *u);
    void *context;
} kd_fmu_inputs;
kd_status kd_fmu_unit_start(kd_fmu_unit *unit, double t, const double *u) KD_NODISCARD;
kd_status kd_fmu_unit_go(kd_fmu_unit *unit, double t_end, const kd_fmu_inputs *inputs, double *event) KD_NODISCARD;
kd_status kd_fmu_unit_outputs(kd_fmu_unit *unit, const double *u, double *y) KD_NODISCARD;
double    kd_fmu_unit_next(const kd_fmu_unit *unit);  // the next time event that is known; infinity
bool      kd_fmu_unit_jumps(const kd_fmu_unit *unit); // its motion may jump at instants that nobody knows before
// Before start: is it trusted, and [s] for one call otherwise (0: as usual)
void      kd_fmu_unit_trust(kd_fmu_unit *unit, bool in_process, double timeout);
bool      kd_fmu_unit_saves(const kd_fmu_unit *unit);
kd_status kd_fmu_unit_save(kd_fmu_unit *unit, int slot) KD_NODISCARD;
kd_status kd_fmu_unit_restore(kd_fmu_unit *unit, int slot) KD_NODISCARD;

#endif
