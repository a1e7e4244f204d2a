// expr/lexer.c: tokens of the expression language.
//
// Numbers are read without the locale: "1.25e3" becomes "125e1", which has no decimal sign, before the conversion.
#include "expr/internal.h"

#include "core/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DIGITS = 300,  // of one number; a double is decided by 767 at most, by 17 in practice
    EXACT_DIGITS = 15, // numbers of so many digits are doubles
    ROOM_FOR_EXPONENT = 16,
    MAX_EXPONENT = 100000, // beyond all doubles, far below overflow of int
};

// ---- characters, without the locale ---------------------------------------------------------------------------------

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool kd_is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool kd_is_name_char(char c)
{
    return kd_is_name_start(c) || is_digit(c);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// ---- errors ---------------------------------------------------------------------------------------------------------

static void note(kd_expr_error *error, int place, const char *text)
{
    error->column = place + 1;
    kd_text(error->text, sizeof error->text, "%s", text);
}

// Bytes of the UTF-8 character at c; 0: it is none.
static int utf8_length(const char *c)
{
    const unsigned char first = (unsigned char)*c;
    const int           length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if (((unsigned char)c[i] & 0xc0) != 0x80) return 0;
    return length;
}

// What people write who come from other languages.
static const struct {
    const char *text, *advice;
} foreign[] = {
    {"**", "'**' is not an operator, write '^' for powers"},
    {"=", "'=' is not an operator, write '==' to compare"},
    {"&", "'&' is not an operator, write '&&' or 'and'"},
    {"|", "'|' is not an operator, write '||' or 'or'"},
    {"%", "'%' is not an operator, write mod(a, b)"},
    {"?", "'?' is not an operator, write if(condition, a, b)"},
    {"[", "'[' is not used, write '(' to group"},
    {"{", "'{' is not used, write '(' to group"},
    {";", "';' is not used, write ',' between arguments"},
};

static const char *advice_for(const char *c)
{
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (strncmp(c, foreign[i].text, strlen(foreign[i].text)) == 0) return foreign[i].advice;
    return NULL;
}

static void note_character(kd_expr_error *error, const char *text, int place)
{
    const char *c = text + place;
    const int   length = *c > ' ' && *c < 127 ? 1 : utf8_length(c);
    error->column = place + 1;
    if (length > 0) {
        kd_text(error->text, sizeof error->text, "unexpected character '%.*s'", length, c);
    } else {
        kd_text(error->text, sizeof error->text, "unexpected byte 0x%02x", (unsigned)(unsigned char)*c);
    }
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// The exponent at c ("e-3"); answers the characters, 0 if there is none, -1 if digits are missing.
static int read_exponent(const char *c, int *exponent)
{
    int n = 1;
    if (*c != 'e' && *c != 'E') return 0;
    const bool negative = c[n] == '-';
    if (c[n] == '-' || c[n] == '+') n++;
    if (!is_digit(c[n])) return -1;
    for (; is_digit(c[n]); n++)
        if (*exponent < MAX_EXPONENT) *exponent = 10 * *exponent + (c[n] - '0');
    if (negative) *exponent = -*exponent;
    return n;
}

static bool has_number(const char *c)
{
    return is_digit(*c) || (*c == '.' && is_digit(c[1]));
}

// n digits times 10^exponent, correctly rounded; there is room for the exponent behind the digits. Where both numbers have
// no rounding of their own, the one of a product or quotient is right.
static double value_of_digits(char *digits, int n, int exponent)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int           size = abs(exponent);
    int64_t             whole = 0; // 15 digits do not fit into the long of every machine
    if (n > EXACT_DIGITS || size >= (int)(sizeof power / sizeof *power)) {
        kd_text(digits + n, ROOM_FOR_EXPONENT, "e%d", exponent);
        return strtod(digits, NULL);
    }
    for (int i = 0; i < n; i++) whole = 10 * whole + (digits[i] - '0');
    return exponent < 0 ? (double)whole / power[size] : (double)whole * power[size];
}

// digits [. digits] [e [sign] digits], or . digits ...
static kd_token number_token(const char *text, int place, kd_expr_error *error)
{
    kd_token    token = {KD_TOKEN_WRONG, place, 0, 0.0};
    char        digits[MAX_DIGITS + ROOM_FOR_EXPONENT];
    const char *start = text + place, *c = start;
    int         n = 0, exponent = 0, behind_point = 0;
    bool        point = false;
    // digits without the point, and how many of them stand behind it
    for (; is_digit(*c) || (*c == '.' && !point); c++) {
        if (*c == '.') {
            point = true;
            continue;
        }
        if (n == MAX_DIGITS) {
            note(error, place, "the number has too many digits");
            return token;
        }
        digits[n++] = *c;
        behind_point += point;
    }
    // the exponent, if there is one
    const int tail = read_exponent(c, &exponent);
    if (tail < 0) {
        note(error, (int)(c - text), "the exponent of the number has no digits");
        return token;
    }
    c += tail;
    // what must not follow
    if (*c == '.') {
        note(error, (int)(c - text), "unexpected '.' in a number");
        return token;
    }
    if (*c == '_') {
        note(error, (int)(c - text), "unexpected '_' in a number, digits are not grouped");
        return token;
    }
    // digits and exponent to a number, once
    token.number = value_of_digits(digits, n, exponent - behind_point);
    token.length = (int)(c - start);
    if (isfinite(token.number)) {
        token.kind = KD_TOKEN_NUMBER;
    } else {
        note(error, place, "the number is too large");
    }
    return token;
}

// ---- names and operators --------------------------------------------------------------------------------------------

static const struct {
    const char   *text;
    kd_token_kind kind;
} words[] = {{"and", KD_TOKEN_AND}, {"or", KD_TOKEN_OR}, {"not", KD_TOKEN_NOT}};

// name, or name.name...
static kd_token name_token(const char *text, int place)
{
    kd_token token = {KD_TOKEN_NAME, place, 0, 0.0};
    int      end = place;
    while (kd_is_name_char(text[end]) || (text[end] == '.' && kd_is_name_start(text[end + 1]))) end++;
    token.length = end - place;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].text) == (size_t)token.length &&
            strncmp(text + place, words[i].text, (size_t)token.length) == 0)
            token.kind = words[i].kind;
    return token;
}

