// schema_check.c: values of fields against the schema: ranges, texts, lengths, orientations; names.
#include "model/schema.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "model/element.h"
#include "model/fields.h"

// "'mass' must be positive, but is 0"
static bool complain_range(const kd_field *field, int i, int n, double value, char *message, size_t size)
{
    // "between", "positive", "greater than", "at least": by the ends of the range
    kd_range r = field->range;
    kd_text(message, size, "'%s' ", field->key);
    if (n > 1) kd_text_append(message, size, "number %d ", i + 1);
    if (!isinf(r.min) && !isinf(r.max)) {
        kd_text_append(message, size, "must be between %g and %g", r.min, r.max);
    } else if (r.open) {
        kd_text_append(message, size, r.min == 0 ? "must be positive" : "must be greater than %g", r.min);
    } else {
        kd_text_append(message, size, "must be at least %g", r.min);
    }
    kd_text_append(message, size, ", but is %g", value);
    return false;
}

static bool check_numbers(const kd_field *field, int n, const double *a, char *message, size_t size)
{
    for (int i = 0; i < n; i++) {
        // not given is allowed where NaN means that
        if (isnan(a[i]) && (field->flags & KD_FIELD_MAYBE)) continue;
        if (isnan(a[i]) || (isinf(a[i]) && !(field->flags & KD_FIELD_INFINITE))) {
            kd_text(message, size, "'%s' is not finite", field->key);
            return false;
        }
        bool low = field->range.open ? a[i] <= field->range.min : a[i] < field->range.min;
        if (low || a[i] > field->range.max) return complain_range(field, i, n, a[i], message, size);
    }
    return true;
}

static bool check_text(const kd_field *field, const char *text, char *message, size_t size)
{
    if (!text && !(field->flags & KD_FIELD_REQUIRED)) return true;
    if (!text) {
        kd_text(message, size, "'%s' is missing", field->key);
        return false;
    }
    if (!field->words) return true;
    // one of the words, or what was probably meant, or all of them
    int count = 0;
    for (; field->words[count]; count++) {
        if (strcmp(field->words[count], text) == 0) return true;
    }
    const char *nearest = kd_nearest_word(text, field->words, count);
    kd_text(message, size, "'%s' cannot be '%.40s'", field->key, text);
    if (nearest) {
        kd_text_append(message, size, ", did you mean '%s'?", nearest);
        return false;
    }
    kd_text_append(message, size, "; possible are");
    for (int i = 0; i < count; i++) kd_text_append(message, size, "%s %s", i > 0 ? "," : "", field->words[i]);
    return false;
}

// 0 is allowed where the field is not required
static bool check_length(const kd_field *field, int n, char *message, size_t size)
{
    if (n >= 0 && n <= field->count && (n > 0 || !(field->flags & KD_FIELD_REQUIRED))) return true;
    if (n == 0)
        kd_text(message, size, "'%s' is missing", field->key);
    else
        kd_text(message, size, "'%s' has %d entries, at most %d are possible", field->key, n, field->count);
    return false;
}

// Expressions that are there, with names where they need them
static bool check_signals(const kd_field *field, int n, const char *const *law, const char *const *name, char *message,
                          size_t size)
{
    if (!check_length(field, n, message, size)) return false;
    for (int i = 0; i < n; i++) {
        // a text must be there, and a name where the field is always named
        const bool unnamed = (field->flags & KD_FIELD_NAMED) && !name[i];
        if (law[i] && !unnamed) continue;
        kd_text(message, size, "'%s' number %d %s", field->key, i + 1, law[i] ? "has no name" : "is missing");
        return false;
    }
    return true;
}

// "'from': ..." in front of a complaint about a part
static bool check_part(const kd_field *field, kd_schema_id id, const void *part, char *message, size_t size)
{
    char why[300] = "";
    if (!kd_schema_check(kd_schema_of(id), part, why, sizeof why)) return true;
    kd_text(message, size, "'%s': %s", field->key, why);
    return false;
}

// norm 1 up to the digits of a file
static bool check_orientation(const kd_field *field, const double *q, char *message, size_t size)
{
    if (!check_numbers(field, 4, q, message, size)) return false;
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (fabs(n - 1.0) <= 1e-3) return true; // as far as numbers in a file are rounded; used after normalisation
    kd_text(message, size, "'%s' is no unit quaternion: its norm is %g", field->key, n);
    return false;
}

// an index of its list of words
static bool check_word(const kd_field *field, const char *at, char *message, size_t size)
{
    int value, count = 0;
    memcpy(&value, at, sizeof value);
    while (field->words[count]) count++;
    if (value >= 0 && value < count) return true;
    kd_text(message, size, "'%s' is %d, which has no meaning", field->key, value);
    return false;
}

// a list of parts, each of so many bytes
static bool check_parts(const kd_field *field, kd_schema_id part, int length, const char *at, size_t bytes,
                        char *message, size_t size)
{
    if (!check_length(field, length, message, size)) return false;
    for (int i = 0; i < length; i++)
        if (!check_part(field, part, at + (size_t)i * bytes, message, size)) return false;
    return true;
}

