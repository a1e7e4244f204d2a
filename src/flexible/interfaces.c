// interfaces.c: interfaces of a structure: u = T z, and the matrices of z in parts.
//
// Rigid (RBE2): the nodes follow the frame b = (d, theta), u_i = A_i b = d + theta x (x_i - p).
// Averaging (RBE3): the frame follows the nodes with the least sum of |u_i - A_i b|^2, all with the same weight:
//     sum A_i' A_i b = sum A_i' u_i
// A load at the frame is shared out among the nodes without making them stiff. Six displacements of the nodes are expressed by b and the
// others, so that b are coordinates here, too; which six: those with the largest pivots.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "flexible/reduction_parts.h"
#include "math/dense.h"

enum { MOST_AVERAGED = 1000 }; // nodes: all of them become coupled with each other

// Nodes on one line, or one node: turns about that line are not felt
static bool spans_a_plane(const kd_fe_structure *s, const kd_interface *face)
{
    const kd_vec3 first = s->at[face->node[0]];
    kd_vec3       far = {0, 0, 0};
    double        area = 0;
    // a node that turns needs no others, unless shifts are averaged
    if (s->first[6 * face->node[0] + 3] >= 0 && !face->averages) return true;
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
        if (face->averages && face->n > MOST_AVERAGED) {
            kd_text(message, size, "interface '%s': an average of %d nodes; at most %d are coupled that way",
                    face->name, face->n, MOST_AVERAGED);
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

// ---- averages -------------------------------------------------------------------------------------------------------

// An averaging interface: turns are scaled by the size of the face, so that all columns are of one size
typedef struct average {
    int     n; // displacements of its nodes
    int    *row;
    double *At;    // (6 x n) A'
    double  N[36]; // A' A
    double  size;
    int    *chosen; // (n) places of the displacements, the six that are expressed first
} average;

static void fill_average(const kd_reduction *r, const kd_interface *face, average *a)
{
    const kd_fe_structure *s = r->structure;
    for (int i = 0; i < face->n; i++)
        a->size = fmax(a->size, kd_vec_norm(kd_vec_sub(s->at[face->node[i]], face->point)));
    for (int i = 0; i < face->n; i++) {
        const kd_vec3 x = kd_vec_scale(1 / a->size, kd_vec_sub(s->at[face->node[i]], face->point));
        const double  turned[3][3] = {{0, x.z, -x.y}, {-x.z, 0, x.x}, {x.y, -x.x, 0}}; // [direction][about]
        for (int d = 0; d < 3; d++) {
            const int k = 3 * i + d;
            a->row[k] = s->first[6 * face->node[i] + d];
            a->At[d + 6 * k] = 1;
            for (int c = 0; c < 3; c++) a->At[3 + c + 6 * k] = turned[d][c];
        }
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            for (int k = 0; k < a->n; k++) a->N[i + 6 * j] += a->At[i + 6 * k] * a->At[j + 6 * k];
}

// The six displacements that are expressed by the others: the first columns of a QR decomposition of A' with pivots
static kd_status choose_six(const kd_reduction *r, const kd_interface *face, kd_arena *arena, average *a, char *message,
                            size_t size)
{
    *a = (average){.n = 3 * face->n};
    a->row = kd_cut_int(arena, a->n);
    a->chosen = kd_cut_int(arena, a->n);
    a->At = kd_cut_matrix(arena, 6, a->n);
    double *QR = kd_cut_matrix(arena, 6, a->n), *work = kd_cut_double(arena, kd_qr_work(6, a->n)), tau[6];
    if (arena->failed) return KD_ERR_MEMORY;
    fill_average(r, face, a);
    for (int k = 0; k < a->n; k++)
        if (a->row[k] < 0) {
            kd_text(message, size, "interface '%s': a node that does not move in all directions cannot be averaged",
                    face->name);
            return KD_ERR_MODEL;
        }
    memcpy(QR, a->At, 6 * (size_t)a->n * sizeof *QR);
    if (kd_qr_pivot(6, a->n, QR, a->chosen, tau, 1e-8, work) == 6) return KD_OK;
    kd_text(message, size, "interface '%s': its nodes lie on one line or are too few to hold a frame", face->name);
    return KD_ERR_MODEL;
}

// The six displacements by the frame and the other ones: A_6' u_6 = N b - A_i' u_i; column: of each row in z
static kd_status express_six(const average *a, int f, const int *column, entry_list *e)
{
    double S[36], x[6];
    int    pivot[6];
    for (int k = 0; k < 6; k++) memcpy(S + 6 * k, a->At + 6 * a->chosen[k], 6 * sizeof *S);
    if (kd_lu_factor(6, S, pivot) != 0) return KD_ERR_DECOMPOSITION;
    for (int k = 0; k < a->n; k++) {
        const int j = k < 6 ? 6 * f + k : column[a->row[a->chosen[k]]];
        for (int i = 0; i < 6; i++)
            x[i] = k < 3 ? a->N[i + 6 * k] : k < 6 ? a->size * a->N[i + 6 * k] : -a->At[i + 6 * a->chosen[k]];
        kd_lu_solve(6, S, pivot, x, 1);
        for (int i = 0; i < 6; i++) add_entry(e, a->row[a->chosen[i]], j, x[i]);
    }
    return KD_OK;
}

// ---- all of them ----------------------------------------------------------------------------------------------------

// Work of joining: who owns a node, which column of z is a row of the structure
typedef struct joining {
    int       *owner;   // (nnodes) interface + 1
    int       *column;  // (n) -1: expressed by others
    average   *average; // (ninterfaces)
    entry_list entries;
} joining;

static bool begin_joining(const kd_reduction *r, kd_arena *arena, joining *w)
{
    const kd_fe_structure *s = r->structure;
    int                    room = 4 * s->n;
    for (int f = 0; f < r->ninterfaces; f++) room += r->interface[f].averages ? 18 * r->interface[f].n : 0;
    w->owner = kd_cut_int(arena, s->nnodes);
    w->column = kd_cut_int(arena, s->n);
    w->average = kd_arena_cut(arena, (size_t)r->ninterfaces, sizeof *w->average);
    w->entries = (entry_list){
        .row = kd_cut_int(arena, room), .column = kd_cut_int(arena, room), .value = kd_cut_double(arena, room)};
    return !arena->failed;
}

// A node belongs to one interface
static kd_status take_nodes(const kd_reduction *r, int f, joining *w, char *message, size_t size)
{
    const kd_interface *face = &r->interface[f];
    for (int i = 0; i < face->n; i++) {
        const int node = face->node[i];
        if (w->owner[node]) {
            kd_text(message, size, "node %d belongs to the interfaces '%s' and '%s'", r->structure->id[node],
                    r->interface[w->owner[node] - 1].name, face->name);
            return KD_ERR_MODEL;
        }
        w->owner[node] = f + 1;
    }
    return KD_OK;
}

// Rows that are expressed by others, and the places of all other ones behind the frames
static kd_status number_rows(kd_reduction *r, joining *w)
{
    const kd_fe_structure *s = r->structure;
    for (int i = 0; i < s->n; i++) {
        const int f = w->owner[s->node[i]];
        w->column[i] = f > 0 && !r->interface[f - 1].averages ? -1 : 0;
    }
    for (int f = 0; f < r->ninterfaces; f++)
        for (int k = 0; r->interface[f].averages && k < 6; k++)
            w->column[w->average[f].row[w->average[f].chosen[k]]] = -1;
    r->nz = r->nb = 6 * r->ninterfaces;
    for (int i = 0; i < s->n; i++)
        if (w->column[i] >= 0) w->column[i] = r->nz++;
    r->ni = r->nz - r->nb;
    r->row = kd_cut_int(&r->arena, r->ni);
    if (!r->row && r->ni > 0) return KD_ERR_MEMORY;
    for (int i = 0; i < s->n; i++)
        if (w->column[i] >= 0) r->row[w->column[i] - r->nb] = i;
    return KD_OK;
}

static kd_status make_T(kd_reduction *r, kd_arena *scratch, char *message, size_t size)
{
    const kd_fe_structure *s = r->structure;
    joining                w;
    kd_status              status = begin_joining(r, scratch, &w) ? KD_OK : KD_ERR_MEMORY;
    for (int f = 0; status == KD_OK && f < r->ninterfaces; f++) {
        status = take_nodes(r, f, &w, message, size);
        if (status == KD_OK && r->interface[f].averages)
            status = choose_six(r, &r->interface[f], scratch, &w.average[f], message, size);
    }
    if (status == KD_OK) status = number_rows(r, &w);
    // nodes that follow, displacements that are expressed, and all others, which keep their coordinates
    for (int f = 0; status == KD_OK && f < r->ninterfaces; f++) {
        const kd_interface *face = &r->interface[f];
        if (face->averages) status = express_six(&w.average[f], f, w.column, &w.entries);
        for (int i = 0; !face->averages && i < face->n; i++) follow_frame(r, f, face->node[i], &w.entries);
    }
    for (int j = 0; status == KD_OK && j < r->ni; j++) add_entry(&w.entries, r->row[j], r->nb + j, 1);
    if (status < 0) return status;
    const entry_list *e = &w.entries;
    return kd_sparse_of_entries(s->n, r->nz, e->n, e->row, e->column, e->value, &r->arena, &r->T);
}

kd_status kd_reduction_join_interfaces(kd_reduction *r, char *message, size_t size)
{
    kd_arena  scratch = {0};
    kd_status status = make_T(r, &scratch, message, size);
    if (status == KD_OK) status = kd_sparse_congruence(&r->structure->K, &r->T, &r->arena, &r->K);
    if (status == KD_OK) status = kd_sparse_congruence(&r->structure->M, &r->T, &r->arena, &r->M);
    kd_arena_release(&scratch);
    return status;
}

// ---- parts ----------------------------------------------------------------------------------------------------------

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
            const kd_fe_structure *s = r->structure;
            const int              apart = s->name ? kd_fe_structure_apart(s) : -1;
            if (apart >= 0)
                kd_text_append(message, size, " (%s: nothing connects node %d with node %d)", s->name, s->id[apart],
                               s->id[s->node[0]]);
            status = KD_ERR_MODEL;
        }
    }
    kd_arena_release(&scratch);
    return status;
}
