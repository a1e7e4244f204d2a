// derivatives_impl.h: what derivatives.c, derivatives_rows.c and derivatives_plan.c share: columns of measures along the
// dofs of their paths, and the parts of the assembly.
#ifndef KD_SYSTEM_DERIVATIVES_IMPL_H
#define KD_SYSTEM_DERIVATIVES_IMPL_H

#include "element/force.h"

// ---- columns of measures --------------------------------------------------------------------------------------------

// a measure has a column for each step of its path; a dof has one, its own
static inline int column_count(const kd_work *w, const kd_measure *m)
{
    return m->kind == KD_MEASURE_DOF ? 1 : w->system->pair[m->pair].nsteps;
}

static inline int column_dof(const kd_work *w, const kd_measure *m, int l)
{
    return m->kind == KD_MEASURE_DOF ? m->dof : w->system->pair[m->pair].step[l].dof;
}

// place in v of column l of a measure; -1: prescribed
static inline int column_v(const kd_work *w, const kd_measure *m, int l)
{
    return m->kind == KD_MEASURE_DOF ? w->system->tree.dof_v[m->dof] : w->system->pair[m->pair].step[l].v;
}

static inline const kd_change *change_of(const kd_work *w, const kd_measure *m, int l)
{
    return &w->change[w->change_at[m->pair] + l];
}

// ds/dq_l
static inline double slope(const kd_work *w, const kd_measure *m, int l)
{
    return w->slope[w->slope_at[m - w->system->measure] + l];
}

// The changes d, d1, d2 of a measure along dof l, or along its rate.
kd_jet kd_work_jet_along(const kd_work *w, const kd_measure *m, int l, bool by_rate);

// Change of a variable (level of a measure) along dof l or along its rate.
static inline double variable_change(const kd_work *w, const kd_measure *m, int level, int l, bool by_rate)
{
    if (level == 0) return by_rate ? 0.0 : slope(w, m, l);
    if (by_rate) return slope(w, m, l);
    return kd_work_jet_along(w, m, l, false).d1;
}

// ---- parts of the assembly ------------------------------------------------------------------------------------------

// A frozen force along a measure: its load, and the changes of its gradient along the path.
void kd_work_freeze(kd_work *w, int measure, double force);
// out -= factor * (ds_m/dq) (dx/dq or dx/dv): rows along the path of the measure, columns along that of the variable
void kd_work_add_outer(kd_work *w, kd_matrix_values *out, int measure, int slot, double factor, bool by_rate);

// derivatives_rows.c: rows of G and H; gI, h and the forces of multipliers; gII, hI; G' for multipliers as variables
void kd_work_add_constraint_matrices(kd_work *w);
void kd_work_list_gradients(kd_work *w); // when plans and slopes are there
void kd_work_add_rows(kd_work *w, const double *lambda, const double *mu);
void kd_work_add_second_rows(kd_work *w);
void kd_work_add_gradient_column(kd_work *w, const kd_row *row, int number);

// derivatives.c: everything; the loads alone, where they act inside of joints
kd_eval kd_work_assemble(kd_work *w, const double *lambda, const double *mu);
kd_eval kd_work_assemble_joints(kd_work *w);
bool    kd_system_shares_tree(const kd_system *s); // is the pattern of the residual that of the tree?

#endif
