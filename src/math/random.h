// math/random.h: random numbers that are counted, not drawn: a function of seed, stream and number, the same in every thread and order.
#ifndef KD_MATH_RANDOM_H
#define KD_MATH_RANDOM_H

#include <stdint.h>

// Philox 4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw, SC11)
void kd_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
// Uniform in (0, 1), never an end: number i of a stream.
double kd_uniform(uint64_t seed, uint32_t stream, uint64_t i);
// Inverse of the normal distribution function, 0 < u < 1, to rounding; and the function itself.
double kd_normal_quantile(double u);
double kd_normal_probability(double x);

#endif
