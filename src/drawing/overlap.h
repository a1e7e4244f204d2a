// drawing/overlap.h: solids that stick in each other: what is left to be seen of their faces.
//
// The painter's order by the middle of faces fails where one solid is inside another: a rod in its tube, a pin in its
// bar. Faces inside another solid cannot be seen and are left out; a wall that sticks out is cut where it comes out.
#ifndef KD_DRAWING_OVERLAP_H
#define KD_DRAWING_OVERLAP_H

#include "drawing/scene.h"

typedef enum kd_form { KD_FORM_OPEN, KD_FORM_BOX, KD_FORM_ROUND, KD_FORM_BALL } kd_form; // open: one can be inside it

kd_form kd_form_of(int mesh);

typedef struct kd_placed { // a solid at a frame
    kd_vec3 centre;
    kd_mat3 A;     // axes in the world
    double  reach; // of a ball around it
} kd_placed;

// Places of all solids at a frame.
void kd_placed_at(const kd_scene *scene, int frame, kd_placed *placed);
// Corners of the part of a face that is not inside another solid, in the world; at most as many as the face has.
// Returns their number, 0: hidden.
int kd_visible_face(const kd_scene *scene, const kd_placed *placed, int solid, int face, kd_vec3 *corner);

#endif
