// evaluate.c: what a step needs from the equations of motion, in an order that lets them keep what they computed: the
// point where a step ends is the point where the next one starts.
#include <string.h>

#include "math/dense.h"
#include "realtime/internal.h"

#define DIRECTION 1e-3  // part of the step along which the directional difference of J3 is taken
#define CONTACT_STEPS 2 // Newton steps onto 0 = c(p, s) at each new position

// ---- memory ---------------------------------------------------------------------------------------------------------
static bool cut_constraints(kd_realtime *rt, kd_rt_constraints *C)
{
    kd_arena *a = &rt->arena;
    if (!kd_rt_block_cut(&C->H, rt->eom, KD_H, KD_V, a)) return false;
    if (rt->nopen == 0) return kd_rt_block_cut(&C->G, rt->eom, KD_GI, KD_V, a);
    return kd_rt_block_cut(&C->together, rt->eom, KD_GI, KD_V, a) &&
           kd_rt_block_part(&C->G, &C->together, rt->open, false, a) &&
           kd_rt_block_part(&C->open, &C->together, rt->open, true, a);
}

static bool is_wanted(const kd_realtime *rt, int i)
{
    switch (rt->opt.jacobian) {
    case KD_REALTIME_EXPLICIT:
        return false;
    case KD_REALTIME_J3:
        return i == KD_RT_B_R;
    default:
        return true;
    }
}

// Where forces are taken ahead, f_p v is not needed, and one matrix may hold what stands in that of the step.
static bool is_together(const kd_realtime *rt)
{
    kd_pattern pattern;
    return rt->opt.ahead && rt->opt.part == KD_PART_STIFF && kd_eom_definition(rt->eom)->stiffness &&
           kd_eom_pattern(rt->eom, KD_RESIDUAL, KD_P, &pattern);
}

// M alone is not asked for then
static bool is_with_mass(const kd_realtime *rt)
{
    return rt->together && is_wanted(rt, KD_RT_F_P) && !kd_rt_needs_mass(&rt->opt) &&
           rt->opt.stabilisation != KD_REALTIME_REGULARISATION && kd_eom_fits_mass(rt->data);
}

bool kd_rt_blocks_cut(kd_realtime *rt)
{
    rt->together = is_together(rt);
    rt->with_mass = is_with_mass(rt);
    static const struct {
        kd_fn  fn;
        kd_var var;
    } which[KD_RT_DERIVATIVES] = {
        [KD_RT_F_P] = {KD_RESIDUAL, KD_P}, [KD_RT_F_V] = {KD_RESIDUAL, KD_V}, [KD_RT_F_R] = {KD_RESIDUAL, KD_R},
        [KD_RT_B_P] = {KD_B, KD_P},        [KD_RT_B_V] = {KD_B, KD_V},        [KD_RT_B_R] = {KD_B, KD_R}};
    // M and C, where forces are taken and at the end of the step
    if (!kd_rt_block_cut(&rt->M, rt->eom, KD_MASS, KD_A, &rt->arena) ||
        !kd_rt_block_cut(&rt->M_end, rt->eom, KD_MASS, KD_A, &rt->arena) || !cut_constraints(rt, &rt->start) ||
        !cut_constraints(rt, &rt->end))
        return false;
    // derivatives that the Jacobian wants; those without a pattern are asked for together
    for (int i = 0; i < KD_RT_DERIVATIVES; i++) {
        kd_rt_block *block = &rt->derivative[i];
        if (!is_wanted(rt, i)) continue;
        if ((rt->together && i == KD_RT_F_V) || (rt->with_mass && i == KD_RT_F_P)) continue;
        if (!kd_rt_block_cut(block, rt->eom, which[i].fn, which[i].var, &rt->arena)) return false;
        if (!block->used || block->sparse) continue;
        rt->full.block[which[i].fn][which[i].var] = block->values;
        rt->any_full = true;
    }
    return true;
}

