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
#include "math/linsolve.h"

// ---- columns of measures --------------------------------------------------------------------------------------------

// a measure has a column for each step of its path; a dof has one, its own
static int column_count(const kd_work *w, const kd_measure *m)
{
    return m->kind == KD_MEASURE_DOF ? 1 : w->system->pair[m->pair].nsteps;
}

static int column_dof(const kd_work *w, const kd_measure *m, int l)
{
    return m->kind == KD_MEASURE_DOF ? m->dof : w->system->pair[m->pair].step[l].dof;
}

// place in v of column l of a measure; -1: prescribed
static int column_v(const kd_work *w, const kd_measure *m, int l)
{
    return m->kind == KD_MEASURE_DOF ? w->system->tree.dof_v[m->dof] : w->system->pair[m->pair].step[l].v;
}

static const kd_change *change_of(const kd_work *w, const kd_measure *m, int l)
{
    return &w->change[w->change_at[m->pair] + l];
}

// ds/dq_l
static double slope(const kd_work *w, const kd_measure *m, int l)
{
    return w->slope[w->slope_at[m - w->system->measure] + l];
}

static double component(const kd_vec3 *a, int i)
{
    return i == 0 ? a->x : i == 1 ? a->y : a->z;
}

// The slopes of a measure from the columns w, u of its pair
static void fill_slope(kd_work *w, const kd_measure *m, double *out)
{
    const kd_change *c = change_of(w, m, 0);
    const int        n = w->system->pair[m->pair].nsteps;
    kd_vec3          N, F;
    // shift: a component of u itself; length: no turn enters; otherwise N.w + F.u
    switch (m->kind) {
    case KD_MEASURE_SHIFT:
        for (int l = 0; l < n; l++) out[l] = component(&c[l].u, m->i);
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
        if (s->measure[i].kind != KD_MEASURE_DOF) fill_slope(w, &s->measure[i], w->slope + w->slope_at[i]);
}

// The measure with its changes along dof l, or along its rate.
static kd_jet jet_along(const kd_work *w, const kd_measure *m, int l, bool by_rate)
{
    if (m->kind == KD_MEASURE_DOF) return (kd_jet){.d = by_rate ? 0.0 : 1.0, .d1 = by_rate ? 1.0 : 0.0};
    const kd_change *c = change_of(w, m, l);
    // along the dof: the point moves by w, u and takes its rates along; along its rate: only velocities change
    kd_tangent along_position = {c->w, c->u, c->omega_q, c->dd_q, c->alpha_q, c->ddd_q};
    kd_tangent along_rate = {{0, 0, 0}, {0, 0, 0}, c->w, c->u, c->alpha_v, c->ddd_v};
    return kd_measure_jet(m, &w->rel[m->pair], by_rate ? &along_rate : &along_position, NAN);
}

// Change of a variable (level of a measure) along dof l or along its rate.
static double variable_change(const kd_work *w, const kd_measure *m, int level, int l, bool by_rate)
{
    if (level == 0) return by_rate ? 0.0 : slope(w, m, l);
    if (by_rate) return slope(w, m, l);
    return jet_along(w, m, l, false).d1;
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
            kd_matrix_add(&w->residual_p, row, column, -Q);
        }
    }
}

// A frozen force along a measure: its load, and the changes of its gradient along the path.
static void freeze(kd_work *w, int measure, double force)
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
static void add_outer(kd_work *w, kd_matrix_values *out, int measure, int slot, double factor, bool by_rate)
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
                add_outer(w, &w->residual_p, load->channel[k], slot, column[k], false);
            else {
                add_outer(w, &w->residual_p, load->channel[k], slot, column[k], false);
                add_outer(w, &w->residual_v, load->channel[k], slot, column[k], true);
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
        else if (of_w)
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
    for (int k = 0; k < load->nchannels; k++) freeze(w, load->channel[k], asked ? w->force[w->force_at[i] + k] : 0.0);
    return KD_EVAL_OK;
}

// ---- rows -----------------------------------------------------------------------------------------------------------
static bool is_measure(const kd_work *w, int slot)
{
    return w->system->slot[slot].kind == KD_SLOT_MEASURE;
}

