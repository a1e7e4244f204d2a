// tests/modelfile/files.h: models from texts, and whole files.
#ifndef KD_TEST_MODELFILE_FILES_H
#define KD_TEST_MODELFILE_FILES_H

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

// The content of a file with a zero byte behind it; free it.
static inline char *file_content(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t capacity = 1 << 16, used = 0;
    char  *text = malloc(capacity);
    assert_non_null(text);
    for (;;) {
        used += fread(text + used, 1, capacity - used - 1, file);
        if (used < capacity - 1) break;
        text = realloc(text, capacity *= 2);
        assert_non_null(text);
    }
    fclose(file);
    text[used] = '\0';
    if (length) *length = used;
    return text;
}

static inline kd_model *model_of_settings(const char *text, const kd_setting *settings, int nsettings)
{
    char      message[4000];
    kd_model *m = NULL;
    kd_status status = kd_model_read_text("test", text, strlen(text), settings, nsettings, &m, message, sizeof message);
    if (status != KD_OK) print_error("%s\n", message);
    assert_int_equal(status, KD_OK);
    assert_string_equal(message, "");
    return m;
}

// The model of a text that is right.
static inline kd_model *model_of(const char *text)
{
    return model_of_settings(text, NULL, 0);
}

static inline void assert_numbers(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) assert_true(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]));
}

static inline void assert_near(double a, double b)
{
    assert_true(a - b < 1e-14 && b - a < 1e-14);
}

#endif
