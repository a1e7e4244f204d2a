// start.c: start values of a system: coordinates as the model gives them, loops assembled from there.
//
// Joint coordinates: the design position, with the coordinates and velocities that joints give in their place. Those
// are held first; if the loops cannot be closed that way, only the ones marked `hold` are, and the message says so.
// Cartesian coordinates, and trees that are cut because joints rub: the same motion, from the model in joint
// coordinates.
#include <math.h>
#include <string.h>

#include <kardan/initial.h>

#include "core/text.h"
#include "element/force.h"
#include "math/dense.h"
#include "system/start.h"

static const double SMALL = 1e-14; // keeps rates at 0 that no wanted velocity asks for

// ---- a point of evaluation ------------------------------------------------------------------------------------------
// Bring w to the velocity stage at a state.
kd_eval kd_start_place(kd_work *w, double t, const double *p, const double *v, const double *r, double *u)
{
    int      nu = w->system->model->ninputs;
    kd_point x = {.t = t, .u = u, .du = u + nu, .ddu = u + 2 * nu, .z = w->z_start, .p = p, .v = v, .r = r};
    kd_eval  answer = w->system->inputs.eval(t, w->system->inputs.context, u, u + nu, u + 2 * nu);
    // no stamp of w survives: the point is nobody's, and the next one must not be taken for it
    x.time_stamp = x.position_stamp = x.velocity_stamp = x.acceleration_stamp = 1;
    w->time_stamp = w->position_stamp = w->velocity_stamp = w->acceleration_stamp = w->link_acceleration_stamp = 0;
    kd_work_velocity(w, &x, KD_FOR_ALL);
    w->time_stamp = w->position_stamp = w->velocity_stamp = 0;
    return answer;
}

// ---- the guess in joint coordinates ---------------------------------------------------------------------------------

// what the model says of the start, before loops are closed
typedef struct guess {
    double  *p, *v;
    bool    *given_p, *given_v, *hold_p, *hold_v; // (nv)
    bool     any_given;
    kd_axis *motion; // (nlinks) of links, for velocities of bodies
    int     *body;   // (nlinks) that a link carries
} guess;

