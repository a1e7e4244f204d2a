// linear_differences.c: derivatives by inputs, and derivatives of outputs, that the equations do not give: central
// differences of order 4 with a wide step. A forward difference with a tiny step, as Newton's method is content with,
// has too much rounding where a small input is added to large forces.
#include <math.h>
#include <string.h>

#include "analysis/internal.h"
#include "math/dense.h"

static const double STEP = 5e-4; // relative to max(1, |x|)

// A copy of the point that may be moved.
typedef struct mobile {
    kd_linearizer *l;
    double        *at[KD_VAR_COUNT];
    double        *e;      // (nv)
    double        *value;  // of a function
    double        *column; // of a block
    double        *base;   // value of a function at the point itself
    double        *rate;   // (2 nu) u', u''
} mobile;

static const kd_fn  functions[] = {KD_RESIDUAL, KD_B, KD_D, KD_G, KD_GI, KD_GII, KD_H, KD_HI, KD_Y};
static const kd_var variables[] = {KD_P, KD_V, KD_A, KD_R, KD_W, KD_S, KD_LAMBDA, KD_MU, KD_U};
enum { FUNCTIONS = sizeof functions / sizeof functions[0], VARIABLES = sizeof variables / sizeof variables[0] };

static const double *original(const kd_linearizer *l, kd_var var)
{
    const kd_state     *x = l->x;
    const double *const list[KD_VAR_COUNT] = {
        [KD_P] = x->p, [KD_V] = x->v,           [KD_A] = x->a,   [KD_R] = x->r, [KD_W] = x->w,
        [KD_S] = x->s, [KD_LAMBDA] = x->lambda, [KD_MU] = x->mu, [KD_U] = l->u,
    };
    return list[var];
}

static int length(const kd_linearizer *l, kd_var var)
{
    return var == KD_P ? l->n.np : kd_eom_columns(l->eom, var);
}

static void set_point(const mobile *m)
{
    const kd_linearizer *l = m->l;
    kd_eom_at_time(l->data, l->x->t, m->at[KD_U], m->rate, m->rate + l->n.nu, l->x->z);
    kd_eom_at_position(l->data, m->at[KD_P], m->at[KD_S]);
    kd_eom_at_velocity(l->data, m->at[KD_V], m->at[KD_R]);
    kd_eom_at_acceleration(l->data, m->at[KD_A], m->at[KD_W], m->at[KD_LAMBDA], m->at[KD_MU]);
}

static kd_eval move(const mobile *m, kd_var var, int j, double h)
{
    const kd_linearizer *l = m->l;
    const double        *x = original(l, var);
    if (var != KD_P) {
        m->at[var][j] = x[j] + h;
        set_point(m);
        return KD_EVAL_OK;
    }
    m->e[j] = h;
    kd_eval answer = kd_eom_oplus(l->data, x, m->e, m->at[KD_P]);
    m->e[j] = 0;
    set_point(m);
    return answer;
}

static void put_back(const mobile *m, kd_var var)
{
    memcpy(m->at[var], original(m->l, var), (size_t)length(m->l, var) * sizeof(double));
    set_point(m);
}

static bool is_supplied(const kd_linearizer *l, kd_fn fn, kd_var var)
{
    const kd_eom_def *def = kd_eom_definition(l->eom);
    unsigned          given = def->given[fn] | (fn == KD_RESIDUAL ? def->given[KD_FORCE] : 0);
    return def->derivative && (given & KD_BIT(var));
}

// Column j of a block; it stays as it is where the function cannot be evaluated around the point.
static void renew_column(const mobile *m, kd_fn fn, kd_var var, int j)
{
    static const double  weight[] = {-1.0 / 12, 8.0 / 12, -8.0 / 12, 1.0 / 12}, place[] = {2, 1, -1, -2};
    const kd_linearizer *l = m->l;
    const int            rows = kd_eom_rows(l->eom, fn);
    const double         h = STEP * (var == KD_P ? 1 : fmax(1, fabs(original(l, var)[j])));
    memset(m->column, 0, (size_t)rows * sizeof(double));
    kd_eval answer = KD_EVAL_OK;
    for (int k = 0; k < 4 && answer == KD_EVAL_OK; k++) {
        answer = move(m, var, j, place[k] * h);
        if (answer == KD_EVAL_OK) answer = kd_eom_eval(l->data, fn, m->value);
        kd_axpy(rows, weight[k] / h, m->value, m->column);
    }
    put_back(m, var);
    if (answer == KD_EVAL_OK)
        memcpy(kd_block(l, fn, var) + (size_t)j * (size_t)rows, m->column, (size_t)rows * sizeof(double));
}

