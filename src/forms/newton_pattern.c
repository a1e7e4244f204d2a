// forms/newton_pattern.c: which derivative blocks make up F_x and F_x', their places, and the pattern that
// elimination of the positions leaves.
#include "forms/assembled_impl.h"
#include "forms/newton.h"
#include <string.h>

#define DENSE_UP_TO 24  // order up to which dense LU is faster than any sparse one
#define DENSE_PART 0.3  // part of the entries from which on it is so for larger ones
#define SPARSE_FROM 400 // order from which on only a nearly full matrix is treated as dense
#define NEARLY_FULL 0.6
#define DECOUPLED_FROM 100 // order from which on eta is left out of the rows that it hardly touches

// ---- sources --------------------------------------------------------------------------------------------------------

// A pattern with all entries
static void cut_full(kd_newton *self, int rows, int columns, kd_pattern *out)
{
    int *column = kd_cut_int(&self->arena, columns + 1);
    int *row = kd_arena_cut(&self->arena, (size_t)rows * (size_t)columns, sizeof *row);
    *out = (kd_pattern){rows, columns, column, row};
    if (self->arena.failed) return;
    for (int j = 0; j < columns; j++) {
        column[j + 1] = (j + 1) * rows;
        for (int i = 0; i < rows; i++) row[i + j * rows] = i;
    }
}

static int new_source(kd_newton *self, kd_fn fn, kd_var var, bool given)
{
    if (self->nsources == KD_NEWTON_SOURCES) {
        self->arena.failed = true;
        return -1;
    }
    kd_block_source *source = &self->source[self->nsources];
    source->fn = fn;
    source->var = var;
    source->sparse = given && kd_eom_pattern(self->eom, fn, var, &source->pattern);
    if (!source->sparse) cut_full(self, kd_eom_rows(self->eom, fn), kd_eom_columns(self->eom, var), &source->pattern);
    if (self->arena.failed) return -1;
    source->value = kd_cut_double(&self->arena, source->pattern.column[source->pattern.columns]);
    return self->nsources++;
}

static int find_source(kd_newton *self, kd_fn fn, kd_var var)
{
    for (int k = 0; k < self->nsources; k++)
        if (self->source[k].fn == fn && self->source[k].var == var) return k;
    int k = new_source(self, fn, var, true);
    if (k < 0 || self->source[k].sparse) return k;
    self->wanted.block[fn][var] = self->source[k].value;
    self->wants = true;
    return k;
}

// GZ: g by p along increments where there are no contact coordinates, otherwise gI by v; HZ: h by v
static void describe_constraints(kd_newton *self)
{
    kd_dims    d = kd_eom_dims(self->eom);
    kd_pattern pattern;
    self->gz = self->hz = -1;
    if (d.nlambda > 0) {
        bool by_position = d.ns == 0 && kd_eom_pattern(self->eom, KD_G, KD_P, &pattern);
        self->gz = new_source(self, by_position ? KD_G : KD_GI, by_position ? KD_P : KD_V, true);
    }
    if (d.nmu > 0) self->hz = new_source(self, KD_H, KD_V, true);
}

// ---- pieces ---------------------------------------------------------------------------------------------------------

static void add_piece(kd_newton *self, kd_piece piece)
{
    if (piece.source < 0 || self->npieces == KD_NEWTON_PIECES)
        self->arena.failed = true;
    else
        self->piece[self->npieces++] = piece;
}

static int column_of(const kd_newton *self, kd_var var)
{
    const kd_assembled *form = self->form;
    int                 first = self->nv - self->np; // columns of x after the positions, in F
    switch (var) {
    case KD_V:
    case KD_A:
        return first + form->xv;
    case KD_R:
        return first + form->xr;
    case KD_W:
        return first + form->xw;
    case KD_S:
        return first + form->xs;
    case KD_LAMBDA:
        return first + form->xl;
    case KD_MU:
        return first + form->xm;
    default:
        return 0;
    }
}

// The source of a block, GZ and HZ by whatever name
static int source_of(kd_newton *self, kd_fn fn, kd_var var)
{
    bool contact = kd_eom_dims(self->eom).ns > 0;
    if ((fn == KD_GI && var == KD_V) || (fn == KD_GII && var == KD_A) || (fn == KD_G && var == KD_P && !contact))
        return self->gz;
    if ((fn == KD_H && var == KD_V) || (fn == KD_HI && var == KD_A)) return self->hz;
    return find_source(self, fn, var);
}

