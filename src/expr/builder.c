// expr/builder.c: from nodes to a finished expression.
//
// Nodes are made bottom-up. A node with constant operands is computed at once; a node that exists already (found by a
// hash table) is used again, so that common parts are evaluated once. What is made of parameters is fixed: it is not
// folded, but computed in a prologue when parameters change, and stands as a number in the expression. Constants that
// give NaN or infinity are kept as NOT_FINITE and swallow what is built on them; only if the result depends on one, this
// is an error: a condition on a parameter may switch the wrong part off.
#include "expr/internal.h"
#include "expr/table.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_CAPACITY = 8 }; // nodes; most expressions of a model are smaller

int kd_build_fail(kd_builder *b, kd_status status, int column, const char *format, ...)
{
    if (b->status != KD_OK) return -1;
    b->status = status;
    b->error->column = column;
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(b->error->text, sizeof b->error->text, format, arguments) < 0) b->error->text[0] = '\0';
    va_end(arguments);
    return -1;
}

bool kd_build_is_number(const kd_builder *b, int node, double *number)
{
    if (node < 0 || b->node[node].op != KD_OP_NUMBER) return false;
    *number = b->node[node].number;
    return true;
}

// A number, or fixed: its value is known now
static bool is_settled(const kd_builder *b, int node, double *number)
{
    *number = b->node[node].number;
    return b->node[node].op == KD_OP_NUMBER || b->node[node].fixed;
}

bool kd_build_hold(kd_builder *b, int node, bool exact, double *number)
{
    if (node < 0 || !is_settled(b, node, number)) return false;
    if (!b->node[node].fixed) return true;
    // held already?
    for (int i = 0; i < b->nguards; i++)
        if (b->guard[i] == node && b->exact[i] == exact) return true;
    if (b->nguards == KD_EXPR_MAX_GUARDS) {
        kd_build_fail(b, KD_ERR_MODEL, b->node[node].column, "the expression has more than %d conditions on parameters",
                      KD_EXPR_MAX_GUARDS);
        return false;
    }
    b->exact[b->nguards] = exact;
    b->guard[b->nguards++] = node;
    return true;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static uint64_t bits(double number)
{
    uint64_t word;
    memcpy(&word, &number, sizeof word);
    return word;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15); // 2^64 / golden ratio
    return hash ^ (hash >> 29);
}

static uint64_t hash_of(const kd_expr_node *n)
{
    uint64_t hash = mix((uint64_t)n->op, (uint64_t)n->a);
    hash = mix(mix(hash, (uint64_t)n->b), (uint64_t)n->c);
    hash = mix(mix(hash, bits(n->number)), (uint64_t)n->slot);
    return mix(hash, (uint64_t)(uintptr_t)n->curve);
}

static bool is_same(const kd_expr_node *n, const kd_expr_node *m)
{
    return n->op == m->op && n->a == m->a && n->b == m->b && n->c == m->c && bits(n->number) == bits(m->number) &&
           n->slot == m->slot && n->curve == m->curve;
}

// The place of a node in the hash table, or the free place where it belongs.
static int place_of(const kd_builder *b, const kd_expr_node *n)
{
    const uint64_t mask = (uint64_t)b->table_size - 1;
    uint64_t       i = hash_of(n) & mask;
    while (b->table[i] >= 0 && !is_same(&b->node[b->table[i]], n)) i = (i + 1) & mask;
    return (int)i;
}

// Twice as many nodes, and a table twice as large as these
static bool grow(kd_builder *b)
{
    const int     capacity = b->capacity > 0 ? 2 * b->capacity : FIRST_CAPACITY, table_size = 2 * capacity;
    kd_expr_node *node = kd_alloc((size_t)capacity * sizeof *node);
    int          *table = kd_alloc((size_t)table_size * sizeof *table);
    if (!node || !table) {
        kd_free(node);
        kd_free(table);
        kd_build_fail(b, KD_ERR_MEMORY, 0, "out of memory");
        return false;
    }
    if (b->count > 0) memcpy(node, b->node, (size_t)b->count * sizeof *node);
    kd_build_release(b);
    b->node = node, b->capacity = capacity;
    b->table = table, b->table_size = table_size;
    // all nodes anew: their places depend on the size of the table
    for (int i = 0; i < table_size; i++) table[i] = -1;
    for (int i = 0; i < b->count; i++) table[place_of(b, &node[i])] = i;
    return true;
}

