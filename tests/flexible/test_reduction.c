// Reduction of structures: the published tables of Craig and Bampton's reduction of a rod, the error that is expected against the
// true one, modes that kardan chooses.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/pi.h"
#include "flexible/body.h"
#include "flexible/reduction_parts.h"
#include "math/dense.h"
#include "published.h"

static bool read_rod(kd_fe_structure *s)
{
    char path[4][500], message[500] = "";
    published("calculix/rod_free_matrices.sti.gz", path[0], sizeof path[0]);
    published("calculix/rod_free_matrices.mas.gz", path[1], sizeof path[1]);
    published("calculix/rod_mesh.inp", path[2], sizeof path[2]);
    published("calculix/rod_free_matrices.dof", path[3], sizeof path[3]);
    if (!path[0][0] || !path[3][0]) return false;
    const kd_fe_structure_files files = {.stiffness = path[0], .mass = path[1], .nodes = path[2], .dofs = path[3]};
    assert_int_equal(kd_fe_structure_read(&files, s, message, sizeof message), KD_OK);
    return true;
}

static void rod_interfaces(const kd_fe_structure *s, kd_interface face[2])
{
    const kd_node_set *left = kd_fe_structure_set(s, "left"), *right = kd_fe_structure_set(s, "RIGHT");
    assert_non_null(left);
    assert_non_null(right);
    face[0] = (kd_interface){"left", left->n, left->node, {0, 0, 0}, false};
    face[1] = (kd_interface){"right", right->n, right->node, {0.5, 0, 0}, false};
}

static void assert_frequencies(int n, const double *hertz, const double *omega, double relative)
{
    for (int k = 0; k < n; k++) {
        const double f = omega[k] / (2 * KD_PI);
        if (!(fabs(f - hertz[k]) < relative * hertz[k])) print_error("%d: %.10g instead of %.10g\n", k, f, hertz[k]);
        assert_true(fabs(f - hertz[k]) < relative * hertz[k]);
    }
}

// Craig and Bampton with 0, 2, 6, 12 modes: clamped and free frequencies of the published table.
static void the_rod_has_the_published_reductions(void **state)
{
    (void)state;
    static const struct {
        int    modes, count;
        double clamped[8], free[8];
    } row[] = {
        {0,
         6,
         {67.3224413, 100.7665042, 658.0155497, 979.8784592, 1534.755651, 2854.049351},
         {507.177578, 757.2887635, 1717.915247, 2552.043737, 3055.837935, 5692.153759}},
        {2,
         8,
         {67.02555274, 100.3085722, 418.8268705, 621.2562100, 1534.755649, 2190.640168, 2854.049348, 3241.927483},
         {424.6901357, 632.8707298, 1717.915158, 2552.043719, 3055.837927, 3775.026663, 5559.128123, 5692.153781}},
        {6,
         8,
         {67.00235011, 100.2762676, 417.2041536, 619.1550579, 1157.502522, 1400.194958, 1697.867568, 2238.893394},
         {423.2588323, 632.8707284, 1160.991070, 1709.607250, 2246.794621, 3055.837896, 5559.123881, 5692.153770}},
        {12,
         8,
         {67.00132208, 100.2696513, 417.0650405, 618.4362443, 1155.912516, 1395.447513, 1691.175821, 2233.408018},
         {423.0956778, 630.4383109, 1156.536739, 1701.464061, 2238.756190, 2791.902940, 3255.910321, 3650.387210}},
    };
    static const double exact_clamped[] = {67.00110838, 100.2687412, 417.0279005, 618.2909350,
                                           1155.344125, 1394.024553, 1689.135065, 2230.544356};
    static const double exact_free[] = {423.0411359, 630.0177236, 1155.084789, 1698.529679,
                                        2234.367605, 2779.708303, 3230.440228, 3629.227167};
    const bool          left[] = {true, false};
    kd_fe_structure     s;
    kd_interface        face[2];
    if (!read_rod(&s)) skip();
    rod_interfaces(&s, face);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        kd_reduction r;
        char         message[500];
        double       omega[40];
        int          count;
        assert_int_equal(
            kd_reduce(&s, face, 2, &(kd_reduction_options){.modes = row[i].modes}, &r, message, sizeof message), KD_OK);
        assert_int_equal(r.n, 12 + row[i].modes);
        assert_int_equal(kd_reduction_modes(&r, left, omega, NULL, &count), KD_OK);
        assert_frequencies(row[i].count, row[i].clamped, omega, 2e-9);
        assert_int_equal(kd_reduction_modes(&r, NULL, omega, NULL, &count), KD_OK);
        assert_frequencies(row[i].count, row[i].free, omega, 1e-8);
        if (i == 0) {
            assert_int_equal(kd_reduction_exact(&r, left, 8, omega, message, sizeof message), KD_OK);
            assert_frequencies(8, exact_clamped, omega, 1e-9);
            assert_int_equal(kd_reduction_exact(&r, NULL, 8, omega, message, sizeof message), KD_OK);
            assert_frequencies(8, exact_free, omega, 1e-9);
        }
        kd_reduction_release(&r);
    }
    kd_fe_structure_release(&s);
}

