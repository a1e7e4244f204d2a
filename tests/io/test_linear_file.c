// Linear equations in files: the bytes of a MAT file, numbers and names of JSON and text.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/linear_file.h"
#include "project/command.h"

static const double      A[] = {0, -4, 1, -0.5}, B[] = {0, 2}, C[] = {1, 0}, D[] = {0}, T[] = {1, 0}, one[] = {1};
static const char *const states[] = {"q", "rate \"q\""};
static const char *const inputs[] = {"push"}, *const outputs[] = {"place"};

static kd_linear oscillator(void)
{
    return (kd_linear){.t = 1.5,
                       .nx = 2,
                       .nu = 1,
                       .ny = 1,
                       .A = A,
                       .B = B,
                       .C = C,
                       .D = D,
                       .state_name = states,
                       .input_name = inputs,
                       .output_name = outputs,
                       .T = T,
                       .increment_name = states,
                       .nv = 1,
                       .M = one,
                       .R_v = one,
                       .R_p = one,
                       .F = one,
                       .J = NULL};
}

// Find a variable of a MAT file of level 4; answers its values.
static const char *find(const char *data, size_t size, const char *name, int32_t header[5])
{
    for (size_t at = 0; at + 20 <= size;) {
        memcpy(header, data + at, 20);
        const char *found = data + at + 20, *values = found + header[4];
        if (strcmp(found, name) == 0) return values;
        at += 20 + (size_t)header[4] + 8 * (size_t)header[1] * (size_t)header[2];
    }
    return NULL;
}

// Sizes, names and numbers of a MAT file are where its format says, and nothing is behind the last one.
static void mat_file_has_its_format(void **state)
{
    (void)state;
    char     *data = NULL;
    size_t    size = 0;
    FILE     *file = open_memstream(&data, &size);
    kd_linear l = oscillator();
    kd_linear_write_mat(file, &l);
    fclose(file);
    int32_t     header[5] = {0};
    double      value[32];
    const char *found = find(data, size, "A", header);
    assert_non_null(found);
    assert_int_equal(header[0] % 1000, 0);
    assert_int_equal(header[1], 2);
    assert_int_equal(header[2], 2);
    memcpy(value, found, sizeof A);
    assert_memory_equal(value, A, sizeof A);
    found = find(data, size, "state_name", header);
    assert_non_null(found);
    assert_int_equal(header[0] % 1000, 1);
    assert_int_equal(header[1], 2);
    assert_int_equal(header[2], 8);
    memcpy(value, found, 16 * sizeof(double));
    assert_true(value[0] == 'q' && value[1] == 'r' && value[2] == ' ' && value[3] == 'a');
    assert_null(find(data, size, "E", header));
    found = find(data, size, "output_name", header);
    assert_ptr_equal(found + 8 * header[1] * header[2], data + size);
    free(data);
}

// JSON escapes names and has matrices by rows; the text lists names and matrices.
static void json_and_text(void **state)
{
    (void)state;
    char     *data = NULL;
    size_t    size = 0;
    FILE     *file = open_memstream(&data, &size);
    kd_linear l = oscillator();
    kd_linear_write_json(file, &l, NULL);
    kd_linear_write_text(file, &l);
    fclose(file);
    assert_non_null(strstr(data, "\"t\": 1.5"));
    assert_non_null(strstr(data, "\"states\": [\"q\", \"rate \\\"q\\\"\"]"));
    assert_non_null(strstr(data, "\"A\": [[0, 1],\n  [-4, -0.5]]"));
    assert_non_null(strstr(data, "  u1    push\n"));
    assert_non_null(strstr(data, "A (2 x 2)\n"));
    free(data);
}

// Octave reads the file, where it is installed.
static void octave_reads_it(void **state)
{
    (void)state;
    if (run_command("command -v octave").status != 0) skip();
    const char *path = KD_BINARY_DIR "/test-linear.mat";
    FILE       *file = fopen(path, "wb");
    assert_non_null(file);
    kd_linear l = oscillator();
    kd_linear_write_mat(file, &l);
    fclose(file);
    command_result result = run_command("octave --norc --quiet --eval \"load('" KD_BINARY_DIR "/test-linear.mat');"
                                        " printf('%g %g %s', A(2,1), B(2), strtrim(state_name(2,:)))\"");
    assert_non_null(strstr(result.text, "-4 2 rate \"q\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mat_file_has_its_format),
        cmocka_unit_test(json_and_text),
        cmocka_unit_test(octave_reads_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
