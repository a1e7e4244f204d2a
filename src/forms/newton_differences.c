// forms/newton_differences.c: F_x by differences of F, column by column (S0 Eq. 16) or groups of columns together
// (Eq. 20), increments by Eq. 17; patterns that are estimated from difference matrices and grow (section 3.1).
//
// v' is held fixed: the part of v' in the Newton matrix is gamma F_x', which is known. Columns of multipliers are known
// from the constraint matrix unless forces depend on them; the increments of positions move along Z.
#include "forms/assembled_impl.h"
#include "forms/newton.h"
#include <math.h>
#include <string.h>

#define ROOT_EPS 1.4901161193847656e-8 // sqrt(eps)
#define FOURTH_ROOT_EPS 1.220703125e-4 // eps^(1/4)
#define STATES 2                       // moved states at which the first estimate looks as well
#define MOVE_POSITION 1e-3             // how far they are away
#define MOVE_VELOCITY 1e-1
#define JOINT_MOST 6 // velocities of a joint

// Velocities side by side with the same column of the sparse M, six at most: those of one joint, as a rule
static void find_joints(kd_newton *self)
{
    const kd_block_source *source = &self->source[self->mass];
    const kd_pattern      *M = &source->pattern;
    if (!source->sparse) return;
    self->joint = kd_cut_int(&self->arena, self->nv);
    self->meets = kd_arena_cut(&self->arena, 2 * (size_t)self->nv * (size_t)self->m, sizeof *self->meets);
    if (self->arena.failed) return;
    for (int j = 0; j < self->nv; j++) {
        const int  count = M->column[j + 1] - M->column[j], *row = M->row + M->column[j];
        const int  before = j > 0 ? self->joint[j - 1] : 0, other = M->column[before + 1] - M->column[before];
        const bool same = count == other && memcmp(row, M->row + M->column[before], (size_t)count * sizeof *row) == 0;
        self->joint[j] = same && j - before < JOINT_MOST ? before : j;
    }
}

kd_status kd_newton_cut_differences(kd_newton *self)
{
    int       columns = self->nv + self->m;
    kd_arena *arena = &self->arena;
    if (self->differenced || self->normals > 0) self->x_moved = kd_cut_double(arena, self->np + self->m);
    if (!self->differenced) return arena->failed ? KD_ERR_MEMORY : KD_OK;
    self->differenced_column = kd_cut_bool(arena, columns);
    self->increment = kd_cut_double(arena, columns);
    self->F0 = kd_cut_double(arena, self->m);
    if (self->opt.estimated) {
        self->found = kd_arena_cut(arena, (size_t)columns * (size_t)self->m, sizeof *self->found);
        self->full = kd_cut_numbers(arena, (size_t)columns * (size_t)self->m);
        find_joints(self);
    }
    if (self->opt.explicit_form) {
        self->M = kd_cut_numbers(arena, (size_t)self->nv * (size_t)self->nv);
        self->solution = kd_cut_double(arena, self->nv);
    }
    if (arena->failed) return KD_ERR_MEMORY;
    int multipliers = self->nv + self->xl, end = multipliers + self->nlambda + self->nmu;
    for (int j = 0; j < columns; j++)
        self->differenced_column[j] = j < multipliers || (j < end && self->lambda_differenced);
    return KD_OK;
}

// delta_r = max(|y_r|, eps^(1/4)) sqrt(eps)
static double increment_of(const kd_newton *self, const double *x, int j)
{
    double size = j >= self->nv ? fabs(x[self->np + j - self->nv]) : self->increments.identity ? fabs(x[j]) : 1;
    return ROOT_EPS * fmax(size, FOURTH_ROOT_EPS);
}

// x_moved += increment of column j
static void move_column(kd_newton *self, const double *x, int j)
{
    double step = increment_of(self, x, j);
    if (j < self->nv)
        kd_increments_move(&self->increments, j, step, self->x_moved);
    else
        self->x_moved[self->np + j - self->nv] += step;
    if (j >= self->nv || self->increments.identity) { // what was added, to rounding
        int i = j < self->nv ? j : self->np + j - self->nv;
        step = self->x_moved[i] - x[i];
    }
    self->increment[j] = step;
}

static kd_eval rows_at(kd_newton *self, double t, const double *x, const double *xdot)
{
    kd_assembled *form = self->form;
    form->without_kinematics = true;
    kd_eval answer = kd_assembled_raw(form, t, x, xdot);
    form->without_kinematics = false;
    form->counters.for_differences++;
    return answer;
}

