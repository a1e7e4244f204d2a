// surface/builder.h: a surface while its file is read: corners come one by one, equal ones are found by a hash table.
#ifndef KD_SURFACE_BUILDER_H
#define KD_SURFACE_BUILDER_H

#include "surface/surface.h"

typedef struct kd_surface_builder {
    kd_surface  *surface;
    kd_vec3     *vertex;
    kd_triangle *triangle;
    int         *bucket, *next; // (nbuckets), (capacity of vertices): chains of vertices with the same hash
    int          nvertices, ntriangles, vertex_room, triangle_room, nbuckets, ndropped;
    int          dropped; // the first triangle without area, from 1 on
    kd_vec3      dropped_at;
    double       scale;
    bool         failed;
} kd_surface_builder;

void kd_surface_begin(kd_surface_builder *builder, double scale);
// Number of the vertex at that place; a new one unless `known` finds one with the same coordinates.
int  kd_surface_add_vertex(kd_surface_builder *builder, kd_vec3 r, bool known);
void kd_surface_add_triangle(kd_surface_builder *builder, int a, int b, int c); // without area: dropped and counted
// Move everything into *surface; KD_ERR_MEMORY: something did not fit. The builder is released in any case.
kd_status kd_surface_end(kd_surface_builder *builder, kd_surface *surface) KD_NODISCARD;

#endif
