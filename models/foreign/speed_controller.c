// speed_controller.c: a sampled PI controller as a shared object (kardan/controller.h): force = kp e + ki z, then z grows by T e.
//
// Arguments: kp and ki. Input: the error e. Outputs: force, and z of before.
#include <kardan/controller.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct controller {
    double kp, ki, period, z;
} controller;

void *kardan_controller_init(const kd_controller_setup *setup, char *message, size_t size)
{
    controller *c = calloc(1, sizeof *c);
    char       *rest;
    if (!c) return NULL;
    c->kp = strtod(setup->arguments, &rest);
    c->ki = strtod(rest, NULL);
    c->period = setup->period;
    if (setup->version == KD_CONTROLLER_VERSION && setup->ninputs == 1 && setup->noutputs == 2) return c;
    snprintf(message, size, "it has 1 input and 2 outputs, not %d and %d", setup->ninputs, setup->noutputs);
    free(c);
    return NULL;
}

int kardan_controller_step(void *self, double t, const double *input, double *output, char *message, size_t size)
{
    controller *c = self;
    (void)t, (void)message, (void)size;
    output[0] = c->kp * input[0] + c->ki * c->z;
    output[1] = c->z;
    c->z += c->period * input[0];
    return 0;
}

void kardan_controller_terminate(void *self)
{
    free(self);
}
