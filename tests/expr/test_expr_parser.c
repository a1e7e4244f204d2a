// tests/expr/test_expr_parser.c: precedence, names and paths, and what is said about wrong expressions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "core/failing_allocator.h"
#include "expr/internal.h"
#include "expr/symbols.h"

// ---- grammar --------------------------------------------------------------------------------------------------------

// Each text means the same as the one with all parentheses, at several points.
static void test_precedence(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"x + y*z", "x + (y*z)"},
        {"x*y + z", "(x*y) + z"},
        {"x - y - z", "(x - y) - z"},
        {"x - y + z", "(x - y) + z"},
        {"x/y/z", "(x/y)/z"},
        {"x/y*z", "(x/y)*z"},
        {"x^y^z", "x^(y^z)"},
        {"2^3^2", "512"},
        {"-x^2", "-(x^2)"},
        {"(-x)^2", "x^2"},
        {"-x*y", "(-x)*y"},
        {"x*-y", "x*(-y)"},
        {"x - -y", "x + y"},
        {"x--y", "x + y"},
        {"- - -x", "-x"},
        {"+-+x", "-x"},
        {"x^-y", "x^(-y)"},
        {"x^-y^2", "x^(-(y^2))"},
        {"2*x^3*y", "(2*(x^3))*y"},
        {"x + 1 < y*2", "(x + 1) < (y*2)"},
        {"x < y && y < z", "(x < y) && (y < z)"},
        {"x < y and y < z or z < x", "((x < y) and (y < z)) or (z < x)"},
        {"z < x or x < y and y < z", "(z < x) or ((x < y) and (y < z))"},
        {"x && y || z && t", "(x && y) || (z && t)"},
        {"not x < y", "not (x < y)"},
        {"!x == y", "!(x == y)"},
        {"!x && y", "(!x) && y"},
        {"not not x", "x != 0"},
        {"x and not y", "x and (not y)"},
        {"x < y or not z < t", "(x < y) or (not (z < t))"},
        {"if(x < y, x, y) + 1", "(if((x < y), x, y)) + 1"},
        {"sin(x)^2", "(sin(x))^2"},
        {"x > y", "y < x"},
        {"x >= y", "y <= x"},
        {" \t\n\r x\n+\ty  ", "x+y"},
        {"((((x))))", "x"},
    };
    unsigned seed = 11;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int round = 0; round < 8; round++) {
            double x[SYMBOL_SLOTS];
            for (int k = 0; k < SYMBOL_SLOTS; k++) x[k] = random_between(&seed, 0.2, 3.0);
            if (round == 0) x[0] = x[1] = 0.0;
            const double a = value_at(rows[i][0], x, NULL), b = value_at(rows[i][1], x, NULL);
            if (a != b && !(isnan(a) && isnan(b))) fail_msg("%s is %g, %s is %g", rows[i][0], a, rows[i][1], b);
        }
    }
}

// Names with paths, indices and '-'; indices may be expressions of constants.
static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int         slot;
    } rows[] = {
        {"joint.hinge.q", 4},         {"joint.arm(3).q", 5},       {"joint.arm( 2 + 1 ).q", 5},
        {"joint.arm(n).q", 5},        {"joint.arm(2*n - 3).q", 5}, {"joint.arm(if(n > 2, 3, 4)).q", 5},
        {"body.front-left.pos.z", 7}, {"input.pedal", 6},
    };
    const double x[SYMBOL_SLOTS] = {1, 2, 4, 8, 16, 32, 64, 128};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const compiled c = compile(rows[i].text, NULL);
        assert_int_equal(kd_expr_slot_count(c.expr), 1);
        assert_int_equal(kd_expr_slot(c.expr, 0), rows[i].slot);
        release(c);
    }
    assert_near(value_at("input.pedal-1", x, NULL), 63.0, 0.0);
    assert_near(value_at("input.pedal-x", x, NULL), 63.0, 0.0);
    assert_near(value_at("input.pedal-sin(0)", x, NULL), 64.0, 0.0);
    assert_near(value_at("joint.hinge.q-x", x, NULL), 15.0, 0.0);
    assert_near(value_at("joint.hinge.q-joint.arm(3).q", x, NULL), -16.0, 0.0);
    assert_near(value_at("joint.arm(3).q-joint.hinge.q", x, NULL), 16.0, 0.0);
}

