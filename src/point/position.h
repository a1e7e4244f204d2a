// point/position.h: positions as plain coordinates: derivatives along increments times Z+ = (Z'Z)^-1 Z', the
// normal directions N of the manifold (Z'N = 0: quaternion norms), and the way back onto 0 = q(p).
#ifndef KD_POINT_POSITION_H
#define KD_POINT_POSITION_H

#include "core/memory.h"
#include <kardan/eom.h>

typedef struct kd_position {
    int       np, nv, nq;
    int       nn;                      // np - nv, number of normal directions
    bool      identity;                // Z = I: nothing to do
    double   *Z;                       // (np x nv); NULL: full matrices are not made yet
    double   *Zplus;                   // (nv x np)
    double   *N;                       // (np x nn) orthonormal
    double   *q_p;                     // (nq x np)
    double   *QR, *tau, *Q, *work, *y; // workspace
    int      *column, *pivot;
    int      *next, *start, *member; // parts of Z: (np + nv), one more, (np + nv)
    kd_arena *arena;
} kd_position;

// Cut the arrays; the arena remembers a failure. norms: what kd_position_normalise needs, nothing beyond vectors where
// the definition has a function for it. kd_position_cut also makes full matrices for kd_position_update, or leaves that
// to its first call where Z is large and given sparse; the arena must then live as long.
void kd_position_cut_norms(kd_position *self, kd_arena *arena, const kd_eom *eom);
void kd_position_cut(kd_position *self, kd_arena *arena, const kd_eom *eom);
// Z, Z+, N and q_p at the position stage of data. RETRY if Z has lost rank.
kd_eval kd_position_update(kd_position *self, kd_eom_data *data) KD_NODISCARD;
// Save or restore whether there are full matrices; the owner of the arena archives its arrays behind it.
void kd_position_archive(kd_position *self, kd_archive *a);
// Move p along the rows of q_p until 0 = q(p). data must have its time stage and is left at the position stage.
kd_eval kd_position_normalise(kd_position *self, kd_eom_data *data, const double *s, double *p) KD_NODISCARD;
// out (rows x np) += factor * D (rows x nv) Z+, out with leading dimension ld
void kd_position_plain(const kd_position *self, int rows, double factor, const double *D, double *out, int ld);

#endif
