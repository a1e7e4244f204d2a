// Linear equations as MAT file: matio and Octave read back what was written.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#ifdef KD_WITH_MATIO
#include <matio.h>
#endif

#include "project/command.h"
#include "results/linear_file.h"
#include "results/linear_oscillator.h"

#define PATH KD_BINARY_DIR "/test-linear.mat"

#ifdef KD_WITH_MATIO

static const double real[] = {-0.25, -0.25}, imaginary[] = {1.98431, -1.98431}, frequency[] = {0.3, 0.3};

static kd_modes modes_of_it(void)
{
    return (kd_modes){.n = 2, .real = real, .imaginary = imaginary, .frequency = frequency, .damping = frequency};
}

static void save(const kd_linear *l, const kd_modes *m)
{
    char message[500] = "";
    if (kd_linear_save_mat(PATH, l, m, message, sizeof message) != KD_OK) fail_msg("%s", message);
}

static matvar_t *must_have(mat_t *mat, const char *name, enum matio_classes kind, size_t rows, size_t columns)
{
    matvar_t *found = Mat_VarRead(mat, name);
    if (!found) fail_msg("%s is missing", name);
    assert_int_equal(found->class_type, kind);
    assert_int_equal(found->rank, 2);
    assert_int_equal(found->dims[0], rows);
    assert_int_equal(found->dims[1], columns);
    return found;
}

static void must_be(mat_t *mat, const char *name, size_t rows, size_t columns, const double *value)
{
    matvar_t *found = must_have(mat, name, MAT_C_DOUBLE, rows, columns);
    if (rows * columns > 0) assert_memory_equal(found->data, value, rows * columns * sizeof *value);
    Mat_VarFree(found);
}

static void must_name(mat_t *mat, const char *name, size_t n, const char *const *lines)
{
    matvar_t *found = must_have(mat, name, MAT_C_CELL, n, 1);
    for (size_t i = 0; i < n; i++) {
        matvar_t *cell = Mat_VarGetCell(found, (int)i);
        assert_non_null(cell);
        assert_int_equal(cell->class_type, MAT_C_CHAR);
        assert_int_equal(cell->dims[1], strlen(lines[i]));
        assert_memory_equal(cell->data, lines[i], strlen(lines[i]));
    }
    Mat_VarFree(found);
}

// All matrices, names and eigenvalues come back bit by bit, and no draft stays.
static void matio_reads_it(void **state)
{
    (void)state;
    const kd_linear l = oscillator();
    const kd_modes  m = modes_of_it();
    save(&l, &m);
    mat_t *mat = Mat_Open(PATH, MAT_ACC_RDONLY);
    assert_non_null(mat);
    assert_int_equal(Mat_GetVersion(mat), MAT_FT_MAT5);
    must_be(mat, "t", 1, 1, &l.t);
    must_be(mat, "A", 2, 2, A);
    must_be(mat, "B", 2, 1, B);
    must_be(mat, "C", 1, 2, C);
    must_be(mat, "D", 1, 1, D);
    must_be(mat, "T", 1, 2, T);
    must_be(mat, "M", 1, 1, one);
    must_be(mat, "J", 0, 1, NULL);
    must_name(mat, "state_name", 2, states);
    must_name(mat, "input_name", 1, inputs);
    must_name(mat, "output_name", 1, outputs);
    matvar_t *values = must_have(mat, "eigenvalues", MAT_C_DOUBLE, 2, 1);
    assert_true(values->isComplex);
    mat_complex_split_t *parts = values->data;
    assert_memory_equal(parts->Re, real, sizeof real);
    assert_memory_equal(parts->Im, imaginary, sizeof imaginary);
    Mat_VarFree(values);
    assert_null(Mat_VarRead(mat, "E"));
    Mat_Close(mat);
    assert_int_equal(run_command("ls '" KD_BINARY_DIR "' | grep -q 'test-linear.mat.'").status, 1);
}

// Without inputs and outputs the matrices are empty, and the columns of names, too.
static void empty_ones_stay_empty(void **state)
{
    (void)state;
    kd_linear l = oscillator();
    l.nu = l.ny = 0;
    save(&l, NULL);
    mat_t *mat = Mat_Open(PATH, MAT_ACC_RDONLY);
    assert_non_null(mat);
    must_be(mat, "A", 2, 2, A);
    must_be(mat, "B", 2, 0, NULL);
    must_be(mat, "D", 0, 0, NULL);
    Mat_VarFree(must_have(mat, "input_name", MAT_C_CELL, 0, 1));
    assert_null(Mat_VarRead(mat, "eigenvalues"));
    Mat_Close(mat);
}

// A folder that is not there and a full disk are told, and leave nothing behind.
static void failures_are_told(void **state)
{
    (void)state;
    const kd_linear l = oscillator();
    char            message[500] = "";
    assert_int_equal(kd_linear_save_mat("/no/such/folder/x.mat", &l, NULL, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "/no/such/folder/x.mat"));
    if (run_command("test -w /dev/full").status != 0) skip();
    assert_int_equal(kd_linear_save_mat("/dev/full", &l, NULL, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "/dev/full"));
}

// Octave reads numbers and names, where it is installed.
static void octave_reads_it(void **state)
{
    (void)state;
    if (run_command("command -v octave-cli").status != 0) skip();
    kd_linear      l = oscillator();
    const kd_modes m = modes_of_it();
    save(&l, &m);
    command_result result = run_command("octave-cli --norc --quiet --eval \"load('" PATH "');"
                                        " printf('%g %g %s %g', A(2,1), B(2), state_name{2}, imag(eigenvalues(1)))\"");
    if (!strstr(result.text, "-4 2 rate \"q\" 1.98431")) fail_msg("%s", result.text);
    l.nu = l.ny = 0;
    save(&l, NULL);
    result = run_command("octave-cli --norc --quiet --eval \"load('" PATH "');"
                         " printf('%d %d %d', size(B), numel(input_name))\"");
    if (!strstr(result.text, "2 0 0")) fail_msg("%s", result.text);
}

#else

// Without the library the answer says which package is missing.
static void refusal_names_the_package(void **state)
{
    (void)state;
    const kd_linear l = oscillator();
    char            message[500] = "";
    assert_int_equal(kd_linear_save_mat(PATH, &l, NULL, message, sizeof message), KD_ERR_UNAVAILABLE);
    assert_non_null(strstr(message, "libmatio-dev"));
    assert_false(kd_linear_has_mat());
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef KD_WITH_MATIO
        cmocka_unit_test(matio_reads_it),
        cmocka_unit_test(empty_ones_stay_empty),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(octave_reads_it),
#else
        cmocka_unit_test(refusal_names_the_package),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
