// The gallery: derivatives and constraint levels of every example, starts, references, the exact pendulum.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gallery.h"
#include "math/dense.h"
#include "pendulum.h"

#define assert_close(a, b, tolerance) close_to((a), (b), (tolerance), #a, __LINE__)
static void close_to(double a, double b, double tolerance, const char *what, int line)
{
    if (fabs(a - b) <= tolerance) return;
    print_error("line %d, %s: %.17g instead of %.17g\n", line, what, a, b);
    fail();
}

// ---- an example with a point of evaluation --------------------------------------------------------------------------

enum { MANY = 64, FEW = 4 }; // no example has more coordinates, inner states or contact coordinates

typedef struct place {
    double t, u[2], du[2], ddu[2], p[MANY], v[MANY], a[MANY], r[FEW], s[FEW], lambda[MANY];
} place;

typedef struct fixture {
    const kd_example *example;
    kd_eom           *eom;
    kd_state         *x;
    kd_inputs         inputs;
    kd_eom_data      *d;
    kd_dims           n;
} fixture;

static fixture open_example(const kd_example *example)
{
    fixture f = {.example = example};
    assert_int_equal(example->create(&f.eom, &f.x, &f.inputs), KD_OK);
    assert_int_equal(kd_eom_data_create(f.eom, &f.d), KD_OK);
    f.n = kd_eom_dims(f.eom);
    assert_true(f.n.np <= MANY && f.n.np == f.n.nv && f.n.nr <= FEW && f.n.ns <= FEW);
    return f;
}