static void add_block(kd_newton *self, int row, kd_fn fn, kd_var var, double factor)
{
    if (!kd_eom_depends(self->eom, fn, var)) return;
    add_piece(self, (kd_piece){.source = source_of(self, fn, var),
                               .row = row,
                               .column = column_of(self, var),
                               .factor = factor,
                               .by_derivative = var == KD_A});
}

static void add_rows(kd_newton *self, int row, kd_fn fn, double factor)
{
    static const kd_var vars[] = {KD_P, KD_V, KD_A, KD_R, KD_W, KD_S, KD_LAMBDA, KD_MU};
    if (kd_eom_rows(self->eom, fn) == 0) return;
    for (size_t k = 0; k < sizeof vars / sizeof *vars; k++) {
        bool multiplier = vars[k] == KD_LAMBDA || vars[k] == KD_MU;
        if (fn == KD_RESIDUAL && multiplier && !self->force_of_multipliers) continue;
        add_block(self, row, fn, vars[k], factor);
    }
}

static void add_levels(kd_newton *self, int row, const kd_level_sum *sum)
{
    for (int k = 0; k < sum->count; k++) add_rows(self, row, sum->fn[k], sum->factor[k]);
}

// (GZ)' and (HZ)' in the columns of the multipliers
static void add_multipliers(kd_newton *self)
{
    if (self->force_of_multipliers) return;
    kd_piece piece = {.row = self->dyn, .factor = 1, .transposed = true, .multiplier = true};
    piece.source = self->gz;
    piece.column = column_of(self, KD_LAMBDA);
    if (self->gz >= 0) add_piece(self, piece);
    piece.source = self->hz;
    piece.column = column_of(self, KD_MU);
    if (self->hz >= 0) add_piece(self, piece);
}

// GZ by rows
static void set_rows(kd_newton *self)
{
    if (self->gz < 0) return;
    const kd_pattern *G = &self->source[self->gz].pattern;
    int               count = G->column[G->columns];
    self->row_start = kd_cut_int(&self->arena, self->nlambda + 2);
    self->row_column = kd_cut_int(&self->arena, count);
    self->row_value = kd_cut_int(&self->arena, count);
    self->GZ = kd_cut_double(&self->arena, count);
    if (self->arena.failed) return;
    // entries per row, then where each row starts
    for (int k = 0; k < count; k++) self->row_start[G->row[k] + 2]++;
    for (int i = 2; i <= self->nlambda + 1; i++) self->row_start[i] += self->row_start[i - 1];
    // entries in the order of rows
    for (int j = 0; j < G->columns; j++)
        for (int k = G->column[j]; k < G->column[j + 1]; k++) {
            int to = self->row_start[G->row[k] + 1]++;
            self->row_column[to] = j;
            self->row_value[to] = k;
        }
}

static bool on_multipliers(const kd_newton *self, kd_fn fn)
{
    return kd_eom_rows(self->eom, fn) > 0 &&
           (kd_eom_depends(self->eom, fn, KD_LAMBDA) || kd_eom_depends(self->eom, fn, KD_MU));
}

