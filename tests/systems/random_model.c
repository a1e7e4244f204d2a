// random_model.c: random mechanisms whose constraints hold at the design position. See random_model.h
//
// Bodies lie anywhere. A joint gets a random frame on one side and, on the other, that frame moved by random joint
// coordinates, so that it fits wherever the bodies are: every loop is closed. Constraints are placed to hold as well.
#include "systems/random_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/dense.h"

// ---- numbers --------------------------------------------------------------------------------------------------------
double mechanism_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

int mechanism_below(int n, uint64_t *seed)
{
    int k = (int)(0.5 * (mechanism_random(seed) + 1) * n);
    return k < n ? k : n - 1;
}

kd_vec3 mechanism_vec(double size, uint64_t *seed)
{
    double x = mechanism_random(seed), y = mechanism_random(seed), z = mechanism_random(seed);
    return kd_vec(size * x, size * y, size * z);
}

kd_quat mechanism_quat(uint64_t *seed)
{
    double w = 0.3 + mechanism_random(seed), x = mechanism_random(seed), y = mechanism_random(seed);
    double z = mechanism_random(seed);
    return kd_quat_normalised((kd_quat){w + (w < 0 ? -0.1 : 0.1), x, y, z});
}

// ---- names and texts ------------------------------------------------------------------------------------------------
const char *mechanism_body_name(int i)
{
    static const char *const names[MAX_BODIES] = {"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"};
    return i < 0 ? "ground" : names[i];
}

const char *mechanism_joint_name(int i)
{
    static const char *const names[MAX_JOINTS] = {"j0", "j1", "j2", "j3",  "j4",  "j5",  "j6",
                                                  "j7", "j8", "j9", "j10", "j11", "j12", "j13"};
    return names[i];
}

// ---- bodies ---------------------------------------------------------------------------------------------------------
static void make_body(mechanism *m)
{
    uint64_t    *seed = &m->seed;
    kd_body_def *b = &m->body[m->nbodies++];
    kd_vec3      edge = kd_vec(between(0.3, 1, seed), between(0.3, 1, seed), between(0.3, 1, seed));
    kd_mat3      R = kd_quat_matrix(mechanism_quat(seed));
    pose         at = random_pose(1.2, seed);
    *b = kd_body_def_default();
    b->mass = between(0.5, 2, seed);
    kd_sym3      box = {.xx = b->mass * (edge.y * edge.y + edge.z * edge.z) / 6,
                        .yy = b->mass * (edge.x * edge.x + edge.z * edge.z) / 6,
                        .zz = b->mass * (edge.x * edge.x + edge.y * edge.y) / 6};
    kd_sym3      J = kd_sym_rotate(&R, &box);
    const double inertia[6] = {J.xx, J.yy, J.zz, J.xy, J.xz, J.yz};
    memcpy(b->inertia, inertia, sizeof inertia);
    kd_vec_to(mechanism_vec(0.3, seed), b->centre);
    kd_vec_to(at.r, b->position);
    kd_quat_to(at.q, b->orientation);
}

// ---- joints ---------------------------------------------------------------------------------------------------------
static double cubic(double x)
{
    return 0.2 + 0.3 * x - 0.4 * x * x + 0.25 * x * x * x;
}

