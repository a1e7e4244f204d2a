// Geometric stiffness: natural frequencies of rotating beams from the data of a flexible body alone, against converged values of
// Ritz's method (flapwise and in the plane of rotation, without Coriolis terms, hub radius 0 and L), and Euler's buckling load.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flexible/beams.h"
#include "flexible/body.h"
#include "flexible/reduction_parts.h"

enum { ELEMENTS = 60 };

// A slender beam with E I = rho A = L = 1, along `along` from `from` on, one axis of its section along `up`
static kd_flexible_body make_turned(double from, kd_vec3 along, kd_vec3 up, int modes, int normal)
{
    static const char    *names[] = {"root", "tip"};
    const kd_vec3         points[] = {kd_vec_scale(from, along), kd_vec_scale(from + 1, along)};
    const double          thin = 1e-8; // I/A
    const kd_beam_section section = {.area = 1, .Iy = thin, .Iz = thin, .torsion = 2 * thin};
    const kd_beam         beam = {0, 1, ELEMENTS, 1 / thin, 0.4 / thin, 1, section, section, up};
    kd_fe_structure       s;
    kd_reduction          r;
    kd_flexible_body      b;
    char                  message[300];
    assert_int_equal(kd_beams_make(names, points, 2, &beam, 1, NULL, 0, &s, message, sizeof message), KD_OK);
    const kd_interface face[] = {{"root", 1, s.set[0].node, points[0], false},
                                 {"tip", 1, s.set[1].node, points[1], false}};
    assert_int_equal(
        kd_reduce(&s, face, 2, &(kd_reduction_options){.modes = normal, .dynamic = true}, &r, message, sizeof message),
        KD_OK);
    assert_int_equal(
        kd_flexible_body_make(&r, &(kd_reference){KD_REFERENCE_TANGENT, 0, 0}, modes, 0, &b, message, sizeof message),
        KD_OK);
    kd_reduction_release(&r);
    kd_fe_structure_release(&s);
    return b;
}

static kd_flexible_body make_beam(double from, int modes, int normal)
{
    return make_turned(from, kd_vec(1, 0, 0), kd_vec(0, 0, 1), modes, normal);
}

// Frequencies at angular velocity W about n: K_e + W^2 (sum n_i n_j K0w_ij - (tr B - n'B n)), the last: what turns along
static void rotating_frequencies(const kd_flexible_body *b, double W, kd_vec3 n, double *omega)
{
    const size_t nq = (size_t)b->nq;
    const double axis[3] = {n.x, n.y, n.z};
    const double product[6] = {n.x * n.x, n.y * n.y, n.z * n.z, n.x * n.y, n.y * n.z, n.x * n.z};
    double      *K = test_calloc(nq * nq, sizeof *K), *M = test_calloc(nq * nq, sizeof *M);
    for (size_t i = 0; i < nq * nq; i++) {
        const double *B = b->B + 9 * i;
        double        sum = -(B[0] + B[4] + B[8]);
        for (size_t k = 0; k < 9; k++) sum += axis[k % 3] * axis[k / 3] * B[k];
        for (size_t k = 0; k < 6; k++) sum += product[k] * b->K0w[k * nq * nq + i];
        K[i] = b->Ke[i] + W * W * sum;
        M[i] = b->Me[i];
    }
    assert_int_equal(kd_symmetric_pencil(b->nq, K, M, omega), KD_OK);
    for (size_t i = 0; i < nq; i++) omega[i] = sqrt(omega[i]);
    test_free(K);
    test_free(M);
}

