// sparse_matrix.c: compressed columns. Sorting by two transpositions (counting sort), products column by column with one dense
// column as workspace (Gustavson 1978).
#include "math/sparse_matrix.h"

#include <math.h>
#include <string.h>

static bool cut_matrix(kd_sparse_matrix *A, int rows, int columns, int count, kd_arena *arena)
{
    *A = (kd_sparse_matrix){.rows = rows, .columns = columns};
    A->column = kd_cut_int(arena, columns + 1);
    A->row = kd_cut_int(arena, count);
    A->value = kd_cut_double(arena, count);
    return !arena->failed;
}

// counts per column, one place behind, become starts
static void sum_counts(int columns, int *column)
{
    for (int j = 0; j < columns; j++) column[j + 1] += column[j];
}

// entries of equal place, which stand side by side in sorted columns, become one
static void add_equal_places(kd_sparse_matrix *A)
{
    int count = 0;
    for (int j = 0; j < A->columns; j++) {
        const int from = A->column[j], to = A->column[j + 1], begin = count;
        A->column[j] = begin;
        // compacted in place: the reader is never behind the writer
        for (int k = from; k < to; k++) {
            if (count > begin && A->row[count - 1] == A->row[k]) {
                A->value[count - 1] += A->value[k];
            } else {
                A->row[count] = A->row[k];
                A->value[count++] = A->value[k];
            }
        }
    }
    A->column[A->columns] = count;
}

kd_status kd_sparse_of_entries(int rows, int columns, int n, const int *row, const int *column, const double *value,
                               kd_arena *arena, kd_sparse_matrix *A)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix by_row; // the transposed matrix, rows of which are in any order
    kd_status        status = KD_ERR_MEMORY;
    int             *next = kd_cut_int(&scratch, rows + 1);
    if (!cut_matrix(&by_row, columns, rows, n, &scratch)) goto done;
    for (int k = 0; k < n; k++) by_row.column[row[k] + 1]++;
    sum_counts(rows, by_row.column);
    memcpy(next, by_row.column, (size_t)(rows + 1) * sizeof *next);
    for (int k = 0; k < n; k++) {
        const int at = next[row[k]]++;
        by_row.row[at] = column[k];
        by_row.value[at] = value[k];
    }
    // the second transposition sorts
    status = kd_sparse_transpose(&by_row, arena, A);
    if (status == KD_OK) add_equal_places(A);
done:
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_sparse_transpose(const kd_sparse_matrix *A, kd_arena *arena, kd_sparse_matrix *At)
{
    kd_arena  scratch = {0};
    kd_status status = KD_ERR_MEMORY;
    int      *next = kd_cut_int(&scratch, A->rows + 1);
    if (!scratch.failed && cut_matrix(At, A->columns, A->rows, kd_sparse_count(A), arena)) {
        // entries of each row are counted, summed up to places, then filled in the order of columns
        for (int k = 0; k < kd_sparse_count(A); k++) At->column[A->row[k] + 1]++;
        sum_counts(At->columns, At->column);
        memcpy(next, At->column, (size_t)(A->rows + 1) * sizeof *next);
        for (int j = 0; j < A->columns; j++)
            for (int k = A->column[j]; k < A->column[j + 1]; k++) {
                const int at = next[A->row[k]]++;
                At->row[at] = j;
                At->value[at] = A->value[k];
            }
        status = KD_OK;
    }
    kd_arena_release(&scratch);
    return status;
}

// Column j of A B: into the dense column, its places listed; returns how many
static int collect_column(const kd_sparse_matrix *A, const kd_sparse_matrix *B, int j, double *dense, int *seen,
                          int *place)
{
    int n = 0;
    // a combination of columns of A; seen[i] = j + 1 marks rows that this column has already
    for (int k = B->column[j]; k < B->column[j + 1]; k++) {
        const int inner = B->row[k];
        for (int l = A->column[inner]; l < A->column[inner + 1]; l++) {
            const int i = A->row[l];
            if (seen[i] != j + 1) {
                seen[i] = j + 1;
                place[n++] = i;
                dense[i] = 0;
            }
            dense[i] += A->value[l] * B->value[k];
        }
    }
    return n;
}

