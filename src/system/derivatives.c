// derivatives.c: analytic derivatives of the equations of motion by increments of position, by velocity and by inner
// states, sparse, from the changes of relative motion along tree paths.
//
// With s_k = ds/dq_k the derivative of a measure along dof k of its path, a force f along s gives Q_k = f s_k, so
//
//     dQ_k/dq_l = f s_kl + s_k sum_m f_m (x_m)_l            x_m: variables of the law of f
//
// The first part is that of a frozen load (N, F) on the pair of frames, all forces of a pair together:
//
//     w_k . (F-part) with  l before k:  N x w_l + dN_l,  F x w_l + dF_l;    otherwise:  u_l x F + dN_l,  dF_l
//
// (dN, dF the change of the gradients at frozen f, pair.h for "before"). The second part is an outer product of two
// sparse rows. Multipliers are forces -lambda * (derivative of the row by the measure). The inertia forces are
// differentiated by the tree (newton_euler_derivatives.c). Rows: g_q, then gI_q, gII_q, gII_v from jets along each dof.
//
// The same code runs once on recording matrices, which gives the patterns (matrix.h): the order of additions must not
// depend on numbers.
#include <math.h>
#include <string.h>

#include "element/force.h"
#include "system/derivatives_impl.h"

// ---- columns of measures --------------------------------------------------------------------------------------------

static double component(const kd_vec3 *a, int i)
{
    return i == 0 ? a->x : i == 1 ? a->y : a->z;
}

// The slopes of a measure from the columns w, u of its pair
void kd_work_slope(kd_work *w, int measure)
{
    const kd_measure *m = &w->system->measure[measure];
    const kd_change  *c = change_of(w, m, 0);
    double           *out = w->slope + w->slope_at[measure];
    const int         n = w->system->pair[m->pair].nsteps;
    kd_vec3           N, F;
    // shift: a component of u itself; length: no turn enters; otherwise N.w + F.u
    switch (m->kind) {
    case KD_MEASURE_SHIFT:
        for (int l = 0, i = m->i; l < n; l++) out[l] = (&c[l].u.x)[i];
        break;
    case KD_MEASURE_LENGTH:
        kd_measure_gradient(m, &w->rel[m->pair], &N, &F);
        for (int l = 0; l < n; l++) out[l] = kd_vec_dot(F, c[l].u);
        break;
    default:
        kd_measure_gradient(m, &w->rel[m->pair], &N, &F);
        for (int l = 0; l < n; l++) out[l] = kd_vec_dot(N, c[l].w) + kd_vec_dot(F, c[l].u);
        break;
    }
}

// those of dofs are 1 for good (kd_work_matrices)
static void fill_slopes(kd_work *w, int first, int end)
{
    const kd_system *s = w->system;
    for (int i = first; i < end; i++)
        if (s->measure[i].kind != KD_MEASURE_DOF) kd_work_slope(w, i);
}

// The changes of a measure along dof l, or along its rate.
kd_jet kd_work_jet_along(const kd_work *w, const kd_measure *m, int l, bool by_rate)
{
    if (m->kind == KD_MEASURE_DOF) return (kd_jet){.d = by_rate ? 0.0 : 1.0, .d1 = by_rate ? 1.0 : 0.0};
    // along the dof: the point moves by w, u and takes its rates along; along its rate: only velocities change
    const kd_change *c = change_of(w, m, l);
    const int        i = m->i;
    if (m->kind == KD_MEASURE_SHIFT)
        return by_rate
                   ? (kd_jet){.d1 = component(&c->u, i), .d2 = component(&c->ddd_v, i)}
                   : (kd_jet){.d = component(&c->u, i), .d1 = component(&c->dd_q, i), .d2 = component(&c->ddd_q, i)};
    const kd_tangent along = by_rate ? (kd_tangent){{0, 0, 0}, {0, 0, 0}, c->w, c->u, c->alpha_v, c->ddd_v}
                                     : (kd_tangent){c->w, c->u, c->omega_q, c->dd_q, c->alpha_q, c->ddd_q};
    return kd_measure_jet(m, &w->rel[m->pair], &along, NAN);
}

