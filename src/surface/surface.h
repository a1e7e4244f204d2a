// surface/surface.h: triangulated surfaces from files: what they enclose, and whether they enclose anything.
//
// A surface is closed when every edge belongs to two triangles that run through it in opposite directions. Then it has a
// volume, and with a density mass, centre and inertia (divergence theorem). Method: docs/methods/surface.md
#ifndef KD_SURFACE_SURFACE_H
#define KD_SURFACE_SURFACE_H

#include "core/memory.h"
#include "math/space.h"

typedef struct kd_triangle {
    int a, b, c; // vertices, counterclockwise from outside
} kd_triangle;

typedef struct kd_surface {
    int          nvertices, ntriangles;
    kd_vec3     *vertex;
    kd_triangle *triangle;
    int          ndropped; // triangles of the file without area
    int          dropped;  // the first of them, from 1 on in the order of the file, and one of its corners
    kd_vec3      dropped_at;
    kd_arena     arena;
} kd_surface;

enum { KD_SURFACE_MOST = 5000000 }; // triangles of a file

// Read an STL file (text or binary) or an OBJ file, by the end of its name; lengths are multiplied by scale. Corners at
// the same place become one vertex. On failure there is nothing to release, and message says file, place and reason.
kd_status kd_surface_read(const char *path, double scale, kd_surface *surface, char *message, size_t size) KD_NODISCARD;
// The same from memory; path is for messages and tells the kind of the file.
kd_status kd_surface_parse(const char *path, const char *bytes, size_t length, double scale, kd_surface *surface,
                           char *message, size_t size) KD_NODISCARD;
void      kd_surface_release(kd_surface *surface);

// What is wrong with it as the boundary of a solid.
typedef struct kd_surface_faults {
    long    open;       // edges of one triangle only: a hole
    long    folded;     // edges of more than two triangles
    long    flipped;    // edges that two triangles run through in the same direction
    kd_vec3 place;      // middle of the first such edge
    bool    inside_out; // closed, but all triangles look inwards
} kd_surface_faults;
kd_status kd_surface_check(const kd_surface *surface, kd_surface_faults *faults) KD_NODISCARD; // KD_OK, KD_ERR_MEMORY
bool      kd_surface_is_closed(const kd_surface_faults *faults);
// "3 edges are open (a hole), the first one at (0.1, 0, 0.2)"; "" where it is closed and looks outwards.
const char *kd_surface_faults_words(const kd_surface_faults *faults, char *buffer, size_t size);

// Volume, centre and second moments about the centre of what a closed surface encloses, density 1.
typedef struct kd_surface_moments {
    double  volume;
    kd_vec3 centre;
    kd_sym3 inertia; // of unit density, about the centre
    double  area;
    kd_vec3 low, high; // box around it
} kd_surface_moments;
kd_surface_moments kd_surface_moments_of(const kd_surface *surface);

// Fewer triangles, for pictures: vertices in the same cell of a grid become one; the grid is the finest one that leaves at
// most that many triangles. The result has memory of its own.
kd_status kd_surface_thin(const kd_surface *surface, int most, kd_surface *thin) KD_NODISCARD;

#endif
