// expr/expr.h: the expression language of model files: compiled once, evaluated without allocation, with exact
// derivatives.
//
// The language (docs/guide/expressions.md): numbers, + - * / ^, comparisons, and or not, if(condition, a, b),
// functions, curves, and names of parameters, variables and paths (joint.arm(3).q). Truth is 1, falsehood 0, any number
// but 0 is true, and NaN is handed on by comparisons and conditions instead of being taken for one or the other.
// Derivatives at a kink (abs, min, max, step, ramp, if, tables) are those of one side: the side that the value was
// taken from, and for functions of one argument the right one. A derivative that is infinite where the value is finite
// (sqrt at 0, asin at 1) is taken as 0, so that a mechanism can start at rest.
#ifndef KD_EXPR_EXPR_H
#define KD_EXPR_EXPR_H

#include <kardan/base.h>

#include "expr/curve.h"
#include "expr/jet.h"

// Limits of one expression.
enum {
    KD_EXPR_MAX_LENGTH = 65536, // characters
    KD_EXPR_MAX_DEPTH = 200,    // parentheses, calls, signs and powers inside each other
    KD_EXPR_MAX_NODES = 20000,  // numbers, variables and operations
    KD_EXPR_MAX_NAME = 255,     // characters of a name with its path
};

typedef struct kd_expr kd_expr;

// What a name stands for.
typedef enum kd_symbol_kind {
    KD_SYMBOL_UNKNOWN,
    KD_SYMBOL_NUMBER,
    KD_SYMBOL_PARAMETER, // a number that kd_expr_update can change
    KD_SYMBOL_VARIABLE,
    KD_SYMBOL_CURVE
} kd_symbol_kind;

typedef struct kd_symbol {
    kd_symbol_kind  kind;
    double          number; // of a number, a parameter: its value, finite
    int             slot;   // of a variable: its place in x of the evaluations; of a parameter: in theta; >= 0
    const kd_curve *curve;  // of a curve: must outlive the expression
} kd_symbol;

// How names are resolved at compile time. A name comes without blanks, and indices in it are numbers: "rho", "t",
// "joint.hinge.q", "joint.arm(3).q". A path may have '-' in its second part (input.pedal-left); where that could be a
// minus as well, the shortest name that find knows counts.
typedef struct kd_symbols {
    bool (*find)(const char *name, void *context, kd_symbol *out); // false: unknown
    const char *(*suggest)(const char *name, void *context);       // may be NULL: closest known name, or NULL
    void *context;
} kd_symbols;

typedef struct kd_expr_error {
    int  column;    // 1-based; 0: none (memory)
    char text[200]; // a sentence without full stop: "expected ')'"
} kd_expr_error;

// ---- life cycle -----------------------------------------------------------------------------------------------------

// symbols may be NULL: no names but those of the language. KD_OK, KD_ERR_MODEL (the text is wrong: see error),
// KD_ERR_MEMORY. On failure *expr is NULL; error may be NULL.
kd_status kd_expr_compile(const char *text, const kd_symbols *symbols, kd_expr **expr,
                          kd_expr_error *error) KD_NODISCARD;
void      kd_expr_destroy(kd_expr *expr); // NULL is fine

// The value of an expression without variables, for fields of files that are numbers. As above; a variable is an error
// with its name. A plain number costs no allocation. On failure *value keeps what it was.
kd_status kd_expr_constant(const char *text, const kd_symbols *symbols, double *value,
                           kd_expr_error *error) KD_NODISCARD;

// ---- queries --------------------------------------------------------------------------------------------------------

int  kd_expr_work_size(const kd_expr *expr);                  // doubles of workspace that any evaluation needs
bool kd_expr_is_constant(const kd_expr *expr, double *value); // value may be NULL, and is set only if true
int  kd_expr_slot_count(const kd_expr *expr);                 // distinct variables that are read
int  kd_expr_slot(const kd_expr *expr, int i);                // their slots, i < slot_count

// Words of the language (pi, and, or, not, functions) that cannot be names of parameters or curves.
bool kd_expr_is_reserved(const char *word);

// ---- parameters -----------------------------------------------------------------------------------------------------
//
// What depends on parameters (and curves) only is computed once, when they change, and stands as a number in the
// expression: evaluations cost the same as with plain numbers. Conditions on parameters that choose between laws, and
// indices of paths, are held: what an expression reads does not change.

typedef enum kd_expr_change {
    KD_EXPR_CHANGED,
    KD_EXPR_NOT_FINITE, // a part of it has no finite value
    KD_EXPR_HELD,       // another branch would be taken, another path be read
} kd_expr_change;

bool kd_expr_has_parameters(const kd_expr *expr); // does kd_expr_update change it?
bool kd_expr_reads_parameter(const kd_expr *expr, int slot);
// Put other values of the parameters into the expression; work: as of evaluations. Nothing else may use the expression
// meanwhile. Where it could not be changed, call it again with the values of before.
kd_expr_change kd_expr_update(kd_expr *expr, const double *theta, double *work) KD_NODISCARD;
// The value for other parameters, without changing the expression.
kd_expr_change kd_expr_value_at(const kd_expr *expr, const double *theta, const double *x, double *work,
                                double *value) KD_NODISCARD;