// ---- wrong expressions ----------------------------------------------------------------------------------------------

typedef struct wrong {
    const char *text;
    int         column;
    const char *message;
} wrong;

static const wrong WRONG[] = {
    // nothing, or not all of it
    {"", 1, "the expression is empty"},
    {"  \t\n ", 1, "the expression is empty"},
    {"1 +", 4, "the expression ends where a value is expected"},
    {"x *  ", 6, "the expression ends where a value is expected"},
    {"-", 2, "the expression ends where a value is expected"},
    {"not", 4, "the expression ends where a value is expected"},
    {"sin(", 5, "the expression ends where a value is expected"},
    {"min(x,", 7, "the expression ends where a value is expected"},
    {"2^", 3, "the expression ends where a value is expected"},
    // parentheses
    {"(x + 1", 7, "expected ')' to match '(' in column 1"},
    {"2*(x + (y)", 11, "expected ')' to match '(' in column 3"},
    {"sin(x", 6, "expected ')' to match '(' in column 4"},
    {"(x, y)", 3, "expected ')' to match '(' in column 1"},
    {"x)", 2, "')' without '('"},
    {"sin(x))", 7, "')' without '('"},
    {"()", 2, "expected a value before ')'"},
    {"x, y", 2, "',' outside of a function"},
    {"(x y)", 4, "missing operator before 'y'"},
    {"min(x y)", 7, "missing operator before 'y'"},
    // operators
    {"x y", 3, "missing operator before 'y'"},
    {"2x", 2, "missing operator before 'x'"},
    {"2 3", 3, "missing operator before '3'"},
    {"0x10", 2, "missing operator before 'x10'"},
    {"(x)(y)", 4, "missing operator before '('"},
    {"2 sin(x)", 3, "missing operator before 'sin'"},
    {"x !y", 3, "missing operator before '!'"},
    {"x + * y", 5, "expected a value before '*'"},
    {"* x", 1, "expected a value before '*'"},
    {"x <> y", 4, "expected a value before '>'"},
    {"min(, x)", 5, "expected a value before ','"},
    {"min(x, )", 8, "expected a value before ')'"},
    {"x < y < z", 7, "comparisons do not chain, write a < b and b < c"},
    {"x == y != z", 8, "comparisons do not chain, write a < b and b < c"},
    {"2 * not x", 5, "put 'not' and what it negates in parentheses"},
    {"-!x", 2, "put '!' and what it negates in parentheses"},
    // signs of other languages
    {"x ** 2", 3, "'**' is not an operator, write '^' for powers"},
    {"x = 2", 3, "'=' is not an operator, write '==' to compare"},
    {"x & y", 3, "'&' is not an operator, write '&&' or 'and'"},
    {"x | y", 3, "'|' is not an operator, write '||' or 'or'"},
    {"x % 2", 3, "'%' is not an operator, write mod(a, b)"},
    {"x > 0 ? 1 : 2", 7, "'?' is not an operator, write if(condition, a, b)"},
    {"[x]", 1, "'[' is not used, write '(' to group"},
    {"min(x; y)", 6, "';' is not used, write ',' between arguments"},
    {"x + $", 5, "unexpected character '$'"},
    {"\"x\"", 1, "unexpected character '\"'"},
    {"30\302\260", 3, "unexpected character '\302\260'"},
    {"x\001", 2, "unexpected byte 0x01"},
    {"x + \200", 5, "unexpected byte 0x80"},
    {"x + \342\202", 5, "unexpected byte 0xe2"},
    // numbers
    {"1_000", 2, "unexpected '_' in a number, digits are not grouped"},
    {"1.2.3", 4, "unexpected '.' in a number"},
    {"1..2", 3, "unexpected '.' in a number"},
    {"x + 1e", 6, "the exponent of the number has no digits"},
    {"2e+", 2, "the exponent of the number has no digits"},
    {"x + 1e400", 5, "the number is too large"},
    {"1e99999999999", 1, "the number is too large"},
    {".", 1, "unexpected character '.'"},
    // names
    {"2*stifness", 3, "unknown name 'stifness', did you mean 'stiffness'?"},
    {"xyzzy", 1, "unknown name 'xyzzy'"},
    {"x + joint.hing.q", 5, "unknown name 'joint.hing.q', did you mean 'joint.hinge.q'?"},
    {"joint.arm(4).q", 1, "unknown name 'joint.arm(4).q', did you mean 'joint.arm(3).q'?"},
    {"joint.arm(2, 1+1).q", 1, "unknown name 'joint.arm(2,2).q', did you mean 'joint.arm(3).q'?"},
    {"joint.arm(2, x).q", 13, "an index in a path must be a whole number"},
    {"joint.arm(x).q", 11, "an index in a path must be a whole number"},
    {"joint.arm(2.5).q", 11, "an index in a path must be a whole number"},
    {"joint.arm(-1).q", 11, "an index in a path must be a whole number"},
    {"joint.arm().q", 11, "expected a value before ')'"},
    {"joint.arm(3", 12, "expected ')' to match '(' in column 10"},
    {"joint.arm(1 2).q", 13, "missing operator before '2'"},
    {"x + joint.", 11, "expected a name behind '.'"},
    {"joint..q", 7, "expected a name behind '.'"},
    {"body.front-.pos", 1, "unknown name 'body.front', did you mean 'body.front-left.pos.z'?"},
    {"road + 1", 1, "'road' is a curve, write road(x)"},
    {"sin + 1", 1, "'sin' is a function, write sin(...)"},
    {"x + broken", 5, "'broken' is not a finite number"},
    // functions
    {"sine(x)", 1, "unknown function 'sine', did you mean 'sin'?"},
    {"1 + atn2(x, y)", 5, "unknown function 'atn2', did you mean 'atan2'?"},
    {"roat(x)", 1, "unknown function 'roat', did you mean 'road'?"},
    {"frobnicate(x)", 1, "unknown function 'frobnicate'"},
    {"rho(x + 1)", 1, "'rho' is not a function, write '*' to multiply"},
    {"x(y)", 1, "'x' is not a function, write '*' to multiply"},
    {"atan2(x)", 1, "function 'atan2' takes 2 arguments, not 1"},
    {"1 + sin()", 5, "function 'sin' takes 1 argument, not 0"},
    {"sin(x, y)", 1, "function 'sin' takes 1 argument, not 2"},
    {"if(x, y)", 1, "function 'if' takes 3 arguments, not 2"},
    {"max(x)", 1, "function 'max' takes 2 to 16 arguments, not 1"},
    {"max(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)", 1, "function 'max' takes 2 to 16 arguments, not 17"},
    {"step(x, 0, 0, 1, 1)", 1, "function 'step' takes 1 argument, not 5; write step5(x, x0, h0, x1, h1)"},
    {"road(x, y)", 1, "function 'road' takes 1 argument, not 2"},
    {"table(road)", 1, "function 'table' takes 2 arguments, not 1"},
    {"spline(road, x, y)", 1, "function 'spline' takes 2 arguments, not 3"},
    {"table(3, x)", 7, "table(name, x) begins with the name of a curve"},
    {"table(rho, x)", 7, "'rho' is not a curve"},
    {"table(roat, x)", 7, "unknown curve 'roat', did you mean 'road'?"},
    {"table(road x)", 12, "expected ',' behind the name of the curve"},
    // constants that are no numbers
    {"x + 1/0", 6, "division by zero"},
    {"x/0", 2, "division by zero"},
    {"x + y/zero", 6, "division by zero"},
    {"0/0", 2, "division by zero"},
    {"x*sqrt(-1)", 3, "sqrt(-1) is not a number"},
    {"log(0)", 1, "log(0) is infinite or too large"},
    {"acos(2)", 1, "acos(2) is not a number"},
    {"(-8)^0.5", 5, "-8 ^ 0.5 is not a number"},
    {"exp(1000) + x", 1, "exp(1000) is infinite or too large"},
    {"1e300*1e300", 6, "1e+300 * 1e+300 is infinite or too large"},
    {"mod(3, 0)", 1, "mod(3, 0) is not a number"},
    {"road(1e308*1.5)", 1, "curve(1.5e+308) is infinite or too large"},
    {"if(x > 0, 1/0, log(-1))", 12, "division by zero"},
    {"1/(1/0)", 5, "division by zero"},
    {"step5(x, 1, 0, 1, 2)", 1, "division by zero"},
};

