// core/timing.h: how long the steps of a run took: least, most, any quantile to about 1 %, in memory of fixed size.
//
// Times are counted in classes, 64 to each factor of two from 1 ns to 16 s: adding one costs the same always.
#ifndef KD_CORE_TIMING_H
#define KD_CORE_TIMING_H

#include <kardan/base.h>

enum { KD_TIMING_PARTS = 64, KD_TIMING_OCTAVES = 34, KD_TIMING_CLASSES = KD_TIMING_PARTS * KD_TIMING_OCTAVES };

typedef struct kd_timing {
    long   count;
    double least, most, sum; // [s]
    double most_at;          // what the caller said about the one that took most
    long   in_class[KD_TIMING_CLASSES];
} kd_timing;

// One more, >= 0; about is kept of the one that takes most. Start from a timing that is all zero.
void kd_timing_add(kd_timing *timing, double seconds, double about);
// The time that this part of all (0 to 1) did not exceed, to about 1 %, never beyond the most; 0 without times.
double kd_timing_quantile(const kd_timing *timing, double part);

// A histogram of classes that grow by equal factors: from the least to the most. Returns their number, at most size.
typedef struct kd_timing_bar {
    double low, high; // [s]
    long   count;
} kd_timing_bar;
int kd_timing_histogram(const kd_timing *timing, kd_timing_bar *bars, int size);

// "12.3 us", written to buffer, which is returned.
const char *kd_timing_words(double seconds, char *buffer, size_t size);

#endif
