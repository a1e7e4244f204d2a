// start.c: start values of a system: coordinates as the model gives them, loops assembled from there.
//
// Joint coordinates: the design position, with the coordinates and velocities that joints give in their place. Those
// are held first; if the loops cannot be closed that way, only the ones marked `hold` are, and the message says so.
// Cartesian coordinates: the same motion, from the model in joint coordinates.
#include <math.h>
#include <string.h>

#include <kardan/initial.h>

#include "core/text.h"
#include "formalism/system.h"

static const double FITS = 1e-12; // residual of a motion that was carried over from other coordinates

// ---- a point of evaluation ------------------------------------------------------------------------------------------
// Bring w to the velocity
// stage at a state.
static kd_eval place_at(kd_work *w, double t, const double *p, const double *v, const double *r, double *u)
{
    int      nu = w->system->model->ninputs;
    kd_point x = {.t = t, .u = u, .du = u + nu, .ddu = u + 2 * nu, .p = p, .v = v, .r = r};
    kd_eval  answer = w->system->inputs.eval(t, w->system->inputs.context, u, u + nu, u + 2 * nu);
    x.time_stamp = x.position_stamp = x.velocity_stamp = x.acceleration_stamp = 1;
    w->time_stamp = w->position_stamp = w->velocity_stamp = w->acceleration_stamp = 0;
    kd_work_velocity(w, &x);
    w->time_stamp = w->position_stamp = w->velocity_stamp = 0;
    return answer;
}

// ---- the guess in joint coordinates ---------------------------------------------------------------------------------
typedef struct guess {
    double *p, *v;
    bool   *given_p, *given_v, *hold_p, *hold_v; // (nv)
    bool    any_given;
} guess;

static void set_scalar(const kd_system *s, guess *g, int joint, int i, int dof)
{
    const kd_joint_def *def = &s->model->joint[joint].def;
    const kd_link      *link = &s->tree.link[s->tree.dof_link[dof]];
    int                 at = s->tree.dof_v[dof];
    if (at < 0) return;
    if (!isnan(def->q[i])) {
        g->p[s->p_of_x[link->position + dof - link->dof]] = def->q[i];
        g->given_p[at] = g->any_given = true;
        g->hold_p[at] = def->hold;
    }
    if (!isnan(def->v[i])) {
        g->v[at] = def->v[i];
        g->given_v[at] = g->any_given = true;
        g->hold_v[at] = def->hold;
    }
}

// Quaternion and angular velocity of a spherical or free joint; backwards: the inverse rotation, axes of the other
// side.
static void set_rotation(const kd_system *s, guess *g, int joint, int first)
{
    const kd_joint_def *def = &s->model->joint[joint].def;
    const kd_tree_edge *edge = &s->edge[joint];
    const kd_link      *link = &s->tree.link[edge->link];
    int                 dof = link->dof + first, at = s->tree.dof_v[dof], p = s->p_of_x[link->position + first];
    kd_quat             q = kd_quat_of(def->q + first);
    if (!isnan(q.w)) {
        q = kd_quat_normalised(q);
        kd_quat_to(edge->reversed ? kd_quat_conjugate(q) : q, g->p + p);
    }
    for (int k = 0; k < 3; k++) {
        if (!isnan(q.w)) g->given_p[at + k] = g->any_given = true, g->hold_p[at + k] = def->hold;
        if (!isnan(def->v[first + k])) g->given_v[at + k] = g->any_given = true, g->hold_v[at + k] = def->hold;
    }
    kd_vec3 omega = kd_vec_of(def->v + first);
    if (isnan(omega.x)) return;
    if (edge->reversed) { // omega of `to` relative to `from` in axes of `to`, wanted: of `from` relative to `to` in its
                          // own
        kd_mat3 R = kd_quat_matrix(kd_quat_of(g->p + p)); // axes of `from` in `to`
        omega = kd_vec_neg(kd_mat_tvec(&R, omega));
    }
    kd_vec_to(omega, g->v + at);
}

static void set_joints(const kd_system *s, guess *g)
{
    for (int j = 0; j < s->model->njoints; j++) {
        if (s->edge[j].link == 0) continue;
        kd_joint_kind kind = s->model->joint[j].def.kind;
        for (int i = 0; i < kd_joint_coordinates(kind); i++) {
            int dof = kd_edge_dof(s, j, i);
            if (dof >= 0) set_scalar(s, g, j, i, dof);
        }
        if (kind == KD_SPHERICAL) set_rotation(s, g, j, 0);
        if (kind == KD_FREE && !s->edge[j].reversed) set_rotation(s, g, j, 3);
    }
}

