// expr/track.h: a level line in the plane by its curvature, as functions of the arc length with three derivatives.
//
//     heading(s) = integral of kappa,   x(s) = integral of cos heading,   y(s) = integral of sin heading
//
// all 0 at the start. Method: docs/methods/wheel-rail.md
#ifndef KD_EXPR_TRACK_H
#define KD_EXPR_TRACK_H

#include <kardan/base.h>

#include "expr/range.h"

typedef struct kd_track kd_track;

typedef enum kd_track_part {
    KD_TRACK_X,
    KD_TRACK_Y,
    KD_TRACK_HEADING,
    KD_TRACK_CURVATURE,
    KD_TRACK_PARTS
} kd_track_part;

// curvature(s, context) is asked inside of equal pieces of [start, end]: corners of it belong on the ends of pieces.
// KD_OK, KD_ERR_MODEL (it is not finite), KD_ERR_MEMORY.
kd_status kd_track_create(double start, double end, int pieces, double (*curvature)(double s, void *context),
                          void *context, kd_track **track) KD_NODISCARD;
// Another line of as many pieces. Does not allocate.
kd_status kd_track_update(kd_track *track, double start, double end, double (*curvature)(double s, void *context),
                          void *context) KD_NODISCARD;
int       kd_track_pieces(const kd_track *track);
void      kd_track_destroy(kd_track *track); // NULL is fine

// out = f, f', f'', f''' at s. Outside of the range the line goes on straight.
void kd_track_eval(const kd_track *track, kd_track_part part, double s, double out[4]);
// Bounds of f for all s of a range.
kd_interval kd_track_bounds(const kd_track *track, kd_track_part part, kd_interval s);
void        kd_track_ends(const kd_track *track, double *start, double *end);

#endif
