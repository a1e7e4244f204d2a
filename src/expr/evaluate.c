// expr/evaluate.c: values, gradients and jets of a finished expression.
//
// All three run once over the instructions. The gradient is the reverse mode (Griewank and Walther: Evaluating
// Derivatives, ch. 3.2): after the values, adjoints w_i = d result/d entry_i are collected from the last entry to the
// first. Entries whose adjoint is 0 are passed over: the branch of an `if` that was not taken may hold NaN.
#include "expr/internal.h"
#include "expr/table.h"

#include <math.h>
#include <string.h>

static int entries(const kd_expr *e)
{
    return e->nnumbers + e->nvariables + e->ninstructions;
}

// ---- queries --------------------------------------------------------------------------------------------------------

void kd_expr_destroy(kd_expr *expr)
{
    if (!expr) return;
    kd_arena_release(&expr->arena);
    kd_free(expr);
}

int kd_expr_work_size(const kd_expr *expr)
{
    // jets of the prologue, too; values and adjoints are less
    const kd_prologue *p = &expr->first;
    const int          early = p->nnumbers + p->nparameters + p->ninstructions;
    const int          jets = (entries(expr) + early) * (int)(sizeof(kd_jet) / sizeof(double));
    const int          bends = entries(expr) * 3 * KD_EXPR_SIDE; // of four expressions
    return jets > bends ? jets : bends;
}

bool kd_expr_is_constant(const kd_expr *expr, double *value)
{
    if (entries(expr) != 1 || expr->nnumbers != 1) return false;
    if (value) *value = expr->number[0];
    return true;
}

int kd_expr_slot_count(const kd_expr *expr)
{
    return expr->nvariables;
}

int kd_expr_slot(const kd_expr *expr, int i)
{
    return expr->slot[i];
}

// ---- value ----------------------------------------------------------------------------------------------------------

static double value_if(double condition, double yes, double no)
{
    return isnan(condition) ? condition : condition != 0.0 ? yes : no;
}

// Arithmetic is spelled out, for it is most of what models hold; the rest comes from the table.
double kd_expr_value_of(const kd_instruction *i, const double *w)
{
    switch (i->op) {
    case KD_OP_ADD:
        return w[i->a] + w[i->b];
    case KD_OP_SUB:
        return w[i->a] - w[i->b];
    case KD_OP_MUL:
        return w[i->a] * w[i->b];
    case KD_OP_DIV:
        return w[i->a] / w[i->b];
    case KD_OP_IF:
        return value_if(w[i->a], w[i->b], w[i->c]);
    case KD_OP_CURVE:
        return kd_curve_value(i->curve, w[i->a]);
    case KD_OP_TABLE:
        return kd_table_value(kd_curve_table(i->curve), w[i->a], w[i->b]);
    default: {
        const kd_operation *o = &kd_operations[i->op];
        return o->value1 ? o->value1(w[i->a]) : o->value2(w[i->a], w[i->b]);
    }
    }
}

double kd_expr_value(const kd_expr *expr, const double *x, double *work)
{
    double *w = work + expr->nnumbers;
    memcpy(work, expr->number, (size_t)expr->nnumbers * sizeof *work);
    for (int i = 0; i < expr->nvariables; i++) w[i] = x[expr->slot[i]];
    w += expr->nvariables;
    for (int i = 0; i < expr->ninstructions; i++) w[i] = kd_expr_value_of(&expr->instruction[i], work);
    return w[expr->ninstructions - 1];
}

// ---- parameters -----------------------------------------------------------------------------------------------------

bool kd_expr_has_parameters(const kd_expr *expr)
{
    return expr->first.nresults > 0 || expr->first.nguards > 0;
}

bool kd_expr_reads_parameter(const kd_expr *expr, int slot)
{
    for (int i = 0; i < expr->first.nparameters; i++)
        if (expr->first.parameter[i] == slot) return true;
    return false;
}

// Does a guard keep its value, or its truth?
static bool is_kept(const kd_guard *g, double value)
{
    if (isnan(value)) return false;
    return g->exact ? value == g->value : (value != 0.0) == (g->value != 0.0);
}

