// scene.c: from a model and its motion to solids, springs and traces.
//
// Shapes of bodies are drawn as they are. What the model does not say is added in its spirit: a body without shapes is
// made of bars between the places where joints and forces hold it; a place that lies away from all shapes of its body
// is tied to the nearest one; joints get pins, balls, crosses and rails; places on the ground stand on small pyramids.
#include "drawing/scene.h"

#include <ctype.h>
#include <string.h>

#include "core/text.h"
#include "drawing/camera.h"
#include "drawing/extent.h"
#include "drawing/lines.h"
#include "drawing/mesh.h"
#include "model/element.h"
#include "model/mesh_shape.h"

enum {
    MOST_SOLIDS = 6000,
    MOST_POINTS = 64, // of one body
    MOST_TRACES = 4,
    FINE = 16, // sides of round meshes, for many solids: COARSE
    COARSE = 10,
    MANY_SOLIDS = 150
};
static const double MARK = 0.009;        // radius of a pin, in sizes of the mechanism
static const double MARK_OF_BODY = 0.12; // and at most, in sizes of its bodies
static const double LARGEST_PIN = 2.5;   // in marks

// Bodies: the palette of the plots (Okabe and Ito); then joints, ground, springs.
static const char *const COLOUR[KD_PAINT_COUNT] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
                                                   "#56B4E9", "#4A5563", "#A7AFBA", "#7A5C1E"};

const char *kd_paint_colour(int paint)
{
    return COLOUR[paint];
}

// ---- poses ----------------------------------------------------------------------------------------------------------
void kd_film_pose(const kd_film *film, int frame, int body, kd_vec3 *r, kd_mat3 *R)
{
    *r = kd_vec(0, 0, 0);
    *R = kd_mat_identity();
    if (body < 0) return;
    const double *pose = film->pose + 7 * ((size_t)frame * (size_t)film->model->nbodies + (size_t)body);
    *r = kd_vec_of(pose);
    *R = kd_quat_matrix(kd_quat_of(pose + 3));
}

kd_vec3 kd_film_point(const kd_film *film, int frame, const kd_point_of *point)
{
    kd_vec3 r;
    kd_mat3 R;
    kd_film_pose(film, frame, point->body, &r, &R);
    return kd_vec_add(r, kd_mat_vec(&R, point->r));
}

kd_vec3 kd_film_node(const kd_film *film, int frame, const kd_deformed *d, int first, int node)
{
    const double *q = film->amplitude + (size_t)frame * (size_t)film->namplitudes + first;
    kd_point_of   at = {d->body, kd_deformed_node(d, node, d->nshapes > 0 ? q : NULL)};
    return kd_film_point(film, frame, &at);
}

static kd_vec3 unit(kd_vec3 a)
{
    double n = kd_vec_norm(a);
    return n > 0.0 ? kd_vec_scale(1.0 / n, a) : kd_vec(0, 0, 1);
}

static double distance(kd_vec3 a, kd_vec3 b)
{
    return kd_vec_norm(kd_vec_sub(a, b));
}

// Some axes whose z is along a
static kd_mat3 axes_along(kd_vec3 a)
{
    kd_vec3 z = unit(a), x = fabs(z.x) < 0.7 ? kd_vec(1, 0, 0) : kd_vec(0, 1, 0);
    x = unit(kd_vec_axpy(x, -kd_vec_dot(x, z), z));
    return (kd_mat3){x, kd_vec_cross(z, x), z};
}

// ---- solids ---------------------------------------------------------------------------------------------------------
typedef struct surface_file {
    const kd_model_mesh *read;
    bool                 inverted; // at its origin, as images in a mirror are
} surface_file;

typedef struct builder {
    kd_scene       *s;
    const kd_model *m;
    double          mark;   // radius of a thin pin [m]
    int             nfiles; // surfaces from files
    surface_file   *file;
} builder;

static void add_solid(builder *b, int mesh, kd_point_of at, const kd_mat3 *R, kd_vec3 size, int paint)
{
    if (b->s->nsolids == MOST_SOLIDS) return;
    b->s->solid[b->s->nsolids++] =
        (kd_solid){.mesh = mesh, .body = at.body, .paint = paint, .r = at.r, .q = kd_quat_of_matrix(R), .size = size};
}

static void add_ball(builder *b, kd_point_of at, double radius, int paint)
{
    kd_mat3 R = kd_mat_identity();
    add_solid(b, KD_MESH_BALL, at, &R, kd_vec(radius, radius, radius), paint);
}

static void add_cylinder(builder *b, kd_point_of at, const kd_mat3 *R, double radius, double length, int paint)
{
    int mesh = length > 8 * radius ? KD_MESH_LONG : length < 1.5 * radius ? KD_MESH_DISC : KD_MESH_CYLINDER;
    add_solid(b, mesh, at, R, kd_vec(radius, radius, length), paint);
}

