// equations.c: a system as equations of motion: the functions that kd_eom asks for.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "element/force.h"

// ---- kinematics -----------------------------------------------------------------------------------------------------

// coordinates of p behind those of the tree: angles that are counted over full turns
static int first_turn(const kd_system *s)
{
    return s->np - s->nturns;
}

static kd_eval kinematics(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    // rates of the tree in the order of p; of counted angles those of their measures
    kd_work_velocity(w, x, s->nturns > 0 ? KD_FOR_ALL : KD_FOR_ROWS);
    kd_tree_rates(&s->tree, w->x, w->dx, w->rates);
    for (int i = 0; i < first_turn(s); i++) out[i] = w->rates[s->x_of_p[i]];
    for (int i = 0; i < s->nturns; i++) out[first_turn(s) + i] = w->rate[s->turn_measure[i]];
    return KD_EVAL_OK;
}

static kd_eval Z(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_Z(w, x);
    kd_matrix_add_dense(&w->Z, out);
    return KD_EVAL_OK;
}

// The counted angles at x, on the turns that are closest to near.
static void angles_at(kd_work *w, const double *x, const double *near, double *out)
{
    const kd_system        *s = w->system;
    static const kd_tangent none;
    kd_tree_place(&s->tree, x, &w->moved);
    for (int i = 0; i < s->nturns; i++) {
        const kd_measure *m = &s->measure[s->turn_measure[i]];
        kd_relative       rel = {0};
        kd_pair_place(&s->pair[m->pair], &w->moved, &rel);
        out[i] = kd_measure_jet(m, &rel, &none, near[i]).x;
    }
}

static kd_eval oplus(const double *p, const double *e, void *context, double *p_moved)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    const double    *turn = p + first_turn(s);
    double          *before = w->turn, *behind = w->turn + s->nturns;
    memcpy(w->x_moved, w->x, (size_t)s->tree.nposition * sizeof *w->x_moved); // prescribed coordinates stay
    // p as coordinates of the tree; where its counted angles stand now
    for (int i = 0; i < first_turn(s); i++) w->x_moved[s->x_of_p[i]] = p[i];
    if (s->nturns > 0) angles_at(w, w->x_moved, turn, before);
    // v as increments of dofs, along the tree
    memset(w->increment, 0, (size_t)s->tree.ndof * sizeof *w->increment);
    for (int i = 0; i < s->tree.nv; i++) w->increment[s->tree.v_dof[i]] = e[i];
    kd_tree_oplus(&s->tree, w->x_moved, w->increment, w->x_moved);
    if (s->nturns > 0) angles_at(w, w->x_moved, before, behind);
    // by their difference: the prescribed coordinates may be those of another time
    for (int i = 0; i < s->nturns; i++) p_moved[first_turn(s) + i] = turn[i] + behind[i] - before[i];
    for (int i = 0; i < first_turn(s); i++) p_moved[i] = w->x_moved[s->x_of_p[i]];
    return KD_EVAL_OK;
}

// Not given where coordinates are prescribed and angles are counted: those depend on time.
static void normalise(double *p, void *context)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    // quaternions to length 1, then counted angles to those of the bodies, on the turns that they are on
    for (int i = 0; i < s->nquaternions; i++)
        kd_quat_to(kd_quat_normalised(kd_quat_of(p + s->quaternion[i])), p + s->quaternion[i]);
    if (s->nturns == 0) return;
    for (int i = 0; i < first_turn(s); i++) w->x_moved[s->x_of_p[i]] = p[i];
    angles_at(w, w->x_moved, p + first_turn(s), p + first_turn(s));
}

// v = rate of scalars; omega = 2 conj(q) q' / |q|^2 of quaternions
static void velocities(const double *p, const double *rate, void *context, double *v)
{
    const kd_system *s = ((kd_work *)context)->system;
    for (int i = 1; i < s->tree.nlinks; i++) {
        const kd_link *link = &s->tree.link[i];
        int            turns = link->form.nscalars; // the ball comes behind the scalars
        for (int k = 0; k < turns; k++) {
            int at = s->tree.dof_v[link->dof + k];
            if (at >= 0) v[at] = rate[s->p_of_x[link->position + k]];
        }
        // behind the scalars: omega in body axes, three places of v
        if (!link->form.ball) continue;
        int     first = s->p_of_x[link->position + turns], at = s->tree.dof_v[link->dof + turns];
        kd_quat q = kd_quat_of(p + first), omega = kd_quat_mul(kd_quat_conjugate(q), kd_quat_of(rate + first));
        kd_vec_to(kd_vec_scale(2.0 / kd_quat_norm2(q), kd_vec(omega.x, omega.y, omega.z)), v + at);
    }
}

