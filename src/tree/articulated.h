// articulated.h: what answers an acceleration: the body of a link with all that hangs on it (articulated_body.c).
#ifndef KARDAN_TREE_ARTICULATED_H
#define KARDAN_TREE_ARTICULATED_H

#include "tree/vector.h"

// force f = I a + b at P for the acceleration a = (dw, dv) of P: I = [J K'; K M], b = (N, F)
typedef struct articulated {
    kd_m3 J, K, M;
    kd_v3 N, F;
} articulated;

_Static_assert(sizeof(articulated) <= KD_GIVEN_SIZE, "work->given has the room");

static inline void articulated_add(articulated *a, const articulated *b)
{
    a->J = kd_m3_add(&a->J, &b->J);
    a->K = kd_m3_add(&a->K, &b->K);
    a->M = kd_m3_add(&a->M, &b->M);
    a->N = kd_v3_add(a->N, b->N);
    a->F = kd_v3_add(a->F, b->F);
}

// A - a b', b in memory
static inline void subtract_product(kd_m3 *A, kd_v3 a, const kd_vec3 *b)
{
    A->x = kd_v3_less(A->x, b->x, a);
    A->y = kd_v3_less(A->y, b->y, a);
    A->z = kd_v3_less(A->z, b->z, a);
}

// I - U V', b + U u
static inline void give_way(kd_v3 Uw, kd_v3 Uu, const kd_eliminated *e, articulated *b)
{
    subtract_product(&b->J, Uw, &e->Vw);
    subtract_product(&b->K, Uu, &e->Vw);
    subtract_product(&b->M, Uu, &e->Vu);
    b->N = kd_v3_axpy(b->N, e->u, Uw);
    b->F = kd_v3_axpy(b->F, e->u, Uu);
}

#endif
