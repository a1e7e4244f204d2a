// scalar.h: texts as scalars of YAML, without quotes where they can stand so.
#ifndef KD_MODELFILE_SCALAR_H
#define KD_MODELFILE_SCALAR_H

#include <stddef.h>

typedef void kd_scalar_put(void *to, const char *text, size_t n);
void         kd_scalar_write(const char *text, kd_scalar_put *put, void *to);

#endif
