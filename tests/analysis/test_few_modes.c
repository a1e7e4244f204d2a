// Few modes of large models: against full matrices for models of moderate size, against closed forms for large ones.
#include <math.h>

#include "analysis/linear_subject.h"
#include "core/failing_allocator.h"

#ifdef KD_WITH_ARPACK

#define TWO_PI 6.28318530717958647692

static kd_modes *few(const subject *s, int count, double frequency)
{
    char      message[1000] = "";
    kd_modes *m;
    must(kd_modes_near(s->eom, kd_system_inputs(s->system), s->x, count, frequency, &m, message, sizeof message),
         message);
    return m;
}

// Number of halves with imaginary part >= 0
static int halves(const kd_modes *m)
{
    int n = 0;
    for (int i = 0; i < m->n; i++) n += m->imaginary[i] >= 0;
    return n;
}

// ---- against full matrices ------------------------------------------------------------------------------------------

// Trucks with dampers and constraints, a chain, an engine on bushings, in both coordinate sets, slowest modes and those
// near a frequency: eigenvalues, order and shapes are those of the full matrices.
static void agree_with_full_matrices(void **state)
{
    (void)state;
    static const struct {
        const char *file, *name, *value;
        double      frequency;
    } list[] = {{"truck5.yaml", "g", "9.81", 0}, {"truck7.yaml", "bump", "0", 0},
                {"truck7.yaml", "bump", "0", 5}, {"chain.yaml", "w", "0", 0},
                {"chain.yaml", "w", "0", 0.4},   {"bushing-mount.yaml", "g", "9.81", 0}};
    for (size_t k = 0; k < 2 * sizeof list / sizeof list[0]; k++) {
        const kd_setting settings[] = {{list[k / 2].name, list[k / 2].value}, {"N", "12"}};
        const int        count = strcmp(list[k / 2].file, "chain.yaml") == 0 ? 2 : strcmp(list[k / 2].name, "g") != 0;
        subject          s = open_model(list[k / 2].file, settings, count, BOTH[k & 1], false);
        char             message[1000] = "";
        must(kd_equilibrium(s.eom, kd_system_inputs(s.system), NULL, s.x, NULL, message, sizeof message), message);
        linearize(&s);
        kd_modes *m = few(&s, 3, list[k / 2].frequency);
        assert_int_equal(halves(m), 3);
        for (int i = 0; i < m->n; i++) {
            const double size = hypot(m->real[i], m->imaginary[i]);
            assert_has_pair(s.modes, m->real[i], m->imaginary[i], 1e-7 * fmax(1, size));
            if (i > 0) assert_true(m->frequency[i] >= m->frequency[i - 1] * (1 - 1e-9));
            assert_close(m->frequency[i], size / TWO_PI, 1e-9);
        }
        // none that is nearer is missing
        const double omega = TWO_PI * list[k / 2].frequency;
        double       farthest = 0;
        int          nearer = 0;
        for (int i = 0; i < m->n; i++)
            if (m->imaginary[i] >= 0) farthest = fmax(farthest, hypot(m->real[i], m->imaginary[i] - omega));
        for (int i = 0; i < s.modes->n; i++)
            nearer += s.modes->imaginary[i] >= 0 &&
                      hypot(s.modes->real[i], s.modes->imaginary[i] - omega) < farthest * (1 + 1e-6);
        assert_int_equal(nearer, 3);
        kd_modes_destroy(m);
        close_model(&s);
    }
}

// Shapes obey the linear equations: of the chain, those of full matrices up to a factor; names are the same.
static void shapes_agree(void **state)
{
    (void)state;
    static const kd_setting settings[] = {{"N", "12"}, {"w", "0"}};
    subject                 s = open_model("chain.yaml", settings, 2, KD_JOINT, false);
    linearize(&s);
    kd_modes *m = few(&s, 4, 0);
    for (int k = 0; k < m->n; k++)
        for (int i = 0; i < m->nv; i++) {
            assert_close(m->shape_re[i + k * m->nv], s.modes->shape_re[i + k * m->nv], 1e-7);
            assert_close(m->shape_im[i + k * m->nv], s.modes->shape_im[i + k * m->nv], 1e-7);
            assert_string_equal(m->increment_name[i], s.modes->increment_name[i]);
        }
    kd_modes_destroy(m);
    close_model(&s);
}

