// seeded.h: reproducible random numbers (Knuth's MMIX generator).
#ifndef KARDAN_TESTS_SEEDED_H
#define KARDAN_TESTS_SEEDED_H

#include <math.h>
#include <stdint.h>

static inline double seeded_between(uint64_t *seed, double low, double high)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*seed >> 11) / 9007199254740992.0;
}

// With equal chances for every decade
static inline double seeded_log(uint64_t *seed, double low, double high)
{
    return low * pow(high / low, seeded_between(seed, 0, 1));
}

#endif