// Both tables: the three lowest frequencies in each plane.
static void rotating_beams_stiffen(void **state)
{
    (void)state;
    static const struct {
        double hub, speed, flap[3], plane[3];
    } row[] = {
        {0, 1, {3.68164681, 22.18101115, 61.84176259}, {3.54323627, 22.15845788, 61.83367691}},
        {0, 2, {4.13731957, 22.61492196, 62.27318411}, {3.62179696, 22.52631117, 62.24105927}},
        {0, 4, {5.58500142, 24.27334939, 63.96676049}, {3.89772252, 23.94150143, 63.84157304}},
        {0, 8, {9.25683760, 29.99538189, 70.29296219}, {4.65714960, 28.90887294, 69.83624083}},
        {0, 12, {13.17015049, 37.60311233, 79.61447849}, {5.42704928, 35.63697598, 78.70492478}},
        {1, 4, {7.47504779, 26.95726167, 66.98677230}, {6.31477153, 26.65884388, 66.86723909}},
        {1, 12, {19.72154194, 51.07013401, 98.52679716}, {15.65053406, 49.64029198, 97.79330120}},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        // modes in each plane: 4 to speed 2, 6 to 4, 8 to 8, 12 to 12; twice as many with a hub
        const int modes = (row[i].speed <= 2   ? 8
                           : row[i].speed <= 4 ? 12
                           : row[i].speed <= 8 ? 16
                                               : 24) *
                          (row[i].hub > 0 ? 2 : 1);
        kd_flexible_body b = make_beam(row[i].hub, modes, modes + 12);
        double           omega[60];
        rotating_frequencies(&b, row[i].speed, kd_vec(0, 0, 1), omega);
        // both planes in turn, the plane of rotation is lower
        for (int k = 0; k < 3; k++) {
            const double plane = omega[2 * k], flap = omega[2 * k + 1];
            if (!(fabs(flap / row[i].flap[k] - 1) < 1e-4 && fabs(plane / row[i].plane[k] - 1) < 1e-4))
                print_error("hub %g, speed %g: %.8f %.8f instead of %.8f %.8f\n", row[i].hub, row[i].speed, flap, plane,
                            row[i].flap[k], row[i].plane[k]);
            assert_true(fabs(flap / row[i].flap[k] - 1) < 1e-4 && fabs(plane / row[i].plane[k] - 1) < 1e-4);
        }
        kd_flexible_body_release(&b);
    }
}

static kd_vec3 unit(kd_vec3 a)
{
    return kd_vec_scale(1 / sqrt(kd_vec_dot(a, a)), a);
}

// The same beam along any direction, about any axis across: products of two components of the angular velocity stiffen, too.
static void turned_beams_stiffen_alike(void **state)
{
    (void)state;
    const double flap[] = {7.47504779, 26.95726167}, plane[] = {6.31477153, 26.65884388}; // hub 1, speed 4
    for (int k = 0; k < 4; k++) {
        const kd_vec3    along = unit(kd_vec(1 - 0.6 * k, 0.5 * k, 0.8 - 0.3 * k * k));
        const kd_vec3    up = unit(kd_vec_cross(along, kd_vec(0.3, -1, 0.7 * k)));
        kd_flexible_body b = make_turned(1, along, up, 24, 36);
        double           omega[60];
        rotating_frequencies(&b, 4, up, omega);
        for (int i = 0; i < 2; i++)
            if (!(fabs(omega[2 * i + 1] / flap[i] - 1) < 1e-4 && fabs(omega[2 * i] / plane[i] - 1) < 1e-4))
                fail_msg("turn %d: %.8f %.8f instead of %.8f %.8f", k, omega[2 * i + 1], omega[2 * i], flap[i],
                         plane[i]);
        kd_flexible_body_release(&b);
    }
}

// The force at the tip that takes all stiffness from the cantilever is pi^2 E I/(4 L^2); acceleration along the beam: 7.8373 E I/L^3.
static void cantilevers_buckle(void **state)
{
    (void)state;
    kd_flexible_body b = make_beam(0, 16, 16);
    const size_t     nq = (size_t)b.nq;
    const struct {
        const double *K0;
        double        sign, load;
    } loads[] = {{b.K0F + 3 * nq * nq, 1, 2.4674011002723395}, {b.K0t, -1, 7.837347}};
    for (size_t i = 0; i < 2; i++) {
        double *A = test_calloc(nq * nq, sizeof *A), *B = test_calloc(nq * nq, sizeof *B), nu[40];
        // K_e x = load (-K0) x: the largest 1/load
        for (size_t k = 0; k < nq * nq; k++) {
            A[k] = loads[i].sign * loads[i].K0[k];
            B[k] = b.Ke[k];
        }
        assert_int_equal(kd_symmetric_pencil(b.nq, A, B, nu), KD_OK);
        const double most = fmax(-nu[0], nu[nq - 1]);
        if (!(fabs(1 / most / loads[i].load - 1) < 3e-4))
            print_error("load %zu: %.8f instead of %.8f\n", i, 1 / most, loads[i].load);
        assert_true(fabs(1 / most / loads[i].load - 1) < 3e-4);
        test_free(A);
        test_free(B);
    }
    kd_flexible_body_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotating_beams_stiffen),
        cmocka_unit_test(turned_beams_stiffen_alike),
        cmocka_unit_test(cantilevers_buckle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