// ---- frozen loads of pairs ------------------------------------------------------------------------------------------
// Does step l stand before step k?
static bool stands_before(const kd_pair *pair, int l, int k)
{
    if (pair->step[l].block == pair->step[k].block) return pair->step[l].carried && l != k;
    return l < k;
}

// Q += nothing; K -= dQ/dq for the frozen load (N, F) of a pair with changes dN, dF along each step.
static void add_frozen_pair(kd_work *w, int i)
{
    const kd_system *s = w->system;
    const kd_pair   *pair = &s->pair[i];
    const kd_change *c = &w->change[w->change_at[i]];
    kd_vec3          N = w->pair_load[i].N, F = w->pair_load[i].F;
    // column l: change of the load along step l, in both forms of the head
    for (int l = 0; l < pair->nsteps; l++) {
        int column = s->tree.dof_v[pair->step[l].dof];
        if (column < 0) continue;
        kd_vec3 dN = w->frozen_N[w->change_at[i] + l], dF = w->frozen_F[w->change_at[i] + l];
        kd_vec3 N_behind = kd_vec_add(kd_vec_cross(N, c[l].w), dN), F_behind = kd_vec_add(kd_vec_cross(F, c[l].w), dF);
        kd_vec3 N_other = kd_vec_add(kd_vec_cross(c[l].u, F), dN);
        // l before k: N x w_l + dN, F x w_l + dF; otherwise u_l x F + dN, dF
        for (int k = 0; k < pair->nsteps; k++) {
            int row = s->tree.dof_v[pair->step[k].dof];
            if (row < 0) continue;
            double Q = stands_before(pair, l, k) ? kd_vec_dot(c[k].w, N_behind) + kd_vec_dot(c[k].u, F_behind)
                                                 : kd_vec_dot(c[k].w, N_other) + kd_vec_dot(c[k].u, dF);
            // curved joints and letters that bend change their motion, too
            kd_axis bend;
            if (kd_pair_bend_by(pair, &s->tree, &w->motion, &w->rel[i], k, l, &bend))
                Q += kd_vec_dot(bend.w, N) + kd_vec_dot(bend.u, F);
            kd_matrix_add(&w->residual_p, row, column, -Q);
        }
    }
}

// A frozen force along a measure: its load, and the changes of its gradient along the path.
void kd_work_freeze(kd_work *w, int measure, double force)
{
    const kd_measure *m = &w->system->measure[measure];
    if (m->kind == KD_MEASURE_DOF) return;
    kd_work_apply(w, measure, force);
    if (m->kind == KD_MEASURE_SHIFT || m->kind == KD_MEASURE_TURN) return; // gradient is constant
    // gradients that move with the pair: f dN, f dF
    for (int l = 0; l < w->system->pair[m->pair].nsteps; l++) {
        const kd_change *c = change_of(w, m, l);
        int              at = w->change_at[m->pair] + l;
        kd_vec3          dN, dF;
        kd_measure_curvature(m, &w->rel[m->pair], c->w, c->u, &dN, &dF);
        w->frozen_N[at] = kd_vec_axpy(w->frozen_N[at], force, dN);
        w->frozen_F[at] = kd_vec_axpy(w->frozen_F[at], force, dF);
    }
}

// ---- outer products -------------------------------------------------------------------------------------------------
// out -= factor * (ds_m/dq) (dx/dq or dx/dv): rows along the path of the measure, columns along that of the variable
void kd_work_add_outer(kd_work *w, kd_matrix_values *out, int measure, int slot, double factor, bool by_rate)
{
    const kd_measure *m = &w->system->measure[measure];
    const kd_measure *x = &w->system->measure[w->system->slot[slot].index];
    int               level = w->system->slot[slot].level;
    // column by column of the variable, the slopes of the measure times its change
    for (int l = 0; l < column_count(w, x); l++) {
        int column = column_v(w, x, l);
        if (column < 0) continue;
        double change = -factor * variable_change(w, x, level, l, by_rate);
        for (int k = 0; k < column_count(w, m); k++) {
            int row = column_v(w, m, k);
            if (row >= 0) kd_matrix_add(out, row, column, slope(w, m, k) * change);
        }
    }
}