// The expected error of every frequency below the last normal mode is between half and twice the true one.
static void the_expected_error_is_the_true_one(void **state)
{
    (void)state;
    static const int  modes[] = {2, 6, 12, 20};
    const bool        left[] = {true, false}, right[] = {false, true};
    const bool *const held[] = {NULL, left, right};
    kd_fe_structure   s;
    kd_interface      face[2];
    char              message[500];
    double            exact[3][10], worst[2] = {1, 1};
    int               judged = 0;
    if (!read_rod(&s)) skip();
    rod_interfaces(&s, face);
    for (size_t i = 0; i < 2 * sizeof modes / sizeof *modes; i++) {
        kd_reduction               r;
        const kd_reduction_options o = {.modes = modes[i / 2], .dynamic = i % 2};
        assert_int_equal(kd_reduce(&s, face, 2, &o, &r, message, sizeof message), KD_OK);
        for (int h = 0; h < 3; h++) {
            double omega[10], error[10];
            if (i == 0) assert_int_equal(kd_reduction_exact(&r, held[h], 10, exact[h], message, sizeof message), KD_OK);
            const int wanted = modes[i / 2] < 10 ? modes[i / 2] : 10;
            assert_int_equal(kd_reduction_expect(&r, held[h], wanted, omega, error), KD_OK);
            for (int k = 0; k < wanted; k++) {
                const double truth = omega[k] / exact[h][k] - 1;
                if (truth < 1e-8 || omega[k] > r.fixed[r.nmodes - 1]) continue;
                const double ratio = error[k] / truth;
                judged++;
                worst[0] = fmin(worst[0], ratio);
                worst[1] = fmax(worst[1], ratio);
                if (!(ratio > 0.5 && ratio < 2))
                    print_error("%d modes%s, held %d, %d: expected %.3e, true %.3e\n", o.modes,
                                o.dynamic ? " dynamic" : "", h, k, error[k], truth);
            }
        }
        kd_reduction_release(&r);
    }
    print_message("%d frequencies: %.3f to %.3f of the true error\n", judged, worst[0], worst[1]);
    assert_true(judged > 60 && worst[0] > 0.5 && worst[1] < 2);
    kd_fe_structure_release(&s);
}

// Modes for a band: the frequencies up to there are within the tolerance of the structure that was not reduced.
static void a_band_is_filled(void **state)
{
    (void)state;
    const bool      left[] = {true, false};
    kd_fe_structure s;
    kd_interface    face[2];
    char            message[500];
    if (!read_rod(&s)) skip();
    rod_interfaces(&s, face);
    for (int kind = 0; kind < 2; kind++) {
        kd_reduction               r;
        double                     omega[60], exact[8];
        int                        count;
        const kd_reduction_options o = {.kind = kind ? KD_REDUCE_FREE : KD_REDUCE_FIXED, .band = 2 * KD_PI * 1500};
        const kd_status            status = kd_reduce(&s, face, 2, &o, &r, message, sizeof message);
        if (status < 0) print_error("%s\n", message);
        assert_int_equal(status, KD_OK);
        assert_int_equal(kd_reduction_exact(&r, left, 6, exact, message, sizeof message), KD_OK);
        assert_int_equal(kd_reduction_modes(&r, left, omega, NULL, &count), KD_OK);
        double worst = 0;
        for (int k = 0; k < 6; k++) worst = fmax(worst, omega[k] / exact[k] - 1);
        print_message("%d shapes, %d normal modes, expected %.2e, clamped %.2e\n", r.n, r.nmodes, r.expected, worst);
        assert_true(worst < 1e-4 && r.expected < 1e-4 && r.n <= 40);
        kd_reduction_release(&r);
    }
    kd_fe_structure_release(&s);
}

