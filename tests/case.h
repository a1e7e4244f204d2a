// case.h: what tests/case.c gives every test program.
#ifndef KARDAN_TESTS_CASE_H
#define KARDAN_TESTS_CASE_H

#include <stdint.h>

// Seed of random numbers: the test's own, or with the environment variable SEED=1, 2, .. another one of it. Tests hold for
// their own seed; others try numbers that nobody has looked at.
uint32_t test_seed(uint32_t own);

// How often the same thing is tried with other numbers: briefly, or with the environment variable KARDAN_FULL (make campaign)
// in full.
int test_often(int full, int brief);

#endif
