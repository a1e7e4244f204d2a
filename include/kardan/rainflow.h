// kardan/rainflow.h: load cycles of a channel (rainflow counting, ASTM E1049-85) and the damage that they do (Miner).
// Guide: docs/guide/fatigue.md
//
//     kd_cycle *cycles = ..;  int n;                                     // room for as many cycles as values
//     kd_rainflow(values, y, 1, KD_HISTORY_ONCE, cycles, &n);
//     kd_woehler line = {.slope = 5, .cycles = 2e6, .range = 80e6, .slope_below = 9};
//     double D = kd_miner_sum(&line, cycles, n);                         // 1: the part is used up
#ifndef KARDAN_RAINFLOW_H
#define KARDAN_RAINFLOW_H

#include <kardan/base.h>

KD_EXTERN_C_BEGIN

// What is counted: the history as it is, whose open ranges are half cycles; or one of many equal ones that follow each
// other, which has whole cycles only.
typedef enum kd_history { KD_HISTORY_ONCE, KD_HISTORY_REPEATED } kd_history;

typedef struct kd_cycle {
    double range; // from valley to peak, > 0
    double mean;  // middle between them
    double count; // 0.5 or 1; after sorting into one row with its equals more
} kd_cycle;

// The cycles of the n values y[0], y[stride], ..; in the order in which they close. cycle has room for n of them; there
// are *ncycles < max(n, 1). KD_ERR_ARGUMENT: n < 0, stride < 1; KD_ERR_NOT_FINITE: a value or a range is not finite;
// KD_ERR_MEMORY. *ncycles is 0 then.
KD_API kd_status kd_rainflow(int n, const double *y, int stride, kd_history history, kd_cycle *cycle,
                             int *ncycles) KD_NODISCARD;

// Sorted in place, largest range first, then largest mean; equal ones become one row. Returns the number of rows.
KD_API int kd_cycles_sort(kd_cycle *cycle, int ncycles);
// The same in classes: ranges in (0, largest] are cut into nclasses equal pieces; row i (largest ranges first) has the
// upper end of its piece as range, the mean of its cycles (0 without any) and their count. row: (nclasses).
KD_API void kd_cycles_classify(const kd_cycle *cycle, int ncycles, int nclasses, kd_cycle *row);

// Woehler line: N(S) = cycles (S / range)^-slope cycles of the range S may be borne; below its knee with another slope.
typedef struct kd_woehler {
    double slope;       // k > 0
    double cycles;      // N0 > 0, at the knee
    double range;       // S0 > 0 there, from valley to peak (twice the amplitude), in the unit of the channel
    double slope_below; // of ranges below S0: k (the line goes on), 2 k - 1 (Haibach), INFINITY (they do nothing)
} kd_woehler;

// Does each number make sense?
KD_API bool kd_woehler_is_valid(const kd_woehler *line);
// Cycles of that range until the damage is 1; range > 0.
KD_API double kd_woehler_life(const kd_woehler *line, double range);
// Palmgren and Miner: the sum of count / N(range). Means do not count.
KD_API double kd_miner_sum(const kd_woehler *line, const kd_cycle *cycle, int ncycles);

KD_EXTERN_C_END

#endif