// Every wrong expression is refused with the column and the sentence of the table.
static void test_wrong(void **state)
{
    (void)state;
    symbol_set       set = symbol_set_create();
    const kd_symbols symbols = symbols_of(&set);
    bool             differs = false;
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        kd_expr        *expr = (kd_expr *)&set;
        kd_expr_error   error = {0};
        const kd_status status = kd_expr_compile(WRONG[i].text, &symbols, &expr, &error);
        if (status != KD_ERR_MODEL || expr || error.column != WRONG[i].column || strcmp(error.text, WRONG[i].message)) {
            print_error("%s\n  expected %d: %s\n  got      %d: %s\n", WRONG[i].text, WRONG[i].column, WRONG[i].message,
                        error.column, error.text);
            differs = true;
        }
        assert_int_equal(kd_expr_compile(WRONG[i].text, &symbols, &expr, NULL), KD_ERR_MODEL); // error may be NULL
        double value = 0.0;
        assert_int_equal(kd_expr_constant(WRONG[i].text, &symbols, &value, NULL), KD_ERR_MODEL);
    }
    assert_false(differs);
    assert_true(sizeof WRONG / sizeof WRONG[0] >= 100);
    kd_curve_destroy(set.road);
}

// Without symbols there are the names of the language only.
static void test_no_symbols(void **state)
{
    (void)state;
    kd_expr      *expr = NULL;
    kd_expr_error error;
    double        value = 0.0;
    assert_int_equal(kd_expr_compile("2*pi*x", NULL, &expr, &error), KD_ERR_MODEL);
    assert_int_equal(error.column, 6);
    assert_string_equal(error.text, "unknown name 'x'");
    assert_int_equal(kd_expr_compile("table(x, 1)", NULL, &expr, &error), KD_ERR_MODEL);
    assert_string_equal(error.text, "unknown curve 'x'");
    assert_int_equal(kd_expr_constant("cos(2*pi)", NULL, &value, &error), KD_OK);
    assert_near(value, 1.0, 0.0);
}

