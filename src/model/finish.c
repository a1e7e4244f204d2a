// finish.c: check a model as a whole, and fill in what follows: poses, masses, places in their bodies, references.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "model/build.h"

// ---- curves ---------------------------------------------------------------------------------------------------------

static kd_status finish_curves(kd_model *m)
{
    static const kd_curve_kind kind[] = {[KD_CURVE_LINEAR] = KD_CURVE_KIND_LINEAR,
                                         [KD_CURVE_SPLINE] = KD_CURVE_KIND_SPLINE,
                                         [KD_CURVE_AKIMA] = KD_CURVE_KIND_AKIMA,
                                         [KD_CURVE_MONOTONE] = KD_CURVE_KIND_MONOTONE};
    for (int i = 0; i < m->ncurves; i++) {
        kd_model_curve *c = &m->curve[i];
        char            why[300] = "";
        const kd_status status =
            kd_curve_create(kind[c->def.form], c->def.n, c->def.x, c->def.y, &c->curve, why, sizeof why);
        if (status == KD_ERR_MEMORY) return status;
        if (status < 0) kd_model_error(m, KD_SECTION_CURVE, i, NULL, "%s", why);
    }
    return KD_OK;
}

// ---- tracks ---------------------------------------------------------------------------------------------------------

// Names in a curvature: s, parameters, curves.
static bool find_in_curvature(const char *name, void *context, kd_symbol *out)
{
    kd_model *m = context;
    double    value;
    *out = (kd_symbol){.kind = KD_SYMBOL_VARIABLE};
    if (strcmp(name, "s") == 0) return true;
    if (kd_model_use_parameter(m, name, &value)) {
        *out = (kd_symbol){.kind = KD_SYMBOL_NUMBER, .number = value};
        return true;
    }
    const int curve = kd_model_find(m, KD_SECTION_CURVE, name);
    *out = (kd_symbol){.kind = KD_SYMBOL_CURVE, .curve = curve >= 0 ? m->curve[curve].curve : NULL};
    return out->curve != NULL;
}

typedef struct curvature {
    const kd_expr *expr;
    double        *work;
} curvature;

static double curvature_at(double s, void *context)
{
    const curvature *c = context;
    return kd_expr_value(c->expr, &s, c->work);
}

static kd_status finish_track(kd_model *m, int i)
{
    kd_model_track  *t = &m->track[i];
    const kd_symbols symbols = {find_in_curvature, NULL, m};
    kd_expr_error    error = {0};
    kd_expr         *expr = NULL;
    kd_arena         arena = {0};
    kd_status        status = kd_expr_compile(t->def.curvature, &symbols, &expr, &error);
    if (status == KD_ERR_MODEL) kd_model_error(m, KD_SECTION_TRACK, i, "curvature", "curvature: %s", error.text);
    if (status < 0) goto done;
    const double pieces = ceil((t->def.end - t->def.start) / t->def.step * (1.0 - 1e-12));
    if (!(pieces >= 1.0 && pieces <= 1e6)) {
        kd_model_error(m, KD_SECTION_TRACK, i, "end", "its end must lie behind its start, and not beyond 1e6 steps");
        goto done;
    }
    curvature law = {expr, kd_cut_double(&arena, kd_expr_work_size(expr))};
    status = arena.failed ? KD_ERR_MEMORY
                          : kd_track_create(t->def.start, t->def.end, (int)pieces, curvature_at, &law, &t->track);
    if (status == KD_ERR_MODEL) kd_model_error(m, KD_SECTION_TRACK, i, "curvature", "the curvature is not finite");
    for (int k = 0; k < KD_TRACK_PARTS && status == KD_OK; k++) {
        t->curve[k] = kd_curve_of_track(t->track, (kd_track_part)k);
        if (!t->curve[k]) status = KD_ERR_MEMORY;
    }
done:
    kd_arena_release(&arena);
    kd_expr_destroy(expr);
    return status == KD_ERR_MEMORY ? status : KD_OK;
}

