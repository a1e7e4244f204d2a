// kardan/cosim.h: several simulations that run side by side and tell each other at communication points: co-simulation.
// Guide: docs/guide/cosimulation.md, method: docs/methods/cosimulation.md
//
//     kd_cosim *cosim;             kd_cosim_read("two-masses.yaml", &cosim, message, sizeof message);
//     kd_cosim_run(cosim, message, sizeof message);
//     kd_cosim_save_csv(cosim, "two-masses.csv", message, sizeof message);
//
// The same bits for any number of threads.
#ifndef KARDAN_COSIM_H
#define KARDAN_COSIM_H

#include <kardan/base.h>
#include <kardan/certificate.h>
#include <stdint.h>

KD_EXTERN_C_BEGIN

// How systems go from one communication point to the next. Name, word, sentence.
#define KD_COSIM_MASTER_LIST(X)                                                                                        \
    X(KD_COSIM_JACOBI, "jacobi", "all systems at once, with inputs extrapolated from the past")                        \
    X(KD_COSIM_GAUSS_SEIDEL, "gauss-seidel", "one after the other, each with what those before it have told")          \
    X(KD_COSIM_ITERATION, "iteration", "steps are repeated until inputs and outputs at their ends agree")

typedef enum kd_cosim_master {
#define KD_COSIM_MASTER_ENUM(name, word, sentence) name,
    KD_COSIM_MASTER_LIST(KD_COSIM_MASTER_ENUM)
#undef KD_COSIM_MASTER_ENUM
        KD_COSIM_MASTER_COUNT
} kd_cosim_master;

// How the length of macro steps is chosen.
#define KD_COSIM_CONTROL_LIST(X)                                                                                       \
    X(KD_COSIM_FIXED, "fixed", "all of one length; the error is estimated")                                            \
    X(KD_COSIM_EXTRAPOLATION, "extrapolation", "what was extrapolated against what came, within the tolerance")        \
    X(KD_COSIM_HALVES, "halves", "a step against two of half its length, within the tolerance over the whole run")

typedef enum kd_cosim_control {
#define KD_COSIM_CONTROL_ENUM(name, word, sentence) name,
    KD_COSIM_CONTROL_LIST(KD_COSIM_CONTROL_ENUM)
#undef KD_COSIM_CONTROL_ENUM
        KD_COSIM_CONTROL_COUNT
} kd_cosim_control;

KD_API const char *kd_cosim_master_word(kd_cosim_master master);
KD_API const char *kd_cosim_control_word(kd_cosim_control control);

typedef struct kd_cosim_progress {
    double t, t_end;
    long   steps;
} kd_cosim_progress;

// How other programs are reached that are systems of a co-simulation; the library itself opens no sockets. message (size bytes) says why
// something failed. `line` is what connect answers.
typedef struct kd_cosim_ports {
    int                nreads, nwrites; // outputs and inputs of the other program
    const char *const *read, *const *write;
} kd_cosim_ports;

typedef struct kd_cosim_wire {
    void *(*connect)(int port, const char *key, const kd_cosim_ports *ports, double seconds, char *message,
                     size_t size); // NULL: failed
    // Its next outputs (nreads), with their number and time
    bool (*receive)(void *line, uint64_t *number, double *t, double *values, double seconds, char *message,
                    size_t size);
    // Inputs (nwrites) that it holds from then on
    bool (*answer)(void *line, uint64_t number, double t, const double *inputs, char *message, size_t size);
    void (*close)(void *line);
} kd_cosim_wire;

typedef struct kd_cosim_options {
    double          t_end;       // [s]                                                            default: of the file
    kd_cosim_master master;      //                                                                default jacobi
    int             degree;      // of extrapolation, 0 to 2                                       default 1
    bool            held;        // outputs are read with the inputs that were held, not with
                                 // those of the communication point                               default false
    kd_cosim_control control;    //                                                                default fixed
    double           step;       // macro step [s], controlled: the first one                      default 1e-3
    double           rtol, atol; // of the coupling, beside the largest value of an input so far   default 1e-4, 1e-12
    double           min_step;   // controlled steps that would be shorter end the run [s]         default 1e-9
    double           max_step;   // [s]; infinity: none                                            default inf
    int              threads;    // of jacobi and iteration; 0: one for each system and processor  default 0
    int              max_iterations; // of a step                                                      default 20
    double           convergence;    // of the iteration, relative as rtol                             default 1e-6
    int              intervals;      // of the table; 0: a row at every communication point            default 1000
    bool             fmu_in_process; // FMUs are trusted: no processes of their own                    default false
    double           fmu_timeout;    // [s] for one call of an FMU in its process                      default 10
    const kd_cosim_wire *wire;       // to systems that are other programs; NULL: there is none        default NULL
    // Called at communication points; false ends the run (KD_STOPPED). May be NULL
    bool (*go_on)(const kd_cosim_progress *progress, void *context);
    void    *context;
    unsigned cookie; // set by kd_cosim_options_default
} kd_cosim_options;
KD_API kd_cosim_options kd_cosim_options_default(void);

