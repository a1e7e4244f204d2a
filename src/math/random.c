// random.c: see random.h.
#include "math/random.h"

#include <math.h>

#include "core/pi.h"

void kd_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
    for (int round = 0; round < 10; round++) {
        // two products whose high and low halves change places, then the next key
        const uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k[1],
                                  (uint32_t)a};
        for (int i = 0; i < 4; i++) c[i] = next[i];
        k[0] += 0x9E3779B9u, k[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

double kd_uniform(uint64_t seed, uint32_t stream, uint64_t i)
{
    const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), stream, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t       bits[4];
    kd_philox(counter, key, bits);
    // 52 bits and a half: symmetric, without 0 and 1
    const uint64_t whole = ((uint64_t)bits[0] << 20) | (bits[1] >> 12);
    return ((double)whole + 0.5) * 0x1p-52;
}

double kd_normal_probability(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

// A start by the tail's asymptote, then Newton's method on the logarithm of the tail, which is almost a parabola
double kd_normal_quantile(double u)
{
    const double tail = u < 0.5 ? u : 1 - u;
    double       x = tail > 0.02 ? (0.5 - tail) * sqrt(2 * KD_PI) : sqrt(-2 * log(tail));
    for (int i = 0; i < 60; i++) {
        // q(x) = P(X > x), q' = -density
        const double q = 0.5 * erfc(x / sqrt(2)), density = exp(-0.5 * x * x) / sqrt(2 * KD_PI);
        const double step = (log(q) - log(tail)) * q / density;
        x += step;
        if (fabs(step) <= 1e-16 * (1 + fabs(x))) break;
    }
    return u < 0.5 ? -x : x;
}
