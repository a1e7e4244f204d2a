// results/linear_list.h: the matrices of linear equations by their names in files.
#ifndef KD_RESULTS_LINEAR_LIST_H
#define KD_RESULTS_LINEAR_LIST_H

#include <kardan/linearize.h>

typedef struct kd_linear_matrix {
    const char   *name;
    const double *value;
    int           rows, columns;
} kd_linear_matrix;

enum { KD_LINEAR_MATRICES = 20 };

// A, B, C, D first; returns their number.
int kd_linear_list(const kd_linear *linear, kd_linear_matrix *list);

#endif
