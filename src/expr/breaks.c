// expr/breaks.c: the next time at which an expression is not smooth.
//
// Each operation with a kink or a jump takes one of several smooth branches, chosen by the sign of its argument, a
// whole part, a row of a table. On an interval of time where the ranges of all arguments leave one choice the
// expression is smooth. The search goes from left to right over such intervals, as long as they can be made; where even
// two neighbouring doubles leave a choice, the branches at both decide. Only operations count that the result depends
// on: not those in the branch of a condition that is not taken, or times an exact 0.
#include "core/pi.h"
#include "expr/interval.h"
#include "expr/table.h"

#include <stdint.h>
#include <string.h>

// Breaks closer together than this, relative to t, are one.
static const double together = 0x1p-44;
static const double pi = KD_PI;
// [s] Nothing comes and goes in a shorter time.
static const double instant = 0x1p-60;
// One search looks so far ahead, in seconds and relative to t: a finite time, of which every part can be halved.
static const double horizon = 0x1p30;
// Intervals that ranges do not decide grow by this factor: more slowly than the distance from the break that makes them
// so, or they would never be decided where ranges are several times too wide.
#define GROWTH 1.0625
// Longer intervals that ranges do not decide, relative to t, count as not searched.
static const double unnoticed = 0x1p-20;

// ---- branches -------------------------------------------------------------------------------------------------------

// Steps: constant but for jumps
static bool is_flat(kd_op op)
{
    switch (op) {
    case KD_OP_NOT:
    case KD_OP_SIGN:
    case KD_OP_FLOOR:
    case KD_OP_CEIL:
    case KD_OP_STEP:
    case KD_OP_LESS:
    case KD_OP_LESS_EQUAL:
    case KD_OP_EQUAL:
    case KD_OP_UNEQUAL:
    case KD_OP_AND:
    case KD_OP_OR:
        return true;
    default:
        return false;
    }
}

// Is one branch taken for all operands in their ranges?
static bool is_decided(const kd_instruction *i, const kd_interval *w, kd_interval result)
{
    const kd_interval a = w[i->a], b = w[i->b];
    switch (i->op) {
    case KD_OP_ABS:
    case KD_OP_RAMP:
        return a.lower >= 0.0 || a.upper < 0.0;
    case KD_OP_UNIT3:
    case KD_OP_UNIT5:
        return a.upper < 0.0 || a.lower >= 1.0 || (a.lower >= 0.0 && a.upper < 1.0);
    case KD_OP_CURVE:
        return kd_curve_breaks_before(i->curve, a.lower) == kd_curve_breaks_before(i->curve, a.upper);
    case KD_OP_TABLE: {
        const kd_table *t = kd_curve_table(i->curve);
        return kd_table_breaks_before(t, a.lower, b.lower) == kd_table_breaks_before(t, a.upper, b.upper);
    }
    case KD_OP_MIN:
        return b.upper < a.lower || b.lower >= a.upper;
    case KD_OP_MAX:
        return b.lower > a.upper || b.upper <= a.lower;
    case KD_OP_MOD: { // a/b between two whole numbers, or neighbouring doubles decide
        if (b.lower != b.upper || kd_interval_has(b, 0.0)) return false;
        const double first = a.lower / b.lower, last = a.upper / b.lower, near = 4.0 * DBL_EPSILON;
        const double low = fmin(first, last), high = fmax(first, last);
        return floor(low - near * fabs(low)) == floor(high + near * fabs(high)) && fabs(high) < 1e15;
    }
    case KD_OP_ATAN2: // a jump where x <= 0 and y changes its sign, and at the origin
        if (kd_interval_has(a, 0.0) && kd_interval_has(b, 0.0)) return kd_interval_is(a, 0.0) && kd_interval_is(b, 0.0);
        return b.lower > 0.0 || a.lower >= 0.0 || a.upper < 0.0;
    case KD_OP_IF:
        return !kd_interval_has(a, 0.0) || kd_interval_is(a, 0.0);
    case KD_OP_DIV: // poles: what follows may jump
        return !kd_interval_has(b, 0.0) || kd_interval_is(b, 0.0);
    case KD_OP_POWER:
        return !(b.lower < 0.0) || !kd_interval_has(a, 0.0) || kd_interval_is(a, 0.0);
    case KD_OP_TAN: {
        const double low = a.lower / pi + 0.5, high = a.upper / pi + 0.5, near = 4.0 * DBL_EPSILON;
        return floor(low - near * fabs(low)) == floor(high + near * fabs(high)) && fabs(high) < 1e15;
    }
    default:
        return !is_flat(i->op) || result.lower == result.upper;
    }
}