// The numbers of the expression that follow from the parameters
static kd_expr_change run_prologue(const kd_prologue *p, const double *theta, double *number, double *work)
{
    double *w = work + p->nnumbers;
    // numbers, parameters, then instructions on them
    if (p->nnumbers > 0) memcpy(work, p->number, (size_t)p->nnumbers * sizeof *work);
    for (int i = 0; i < p->nparameters; i++) w[i] = theta[p->parameter[i]];
    w += p->nparameters;
    for (int i = 0; i < p->ninstructions; i++) w[i] = kd_expr_value_of(&p->instruction[i], work);
    // conditions that must stay as they were
    for (int i = 0; i < p->nguards; i++)
        if (!is_kept(&p->guard[i], work[p->guard[i].entry])) return KD_EXPR_HELD;
    // results become numbers of the expression
    bool finite = true;
    for (int i = 0; i < p->nresults; i++) {
        number[p->to[i]] = work[p->result[i]];
        finite = finite && isfinite(work[p->result[i]]);
    }
    return finite ? KD_EXPR_CHANGED : KD_EXPR_NOT_FINITE;
}

kd_expr_change kd_expr_update(kd_expr *expr, const double *theta, double *work)
{
    return run_prologue(&expr->first, theta, expr->number, work);
}

kd_expr_change kd_expr_value_at(const kd_expr *expr, const double *theta, const double *x, double *work, double *value)
{
    double *w = work + expr->nnumbers;
    memcpy(work, expr->number, (size_t)expr->nnumbers * sizeof *work);
    const kd_expr_change change = run_prologue(&expr->first, theta, work, work + entries(expr));
    for (int i = 0; i < expr->nvariables; i++) w[i] = x[expr->slot[i]];
    w += expr->nvariables;
    for (int i = 0; i < expr->ninstructions; i++) w[i] = kd_expr_value_of(&expr->instruction[i], work);
    *value = w[expr->ninstructions - 1];
    return change == KD_EXPR_CHANGED && !isfinite(*value) ? KD_EXPR_NOT_FINITE : change;
}

// ---- gradient -------------------------------------------------------------------------------------------------------

// f, f', f'', f''' of an operation of one operand; flat ones have none
static void taylor_of(const kd_instruction *i, double x, double f[4])
{
    const kd_operation *o = &kd_operations[i->op];
    if (i->op == KD_OP_CURVE) {
        kd_curve_eval(i->curve, x, f);
    } else if (o->taylor) {
        o->taylor(x, f);
        kd_expr_calm(f);
    } else {
        f[0] = o->value1(x), f[1] = 0.0, f[2] = 0.0, f[3] = 0.0;
    }
}

// Hand the adjoint g of an instruction with the value f on to its operands.
static void hand_on(const kd_instruction *i, const double *w, double f, double g, double *adjoint)
{
    const kd_operation *o = &kd_operations[i->op];
    // only the branch that is taken has a part in the result
    if (i->op == KD_OP_IF) {
        if (!isnan(w[i->a])) adjoint[w[i->a] != 0.0 ? i->b : i->c] += g;
        // chain rule of one operand, then of two; flat operations hand nothing on
    } else if (o->operands == 1) {
        double taylor[4];
        taylor_of(i, w[i->a], taylor);
        adjoint[i->a] += g * taylor[1];
    } else if (o->partials || i->op == KD_OP_TABLE) {
        double df[2], table[4][4];
        if (i->op == KD_OP_TABLE) {
            kd_table_eval(kd_curve_table(i->curve), w[i->a], w[i->b], table);
            df[0] = table[1][0], df[1] = table[0][1];
        } else {
            o->partials(w[i->a], w[i->b], f, df);
        }
        if (df[0] != 0.0) adjoint[i->a] += g * df[0];
        if (df[1] != 0.0) adjoint[i->b] += g * df[1];
    }
}

