// drawing/thin.h: which rows of a motion are kept, when those between them follow from their neighbours.
#ifndef KD_DRAWING_THIN_H
#define KD_DRAWING_THIN_H

#include "drawing/scene.h"

// How wrong row k is when it is taken from rows i < k < j, between which one goes along straight lines: 0 exact
typedef double (*kd_row_error)(const void *context, int i, int k, int j);

// keep (n): the rows that are kept, first and last among them; returns their number. All others are within the tolerance. From row to row as far as a
// power of two allows, so that the work grows like n log n.
int kd_thin(int n, kd_row_error error, const void *context, double tolerance, int *keep);
// At most that many (2 and more), with as small a tolerance as will do, `tolerance` at least.
int kd_thin_to(int n, int most, kd_row_error error, const void *context, double tolerance, int *keep);

// The error of a frame: of positions and of points one `size` away from the origins of bodies, in sizes; of amplitudes, by their largest.
// A turn of more than a half between two frames is seen as an error of the frames between them.
typedef struct kd_frame_error {
    const kd_film *film;
    double         size;
    const double  *largest; // (namplitudes) NULL: none
} kd_frame_error;
double kd_error_of_frame(const void *frame_error, int i, int k, int j);

// The longest edge of the box around all places of bodies; 1 where there is none.
double kd_film_size(const kd_film *film);
// Frames that cannot be missed in a picture, for pages; arrays are the arena's. KD_ERR_MEMORY.
kd_status kd_film_thin(const kd_film *film, kd_arena *arena, kd_film *thin) KD_NODISCARD;

#endif
