// scaled_text.h: runs of models whose numbers are written in units L, M, T, and whether other units decide and step alike.
#ifndef KARDAN_TESTS_SCALED_TEXT_H
#define KARDAN_TESTS_SCALED_TEXT_H

#include "trust/scaled_motion.h"

typedef struct way {
    kd_formulation     form;
    kd_integrator_kind integrator;
} way;

// text: a model, or the path of its file
static inline motion move_text(const char *text, scaling s, kd_coordinates coordinates, way w, double t_end)
{
    motion           out = {.n = 2};
    char             value[3][40];
    const kd_setting setting[3] = {{"L", value[0]}, {"M", value[1]}, {"T", value[2]}};
    kd_model        *model;
    kd_system       *system = NULL;
    kd_state        *x;
    kd_eom_data     *d;
    snprintf(value[0], sizeof value[0], "%.17g", ldexp(1, s.length));
    snprintf(value[1], sizeof value[1], "%.17g", ldexp(1, s.mass));
    snprintf(value[2], sizeof value[2], "%.17g", ldexp(1, s.time));
    const kd_status read = text[0] == '/' ? kd_model_read(text, setting, 3, &model, out.message, sizeof out.message)
                                          : kd_model_read_text("model", text, strlen(text), setting, 3, &model,
                                                               out.message, sizeof out.message);
    if (read < 0) fail_msg("%s", out.message);
    move_model(model, coordinates, w.form, w.integrator, ldexp(t_end, s.time), &system, &x, &out);
    // the sensors, which have no unit
    assert_int_equal(kd_eom_data_create(kd_system_eom(system), &d), KD_OK);
    kd_eom_at_time(d, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(d, KD_Y, out.x), KD_EVAL_OK);
    kd_eom_data_destroy(d);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return out;
}

// Which runs agree to rounding: all; those of models with numbers that are found by iterations, as modes, where rounding
// decides on single rejections; those with many rejections, or a method with a memory, where it decides on some steps
typedef enum rounded { EXACT, ROUNDED, AMPLIFIED } rounded;

static inline void texts_alike(const char *name, const char *one, const char *two, scaling s, way w, kd_coordinates c,
                               double t_end, rounded how)
{
    char         what[200];
    const motion a = move_text(one, (scaling){0, 0, 0}, c, w, t_end), b = move_text(two, s, c, w, t_end);
    if (a.status < 0) fail_msg("%s: %s", name, a.message);
    snprintf(what, sizeof what, "%s %s %s %s 2^(%d %d %d)", name, c == KD_JOINT ? "joint" : "cartesian",
             kd_formulation_word(w.form), kd_integrator_word(w.integrator), s.length, s.mass, s.time);
    if (!(fabs(a.x[0]) > 1e-6)) fail_msg("%s: nothing moves", what);
    if (how == EXACT) {
        assert_alike(what, &a, &b);
        return;
    }
    assert_same_decisions(what, &a, &b);
    const long part = how == ROUNDED ? 100 : 8;
    if (labs(a.steps - b.steps) > 3 + a.steps / part || labs(a.rejected - b.rejected) > 8 + a.rejected / part)
        fail_msg("%s: %ld + %ld steps, not %ld + %ld", what, b.steps, b.rejected, a.steps, a.rejected);
    if (!(distance(&a, &b) <= (how == ROUNDED ? 1e-7 : 1e-6))) fail_msg("%s: error %g", what, distance(&a, &b));
}

#endif
