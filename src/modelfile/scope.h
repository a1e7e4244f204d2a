// scope.h: what numbers (scope.c), names and laws (scope_texts.c) share while a file is read.
#ifndef KD_MODELFILE_SCOPE_H
#define KD_MODELFILE_SCOPE_H

#include "expr/quantity.h"
#include "modelfile/reader.h"

bool        kd_reader_find_index(const kd_reader *r, const char *name, int *k); // of repetition, the innermost first
kd_quantity kd_reader_quantity(kd_reader *r, const char *text);                 // a number with a unit
bool        kd_reader_complain_quantity(kd_reader *r, const kd_node *node, const char *key, const kd_quantity *q);
// The value of an expression of parameters and indices, which the model keeps if it has parameters; from: where in the
// text of the node it begins
bool kd_reader_evaluate(kd_reader *r, const kd_node *node, int from, const char *key, const char *text, double *value);
int  kd_reader_digits(double number); // that show that a number is not whole: 2.9999999999 is not 3

#endif
