// balance.c: forces in balance: assembly of the equations and their Jacobian, globalised steps (S1 Eq. 3 and 4).
//
//     F = (residual; b; d; c; g; gI; h) = 0
//
// All in natural units: increments by the sizes of the coordinates, forces by the work that they do on such a unit of
// motion beside the largest (work scale), other rows by their largest derivative. Millimetres and kilometres, grams and
// tonnes take the same steps. Step of Levenberg and Marquardt: min |F + J y|^2 + nu |y|^2, by QR of [J; sqrt(nu) I], so that redundant
// constraints and free directions do no harm: the smallest step is taken. Step of damped dynamics (linear-implicit
// Euler): J + [M/h; -I/h] in the rows of residual and b, which goes downhill in energy for every h that is small
// enough.
#include "analysis/balance.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/words.h"
#include "math/dense.h"

static const kd_fn  FN[KD_BALANCE_ROWS] = {KD_RESIDUAL, KD_B, KD_D, KD_C, KD_G, KD_GI, KD_H};
static const kd_var VAR[KD_BALANCE_VARS] = {KD_P, KD_V, KD_R, KD_W, KD_S, KD_LAMBDA, KD_MU, KD_U, KD_THETA};

enum { LARGEST = 1500, POLISH = 6, LEAST = 60, NEWTON = 20, KEPT_ANEW = 6, WIDER = 9 };
#define LONGEST_STEP 0.3           // units of motion in one iteration
#define SMALLEST_NU 1e-15          // keeps the matrix regular
#define LARGEST_NU 1e12            // beyond it no step is any good
#define FORCELESS 1e-3             // forces below this part of M unit/time^2 are none
#define CLOSE 1e-3                 // scaled forces from which Newton's method takes over from damped dynamics
#define ROUNDING (8 * DBL_EPSILON) // of a coordinate beside its size: shorter steps cannot be made

// ---- creation -------------------------------------------------------------------------------------------------------

// Rows of F: those of velocities (gI, h) only where something moves; what closed elements keep comes last
static int count_rows(kd_balance *b, bool moving)
{
    int rows = 0;
    for (int i = 0; i < KD_BALANCE_ROWS; i++) {
        bool wanted = moving || (FN[i] != KD_GI && FN[i] != KD_H);
        b->first[i] = wanted ? rows : -1;
        if (wanted) rows += kd_eom_rows(b->eom, FN[i]);
    }
    b->kept.first = rows;
    return rows + b->n.nr;
}

// Positions unless they are held, velocities that are free, adjusted inputs and parameters; all else always
static bool is_unknown(const kd_balance_request *q, kd_var var, int i)
{
    if (var == KD_P) return q->free_p ? q->free_p[i] : !q->hold_p;
    if (var == KD_V) return q->free_v && q->free_v[i];
    if (var != KD_U && var != KD_THETA && var != KD_VAR_COUNT) return true;
    for (int k = 0; k < q->nadjust; k++)
        if (q->adjust[k].kind == var && q->adjust[k].index == i) return true;
    return false;
}

// The unknowns in the order of VAR, to b->column; before there is one: their number only
static int list_columns(kd_balance *b, const kd_balance_request *q)
{
    int n = 0;
    for (int k = 0; k <= KD_BALANCE_VARS; k++) {
        const kd_var var = k < KD_BALANCE_VARS ? VAR[k] : KD_VAR_COUNT; // parameters of the family last
        const int    count = k < KD_BALANCE_VARS ? kd_eom_columns(b->eom, var) : q->family ? q->family->n : 0;
        for (int i = 0; i < count; i++)
            if (is_unknown(q, var, i)) {
                if (b->column) b->column[n] = (kd_balance_column){var, i};
                n++;
            }
    }
    return n;
}

