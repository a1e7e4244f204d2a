// derivatives_rows.c: constraints: gradients of rows, changes of their rates and accelerations, forces of multipliers;
// G, H, gI, gII and hI by positions and velocities, rows of contact coordinates.
#include <string.h>

#include "system/derivatives_impl.h"

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

// ---- G by a list ----------------------------------------------------------------------------------------------------
// Where all rows are linear, each addition to G is a number of the row times a slope: the walk of add_gradient_row, written
// down once.
static int list_gradients(const kd_work *w, kd_gradient *list)
{
    const kd_system *s = w->system;
    int              n = 0;
    for (int i = 0; i < s->nlambda; i++) {
        const kd_row *row = &s->row_g[s->kept[i]];
        for (int t = 0; t < row->nterms; t++) {
            const kd_slot at = s->slot[row->slot[t]];
            if (at.kind != KD_SLOT_MEASURE || at.level != 0) continue;
            const kd_measure *m = &s->measure[at.index];
            for (int l = 0; l < column_count(w, m); l++) {
                if (column_v(w, m, l) < 0) continue;
                if (list) list[n] = (kd_gradient){w->G.plan->place[n], w->slope_at[at.index] + l, &row->coefficient[t]};
                n++;
            }
        }
    }
    return n;
}

void kd_work_list_gradients(kd_work *w)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nlambda; i++)
        if (!s->row_g[s->kept[i]].coefficient) return;
    w->ngradients = list_gradients(w, NULL);
    w->gradients = kd_arena_cut(&w->arena, (size_t)w->ngradients, sizeof *w->gradients);
    if (w->gradients) (void)list_gradients(w, w->gradients);
}

// The same for the multipliers: residual by lambda, transposed.
void kd_work_add_gradient_column(kd_work *w, const kd_row *row, int number)
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
            kd_jet p = kd_jet_scale(row->coefficient[i], at_level(kd_work_jet_along(w, m, l, false), at.level)),
                   v = {0};
            if (out->by_rate)
                v = kd_jet_scale(row->coefficient[i], at_level(kd_work_jet_along(w, m, l, true), at.level));
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
            if (column_dof(w, m, l) == dof)
                sum = kd_jet_add(sum, at_level(kd_work_jet_along(w, m, l, by_rate), at.level));
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
        kd_pair_rates(&s->pair[i], &s->tree, &w->motion, &w->rel[i], w->dx, w->change + w->change_at[i]);
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
        if (at.kind == KD_SLOT_MEASURE && at.level == level) kd_work_freeze(w, at.index, -multiplier * w->small[i]);
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
            kd_work_add_outer(w, &w->residual_p, at.index, row->slot[j], change, false);
            if (symmetric && j > i) kd_work_add_outer(w, &w->residual_p, other.index, row->slot[i], change, false);
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

void kd_work_add_rows(kd_work *w, const double *lambda, const double *mu)
{
    const kd_system *s = w->system;
    // g: gI by position, G' where forces read multipliers, forces of the multipliers
    for (int i = 0; i < s->nlambda; i++) {
        const kd_row     *row = &s->row_g[s->kept[i]];
        const row_targets out = {.p = {NULL, &w->gI_p, NULL}};
        add_changes(w, row, i, &out);
        add_contact_changes(w, row, i, false);
        if (s->by_multipliers && !s->for_start) kd_work_add_gradient_column(w, row, i);
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
void kd_work_add_second_rows(kd_work *w)
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

// G, with contact coordinates also g and c by p and s; H
void kd_work_add_constraint_matrices(kd_work *w)
{
    const kd_system *s = w->system;
    for (int i = 0; i < w->ngradients; i++) {
        const kd_gradient *e = &w->gradients[i];
        w->G.value[e->place] += *e->factor * w->slope[e->slope];
    }
    for (int i = 0; w->ngradients == 0 && i < s->nlambda; i++) add_gradient_row(w, &w->G, &s->row_g[s->kept[i]], i, 0);
    for (int i = 0; s->ns > 0 && i < s->nlambda; i++) add_contact_row(w, &s->row_g[s->kept[i]], i);
    for (int i = 0; i < s->nmu; i++) add_gradient_row(w, &w->H, &s->row_h[i], i, 1);
}
