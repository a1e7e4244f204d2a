// The rigid hunting wheelset: equations against published numbers, the reference in every form that keeps the position
// constraint, and what S1 section 4 says about index 3 (figure 3).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dual.h"
#include "gallery.h"
#include "point/acceleration.h"

enum { N = 18, NP = 6, ROWS = 101 }; // [p v s lambda]

// Trajectory of models/reference/wheelset.csv, each 0.1 s, and the largest value of each component
static double reference[ROWS][1 + N], amplitude[N];

static int read_reference(void **state)
{
    (void)state;
    char  line[1000];
    int   row = 0;
    FILE *in = fopen(KD_SOURCE_DIR "/models/reference/wheelset.csv", "r");
    if (!in || !fgets(line, sizeof line, in)) return -1;
    for (; row < ROWS && fgets(line, sizeof line, in); row++) {
        char *rest = line;
        for (int i = 0; i <= N; i++, rest += *rest == ',') reference[row][i] = strtod(rest, &rest);
        for (int i = 0; i < N; i++) amplitude[i] = fmax(amplitude[i], fabs(reference[row][1 + i]));
    }
    fclose(in);
    return row == ROWS ? 0 : -1;
}

typedef struct fixture {
    kd_eom   *eom;
    kd_state *x;
    kd_inputs inputs;
} fixture;

static fixture open_wheelset(void)
{
    fixture f;
    assert_int_equal(kd_gallery_find("wheelset")->create(&f.eom, &f.x, &f.inputs), KD_OK);
    assert_int_equal(f.x->n, N);
    return f;
}

static void close_wheelset(fixture *f)
{
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

// The start as published: g = 0 to 5e-10 only
static void published_start(kd_state *x)
{
    const double p[NP] = {1.4941e-3, 4.0089e-7, 1.1241e-6, -2.8573e-4, 2.6459e-4, 0};
    const double s[4] = {7.5634406395172940e-6, 0.1490635714733819, -7.4122380357667139e-6, -0.1521364296121248};
    memcpy(x->p, p, sizeof p);
    memcpy(x->s, s, sizeof s);
}

// Digits of the worst component of [p v s lambda], relative to the component itself
static double digits_of_all(const double *x, const double *wanted)
{
    double error = 0;
    for (int i = 0; i < N; i++) error = fmax(error, fabs((x[i] - wanted[i]) / wanted[i]));
    return -log10(error);
}

// Digits of the worst position, with the floor of the benchmarks: the lag is only 1e-4 m
static double digits_of_positions(const double *x, const double *wanted)
{
    double error = 0;
    for (int i = 0; i < NP; i++) error = fmax(error, fabs(x[i] - wanted[i]) / fmax(1e-3, fabs(wanted[i])));
    return -log10(error);
}

// ---- equations ------------------------------------------------------------------------------------------------------

// Accelerations and multipliers at the published start agree with those computed from the source's own equations.
static void start_has_the_published_accelerations(void **state)
{
    (void)state;
    static const double    a[NP] = {-1.975257159221, -1.066580003726e-3, 7.883940436340e-2,
                                    -5.533373066753, -0.349802661051,    -2.132552025128};
    static const double    lambda[2] = {83.59184018959, 74.14552840682};
    fixture                f = open_wheelset();
    kd_formulation_options opt = kd_formulation_options_default();
    kd_acceleration       *solver;
    published_start(f.x);
    assert_int_equal(kd_acceleration_create(f.eom, &f.inputs, f.x, &opt, &solver), KD_OK);
    assert_int_equal(
        kd_acceleration_solve(solver, 0, f.x->p, f.x->s, f.x->v, f.x->r, f.x->a, f.x->w, f.x->lambda, f.x->mu),
        KD_EVAL_OK);
    for (int i = 0; i < NP; i++) assert_true(fabs(f.x->a[i] - a[i]) < 1e-12 * fmax(1, fabs(a[i])));
    for (int i = 0; i < 2; i++) assert_true(fabs(f.x->lambda[i] - lambda[i]) < 2e-11);
    kd_acceleration_destroy(solver);
    close_wheelset(&f);
}

// Dual numbers differentiate sums, products, quotients and all their functions to rounding.
static void dual_numbers_differentiate(void **state)
{
    (void)state;
    const double  x = 0.7;
    const kd_dual z = kd_dual_of(x, KD_DUAL_STEP);
    const kd_dual f[] = {kd_dual_sin(z),  kd_dual_cos(z),  kd_dual_sqrt(z),       kd_dual_cbrt(z),
                         kd_dual_tanh(z), kd_dual_abs(-z), (1 + z * z) / (2 - z), kd_dual_cbrt(-z)};
    const double  slope[] = {cos(x),
                             -sin(x),
                             0.5 / sqrt(x),
                             cbrt(x) / (3 * x),
                             1 / (cosh(x) * cosh(x)),
                             1,
                             (2 * x * (2 - x) + 1 + x * x) / ((2 - x) * (2 - x)),
                             -cbrt(x) / (3 * x)};
    for (size_t i = 0; i < sizeof slope / sizeof *slope; i++)
        assert_true(fabs(cimag(f[i]) / KD_DUAL_STEP - slope[i]) < 1e-15 * (1 + fabs(slope[i])));
}

// Largest difference of a block of the residual to central differences with a small increment, part of the block's size
static double residual_block_error(const fixture *f, kd_eom_data *d, kd_var var, double *moved, int columns)
{
    double    block[NP * NP], right[NP], left[NP], error = 0, size = 0;
    kd_blocks wanted = {0};
    wanted.block[KD_RESIDUAL][var] = block;
#define GO()                                                                                                           \
    (kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL), kd_eom_at_position(d, f->x->p, f->x->s),                            \
     kd_eom_at_velocity(d, f->x->v, f->x->r), kd_eom_at_acceleration(d, f->x->a, f->x->w, f->x->lambda, f->x->mu))
    GO();
    assert_int_equal(kd_eom_derivatives(d, KD_PART_ALL, &wanted), KD_EVAL_OK);
    for (int j = 0; j < columns; j++) {
        const double kept = moved[j], h = var == KD_LAMBDA ? 1e-3 : 1e-8;
        moved[j] = kept + h, GO();
        assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, right), KD_EVAL_OK);
        moved[j] = kept - h, GO();
        assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, left), KD_EVAL_OK);
        moved[j] = kept;
        for (int i = 0; i < NP; i++) {
            error = fmax(error, fabs(block[j * NP + i] - (right[i] - left[i]) / (2 * h)));
            size = fmax(size, fabs(block[j * NP + i]));
        }
    }
    return error / size;
