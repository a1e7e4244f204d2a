// initial_system.c: unknowns, rows and Jacobian of the initial-value problem of one level (see initial_system.h).
//
// Positions are charted from the guess, p(e) = base oplus e, so that |e| measures the distance to the guess.
// Derivatives of the equations come along increments at p(e); the chain rule needs T = d(increment at p)/de from
//     Z(p) T = d(base oplus e)/de,    T = (Z'Z)^-1 Z' d(base oplus e)/de ,    T = I for Z = I and for e = 0.
#include "start/initial_system.h"

#include "core/text.h"
#include "eom/internal.h"
#include "math/dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define NORM_LIMIT 20         // Gauss-Newton iterations on q = 0
#define NORM_ROUNDING 8.0     // |q| below this many eps is zero
#define DIFFERENCE 6.0554e-06 // eps^(1/3): central differences
#define MANY_NORMS 64         // norm equations from which on the definition's own way back to q = 0 is taken first
#define MASS_RANK 1e-10       // pivot of M over its diagonal below which M counts as singular
#define RATE_ZERO 1e-8        // largest velocity and acceleration in natural units that is rest
#define MASS_FLOOR 1e-6       // weight of directions without mass, relative to the masses

// ---- the point ------------------------------------------------------------------------------------------------------

void kd_iv_set_point(kd_iv *iv)
{
    const kd_state *x = iv->now;
    kd_eom_at_position(iv->data, x->p, x->s);
    kd_eom_at_velocity(iv->data, x->v, x->r);
    kd_eom_at_acceleration(iv->data, x->a, x->w, x->lambda, x->mu);
}

static kd_eval remember_fault(kd_iv *iv, kd_eval e)
{
    if (e == KD_EVAL_OK) return e;
    kd_status st = kd_eom_data_fault(iv->data).status;
    if (st == KD_ERR_CALLBACK_STOP || st == KD_ERR_RETRY_FAILED) st = KD_ERR_IV_CALLBACK;
    if (st == KD_ERR_DECOMPOSITION) st = KD_ERR_IV_DECOMPOSITION;
    iv->fault = st;
    iv->stopped = iv->stopped || e == KD_EVAL_STOP;
    kd_text(iv->message, iv->size, "%s", kd_eom_data_message(iv->data));
    return e;
}

kd_eval kd_iv_evaluate(kd_iv *iv, kd_fn fn, double *out)
{
    return remember_fault(iv, kd_eom_eval(iv->data, fn, out));
}

static void condition_text(kd_iv *iv, int i, char *buffer, size_t size)
{
    const char *name = iv->opt->condition_name ? iv->opt->condition_name(i, iv->opt->context) : NULL;
    if (name)
        kd_text(buffer, size, "'%s'", name);
    else
        kd_text(buffer, size, "[%d]", i);
}

kd_eval kd_iv_conditions(kd_iv *iv, double *out)
{
    kd_mark_unset(out, iv->opt->nconditions);
    // all must be set, and be numbers
    kd_eval e = iv->opt->conditions(kd_eom_point(iv->data), iv->opt->context, out);
    if (e != KD_EVAL_OK) {
        iv->fault = KD_ERR_IV_CONDITION;
        iv->stopped = iv->stopped || e == KD_EVAL_STOP;
        kd_text(iv->message, iv->size, "the function of user conditions %s at t = %g",
                e == KD_EVAL_STOP ? "asked to stop" : "cannot be evaluated", iv->now->t);
        return e;
    }
    for (int i = 0; i < iv->opt->nconditions; i++) {
        if (isfinite(out[i])) continue;
        char name[96];
        condition_text(iv, i, name, sizeof name);
        bool unset = kd_is_unset(out[i]);
        iv->fault = unset ? KD_ERR_DEFINITION : KD_ERR_NOT_FINITE;
        iv->stopped = iv->stopped || unset;
        kd_text(iv->message, iv->size, "condition %s %s at t = %g", name,
                unset ? "was not set" : "is not a finite number", iv->now->t);
        return unset ? KD_EVAL_STOP : KD_EVAL_RETRY;
    }
    return e;
}

// ---- norm equations -------------------------------------------------------------------------------------------------

