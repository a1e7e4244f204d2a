// bench/bench_dense.c: own dense kernels against LAPACK, factor + solve of one right-hand side, real and complex,
// orders 2 to 64. Sets KD_SMALL in math/dense.h: up to that order the own kernels must not be slower.
// Thread CPU time, minimum of several repetitions, both variants interleaved.
#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "common_rows.h"
#include "math/dense.h"
#include "math/kernel.h"

#include <complex.h>
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
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

// Up to this order the library uses its own kernels: they must not be slower than LAPACK
static void row(bench *b, bool is_complex, int n, const double time[2])
{
    const int own = is_complex ? KD_SMALL_COMPLEX : KD_SMALL;
    char      note[40];
    (void)snprintf(note, sizeof note, "LAPACK %.1f ns", time[1]);
    bench_row(b, n <= own ? bench_below(time[1]) : bench_no_goal(false), NAN, time[0], "ns", note, "dense_%s_lu_%d_ns",
              is_complex ? "complex" : "real", n);
}

int main(int argc, char **argv)
{
    static const int orders[] = {2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64};
    static problem   work; // too large for some stacks
    int              exit_status;
    bench           *b = bench_create(argc, argv, "LU factor + solve: own kernels against LAPACK.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const int repetitions = bench_quick(b) ? 5 : 30;
        double    time[2];
        fill(&work, orders[i]);
        for (int k = 0; k < 2; k++) {
            work.is_complex = k == 1;
            compare(&work, k == 1 ? own_complex : own_real, k == 1 ? lapack_complex : lapack_real, repetitions, time);
            row(b, work.is_complex, orders[i], time);
        }
    }
    return bench_end(b);
}
