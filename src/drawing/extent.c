// extent.c: sizes of shapes and bodies.
#include "drawing/extent.h"

#include <math.h>
#include <stdlib.h>

#include "model/mesh_shape.h"

kd_vec3 kd_shape_half_edges(const kd_shape *shape)
{
    const double *e = shape->size;
    switch (shape->kind) {
    case KD_SPHERE:
        return kd_vec(e[0], e[0], e[0]);
    case KD_BOX:
        return kd_vec(0.5 * e[0], 0.5 * e[1], 0.5 * e[2]);
    case KD_CYLINDER:
    case KD_ROD:
        return kd_vec(e[0], e[0], 0.5 * e[1]);
    case KD_TUBE:
        return kd_vec(fmax(e[0], e[1]), fmax(e[0], e[1]), 0.5 * e[2]);
    case KD_MESH: {
        const kd_vec3 low = shape->read->moments.low, high = shape->read->moments.high;
        return kd_vec_scale(e[0], kd_vec(fmax(fabs(low.x), fabs(high.x)), fmax(fabs(low.y), fabs(high.y)),
                                         fmax(fabs(low.z), fabs(high.z))));
    }
    case KD_SHAPE_NONE:
        break;
    }
    return kd_vec(0, 0, 0);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double kd_extent_of_bodies(const kd_model *m, double *extent)
{
    int count = 0;
    // the largest shape of each
    for (int i = 0; i < m->nbodies; i++) {
        const kd_body_def *def = &m->body[i].def;
        extent[i] = 0;
        for (int k = 0; k < def->nshapes; k++)
            extent[i] = fmax(extent[i], 2.0 * kd_vec_norm(kd_shape_half_edges(&def->shape[k])));
    }
    // without shapes, where joints hold it
    for (int j = 0; j < m->njoints; j++)
        for (int side = 0; side < 2; side++) {
            const kd_anchor *a = side == 0 ? &m->joint[j].from : &m->joint[j].to;
            if (a->body < 0 || m->body[a->body].def.nshapes > 0) continue;
            extent[a->body] = fmax(extent[a->body], 2.0 * kd_vec_norm(kd_vec_sub(a->r, m->body[a->body].centre)));
        }
    // those that have one, by size
    for (int i = 0; i < m->nbodies; i++)
        if (extent[i] > 0) extent[count++] = extent[i];
    qsort(extent, (size_t)count, sizeof *extent, by_size);
    return count > 0 ? extent[count / 2] : 0.0;
}
