// Two ways, one answer, over random mechanisms with every kind of joint, constraint and force, trees and loops, in
// joint and in Cartesian coordinates: explicit against residual, mass matrix, derivatives against differences, all
// sensors in both coordinate sets, power, momentum, and the same mechanism written in other ways.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <kardan/certificate.h>
#include <kardan/initial.h>
#include <kardan/simulation.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/dense.h"
#include "model/model.h"
#include "system/system.h"
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

// ---- mechanisms -----------------------------------------------------------------------------------------------------
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
                               .states = i % 3 == 0,
                               .flexible = i % 3 == 1 || i % 8 == 6,
                               .rubs = true};
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

// ---- points ---------------------------------------------------------------------------------------------------------
typedef struct point {
    const kd_system *system;
    kd_eom_data     *data;
    kd_dims          n;
    double           t, *u, *p, *v, *r, *a, *w, *lambda, *mu;
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
    const int others[] = {n->nv, n->nr, n->nlambda, n->nmu, n->ny, n->nw};
    for (int i = 0; i < 6; i++) rows = others[i] > rows ? others[i] : rows;
    return rows;
}

static void point_set(point *x)
{
    const kd_inputs *inputs = kd_system_inputs(x->system);
    (void)inputs->eval(x->t, inputs->context, x->u, x->u + x->n.nu, x->u + 2 * x->n.nu);
    kd_eom_at_time(x->data, x->t, x->u, x->u + x->n.nu, x->u + 2 * x->n.nu, NULL);
    kd_eom_at_position(x->data, x->p, NULL);
    kd_eom_at_velocity(x->data, x->v, x->r);
    kd_eom_at_acceleration(x->data, x->a, x->w, x->lambda, x->mu);
}

