// gallery.h: equations of motion written in C: the benchmark problems and examples of kardan, each in a file of its
// own.
#ifndef KARDAN_GALLERY_H
#define KARDAN_GALLERY_H

#include <kardan/kardan.h>

typedef struct kd_example {
    const char *name;  // word on the command line: "andrews"
    const char *title; // one line
    const char *about; // what it shows, and where the equations come from
    double      t_end; // [s] from t = 0
    // Equations, initial state (a good guess at least) and inputs (eval NULL: none). On failure nothing is left behind.
    kd_status (*create)(kd_eom **eom, kd_state **x, kd_inputs *inputs);
    const double *reference; // (kd_state.n) [p v r w s lambda mu] at t_end, NaN where unknown; NULL: none
    double        digits;    // trusted digits of the reference for p and v
} kd_example;

// All examples, NULL-terminated.
const kd_example *const *kd_gallery(void);
const kd_example        *kd_gallery_find(const char *name); // NULL: no such example

#endif
