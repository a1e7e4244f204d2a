// drawing/hull.h: the convex hull of points of a picture.
#ifndef KD_DRAWING_HULL_H
#define KD_DRAWING_HULL_H

typedef struct kd_hull_spot { // a place in a picture, and how near it is
    double x, y, z;
} kd_hull_spot;

// Twice the area of the triangle a, b, c, with its sign.
double kd_turn(const kd_hull_spot *a, const kd_hull_spot *b, const kd_hull_spot *c);
// Corners of the hull of n spots in `hull` (n + 1); returns how many. The spots are sorted.
int kd_hull(kd_hull_spot *spots, int n, kd_hull_spot *hull);

#endif
