// envelope.c: where a cam rests on a road: by points over its length, then inside of those intervals between them that could have
// a higher place. Between points the road is taken to rise or to fall, so that its larger end bounds it.
#include "element/envelope.h"

#include <math.h>

enum { POINTS = 24, CUTS = 32 }; // on each side of the middle; of an interval

static const double REACH = 0.98;

double kd_cam_bottom(const kd_cam *cam, double s)
{
    const double u = pow(fabs(s) / cam->a, cam->c);
    return -cam->b * expm1(log1p(-u) / cam->c);
}

double kd_cam_slope(const kd_cam *cam, double s)
{
    const double x = fabs(s) / cam->a, u = pow(x, cam->c);
    return copysign(cam->b / cam->a * pow(x, cam->c - 1.0) * pow(1.0 - u, 1.0 / cam->c - 1.0), s);
}

double kd_cam_lift(const kd_cam *cam, double beta, double *by)
{
    const double q = cam->c / (cam->c - 1.0), x = cam->a * fabs(beta) / cam->b, u = pow(x, q);
    *by = copysign(cam->a * pow(x, q - 1.0) * pow(1.0 + u, 1.0 / q - 1.0), beta);
    return cam->b * expm1(log1p(u) / q);
}

typedef struct search {
    const kd_cam *cam;
    kd_cam_road  *road;
    void         *context;
    double        most, s; // the highest place so far
} search;

static double try_at(search *f, double s)
{
    const double z = f->road(s, f->context), above = z - kd_cam_bottom(f->cam, s);
    if (above > f->most) f->most = above, f->s = s;
    return z;
}

// Golden section: of two inner places the higher one stays
static void climb(search *f, double low, double high)
{
    const double g = 0.61803398874989485;
    double       p = high - g * (high - low), q = low + g * (high - low);
    double       at_p = try_at(f, p) - kd_cam_bottom(f->cam, p), at_q = try_at(f, q) - kd_cam_bottom(f->cam, q);
    for (int i = 0; i < CUTS; i++) {
        if (at_p >= at_q) {
            high = q, q = p, at_q = at_p;
            p = high - g * (high - low), at_p = try_at(f, p) - kd_cam_bottom(f->cam, p);
        } else {
            low = p, p = q, at_p = at_q;
            q = low + g * (high - low), at_q = try_at(f, q) - kd_cam_bottom(f->cam, q);
        }
    }
}

// An interval over which the road rises or falls, gradually or by an edge: where it is half way up, then on both sides of that
static void refine(search *f, double p, double q, double z_p, double z_q)
{
    double low = p, high = q;
    for (int i = 0; i < CUTS; i++) {
        const double middle = 0.5 * (low + high);
        if ((try_at(f, middle) > 0.5 * (z_p + z_q)) == (z_q > z_p))
            high = middle;
        else
            low = middle;
    }
    climb(f, p, low);
    climb(f, high, q);
}

kd_cam_rest kd_cam_on_road(const kd_cam *cam, kd_cam_road *road, void *context)
{
    const double step = REACH * cam->a / POINTS;
    search       f = {cam, road, context, -INFINITY, 0.0};
    double       z[2 * POINTS + 1], bottom[2 * POINTS + 1];
    for (int k = 0; k <= 2 * POINTS; k++) {
        z[k] = try_at(&f, (k - POINTS) * step);
        bottom[k] = kd_cam_bottom(cam, (k - POINTS) * step);
    }
    // beside the highest point, where the road may have its top between the points
    const int best = (int)lround(f.s / step) + POINTS, before = best > 0 ? best - 1 : 0,
              behind = best < 2 * POINTS ? best + 1 : best;
    if (z[before] != z[best] || z[behind] != z[best]) climb(&f, (before - POINTS) * step, (behind - POINTS) * step);
    // other intervals that could have a higher place
    for (int i = 0; i < 2 * POINTS; i++) {
        const int k = (best - 1 + i + 2 * POINTS) % (2 * POINTS);
        if (z[k] != z[k + 1] && fmax(z[k], z[k + 1]) - fmin(bottom[k], bottom[k + 1]) > f.most)
            refine(&f, (k - POINTS) * step, (k + 1 - POINTS) * step, z[k], z[k + 1]);
    }
    return (kd_cam_rest){f.most, f.s, POINTS * step - fabs(f.s) > 1e-6 * step};
}