void kd_build_release(kd_builder *b)
{
    kd_free(b->node);
    kd_free(b->table);
    b->node = NULL, b->table = NULL;
}

// The node, made or found.
static int node_of(kd_builder *b, kd_expr_node node)
{
    if (b->status != KD_OK) return -1;
    if (b->count == b->capacity && !grow(b)) return -1;
    const int place = place_of(b, &node);
    if (b->table[place] >= 0) return b->table[place];
    if (b->count == KD_EXPR_MAX_NODES)
        return kd_build_fail(b, KD_ERR_MODEL, node.column, "the expression has more than %d parts", KD_EXPR_MAX_NODES);
    b->node[b->count] = node;
    b->table[place] = b->count;
    return b->count++;
}

int kd_build_number(kd_builder *b, double number, int column)
{
    assert(isfinite(number));
    return node_of(b, (kd_expr_node){.op = KD_OP_NUMBER, .number = number, .column = column});
}

int kd_build_parameter(kd_builder *b, int slot, double value, int column)
{
    assert(slot >= 0 && isfinite(value));
    return node_of(
        b, (kd_expr_node){.op = KD_OP_PARAMETER, .slot = slot, .number = value, .fixed = true, .column = column});
}

int kd_build_variable(kd_builder *b, int slot, int column, int length)
{
    assert(slot >= 0);
    return node_of(b, (kd_expr_node){.op = KD_OP_VARIABLE, .slot = slot, .column = column, .length = length});
}

// The result of constants: a number, or what is wrong with it.
static int folded(kd_builder *b, double number, kd_op origin, int a, int c, int column)
{
    if (isfinite(number)) return kd_build_number(b, number, column);
    return node_of(b, (kd_expr_node){.op = KD_OP_NOT_FINITE,
                                     .a = a,
                                     .b = c,
                                     .c = (int)origin,
                                     .number = number,
                                     .origin = origin,
                                     .column = column});
}

static bool is_not_finite(const kd_builder *b, int node)
{
    return b->node[node].op == KD_OP_NOT_FINITE;
}

// ---- operations -----------------------------------------------------------------------------------------------------

int kd_build1(kd_builder *b, kd_op op, int a, int column)
{
    double x = 0.0;
    if (a < 0) return -1;
    if (is_not_finite(b, a)) return a;
    if (kd_build_is_number(b, a, &x)) return folded(b, kd_operations[op].value1(x), op, a, a, column);
    if (is_settled(b, a, &x))
        return node_of(
            b,
            (kd_expr_node){.op = op, .a = a, .fixed = true, .number = kd_operations[op].value1(x), .column = column});
    if (op == KD_OP_NEG && b->node[a].op == KD_OP_NEG) return b->node[a].a;
    return node_of(b, (kd_expr_node){.op = op, .a = a, .column = column});
}

int kd_build_curve(kd_builder *b, const kd_curve *curve, int x, int column)
{
    double at = 0.0;
    if (x < 0) return -1;
    if (is_not_finite(b, x)) return x;
    if (kd_build_is_number(b, x, &at) && !isfinite(kd_curve_value(curve, at)))
        return folded(b, kd_curve_value(curve, at), KD_OP_CURVE, x, x, column);
    const bool   fixed = is_settled(b, x, &at); // the curve may change with parameters
    const double value = fixed ? kd_curve_value(curve, at) : 0.0;
    return node_of(
        b,
        (kd_expr_node){.op = KD_OP_CURVE, .a = x, .curve = curve, .fixed = fixed, .number = value, .column = column});
}