// Along the tangent of the parameters, theta + h rate: numbers and values are those of theta plus h times their exact
// derivatives (jets), so that they are straight lines in h, whatever the expression is.
typedef struct kd_expr_line {
    const double *theta, *rate;
    double        h;
} kd_expr_line;
kd_expr_change kd_expr_update_along(kd_expr *expr, const kd_expr_line *line, double *work) KD_NODISCARD;
// The value at theta and its derivative along the rate
kd_expr_change kd_expr_slope_at(const kd_expr *expr, const kd_expr_line *line, const double *x, double *work,
                                double *value, double *slope) KD_NODISCARD;

// ---- evaluation: no allocation, no state; several threads may share an expression, each with its own workspace
// --------

// x[slot]: the variables. The result may be NaN or infinite.
double kd_expr_value(const kd_expr *expr, const double *x, double *work);
// Also dx[i] = derivative by the variable kd_expr_slot(i), i < slot_count (reverse mode: cost of about three values).
double kd_expr_gradient(const kd_expr *expr, const double *x, double *dx, double *work);
// x[slot]: variables with their two time derivatives and the tangents of the three; the same of the expression.
kd_jet kd_expr_jet(const kd_expr *expr, const kd_jet *x, double *work);
// f, f', f'' by one of the variables, the others as they are: a third of the work of a jet
void kd_expr_along(const kd_expr *expr, const double *x, int slot, double *work, double f[3]);

// Four expressions at once, with the bits of kd_expr_value and kd_expr_along of each. They must be alike: the same operations on other
// numbers and variables. work: as for any of them
enum { KD_EXPR_SIDE = 4 };
bool kd_expr_is_like(const kd_expr *a, const kd_expr *b);
void kd_expr_values(const kd_expr *const expr[KD_EXPR_SIDE], const double *x, double *work, double value[KD_EXPR_SIDE]);
void kd_expr_bends_along(const kd_expr *const expr[KD_EXPR_SIDE], const double *x, const int slot[KD_EXPR_SIDE],
                         double *work, double f[KD_EXPR_SIDE][3]);

// ---- curves ---------------------------------------------------------------------------------------------------------

bool kd_expr_has_curves(const kd_expr *expr);
// A curve on which the value depends and that is read outside of its rows by more than rounding, and where (at[1] NaN: it
// has one argument); NULL: none. x and work as of kd_expr_value
const kd_curve *kd_expr_outside(const kd_expr *expr, const double *x, double *work, double at[2]);

// ---- ranges ---------------------------------------------------------------------------------------------------------

// Bounds of the values that the expression takes when each variable x[slot] is anywhere in its range, rounding
// included; work: kd_expr_interval_size() ranges. (-inf, inf) where nothing is known (division by zero inside, domain)
int         kd_expr_interval_size(const kd_expr *expr);
kd_interval kd_expr_bounds(const kd_expr *expr, const kd_interval *x, kd_interval *work);
// The expression as a sum of factors times entries and a polynomial of at most KD_EXPR_PLAIN_DEGREE in smooth
// variables, which is left out: the number of terms, at most `most`. The sum of several is a term of its own, where it
// holds branches or reads one variable: two steps make a pulse. work[entry] behind kd_expr_bounds is the range of an
// entry. is_smooth: may nothing hide in this variable? work: as of evaluations
typedef struct kd_expr_term {
    int    entry;
    double factor;
    bool   abrupt; // holds operations with branches
    bool   single; // reads one variable at most
    bool   sum;    // is the sum of the others
} kd_expr_term;
enum { KD_EXPR_PLAIN_DEGREE = 3 };
int kd_expr_terms(const kd_expr *expr, bool (*is_smooth)(int slot, const void *context), const void *context,
                  double *work, kd_expr_term *term, int most);
// Degree of a polynomial that is as bent as each entry along any part of the ranges of its variables that is `share` of
// them wide; infinity: a branch changes in the ranges, or a function is passed along more than its own length in such a
// part. work holds the ranges as kd_expr_bounds leaves them, and the answer behind them.
const double *kd_expr_bends(const kd_expr *expr, const kd_interval *x, double share, kd_interval *work);

// Which branches (signs, whole parts, rows of tables) are taken, as one number; work: as kd_expr_value left it
unsigned long long kd_expr_branches(const kd_expr *expr, const double *work);

// The first time in (t, t_end] at which an expression is not smooth as a function of time (slot: that of t): jumps of
// steps and conditions, kinks of ramps, absolute values, tables, ends of smooth steps. Parts that read other variables
// as well do not count; the parts of time alone inside of them do. Infinity: none.
// The answer is the first double from which on the formula of the right side holds; the double before it is the last of
// the left side. What changes back within a part in 2^44 of t is left out. An answer may also be a time at which
// nothing breaks, up to which there is surely nothing: when the search took more than KD_EXPR_MAX_SEARCH evaluations
// for one operation, or looked 2^30 s or 2^30 |t| ahead. Where t is not of the side that follows (the first instant of
// a run may be any time), the answer is the double behind it. unsearched, may be NULL: time of which only the ends of
// intervals were looked at, since ranges do not decide it. Method: docs/methods/intervals.md
enum { KD_EXPR_MAX_SEARCH = 5000 };
double kd_expr_next_break(const kd_expr *expr, int slot, double t, double t_end, kd_interval *work, double *unsearched);
bool   kd_expr_has_breaks(const kd_expr *expr, int slot, kd_interval *work); // can there be one?

#endif
