// drawing/hull.h: the convex hull of points of a picture.
#ifndef KD_DRAWING_HULL_H
#define KD_DRAWING_HULL_H

typedef struct kd_spot { // a place in a picture, and how near it is
    double x, y, z;
} kd_spot;

// Twice the area of the triangle a, b, c, with its sign.
double kd_turn(const kd_spot *a, const kd_spot *b, const kd_spot *c);
// Corners of the hull of n spots in `hull` (n + 1); returns how many. The spots are sorted.
int kd_hull(kd_spot *spots, int n, kd_spot *hull);

#endif
