// joint.h: what a joint is: a word over elementary motions, and what follows from it.
//
// A joint leads from its frame A to its frame B by elementary motions, one after the other: shifts along and turns about
// x, y, z. Each letter of the word moves by a multiple of one coordinate, later letters are carried by earlier ones:
//
//     C = T_1 T_2 ...,  d = sum of the shifts;   T(x) = turn about an axis by x, x/2
//
// Two letters may share a coordinate: a screw turns about z and shifts along z by its lead times the angle; a constant
// velocity joint bends by half a turn about x, a turn about y, and the other half about x. Behind the letters there may
// be a ball: any rotation, by a unit quaternion, with the angular velocity in the axes of B.
//
// Shifts come before turns, or are parallel to the turns before them: then a turn does not move the origin of B within
// the joint. The table (joint.c) is the only place that tells joint kinds apart. docs/methods/joint.md
//
// A joint without letters may be curved: its one coordinate moves it as curves of the model say (table.h), S depends on
// the coordinate then.
#ifndef KARDAN_JOINT_JOINT_H
#define KARDAN_JOINT_JOINT_H

#include <kardan/model.h>

#include "core/kind.h"
#include "math/space.h"

typedef enum kd_elementary { // 0: end of the word
    KD_SHIFT_X = 1,
    KD_SHIFT_Y,
    KD_SHIFT_Z,
    KD_TURN_X,
    KD_TURN_Y,
    KD_TURN_Z
} kd_elementary;

typedef enum kd_letter_scale { KD_WHOLE, KD_HALF, KD_LEAD, KD_BACK } kd_letter_scale; // of the coordinate; -1 of it

typedef struct kd_joint_table kd_joint_table;

typedef struct kd_letter {
    signed char motion;     // kd_elementary
    signed char coordinate; // that it moves by
    signed char scale;      // kd_letter_scale
} kd_letter;

enum { KD_MAX_LETTERS = 6 };

static inline bool kd_letter_turns(const kd_letter *l)
{
    return l->motion >= KD_TURN_X;
}
static inline int kd_letter_axis(const kd_letter *l) // 0, 1, 2: x, y, z
{
    return (l->motion - KD_SHIFT_X) % 3;
}
static inline double kd_letter_factor(const kd_letter *l, double lead)
{
    return l->scale == KD_WHOLE ? 1.0 : l->scale == KD_HALF ? 0.5 : l->scale == KD_BACK ? -1.0 : lead;
}

// What follows from the word of a kind.
typedef struct kd_joint_form {
    const kd_letter *word;   // ends with a letter 0
    bool             ball;   // behind the word: a quaternion
    bool             hinge;  // the word is one turn about z: kernels have a case for it
    bool             floats; // it starts with shifts along x, y and z
    bool             folds;  // a turn comes back behind others: its coordinate is not one motion, but the sum of two
    bool             lead;   // it has a shift that belongs to a turn
    bool             curved; // its pose is told by curves of the coordinate
    bool             angle;  // of a curved one: the coordinate is an angle
    signed char      nletters;
    short            nscalars;        // coordinates of the word
    short            ndof, nposition; // with the ball: three more motions, four more numbers
    signed char      nturns, turn[3]; // letters that turn, their axes
    unsigned char    shifts;          // bit i: it shifts along axis i

    const struct kd_joint_table *table; // of a curved one: filled in by those who know the joint (table.h)
} kd_joint_form;

extern const kd_kind_word kd_joint_words[KD_JOINT_KIND_COUNT]; // for the schema

kd_joint_form kd_joint_form_of(kd_joint_kind kind);

// Is coordinate i an angle? false for shifts and for the numbers of a quaternion.
bool kd_joint_turns(kd_joint_kind kind, int i);
// All letters move along or about one axis: prismatic, cylindrical, ...; *axis (may be NULL) is it.
bool kd_joint_has_one_axis(const kd_joint_form *f, int *axis);
// Two turns about different axes, as in a universal joint.
bool kd_joint_is_cross(const kd_joint_form *f);

// The joint used from B to A: turn both frames by `turn`, and the pose is that of the same word, coordinate i in place
// other[i]. false: the word is another one backwards, and its coordinates are others. A curved joint keeps its coordinate:
// its table must be told to go back.
bool kd_joint_reversal(const kd_joint_form *f, kd_mat3 *turn, int other[6]);

// The joint in a mirror: the kind that has the same coordinates there, with frames whose axes i are images of those of
// this one where sign[i] = 1, and point against them where it is -1; the product of the signs is -1. A lead changes its
// sign; a curved joint is told to be mirrored.
kd_joint_kind kd_joint_image(kd_joint_kind kind, double sign[3]);

// What a coordinate or velocity does at unit rate: turn w, velocity u of the origin of B.
typedef struct kd_axis {
    kd_vec3 w, u;
} kd_axis;

// Pose of B in A at the coordinates x, and (ndof; NULL: not wanted) the motions in the axes of A.
void kd_joint_pose(const kd_joint_form *f, double lead, const double *x, kd_mat3 *C, kd_vec3 *d, kd_axis *axis);
// Coordinates of a pose: exact where the joint can reach it.
void kd_joint_coordinates_of_pose(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 d, double *x);
// Velocities (ndof) of a motion at a pose: d' in the axes of A, omega in those of B.
void kd_joint_rates_of_motion(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 d, kd_vec3 dd, kd_vec3 omega,
                              double *rate);
// Unit force along scalar coordinate i: moment N and force F on B, axes of A, that work along no other coordinate. Of a
// curved joint (N, F) is a multiple of its motion, in metres and radians.
void kd_joint_load(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 d, int i, kd_vec3 *N, kd_vec3 *F);
// How far a pose is from one that the joint can reach, along [m] and about [rad] what it holds.
void kd_joint_gap(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 d, double *shift, double *turn);

#endif