static void close_example(fixture *f)
{
    kd_eom_data_destroy(f->d);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static bool is(const fixture *f, const char *name)
{
    return strcmp(f->example->name, name) == 0;
}

static void for_all(void (*test)(fixture *f))
{
    for (const kd_example *const *example = kd_gallery(); *example; example++) {
        fixture f = open_example(*example);
        test(&f);
        close_example(&f);
    }
}

static void take_inputs(const fixture *f, place *x)
{
    if (f->inputs.eval) assert_int_equal(f->inputs.eval(x->t, f->inputs.context, x->u, x->du, x->ddu), KD_EVAL_OK);
}

static void go_to(fixture *f, const place *x)
{
    kd_eom_at_time(f->d, x->t, x->u, x->du, x->ddu, NULL);
    kd_eom_at_position(f->d, x->p, x->s);
    kd_eom_at_velocity(f->d, x->v, x->r);
    kd_eom_at_acceleration(f->d, x->a, NULL, x->lambda, NULL);
}

static void evaluate(fixture *f, const place *x, kd_fn fn, double *out)
{
    go_to(f, x);
    assert_int_equal(kd_eom_eval(f->d, fn, out), KD_EVAL_OK);
}

// A number in [-1, 1] that is the same in every run.
static double noise(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return 2.0 * (*seed >> 8) / (double)(1u << 24) - 1;
}

// A place near the start, not consistent.
static place near_start(const fixture *f, unsigned seed)
{
    place        x = {.t = 0.3 + 0.1 * seed};
    const double spread = is(f, "wheelset") ? 0.002 : 0.1; // its wheels lose the rails at 0.05
    for (int i = 0; i < f->n.np; i++) {
        x.p[i] = f->x->p[i] + spread * noise(&seed);
        x.v[i] = f->x->v[i] + noise(&seed);
        x.a[i] = f->x->a[i] + noise(&seed);
    }
    for (int i = 0; i < f->n.nlambda; i++) x.lambda[i] = f->x->lambda[i] * (1 + 0.3 * noise(&seed)) + noise(&seed);
    for (int i = 0; i < f->n.nr; i++) x.r[i] = f->x->r[i] + noise(&seed);
    for (int i = 0; i < f->n.ns; i++) x.s[i] = f->x->s[i] + spread * noise(&seed);
    take_inputs(f, &x);
    return x;
}

// The reference at t_end, with a = 0.
static place reference_place(const fixture *f)
{
    place         x = {.t = f->example->t_end};
    const double *r = f->example->reference;
    memcpy(x.p, r, (size_t)f->n.np * sizeof *r);
    memcpy(x.v, r + f->n.np, (size_t)f->n.nv * sizeof *r);
    r += f->n.np + f->n.nv;
    memcpy(x.r, r, (size_t)f->n.nr * sizeof *r);
    memcpy(x.s, r + f->n.nr + f->n.nw, (size_t)f->n.ns * sizeof *r);
    memcpy(x.lambda, r + f->n.nr + f->n.nw + f->n.ns, (size_t)f->n.nlambda * sizeof *r);
    take_inputs(f, &x);
    return x;
}

// ---- derivatives and levels -----------------------------------------------------------------------------------------

static double *variable(place *x, kd_var var)
{
    switch (var) {
    case KD_P:
        return x->p;
    case KD_V:
        return x->v;
    case KD_A:
        return x->a;
    case KD_R:
        return x->r;
    case KD_S:
        return x->s;
    default:
        return x->lambda;
    }
}

// Largest difference between a supplied block and central differences of the function, relative to the block.
static double block_error(fixture *f, place *x, kd_fn fn, kd_var var)
{
    static double block[MANY * MANY];
    double        right[MANY], left[MANY], *y = variable(x, var), error = 0, scale = 0;
    const int     rows = kd_eom_rows(f->eom, fn), columns = kd_eom_columns(f->eom, var);
    kd_blocks     wanted = {0};
    wanted.block[fn][var] = block;
    go_to(f, x);
    assert_int_equal(kd_eom_derivatives(f->d, KD_PART_ALL, &wanted), KD_EVAL_OK);
    for (int j = 0; j < columns; j++) {
        // functions are at most cubic in what varies slowly; forces of 1e6 beside multipliers want the larger move
        const double kept = y[j], h = (var == KD_LAMBDA || var == KD_A ? 1e-3 : 1e-5) * (1 + fabs(kept));
        y[j] = kept + h;
        evaluate(f, x, fn, right);
        y[j] = kept - h;
        evaluate(f, x, fn, left);
        y[j] = kept;
        for (int i = 0; i < rows; i++) {
            error = fmax(error, fabs(block[j * rows + i] - (right[i] - left[i]) / (2 * h)));
            scale = fmax(scale, fabs(block[j * rows + i]));
        }
    }
    return error / (1 + scale);
}

static void check_derivatives(fixture *f)
{
    const kd_eom_def   *def = kd_eom_definition(f->eom);
    static const kd_var vars[] = {KD_P, KD_V, KD_A, KD_R, KD_S, KD_LAMBDA};
    static const kd_fn  fns[] = {KD_RESIDUAL, KD_B, KD_C, KD_G, KD_GI, KD_GII, KD_E};
    for (unsigned seed = 1; seed <= 3; seed++) {
        place x = near_start(f, seed);
        for (size_t i = 0; i < sizeof fns / sizeof *fns; i++)
            for (size_t j = 0; j < sizeof vars / sizeof *vars; j++) {
                if (!((def->given[fns[i]] | def->zero[fns[i]]) & KD_BIT(vars[j]))) continue;
                if (fns[i] == KD_RESIDUAL && is(f, "wheelset")) continue; // steep friction: see test_wheelset
                const double error = block_error(f, &x, fns[i], vars[j]);
                if (error > 1e-7) print_error("%s: function %d by %d\n", f->example->name, (int)fns[i], (int)vars[j]);
                assert_close(error, 0, 1e-7);
            }
    }
}

// Every supplied derivative block agrees with central differences of its function, at three places.
static void derivatives_agree_with_differences(void **state)
{
    (void)state;
    for_all(check_derivatives);
}

static void check_everything_given(fixture *f)
{
    const kd_eom_def *def = kd_eom_definition(f->eom);
    const unsigned    pva = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    assert_int_equal((def->given[KD_RESIDUAL] | def->zero[KD_RESIDUAL]) & pva, pva);
    if (f->n.nlambda == 0) return;
    assert_true(def->given[KD_RESIDUAL] & KD_BIT(KD_LAMBDA));
    assert_true(def->given[KD_G] & KD_BIT(KD_P));
    assert_int_equal(def->given[KD_GI] & pva, KD_BIT(KD_P) | KD_BIT(KD_V));
    assert_int_equal(def->given[KD_GII] & pva, pva);
}

// No integrator needs differences for an example: all blocks of residual and constraints are supplied.
static void nothing_is_left_to_differences(void **state)
{
    (void)state;
    for_all(check_everything_given);
}

static void check_with_library(fixture *f)
{
    char            report[2000] = "";
    const kd_status status = kd_eom_check(f->eom, &f->inputs, f->x, NULL, report, sizeof report);
    if (status != KD_OK) print_error("%s:\n%s\n", f->example->name, report);
    assert_int_equal(status, KD_OK);
}

// The library's own checker finds nothing to complain about.
static void checker_accepts_every_example(void **state)
{
    (void)state;
    for_all(check_with_library);
}

// ---- energy ---------------------------------------------------------------------------------------------------------

// Total energy at the place moved along the motion p + v tau, v + a tau
static double energy_moved(fixture *f, const place *x, double tau, kd_energies *out)
{
    place y = *x;
    y.t += tau;
    for (int i = 0; i < f->n.np; i++) {
        y.p[i] += tau * (x->v[i] + 0.5 * tau * x->a[i]);
        y.v[i] += tau * x->a[i];
    }
    take_inputs(f, &y);
    go_to(f, &y);
    assert_int_equal(kd_eom_energies(f->d, out), KD_EVAL_OK);
    return out->kinetic + out->potential;
}

static double energy_rate(fixture *f, const place *x, kd_energies *here)
{
    kd_energies  other;
    const double h = 1e-5, rate = (energy_moved(f, x, h, &other) - energy_moved(f, x, -h, &other)) / (2 * h);
    (void)energy_moved(f, x, 0, here);
    return rate;
}

// For any a: d/dt (T + V) = supplied - dissipated + v.(M a - f)
static void check_power(fixture *f)
{
    if (is(f, "caraxis")) return;                     // its power needs the multiplier, see below
    if (!kd_eom_definition(f->eom)->energies) return; // wheelset: the drive that keeps the speed is not modelled
    if (strncmp(f->example->name, "pendulum-chain", 14) == 0) return; // that of the motion, test_pendulum_chain.c
    for (unsigned seed = 1; seed <= 3; seed++) {
        place       x = near_start(f, seed);
        kd_energies e;
        double      residual[MANY], power = 0, size = 0;
        memset(x.lambda, 0, sizeof x.lambda);
        const double rate = energy_rate(f, &x, &e);
        evaluate(f, &x, KD_RESIDUAL, residual);
        for (int i = 0; i < f->n.nv; i++) power += x.v[i] * residual[i], size += fabs(x.v[i] * residual[i]);
        assert_close(rate, e.supplied - e.dissipated + power, 1e-7 * (1 + size + fabs(e.dissipated)));
    }
}

// Masses, forces and energies belong together: energy changes by the power of forces that have no potential.
static void energy_changes_by_power(void **state)
{
    (void)state;
    for_all(check_power);
}

// The road's power on the car axis, spring and guide, changes its energy on the reference motion.
static void caraxis_energy_comes_from_road(void **state)
{
    (void)state;
    fixture     f = open_example(kd_gallery_find("caraxis"));
    place       x = reference_place(&f);
    kd_energies e;
    double      residual[MANY], M[MANY * MANY];
    evaluate(&f, &x, KD_MASS, M);
    evaluate(&f, &x, KD_RESIDUAL, residual); // a = 0
    for (int i = 0; i < f.n.nv; i++) x.a[i] = -residual[i] / M[0];
    const double rate = energy_rate(&f, &x, &e);
    assert_true(fabs(rate) > 1);
    assert_close(rate, e.supplied, 1e-6 * fabs(rate));
    close_example(&f);
}

// ---- starts and references ------------------------------------------------------------------------------------------

static void check_start(fixture *f)
{
    place  x = {0};
    double out[MANY];
    memcpy(x.p, f->x->p, (size_t)f->n.np * sizeof *x.p);
    memcpy(x.v, f->x->v, (size_t)f->n.nv * sizeof *x.v);
    memcpy(x.a, f->x->a, (size_t)f->n.nv * sizeof *x.a);
    memcpy(x.r, f->x->r, (size_t)f->n.nr * sizeof *x.r);
    memcpy(x.s, f->x->s, (size_t)f->n.ns * sizeof *x.s);
    memcpy(x.lambda, f->x->lambda, (size_t)f->n.nlambda * sizeof *x.lambda);
    take_inputs(f, &x);
    if (f->n.ns > 0) evaluate(f, &x, KD_C, out);
    assert_close(kd_norm_max(f->n.ns, out), 0, 1e-15);
    evaluate(f, &x, KD_G, out);
    assert_close(kd_norm_max(f->n.nlambda, out), 0, 1e-15);
    evaluate(f, &x, KD_GI, out);
    assert_close(kd_norm_max(f->n.nlambda, out), 0, 1e-15);
    if (is(f, "fekete")) return; // its accelerations are left to the library
    evaluate(f, &x, KD_RESIDUAL, out);
    assert_close(kd_norm_max(f->n.nv, out), 0, 1e-7);
    evaluate(f, &x, KD_GII, out);
    assert_close(kd_norm_max(f->n.nlambda, out), 0, 1e-9);
}

// Initial states satisfy all levels of the constraints, with a and lambda where they are given.
static void starts_are_consistent(void **state)
{
    (void)state;
    for_all(check_start);
}

static void check_reference(fixture *f)
{
    place  x = reference_place(f);
    double out[MANY], M[MANY * MANY];
    int    pivot[MANY];
    assert_non_null(f->example->reference);
    assert_true(f->example->digits >= (is(f, "wheelset") ? 8 : 10));
    if (f->n.ns > 0) evaluate(f, &x, KD_C, out);
    assert_close(kd_norm_max(f->n.ns, out), 0, 1e-14);
    evaluate(f, &x, KD_G, out);
    assert_close(kd_norm_max(f->n.nlambda, out), 0, 2e-14);
    evaluate(f, &x, KD_GI, out);
    assert_close(kd_norm_max(f->n.nlambda, out), 0, 1e-14 * (1 + kd_norm_max(f->n.nv, x.v)));
    evaluate(f, &x, KD_MASS, M);
    evaluate(f, &x, KD_RESIDUAL, out); // M a = -residual(a = 0), by the reference's lambda
    for (int i = 0; i < f->n.nv; i++) x.a[i] = -out[i];
    assert_int_equal(kd_lu_factor(f->n.nv, M, pivot), 0);
    kd_lu_solve(f->n.nv, M, pivot, x.a, 1);
    evaluate(f, &x, KD_GII, out);
    assert_close(kd_norm_max(f->n.nlambda, out), 0, 1e-11 * (1 + kd_norm_max(f->n.nv, x.a)));
}

// References satisfy the constraints on all three levels, the last one with their own multipliers: the sign is right.
static void references_are_consistent(void **state)
{
    (void)state;
    for_all(check_reference);
}

// Last row of a trajectory file that starts with the given time.
static int read_row(const char *file, double t, double *row, int size)
{
    char path[500], line[4000];
    int  n = 0;
    snprintf(path, sizeof path, "%s/models/reference/%s", KD_SOURCE_DIR, file);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        char *rest = line;
        if (fabs(strtod(line, &rest) - t) > 1e-9 || rest == line) continue;
        for (n = 0; *rest == ',' && n < size; n++) row[n] = strtod(rest + 1, &rest);
    }
    fclose(in);
    return n;
}

