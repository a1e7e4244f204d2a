// model/element.h: what a model knows of its force, constraint and state elements and blocks without their equations:
// the first part of the class of an element. Each element is one file in src/element, which lists them in list.c.
//
// Schema, reader, writer, reference page, names, sensors, units and drawing read this; nobody asks for a kind.
#ifndef KARDAN_MODEL_ELEMENT_H
#define KARDAN_MODEL_ELEMENT_H

#include "model/build.h"

// What sensors and laws can ask: force.NAME.word
typedef struct kd_readable {
    const char *word;
    const char *unit; // "|" separates those of shifts and turns
    kd_property property;
    int         i;
    bool (*given)(const void *def); // does this definition have it? NULL: always
} kd_readable;

// Which of two units, "N|N m"
typedef enum kd_units {
    KD_UNITS_OF_SHIFT,
    KD_UNITS_OF_TURN,
    KD_UNITS_OF_JOINT, // by the coordinate that it acts along
    KD_UNITS_MIXED,    // shifts and turns: they cannot be told from the element
} kd_units;

// How it is drawn
typedef struct kd_look {
    enum {
        KD_LOOK_NOTHING,
        KD_LOOK_POINTS, // holds its bodies at its two places
        KD_LOOK_COIL,   // a spring between them
        KD_LOOK_PISTON, // a rod that grows
        KD_LOOK_ROD,    // one that keeps its length
        KD_LOOK_ROPE,   // from place to place
    } between;
    enum { KD_LOOK_NO_WHEEL, KD_LOOK_BALL, KD_LOOK_DISC } wheel; // about `to`, where the body has no shape
    enum {
        KD_LOOK_NO_FLOOR,
        KD_LOOK_FLOOR,       // z = 0 of `from`, on the ground
        KD_LOOK_LEVEL_FLOOR, // the same, where it is level
        KD_LOOK_WORLD_FLOOR, // z = 0 of the world
    } floor;
    size_t radius; // of the wheel: offset in the definition
} kd_look;

// the class of an element as models see it
typedef struct kd_element_class {
    kd_kind_word       kind;   // type in model files, meaning
    const kd_field    *fields; // of the file schema
    int                nfields;
    const kd_readable *readings;
    int                nreadings;
    const char        *unit; // of what no reading names: inner states, multipliers
    kd_units           units;
    kd_look            look;
    bool               placeless;     // constraints: they have no places, or more than two
    bool               follows_input; // states: x has the unit of its input
    // Read the files that a definition names, when it is added to a model; why says what is wrong. NULL: it has none
    kd_status (*take)(kd_model *m, void *def, char *why, size_t size);
    // Check a definition whose fields are right one by one, find what it refers to, fill in what follows. NULL: nothing
    void (*finish)(kd_model *m, int element);
    // Warn of what looks odd; NULL: nothing can
    void (*doubt)(kd_model *m, int element);
    // Constraints: number of equations; NULL: 1
    int (*rows)(const kd_constraint_def *def);
} kd_element_class;

// Of a sampled block, the same and more
typedef struct kd_block_element {
    kd_element_class element;
    // Beyond single fields; false: an error has been written. NULL: nothing can be wrong
    bool (*check)(kd_model *m, const char *name, const kd_block_def *def);
    void (*count)(kd_block_def *def); // numbers of signals follow from the rest; NULL: they are given
    const char *const *states;        // names of its states; NULL: given, or z, or z1, z2, ..
    const char *const *inputs;        // keys of its inputs, up to NULL; NULL: one list, `input`
    bool               named;         // inputs and states have names that must differ
    bool               expressions;   // outputs and next states are texts
    bool               matrices, polynomials;
    bool               foreign; // names of outputs and parameters are those of a unit
    bool               in_code; // written in C: no file has it
} kd_block_element;

// Foreign code without period: its states are states of the model
bool kd_block_is_continuous(const kd_block_def *def); // blocks.c

// element/list.c
const kd_element_class *kd_block_element_class(int kind);
const kd_block_element *kd_block_element_of(const kd_block_def *def);
const kd_element_class *kd_force_element(int kind);
const kd_element_class *kd_constraint_element(int kind);
const kd_element_class *kd_state_element_class(int kind);

// Field of a class by its key; NULL: there is none.
const kd_field *kd_element_field(const kd_element_class *class, const char *key);
// A number of a definition by its key; 0: it has none of that name.
double kd_element_number(const kd_element_class *class, const void *def, const char *key);

// ---- parts of finish ------------------------------------------------------------------------------------------------
// Both places of a constraint; different bodies. false: an error has been written
bool kd_finish_constraint_places(kd_model *m, int constraint);
// Both places of a force; different bodies
void kd_finish_two_places(kd_model *m, int force);
// The joint and its coordinate (0: the class has none to choose). false: an error has been written
bool kd_finish_joint(kd_model *m, int force);
// Two places that must be on different bodies; an error is written
bool kd_ends_differ(kd_model *m, kd_section section, int element, const kd_anchor *from, const kd_anchor *to);
// A curve by its name; -1: unknown, an error has been written
int kd_finish_curve(kd_model *m, kd_section section, int element, const char *field, const char *name);
// Negative stiffness or damping
void kd_doubt_spring(kd_model *m, int force);
// A stop or contact is compliant (stiffness) or rigid (restitution); others: keys that have no meaning beside that
void kd_finish_restitution(kd_model *m, int force, const char *const *others);

#endif
