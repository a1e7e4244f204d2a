// flexible/beams.h: structures made of straight beams between points: frames, shafts, blades.
#ifndef KD_FLEXIBLE_BEAMS_H
#define KD_FLEXIBLE_BEAMS_H

#include "flexible/structure.h"

// What is known of the rim of a section, for stress
typedef enum kd_beam_rim {
    KD_RIM_UNKNOWN,
    KD_RIM_ROUND, // rim: outer and inner radius
    KD_RIM_BOX,   // rim: edges along y and z, full
    KD_RIM_OUTER  // rim: farthest y and z; twist: modulus against it
} kd_beam_rim;

// A section: y and z are its principal axes
typedef struct kd_beam_section {
    double      area, Iy, Iz; // int z^2, int y^2
    double      torsion;      // G torsion is the stiffness against twist
    double      ky, kz;       // shear areas over the area in y and z; 0: stiff in shear (Euler and Bernoulli)
    kd_beam_rim kind;
    double      rim[2], twist;
} kd_beam_section;

kd_beam_section kd_beam_section_between(const kd_beam_section *a, const kd_beam_section *b,
                                        double t); // (1 - t) a + t b

typedef struct kd_beam {
    int             from, to; // points
    int             elements;
    double          E, G, density;
    kd_beam_section begin, end; // varies linearly in between, element by element
    kd_vec3         up;         // direction whose part across the beam is the z axis of the section
} kd_beam;

typedef struct kd_beam_mass {
    int     point;
    double  mass;
    kd_sym3 inertia; // about the point
} kd_beam_mass;

// Points are nodes 1 ... npoints and sets of one node with their names; the nodes between them follow. KD_ERR_MODEL: message says
// which beam or point is wrong.
kd_status kd_beams_make(const char *const *names, const kd_vec3 *points, int npoints, const kd_beam *beams, int nbeams,
                        const kd_beam_mass *masses, int nmasses, kd_fe_structure *s, char *message,
                        size_t size) KD_NODISCARD;

// A beam as a row of elements, in the order of kd_fe_structure.element
typedef struct kd_beam_row {
    int             first, n; // elements
    double          E, G, density;
    kd_beam_section begin, end;
} kd_beam_row;

// Forces and moments on the ends of element i of a row by displacements U (n) of the structure, in the axes of the section: f (12)
void kd_beam_end_forces(const kd_fe_structure *s, const kd_beam_row *row, int i, const double *U, double f[12]);

// A structure before it is made
typedef struct kd_beam_list {
    int           npoints, nbeams, nmasses;
    const char  **name; // of the points
    kd_vec3      *at;
    kd_beam      *beam;
    kd_beam_mass *mass;
} kd_beam_list;

// Piece 1 ... pieces of a row of beams that follow each other, cut between elements, with as many elements in each: pieces.c.
// first, last: its points at the cuts, or at the ends of the row. A mass at a cut belongs to the piece before it.
kd_status kd_beams_cut(const kd_beam_list *row, int piece, int pieces, kd_arena *arena, kd_beam_list *cut, int *first,
                       int *last, char *message, size_t size) KD_NODISCARD;

#endif
