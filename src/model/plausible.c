// plausible.c: what looks odd in a model that is right as such: forces that feed energy, bodies whose inertia belongs
// to something much larger, gravity that lifts. Warnings only: a model may mean it.
#include <math.h>

#include "model/element.h"
#include "model/mesh_shape.h"

static const double DRAWN = 10;      // radius of gyration, in times of that of the shapes
static const double ATTACHED = 100;  // the same, in times of the distance of what is attached
static const double STRONGEST = 100; // [m/s^2] gravity; Jupiter has 25

// ---- forces ---------------------------------------------------------------------------------------------------------

void kd_doubt_spring(kd_model *m, int i)
{
    const kd_force_def *d = &m->force[i].def;
    const kd_element_class *class = kd_force_element((int)d->kind);
    const double stiffness = kd_element_number(class, d, "stiffness"), damping = kd_element_number(class, d, "damping");
    // feeds energy or drives away: stiffness and damping by their keys, whatever the kind
    if (stiffness < 0)
        kd_model_warn(m, KD_SECTION_FORCE, i, "stiffness",
                      "its stiffness %.4g is negative: it drives away from its rest", stiffness);
    if (damping < 0)
        kd_model_warn(m, KD_SECTION_FORCE, i, "damping", "its damping %.4g is negative: it feeds energy", damping);
}

// whatever its class doubts
static void check_force(kd_model *m, int i)
{
    const kd_element_class *class = kd_force_element((int)m->force[i].def.kind);
    if (class->doubt) class->doubt(m, i);
}

// ---- bodies ---------------------------------------------------------------------------------------------------------

// Distance from its centre of mass of the farthest place where something is attached, for each body
static void find_reaches(const kd_model *m, double *reach)
{
#define KD_REACH(list, count, member)                                                                                  \
    for (int i = 0; i < m->count; i++) {                                                                               \
        const int body = m->list[i].member.body;                                                                       \
        if (body < 0) continue;                                                                                        \
        reach[body] = fmax(reach[body], kd_vec_norm(kd_vec_sub(m->list[i].member.r, m->body[body].centre)));           \
    }
    KD_REACH(joint, njoints, from)
    KD_REACH(joint, njoints, to)
    KD_REACH(constraint, nconstraints, from)
    KD_REACH(constraint, nconstraints, to)
    KD_REACH(force, nforces, from)
    KD_REACH(force, nforces, to)
    KD_REACH(frame, nframes, at)
#undef KD_REACH
}

// largest principal moment
static double gyration_of(const kd_sym3 *inertia, double mass)
{
    double I[3];
    kd_sym_eigenvalues(inertia, I);
    return sqrt(fmax(I[2], 0) / mass);
}

static void check_body(kd_model *m, int i, double reach)
{
    const kd_body *b = &m->body[i];
    // largest radius of gyration
    const double mass = b->def.mass, gyration = mass > 0 ? gyration_of(&b->inertia, mass) : 0;
    kd_mass      shapes = {0};
    if (!(gyration > 0)) return;
    // against its shapes, as if they had its mass; without shapes against what is attached to it
    if (b->def.nshapes > 0 && kd_shapes_mass(b->def.shape, b->def.nshapes, mass, &shapes)) {
        const kd_vec3 away = kd_vec_sub(shapes.centre, b->centre);
        const kd_sym3 about = kd_sym_steiner(&shapes.inertia, mass, away); // about the centre of mass that it has
        const double  drawn = gyration_of(&about, mass);
        if (gyration > DRAWN * drawn)
            kd_model_warn(
                m, KD_SECTION_BODY, i, "inertia",
                "its radius of gyration of %.3g m is far beyond its shape, which has %.3g m; units are kg m^2",
                gyration, drawn);
        return;
    }
    // without shapes nothing but what is attached tells its size
    if (reach > 0 && gyration > ATTACHED * reach)
        kd_model_warn(
            m, KD_SECTION_BODY, i, "inertia",
            "its radius of gyration of %.3g m is far beyond the body: nothing is attached farther than %.3g m from "
            "its centre of mass; units are kg m^2",
            gyration, reach);
}

// ---- gravity --------------------------------------------------------------------------------------------------------

static void check_gravity(kd_model *m)
{
    // z or y up are both usual; x is not looked at
    const double *g = m->gravity, size = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int i = 1; i < 3; i++)
        if (g[i] > 0.5 * size && size > 0)
            kd_model_warn(m, KD_SECTION_BODY, -1, NULL, "gravity lifts: it points along +%c with %.4g m/s^2",
                          i == 1 ? 'y' : 'z', g[i]);
    if (size > STRONGEST)
        kd_model_warn(m, KD_SECTION_BODY, -1, NULL, "gravity is %.4g m/s^2 strong; units are m and s", size);
}

// Triangles without area are left out, which is told once for every file
static void check_meshes(kd_model *m)
{
    for (const kd_model_mesh *mesh = m->private->meshes; mesh; mesh = mesh->next) {
        const kd_surface *s = &mesh->surface;
        bool              told = s->ndropped == 0;
        for (int i = 0; i < m->nbodies && !told; i++)
            for (int k = 0; k < m->body[i].def.nshapes && !told; k++) {
                if (m->body[i].def.shape[k].read != mesh) continue;
                kd_model_warn(
                    m, KD_SECTION_BODY, i, "shape",
                    "mesh '%s': %d triangle%s without area left out, the first one number %d at (%.6g, %.6g, %.6g)",
                    m->body[i].def.shape[k].mesh, s->ndropped, s->ndropped > 1 ? "s" : "", s->dropped, s->dropped_at.x,
                    s->dropped_at.y, s->dropped_at.z);
                told = true;
            }
    }
}

kd_status kd_finish_plausible(kd_model *m)
{
    double *reach = kd_alloc((size_t)m->nbodies * sizeof *reach);
    if (!reach) return KD_ERR_MEMORY;
    // gravity, bodies, forces: warnings in this order
    find_reaches(m, reach);
    check_gravity(m);
    for (int i = 0; i < m->nbodies; i++) check_body(m, i, reach[i]);
    check_meshes(m);
    for (int i = 0; i < m->nforces; i++) check_force(m, i);
    kd_free(reach);
    return KD_OK;
}
