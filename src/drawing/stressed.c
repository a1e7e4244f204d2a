// stressed.c: stress of surfaces that deform: the node that each place of stress is drawn at, and fewer places.
//
// Finite elements have stress at their nodes; own beams on the rim of their sections, which are drawn at the nearest node of the lines.
#include <stdlib.h>
#include <string.h>

#include "drawing/deformed.h"
#include "model/part.h"

typedef struct spot {
    const double *at;
    int           number;
} spot;

static int by_place(const void *a, const void *b)
{
    const spot *p = a, *q = b;
    for (int d = 0; d < 3; d++)
        if (p->at[d] != q->at[d]) return p->at[d] < q->at[d] ? -1 : 1;
    return 0;
}

static int nearest_node(const kd_deformed *d, const double *at)
{
    int    best = 0;
    double least = 0;
    for (int i = 0; i < d->nnodes; i++) {
        const kd_vec3 way = kd_vec_sub(kd_vec_of(d->node + 3 * (size_t)i), kd_vec_of(at));
        const double  square = kd_vec_dot(way, way);
        if (i > 0 && square >= least) continue;
        least = square;
        best = i;
    }
    return best;
}

// node_of (nplaces): -1: none, the place is inside of the part or in the middle of an edge
static kd_status find_nodes(const kd_flexible_body *f, const kd_deformed *d, int *node_of)
{
    spot *nodes = kd_alloc((size_t)d->nnodes * sizeof *nodes);
    if (!nodes) return KD_ERR_MEMORY;
    for (int i = 0; i < d->nnodes; i++) nodes[i] = (spot){d->node + 3 * (size_t)i, i};
    qsort(nodes, (size_t)d->nnodes, sizeof *nodes, by_place);
    for (int p = 0; p < f->nplaces; p++) {
        const spot  wanted = {f->place + 3 * (size_t)p, 0};
        const spot *same = bsearch(&wanted, nodes, (size_t)d->nnodes, sizeof *nodes, by_place);
        node_of[p] = same ? same->number : d->ntriangles > 0 ? -1 : nearest_node(d, wanted.at);
    }
    kd_free(nodes);
    return KD_OK;
}

// Those of `from` whose node is not below zero become the places of `to`: every so many of them. stress: columns of 6 nfrom numbers
static kd_status keep_places(const int *node_of, int nfrom, int every, const double *stress, kd_arena *arena,
                             kd_deformed *to)
{
    int n = 0, seen = 0;
    for (int p = 0; p < nfrom; p++) n += node_of[p] >= 0;
    n = (n + every - 1) / every;
    int    *at = kd_arena_cut(arena, (size_t)n, sizeof *at);
    double *S = kd_arena_cut(arena, 6 * (size_t)n * (size_t)to->nshapes, sizeof *S);
    if (arena->failed) return KD_ERR_MEMORY;
    for (int p = 0, k = 0; p < nfrom; p++) {
        if (node_of[p] < 0 || seen++ % every != 0) continue;
        at[k] = node_of[p];
        for (size_t j = 0; j < (size_t)to->nshapes; j++)
            memcpy(S + 6 * (j * (size_t)n + (size_t)k), stress + 6 * (j * (size_t)nfrom + (size_t)p), 6 * sizeof *S);
        k++;
    }
    to->nplaces = n;
    to->place_node = at;
    to->stress = S;
    return KD_OK;
}

kd_status kd_deformed_take_stress(const kd_flexible_body *f, kd_arena *arena, kd_deformed *d)
{
    if (f->nplaces == 0 || d->nnodes == 0) return KD_OK;
    int      *node_of = kd_alloc((size_t)f->nplaces * sizeof *node_of);
    kd_status status = node_of ? find_nodes(f, d, node_of) : KD_ERR_MEMORY;
    if (status == KD_OK) status = keep_places(node_of, f->nplaces, 1, f->stress, arena, d);
    kd_free(node_of);
    return status;
}

kd_status kd_deformed_thin_stress(const kd_deformed *d, const int *number, int most, kd_arena *arena, kd_deformed *thin)
{
    int *node_of = kd_alloc((size_t)d->nplaces * sizeof *node_of), n = 0;
    if (!node_of) return KD_ERR_MEMORY;
    for (int p = 0; p < d->nplaces; p++) {
        node_of[p] = number ? number[d->place_node[p]] : d->place_node[p];
        n += node_of[p] >= 0;
    }
    const kd_status status =
        keep_places(node_of, d->nplaces, n > most ? (n + most - 1) / most : 1, d->stress, arena, thin);
    kd_free(node_of);
    return status;
}
