// math/colouring.h: columns of a sparse matrix in consistent groups (S0 section 3.1): within a group no row has more
// than one entry, so that one difference of a function gives all its columns (S0 Eq. 20). Reference: Coleman, More,
// Estimation of sparse Jacobian matrices and graph coloring problems, SIAM J. Numer. Anal. 20 (1983).
#ifndef KD_MATH_COLOURING_H
#define KD_MATH_COLOURING_H

#include <kardan/base.h>

typedef struct kd_colouring kd_colouring;

// For matrices of rows x columns with at most max_entries entries. Allocates everything that updates need.
kd_status kd_colouring_create(int rows, int columns, int max_entries, kd_colouring **colouring) KD_NODISCARD;
void      kd_colouring_destroy(kd_colouring *colouring); // NULL is fine

// Groups for the pattern by compressed columns: column (columns + 1), row (column[columns]), no entry twice. mask
// (columns): those that take part; NULL: all. Does not allocate. KD_ERR_ARGUMENT: too many entries or a row out of
// range; then the groups of before stay.
kd_status kd_colouring_update(kd_colouring *colouring, const int *column, const int *row,
                              const bool *mask) KD_NODISCARD;

const int *kd_colouring_group(const kd_colouring *colouring); // (columns) 0 .. groups - 1; -1: does not take part
int        kd_colouring_groups(const kd_colouring *colouring);
int        kd_colouring_fullest_row(const kd_colouring *colouring); // entries in it: no partition has fewer groups

#endif
