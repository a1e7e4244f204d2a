// light.c: a matt surface under a sun, a sky over a ground, and light from everywhere.
//
//   out = colour / pi (SUN max(n.s, 0) + SKY (a sky + (1 - a) ground) + EVERYWHERE),   a = (1 + n.up)/2
//
// in linear colours; pages have them in sRGB.
#include "drawing/light.h"

#include <math.h>
#include <stdlib.h>

#include "core/pi.h"

static const double SUN = 2.2, SKY = 1.1, EVERYWHERE = 0.35; // as viewer/src/light.ts
static const int    GROUND = 0x9aa3ad;                       // colour of the sky from below

static double to_linear(double c)
{
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double to_page(double c)
{
    return c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1.0 / 2.4) - 0.055;
}

kd_vec3 kd_light_sun(const kd_camera *c)
{
    kd_vec3 s = kd_vec_axpy(kd_vec_axpy(kd_vec_scale(4.0, c->up), 1.8, c->front), 1.4, c->right);
    return kd_vec_scale(1.0 / kd_vec_norm(s), s);
}

void kd_light_colour(const kd_camera *camera, const char *colour, kd_vec3 n, double part, int rgb[3])
{
    const long   paint = strtol(colour + 1, NULL, 16);
    const double above = 0.5 + 0.5 * kd_vec_dot(n, camera->up);
    const double sun = SUN * fmax(kd_vec_dot(n, kd_light_sun(camera)), 0.0);
    for (int i = 0; i < 3; i++) {
        const int    shift = 16 - 8 * i;
        const double ground = to_linear((GROUND >> shift & 255) / 255.0);
        const double light = (sun + SKY * (above + (1.0 - above) * ground) + EVERYWHERE) / KD_PI;
        const double out = part * light * to_linear((double)(paint >> shift & 255) / 255.0);
        rgb[i] = (int)lround(255.0 * to_page(fmin(out, 1.0)));
    }
}