// pose of `to` in `from` at coordinates q (spherical, free: anything)
static pose joint_pose(kd_joint_kind kind, const double *q, double pitch, uint64_t *seed)
{
    const kd_quat none = {1, 0, 0, 0};
    switch (kind) {
    case KD_REVOLUTE:
        return (pose){{0, 0, 0}, about_z(q[0])};
    case KD_TABLE:
        return (pose){{cubic(q[0]), 0, q[0]}, about_x(cubic(q[0]))};
    case KD_ANGLE_TABLE: {
        const double y = cubic(q[0]);
        return (pose){{0, y, 0}, kd_quat_mul(about_z(q[0]), (kd_quat){cos(0.5 * y), 0, sin(0.5 * y), 0})};
    }
    case KD_PRISMATIC:
        return (pose){{0, 0, q[0]}, none};
    case KD_SCREW:
        return (pose){{0, 0, pitch * q[0] / (2 * KD_PI)}, about_z(q[0])};
    case KD_CYLINDRICAL:
        return (pose){{0, 0, q[1]}, about_z(q[0])};
    case KD_LEFT_CYLINDRICAL:
        return (pose){{0, 0, -q[1]}, about_z(q[0])};
    case KD_UNIVERSAL:
        return (pose){{0, 0, 0}, kd_quat_mul(about_z(q[0]), about_x(q[1]))};
    case KD_PLANAR:
        return (pose){{q[0], q[1], 0}, about_z(q[2])};
    case KD_SPHERICAL:
        return (pose){{0, 0, 0}, mechanism_quat(seed)};
    case KD_FREE:
        return (pose){{q[0], q[1], q[2]}, mechanism_quat(seed)};
    case KD_LEFT_FREE:
        return (pose){{-q[0], -q[1], -q[2]}, mechanism_quat(seed)};
    case KD_CONSTANT_VELOCITY: {
        const kd_quat half = about_x(0.5 * q[0]), y = {cos(0.5 * q[1]), 0, sin(0.5 * q[1]), 0};
        return (pose){{0, 0, 0}, kd_quat_mul(kd_quat_mul(half, y), half)};
    }
    case KD_LEFT_CARDAN:
    case KD_CARDAN: {
        const kd_quat y = {cos(0.5 * q[5]), 0, sin(0.5 * q[5]), 0};
        const double  e = kind == KD_CARDAN ? 1 : -1;
        return (pose){{e * q[0], e * q[1], e * q[2]}, kd_quat_mul(kd_quat_mul(about_z(q[3]), about_x(q[4])), y)};
    }
    default:
        return (pose){{0, 0, 0}, none};
    }
}

static int dofs_of(kd_joint_kind kind)
{
    static const int count[KD_JOINT_KIND_COUNT] = {0, 1, 1, 1, 2, 2, 3, 3, 6, 6, 2, 2, 6, 6, 1, 1};
    return count[kind];
}

// Some of those that have an image in a mirror are that one; some that have one coordinate are by tables.
static kd_joint_kind some_other(kd_joint_kind kind, uint64_t seed)
{
    if (kind == KD_PRISMATIC && (seed >> 22 & 1)) return KD_TABLE;
    if (kind == KD_REVOLUTE && (seed >> 22 & 3) == 0) return KD_ANGLE_TABLE;
    if (seed >> 20 & 1) return kind;
    return kind == KD_CYLINDRICAL ? KD_LEFT_CYLINDRICAL
           : kind == KD_FREE      ? KD_LEFT_FREE
           : kind == KD_CARDAN    ? KD_LEFT_CARDAN
                                  : kind;
}

static void make_joint(mechanism *m, kd_joint_kind kind, int a, int b)
{
    uint64_t     *seed = &m->seed;
    kd_joint_def *j = &m->joint[m->njoints];
    double       *q = m->design[m->njoints++];
    kind = some_other(kind, *seed);
    *j = kd_joint_def_default(kind);
    if (chance(0.5, seed)) {
        int other = a;
        a = b, b = other;
    }
    for (int i = 0; i < (coordinates_of(kind) == 6 ? 6 : 3); i++) q[i] = between(-0.8, 0.8, seed);
    if (kind == KD_SCREW) j->pitch = between(0.5, 2, seed);
    if (kind == KD_TABLE) // as in joint_pose: one column is the coordinate itself
        j->curve[KD_TABLE_Z] = "same", j->curve[KD_TABLE_X] = j->curve[KD_TABLE_TURN_X] = "cubic";
    if (kind == KD_ANGLE_TABLE)
        j->curve[KD_TABLE_TURN_Z] = "same", j->curve[KD_TABLE_Y] = j->curve[KD_TABLE_TURN_Y] = "cubic";
    pose middle = random_pose(0.4, seed);
    middle.r = kd_vec_axpy(middle.r, 0.5, kd_vec_add(pose_of_body(m, a).r, pose_of_body(m, b).r));
    j->from = place_at(a, middle);
    j->to = place_at(b, behind(middle, joint_pose(kind, q, j->pitch, seed)));
    if (!m->opt.at_rest)
        for (int i = 0; i < dofs_of(kind); i++) j->v[i] = between(-1, 1, seed);
}

