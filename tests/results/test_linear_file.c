// Linear equations in files: numbers and names of JSON and text.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "results/linear_file.h"
#include "results/linear_oscillator.h"

// JSON escapes names and has matrices by rows; the text lists names and matrices.
static void json_and_text(void **state)
{
    (void)state;
    char     *data = NULL;
    size_t    size = 0;
    FILE     *file = open_memstream(&data, &size);
    kd_linear l = oscillator();
    kd_linear_write_json(file, &l, NULL, NULL);
    kd_linear_write_text(file, &l);
    fclose(file);
    assert_non_null(strstr(data, "\"t\": 1.5"));
    assert_non_null(strstr(data, "\"states\": [\"q\", \"rate \\\"q\\\"\"]"));
    assert_non_null(strstr(data, "\"A\": [\n[0, 1],\n[-4, -0.5]]"));
    assert_non_null(strstr(data, "  u1    push\n"));
    assert_non_null(strstr(data, "A (2 x 2)\n"));
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_and_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