static kd_status finish_tracks(kd_model *m)
{
    kd_status status = KD_OK;
    for (int i = 0; i < m->ntracks && status >= 0; i++) status = finish_track(m, i);
    return status;
}

// ---- places ---------------------------------------------------------------------------------------------------------

static const kd_anchor on_ground = {-1, {0, 0, 0}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

static kd_vec3 world_point(const kd_model *m, const kd_anchor *a)
{
    return a->body < 0 ? a->r : kd_vec_add(m->body[a->body].r, kd_mat_vec(&m->body[a->body].R, a->r));
}

// Both ends on one body: there is nothing that could move. An error is written.
static bool ends_differ(kd_model *m, kd_section section, int element, const kd_anchor *from, const kd_anchor *to)
{
    if (from->body != to->body) return true;
    kd_model_error(m, section, element, "to", "both ends are on %s%s%s", to->body < 0 ? "the ground" : "body '",
                   to->body < 0 ? "" : m->body[to->body].name, to->body < 0 ? "" : "'");
    return false;
}

static void finish_frames(kd_model *m)
{
    for (int i = 0; i < m->nframes; i++) {
        kd_frame *f = &m->frame[i];
        f->at = on_ground;
        kd_place_resolve(m, KD_SECTION_FRAME, i, "at", &f->def.at, &f->at);
    }
}

// ---- joints ---------------------------------------------------------------------------------------------------------

// A start quaternion is given whole and has a length; it is normalised.
static void check_quaternion(kd_model *m, int joint, double *q)
{
    int missing = 0;
    for (int i = 0; i < 4; i++) missing += isnan(q[i]);
    if (missing == 4) return;
    const double norm2 = kd_quat_norm2(kd_quat_of(q));
    if (missing > 0 || !(norm2 > 1e-20 && norm2 < 1e20)) {
        kd_model_error(m, KD_SECTION_JOINT, joint, "q", "q: the orientation is not a unit quaternion");
    } else {
        kd_quat_to(kd_quat_normalised(kd_quat_of(q)), q);
    }
}

static void check_motions(kd_model *m, int i)
{
    const kd_joint_def      *def = &m->joint[i].def;
    static const char *const field[] = {"motion[0]", "motion[1]", "motion[2]", "motion[3]", "motion[4]", "motion[5]"};
    const bool               by_quaternion = kd_joint_form_of(def->kind).ball;
    const int                n = by_quaternion ? 0 : kd_joint_coordinates(def->kind);
    for (int k = 0; k < 6; k++) {
        if (!def->motion[k]) continue;
        if (by_quaternion) {
            kd_model_error(m, KD_SECTION_JOINT, i, field[k], "the motion of a %s joint cannot be prescribed",
                           kd_joint_words[def->kind].word);
            return;
        }
        if (k >= n) {
            kd_model_error(m, KD_SECTION_JOINT, i, field[k], "motion of coordinate %d, but there %s %d", k + 1,
                           n == 1 ? "is only" : "are only", n);
        } else if (!isnan(def->q[k]) || !isnan(def->v[k])) {
            kd_model_warn(m, KD_SECTION_JOINT, i, "q", "its motion is prescribed, q and v of the start are not used");
        }
    }
}

static void finish_joints(kd_model *m)
{
    for (int i = 0; i < m->njoints; i++) {
        kd_joint           *j = &m->joint[i];
        const kd_joint_form form = kd_joint_form_of(j->def.kind);
        j->from = j->to = on_ground;
        if (kd_places_resolve(m, KD_SECTION_JOINT, i, &j->def.from, &j->def.to, kd_joint_is_cross(&form), &j->from,
                              &j->to)) {
            ends_differ(m, KD_SECTION_JOINT, i, &j->from, &j->to);
        }
        if (form.ball) check_quaternion(m, i, j->def.q + form.nscalars);
        check_motions(m, i);
    }
}

// ---- constraints ----------------------------------------------------------------------------------------------------

static void check_terms(kd_model *m, int i)
{
    static const char *const field[KD_MAX_TERMS] = {"terms[0]", "terms[1]", "terms[2]", "terms[3]",
                                                    "terms[4]", "terms[5]", "terms[6]", "terms[7]"};
    const kd_constraint_def *def = &m->constraint[i].def;
    if (def->nterms < 1) kd_model_error(m, KD_SECTION_CONSTRAINT, i, "terms", "it couples no coordinates");
    for (int k = 0; k < def->nterms; k++) {
        kd_path path;
        char    why[300] = "";
        if (!def->coordinate[k]) {
            kd_model_error(m, KD_SECTION_CONSTRAINT, i, field[k], "coordinate %d is missing", k + 1);
        } else if (!kd_path_parse(m, def->coordinate[k], &path, why, sizeof why)) {
            kd_model_error(m, KD_SECTION_CONSTRAINT, i, field[k], "%s", why);
        } else if (path.section != KD_SECTION_JOINT || path.property != KD_PROPERTY_Q) {
            kd_model_error(m, KD_SECTION_CONSTRAINT, i, field[k],
                           "'%s' cannot be coupled: it is no coordinate of a joint, as joint.NAME.q is",
                           def->coordinate[k]);
        } else if (def->factor[k] == 0.0) {
            kd_model_error(m, KD_SECTION_CONSTRAINT, i, field[k], "the factor of '%s' is 0", def->coordinate[k]);
        }
    }
}

static void check_distance(kd_model *m, int i)
{
    kd_constraint *c = &m->constraint[i];
    if (isnan(c->def.length)) {
        c->def.length = kd_vec_norm(kd_vec_sub(world_point(m, &c->to), world_point(m, &c->from)));
    }
    if (!(c->def.length > 0.0)) {
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, "length",
                       "the distance is 0, and so has no direction; a spherical joint holds two points together");
    }
}