static const kd_joint_kind tree_kinds[] = {KD_REVOLUTE, KD_SPHERICAL,   KD_PRISMATIC, KD_UNIVERSAL,
                                           KD_SCREW,    KD_CYLINDRICAL, KD_PLANAR,    KD_FIXED,
                                           KD_FREE,     KD_CARDAN,      KD_UNIVERSAL, KD_CONSTANT_VELOCITY};

static void make_tree(mechanism *m, uint64_t first)
{
    enum { KINDS = sizeof tree_kinds / sizeof *tree_kinds };
    for (int i = 0; i < m->nbodies; i++) {
        if (m->opt.floating && i == 0) {
            kd_vec_to(mechanism_vec(m->opt.at_rest ? 0 : 1, &m->seed), m->body[0].velocity);
            kd_vec_to(mechanism_vec(m->opt.at_rest ? 0 : 1, &m->seed), m->body[0].angular_velocity);
            continue;
        }
        kd_joint_kind kind = tree_kinds[(first + (uint64_t)i * 5 + (uint64_t)mechanism_below(3, &m->seed)) % KINDS];
        int           parent = mechanism_below(i + 1, &m->seed) - 1;
        if (parent < 0 && m->opt.floating) parent = 0;
        if (parent < 0 && i > 0 && chance(0.5, &m->seed)) parent = i - 1;
        make_joint(m, kind, parent, i);
    }
    m->ntree = m->njoints;
}

static void make_loop(mechanism *m, uint64_t first)
{
    static const kd_joint_kind kinds[] = {KD_SPHERICAL, KD_UNIVERSAL, KD_PLANAR, KD_CYLINDRICAL, KD_REVOLUTE,
                                          KD_PRISMATIC, KD_SCREW,     KD_FIXED,  KD_SPHERICAL,   KD_CONSTANT_VELOCITY};
    int a = mechanism_below(m->nbodies, &m->seed), b = mechanism_below(m->nbodies + 1, &m->seed) - 1;
    if (b < 0 && m->opt.floating) b = 0;
    if (a == b) b = a > 0 ? a - 1 : m->nbodies > 1 ? 1 : -1;
    if (b < 0 && m->opt.floating) return;
    make_joint(m, kinds[first % 10], a, b);
    kd_joint_def *j = &m->joint[m->njoints - 1];
    j->cut = chance(0.5, &m->seed) ? KD_CUT_YES : KD_CUT_AUTO;
    for (int i = 0; i < 6; i++) j->v[i] = NAN;
}

// one coordinate of one joint as a function of time, which starts at its design value
static void make_drive(mechanism *m)
{
    int first = mechanism_below(m->njoints, &m->seed);
    for (int k = 0; k < m->njoints; k++) {
        int           i = (first + k) % m->njoints;
        kd_joint_def *j = &m->joint[i];
        if (j->kind == KD_FREE || j->kind == KD_LEFT_FREE || coordinates_of(j->kind) == 0) continue;
        int c = mechanism_below(coordinates_of(j->kind), &m->seed);
        j->motion[c] = text(m, "%.17g + 0.3*sin(2*t%s) + 0.2*t^2", m->design[i][c], m->opt.at_rest ? "^2" : "");
        j->v[c] = NAN;
        return;
    }
}

// ---- constraints ----------------------------------------------------------------------------------------------------
static void place_from(mechanism *m, kd_constraint_def *c, int a, int b, kd_vec3 d)
{
    kd_quat q = mechanism_quat(&m->seed);
    c->to = random_place(m, b);
    c->from = place_at(a, (pose){kd_vec_sub(kd_vec_of(c->to.position), turned(q, d)), q});
}

