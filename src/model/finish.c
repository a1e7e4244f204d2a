// finish.c: check a model as a whole, and fill in what follows: poses, masses, places in their bodies, references.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "expr/table.h"
#include "model/element.h"

// ---- curves ---------------------------------------------------------------------------------------------------------

// forms of model files as those of the interpolation
static const kd_curve_kind kind[] = {[KD_CURVE_LINEAR] = KD_CURVE_KIND_LINEAR,
                                     [KD_CURVE_SPLINE] = KD_CURVE_KIND_SPLINE,
                                     [KD_CURVE_AKIMA] = KD_CURVE_KIND_AKIMA,
                                     [KD_CURVE_MONOTONE] = KD_CURVE_KIND_MONOTONE};

static const kd_outside outside[] = {[KD_CURVE_EXTRAPOLATE] = KD_OUTSIDE_TANGENT,
                                     [KD_CURVE_HOLD] = KD_OUTSIDE_HOLD,
                                     [KD_CURVE_ERROR] = KD_OUTSIDE_ERROR,
                                     [KD_CURVE_REPEAT] = KD_OUTSIDE_REPEAT};

static kd_status make_curve(const kd_curve_def *d, kd_curve **curve, char *why, size_t size)
{
    kd_table *table = NULL;
    if (!d->z) return kd_curve_create(kind[d->form], outside[d->outside], d->n, d->x, d->y, curve, why, size);
    const kd_status status =
        kd_table_create(kind[d->form], outside[d->outside], d->n, d->ny, d->x, d->y, d->z, &table, why, size);
    *curve = status == KD_OK ? kd_curve_of_table(table) : NULL;
    return status == KD_OK && !*curve ? KD_ERR_MEMORY : status;
}

static kd_status update_curve(const kd_curve_def *d, kd_curve *curve, char *why, size_t size)
{
    if (!d->z) return kd_curve_update(curve, kind[d->form], d->x, d->y, why, size);
    return kd_table_update(kd_curve_table(curve), kind[d->form], d->x, d->y, d->z, why, size);
}

