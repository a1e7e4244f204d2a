// rotation.h: vectors, matrices (row i, column j: R[i][j]) and unit quaternions (scalar first, body to world) of the
// tests.
#ifndef KD_TEST_ROTATION_H
#define KD_TEST_ROTATION_H

#include <math.h>

static inline double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void cross(const double a[3], const double b[3], double out[3])
{
    const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    for (int i = 0; i < 3; i++) out[i] = c[i];
}

static inline void rotate(double R[3][3], const double a[3], double out[3]) // R a
{
    const double c[3] = {dot(R[0], a), dot(R[1], a), dot(R[2], a)};
    for (int i = 0; i < 3; i++) out[i] = c[i];
}

static inline void rotate_back(double R[3][3], const double a[3], double out[3]) // R' a
{
    double c[3];
    for (int i = 0; i < 3; i++) c[i] = R[0][i] * a[0] + R[1][i] * a[1] + R[2][i] * a[2];
    for (int i = 0; i < 3; i++) out[i] = c[i];
}

// For |q| = 1; for other q the matrix is |q|^2 times a rotation.
static inline void matrix_of(const double q[4], double R[3][3])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double rows[3][3] = {{w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)},
                               {2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)},
                               {2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) R[i][j] = rows[i][j];
}

static inline void quaternion_product(const double a[4], const double b[4], double out[4])
{
    const double c[4] = {
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

// q' = q (0, omega) / 2, omega in the body
static inline void quaternion_rate(const double q[4], const double omega[3], double out[4])
{
    quaternion_product(q, (double[]){0, 0.5 * omega[0], 0.5 * omega[1], 0.5 * omega[2]}, out);
}

// q exp(e/2): turned by the rotation vector e of the body
static inline void quaternion_turn(const double q[4], const double e[3], double out[4])
{
    const double angle = sqrt(dot(e, e)), scale = angle > 0 ? sin(0.5 * angle) / angle : 0.5;
    quaternion_product(q, (double[]){cos(0.5 * angle), scale * e[0], scale * e[1], scale * e[2]}, out);
}

#endif
