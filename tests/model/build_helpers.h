// tests/model/build_helpers.h: small models for tests, and looks into their messages.
#ifndef KD_TEST_BUILD_HELPERS_H
#define KD_TEST_BUILD_HELPERS_H

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/model.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"

#define CHECK(call) assert_int_equal((call), KD_OK)

static inline kd_model *new_model(void)
{
    kd_model *m = NULL;
    CHECK(kd_model_create(&m));
    return m;
}

// 1 kg, a ball of inertia 0.1
static inline kd_body_def ball(void)
{
    kd_body_def b = kd_body_def_default();
    b.mass = 1.0;
    for (int i = 0; i < 6; i++) b.inertia[i] = i < 3 ? 0.1 : 0.0;
    return b;
}

static inline void add_ball(kd_model *m, const char *name)
{
    const kd_body_def b = ball();
    CHECK(kd_model_add_body(m, name, &b));
}

static inline void add_joint(kd_model *m, const char *name, kd_joint_kind kind, const char *from, const char *to)
{
    kd_joint_def j = kd_joint_def_default(kind);
    j.from = kd_at(from, 0, 0, 0);
    j.to = kd_at(to, 0, 0, 0);
    CHECK(kd_model_add_joint(m, name, &j));
}

// Body "arm" on the revolute joint "hinge".
static inline kd_model *arm_model(void)
{
    kd_model *m = new_model();
    add_ball(m, "arm");
    add_joint(m, "hinge", KD_REVOLUTE, "ground", "arm");
    return m;
}

static inline void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) print_error("expected: %s\n   found: %s\n", part, text);
    assert_non_null(strstr(text, part));
}

// The model is wrong, and the message is exactly this; the model is gone afterwards.
static inline void assert_wrong(kd_model *m, const char *message)
{
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    assert_string_equal(kd_model_message(m), message);
    kd_model_destroy(m);
}

static inline bool has_warning(const kd_model *m, const char *part)
{
    for (int i = 0; i < kd_model_warning_count(m); i++) {
        if (strstr(kd_model_warning(m, i), part)) return true;
    }
    return false;
}

// The model is right, with this warning.
static inline void assert_warned(kd_model *m, const char *part)
{
    const kd_status status = kd_model_finish(m);
    if (status < 0) print_error("%s\n", kd_model_message(m));
    assert_int_equal(status, KD_OK);
    if (!has_warning(m, part)) {
        for (int i = 0; i < kd_model_warning_count(m); i++) print_error("warning: %s\n", kd_model_warning(m, i));
    }
    assert_true(has_warning(m, part));
    kd_model_destroy(m);
}

static inline void assert_right(kd_model *m)
{
    const kd_status status = kd_model_finish(m);
    if (status < 0) print_error("%s\n", kd_model_message(m));
    assert_int_equal(status, KD_OK);
    kd_model_destroy(m);
}

static inline void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) print_error("%.17g is not near %.17g\n", a, b);
    assert_true(fabs(a - b) <= tolerance);
}

static inline void assert_vec(kd_vec3 a, double x, double y, double z, double tolerance)
{
    assert_near(a.x, x, tolerance);
    assert_near(a.y, y, tolerance);
    assert_near(a.z, z, tolerance);
}

#endif
