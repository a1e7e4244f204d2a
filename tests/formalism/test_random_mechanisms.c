// Two ways, one answer, over random mechanisms with every kind of joint, constraint and force, trees and loops, in
// joint and in Cartesian coordinates: explicit against residual, mass matrix, derivatives against differences, all
// sensors in both coordinate sets, power, momentum, and the same mechanism written in other ways.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <kardan/initial.h>
#include <kardan/simulation.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/dense.h"
#include "model/model.h"
#include "systems/random_model.h"

#if defined(__SANITIZE_ADDRESS__)
enum { MECHANISMS = 200, SIMULATED = 4 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { MECHANISMS = 200, SIMULATED = 4 };
#else
enum { MECHANISMS = 240, SIMULATED = 24 };
#endif
#else
enum { MECHANISMS = 240, SIMULATED = 24 };
#endif

// ---- mechanisms ----------------------------------------------------------------------------------------------------
static mechanism_options options_of(int i)
{
    return (mechanism_options){.bodies = 1 + i % 5,
                               .loops = (i / 2) % 3,
                               .constraints = (i / 3) % 3,
                               .forces = 3 + i % 4,
                               .floating = i % 7 == 3,
                               .conservative = i % 5 == 1,
                               .invariant = i % 2 == 1,
                               .at_rest = i % 6 == 5,
                               .driven = i % 4 == 2 && i % 5 != 1,
                               .states = i % 3 == 0};
}

static kd_system *system_of(const kd_model *model, kd_coordinates coordinates)
{
    kd_system_options opt = kd_system_options_default();
    kd_system        *s = NULL;
    char              message[500] = "";
    opt.coordinates = coordinates;
    if (kd_system_create(model, &opt, &s, message, sizeof message) < 0) print_message("%s\n", message);
    return s;
}

// Disagreements are printed and counted, so that one run shows all of them.
typedef struct trial {
    int         number, wrong;
    const char *what;
} trial;

static void disagree(trial *t, const char *format, ...)
{
    char    text[300];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (t->wrong++ < 8) print_message("mechanism %d, %s: %s\n", t->number, t->what, text);
}

// ---- points --------------------------------------------------------------------------------------------------------
typedef struct point {
    const kd_system *system;
    kd_eom_data     *data;
    kd_dims          n;
    double           t, *u, *p, *v, *r, *a, *lambda, *mu;
    double          *F[7]; // values
} point;

static double *numbers(int n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static int most_rows(const kd_dims *n)
{
    int       rows = n->np;
    const int others[] = {n->nv, n->nr, n->nlambda, n->nmu, n->ny};
    for (int i = 0; i < 5; i++) rows = others[i] > rows ? others[i] : rows;
    return rows;
}

static void point_set(point *x)
{
    const kd_inputs *inputs = kd_system_inputs(x->system);
    (void)inputs->eval(x->t, inputs->context, x->u, x->u + x->n.nu, x->u + 2 * x->n.nu);
    kd_eom_at_time(x->data, x->t, x->u, x->u + x->n.nu, x->u + 2 * x->n.nu, NULL);
    kd_eom_at_position(x->data, x->p, NULL);
    kd_eom_at_velocity(x->data, x->v, x->r);
    kd_eom_at_acceleration(x->data, x->a, NULL, x->lambda, x->mu);
}

static point point_at(const kd_system *s, const kd_state *start)
{
    point x = {.system = s, .n = kd_eom_dims(kd_system_eom(s)), .t = start->t};
    assert_int_equal(kd_eom_data_create(kd_system_eom(s), &x.data), KD_OK);
    double **const arrays[] = {&x.p, &x.v, &x.r, &x.a, &x.lambda, &x.mu};
    double *const  from[] = {start->p, start->v, start->r, start->a, start->lambda, start->mu};
    const int      sizes[] = {x.n.np, x.n.nv, x.n.nr, x.n.nv, x.n.nlambda, x.n.nmu};
    for (int i = 0; i < 6; i++) {
        *arrays[i] = numbers(sizes[i]);
        if (sizes[i] > 0) memcpy(*arrays[i], from[i], (size_t)sizes[i] * sizeof(double));
    }
    x.u = numbers(3 * x.n.nu);
    for (int i = 0; i < 7; i++) x.F[i] = numbers(most_rows(&x.n));
    point_set(&x);
    return x;
}

static void point_release(point *x)
{
    double *const arrays[] = {x->u, x->p, x->v, x->r, x->a, x->lambda, x->mu};
    for (int i = 0; i < 7; i++) free(arrays[i]);
    for (int i = 0; i < 7; i++) free(x->F[i]);
    kd_eom_data_destroy(x->data);
}

// Somewhere else, with nothing 0.
static void point_shake(point *x, uint64_t *seed)
{
    double *e = numbers(x->n.nv);
    x->t += 0.3;
    point_set(x);
    for (int i = 0; i < x->n.nv; i++) e[i] = 0.2 * mechanism_random(seed);
    assert_int_equal(kd_eom_oplus(x->data, x->p, e, x->p), KD_EVAL_OK);
    for (int i = 0; i < x->n.nv; i++) x->v[i] += 0.5 * mechanism_random(seed);
    for (int i = 0; i < x->n.nv; i++) x->a[i] = 2 * mechanism_random(seed);
    for (int i = 0; i < x->n.nr; i++) x->r[i] += mechanism_random(seed);
    for (int i = 0; i < x->n.nlambda; i++) x->lambda[i] = 2 * mechanism_random(seed);
    for (int i = 0; i < x->n.nmu; i++) x->mu[i] = 2 * mechanism_random(seed);
    free(e);
    point_set(x);
}

static bool value(trial *t, const point *x, kd_fn fn, double *out)
{
    if (kd_eom_eval(x->data, fn, out) == KD_EVAL_OK) return true;
    disagree(t, "function %d cannot be evaluated: %s", (int)fn, kd_eom_data_message(x->data));
    return false;
}

// ---- explicit, residual, mass matrix -------------------------------------------------------------------------------
// residual(a) = M a + residual(0), column by column; it vanishes at the explicit acceleration.
static void check_dynamics(trial *t, point *x)
{
    int     nv = x->n.nv;
    double *M = numbers(nv * nv), *kept = x->a, *a = numbers(nv);
    double  largest = 1.0;
    if (nv == 0 || !value(t, x, KD_MASS, M) || !value(t, x, KD_RESIDUAL, x->F[0])) goto done;
    largest = fmax(kd_norm_max(nv * nv, M), fmax(1.0, kd_norm_max(nv, x->F[0])));
    for (int j = 0; j < nv; j++) {
        memcpy(a, kept, (size_t)nv * sizeof *a);
        a[j] += 1.0;
        x->a = a;
        point_set(x);
        if (!value(t, x, KD_RESIDUAL, x->F[1])) goto done;
        for (int i = 0; i < nv; i++)
            if (!(fabs(x->F[1][i] - x->F[0][i] - M[i + j * nv]) < 1e-12 * largest))
                disagree(t, "M[%d,%d] = %.12g, residual says %.12g", i, j, M[i + j * nv], x->F[1][i] - x->F[0][i]);
    }
    if (kd_eom_acceleration(x->data, a) != KD_EVAL_OK) {
        disagree(t, "no explicit acceleration: %s", kd_eom_data_message(x->data));
        goto done;
    }
    x->a = a;
    point_set(x);
    largest = fmax(largest, kd_norm_max(nv, a) * kd_norm_max(nv * nv, M));
    if (value(t, x, KD_RESIDUAL, x->F[1]) && !(kd_norm_max(nv, x->F[1]) < 1e-11 * largest))
        disagree(t, "residual at the explicit acceleration is %g", kd_norm_max(nv, x->F[1]));
done:
    x->a = kept;
    point_set(x);
    free(M);
    free(a);
}

// ---- derivatives ---------------------------------------------------------------------------------------------------
static const struct {
    kd_fn    fn;
    unsigned vars;
} blocks[] = {
    {KD_RESIDUAL, KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A) | KD_BIT(KD_R) | KD_BIT(KD_LAMBDA) | KD_BIT(KD_MU)},
    {KD_KINEMATICS, KD_BIT(KD_P) | KD_BIT(KD_V)},
    {KD_B, KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_R)},
    {KD_G, KD_BIT(KD_P)},
    {KD_GI, KD_BIT(KD_P) | KD_BIT(KD_V)},
    {KD_GII, KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A)},
    {KD_H, KD_BIT(KD_P) | KD_BIT(KD_V)},
    {KD_HI, KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A)},
};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

