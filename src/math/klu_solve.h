// math/klu_solve.h: solutions with KLU's real factors and factors of new values, columns of the same pattern together.
//
// klu_solve and klu_refactor go through L and U column by column: every entry costs a load and a store of x. Columns of one
// body have the same rows below (L) or above (U) their own triangle, so that one load and store of x serves up to six of them,
// and columns of U with the same rows above get their new values side by side in a vector.
// The runtime's own sparse LU has these functions, too (src/runtime/sparse_lu.c).
#ifndef KARDAN_MATH_KLU_SOLVE_H
#define KARDAN_MATH_KLU_SOLVE_H

#include <klu.h>
#include <stdbool.h>

#include "core/memory.h"

// What is known of the factors once pivots are chosen
typedef struct kd_klu_plan {
    int    *below, *above;     // (n) columns of the group of L that begins, of U that ends with a column
    int    *l_value, *u_value; // (n) where the values of columns begin
    double *work;              // (4 n) columns side by side
} kd_klu_plan;

void kd_klu_cut_plan(kd_klu_plan *plan, kd_arena *arena, int n);
// After new pivots: rows of all columns in order, groups of L and U. false: out of memory
bool kd_klu_prepare(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, kd_klu_plan *plan);
// As klu_refactor and klu_rgrowth: new values (in the pattern column, row) with the pivots of before. false: a pivot vanished
bool kd_klu_refactor(int *column, int *row, double *values, klu_symbolic *symbolic, klu_numeric *numeric,
                     klu_common *common, const kd_klu_plan *plan);
// b (n) becomes the solution
void kd_klu_solve(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, const kd_klu_plan *plan, double *b);

#endif