// (|q|^2 - 1)/2; a counted angle less the angle itself
static kd_eval norms(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    if (s->nturns > 0) kd_work_position(w, x, KD_FOR_ALL);
    for (int i = 0; i < s->nquaternions; i++) out[i] = 0.5 * (kd_quat_norm2(kd_quat_of(x->p + s->quaternion[i])) - 1.0);
    for (int i = 0; i < s->nturns; i++)
        out[s->nquaternions + i] = x->p[first_turn(s) + i] - w->value[s->turn_measure[i]];
    return KD_EVAL_OK;
}

// q_p in plain coordinates (nq x np): the quaternion itself; for counted angles 1 and minus the gradient of the angle,
// which along a quaternion is 2 sum s_k q e_k / |q|^2 (the columns q e_k are orthogonal, and orthogonal to q).
static void norm_of_turn(const kd_work *w, int i, double *out)
{
    const kd_system  *s = w->system;
    const kd_measure *m = &s->measure[s->turn_measure[i]];
    const kd_pair    *pair = &s->pair[m->pair];
    int               nq = s->nquaternions + s->nturns, row = s->nquaternions + i;
    kd_vec3           N, F;
    kd_measure_gradient(m, &w->rel[m->pair], &N, &F);
    // by itself 1, by each coordinate of the path minus its slope
    out[row + (first_turn(s) + i) * nq] = 1.0;
    for (int l = 0; l < pair->nsteps; l++) {
        const kd_change *c = &w->change[w->change_at[m->pair] + l];
        const kd_link   *link = &s->tree.link[s->tree.dof_link[pair->step[l].dof]];
        double           slope = kd_vec_dot(N, c->w) + kd_vec_dot(F, c->u);
        int              k = pair->step[l].dof - link->dof, turns = link->form.nscalars;
        if (s->tree.dof_v[pair->step[l].dof] < 0) continue;
        if (k < turns) {
            out[row + s->p_of_x[link->position + k] * nq] -= slope;
            continue;
        }
        kd_quat q = kd_quat_of(w->x + link->position + turns);
        double  scale = -2.0 * slope / kd_quat_norm2(q), column[4];
        kd_quat_to(kd_quat_mul(q, kd_unit_quaternion(k - turns)), column);
        for (int a = 0; a < 4; a++) out[row + (s->p_of_x[link->position + turns] + a) * nq] += scale * column[a];
    }
}

static void norms_by_position(kd_work *w, const kd_point *x, double *out)
{
    const kd_system *s = w->system;
    int              nq = s->nquaternions + s->nturns;
    for (int i = 0; i < s->nquaternions; i++)
        for (int k = 0; k < 4; k++) out[i + (s->quaternion[i] + k) * nq] = x->p[s->quaternion[i] + k];
    if (s->nturns > 0) kd_work_axes(w, x, KD_FOR_ALL);
    for (int i = 0; i < s->nturns; i++) norm_of_turn(w, i, out);
}

// ---- dynamics -------------------------------------------------------------------------------------------------------
static kd_eval residual(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_eval  answer = kd_work_residual(w, x);
    if (answer == KD_EVAL_OK)
        for (int i = 0; i < w->system->nv; i++) out[i] = w->tau[w->system->tree.v_dof[i]];
    return answer;
}

// the explicit formalism: loads and multipliers as forces, ddx by the articulated bodies; a pivot of 0: RETRY
static kd_eval acceleration(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    int      bad;
    kd_eval  answer = kd_work_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    if (!kd_work_explicit(w, x, &bad)) return KD_EVAL_RETRY;
    for (int i = 0; i < w->system->nv; i++) out[i] = w->ddx[w->system->tree.v_dof[i]];
    return KD_EVAL_OK;
}

static kd_eval accelerations(const kd_point *x, void *context, double *a, double *lambda, double *mu)
{
    return kd_topological_solve(context, x, a, lambda, mu);
}

static kd_eval kkt_factor(const kd_point *x, void *context)
{
    return kd_topological_factor(context, x);
}

static void kkt_solve(void *context, double *y)
{
    kd_topological_backsolve(context, y);
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_position(w, x, KD_FOR_ROWS);
    kd_tree_mass_dense(&w->system->tree, &w->motion, out);
    return KD_EVAL_OK;
}

static kd_eval inner_rates(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_eval  answer = kd_work_loads(w, x);
    if (answer == KD_EVAL_OK) memcpy(out, w->b, (size_t)w->system->nr * sizeof *out);
    return answer;
}

// ---- constraints ----------------------------------------------------------------------------------------------------

// rows at their levels: value, rate and second derivative in time of the same jet
static kd_eval g(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_position(w, x, KD_FOR_ROWS);
    for (int i = 0; i < w->system->nlambda; i++) out[i] = kd_row_value(&w->system->row_g[w->system->kept[i]], w);
    return KD_EVAL_OK;
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_velocity(w, x, KD_FOR_ROWS);
    for (int i = 0; i < w->system->nlambda; i++) out[i] = kd_row_rate(&w->system->row_g[w->system->kept[i]], w);
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_acceleration(w, x, KD_FOR_ROWS);
    for (int i = 0; i < w->system->nlambda; i++) out[i] = kd_row_jet(&w->system->row_g[w->system->kept[i]], w).x2;
    return KD_EVAL_OK;
}

