// differences.c: derivative blocks: supplied, known from structure, or by differences.
//
// Structure (kardan/eom.h):  residual_a = M,  residual_lambda = (GZ)' - f_lambda,  residual_mu = (HZ)' - f_mu,
// residual_x = -f_x where M, GZ, HZ do not depend on x;  gI_v = gII_a = GZ,  h_v = hI_a = HZ,  (Z v)_v = Z.
// Differences: one moved column serves all functions that need it. Functions in closed form are differenced forward
// with an increment of sqrt(eps); functions that come from differences themselves are noisy at 1e-12 and get central
// differences with a large increment. KD_T moves the inputs along: u with u', u' with u''.
#include <float.h>
#include <math.h>
#include <string.h>

#include "eom/internal.h"
#include "math/dense.h"

#define FORWARD_STEP 1.4901161193847656e-8 // sqrt(eps)
#define NOISY_STEP 1e-4                    // (1e-12)^(1/3): truncation 1e-8, noise 1e-8
#define TYPICAL_STATE 0.1                  // size of p, v, ... where they are 0
#define TYPICAL_FORCE 1.0                  // size of a and multipliers where they are 0

typedef kd_eval (*update_matrix)(kd_eom_data *d);

static size_t block_size(const kd_eom_data *d, kd_fn fn, kd_var var)
{
    return (size_t)d->entry[fn].rows * (size_t)d->eom->columns[var];
}

// ---- blocks known from structure ------------------------------------------------------------------------------------

// Is f_lambda or f_mu at hand, without differences?
static bool has_force_block(const kd_eom *eom, kd_var var)
{
    return kd_is_given(eom, KD_FORCE, var) || !(eom->depends[KD_FORCE] & KD_BIT(var));
}

// which blocks are copies of M, Z, GZ, HZ, so that nothing is differenced
static bool is_structural(const kd_eom *eom, kd_fn fn, kd_var var)
{
    bool multipliers = var == KD_LAMBDA || var == KD_MU;
    switch (fn) {
    case KD_RESIDUAL:
        return var == KD_A || (multipliers && has_force_block(eom, var));
    case KD_GI:
    case KD_H:
    case KD_KINEMATICS:
        return var == KD_V;
    case KD_GII:
    case KD_HI:
        return var == KD_A;
    default:
        return false;
    }
}

// residual_lambda = (GZ)' - f_lambda, residual_mu = (HZ)' - f_mu
static kd_eval multiplier_block(kd_eom_data *d, kd_var var, kd_part part, double *out)
{
    const int nv = d->eom->def.dims.nv, n = d->eom->columns[var];
    kd_eval   answer = KD_EVAL_OK;
    // f_lambda
    if (d->eom->depends[KD_FORCE] & KD_BIT(var))
        answer = kd_supplied_block(d, KD_FORCE, var, part, out);
    else
        memset(out, 0, block_size(d, KD_RESIDUAL, var) * sizeof(double));
    if (answer == KD_EVAL_OK) answer = var == KD_LAMBDA ? kd_update_GZ(d) : kd_update_HZ(d);
    if (answer != KD_EVAL_OK) return answer;
    // (GZ)' - f_lambda
    const double *A = var == KD_LAMBDA ? d->GZ : d->HZ;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < nv; j++) out[i * nv + j] = A[j * n + i] - out[i * nv + j];
    return KD_EVAL_OK;
}

static kd_eval structural_block(kd_eom_data *d, kd_fn fn, kd_var var, kd_part part, double *out)
{
    double *const *matrix = NULL; // the place of the matrix: update may make it
    update_matrix  update = NULL;
    switch (fn) {
    case KD_KINEMATICS:
        update = kd_update_Z, matrix = &d->Z;
        break;
    case KD_GI:
    case KD_GII:
        update = kd_update_GZ, matrix = &d->GZ;
        break;
    case KD_H:
    case KD_HI:
        update = kd_update_HZ, matrix = &d->HZ;
        break;
    default: // residual
        if (var != KD_A) return multiplier_block(d, var, part, out);
        update = kd_update_M, matrix = &d->M;
        break;
    }
    kd_eval answer = update(d);
    if (answer == KD_EVAL_OK) memcpy(out, *matrix, block_size(d, fn, var) * sizeof(double));
    return answer;
}

