// drawing/order.h: which of two things that cover the same place of a picture is painted first.
//
// Sorting by the depth of their middles is wrong for large faces beside small ones: the wall of a car covers the wheel before it.
// Here two patches are compared where they overlap: the nearer one is painted later.
#ifndef KD_DRAWING_ORDER_H
#define KD_DRAWING_ORDER_H

#include <kardan/base.h>

// A corner in the picture. `near` grows towards the eye and is linear along straight lines of the picture: 1/(distance
// along the view).
typedef struct kd_corner {
    double x, y, near;
} kd_corner;

typedef struct kd_patch { // a convex polygon of the picture
    int first, count;     // its corners
} kd_patch;

// order (n): the patches, those to be painted first in front. Patches that cover each other in a circle (interlocking ones
// that are not cut) are taken by their middle. KD_ERR_MEMORY.
kd_status kd_order_patches(const kd_corner *corner, const kd_patch *patch, int n, int *order) KD_NODISCARD;

#endif
