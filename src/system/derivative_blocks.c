// derivative_blocks.c: the blocks of derivatives that a system has: one table tells where the pattern of a block is, and
// whether its values are given. A block is there where its function has rows, its variable has columns, and the system
// has what it needs.
#include <stddef.h>
#include <string.h>

#include "element/force.h"

//
// The blocks of derivatives that a system has: one table tells where the pattern of a block is, and whether its values
// are given. A block is there where its function has rows, its variable has columns, and the system has what it needs.
typedef enum need {
    ALWAYS = 0,
    TURNS = 1,       // quaternions or counted angles: otherwise Z = I
    RUN = 2,         // not while consistent start values are searched
    TREE = 4,        // small enough for derivatives along the tree
    MULTIPLIERS = 8, // forces that depend on them
    PATTERN = 16,    // values come by another function of the definition
    FREE = 32        // no prescribed coordinates
} need;

typedef struct derivative_block {
    bool     known;
    unsigned needs; // of given values
    size_t   plan;  // offset of its kd_matrix_plan in kd_system; 0: dense
} derivative_block;

#define BLOCK(needs, plan)                                                                                             \
    {                                                                                                                  \
        true, needs, offsetof(kd_system, plan)                                                                         \
    }

#define DENSE(needs)                                                                                                   \
    {                                                                                                                  \
        true, needs, 0                                                                                                 \
    }

static const derivative_block blocks[KD_FN_COUNT][KD_VAR_COUNT] = {
    [KD_KINEMATICS] = {[KD_P] = BLOCK(TURNS, Z_p), [KD_V] = BLOCK(TURNS | PATTERN, Z)},
    [KD_Q] = {[KD_P] = DENSE(TURNS)},
    [KD_RESIDUAL] = {[KD_A] = DENSE(ALWAYS),
                     [KD_P] = BLOCK(TREE, residual_p),
                     [KD_V] = BLOCK(TREE, residual_v),
                     [KD_R] = BLOCK(RUN, residual_r),
                     [KD_S] = BLOCK(RUN, residual_s),
                     [KD_W] = BLOCK(RUN, residual_w),
                     [KD_LAMBDA] = BLOCK(RUN | MULTIPLIERS, residual_lambda)},
    [KD_B] = {[KD_P] = BLOCK(RUN, b_p), [KD_V] = BLOCK(RUN, b_v), [KD_R] = BLOCK(RUN, b_r), [KD_W] = BLOCK(RUN, b_w)},
    [KD_D] = {[KD_P] = BLOCK(RUN, d_p),
              [KD_V] = BLOCK(RUN, d_v),
              [KD_R] = BLOCK(RUN, d_r),
              [KD_LAMBDA] = BLOCK(ALWAYS, d_lambda),
              [KD_W] = BLOCK(ALWAYS, d_w)},
    [KD_C] = {[KD_P] = BLOCK(ALWAYS, c_p), [KD_S] = BLOCK(ALWAYS, c_s)},
    // kinds of rows share the constraint matrices; with contact coordinates g_p is not G
    [KD_G] = {[KD_P] = BLOCK(ALWAYS, G), [KD_S] = BLOCK(ALWAYS, g_s)},
    [KD_GI] = {[KD_P] = BLOCK(ALWAYS, gI_p), [KD_V] = BLOCK(ALWAYS, G), [KD_S] = BLOCK(ALWAYS, gI_s)},
    [KD_GII] = {[KD_P] = BLOCK(ALWAYS, gII_p),
                [KD_V] = BLOCK(ALWAYS, gII_v),
                [KD_A] = BLOCK(ALWAYS, G),
                [KD_S] = BLOCK(ALWAYS, gII_s)},
    [KD_H] = {[KD_P] = BLOCK(ALWAYS, h_p), [KD_V] = BLOCK(ALWAYS, H)},
    [KD_E] = {[KD_P] = DENSE(TREE | FREE), [KD_V] = DENSE(TREE)},
    [KD_HI] = {[KD_P] = BLOCK(ALWAYS, hI_p), [KD_V] = BLOCK(ALWAYS, hI_v), [KD_A] = BLOCK(ALWAYS, H)},
};

// What functions never depend on, beyond their signatures
static const unsigned never[KD_FN_COUNT] = {
    [KD_B] = KD_BIT(KD_S),  [KD_D] = KD_BIT(KD_S) | KD_BIT(KD_MU), [KD_H] = KD_BIT(KD_S), [KD_E] = KD_BIT(KD_S),
    [KD_HI] = KD_BIT(KD_S),
};

