// tir.c: the reader of tyre property files. Numbers are kept as written, and converted when all units are known.
#include "vehicle/tir.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/lines.h"
#include "core/load.h"
#include "core/memory.h"
#include "core/read_number.h"
#include "core/text.h"

enum { MOST_WORD = 60, MOST_LINE = 400 };

#define NAME_OF(name, value, unit) #name,
static const char *const names[] = {KD_TIR_NUMBERS(NAME_OF)};
#undef NAME_OF
#define VALUE_OF(name, value, unit) value,
static const double defaults[] = {KD_TIR_NUMBERS(VALUE_OF)};
#undef VALUE_OF
#define UNIT_OF(name, value, unit) unit,
static const char units[] = {KD_TIR_NUMBERS(UNIT_OF)};
#undef UNIT_OF

// Other names of the same number
static const char *const aliases[][2] = {{"IP", "INFLPRES"}, {"IP_NOM", "NOMPRES"}};

// Sections without which there is no tyre
static const char *const needed[] = {"UNITS",
                                     "MODEL",
                                     "DIMENSION",
                                     "VERTICAL",
                                     "LONGITUDINAL_COEFFICIENTS",
                                     "LATERAL_COEFFICIENTS",
                                     "ALIGNING_COEFFICIENTS"};
enum { NEEDED = sizeof needed / sizeof *needed };

// A unit as a word in files, and its factor to SI
#define GRAVITY 9.80665              // of kilogram-force and pound-force
#define POUND (0.45359237 * GRAVITY) // pound-force [N]
typedef struct unit_word {
    const char *word;
    double      factor;
} unit_word;
// clang-format off
static const unit_word lengths[] = {
    {"meter", 1}, {"metre", 1}, {"m", 1}, {"millimeter", 1e-3}, {"millimetre", 1e-3}, {"mm", 1e-3}, {"centimeter", 0.01},
    {"centimetre", 0.01}, {"cm", 0.01}, {"kilometer", 1e3}, {"km", 1e3}, {"inch", 0.0254}, {"inche", 0.0254}, {"in", 0.0254},
    {"foot", 0.3048}, {"feet", 0.3048}, {"ft", 0.3048}, {NULL, 0}};
static const unit_word forces[] = {
    {"newton", 1}, {"n", 1}, {"kilonewton", 1e3}, {"knewton", 1e3}, {"kn", 1e3}, {"millinewton", 1e-3}, {"dyne", 1e-5},
    {"pound_force", POUND}, {"pound", POUND}, {"lbf", POUND}, {"ounce_force", POUND / 16}, {"kg_force", GRAVITY},
    {"kilogram_force", GRAVITY}, {"kgf", GRAVITY}, {NULL, 0}};
static const unit_word times[] = {
    {"second", 1}, {"sec", 1}, {"s", 1}, {"millisecond", 1e-3}, {"ms", 1e-3}, {"minute", 60}, {"hour", 3600}, {NULL, 0}};
static const unit_word pressures[] = {
    {"pascal", 1}, {"pa", 1}, {"kpascal", 1e3}, {"kilopascal", 1e3}, {"kpa", 1e3}, {"megapascal", 1e6}, {"mpa", 1e6},
    {"bar", 1e5}, {"psi", POUND / (0.0254 * 0.0254)}, {NULL, 0}};
static const unit_word masses[] = {
    {"kg", 1}, {"kilogram", 1}, {"gram", 1e-3}, {"tonne", 1e3}, {"megagram", 1e3}, {"pound_mass", 1}, {"lbm", 1}, {"slug", 1},
    {NULL, 0}}; // no number has one
// clang-format on

typedef struct reader {
    kd_lines lines;
    kd_tir  *tir;
    char     section[MOST_WORD], format[MOST_WORD];
    bool     found[NEEDED];
    double   length, force, time, pressure;
} reader;

const char *kd_tir_name(kd_tir_number i)
{
    return names[i];
}

// ---- lines ----------------------------------------------------------------------------------------------------------

// What stands behind $ or ! is a comment, but not inside of quotes; blanks at the end go, too
static void cut_comment(char *line)
{
    char  quote = '\0';
    char *at = line;
    for (; *at; at++) {
        if (quote ? *at == quote : *at == '\'' || *at == '"') quote = quote ? '\0' : *at;
        if (!quote && (*at == '$' || *at == '!')) break;
    }
    while (at > line && isspace((unsigned char)at[-1])) at--;
    *at = '\0';
}

static void copy_word(char *to, const char *from, size_t n)
{
    if (n > MOST_WORD - 1) n = MOST_WORD - 1;
    for (size_t i = 0; i < n; i++) to[i] = (char)toupper((unsigned char)from[i]);
    to[n] = '\0';
}

