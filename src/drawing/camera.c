// camera.c: from where a motion is seen.
//
// Up is against gravity. A planar mechanism is seen nearly along its normal, a spatial one from the front right above.
// The rectangle of the picture holds all of the motion and its shadow; a mechanism that travels far is followed
// instead.
#include "drawing/camera.h"

#include "drawing/mesh.h"
#include "model/element.h"

enum { FRAMES_TO_FIT = 60 };

static kd_vec3 unit(kd_vec3 a)
{
    double n = kd_vec_norm(a);
    return n > 0.0 ? kd_vec_scale(1.0 / n, a) : kd_vec(0, 0, 1);
}

typedef struct box {
    kd_vec3 low, high;
} box;

static const box EMPTY = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static void extend(box *b, kd_vec3 a)
{
    b->low = kd_vec(fmin(b->low.x, a.x), fmin(b->low.y, a.y), fmin(b->low.z, a.z));
    b->high = kd_vec(fmax(b->high.x, a.x), fmax(b->high.y, a.y), fmax(b->high.z, a.z));
}

// ---- direction ------------------------------------------------------------------------------------------------------
// All axes of rotation are parallel to one direction, and nothing moves along it: the mechanism is planar. false: it is
// not
static bool find_normal(const kd_scene *s, kd_vec3 *normal)
{
    bool found = false;
    // all axes in the world at the start are parallel
    for (int j = 0; j < s->film.model->njoints; j++) {
        const kd_joint     *joint = &s->film.model->joint[j];
        const kd_joint_form form = kd_joint_form_of(joint->def.kind);
        if (form.ball || form.nturns > 1) return false;
        if (form.nturns == 0 || (form.shifts >> form.turn[0] & 1)) continue;
        kd_vec3 r, axis;
        kd_mat3 R;
        kd_film_pose(&s->film, 0, joint->from.body, &r, &R);
        axis = kd_mat_vec(&R, form.turn[0] == 0   ? joint->from.R.x
                              : form.turn[0] == 1 ? joint->from.R.y
                                                  : joint->from.R.z);
        if (found && kd_vec_norm(kd_vec_cross(axis, *normal)) > 1e-6) return false;
        *normal = axis;
        found = true;
    }
    // no centre of mass leaves its plane
    for (int i = 0; found && i < s->film.model->nbodies; i++) {
        kd_point_of at = {i, s->film.model->body[i].centre};
        kd_vec3     start = kd_film_point(&s->film, 0, &at);
        for (int k = 1; k < s->film.nframes; k++) {
            kd_vec3 moved = kd_vec_sub(kd_film_point(&s->film, k, &at), start);
            if (fabs(kd_vec_dot(moved, *normal)) > 1e-3 * s->size) return false;
        }
    }
    return found;
}

void kd_camera_choose(kd_scene *s)
{
    kd_camera *c = &s->camera;
    kd_vec3    g = kd_vec_of(s->film.model->gravity), normal = kd_vec(0, 0, 1);
    bool       weightless = kd_vec_norm(g) == 0.0, planar = find_normal(s, &normal);
    // up: against gravity, or z
    c->up = weightless ? kd_vec(0, 0, 1) : unit(kd_vec_neg(g));
    c->azimuth = 0.6;
    c->elevation = 0.38;
    if (planar && weightless && fabs(normal.z) > 0.99) c->up = kd_vec(0, 1, 0);
    // front: along the normal of a planar mechanism where that is level, else level and across x
    kd_vec3 x = fabs(c->up.x) < 0.9 ? kd_vec(1, 0, 0) : kd_vec(0, 1, 0), front = kd_vec_cross(x, c->up);
    if (planar) {
        kd_vec3 level = kd_vec_axpy(normal, -kd_vec_dot(normal, c->up), c->up);
        if (kd_vec_norm(level) > 0.5) {
            front = kd_vec_dot(level, front) < -1e-9 ? kd_vec_neg(level) : level;
            c->azimuth = 0.35;
            c->elevation = 0.2;
        } else { // it lies flat
            c->elevation = 0.95;
            c->azimuth = 0.2;
        }
    }
    // level axes that belong to up
    c->front = unit(kd_vec_axpy(front, -kd_vec_dot(front, c->up), c->up));
    c->right = kd_vec_cross(c->up, c->front);
}

// w towards the eye, u to the right, v upwards in the picture
void kd_camera_axes(const kd_camera *c, kd_vec3 *u, kd_vec3 *v, kd_vec3 *w)
{
    kd_vec3 level = kd_vec_axpy(kd_vec_scale(cos(c->azimuth), c->front), sin(c->azimuth), c->right);
    *w = kd_vec_axpy(kd_vec_scale(cos(c->elevation), level), sin(c->elevation), c->up);
    *u = unit(kd_vec_cross(c->up, *w));
    *v = kd_vec_cross(*w, *u);
}