// out[row, :] += factor * slope
static void add_slopes(kd_work *w, kd_matrix_values *out, int row, const kd_measure *m, double factor)
{
    const double  *along = w->slope + w->slope_at[m - w->system->measure];
    const kd_step *step = m->kind == KD_MEASURE_DOF ? NULL : w->system->pair[m->pair].step;
    const int      n = column_count(w, m);
    // by kd_matrix_add, or the same without its calls: places of the plan one after the other
    if (out->recording || !step) {
        for (int l = 0; l < n; l++)
            if (column_v(w, m, l) >= 0) kd_matrix_add(out, row, column_v(w, m, l), factor * along[l]);
        return;
    }
    const int *place = out->plan->place + out->next; // as kd_matrix_add does it
    double    *value = out->value;
    int        added = 0;
    for (int l = 0; l < n; l++)
        if (step[l].v >= 0) value[place[added++]] += factor * along[l];
    out->next += added;
}

// G (or H): derivatives of a row by increments (by velocities), from the slopes of its terms.
static void add_gradient_row(kd_work *w, kd_matrix_values *out, const kd_row *row, int number, int level)
{
    const kd_system *s = w->system;
    const double    *by = row->coefficient ? row->coefficient : w->small;
    if (!row->coefficient) kd_row_gradient(row, w, w->small);
    // terms of the level that the matrix is for: 0 positions (G), 1 rates (H)
    for (int i = 0; i < row->nterms; i++) {
        const kd_slot at = s->slot[row->slot[i]];
        if (at.kind == KD_SLOT_MEASURE && at.level == level) add_slopes(w, out, number, &s->measure[at.index], by[i]);
    }
}

// The same for the multipliers: residual by lambda, transposed.
static void add_gradient_column(kd_work *w, const kd_row *row, int number)
{
    kd_row_gradient(row, w, w->small);
    for (int i = 0; i < row->nterms; i++) {
        if (!is_measure(w, row->slot[i]) || w->system->slot[row->slot[i]].level != 0) continue;
        const kd_measure *m = &w->system->measure[w->system->slot[row->slot[i]].index];
        for (int l = 0; l < column_count(w, m); l++) {
            int column = column_v(w, m, l);
            if (column >= 0) kd_matrix_add(&w->residual_lambda, column, number, w->small[i] * slope(w, m, l));
        }
    }
}

// g by p and s at fixed other ones, c by p and s, where contact coordinates are unknowns.
static void add_contact_row(kd_work *w, const kd_row *row, int number)
{
    kd_wheel_point at;
    if (!row->wheel || !row->wheel->unknown) {
        add_gradient_row(w, &w->g_p, row, number, 0);
        return;
    }
    // derivatives of g and of the tangency c by the inputs of the wheel, each along its path
    int contact = row->wheel->contact;
    kd_row_contact(row, w, &at);
    for (int i = 0; i < row->nterms; i++) {
        const kd_measure *m = &w->system->measure[w->system->slot[row->slot[i]].index];
        for (int l = 0; l < column_count(w, m); l++) {
            int column = column_v(w, m, l);
            if (column < 0) continue;
            kd_matrix_add(&w->g_p, number, column, at.g_x[i] * slope(w, m, l));
            kd_matrix_add(&w->c_p, contact, column, at.c_x[i] * slope(w, m, l));
        }
    }
    kd_matrix_add(&w->g_s, number, contact, at.g_x[KD_WHEEL_INPUTS]);
    kd_matrix_add(&w->c_s, contact, contact, at.c_x[KD_WHEEL_INPUTS]);
}

// The jet of a term as its level says: a rate is the derivative of the measure's jet.
static kd_jet at_level(kd_jet j, int level)
{
    return level == 0 ? j : (kd_jet){.d = j.d1, .d1 = j.d2};
}

typedef struct row_targets { // value level of the change: d, d1, d2 by position; d1, d2 by rate
    kd_matrix_values *p[3], *v[3];
    bool              by_rate; // is there one by rate?
} row_targets;

static void put_changes(int number, int column, kd_jet by_position, kd_jet by_rate, const row_targets *out)
{
    const double p[3] = {by_position.d, by_position.d1, by_position.d2}, v[3] = {by_rate.d, by_rate.d1, by_rate.d2};
    for (int i = 0; i < 3; i++) {
        if (out->p[i]) kd_matrix_add(out->p[i], number, column, p[i]);
        if (out->v[i]) kd_matrix_add(out->v[i], number, column, v[i]);
    }
}