static void set_scalar(const kd_system *s, guess *g, int joint, int i, int dof)
{
    const kd_joint_def *def = &s->model->joint[joint].def;
    const kd_link      *link = &s->tree.link[s->tree.dof_link[dof]];
    int                 at = s->tree.dof_v[dof];
    // a prescribed coordinate starts where its motion says
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

static double or_zero(double x)
{
    return isnan(x) ? 0.0 : x;
}

// Mark `count` dofs of a link as given.
static void mark(const kd_system *s, guess *g, int dof, int count, bool velocity, bool hold)
{
    bool *given = velocity ? g->given_v : g->given_p, *held = velocity ? g->hold_v : g->hold_p;
    for (int k = 0; k < count; k++) {
        int at = s->tree.dof_v[dof + k];
        if (at >= 0) given[at] = g->any_given = true, held[at] = hold;
    }
}

// Quaternion and angular velocity of a spherical or free joint; a spherical one backwards: the inverse rotation, axes
// of the other side.
static void set_rotation(const kd_system *s, guess *g, int joint, int first)
{
    const kd_joint_def *def = &s->model->joint[joint].def;
    const kd_tree_edge *edge = &s->edge[joint];
    const kd_link      *link = &s->tree.link[edge->link];
    int                 dof = link->dof + first, at = s->tree.dof_v[dof], p = s->p_of_x[link->position + first];
    kd_quat             q = kd_quat_of(def->q + first);
    const double       *v = def->v + first;
    if (!isnan(q.w)) {
        q = kd_quat_normalised(q);
        kd_quat_to(edge->reversed ? kd_quat_conjugate(q) : q, g->p + p);
        mark(s, g, dof, 3, false, def->hold);
    }
    if (isnan(v[0]) && isnan(v[1]) && isnan(v[2])) return;
    kd_vec3 omega = kd_vec(or_zero(v[0]), or_zero(v[1]), or_zero(v[2]));
    if (edge->reversed) { // of `to` relative to `from` in axes of `to`; wanted: of `from` relative to `to` in its own
        kd_mat3 R = kd_quat_matrix(kd_quat_of(g->p + p)); // axes of `from` in `to`
        omega = kd_vec_neg(kd_mat_tvec(&R, omega));
        mark(s, g, dof, 3, true, def->hold);
    } else {
        for (int k = 0; k < 3; k++)
            if (!isnan(v[k])) mark(s, g, dof + k, 1, true, def->hold);
    }
    kd_vec_to(omega, g->v + at);
}

// Joints whose word is another one backwards (planar, free, cardan): no coordinate is one of the tree. The pose of `to`
// in `from` (C, d) and its motion are made of the given coordinates and those of the design position, and turned round:
// C', -C'd.

// `from` seen from `to`: the inverse turn, -C'd, and its rate omega x C'd - C' dd
static kd_joint_motion reversed_motion(const kd_joint_motion *m)
{
    kd_joint_motion r = {.C = kd_mat_transpose(&m->C), .d = kd_vec_neg(kd_mat_tvec(&m->C, m->d))};
    r.dd = kd_vec_sub(kd_vec_cross(m->omega, kd_mat_tvec(&m->C, m->d)), kd_mat_tvec(&m->C, m->dd));
    r.omega = kd_vec_neg(kd_mat_vec(&m->C, m->omega));
    return r;
}

// at the positions q with the velocities v
static kd_joint_motion motion_of(const kd_joint_form *f, double lead, const double *q, const double *v)
{
    kd_joint_motion m = {.dd = {0, 0, 0}, .omega = {0, 0, 0}};
    kd_axis         axis[6];
    kd_joint_pose(f, lead, q, &m.C, &m.d, axis);
    for (int k = 0; k < f->ndof; k++) {
        m.omega = kd_vec_axpy(m.omega, v[k], axis[k].w);
        m.dd = kd_vec_axpy(m.dd, v[k], axis[k].u);
    }
    m.omega = kd_mat_tvec(&m.C, m.omega);
    return m;
}

static void set_backwards(const kd_system *s, guess *g, int joint)
{
    const kd_joint_def  *def = &s->model->joint[joint].def;
    const kd_link       *link = &s->tree.link[s->edge[joint].link];
    const kd_joint_form *f = &link->form;
    // design position, seen in the direction of the joint; given coordinates take the place of its own
    int             nq = f->nposition, nv = f->ndof, given_q = 0, given_v = 0;
    double          q[7], v[6], zero[6] = {0};
    kd_joint_motion design = motion_of(f, link->lead, s->design + link->position, zero);
    design = reversed_motion(&design);
    kd_joint_coordinates_of_pose(f, &design.C, design.d, q);
    for (int i = 0; i < nq; i++)
        if (!isnan(def->q[i])) q[i] = def->q[i], given_q++;
    for (int i = 0; i < nv; i++) v[i] = or_zero(def->v[i]), given_v += !isnan(def->v[i]);
    // the start in that direction, then turned round for the tree
    kd_joint_motion start = motion_of(f, link->lead, q, v);
    start = reversed_motion(&start);
    double *p = g->p + s->p_of_x[link->position];
    if (given_q > 0) kd_joint_coordinates_of_pose(f, &start.C, start.d, p);
    if (given_v > 0)
        kd_joint_rates_of_motion(f, &start.C, start.d, start.dd, start.omega, g->v + s->tree.dof_v[link->dof]);
    // all of it can be held, or the rotation alone where it is a ball or one turn, the last coordinate
    const bool one = !f->ball && f->nturns == 1;
    const int  first = one ? f->nscalars - 1 : f->nscalars;
    if (given_q == nq) mark(s, g, link->dof, nv, false, def->hold);
    if ((f->ball || one) && !isnan(def->q[first])) mark(s, g, link->dof + first, nv - first, false, def->hold);
    if (given_v == nv) mark(s, g, link->dof, nv, true, def->hold);
    if (one && !isnan(def->v[first])) mark(s, g, link->dof + first, 1, true, def->hold);
}

static void set_joints(const kd_system *s, guess *g)
{
    // joints that close loops have no coordinate in p; theirs follow from assembly
    for (int j = 0; j < s->model->njoints; j++) {
        if (s->edge[j].link == 0) continue;
        const kd_joint_form *f = &s->tree.link[s->edge[j].link].form;
        kd_mat3              turn;
        int                  other[6];
        if (s->edge[j].reversed && !kd_joint_reversal(f, &turn, other)) {
            set_backwards(s, g, j);
            continue;
        }
        // scalars one by one, the rotation of a ball as a whole
        for (int i = 0; i < f->nscalars; i++) {
            int dof = kd_edge_dof(s, j, i);
            if (dof >= 0) set_scalar(s, g, j, i, dof);
        }
        if (f->ball) set_rotation(s, g, j, f->nscalars);
    }
}

// Counted angles of joints that close loops: the turn closest to the given start coordinate, or the angle itself.
void kd_start_turns(const kd_system *s, kd_work *w, double *p)
{
    for (int i = 0; i < s->nturns; i++) {
        double near = 0.0;
        for (int j = 0; j < s->model->njoints; j++)
            for (int k = 0; k < 6; k++)
                if (s->edge[j].coordinate[k] == s->turn_measure[i] && !isnan(s->model->joint[j].def.q[k]))
                    near = s->model->joint[j].def.q[k];
        const kd_measure       *m = &s->measure[s->turn_measure[i]];
        static const kd_tangent none;
        p[s->np - s->nturns + i] = kd_measure_jet(m, &w->rel[m->pair], &none, near).x;
    }
}

// ---- velocities of bodies -------------------------------------------------------------------------------------------
// What a body's given start velocity asks of the joint that carries it: three rows for the turn, three for the origin.
typedef struct wanted_motion {
    bool    has_omega, has_v;
    kd_vec3 omega, v, origin; // world axes; where the body's origin is
} wanted_motion;

static wanted_motion wanted_of(const kd_system *s, const kd_work *w, int b)
{
    const kd_body_def    *def = &s->model->body[b].def;
    const kd_link        *link = &s->tree.link[s->body_link[b]];
    const kd_link_motion *m = &w->motion.link[s->body_link[b]];
    wanted_motion         wanted = {.has_omega = !isnan(def->angular_velocity[0]), .has_v = !isnan(def->velocity[0])};
    bool alone = link->form.floats && link->form.ball && link->parent == 0 && (wanted.has_omega || wanted.has_v);
    wanted.has_omega = wanted.has_omega || alone; // what is not said is 0 where no joint says otherwise
    wanted.has_v = wanted.has_v || alone;
    for (int i = 0; i < 3; i++) {
        (&wanted.omega.x)[i] = or_zero(def->angular_velocity[i]);
        (&wanted.v.x)[i] = or_zero(def->velocity[i]);
    }
    wanted.origin = kd_vec_add(m->P, kd_mat_vec(&m->R, s->body_r[b]));
    return wanted;
}

// Motion of a link from that of its parent and its own dofs; dofs that are wanted come from the body: their rates are
// those of least squares (A'A + small) x = A'b.
static void fit_link(const kd_system *s, const kd_work *w, int i, const wanted_motion *wanted, const guess *g,
                     kd_axis *motion)
{
    const kd_link *link = &s->tree.link[i];
    int            ndof = link->form.ndof, n = 0, open[6], pivot[6];
    // the link as if its dofs stood still, then with those whose rates are known
    kd_vec3 arm = kd_vec_sub(w->motion.link[i].P, w->motion.link[link->parent].P);
    kd_axis own = {motion[link->parent].w,
                   kd_vec_add(motion[link->parent].u, kd_vec_cross(motion[link->parent].w, arm))};
    for (int k = 0; k < ndof; k++) {
        int            at = s->tree.dof_v[link->dof + k];
        const kd_axis *axis = &w->motion.axis[link->dof + k];
        double         rate = at < 0 ? w->dx[link->dof + k] : g->v[at];
        if (wanted && at >= 0 && !g->given_v[at]) {
            open[n++] = k;
            continue;
        }
        own = (kd_axis){kd_vec_axpy(own.w, rate, axis->w), kd_vec_axpy(own.u, rate, axis->u)};
    }
    motion[i] = own;
    if (n == 0) return;
    // what is missing to the wanted motion of the body's origin
    kd_vec3 to_origin = kd_vec_sub(wanted->origin, w->motion.link[i].P);
    kd_vec3 b[2] = {kd_vec_sub(wanted->omega, own.w),
                    kd_vec_sub(wanted->v, kd_vec_add(own.u, kd_vec_cross(own.w, to_origin)))};
    kd_vec3 A[6][2];
    double  N[36], x[6];
    // columns of the open dofs: turn, and shift of the origin; normal equations
    for (int k = 0; k < n; k++) {
        const kd_axis *axis = &w->motion.axis[link->dof + open[k]];
        A[k][0] = wanted->has_omega ? axis->w : kd_vec(0, 0, 0);
        A[k][1] = wanted->has_v ? kd_vec_add(axis->u, kd_vec_cross(axis->w, to_origin)) : kd_vec(0, 0, 0);
        x[k] = kd_vec_dot(A[k][0], b[0]) + kd_vec_dot(A[k][1], b[1]);
        for (int l = 0; l <= k; l++) {
            double entry = kd_vec_dot(A[k][0], A[l][0]) + kd_vec_dot(A[k][1], A[l][1]);
            N[k + l * n] = N[l + k * n] = entry + (k == l ? SMALL * (1.0 + entry) : 0.0);
        }
    }
    if (kd_lu_factor(n, N, pivot) != 0) return;
    kd_lu_solve(n, N, pivot, x, 1);
    // rates into the guess, and the motion on to the children
    for (int k = 0; k < n; k++) {
        const kd_axis *axis = &w->motion.axis[link->dof + open[k]];
        g->v[s->tree.dof_v[link->dof + open[k]]] = x[k];
        motion[i] = (kd_axis){kd_vec_axpy(motion[i].w, x[k], axis->w), kd_vec_axpy(motion[i].u, x[k], axis->u)};
    }
}

// A link that deforms goes with its body, a marker with it and its modes.
static void follow_modes(const kd_system *s, const kd_work *w, int i, const guess *g, kd_axis *motion)
{
    const kd_link *link = &s->tree.link[i], *wide = &s->tree.link[link->parent];
    const kd_vec3  arm = kd_vec_sub(w->motion.link[i].P, w->motion.link[link->parent].P);
    const double  *row = link->marker ? kd_motion_marker(&w->motion, i) : NULL;
    kd_axis        own = motion[link->parent];
    for (int k = 0; link->marker && k < link->marker->m; k++) {
        const kd_axis axis = kd_marker_sum(row, w->motion.axis + link->letter, k);
        const double  rate = g->v[s->tree.dof_v[wide->dof + k]];
        own = (kd_axis){kd_vec_axpy(own.w, rate, axis.w), kd_vec_axpy(own.u, rate, axis.u)};
    }
    own.u = kd_vec_add(own.u, kd_vec_cross(own.w, arm));
    motion[i] = own;
}

// Start velocities that bodies give, from the ground outwards, where the joints' own are not given; w is at the guess.
static void set_bodies(const kd_system *s, const kd_work *w, guess *g)
{
    bool any = false;
    // without given velocities nothing has to be fitted
    for (int b = 0; b < s->model->nbodies; b++)
        any = any || !isnan(s->model->body[b].def.velocity[0]) || !isnan(s->model->body[b].def.angular_velocity[0]);
    if (!any) return;
    g->motion[0] = (kd_axis){{0, 0, 0}, {0, 0, 0}};
    for (int b = 0; b < s->model->nbodies; b++) g->body[s->body_link[b]] = b;
    for (int i = 1; i < s->tree.nlinks; i++) {
        if (!kd_link_is_body(s, i)) {
            follow_modes(s, w, i, g, g->motion);
            continue;
        }
        wanted_motion wanted = wanted_of(s, w, g->body[i]);
        fit_link(s, w, i, wanted.has_omega || wanted.has_v ? &wanted : NULL, g, g->motion);
    }
}

// Amplitudes of modes that bodies give, and their rates
static void set_modes(const kd_system *s, guess *g)
{
    for (int b = 0; b < s->model->nbodies; b++) {
        const kd_body *body = &s->model->body[b];
        const kd_link *link = &s->tree.link[s->wide_link[b]];
        for (int k = 0; k < body->nmodes && k < KD_MAX_AMPLITUDES; k++) {
            const int at = s->tree.dof_v[link->dof + k];
            if (!isnan(body->def.amplitude[k])) {
                g->p[s->p_of_x[link->position + k]] = body->def.amplitude[k];
                g->given_p[at] = g->any_given = true;
            }
            if (!isnan(body->def.rate[k])) {
                g->v[at] = body->def.rate[k];
                g->given_v[at] = g->any_given = true;
            }
        }
    }
}

// ---- the whole guess ------------------------------------------------------------------------------------------------
// p, v of the model's own numbers (not assembled), flags of what was given; w is brought there.
static void make_guess(const kd_system *s, kd_work *w, double t, const double *r, double *u, guess *g)
{
    // design position, joints, then velocities of bodies (which need the axes there), then turns of angles
    for (int i = 0; i < s->tree.nposition; i++)
        if (s->p_of_x[i] >= 0) g->p[s->p_of_x[i]] = s->design[i];
    set_joints(s, g);
    set_modes(s, g);
    (void)kd_start_place(w, t, g->p, g->v, r, u);
    set_bodies(s, w, g);
    kd_start_turns(s, w, g->p);
    (void)kd_start_place(w, t, g->p, g->v, r, u);
}

// Algebraic variables: where the search for them begins
void kd_start_algebraic(const kd_system *s, double *w)
{
    for (int i = 0; i < s->nalgebraic; i++) w[i] = s->model->algebraic[i].def.start;
}

// States of elements: their start values
static void fill_states(const kd_system *s, kd_work *w, double *r)
{
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *l = &s->load[i];
        if (l->class->start) l->class->start(l, w->slot, w, r + l->state);
    }
}

