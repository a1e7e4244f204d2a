// drawing/mode_shape.h: what a mode looks like: poses of a mechanism that swings in one of its modes.
#ifndef KD_DRAWING_MODE_SHAPE_H
#define KD_DRAWING_MODE_SHAPE_H

#include <kardan/linearize.h>

#include "drawing/drawing.h"

enum { KD_MODE_FRAMES = 9 };

// Add half a period of a mode to a drawing, KD_MODE_FRAMES poses from the one extreme to the other. x: where the system
// was linearised; inputs may be NULL; scale: of the coordinate that moves most [m], [rad].
kd_status kd_mode_shape_draw(const kd_system *system, const kd_inputs *inputs, const kd_state *x, const kd_modes *modes,
                             int mode, double scale, kd_drawing *drawing) KD_NODISCARD;

#endif
