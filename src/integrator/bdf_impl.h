// bdf_impl.h: what bdf.c and bdf_start.c share.
#ifndef KD_INTEGRATOR_BDF_IMPL_H
#define KD_INTEGRATOR_BDF_IMPL_H

#include "integrator/bdf_history.h"
#include "integrator/corrector.h"
#include "integrator/integrator.h"
#include "integrator/kink.h"

// How steps grow
typedef struct kd_bdf_rule {
    double safety;       // h_new = h (safety est)^(-1 / (k + 1))
    double least_growth; // smaller growth is not worth a new leading coefficient
    double newton_stop;  // kappa
} kd_bdf_rule;

// Norms of h^j x^(j) / j of one step, j = k-1 .. k+2, that is for orders k-2 .. k+1; infinite where not known
typedef struct kd_bdf_estimates {
    double lower2, lower, same, higher;
} kd_bdf_estimates;

typedef struct kd_bdf {
    kd_integrator      base; // first: its address is that of the whole; its t and x follow the history
    const kd_bdf_rule *rule;
    int                n, nc; // components, those that count in the error norm
    kd_bdf_history     past;
    kd_corrector       corrector;
    double            *predicted, *predicted_dot; // (n) P, P'
    double            *x, *xdot;                  // (n) iterates, then the accepted point
    double            *x_old;                     // (n) start of the last step
    double            *slope_old, *slope;         // (n) x' there and at the last accepted point
    double            *speed;                     // (n) largest |x'| lately
    double            *e;                         // (n) x - P
    double            *weight;                    // (n) 1 / (atol + rtol |x|)
    double            *index_weight;              // (n) the same, with powers of h for components of higher index
    double            *share;                     // (n) for the observer
    double            *grid[KD_BDF_TERMS];        // (n) h_fixed: start values, the newest first
    double             grid_t[KD_BDF_TERMS];
    int                grid_count, grid_wanted; // wanted: 0 when steps of fixed size are made

    kd_bdf_coefficients step;                                     // present attempt
    int                 order, order_old, order_max, order_least; // of the next step, the last one; bounds
    double              h, h_next, h_old, h_least; // [s] attempt, proposal, last step; shorter ones are given up
    double              t_end;                     // [s] where the present step may end at most
    bool                to_end, rejected, raising; // raising: order and step grow in every step until the first failure
    int                 equal;                     // steps of equal size and order in a row
    kd_kink             kink;                      // the last one
    double              kink_size, kink_most;      // |h jump of x'|: of it, and what a moved past does not survive
    bool                failed;                    // the last step ended with a failure, whose message is complete
    bool                kinked;                    // since the last step
    bool                retractable, retracted;    // the last step can be taken back; was
    double              h_before;                  // step in use before a restart; 0: none
    bool                behind;                    // the last start was behind a jump
    bool                lands;                     // ends of steps are instants, one after the other
    long                accepted_since_start;      // steps
    bool                index_3; // of the form: its velocities are differences of positions, noise over h
} kd_bdf;

// bdf.c
void kd_bdf_show(kd_bdf *b);                         // t and x of the base follow the history
void kd_bdf_set_weights(kd_bdf *b);                  // of the error norm, at the newest point
void kd_bdf_keep_fault(kd_bdf *b, kd_status status); // with the reason that the form tells

// bdf_start.c
kd_status kd_bdf_start(kd_bdf *b, double t, const double *x, bool keep_matrix);
void      kd_bdf_prepare_first_step(kd_bdf *b, double span);
kd_status kd_bdf_forget_past(kd_bdf *b); // the first step behind a kink has too large an error
kd_status kd_bdf_restart(kd_integrator *base, double t, const double *x, kd_restart mode);
kd_status kd_bdf_retract(kd_integrator *base, double h);

#endif