// Blocks without period begin at this motion, each with the outputs of those that it reads
void kd_start_units(const kd_system *s, kd_work *w, double t, const double *p, const double *v, double *r, double *u)
{
    const int n = s->for_start ? 0 : s->ncontrollers - s->model->nstates;
    for (int pass = 0; pass < n; pass++) {
        (void)kd_start_place(w, t, p, v, r, u);
        for (int i = s->model->nstates; i < s->ncontrollers; i++) kd_unit_start(&s->load[i], w, r + s->load[i].state);
    }
}

// Contact coordinates of wheels on rails that are unknowns: where w found them.
void kd_start_contacts(const kd_system *s, const kd_work *w, double *contact)
{
    for (int i = 0; i < s->nwheels; i++)
        if (s->wheel[i].unknown) contact[s->wheel[i].contact] = w->xi[i];
}

static bool cut_guess(const kd_system *s, guess *g, kd_arena *arena)
{
    g->p = kd_cut_double(arena, s->np);
    g->v = kd_cut_double(arena, s->nv);
    g->given_p = kd_cut_bool(arena, s->nv);
    g->given_v = kd_cut_bool(arena, s->nv);
    g->hold_p = kd_cut_bool(arena, s->nv);
    g->hold_v = kd_cut_bool(arena, s->nv);
    g->motion = kd_arena_cut(arena, (size_t)s->tree.nlinks, sizeof *g->motion);
    g->body = kd_cut_int(arena, s->tree.nlinks);
    return !arena->failed;
}

