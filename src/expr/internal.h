// expr/internal.h: the insides of expressions, shared by the files of this folder.
//
//     text --parser.c--> nodes (builder.c: folding, common parts once) --finish--> kd_expr --evaluate.c--> numbers
#ifndef KD_EXPR_INTERNAL_H
#define KD_EXPR_INTERNAL_H

#include "core/memory.h"
#include "expr/expr.h"

// ---- operations -----------------------------------------------------------------------------------------------------

typedef enum kd_op {
    // leaves
    KD_OP_NUMBER,
    KD_OP_PARAMETER,
    KD_OP_VARIABLE,
    KD_OP_NOT_FINITE, // constants that were folded to NaN or infinity: an error if the result depends on them
    // of one operand
    KD_OP_NEG,
    KD_OP_NOT,
    KD_OP_ABS,
    KD_OP_SIGN,
    KD_OP_FLOOR,
    KD_OP_CEIL,
    KD_OP_SQRT,
    KD_OP_EXP,
    KD_OP_LOG,
    KD_OP_LOG10,
    KD_OP_SIN,
    KD_OP_COS,
    KD_OP_TAN,
    KD_OP_ASIN,
    KD_OP_ACOS,
    KD_OP_ATAN,
    KD_OP_SINH,
    KD_OP_COSH,
    KD_OP_TANH,
    KD_OP_STEP,
    KD_OP_RAMP,
    KD_OP_UNIT3, // from 0 at 0 to 1 at 1 by a cubic
    KD_OP_UNIT5, // the same by a quintic
    KD_OP_CURVE,
    // of two operands
    KD_OP_ADD,
    KD_OP_SUB,
    KD_OP_MUL,
    KD_OP_DIV,
    KD_OP_POW,
    KD_OP_POWER, // with a constant exponent
    KD_OP_MIN,
    KD_OP_MAX,
    KD_OP_MOD,
    KD_OP_ATAN2,
    KD_OP_HYPOT,
    KD_OP_TABLE, // a curve of two arguments
    KD_OP_LESS,
    KD_OP_LESS_EQUAL,
    KD_OP_EQUAL,
    KD_OP_UNEQUAL,
    KD_OP_AND,
    KD_OP_OR,
    // of three operands
    KD_OP_IF,
    KD_OP_COUNT
} kd_op;

// What an operation is. One operand: value1 and taylor; two: value2, partials and jet. Operations without the latter
// are flat: their derivatives are 0. NUMBER, VARIABLE, CURVE, TABLE and IF are the evaluator's own.
typedef struct kd_operation {
    const char *name;  // as it is written; "" for those without a name
    bool        infix; // between its operands
    int         operands;
    double (*value1)(double a);
    double (*value2)(double a, double b);
    void (*taylor)(double a, double f[4]);                        // f, f', f'', f'''
    void (*partials)(double a, double b, double f, double df[2]); // df/da, df/db where f is the value
    kd_jet (*jet)(kd_jet a, kd_jet b);
} kd_operation;

extern const kd_operation kd_operations[KD_OP_COUNT];

// Derivatives that are infinite where the value f[0] is finite become 0.
void kd_expr_calm(double f[4]);
// NaN is neither: 1 true, 0 false, NaN
double kd_expr_truth(double a);

// ---- the finished expression ----------------------------------------------------------------------------------------

// Entries of a workspace: numbers, then variables, then the results of the instructions in order; operands are entries
// before. The last entry is the result.
typedef struct kd_instruction {
    kd_op           op;
    int             a, b, c;
    const kd_curve *curve;
} kd_instruction;

// The value of an instruction from those of the entries before.
double kd_expr_value_of(const kd_instruction *i, const double *w);

// What is computed when parameters change: entries as those of the expression, with parameters for variables. Some of
// them become numbers of the expression; guards must stay as they were when it was compiled.
typedef struct kd_prologue {
    int              nnumbers, nparameters, ninstructions;
    double          *number;      // (nnumbers)
    int             *parameter;   // (nparameters) places in theta
    kd_instruction  *instruction; // (ninstructions)
    int              nresults, nguards;
    int             *result, *to; // (nresults) entry, number of the expression
    struct kd_guard *guard;       // (nguards)
} kd_prologue;

typedef struct kd_guard {
    int    entry; // of the prologue
    bool   exact; // the value is held, not just its truth
    double value;
} kd_guard;

struct kd_expr {
    kd_arena        arena;
    int             nnumbers, nvariables, ninstructions;
    double         *number;      // (nnumbers)
    int            *slot;        // (nvariables)
    kd_instruction *instruction; // (ninstructions)
    kd_prologue     first;
    bool            has_curves; // among the instructions
};

