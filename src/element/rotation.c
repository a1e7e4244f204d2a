// rotation.c: rotation vector of a relative rotation, with its derivatives. Equations: rotation.h
#include "element/rotation.h"

#include <math.h>

enum { TERMS = 18 };

static const double NEAR_ONE = 0.1; // of 1 - y: up to here the series has all digits with TERMS terms

// G = 2 sum a_n z^n, z = (1 - y)/2, a_n = a_(n-1) 2n/(2n + 1): the series of asin(x)/(x sqrt(1 - x^2)) with x^2 = z.
// A derivative by y brings a factor -1/2.
static void factor_near_one(double z, double G[4])
{
    // sums by Horner from the last term: first three derivatives
    double a[TERMS + 3] = {1.0}, sum[3] = {0.0, 0.0, 0.0};
    for (int n = 1; n < TERMS + 3; n++) a[n] = a[n - 1] * (2.0 * n) / (2.0 * n + 1.0);
    for (int n = TERMS - 1; n >= 0; n--) {
        sum[0] = sum[0] * z + a[n + 1] * (n + 1);
        sum[1] = sum[1] * z + a[n + 2] * (n + 2) * (n + 1);
        sum[2] = sum[2] * z + a[n + 3] * (n + 3) * (n + 2) * (n + 1);
    }
    G[1] = -sum[0];
    G[2] = 0.5 * sum[1];
    G[3] = -0.25 * sum[2];
}

void kd_rotation_factor(double y, double root, double G[4])
{
    const double r2 = root * root, below_one = r2 / (1.0 + y);
    // G from the angle itself, which is exact; derivatives by the series near y = 1, by recursion elsewhere
    G[0] = root > 0.0 ? 2.0 * atan2(root, y) / root : 2.0;
    if (y > 0.0 && below_one < NEAR_ONE) {
        factor_near_one(0.5 * below_one, G);
        return;
    }
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

double kd_rotation_value(const kd_relative *rel, int i)
{
    const quaternion q = of(rel);
    const double     root = kd_vec_norm(q.v);
    return (root > 0.0 ? 2.0 * atan2(root, q.w) / root : 2.0) * component(q.v, i);
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
    kd_rotation_factor(q.w, kd_vec_norm(q.v), G);
    return kd_jet_mul(kd_jet_chain1(scalar, G[0], G[1], G[2], G[3]), vector);
}

kd_vec3 kd_rotation_gradient(const kd_relative *rel, int i)
{
    const quaternion q = of(rel);
    // q0 e_i + q x e_i
    const kd_vec3 side = kd_vec_axpy(kd_vec_cross(q.v, unit(i)), q.w, unit(i));
    double        G[4];
    kd_rotation_factor(q.w, kd_vec_norm(q.v), G);
    return kd_vec_axpy(kd_vec_scale(0.5 * G[0], side), -0.5 * G[1] * component(q.v, i), q.v);
}

kd_vec3 kd_rotation_curvature(const kd_relative *rel, int i, kd_vec3 w)
{
    const quaternion q = of(rel), d = turned(w, q);
    const kd_vec3    side = kd_vec_axpy(kd_vec_cross(q.v, unit(i)), q.w, unit(i));
    const kd_vec3    d_side = kd_vec_axpy(kd_vec_cross(d.v, unit(i)), d.w, unit(i));
    double           G[4];
    kd_rotation_factor(q.w, kd_vec_norm(q.v), G);
    // product rule over G, side and q_i q of the gradient
    kd_vec3 out = kd_vec_scale(0.5 * G[0], d_side);
    out = kd_vec_axpy(out, 0.5 * G[1] * d.w, side);
    out = kd_vec_axpy(out, -0.5 * (G[2] * d.w * component(q.v, i) + G[1] * component(d.v, i)), q.v);
    return kd_vec_axpy(out, -0.5 * G[1] * component(q.v, i), d.v);
}