kd_status kd_newton_describe(kd_newton *self)
{
    const kd_assembled *form = self->form;
    const kd_dims       d = form->dims;
    // are the multipliers' columns known, or differenced?
    self->force_of_multipliers = on_multipliers(self, KD_FORCE);
    self->lambda_differenced = self->force_of_multipliers || on_multipliers(self, KD_B) || on_multipliers(self, KD_D);
    // blocks of the dynamic rows, r, d, c, phi, h, g
    describe_constraints(self);
    add_rows(self, self->dyn, KD_RESIDUAL, 1);
    self->mass = source_of(self, KD_RESIDUAL, KD_A);
    add_multipliers(self);
    add_rows(self, self->r, KD_B, -1);
    add_rows(self, form->d - self->np, KD_D, 1);
    add_rows(self, form->c - self->np, KD_C, 1);
    if (d.nlambda > 0) add_levels(self, self->phi, &form->phi_rows);
    if (d.nmu > 0) add_levels(self, self->h, &form->h_rows);
    if (self->has_eta) add_rows(self, self->g, KD_G, 1);
    if (!self->arena.failed) set_rows(self);
    return self->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

// ---- places of F ----------------------------------------------------------------------------------------------------

static void entry_of(const kd_newton *self, const kd_piece *piece, int j, int k, int *row, int *column)
{
    const kd_pattern *pattern = &self->source[piece->source].pattern;
    *row = piece->row + (piece->transposed ? j : pattern->row[k]);
    *column = piece->column + (piece->transposed ? pattern->row[k] : j);
}

// Rows that an entry of the dynamic rows spreads over: the inverse of M couples all velocities that M connects.
typedef struct spread {
    int *component; // (nv), NULL: none
    int  nv;
} spread;

static void find_components(const kd_newton *self, int *component)
{
    const kd_pattern *M = &self->source[self->mass].pattern;
    for (int i = 0; i < self->nv; i++) component[i] = i;
    for (int j = 0; j < M->columns; j++)
        for (int k = M->column[j]; k < M->column[j + 1]; k++) {
            int a = kd_root_of(component, M->row[k]), b = kd_root_of(component, j);
            component[a > b ? a : b] = a > b ? b : a;
        }
    for (int i = 0; i < self->nv; i++) component[i] = kd_root_of(component, i);
}

// One entry, with the rows of the same component and the increments of the same block
static void add_place(const kd_newton *self, const spread *over, kd_places *places, int row, int column)
{
    const kd_increments *inc = &self->increments;
    int                  b = column < self->nv && !inc->identity ? inc->block_of[column] : -1;
    int                  from = b < 0 ? 0 : inc->v_start[b], to = b < 0 ? 1 : inc->v_start[b + 1];
    for (int l = from; l < to; l++) {
        int c = b < 0 ? column : inc->v_of[l];
        if (!over->component || row >= over->nv) {
            kd_places_add(places, row, c);
            continue;
        }
        for (int i = 0; i < over->nv; i++)
            if (over->component[i] == over->component[row]) kd_places_add(places, i, c);
    }
}

// Does the pattern of the topology tell where this piece has entries, or do differences fill or find them?
static bool is_known(const kd_newton *self, const kd_piece *piece)
{
    bool topology = !self->differenced || (self->opt.derivatives == KD_DERIVATIVES_GROUPED && !self->opt.estimated);
    return topology || piece->multiplier || piece->by_derivative;
}

static void collect_places(const kd_newton *self, const spread *over, kd_places *places)
{
    int columns = self->nv + self->m;
    // entries of the pieces
    for (int q = 0; q < self->npieces; q++) {
        const kd_piece   *piece = &self->piece[q];
        const kd_pattern *pattern = &self->source[piece->source].pattern;
        if (!is_known(self, piece)) continue;
        for (int j = 0; j < pattern->columns; j++)
            for (int k = pattern->column[j], row, column; k < pattern->column[j + 1]; k++) {
                entry_of(self, piece, j, k, &row, &column);
                add_place(self, over, places, row, column);
            }
    }
    // columns that differences fill, or have found
    for (int j = 0; j < columns && self->differenced; j++) {
        if (!self->differenced_column[j]) continue;
        for (int i = 0; i < self->m; i++)
            if (self->opt.derivatives == KD_DERIVATIVES_DENSE ||
                (self->opt.estimated && self->found[i + (ptrdiff_t)j * self->m]))
                add_place(self, over, places, i, j);
    }
    // diagonals: r', v' of the explicit form, multipliers of inactive rows
    int nr = kd_eom_dims(self->eom).nr;
    for (int i = 0; i < nr; i++) kd_places_add(places, self->r + i, column_of(self, KD_R) + i);
    for (int i = 0; i < self->nv && over->component; i++) kd_places_add(places, i, self->nv + i);
    for (int i = 0; i < self->nlambda + self->nmu; i++) kd_places_add(places, self->phi + i, self->nv + self->xl + i);
    for (int i = 0; i < self->nlambda && self->has_eta; i++)
        kd_places_add(places, self->g + i, self->nv + self->xe + i);
}

static kd_status set_F(kd_newton *self)
{
    kd_arena  scratch = {0};
    kd_places places = {.rows = self->m, .columns = self->nv + self->m};
    spread    over = {NULL, self->nv};
    if (self->opt.explicit_form && self->differenced) {
        over.component = kd_cut_int(&scratch, self->nv);
        if (over.component) find_components(self, over.component);
    }
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK) collect_places(self, &over, &places);
    if (status == KD_OK) status = kd_places_sort(&places, &self->F, &self->pattern);
    kd_places_release(&places);
    kd_arena_release(&scratch);
    return status;
}