static double *array_of(const point *x, kd_var var)
{
    return var == KD_V        ? x->v
           : var == KD_A      ? x->a
           : var == KD_R      ? x->r
           : var == KD_LAMBDA ? x->lambda
           : var == KD_MU     ? x->mu
                              : NULL;
}

// fn with column j of var moved by h
static bool value_moved(trial *t, point *x, kd_fn fn, kd_var var, int j, double h, double *out)
{
    bool good;
    if (var == KD_P) {
        double *kept = x->p, *e = numbers(x->n.nv), *p = numbers(x->n.np);
        e[j] = h;
        assert_int_equal(kd_eom_oplus(x->data, kept, e, p), KD_EVAL_OK);
        x->p = p;
        point_set(x);
        good = value(t, x, fn, out);
        x->p = kept;
        free(e);
        free(p);
    } else {
        double kept = array_of(x, var)[j];
        array_of(x, var)[j] += h;
        point_set(x);
        good = value(t, x, fn, out);
        array_of(x, var)[j] = kept;
    }
    point_set(x);
    return good;
}

// central differences of order 4 at two increments: D[0] with h, D[1] with 2 h
static bool differences(trial *t, point *x, kd_fn fn, kd_var var, int j, double *const D[2])
{
    const double h = 1e-3;
    double     **F = x->F; // at h, 2 h, 4 h, -h, -2 h, -4 h
    int          rows = kd_eom_rows(kd_system_eom(x->system), fn);
    for (int k = 0; k < 6; k++)
        if (!value_moved(t, x, fn, var, j, (k < 3 ? h : -h) * (double)(1 << k % 3), F[k])) return false;
    for (int i = 0; i < rows; i++) {
        D[0][i] = (8 * (F[0][i] - F[3][i]) - (F[1][i] - F[4][i])) / (12 * h);
        D[1][i] = (8 * (F[1][i] - F[4][i]) - (F[2][i] - F[5][i])) / (24 * h);
    }
    return true;
}