// Long names are cut in messages, so that the end of the sentence stays.
static void test_long_names(void **state)
{
    (void)state;
    char          text[KD_EXPR_MAX_NAME + 20], expected[200];
    kd_expr      *expr = NULL;
    kd_expr_error error;
    memset(text, 'a', KD_EXPR_MAX_NAME);
    text[KD_EXPR_MAX_NAME] = '\0';
    assert_int_equal(kd_expr_compile(text, NULL, &expr, &error), KD_ERR_MODEL);
    snprintf(expected, sizeof expected, "unknown name '%.60s'", text);
    assert_string_equal(error.text, expected);
    strcat(text, "a + 1");
    assert_int_equal(kd_expr_compile(text, NULL, &expr, &error), KD_ERR_MODEL);
    assert_string_equal(error.text, "the name is longer than 255 characters");
    memcpy(text, "joint.", 6);
    assert_int_equal(kd_expr_compile(text, NULL, &expr, &error), KD_ERR_MODEL);
    assert_string_equal(error.text, "the name is longer than 255 characters");
}

// ---- constants ------------------------------------------------------------------------------------------------------

// Numbers for fields of files; variables are refused by name, unless they do not matter.
static void test_constant(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double      value;
    } right[] = {{"5", 5.0},   {" -2.5e-3 ", -2.5e-3},   {"+1", 1.0},     {"2*rho", 15.6}, {"deg(180)/pi", 1},
                 {"--3", 3.0}, {"if(n > 1, 7, x)", 7.0}, {"0 and x", 0.0}};
    const kd_symbols symbols = symbols_of(NULL);
    kd_expr_error    error;
    double           value = 0.0;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        if (kd_expr_constant(right[i].text, &symbols, &value, &error) != KD_OK) fail_msg("%s", error.text);
        assert_near(value, right[i].value, 1e-15);
    }
    assert_int_equal(kd_expr_constant("2*rho + joint.arm(1+2).q*x", &symbols, &value, &error), KD_ERR_MODEL);
    assert_int_equal(error.column, 9);
    assert_string_equal(error.text, "a constant is needed here, but 'joint.arm(1+2).q' varies");
    assert_int_equal(kd_expr_constant("if(0, x, y)", &symbols, &value, &error), KD_ERR_MODEL);
    assert_int_equal(error.column, 10);
    assert_string_equal(error.text, "a constant is needed here, but 'y' varies");
    assert_int_equal(kd_expr_constant("1 2", &symbols, &value, &error), KD_ERR_MODEL);
    assert_string_equal(error.text, "missing operator before '2'");
    assert_near(value, 0.0, 0.0); // the last right one: nothing wrong was written
}