static const struct {
    const char   *text;
    kd_token_kind kind;
} signs[] = {
    // longer ones first
    {"<=", KD_TOKEN_LESS_EQUAL}, {">=", KD_TOKEN_GREATER_EQUAL}, {"==", KD_TOKEN_EQUAL},
    {"!=", KD_TOKEN_UNEQUAL},    {"&&", KD_TOKEN_AND},           {"||", KD_TOKEN_OR},
    {"<", KD_TOKEN_LESS},        {">", KD_TOKEN_GREATER},        {"!", KD_TOKEN_NOT},
    {"(", KD_TOKEN_OPEN},        {")", KD_TOKEN_CLOSE},          {",", KD_TOKEN_COMMA},
    {"+", KD_TOKEN_PLUS},        {"-", KD_TOKEN_MINUS},          {"*", KD_TOKEN_TIMES},
    {"/", KD_TOKEN_OVER},        {"^", KD_TOKEN_POWER},
};

// Operators and brackets; what other languages have gets advice
static kd_token sign_token(const char *text, int place, kd_expr_error *error)
{
    kd_token token = {KD_TOKEN_WRONG, place, 0, 0.0};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0] && token.kind == KD_TOKEN_WRONG; i++) {
        const size_t length = strlen(signs[i].text);
        if (strncmp(text + place, signs[i].text, length) == 0) token.kind = signs[i].kind, token.length = (int)length;
    }
    const bool  plain = token.kind != KD_TOKEN_WRONG && token.kind != KD_TOKEN_TIMES;
    const char *advice = plain ? NULL : advice_for(text + place); // "**" begins with a sign that exists
    if (advice) {
        token.kind = KD_TOKEN_WRONG;
        note(error, place, advice);
    } else if (token.kind == KD_TOKEN_WRONG) {
        note_character(error, text, place);
    }
    return token;
}

kd_token kd_expr_token(const char *text, int place, kd_expr_error *error)
{
    while (is_blank(text[place])) place++;
    if (text[place] == '\0') return (kd_token){KD_TOKEN_END, place, 0, 0.0};
    if (has_number(text + place)) return number_token(text, place, error);
    if (kd_is_name_start(text[place])) return name_token(text, place);
    return sign_token(text, place, error);
}
