// forms/newton_values.c: values of the derivative blocks, put together into F_x, F_x' and the parts of A.
#include "forms/assembled_impl.h"
#include "forms/newton.h"
#include "math/dense.h"
#include <math.h>
#include <string.h>

// ---- blocks ---------------------------------------------------------------------------------------------------------

// GZ and HZ, dense
static kd_eval fetch_constraints(kd_newton *self)
{
    double *G = self->gz >= 0 && !self->source[self->gz].sparse ? self->source[self->gz].value : NULL;
    double *H = self->hz >= 0 && !self->source[self->hz].sparse ? self->source[self->hz].value : NULL;
    return G || H ? kd_eom_constraint_matrices(self->form->data, G, H) : KD_EVAL_OK;
}

kd_eval kd_newton_fetch_one(kd_newton *self, int k)
{
    kd_block_source *source = &self->source[k];
    kd_eval          answer = KD_EVAL_OK;
    if (k == self->mass && self->form->mass_known) return KD_EVAL_OK;
    if (!source->sparse && (k == self->gz || k == self->hz)) return fetch_constraints(self);
    if (source->sparse) {
        answer = kd_eom_sparse(self->form->data, source->fn, source->var, self->opt.part, source->value);
    } else {
        kd_blocks one = {0};
        one.block[source->fn][source->var] = source->value;
        answer = kd_eom_derivatives(self->form->data, self->opt.part, &one);
    }
    if (k == self->mass) self->form->mass_known = self->form->constant_mass && answer == KD_EVAL_OK;
    return answer;
}

kd_eval kd_newton_fetch(kd_newton *self)
{
    kd_assembled *form = self->form;
    kd_blocks     wanted = self->wanted;
    bool          has_mass = wanted.block[KD_RESIDUAL][KD_A];
    kd_eval       answer = fetch_constraints(self);
    if (form->mass_known) wanted.block[KD_RESIDUAL][KD_A] = NULL;
    if (answer == KD_EVAL_OK && self->wants) answer = kd_eom_derivatives(form->data, self->opt.part, &wanted);
    if (has_mass) form->mass_known = form->constant_mass && answer == KD_EVAL_OK;
    for (int k = 0; k < self->nsources && answer == KD_EVAL_OK; k++)
        if (self->source[k].sparse) answer = kd_newton_fetch_one(self, k);
    return answer;
}

void kd_newton_scatter(kd_newton *self, bool by_derivative, bool multipliers_only)
{
    double *to = by_derivative ? self->E : self->K;
    for (int q = 0; q < self->npieces; q++) {
        const kd_piece        *piece = &self->piece[q];
        const kd_block_source *source = &self->source[piece->source];
        if (piece->by_derivative != by_derivative || (multipliers_only && !piece->multiplier)) continue;
        int count = source->pattern.column[source->pattern.columns];
        for (int k = 0; k < count; k++)
            if (piece->place[k] >= 0) to[piece->place[k]] += piece->factor * source->value[k];
    }
}

// ---- constraint matrix ----------------------------------------------------------------------------------------------

kd_eval kd_newton_stabilize(kd_newton *self, bool fresh, const double *eta, double *v)
{
    const kd_block_source *source = &self->source[self->gz];
    kd_eval                answer = fresh ? kd_newton_fetch_one(self, self->gz) : KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return answer;
    const double *G = fresh ? source->value : self->GZ;
    // v -= (GZ)' eta
    for (int j = 0; j < self->nv; j++)
        for (int k = source->pattern.column[j]; k < source->pattern.column[j + 1]; k++)
            v[j] -= self->form->square[j] * G[k] * eta[source->pattern.row[k]];
    return KD_EVAL_OK;
}

kd_eval kd_newton_row_norms(kd_newton *self, double *norm)
{
    const kd_block_source *source = &self->source[self->gz];
    kd_eval                answer = kd_newton_fetch_one(self, self->gz);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < self->nlambda; i++) {
        norm[i] = 0;
        for (int l = self->row_start[i]; l < self->row_start[i + 1]; l++) {
            const double entry = source->value[self->row_value[l]];
            norm[i] += self->form->square[self->row_column[l]] * entry * entry;
        }
        norm[i] = sqrt(norm[i]);
    }
    return KD_EVAL_OK;
}