// ---- fit ------------------------------------------------------------------------------------------------------------
static kd_vec3 middle_of_bodies(const kd_film *film, int frame)
{
    kd_vec3 sum = kd_vec(0, 0, 0);
    int     n = film->model->nbodies;
    for (int i = 0; i < n; i++) {
        const double *pose = film->pose + 7 * ((size_t)frame * (size_t)n + (size_t)i);
        sum = kd_vec_axpy(sum, 1.0 / n, kd_vec_of(pose));
    }
    return sum;
}

kd_vec3 kd_camera_travel(const kd_scene *s, int frame)
{
    if (!s->follows && !s->falls) return kd_vec(0, 0, 0);
    kd_vec3 d = kd_vec_sub(middle_of_bodies(&s->film, frame), middle_of_bodies(&s->film, 0));
    kd_vec3 rise = kd_vec_scale(kd_vec_dot(d, s->camera.up), s->camera.up);
    return kd_vec_add(s->follows ? kd_vec_sub(d, rise) : kd_vec(0, 0, 0), s->falls ? rise : kd_vec(0, 0, 0));
}

// Does the middle of all bodies go so far that the mechanism would be small in the picture?
static void choose_travel(kd_scene *s)
{
    double level = 0, rise = 0, far = s->film.model->nbodies > 1 ? KD_CAMERA_TRAVEL : KD_CAMERA_TRAVEL_ALONE;
    for (int i = 1; i < s->film.nframes; i++) {
        kd_vec3 d = kd_vec_sub(middle_of_bodies(&s->film, i), middle_of_bodies(&s->film, 0));
        double  up = kd_vec_dot(d, s->camera.up);
        level = fmax(level, kd_vec_norm(kd_vec_axpy(d, -up, s->camera.up)));
        rise = fmax(rise, fabs(up));
    }
    s->follows = level > far * s->size;
    s->falls = rise > far * s->size;
}

// Corner c (0 .. 7) of the box around a solid in its body, whose axes there are R
static kd_vec3 corner_of(const kd_solid *solid, const kd_mat3 *R, int c)
{
    // edges, not half edges
    bool   square = solid->mesh == KD_MESH_BOX || solid->mesh == KD_MESH_BAR || solid->mesh >= KD_MESHES;
    double half = square ? 0.5 : 1.0, low = solid->mesh == KD_MESH_BALL || solid->mesh == KD_MESH_PYRAMID ? -1.0 : -0.5;
    double high = solid->mesh == KD_MESH_PYRAMID ? 0.0 : -low;
    kd_vec3 e = solid->size;
    kd_vec3 corner =
        kd_vec(c & 1 ? half * e.x : -half * e.x, c & 2 ? half * e.y : -half * e.y, (c & 4 ? high : low) * e.z);
    return kd_vec_add(solid->r, kd_mat_vec(R, corner));
}

// Visit all corners in some frames, relative to where the camera has gone
static void for_all_corners(const kd_scene *s, void (*visit)(kd_vec3 point, void *context), void *context)
{
    int step = 1 + s->film.nframes / FRAMES_TO_FIT;
    for (int frame = 0; frame < s->film.nframes; frame += step) {
        kd_vec3 travel = kd_camera_travel(s, frame);
        for (int i = 0; i < s->nsolids; i++) {
            const kd_solid *solid = &s->solid[i];
            kd_vec3         r;
            kd_mat3         R, own = kd_quat_matrix(solid->q);
            if ((s->follows || s->falls) && solid->body < 0) continue; // stays behind
            kd_film_pose(&s->film, frame, solid->body, &r, &R);
            for (int c = 0; c < 8; c++)
                visit(kd_vec_sub(kd_vec_add(r, kd_mat_vec(&R, corner_of(solid, &own, c))), travel), context);
        }
        for (int i = 0, first = 0; i < s->film.ndeformed; first += s->deformed[i++].nshapes)
            for (int k = 0; k < s->deformed[i].nnodes; k++)
                visit(kd_vec_sub(kd_film_node(&s->film, frame, &s->deformed[i], first, k), travel), context);
    }
}

static void visit_box(kd_vec3 point, void *context)
{
    extend(context, point);
}

typedef struct fit {
    kd_scene *s;
    kd_vec3   u, v, w;
    double    lowest; // along up
} fit;

