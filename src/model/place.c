// place.c: places as they are written, and as frames in their bodies.
//
// A place given in the world at the design position (r_b, R_b of the body) is r = R_b'(p - r_b), R = R_b' R_w there. An
// axis fixes z; x is the reference made perpendicular to it, and where there is none, the reference of the other end of
// the element, so that the coordinates of a joint are 0 at the design position, or else an axis of the world.
//
// In a subsystem all this happens in its own coordinates, with the bodies as they are seen from there:
// r = Q'(r_b - c), R = Q'R_b L; the place in the body is L r, L R M then (subsystems.c).
#include <string.h>

#include "core/nearest.h"
#include "model/build.h"
#include "model/part.h"

// numbers in the world at the design position
kd_place kd_at(const char *body, double x, double y, double z)
{
    kd_place place = kd_place_default();
    place.body = body;
    place.position[0] = x;
    place.position[1] = y;
    place.position[2] = z;
    place.in = KD_IN_WORLD;
    return place;
}

kd_place kd_at_axis(const char *body, const double point[3], const double axis[3])
{
    kd_place place = point ? kd_at(body, point[0], point[1], point[2]) : kd_at(body, 0, 0, 0);
    if (axis) memcpy(place.axis, axis, sizeof place.axis);
    return place;
}

// numbers in the frame of the body
kd_place kd_in(const char *body, double x, double y, double z)
{
    kd_place place = kd_at(body, x, y, z);
    place.in = KD_IN_BODY;
    return place;
}

// where an interface of a flexible body is
kd_place kd_at_node(const char *body, const char *node)
{
    kd_place place = kd_in(body, 0, 0, 0);
    place.node = node;
    return place;
}

bool kd_place_is_default(const kd_place *place)
{
    const kd_place other = kd_place_default();
    bool same = place->body && strcmp(place->body, other.body) == 0 && place->in == other.in && place->frame == 0;
    same = same && !place->node;
    for (int i = 0; i < 3; i++)
        same = same && place->position[i] == other.position[i] && place->axis[i] == other.axis[i] &&
               place->reference[i] == other.reference[i];
    for (int i = 0; i < 4; i++) same = same && place->orientation[i] == other.orientation[i];
    return same;
}

// ---- frames ---------------------------------------------------------------------------------------------------------

// A place with its body found; rotation from its coordinates to the world
typedef struct work {
    kd_model           *m;
    kd_section          section;
    int                 element;
    const char         *field;
    const kd_place     *place;
    int                 body, node;
    kd_coordinates_of   in; // those of the place
    kd_vec3             position;
    kd_mat3             to_world;
    kd_vec3             reference; // to be used, in the coordinates of the place
    bool                fixed;     // the axes are known: those of a frame
    kd_mat3             axes;
    const kd_subsystem *subsystem; // of the element; NULL: none
} work;

static bool has_axis(const kd_place *p)
{
    return p->axis[0] != 0.0 || p->axis[1] != 0.0 || p->axis[2] != 0.0;
}

static bool has_reference(const kd_place *p)
{
    return p->reference[0] != 0.0 || p->reference[1] != 0.0 || p->reference[2] != 0.0;
}

static bool all_finite(const double *x, int n)
{
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i])) return false;
    }
    return true;
}

// The pose of the body, as it is seen from the subsystem
static void see_body(const work *w, kd_vec3 *r, kd_mat3 *R)
{
    const kd_subsystem *s = w->subsystem;
    *r = w->body < 0 ? kd_vec(0, 0, 0) : w->m->body[w->body].r;
    *R = w->body < 0 ? kd_mat_identity() : w->m->body[w->body].R;
    if (!s) return;
    *r = kd_mat_tvec(&s->Q, kd_vec_sub(*r, s->c));
    *R = kd_mat_tmul(&s->Q, R);
    *R = kd_mat_mul(R, &s->L);
}

// A place that is a frame of another subsystem: of one inside of this one, with its axes; of one outside, its point,
// with the axes of this one.
static void open_frame(work *w, const kd_frame *f)
{
    const kd_subsystem *s = w->subsystem, *other = kd_subsystem_of(w->m, KD_SECTION_FRAME, (int)(f - w->m->frame));
    kd_vec3             r;
    kd_mat3             R;
    // the frame's own pose in its body
    w->body = f->at.body;
    w->node = f->at.node;
    w->in = KD_IN_BODY;
    w->fixed = true;
    w->position = f->at.r;
    w->axes = f->at.R;
    see_body(w, &r, &R);
    w->to_world = R;
    // back through the image of this subsystem, which all its places take later
    if (s) w->position = kd_mat_tvec(&s->L, w->position);
    if (s && kd_subsystem_is_inside(w->m, other, s)) {
        w->axes = kd_mat_tmul(&s->L, &w->axes);
        w->axes = kd_mat_mul(&w->axes, &s->L);
    } else if (s) {
        w->axes = kd_mat_transpose(&R);
    }
}

