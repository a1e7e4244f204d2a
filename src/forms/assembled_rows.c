// assembled_rows.c: from raw rows to the rows of F: inactive and redundant constraints, selectors of psf1
// (S3 FORM = 1): S_p (p' - Z v) with unit rows (LU, QR) or a null-space basis (SVD) such that [S_p; G; q_p] is regular.
#include "core/text.h"
#include "forms/assembled_impl.h"
#include "math/dense.h"
#include <math.h>
#include <string.h>

// entries of [GZ; HZ] up to which a dense decomposition tells dependent rows by name before the first step; larger
// models rely on the analysis of their topology and on the factors of the Newton matrix
#define RANK_ENTRIES 40000

static void cut_rule(kd_row_rule *rule, int rows, int columns, const kd_assembled *self, kd_arena *arena)
{
    rule->rows = rows;
    rule->active = kd_cut_int(arena, rows);
    rule->svd = self->opt.constraints == KD_DECOMPOSE_SVD && rows > 0;
    if (!self->checks_rank) return;
    kd_selector_init(&rule->selector, rows, columns, self->opt.constraints, self->opt.rank_tolerance, arena);
    rule->selector.size = kd_eom_definition(self->eom)->unit;
}

void kd_assembled_cut_rows(kd_assembled *self)
{
    kd_dims   d = self->dims;
    kd_arena *arena = &self->arena;
    bool      combined = self->has_selectors || self->opt.constraints == KD_DECOMPOSE_SVD;
    self->checks_rank = combined || (double)self->nc * d.nv < RANK_ENTRIES;
    cut_rule(&self->multipliers, self->nc, d.nv, self, arena);
    cut_rule(&self->stabilizers, self->has_eta ? d.nlambda : 0, d.nv, self, arena);
    self->scale_eta = kd_cut_double(arena, d.nlambda);
    self->eta = kd_cut_double(arena, d.nlambda);
    if (!self->checks_rank) return;
    self->GZ = kd_cut_double(arena, d.nlambda * d.nv);
    self->HZ = kd_cut_double(arena, d.nmu * d.nv);
    int rows = d.nlambda + (d.nq > d.nmu ? d.nq : d.nmu);
    self->C = kd_cut_double(arena, rows * (d.np > d.nv ? d.np : d.nv));
    if (!self->has_selectors) return;

    kd_selector_init(&self->kinematic, d.nlambda + d.nq, d.np, self->opt.constraints, self->opt.rank_tolerance, arena);
    self->kinematic.size = kd_eom_definition(self->eom)->position_unit;
    self->position_rows = kd_cut_int(arena, d.nlambda + d.nq);
}

// ---- constraint rows ------------------------------------------------------------------------------------------------

static bool is_active(const kd_assembled *self, int i)
{
    int nlambda = self->dims.nlambda;
    return i < nlambda ? self->state->active_lambda[i] : self->state->active_mu[i - nlambda];
}

// row i of [GZ; HZ] into row k of C (rows rows)
static void copy_row(const kd_assembled *self, int i, int k, int rows)
{
    int           nlambda = self->dims.nlambda;
    const double *from = i < nlambda ? self->GZ + i : self->HZ + (i - nlambda);
    int           ld = i < nlambda ? nlambda : self->dims.nmu;
    for (int j = 0; j < self->dims.nv; j++) self->C[k + j * rows] = from[(size_t)j * (size_t)ld];
}

// active rows; true if they are others than before
static bool find_active(const kd_assembled *self, kd_row_rule *rule)
{
    int  count = 0;
    bool changed = false;
    for (int i = 0; i < rule->rows; i++) {
        if (!is_active(self, i)) continue;
        changed = changed || count >= rule->count || rule->active[count] != i;
        rule->active[count++] = i;
    }
    changed = changed || count != rule->count;
    rule->count = count;
    return changed;
}

// Words for redundant rows: those with large entries in the left null vector.
static kd_status rule_failed(kd_assembled *self, const kd_row_rule *rule, kd_status status)
{
    char        rows[256] = "", name[96];
    const char *comma = "";
    int         nlambda = self->dims.nlambda;
    double      most = kd_norm_max(rule->count, rule->selector.left);
    for (int k = 0; k < rule->count; k++) {
        int i = rule->active[k];
        if (fabs(rule->selector.left[k]) < 0.1 * most) continue;
        kd_eom_name(self->eom, i < nlambda ? KD_NAME_LAMBDA : KD_NAME_MU, i < nlambda ? i : i - nlambda, name,
                    sizeof name);
        kd_text_append(rows, sizeof rows, "%s%s", comma, name);
        comma = ", ";
    }
    return kd_form_fail(&self->fault, status, "%s: %s",
                        status == KD_ERR_REDUNDANT ? "redundant constraints, use the SVD decomposition"
                                                   : "dependent constraints",
                        rows);
}

