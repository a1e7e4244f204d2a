// glue.h: what Python and the library meet in: inputs that Python gives, looks at running simulations, and the functions of
// equations and forces that are written in Python. Compiled into the extension kardan._kardan.
#ifndef KARDAN_PYTHON_GLUE_H
#define KARDAN_PYTHON_GLUE_H

#include <kardan/kardan.h>

// ---- inputs ---------------------------------------------------------------------------------------------------------
typedef enum kdpy_signal_kind { KDPY_OF_MODEL, KDPY_CONSTANT, KDPY_LINEAR, KDPY_SPLINE, KDPY_CALL } kdpy_signal_kind;

typedef struct kdpy_signal {
    kdpy_signal_kind kind;
    double           value; // constant
    int              n;     // table: rows
    const double    *t, *y; // (n) rising times, values
    const double    *bend;  // (n) second derivatives of a spline (kdpy_spline)
} kdpy_signal;

// context of kdpy_inputs_eval
typedef struct kdpy_inputs {
    const kd_inputs *model; // for signals of kind KDPY_OF_MODEL; may be NULL: 0
    int              nu;
    kdpy_signal     *signal; // (nu)
    void            *handle; // of Python, for KDPY_CALL
} kdpy_inputs;

// kd_inputs.eval. Tables hold their first and last value outside of their rows.
kd_eval kdpy_inputs_eval(double t, void *context, double *u, double *du, double *ddu);
// Second derivatives at the rows of the cubic spline through n points, not-a-knot at both ends (n < 4: natural); work (n).
void kdpy_spline(int n, const double *t, const double *y, double *bend, double *work);

// ---- looks at a running simulation ------------------------------------------------------------------------------------
// Python is asked a few times a second, not at every step: its lock is not taken in between.
typedef struct kdpy_watch {
    double next;   // [s] of the monotonic clock
    double every;  // [s]
    void  *handle; // of Python
} kdpy_watch;

kd_eval kdpy_look(const kd_state *x, bool at_time, void *watch); // kd_output with a kdpy_watch as context
// The same of kd_compare_options.go_on
bool kdpy_go_on(const kd_compare_progress *progress, void *watch);

// ---- equations and forces in Python ------------------------------------------------------------------------------------
typedef enum kdpy_slot {
    KDPY_Z,
    KDPY_Q,
    KDPY_RESIDUAL,
    KDPY_M,
    KDPY_F,
    KDPY_B,
    KDPY_D,
    KDPY_C,
    KDPY_G,
    KDPY_GI,
    KDPY_GII,
    KDPY_H,
    KDPY_HI,
    KDPY_E,
    KDPY_Y,
    KDPY_SLOTS
} kdpy_slot;

// Functions of the definition whose bit is set in slots call Python (kdpy_function) with handle.
void kdpy_define(kd_eom_def *def, unsigned slots, bool energies, bool derivative, void *handle);

#endif
