// cosim/cosim.h: a co-simulation: systems, connections, what the master remembers from one communication point to the next.
#ifndef KD_COSIM_COSIM_H
#define KD_COSIM_COSIM_H

#include <kardan/cosim.h>
#include <pthread.h>

#include "core/memory.h"
#include "cosim/system.h"

enum {
    KD_COSIM_PAST = 3,
    KD_COSIM_MOST_SYSTEMS = 64,
    KD_COSIM_MOST_CONNECTIONS = 1000,
    KD_COSIM_MOST_BONDS = 100,
    KD_COSIM_MOST_ROWS = 30
};

// Input `input` of system `to` is factor times output `output` of system `from`.
typedef struct kd_connection {
    int    from, output, to, input;
    double factor;            // between their units
    int    past;              // points of the past that belong to one smooth piece, 1 .. KD_COSIM_PAST
    double largest;           // |value| so far, also of steps that were made again
    int    leader;            // first connection from the same system in the same unit, as components of a vector are
    double shared;            // of a leader: largest of all that it leads
    double noise;             // what the tolerance of its source makes of it
    double error, error_time; // largest difference between what was extrapolated and what came
} kd_connection;

// Power through the coupling: an effort (force, moment) that is told one way, and a flow (velocity) the other way.
typedef struct kd_bond {
    int effort, flow; // connections
} kd_bond;

// A row of a rigid joint between two systems: outputs of both at the levels of position, velocity, acceleration are equal; a multiplier
// acts on the inputs `force`, with opposite signs (constraint.c).
typedef struct kd_cosim_row {
    int system[2], output[2][3], force[2];
} kd_cosim_row;

// Systems in threads (workers.c)
typedef struct kd_workers kd_workers;

// The iteration for inputs at the end of a step (iterate.c)
typedef struct kd_iteration {
    double *A;     // (nc x nc) I - d(told)/d(assumed), factored
    int    *pivot; // (nc)
    double *r, *w; // (nc) residual, iterate
    double  H;     // macro step that A belongs to; 0: there is none
} kd_iteration;

struct kd_cosim {
    kd_arena         arena;
    const char      *title, *path;
    kd_cosim_options opt;
    int              nsystems, nconnections, nbonds;
    kd_cosim_system *system[KD_COSIM_MOST_SYSTEMS];
    kd_connection   *connection; // (nconnections)
    kd_bond          bond[KD_COSIM_MOST_BONDS];
    int              order[KD_COSIM_MOST_SYSTEMS]; // of gauss-seidel
    int              wave[KD_COSIM_MOST_SYSTEMS];  // those of one wave, in that order, do not tell each other anything
    int              nwaves;
    bool             heard[KD_COSIM_MOST_SYSTEMS]; // its outputs are told to another one, or belong to a joint
    bool             order_given;
    // while it runs
    bool       started, ended;
    double     T;                              // communication point
    double     H;                              // next macro step, where it is controlled
    long       n;                              // steps of the grid that are passed, fixed
    double     t_past[KD_COSIM_PAST];          // times of the last points, the newest first
    double    *w_past[KD_COSIM_PAST];          // (nconnections) and values
    double    *w;                              // (nconnections) at present, or at the end of the step that is tried
    double    *predicted;                      // (nconnections) extrapolated to the end of the step
    kd_signal *course;                         // (nconnections) over the step
    double    *u[KD_COSIM_MOST_SYSTEMS];       // inputs, outputs of the systems at the end of the step
    double    *y[KD_COSIM_MOST_SYSTEMS];       //
    double    *u_seen[KD_COSIM_MOST_SYSTEMS];  // inputs that the outputs were read with
    double    *y_other[KD_COSIM_MOST_SYSTEMS]; // for differences
    bool       y_known[KD_COSIM_MOST_SYSTEMS]; //
    kd_signal *signal[KD_COSIM_MOST_SYSTEMS];  // (ninputs)
    double     event[KD_COSIM_MOST_SYSTEMS];   // of the step
    kd_status  status[KD_COSIM_MOST_SYSTEMS];  // of the step, or of another task
    double     next[KD_COSIM_MOST_SYSTEMS];    // time of its next sample behind the present state, where it is known
    bool       next_known[KD_COSIM_MOST_SYSTEMS];
    int        present_slot, present_wave; // of the present task
    double     saved_t;                    // of slot 0
    // rigid joints
    int          nrows_joined, joint_index, precondition; // index 1, 2; precondition < 0: where it is needed
    kd_cosim_row row[KD_COSIM_MOST_ROWS];
    double      *lambda, *row_residual, *row_work; // (rows), (rows), (2 rows (rows + 1))
    double      *delassus[2], *P;                  // (rows x rows) of both sides; their sum, or the first, factored
    int          P_pivot[KD_COSIM_MOST_ROWS];
    double       contraction, acceleration_scale, position_scale, joint_best;
    bool         preconditioned;
    kd_iteration iteration;
    kd_iteration loop;                           // of algebraic loops between outputs
    kd_workers  *workers;                        // NULL: none are needed
    double      *half;                           // (nconnections) what the whole step told, for comparison with halves
    double      *before;                         // (KD_COSIM_PAST x nconnections) the past, to go back to
    int         *past_before;                    // (nconnections)
    bool         starting;                       // the first step, or the first behind a jump: there is no past
    bool         sampled[KD_COSIM_MOST_SYSTEMS]; // its outputs jump at the end of this step
    bool         jumped[KD_COSIM_MOST_SYSTEMS];  // an event did that
    // rows
    int                  nchannels, nrows, row_room;
    const char         **channel_name; // (nchannels)
    double              *rows;         // (nrows x (1 + nchannels)) time first
    double               next_row;
    double               started_at; // clock
    kd_cosim_certificate certificate;
    char                 why[KD_COSIM_MESSAGE + 200]; // why the run ended
};

