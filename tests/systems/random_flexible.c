// random_flexible.c: flexible bodies of random mechanisms: random points of mass with random modes, an interface at every place
// that something stands on. Moments belong together, so that there is a kinetic energy; what the interfaces do is anything.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/build.h"
#include "model/part.h"
#include "systems/random_model.h"

enum { POINTS = 6, MOST_PLACES = 2 * (MAX_JOINTS + MAX_FORCES) + MAX_CONSTRAINTS * (2 + KD_MAX_OVER) };

bool mechanism_is_flexible(const mechanism *m, int body)
{
    return m->opt.flexible && body >= 0 && (body + m->nbodies) % 2 == 0;
}

// all places of the mechanism, and their names
static int places_of(const mechanism *m, const kd_place *place[MOST_PLACES])
{
    int n = 0;
    for (int i = 0; i < m->njoints; i++) place[n++] = &m->joint[i].from, place[n++] = &m->joint[i].to;
    for (int i = 0; i < m->nconstraints; i++) {
        place[n++] = &m->constraint[i].from, place[n++] = &m->constraint[i].to;
        for (int k = 0; k < m->constraint[i].nover; k++) place[n++] = &m->constraint[i].over[k];
    }
    for (int i = 0; i < m->nforces; i++) place[n++] = &m->force[i].from, place[n++] = &m->force[i].to;
    return n;
}

static bool is_on(const kd_place *place, int body)
{
    return place->body && strcmp(place->body, mechanism_body_name(body)) == 0;
}

static void add_product(double mass, const double *a, const double *b, double *out)
{
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) out[i + 3 * j] += mass * a[i] * b[j];
}

static void fill(double *x, int n, double size, uint64_t *seed)
{
    for (int i = 0; i < n; i++) x[i] = size * mechanism_random(seed);
}

static void fill_moments(kd_flexible_body *f, double mass, uint64_t *seed)
{
    const int nq = f->nq;
    for (int i = 0; i < POINTS; i++) {
        const double part = mass * (1 + 0.3 * mechanism_random(seed)) / POINTS;
        double       x[3], phi[3 * 8];
        fill(x, 3, 0.6, seed);
        fill(phi, 3 * nq, 0.5, seed);
        f->mass += part;
        for (int d = 0; d < 3; d++) f->first[d] += part * x[d];
        add_product(part, x, x, f->second);
        for (int l = 0; l < nq; l++) {
            for (int d = 0; d < 3; d++) f->C[3 * l + d] += part * phi[3 * l + d];
            add_product(part, x, phi + 3 * l, f->A + 9 * l);
            for (int k = 0; k < nq; k++) add_product(part, phi + 3 * k, phi + 3 * l, f->B + 9 * (k + nq * l));
        }
    }
    for (int l = 0; l < nq; l++) {
        const double *A = f->A + 9 * l, Cr[3] = {A[7] - A[5], A[2] - A[6], A[3] - A[1]};
        memcpy(f->Cr + 3 * l, Cr, sizeof Cr);
        for (int k = 0; k < nq; k++) {
            const double *B = f->B + 9 * (k + nq * l);
            f->Me[k + nq * l] = B[0] + B[4] + B[8] + (k == l ? 0.1 : 0);
        }
    }
}

static double *symmetric(kd_flexible_body *f, int count, double size, uint64_t *seed)
{
    const int nq = f->nq;
    double   *K = kd_cut_double(&f->arena, count * nq * nq);
    for (int i = 0; K && i < count; i++)
        for (int l = 0; l < nq; l++)
            for (int k = 0; k <= l; k++)
                K[nq * nq * i + k + nq * l] = K[nq * nq * i + l + nq * k] = size * mechanism_random(seed);
    return K;
}

// The place of the tree's joint on a body stands still in its frame, in every other mechanism
static bool is_held(const mechanism *m, int place, int body)
{
    const int joint = body - (m->opt.floating ? 1 : 0);
    return place / 2 == joint && place / 2 < m->ntree && m->nforces % 2 == 0;
}

