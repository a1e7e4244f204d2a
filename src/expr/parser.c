// expr/parser.c: the grammar of the expression language, by precedence climbing.
//
//     binary  = unary { operator unary }     or, and, not, comparison, + -, * / from weak to strong
//     unary   = ("-" | "+") unary | power
//     power   = primary [ "^" unary ]        so that -x^2 = -(x^2), 2^-1 and 2^3^2 = 2^(3^2) work
//     primary = number | "(" binary ")" | name | path | name "(" binary { "," binary } ")"
//     path    = section "." part { "." part }, part = name with indices in parentheses: joint.arm(i + 1).q
// The recursion is bounded by KD_EXPR_MAX_DEPTH, which every cycle of the grammar counts in parse_unary or parse_not.
#include "expr/internal.h"

#include "core/nearest.h"
#include "core/pi.h"
#include "core/text.h"
#include "expr/quantity.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    SHOWN_NAME = 60,        // characters of a name in a message
    MAX_INDEX = 1000000000, // of an element in a path
};

typedef struct parser {
    const char       *text;
    const kd_symbols *symbols; // may be NULL
    kd_token          token;   // the next one
    int               depth;
    kd_builder        builder;
} parser;

// ---- tokens and messages --------------------------------------------------------------------------------------------

static int column_of(kd_token token)
{
    return token.start + 1;
}

// Read the token at a place of the text.
static void move_to(parser *p, int place)
{
    kd_expr_error error;
    p->token = kd_expr_token(p->text, place, &error);
    if (p->token.kind == KD_TOKEN_WRONG) kd_build_fail(&p->builder, KD_ERR_MODEL, error.column, "%s", error.text);
}

static void advance(parser *p)
{
    move_to(p, p->token.start + p->token.length);
}

// Characters of the token that a message shows.
static int shown(kd_token token)
{
    return token.length < SHOWN_NAME ? token.length : SHOWN_NAME;
}

static bool begins_value(kd_token_kind kind)
{
    return kind == KD_TOKEN_NUMBER || kind == KD_TOKEN_NAME || kind == KD_TOKEN_OPEN || kind == KD_TOKEN_NOT;
}

// A unit behind a number inside of an expression is not understood: say so
static int fail_unit(parser *p)
{
    const char *word = p->text + p->token.start;
    const int   length = shown(p->token);
    if (strncmp(word, "deg", 3) == 0 && length == 3)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column_of(p->token),
                             "missing operator before 'deg'; inside of expressions write deg(90)");
    return kd_build_fail(
        &p->builder, KD_ERR_MODEL, column_of(p->token),
        "missing operator before '%.*s'; a unit stands only behind a single number, expressions are in "
        "units of the SI",
        length, word);
}

static int fail_operator(parser *p)
{
    const bool is_name = p->token.kind == KD_TOKEN_NAME;
    if (is_name && kd_unit_is_word(p->text + p->token.start, (size_t)p->token.length)) return fail_unit(p);
    return kd_build_fail(&p->builder, KD_ERR_MODEL, column_of(p->token), "missing operator before '%.*s'",
                         shown(p->token), p->text + p->token.start);
}

// After a value something stands that does not continue it, and ')' is open.
static int fail_close(parser *p, int open_column)
{
    if (begins_value(p->token.kind)) return fail_operator(p);
    return kd_build_fail(&p->builder, KD_ERR_MODEL, column_of(p->token), "expected ')' to match '(' in column %d",
                         open_column);
}

static int fail_value(parser *p)
{
    const int column = column_of(p->token);
    if (p->token.kind == KD_TOKEN_END)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "the expression ends where a value is expected");
    if (p->token.kind == KD_TOKEN_NOT)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "put '%.*s' and what it negates in parentheses",
                             p->token.length, p->text + p->token.start);
    return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "expected a value before '%.*s'", p->token.length,
                         p->text + p->token.start);
}