static double sign_of(double a)
{
    return (double)((a > 0.0) - (a < 0.0));
}

// The sector of atan2: 1, -1 left of the y axis, 0 right of it; the x axis and the origin, which a range may be all of,
// are places of their own: the angle jumps from one half of the axis to the other.
enum { ORIGIN = 2, AXIS = 4 };

static double sector(double y, double x)
{
    if (y == 0.0) return x == 0.0 ? ORIGIN : x < 0.0 ? AXIS : -AXIS;
    return x > 0.0 ? 0.0 : y < 0.0 ? -1.0 : 1.0;
}

// The branch at a point as a number; w: values
static double branch(const kd_instruction *i, const double *w, double result)
{
    const double a = w[i->a], b = w[i->b];
    switch (i->op) {
    case KD_OP_ABS:
    case KD_OP_RAMP:
        return a < 0.0;
    case KD_OP_UNIT3:
    case KD_OP_UNIT5:
        return (a >= 0.0) + (a >= 1.0);
    case KD_OP_CURVE:
        return kd_curve_breaks_before(i->curve, a);
    case KD_OP_TABLE:
        return kd_table_breaks_before(kd_curve_table(i->curve), a, b);
    case KD_OP_MIN:
        return b < a;
    case KD_OP_MAX:
        return b > a;
    case KD_OP_MOD:
        return nearbyint((a - result) / b);
    case KD_OP_ATAN2:
        return sector(a, b);
    case KD_OP_IF:
        return a != 0.0;
    case KD_OP_DIV:
        return sign_of(b);
    case KD_OP_POWER:
        return b < 0.0 ? sign_of(a) : 1.0;
    case KD_OP_TAN:
        return floor(a / pi + 0.5);
    default:
        return result; // flat
    }
}

bool kd_op_has_branches(kd_op op)
{
    switch (op) {
    case KD_OP_ABS:
    case KD_OP_RAMP:
    case KD_OP_UNIT3:
    case KD_OP_UNIT5:
    case KD_OP_CURVE:
    case KD_OP_TABLE:
    case KD_OP_MIN:
    case KD_OP_MAX:
    case KD_OP_MOD:
    case KD_OP_ATAN2:
    case KD_OP_IF:
    case KD_OP_DIV:
    case KD_OP_POWER:
    case KD_OP_TAN:
        return true;
    default:
        return is_flat(op);
    }
}

// Branches in a few bits each: two points with different numbers lie on different sides of a kink or a jump.
unsigned long long kd_expr_branches(const kd_expr *expr, const double *work)
{
    const int          first = expr->nnumbers + expr->nvariables;
    unsigned long long all = 0;
    for (int k = 0; k < expr->ninstructions; k++) {
        const kd_instruction *o = &expr->instruction[k];
        if (!kd_op_has_branches(o->op)) continue;
        const double number = branch(o, work, work[first + k]);
        all = all * 1000003u + (isfinite(number) && fabs(number) < 1e15 ? (uint64_t)(int64_t)number : 7u);
    }
    return all;
}

// ---- what counts ----------------------------------------------------------------------------------------------------

enum { OTHER, TIME, CHOSEN_BY_TIME }; // what an entry depends on: t and numbers alone; a condition of these

typedef struct search {
    const kd_expr *expr;
    int            slot, n, first;  // n: entries; first: that of the first instruction
    int            only;            // the entry that is looked at; -1: all
    kd_interval   *range;           // (n)
    double        *before, *behind; // (n) values at two times
    unsigned char *kind, *needed;   // (n) what it depends on; does the result depend on it?
    int            left;            // evaluations
    double         unsearched;      // time that was looked at by its ends alone
} search;