// The tables in the sources end where the trajectory files end, as far as those are trusted.
static void references_agree_with_files(void **state)
{
    (void)state;
    static const struct {
        const char *name, *file;
        double      tolerance;
    } list[] = {{"caraxis", "caraxis.csv", 0},
                {"andrews", "andrews.csv", 0},
                {"truck5", "truck5.csv", 1e-13},
                {"truck5-free", "truck5_free.csv", 2e-12},
                {"truck7", "truck7_hump.csv", 1e-12},
                {"truck7-bump", "truck7_bump.csv", 1e-12},
                {"pendulum-chain12", "pendulum_chain12.csv", 0},
                {"pendulum-chain14", "pendulum_chain14.csv", 0},
                {"pendulum-chain16", "pendulum_chain16.csv", 0},
                {"wheelset", "wheelset.csv", 0}};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        const kd_example *example = kd_gallery_find(list[k].name);
        fixture           f = open_example(example);
        const int         motion = f.n.np + f.n.nv;
        double            row[MANY];
        assert_true(read_row(list[k].file, example->t_end, row, MANY) >= motion + f.n.nlambda);
        for (int i = 0; i < motion; i++) assert_close(example->reference[i], row[i], list[k].tolerance);
        close_example(&f);
    }
}

static void check_run(fixture *f)
{
    char                  message[500] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    double                size = kd_norm_max(f->n.np, f->example->reference);
    opt.rtol = 1e-8;
    opt.atol = 1e-8 * fmin(1, size); // some move little
    const kd_status status =
        kd_simulate(f->eom, &f->inputs, &opt, f->x, f->example->t_end, NULL, message, sizeof message);
    if (status != KD_OK) print_error("%s: %s\n", f->example->name, message);
    assert_int_equal(status, KD_OK);
    double error = 0;
    for (int i = 0; i < f->n.np; i++) {
        const double r = f->example->reference[i];
        error = fmax(error, fabs(f->x->p[i] - r) / fmax(1e-3, fabs(r)));
    }
    if (!(error < 1e-4)) print_error("%s: error %.3g\n", f->example->name, error);
    assert_true(error < 1e-4);
}

