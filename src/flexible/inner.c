// inner.c: nodes inside of elements with incompatible modes (C3D8I of CalculiX), which have rows but no place.
//
// Their rows are amplitudes alpha of shapes that are zero at all other nodes, and so are they in rigid motions. With
//     u_b = alpha_b + mean of u_i,   x_b = mean of x_i,      i: the nodes that b is coupled with in K
// they move with their element as all nodes do: u of the files = S u, K -> S' K S, M -> S' M S. Any mean would do: it is a change of
// variables, and frequencies, shapes and moments of the mass stay what they were. Forces go back by f_i + sum f_b/m.
#include <stdlib.h>
#include <string.h>

#include "flexible/fe_files.h"

// ---- the list -------------------------------------------------------------------------------------------------------

kd_status kd_fe_add_inner(kd_fe_structure *s, const int *id, int n, int most)
{
    const int last = s->nnodes > 0 ? s->id[s->nnodes - 1] : 0, before = s->nnodes;
    int      *all = kd_cut_int(&s->arena, before + most);
    kd_vec3  *at = kd_arena_cut(&s->arena, (size_t)(before + most), sizeof *at);
    if (s->arena.failed) return KD_ERR_MEMORY;
    memcpy(all, s->id, (size_t)before * sizeof *all);
    memcpy(at, s->at, (size_t)before * sizeof *at);
    s->id = all, s->at = at;
    // programs number them behind all others, row by row; where that is not so they are not known later on
    for (int i = 0; i < n && s->ninner < most; i++)
        if (id[i] > last && id[i] > s->id[s->nnodes - 1]) {
            s->id[s->nnodes++] = id[i];
            s->ninner++;
        }
    return KD_OK;
}

// ---- places ---------------------------------------------------------------------------------------------------------

// Entries of S while they are gathered
typedef struct entries {
    int     n, *row, *column;
    double *value;
} entries;

static void enter(entries *e, int row, int column, double value)
{
    e->row[e->n] = row, e->column[e->n] = column, e->value[e->n++] = value;
}

// Nodes with a place that K couples with an inner one, each once: listed in list, counted; seen has the last inner node + 1
static int neighbours_of(const kd_fe_structure *s, int inner, int *seen, int *list)
{
    int count = 0;
    for (int d = 0; d < 3; d++) {
        const int j = s->first[6 * inner + d];
        for (int k = j >= 0 ? s->K.column[j] : 0; j >= 0 && k < s->K.column[j + 1]; k++) {
            const int node = s->node[s->K.row[k]];
            if (node >= s->nnodes - s->ninner || seen[node] == inner + 1) continue;
            seen[node] = inner + 1;
            list[count++] = node;
        }
    }
    return count;
}

// The place of an inner node, and its rows of S
static void place(kd_fe_structure *s, int inner, const int *list, int count, entries *e)
{
    kd_vec3 sum = {0, 0, 0};
    for (int i = 0; i < count; i++) sum = kd_vec_add(sum, s->at[list[i]]);
    s->at[inner] = kd_vec_scale(count > 0 ? 1.0 / count : 0, sum);
    for (int d = 0; d < 3; d++) {
        const int row = s->first[6 * inner + d];
        for (int i = 0; i < count && row >= 0; i++) {
            const int other = s->first[6 * list[i] + d];
            if (other >= 0) enter(e, row, other, -1.0 / count);
        }
    }
}

kd_status kd_fe_turn_inner(const kd_fe_structure *s, kd_arena *arena, kd_sparse_matrix *A)
{
    kd_sparse_matrix turned;
    if (s->ninner == 0) return KD_OK;
    const kd_status status = kd_sparse_congruence(A, &s->inner, arena, &turned);
    if (status == KD_OK) *A = turned;
    return status;
}

kd_status kd_fe_place_inner(kd_fe_structure *s)
{
    kd_arena scratch = {0};
    if (s->ninner == 0) return KD_OK;
    // as many entries as K has in the rows of inner nodes, and the diagonal
    size_t most = (size_t)s->n;
    for (int j = 0; j < s->n; j++)
        if (s->node[j] >= s->nnodes - s->ninner) most += 3 * (size_t)(s->K.column[j + 1] - s->K.column[j]);
    if (most > KD_FE_MOST_ENTRIES) return KD_ERR_MEMORY;
    entries e = {0, kd_cut_int(&scratch, (int)most), kd_cut_int(&scratch, (int)most),
                 kd_cut_double(&scratch, (int)most)};
    int    *seen = kd_cut_int(&scratch, s->nnodes), *list = kd_cut_int(&scratch, s->nnodes);
    if (scratch.failed) {
        kd_arena_release(&scratch);
        return KD_ERR_MEMORY;
    }
    for (int i = 0; i < s->n; i++) enter(&e, i, i, 1);
    for (int i = s->nnodes - s->ninner; i < s->nnodes; i++) place(s, i, list, neighbours_of(s, i, seen, list), &e);
    kd_status status = kd_sparse_of_entries(s->n, s->n, e.n, e.row, e.column, e.value, &s->arena, &s->inner);
    if (status == KD_OK) status = kd_fe_turn_inner(s, &s->arena, &s->K);
    if (status == KD_OK) status = kd_fe_turn_inner(s, &s->arena, &s->M);
    kd_arena_release(&scratch);
    return status;
}

// ---- forces ---------------------------------------------------------------------------------------------------------

void kd_fe_share_inner(const kd_fe_structure *s, double *f)
{
    if (s->ninner == 0) return;
    // columns of S are those of other nodes; what stands in rows of inner ones is - 1/m
    for (int j = 0; j < s->n; j++)
        for (int k = s->inner.column[j]; k < s->inner.column[j + 1]; k++)
            if (s->inner.row[k] != j) f[j] -= s->inner.value[k] * f[s->inner.row[k]];
    for (int i = 0; i < s->n; i++)
        if (kd_fe_is_inner(s, s->node[i])) f[i] = 0;
}
