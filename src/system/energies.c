// energies.c: kinetic and potential energy, power of drives and loads, amounts behind inner states.
#include <math.h>
#include <string.h>

#include "element/force.h"

// of a link that deforms, as it is now
static void wide_energies(const kd_work *w, int i, kd_vec3 gravity, kd_energies *out)
{
    const kd_link        *link = &w->system->tree.link[i];
    const kd_link_motion *m = &w->motion.link[i];
    const kd_wide_state  *state = kd_motion_wide(&w->motion, link);
    const kd_vec3         at = kd_vec_axpy(kd_mat_vec(&m->R, state->h), link->wide->mass, m->P);
    out->kinetic += kd_wide_energy(link->wide, state, kd_mat_tvec(&m->R, m->w), kd_mat_tvec(&m->R, m->v));
    out->potential -= kd_vec_dot(gravity, at);
    out->size += fabs(gravity.x * at.x) + fabs(gravity.y * at.y) + fabs(gravity.z * at.z);
}

static void inertia_energies(const kd_work *w, kd_energies *out)
{
    const kd_system *s = w->system;
    kd_vec3          gravity = kd_vec_of(s->model->gravity);
    for (int i = 1; i < s->tree.nlinks; i++) {
        const kd_link        *link = &s->tree.link[i];
        const kd_link_motion *m = &w->motion.link[i];
        if (link->wide) {
            wide_energies(w, i, gravity, out);
            continue;
        }
        kd_vec3 c = kd_mat_vec(&m->R, link->centre), omega = kd_mat_tvec(&m->R, m->w);
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

// Does a prescribed coordinate move?
static bool any_drive_moves(const kd_work *w)
{
    const kd_tree *tree = &w->system->tree;
    bool           moves = false;
    for (int k = 0; w->system->prescribed && k < tree->ndof; k++)
        moves = moves || (tree->dof_v[k] < 0 && w->dx[k] != 0);
    return moves;
}

// Power of drives: prescribed coordinates (tau x', where tau holds the forces of rows already) and rows that depend on
// time: -lambda g_x x' = lambda g_t, and -mu h_v v = mu h0.
static kd_eval drive_power(kd_work *w, const kd_point *x, kd_energies *out)
{
    const kd_system *s = w->system;
    const bool       known = w->tau_stamp == x->acceleration_stamp; // by whoever asked for the residual here
    kd_eval          answer = KD_EVAL_OK;
    // tau only where prescribed coordinates move
    kd_work_velocity(w, x, KD_FOR_ROWS);
    const bool moves = any_drive_moves(w);
    if (moves && !known) answer = kd_work_residual(w, x);
    if (answer != KD_EVAL_OK) return answer;
    // drives carry tau at the rate of the prescribed coordinate
    for (int k = 0; moves && k < s->tree.ndof; k++)
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
    kd_work_velocity(w, x, KD_FOR_LOADS); // energies of modes read variables, their forces do not
    // drives need the residual, the others only loads
    inertia_energies(w, out);
    load_energies(w, out);
    return w->system->driven ? drive_power(w, x, out) : KD_EVAL_OK;
}

// ---- amounts behind inner states ------------------------------------------------------------------------------------

kd_eval kd_work_content(const kd_point *x, void *context, double *amount, double *slope)
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