// q_p by central differences in the coordinates, exact for quadratic q
static kd_eval norm_jacobian(kd_iv *iv, double *p)
{
    int nq = iv->n.nq;
    for (int j = 0; j < iv->n.np; j++) {
        // (q(p + delta e_j) - q(p - delta e_j)) / (2 delta)
        double *column = iv->q_p + (size_t)nq * (size_t)j, p_j = p[j], delta = 1e-3 * fmax(1.0, fabs(p_j));
        p[j] = p_j + delta;
        kd_eom_at_position(iv->data, p, iv->now->s);
        kd_eval e = kd_iv_evaluate(iv, KD_Q, column);
        p[j] = p_j - delta;
        kd_eom_at_position(iv->data, p, iv->now->s);
        if (e == KD_EVAL_OK) e = kd_iv_evaluate(iv, KD_Q, iv->q_q);
        p[j] = p_j;
        if (e != KD_EVAL_OK) return e;
        for (int i = 0; i < nq; i++) column[i] = (column[i] - iv->q_q[i]) / (2.0 * delta);
    }
    return KD_EVAL_OK;
}

// p <- p - q_p' (q_p q_p')^-1 q
static bool norm_step(kd_iv *iv, double *p)
{
    int nq = iv->n.nq, np = iv->n.np;
    // (q_p q_p') y = q, p -= q_p' y
    for (int k = 0; k < nq; k++)
        for (int i = 0; i < nq; i++) {
            double sum = 0.0;
            for (int j = 0; j < np; j++) sum += iv->q_p[i + nq * j] * iv->q_p[k + nq * j];
            iv->q_q[i + nq * k] = sum;
        }
    if (kd_cholesky_factor(nq, iv->q_q) != 0) return false;
    kd_cholesky_solve(nq, iv->q_q, iv->q, 1);
    kd_gemv_t(nq, np, -1.0, iv->q_p, iv->q, 1.0, p);
    return true;
}

static kd_eval norm_failure(kd_iv *iv)
{
    char name[96];
    int  worst = 0;
    for (int i = 1; i < iv->n.nq; i++)
        if (fabs(iv->q[i]) > fabs(iv->q[worst])) worst = i;
    iv->fault = KD_ERR_IV_NO_CONVERGENCE;
    kd_text(iv->message, iv->size,
            "norm equation '%s' cannot be satisfied near the guess; give a quaternion that is not zero",
            kd_eom_name(iv->eom, KD_NAME_Q, worst, name, sizeof name));
    return KD_EVAL_RETRY;
}

static bool norm_room(kd_iv *iv)
{
    if (!iv->q_p) iv->q_p = kd_cut_matrix(&iv->arena, iv->n.nq, iv->n.np);
    if (!iv->q_q) iv->q_q = kd_cut_matrix(&iv->arena, iv->n.nq, iv->n.nq);
    if (iv->q_p && iv->q_q) return true;
    iv->fault = KD_ERR_MEMORY;
    iv->stopped = true;
    return false;
}

kd_eval kd_iv_normalise(kd_iv *iv, double *p)
{
    double before = DBL_MAX;
    if (iv->n.nq > MANY_NORMS) (void)kd_eom_normalise(iv->data, p);
    for (int iteration = 0; iv->n.nq > 0; iteration++) {
        // |q| at p: rounding?
        kd_eom_at_position(iv->data, p, iv->now->s);
        kd_eval e = kd_iv_evaluate(iv, KD_Q, iv->q);
        if (e != KD_EVAL_OK) return e;
        double now = kd_norm_max(iv->n.nq, iv->q);
        if (now <= NORM_ROUNDING * DBL_EPSILON || (now < 1e-12 && now >= before)) return KD_EVAL_OK;
        if (iteration >= NORM_LIMIT) return norm_failure(iv);
        // one Gauss-Newton step
        before = now;
        if (!norm_room(iv)) return KD_EVAL_STOP;
        e = norm_jacobian(iv, p);
        if (e != KD_EVAL_OK) return e;
        if (!norm_step(iv, p)) return norm_failure(iv);
    }
    return KD_EVAL_OK;
}

// ---- chart ----------------------------------------------------------------------------------------------------------

static bool is_zero(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (x[i] != 0.0) return false;
    return true;
}

// p = base oplus e, bit for bit the base for e = 0
static kd_eval chart_position(kd_iv *iv, const double *e, double *p)
{
    memcpy(p, iv->base, (size_t)iv->n.np * sizeof(double));
    if (is_zero(e, iv->n.nv)) return KD_EVAL_OK;
    kd_eval answer = remember_fault(iv, kd_eom_oplus(iv->data, iv->base, e, p));
    return answer == KD_EVAL_OK ? kd_iv_normalise(iv, p) : answer;
}

