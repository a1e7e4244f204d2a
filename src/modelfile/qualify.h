// qualify.h: texts that are made while names of subsystems become those of the model (qualify.c, qualify_vectors.c).
#ifndef KD_MODELFILE_QUALIFY_H
#define KD_MODELFILE_QUALIFY_H

#include "modelfile/reader.h"

// A text with room for `size` characters
typedef struct kd_out {
    char  *text;
    size_t used, size;
    bool   full; // there was more to say
} kd_out;

void kd_out_put(kd_out *o, const char *text, size_t n);
void kd_out_word(kd_out *o, const char *text);

int kd_axis_letter(char c); // 0, 1, 2 of x, y, z; -1: none
// A reading of a body or frame of the subsystem, in its coordinates; origin: its components, NULL where they are numbers.
// false: it is no component
bool kd_out_motion(kd_out *o, const kd_subsystem *s, const char *const *origin, const char *head, const char *tail);
// The part of a wrench: joint.hinge.force.x, force.bush.tz. false: it is none
bool kd_out_wrench(kd_out *o, const kd_model *m, const kd_subsystem *s, kd_section section, const char *name,
                   const char *head, const char *tail);
// The numbers of how the subsystem is turned have become parts of an expression: its place cannot live any longer
bool kd_reader_hold_place(kd_reader *r, kd_scope *scope);

#endif