static void place_pieces(kd_newton *self)
{
    for (int q = 0; q < self->npieces; q++) {
        kd_piece         *piece = &self->piece[q];
        const kd_pattern *pattern = &self->source[piece->source].pattern;
        piece->place = kd_cut_int(&self->pattern, pattern->column[pattern->columns]);
        if (self->pattern.failed) return;
        for (int j = 0; j < pattern->columns; j++)
            for (int k = pattern->column[j], row, column; k < pattern->column[j + 1]; k++) {
                entry_of(self, piece, j, k, &row, &column);
                piece->place[k] = kd_columns_find(&self->F, row, column);
            }
    }
}

static void place_diagonals(kd_newton *self)
{
    int nc = self->nlambda + self->nmu;
    self->diagonal_row = kd_cut_int(&self->pattern, nc);
    self->g_diagonal = kd_cut_int(&self->pattern, self->nlambda);
    if (self->pattern.failed) return;
    for (int i = 0; i < nc; i++)
        self->diagonal_row[i] = kd_columns_find(&self->F, self->phi + i, self->nv + self->xl + i);
    for (int i = 0; i < self->nlambda && self->has_eta; i++)
        self->g_diagonal[i] = kd_columns_find(&self->F, self->g + i, self->nv + self->xe + i);
}

// ---- what elimination leaves ----------------------------------------------------------------------------------------

// Of the products K_p (GZ)', rows that are not position constraints may do without (docs/methods/newton.md, ODASSL).
static bool is_needed(const kd_newton *self, int row)
{
    bool position = row >= self->g && row < self->g + self->nlambda;
    return position || self->form->form != KD_ODASSL || self->m < DECOUPLED_FROM;
}

static kd_status set_A(kd_newton *self)
{
    kd_places places = {.rows = self->m, .columns = self->m};
    int       products = 0;
    // K + K_p T: columns of positions fall onto those of velocities
    for (int j = 0; j < self->nv + self->m; j++)
        for (int e = self->F.column[j]; e < self->F.column[j + 1]; e++)
            kd_places_add(&places, self->F.row[e], j < self->nv ? j : j - self->nv);
    // K_p T (GZ)' D: columns of eta
    KD_EACH_PRODUCT(self, k, l, e)
    {
        if (!is_needed(self, self->F.row[e])) continue;
        kd_places_add(&places, self->F.row[e], self->xe + k);
        products++;
    }
    // sorted; the place of each entry and product
    kd_status status = kd_places_sort(&places, &self->A, &self->pattern);
    kd_places_release(&places);
    self->to_A = kd_cut_int(&self->pattern, kd_columns_count(&self->F));
    self->product = kd_cut_int(&self->pattern, products);
    self->factor = kd_cut_int(&self->pattern, products);
    self->product_start = kd_cut_int(&self->pattern, self->gz < 0 ? 1 : self->row_start[self->nlambda] + 1);
    if (status < 0 || self->pattern.failed) return KD_ERR_MEMORY;
    for (int j = 0; j < self->nv + self->m; j++)
        for (int e = self->F.column[j]; e < self->F.column[j + 1]; e++)
            self->to_A[e] = kd_columns_find(&self->A, self->F.row[e], j < self->nv ? j : j - self->nv);
    products = 0;
    KD_EACH_PRODUCT(self, k, l, e)
    {
        if (!is_needed(self, self->F.row[e])) continue;
        self->factor[products] = e;
        self->product[products++] = kd_columns_find(&self->A, self->F.row[e], self->xe + k);
        self->product_start[l + 1] = products;
    }
    // entries of GZ without products
    for (int l = 0; self->gz >= 0 && l < self->row_start[self->nlambda]; l++)
        if (self->product_start[l + 1] < self->product_start[l]) self->product_start[l + 1] = self->product_start[l];
    return KD_OK;
}