static kd_eval h(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_velocity(w, x, KD_FOR_ROWS);
    for (int i = 0; i < w->system->nmu; i++) out[i] = kd_row_jet(&w->system->row_h[i], w).x;
    return KD_EVAL_OK;
}

static kd_eval hI(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_acceleration(w, x, KD_FOR_ROWS);
    for (int i = 0; i < w->system->nmu; i++) out[i] = kd_row_jet(&w->system->row_h[i], w).x1;
    return KD_EVAL_OK;
}

// c of wheels whose contact coordinate is an unknown; others find theirs in find_contacts
static kd_eval tangency(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_wheel_point   at;
    kd_work_position(w, x, KD_FOR_ROWS);
    for (int i = 0; i < s->nwheels; i++) {
        if (!s->wheel[i].unknown) continue;
        kd_row_contact(&s->row_g[s->wheel[i].row], w, &at);
        out[s->wheel[i].contact] = at.c;
    }
    return KD_EVAL_OK;
}

// ---- auxiliary variables --------------------------------------------------------------------------------------------

// 0 = d: equations of algebraic variables; w - force across the joint, from multipliers
static kd_eval auxiliary(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_eval          answer = s->nalgebraic > 0 ? kd_work_loads(w, x) : KD_EVAL_OK; // all that laws read is there then
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < s->nalgebraic; i++) out[i] = kd_law_value(s->equation[i].law[0], w->slot, w);
    for (int i = 0, at = s->nalgebraic; i < s->nacross; i++, at++)
        out[at] = x->w[at] - kd_across_value(&s->across[i], s, x->lambda);
    return KD_EVAL_OK;
}

// ---- friction -------------------------------------------------------------------------------------------------------

static kd_eval breakaway(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_eval          answer = kd_work_loads(w, x);
    // rows of dry friction: what their element can hold; others never break
    for (int i = 0; i < s->nmu; i++) {
        const int      force = s->row_h[i].force;
        const kd_load *load = force < 0 ? NULL : &s->load[s->model->nstates + force];
        out[i] = load ? load->class->limit(load, w->slot, w) : INFINITY;
    }
    return answer;
}

// ---- energies -------------------------------------------------------------------------------------------------------
static void inertia_energies(const kd_work *w, kd_energies *out)
{
    const kd_system *s = w->system;
    kd_vec3          gravity = kd_vec_of(s->model->gravity);
    for (int i = 1; i < s->tree.nlinks; i++) {
        const kd_link        *link = &s->tree.link[i];
        const kd_link_motion *m = &w->motion.link[i];
        kd_vec3               c = kd_mat_vec(&m->R, link->centre), omega = kd_mat_tvec(&m->R, m->w);
        // about P: T = m v.v/2 + m v.(w x c) + w.I w/2
        out->kinetic += link->mass * (0.5 * kd_vec_dot(m->v, m->v) + kd_vec_dot(m->v, kd_vec_cross(m->w, c))) +
                        0.5 * kd_vec_dot(omega, kd_sym_vec(&link->inertia, omega));
        // weight as potential; sizes of its terms, which cancel, measure rounding
        const kd_vec3 weight = kd_vec_scale(link->mass, gravity), at = kd_vec_add(m->P, c);
        out->potential -= kd_vec_dot(weight, at);
        out->size += fabs(weight.x * at.x) + fabs(weight.y * at.y) + fabs(weight.z * at.z);
    }
    out->size += fabs(out->kinetic);
}

// sum gradient_i * rate of the measure that the row reads: what motion alone changes; the rest is explicit time.
static double rate_by_motion(const kd_row *row, bool nonholonomic, kd_work *w)
{
    double sum = 0.0;
    kd_row_gradient(row, w, w->small);
    for (int i = 0; i < row->nterms; i++) {
        const kd_slot *slot = &w->system->slot[row->slot[i]];
        if (slot->kind == KD_SLOT_MEASURE && slot->level == (nonholonomic ? 1 : 0))
            sum += w->small[i] * w->rate[slot->index];
    }
    return sum;
}

// Power of drives: prescribed coordinates (tau x', where tau holds the forces of rows already) and rows that depend on
// time: -lambda g_x x' = lambda g_t, and -mu h_v v = mu h0.
static kd_eval drive_power(kd_work *w, const kd_point *x, kd_energies *out)
{
    const kd_system *s = w->system;
    kd_eval          answer = kd_work_residual(w, x);
    if (answer != KD_EVAL_OK) return answer;
    // drives carry tau at the rate of the prescribed coordinate
    for (int k = 0; k < s->tree.ndof; k++)
        if (s->tree.dof_v[k] < 0) out->supplied += w->tau[k] * w->dx[k];
    // rows: what their rate has beyond motion is explicit time
    for (int i = 0; i < s->nlambda; i++) {
        const kd_row *row = &s->row_g[s->kept[i]];
        out->supplied += x->lambda[i] * (kd_row_jet(row, w).x1 - rate_by_motion(row, false, w));
    }
    for (int i = 0; i < s->nmu; i++)
        out->supplied += x->mu[i] * (kd_row_jet(&s->row_h[i], w).x - rate_by_motion(&s->row_h[i], true, w));
    return KD_EVAL_OK;
}

