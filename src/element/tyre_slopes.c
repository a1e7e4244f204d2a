// tyre_slopes.c: derivatives of the law of a tyre with slip by all that it depends on, at once.
#include "tree/rows.h"

#define TYRE_PARTS 12
#include "element/tyre_impl.h"

_Static_assert(TYRE_PARTS == KD_TYRE_INPUTS, "one part for each input");

static inline void tyre_put(const tyre_number *a, double *out)
{
    for (int i = 0; i < TYRE_GROUPS; i++) *(kd_lanes *)(out + i * KD_LANES) = a->d[i];
}

bool KD_KERNEL(kd_tyre_slopes)(const kd_tyre_def *d, const double *a, double road_rate, double *out)
{
    tyre_number in[KD_TYRE_INPUTS];
    tyre_forces t;
    for (int i = 0; i < 2; i++) t.slip_rate[i] = tyre_const(0.0); // without relaxation
    // input i has the unit derivative by itself
    for (int i = 0; i < KD_TYRE_INPUTS; i++) {
        double unit[KD_TYRE_INPUTS] = {0.0};
        unit[i] = 1.0;
        in[i].x = a[i];
        for (int k = 0; k < TYRE_GROUPS; k++) in[i].d[k] = kd_lanes_at(unit + k * KD_LANES);
    }
    if (!tyre_law(d, in, road_rate, &t)) return false;
    for (int i = 0; i < 6; i++) tyre_put(&t.force[i], out + i * KD_TYRE_INPUTS);
    for (int i = 0; i < 2; i++) tyre_put(&t.slip_rate[i], out + (6 + i) * KD_TYRE_INPUTS);
    return true;
}
