// products.h: products and solutions that threads make at the same time are those of one thread, bit for bit. Sizes just above those
// of the own kernels, where calls are short and meet often.
#ifndef KD_TEST_PRODUCTS_H
#define KD_TEST_PRODUCTS_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "math/dense.h"
#include "math/matrices.h"

enum { SIDE = 64, ROUNDS = 6000, THREADS = 4 };

typedef struct product {
    double A[SIDE * SIDE], B[SIDE * SIDE], first[SIDE * SIDE];
    long   wrong;
} product;

static void multiply_once(const product *p, double *C)
{
    double LU[SIDE * SIDE];
    int    pivot[SIDE];
    kd_gemm_tn(SIDE, SIDE, SIDE, 1, p->A, p->B, 0, C);
    memcpy(LU, p->A, sizeof LU);
    for (int i = 0; i < SIDE; i++) LU[i * SIDE + i] += SIDE;
    if (kd_lu_factor(SIDE, LU, pivot) == 0) kd_lu_solve(SIDE, LU, pivot, C, SIDE);
}

static void *multiply_often(void *context)
{
    product *p = context;
    double   C[SIDE * SIDE];
    for (int i = 0; i < ROUNDS; i++) {
        multiply_once(p, C);
        p->wrong += memcmp(C, p->first, sizeof C) != 0;
    }
    return NULL;
}

// How many results of threads differ from those of one; -1: a thread cannot be made
static long wrong_products(void)
{
    static product p[THREADS];
    pthread_t      thread[THREADS];
    uint64_t       seed = 5;
    long           wrong = 0;
    // each thread has matrices of its own, multiplied once while nobody else works
    for (int k = 0; k < THREADS; k++) {
        random_fill(SIDE * SIDE, p[k].A, &seed);
        random_fill(SIDE * SIDE, p[k].B, &seed);
        multiply_once(&p[k], p[k].first);
    }
    for (int k = 0; k < THREADS; k++)
        if (pthread_create(&thread[k], NULL, multiply_often, &p[k]) != 0) return -1;
    for (int k = 0; k < THREADS; k++) {
        if (pthread_join(thread[k], NULL) != 0) return -1;
        wrong += p[k].wrong;
    }
    return wrong;
}

#endif
