// Beams and the flexible body made of them: natural frequencies and deflections of closed form, moments of modes against sums
// over points, reference conditions.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/pi.h"
#include "flexible/beams.h"
#include "flexible/body.h"

// A round bar of length 2 along a direction that is no axis
static const double      LENGTH = 2, RADIUS = 0.002, YOUNG = 2.1e11, SHEAR = 8e10, DENSITY = 7800;
static const kd_vec3     DIRECTION = {0.36, 0.48, 0.8};
static const char *const NAMES[] = {"root", "tip"};

static kd_beam_section round_section(double radius)
{
    const double I = KD_PI * pow(radius, 4) / 4;
    return (kd_beam_section){.area = KD_PI * radius * radius, .Iy = I, .Iz = I, .torsion = 2 * I};
}

static kd_fe_structure make_bar(int elements, double radius)
{
    const kd_vec3   points[] = {{0.1, -0.2, 0.3}, kd_vec_axpy(kd_vec(0.1, -0.2, 0.3), LENGTH, DIRECTION)};
    const kd_beam   beam = {0,        1, elements, YOUNG, SHEAR, DENSITY, round_section(radius), round_section(radius),
                            {0, 0, 1}};
    kd_fe_structure s;
    char            message[300];
    assert_int_equal(kd_beams_make(NAMES, points, 2, &beam, 1, NULL, 0, &s, message, sizeof message), KD_OK);
    return s;
}

static void bar_interfaces(const kd_fe_structure *s, kd_interface face[2])
{
    for (int i = 0; i < 2; i++) face[i] = (kd_interface){NAMES[i], 1, s->set[i].node, s->at[s->set[i].node[0]], false};
}

// A free bar has mass, centre and inertia of the cylinder, and the frequencies of Euler's beam; so has the clamped one.
static void slender_bars_have_the_frequencies_of_euler(void **state)
{
    (void)state;
    static const double clamped[] = {1.87510407, 4.69409113, 7.85475744},
                        free[] = {4.73004074, 7.85320462, 10.99560784};
    kd_fe_structure       s = make_bar(40, RADIUS);
    kd_fe_structure_facts f;
    kd_interface          face[2];
    kd_reduction          r;
    char                  message[300];
    double                omega[40];
    const bool            root[] = {true, false};
    assert_int_equal(kd_fe_structure_check(&s, &f, message, sizeof message), KD_OK);
    const double mass = DENSITY * KD_PI * RADIUS * RADIUS * LENGTH, I = KD_PI * pow(RADIUS, 4) / 4;
    assert_true(fabs(f.mass - mass) < 1e-12 * mass);
    assert_true(kd_vec_norm(kd_vec_sub(f.centre, kd_vec_axpy(s.at[0], LENGTH / 2, DIRECTION))) < 1e-12);
    // trace of the inertia about the centre: 2 (m L^2/12 + 2 m r^2/4)
    const double about = f.inertia.xx + f.inertia.yy + f.inertia.zz - 2 * mass * kd_vec_dot(f.centre, f.centre);
    assert_true(fabs(about - 2 * mass * (LENGTH * LENGTH / 12 + RADIUS * RADIUS / 2)) < 1e-11 * mass);
    bar_interfaces(&s, face);
    assert_int_equal(kd_reduce(&s, face, 2, &(kd_reduction_options){.modes = 4}, &r, message, sizeof message), KD_OK);
    const double unit = sqrt(YOUNG * I / (DENSITY * KD_PI * RADIUS * RADIUS)) / (LENGTH * LENGTH);
    assert_int_equal(kd_reduction_exact(&r, root, 6, omega, message, sizeof message), KD_OK);
    for (int k = 0; k < 6; k++) assert_true(fabs(omega[k] / (clamped[k / 2] * clamped[k / 2] * unit) - 1) < 4e-5);
    assert_int_equal(kd_reduction_exact(&r, NULL, 6, omega, message, sizeof message), KD_OK);
    for (int k = 0; k < 6; k++) assert_true(fabs(omega[k] / (free[k / 2] * free[k / 2] * unit) - 1) < 8e-5);
    kd_reduction_release(&r);
    kd_fe_structure_release(&s);
}