// A plain number takes no memory: files are full of them.
static void test_plain_number(void **state)
{
    (void)state;
    failing_allocator f = {0};
    double            value = 0.0;
    failing_allocator_use(&f);
    const kd_status status = kd_expr_constant(" -12.5e-1\n", NULL, &value, NULL);
    kd_set_allocator(NULL);
    assert_int_equal(status, KD_OK);
    assert_int_equal(f.calls, 0);
    assert_near(value, -1.25, 0.0);
}

// ---- limits ---------------------------------------------------------------------------------------------------------

static void assert_limit(const char *text, int column, const char *message)
{
    const kd_symbols symbols = symbols_of(NULL);
    kd_expr         *expr = NULL;
    kd_expr_error    error = {0};
    const kd_status  status = kd_expr_compile(text, &symbols, &expr, &error);
    if (!message) {
        if (status != KD_OK) fail_msg("%d: %s", error.column, error.text);
    } else {
        assert_int_equal(status, KD_ERR_MODEL);
        assert_string_equal(error.text, message);
        assert_int_equal(error.column, column);
    }
    kd_expr_destroy(expr);
}

// count times front, x, count times behind
static char *nested(const char *front, const char *behind, int count)
{
    char *text = malloc((strlen(front) + strlen(behind)) * (size_t)count + 2), *end = text;
    for (int i = 0; i < count; i++) end += sprintf(end, "%s", front);
    end += sprintf(end, "x");
    for (int i = 0; i < count; i++) end += sprintf(end, "%s", behind);
    return text;
}

// Nesting is bounded, whatever it is made of, and the bound itself is allowed.
static void test_depth(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"(", ")"},
                                          {"-", ""},
                                          {"sin(", ")"},
                                          {"!", ""},
                                          {"2^", ""},
                                          {"1+(", ")"},
                                          {"+", ""},
                                          {"not ", ""},
                                          {"if(1<(", ",y),1,2)"},
                                          {"max(1,min(", ",2))"},
                                          {"joint.a(", ")"},
                                          {"1 or 1 and (1 < 1 + 1*2^", ")"}};
    const char              *message = "the expression is nested deeper than 200";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char            *text = nested(rows[i][0], rows[i][1], 2000);
        const kd_symbols symbols = symbols_of(NULL);
        kd_expr         *expr = NULL;
        kd_expr_error    error = {0};
        assert_int_equal(kd_expr_compile(text, &symbols, &expr, &error), KD_ERR_MODEL);
        assert_string_equal(error.text, message);
        free(text);
    }
    char *text = nested("(", ")", KD_EXPR_MAX_DEPTH);
    assert_limit(text, 0, NULL);
    free(text);
    text = nested("(", ")", KD_EXPR_MAX_DEPTH + 1);
    assert_limit(text, KD_EXPR_MAX_DEPTH + 2, message);
    free(text);
    text = nested("", " + x*2", 5000); // wide is not deep
    assert_limit(text, 0, NULL);
    free(text);
}