// ---- drives: prescribed dofs of the tree ----------------------------------------------------------------------------
static kd_eval drives(const kd_point *x, void *context, double *q, double *dq, double *ddq)
{
    kd_work *w = context;
    kd_work_time(w, x);
    // q, q', q'' of prescribed dofs, which kd_work_time has set
    for (int i = 0; i < w->system->ndrives; i++) {
        const int      k = w->system->drive[i];
        const kd_link *link = &w->system->tree.link[w->system->tree.dof_link[k]];
        q[i] = w->x[link->position + k - link->dof];
        dq[i] = w->dx[k];
        ddq[i] = w->ddx[k];
    }
    return KD_EVAL_OK;
}

// All generalised impulses are the residual at rest, without gravity and forces, with jumps of the velocities for
// accelerations and impulses of the rows for multipliers: the tree is at another motion afterwards.
static kd_eval impulses(const kd_point *x, const double *dv, const double *dx, const double *Lambda, const double *Pi,
                        void *context, double *free, double *driven)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    // forces of the rows alone, at the velocity where the rows are known
    kd_work_velocity(w, x, KD_FOR_ROWS);
    kd_work_clear_forces(w);
    kd_work_apply_rows(w, Lambda, Pi);
    kd_work_spread_forces(w);
    // then at rest, jumps for accelerations: the residual is M dv + M_vx dx + (GZ)' Lambda + (HZ)' Pi
    memset(w->dx, 0, (size_t)s->tree.ndof * sizeof *w->dx);
    for (int i = 0; i < s->tree.nv; i++) w->ddx[s->tree.v_dof[i]] = dv[i];
    for (int i = 0; i < s->ndrives; i++) w->ddx[s->drive[i]] = dx[i];
    kd_tree_move(&s->tree, w->dx, &w->motion);
    kd_tree_accelerate(&s->tree, w->dx, w->ddx, (kd_vec3){0}, &w->motion);
    kd_tree_residual(&s->tree, &w->motion, w->load, w->tau);
    for (int k = 0; k < s->tree.ndof; k++) w->tau[k] -= w->joint_force[k];
    for (int i = 0; i < s->tree.nv; i++) free[i] = w->tau[s->tree.v_dof[i]];
    for (int i = 0; i < s->ndrives; i++) driven[i] = w->tau[s->drive[i]];
    // the motion of the tree is not that of x any more
    kd_work_forget(w);
    return KD_EVAL_OK;
}

// rows with a target or an expression may move with time of themselves
static const unsigned char *timed_rows(kd_system *s)
{
    unsigned char *timed = kd_arena_cut(&s->arena, (size_t)s->nlambda, 1);
    for (int i = 0; timed && i < s->nlambda; i++) timed[i] = s->row_g[s->kept[i]].target || s->row_g[s->kept[i]].expr;
    return timed;
}

static void load_energies(kd_work *w, kd_energies *out)
{
    const kd_system *s = w->system;
    // by the class, or force times rate as supplied power
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *l = &s->load[i];
        if (l->class->energy) {
            const double before = out->potential;
            l->class->energy(l, w->slot, w, out);
            out->size += fabs(out->potential - before);
            continue;
        }
        for (int k = 0; k < l->nchannels; k++) out->supplied += w->force[w->force_at[i] + k] * w->slot[l->rate_slot[k]];
    }
}

kd_eval kd_work_energies(const kd_point *x, void *context, kd_energies *out)
{
    kd_work *w = context;
    kd_eval  answer = kd_work_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    // drives need the residual, the others only loads
    inertia_energies(w, out);
    load_energies(w, out);
    return w->system->driven ? drive_power(w, x, out) : KD_EVAL_OK;
}

// ---- amounts behind inner states ------------------------------------------------------------------------------------
static kd_eval content(const kd_point *x, void *context, double *amount, double *slope)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_work_velocity(w, x, KD_FOR_LOADS);
    // NAN where no element tells
    for (int i = 0; i < s->nr; i++) amount[i] = NAN;
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *l = &s->load[i];
        if (l->class->content) l->class->content(l, w->slot, amount + l->state, slope + l->state);
    }
    return KD_EVAL_OK;
}

