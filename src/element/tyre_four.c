// tyre_four.c: the law of a tyre with slip for four tyres side by side, one in each number of a vector.
#include "tree/rows.h"

#define TYRE_PARTS 0
#define TYRE_FOUR
#include "element/tyre_impl.h"

#if KD_LANES == 4
#define OF(member)                                                                                                     \
    {                                                                                                                  \
        d[0]->member, d[1]->member, d[2]->member, d[3]->member                                                         \
    }
#define IN(i)                                                                                                          \
    {                                                                                                                  \
        a[0][i], a[1][i], a[2][i], a[3][i]                                                                             \
    }
#define OF_BOOL(member)                                                                                                \
    {                                                                                                                  \
        -(long long)d[0]->member, -(long long)d[1]->member, -(long long)d[2]->member, -(long long)d[3]->member         \
    }
#else
#define OF(member)                                                                                                     \
    {                                                                                                                  \
        d[0]->member, d[1]->member                                                                                     \
    }
#define IN(i)                                                                                                          \
    {                                                                                                                  \
        a[0][i], a[1][i]                                                                                               \
    }
#define OF_BOOL(member)                                                                                                \
    {                                                                                                                  \
        -(long long)d[0]->member, -(long long)d[1]->member                                                             \
    }
#endif

static inline void put(const tyre_number *from, int i, double (*out)[KD_TYRE_OUTPUTS])
{
    for (int l = 0; l < KD_LANES; l++) out[l][i] = from->x[l];
}

static inline bool lanes_of_tyres(const kd_tyre_def *const *d, const double (*a)[KD_TYRE_INPUTS],
                                  const double             *road_rate, double (*out)[KD_TYRE_OUTPUTS])
{
    const tyre_data data = {.radius = OF(radius),
                            .stiffness = OF(stiffness),
                            .damping = OF(damping),
                            .preload = OF(preload),
                            .friction = OF(friction),
                            .load = OF(load),
                            .longitudinal = {OF(longitudinal[0]), OF(longitudinal[1])},
                            .lateral = {OF(lateral[0]), OF(lateral[1])},
                            .camber = OF(camber),
                            .relaxation = OF(relaxation),
                            .slip = OF(slip),
                            .rolling_resistance = OF(rolling_resistance),
                            .lifts_off = OF_BOOL(lifts_off),
                            .relaxed = d[0]->relaxation > 0.0};
    tyre_number     in[KD_TYRE_INPUTS];
    tyre_forces     t;
    for (int i = 0; i < KD_TYRE_INPUTS; i++) in[i].x = (kd_lanes)IN(i);
    if (!tyre_law(&data, in, kd_lanes_at(road_rate), &t)) return false;
    for (int i = 0; i < 6; i++) put(&t.force[i], i, out);
    for (int i = 0; i < 2 && data.relaxed; i++) put(&t.slip_rate[i], 6 + i, out);
    return true;
}

bool KD_KERNEL(kd_tyre_four)(const kd_tyre_def *const d[4], const double a[4][KD_TYRE_INPUTS],
                             const double road_rate[4], double out[4][KD_TYRE_OUTPUTS])
{
    bool good = true;
    for (int l = 0; l < 4; l += KD_LANES) good = lanes_of_tyres(d + l, a + l, road_rate + l, out + l) && good;
    return good;
}
