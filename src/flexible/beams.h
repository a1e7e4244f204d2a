// flexible/beams.h: structures made of straight beams between points: frames, shafts, blades.
#ifndef KD_FLEXIBLE_BEAMS_H
#define KD_FLEXIBLE_BEAMS_H

#include "flexible/structure.h"

// A section: y and z are its principal axes
typedef struct kd_beam_section {
    double area, Iy, Iz; // int z^2, int y^2
    double torsion;      // G torsion is the stiffness against twist
    double ky, kz;       // shear areas over the area in y and z; 0: stiff in shear (Euler and Bernoulli)
} kd_beam_section;

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

#endif