// ---- outputs --------------------------------------------------------------------------------------------------------
// A joint of the tree: what its link needs (on the link at its P, world axes), less the forces of other elements along
// its coordinates (springs, friction, couplings).
static kd_wrench tree_reaction(const kd_work *w, int joint)
{
    const kd_system    *s = w->system;
    const kd_tree_edge *edge = &s->edge[joint];
    const kd_relative  *rel = &w->rel[edge->pair];
    const kd_wrench    *r = &w->motion.reaction[edge->link];
    const kd_joint_form form = kd_joint_form_of(s->model->joint[joint].def.kind);
    kd_vec3             arm = kd_vec_sub(w->motion.link[edge->link].P, rel->rB);
    double              sign = edge->reversed ? -1.0 : 1.0;
    kd_wrench           sum = {.N = kd_mat_tvec(&rel->RA, kd_vec_add(r->N, kd_vec_cross(arm, r->F))),
                               .F = kd_mat_tvec(&rel->RA, r->F)};
    // reversed: the link is the body of `from`, and the reaction acts on that of `to`
    sum = (kd_wrench){kd_vec_scale(sign, sum.N), kd_vec_scale(sign, sum.F)};
    // forces along its own coordinates are not the joint's: springs, friction, drives of other elements
    for (int i = 0; i < form.nscalars; i++) {
        int       dof = kd_edge_dof(s, joint, i);
        kd_wrench load;
        if (dof < 0) continue;
        kd_joint_load(&form, &rel->C, i, &load.N, &load.F);
        sum.N = kd_vec_axpy(sum.N, -w->joint_force[dof], load.N);
        sum.F = kd_vec_axpy(sum.F, -w->joint_force[dof], load.F);
    }
    return sum;
}

// The load of a force along a measure of a joint: a coordinate of the tree, or a measure of the joint's frames.
static kd_wrench measure_load(const kd_system *s, const kd_relative *rel, int joint, const kd_measure *m)
{
    kd_wrench           load = {.N = {0, 0, 0}};
    const kd_joint_form form = kd_joint_form_of(s->model->joint[joint].def.kind);
    if (m->kind != KD_MEASURE_DOF) {
        kd_measure_gradient(m, rel, &load.N, &load.F);
        // in the axes of `from`, where those of the measure are turned by half a turn
        const int about = m->pair >= 0 ? s->pair_ends[m->pair].turned - 1 : -1;
        if (about >= 0 && about != 0) load.F.x = -load.F.x;
        if (about >= 0 && about != 1) load.F.y = -load.F.y;
        if (about >= 0 && about != 2) load.F.z = -load.F.z;
        return load;
    }
    for (int i = 0; i < form.nscalars; i++)
        if (kd_edge_dof(s, joint, i) == m->dof) kd_joint_load(&form, &rel->C, i, &load.N, &load.F);
    return load;
}

// The forces of a joint's own rows: it closes a loop, or its motion is prescribed.
static kd_wrench row_reaction(const kd_work *w, const kd_point *x, int joint)
{
    const kd_system   *s = w->system;
    const kd_relative *rel = &w->rel[s->edge[joint].pair];
    kd_wrench          sum = {.N = {0, 0, 0}};
    // all rows of the joint that are in the equations
    for (int number = s->edge[joint].row, end = number + s->edge[joint].nrows; number < end; number++) {
        const kd_row *row = &s->row_g[number];
        int           i = s->lambda_of[number];
        for (int k = 0; i >= 0 && k < row->nterms; k++) {
            kd_wrench load = measure_load(s, rel, joint, &s->measure[s->slot[row->slot[k]].index]);
            sum.N = kd_vec_axpy(sum.N, -x->lambda[i] * row->coefficient[k], load.N);
            sum.F = kd_vec_axpy(sum.F, -x->lambda[i] * row->coefficient[k], load.F);
        }
    }
    return sum;
}

static double component_of(const kd_wrench *w, int i)
{
    const double all[] = {w->F.x, w->F.y, w->F.z, w->N.x, w->N.y, w->N.z};
    return i < 6 ? all[i] : 0.0;
}

// Reaction of a joint on the body of `to`, axes of `from`, at the origin of `to`; with the force of a prescribed
// motion.
static double reaction(const kd_work *w, const kd_point *x, int joint, int component)
{
    kd_wrench sum = row_reaction(w, x, joint);
    if (w->system->edge[joint].link > 0) {
        kd_wrench tree = tree_reaction(w, joint);
        sum = (kd_wrench){kd_vec_add(sum.N, tree.N), kd_vec_add(sum.F, tree.F)};
    }
    return component_of(&sum, component);
}

static double multiplier(const kd_work *w, const kd_point *x, int constraint, int number)
{
    const kd_system *s = w->system;
    // rows of g first; a nonholonomic constraint has its rows in h
    for (int i = s->constraint_row[constraint]; i < s->nrows_g && s->row_g[i].constraint == constraint; i++)
        if (s->row_g[i].component == number) return s->lambda_of[i] >= 0 ? x->lambda[s->lambda_of[i]] : 0.0;
    for (int i = s->nrows_g - s->none_sided; i < s->nrows_g; i++)
        if (s->row_g[i].constraint == constraint && s->row_g[i].component == number)
            return s->lambda_of[i] >= 0 ? x->lambda[s->lambda_of[i]] : 0.0;
    for (int i = 0; i < s->nmu; i++)
        if (s->row_h[i].constraint == constraint && s->row_h[i].component == number) return x->mu[i];
    return 0.0; // left out as redundant
}