// Where the start position is found out, again and again where parameters change
struct kd_start_room {
    kd_arena arena;
    kd_work *w;
    guess    g;
    double  *u, *r;
};

void kd_start_room_destroy(struct kd_start_room *room)
{
    if (!room) return;
    kd_work_destroy(room->w);
    kd_arena_release(&room->arena);
    kd_free(room);
}

static struct kd_start_room *make_room(const kd_system *s)
{
    struct kd_start_room *room = kd_alloc(sizeof *room);
    if (!room) return NULL;
    room->w = kd_work_create(s);
    room->u = kd_cut_double(&room->arena, 3 * s->model->ninputs);
    room->r = kd_cut_double(&room->arena, s->nr);
    if (room->w && cut_guess(s, &room->g, &room->arena)) return room;
    kd_start_room_destroy(room);
    return NULL;
}

kd_status kd_system_keep_room(kd_system *s)
{
    if (s->takes_lengths && !s->start_room) s->start_room = make_room(s);
    return s->takes_lengths && !s->start_room ? KD_ERR_MEMORY : KD_OK;
}

// Nothing is given yet
static void clear_guess(const kd_system *s, guess *g)
{
    const size_t flags = (size_t)s->nv * sizeof(bool);
    memset(g->p, 0, (size_t)s->np * sizeof *g->p);
    memset(g->v, 0, (size_t)s->nv * sizeof *g->v);
    memset(g->given_p, 0, flags);
    memset(g->given_v, 0, flags);
    memset(g->hold_p, 0, flags);
    memset(g->hold_v, 0, flags);
    g->any_given = false;
}