// GZ that belongs to the matrix: the block of gI by v or, index 3, of g by p (ODASSL); otherwise the formalism's
static kd_eval keep_constraint_matrix(kd_newton *self)
{
    if (self->gz < 0) return KD_EVAL_OK;
    const kd_block_source *source = &self->source[self->gz];
    const kd_pattern      *G = &source->pattern;
    kd_fn                  fn = self->form->phi_rows.fn[0];
    bool                   contact = kd_eom_dims(self->eom).ns > 0;
    bool                   own = self->differenced && (fn == KD_GI || (fn == KD_G && !contact));
    // from the formalism
    if (self->differenced && !own) {
        kd_eval answer = kd_newton_fetch_one(self, self->gz);
        if (answer != KD_EVAL_OK) return answer;
    }
    // or as the differences of the matrix have it
    for (int j = 0; j < self->nv; j++)
        for (int k = G->column[j]; k < G->column[j + 1]; k++) {
            int e = own ? kd_columns_find(&self->F, self->phi + G->row[k], fn == KD_GI ? self->nv + j : j) : -1;
            self->GZ[k] = !own ? source->value[k] : e >= 0 ? self->K[e] : 0;
        }
    if (own) memcpy(source->value, self->GZ, (size_t)G->column[self->nv] * sizeof *self->GZ);
    return KD_EVAL_OK;
}

// Explicit form: columns M^-1 (GZ)', M^-1 (HZ)'
static void multiplier_columns_explicit(kd_newton *self)
{
    for (int c = self->xl; c < self->xl + self->nlambda + self->nmu; c++) {
        // column c of the dynamic rows: M \ column
        int from = self->F.column[self->nv + c], to = self->F.column[self->nv + c + 1];
        memset(self->solution, 0, (size_t)self->nv * sizeof *self->solution);
        for (int e = from; e < to; e++)
            if (self->F.row[e] < self->nv) self->solution[self->F.row[e]] = self->K[e];
        kd_cholesky_solve(self->nv, self->M, self->solution, 1);
        for (int e = from; e < to; e++)
            if (self->F.row[e] < self->nv) self->K[e] = self->solution[self->F.row[e]];
    }
}

static kd_eval factor_mass(kd_newton *self)
{
    const kd_pattern *M = &self->source[self->mass].pattern;
    kd_eval           answer = kd_newton_fetch_one(self, self->mass);
    if (answer != KD_EVAL_OK) return answer;
    memset(self->M, 0, (size_t)self->nv * (size_t)self->nv * sizeof *self->M);
    for (int j = 0; j < self->nv; j++)
        for (int k = M->column[j]; k < M->column[j + 1]; k++)
            self->M[M->row[k] + j * self->nv] = self->source[self->mass].value[k];
    return kd_cholesky_factor(self->nv, self->M) == 0 ? KD_EVAL_OK : KD_EVAL_RETRY;
}

// ---- F_x' -----------------------------------------------------------------------------------------------------------

static void unit_diagonal(kd_newton *self, int row, int column, int count)
{
    for (int i = 0; i < count; i++) self->E[kd_columns_find(&self->F, row + i, column + i)] = 1;
}

// Mass matrix (or I in the explicit form), r', and GZ, HZ where accelerations occur in the constraints
static kd_eval set_E(kd_newton *self, bool fetched)
{
    kd_eval answer = KD_EVAL_OK;
    memset(self->E, 0, (size_t)kd_columns_count(&self->F) * sizeof *self->E);
    bool unit = self->opt.explicit_form && self->differenced;
    // M by v', GZ and HZ of acceleration levels
    for (int q = 0; q < self->npieces; q++) {
        const kd_piece *piece = &self->piece[q];
        if (!piece->by_derivative || (unit && piece->source == self->mass)) continue;
        const kd_block_source *source = &self->source[piece->source];
        if (!fetched) answer = kd_newton_fetch_one(self, piece->source);
        if (answer != KD_EVAL_OK) return answer;
        for (int k = 0; k < source->pattern.column[source->pattern.columns]; k++)
            if (piece->place[k] >= 0) self->E[piece->place[k]] += piece->factor * source->value[k];
    }
    // v' - a of the explicit form, r'
    if (unit) unit_diagonal(self, self->dyn, self->nv, self->nv);
    int nr = kd_eom_dims(self->eom).nr;
    unit_diagonal(self, self->r, self->nv + self->form->xr - self->np, nr);
    return KD_EVAL_OK;
}

