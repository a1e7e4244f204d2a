// expr/functions.c: the functions of the expression language: names, numbers of arguments, what they are made of.
#include "expr/internal.h"

#include <math.h>
#include <string.h>

// a op b op c ..
static int chain(kd_builder *b, kd_op op, const int *argument, int count, int column)
{
    int result = argument[0];
    for (int i = 1; i < count; i++) result = kd_build2(b, op, result, argument[i], column);
    return result;
}

static int build_min(kd_builder *b, const int *argument, int count, int column)
{
    return chain(b, KD_OP_MIN, argument, count, column);
}

static int build_max(kd_builder *b, const int *argument, int count, int column)
{
    return chain(b, KD_OP_MAX, argument, count, column);
}

static int build_if(kd_builder *b, const int *argument, int count, int column)
{
    (void)count;
    return kd_build_if(b, argument[0], argument[1], argument[2], column);
}

// degrees to radians
static int build_deg(kd_builder *b, const int *argument, int count, int column)
{
    (void)count;
    const int factor = kd_build_number(b, 0.017453292519943295769, column); // pi/180
    return kd_build2(b, KD_OP_MUL, argument[0], factor, column);
}

// pulse(x, start, width) = step(x - start) - step(x - (start + width))
static int build_pulse(kd_builder *b, const int *argument, int count, int column)
{
    (void)count;
    const int end = kd_build2(b, KD_OP_ADD, argument[1], argument[2], column);
    const int on = kd_build1(b, KD_OP_STEP, kd_build2(b, KD_OP_SUB, argument[0], argument[1], column), column);
    const int off = kd_build1(b, KD_OP_STEP, kd_build2(b, KD_OP_SUB, argument[0], end, column), column);
    return kd_build2(b, KD_OP_SUB, on, off, column);
}

// step(x, x0, h0, x1, h1) = h0 + (h1 - h0) unit((x - x0)/(x1 - x0))
static int smooth(kd_builder *b, kd_op unit, const int *argument, int column)
{
    const int way = kd_build2(b, KD_OP_SUB, argument[0], argument[1], column);
    const int length = kd_build2(b, KD_OP_SUB, argument[3], argument[1], column);
    const int height = kd_build2(b, KD_OP_SUB, argument[4], argument[2], column);
    const int part = kd_build1(b, unit, kd_build2(b, KD_OP_DIV, way, length, column), column);
    return kd_build2(b, KD_OP_ADD, argument[2], kd_build2(b, KD_OP_MUL, height, part, column), column);
}

static int build_step3(kd_builder *b, const int *argument, int count, int column)
{
    (void)count;
    return smooth(b, KD_OP_UNIT3, argument, column);
}

static int build_step5(kd_builder *b, const int *argument, int count, int column)
{
    (void)count;
    return smooth(b, KD_OP_UNIT5, argument, column);
}

// clang-format off
static const kd_expr_function functions[] = {
    {"if",     3, 3, KD_OP_IF,    build_if},
    {"min",    2, KD_EXPR_MAX_ARGUMENTS, KD_OP_MIN, build_min},
    {"max",    2, KD_EXPR_MAX_ARGUMENTS, KD_OP_MAX, build_max},
    {"abs",    1, 1, KD_OP_ABS,   NULL},
    {"sign",   1, 1, KD_OP_SIGN,  NULL},
    {"floor",  1, 1, KD_OP_FLOOR, NULL},
    {"ceil",   1, 1, KD_OP_CEIL,  NULL},
    {"mod",    2, 2, KD_OP_MOD,   NULL},
    {"sqrt",   1, 1, KD_OP_SQRT,  NULL},
    {"exp",    1, 1, KD_OP_EXP,   NULL},
    {"log",    1, 1, KD_OP_LOG,   NULL},
    {"log10",  1, 1, KD_OP_LOG10, NULL},
    {"pow",    2, 2, KD_OP_POW,   NULL},
    {"hypot",  2, 2, KD_OP_HYPOT, NULL},
    {"sin",    1, 1, KD_OP_SIN,   NULL},
    {"cos",    1, 1, KD_OP_COS,   NULL},
    {"tan",    1, 1, KD_OP_TAN,   NULL},
    {"asin",   1, 1, KD_OP_ASIN,  NULL},
    {"acos",   1, 1, KD_OP_ACOS,  NULL},
    {"atan",   1, 1, KD_OP_ATAN,  NULL},
    {"atan2",  2, 2, KD_OP_ATAN2, NULL},
    {"sinh",   1, 1, KD_OP_SINH,  NULL},
    {"cosh",   1, 1, KD_OP_COSH,  NULL},
    {"tanh",   1, 1, KD_OP_TANH,  NULL},
    {"deg",    1, 1, KD_OP_MUL,   build_deg},
    {"step",   1, 1, KD_OP_STEP,  NULL},
    {"ramp",   1, 1, KD_OP_RAMP,  NULL},
    {"pulse",  3, 3, KD_OP_STEP,  build_pulse},
    {"step3",  5, 5, KD_OP_UNIT3, build_step3},
    {"step5",  5, 5, KD_OP_UNIT5, build_step5},
    {"smooth", 5, 5, KD_OP_UNIT5, build_step5},
    {"table",  2, 2, KD_OP_CURVE, NULL}, // the first argument is the name of a curve: the parser's own
    {"spline", 2, 2, KD_OP_CURVE, NULL},
};
// clang-format on

int kd_expr_function_count(void)
{
    return (int)(sizeof functions / sizeof functions[0]);
}

const char *kd_expr_function_name(int i)
{
    return functions[i].name;
}

const kd_expr_function *kd_expr_function_find(const char *name)
{
    for (int i = 0; i < kd_expr_function_count(); i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    return NULL;
}

bool kd_expr_is_reserved(const char *word)
{
    static const char *const others[] = {"pi", "and", "or", "not"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(word, others[i]) == 0) return true;
    return kd_expr_function_find(word) != NULL;
}
