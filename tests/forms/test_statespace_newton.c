// test_statespace_newton.c: Newton matrices of the state-space form against differences.
#include "core/failing_allocator.h"
#include "forms/statespace_impl.h"
#include "forms/whole.h"
#include "gallery.h"
#include "pendulum.h"
#include "systems/systems.h"
#include <dirent.h>
#include <kardan/kardan.h>

static const kd_parametrisation both[] = {KD_PARAMETRISATION_PARTITION, KD_PARAMETRISATION_TANGENT};

// ---- Newton matrices ------------------------------------------------------------------------------------------------

static double size_of(int n, const double *x)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

// rhs_x d by a central difference; false: not to be had
static bool difference(kd_dae *dae, double t, const double *y, const double *d, double e, double *work, double *out)
{
    double *moved = work, *value = work + dae->n;
    for (int side = -1; side <= 1; side += 2) {
        for (int i = 0; i < dae->n; i++) moved[i] = y[i] + side * e * d[i];
        if (dae->methods->rhs(dae->impl, t, moved, value) != KD_EVAL_OK) return false;
        for (int i = 0; i < dae->n; i++) out[i] = (side < 0 ? 0 : out[i]) + side * value[i] / (2 * e);
    }
    return true;
}

// The same with increments e, e/2, extrapolated, for the first e that is good enough: the two must agree to tolerance.
static bool along(kd_dae *dae, double t, const double *y, const double *d, double *work, double *out, double tolerance)
{
    double *coarse = work + 2 * dae->n;
    for (double e = 1e-3; e > 5e-8; e /= 10) {
        if (!difference(dae, t, y, d, e, work, coarse) || !difference(dae, t, y, d, e / 2, work, out)) continue;
        for (int i = 0; i < dae->n; i++) {
            coarse[i] = (out[i] - coarse[i]) / 3;
            out[i] += coarse[i];
        }
        if (size_of(dae->n, coarse) <= tolerance * fmax(1, size_of(dae->n, out))) return true;
    }
    return false;
}

// Largest error of dx solved from (gamma I - rhs_x) dx, with J = rhs_x dx of two directions given, real and complex.
static double newton_error(kd_dae *dae, double gamma, double *const dx[2], double *const J[2])
{
    const kd_dae_class *f = dae->methods;
    const int           n = dae->n;
    double             *block = calloc((size_t)(4 * n + 1), sizeof *block), *F[2] = {block, block + n};
    double             *part = block + 2 * n, *solution = block + 3 * n, most = 0;
    double complex      gamma_complex = gamma * (0.7 + 0.8 * I);
    assert_int_equal(f->factor(dae->impl, gamma, creal(gamma_complex), cimag(gamma_complex)), KD_OK);
    for (int i = 0; i < n; i++) F[0][i] = -(gamma * dx[0][i] - J[0][i]);
    f->reduce(dae->impl, F[0], part, F[1]);
    f->solve_real(dae->impl, F[1]);
    f->expand(dae->impl, part, F[1], solution);
    for (int i = 0; i < n; i++) most = fmax(most, fabs(solution[i] - dx[0][i]));
    for (int i = 0; i < n; i++) {
        double complex value = gamma_complex * (dx[0][i] + I * dx[1][i]) - (J[0][i] + I * J[1][i]);
        F[0][i] = creal(value);
        F[1][i] = cimag(value);
    }
    f->solve_complex(dae->impl, F[0], F[1]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n; i++) most = fmax(most, fabs(F[k][i] - dx[k][i]));
    free(block);
    return most;
}

// That of sdirk in steps of 1e-4 s
#define USUAL_GAMMA 4e4

// (gamma I - rhs_x) dx with rhs_x dx by differences, solved, gives dx again. The size of gamma is that of rhs_x, so
// that both count; where rounding of the elimination, which grows with gamma, is then too large (HMMWV, Cartesian:
// 1e-5), a gamma that steps have: a wrong rhs_x is wrong for both. Returns whether differences were good enough to
// compare.
static bool check_newton(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                         const kd_formulation_options *opt, double tolerance)
{
    kd_dae             *dae = make_dae(eom, inputs, x, KD_STATESPACE, opt);
    const kd_dae_class *f = dae->methods;
    int                 n = dae->n;
    double             *block = calloc((size_t)(9 * n + 1), sizeof *block);
    double  *y = block, *ydot = y + n, *dx[2] = {ydot + n, ydot + 2 * n}, *J[2] = {ydot + 3 * n, ydot + 4 * n};
    double  *work = ydot + 5 * n;
    unsigned seed = 3;
    bool     smooth = true;
    kd_formulation_pack(dae, x, y);
    assert_int_equal(f->start(dae->impl, x->t, y, ydot), KD_EVAL_OK);
    assert_int_equal(f->linearize(dae->impl, x->t, y, ydot, true), KD_OK);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < n; i++) dx[k][i] = scatter(&seed);
        smooth = (along(dae, x->t, y, dx[k], work, J[k], 0.03 * tolerance) ||
                  along(dae, x->t, y, dx[k], work, J[k], tolerance)) &&
                 smooth;
    }
    double gamma = fmax(10, size_of(n, J[0])), error = newton_error(dae, gamma, dx, J);
    if (!(error <= tolerance) && gamma > USUAL_GAMMA) error = newton_error(dae, USUAL_GAMMA, dx, J);
    // very stiff equations (elastic modes): noise of the differences counts against gamma, not against rhs_x
    if (!(error <= tolerance)) error = fmin(error, newton_error(dae, 1, dx, J));
    if (smooth && !(error <= tolerance)) fail_msg("%s: increments differ by %g", kd_eom_title(eom), error);
    kd_dae_destroy(dae);
    free(block);
    return smooth;
}

