// forms/increments.h: positions moved by increments of size nv, block by block (a joint, a body): p' = Z(p) v has
// Z of block form, with Z+ = (Z'Z)^-1 Z' and S = Z+ D_p(Z v), the derivative along increments. Z = I: nothing to do.
// Rows of counted angles (kd_eom_def.ncounted) are no part of Z+: nothing turns with them, bodies turn with their quaternions.
// They read velocities of two bodies, and stand beside the blocks, entry by entry: in blocks they would make one of a chain.
#ifndef KD_FORMS_INCREMENTS_H
#define KD_FORMS_INCREMENTS_H

#include "core/memory.h"
#include "math/pattern.h"
#include <complex.h>
#include <kardan/eom.h>

// Entries of counted rows in Z, or in D_p(Z v)
typedef struct kd_counted {
    int  count;
    int *row, *column; // (count)
    int *value;        // (count) number of the value in z_value, or in s_value
} kd_counted;

typedef struct kd_increments {
    const kd_eom *eom;
    int           np, nv;
    int           nplain; // coordinates before the counted ones
    bool          identity;
    int           nblocks;
    int          *p_start, *v_start; // (nblocks + 1) numbers of a block's coordinates and velocities in p_of, v_of
    int          *p_of, *v_of;       // (np), (nv)
    int          *block_of;          // (nv) block of each velocity
    int          *z_start, *s_start; // (nblocks + 1) places of a block in Z, Zplus and in S
    double       *Z, *Zplus, *S;     // blocks, column-major
    // where the values come from
    bool            sparse_z, sparse_s;
    int            *z_place, *s_place; // place of each value in Z and in rate
    double         *z_value, *s_value; // values of the pattern, or the dense matrices (np x nv)
    double         *rate;              // D_p(Z v), in blocks like Z
    kd_counted      z_counted, s_counted;
    double         *gram;           // (largest block)
    double complex *shifted, *unit; // (largest block)
    int            *pivot;
} kd_increments;

// Blocks from the pattern of Z, one block where there is none. The arena remembers a failure.
void kd_increments_cut(kd_increments *self, kd_arena *arena, const kd_eom *eom);
// Z, Z+ and S at the velocity stage of data. RETRY if Z has lost rank.
kd_eval kd_increments_update(kd_increments *self, kd_eom_data *data) KD_NODISCARD;
// along (nv) = Z+ rate, normal (np) = rate - Z along: what other functions do not see, lengths of quaternions and counts
void kd_increments_split(const kd_increments *self, const double *rate, double *along, double *normal);
// dp (np) = Z along; normal += what D_p(Z v) along has beside Z turn, turn = S along
void kd_increments_join(const kd_increments *self, const double *along, const double *turn, double *normal, double *dp);
// T = (gamma I - S)^-1 in blocks like S, real and imaginary parts (T_im NULL: gamma_im = 0). false: singular
bool kd_increments_resolvent(const kd_increments *self, double gamma_re, double gamma_im, double *T_re, double *T_im);
// y (nv) = B x for blocks B like S
void kd_increments_apply(const kd_increments *self, const double *B, const double *x, double *y);
// p += step * column j of Z
void kd_increments_move(const kd_increments *self, int j, double step, double *p);

#endif
