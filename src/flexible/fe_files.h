// flexible/fe_files.h: the files of finite-element programs, one reader each. Everything is untrusted: sizes are bounded, every
// refusal names file and line.
#ifndef KD_FLEXIBLE_FE_FILES_H
#define KD_FLEXIBLE_FE_FILES_H

#include "core/lines.h"
#include "flexible/structure.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { KD_FE_MOST_ROWS = 3000, KD_FE_MOST_ENTRIES = 100000, KD_FE_MOST_SETS = 100 };
#else
enum { KD_FE_MOST_ROWS = 3000000, KD_FE_MOST_ENTRIES = 400000000, KD_FE_MOST_SETS = 10000 };
#endif

// A text file in memory, unpacked where it is packed by gzip; bytes for kd_free
kd_status kd_fe_load(const char *path, char **bytes, size_t *length, char *message, size_t size) KD_NODISCARD;

// A longer list in place of one of n items; NULL: memory is short, and the old one is gone, too
void *kd_fe_grow(void *old, size_t n, size_t room, size_t size);

// A square matrix "row column value" by line, from 1 on, with or without the head of Matrix Market. One triangle is mirrored;
// where both are there they stay as they are.
kd_status kd_fe_parse_matrix(kd_lines *text, kd_arena *arena, kd_sparse_matrix *A) KD_NODISCARD;
// Whole numbers, one a line, with or without the head of Matrix Market (array): the node of each three rows
kd_status kd_fe_parse_mapping(kd_lines *text, kd_arena *arena, int **value, int *n) KD_NODISCARD;
// "12.3" a line: node 12, direction 3
kd_status kd_fe_parse_dofs(kd_lines *text, kd_arena *arena, int **id, int **direction, int *n) KD_NODISCARD;

// Nodes and node sets while they are read
typedef struct kd_fe_nodes {
    int      n, room;
    int     *id;
    kd_vec3 *at;
    struct kd_fe_set {
        char name[80];
        int  n, room;
        int *id; // below zero: of a range, the node -id if there is one
    } * set;
    int nsets, sets_room;
    // faces of elements
    struct kd_fe_face {
        int  id[4]; // nodes; the last one 0: a triangle
        bool shell; // seen from both sides
    } * face;
    int nfaces, faces_room;
    int ninner; // nodes that programs put inside of elements, at most
} kd_fe_nodes;
void kd_fe_nodes_release(kd_fe_nodes *nodes);
// A matrix of the files of s, rows as its own, in units of the SI
void kd_fe_structure_scale(const kd_fe_structure *s, kd_sparse_matrix *A);
// Nodes inside of elements (inner.c): those among the n numbers of rows that the list of s does not have, at most as many as
// `most`, become its last nodes; then, with named rows and matrices, they get their places, and the matrices their displacements
kd_status kd_fe_add_inner(kd_fe_structure *s, const int *id, int n, int most) KD_NODISCARD;
kd_status kd_fe_place_inner(kd_fe_structure *s) KD_NODISCARD;
// a further matrix of the files, rows as those of s
kd_status kd_fe_turn_inner(const kd_fe_structure *s, kd_arena *arena, kd_sparse_matrix *A) KD_NODISCARD;
// The surface of elements (skin.c): how many nodes an element of a type has, 0: it has no faces; its faces; triangles of the structure
int       kd_fe_element_nodes(const char *type);
kd_status kd_fe_add_element(kd_lines *text, kd_fe_nodes *nodes, const char *type, const int *id) KD_NODISCARD;
kd_status kd_fe_skin(const kd_fe_nodes *nodes, kd_fe_structure *s) KD_NODISCARD;
// Blocks *NODE, *NSET, *ELEMENT (for pictures), *INCLUDE of an input deck of CalculiX or Abaqus. folder: of the files that are included; NULL: none
// are. Other blocks are passed over.
kd_status kd_fe_parse_deck(kd_lines *text, const char *folder, kd_fe_nodes *nodes) KD_NODISCARD;
// Lines "node x y z" with a heading or without; columns by comma, semicolon, blank, or by tab (then also with decimal commas)
kd_status kd_fe_parse_node_table(kd_lines *text, kd_fe_nodes *nodes) KD_NODISCARD;

#endif
