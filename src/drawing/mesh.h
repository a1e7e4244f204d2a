// drawing/mesh.h: meshes of unit size that the solids of a drawing are made of.
//
// Long ones are cut into pieces and discs into sectors, because faces are drawn from far to near by the depth of their
// middle: the smaller a face, the better that order.
#ifndef KD_DRAWING_MESH_H
#define KD_DRAWING_MESH_H

#include "drawing/scene.h"
#include "surface/surface.h"

enum {
    KD_MESH_BOX,      // edges 1
    KD_MESH_BAR,      // the same in pieces along z
    KD_MESH_CYLINDER, // radius 1, length 1 along z
    KD_MESH_LONG,     // the same in pieces
    KD_MESH_DISC,     // the same, its ends in sectors
    KD_MESH_PYRAMID,  // tip at 0, square base with edge 2 at z = -1
    KD_MESH_TUBE,     // KD_MESH_TUBES tubes of outer radius 1, inner radius in equal steps, length 1
    KD_MESH_TUBES = 9,
    KD_MESHES = KD_MESH_TUBE + KD_MESH_TUBES,
    KD_MESH_MOST_SIDES = 20,
    KD_MESH_MOST_CORNERS = 2 * KD_MESH_MOST_SIDES, // of a face
    KD_MESH_DRAWN = 200,                           // triangles of a surface from a file in pictures
    KD_MESH_FINE = 6000,                           // and in the viewer of pages
    KD_MESH_MOST_VERTICES = 3 * KD_MESH_DRAWN,     // of a mesh
};

// All meshes (KD_MESHES), round ones with that many sides, at most KD_MESH_MOST_SIDES; NULL: out of memory.
kd_mesh *kd_meshes_create(kd_arena *arena, int sides);
// A surface in a box with edges 1, with at most that many triangles. false: out of memory.
bool kd_mesh_of_surface(kd_arena *arena, const kd_surface *surface, int most, kd_mesh *mesh);
void kd_mesh_invert(kd_mesh *mesh); // at its origin; what was outside stays outside
// The tube whose inner radius is closest; ratio = inner / outer radius.
int    kd_mesh_of_tube(double ratio);
double kd_mesh_tube_ratio(int mesh); // of such a tube

#endif
