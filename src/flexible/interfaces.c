// interfaces.c: rigid interfaces: u = T z, and the matrices of z in parts.
#include "core/text.h"
#include "flexible/reduction_parts.h"

// Nodes on one line, or one node: turns about that line are not felt
static bool spans_a_plane(const kd_fe_structure *s, const kd_interface *face)
{
    const kd_vec3 first = s->at[face->node[0]];
    kd_vec3       far = {0, 0, 0};
    double        area = 0;
    if (s->first[6 * face->node[0] + 3] >= 0) return true; // a node that turns needs no others
    for (int i = 1; i < face->n; i++) {
        const kd_vec3 r = kd_vec_sub(s->at[face->node[i]], first);
        if (kd_vec_norm(r) > kd_vec_norm(far)) far = r;
    }
    for (int i = 1; i < face->n; i++) {
        const kd_vec3 r = kd_vec_sub(s->at[face->node[i]], first);
        const double  a = kd_vec_norm(kd_vec_cross(far, r));
        if (a > area) area = a;
    }
    return area > 1e-6 * kd_vec_dot(far, far);
}

kd_status kd_reduction_check_interfaces(const kd_reduction *r, char *message, size_t size)
{
    const kd_fe_structure *s = r->structure;
    if (r->ninterfaces < 1) {
        kd_text(message, size, "at least one interface is needed: where the part is connected with others");
        return KD_ERR_MODEL;
    }
    for (int f = 0; f < r->ninterfaces; f++) {
        const kd_interface *face = &r->interface[f];
        if (face->n < 1 || !spans_a_plane(s, face)) {
            kd_text(message, size, "interface '%s': its nodes lie on one line or are too few to hold a frame",
                    face->name);
            return KD_ERR_MODEL;
        }
    }
    return KD_OK;
}

// One entry of T
typedef struct entry_list {
    int     n;
    int    *row, *column;
    double *value;
} entry_list;

static void add_entry(entry_list *e, int row, int column, double value)
{
    e->row[e->n] = row;
    e->column[e->n] = column;
    e->value[e->n++] = value;
}

// u of a node that follows frame f: d + theta x (x - p), turned by theta
static void follow_frame(const kd_reduction *r, int f, int node, entry_list *e)
{
    const kd_fe_structure *s = r->structure;
    const kd_vec3          x = kd_vec_sub(s->at[node], r->interface[f].point);
    const double           turned[3][3] = {{0, x.z, -x.y}, {-x.z, 0, x.x}, {x.y, -x.x, 0}}; // [direction][about]
    for (int d = 0; d < 6; d++) {
        const int row = s->first[6 * node + d];
        if (row < 0) continue;
        add_entry(e, row, 6 * f + d, 1);
        for (int a = 0; d < 3 && a < 3; a++)
            if (turned[d][a] != 0) add_entry(e, row, 6 * f + 3 + a, turned[d][a]);
    }
}

kd_status kd_reduction_join_interfaces(kd_reduction *r, char *message, size_t size)
{
    const kd_fe_structure *s = r->structure;
    kd_arena               scratch = {0};
    int                   *owner = kd_cut_int(&scratch, s->nnodes); // interface of a node + 1
    entry_list             e = {.row = kd_cut_int(&scratch, 4 * s->n),
                                .column = kd_cut_int(&scratch, 4 * s->n),
                                .value = kd_cut_double(&scratch, 4 * s->n)};
    kd_status              status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    for (int f = 0; status == KD_OK && f < r->ninterfaces; f++)
        for (int i = 0; status == KD_OK && i < r->interface[f].n; i++) {
            const int node = r->interface[f].node[i];
            if (owner[node]) {
                kd_text(message, size, "node %d belongs to the interfaces '%s' and '%s'", s->id[node],
                        r->interface[owner[node] - 1].name, r->interface[f].name);
                status = KD_ERR_MODEL;
            }
            owner[node] = f + 1;
            follow_frame(r, f, node, &e);
        }
    // all others keep their coordinates
    r->nz = r->nb = 6 * r->ninterfaces;
    for (int i = 0; status == KD_OK && i < s->n; i++)
        if (!owner[s->node[i]]) add_entry(&e, i, r->nz++, 1);
    r->ni = r->nz - r->nb;
    if (status == KD_OK) status = kd_sparse_of_entries(s->n, r->nz, e.n, e.row, e.column, e.value, &r->arena, &r->T);
    if (status == KD_OK) status = kd_sparse_congruence(&s->K, &r->T, &r->arena, &r->K);
    if (status == KD_OK) status = kd_sparse_congruence(&s->M, &r->T, &r->arena, &r->M);
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_reduction_part(const kd_reduction *r, const kd_sparse_matrix *A, const bool *keep_row,
                            const bool *keep_column, kd_arena *arena, kd_sparse_matrix *out)
{
    kd_arena  scratch = {0};
    int      *row = kd_cut_int(&scratch, r->nz), *column = kd_cut_int(&scratch, r->nz), rows = 0, columns = 0;
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    for (int i = 0; status == KD_OK && i < r->nz; i++) {
        row[i] = keep_row[i] ? rows++ : -1;
        column[i] = keep_column[i] ? columns++ : -1;
    }
    if (status == KD_OK) status = kd_sparse_part(A, row, rows, column, columns, arena, out);
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_reduction_split(kd_reduction *r, char *message, size_t size)
{
    kd_arena  scratch = {0};
    bool     *in = kd_cut_bool(&scratch, r->nz), *on = kd_cut_bool(&scratch, r->nz);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    for (int i = 0; status == KD_OK && i < r->nz; i++) {
        on[i] = i < r->nb;
        in[i] = !on[i];
    }
    if (status == KD_OK) status = kd_reduction_part(r, &r->K, in, in, &r->arena, &r->Kii);
    if (status == KD_OK) status = kd_reduction_part(r, &r->M, in, in, &r->arena, &r->Mii);
    if (status == KD_OK) status = kd_reduction_part(r, &r->K, in, on, &r->arena, &r->Kib);
    if (status == KD_OK) status = kd_reduction_part(r, &r->M, in, on, &r->arena, &r->Mib);
    if (status == KD_OK && r->ni > 0) {
        status = kd_factor_create(&r->Kii, &r->inner);
        if (status == KD_ERR_DECOMPOSITION || (status == KD_OK && kd_factor_negative(r->inner) > 0)) {
            kd_text(message, size,
                    "with its interfaces held the part can still move without force: it is a mechanism, or in pieces");
            status = KD_ERR_MODEL;
        }
    }
    kd_arena_release(&scratch);
    return status;
}
