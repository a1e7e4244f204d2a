// drawing/picture.h: one picture of a motion as SVG: the mechanism at one instant, and faintly where it was at others.
#ifndef KD_DRAWING_PICTURE_H
#define KD_DRAWING_PICTURE_H

#include <stdio.h>

#include "drawing/scene.h"

// Write one <svg> element. KD_ERR_MEMORY, or KD_OK; the stream's error flag tells whether all was written.
kd_status kd_picture_write(FILE *file, const kd_scene *scene, const char *title) KD_NODISCARD;
// The same of the start of the motion as the viewer shows it when it opens: its camera, its light, its ground, in a square that has to fit into
// the middle of the view and may be looked at beyond its edges. The page gives the classes `ground` and `course` their colours.
kd_status kd_picture_write_first(FILE *file, const kd_scene *scene, const char *title) KD_NODISCARD;

#endif
