// sine_cosine.c: sine and cosine of many angles, some lanes at a time; error below one unit in the last place.
//
// x = n pi/2 + r + rest with |r| <= pi/4, pi/2 in three parts of which the first two have 33 bits: n times them is
// exact up to n = 2^20. Then sin r = r + r^3 P(r^2), cos r = 1 - (r^2/2 - r^4 Q(r^2)) with polynomials of degree 5 that
// interpolate at Chebyshev points; the rest enters to first order; the quadrant n decides about exchange and signs.
// Large angles and those that are not finite go to the library.
#include "tree/work.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double  sc_lanes __attribute__((vector_size(8 * KD_LANES)));
typedef int64_t sc_bits __attribute__((vector_size(8 * KD_LANES)));

static const double sc_largest = 1e6;

// clang-format off
static const double sc_P[6] = {-0.16666666666666666, 0.008333333333330948, -0.00019841269836756774,
                               2.7557316101617874e-06, -2.505113165023518e-08, 1.5918115263265974e-10};
static const double sc_Q[6] = {0.041666666666666664, -0.0013888888888887398, 2.480158729876456e-05,
                               -2.7557317271145144e-07, 2.087614614655861e-09, -1.1382623647474604e-11};
// clang-format on

static inline sc_lanes sc_polynomial(const double *c, sc_lanes z)
{
    return c[0] + z * (c[1] + z * (c[2] + z * (c[3] + z * (c[4] + z * c[5]))));
}

static inline void sc_block(const double *x, double *sine, double *cosine)
{
    const double round = 0x1.8p52; // added, it leaves the nearest integer in the last bits
    sc_lanes     a;
    memcpy(&a, x, sizeof a);
    // n: nearest multiple of pi/2; pi/2 in three parts, of which two products are exact
    const sc_lanes shifted = a * 0.6366197723675814 + round, n = shifted - round;
    const sc_lanes t = a - n * 0x1.921fb544p+0, q = n * 0x1.0b4611a6p-34; // both exact
    const sc_lanes u = t - q, v = ((t - u) - q) - n * 0x1.3198a2e037073p-69;
    // reduced angle and what it lost, then both polynomials around 0
    const sc_lanes r = u + v, rest = v - (r - u);
    const sc_lanes z = r * r, half = 0.5 * z;
    const sc_lanes s = r + (rest * (1 - half) + r * z * sc_polynomial(sc_P, z));
    const sc_lanes c = 1 - (half - (z * z * sc_polynomial(sc_Q, z) - r * rest));
    sc_bits        quadrant, sb, cb;
    memcpy(&quadrant, &shifted, sizeof quadrant);
    memcpy(&sb, &s, sizeof sb);
    memcpy(&cb, &c, sizeof cb);
    // odd quadrants exchange sine and cosine, the second bit changes signs
    const sc_bits odd = -(quadrant & 1), exchange = (sb ^ cb) & odd;
    sb = (sb ^ exchange) ^ ((quadrant & 2) << 62);
    cb = (cb ^ exchange) ^ (((quadrant + 1) & 2) << 62);
    memcpy(sine, &sb, sizeof sb);
    memcpy(cosine, &cb, sizeof cb);
}

// n is rounded up to a multiple of KD_LANES: the arrays must have the room
void KD_KERNEL(kd_sine_cosine)(int n, const double *x, double *restrict sine, double *restrict cosine)
{
    bool large = false;
    for (int k = 0; k < n; k += KD_LANES) sc_block(x + k, sine + k, cosine + k);
    for (int k = 0; k < n; k++) large |= !(fabs(x[k]) < sc_largest);
    for (int k = 0; large && k < n; k++) {
        if (fabs(x[k]) < sc_largest) continue;
        sine[k] = sin(x[k]);
        cosine[k] = cos(x[k]);
    }
}
