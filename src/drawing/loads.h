// drawing/loads.h: forces of elements and reactions of joints along a motion, as vectors of the world with their places.
//
// A run does not record them unless it is asked to: they are read afterwards from the states that were recorded, by a
// second system of the same model that watches them.
#ifndef KD_DRAWING_LOADS_H
#define KD_DRAWING_LOADS_H

#include "drawing/scene.h"
#include "results/recording.h"

typedef enum kd_load_kind { // as in viewer/src/data.ts
    KD_LOAD_FORCE,
    KD_LOAD_REACTION, // of a joint or constraint
    KD_LOAD_CONTACT,  // of what touches: it has a point of contact
} kd_load_kind;

typedef struct kd_load_arrow {
    const char  *name; // of the element, the model's
    kd_load_kind kind;
    kd_point_of  at;      // where it acts
    double       drop;    // the point of contact lies so far below, along `normal`
    kd_point_of  normal;  // direction fixed in a body; of drop 0: none
    double       largest; // norm along the motion [N]
} kd_load_arrow;

typedef struct kd_loads {
    int            count, frames;
    kd_load_arrow *arrow; // (count)
    double        *t;     // (frames)
    double        *force; // (frames x count x 3) on the body of `at`, axes of the world [N]
    kd_arena       arena;
} kd_loads;

// At some hundred rows of the recording. KD_ERR_MEMORY, or why the second system could not be made; *loads is NULL then.
// KD_OK with *loads NULL: the model has nothing of the kind, or is too large.
kd_status kd_loads_read(const kd_model *model, kd_coordinates coordinates, const kd_inputs *inputs,
                        const kd_recording *recording, kd_loads **loads) KD_NODISCARD;
void      kd_loads_destroy(kd_loads *loads); // NULL is fine

#endif