static int fail_unknown(parser *p, const char *what, const char *name, int column, const char *nearest)
{
    if (nearest)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "unknown %s '%.*s', did you mean '%.*s'?", what,
                             SHOWN_NAME, name, SHOWN_NAME, nearest);
    return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "unknown %s '%.*s'", what, SHOWN_NAME, name);
}

static bool enter(parser *p)
{
    if (++p->depth <= KD_EXPR_MAX_DEPTH + 1) return true; // the expression itself is the first
    kd_build_fail(&p->builder, KD_ERR_MODEL, column_of(p->token), "the expression is nested deeper than %d",
                  KD_EXPR_MAX_DEPTH);
    return false;
}

static void leave(parser *p)
{
    p->depth--;
}

static int parse_expression(parser *p);
static int parse_unary(parser *p);

// ---- names ----------------------------------------------------------------------------------------------------------

static bool find_symbol(const parser *p, const char *name, kd_symbol *symbol)
{
    *symbol = (kd_symbol){KD_SYMBOL_UNKNOWN, 0.0, 0, NULL};
    return p->symbols && p->symbols->find(name, p->symbols->context, symbol) && symbol->kind != KD_SYMBOL_UNKNOWN;
}

static const char *suggest_symbol(const parser *p, const char *name)
{
    return p->symbols && p->symbols->suggest ? p->symbols->suggest(name, p->symbols->context) : NULL;
}

// Paths begin with one of these and a point; only in them parts have indices and '-'.
static bool begins_path(const char *text)
{
    static const char *const sections[] = {"body.",      "joint.",  "force.",     "constraint.", "sensor.",
                                           "state.",     "input.",  "frame.",     "block.",      "variable.",
                                           "algebraic.", "energy.", "parameter.", "curve."};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (strncmp(text, sections[i], strlen(sections[i])) == 0) return true;
    return false;
}

typedef struct name_buffer {
    char text[KD_EXPR_MAX_NAME + 1];
    int  length;
} name_buffer;

static bool append(parser *p, name_buffer *name, const char *text, int length)
{
    if (name->length + length > KD_EXPR_MAX_NAME) {
        kd_build_fail(&p->builder, KD_ERR_MODEL, column_of(p->token), "the name is longer than %d characters",
                      KD_EXPR_MAX_NAME);
        return false;
    }
    memcpy(name->text + name->length, text, (size_t)length);
    name->length += length;
    name->text[name->length] = '\0';
    return true;
}

// The index at '(' in a path: constant expressions, appended as numbers. Answers the place behind it, or -1.
static int read_index(parser *p, int open, name_buffer *name)
{
    const kd_token whole = p->token;
    char           digits[16];
    int            begin = open;
    do {
        double index = 0.0;
        // a constant expression between '(' or ',' and ',' or ')'
        move_to(p, begin + 1);
        const int node = parse_expression(p);
        if (node < 0) return -1;
        if (!kd_build_hold(&p->builder, node, true, &index) || index != floor(index) || index < 0.0 ||
            index > MAX_INDEX)
            return kd_build_fail(&p->builder, KD_ERR_MODEL, begin + 2, "an index in a path must be a whole number");
        kd_text(digits, sizeof digits, "%c%d", begin == open ? '(' : ',', (int)index);
        if (!append(p, name, digits, (int)strlen(digits))) return -1;
        begin = p->token.start;
    } while (p->token.kind == KD_TOKEN_COMMA);
    if (p->token.kind != KD_TOKEN_CLOSE) return fail_close(p, open + 1);
    const int end = p->token.start + 1;
    p->token = whole;
    return append(p, name, ")", 1) ? end : -1;
}

// Behind the first part of a path '-' belongs to the name, unless the name up to there is known: then it is a minus. A curve
// alone is no number: behind its name there is no minus. In the name of a part of a subsystem there may be points before it.
static bool continues_name(const parser *p, int place, int part, const name_buffer *name)
{
    kd_symbol symbol;
    return part >= 1 && p->text[place] == '-' && kd_is_name_char(p->text[place + 1]) && p->text[place - 1] != '.' &&
           !(find_symbol(p, name->text, &symbol) && symbol.kind != KD_SYMBOL_CURVE);
}