// The piece of a body in pieces that has the node; the body itself where none has it
static int find_piece(const kd_model *m, int body, const char *node)
{
    for (int i = body; body >= 0 && i < m->nbodies && m->body[i].def.piece == i - body + 1; i++)
        if (kd_body_node(&m->body[i], node) > 0) return i;
    return body;
}

// The interface that a place names, and where it is. false: an error has been written.
static bool open_node(work *w, const kd_place *place, const char *field)
{
    if (place->node) w->body = find_piece(w->m, w->body, place->node);
    // only flexible bodies have nodes, and these lie in the axes of the body
    const kd_body          *b = w->body < 0 ? NULL : &w->m->body[w->body];
    const kd_flexible_body *f = b ? b->def.read : NULL;
    if (!place->node) return true;
    if (!f) {
        kd_model_error(w->m, w->section, w->element, field, "%s: '%s' has no node '%s': it is not flexible", field,
                       place->body, place->node);
        return false;
    }
    if (place->in != KD_IN_BODY) {
        kd_model_error(w->m, w->section, w->element, field, "%s: numbers at a node are in the body's axes: in: body",
                       field);
        return false;
    }
    // by its name, with a word about one that is nearly the same
    w->node = kd_body_node(b, place->node);
    if (w->node == 0) {
        kd_nearest nearest = kd_nearest_start(place->node);
        for (int i = 0; i < f->nframes; i++) kd_nearest_offer(&nearest, f->frame[i].name);
        kd_model_error(w->m, w->section, w->element, field, "%s: body '%s' has no node '%s'%s%s%s", field, b->name,
                       place->node, nearest.best ? ", did you mean '" : "", nearest.best ? nearest.best : "",
                       nearest.best ? "'?" : "");
        return false;
    }
    // the part is that of the mirror already, which what is written in a mirrored subsystem still becomes
    const kd_subsystem *s = kd_subsystem_of(w->m, w->section, w->element);
    const kd_vec3       at = f->frame[w->node - 1].at;
    w->position = kd_vec_add(w->position, s ? kd_mat_tvec(&s->L, at) : at);
    return true;
}

// Find the body and check the numbers. false: an error has been written.
static bool open_place(work *w, const kd_place *place, const char *field)
{
    w->place = place;
    w->field = field;
    w->body = -1;
    w->node = 0;
    // body, then numbers, then axes; the first fault is told
    if (!place->body || place->body[0] == '\0') {
        kd_model_error(w->m, w->section, w->element, field, "%s names no body", field);
        return false;
    }
    // the ground, or a body that is there
    if (strcmp(place->body, "ground") != 0) {
        w->body = kd_model_find(w->m, KD_SECTION_BODY, place->body);
        if (w->body < 0) {
            char text[300];
            kd_model_say_unknown(w->m, KD_SECTION_BODY, place->body, text, sizeof text);
            kd_model_error(w->m, w->section, w->element, field, "%s", text);
            return false;
        }
    }
    w->in = w->body < 0 ? KD_IN_WORLD : place->in;
    // a frame has all numbers already
    if (place->frame > 0 && place->frame <= w->m->nframes) {
        open_frame(w, &w->m->frame[place->frame - 1]);
        return true;
    }
    if (!all_finite(place->position, 3) || !all_finite(place->axis, 3) || !all_finite(place->reference, 3)) {
        kd_model_error(w->m, w->section, w->element, field, "%s: a number of the place is not finite", field);
        return false;
    }
    // a quaternion that can be normed
    const kd_quat q = kd_quat_of(place->orientation);
    if (!has_axis(place) && !(kd_quat_norm2(q) > 1e-20 && kd_quat_norm2(q) < 1e20)) {
        kd_model_error(w->m, w->section, w->element, field, "%s: the orientation is not a unit quaternion", field);
        return false;
    }
    // body frame as it is, or world at the design position
    kd_vec3 r;
    w->to_world = kd_mat_identity();
    if (w->in == KD_IN_BODY) see_body(w, &r, &w->to_world);
    w->position = kd_vec_of(place->position);
    w->reference = kd_vec_of(place->reference);
    return open_node(w, place, field);
}

static kd_vec3 unit(kd_vec3 a)
{
    return kd_vec_scale(1.0 / kd_vec_norm(a), a);
}

// a less its part along the unit vector n
static kd_vec3 across(kd_vec3 a, kd_vec3 n)
{
    return kd_vec_axpy(a, -kd_vec_dot(a, n), n);
}

// x of the world, or y for axes near x; the limit is no direction that people choose
static kd_vec3 world_reference(kd_vec3 z)
{
    return fabs(z.x) < 0.77 ? kd_vec(1, 0, 0) : kd_vec(0, 1, 0);
}

