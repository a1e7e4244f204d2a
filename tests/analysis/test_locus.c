// Root locus: critical values of families of eigenvalues that are known.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>

#include "analysis/locus.h"
#include "core/failing_allocator.h"

// A free coordinate, a mode that grows from 0.3 on and one that grows up to -0.25; by magnitude
typedef struct family {
    double   real[4], imaginary[4], frequency[4];
    kd_modes modes;
    int      asked;
} family;

static const kd_modes *modes_at(double value, void *context)
{
    family      *f = context;
    const double growth[4] = {1e-12, -1e-12, value * value * value - 0.027, -0.25 - value};
    const double omega[4] = {0, 0, 2, 5};
    for (int i = 0; i < 4; i++) {
        f->real[i] = growth[i];
        f->imaginary[i] = omega[i];
        f->frequency[i] = hypot(growth[i], omega[i]) / 6.283185307179586;
    }
    f->modes = (kd_modes){.n = 4, .real = f->real, .imaginary = f->imaginary, .frequency = f->frequency};
    f->asked++;
    return &f->modes;
}

static void describe(int mode, void *context, char *text, size_t size)
{
    (void)context;
    snprintf(text, size, "mode %d", mode);
}

static kd_locus *locus_of(family *f, double from, double to, int n)
{
    kd_locus *locus;
    assert_int_equal(kd_locus_create(n, &locus), KD_OK);
    for (int i = 0; i < n; i++) {
        const double value = from + (to - from) * i / (n - 1);
        assert_int_equal(kd_locus_add(locus, value, modes_at(value, f)), KD_OK);
    }
    return locus;
}

// Both critical values are found to rounding, with their modes and sides; free coordinates are no modes.
static void critical_values_are_found(void **state)
{
    (void)state;
    static kd_critical list[KD_LOCUS_CRITICAL];
    for (int turned = 0; turned < 2; turned++) {
        family                f = {.asked = 0};
        const kd_locus_source source = {modes_at, describe, &f};
        kd_locus             *locus = locus_of(&f, turned ? 1 : -1, turned ? -1 : 1, 12);
        f.asked = 0;
        assert_int_equal(kd_locus_find_critical(locus, &source, list), 2);
        const kd_critical *upper = &list[turned ? 0 : 1], *lower = &list[turned ? 1 : 0];
        assert_true(fabs(upper->value - 0.3) < 1e-12 && upper->grows_above);
        assert_true(fabs(lower->value + 0.25) < 1e-12 && !lower->grows_above);
        assert_true(fabs(upper->frequency - 2 / 6.283185307179586) < 1e-9);
        assert_string_equal(upper->mode, "mode 2");
        assert_string_equal(lower->mode, "mode 3");
        assert_true(f.asked < 40);
        kd_locus_destroy(locus);
    }
}

// Every eigenvalue is a point with a gap behind it.
static void points_have_gaps(void **state)
{
    (void)state;
    family        f = {.asked = 0};
    const double *real, *imaginary;
    kd_locus     *locus = locus_of(&f, 0, 1, 3);
    assert_int_equal(kd_locus_points(locus, &real, &imaginary), 24);
    assert_true(imaginary[4] == 2 && imaginary[6] == 5 && isnan(real[5]) && isnan(imaginary[7]));
    assert_int_equal(kd_locus_slowest(modes_at(0.5, &f)), 2);
    assert_int_equal(kd_locus_slowest(modes_at(-0.5, &f)), 3);
    assert_int_equal(kd_locus_add(locus, 2, modes_at(2, &f)), KD_ERR_ARGUMENT);
    kd_locus_destroy(locus);
}

// Where the model does not exist on the way there is no critical value.
static const kd_modes *nothing_at(double value, void *context)
{
    (void)value, (void)context;
    return NULL;
}

static void missing_modes_are_left_out(void **state)
{
    (void)state;
    static kd_critical    list[KD_LOCUS_CRITICAL];
    family                f = {.asked = 0};
    const kd_locus_source source = {nothing_at, describe, &f};
    kd_locus             *locus = locus_of(&f, 0, 1, 3);
    assert_int_equal(kd_locus_find_critical(locus, &source, list), 0);
    kd_locus_destroy(locus);
}

// An allocation that fails is told and loses nothing that was added before.
static void memory_failures_are_reported(void **state)
{
    (void)state;
    failing_allocator allocator = {0};
    family            f = {.asked = 0};
    bool              done = false;
    failing_allocator_use(&allocator);
    for (long k = 1; k < 50 && !done; k++) {
        kd_locus *locus;
        allocator = (failing_allocator){.fail_at = k};
        kd_status status = kd_locus_create(3, &locus);
        for (int i = 0; i < 3 && status >= 0; i++) status = kd_locus_add(locus, i, modes_at(i, &f));
        done = status >= 0;
        if (!done) assert_int_equal(status, KD_ERR_MEMORY);
        kd_locus_destroy(locus);
        assert_int_equal(allocator.live, 0);
    }
    kd_set_allocator(NULL);
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(critical_values_are_found),
        cmocka_unit_test(points_have_gaps),
        cmocka_unit_test(missing_modes_are_left_out),
        cmocka_unit_test(memory_failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
