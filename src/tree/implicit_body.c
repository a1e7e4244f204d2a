// implicit_body.c: Newton matrices along a tree of links. docs/methods/tree.md
//
// With S, Z, A, T of the dof j and the inertia, Coriolis forces and momentary force I, B, fc as in
// newton_euler_derivatives.c, K = gamma^2 M + gamma R_v + R_x has the entries
//
//     k above j:        S_k'(Ic_j a_j + Bc_j b_j + X_j)      a_j = gamma^2 S_j + gamma T_j + A_j,   b_j = gamma S_j + Z_j
//     k = j or below:   S_k'(Ic_k a_j + Bc_k b_j)            X_j = S_j x* fc_j
//
// So K d is the sum over the links below of I alpha + B beta with alpha_i = sum a_j d_j, beta_i = sum b_j d_j over the
// dofs between link i and the ground (of beta the turn counts only: nine numbers y = (alpha, beta_w)), and of X_j d_j
// over the dofs below. A link with all that hangs on it answers y with the force P y, P = [I B] at first. Its joint
// gives way by d = D^-1 (t - W y), W = S'P, D = S'P E, E = (a; b), and the parent gets P - U D^-1 W, U = P E + X.
// Right-hand sides: first the motion that is known, d = 0, then the same elimination.
#include "tree/implicit_body.h"

#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "tree/work.h"

enum { SIX = 6, WIDTH = 9, PAIRS = 3 };

typedef struct complex_number {
    double re, im;
} complex_number;

// what belongs to a place in v, about the common point of its tree
typedef struct dof_terms {
    double S[SIX], T[SIX], A[SIX], X[SIX], Z[3];
    int    carried; // first place in v of its joint that it carries along
} dof_terms;

// factors and vectors of one kind of numbers
#define FACTORS_OF(type)                                                                                               \
    struct {                                                                                                           \
        type  gamma, *P, *D, *e, *W, *U; /* (nlinks 54), .., (nv 9, 9, 6) */                                           \
        type *y, *force, *t;             /* (nlinks 9, 6), (nv) */                                                     \
        int  *pivot;                     /* (nv) */                                                                    \
    }

struct kd_implicit_body {
    kd_arena       arena;
    const kd_tree *tree;
    dof_terms     *dof;   // (nv)
    double        *G;     // (nlinks, 6 x 9) [I B] of the links alone
    double        *fc;    // (nlinks, 6) inertia force of a link and all that hangs on it
    int           *block; // (nlinks) start of its block in by_position, by_velocity, D
    double        *by_position, *by_velocity;
    FACTORS_OF(double) real;
    FACTORS_OF(complex_number) pair[PAIRS];
    int             now, npairs; // complex ones that calls are about; that have memory
    complex_number *rho, *r;     // (nv)
};

// ---- factors and solutions ------------------------------------------------------------------------------------------

#define KERNEL(name) real_##name
#define SCALAR double
#define FACTORS(name) self->real.name
#define OF(a) (a)
#define PLUS(a, b) ((a) + (b))
#define MINUS(a, b) ((a) - (b))
#define TIMES(a, b) ((a) * (b))
#define SCALED(s, a) ((s) * (a))
#define OVER(a, b) ((a) / (b))
#define SIZE(a) fabs(a)
#include "tree/implicit_kernels.h"
#undef KERNEL
#undef SCALAR
#undef FACTORS
#undef OF
#undef PLUS
#undef MINUS
#undef TIMES
#undef SCALED
#undef OVER
#undef SIZE