// The same, for want of algebraic variables or of forces across joints
static unsigned vanishing(const kd_system *s, int fn)
{
    unsigned bits = never[fn];
    if (fn == KD_B && s->nalgebraic == 0) bits |= KD_BIT(KD_W);
    if (fn == KD_D && s->nalgebraic == 0) bits |= ~(KD_BIT(KD_LAMBDA) | KD_BIT(KD_W) | KD_BIT(KD_THETA));
    if (fn == KD_D && s->nacross == 0 && !s->holds) bits |= KD_BIT(KD_LAMBDA);
    return bits;
}

// TURNS: without quaternions and counted angles Z = I; the other needs as their names say
static bool has_needs(const kd_system *s, unsigned needs)
{
    return !((needs & FREE && s->prescribed) || (needs & TURNS && s->nquaternions + s->nturns == 0) ||
             (needs & RUN && s->for_start) || (needs & TREE && !s->dense_tree) ||
             (needs & MULTIPLIERS && !s->by_multipliers));
}

// The matrix of a block; NULL: none
static const kd_matrix_plan *plan_of(const kd_system *s, kd_fn fn, kd_var var)
{
    const derivative_block *block = &blocks[fn][var];
    if (fn == KD_G && var == KD_P && s->ns > 0) return &s->g_p;
    if (block->plan == 0 || !has_needs(s, block->needs)) return NULL;
    return (const kd_matrix_plan *)((const char *)s + block->plan);
}

// given[] of the definition: the blocks with values
static void give_derivatives(const kd_system *s, const kd_dims *n, kd_eom_def *def)
{
    const int rows[KD_FN_COUNT] = {
        [KD_KINEMATICS] = n->np, [KD_RESIDUAL] = n->nv, [KD_B] = n->nr,       [KD_D] = n->nw,          [KD_C] = n->ns,
        [KD_Q] = n->nq,          [KD_G] = n->nlambda,   [KD_GI] = n->nlambda, [KD_GII] = n->nlambda,   [KD_H] = n->nmu,
        [KD_HI] = n->nmu,        [KD_E] = n->ne,        [KD_Y] = n->ny,       [KD_SWITCH] = n->nswitch};
    const int columns[KD_VAR_COUNT] = {[KD_P] = n->nv, [KD_V] = n->nv, [KD_A] = n->nv,           [KD_R] = n->nr,
                                       [KD_S] = n->ns, [KD_W] = n->nw, [KD_LAMBDA] = n->nlambda, [KD_MU] = n->nmu};
    // a promise for each block that has rows, columns and what it needs
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (rows[fn] == 0) continue;
        def->zero[fn] |= vanishing(s, fn);
        // norms and Z know no parameters; all other functions are differentiated by them (parameters.c)
        if (n->ntheta > 0 && (fn == KD_KINEMATICS || fn == KD_Q))
            def->zero[fn] |= KD_BIT(KD_THETA);
        else if (n->ntheta > 0)
            def->given[fn] |= KD_BIT(KD_THETA);
        for (int var = 0; var < KD_VAR_COUNT; var++) {
            const derivative_block *block = &blocks[fn][var];
            if (block->known && columns[var] > 0 && !(block->needs & PATTERN) && has_needs(s, block->needs) &&
                !(vanishing(s, fn) & KD_BIT(var)))
                def->given[fn] |= KD_BIT(var);
        }
    }
}