// SVD: the rank and the combinations of rows. LU, QR: once for every set of active rows, are they independent?
static kd_status select_rule(kd_assembled *self, kd_row_rule *rule, bool others)
{
    if (rule->count == 0 || !(rule->svd || others) || !self->checks_rank) return KD_OK;
    if (others) rule->selector.rank = -1; // other constraints may have another rank
    for (int k = 0; k < rule->count; k++) copy_row(self, rule->active[k], k, rule->count);
    bool      changed;
    kd_status status = kd_selector_update(&rule->selector, rule->count, self->C, false, &changed);
    return status < 0 ? rule_failed(self, rule, status) : status;
}

// out = rule applied to raw rows and multipliers (NULL: none)
static void apply_rule(const kd_row_rule *rule, const double *raw, const double *multiplier, double *out)
{
    if (!rule->svd) {
        if (out != raw) memcpy(out, raw, (size_t)rule->rows * sizeof *out);
    } else {
        // U1' D row, U2' D multiplier
        const kd_selector *s = &rule->selector;
        for (int k = 0; k < rule->count; k++) {
            const double *source = k < s->rank ? raw : multiplier;
            const double *u = s->U + (size_t)k * (size_t)rule->count;
            double        sum = 0;
            for (int l = 0; source && l < rule->count; l++) sum += u[l] * s->scale[l] * source[rule->active[l]];
            out[rule->active[k]] = sum;
        }
    }
    // inactive rows read their multiplier
    if (rule->count == rule->rows) return;
    for (int i = 0, k = 0; i < rule->rows; i++) {
        if (k < rule->count && rule->active[k] == i)
            k++;
        else
            out[i] = multiplier ? multiplier[i] : 0;
    }
}

// K += derivatives of these rows by the multipliers themselves: 1 of inactive rows, U2' D of redundant ones
static void rule_columns(const kd_row_rule *rule, int n, double *K, int row, int column)
{
    for (int i = 0, k = 0; i < rule->rows; i++) {
        if (k < rule->count && rule->active[k] == i)
            k++;
        else
            K[row + i + (column + i) * n] += 1;
    }
    if (!rule->svd) return;
    const kd_selector *s = &rule->selector;
    for (int k = s->rank; k < rule->count; k++)
        for (int l = 0; l < rule->count; l++)
            K[row + rule->active[k] + (column + rule->active[l]) * n] += s->U[l + k * rule->count] * s->scale[l];
}

// ---- selectors of psf1 ----------------------------------------------------------------------------------------------

// Words for redundant rows: the largest entry of the left null vector.
static kd_status selector_failed(kd_assembled *self, kd_status status)
{
    const kd_selector *s = &self->kinematic;
    int                worst = 0;
    char               name[96];
    for (int k = 1; k < self->position_count; k++)
        if (fabs(s->left[k]) > fabs(s->left[worst])) worst = k;
    int row = self->position_rows[worst], nlambda = self->dims.nlambda;
    kd_eom_name(self->eom, row < nlambda ? KD_NAME_LAMBDA : KD_NAME_Q, row < nlambda ? row : row - nlambda, name,
                sizeof name);
    return kd_form_fail(&self->fault, status, "%s; look at '%s' first", kd_status_sentence(status), name);
}

// sum of x[i stride_x] y[i stride_y]
static double strided_dot(int n, const double *x, int stride_x, const double *y, int stride_y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[(size_t)i * (size_t)stride_x] * y[(size_t)i * (size_t)stride_y];
    return sum;
}

// S_p from C = [G; q_p] in plain coordinates, G = GZ Z+
static kd_status select_kinematic(kd_assembled *self, bool restart)
{
    kd_dims            d = self->dims;
    const kd_position *position = &self->position;
    int                count = 0, rows;
    // active rows of g, all of q
    for (int i = 0; i < d.nlambda + d.nq; i++)
        if (i >= d.nlambda || self->state->active_lambda[i]) self->position_rows[count++] = i;
    self->position_count = rows = count;
    // C = [GZ Z+; q_p]
    for (int k = 0; k < rows; k++) {
        int i = self->position_rows[k];
        for (int j = 0; j < d.np; j++) {
            double sum = 0;
            if (i < d.nlambda && position->identity)
                sum = self->GZ[i + j * d.nlambda];
            else if (i < d.nlambda)
                sum = strided_dot(d.nv, self->GZ + i, d.nlambda, position->Zplus + j * d.nv, 1);
            else if (!position->identity)
                sum = position->q_p[i - d.nlambda + j * d.nq];
            self->C[k + j * rows] = sum;
        }
    }
    // S_p, N_p, P_p
    bool      changed;
    kd_status status =
        kd_selector_update(&self->kinematic, rows, self->C, restart || self->opt.selectors_each_step, &changed);
    self->counters.predecompositions++;
    if (changed && status >= 0) self->counters.selectors++;
    return status < 0 ? selector_failed(self, status) : status;
}

