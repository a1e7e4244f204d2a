// math/fourier.h: the discrete Fourier transform of a channel.
#ifndef KD_MATH_FOURIER_H
#define KD_MATH_FOURIER_H

// In place, n a power of two: X_k = sum_j x_j exp(-2 pi i j k / n), by Cooley and Tukey.
void kd_fourier(int n, double *re, double *im);

// Amplitudes of oscillations in y over t (n values, t rising, with those strides): the mean is taken away, the channel
// put onto even times by straight lines and a Hann window laid over it. f, amplitude (kd_spectrum_length(n) each):
// frequencies above 0 and amplitudes: a sine of amplitude 1 whose frequency is one of them has 1 there.
// work: (2 kd_spectrum_points(n)).
int  kd_spectrum_points(int n); // the largest power of two that is not above n
int  kd_spectrum_length(int n); // 0: too few values
void kd_spectrum(int n, const double *t, int tstride, const double *y, int ystride, double *work, double *f,
                 double *amplitude);

#endif