// The path at the token; the token becomes the whole path.
static bool read_path(parser *p, name_buffer *name)
{
    const char *text = p->text;
    const int   start = p->token.start;
    int         at = start, part = 0; // sections, elements, properties
    kd_symbol   symbol;
    for (;;) {
        // an index
        if (text[at] == '(' && part > 0) {
            if (find_symbol(p, name->text, &symbol) && symbol.kind == KD_SYMBOL_CURVE) break; // curve.NAME(x)
            at = read_index(p, at, name);
            if (at < 0) return false;
            continue;
        }
        if (text[at] == '.' && !kd_is_name_char(text[at + 1])) {
            kd_build_fail(&p->builder, KD_ERR_MODEL, at + 2, "expected a name behind '.'");
            return false;
        }
        // letters, digits and points; '-' where it belongs to the name
        if (!kd_is_name_char(text[at]) && text[at] != '.' && !continues_name(p, at, part, name)) break;
        part += text[at] == '.';
        if (!append(p, name, text + at, 1)) return false;
        at++;
    }
    p->token.length = at - start;
    return true;
}

static int parse_symbol(parser *p, const char *name, kd_token token)
{
    const int column = column_of(token);
    kd_symbol symbol;
    if (strcmp(name, "pi") == 0) return kd_build_number(&p->builder, KD_PI, column);
    if (kd_expr_function_find(name))
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "'%s' is a function, write %s(...)", name, name);
    if (!find_symbol(p, name, &symbol)) return fail_unknown(p, "name", name, column, suggest_symbol(p, name));
    if (symbol.kind == KD_SYMBOL_CURVE)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "'%.*s' is a curve, write %.*s(%s)", SHOWN_NAME, name,
                             SHOWN_NAME, name, symbol.curve && kd_curve_table(symbol.curve) ? "x, y" : "x");
    if (symbol.kind == KD_SYMBOL_VARIABLE) return kd_build_variable(&p->builder, symbol.slot, column, token.length);
    if (symbol.kind == KD_SYMBOL_PARAMETER && isfinite(symbol.number))
        return kd_build_parameter(&p->builder, symbol.slot, symbol.number, column);
    if (isfinite(symbol.number)) return kd_build_number(&p->builder, symbol.number, column);
    return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "'%.*s' is not a finite number", SHOWN_NAME, name);
}

// ---- calls ----------------------------------------------------------------------------------------------------------

// Arguments up to ')'; the token is behind '('. Keeps as many as there is room for; answers how many there are, or -1.
static int parse_arguments(parser *p, int open_column, int *argument, int room)
{
    int count = 0;
    while (p->token.kind != KD_TOKEN_CLOSE || count > 0) {
        const int node = parse_expression(p);
        if (node < 0) return -1;
        if (count < room) argument[count] = node;
        count++;
        if (p->token.kind == KD_TOKEN_CLOSE) break;
        if (p->token.kind != KD_TOKEN_COMMA) return fail_close(p, open_column);
        advance(p);
    }
    advance(p);
    return count;
}

static int fail_count(parser *p, const char *name, int least, int most, int count, int column)
{
    const char *plural = most == 1 ? "" : "s";
    if (least < most)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "function '%.*s' takes %d to %d arguments, not %d",
                             SHOWN_NAME, name, least, most, count);
    if (strcmp(name, "step") == 0 && count == 5)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column,
                             "function 'step' takes 1 argument, not 5; write step5(x, x0, h0, x1, h1)");
    return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "function '%.*s' takes %d argument%s, not %d", SHOWN_NAME,
                         name, most, plural, count);
}

// A function of the model, of one or two arguments
static int build_curve(parser *p, const kd_curve *curve, const int *argument, int column)
{
    if (kd_curve_table(curve)) return kd_build_table(&p->builder, curve, argument[0], argument[1], column);
    return kd_build_curve(&p->builder, curve, argument[0], column);
}