kd_status kd_sparse_product(const kd_sparse_matrix *A, const kd_sparse_matrix *B, kd_arena *arena, kd_sparse_matrix *AB)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix product, transposed; // rows within columns are in any order until it has been transposed twice
    kd_status        status = KD_ERR_MEMORY;
    double          *dense = kd_cut_double(&scratch, A->rows);
    int             *seen = kd_cut_int(&scratch, A->rows), *place = kd_cut_int(&scratch, A->rows);
    if (scratch.failed) goto done;
    // how many entries there will be
    int count = 0;
    for (int j = 0; j < B->columns; j++) count += collect_column(A, B, j, dense, seen, place);
    memset(seen, 0, (size_t)A->rows * sizeof *seen);
    if (!cut_matrix(&product, A->rows, B->columns, count, &scratch)) goto done;
    count = 0;
    for (int j = 0; j < B->columns; j++) {
        const int n = collect_column(A, B, j, dense, seen, place);
        for (int k = 0; k < n; k++, count++) {
            product.row[count] = place[k];
            product.value[count] = dense[place[k]];
        }
        product.column[j + 1] = count;
    }
    status = kd_sparse_transpose(&product, &scratch, &transposed);
    if (status == KD_OK) status = kd_sparse_transpose(&transposed, arena, AB);
done:
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_sparse_congruence(const kd_sparse_matrix *A, const kd_sparse_matrix *T, kd_arena *arena,
                               kd_sparse_matrix *out)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix AT, Tt;
    kd_status        status = kd_sparse_product(A, T, &scratch, &AT);
    if (status == KD_OK) status = kd_sparse_transpose(T, &scratch, &Tt);
    if (status == KD_OK) status = kd_sparse_product(&Tt, &AT, arena, out);
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_sparse_sum(double alpha, const kd_sparse_matrix *A, double beta, const kd_sparse_matrix *B,
                        kd_arena *arena, kd_sparse_matrix *out)
{
    if (!cut_matrix(out, A->rows, A->columns, kd_sparse_count(A) + kd_sparse_count(B), arena)) return KD_ERR_MEMORY;
    int count = 0;
    for (int j = 0; j < A->columns; j++) {
        // both columns are sorted: the lower row first
        int k = A->column[j], l = B->column[j];
        while (k < A->column[j + 1] || l < B->column[j + 1]) {
            const int a = k < A->column[j + 1] ? A->row[k] : A->rows, b = l < B->column[j + 1] ? B->row[l] : A->rows;
            out->row[count] = a < b ? a : b;
            if (a <= b) out->value[count] += alpha * A->value[k++];
            if (b <= a) out->value[count] += beta * B->value[l++];
            count++;
        }
        out->column[j + 1] = count;
    }
    return KD_OK;
}

kd_status kd_sparse_part(const kd_sparse_matrix *A, const int *new_row, int rows, const int *new_column, int columns,
                         kd_arena *arena, kd_sparse_matrix *out)
{
    int count = 0;
    // counted first: columns are cut as long as they are
    for (int j = 0; j < A->columns; j++)
        for (int k = A->column[j]; k < A->column[j + 1]; k++) count += new_column[j] >= 0 && new_row[A->row[k]] >= 0;
    if (!cut_matrix(out, rows, columns, count, arena)) return KD_ERR_MEMORY;
    count = 0;
    // rows keep their order, so that sorted columns stay sorted
    for (int j = 0; j < A->columns; j++) {
        if (new_column[j] < 0) continue;
        for (int k = A->column[j]; k < A->column[j + 1]; k++) {
            if (new_row[A->row[k]] < 0) continue;
            out->row[count] = new_row[A->row[k]];
            out->value[count++] = A->value[k];
        }
        out->column[new_column[j] + 1] = count;
    }
    return KD_OK;
}

void kd_sparse_apply(const kd_sparse_matrix *A, int k, const double *X, double *Y)
{
    for (int c = 0; c < k; c++) {
        const double *x = X + (size_t)c * (size_t)A->columns;
        double       *y = Y + (size_t)c * (size_t)A->rows;
        memset(y, 0, (size_t)A->rows * sizeof *y);
        for (int j = 0; j < A->columns; j++)
            for (int l = A->column[j]; l < A->column[j + 1]; l++) y[A->row[l]] += A->value[l] * x[j];
    }
}

void kd_sparse_apply_t(const kd_sparse_matrix *A, int k, const double *X, double *Y)
{
    for (int c = 0; c < k; c++) {
        const double *x = X + (size_t)c * (size_t)A->rows;
        double       *y = Y + (size_t)c * (size_t)A->columns;
        for (int j = 0; j < A->columns; j++) {
            double sum = 0;
            for (int l = A->column[j]; l < A->column[j + 1]; l++) sum += A->value[l] * x[A->row[l]];
            y[j] = sum;
        }
    }
}

double kd_sparse_largest(const kd_sparse_matrix *A)
{
    double largest = 0;
    for (int k = 0; k < kd_sparse_count(A); k++)
        if (!(fabs(A->value[k]) <= largest)) largest = fabs(A->value[k]); // a NaN stays
    return largest;
}
