// The Fourier transform against its definition, and spectra against oscillations that are known.
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/pi.h"
#include "math/fourier.h"

// Random numbers: the sum of the definition, for all powers of two up to 64.
static void transform_is_its_definition(void **state)
{
    (void)state;
    for (int n = 1; n <= 64; n *= 2) {
        double         re[64], im[64];
        double complex x[64];
        for (int i = 0; i < n; i++) {
            re[i] = rand() / (double)RAND_MAX - 0.5;
            im[i] = rand() / (double)RAND_MAX - 0.5;
            x[i] = re[i] + I * im[i];
        }
        kd_fourier(n, re, im);
        for (int k = 0; k < n; k++) {
            double complex sum = 0;
            for (int j = 0; j < n; j++) sum += x[j] * cexp(-2.0 * I * KD_PI * (double)j * k / n);
            assert_true(cabs(sum - (re[k] + I * im[k])) < 1e-13 * n);
        }
    }
}

// Two sines and a constant on rows that are not even in time: amplitudes at their frequencies, nothing elsewhere.
static void oscillations_are_found(void **state)
{
    (void)state;
    enum { N = 5000 };
    static double row[N][2], work[2 * 4096], f[2047], amplitude[2047];
    const double  span = 4.0, f1 = 20 / (span * 4096 / 4095), f2 = 150 / (span * 4096 / 4095);
    for (int i = 0; i < N; i++) {
        const double x = (double)i / (N - 1), t = span * (x + 0.02 * x * (1 - x));
        row[i][0] = t;
        row[i][1] = 3 + 2 * sin(2 * KD_PI * f1 * t) + 0.5 * cos(2 * KD_PI * f2 * t);
    }
    assert_int_equal(kd_spectrum_points(N), 4096);
    assert_int_equal(kd_spectrum_length(N), 2047);
    kd_spectrum(N, row[0], 2, row[0] + 1, 2, work, f, amplitude);
    for (int k = 0; k < 2047; k++) {
        const int at = k + 1; // the window has a third of its lines beside each
        if (abs(at - 20) > 2 && abs(at - 150) > 2) assert_true(amplitude[k] < 5e-3);
    }
    assert_true(fabs(f[19] - f1) < 1e-9 && fabs(amplitude[19] - 2.0) < 1e-3);
    assert_true(fabs(f[149] - f2) < 1e-9 && fabs(amplitude[149] - 0.5) < 5e-3);
    assert_int_equal(kd_spectrum_length(7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transform_is_its_definition),
        cmocka_unit_test(oscillations_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
