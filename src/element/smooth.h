// smooth.h: smooth surfaces on bodies by two surface coordinates (u, v): place, outward normal, tangents and curvature
// as jets, so that all derivatives of a motion along them are exact; where a search for a contact begins.
//
//     plane        z = 0, normal z                       (u, v, 0)
//     swept        curve z = f(x) along y, normal up     (u, v, f(u))
//     revolution   about z, meridian (r, z)(u)           (r cos v, r sin v, z)
//         cylinder   r = R, z = u             cone   r = u sin a, z = u cos a (apex in the origin, opens along z)
//         torus      r = R + q cos u, z = q sin u        curve  r = f(u), z = u
//     ellipsoid    (a cos u cos v, b cos u sin v, c sin u), the pole along one of three axes (chart); sphere: equal axes
//
// A hollow surface is touched from the other side: its normal is reversed. Derivation: docs/methods/surface-contact.md
#ifndef KARDAN_ELEMENT_SMOOTH_H
#define KARDAN_ELEMENT_SMOOTH_H

#include <kardan/model.h>

#include "element/jet3.h"
#include "expr/curve.h"

typedef struct kd_smooth {
    const kd_surface_def *def;
    const kd_curve       *curve; // of revolution and swept; NULL
} kd_smooth;

typedef struct kd_spot { // a place on a surface, axes of its body
    kd_jet3 r, n;        // place, outward unit normal
    kd_jet3 t[2];        // two tangents, not of unit length
    kd_jet3 e[2];        // directions of principal curvature; ellipsoids: unused
    kd_jet  kappa[3];    // their curvatures, positive where convex; ellipsoids: 1/a^2 along the axes over |grad|/2
} kd_spot;

typedef struct kd_surface_chart { // surface coordinates, and of ellipsoids the axis of the pole
    double u, v;
    int    pole;
} kd_surface_chart;

// Place, normal, tangents; curved: curvatures as well
void kd_smooth_at(const kd_smooth *s, int pole, kd_jet u, kd_jet v, bool curved, kd_spot *out);
// Curvature of normal sections: the form b(a, c) of two tangents
kd_jet kd_smooth_form(const kd_smooth *s, const kd_spot *at, kd_jet3 a, kd_jet3 c);

// Where a search begins: near a point; where the normal is m, near a point where that leaves a choice
kd_surface_chart kd_smooth_near(const kd_smooth *s, kd_vec3 q);
kd_surface_chart kd_smooth_facing(const kd_smooth *s, kd_vec3 m, kd_vec3 q);
// Longest step of u and of v in an iteration
void kd_smooth_reach(const kd_smooth *s, double reach[2]);
bool kd_smooth_is_round(const kd_smooth *s); // sphere or ellipsoid, with charts

#endif
