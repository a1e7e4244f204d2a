// touch.h: two smooth surfaces, one on each frame of a pair: where they touch or are nearest to each other, how far
// they are apart, how they slide and how they are curved there. S1 Eq. 24 to 28.
//
// Surface coordinates s = (u, v) of A, then of B. With r, n, t place, normal and tangents of A, and r_B, n_B of B in the
// axes of A, D = d + C r_B - r the way from one to the other,
//
//     0 = c(p, s) = (t_1 . C n_B, t_2 . C n_B, t_1 . D, t_2 . D)
//     gap = n . D,    slip = e_i . (d' + omega x rho),    rho = C r_B,    spin = n . omega
//
// positive gap: apart. Where c = 0 the gap does not change with s, so that its gradient is (rho x n, n) (Eq. 27).
#ifndef KARDAN_ELEMENT_TOUCH_H
#define KARDAN_ELEMENT_TOUCH_H

#include "element/measure.h"
#include "element/smooth.h"

typedef struct kd_touch {
    kd_smooth   a, b;
    int         pair;
    const char *name; // of its element
    bool        kept; // they stay in contact
} kd_touch;

// At a position of its pair
typedef struct kd_touch_at {
    const kd_touch  *touch;
    kd_surface_chart a, b;        // surface coordinates
    double           inverse[16]; // of c_s, row by row
    kd_vec3          n, rho;      // axes of A
    kd_vec3          e[2];        // directions of slip: e_2 along the parallel of A, of a plane y
    double           gap;
    bool             found;    // c = 0
    bool             singular; // c_s is
} kd_touch_at;

// Solves c = 0 from a start that depends on nothing but the position.
void kd_touch_find(const kd_touch *touch, const kd_relative *rel, kd_touch_at *at);

// Measures of the pair (KD_MEASURE_GAP, SLIP, SPIN, CURVED): as kd_measure_jet
kd_jet kd_touch_jet(const kd_measure *m, const kd_relative *rel, const kd_tangent *e);
void   kd_touch_gradient(const kd_measure *m, const kd_relative *rel, kd_vec3 *N, kd_vec3 *F);
void   kd_touch_curvature(const kd_measure *m, const kd_relative *rel, kd_vec3 w, kd_vec3 u, kd_vec3 *dN, kd_vec3 *dF);

// Where A and B are touched, each in its own axes, and how fast these places move
typedef struct kd_touch_places {
    kd_vec3 at[2], rate[2];
} kd_touch_places;

void kd_touch_places_of(const kd_touch_at *at, const kd_relative *rel, kd_touch_places *out);

// Why there is no contact, for messages
const char *kd_touch_reason(const kd_touch_at *at);

#endif
