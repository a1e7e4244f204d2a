// model/fields.h: short words for tables of fields (schema.c, src/element/*.c), nothing else includes this.
#ifndef KARDAN_MODEL_FIELDS_H
#define KARDAN_MODEL_FIELDS_H

#include <math.h>
#include <stddef.h>

#include "model/schema.h"

#define ALL (~0u)
#define K(kind) (1u << (kind))
#define ANY                                                                                                            \
    {                                                                                                                  \
        -INFINITY, INFINITY, false                                                                                     \
    }
#define POSITIVE                                                                                                       \
    {                                                                                                                  \
        0.0, INFINITY, true                                                                                            \
    }
#define NOT_NEGATIVE                                                                                                   \
    {                                                                                                                  \
        0.0, INFINITY, false                                                                                           \
    }
#define BETWEEN(a, b)                                                                                                  \
    {                                                                                                                  \
        (a), (b), false                                                                                                \
    }
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

// Rows that many elements have

#endif