// table(name, x), table(name, x, y): the token is behind '('
static int parse_table(parser *p, const char *function, kd_token token, int open_column)
{
    name_buffer name = {.length = 0};
    kd_symbol   symbol;
    int         x[2] = {-1, -1};
    if (p->token.kind != KD_TOKEN_NAME)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column_of(p->token),
                             "%s(name, x) begins with the name of a curve", function);
    if (!append(p, &name, p->text + p->token.start, p->token.length)) return -1;
    if (!find_symbol(p, name.text, &symbol))
        return fail_unknown(p, "curve", name.text, column_of(p->token), suggest_symbol(p, name.text));
    if (symbol.kind != KD_SYMBOL_CURVE)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column_of(p->token), "'%.*s' is not a curve", SHOWN_NAME,
                             name.text);
    // ", x)"
    advance(p);
    if (p->token.kind == KD_TOKEN_CLOSE) return fail_count(p, function, 2, 2, 1, column_of(token));
    if (p->token.kind != KD_TOKEN_COMMA)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column_of(p->token),
                             "expected ',' behind the name of the curve");
    advance(p);
    const int count = parse_arguments(p, open_column, x, 2), most = kd_curve_table(symbol.curve) ? 2 : 1;
    if (count < 0) return -1;
    if (count != most) return fail_count(p, function, most + 1, most + 1, count + 1, column_of(token));
    return build_curve(p, symbol.curve, x, column_of(token));
}

static int fail_function(parser *p, const char *name, int column)
{
    kd_nearest search = kd_nearest_start(name);
    for (int i = 0; i < kd_expr_function_count(); i++) kd_nearest_offer(&search, kd_expr_function_name(i));
    return fail_unknown(p, "function", name, column, search.best ? search.best : suggest_symbol(p, name));
}

// name(arguments); the token is '('
static int parse_call(parser *p, const char *name, kd_token token)
{
    const kd_expr_function *function = kd_expr_function_find(name);
    const int               column = column_of(token), open_column = column_of(p->token);
    int                     argument[KD_EXPR_MAX_ARGUMENTS];
    kd_symbol               symbol = {KD_SYMBOL_CURVE, 0.0, 0, NULL};
    // a function of the language, or a curve of the model
    if (!function && !find_symbol(p, name, &symbol)) return fail_function(p, name, column);
    if (symbol.kind != KD_SYMBOL_CURVE)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "'%.*s' is not a function, write '*' to multiply",
                             SHOWN_NAME, name);
    advance(p);
    if (function && function->op == KD_OP_CURVE) return parse_table(p, name, token, open_column);
    // as many arguments as it takes
    const int count = parse_arguments(p, open_column, argument, KD_EXPR_MAX_ARGUMENTS);
    if (count < 0) return -1;
    const int arguments = !function && kd_curve_table(symbol.curve) ? 2 : 1;
    const int least = function ? function->least : arguments, most = function ? function->most : arguments;
    if (count < least || count > most) return fail_count(p, name, least, most, count, column);
    if (!function) return build_curve(p, symbol.curve, argument, column);
    if (function->build) return function->build(&p->builder, argument, count, column);
    return count == 1 ? kd_build1(&p->builder, function->op, argument[0], column)
                      : kd_build2(&p->builder, function->op, argument[0], argument[1], column);
}

// ---- the grammar ----------------------------------------------------------------------------------------------------

static int parse_name(parser *p)
{
    name_buffer name = {.length = 0};
    const bool  is_path = begins_path(p->text + p->token.start);
    if (is_path ? !read_path(p, &name) : !append(p, &name, p->text + p->token.start, p->token.length)) return -1;
    const kd_token token = p->token;
    advance(p);
    const bool calls = p->token.kind == KD_TOKEN_OPEN && p->token.start == token.start + token.length;
    if (p->token.kind == KD_TOKEN_OPEN && (!is_path || calls)) return parse_call(p, name.text, token);
    return parse_symbol(p, name.text, token);
}