static void find_curve(kd_model *m, int i)
{
    kd_constraint *c = &m->constraint[i];
    c->curve = kd_model_find(m, KD_SECTION_CURVE, c->def.value);
    if (c->curve >= 0) return;
    char text[300];
    kd_model_say_unknown(m, KD_SECTION_CURVE, c->def.value, text, sizeof text);
    kd_model_error(m, KD_SECTION_CONSTRAINT, i, "curve", "%s", text);
}

// A profile by the name of its curve; -1: none.
static int find_profile(kd_model *m, int i, const char *field, const char *name)
{
    if (!name) return -1;
    const int curve = kd_model_find(m, KD_SECTION_CURVE, name);
    char      text[300];
    if (curve >= 0 && m->curve[curve].def.form != KD_CURVE_SPLINE) {
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, field,
                       "the curve '%s' must be a spline: the second derivative of a profile is continuous", name);
    } else if (curve < 0) {
        kd_model_say_unknown(m, KD_SECTION_CURVE, name, text, sizeof text);
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, field, "%s", text);
    }
    return curve;
}

static void check_wheel(kd_model *m, int i)
{
    kd_constraint       *c = &m->constraint[i];
    const kd_wheel_rail *w = &c->def.rail;
    c->wheel_curve = find_profile(m, i, "wheel_profile", w->wheel_profile);
    c->rail_curve = find_profile(m, i, "rail_profile", w->rail_profile);
    const double slope = fabs(w->conicity) / sqrt(1.0 + w->conicity * w->conicity);
    if (c->wheel_curve < 0 && c->rail_curve < 0 && !(w->tread_radius > w->rail_radius))
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, "tread_radius",
                       "the hollow tread must have a larger radius than the head of the rail");
    if (c->rail_curve < 0 && !(slope < 0.9))
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, "conicity", "the tread is too steep");
}