// linear rows: the coefficient times the jet of each term
static void add_linear_changes(kd_work *w, const kd_row *row, int number, const row_targets *out)
{
    for (int i = 0; i < row->nterms; i++) {
        kd_slot           at = w->system->slot[row->slot[i]];
        const kd_measure *m = &w->system->measure[at.index];
        for (int l = 0; l < column_count(w, m); l++) {
            int column = column_v(w, m, l);
            if (column < 0) continue;
            kd_jet p = kd_jet_scale(row->coefficient[i], at_level(jet_along(w, m, l, false), at.level)), v = {0};
            if (out->by_rate) v = kd_jet_scale(row->coefficient[i], at_level(jet_along(w, m, l, true), at.level));
            put_changes(number, column, p, v, out);
        }
    }
}

// Tangents of all terms along one dof are set, the expression is evaluated, the tangents are cleared.
static kd_jet expression_along(kd_work *w, const kd_row *row, int dof, bool by_rate)
{
    const kd_system *s = w->system;
    // each measure of the row moves along this dof; others stay
    for (int i = 0; i < row->nterms; i++) {
        kd_slot at = s->slot[row->slot[i]];
        if (at.kind != KD_SLOT_MEASURE) continue;
        const kd_measure *m = &s->measure[at.index];
        kd_jet            sum = {0}; // letters of a word that folds have the same dof
        for (int l = 0; l < column_count(w, m); l++)
            if (column_dof(w, m, l) == dof) sum = kd_jet_add(sum, at_level(jet_along(w, m, l, by_rate), at.level));
        kd_jet *jet = &w->jet[row->slot[i]];
        jet->d = sum.d, jet->d1 = sum.d1, jet->d2 = sum.d2;
    }
    kd_jet value = w->recording ? kd_jet_const(0.0) : kd_row_jet(row, w);
    for (int i = 0; i < row->nterms; i++)
        w->jet[row->slot[i]].d = w->jet[row->slot[i]].d1 = w->jet[row->slot[i]].d2 = 0.0;
    return value;
}

// Dofs that appear in earlier terms, or in an earlier column of this one, are done already.
static bool is_done(const kd_work *w, const kd_row *row, int term, int column, int dof)
{
    for (int i = 0; i <= term; i++) {
        kd_slot at = w->system->slot[row->slot[i]];
        if (at.kind != KD_SLOT_MEASURE) continue;
        const kd_measure *m = &w->system->measure[at.index];
        for (int l = 0; l < (i < term ? column_count(w, m) : column); l++)
            if (column_dof(w, m, l) == dof) return true;
    }
    return false;
}

static void add_expression_changes(kd_work *w, const kd_row *row, int number, const row_targets *out)
{
    const kd_system *s = w->system;
    // every dof once, over all terms: an expression sees all of its terms move together
    for (int i = 0; i < row->nterms; i++) {
        kd_slot at = s->slot[row->slot[i]];
        if (at.kind != KD_SLOT_MEASURE) continue;
        const kd_measure *m = &s->measure[at.index];
        for (int l = 0; l < column_count(w, m); l++) {
            int dof = column_dof(w, m, l), column = s->tree.dof_v[dof];
            if (column < 0 || is_done(w, row, i, l, dof)) continue;
            kd_jet p = expression_along(w, row, dof, false), v = {0};
            if (out->by_rate) v = expression_along(w, row, dof, true);
            put_changes(number, column, p, v, out);
        }
    }
}

void kd_work_row_gradient(kd_work *w, const kd_point *x, const kd_row *row, int rows, double *by_p, double *by_v)
{
    const kd_system *s = w->system;
    kd_work_axes(w, x, KD_FOR_ROWS);
    for (int i = 0; i < s->upto[KD_FOR_ROWS].pairs; i++)
        kd_pair_rates(&s->pair[i], &w->rel[i], w->dx, w->change + w->change_at[i]);
    for (int j = 0; j < s->nv; j++) {
        by_p[j * rows] = expression_along(w, row, s->tree.v_dof[j], false).d;
        by_v[j * rows] = expression_along(w, row, s->tree.v_dof[j], true).d;
    }
}

static bool is_nonlinear(const kd_row *row)
{
    return row->expr || row->wheel;
}

static void add_changes(kd_work *w, const kd_row *row, int number, const row_targets *out)
{
    if (is_nonlinear(row))
        add_expression_changes(w, row, number, out);
    else
        add_linear_changes(w, row, number, out);
}

