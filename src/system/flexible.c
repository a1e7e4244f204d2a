// flexible.c: flexible bodies of a model as links that deform, and their markers.
//
// The moments of a file (flexible/body.h) become those of tree/wide.h. Geometric stiffness is that of points that move along
// with the deformation to second order, c = x + sum phi_k q_k + 1/2 sum psi_kl q_k q_l: then
//     K0t_kl = int psi_kl,   K0r_kl = int x x psi_kl,   K0w_kl: w' P w - w w tr P with P_kl = int x psi_kl'
// for accelerations, angular accelerations and products of angular velocities; at a node psi_kl itself is -K0F. So C_l and D_l get the
// slopes K0t and P, shifts of markers the slopes -K0F, all equations keep the form of Lagrange's, and the mass matrix stays
// symmetric. docs/methods/wide_link.md
#include <math.h>
#include <string.h>

#include "flexible/body.h"
#include "system/system.h"

// ---- moments --------------------------------------------------------------------------------------------------------

// int x x phi of int x phi'
static void axial(const double *a, double *out)
{
    out[0] = a[7] - a[5];
    out[1] = a[2] - a[6];
    out[2] = a[3] - a[1];
}

// entry k, l of matrix number i of those that loads bring; 0 where they are not known
static double entry(const double *K, int nq, int i, int k, int l)
{
    if (!K) return 0.0;
    const double *at = K + (size_t)i * (size_t)nq * (size_t)nq;
    return 0.5 * (at[(size_t)k + (size_t)l * (size_t)nq] + at[(size_t)l + (size_t)k * (size_t)nq]);
}

// P of a pair of modes: its symmetric part X + tr X' from the products xx yy zz xy yz xz of angular velocities,
// w' S w - w w tr S = sum of these, and its antisymmetric part from angular accelerations
static void stiffening(const kd_flexible_body *f, int k, int l, double P[9])
{
    double w[6], b[3];
    for (int i = 0; i < 6; i++) w[i] = entry(f->K0w, f->nq, i, k, l);
    for (int i = 0; i < 3; i++) b[i] = entry(f->K0r, f->nq, i, k, l);
    const double trace = -0.5 * (w[0] + w[1] + w[2]);
    const double xx = w[0] + trace, yy = w[1] + trace, zz = w[2] + trace;
    const double xy = 0.5 * w[3], yz = 0.5 * w[4], xz = 0.5 * w[5];
    const double all[9] = {xx, xy - 0.5 * b[2], xz + 0.5 * b[1], xy + 0.5 * b[2],
                           yy, yz - 0.5 * b[0], xz - 0.5 * b[1], yz + 0.5 * b[0],
                           zz};
    memcpy(P, all, sizeof all);
}

// D_l at q = 0: A_l, its antisymmetric part such that the coupling with turns is Cr of the file
static void first_moment(const kd_flexible_body *f, int l, double *D)
{
    double        own[3], b[3];
    const double *A = f->A + 9 * l;
    axial(A, own);
    for (int i = 0; i < 3; i++) b[i] = 0.5 * (f->Cr[3 * l + i] - own[i]);
    memcpy(D, A, 9 * sizeof *D);
    D[7] += b[0], D[5] -= b[0], D[2] += b[1], D[6] -= b[1], D[3] += b[2], D[1] -= b[2];
}

static const kd_wide *make_wide(const kd_flexible_body *f, int m, kd_arena *arena)
{
    kd_wide   *c = kd_arena_cut(arena, 1, sizeof *c);
    double    *C = kd_cut_matrix(arena, 3, m), *D = kd_cut_matrix(arena, 9, m), *M = kd_cut_matrix(arena, m, m);
    double    *D_q = kd_cut_matrix(arena, 9 * m, m), *T = kd_cut_matrix(arena, 3 * m, m);
    double    *C_q = f->K0t ? kd_cut_matrix(arena, 3 * m, m) : NULL;
    double    *b_q = f->K0r || f->K0w ? kd_cut_matrix(arena, 3 * m, m) : NULL;
    const bool stiffened = b_q != NULL;
    if (arena->failed) return NULL;
    for (int l = 0; l < m; l++) {
        memcpy(C + 3 * l, f->C + 3 * l, 3 * sizeof *C);
        first_moment(f, l, D + 9 * l);
        for (int k = 0; k < m; k++) {
            const size_t at = (size_t)k + (size_t)m * (size_t)l, from = (size_t)k + (size_t)f->nq * (size_t)l;
            double       P[9] = {0};
            if (stiffened) stiffening(f, k, l, P);
            M[at] = f->Me[from];
            for (int i = 0; i < 9; i++) D_q[9 * at + (size_t)i] = f->B[9 * from + (size_t)i] + P[i];
            axial(f->B + 9 * from, T + 3 * at);
            if (b_q) axial(P, b_q + 3 * at);
            for (int i = 0; C_q && i < 3; i++) C_q[3 * at + (size_t)i] = entry(f->K0t, f->nq, i, k, l);
        }
    }
    *c = (kd_wide){.m = m, .mass = f->mass, .first = kd_vec_of(f->first), .C = C, .C_q = C_q, .D = D, .D_q = D_q};
    memcpy(&c->second, f->second, sizeof f->second);
    c->T = T;
    c->b_q = b_q;
    c->M = M;
    return kd_wide_finish(c, arena) ? c : NULL;
}

