// fmi/guest.h: an FMU at work, in a process of its own unless it is trusted: a crash or a hang of it is a message.
//
// Calls go as messages to a dispatcher (guest_serve.c), which knows FMI 2.0 and 3.0; in a process of its own over a pair of sockets
// with a time limit for each, in this process directly.
#ifndef KD_FMI_GUEST_H
#define KD_FMI_GUEST_H

#include <stdint.h>

#include "fmi/fmu_file.h"

typedef struct kd_guest kd_guest;

typedef struct kd_guest_options {
    bool   exchange;   // model exchange instead of co-simulation
    bool   in_process; // trust it                                         default false
    double timeout;    // [s] for one call                                 default 10
    double memory;     // [bytes] that its process may take; 0: half of what is free     default 0
} kd_guest_options;
kd_guest_options kd_guest_options_default(void);

// Unpacks it into a folder of its own, loads and instantiates it.
kd_status   kd_guest_open(const kd_fmu_file *fmu, const kd_guest_options *opt, kd_guest **guest, char *message,
                          size_t size) KD_NODISCARD;
void        kd_guest_close(kd_guest *guest); // NULL is fine
const char *kd_guest_message(const kd_guest *guest);

// Values of one type, in C's form of the type (bool: one byte in FMI 3.0 and int in 2.0, both read here as double). Numbers are
// converted from and to double but for 64-bit integers, which the text functions keep.
kd_status kd_guest_set(kd_guest *guest, const kd_fmi_variable *variable, double value) KD_NODISCARD;
kd_status kd_guest_get(kd_guest *guest, const kd_fmi_variable *variable, double *value) KD_NODISCARD;
// The same as text: all types; binaries as hexadecimal digits
kd_status kd_guest_set_text(kd_guest *guest, const kd_fmi_variable *variable, const char *value) KD_NODISCARD;
kd_status kd_guest_get_text(kd_guest *guest, const kd_fmi_variable *variable, char *value, size_t size) KD_NODISCARD;

// tolerance 0, t_stop infinite: not told to it. Behind begin values can be set for the start, finish ends initialisation.
kd_status kd_guest_begin(kd_guest *guest, double t_start, double t_stop, double tolerance) KD_NODISCARD;
kd_status kd_guest_finish(kd_guest *guest) KD_NODISCARD;
// *t: reached; *stop: it asks for the end.
kd_status kd_guest_step(kd_guest *guest, double t, double h, double *reached, bool *stop) KD_NODISCARD;
kd_status kd_guest_end(kd_guest *guest) KD_NODISCARD; // terminate

// ---- model exchange -------------------------------------------------------------------------------------------------
int       kd_guest_states(const kd_guest *guest);
int       kd_guest_indicators(const kd_guest *guest);
kd_status kd_guest_get_states(kd_guest *guest, double *x) KD_NODISCARD;
// Derivatives and indicators (either may be NULL) at (t, x)
kd_status kd_guest_rates(kd_guest *guest, double t, const double *x, double *dx, double *z) KD_NODISCARD;
// All at (t, x) with inputs u, in one call
typedef struct kd_guest_point {
    double          t;
    const double   *x, *u;
    const uint32_t *u_reference, *y_reference;
    int             nu, ny;
} kd_guest_point;
kd_status kd_guest_evaluate(kd_guest *guest, const kd_guest_point *at, double *dx, double *z, double *y) KD_NODISCARD;
// (dx, y) by (x, u), column by column; by directional derivatives of these references of x and dx, NULL: by central differences
kd_status kd_guest_slopes(kd_guest *guest, const kd_guest_point *at, const uint32_t *x_reference,
                          const uint32_t *dx_reference, double *J) KD_NODISCARD;
kd_status kd_guest_completed(kd_guest *guest, bool *event, bool *stop) KD_NODISCARD;
typedef struct kd_guest_event {
    bool   changed, stop; // states have changed; it asks for the end
    double next;          // time of the next one; infinity: none
} kd_guest_event;
// enter: from continuous time into event mode first. All updates, then continuous time.
kd_status kd_guest_update(kd_guest *guest, bool enter, kd_guest_event *event) KD_NODISCARD;
// Event mode alone, so that inputs can jump; kd_guest_update without enter must follow
kd_status kd_guest_enter(kd_guest *guest) KD_NODISCARD;

// ---- saved ----------------------------------------------------------------------------------------------------------
enum { KD_GUEST_SLOTS = 3 };
bool      kd_guest_saves(const kd_guest *guest); // can it?
kd_status kd_guest_save(kd_guest *guest, int slot) KD_NODISCARD;
kd_status kd_guest_restore(kd_guest *guest, int slot) KD_NODISCARD;

#endif