// axes of `to` turned against those of `from` such that its z axis lies at an angle
static void turn_to(kd_constraint_def *c, double angle, uint64_t *seed)
{
    kd_quat q = kd_quat_mul(kd_quat_of(c->from.orientation),
                            kd_quat_mul(about_z(between(-3, 3, seed)), kd_quat_mul(about_x(angle), about_z(1.0))));
    kd_quat_to(q, c->to.orientation);
}

static void make_expression(mechanism *m, kd_constraint_def *c, int a, int b)
{
    pose        at = pose_of_body(m, b), other = pose_of_body(m, a < 0 ? b : a);
    kd_mat3     R = kd_quat_matrix(at.q);
    double      value = at.r.x * other.r.y + 0.7 * R.y.x + at.r.z; // R.xy: x of the y axis
    int         joint = random_joint(m), which = 0;
    const char *q = joint >= 0 ? coordinate(m, joint, 'q', &which) : "0";
    value += joint >= 0 ? 0.5 * sin(m->design[joint][which]) : 0.0;
    c->value = text(m, "body.%s.pos.x*body.%s.pos.y + 0.7*body.%s.R.xy + body.%s.pos.z + 0.5*sin(%s) - (%.17g)%s",
                    mechanism_body_name(b), mechanism_body_name(a < 0 ? b : a), mechanism_body_name(b),
                    mechanism_body_name(b), q, value,
                    m->opt.conservative ? ""
                    : m->opt.at_rest    ? " - 0.2*t^2"
                                        : " - 0.2*sin(t)");
}

static void make_coupling(mechanism *m, kd_constraint_def *c)
{
    int first = random_joint(m), second = random_joint(m), which;
    if (first < 0) return;
    c->nterms = 1;
    c->coordinate[0] = coordinate(m, first, 'q', &which);
    c->factor[0] = between(0.5, 2, &m->seed);
    if (second != first) {
        c->nterms = 2;
        c->coordinate[1] = coordinate(m, second, 'q', &which);
        c->factor[1] = -between(0.5, 2, &m->seed);
    }
}

// A change with time that is 0 at the start; NULL: there is none
static const char *change(mechanism *m)
{
    if (m->opt.conservative || m->opt.invariant || chance(0.5, &m->seed)) return NULL;
    return m->opt.at_rest ? "0.1*t^2" : "0.1*sin(t)";
}

// A rope from body to body over up to three points, with a drum in a joint
static void make_rope(mechanism *m, kd_constraint_def *c, int a, int b)
{
    const int   joint = random_joint(m);
    int         which = 0;
    const char *later = change(m);
    c->from = random_place(m, a);
    c->to = random_place(m, b);
    c->nover = mechanism_below(4, &m->seed);
    for (int k = 0; k < c->nover; k++) c->over[k] = random_place(m, k % 2 == 0 ? random_body(m, a) : a);
    if (joint < 0) {
        c->motion = later;
        return;
    }
    const char *q = coordinate(m, joint, 'q', &which);
    c->motion = text(m, "0.2*sin(%s) - (%.17g) + %s", q, 0.2 * sin(m->design[joint][which]), later ? later : "0");
}

// A gear between speeds whose ratio changes
static void make_gear(mechanism *m, kd_constraint_def *c)
{
    int first = random_joint(m), second = random_joint(m), which, other;
    if (first < 0 || second == first) return;
    const char *v = coordinate(m, first, 'v', &which), *q = coordinate(m, first, 'q', &other);
    c->value = text(m, "%s - (1.3 + 0.4*sin(%s%s))*%s", v, q, m->opt.conservative || m->opt.invariant ? "" : " + 3*t",
                    coordinate(m, second, 'v', &which));
}

