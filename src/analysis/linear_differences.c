// linear_differences.c: derivatives by inputs, and derivatives of outputs, that the equations do not give: central
// differences, extrapolated to step 0, with an estimated error.
//
// Steps h, h/2, h/4, ... give D(h) = (f(x + h) - f(x - h))/2h; Richardson's table takes out the errors h^2, h^4, ...
// (Ridders: Accurate computation of F'(x) and F'(x) F''(x), Adv. Eng. Software 4, 1982). The error of an entry is the
// largest change from its neighbours in the table, and the rounding of f over h. A column is done when all its entries
// are as good as rounding allows, and when a step FINER times smaller does not contradict them; then it goes on from
// there: a ball that is pressed in by a micrometre is not asked at half a millimetre. A kink shows in f(x + h) - 2 f(x)
// + f(x - h) over h, the same at all steps; half the jump of the slope is then the error.
#include <math.h>
#include <string.h>

#include "analysis/internal.h"
#include "math/dense.h"

enum { LEVELS = 24, ORDER = 5, RESTARTS = 4, FINER = 64 };
static const double FIRST = 5e-4; // step, relative to the size of the variable
static const double GOAL = 1e-11; // error relative to the entry that needs no better one
static const double ROUNDING = 4.4e-16;
static const double SMALLEST = 1e-6; // a function that changes by less than this by a unit does not depend on anything

// A copy of the point that may be moved.
typedef struct mobile {
    kd_linearizer *l;
    double        *at[KD_VAR_COUNT];
    double        *e;                           // (nv)
    double        *upper, *lower, *base;        // values of a function, the last at the point itself
    double        *table[2][ORDER + 1];         // two rows of Richardson's table
    bool          *sure;                        // (rows) confirmed by a much smaller step
    double        *grain;                       // (rows) rounding of the function
    double        *best, *error, *noise, *bend; // of a column; bend: f(x + h) - 2 f(x) + f(x - h) over h
    double        *column, *column_error;       // what is found
    double        *rate;                        // (2 nu) u', u''
    double        *size, *share;                // (rows) of entries and errors of a function, for their ratio
} mobile;

// What is moved: a variable, or a rate of an input (var KD_VAR_COUNT)
typedef struct probe {
    kd_fn  fn;
    kd_var var;
    int    j;
} probe;

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

// The equations at the moved point
static void set_point(const mobile *m)
{
    const kd_linearizer *l = m->l;
    kd_eom_at_time(l->data, l->x->t, m->at[KD_U], m->rate, m->rate + l->n.nu, l->x->z);
    kd_eom_at_position(l->data, m->at[KD_P], m->at[KD_S]);
    kd_eom_at_velocity(l->data, m->at[KD_V], m->at[KD_R]);
    kd_eom_at_acceleration(l->data, m->at[KD_A], m->at[KD_W], m->at[KD_LAMBDA], m->at[KD_MU]);
}

// One variable by h: p along its manifold, others by a sum
static kd_eval move_variable(const mobile *m, kd_var var, int j, double h)
{
    const kd_linearizer *l = m->l;
    // rates of inputs stand behind all variables
    if (var == KD_VAR_COUNT) {
        m->rate[j] = l->u[l->n.nu + j] + h;
        set_point(m);
        return KD_EVAL_OK;
    }
    const double *x = original(l, var);
    // anything but positions is a vector
    if (var != KD_P) {
        m->at[var][j] = x[j] + h;
        set_point(m);
        return KD_EVAL_OK;
    }
    // p + h e_j on the manifold: one increment of a velocity's direction
    m->e[j] = h;
    kd_eval answer = kd_eom_oplus(l->data, x, m->e, m->at[KD_P]);
    m->e[j] = 0;
    set_point(m);
    return answer;
}

// The point as it was
static void put_back(const mobile *m, kd_var var)
{
    const kd_linearizer *l = m->l;
    if (var == KD_VAR_COUNT)
        memcpy(m->rate, l->u + l->n.nu, 2 * (size_t)l->n.nu * sizeof(double));
    else
        memcpy(m->at[var], original(l, var), (size_t)length(l, var) * sizeof(double));
    set_point(m);
}

static bool is_supplied(const kd_linearizer *l, kd_fn fn, kd_var var)
{
    const kd_eom_def *def = kd_eom_definition(l->eom);
    unsigned          given = def->given[fn] | (fn == KD_RESIDUAL ? def->given[KD_FORCE] : 0);
    return def->derivative && (given & KD_BIT(var));
}

