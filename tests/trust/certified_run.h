// certified_run.h: a model given as text, run with its certificate.
#ifndef KARDAN_TESTS_CERTIFIED_RUN_H
#define KARDAN_TESTS_CERTIFIED_RUN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

typedef struct certified {
    kd_status      status;
    kd_certificate certificate;
    kd_clean       verdict;
    kd_stats       stats;
    double         t, p[8], v[8]; // the last state
    char           message[1600];
} certified;

typedef struct certified_context {
    kd_certifier  *certifier;
    kd_simulation *simulation;
} certified_context;

static inline kd_eval certified_output(const kd_state *x, bool at_time, void *context)
{
    certified_context *c = context;
    (void)at_time;
    return kd_certifier_see(c->certifier, c->simulation, x) < 0 ? KD_EVAL_STOP : KD_EVAL_OK;
}

// Equations and a start: all steps are looked at
static inline void certify_equations(const kd_eom *eom, const kd_inputs *inputs, kd_state *x, double t_end,
                                     kd_simulation_options opt, certified *out)
{
    certified_context c = {0};
    *out = (certified){0};
    opt.output = certified_output;
    opt.context = &c;
    assert_int_equal(kd_certifier_create(eom, inputs, &c.certifier), KD_OK);
    out->status = kd_simulation_create(eom, inputs, &opt, x, &c.simulation, out->message, sizeof out->message);
    assert_true(out->status >= 0);
    out->status = kd_simulation_run(c.simulation, t_end);
    snprintf(out->message, sizeof out->message, "%s", kd_simulation_message(c.simulation));
    out->certificate = kd_certifier_certificate(c.certifier);
    kd_certificate_take(&out->certificate, c.simulation);
    out->certificate.status = out->status;
    out->stats = kd_simulation_stats(c.simulation);
    kd_certificate_verdict(&out->certificate, &out->verdict);
    const kd_dims n = kd_eom_dims(eom);
    out->t = x->t;
    for (int i = 0; i < 8 && i < n.np; i++) out->p[i] = x->p[i];
    for (int i = 0; i < 8 && i < n.nv; i++) out->v[i] = x->v[i];
    kd_simulation_destroy(c.simulation);
    kd_certifier_destroy(c.certifier);
}

static inline kd_model *model_of(const char *text)
{
    char      message[2000] = "";
    kd_model *model = NULL;
    kd_status status = kd_model_read_text("model.yaml", text, strlen(text), NULL, 0, &model, message, sizeof message);
    if (status < 0) print_error("%s\n%s\n", message, text);
    assert_true(status >= 0);
    return model;
}

static inline void certify_text(const char *text, kd_coordinates coordinates, double t_end, kd_simulation_options opt,
                                certified *out)
{
    char              message[2000] = "";
    kd_system_options system_options = kd_system_options_default();
    kd_model         *model = model_of(text);
    kd_system        *system;
    kd_state         *x;
    system_options.coordinates = coordinates;
    assert_true(kd_system_create(model, &system_options, &system, message, sizeof message) >= 0);
    assert_true(kd_state_create(kd_system_eom(system), &x) >= 0);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    certify_equations(kd_system_eom(system), kd_system_inputs(system), x, t_end, opt, out);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// The check of a name; fails if there is none
static inline const kd_check *check_of(const kd_clean *v, const char *name)
{
    for (int i = 0; i < v->nchecks; i++)
        if (strcmp(v->check[i].name, name) == 0) return &v->check[i];
    print_error("no check '%s' in: %s\n", name, v->sentence);
    fail();
    return NULL;
}

static inline double between(double low, double high)
{
    return low + (high - low) * ((double)rand() / RAND_MAX);
}

// Evenly in the logarithm
static inline double of_order(double low, double high)
{
    return exp(between(log(low), log(high)));
}

static inline kd_simulation_options with_method(kd_integrator_kind integrator, double rtol)
{
    kd_simulation_options opt = kd_simulation_options_default();
    const bool            is_explicit = integrator == KD_DOPRI5 || integrator == KD_DOP853;
    opt.integrator = integrator;
    opt.formulation = is_explicit ? KD_ODE : integrator == KD_BDF ? KD_GGL : KD_PSF;
    opt.rtol = opt.atol = rtol;
    opt.integrator_options.max_steps = 400000;
    return opt;
}

#endif
