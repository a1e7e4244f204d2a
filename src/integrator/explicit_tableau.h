// integrator/explicit_tableau.h: coefficients of explicit Runge-Kutta methods with dense output.
//
//     X_i = x + h sum_j a_ij k_j,   k_i = f(t + c_i h, X_i),   x_1 = X_{stages} (0-based): k_{stages} = f(t + h, x_1)
//
// Dense output with s = (t - t_0) / h, s' = 1 - s, following Hairer, Norsett, Wanner I, II.6 and II.10:
//     x(s) = x_0 + s (D + s' (B + s (D - h k_end - B + s' (r_0 + s (r_1 + s' (r_2 + s r_3))))))
// with D = x_1 - x_0, B = h k_0 - D and r_i = h sum_j dense_ij k_j.
#ifndef KD_INTEGRATOR_EXPLICIT_TABLEAU_H
#define KD_INTEGRATOR_EXPLICIT_TABLEAU_H

#include <stdbool.h>

enum { KD_EXPLICIT_STAGES = 16, KD_EXPLICIT_DENSE = 4 };

typedef struct kd_explicit_tableau {
    const char *name;
    int         order;
    int         stages;     // number of stages of a step without the evaluation at its end
    int         all_stages; // with that evaluation and those of the dense output
    int         dense_order;
    int         ndense;               // rows of dense
    double      stiff;                // h rho at the border of the stability region
    double      safety, beta;         // of the PI controller; dop853: measured, see docs/methods/explicit.md
    double      fac_lower, fac_upper; // fac_lower <= h_new / h <= fac_upper
    double      c[KD_EXPLICIT_STAGES];
    double      a[KD_EXPLICIT_STAGES][KD_EXPLICIT_STAGES];
    double      error[KD_EXPLICIT_STAGES];     // x_1 minus embedded solution
    double      error_low[KD_EXPLICIT_STAGES]; // another one of lower order; dop853 only
    double      dense[KD_EXPLICIT_DENSE][KD_EXPLICIT_STAGES];
} kd_explicit_tableau;

extern const kd_explicit_tableau kd_dopri5_tableau, kd_dop853_tableau;

// The half-explicit method for x' = f(t, x, lambda), 0 = g(t, x): stages X_i, x_1, errors and dense output of dopri5.
// k_0 and k_end belong to consistent multipliers, those of stage i = 1 .. 5 are such that the point
//     x + h sum_{j <= i} a_ij k_j   satisfies the constraints at   t + c_i h;
// a_ii is not 0. The last of these points is x_1.
typedef struct kd_constrained_points {
    double c[KD_EXPLICIT_STAGES];
    double a[KD_EXPLICIT_STAGES][KD_EXPLICIT_STAGES];
    bool   is_next[KD_EXPLICIT_STAGES]; // this point is that of the next stage, or x_1
} kd_constrained_points;

extern const kd_constrained_points kd_half_explicit_points;

#endif
