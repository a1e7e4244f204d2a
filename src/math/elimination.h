// math/elimination.h: sparse LU of saddle-point matrices with pivots that are chosen once, for steps of fixed work.
//
//     K = [A  B'], A of order m with definite symmetric part, C and B with independent rows; the pattern is taken as
//         [C  0 ]  symmetric, values need not be
//
// Order and pattern of the factors follow from the numbers at creation. A factorisation then always makes the same
// operations on the same places; it does not look for pivots, allocate or branch on numbers.
#ifndef KD_MATH_ELIMINATION_H
#define KD_MATH_ELIMINATION_H

#include "core/archive.h"

typedef struct kd_elimination kd_elimination;

// Entries of K at creation, several at one place are summed up.
typedef struct kd_entries {
    int           count;
    const int    *row, *column;
    const double *value;
} kd_entries;

// block (n): part of A, connected in itself, to which an unknown belongs, or -1: a row of C. A row of C gets its pivot
// after all its neighbours, or after all of them in one block (a joint after one of its bodies) where the pivot there
// is sound. slot (entries->count) receives where each entry lives in kd_elimination_values. *bad: unknown without pivot
// (KD_ERR_DECOMPOSITION), otherwise -1.
kd_status kd_elimination_create(int n, const int *block, const kd_entries *entries, int *slot, kd_elimination **self,
                                int *bad) KD_NODISCARD;
void      kd_elimination_destroy(kd_elimination *self); // NULL is fine

// All values to zero; the caller adds the entries at their slots, then factors.
double *kd_elimination_clear(kd_elimination *self);
// -1, or the unknown whose pivot vanished: less than 1e-10 of what it was at creation, or not finite. b (n, may be
// NULL): b <- K \ b on the way, for less than a solution of its own.
int  kd_elimination_factor(kd_elimination *self, double *b);
void kd_elimination_solve(const kd_elimination *self, double *b); // (n) b <- K \ b
// The same for right-hand sides that are zero but for the unknowns marked (n) here: fronts that these do not reach are left out of
// the way down
void kd_elimination_mark(kd_elimination *self, const bool *marked);
void kd_elimination_solve_marked(const kd_elimination *self, double *b);

// The factors as so many numbers: a copy to keep, and one to solve with in place of those that are there. The same work always.
size_t kd_elimination_numbers(const kd_elimination *self);
void   kd_elimination_keep(const kd_elimination *self, double *factors);
void   kd_elimination_put_back(kd_elimination *self, const double *factors);

// Save or restore the factors; the order of elimination must be the same, which a sum over it tells.
void kd_elimination_archive(kd_elimination *self, kd_archive *a);

typedef struct kd_elimination_size {
    int  entries, fill; // distinct places of K, places of the factors beyond them
    long factor, solve; // multiplications and additions
    int  side_by_side;  // fronts that share vectors with three others of their shape
} kd_elimination_size;
kd_elimination_size kd_elimination_size_of(const kd_elimination *self);

#endif