// column j of T before the solve: Z' (p(e + delta) - p(e - delta)) / (2 delta)
static kd_eval chart_column(kd_iv *iv, int j)
{
    double e_j = iv->e[j];
    iv->e[j] = e_j + DIFFERENCE;
    kd_eval answer = chart_position(iv, iv->e, iv->p_right);
    iv->e[j] = e_j - DIFFERENCE;
    if (answer == KD_EVAL_OK) answer = chart_position(iv, iv->e, iv->p_left);
    iv->e[j] = e_j;
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < iv->n.np; i++) iv->p_right[i] = (iv->p_right[i] - iv->p_left[i]) / (2.0 * DIFFERENCE);
    kd_gemv_t(iv->n.np, iv->n.nv, 1.0, iv->Z, iv->p_right, 0.0, iv->T + (size_t)iv->n.nv * (size_t)j);
    return KD_EVAL_OK;
}

// T at e; false in *needed: T = I
static kd_eval chart_matrix(kd_iv *iv, bool *needed)
{
    *needed = !iv->flat && !is_zero(iv->e, iv->n.nv);
    if (!*needed) return KD_EVAL_OK;
    // Z' d(base oplus e)/de
    kd_eom_at_position(iv->data, iv->now->p, iv->now->s);
    kd_eval answer = remember_fault(iv, kd_eom_Z(iv->data, iv->Z));
    for (int j = 0; j < iv->n.nv && answer == KD_EVAL_OK; j++) answer = chart_column(iv, j);
    if (answer != KD_EVAL_OK) return answer;
    // (Z'Z) T = Z' d(base oplus e)/de
    kd_gemm_tn(iv->n.nv, iv->n.nv, iv->n.np, 1.0, iv->Z, iv->Z, 0.0, iv->ZZ);
    if (kd_cholesky_factor(iv->n.nv, iv->ZZ) != 0) {
        iv->fault = KD_ERR_IV_DECOMPOSITION;
        kd_text(iv->message, iv->size,
                "Z(p) does not have full rank near the guess: choose other coordinates or another guess");
        return KD_EVAL_RETRY;
    }
    kd_cholesky_solve(iv->n.nv, iv->ZZ, iv->T, iv->n.nv);
    return KD_EVAL_OK;
}

// ---- weight ---------------------------------------------------------------------------------------------------------

static bool is_safely_definite(int n, const double *W, double *L, const double *diagonal)
{
    memcpy(L, W, (size_t)n * (size_t)n * sizeof(double));
    if (kd_cholesky_factor(n, L) != 0) return false;
    for (int i = 0; i < n; i++)
        if (L[i + n * i] * L[i + n * i] < MASS_RANK * diagonal[i]) return false;
    return true;
}

// W = M; where M is singular, directions without mass get the weight 1e-6 of the masses, so that they move first
kd_eval kd_iv_weight(kd_iv *iv, double *W)
{
    int nv = iv->n.nv;
    memset(W, 0, (size_t)nv * (size_t)nv * sizeof(double));
    for (int i = 0; i < nv; i++) W[i + nv * i] = 1.0;
    if (iv->opt->euclidean || nv == 0) return KD_EVAL_OK;
    // M at the point
    kd_iv_set_point(iv);
    kd_eval e = kd_iv_evaluate(iv, KD_MASS, iv->M);
    if (e != KD_EVAL_OK) return e;
    // masses of the coordinates; where there is none, the least
    double  least = DBL_MAX;
    double *diagonal = iv->e; // not in use between systems
    for (int i = 0; i < nv; i++)
        if (iv->M[i + nv * i] > 0.0) least = fmin(least, iv->M[i + nv * i]);
    for (int i = 0; i < nv; i++)
        diagonal[i] = iv->M[i + nv * i] > 0.0 ? iv->M[i + nv * i] : least < DBL_MAX ? least : 1.0;
    // W = (M + M') / 2, made definite
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < nv; i++) W[i + nv * j] = 0.5 * (iv->M[i + nv * j] + iv->M[j + nv * i]);
    if (!is_safely_definite(nv, W, iv->ZZ, diagonal)) {
        for (int i = 0; i < nv; i++) W[i + nv * i] += MASS_FLOOR * diagonal[i];
        if (!is_safely_definite(nv, W, iv->ZZ, diagonal)) { // M is indefinite: its diagonal must do
            memset(W, 0, (size_t)nv * (size_t)nv * sizeof(double));
            for (int i = 0; i < nv; i++) W[i + nv * i] = diagonal[i];
        }
    }
    memset(iv->e, 0, (size_t)nv * sizeof(double));
    return KD_EVAL_OK;
}

// ---- unknowns and rows ----------------------------------------------------------------------------------------------