// By rate j of the inputs, u' first, then u''; exactly zero where nothing depends on it. False: nothing does.
static bool difference_rate(const mobile *m, kd_fn fn, int j, double *out)
{
    static const double  weight[] = {-1.0 / 12, 8.0 / 12, -8.0 / 12, 1.0 / 12}, place[] = {2, 1, -1, -2};
    const kd_linearizer *l = m->l;
    const int            rows = kd_eom_rows(l->eom, fn);
    const double         value = l->u[l->n.nu + j], h = STEP * fmax(1, fabs(value));
    memset(m->column, 0, (size_t)rows * sizeof(double));
    set_point(m);
    kd_eval answer = kd_eom_eval(l->data, fn, m->base);
    for (int k = 0; k < 4 && answer == KD_EVAL_OK; k++) {
        m->rate[j] = value + place[k] * h;
        set_point(m);
        answer = kd_eom_eval(l->data, fn, m->value);
        for (int i = 0; i < rows; i++) m->column[i] += weight[k] / h * (m->value[i] - m->base[i]);
    }
    m->rate[j] = value;
    set_point(m);
    if (answer != KD_EVAL_OK || kd_norm_max(rows, m->column) == 0) return false;
    memcpy(out, m->column, (size_t)rows * sizeof(double));
    return true;
}

static kd_status difference_rates(const mobile *m)
{
    kd_linearizer *l = m->l;
    const int      nu = l->n.nu;
    for (int i = 0; i < FUNCTIONS; i++)
        for (int level = 0; level < 2; level++) {
            const kd_fn fn = functions[i];
            const int   rows = kd_eom_rows(l->eom, fn);
            bool        depends = false;
            if (fn == KD_G || rows == 0 || nu == 0) continue;
            double *block = kd_cut_matrix(&l->work, rows, nu);
            if (!block) return KD_ERR_MEMORY;
            for (int j = 0; j < nu; j++)
                depends = difference_rate(m, fn, level * nu + j, block + (size_t)j * (size_t)rows) || depends;
            if (depends) l->rate[level][fn] = block;
        }
    return KD_OK;
}

kd_status kd_linear_differences(kd_linearizer *l)
{
    mobile m = {.l = l, .e = kd_cut_double(&l->work, l->n.nv)};
    int    most = 0;
    for (int i = 0; i < FUNCTIONS; i++)
        if (kd_eom_rows(l->eom, functions[i]) > most) most = kd_eom_rows(l->eom, functions[i]);
    m.value = kd_cut_double(&l->work, most);
    m.column = kd_cut_double(&l->work, most);
    m.base = kd_cut_double(&l->work, most);
    m.rate = kd_cut_double(&l->work, 2 * l->n.nu);
    for (int i = 0; i < VARIABLES; i++) m.at[variables[i]] = kd_cut_double(&l->work, length(l, variables[i]));
    if (l->work.failed) return KD_ERR_MEMORY;
    if (l->n.nu > 0) memcpy(m.rate, l->u + l->n.nu, 2 * (size_t)l->n.nu * sizeof(double));
    for (int i = 0; i < VARIABLES; i++) put_back(&m, variables[i]);
    for (int i = 0; i < FUNCTIONS; i++)
        for (int k = 0; k < VARIABLES; k++) {
            const kd_fn  fn = functions[i];
            const kd_var var = variables[k];
            if ((fn != KD_Y && var != KD_U) || !kd_block(l, fn, var) || is_supplied(l, fn, var)) continue;
            for (int j = 0; j < kd_eom_columns(l->eom, var); j++) renew_column(&m, fn, var, j);
        }
    return difference_rates(&m);
}