static const char *const fn_word[KD_FN_COUNT] = {"kinematics", "residual", "b", "d", "c", "g", "gI", "gII",
                                                 "h",          "hI",       "q", "e", "y", "s", "f",  "M"};
static const char *const var_word[KD_VAR_COUNT] = {"p", "v", "a", "r", "w", "s", "lambda", "mu", "u", "theta", "t"};

static void check_block(trial *t, point *x, kd_fn fn, kd_var var, long *nonzero)
{
    const kd_eom *eom = kd_system_eom(x->system);
    int           rows = kd_eom_rows(eom, fn), columns = kd_eom_columns(eom, var);
    if (rows == 0 || columns == 0) return;
    double *A = numbers(rows * columns), *const D[2] = {numbers(rows), numbers(rows)};
    kd_blocks wanted = {0};
    double    largest = 1.0;
    char      row[80], column[80];
    wanted.block[fn][var] = A;
    if (kd_eom_derivatives(x->data, KD_PART_ALL, &wanted) != KD_EVAL_OK) {
        disagree(t, "%s by %s: %s", fn_word[fn], var_word[var], kd_eom_data_message(x->data));
        goto done;
    }
    if (!value(t, x, fn, x->F[6])) goto done;
    largest = fmax(fmax(largest, kd_norm_max(rows, x->F[6])), kd_norm_max(rows * columns, A));
    for (int j = 0; j < columns; j++) {
        if (!differences(t, x, fn, var, j, D)) goto done;
        for (int i = 0; i < rows; i++) {
            double a = A[i + j * rows], tolerance = 1e-9 * largest + 30 * fabs(D[0][i] - D[1][i]);
            *nonzero += fabs(a) > 1e-3;
            if (!(fabs(a - D[0][i]) < tolerance))
                disagree(t, "%s[%d] (%s) by %s[%d] (%s): %.10g, differences %.10g +- %.1e", fn_word[fn], i,
                         fn == KD_G || fn == KD_GI || fn == KD_GII
                             ? kd_eom_name(eom, KD_NAME_LAMBDA, i, row, sizeof row)
                         : fn == KD_RESIDUAL ? kd_eom_name(eom, KD_NAME_V, i, row, sizeof row)
                                             : "",
                         var_word[var], j,
                         var == KD_P || var == KD_V ? kd_eom_name(eom, KD_NAME_V, j, column, sizeof column) : "", a,
                         D[0][i], tolerance);
        }
    }
done:
    free(A);
    free(D[0]);
    free(D[1]);
}