static bool make_constraint(mechanism *m, kd_constraint_kind kind)
{
    uint64_t *seed = &m->seed;
    int       b = mechanism_below(m->nbodies, seed), a = m->opt.floating && m->nbodies == 1 ? b : random_body(m, b);
    kd_constraint_def *c = &m->constraint[m->nconstraints];
    double             x = between(-0.8, 0.8, seed), y = between(-0.8, 0.8, seed), angle;
    if (a == b || (kind == KD_EXPRESSION && (m->opt.invariant || m->opt.floating))) return false;
    *c = kd_constraint_def_default(kind);
    switch (kind) {
    case KD_DISTANCE:
        c->from = random_place(m, a);
        c->to = random_place(m, b);
        break;
    case KD_POINT_ON_PLANE:
        place_from(m, c, a, b, kd_vec(x, y, 0));
        break;
    case KD_POINT_ON_LINE:
        place_from(m, c, a, b, kd_vec(0, 0, x));
        c->shift[1] = change(m);
        break;
    case KD_POINT_ON_CURVE:
        place_from(m, c, a, b, kd_vec(x, 0, cubic(x)));
        c->value = "cubic";
        break;
    case KD_ORIENTATION:
        c->from = random_place(m, a);
        c->to = random_place(m, b);
        c->angle = chance(0.5, seed) ? 0 : between(0.5, 2, seed);
        turn_to(c, c->angle, seed);
        if (c->angle != 0.0) c->motion = change(m);
        break;
    case KD_ROLLING_DISC:
        angle = between(0.8, 2.2, seed);
        c->radius = between(0.3, 0.8, seed);
        place_from(m, c, a, b, kd_vec(x, y, c->radius * sin(angle)));
        turn_to(c, angle, seed);
        c->motion = change(m);
        break;
    case KD_KNIFE_EDGE:
        c->from = random_place(m, a);
        c->to = random_place(m, b);
        break;
    case KD_COUPLING:
        make_coupling(m, c);
        if (c->nterms == 0) return false;
        break;
    case KD_EXPRESSION:
        make_expression(m, c, a, b);
        break;
    case KD_VELOCITY:
        make_gear(m, c);
        if (!c->value) return false;
        break;
    case KD_ROPE:
        make_rope(m, c, a, b);
        break;
    default:
        return false;
    }
    m->nconstraints++;
    return true;
}

// ---- the whole ------------------------------------------------------------------------------------------------------
// Leave out constraints, then loops, until those that are left are independent and something can still move.
static void reduce(mechanism *m)
{
    for (;;) {
        kd_system_options opt = kd_system_options_default();
        kd_model         *model = mechanism_build(m, &(mechanism_variant){.sensors = 0});
        kd_system        *s = NULL;
        char              message[500];
        if (!model) abort();
        opt.keep_redundant = true;
        bool made = kd_system_create(model, &opt, &s, message, sizeof message) >= 0;
        bool good = made && mechanism_condition(s) > 3e-3;
        if (made) {
            kd_dims n = kd_eom_dims(kd_system_eom(s));
            good = good && (n.nlambda + n.nmu == 0 || n.nv - n.nlambda - n.nmu > 0);
        }
        kd_system_destroy(s);
        kd_model_destroy(model);
        if (good || (m->nconstraints == 0 && m->njoints == m->ntree)) return;
        if (m->nconstraints > 0)
            m->nconstraints--;
        else
            m->njoints--;
    }
}

void mechanism_make(mechanism *m, uint64_t seed, const mechanism_options *opt)
{
    memset(m, 0, sizeof *m);
    m->opt = *opt;
    m->seed = seed * 7919 + 17;
    m->made = seed;
    for (int i = 0; i < 5; i++) (void)mechanism_random(&m->seed);
    if (!opt->floating) kd_vec_to(mechanism_vec(6, &m->seed), m->gravity);
    for (int i = 0; i < opt->bodies; i++) make_body(m);
    make_tree(m, seed);
    for (int i = 0; i < opt->loops; i++) {
        int wanted = m->njoints + 1;
        for (uint64_t k = 0; k < 10 && m->njoints < wanted; k++) { // until one leaves the mechanism some freedom
            make_loop(m, seed + (uint64_t)i * 3 + k);
            reduce(m);
        }
    }
    if (opt->driven) {
        make_drive(m);
        reduce(m);
    }
    for (int i = 0; i < opt->constraints; i++) {
        (void)make_constraint(m, (kd_constraint_kind)mechanism_below(KD_WHEEL_RAIL, &m->seed));
        reduce(m);
    }
    if (opt->states && !opt->conservative) mechanism_make_states(m);
    for (int i = 0; i < opt->forces; i++)
        mechanism_make_force(m, (kd_force_kind)((seed + (uint64_t)i * 3) % KD_HYDRAULIC));
    if (opt->states && opt->forces > 0 && !opt->conservative)
        mechanism_make_force(m, seed % 2 == 0 ? KD_HYDRAULIC : KD_AIR_SPRING); // elements with oil or air
}