// out[row, :] += factor * change of the variable
static void add_row(kd_work *w, kd_matrix_values *out, int row, int slot, double factor, bool by_rate)
{
    const kd_measure *x = &w->system->measure[w->system->slot[slot].index];
    int               level = w->system->slot[slot].level;
    for (int l = 0; l < column_count(w, x); l++) {
        int column = column_v(w, x, l);
        if (column >= 0) kd_matrix_add(out, row, column, factor * variable_change(w, x, level, l, by_rate));
    }
}

// ---- loads ----------------------------------------------------------------------------------------------------------
// Matrix and column of a variable that is no measure.
static int column_of_other(kd_work *w, kd_slot at, kd_matrix_values **out)
{
    *out = at.kind == KD_SLOT_CONTACT  ? &w->residual_s
           : at.kind == KD_SLOT_LAMBDA ? &w->residual_lambda
           : at.kind == KD_SLOT_W      ? &w->residual_w
                                       : &w->residual_r;
    if (at.kind == KD_SLOT_CONTACT) return w->system->wheel[at.index].contact;
    return at.kind == KD_SLOT_LAMBDA ? w->system->wheel[at.index].lambda : at.index;
}

// Column j of a load's Jacobian: what variable j does to its forces and to the rates of its states
static void add_load_variable(kd_work *w, const kd_load *load, int j, const double *column)
{
    int     slot = load->variable[j];
    kd_slot at = w->system->slot[slot];
    // forces: s_k times df/dx times the change of x; a rate moves with the position, too
    for (int k = 0; k < load->nchannels; k++) {
        if (at.kind == KD_SLOT_MEASURE) {
            if (at.level == 0)
                kd_work_add_outer(w, &w->residual_p, load->channel[k], slot, column[k], false);
            else {
                kd_work_add_outer(w, &w->residual_p, load->channel[k], slot, column[k], false);
                kd_work_add_outer(w, &w->residual_v, load->channel[k], slot, column[k], true);
            }
        } else { // inner state, contact coordinate, multiplier
            const kd_measure *m = &w->system->measure[load->channel[k]];
            kd_matrix_values *out;
            int               place = column_of_other(w, at, &out);
            for (int i = 0; i < column_count(w, m) && place >= 0; i++) {
                int row = column_v(w, m, i);
                if (row >= 0) kd_matrix_add(out, row, place, -column[k] * slope(w, m, i));
            }
        }
    }
    // rates of states: rows of b
    for (int k = 0; k < load->nstates; k++) {
        double b = column[load->nchannels + k];
        if (at.kind == KD_SLOT_MEASURE) {
            add_row(w, &w->b_p, load->state + k, slot, b, false);
            if (at.level == 1) add_row(w, &w->b_v, load->state + k, slot, b, true);
        } else {
            kd_matrix_add(at.kind == KD_SLOT_W ? &w->b_w : &w->b_r, load->state + k, at.index, b);
        }
    }
}

// The derivatives of the equation of an algebraic variable; of_w: by such variables alone
static void add_equation(kd_work *w, int i, bool of_w)
{
    const kd_system *s = w->system;
    const kd_load   *e = &s->equation[i];
    memset(w->small, 0, (size_t)e->nvariables * sizeof *w->small);
    if (!w->recording) kd_law_gradient(e, 0, e->law[0], 1.0, w->slot, w, w->small);
    for (int j = 0; j < e->nvariables; j++) {
        const kd_slot at = s->slot[e->variable[j]];
        if (at.kind == KD_SLOT_W)
            kd_matrix_add(&w->d_w, i, at.index, w->small[j]);
        else if (at.kind == KD_SLOT_HOLD) {
            const int place = s->lambda_of[at.index];
            if (place >= 0)
                kd_matrix_add(&w->d_lambda, i, place, s->row_g[at.index].reversed ? -w->small[j] : w->small[j]);
        } else if (of_w)
            continue;
        else if (at.kind == KD_SLOT_STATE)
            kd_matrix_add(&w->d_r, i, at.index, w->small[j]);
        else {
            add_row(w, &w->d_p, i, e->variable[j], w->small[j], false);
            if (at.level == 1) add_row(w, &w->d_v, i, e->variable[j], w->small[j], true);
        }
    }
}