// ---- closed forms ---------------------------------------------------------------------------------------------------

static const char LINE[] = "kardan: 1\n"
                           "title: line of masses between walls\n"
                           "parameters: {N: 10, k: 100, m: 2, walls: 1}\n"
                           "gravity: [0, 0, 0]\n"
                           "bodies:\n"
                           "  b(i): {for: i = 1..N, position: [i, 0, 0], mass: m, inertia: [1, 1, 1]}\n"
                           "joints:\n"
                           "  j(i): {for: i = 1..N, type: prismatic, bodies: [ground, b(i)], point: [i, 0, 0],\n"
                           "         axis: [1, 0, 0]}\n"
                           "forces:\n"
                           "  s(i): {for: i = 2..N, type: tsda, bodies: [b(i-1), b(i)],\n"
                           "         points: [[i-1, 0, 0], [i, 0, 0]], stiffness: k}\n"
                           "  left: {type: tsda, bodies: [ground, b(1)], points: [[0, 0, 0], [1, 0, 0]],\n"
                           "         stiffness: k*walls}\n"
                           "  right: {type: tsda, bodies: [b(N), ground], points: [[N, 0, 0], [N+1, 0, 0]],\n"
                           "          stiffness: k*walls}\n";

static double line_frequency(int k, int N)
{
    return 2 * sqrt(100.0 / 2) * sin(k * TWO_PI / 4 / (N + 1));
}

// 600 masses between walls, in Cartesian coordinates 3600 velocities with 3000 constraints: the slowest modes, and
// those in the middle of the spectrum, have omega = 2 sqrt(k/m) sin(k pi/(2 N + 2)) to 1e-9.
static void line_of_masses(void **state)
{
    (void)state;
    static const kd_setting settings[] = {{"N", "600"}};
    for (int c = 0; c < 2; c++) {
        subject   s = open_model(LINE, settings, 1, BOTH[c], false);
        kd_modes *m = few(&s, 5, 0);
        assert_int_equal(m->n, 10);
        for (int k = 0; k < 5; k++) {
            assert_close(m->imaginary[2 * k], line_frequency(k + 1, 600), 1e-9);
            assert_close(m->imaginary[2 * k + 1], -line_frequency(k + 1, 600), 1e-9);
            assert_close(m->real[2 * k], 0, 1e-9);
        }
        kd_modes_destroy(m);
        m = few(&s, 3, (line_frequency(300, 600) + 1e-4) / TWO_PI);
        assert_int_equal(m->n, 6);
        for (int k = 0; k < 3; k++) assert_close(m->imaginary[2 * k], line_frequency(299 + k, 600), 1e-9);
        kd_modes_destroy(m);
        close_model(&s);
    }
}

// How many zeros the Laguerre polynomial of degree n has below x: sign changes of the pivots of the tridiagonal matrix
// with 2 i + 1 on its diagonal and i beside it
static int zeros_below(int n, double x)
{
    double pivot = 1 - x;
    int    count = pivot < 0;
    for (int i = 1; i < n; i++) {
        pivot = 2 * i + 1 - x - (double)i * i / pivot;
        count += pivot < 0;
    }
    return count;
}

static double laguerre_zero(int n, int k)
{
    double low = 0, high = 4.0 * n;
    for (int i = 0; i < 200; i++) {
        const double x = (low + high) / 2;
        *(zeros_below(n, x) >= k ? &high : &low) = x;
    }
    return (low + high) / 2;
}