// Free lengths and offsets that are to be taken from the start position: NaN until now.
kd_status kd_system_fill_lengths(kd_system *s)
{
    struct kd_start_room *room = s->start_room ? s->start_room : make_room(s);
    if (!room) return KD_ERR_MEMORY;
    kd_work *w = room->w;
    clear_guess(s, &room->g);
    make_guess(s, w, 0.0, room->r, room->u, &room->g);
    // forces: the value of the measure that they act along; rows: what is left of them without offset
    for (int i = 0; i < s->nloads; i++)
        if (isnan(s->load[i].constant[0])) {
            s->load[i].constant[0] = w->value[s->load[i].channel[0]];
            s->takes_lengths = true;
        }
    for (int i = 0; i < s->nrows_g; i++) {
        kd_row *row = &s->row_g[i];
        if (row->expr || !isnan(row->offset)) continue;
        row->offset = 0.0;
        row->offset = kd_row_jet(row, w).x;
        s->takes_lengths = true;
    }
    if (room != s->start_room) kd_start_room_destroy(room);
    return KD_OK;
}

// Springs without free length are relaxed at the start, which assembly may have moved away from the guess.
kd_status kd_system_relax(kd_system *s, const kd_state *x)
{
    kd_arena  arena = {0};
    kd_work  *w = kd_work_create(s);
    double   *u = kd_cut_double(&arena, 3 * s->model->ninputs);
    kd_status status = w && !arena.failed ? KD_OK : KD_ERR_MEMORY;
    if (status == KD_OK) (void)kd_start_place(w, x->t, x->p, x->v, x->r, u);
    for (int i = 0; i < s->nloads && status == KD_OK; i++) {
        kd_load *l = &s->load[i];
        if (l->relaxes) l->constant[0] = w->value[l->channel[0]];
    }
    kd_work_destroy(w);
    kd_arena_release(&arena);
    return status;
}