// ---- markers --------------------------------------------------------------------------------------------------------

static const double none = 1e-13; // part of the largest entry that is rounding

static double largest_of(const double *a, int n)
{
    double largest = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(a[i]));
    return largest;
}

// Slopes of the shifts at a node, -K0F; NULL: not known, or memory is short
static const double *make_bends(const kd_flexible_body *f, int node, int m, kd_arena *arena)
{
    double *bend = f->K0F ? kd_cut_matrix(arena, 3 * m, m) : NULL;
    if (!bend) return NULL;
    for (int l = 0; l < m; l++)
        for (int k = 0; k < m; k++)
            for (int d = 0; d < 3; d++) bend[d + 3 * (k + m * l)] = -entry(f->K0F, f->nq, 3 * (node - 1) + d, k, l);
    return bend;
}

static const kd_marker *make_marker(const kd_flexible_body *f, int node, int m, kd_arena *arena)
{
    const kd_flexible_frame *frame = &f->frame[node - 1];
    kd_marker               *c = kd_arena_cut(arena, 1, sizeof *c);
    double                  *Phi = kd_cut_matrix(arena, 6, m);
    if (arena->failed) return NULL;
    const double shift = none * largest_of(frame->Phi, 3 * m), turn = none * largest_of(frame->Psi, 3 * m);
    for (int k = 0; k < m; k++)
        for (int d = 0; d < 3; d++) {
            const double u = frame->Phi[d + 3 * k], w = frame->Psi[d + 3 * k];
            Phi[d + 6 * k] = fabs(u) > shift ? u : 0;
            Phi[d + 3 + 6 * k] = fabs(w) > turn ? w : 0;
        }
    *c = (kd_marker){.m = m, .Phi = Phi, .bend = make_bends(f, node, m, arena)};
    return !arena->failed && kd_marker_finish(c, arena) ? c : NULL;
}

// Do forces at a node stiffen the body, which is to say: does it move along with the deformation to second order?
static bool moves_by_force(const kd_flexible_body *f, int node)
{
    const int each = 3 * f->nq * f->nq;
    return f->K0F &&
           largest_of(f->K0F + (size_t)(node - 1) * (size_t)each, each) > 1e-10 * largest_of(f->K0F, each * f->nframes);
}

bool kd_anchor_moves(const kd_model *model, const kd_anchor *a)
{
    const kd_body *body = a->body >= 0 && a->node > 0 ? &model->body[a->body] : NULL;
    if (!body) return false;
    const kd_flexible_frame *frame = &body->def.read->frame[a->node - 1];
    // of the size of the modes: a frame that the reference holds
    double size = 0;
    for (int i = 0; i < body->def.read->nframes; i++)
        size = fmax(size, largest_of(body->def.read->frame[i].Phi, 3 * body->nmodes));
    double turn = 0;
    for (int i = 0; i < body->def.read->nframes; i++)
        turn = fmax(turn, largest_of(body->def.read->frame[i].Psi, 3 * body->nmodes));
    return largest_of(frame->Phi, 3 * body->nmodes) > 1e-10 * size ||
           largest_of(frame->Psi, 3 * body->nmodes) > 1e-10 * turn || moves_by_force(body->def.read, a->node);
}

// ---- bodies of a system ---------------------------------------------------------------------------------------------

static void note_node(kd_system *s, const kd_anchor *a)
{
    if (a->body >= 0 && a->node > 0) s->node_link[s->first_node[a->body] + a->node - 1]++;
}

bool kd_system_leave_node(kd_system *s, const kd_anchor *a)
{
    return a->body >= 0 && a->node > 0 && --s->node_link[s->first_node[a->body] + a->node - 1] == 0;
}