// A band that ends between a true frequency and the one of the reduced structure, which lies above it: the mode is in the band.
static void the_end_of_a_band_is_in_it(void **state)
{
    (void)state;
    const bool      left[] = {true, false}, right[] = {false, true};
    const bool     *held[] = {NULL, left, right};
    kd_fe_structure s;
    kd_interface    face[2];
    char            message[500];
    if (!read_rod(&s)) skip();
    rod_interfaces(&s, face);
    double       exact[3][6];
    kd_reduction r;
    assert_int_equal(kd_reduce(&s, face, 2, &(kd_reduction_options){.modes = 2}, &r, message, sizeof message), KD_OK);
    for (int h = 0; h < 3; h++)
        assert_int_equal(kd_reduction_exact(&r, held[h], 6, exact[h], message, sizeof message), KD_OK);
    kd_reduction_release(&r);
    for (int k = 0; k < 3; k++) {
        const double               band = exact[0][k] * (1 + 1e-10);
        const kd_reduction_options o = {.band = band};
        double                     omega[60], worst = 0;
        int                        count, in_band = 0;
        assert_int_equal(kd_reduce(&s, face, 2, &o, &r, message, sizeof message), KD_OK);
        for (int h = 0; h < 3; h++) {
            assert_int_equal(kd_reduction_modes(&r, held[h], omega, NULL, &count), KD_OK);
            for (int i = 0; i < 6 && exact[h][i] <= band; i++, in_band++)
                worst = fmax(worst, omega[i] / exact[h][i] - 1);
        }
        if (!(r.expected > 0.5 * worst && r.expected < 2 * worst))
            print_error("%d: expected %.3e, true %.3e\n", k, r.expected, worst);
        assert_int_equal(r.judged, in_band);
        assert_true(worst > 1e-8 && r.expected > 0.5 * worst && r.expected < 2 * worst);
        kd_reduction_release(&r);
    }
    kd_fe_structure_release(&s);
}

// The rod at 500 rad/s about z, held at its left end: K_e + W^2 (K0w - B_xx - B_yy) has the frequencies of the program, and with Coriolis
// terms 2 W int phi_k' e_z~ phi_l those of the full matrices (scipy).
static void the_rotating_rod_is_stiffened(void **state)
{
    (void)state;
    const double     W = 500;
    kd_fe_structure  s;
    kd_interface     face[2];
    kd_reduction     r;
    kd_flexible_body b;
    char             message[500] = "", path[2][500];
    published("calculix/rod_spin_matrices.sti.gz", path[0], sizeof path[0]);
    published("calculix/rod_spin_matrices.dof", path[1], sizeof path[1]);
    if (!path[0][0] || !read_rod(&s)) skip();
    assert_int_equal(kd_fe_structure_spin(&s, path[0], path[1], 2, W, true, message, sizeof message), KD_OK);
    rod_interfaces(&s, face);
    assert_int_equal(
        kd_reduce(&s, face, 2, &(kd_reduction_options){.band = 2 * KD_PI * 700}, &r, message, sizeof message), KD_OK);
    // a frame at the other end moves what was held
    assert_int_equal(
        kd_flexible_body_make(&r, &(kd_reference){KD_REFERENCE_TANGENT, 1, 0}, 20, 0, &b, message, sizeof message),
        KD_ERR_MODEL);
    assert_non_null(strstr(message, "must be tangent"));
    assert_int_equal(
        kd_flexible_body_make(&r, &(kd_reference){KD_REFERENCE_TANGENT, 0, 0}, 20, 0, &b, message, sizeof message),
        KD_OK);
    enum { N = 20 };
    double K[N * N], M[N * N], value[N], A[4 * N * N] = {0}, re[2 * N], im[2 * N], work[60000];
    assert_true(kd_eigen_work(2 * N) <= 60000);
    for (int i = 0; i < N * N; i++) {
        K[i] = b.Ke[i] + W * W * (b.K0w[2 * N * N + i] - b.B[9 * i] - b.B[9 * i + 4]);
        M[i] = b.Me[i];
    }
    // x' = [0 1; -K -G] x with M_e = 1; G_kl = 2 W (B_kl yx - B_kl xy)
    for (int k = 0; k < N; k++) {
        A[k + 2 * N * (N + k)] = 1;
        for (int l = 0; l < N; l++) {
            const double *B = b.B + 9 * (k + N * l);
            A[N + k + 2 * N * l] = -K[k + N * l];
            A[N + k + 2 * N * (N + l)] = -2 * W * (B[1] - B[3]);
        }
    }
    static const double softened[] = {74.9252799, 132.4585476, 456.6863663, 650.3560384};
    assert_int_equal(kd_symmetric_pencil(N, K, M, value), KD_OK);
    for (int k = 0; k < 4; k++) assert_true(fabs(sqrt(value[k]) / (2 * KD_PI) / softened[k] - 1) < 1e-3);
    assert_int_equal(kd_eigen(2 * N, A, re, im, NULL, work), 0);
    double first = INFINITY, second = INFINITY;
    for (int k = 0; k < 2 * N; k++) {
        assert_true(fabs(re[k]) < 1e-3);
        const double hertz = im[k] / (2 * KD_PI);
        if (hertz <= 0) continue;
        if (hertz < first) {
            second = first;
            first = hertz;
        } else if (hertz < second) {
            second = hertz;
        }
    }
    print_message("rotating rod: %.4f and %.4f Hz\n", first, second);
    assert_true(fabs(first / 74.793 - 1) < 1e-3 && fabs(second / 132.458 - 1) < 1e-3);
    kd_flexible_body_release(&b);
    kd_reduction_release(&r);
    kd_fe_structure_release(&s);
}

