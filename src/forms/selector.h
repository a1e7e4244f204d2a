// forms/selector.h: dependent and independent directions of a constraint matrix C (m x n) (S3 Algorithm 2.6).
//
//     S   (n - rank) x n   selector of the independent directions
//     N   n x (n - rank)   null-space basis, C N = 0, S N = I
//     P   n x m            right inverse on the range of C, C P C = C, S P = 0
//
// A linearised constraint C dx = rhs is solved by dx = P rhs + N y with free y = S dx.
#ifndef KD_FORMS_SELECTOR_H
#define KD_FORMS_SELECTOR_H

#include <kardan/formulation.h>

#include "core/memory.h"

typedef struct kd_selector {
    int              m, n; // largest rows, columns
    int              rows; // rows of the last matrix
    int              rank; // -1: not yet determined
    kd_decomposition kind;
    double           rank_tolerance;
    bool             unit;        // S consists of unit rows
    int             *independent; // (n) unit: columns picked by S, first n - rank; dependent ones behind
    double          *S;           // ((n - rank) x n) column-major; only if not unit
    double          *N;           // (n x (n - rank))
    double          *P;           // (n x m)
    double          *C;           // (m x n) scaled copy, then its factors
    double          *scale;       // (m)
    double          *U, *Vt, *sigma, *tau, *work;
    const double    *size; // (n) natural sizes of the columns, in which pivots are compared; NULL: 1; set after init
    double          *left; // (m) combination of rows that is (nearly) redundant, after a rank failure
    int             *row, *column, *sorted;
} kd_selector;

// Arrays come from the arena; ask arena->failed afterwards.
void kd_selector_init(kd_selector *s, int m, int n, kd_decomposition kind, double rank_tolerance, kd_arena *arena);

// Decompose C (rows x n). *changed: the independent directions are others than before (or reset is set). KD_OK;
// KD_REDUNDANT (SVD, rank < rows); KD_ERR_REDUNDANT (first matrix), KD_ERR_RANK_CHANGE (later): s->left names the rows.
kd_status kd_selector_update(kd_selector *s, int rows, const double *C, bool reset, bool *changed) KD_NODISCARD;

// Save or restore; its arrays of numbers belong to the arena of the owner.
void kd_selector_archive(kd_selector *s, kd_archive *a);

// y = S x
void kd_selector_pick(const kd_selector *s, const double *x, double *y);

#endif
