// stiff_part.h: the stiff loads of a system and what they are differentiated into. Equations: stiff_part.c
#ifndef KARDAN_SYSTEM_STIFF_PART_H
#define KARDAN_SYSTEM_STIFF_PART_H

#include "system/system.h"

// The list of stiff loads, and room. false: out of memory.
bool kd_stiff_part_create(const kd_system *s, kd_arena *arena, kd_stiff_part *part);
bool kd_stiff_states_create(kd_work *w); // behind kd_work_matrices

#endif