// A bar between two points of a body
static void add_bar(builder *b, int body, kd_vec3 from, kd_vec3 to, double radius, int paint)
{
    kd_vec3 along = kd_vec_sub(to, from);
    kd_mat3 R = axes_along(along);
    add_cylinder(b, (kd_point_of){body, kd_vec_scale(0.5, kd_vec_add(from, to))}, &R, radius, kd_vec_norm(along),
                 paint);
}

// A box; a long one in pieces along its longest edge
static void add_box(builder *b, kd_point_of at, const kd_mat3 *R, kd_vec3 e, int paint)
{
    double shortest = fmin(e.x, fmin(e.y, e.z));
    if (e.x >= e.y && e.x >= e.z && e.x > 3 * shortest) {
        kd_mat3 turned = {R->y, R->z, R->x};
        add_solid(b, KD_MESH_BAR, at, &turned, kd_vec(e.y, e.z, e.x), paint);
    } else if (e.y >= e.x && e.y >= e.z && e.y > 3 * shortest) {
        kd_mat3 turned = {R->z, R->x, R->y};
        add_solid(b, KD_MESH_BAR, at, &turned, kd_vec(e.z, e.x, e.y), paint);
    } else {
        add_solid(b, e.z > 3 * shortest ? KD_MESH_BAR : KD_MESH_BOX, at, R, e, paint);
    }
}

