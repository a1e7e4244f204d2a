// idle.c: modes of a body that nothing excites: no frame moves with them, and they take no part in the momentum of the body.
#include <math.h>

#include "flexible/body.h"

static const double smallest = 1e-6; // part of the mean motion of the points of a mode

static double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

kd_idle kd_flexible_body_idle(const kd_flexible_body *b, int k)
{
    // mean distance of the points from the frame, and how far the mode moves them in the mean
    const double length = sqrt((b->second[0] + b->second[4] + b->second[8]) / b->mass);
    const double motion = sqrt(b->Me[(size_t)k * (size_t)(b->nq + 1)] / b->mass), none = smallest * motion;
    for (int f = 0; f < b->nframes; f++)
        if (largest(b->frame[f].Phi + 3 * k, 3) > none || length * largest(b->frame[f].Psi + 3 * k, 3) > none)
            return KD_IDLE_NO;
    if (largest(b->C + 3 * k, 3) > none * b->mass || largest(b->Cr + 3 * k, 3) > none * b->mass * length)
        return KD_IDLE_NO;
    // w' A w - w w tr A: what is antisymmetric in A is in Cr
    return largest(b->A + 9 * k, 9) > none * b->mass * length ? KD_IDLE_BUT_ROTATION : KD_IDLE_YES;
}
