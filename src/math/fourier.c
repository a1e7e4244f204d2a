// fourier.c: radix 2, decimation in time; spectra of channels.
#include "math/fourier.h"

#include <math.h>

#include "core/pi.h"

// Places with their bits reversed
static void reverse_bits(int n, double *re, double *im)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i >= j) continue;
        const double a = re[i], b = im[i];
        re[i] = re[j];
        im[i] = im[j];
        re[j] = a;
        im[j] = b;
    }
}

void kd_fourier(int n, double *re, double *im)
{
    reverse_bits(n, re, im);
    // butterflies: x_i + w^k x_j, x_i - w^k x_j, w = exp(-2 pi i / length)
    for (int length = 2; length <= n; length *= 2)
        for (int k = 0; k < length / 2; k++) {
            const double angle = -2.0 * KD_PI * k / length, c = cos(angle), s = sin(angle);
            for (int i = k; i < n; i += length) {
                const int    j = i + length / 2;
                const double x = c * re[j] - s * im[j], y = c * im[j] + s * re[j];
                re[j] = re[i] - x;
                im[j] = im[i] - y;
                re[i] += x;
                im[i] += y;
            }
        }
}

int kd_spectrum_points(int n)
{
    int points = 1;
    while (points <= n / 2) points *= 2;
    return points;
}

int kd_spectrum_length(int n)
{
    return n < 8 ? 0 : kd_spectrum_points(n) / 2 - 1;
}

void kd_spectrum(int n, const double *t, int tstride, const double *y, int ystride, double *work, double *f,
                 double *amplitude)
{
    const int    points = kd_spectrum_points(n);
    const double t0 = t[0], dt = (t[(n - 1) * tstride] - t0) / (points - 1);
    double      *re = work, *im = work + points, mean = 0.0;

    // values at even times, between two rows on a straight line
    for (int i = 0, k = 0; i < points; i++) {
        const double at = t0 + i * dt;
        while (k < n - 2 && t[(k + 1) * tstride] < at) k++;
        const double low = t[k * tstride], high = t[(k + 1) * tstride];
        const double part = high > low ? fmin(fmax((at - low) / (high - low), 0.0), 1.0) : 0.0;
        re[i] = y[k * ystride] + part * (y[(k + 1) * ystride] - y[k * ystride]);
        im[i] = 0.0;
        mean += re[i] / points;
    }
    // the window has the mean 1, so that amplitudes stay
    for (int i = 0; i < points; i++) re[i] = (re[i] - mean) * (1.0 - cos(2.0 * KD_PI * i / points));
    kd_fourier(points, re, im);
    for (int k = 1; k < points / 2; k++) {
        f[k - 1] = k / (points * dt);
        amplitude[k - 1] = 2.0 / points * hypot(re[k], im[k]);
    }
}
