// drawing/lines.h: lines that a model gives to run along: tracks, roads under tyres, curves that points stay on, grids
// on surfaces in contact.
#ifndef KD_DRAWING_LINES_H
#define KD_DRAWING_LINES_H

#include "drawing/scene.h"

// The lines of the model, as far as the motion of the film needs them, in the arena of the scene; that fails where there
// is no memory.
void kd_lines_find(kd_scene *scene);

#endif
