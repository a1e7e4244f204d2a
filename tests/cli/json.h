// json.h: is it JSON, and what does it say? For tests of what programs print. Include after cmocka.h.
#ifndef KD_TESTS_CLI_JSON_H
#define KD_TESTS_CLI_JSON_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void must_contain(const char *text, const char *part)
{
    if (!strstr(text, part)) print_error("missing: %s\nin: %s\n", part, text);
    assert_non_null(strstr(text, part));
}

static inline const char *skip_value(const char *c);

static inline const char *skip_space(const char *c)
{
    while (c && isspace((unsigned char)*c)) c++;
    return c;
}

static inline const char *skip_string(const char *c)
{
    if (*c != '"') return NULL;
    for (c++; *c && *c != '"'; c++) {
        if ((unsigned char)*c < 0x20) return NULL;
        if (*c == '\\' && !*++c) return NULL;
    }
    return *c == '"' ? c + 1 : NULL;
}

static inline const char *skip_object(const char *c)
{
    c = skip_space(c + 1);
    if (*c == '}') return c + 1;
    for (;;) {
        c = skip_space(skip_string(c));
        if (!c || *c != ':') return NULL;
        c = skip_space(skip_value(skip_space(c + 1)));
        if (!c) return NULL;
        if (*c == '}') return c + 1;
        if (*c != ',') return NULL;
        c = skip_space(c + 1);
    }
}

static inline const char *skip_array(const char *c)
{
    c = skip_space(c + 1);
    if (*c == ']') return c + 1;
    for (;;) {
        c = skip_space(skip_value(c));
        if (!c) return NULL;
        if (*c == ']') return c + 1;
        if (*c != ',') return NULL;
        c = skip_space(c + 1);
    }
}

// Behind the value at c; NULL: not JSON.
static inline const char *skip_value(const char *c)
{
    char *end;
    if (!c) return NULL;
    if (*c == '{') return skip_object(c);
    if (*c == '[') return skip_array(c);
    if (*c == '"') return skip_string(c);
    if (strncmp(c, "true", 4) == 0 || strncmp(c, "null", 4) == 0) return c + 4;
    if (strncmp(c, "false", 5) == 0) return c + 5;
    if (*c != '-' && !isdigit((unsigned char)*c)) return NULL; // no nan, no inf
    (void)strtod(c, &end);
    return end != c ? end : NULL;
}

static inline void must_be_json(const char *text)
{
    const char *end = skip_value(skip_space(text));
    if (!end || *skip_space(end)) print_error("not JSON: %s\n", text);
    assert_true(end && !*skip_space(end));
}

static inline double json_number(const char *text, const char *key)
{
    char pattern[100];
    snprintf(pattern, sizeof pattern, "\"%s\": ", key);
    const char *found = strstr(text, pattern);
    if (!found) print_error("no %s in %s\n", key, text);
    assert_non_null(found);
    return strtod(found + strlen(pattern), NULL);
}

static inline void must_be_null(const char *text, const char *key)
{
    char pattern[100];
    snprintf(pattern, sizeof pattern, "\"%s\": null", key);
    must_contain(text, pattern);
}

#endif