// D_i = 1 / |row i of GZ U|: eta gets the size of a rate, whatever the units of lengths and constraints. Kept from then
// on.
static kd_eval scale_stabilizers(kd_assembled *self)
{
    int     nlambda = self->dims.nlambda;
    kd_eval answer = KD_EVAL_OK;
    if (self->newton) {
        answer = kd_newton_row_norms(self->newton, self->scale_eta);
    } else {
        for (int i = 0; i < nlambda; i++) {
            double sum = 0;
            for (int j = 0; j < self->dims.nv; j++) {
                const double entry = self->GZ[i + (ptrdiff_t)j * nlambda];
                sum += self->square[j] * entry * entry;
            }
            self->scale_eta[i] = sqrt(sum);
        }
    }
    for (int i = 0; i < nlambda && answer == KD_EVAL_OK; i++)
        self->scale_eta[i] = self->scale_eta[i] > 0 ? 1 / self->scale_eta[i] : 1;
    return answer;
}

kd_status kd_assembled_select(kd_assembled *self, bool restart)
{
    kd_status news = KD_OK;
    bool      first_eta = self->has_eta && !self->prepared;
    // which rows are active; what has to be known of their matrices
    bool others = find_active(self, &self->multipliers) || !self->prepared;
    bool matrices = self->has_selectors || self->multipliers.svd || self->stabilizers.svd || first_eta || others;
    matrices = matrices && self->checks_rank;
    (void)find_active(self, &self->stabilizers);
    // GZ, HZ, and D of eta at the first point
    if (matrices && self->nc > 0 &&
        kd_assembled_note(self, kd_eom_constraint_matrices(self->data, self->GZ, self->HZ)) != KD_EVAL_OK)
        return self->fault.status;
    if (first_eta && kd_assembled_note(self, scale_stabilizers(self)) != KD_EVAL_OK) return self->fault.status;
    // rank, combinations of redundant rows, selectors of psf1
    kd_status status = select_rule(self, &self->multipliers, others);
    if (status > 0) news = status;
    if (status >= 0) status = select_rule(self, &self->stabilizers, others);
    if (status < 0) return status;
    if (others) self->kinematic.rank = -1;
    if (self->has_selectors) status = select_kinematic(self, restart);
    if (status < 0) return status;
    self->prepared = true;
    return news;
}

// Are the active rows still those of the selectors?
static bool same_rows(const kd_assembled *self)
{
    const kd_row_rule *rule = &self->multipliers;
    int                k = 0;
    for (int i = 0; i < rule->rows; i++) {
        bool listed = k < rule->count && rule->active[k] == i;
        if (listed != is_active(self, i)) return false;
        if (listed) k++;
    }
    return true;
}

kd_status kd_assembled_prepare(kd_assembled *self)
{
    if (self->prepared && same_rows(self)) return KD_OK;
    kd_eval answer = KD_EVAL_OK;
    if (self->has_selectors) answer = kd_assembled_note(self, kd_position_update(&self->position, self->data));
    if (answer != KD_EVAL_OK) return self->fault.status;
    return kd_assembled_select(self, true);
}

// ---- combination ----------------------------------------------------------------------------------------------------

// the first np rows of psf1: [S_p kinematic; g, q]
static void combine_selected(const kd_assembled *self, const double *raw, double *F)
{
    kd_dims            d = self->dims;
    const kd_selector *s = &self->kinematic;
    kd_selector_pick(s, raw, F);
    double       *position = F + (d.np - s->rank);
    const double *g = raw + self->g; // q follows
    for (int k = 0; k < s->rank; k++) {
        if (s->unit) {
            position[k] = g[self->position_rows[k]];
        } else {
            position[k] = 0;
            for (int l = 0; l < s->rows; l++)
                position[k] += s->U[l + k * s->rows] * s->scale[l] * g[self->position_rows[l]];
        }
    }
}

void kd_assembled_combine(const kd_assembled *self, const double *raw, const double *x, double *F)
{
    int first = 0;
    if (self->has_selectors) {
        combine_selected(self, raw, F);
        first = self->dyn;
    }
    if (raw != F) memcpy(F + first, raw + first, (size_t)(self->phi - first) * sizeof *F);
    apply_rule(&self->multipliers, raw + self->phi, x ? x + self->xl : NULL, F + self->phi);
    if (self->has_eta)
        apply_rule(&self->stabilizers, raw + self->g, x && self->eta_in_x ? x + self->xe : NULL, F + self->g);
}

void kd_assembled_multiplier_columns(const kd_assembled *self, double *K)
{
    rule_columns(&self->multipliers, self->n, K, self->phi, self->xl);
    if (self->has_eta) rule_columns(&self->stabilizers, self->n, K, self->g, self->xe);
}
