// random_forces.c: forces, inner states and laws of random mechanisms.
#include "systems/random_parts.h"

#include <string.h>

// ---- forces ---------------------------------------------------------------------------------------------------------
// something that a law may read
static const char *signal(mechanism *m)
{
    uint64_t *seed = &m->seed;
    int       which, joint = random_joint(m), body = mechanism_below(m->nbodies, seed);
    switch (mechanism_below(m->opt.invariant ? 3 : 7, seed)) {
    case 0:
        return joint < 0 ? "t" : coordinate(m, joint, 'q', &which);
    case 1:
        return joint < 0 ? "cos(t)" : coordinate(m, joint, 'v', &which);
    case 2:
        if (m->opt.states) return chance(0.5, seed) ? (chance(0.5, seed) ? "state.s0" : "state.s1.out") : "input.u0";
        return "sin(3*t)";
    case 3:
        return text(m, "body.%s.pos.y*body.%s.vel.x", mechanism_body_name(body), mechanism_body_name(body));
    case 4:
        return text(m, "body.%s.omega.z", mechanism_body_name(body));
    case 5:
        return text(m, "sin(body.%s.yaw)*body.%s.R.zx", mechanism_body_name(body), mechanism_body_name(body));
    default:
        return text(m, "body.%s.com.z*body.%s.pitch", mechanism_body_name(body), mechanism_body_name(body));
    }
}

static const char *law(mechanism *m, const char *own, const char *rate)
{
    if (m->opt.conservative || chance(0.4, &m->seed)) return NULL;
    return text(m, "%.3g*sin(%s) - 0.3*%s*%s + 0.5*%s", between(-2, 2, &m->seed), own, own, rate, signal(m));
}

static void make_two_points(mechanism *m, kd_force_def *f, int a, int b)
{
    f->from = random_place(m, a);
    f->to = random_place(m, b);
}

static void make_spring(mechanism *m, kd_force_def *f, int a, int b)
{
    uint64_t *seed = &m->seed;
    bool      joint = f->kind == KD_JOINT_SPRING;
    if (!joint) make_two_points(m, f, a, b);
    f->spring.stiffness = between(1, 10, seed);
    f->spring.damping = m->opt.conservative ? 0 : between(0.1, 1, seed);
    f->spring.length = chance(0.5, seed) ? NAN : between(0.2, 1, seed);
    f->spring.preload = chance(0.5, seed) ? 0 : between(-1, 1, seed);
    f->spring.law = law(m, joint ? "q" : f->kind == KD_RSDA ? "angle" : "length", joint ? "v" : "rate");
}

static void make_maxwell(mechanism *m, kd_force_def *f, int a, int b)
{
    uint64_t *seed = &m->seed;
    make_two_points(m, f, a, b);
    f->maxwell.stiffness = between(1, 10, seed);
    if (!m->opt.conservative) (void)between(0.1, 1, seed); // the numbers behind stay as they were
    f->maxwell.length = chance(0.5, seed) ? NAN : between(0.2, 1, seed);
    f->maxwell.preload = chance(0.5, seed) ? 0 : between(-1, 1, seed);
    f->maxwell.law = law(m, "length", "rate");
    f->maxwell.series = between(1, 10, seed);
    f->maxwell.damping = between(0.5, 2, seed);
}

// angles of a bushing are moderate: `to` lies nearly as `from` does
static void make_bushing(mechanism *m, kd_force_def *f, int a, int b)
{
    uint64_t *seed = &m->seed;
    f->from = random_place(m, a);
    pose at = {kd_vec_of(f->from.position), kd_quat_of(f->from.orientation)};
    f->to = place_at(b, behind(at, (pose){mechanism_vec(0.2, seed), kd_quat_exp(mechanism_vec(0.4, seed))}));
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k <= i; k++) {
            double value = i == k ? between(2, 8, seed) : between(-0.5, 0.5, seed);
            f->bushing.matrix[0][6 * i + k] = f->bushing.matrix[0][6 * k + i] = value;
            if (!m->opt.conservative) f->bushing.matrix[1][6 * i + k] = f->bushing.matrix[1][6 * k + i] = 0.1 * value;
        }
        f->bushing.preload[i] = between(-0.3, 0.3, seed);
    }
    if (!m->opt.conservative) f->bushing.matrix[0][1] += 0.4; // not symmetric: no potential
}

