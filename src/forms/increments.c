// forms/increments.c: the blocks of Z, their pseudo-inverses and derivatives.
#include "forms/increments.h"
#include "math/dense.h"
#include "math/kernel.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>

// ---- blocks ---------------------------------------------------------------------------------------------------------

// parent[] of np + nv nodes: coordinates and velocities that Z connects belong together; counted angles connect nothing
static void connect_by_Z(const kd_increments *self, const kd_pattern *Z, int *parent)
{
    for (int i = 0; i < self->np + self->nv; i++) parent[i] = i;
    for (int j = 0; j < self->nv; j++)
        for (int k = Z ? Z->column[j] : 0; k < (Z ? Z->column[j + 1] : self->np); k++) {
            if ((Z ? Z->row[k] : k) >= self->nplain) continue;
            int a = kd_root_of(parent, Z ? Z->row[k] : k), b = kd_root_of(parent, self->np + j);
            if (a < b)
                parent[b] = a;
            else
                parent[a] = b;
        }
}

// Numbers of members [first, first + count) of each block, in order
static void list_members(int nblocks, const int *block, int first, int count, int *start, int *member)
{
    for (int i = 0; i < count; i++) start[block[first + i] + 1]++;
    for (int b = 0; b < nblocks; b++) start[b + 1] += start[b];
    for (int i = 0; i < count; i++) member[start[block[first + i]]++] = i;
    for (int b = nblocks; b > 0; b--) start[b] = start[b - 1];
    start[0] = 0;
}

static void find_blocks(kd_increments *self, kd_arena *arena, const kd_pattern *Z)
{
    kd_arena scratch = {0};
    int      n = self->np + self->nv, *parent = kd_cut_int(&scratch, n), *block = kd_cut_int(&scratch, n);
    if (scratch.failed) {
        arena->failed = true;
        return;
    }
    // connected parts of coordinates and velocities, numbered
    connect_by_Z(self, Z, parent);
    for (int i = 0; i < n; i++) block[i] = kd_root_of(parent, i) == i ? self->nblocks++ : block[kd_root_of(parent, i)];
    self->p_start = kd_cut_int(arena, self->nblocks + 2);
    self->v_start = kd_cut_int(arena, self->nblocks + 2);
    self->p_of = kd_cut_int(arena, self->np);
    self->v_of = kd_cut_int(arena, self->nv);
    self->block_of = kd_cut_int(arena, self->nv);
    // members of each
    if (!arena->failed) {
        list_members(self->nblocks, block, 0, self->np, self->p_start, self->p_of);
        list_members(self->nblocks, block, self->np, self->nv, self->v_start, self->v_of);
        memcpy(self->block_of, block + self->np, (size_t)self->nv * sizeof *block);
    }
    kd_arena_release(&scratch);
}

static int rows_of(const kd_increments *self, int b)
{
    return self->p_start[b + 1] - self->p_start[b];
}

static int columns_of(const kd_increments *self, int b)
{
    return self->v_start[b + 1] - self->v_start[b];
}

static void cut_blocks(kd_increments *self, kd_arena *arena)
{
    int most = 0;
    self->z_start = kd_cut_int(arena, self->nblocks + 1);
    self->s_start = kd_cut_int(arena, self->nblocks + 1);
    if (arena->failed) return;
    for (int b = 0; b < self->nblocks; b++) {
        int rows = rows_of(self, b), columns = columns_of(self, b);
        // a block that is too large for an int, or all together
        const int64_t larger = (int64_t)(rows > columns ? rows : columns) * columns;
        const int     most_so_far = self->z_start[b] > self->s_start[b] ? self->z_start[b] : self->s_start[b];
        if (larger > INT_MAX - most_so_far) {
            arena->failed = true;
            return;
        }
        self->z_start[b + 1] = self->z_start[b] + rows * columns;
        self->s_start[b + 1] = self->s_start[b] + columns * columns;
        if (rows + columns > most) most = rows + columns;
    }
    self->Z = kd_cut_double(arena, self->z_start[self->nblocks]);
    self->Zplus = kd_cut_double(arena, self->z_start[self->nblocks]);
    self->rate = kd_cut_double(arena, self->z_start[self->nblocks]);
    self->S = kd_cut_double(arena, self->s_start[self->nblocks]);
    self->gram = kd_cut_matrix(arena, most, most);
    self->shifted = kd_arena_cut(arena, (size_t)most * (size_t)most, sizeof *self->shifted);
    self->unit = kd_arena_cut(arena, (size_t)most * (size_t)most, sizeof *self->unit);
    self->pivot = kd_cut_int(arena, most);
}

