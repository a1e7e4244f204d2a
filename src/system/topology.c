// topology.c: from bodies and joints to a tree of links.
//
// Joint coordinates: a spanning tree of the joint graph, grown from the ground (Prim). Of all joints that lead to a new
// body the one with most constraint rows is taken, because each joint that is left over gives its rows to a loop; among
// equals one with given start values, because only coordinates of the tree can hold them, then the one that keeps the
// tree shallow, then the first in the model. Bodies that no joint connects with the ground get a free joint of their
// own. Cartesian coordinates: all bodies do, at their centres of mass.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "flexible/body.h"
#include "system/system.h"

// Planning of the tree; nodes are bodies + 1, 0 is the ground; then links that deform and their markers.
typedef struct plan {
    int  n;               // nodes
    int  bodies;          // those of bodies and the ground
    int *owner, *marker;  // (n) behind the bodies: body, and interface from 1 on; 0: the link that deforms
    int *parent;          // (n) node; -1: not reached yet
    int *joint;           // (n) joint that carries the node; -1: free joint to the ground
    int *depth;           // (n)
    int *first, *next;    // incidence lists of joints: first[node], next[2 * joint + side]
    int *child, *brother; // (n) the tree as lists
    int *order;           // (n) links in depth-first order -> node
    int *heap;            // (2 njoints + 1) candidates
    int *height;          // (njoints) depth of the body that a candidate hangs on
    int  nheap;
    // The tree of which this one becomes what joints that rub leave of it: then rows that are redundant there are so
    // here, too. NULL: all joints can be in it.
    const kd_tree_edge *edge;
} plan;

// ---- spanning tree --------------------------------------------------------------------------------------------------

// the ground has body -1
static int node_of(const kd_anchor *a)
{
    return a->body + 1;
}

static int other_node(const kd_joint *j, int node)
{
    return node_of(&j->from) == node ? node_of(&j->to) : node_of(&j->from);
}

static int reached_side(const plan *t, const kd_joint *j)
{
    return t->parent[node_of(&j->from)] >= 0 ? node_of(&j->from) : node_of(&j->to);
}

// Rows that a joint would give to a loop; a prescribed motion is one more. Joints that must not be cut come first, and those by
// tables, which cannot always be.
static int rows_of(const kd_joint_def *def)
{
    int motions = 0;
    for (int i = 0; i < 6; i++) motions += def->motion[i] != NULL;
    const kd_joint_form form = kd_joint_form_of(def->kind);
    return 6 - form.ndof + motions + (def->cut == KD_CUT_NO ? 100 : 0) + (form.curved ? 100 : 0);
}

// Joints that rub come before others: none of their rows is left out as redundant if another joint can close the loop.
static int priority_of(const kd_joint *j)
{
    return rows_of(&j->def) + (j->rubs ? 50 : 0);
}

static bool has_start(const kd_joint_def *def)
{
    bool given = false;
    for (int i = 0; i < 7; i++) given = given || !isnan(def->q[i]);
    for (int i = 0; i < 6; i++) given = given || !isnan(def->v[i]);
    return given;
}

// Is joint a a better next branch than b?
static bool is_better(const kd_model *m, const plan *t, int a, int b)
{
    const kd_joint *ja = &m->joint[a], *jb = &m->joint[b];
    int             rows_a = priority_of(ja), rows_b = priority_of(jb);
    if (rows_a != rows_b) return rows_a > rows_b;
    bool start_a = has_start(&ja->def), start_b = has_start(&jb->def);
    if (start_a != start_b) return start_a;
    return t->height[a] != t->height[b] ? t->height[a] < t->height[b] : a < b;
}

static void heap_push(const kd_model *m, plan *t, int joint)
{
    int i = t->nheap++;
    t->height[joint] = t->depth[reached_side(t, &m->joint[joint])];
    // sift up
    for (; i > 0 && is_better(m, t, joint, t->heap[(i - 1) / 2]); i = (i - 1) / 2) t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = joint;
}