// Frequencies converge with the fourth power of the element length (cubic shapes).
static void frequencies_converge_with_order_four(void **state)
{
    (void)state;
    double error[2];
    for (int i = 0; i < 3; i++) {
        static double   omega[3];
        const bool      root[] = {true, false};
        kd_fe_structure s = make_bar(6 << i, RADIUS);
        kd_interface    face[2];
        kd_reduction    r;
        char            message[300];
        double          all[40];
        bar_interfaces(&s, face);
        assert_int_equal(kd_reduce(&s, face, 2, &(kd_reduction_options){.modes = 0}, &r, message, sizeof message),
                         KD_OK);
        assert_int_equal(kd_reduction_exact(&r, root, 6, all, message, sizeof message), KD_OK);
        omega[i] = all[4];
        kd_reduction_release(&r);
        kd_fe_structure_release(&s);
        if (i > 0) error[i - 1] = omega[i - 1] - omega[i];
    }
    const double slope = log2(error[0] / error[1]);
    if (!(slope > 3.7 && slope < 4.5)) print_error("slope %.2f\n", slope);
    assert_true(slope > 3.7 && slope < 4.5);
}

// A cantilever deflects by F L^3/(3 E I) + F L/(k G A), twists by T L/(G J), stretches by F L/(E A); shapes of interfaces are exact.
static void cantilevers_have_closed_forms(void **state)
{
    (void)state;
    const kd_vec3   points[] = {{0, 0, 0}, {1.5, 0, 0}};
    kd_beam_section section = {.area = 6e-4, .Iy = 4.5e-8, .Iz = 2e-8, .torsion = 4.7e-8, .ky = 5.0 / 6, .kz = 0.7};
    const kd_beam   beam = {0, 1, 3, YOUNG, SHEAR, DENSITY, section, section, {0, 0, 1}};
    kd_fe_structure s;
    kd_interface    face[2];
    kd_reduction    r;
    char            message[300];
    assert_int_equal(kd_beams_make(NAMES, points, 2, &beam, 1, NULL, 0, &s, message, sizeof message), KD_OK);
    bar_interfaces(&s, face);
    assert_int_equal(kd_reduce(&s, face, 2, &(kd_reduction_options){.modes = 0}, &r, message, sizeof message), KD_OK);
    // stiffness of the tip with the root held, and its inverse column by column through the closed forms
    const double L = 1.5, EIy = YOUNG * section.Iy, EIz = YOUNG * section.Iz, GA = SHEAR * section.area;
    const double x[6][6] = {
        {L / (YOUNG * section.area)},
        {0, L * L * L / (3 * EIz) + L / (section.ky * GA), 0, 0, 0, L * L / (2 * EIz)},
        {0, 0, L * L * L / (3 * EIy) + L / (section.kz * GA), 0, -L * L / (2 * EIy)},
        {0, 0, 0, L / (SHEAR * section.torsion)},
        {0, 0, -L * L / (2 * EIy), 0, L / EIy},
        {0, L * L / (2 * EIz), 0, 0, 0, L / EIz},
    };
    for (int load = 0; load < 6; load++)
        for (int i = 0; i < 6; i++) {
            double force = 0, size_of = 0;
            for (int j = 0; j < 6; j++) {
                const double term = r.Kr[(size_t)(6 + i) + (size_t)(6 + j) * (size_t)r.n] * x[load][j];
                force += term;
                size_of += fabs(term);
            }
            assert_true(fabs(force - (i == load)) < 1e-9 * (1 + size_of));
        }
    kd_reduction_release(&r);
    kd_fe_structure_release(&s);
}