#undef GO
}

// Derivatives of the creep forces agree with differences, on the way where friction is saturated and where it is not.
static void creep_forces_have_their_derivatives(void **state)
{
    (void)state;
    fixture      f = open_wheelset();
    kd_eom_data *d;
    assert_int_equal(kd_eom_data_create(f.eom, &d), KD_OK);
    for (int row = 0; row < ROWS; row += 7) {
        memcpy(f.x->p, reference[row] + 1, N * sizeof(double)); // [p v s lambda] lie side by side
        assert_true(residual_block_error(&f, d, KD_P, f.x->p, NP) < 2e-6);
        assert_true(residual_block_error(&f, d, KD_V, f.x->v, NP) < 2e-6);
        assert_true(residual_block_error(&f, d, KD_S, f.x->s, 4) < 2e-6);
        assert_true(residual_block_error(&f, d, KD_LAMBDA, f.x->lambda, 2) < 2e-6);
    }
    kd_eom_data_destroy(d);
    close_wheelset(&f);
}

// ---- reference ------------------------------------------------------------------------------------------------------

typedef struct run {
    kd_formulation     form;
    kd_integrator_kind integrator;
    kd_projection      projection;
    double             rtol;
    double             kappa;                                // bdf; 0: default
    double (*digits)(const double *x, const double *wanted); // how they are counted
} run;

// sanitizers make long runs very long: one of four there
#if defined(__SANITIZE_ADDRESS__)
enum { STRIDE = 4 };
#else
enum { STRIDE = 1 };
#endif

static void check_run(const run *r)
{
    fixture               f = open_wheelset();
    char                  message[500] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = r->form;
    opt.integrator = r->integrator;
    opt.formulation_options.projection = r->projection;
    opt.rtol = r->rtol;
    opt.atol = 0.01 * r->rtol;
    opt.integrator_options.max_steps = 1000000;
    if (r->kappa > 0) opt.integrator_options.bdf.newton_stop = r->kappa;
    const kd_status status = kd_simulate(f.eom, &f.inputs, &opt, f.x, 10, NULL, message, sizeof message);
    const double    reached = r->digits(f.x->p, reference[ROWS - 1] + 1);
    if (status != KD_OK || !(reached >= 6))
        print_error("%s with %s: %.2f digits %s\n", kd_formulation_word(r->form), kd_integrator_word(r->integrator),
                    reached, message);
    assert_int_equal(status, KD_OK);
    assert_true(reached >= 6);
    close_wheelset(&f);
}

// Every form that keeps the position constraint ends at the reference to six digits: each component of the state by
// itself in the forms of reduced index, positions in the index-3 form, whose velocities and multipliers are less exact.
static void every_form_reaches_the_reference(void **state)
{
    (void)state;
    static const run runs[] = {
        {KD_PSF, KD_RADAU, KD_PROJECT_NEVER, 1e-11, 0, digits_of_all},
        {KD_PSF1, KD_RADAU, KD_PROJECT_NEVER, 1e-11, 0, digits_of_all},
        {KD_GGL, KD_RADAU, KD_PROJECT_NEVER, 1e-11, 0, digits_of_all},
        {KD_INDEX2, KD_RADAU, KD_PROJECT_ALWAYS, 1e-11, 0, digits_of_all},
        {KD_PSF, KD_BDF, KD_PROJECT_NEVER, 1e-10, 0, digits_of_all},
        {KD_PSF1, KD_BDF, KD_PROJECT_NEVER, 1e-10, 0, digits_of_all},
        {KD_GGL, KD_BDF, KD_PROJECT_NEVER, 1e-10, 0, digits_of_all},
        {KD_ODASSL, KD_BDF, KD_PROJECT_NEVER, 1e-10, 0, digits_of_all},
        {KD_INDEX1, KD_BDF, KD_PROJECT_ALWAYS, 1e-10, 0, digits_of_all},
        {KD_INDEX3, KD_RADAU, KD_PROJECT_NEVER, 1e-12, 0, digits_of_positions},
        {KD_INDEX3, KD_BDF, KD_PROJECT_NEVER, 1e-12, 1e-4, digits_of_positions}, // S1: index 3 wants a small kappa
    };
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k += STRIDE) check_run(&runs[k]);
}

