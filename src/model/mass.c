// mass.c: masses and poses of bodies, whether they are plausible, and whether what moves alone has inertia.
//
// Plausible: principal moments A <= B <= C of a body obey A + B >= C (each is an integral of two squared coordinates),
// and sqrt(C/m) is a length that a machine has. Bodies joined by fixed joints count as one.
#include <string.h>

#include "core/text.h"
#include "model/build.h"
#include "model/mesh_shape.h"
#include "model/part.h"

static const double heavy = 1e7;           // [kg]; a loaded freight train has 5e6
static const double long_gyration = 300.0; // [m], radius of gyration of a beam of 1 km
static const double short_gyration = 3e-5; // [m], of one of 0.1 mm

// ---- bodies ---------------------------------------------------------------------------------------------------------

// number of NaN entries
static int count_missing(const double *x, int n)
{
    int missing = 0;
    for (int i = 0; i < n; i++) missing += isnan(x[i]) != 0;
    return missing;
}

// All of them or none may be missing.
static bool all_or_none(kd_model *m, int body, const char *field, const double *x, int n)
{
    const int missing = count_missing(x, n);
    if (missing == 0 || missing == n) return true;
    kd_model_error(m, KD_SECTION_BODY, body, field, "%s: give all %d numbers or none", field, n);
    return false;
}

// position and axes at the design position; the quaternion may be off by rounding of a file
static bool set_pose(kd_model *m, int i)
{
    kd_body      *b = &m->body[i];
    const double *q = b->def.orientation;
    const double  norm2 = kd_quat_norm2(kd_quat_of(q));
    b->r = kd_vec_of(b->def.position);
    b->R = kd_mat_identity();
    if (!(norm2 > 1e-20 && norm2 < 1e20)) {
        kd_model_error(m, KD_SECTION_BODY, i, "orientation", "the orientation is not a unit quaternion");
        return false;
    }
    b->R = kd_quat_matrix(kd_quat_of(q));
    return true;
}

// Do the shapes say where the mass is? Those without density are only drawn, unless the inertia is wanted from them.
static bool shapes_have_mass(const kd_body_def *def)
{
    bool dense = isnan(def->inertia[0]);
    for (int k = 0; k < def->nshapes; k++) dense = dense || def->shape[k].density > 0.0;
    return dense;
}

// A surface that is not closed has no mass. It may be drawn where none is wanted of it.
static bool check_meshes(kd_model *m, int i)
{
    const kd_body_def *def = &m->body[i].def;
    bool               dense = false;
    char               words[300];
    // where one shape has a density, those without are only drawn
    for (int k = 0; k < def->nshapes; k++) dense = dense || def->shape[k].density > 0.0;
    for (int k = 0; k < def->nshapes; k++) {
        const kd_shape *s = &def->shape[k];
        const bool      wanted = s->density > 0.0 || (!dense && (isnan(def->inertia[0]) || isnan(def->centre[0])));
        if (s->kind != KD_MESH || !s->read || s->read->closed || !wanted) continue;
        kd_surface_faults_words(&s->read->faults, words, sizeof words);
        kd_model_error(m, KD_SECTION_BODY, i, "shape",
                       "mesh '%s' encloses nothing that could have mass: %s; give mass, centre and inertia, then it is "
                       "only drawn",
                       s->mesh, words[0] ? words : "its volume is 0");
        return false;
    }
    return true;
}

