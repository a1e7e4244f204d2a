// drawing/scene.h: what there is to see of a moving mechanism: solids fixed in bodies, springs, traces of points, and a
// camera that shows all of the motion.
//
// A solid is a mesh of unit size, scaled, turned and shifted in its body. Everything that is drawn beyond the shapes of
// the model is made here: bars between the joints of bodies without shape, pins, rails, feet on the ground.
#ifndef KD_DRAWING_SCENE_H
#define KD_DRAWING_SCENE_H

#include <kardan/system.h>

#include "core/memory.h"
#include "drawing/deformed.h"
#include "math/space.h"
#include "model/model.h"

// A motion: poses of all bodies (7 numbers each, as kd_poses_at gives them) at some times.
typedef struct kd_film {
    const kd_model  *model;
    int              nframes;
    const double    *t;      // (nframes)
    const double    *pose;   // (nframes x 7 nbodies)
    const kd_system *system; // points whose positions it watches leave traces; NULL: none
    // surfaces that deform (deformed.h), and the amplitudes of their shapes, one surface behind the other
    int                ndeformed, namplitudes;
    const kd_deformed *deformed;
    const double      *amplitude; // (nframes x namplitudes)
} kd_film;

// A convex polyhedron, a tube, or a surface from a file: faces as loops of vertices, counterclockwise from outside.
typedef struct kd_mesh {
    int      nvertices, nfaces;
    kd_vec3 *vertex;
    int      nmarked; // the first faces are darker, so that one sees a disc turn
    bool     hollow;  // a tube, or a surface that is not convex
    int     *first;   // (nfaces + 1) first entry of a face in `corner`
    int     *corner;
} kd_mesh;

enum { KD_MESH_BALL = -1 }; // the unit ball has no faces

typedef enum kd_paint { // colours: those of bodies come first
    KD_PAINT_BODY,
    KD_PAINT_BODIES = 6,
    KD_PAINT_JOINT = KD_PAINT_BODIES,
    KD_PAINT_GROUND,
    KD_PAINT_SPRING,
    KD_PAINT_COUNT
} kd_paint;
const char *kd_paint_colour(int paint); // "#0072B2"

typedef struct kd_solid {
    int     mesh; // KD_MESH_BALL, or its number
    int     body; // -1: ground
    int     paint;
    kd_vec3 r; // centre in the body's frame
    kd_quat q; // axes
    kd_vec3 size;
} kd_solid;

typedef struct kd_point_of { // a point fixed in a body (-1: ground)
    int     body;
    kd_vec3 r;
} kd_point_of;

typedef enum kd_scene_link { // what stretches between two points, as in viewer/src/solids.ts
    KD_LINK_COIL,
    KD_LINK_ROD,
    KD_LINK_DAMPER,
    KD_LINK_ROPE,
    KD_LINK_COUPLING, // a constraint without a place of its own, between what it couples: for the viewer only
} kd_scene_link;

typedef struct kd_coil { // a spring, or something straight, between two points
    kd_point_of   from, to;
    double        radius; // of its windings; 0: it is straight
    kd_scene_link look;
    double        thick; // radius of what is straight
    const char   *name;  // of the element, the model's
} kd_coil;

typedef struct kd_trace {
    kd_point_of at;
    int         paint;
} kd_trace;

typedef struct kd_line { // something to run along: a track, a road, a curve; or a line on a surface in contact
    const char *name;    // the model's
    int         body;    // that it is fixed in; -1: ground
    bool        grid;    // of a surface
    int         count;
    kd_vec3    *point;
} kd_line;

// The camera looks at `centre` along -w from the distance `distance`; a point q relative to the centre appears at
// k (q.u, q.v), k = distance / (distance - q.w). u is to the right, v up.
typedef struct kd_camera {
    kd_vec3 centre;
    kd_vec3 up, front, right; // axes of the orbit: w = cos(el) (cos(az) front + sin(az) right) + sin(el) up
    double  azimuth, elevation;
    double  distance;
    double  low[2], high[2]; // the rectangle that holds the motion
} kd_camera;

typedef struct kd_scene {
    kd_film      film;
    int          nmeshes, nsolids, ncoils, ntraces, nlines;
    kd_mesh     *mesh; // those of unit size, then those from files
    kd_mesh     *fine; // (nmeshes - KD_MESHES) the latter with more triangles, for the page
    kd_solid    *solid;
    kd_coil     *coil;
    kd_trace    *trace;
    kd_line     *line;     // for the viewer; those of surfaces also for pictures
    kd_deformed *deformed; // (film.ndeformed) as many nodes as a page shows
    kd_camera    camera;
    double       radius;      // of a ball about the centre that holds the motion
    double       size;        // of the mechanism: diagonal of the box around it at the first frame
    double       floor, grid; // height of the ground plane over the centre, distance of its lines
    bool         follows;     // the mechanism travels along the ground: the camera goes with it
    bool         falls;       // the same up or down
    kd_vec3      low, high;   // box around all positions of bodies, for rounding
    int         *paint;       // (nbodies)
    kd_arena     arena;
} kd_scene;

// Needs at least one frame. On failure there is nothing to release.
kd_status kd_scene_build(const kd_film *film, kd_scene *scene) KD_NODISCARD;
void      kd_scene_release(kd_scene *scene);

// Pose of a body (-1: ground) in a frame, and a point of it in the world.
void    kd_film_pose(const kd_film *film, int frame, int body, kd_vec3 *r, kd_mat3 *R);
kd_vec3 kd_film_point(const kd_film *film, int frame, const kd_point_of *point);
// A node of a surface in the world; first: amplitude of the film that is the first one of the surface's.
kd_vec3 kd_film_node(const kd_film *film, int frame, const kd_deformed *surface, int first, int node);
// Length of the part of a name that bodies of one family share: name(1), name(2), ..
size_t kd_family_length(const char *name);

#endif
