// state.h: the class of a state element: an inner state x of a model with x' = b, read as state.NAME. Variable 0: x
#ifndef KARDAN_ELEMENT_STATE_H
#define KARDAN_ELEMENT_STATE_H

#include "element/force.h"
#include "element/list.h"

typedef struct kd_state_class {
    kd_element_class element;
    kd_load_class    law;
    void (*output)(const kd_state_def *def, double feed[2]); // state.NAME.out = feed_1 input + feed_2 x; NULL: none
} kd_state_class;

#define KD_CLASS(kind, name) extern const kd_state_class name;
KD_STATES(KD_CLASS)
#undef KD_CLASS
extern const kd_state_class *const kd_states[KD_STATE_KIND_COUNT]; // list.c

// x' = input, and the start value (ode.c)
kd_eval kd_integrate(const kd_load *load, const double *x, kd_work *w, double *force, double *rate);
kd_eval kd_integrate_jacobian(const kd_load *load, const double *x, kd_work *w, double *J);
void    kd_state_start(const kd_load *load, const double *x, kd_work *w, double *r);

#endif