static void finish_constraints(kd_model *m)
{
    for (int i = 0; i < m->nconstraints; i++) {
        kd_constraint *c = &m->constraint[i];
        c->from = c->to = on_ground;
        c->wheel_curve = c->rail_curve = -1;
        if (c->def.kind == KD_WHEEL_RAIL) check_wheel(m, i);
        if (c->def.kind == KD_COUPLING) {
            check_terms(m, i);
        } else if (c->def.kind != KD_EXPRESSION) {
            const bool placed =
                kd_places_resolve(m, KD_SECTION_CONSTRAINT, i, &c->def.from, &c->def.to, false, &c->from, &c->to);
            if (c->def.kind == KD_POINT_ON_CURVE) find_curve(m, i);
            if (!placed || !ends_differ(m, KD_SECTION_CONSTRAINT, i, &c->from, &c->to)) continue;
            if (c->def.kind == KD_DISTANCE) check_distance(m, i);
        }
    }
}

// ---- forces ---------------------------------------------------------------------------------------------------------

static bool acts_in_joint(const kd_force_def *def)
{
    switch (def->kind) {
    case KD_JOINT_SPRING:
    case KD_JOINT_STOP:
    case KD_JOINT_FRICTION:
        return true;
    case KD_RSDA:
        return def->joint != NULL;
    default:
        return false;
    }
}

// The joint of a force and the number of its coordinate.
static void find_joint(kd_model *m, int i)
{
    kd_force *f = &m->force[i];
    char      text[300];
    const int k = kd_model_find(m, KD_SECTION_JOINT, f->def.joint);
    if (k < 0) {
        kd_model_say_unknown(m, KD_SECTION_JOINT, f->def.joint, text, sizeof text);
        kd_model_error(m, KD_SECTION_FORCE, i, "joint", "%s", text);
        return;
    }
    const kd_joint     *j = &m->joint[k];
    const kd_joint_form form = kd_joint_form_of(j->def.kind);
    const int           n = kd_joint_coordinates(j->def.kind);
    if (f->def.kind == KD_RSDA) {
        if (!kd_joint_has_one_axis(&form, NULL) || form.nturns == 0) {
            kd_model_error(m, KD_SECTION_FORCE, i, "joint", "joint '%s' is not revolute, screw or cylindrical",
                           j->name);
            return;
        }
    } else if (f->def.coordinate < 1 || f->def.coordinate > n) {
        kd_model_error(m, KD_SECTION_FORCE, i, "coordinate", "coordinate %d of joint '%s', which has %d",
                       f->def.coordinate, j->name, n);
        return;
    }
    f->joint = k;
    f->from = j->from;
    f->to = j->to;
}

static bool rubs(const kd_force_def *def)
{
    return def->kind == KD_JOINT_FRICTION && (def->normal[0] > 0.0 || def->normal[1] > 0.0);
}

// Friction of the force across a joint needs that force as multipliers: the joint is a constraint in all coordinates.
static void check_friction(kd_model *m, int i)
{
    const kd_force_def *def = &m->force[i].def;
    kd_joint           *j = &m->joint[m->force[i].joint];
    const kd_joint_form form = kd_joint_form_of(j->def.kind);
    const bool          turns = kd_joint_turns(j->def.kind, def->coordinate - 1);
    if (def->stick && j->def.motion[def->coordinate - 1])
        kd_model_error(m, KD_SECTION_FORCE, i, "stick", "the motion of joint '%s' is prescribed: it cannot stick",
                       j->name);
    if (!rubs(def)) return;
    if (!kd_joint_has_one_axis(&form, NULL) || form.lead)
        kd_model_error(
            m, KD_SECTION_FORCE, i, "normal",
            "joint '%s' is not revolute, prismatic or cylindrical: there is no one force across it that rubs", j->name);
    else if (turns && !(def->lever > 0.0))
        kd_model_error(m, KD_SECTION_FORCE, i, "normal",
                       "it rubs against a turn: give the radius at which it does so as 'lever'");
    else if (j->def.cut == KD_CUT_NO)
        kd_model_error(m, KD_SECTION_FORCE, i, "normal",
                       "it needs the reaction of joint '%s' as a constraint, but that says 'cut: no'", j->name);
    j->rubs = true;
}

