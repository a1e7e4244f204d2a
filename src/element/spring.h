// spring.h: springs, dampers and actuators along a measure s with the rate v (tsda.c, rsda.c, joint_spring.c), and rows of
// fields and readings that elements between two points have in common.
#ifndef KARDAN_ELEMENT_SPRING_H
#define KARDAN_ELEMENT_SPRING_H

#include "element/force.h"

// f = -(k (s - s0) + c v + preload) + sign * law: between points the law is a tension (sign -1), along a coordinate of a
// joint or an angle it is a force or torque (sign +1)
extern const kd_load_class kd_spring_tension, kd_spring_along;

bool   kd_spring_is_motor(const kd_force_def *d); // without stiffness and damping it follows its law
double kd_spring_stiffness(const kd_force_def *d);
void   kd_spring_make(kd_load_builder *b, int force);

// clang-format off
// Rows of fields: what is the member of the element's own definition
#define KD_FREE_LENGTH(what)                                                                                           \
    {"length", KD_FIELD_NUMBER, offsetof(kd_force_def, what.length), 1, ALL, KD_FIELD_MAYBE, NAN, NOT_NEGATIVE, "m",   \
     .doc = "free length of the spring; not given: as at the start position"}
#define KD_FREE_TENSION(what)                                                                                          \
    {"preload", KD_FIELD_NUMBER, offsetof(kd_force_def, what.preload), 1, ALL, 0, 0, ANY, "N",                         \
     .doc = "tension at free length"},                                                                                 \
    {"law", KD_FIELD_LAW, offsetof(kd_force_def, what.law), 1, ALL, 0, 0, ANY, "N",                                    \
     .doc = "further tension, an expression of length, rate and of paths", .locals = kd_length_locals}
// Rows of readings of what acts along the distance of two points
#define KD_LENGTH_READINGS                                                                                             \
    {"length", "m", KD_PROPERTY_Q, 0, NULL}, {"rate", "m/s", KD_PROPERTY_V, 0, NULL},                                  \
    {"force", "N", KD_PROPERTY_FORCE, 0, NULL}
// clang-format on

#endif