kd_place mechanism_place(const mechanism *m, const kd_place *place)
{
    const kd_place *all[MOST_PLACES];
    const int       n = places_of(m, all);
    static char     names[MOST_PLACES][16];
    kd_place        to = *place;
    for (int i = 0; i < n; i++)
        for (int b = 0; all[i] == place && b < m->nbodies; b++) {
            if (!is_on(place, b) || !mechanism_is_flexible(m, b)) continue;
            const kd_quat q =
                kd_quat_mul(kd_quat_conjugate(kd_quat_of(m->body[b].orientation)), kd_quat_of(place->orientation));
            (void)snprintf(names[i], sizeof names[i], "n%d", i);
            to = kd_at_node(place->body, names[i]);
            kd_quat_to(q, to.orientation);
        }
    return to;
}

bool mechanism_add_flexible(kd_model *model, const mechanism *m, int body, kd_body_def *def)
{
    const kd_place    *all[MOST_PLACES];
    const int          n = places_of(m, all), nq = 1 + body % 3;
    uint64_t           seed = (uint64_t)(77 * body + 13 * m->nbodies + 5) + m->made;
    kd_flexible_body   f = {0};
    int                frames = 0, at = 0;
    const kd_body_def *own = &m->body[body];
    const kd_mat3      R0 = kd_quat_matrix(kd_quat_of(own->orientation));
    for (int i = 0; i < 9; i++) (void)mechanism_random(&seed);
    for (int i = 0; i < n; i++) frames += is_on(all[i], body);
    if (!kd_flexible_body_cut(&f, nq, frames, 1)) return false;
    fill_moments(&f, own->mass, &seed);
    for (int l = 0; l < nq; l++) {
        f.Ke[l * (nq + 1)] = 20 + 10 * mechanism_random(&seed);
        f.De[l * (nq + 1)] = m->opt.conservative ? 0 : 0.5;
        if (l > 0) f.Ke[l + nq * (l - 1)] = f.Ke[l - 1 + nq * l] = 3;
    }
    if (body % 2 == 0) {
        f.K0t = symmetric(&f, 3, 0.1, &seed);
        f.K0r = symmetric(&f, 3, 0.1, &seed);
        f.K0w = symmetric(&f, 6, 0.1, &seed);
    }
    fill(f.shape, 3 * nq, 1, &seed);
    for (int i = 0; i < n; i++) {
        char *name = is_on(all[i], body) ? kd_arena_cut(&f.arena, 16, 1) : NULL;
        if (!name) continue;
        (void)snprintf(name, 16, "n%d", i);
        kd_flexible_frame *frame = &f.frame[at++];
        frame->name = name;
        frame->at = kd_mat_tvec(&R0, kd_vec_sub(kd_vec_of(all[i]->position), kd_vec_of(own->position)));
        if (is_held(m, i, body)) continue;
        fill(frame->Phi, 3 * nq, 0.3, &seed);
        fill(frame->Psi, 3 * nq, 0.3, &seed);
    }
    // forces stiffen at all frames that are not held
    if (body % 2 == 0) f.K0F = symmetric(&f, 3 * frames, 0.2, &seed);
    for (int i = 0; f.K0F && i < frames; i++)
        if (f.frame[i].Phi[0] == 0 && f.frame[i].Psi[0] == 0)
            memset(f.K0F + 3 * i * nq * nq, 0, (size_t)(3 * nq * nq) * sizeof *f.K0F);
    def->mass = NAN;
    for (int i = 0; i < 3; i++) def->centre[i] = NAN;
    for (int i = 0; i < 6; i++) def->inertia[i] = NAN;
    def->flexible = mechanism_body_name(body);
    def->read = kd_model_part_enter(model, def->flexible, 1, 1, &f);
    return def->read != NULL;
}