// ---- inactive rows --------------------------------------------------------------------------------------------------

// A row that is not active reads multiplier = 0.
static void set_inactive(kd_newton *self)
{
    const kd_state *state = self->form->state;
    int             nl = self->nlambda, nc = nl + self->nmu, count = 0;
    for (int i = 0; i < nc; i++) count += !(i < nl ? state->active_lambda[i] : state->active_mu[i - nl]);
    if (count == 0) return;
    // their rows vanish, but for 1 in the column of their multiplier
    for (int e = 0; e < kd_columns_count(&self->F); e++) {
        int  row = self->F.row[e], i = row - self->phi, k = row - self->g;
        bool off = (i >= 0 && i < nc && !(i < nl ? state->active_lambda[i] : state->active_mu[i - nl])) ||
                   (self->has_eta && k >= 0 && k < nl && !state->active_lambda[k]);
        if (off) self->K[e] = self->E[e] = 0;
    }
    for (int i = 0; i < nc; i++)
        if (!(i < nl ? state->active_lambda[i] : state->active_mu[i - nl])) self->K[self->diagonal_row[i]] = 1;
    for (int i = 0; i < nl && self->has_eta; i++)
        if (!state->active_lambda[i]) self->K[self->g_diagonal[i]] = 1;
}

// ---- parts of A -----------------------------------------------------------------------------------------------------

// K_normal = F_n N' D_p(Z v): increments turn velocities off the manifold, which the rows see through their normals
static void set_normals(kd_newton *self)
{
    const kd_increments *inc = &self->increments;
    const kd_position   *position = &self->form->position;
    memset(self->K_normal, 0, (size_t)self->F.column[self->nv] * sizeof *self->K_normal);
    for (int j = 0; j < self->nv; j++) {
        int        b = inc->block_of[j], rows = inc->p_start[b + 1] - inc->p_start[b], l = 0;
        const int *p = inc->p_of + inc->p_start[b];
        while (inc->v_of[inc->v_start[b] + l] != j) l++;
        const double *rate = inc->rate + inc->z_start[b] + l * rows;
        for (int k = 0; k < self->normals; k++) {
            // n_k' D_p(Z v) of increment j, times F along n_k
            double off = 0;
            for (int i = 0; i < rows; i++) off += position->N[p[i] + k * self->np] * rate[i];
            for (int e = self->F.column[j]; e < self->F.column[j + 1]; e++)
                self->K_normal[e] += self->F_normal[self->np + self->F.row[e] + k * (self->np + self->m)] * off;
        }
    }
}

// F_x' alone
static void gather_E(kd_newton *self)
{
    memset(self->A_E, 0, (size_t)kd_columns_count(&self->A) * sizeof *self->A_E);
    for (int e = self->F.column[self->nv]; e < kd_columns_count(&self->F); e++) self->A_E[self->to_A[e]] = self->E[e];
}