bool kd_field_check(const kd_field *field, int kind, const void *def, char *message, size_t size)
{
    // where the field is in the definition, and how many entries it has
    const char *at = (const char *)def + field->offset;
    int         length = 0;
    if (field->length) memcpy(&length, (const char *)def + field->length, sizeof length);
    switch (field->type) {
    case KD_FIELD_NUMBER:
    case KD_FIELD_INERTIA:
    case KD_FIELD_MATRIX:
        return check_numbers(field, kd_field_count(field, kind), (const double *)(const void *)at, message, size);
    case KD_FIELD_INTEGER: {
        int value;
        memcpy(&value, at, sizeof value);
        return check_numbers(field, 1, &(double){value}, message, size);
    }
    case KD_FIELD_WORD:
        return check_word(field, at, message, size);
    case KD_FIELD_TEXT:
    case KD_FIELD_NAME:
    case KD_FIELD_LAW:
        return check_text(field, *(const char *const *)(const void *)at, message, size);
    case KD_FIELD_ORIENTATION:
        return check_orientation(field, (const double *)(const void *)at, message, size);
    case KD_FIELD_PLACE:
        return check_part(field, KD_SCHEMA_PLACE, at, message, size);
    case KD_FIELD_PLACES:
        return check_parts(field, KD_SCHEMA_PLACE, length, at, sizeof(kd_place), message, size);
    case KD_FIELD_SHAPES:
        return check_parts(field, KD_SCHEMA_SHAPE, length, at, sizeof(kd_shape), message, size);
    case KD_FIELD_PATHS:
        return check_length(field, length, message, size);
    case KD_FIELD_TERMS: {
        const double *factor = (const double *)(const void *)((const char *)def + field->second);
        return check_length(field, length, message, size) && check_numbers(field, length, factor, message, size);
    }
    case KD_FIELD_SAMPLES: {
        const double *samples = *(const double *const *)(const void *)at;
        if (length > 0 && samples) return check_numbers(field, length, samples, message, size);
        kd_text(message, size, "'%s' is missing", field->key);
        return false;
    }
    case KD_FIELD_SIGNALS:
        return check_signals(field, length, (const char *const *)(const void *)at,
                             (const char *const *)(const void *)((const char *)def + field->second), message, size);
    case KD_FIELD_STARTS:
        if (length < 0 || length > field->count) return check_length(field, length, message, size);
        return check_numbers(field, length, (const double *)(const void *)at, message, size);
    case KD_FIELD_ROWS: {
        const double *matrix = *(const double *const *)(const void *)at;
        int           columns;
        memcpy(&columns, (const char *)def + field->second, sizeof columns);
        if (matrix) return check_numbers(field, length * columns, matrix, message, size);
        kd_text(message, size, "'%s' is missing", field->key);
        return !(field->flags & KD_FIELD_REQUIRED);
    }
    case KD_FIELD_NEXT: // may be missing, all of them
    case KD_FIELD_BOOLEAN:
    case KD_FIELD_TYPE_COUNT:
        break;
    }
    return true;
}

const kd_field *kd_schema_check(const kd_schema *schema, const void *def, char *message, size_t size)
{
    // the kind first: fields depend on it
    const int  kind = kd_schema_kind_of(schema, def);
    const bool known = kind >= 0 && kind < schema->nkinds;
    if (!known || (kd_schema_has_kinds(schema) && !kd_schema_word(schema, kind)->word)) {
        kd_text(message, size, "kind %d of a %s has no meaning", kind, schema->singular);
        return kd_schema_field_at(schema, 0, 0);
    }
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        if (kd_field_has(field, kind) && !kd_field_check(field, kind, def, message, size)) return field;
    }
    return NULL;
}

// ---- names ----------------------------------------------------------------------------------------------------------

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool kd_name_check(const char *name, char *message, size_t size)
{
    const char *c = name;
    // length, first letter, the rest
    if (strlen(name) > 100) {
        kd_text(message, size, "the name '%.20s...' is longer than 100 characters", name);
        return false;
    }
    if (!is_letter(*c)) {
        kd_text(message, size, "the name '%s' must start with a letter", name);
        return false;
    }
    while (is_letter(*c) || is_digit(*c) || *c == '-') c++;
    // an index: "wheel(2,1)"
    if (*c == '(') {
        do {
            c++;
            if (!is_digit(*c)) c = ""; // nothing between the commas
            while (is_digit(*c)) c++;
        } while (*c == ',');
        if (c[0] == ')' && c[1] == '\0') return true;
        kd_text(message, size, "the index in the name '%s' must be whole numbers in parentheses, from 0 on", name);
        return false;
    }
    if (*c == '\0') return true;
    kd_text(message, size, "the name '%s' must consist of letters, digits, '_' and '-'", name);
    return false;
}

bool kd_name_check_parts(const char *name, char *message, size_t size)
{
    char part[KD_MAX_NAME + 1];
    if (!strchr(name, '.')) return kd_name_check(name, message, size);
    if (strlen(name) > KD_MAX_NAME) {
        kd_text(message, size, "the name '%.20s...' is longer than %d characters", name, KD_MAX_NAME);
        return false;
    }
    for (const char *c = name;; c++) {
        const size_t n = strcspn(c, ".");
        kd_text(part, sizeof part, "%.*s", (int)n, c);
        if (!kd_name_check(part, message, size)) return false;
        c += n;
        if (*c == '\0') return true;
    }
}
