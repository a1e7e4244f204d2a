// tests/modelfile/subject.h: a model as equations at a state, and what it does there.
#ifndef KD_TEST_MODELFILE_SUBJECT_H
#define KD_TEST_MODELFILE_SUBJECT_H

#include <kardan/kardan.h>
#include <math.h>

#include "modelfile/files.h"

typedef struct subject {
    kd_model    *model;
    kd_system   *system;
    kd_eom_data *data;
    kd_state    *x;
    kd_dims      n;
    bool         assembled;
    double      *pose, *rate, *y; // of the bodies (7, 6 each), of the sensors
} subject;

// With paths that become outputs behind the sensors
static inline subject subject_watching(kd_model *m, kd_coordinates coordinates, const char *const *watch, int nwatch)
{
    subject           s = {.model = m};
    char              text[1000];
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    opt.watch = watch;
    opt.nwatch = nwatch;
    if (kd_system_create(m, &opt, &s.system, text, sizeof text) < 0) fail_msg("%s", text);
    const kd_eom *eom = kd_system_eom(s.system);
    assert_true(kd_eom_data_create(eom, &s.data) >= 0 && kd_state_create(eom, &s.x) >= 0);
    s.assembled = kd_system_start(s.system, s.x, text, sizeof text) >= 0;
    s.n = kd_eom_dims(eom);
    s.pose = calloc((size_t)(13 * m->nbodies + s.n.ny + 1), sizeof *s.pose);
    assert_non_null(s.pose);
    s.rate = s.pose + 7 * m->nbodies;
    s.y = s.rate + 6 * m->nbodies;
    return s;
}

static inline subject subject_of(kd_model *m, kd_coordinates coordinates)
{
    return subject_watching(m, coordinates, NULL, 0);
}

static inline void subject_release(subject *s)
{
    free(s->pose);
    kd_state_destroy(s->x);
    kd_eom_data_destroy(s->data);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
}

// Accelerations, poses, rates and outputs at its state; false: there are no accelerations (a singular pose)
static inline bool evaluate(subject *s)
{
    const kd_inputs *inputs = kd_system_inputs(s->system);
    assert_int_equal(kd_eom_at_state(s->data, inputs, s->x, KD_STAGE_VELOCITY), KD_EVAL_OK);
    if (kd_eom_accelerations(s->data, s->x->a, s->x->lambda, s->x->mu) != KD_EVAL_OK) return false;
    assert_int_equal(kd_eom_at_state(s->data, inputs, s->x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    assert_int_equal(kd_system_poses(s->system, s->data, s->pose), KD_EVAL_OK);
    assert_int_equal(kd_system_rates(s->system, s->data, s->rate), KD_EVAL_OK);
    if (s->n.ny > 0) assert_int_equal(kd_eom_eval(s->data, KD_Y, s->y), KD_EVAL_OK);
    return true;
}

static unsigned      random_word;
static inline double random_number(void) // -1 .. 1
{
    random_word = random_word * 1664525u + 1013904223u;
    return (double)(random_word >> 8) / (double)(1u << 23) - 1.0;
}

// The same random positions and velocities of both, near those of a
static inline void set_random_state(subject *a, subject *b)
{
    for (int i = 0; i < a->n.np; i++) a->x->p[i] += 0.3 * random_number();
    (void)kd_eom_normalise(a->data, a->x->p);
    for (int i = 0; i < a->n.nv; i++) a->x->v[i] = random_number();
    // inner states at 0: the lateral slip of a tyre is a component, to the left in the image, too
    for (int i = 0; i < a->n.nr; i++) a->x->r[i] = 0.0;
    memcpy(b->x->p, a->x->p, (size_t)a->n.np * sizeof(double));
    memcpy(b->x->v, a->x->v, (size_t)a->n.nv * sizeof(double));
    memcpy(b->x->r, a->x->r, (size_t)a->n.nr * sizeof(double));
    a->x->t = b->x->t = 0.7;
}

#endif
