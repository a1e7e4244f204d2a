// stepping.h: helpers of the tests of the real-time stepper.
#ifndef KARDAN_TESTS_STEPPING_H
#define KARDAN_TESTS_STEPPING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "gallery.h"

static inline kd_realtime *start_stepper(const kd_eom *eom, const kd_inputs *inputs, const kd_realtime_options *opt,
                                         const kd_state *x)
{
    kd_realtime *rt;
    char         message[800];
    if (kd_realtime_create(eom, inputs, opt, x, &rt, message, sizeof message) < 0) fail_msg("%s", message);
    return rt;
}

static inline void make_steps(kd_realtime *rt, long n)
{
    for (long i = 0; i < n; i++)
        if (kd_realtime_step(rt, NULL, NULL) != KD_OK) fail_msg("%s", kd_realtime_message(rt));
}

// Largest difference of n numbers
static inline double distance(const double *a, const double *b, int n)
{
    double most = 0.0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

// An example of the gallery in C
typedef struct subject {
    kd_eom   *eom;
    kd_state *x;
    kd_inputs inputs;
} subject;

static inline subject open_example(const char *name)
{
    subject s = {0};
    assert_int_equal(kd_gallery_find(name)->create(&s.eom, &s.x, &s.inputs), KD_OK);
    return s;
}

static inline void close_example(subject *s)
{
    kd_state_destroy(s->x);
    kd_eom_destroy(s->eom);
}

// Largest |g| over a run of an example
static inline double largest_defect(const char *name, const kd_realtime_options *opt, double t_end)
{
    subject            s = open_example(name);
    kd_realtime       *rt = start_stepper(s.eom, s.inputs.eval ? &s.inputs : NULL, opt, s.x);
    kd_realtime_defect at;
    double             most = 0.0;
    for (long i = 0; i < lround(t_end / opt->h); i++) {
        make_steps(rt, 1);
        assert_int_equal(kd_realtime_defects(rt, &at), KD_OK);
        most = fmax(most, at.position);
    }
    kd_realtime_destroy(rt);
    close_example(&s);
    return most;
}

#endif
