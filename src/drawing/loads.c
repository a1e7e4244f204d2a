// loads.c: what each element exerts, from its readings (docs/guide/sensors.md): components in the axes of `from`, or one
// number along the line between two points, or the three of a tyre in the plane of its road.
#include "drawing/loads.h"

#include <kardan/probe.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "model/element.h"

enum { MOST_ARROWS = 300, MOST_BODIES = 200, INSTANTS = 400, PATH = 300 };

typedef enum components {
    ALONG_LINE, // one number: positive draws the points together
    APART,      // the same, positive pushes them apart
    IN_FROM,    // three components in the axes of `from`
    IN_WORLD,
    OF_TYRE // normal, longitudinal, lateral
} components;

typedef struct source { // where the numbers of an arrow come from
    components       form;
    const kd_anchor *from, *to;
    int              channel[3]; // of the probe; -1: 0
} source;

typedef struct reader {
    const kd_model *m;
    kd_loads       *loads;
    source          source[MOST_ARROWS];
    char (*path)[PATH]; // (3 x MOST_ARROWS)
} reader;

// ---- which there are ------------------------------------------------------------------------------------------------
static kd_load_arrow *add(reader *r, kd_load_kind kind, components f, const char *section, const char *name,
                          const kd_anchor *from, const kd_anchor *to, const char *const words[3])
{
    const int at = r->loads->count;
    if (at == MOST_ARROWS) return NULL;
    r->source[at] = (source){.form = f, .from = from, .to = to};
    for (int k = 0; k < 3; k++) {
        if (words[k])
            kd_text(r->path[3 * at + k], PATH, "%s.%s.%s", section, name, words[k]);
        else
            r->path[3 * at + k][0] = '\0';
    }
    kd_load_arrow *arrow = &r->loads->arrow[r->loads->count++];
    // a force on the ground is shown there
    *arrow = (kd_load_arrow){.name = name, .kind = kind, .at = {to->body, to->r}};
    return arrow;
}

static void add_joint(reader *r, const kd_joint *j)
{
    static const char *const words[3] = {"force.x", "force.y", "force.z"};
    const kd_joint_form      form = kd_joint_form_of(j->def.kind);
    if (form.floats && form.ball) return; // free: nothing holds it
    (void)add(r, KD_LOAD_REACTION, IN_FROM, "joint", j->name, &j->from, &j->to, words);
}

// z of the plane that something touches, away from which its point of contact lies
static void drop(kd_load_arrow *arrow, double radius, const kd_anchor *plane)
{
    if (!arrow) return;
    arrow->drop = radius;
    arrow->normal = (kd_point_of){plane->body, plane->R.z};
}

static void add_force(reader *r, const kd_force *f)
{
    static const char *const one[3] = {"force", NULL, NULL}, *const three[3] = {"fx", "fy", "fz"};
    static const char *const tyre[3] = {"force", "longitudinal", "lateral"};
    const kd_look           *look = &kd_force_element((int)f->def.kind)->look;
    const bool               pushes = f->def.kind == KD_HYDRAULIC || f->def.kind == KD_AIR_SPRING;
    if (f->def.kind == KD_TYRE)
        drop(add(r, KD_LOAD_CONTACT, OF_TYRE, "force", f->name, &f->from, &f->to, tyre), f->def.tyre.radius, &f->from);
    else if (f->def.kind == KD_CONTACT)
        drop(add(r, KD_LOAD_CONTACT, IN_FROM, "force", f->name, &f->from, &f->to, three), f->def.contact.radius,
             &f->from);
    else if (f->def.kind == KD_BUSHING)
        (void)add(r, KD_LOAD_FORCE, IN_FROM, "force", f->name, &f->from, &f->to, three);
    else if (f->def.kind == KD_APPLIED)
        (void)add(r, KD_LOAD_FORCE, IN_WORLD, "force", f->name, &f->from, &f->to, three);
    else if (look->between == KD_LOOK_COIL || look->between == KD_LOOK_PISTON)
        (void)add(r, KD_LOAD_FORCE, pushes ? APART : ALONG_LINE, "force", f->name, &f->from, &f->to, one);
}

static void add_constraint(reader *r, const kd_constraint *c)
{
    static const char *const one[3] = {"force", NULL, NULL}, *const three[3] = {"fx", "fy", "fz"};
    if (c->def.kind == KD_DISTANCE)
        (void)add(r, KD_LOAD_REACTION, ALONG_LINE, "constraint", c->name, &c->from, &c->to, one);
    if (c->def.kind == KD_ROPE) // on both ends alike, and shown at the second one
        (void)add(r, KD_LOAD_REACTION, ALONG_LINE, "constraint", c->name,
                  c->def.nover > 0 ? &c->over[c->def.nover - 1] : &c->from, &c->to, one);
    if (c->def.kind == KD_WHEEL_RAIL)
        (void)add(r, KD_LOAD_CONTACT, IN_FROM, "constraint", c->name, &c->from, &c->to, three);
}

// ---- numbers --------------------------------------------------------------------------------------------------------
typedef struct posed { // an anchor in the world
    kd_vec3 r;
    kd_mat3 R;
} posed;

static posed pose_of(const double *pose, const kd_anchor *a)
{
    if (a->body < 0) return (posed){a->r, a->R};
    const double *own = pose + 7 * (size_t)a->body;
    const kd_mat3 R = kd_quat_matrix(kd_quat_of(own + 3));
    return (posed){kd_vec_add(kd_vec_of(own), kd_mat_vec(&R, a->r)), kd_mat_mul(&R, &a->R)};
}

static kd_vec3 unit(kd_vec3 a)
{
    const double n = kd_vec_norm(a);
    return n > 0 ? kd_vec_scale(1 / n, a) : kd_vec(0, 0, 0);
}