static int heap_pop(const kd_model *m, plan *t)
{
    // the last one takes the place of the first and sinks
    int best = t->heap[0], last = t->heap[--t->nheap], i = 0;
    for (int child; (child = 2 * i + 1) < t->nheap; i = child) {
        if (child + 1 < t->nheap && is_better(m, t, t->heap[child + 1], t->heap[child])) child++;
        if (!is_better(m, t, t->heap[child], last)) break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = last;
    return best;
}

// not cut by the model; behind an uncut tree only its joints, without those that rub
static bool may_carry(const kd_model *m, const plan *t, int joint)
{
    const kd_joint *j = &m->joint[joint];
    return j->def.cut != KD_CUT_YES && (!t->edge || (t->edge[joint].link > 0 && !j->rubs));
}

// A joint carries a body by a place that is fixed in its frame: modes must not move it.
static bool can_enter(const kd_model *m, const kd_joint *j, int node)
{
    return !kd_anchor_moves(m, node_of(&j->from) == node ? &j->from : &j->to);
}

static void reach(const kd_model *m, plan *t, int node, int parent, int joint)
{
    t->parent[node] = parent;
    t->joint[node] = joint;
    t->depth[node] = node > 0 ? t->depth[parent] + 1 : 0;
    // all joints of the new body become candidates; those to reached bodies close loops
    for (int e = t->first[node]; e >= 0; e = t->next[e]) {
        const kd_joint *j = &m->joint[e / 2];
        const int       other = other_node(j, node);
        if (other != node && may_carry(m, t, e / 2) && t->parent[other] < 0 && can_enter(m, j, other))
            heap_push(m, t, e / 2);
    }
}

static void grow_tree(const kd_model *m, plan *t)
{
    // a candidate may have been overtaken: its other body was reached in the meantime
    while (t->nheap > 0) {
        int             joint = heap_pop(m, t);
        const kd_joint *j = &m->joint[joint];
        int             from = reached_side(t, j), to = other_node(j, from);
        if (t->parent[to] < 0) reach(m, t, to, from, joint);
    }
}

static bool has_velocity(const kd_body_def *def)
{
    return !isnan(def->velocity[0]) || !isnan(def->angular_velocity[0]);
}

// What no joint connects with the ground floats from its first body on, or from the first one with a start velocity.
static void span(const kd_system *s, plan *t)
{
    const kd_model *m = s->model;
    // incidence lists; backwards, so that the first joint comes first
    for (int i = 0; i < t->bodies; i++) t->parent[i] = t->first[i] = -1;
    for (int j = m->njoints - 1; j >= 0; j--) {
        int a = node_of(&m->joint[j].from), b = node_of(&m->joint[j].to);
        t->next[2 * j] = t->first[a], t->first[a] = 2 * j;
        t->next[2 * j + 1] = t->first[b], t->first[b] = 2 * j + 1;
    }
    // every body on the ground
    if (s->options.coordinates == KD_CARTESIAN) {
        for (int i = 0; i < t->bodies; i++) t->parent[i] = 0, t->joint[i] = -1;
        return;
    }
    // from the ground; then one floating body after the other
    reach(m, t, 0, 0, -1);
    grow_tree(m, t);
    for (int with_velocity = 1; with_velocity >= 0; with_velocity--)
        for (int i = 1; i < t->bodies; i++)
            if (t->parent[i] < 0 && (!with_velocity || has_velocity(&m->body[i - 1].def))) {
                reach(m, t, i, 0, -1);
                grow_tree(m, t);
            }
}

// A joint that carries a flexible body stands in its frame: it needs no marker of its own, if nobody else does there.
static int leave_markers(kd_system *s, const plan *t)
{
    int left = 0;
    for (int i = 1; i < t->bodies; i++) {
        if (t->joint[i] < 0) continue;
        const kd_joint *j = &s->model->joint[t->joint[i]];
        left += kd_system_leave_node(s, node_of(&j->from) == i ? &j->from : &j->to);
    }
    return left;
}

// Flexible bodies: a link that deforms on that of the body, markers on it, and on them what the joints carry there.
static void add_wide(const kd_system *s, plan *t)
{
    const kd_model *m = s->model;
    int             n = t->bodies;
    int            *node = t->first; // (bodies) that deforms, of each body; the lists of joints are not needed any more
    for (int b = 0; b < m->nbodies; b++) {
        if (m->body[b].nmodes == 0) continue;
        const int wide = node[b + 1] = n;
        t->owner[n] = b;
        t->parent[n++] = b + 1;
        for (int k = s->first_node[b]; k < s->first_node[b + 1]; k++) {
            if (s->node_link[k] == 0) continue;
            t->owner[n] = b;
            t->marker[n] = k - s->first_node[b] + 1;
            t->parent[n++] = wide;
        }
    }
    for (int i = 1; i < t->bodies; i++) {
        if (t->joint[i] < 0) continue;
        const kd_joint  *j = &m->joint[t->joint[i]];
        const kd_anchor *at = node_of(&j->from) == i ? &j->to : &j->from;
        for (int k = t->bodies; k < n && at->node > 0; k++)
            if (t->owner[k] == at->body && t->marker[k] == at->node) t->parent[i] = k;
    }
}

// Depth-first numbers; children in the order of their bodies in the model.
static void number_links(plan *t)
{
    for (int i = 0; i < t->n; i++) t->child[i] = t->brother[i] = -1;
    // children as lists, then down to the first child, or up to the next brother
    for (int i = t->n - 1; i > 0; i--) t->brother[i] = t->child[t->parent[i]], t->child[t->parent[i]] = i;
    int n = 0, node = 0;
    while (n < t->n) {
        t->order[n++] = node;
        if (t->child[node] >= 0) {
            node = t->child[node];
            continue;
        }
        while (node > 0 && t->brother[node] < 0) node = t->parent[node];
        if (node > 0) node = t->brother[node];
    }
}

// ---- links ----------------------------------------------------------------------------------------------------------
// Turns of both frames of a joint that is used from `to` to `from`, so that its coordinates keep their meaning.
static kd_mat3 reversal(kd_joint_kind kind)
{
    const kd_joint_form form = kd_joint_form_of(kind);
    kd_mat3             turn;
    int                 other[6];
    // without one the coordinates of the tree are others (start.c: set_backwards)
    return kd_joint_reversal(&form, &turn, other) ? turn : kd_mat_identity();
}

// An anchor of a body as a frame of its link.
void kd_anchor_in_link(const kd_system *s, const kd_anchor *a, kd_vec3 *r, kd_mat3 *R)
{
    if (a->body < 0 || a->node > 0) { // the axes of a marker, and of the link that deforms, are those of the body
        const bool marked = a->node > 0 && s->node_link[s->first_node[a->body] + a->node - 1] > 0;
        *r = marked ? kd_vec_sub(a->r, s->model->body[a->body].def.read->frame[a->node - 1].at) : a->r;
        *R = a->R;
        return;
    }
    *r = kd_vec_add(s->body_r[a->body], kd_mat_vec(&s->body_R[a->body], a->r));
    *R = kd_mat_mul(&s->body_R[a->body], &a->R);
}

// The link's frame is frame B (at r, axes R in the body): the body's frame in the link is the inverse of it.
static void place_body(kd_system *s, int body, kd_vec3 r, kd_mat3 R)
{
    s->body_R[body] = kd_mat_transpose(&R);
    s->body_r[body] = kd_vec_neg(kd_mat_tvec(&R, r));
}

static void set_inertia(const kd_system *s, const kd_body *body, int i, kd_link *link)
{
    // about the centre in the axes of the link, then to its origin
    if (body->nmodes > 0) return; // that of the link that deforms
    kd_sym3 about_centre = kd_sym_rotate(&s->body_R[i], &body->inertia);
    link->mass = body->def.mass;
    link->centre = kd_vec_add(s->body_r[i], kd_mat_vec(&s->body_R[i], body->centre));
    link->inertia = kd_sym_steiner(&about_centre, link->mass, link->centre);
}

// number, body, joint and parent of each other; parents have smaller numbers
static kd_status make_link(kd_system *s, const plan *t, int number)
{
    const int  node = t->order[number], up = t->parent[node];
    const bool wide = node >= t->bodies;
    const int  body = wide ? t->owner[node] : node - 1;
    s->link_body[number] = body;
    s->link_joint[number] = wide ? -1 : t->joint[node];
    if (!wide) s->body_link[body] = number;
    // the numbers of those above are known
    int *parent = &s->tree.link[number].parent;
    if (up < t->bodies)
        *parent = up > 0 ? s->body_link[up - 1] : 0;
    else if (t->marker[up] == 0)
        *parent = s->wide_link[t->owner[up]];
    else
        *parent = s->node_link[s->first_node[t->owner[up]] + t->marker[up] - 1];
    return wide ? kd_system_make_wide(s, number, body, t->marker[node]) : KD_OK;
}

// Is it the link of a body, neither one that deforms nor a marker?
bool kd_link_is_body(const kd_system *s, int link)
{
    return link > 0 && s->body_link[s->link_body[link]] == link;
}

// Frames and inertia of a link; those of its parent are known
static void place_link(kd_system *s, int number)
{
    const kd_model *m = s->model;
    int             body = s->link_body[number], joint = s->link_joint[number];
    kd_link        *link = &s->tree.link[number];
    if (link->marker) return;
    if (link->wide) { // the frame of the body
        link->E = s->body_R[body];
        link->r = s->body_r[body];
        return;
    }
    if (joint < 0) { // free, at the centre of mass, axes of the body
        link->kind = KD_FREE;
        link->E = kd_mat_identity();
        place_body(s, body, m->body[body].centre, kd_mat_identity());
    } else {
        const kd_joint *j = &m->joint[joint];
        kd_tree_edge   *edge = &s->edge[joint];
        edge->link = number;
        edge->reversed = j->from.body == body;
        // the tree enters at the side of the parent; both frames turn so that coordinates keep their signs
        const kd_anchor *parent = edge->reversed ? &j->to : &j->from, *child = edge->reversed ? &j->from : &j->to;
        kd_mat3          turn = edge->reversed ? reversal(j->def.kind) : kd_mat_identity();
        link->kind = j->def.kind;
        link->lead = j->def.pitch / (2.0 * KD_PI);
        edge->table = j->table;
        edge->table.back = edge->reversed;
        link->table = &edge->table;
        kd_mat3 E;
        kd_anchor_in_link(s, parent, &link->r, &E);
        link->E = kd_mat_mul(&E, &turn);
        place_body(s, body, child->r, kd_mat_mul(&child->R, &turn));
    }
    set_inertia(s, &m->body[body], body, link);
}

// ---- coordinates at the design position -----------------------------------------------------------------------------
// World pose of a link's frame at the design position.
static void design_pose(const kd_system *s, const int *link_body, int link, kd_vec3 *P, kd_mat3 *R)
{
    if (link == 0) {
        *P = kd_vec(0, 0, 0);
        *R = kd_mat_identity();
        return;
    }
    const kd_body *b = &s->model->body[link_body[link]];
    if (!kd_link_is_body(s, link)) { // without deformation
        *R = b->R;
        *P = s->tree.link[link].marker ? kd_vec_add(b->r, kd_mat_vec(&b->R, s->tree.link[link].r)) : b->r;
        return;
    }
    // body frame in the world times the inverse of its frame in the link
    kd_mat3 back = kd_mat_transpose(&s->body_R[link_body[link]]);
    *R = kd_mat_mul(&b->R, &back);
    *P = kd_vec_sub(b->r, kd_mat_vec(R, s->body_r[link_body[link]]));
}

static void set_design(kd_system *s)
{
    for (int i = 1; i < s->tree.nlinks; i++) {
        const kd_link *link = &s->tree.link[i];
        kd_vec3        P0, P;
        kd_mat3        R0, R;
        if (!kd_link_is_body(s, i)) continue;
        // frame A at the design position, then B in A: coordinates of the joint
        design_pose(s, s->link_body, link->parent, &P0, &R0);
        design_pose(s, s->link_body, i, &P, &R);
        kd_mat3 RA = kd_mat_mul(&R0, &link->E);
        kd_vec3 rA = kd_vec_add(P0, kd_mat_vec(&R0, link->r));
        kd_mat3 C = kd_mat_tmul(&RA, &R);
        kd_joint_coordinates_of_pose(&link->form, &C, kd_mat_tvec(&RA, kd_vec_sub(P, rA)), s->design + link->position);
    }
}

// ---- prescribed coordinates -----------------------------------------------------------------------------------------
// dof of coordinate i of a joint that is in the tree; -1: it is not one dof (planar joints used backwards).
int kd_edge_dof(const kd_system *s, int joint, int i)
{
    const kd_tree_edge *edge = &s->edge[joint];
    const kd_joint_form form = kd_joint_form_of(s->model->joint[joint].def.kind);
    kd_mat3             turn;
    int                 other[6];
    if (edge->link == 0 || form.nscalars == 0) return -1;
    if (!edge->reversed) return s->tree.link[edge->link].dof + i;
    return kd_joint_reversal(&form, &turn, other) ? s->tree.link[edge->link].dof + other[i] : -1;
}

// Equations of motion have at least one coordinate: where all are prescribed, the last one stays, with a row.
static void leave_one(bool *prescribed, int ndof)
{
    for (int k = 0; k < ndof; k++)
        if (!prescribed[k]) return;
    if (ndof > 0) prescribed[ndof - 1] = false;
}

static kd_status finish_tree(kd_system *s)
{
    kd_tree *tree = &s->tree;
    int      ndof = 0;
    // first place of each link among the dofs; prescribed ones are those with a motion
    for (int i = 1; i < tree->nlinks; i++) {
        tree->link[i].dof = ndof;
        ndof += tree->link[i].wide ? tree->link[i].wide->m : kd_joint_form_of(tree->link[i].kind).ndof;
    }
    bool *prescribed = kd_cut_bool(&s->arena, ndof);
    if (!prescribed) return KD_ERR_MEMORY;
    for (int j = 0; j < s->model->njoints; j++)
        for (int i = 0; i < kd_joint_coordinates(s->model->joint[j].def.kind); i++) {
            int dof = s->model->joint[j].def.motion[i] ? kd_edge_dof(s, j, i) : -1;
            if (dof >= 0) prescribed[dof] = true;
        }
    leave_one(prescribed, ndof);
    for (int k = 0; k < ndof; k++) s->prescribed = s->prescribed || prescribed[k];
    return kd_tree_finish(tree, prescribed);
}

// ---- all ------------------------------------------------------------------------------------------------------------
static bool cut_plan(plan *t, const kd_model *m, kd_arena *arena)
{
    t->bodies = m->nbodies + 1;
    t->owner = kd_cut_int(arena, t->n);
    t->marker = kd_cut_int(arena, t->n);
    t->parent = kd_cut_int(arena, t->n);
    t->joint = kd_cut_int(arena, t->n);
    t->depth = kd_cut_int(arena, t->n);
    t->first = kd_cut_int(arena, t->n);
    t->child = kd_cut_int(arena, t->n);
    t->brother = kd_cut_int(arena, t->n);
    t->order = kd_cut_int(arena, t->n);
    t->next = kd_cut_int(arena, 2 * m->njoints);
    t->heap = kd_cut_int(arena, 2 * m->njoints + 1);
    t->height = kd_cut_int(arena, m->njoints);
    return !arena->failed;
}

void kd_system_place_links(kd_system *s)
{
    for (int i = 1; i < s->tree.nlinks; i++) {
        place_link(s, i);
        kd_link_note_place(&s->tree.link[i]);
    }
    set_design(s);
}

kd_status kd_system_topology(kd_system *s)
{
    const kd_model *m = s->model;
    kd_arena        scratch = {0};
    plan            t = {.edge = s->joints ? s->joints->edge : NULL};
    kd_status       status = KD_ERR_MEMORY;
    const int       extra = kd_system_count_wide(s);
    if (extra < 0) return KD_ERR_MEMORY;
    int n = t.n = m->nbodies + 1 + extra; // at most
    s->body_link = kd_cut_int(&s->arena, m->nbodies);
    s->body_r = kd_arena_cut(&s->arena, (size_t)m->nbodies, sizeof *s->body_r);
    s->body_R = kd_arena_cut(&s->arena, (size_t)m->nbodies, sizeof *s->body_R);
    s->link_body = kd_cut_int(&s->arena, n);
    s->link_joint = kd_cut_int(&s->arena, n);
    s->edge = kd_arena_cut(&s->arena, (size_t)m->njoints, sizeof *s->edge);
    s->tree.bare = s->for_start;
    s->tree.link = kd_arena_cut(&s->tree.arena, (size_t)n, sizeof *s->tree.link);
    if (!cut_plan(&t, m, &scratch) || s->arena.failed || s->tree.arena.failed) goto done;

    // no joint is used yet
    for (int j = 0; j < m->njoints; j++)
        s->edge[j] = (kd_tree_edge){.link = 0, .pair = -1, .coordinate = {-1, -1, -1, -1, -1, -1}, .row = -1};
    // which joints carry, then numbers along the tree, then frames from the ground outwards
    span(s, &t);
    s->tree.nlinks = n = t.n -= leave_markers(s, &t);
    add_wide(s, &t);
    number_links(&t);
    s->tree.link[0].E = kd_mat_identity();
    for (int i = 1; i < n; i++)
        if (make_link(s, &t, i) < 0) goto done;
    s->link_body[0] = s->link_joint[0] = -1;
    for (int i = 1; i < n; i++) place_link(s, i);
    status = finish_tree(s);
    if (status != KD_OK) goto done;
    status = KD_ERR_MEMORY;
    // positions are counted only now
    s->design = kd_cut_double(&s->arena, s->tree.nposition);
    if (!s->design) goto done;
    set_design(s);
    status = KD_OK;
done:
    kd_arena_release(&scratch);
    return status;
}

kd_carrier kd_system_carrier(const kd_system *s, int body)
{
    kd_carrier carrier = {KD_GROUND, -1, false};
    if (!s || body < 0 || body >= s->model->nbodies) return carrier;
    // as the uncut tree of joints has it
    const kd_system *tree = s->joints ? s->joints : s;
    const int        link = tree->body_link[body];
    carrier.parent = tree->link_body[tree->tree.link[link].parent];
    carrier.joint = tree->link_joint[link];
    carrier.reversed = carrier.joint >= 0 && tree->edge[carrier.joint].reversed;
    return carrier;
}
