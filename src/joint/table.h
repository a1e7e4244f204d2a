// table.h: a joint whose pose is told by curves of its one coordinate: axles by look-up tables.
//
//     d = (x(q), y(q), z(q)),   C = Rz(turn_z(q)) Rx(turn_x(q)) Ry(turn_y(q))   or   C = R(e(q)/|e(q)|), e a quaternion
//
// Its motion S = (w, u) depends on q; what the passes over a tree need of that are its derivatives at a fixed point,
// axes of A (held fixed), the point where the origin of B is now:
//
//     S = (w, d'),   S' = (w', d'' - w x d'),   S'' = (w'', d''' - 2 w' x d' - w x d'')           ' = d/dq
#ifndef KARDAN_JOINT_TABLE_H
#define KARDAN_JOINT_TABLE_H

#include "expr/curve.h"
#include "joint/joint.h"

struct kd_joint_table {
    const kd_curve *shift[3];      // x, y, z; NULL: 0, here and below
    const kd_curve *turn[3];       // about z, x, y, each carried by those before
    const kd_curve *quaternion[4]; // in place of the turns, scalar first
    bool            mirrored;      // d_y and the turns about x and z the other way round
    bool            back;          // from B to A: the inverse pose
};

enum { KD_TABLE_AXES = 3 }; // S, S', S''

// Pose of B in A at q; axis (KD_TABLE_AXES; NULL: not wanted): S, S', S''. NaN where a curve has no value.
void kd_joint_table_pose(const kd_joint_table *t, double q, kd_mat3 *C, kd_vec3 *d, kd_axis *axis);
// The coordinate whose pose is nearest to the given one, a turn of 1 rad as far as 1 m: exact where the joint can reach it.
double kd_joint_table_coordinate(const kd_joint_table *t, const kd_mat3 *C, kd_vec3 d);
// The first of its curves that has no rows at q; NULL: none.
const kd_curve *kd_joint_table_outside(const kd_joint_table *t, double q);
// Rows of all its curves: where they overlap.
void kd_joint_table_ends(const kd_joint_table *t, double *first, double *last);

#endif