// ---- one column -----------------------------------------------------------------------------------------------------

// Natural sizes of motion; of other variables their own, at least 1
static double unit_of(const mobile *m, const probe *q)
{
    const kd_linearizer *l = m->l;
    const double         T = kd_eom_time(l->eom);
    if (q->var == KD_P) return l->unit[q->j];
    if (q->var == KD_V) return fmax(l->unit[q->j] / T, fabs(l->x->v[q->j]));
    if (q->var == KD_A) return fmax(l->unit[q->j] / (T * T), fabs(l->x->a[q->j]));
    return fmax(1, fabs(q->var == KD_VAR_COUNT ? l->u[l->n.nu + q->j] : original(l, q->var)[q->j]));
}

// D(h) to out, with its rounding (grain/h) and the bend
static kd_eval difference(const mobile *m, const probe *q, double h, double *out)
{
    const int rows = kd_eom_rows(m->l->eom, q->fn);
    kd_eval   answer = move_variable(m, q->var, q->j, h);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(m->l->data, q->fn, m->upper);
    if (answer == KD_EVAL_OK) answer = move_variable(m, q->var, q->j, -h);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(m->l->data, q->fn, m->lower);
    for (int i = 0; i < rows && answer == KD_EVAL_OK; i++) {
        const bool same = m->upper[i] == m->lower[i] && m->upper[i] == m->base[i];
        out[i] = (m->upper[i] - m->lower[i]) / (2 * h);
        m->noise[i] = same ? 0 : m->grain[i] / h;
        m->bend[i] = fabs((m->upper[i] - m->base[i]) - (m->base[i] - m->lower[i])) / h;
    }
    return answer;
}

// Rounding of the function itself, which may be far more than that of its value (a small depth between large places, a
// balance of large forces): what is left of f(x) - 2 f(x + h) + f(x + 2h) at tiny steps; one-sided, since rounding is
// symmetric about 0
static void find_grain(const mobile *m, const probe *q, double unit)
{
    static const double TINY[] = {1e-12, 1.37e-12, 1.7e-12, 2.3e-12, 3.1e-12, 4.7e-12};
    const int           rows = kd_eom_rows(m->l->eom, q->fn);
    for (int i = 0; i < rows; i++) m->grain[i] = ROUNDING * fabs(m->base[i]);
    for (size_t k = 0; k < sizeof TINY / sizeof *TINY; k++) {
        const double h = TINY[k] * unit;
        kd_eval      answer = move_variable(m, q->var, q->j, h);
        if (answer == KD_EVAL_OK) answer = kd_eom_eval(m->l->data, q->fn, m->lower);
        if (answer == KD_EVAL_OK) answer = move_variable(m, q->var, q->j, 2 * h);
        if (answer == KD_EVAL_OK) answer = kd_eom_eval(m->l->data, q->fn, m->upper);
        for (int i = 0; i < rows && answer == KD_EVAL_OK; i++)
            m->grain[i] = fmax(m->grain[i], fabs(m->base[i] - 2 * m->lower[i] + m->upper[i]));
    }
}

// The next row of the table; entries that became better are taken
static void extrapolate(const mobile *m, int rows, int level)
{
    double *const *now = m->table[level % 2], *const *before = m->table[1 - level % 2];
    for (int k = 1, most = level < ORDER ? level : (int)ORDER; k <= most; k++) {
        const double factor = ldexp(1, 2 * k);
        for (int i = 0; i < rows; i++) {
            // D_k(h) = (4^k D_(k-1)(h) - D_(k-1)(2h)) / (4^k - 1)
            now[k][i] = (factor * now[k - 1][i] - before[k - 1][i]) / (factor - 1);
            const double error =
                fmax(fabs(now[k][i] - now[k - 1][i]), fabs(now[k][i] - before[k - 1][i])) + m->noise[i];
            if (!(error < m->error[i])) continue;
            m->error[i] = error;
            m->best[i] = now[k][i];
        }
    }
}

static bool is_done(const mobile *m, int rows)
{
    bool done = true;
    for (int i = 0; i < rows; i++) done = done && m->error[i] <= GOAL * fabs(m->best[i]) + 3 * m->noise[i];
    return done;
}