static int parse_group(parser *p)
{
    const int open_column = column_of(p->token);
    advance(p);
    const int node = parse_expression(p);
    if (node < 0) return -1;
    if (p->token.kind != KD_TOKEN_CLOSE) return fail_close(p, open_column);
    advance(p);
    return node;
}

static int parse_number(parser *p)
{
    const kd_token token = p->token;
    advance(p);
    return kd_build_number(&p->builder, token.number, column_of(token));
}

static int parse_primary(parser *p)
{
    switch (p->token.kind) {
    case KD_TOKEN_NUMBER:
        return parse_number(p);
    case KD_TOKEN_NAME:
        return parse_name(p);
    case KD_TOKEN_OPEN:
        return parse_group(p);
    default:
        return fail_value(p);
    }
}

static int parse_power(parser *p)
{
    const int base = parse_primary(p);
    if (base < 0 || p->token.kind != KD_TOKEN_POWER) return base;
    const int column = column_of(p->token);
    advance(p);
    return kd_build2(&p->builder, KD_OP_POW, base, parse_unary(p), column);
}

static int parse_unary(parser *p)
{
    const kd_token token = p->token;
    if (p->builder.status != KD_OK || !enter(p)) return -1;
    int node;
    if (token.kind == KD_TOKEN_MINUS || token.kind == KD_TOKEN_PLUS) {
        advance(p);
        node = parse_unary(p);
        if (token.kind == KD_TOKEN_MINUS) node = kd_build1(&p->builder, KD_OP_NEG, node, column_of(token));
    } else {
        node = parse_power(p);
    }
    leave(p);
    return node;
}

// Strength of binding; NOT stands in front of comparisons: not a < b is not (a < b).
enum { LEVEL_OR = 1, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARE, LEVEL_SUM, LEVEL_PRODUCT };

typedef struct operator
{
    int   level; // 0: none
    kd_op op;
    bool  swapped; // a > b is b < a
}
operator;

static const operator operators[KD_TOKEN_WRONG + 1] = {
    [KD_TOKEN_OR] = {LEVEL_OR, KD_OP_OR, false},
    [KD_TOKEN_AND] = {LEVEL_AND, KD_OP_AND, false},
    [KD_TOKEN_LESS] = {LEVEL_COMPARE, KD_OP_LESS, false},
    [KD_TOKEN_LESS_EQUAL] = {LEVEL_COMPARE, KD_OP_LESS_EQUAL, false},
    [KD_TOKEN_GREATER] = {LEVEL_COMPARE, KD_OP_LESS, true},
    [KD_TOKEN_GREATER_EQUAL] = {LEVEL_COMPARE, KD_OP_LESS_EQUAL, true},
    [KD_TOKEN_EQUAL] = {LEVEL_COMPARE, KD_OP_EQUAL, false},
    [KD_TOKEN_UNEQUAL] = {LEVEL_COMPARE, KD_OP_UNEQUAL, false},
    [KD_TOKEN_PLUS] = {LEVEL_SUM, KD_OP_ADD, false},
    [KD_TOKEN_MINUS] = {LEVEL_SUM, KD_OP_SUB, false},
    [KD_TOKEN_TIMES] = {LEVEL_PRODUCT, KD_OP_MUL, false},
    [KD_TOKEN_OVER] = {LEVEL_PRODUCT, KD_OP_DIV, false},
};

static int parse_binary(parser *p, int level);

static int parse_not(parser *p)
{
    const int column = column_of(p->token);
    if (p->builder.status != KD_OK || !enter(p)) return -1;
    advance(p);
    const int operand = p->token.kind == KD_TOKEN_NOT ? parse_not(p) : parse_binary(p, LEVEL_COMPARE);
    leave(p);
    return kd_build1(&p->builder, KD_OP_NOT, operand, column);
}

