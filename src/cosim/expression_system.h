// cosim/expression_system.h: formulas between systems, as the law of a coupling spring (expression_system.c).
#ifndef KD_COSIM_EXPRESSION_SYSTEM_H
#define KD_COSIM_EXPRESSION_SYSTEM_H

#include "cosim/system.h"

typedef struct kd_named_number {
    const char *name;
    double      value;
} kd_named_number;

// What goes wrong with an output: its number and the sentence
typedef struct kd_formula_fault {
    int  output;
    char text[300];
} kd_formula_fault;

// Outputs (noutputs) are expressions of t, inputs and parameters. All texts must outlive it. KD_ERR_MODEL: *fault says which one.
kd_status kd_expression_system_create(const char *name, const kd_port *input, int ninputs, const kd_port *output,
                                      const char *const *formula, int noutputs, const kd_named_number *parameter,
                                      int nparameters, kd_cosim_system **out, kd_formula_fault *fault) KD_NODISCARD;

#endif
