// rotation.c: rotation vector of a relative rotation, with its derivatives. Equations: rotation.h
#include "element/rotation.h"

#include <math.h>

enum { TERMS = 18 };

static const double NEAR_ONE = 0.1; // of 1 - y: up to here the series has all digits with TERMS terms

// G = 2 sum a_n z^n, z = (1 - y)/2, a_n = a_(n-1) 2n/(2n + 1): the series of asin(x)/(x sqrt(1 - x^2)) with x^2 = z.
// A derivative by y brings a factor -1/2. Row n: coefficients of z^n in G and its three derivatives.
#define A0 1.0
#define A1 (A0 * 2 / 3)
#define A2 (A1 * 4 / 5)
#define A3 (A2 * 6 / 7)
#define A4 (A3 * 8 / 9)
#define A5 (A4 * 10 / 11)
#define A6 (A5 * 12 / 13)
#define A7 (A6 * 14 / 15)
#define A8 (A7 * 16 / 17)
#define A9 (A8 * 18 / 19)
#define A10 (A9 * 20 / 21)
#define A11 (A10 * 22 / 23)
#define A12 (A11 * 24 / 25)
#define A13 (A12 * 26 / 27)
#define A14 (A13 * 28 / 29)
#define A15 (A14 * 30 / 31)
#define A16 (A15 * 32 / 33)
#define A17 (A16 * 34 / 35)
#define A18 (A17 * 36 / 37)
#define A19 (A18 * 38 / 39)
#define A20 (A19 * 40 / 41)
// clang-format off
#define ROW(n, a, b, c, d) {2 * (a), -(b) * ((n) + 1), 0.5 * (c) * ((n) + 2) * ((n) + 1), -0.25 * (d) * ((n) + 3) * ((n) + 2) * ((n) + 1)}
static const double series[TERMS][4] = {
    ROW(0, A0, A1, A2, A3), ROW(1, A1, A2, A3, A4), ROW(2, A2, A3, A4, A5),
    ROW(3, A3, A4, A5, A6), ROW(4, A4, A5, A6, A7), ROW(5, A5, A6, A7, A8),
    ROW(6, A6, A7, A8, A9), ROW(7, A7, A8, A9, A10), ROW(8, A8, A9, A10, A11),
    ROW(9, A9, A10, A11, A12), ROW(10, A10, A11, A12, A13), ROW(11, A11, A12, A13, A14),
    ROW(12, A12, A13, A14, A15), ROW(13, A13, A14, A15, A16), ROW(14, A14, A15, A16, A17),
    ROW(15, A15, A16, A17, A18), ROW(16, A16, A17, A18, A19), ROW(17, A17, A18, A19, A20)};
// clang-format on

// Small turns, as in bushings, need few terms: what is left out is below 1e-17 of the sum
static void factor_near_one(double z, int order, double G[4])
{
    const int terms = z < 1e-4 ? 5 : z < 1e-2 ? 11 : TERMS;
    for (int k = 0; k <= order; k++) {
        double sum = 0.0;
        for (int n = terms - 1; n >= 0; n--) sum = sum * z + series[n][k];
        G[k] = sum;
    }
}

void kd_rotation_factor(double y, double root, int order, double G[4])
{
    const double r2 = root * root, below_one = r2 / (1.0 + y);
    // by the series near y = 1; elsewhere G from the angle itself, derivatives by recursion
    if (y > 0.0 && below_one < NEAR_ONE) {
        factor_near_one(0.5 * below_one, order, G);
        return;
    }
    G[0] = root > 0.0 ? 2.0 * atan2(root, y) / root : 2.0;
    G[1] = (y * G[0] - 2.0) / r2;
    G[2] = (G[0] + 3.0 * y * G[1]) / r2;
    G[3] = (4.0 * G[1] + 5.0 * y * G[2]) / r2;
}

static double component(kd_vec3 a, int i)
{
    return i == 0 ? a.x : i == 1 ? a.y : a.z;
}

static kd_vec3 unit(int i)
{
    return kd_vec(i == 0, i == 1, i == 2);
}

// ---- quaternions ----------------------------------------------------------------------------------------------------

typedef struct quaternion {
    double  w;
    kd_vec3 v;
} quaternion;

static quaternion of(const kd_relative *rel)
{
    const kd_quat q = kd_quat_of_matrix(&rel->C);
    return (quaternion){q.w, kd_vec(q.x, q.y, q.z)};
}