// ---- building -------------------------------------------------------------------------------------------------------

typedef struct kd_expr_node {
    kd_op           op;
    int             a, b, c; // operands, nodes before this one
    double          number;  // of fixed ones too: their value now
    bool            fixed;   // made of parameters, curves and numbers, without variables
    int             slot;
    const kd_curve *curve;
    kd_op           origin; // of NOT_FINITE: what was folded
    int             column; // where it is written, 1-based
    int             length; // of a variable: characters of its name in the text
    int             place;  // entry of the finished expression; -1: not needed
    int             early;  // the same in the prologue
} kd_expr_node;

enum { KD_EXPR_MAX_GUARDS = 64 };

typedef struct kd_builder {
    kd_expr_node  *node;
    int            count, capacity;
    int           *table; // hash table of nodes, -1: free; a power of two larger than capacity
    int            table_size;
    kd_status      status; // of the first failure
    kd_expr_error *error;  // not NULL
    int            nguards;
    int            guard[KD_EXPR_MAX_GUARDS]; // fixed nodes
    bool           exact[KD_EXPR_MAX_GUARDS];
} kd_builder;

// Each answers the index of the node, or -1 after a failure; -1 as operand is handed on.
int kd_build_number(kd_builder *b, double number, int column);
int kd_build_parameter(kd_builder *b, int slot, double value, int column);
int kd_build_variable(kd_builder *b, int slot, int column, int length);
int kd_build_curve(kd_builder *b, const kd_curve *curve, int x, int column);
int kd_build_table(kd_builder *b, const kd_curve *curve, int x, int y, int column); // of two arguments
int kd_build1(kd_builder *b, kd_op op, int a, int column);
int kd_build2(kd_builder *b, kd_op op, int a, int c, int column);
int kd_build_if(kd_builder *b, int condition, int yes, int no, int column);

// Note the first error; answers -1.
int  kd_build_fail(kd_builder *b, kd_status status, int column, const char *format, ...) KD_PRINTF(4, 5);
bool kd_build_is_number(const kd_builder *b, int node, double *number);
// The same of a number or a fixed node, which keeps its value from now on; exact: not just its truth.
bool kd_build_hold(kd_builder *b, int node, bool exact, double *number);

// Note an error if the result depends on a variable; text is what was compiled.
void kd_build_demand_constant(kd_builder *b, int result, const char *text);
// Collect what the result needs; sets *expr, or notes an error.
void kd_build_finish(kd_builder *b, int result, kd_expr **expr);
void kd_build_release(kd_builder *b);

// ---- tokens ---------------------------------------------------------------------------------------------------------

typedef enum kd_token_kind {
    KD_TOKEN_END,
    KD_TOKEN_NUMBER,
    KD_TOKEN_NAME,
    KD_TOKEN_OPEN,
    KD_TOKEN_CLOSE,
    KD_TOKEN_COMMA,
    KD_TOKEN_PLUS,
    KD_TOKEN_MINUS,
    KD_TOKEN_TIMES,
    KD_TOKEN_OVER,
    KD_TOKEN_POWER,
    KD_TOKEN_LESS,
    KD_TOKEN_LESS_EQUAL,
    KD_TOKEN_GREATER,
    KD_TOKEN_GREATER_EQUAL,
    KD_TOKEN_EQUAL,
    KD_TOKEN_UNEQUAL,
    KD_TOKEN_AND,
    KD_TOKEN_OR,
    KD_TOKEN_NOT,
    KD_TOKEN_WRONG, // the error is noted
} kd_token_kind;

typedef struct kd_token {
    kd_token_kind kind;
    int           start, length; // characters of the text
    double        number;
} kd_token;

bool kd_is_name_start(char c); // letter or _
bool kd_is_name_char(char c);  // letter, digit or _

// The token at or behind a place of the text; errors go to error.
kd_token kd_expr_token(const char *text, int place, kd_expr_error *error);

// ---- functions of the language --------------------------------------------------------------------------------------

enum { KD_EXPR_MAX_ARGUMENTS = 16 };

typedef struct kd_expr_function {
    const char *name;
    int         least, most;                                                 // arguments
    kd_op       op;                                                          // what it is
    int (*build)(kd_builder *b, const int *argument, int count, int column); // or how it is made of others; NULL: op
} kd_expr_function;

// NULL: no such function
const kd_expr_function *kd_expr_function_find(const char *name);
int                     kd_expr_function_count(void);
const char             *kd_expr_function_name(int i);

#endif