// Moments of the modes are sums over the stations; the modes are orthonormal in M_e; K_e has the squares of the frequencies;
// momentum of mean axes is zero, frames of a tangent stand still.
static void bodies_have_the_moments_of_their_points(void **state)
{
    (void)state;
    const kd_beam_mass disc = {1, 0.3, {2e-4, 3e-4, 4e-4, 1e-5, 0, 0}};
    const kd_vec3      points[] = {{0.1, -0.2, 0.3}, {1.1, 0.5, -0.3}, {1.4, 0.2, 0.6}};
    static const char *names[] = {"a", "b", "c"};
    const kd_beam beams[] = {{0, 1, 3, YOUNG, SHEAR, DENSITY, round_section(0.01), round_section(0.006), {0, 0, 1}},
                             {1, 2, 2, YOUNG, SHEAR, DENSITY, round_section(0.006), round_section(0.004), {1, 0, 0}}};
    const kd_reference references[] = {
        {KD_REFERENCE_TANGENT, 1, 0}, {KD_REFERENCE_CHORD, 0, 1}, {KD_REFERENCE_MEAN, 0, 0}};
    kd_fe_structure s;
    kd_interface    face[2];
    kd_reduction    r;
    char            message[300];
    assert_int_equal(kd_beams_make(names, points, 3, beams, 2, &disc, 1, &s, message, sizeof message), KD_OK);
    face[0] = (kd_interface){"a", 1, s.set[0].node, points[0], false};
    face[1] = (kd_interface){"c", 1, s.set[2].node, points[2], false};
    assert_int_equal(kd_reduce(&s, face, 2, &(kd_reduction_options){.modes = 3}, &r, message, sizeof message), KD_OK);
    for (int k = 0; k < 3; k++) {
        kd_flexible_body b;
        double           omega[20];
        assert_int_equal(kd_flexible_body_make(&r, &references[k], 0, 0.01, &b, message, sizeof message), KD_OK);
        assert_int_equal(b.nq, 9);
        kd_fe_structure_facts f;
        assert_int_equal(kd_fe_structure_check(&s, &f, message, sizeof message), KD_OK);
        assert_true(fabs(b.mass - f.mass) < 1e-12 && fabs(b.first[0] - f.mass * f.centre.x) < 1e-12);
        assert_true(fabs(b.second[4] + b.second[8] - f.inertia.xx) < 1e-11 && fabs(b.second[1] + f.inertia.xy) < 1e-11);
        for (int i = 0; i < 81; i++) assert_true(fabs(b.Me[i] - (i % 10 == 0)) < 1e-9);
        assert_int_equal(kd_flexible_body_frequencies(&b, omega), KD_OK);
        for (int i = 0; i < 9; i++) assert_true(fabs(omega[i] * omega[i] / b.Ke[10 * i] - 1) < 1e-9);
        for (int i = 0; i < 9; i++) {
            const double *A = b.A + 9 * i; // int x phi': the moment is its antisymmetric part
            const double  turn[3] = {A[1 + 6] - A[2 + 3], A[2] - A[6], A[3] - A[1]};
            for (int d = 0; d < 3; d++) {
                if (k == 2) assert_true(fabs(b.C[d + 3 * i]) < 1e-8 && fabs(turn[d]) < 1e-8);
                if (k == 0) assert_true(fabs(b.frame[1].Phi[d + 3 * i]) + fabs(b.frame[1].Psi[d + 3 * i]) < 1e-9);
                if (k == 1) assert_true(fabs(b.frame[0].Phi[d + 3 * i]) < 1e-9);
            }
        }
        kd_flexible_body_release(&b);
    }
    kd_reduction_release(&r);
    kd_fe_structure_release(&s);
}

// Wrong beams are refused by name.
static void wrong_beams_are_refused(void **state)
{
    (void)state;
    const kd_vec3         points[] = {{0, 0, 0}, {0, 0, 1}};
    const kd_beam_section good = round_section(0.01);
    const struct {
        kd_beam     beam;
        const char *why;
    } wrong[] = {
        {{0, 2, 3, YOUNG, SHEAR, DENSITY, good, good, {1, 0, 0}}, "a point does not exist"},
        {{0, 1, 3, YOUNG, SHEAR, DENSITY, good, good, {0, 0, 1}}, "'up' lies along it"},
        {{0, 0, 3, YOUNG, SHEAR, DENSITY, good, good, {1, 0, 0}}, "at one place"},
        {{0, 1, 0, YOUNG, SHEAR, DENSITY, good, good, {1, 0, 0}}, "number of elements"},
        {{0, 1, 3, -1, SHEAR, DENSITY, good, good, {1, 0, 0}}, "must be positive"},
        {{0, 1, 3, YOUNG, SHEAR, DENSITY, {.area = 0}, good, {1, 0, 0}}, "area, Iy, Iz"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kd_fe_structure s;
        char            message[300] = "";
        assert_int_equal(kd_beams_make(NAMES, points, 2, &wrong[i].beam, 1, NULL, 0, &s, message, sizeof message),
                         KD_ERR_MODEL);
        assert_non_null(strstr(message, wrong[i].why));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slender_bars_have_the_frequencies_of_euler),
        cmocka_unit_test(frequencies_converge_with_order_four),
        cmocka_unit_test(cantilevers_have_closed_forms),
        cmocka_unit_test(bodies_have_the_moments_of_their_points),
        cmocka_unit_test(wrong_beams_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