// Every example runs and ends at its reference.
static void every_example_reaches_its_reference(void **state)
{
    (void)state;
    for_all(check_run);
}

// ---- pendulum -------------------------------------------------------------------------------------------------------

// Exact motion in quadruple precision: p, v, lambda
static const struct {
    double gravity;
    bool   rest;
    double v10, t, x[5];
} exact[] = {
    {13.75,
     false,
     2.8,
     1000,
     {0.48681528086159797521, -0.87350494121077728461, 1.8242217219818440174, 1.0166616902126144949,
      8.1860394124722809977}},
    {13.75,
     false,
     2.9,
     777.7,
     {-0.036386220212406140927, -0.99933780223638807709, -2.8949402744770171039, 0.10540573377005862776,
      11.066342171125503832}},
    {13.75,
     false,
     9,
     1000,
     {-0.35846300277269552807, -0.93354393342958556133, 8.3065718444938412886, -3.1895646037626806964,
      46.004343626985202202}},
    {KD_PENDULUM_GRAVITY_PERIOD_2, true, 0, 1000, {1, 0, 0, 3.9726413420010217e-13, 0}},
    {KD_PENDULUM_GRAVITY_PERIOD_2,
     true,
     0,
     0.3,
     {0.81906468170174712968, -0.57370118283721157122, -2.2787717867098570798, -3.2533687292083577119,
      11.832906708071729053}},
};