// A foot under a place on the ground
static void add_foot(builder *b, kd_vec3 at, double radius)
{
    const kd_camera *camera = &b->s->camera;
    kd_mat3          R = {camera->right, kd_vec_cross(camera->up, camera->right), camera->up};
    add_solid(b, KD_MESH_PYRAMID, (kd_point_of){-1, at}, &R, kd_vec(2 * radius, 2 * radius, 3.2 * radius),
              KD_PAINT_GROUND);
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

static int number_of_file(const builder *b, const kd_shape *shape)
{
    int k = 0;
    while (k < b->nfiles && (b->file[k].read != shape->read || b->file[k].inverted != (shape->size[0] < 0.0))) k++;
    return k;
}

// A surface from a file: each file is one mesh, however many bodies have it, and another one where it is inverted. Its
// box has edges of unit length.
static void add_surface(builder *b, kd_point_of at, const kd_mat3 *R, const kd_shape *shape, int paint)
{
    const kd_surface_moments *box = &shape->read->moments;
    const double              scale = shape->size[0];
    const int                 k = number_of_file(b, shape);
    const kd_vec3             middle = kd_vec_scale(0.5 * scale, kd_vec_add(box->low, box->high));
    const kd_vec3             edges = kd_vec_scale(fabs(scale), kd_vec_sub(box->high, box->low));
    at.r = kd_vec_add(at.r, kd_mat_vec(R, middle));
    if (k < b->nfiles) add_solid(b, KD_MESHES + k, at, R, edges, paint);
}

static void add_shape(builder *b, int body, const kd_shape *shape)
{
    const double *e = shape->size;
    kd_point_of   at = {body, kd_vec_of(shape->position)};
    kd_mat3       R = kd_quat_matrix(kd_quat_of(shape->orientation));
    int           paint = b->s->paint[body];
    switch (shape->kind) {
    case KD_SPHERE:
        add_ball(b, at, e[0], paint);
        break;
    case KD_BOX:
        add_box(b, at, &R, kd_vec_of(e), paint);
        break;
    case KD_CYLINDER:
    case KD_ROD:
        add_cylinder(b, at, &R, e[0], e[1], paint);
        break;
    case KD_TUBE: {
        double outer = fmax(e[0], e[1]), inner = fmin(e[0], e[1]);
        if (e[2] > 6 * outer) // nobody looks inside
            add_cylinder(b, at, &R, outer, e[2], paint);
        else
            add_solid(b, kd_mesh_of_tube(inner / outer), at, &R, kd_vec(outer, outer, e[2]), paint);
        break;
    }
    case KD_MESH:
        add_surface(b, at, &R, shape, paint);
        break;
    case KD_SHAPE_NONE:
        break;
    }
}

// Distance of a point of the body from the box around a shape; 0 inside
static double distance_to_shape(const kd_shape *shape, kd_vec3 point)
{
    kd_mat3 R = kd_quat_matrix(kd_quat_of(shape->orientation));
    kd_vec3 q = kd_mat_tvec(&R, kd_vec_sub(point, kd_vec_of(shape->position))), h = kd_shape_half_edges(shape);
    return kd_vec_norm(kd_vec(fmax(fabs(q.x) - h.x, 0), fmax(fabs(q.y) - h.y, 0), fmax(fabs(q.z) - h.z, 0)));
}

static const kd_shape *nearest_shape(const kd_body_def *def, kd_vec3 point, double *far)
{
    const kd_shape *nearest = NULL;
    *far = INFINITY;
    for (int i = 0; i < def->nshapes; i++) {
        double d = distance_to_shape(&def->shape[i], point);
        if (d < *far) *far = d, nearest = &def->shape[i];
    }
    return nearest;
}

// ---- bodies ---------------------------------------------------------------------------------------------------------
typedef struct points {
    kd_vec3 at[MOST_POINTS];
    int     count;
} points;

static bool is_sliding(const kd_joint *j)
{
    const kd_joint_form form = kd_joint_form_of(j->def.kind);
    return kd_joint_has_one_axis(&form, NULL) && form.shifts != 0;
}

// Where a joint holds a body. The place of a slide along its axis means nothing: the one beside the centre of mass is
// taken.
static kd_anchor held_at(const builder *b, const kd_joint *j, const kd_anchor *end)
{
    kd_anchor a = *end;
    if (!is_sliding(j) || a.body < 0) return a;
    kd_vec3 to_centre = kd_vec_sub(b->m->body[a.body].centre, a.r);
    a.r = kd_vec_axpy(a.r, kd_vec_dot(to_centre, a.R.z), a.R.z);
    return a;
}

// Remember the anchor of a body, unless there is one at that place already
static void note_point(builder *b, points *list, int body, const kd_anchor *anchor)
{
    if (anchor->body != body || list->count == MOST_POINTS) return;
    for (int i = 0; i < list->count; i++)
        if (distance(list->at[i], anchor->r) < 0.5 * b->mark) return;
    list->at[list->count++] = anchor->r;
}

static bool force_has_points(const kd_force *f)
{
    return kd_force_element((int)f->def.kind)->look.between != KD_LOOK_NOTHING;
}

static bool constraint_has_points(const kd_constraint *c)
{
    return kd_constraint_element((int)c->def.kind)->look.between != KD_LOOK_NOTHING;
}

// Places where joints, forces and constraints hold a body
static points points_of(builder *b, int body)
{
    points list = {.count = 0};
    for (int j = 0; j < b->m->njoints; j++) {
        const kd_joint *joint = &b->m->joint[j];
        kd_anchor       from = held_at(b, joint, &joint->from), to = held_at(b, joint, &joint->to);
        note_point(b, &list, body, &from);
        note_point(b, &list, body, &to);
    }
    for (int i = 0; i < b->m->nforces; i++) {
        if (!force_has_points(&b->m->force[i])) continue;
        note_point(b, &list, body, &b->m->force[i].from);
        note_point(b, &list, body, &b->m->force[i].to);
    }
    for (int i = 0; i < b->m->nconstraints; i++) {
        if (!constraint_has_points(&b->m->constraint[i])) continue;
        note_point(b, &list, body, &b->m->constraint[i].from);
        note_point(b, &list, body, &b->m->constraint[i].to);
        for (int k = 0; k < b->m->constraint[i].def.nover; k++)
            note_point(b, &list, body, &b->m->constraint[i].over[k]);
    }
    return list;
}

// The point of the segment a-b that is closest to c
static kd_vec3 foot_on_segment(kd_vec3 a, kd_vec3 b, kd_vec3 c)
{
    kd_vec3 ab = kd_vec_sub(b, a);
    // a + s ab, s in [0, 1]
    double s = kd_vec_dot(kd_vec_sub(c, a), ab) / kd_vec_dot(ab, ab);
    return kd_vec_axpy(a, fmin(fmax(s, 0.0), 1.0), ab);
}

// A body without shapes: a weight on a bar, a bar, a triangle, a star
static void add_sticks(builder *b, int body, const points *list)
{
    kd_vec3 centre = b->m->body[body].centre, middle = kd_vec(0, 0, 0);
    double  thick = 0.8 * b->mark, weight = 1.8 * b->mark;
    int     n = list->count, paint = b->s->paint[body];
    // a pendulum: bar and weight
    if (n <= 1) {
        if (n == 1 && distance(list->at[0], centre) > b->mark) add_bar(b, body, list->at[0], centre, thick, paint);
        add_ball(b, (kd_point_of){body, centre}, weight, paint);
    } else if (n == 2) { // a bar, the centre of mass beside it on a branch
        kd_vec3 foot = foot_on_segment(list->at[0], list->at[1], centre);
        add_bar(b, body, list->at[0], list->at[1], thick, paint);
        if (distance(foot, centre) > 2 * b->mark) {
            add_bar(b, body, foot, centre, thick, paint);
            add_ball(b, (kd_point_of){body, centre}, weight, paint);
        }
    } else if (n == 3) {
        for (int i = 0; i < 3; i++) add_bar(b, body, list->at[i], list->at[(i + 1) % 3], thick, paint);
    } else {
        for (int i = 0; i < n; i++) middle = kd_vec_axpy(middle, 1.0 / n, list->at[i]);
        for (int i = 0; i < n; i++)
            if (distance(middle, list->at[i]) > 0.5 * b->mark) add_bar(b, body, middle, list->at[i], thick, paint);
    }
}

// A disc or ball about a place of the body; false: the element knows of none
static bool add_wheel_of(builder *b, int body, const kd_look *look, const void *def, const kd_anchor *to)
{
    double radius = 0;
    if (look->wheel == KD_LOOK_NO_WHEEL || to->body != body) return false;
    memcpy(&radius, (const char *)def + look->radius, sizeof radius);
    if (!(radius > 0)) return false;
    if (look->wheel == KD_LOOK_DISC)
        add_cylinder(b, (kd_point_of){body, to->r}, &to->R, radius, 0.12 * radius, b->s->paint[body]);
    else
        add_ball(b, (kd_point_of){body, to->r}, radius, b->s->paint[body]);
    return true;
}

// Discs and balls that forces and constraints know of, where the body has no shape
static bool add_wheel(builder *b, int body)
{
    for (int i = 0; i < b->m->nconstraints; i++) {
        const kd_constraint *c = &b->m->constraint[i];
        if (add_wheel_of(b, body, &kd_constraint_element((int)c->def.kind)->look, &c->def, &c->to)) return true;
    }
    for (int i = 0; i < b->m->nforces; i++) {
        const kd_force *f = &b->m->force[i];
        if (add_wheel_of(b, body, &kd_force_element((int)f->def.kind)->look, &f->def, &f->to)) return true;
    }
    return false;
}

// Its shapes, or something in their place, and ties to places that lie outside
static bool is_deformed(const builder *b, int body)
{
    for (int i = 0; i < b->s->film.ndeformed; i++)
        if (b->s->film.deformed[i].body == body) return true;
    return false;
}

static void add_body(builder *b, int body)
{
    const kd_body_def *def = &b->m->body[body].def;
    points             list = points_of(b, body);
    for (int i = 0; i < def->nshapes; i++) add_shape(b, body, &def->shape[i]);
    if (is_deformed(b, body)) return; // its surface stands for it
    if (def->nshapes == 0 && !add_wheel(b, body)) add_sticks(b, body, &list);
    for (int i = 0; def->nshapes > 0 && i < list.count; i++) { // tie places that lie outside
        double          far;
        const kd_shape *shape = nearest_shape(def, list.at[i], &far);
        if (far > b->mark) add_bar(b, body, list.at[i], kd_vec_of(shape->position), 0.6 * b->mark, b->s->paint[body]);
    }
}

size_t kd_family_length(const char *name)
{
    const char *bracket = strchr(name, '(');
    return bracket ? (size_t)(bracket - name) : strlen(name);
}

// The part of a name that bodies of one colour share: of corner(1,2).wheel that is wheel, of link(3) link
static const char *kin_of(const char *name, size_t *length)
{
    const char *dot = strrchr(name, '.'), *own = dot ? dot + 1 : name;
    *length = kd_family_length(own);
    return own;
}

static bool is_many(const char *name)
{
    return strchr(name, '(') != NULL;
}

static void choose_paints(builder *b)
{
    int families = 0;
    for (int i = 0; i < b->m->nbodies; i++) {
        size_t      length, others;
        const char *name = b->m->body[i].name, *own = kin_of(name, &length);
        int         found = -1;
        // the colour of the last one of its kin, where there may be several
        for (int k = i - 1; k >= 0 && found < 0 && (is_many(name) || own != name); k--) {
            const char *other = kin_of(b->m->body[k].name, &others);
            if (others == length && strncmp(own, other, length) == 0) found = b->s->paint[k];
        }
        b->s->paint[i] = found >= 0 ? found : families++ % KD_PAINT_BODIES;
    }
}

// ---- joints ---------------------------------------------------------------------------------------------------------
// Thickness of a body around a place
static double thickness(const builder *b, const kd_anchor *a)
{
    double          far;
    const kd_shape *shape = a->body < 0 ? NULL : nearest_shape(&b->m->body[a->body].def, a->r, &far);
    if (!shape || shape->kind == KD_SPHERE) return 0.0;
    kd_vec3 h = kd_shape_half_edges(shape);
    return 2.0 * fmin(h.x, fmin(h.y, h.z));
}

static bool is_bare(const builder *b, int body)
{
    return body < 0 || b->m->body[body].def.nshapes == 0;
}

// A rail along the axis of a sliding joint, as long as the motion needs it
static void add_rail(builder *b, const kd_joint *j)
{
    const kd_film *film = &b->s->film;
    double         low = 0, high = 0;
    kd_vec3        axis = j->from.R.z;
    kd_anchor      slider = held_at(b, j, &j->to);
    // q = axis'(R'(r_slider - r) - r_from): from where to where it slides
    for (int i = 0; i < film->nframes; i++) {
        kd_vec3     r;
        kd_mat3     R;
        kd_point_of to = {slider.body, slider.r};
        kd_film_pose(film, i, j->from.body, &r, &R);
        double q = kd_vec_dot(kd_vec_sub(kd_mat_tvec(&R, kd_vec_sub(kd_film_point(film, i, &to), r)), j->from.r), axis);
        low = i == 0 ? q : fmin(low, q);
        high = i == 0 ? q : fmax(high, q);
    }
    if (high - low > KD_CAMERA_SLIDE * b->s->size) return; // a drive, not a slide
    // from the lowest to the highest q and a little more; on the ground with two blocks
    double  over = 6 * b->mark;
    kd_vec3 from = kd_vec_axpy(j->from.r, low - over, axis), to = kd_vec_axpy(j->from.r, high + over, axis);
    bool    ground = j->from.body < 0;
    add_bar(b, j->from.body, from, to, 0.5 * b->mark, ground ? KD_PAINT_GROUND : KD_PAINT_JOINT);
    if (!ground) return;
    double edge = 2.5 * b->mark;
    add_box(b, (kd_point_of){-1, from}, &j->from.R, kd_vec(edge, edge, edge), KD_PAINT_GROUND);
    add_box(b, (kd_point_of){-1, to}, &j->from.R, kd_vec(edge, edge, edge), KD_PAINT_GROUND);
}

// The axes of a frame, turned so that z is its axis i
static kd_mat3 with_z_along(const kd_mat3 *R, int i)
{
    return i == 2 ? *R : i == 0 ? (kd_mat3){R->y, R->z, R->x} : (kd_mat3){R->z, R->x, R->y};
}

// One turn: a pin. Two: a cross of pins. More: a ball. Two shifts: a plate. Along one axis: a slide.
static void add_joint(builder *b, const kd_joint *j)
{
    const kd_joint_form form = kd_joint_form_of(j->def.kind);
    // a pin that stands out of the bodies that it holds
    double pin = fmin(fmax(0.62 * fmax(thickness(b, &j->from), thickness(b, &j->to)), b->mark), LARGEST_PIN * b->mark);
    kd_point_of   from = {j->from.body, j->from.r}, to = {j->to.body, j->to.r};
    const kd_mat3 first = with_z_along(&j->from.R, form.turn[0]), second = with_z_along(&j->to.R, form.turn[1]);
    bool          slides = is_sliding(j), stands = form.shifts == 0;
    if (stands && (form.ball || form.nturns > 2)) {
        add_ball(b, to, 1.25 * pin, KD_PAINT_JOINT);
    } else if (stands && form.nturns == 1) {
        add_cylinder(b, from, &first, pin, 2.6 * pin, KD_PAINT_JOINT);
    } else if (stands && form.nturns == 2) {
        add_cylinder(b, from, &first, 0.55 * pin, 3.4 * pin, KD_PAINT_JOINT);
        add_cylinder(b, to, &second, 0.55 * pin, 3.4 * pin, KD_PAINT_JOINT);
    } else if (!stands && !slides && !form.floats) {
        add_solid(b, KD_MESH_BOX, to, &j->to.R, kd_vec(4 * b->mark, 4 * b->mark, 0.5 * b->mark), KD_PAINT_JOINT);
    }
    // slides of bodies without shape: a rail and a carriage on it
    if (slides && (is_bare(b, from.body) || is_bare(b, to.body))) add_rail(b, j);
    if (slides && to.body >= 0 && is_bare(b, to.body))
        add_box(b, (kd_point_of){to.body, held_at(b, j, &j->to).r}, &j->to.R,
                kd_vec(2.6 * b->mark, 2.6 * b->mark, 4 * b->mark), b->s->paint[to.body]);
    // what is held by the ground stands on a foot
    if (stands && (from.body < 0 || to.body < 0)) add_foot(b, from.body < 0 ? from.r : to.r, pin);
}

// ---- forces and constraints -----------------------------------------------------------------------------------------
static void add_link(builder *b, kd_scene_link look, const char *name, kd_point_of from, kd_point_of to)
{
    static const double THICK[] = {[KD_LINK_COIL] = 1.9,
                                   [KD_LINK_ROD] = 0.67,
                                   [KD_LINK_DAMPER] = 1.1,
                                   [KD_LINK_ROPE] = 0.3,
                                   [KD_LINK_COUPLING] = 0.25}; // in marks
    const double        radius = look == KD_LINK_COIL ? THICK[look] * b->mark : 0.0;
    b->s->coil[b->s->ncoils++] = (kd_coil){from, to, radius, look, THICK[look] * b->mark, name};
}

// A piston is a rod that grows; what has stiffness is a spring, what has damping a damper inside of it or alone.
static void add_coil(builder *b, const kd_force *f)
{
    const kd_element_class *class = kd_force_element((int)f->def.kind);
    const kd_point_of from = {f->from.body, f->from.r}, to = {f->to.body, f->to.r};
    const bool        damps = kd_element_number(class, &f->def, "damping") > 0.0;
    if (class->look.between == KD_LOOK_PISTON)
        add_link(b, KD_LINK_ROD, f->name, from, to);
    else if (class->look.between != KD_LOOK_COIL)
        return;
    else if (damps)
        add_link(b, KD_LINK_DAMPER, f->name, from, to);
    // a law in place of numbers may be anything: it is a spring
    const bool springs = !damps || kd_element_number(class, &f->def, "stiffness") > 0.0;
    if (class->look.between == KD_LOOK_COIL && springs) add_link(b, KD_LINK_COIL, f->name, from, to);
    if (from.body < 0) add_foot(b, from.r, b->mark);
    if (to.body < 0) add_foot(b, to.r, b->mark);
}

// What keeps a distance is a rod; a rope where a motion hauls it in
static void add_rod(builder *b, const kd_constraint *c)
{
    const kd_point_of from = {c->from.body, c->from.r}, to = {c->to.body, c->to.r};
    add_link(b, c->def.value ? KD_LINK_ROPE : KD_LINK_ROD, c->name, from, to);
    add_ball(b, from, b->mark, KD_PAINT_JOINT);
    add_ball(b, to, b->mark, KD_PAINT_JOINT);
}

static void add_rope(builder *b, const kd_constraint *c)
{
    kd_point_of last = {c->from.body, c->from.r};
    add_ball(b, last, 0.6 * b->mark, KD_PAINT_JOINT);
    for (int i = 0; i <= c->def.nover; i++) {
        const kd_anchor  *a = i < c->def.nover ? &c->over[i] : &c->to;
        const kd_point_of next = {a->body, a->r};
        add_link(b, KD_LINK_ROPE, c->name, last, next);
        add_ball(b, next, (i < c->def.nover ? 1.0 : 0.6) * b->mark, KD_PAINT_JOINT);
        last = next;
    }
}

// ---- constraints without places -------------------------------------------------------------------------------------
enum { MOST_COUPLED = 8 };

// Does a text speak of an element, as in joint.NAME.q?
static bool speaks_of(const char *text, const char *section, const char *name)
{
    char path[300];
    kd_text(path, sizeof path, "%s.%s.", section, name);
    for (const char *at = text; (at = strstr(at, path)) != NULL; at++)
        if (at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_' || at[-1] == '.')) return true;
    return false;
}

// Places of the joints, bodies and frames that an expression reads
static int places_in(const builder *b, const char *text, kd_point_of *place, int count)
{
    const kd_model *m = b->m;
    for (int i = 0; i < m->njoints && count < MOST_COUPLED; i++)
        if (speaks_of(text, "joint", m->joint[i].name))
            place[count++] = (kd_point_of){m->joint[i].to.body, m->joint[i].to.r};
    for (int i = 0; i < m->nbodies && count < MOST_COUPLED; i++)
        if (speaks_of(text, "body", m->body[i].name)) place[count++] = (kd_point_of){i, m->body[i].centre};
    for (int i = 0; i < m->nframes && count < MOST_COUPLED; i++)
        if (speaks_of(text, "frame", m->frame[i].name))
            place[count++] = (kd_point_of){m->frame[i].at.body, m->frame[i].at.r};
    return count;
}

// A gear, a belt, an equation: dashes from each of what it couples to the next. One place alone is coupled with time.
static void add_coupling(builder *b, const kd_constraint *c)
{
    kd_point_of place[MOST_COUPLED];
    int         count = 0;
    for (int k = 0; k < c->def.nterms && k < KD_MAX_TERMS; k++)
        if (c->def.coordinate[k]) count = places_in(b, c->def.coordinate[k], place, count);
    if (c->def.nterms == 0 && c->def.value) count = places_in(b, c->def.value, place, count);
    if (count == 1) add_link(b, KD_LINK_COUPLING, c->name, place[0], place[0]);
    for (int i = 1; i < count; i++) add_link(b, KD_LINK_COUPLING, c->name, place[i - 1], place[i]);
}

// ---- traces ---------------------------------------------------------------------------------------------------------
static void add_trace(builder *b, int body, kd_vec3 r)
{
    kd_scene *s = b->s;
    if (body < 0 || s->ntraces == MOST_TRACES) return;
    for (int i = 0; i < s->ntraces; i++)
        if (s->trace[i].at.body == body && distance(s->trace[i].at.r, r) < 0.1 * b->mark) return;
    s->trace[s->ntraces++] = (kd_trace){{body, r}, s->paint[body]};
}

static double path_length(const kd_film *film, kd_point_of at)
{
    double  length = 0;
    kd_vec3 last = kd_film_point(film, 0, &at);
    for (int i = 1; i < film->nframes; i++) {
        kd_vec3 now = kd_film_point(film, i, &at);
        length += distance(last, now);
        last = now;
    }
    return length;
}

// The point whose position a text reads, if it is a path of one
static void add_trace_of(builder *b, const char *text)
{
    kd_path path;
    if (!kd_path_parse(b->m, text, &path, NULL, 0)) return;
    bool place = path.property == KD_PROPERTY_POS || path.property == KD_PROPERTY_COM;
    if (place && path.section == KD_SECTION_FRAME)
        add_trace(b, b->m->frame[path.element].at.body, b->m->frame[path.element].at.r);
    if (place && path.section == KD_SECTION_BODY)
        add_trace(b, path.element,
                  path.property == KD_PROPERTY_COM ? b->m->body[path.element].centre : kd_vec(0, 0, 0));
}

// Points whose position an output reads; else the named frames; else the centre of mass that goes farthest.
static void choose_traces(builder *b)
{
    // sensors, paths that are watched
    for (int i = 0; i < b->m->nsensors; i++) add_trace_of(b, b->m->sensor[i].def.value);
    const char *path;
    for (int i = 0; (path = kd_system_watched(b->s->film.system, i)) != NULL; i++) add_trace_of(b, path);
    // frames
    for (int i = 0; b->s->ntraces == 0 && i < b->m->nframes; i++)
        add_trace(b, b->m->frame[i].at.body, b->m->frame[i].at.r);
    // the longest way
    double longest = 0;
    int    best = -1;
    for (int i = 0; b->s->ntraces == 0 && i < b->m->nbodies; i++) {
        double length = path_length(&b->s->film, (kd_point_of){i, b->m->body[i].centre});
        if (length > longest) longest = length, best = i;
    }
    if (best >= 0) add_trace(b, best, b->m->body[best].centre);
}

// ---- size -----------------------------------------------------------------------------------------------------------
typedef struct box {
    kd_vec3 low, high;
} box;

static void extend(box *b, kd_vec3 a)
{
    b->low = kd_vec(fmin(b->low.x, a.x), fmin(b->low.y, a.y), fmin(b->low.z, a.z));
    b->high = kd_vec(fmax(b->high.x, a.x), fmax(b->high.y, a.y), fmax(b->high.z, a.z));
}

static const box EMPTY = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static void extend_by_anchor(const builder *b, box *around, const kd_anchor *a)
{
    kd_point_of at = {a->body, a->r};
    extend(around, kd_film_point(&b->s->film, 0, &at));
}

// The mechanism at the first frame: centres, places of joints and springs, boxes around shapes
static double size_of_mechanism(const builder *b)
{
    box around = EMPTY;
    // centres and corners of shapes
    for (int i = 0; i < b->m->nbodies; i++) {
        const kd_body *body = &b->m->body[i];
        kd_point_of    at = {i, body->centre};
        extend(&around, kd_film_point(&b->s->film, 0, &at));
        for (int k = 0; k < body->def.nshapes; k++) {
            kd_mat3 R = kd_quat_matrix(kd_quat_of(body->def.shape[k].orientation));
            kd_vec3 h = kd_shape_half_edges(&body->def.shape[k]);
            for (int c = 0; c < 8; c++) {
                kd_vec3 corner = kd_vec(c & 1 ? h.x : -h.x, c & 2 ? h.y : -h.y, c & 4 ? h.z : -h.z);
                at.r = kd_vec_add(kd_vec_of(body->def.shape[k].position), kd_mat_vec(&R, corner));
                extend(&around, kd_film_point(&b->s->film, 0, &at));
            }
        }
    }
    // surfaces that deform, before they do
    for (int i = 0; i < b->s->film.ndeformed; i++) {
        const kd_deformed *d = &b->s->deformed[i];
        for (int k = 0; k < d->nnodes; k++) {
            kd_point_of at = {d->body, kd_deformed_node(d, k, NULL)};
            extend(&around, kd_film_point(&b->s->film, 0, &at));
        }
    }
    // places of joints; those of slides on the ground mean nothing
    for (int j = 0; j < b->m->njoints; j++) {
        const kd_joint_form form = kd_joint_form_of(b->m->joint[j].def.kind);
        if (form.floats && form.ball) continue; // its frames are where they are written, not where something is
        kd_anchor from = held_at(b, &b->m->joint[j], &b->m->joint[j].from);
        kd_anchor to = held_at(b, &b->m->joint[j], &b->m->joint[j].to);
        if (from.body >= 0 || !is_sliding(&b->m->joint[j])) extend_by_anchor(b, &around, &from);
        if (to.body >= 0 || !is_sliding(&b->m->joint[j])) extend_by_anchor(b, &around, &to);
    }
    // ends of springs
    for (int i = 0; i < b->m->nforces; i++) {
        if (!force_has_points(&b->m->force[i])) continue;
        extend_by_anchor(b, &around, &b->m->force[i].from);
        extend_by_anchor(b, &around, &b->m->force[i].to);
    }
    double size = b->m->nbodies > 0 ? kd_vec_norm(kd_vec_sub(around.high, around.low)) : 0.0;
    return size > 1e-9 ? size : 1.0;
}

// ---- all ------------------------------------------------------------------------------------------------------------

static void find_file(builder *b, const kd_shape *shape)
{
    if (shape->kind != KD_MESH || !shape->read || number_of_file(b, shape) < b->nfiles) return;
    b->file[b->nfiles++] = (surface_file){shape->read, shape->size[0] < 0.0};
}

static bool mesh_of_file(kd_scene *s, const surface_file *file, int most, kd_mesh *mesh)
{
    if (!kd_mesh_of_surface(&s->arena, &file->read->surface, most, mesh)) return false;
    if (file->inverted) kd_mesh_invert(mesh);
    return true;
}

// Meshes of the files of all shapes, behind those of unit size
static void add_files(builder *b, int nshapes)
{
    kd_scene *s = b->s;
    s->nmeshes = KD_MESHES;
    b->file = kd_arena_cut(&s->arena, (size_t)nshapes, sizeof *b->file);
    if (!b->file || !s->mesh) return;
    for (int i = 0; i < b->m->nbodies; i++)
        for (int k = 0; k < b->m->body[i].def.nshapes; k++) find_file(b, &b->m->body[i].def.shape[k]);
    if (b->nfiles == 0) return;
    // all in one row
    kd_mesh *all = kd_arena_cut(&s->arena, (size_t)(KD_MESHES + b->nfiles), sizeof *all);
    s->fine = kd_arena_cut(&s->arena, (size_t)b->nfiles, sizeof *s->fine);
    if (s->arena.failed) return;
    memcpy(all, s->mesh, KD_MESHES * sizeof *all);
    s->mesh = all;
    s->nmeshes += b->nfiles;
    for (int k = 0; k < b->nfiles; k++)
        if (!mesh_of_file(s, &b->file[k], KD_MESH_DRAWN, &all[KD_MESHES + k]) ||
            !mesh_of_file(s, &b->file[k], KD_MESH_FINE, &s->fine[k]))
            s->arena.failed = true;
}

kd_status kd_scene_build(const kd_film *film, kd_scene *s)
{
    const kd_model *m = film->model;
    *s = (kd_scene){.film = *film};
    builder b = {.s = s, .m = m};
    int     nshapes = 0;
    for (int i = 0; i < m->nbodies; i++) nshapes += m->body[i].def.nshapes;
    // memory; round meshes with fewer sides where there are many
    s->mesh = kd_meshes_create(&s->arena, nshapes + m->njoints > MANY_SOLIDS ? COARSE : FINE);
    // meshes of files, then room for all that may be drawn
    add_files(&b, nshapes);
    s->solid = kd_arena_cut(&s->arena, MOST_SOLIDS, sizeof *s->solid);
    s->coil = kd_arena_cut(&s->arena, 2 * (size_t)m->nforces + MOST_COUPLED * (size_t)m->nconstraints, sizeof *s->coil);
    s->trace = kd_arena_cut(&s->arena, MOST_TRACES, sizeof *s->trace);
    s->paint = kd_cut_int(&s->arena, m->nbodies);
    double *extent = kd_cut_double(&s->arena, m->nbodies);
    s->deformed = kd_arena_cut(&s->arena, (size_t)film->ndeformed, sizeof *s->deformed);
    for (int i = 0; s->deformed && i < film->ndeformed; i++) {
        const int most = kd_deformed_most_nodes(film->deformed[i].nshapes);
        if (kd_deformed_thin(&film->deformed[i], most, &s->arena, &s->deformed[i]) < 0) s->arena.failed = true;
    }
    if (s->arena.failed) {
        kd_scene_release(s);
        return KD_ERR_MEMORY;
    }
    // size first: all marks are measured by it
    s->size = size_of_mechanism(&b);
    b.mark = MARK * s->size;
    // of many small bodies the marks are small, too
    const double body = kd_extent_of_bodies(m, extent);
    if (body > 0) b.mark = fmin(b.mark, MARK_OF_BODY * body);
    kd_camera_choose(s);
    choose_paints(&b);
    // bodies, joints, springs and rods, then the camera that sees all of it
    for (int i = 0; i < m->nbodies; i++) add_body(&b, i);
    for (int i = 0; i < m->njoints; i++) add_joint(&b, &m->joint[i]);
    for (int i = 0; i < m->nforces; i++) add_coil(&b, &m->force[i]);
    for (int i = 0; i < m->nconstraints; i++) {
        const kd_element_class *class = kd_constraint_element((int)m->constraint[i].def.kind);
        if (class->look.between == KD_LOOK_ROD)
            add_rod(&b, &m->constraint[i]);
        else if (class->look.between == KD_LOOK_ROPE)
            add_rope(&b, &m->constraint[i]);
        else if (class->placeless)
            add_coupling(&b, &m->constraint[i]);
    }
    choose_traces(&b);
    kd_camera_fit(s);
    kd_lines_find(s);
    if (!s->arena.failed) return KD_OK;
    kd_scene_release(s);
    return KD_ERR_MEMORY;
}

void kd_scene_release(kd_scene *s)
{
    kd_arena_release(&s->arena);
}