// Second derivative of an expression by two of its terms (a wheel: j = nterms is the coordinate of contact): the mixed
// part of a jet that moves along both.
static double mixed(kd_work *w, const kd_row *row, int i, int j)
{
    if (w->recording) return 0.0;
    // along i as if in time (x1), along j as tangent (d): the mixed derivative stands in d1
    for (int k = 0; k < row->nterms; k++) {
        w->jet[row->slot[k]].x1 = k == i;
        w->jet[row->slot[k]].x2 = 0.0;
        w->jet[row->slot[k]].d = k == j;
        w->jet[row->slot[k]].d1 = w->jet[row->slot[k]].d2 = 0.0;
    }
    return row->wheel ? kd_row_contact_jet(row, w, j == row->nterms ? 1.0 : 0.0).d1 : kd_row_jet(row, w).d1;
}

// residual_s: the force of a multiplier along a term changes with the coordinate of contact
static void add_contact_column(kd_work *w, const kd_row *row, int term, double change)
{
    const kd_measure *m = &w->system->measure[w->system->slot[row->slot[term]].index];
    for (int k = 0; k < column_count(w, m); k++) {
        int v = column_v(w, m, k);
        if (v >= 0) kd_matrix_add(&w->residual_s, v, row->wheel->contact, change * slope(w, m, k));
    }
}

// gI (second: gII) by the coordinate of contact
static void add_contact_changes(kd_work *w, const kd_row *row, int number, bool second)
{
    if (!row->wheel || !row->wheel->unknown) return;
    kd_jet along = kd_row_contact_jet(row, w, 1.0);
    kd_matrix_add(second ? &w->gII_s : &w->gI_s, number, row->wheel->contact, second ? along.d2 : along.d1);
}

// The force of a multiplier: frozen, and where the row is an expression by the changes of its derivatives.
static void add_multiplier(kd_work *w, const kd_row *row, double multiplier, int level)
{
    const kd_system *s = w->system;
    // -multiplier * coefficient along each measure, frozen
    kd_row_gradient(row, w, w->small);
    for (int i = 0; i < row->nterms; i++) {
        kd_slot at = s->slot[row->slot[i]];
        if (at.kind == KD_SLOT_MEASURE && at.level == level) freeze(w, at.index, -multiplier * w->small[i]);
    }
    if (!is_nonlinear(row)) return;
    // with an unknown coordinate of contact, i moves it and j does not
    bool symmetric = level == 0 && !(row->wheel && row->wheel->unknown);
    // second derivatives of the row by pairs of terms: products of slopes, twice off the diagonal where symmetric
    for (int i = 0; i < row->nterms; i++) {
        kd_slot at = s->slot[row->slot[i]];
        if (at.kind != KD_SLOT_MEASURE || at.level != level) continue;
        if (row->wheel && row->wheel->unknown)
            add_contact_column(w, row, i, multiplier * mixed(w, row, i, row->nterms));
        for (int j = symmetric ? i : 0; j < row->nterms; j++) {
            kd_slot other = s->slot[row->slot[j]];
            if (!is_measure(w, row->slot[j]) || other.level != 0) continue;
            double change = -multiplier * mixed(w, row, i, j);
            add_outer(w, &w->residual_p, at.index, row->slot[j], change, false);
            if (symmetric && j > i) add_outer(w, &w->residual_p, other.index, row->slot[i], change, false);
        }
    }
}

// mixed() leaves the jets of the terms changed.
static void restore_jets(kd_work *w, const kd_row *row)
{
    const kd_system *s = w->system;
    for (int i = 0; is_nonlinear(row) && i < row->nterms; i++) {
        kd_slot at = s->slot[row->slot[i]];
        kd_jet *jet = &w->jet[row->slot[i]];
        if (at.kind == KD_SLOT_MEASURE && at.level == 0)
            *jet = (kd_jet){.x = w->value[at.index], .x1 = w->rate[at.index], .x2 = w->acceleration[at.index]};
        else if (at.kind == KD_SLOT_MEASURE)
            *jet = (kd_jet){.x = w->rate[at.index], .x1 = w->acceleration[at.index]};
        else
            *jet = w->kept_jet[row->slot[i]];
    }
}

// ---- assembly -------------------------------------------------------------------------------------------------------

