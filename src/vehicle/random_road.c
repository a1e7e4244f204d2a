// random_road.c: random roads by ISO 8608 (Mechanical vibration - Road surface profiles, 2016), with seed.
//
// The one-sided spectral density of heights over the wave number n [cycles/m] is G(n) = G(0.1) (n/0.1)^-w; a road of the
// length L is a sum over n_k = k/L between the least and the largest wave number,
//
//     z_j(x) = sum_k sqrt(2 G(n_k)/L) (a_jk cos(2 pi n_k x) + b_jk sin(2 pi n_k x))
//
// periodic with L. On the first track (a, b) is a unit vector of random direction, so that its periodogram is G exactly,
// for every seed. Tracks of a road that looks alike in all directions share x K_1(x) of each wave, x = 2 pi n d, d their
// distance (C. J. Dodds, J. D. Robson, The description of road surface roughness, J. Sound Vib. 31, 1973, for w = 2):
// (a, b) of the tracks are mixed by the Cholesky factor of this correlation.
#include "vehicle/random_road.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/pi.h"
#include "math/random.h"

#define REFERENCE 0.1 // wave number of the roughness [1/m]
enum { MAX_POINTS = 4000000, RESTART = 256 };

double kd_road_roughness(int class)
{
    return 16e-6 * pow(4.0, class);
}

int kd_random_road_waves(const kd_random_road *r)
{
    return (int)(floor(r->most * r->length + 1e-9) - ceil(r->least * r->length - 1e-9)) + 1;
}

int kd_random_road_points(const kd_random_road *r)
{
    const double n = r->length / r->step;
    const bool   fits = r->roughness >= 0.0 && r->least > 0.0 && r->most > r->least && r->step > 0.0 && n >= 4.0 &&
                      n * r->tracks < MAX_POINTS && r->tracks >= 1 && r->tracks <= KD_ROAD_MAX_TRACKS &&
                      (r->tracks == 1 || r->width > 0.0) && r->most * r->step <= 0.25 + 1e-12 &&
                      fabs(n - nearbyint(n)) < 1e-6 * n;
    return fits && kd_random_road_waves(r) >= 1 ? (int)nearbyint(n) + 1 : 0;
}

// K_1(x) x = x int_0^oo exp(-x cosh t) cosh t dt: the trapezoidal rule converges faster than any power of its step
double kd_road_coherence(double n, double distance)
{
    const double x = 2.0 * KD_PI * n * distance, h = 0.05;
    double       sum = 0.5 * exp(-x);
    if (x == 0.0) return 1.0;
    for (int i = 1; i < 1000; i++) {
        const double c = cosh(i * h), term = exp(-x * c) * c;
        sum += term;
        if (x * c > 40.0) break;
    }
    return x * h * sum;
}

// Lower triangle of the correlation of the tracks at one wave number, L L' = C
static void mix_of(const kd_random_road *r, double n, double L[KD_ROAD_MAX_TRACKS][KD_ROAD_MAX_TRACKS])
{
    const double apart = r->tracks > 1 ? r->width / (r->tracks - 1) : 0.0;
    double       by_distance[KD_ROAD_MAX_TRACKS];
    for (int i = 0; i < r->tracks; i++) by_distance[i] = kd_road_coherence(n, i * apart);
    for (int i = 0; i < r->tracks; i++)
        for (int j = 0; j <= i; j++) {
            double s = by_distance[i - j];
            for (int k = 0; k < j; k++) s -= L[i][k] * L[j][k];
            // long waves are nearly the same everywhere: what is left of a pivot may be rounding
            L[i][j] = i == j ? sqrt(fmax(s, 0.0)) : L[j][j] > 1e-7 ? s / L[j][j] : 0.0;
        }
}

// z += a cos(q x) + b sin(q x) on one track, by turning a unit vector, set anew every RESTART points
static void add_wave(const kd_random_road *r, double q, double a, double b, int points, double *z)
{
    const double c = cos(q * r->step), s = sin(q * r->step);
    double       x = 1.0, y = 0.0;
    for (int i = 0; i < points; i++) {
        if (i % RESTART == 0) x = cos(q * i * r->step), y = sin(q * i * r->step);
        z[(size_t)i * (size_t)r->tracks] += a * x + b * y;
        const double turned = c * x - s * y;
        y = s * x + c * y;
        x = turned;
    }
}

kd_status kd_random_road_make(const kd_random_road *r, double *z)
{
    const int points = kd_random_road_points(r);
    double    L[KD_ROAD_MAX_TRACKS][KD_ROAD_MAX_TRACKS] = {{0}};
    if (points == 0) return KD_ERR_ARGUMENT;
    memset(z, 0, (size_t)points * (size_t)r->tracks * sizeof *z);
    const int first = (int)ceil(r->least * r->length - 1e-9), waves = kd_random_road_waves(r);
    for (int k = 0; k < waves; k++) {
        const double n = (first + k) / r->length;
        const double amplitude = sqrt(2.0 * r->roughness * pow(n / REFERENCE, -r->waviness) / r->length);
        double       a[KD_ROAD_MAX_TRACKS], b[KD_ROAD_MAX_TRACKS];
        // a direction for each track, then what the tracks share
        for (int j = 0; j < r->tracks; j++) {
            const double phase = 2.0 * KD_PI * kd_uniform(r->seed, (uint32_t)j, (uint64_t)(first + k));
            a[j] = cos(phase), b[j] = sin(phase);
        }
        if (r->tracks > 1) mix_of(r, n, L);
        for (int j = 0; j < r->tracks; j++) {
            double A = r->tracks > 1 ? 0.0 : a[0], B = r->tracks > 1 ? 0.0 : b[0];
            for (int i = 0; i <= j && r->tracks > 1; i++) A += L[j][i] * a[i], B += L[j][i] * b[i];
            add_wave(r, 2.0 * KD_PI * n, amplitude * A, amplitude * B, points, z + j);
        }
    }
    // exactly periodic
    for (int j = 0; j < r->tracks; j++) z[(size_t)(points - 1) * (size_t)r->tracks + (size_t)j] = z[j];
    return KD_OK;
}