int kd_build_table(kd_builder *b, const kd_curve *curve, int x, int y, int column)
{
    double at[2] = {0.0, 0.0};
    if (x < 0 || y < 0) return -1;
    if (is_not_finite(b, x) || is_not_finite(b, y)) return is_not_finite(b, x) ? x : y;
    const bool   numbers = kd_build_is_number(b, x, &at[0]) && kd_build_is_number(b, y, &at[1]);
    const bool   fixed = is_settled(b, x, &at[0]) && is_settled(b, y, &at[1]);
    const double value = fixed ? kd_table_value(kd_curve_table(curve), at[0], at[1]) : 0.0;
    if (numbers && !isfinite(value)) return folded(b, value, KD_OP_TABLE, x, y, column);
    return node_of(
        b, (kd_expr_node){
               .op = KD_OP_TABLE, .a = x, .b = y, .curve = curve, .fixed = fixed, .number = value, .column = column});
}

// Results that do not depend on the other operand, also if that is not finite; -1: none. What parameters decide about a
// variable is held.
static int decided(kd_builder *b, kd_op op, int a, int c, int column)
{
    const int operand[2] = {a, c};
    double    x = 0.0, other = 0.0;
    if (op != KD_OP_AND && op != KD_OP_OR) return -1;
    for (int i = 0; i < 2; i++) {
        if (!is_settled(b, operand[i], &x) || (op == KD_OP_AND) != (x == 0.0)) continue;
        if (b->node[operand[i]].fixed && is_settled(b, operand[1 - i], &other)) continue;
        if (kd_build_hold(b, operand[i], false, &x)) return kd_build_number(b, op == KD_OP_OR, column);
    }
    return -1;
}

// a op x, where a is not constant, in a simpler way; -1: none.
static int simplified_right(kd_builder *b, kd_op op, int a, double x, int c, int column)
{
    if (op == KD_OP_DIV && x == 0.0) return folded(b, INFINITY, op, a, c, column);
    if ((op == KD_OP_ADD || op == KD_OP_SUB) && x == 0.0) return a;
    if ((op == KD_OP_MUL || op == KD_OP_DIV || op == KD_OP_POW) && x == 1.0) return a;
    if (op == KD_OP_POW && x == 0.0) return kd_build_number(b, 1.0, column);
    if (op == KD_OP_POW && x == 2.0) return kd_build2(b, KD_OP_MUL, a, a, column);
    if (op == KD_OP_POW) return node_of(b, (kd_expr_node){.op = KD_OP_POWER, .a = a, .b = c, .column = column});
    return -1;
}

static int simplified_left(kd_op op, double x, int c)
{
    return (op == KD_OP_ADD && x == 0.0) || (op == KD_OP_MUL && x == 1.0) ? c : -1;
}

int kd_build2(kd_builder *b, kd_op op, int a, int c, int column)
{
    if (a < 0 || c < 0) return -1;
    double x = 0.0, y = 0.0;
    // results that one operand alone decides; what is not finite swallows the rest
    const int result = decided(b, op, a, c, column);
    if (result >= 0) return result;
    if (is_not_finite(b, a)) return a;
    if (is_not_finite(b, c)) return c;
    // constants are folded, what parameters make of them is fixed
    const bool left = kd_build_is_number(b, a, &x), right = kd_build_is_number(b, c, &y);
    if (left && right) return folded(b, kd_operations[op].value2(x, y), op, a, c, column);
    if (is_settled(b, a, &x) && is_settled(b, c, &y)) {
        const double value = kd_operations[op].value2(x, y);
        return node_of(b, (kd_expr_node){.op = op, .a = a, .b = c, .fixed = true, .number = value, .column = column});
    }
    if (op == KD_OP_POW && b->node[c].fixed)
        return node_of(b, (kd_expr_node){KD_OP_POWER, .a = a, .b = c, .column = column});
    // x + 0, 1 x, x^2 and theirs
    const int simpler = right ? simplified_right(b, op, a, y, c, column) : left ? simplified_left(op, x, c) : -1;
    if (simpler >= 0) return simpler;
    const bool swap = (op == KD_OP_ADD || op == KD_OP_MUL) && a > c; // b + a is a + b
    return node_of(b, (kd_expr_node){.op = op, .a = swap ? c : a, .b = swap ? a : c, .column = column});
}

