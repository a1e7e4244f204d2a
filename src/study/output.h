// study/output.h: numbers that a run is reduced to.
#ifndef KD_STUDY_OUTPUT_H
#define KD_STUDY_OUTPUT_H

#include <kardan/base.h>

// Word in files, sentence
#define KD_REDUCTION_LIST(X)                                                                                           \
    X(KD_REDUCE_MAX, "max", "largest value")                                                                           \
    X(KD_REDUCE_MIN, "min", "smallest value")                                                                          \
    X(KD_REDUCE_PEAK, "peak", "largest size")                                                                          \
    X(KD_REDUCE_RANGE, "range", "largest minus smallest value")                                                        \
    X(KD_REDUCE_MEAN, "mean", "mean over time")                                                                        \
    X(KD_REDUCE_RMS, "rms", "root of the mean square over time")                                                       \
    X(KD_REDUCE_INTEGRAL, "integral", "integral over time")                                                            \
    X(KD_REDUCE_END, "end", "value at the end")                                                                        \
    X(KD_REDUCE_AT, "at", "value at the time `time`")                                                                  \
    X(KD_REDUCE_CROSSING, "crossing", "first time at which it passes `level`")                                         \
    X(KD_REDUCE_SETTLING, "settling", "time from which on it stays within `band` of `level` (default: its end)")       \
    X(KD_REDUCE_FREQUENCY, "frequency", "frequency of the largest amplitude of the spectrum [Hz]")                     \
    X(KD_REDUCE_AMPLITUDE, "amplitude", "largest amplitude of the spectrum")

typedef enum kd_study_reduction_kind {
#define KD_REDUCTION_ENUM(name, word, sentence) name,
    KD_REDUCTION_LIST(KD_REDUCTION_ENUM)
#undef KD_REDUCTION_ENUM
        KD_REDUCTION_COUNT
} kd_study_reduction_kind;
extern const char *const KD_REDUCTION_WORD[KD_REDUCTION_COUNT];

typedef struct kd_study_reduction {
    kd_study_reduction_kind kind;
    double                  from, to;    // part of the run [s]; NaN: its start, its end
    double                  time, level; // NaN: not given
    double                  band;
} kd_study_reduction;

// Of a channel: n rows of times t and values y, stride doubles apart. NaN: there is none (no crossing, too few rows);
// why (a sentence, may be NULL) says so. work: kd_study_reduction_work(n) doubles.
size_t kd_study_reduction_work(int n);
double kd_study_reduce(const kd_study_reduction *r, int n, const double *t, const double *y, size_t stride,
                       double *work, const char **why);

#endif
