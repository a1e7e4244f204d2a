// drawing/camera.h: from where a scene is seen.
#ifndef KD_DRAWING_CAMERA_H
#define KD_DRAWING_CAMERA_H

#include "drawing/scene.h"

// A mechanism that goes farther than this many of its sizes is followed; a single body is small anyway. A slide is drawn up to its own length.
enum { KD_CAMERA_TRAVEL = 3, KD_CAMERA_TRAVEL_ALONE = 40, KD_CAMERA_SLIDE = 6 };

void kd_camera_choose(kd_scene *scene); // direction; needs film and size
void kd_camera_fit(kd_scene *scene);    // centre, distance, rectangle, floor, box; needs the solids
// Axes of the picture: u to the right, v up, w to the eye.
void kd_camera_axes(const kd_camera *camera, kd_vec3 *u, kd_vec3 *v, kd_vec3 *w);
// How far the camera has gone at a frame, if it follows; else 0.
kd_vec3 kd_camera_travel(const kd_scene *scene, int frame);

#endif