static double *state_array(const kd_iv *iv, int var)
{
    kd_state *x = iv->now;
    switch (var) {
    case KD_P:
        return iv->e;
    case KD_V:
        return x->v;
    case KD_A:
        return x->a;
    case KD_R:
        return x->r;
    case KD_W:
        return x->w;
    case KD_S:
        return x->s;
    case KD_LAMBDA:
        return x->lambda;
    default:
        return x->mu;
    }
}

static bool is_free(const kd_iv *iv, int var, int i)
{
    switch (var) {
    case KD_P:
        return !iv->opt->hold_p || !iv->opt->hold_p[i];
    case KD_V:
        return !iv->opt->hold_v || !iv->opt->hold_v[i];
    case KD_LAMBDA:
        return iv->now->active_lambda[i];
    case KD_MU:
        return iv->now->active_mu[i];
    default:
        return true;
    }
}

static bool is_active(const kd_iv *iv, int fn, int i)
{
    if (fn == KD_G || fn == KD_GI || fn == KD_GII) return iv->now->active_lambda[i];
    if (fn == KD_H || fn == KD_HI) return iv->now->active_mu[i];
    return true;
}

static const int weighted_vars[] = {KD_P, KD_V, KD_R}, free_vars[] = {KD_S, KD_A, KD_W, KD_LAMBDA, KD_MU};

static int list_columns(kd_iv_system *s, const int *vars, int count, int n)
{
    for (int k = 0; k < count; k++) {
        if (!(s->unknown & KD_BIT(vars[k]))) continue;
        for (int i = 0; i < kd_eom_columns(s->iv->eom, (kd_var)vars[k]); i++) {
            if (!is_free(s->iv, vars[k], i)) continue;
            s->var[n] = vars[k];
            s->var_index[n++] = i;
        }
    }
    return n;
}

static void list_rows(kd_iv_system *s, const bool *conditions)
{
    static const int order[] = {KD_C, KD_G, KD_GI, KD_H, KD_E, KD_RESIDUAL, KD_D, KD_GII, KD_HI};
    int              m = 0;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        // active rows of the equations of this level
        int fn = order[k];
        if (!(s->equation & KD_BIT(fn))) continue;
        for (int i = 0; i < kd_eom_rows(s->iv->eom, (kd_fn)fn); i++) {
            if (!is_active(s->iv, fn, i)) continue;
            s->fn[m] = fn;
            s->affine[m] = fn != KD_C && fn != KD_G && fn != KD_E && !(s->unknown & KD_BIT(KD_P));
            s->fn_index[m++] = i;
        }
    }
    // user conditions behind them
    for (int i = 0; conditions && i < s->iv->opt->nconditions; i++) {
        if (!conditions[i]) continue;
        s->has_conditions = true;
        s->fn[m] = KD_IV_CONDITION;
        s->fn_index[m++] = i;
    }
    s->c.m = m;
}

// An unknown whose block is wanted in the Jacobian of fn?
static bool is_wanted(const kd_iv_system *s, int fn, int var)
{
    return (s->equation & KD_BIT(fn)) && (s->unknown & KD_BIT(var)) &&
           kd_eom_depends(s->iv->eom, (kd_fn)fn, (kd_var)var);
}

static void cut_blocks(kd_iv_system *s)
{
    int most = 0;
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (!(s->equation & KD_BIT(fn))) continue;
        int rows = kd_eom_rows(s->iv->eom, (kd_fn)fn);
        most = rows > most ? rows : most;
        s->value[fn] = kd_cut_double(&s->arena, rows);
        for (int var = 0; var < KD_VAR_COUNT; var++)
            if (is_wanted(s, fn, var) && rows > 0)
                s->blocks.block[fn][var] = kd_cut_matrix(&s->arena, rows, kd_eom_columns(s->iv->eom, (kd_var)var));
    }
    s->ordered = s->blocks;
    for (int var = 0; var < KD_VAR_COUNT; var++) s->ordered.block[KD_G][var] = s->ordered.block[KD_C][var] = NULL;
    s->product = kd_cut_matrix(&s->arena, most, s->iv->n.nv);
}

// ---- values and Jacobian --------------------------------------------------------------------------------------------

kd_eval kd_iv_system_put(kd_iv_system *s, const double *y)
{
    kd_iv *iv = s->iv;
    for (int j = 0; j < s->c.n; j++) state_array(iv, s->var[j])[s->var_index[j]] = y[j];
    if (s->unknown & KD_BIT(KD_P)) {
        kd_eval e = chart_position(iv, iv->e, iv->now->p);
        if (e != KD_EVAL_OK) return e;
    }
    kd_iv_set_point(iv);
    return KD_EVAL_OK;
}