// The exact pendulum agrees with values in quadruple precision after five hundred swings and revolutions.
static void exact_pendulum_is_exact(void **state)
{
    (void)state;
    const double tolerance = LDBL_MANT_DIG >= 64 ? 1e-14 : 1e-11;
    for (size_t k = 0; k < sizeof exact / sizeof *exact; k++) {
        double x[5];
        kd_pendulum_exact(exact[k].gravity, exact[k].rest, exact[k].v10, exact[k].t, x, x + 2, x + 4);
        for (int i = 0; i < 5; i++) assert_close(x[i], exact[k].x[i], tolerance * (1 + fabs(exact[k].x[i])));
    }
}

// The exact pendulum agrees with the trajectory file in all its three cases.
static void exact_pendulum_agrees_with_file(void **state)
{
    (void)state;
    char  line[1000], name[20];
    int   rows = 0;
    FILE *in = fopen(KD_SOURCE_DIR "/models/reference/pendulum.csv", "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        double t, r[5], x[5];
        if (sscanf(line, "%19[^,],%lf,%lf,%lf,%lf,%lf,%lf", name, &t, r, r + 1, r + 2, r + 3, r + 4) != 7) continue;
        const bool rest = strcmp(name, "period2") == 0;
        kd_pendulum_exact(rest ? KD_PENDULUM_GRAVITY_PERIOD_2 : 13.75, rest, rest ? 0 : strtod(name + 4, NULL), t, x,
                          x + 2, x + 4);
        for (int i = 0; i < 5; i++) assert_close(x[i], r[i], 1e-14 * (1 + fabs(r[i])));
        rows++;
    }
    fclose(in);
    assert_true(rows > 100);
}

// On the separatrix the pendulum creeps to the top: sin(theta/2) = tanh(omega t).
static void exact_pendulum_creeps_to_the_top(void **state)
{
    (void)state;
    double p[2], v[2];
    kd_pendulum_exact(16, false, 8, 0.5, p, v, NULL);
    assert_close(p[1], 2 * tanh(2) * tanh(2) - 1, 1e-15);
    assert_close(0.5 * (v[0] * v[0] + v[1] * v[1]) + 16 * p[1], 16, 1e-13); // energy
    kd_pendulum_exact(16, false, -8, 0.5, NULL, v, NULL);
    assert_true(v[0] > 0); // mirrored: theta' < 0 beyond the horizontal
}

