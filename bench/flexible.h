// flexible.h: rows of the benchmark of flexible bodies that need models: spin-up of beams, cost of modes.
#ifndef KD_BENCH_FLEXIBLE_H
#define KD_BENCH_FLEXIBLE_H

#include <kardan/kardan.h>

#include "common_rows.h"
#include "flexible/body.h"

// A slender beam along x that is soft in y, clamped in its frame at "root", free at "tip"
typedef struct flexible_beam {
    double length, EI, rhoA;
    int    modes;     // of the body
    bool   stiffened; // has its geometric stiffness
    double damping;   // ratio
} flexible_beam;

// Enter the beam as a part of the model; false: message says why
bool flexible_read(kd_model *model, const flexible_beam *beam, kd_body_def *def, char *message, size_t size);

void flexible_spin_up(bench *b);
void flexible_cost(bench *b);
void flexible_rotor(bench *b, const kd_fe_structure *s, const kd_interface *faces); // both ends
void flexible_steps(bench *b);

#endif