static point point_at(const kd_system *s, const kd_state *start)
{
    point x = {.system = s, .n = kd_eom_dims(kd_system_eom(s)), .t = start->t};
    assert_int_equal(kd_eom_data_create(kd_system_eom(s), &x.data), KD_OK);
    double **const arrays[] = {&x.p, &x.v, &x.r, &x.a, &x.lambda, &x.mu, &x.w};
    double *const  from[] = {start->p, start->v, start->r, start->a, start->lambda, start->mu, start->w};
    const int      sizes[] = {x.n.np, x.n.nv, x.n.nr, x.n.nv, x.n.nlambda, x.n.nmu, x.n.nw};
    for (int i = 0; i < 7; i++) {
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
    double *const arrays[] = {x->u, x->p, x->v, x->r, x->a, x->lambda, x->mu, x->w};
    for (int i = 0; i < 8; i++) free(arrays[i]);
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
    for (int i = 0; i < x->n.nw; i++) x->w[i] = 2 + mechanism_random(seed);
    free(e);
    point_set(x);
}

static bool value(trial *t, const point *x, kd_fn fn, double *out)
{
    if (kd_eom_eval(x->data, fn, out) == KD_EVAL_OK) return true;
    disagree(t, "function %d cannot be evaluated: %s", (int)fn, kd_eom_data_message(x->data));
    return false;
}

// ---- explicit, residual, mass matrix --------------------------------------------------------------------------------
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

// Accelerations and multipliers together fulfil dynamics and constraints on acceleration level.
static void check_together(trial *t, point *x)
{
    point   y = *x;
    double  size = 1.0;
    kd_dims n = x->n;
    if (n.nw > 0) return; // not linear
    y.a = numbers(n.nv), y.lambda = numbers(n.nlambda), y.mu = numbers(n.nmu);
    if (kd_eom_accelerations(x->data, y.a, y.lambda, y.mu) != KD_EVAL_OK) {
        disagree(t, "no accelerations: %s", kd_eom_data_message(x->data));
    } else {
        point_set(&y);
        size =
            fmax(fmax(size, kd_norm_max(n.nv, y.a)), fmax(kd_norm_max(n.nlambda, y.lambda), kd_norm_max(n.nmu, y.mu)));
        const kd_fn fn[] = {KD_RESIDUAL, KD_GII, KD_HI};
        const int   rows[] = {n.nv, n.nlambda, n.nmu};
        for (int i = 0; i < 3; i++)
            if (value(t, &y, fn[i], x->F[0]) && !(kd_norm_max(rows[i], x->F[0]) < 1e-9 * size))
                disagree(t, "accelerations leave %g in function %d", kd_norm_max(rows[i], x->F[0]), (int)fn[i]);
    }
    free(y.a), free(y.lambda), free(y.mu);
    point_set(x);
}

// ---- derivatives ----------------------------------------------------------------------------------------------------
static const struct {
    kd_fn    fn;
    unsigned vars;
} blocks[] = {
    {KD_RESIDUAL,
     KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A) | KD_BIT(KD_R) | KD_BIT(KD_W) | KD_BIT(KD_LAMBDA) | KD_BIT(KD_MU)},
    {KD_D, KD_BIT(KD_W) | KD_BIT(KD_LAMBDA)},
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
           : var == KD_W      ? x->w
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

// The sparse values, put into their places, are the dense block.
static void check_sparse(trial *t, point *x, kd_fn fn, kd_var var, const double *A)
{
    kd_pattern at;
    if (!kd_eom_pattern(kd_system_eom(x->system), fn, var, &at)) return;
    double *values = numbers(at.column[at.columns]), *dense = numbers(at.rows * at.columns);
    if (kd_eom_sparse(x->data, fn, var, KD_PART_ALL, values) != KD_EVAL_OK)
        disagree(t, "%s by %s: no sparse values", fn_word[fn], var_word[var]);
    for (int j = 0; j < at.columns; j++)
        for (int k = at.column[j]; k < at.column[j + 1]; k++) dense[at.row[k] + j * at.rows] += values[k];
    for (int i = 0; i < at.rows * at.columns; i++)
        if (!(fabs(dense[i] - A[i]) <= 1e-12 * fmax(1.0, fabs(A[i]))))
            disagree(t, "%s by %s: sparse %g, dense %g", fn_word[fn], var_word[var], dense[i], A[i]);
    free(values);
    free(dense);
}

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
    check_sparse(t, x, fn, var, A);
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

// The library's own check of a definition has nothing to say.
static void check_definition(trial *t, const kd_system *s, const kd_state *x)
{
    kd_check_options opt = kd_check_options_default();
    char             report[800] = "";
    opt.samples = 1;
    if (kd_eom_check(kd_system_eom(s), kd_system_inputs(s), x, &opt, report, sizeof report) != KD_OK)
        disagree(t, "kd_eom_check says: %s", report);
}

// ---- power ----------------------------------------------------------------------------------------------------------
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

// ---- both coordinate sets -------------------------------------------------------------------------------------------
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

// ---- the same mechanism in other words ------------------------------------------------------------------------------
// All sensors at the start, in joint coordinates.
static bool sensors_of(trial *t, const kd_model *model, double *y)
{
    kd_system *s = system_of(model, KD_JOINT);
    kd_state  *x = s ? start_of(t, s) : NULL;
    bool       good = x != NULL;
    if (good) {
        point at = point_at(s, x);
        good = value(t, &at, KD_Y, y);
        point_release(&at);
    }
    kd_state_destroy(x);
    kd_system_destroy(s);
    return good;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// "force.f3.tx" of an applied force
static bool is_applied(const kd_model *model, const char *text)
{
    int force = -1;
    return sscanf(text, "force.f%d.", &force) == 1 && model->force[force].def.kind == KD_APPLIED;
}

// What the sensors of the mechanism, moved as a whole, would have to say; NaN: another reference.
static void move_sensors(const kd_model *model, const mechanism_variant *v, double *y)
{
    kd_mat3 R = kd_quat_matrix(v->turn);
    for (int i = 0; i < model->nsensors; i++) {
        const char *text = model->sensor[i].def.value, *end = text + strlen(text);
        if (is_applied(model, text) && end[-1] == 'x') { // components along the axes of the world
            kd_vec_to(kd_mat_vec(&R, kd_vec_of(y + i)), y + i);
            i += 2;
        } else if (starts(text, "body.") && (strcmp(end - 2, ".x") == 0 || strcmp(end - 4, "R.xx") == 0 ||
                                             strcmp(end - 4, "R.xy") == 0)) { // the three components of a vector
            kd_vec3 moved = kd_mat_vec(&R, kd_vec_of(y + i));
            if (strstr(text, ".pos.") || strstr(text, ".com.")) moved = kd_vec_add(moved, v->shift);
            kd_vec_to(moved, y + i);
            i += 2;
        } else if (starts(text, "body.") || starts(text, "2*sensor") || strcmp(text, "energy.potential") == 0) {
            y[i] = NAN;
        }
    }
}

static void check_variant(trial *t, const mechanism *m, const double *y, mechanism_variant v, const char *what)
{
    v.sensors = 2;
    kd_model *model = mechanism_build(m, &v);
    assert_non_null(model);
    int     n = model->nsensors;
    double *wanted = numbers(n), *is = numbers(n);
    memcpy(wanted, y, (size_t)n * sizeof *y);
    t->what = what;
    if (v.moved) move_sensors(model, &v, wanted);
    if (sensors_of(t, model, is)) {
        for (int i = 0; i < n; i++)
            if (isnan(wanted[i]) || (v.turn_over && starts(model->sensor[i].def.value, "joint.")))
                is[i] = wanted[i] = 0;
        check_same(t, model, n, wanted, is, 1e-8);
    }
    kd_model_destroy(model);
    free(wanted);
    free(is);
}

static void check_variants(trial *t, const mechanism *m)
{
    uint64_t  seed = m->seed;
    kd_model *model = mechanism_build(m, &(mechanism_variant){.sensors = 2});
    assert_non_null(model);
    double *y = numbers(model->nsensors);
    kd_cut  cut[MAX_JOINTS];
    t->what = "as it is";
    if (sensors_of(t, model, y)) {
        check_variant(t, m, y, (mechanism_variant){.reorder = true}, "in another order");
        if (m->opt.invariant)
            check_variant(t, m, y,
                          (mechanism_variant){.moved = true, .turn = mechanism_quat(&seed), .shift = {0.3, -2, 1}},
                          "moved as a whole");
        for (int i = 0; i < m->njoints; i++) cut[i] = mechanism_below(2, &seed) ? KD_CUT_YES : KD_CUT_AUTO;
        if (m->opt.at_rest) { // cut joints do not carry start velocities
            check_variant(t, m, y, (mechanism_variant){.cut = cut}, "with other joints cut");
            for (int i = 0; i < m->njoints; i++) cut[i] = KD_CUT_YES;
            check_variant(t, m, y, (mechanism_variant){.cut = cut}, "with all joints cut");
            check_variant(t, m, y, (mechanism_variant){.turn_over = true}, "with joints the other way round");
        }
    }
    kd_model_destroy(model);
    free(y);
}

// ---- momentum -------------------------------------------------------------------------------------------------------
// The sensor "body.NAME.what.x" and its two neighbours.
static kd_vec3 vector_of(const kd_model *model, const double *y, int body, const char *what)
{
    char text[40];
    (void)snprintf(text, sizeof text, "body.%s.%s", mechanism_body_name(body), what);
    for (int i = 0; i + 2 < model->nsensors; i++)
        if (strcmp(model->sensor[i].def.value, text) == 0) return kd_vec_of(y + i);
    fail_msg("no sensor %s", text);
    return kd_vec(0, 0, 0);
}

typedef struct momentum {
    kd_vec3 linear, angular; // about the origin of the world
} momentum;

// level 0: momentum; 1: its rate, sum m a and sum c x m a + I alpha + omega x I omega
static momentum momentum_of(const mechanism *m, const kd_model *model, const double *y, int level)
{
    momentum sum = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < m->nbodies; i++) {
        const kd_body *b = &model->body[i];
        kd_mat3        R = {vector_of(model, y, i, "R.xx"), vector_of(model, y, i, "R.xy"), {0, 0, 0}};
        R.z = kd_vec_cross(R.x, R.y);
        kd_sym3 inertia = kd_sym_rotate(&R, &b->inertia);
        kd_vec3 arm = kd_mat_vec(&R, b->centre), centre = kd_vec_add(vector_of(model, y, i, "pos.x"), arm);
        kd_vec3 omega = vector_of(model, y, i, "omega.x"), turn = kd_vec_cross(omega, arm);
        kd_vec3 spin = kd_sym_vec(&inertia, omega), change = kd_vec_add(vector_of(model, y, i, "vel.x"), turn);
        if (level == 1) {
            kd_vec3 alpha = vector_of(model, y, i, "alpha.x");
            change = kd_vec_add(vector_of(model, y, i, "acc.x"),
                                kd_vec_add(kd_vec_cross(alpha, arm), kd_vec_cross(omega, turn)));
            spin = kd_vec_add(kd_sym_vec(&inertia, alpha), kd_vec_cross(omega, spin));
        }
        kd_vec3 p = kd_vec_scale(b->def.mass, change);
        sum.linear = kd_vec_add(sum.linear, p);
        sum.angular = kd_vec_add(sum.angular, kd_vec_add(kd_vec_cross(centre, p), spin));
    }
    return sum;
}

// ---- simulation -----------------------------------------------------------------------------------------------------
typedef struct run {
    kd_certifier    *certifier;
    kd_simulation   *simulation;
    const kd_system *system;
    double           bend; // largest one of constant velocity joints in the tree
} run;

static double bend_at(const kd_system *s, const kd_state *x)
{
    double most = 0.0;
    for (int i = 1; i < s->tree.nlinks; i++) {
        const kd_link *l = &s->tree.link[i];
        if (!l->form.folds || s->p_of_x[l->position] < 0 || s->p_of_x[l->position + 1] < 0) continue;
        const double a = x->p[s->p_of_x[l->position]], b = x->p[s->p_of_x[l->position + 1]];
        most = fmax(most, 2.0 * acos(cos(0.5 * a) * cos(0.5 * b)));
    }
    return most;
}

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    run *r = context;
    (void)at_time;
    r->bend = fmax(r->bend, bend_at(r->system, x));
    return r->simulation && kd_certifier_see(r->certifier, r->simulation, x) < 0 ? KD_EVAL_STOP : KD_EVAL_OK;
}