// Length is bounded; the bound itself is allowed.
static void test_length(void **state)
{
    (void)state;
    char *text = malloc(KD_EXPR_MAX_LENGTH + 2);
    memset(text, ' ', KD_EXPR_MAX_LENGTH + 1);
    text[0] = 'x', text[KD_EXPR_MAX_LENGTH] = '\0';
    assert_limit(text, 0, NULL);
    text[KD_EXPR_MAX_LENGTH] = ' ', text[KD_EXPR_MAX_LENGTH + 1] = '\0';
    assert_limit(text, KD_EXPR_MAX_LENGTH + 1, "the expression is longer than 65536 characters");
    double value;
    text[0] = '5';
    assert_int_equal(kd_expr_constant(text, NULL, &value, NULL), KD_ERR_MODEL);
    free(text);
}

// The number of parts is bounded: x+x-x+x-.. has one per operation, for no part is like another.
static void test_nodes(void **state)
{
    (void)state;
    char *text = malloc(2 * KD_EXPR_MAX_NODES + 10), *end = text;
    end += sprintf(end, "x");
    for (int i = 1; i < KD_EXPR_MAX_NODES; i++) end += sprintf(end, "%c", i % 2 ? '+' : '-'), end += sprintf(end, "x");
    assert_limit(text, 0, NULL);
    sprintf(end, "+x");
    assert_limit(text, 2 * KD_EXPR_MAX_NODES, "the expression has more than 20000 parts");
    free(text);
}

// A number with very many digits is refused, 300 are read.
static void test_digits(void **state)
{
    (void)state;
    char   text[400];
    double value = 0.0;
    memset(text, '0', sizeof text);
    memcpy(text, "0.25", 4);
    text[301] = '\0';
    assert_int_equal(kd_expr_constant(text, NULL, &value, NULL), KD_OK);
    assert_near(value, 0.25, 0.0);
    text[301] = '0', text[302] = '\0';
    assert_limit(text, 1, "the number has too many digits");
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// Each allocation may fail: the status says so, the error has no column, and nothing leaks.
static void test_memory(void **state)
{
    (void)state;
    char *wide = nested("", " + x*2 - y", 50); // the table of nodes grows on the way
    for (int kind = 0; kind < 2; kind++) {
        kd_status status = KD_ERR_MEMORY;
        long      failures = 0;
        for (long fail_at = 1; status != KD_OK; fail_at++) {
            failing_allocator f = {.fail_at = fail_at};
            const kd_symbols  symbols = symbols_of(NULL);
            kd_expr_error     error = {.column = 77};
            kd_expr          *expr = NULL;
            double            value = 0.0;
            failing_allocator_use(&f);
            status = kind == 0 ? kd_expr_compile(wide, &symbols, &expr, &error)
                               : kd_expr_constant("2*rho + n", &symbols, &value, &error);
            if (status != KD_OK) {
                failures++;
                assert_int_equal(status, KD_ERR_MEMORY);
                assert_int_equal(error.column, 0);
                assert_string_equal(error.text, "out of memory");
                assert_null(expr);
            }
            kd_expr_destroy(expr);
            kd_set_allocator(NULL);
            assert_int_equal(f.live, 0);
            assert_true(fail_at < 50);
        }
        assert_true(failures >= 4);
    }
    free(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),   cmocka_unit_test(test_paths),      cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_no_symbols),   cmocka_unit_test(test_long_names), cmocka_unit_test(test_constant),
        cmocka_unit_test(test_plain_number), cmocka_unit_test(test_depth),      cmocka_unit_test(test_length),
        cmocka_unit_test(test_nodes),        cmocka_unit_test(test_digits),     cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
