// scaled_motion.h: runs of a model and of the same model in other units, and whether they decide and step alike.
#ifndef KARDAN_TESTS_SCALED_MOTION_H
#define KARDAN_TESTS_SCALED_MOTION_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "trust/scaled_model.h"

enum { LONGEST_STATE = 400 };

typedef struct motion {
    kd_status      status;
    kd_system_info info;
    long           steps, rejected;
    int            n;
    double         x[LONGEST_STATE]; // in natural units
    char           message[800];
} motion;

static inline kd_model *read_gallery(const char *name)
{
    char      path[400], message[600];
    kd_model *m;
    snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, name);
    if (kd_model_read(path, NULL, 0, &m, message, sizeof message) < 0) fail_msg("%s", message);
    return m;
}

static inline void keep_state(const kd_eom *eom, const kd_state *x, motion *out)
{
    const kd_dims d = kd_eom_dims(eom);
    assert_true(d.np + d.nv <= LONGEST_STATE);
    for (int i = 0; i < d.np; i++) out->x[out->n++] = x->p[i] / kd_eom_position_unit(eom, i);
    for (int j = 0; j < d.nv; j++) out->x[out->n++] = x->v[j] / kd_eom_unit(eom, j) * kd_eom_time(eom);
}

// A model from its start to t_end in its own units; system and state are for the caller
static inline void move_model(const kd_model *m, kd_coordinates coordinates, kd_formulation form,
                              kd_integrator_kind integrator, double t_end, kd_system **system, kd_state **x,
                              motion *out)
{
    kd_stats          stats = {0};
    kd_system_options so = kd_system_options_default();
    so.coordinates = coordinates;
    if (kd_system_create(m, &so, system, out->message, sizeof out->message) < 0) fail_msg("%s", out->message);
    assert_int_equal(kd_state_create(kd_system_eom(*system), x), KD_OK);
    out->status = kd_system_start(*system, *x, out->message, sizeof out->message);
    out->info = kd_system_info_of(*system);
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = form;
    o.integrator = integrator;
    o.formulation_options.natural = true;
    o.rtol = o.atol = 1e-7;
    if (out->status >= 0)
        out->status = kd_simulate(kd_system_eom(*system), kd_system_inputs(*system), &o, *x, t_end, &stats,
                                  out->message, sizeof out->message);
    out->steps = stats.accepted;
    out->rejected = stats.rejected_error + stats.rejected_newton;
}

// The same, with the state as the result; the model is destroyed
static inline motion move_to_state(kd_model *m, kd_coordinates coordinates, kd_formulation form,
                                   kd_integrator_kind integrator, double t_end)
{
    motion     out = {0};
    kd_system *system = NULL;
    kd_state  *x;
    assert_non_null(m);
    move_model(m, coordinates, form, integrator, t_end, &system, &x, &out);
    keep_state(kd_system_eom(system), x, &out);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(m);
    return out;
}

static inline motion move(const kd_model *source, scaling s, kd_coordinates coordinates, kd_formulation form,
                          kd_integrator_kind integrator, double t_end)
{
    return move_to_state(scaled_model(source, &s), coordinates, form, integrator, ldexp(t_end, s.time));
}

static inline void assert_same_decisions(const char *what, const motion *one, const motion *two)
{
    if (one->status != two->status || memcmp(&one->info, &two->info, sizeof one->info) != 0)
        fail_msg("%s: status %d, %d degrees of freedom, %d redundant, not %d, %d, %d: %s", what, (int)two->status,
                 two->info.dof, two->info.nredundant, (int)one->status, one->info.dof, one->info.nredundant,
                 two->message);
}

static inline double distance(const motion *one, const motion *two)
{
    double error = 0;
    for (int i = 0; i < one->n; i++) error = fmax(error, fabs(one->x[i] - two->x[i]) / (1 + fabs(one->x[i])));
    return error;
}

static inline void assert_alike(const char *what, const motion *one, const motion *two)
{
    const double error = distance(one, two);
    assert_same_decisions(what, one, two);
    if (one->steps != two->steps || one->rejected != two->rejected)
        fail_msg("%s: %ld + %ld steps, not %ld + %ld", what, two->steps, two->rejected, one->steps, one->rejected);
    if (!(error <= 1e-9)) fail_msg("%s: error %g", what, error);
}

#endif