static kd_eval rows_at_point(kd_iv_system *s, double *F)
{
    kd_iv *iv = s->iv;
    // functions and conditions, each once
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (!s->value[fn]) continue;
        kd_eval e = kd_iv_evaluate(iv, (kd_fn)fn, s->value[fn]);
        if (e != KD_EVAL_OK) return e;
    }
    if (s->has_conditions) {
        kd_eval e = kd_iv_conditions(iv, iv->value);
        if (e != KD_EVAL_OK) return e;
    }
    // their active rows
    for (int i = 0; i < s->c.m; i++)
        F[i] = s->fn[i] == KD_IV_CONDITION ? iv->value[s->fn_index[i]] : s->value[s->fn[i]][s->fn_index[i]];
    return KD_EVAL_OK;
}

static kd_eval system_residual(void *owner, const double *y, double *F)
{
    kd_iv_system *s = owner;
    kd_eval       e = kd_iv_system_put(s, y);
    return e == KD_EVAL_OK ? rows_at_point(s, F) : e;
}

// Largest of a kind of unknowns, in natural units; one unit where all are zero up to rounding
static double largest_of(const kd_iv *iv, int var)
{
    const double *x = state_array(iv, var);
    const bool    moves = var == KD_V || var == KD_A, forces = var == KD_LAMBDA || var == KD_MU;
    double        top = 0.0;
    for (int i = 0; i < kd_eom_columns(iv->eom, (kd_var)var); i++)
        top = fmax(top, fabs(x[i]) / (moves ? kd_eom_unit(iv->eom, i) : 1.0));
    const double T = kd_eom_time(iv->eom), rate = var == KD_A ? 1.0 / (T * T) : moves ? 1.0 / T : 1.0;
    return forces || top > RATE_ZERO * rate ? top : rate;
}

// A force that the masses have at an acceleration of 1 natural unit / T^2
static double natural_force(const kd_iv *iv)
{
    double T = kd_eom_time(iv->eom), power = 0.0, length = 0.0;
    for (int i = 0; i < iv->n.nv; i++) {
        double unit = kd_eom_unit(iv->eom, i);
        power = fmax(power, iv->M[i + iv->n.nv * i] * unit * unit);
        length = fmax(length, unit);
    }
    return power > 0.0 ? power / (length * T * T) : 1.0;
}

// The least size of an unknown: for increments a natural unit, for rates and multipliers the largest of them
static double least_size(const kd_iv *iv, int var, int i, const double *largest)
{
    const double T = kd_eom_time(iv->eom);
    switch (var) {
    case KD_P:
        return kd_eom_unit(iv->eom, i);
    case KD_V:
        return kd_eom_unit(iv->eom, i) * largest[var];
    case KD_A:
        return kd_eom_unit(iv->eom, i) * fmax(1.0 / (T * T), largest[var]);
    case KD_LAMBDA:
    case KD_MU:
        return fmax(largest[KD_LAMBDA], largest[KD_MU]);
    default:
        return 1.0;
    }
}

// Magnitude of each unknown: |y_j|, for increments that of the coordinates that they move; least_size at least.
static kd_eval set_sizes(kd_iv_system *s, double *size)
{
    static const int scaled[] = {KD_V, KD_A, KD_LAMBDA, KD_MU};
    kd_iv           *iv = s->iv;
    double           largest[KD_VAR_COUNT] = {0.0};
    kd_eval          e = KD_EVAL_OK;
    // largest rates and multipliers, in natural units
    for (size_t k = 0; k < sizeof scaled / sizeof *scaled; k++) largest[scaled[k]] = largest_of(iv, scaled[k]);
    if (s->unknown & KD_BIT(KD_LAMBDA)) largest[KD_LAMBDA] = fmax(largest[KD_LAMBDA], natural_force(iv));
    if (!iv->flat && (s->unknown & KD_BIT(KD_P))) e = remember_fault(iv, kd_eom_Z(iv->data, iv->Z));
    for (int j = 0; j < s->c.n && e == KD_EVAL_OK; j++) {
        // |y_j|, or what an increment moves: max_k |Z_kj p_k|
        int    i = s->var_index[j];
        double magnitude = 0.0;
        if (s->var[j] != KD_P)
            magnitude = fabs(state_array(iv, s->var[j])[i]);
        else if (iv->flat)
            magnitude = fabs(iv->now->p[i]);
        else
            for (int k = 0; k < iv->n.np; k++)
                magnitude = fmax(magnitude, fabs(iv->Z[k + iv->n.np * i] * iv->now->p[k]));
        size[j] = fmax(least_size(iv, s->var[j], i, largest), magnitude);
    }
    return e;
}

