// tests/fuzz/fuzz_elements.c: any bytes as a file of a finite-element program; the first byte chooses which.
//
// Whatever is read: a refusal says the file and why; what is accepted is in order.
#include "fuzz/fuzz.h"

#include <math.h>
#include <string.h>

#include "flexible/fe_files.h"
#include "flexible/sid.h"
#include "flexible/stress.h"

static void try_matrix(kd_lines *text)
{
    kd_arena         arena = {0};
    kd_sparse_matrix A;
    if (kd_fe_parse_matrix(text, &arena, &A) == KD_OK) {
        demand(A.rows == A.columns && A.rows >= 1 && A.rows <= KD_FE_MOST_ROWS);
        for (int j = 0; j < A.columns; j++)
            for (int k = A.column[j]; k < A.column[j + 1]; k++) {
                demand(A.row[k] >= 0 && A.row[k] < A.rows);
                demand(k == A.column[j] || A.row[k] > A.row[k - 1]);
            }
    }
    kd_arena_release(&arena);
}

static void try_rows(kd_lines *text, bool mapping)
{
    kd_arena arena = {0};
    int     *id = NULL, *direction = NULL, n = 0;
    if (mapping) {
        if (kd_fe_parse_mapping(text, &arena, &id, &n) == KD_OK)
            for (int i = 0; i < n; i++) demand(id[i] >= 1);
    } else if (kd_fe_parse_dofs(text, &arena, &id, &direction, &n) == KD_OK) {
        for (int i = 0; i < n; i++) demand(id[i] >= 1 && direction[i] >= 0 && direction[i] < 6);
    }
    kd_arena_release(&arena);
}

static void try_nodes(kd_lines *text, bool deck)
{
    kd_fe_nodes     nodes = {0};
    const kd_status status = deck ? kd_fe_parse_deck(text, NULL, &nodes) : kd_fe_parse_node_table(text, &nodes);
    if (status == KD_OK) {
        demand(nodes.n > 0);
        for (int i = 0; i < nodes.n; i++)
            demand(nodes.id[i] >= 1 && isfinite(nodes.at[i].x + nodes.at[i].y + nodes.at[i].z));
    }
    kd_fe_nodes_release(&nodes);
}

static void try_sid(kd_lines *text)
{
    kd_flexible_body body;
    if (kd_sid_parse(text, &body) == KD_OK) demand(body.nq >= 1 && body.mass > 0);
    kd_flexible_body_release(&body);
}

// Results of a structure of two nodes
static void try_stress(kd_lines *text, bool frd)
{
    int             id[] = {1, 2}, node[] = {0, 0, 0, 1, 1, 1}, direction[] = {0, 1, 2, 0, 1, 2};
    int             first[] = {0, 1, 2, -1, -1, -1, 3, 4, 5, -1, -1, -1};
    kd_vec3         at[] = {{0, 0, 0}, {1, 0, 0}};
    kd_fe_structure s = {.nnodes = 2, .n = 6, .unit_length = 1, .unit_force = 1};
    s.id = id, s.node = node, s.direction = direction, s.first = first, s.at = at;
    const kd_status status = frd ? kd_stress_parse_frd(text, &s) : kd_stress_parse_table(text, &s);
    if (status == KD_OK) {
        demand(s.cases->n >= 1 && s.cases->nplaces >= 1 && s.cases->nplaces <= 2);
        for (int i = 0; i < 6 * s.cases->nplaces * s.cases->n; i++) demand(isfinite(s.cases->S[i]));
        for (int i = 0; i < 6 * s.cases->n; i++) demand(isfinite(s.cases->D[i]));
    }
    kd_arena_release(&s.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char message[400] = "";
    if (size == 0) return 0;
    char *copy = kd_alloc(size); // with a zero byte behind it, as a file has
    demand(copy);
    memcpy(copy, data + 1, size - 1);
    kd_lines text = {.path = "part", .at = copy, .end = copy + size - 1, .message = message, .size = sizeof message};
    switch (data[0] % 8) {
    case 0:
        try_matrix(&text);
        break;
    case 1:
        try_rows(&text, true);
        break;
    case 2:
        try_rows(&text, false);
        break;
    case 3:
        try_nodes(&text, true);
        break;
    case 4:
        try_nodes(&text, false);
        break;
    case 6:
        try_stress(&text, true);
        break;
    case 7:
        try_stress(&text, false);
        break;
    default:
        try_sid(&text);
    }
    demand(message[0] == '\0' || strncmp(message, "part", 4) == 0);
    kd_free(copy);
    return 0;
}
