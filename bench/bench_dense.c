// bench/bench_dense.c: own dense kernels against LAPACK, factor + solve of one right-hand side, real and complex,
// orders 2 to 64. Sets KD_SMALL in math/dense.h: up to that order the own kernels must not be slower.
// Thread CPU time, minimum of several repetitions, both variants interleaved.
#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "math/kernel.h"

#include <complex.h>
#include <lapacke.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LARGEST 64
#define MATRICES 8 // different ones in turn, so that pivots are not learnt by heart

typedef struct problem {
    int            n;
    bool           is_complex;
    double         A[MATRICES][LARGEST * LARGEST], LU[LARGEST * LARGEST], b[LARGEST];
    double complex Z[MATRICES][LARGEST * LARGEST], ZLU[LARGEST * LARGEST], z[LARGEST];
    int            pivot[LARGEST];
} problem;

static void own_real(problem *w)
{
    kd_kernel_lu_factor(w->n, w->LU, w->pivot);
    kd_kernel_lu_solve(w->n, w->LU, w->pivot, w->b);
}

static void lapack_real(problem *w)
{
    LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, w->n, w->n, w->LU, w->n, w->pivot);
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', w->n, 1, w->LU, w->n, w->pivot, w->b, w->n);
}

static void own_complex(problem *w)
{
    kd_kernel_zlu_factor(w->n, (double *)w->ZLU, w->pivot);
    kd_kernel_zlu_solve(w->n, (const double *)w->ZLU, w->pivot, (double *)w->z);
}

static void lapack_complex(problem *w)
{
    LAPACKE_zgetrf_work(LAPACK_COL_MAJOR, w->n, w->n, w->ZLU, w->n, w->pivot);
    LAPACKE_zgetrs_work(LAPACK_COL_MAJOR, 'N', w->n, 1, w->ZLU, w->n, w->pivot, w->z, w->n);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// nanoseconds per call, the copy of the matrix included
static double measure(problem *w, void (*run)(problem *), int calls)
{
    const size_t count = (size_t)w->n * (size_t)w->n;
    const double start = cpu_seconds();
    for (int i = 0; i < calls; i++) {
        const double         *A = w->A[i % MATRICES];
        const double complex *Z = w->Z[i % MATRICES];
        if (w->is_complex) {
            memcpy(w->ZLU, Z, count * sizeof *Z);
            memcpy(w->z, Z, (size_t)w->n * sizeof *Z);
        } else {
            memcpy(w->LU, A, count * sizeof *A);
            memcpy(w->b, A, (size_t)w->n * sizeof *A);
        }
        run(w);
    }
    return 1e9 * (cpu_seconds() - start) / calls;
}

static void nothing(problem *w)
{
    (void)w;
}

static void fill(problem *w, int n)
{
    unsigned state = 12345;
    w->n = n;
    for (int i = 0; i < MATRICES * n * n; i++) {
        double part[2];
        for (int k = 0; k < 2; k++) {
            state = state * 1664525u + 1013904223u;
            part[k] = (double)(state >> 8) / (1 << 23) - 1;
        }
        w->A[i / (n * n)][i % (n * n)] = part[0];
        w->Z[i / (n * n)][i % (n * n)] = part[0] + part[1] * I;
    }
}

// own and LAPACK time for one order [ns]: minimum over the repetitions, without the copies
static void compare(problem *w, void (*own)(problem *), void (*lapack)(problem *), int repetitions, double time[2])
{
    const int calls = 400000 / (w->n * w->n * w->n + 400) + 1;
    double    copy = 1e99;
    time[0] = time[1] = 1e99;
    for (int r = 0; r < repetitions; r++) {
        copy = fmin(copy, measure(w, nothing, calls));
        time[0] = fmin(time[0], measure(w, own, calls));
        time[1] = fmin(time[1], measure(w, lapack, calls));
    }
    time[0] = fmax(time[0] - copy, 0.1);
    time[1] = fmax(time[1] - copy, 0.1);
}

static void row_json(bool first, const char *kind, int n, const double time[2])
{
    printf("%s\n  {\"name\": \"dense_%s_lu_%d_ns\", \"value\": %.1f, \"unit\": \"ns\", \"goal\": %.1f, \"better\": "
           "\"lower\", \"paper\": null}",
           first ? "" : ",", kind, n, time[0], time[1]);
}

int main(int argc, char **argv)
{
    bool json = false, quick = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            quick = true;
        } else {
            fprintf(stderr, "usage: dense [--json] [--quick]\n"
                            "LU factor + solve: own kernels against LAPACK. --json: rows, goal = time of LAPACK\n");
            return strcmp(argv[i], "--help") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
        }
    }
    static const int orders[] = {2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64};
    const int        count = (int)(sizeof orders / sizeof *orders);
    const int        repetitions = quick ? 5 : 30;
    static problem   work; // too large for some stacks

    if (json)
        printf("[");
    else
        printf("LU factor + solve [ns]\n%5s %10s %10s %7s %12s %10s %7s\n", "order", "real own", "LAPACK", "ratio",
               "complex own", "LAPACK", "ratio");
    for (int i = 0; i < count; i++) {
        double real[2], cplx[2];
        fill(&work, orders[i]);
        work.is_complex = false;
        compare(&work, own_real, lapack_real, repetitions, real);
        work.is_complex = true;
        compare(&work, own_complex, lapack_complex, repetitions, cplx);
        if (json) {
            row_json(i == 0, "real", orders[i], real);
            row_json(false, "complex", orders[i], cplx);
        } else {
            printf("%5d %10.1f %10.1f %7.2f %12.1f %10.1f %7.2f\n", orders[i], real[0], real[1], real[1] / real[0],
                   cplx[0], cplx[1], cplx[1] / cplx[0]);
        }
    }
    if (json) printf("\n]\n");
    return EXIT_SUCCESS;
}