// ---- places ---------------------------------------------------------------------------------------------------------
kd_eval kd_rt_inputs(kd_realtime *rt, double t)
{
    kd_eval answer = KD_EVAL_OK;
    if (rt->inputs.eval) answer = rt->inputs.eval(t, rt->inputs.context, rt->u, rt->du, rt->ddu);
    for (int i = 0; i < rt->n.nu; i++) {
        if (!rt->external[i]) continue;
        rt->u[i] = rt->held[i];
        rt->du[i] = rt->held_rate[i];
        rt->ddu[i] = 0.0;
    }
    return answer;
}

// s -= c_s \ c, a fixed number of times
static kd_eval find_contacts(kd_realtime *rt, const double *p, double *s)
{
    kd_blocks blocks = {0};
    kd_eval   answer = KD_EVAL_OK;
    blocks.block[KD_C][KD_S] = rt->c_s;
    for (int i = 0; i < CONTACT_STEPS && answer == KD_EVAL_OK; i++) {
        // c and c_s at (p, s)
        answer = kd_eom_eval(rt->data, KD_C, rt->small);
        if (answer == KD_EVAL_OK) answer = kd_eom_derivatives(rt->data, KD_PART_ALL, &blocks);
        if (answer != KD_EVAL_OK) return answer;
        // s -= c_s \ c
        if (kd_lu_factor(rt->n.ns, rt->c_s, rt->pivot) != 0) return KD_EVAL_RETRY;
        kd_lu_solve(rt->n.ns, rt->c_s, rt->pivot, rt->small, 1);
        for (int k = 0; k < rt->n.ns; k++) s[k] -= rt->small[k];
        kd_eom_at_position(rt->data, p, s);
    }
    return answer;
}

kd_eval kd_rt_replace(kd_realtime *rt, double *p, double *s)
{
    rt->placed = false;
    kd_eom_at_position(rt->data, p, s);
    return rt->n.ns > 0 ? find_contacts(rt, p, s) : KD_EVAL_OK;
}

kd_eval kd_rt_time(kd_realtime *rt, double t)
{
    kd_eval answer = kd_rt_inputs(rt, t);
    rt->placed = false;
    if (answer == KD_EVAL_OK) kd_eom_at_time(rt->data, t, rt->u, rt->du, rt->ddu, rt->now->z);
    return answer;
}

kd_eval kd_rt_place(kd_realtime *rt, double t, double *p, double *s)
{
    kd_eval answer = kd_rt_time(rt, t);
    return answer == KD_EVAL_OK ? kd_rt_replace(rt, p, s) : answer;
}

// The inputs of the caller may have changed since the last step ended here.
static kd_eval stand_at_now(kd_realtime *rt)
{
    // the same inputs: data stands there already
    kd_eval answer = rt->placed ? kd_rt_inputs(rt, rt->now->t) : KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return answer;
    const size_t size = (size_t)rt->n.nu * sizeof *rt->u;
    if (rt->placed && memcmp(rt->u, rt->u_placed, size) == 0 && memcmp(rt->du, rt->du_placed, size) == 0)
        return KD_EVAL_OK;
    // other inputs: constraint matrices stay if g does not depend on u
    bool known = rt->start_known && (rt->n.nu == 0 || !kd_eom_depends(rt->eom, KD_G, KD_U));
    answer = kd_rt_inputs(rt, rt->now->t);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_time(rt->data, rt->now->t, rt->u, rt->du, rt->ddu, rt->now->z);
    kd_eom_at_position(rt->data, rt->now->p, rt->now->s);
    rt->start_known = known;
    return KD_EVAL_OK;
}

// ---- values and matrices --------------------------------------------------------------------------------------------
kd_eval kd_rt_mass_at(kd_realtime *rt, kd_rt_block *M)
{
    return M->sparse ? kd_eom_sparse(rt->data, KD_MASS, KD_A, KD_PART_ALL, M->values)
                     : kd_eom_eval(rt->data, KD_MASS, M->values);
}

static kd_eval constraint_matrix(kd_realtime *rt, kd_rt_block *block)
{
    if (!block->used) return KD_EVAL_OK;
    if (block->sparse) return kd_eom_sparse(rt->data, block->fn, block->var, KD_PART_ALL, block->values);
    return kd_eom_constraint_matrices(rt->data, block->fn == KD_GI ? block->values : NULL,
                                      block->fn == KD_H ? block->values : NULL);
}