// 1/2 (0, w) q: how q changes with a turn w
static quaternion turned(kd_vec3 w, quaternion q)
{
    return (quaternion){-0.5 * kd_vec_dot(w, q.v), kd_vec_scale(0.5, kd_vec_axpy(kd_vec_cross(w, q.v), q.w, w))};
}

static quaternion sum(quaternion a, quaternion b)
{
    return (quaternion){a.w + b.w, kd_vec_add(a.v, b.v)};
}

// ---- rotation vector ------------------------------------------------------------------------------------------------

// N_i = 1/2 G (q0 e_i + q x e_i) - 1/2 G' q_i q
static kd_vec3 gradient(quaternion q, const double G[4], int i)
{
    const kd_vec3 side = kd_vec_axpy(kd_vec_cross(q.v, unit(i)), q.w, unit(i));
    return kd_vec_axpy(kd_vec_scale(0.5 * G[0], side), -0.5 * G[1] * component(q.v, i), q.v);
}

void kd_rotation_find(const kd_relative *rel, kd_rotation_at *at)
{
    const quaternion q = of(rel);
    double           G[4];
    kd_rotation_factor(q.w, kd_vec_norm(q.v), 1, G);
    at->phi = kd_vec_scale(G[0], q.v);
    for (int i = 0; i < 3; i++) at->N[i] = gradient(q, G, i);
}

double kd_rotation_value(const kd_relative *rel, int i)
{
    if (rel->turn) return component(rel->turn->phi, i);
    const quaternion q = of(rel);
    double           G[4];
    kd_rotation_factor(q.w, kd_vec_norm(q.v), 0, G);
    return G[0] * component(q.v, i);
}

// q' = 1/2 omega q, q'' = 1/2 (alpha q + omega q'), and their changes along the tangent
kd_jet kd_rotation_jet(const kd_relative *rel, const kd_tangent *e, int i)
{
    // q and its derivatives in time and along the tangent by half turns, then G(q0) q_i by the chain rule
    const quaternion q = of(rel), q1 = turned(rel->omega, q), q2 = sum(turned(rel->alpha, q), turned(rel->omega, q1));
    const quaternion d = turned(e->w, q), d1 = sum(turned(e->omega, q), turned(rel->omega, d));
    const quaternion d2 =
        sum(sum(turned(e->alpha, q), turned(rel->alpha, d)), sum(turned(e->omega, q1), turned(rel->omega, d1)));
    const kd_jet scalar = {q.w, q1.w, q2.w, d.w, d1.w, d2.w};
    const kd_jet vector = {component(q.v, i), component(q1.v, i), component(q2.v, i),
                           component(d.v, i), component(d1.v, i), component(d2.v, i)};
    double       G[4];
    kd_rotation_factor(q.w, kd_vec_norm(q.v), 3, G);
    return kd_jet_mul(kd_jet_chain1(scalar, G[0], G[1], G[2], G[3]), vector);
}

kd_vec3 kd_rotation_gradient(const kd_relative *rel, int i)
{
    if (rel->turn) return rel->turn->N[i];
    const quaternion q = of(rel);
    double           G[4];
    kd_rotation_factor(q.w, kd_vec_norm(q.v), 1, G);
    return gradient(q, G, i);
}

kd_vec3 kd_rotation_curvature(const kd_relative *rel, int i, kd_vec3 w)
{
    const quaternion q = of(rel), d = turned(w, q);
    const kd_vec3    side = kd_vec_axpy(kd_vec_cross(q.v, unit(i)), q.w, unit(i));
    const kd_vec3    d_side = kd_vec_axpy(kd_vec_cross(d.v, unit(i)), d.w, unit(i));
    double           G[4];
    kd_rotation_factor(q.w, kd_vec_norm(q.v), 2, G);
    // product rule over G, side and q_i q of the gradient
    kd_vec3 out = kd_vec_scale(0.5 * G[0], d_side);
    out = kd_vec_axpy(out, 0.5 * G[1] * d.w, side);
    out = kd_vec_axpy(out, -0.5 * (G[2] * d.w * component(q.v, i) + G[1] * component(d.v, i)), q.v);
    return kd_vec_axpy(out, -0.5 * G[1] * component(q.v, i), d.v);
}