typedef struct kd_cosim kd_cosim;

// Read a systems file and the models that it names. message (size bytes, may be NULL) lists what is wrong, "file:line:column:
// cause". On failure *cosim is NULL.
KD_API kd_status kd_cosim_read(const char *path, kd_cosim **cosim, char *message, size_t size) KD_NODISCARD;
// The same with folders of subsystems that its models may use besides their own
KD_API kd_status kd_cosim_read_with(const char *path, const char *const *libraries, int nlibraries, kd_cosim **cosim,
                                    char *message, size_t size) KD_NODISCARD;
// The same from a text that stands for the file of that name; models are looked for beside it.
KD_API kd_status kd_cosim_read_text(const char *path, const char *text, size_t length, kd_cosim **cosim, char *message,
                                    size_t size) KD_NODISCARD;
KD_API void      kd_cosim_destroy(kd_cosim *cosim); // NULL is fine

KD_API const char *kd_cosim_title(const kd_cosim *cosim);
KD_API int         kd_cosim_systems(const kd_cosim *cosim);
KD_API const char *kd_cosim_system_name(const kd_cosim *cosim, int i); // "" for a number that is none
// As the file says; to be changed before the start. KD_ERR_ARGUMENT: not allowed, message says what.
KD_API kd_cosim_options kd_cosim_options_of(const kd_cosim *cosim);
KD_API kd_status        kd_cosim_set_options(kd_cosim *cosim, const kd_cosim_options *opt, char *message,
                                             size_t size) KD_NODISCARD;

// ---- running --------------------------------------------------------------------------------------------------------
// From 0 to t_end of the options. KD_OK; KD_STOPPED: go_on, or an event of a system, ended it, message says which; < 0: failed,
// message says which system, when and why; what was recorded stays.
KD_API kd_status kd_cosim_run(kd_cosim *cosim, char *message, size_t size) KD_NODISCARD;
// The same in parts: consistent start with all inputs, then on to a time, again and again.
KD_API kd_status kd_cosim_start(kd_cosim *cosim, char *message, size_t size) KD_NODISCARD;
KD_API kd_status kd_cosim_advance(kd_cosim *cosim, double t, char *message, size_t size) KD_NODISCARD;
KD_API double    kd_cosim_time(const kd_cosim *cosim);

// ---- what came out --------------------------------------------------------------------------------------------------
// Channels: outputs of all systems, "car.speed", then inputs that are connected. Rows: communication points.
KD_API int         kd_cosim_channels(const kd_cosim *cosim);
KD_API const char *kd_cosim_channel(const kd_cosim *cosim, int channel); // "" for a number that is none
KD_API const char *kd_cosim_unit(const kd_cosim *cosim, int channel);
KD_API int         kd_cosim_find(const kd_cosim *cosim, const char *name);       // -1: there is none
KD_API double      kd_cosim_value(const kd_cosim *cosim, int channel);           // where start or advance ended
KD_API double      kd_cosim_read_value(const kd_cosim *cosim, const char *name); // the same; NaN: there is none
KD_API int         kd_cosim_rows(const kd_cosim *cosim);
KD_API double      kd_cosim_row_time(const kd_cosim *cosim, int row);
KD_API double      kd_cosim_row_value(const kd_cosim *cosim, int row, int channel); // NaN: there is none

typedef struct kd_cosim_certificate {
    double      t_end;                 // what was reached
    kd_status   status;                // how the run ended
    long        steps, rejected;       // macro steps
    long        iterations, jacobians; // of the iteration
    long        loops;                 // communication points with an algebraic loop
    long        events;                // macro steps that were made again up to an event inside
    double      shortest, longest;     // macro step [s]
    double      error;                 // estimated coupling error relative to the largest value of that input
    double      error_sum;             // with halves: sum of the errors of all steps
    double      error_time;            // when
    const char *error_name;            // of which input; "": none
    double      tolerance;             // what it is judged by
    bool        has_energy;            // the file tells pairs of force and velocity
    double      energy;                // [J] that the coupling has created, summed over the steps in which it did
    double      energy_lost;           // [J] that it has taken away in the others
    double      energy_scale;          // [J] that has passed through it
    bool        has_joints;            // rigid ones between systems
    double      joint_position;        // largest errors of their rows at communication points
    double      joint_velocity;        //
    double      contraction;           // of the iteration without preconditioning, at the end
    bool        preconditioned;
    double      wall_seconds;
    bool        clean; // no check is bad
    int         nchecks;
    kd_check    check[KD_MOST_CHECKS];
} kd_cosim_certificate;
// So far.
KD_API void kd_cosim_certify(kd_cosim *cosim, kd_cosim_certificate *out);

// Table of all rows; page with certificate and plots. KD_ERR_FILE: message says why.
KD_API kd_status kd_cosim_save_csv(kd_cosim *cosim, const char *path, char *message, size_t size) KD_NODISCARD;
KD_API kd_status kd_cosim_save_page(kd_cosim *cosim, const char *path, char *message, size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