// With r, w, s, lambda, mu, forces of multipliers, also with an inactive row; both parametrisations.
static void newton_matrix_of_everything(void **state)
{
    (void)state;
    kd_eom_def             def = whole();
    kd_eom                *eom = make(&def);
    kd_formulation_options opt = kd_formulation_options_default();
    for (int k = 0; k < 4; k++) {
        kd_state *x = state_at(eom, &whole_place);
        opt.parametrisation = both[k % 2];
        x->active_mu[0] = k < 2;
        make_consistent(eom, &whole_inputs, x);
        assert_true(check_newton(eom, &whole_inputs, x, &opt, 1e-6));
        kd_state_destroy(x);
    }
    kd_eom_destroy(eom);
}

// Quaternions, contact coordinates, friction, nonholonomic and redundant rows.
static void newton_matrices_of_the_systems(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * KD_TEST_SYSTEM_COUNT; k++) {
        kd_eom   *eom;
        kd_state *x;
        assert_int_equal(kd_test_systems[k / 2].create(&eom, &x), KD_OK);
        kd_formulation_options opt = kd_formulation_options_default();
        opt.parametrisation = both[k % 2];
        assert_true(check_newton(eom, NULL, x, &opt, 1e-6));
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Tyres that start upright and without slip start on kinks of their law (|gamma| of the Magic Formula; TMeasy turns its
// direction within 1e-3 of the slip), dampers at rest where extension and compression meet: differences across a kink
// tell the mean of two slopes. Lean, slip and move a little.
static void leave_kinks(const kd_eom *eom, kd_state *x)
{
    const kd_dims d = kd_eom_dims(eom);
    unsigned      seed = 11;
    for (int i = 0; i < d.np; i++) x->p[i] += 2e-3 * scatter(&seed);
    for (int i = 0; i < d.nv; i++) x->v[i] += 0.1 * scatter(&seed);
    for (int i = 0; i < d.nr; i++) x->r[i] += 0.02 + 0.005 * scatter(&seed);
}

// One model of the gallery in one kind of coordinates; false: not compared.
static bool check_model(const char *path, kd_coordinates coordinates)
{
    char              message[1000] = "";
    kd_model         *model = NULL;
    kd_system        *system = NULL;
    kd_state         *x = NULL;
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    assert_true(kd_model_read(path, NULL, 0, &model, message, sizeof message) >= 0);
    bool compared = kd_system_create(model, &opt, &system, message, sizeof message) >= 0;
    if (compared) {
        const kd_eom *eom = kd_system_eom(system);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
        if (strstr(path, "hill-hold") || strstr(path, "split-grip") || strstr(path, "tractor") || strstr(path, "-tir"))
            leave_kinks(eom, x);
        kd_initial_options initial = kd_initial_options_default();
        assert_true(kd_initial_consistent(eom, kd_system_inputs(system), &initial, x, message, sizeof message) >= 0);
        compared = check_newton(eom, kd_system_inputs(system), x, NULL, 1e-6);
    }
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return compared;
}

// Every model file, joint and Cartesian coordinates.
static void newton_matrices_of_the_gallery(void **state)
{
    (void)state;
    DIR           *folder = opendir(KD_SOURCE_DIR "/models");
    struct dirent *entry;
    int            models = 0, compared = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        char        path[400];
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0) continue;
        snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%.200s", entry->d_name);
        for (int k = 0; k < 2; k++) {
            bool good = check_model(path, k ? KD_CARTESIAN : KD_JOINT);
            if (!good) print_message("not compared: %s, %s\n", entry->d_name, k ? "cartesian" : "joint");
            models++;
            compared += good;
        }
    }
    closedir(folder);
    assert_true(models > 60 && compared == models);
}

// Every example that is written in C, both parametrisations.
static void newton_matrices_of_the_examples(void **state)
{
    (void)state;
    for (const kd_example *const *example = kd_gallery(); *example; example++)
        for (int k = 0; k < 2; k++) {
            char                   message[400] = "";
            kd_eom                *eom;
            kd_state              *x;
            kd_inputs              inputs = {0};
            kd_initial_options     initial = kd_initial_options_default();
            kd_formulation_options opt = kd_formulation_options_default();
            opt.parametrisation = both[k];
            assert_int_equal((*example)->create(&eom, &x, &inputs), KD_OK);
            assert_true(kd_initial_consistent(eom, &inputs, &initial, x, message, sizeof message) >= 0);
            if (!check_newton(eom, &inputs, x, &opt, 1e-6)) fail_msg("%s: not compared", (*example)->name);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newton_matrix_of_everything),
        cmocka_unit_test(newton_matrices_of_the_systems),
        cmocka_unit_test(newton_matrices_of_the_gallery),
        cmocka_unit_test(newton_matrices_of_the_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