static void visit_radius(kd_vec3 point, void *context)
{
    fit    *f = context;
    kd_vec3 q = kd_vec_sub(point, f->s->camera.centre);
    f->s->radius = fmax(f->s->radius, kd_vec_norm(q));
    f->lowest = fmin(f->lowest, kd_vec_dot(q, f->s->camera.up));
}

static void extend_rectangle(fit *f, kd_vec3 q)
{
    kd_camera *c = &f->s->camera;
    // central projection: (x, y) = d/(d - z) (q u, q v)
    double k = c->distance / fmax(c->distance - kd_vec_dot(q, f->w), 0.05 * c->distance);
    double x = k * kd_vec_dot(q, f->u), y = k * kd_vec_dot(q, f->v);
    c->low[0] = fmin(c->low[0], x);
    c->low[1] = fmin(c->low[1], y);
    c->high[0] = fmax(c->high[0], x);
    c->high[1] = fmax(c->high[1], y);
}

// A corner and its shadow
static void visit_rectangle(kd_vec3 point, void *context)
{
    fit    *f = context;
    kd_vec3 q = kd_vec_sub(point, f->s->camera.centre), up = f->s->camera.up;
    extend_rectangle(f, q);
    if (!f->s->falls) extend_rectangle(f, kd_vec_axpy(q, f->s->floor - kd_vec_dot(q, up), up));
}

// Does an element touch or roll on a plane that is the floor?
static bool is_floor(const kd_camera *c, const kd_look *look, const kd_anchor *from, double *height)
{
    *height = kd_vec_dot(kd_vec_sub(from->r, c->centre), c->up);
    if (look->floor == KD_LOOK_WORLD_FLOOR) *height = -kd_vec_dot(c->centre, c->up);
    const bool level = look->floor != KD_LOOK_LEVEL_FLOOR || kd_vec_dot(from->R.z, c->up) > 0.99;
    return look->floor == KD_LOOK_WORLD_FLOOR || (look->floor != KD_LOOK_NO_FLOOR && from->body < 0 && level);
}

// A plane that something touches or rolls on is the floor; else that of the world, if it is just below; else the lowest
// point.
static double choose_floor(const kd_scene *s, double lowest)
{
    const kd_camera *c = &s->camera;
    double           height;
    for (int i = 0; i < s->film.model->nforces; i++) {
        const kd_force *f = &s->film.model->force[i];
        if (is_floor(c, &kd_force_element((int)f->def.kind)->look, &f->from, &height)) return height;
    }
    for (int i = 0; i < s->film.model->nconstraints; i++) {
        const kd_constraint *k = &s->film.model->constraint[i];
        if (is_floor(c, &kd_constraint_element((int)k->def.kind)->look, &k->from, &height)) return height;
    }
    double world = -kd_vec_dot(c->centre, c->up);
    if (world <= lowest + 1e-6 * s->size && world > lowest - 0.15 * s->radius) return world;
    return lowest - 0.01 * s->radius;
}

// 1, 2 or 5 times a power of ten, not below x
static double nice_step(double x)
{
    double power = pow(10.0, floor(log10(x))), lead = x / power;
    return power * (lead <= 1.0 ? 1.0 : lead <= 2.0 ? 2.0 : lead <= 5.0 ? 5.0 : 10.0);
}

void kd_camera_fit(kd_scene *s)
{
    kd_camera *c = &s->camera;
    box        around = EMPTY;
    // centre of the box around everything, radius of the ball around it
    choose_travel(s);
    for_all_corners(s, visit_box, &around);
    c->centre = kd_vec_scale(0.5, kd_vec_add(around.low, around.high));
    fit f = {.s = s, .lowest = INFINITY};
    for_all_corners(s, visit_radius, &f);
    // the eye, the floor below, and the rectangle that holds solids and shadows
    c->distance = 4.0 * s->radius;
    kd_camera_axes(c, &f.u, &f.v, &f.w);
    s->floor = choose_floor(s, f.lowest);
    c->low[0] = c->low[1] = INFINITY;
    c->high[0] = c->high[1] = -INFINITY;
    for_all_corners(s, visit_rectangle, &f);
    // about four lines of the grid on either side
    s->grid = nice_step(0.22 * s->radius);
    // box around all places of bodies, for poses in 16 bits
    around = EMPTY;
    for (int frame = 0; frame < s->film.nframes; frame++)
        for (int i = 0; i < s->film.model->nbodies; i++)
            extend(&around, kd_vec_of(s->film.pose + 7 * ((size_t)frame * (size_t)s->film.model->nbodies + (size_t)i)));
    s->low = around.low;
    s->high = around.high;
}