// What the certificate of a run says: energy balance, all levels of the constraints, norms.
static void check_certificate(trial *t, const kd_certificate *c)
{
    if (!(c->energy.value < 1e-8 * fmax(1.0, c->energy_scale)))
        disagree(t, "energy is out of balance by %g of %g J at t = %g", c->energy.value, c->energy_scale, c->energy.t);
    for (int level = 0; level < KD_LEVEL_COUNT; level++)
        if (!(c->level[level].value < 1e-9 * c->scale[level]))
            disagree(t, "level %d is violated by %g: %s", level, c->level[level].value, c->level[level].name);
    if (!(c->norm.value < 1e-9)) disagree(t, "norm is violated by %g: %s", c->norm.value, c->norm.name);
}

// Sensors after one second; the time where the motion ended: a disc can fall flat, a bushing turn over.
static double simulated(trial *t, const kd_system *s, double *y, double *bend)
{
    kd_state             *x = start_of(t, s);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    char message[500] = "";
    run  r = {.system = s};
    if (!x) return 0.0;
    opt.rtol = 1e-11;
    opt.atol = 1e-12;
    opt.integrator_options.max_steps = 2000;
    opt.output = see;
    opt.context = &r;
    assert_int_equal(kd_certifier_create(kd_system_eom(s), kd_system_inputs(s), &r.certifier), KD_OK);
    kd_status status =
        kd_simulation_create(kd_system_eom(s), kd_system_inputs(s), &opt, x, &r.simulation, message, sizeof message);
    assert_true(status >= 0);
    assert_true(kd_certifier_see(r.certifier, NULL, x) >= 0);
    status = kd_simulation_run(r.simulation, 1.0);
    double reached = status < 0 ? x->t : 1.0;
    if (status == KD_OK) {
        kd_certificate c = kd_certifier_certificate(r.certifier);
        point          at = point_at(s, x);
        check_certificate(t, &c);
        (void)value(t, &at, KD_Y, y);
        point_release(&at);
    } else if (status > 0) {
        disagree(t, "stopped: %s", kd_simulation_message(r.simulation));
    }
    *bend = r.bend;
    kd_simulation_destroy(r.simulation);
    kd_certifier_destroy(r.certifier);
    kd_state_destroy(x);
    return reached;
}

