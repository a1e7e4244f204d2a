// constraint.h: the class of a constraint: rows 0 = combination of measures of its two places, or of coordinates.
#ifndef KARDAN_ELEMENT_CONSTRAINT_H
#define KARDAN_ELEMENT_CONSTRAINT_H

#include "element/list.h"
#include "model/element.h"
#include "system/system.h"

typedef struct kd_constraint_class {
    kd_element_class element;
    void (*make)(kd_row_builder *b, const kd_constraint *c, int pair); // its rows; pair: from -> to, -1: placeless
    // with `restitution`: the last of its rows, which is one-sided, and behind all rows that always hold. NULL: it has
    // none
    void (*make_one_sided)(kd_row_builder *b, const kd_constraint *c, int pair);
} kd_constraint_class;

#define KD_CLASS(kind, name) extern const kd_constraint_class name;
KD_CONSTRAINTS(KD_CLASS)
#undef KD_CLASS
extern const kd_constraint_class *const kd_constraints[KD_CONSTRAINT_KIND_COUNT]; // list.c

// Rows of fields that many have
// first and second: what becomes of their axes in a mirror
#define KD_CONSTRAINT_PLACES_OF(first, second)                                                                         \
    {"from",           KD_FIELD_PLACE,      offsetof(kd_constraint_def, from), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",  \
     .image = (first), .doc = "first place"},                                                                          \
    {                                                                                                                  \
        "to", KD_FIELD_PLACE, offsetof(kd_constraint_def, to), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",                  \
            .image = (second), .doc = "second place"                                                                   \
    }
#define KD_CONSTRAINT_PLACES KD_CONSTRAINT_PLACES_OF(KD_IMAGE_KEEPS_XZ, KD_IMAGE_KEEPS_XZ)

// Lifts off and comes back with impacts
#define KD_CONSTRAINT_RESTITUTION(side)                                                                                \
    {                                                                                                                  \
        "restitution", KD_FIELD_NUMBER, offsetof(kd_constraint_def, restitution), 1, ALL, KD_FIELD_MAYBE, NAN,         \
            BETWEEN(0, 1), "", .doc = side                                                                             \
    }
bool kd_constraint_lifts_off(const kd_constraint_def *def); // rows.c: is it one-sided?

#endif