int kd_build_if(kd_builder *b, int condition, int yes, int no, int column)
{
    double x = 0.0;
    if (condition < 0 || yes < 0 || no < 0) return -1;
    if (is_not_finite(b, condition)) return condition;
    // a constant condition chooses now, one on parameters as long as it holds
    if (kd_build_is_number(b, condition, &x)) return x != 0.0 ? yes : no;
    double     yes_value = 0.0, no_value = 0.0;
    const bool fixed = is_settled(b, condition, &x);
    if (fixed && is_settled(b, yes, &yes_value) && is_settled(b, no, &no_value)) {
        const double value = isnan(x) ? x : x != 0.0 ? yes_value : no_value;
        return node_of(b,
                       (kd_expr_node){KD_OP_IF, condition, yes, no, .fixed = true, .number = value, .column = column});
    }
    if (fixed && !isnan(x) && kd_build_hold(b, condition, false, &x)) return x != 0.0 ? yes : no;
    return node_of(b, (kd_expr_node){.op = KD_OP_IF, .a = condition, .b = yes, .c = no, .column = column});
}

// ---- what is needed --------------------------------------------------------------------------------------------------

enum { UNUSED = -1, USED = 0 };

// Mark what the result needs: operands stand before the nodes that use them. Fixed ones are numbers here; their own
// operands, and those of guards, are marked for the prologue.
static void mark(kd_builder *b, int result)
{
    for (int i = 0; i < b->count; i++) {
        b->node[i].place = i == result ? USED : UNUSED;
        b->node[i].early = UNUSED;
    }
    // guards are computed in the prologue
    for (int i = 0; i < b->nguards; i++) b->node[b->guard[i]].early = USED;
    // from the result down
    for (int i = b->count - 1; i >= 0; i--) {
        kd_expr_node *n = &b->node[i];
        const int     operand[3] = {n->a, n->b, n->c};
        if (n->place == USED && n->fixed) n->early = USED;
        for (int k = 0; k < kd_operations[n->op].operands; k++) {
            if (n->place == USED && !n->fixed) b->node[operand[k]].place = USED;
            if (n->early == USED) b->node[operand[k]].early = USED;
        }
    }
}

// The message for constants that give no finite number: "sqrt(-1) is not a number".
static void say_not_finite(kd_builder *b, const kd_expr_node *n, kd_op origin, const char *what)
{
    const kd_operation *o = &kd_operations[origin];
    const double        x = b->node[n->a].number, y = b->node[n->b].number;
    if (origin == KD_OP_DIV && y == 0.0) {
        kd_build_fail(b, KD_ERR_MODEL, n->column, "division by zero");
    } else if (o->operands == 1) {
        kd_build_fail(b, KD_ERR_MODEL, n->column, "%s(%.15g) is %s", o->name, x, what);
    } else if (o->infix) {
        kd_build_fail(b, KD_ERR_MODEL, n->column, "%.15g %s %.15g is %s", x, o->name, y, what);
    } else {
        kd_build_fail(b, KD_ERR_MODEL, n->column, "%s(%.15g, %.15g) is %s", o->name, x, y, what);
    }
}

static void fail_not_finite(kd_builder *b, const kd_expr_node *n)
{
    const char *what = isnan(n->number) ? "not a number" : "infinite or too large";
    say_not_finite(b, n, n->op == KD_OP_NOT_FINITE ? n->origin : n->op, what);
}