// residual_x = -f_x and back, for x on which M, GZ and HZ do not depend.
static bool is_minus_other(const kd_eom *eom, kd_fn fn, kd_var var, kd_fn *other)
{
    const kd_dims *n = &eom->def.dims;
    if (fn != KD_RESIDUAL && fn != KD_FORCE) return false;
    if (var == KD_A || var == KD_LAMBDA || var == KD_MU) return false;
    *other = fn == KD_RESIDUAL ? KD_FORCE : KD_RESIDUAL;
    // v, r, w enter the residual by f alone; other variables only where no constraint force and no M moves with them
    bool only_force = var == KD_V || var == KD_R || var == KD_W ||
                      (n->nlambda == 0 && n->nmu == 0 && !(eom->depends[KD_MASS] & KD_BIT(var)));
    return only_force && (kd_is_given(eom, *other, var) || !(eom->depends[*other] & KD_BIT(var)));
}

static kd_eval minus_other(kd_eom_data *d, kd_fn other, kd_var var, kd_part part, double *out)
{
    const size_t size = block_size(d, other, var);
    kd_eval      answer = KD_EVAL_OK;
    if (d->eom->depends[other] & KD_BIT(var))
        answer = kd_supplied_block(d, other, var, part, out);
    else
        memset(out, 0, size * sizeof(double));
    for (size_t i = 0; i < size && answer == KD_EVAL_OK; i++) out[i] = -out[i];
    return answer;
}

// ---- moved points ---------------------------------------------------------------------------------------------------

// The array of the point that belongs to a variable, that of the frame, the number of entries and the stage.
typedef struct variable {
    const double **at;
    double        *moved;
    int            n;
    kd_stage       stage;
    double         typical;
} variable;

// Where a variable stands, how long it is, which stage it undoes when it moves, and the size that a step is relative to
static variable variable_of(kd_eom_data *d, kd_eom_frame *f, kd_var var)
{
    const kd_dims *n = &d->eom->def.dims;
    kd_point      *x = &d->x;
    switch (var) {
    case KD_P:
        return (variable){&x->p, f->p, n->np, KD_STAGE_POSITION, TYPICAL_STATE};
    case KD_V:
        return (variable){&x->v, f->v, n->nv, KD_STAGE_VELOCITY, TYPICAL_STATE};
    case KD_A:
        return (variable){&x->a, f->a, n->nv, KD_STAGE_ACCELERATION, TYPICAL_FORCE};
    case KD_R:
        return (variable){&x->r, f->r, n->nr, KD_STAGE_VELOCITY, TYPICAL_STATE};
    case KD_W:
        return (variable){&x->w, f->w, n->nw, KD_STAGE_ACCELERATION, TYPICAL_STATE};
    case KD_S:
        return (variable){&x->s, f->s, n->ns, KD_STAGE_POSITION, TYPICAL_STATE};
    case KD_LAMBDA:
        return (variable){&x->lambda, f->lambda, n->nlambda, KD_STAGE_ACCELERATION, TYPICAL_FORCE};
    case KD_MU:
        return (variable){&x->mu, f->mu, n->nmu, KD_STAGE_ACCELERATION, TYPICAL_FORCE};
    case KD_U:
        return (variable){&x->u, f->u, n->nu, KD_STAGE_TIME, TYPICAL_STATE};
    case KD_THETA:
        return (variable){&x->theta, f->theta, n->ntheta, KD_STAGE_TIME, TYPICAL_STATE};
    default:
        return (variable){NULL, NULL, 0, KD_STAGE_TIME, TYPICAL_STATE};
    }
}

static void move_time(kd_eom_data *d, kd_eom_frame *f, double h)
{
    const int       nu = d->eom->def.dims.nu;
    const kd_point *x0 = &f->saved;
    // u + h u' + h^2 u'' / 2, u' + h u'', t + h
    for (int i = 0; i < nu; i++) {
        f->u[i] = x0->u[i] + h * (x0->du[i] + 0.5 * h * x0->ddu[i]);
        f->du[i] = x0->du[i] + h * x0->ddu[i];
    }
    d->x.u = f->u;
    d->x.du = f->du;
    d->x.t = x0->t + h;
    kd_restamp(d, KD_STAGE_TIME);
}