// A point in the world without axes of its own: a force along the axes of its body does not take those of the world.
static bool is_point_of_world(const kd_place *p)
{
    const bool axes = p->axis[0] != 0.0 || p->axis[1] != 0.0 || p->axis[2] != 0.0 || p->orientation[1] != 0.0 ||
                      p->orientation[2] != 0.0 || p->orientation[3] != 0.0;
    return p->in == KD_IN_WORLD && !axes;
}

// The road is on the ground, where `from` says nothing else.
static void finish_tyre(kd_model *m, int i)
{
    kd_force *f = &m->force[i];
    bool      to = kd_place_resolve(m, KD_SECTION_FORCE, i, "to", &f->def.to, &f->to);
    if (to && f->to.body < 0)
        kd_model_error(m, KD_SECTION_FORCE, i, "to", "it acts on the ground, which does not move");
    if (kd_place_resolve(m, KD_SECTION_FORCE, i, "from", &f->def.from, &f->from) && to && f->to.body >= 0)
        ends_differ(m, KD_SECTION_FORCE, i, &f->from, &f->to);
    if (f->def.friction > 0.0 && isnan(f->def.load))
        kd_model_error(m, KD_SECTION_FORCE, i, "friction", "a tyre with 'friction' needs its nominal 'load'");
}

// A stop or a contact is compliant or rigid.
static void check_restitution(kd_model *m, int i)
{
    const kd_force_def *d = &m->force[i].def;
    const bool          rigid = !isnan(d->restitution);
    const char *const   key = !isnan(d->stiffness)    ? "stiffness"
                              : d->damping != 0.0     ? "damping"
                              : d->dissipation != 0.0 ? "dissipation"
                              : d->friction != 0.0    ? "friction"
                                                      : NULL;
    if (!rigid && isnan(d->stiffness))
        kd_model_error(m, KD_SECTION_FORCE, i, "stiffness",
                       "'stiffness' is missing; or give 'restitution' for rigid impacts");
    else if (rigid && key && strcmp(key, "friction") == 0)
        kd_model_error(m, KD_SECTION_FORCE, i, key,
                       "a contact with 'restitution' has no friction; give 'stiffness' for a compliant one that has");
    else if (rigid && key)
        kd_model_error(m, KD_SECTION_FORCE, i, key, "'%s' has no meaning beside 'restitution', which makes it rigid",
                       key);
    if (rigid && d->kind == KD_JOINT_STOP && !(d->lower < d->upper))
        kd_model_error(m, KD_SECTION_FORCE, i, "lower", "the lower limit %g must be below the upper one, %g", d->lower,
                       d->upper);
}

// The volume of an air spring: by area and one volume, or by a curve.
static void finish_air_spring(kd_model *m, int i)
{
    kd_force           *f = &m->force[i];
    const kd_force_def *d = &f->def;
    if (!d->volumes) {
        if (isnan(d->area[0]) || isnan(d->volume[0]))
            kd_model_error(m, KD_SECTION_FORCE, i, "area", "'area' and 'volume' are needed, or a curve 'volumes'");
    } else if (!isnan(d->area[0]) || !isnan(d->volume[0]) || !isnan(d->length)) {
        kd_model_error(m, KD_SECTION_FORCE, i, "volumes",
                       "'area', 'volume' and 'length' have no meaning beside 'volumes', which has them");
    } else {
        char text[300];
        f->curve = kd_model_find(m, KD_SECTION_CURVE, d->volumes);
        if (f->curve < 0) kd_model_say_unknown(m, KD_SECTION_CURVE, d->volumes, text, sizeof text);
        if (f->curve < 0) kd_model_error(m, KD_SECTION_FORCE, i, "volumes", "%s", text);
    }
    if (d->volume[1] > 0.0 && d->flow == 0.0)
        kd_model_error(m, KD_SECTION_FORCE, i, "flow", "the throttle to the auxiliary volume needs its 'flow'");
}

