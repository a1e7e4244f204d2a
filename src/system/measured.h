// measured.h: which numbers of the motion are measures and variables: lists that evaluation goes through (measured.c).
#ifndef KARDAN_SYSTEM_MEASURED_H
#define KARDAN_SYSTEM_MEASURED_H

#include <kardan/base.h>

struct kd_system;
struct kd_work;

// Numbers that are filled together: their slots in rising order, and what they are filled from
enum { KD_FILLED_STATES = 3, KD_FILLED };

typedef struct kd_filled {
    int *slot, *index;
    int *before; // (number of slots + 1) how many of them stand before a slot
} kd_filled;

// Measures by level, value (0) and rate (1); of channels of loads where their forces go, one after the other
typedef struct kd_measured {
    kd_filled plain[2]; // one number of a pair: slot = measure, index = place in the numbers of all pairs
    kd_filled other[2]; // those that are computed
    int       nchannels;
    int      *channel; // (nchannels) measures, of all loads but those of modes
    int      *place;   // (nchannels) in the numbers of all loads of pairs; -1: along a gradient
} kd_measured;

kd_status kd_system_list_measures(struct kd_system *s) KD_NODISCARD; // when all measures and loads are made
// Values and rates of measures first .. end - 1; p: angles that are counted over full turns; those without value are left out
void   kd_work_fill_values(struct kd_work *w, const double *p, int first, int end);
void   kd_work_fill_rates(struct kd_work *w, int first, int end);
double kd_work_dof_value(const struct kd_work *w, int dof);
// Forces of all loads but those of modes, summed up by pair
void kd_work_apply_channels(struct kd_work *w);

#endif