// Load on `to` of an element that acts between two frames, axes of `from`, at the origin of `to`.
kd_wrench kd_load_wrench(const kd_work *w, const kd_load *l)
{
    const kd_system *s = w->system;
    const double    *force = kd_load_forces(w, l);
    kd_wrench        sum = {.N = {0, 0, 0}};
    for (int k = 0; k < l->nchannels; k++) {
        const kd_measure *m = &s->measure[l->channel[k]];
        kd_vec3           N, F;
        kd_measure_gradient(m, &w->rel[m->pair], &N, &F);
        sum.N = kd_vec_axpy(sum.N, force[k], N);
        sum.F = kd_vec_axpy(sum.F, force[k], F);
    }
    return sum;
}

// All that a rail does to a wheel: the multiplier along the gradient of its row, creep and flange.
static kd_wrench wheel_wrench(kd_work *w, const kd_point *x, int constraint)
{
    const kd_system *s = w->system;
    const kd_row    *row = &s->row_g[s->constraint_row[constraint]];
    kd_wrench        sum = {.N = {0, 0, 0}};
    for (int i = 0; i < s->nloads; i++)
        if (s->load[i].wheel == row->wheel) sum = kd_load_wrench(w, &s->load[i]);
    // the normal force: multiplier along the gradient of the row
    kd_row_gradient(row, w, w->small);
    for (int k = 0; k < row->nterms && row->wheel->lambda >= 0; k++) {
        const kd_measure *m = &s->measure[s->slot[row->slot[k]].index];
        double            force = -x->lambda[row->wheel->lambda] * w->small[k];
        kd_vec3           N, F;
        kd_measure_gradient(m, &w->rel[m->pair], &N, &F);
        sum.N = kd_vec_axpy(sum.N, force, N);
        sum.F = kd_vec_axpy(sum.F, force, F);
    }
    return sum;
}

static double wheel_component(kd_work *w, const kd_point *x, int constraint, int i)
{
    const kd_row *row = &w->system->row_g[w->system->constraint_row[constraint]];
    // behind the six components: where it touches
    if (i > 5) return w->xi[row->wheel - w->system->wheel];
    kd_wrench sum = wheel_wrench(w, x, constraint);
    return component_of(&sum, i);
}

// Force of an element as sensors read it
static double element_force(const kd_work *w, const kd_point *x, int force, int number)
{
    const kd_load *l = &w->system->load[w->system->model->nstates + force];
    if (l->class->reading) return l->class->reading(l, w, x, number);
    return number < l->nchannels ? kd_load_forces(w, l)[number] : 0.0;
}

kd_eval kd_work_forces(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_energies      energy = {0};
    kd_eval          answer = s->reads_energy ? kd_work_energies(x, w, &energy) : KD_EVAL_OK;
    if (answer == KD_EVAL_OK) answer = kd_work_residual(w, x); // also the reactions
    if (answer != KD_EVAL_OK) return answer;
    // levels of KD_SLOT_ENERGY
    const double levels[] = {energy.kinetic, energy.potential, energy.kinetic + energy.potential};
    for (int i = 0; i < s->nslots; i++) {
        kd_slot at = s->slot[i];
        if (at.kind == KD_SLOT_REACTION)
            w->slot[i] = reaction(w, x, at.index, at.level);
        else if (at.kind == KD_SLOT_MULTIPLIER)
            w->slot[i] = multiplier(w, x, at.index, at.level);
        else if (at.kind == KD_SLOT_WHEEL)
            w->slot[i] = wheel_component(w, x, at.index, at.level);
        else if (at.kind == KD_SLOT_CHANNEL)
            w->slot[i] = element_force(w, x, at.index, at.level);
        else if (at.kind == KD_SLOT_ENERGY)
            w->slot[i] = levels[at.level];
    }
    return KD_EVAL_OK;
}

void kd_work_sensors(kd_work *w, double *out)
{
    const kd_system *s = w->system;
    for (int k = 0; k < s->nsensors; k++) {
        int i = s->sensor_order[k]; // behind the sensors that it reads
        out[i] = kd_expr_value(s->sensor[i], w->slot, w->expr_work);
        for (int slot = s->sensor_slot[i]; slot >= 0; slot = s->next_slot[slot]) w->slot[slot] = out[i];
    }
}