int kd_system_count_wide(kd_system *s)
{
    const kd_model *m = s->model;
    int             nodes = 0, extra = 0;
    s->wide_link = kd_cut_int(&s->arena, m->nbodies);
    s->first_node = kd_cut_int(&s->arena, m->nbodies + 1);
    s->slowest = kd_cut_double(&s->arena, m->nbodies);
    s->deflection = kd_arena_cut(&s->arena, (size_t)m->nbodies, sizeof *s->deflection);
    if (s->arena.failed) return -1;
    for (int b = 0; b < m->nbodies; b++) {
        s->first_node[b] = nodes;
        if (m->body[b].nmodes > 0) nodes += m->body[b].def.read->nframes, extra++;
    }
    s->first_node[m->nbodies] = nodes;
    s->node_link = kd_cut_int(&s->arena, nodes);
    if (s->arena.failed) return -1;
    // nodes that somebody stands on, and how many do
    for (int i = 0; i < m->nframes; i++) note_node(s, &m->frame[i].at);
    for (int i = 0; i < m->njoints; i++) note_node(s, &m->joint[i].from), note_node(s, &m->joint[i].to);
    for (int i = 0; i < m->nconstraints; i++) {
        const kd_constraint *c = &m->constraint[i];
        note_node(s, &c->from), note_node(s, &c->to);
        for (int k = 0; k < c->def.nover; k++) note_node(s, &c->over[k]);
    }
    for (int i = 0; i < m->nforces; i++) note_node(s, &m->force[i].from), note_node(s, &m->force[i].to);
    for (int i = 0; i < nodes; i++) extra += s->node_link[i] > 0;
    return extra;
}

// Bodies of the same part share their moments; NULL: it is the first one
static const kd_wide *find_wide(const kd_system *s, int body)
{
    const kd_body *b = &s->model->body[body];
    for (int i = 0; i < s->model->nbodies; i++) {
        const kd_body *other = &s->model->body[i];
        const int      link = i != body && other->nmodes == b->nmodes ? s->wide_link[i] : 0;
        if (link > 0 && other->def.read == b->def.read) return s->tree.link[link].wide;
    }
    return NULL;
}

kd_status kd_system_make_wide(kd_system *s, int link, int body, int node)
{
    const kd_body          *b = &s->model->body[body];
    const kd_flexible_body *f = b->def.read;
    kd_link                *l = &s->tree.link[link];
    l->kind = KD_FIXED;
    l->E = kd_mat_identity();
    if (node == 0) {
        kd_arena scratch = {0};
        s->slowest[body] = kd_flexible_slowest(f, &scratch);
        kd_arena_release(&scratch);
        s->wide_link[body] = link;
        if (kd_flexible_deflection(s, body) < 0) return KD_ERR_MEMORY;
        l->wide = find_wide(s, body);
        if (!l->wide) l->wide = make_wide(f, b->nmodes, &s->arena);
    } else {
        s->node_link[s->first_node[body] + node - 1] = link;
        l->r = f->frame[node - 1].at;
        l->marker = make_marker(f, node, b->nmodes, &s->arena);
    }
    return l->wide || l->marker ? KD_OK : KD_ERR_MEMORY;
}

int kd_system_amplitude(kd_system *s, int body, int mode)
{
    const int dof = s->tree.link[s->wide_link[body]].dof + mode;
    if (!s->amplitude && !(s->amplitude = kd_cut_int(&s->arena, s->tree.ndof))) return -1;
    if (s->amplitude[dof] > 0) return s->amplitude[dof] - 1;
    const int made = kd_system_measure(s, &(kd_measure){KD_MEASURE_DOF, .pair = -1, .dof = dof, .turns = -1});
    s->amplitude[dof] = made + 1;
    return made;
}

// An amplitude that shifts its points by the length, or turns an interface by 1 rad; modes whose nodes stay (torsion of beams) by
// the mean of their mass
double kd_system_mode_unit(const kd_system *s, int body, int mode, double length)
{
    const kd_flexible_body *f = s->model->body[body].def.read;
    const double            own = f->Me[(size_t)mode * (size_t)(f->nq + 1)];
    double shift = largest_of(f->shape + (size_t)mode * 3 * (size_t)f->nnodes, 3 * f->nnodes), turn = 0;
    for (int i = 0; i < f->nframes; i++) {
        shift = fmax(shift, largest_of(f->frame[i].Phi + 3 * mode, 3));
        turn = fmax(turn, largest_of(f->frame[i].Psi + 3 * mode, 3));
    }
    if (own > 0 && f->mass > 0) shift = fmax(shift, sqrt(own / f->mass));
    const double rate = fmax(shift / length, turn);
    return rate > 0 ? 1 / rate : 1;
}