// The leftmost node of a kind that the result needs; NULL: none. Nodes are marked.
static const kd_expr_node *leftmost(const kd_builder *b, kd_op op, int result)
{
    const kd_expr_node *first = NULL;
    for (int i = 0; i <= result; i++) {
        const kd_expr_node *n = &b->node[i];
        if (n->place == USED && n->op == op && (!first || n->column < first->column)) first = n;
    }
    return first;
}

// Where a fixed node that is not finite became so
static const kd_expr_node *origin_of(const kd_builder *b, const kd_expr_node *n)
{
    const int operand[3] = {n->a, n->b, n->c};
    for (int k = 0; k < kd_operations[n->op].operands; k++) {
        const kd_expr_node *before = &b->node[operand[k]];
        const bool          taken = n->op != KD_OP_IF || k == 0 || k == (b->node[n->a].number != 0.0 ? 1 : 2);
        if (taken && !isfinite(before->number)) return origin_of(b, before);
    }
    return n;
}

// A fixed node that the result needs and that is not finite; NULL: none
static const kd_expr_node *fixed_wrong(const kd_builder *b, int result)
{
    for (int i = 0; i <= result; i++) {
        const kd_expr_node *n = &b->node[i];
        if (n->place == USED && n->fixed && !isfinite(n->number)) return origin_of(b, n);
    }
    return NULL;
}

void kd_build_demand_constant(kd_builder *b, int result, const char *text)
{
    if (b->status != KD_OK || result < 0) return;
    mark(b, result);
    const kd_expr_node *n = leftmost(b, KD_OP_VARIABLE, result);
    if (n)
        kd_build_fail(b, KD_ERR_MODEL, n->column, "a constant is needed here, but '%.*s' varies", n->length,
                      text + n->column - 1);
}

// ---- the finished expression ----------------------------------------------------------------------------------------

static bool is_number(const kd_expr_node *n)
{
    return n->op == KD_OP_NUMBER || n->fixed;
}

// Give every node that is needed its entry: numbers, variables, instructions.
static void number_entries(kd_builder *b, int result, kd_expr *e)
{
    for (int i = 0; i <= result; i++) {
        const kd_expr_node *n = &b->node[i];
        if (n->place == UNUSED) continue;
        e->nnumbers += is_number(n);
        e->nvariables += n->op == KD_OP_VARIABLE;
        e->ninstructions += !is_number(n) && n->op != KD_OP_VARIABLE;
        e->has_curves = e->has_curves || (!is_number(n) && (n->op == KD_OP_CURVE || n->op == KD_OP_TABLE));
        e->first.nresults += n->fixed;
    }
    // numbers first, then variables, then instructions, each in the order of the nodes
    int number = 0, variable = e->nnumbers, instruction = e->nnumbers + e->nvariables;
    for (int i = 0; i <= result; i++) {
        kd_expr_node *n = &b->node[i];
        if (n->place == UNUSED) continue;
        n->place = is_number(n) ? number++ : n->op == KD_OP_VARIABLE ? variable++ : instruction++;
    }
}

// The same for the prologue: numbers, parameters, instructions
static void number_prologue(kd_builder *b, kd_prologue *p)
{
    for (int i = 0; i < b->count; i++) {
        const kd_expr_node *n = &b->node[i];
        if (n->early == UNUSED) continue;
        p->nnumbers += n->op == KD_OP_NUMBER;
        p->nparameters += n->op == KD_OP_PARAMETER;
        p->ninstructions += n->op != KD_OP_NUMBER && n->op != KD_OP_PARAMETER;
    }
    p->nguards = b->nguards;
    int number = 0, parameter = p->nnumbers, instruction = p->nnumbers + p->nparameters;
    for (int i = 0; i < b->count; i++) {
        kd_expr_node *n = &b->node[i];
        if (n->early == UNUSED) continue;
        n->early = n->op == KD_OP_NUMBER ? number++ : n->op == KD_OP_PARAMETER ? parameter++ : instruction++;
    }
}