// A text between quotes, single or double, in capitals; without quotes the value as it stands
static void text_of(const char *value, char *word)
{
    const char *end;
    const char  quote = *value == '"' ? '"' : '\'';
    if (*value == quote) value++;
    for (end = value; *end && *end != quote;) end++;
    while (end > value && isspace((unsigned char)end[-1])) end--;
    copy_word(word, value, (size_t)(end - value));
}

static bool is_word(const char *word, const char *small)
{
    size_t i = 0;
    for (; small[i] && word[i] == (char)toupper((unsigned char)small[i]); i++) {
    }
    return !small[i] && (!word[i] || (word[i] == 'S' && !word[i + 1])); // one or many
}

// ---- sections -------------------------------------------------------------------------------------------------------

// The table of the section, NULL: it has none that is used
static kd_tir_table *table_of(const reader *r)
{
    if (strcmp(r->section, "DEFLECTION_LOAD_CURVE") == 0) return &r->tir->deflection;
    return strcmp(r->section, "BOTTOMING_CURVE") == 0 ? &r->tir->bottoming : NULL;
}

static kd_status take_section(reader *r, const char *line)
{
    const char *end = strchr(line, ']');
    if (!end) return kd_lines_refuse(&r->lines, "a section needs its ']'", line);
    copy_word(r->section, line + 1, (size_t)(end - line - 1));
    // a table that comes again replaces the first one: there are such files
    kd_tir_table *t = table_of(r);
    if (t && t->n > 0) {
        r->tir->replaced_line = r->lines.line;
        t->n = 0;
    }
    for (int i = 0; i < NEEDED; i++) r->found[i] = r->found[i] || strcmp(r->section, needed[i]) == 0;
    return KD_OK;
}

static kd_status take_unit(reader *r, const char *key, const char *value)
{
    const struct {
        const char      *key;
        const unit_word *words;
        double          *factor;
    } kinds[] = {{"LENGTH", lengths, &r->length},
                 {"FORCE", forces, &r->force},
                 {"TIME", times, &r->time},
                 {"PRESSURE", pressures, &r->pressure},
                 {"MASS", masses, NULL}};
    char word[MOST_WORD];
    text_of(value, word);
    if (strcmp(key, "ANGLE") == 0 && !is_word(word, "radian") && !is_word(word, "rad"))
        return kd_lines_refuse(&r->lines, "coefficients are read for angles in 'radians', not in", word);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(key, kinds[k].key) != 0) continue;
        const unit_word *w = kinds[k].words;
        while (w->word && !is_word(word, w->word)) w++;
        if (!w->word) return kd_lines_refuse(&r->lines, "unknown unit", word);
        if (kinds[k].factor) *kinds[k].factor = w->factor;
    }
    return KD_OK;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

static int find_number(const char *key)
{
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++)
        if (strcmp(aliases[k][0], key) == 0) key = aliases[k][1];
    for (int i = 0; i < KD_TIR_COUNT; i++)
        if (strcmp(names[i], key) == 0) return i;
    return -1;
}