// Columns a and b of X (n rows) turned by an angle: another basis of the same space
static void turn(int n, double *X, int a, int b, double angle)
{
    for (int i = 0; i < n; i++) {
        const double x = X[i + n * a], y = X[i + n * b];
        X[i + n * a] = cos(angle) * x - sin(angle) * y;
        X[i + n * b] = sin(angle) * x + cos(angle) * y;
    }
}

// Modes of equal frequency: whatever basis a solver gives, one comes out, of the same space; single modes stay as they are
static void twins_have_one_basis(void **state)
{
    enum { N = 5 };
    // a pair, a single one, a pair that differs by rounding
    const double value[N] = {2, 2, 3, 7, 7 * (1 + 1e-14)};
    double       X[N * N], first[N * N], work[N * N];
    (void)state;
    for (int trial = 0; trial < 40; trial++) {
        for (int i = 0; i < N * N; i++) X[i] = i % (N + 1) == 0;
        for (int i = 0; i < N; i++)
            for (int k = 0; k < i; k++) turn(N, X, i, k, 0.3 + 0.7 * i - 0.4 * k); // orthonormal, full
        memcpy(work, X, sizeof X);
        turn(N, X, 0, 1, 0.37 * trial);
        turn(N, X, 3, 4, 1.3 - 0.51 * trial);
        memcpy(work + 2 * N, X + 2 * N, N * sizeof *X);
        kd_settle_modes(N, value, X);
        if (trial == 0) memcpy(first, X, sizeof X);
        for (int i = 0; i < N * N; i++) assert_true(fabs(X[i] - first[i]) < 1e-13);
        assert_memory_equal(X + 2 * N, work + 2 * N, N * sizeof *X);
        // the projector of the pair is that of before
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++) {
                const double now = X[i] * X[k] + X[i + N] * X[k + N],
                             before = work[i] * work[k] + work[i + N] * work[k + N];
                assert_true(fabs(now - before) < 1e-13);
            }
    }
}

// The mean motion of the left face held: frequencies of the full matrices with multipliers in place of the averaging interface (scipy).
static void the_rod_is_held_in_the_mean(void **state)
{
    (void)state;
    static const double hertz[] = {66.02069525, 99.03043206, 411.23824162, 611.68937, 1140.17451175, 1382.72146059};
    kd_fe_structure     s;
    kd_interface        face[2];
    kd_reduction        r;
    double              omega[6];
    char                message[500] = "";
    if (!read_rod(&s)) skip();
    rod_interfaces(&s, face);
    face[0].averages = face[1].averages = true;
    const kd_reduction_options options = {.modes = 2};
    assert_int_equal(kd_reduce(&s, face, 2, &options, &r, message, sizeof message), KD_OK);
    assert_int_equal(kd_reduction_exact(&r, (const bool[]){true, false}, 6, omega, message, sizeof message), KD_OK);
    assert_frequencies(6, hertz, omega, 1e-8); // 1.8e-9: rounding of T' K T
    kd_reduction_release(&r);
    kd_fe_structure_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rod_has_the_published_reductions),
        cmocka_unit_test(the_expected_error_is_the_true_one),
        cmocka_unit_test(a_band_is_filled),
        cmocka_unit_test(the_end_of_a_band_is_in_it),
        cmocka_unit_test(the_rotating_rod_is_stiffened),
        cmocka_unit_test(twins_have_one_basis),
        cmocka_unit_test(the_rod_is_held_in_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