static search search_of(const kd_expr *expr, int slot, kd_interval *work)
{
    const int n = kd_expr_entries(expr);
    search    s = {.expr = expr, .slot = slot, .n = n, .first = n - expr->ninstructions, .only = -1, .range = work};
    s.before = (double *)(work + n);
    s.behind = s.before + n;
    s.kind = (unsigned char *)(work + 2 * n);
    s.needed = s.kind + n;
    s.left = KD_EXPR_MAX_SEARCH;
    return s;
}

static const kd_instruction *instruction(const search *s, int entry)
{
    return &s->expr->instruction[entry - s->first];
}

static unsigned char kind_of(const search *s, const kd_instruction *o)
{
    const int  operands = kd_operations[o->op].operands;
    const bool b = operands < 2 || s->kind[o->b] == TIME, c = operands < 3 || s->kind[o->c] == TIME;
    if (s->kind[o->a] != TIME) return OTHER;
    return b && c ? TIME : o->op == KD_OP_IF ? CHOSEN_BY_TIME : OTHER;
}

// Has the operation branches for the numbers in it? Divisors that are numbers have no sign that changes.
static bool may_break(const search *s, int entry)
{
    const kd_instruction *o = instruction(s, entry);
    if (!kd_op_has_branches(o->op)) return false;
    if (o->op == KD_OP_DIV) return o->b >= s->expr->nnumbers;
    return o->op != KD_OP_POWER || (o->b < s->expr->nnumbers && s->expr->number[o->b] < 0.0);
}

// Is there an operation with branches that t alone chooses?
static bool mark_kinds(search *s)
{
    const kd_expr *e = s->expr;
    bool           found = false;
    for (int i = 0; i < e->nnumbers; i++) s->kind[i] = TIME;
    for (int i = 0; i < e->nvariables; i++) s->kind[e->nnumbers + i] = e->slot[i] == s->slot ? TIME : OTHER;
    for (int i = s->first; i < s->n; i++) {
        s->kind[i] = kind_of(s, instruction(s, i));
        found = found || (s->kind[i] != OTHER && may_break(s, i));
    }
    return found;
}

static bool counts(const search *s, int entry)
{
    return s->kind[entry] != OTHER && may_break(s, entry) && (s->only < 0 || s->only == entry);
}

// Which operands does the result of an instruction depend on, for the ranges as they are?
static void need_operands(search *s, int entry)
{
    const kd_instruction *o = instruction(s, entry);
    const kd_interval     a = s->range[o->a], b = s->range[o->b];
    const int             operands = kd_operations[o->op].operands;
    const bool            decided = is_decided(o, s->range, s->range[entry]);
    bool                  need_a = true, need_b = operands > 1, need_c = operands > 2;
    // constant as long as one branch is taken
    if (decided && is_flat(o->op)) need_a = need_b = false;
    // the operand that is taken
    if (decided && (o->op == KD_OP_MIN || o->op == KD_OP_MAX)) {
        need_b = o->op == KD_OP_MIN ? b.upper < a.lower : b.lower > a.upper;
        need_a = !need_b;
    }
    // the branch that is taken, the condition no longer
    if (decided && o->op == KD_OP_IF) {
        need_a = false;
        need_b = !kd_interval_is(a, 0.0);
        need_c = !need_b;
    }
    // times an exact 0: the other operand does not matter
    if (o->op == KD_OP_MUL) {
        need_b = !kd_interval_is(a, 0.0);
        need_a = !need_b || !kd_interval_is(b, 0.0);
    }
    if (o->op == KD_OP_RAMP && a.upper < 0.0) need_a = false;
    if ((o->op == KD_OP_UNIT3 || o->op == KD_OP_UNIT5) && (a.upper < 0.0 || a.lower >= 1.0)) need_a = false;
    if (need_a) s->needed[o->a] = 1;
    if (need_b) s->needed[o->b] = 1;
    if (need_c) s->needed[o->c] = 1;
}