static void check_hydraulic(kd_model *m, int i)
{
    const kd_force_def *d = &m->force[i].def;
    if (d->valve && d->flow == 0.0) kd_model_error(m, KD_SECTION_FORCE, i, "flow", "the valve needs its 'flow'");
    if (d->valve && !(d->supply[0] > d->supply[1]))
        kd_model_error(m, KD_SECTION_FORCE, i, "supply",
                       "the pressure of the pump, %g, must be above that of the tank, %g", d->supply[0], d->supply[1]);
    if (!d->valve && d->lag > 0.0)
        kd_model_error(m, KD_SECTION_FORCE, i, "lag", "'lag' has no meaning without 'valve'");
}

static void finish_forces(kd_model *m)
{
    for (int i = 0; i < m->nforces; i++) {
        kd_force *f = &m->force[i];
        f->from = f->to = on_ground;
        f->joint = f->curve = -1;
        if (f->def.kind == KD_AIR_SPRING) finish_air_spring(m, i);
        if (f->def.kind == KD_HYDRAULIC) check_hydraulic(m, i);
        if (f->def.kind == KD_JOINT_STOP || f->def.kind == KD_CONTACT) check_restitution(m, i);
        if (acts_in_joint(&f->def)) {
            find_joint(m, i);
            if (f->def.kind == KD_JOINT_FRICTION && f->joint >= 0) check_friction(m, i);
        } else if (f->def.kind == KD_TYRE) {
            finish_tyre(m, i);
        } else if (f->def.kind == KD_APPLIED) {
            if (kd_place_resolve(m, KD_SECTION_FORCE, i, "to", &f->def.to, &f->to) && f->to.body < 0) {
                kd_model_error(m, KD_SECTION_FORCE, i, "to", "it acts on the ground, which does not move");
            }
            if (f->def.in == KD_IN_BODY && is_point_of_world(&f->def.to)) f->to.R = kd_mat_identity();
        } else if (kd_places_resolve(m, KD_SECTION_FORCE, i, &f->def.from, &f->def.to, false, &f->from, &f->to)) {
            ends_differ(m, KD_SECTION_FORCE, i, &f->from, &f->to);
        }
    }
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static kd_status check_all(kd_model *m)
{
    kd_status status = finish_curves(m);
    if (status >= 0) status = finish_tracks(m);
    if (status < 0) return status;
    kd_finish_bodies(m);
    finish_frames(m);
    finish_joints(m);
    finish_constraints(m);
    finish_forces(m);
    status = kd_finish_laws(m);
    if (status >= 0 && kd_model_error_count(m) == 0) status = kd_finish_groups(m);
    if (status >= 0 && kd_model_error_count(m) == 0) status = kd_finish_plausible(m);
    if (status < 0) return status;
    return kd_model_error_count(m) > 0 ? KD_ERR_MODEL : KD_OK;
}

kd_status kd_model_finish(kd_model *m)
{
    if (!m) return KD_ERR_ARGUMENT;
    if (m->finished) return KD_OK;
    if (m->private->checked) return KD_ERR_MODEL; // a model that was found wrong stays so
    m->private->checked = true;
    kd_status status = check_all(m);
    if (status >= 0 && m->private->arena.failed) status = KD_ERR_MEMORY;
    m->finished = status >= 0;
    if (status == KD_ERR_MEMORY) kd_text(m->private->message, sizeof m->private->message, "out of memory");
    return status;
}