// a table that is wrong is told; the others are still looked at
static kd_status finish_tables(kd_model *m)
{
    for (int i = 0; i < m->ncurves; i++) {
        kd_model_curve *c = &m->curve[i];
        char            why[300] = "";
        const kd_status status = make_curve(&c->def, &c->curve, why, sizeof why);
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
    // s is the only variable, at slot 0
    if (strcmp(name, "s") == 0) return true;
    name = kd_plain_name(name);
    if (kd_model_use_parameter(m, name, &value)) {
        const int i = kd_model_find(m, KD_SECTION_PARAMETER, name);
        *out = (kd_symbol){.kind = KD_SYMBOL_PARAMETER, .number = value, .slot = i};
        return true;
    }
    // curves are made before tracks
    const int curve = kd_model_find(m, KD_SECTION_CURVE, name);
    *out = (kd_symbol){.kind = KD_SYMBOL_CURVE, .curve = curve >= 0 ? m->curve[curve].curve : NULL};
    return out->curve != NULL;
}

static double curvature_at(double s, void *context)
{
    const kd_model_track *t = context;
    return kd_expr_value(t->expr, &s, t->work);
}

static double pieces_of(const kd_track_def *def)
{
    // rounded up, but a length that is a multiple of step up to rounding stays one
    return ceil((def->end - def->start) / def->step * (1.0 - 1e-12));
}

static kd_status finish_track(kd_model *m, int i)
{
    kd_model_track  *t = &m->track[i];
    const kd_symbols symbols = {find_in_curvature, NULL, m};
    kd_expr_error    error = {0};
    // curvature as an expression of s
    kd_status status = kd_expr_compile(t->def.curvature, &symbols, &t->expr, &error);
    if (status == KD_ERR_MODEL) kd_model_error(m, KD_SECTION_TRACK, i, "curvature", "curvature: %s", error.text);
    if (status < 0) return status == KD_ERR_MEMORY ? status : KD_OK;
    // pieces of equal length: 1 to 1e6 of them
    const double pieces = pieces_of(&t->def);
    if (!(pieces >= 1.0 && pieces <= 1e6)) {
        kd_model_error(m, KD_SECTION_TRACK, i, "end", "its end must lie behind its start, and not beyond 1e6 steps");
        return KD_OK;
    }
    t->work = kd_alloc((size_t)kd_expr_work_size(t->expr) * sizeof *t->work);
    // integrate, then the four functions that expressions can call
    status =
        !t->work ? KD_ERR_MEMORY : kd_track_create(t->def.start, t->def.end, (int)pieces, curvature_at, t, &t->track);
    if (status == KD_ERR_MODEL) kd_model_error(m, KD_SECTION_TRACK, i, "curvature", "the curvature is not finite");
    for (int k = 0; k < KD_TRACK_PARTS && status == KD_OK; k++) {
        t->curve[k] = kd_curve_of_track(t->track, (kd_track_part)k);
        if (!t->curve[k]) status = KD_ERR_MEMORY;
    }
    return status == KD_ERR_MEMORY ? status : KD_OK;
}

kd_status kd_finish_curves(kd_model *m)
{
    kd_status status = finish_tables(m);
    for (int i = 0; i < m->ntracks && status >= 0; i++) status = finish_track(m, i);
    return status;
}

// ---- other numbers --------------------------------------------------------------------------------------------------

static void update_track(kd_model *m, int i)
{
    kd_model_track *t = &m->track[i];
    // the number of pieces decides about memory: it must stay
    if (pieces_of(&t->def) != kd_track_pieces(t->track)) {
        kd_model_error(m, KD_SECTION_TRACK, i, "end", "it would have another number of pieces; read the model again");
    } else if (kd_expr_update(t->expr, m->private->theta, t->work) != KD_EXPR_CHANGED ||
               kd_track_update(t->track, t->def.start, t->def.end, curvature_at, t) < 0) {
        kd_model_error(m, KD_SECTION_TRACK, i, "curvature", "the curvature is not finite");
    }
}

void kd_update_curves(kd_model *m)
{
    for (int i = 0; i < m->ncurves; i++) {
        const kd_model_curve *c = &m->curve[i];
        char                  why[300] = "";
        if (update_curve(&c->def, c->curve, why, sizeof why) < 0)
            kd_model_error(m, KD_SECTION_CURVE, i, NULL, "%s", why);
    }
    for (int i = 0; i < m->ntracks; i++) update_track(m, i);
}

// ---- places ---------------------------------------------------------------------------------------------------------

static const kd_anchor on_ground = {-1, {0, 0, 0}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 0};

// Both ends on one body: there is nothing that could move. An error is written.
bool kd_ends_differ(kd_model *m, kd_section section, int element, const kd_anchor *from, const kd_anchor *to)
{
    if (from->body != to->body || from->node != to->node) return true; // nodes of a flexible body move
    kd_model_error(m, section, element, "to", "both ends are on %s%s%s", to->body < 0 ? "the ground" : "body '",
                   to->body < 0 ? "" : m->body[to->body].name, to->body < 0 ? "" : "'");
    return false;
}

// places that are known by name
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
    // all four numbers or none, of a length that can be normalised
    int missing = 0;
    for (int i = 0; i < 4; i++) missing += isnan(q[i]) != 0;
    if (missing == 4) return;
    const double norm2 = kd_quat_norm2(kd_quat_of(q));
    if (missing > 0 || !(norm2 > 1e-20 && norm2 < 1e20)) {
        kd_model_error(m, KD_SECTION_JOINT, joint, "q", "q: the orientation is not a unit quaternion");
    } else {
        kd_quat_to(kd_quat_normalised(kd_quat_of(q)), q);
    }
}

static void check_motions(kd_model *m, int i, const kd_joint_form *form)
{
    const kd_joint_def      *def = &m->joint[i].def;
    static const char *const field[] = {"motion[0]", "motion[1]", "motion[2]", "motion[3]", "motion[4]", "motion[5]"};
    const bool               by_quaternion = form->ball;
    const int                n = by_quaternion ? 0 : form->nscalars;
    // motions of a ball have no coordinates; of others only those that the joint has
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
        // errors leave both ends on the ground, so that later checks have something to look at
        j->from = j->to = on_ground;
        // both ends together: the axes of one may follow from the other
        if (kd_places_resolve(m, KD_SECTION_JOINT, i, &j->def.from, &j->def.to, kd_joint_is_cross(&form), &j->from,
                              &j->to)) {
            kd_ends_differ(m, KD_SECTION_JOINT, i, &j->from, &j->to);
        }
        if (form.ball) check_quaternion(m, i, j->def.q + form.nscalars);
        kd_finish_joint_table(m, i, &form);
        check_motions(m, i, &form);
    }
}

// ---- constraints and forces: their classes check them ---------------------------------------------------------------

int kd_finish_curve(kd_model *m, kd_section section, int element, const char *field, const char *name)
{
    const int curve = kd_model_find(m, KD_SECTION_CURVE, name);
    char      text[300];
    if (curve >= 0 && m->curve[curve].def.z) {
        kd_model_error(m, section, element, field, "curve '%s' has two arguments; here it must have one", name);
        return -1;
    }
    if (curve >= 0) return curve;
    kd_model_say_unknown(m, KD_SECTION_CURVE, name, text, sizeof text);
    kd_model_error(m, section, element, field, "%s", text);
    return -1;
}

