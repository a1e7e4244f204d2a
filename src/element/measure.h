// measure.h: scalar quantities of the relative motion of two frames: what joints constrain, forces act along, and
// expressions and sensors read.
//
// A measure s has a value, two time derivatives, a gradient (N, F) with ds = N . turn + F . shift of B (axes of A), and
// the changes of all of these along a dof. A force f along s has the virtual work f ds: it is the load f (N, F) on B.
#ifndef KARDAN_ELEMENT_MEASURE_H
#define KARDAN_ELEMENT_MEASURE_H

#include "element/jet3.h"
#include "tree/pair.h"

typedef enum kd_measure_kind {
    KD_MEASURE_DOF,      // coordinate of a joint of the tree
    KD_MEASURE_SHIFT,    // d_i
    KD_MEASURE_COSINE,   // C_ij: component i of axis j of B
    KD_MEASURE_LENGTH,   // |d|
    KD_MEASURE_ANGLE,    // atan2(sine, cosine) of two entries of C, continued over full turns by a coordinate of p
    KD_MEASURE_PITCH,    // asin of an entry of C: of sine, where that is given (sign not 0), else asin(-C_zx)
    KD_MEASURE_ROTATION, // component i of the rotation vector of C (rotation.h)
    KD_MEASURE_TILT,     // component i of the rotation vector that brings axis j of A to that of B, shortest way
    KD_MEASURE_BEND, // coordinate i of a word that folds (joint.h), half about axis sine.i, about sine.j, half about sine.i
    KD_MEASURE_GAP,       // distance of two surfaces (touch.h)
    KD_MEASURE_CURVED,    // trace (i = 0) and determinant (1) of their curvatures there; nothing acts along it
    KD_MEASURE_TURN,      // omega_i: has a rate, but no value
    KD_MEASURE_OWN_TURN,  // omega along axis i of B: no value
    KD_MEASURE_OWN_SHIFT, // d' along axis i of B: no value
    KD_MEASURE_SLIP,      // velocity of sliding of two surfaces along direction i: no value
    KD_MEASURE_SPIN       // omega along the normal of their contact: no value
} kd_measure_kind;

typedef struct kd_entry { // sign * C_ij
    int i, j, sign;
} kd_entry;

typedef struct kd_measure {
    kd_measure_kind kind;
    int             pair; // -1: dof
    int             dof;  // of the tree
    int             i, j; // components
    kd_entry        sine, cosine;
    int             turns; // angle: number of the coordinate that counts the turns; -1: the angle stays in (-pi, pi]
    int slot[3], next;     // for build.c: variables of value, rate and acceleration, next measure of the pair; 0
} kd_measure;

// Motion of the frame B as a tangent: changes of pose, velocity and acceleration.
typedef struct kd_tangent {
    kd_vec3 w, u, omega, dd, alpha, ddd;
} kd_tangent;

// d and the columns of C as jets: with their time derivatives, and all along the tangent
void kd_relative_jets(const kd_relative *rel, const kd_tangent *e, kd_jet3 *d, kd_jet3 C[3]);

// Value and time derivatives with their changes along the tangent; `near` chooses the turn of an angle (NaN: none).
// Not for dofs.
kd_jet kd_measure_jet(const kd_measure *s, const kd_relative *rel, const kd_tangent *e, double near);
// The value and the rate alone.
double kd_measure_value(const kd_measure *s, const kd_relative *rel, double near);
double kd_measure_rate(const kd_measure *s, const kd_relative *rel);
// Gradient (N, F), and its change along a turn w and a shift u of B.
void kd_measure_gradient(const kd_measure *s, const kd_relative *rel, kd_vec3 *N, kd_vec3 *F);
void kd_measure_curvature(const kd_measure *s, const kd_relative *rel, kd_vec3 w, kd_vec3 u, kd_vec3 *dN, kd_vec3 *dF);

// Where its value (level 0) or its rate (1) stands as one number in a kd_relative, counted in numbers; -1: it is computed
int kd_measure_place(const kd_measure *s, int level);
// Where a force along it goes as one number of a kd_wrench; -1: its gradient is no unit vector
int kd_measure_component(const kd_measure *s);

// Has it a value (or only a rate)?
static inline bool kd_measure_has_value(const kd_measure *s)
{
    return s->kind < KD_MEASURE_TURN;
}

#endif