// Halve the step from h on until the column is done; the last step. 0: the function has no value around the point
static double find_column(const mobile *m, const probe *q, double h)
{
    const int rows = kd_eom_rows(m->l->eom, q->fn);
    double    last = 0;
    // rows that a coarser search has settled keep their value
    for (int i = 0; i < rows; i++)
        if (!m->sure[i]) m->error[i] = INFINITY;
    // Richardson's table over halved steps; where the function has no value it begins anew
    for (int level = 0, l = 0; l < LEVELS; l++, h /= 2) {
        if (difference(m, q, h, m->table[level % 2][0]) != KD_EVAL_OK) {
            level = 0; // a step too far
            continue;
        }
        last = h;
        extrapolate(m, rows, level++);
        if (level > 2 && is_done(m, rows)) break;
    }
    return last;
}

// The same bend at three steps is a kink; it falls with the step of a smooth function, and rises where it is rounding.
static bool is_kink(double wide, double middle, double fine, double slope)
{
    return middle > 0.5 * wide && middle < 2 * wide && fine > 0.5 * middle && fine < 2 * middle && fine > 1e-6 * slope;
}

// Does a much smaller step say the same? A kink is no contradiction, but an error.
static bool is_confirmed(const mobile *m, const probe *q, double h)
{
    const int rows = kd_eom_rows(m->l->eom, q->fn);
    double   *fine = m->table[0][0], *wide = m->table[0][1], *middle = m->table[1][1];
    bool      same = true;
    // bends at h, h/8 and h/FINER; D itself at the last one
    if (difference(m, q, h, fine) != KD_EVAL_OK) return true;
    memcpy(wide, m->bend, (size_t)rows * sizeof(double));
    if (difference(m, q, h / 8, fine) != KD_EVAL_OK) return true;
    memcpy(middle, m->bend, (size_t)rows * sizeof(double));
    if (difference(m, q, h / FINER, fine) != KD_EVAL_OK) return true;
    for (int i = 0; i < rows; i++) {
        // the noise bounds rounding and is large at fine steps: more of it would hide a contradiction
        m->sure[i] = m->sure[i] || fabs(fine[i] - m->best[i]) <= 10 * m->error[i] + 2 * m->noise[i];
        same = same && m->sure[i];
        if (is_kink(wide[i], middle[i], m->bend[i], fabs(m->best[i])))
            m->error[i] = fmax(m->error[i], 0.5 * m->bend[i]);
    }
    return same;
}