// The pair that all channels of a load act between; -1: there are several.
static int pair_of_channels(const kd_work *w, const kd_load *load)
{
    int pair = load->nchannels > 1 ? w->system->measure[load->channel[0]].pair : -1;
    for (int k = 1; k < load->nchannels; k++)
        if (w->system->measure[load->channel[k]].pair != pair) return -1;
    return pair;
}

// The pair of a variable that is a measure of one; -1: it is something else.
static int pair_of_variable(const kd_work *w, const kd_load *load, int j)
{
    kd_slot at = w->system->slot[load->variable[j]];
    return at.kind == KD_SLOT_MEASURE ? w->system->measure[at.index].pair : -1;
}

// All variables of one pair together: along each step of its path the changes of the forces first, then their work
// along the path of the channels. Fewer additions by the number of channels times that of variables.
static void add_variables_of_pair(kd_work *w, const kd_load *load, int channels, int pair, const double *J)
{
    const kd_system *s = w->system;
    int              rows = load->nchannels + load->nstates, n = load->nchannels;
    bool             rates = false;
    // are there rates among its variables? decided once: the pattern must not depend on numbers
    for (int j = 0; j < load->nvariables; j++)
        rates = rates || (pair_of_variable(w, load, j) == pair && s->slot[load->variable[j]].level == 1);
    for (int l = 0; l < s->pair[pair].nsteps; l++) {
        int    column = s->tree.dof_v[s->pair[pair].step[l].dof];
        double by_p[6] = {0.0}, by_v[6] = {0.0};
        if (column < 0) continue;
        // change of all forces along step l, by position and by its rate
        for (int j = 0; j < load->nvariables; j++) {
            if (pair_of_variable(w, load, j) != pair) continue;
            kd_slot           at = s->slot[load->variable[j]];
            const kd_measure *x = &s->measure[at.index];
            double            p = variable_change(w, x, at.level, l, false), v = at.level == 1 ? slope(w, x, l) : 0.0;
            for (int k = 0; k < n; k++) by_p[k] += J[k + j * rows] * p, by_v[k] += J[k + j * rows] * v;
        }
        // their work along the path of the channels
        for (int i = 0; i < s->pair[channels].nsteps; i++) {
            int row = s->tree.dof_v[s->pair[channels].step[i].dof];
            if (row < 0) continue;
            double p = 0.0, v = 0.0;
            for (int k = 0; k < n; k++) {
                double along = slope(w, &s->measure[load->channel[k]], i);
                p += along * by_p[k], v += along * by_v[k];
            }
            kd_matrix_add(&w->residual_p, row, column, -p);
            if (rates) kd_matrix_add(&w->residual_v, row, column, -v);
        }
    }
}

static bool is_first_of_pair(const kd_work *w, const kd_load *load, int j, int pair)
{
    for (int i = 0; i < j; i++)
        if (pair_of_variable(w, load, i) == pair) return false;
    return true;
}

static void add_load_variables(kd_work *w, const kd_load *load, const double *J)
{
    int rows = load->nchannels + load->nstates, channels = pair_of_channels(w, load);
    for (int j = 0; j < load->nvariables; j++) {
        int pair = pair_of_variable(w, load, j);
        // several pairs, states, or more forces than by_p has room for: variable by variable
        if (channels < 0 || pair < 0 || load->nstates > 0 || load->nchannels > 6)
            add_load_variable(w, load, j, J + j * rows);
        else if (is_first_of_pair(w, load, j, pair))
            add_variables_of_pair(w, load, channels, pair, J);
    }
}

// One load: derivatives of its law, and its forces as frozen loads. While patterns are recorded no law is asked.
static kd_eval add_load(kd_work *w, int i)
{
    const kd_load *load = &w->system->load[i];
    int            rows = load->nchannels + load->nstates;
    memset(w->small, 0, (size_t)(rows * load->nvariables) * sizeof *w->small);
    bool    asked = !w->recording && (w->part == KD_PART_ALL || load->stiff);
    kd_eval answer = asked ? load->class->jacobian(load, w->slot, w, w->small) : KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return answer;
    add_load_variables(w, load, w->small);
    for (int k = 0; k < load->nchannels; k++)
        kd_work_freeze(w, load->channel[k], asked ? w->force[w->force_at[i] + k] : 0.0);
    return KD_EVAL_OK;
}