static void cut_values(kd_newton *self)
{
    kd_arena *arena = &self->pattern;
    int       nF = kd_columns_count(&self->F), nA = kd_columns_count(&self->A);
    // F_x, F_x' and the matrix of the reduced system
    self->K = kd_cut_double(arena, nF);
    self->E = kd_cut_double(arena, nF);
    self->alike = kd_cut_int(arena, self->nv);
    self->A_E = kd_cut_double(arena, nA);
    self->A_K = kd_cut_double(arena, nA);
    self->W = kd_cut_double(arena, nA);
    // eliminated positions: their matrices for each gamma
    if (!self->increments.identity) {
        int nP = self->F.column[self->nv], nS = self->increments.s_start[self->increments.nblocks];
        self->W_im = kd_cut_double(arena, nA);
        self->T_real = kd_cut_double(arena, nS);
        for (int k = 0; k < KD_LINEAR_PAIRS; k++) {
            self->T_pair[k] = kd_cut_double(arena, nS);
            self->T_im_pair[k] = kd_cut_double(arena, nS);
        }
        self->KT = kd_cut_double(arena, nP);
        self->KT_im = kd_cut_double(arena, nP);
        self->K_normal = self->normals > 0 ? kd_cut_double(arena, nP) : NULL;
    }
    self->value = kd_cut_double(arena, nA);
    self->value_complex = kd_arena_cut(arena, (size_t)nA, sizeof *self->value_complex);
    if (self->nmoving == 0) return;
    self->second = kd_cut_numbers(arena, (size_t)nF * (size_t)self->nmoving);
    self->K_kept = kd_cut_double(arena, nF);
    self->GZ_kept = kd_cut_double(arena, self->gz < 0 ? 0 : self->source[self->gz].pattern.column[self->nv]);
}

static bool has_rows_of(const kd_columns *F, int j, int other)
{
    const int count = F->column[j + 1] - F->column[j];
    return count == F->column[other + 1] - F->column[other] &&
           memcmp(F->row + F->column[j], F->row + F->column[other], (size_t)count * sizeof *F->row) == 0;
}

static void mark_alike(kd_newton *self)
{
    for (int j = 0; j < self->nv; j++)
        self->alike[j] = j + 2 < self->nv && has_rows_of(&self->F, j, j + 1) && has_rows_of(&self->F, j, j + 2) ? 3 : 1;
}

static bool dense_pays(const kd_newton *self)
{
    double m = self->m, part = kd_columns_count(&self->A) / (m > 0 ? m * m : 1);
    if (self->opt.differential_qr) return true;
    if (self->opt.sparse) return false;
    return self->m <= DENSE_UP_TO || part > (self->m < SPARSE_FROM ? DENSE_PART : NEARLY_FULL);
}

static kd_status set_solver(kd_newton *self)
{
    size_t m = (size_t)self->m;
    self->dense = dense_pays(self);
    if (!self->dense) return kd_sparse_lu_create(self->m, self->A.column, self->A.row, &self->lu);
    self->full_A = kd_cut_numbers(&self->pattern, m * m);
    self->full_complex = kd_arena_cut(&self->pattern, m * m, sizeof *self->full_complex);
    if (self->pattern.failed) return KD_ERR_MEMORY;
    return kd_linsolve_create(self->m, self->opt.differential_qr ? KD_LINEAR_QR : KD_LINEAR_LU, NULL, &self->solver);
}

void kd_newton_release_pattern(kd_newton *self)
{
    if (self->lu) self->earlier_factorizations += kd_sparse_lu_full_factorizations(self->lu);
    kd_sparse_lu_destroy(self->lu);
    kd_linsolve_destroy(self->solver);
    kd_colouring_destroy(self->colouring);
    kd_arena_release(&self->pattern);
    self->lu = NULL;
    self->solver = NULL;
    self->colouring = NULL;
    self->pattern = (kd_arena){0};
    self->F = self->A = (kd_columns){0};
}

static kd_status set_groups(kd_newton *self)
{
    if (!self->differenced || self->opt.derivatives != KD_DERIVATIVES_GROUPED) return KD_OK;
    kd_status status = kd_colouring_create(self->m, self->nv + self->m, kd_columns_count(&self->F), &self->colouring);
    if (status < 0) return status;
    return kd_colouring_update(self->colouring, self->F.column, self->F.row, self->differenced_column);
}

kd_status kd_newton_set_pattern(kd_newton *self)
{
    kd_newton_release_pattern(self);
    // pattern of F, places of its pieces
    kd_status status = set_F(self);
    if (status >= 0) place_pieces(self);
    if (status >= 0) place_diagonals(self);
    // pattern of A, values, solver, groups of columns
    if (status >= 0) status = set_A(self);
    if (status >= 0) cut_values(self);
    if (status >= 0 && self->pattern.failed) status = KD_ERR_MEMORY;
    if (status >= 0) mark_alike(self);
    if (status >= 0) status = set_solver(self);
    if (status >= 0) status = kd_newton_pair(self, self->pair);
    if (status >= 0) status = set_groups(self);
    self->has_second = false;
    if (status < 0) kd_newton_release_pattern(self); // all or nothing
    return status;
}