// The number of motions that went on to the end. A bend of half a turn is the end of the range of a constant velocity
// joint: its row loses its rank there, its coordinates may go on.
static int check_motions(trial *t, const kd_model *model)
{
    double *y[2] = {numbers(model->nsensors), numbers(model->nsensors)}, reached[2], bend[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        kd_system *s = system_of(model, (kd_coordinates)k);
        t->what = k == 0 ? "joint coordinates" : "Cartesian coordinates";
        assert_non_null(s);
        reached[k] = simulated(t, s, y[k], &bend[k]);
        kd_system_destroy(s);
    }
    t->what = "motion in both coordinate sets";
    if (bend[0] > 3.1)
        reached[0] = 0.0;
    else if (!(fabs(reached[0] - reached[1]) < 1e-2))
        disagree(t, "the motion ends at t = %g and %g", reached[0], reached[1]);
    else if (reached[0] == 1.0)
        check_same(t, model, model->nsensors, y[0], y[1], 1e-9);
    free(y[0]);
    free(y[1]);
    return reached[0] == 1.0;
}

// ---- the tests ------------------------------------------------------------------------------------------------------
static void report(const trial *t)
{
    if (t->wrong > 8) print_message("... %d disagreements\n", t->wrong);
    assert_int_equal(t->wrong, 0);
}

