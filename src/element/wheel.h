// wheel.h: a wheel on a rail: where they touch, how far they are apart, and the tangential forces between them.
//
// The rail lies along x of frame A, z up; its head is the cylinder z = S(y). The wheel is a surface of revolution about
// the axle n = y axis of frame B, radius R(xi) at the distance xi from the origin d of B. Seen along x the wheel is the
// curve
//
//     (Y, Z) = (d_y, d_z) + xi (n_y, n_z) + R (u_y, u_z),      u_x = R' n_x,  u . n = 0,  |u| = 1, u downwards
//
// (points whose normal N = u - R' n has no x component), and
//
//     g(d, n, xi) = S(Y) - Z            the gap, negative where there is air: a constraint, multiplier > 0 when pressed
//     c(d, n, xi) = N_y + S'(Y) N_z     tangency; c = 0 where dg/dxi = 0
//
// Quasi-elastic contact (`elastic` = e > 0): in place of the greatest overlap a mean over all places of the tread,
//
//     g = e log(1/L sum_k h_k exp(g_k/e)),  g_k = g(d, n, xi_k),  weights w_k = h_k exp(g_k/e)/sum: g_x = sum w_k g_k,x
//
// which is smooth where the place of contact jumps, and shares the load where there are two. L: g as without it in the
// middle of the track.
//
// Five measures matter: d_y, d_z, n_x, n_y, n_z. Derivation: docs/methods/wheel-rail.md
#ifndef KARDAN_ELEMENT_WHEEL_H
#define KARDAN_ELEMENT_WHEEL_H

#include "expr/curve.h"
#include "expr/jet.h"
#include "math/space.h"
#include "model/model.h"

enum {
    KD_WHEEL_INPUTS = 5,     // d_y, d_z, n_x, n_y, n_z
    KD_CREEP_VARIABLES = 23, // d, n, d', omega, d0, d0', omega0 (three each), xi, lambda
    KD_WHEEL_NODES = 480,    // of a quasi-elastic contact
};

typedef struct kd_profile { // f(x): straight line, arc or table
    enum { KD_PROFILE_LINE, KD_PROFILE_ARC, KD_PROFILE_CURVE } kind;
    double          slope;          // line: f = slope x
    double          radius, centre; // arc: f = sign (sqrt(radius^2 - (x - centre)^2) - sqrt(radius^2 - centre^2))
    double          sign;
    const kd_curve *curve;
} kd_profile;

typedef struct kd_wheel {
    const kd_wheel_rail *def;
    bool                 unknown; // xi is an unknown s of the equations of motion
    bool                 by_load; // the creep forces depend on the multiplier
    int                  contact; // unknown: place in s
    int                  row;     // of g, before redundant ones are left out
    int                  lambda;  // place of its multiplier; -1: the row is left out
    int                  slot[KD_WHEEL_INPUTS];
    double               side; // +1 left, -1 right
    kd_profile           tread, head;
    double               a, b; // half axes at the given load
    double               kalker[4];
    bool                 elastic;              // quasi-elastic contact
    double               node[KD_WHEEL_NODES]; // xi of its nodes, denser where the tread is steep
    double               part[KD_WHEEL_NODES]; // of the profile that each stands for
    double               R[KD_WHEEL_NODES];    // radius of the tread there
    double               R1[KD_WHEEL_NODES];   // and its slope
    double               split;                // distance outwards of the rolling circle: what lies inside is flange
    double               length;               // log L
} kd_wheel;

// Profiles, ellipse and coefficients from the definition; curves may be NULL.
void kd_wheel_create(kd_wheel *wheel, const kd_wheel_rail *def, const kd_curve *tread, const kd_curve *head);

// R(xi) and S(y), each with four derivatives.
void kd_wheel_tread(const kd_wheel *wheel, double xi, double R[5]);
void kd_wheel_head(const kd_wheel *wheel, double y, double S[5]);

typedef struct kd_wheel_point { // one position of the contact, with first derivatives by the inputs and by xi (last)
    double g, c;
    double g_x[KD_WHEEL_INPUTS + 1], c_x[KD_WHEEL_INPUTS + 1];
} kd_wheel_point;

void kd_wheel_at(const kd_wheel *wheel, const double in[KD_WHEEL_INPUTS], double xi, kd_wheel_point *out);

// The nodes that carry load, with weights whose sum is 1
typedef struct kd_wheel_spread {
    int    n, node[KD_WHEEL_NODES];
    double weight[KD_WHEEL_NODES];
    double g, mean; // quasi-elastic gap, mean of xi
} kd_wheel_spread;

// A place of contact made of many nodes, with first derivatives by the inputs
typedef struct kd_wheel_patch {
    double share;         // of the load
    double rho[3], slope; // means: from the centre to the contact, slope S' of the rail there
    double share_x[KD_WHEEL_INPUTS], rho_x[3][KD_WHEEL_INPUTS], slope_x[KD_WHEEL_INPUTS];
} kd_wheel_patch;

void kd_wheel_spread_at(const kd_wheel *wheel, const double in[KD_WHEEL_INPUTS], kd_wheel_spread *out);
// As kd_wheel_at and kd_wheel_gap: there is no coordinate xi
void kd_wheel_soft_at(const kd_wheel *wheel, const double in[KD_WHEEL_INPUTS], const kd_wheel_spread *spread,
                      kd_wheel_point *out);
// Tread and flange; one that carries nothing has the share 0
void   kd_wheel_patches_at(const kd_wheel *wheel, const double in[KD_WHEEL_INPUTS], const kd_wheel_spread *spread,
                           kd_wheel_patch patch[2]);
kd_jet kd_wheel_soft_gap(const kd_wheel *wheel, const kd_jet in[KD_WHEEL_INPUTS], const kd_wheel_spread *spread);

// xi from c = 0; NaN: the wheel does not meet the rail.
double kd_wheel_solve(const kd_wheel *wheel, const double in[KD_WHEEL_INPUTS]);
double kd_wheel_nominal(const kd_wheel *wheel); // xi in the middle of the track

// g as a function of the inputs alone: xi follows from c = const. Value, time derivatives and their changes along the
// tangent of the inputs; where xi is unknown, xi_d is its own change along the tangent. xi solves c = 0 unless it is
// unknown.
kd_jet kd_wheel_gap(const kd_wheel *wheel, const kd_jet in[KD_WHEEL_INPUTS], double xi, double xi_d);

// ---- creep and flange -----------------------------------------------------------------------------------------------
// Variables: d, n, d', omega of B in A; d0, d0', omega0 of the ground in A; xi; lambda. Forces on B at its origin and
// moments about it, axes of A. energy (may be NULL): power lost in creep, potential of the flange and its rate.
// spread: of a quasi-elastic contact at d and n; otherwise NULL
void kd_wheel_creep(const kd_wheel *wheel, const double x[KD_CREEP_VARIABLES], const kd_wheel_spread *spread,
                    double force[6], double energy[3]);
// The same with derivatives J (6 x KD_CREEP_VARIABLES, column-major); where xi is not unknown it follows d and n.
void kd_wheel_creep_jacobian(const kd_wheel *wheel, const double x[KD_CREEP_VARIABLES], const kd_wheel_spread *spread,
                             double force[6], double *J);

#endif
