// structure.c: a structure from its files; what it is as a rigid body; whether it is one.
#include "flexible/structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/text.h"
#include "flexible/fe_files.h"

static const double RIGID = 1e-7; // forces that rigid motions may meet, of the stiffest entry

// ---- lookup ---------------------------------------------------------------------------------------------------------

void kd_fe_structure_release(kd_fe_structure *s)
{
    kd_arena_release(&s->arena);
    *s = (kd_fe_structure){0};
}

int kd_fe_structure_find(const kd_fe_structure *s, int id)
{
    int low = 0, high = s->nnodes;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (s->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->nnodes && s->id[low] == id ? low : -1;
}

// Nodes that K connects with a node go to the end of the list, each once; how long it is then
static int add_neighbours(const kd_fe_structure *s, int node, bool *seen, int *list, int n)
{
    for (int d = 0; d < 6; d++) {
        const int j = s->first[6 * node + d];
        for (int k = j >= 0 ? s->K.column[j] : 0; j >= 0 && k < s->K.column[j + 1]; k++) {
            const int other = s->node[s->K.row[k]];
            if (seen[other] || s->K.value[k] == 0) continue;
            seen[other] = true;
            list[n++] = other;
        }
    }
    return n;
}

int kd_fe_structure_apart(const kd_fe_structure *s)
{
    kd_arena scratch = {0};
    bool    *seen = kd_cut_bool(&scratch, s->nnodes);
    int     *list = kd_cut_int(&scratch, s->nnodes), apart = -1;
    if (!scratch.failed && s->n > 0) {
        int n = 1;
        list[0] = s->node[0];
        seen[list[0]] = true;
        for (int i = 0; i < n; i++) n = add_neighbours(s, list[i], seen, list, n);
        for (int i = s->n - 1; i >= 0; i--)
            if (!seen[s->node[i]]) apart = s->node[i];
    }
    kd_arena_release(&scratch);
    return apart;
}

const kd_node_set *kd_fe_structure_set(const kd_fe_structure *s, const char *name)
{
    for (int i = 0; i < s->nsets; i++)
        if (strcasecmp(s->set[i].name, name) == 0) return &s->set[i];
    return NULL;
}

// ---- from files -----------------------------------------------------------------------------------------------------

typedef struct numbered {
    int     id;
    kd_vec3 at;
} numbered;

static int by_id(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_value(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

static kd_status complain(const char *file, char *message, size_t size, const char *what, long number)
{
    kd_text(message, size, "%s: ", file);
    kd_text_append(message, size, what, number);
    return KD_ERR_FILE;
}

// Nodes by rising number, each once
static kd_status keep_nodes(kd_fe_structure *s, const char *file, const kd_fe_nodes *nodes, double scale, char *message,
                            size_t size)
{
    numbered *list = kd_alloc((size_t)nodes->n * sizeof *list);
    kd_status status = KD_OK;
    s->nnodes = nodes->n;
    s->id = kd_cut_int(&s->arena, nodes->n);
    s->at = kd_arena_cut(&s->arena, (size_t)nodes->n, sizeof *s->at);
    if (!list || s->arena.failed) status = KD_ERR_MEMORY;
    for (int i = 0; status == KD_OK && i < nodes->n; i++)
        list[i] = (numbered){nodes->id[i], kd_vec_scale(scale, nodes->at[i])};
    if (status == KD_OK) qsort(list, (size_t)nodes->n, sizeof *list, by_id);
    for (int i = 0; status == KD_OK && i < nodes->n; i++) {
        if (i > 0 && list[i].id == list[i - 1].id)
            status = complain(file, message, size, "node %ld is there twice", list[i].id);
        s->id[i] = list[i].id;
        s->at[i] = list[i].at;
    }
    kd_free(list);
    return status;
}

static kd_status keep_sets(kd_fe_structure *s, const char *file, const kd_fe_nodes *nodes, char *message, size_t size)
{
    s->nsets = nodes->nsets;
    s->set = kd_arena_cut(&s->arena, (size_t)nodes->nsets, sizeof *s->set);
    for (int i = 0; i < nodes->nsets && !s->arena.failed; i++) {
        const struct kd_fe_set *from = &nodes->set[i];
        kd_node_set            *to = &s->set[i];
        char                   *name = kd_arena_cut(&s->arena, strlen(from->name) + 1, 1);
        to->node = kd_cut_int(&s->arena, from->n);
        if (s->arena.failed) break;
        strcpy(name, from->name);
        to->name = name;
        int there = 0;
        for (int k = 0; k < from->n; k++) {
            to->node[there] = kd_fe_structure_find(s, abs(from->id[k]));
            if (to->node[there] < 0 && from->id[k] > 0)
                return complain(file, message, size, "a set of nodes has node %ld, which does not exist", from->id[k]);
            there += to->node[there] >= 0;
        }
        // each once
        qsort(to->node, (size_t)there, sizeof *to->node, by_value);
        for (int k = 0; k < there; k++)
            if (k == 0 || to->node[k] != to->node[k - 1]) to->node[to->n++] = to->node[k];
    }
    return s->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

// Decks begin with a keyword or a comment, tables do not
static bool is_deck(const char *path, const char *bytes, size_t length)
{
    size_t i = 0;
    while (i < length && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r')) i++;
    return kd_text_has_ending(path, ".inp") || (i < length && bytes[i] == '*');
}

// inner: nodes that its elements may have inside
static kd_status read_nodes(const kd_fe_structure_files *files, kd_fe_structure *s, int *inner, char *message,
                            size_t size)
{
    char       *bytes = NULL;
    size_t      length;
    kd_fe_nodes nodes = {0};
    kd_status   status = kd_fe_load(files->nodes, &bytes, &length, message, size);
    if (status < 0) return status;
    kd_lines text = {.path = files->nodes, .at = bytes, .end = bytes + length, .message = message, .size = size};
    if (is_deck(files->nodes, bytes, length)) {
        char        folder[4096];
        const char *slash = strrchr(files->nodes, '/');
        kd_text(folder, sizeof folder, "%.*s", slash ? (int)(slash - files->nodes) : 1, slash ? files->nodes : ".");
        status = kd_fe_parse_deck(&text, slash == files->nodes ? "/" : folder, &nodes);
    } else {
        status = kd_fe_parse_node_table(&text, &nodes);
    }
    if (status == KD_OK)
        status = keep_nodes(s, files->nodes, &nodes, files->scale > 0 ? files->scale : 1.0, message, size);
    if (status == KD_OK) status = keep_sets(s, files->nodes, &nodes, message, size);
    if (status == KD_OK) status = kd_fe_skin(&nodes, s);
    *inner = nodes.ninner;
    kd_fe_nodes_release(&nodes);
    kd_free(bytes);
    return status;
}

static kd_status read_matrix(const char *path, kd_fe_structure *s, kd_sparse_matrix *A, char *message, size_t size)
{
    char     *bytes = NULL;
    size_t    length;
    kd_status status = kd_fe_load(path, &bytes, &length, message, size);
    if (status < 0) return status;
    kd_lines text = {.path = path, .at = bytes, .end = bytes + length, .message = message, .size = size};
    status = kd_fe_parse_matrix(&text, &s->arena, A);
    kd_free(bytes);
    return status;
}

// Numbers of the nodes and directions of the rows, from the file of CalculiX, the vector of ANSYS or the order of the nodes
static kd_status read_rows(const kd_fe_structure_files *files, kd_fe_structure *s, int **id, int *n, char *message,
                           size_t size)
{
    const char *path = files->dofs ? files->dofs : files->mapping;
    char       *bytes = NULL;
    size_t      length;
    kd_status   status = path ? kd_fe_load(path, &bytes, &length, message, size) : KD_OK;
    if (status < 0) return status;
    kd_lines text = {.path = path, .at = bytes, .end = path ? bytes + length : NULL, .message = message, .size = size};
    if (files->dofs) {
        status = kd_fe_parse_dofs(&text, &s->arena, id, &s->direction, n);
    } else {
        int *node = s->id, nnodes = s->nnodes;
        if (path) status = kd_fe_parse_mapping(&text, &s->arena, &node, &nnodes);
        *n = 3 * nnodes;
        *id = kd_cut_int(&s->arena, *n);
        s->direction = kd_cut_int(&s->arena, *n);
        if (status == KD_OK && s->arena.failed) status = KD_ERR_MEMORY;
        for (int i = 0; status == KD_OK && i < *n; i++) {
            (*id)[i] = node[i / 3];
            s->direction[i] = i % 3;
        }
    }
    kd_free(bytes);
    return status;
}

static kd_status name_rows(const kd_fe_structure_files *files, kd_fe_structure *s, int inner, char *message,
                           size_t size)
{
    const char *file = files->dofs ? files->dofs : files->mapping ? files->mapping : files->nodes;
    int        *id = NULL, n = 0;
    kd_status   status = read_rows(files, s, &id, &n, message, size);
    if (status < 0) return status;
    if (n != s->K.rows || n != s->M.rows) {
        kd_text(message, size, "%s: %d rows are named, the stiffness matrix has %d and the mass matrix %d", file, n,
                s->K.rows, s->M.rows);
        return KD_ERR_FILE;
    }
    if (inner > 0) status = kd_fe_add_inner(s, id, n, inner);
    if (status < 0) return status;
    s->n = n;
    s->node = kd_cut_int(&s->arena, n);
    s->first = kd_cut_int(&s->arena, 6 * s->nnodes);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < 6 * s->nnodes; i++) s->first[i] = -1;
    for (int i = 0; i < n; i++) {
        s->node[i] = kd_fe_structure_find(s, id[i]);
        if (s->node[i] < 0)
            return complain(file, message, size, "node %ld has no place: it is not in the list of nodes", id[i]);
        int *row = &s->first[6 * s->node[i] + s->direction[i]];
        if (*row >= 0)
            return complain(
                file, message, size,
                "a direction of node %ld is there twice (CalculiX stores shells and beams as several nodes: "
                "take solid elements)",
                id[i]);
        *row = i;
    }
    return KD_OK;
}

// Matrices in SI: the energy u' K u/2 has the unit mass length^2/s^2, shifts that of a length, turns none
void kd_fe_structure_scale(const kd_fe_structure *s, kd_sparse_matrix *A)
{
    if (s->unit_length == 0) return;
    const double mass = s->unit_force / s->unit_length;
    for (int j = 0; j < A->columns; j++)
        for (int k = A->column[j]; k < A->column[j + 1]; k++) {
            A->value[k] *= mass;
            if (s->direction[j] > 2) A->value[k] *= s->unit_length;
            if (s->direction[A->row[k]] > 2) A->value[k] *= s->unit_length;
        }
}

static void take_units(const kd_fe_structure_files *files, kd_fe_structure *s)
{
    const double length = files->length > 0 ? files->length : 1, mass = files->mass_unit > 0 ? files->mass_unit : 1;
    s->unit_length = length;
    s->unit_force = mass * length;
    if (length == 1 && mass == 1) return;
    for (int i = 0; i < s->nnodes; i++) s->at[i] = kd_vec_scale(length, s->at[i]);
    kd_fe_structure_scale(s, &s->K);
    kd_fe_structure_scale(s, &s->M);
}

static const char *keep_name(kd_fe_structure *s, const char *path)
{
    char *name = kd_arena_cut(&s->arena, strlen(path) + 1, 1);
    if (name) strcpy(name, path);
    return name;
}

kd_status kd_fe_structure_read(const kd_fe_structure_files *files, kd_fe_structure *s, char *message, size_t size)
{
    *s = (kd_fe_structure){.unit_length = 1, .unit_force = 1};
    kd_text(message, size, "%s", "");
    if (!files->stiffness || !files->mass || !files->nodes) {
        kd_text(message, size, "files of stiffness, mass and nodes are needed");
        return KD_ERR_FILE;
    }
    int       inner = 0;
    kd_status status = read_nodes(files, s, &inner, message, size);
    if (status == KD_OK) status = read_matrix(files->stiffness, s, &s->K, message, size);
    if (status == KD_OK) status = read_matrix(files->mass, s, &s->M, message, size);
    if (status == KD_OK) status = name_rows(files, s, inner, message, size);
    if (status == KD_OK) status = kd_fe_place_inner(s);
    if (status == KD_OK) take_units(files, s);
    if (status == KD_OK) {
        s->name = keep_name(s, files->stiffness);
        s->mass_name = keep_name(s, files->mass);
        if (s->arena.failed) status = KD_ERR_MEMORY;
    }
    if (status == KD_ERR_MEMORY) kd_text(message, size, "out of memory");
    if (status < 0) kd_fe_structure_release(s);
    return status;
}

// ---- what it is -----------------------------------------------------------------------------------------------------

void kd_fe_structure_rigid_motions(const kd_fe_structure *s, kd_vec3 about, double *R)
{
    const size_t n = (size_t)s->n;
    memset(R, 0, 6 * n * sizeof *R);
    for (size_t i = 0; i < n; i++) {
        const kd_vec3 r = kd_vec_sub(s->at[s->node[i]], about);
        // a turn by e moves a point by e x r and turns it by e
        const double turned[3][3] = {{0, -r.z, r.y}, {r.z, 0, -r.x}, {-r.y, r.x, 0}}; // [about][direction]
        const int    d = s->direction[i];
        R[i + n * (size_t)d] = 1;
        for (size_t a = 0; a < 3 && d < 3; a++) R[i + n * (3 + a)] = turned[a][d];
    }
}

// The largest difference of an entry from its image, and where it is
static double asymmetry_of(const kd_sparse_matrix *A, kd_arena *arena, int *row, int *column)
{
    kd_sparse_matrix At, difference;
    double           most = 0;
    if (kd_sparse_transpose(A, arena, &At) < 0 || kd_sparse_sum(1, A, -1, &At, arena, &difference) < 0) return NAN;
    for (int j = 0; j < difference.columns; j++)
        for (int k = difference.column[j]; k < difference.column[j + 1]; k++) {
            if (!(fabs(difference.value[k]) > most)) continue;
            most = fabs(difference.value[k]);
            *row = difference.row[k];
            *column = j;
        }
    return most / kd_sparse_largest(A);
}

static bool is_lumped(const kd_sparse_matrix *M)
{
    for (int j = 0; j < M->columns; j++)
        for (int k = M->column[j]; k < M->column[j + 1]; k++)
            if (M->row[k] != j && M->value[k] != 0) return false;
    return true;
}

// The entry (row, column) of a matrix; 0 where there is none
static double entry_of(const kd_sparse_matrix *A, int row, int column)
{
    int low = A->column[column], high = A->column[column + 1];
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (A->row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < A->column[column + 1] && A->row[low] == row ? A->value[low] : 0.0;
}

// Shifts only, each node with all three, and no direction coupled with another one: the mass is a scalar at each pair of nodes
static bool is_isotropic(const kd_fe_structure *s)
{
    const double small = 1e-9 * kd_sparse_largest(&s->M);
    for (int j = 0; j < s->n; j++) {
        const int *column = &s->first[6 * s->node[j]];
        if (s->direction[j] > 2 || column[0] < 0 || column[1] < 0 || column[2] < 0) return false;
        for (int k = s->M.column[j]; k < s->M.column[j + 1]; k++) {
            const int i = s->M.row[k];
            if (s->direction[i] == s->direction[j]) {
                if (fabs(entry_of(&s->M, s->first[6 * s->node[i]], column[0]) - s->M.value[k]) > small) return false;
            } else if (fabs(s->M.value[k]) > small) {
                return false;
            }
        }
    }
    return true;
}

// Mean over some rows: distance of neighbours times sqrt(k/m), about the speed of sound in the material
static double speed_of(const kd_fe_structure *s)
{
    double sum = 0;
    int    count = 0;
    for (int j = 0; j < s->n; j++) {
        const double k = entry_of(&s->K, j, j), m = entry_of(&s->M, j, j);
        if (s->direction[j] > 2 || !(k > 0) || !(m > 0)) continue;
        double nearest = INFINITY;
        for (int l = s->K.column[j]; l < s->K.column[j + 1]; l++) {
            const double distance = kd_vec_norm(kd_vec_sub(s->at[s->node[s->K.row[l]]], s->at[s->node[j]]));
            if (distance > 0 && distance < nearest) nearest = distance;
        }
        if (!isfinite(nearest)) continue;
        sum += log(nearest * sqrt(k / m));
        count++;
    }
    return count > 0 ? exp(sum / count) : 0;
}

// Mean over some nodes: mass over the cube of the mean distance of neighbours, less than the density by a factor of about 5
static double density_of(const kd_fe_structure *s)
{
    double sum = 0;
    int    count = 0;
    for (int j = 0; j < s->n; j++) {
        double m = 0, distance = 0;
        int    neighbours = 0;
        if (s->direction[j] != 0) continue;
        for (int l = s->M.column[j]; l < s->M.column[j + 1]; l++)
            if (s->direction[s->M.row[l]] == 0) m += s->M.value[l];
        for (int l = s->K.column[j]; l < s->K.column[j + 1]; l++) {
            const int i = s->K.row[l];
            if (s->direction[i] != 0 || i == j) continue;
            distance += kd_vec_norm(kd_vec_sub(s->at[s->node[i]], s->at[s->node[j]]));
            neighbours++;
        }
        if (!(distance > 0)) continue;
        // nodes of quadratic elements may have negative mass
        sum += m / pow(distance / neighbours, 3);
        count++;
    }
    return count > 0 ? sum / count : 0;
}

// Mass, centre and inertia from R' M R, R the rigid motions about the origin
static bool take_inertia(const kd_fe_structure *s, const double *R, const double *MR, kd_fe_structure_facts *f)
{
    const size_t n = (size_t)s->n;
    double       I[6][6] = {{0}};
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            for (size_t k = 0; k < n; k++) I[i][j] += R[k + n * i] * MR[k + n * j];
    f->mass = (I[0][0] + I[1][1] + I[2][2]) / 3;
    if (!(f->mass > 0)) return false;
    // int x: the momentum of turns, p = e x m c
    f->centre =
        kd_vec((I[1][5] - I[2][4]) / 2 / f->mass, (I[2][3] - I[0][5]) / 2 / f->mass, (I[0][4] - I[1][3]) / 2 / f->mass);
    f->inertia = (kd_sym3){I[3][3], I[4][4], I[5][5], I[3][4], I[3][5], I[4][5]};
    for (int i = 0; i < 3; i++)
        if (fabs(I[i][i] - f->mass) > 1e-6 * f->mass) return false;
    return true;
}

static kd_status refuse(const char *file, char *message, size_t size, const char *what)
{
    kd_text(message, size, "%s: %s", file ? file : "structure", what);
    return KD_ERR_MODEL;
}

// Symmetric, nothing below zero on the diagonal? what: "stiffness" or "mass"
static kd_status look_at_matrix(const kd_fe_structure *s, const kd_sparse_matrix *A, const char *file, const char *what,
                                double *asymmetry, kd_arena *arena, char *message, size_t size)
{
    static const char *const way[] = {"along x", "along y", "along z", "about x", "about y", "about z"};
    char                     words[200];
    int                      i = 0, j = 0;
    *asymmetry = asymmetry_of(A, arena, &i, &j);
    if (arena->failed) return KD_ERR_MEMORY;
    kd_text(words, sizeof words, "the %s matrix is zero", what);
    if (!(kd_sparse_largest(A) > 0)) return refuse(file, message, size, words);
    kd_text(
        words, sizeof words,
        "the %s matrix is not symmetric, most in row %d and column %d (node %d %s, node %d %s): is the file cut off?",
        what, i + 1, j + 1, s->id[s->node[i]], way[s->direction[i]], s->id[s->node[j]], way[s->direction[j]]);
    if (!(*asymmetry <= 1e-6)) return refuse(file, message, size, words);
    for (int k = 0; k < s->n; k++) {
        if (!(entry_of(A, k, k) < 0)) continue;
        kd_text(words, sizeof words, "the %s matrix has a negative entry on its diagonal: row %d (node %d %s)", what,
                k + 1, s->id[s->node[k]], way[s->direction[k]]);
        return refuse(file, message, size, words);
    }
    return KD_OK;
}

static kd_status look_at_matrices(const kd_fe_structure *s, kd_fe_structure_facts *f, kd_arena *arena, char *message,
                                  size_t size)
{
    double    of_K = 0, of_M = 0;
    kd_status status = look_at_matrix(s, &s->K, s->name, "stiffness", &of_K, arena, message, size);
    if (status == KD_OK) status = look_at_matrix(s, &s->M, s->mass_name, "mass", &of_M, arena, message, size);
    if (status < 0) return status;
    f->asymmetry = of_K > of_M ? of_K : of_M;
    f->lumped = is_lumped(&s->M);
    f->isotropic = is_isotropic(s);
    f->speed = speed_of(s);
    f->density = density_of(s);
    return KD_OK;
}

// The first node of a set without rows; -1: there is none
static int held_node(const kd_fe_structure *s)
{
    for (int k = 0; k < s->nsets; k++)
        for (int i = 0; i < s->set[k].n; i++) {
            const int *row = &s->first[6 * s->set[k].node[i]];
            if (row[0] < 0 && row[1] < 0 && row[2] < 0) return s->set[k].node[i];
        }
    return -1;
}

// Forces that rigid motions meet, in parts of the stiffest entry: of shifts and of turns, and the node of the largest
typedef struct met {
    double shift, turn;
    int    node;
} met;

static kd_status refuse_held(const kd_fe_structure *s, const met *m, char *message, size_t size)
{
    const int  held = held_node(s);
    const bool turns_only = !(m->shift > RIGID);
    char       words[400];
    kd_text(words, sizeof words, "%s meet forces (%.1e of the stiffest entry, most at node %d): ",
            turns_only ? "turns of the whole part" : "rigid motions", fmax(m->shift, m->turn), s->id[m->node]);
    if (held >= 0)
        kd_text_append(words, sizeof words,
                       "node %d has no rows; take *BOUNDARY, *RIGID BODY, *EQUATION and *TIE out of the deck for the "
                       "matrices (interfaces are rigid by themselves)",
                       s->id[held]);
    else if (turns_only)
        kd_text_append(
            words, sizeof words,
            "are nodes in another order or are their places wrong? (C3D8R of CalculiX resist turns where they "
            "are no bricks with right angles: take C3D8I or C3D20R)");
    else
        kd_text_append(words, sizeof words, "is it supported, are nodes in another order or in other units?");
    return refuse(s->name, message, size, words);
}

kd_status kd_fe_structure_check(const kd_fe_structure *s, kd_fe_structure_facts *f, char *message, size_t size)
{
    kd_arena arena = {0};
    double  *R = kd_cut_matrix(&arena, s->n, 6), *AR = kd_cut_matrix(&arena, s->n, 6);
    *f = (kd_fe_structure_facts){0};
    kd_status status = arena.failed ? KD_ERR_MEMORY : look_at_matrices(s, f, &arena, message, size);
    if (status == KD_OK) {
        kd_fe_structure_rigid_motions(s, kd_vec(0, 0, 0), R);
        kd_sparse_apply(&s->M, 6, R, AR);
        if (!take_inertia(s, R, AR, f))
            status = refuse(
                s->mass_name, message, size,
                "the mass is not positive, or differs between the directions: are rows missing or in another order?");
    }
    if (status == KD_OK) {
        // about the centre, and with turns that move the nodes by about 1: the sizes of shifts and turns are alike then
        kd_fe_structure_rigid_motions(s, f->centre, R);
        kd_sparse_apply(&s->K, 6, R, AR);
        const double stiffest = kd_sparse_largest(&s->K);
        met          m = {0};
        for (size_t c = 0; c < 6; c++) {
            double most = 0, moved = 0;
            int    where = 0;
            for (size_t i = 0; i < (size_t)s->n; i++) {
                if (fabs(AR[i + c * (size_t)s->n]) > most) where = s->node[i];
                most = fmax(most, fabs(AR[i + c * (size_t)s->n]));
                moved = fmax(moved, fabs(R[i + c * (size_t)s->n]));
            }
            const double force = moved > 0 ? most / moved / stiffest : 0;
            if (force > fmax(m.shift, m.turn)) m.node = where;
            if (c < 3) m.shift = fmax(m.shift, force);
            if (c >= 3) m.turn = fmax(m.turn, force);
        }
        f->rigid_force = fmax(m.shift, m.turn);
        if (!(f->rigid_force < RIGID)) status = refuse_held(s, &m, message, size);
    }
    if (status == KD_ERR_MEMORY) kd_text(message, size, "out of memory");
    kd_arena_release(&arena);
    return status;
}