// columns of the blocks by p: along increments at p -> along e
static void apply_chart(kd_iv_system *s)
{
    int nv = s->iv->n.nv;
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        double *block = s->blocks.block[fn][KD_P];
        if (!block) continue;
        int rows = kd_eom_rows(s->iv->eom, (kd_fn)fn);
        kd_gemm(rows, nv, nv, 1.0, block, s->iv->T, 0.0, s->product);
        memcpy(block, s->product, (size_t)rows * (size_t)nv * sizeof(double));
    }
}

static void gather_jacobian(kd_iv_system *s, double *J)
{
    int m = s->c.m;
    for (int j = 0; j < s->c.n; j++)
        for (int i = 0; i < m; i++) {
            const double *block = s->fn[i] == KD_IV_CONDITION ? NULL : s->blocks.block[s->fn[i]][s->var[j]];
            int           rows = block ? kd_eom_rows(s->iv->eom, (kd_fn)s->fn[i]) : 0;
            J[i + m * j] = block ? block[s->fn_index[i] + rows * s->var_index[j]] : 0.0;
        }
}

// Conditions at y with component j moved; the other values of the point stay those of y.
static kd_eval conditions_near(kd_iv_system *s, const double *y, int j, double y_j, double *out)
{
    memcpy(s->y_near, y, (size_t)s->c.n * sizeof(double));
    s->y_near[j] = y_j;
    kd_eval e = kd_iv_system_put(s, s->y_near);
    return e == KD_EVAL_OK ? kd_iv_conditions(s->iv, out) : e;
}

// Rows of the conditions by central differences, one-sided where one side is refused.
static kd_eval difference_conditions(kd_iv_system *s, const double *y, const double *F, const double *size, double *J)
{
    int m = s->c.m;
    for (int j = 0; j < s->c.n; j++) {
        // conditions at y_j + delta and y_j - delta
        double  delta = DIFFERENCE * size[j], right = y[j] + delta, left = y[j] - delta;
        kd_eval up = conditions_near(s, y, j, right, s->near_plus);
        if (up == KD_EVAL_STOP) return up;
        kd_eval down = conditions_near(s, y, j, left, s->near_minus);
        if (down == KD_EVAL_STOP || (down != KD_EVAL_OK && up != KD_EVAL_OK)) return down;
        // quotient over what could be evaluated
        for (int i = 0; i < m; i++) {
            if (s->fn[i] != KD_IV_CONDITION) continue;
            int    k = s->fn_index[i];
            double plus = up == KD_EVAL_OK ? s->near_plus[k] : F[i];
            double minus = down == KD_EVAL_OK ? s->near_minus[k] : F[i];
            J[i + m * j] = (plus - minus) / ((up == KD_EVAL_OK ? right : y[j]) - (down == KD_EVAL_OK ? left : y[j]));
        }
    }
    return kd_iv_system_put(s, y);
}

// Blocks of all functions at the point. g and c with differences of high order: their null space decides.
static kd_eval fill_blocks(kd_iv_system *s)
{
    kd_eom_data *d = s->iv->data;
    kd_eval      e = kd_eom_derivatives(d, KD_PART_ALL, &s->ordered);
    for (int var = 0; var < KD_VAR_COUNT; var++) {
        double *g = s->blocks.block[KD_G][var], *c = s->blocks.block[KD_C][var];
        if (g && e == KD_EVAL_OK) e = kd_precise_block(d, KD_G, (kd_var)var, g);
        if (c && e == KD_EVAL_OK) e = kd_precise_block(d, KD_C, (kd_var)var, c);
    }
    return remember_fault(s->iv, e);
}