static kd_eval moved_rows(kd_newton *self, double t, const double *xdot)
{
    return rows_at(self, t, self->x_moved, xdot);
}

static void reset_moved(kd_newton *self, const double *x)
{
    memcpy(self->x_moved, x, (size_t)self->form->n * sizeof *x);
}

static kd_eval base_rows(kd_newton *self, double t, const double *x, const double *xdot)
{
    kd_eval answer = rows_at(self, t, x, xdot);
    if (answer == KD_EVAL_OK) memcpy(self->F0, self->form->raw + self->np, (size_t)self->m * sizeof *self->F0);
    return answer;
}

// entries of column j from the difference of rows
static void take_column(kd_newton *self, int j)
{
    const double *F1 = self->form->raw + self->np;
    double        inverse = 1 / self->increment[j];
    for (int e = self->F.column[j]; e < self->F.column[j + 1]; e++)
        self->K[e] = (F1[self->F.row[e]] - self->F0[self->F.row[e]]) * inverse;
}

// all columns of one group; group NULL: column k alone
static kd_eval difference_group(kd_newton *self, double t, const double *x, const double *xdot, const int *group, int k)
{
    int columns = self->nv + self->m, from = group ? 0 : k, to = group ? columns : k + 1;
    // x + sum of the group's increments
    reset_moved(self, x);
    for (int j = from; j < to; j++)
        if (!group || group[j] == k) move_column(self, x, j);
    // each row sees one column of the group at most
    kd_eval answer = moved_rows(self, t, xdot);
    for (int j = from; j < to && answer == KD_EVAL_OK; j++)
        if (!group || group[j] == k) take_column(self, j);
    return answer;
}

// What the estimate of the pattern has computed here is the matrix of this point (S0, section 3.1)
static void take_full(kd_newton *self)
{
    for (int j = 0; j < self->nv + self->m; j++) {
        const double *full = self->full + (ptrdiff_t)j * self->m;
        if (!self->differenced_column[j]) continue;
        for (int e = self->F.column[j]; e < self->F.column[j + 1]; e++) self->K[e] = full[self->F.row[e]];
    }
    self->full_known = false;
}

kd_eval kd_newton_difference(kd_newton *self, double t, const double *x, const double *xdot)
{
    if (self->full_known) {
        take_full(self);
        return KD_EVAL_OK;
    }
    bool       grouped = self->opt.derivatives == KD_DERIVATIVES_GROUPED;
    int        count = grouped ? kd_colouring_groups(self->colouring) : self->nv + self->m;
    const int *group = grouped ? kd_colouring_group(self->colouring) : NULL;
    kd_eval    answer = base_rows(self, t, x, xdot);
    for (int k = 0; k < count && answer == KD_EVAL_OK; k++)
        if (grouped || self->differenced_column[k]) answer = difference_group(self, t, x, xdot, group, k);
    // leave the evaluation point where it was
    if (answer == KD_EVAL_OK) answer = kd_assembled_at(self->form, t, x, xdot);
    return answer;
}

// ---- normals --------------------------------------------------------------------------------------------------------

// central differences: third root of the unit roundoff, relative to coordinates of size 1 (quaternions)
#define NORMAL_INCREMENT 6e-6

kd_eval kd_newton_normals(kd_newton *self, double t, const double *x, const double *xdot)
{
    kd_position *position = &self->form->position;
    int          rows = self->np + self->m;
    kd_eval      answer = kd_position_update(position, self->form->data);
    for (int k = 0; k < self->normals && answer == KD_EVAL_OK; k++) {
        const double *n = position->N + k * self->np;
        double       *column = self->F_normal + k * rows;
        for (int side = 0; side < 2 && answer == KD_EVAL_OK; side++) {
            // (F(p + delta n) - F(p - delta n)) / (2 delta)
            double step = side == 0 ? NORMAL_INCREMENT : -NORMAL_INCREMENT;
            reset_moved(self, x);
            for (int i = 0; i < self->np; i++) self->x_moved[i] += step * n[i];
            answer = kd_assembled_raw(self->form, t, self->x_moved, xdot);
            self->form->counters.for_differences++;
            for (int i = 0; i < rows; i++) {
                double value = self->form->raw[i] / (2 * step);
                column[i] = side == 0 ? value : column[i] + value;
            }
        }
    }
    return answer == KD_EVAL_OK ? kd_assembled_at(self->form, t, x, xdot) : answer;
}

// ---- estimated patterns ---------------------------------------------------------------------------------------------

