// pair_motion.c: relative position and velocity of two frames, columns of their path, and loads between them; the part
// of pair.h that every step of an integration needs, in variants (work.h).
#include "tree/pair.h"
#include "tree/steps.h"

// The ground stands still at the origin.
void KD_KERNEL(kd_pair_place)(const kd_pair *pair, const kd_motion *m, kd_relative *rel)
{
    // frames in the world
    const kd_m3 B = kd_m3_load(&m->link[pair->b].R);
    const kd_v3 rB = kd_m3_axpy(kd_v3_load(&m->link[pair->b].P), &B, &pair->rb);
    kd_m3       RA = kd_m3_load(&pair->Ra);
    kd_v3       rA = kd_v3_load(&pair->ra);
    if (pair->a != 0) {
        const kd_m3 A = kd_m3_load(&m->link[pair->a].R);
        RA = pair->along_a
                 ? A
                 : (kd_m3){kd_m3_vec(&A, &pair->Ra.x), kd_m3_vec(&A, &pair->Ra.y), kd_m3_vec(&A, &pair->Ra.z)};
        rA = kd_m3_axpy(kd_v3_load(&m->link[pair->a].P), &A, &pair->ra);
    }
    kd_v3_store(&rel->RA.x, RA.x);
    kd_v3_store(&rel->RA.y, RA.y);
    kd_v3_store(&rel->RA.z, RA.z);
    kd_v3_store(&rel->rA, rA);
    kd_v3_store(&rel->rB, rB);
    // d = R_A' (r_B - r_A), its length and direction
    const kd_m3 to_A = kd_m3_transposed(&RA);
    const kd_v3 way = kd_v3_sub(rB, rA), d = pair->straight ? way : kd_m3_times(&to_A, way);
    kd_v3_store(&rel->d, d);
    if (!pair->no_length) {
        rel->length = sqrt(kd_v3_dot(d, d));
        kd_v3_store(&rel->n, kd_v3_scale(1.0 / rel->length, d));
    }
    // C = R_A' R_B
    if (pair->shifts_only) return;
    kd_m3 C = B;
    if (!pair->along_b) C = (kd_m3){kd_m3_vec(&B, &pair->Rb.x), kd_m3_vec(&B, &pair->Rb.y), kd_m3_vec(&B, &pair->Rb.z)};
    if (!pair->straight) C = (kd_m3){kd_m3_times(&to_A, C.x), kd_m3_times(&to_A, C.y), kd_m3_times(&to_A, C.z)};
    kd_v3_store(&rel->C.x, C.x);
    kd_v3_store(&rel->C.y, C.y);
    kd_v3_store(&rel->C.z, C.z);
}

// velocity of the point of a link that is now at r
static inline kd_v3 point_velocity_at(const kd_link_motion *l, kd_v3 r)
{
    return kd_v3_add(kd_v3_load(&l->v), kd_v3_cross(kd_v3_load(&l->w), kd_v3_sub(r, kd_v3_load(&l->P))));
}

// d' = R_A' (velocity of B's origin - velocity of the point of a that coincides with it)
void KD_KERNEL(kd_pair_move)(const kd_pair *pair, const kd_motion *m, kd_relative *rel)
{
    const kd_link_motion *a = &m->link[pair->a], *b = &m->link[pair->b];
    const kd_m3           RA = kd_m3_load(&rel->RA), to_A = kd_m3_transposed(&RA);
    const kd_v3           rB = kd_v3_load(&rel->rB);
    kd_v3                 w = kd_v3_load(&b->w), v = point_velocity_at(b, rB);
    if (pair->straight) {
        kd_v3_store(&rel->omega, w);
        kd_v3_store(&rel->dd, v);
        return;
    }
    if (pair->a != 0) {
        w = kd_v3_sub(w, kd_v3_load(&a->w));
        v = kd_v3_sub(v, point_velocity_at(a, rB));
    }
    kd_v3_store(&rel->omega, kd_m3_times(&to_A, w));
    kd_v3_store(&rel->dd, kd_m3_times(&to_A, v));
}

void KD_KERNEL(kd_pair_axes)(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                             kd_change *out)
{
    const kd_m3 RA = kd_m3_load(&rel->RA), to_A = kd_m3_transposed(&RA);
    const kd_v3 rB = kd_v3_load(&rel->rB);
    for (int k = 0; k < pair->nsteps; k++) {
        const kd_v6 s = kd_step_motion(&pair->step[k], tree, m, &to_A, rB);
        kd_v3_store(&out[k].w, s.w);
        kd_v3_store(&out[k].u, s.u);
    }
}

static inline void add_wrench(kd_wrench *load, kd_v3 N, kd_v3 F)
{
    kd_v3_store(&load->N, kd_v3_add(kd_v3_load(&load->N), N));
    kd_v3_store(&load->F, kd_v3_add(kd_v3_load_exactly(&load->F), F));
}

// What the ground carries does not matter.
void KD_KERNEL(kd_pair_load)(const kd_pair *pair, const kd_motion *m, const kd_relative *rel, const kd_wrench *between,
                             kd_wrench *load)
{
    // to the world, then about the points of both links: N + (r_B - P) x F on b, the reverse on a
    const kd_m3 RA = kd_m3_load(&rel->RA);
    const kd_v3 N = kd_m3_vec(&RA, &between->N), F = kd_m3_vec(&RA, &between->F), rB = kd_v3_load(&rel->rB);
    const kd_v3 at_b = kd_v3_sub(rB, kd_v3_load(&m->link[pair->b].P)), none = kd_v3_zero();
    if (pair->b != 0) add_wrench(&load[pair->b], kd_v3_add(N, kd_v3_cross(at_b, F)), F);
    if (pair->a == 0) return;
    const kd_v3 at_a = kd_v3_sub(rB, kd_v3_load(&m->link[pair->a].P));
    add_wrench(&load[pair->a], kd_v3_sub(none, kd_v3_add(N, kd_v3_cross(at_a, F))), kd_v3_sub(none, F));
}
