// flexible/load_case.h: back to finite elements: loads of a flexible body at an instant as forces at the nodes of its structure.
//
// In the axes of the body: inertia forces -M a of the nodes, a = a_0 + dw x c + w x (w x c) + 2 w x u' + u'' with c = x + u, loads at the
// interfaces, and what holds the frame. They are in balance. Method: docs/methods/flexible.md
#ifndef KD_FLEXIBLE_LOAD_CASE_H
#define KD_FLEXIBLE_LOAD_CASE_H

#include <stdio.h>

#include "flexible/body.h"

// Motion and loads of a body at an instant, in its axes
typedef struct kd_carried_loads {
    int     nmodes, nframes;
    double  a[3], w[3], dw[3]; // acceleration of the frame relative to free fall, angular velocity and acceleration
    double *q, *dq, *ddq;      // (nmodes)
    double *load;              // (6 nframes) force and moment on the body at each interface, as it is shifted now
    double  rest[6];           // force and moment about the origin of the frame by what holds the frame itself
} kd_carried_loads;

// Shift and small turn of interface i, e (6)
void kd_carried_deflection(const kd_flexible_body *body, const kd_carried_loads *loads, int i, double e[6]);
bool kd_carried_loads_cut(int nmodes, int nframes, kd_arena *arena, kd_carried_loads *loads);

// Forces and moments that are left over, with their sizes to compare with
typedef struct kd_load_balance {
    double force, moment;           // norms of the sums about the origin, arms as deformed
    double force_size, moment_size; // sums of norms
} kd_load_balance;

// -M a of all rows, f (n). KD_ERR_ARGUMENT: the structure is not that of the body.
kd_status kd_load_case_inertia(const kd_fe_structure *s, const kd_flexible_body *body, const kd_carried_loads *loads,
                               double *f) KD_NODISCARD;
kd_load_balance kd_load_case_balance(const kd_fe_structure *s, const kd_flexible_body *body,
                                     const kd_carried_loads *loads, const double *f);

// For CalculiX, behind mesh, material and section: rigid interfaces as rigid bodies with reference nodes, loads of averaging ones shared
// out, one static step. The interface `held` does not move: its own loads are left to the support.
kd_status kd_load_case_write(const kd_fe_structure *s, const kd_flexible_body *body, const kd_interface *faces,
                             const kd_carried_loads *loads, double *f, int held, const char *title,
                             FILE *file) KD_NODISCARD;

#endif
