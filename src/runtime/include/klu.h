// klu.h of the runtime: the calls of KLU that math/sparse.c makes, on an own sparse LU (src/runtime/sparse_lu.c).
#ifndef KD_RUNTIME_KLU_H
#define KD_RUNTIME_KLU_H

enum { KLU_OK = 0, KLU_SINGULAR = 1, KLU_OUT_OF_MEMORY = -2, KLU_INVALID = -3 };

typedef struct kd_rt_symbolic klu_symbolic;
typedef struct kd_rt_numeric  klu_numeric;
typedef struct klu_common {
    double tol; // the diagonal is kept as pivot above this part of the largest entry
    int    status;
    double rcond, rgrowth;
} klu_common;

void          kd_rt_defaults(klu_common *c);
klu_symbolic *kd_rt_analyze(int n, const int *column, const int *row, klu_common *c);
void          kd_rt_free_symbolic(klu_symbolic **symbolic, klu_common *c);

klu_numeric *kd_rt_factor(int *column, int *row, double *values, klu_symbolic *s, klu_common *c);
int          kd_rt_refactor(int *column, int *row, double *values, klu_symbolic *s, klu_numeric *f, klu_common *c);
int          kd_rt_rgrowth(int *column, int *row, double *values, klu_symbolic *s, klu_numeric *f, klu_common *c);
int          kd_rt_rcond(klu_symbolic *s, klu_numeric *f, klu_common *c);
int          kd_rt_solve(klu_symbolic *s, klu_numeric *f, int ld, int nrhs, double *b, klu_common *c);
int          kd_rt_free_numeric(klu_numeric **f, klu_common *c);

// the same for complex numbers, pairs of doubles
klu_numeric *kd_rt_z_factor(int *column, int *row, double *values, klu_symbolic *s, klu_common *c);
int          kd_rt_z_refactor(int *column, int *row, double *values, klu_symbolic *s, klu_numeric *f, klu_common *c);
int          kd_rt_z_rgrowth(int *column, int *row, double *values, klu_symbolic *s, klu_numeric *f, klu_common *c);
int          kd_rt_z_rcond(klu_symbolic *s, klu_numeric *f, klu_common *c);
int          kd_rt_z_solve(klu_symbolic *s, klu_numeric *f, int ld, int nrhs, double *b, klu_common *c);
int          kd_rt_z_free_numeric(klu_numeric **f, klu_common *c);

#define klu_defaults kd_rt_defaults
#define klu_analyze kd_rt_analyze
#define klu_free_symbolic kd_rt_free_symbolic
#define klu_factor kd_rt_factor
#define klu_refactor kd_rt_refactor
#define klu_rgrowth kd_rt_rgrowth
#define klu_rcond kd_rt_rcond
#define klu_solve kd_rt_solve
#define klu_free_numeric kd_rt_free_numeric
#define klu_z_factor kd_rt_z_factor
#define klu_z_refactor kd_rt_z_refactor
#define klu_z_rgrowth kd_rt_z_rgrowth
#define klu_z_rcond kd_rt_z_rcond
#define klu_z_solve kd_rt_z_solve
#define klu_z_free_numeric kd_rt_z_free_numeric

#endif
