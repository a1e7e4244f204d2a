// statics.h: small models written as text with random numbers, for the tests of statics.
#ifndef KARDAN_TESTS_STATICS_H
#define KARDAN_TESTS_STATICS_H

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

static const kd_coordinates BOTH[] = {KD_JOINT, KD_CARTESIAN};

// Numbers in (0, 1) that are the same in every run, and between a and b, on a logarithmic scale
static inline double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0;
}
static inline double between(double a, double b, uint64_t *seed)
{
    return a + (b - a) * uniform(seed);
}
static inline double decades(double a, double b, uint64_t *seed)
{
    return a * pow(b / a, uniform(seed));
}

#define assert_near(a, b, tolerance) near_to((a), (b), (tolerance), #a, __LINE__)
static inline void near_to(double a, double b, double tolerance, const char *what, int line)
{
    if (fabs(a - b) <= tolerance) return;
    print_error("line %d, %s: %.15g instead of %.15g, difference %.3g\n", line, what, a, b, a - b);
    fail();
}

typedef struct plant {
    kd_model     *model;
    kd_system    *system;
    const kd_eom *eom;
    kd_state     *x;
    char          message[2000];
} plant;

static inline const kd_inputs *plant_inputs(const plant *p)
{
    return kd_system_inputs(p->system);
}

// The text of a model is a format; the model at its start
__attribute__((format(printf, 3, 4))) static inline void plant_open(plant *p, kd_coordinates c, const char *format, ...)
{
    static char text[8000];
    va_list     list;
    *p = (plant){0};
    va_start(list, format);
    const int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert_true(length > 0 && (size_t)length < sizeof text);
    kd_system_options options = kd_system_options_default();
    options.coordinates = c;
    kd_status status =
        kd_model_read_text("test", text, (size_t)length, NULL, 0, &p->model, p->message, sizeof p->message);
    if (status >= 0) status = kd_system_create(p->model, &options, &p->system, p->message, sizeof p->message);
    if (status < 0) print_error("%s\n%s\n", p->message, text);
    assert_true(status >= 0);
    p->eom = kd_system_eom(p->system);
    assert_true(kd_state_create(p->eom, &p->x) >= 0);
    assert_true(kd_system_start(p->system, p->x, p->message, sizeof p->message) >= 0);
}

static inline void plant_close(plant *p)
{
    kd_state_destroy(p->x);
    kd_system_destroy(p->system);
    kd_model_destroy(p->model);
}

// The outputs at the state
static inline void plant_outputs(const plant *p, double *y)
{
    const kd_dims    n = kd_eom_dims(p->eom);
    const kd_inputs *inputs = plant_inputs(p);
    double           u[24] = {0};
    kd_eom_data     *data = NULL;
    assert_true(3 * n.nu <= 24 && kd_eom_data_create(p->eom, &data) >= 0);
    if (inputs && n.nu > 0)
        assert_int_equal(inputs->eval(p->x->t, inputs->context, u, u + n.nu, u + 2 * n.nu), KD_EVAL_OK);
    kd_eom_at_time(data, p->x->t, u, u + n.nu, u + 2 * n.nu, p->x->z);
    kd_eom_at_position(data, p->x->p, p->x->s);
    kd_eom_at_velocity(data, p->x->v, p->x->r);
    kd_eom_at_acceleration(data, p->x->a, p->x->w, p->x->lambda, p->x->mu);
    assert_int_equal(kd_eom_eval(data, KD_Y, y), KD_EVAL_OK);
    kd_eom_data_destroy(data);
}

static inline kd_equilibrium_result plant_rest(plant *p, bool keep_motion)
{
    kd_equilibrium_options opt = kd_equilibrium_options_default();
    kd_equilibrium_result  result;
    opt.keep_motion = keep_motion;
    const kd_status status =
        kd_equilibrium(p->eom, plant_inputs(p), &opt, p->x, &result, p->message, sizeof p->message);
    if (status < 0) print_error("%s\n", p->message);
    assert_true(status >= 0);
    return result;
}

static inline void plant_run(plant *p, double t_end, double rtol)
{
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = opt.atol = rtol;
    const kd_status status =
        kd_simulate(p->eom, plant_inputs(p), &opt, p->x, t_end, NULL, p->message, sizeof p->message);
    if (status < 0) print_error("%s\n", p->message);
    assert_true(status >= 0);
}

#endif
