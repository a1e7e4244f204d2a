// expr/range.h: a range of numbers.
#ifndef KD_EXPR_RANGE_H
#define KD_EXPR_RANGE_H

typedef struct kd_interval {
    double lower, upper;
} kd_interval;

#endif