// Move column j by h; x0 is the array at the point itself.
static void move_column(kd_eom_data *d, kd_eom_frame *f, kd_var var, const variable *y, const double *x0, int j,
                        double h)
{
    if (var == KD_T) {
        move_time(d, f, h);
        return;
    }
    memcpy(y->moved, x0, (size_t)y->n * sizeof(double));
    if (var == KD_P && d->eom->kinematics != KD_Z_IDENTITY)
        kd_axpy(y->n, h, d->Z_base + j * y->n, y->moved); // p oplus h e_j to first order
    else
        y->moved[j] = x0[j] + h;
    *y->at = y->moved;
    kd_restamp(d, y->stage);
    if (var == KD_THETA) d->theta_stamp = d->stamp;
}

// Increment of column j: relative to the entry (on a manifold: to the largest one), or to a typical size.
static double increment_of(const kd_eom_data *d, kd_var var, const variable *y, const double *x0, int j,
                           double relative)
{
    if (var == KD_T) return relative * fmax(fabs(d->x.t), TYPICAL_STATE);
    bool   own_entry = var != KD_P || d->eom->kinematics == KD_Z_IDENTITY;
    double size = own_entry ? fabs(x0[j]) : fmin(kd_norm_max(y->n, x0), 1.0);
    double h = relative * fmax(size, y->typical);
    if (!own_entry) return h;
    volatile double moved = x0[j] + h; // so that moved - x0 is h exactly
    return moved - x0[j];
}

// ---- differences ----------------------------------------------------------------------------------------------------

// Blocks that are left to differences: todo[var] has the bits of the functions.
typedef struct difference_plan {
    unsigned todo[KD_VAR_COUNT];
    unsigned functions; // all of them
} difference_plan;

// F(x) for forward differences; noisy functions are differenced on both sides and do not need it
static kd_eval values_at_point(kd_eom_data *d, unsigned functions)
{
    kd_eval answer = KD_EVAL_OK;
    for (int fn = 0; fn < KD_FN_COUNT && answer == KD_EVAL_OK; fn++)
        if ((functions & (1u << fn)) && !d->entry[fn].noisy) answer = kd_eom_eval(d, (kd_fn)fn, d->base[fn]);
    return answer;
}

// (F(x + h) - F(x)) / h for all functions of one column.
static kd_eval forward_column(kd_eom_data *d, unsigned functions, kd_var var, int j, double h, const kd_blocks *blocks)
{
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (!(functions & (1u << fn)) || d->entry[fn].noisy) continue;
        const int rows = d->entry[fn].rows;
        double   *column = blocks->block[fn][var] + (size_t)j * (size_t)rows;
        double   *right = fn == KD_MASS ? d->mass_right : d->right;
        kd_eval   answer = kd_eom_eval(d, (kd_fn)fn, right);
        if (answer != KD_EVAL_OK) return answer;
        for (int i = 0; i < rows; i++) column[i] = (right[i] - d->base[fn][i]) / h;
    }
    return KD_EVAL_OK;
}

// First half of a central difference writes F(x + h), the second one (.. - F(x - h)) / 2h.
static kd_eval central_half(kd_eom_data *d, unsigned functions, kd_var var, int j, double h, const kd_blocks *blocks)
{
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (!(functions & (1u << fn)) || !d->entry[fn].noisy) continue;
        const int rows = d->entry[fn].rows;
        double   *column = blocks->block[fn][var] + (size_t)j * (size_t)rows;
        double   *left = fn == KD_MASS ? d->mass_left : d->left;
        kd_eval   answer = kd_eom_eval(d, (kd_fn)fn, h > 0.0 ? column : left);
        if (answer != KD_EVAL_OK) return answer;
        for (int i = 0; i < rows && h < 0.0; i++) column[i] = (column[i] - left[i]) / (-2.0 * h);
    }
    return KD_EVAL_OK;
}

