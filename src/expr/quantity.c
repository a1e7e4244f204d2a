// quantity.c: units as powers of ten, a factor and exponents of m, kg, s and rad.
//
// Powers of ten go into the exponent of the number before it is converted, so that 0.3 mm is 0.3e-3 to the last bit.
#include "expr/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "expr/internal.h"

enum { M, KG, S, RAD, MAX_EXPONENT = 9, MAX_NUMBER = 64, MAX_DEPTH = 8 };

#define DIMENSION(m, kg, s, rad)                                                                                       \
    {                                                                                                                  \
        (m), (kg), (s), (rad)                                                                                          \
    }

static const struct {
    const char *word;
    bool        takes_prefix;
    int         decimal;
    double      factor;
    int         dimension[4];
} UNITS[] = {
    {"m", true, 0, 1, DIMENSION(1, 0, 0, 0)},
    {"g", true, -3, 1, DIMENSION(0, 1, 0, 0)},
    {"t", false, 3, 1, DIMENSION(0, 1, 0, 0)},
    {"s", true, 0, 1, DIMENSION(0, 0, 1, 0)},
    {"min", false, 0, 60, DIMENSION(0, 0, 1, 0)},
    {"h", false, 0, 3600, DIMENSION(0, 0, 1, 0)},
    {"rad", true, 0, 1, DIMENSION(0, 0, 0, 1)},
    {"deg", false, 0, 0.017453292519943295769, DIMENSION(0, 0, 0, 1)},
    {"\xC2\xB0", false, 0, 0.017453292519943295769, DIMENSION(0, 0, 0, 1)},
    {"rev", false, 0, 6.283185307179586476925, DIMENSION(0, 0, 0, 1)},
    {"rpm", false, 0, 0.10471975511965977462, DIMENSION(0, 0, -1, 1)},
    {"Hz", true, 0, 1, DIMENSION(0, 0, -1, 0)},
    {"N", true, 0, 1, DIMENSION(1, 1, -2, 0)},
    {"Nm", true, 0, 1, DIMENSION(2, 1, -2, 0)},
    {"Ns", true, 0, 1, DIMENSION(1, 1, -1, 0)},
    {"Pa", true, 0, 1, DIMENSION(-1, 1, -2, 0)},
    {"bar", true, 5, 1, DIMENSION(-1, 1, -2, 0)},
    {"J", true, 0, 1, DIMENSION(2, 1, -2, 0)},
    {"W", true, 0, 1, DIMENSION(2, 1, -3, 0)},
    {"l", true, -3, 1, DIMENSION(3, 0, 0, 0)},
    {"L", true, -3, 1, DIMENSION(3, 0, 0, 0)},
};
enum { UNITS_COUNT = sizeof UNITS / sizeof *UNITS };

static const struct {
    const char *sign;
    int         decimal;
} PREFIXES[] = {{"n", -9}, {"u", -6}, {"\xC2\xB5", -6}, {"\xCE\xBC", -6}, {"m", -3},
                {"c", -2}, {"d", -1}, {"k", 3},         {"M", 6},         {"G", 9}};
enum { PREFIXES_COUNT = sizeof PREFIXES / sizeof *PREFIXES };

static const char KNOWN[] = "m, g, t, s, min, h, rad, deg, rev, rpm, Hz, N, Nm, Pa, bar, J, W, l, with n u m c d k M G "
                            "in front";

// ---- words ----------------------------------------------------------------------------------------------------------

static bool equals(const char *word, size_t length, const char *known)
{
    return strlen(known) == length && strncmp(word, known, length) == 0;
}

static int find_word(const char *word, size_t length, bool prefixed)
{
    for (int i = 0; i < UNITS_COUNT; i++)
        if (equals(word, length, UNITS[i].word) && (!prefixed || UNITS[i].takes_prefix)) return i;
    return -1;
}

// The unit of a word and the power of ten of its prefix; -1: it is none. Whole words come first: min, not m in.
static int find_unit(const char *word, size_t length, int *decimal)
{
    int found = find_word(word, length, false);
    *decimal = 0;
    for (int k = 0; found < 0 && k < PREFIXES_COUNT; k++) {
        const size_t n = strlen(PREFIXES[k].sign);
        if (n >= length || strncmp(word, PREFIXES[k].sign, n) != 0) continue;
        found = find_word(word + n, length - n, true);
        *decimal = PREFIXES[k].decimal;
    }
    return found;
}

bool kd_unit_is_word(const char *word, size_t length)
{
    int decimal;
    return find_unit(word, length, &decimal) >= 0;
}

// Letters of the word at c, also the degree sign and micro
static size_t word_length(const char *c)
{
    size_t n = 0;
    for (;;) {
        const bool letter = (c[n] >= 'a' && c[n] <= 'z') || (c[n] >= 'A' && c[n] <= 'Z') || c[n] == '_';
        const bool sign = strncmp(c + n, "\xC2\xB0", 2) == 0 || strncmp(c + n, "\xC2\xB5", 2) == 0 ||
                          strncmp(c + n, "\xCE\xBC", 2) == 0;
        if (!letter && !sign) return n;
        n += letter ? 1 : 2;
    }
}