// The energy invariant is there when asked for, vanishes at the start, and has the derivatives that differences give.
static void pendulum_has_energy_invariant(void **state)
{
    (void)state;
    fixture f = {.example = kd_gallery_find("pendulum")};
    double  e;
    assert_int_equal(kd_pendulum_create(9.81, (double[]){0.6, -0.8}, (double[]){1.6, 1.2}, true, &f.eom, &f.x), KD_OK);
    assert_int_equal(kd_eom_data_create(f.eom, &f.d), KD_OK);
    f.n = kd_eom_dims(f.eom);
    assert_int_equal(f.n.ne, 1);
    place x = {.p = {0.6, -0.8}, .v = {1.6, 1.2}};
    evaluate(&f, &x, KD_E, &e);
    assert_close(e, 0, 1e-15);
    check_derivatives(&f);
    close_example(&f);
}

// ---- list -----------------------------------------------------------------------------------------------------------

static void check_names(fixture *f)
{
    char buffer[100];
    for (int i = 0; i < f->n.np; i++)
        assert_null(strchr(kd_eom_name(f->eom, KD_NAME_P, i, buffer, sizeof buffer), '['));
    for (int i = 0; i < f->n.nv; i++)
        assert_null(strchr(kd_eom_name(f->eom, KD_NAME_V, i, buffer, sizeof buffer), '['));
    for (int i = 0; i < f->n.nlambda; i++)
        assert_null(strchr(kd_eom_name(f->eom, KD_NAME_LAMBDA, i, buffer, sizeof buffer), '['));
    for (int i = 0; i < f->n.nr; i++)
        assert_null(strchr(kd_eom_name(f->eom, KD_NAME_R, i, buffer, sizeof buffer), '['));
    for (int i = 0; i < f->n.ns; i++)
        assert_null(strchr(kd_eom_name(f->eom, KD_NAME_S, i, buffer, sizeof buffer), '['));
    for (int i = 0; i < f->n.nu; i++)
        assert_null(strchr(kd_eom_name(f->eom, KD_NAME_U, i, buffer, sizeof buffer), '['));
}

// Every coordinate, velocity, constraint and input has a name of its own instead of a number.
static void everything_has_a_name(void **state)
{
    (void)state;
    for_all(check_names);
}

// Every example is found by its name, names are different, and unknown names are not found.
static void examples_are_found_by_name(void **state)
{
    (void)state;
    int count = 0;
    for (const kd_example *const *example = kd_gallery(); *example; example++, count++)
        assert_ptr_equal(kd_gallery_find((*example)->name), *example);
    assert_true(count >= 11);
    assert_null(kd_gallery_find("no such example"));
    assert_null(kd_gallery_find(NULL));
}

static long allocations_left;

static void *allocate(size_t size, void *context)
{
    (void)context;
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void release(void *memory, void *context)
{
    (void)context;
    free(memory);
}

// Creation that runs out of memory says so and leaves nothing behind (leaks are the sanitizer's to find).
static void creation_survives_lack_of_memory(void **state)
{
    (void)state;
    const kd_allocator hook = {allocate, release, NULL};
    for (const kd_example *const *example = kd_gallery(); *example; example++) {
        kd_status status = KD_ERR_MEMORY;
        for (long n = 0; status == KD_ERR_MEMORY; n++) {
            kd_eom   *eom;
            kd_state *x;
            kd_inputs inputs;
            kd_set_allocator(&hook);
            allocations_left = n;
            status = (*example)->create(&eom, &x, &inputs);
            if (status == KD_OK) assert_true(n > 0);
            if (status != KD_OK) assert_true(eom == NULL && x == NULL);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
            kd_set_allocator(NULL);
        }
        assert_int_equal(status, KD_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_agree_with_differences),  cmocka_unit_test(nothing_is_left_to_differences),
        cmocka_unit_test(checker_accepts_every_example),       cmocka_unit_test(energy_changes_by_power),
        cmocka_unit_test(caraxis_energy_comes_from_road),      cmocka_unit_test(starts_are_consistent),
        cmocka_unit_test(references_are_consistent),           cmocka_unit_test(references_agree_with_files),
        cmocka_unit_test(every_example_reaches_its_reference), cmocka_unit_test(exact_pendulum_is_exact),
        cmocka_unit_test(exact_pendulum_agrees_with_file),     cmocka_unit_test(exact_pendulum_creeps_to_the_top),
        cmocka_unit_test(pendulum_has_energy_invariant),       cmocka_unit_test(everything_has_a_name),
        cmocka_unit_test(examples_are_found_by_name),          cmocka_unit_test(creation_survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
