// expr/outside.c: which curve of an expression is read before its first or behind its last row?
//
// Only what the result depends on counts: marks go from the result down to the operands, through conditions to the branch
// that is taken.
#include "expr/internal.h"
#include "expr/table.h"

#include <math.h>
#include <string.h>

bool kd_expr_has_curves(const kd_expr *expr)
{
    return expr->has_curves;
}

static bool leaves(const kd_instruction *i, const double *w)
{
    if (i->op == KD_OP_CURVE) return kd_curve_is_outside(i->curve, w[i->a]);
    return i->op == KD_OP_TABLE && kd_table_is_outside(kd_curve_table(i->curve), w[i->a], w[i->b]);
}

const kd_curve *kd_expr_outside(const kd_expr *expr, const double *x, double *work, double at[2])
{
    const int first = expr->nnumbers + expr->nvariables, n = first + expr->ninstructions;
    double   *needed = work + n;
    (void)kd_expr_value(expr, x, work);
    // backwards from the result: operands of what is needed are needed, of a choice the one that is taken
    memset(needed, 0, (size_t)n * sizeof *needed);
    needed[n - 1] = 1.0;
    for (int k = n - 1; k >= first; k--) {
        const kd_instruction *i = &expr->instruction[k - first];
        const int             operand[3] = {i->a, i->b, i->c};
        if (needed[k] == 0.0) continue;
        if (leaves(i, work)) {
            at[0] = work[i->a];
            at[1] = i->op == KD_OP_TABLE ? work[i->b] : NAN;
            return i->curve;
        }
        for (int o = 0; o < kd_operations[i->op].operands; o++) {
            const bool taken = i->op != KD_OP_IF || o == 0 || o == (work[i->a] != 0.0 ? 1 : 2);
            if (taken) needed[operand[o]] = 1.0;
        }
    }
    return NULL;
}