// Ranges for all times from t0 to t1 and what is needed then; is one branch taken everywhere?
static bool is_smooth(search *s, double t0, double t1)
{
    const kd_expr *e = s->expr;
    kd_interval   *w = s->range;
    bool           smooth = true;
    s->left--;
    // ranges of all entries while t is in [t0, t1], other variables anywhere
    for (int i = 0; i < e->nnumbers; i++) w[i] = (kd_interval){e->number[i], e->number[i]};
    for (int i = 0; i < e->nvariables; i++)
        w[e->nnumbers + i] = e->slot[i] == s->slot ? (kd_interval){t0, t1} : kd_interval_all();
    for (int i = s->first; i < s->n; i++) w[i] = kd_interval_of(instruction(s, i), w);
    // from the result back: what it depends on, and whether that leaves a choice
    memset(s->needed, 0, (size_t)s->n);
    s->needed[s->n - 1] = 1;
    for (int i = s->n - 1; i >= s->first; i--) {
        if (!s->needed[i]) continue;
        need_operands(s, i);
        if (counts(s, i) && !is_decided(instruction(s, i), w, w[i])) smooth = false;
    }
    return smooth;
}

static void fill_values(const search *s, double t, double *w)
{
    const kd_expr *e = s->expr;
    memcpy(w, e->number, (size_t)e->nnumbers * sizeof *w);
    for (int i = 0; i < e->nvariables; i++) w[e->nnumbers + i] = e->slot[i] == s->slot ? t : NAN;
    for (int i = s->first; i < s->n; i++) w[i] = s->kind[i] == TIME ? kd_expr_value_of(instruction(s, i), w) : NAN;
}

static bool is_other(double a, double b)
{
    return a != b && !(isnan(a) && isnan(b));
}

// Are other branches taken at t1 than at t0?
static bool is_break(search *s, double t0, double t1)
{
    if (is_smooth(s, t0, t1)) return false;
    // the branches at both ends
    fill_values(s, t0, s->before);
    fill_values(s, t1, s->behind);
    for (int i = s->first; i < s->n; i++) {
        const kd_instruction *o = instruction(s, i);
        if (!s->needed[i] || !counts(s, i)) continue;
        const double left = branch(o, s->before, s->before[i]), right = branch(o, s->behind, s->behind[i]);
        if (o->op == KD_OP_ATAN2 && left != ORIGIN && right != ORIGIN ? left * right < 0.0 : is_other(left, right))
            return true;
    }
    return false;
}

// ---- the search -----------------------------------------------------------------------------------------------------

static double before(double t)
{
    return nextafter(t, -INFINITY);
}

static double after(double t)
{
    return nextafter(t, INFINITY);
}

static double soon_after(double t)
{
    return fmax(t + together * fabs(t), after(t));
}

// An interval that is decided by its ends alone
static double finest_at(double t)
{
    return fmax(soon_after(t) - t, instant);
}

// The last double in (t0, t1] with other branches than the one before, where t1 has others than t0.
static double last_break(search *s, double t0, double t1)
{
    while (after(t0) < t1) {
        // bisection down to neighbouring doubles
        const double middle = t0 + 0.5 * (t1 - t0);
        if (is_break(s, middle, t1)) {
            t0 = middle;
        } else {
            t1 = middle;
        }
    }
    return t1;
}

// Do the branches that ranges cannot tell apart meet in one value at t? Then it does not matter which one is taken.
static bool is_meeting(search *s, double t)
{
    fill_values(s, t, s->before);
    for (int i = s->first; i < s->n; i++) {
        const kd_instruction *o = instruction(s, i);
        if (!s->needed[i] || !counts(s, i) || is_decided(o, s->range, s->range[i])) continue;
        const double a = s->before[o->a], b = s->before[o->b], near = 8.0 * DBL_EPSILON;
        const bool   of_one = o->op == KD_OP_ABS || o->op == KD_OP_RAMP,
                   of_two = o->op == KD_OP_MIN || o->op == KD_OP_MAX;
        if (!(of_one && fabs(a) <= near) && !(of_two && fabs(a - b) <= near * fabs(a))) return false;
    }
    return true;
}

