// forms/structure.c: the structure of the Newton matrix with its kinematic rows, and groups of its columns.
#include "forms/assembled_impl.h"
#include "forms/newton.h"
#include <string.h>

typedef struct structure {
    kd_structure public; // first: what the caller sees
    kd_arena      arena;
    kd_colouring *colouring;
} structure;

// Rows of the kinematic equations: gamma I - S, -I, (GZ)' D
static void add_kinematic(const kd_newton *newton, kd_places *places)
{
    const kd_increments *inc = &newton->increments;
    int                  nv = newton->nv;
    for (int j = 0; j < nv; j++) {
        kd_places_add(places, j, j);
        kd_places_add(places, j, nv + j);
        int b = inc->identity ? -1 : inc->block_of[j];
        for (int l = b < 0 ? 0 : inc->v_start[b]; b >= 0 && l < inc->v_start[b + 1]; l++)
            kd_places_add(places, inc->v_of[l], j);
    }
    if (!newton->has_eta) return;
    const kd_pattern *G = &newton->source[newton->gz].pattern;
    for (int j = 0; j < nv; j++)
        for (int k = G->column[j]; k < G->column[j + 1]; k++) kd_places_add(places, j, nv + newton->xe + G->row[k]);
}

static void set_blocks(const kd_assembled *form, kd_structure *s)
{
    const kd_dims d = form->dims;
    const int     nc = d.nlambda + d.nmu, neta = form->has_eta ? d.nlambda : 0;
    const int     rows[KD_STRUCTURE_BLOCKS] = {d.nv, d.nv, d.nr, d.nw, d.ns, nc, neta};
    for (int k = 0; k < KD_STRUCTURE_BLOCKS; k++) { // rows and columns have the same sizes
        s->block_row[k + 1] = s->block_row[k] + rows[k];
        s->block_column[k + 1] = s->block_column[k] + rows[k];
    }
}

static kd_status set_pattern(const kd_newton *newton, structure *s)
{
    int        n = newton->nv + newton->m;
    kd_places  places = {.rows = n, .columns = n};
    kd_columns sorted;
    // kinematic rows above those of F
    add_kinematic(newton, &places);
    for (int j = 0; j < n; j++)
        for (int e = newton->F.column[j]; e < newton->F.column[j + 1]; e++)
            kd_places_add(&places, newton->nv + newton->F.row[e], j);
    kd_status status = kd_places_sort(&places, &sorted, &s->arena);
    kd_places_release(&places);
    if (status >= 0) s->public.pattern = (kd_pattern){n, n, sorted.column, sorted.row};
    return status;
}

// Groups of the rows without the kinematic ones, which are known
static kd_status set_groups(const kd_newton *newton, structure *s)
{
    int   n = newton->nv + newton->m, multipliers = newton->nv + newton->xl;
    bool *mask = kd_cut_bool(&s->arena, n);
    if (!mask) return KD_ERR_MEMORY;
    int end = multipliers + newton->nlambda + newton->nmu;
    for (int j = 0; j < n; j++) mask[j] = j < multipliers || (j < end && newton->lambda_differenced);
    kd_status status = kd_colouring_create(newton->m, n, kd_columns_count(&newton->F), &s->colouring);
    if (status >= 0) status = kd_colouring_update(s->colouring, newton->F.column, newton->F.row, mask);
    if (status < 0) return status;
    s->public.group = kd_colouring_group(s->colouring);
    s->public.groups = kd_colouring_groups(s->colouring);
    s->public.fullest_row = kd_colouring_fullest_row(s->colouring);
    return status;
}

kd_status kd_formulation_structure(const kd_dae *dae, kd_structure **out)
{
    if (!dae || !out) return KD_ERR_ARGUMENT;
    *out = NULL;
    const kd_newton *newton = kd_assembled_newton(dae);
    if (!newton || !newton->F.column) return KD_ERR_UNSUPPORTED;
    structure *s = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    set_blocks(newton->form, &s->public);
    kd_status status = set_pattern(newton, s);
    if (status >= 0) status = set_groups(newton, s);
    if (status >= 0)
        *out = &s->public;
    else
        kd_structure_destroy(&s->public);
    return status;
}

void kd_structure_destroy(kd_structure *s)
{
    if (!s) return;
    structure *self = (structure *)s;
    kd_colouring_destroy(self->colouring);
    kd_arena_release(&self->arena);
    kd_free(self);
}
