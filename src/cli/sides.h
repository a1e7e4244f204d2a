// cli/sides.h: what methods are compared on: a model in both coordinate sets, or an example.
#ifndef KD_CLI_SIDES_H
#define KD_CLI_SIDES_H

#include "cli/subject.h"

// A model in the other coordinates; the model itself belongs to its subject.
typedef struct kd_other_side {
    kd_subject subject;
    kd_state  *start;    // of the first subject, before it moved
    char       why[600]; // there is no other side
} kd_other_side;

// Sides of a subject that is open and has not moved: itself and, if wanted and possible, the other coordinates. Returns
// their number; 0: no memory.
typedef enum kd_sides_wanted { KD_SIDES_OWN, KD_SIDES_BOTH } kd_sides_wanted;
int  kd_sides_of(const kd_subject *subject, kd_sides_wanted wanted, kd_other_side *other, kd_compare_side side[2]);
void kd_sides_close(kd_other_side *other);

// Largest step: what is asked for, else the model's, else what a mechanism without freedom needs over the duration; 0:
// no limit.
double kd_sides_max_step(const kd_subject *subject, double asked, double duration);

#endif
