// start_carried.c: the start of Cartesian coordinates, and of trees that are cut because joints rub: the motion that was found in joint
// coordinates (start.c), carried over link by link, and corrected where it does not fit to rounding.
#include <math.h>
#include <string.h>

#include <kardan/initial.h>

#include "core/text.h"
#include "element/force.h"
#include "flexible/body.h"
#include "system/start.h"

static const double FITS = 1e-12; // residual of a motion that was carried over from other coordinates

typedef struct link_motion { // frame of a link in the world
    kd_mat3 R;
    kd_vec3 P, v, w; // origin, its velocity, angular velocity
} link_motion;

// The frame of the link that carries body b in s, from the motion of the body in the other coordinates; b < 0: ground
static link_motion motion_of_body(const kd_system *s, const kd_system *joints, const kd_work *wj, int b)
{
    if (b < 0) return (link_motion){.R = kd_mat_identity()};
    const kd_link_motion *from = &wj->motion.link[joints->body_link[b]];
    // the body's frame in the world by the tree of joints, and from it the frame of its link in s
    kd_mat3     back = kd_mat_transpose(&s->body_R[b]), R = kd_mat_mul(&from->R, &joints->body_R[b]);
    link_motion m = {.R = kd_mat_mul(&R, &back), .w = from->w};
    kd_vec3     arm = kd_vec_sub(kd_mat_vec(&from->R, joints->body_r[b]), kd_mat_vec(&m.R, s->body_r[b]));
    m.P = kd_vec_add(from->P, arm);
    m.v = kd_vec_add(from->v, kd_vec_cross(from->w, arm));
    return m;
}

// The same of any link: those that deform and markers have the frames of the body in all coordinates
static link_motion motion_of_link(const kd_system *s, const kd_system *joints, const kd_work *wj, int i)
{
    const int body = s->link_body[i], first = body < 0 ? 0 : s->first_node[body];
    if (body < 0 || kd_link_is_body(s, i)) return motion_of_body(s, joints, wj, body);
    int     other = joints->wide_link[body];
    kd_vec3 arm = {0, 0, 0};
    for (int k = first; k < s->first_node[body + 1]; k++) {
        if (s->node_link[k] != i) continue;
        // without a marker there it is a place that stands still in the frame of the body
        if (joints->node_link[k] > 0)
            other = joints->node_link[k];
        else
            arm = kd_mat_vec(&wj->motion.link[other].R, s->model->body[body].def.read->frame[k - first].at);
    }
    const kd_link_motion *m = &wj->motion.link[other];
    return (link_motion){
        .R = m->R, .P = kd_vec_add(m->P, arm), .v = kd_vec_add(m->v, kd_vec_cross(m->w, arm)), .w = m->w};
}

// Amplitudes and their rates are the same in all coordinates.
static void copy_modes(const kd_system *s, const kd_system *joints, const kd_work *wj, int body, kd_state *x)
{
    const kd_link *to = &s->tree.link[s->wide_link[body]], *from = &joints->tree.link[joints->wide_link[body]];
    for (int k = 0; k < s->model->body[body].nmodes; k++) {
        x->p[s->p_of_x[to->position + k]] = wj->x[from->position + k];
        x->v[s->tree.dof_v[to->dof + k]] = wj->dx[from->dof + k];
    }
}

static void copy_link(const kd_system *s, int i, const link_motion *parent, const link_motion *own, kd_state *x)
{
    const kd_link *link = &s->tree.link[i];
    // frame A of the joint that carries the link, its motion carried to the link's origin
    kd_mat3 RA = kd_mat_mul(&parent->R, &link->E);
    kd_vec3 rA = kd_vec_add(parent->P, kd_mat_vec(&parent->R, link->r)), arm = kd_vec_sub(own->P, parent->P);
    kd_vec3 carried = kd_vec_add(parent->v, kd_vec_cross(parent->w, arm));
    // relative pose and motion, then the coordinates of the joint that give them
    kd_joint_motion m = {.C = kd_mat_tmul(&RA, &own->R), .d = kd_mat_tvec(&RA, kd_vec_sub(own->P, rA))};
    double          q[7] = {0}, rate[6] = {0};
    m.dd = kd_mat_tvec(&RA, kd_vec_sub(own->v, carried));
    m.omega = kd_mat_tvec(&own->R, kd_vec_sub(own->w, parent->w));
    kd_joint_coordinates_of_pose(&link->form, &m.C, m.d, q);
    kd_joint_rates_of_motion(&link->form, &m.C, m.d, m.dd, m.omega, rate);
    for (int k = 0; k < link->form.nposition; k++)
        if (s->p_of_x[link->position + k] >= 0) x->p[s->p_of_x[link->position + k]] = q[k];
    for (int k = 0; k < link->form.ndof; k++)
        if (s->tree.dof_v[link->dof + k] >= 0) x->v[s->tree.dof_v[link->dof + k]] = rate[k];
}