static inline complex_number plain(double a)
{
    return (complex_number){a, 0.0};
}
static inline complex_number plus(complex_number a, complex_number b)
{
    return (complex_number){a.re + b.re, a.im + b.im};
}
static inline complex_number minus(complex_number a, complex_number b)
{
    return (complex_number){a.re - b.re, a.im - b.im};
}
static inline complex_number times(complex_number a, complex_number b)
{
    return (complex_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline complex_number scaled(double s, complex_number a)
{
    return (complex_number){s * a.re, s * a.im};
}
static inline complex_number over(complex_number a, complex_number b)
{
    const double size = b.re * b.re + b.im * b.im;
    return (complex_number){(a.re * b.re + a.im * b.im) / size, (a.im * b.re - a.re * b.im) / size};
}

#define KERNEL(name) complex_##name
#define SCALAR complex_number
#define FACTORS(name) self->pair[self->now].name
#define OF(a) plain(a)
#define PLUS(a, b) plus(a, b)
#define MINUS(a, b) minus(a, b)
#define TIMES(a, b) times(a, b)
#define SCALED(s, a) scaled(s, a)
#define OVER(a, b) over(a, b)
#define SIZE(a) (fabs((a).re) + fabs((a).im))
#include "tree/implicit_kernels.h"

bool kd_implicit_body_factor(kd_implicit_body *self, double re, double im)
{
    return im == 0 ? real_factor(self, re) : complex_factor(self, (complex_number){re, im});
}

void kd_implicit_body_solve(kd_implicit_body *self, double *re, double *im)
{
    const int nv = self->tree->nv;
    if (!im) {
        real_solve(self, re, re + nv);
        return;
    }
    for (int j = 0; j < nv; j++) {
        self->rho[j] = (complex_number){re[j], im[j]};
        self->r[j] = (complex_number){re[nv + j], im[nv + j]};
    }
    complex_solve(self, self->rho, self->r);
    for (int j = 0; j < nv; j++) {
        re[j] = self->rho[j].re, im[j] = self->rho[j].im;
        re[nv + j] = self->r[j].re, im[nv + j] = self->r[j].im;
    }
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

typedef struct six_vector { // of a motion: turn, velocity; of a force: moment, force
    kd_vec3 w, u;
} six_vector;

static six_vector six_axpy(six_vector a, double s, six_vector b)
{
    return (six_vector){kd_vec_axpy(a.w, s, b.w), kd_vec_axpy(a.u, s, b.u)};
}
// motion x motion
static six_vector six_cross(six_vector a, six_vector b)
{
    return (six_vector){kd_vec_cross(a.w, b.w), kd_vec_add(kd_vec_cross(a.w, b.u), kd_vec_cross(a.u, b.w))};
}
// motion x* force
static six_vector six_cross_force(six_vector a, six_vector f)
{
    return (six_vector){kd_vec_add(kd_vec_cross(a.w, f.w), kd_vec_cross(a.u, f.u)), kd_vec_cross(a.w, f.u)};
}
static void six_to(six_vector a, double *out)
{
    kd_vec_to(a.w, out);
    kd_vec_to(a.u, out + 3);
}

// velocity and spatial acceleration of a link about the point at -r from its P
static six_vector velocity_about(const kd_link_motion *m, kd_vec3 r)
{
    return (six_vector){m->w, kd_vec_add(m->v, kd_vec_cross(r, m->w))};
}
static six_vector acceleration_about(const kd_link_motion *m, kd_vec3 r)
{
    return (six_vector){m->dw, kd_vec_add(kd_vec_sub(m->dv, kd_vec_cross(m->w, m->v)), kd_vec_cross(r, m->dw))};
}

// a 3 x 3 block of G, from its columns
static void put_block(double *G, int row, int column, kd_vec3 x, kd_vec3 y, kd_vec3 z)
{
    const kd_vec3 by[3] = {x, y, z};
    for (int c = 0; c < 3; c++) {
        G[row * WIDTH + column + c] = by[c].x;
        G[(row + 1) * WIDTH + column + c] = by[c].y;
        G[(row + 2) * WIDTH + column + c] = by[c].z;
    }
}

// G = [I B] and the inertia force of a link alone, about the point at -r from its P
static six_vector put_link(const kd_link *l, const kd_link_motion *m, kd_vec3 r, double *G)
{
    const kd_vec3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const double  mass = l->mass;
    const kd_sym3 J = kd_sym_rotate(&m->R, &l->inertia);
    const kd_vec3 h = kd_vec_scale(mass, kd_mat_vec(&m->R, l->centre)), h_O = kd_vec_axpy(h, mass, r);
    const kd_vec3 p = kd_vec_axpy(kd_vec_cross(m->w, h), mass, m->v);
    const double  half = 0.5 * (J.xx + J.yy + J.zz);
    kd_vec3       inertia[3], K[3], mass_of[3], L[3], N[3], F[3];
    double        trace = 0.0;
    for (int c = 0; c < 3; c++) {
        // I (e, 0) and I (0, e): moment and force
        const kd_vec3 e = unit[c], re = kd_vec_cross(r, e);
        const kd_vec3 turned = kd_vec_add(kd_vec_cross(r, kd_vec_cross(h, e)), kd_vec_cross(h, re));
        inertia[c] = kd_vec_sub(kd_sym_vec(&J, e), kd_vec_axpy(turned, mass, kd_vec_cross(r, re)));
        K[c] = kd_vec_cross(h_O, e);
        mass_of[c] = kd_vec_scale(mass, e);
        // L = v h' + w x (tr J / 2 - J) + p r'
        const double h_c = kd_vec_dot(h, e), r_c = kd_vec_dot(r, e);
        L[c] = kd_vec_cross(m->w, kd_vec_sub(kd_vec_scale(half, e), kd_sym_vec(&J, e)));
        L[c] = kd_vec_axpy(kd_vec_axpy(L[c], h_c, m->v), r_c, p);
        trace += kd_vec_dot(L[c], e);
    }
    // B e = (2 (tr L - L) e, 2 e x p)
    for (int c = 0; c < 3; c++) {
        N[c] = kd_vec_scale(2.0, kd_vec_sub(kd_vec_scale(trace, unit[c]), L[c]));
        F[c] = kd_vec_scale(2.0, kd_vec_cross(unit[c], p));
    }
    put_block(G, 0, 0, inertia[0], inertia[1], inertia[2]);
    put_block(G, 0, 3, K[0], K[1], K[2]);
    put_block(G, 3, 0, kd_vec_neg(K[0]), kd_vec_neg(K[1]), kd_vec_neg(K[2]));
    put_block(G, 3, 3, mass_of[0], mass_of[1], mass_of[2]);
    put_block(G, 0, 6, N[0], N[1], N[2]);
    put_block(G, 3, 6, F[0], F[1], F[2]);
    // force of the momentary motion
    const kd_vec3 wh = kd_vec_cross(m->w, h);
    const kd_vec3 force = kd_vec_axpy(kd_vec_add(kd_vec_cross(m->dw, h), kd_vec_cross(m->w, wh)), mass, m->dv);
    const kd_vec3 moment = kd_vec_add(kd_vec_add(kd_sym_vec(&J, m->dw), kd_vec_cross(m->w, kd_sym_vec(&J, m->w))),
                                      kd_vec_add(kd_vec_cross(h, m->dv), kd_vec_cross(r, force)));
    return (six_vector){moment, force};
}

// S, Z, A, T, X of the dofs of link i: dof by dof, each carried by those before it; a quaternion's by the link itself
static void put_dofs(kd_implicit_body *self, const kd_motion *m, int i, kd_vec3 O, six_vector fc, const double *dx,
                     const double *ddx)
{
    const kd_tree   *tree = self->tree;
    const kd_link   *l = &tree->link[i];
    const kd_vec3    r = kd_vec_sub(m->link[i].P, O), r_l = kd_vec_sub(m->link[l->parent].P, O);
    const six_vector own = velocity_about(&m->link[i], r);
    six_vector       v = velocity_about(&m->link[l->parent], r_l), a = acceleration_about(&m->link[l->parent], r_l);
    int              turn = tree->link_v[i + 1];
    // a quaternion's dofs turn together, the link's own rate carries them all
    for (int k = l->form.ndof - 1; k >= l->form.nscalars; k--) turn -= tree->dof_v[l->dof + k] >= 0;
    // motion S, its rate Z = v x S and what positions and velocities change of acceleration and force
    for (int k = 0; k < l->form.ndof; k++) {
        const int        dof = l->dof + k, place = tree->dof_v[dof];
        const kd_axis   *axis = &m->axis[dof];
        const six_vector S = {axis->w, kd_vec_add(axis->u, kd_vec_cross(r, axis->w))}, Z = six_cross(v, S);
        const bool       quaternion = k >= l->form.nscalars;
        if (place >= 0) {
            dof_terms *d = &self->dof[place];
            six_to(S, d->S);
            kd_vec_to(Z.w, d->Z);
            six_to(six_axpy(six_cross(a, S), 1.0, six_cross(v, Z)), d->A);
            six_to(six_axpy(Z, 1.0, quaternion ? six_cross(own, S) : Z), d->T);
            six_to(six_cross_force(S, fc), d->X);
            d->carried = quaternion ? turn : place;
        }
        if (quaternion) continue;
        // the next dof is carried by this one
        v = six_axpy(v, dx[dof], S);
        a = six_axpy(six_axpy(a, ddx[dof], S), dx[dof], Z);
    }
}

void kd_implicit_body_set(kd_implicit_body *self, const kd_motion *m, const double *dx, const double *ddx)
{
    const kd_tree *tree = self->tree;
    memset(self->fc, 0, (size_t)(tree->nlinks * SIX) * sizeof *self->fc);
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link *l = &tree->link[i];
        const kd_vec3  O = m->link[m->work->root[i]].P;
        double        *fc = self->fc + (ptrdiff_t)i * SIX, *up = self->fc + (ptrdiff_t)l->parent * SIX;
        double         own[SIX];
        six_to(put_link(l, &m->link[i], kd_vec_sub(m->link[i].P, O), self->G + (ptrdiff_t)i * SIX * WIDTH), own);
        for (int k = 0; k < SIX; k++) fc[k] += own[k];
        put_dofs(self, m, i, O, (six_vector){kd_vec_of(fc), kd_vec_of(fc + 3)}, dx, ddx);
        for (int k = 0; k < SIX && l->parent > 0; k++) up[k] += fc[k];
    }
    memset(self->by_position, 0, (size_t)self->block[tree->nlinks] * sizeof(double));
    memset(self->by_velocity, 0, (size_t)self->block[tree->nlinks] * sizeof(double));
}

double *kd_implicit_body_by_position(kd_implicit_body *self)
{
    return self->by_position;
}

double *kd_implicit_body_by_velocity(kd_implicit_body *self)
{
    return self->by_velocity;
}

int kd_implicit_body_block(const kd_implicit_body *self, int link)
{
    return self->block[link];
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

bool kd_implicit_body_fits(const kd_tree *tree)
{
    for (int i = 1; i < tree->nlinks; i++)
        if (tree->link[i].form.folds || tree->link[i].form.curved) return false;
    return true;
}

// room for count structs of numbers
#define CUT(count, array) (array) = kd_arena_cut(arena, (size_t)(count), sizeof *(array))

#define CUT_FACTORS(f)                                                                                                 \
    CUT(links *SIX *WIDTH, (f).P);                                                                                     \
    CUT(self->block[links], (f).D);                                                                                    \
    CUT(nv *WIDTH, (f).e);                                                                                             \
    CUT(nv *WIDTH, (f).W);                                                                                             \
    CUT(nv *SIX, (f).U);                                                                                               \
    CUT(links *WIDTH, (f).y);                                                                                          \
    CUT(links *SIX, (f).force);                                                                                        \
    CUT(nv, (f).t);                                                                                                    \
    CUT(nv, (f).pivot)

bool kd_implicit_body_pair(kd_implicit_body *self, int k)
{
    const int links = self->tree->nlinks, nv = self->tree->nv;
    kd_arena *arena = &self->arena;
    for (; self->npairs <= k; self->npairs++) {
        CUT_FACTORS(self->pair[self->npairs]);
        if (arena->failed) return false;
    }
    self->now = k;
    return true;
}

kd_implicit_body *kd_implicit_body_create(const kd_tree *tree)
{
    kd_implicit_body *self = kd_alloc(sizeof *self);
    const int         links = tree->nlinks, nv = tree->nv;
    if (!self) return NULL;
    kd_arena *arena = &self->arena;
    self->tree = tree;
    self->block = kd_cut_int(arena, links + 1);
    // blocks of the links' own dofs, one behind the other
    for (int i = 0; self->block && i < links; i++) {
        const int m = i > 0 ? tree->link_v[i + 1] - tree->link_v[i] : 0;
        self->block[i + 1] = self->block[i] + m * m;
    }
    if (self->block) {
        CUT(nv, self->dof);
        CUT(links * SIX * WIDTH, self->G);
        CUT(links * SIX, self->fc);
        CUT(self->block[links], self->by_position);
        CUT(self->block[links], self->by_velocity);
        CUT(nv, self->rho);
        CUT(nv, self->r);
        CUT_FACTORS(self->real);
        (void)kd_implicit_body_pair(self, 0); // arena->failed tells
    }
    if (!arena->failed) return self;
    kd_implicit_body_destroy(self);
    return NULL;
}

void kd_implicit_body_destroy(kd_implicit_body *self)
{
    if (!self) return;
    kd_arena_release(&self->arena);
    kd_free(self);
}

// ---- saved matrices -------------------------------------------------------------------------------------------------

// What one kind of numbers has: its factors; numbers: of one number
#define ARCHIVE_FACTORS(f)                                                                                             \
    do {                                                                                                               \
        const size_t size = sizeof(f).gamma / sizeof(double);                                                          \
        kd_archive_doubles(a, (double *)&(f).gamma, size);                                                             \
        kd_archive_doubles(a, (double *)(f).P, size *links *SIX *WIDTH);                                               \
        kd_archive_doubles(a, (double *)(f).D, size *(size_t)self->block[links]);                                      \
        kd_archive_doubles(a, (double *)(f).e, size *nv *WIDTH);                                                       \
        kd_archive_doubles(a, (double *)(f).W, size *nv *WIDTH);                                                       \
        kd_archive_doubles(a, (double *)(f).U, size *nv *SIX);                                                         \
        archive_pivots(a, self, (f).pivot);                                                                            \
    } while (0)

static void archive_pivots(kd_archive *a, const kd_implicit_body *self, int *pivot)
{
    const int *first = self->tree->link_v;
    for (int i = 1; i < self->tree->nlinks; i++)
        kd_archive_ints(a, pivot + first[i], (size_t)(first[i + 1] - first[i]), 0, first[i + 1] - first[i] - 1);
}

void kd_implicit_body_archive(kd_implicit_body *self, kd_archive *a)
{
    const size_t links = (size_t)self->tree->nlinks, nv = (size_t)self->tree->nv, blocks = (size_t)self->block[links];
    // terms of dofs and links, then the factors that were made of them
    for (size_t j = 0; j < nv; j++) {
        dof_terms *d = &self->dof[j];
        double    *part[] = {d->S, d->T, d->A, d->X};
        for (size_t k = 0; k < sizeof part / sizeof *part; k++) kd_archive_doubles(a, part[k], SIX);
        kd_archive_doubles(a, d->Z, sizeof d->Z / sizeof *d->Z);
        kd_archive_int(a, &d->carried, 0, (int)nv);
    }
    kd_archive_doubles(a, self->G, links * SIX * WIDTH);
    kd_archive_doubles(a, self->fc, links * SIX);
    kd_archive_doubles(a, self->by_position, blocks);
    kd_archive_doubles(a, self->by_velocity, blocks);
    ARCHIVE_FACTORS(self->real);
    kd_archive_same(a, self->npairs, "number of complex matrices");
    for (int k = 0; k < self->npairs && kd_archive_good(a); k++) ARCHIVE_FACTORS(self->pair[k]);
}