// ---- assembly -------------------------------------------------------------------------------------------------------
static kd_status assemble(const kd_system *s, kd_eom_data *point, kd_work *w, const guess *g, bool hold_given,
                          bool forces, bool expects_redundant, kd_state *x, char *message, size_t size)
{
    kd_initial_options opt = kd_initial_options_default();
    opt.point = point;
    // first all that was given, then only what is marked `hold`
    opt.hold_p = hold_given ? g->given_p : g->hold_p;
    opt.hold_v = hold_given ? g->given_v : g->hold_v;
    opt.compute_multipliers = forces;
    opt.expects_redundant = expects_redundant;
    opt.nconditions = s->nconditions;
    opt.conditions = s->nconditions > 0 ? kd_work_conditions : NULL;
    opt.condition_name = kd_work_condition_name;
    opt.context = w;
    opt.require_unique = false; // where they leave something open, the closest start is taken
    memcpy(x->p, g->p, (size_t)s->np * sizeof *x->p);
    memcpy(x->v, g->v, (size_t)s->nv * sizeof *x->v);
    return kd_initial_consistent(s->eom, &s->inputs, &opt, x, message, size);
}

// Where assembly moved the bodies, branches of Maxwell elements start without force there, air springs with their
// pressure: states again, then forces.
static kd_status settle_states(const kd_system *s, kd_eom_data *point, kd_work *w, bool forces, double *u, kd_state *x)
{
    // only elements that say so; positions and velocities stay (assume)
    bool settles = false;
    for (int i = 0; i < s->nloads; i++) settles = settles || s->load[i].class->settles || s->load[i].unit;
    if (!settles) return KD_OK;
    kd_initial_options opt = kd_initial_options_default();
    opt.point = point;
    opt.assume = true;
    opt.compute_multipliers = forces;
    (void)kd_start_place(w, x->t, x->p, x->v, x->r, u);
    fill_states(s, w, x->r);
    kd_start_units(s, w, x->t, x->p, x->v, x->r, u);
    return kd_initial_consistent(s->eom, &s->inputs, &opt, x, NULL, 0);
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
    make_guess(s, w, x->t, x->r, u, &g);
    memcpy(x->p, g.p, (size_t)s->np * sizeof *x->p);
    memcpy(x->v, g.v, (size_t)s->nv * sizeof *x->v);
    kd_system_start_z(s, x->t, x->z);
    kd_start_contacts(s, w, x->s);
    kd_start_algebraic(s, x->w);
done:
    kd_work_destroy(w);
    kd_arena_release(&arena);
    return status;
}

