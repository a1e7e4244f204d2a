// drawing/deformed.h: bodies whose surface deforms. A node k of such a surface is, in the frame of its body, at
//     X_k + sum_j q_j(t) S_jk
// with shapes S_j that stay and amplitudes q_j that a motion has at each of its frames (kd_drawing_deform). Pages have a
// slider that enlarges the second term.  Method: docs/methods/page.md
#ifndef KD_DRAWING_DEFORMED_H
#define KD_DRAWING_DEFORMED_H

#include "core/memory.h"
#include "math/space.h"

typedef struct kd_deformed {
    int           body; // in whose frame nodes and shapes are; it is not drawn in any other way
    int           nnodes, ntriangles, nlines, nshapes;
    const double *node;     // (nnodes x 3) without deformation [m]
    const int    *triangle; // (ntriangles x 3) nodes, counterclockwise from outside
    const int    *line;     // (nlines x 2) nodes: beams
    const double
        *shape; // (nshapes x nnodes x 3) where the nodes go for an amplitude of 1: column j of Phi (3 nnodes x nshapes)
    // stress, where it is known: at places that are drawn at nodes, xx yy zz xy yz zx in the axes of the body
    int           nplaces;
    const int    *place_node; // (nplaces) the node of each
    const double *stress;     // (nshapes x nplaces x 6) for an amplitude of 1 [Pa]
} kd_deformed;                // without triangles and lines its nodes are shown as points

struct kd_flexible_body;
// Stress of a part whose nodes `deformed` has. KD_ERR_MEMORY
kd_status kd_deformed_take_stress(const struct kd_flexible_body *part, kd_arena *arena,
                                  kd_deformed *deformed) KD_NODISCARD;
// At most about so many places, at nodes with new numbers (below zero: gone; NULL: as they are). KD_ERR_MEMORY
kd_status kd_deformed_thin_stress(const kd_deformed *deformed, const int *number, int most, kd_arena *arena,
                                  kd_deformed *thin) KD_NODISCARD;

// Numbers in range, all finite? What a drawing is given is asked for once.
bool kd_deformed_is_sound(const kd_deformed *deformed, int nbodies);
// A node in the frame of the body; q (nshapes) may be NULL: without deformation.
kd_vec3 kd_deformed_node(const kd_deformed *deformed, int node, const double *q);
// At most that many nodes, for pages and pictures: of the nodes in a cell of a grid the outermost one remains, with its
// own shapes; triangles and lines that lose a corner go. The grid is the finest one that does. Arrays are the arena's, or those of
// `deformed` where it is small enough. KD_ERR_MEMORY.
kd_status kd_deformed_thin(const kd_deformed *deformed, int most, kd_arena *arena, kd_deformed *thin) KD_NODISCARD;
// How many nodes a page shows of a surface with so many shapes.
int kd_deformed_most_nodes(int nshapes);

#endif
