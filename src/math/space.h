// space.h: vectors, rotations and unit quaternions of three-dimensional space, by value and inlined.
//
// A kd_mat3 holds its columns: R_ab = [x y z] are the axes of frame b written in frame a, v_a = R_ab v_b.
// Quaternions are scalar first; q and -q are the same rotation; R(q) is that of q/|q|.
#ifndef KARDAN_MATH_SPACE_H
#define KARDAN_MATH_SPACE_H

#include <math.h>

#include "core/pi.h"

typedef struct kd_vec3 {
    double x, y, z;
} kd_vec3;

typedef struct kd_mat3 {
    kd_vec3 x, y, z; // columns
} kd_mat3;

typedef struct kd_sym3 { // symmetric
    double xx, yy, zz, xy, xz, yz;
} kd_sym3;

typedef struct kd_quat {
    double w, x, y, z;
} kd_quat;

// ---- vectors --------------------------------------------------------------------------------------------------------
static inline kd_vec3 kd_vec(double x, double y, double z)
{
    return (kd_vec3){x, y, z};
}
static inline kd_vec3 kd_vec_of(const double *a)
{
    return (kd_vec3){a[0], a[1], a[2]};
}
static inline void kd_vec_to(kd_vec3 a, double *out)
{
    out[0] = a.x;
    out[1] = a.y;
    out[2] = a.z;
}
static inline kd_vec3 kd_vec_add(kd_vec3 a, kd_vec3 b)
{
    return (kd_vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline kd_vec3 kd_vec_sub(kd_vec3 a, kd_vec3 b)
{
    return (kd_vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline kd_vec3 kd_vec_neg(kd_vec3 a)
{
    return (kd_vec3){-a.x, -a.y, -a.z};
}
static inline kd_vec3 kd_vec_scale(double s, kd_vec3 a)
{
    return (kd_vec3){s * a.x, s * a.y, s * a.z};
}
// a + s b
static inline kd_vec3 kd_vec_axpy(kd_vec3 a, double s, kd_vec3 b)
{
    return (kd_vec3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}
static inline double kd_vec_dot(kd_vec3 a, kd_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline kd_vec3 kd_vec_cross(kd_vec3 a, kd_vec3 b)
{
    return (kd_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline double kd_vec_norm(kd_vec3 a)
{
    return sqrt(kd_vec_dot(a, a));
}

// ---- matrices -------------------------------------------------------------------------------------------------------
static inline kd_mat3 kd_mat_identity(void)
{
    return (kd_mat3){{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
}
// A b
static inline kd_vec3 kd_mat_vec(const kd_mat3 *A, kd_vec3 b)
{
    return (kd_vec3){A->x.x * b.x + A->y.x * b.y + A->z.x * b.z, A->x.y * b.x + A->y.y * b.y + A->z.y * b.z,
                     A->x.z * b.x + A->y.z * b.y + A->z.z * b.z};
}
// A' b
static inline kd_vec3 kd_mat_tvec(const kd_mat3 *A, kd_vec3 b)
{
    return (kd_vec3){kd_vec_dot(A->x, b), kd_vec_dot(A->y, b), kd_vec_dot(A->z, b)};
}
static inline kd_mat3 kd_mat_mul(const kd_mat3 *A, const kd_mat3 *B)
{
    return (kd_mat3){kd_mat_vec(A, B->x), kd_mat_vec(A, B->y), kd_mat_vec(A, B->z)};
}
// A' B
static inline kd_mat3 kd_mat_tmul(const kd_mat3 *A, const kd_mat3 *B)
{
    return (kd_mat3){kd_mat_tvec(A, B->x), kd_mat_tvec(A, B->y), kd_mat_tvec(A, B->z)};
}
static inline kd_mat3 kd_mat_transpose(const kd_mat3 *A)
{
    return (kd_mat3){{A->x.x, A->y.x, A->z.x}, {A->x.y, A->y.y, A->z.y}, {A->x.z, A->y.z, A->z.z}};
}
static inline kd_vec3 kd_sym_vec(const kd_sym3 *A, kd_vec3 b)
{
    return (kd_vec3){A->xx * b.x + A->xy * b.y + A->xz * b.z, A->xy * b.x + A->yy * b.y + A->yz * b.z,
                     A->xz * b.x + A->yz * b.y + A->zz * b.z};
}
// R A R'
static inline kd_sym3 kd_sym_rotate(const kd_mat3 *R, const kd_sym3 *A)
{
    kd_mat3 Rt = kd_mat_transpose(R);
    kd_vec3 a = kd_sym_vec(A, Rt.x), b = kd_sym_vec(A, Rt.y), c = kd_sym_vec(A, Rt.z); // columns of A R'
    return (kd_sym3){kd_vec_dot(Rt.x, a), kd_vec_dot(Rt.y, b), kd_vec_dot(Rt.z, c),
                     kd_vec_dot(Rt.x, b), kd_vec_dot(Rt.x, c), kd_vec_dot(Rt.y, c)};
}
// A + m (c'c I - c c'): inertia about a point at distance c from the centre of mass (Steiner)
static inline kd_sym3 kd_sym_steiner(const kd_sym3 *A, double m, kd_vec3 c)
{
    return (kd_sym3){A->xx + m * (c.y * c.y + c.z * c.z),
                     A->yy + m * (c.x * c.x + c.z * c.z),
                     A->zz + m * (c.x * c.x + c.y * c.y),
                     A->xy - m * c.x * c.y,
                     A->xz - m * c.x * c.z,
                     A->yz - m * c.y * c.z};
}

// ---- unit quaternions -----------------------------------------------------------------------------------------------
static inline kd_quat kd_quat_identity(void)
{
    return (kd_quat){1, 0, 0, 0};
}
static inline kd_quat kd_quat_of(const double *q)
{
    return (kd_quat){q[0], q[1], q[2], q[3]};
}
static inline void kd_quat_to(kd_quat q, double *out)
{
    out[0] = q.w;
    out[1] = q.x;
    out[2] = q.y;
    out[3] = q.z;
}
static inline double kd_quat_norm2(kd_quat q)
{
    return q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
}
static inline kd_quat kd_quat_normalised(kd_quat q)
{
    double s = 1.0 / sqrt(kd_quat_norm2(q));
    return (kd_quat){s * q.w, s * q.x, s * q.y, s * q.z};
}
// first b, then a: R(a b) = R(a) R(b)
static inline kd_quat kd_quat_mul(kd_quat a, kd_quat b)
{
    return (kd_quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                     a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
static inline kd_quat kd_quat_conjugate(kd_quat q)
{
    return (kd_quat){q.w, -q.x, -q.y, -q.z};
}
// rotation by the vector e: axis e/|e|, angle |e|
static inline kd_quat kd_quat_exp(kd_vec3 e)
{
    const double y = 0.25 * kd_vec_dot(e, e); // (n/2)^2
    double       c, s;                        // cos(n/2), sin(n/2)/n
    if (y < 0.01) {                           // series, exact to rounding
        c = 1.0 - y * (1.0 / 2.0) *
                      (1.0 - y * (1.0 / 12.0) *
                                 (1.0 - y * (1.0 / 30.0) * (1.0 - y * (1.0 / 56.0) * (1.0 - y * (1.0 / 90.0)))));
        s = 0.5 *
            (1.0 - y * (1.0 / 6.0) *
                       (1.0 - y * (1.0 / 20.0) *
                                  (1.0 - y * (1.0 / 42.0) * (1.0 - y * (1.0 / 72.0) * (1.0 - y * (1.0 / 110.0))))));
    } else {
        const double half = sqrt(y);
        c = cos(half);
        s = 0.5 * sin(half) / half;
    }
    return (kd_quat){c, s * e.x, s * e.y, s * e.z};
}
// R(q/|q|); homogeneous of degree 0, so that iterates off the unit sphere see a rotation, too
static inline kd_mat3 kd_quat_matrix(kd_quat q)
{
    double s = 2.0 / kd_quat_norm2(q);
    double xx = s * q.x * q.x, yy = s * q.y * q.y, zz = s * q.z * q.z;
    double xy = s * q.x * q.y, xz = s * q.x * q.z, yz = s * q.y * q.z;
    double wx = s * q.w * q.x, wy = s * q.w * q.y, wz = s * q.w * q.z;
    return (kd_mat3){
        {1.0 - yy - zz, xy + wz, xz - wy}, {xy - wz, 1.0 - xx - zz, yz + wx}, {xz + wy, yz - wx, 1.0 - xx - yy}};
}
// The quaternion (w >= 0) of a rotation matrix: the largest of |w|, |x|, |y|, |z| is computed first.
static inline kd_quat kd_quat_of_matrix(const kd_mat3 *R)
{
    double  t = R->x.x + R->y.y + R->z.z;
    kd_quat q;
    if (t >= R->x.x && t >= R->y.y && t >= R->z.z) {
        q = (kd_quat){1.0 + t, R->y.z - R->z.y, R->z.x - R->x.z, R->x.y - R->y.x};
    } else if (R->x.x >= R->y.y && R->x.x >= R->z.z) {
        q = (kd_quat){R->y.z - R->z.y, 1.0 + R->x.x - R->y.y - R->z.z, R->y.x + R->x.y, R->z.x + R->x.z};
    } else if (R->y.y >= R->z.z) {
        q = (kd_quat){R->z.x - R->x.z, R->y.x + R->x.y, 1.0 + R->y.y - R->x.x - R->z.z, R->z.y + R->y.z};
    } else {
        q = (kd_quat){R->x.y - R->y.x, R->z.x + R->x.z, R->z.y + R->y.z, 1.0 + R->z.z - R->x.x - R->y.y};
    }
    if (q.w < 0.0) q = (kd_quat){-q.w, -q.x, -q.y, -q.z};
    return kd_quat_normalised(q);
}

#endif