bool kd_finish_constraint_places(kd_model *m, int i)
{
    kd_constraint *c = &m->constraint[i];
    return kd_places_resolve(m, KD_SECTION_CONSTRAINT, i, &c->def.from, &c->def.to, false, &c->from, &c->to) &&
           kd_ends_differ(m, KD_SECTION_CONSTRAINT, i, &c->from, &c->to);
}

static void finish_constraints(kd_model *m)
{
    for (int i = 0; i < m->nconstraints; i++) {
        kd_constraint *c = &m->constraint[i];
        const kd_element_class *class = kd_constraint_element((int)c->def.kind);
        // as above: a class that fails leaves places on the ground
        c->from = c->to = on_ground;
        c->wheel_curve = c->rail_curve = -1;
        if (class->finish)
            class->finish(m, i);
        else if (!class->placeless)
            (void)kd_finish_constraint_places(m, i);
    }
}

void kd_finish_two_places(kd_model *m, int i)
{
    kd_force *f = &m->force[i];
    if (kd_places_resolve(m, KD_SECTION_FORCE, i, &f->def.from, &f->def.to, false, &f->from, &f->to))
        kd_ends_differ(m, KD_SECTION_FORCE, i, &f->from, &f->to);
}

bool kd_finish_joint(kd_model *m, int i)
{
    kd_force *f = &m->force[i];
    char      text[300];
    const int k = kd_model_find(m, KD_SECTION_JOINT, f->def.joint);
    if (k < 0) {
        kd_model_say_unknown(m, KD_SECTION_JOINT, f->def.joint, text, sizeof text);
        kd_model_error(m, KD_SECTION_FORCE, i, "joint", "%s", text);
        return false;
    }
    const kd_joint *j = &m->joint[k];
    const int       n = kd_joint_coordinates(j->def.kind);
    // some classes act along a coordinate, others in the joint as a whole
    const bool chooses = kd_element_field(kd_force_element((int)f->def.kind), "coordinate") != NULL;
    if (chooses && (f->def.coordinate < 1 || f->def.coordinate > n)) {
        kd_model_error(m, KD_SECTION_FORCE, i, "coordinate", "coordinate %d of joint '%s', which has %d",
                       f->def.coordinate, j->name, n);
        return false;
    }
    // a force in a joint acts between its frames
    f->joint = k;
    f->from = j->from;
    f->to = j->to;
    return true;
}

void kd_finish_restitution(kd_model *m, int i, const char *const *others)
{
    const kd_force_def *d = &m->force[i].def;
    const kd_element_class *class = kd_force_element((int)d->kind);
    // one of both must be given, and beside restitution nothing else has a meaning
    const bool  soft = !isnan(kd_element_number(class, d, "stiffness"));
    const bool  rigid = !isnan(kd_element_number(class, d, "restitution"));
    const char *key = soft ? "stiffness" : NULL;
    for (; !key && *others; others++)
        if (kd_element_number(class, d, *others) != 0.0) key = *others;
    if (!rigid && !soft)
        kd_model_error(m, KD_SECTION_FORCE, i, "stiffness",
                       "'stiffness' is missing; or give 'restitution' for rigid impacts");
    else if (rigid && key && strcmp(key, "friction") == 0)
        kd_model_error(m, KD_SECTION_FORCE, i, key,
                       "a contact with 'restitution' has no friction; give 'stiffness' for a compliant one that has");
    else if (rigid && key)
        kd_model_error(m, KD_SECTION_FORCE, i, key, "'%s' has no meaning beside 'restitution', which makes it rigid",
                       key);
}

static void finish_forces(kd_model *m)
{
    for (int i = 0; i < m->nforces; i++) {
        kd_force *f = &m->force[i];
        f->from = f->to = on_ground;
        f->joint = f->curve = f->to_curve = -1;
        kd_force_element((int)f->def.kind)->finish(m, i);
    }
}

// ---- the whole ------------------------------------------------------------------------------------------------------

// in this order: places need poses of bodies, elements need joints
void kd_finish_numbers(kd_model *m)
{
    kd_finish_subsystems(m);
    kd_finish_bodies(m);
    finish_frames(m);
    finish_joints(m);
    finish_constraints(m);
    finish_forces(m);
}

static kd_status check_all(kd_model *m)
{
    // definitions as given are kept before they are filled in: parameters start from them again
    kd_status status = kd_model_keep_given(m);
    if (status >= 0) status = kd_finish_curves(m);
    if (status < 0) return status;
    kd_finish_numbers(m);
    // groups and plausibility need a model that is right
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
