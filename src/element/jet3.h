// jet3.h: vectors of jets (expr/jet.h).
#ifndef KARDAN_ELEMENT_JET3_H
#define KARDAN_ELEMENT_JET3_H

#include "expr/jet.h"
#include "math/space.h"

typedef struct kd_jet3 {
    kd_jet x, y, z;
} kd_jet3;

static inline kd_jet3 kd_jet3_add(kd_jet3 a, kd_jet3 b)
{
    return (kd_jet3){kd_jet_add(a.x, b.x), kd_jet_add(a.y, b.y), kd_jet_add(a.z, b.z)};
}
static inline kd_jet3 kd_jet3_sub(kd_jet3 a, kd_jet3 b)
{
    return (kd_jet3){kd_jet_sub(a.x, b.x), kd_jet_sub(a.y, b.y), kd_jet_sub(a.z, b.z)};
}
static inline kd_jet3 kd_jet3_mul(kd_jet s, kd_jet3 a)
{
    return (kd_jet3){kd_jet_mul(s, a.x), kd_jet_mul(s, a.y), kd_jet_mul(s, a.z)};
}
static inline kd_jet kd_jet3_dot(kd_jet3 a, kd_jet3 b)
{
    return kd_jet_add(kd_jet_add(kd_jet_mul(a.x, b.x), kd_jet_mul(a.y, b.y)), kd_jet_mul(a.z, b.z));
}
static inline kd_jet3 kd_jet3_cross(kd_jet3 a, kd_jet3 b)
{
    return (kd_jet3){kd_jet_sub(kd_jet_mul(a.y, b.z), kd_jet_mul(a.z, b.y)),
                     kd_jet_sub(kd_jet_mul(a.z, b.x), kd_jet_mul(a.x, b.z)),
                     kd_jet_sub(kd_jet_mul(a.x, b.y), kd_jet_mul(a.y, b.x))};
}
static inline kd_vec3 kd_jet3_value(kd_jet3 a)
{
    return kd_vec(a.x.x, a.y.x, a.z.x);
}
static inline kd_jet3 kd_jet3_const(double x, double y, double z)
{
    return (kd_jet3){kd_jet_const(x), kd_jet_const(y), kd_jet_const(z)};
}
static inline kd_jet3 kd_jet3_unit(kd_jet3 a)
{
    const kd_jet length = kd_jet_sqrt(kd_jet3_dot(a, a));
    return (kd_jet3){kd_jet_div(a.x, length), kd_jet_div(a.y, length), kd_jet_div(a.z, length)};
}

#endif