kd_eval kd_rt_constraints_at(kd_realtime *rt, kd_rt_constraints *out)
{
    kd_eval answer = constraint_matrix(rt, rt->nopen > 0 ? &out->together : &out->G);
    if (rt->nopen > 0) {
        kd_rt_block_take(&out->G, &out->together, rt->open, false);
        kd_rt_block_take(&out->open, &out->together, rt->open, true);
    }
    return answer == KD_EVAL_OK ? constraint_matrix(rt, &out->H) : answer;
}

kd_eval kd_rt_velocity_rows(kd_realtime *rt, const kd_rt_constraints *C, const double *v)
{
    const kd_dims *n = &rt->n;
    kd_eval        answer = KD_EVAL_OK;
    bool           there = rt->opt.ahead && v == rt->now->v; // forces were evaluated with it
    if (!there && (n->nmu > 0 || !rt->scleronomic)) kd_eom_at_velocity(rt->data, v, rt->now->r);
    // gI = GZ v where nothing moves by itself
    if (rt->scleronomic) {
        memset(rt->rows, 0, (size_t)n->nlambda * sizeof *rt->rows);
        kd_rt_block_multiply(&C->G, 1.0, v, rt->rows);
        kd_rt_block_multiply(&C->open, 1.0, v, rt->rows);
    } else if (n->nlambda > 0) {
        answer = kd_eom_eval(rt->data, KD_GI, rt->rows);
    }
    if (n->nmu > 0 && answer == KD_EVAL_OK) answer = kd_eom_eval(rt->data, KD_H, rt->rows + n->nlambda);
    return answer;
}

// f, at the acceleration stage with a = 0
static kd_eval force_at_stage(kd_realtime *rt, double *f)
{
    const kd_eom_def *def = kd_eom_definition(rt->eom);
    bool              by_residual = !def->f && !def->force_of_multipliers;
    kd_eval           answer = kd_eom_eval(rt->data, by_residual ? KD_RESIDUAL : KD_FORCE, f);
    for (int i = 0; by_residual && i < rt->n.nv; i++) f[i] = -f[i];
    return answer;
}

// Acceleration stage with a = 0; multipliers only where forces depend on them
static void stage_at_rest(kd_realtime *rt)
{
    bool multipliers = kd_eom_definition(rt->eom)->force_of_multipliers;
    kd_eom_at_acceleration(rt->data, rt->zero, rt->next->w, multipliers ? rt->now->lambda : rt->zero,
                           multipliers ? rt->now->mu : rt->zero);
}

static kd_eval values_at_rest(kd_realtime *rt)
{
    const kd_dims *n = &rt->n;
    // f, b, and for index 1 gII, hI at a = 0
    stage_at_rest(rt);
    kd_eval answer = force_at_stage(rt, rt->f);
    if (n->nr > 0 && answer == KD_EVAL_OK) answer = kd_eom_eval(rt->data, KD_B, rt->b);
    if (rt->opt.index == 1 && n->nlambda > 0 && answer == KD_EVAL_OK) answer = kd_eom_eval(rt->data, KD_GII, rt->rows);
    if (rt->opt.index == 1 && n->nmu > 0 && answer == KD_EVAL_OK)
        answer = kd_eom_eval(rt->data, KD_HI, rt->rows + n->nlambda);
    return answer;
}

// Parts in which stiff elements are renewed, one in each step; all of them after a new start
static int parts_of_step(const kd_realtime *rt)
{
    return rt->step.known ? rt->opt.refresh : 1;
}

// Elements with inner states come with the last part, which has the fewest others.
static bool renews_states(const kd_realtime *rt)
{
    const int parts = parts_of_step(rt);
    return !rt->together || rt->steps % parts == parts - 1;
}