double kd_expr_gradient(const kd_expr *expr, const double *x, double *dx, double *work)
{
    const int    n = entries(expr), first = expr->nnumbers + expr->nvariables;
    const double value = kd_expr_value(expr, x, work);
    double      *adjoint = work + n;
    // reverse mode: adjoints from the result down to the variables
    memset(adjoint, 0, (size_t)n * sizeof *adjoint);
    adjoint[n - 1] = 1.0;
    for (int i = n - 1; i >= first; i--)
        if (adjoint[i] != 0.0) hand_on(&expr->instruction[i - first], work, work[i], adjoint[i], adjoint);
    memcpy(dx, adjoint + expr->nnumbers, (size_t)expr->nvariables * sizeof *dx);
    return value;
}

// ---- jet ------------------------------------------------------------------------------------------------------------

static kd_jet jet_if(kd_jet condition, kd_jet yes, kd_jet no)
{
    return isnan(condition.x) ? kd_jet_const(condition.x) : condition.x != 0.0 ? yes : no;
}

__attribute__((always_inline)) static inline kd_jet jet_of(const kd_instruction *i, const kd_jet *w)
{
    const kd_operation *o = &kd_operations[i->op];
    if (i->op == KD_OP_IF) return jet_if(w[i->a], w[i->b], w[i->c]);
    if (i->op == KD_OP_TABLE) {
        double f[4][4];
        kd_table_eval(kd_curve_table(i->curve), w[i->a].x, w[i->b].x, f);
        return kd_jet_chain2(w[i->a], w[i->b], f);
    }
    if (o->jet) return o->jet(w[i->a], w[i->b]);
    if (o->operands == 2) return kd_jet_const(o->value2(w[i->a].x, w[i->b].x));
    double f[4];
    taylor_of(i, w[i->a].x, f);
    return kd_jet_chain1(w[i->a], f[0], f[1], f[2], f[3]);
}

kd_jet kd_expr_jet(const kd_expr *expr, const kd_jet *x, double *work)
{
    kd_jet *entry = (kd_jet *)work, *w = entry + expr->nnumbers;
    for (int i = 0; i < expr->nnumbers; i++) entry[i] = kd_jet_const(expr->number[i]);
    for (int i = 0; i < expr->nvariables; i++) w[i] = x[expr->slot[i]];
    w += expr->nvariables;
    for (int i = 0; i < expr->ninstructions; i++) w[i] = jet_of(&expr->instruction[i], entry);
    return w[expr->ninstructions - 1];
}

// ---- along one variable ---------------------------------------------------------------------------------------------

typedef struct bend {
    double x, x1, x2; // value, first and second derivative
} bend;

static bend bend_by_jet(const kd_instruction *i, const bend *w)
{
    kd_jet operand[3] = {{0}};
    // the instruction on its own operands, which stand in places 0 to 2
    const int            at[3] = {i->a, i->b, i->c}, count = i->op == KD_OP_IF ? 3 : kd_operations[i->op].operands;
    const kd_instruction here = {.op = i->op, .a = 0, .b = 1, .c = 2, .curve = i->curve};
    for (int k = 0; k < count; k++) operand[k] = (kd_jet){.x = w[at[k]].x, .x1 = w[at[k]].x1, .x2 = w[at[k]].x2};
    const kd_jet jet = jet_of(&here, operand);
    return (bend){jet.x, jet.x1, jet.x2};
}

// f(a) by the chain rule
static bend bend_by_taylor(const kd_instruction *i, bend a)
{
    double f[4];
    taylor_of(i, a.x, f);
    return (bend){f[0], f[1] * a.x1, f[2] * a.x1 * a.x1 + f[1] * a.x2};
}

// the result goes to a place behind those of all operands
static inline void bend_to(const kd_instruction *i, const bend *w, bend *out)
{
    const bend *a = &w[i->a], *b = &w[i->b];
    double      x, x1;
    switch (i->op) {
    case KD_OP_ADD:
        *out = (bend){a->x + b->x, a->x1 + b->x1, a->x2 + b->x2};
        break;
    case KD_OP_SUB:
        *out = (bend){a->x - b->x, a->x1 - b->x1, a->x2 - b->x2};
        break;
    case KD_OP_MUL:
        *out = (bend){a->x * b->x, a->x1 * b->x + a->x * b->x1, a->x2 * b->x + 2.0 * a->x1 * b->x1 + a->x * b->x2};
        break;
    case KD_OP_DIV:
        x = a->x / b->x, x1 = (a->x1 - x * b->x1) / b->x;
        *out = (bend){x, x1, (a->x2 - 2.0 * x1 * b->x1 - x * b->x2) / b->x};
        break;
    default:
        *out =
            kd_operations[i->op].operands == 1 && !kd_operations[i->op].jet ? bend_by_taylor(i, *a) : bend_by_jet(i, w);
        break;
    }
}

