// math/sparse_matrix.h: sparse matrices with values in compressed columns: sums, products, parts. For work that is done once,
// before a run: results are cut from an arena. Rows rise within a column.
#ifndef KD_MATH_SPARSE_MATRIX_H
#define KD_MATH_SPARSE_MATRIX_H

#include "core/memory.h"

typedef struct kd_sparse_matrix {
    int     rows, columns;
    int    *column; // (columns + 1) start of each column
    int    *row;    // (column[columns])
    double *value;
} kd_sparse_matrix;

static inline int kd_sparse_count(const kd_sparse_matrix *A)
{
    return A->column[A->columns];
}

// Entry k is value[k] at (row[k], column[k]); entries at the same place are added. KD_OK, KD_ERR_MEMORY.
kd_status kd_sparse_of_entries(int rows, int columns, int n, const int *row, const int *column, const double *value,
                               kd_arena *arena, kd_sparse_matrix *A) KD_NODISCARD;
kd_status kd_sparse_transpose(const kd_sparse_matrix *A, kd_arena *arena, kd_sparse_matrix *At) KD_NODISCARD;
kd_status kd_sparse_product(const kd_sparse_matrix *A, const kd_sparse_matrix *B, kd_arena *arena,
                            kd_sparse_matrix *AB) KD_NODISCARD;
// T' A T
kd_status kd_sparse_congruence(const kd_sparse_matrix *A, const kd_sparse_matrix *T, kd_arena *arena,
                               kd_sparse_matrix *out) KD_NODISCARD;
// alpha A + beta B
kd_status kd_sparse_sum(double alpha, const kd_sparse_matrix *A, double beta, const kd_sparse_matrix *B,
                        kd_arena *arena, kd_sparse_matrix *out) KD_NODISCARD;
// The entries whose row and column have a new number (new_row[i] >= 0), as a matrix of that size; numbers rise.
kd_status kd_sparse_part(const kd_sparse_matrix *A, const int *new_row, int rows, const int *new_column, int columns,
                         kd_arena *arena, kd_sparse_matrix *out) KD_NODISCARD;

// Y = A X, Y = A' X with k columns
void   kd_sparse_apply(const kd_sparse_matrix *A, int k, const double *X, double *Y);
void   kd_sparse_apply_t(const kd_sparse_matrix *A, int k, const double *X, double *Y);
double kd_sparse_largest(const kd_sparse_matrix *A); // |entry|

#endif