// one list of all matrices and one of their plans, in the same order; so are the sizes in kd_system_plan
static kd_matrix_values *all_matrices(kd_work *w, int i)
{
    kd_matrix_values *const list[] = {
        &w->residual_p, &w->residual_v, &w->residual_r, &w->G,     &w->H,          &w->gI_p,
        &w->gII_p,      &w->gII_v,      &w->h_p,        &w->hI_p,  &w->hI_v,       &w->b_p,
        &w->b_v,        &w->b_r,        &w->Z,          &w->Z_p,   &w->g_p,        &w->g_s,
        &w->c_p,        &w->c_s,        &w->gI_s,       &w->gII_s, &w->residual_s, &w->residual_lambda,
        &w->residual_w, &w->d_lambda,   &w->d_w,        &w->b_w,   &w->d_p,        &w->d_v,
        &w->d_r};
    return i < (int)(sizeof list / sizeof *list) ? list[i] : NULL;
}

static const kd_matrix_plan *all_plans(const kd_system *s, int i)
{
    const kd_matrix_plan *const list[] = {
        &s->residual_p, &s->residual_v, &s->residual_r, &s->G,     &s->H,          &s->gI_p,
        &s->gII_p,      &s->gII_v,      &s->h_p,        &s->hI_p,  &s->hI_v,       &s->b_p,
        &s->b_v,        &s->b_r,        &s->Z,          &s->Z_p,   &s->g_p,        &s->g_s,
        &s->c_p,        &s->c_s,        &s->gI_s,       &s->gII_s, &s->residual_s, &s->residual_lambda,
        &s->residual_w, &s->d_lambda,   &s->d_w,        &s->b_w,   &s->d_p,        &s->d_v,
        &s->d_r};
    return i < (int)(sizeof list / sizeof *list) ? list[i] : NULL;
}

const kd_matrix_values *kd_work_matrix(kd_work *w, const kd_matrix_plan *plan)
{
    for (int i = 0; all_matrices(w, i); i++)
        if (all_plans(w->system, i) == plan) return all_matrices(w, i);
    return NULL;
}

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
static bool shares_tree(const kd_system *s)
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
    if (shares_tree(w->system)) {
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

static void add_rows(kd_work *w, const double *lambda, const double *mu)
{
    const kd_system *s = w->system;
    // g: gI by position, G' where forces read multipliers, forces of the multipliers
    for (int i = 0; i < s->nlambda; i++) {
        const kd_row     *row = &s->row_g[s->kept[i]];
        const row_targets out = {.p = {NULL, &w->gI_p, NULL}};
        add_changes(w, row, i, &out);
        add_contact_changes(w, row, i, false);
        if (s->by_multipliers && !s->for_start) add_gradient_column(w, row, i);
        if (!s->for_start) add_multiplier(w, row, w->part == KD_PART_ALL ? lambda[i] : 0.0, 0);
        restore_jets(w, row);
    }
    // h: by position, forces of its multipliers along rates
    for (int i = 0; i < s->nmu; i++) {
        const kd_row     *row = &s->row_h[i];
        const row_targets out = {.p = {&w->h_p, NULL, NULL}};
        add_changes(w, row, i, &out);
        if (!s->for_start) add_multiplier(w, row, w->part == KD_PART_ALL ? mu[i] : 0.0, 1);
        restore_jets(w, row);
    }
}

// The acceleration level, which only the forms of index 1 and psf ask for
static void add_second_rows(kd_work *w)
{
    const kd_system  *s = w->system;
    const row_targets g = {.p = {NULL, NULL, &w->gII_p}, .v = {NULL, NULL, &w->gII_v}, .by_rate = true};
    const row_targets h = {.p = {NULL, &w->hI_p, NULL}, .v = {NULL, &w->hI_v, NULL}, .by_rate = true};
    for (int i = 0; i < s->nlambda; i++) {
        add_changes(w, &s->row_g[s->kept[i]], i, &g);
        add_contact_changes(w, &s->row_g[s->kept[i]], i, true);
    }
    for (int i = 0; i < s->nmu; i++) add_changes(w, &s->row_h[i], i, &h);
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

// G, with contact coordinates also g and c by p and s; H
static void add_constraint_matrices(kd_work *w)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nlambda; i++) add_gradient_row(w, &w->G, &s->row_g[s->kept[i]], i, 0);
    for (int i = 0; s->ns > 0 && i < s->nlambda; i++) add_contact_row(w, &s->row_g[s->kept[i]], i);
    for (int i = 0; i < s->nmu; i++) add_gradient_row(w, &w->H, &s->row_h[i], i, 1);
}