static kd_eval system_jacobian(void *owner, const double *y, double *F, double *J, double *size)
{
    kd_iv_system *s = owner;
    kd_iv        *iv = s->iv;
    bool          turns = false;
    // rows, sizes of the unknowns, T of the chart
    kd_eval e = system_residual(s, y, F);
    if (e == KD_EVAL_OK) e = set_sizes(s, size);
    if (e == KD_EVAL_OK && (s->unknown & KD_BIT(KD_P))) e = chart_matrix(iv, &turns);
    if (e != KD_EVAL_OK) return e;
    // derivatives along increments at p, times T
    kd_iv_set_point(iv);
    e = fill_blocks(s);
    if (e != KD_EVAL_OK) return e;
    if (turns) apply_chart(s);
    gather_jacobian(s, J);
    return s->has_conditions ? difference_conditions(s, y, F, size, J) : KD_EVAL_OK;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// W: M for increments and velocities, 1 for r; only rows and columns of free components
static kd_eval fill_weight(kd_iv_system *s)
{
    kd_iv  *iv = s->iv;
    int     nx = s->c.nx, nv = iv->n.nv;
    kd_eval e = kd_iv_weight(iv, iv->T);
    for (int j = 0; j < nx && e == KD_EVAL_OK; j++)
        for (int i = 0; i < nx; i++) {
            double entry = 0.0;
            if (s->var[i] == s->var[j])
                entry = s->var[j] == KD_R ? (double)(i == j) : iv->T[s->var_index[i] + nv * s->var_index[j]];
            s->c.W[i + nx * j] = entry;
        }
    return e;
}

// Off the constraints, redundant rows have singular values of the size of the constraint error, at most the tolerance;
// one-sided differences (of gI by p, of f by lambda) leave 1e-8.
static double rank_tolerance(const kd_iv_system *s)
{
    const unsigned levels = KD_BIT(KD_P) | KD_BIT(KD_V);
    bool           differenced = (s->unknown & levels) == levels || s->iv->def->force_of_multipliers;
    return fmin(1e-5, fmax(10.0 * s->iv->opt->tolerance, differenced ? 1e-7 : 1e-10));
}

// Blocks of GZ and HZ in the Jacobian: their entries are directions and lever arms
static int geometric_block(const void *owner, int i, int j)
{
    const kd_iv_system *s = owner;
    const int           fn = s->fn[i], var = s->var[j];
    if (fn == KD_RESIDUAL) return var == KD_LAMBDA ? 1 : var == KD_MU ? 2 : 0;
    if (fn == KD_G) return var == KD_P ? 3 : 0;
    if (fn == KD_GI || fn == KD_H) return var == KD_V ? (fn == KD_GI ? 4 : 5) : 0;
    if (fn == KD_GII || fn == KD_HI) return var == KD_A ? (fn == KD_GII ? 6 : 7) : 0;
    return 0;
}

// Scales of [M G'; G 0]: d_j = 1 / sqrt(M_jj) for rows of forces and columns of accelerations, so that M has diagonal
// 1; 1 / |row of G d| for rows of constraints, and for columns of multipliers alike. Directions without mass count as
// the heaviest, in natural units.
static void scale_forces(const void *owner, const double *J, double *row, double *column)
{
    const kd_iv_system *s = owner;
    const kd_eom       *eom = s->iv->eom;
    const int           m = s->c.m, n = s->c.n;
    double              heaviest = 0.0;
    // 1 / sqrt(M_jj)
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m && s->var[j] == KD_A; i++) {
                if (s->fn[i] != KD_RESIDUAL || s->fn_index[i] != s->var_index[j]) continue;
                double unit = kd_eom_unit(eom, s->var_index[j]), mass = J[i + m * j] * unit * unit;
                if (pass == 0) heaviest = fmax(heaviest, mass);
                if (pass == 1) row[i] = column[j] = unit / sqrt(mass > 0.0 ? mass : heaviest > 0.0 ? heaviest : 1.0);
            }
    // 1 / |row of G d|
    for (int i = 0; i < m; i++) {
        double sum = 0.0;
        if (s->fn[i] != KD_GII && s->fn[i] != KD_HI) continue;
        for (int j = 0; j < n; j++)
            if (s->var[j] == KD_A) sum += J[i + m * j] * column[j] * J[i + m * j] * column[j];
        if (sum > 0.0) row[i] = 1.0 / sqrt(sum);
    }
    // the same of columns of multipliers
    for (int j = 0; j < n; j++) {
        double sum = 0.0;
        if (s->var[j] != KD_LAMBDA && s->var[j] != KD_MU) continue;
        for (int i = 0; i < m; i++)
            if (s->fn[i] == KD_RESIDUAL) sum += J[i + m * j] * row[i] * J[i + m * j] * row[i];
        if (sum > 0.0) column[j] = 1.0 / sqrt(sum);
    }
}

// Natural units: of power for rows of forces, of increments and rates for columns
static void set_units(kd_iv_system *s)
{
    const kd_eom *eom = s->iv->eom;
    for (int i = 0; i < s->c.m; i++) s->row_unit[i] = s->fn[i] == KD_RESIDUAL ? kd_eom_unit(eom, s->fn_index[i]) : 1.0;
    for (int j = 0; j < s->c.n; j++) {
        const int  var = s->var[j];
        const bool moves = var == KD_P || var == KD_V || var == KD_A;
        s->column_unit[j] = moves ? kd_eom_unit(eom, s->var_index[j]) : 1.0;
    }
    s->c.block = geometric_block;
    s->c.row_unit = s->row_unit;
    s->c.column_unit = s->column_unit;
    if (s->unknown & KD_BIT(KD_A)) s->c.prescale = scale_forces;
}

