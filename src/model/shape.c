// shape.c: mass, centre and inertia of simple shapes of uniform density, and of bodies made of several.
//
//     sphere    m 2/5 r^2                                       about each axis
//     box       m/12 (b^2 + c^2)                                about x, edges a b c
//     cylinder  m/12 (3 r^2 + l^2) across, m/2 r^2 along z      (rod: the same)
//     tube      m/12 (3 (r1^2 + r2^2) + l^2), m/2 (r1^2 + r2^2)
//     mesh      moments of the surface (docs/methods/surface.md), by the 3rd and 5th power of its scale
// Sums by Steiner's rule: I_S = sum (R_i I_i R_i' + m_i (d'd 1 - d d')), d = c_i - c.
#include "core/pi.h"
#include "model/build.h"
#include "model/mesh_shape.h"

static const double pi = KD_PI;

double kd_shape_volume(const kd_shape *shape)
{
    const double *s = shape->size;
    // size[] by kind: radius; edges; radius and length; both radii and length
    switch (shape->kind) {
    case KD_SPHERE:
        return 4.0 / 3.0 * pi * s[0] * s[0] * s[0];
    case KD_BOX:
        return s[0] * s[1] * s[2];
    case KD_CYLINDER:
    case KD_ROD:
        return pi * s[0] * s[0] * s[1];
    case KD_TUBE:
        return pi * fabs(s[1] * s[1] - s[0] * s[0]) * s[2];
    case KD_MESH:
        return shape->read && shape->read->closed ? shape->read->moments.volume * fabs(s[0] * s[0] * s[0]) : 0.0;
    default:
        return 0.0;
    }
}

kd_sym3 kd_shape_inertia(const kd_shape *shape, double mass)
{
    const double *s = shape->size, m = mass;
    double        x = 0.0, y = 0.0, z = 0.0;
    // formulas of the head, about the centre of the shape
    switch (shape->kind) {
    case KD_SPHERE:
        x = y = z = 0.4 * m * s[0] * s[0];
        break;
    case KD_BOX:
        x = m / 12.0 * (s[1] * s[1] + s[2] * s[2]);
        y = m / 12.0 * (s[0] * s[0] + s[2] * s[2]);
        z = m / 12.0 * (s[0] * s[0] + s[1] * s[1]);
        break;
    case KD_CYLINDER:
    case KD_ROD:
        x = y = m / 12.0 * (3.0 * s[0] * s[0] + s[1] * s[1]);
        z = 0.5 * m * s[0] * s[0];
        break;
    case KD_TUBE:
        x = y = m / 12.0 * (3.0 * (s[0] * s[0] + s[1] * s[1]) + s[2] * s[2]);
        z = 0.5 * m * (s[0] * s[0] + s[1] * s[1]);
        break;
    case KD_MESH: {
        if (!shape->read || !shape->read->closed) break;
        const kd_surface_moments *moments = &shape->read->moments;
        const kd_sym3            *I = &moments->inertia;
        const double              f = m / moments->volume * s[0] * s[0];
        return (kd_sym3){f * I->xx, f * I->yy, f * I->zz, f * I->xy, f * I->xz, f * I->yz};
    }
    default:
        break;
    }
    return (kd_sym3){x, y, z, 0.0, 0.0, 0.0};
}

kd_mass kd_mass_add(const kd_mass *a, const kd_mass *b)
{
    kd_mass sum = {.mass = a->mass + b->mass};
    // without mass there is no common centre: that of the first one
    if (sum.mass > 0.0) {
        sum.centre = kd_vec_scale(1.0 / sum.mass, kd_vec_axpy(kd_vec_scale(a->mass, a->centre), b->mass, b->centre));
    } else {
        sum.centre = a->centre;
    }
    const kd_sym3 A = kd_sym_steiner(&a->inertia, a->mass, kd_vec_sub(a->centre, sum.centre));
    const kd_sym3 B = kd_sym_steiner(&b->inertia, b->mass, kd_vec_sub(b->centre, sum.centre));
    sum.inertia = (kd_sym3){A.xx + B.xx, A.yy + B.yy, A.zz + B.zz, A.xy + B.xy, A.xz + B.xz, A.yz + B.yz};
    return sum;
}

