// drawing/light.h: colours under the light of the viewer (viewer/src/light.ts), so that its first picture can be drawn before it starts.
#ifndef KD_DRAWING_LIGHT_H
#define KD_DRAWING_LIGHT_H

#include "drawing/scene.h"

// Towards the sun, of length 1.
kd_vec3 kd_light_sun(const kd_camera *camera);
// Red, green and blue (0 .. 255) of a matt surface of the colour "#rrggbb" with normal n of length 1; part: of the light that it throws back.
void kd_light_colour(const kd_camera *camera, const char *colour, kd_vec3 n, double part, int rgb[3]);

#endif