// early: operands are entries of the prologue
static kd_instruction instruction_of(const kd_builder *b, const kd_expr_node *n, bool early)
{
    const int operands = kd_operations[n->op].operands, operand[3] = {n->a, n->b, n->c};
    int       place[3] = {0, 0, 0};
    for (int k = 0; k < operands; k++) place[k] = early ? b->node[operand[k]].early : b->node[operand[k]].place;
    return (kd_instruction){.op = n->op, .a = place[0], .b = place[1], .c = place[2], .curve = n->curve};
}

// Numbers, variables and instructions at their entries; what the prologue hands over to which number
static void fill_program(const kd_builder *b, int result, kd_expr *e)
{
    int results = 0;
    for (int i = 0; i <= result; i++) {
        const kd_expr_node *n = &b->node[i];
        if (n->place == UNUSED) continue;
        if (is_number(n)) {
            e->number[n->place] = n->number;
        } else if (n->op == KD_OP_VARIABLE) {
            e->slot[n->place - e->nnumbers] = n->slot;
        } else {
            e->instruction[n->place - e->nnumbers - e->nvariables] = instruction_of(b, n, false);
        }
        // a number that follows from parameters: the prologue writes it here
        if (!n->fixed) continue;
        e->first.result[results] = n->early;
        e->first.to[results++] = n->place;
    }
}

// The same of the prologue, with its guards
static void fill_prologue(const kd_builder *b, kd_prologue *p)
{
    for (int i = 0; i < b->count; i++) {
        const kd_expr_node *n = &b->node[i];
        if (n->early == UNUSED) continue;
        if (n->op == KD_OP_NUMBER) {
            p->number[n->early] = n->number;
        } else if (n->op == KD_OP_PARAMETER) {
            p->parameter[n->early - p->nnumbers] = n->slot;
        } else {
            p->instruction[n->early - p->nnumbers - p->nparameters] = instruction_of(b, n, true);
        }
    }
    // values on which the shape of the program was built: if they change it must be built again
    for (int i = 0; i < b->nguards; i++) {
        const kd_expr_node *n = &b->node[b->guard[i]];
        p->guard[i] = (kd_guard){n->early, b->exact[i], n->number};
    }
}

static bool cut(kd_expr *e)
{
    kd_prologue *p = &e->first;
    e->number = kd_cut_double(&e->arena, e->nnumbers);
    e->slot = kd_cut_int(&e->arena, e->nvariables);
    e->instruction = kd_arena_cut(&e->arena, (size_t)e->ninstructions, sizeof *e->instruction);
    if (p->nresults == 0 && p->nguards == 0) return !e->arena.failed;
    p->number = kd_cut_double(&e->arena, p->nnumbers);
    p->parameter = kd_cut_int(&e->arena, p->nparameters);
    p->instruction = kd_arena_cut(&e->arena, (size_t)p->ninstructions, sizeof *p->instruction);
    p->result = kd_cut_int(&e->arena, p->nresults);
    p->to = kd_cut_int(&e->arena, p->nresults);
    p->guard = kd_arena_cut(&e->arena, (size_t)p->nguards, sizeof *p->guard);
    return !e->arena.failed;
}

void kd_build_finish(kd_builder *b, int result, kd_expr **expr)
{
    if (b->status != KD_OK || result < 0) return;
    // only what the result needs; what has no finite value there is named, the leftmost first
    mark(b, result);
    const kd_expr_node *wrong = leftmost(b, KD_OP_NOT_FINITE, result);
    if (!wrong) wrong = fixed_wrong(b, result);
    if (wrong) {
        fail_not_finite(b, wrong);
        return;
    }
    // entries are counted, cut, then filled: program and prologue
    kd_expr *e = kd_alloc(sizeof *e);
    if (e) {
        number_entries(b, result, e);
        number_prologue(b, &e->first);
    }
    if (!e || !cut(e)) {
        kd_build_fail(b, KD_ERR_MEMORY, 0, "out of memory");
        kd_expr_destroy(e);
        return;
    }
    fill_program(b, result, e);
    fill_prologue(b, &e->first);
    *expr = e;
}
