// Linear equations of an oscillator, for tests of files.
#ifndef KD_TESTS_RESULTS_LINEAR_OSCILLATOR_H
#define KD_TESTS_RESULTS_LINEAR_OSCILLATOR_H

#include <kardan/linearize.h>

static const double      A[] = {0, -4, 1, -0.5}, B[] = {0, 2}, C[] = {1, 0}, D[] = {0}, T[] = {1, 0}, one[] = {1};
static const char *const states[] = {"q", "rate \"q\""};
static const char *const inputs[] = {"push"}, *const outputs[] = {"place"};

static inline kd_linear oscillator(void)
{
    return (kd_linear){.t = 1.5,
                       .nx = 2,
                       .nu = 1,
                       .ny = 1,
                       .A = A,
                       .B = B,
                       .C = C,
                       .D = D,
                       .state_name = states,
                       .input_name = inputs,
                       .output_name = outputs,
                       .T = T,
                       .increment_name = states,
                       .nv = 1,
                       .M = one,
                       .R_v = one,
                       .R_p = one,
                       .F = one,
                       .J = NULL};
}

#endif