// ---- the grammar ----------------------------------------------------------------------------------------------------

typedef struct parser {
    const char           *text, *c;
    const kd_taken_words *taken;
    int                   depth;
    int                  *column;
    char                 *why;
    size_t                size;
} parser;

static bool refuse_at(const parser *p, const char *at, const char *why)
{
    *p->column = (int)(at - p->text) + 1;
    kd_text(p->why, p->size, "%s", why);
    return false;
}

static void skip_blanks(parser *p)
{
    while (*p->c == ' ') p->c++;
}

static void multiply(kd_unit *to, const kd_unit *by, int power)
{
    to->decimal += power * by->decimal;
    to->factor *= pow(by->factor, power);
    for (int i = 0; i < 4; i++) to->dimension[i] += power * by->dimension[i];
}

// ^2, ^-1, 2 or a raised 2 or 3 behind a word
static bool parse_power(parser *p, int *power)
{
    *power = 1;
    const char *at = p->c;
    // raised 2 or 3
    if (strncmp(p->c, "\xC2\xB2", 2) == 0 || strncmp(p->c, "\xC2\xB3", 2) == 0) {
        *power = p->c[1] == '\xB2' ? 2 : 3;
        p->c += 2;
        return true;
    }
    // ^n, ^-n or n
    const bool caret = *p->c == '^';
    if (caret) p->c++;
    const bool negative = caret && *p->c == '-';
    if (negative) p->c++;
    if (*p->c < '0' || *p->c > '9') return !caret || refuse_at(p, at, "a whole number must follow '^' in a unit");
    for (*power = 0; *p->c >= '0' && *p->c <= '9'; p->c++)
        if (*power <= MAX_EXPONENT) *power = 10 * *power + (*p->c - '0');
    if (*power > MAX_EXPONENT || *power == 0) return refuse_at(p, at, "the exponent of a unit must be between 1 and 9");
    if (negative) *power = -*power;
    return true;
}

// A word of the table, with its prefix, that is no name of the file
static bool parse_word(parser *p, kd_unit *unit)
{
    const char  *at = p->c;
    const size_t n = word_length(at);
    char         word[KD_UNIT_WORD], why[300];
    int          decimal;
    // which unit, with which prefix?
    const int found = n > 0 ? find_unit(at, n, &decimal) : -1;
    if (n == 0) return refuse_at(p, at, "a unit must stand here, like mm or kg m^2");
    if (found < 0) {
        kd_text(why, sizeof why, "unknown unit '%.*s'; understood are %s", n < 30 ? (int)n : 30, at, KNOWN);
        return refuse_at(p, at, why);
    }
    // a word that is also a name could be meant as that
    kd_text(word, sizeof word, "%.*s", (int)n, at);
    if (p->taken && p->taken->is_taken(word, p->taken->context)) {
        kd_text(
            why, sizeof why,
            "'%s' is a unit and also a name of this file: write '*' in front of the name, or the number in units of "
            "the SI",
            word);
        return refuse_at(p, at, why);
    }
    // its power of ten, factor and dimension
    *unit = (kd_unit){.decimal = UNITS[found].decimal + decimal, .factor = UNITS[found].factor};
    memcpy(unit->dimension, UNITS[found].dimension, sizeof unit->dimension);
    p->c += n;
    return true;
}

static bool parse_product(parser *p, kd_unit *unit);

static bool parse_factor(parser *p, kd_unit *unit)
{
    kd_unit own = {.factor = 1};
    int     power = 1;
    skip_blanks(p);
    // (product)^n, 1 or word^n
    if (*p->c == '(') {
        const char *at = p->c++;
        if (++p->depth > MAX_DEPTH) return refuse_at(p, at, "too many parentheses in a unit");
        if (!parse_product(p, &own)) return false;
        p->depth--;
        if (*p->c++ != ')') return refuse_at(p, at, "')' is missing in the unit");
    } else if (*p->c == '1' && strchr(" /*", p->c[1]) && p->c[1]) { // 1/s
        p->c++;
        return true;
    } else if (!parse_word(p, &own)) {
        return false;
    }
    if (!parse_power(p, &power)) return false;
    multiply(unit, &own, power);
    return true;
}

static bool parse_product(parser *p, kd_unit *unit)
{
    kd_unit own;
    bool    divided = false;
    if (!parse_factor(p, unit)) return false;
    for (;;) {
        skip_blanks(p);
        const char *at = p->c;
        const bool  dot = strncmp(p->c, "\xC2\xB7", 2) == 0;
        if (*p->c == '\0' || *p->c == ')') return true;
        // factor, then * factor, / factor, or factor behind a blank
        const bool over = *p->c == '/';
        if (over || *p->c == '*') p->c++;
        if (dot) p->c += 2;
        if (divided && !over) return refuse_at(p, at, "what is divided by? Write parentheses, as in m^3/(s Pa)");
        divided = divided || over;
        own = (kd_unit){.factor = 1};
        if (!parse_factor(p, &own)) return false;
        multiply(unit, &own, over ? -1 : 1);
    }
}