static kd_vec3 vector_of(const source *s, const double *pose, const double x[3])
{
    // both bodies where they are drawn, then the axes that the numbers of this load belong to
    const posed from = pose_of(pose, s->from), to = pose_of(pose, s->to);
    switch (s->form) {
    case ALONG_LINE:
        return kd_vec_scale(-x[0], unit(kd_vec_sub(to.r, from.r)));
    case APART:
        return kd_vec_scale(x[0], unit(kd_vec_sub(to.r, from.r)));
    case IN_FROM:
        return kd_mat_vec(&from.R, kd_vec_of(x));
    case IN_WORLD:
        return kd_vec_of(x);
    case OF_TYRE: { // the axle in the plane of the road is to the left, the heading forward
        const kd_vec3 up = from.R.z, left = unit(kd_vec_axpy(to.R.z, -kd_vec_dot(to.R.z, up), up));
        const kd_vec3 forward = kd_vec_cross(left, up);
        return kd_vec_axpy(kd_vec_axpy(kd_vec_scale(x[0], up), x[1], forward), x[2], left);
    }
    }
    return kd_vec(0, 0, 0);
}

// all arrows at the state of the probe
static bool read_instant(reader *r, kd_probe *probe, double *out)
{
    const double *pose = kd_probe_values(probe, KD_GROUP_POSE);
    if (!pose) return false;
    for (int i = 0; i < r->loads->count; i++) {
        double x[3] = {0, 0, 0};
        for (int k = 0; k < 3; k++)
            if (r->source[i].channel[k] >= 0) x[k] = kd_probe_value(probe, r->source[i].channel[k]);
        const kd_vec3 force = vector_of(&r->source[i], pose, x);
        const double  norm = kd_vec_norm(force);
        if (!isfinite(norm)) return false;
        r->loads->arrow[i].largest = fmax(r->loads->arrow[i].largest, norm);
        kd_vec_to(force, out + 3 * i);
    }
    return true;
}

static kd_status read_rows(reader *r, const kd_system *system, const kd_inputs *inputs, const kd_recording *rec)
{
    kd_loads    *loads = r->loads;
    const int    n = kd_recording_length(rec), columns = kd_recording_columns(rec);
    const int    every = n > INSTANTS ? (n + INSTANTS - 1) / INSTANTS : 1;
    kd_probe    *probe = NULL;
    kd_state    *x = NULL;
    const size_t width = 3 * (size_t)loads->count;
    loads->t = kd_cut_double(&loads->arena, INSTANTS + 2);
    loads->force = kd_arena_cut(&loads->arena, (INSTANTS + 2) * width, sizeof *loads->force);
    kd_status status = loads->arena.failed ? KD_ERR_MEMORY : kd_probe_of_system(system, inputs, &probe);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0 && x->n > columns) status = KD_ERR_ARGUMENT;
    for (int i = 0; i < loads->count && status >= 0; i++)
        for (int k = 0; k < 3; k++)
            r->source[i].channel[k] = r->path[3 * i + k][0] ? kd_probe_find(probe, r->path[3 * i + k]) : -1;
    // every so many rows, the end always; instants without a number are left out
    for (int i = 0; i < n && status >= 0; i++) {
        if (i % every != 0 && i != n - 1) continue;
        memcpy(x->p, kd_recording_values(rec) + (size_t)i * (size_t)columns, (size_t)x->n * sizeof *x->p);
        x->t = kd_recording_times(rec)[i];
        status = kd_probe_set(probe, x);
        if (status < 0 || !read_instant(r, probe, loads->force + (size_t)loads->frames * width)) continue;
        loads->t[loads->frames++] = x->t;
    }
    kd_probe_destroy(probe);
    kd_state_destroy(x);
    return status;
}

kd_status kd_loads_read(const kd_model *m, kd_coordinates coordinates, const kd_inputs *inputs,
                        const kd_recording *recording, kd_loads **loads)
{
    *loads = NULL;
    if (m->nbodies > MOST_BODIES) return KD_OK;
    reader     *r = kd_alloc(sizeof *r);
    kd_loads   *made = kd_alloc(sizeof *made);
    const char *watch[3 * MOST_ARROWS];
    kd_system  *system = NULL;
    kd_status   status = r && made ? KD_OK : KD_ERR_MEMORY;
    if (status < 0) goto done;
    *r = (reader){.m = m, .loads = made};
    made->arrow = kd_arena_cut(&made->arena, MOST_ARROWS, sizeof *made->arrow);
    r->path = kd_arena_cut(&made->arena, 3 * MOST_ARROWS, sizeof *r->path);
    if (made->arena.failed) status = KD_ERR_MEMORY;
    if (status < 0) goto done;
    // what there is, then a system that watches it
    for (int i = 0; i < m->njoints; i++) add_joint(r, &m->joint[i]);
    for (int i = 0; i < m->nforces; i++) add_force(r, &m->force[i]);
    for (int i = 0; i < m->nconstraints; i++) add_constraint(r, &m->constraint[i]);
    if (made->count == 0) goto done;
    // the paths of all arrows, up to three numbers each
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    opt.watch = watch;
    for (int i = 0; i < 3 * made->count; i++)
        if (r->path[i][0]) watch[opt.nwatch++] = r->path[i];
    status = kd_system_create(m, &opt, &system, NULL, 0);
    if (status >= 0) status = read_rows(r, system, inputs, recording);
done:
    kd_system_destroy(system);
    kd_free(r);
    if (status >= 0 && made && made->frames > 0)
        *loads = made;
    else
        kd_loads_destroy(made);
    return status;
}

void kd_loads_destroy(kd_loads *loads)
{
    if (!loads) return;
    kd_arena_release(&loads->arena);
    kd_free(loads);
}
