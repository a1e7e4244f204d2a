// markup.h: does a text have balanced XML elements and quoted attributes? Enough to catch broken SVG and HTML.
#ifndef KD_TESTS_MARKUP_H
#define KD_TESTS_MARKUP_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Elements without end tag in HTML
static inline bool is_void_element(const char *name)
{
    return strcmp(name, "meta") == 0 || strcmp(name, "br") == 0;
}

// First complaint about the markup in fault; true if there is none.
static inline bool markup_is_sound(const char *text, char *fault, size_t size)
{
    char stack[64][32];
    int  depth = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '&') { // an entity
            const char *end = strchr(c, ';');
            if (!end || end - c > 8) return snprintf(fault, size, "bare & at: %.40s", c), false;
        }
        if (*c == '>') return snprintf(fault, size, "bare > at: %.40s", c), false;
        if (*c != '<') continue;
        const char *end = c + 1;
        for (bool quoted = false; *end && (quoted || *end != '>'); end++) {
            if (*end == '"') quoted = !quoted;
            if (*end == '<') return snprintf(fault, size, "bare < at: %.40s", c), false;
        }
        if (!*end) return snprintf(fault, size, "open tag at: %.40s", c), false;
        if (c[1] != '?' && c[1] != '!') {
            bool   closes = c[1] == '/';
            char   name[32];
            size_t n = 0;
            for (const char *k = c + 1 + closes; isalnum((unsigned char)*k) && n < sizeof name - 1; k++) name[n++] = *k;
            name[n] = '\0';
            if (closes) {
                if (depth == 0 || strcmp(stack[depth - 1], name) != 0)
                    return snprintf(fault, size, "</%s> closes nothing: %.40s", name, c), false;
                depth--;
            } else if (end[-1] != '/' && !is_void_element(name)) {
                if (depth == 64) return snprintf(fault, size, "too deep"), false;
                strcpy(stack[depth++], name);
            }
            if ((strcmp(name, "style") == 0 || strcmp(name, "script") == 0) && !closes) { // raw text
                end = strstr(end, name[1] == 't' ? "</style" : "</script");
                if (!end) return snprintf(fault, size, "open %s", name), false;
                end--;
            }
        }
        c = end;
    }
    if (depth > 0) return snprintf(fault, size, "<%s> is not closed", stack[depth - 1]), false;
    return true;
}

// A picture must be sound, and all its numbers finite. Include after cmocka.h.
#define must_be_a_picture(text)                                                                                        \
    do {                                                                                                               \
        char fault_[200];                                                                                              \
        if (!markup_is_sound(text, fault_, sizeof fault_)) fail_msg("%s", fault_);                                     \
        assert_null(strstr(text, "nan"));                                                                              \
        assert_null(strstr(text, "inf"));                                                                              \
    } while (0)

static inline int count_words(const char *text, const char *word)
{
    int n = 0;
    for (const char *c = strstr(text, word); c; c = strstr(c + 1, word)) n++;
    return n;
}

#endif
