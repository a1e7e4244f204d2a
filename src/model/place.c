// place.c: places as they are written, and as frames in their bodies.
//
// A place given in the world at the design position (r_b, R_b of the body) is r = R_b'(p - r_b), R = R_b' R_w there. An
// axis fixes z; x is the reference made perpendicular to it, and where there is none, the reference of the other end of
// the element, so that the coordinates of a joint are 0 at the design position, or else an axis of the world.
#include <string.h>

#include "model/build.h"

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

// ---- frames ---------------------------------------------------------------------------------------------------------

// A place with its body found; rotation from its coordinates to the world
typedef struct work {
    kd_model       *m;
    kd_section      section;
    int             element;
    const char     *field;
    const kd_place *place;
    int             body;
    kd_mat3         to_world;
    kd_vec3         reference; // to be used, in the coordinates of the place
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

// axes of a body at the design position
static kd_mat3 axes_of(const kd_model *m, int body)
{
    return body < 0 ? kd_mat_identity() : m->body[body].R;
}

// Find the body and check the numbers. false: an error has been written.
static bool open_place(work *w, const kd_place *place, const char *field)
{
    w->place = place;
    w->field = field;
    w->body = -1;
    // body, then numbers, then axes; the first fault is told
    if (!place->body || place->body[0] == '\0') {
        kd_model_error(w->m, w->section, w->element, field, "%s names no body", field);
        return false;
    }
    if (strcmp(place->body, "ground") != 0) {
        w->body = kd_model_find(w->m, KD_SECTION_BODY, place->body);
        if (w->body < 0) {
            char text[300];
            kd_model_say_unknown(w->m, KD_SECTION_BODY, place->body, text, sizeof text);
            kd_model_error(w->m, w->section, w->element, field, "%s", text);
            return false;
        }
    }
    if (!all_finite(place->position, 3) || !all_finite(place->axis, 3) || !all_finite(place->reference, 3)) {
        kd_model_error(w->m, w->section, w->element, field, "%s: a number of the place is not finite", field);
        return false;
    }
    const kd_quat q = kd_quat_of(place->orientation);
    if (!has_axis(place) && !(kd_quat_norm2(q) > 1e-20 && kd_quat_norm2(q) < 1e20)) {
        kd_model_error(w->m, w->section, w->element, field, "%s: the orientation is not a unit quaternion", field);
        return false;
    }
    // body frame as it is, or world at the design position
    w->to_world = place->in == KD_IN_WORLD ? kd_mat_identity() : axes_of(w->m, w->body);
    w->reference = kd_vec_of(place->reference);
    return true;
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
    const kd_vec3 p = kd_vec_of(w->place->position);
    *anchor = (kd_anchor){w->body, p, *R};
    if (w->place->in == KD_IN_WORLD && w->body >= 0) {
        const kd_body *b = &w->m->body[w->body];
        anchor->r = kd_mat_tvec(&b->R, kd_vec_sub(p, b->r));
        anchor->R = kd_mat_tmul(&b->R, R);
    }
}

bool kd_place_resolve(kd_model *m, kd_section section, int element, const char *field, const kd_place *place,
                      kd_anchor *anchor)
{
    work    w = {.m = m, .section = section, .element = element};
    kd_mat3 R;
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
    work       a = {.m = m, .section = section, .element = element}, b = a;
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