// ---- models ---------------------------------------------------------------------------------------------------------
static kd_place moved_place(const mechanism *m, const kd_place *place, const mechanism_variant *v)
{
    kd_place to = m->opt.flexible ? mechanism_place(m, place) : *place;
    if (!v->moved || !place->body || to.node) return to; // a node moves with its body
    kd_vec_to(kd_vec_add(v->shift, turned(v->turn, kd_vec_of(place->position))), to.position);
    kd_quat_to(kd_quat_mul(v->turn, kd_quat_of(place->orientation)), to.orientation);
    return to;
}

static bool ok(kd_status status, const kd_model *model)
{
    if (status >= 0) return true;
    printf("%s\n", kd_model_message(model));
    return false;
}

static bool add_body(kd_model *model, const mechanism *m, int i, const mechanism_variant *v)
{
    kd_body_def b = m->body[i];
    if (v->moved) {
        kd_vec_to(kd_vec_add(v->shift, turned(v->turn, kd_vec_of(b.position))), b.position);
        kd_quat_to(kd_quat_mul(v->turn, kd_quat_of(b.orientation)), b.orientation);
        kd_vec_to(turned(v->turn, kd_vec_of(b.velocity)), b.velocity);
        kd_vec_to(turned(v->turn, kd_vec_of(b.angular_velocity)), b.angular_velocity);
    }
    if (mechanism_is_flexible(m, i) && !mechanism_add_flexible(model, m, i, &b)) return false;
    return ok(kd_model_add_body(model, mechanism_body_name(i), &b), model);
}

static bool add_joint(kd_model *model, const mechanism *m, int i, const mechanism_variant *v)
{
    kd_joint_def j = m->joint[i];
    j.from = moved_place(m, &m->joint[i].from, v);
    j.to = moved_place(m, &m->joint[i].to, v);
    if (v->cut) j.cut = v->cut[i];
    if (v->turn_over && (j.kind == KD_FIXED || j.kind == KD_SPHERICAL) && m->opt.at_rest) {
        kd_place from = j.from;
        j.from = j.to, j.to = from;
    }
    return ok(kd_model_add_joint(model, mechanism_joint_name(i), &j), model);
}

static bool add_forces(kd_model *model, const mechanism *m, const mechanism_variant *v)
{
    bool good = true;
    char name[16];
    for (int i = 0; i < m->nconstraints; i++) {
        kd_constraint_def c = m->constraint[i];
        c.from = moved_place(m, &m->constraint[i].from, v);
        c.to = moved_place(m, &m->constraint[i].to, v);
        for (int k = 0; k < c.nover; k++) c.over[k] = moved_place(m, &m->constraint[i].over[k], v);
        (void)snprintf(name, sizeof name, "c%d", i);
        good = good && ok(kd_model_add_constraint(model, name, &c), model);
    }
    for (int i = 0; i < m->nstates; i++) {
        (void)snprintf(name, sizeof name, "s%d", i);
        good = good && ok(kd_model_add_state(model, name, &m->state[i]), model);
    }
    for (int i = 0; i < m->nforces; i++) {
        kd_force_def f = m->force[i];
        f.from = moved_place(m, &m->force[i].from, v);
        f.to = moved_place(m, &m->force[i].to, v);
        (void)snprintf(name, sizeof name, "f%d", i);
        good = good && ok(kd_model_add_force(model, name, &f), model);
    }
    if (m->nuser > 0) {
        kd_user_force_def user = m->user;
        user.measure = m->user_measure;
        user.start = m->user_start;
        good = good && ok(kd_model_add_user_force(model, "user", &user), model);
    }
    return good;
}

