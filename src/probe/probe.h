// probe/probe.h: what the library itself asks of a probe: its evaluation point, names of channels.
#ifndef KD_PROBE_PROBE_H
#define KD_PROBE_PROBE_H

#include <kardan/probe.h>

#include "core/memory.h"

enum { KD_CHANNEL_NAME = 96, KD_CHANNEL_UNIT = 16 };

// Without names and units, for who asks by groups only: cheaper to make.
kd_status kd_probe_create_nameless(const kd_eom *eom, const kd_inputs *inputs, kd_probe **probe) KD_NODISCARD;

const kd_eom    *kd_probe_eom(const kd_probe *probe);
const kd_inputs *kd_probe_inputs(const kd_probe *probe);
// NULL: equations without a model
const kd_system *kd_probe_system(const kd_probe *probe);
// The evaluation point, which may be moved: the probe comes back to its state with the next question.
kd_eom_data *kd_probe_data(kd_probe *probe);
// Leave the point at the state of the probe, up to a stage; accelerations are those that the probe answers.
kd_status kd_probe_reach(kd_probe *probe, kd_stage stage) KD_NODISCARD;
// (nv) where the accelerations are that it answers, as long as it lives
const double *kd_probe_accelerations(const kd_probe *probe);
// As kd_probe_set, with accelerations (nv) that are known already.
kd_status kd_probe_set_with(kd_probe *probe, const kd_state *x, const double *a) KD_NODISCARD;

// ---- names of channels ----------------------------------------------------------------------------------------------
// All different, found by their hash.
typedef struct kd_channel_names {
    int n; // so far
    char (*name)[KD_CHANNEL_NAME];
    char (*unit)[KD_CHANNEL_UNIT];
    int *slot;   // (nslots) channels by the hash of their name; -1: empty
    int  nslots; // a power of two
} kd_channel_names;

// Room for so many; false: no memory.
bool kd_channel_names_cut(kd_channel_names *names, kd_arena *arena, int capacity);
// One more: a name with the word of its group in front (word "": alone); with letter and index, where that is taken.
void kd_channel_names_add(kd_channel_names *names, const char *word, const char *letter, int i, const char *name);
int  kd_channel_names_find(const kd_channel_names *names, const char *name); // -1: none
void kd_channel_names_set_unit(kd_channel_names *names, int channel, const char *unit);
// Components, inputs and outputs of equations: the groups KD_GROUP_P to KD_GROUP_Y.
void kd_channel_names_of_equations(kd_channel_names *names, const kd_eom *eom);
// Largest number of channels of a group.
int kd_group_count(const kd_eom *eom, const kd_system *system, kd_group group);

extern const char *const KD_ENERGY_WORD[3], *const KD_VIOLATION_WORD[3];

#endif
