// json.c: see json.h.
#include "core/json.h"

#include <math.h>
#include <string.h>

#include "core/base64.h"
#include "core/rounded.h"
#include "core/shortest.h"

// ---- where it goes --------------------------------------------------------------------------------------------------

static void put_raw(kd_json *json, const char *text, size_t length)
{
    if (json->file)
        (void)fwrite(text, 1, length, json->file);
    else
        kd_write_bytes(json->text, text, length);
}

static void put_word(kd_json *json, const char *text)
{
    put_raw(json, text, strlen(text));
}

// ---- values ---------------------------------------------------------------------------------------------------------

// What may not stand for itself: JSON's own, and in pages also what HTML would read
static bool is_escaped(const kd_json *json, unsigned char c)
{
    return c < 0x20 || strchr(json->in_page ? "\"\\<>&'" : "\"\\", c);
}

static void put_escape(kd_json *json, unsigned char c)
{
    char code[8];
    if (c == '"' || c == '\\')
        snprintf(code, sizeof code, "\\%c", c);
    else
        snprintf(code, sizeof code, "\\u%04x", (unsigned)c);
    put_word(json, code);
}

static void put_text(kd_json *json, const char *text)
{
    put_word(json, "\"");
    // runs of ordinary letters at once
    for (const char *c = text; *c;) {
        const char *start = c;
        while (*c && !is_escaped(json, (unsigned char)*c)) c++;
        put_raw(json, start, (size_t)(c - start));
        if (*c) put_escape(json, (unsigned char)*c++);
    }
    put_word(json, "\"");
}

static void put_number(kd_json *json, double value)
{
    char number[KD_ROUNDED_SIZE];
    if (!isfinite(value))
        put_word(json, json->none ? json->none : "null");
    else if (json->digits)
        put_word(json, kd_rounded_text(value, json->digits, number, sizeof number));
    else
        put_word(json, kd_shortest_text(value, number));
}

// ---- members --------------------------------------------------------------------------------------------------------

// Does a member, or the bracket that closes an object, begin a line?
static bool begins_line(const kd_json *json, int deepest)
{
    return json->depth > 0 &&
           (json->layout == KD_JSON_LINES || (json->layout != KD_JSON_LINE && json->depth <= deepest));
}

// A comma before all but the first, a new line for members and for objects in lists
static void put_separator(kd_json *json, bool is_item)
{
    if (json->follows) put_word(json, ",");
    if (!is_item && begins_line(json, 2))
        put_word(json, "\n");
    else if (json->follows && json->layout != KD_JSON_DENSE)
        put_word(json, " ");
    json->follows = true;
}

static void put_key(kd_json *json, const char *key)
{
    put_separator(json, !key);
    if (!key) return;
    put_text(json, key);
    put_word(json, json->layout == KD_JSON_DENSE ? ":" : ": ");
}

static void open(kd_json *json, const char *key, const char *bracket)
{
    if (key)
        put_key(json, key);
    else
        put_separator(json, false);
    put_word(json, bracket);
    json->depth++;
    json->follows = false;
}

static void close(kd_json *json, const char *bracket)
{
    put_word(json, bracket);
    json->depth--;
    json->follows = true;
}

void kd_json_open(kd_json *json, const char *key)
{
    open(json, key, "{");
}

void kd_json_close(kd_json *json)
{
    close(json, begins_line(json, 1) ? "\n}" : "}");
}

void kd_json_list(kd_json *json, const char *key)
{
    open(json, key, "[");
}

void kd_json_list_close(kd_json *json)
{
    close(json, "]");
}

void kd_json_text(kd_json *json, const char *key, const char *value)
{
    put_key(json, key);
    if (value)
        put_text(json, value);
    else
        put_word(json, "null");
}

void kd_json_number(kd_json *json, const char *key, double value)
{
    put_key(json, key);
    put_number(json, value);
}

void kd_json_count(kd_json *json, const char *key, long value)
{
    char number[24];
    snprintf(number, sizeof number, "%ld", value);
    kd_json_raw(json, key, number);
}

void kd_json_bool(kd_json *json, const char *key, bool value)
{
    kd_json_raw(json, key, value ? "true" : "false");
}

void kd_json_raw(kd_json *json, const char *key, const char *value)
{
    put_key(json, key);
    put_word(json, value);
}

// ---- lists of one kind ----------------------------------------------------------------------------------------------

// The bracket before the first one, a comma before the others
static void put_between(kd_json *json, int i)
{
    put_word(json, i == 0 ? "[" : json->layout == KD_JSON_DENSE ? "," : ", ");
}

void kd_json_texts(kd_json *json, const char *key, const char *const *values, int n)
{
    put_key(json, key);
    for (int i = 0; i < n; i++) {
        put_between(json, i);
        put_text(json, values[i]);
    }
    put_word(json, n > 0 ? "]" : "[]");
}

void kd_json_numbers(kd_json *json, const char *key, const double *values, int n)
{
    put_key(json, key);
    for (int i = 0; i < n; i++) {
        put_between(json, i);
        put_number(json, values[i]);
    }
    put_word(json, n > 0 ? "]" : "[]");
}

void kd_json_counts(kd_json *json, const char *key, const int *values, int n)
{
    char number[24];
    put_key(json, key);
    for (int i = 0; i < n; i++) {
        put_between(json, i);
        snprintf(number, sizeof number, "%d", values[i]);
        put_word(json, number);
    }
    put_word(json, n > 0 ? "]" : "[]");
}

void kd_json_bytes(kd_json *json, const char *key, const unsigned char *bytes, size_t n)
{
    enum { PART = 3 * 64 };
    char digit[4 * (PART / 3)];
    put_key(json, key);
    put_word(json, "\"");
    for (size_t i = 0; i < n; i += PART) put_raw(json, digit, kd_base64(bytes + i, n - i < PART ? n - i : PART, digit));
    put_word(json, "\"");
}
