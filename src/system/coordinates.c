// coordinates.c: positions and velocities of a system as its equations know them: rates of the tree in the order of p,
// quaternions of length 1, angles that are counted over full turns.
#include <string.h>

#include "element/force.h"

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

// Without counted angles: scalars p + e, quaternions q exp(e)
static void move(const kd_system *s, const double *p, const double *e, double *p_moved)
{
    if (p != p_moved) memcpy(p_moved, p, (size_t)s->np * sizeof *p);
    for (int i = 0; i < s->nscalars; i++) p_moved[s->scalar_p[i]] += e[s->scalar_v[i]];
    for (int i = 0; i < s->nquaternions; i++) {
        double *q = p_moved + s->quaternion[i];
        kd_quat_to(kd_quat_mul(kd_quat_of(q), kd_quat_exp(kd_vec_of(e + s->quaternion_v[i]))), q);
    }
}

static kd_eval oplus(const double *p, const double *e, void *context, double *p_moved)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    const double    *turn = p + first_turn(s);
    double          *before = w->turn, *behind = w->turn + s->nturns;
    if (s->nturns == 0) {
        move(s, p, e, p_moved);
        return KD_EVAL_OK;
    }
    memcpy(w->x_moved, w->x, (size_t)s->tree.nposition * sizeof *w->x_moved); // prescribed coordinates stay
    // p as coordinates of the tree; where its counted angles stand now
    for (int i = 0; i < first_turn(s); i++) w->x_moved[s->x_of_p[i]] = p[i];
    angles_at(w, w->x_moved, turn, before);
    // v as increments of dofs, along the tree
    memset(w->increment, 0, (size_t)s->tree.ndof * sizeof *w->increment);
    for (int i = 0; i < s->tree.nv; i++) w->increment[s->tree.v_dof[i]] = e[i];
    kd_tree_oplus(&s->tree, w->x_moved, w->increment, w->x_moved);
    angles_at(w, w->x_moved, before, behind);
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

void kd_work_norms_by_position(kd_work *w, const kd_point *x, double *out)
{
    const kd_system *s = w->system;
    int              nq = s->nquaternions + s->nturns;
    for (int i = 0; i < s->nquaternions; i++)
        for (int k = 0; k < 4; k++) out[i + (s->quaternion[i] + k) * nq] = x->p[s->quaternion[i] + k];
    if (s->nturns > 0) kd_work_axes(w, x, KD_FOR_ALL);
    for (int i = 0; i < s->nturns; i++) norm_of_turn(w, i, out);
}

// ---- definition -----------------------------------------------------------------------------------------------------

void kd_system_define_kinematics(const kd_system *s, kd_eom_def *def)
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
    def->ncounted = s->nturns;
    if (still) def->normalise = normalise;
    if (still) def->zero[KD_KINEMATICS] = KD_BIT(KD_T);
}