// Fill in from the shapes what is not given.
static bool set_mass(kd_model *m, int i)
{
    kd_body     *b = &m->body[i];
    kd_body_def *def = &b->def;
    if (!kd_finish_flexible(m, i)) return false;
    if (def->read) return true;
    if (!all_or_none(m, i, "centre", def->centre, 3) || !all_or_none(m, i, "inertia", def->inertia, 6)) return false;
    // dimensions of shapes that the schema cannot compare with each other
    for (int k = 0; k < def->nshapes; k++) {
        const kd_shape *s = &def->shape[k];
        if (s->kind == KD_TUBE && s->size[1] >= s->size[0]) {
            kd_model_error(m, KD_SECTION_BODY, i, "shape",
                           "the inner radius %.4g of a tube is not smaller than the outer %.4g", s->size[1],
                           s->size[0]);
            return false;
        }
        if (s->kind == KD_MESH && s->size[0] == 0.0) {
            kd_model_error(m, KD_SECTION_BODY, i, "shape", "the scale of a mesh must not be 0");
            return false;
        }
    }
    if (!check_meshes(m, i)) return false;
    // mass: given, or the sum of the shapes, which nobody asks where all three are given
    kd_mass    shapes = {0};
    const bool asked = isnan(def->mass) || isnan(def->centre[0]) || isnan(def->inertia[0]);
    const bool found = asked && def->nshapes > 0 && kd_shapes_mass(def->shape, def->nshapes, def->mass, &shapes);
    if (isnan(def->mass) && !found) {
        kd_model_error(m, KD_SECTION_BODY, i, "mass",
                       "the mass is missing: give it, or a shape with a density (0: a body without mass)");
        return false;
    }
    if (isnan(def->mass)) def->mass = shapes.mass;
    // centre: given, that of shapes with mass, or the origin
    if (isnan(def->centre[0])) kd_vec_to(shapes_have_mass(def) ? shapes.centre : (kd_vec3){0}, def->centre);
    // inertia about the centre of mass that the body has, which may be another than that of shapes
    if (isnan(def->inertia[0])) {
        const kd_vec3 c = kd_vec_sub(shapes.centre, kd_vec_of(def->centre));
        const kd_sym3 I = kd_sym_steiner(&shapes.inertia, found ? def->mass : 0.0, c);
        memcpy(def->inertia, (double[6]){I.xx, I.yy, I.zz, I.xy, I.xz, I.yz}, sizeof def->inertia);
    }
    // as the formalisms read them
    b->centre = kd_vec_of(def->centre);
    b->inertia =
        (kd_sym3){def->inertia[0], def->inertia[1], def->inertia[2], def->inertia[3], def->inertia[4], def->inertia[5]};
    return true;
}

static void check_plausible(kd_model *m, int i)
{
    const kd_body *b = &m->body[i];
    const double   mass = b->def.mass;
    double         I[3];
    // principal moments without rounding, so that those of a rod are 0
    kd_sym_eigenvalues(&b->inertia, I);
    const double largest = fmax(fabs(I[0]), fabs(I[2])), rounding = 1e-12 * largest;
    for (int k = 0; k < 3; k++) I[k] = fabs(I[k]) > rounding ? I[k] : 0.0;
    // what each number says alone
    if (mass == 0.0) {
        kd_model_warn(m, KD_SECTION_BODY, i, "mass", "the body has no mass%s", largest > 0.0 ? ", but inertia" : "");
    }
    if (mass > heavy) {
        kd_model_warn(m, KD_SECTION_BODY, i, "mass", "the mass of %.4g kg is unusually large; units are SI", mass);
    }
    // then whether they belong to one body
    if (I[0] < -rounding) {
        kd_model_warn(m, KD_SECTION_BODY, i, "inertia",
                      "the inertia is not positive definite: principal moments %.4g, %.4g, %.4g kg m^2", I[0], I[1],
                      I[2]);
    } else if (I[0] + I[1] < I[2] * (1.0 - 1e-6) - rounding) { // digits of a table
        kd_model_warn(m, KD_SECTION_BODY, i, "inertia",
                      "no body has such inertia: principal moments %.4g + %.4g < %.4g kg m^2 (triangle inequality)",
                      I[0], I[1], I[2]);
    }
    // radius of gyration: kg and mm taken for SI show here
    if (!(mass > 0.0) || largest == 0.0) return;
    const double gyration = sqrt(largest / mass);
    if (gyration > long_gyration) {
        kd_model_warn(
            m, KD_SECTION_BODY, i, "inertia",
            "mass %.4g kg and inertia %.4g kg m^2 belong to a body of more than 1 km; units are kg and kg m^2 "
            "(1 kg mm^2 = 1e-6 kg m^2)",
            mass, largest);
    } else if (gyration < short_gyration) {
        kd_model_warn(m, KD_SECTION_BODY, i, "inertia",
                      "mass %.4g kg and inertia %.4g kg m^2 belong to a body of less than 0.1 mm; units are kg and "
                      "kg m^2",
                      mass, largest);
    }
}

// pose and mass of every body, so that one run tells all faults; plausible only where both are right
void kd_finish_bodies(kd_model *m)
{
    for (int i = 0; i < m->nbodies; i++) {
        const bool posed = set_pose(m, i);
        if (set_mass(m, i) && posed && !m->private->quiet) check_plausible(m, i);
    }
}

// ---- groups of bodies that move alone -------------------------------------------------------------------------------