static void make_applied(mechanism *m, kd_force_def *f, int b)
{
    f->to = random_place(m, b);
    f->applied.in = m->opt.invariant || chance(0.5, &m->seed) ? KD_IN_BODY : KD_IN_WORLD;
    for (int i = 0; i < 3; i++) {
        if (chance(0.7, &m->seed))
            f->applied.force[i] = text(m, "%.3g + 0.4*%s", mechanism_random(&m->seed), signal(m));
        if (chance(0.7, &m->seed)) f->applied.torque[i] = text(m, "0.3*cos(2*t) + 0.2*%s", signal(m));
    }
}

static void make_stop(mechanism *m, kd_force_def *f)
{
    f->stop.lower = between(-1, 0.5, &m->seed);
    f->stop.upper = f->stop.lower + between(0.1, 1, &m->seed);
    f->stop.stiffness = between(5, 20, &m->seed);
    f->stop.damping = m->opt.conservative ? 0 : between(0, 1, &m->seed);
}

static void make_friction(mechanism *m, kd_force_def *f)
{
    f->friction.coulomb = between(0.1, 0.5, &m->seed);
    f->friction.breakaway = chance(0.5, &m->seed) ? 0 : f->friction.coulomb * between(1.1, 2, &m->seed);
    f->friction.stribeck = between(0.3, 1, &m->seed);
    f->friction.viscous = between(0, 0.5, &m->seed);
    f->friction.slip = between(0.2, 0.5, &m->seed);
}

// Friction of the force across a joint
static void make_rubbing(mechanism *m, kd_force_def *f, const kd_joint_def *j)
{
    bool cylindrical = j->kind == KD_CYLINDRICAL || j->kind == KD_LEFT_CYLINDRICAL;
    bool turns = j->kind == KD_REVOLUTE || (cylindrical && f->coordinate == 1);
    if (!turns && j->kind != KD_PRISMATIC && !cylindrical) return;
    if (!m->opt.rubs || j->cut == KD_CUT_NO || chance(0.5, &m->seed)) return;
    for (int i = 0; i < 2; i++) f->friction.normal[i] = between(0.01, 0.05, &m->seed);
    f->friction.lever = turns || chance(0.5, &m->seed) ? between(0.05, 0.2, &m->seed) : 0;
}

static void make_tyre(mechanism *m, kd_force_def *f, int b)
{
    f->to = random_place(m, b);
    f->tyre.radius = between(0.2, 0.5, &m->seed);
    f->tyre.stiffness = between(5, 20, &m->seed);
    f->tyre.damping = m->opt.conservative ? 0 : between(0.1, 1, &m->seed);
    f->tyre.preload = between(-1, 1, &m->seed);
    f->tyre.road = text(m, "%.17g + 0.06*sin(3*x%s)", f->to.position[2] - f->tyre.radius + 0.1,
                        m->opt.conservative ? "" : " + 2*t");
    f->tyre.lifts_off = !m->opt.smooth && chance(0.5, &m->seed);
    if (m->opt.conservative || chance(0.5, &m->seed)) return;
    f->tyre.friction = between(0.3, 1, &m->seed);
    f->tyre.load = between(1, 3, &m->seed);
    f->tyre.slip = between(0.3, 0.6, &m->seed);
    f->tyre.rolling_resistance = between(0, 0.1, &m->seed);
    for (int i = 0; i < 2; i++) {
        f->tyre.longitudinal[i] = between(1, 2, &m->seed) * (i + 1);
        f->tyre.lateral[i] = between(0.5, 1.5, &m->seed) * (i + 1);
    }
    if (chance(0.5, &m->seed)) f->tyre.camber = between(-0.2, 0.2, &m->seed);
    if (m->opt.states) f->tyre.relaxation = between(0.2, 1, &m->seed);
}