static bool add_sensor(kd_model *model, int *count, const char *format, ...)
{
    char          value[120], name[16];
    va_list       arguments;
    kd_sensor_def sensor = kd_sensor_def_default();
    va_start(arguments, format);
    (void)vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    (void)snprintf(name, sizeof name, "y%d", (*count)++);
    sensor.value = value;
    return ok(kd_model_add_sensor(model, name, &sensor), model);
}

static bool add_all_sensors(kd_model *model, const mechanism *m, int *n)
{
    static const char *const body[] = {"vel.x",   "vel.y",   "vel.z",   "acc.x",   "acc.y",   "acc.z",
                                       "omega.x", "omega.y", "omega.z", "alpha.x", "alpha.y", "alpha.z",
                                       "com.x",   "com.y",   "com.z",   "yaw",     "roll"};
    static const char *const reaction[] = {"force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"};
    static const char *const wrench[] = {"fx", "fy", "fz", "tx", "ty", "tz"};
    bool                     good = true;
    for (int i = 0; i < m->nbodies; i++)
        for (int k = 0; k < 17; k++) good = good && add_sensor(model, n, "body.%s.%s", mechanism_body_name(i), body[k]);
    for (int i = 0; i < m->njoints; i++) {
        int coordinates = coordinates_of(m->joint[i].kind);
        for (int k = 0; k < 6; k++)
            good = good && add_sensor(model, n, "joint.%s.%s", mechanism_joint_name(i), reaction[k]);
        for (int k = 0; k < coordinates; k++)
            for (const char *letter = "qva"; *letter; letter++)
                good = good && (coordinates == 1
                                    ? add_sensor(model, n, "joint.%s.%c", mechanism_joint_name(i), *letter)
                                    : add_sensor(model, n, "joint.%s.%c%d", mechanism_joint_name(i), *letter, k + 1));
    }
    for (int i = 0; i < m->nforces; i++) {
        kd_force_kind kind = m->force[i].kind;
        bool          is_wrench = kind == KD_BUSHING || kind == KD_APPLIED || kind == KD_CONTACT;
        for (int k = 0; is_wrench && k < 6; k++) good = good && add_sensor(model, n, "force.f%d.%s", i, wrench[k]);
        if (!is_wrench) good = good && add_sensor(model, n, "force.f%d.%s", i, kind == KD_RSDA ? "torque" : "force");
    }
    for (int i = 0; i < m->nstates; i++) good = good && add_sensor(model, n, "state.s%d", i);
    good = good && add_sensor(model, n, "energy.kinetic") && add_sensor(model, n, "energy.potential");
    return good && add_sensor(model, n, "2*sensor.y0 + sin(sensor.y1)");
}

static bool add_sensors(kd_model *model, const mechanism *m, int sensors)
{
    static const char *const path[] = {"pos.x", "pos.y", "pos.z", "R.xx", "R.yx", "R.zx", "R.xy", "R.yy", "R.zy"};
    int                      n = 0;
    bool                     good = true;
    for (int i = 0; i < m->nbodies && sensors > 0; i++)
        for (int k = 0; k < 9; k++) good = good && add_sensor(model, &n, "body.%s.%s", mechanism_body_name(i), path[k]);
    return good && (sensors < 2 || add_all_sensors(model, m, &n));
}

static void shuffle(int n, int *order, bool really, uint64_t *seed)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0 && really; i--) {
        int k = mechanism_below(i + 1, seed), kept = order[i];
        order[i] = order[k], order[k] = kept;
    }
}