// Column and its error; false: the function cannot be evaluated around the point.
static bool difference_column(const mobile *m, const probe *q)
{
    const int    rows = kd_eom_rows(m->l->eom, q->fn);
    const double unit = unit_of(m, q);
    double       h = FIRST * unit;
    bool         found = false;
    // f at the point, and its rounding
    put_back(m, q->var);
    if (kd_eom_eval(m->l->data, q->fn, m->base) != KD_EVAL_OK) return false;
    find_grain(m, q, unit);
    for (int i = 0; i < rows; i++) m->sure[i] = false;
    for (int i = 0; i < RESTARTS; i++) {
        // a column by halved steps; where a finer step contradicts it, again from there
        const double last = find_column(m, q, h);
        if (last == 0) break;
        memcpy(m->column, m->best, (size_t)rows * sizeof(double));
        found = true;
        const bool confirmed = is_confirmed(m, q, last);
        memcpy(m->column_error, m->error, (size_t)rows * sizeof(double));
        if (confirmed) break;
        h = last / 4;
    }
    put_back(m, q->var);
    return found;
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

// Sizes and errors of rows, for the judgement of the function
static void note_column(const mobile *m, const probe *q)
{
    const double unit = unit_of(m, q);
    for (int i = 0; i < kd_eom_rows(m->l->eom, q->fn); i++) {
        // size of row i of the function, and its worst error so far, both by a unit of the variable
        m->size[i] = fmax(m->size[i], fmax(fabs(m->column[i]) * unit, fabs(m->base[i])));
        if (m->column_error[i] * unit <= m->share[i]) continue;
        m->share[i] = m->column_error[i] * unit;
        m->l->worst_var[q->fn][i] = (kd_difference_of){q->var, q->j};
    }
}

// The worst error of a function's derivatives, relative to the function and its largest change by a unit
static void note_worst_error(const mobile *m, kd_fn fn)
{
    kd_linearizer *l = m->l;
    for (int i = 0; i < kd_eom_rows(l->eom, fn); i++) {
        const double error = fmin(1, m->share[i] / fmax(m->size[i], SMALLEST));
        if (!(error > l->difference_error)) continue;
        l->difference_error = error;
        l->difference_fn = fn;
        l->difference_row = i;
        l->difference_by = l->worst_var[fn][i];
    }
}

// Derivatives by u' and u'', kept where there are any
static kd_status difference_rates(const mobile *m, kd_fn fn)
{
    kd_linearizer *l = m->l;
    const int      nu = l->n.nu, rows = kd_eom_rows(l->eom, fn);
    // level 0: u', 1: u''; constraints on position level know neither
    for (int level = 0; level < 2 && fn != KD_G && rows > 0 && nu > 0; level++) {
        bool    depends = false;
        double *block = kd_cut_matrix(&l->work, rows, nu);
        if (!block) return KD_ERR_MEMORY;
        // columns that are 0 are not worth a block
        for (int j = 0; j < nu; j++) {
            const probe q = {fn, KD_VAR_COUNT, level * nu + j};
            if (!difference_column(m, &q) || kd_norm_max(rows, m->column) == 0) continue;
            note_column(m, &q);
            memcpy(block + (size_t)j * (size_t)rows, m->column, (size_t)rows * sizeof(double));
            depends = true;
        }
        if (depends) l->rate[level][fn] = block;
    }
    return KD_OK;
}

// A block stays as it is where the function cannot be evaluated around the point.
static void renew_blocks(const mobile *m, kd_fn fn)
{
    kd_linearizer *l = m->l;
    const size_t   rows = (size_t)kd_eom_rows(l->eom, fn);
    for (int k = 0; k < VARIABLES; k++) {
        const kd_var var = variables[k];
        if ((fn != KD_Y && var != KD_U) || !kd_block(l, fn, var) || is_supplied(l, fn, var)) continue;
        for (int j = 0; j < kd_eom_columns(l->eom, var); j++) {
            const probe q = {fn, var, j};
            if (!difference_column(m, &q)) continue;
            note_column(m, &q);
            memcpy(kd_block(l, fn, var) + (size_t)j * rows, m->column, rows * sizeof(double));
        }
    }
}

static bool make_room(mobile *m, int most)
{
    kd_linearizer *l = m->l;
    double       **list[] = {&m->upper, &m->lower,  &m->base,         &m->best, &m->error, &m->noise,
                             &m->bend,  &m->column, &m->column_error, &m->size, &m->share, &m->grain};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) *list[i] = kd_cut_double(&l->work, most);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k <= ORDER; k++) m->table[i][k] = kd_cut_double(&l->work, most);
    m->sure = kd_cut_bool(&l->work, most);
    m->e = kd_cut_double(&l->work, l->n.nv);
    m->rate = kd_cut_double(&l->work, 2 * l->n.nu);
    for (int i = 0; i < VARIABLES; i++) m->at[variables[i]] = kd_cut_double(&l->work, length(l, variables[i]));
    for (int i = 0; i < FUNCTIONS; i++)
        l->worst_var[functions[i]] =
            kd_arena_cut(&l->work, (size_t)kd_eom_rows(l->eom, functions[i]), sizeof(kd_difference_of));
    return !l->work.failed;
}

kd_status kd_linear_differences(kd_linearizer *l)
{
    mobile    m = {.l = l};
    int       most = 0;
    kd_status status = KD_OK;
    for (int i = 0; i < FUNCTIONS; i++)
        if (kd_eom_rows(l->eom, functions[i]) > most) most = kd_eom_rows(l->eom, functions[i]);
    if (!make_room(&m, most)) return KD_ERR_MEMORY;
    // a copy of the point that may be moved
    for (int i = 0; i < VARIABLES; i++)
        memcpy(m.at[variables[i]], original(l, variables[i]), (size_t)length(l, variables[i]) * sizeof(double));
    put_back(&m, KD_VAR_COUNT);
    for (int i = 0; i < FUNCTIONS && status >= 0; i++) {
        // derivatives by u and of outputs, then by u' and u'', then the worst error of all
        memset(m.size, 0, (size_t)most * sizeof(double));
        memset(m.share, 0, (size_t)most * sizeof(double));
        renew_blocks(&m, functions[i]);
        status = difference_rates(&m, functions[i]);
        note_worst_error(&m, functions[i]);
    }
    return status;
}
