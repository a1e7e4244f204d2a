// redundancy_search.h: the search for redundant constraints: a mechanism in clusters, moved on its constraints.
// Method: docs/methods/redundancy.md
#ifndef KARDAN_SYSTEM_REDUNDANCY_SEARCH_H
#define KARDAN_SYSTEM_REDUNDANCY_SEARCH_H

#include <kardan/eom.h>
#include <stdint.h>
#include <string.h>

#include "core/memory.h"

#define KD_SAMPLES 4         // positions for the rank
#define KD_SMALLEST_MOVE 0.1 // of natural units: about the angle [rad] by which the rows turn
#define KD_LARGEST_MOVE 0.3
#define KD_ATTEMPTS 7 // moves tried: other directions, and shorter ones

typedef struct kd_sparse_rows kd_sparse_rows;

// Rows and coordinates that depend on each other: a connected component of the pattern of GZ
typedef struct kd_cluster {
    int             m, n;         // rows, coordinates
    int            *row, *column; // (m), (n)
    double         *v, *last;     // (n) direction of the move and of the one before, in natural units
    double         *moved;        // (n) increments since the base position
    kd_sparse_rows *sparse;       // of a large cluster; NULL: full matrices
    double         *B;            // (m x n) scaled matrices at the start and at the samples, one after the other
    int             rank_at[KD_SAMPLES + 1]; // their ranks; -1: the cluster was not moved to that sample
    bool           *dependent_at; // (m) rows that sparse elimination leaves out there, one position after the other
    double          quality_at[KD_SAMPLES + 1];  // of the others
    double          smallest_at[KD_SAMPLES + 1]; // their last singular values that count
    int             rank;
    int             clearest;     // position with this rank, and the largest smallest singular value
    double          reach;        // part of the length of moves
    double          length;       // of the move
    double          error, first; // |R g| now and before the first iteration
    bool            idle;         // is not moved
    bool            done, failed; // projection
    bool            tested;       // its dropped rows were watched in a motion
} kd_cluster;

typedef struct kd_reach { // columns between which it is not zero
    int first, end;
} kd_reach;

typedef struct kd_row_search {
    const kd_eom    *eom;
    kd_eom_data     *data;
    kd_arena         arena;
    kd_dims          n;
    const kd_inputs *inputs;
    const kd_state  *start;
    double           t;
    double          *u;                     // (3 nu) u, u', u''
    double          *p0, *p, *base, *p1;    // (np) start; now; where a move begins; last position with all rows
    double          *s0, *s, *base_s, *s1;  // (ns)
    double          *c, *c_s;               // (ns), (ns x ns)
    int             *pivot;                 // (ns)
    double          *e;                     // (nv) increment
    const int       *column, *row;          // pattern of the matrices (nlambda x nv): that of the equations, or full
    bool             sparse;                // that of the equations
    double          *g, *GZ, *GZ0;          // (nlambda), values of the pattern at p; GZ at the start
    double          *GZ_at[KD_SAMPLES + 1]; // and at the start and the samples, where a cluster is sparse
    int              large;                 // coordinates from which on a cluster is sparse
    double          *W;                     // largest |GZ| so far without rounding: where it really is not zero
    double          *R, *D;                 // (nlambda), (nv) scales: R GZ D has rows of length 1; D is a natural unit
    double          *S;                     // change of |GZ| by a move of D
    double          *rho, *room;            // (nlambda), (nv) of adjust_units
    double          *rounding, *violation;  // (nlambda) of R g
    int             *parent;                // (nlambda + nv) forest over rows and columns
    int             *member, *order;        // rows and columns of all clusters; (nlambda) rows
    int             *home, *local;          // (nlambda) cluster of a row, its number there
    int             *used_at; // (nlambda) number of a row among the used ones of its cluster; -1: not used
    int              nclusters;
    kd_cluster      *cluster;
    const bool      *use;          // (nlambda) rows that hold; NULL: all
    double          *J, *A, *N;    // matrices of the largest cluster: (m x n) twice, (m x min(m,n))
    double          *y, *x, *work; // (m), (n), of kd_svd
    kd_reach        *extent;       // (m)
    int             *place;        // (n)
    uint64_t         seed;
    bool             stopped; // a function asked to stop
} kd_row_search;

static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

static inline int max_int(int a, int b)
{
    return a > b ? a : b;
}

static inline void copy(int n, const double *from, double *to)
{
    memcpy(to, from, (size_t)n * sizeof(double));
}

// False unless the answer is OK; remembers STOP.
bool kd_search_answered(kd_row_search *f, kd_eval answer);
// g and GZ at (p, s); contact coordinates s follow p
bool kd_search_evaluate(kd_row_search *f);
void kd_search_go_to(kd_row_search *f, const double *p, const double *s);

// D, R and the pattern W from the start position (g, GZ are there) and random positions around it, off the constraints
void kd_search_find_scales(kd_row_search *f);
// Clusters from the pattern, in the order of their first rows. A column without rows belongs to none.
void kd_search_find_clusters(kd_row_search *f);
// The parts of their units to which rows are evaluated.
void kd_search_find_rounding(kd_row_search *f);
// R GZ D of cluster number k with these numbers of GZ, all its rows: out (m x n)
void kd_search_matrix(const kd_row_search *f, int k, const double *GZ, double *out);

// Moves begin at p and use these rows (NULL: all).
void kd_search_restart(kd_row_search *f, const double *p, const double *contact, const bool *use);
// The next position: random moves of all clusters from base along the used rows, back to g = 0; none where that always
// fails. p, g, GZ are there, base too. False: nothing moves.
bool kd_search_next_position(kd_row_search *f);
// From p back to g = 0, every cluster for itself. Ends with done or failed for those that are not idle, and with g and
// GZ at p.
void kd_search_project(kd_row_search *f);

// ---- large clusters (redundancy_sparse.c) ---------------------------------------------------------------------------
// KD_OK or KD_ERR_MEMORY; *out is destroyed in either case.
kd_status kd_sparse_rows_create(const kd_row_search *f, const kd_cluster *c, kd_sparse_rows **out) KD_NODISCARD;
void      kd_sparse_rows_destroy(kd_sparse_rows *s); // NULL is fine
// J = R GZ D of the used rows at p, the others zero: x (n) = J' (JJ' + nu)^-1 b (m), y (m) = J x
void kd_sparse_rows_factor(const kd_row_search *f, const kd_cluster *c, double nu);
void kd_sparse_rows_solve(const kd_cluster *c, const double *b, double *x);
void kd_sparse_rows_multiply(const kd_cluster *c, const double *x, double *y);
// Rows in an order (m; NULL: as they are), each either independent of those before or not; false: that is not clear
bool kd_sparse_rows_eliminate(const kd_row_search *f, const kd_cluster *c, const double *GZ, const int *order);
int  kd_sparse_rows_rank(const kd_cluster *c);
bool kd_sparse_rows_depends(const kd_cluster *c, int i);
double
kd_sparse_rows_least(const kd_cluster *c); // singular value of the independent rows; 0: not far above the tolerance
// The k-th row in the order, if it depends on others, as a sum of these: rows and coefficients (m). Their number
int kd_sparse_rows_dependency(const kd_cluster *c, int k, int *row, double *x);

#endif