// Operators that bind at least as strongly as level, from left to right.
static int parse_binary(parser *p, int level)
{
    int left = p->token.kind == KD_TOKEN_NOT && level <= LEVEL_NOT ? parse_not(p) : parse_unary(p);
    while (left >= 0) {
        const     operator o = operators[p->token.kind];
        const int column = column_of(p->token);
        if (o.level == 0 || o.level < level) break;
        advance(p);
        const int right = parse_binary(p, o.level + 1);
        left = kd_build2(&p->builder, o.op, o.swapped ? right : left, o.swapped ? left : right, column);
        if (left >= 0 && o.level == LEVEL_COMPARE && operators[p->token.kind].level == LEVEL_COMPARE)
            return kd_build_fail(&p->builder, KD_ERR_MODEL, column_of(p->token),
                                 "comparisons do not chain, write a < b and b < c");
    }
    return left;
}

static int parse_expression(parser *p)
{
    return parse_binary(p, LEVEL_OR);
}

// The whole text: one expression and nothing behind it.
static int parse_text(parser *p)
{
    if (!memchr(p->text, '\0', (size_t)KD_EXPR_MAX_LENGTH + 1))
        return kd_build_fail(&p->builder, KD_ERR_MODEL, KD_EXPR_MAX_LENGTH + 1,
                             "the expression is longer than %d characters", KD_EXPR_MAX_LENGTH);
    move_to(p, 0);
    if (p->token.kind == KD_TOKEN_END) return kd_build_fail(&p->builder, KD_ERR_MODEL, 1, "the expression is empty");
    const int node = parse_expression(p);
    if (node < 0 || p->builder.status != KD_OK) return -1;
    const int column = column_of(p->token);
    if (p->token.kind == KD_TOKEN_END) return node;
    if (p->token.kind == KD_TOKEN_CLOSE) return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "')' without '('");
    if (p->token.kind == KD_TOKEN_COMMA)
        return kd_build_fail(&p->builder, KD_ERR_MODEL, column, "',' outside of a function");
    return fail_operator(p);
}

// ---- compile --------------------------------------------------------------------------------------------------------

static kd_status compile(const char *text, const kd_symbols *symbols, bool demand_constant, kd_expr **expr,
                         kd_expr_error *error)
{
    assert(text && expr && (!symbols || symbols->find));
    kd_expr_error unread;
    parser        p = {.text = text, .symbols = symbols, .builder.error = error ? error : &unread};
    *expr = NULL;
    const int result = parse_text(&p);
    if (demand_constant) kd_build_demand_constant(&p.builder, result, text);
    kd_build_finish(&p.builder, result, expr);
    kd_build_release(&p.builder);
    return p.builder.status;
}

kd_status kd_expr_compile(const char *text, const kd_symbols *symbols, kd_expr **expr, kd_expr_error *error)
{
    return compile(text, symbols, false, expr, error);
}

// [sign] number, as most fields of a file are; anything else takes the long way, errors included
static bool is_plain_number(const char *text, double *value)
{
    kd_expr_error unread;
    if (!memchr(text, '\0', (size_t)KD_EXPR_MAX_LENGTH + 1)) return false;
    kd_token   token = kd_expr_token(text, 0, &unread);
    const bool negative = token.kind == KD_TOKEN_MINUS;
    if (negative || token.kind == KD_TOKEN_PLUS) token = kd_expr_token(text, token.start + token.length, &unread);
    const kd_token end = kd_expr_token(text, token.start + token.length, &unread);
    if (token.kind != KD_TOKEN_NUMBER || end.kind != KD_TOKEN_END) return false;
    *value = negative ? -token.number : token.number;
    return true;
}

kd_status kd_expr_constant(const char *text, const kd_symbols *symbols, double *value, kd_expr_error *error)
{
    if (is_plain_number(text, value)) return KD_OK;
    kd_expr        *expr;
    const kd_status status = compile(text, symbols, true, &expr, error);
    if (status == KD_OK) kd_expr_is_constant(expr, value);
    kd_expr_destroy(expr);
    return status;
}