bool kd_unit_parse(const char *text, const kd_taken_words *taken, kd_unit *unit, int *column, char *why, size_t size)
{
    parser p = {.text = text, .c = text, .taken = taken, .column = column, .why = why, .size = size};
    *unit = (kd_unit){.factor = 1};
    if (!parse_product(&p, unit)) return false;
    return *p.c == '\0' || refuse_at(&p, p.c, "unexpected ')' in the unit");
}

// ---- quantities -----------------------------------------------------------------------------------------------------

// Does a unit fit one that is wanted?
static bool fits(const kd_unit *given, const char *wanted, size_t length)
{
    char    text[60], why[300];
    int     column;
    kd_unit unit;
    kd_text(text, sizeof text, "%.*s", (int)length, wanted);
    if (!kd_unit_parse(text, NULL, &unit, &column, why, sizeof why)) return false;
    // the same powers of m, kg, s; rad may be left out beside others
    const int *a = given->dimension, *b = unit.dimension;
    if (a[M] != b[M] || a[KG] != b[KG] || a[S] != b[S]) return false;
    return a[RAD] == b[RAD] || (a[RAD] == 0 && (b[M] != 0 || b[KG] != 0));
}

static bool fits_one(const kd_unit *given, const char *wanted)
{
    for (;;) {
        const size_t n = strcspn(wanted, "|");
        if (n > 0 && fits(given, wanted, n)) return true;
        if (wanted[n] == '\0') return false;
        wanted += n + 1;
    }
}

// number * 10^decimal, converted once
static double shifted(const char *number, int length, int decimal)
{
    char          text[MAX_NUMBER + 24];
    const int     mantissa = (int)strcspn(number, "eE");
    const int     n = mantissa < length ? mantissa : length;
    const long    exponent = n < length ? strtol(number + n + 1, NULL, 10) : 0;
    kd_expr_error error;
    if (exponent > 1000 || exponent < -1000) return exponent > 0 ? INFINITY : 0;
    // the power of ten goes into the exponent, which is then converted once
    kd_text(text, sizeof text, "%.*se%ld", n, number, exponent + decimal);
    const kd_token token = kd_expr_token(text, 0, &error);
    return token.kind == KD_TOKEN_NUMBER ? token.number : INFINITY;
}

static kd_quantity wrong(int column, const char *why)
{
    kd_quantity q = {.kind = KD_QUANTITY_WRONG, .column = column};
    kd_text(q.text, sizeof q.text, "%s", why);
    return q;
}

// Behind a number: is it meant as a unit? A known word is, and a single unknown word, but no name that is taken.
static bool begins_unit(const char *rest, const kd_taken_words *taken)
{
    const size_t n = word_length(rest);
    char         word[64];
    if (rest[0] == '1' && rest[1] == '/') return true;
    if (n == 0 || equals(rest, n, "and") || equals(rest, n, "or") || equals(rest, n, "not")) return false;
    if (kd_unit_is_word(rest, n)) return rest[n] != '.'; // else a path
    kd_text(word, sizeof word, "%.*s", n < 60 ? (int)n : 60, rest);
    return rest[n] == '\0' && !kd_expr_is_reserved(word) && !(taken && taken->is_taken(word, taken->context));
}

kd_quantity kd_quantity_read(const char *text, const char *wanted, const kd_taken_words *taken)
{
    kd_quantity   none = {.kind = KD_QUANTITY_NONE};
    kd_expr_error error;
    char          why[300], shown[260];
    kd_unit       unit;
    int           column = 1, place = 0;
    // a number, with its sign
    while (text[place] == ' ') place++;
    const bool negative = text[place] == '-';
    if (text[place] == '-' || text[place] == '+') place++;
    const kd_token number = kd_expr_token(text, place, &error);
    if (number.kind != KD_TOKEN_NUMBER || number.length > MAX_NUMBER) return none;
    // and behind it something that is meant as a unit
    int rest = number.start + number.length;
    while (text[rest] == ' ') rest++;
    if (text[rest] == '\0' || !begins_unit(text + rest, taken)) return none;
    // where the dimension is known it tells a unit from a name behind a forgotten '*'
    if (!kd_unit_parse(text + rest, wanted ? NULL : taken, &unit, &column, why, sizeof why))
        return wrong(rest + column, why);
    // of the dimension that is wanted
    if (wanted && !fits_one(&unit, wanted)) {
        kd_text(shown, sizeof shown, "'%.40s' is no unit of this, ", text + rest);
        if (wanted[0] == '\0')
            kd_text_append(shown, sizeof shown, "which is a plain number");
        else
            kd_text_append(shown, sizeof shown, "which is in %.*s%s%.40s", (int)strcspn(wanted, "|"), wanted,
                           strchr(wanted, '|') ? " or " : "", strchr(wanted, '|') ? strchr(wanted, '|') + 1 : "");
        return wrong(rest + 1, shown);
    }
    kd_quantity q = {.kind = KD_QUANTITY_GOOD};
    q.value = shifted(text + number.start, number.length, unit.decimal) * unit.factor;
    if (negative) q.value = -q.value;
    return isfinite(q.value) ? q : wrong(1, "the number is too large");
}