static void make_contact(mechanism *m, kd_force_def *f, int a, int b)
{
    uint64_t *seed = &m->seed;
    kd_quat   q = mechanism_quat(seed);
    f->contact.radius = between(0.2, 0.5, seed);
    f->to = random_place(m, b);
    kd_vec3 d = kd_vec(0.3, -0.2, f->contact.radius - between(-0.1, 0.2, seed));
    f->from = place_at(a, (pose){kd_vec_sub(kd_vec_of(f->to.position), turned(q, d)), q});
    f->contact.stiffness = between(20, 50, seed);
    f->contact.exponent = between(1.2, 2, seed);
    f->contact.dissipation = m->opt.conservative ? 0 : between(0, 1, seed);
    f->contact.friction = m->opt.conservative ? 0 : between(0.1, 0.8, seed);
    f->contact.slip = between(0.2, 0.5, seed);
}

static bool is_kinked(kd_force_kind kind)
{
    return kind == KD_JOINT_STOP || kind == KD_CONTACT;
}

// Oil and air in units in which pressures are about 1; volumes that no motion of the tests empties
static void make_hydraulic(mechanism *m, kd_force_def *f, int a, int b)
{
    uint64_t         *seed = &m->seed;
    kd_hydraulic_def *d = &f->hydraulic;
    make_two_points(m, f, a, b);
    d->area[0] = between(0.5, 1, seed);
    d->volume[0] = between(20, 30, seed);
    d->volume[1] = between(20, 30, seed);
    d->flow = between(0.2, 0.5, seed);
    d->drop = 1.0;
    d->smooth = between(0.2, 0.4, seed);
    d->length = chance(0.5, seed) ? NAN : between(0.2, 1, seed);
    d->area[1] = between(0.3, 0.5, seed);
    d->stroke = 1.0;
    d->bulk = between(20, 40, seed);
    d->leakage = between(0, 0.2, seed);
    d->viscous = between(0, 0.2, seed);
    d->supply[0] = between(3, 4, seed);
    d->supply[1] = between(0, 0.2, seed);
    d->pressure[0] = between(0.5, 1, seed);
    d->lag = chance(0.5, seed) ? 0.0 : between(0.3, 1, seed);
    d->valve = "0.5 + 0.1*sin(length) + 0.05*state.s1.out + 0.02*rate";
}

static void make_air_spring(mechanism *m, kd_force_def *f, int a, int b)
{
    uint64_t          *seed = &m->seed;
    kd_air_spring_def *d = &f->air_spring;
    make_two_points(m, f, a, b);
    d->area = between(0.5, 1, seed);
    d->volume = between(20, 30, seed);
    d->auxiliary = between(20, 30, seed);
    d->flow = between(0.2, 0.5, seed);
    d->drop = 1.0;
    d->smooth = between(0.2, 0.4, seed);
    d->length = chance(0.5, seed) ? NAN : between(0.2, 1, seed);
    d->ambient = 1.0;
    d->pressure = between(2, 3, seed);
    d->exponent = chance(0.3, seed) ? 1.0 : between(1.1, 1.5, seed);
    d->auxiliary = chance(0.3, seed) ? 0.0 : d->auxiliary;
    d->inflow = "0.1*sin(length) + 0.1*state.s0 - 0.05*rate";
}

