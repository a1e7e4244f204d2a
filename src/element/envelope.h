// element/envelope.h: a road as a wheel feels it: the path of the lowest point of a cam that slides over it.
//
// The cam is |s/a|^c + |z/b|^c = 1, upright: its bottom stands b (1 - (1 - |s/a|^c)^(1/c)) above its lowest point. It rests on
// the road z(s) at the height W = max (z(s) - bottom(s)) over |s| <= REACH a. Where the place s of contact lies inside, W
// changes by bottom'(s) as the cam moves on, be the road smooth there or an edge; at the end of the reach with the road.
//
// On a plane of slope beta the cam stands higher than the plane below its middle, by the support function of its shape:
//
//     lift(beta) = ((a |beta|)^q + b^q)^(1/q) - b,   q = c/(c - 1)
//
// Obstacles shorter than a/24 are met only where a point of the search is on them.
#ifndef KARDAN_ELEMENT_ENVELOPE_H
#define KARDAN_ELEMENT_ENVELOPE_H

#include <stdbool.h>

typedef struct kd_cam {
    double a, b, c; // half length and half height [m], exponent > 1
} kd_cam;

double kd_cam_bottom(const kd_cam *cam, double s);
double kd_cam_slope(const kd_cam *cam, double s); // of the bottom

double kd_cam_lift(const kd_cam *cam, double beta, double *by); // and its derivative

typedef double kd_cam_road(double s, void *context);

typedef struct kd_cam_rest {
    double W, s;
    bool   inside;
} kd_cam_rest;

kd_cam_rest kd_cam_on_road(const kd_cam *cam, kd_cam_road *road, void *context);

#endif
