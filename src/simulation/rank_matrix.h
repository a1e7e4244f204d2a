// rank_matrix.h: the watch of ranks (rank_watch.c) and its matrix: C = R [GZ; HZ] D of the active rows, and the least
// singular value of those that are kept.
#ifndef KD_SIMULATION_RANK_MATRIX_H
#define KD_SIMULATION_RANK_MATRIX_H

#include "simulation/rank_rows.h"
#include "simulation/rank_watch.h"

struct kd_rank_watch {
    kd_arena      arena;
    const kd_eom *eom;
    kd_inputs     inputs;
    kd_eom_data  *data;
    kd_tolerances tolerances;
    kd_dims       dims;
    double       *g;      // (nlambda)
    double       *GZ;     // (nlambda x nv)
    double       *HZ;     // (nmu x nv)
    double       *D;      // (nv) columns
    double       *R;      // (m) rows
    int          *active; // (m) numbers in [g; h]
    int           nactive;
    int          *kept; // (m) places in active
    int           rank; // kept rows; -1: not known
    double       *C;    // (nactive x nv) row by row
    double       *C_last;
    double       *C_inner; // at the point inside a step before the last one that was looked at
    kd_rank_rows  rows;    // entries that rows of [g; h] may have
    int          *top;     // (nv) first kept row with an entry in each column
    int          *first;   // (m) first column of each row of L
    double       *L;       // (m x m) row by row
    double       *pivot, *vector;
    double        t, sigma, K, eps, path, speed; // at the last look: sigma, K, eps were found path ago
    double       *p, *v;                         // (np), (nv) at the last look
    double       *p_before, *v_before, t_before; // (np), (nv) at the look before that; NAN: none
    double       *inner, *rate[3];               // (np) a point inside the step; p' at both ends and at the look before
    double       *row_K;                         // (m) K of each row by the way of its own bodies
    double       *row_eps, *row_end;             // (m) violation of each row at the last look; at the end of the step
    double       *row_between, *row_way;         // (m) largest violation inside the step; d of the row
    double       *row_noise;                     // (m) violation that errors of both ends explain
    double       *left[2];                       // (nv) the row that vanishes first, then and now
    double       *row_hidden;                    // (m) 1: it changes with coordinates that have no entry in it
    double        t_last;                        // of C_last
    double        t_judged, smooth; // end of the step that was judged, NAN: none; part of it that is smooth
    double       *p_judged;         // (np) there: C and row_end belong to them
    bool          known, stopped;   // there is a matrix to compare with; a function asked to stop
    bool          passed;           // the step that was judged may have passed a singular position
    bool          doubtful;         // the step to the next look could not be verified
};

// Columns of the entries of active row k
const int *kd_rank_columns(const kd_rank_watch *w, int k, int *count);

// A function that asks to stop is obeyed, others that cannot be evaluated are left to the integrator.
bool kd_rank_is_good(kd_rank_watch *w, kd_eval answer);

// C of the active rows at the point, or at a state, without their scales. false: not to be had
bool kd_rank_read(kd_rank_watch *w);
bool kd_rank_evaluate(kd_rank_watch *w, const kd_state *x);
void kd_rank_scale(kd_rank_watch *w);

// Of two rows
double kd_rank_product(const kd_rank_watch *w, int i, int k);

// Rows to watch, most independent ones first, up to `most` of them; returns their number
int kd_rank_choose(kd_rank_watch *w, int most);

// sigma of the kept rows; vector is its left singular vector, nearly
double kd_rank_least(kd_rank_watch *w);

// |C - other|
double kd_rank_difference(const kd_rank_watch *w, const double *other);

// ---- rank_watch_words.c: KD_ERR_RANK_CHANGE with the reason in message ----------------------------------------------

// Branches cannot be told apart at t, as of a violation or a turn
kd_status kd_rank_watch_tell_branch(const kd_rank_watch *w, double t, const char *with, char *message, size_t size);
// Rounding, which turns velocities by so much [rad], hides the direction of the motion
kd_status kd_rank_watch_tell_noise(const kd_rank_watch *w, double t, double turned, char *message, size_t size);

#endif