// Every kind of joint is there, in the tree in both directions and as the closure of a loop, and every kind of
// constraint and force.
static void test_coverage(void **state)
{
    static mechanism m;
    int              joints[KD_JOINT_KIND_COUNT][3] = {{0}}, constraints[KD_CONSTRAINT_KIND_COUNT] = {0};
    int              forces[KD_FORCE_KIND_COUNT] = {0}, users = 0, driven = 0, loops = 0;
    int              wide = 0, on_markers = 0, markers = 0; // bodies that deform, links on their markers, markers
    (void)state;
    for (int i = 0; i < MECHANISMS; i++) {
        mechanism_options opt = options_of(i);
        mechanism_make(&m, (uint64_t)i, &opt);
        kd_model *model = mechanism_build(&m, &(mechanism_variant){.sensors = 0});
        assert_non_null(model);
        kd_system *s = system_of(model, KD_JOINT);
        assert_non_null(s);
        for (int k = 0; k < m.njoints; k++) {
            joints[m.joint[k].kind][s->edge[k].link == 0 ? 2 : s->edge[k].reversed]++;
            for (int c = 0; c < 6; c++) driven += m.joint[k].motion[c] != NULL;
        }
        for (int k = 0; k < m.nconstraints; k++) constraints[m.constraint[k].kind]++;
        for (int k = 0; k < m.nforces; k++) forces[m.force[k].kind]++;
        for (int k = 1; k < s->tree.nlinks; k++) {
            wide += s->tree.link[k].wide != NULL;
            markers += s->tree.link[k].marker != NULL;
            on_markers += s->tree.link[s->tree.link[k].parent].marker != NULL;
        }
        users += m.nuser;
        loops += kd_system_info_of(s).nloops > 0;
        kd_system_destroy(s);
        kd_model_destroy(model);
    }
    for (int k = 0; k < KD_JOINT_KIND_COUNT; k++)
        for (int use = 0; use < 3; use++)
            if (joints[k][use] == 0 && !(kd_joint_form_of((kd_joint_kind)k).ndof == 6 && use == 2)) // nothing to close
                fail_msg("joint kind %d is never used as %d", k, use);
    for (int k = 0; k < KD_CONSTRAINT_KIND_COUNT;
         k++) // wheels on rails: test_wheel.c, test_rail.c; surfaces: test_surface_contact.c
        assert_true(constraints[k] > 2 || k == KD_WHEEL_RAIL || k == KD_SURFACE_KEPT);
    for (int k = 0; k < KD_CLUTCH; k++) assert_true(forces[k] > 10); // a clutch: test_gallery_friction.c
    assert_true(users > 10 && driven > 20 && loops > 80);
    assert_true(wide > MECHANISMS / 4 && markers > MECHANISMS && on_markers > MECHANISMS / 20);
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
                check_together(&t, &at);
                check_derivatives(&t, &at, nonzero);
                point_release(&at);
                if (i % 4 == k + 1) check_definition(&t, s, x);
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

// After one second all bodies are at the same place, whichever coordinates were integrated.
static void test_motions(void **state)
{
    static mechanism m;
    trial            t = {0};
    int              complete = 0;
    (void)state;
    for (int i = 0; i < SIMULATED; i++) {
        mechanism_options opt = options_of(3 * i + 1);
        opt.smooth = true;
        mechanism_make(&m, 1000 + (uint64_t)i, &opt);
        kd_model *model = mechanism_build(&m, &(mechanism_variant){.sensors = 1});
        assert_non_null(model);
        t.number = i;
        complete += check_motions(&t, model);
        kd_model_destroy(model);
    }
    report(&t);
    assert_true(complete >= SIMULATED - SIMULATED / 4);
}

// Other order of bodies and joints, another place in the world, other cuts: the same accelerations and forces.
static void test_variants(void **state)
{
    static mechanism m;
    trial            t = {0};
    (void)state;
    for (int i = 0; i < MECHANISMS; i++) {
        mechanism_options opt = options_of(i);
        opt.at_rest = i % 3 != 0;
        mechanism_make(&m, 5000 + (uint64_t)i, &opt);
        t.number = i;
        check_variants(&t, &m);
    }
    report(&t);
}

static double norm_of(momentum a)
{
    return kd_vec_norm(a.linear) + kd_vec_norm(a.angular);
}

// Nothing from outside acts on a floating mechanism: its momentum has no rate, and stays what it is over a second.
static void test_momentum(void **state)
{
    static mechanism m;
    trial            t = {0};
    int              moving = 0;
    (void)state;
    for (int i = 0; i < MECHANISMS / 4; i++) {
        mechanism_options opt = options_of(i);
        opt.bodies += 1;
        opt.floating = opt.smooth = true;
        opt.driven = i % 3 == 1;
        opt.flexible = false; // its momentum is not that of its frame: test_flexible.c
        mechanism_make(&m, 9000 + (uint64_t)i, &opt);
        kd_model *model = mechanism_build(&m, &(mechanism_variant){.sensors = 2});
        assert_non_null(model);
        double *y = numbers(model->nsensors);
        t.number = i;
        t.what = "rate of momentum";
        if (sensors_of(&t, model, y)) {
            momentum at_start = momentum_of(&m, model, y, 0), rate = momentum_of(&m, model, y, 1);
            if (!(norm_of(rate) < 1e-9 * (1 + kd_norm_max(model->nsensors, y)))) disagree(&t, "%g", norm_of(rate));
            moving += norm_of(at_start) > 0.1;
            if (i < SIMULATED / 3) {
                kd_system *s = system_of(model, (kd_coordinates)(i % 2));
                t.what = "momentum";
                double bend;
                if (simulated(&t, s, y, &bend) == 1.0) {
                    momentum end = momentum_of(&m, model, y, 0);
                    end.linear = kd_vec_sub(end.linear, at_start.linear);
                    end.angular = kd_vec_sub(end.angular, at_start.angular);
                    if (!(norm_of(end) < 1e-9 * (1 + norm_of(at_start)))) disagree(&t, "changes by %g", norm_of(end));
                }
                kd_system_destroy(s);
            }
        }
        kd_model_destroy(model);
        free(y);
    }
    report(&t);
    assert_true(moving > MECHANISMS / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coverage), cmocka_unit_test(test_equations), cmocka_unit_test(test_both_sets),
        cmocka_unit_test(test_motions),  cmocka_unit_test(test_variants),  cmocka_unit_test(test_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
