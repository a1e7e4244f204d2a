// expr/terms.c: an expression as a sum, so that each part can be looked at alone: what is large does not hide what is
// small.
//
//     value = sum factor_j entry_j + a polynomial of low degree
//
// The sum itself is the last term: two steps make a pulse.
// Factors are the derivatives of the value by the entries, passed down from the result through sums, differences and
// products with numbers, as in reverse mode.
#include "expr/interval.h"

#include <string.h>

static const double any_shape = INFINITY; // degree of what is no polynomial

static bool is_number(const kd_expr *e, int entry)
{
    return entry < e->nnumbers;
}

// As a polynomial of its smooth variables
static double degree_of(const kd_expr *e, const kd_instruction *o, const double *degree)
{
    const double a = degree[o->a], b = degree[o->b];
    switch (o->op) {
    case KD_OP_NEG:
        return a;
    case KD_OP_ADD:
    case KD_OP_SUB:
        return fmax(a, b);
    case KD_OP_MUL:
        return a + b;
    case KD_OP_DIV:
        return is_number(e, o->b) ? a : any_shape;
    case KD_OP_POWER: {
        const double n = is_number(e, o->b) ? e->number[o->b] : 0.5;
        return n == floor(n) && n >= 0.0 ? a * n : any_shape;
    }
    default:
        return any_shape;
    }
}

// Hand the factor of a linear operation down to its operands; false: it is none.
static bool hand_down(const kd_expr *e, const kd_instruction *o, double factor, double *to)
{
    const bool number_a = is_number(e, o->a), number_b = is_number(e, o->b);
    switch (o->op) {
    case KD_OP_NEG:
        to[o->a] -= factor;
        return true;
    case KD_OP_ADD:
    case KD_OP_SUB:
        to[o->a] += factor;
        to[o->b] += o->op == KD_OP_ADD ? factor : -factor;
        return true;
    case KD_OP_MUL:
        if (!number_a && !number_b) return false;
        to[number_a ? o->b : o->a] += factor * e->number[number_a ? o->a : o->b];
        return true;
    case KD_OP_DIV:
        if (!number_b) return false;
        to[o->a] += factor / e->number[o->b];
        return true;
    default:
        return false;
    }
}

// What an entry reads: NOTHING, one variable by its entry, MANY; does it hold an operation with branches?
enum { NOTHING = -1, MANY = -2 };

static double read_by(double a, double b)
{
    return a == NOTHING || a == b ? b : b == NOTHING ? a : MANY;
}

// For all entries, operands first
static void note_reading(const kd_expr *e, int first, double *reads, double *abrupt)
{
    for (int i = 0; i < first; i++) reads[i] = i < e->nnumbers ? NOTHING : i;
    for (int i = 0; i < e->ninstructions; i++) {
        const kd_instruction *o = &e->instruction[i];
        const int             operands = kd_operations[o->op].operands, of[] = {o->a, o->b, o->c};
        reads[first + i] = NOTHING;
        abrupt[first + i] = kd_op_has_branches(o->op);
        for (int k = 0; k < operands; k++) {
            reads[first + i] = read_by(reads[first + i], reads[of[k]]);
            abrupt[first + i] = fmax(abrupt[first + i], abrupt[of[k]]);
        }
    }
}

int kd_expr_terms(const kd_expr *e, bool (*is_smooth)(int slot, const void *context), const void *context, double *work,
                  kd_expr_term *term, int most)
{
    const int first = e->nnumbers + e->nvariables, n = first + e->ninstructions;
    double   *degree = work, *factor = degree + n, *reads = factor + n, *abrupt = reads + n;
    int       count = 0;
    bool      whole = false; // the result is a term itself
    // degrees of all entries as polynomials in smooth variables
    memset(work, 0, 4 * (size_t)n * sizeof *work);
    note_reading(e, first, reads, abrupt);
    for (int i = e->nnumbers; i < first; i++)
        degree[i] = is_smooth(e->slot[i - e->nnumbers], context) ? 1.0 : any_shape;
    for (int i = first; i < n; i++) degree[i] = degree_of(e, &e->instruction[i - first], degree);
    // reverse mode: factors from the result down; what is no linear operation is a term
    factor[n - 1] = 1.0;
    for (int i = n - 1; i >= e->nnumbers && count < most - 1; i--) {
        if (factor[i] == 0.0 || degree[i] <= KD_EXPR_PLAIN_DEGREE) continue;
        if (i >= first && hand_down(e, &e->instruction[i - first], factor[i], factor)) continue;
        whole = whole || i == n - 1;
        term[count++] = (kd_expr_term){i, factor[i], abrupt[i] != 0.0, reads[i] != MANY, false};
    }
    // what comes and goes may also be the difference of terms
    if (count > 1 && !whole && (abrupt[n - 1] != 0.0 || reads[n - 1] != MANY))
        term[count++] = (kd_expr_term){n - 1, 1.0, abrupt[n - 1] != 0.0, reads[n - 1] != MANY, true};
    return count;
}