void kd_expr_along(const kd_expr *expr, const double *x, int slot, double *work, double f[3])
{
    bend *entry = (bend *)work, *w = entry + expr->nnumbers;
    for (int i = 0; i < expr->nnumbers; i++) entry[i] = (bend){.x = expr->number[i]};
    for (int i = 0; i < expr->nvariables; i++)
        w[i] = (bend){.x = x[expr->slot[i]], .x1 = expr->slot[i] == slot ? 1.0 : 0.0};
    w += expr->nvariables;
    for (int i = 0; i < expr->ninstructions; i++) bend_to(&expr->instruction[i], entry, &w[i]);
    const bend *last = &w[expr->ninstructions - 1];
    f[0] = last->x, f[1] = last->x1, f[2] = last->x2;
}

// ---- side by side ---------------------------------------------------------------------------------------------------
// Four expressions with the same instructions on other numbers and variables, as those of equal elements are: every entry holds
// four numbers, each instruction is decoded once. The operations in each of them are those of one expression.

typedef double four __attribute__((vector_size(4 * sizeof(double)), aligned(8), may_alias));

typedef struct four_bends {
    four x, x1, x2;
} four_bends;

bool kd_expr_is_like(const kd_expr *a, const kd_expr *b)
{
    if (a->nnumbers != b->nnumbers || a->nvariables != b->nvariables || a->ninstructions != b->ninstructions)
        return false;
    for (int k = 0; k < a->ninstructions; k++) {
        const kd_instruction *i = &a->instruction[k], *j = &b->instruction[k];
        if (i->op != j->op || i->a != j->a || i->b != j->b || i->c != j->c || i->curve != j->curve) return false;
    }
    return true;
}

static inline void fill_four(const kd_expr *const expr[KD_EXPR_SIDE], const double *x, four *entry)
{
    const int     numbers = expr[0]->nnumbers, variables = expr[0]->nvariables;
    const double *a = expr[0]->number, *b = expr[1]->number, *c = expr[2]->number, *d = expr[3]->number;
    const int    *i = expr[0]->slot, *j = expr[1]->slot, *k = expr[2]->slot, *l = expr[3]->slot;
    for (int n = 0; n < numbers; n++) entry[n] = (four){a[n], b[n], c[n], d[n]};
    for (int n = 0; n < variables; n++) entry[numbers + n] = (four){x[i[n]], x[j[n]], x[k[n]], x[l[n]]};
}

// One by one, through the places of a workspace
static void four_one_by_one(const kd_instruction *i, const four *w, four *out)
{
    const kd_instruction here = {.op = i->op, .a = 0, .b = 1, .c = 2, .curve = i->curve};
    const kd_operation  *o = &kd_operations[i->op];
    for (int l = 0; l < KD_EXPR_SIDE; l++) {
        const double operand[3] = {w[i->a][l], w[i->b][l], w[i->c][l]};
        (*out)[l] = o->value1   ? o->value1(operand[0])
                    : o->value2 ? o->value2(operand[0], operand[1])
                                : kd_expr_value_of(&here, operand);
    }
}

static inline void four_values(const kd_instruction *i, const four *w, four *out)
{
    switch (i->op) {
    case KD_OP_ADD:
        *out = w[i->a] + w[i->b];
        break;
    case KD_OP_SUB:
        *out = w[i->a] - w[i->b];
        break;
    case KD_OP_MUL:
        *out = w[i->a] * w[i->b];
        break;
    case KD_OP_DIV:
        *out = w[i->a] / w[i->b];
        break;
    case KD_OP_ABS:
        for (int l = 0; l < KD_EXPR_SIDE; l++) (*out)[l] = fabs(w[i->a][l]);
        break;
    case KD_OP_RAMP:
        for (int l = 0; l < KD_EXPR_SIDE; l++) (*out)[l] = w[i->a][l] < 0.0 ? 0.0 : w[i->a][l];
        break;
    default:
        four_one_by_one(i, w, out);
        break;
    }
}

