// tests/systems/random_parts.h: what the parts of random mechanisms share: numbers, texts, poses, picks of bodies and
// joints.
#ifndef KD_TEST_RANDOM_PARTS_H
#define KD_TEST_RANDOM_PARTS_H

#include "systems/random_model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// random_forces.c
void mechanism_make_force(mechanism *m, kd_force_kind kind);
void mechanism_make_states(mechanism *m);

// ---- numbers and texts ----
static inline double between(double a, double b, uint64_t *seed)
{
    return a + 0.5 * (b - a) * (mechanism_random(seed) + 1);
}

static inline bool chance(double part, uint64_t *seed)
{
    return between(0, 1, seed) < part;
}

static inline const char *text(mechanism *m, const char *format, ...)
{
    va_list arguments;
    char   *at = m->pool + m->used;
    va_start(arguments, format);
    int n = vsnprintf(at, POOL - m->used, format, arguments);
    va_end(arguments);
    if (n < 0 || m->used + (size_t)n + 1 > POOL) abort();
    m->used += (size_t)n + 1;
    return at;
}

// ---- poses ----------------------------------------------------------------------------------------------------------
typedef struct pose {
    kd_vec3 r;
    kd_quat q;
} pose;

static inline kd_vec3 turned(kd_quat q, kd_vec3 a)
{
    kd_mat3 R = kd_quat_matrix(q);
    return kd_mat_vec(&R, a);
}

// b, given in a, in the coordinates that a is given in
static inline pose behind(pose a, pose b)
{
    return (pose){kd_vec_add(a.r, turned(a.q, b.r)), kd_quat_mul(a.q, b.q)};
}

static inline kd_quat about_z(double angle)
{
    return (kd_quat){cos(0.5 * angle), 0, 0, sin(0.5 * angle)};
}
static inline kd_quat about_x(double angle)
{
    return (kd_quat){cos(0.5 * angle), sin(0.5 * angle), 0, 0};
}

static inline kd_place place_at(int body, pose at)
{
    kd_place place = kd_at(mechanism_body_name(body), at.r.x, at.r.y, at.r.z);
    kd_quat_to(at.q, place.orientation);
    return place;
}

static inline pose pose_of_body(const mechanism *m, int body)
{
    if (body < 0) return (pose){{0, 0, 0}, {1, 0, 0, 0}};
    return (pose){kd_vec_of(m->body[body].position), kd_quat_of(m->body[body].orientation)};
}

static inline pose random_pose(double size, uint64_t *seed)
{
    pose at;
    at.r = mechanism_vec(size, seed);
    at.q = mechanism_quat(seed);
    return at;
}

// a place somewhere at a body
static inline kd_place random_place(mechanism *m, int body)
{
    return place_at(body, behind(pose_of_body(m, body), random_pose(0.5, &m->seed)));
}

// ---- picks ----
static inline int coordinates_of(kd_joint_kind kind)
{
    static const int count[KD_JOINT_KIND_COUNT] = {0, 1, 1, 1, 2, 2, 3, 0, 3, 6, 2, 2, 3, 6, 1, 1};
    return count[kind];
}

static inline int random_body(mechanism *m, int but)
{
    int lowest = m->opt.floating ? 0 : -1;
    for (;;) {
        int b = mechanism_below(m->nbodies - lowest, &m->seed) + lowest;
        if (b != but) return b;
    }
}

// a joint of the tree with coordinates; -1: there is none
static inline int random_joint(mechanism *m)
{
    int first = mechanism_below(m->ntree > 0 ? m->ntree : 1, &m->seed);
    for (int k = 0; k < m->ntree; k++)
        if (coordinates_of(m->joint[(first + k) % m->ntree].kind) > 0) return (first + k) % m->ntree;
    return -1;
}

static inline const char *coordinate(mechanism *m, int joint, char letter, int *which)
{
    int n = coordinates_of(m->joint[joint].kind);
    *which = mechanism_below(n, &m->seed);
    if (n == 1) return text(m, "joint.%s.%c", mechanism_joint_name(joint), letter);
    return text(m, "joint.%s.%c%d", mechanism_joint_name(joint), letter, *which + 1);
}

#endif
