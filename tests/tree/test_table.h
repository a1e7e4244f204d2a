// tests/tree/test_table.h: tables of joints for tests: cubics, which splines meet exactly, so that the pose is known in
// closed form and has all derivatives everywhere.
#ifndef KD_TEST_TABLE_H
#define KD_TEST_TABLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "joint/table.h"

enum { CUBICS = 10, CUBIC_ROWS = 9 };

// x, y, z; turns about z, x, y; quaternion: coefficients of 1, q, q^2, q^3
static const double cubic[CUBICS][4] = {
    {0.2, 0.5, -0.15, 0.04}, {-0.1, 0.3, 0.2, -0.03},  {0.05, -0.6, 0.1, 0.02},  {0.1, 0.4, 0.05, -0.02},
    {-0.2, 0.3, -0.1, 0.03}, {0.3, -0.2, 0.15, 0.01},  {1.1, 0.1, -0.05, 0.005}, {0.2, 0.4, 0.05, -0.02},
    {-0.3, 0.2, 0.1, 0.015}, {0.1, -0.35, 0.02, 0.01},
};

static inline double cubic_at(int i, double q)
{
    return cubic[i][0] + q * (cubic[i][1] + q * (cubic[i][2] + q * cubic[i][3]));
}

static kd_curve *cubic_curve[CUBICS];

static inline void destroy_cubics(void)
{
    for (int i = 0; i < CUBICS; i++) kd_curve_destroy(cubic_curve[i]);
}

static inline void make_cubics(void)
{
    if (cubic_curve[0]) return;
    for (int i = 0; i < CUBICS; i++) {
        double x[CUBIC_ROWS], y[CUBIC_ROWS];
        for (int k = 0; k < CUBIC_ROWS; k++) x[k] = -4.0 + k + 0.1 * (k % 3), y[k] = cubic_at(i, x[k]);
        assert_int_equal(
            kd_curve_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_TANGENT, CUBIC_ROWS, x, y, &cubic_curve[i], NULL, 0),
            KD_OK);
    }
    (void)atexit(destroy_cubics);
}

// KD_TABLE: by turns; KD_ANGLE_TABLE: by a quaternion, in a mirror
static inline kd_joint_table test_table(kd_joint_kind kind, bool back)
{
    kd_joint_table t = {.mirrored = kind == KD_ANGLE_TABLE, .back = back};
    make_cubics();
    for (int i = 0; i < 3; i++) t.shift[i] = cubic_curve[i];
    for (int i = 0; i < 3 && kind == KD_TABLE; i++) t.turn[i] = cubic_curve[3 + i];
    for (int i = 0; i < 4 && kind != KD_TABLE; i++) t.quaternion[i] = cubic_curve[6 + i];
    return t;
}

// for good; NULL: a kind without table
static inline const kd_joint_table *shared_table(kd_joint_kind kind, bool back)
{
    static kd_joint_table table[2][2];
    if (!kd_joint_form_of(kind).curved) return NULL;
    kd_joint_table *t = &table[kind == KD_TABLE][back];
    *t = test_table(kind, back);
    return t;
}

#endif