// ---- assembly -------------------------------------------------------------------------------------------------------

// All matrices to zero, and their plans to the first entry: entries are added in the order in which they were recorded
static void start_matrices(kd_work *w)
{
    kd_matrix_values *const first[] = {&w->residual_p,
                                       &w->residual_v,
                                       &w->residual_r,
                                       &w->residual_s,
                                       &w->G,
                                       &w->H,
                                       &w->g_p,
                                       &w->g_s,
                                       &w->c_p,
                                       &w->c_s,
                                       &w->gI_p,
                                       &w->gI_s,
                                       &w->h_p,
                                       &w->b_p,
                                       &w->b_v,
                                       &w->b_r,
                                       &w->residual_lambda,
                                       &w->residual_w,
                                       &w->b_w,
                                       &w->d_p,
                                       &w->d_v,
                                       &w->d_r,
                                       &w->d_lambda,
                                       &w->d_w};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) kd_matrix_start(first[i]);
}

// Is the pattern of the residual that of the tree, shared and not recorded? Of a long chain it is large.
bool kd_system_shares_tree(const kd_system *s)
{
    return s->inside_joints && s->dense_tree;
}

// Inertia forces: the pattern of the tree.
static void add_tree(kd_work *w)
{
    const kd_tree *tree = &w->system->tree;
    if (!w->system->dense_tree) return; // too large: these blocks are not given then (equations.c)
    bool asked = !w->recording && w->part == KD_PART_ALL;
    if (asked) kd_tree_residual_derivatives(tree, &w->motion, w->dx, w->ddx, w->tree_p, w->tree_v);
    // loads inside of joints lie within the pattern of the tree, which serves as it is
    if (kd_system_shares_tree(w->system)) {
        for (int k = 0; asked && k < tree->column[tree->nv]; k++) {
            w->residual_p.value[k] += w->tree_p[k];
            w->residual_v.value[k] += w->tree_v[k];
        }
        return;
    }
    // the pattern of the tree, column by column
    for (int j = 0; j < tree->nv; j++)
        for (int k = tree->column[j]; k < tree->column[j + 1]; k++) {
            kd_matrix_add(&w->residual_p, tree->row[k], j, asked ? w->tree_p[k] : 0.0);
            kd_matrix_add(&w->residual_v, tree->row[k], j, asked ? w->tree_v[k] : 0.0);
        }
}

// loads of pairs and their changes start from 0; only pairs that rows and loads use
static void clear_frozen(kd_work *w)
{
    size_t n = (size_t)w->change_at[w->system->upto[KD_FOR_LOADS].pairs];
    kd_work_clear_forces(w);
    memset(w->frozen_N, 0, n * sizeof *w->frozen_N);
    memset(w->frozen_F, 0, n * sizeof *w->frozen_F);
}

// d: rows of the auxiliary variables, algebraic ones first; of_w: as add_equation
static void add_auxiliary(kd_work *w, const double *lambda, bool of_w)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nalgebraic; i++) add_equation(w, i, of_w);
    for (int i = 0; i < s->nacross; i++) {
        const kd_across *a = &s->across[i];
        const int        at = s->nalgebraic + i;
        double           slope[KD_ACROSS_ROWS];
        kd_across_gradient(a, s, lambda, slope);
        // a row that was left out carries nothing
        for (int k = 0; k < a->nrows; k++)
            if (s->lambda_of[a->row[k]] >= 0) kd_matrix_add(&w->d_lambda, at, s->lambda_of[a->row[k]], -slope[k]);
        kd_matrix_add(&w->d_w, at, at, 1.0);
    }
}

kd_eval kd_work_assemble(kd_work *w, const double *lambda, const double *mu)
{
    const kd_system *s = w->system;
    kd_eval          answer = KD_EVAL_OK;
    // the order of additions is that of the recording run: tree, loads, rows, auxiliary variables, pairs last
    clear_frozen(w);
    memcpy(w->kept_jet, w->jet, (size_t)s->nslots * sizeof *w->jet);
    add_tree(w);
    for (int i = 0; i < s->nloads && answer == KD_EVAL_OK && !s->for_start; i++) answer = add_load(w, i);
    kd_work_add_rows(w, lambda, mu);
    add_auxiliary(w, lambda, false);
    for (int i = 0; i < s->upto[KD_FOR_LOADS].pairs && !s->for_start; i++) add_frozen_pair(w, i);
    return answer;
}