static kd_status fill_system(kd_iv_system *s)
{
    kd_iv *iv = s->iv;
    // chart from here: e = 0, y = y_ref = the values so far
    set_units(s);
    memset(iv->e, 0, (size_t)iv->n.nv * sizeof(double));
    memcpy(iv->base, iv->now->p, (size_t)iv->n.np * sizeof(double));
    for (int j = 0; j < s->c.n; j++) s->c.y[j] = s->c.y_ref[j] = state_array(iv, s->var[j])[s->var_index[j]];
    // what closest.c sees
    s->c.residual = system_residual;
    s->c.jacobian = system_jacobian;
    s->c.owner = s;
    s->c.affine = s->affine;
    s->c.tolerance = iv->opt->tolerance;
    s->c.rank_tolerance = rank_tolerance(s);
    s->c.slack = 1.0;
    s->c.max_iterations = iv->opt->max_iterations;
    if (fill_weight(s) != KD_EVAL_OK) return iv->fault;
    return kd_closest_factor_weight(&s->c) ? KD_OK : KD_ERR_IV_DECOMPOSITION;
}

// Full matrices of the chart and the weight, with the first system
static bool chart_room(kd_iv *iv)
{
    const kd_dims *n = &iv->n;
    if (!iv->T) iv->T = kd_cut_matrix(&iv->arena, n->nv, n->nv);
    if (!iv->ZZ) iv->ZZ = kd_cut_matrix(&iv->arena, n->nv, n->nv);
    if (!iv->M) iv->M = kd_cut_matrix(&iv->arena, n->nv, n->nv);
    if (!iv->Z) iv->Z = kd_cut_matrix(&iv->arena, iv->flat ? 0 : n->np, n->nv);
    return iv->T && iv->ZZ && iv->M && iv->Z;
}

kd_status kd_iv_system_create(kd_iv *iv, unsigned unknown, unsigned equation, const bool *conditions,
                              kd_iv_system **system)
{
    kd_iv_system *s = kd_alloc(sizeof *s);
    *system = s;
    if (!s) return KD_ERR_MEMORY;
    s->iv = iv;
    s->unknown = unknown;
    s->equation = equation;
    if (!chart_room(iv)) return KD_ERR_MEMORY;
    // at most so many unknowns and rows
    int columns = 0, rows = iv->opt->nconditions;
    for (int var = 0; var < KD_VAR_COUNT; var++)
        if (unknown & KD_BIT(var)) columns += kd_eom_columns(iv->eom, (kd_var)var);
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if (equation & KD_BIT(fn)) rows += kd_eom_rows(iv->eom, (kd_fn)fn);
    s->var = kd_cut_int(&s->arena, columns);
    s->var_index = kd_cut_int(&s->arena, columns);
    s->fn = kd_cut_int(&s->arena, rows);
    s->fn_index = kd_cut_int(&s->arena, rows);
    s->affine = kd_cut_bool(&s->arena, rows);
    s->row_unit = kd_cut_double(&s->arena, rows);
    s->column_unit = kd_cut_double(&s->arena, columns);
    s->y_near = kd_cut_double(&s->arena, columns);
    s->near_plus = kd_cut_double(&s->arena, iv->opt->nconditions);
    s->near_minus = kd_cut_double(&s->arena, iv->opt->nconditions);
    if (s->arena.failed) return KD_ERR_MEMORY;
    // unknowns with weight first; active rows, then conditions
    s->c.nx = list_columns(s, weighted_vars, (int)(sizeof weighted_vars / sizeof *weighted_vars), 0);
    s->c.n = list_columns(s, free_vars, (int)(sizeof free_vars / sizeof *free_vars), s->c.nx);
    while (s->c.nmoved < s->c.nx && s->var[s->c.nmoved] == KD_P) s->c.nmoved++;
    list_rows(s, conditions);
    cut_blocks(s);
    kd_closest_cut(&s->c, &s->arena);
    return s->arena.failed ? KD_ERR_MEMORY : fill_system(s);
}

void kd_iv_system_destroy(kd_iv_system *s)
{
    if (!s) return;
    kd_arena_release(&s->arena);
    kd_free(s);
}