static void gather_K(kd_newton *self)
{
    memset(self->A_K, 0, (size_t)kd_columns_count(&self->A) * sizeof *self->A_K);
    for (int e = self->F.column[self->nv]; e < kd_columns_count(&self->F); e++) self->A_K[self->to_A[e]] = self->K[e];
    if (self->increments.identity) kd_newton_eliminate(self, self->K, self->W);
    if (self->normals > 0) set_normals(self);
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

// F_x and F_x' at (t, x, x')
static kd_eval evaluate_F_x(kd_newton *self, double t, const double *x, const double *xdot)
{
    size_t bytes = (size_t)kd_columns_count(&self->F) * sizeof *self->K;
    // Z+, S, and E = F_x'
    kd_eval answer = kd_increments_update(&self->increments, self->form->data);
    if (answer == KD_EVAL_OK && !self->differenced) answer = kd_newton_fetch(self);
    if (answer == KD_EVAL_OK) answer = set_E(self, !self->differenced);
    if (answer != KD_EVAL_OK) return answer;
    // analytic: K = F_x from its blocks
    memset(self->K, 0, bytes);
    if (!self->differenced) {
        kd_newton_scatter(self, false, false);
        return keep_constraint_matrix(self);
    }
    // differences; the multipliers' columns are (GZ)', (HZ)', of the explicit form M \ (GZ)'
    answer = kd_newton_difference(self, t, x, xdot);
    if (answer == KD_EVAL_OK) answer = keep_constraint_matrix(self);
    if (answer == KD_EVAL_OK && self->hz >= 0 && !self->lambda_differenced)
        answer = kd_newton_fetch_one(self, self->hz);
    if (answer != KD_EVAL_OK || self->lambda_differenced) return answer;
    kd_newton_scatter(self, false, true);
    if (self->opt.explicit_form && self->nlambda + self->nmu > 0) {
        answer = factor_mass(self);
        if (answer == KD_EVAL_OK) multiplier_columns_explicit(self);
    }
    return answer;
}

// Second derivatives by inputs and prescribed coordinates (S0 Eq. 26): differences of F_x
#define INPUT_INCREMENT 1e-4
#define DRIVE_INCREMENT 1e-2 // of angles and lengths, where F_x itself is differences: its noise is 1e-5 to 1e-4

// Inputs and prescribed coordinates at the point of the form
static kd_eval read_moving(kd_newton *self)
{
    memcpy(self->moving, self->form->u, (size_t)self->nu * sizeof *self->moving);
    return kd_eom_drives(self->form->data, self->moving + self->nu, self->drive, self->drive + self->ndrives);
}

// Drives that move with the input that is shifted now: their effect is in that of the input
static kd_eval find_drives_of_input(kd_newton *self)
{
    const int     n = self->ndrives;
    const kd_eval answer = kd_eom_drives(self->form->data, self->drive, self->drive + n, self->drive + 2 * n);
    for (int j = 0; j < n && answer == KD_EVAL_OK; j++)
        if (self->drive[j] != self->moving[self->nu + j]) self->by_inputs[j] = true;
    return answer;
}

// The same point with input or drive i shifted: second[i] = change of F_x.
// What cannot be shifted counts as without influence; a drive that follows an input counts with that.
static kd_eval evaluate_shifted(kd_newton *self, int i, double t, const double *x, const double *xdot)
{
    kd_assembled *form = self->form;
    int           count = kd_columns_count(&self->F);
    double       *second = self->second + (ptrdiff_t)i * count;
    double       *shift = i < self->nu ? &form->u_shift[i] : &form->drive_shift[i - self->nu];
    const bool    noisy = i >= self->nu && self->differenced;
    const double  step = (noisy ? DRIVE_INCREMENT : INPUT_INCREMENT) * fmax(fabs(self->moving[i]), 1);
    if (i >= self->nu && self->by_inputs[i - self->nu]) {
        memset(second, 0, (size_t)count * sizeof *second);
        return KD_EVAL_OK;
    }
    *shift = step;
    kd_eval answer = kd_assembled_at(form, t, x, xdot);
    if (answer == KD_EVAL_OK && i < self->nu) answer = find_drives_of_input(self);
    if (answer == KD_EVAL_OK) answer = evaluate_F_x(self, t, x, xdot);
    *shift = 0;
    for (int e = 0; e < count; e++) second[e] = answer == KD_EVAL_OK ? (self->K[e] - self->K_kept[e]) / step : 0;
    return answer == KD_EVAL_RETRY ? KD_EVAL_OK : answer;
}

// Inputs or drives have a rate here, or have moved since the last linearisation: before, there is nothing to follow
static bool something_moves(const kd_newton *self)
{
    bool moves = false;
    for (int i = 0; i < self->nu; i++) moves = moves || self->form->du[i] != 0;
    for (int j = 0; j < self->ndrives; j++) moves = moves || self->drive[j] != 0;
    for (int i = 0; i < self->nmoving; i++) moves = moves || (self->evaluations > 1 && self->moving[i] != self->old[i]);
    return moves;
}

static kd_eval evaluate_second(kd_newton *self, double t, const double *x, const double *xdot)
{
    kd_assembled *form = self->form;
    size_t        bytes = (size_t)kd_columns_count(&self->F) * sizeof *self->K;
    size_t        bytes_G = self->gz < 0 ? 0 : (size_t)self->source[self->gz].pattern.column[self->nv] * sizeof(double);
    kd_eval       answer = KD_EVAL_OK;
    // F_x at this point stays
    memcpy(self->K_kept, self->K, bytes);
    if (bytes_G > 0) memcpy(self->GZ_kept, self->GZ, bytes_G);
    // (F_x)_u by shifted inputs and drives
    kd_eom_shift_drives(form->data, form->drive_shift);
    for (int i = 0; i < self->nmoving && answer == KD_EVAL_OK; i++) answer = evaluate_shifted(self, i, t, x, xdot);
    // back to the point
    kd_eom_shift_drives(form->data, NULL);
    memcpy(self->K, self->K_kept, bytes);
    if (bytes_G > 0) memcpy(self->GZ, self->GZ_kept, bytes_G);
    if (answer == KD_EVAL_OK) answer = kd_assembled_at(form, t, x, xdot);
    if (answer == KD_EVAL_OK) answer = set_E(self, false);
    if (answer == KD_EVAL_OK) answer = kd_increments_update(&self->increments, form->data);
    self->has_second = answer == KD_EVAL_OK;
    return answer;
}

static void gather_parts(kd_newton *self)
{
    set_inactive(self);
    gather_E(self);
    gather_K(self);
}

static kd_status fault_of(kd_newton *self, kd_eval answer)
{
    kd_assembled_note(self->form, answer);
    return self->form->fault.status;
}

kd_status kd_newton_linearize(kd_newton *self, double t, const double *x, const double *xdot)
{
    kd_assembled *form = self->form;
    bool          first = self->opt.estimated && !self->A.column;
    self->evaluations++;
    // an estimated pattern: found at first, wider where Newton was slow
    if (self->differenced && self->opt.estimated && (first || form->dae->widen)) {
        kd_status status = kd_newton_estimate(self, t, x, xdot);
        if (status < 0) return status;
    }
    form->dae->widen = false;
    // F_x and F_x', second derivatives by inputs, derivatives off the manifold
    kd_eval answer = evaluate_F_x(self, t, x, xdot);
    if (answer == KD_EVAL_OK && self->nmoving > 0) answer = read_moving(self);
    const bool wanted = self->nmoving > 0 && !self->has_second && something_moves(self);
    if (answer == KD_EVAL_OK && wanted) answer = evaluate_second(self, t, x, xdot);
    if (answer == KD_EVAL_OK && self->normals > 0) answer = kd_newton_normals(self, t, x, xdot);
    if (answer != KD_EVAL_OK) return fault_of(self, answer);
    // the parts of A that do not depend on gamma
    memcpy(self->old, self->moving, (size_t)self->nmoving * sizeof *self->old);
    gather_parts(self);
    return KD_OK;
}

kd_status kd_newton_update(kd_newton *self)
{
    int count = kd_columns_count(&self->F);
    self->updates++;
    // F_x' anew (S0 Eq. 24, 25)
    kd_eval answer = set_E(self, false);
    if (answer != KD_EVAL_OK) return fault_of(self, answer);
    // F_x += (F_x)_u du (Eq. 26)
    if (self->has_second) answer = read_moving(self);
    if (answer != KD_EVAL_OK) return fault_of(self, answer);
    for (int i = 0; i < self->nmoving && self->has_second; i++) {
        kd_axpy(count, self->moving[i] - self->old[i], self->second + (ptrdiff_t)i * count, self->K);
        self->old[i] = self->moving[i];
    }
    set_inactive(self);
    gather_E(self);
    if (self->has_second) gather_K(self);
    return KD_OK;
}