// place of (i, j) in Z; -1: outside of the blocks
static int place_of(const kd_increments *self, int i, int j)
{
    int b = self->block_of[j], rows = rows_of(self, b);
    for (int l = 0; l < columns_of(self, b); l++) {
        if (self->v_of[self->v_start[b] + l] != j) continue;
        for (int k = 0; k < rows; k++)
            if (self->p_of[self->p_start[b] + k] == i) return self->z_start[b] + k + l * rows;
    }
    return -1;
}

// Entries of counted rows, in the order of columns
static void list_counted(const kd_increments *self, kd_arena *arena, const kd_pattern *pattern, kd_counted *list)
{
    const int all = pattern ? pattern->column[self->nv] : self->np * self->nv;
    for (int k = 0; k < all; k++) list->count += (pattern ? pattern->row[k] : k % self->np) >= self->nplain;
    list->row = kd_cut_int(arena, list->count);
    list->column = kd_cut_int(arena, list->count);
    list->value = kd_cut_int(arena, list->count);
    if (arena->failed) return;
    for (int j = 0, n = 0; j < self->nv; j++) {
        const int from = pattern ? pattern->column[j] : j * self->np;
        const int to = pattern ? pattern->column[j + 1] : from + self->np;
        for (int k = from; k < to; k++) {
            const int row = pattern ? pattern->row[k] : k - from;
            if (row < self->nplain) continue;
            list->row[n] = row;
            list->column[n] = j;
            list->value[n++] = k;
        }
    }
}

// Values of a block derivative of the kinematics and where they go
static void cut_source(kd_increments *self, kd_arena *arena, kd_var var, bool *sparse, int **place, double **value,
                       kd_counted *counted)
{
    kd_pattern pattern;
    *sparse = kd_eom_pattern(self->eom, KD_KINEMATICS, var, &pattern);
    int count = *sparse ? pattern.column[self->nv] : self->np * self->nv;
    *place = kd_cut_int(arena, count);
    *value = kd_cut_double(arena, count);
    if (arena->failed) return;
    for (int j = 0; j < self->nv; j++) {
        int from = *sparse ? pattern.column[j] : j * self->np, to = *sparse ? pattern.column[j + 1] : from + self->np;
        for (int k = from; k < to; k++) (*place)[k] = place_of(self, *sparse ? pattern.row[k] : k - from, j);
    }
    list_counted(self, arena, *sparse ? &pattern : NULL, counted);
}

void kd_increments_cut(kd_increments *self, kd_arena *arena, const kd_eom *eom)
{
    const kd_eom_def *def = kd_eom_definition(eom);
    kd_pattern        Z;
    // without patterns rows are differenced along all normals, which are orthogonal to Z
    const int ncounted = def->pattern ? def->ncounted : 0;
    *self = (kd_increments){.eom = eom, .np = def->dims.np, .nv = def->dims.nv, .nplain = def->dims.np - ncounted};
    self->identity = !def->kinematics && !def->Z;
    if (self->identity) return;
    find_blocks(self, arena, kd_eom_pattern(eom, KD_KINEMATICS, KD_V, &Z) ? &Z : NULL);
    if (!arena->failed) cut_blocks(self, arena);
    if (arena->failed) return;
    cut_source(self, arena, KD_V, &self->sparse_z, &self->z_place, &self->z_value, &self->z_counted);
    cut_source(self, arena, KD_P, &self->sparse_s, &self->s_place, &self->s_value, &self->s_counted);
}

// ---- values ---------------------------------------------------------------------------------------------------------

static kd_eval fetch_blocks(kd_increments *self, kd_eom_data *data, kd_var var, bool sparse, const int *place,
                            double *value, double *block)
{
    kd_eval    answer;
    kd_pattern pattern;
    kd_blocks  wanted = {0};
    wanted.block[KD_KINEMATICS][var] = value;
    if (sparse)
        answer = kd_eom_sparse(data, KD_KINEMATICS, var, KD_PART_ALL, value);
    else
        answer = var == KD_V ? kd_eom_Z(data, value) : kd_eom_derivatives(data, KD_PART_ALL, &wanted);
    if (answer != KD_EVAL_OK) return answer;
    int count = self->np * self->nv;
    if (sparse && kd_eom_pattern(self->eom, KD_KINEMATICS, var, &pattern)) count = pattern.column[self->nv];
    for (int k = 0; k < count; k++)
        if (place[k] >= 0) block[place[k]] = value[k];
    return KD_EVAL_OK;
}

