// math/klu_solve.h: solutions with KLU's real factors, columns of the same pattern together.
//
// klu_solve goes through L and U column by column: every entry costs a load and a store of x. Columns of one body have the
// same rows below (L) or above (U) their own triangle, so that one load and store of x serves up to three of them.
// The runtime's own sparse LU has these functions, too (src/runtime/sparse_lu.c).
#ifndef KARDAN_MATH_KLU_SOLVE_H
#define KARDAN_MATH_KLU_SOLVE_H

#include <klu.h>
#include <stdbool.h>

// After new pivots: rows of all columns in order, and at which columns groups of L and U begin. together (2 n): sizes of the
// groups, of L by their first columns, of U by their last ones. false: out of memory.
bool kd_klu_prepare(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, int *together);
// b (n) becomes the solution
void kd_klu_solve(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, const int *together, double *b);

#endif