// [p v s lambda] as published for t = 10 (multipliers in newton, our sign); the pitch angle is not
static const double published_end[N] = {8.6355386965811e-03,   1.3038281022727e-05,  -9.3635784016818e-05,
                                        -1.3642299804033e-02,  1.5292895005422e-03,  NAN,
                                        -7.6985374142666e-02,  -2.5151106429207e-04, 2.0541188079539e-03,
                                        -2.3904837703692e-01,  -1.3633468454173e-02, -2.4421377661131e-01,
                                        3.7839614386969001e-4, 1.4173214964613e-01,  -3.3666751972196e-04,
                                        -1.5949425684022e-01,  101.24044903201,      56.285630573753};

// From the published start, which the index-2 form keeps as it is, the published end is met to its own accuracy.
static void published_end_is_met_from_the_published_start(void **state)
{
    (void)state;
    fixture               f = open_wheelset();
    kd_dae               *dae;
    kd_integrator        *radau;
    kd_integrator_options opt = kd_integrator_options_default();
    double                x[N];
    opt.rtol = 1e-9, opt.atol = 1e-11;
    published_start(f.x);
    assert_int_equal(kd_formulation_create(f.eom, &f.inputs, f.x, KD_INDEX2, NULL, &dae, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_create(dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
    assert_int_equal(dae->n, N);
    kd_formulation_pack(dae, f.x, x);
    assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
    while (kd_integrator_time(radau) < 10) assert_int_equal(kd_integrator_step(radau, 10), KD_OK);
    for (int i = 0; i < N; i++)
        if (!isnan(published_end[i]))
            assert_true(fabs(kd_integrator_x(radau)[i] - published_end[i]) < 1e-5 * fabs(published_end[i]));
    kd_integrator_destroy(radau);
    kd_dae_destroy(dae);
    close_wheelset(&f);
}

// ---- index 3 --------------------------------------------------------------------------------------------------------

// Largest error of the lateral displacement, part of its amplitude, of radau on the index-3 form with a given kappa.
// Starting values of Newton's method are zero, so that its error is as large as kappa allows.
static double lateral_error(double kappa, double tol)
{
    fixture               f = open_wheelset();
    kd_dae               *dae;
    kd_integrator        *radau;
    kd_integrator_options opt = kd_integrator_options_default();
    double                x[N], error = 0;
    opt.rtol = tol, opt.atol = 0.01 * tol;
    opt.radau.newton_stop = kappa;
    opt.radau.start_zero = true;
    assert_int_equal(kd_formulation_create(f.eom, &f.inputs, f.x, KD_INDEX3, NULL, &dae, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_create(dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
    kd_formulation_pack(dae, f.x, x);
    assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
    for (int row = 1; row < ROWS; row++) {
        while (kd_integrator_time(radau) < reference[row][0])
            assert_int_equal(kd_integrator_step(radau, reference[row][0]), KD_OK);
        error = fmax(error, fabs(kd_integrator_x(radau)[0] - reference[row][1]) / amplitude[0]);
    }
    kd_integrator_destroy(radau);
    kd_dae_destroy(dae);
    close_wheelset(&f);
    return error;
}

// S1 figure 3: with kappa = 0.03 the error of index 3 stays above 0.1 % whatever the tolerance is, since Newton's
// errors theta reach the solution as theta / h and theta^2 / h^2; with 1e-5 it falls with the tolerance.
static void index_3_is_sensitive_to_newton_errors(void **state)
{
    (void)state;
    static const double tol[] = {1e-6, 1e-7, 1e-8, 1e-9};
    for (int k = 0; k < 4; k += STRIDE) {
        const double loose = lateral_error(0.03, tol[k]), tight = lateral_error(1e-5, tol[k]);
        assert_true(loose > 1e-3);
        assert_true(tight < 2e-3 * sqrt(tol[k] / tol[0])); // falls
        assert_true(loose > 5 * tight);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_has_the_published_accelerations),
        cmocka_unit_test(dual_numbers_differentiate),
        cmocka_unit_test(creep_forces_have_their_derivatives),
        cmocka_unit_test(every_form_reaches_the_reference),
        cmocka_unit_test(published_end_is_met_from_the_published_start),
        cmocka_unit_test(index_3_is_sensitive_to_newton_errors),
    };
    return cmocka_run_group_tests(tests, read_reference, NULL);
}
