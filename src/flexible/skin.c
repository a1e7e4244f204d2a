// skin.c: the surface of finite elements, for pictures: faces of solids that no other element has, and shells.
//
// Elements by their corners, as CalculiX and Abaqus count them (middle nodes follow the corners):
//     C3D4 C3D10 tetrahedra, C3D6 C3D15 wedges, C3D8 C3D20 hexahedra, S3 S6 S4 S8 shells, B31 B32 T3D2 T3D3 lines are left out
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "flexible/fe_files.h"

typedef struct form {
    int nodes, nfaces;
    int face[6][4]; // corners from 1 on, counterclockwise from outside; 0: a triangle
} form;

static const form TETRAHEDRON = {4, 4, {{1, 3, 2, 0}, {1, 2, 4, 0}, {2, 3, 4, 0}, {3, 1, 4, 0}}},
                  WEDGE = {6, 5, {{1, 3, 2, 0}, {4, 5, 6, 0}, {1, 2, 5, 4}, {2, 3, 6, 5}, {3, 1, 4, 6}}},
                  HEXAHEDRON = {8,
                                6,
                                {{1, 4, 3, 2}, {5, 6, 7, 8}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 4, 8, 7}, {4, 1, 5, 8}}},
                  TRIANGLE = {3, 1, {{1, 2, 3, 0}}}, QUADRANGLE = {4, 1, {{1, 2, 3, 4}}};

static const struct kind {
    const char *word; // beginning of the type: C3D8R is a C3D8
    int         nodes;
    const form *form;
} KINDS[] = {
    {"C3D10", 10, &TETRAHEDRON}, {"C3D15", 15, &WEDGE},    {"C3D20", 20, &HEXAHEDRON}, {"C3D4", 4, &TETRAHEDRON},
    {"C3D6", 6, &WEDGE},         {"C3D8", 8, &HEXAHEDRON}, {"S3", 3, &TRIANGLE},       {"S6", 6, &TRIANGLE},
    {"S4", 4, &QUADRANGLE},      {"S8", 8, &QUADRANGLE},
};

int kd_fe_element_nodes(const char *type)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strncasecmp(type, KINDS[i].word, strlen(KINDS[i].word)) == 0) return KINDS[i].nodes;
    return 0;
}

kd_status kd_fe_add_element(kd_lines *text, kd_fe_nodes *nodes, const char *type, const int *id)
{
    const struct kind *kind = KINDS;
    while (strncasecmp(type, kind->word, strlen(kind->word)) != 0) kind++;
    const form *f = kind->form;
    // CalculiX gives bricks with incompatible modes three nodes of their own
    if (strcasecmp(type, "C3D8I") == 0 && nodes->ninner < KD_FE_MOST_ROWS) nodes->ninner += 3;
    if (nodes->nfaces + f->nfaces > KD_FE_MOST_ENTRIES) return kd_lines_refuse(text, "too many elements", "");
    if (nodes->nfaces + f->nfaces > nodes->faces_room) {
        nodes->faces_room = 2 * nodes->faces_room + 64;
        nodes->face = kd_fe_grow(nodes->face, (size_t)nodes->nfaces, (size_t)nodes->faces_room, sizeof *nodes->face);
        if (!nodes->face) {
            nodes->nfaces = 0;
            return KD_ERR_MEMORY;
        }
    }
    for (int i = 0; i < f->nfaces; i++) {
        struct kd_fe_face *face = &nodes->face[nodes->nfaces++];
        face->shell = f->nfaces == 1;
        for (int k = 0; k < 4; k++) face->id[k] = f->face[i][k] > 0 ? id[f->face[i][k] - 1] : 0;
    }
    return KD_OK;
}

// ---- faces that nobody shares ---------------------------------------------------------------------------------------

typedef struct side {
    int key[4]; // corners, rising
    int face;
} side;

static int by_key(const void *a, const void *b)
{
    const side *p = a, *q = b;
    for (int i = 0; i < 4; i++)
        if (p->key[i] != q->key[i]) return p->key[i] < q->key[i] ? -1 : 1;
    return p->face - q->face;
}

static side side_of(const struct kd_fe_face *face, int number)
{
    side s = {.face = number};
    for (int n = 0; n < 4; n++) {
        int i = n;
        for (; i > 0 && s.key[i - 1] > face->id[n]; i--) s.key[i] = s.key[i - 1];
        s.key[i] = face->id[n];
    }
    return s;
}

// Corners as places in the list of nodes; false: one is not there
static bool places_of(const kd_fe_structure *s, const struct kd_fe_face *face, int place[4])
{
    for (int k = 0; k < 4; k++) {
        place[k] = face->id[k] > 0 ? kd_fe_structure_find(s, face->id[k]) : -1;
        if (face->id[k] > 0 && place[k] < 0) return false;
    }
    return true;
}

kd_status kd_fe_skin(const kd_fe_nodes *nodes, kd_fe_structure *s)
{
    const int n = nodes->nfaces;
    if (n == 0) return KD_OK;
    side *sides = kd_alloc((size_t)n * sizeof *sides);
    int  *triangle = kd_arena_cut(&s->arena, 6 * (size_t)n, sizeof *triangle), count = 0;
    for (int i = 0; sides && i < n; i++) sides[i] = side_of(&nodes->face[i], i);
    if (sides) qsort(sides, (size_t)n, sizeof *sides, by_key);
    for (int i = 0; sides && triangle && i < n; i++) {
        const struct kd_fe_face *face = &nodes->face[sides[i].face];
        const bool               shared = (i > 0 && memcmp(sides[i].key, sides[i - 1].key, sizeof sides[i].key) == 0) ||
                            (i + 1 < n && memcmp(sides[i].key, sides[i + 1].key, sizeof sides[i].key) == 0);
        int place[4];
        if ((shared && !face->shell) || !places_of(s, face, place)) continue;
        // two triangles of four corners
        for (int half = 0; half < (place[3] < 0 ? 1 : 2); half++) {
            const int corner[3] = {place[0], place[1 + half], place[2 + half]};
            memcpy(triangle + 3 * (size_t)count++, corner, sizeof corner);
        }
    }
    const kd_status status = sides && triangle ? KD_OK : KD_ERR_MEMORY;
    s->triangle = triangle;
    s->ntriangles = count;
    kd_free(sides);
    return status;
}