kd_status kd_system_closure(const kd_system *system, double *error, char *name, size_t size)
{
    if (!system || !error) return KD_ERR_ARGUMENT;
    // in joint coordinates: there loops are rows
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

// point: the caller's, or NULL
static kd_status start_joints(const kd_system *s, kd_eom_data *point, bool forces, bool expects_redundant, kd_state *x,
                              char *message, size_t size)
{
    kd_arena     arena = {0};
    guess        g = {0};
    kd_eom_data *own = NULL;
    kd_work     *w = kd_work_create(s);
    double      *u = kd_cut_double(&arena, 3 * s->model->ninputs);
    kd_status    status = w && cut_guess(s, &g, &arena) ? KD_OK : KD_ERR_MEMORY;
    // one evaluation point for all that follows
    if (status == KD_OK && !point) status = kd_eom_data_create(s->eom, &own);
    if (status != KD_OK) goto done;
    if (own) point = own;
    make_guess(s, w, x->t, x->r, u, &g);
    // states of elements and contacts at the guess: the start of the iteration
    fill_states(s, w, x->r);
    kd_start_units(s, w, x->t, g.p, g.v, x->r, u);
    kd_system_start_z(s, x->t, x->z);
    kd_start_contacts(s, w, x->s);
    kd_start_algebraic(s, x->w);
    // with all given values; where that fails, without those that need not be held
    status = assemble(s, point, w, &g, true, forces, expects_redundant, x, message, size);
    if (status < 0 && status != KD_ERR_MEMORY && g.any_given) {
        char why[600];
        kd_text(why, sizeof why, "%.190s", message ? message : "");
        kd_start_contacts(s, w, x->s);
        kd_start_algebraic(s, x->w);
        status = assemble(s, point, w, &g, false, forces, expects_redundant, x, message, size);
        if (status >= 0) {
            kd_text(message, size,
                    "the given start values cannot all be kept (%s); the closest assembled position was taken", why);
            status = KD_CORRECTED;
        }
    }
    // bodies have moved: states that depend on their place again
    if (status == KD_CORRECTED) {
        kd_status settled = settle_states(s, point, w, forces, u, x);
        if (settled < 0) status = settled;
    }
done:
    kd_eom_data_destroy(own);
    kd_work_destroy(w);
    kd_arena_release(&arena);
    return status;
}

// ---- a start that is known ------------------------------------------------------------------------------------------

// Forces at a motion that is known; words about them behind those about the motion
static kd_status find_forces(const kd_system *s, kd_eom_data *point, kd_state *x, kd_status motion, char *news,
                             size_t size)
{
    kd_initial_options opt = kd_initial_options_default();
    char               text[1000] = "";
    opt.point = point;
    opt.assume = true;
    if (s->for_start) return motion;
    kd_status status = kd_initial_consistent(s->eom, &s->inputs, &opt, x, text, sizeof text);
    if (text[0]) kd_text_append(news, size, "%s%s", news[0] ? "; " : "", text);
    return status < 0 || motion == KD_OK ? status : motion;
}

// The start depends on what was given alone: not on springs that are relaxed by it, nor on what is imposed on forces
static bool can_be_kept(const kd_system *s)
{
    bool relaxes = false;
    for (int i = 0; i < s->nloads; i++) relaxes = relaxes || s->load[i].relaxes;
    return !relaxes && s->nconditions == 0 && s->ninvariants == 0;
}

kd_status kd_system_adopt_start(kd_system *s, kd_eom_data *point, const kd_state *x, kd_status status, const char *news)
{
    kd_state *own = NULL;
    char      text[2000];
    kd_system_forget_start(s);
    if (!can_be_kept(s)) return KD_OK;
    if (kd_state_create(s->eom, &own) < 0) return KD_ERR_MEMORY;
    // the same motion; other rows have other multipliers
    own->t = x->t;
    memcpy(own->p, x->p, (size_t)(s->np + s->nv + s->nr + s->nw + s->ns) * sizeof *own->p);
    memcpy(own->a, x->a, (size_t)s->nv * sizeof *own->a);
    memcpy(own->z, x->z, (size_t)s->nz * sizeof *own->z);
    kd_text(text, sizeof text, "%s", news);
    status = find_forces(s, point, own, status, text, sizeof text);
    // where there are none, whoever asks for a start will hear why
    if (status >= 0) s->start_news = kd_alloc(strlen(text) + 1);
    if (!s->start_news) {
        kd_state_destroy(own);
        return status >= 0 || status == KD_ERR_MEMORY ? KD_ERR_MEMORY : KD_OK;
    }
    strcpy(s->start_news, text);
    s->start_status = status;
    s->start = own;
    return KD_OK;
}

void kd_system_forget_start(kd_system *s)
{
    kd_state_destroy(s->start);
    kd_free(s->start_news);
    s->start = NULL;
    s->start_news = NULL;
}

// The start depends on time and active rows of x alone
static bool start_is_known(const kd_system *s, const kd_state *x)
{
    const kd_state *known = s->start;
    return known && x->t == known->t &&
           memcmp(x->active_lambda, known->active_lambda, (size_t)s->nlambda + (size_t)s->nmu) == 0;
}

kd_status kd_system_start(const kd_system *s, kd_state *x, char *message, size_t size)
{
    if (!s || !kd_state_fits(s->eom, x)) return KD_ERR_ARGUMENT;
    kd_text(message, size, "%s", "");
    if (start_is_known(s, x)) {
        memcpy(x->p, s->start->p, x->size * sizeof *x->p);
        kd_text(message, size, "%s", s->start_news);
        return s->start_status;
    }
    return s->joints ? kd_start_by_joints(s, x, message, size)
                     : start_joints(s, NULL, !s->for_start, false, x, message, size);
}

kd_status kd_system_start_motion(const kd_system *s, kd_eom_data *point, kd_state *x, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    return start_joints(s, point, false, true, x, message, size);
}