// Z+ = (Z'Z)^-1 Z' and S = Z+ rate of one block. With the counted rows a count that is off by n would turn the bodies by a
// part of n, which no derivative along increments knows of.
static kd_eval invert_block(kd_increments *self, int b)
{
    int           rows = rows_of(self, b), columns = columns_of(self, b);
    const double *Z = self->Z + self->z_start[b];
    double       *Zplus = self->Zplus + self->z_start[b];
    if (rows == 0 || columns == 0) return KD_EVAL_OK;
    // (Z'Z) Z+ = Z'
    for (int l = 0; l < columns; l++)
        for (int k = 0; k < columns; k++) self->gram[k + l * columns] = kd_dot(rows, Z + k * rows, Z + l * rows);
    if (kd_cholesky_factor(columns, self->gram) != 0) return KD_EVAL_RETRY;
    for (int k = 0; k < rows; k++)
        for (int l = 0; l < columns; l++) Zplus[l + k * columns] = Z[k + l * rows];
    kd_cholesky_solve(columns, self->gram, Zplus, rows);
    // S = Z+ D_p(Z v)
    kd_gemm(columns, columns, rows, 1, Zplus, self->rate + self->z_start[b], 0, self->S + self->s_start[b]);
    return KD_EVAL_OK;
}

kd_eval kd_increments_update(kd_increments *self, kd_eom_data *data)
{
    if (self->identity) return KD_EVAL_OK;
    kd_eval answer = fetch_blocks(self, data, KD_V, self->sparse_z, self->z_place, self->z_value, self->Z);
    if (answer == KD_EVAL_OK)
        answer = fetch_blocks(self, data, KD_P, self->sparse_s, self->s_place, self->s_value, self->rate);
    for (int b = 0; b < self->nblocks && answer == KD_EVAL_OK; b++) answer = invert_block(self, b);
    return answer;
}

// ---- use ------------------------------------------------------------------------------------------------------------

// Blocks are small: one number, or a quaternion with three rates. Loops over sizes that are known there are unrolled; the sums are
// the same.
#define BY_SIZE(function, rows, columns, ...)                                                                          \
    do {                                                                                                               \
        if ((rows) == 1 && (columns) == 1)                                                                             \
            function(1, 1, __VA_ARGS__);                                                                               \
        else if ((rows) == 4 && (columns) == 3)                                                                        \
            function(4, 3, __VA_ARGS__);                                                                               \
        else                                                                                                           \
            function(rows, columns, __VA_ARGS__);                                                                      \
    } while (0)

static inline void split_block(int rows, int columns, const double *Z, const double *Zplus, const int *p, const int *v,
                               const double *restrict rate, double *restrict along, double *restrict normal)
{
    // along = Z+ rate
    for (int l = 0; l < columns; l++) {
        double sum = 0;
        for (int k = 0; k < rows; k++) sum += Zplus[l + k * columns] * rate[p[k]];
        along[v[l]] = sum;
    }
    // normal = rate - Z along
    for (int k = 0; k < rows; k++) {
        double rest = rate[p[k]];
        for (int l = 0; l < columns; l++) rest -= Z[k + l * rows] * along[v[l]];
        normal[p[k]] = rest;
    }
}

// y += sign times the counted rows times x
static void add_counted(const kd_counted *list, const double *value, double sign, const double *x, double *y)
{
    for (int k = 0; k < list->count; k++) y[list->row[k]] += sign * value[list->value[k]] * x[list->column[k]];
}

void kd_increments_split(const kd_increments *self, const double *rate, double *along, double *normal)
{
    for (int b = 0; b < self->nblocks; b++) {
        const int     rows = rows_of(self, b), columns = columns_of(self, b);
        const int    *p = self->p_of + self->p_start[b], *v = self->v_of + self->v_start[b];
        const double *Z = self->Z + self->z_start[b], *Zplus = self->Zplus + self->z_start[b];
        BY_SIZE(split_block, rows, columns, Z, Zplus, p, v, rate, along, normal);
    }
    // counted rows, each a block without columns above
    add_counted(&self->z_counted, self->z_value, -1, along, normal);
}