static kd_eval outputs(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_acceleration(w, x, KD_FOR_ALL);
    const kd_eval answer = kd_work_forces(w, x);
    if (answer == KD_EVAL_OK) kd_work_sensors(w, out);
    return answer;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------
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
    if (fn == KD_D && s->nalgebraic == 0) bits |= ~(KD_BIT(KD_LAMBDA) | KD_BIT(KD_W));
    if (fn == KD_D && s->nacross == 0) bits |= KD_BIT(KD_LAMBDA);
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
        [KD_KINEMATICS] = n->np, [KD_RESIDUAL] = n->nv, [KD_B] = n->nr,      [KD_D] = n->nw,
        [KD_C] = n->ns,          [KD_Q] = n->nq,        [KD_G] = n->nlambda, [KD_GI] = n->nlambda,
        [KD_GII] = n->nlambda,   [KD_H] = n->nmu,       [KD_HI] = n->nmu,    [KD_E] = n->ne};
    const int columns[KD_VAR_COUNT] = {[KD_P] = n->nv, [KD_V] = n->nv, [KD_A] = n->nv,           [KD_R] = n->nr,
                                       [KD_S] = n->ns, [KD_W] = n->nw, [KD_LAMBDA] = n->nlambda, [KD_MU] = n->nmu};
    // a promise for each block that has rows, columns and what it needs
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (rows[fn] == 0) continue;
        def->zero[fn] |= vanishing(s, fn);
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
    *out = kd_work_matrix(w, plan);
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
    if (fn == KD_RESIDUAL && var == KD_A) return mass(x, context, out);
    if (fn == KD_E) return kd_work_invariants_by(w, x, var, out);
    if (fn == KD_Q) {
        norms_by_position(w, x, out);
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

// ---- instants -------------------------------------------------------------------------------------------------------
static double next_break(const kd_point *x, void *context)
{
    return kd_work_next_break(context, x->t);
}

// ---- names, work ----------------------------------------------------------------------------------------------------
static const char *name_of(kd_kind kind, int i, void *context)
{
    const kd_system *s = context;
    return s->names[kind] ? s->names[kind][i] : NULL;
}

static void *make_work(void *context)
{
    return kd_work_create(context);
}
static void free_work(void *work)
{
    kd_work_destroy(work);
}

kd_eval kd_system_input_values(double t, void *context, double *u, double *du, double *ddu)
{
    const kd_system *s = context;
    // inputs are functions of time: t as jet gives u, u', u''
    kd_jet time = {.x = t, .x1 = 1.0};
    for (int i = 0; i < s->model->ninputs; i++) {
        kd_jet value = kd_jet_const(s->model->input[i].def.start);
        if (s->input[i]) {
            double work[KD_INPUT_WORK];
            value = kd_expr_jet(s->input[i], &time, work);
        }
        u[i] = value.x, du[i] = value.x1, ddu[i] = value.x2;
    }
    return KD_EVAL_OK;
}

// Which rows are one-sided: those of stops, contacts and constraints with restitution; NULL: none
static const double *restitutions(kd_system *s)
{
    double *e = kd_cut_double(&s->arena, s->nlambda);
    for (int i = 0; e && i < s->nlambda; i++) {
        const kd_row *row = &s->row_g[s->kept[i]];
        e[i] = row->one_sided ? row->restitution : -1.0;
    }
    return e;
}

// ---- definition -----------------------------------------------------------------------------------------------------

static void define_kinematics(const kd_system *s, kd_eom_def *def)
{
    // only angles that are counted can move without velocities, where motions are prescribed
    const bool still = s->nturns == 0 || !s->prescribed;
    // np == nv and Z = I where there are neither quaternions nor counted angles
    if (def->dims.nq == 0) return;
    def->kinematics = kinematics;
    def->Z = Z;
    def->oplus = oplus;
    def->q = norms;
    def->velocities = velocities;
    if (still) def->normalise = normalise;
    if (still) def->zero[KD_KINEMATICS] = KD_BIT(KD_T);
}

static void define_dynamics(const kd_system *s, kd_eom_def *def)
{
    def->residual = residual;
    def->acceleration = acceleration;
    if (s->inside_joints) {
        def->implicit_reserve = kd_work_implicit_reserve;
        def->implicit_set = kd_work_implicit_set;
        def->implicit_factor = kd_work_implicit_factor;
        def->implicit_solve = kd_work_implicit_solve;
    }
    def->M = mass;
    // bodies that hang free on the ground, velocities in body axes: M does not move
    if (s->options.coordinates == KD_CARTESIAN) def->mass_structure = KD_MASS_FULL_CONSTANT;
    // accelerations along the tree; loads that read multipliers would need an iteration
    if (s->topological.place) {
        if (!s->late) def->accelerations = accelerations;
        def->kkt_factor = kkt_factor;
        def->kkt_solve = kkt_solve;
    }
    if (s->nr > 0) def->b = inner_rates;
    if (s->nw > 0) def->d = auxiliary;
    def->force_of_multipliers = s->by_multipliers;
    def->energies = kd_work_energies;
    def->content = content;
    if (s->nsensors > 0) def->y = outputs;
}

static void define_constraints(const kd_system *s, kd_eom_def *def)
{
    if (s->ns > 0) def->c = tangency;
    if (s->nlambda > 0) {
        def->g = g;
        def->gI = gI;
        def->gII = gII;
    }
    if (s->nmu > 0) {
        def->h = h;
        def->hI = hI;
    }
    if (s->ninvariants > 0) {
        def->e = kd_work_invariants;
        def->e_at_start = s->invariant_z;
    }
    if (s->ndrives > 0) {
        def->ndrives = s->ndrives;
        def->drives = drives;
        def->impulses = impulses;
    }
}

static void define_derivatives(const kd_system *s, kd_eom_def *def)
{
    def->p_increments = true;
    def->derivative = derivative;
    def->pattern = pattern;
    def->sparse = sparse;
    if (s->dense_tree) def->stiffness = stiffness;
    give_derivatives(s, &def->dims, def);
}

// What a run asks for beyond the equations: why it fails, what laws do inside a step
static void define_words(const kd_system *s, kd_eom_def *def)
{
    if (s->for_start) return;
    // one element that warns is enough
    for (int i = 0; i < s->nloads; i++)
        if (s->load[i].class->caution) def->caution = kd_work_caution;
    if (s->model->ncurves > 0) def->notice = kd_work_notice;
    def->reason = kd_work_reason;
    def->jumps = kd_work_jumps;
    def->feeds = kd_work_feeds;
    def->unsearched = kd_system_unsearched;
}

static kd_status define_instants(kd_system *s, kd_eom_def *def)
{
    if (s->nbreaking > 0) def->next_break = next_break;
    if (s->nlaws > 0) def->unseen = kd_work_unseen;
    if (s->model->nblocks > 0 && !s->for_start) {
        def->next_sample = kd_work_next_sample;
        def->discrete = kd_work_discrete;
        def->discrete_counts = true;
        def->discrete_of_motion = !s->at_samples.forces;
    }
    // switching functions are those of events
    if (def->dims.nswitch == 0) return KD_OK;
    def->switching = kd_work_switching;
    def->switch_bounds = kd_work_switch_bounds;
    def->event = kd_work_event;
    def->crossing = kd_system_crossings(s);
    return def->crossing ? KD_OK : KD_ERR_MEMORY;
}

// Rows of h that hold while something sticks
static kd_status define_friction(kd_system *s, kd_eom_def *def)
{
    // direction: place in z of the direction of sliding; -1: the row always holds
    int    *direction = kd_cut_int(&s->arena, s->nmu);
    double *scale = kd_cut_double(&s->arena, s->nmu);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < s->nmu; i++) {
        direction[i] = s->row_h[i].direction;
        if (direction[i] < 0) continue;
        def->breakaway = breakaway;
        scale[i] = s->row_h[i].scale;
    }
    def->friction = def->breakaway ? direction : NULL;
    def->friction_scale = def->breakaway ? scale : NULL;
    return KD_OK;
}