void mechanism_make_force(mechanism *m, kd_force_kind kind)
{
    int b = mechanism_below(m->nbodies, &m->seed), a = m->opt.floating && m->nbodies == 1 ? b : random_body(m, b);
    int joint = random_joint(m);
    kd_force_def *f = &m->force[m->nforces];
    bool          in_joint = kind == KD_JOINT_SPRING || kind == KD_JOINT_STOP || kind == KD_JOINT_FRICTION;
    bool          external = kind == KD_TYRE || kind == KD_APPLIED;
    if (m->opt.smooth && is_kinked(kind)) return;
    if (m->opt.conservative && (kind == KD_APPLIED || kind == KD_JOINT_FRICTION || kind == KD_MAXWELL)) return;
    if ((m->opt.invariant && kind == KD_TYRE) || (m->opt.floating && external)) return;
    if ((in_joint && joint < 0) || (!in_joint && a == b)) return;
    *f = kd_force_def_default(kind);
    int on = joint;
    if (in_joint) {
        on = m->njoints > m->ntree && chance(0.3, &m->seed) ? m->njoints - 1 : joint; // a loop closure, too
        if (coordinates_of(m->joint[on].kind) == 0) on = joint;
        f->joint = mechanism_joint_name(on);
        f->coordinate = 1 + mechanism_below(coordinates_of(m->joint[on].kind), &m->seed);
    }
    switch (kind) {
    case KD_TSDA:
    case KD_JOINT_SPRING:
        make_spring(m, f, a, b);
        break;
    case KD_MAXWELL:
        make_maxwell(m, f, a, b);
        break;
    case KD_RSDA:
        if (joint >= 0 && chance(0.5, &m->seed) &&
            (m->joint[joint].kind == KD_REVOLUTE || m->joint[joint].kind == KD_SCREW ||
             m->joint[joint].kind == KD_CYLINDRICAL || m->joint[joint].kind == KD_LEFT_CYLINDRICAL))
            f->joint = mechanism_joint_name(joint);
        make_spring(m, f, a, b);
        if (f->joint) f->from = f->to = kd_place_default();
        if (!f->joint && m->opt.smooth) return; // the angle has no meaning where the z axes are far apart
        break;
    case KD_BUSHING:
        make_bushing(m, f, a, b);
        break;
    case KD_APPLIED:
        make_applied(m, f, b);
        break;
    case KD_JOINT_STOP:
        make_stop(m, f);
        break;
    case KD_JOINT_FRICTION:
        make_friction(m, f);
        make_rubbing(m, f, &m->joint[on]);
        break;
    case KD_TYRE:
        make_tyre(m, f, b);
        break;
    case KD_CONTACT:
        make_contact(m, f, a, b);
        break;
    case KD_HYDRAULIC:
        make_hydraulic(m, f, a, b);
        break;
    case KD_AIR_SPRING:
        make_air_spring(m, f, a, b);
        break;
    default:
        return;
    }
    m->nforces++;
}

// A user's element: f = (-k s0 + x s1', -c s1' + sin(s0) - x s0'), x' = s0 + s1 - x
static kd_eval user_force(double t, const double *s, const double *v, const double *x, void *context, double *force,
                          double *rate)
{
    (void)t, (void)context;
    force[0] = -2.0 * s[0] + x[0] * v[1];
    force[1] = -0.5 * v[1] + sin(s[0]) - x[0] * v[0];
    rate[0] = s[0] + s[1] - x[0];
    return KD_EVAL_OK;
}

static kd_eval user_derivative(double t, const double *s, const double *v, const double *x, void *context, double *J)
{
    (void)t, (void)context;
    const double columns[5][3] = {
        {-2.0, cos(s[0]), 1.0}, {0.0, 0.0, 1.0}, {0.0, -x[0], 0.0}, {x[0], -0.5, 0.0}, {v[1], -v[0], -1.0}};
    memcpy(J, columns, sizeof columns);
    return KD_EVAL_OK;
}

void mechanism_make_states(mechanism *m)
{
    int which, joint = random_joint(m);
    m->ninputs = 1;
    m->nstates = 3;
    for (int i = 0; i < 3; i++) {
        m->state[i] = kd_state_def_default((kd_state_kind)i);
        m->state[i].start = between(-1, 1, &m->seed);
    }
    m->state[0].time_constant = between(0.3, 1, &m->seed);
    m->state[0].input = joint >= 0 ? coordinate(m, joint, 'v', &which) : "sin(t)";
    m->state[1].kp = between(-1, 1, &m->seed);
    m->state[1].ki = between(-1, 1, &m->seed);
    m->state[1].input = text(m, "0.5 - state.s0 + 0.3*state.s2*input.u0 - 0.2*%s",
                             joint >= 0 ? coordinate(m, joint, 'q', &which) : "t");
    m->state[2].input = m->opt.invariant ? "-0.5*state.s2 + sin(t)*state.s1.out"
                                         : "-0.5*state.s2 + 0.1*body.b0.pos.x*body.b0.vel.z + sin(t)*state.s1.out";
    if (m->opt.invariant || m->opt.floating || joint < 0) return; // it pulls along the world's z
    m->nuser = 1;
    m->user = kd_user_force_def_default();
    m->user_measure[0] = coordinate(m, joint, 'q', &which);
    m->user_measure[1] = "body.b0.pos.z";
    m->user_start[0] = 0.3;
    m->user.nmeasures = 2;
    m->user.nstates = 1;
    m->user.eval = user_force;
    m->user.derivative = chance(0.5, &m->seed) ? user_derivative : NULL;
}
