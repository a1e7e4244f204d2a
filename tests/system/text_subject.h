// text_subject.h: a model from a text with its equations, a state at its start, and what can be read of it.
#ifndef KARDAN_TESTS_TEXT_SUBJECT_H
#define KARDAN_TESTS_TEXT_SUBJECT_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct subject {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
    kd_status  status;
    char       message[1700];
} subject;

static const kd_coordinates BOTH[] = {KD_JOINT, KD_CARTESIAN};

static inline subject open_text(const char *text, kd_coordinates coordinates)
{
    subject           s = {0};
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    if (kd_model_read_text("file", text, strlen(text), NULL, 0, &s.model, s.message, sizeof s.message) < 0)
        fail_msg("%s", s.message);
    s.status = kd_system_create(s.model, &opt, &s.system, s.message, sizeof s.message);
    if (s.status < 0) fail_msg("%s", s.message);
    assert_int_equal(kd_state_create(kd_system_eom(s.system), &s.x), KD_OK);
    s.status = kd_system_start(s.system, s.x, s.message, sizeof s.message);
    return s;
}

static inline subject started(const char *text, kd_coordinates coordinates)
{
    subject s = open_text(text, coordinates);
    if (s.status < 0) fail_msg("%s", s.message);
    return s;
}

static inline void close_subject(subject *s)
{
    kd_state_destroy(s->x);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
}

static inline double read_name(subject *s, const char *name)
{
    kd_probe *probe = NULL;
    assert_int_equal(kd_probe_of_system(s->system, kd_system_inputs(s->system), &probe), KD_OK);
    assert_true(kd_probe_set(probe, s->x) >= 0);
    const double value = kd_probe_read(probe, name);
    kd_probe_destroy(probe);
    return value;
}

static inline kd_status run_to(subject *s, double t)
{
    kd_simulation_options options = kd_simulation_options_default();
    options.formulation = KD_PSF;
    options.integrator = KD_RADAU;
    options.rtol = options.atol = 1e-9;
    return kd_simulate(kd_system_eom(s->system), kd_system_inputs(s->system), &options, s->x, t, NULL, s->message,
                       sizeof s->message);
}

#endif