// What is known of each row and unknown: kinds of rows, natural sizes
static kd_status define_arrays(kd_system *s, kd_eom_def *def)
{
    kd_status status = define_friction(s, def);
    if (status < 0) return status;
    if (s->nlambda > 0 && !(def->timed = timed_rows(s))) return KD_ERR_MEMORY;
    if (s->takes_one_sided && s->none_sided > 0 && !(def->restitution = restitutions(s))) return KD_ERR_MEMORY;
    def->unit = kd_system_units(s);
    def->position_unit = kd_system_position_units(s);
    def->time = kd_system_time(s);
    return def->unit && def->position_unit ? KD_OK : KD_ERR_MEMORY;
}

kd_status kd_system_equations(kd_system *s, char *message, size_t size)
{
    kd_eom_def def = kd_eom_def_default();
    // sizes; what start values need only is left out there
    def.title = s->model->title ? s->model->title : "model";
    def.dims = (kd_dims){.np = s->np,
                         .nv = s->nv,
                         .nr = s->nr,
                         .nw = s->nw,
                         .ns = s->ns,
                         .nlambda = s->nlambda,
                         .nmu = s->nmu,
                         .nq = s->nquaternions + s->nturns,
                         .nu = s->model->ninputs,
                         .ne = s->ninvariants,
                         .nz = s->nz,
                         .ny = s->nsensors,
                         .nswitch = s->for_start ? 0 : s->model->nevents};
    def.context = s;
    def.autonomous = !s->time_dependent;
    def.name = name_of;
    def.make_work = make_work;
    def.free_work = free_work;
    // functions by subject, then arrays that the definition copies
    define_kinematics(s, &def);
    define_dynamics(s, &def);
    define_constraints(s, &def);
    define_derivatives(s, &def);
    define_words(s, &def);
    kd_status status = define_instants(s, &def);
    if (status >= 0) status = define_arrays(s, &def);
    return status < 0 ? status : kd_eom_create(&def, &s->eom, message, size);
}