// h R_v + h^2 R_p of the stiff part, with M where that has room for it
static kd_eval stiffness_of_step(kd_realtime *rt, double *values)
{
    const double h = rt->opt.h, by_p = rt->opt.jacobian == KD_REALTIME_J1 ? 0.0 : h * h;
    const int    parts = parts_of_step(rt), part = (int)(rt->steps % parts);
    return rt->with_mass ? kd_eom_mass_and_stiffness(rt->data, by_p, h, part, parts, values)
                         : kd_eom_stiffness(rt->data, by_p, h, part, parts, values);
}

static kd_eval derivatives_of_step(kd_realtime *rt)
{
    const bool renews = renews_states(rt);
    kd_eval    answer = KD_EVAL_OK;
    // exact: R_p sees M_p a, (GZ)'_p lambda of the last step, too
    if (rt->opt.jacobian == KD_REALTIME_EXACT)
        kd_eom_at_acceleration(rt->data, rt->now->a, rt->next->w, rt->now->lambda, rt->now->mu);
    // sparse ones one by one, h R_v + h^2 R_p in one matrix where the model gives it so
    for (int i = 0; i < KD_RT_DERIVATIVES && answer == KD_EVAL_OK; i++) {
        kd_rt_block *d = &rt->derivative[i];
        if (rt->together && i == KD_RT_F_P)
            answer = stiffness_of_step(rt, rt->with_mass ? rt->M.values : d->values);
        else if (d->used && d->sparse && renews)
            answer = kd_eom_sparse(rt->data, d->fn, d->var, rt->opt.part, d->values);
    }
    // full ones together
    if (rt->any_full && answer == KD_EVAL_OK) answer = kd_eom_derivatives(rt->data, rt->opt.part, &rt->full);
    return answer;
}

// z = (Z v + z) at v = 0
static kd_eval find_drift(kd_realtime *rt)
{
    kd_eom_at_velocity(rt->data, rt->zero, rt->now->r);
    return kd_eom_eval(rt->data, KD_KINEMATICS, rt->drift);
}

kd_eval kd_rt_evaluate(kd_realtime *rt)
{
    kd_eval answer = KD_EVAL_OK;
    // w, then f and b, derivatives, M, C
    kd_eom_at_velocity(rt->data, rt->now->v, rt->now->r);
    if (rt->n.nw > 0) answer = kd_rt_find_auxiliary(rt);
    if (answer == KD_EVAL_OK) answer = values_at_rest(rt);
    if (answer == KD_EVAL_OK) answer = derivatives_of_step(rt);
    if (answer == KD_EVAL_OK && !rt->with_mass) answer = kd_rt_mass_at(rt, &rt->M);
    if (answer == KD_EVAL_OK && !rt->start_known) answer = kd_rt_constraints_at(rt, &rt->start);
    rt->start_known = answer == KD_EVAL_OK;
    return answer;
}

kd_eval kd_rt_stand(kd_realtime *rt)
{
    kd_eval answer = stand_at_now(rt);
    return rt->drifts && answer == KD_EVAL_OK ? find_drift(rt) : answer;
}

kd_eval kd_rt_start(kd_realtime *rt)
{
    kd_eval answer = kd_rt_stand(rt);
    return answer == KD_EVAL_OK ? kd_rt_evaluate(rt) : answer;
}

kd_eval kd_rt_add_directional(kd_realtime *rt, double *y)
{
    const double delta = DIRECTION * rt->opt.h;
    // f(p0 oplus delta v0, v0)
    for (int i = 0; i < rt->n.nv; i++) rt->increment[i] = delta * rt->now->v[i];
    kd_eval answer = kd_eom_oplus(rt->data, rt->now->p, rt->increment, rt->p_moved);
    if (answer != KD_EVAL_OK) return answer;
    rt->placed = false;
    kd_eom_at_position(rt->data, rt->p_moved, rt->now->s);
    kd_eom_at_velocity(rt->data, rt->now->v, rt->now->r);
    stage_at_rest(rt);
    answer = force_at_stage(rt, rt->f_moved);
    // h f_p v0 = (f(p0 oplus delta v0) - f(p0)) / DIRECTION, delta = DIRECTION h
    for (int i = 0; i < rt->n.nv; i++) y[i] += (rt->f_moved[i] - rt->f[i]) / DIRECTION;
    return answer;
}
