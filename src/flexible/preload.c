// preload.c: stiffness by rotation and by forces, from a second stiffness matrix of the finite-element program.
//
//     K_spin = K(omega) + omega^2 M_across - K,   K0 = K_spin/omega^2,        K0 = (K(F) - K)/F
// on the rows that were free; M_across: the mass of the two directions across the axis (softening that programs have put in).
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "flexible/fe_files.h"

// Rows of the second matrix in the structure; the others were held
static kd_status match_rows(const kd_fe_structure *s, const char *path, int rows, const int *id, const int *direction,
                            bool *held, int *row, char *message, size_t size)
{
    for (int i = 0; i < s->n; i++) held[i] = true;
    for (int i = 0; i < rows; i++) {
        const int node = kd_fe_structure_find(s, id[i]);
        row[i] = node >= 0 ? s->first[6 * node + direction[i]] : -1;
        if (row[i] < 0 || !held[row[i]]) {
            kd_text(message, size, "%s: node %d, direction %d is not in the structure, or there twice", path, id[i],
                    direction[i] + 1);
            return KD_ERR_FILE;
        }
        held[row[i]] = false;
    }
    return KD_OK;
}

// The second matrix in the rows of the structure
static kd_status read_loaded(const kd_fe_structure *s, const char *stiffness, const char *dofs, bool *held,
                             kd_arena *scratch, kd_sparse_matrix *Ks, char *message, size_t size)
{
    char            *bytes = NULL;
    size_t           length;
    kd_sparse_matrix A;
    int             *id, *direction, n = 0;
    kd_status        status = kd_fe_load(stiffness, &bytes, &length, message, size);
    if (status < 0) return status;
    kd_lines text = {.path = stiffness, .at = bytes, .end = bytes + length, .message = message, .size = size};
    status = kd_fe_parse_matrix(&text, scratch, &A);
    kd_free(bytes);
    if (status == KD_OK) status = kd_fe_load(dofs, &bytes, &length, message, size);
    if (status < 0) return status;
    text = (kd_lines){.path = dofs, .at = bytes, .end = bytes + length, .message = message, .size = size};
    status = kd_fe_parse_dofs(&text, scratch, &id, &direction, &n);
    kd_free(bytes);
    if (status < 0) return status;
    if (n != A.rows) {
        kd_text(message, size, "%s: %d rows are named, the stiffness matrix has %d", dofs, n, A.rows);
        return KD_ERR_FILE;
    }
    const int count = kd_sparse_count(&A);
    int      *row = kd_cut_int(scratch, n), *rows = kd_cut_int(scratch, count), *columns = kd_cut_int(scratch, count);
    if (scratch->failed) return KD_ERR_MEMORY;
    status = match_rows(s, dofs, n, id, direction, held, row, message, size);
    if (status < 0) return status;
    for (int j = 0; j < A.columns; j++)
        for (int k = A.column[j]; k < A.column[j + 1]; k++) {
            rows[k] = row[A.row[k]];
            columns[k] = row[j];
        }
    status = kd_sparse_of_entries(s->n, s->n, count, rows, columns, A.value, scratch, Ks);
    if (status == KD_OK) status = kd_fe_turn_inner(s, scratch, Ks);
    if (status == KD_OK) kd_fe_structure_scale(s, Ks);
    return status;
}

// Entries of a symmetric matrix between rows that are kept, others are zero
static void clear_others(kd_sparse_matrix *A, const bool *drop)
{
    for (int j = 0; j < A->columns; j++)
        for (int k = A->column[j]; k < A->column[j + 1]; k++)
            if (drop[j] || drop[A->row[k]]) A->value[k] = 0;
}

// What the second matrix has more than K, on the rows that were free; a new preload of the structure, which is not counted yet
static kd_status read_preload(kd_fe_structure *s, const char *stiffness, const char *dofs, kd_arena *scratch,
                              kd_sparse_matrix *added, char *message, size_t size)
{
    kd_fe_preload   *preload = &s->preload[s->npreloads];
    kd_sparse_matrix Ks;
    if (s->npreloads == KD_FE_PRELOADS) {
        kd_text(message, size, "%s: more than %d loads that stiffen", stiffness, KD_FE_PRELOADS);
        return KD_ERR_FILE;
    }
    *preload = (kd_fe_preload){.held = kd_cut_bool(&s->arena, s->n)};
    if (!preload->held) return KD_ERR_MEMORY;
    kd_status status = read_loaded(s, stiffness, dofs, preload->held, scratch, &Ks, message, size);
    if (status == KD_OK) status = kd_sparse_sum(1, &Ks, -1, &s->K, scratch, added);
    if (status == KD_OK) clear_others(added, preload->held);
    return status;
}

kd_status kd_fe_structure_spin(kd_fe_structure *s, const char *stiffness, const char *dofs, int axis, double omega,
                               bool softened, char *message, size_t size)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix added, across;
    bool            *drop = kd_cut_bool(&scratch, s->n);
    kd_status        status =
        scratch.failed ? KD_ERR_MEMORY : read_preload(s, stiffness, dofs, &scratch, &added, message, size);
    // the mass across the axis, of a copy
    if (status == KD_OK) status = kd_sparse_sum(softened ? 1 : 0, &s->M, 0, &s->M, &scratch, &across);
    if (status == KD_OK) {
        kd_fe_preload *preload = &s->preload[s->npreloads];
        for (int i = 0; i < s->n; i++) drop[i] = preload->held[i] || s->direction[i] == axis || s->direction[i] > 2;
        clear_others(&across, drop);
        preload->axis = axis;
        status = kd_sparse_sum(1 / (omega * omega), &added, 1, &across, &s->arena, &preload->K);
    }
    if (status == KD_OK) s->npreloads++;
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_fe_structure_pull(kd_fe_structure *s, const char *stiffness, const char *dofs, const char *interface,
                               int axis, double force, char *message, size_t size)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix added;
    char            *name = kd_arena_cut(&s->arena, strlen(interface) + 1, 1);
    kd_status        status = !name ? KD_ERR_MEMORY : read_preload(s, stiffness, dofs, &scratch, &added, message, size);
    if (status == KD_OK) {
        kd_fe_preload *preload = &s->preload[s->npreloads];
        strcpy(name, interface);
        preload->axis = axis, preload->interface = name;
        status = kd_sparse_sum(1 / force, &added, 0, &added, &s->arena, &preload->K);
    }
    if (status == KD_OK) s->npreloads++;
    kd_arena_release(&scratch);
    return status;
}