// Joints that are in both trees keep their coordinates, with all their turns.
static void copy_joint(const kd_system *s, const kd_system *joints, const kd_work *wj, int joint, kd_state *x)
{
    // only scalars that are dofs in both
    for (int i = 0; i < kd_joint_coordinates(s->model->joint[joint].def.kind); i++) {
        int to = kd_edge_dof(s, joint, i), from = kd_edge_dof(joints, joint, i), v = to < 0 ? -1 : s->tree.dof_v[to];
        if (v < 0 || from < 0) continue;
        const kd_link *link = &s->tree.link[s->tree.dof_link[to]];
        const kd_link *other = &joints->tree.link[joints->tree.dof_link[from]];
        x->p[s->p_of_x[link->position + to - link->dof]] = wj->x[other->position + from - other->dof];
        x->v[v] = wj->dx[from];
    }
}

static void copy_motion(const kd_system *s, const kd_system *joints, const kd_work *wj, kd_state *x)
{
    // every link relative to its parent, by the poses of their bodies
    for (int b = 0; b < s->model->nbodies; b++) {
        const int   i = s->body_link[b];
        link_motion parent = motion_of_link(s, joints, wj, s->tree.link[i].parent);
        link_motion own = motion_of_body(s, joints, wj, b);
        copy_link(s, i, &parent, &own, x);
        copy_modes(s, joints, wj, b, x);
    }
    for (int j = 0; j < s->model->njoints; j++) copy_joint(s, joints, wj, j, x);
}

// The coordinate of a joint in joint coordinates chooses the turn of its angle in the others.
static void copy_turns(const kd_system *s, const kd_system *joints, const kd_work *wj, kd_work *w, double *p)
{
    kd_start_turns(s, w, p);
    for (int j = 0; j < s->model->njoints; j++)
        for (int k = 0; k < 6; k++) {
            static const kd_tangent none;
            const kd_measure       *m = s->edge[j].coordinate[k] >= 0 ? &s->measure[s->edge[j].coordinate[k]] : NULL;
            int                     dof = m && m->turns >= 0 ? kd_edge_dof(joints, j, k) : -1;
            if (dof < 0) continue;
            const kd_link *link = &joints->tree.link[joints->tree.dof_link[dof]];
            double         near = wj->x[link->position + dof - link->dof];
            p[s->np - s->nturns + m->turns] = kd_measure_jet(m, &w->rel[m->pair], &none, near).x;
        }
}

kd_status kd_start_by_joints(const kd_system *s, kd_state *x, char *message, size_t size)
{
    const kd_system *joints = s->joints;
    kd_arena         arena = {0};
    kd_state        *xj = NULL;
    kd_eom_data     *point = NULL;
    kd_work         *wj = kd_work_create(joints), *w = kd_work_create(s);
    double          *u = kd_cut_double(&arena, 3 * s->model->ninputs);
    kd_status        status = wj && w && !arena.failed ? kd_state_create(joints->eom, &xj) : KD_ERR_MEMORY, news;
    if (status != KD_OK) goto done;
    xj->t = x->t;
    // consistent start in joint coordinates
    news = status = kd_system_start(joints, xj, message, size);
    if (status < 0) goto done;
    // the same motion in these coordinates, with inner states, turns and contacts
    (void)kd_start_place(wj, xj->t, xj->p, xj->v, xj->r, u);
    copy_motion(s, joints, wj, x);
    memcpy(x->r, xj->r, (size_t)s->nr * sizeof *x->r);
    kd_system_start_z(s, x->t, x->z);
    (void)kd_start_place(w, x->t, x->p, x->v, x->r, u);
    copy_turns(s, joints, wj, w, x->p);
    kd_start_units(s, w, x->t, x->p, x->v, x->r, u);
    kd_start_contacts(s, w, x->s);
    kd_start_algebraic(s, x->w);
    // it should fit to rounding; if it does, only accelerations and multipliers are missing, otherwise correct it
    kd_initial_options opt = kd_initial_options_default();
    char               text[400] = "";
    kd_consistency     now;
    status = kd_eom_data_create(s->eom, &point);
    if (status == KD_OK) status = kd_initial_residuals_at(s->eom, point, &s->inputs, x, &now);
    if (status == KD_ERR_MEMORY) goto done;
    opt.point = point;
    double speed = 1.0, extent = 1.0; // far from the origin coordinates round to more
    for (int i = 0; i < s->np; i++) extent = fmax(extent, fabs(x->p[i]));
    for (int i = 0; i < s->nv; i++) speed = fmax(speed, fabs(x->v[i]));
    opt.assume = status >= 0 && now.position <= FITS * extent &&
                 now.velocity <= FITS * speed * extent; // as it should be: only the multipliers are missing
    status = kd_initial_consistent(s->eom, &s->inputs, &opt, x, text, sizeof text);
    if (status < 0 || (status > 0 && news == KD_OK)) kd_text(message, size, "%s", text);
    if (status >= 0 && news == KD_CORRECTED) status = news;
done:
    kd_eom_data_destroy(point);
    kd_state_destroy(xj);
    kd_work_destroy(wj);
    kd_work_destroy(w);
    kd_arena_release(&arena);
    return status;
}
