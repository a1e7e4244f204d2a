// integrator/radau_impl.h: what Radau's stages (radau.c) and the choice of their number (radau_order.c) share.
#ifndef KD_INTEGRATOR_RADAU_IMPL_H
#define KD_INTEGRATOR_RADAU_IMPL_H

#include "integrator/one_step.h"
#include "integrator/radau_tableau.h"

enum { STAGES = KD_RADAU_STAGES };

typedef struct kd_radau {
    kd_one_step s;                       // first: its address is that of the whole
    int         method;                  // in use: radau_tableau[method]
    int         method_prev;             // of the last accepted step
    double     *Z[STAGES];               // (n) stage increments of the present attempt
    double     *Zprev[STAGES];           // (n) of the last accepted step
    double     *deviation[STAGES];       // (n) of the stages from the smooth motion, in the last step
    double     *part[STAGES];            // (n) zero where the formulation eliminates nothing
    double     *y[STAGES];               // (nreduced_max)
    double     *rtol_outer, *atol_outer; // (n) as asked for; those inside depend on the order
    double      norm_first;              // first increment of the last Newton iteration
    double      err;                     // norm of the last error estimate
    int         since_change, patience;  // steady steps with the present order; before a higher one
    double      gain_up, gain_down;      // ln of (step over work) of the next higher and lower order
    double      wasted;                  // evaluations of attempts that failed, since the last steady step
} kd_radau;

static inline const kd_radau_tableau *kd_radau_use(const kd_radau *r)
{
    return &radau_tableau[r->method];
}

// Numbers in radau_tableau of the highest and the lowest order that options allow
int kd_radau_highest(const kd_implicit_options *o);
int kd_radau_lowest(const kd_implicit_options *o);
// Use another method from the next attempt on: order, tolerances inside, when Newton may stop
void kd_radau_set_method(kd_radau *r, int method);
// Before the first attempt of a start that knows nothing
void kd_radau_forget_order(kd_radau *r);
// After an accepted step, whose stages are Zprev
void kd_radau_choose_order(kd_radau *r);
// Evaluations of an attempt: iterations, and what a linearisation with its factors costs beside them
double kd_radau_work(const kd_radau_tableau *m, double iterations);
// out = sum_j w_j z_j over the first n components; three stages, the usual case, at once
void               kd_radau_combine_many(int stages, const double *w, double *const *z, int n, double *out);
static inline void kd_radau_combine(int stages, const double *w, double *const *z, int n, double *restrict out)
{
    const double *restrict z0 = z[0], *restrict z1 = z[1], *restrict z2 = z[2];
    const double a = w[0], b = w[1], c = w[2];
    if (stages != 3) {
        kd_radau_combine_many(stages, w, z, n, out);
        return;
    }
    for (int k = 0; k < n; k++) out[k] = a * z0[k] + b * z1[k] + c * z2[k];
}

#endif