static kd_eval assemble(kd_work *w, const double *lambda, const double *mu)
{
    const kd_system *s = w->system;
    kd_eval          answer = KD_EVAL_OK;
    // the order of additions is that of the recording run: tree, loads, rows, auxiliary variables, pairs last
    clear_frozen(w);
    memcpy(w->kept_jet, w->jet, (size_t)s->nslots * sizeof *w->jet);
    add_tree(w);
    for (int i = 0; i < s->nloads && answer == KD_EVAL_OK && !s->for_start; i++) answer = add_load(w, i);
    add_rows(w, lambda, mu);
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
    add_constraint_matrices(w);
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
        kd_pair_rates(&s->pair[i], &w->rel[i], w->dx, w->change + w->change_at[i]);
    start_matrices(w);
    add_constraint_matrices(w);
    answer = assemble(w, x->lambda, x->mu);
    if (answer == KD_EVAL_OK) w->derivative_stamp = x->acceleration_stamp;
    return answer;
}

// the loads and the frozen loads of their pairs, into joint_p and joint_v in place of residual_p and residual_v
static kd_eval assemble_joints(kd_work *w)
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
        kd_pair_rates(&s->pair[i], &w->rel[i], w->dx, w->change + w->change_at[i]);
    kd_matrix_start(&w->joint_p);
    kd_matrix_start(&w->joint_v);
    return assemble_joints(w);
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
        kd_pair_changes(&s->pair[i], &w->rel[i], w->dx, w->ddx, w->change + w->change_at[i]);
    for (size_t i = 0; i < sizeof second / sizeof *second; i++) kd_matrix_start(second[i]);
    add_second_rows(w);
}

// The residual by the multipliers alone, for iterations on accelerations: loads, then rows, as in assemble().
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
        answer = load->class->jacobian(load, w->slot, w, w->small);
        if (answer != KD_EVAL_OK) return answer;
        add_load_variable(w, load, load->nvariables - 1, w->small + 6 * (load->nvariables - 1));
    }
    for (int i = 0; i < s->nlambda; i++) add_gradient_column(w, &s->row_g[s->kept[i]], i);
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

// ---- patterns -------------------------------------------------------------------------------------------------------

// memory of the factors of K, the matrix of the accelerations' equations (topological.c)
static void cut_kkt(kd_work *w)
{
    const kd_topological *t = &w->system->topological;
    if (t->pivoting) {
        w->kkt_values = kd_cut_double(&w->arena, t->full_column[t->n]);
        if (kd_sparse_lu_create(t->n, t->full_column, t->full_row, &w->kkt_lu) != KD_OK) w->arena.failed = true;
    }
    w->kkt_L = kd_cut_double(&w->arena, t->L_column[t->n]);
    w->kkt_row = kd_cut_int(&w->arena, t->L_column[t->n]);
    w->kkt_D = kd_cut_double(&w->arena, t->n);
    w->kkt_y = kd_cut_double(&w->arena, t->n);
    w->kkt_b = kd_cut_double(&w->arena, t->n);
    w->kkt_zero = kd_cut_double(&w->arena, t->n);
    w->kkt_mark = kd_cut_int(&w->arena, t->n);
    w->kkt_pattern = kd_cut_int(&w->arena, t->n);
    w->kkt_filled = kd_cut_int(&w->arena, t->n);
}