static void cut_arrays(kd_balance *b)
{
    kd_arena *arena = &b->arena;
    const int m = b->rows, n = b->columns;
    b->column = kd_arena_cut(arena, (size_t)n, sizeof *b->column);
    b->u = kd_cut_double(arena, b->n.nu);
    b->du = kd_cut_double(arena, b->n.nu);
    b->u_trial = kd_cut_double(arena, b->n.nu);
    b->theta = kd_cut_double(arena, b->n.ntheta);
    b->theta_trial = kd_cut_double(arena, b->n.ntheta);
    // parameters of the family: values now, of a trial, and those that the equations were made for
    const int outer = b->family ? b->family->n : 0;
    b->outer = kd_cut_double(arena, outer);
    b->outer_trial = kd_cut_double(arena, outer);
    b->outer_made = kd_cut_double(arena, outer);
    b->u_made = kd_cut_double(arena, b->n.nu);
    b->u_used = kd_cut_double(arena, b->n.nu);
    b->u_adjusted = kd_cut_bool(arena, b->n.nu);
    b->start = kd_cut_double(arena, n);
    b->moved = kd_cut_double(arena, n);
    // equations and Jacobian, with their scales
    b->F_lower = kd_cut_double(arena, m);
    b->unit = kd_cut_double(arena, b->n.nv);
    b->row_scale = kd_cut_double(arena, m);
    b->column_scale = kd_cut_double(arena, n);
    b->size_scale = kd_cut_double(arena, n);
    b->effect = kd_cut_double(arena, n);
    b->F = kd_cut_double(arena, m);
    b->F_trial = kd_cut_double(arena, m);
    b->J = kd_cut_matrix(arena, m, n);
    b->M = kd_cut_matrix(arena, b->n.nv, b->n.nv);
    // the least squares problem [J; sqrt(nu) I] y = -F
    b->A = kd_cut_matrix(arena, m + n, n);
    b->rhs = kd_cut_double(arena, m + n);
    b->tau = kd_cut_double(arena, n);
    b->work = kd_cut_double(arena, kd_qr_work(m + n, n) + m + n);
    b->step = kd_cut_double(arena, n);
    b->raw = kd_cut_double(arena, b->n.nv);
    b->pivot = kd_cut_int(arena, n);
    kd_kept_cut(&b->kept, arena, &b->n, n);
    // blocks of derivatives that do not vanish
    for (int i = 0; i < KD_BALANCE_ROWS; i++)
        for (int k = 0; k < KD_BALANCE_VARS; k++) {
            // parameters of models are not moved here, and their derivatives cost much
            const bool held = VAR[k] == KD_THETA && kd_eom_definition(b->eom)->theta_held;
            if (held || b->first[i] < 0 || !kd_eom_depends(b->eom, FN[i], VAR[k])) continue;
            b->block[i][k] = kd_cut_matrix(arena, kd_eom_rows(b->eom, FN[i]), kd_eom_columns(b->eom, VAR[k]));
        }
}

double *kd_balance_adjusted(kd_balance *b, const kd_adjustable *a)
{
    return (a->kind == KD_U ? b->u : a->kind == KD_THETA ? b->theta : b->outer) + a->index;
}

int kd_balance_rows(const kd_balance *b, int k)
{
    return kd_eom_rows(b->eom, FN[k]);
}

