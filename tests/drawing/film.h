// film.h: motions of models for tests of the drawing: poses from the design position, moved by hand.
#ifndef KD_TESTS_FILM_H
#define KD_TESTS_FILM_H

#include "drawing/mesh.h"
#include "drawing/scene.h"
#include "modelfile/files.h"

typedef struct test_film {
    kd_model *model;
    kd_film   film;
    double   *t, *pose;
} test_film;

// All bodies at their design position in every frame.
static inline test_film film_of_model(kd_model *model, int nframes)
{
    test_film f = {.model = model};
    int       n = f.model->nbodies;
    f.t = calloc((size_t)nframes, sizeof *f.t);
    f.pose = calloc((size_t)(nframes * 7 * n + 1), sizeof *f.pose);
    for (int i = 0; i < nframes; i++) {
        f.t[i] = 0.1 * i;
        for (int b = 0; b < n; b++) {
            kd_vec_to(f.model->body[b].r, f.pose + 7 * (i * n + b));
            kd_quat_to(kd_quat_of_matrix(&f.model->body[b].R), f.pose + 7 * (i * n + b) + 3);
        }
    }
    f.film = (kd_film){.model = f.model, .nframes = nframes, .t = f.t, .pose = f.pose};
    return f;
}

static inline test_film film_of(const char *text, int nframes)
{
    return film_of_model(model_of(text), nframes);
}

static inline double *pose_of(test_film *f, int frame, int body)
{
    return f->pose + 7 * (frame * f->model->nbodies + body);
}

static inline void close_film(test_film *f)
{
    kd_model_destroy(f->model);
    free(f->t);
    free(f->pose);
}

// Twice the area of a face times its normal, sum over triangles from its first corner: volume by the divergence
// theorem.
static inline double mesh_volume(const kd_mesh *m)
{
    double volume = 0;
    for (int i = 0; i < m->nfaces; i++) {
        const int *face = m->corner + m->first[i];
        for (int k = 1; k + 1 < m->first[i + 1] - m->first[i]; k++)
            volume += kd_vec_dot(m->vertex[face[0]], kd_vec_cross(m->vertex[face[k]], m->vertex[face[k + 1]])) / 6;
    }
    return volume;
}

static inline double solid_volume(const kd_scene *s, const kd_solid *solid)
{
    double scale = solid->size.x * solid->size.y * solid->size.z;
    return scale * (solid->mesh == KD_MESH_BALL ? 4 * KD_PI / 3 : mesh_volume(&s->mesh[solid->mesh]));
}

// Number of solids of a mesh (-2: any) on a body
static inline int count_solids(const kd_scene *s, int body, int mesh)
{
    int count = 0;
    for (int i = 0; i < s->nsolids; i++) count += s->solid[i].body == body && (mesh == -2 || s->solid[i].mesh == mesh);
    return count;
}

#endif