// Bring the matrix of a block up to date.
static kd_eval update_matrix(kd_work *w, const kd_point *x, kd_fn fn, kd_var var, kd_part part,
                             const kd_matrix_values **out)
{
    const kd_matrix_plan *plan = plan_of(w->system, fn, var);
    // stiff part: its own matrices in the same patterns, without all other blocks
    if (part == KD_PART_STIFF && w->stiff.p.value &&
        (plan == &w->system->residual_p || plan == &w->system->residual_v)) {
        *out = plan == &w->system->residual_p ? &w->stiff.p : &w->stiff.v;
        return kd_work_stiff(w, x);
    }
    for (int i = 0; i < KD_STIFF_STATES && part == KD_PART_STIFF; i++)
        if (w->stiff_states.matrix[i].plan == plan && w->stiff_states.matrix[i].value) {
            *out = &w->stiff_states.matrix[i];
            return kd_work_stiff_states(w, x);
        }
    *out = plan == w->G.plan ? &w->G : kd_work_matrix(w, plan);
    // constraint matrices need the position only
    const kd_matrix_values *const of_position[] = {&w->G, &w->H, &w->g_p, &w->g_s, &w->c_p, &w->c_s};
    for (size_t i = 0; i < sizeof of_position / sizeof *of_position; i++)
        if (*out == of_position[i]) {
            kd_work_G(w, x);
            return KD_EVAL_OK;
        }
    // for iterations on accelerations, without the whole Jacobian; Z by its own; otherwise all blocks together
    if (*out == &w->residual_lambda && part == KD_PART_ALL) return kd_work_multipliers(w, x);
    if (*out == &w->d_w || *out == &w->d_lambda || (*out == &w->residual_w && part == KD_PART_ALL))
        return kd_work_auxiliary(w, x);
    if (*out == &w->Z)
        kd_work_Z(w, x);
    else if (*out == &w->Z_p)
        kd_work_Z_p(w, x);
    else if (fn == KD_GII || fn == KD_HI)
        kd_work_second_derivatives(w, x);
    else
        return kd_work_derivatives(w, x, part);
    return KD_EVAL_OK;
}

// One block, full. M comes from the tree and the derivative of the norms from the quaternions; all others are planned
static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    kd_work                *w = context;
    const kd_matrix_values *m;
    if (var == KD_THETA) return kd_work_by_parameters(w, x, fn, out);
    if (fn == KD_RESIDUAL && var == KD_A) return kd_work_mass(x, context, out);
    if (fn == KD_E) return kd_work_invariants_by(w, x, var, out);
    if (fn == KD_Q) {
        kd_work_norms_by_position(w, x, out);
        return KD_EVAL_OK;
    }
    kd_eval answer = update_matrix(w, x, fn, var, part, &m);
    if (answer == KD_EVAL_OK) kd_matrix_add_dense(m, out);
    return answer;
}

static bool pattern(kd_fn fn, kd_var var, void *context, kd_pattern *out)
{
    const kd_system *s = context;
    // M has the pattern of the tree; without it no block of the residual is given sparse
    if ((fn == KD_RESIDUAL && var == KD_A) || fn == KD_MASS) {
        *out = (kd_pattern){s->nv, s->nv, s->tree.column, s->tree.row};
        return s->dense_tree;
    }
    const kd_matrix_plan *plan = fn != KD_RESIDUAL || s->dense_tree ? plan_of(s, fn, var) : NULL;
    if (plan) *out = (kd_pattern){plan->rows, plan->columns, plan->column, plan->row};
    return plan != NULL;
}

// One block as the values of its pattern, column by column
static kd_eval sparse(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *values)
{
    kd_work *w = context;
    if ((fn == KD_RESIDUAL && var == KD_A) || fn == KD_MASS) {
        kd_work_position(w, x, KD_FOR_ROWS);
        kd_tree_mass(&w->system->tree, &w->motion, values);
        return KD_EVAL_OK;
    }
    const kd_matrix_values *m;
    kd_eval                 answer = update_matrix(w, x, fn, var, part, &m);
    if (answer == KD_EVAL_OK) memcpy(values, m->value, (size_t)m->plan->column[m->plan->columns] * sizeof *values);
    return answer;
}

static kd_eval stiffness(const kd_point *x, double by_p, double by_v, int part, int parts, void *context,
                         double *values)
{
    return kd_work_stiff_sum(context, x, by_p, by_v, part, parts, values);
}

static bool fits_mass(void *context)
{
    const kd_work *w = context;
    return w->stiff.fits_mass;
}

static kd_eval mass_and_stiffness(const kd_point *x, double by_p, double by_v, int part, int parts, void *context,
                                  double *values)
{
    return kd_work_mass_and_stiff(context, x, by_p, by_v, part, parts, values);
}

// ---- definition -----------------------------------------------------------------------------------------------------

void kd_system_define_derivatives(const kd_system *s, kd_eom_def *def)
{
    def->p_increments = true;
    def->derivative = derivative;
    def->pattern = pattern;
    def->sparse = sparse;
    if (s->dense_tree) def->stiffness = stiffness;
    if (s->dense_tree) def->fits_mass = fits_mass;
    if (s->dense_tree) def->mass_and_stiffness = mass_and_stiffness;
    give_derivatives(s, &def->dims, def);
}