static bool is_one_of(const char *word, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

// Words of the model: what is made of them
static kd_status take_word(reader *r, const char *key, const char *value)
{
    char word[MOST_WORD];
    text_of(value, word);
    if (strcmp(key, "PROPERTY_FILE_FORMAT") == 0) copy_word(r->format, word, strlen(word));
    if (strcmp(key, "FE_METHOD") == 0) {
        r->tir->ellipse = strcmp(word, "YES") == 0;
        if (!is_one_of(word, (const char *const[]){"YES", "NO", ""}, 3))
            return kd_lines_refuse(&r->lines, "FE_METHOD must be 'YES' or 'NO', not", word);
    }
    if (strcmp(key, "TYRESIDE") == 0) {
        r->tir->side = strcmp(word, "LEFT") == 0    ? KD_TIR_LEFT
                       : strcmp(word, "RIGHT") == 0 ? KD_TIR_RIGHT
                                                    : KD_TIR_ANY_SIDE;
        if (r->tir->side == KD_TIR_ANY_SIDE &&
            !is_one_of(word, (const char *const[]){"SYMMETRIC", "SYMMETRICAL", "UNKNOWN", "BOTH", ""}, 5))
            return kd_lines_refuse(&r->lines, "TYRESIDE must be LEFT, RIGHT, SYMMETRIC or UNKNOWN, not", word);
    }
    return KD_OK;
}

static kd_status take_number(reader *r, int i, const char *value)
{
    char        *end;
    const double number = kd_read_number(value, &end);
    if (r->tir->given[i]) return kd_lines_refuse(&r->lines, "this number is given twice:", names[i]);
    if (end == value || *end || !isfinite(number))
        return kd_lines_refuse(&r->lines, "a number is expected, not", value);
    r->tir->c[i] = number;
    r->tir->given[i] = true;
    return KD_OK;
}

static void pass_over(reader *r, const char *key)
{
    if (r->tir->nunknown++ > 0) return;
    kd_text(r->tir->unknown, sizeof r->tir->unknown, "%s", key);
    r->tir->unknown_line = r->lines.line;
}

static kd_status take_entry(reader *r, const char *line, const char *equals)
{
    char        key[MOST_WORD];
    const char *end = equals, *value = equals + 1;
    while (end > line && isspace((unsigned char)end[-1])) end--;
    while (isspace((unsigned char)*value)) value++;
    copy_word(key, line, (size_t)(end - line));
    const int i = find_number(key);
    if (end == line) return kd_lines_refuse(&r->lines, "there is no name before the '='", "");
    if (strcmp(r->section, "UNITS") == 0) return take_unit(r, key, value);
    if (i >= 0) return take_number(r, i, value);
    if (strcmp(r->section, "MODEL") == 0) return take_word(r, key, value);
    const size_t n = strlen(r->section);
    if (n > 13 && strcmp(r->section + n - 13, "_COEFFICIENTS") == 0) pass_over(r, key);
    return KD_OK;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

static kd_status take_row(reader *r, const char *line)
{
    kd_tir_table *t = table_of(r);
    char         *middle, *end;
    if (!t || *line == '{') return KD_OK; // other tables: the shape of the tread; names of columns
    const double x = kd_read_number(line, &middle), y = kd_read_number(middle, &end);
    while (isspace((unsigned char)*end)) end++;
    if (middle == line || end == middle || *end || !isfinite(x) || !isfinite(y))
        return kd_lines_refuse(&r->lines, "two numbers are expected, not", line);
    if (t->n == KD_TIR_MAX_ROWS) return kd_lines_refuse(&r->lines, "the table has too many rows", "");
    if (t->n > 0 && !(x > t->x[t->n - 1] && y >= t->y[t->n - 1]))
        return kd_lines_refuse(&r->lines, "deflections of a table must rise, and loads must not fall:", line);
    if (x < 0.0 || y < 0.0) return kd_lines_refuse(&r->lines, "deflections and loads must not be negative:", line);
    t->x[t->n] = x;
    t->y[t->n++] = y;
    return KD_OK;
}

static kd_status take_line(reader *r, char *line)
{
    cut_comment(line);
    if (!*line) return KD_OK;
    if (*line == '[') return take_section(r, line);
    const char *equals = strchr(line, '=');
    if (equals && *line != '{') return take_entry(r, line, equals);
    return take_row(r, line);
}

// ---- what follows ---------------------------------------------------------------------------------------------------

static kd_status refuse_tyre(reader *r, const char *what, const char *word)
{
    kd_text(r->lines.message, r->lines.size, "%s: %s%s%s%s", r->lines.path, what, *word ? " '" : "", word,
            *word ? "'" : "");
    return KD_ERR_FILE;
}

// Which formula: by FITTYP, or by the format where that is not given
static kd_status find_version(reader *r)
{
    kd_tir   *t = r->tir;
    const int fit = (int)fmax(-1.0, fmin(t->c[KD_TIR_FITTYP], 1e6));
    char      word[24];
    kd_text(word, sizeof word, "%d", fit);
    if (t->given[KD_TIR_FITTYP]) {
        if (fit != 5 && fit != 6 && fit != 52 && fit != 61 && fit != 62)
            return refuse_tyre(r, "the Magic Formula is known for FITTYP 5, 6 (5.2) and 61, 62 (6.1), not for", word);
        t->version = fit == 61 || fit == 62 ? KD_TIR_61 : KD_TIR_52;
        return KD_OK;
    }
    t->version = KD_TIR_52;
    if (strcmp(r->format, "PAC2002") == 0 || strcmp(r->format, "MF_05") == 0) return KD_OK;
    if (!*r->format) return refuse_tyre(r, "[MODEL] has neither FITTYP nor PROPERTY_FILE_FORMAT", "");
    return refuse_tyre(r, "PROPERTY_FILE_FORMAT must be PAC2002 or MF_05, where FITTYP is not given, not", r->format);
}

static double factor_of(const reader *r, char unit)
{
    switch (unit) {
    case 'L':
        return r->length;
    case 'F':
        return r->force;
    case 'K':
        return r->force / r->length;
    case 'D':
        return r->force * r->time / r->length;
    case 'V':
        return r->length / r->time;
    case 'P':
        return r->pressure;
    default:
        return 1.0;
    }
}

static void convert(reader *r)
{
    kd_tir_table *const table[] = {&r->tir->deflection, &r->tir->bottoming};
    for (int i = 0; i < KD_TIR_COUNT; i++)
        if (r->tir->given[i]) r->tir->c[i] *= factor_of(r, units[i]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < table[k]->n; i++) {
            table[k]->x[i] *= r->length;
            table[k]->y[i] *= r->force;
        }
}

// Numbers that the formula divides by, and those that say which way it goes
static kd_status check(reader *r)
{
    static const kd_tir_number positive[] = {KD_TIR_UNLOADED_RADIUS,
                                             KD_TIR_FNOMIN,
                                             KD_TIR_LFZO,
                                             KD_TIR_PCX1,
                                             KD_TIR_PDX1,
                                             KD_TIR_PKX1,
                                             KD_TIR_PCY1,
                                             KD_TIR_LCX,
                                             KD_TIR_LCY,
                                             KD_TIR_LMUX,
                                             KD_TIR_LMUY,
                                             KD_TIR_LKX,
                                             KD_TIR_LKY,
                                             KD_TIR_LCZ};
    static const kd_tir_number other[] = {KD_TIR_PDY1, KD_TIR_PKY1, KD_TIR_PKY2};
    const kd_tir              *t = r->tir;
    for (int i = 0; i < NEEDED; i++)
        if (!r->found[i]) return refuse_tyre(r, "there is no section", needed[i]);
    for (size_t k = 0; k < sizeof positive / sizeof *positive; k++)
        if (!(t->c[positive[k]] > 0.0))
            return refuse_tyre(r, "this number must be given and positive:", names[positive[k]]);
    for (size_t k = 0; k < sizeof other / sizeof *other; k++)
        if (t->c[other[k]] == 0.0) return refuse_tyre(r, "this number must be given and not 0:", names[other[k]]);
    if (!(t->c[KD_TIR_PKY1] < 0.0))
        return refuse_tyre(r, "PKY1 must be negative: a positive slip angle gives a force to the right (W axes, ISO)",
                           "");
    if (t->deflection.n == 0 && !(t->c[KD_TIR_VERTICAL_STIFFNESS] > 0.0))
        return refuse_tyre(r, "this number must be given and positive:", names[KD_TIR_VERTICAL_STIFFNESS]);
    if (t->deflection.n == 1 || t->bottoming.n == 1) return refuse_tyre(r, "a table of loads needs two rows", "");
    const double mode = fmod(t->c[KD_TIR_USE_MODE], 10.0);
    if (!(t->c[KD_TIR_USE_MODE] >= 0.0 && t->c[KD_TIR_USE_MODE] < 30.0 && mode <= 5.0 && mode == floor(mode)))
        return refuse_tyre(r, "USE_MODE must be 0 to 5, with 10 or 20 added", "");
    if (t->version == KD_TIR_61 && t->given[KD_TIR_INFLPRES] && !(t->c[KD_TIR_NOMPRES] > 0.0))
        return refuse_tyre(r, "with INFLPRES there must be NOMPRES", "");
    return KD_OK;
}

kd_status kd_tir_parse(const char *path, const char *text, size_t length, kd_tir *tir, char *message, size_t size)
{
    reader r = {.lines = {path, text, text + length, 0, message, size}, .tir = tir};
    char   line[MOST_LINE];
    *tir = (kd_tir){.side = KD_TIR_ANY_SIDE};
    memcpy(tir->c, defaults, sizeof defaults);
    r.length = r.force = r.time = r.pressure = 1.0;
    kd_status status = KD_OK;
    if (memchr(text, 0, length))
        return refuse_tyre(&r, "this is not a text (in UTF-16? it must be saved as UTF-8)", "");
    while (status == KD_OK && kd_lines_next(&r.lines, line, sizeof line)) status = take_line(&r, line);
    if (status == KD_OK) status = find_version(&r);
    if (status == KD_OK) convert(&r);
    return status == KD_OK ? check(&r) : status;
}

kd_status kd_tir_read(const char *path, kd_tir *tir, char *message, size_t size)
{
    char     *text = NULL;
    size_t    length;
    kd_status status = kd_load_file(path, KD_TIR_MAX_BYTES, &text, &length, message, size);
    if (status == KD_OK && length > KD_TIR_MAX_BYTES) {
        kd_text(message, size, "%s: a tyre file of more than 1 MB", path);
        status = KD_ERR_FILE;
    }
    if (status == KD_OK) status = kd_tir_parse(path, text, length, tir, message, size);
    kd_free(text);
    return status;
}