// Start velocities of bodies that move freely: of the origin and angular, world axes.
static void set_bodies(const kd_system *s, guess *g)
{
    for (int b = 0; b < s->model->nbodies; b++) {
        const kd_body *body = &s->model->body[b];
        const kd_link *link = &s->tree.link[s->body_link[b]];
        kd_vec3        velocity = kd_vec_of(body->def.velocity), omega = kd_vec_of(body->def.angular_velocity);
        bool           has_v = !isnan(velocity.x), has_omega = !isnan(omega.x);
        if (link->kind != KD_TREE_FREE || link->parent != 0 || (!has_v && !has_omega)) continue;
        int     at = s->tree.dof_v[link->dof];
        kd_quat q = kd_quat_of(g->p + s->p_of_x[link->position + 3]);
        kd_mat3 C = kd_quat_matrix(q), R = kd_mat_mul(&link->E, &C);
        kd_vec3 w = has_omega ? omega : kd_vec(0, 0, 0), v = has_v ? velocity : kd_vec(0, 0, 0);
        kd_vec3 arm = kd_vec_neg(kd_mat_vec(&R, s->body_r[b])); // from the body's origin to P
        v = kd_vec_add(v, kd_vec_cross(w, arm));
        kd_vec_to(kd_mat_tvec(&link->E, v), g->v + at);
        kd_vec_to(kd_mat_tvec(&R, w), g->v + at + 3);
    }
}

// Counted angles of joints that close loops: the turn closest to the given start coordinate, or the angle itself.
static void set_turns(const kd_system *s, kd_work *w, double *p)
{
    for (int i = 0; i < s->nturns; i++) {
        double near = 0.0;
        for (int j = 0; j < s->model->njoints; j++)
            for (int k = 0; k < 3; k++)
                if (s->edge[j].coordinate[k] == s->turn_measure[i] && !isnan(s->model->joint[j].def.q[k]))
                    near = s->model->joint[j].def.q[k];
        const kd_measure       *m = &s->measure[s->turn_measure[i]];
        static const kd_tangent none;
        p[s->np - s->nturns + i] = kd_measure_jet(m, &w->rel[m->pair], &none, near).x;
    }
}

// p, v of the model's own numbers (not assembled); flags of what was given.
static void fill_guess(const kd_system *s, guess *g)
{
    for (int i = 0; i < s->tree.nposition; i++)
        if (s->p_of_x[i] >= 0) g->p[s->p_of_x[i]] = s->design[i];
    set_joints(s, g);
    set_bodies(s, g);
}

// States of elements: their start values; the damper of a Maxwell element starts without force in its branch.
static void fill_states(const kd_system *s, const kd_work *w, double *r)
{
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *l = &s->load[i];
        if (l->state_def) r[l->state] = l->state_def->start;
        if (l->user)
            for (int k = 0; k < l->nstates; k++) r[l->state + k] = l->user->start ? l->user->start[k] : 0.0;
        if (l->def && l->def->kind == KD_MAXWELL) r[l->state] = w->slot[l->variable[0]] - l->constant[0];
    }
}

static bool cut_guess(const kd_system *s, guess *g, kd_arena *arena)
{
    g->p = kd_cut_double(arena, s->np);
    g->v = kd_cut_double(arena, s->nv);
    g->given_p = kd_cut_bool(arena, s->nv);
    g->given_v = kd_cut_bool(arena, s->nv);
    g->hold_p = kd_cut_bool(arena, s->nv);
    g->hold_v = kd_cut_bool(arena, s->nv);
    return !arena->failed;
}