bool kd_work_matrices(kd_work *w)
{
    const kd_system *s = w->system;
    int              n = w->change_at[s->npairs], entries = s->dense_tree ? s->tree.column[s->tree.nv] : 0;
    // changes of frozen loads by columns, slopes by measures
    w->frozen_N = kd_arena_cut(&w->arena, (size_t)n, sizeof *w->frozen_N);
    w->frozen_F = kd_arena_cut(&w->arena, (size_t)n, sizeof *w->frozen_F);
    w->slope_at = kd_cut_int(&w->arena, s->nmeasures + 1);
    for (int i = 0; w->slope_at && i < s->nmeasures; i++)
        w->slope_at[i + 1] = w->slope_at[i] + column_count(w, &s->measure[i]);
    w->slope = kd_cut_double(&w->arena, w->slope_at ? w->slope_at[s->nmeasures] : 0);
    for (int i = 0; w->slope_at && w->slope && i < s->nmeasures; i++) // for good
        if (s->measure[i].kind == KD_MEASURE_DOF) w->slope[w->slope_at[i]] = 1.0;
    w->kept_jet = kd_arena_cut(&w->arena, (size_t)s->nslots, sizeof *w->kept_jet);
    w->tree_p = kd_cut_double(&w->arena, entries);
    w->tree_v = kd_cut_double(&w->arena, entries);
    w->tree_M = kd_cut_double(&w->arena, entries);
    // without a plan this is the recording run, and matrices collect their entries
    w->recording = !s->planned;
    for (int i = 0; all_matrices(w, i); i++) {
        kd_matrix_values *m = all_matrices(w, i);
        m->plan = all_plans(s, i);
        m->recording = w->recording;
        if (s->planned) m->value = kd_cut_double(&w->arena, m->plan->column[m->plan->columns]);
    }
    w->joint_p = (kd_matrix_values){.plan = &s->joint_p, .recording = w->recording};
    w->joint_v = (kd_matrix_values){.plan = &s->joint_v, .recording = w->recording};
    if (s->planned && s->topological.L_column) cut_kkt(w);
    return !w->arena.failed;
}

// Plans of the loads alone, where they act inside of joints
static kd_status plan_joints(kd_system *s, kd_work *w)
{
    if (!s->inside_joints) return KD_OK;
    (void)assemble_joints(w); // in a recording run no law is asked
    kd_matrix_values *const values[] = {&w->joint_p, &w->joint_v};
    kd_matrix_plan *const   plan[] = {&s->joint_p, &s->joint_v};
    kd_status               status = KD_OK;
    for (int i = 0; i < 2; i++) {
        plan[i]->rows = plan[i]->columns = s->nv;
        kd_status made = kd_matrix_plan_make(plan[i], values[i], &s->arena);
        if (made < 0) status = made;
    }
    return status;
}

kd_status kd_system_plan(kd_system *s)
{
    const int rows[] = {s->nv,      s->nv,      s->nv,  s->nlambda, s->nmu,     s->nlambda, s->nlambda, s->nlambda,
                        s->nmu,     s->nmu,     s->nmu, s->nr,      s->nr,      s->nr,      s->np,      s->np,
                        s->nlambda, s->nlambda, s->ns,  s->ns,      s->nlambda, s->nlambda, s->nv,      s->nv,
                        s->nv,      s->nw,      s->nw,  s->nr,      s->nw,      s->nw,      s->nw};
    const int columns[] = {s->nv, s->nv,      s->nr, s->nv,      s->nv, s->nv, s->nv, s->nv, s->nv, s->nv, s->nv,
                           s->nv, s->nv,      s->nr, s->nv,      s->nv, s->nv, s->ns, s->nv, s->ns, s->ns, s->ns,
                           s->ns, s->nlambda, s->nw, s->nlambda, s->nw, s->nw, s->nv, s->nv, s->nr};
    s->planned = false;
    s->inside_joints = kd_system_acts_inside_joints(s);
    kd_work  *w = kd_work_create(s);
    double   *zero = kd_alloc((size_t)(s->nlambda + s->nmu) * sizeof *zero);
    kd_status status = w && zero ? KD_OK : KD_ERR_MEMORY;
    if (status == KD_OK) {
        add_constraint_matrices(w);
        (void)assemble(w, zero, zero); // in a recording run no law is asked
        add_second_rows(w);
        kd_work_add_kinematics(w, false);
        kd_work_add_kinematics(w, true);
    }
    // entries of the recording run become patterns, of the sizes above
    for (int i = 0; status == KD_OK && all_matrices(w, i); i++) {
        kd_matrix_plan *plan = (kd_matrix_plan *)all_plans(s, i);
        plan->rows = rows[i];
        plan->columns = columns[i];
        const bool by_tree = (plan == &s->residual_p || plan == &s->residual_v) && shares_tree(s);
        status = by_tree ? kd_matrix_plan_within(plan, all_matrices(w, i), s->tree.column, s->tree.row, &s->arena)
                         : kd_matrix_plan_make(plan, all_matrices(w, i), &s->arena);
    }
    for (int i = 0; w && all_matrices(w, i); i++)
        kd_free(all_matrices(w, i)->pair); // those that were not made a plan of
    if (status == KD_OK) status = plan_joints(s, w);
    kd_free(zero);
    kd_work_destroy(w);
    s->planned = status == KD_OK;
    return status == KD_OK ? kd_topological_plan(s) : status;
}