// all columns of one variable: one moved point serves every function that is left to differences
static kd_eval difference_variable(kd_eom_data *d, unsigned functions, kd_var var, const kd_blocks *blocks)
{
    // functions in closed form, and those that are differences themselves
    bool smooth = false, noisy = false;
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (!(functions & (1u << fn))) continue;
        smooth |= !d->entry[fn].noisy;
        noisy |= d->entry[fn].noisy;
    }
    kd_eom_frame *f = kd_eom_frame_push(d);
    variable      y = variable_of(d, f, var);
    const double *x0 = y.at ? *y.at : NULL;
    kd_eval       answer = KD_EVAL_OK;
    for (int j = 0; j < d->eom->columns[var] && answer == KD_EVAL_OK; j++) {
        // (F(x + h) - F(x)) / h
        if (smooth) {
            double h = increment_of(d, var, &y, x0, j, FORWARD_STEP);
            move_column(d, f, var, &y, x0, j, h);
            answer = forward_column(d, functions, var, j, h, blocks);
            if (answer == KD_EVAL_RETRY) { // the edge of a domain: to the other side
                move_column(d, f, var, &y, x0, j, -h);
                answer = forward_column(d, functions, var, j, -h, blocks);
            }
        }
        // (F(x + h) - F(x - h)) / 2h
        if (noisy && answer == KD_EVAL_OK) {
            double h = increment_of(d, var, &y, x0, j, NOISY_STEP);
            move_column(d, f, var, &y, x0, j, h);
            answer = central_half(d, functions, var, j, h, blocks);
            move_column(d, f, var, &y, x0, j, -h);
            if (answer == KD_EVAL_OK) answer = central_half(d, functions, var, j, -h, blocks);
        }
    }
    kd_eom_frame_pop(d);
    return answer;
}

static kd_eval run_plan(kd_eom_data *d, const difference_plan *plan, const kd_blocks *blocks)
{
    const kd_dims *n = &d->eom->def.dims;
    if (!plan->functions) return KD_EVAL_OK;
    if ((plan->functions & (1u << KD_MASS)) && !kd_room_mass(d)) return kd_fault_memory(d, KD_MASS);
    // F(x); Z, along which p moves
    kd_eval answer = values_at_point(d, plan->functions);
    if (plan->todo[KD_P] && answer == KD_EVAL_OK && d->eom->kinematics != KD_Z_IDENTITY) {
        answer = kd_update_Z(d);
        if (answer != KD_EVAL_OK) return answer;
        if (!kd_room(d, &d->Z_base, n->np, n->nv)) return kd_fault_memory(d, KD_KINEMATICS);
        memcpy(d->Z_base, d->Z, (size_t)n->np * (size_t)n->nv * sizeof(double));
    }
    // columns of one variable after the other
    for (int var = 0; var < KD_VAR_COUNT && answer == KD_EVAL_OK; var++)
        if (plan->todo[var]) answer = difference_variable(d, plan->todo[var], (kd_var)var, blocks);
    return answer;
}

// ---- all blocks -----------------------------------------------------------------------------------------------------

static kd_eval known_block(kd_eom_data *d, kd_fn fn, kd_var var, kd_part part, double *out, difference_plan *plan)
{
    const kd_eom *eom = d->eom;
    kd_fn         other;
    // zero, supplied, from structure, minus that of f; otherwise by differences
    if (!(eom->depends[fn] & KD_BIT(var))) {
        memset(out, 0, block_size(d, fn, var) * sizeof(double));
        return KD_EVAL_OK;
    }
    if (kd_is_given(eom, fn, var)) return kd_supplied_block(d, fn, var, part, out);
    if (is_structural(eom, fn, var)) return structural_block(d, fn, var, part, out);
    if (is_minus_other(eom, fn, var, &other)) return minus_other(d, other, var, part, out);
    if (var == KD_THETA && eom->def.theta_held)
        return kd_fault_status(d, fn, KD_ERR_UNSUPPORTED, "its derivative by held parameters is not given",
                               KD_EVAL_STOP);
    plan->todo[var] |= 1u << fn;
    plan->functions |= 1u << fn;
    return KD_EVAL_OK;
}

kd_eval kd_eom_derivatives(kd_eom_data *d, kd_part part, const kd_blocks *blocks)
{
    if (!d || !blocks) return KD_EVAL_STOP;
    difference_plan plan = {0};
    kd_eval         answer = KD_EVAL_OK;
    // first all that is known without moving the point; what is left goes into the plan
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (d->entry[fn].rows == 0) continue;
        for (int var = 0; var < KD_VAR_COUNT; var++) {
            double *out = blocks->block[fn][var];
            if (!out || d->eom->columns[var] == 0) continue;
            if (d->stage < d->entry[fn].stage) return kd_fault_stage(d, (kd_fn)fn, d->entry[fn].stage);
            answer = known_block(d, (kd_fn)fn, (kd_var)var, part, out, &plan);
            if (answer != KD_EVAL_OK) return answer;
        }
    }
    return run_plan(d, &plan, blocks);
}