static inline void join_block(int rows, int columns, const double *Z, const double *rate, const int *p, const int *v,
                              const double *restrict along, const double *restrict turn, double *restrict normal,
                              double *restrict dp)
{
    // dp = Z along, normal += D_p(Z v) along - Z turn
    for (int k = 0; k < rows; k++) {
        double move = 0, off = normal[p[k]];
        for (int l = 0; l < columns; l++) {
            move += Z[k + l * rows] * along[v[l]];
            off += rate[k + l * rows] * along[v[l]] - Z[k + l * rows] * turn[v[l]];
        }
        dp[p[k]] = move, normal[p[k]] = off;
    }
}

void kd_increments_join(const kd_increments *self, const double *along, const double *turn, double *normal, double *dp)
{
    for (int b = 0; b < self->nblocks; b++) {
        const int     rows = rows_of(self, b), columns = columns_of(self, b);
        const int    *p = self->p_of + self->p_start[b], *v = self->v_of + self->v_start[b];
        const double *Z = self->Z + self->z_start[b], *rate = self->rate + self->z_start[b];
        BY_SIZE(join_block, rows, columns, Z, rate, p, v, along, turn, normal, dp);
    }
    add_counted(&self->z_counted, self->z_value, 1, along, dp);
    add_counted(&self->s_counted, self->s_value, 1, along, normal);
    add_counted(&self->z_counted, self->z_value, -1, turn, normal);
}

static inline void apply_block(int rows, int columns, const double *block, const int *v, const double *restrict x,
                               double *restrict y)
{
    (void)rows;
    for (int k = 0; k < columns; k++) {
        double sum = 0;
        for (int l = 0; l < columns; l++) sum += block[k + l * columns] * x[v[l]];
        y[v[k]] = sum;
    }
}

void kd_increments_apply(const kd_increments *self, const double *B, const double *x, double *y)
{
    for (int b = 0; b < self->nblocks; b++) {
        const int rows = rows_of(self, b), columns = columns_of(self, b);
        BY_SIZE(apply_block, rows, columns, B + self->s_start[b], self->v_of + self->v_start[b], x, y);
    }
}

bool kd_increments_resolvent(const kd_increments *self, double gamma_re, double gamma_im, double *T_re, double *T_im)
{
    for (int b = 0; b < self->nblocks; b++) {
        int             n = columns_of(self, b), count = n * n;
        double complex *A = self->shifted, *X = self->unit;
        if (n == 1 && !T_im) { // a number
            const double pivot = gamma_re - self->S[self->s_start[b]];
            if (!kd_is_pivot(pivot)) return false;
            T_re[self->s_start[b]] = 1 / pivot;
            continue;
        }
        // T = (gamma I - S) \ I of the block
        for (int k = 0; k < count; k++) {
            bool diagonal = k % (n + 1) == 0;
            A[k] = (diagonal ? gamma_re + gamma_im * I : 0) - self->S[self->s_start[b] + k];
            X[k] = diagonal;
        }
        if (n > 0 && kd_zlu_factor(n, A, self->pivot) != 0) return false;
        if (n > 0) kd_zlu_solve(n, A, self->pivot, X, n);
        for (int k = 0; k < count; k++) T_re[self->s_start[b] + k] = creal(X[k]);
        for (int k = 0; k < count && T_im; k++) T_im[self->s_start[b] + k] = cimag(X[k]);
    }
    return true;
}

void kd_increments_move(const kd_increments *self, int j, double step, double *p)
{
    if (self->identity) {
        p[j] += step;
        return;
    }
    int           b = self->block_of[j], rows = rows_of(self, b), l = 0;
    const int    *number = self->p_of + self->p_start[b], *v = self->v_of + self->v_start[b];
    const double *Z = self->Z + self->z_start[b];
    while (v[l] != j) l++;
    for (int k = 0; k < rows; k++) p[number[k]] += step * Z[k + l * rows];
    for (int k = 0; k < self->z_counted.count; k++)
        if (self->z_counted.column[k] == j) p[self->z_counted.row[k]] += step * self->z_value[self->z_counted.value[k]];
}