kd_vec3 kd_shape_centre(const kd_shape *shape)
{
    const kd_vec3 r = kd_vec_of(shape->position);
    if (shape->kind != KD_MESH || !shape->read || !shape->read->closed) return r;
    const kd_mat3 R = kd_quat_matrix(kd_quat_of(shape->orientation));
    return kd_vec_axpy(r, shape->size[0], kd_mat_vec(&R, shape->read->moments.centre));
}

static kd_mass mass_of(const kd_shape *shape, double density)
{
    // in the axes of the body
    const double  m = density * kd_shape_volume(shape);
    const kd_mat3 R = kd_quat_matrix(kd_quat_of(shape->orientation));
    const kd_sym3 I = kd_shape_inertia(shape, m);
    return (kd_mass){m, kd_shape_centre(shape), kd_sym_rotate(&R, &I)};
}

bool kd_shapes_mass(const kd_shape *shape, int n, double mass, kd_mass *out)
{
    // a total mass without any density: all shapes have the same
    bool dense = false;
    for (int i = 0; i < n; i++) dense = dense || shape[i].density > 0.0;
    kd_mass sum = {0};
    for (int i = 0; i < n; i++) {
        const kd_mass part = mass_of(&shape[i], dense || isnan(mass) ? shape[i].density : 1.0);
        sum = i == 0 ? part : kd_mass_add(&sum, &part);
    }
    if (!(sum.mass > 0.0)) return false;
    const double   f = isnan(mass) ? 1.0 : mass / sum.mass; // the shapes give the distribution, the mass its sum
    const kd_sym3 *I = &sum.inertia;
    *out = (kd_mass){f * sum.mass, sum.centre, {f * I->xx, f * I->yy, f * I->zz, f * I->xy, f * I->xz, f * I->yz}};
    return true;
}

// Cyclic Jacobi rotations: A <- J' A J with the angle that makes one off-diagonal entry zero (Golub and Van Loan 8.5).
void kd_sym_eigenvalues(const kd_sym3 *S, double value[3])
{
    // the full matrix: rotations touch both triangles
    double A[3][3] = {{S->xx, S->xy, S->xz}, {S->xy, S->yy, S->yz}, {S->xz, S->yz, S->zz}};
    for (int sweep = 0; sweep < 12; sweep++) { // converges quadratically: six sweeps reach rounding
        for (int p = 0; p < 2; p++) {
            for (int q = p + 1; q < 3; q++) {
                if (A[p][q] == 0.0) continue;
                // t = tan of the angle, the smaller root of t^2 + 2 tau t - 1 = 0
                const double tau = (A[q][q] - A[p][p]) / (2.0 * A[p][q]);
                const double t = (tau >= 0.0 ? 1.0 : -1.0) / (fabs(tau) + sqrt(1.0 + tau * tau));
                const double c = 1.0 / sqrt(1.0 + t * t), s = t * c;
                for (int k = 0; k < 3; k++) { // columns
                    const double x = A[k][p], y = A[k][q];
                    A[k][p] = c * x - s * y;
                    A[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) { // rows
                    const double x = A[p][k], y = A[q][k];
                    A[p][k] = c * x - s * y;
                    A[q][k] = s * x + c * y;
                }
                A[p][q] = A[q][p] = 0.0;
            }
        }
    }
    // rising
    for (int i = 0; i < 3; i++) value[i] = A[i][i];
    for (int i = 1; i < 3; i++) {
        for (int k = i; k > 0 && value[k] < value[k - 1]; k--) {
            const double x = value[k];
            value[k] = value[k - 1];
            value[k - 1] = x;
        }
    }
}