// Free lengths and offsets that are to be taken from the start position: NaN until now.
kd_status kd_system_fill_lengths(kd_system *s)
{
    kd_arena  arena = {0};
    guess     g = {0};
    kd_work  *w = kd_work_create(s);
    double   *u = kd_cut_double(&arena, 3 * s->model->ninputs), *r = kd_cut_double(&arena, s->nr);
    kd_status status = w && cut_guess(s, &g, &arena) ? KD_OK : KD_ERR_MEMORY;
    if (status != KD_OK) goto done;
    fill_guess(s, &g);
    (void)place_at(w, 0.0, g.p, g.v, r, u);
    set_turns(s, w, g.p);
    (void)place_at(w, 0.0, g.p, g.v, r, u);
    for (int i = 0; i < s->nloads; i++)
        if (isnan(s->load[i].constant[0])) s->load[i].constant[0] = w->value[s->load[i].channel[0]];
    for (int i = 0; i < s->nrows_g; i++) {
        kd_row *row = &s->row_g[i];
        if (row->expr || !isnan(row->offset)) continue;
        row->offset = 0.0;
        row->offset = kd_row_jet(row, w).x;
    }
done:
    kd_work_destroy(w);
    kd_arena_release(&arena);
    return status;
}

// ---- assembly -------------------------------------------------------------------------------------------------------
static kd_status assemble(const kd_system *s, const guess *g, bool hold_given, kd_state *x, char *message, size_t size)
{
    kd_initial_options opt = kd_initial_options_default();
    opt.hold_p = hold_given ? g->given_p : g->hold_p;
    opt.hold_v = hold_given ? g->given_v : g->hold_v;
    memcpy(x->p, g->p, (size_t)s->np * sizeof *x->p);
    memcpy(x->v, g->v, (size_t)s->nv * sizeof *x->v);
    return kd_initial_consistent(s->eom, &s->inputs, &opt, x, message, size);
}

// The start as it is given, not assembled
static kd_status given_start(const kd_system *s, kd_state *x)
{
    kd_arena  arena = {0};
    guess     g = {0};
    kd_work  *w = kd_work_create(s);
    double   *u = kd_cut_double(&arena, 3 * s->model->ninputs);
    kd_status status = w && cut_guess(s, &g, &arena) ? KD_OK : KD_ERR_MEMORY;
    if (status != KD_OK) goto done;
    fill_guess(s, &g);
    (void)place_at(w, x->t, g.p, g.v, x->r, u);
    set_turns(s, w, g.p);
    memcpy(x->p, g.p, (size_t)s->np * sizeof *x->p);
    memcpy(x->v, g.v, (size_t)s->nv * sizeof *x->v);
done:
    kd_work_destroy(w);
    kd_arena_release(&arena);
    return status;
}

kd_status kd_system_closure(const kd_system *system, double *error, char *name, size_t size)
{
    if (!system || !error) return KD_ERR_ARGUMENT;
    const kd_system *s = system->joints ? system->joints : system;
    kd_consistency   found = {.worst_position = -1};
    kd_state        *x = NULL;
    kd_text(name, size, "%s", "");
    *error = 0;
    kd_status status = kd_state_create(s->eom, &x);
    if (status == KD_OK) status = given_start(s, x);
    if (status == KD_OK && s->nlambda > 0) status = kd_initial_residuals(s->eom, &s->inputs, x, &found);
    if (status == KD_OK) *error = found.position;
    if (status == KD_OK && found.worst_position >= 0 && found.position > 0)
        kd_eom_name(s->eom, KD_NAME_LAMBDA, found.worst_position, name, size);
    kd_state_destroy(x);
    return status;
}

static kd_status start_joints(const kd_system *s, kd_state *x, char *message, size_t size)
{
    kd_arena  arena = {0};
    guess     g = {0};
    kd_work  *w = kd_work_create(s);
    double   *u = kd_cut_double(&arena, 3 * s->model->ninputs);
    kd_status status = w && cut_guess(s, &g, &arena) ? KD_OK : KD_ERR_MEMORY;
    if (status != KD_OK) goto done;
    fill_guess(s, &g);
    (void)place_at(w, x->t, g.p, g.v, x->r, u);
    set_turns(s, w, g.p);
    (void)place_at(w, x->t, g.p, g.v, x->r, u);
    fill_states(s, w, x->r);
    status = assemble(s, &g, true, x, message, size);
    if (status < 0 && g.any_given) {
        char why[600];
        kd_text(why, sizeof why, "%.190s", message ? message : "");
        status = assemble(s, &g, false, x, message, size);
        if (status >= 0) {
            kd_text(message, size,
                    "the given start values cannot all be kept (%s); the closest assembled position was taken", why);
            status = KD_CORRECTED;
        }
    }
done:
    kd_work_destroy(w);
    kd_arena_release(&arena);
    return status;
}