// bodies that fixed joints hold together, and what acts on them from outside
typedef struct group {
    kd_mass mass;    // in the world at the design position
    int     njoints; // that move; to other groups
    int     joint;   // one of them
    int     nforces, nconstraints;
    bool    fixed; // to the ground
} group;

// Representative of the set of a body; -1 (ground) is entry n. Paths are halved on the way.
static int root_of(int *parent, int i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

// bodies by their numbers, the ground behind them
static int node(const kd_model *m, int body)
{
    return body < 0 ? m->nbodies : body;
}

// something acts on the group of this place
static void touch(const kd_model *m, int *parent, group *groups, const kd_anchor *a, bool constraint)
{
    group *g = &groups[root_of(parent, node(m, a->body))];
    if (constraint) {
        g->nconstraints++;
    } else {
        g->nforces++;
    }
}

static void build_groups(const kd_model *m, int *parent, group *groups)
{
    // fixed joints make groups
    for (int i = 0; i <= m->nbodies; i++) parent[i] = i;
    for (int j = 0; j < m->njoints; j++) {
        const kd_joint *k = &m->joint[j];
        if (kd_joint_form_of(k->def.kind).ndof > 0) continue;
        const int a = root_of(parent, node(m, k->from.body)), b = root_of(parent, node(m, k->to.body));
        parent[a > b ? b : a] = a > b ? a : b; // towards the ground, which has the largest number
    }
    groups[m->nbodies].fixed = true;
    // mass of a group: Steiner, in the world
    for (int i = 0; i < m->nbodies; i++) {
        const kd_body *b = &m->body[i];
        group         *g = &groups[root_of(parent, i)];
        const kd_mass  part = {b->def.mass, kd_vec_add(b->r, kd_mat_vec(&b->R, b->centre)),
                               kd_sym_rotate(&b->R, &b->inertia)};
        g->mass = kd_mass_add(&g->mass, &part);
    }
    // joints between groups; one of them is remembered
    for (int j = 0; j < m->njoints; j++) {
        const kd_joint *k = &m->joint[j];
        const int       a = root_of(parent, node(m, k->from.body)), b = root_of(parent, node(m, k->to.body));
        if (a == b) continue;
        groups[a].njoints++;
        groups[b].njoints++;
        groups[a].joint = groups[b].joint = j;
    }
    // what else acts on them
    for (int f = 0; f < m->nforces; f++) {
        touch(m, parent, groups, &m->force[f].from, false);
        touch(m, parent, groups, &m->force[f].to, false);
    }
    for (int c = 0; c < m->nconstraints; c++) {
        touch(m, parent, groups, &m->constraint[c].from, true);
        touch(m, parent, groups, &m->constraint[c].to, true);
    }
}

// What the joint lets a group do, at the design position: turns w, velocities u of the centre of mass c. B: axes of the
// frame `to` at p, d: from `from` to it in the axes A. With all shifts free, turns about c do as well.
static int motions_of(const kd_joint_form *form, double lead, kd_vec3 d, kd_vec3 p, const kd_mat3 *A, const kd_mat3 *B,
                      kd_vec3 c, kd_axis S[6])
{
    const kd_mat3 C = kd_mat_tmul(A, B);
    const kd_vec3 arm = form->floats ? kd_vec(0, 0, 0) : kd_vec_sub(c, p);
    double        x[7];
    kd_mat3       R;
    // coordinates of the design position, axes of its dofs there: turns w, shifts u in A
    kd_joint_coordinates_of_pose(form, &C, d, x);
    kd_joint_pose(form, lead, x, &R, &d, S);
    // to world axes, shift of the centre of mass
    for (int k = 0; k < form->ndof; k++) {
        S[k].w = kd_mat_vec(A, S[k].w);
        S[k].u = kd_vec_add(kd_mat_vec(A, S[k].u), kd_vec_cross(S[k].w, arm));
    }
    return form->ndof;
}

// Is S' I S positive definite: Cholesky with a limit relative to the diagonal
static bool has_inertia(const kd_mass *mass, const kd_axis *S, int n)
{
    double L[6][6];
    for (int i = 0; i < n; i++) {
        // M_ij = w_j . I w_i + m u_j . u_i
        const kd_vec3 N = kd_sym_vec(&mass->inertia, S[i].w), F = kd_vec_scale(mass->mass, S[i].u);
        for (int j = 0; j <= i; j++) {
            double       x = kd_vec_dot(S[j].w, N) + kd_vec_dot(S[j].u, F);
            const double limit = i == j ? 1e-12 * x : 0.0;
            for (int k = 0; k < j; k++) x -= L[i][k] * L[j][k];
            if (i == j && !(x > limit)) return false;
            L[i][j] = i == j ? sqrt(x) : x / L[j][j];
        }
    }
    return true;
}

static bool moves_with_inertia(const kd_model *m, const group *g)
{
    kd_axis       S[6];
    const kd_mat3 world = kd_mat_identity();
    const kd_vec3 c = g->mass.centre;
    // nothing holds it: all six motions must have inertia
    if (g->njoints == 0) {
        const kd_joint_form alone = kd_joint_form_of(KD_FREE);
        return has_inertia(&g->mass, S, motions_of(&alone, 0.0, kd_vec(0, 0, 0), c, &world, &world, c, S));
    }
    const kd_joint  *k = &m->joint[g->joint];
    const kd_anchor *end[2] = {&k->from, &k->to};
    kd_mat3          R[2];
    kd_vec3          p[2];
    // both frames of the joint in the world
    for (int e = 0; e < 2; e++) {
        const bool    on_ground = end[e]->body < 0;
        const kd_mat3 body_axes = on_ground ? world : m->body[end[e]->body].R;
        const kd_vec3 origin = on_ground ? kd_vec(0, 0, 0) : m->body[end[e]->body].r;
        R[e] = kd_mat_mul(&body_axes, &end[e]->R);
        p[e] = kd_vec_add(origin, kd_mat_vec(&body_axes, end[e]->r));
    }
    const kd_joint_form form = kd_model_joint_form(k);
    const kd_vec3       d = kd_mat_tvec(&R[0], kd_vec_sub(p[1], p[0]));
    return has_inertia(&g->mass, S, motions_of(&form, k->def.pitch / (2.0 * KD_PI), d, p[1], &R[0], &R[1], c, S));
}

static void check_group(kd_model *m, const group *g, int body)
{
    // with constraints or several joints other bodies may give the inertia
    if (g->fixed || g->nconstraints > 0) return;
    if (g->njoints == 0 && g->nforces == 0 && m->nuser_forces == 0) {
        kd_model_warn(m, KD_SECTION_BODY, body, NULL, "no joint, constraint or force acts on it: it moves freely");
    }
    // one joint or none: its own motion must have inertia
    if (g->njoints > 1 || moves_with_inertia(m, g)) return;
    double I[3];
    kd_sym_eigenvalues(&g->mass.inertia, I);
    if (g->njoints == 0) {
        kd_model_error(m, KD_SECTION_BODY, body, "inertia",
                       "it moves freely and needs mass and positive definite inertia, but has %.4g kg and principal "
                       "moments %.4g, %.4g, %.4g kg m^2",
                       g->mass.mass, I[0], I[1], I[2]);
    } else {
        kd_model_error(m, KD_SECTION_BODY, body, "inertia",
                       "only joint '%s' holds it, but the mass of %.4g kg and the principal moments %.4g, %.4g, %.4g "
                       "kg m^2 give no inertia to its motion",
                       m->joint[g->joint].name, g->mass.mass, I[0], I[1], I[2]);
    }
}

struct kd_groups {
    int   *parent; // (nbodies + 1)
    group *group;  // (nbodies + 1)
};

struct kd_groups *kd_groups_cut(const kd_model *m, kd_arena *arena)
{
    struct kd_groups *g = kd_arena_cut(arena, 1, sizeof *g);
    if (!g) return NULL;
    g->parent = kd_cut_int(arena, m->nbodies + 1);
    g->group = kd_arena_cut(arena, (size_t)m->nbodies + 1, sizeof *g->group);
    return arena->failed ? NULL : g;
}

void kd_check_groups(kd_model *m, struct kd_groups *g)
{
    memset(g->group, 0, ((size_t)m->nbodies + 1) * sizeof *g->group);
    build_groups(m, g->parent, g->group);
    // bodies that are joined by fixed joints are looked at once, at their root
    for (int i = 0; i < m->nbodies; i++) {
        if (root_of(g->parent, i) == i) check_group(m, &g->group[i], i);
    }
}

kd_status kd_finish_groups(kd_model *m)
{
    kd_arena          arena = {0};
    struct kd_groups *g = kd_groups_cut(m, &arena);
    if (g) kd_check_groups(m, g);
    kd_arena_release(&arena);
    return g ? KD_OK : KD_ERR_MEMORY;
}
