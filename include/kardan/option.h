// kardan/option.h: what can be set: name, type, default, range and a sentence, and where it lives.
//
// Every integrator, every formulation and the simulation itself describe their options in rows of this kind. The rows
// make the defaults, check values, read and write them as text, and fill the reference page (docs/guide/options.md).
// All of them together: kd_option_at and its neighbours in kardan/simulation.h.
#ifndef KARDAN_OPTION_H
#define KARDAN_OPTION_H

#include <kardan/base.h>

KD_EXTERN_C_BEGIN

// What the place in the structure holds.
typedef enum kd_option_type {
    KD_OPTION_REAL,   // double
    KD_OPTION_INT,    // int
    KD_OPTION_LONG,   // long
    KD_OPTION_SWITCH, // bool: no, yes
    KD_OPTION_WORD,   // enum, in the order of words
    KD_OPTION_TEXT,   // const char *, not copied; NULL: not given
} kd_option_type;

typedef struct kd_option {
    const char        *name; // "radau.max_newton": group and name
    kd_option_type     type;
    double             standard;     // default; TEXT: not given
    double             least, most;  // of numbers: the range
    bool               above, below; // the range does not contain least, most themselves
    const char *const *words;        // of WORD, up to NULL
    const char        *paper;        // its name in S3 table 1 or DASSL; NULL: none
    const char        *sentence;     // what it is, with its unit in brackets
    const char        *unit;         // of a number: "s"; NULL: none
    size_t             offset;       // in the structure of its group
} kd_option;

// Structures of options carry it in their field `cookie`: those made without their default function are refused.
#define KD_OPTIONS_COOKIE 0x6b646f70u

KD_EXTERN_C_END
#endif
