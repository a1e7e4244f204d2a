// option.c: rows of options at work, see option.h. A row says where its value stands (offset into the structure of
// options), its type and its range; nothing here knows a single option by name.
#include "core/option.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/nearest.h"
#include "core/read_number.h"
#include "core/text.h"

static const char *const SWITCH[] = {"no", "yes", NULL}; // values 0 and 1

static const char *const *words_of(const kd_option *row)
{
    return row->type == KD_OPTION_SWITCH ? SWITCH : row->words;
}

static int count_words(const kd_option *row)
{
    int count = 0;
    for (const char *const *w = words_of(row); w && w[count];) count++;
    return count;
}

// ---- values ---------------------------------------------------------------------------------------------------------

double kd_option_number(const kd_option *row, const void *base)
{
    const void *at = (const char *)base + row->offset;
    switch (row->type) {
    case KD_OPTION_REAL:
        return *(const double *)at;
    case KD_OPTION_LONG:
        return (double)*(const long *)at;
    case KD_OPTION_SWITCH:
        return *(const bool *)at;
    case KD_OPTION_INT:
    case KD_OPTION_WORD:
        return *(const int *)at;
    case KD_OPTION_TEXT:
        break;
    }
    return NAN;
}

void kd_option_set_number(const kd_option *row, void *base, double value)
{
    void *at = (char *)base + row->offset;
    switch (row->type) {
    case KD_OPTION_REAL:
        *(double *)at = value;
        break;
    case KD_OPTION_LONG:
        *(long *)at = (long)value;
        break;
    case KD_OPTION_SWITCH:
        *(bool *)at = value != 0;
        break;
    case KD_OPTION_INT:
    case KD_OPTION_WORD:
        *(int *)at = (int)value;
        break;
    case KD_OPTION_TEXT:
        break;
    }
}

bool kd_option_same(const kd_option *row, const void *base, const void *other)
{
    if (row->type != KD_OPTION_TEXT) return kd_option_number(row, base) == kd_option_number(row, other);
    const char *a = *(const char *const *)((const char *)base + row->offset);
    const char *b = *(const char *const *)((const char *)other + row->offset);
    return a && b ? strcmp(a, b) == 0 : a == b;
}

void kd_options_reset(const kd_option *rows, int count, void *base)
{
    for (int i = 0; i < count; i++) {
        if (rows[i].type == KD_OPTION_TEXT)
            *(const char **)((char *)base + rows[i].offset) = NULL;
        else
            kd_option_set_number(&rows[i], base, rows[i].standard);
    }
}

bool kd_options_made(const void *options, unsigned cookie, const char *name, char *message, size_t size)
{
    if (!options || cookie == KD_OPTIONS_COOKIE) return true;
    kd_text(message, size, "%s do not start from %s_default", name, name);
    return false;
}

// ---- ranges ---------------------------------------------------------------------------------------------------------

const char *kd_option_range(const kd_option *row, char *buffer, size_t size)
{
    // an end that is infinite is not told
    const bool  low = row->least > -INFINITY, high = row->most < INFINITY;
    const char *from = row->above ? "above" : "at least", *to = row->below ? "below" : "at most";
    kd_text(buffer, size, "%s", "");
    if (words_of(row)) {
        for (int i = 0; i < count_words(row); i++)
            kd_text_append(buffer, size, "%s%s", i > 0 ? ", " : "", words_of(row)[i]);
    } else if (row->type == KD_OPTION_TEXT) {
        kd_text(buffer, size, "text");
    } else if (low && high && !row->above && !row->below) {
        // "2 to 5" where both ends belong to the range, else each end with its own word
        kd_text(buffer, size, "%g to %g", row->least, row->most);
    } else {
        if (low) kd_text_append(buffer, size, "%s %g", from, row->least);
        if (high) kd_text_append(buffer, size, "%s%s %g", low ? ", " : "", to, row->most);
        if (!low && !high) kd_text(buffer, size, "a number");
    }
    return buffer;
}

// Not a number is outside
static bool is_inside(const kd_option *row, double value)
{
    if (row->type == KD_OPTION_TEXT) return true;
    if (words_of(row)) return value >= 0 && value < count_words(row);
    return (row->above ? value > row->least : value >= row->least) &&
           (row->below ? value < row->most : value <= row->most);
}

kd_status kd_options_check(const kd_option *rows, int count, const void *base, char *message, size_t size)
{
    char range[200];
    for (int i = 0; i < count; i++) {
        const double value = rows[i].type == KD_OPTION_TEXT ? 0 : kd_option_number(&rows[i], base);
        if (is_inside(&rows[i], value)) continue;
        kd_text(message, size, "%s = %g must be %s%s", rows[i].name, value, words_of(&rows[i]) ? "one of " : "",
                kd_option_range(&rows[i], range, sizeof range));
        return KD_ERR_ARGUMENT;
    }
    return KD_OK;
}

// ---- text -----------------------------------------------------------------------------------------------------------

const char *kd_option_print(const kd_option *row, const void *base, char *buffer, size_t size)
{
    if (row->type == KD_OPTION_TEXT) {
        const char *text = *(const char *const *)((const char *)base + row->offset);
        kd_text(buffer, size, "%s", text ? text : "");
        return buffer;
    }
    const double value = kd_option_number(row, base);
    if (!words_of(row))
        kd_text(buffer, size, "%.12g", value);
    else
        kd_text(buffer, size, "%s", is_inside(row, value) ? words_of(row)[(int)value] : "unknown");
    return buffer;
}

static kd_status read_word(const kd_option *row, void *base, const char *text, char *message, size_t size)
{
    char range[200];
    for (int i = 0; i < count_words(row); i++)
        if (strcmp(text, words_of(row)[i]) == 0) return kd_option_set_number(row, base, i), KD_OK;
    if (row->type == KD_OPTION_SWITCH && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return kd_option_set_number(row, base, text[0] == 't'), KD_OK;
    const char *meant = kd_nearest_word(text, words_of(row), count_words(row));
    kd_text(message, size, "%s: '%s' is none of %s", row->name, text, kd_option_range(row, range, sizeof range));
    if (meant) kd_text_append(message, size, "; did you mean '%s'?", meant);
    return KD_ERR_ARGUMENT;
}

kd_status kd_option_read(const kd_option *row, void *base, const char *text, char *message, size_t size)
{
    char  range[200];
    char *end = NULL;
    if (row->type == KD_OPTION_TEXT) {
        *(const char **)((char *)base + row->offset) = text;
        return KD_OK;
    }
    if (words_of(row)) return read_word(row, base, text, message, size);
    const double value = kd_read_number(text, &end);
    const bool   whole = row->type != KD_OPTION_REAL;
    const char  *kind = whole ? "a whole number" : "a number";
    const double most = row->type == KD_OPTION_LONG ? (double)(1LL << 53) : INT_MAX;
    if (end == text || *end != '\0' || isnan(value) || (whole && (value != floor(value) || fabs(value) > most))) {
        kd_text(message, size, "%s: '%s' is not %s", row->name, text, kind);
        return KD_ERR_ARGUMENT;
    }
    if (!is_inside(row, value)) {
        kd_text(message, size, "%s = %s must be %s", row->name, text, kd_option_range(row, range, sizeof range));
        return KD_ERR_ARGUMENT;
    }
    kd_option_set_number(row, base, value);
    return KD_OK;
}