static void check_derivatives(trial *t, point *x, long nonzero[BLOCKS][KD_VAR_COUNT])
{
    for (int i = 0; i < BLOCKS; i++)
        for (int var = 0; var < KD_VAR_COUNT; var++)
            if (blocks[i].vars & KD_BIT(var)) check_block(t, x, blocks[i].fn, (kd_var)var, &nonzero[i][var]);
}

// ---- power ---------------------------------------------------------------------------------------------------------
// T + V at p oplus (h v + h^2/2 a), v + h a, r + h b, t + h
static bool energy_after(trial *t, point *x, double h, double *energy)
{
    point       y = *x;
    kd_energies e;
    double     *move = numbers(x->n.nv);
    bool        good = value(t, x, KD_B, x->F[2]);
    y.p = numbers(x->n.np), y.v = numbers(x->n.nv), y.r = numbers(x->n.nr);
    for (int i = 0; i < x->n.nv; i++) {
        move[i] = h * x->v[i] + 0.5 * h * h * x->a[i];
        y.v[i] = x->v[i] + h * x->a[i];
    }
    for (int i = 0; i < x->n.nr; i++) y.r[i] = x->r[i] + h * x->F[2][i];
    good = good && kd_eom_oplus(x->data, x->p, move, y.p) == KD_EVAL_OK;
    y.t += h;
    point_set(&y);
    good = good && kd_eom_energies(y.data, &e) == KD_EVAL_OK;
    if (good) *energy = e.kinetic + e.potential;
    free(y.p), free(y.v), free(y.r), free(move);
    point_set(x);
    return good;
}

// At a consistent point: (T + V)' = supplied - dissipated.
static void check_power(trial *t, point *x, bool conservative)
{
    const double h = 1e-3;
    double       E[4];
    kd_energies  e;
    for (int i = 0; i < 4; i++)
        if (!energy_after(t, x, h * (i < 2 ? i - 2 : i - 1), &E[i])) {
            disagree(t, "no energy: %s", kd_eom_data_message(x->data));
            return;
        }
    if (kd_eom_energies(x->data, &e) != KD_EVAL_OK) {
        disagree(t, "no energy: %s", kd_eom_data_message(x->data));
        return;
    }
    double coarse = (E[3] - E[0]) / (4 * h), fine = (E[2] - E[1]) / (2 * h), rate = fine + (fine - coarse) / 3;
    double size = 1.0 + fabs(e.kinetic) + fabs(e.potential) + fabs(e.supplied) + fabs(e.dissipated);
    if (!(fabs(rate - e.supplied + e.dissipated) < 1e-7 * size + 3 * fabs(rate - fine)))
        disagree(t, "T + V changes by %.9g W, supplied %.9g W, dissipated %.9g W", rate, e.supplied, e.dissipated);
    if (conservative && fabs(e.supplied) + fabs(e.dissipated) > 1e-12 * size)
        disagree(t, "conservative, but supplied %g W, dissipated %g W", e.supplied, e.dissipated);
}

// ---- both coordinate sets ------------------------------------------------------------------------------------------
static kd_state *start_of(trial *t, const kd_system *s)
{
    kd_state *x = NULL;
    char      message[500] = "";
    assert_int_equal(kd_state_create(kd_system_eom(s), &x), KD_OK);
    if (kd_system_start(s, x, message, sizeof message) < 0) {
        disagree(t, "no start: %s", message);
        kd_state_destroy(x);
        return NULL;
    }
    return x;
}