void kd_work_axes(kd_work *w, const kd_point *x, kd_extent extent)
{
    const kd_system *s = w->system;
    const kd_counts  upto = s->upto[extent];
    kd_work_position(w, x, extent);
    // another position: all columns are old; otherwise only those are made that are missing up to extent
    if (w->axes_stamp != x->position_stamp) w->turned = (kd_counts){0};
    w->axes_stamp = x->position_stamp;
    const kd_counts from = w->turned;
    if (from.pairs >= upto.pairs && from.measures >= upto.measures) return;
    for (int i = from.pairs; i < upto.pairs; i++)
        kd_pair_axes(&s->pair[i], &s->tree, &w->motion, &w->rel[i], w->change + w->change_at[i]);
    fill_slopes(w, from.measures, upto.measures);
    w->turned = upto;
}

void kd_work_G(kd_work *w, const kd_point *x)
{
    // rows of h read rates: their derivatives are taken where those are known
    if (w->system->nmu > 0) kd_work_velocity(w, x, KD_FOR_ROWS);
    kd_work_axes(w, x, KD_FOR_ROWS);
    if (w->G_stamp == x->position_stamp) return;
    w->G_stamp = x->position_stamp;
    kd_matrix_values *const made[] = {&w->G, &w->H, &w->g_p, &w->g_s, &w->c_p, &w->c_s};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) kd_matrix_start(made[i]);
    kd_work_add_constraint_matrices(w);
}

kd_eval kd_work_derivatives(kd_work *w, const kd_point *x, kd_part part)
{
    const kd_system *s = w->system;
    // point first, forces of the loads next: frozen loads need them
    kd_work_acceleration(w, x, KD_FOR_LOADS);
    kd_eval answer = kd_work_loads(w, x);
    bool    current = w->derivative_stamp == x->acceleration_stamp && w->part == part;
    if (answer != KD_EVAL_OK || current) return answer;
    w->part = part;
    kd_work_axes(w, x, KD_FOR_LOADS);
    w->G_stamp = x->position_stamp;
    // rates of the columns, for derivatives of gI and of forces that read rates
    for (int i = 0; i < s->upto[KD_FOR_LOADS].pairs; i++)
        kd_pair_rates(&s->pair[i], &s->tree, &w->motion, &w->rel[i], w->dx, w->change + w->change_at[i]);
    start_matrices(w);
    kd_work_add_constraint_matrices(w);
    answer = kd_work_assemble(w, x->lambda, x->mu);
    if (answer == KD_EVAL_OK) w->derivative_stamp = x->acceleration_stamp;
    return answer;
}

// the loads and the frozen loads of their pairs, into joint_p and joint_v in place of residual_p and residual_v
kd_eval kd_work_assemble_joints(kd_work *w)
{
    const kd_system       *s = w->system;
    const kd_matrix_values p = w->residual_p, v = w->residual_v;
    kd_eval                answer = KD_EVAL_OK;
    w->residual_p = w->joint_p;
    w->residual_v = w->joint_v;
    clear_frozen(w);
    for (int i = 0; i < s->nloads && answer == KD_EVAL_OK; i++) answer = add_load(w, i);
    for (int i = 0; i < s->upto[KD_FOR_LOADS].pairs; i++) add_frozen_pair(w, i);
    w->joint_p = w->residual_p;
    w->joint_v = w->residual_v;
    w->residual_p = p;
    w->residual_v = v;
    return answer;
}

kd_eval kd_work_joint_derivatives(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_work_acceleration(w, x, KD_FOR_LOADS);
    kd_eval answer = kd_work_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    w->derivative_stamp = 0; // frozen loads and rates of columns are others
    w->part = KD_PART_ALL;
    kd_work_axes(w, x, KD_FOR_LOADS);
    for (int i = 0; i < s->upto[KD_FOR_LOADS].pairs; i++)
        kd_pair_rates(&s->pair[i], &s->tree, &w->motion, &w->rel[i], w->dx, w->change + w->change_at[i]);
    kd_matrix_start(&w->joint_p);
    kd_matrix_start(&w->joint_v);
    return kd_work_assemble_joints(w);
}

