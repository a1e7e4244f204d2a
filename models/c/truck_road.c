// truck_road.c: see truck_road.h. Source of road A: E. Eich-Soellner, C. Fuehrer, Numerical Methods in Multibody
// Dynamics (Teubner, 1998), the truck; road B is kardan's own.
#include "truck_road.h"
#include <math.h>

enum { REAR, FRONT, NU };

static const double starts[NU] = {[REAR] = 13.0 / 30.0, [FRONT] = 2.0 / 15.0};

kd_eval kd_truck_road_hump(double t, void *context, double *u, double *du, double *ddu)
{
    (void)context;
    for (int i = 0; i < NU; i++) {
        const double s = t > starts[i] ? t - starts[i] : 0;
        const double s2 = s * s, scale = 1e-3 * s2 * s2 * exp(-s);
        u[i] = scale * s2;
        du[i] = scale * s * (6 - s);
        ddu[i] = scale * (30 + s * (s - 12));
    }
    return KD_EVAL_OK;
}

kd_eval kd_truck_road_bump(double t, void *context, double *u, double *du, double *ddu)
{
    const double height = 0.05, duration = 0.2, omega = 2 * 3.14159265358979323846 / duration;
    (void)context;
    for (int i = 0; i < NU; i++) {
        const double s = t - starts[i];
        const bool   on = s > 0 && s < duration;
        u[i] = on ? 0.5 * height * (1 - cos(omega * s)) : 0; // sin^2 x = (1 - cos 2x) / 2
        du[i] = on ? 0.5 * height * omega * sin(omega * s) : 0;
        ddu[i] = on ? 0.5 * height * omega * omega * cos(omega * s) : 0;
    }
    return KD_EVAL_OK;
}