static void check_same(trial *t, const kd_model *model, int n, const double *a, const double *b, double tolerance)
{
    double largest = fmax(1.0, fmin(kd_norm_max(n, a), 1e6));
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) < tolerance * largest))
            disagree(t, "%s: %.12g and %.12g", model->sensor[i].def.value, a[i], b[i]);
}

static void check_both_sets(trial *t, const mechanism *m, const kd_model *model)
{
    kd_system *s[2] = {system_of(model, KD_JOINT), system_of(model, KD_CARTESIAN)};
    kd_state  *x[2] = {NULL, NULL};
    double    *y[2] = {numbers(model->nsensors), numbers(model->nsensors)};
    bool       good = s[0] && s[1];
    if (!good) disagree(t, "no system");
    for (int k = 0; k < 2 && good; k++) {
        x[k] = start_of(t, s[k]);
        good = x[k] != NULL;
        if (!good) break;
        point at = point_at(s[k], x[k]);
        t->what = k == 0 ? "joint coordinates" : "Cartesian coordinates";
        good = value(t, &at, KD_Y, y[k]);
        check_power(t, &at, m->opt.conservative);
        point_release(&at);
    }
    t->what = "joint and Cartesian coordinates";
    if (good) check_same(t, model, model->nsensors, y[0], y[1], 1e-8);
    for (int k = 0; k < 2; k++) {
        kd_state_destroy(x[k]);
        kd_system_destroy(s[k]);
        free(y[k]);
    }
}

// ---- the tests -----------------------------------------------------------------------------------------------------
static void report(const trial *t)
{
    if (t->wrong > 8) print_message("... %d disagreements\n", t->wrong);
    assert_int_equal(t->wrong, 0);
}

// Residual, explicit form, mass matrix and all derivatives agree with each other at random points.
static void test_equations(void **state)
{
    static const char *const word[] = {"joint coordinates", "Cartesian coordinates"};
    static mechanism         m;
    trial                    t = {0};
    long                     nonzero[BLOCKS][KD_VAR_COUNT] = {0};
    (void)state;
    for (int i = 0; i < MECHANISMS; i++) {
        mechanism_options opt = options_of(i);
        uint64_t          seed = (uint64_t)i + 1;
        mechanism_make(&m, (uint64_t)i, &opt);
        kd_model *model = mechanism_build(&m, &(mechanism_variant){.sensors = i % 4 == 0 ? 2 : 0});
        assert_non_null(model);
        t.number = i;
        for (int k = 0; k < 2; k++) {
            kd_system *s = system_of(model, (kd_coordinates)k);
            t.what = word[k];
            kd_state *x = s ? start_of(&t, s) : NULL;
            if (x) {
                point at = point_at(s, x);
                point_shake(&at, &seed);
                check_dynamics(&t, &at);
                check_derivatives(&t, &at, nonzero);
                point_release(&at);
            } else {
                disagree(&t, "no system");
            }
            kd_state_destroy(x);
            kd_system_destroy(s);
        }
        kd_model_destroy(model);
    }
    report(&t);
    for (int i = 0; i < BLOCKS; i++) // nothing was compared with nothing
        for (int var = 0; var < KD_VAR_COUNT; var++)
            if (blocks[i].vars & KD_BIT(var)) assert_true(nonzero[i][var] > 20);
}

// All sensors at the start, accelerations, reactions and energies among them, are the same in both coordinate sets, and
// power is balanced there.
static void test_both_sets(void **state)
{
    static mechanism m;
    trial            t = {0};
    (void)state;
    for (int i = 0; i < MECHANISMS; i++) {
        mechanism_options opt = options_of(i);
        mechanism_make(&m, (uint64_t)i, &opt);
        kd_model *model = mechanism_build(&m, &(mechanism_variant){.sensors = 2});
        assert_non_null(model);
        t.number = i;
        check_both_sets(&t, &m, model);
        kd_model_destroy(model);
    }
    report(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equations),
        cmocka_unit_test(test_both_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