// An interval that only its ends decide, of equal branches: has something been left out?
static void note_unsearched(search *s, double t0, double t1)
{
    if (t1 - t0 > unnoticed * fabs(t0) && !(is_meeting(s, t0) && is_meeting(s, t1))) s->unsearched += t1 - t0;
}

// The first change of branches in (t, t_end], t_end finite; infinity: none. When the work is done: the time that it has
// come to, and *surely is false. Where ranges cannot tell, although the branches are the same (two arguments that are
// equal everywhere), the intervals that are tested by their ends alone grow, so that the search ends.
static double first_change(search *s, double t, double t_end, bool *surely)
{
    double width = t_end - t, finest = finest_at(t);
    *surely = true;
    while (t < t_end) {
        width = fmin(width, t_end - t);
        const double reach = t + width, next = reach < t_end ? fmax(reach, after(t)) : t_end;
        if (s->left <= 0) {
            *surely = false;
            return t;
        }
        // one branch: go on, twice as far
        if (is_smooth(s, t, next)) {
            t = next;
            width *= 2.0;
            finest = finest_at(t);
        } else if (width <= finest) {
            if (is_break(s, t, next)) return last_break(s, t, next);
            note_unsearched(s, t, next);
            t = next;
            finest *= GROWTH;
            width = finest;
        } else {
            const double usual = fmax(1.0, 0.125 * fabs(t)); // of a wide look ahead
            width = width > 8.0 * usual ? usual : fmax(0.5 * width, finest);
        }
    }
    return INFINITY;
}

// Breaks of one operation; what is there and back at once does not count.
static double break_of(search *s, double t, double t_end, bool *surely)
{
    while (t < t_end) {
        const double found = first_change(s, t, t_end, surely);
        if (found == INFINITY || !*surely) return found;
        const double later = fmin(soon_after(found), t_end);
        if (is_break(s, before(found), later)) return found;
        t = later;
    }
    *surely = true;
    return INFINITY;
}

bool kd_expr_has_breaks(const kd_expr *expr, int slot, kd_interval *work)
{
    search s = search_of(expr, slot, work);
    return mark_kinds(&s);
}

// The first break of all operations that count in (start, t_end]; *surely: it is one, not the end of the work
static double first_of_all(search *s, double start, double t_end, bool *surely)
{
    double found = INFINITY;
    // a later operation is searched only up to what an earlier one has found
    bool sure;
    *surely = true;
    for (int i = s->first; i < s->n; i++) {
        s->only = -1;
        if (!counts(s, i)) continue;
        s->only = i;
        s->left = KD_EXPR_MAX_SEARCH;
        const double next = break_of(s, start, fmin(found, t_end), &sure);
        if (next < found) {
            found = next;
            *surely = sure;
        }
    }
    s->only = -1;
    return found;
}

double kd_expr_next_break(const kd_expr *expr, int slot, double t, double t_end, kd_interval *work, double *unsearched)
{
    search s = search_of(expr, slot, work);
    if (unsearched) *unsearched = 0.0;
    if (!(t < t_end) || !mark_kinds(&s) || is_smooth(&s, t, t_end)) return INFINITY;
    if (is_break(&s, t, after(t))) return after(t);                      // t belongs to the left side, or to none
    const double start = is_break(&s, before(t), t) ? soon_after(t) : t; // what comes at once belongs to t
    // not farther than the horizon
    const double last = fmin(t_end, t + horizon * fmax(1.0, fabs(t)));
    bool         surely;
    double       found = first_of_all(&s, start, last, &surely);
    if (unsearched) *unsearched = s.unsearched;
    if (found == INFINITY) return last < t_end ? last : INFINITY;
    if (!surely) return fmax(found, after(t));
    // of several that come together the last one
    const double later = fmin(soon_after(found), t_end);
    return is_break(&s, found, later) ? last_break(&s, found, later) : found;
}