kd_model *mechanism_build(const mechanism *m, const mechanism_variant *v)
{
    kd_model *model = NULL;
    int       bodies[MAX_BODIES], joints[MAX_JOINTS];
    uint64_t  seed = m->seed + 1;
    bool      good = kd_model_create(&model) == KD_OK;
    double    gravity[3], x[7], y[7];
    if (!good) return NULL;
    kd_vec_to(v->moved ? turned(v->turn, kd_vec_of(m->gravity)) : kd_vec_of(m->gravity), gravity);
    good = ok(kd_model_set_gravity(model, gravity), model);
    for (int i = 0; i < 7; i++) x[i] = i - 3.0, y[i] = cubic(x[i]);
    kd_curve_def curve = kd_curve_def_default();
    curve.form = KD_CURVE_SPLINE;
    curve.n = 7, curve.x = x, curve.y = y;
    good = good && ok(kd_model_add_curve(model, "cubic", &curve), model);
    curve.y = x;
    good = good && ok(kd_model_add_curve(model, "same", &curve), model);
    if (m->ninputs > 0) {
        kd_input_def input = kd_input_def_default();
        input.value = "0.5*sin(2*t) + 0.1*t";
        good = good && ok(kd_model_add_input(model, "u0", &input), model);
    }
    shuffle(m->nbodies, bodies, v->reorder, &seed);
    shuffle(m->njoints, joints, v->reorder, &seed);
    for (int i = 0; i < m->nbodies; i++) good = good && add_body(model, m, bodies[i], v);
    for (int i = 0; i < m->njoints; i++) good = good && add_joint(model, m, joints[i], v);
    good = good && add_forces(model, m, v) && add_sensors(model, m, v->sensors) && ok(kd_model_finish(model), model);
    if (!good) {
        kd_model_destroy(model);
        return NULL;
    }
    return model;
}

double mechanism_condition(const kd_system *s)
{
    const kd_eom *eom = kd_system_eom(s);
    kd_dims       n = kd_eom_dims(eom);
    kd_eom_data  *data = NULL;
    kd_state     *x = NULL;
    int           rows = n.nlambda + n.nmu, least = rows < n.nv ? rows : n.nv;
    double        answer = 0.0, *u = calloc((size_t)(3 * n.nu + 1), sizeof *u);
    size_t        size = (size_t)(rows * n.nv + 1);
    double       *G = calloc(size, sizeof *G), *H = calloc(size, sizeof *H), *A = calloc(size, sizeof *A);
    double       *sigma = calloc((size_t)least + 1, sizeof *sigma);
    double       *work = calloc((size_t)kd_svd_work(rows, n.nv) + 1, sizeof *work);
    if (rows == 0) answer = 1.0;
    if (rows == 0 || rows > n.nv || !u || !G || !H || !A || !sigma || !work) goto done;
    if (kd_state_create(eom, &x) != KD_OK || kd_eom_data_create(eom, &data) != KD_OK) goto done;
    if (kd_system_start(s, x, NULL, 0) < 0) goto done;
    (void)kd_system_inputs(s)->eval(0.0, kd_system_inputs(s)->context, u, u + n.nu, u + 2 * n.nu);
    kd_eom_at_time(data, 0.0, u, u + n.nu, u + 2 * n.nu, NULL);
    kd_eom_at_position(data, x->p, NULL);
    kd_eom_at_velocity(data, x->v, x->r);
    if (kd_eom_constraint_matrices(data, G, H) != KD_EVAL_OK) goto done;
    for (int j = 0; j < n.nv; j++) {
        for (int i = 0; i < n.nlambda; i++) A[i + j * rows] = G[i + j * n.nlambda];
        for (int i = 0; i < n.nmu; i++) A[n.nlambda + i + j * rows] = H[i + j * n.nmu];
    }
    if (kd_svd(rows, n.nv, A, NULL, sigma, NULL, work) == 0) answer = sigma[least - 1] / sigma[0];
done:
    kd_eom_data_destroy(data);
    kd_state_destroy(x);
    free(u), free(G), free(H), free(A), free(sigma), free(work);
    return answer;
}