void kd_expr_values(const kd_expr *const expr[KD_EXPR_SIDE], const double *x, double *work, double value[KD_EXPR_SIDE])
{
    four *entry = (four *)work, *w = entry + expr[0]->nnumbers + expr[0]->nvariables;
    fill_four(expr, x, entry);
    for (int i = 0; i < expr[0]->ninstructions; i++) four_values(&expr[0]->instruction[i], entry, &w[i]);
    const four *last = &w[expr[0]->ninstructions - 1];
    for (int l = 0; l < KD_EXPR_SIDE; l++) value[l] = (*last)[l];
}

static void four_bends_one_by_one(const kd_instruction *i, const four_bends *w, four_bends *out)
{
    const kd_instruction here = {.op = i->op, .a = 0, .b = 1, .c = 2, .curve = i->curve};
    const int            at[3] = {i->a, i->b, i->c}, count = i->op == KD_OP_IF ? 3 : kd_operations[i->op].operands;
    for (int l = 0; l < KD_EXPR_SIDE; l++) {
        bend operand[3] = {{0}}, result;
        for (int k = 0; k < count; k++) operand[k] = (bend){w[at[k]].x[l], w[at[k]].x1[l], w[at[k]].x2[l]};
        bend_to(&here, operand, &result);
        out->x[l] = result.x, out->x1[l] = result.x1, out->x2[l] = result.x2;
    }
}

// f(a) by the chain rule
static void four_bends_by_taylor(const kd_instruction *i, const four_bends *a, four_bends *out)
{
    double f[KD_EXPR_SIDE][4];
    for (int l = 0; l < KD_EXPR_SIDE; l++) taylor_of(i, a->x[l], f[l]);
    const four f1 = {f[0][1], f[1][1], f[2][1], f[3][1]}, f2 = {f[0][2], f[1][2], f[2][2], f[3][2]};
    out->x = (four){f[0][0], f[1][0], f[2][0], f[3][0]};
    out->x1 = f1 * a->x1;
    out->x2 = f2 * a->x1 * a->x1 + f1 * a->x2;
}

static inline void four_bends_to(const kd_instruction *i, const four_bends *w, four_bends *out)
{
    const four_bends *a = &w[i->a], *b = &w[i->b];
    switch (i->op) {
    case KD_OP_ADD:
        out->x = a->x + b->x, out->x1 = a->x1 + b->x1, out->x2 = a->x2 + b->x2;
        break;
    case KD_OP_SUB:
        out->x = a->x - b->x, out->x1 = a->x1 - b->x1, out->x2 = a->x2 - b->x2;
        break;
    case KD_OP_MUL:
        out->x = a->x * b->x, out->x1 = a->x1 * b->x + a->x * b->x1;
        out->x2 = a->x2 * b->x + 2.0 * a->x1 * b->x1 + a->x * b->x2;
        break;
    case KD_OP_DIV:
        out->x = a->x / b->x, out->x1 = (a->x1 - out->x * b->x1) / b->x;
        out->x2 = (a->x2 - 2.0 * out->x1 * b->x1 - out->x * b->x2) / b->x;
        break;
    default:
        if (kd_operations[i->op].operands == 1 && !kd_operations[i->op].jet)
            four_bends_by_taylor(i, a, out);
        else
            four_bends_one_by_one(i, w, out);
        break;
    }
}

