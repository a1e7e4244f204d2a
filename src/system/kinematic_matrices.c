// kinematic_matrices.c: Z of p' = Z(p) v and the derivative of Z v along increments, sparse.
//
// Scalar coordinates: a 1. A quaternion q with angular velocity omega in its own axes: q' = q omega / 2, columns
// q e_k / 2; moved by an increment e, q -> q + q e / 2, the rate changes by q e_k omega / 4. Counted angles: the slopes
// of the angle along its path, and the changes of its rate. Each link has its own block, so that the matrices have
// O(nv) entries beside the rows of counted angles.
//
// As in derivatives.c the same code runs once on recording matrices, which gives the patterns.
#include <math.h>

#include "system/system.h"

kd_quat kd_quaternion_rate(kd_quat q, kd_quat omega)
{
    kd_quat rate = kd_quat_mul(q, omega);
    return (kd_quat){0.5 * rate.w, 0.5 * rate.x, 0.5 * rate.y, 0.5 * rate.z};
}

kd_quat kd_unit_quaternion(int k)
{
    return (kd_quat){0.0, k == 0, k == 1, k == 2};
}

// four rows of p
static void add_quaternion(kd_matrix_values *out, int row, int column, kd_quat value)
{
    kd_matrix_add(out, row, column, value.w);
    kd_matrix_add(out, row + 1, column, value.x);
    kd_matrix_add(out, row + 2, column, value.y);
    kd_matrix_add(out, row + 3, column, value.z);
}

static void add_link_Z(kd_work *w, const kd_link *link)
{
    const kd_system *s = w->system;
    int              ndof = link->form.ndof, scalars = link->form.nscalars;
    // scalar coordinates: 1; a ball: q e_k / 2
    for (int k = 0; k < ndof; k++) {
        int column = s->tree.dof_v[link->dof + k];
        if (column < 0) continue;
        if (k < scalars) {
            kd_matrix_add(&w->Z, s->p_of_x[link->position + k], column, 1.0);
        } else {
            kd_quat q = kd_quat_of(w->x + link->position + scalars);
            add_quaternion(&w->Z, s->p_of_x[link->position + scalars], column,
                           kd_quaternion_rate(q, kd_unit_quaternion(k - scalars)));
        }
    }
}

static void add_link_Z_p(kd_work *w, const kd_link *link)
{
    const kd_system *s = w->system;
    int              scalars = link->form.nscalars, dof = link->dof + scalars;
    if (scalars == link->form.ndof) return;
    // q e_k omega / 4: the rate kinematics twice
    kd_quat q = kd_quat_of(w->x + link->position + scalars), omega = {0.0, w->dx[dof], w->dx[dof + 1], w->dx[dof + 2]};
    for (int k = 0; k < 3; k++)
        add_quaternion(&w->Z_p, s->p_of_x[link->position + scalars], s->tree.dof_v[dof + k],
                       kd_quaternion_rate(kd_quaternion_rate(q, kd_unit_quaternion(k)), omega));
}

// Row i of the counted angles: slopes of the angle, or changes of its rate.
static void add_turn(kd_work *w, int i, bool by_position)
{
    const kd_system  *s = w->system;
    int               measure = s->turn_measure[i], row = s->np - s->nturns + i;
    const kd_measure *m = &s->measure[measure];
    for (int l = 0; l < s->pair[m->pair].nsteps; l++) {
        const kd_change *c = &w->change[w->change_at[m->pair] + l];
        int              column = s->tree.dof_v[s->pair[m->pair].step[l].dof];
        if (column < 0) continue;
        // along the path: slope of the angle (Z), change of its rate (Z_p)
        if (!by_position) {
            kd_matrix_add(&w->Z, row, column, w->slope[w->slope_at[measure] + l]);
            continue;
        }
        kd_tangent e = {c->w, c->u, c->omega_q, c->dd_q, c->alpha_q, c->ddd_q};
        kd_matrix_add(&w->Z_p, row, column, w->recording ? 0.0 : kd_measure_jet(m, &w->rel[m->pair], &e, NAN).d1);
    }
}

void kd_work_add_kinematics(kd_work *w, bool by_position)
{
    const kd_system *s = w->system;
    // links first, counted angles behind them, as in p
    for (int i = 1; i < s->tree.nlinks; i++) {
        if (by_position)
            add_link_Z_p(w, &s->tree.link[i]);
        else
            add_link_Z(w, &s->tree.link[i]);
    }
    for (int i = 0; i < s->nturns; i++) add_turn(w, i, by_position);
}

void kd_work_Z(kd_work *w, const kd_point *x)
{
    kd_work_position(w, x, KD_FOR_ROWS);
    if (w->Z_stamp == x->position_stamp) return;
    w->Z_stamp = x->position_stamp;
    if (w->system->nturns > 0) kd_work_axes(w, x, KD_FOR_ALL); // the slopes
    kd_matrix_start(&w->Z);
    kd_work_add_kinematics(w, false);
}

void kd_work_Z_p(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_work_velocity(w, x, w->system->nturns > 0 ? KD_FOR_ALL : KD_FOR_ROWS);
    if (w->Z_p_stamp == x->velocity_stamp) return;
    w->Z_p_stamp = x->velocity_stamp;
    if (s->nturns > 0) kd_work_axes(w, x, KD_FOR_ALL);
    // rates of the columns of these pairs alone
    for (int i = 0; i < s->nturns; i++) {
        int pair = s->measure[s->turn_measure[i]].pair;
        kd_pair_rates(&s->pair[pair], &s->tree, &w->motion, &w->rel[pair], w->dx, w->change + w->change_at[pair]);
    }
    kd_matrix_start(&w->Z_p);
    kd_work_add_kinematics(w, true);
}