// Mark what a full difference matrix at (t, x, x') shows; grown if something is new.
static kd_eval mark_found(kd_newton *self, double t, const double *x, const double *xdot)
{
    kd_eval answer = base_rows(self, t, x, xdot);
    for (int j = 0; j < self->nv + self->m && answer == KD_EVAL_OK; j++) {
        if (!self->differenced_column[j]) continue;
        // column j: rows that change with it
        reset_moved(self, x);
        move_column(self, x, j);
        answer = moved_rows(self, t, xdot);
        const double *F1 = self->form->raw + self->np, inverse = 1 / self->increment[j];
        bool         *found = self->found + (ptrdiff_t)j * self->m;
        double       *full = self->full + (ptrdiff_t)j * self->m;
        for (int i = 0; i < self->m && answer == KD_EVAL_OK; i++) {
            if (F1[i] != self->F0[i] && !found[i]) found[i] = self->grown = true;
            full[i] = (F1[i] - self->F0[i]) * inverse;
        }
    }
    return answer;
}

// What one coordinate of a joint touches of another joint's dynamic rows, or of a constraint, the others may touch elsewhere: an
// axis along which nothing moves at the start has no entry there by chance.
static void close_found(kd_newton *self)
{
    const int nv = self->nv, m = self->m, *joint = self->joint;
    if (!joint) return;
    memset(self->meets, 0, 2 * (size_t)nv * (size_t)m * sizeof *self->meets);
    for (int j = 0; j < 2 * nv; j++) {
        const bool *found = self->found + (ptrdiff_t)j * m;
        bool       *meets = self->meets + (ptrdiff_t)(j < nv ? joint[j] : nv + joint[j - nv]) * m;
        for (int i = 0; i < m; i++)
            if (found[i]) meets[i < nv ? joint[i] : i] = true;
    }
    for (int j = 0; j < 2 * nv; j++) {
        bool       *found = self->found + (ptrdiff_t)j * m;
        const bool *meets = self->meets + (ptrdiff_t)(j < nv ? joint[j] : nv + joint[j - nv]) * m;
        for (int i = 0; i < m; i++) found[i] = meets[i < nv ? joint[i] : i];
    }
}

// A state beside x, by a fixed sequence of numbers between -1 and 1
static void move_state(const kd_newton *self, const double *x, int sample, double *moved)
{
    const kd_assembled *form = self->form;
    unsigned            seed = 12345u + 977u * (unsigned)sample;
    memcpy(moved, x, (size_t)form->n * sizeof *x);
    for (int i = 0; i < form->xw; i++) {
        seed = seed * 1664525u + 1013904223u;
        double number = (double)(seed >> 8) / 8388608.0 - 1;
        double size = fmax(fabs(x[i]), 1) * (i < form->xv ? MOVE_POSITION : MOVE_VELOCITY);
        moved[i] += number * size;
    }
}

kd_status kd_newton_estimate(kd_newton *self, double t, const double *x, const double *xdot)
{
    bool      first = !self->A.column;
    kd_arena  scratch = {0};
    double   *moved = kd_cut_double(&scratch, self->form->n);
    kd_eval   answer = scratch.failed ? KD_EVAL_STOP : kd_increments_update(&self->increments, self->form->data);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    self->full_known = false;
    // at first what points beside it show, then the point itself, whose matrix is kept
    const int beside = first && !self->form->opt.estimated_at_start ? STATES : 0;
    for (int k = 0; k < beside && answer == KD_EVAL_OK; k++) {
        move_state(self, x, k, moved);
        if (mark_found(self, t, moved, xdot) == KD_EVAL_STOP) answer = KD_EVAL_STOP; // no value there: no matter
    }
    if (answer == KD_EVAL_OK) answer = mark_found(self, t, x, xdot);
    if (answer == KD_EVAL_OK) close_found(self);
    kd_arena_release(&scratch);
    // a larger pattern
    if (answer == KD_EVAL_OK && (self->grown || first)) {
        if (!first) self->pattern_changes++;
        status = kd_newton_set_pattern(self);
        if (status >= 0) self->grown = false;
    }
    if (status < 0) return kd_form_fail(&self->form->fault, status, "%s", kd_status_sentence(status));
    if (answer == KD_EVAL_OK) answer = kd_assembled_at(self->form, t, x, xdot);
    self->full_known = answer == KD_EVAL_OK;
    if (answer == KD_EVAL_OK) return KD_OK;
    kd_assembled_note(self->form, answer);
    return self->form->fault.status;
}