void kd_expr_bends_along(const kd_expr *const expr[KD_EXPR_SIDE], const double *x, const int slot[KD_EXPR_SIDE],
                         double *work, double f[KD_EXPR_SIDE][3])
{
    four_bends *entry = (four_bends *)work, *w = entry + expr[0]->nnumbers;
    const four  zero = {0};
    for (int i = 0; i < expr[0]->nnumbers; i++) {
        entry[i].x = (four){expr[0]->number[i], expr[1]->number[i], expr[2]->number[i], expr[3]->number[i]};
        entry[i].x1 = entry[i].x2 = zero;
    }
    for (int i = 0; i < expr[0]->nvariables; i++) {
        const int at[KD_EXPR_SIDE] = {expr[0]->slot[i], expr[1]->slot[i], expr[2]->slot[i], expr[3]->slot[i]};
        w[i].x = (four){x[at[0]], x[at[1]], x[at[2]], x[at[3]]};
        w[i].x1 = (four){at[0] == slot[0], at[1] == slot[1], at[2] == slot[2], at[3] == slot[3]};
        w[i].x2 = zero;
    }
    w += expr[0]->nvariables;
    for (int i = 0; i < expr[0]->ninstructions; i++) four_bends_to(&expr[0]->instruction[i], entry, &w[i]);
    const four_bends *last = &w[expr[0]->ninstructions - 1];
    for (int l = 0; l < KD_EXPR_SIDE; l++) f[l][0] = last->x[l], f[l][1] = last->x1[l], f[l][2] = last->x2[l];
}

// ---- along a line of parameters -------------------------------------------------------------------------------------

// The prologue with tangents: early (entries of the prologue) holds its results
static kd_expr_change run_prologue_jets(const kd_prologue *p, const kd_expr_line *line, kd_jet *early)
{
    kd_jet *w = early + p->nnumbers;
    bool    finite = true;
    for (int i = 0; i < p->nnumbers; i++) early[i] = kd_jet_const(p->number[i]);
    for (int i = 0; i < p->nparameters; i++)
        w[i] = (kd_jet){.x = line->theta[p->parameter[i]], .d = line->rate[p->parameter[i]]};
    w += p->nparameters;
    for (int i = 0; i < p->ninstructions; i++) w[i] = jet_of(&p->instruction[i], early);
    for (int i = 0; i < p->nguards; i++)
        if (!is_kept(&p->guard[i], early[p->guard[i].entry].x)) return KD_EXPR_HELD;
    for (int i = 0; i < p->nresults; i++)
        finite = finite && isfinite(early[p->result[i]].x) && isfinite(early[p->result[i]].d);
    return finite ? KD_EXPR_CHANGED : KD_EXPR_NOT_FINITE;
}

kd_expr_change kd_expr_update_along(kd_expr *expr, const kd_expr_line *line, double *work)
{
    kd_jet              *early = (kd_jet *)work;
    const kd_prologue   *p = &expr->first;
    const kd_expr_change change = run_prologue_jets(p, line, early);
    for (int i = 0; i < p->nresults && change == KD_EXPR_CHANGED; i++)
        expr->number[p->to[i]] = early[p->result[i]].x + line->h * early[p->result[i]].d;
    return change;
}

kd_expr_change kd_expr_slope_at(const kd_expr *expr, const kd_expr_line *line, const double *x, double *work,
                                double *value, double *slope)
{
    kd_jet              *entry = (kd_jet *)work, *early = entry + entries(expr), *w = entry + expr->nnumbers;
    const kd_prologue   *p = &expr->first;
    const kd_expr_change change = run_prologue_jets(p, line, early);
    // numbers, of which some follow from the parameters; variables do not move
    for (int i = 0; i < expr->nnumbers; i++) entry[i] = kd_jet_const(expr->number[i]);
    for (int i = 0; i < p->nresults; i++) entry[p->to[i]] = early[p->result[i]];
    for (int i = 0; i < expr->nvariables; i++) w[i] = kd_jet_const(x[expr->slot[i]]);
    w += expr->nvariables;
    for (int i = 0; i < expr->ninstructions; i++) w[i] = jet_of(&expr->instruction[i], entry);
    const kd_jet *last = &entry[entries(expr) - 1];
    *value = last->x;
    *slope = last->d;
    return change == KD_EXPR_CHANGED && !(isfinite(*value) && isfinite(*slope)) ? KD_EXPR_NOT_FINITE : change;
}
