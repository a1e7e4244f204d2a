// drawing/mode_shape.h: what a mode looks like: poses of a mechanism that swings in one of its modes.
#ifndef KD_DRAWING_MODE_SHAPE_H
#define KD_DRAWING_MODE_SHAPE_H

#include <kardan/linearize.h>

#include "drawing/drawing.h"

enum { KD_MODE_FRAMES = 9, KD_MODE_FILM = 33 };

// Where a system swings. x: where it was linearised; inputs may be NULL.
typedef struct kd_mode_place {
    const kd_system *system;
    const kd_inputs *inputs;
    const kd_state  *x;
} kd_mode_place;

// Add half a period of a mode to a drawing, KD_MODE_FRAMES poses from the one extreme to the other, at the times 0, 1, ..; scale:
// of the coordinate that moves most [m], [rad].
kd_status kd_mode_shape_draw(const kd_mode_place *place, const kd_modes *modes, int mode, double scale,
                             kd_drawing *drawing) KD_NODISCARD;
// A whole period in KD_MODE_FILM poses that takes so many seconds.
kd_status kd_mode_shape_film(const kd_mode_place *place, const kd_modes *modes, int mode, double scale, double seconds,
                             kd_drawing *drawing) KD_NODISCARD;

#endif