// ---- Cartesian coordinates from the motion in joint coordinates -----------------------------------------------------
static void copy_body(const kd_system *s, const kd_system *joints, const kd_work *w, int b, kd_state *x)
{
    const kd_link        *link = &s->tree.link[s->body_link[b]];
    const kd_link_motion *from = &w->motion.link[joints->body_link[b]];
    kd_mat3               R = kd_mat_mul(&from->R, &joints->body_R[b]); // axes of the body
    kd_vec3               arm = kd_mat_vec(&from->R, joints->tree.link[joints->body_link[b]].centre);
    kd_vec3               centre = kd_vec_add(from->P, arm), velocity = kd_vec_add(from->v, kd_vec_cross(from->w, arm));
    int                   p = s->p_of_x[link->position], v = s->tree.dof_v[link->dof];
    kd_vec_to(centre, x->p + p);
    kd_quat_to(kd_quat_of_matrix(&R), x->p + p + 3);
    kd_vec_to(velocity, x->v + v);
    kd_vec_to(kd_mat_tvec(&R, from->w), x->v + v + 3);
}

// The coordinate of a joint in joint coordinates chooses the turn in Cartesian ones.
static void copy_turns(const kd_system *s, const kd_system *joints, const kd_work *wj, kd_work *w, double *p)
{
    set_turns(s, w, p);
    for (int i = 0; i < s->nturns; i++) {
        const kd_measure       *m = &s->measure[s->turn_measure[i]];
        static const kd_tangent none;
        for (int j = 0; j < s->model->njoints; j++)
            for (int k = 0; k < 3; k++) {
                int dof = s->edge[j].coordinate[k] == s->turn_measure[i] ? kd_edge_dof(joints, j, k) : -1;
                if (dof < 0) continue;
                const kd_link *link = &joints->tree.link[joints->tree.dof_link[dof]];
                double         near = wj->x[link->position + dof - link->dof];
                p[s->np - s->nturns + i] = kd_measure_jet(m, &w->rel[m->pair], &none, near).x;
            }
    }
}

static kd_status start_cartesian(const kd_system *s, kd_state *x, char *message, size_t size)
{
    const kd_system *joints = s->joints;
    kd_arena         arena = {0};
    kd_state        *xj = NULL;
    kd_work         *wj = kd_work_create(joints), *w = kd_work_create(s);
    double          *u = kd_cut_double(&arena, 3 * s->model->ninputs);
    kd_status        status = wj && w && !arena.failed ? kd_state_create(joints->eom, &xj) : KD_ERR_MEMORY, news;
    if (status != KD_OK) goto done;
    xj->t = x->t;
    news = status = start_joints(joints, xj, message, size);
    if (status < 0) goto done;
    (void)place_at(wj, xj->t, xj->p, xj->v, xj->r, u);
    for (int b = 0; b < s->model->nbodies; b++) copy_body(s, joints, wj, b, x);
    memcpy(x->r, xj->r, (size_t)s->nr * sizeof *x->r);
    (void)place_at(w, x->t, x->p, x->v, x->r, u);
    copy_turns(s, joints, wj, w, x->p);
    kd_initial_options opt = kd_initial_options_default();
    char               text[400] = "";
    kd_consistency     now;
    status = kd_initial_residuals(s->eom, &s->inputs, x, &now);
    if (status < 0) goto done;
    double speed = 1.0;
    for (int i = 0; i < s->nv; i++) speed = fmax(speed, fabs(x->v[i]));
    opt.assume =
        now.position <= FITS && now.velocity <= FITS * speed; // as it should be: only the multipliers are missing
    status = kd_initial_consistent(s->eom, &s->inputs, &opt, x, text, sizeof text);
    if (status < 0 || (status > 0 && news == KD_OK)) kd_text(message, size, "%s", text);
    if (status >= 0 && news == KD_CORRECTED) status = news;
done:
    kd_state_destroy(xj);
    kd_work_destroy(wj);
    kd_work_destroy(w);
    kd_arena_release(&arena);
    return status;
}

kd_status kd_system_start(const kd_system *s, kd_state *x, char *message, size_t size)
{
    if (!s || !x) return KD_ERR_ARGUMENT;
    kd_text(message, size, "%s", "");
    return s->joints ? start_cartesian(s, x, message, size) : start_joints(s, x, message, size);
}