// Axes in the coordinates of the place. keep_x: the reference is exact and z gives way.
static bool make_axes(work *w, bool keep_x, kd_mat3 *R)
{
    const kd_place *p = w->place;
    if (w->fixed) {
        *R = w->axes;
        return true;
    }
    if (!has_axis(p)) {
        *R = kd_quat_matrix(kd_quat_of(p->orientation));
        return true;
    }
    const kd_vec3 axis = kd_vec_of(p->axis);
    if (!(kd_vec_norm(axis) > 1e-100)) {
        kd_model_error(w->m, w->section, w->element, w->field, "%s: the axis has no length", w->field);
        return false;
    }
    // z is the axis; x the reference across it
    kd_vec3 z = unit(axis), reference = w->reference;
    if (kd_vec_norm(reference) == 0.0) {
        reference = kd_mat_tvec(&w->to_world, world_reference(kd_mat_vec(&w->to_world, z)));
    }
    kd_vec3 x = unit(reference);
    if (!(kd_vec_norm(across(x, z)) > 1e-6)) {
        kd_model_error(w->m, w->section, w->element, w->field, "%s: axis and reference are parallel", w->field);
        return false;
    }
    if (keep_x) {
        z = unit(across(z, x));
    } else {
        x = unit(across(x, z));
    }
    *R = (kd_mat3){x, kd_vec_cross(z, x), z};
    return true;
}

// seen from the body at its design position
static void close_place(const work *w, const kd_mat3 *R, kd_anchor *anchor)
{
    kd_vec3 r;
    kd_mat3 axes;
    *anchor = (kd_anchor){w->body, w->position, *R, w->node};
    if (w->in == KD_IN_WORLD && (w->body >= 0 || w->subsystem)) {
        see_body(w, &r, &axes);
        anchor->r = kd_mat_tvec(&axes, kd_vec_sub(w->position, r));
        anchor->R = kd_mat_tmul(&axes, R);
    }
    if (!w->subsystem) return;
    anchor->r = kd_mat_vec(&w->subsystem->L, anchor->r);
    anchor->R = kd_place_image(w->m, w->section, w->element, w->field, &anchor->R);
}

bool kd_place_resolve(kd_model *m, kd_section section, int element, const char *field, const kd_place *place,
                      kd_anchor *anchor)
{
    work    w = {.m = m, .section = section, .element = element};
    kd_mat3 R;
    w.subsystem = kd_subsystem_of(m, section, element);
    if (!open_place(&w, place, field) || !make_axes(&w, false, &R)) return false;
    close_place(&w, &R, anchor);
    return true;
}

// The x axis of a finished place as the reference of one that has none of its own.
static void take_reference(work *w, const work *other, const kd_mat3 *R_other)
{
    // x of the other end in the coordinates of this one, unless it is almost along the axis
    const kd_vec3 x = kd_mat_tvec(&w->to_world, kd_mat_vec(&other->to_world, R_other->x));
    const kd_vec3 z = unit(kd_vec_of(w->place->axis));
    if (kd_vec_norm(across(x, z)) > 0.1) w->reference = x;
}

// First and second axis of a universal joint must be perpendicular, up to the digits of a drawing.
static bool is_universal(const work *w)
{
    const kd_place *p = w->place;
    if (!has_axis(p) || !has_reference(p)) return true;
    const double c = kd_vec_dot(unit(kd_vec_of(p->axis)), unit(kd_vec_of(p->reference)));
    if (fabs(c) < 1e-3) return true;
    kd_model_error(
        w->m, w->section, w->element, w->field,
        "%s: the two axes of a universal joint are perpendicular, but axis and reference are at %.4g degrees", w->field,
        acos(fmax(-1.0, fmin(1.0, c))) * 57.29577951308232);
    return false;
}

// two ends of one element
bool kd_places_resolve(kd_model *m, kd_section section, int element, const kd_place *from, const kd_place *to,
                       bool universal, kd_anchor *from_anchor, kd_anchor *to_anchor)
{
    work a = {.m = m, .section = section, .element = element}, b;
    a.subsystem = kd_subsystem_of(m, section, element);
    b = a;
    const bool a_open = open_place(&a, from, "from"), b_open = open_place(&b, to, "to");
    if (!a_open || !b_open) return false;
    if (universal && (!is_universal(&a) || !is_universal(&b))) return false;
    kd_mat3 Ra, Rb;
    // whichever end says more about x goes first
    const bool b_first = has_axis(from) && !has_reference(from) && (has_reference(to) || !has_axis(to));
    if (b_first) {
        if (!make_axes(&b, universal, &Rb)) return false;
        take_reference(&a, &b, &Rb);
        if (!make_axes(&a, false, &Ra)) return false;
    } else {
        if (!make_axes(&a, false, &Ra)) return false;
        if (has_axis(to) && !has_reference(to)) take_reference(&b, &a, &Ra);
        if (!make_axes(&b, universal, &Rb)) return false;
    }
    close_place(&a, &Ra, from_anchor);
    close_place(&b, &Rb, to_anchor);
    return true;
}

kd_vec3 kd_anchor_point(const kd_model *m, const kd_anchor *a)
{
    return a->body < 0 ? a->r : kd_vec_add(m->body[a->body].r, kd_mat_vec(&m->body[a->body].R, a->r));
}