// ---- systems (steps.c) ----------------------------------------------------------------------------------------------
// Folders of libraries, for models of systems
typedef struct kd_cosim_folders {
    const char *const *folder;
    int                n;
} kd_cosim_folders;
// systems_file.c: the systems of a text
kd_status kd_cosim_of_text(const char *path, const char *text, size_t length, kd_cosim_folders folders,
                           kd_cosim **cosim, char *message, size_t size) KD_NODISCARD;

kd_status kd_cosim_fail(kd_cosim *c, int system, kd_status status); // with its name and time in c->why
kd_status kd_cosim_save_all(kd_cosim *c, int slot) KD_NODISCARD;
kd_status kd_cosim_restore_all(kd_cosim *c, int slot) KD_NODISCARD;
bool      kd_cosim_all_restore(const kd_cosim *c);
// Courses of the inputs over a step of length H: from the past, or with values w (nconnections) at its end
void kd_cosim_extrapolate(kd_cosim *c, int connection);
void kd_cosim_interpolate(kd_cosim *c, int connection, double H, double w);
// What an output has told over the step up to t_end, by its values at the ends and one before
kd_signal kd_cosim_smooth(const kd_cosim *c, int connection, double t_end);
// All systems from T to t_end by the master's way, with inputs that are extrapolated or, with w_end (nconnections), reach these
// values at the end; c->w then holds the inputs at the end.
kd_status kd_cosim_step_systems(kd_cosim *c, double t_end, const double *w_end) KD_NODISCARD;
void      kd_cosim_set_courses(kd_cosim *c, int system);               // of its inputs
kd_status kd_cosim_step_one(kd_cosim *c, int system, double t_end);    // to c->status, c->event
void      kd_cosim_take_inputs(kd_cosim *c, int system);               // c->u from c->w
kd_status kd_cosim_read_outputs(kd_cosim *c, int system) KD_NODISCARD; // c->y with c->u
bool      kd_cosim_is_read(const kd_cosim *c, int system);             // are c->y those of c->u?
kd_status kd_cosim_read_one(kd_cosim *c, int system) KD_NODISCARD;     // the same without a word, for tasks
void      kd_cosim_read_task(kd_cosim *c, int system, double t);       // the same with inputs of c->w, to c->status
double    kd_cosim_next_event(kd_cosim *c, int system);                // behind the present state; infinity
kd_status kd_cosim_look(kd_cosim *c) KD_NODISCARD;        // c->status of all: the first that failed is told
bool      kd_cosim_take_outputs(kd_cosim *c, int system); // c->w from c->y; did one change?
void      kd_cosim_note_size(kd_cosim *c, int connection, double value);
double    kd_cosim_scale(const kd_cosim *c, int connection); // what errors of an input are relative to

// ---- communication points (communicate.c) ---------------------------------------------------------------------------
// Outputs of all systems with the inputs that follow from them: c->w
kd_status kd_cosim_communicate(kd_cosim *c) KD_NODISCARD;
// Systems that tell nobody anything are read only for rows, and for who asks behind a part of the run
kd_status kd_cosim_read_rest(kd_cosim *c) KD_NODISCARD;

// ---- iteration (iterate.c) ------------------------------------------------------------------------------------------
kd_status kd_cosim_iterate(kd_cosim *c, double t_end) KD_NODISCARD;

// ---- rigid joints (constraint.c) ------------------------------------------------------------------------------------
// At the beginning of a step: Delassus blocks; index 1: multipliers of the step
kd_status kd_cosim_joints_begin(kd_cosim *c, double t_end) KD_NODISCARD;
// At its end: do the rows hold (index 2)? If not, better multipliers for another try from the start
bool      kd_cosim_joints_fit(kd_cosim *c, double t_end, double *norm);
kd_status kd_cosim_joints_improve(kd_cosim *c, int pass, double norm) KD_NODISCARD;
void      kd_cosim_joints_note(kd_cosim *c); // largest errors, for the certificate

// ---- threads (workers.c) --------------------------------------------------------------------------------------------
// Something that all systems do at once: it may write only what is theirs (c->status[s], c->event[s], c->u[s], c->y[s], ...)
typedef void (*kd_cosim_task)(kd_cosim *c, int system, double t);
void      kd_cosim_each(kd_cosim *c, kd_cosim_task task, double t); // in threads, or one after the other: the same bits
kd_status kd_workers_create(kd_cosim *c, int threads, kd_workers **out) KD_NODISCARD;
void      kd_workers_destroy(kd_workers *workers); // NULL is fine

// ---- macro steps (master.c) -----------------------------------------------------------------------------------------
// Over one macro step, not beyond t_end.
kd_status kd_cosim_macro_step(kd_cosim *c, double t_end) KD_NODISCARD;

// ---- what came out (record.c, certify.c) ----------------------------------------------------------------------------
kd_status kd_cosim_record(kd_cosim *c, bool last) KD_NODISCARD;
void      kd_cosim_count_energy(kd_cosim *c, double t_end); // of the step that was accepted, before the past moves on
double    kd_cosim_seconds(void);

#endif
