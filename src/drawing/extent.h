// drawing/extent.h: how large bodies are, for what is drawn beside them.
#ifndef KD_DRAWING_EXTENT_H
#define KD_DRAWING_EXTENT_H

#include "model/model.h"

// Half edges of the box around a shape, in its own axes
kd_vec3 kd_shape_half_edges(const kd_shape *shape);
// Half of the bodies that have a size are at least so large: the box around a shape, or twice the way from the centre to the farthest joint.
// work (nbodies). 0: none has a size
double kd_extent_of_bodies(const kd_model *model, double *work);

#endif