// Inputs and parameters at the start
static kd_status read_point(kd_balance *b, const kd_inputs *inputs, const kd_state *x, const kd_balance_request *q)
{
    // theta of the state, else of the definition; inputs as they are now and constant
    const double *theta = x->theta ? x->theta : kd_eom_definition(b->eom)->theta;
    if (b->n.ntheta > 0 && theta) memcpy(b->theta, theta, (size_t)b->n.ntheta * sizeof(double));
    if (inputs && inputs->eval && b->n.nu > 0) {
        kd_eval answer = inputs->eval(x->t, inputs->context, b->u, b->du, b->u_trial);
        if (answer != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
        memset(b->du, 0, (size_t)b->n.nu * sizeof(double));
    }
    // adjusted quantities start from the given values
    b->t = x->t;
    memcpy(b->u_made, b->u, (size_t)b->n.nu * sizeof(double));
    for (int k = 0; k < q->nadjust; k++) {
        const kd_adjustable *a = &q->adjust[k];
        *kd_balance_adjusted(b, a) = a->value;
        if (a->kind == KD_U) b->u_adjusted[a->index] = true;
    }
    if (b->family) memcpy(b->outer_made, b->outer, (size_t)b->family->n * sizeof(double));
    return KD_OK;
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

static void set_point(kd_balance *b, const kd_state *x, const double *u, const double *theta)
{
    // those of models are what the system has now
    kd_eom_at_parameters(b->data, b->n.ntheta > 0 && !kd_eom_definition(b->eom)->theta_held ? theta : NULL);
    kd_eom_at_time(b->data, x->t, kd_balance_inputs(b, u), b->du, b->du, x->z);
    kd_eom_at_position(b->data, x->p, x->s);
    kd_eom_at_velocity(b->data, x->v, x->r);
    kd_eom_at_acceleration(b->data, x->a, x->w, x->lambda, x->mu);
}

// A row that is switched off reads lambda_i = 0
static void read_inactive(const kd_balance *b, const kd_state *x, double *F)
{
    for (int i = 0; i < b->n.nlambda; i++) {
        if (x->active_lambda[i]) continue;
        F[b->first[4] + i] = x->lambda[i];
        if (b->first[5] >= 0) F[b->first[5] + i] = 0;
    }
    for (int i = 0; b->first[6] >= 0 && i < b->n.nmu; i++)
        if (!x->active_mu[i]) F[b->first[6] + i] = x->mu[i];
}

// F at x with inputs u, parameters theta and, of a family, outer
static kd_eval evaluate_balance(kd_balance *b, const kd_state *x, const double *u, const double *theta,
                                const double *outer, double *F)
{
    kd_eval answer = KD_EVAL_OK;
    if (!kd_balance_use(b, outer)) return KD_EVAL_RETRY;
    set_point(b, x, u, theta);
    for (int i = 0; i < KD_BALANCE_ROWS && answer == KD_EVAL_OK; i++)
        if (b->first[i] >= 0 && kd_eom_rows(b->eom, FN[i]) > 0) answer = kd_eom_eval(b->data, FN[i], F + b->first[i]);
    if (answer == KD_EVAL_OK) read_inactive(b, x, F);
    return answer == KD_EVAL_OK ? kd_kept_evaluate(b, x, F + b->kept.first) : answer;
}

// |S F|, S the scales of the rows
static double size_of(const kd_balance *b, const double *F)
{
    double sum = 0;
    for (int i = 0; i < b->rows; i++) sum += F[i] * b->row_scale[i] * F[i] * b->row_scale[i];
    return sqrt(sum);
}

double kd_balance_largest(const kd_balance *b)
{
    double largest = 0;
    for (int i = 0; i < b->rows; i++) largest = fmax(largest, fabs(b->F[i] * b->row_scale[i]));
    return largest;
}

// The row of lambda_i = 0: one entry
static void clear_row(kd_balance *b, int row, kd_var var, int index, double value)
{
    for (int j = 0; j < b->columns; j++)
        b->J[(size_t)j * (size_t)b->rows + (size_t)row] =
            b->column[j].var == var && b->column[j].index == index ? value : 0;
}

static void clear_inactive(kd_balance *b)
{
    for (int i = 0; i < b->n.nlambda; i++) {
        if (b->x->active_lambda[i]) continue;
        clear_row(b, b->first[4] + i, KD_LAMBDA, i, 1);
        if (b->first[5] >= 0) clear_row(b, b->first[5] + i, KD_LAMBDA, i, 0);
    }
    for (int i = 0; b->first[6] >= 0 && i < b->n.nmu; i++)
        if (!b->x->active_mu[i]) clear_row(b, b->first[6] + i, KD_MU, i, 1);
}

// Where the unknown of column j has its value
static double *slot(const kd_balance *b, const kd_state *x, double *u, double *theta, double *outer, int j)
{
    switch (b->column[j].var) {
    case KD_V:
        return x->v + b->column[j].index;
    case KD_R:
        return x->r + b->column[j].index;
    case KD_W:
        return x->w + b->column[j].index;
    case KD_S:
        return x->s + b->column[j].index;
    case KD_LAMBDA:
        return x->lambda + b->column[j].index;
    case KD_MU:
        return x->mu + b->column[j].index;
    case KD_U:
        return u + b->column[j].index;
    case KD_THETA:
        return theta + b->column[j].index;
    case KD_VAR_COUNT:
        return outer + b->column[j].index;
    default:
        return NULL; // an increment
    }
}

static bool is_adjusted(const kd_balance *b, int j)
{
    const kd_var var = b->column[j].var;
    return var == KD_U || var == KD_THETA || var == KD_VAR_COUNT;
}

// The largest change of an equation, relative to itself
static double noticed(const kd_balance *b, const double *upper, const double *lower)
{
    double most = 0;
    for (int k = 0; k < b->rows; k++) {
        const double size = fmax(fabs(upper[k]), fabs(lower[k]));
        if (size > 0) most = fmax(most, fabs(upper[k] - lower[k]) / size);
    }
    return most;
}

// By an adjusted quantity: central differences; the step grows until the equations notice it, so that a weak input is
// seen beside large forces. Parameters of the family: the equations are made for a little more and a little less.
static kd_eval difference_adjusted(kd_balance *b, int j)
{
    double      *column = b->J + (size_t)j * (size_t)b->rows, *at = slot(b, b->x, b->u, b->theta, b->outer, j);
    const double value = *at;
    kd_eval      answer = KD_EVAL_OK;
    double       step = 1e-5 * fmax(1, fabs(value));
    for (int i = 0; i < WIDER && answer == KD_EVAL_OK; i++, step *= 30) {
        // (F(q + step) - F(q - step)) / 2 step
        *at = value + step;
        answer = evaluate_balance(b, b->x, b->u, b->theta, b->outer, column);
        *at = value - step;
        if (answer == KD_EVAL_OK) answer = evaluate_balance(b, b->x, b->u, b->theta, b->outer, b->F_lower);
        *at = value;
        const double change = noticed(b, column, b->F_lower);
        for (int k = 0; k < b->rows; k++) column[k] = (column[k] - b->F_lower[k]) / (2 * step);
        if (change > 1e-7) break;
    }
    return answer;
}

// Does the definition give the derivative of forces by this variable?
static bool is_given(const kd_balance *b, kd_var var)
{
    const kd_eom_def *def = kd_eom_definition(b->eom);
    return var != KD_VAR_COUNT && def->derivative && ((def->given[KD_RESIDUAL] | def->given[KD_FORCE]) & KD_BIT(var));
}

kd_eval kd_balance_differentiate(kd_balance *b)
{
    // all blocks of derivatives at the point, and M
    kd_blocks blocks = {0};
    for (int i = 0; i < KD_BALANCE_ROWS; i++)
        for (int k = 0; k < KD_BALANCE_VARS; k++) blocks.block[FN[i]][VAR[k]] = b->block[i][k];
    if (!kd_balance_use(b, b->outer)) return KD_EVAL_RETRY;
    set_point(b, b->x, b->u, b->theta);
    kd_eval answer = kd_eom_derivatives(b->data, KD_PART_ALL, &blocks);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(b->data, KD_MASS, b->M);
    if (answer != KD_EVAL_OK) return answer;
    // column j of J: the columns of the blocks by its unknown, one below the other
    for (int j = 0, k = 0; j < b->columns; j++) {
        double *column = b->J + (size_t)j * (size_t)b->rows;
        memset(column, 0, (size_t)b->rows * sizeof(double));
        if (b->column[j].var == KD_VAR_COUNT) continue;
        while (VAR[k] != b->column[j].var) k++;
        for (int i = 0; i < KD_BALANCE_ROWS; i++) {
            if (!b->block[i][k]) continue;
            size_t rows = (size_t)kd_eom_rows(b->eom, FN[i]);
            memcpy(column + b->first[i], b->block[i][k] + rows * (size_t)b->column[j].index, rows * sizeof(double));
        }
    }
    // what depends on unknowns by way of a turn and of closed elements; differences for what nobody gives
    kd_balance_turn_columns(b);
    answer = kd_kept_differentiate(b);
    for (int j = 0; j < b->columns && answer == KD_EVAL_OK; j++)
        if (is_adjusted(b, j) && !is_given(b, b->column[j].var)) answer = difference_adjusted(b, j);
    // lambda_i = 0 in the rows of inactive constraints
    clear_inactive(b);
    return answer;
}

// ---- scales ---------------------------------------------------------------------------------------------------------

// 1 / largest scaled derivative
static void scale_kept(kd_balance *b)
{
    for (int row = b->kept.first; row < b->rows; row++) {
        double largest = 0;
        for (int j = 0; j < b->columns; j++)
            largest = fmax(largest, fabs(b->J[(size_t)j * (size_t)b->rows + (size_t)row] * b->column_scale[j]));
        b->row_scale[row] = largest > 0 ? 1 / largest : 1;
    }
}

// Largest derivative of row i of function k by the unknowns
static double largest_by_unknowns(const kd_balance *b, int k, int i)
{
    double    largest = 0;
    const int row = b->first[k] + i;
    for (int j = 0; j < b->columns; j++)
        largest = fmax(largest, fabs(b->J[(size_t)j * (size_t)b->rows + (size_t)row] * b->column_scale[j]));
    return largest;
}

// Does row i of function k read lambda_i = 0 or mu_i = 0?
static bool is_inactive(const kd_balance *b, int k, int i)
{
    if (FN[k] == KD_G || FN[k] == KD_GI) return !b->x->active_lambda[i];
    return FN[k] == KD_H && !b->x->active_mu[i];
}

// The same by p (var 0) or v (var 1), held or not, per natural unit
static double largest_by_motion(const kd_balance *b, int k, int i, int var)
{
    double       largest = 0;
    const size_t rows = (size_t)kd_eom_rows(b->eom, FN[k]);
    if (is_inactive(b, k, i)) return 0;
    for (int j = 0; b->block[k][var] && j < b->n.nv; j++)
        largest = fmax(largest, fabs(b->block[k][var][(size_t)j * rows + (size_t)i]) * b->unit[j]);
    return var == 1 ? largest / b->time : largest;
}

// Forces by the work scale, others by their largest derivative; those by p and v count also where they are held, since
// a row without unknowns must not be measured by rounding. Rates of inner states are not measured by velocities: what
// leaks from a cylinder is little beside what its piston moves, and yet decides where it rests.
static void scale_rows(kd_balance *b)
{
    for (int k = 0; k < KD_BALANCE_ROWS; k++) {
        const int rows = b->first[k] >= 0 ? kd_eom_rows(b->eom, FN[k]) : 0;
        for (int i = 0; i < rows; i++) {
            double       largest = fmax(largest_by_unknowns(b, k, i), largest_by_motion(b, k, i, 0));
            const double fast = largest_by_motion(b, k, i, 1);
            if (FN[k] != KD_B || largest <= 1e-12 * fast) largest = fmax(largest, fast);
            b->row_scale[b->first[k] + i] = k == 0 ? b->unit[i] / b->work_scale : largest > 0 ? 1 / largest : 1;
        }
    }
    scale_kept(b);
}

// Before anything is known: increments and velocities by natural units, multipliers by the work scale, others by their
// size
static void first_column_scales(kd_balance *b)
{
    for (int j = 0; j < b->columns; j++) {
        const double *value = slot(b, b->x, b->u, b->theta, b->outer, j);
        const kd_var  var = b->column[j].var;
        if (var == KD_P || var == KD_V)
            b->size_scale[j] = b->unit[b->column[j].index] / (var == KD_V ? b->time : 1);
        else
            b->size_scale[j] = var == KD_LAMBDA || var == KD_MU ? b->work_scale : fmax(1, fabs(*value));
        b->column_scale[j] = b->size_scale[j];
    }
}

// What is no position is measured by what it does: one unit changes the scaled equations by 1. The unit only shrinks
// where the equations turn out to be more sensitive (More: The Levenberg-Marquardt algorithm, LNM 630, 1978), so that
// neither kilograms nor tonnes, newtons nor pascals decide how far a damped step goes.
static void scale_columns(kd_balance *b)
{
    for (int j = 0; j < b->columns; j++) {
        const double *column = b->J + (size_t)j * (size_t)b->rows;
        double        effect = 0;
        if (b->column[j].var == KD_P) continue;
        for (int i = 0; i < b->rows; i++) effect = fmax(effect, fabs(column[i] * b->row_scale[i]));
        if (!(effect > b->effect[j])) continue;
        b->effect[j] = effect;
        b->column_scale[j] = 1 / effect;
    }
}

// The work scale: of the largest force without constraint forces; where there is almost none, a share of M (unit/time)^2.
// The time in which it moves the heaviest mass by a unit is that of the damped dynamics.
static kd_eval find_scales(kd_balance *b)
{
    const int nv = b->n.nv;
    kd_eval   answer = evaluate_balance(b, b->x, b->u, b->theta, b->outer, b->F);
    if (answer == KD_EVAL_OK) answer = kd_balance_differentiate(b);
    if (answer != KD_EVAL_OK) return answer;
    double mass = 0; // M unit^2
    for (int i = 0; i < nv; i++)
        mass = fmax(mass, fabs(b->M[(size_t)i * (size_t)nv + (size_t)i]) * b->unit[i] * b->unit[i]);
    double scale = FORCELESS * mass / (b->time * b->time);
    // residual with lambda = mu = 0
    kd_state_copy(b->x, b->trial);
    memset(b->trial->lambda, 0, (size_t)b->n.nlambda * sizeof(double));
    memset(b->trial->mu, 0, (size_t)b->n.nmu * sizeof(double));
    answer = evaluate_balance(b, b->trial, b->u, b->theta, b->outer, b->F_trial);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < nv; i++) scale = fmax(scale, fabs(b->F_trial[i]) * b->unit[i]);
    b->work_scale = scale > 0 ? scale : 1;
    if (mass > 0) b->time = sqrt(mass / b->work_scale);
    first_column_scales(b);
    scale_rows(b);
    scale_columns(b);
    return KD_EVAL_OK;
}

static void note_start(kd_balance *b)
{
    for (int j = 0; j < b->columns; j++)
        if (is_adjusted(b, j)) b->start[j] = *slot(b, b->x, b->u, b->theta, b->outer, j);
}

// What closed elements keep here; new equations where that is something else than so far
static kd_eval keep_anew(kd_balance *b)
{
    if (b->n.nr == 0) return KD_EVAL_OK;
    kd_eval answer = kd_balance_differentiate(b);
    if (answer != KD_EVAL_OK || !kd_kept_find(b)) return answer;
    answer = evaluate_balance(b, b->x, b->u, b->theta, b->outer, b->F);
    if (answer == KD_EVAL_OK) answer = kd_balance_differentiate(b);
    scale_kept(b);
    scale_columns(b);
    b->size = size_of(b, b->F);
    return answer;
}

kd_status kd_balance_create(kd_balance *b, const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                            const kd_balance_request *q)
{
    *b = (kd_balance){.eom = eom, .base = eom, .n = kd_eom_dims(eom), .family = q->family, .turn = q->turn};
    // sizes first, then memory, then the list of unknowns
    b->rows = count_rows(b, q->moving);
    b->columns = list_columns(b, q);
    if (b->rows > LARGEST || b->columns > LARGEST) return KD_ERR_UNSUPPORTED;
    cut_arrays(b);
    if (b->arena.failed) return KD_ERR_MEMORY;
    list_columns(b, q);
    b->time = kd_eom_time(eom);
    for (int i = 0; i < b->n.nv; i++) b->unit[i] = kd_eom_unit(eom, i);
    kd_status status = kd_eom_data_create(eom, &b->data);
    if (status >= 0) status = kd_state_create(eom, &b->x);
    if (status >= 0) status = kd_state_create(eom, &b->trial);
    if (status >= 0) status = read_point(b, inputs, x, q);
    if (status < 0) return status;
    // the start, and all scales there
    kd_state_copy(x, b->x);
    kd_balance_turn(b, b->x);
    note_start(b);
    if (find_scales(b) != KD_EVAL_OK || kd_kept_start(b) != KD_EVAL_OK || keep_anew(b) != KD_EVAL_OK)
        return KD_ERR_CALLBACK_STOP;
    b->size = size_of(b, b->F);
    return KD_OK;
}

void kd_balance_release(kd_balance *b)
{
    kd_state_destroy(b->x);
    kd_state_destroy(b->trial);
    kd_eom_data_destroy(b->data);
    kd_arena_release(&b->arena);
    *b = (kd_balance){0};
}

static void swap(double **one, double **other)
{
    double *kept = *one;
    *one = *other;
    *other = kept;
}

kd_eval kd_balance_restart(kd_balance *b, const kd_state *from, const double *e)
{
    kd_eval answer = KD_EVAL_OK;
    if (b->n.nr > 0) memset(b->kept.drift, 0, (size_t)b->n.nr * sizeof(double));
    kd_state_copy(from, b->x);
    if (e) answer = kd_eom_oplus(b->data, from->p, e, b->x->p);
    if (e && answer == KD_EVAL_OK) answer = kd_kept_drift(b, from, e);
    if (e && b->n.nr > 0) swap(&b->kept.drift, &b->kept.drift_trial);
    if (answer == KD_EVAL_OK) answer = evaluate_balance(b, b->x, b->u, b->theta, b->outer, b->F);
    if (answer == KD_EVAL_OK) b->size = size_of(b, b->F);
    return answer;
}

// ---- steps ----------------------------------------------------------------------------------------------------------

// b->step for the damping nu and, if rate > 0, with rate M and -rate I in the rows of residual and b, rates per natural
// time (of M p' = f per its square). moved (columns,
// or NULL): what was changed so far; the smallest sum of it and the step is taken, by the sizes of the unknowns. False:
// singular.
static bool find_step(kd_balance *b, double nu, double rate, const double *moved)
{
    const int     m = b->rows, n = b->columns, all = m + n;
    const double *scale = moved ? b->size_scale : b->column_scale;
    // A = [S (J + rate [M; -I]) D; sqrt(nu) I], S and D the scales of rows and columns
    memset(b->A, 0, (size_t)all * (size_t)n * sizeof(double));
    for (int j = 0; j < n; j++) {
        double       *to = b->A + (size_t)j * (size_t)all;
        const double *from = b->J + (size_t)j * (size_t)m;
        const int     k = b->column[j].index;
        memcpy(to, from, (size_t)m * sizeof(double));
        if (rate > 0 && b->column[j].var == KD_P)
            kd_axpy(b->n.nv, rate / (b->time * b->time), b->M + (size_t)k * (size_t)b->n.nv, to);
        if (rate > 0 && b->column[j].var == KD_R && !b->kept.replaced[k]) to[b->first[1] + k] -= rate / b->time;
        for (int i = 0; i < m; i++) to[i] *= b->row_scale[i] * scale[j];
        to[m + j] = sqrt(nu);
    }
    // rhs = [-S F; 0], or [-S F + S J moved; 0] for the shortest sum of step and moved
    for (int i = 0; i < m; i++) b->rhs[i] = -b->F[i] * b->row_scale[i];
    for (int j = 0; moved && j < n; j++) kd_axpy(m, moved[j] / scale[j], b->A + (size_t)j * (size_t)all, b->rhs);
    memset(b->rhs + m, 0, (size_t)n * sizeof(double));
    // smallest |A y - rhs| by QR with pivoting; step = D y - moved
    int rank = kd_qr_pivot(all, n, b->A, b->pivot, b->tau, 1e-15, b->work);
    if (rank == 0) return false;
    kd_qr_apply_t(all, n, b->A, b->tau, b->rhs, 1, b->work);
    kd_qr_solve_r(rank, b->A, all, b->rhs, 1);
    for (int j = 0; j < n; j++) b->step[b->pivot[j]] = j < rank ? b->rhs[j] * scale[b->pivot[j]] : 0;
    for (int j = 0; moved && j < n; j++) b->step[j] -= moved[j];
    for (int j = 0; j < n; j++)
        if (!isfinite(b->step[j])) return false;
    return true;
}

// Of positions, in natural units
static double longest_increment(const kd_balance *b)
{
    double longest = 0;
    for (int j = 0; j < b->columns; j++)
        if (b->column[j].var == KD_P) longest = fmax(longest, fabs(b->step[j]) / b->unit[b->column[j].index]);
    return longest;
}

// The state after share of the step, with its F_trial
static kd_eval try_step(kd_balance *b, double share)
{
    // all unknowns but increments are sums; those of p are collected in raw
    kd_state_copy(b->x, b->trial);
    memcpy(b->u_trial, b->u, (size_t)b->n.nu * sizeof(double));
    memcpy(b->theta_trial, b->theta, (size_t)b->n.ntheta * sizeof(double));
    if (b->family) memcpy(b->outer_trial, b->outer, (size_t)b->family->n * sizeof(double));
    memset(b->raw, 0, (size_t)b->n.nv * sizeof(double));
    for (int j = 0; j < b->columns; j++) {
        double *value = slot(b, b->trial, b->u_trial, b->theta_trial, b->outer_trial, j);
        *(value ? value : b->raw + b->column[j].index) += share * b->step[j];
    }
    // p oplus raw, and what follows from it: velocities of a turn, contents of closed elements
    if (!kd_balance_use(b, b->outer_trial)) return KD_EVAL_RETRY;
    kd_eval answer = kd_eom_oplus(b->data, b->x->p, b->raw, b->trial->p);
    (void)kd_eom_normalise(b->data, b->trial->p);
    kd_balance_turn(b, b->trial);
    if (answer == KD_EVAL_OK) answer = kd_kept_drift(b, b->x, b->raw);
    return answer == KD_EVAL_OK ? evaluate_balance(b, b->trial, b->u_trial, b->theta_trial, b->outer_trial, b->F_trial)
                                : answer;
}

// The trial becomes the state
static void accept_trial(kd_balance *b, double size)
{
    kd_state *kept = b->x;
    b->x = b->trial;
    b->trial = kept;
    swap(&b->u, &b->u_trial);
    swap(&b->theta, &b->theta_trial);
    swap(&b->outer, &b->outer_trial);
    swap(&b->F, &b->F_trial);
    swap(&b->kept.drift, &b->kept.drift_trial);
    b->size = size;
}

// One iteration of Levenberg and Marquardt. False: no step makes the residual smaller.
static bool improve(kd_balance *b, double *nu)
{
    if (kd_balance_differentiate(b) != KD_EVAL_OK) return false;
    scale_columns(b);
    const double first = *nu;
    // the smallest damping nu, from the last one on, whose step brings |F| down enough
    for (; *nu <= LARGEST_NU; *nu = fmax(*nu * 10, 1e-6)) {
        if (!find_step(b, *nu, 0, NULL)) continue;
        double longest = longest_increment(b), share = longest > LONGEST_STEP ? LONGEST_STEP / longest : 1;
        if (try_step(b, share) != KD_EVAL_OK) continue;
        double size = size_of(b, b->F_trial);
        if (!(size < b->size * (1 - 1e-4 * share))) continue;
        // trust grows, and also where damping was enough at once: a large nu alone never halves |F|
        if (size < 0.5 * b->size)
            *nu = fmax(*nu * 1e-2, SMALLEST_NU);
        else if (*nu == first)
            *nu = fmax(*nu * 0.1, SMALLEST_NU);
        accept_trial(b, size);
        return true;
    }
    return false;
}

// Is this as near as numbers allow? The full step would bring the equations to zero, and is shorter than what positions
// round to: a contact of 1e12 N/m changes its force by more than the tolerance from one position to the next.
static bool is_at_rounding(kd_balance *b, double tolerance)
{
    if (kd_balance_differentiate(b) != KD_EVAL_OK || !find_step(b, SMALLEST_NU, 0, NULL)) return false;
    // what is left by the linear equations: at a minimum of |F| that is no zero the step is short, too
    for (int i = 0; i < b->rows; i++) {
        double left = b->F[i];
        for (int j = 0; j < b->columns; j++) left += b->J[(size_t)j * (size_t)b->rows + (size_t)i] * b->step[j];
        if (!(fabs(left * b->row_scale[i]) <= tolerance)) return false;
    }
    // the step beside the sizes of positions; what is no position is no reason to stop
    double size = 1;
    for (int j = 0; j < b->n.np; j++) size = fmax(size, fabs(b->x->p[j]));
    for (int j = 0; j < b->columns; j++)
        if (b->column[j].var == KD_P && fabs(b->step[j]) > ROUNDING * fmax(b->unit[b->column[j].index], size))
            return false;
    // and it is the step of positions that the remaining forces are made of
    for (int i = 0; i < b->rows; i++) {
        double by_positions = 0;
        for (int j = 0; j < b->columns; j++)
            if (b->column[j].var == KD_P)
                by_positions += fabs(b->J[(size_t)j * (size_t)b->rows + (size_t)i] * b->step[j]);
        if (fabs(b->F[i] * b->row_scale[i]) > tolerance && by_positions < 0.1 * fabs(b->F[i])) return false;
    }
    return true;
}

// Iterations until the largest scaled residual is at most tolerance
static bool iterate_newton(kd_balance *b, double tolerance, int max_iterations)
{
    double nu = 1e-4;
    int    slow = 0; // iterations that brought almost nothing: a minimum of |F| that is not zero
    for (int i = 0; i < max_iterations && slow < 8 && kd_balance_largest(b) > tolerance; i++) {
        double before = b->size;
        b->iterations++;
        if (!improve(b, &nu)) break;
        slow = b->size > 0.99 * before ? slow + 1 : 0;
    }
    return kd_balance_largest(b) <= tolerance || is_at_rounding(b, tolerance);
}

// On to rounding, as long as that halves the residual
static void polish(kd_balance *b)
{
    for (int i = 0; i < POLISH && b->size > 0; i++) {
        double before = b->size;
        if (kd_balance_differentiate(b) != KD_EVAL_OK || !find_step(b, SMALLEST_NU, 0, NULL) ||
            try_step(b, 1) != KD_EVAL_OK)
            break;
        double size = size_of(b, b->F_trial);
        if (!(size < 0.5 * before)) break;
        accept_trial(b, size);
        b->iterations++;
    }
}

bool kd_balance_newton(kd_balance *b, double tolerance, int max_iterations)
{
    bool found = iterate_newton(b, tolerance, max_iterations);
    if (found) polish(b);
    // what closed elements keep shows only here, where nothing flows any more
    for (int i = 0; i < KEPT_ANEW && found && keep_anew(b) == KD_EVAL_OK && kd_balance_largest(b) > tolerance; i++) {
        found = iterate_newton(b, tolerance, max_iterations);
        if (found) polish(b);
    }
    return found;
}

// min |D (q - q0)| under F = 0, D the scales: with c = q - q0 the step z - c, z the shortest solution of J z = J c - F.
bool kd_balance_least_change(kd_balance *b, double tolerance)
{
    double *moved = b->moved, before = INFINITY;
    for (int i = 0; i < LEAST; i++) {
        double change = 0;
        // c = q - q0
        for (int j = 0; j < b->columns; j++)
            moved[j] = is_adjusted(b, j) ? *slot(b, b->x, b->u, b->theta, b->outer, j) - b->start[j] : 0;
        if (kd_balance_differentiate(b) != KD_EVAL_OK || !find_step(b, SMALLEST_NU, 0, moved)) return false;
        for (int j = 0; j < b->columns; j++)
            if (is_adjusted(b, j)) change = fmax(change, fabs(b->step[j]) / b->size_scale[j]);
        // done when the step along F = 0 vanishes or no longer shrinks
        if (change < 1e-11 || change > before) return true;
        before = change;
        // along the tangent, then back to F = 0
        if (longest_increment(b) > LONGEST_STEP || try_step(b, 1) != KD_EVAL_OK) return false;
        accept_trial(b, size_of(b, b->F_trial));
        if (!kd_balance_newton(b, tolerance, NEWTON)) return false;
    }
    return true;
}

// Work of the forces along the step: positive goes downhill
static double work_of_step(const kd_balance *b)
{
    double work = 0;
    for (int j = 0; j < b->columns; j++)
        if (b->column[j].var == KD_P) work -= b->F[b->column[j].index] * b->step[j];
    return work;
}

bool kd_balance_relax(kd_balance *b, int max_iterations)
{
    double rate = 10; // 1/h of the damped dynamics, natural
    for (int i = 0; i < max_iterations; i++) {
        b->iterations++;
        if (kd_balance_differentiate(b) != KD_EVAL_OK) return false;
        bool done = false;
        // a step of the damped dynamics: h = 1/rate is divided by 4 until it is short enough, goes
        // downhill in energy, and does not blow the residual up
        for (int k = 0; k < 40 && !done; k++, rate *= done ? 1 : 4) {
            if (!find_step(b, SMALLEST_NU, rate, NULL) || longest_increment(b) > LONGEST_STEP) continue;
            if (work_of_step(b) < -1e-6 * b->work_scale * longest_increment(b)) continue;
            if (try_step(b, 1) != KD_EVAL_OK) continue;
            double size = size_of(b, b->F_trial);
            if (size > 2 * b->size && size > 0.1 && i > 0) continue;
            // h grows as the residual falls: far from rest like dynamics, near it like Newton
            rate *= fmin(fmax(size / b->size, 0.1), 0.5);
            accept_trial(b, size);
            done = true;
        }
        if (!done) return false;
        // close enough for Newton's method
        if (kd_balance_largest(b) < CLOSE && rate < 1e-3) return true;
        if (b->size == 0) return true;
    }
    return false;
}

// ---- what was found -------------------------------------------------------------------------------------------------

static double largest_of(const double *F, int n, int *row)
{
    double largest = 0;
    *row = 0;
    for (int i = 0; i < n; i++)
        if (fabs(F[i]) > largest) largest = fabs(F[i]), *row = i;
    return largest;
}

void kd_balance_report(const kd_balance *b, kd_equilibrium_result *result)
{
    // the force that remains, the largest by its work, beside the one that does the work scale in its direction
    result->residual_row = 0;
    for (int i = 1; i < b->n.nv; i++)
        if (fabs(b->F[i]) * b->unit[i] > fabs(b->F[result->residual_row]) * b->unit[result->residual_row])
            result->residual_row = i;
    result->residual = b->n.nv > 0 ? fabs(b->F[result->residual_row]) : 0;
    result->force_scale = b->n.nv > 0 ? b->work_scale / b->unit[result->residual_row] : 1;
    result->constraint = largest_of(b->F + b->first[4], b->n.nlambda, &result->constraint_row);
    result->iterations = b->iterations;
    kd_describe_kept(b, result);
    // the equation that holds worst, by its scale
    double largest = -1;
    for (int k = 0; k < KD_BALANCE_ROWS; k++)
        for (int i = 0; b->first[k] >= 0 && i < kd_eom_rows(b->eom, FN[k]); i++) {
            const int row = b->first[k] + i;
            if (!(fabs(b->F[row] * b->row_scale[row]) > largest)) continue;
            largest = fabs(b->F[row] * b->row_scale[row]);
            result->worst = FN[k];
            result->worst_row = i;
            result->worst_value = b->F[row];
        }
}
