// flexible/structure.h: a linear elastic structure of finite elements: nodes, mass and stiffness matrix.
//
//     M u'' + K u = f,   u: displacements (directions 0, 1, 2) and small rotations (3, 4, 5) of nodes
//
// Free in space: K R = 0 for the six rigid motions R. Method: docs/methods/flexible.md
#ifndef KD_FLEXIBLE_STRUCTURE_H
#define KD_FLEXIBLE_STRUCTURE_H

#include "math/space.h"
#include "math/sparse_matrix.h"

typedef struct kd_node_set {
    const char *name;
    int         n;
    int        *node; // places in the list of nodes
} kd_node_set;

// A beam element, for the stiffness that an axial force gives it
typedef struct kd_beam_element {
    int     node[2];
    double  length, EA;
    kd_mat3 axes;               // of the section, as columns; x along the beam
    int     station, nstations; // its stations, side by side
} kd_beam_element;

enum { KD_FE_PRELOADS = 24 };

// Stiffness that a load adds, from a second matrix of the program that had it: for unit angular velocity about an axis, or a unit force at
// an interface along an axis
typedef struct kd_fe_preload {
    const char      *interface; // NULL: rotation
    int              axis;
    bool            *held; // (n) rows that were held when it was computed
    kd_sparse_matrix K;
} kd_fe_preload;

typedef struct kd_fe_structure {
    const char  *name, *mass_name; // for messages: the files of stiffness and mass; NULL: not known
    int          nnodes;
    int         *id; // numbers of the finite-element program, rising
    kd_vec3     *at;
    int          ninner;    // the last nodes, which are inside of elements (inner.c)
    int          n;         // rows of the matrices
    int         *node;      // (n) place of the node in the list
    int         *direction; // (n) 0 ... 5
    int         *first;     // (6 nnodes) row of node i, direction d at 6 i + d; -1: it has none
    int          nsets;
    kd_node_set *set;
    int          ntriangles;
    int         *triangle; // (3 ntriangles) its surface, for pictures
    // both triangles are stored
    kd_sparse_matrix K, M;
    kd_sparse_matrix inner; // displacements of the files by those of here; where ninner > 0
    // Where the mass is, for moments of shapes: stations with places x, masses between them, displacements lift u. No
    // stations: the nodes are it.
    int              nstations;
    kd_vec3         *station;
    kd_sparse_matrix station_mass, lift; // (nstations^2), (3 nstations x n)
    // beams of which it was made; none: finite elements of another program
    int                 nelements, nrows;
    kd_beam_element    *element;
    struct kd_beam_row *row; // (nrows) beams.h
    // stress of the modes is wanted (stress.h): of beams, or by cases of another program
    bool                    stress;
    struct kd_stress_cases *cases; // NULL: none
    // stiffness that loads add
    int           npreloads;
    kd_fe_preload preload[KD_FE_PRELOADS];
    // of its files: a length in m, a force in N
    double   unit_length, unit_force;
    kd_arena arena;
} kd_fe_structure;

void kd_fe_structure_release(kd_fe_structure *s);
int  kd_fe_structure_find(const kd_fe_structure *s, int id); // place of a node; -1: there is none
// A node that no stiffness connects with the first one; -1: the structure is in one piece, or memory is short
int kd_fe_structure_apart(const kd_fe_structure *s);
// NULL: there is none
const kd_node_set *kd_fe_structure_set(const kd_fe_structure *s, const char *name);

// Nodes inside of elements (inner.c), which no program but its own knows
static inline bool kd_fe_is_inner(const kd_fe_structure *s, int node)
{
    return node >= s->nnodes - s->ninner;
}
// Forces of inner nodes as the other nodes of their elements have them: those that decks may name
void kd_fe_share_inner(const kd_fe_structure *s, double *f);

// ---- files ----------------------------------------------------------------------------------------------------------

// What a finite-element program wrote. NULL: not there.
typedef struct kd_fe_structure_files {
    const char *stiffness, *mass; // coordinates (CalculiX .sti .mas, Abaqus .mtx) or Matrix Market; also with gzip
    const char *nodes;            // input deck (.inp) with node sets, or a table "node x y z"
    const char *dofs;             // CalculiX .dof: "node.direction" of each row
    const char *mapping;          // ANSYS: the node of each three rows
    double      scale;            // of lengths in the table of nodes; 0: 1
    // units of nodes and matrices in m and kg (time in s); 0: 1
    double length, mass_unit;
} kd_fe_structure_files;

// KD_OK; KD_ERR_FILE: message says file, line and reason; KD_ERR_MEMORY. Without dofs and mapping the rows are those of the
// nodes in the order of their numbers, three each.
kd_status kd_fe_structure_read(const kd_fe_structure_files *files, kd_fe_structure *s, char *message,
                               size_t size) KD_NODISCARD;

// The stiffness matrix of the same structure, held somewhere, under rotation about an axis of its coordinates (0, 1, 2) by omega rad/s:
// what it has more than at rest. Programs put the softening -omega^2 M of the directions across the axis into it (softened), which is
// taken out: the floating frame has it. dofs: of the rows of that matrix; those that are missing were held.
kd_status kd_fe_structure_spin(kd_fe_structure *s, const char *stiffness, const char *dofs, int axis, double omega,
                               bool softened, char *message, size_t size) KD_NODISCARD;
// The same under a force at an interface along an axis
kd_status kd_fe_structure_pull(kd_fe_structure *s, const char *stiffness, const char *dofs, const char *interface,
                               int axis, double force, char *message, size_t size) KD_NODISCARD;

// ---- what it is -----------------------------------------------------------------------------------------------------

typedef struct kd_fe_structure_facts {
    double  mass;
    kd_vec3 centre;
    kd_sym3 inertia;     // about the origin
    double  asymmetry;   // largest |M - M'|, |K - K'| over the largest entry
    double  rigid_force; // largest entry of K R over the largest entry of K
    bool    lumped;      // diagonal mass matrix
    bool    isotropic;   // the mass is the same in all directions and couples none: moments of modes can be taken
    double  speed;       // of sound, estimated from neighbours: wrong units show here
    double  density;     // the same
} kd_fe_structure_facts;

// KD_OK; KD_ERR_MODEL: this is no free structure, message says why; KD_ERR_MEMORY
kd_status kd_fe_structure_check(const kd_fe_structure *s, kd_fe_structure_facts *facts, char *message,
                                size_t size) KD_NODISCARD;
// The six rigid motions about a point, (n x 6): three shifts, three turns
void kd_fe_structure_rigid_motions(const kd_fe_structure *s, kd_vec3 about, double *R);

// ---- modes ----------------------------------------------------------------------------------------------------------

// The lowest count natural frequencies of K - omega^2 M, in rad/s; Phi (n x count): shapes, Phi' M Phi = 1. rigid (n x nrigid)
// or NULL: motions without stiffness, which are left out. KD_ERR_MODEL: there are more motions without stiffness than
// these; KD_ERR_UNAVAILABLE: built without ARPACK; KD_ERR_DECOMPOSITION: no convergence. message says why.
kd_status kd_natural_modes(const kd_sparse_matrix *K, const kd_sparse_matrix *M, const double *rigid, int nrigid,
                           int count, double *omega, double *Phi, char *message, size_t size) KD_NODISCARD;

#endif