// The hanging chain of 500 links: L_N(omega^2 l/g) = 0 with Laguerre's polynomial, in both coordinate sets.
static void hanging_chain(void **state)
{
    (void)state;
    static const kd_setting settings[] = {{"N", "500"}, {"w", "0"}};
    for (int c = 0; c < 2; c++) {
        subject   s = open_model("chain.yaml", settings, 2, BOTH[c], false);
        kd_modes *m = few(&s, 4, 0);
        assert_int_equal(m->n, 8);
        for (int k = 0; k < 4; k++) {
            const double omega = sqrt(9.81 * laguerre_zero(500, k + 1));
            assert_close(m->imaginary[2 * k] / omega, 1, 1e-9);
        }
        kd_modes_destroy(m);
        close_model(&s);
    }
}

// Without walls the line floats: the shift goes aside from the eigenvalue 0, which is found with the slowest modes.
static void free_motion(void **state)
{
    (void)state;
    static const kd_setting settings[] = {{"N", "40"}, {"walls", "0"}};
    for (int c = 0; c < 2; c++) {
        subject   s = open_model(LINE, settings, 2, BOTH[c], false);
        kd_modes *m = few(&s, 5, 0);
        assert_close(hypot(m->real[0], m->imaginary[0]), 0, 1e-5);
        assert_has_pair(m, 0, 2 * sqrt(50.0) * sin(TWO_PI / 4 / 40), 1e-7);
        kd_modes_destroy(m);
        close_model(&s);
    }
}

// ---- mistakes -------------------------------------------------------------------------------------------------------

// Arguments without sense are refused; quaternions in motion are, and a message says so.
static void refusals(void **state)
{
    (void)state;
    char      message[1000];
    kd_modes *m;
    subject   s = open_model("bicycle.yaml", NULL, 0, KD_JOINT, false);
    assert_int_equal(kd_modes_near(s.eom, NULL, s.x, 0, 0, &m, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_modes_near(s.eom, NULL, s.x, 3, -1, &m, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_modes_near(s.eom, NULL, s.x, 3, NAN, &m, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_modes_near(NULL, NULL, s.x, 3, 0, &m, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_modes_near(s.eom, NULL, s.x, 3, 0, &m, message, sizeof message), KD_ERR_UNSUPPORTED);
    assert_null(m);
    assert_non_null(strstr(message, "quaternions"));
    close_model(&s);
}

// Wherever memory ends, the answer says so, nothing stays allocated, and with enough of it all is well.
static void memory_may_end(void **state)
{
    (void)state;
    static const kd_setting settings[] = {{"N", "12"}, {"w", "0"}};
    subject                 s = open_model("chain.yaml", settings, 2, KD_CARTESIAN, false);
    failing_allocator       f = {0};
    kd_modes               *m = NULL;
    kd_status               status = KD_ERR_MEMORY;
    failing_allocator_use(&f);
    for (long k = 1; k < 2000 && status < 0; k++) {
        f = (failing_allocator){.fail_at = k};
        status = kd_modes_near(s.eom, kd_system_inputs(s.system), s.x, 3, 0, &m, NULL, 0);
        if (status >= 0) break;
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_null(m);
        assert_int_equal(f.live, 0);
    }
    assert_true(status >= 0);
    kd_modes_destroy(m);
    assert_int_equal(f.live, 0);
    kd_set_allocator(NULL);
    close_model(&s);
}

#else

// Without the library the answer says which package is missing.
static void refusal_names_the_package(void **state)
{
    (void)state;
    char      message[1000];
    kd_modes *m;
    subject   s = open_model("pendulum.yaml", NULL, 0, KD_JOINT, false);
    assert_int_equal(kd_modes_near(s.eom, NULL, s.x, 3, 0, &m, message, sizeof message), KD_ERR_UNAVAILABLE);
    assert_non_null(strstr(message, "libarpack2-dev"));
    close_model(&s);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef KD_WITH_ARPACK
        cmocka_unit_test(agree_with_full_matrices),
        cmocka_unit_test(shapes_agree),
        cmocka_unit_test(line_of_masses),
        cmocka_unit_test(hanging_chain),
        cmocka_unit_test(free_motion),
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory_may_end),
#else
        cmocka_unit_test(refusal_names_the_package),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