void kd_work_second_derivatives(kd_work *w, const kd_point *x)
{
    const kd_system        *s = w->system;
    kd_matrix_values *const second[] = {&w->gII_p, &w->gII_v, &w->gII_s, &w->hI_p, &w->hI_v};
    kd_work_acceleration(w, x, KD_FOR_LOADS);
    if (w->second_stamp == x->acceleration_stamp) return;
    w->second_stamp = x->acceleration_stamp;
    kd_work_axes(w, x, KD_FOR_LOADS);
    // columns with rates and accelerations
    for (int i = 0; i < s->upto[KD_FOR_LOADS].pairs; i++)
        kd_pair_changes(&s->pair[i], &s->tree, &w->motion, &w->rel[i], w->dx, w->ddx, w->change + w->change_at[i]);
    for (size_t i = 0; i < sizeof second / sizeof *second; i++) kd_matrix_start(second[i]);
    kd_work_add_second_rows(w);
}

// The residual by the multipliers alone, for iterations on accelerations: loads, then rows, as in kd_work_assemble().
kd_eval kd_work_multipliers(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_work_acceleration(w, x, KD_FOR_LOADS);
    kd_eval answer = kd_work_loads(w, x);
    bool    current = w->derivative_stamp == x->acceleration_stamp && w->part == KD_PART_ALL;
    if (answer != KD_EVAL_OK || current) return answer;
    w->derivative_stamp = 0; // the matrices are no longer of one point
    kd_work_axes(w, x, KD_FOR_LOADS);
    kd_matrix_start(&w->residual_lambda);
    // creep forces that depend on the load of their wheel: the multiplier is the last variable
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *load = &s->load[i];
        if (!load->wheel || !load->wheel->by_load) continue;
        memset(w->small, 0, (size_t)(6 * load->nvariables) * sizeof *w->small); // what a law does not set is zero
        answer = load->class->jacobian(load, w->slot, w, w->small);
        if (answer != KD_EVAL_OK) return answer;
        add_load_variable(w, load, load->nvariables - 1, w->small + 6 * (load->nvariables - 1));
    }
    for (int i = 0; i < s->nlambda; i++) kd_work_add_gradient_column(w, &s->row_g[s->kept[i]], i);
    return KD_EVAL_OK;
}

static bool reads_auxiliary(const kd_system *s, const kd_load *load)
{
    for (int j = 0; j < load->nvariables; j++)
        if (s->slot[load->variable[j]].kind == KD_SLOT_W) return true;
    return false;
}

// The residual by the auxiliary variables and their own equations alone, for the same
kd_eval kd_work_auxiliary(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_work_velocity(w, x, KD_FOR_LOADS);
    kd_eval answer = kd_work_loads(w, x);
    bool    current = w->derivative_stamp == x->acceleration_stamp && w->part == KD_PART_ALL;
    if (answer != KD_EVAL_OK || current) return answer;
    w->derivative_stamp = 0; // the matrices are no longer of one point
    kd_work_axes(w, x, KD_FOR_LOADS);
    kd_matrix_values *const made[] = {&w->residual_w, &w->b_w, &w->d_lambda, &w->d_w};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) kd_matrix_start(made[i]);
    // loads that read auxiliary variables
    for (int i = 0; i < s->nloads && !s->for_start; i++) {
        const kd_load *load = &s->load[i];
        int            rows = load->nchannels + load->nstates;
        if (!reads_auxiliary(s, load)) continue;
        memset(w->small, 0, (size_t)(rows * load->nvariables) * sizeof *w->small);
        answer = load->class->jacobian(load, w->slot, w, w->small);
        if (answer != KD_EVAL_OK) return answer;
        for (int j = 0; j < load->nvariables; j++)
            if (s->slot[load->variable[j]].kind == KD_SLOT_W) add_load_variable(w, load, j, w->small + j * rows);
    }
    add_auxiliary(w, x->lambda, true);
    return KD_EVAL_OK;
}
