// drawing/picture.h: one picture of a motion as SVG: the mechanism at one instant, and faintly where it was at others.
#ifndef KD_DRAWING_PICTURE_H
#define KD_DRAWING_PICTURE_H

#include <stdio.h>

#include "drawing/scene.h"

// Write one <svg> element. KD_ERR_MEMORY, or KD_OK; the stream's error flag tells whether all was written.
kd_status kd_picture_write(FILE *file, const kd_scene *scene, const char *title) KD_NODISCARD;

#endif
