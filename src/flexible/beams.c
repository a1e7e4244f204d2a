// beams.c: finite elements of straight beams (Timoshenko; with stiff shear Euler and Bernoulli).
//
// Bending in the plane of x and y over xi = x/L, with phi = 12 E Iz / (ky G A L^2) (Przemieniecki 1968):
//     v = [N1 N2 N3 N4] (v1 t1 v2 t2),  theta = [G1 G2 G3 G4] (..)
//     N1 = (1 - 3 xi^2 + 2 xi^3 + phi (1 - xi))/(1 + phi),          N2 = L (xi - 2 xi^2 + xi^3 + phi (xi - xi^2)/2)/(1 + phi)
//     N3 = (3 xi^2 - 2 xi^3 + phi xi)/(1 + phi),                     N4 = L (xi^3 - xi^2 + phi (xi^2 - xi)/2)/(1 + phi)
//     G1 = 6 (xi^2 - xi)/(L (1 + phi)) = -G3,  G2 = (1 - 4 xi + 3 xi^2 + phi (1 - xi))/(1 + phi),  G4 = (3 xi^2 - 2 xi + phi xi)/(1 + phi)
// The mass sits in stations: at four points of Gauss along an element, in four points of the section that have its second moments.
// The mass matrix lift' m lift and all moments of modes come from the same stations, so that they agree to the last bit.
#include "flexible/beams.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "math/blas.h"

enum { GAUSS = 4, FIBRES = 4, PER_ELEMENT = GAUSS * FIBRES, PER_MASS = 6, MOST_ELEMENTS = 100000 };

static const double gauss_at[GAUSS] = {-0.86113631159405257522, -0.33998104358485626480, 0.33998104358485626480,
                                       0.86113631159405257522};
static const double gauss_weight[GAUSS] = {0.34785484513745385737, 0.65214515486254614263, 0.65214515486254614263,
                                           0.34785484513745385737};

typedef struct sums { // entries of a matrix, added up
    int     n;
    int    *row, *column;
    double *value;
} sums;

static void add_entry(sums *s, int row, int column, double value)
{
    if (value == 0) return;
    s->row[s->n] = row;
    s->column[s->n] = column;
    s->value[s->n++] = value;
}

static bool cut_sums(sums *s, int room, kd_arena *arena)
{
    *s = (sums){.row = kd_cut_int(arena, room), .column = kd_cut_int(arena, room), .value = kd_cut_double(arena, room)};
    return !arena->failed;
}

// ---- one element ----------------------------------------------------------------------------------------------------

typedef struct element {
    int             node[2];
    kd_vec3         at[2];
    kd_mat3         R; // axes of the section as columns
    double          L, E, G, density;
    kd_beam_section section; // in its middle
    double          phi_y, phi_z;
} element;

// [N1 ... N4, G1 ... G4] of bending
static void bending_shapes(double xi, double L, double phi, double N[4], double G[4])
{
    const double x2 = xi * xi, x3 = x2 * xi, s = 1 / (1 + phi);
    N[0] = s * (1 - 3 * x2 + 2 * x3 + phi * (1 - xi));
    N[1] = s * L * (xi - 2 * x2 + x3 + phi * (xi - x2) / 2);
    N[2] = s * (3 * x2 - 2 * x3 + phi * xi);
    N[3] = s * L * (x3 - x2 + phi * (x2 - xi) / 2);
    G[0] = s * 6 * (x2 - xi) / L;
    G[1] = s * (1 - 4 * xi + 3 * x2 + phi * (1 - xi));
    G[2] = -G[0];
    G[3] = s * (3 * x2 - 2 * xi + phi * xi);
}

// Displacement (rows) of the point (y, z) of the section at xi by the twelve local coordinates
static void fibre_shapes(const element *e, double xi, double y, double z, double S[3][12])
{
    double N[4], G[4];
    memset(S, 0, 3 * sizeof *S);
    for (int end = 0; end < 2; end++) {
        const double linear = end ? xi : 1 - xi;
        S[0][6 * end] = linear;          // u
        S[1][6 * end + 3] = -z * linear; // twist
        S[2][6 * end + 3] = y * linear;
        // v and theta_z
        bending_shapes(xi, e->L, e->phi_y, N, G);
        S[1][6 * end + 1] = N[2 * end];
        S[1][6 * end + 5] = N[2 * end + 1];
        S[0][6 * end + 1] = -y * G[2 * end];
        S[0][6 * end + 5] = -y * G[2 * end + 1];
        // w and theta_y = -w'
        bending_shapes(xi, e->L, e->phi_z, N, G);
        S[2][6 * end + 2] = N[2 * end];
        S[2][6 * end + 4] = -N[2 * end + 1];
        S[0][6 * end + 2] = -z * G[2 * end];
        S[0][6 * end + 4] = z * G[2 * end + 1];
    }
}

// The local stiffness matrix
static void element_stiffness(const element *e, double K[12][12])
{
    const kd_beam_section *s = &e->section;
    const double           L = e->L, axial = e->E * s->area / L, twist = e->G * s->torsion / L;
    memset(K, 0, 12 * sizeof *K);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const double sign = i == j ? 1 : -1;
            K[6 * i][6 * j] = sign * axial;
            K[6 * i + 3][6 * j + 3] = sign * twist;
        }
    // bending in both planes: coordinates (deflection, turn, deflection, turn); turns about y have the other sign
    for (int plane = 0; plane < 2; plane++) {
        const double inertia = plane == 0 ? s->Iz : s->Iy, phi = plane == 0 ? e->phi_y : e->phi_z,
                     sign = plane == 0 ? 1 : -1;
        const double k = e->E * inertia / (L * L * L * (1 + phi));
        const double B[4][4] = {{12, 6 * L, -12, 6 * L},
                                {6 * L, (4 + phi) * L * L, -6 * L, (2 - phi) * L * L},
                                {-12, -6 * L, 12, -6 * L},
                                {6 * L, (2 - phi) * L * L, -6 * L, (4 + phi) * L * L}};
        const int    place[4] = {1 + plane, 5 - plane, 7 + plane, 11 - plane};
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) K[place[i]][place[j]] = k * B[i][j] * (i % 2 ? sign : 1) * (j % 2 ? sign : 1);
    }
}

// R' of a local vector of three components in the twelve coordinates: entry (i, j) of diag(R', R', R', R')
static double turn_entry(const kd_mat3 *R, int local, int global)
{
    const kd_vec3 axis = local == 0 ? R->x : local == 1 ? R->y : R->z;
    return global == 0 ? axis.x : global == 1 ? axis.y : axis.z;
}

static void add_stiffness(const element *e, sums *K)
{
    double k[12][12];
    element_stiffness(e, k);
    for (int bi = 0; bi < 4; bi++)
        for (int bj = 0; bj < 4; bj++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    double sum = 0;
                    for (int a = 0; a < 3; a++)
                        for (int b = 0; b < 3; b++)
                            sum += turn_entry(&e->R, a, i) * k[3 * bi + a][3 * bj + b] * turn_entry(&e->R, b, j);
                    add_entry(K, 6 * e->node[bi / 2] + 3 * (bi % 2) + i, 6 * e->node[bj / 2] + 3 * (bj % 2) + j, sum);
                }
}

// Stations of an element: 4 along it, each with 4 points of the section, at +-sqrt(2 Iz/A) in y and +-sqrt(2 Iy/A) in z
static void add_stations(const element *e, kd_fe_structure *s, sums *mass, sums *lift)
{
    const double a = sqrt(2 * e->section.Iz / e->section.area), b = sqrt(2 * e->section.Iy / e->section.area);
    const double offset[FIBRES][2] = {{a, 0}, {-a, 0}, {0, b}, {0, -b}};
    for (int g = 0; g < GAUSS; g++)
        for (int f = 0; f < FIBRES; f++) {
            const double xi = (1 + gauss_at[g]) / 2, y = offset[f][0], z = offset[f][1];
            double       S[3][12];
            const int    station = s->nstations++;
            kd_vec3      x = kd_vec_axpy(kd_vec_scale(1 - xi, e->at[0]), xi, e->at[1]);
            x = kd_vec_axpy(kd_vec_axpy(x, y, e->R.y), z, e->R.z);
            s->station[station] = x;
            add_entry(mass, station, station, e->density * e->section.area * e->L * gauss_weight[g] / 2 / FIBRES);
            fibre_shapes(e, xi, y, z, S);
            // R S R'
            for (int i = 0; i < 3; i++)
                for (int block = 0; block < 4; block++)
                    for (int j = 0; j < 3; j++) {
                        double sum = 0;
                        for (int k = 0; k < 3; k++)
                            for (int l = 0; l < 3; l++)
                                sum += turn_entry(&e->R, k, i) * S[k][3 * block + l] * turn_entry(&e->R, l, j);
                        add_entry(lift, 3 * station + i, 6 * e->node[block / 2] + 3 * (block % 2) + j, sum);
                    }
        }
}

// ---- concentrated masses --------------------------------------------------------------------------------------------

// Six points on the principal axes have the mass and the inertia
static kd_status add_mass(const kd_beam_mass *m, kd_fe_structure *s, sums *mass, sums *lift, char *message, size_t size)
{
    double A[9] = {m->inertia.xx, m->inertia.xy, m->inertia.xz, m->inertia.xy, m->inertia.yy,
                   m->inertia.yz, m->inertia.xz, m->inertia.yz, m->inertia.zz};
    double J[3], work[64];
    if (KD_BLAS(LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', 3, A, 3, J, work, 64)) != 0) return KD_ERR_DECOMPOSITION;
    const double half = (J[0] + J[1] + J[2]) / 2;
    if (!(m->mass > 0) || half - J[2] < -1e-12 * half) {
        kd_text(message, size,
                "mass at '%s': it must be positive, and no moment of inertia larger than the sum of the other two",
                s->set[m->point].name);
        return KD_ERR_MODEL;
    }
    for (int axis = 0; axis < 3; axis++)
        for (int side = -1; side <= 1; side += 2) {
            const double  distance = side * sqrt(fmax(3 * (half - J[axis]) / m->mass, 0));
            const kd_vec3 r = kd_vec_scale(distance, kd_vec_of(A + 3 * axis));
            const double  turned[3][3] = {{0, r.z, -r.y}, {-r.z, 0, r.x}, {r.y, -r.x, 0}}; // [direction][about]
            const int     station = s->nstations++;
            s->station[station] = kd_vec_add(s->at[m->point], r);
            add_entry(mass, station, station, m->mass / PER_MASS);
            for (int i = 0; i < 3; i++) {
                add_entry(lift, 3 * station + i, 6 * m->point + i, 1);
                for (int j = 0; j < 3; j++) add_entry(lift, 3 * station + i, 6 * m->point + 3 + j, turned[i][j]);
            }
        }
    return KD_OK;
}

// ---- the structure --------------------------------------------------------------------------------------------------

kd_beam_section kd_beam_section_between(const kd_beam_section *a, const kd_beam_section *b, double t)
{
    const double    s = 1 - t;
    kd_beam_section c = {.area = s * a->area + t * b->area,
                         .Iy = s * a->Iy + t * b->Iy,
                         .Iz = s * a->Iz + t * b->Iz,
                         .torsion = s * a->torsion + t * b->torsion,
                         .ky = s * a->ky + t * b->ky,
                         .kz = s * a->kz + t * b->kz};
    if (a->kind != b->kind) return c;
    c.kind = a->kind;
    for (int i = 0; i < 2; i++) c.rim[i] = s * a->rim[i] + t * b->rim[i];
    c.twist = s * a->twist + t * b->twist;
    return c;
}

static bool section_is_good(const kd_beam_section *s)
{
    return s->area > 0 && s->Iy > 0 && s->Iz > 0 && s->torsion > 0 && s->ky >= 0 && s->kz >= 0;
}

// Axes of a beam; false: it has no length, or up lies along it
static bool beam_axes(const kd_beam *b, const kd_vec3 *points, kd_mat3 *R, double *length)
{
    const kd_vec3 line = kd_vec_sub(points[b->to], points[b->from]);
    *length = kd_vec_norm(line);
    if (!(*length > 0)) return false;
    R->x = kd_vec_scale(1 / *length, line);
    const kd_vec3 across = kd_vec_axpy(b->up, -kd_vec_dot(b->up, R->x), R->x);
    const double  n = kd_vec_norm(across);
    if (!(n > 1e-6 * kd_vec_norm(b->up))) return false;
    R->z = kd_vec_scale(1 / n, across);
    R->y = kd_vec_cross(R->z, R->x);
    return true;
}

static kd_status check_beams(const char *const *names, const kd_vec3 *points, int npoints, const kd_beam *beams,
                             int nbeams, int *elements, char *message, size_t size)
{
    *elements = 0;
    for (int i = 0; i < nbeams; i++) {
        const kd_beam *b = &beams[i];
        kd_mat3        R;
        double         length;
        const bool     there = b->from >= 0 && b->from < npoints && b->to >= 0 && b->to < npoints;
        const char    *why = !there                               ? "a point does not exist"
                             : !beam_axes(b, points, &R, &length) ? "its ends are at one place, or 'up' lies along it"
                             : !(b->E > 0 && b->G > 0 && b->density > 0) ? "E, G and density must be positive"
                             : !section_is_good(&b->begin) || !section_is_good(&b->end)
                                 ? "area, Iy, Iz and torsion must be positive"
                             : b->elements < 1 || b->elements > MOST_ELEMENTS || *elements > MOST_ELEMENTS
                                 ? "the number of elements is out of range"
                                 : NULL;
        if (why) {
            kd_text(message, size, "beam from '%s' to '%s': %s", there ? names[b->from] : "?",
                    there ? names[b->to] : "?", why);
            return KD_ERR_MODEL;
        }
        *elements += b->elements;
    }
    if (nbeams > 0) return KD_OK;
    kd_text(message, size, "at least one beam is needed");
    return KD_ERR_MODEL;
}

// Nodes, their rows, and a set for each point
static kd_status make_nodes(kd_fe_structure *s, const char *const *names, const kd_vec3 *points, int npoints,
                            int nnodes)
{
    s->nnodes = nnodes;
    s->n = 6 * nnodes;
    s->id = kd_cut_int(&s->arena, nnodes);
    s->at = kd_arena_cut(&s->arena, (size_t)nnodes, sizeof *s->at);
    s->node = kd_cut_int(&s->arena, s->n);
    s->direction = kd_cut_int(&s->arena, s->n);
    s->first = kd_cut_int(&s->arena, s->n);
    s->nsets = npoints;
    s->set = kd_arena_cut(&s->arena, (size_t)npoints, sizeof *s->set);
    s->name = "beams";
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < s->n; i++) {
        s->node[i] = i / 6;
        s->direction[i] = i % 6;
        s->first[i] = i;
    }
    for (int i = 0; i < nnodes; i++) s->id[i] = i + 1;
    for (int i = 0; i < npoints; i++) {
        char *name = kd_arena_cut(&s->arena, strlen(names[i]) + 1, 1);
        s->set[i] = (kd_node_set){.name = name, .n = 1, .node = kd_cut_int(&s->arena, 1)};
        if (s->arena.failed) return KD_ERR_MEMORY;
        strcpy(name, names[i]);
        s->set[i].node[0] = i;
        s->at[i] = points[i];
    }
    return KD_OK;
}

// Element i of a row, without its nodes
static element element_of(const kd_beam_row *row, int i, const kd_mat3 *R, double L)
{
    element e = {.R = *R, .L = L, .E = row->E, .G = row->G, .density = row->density};
    e.section = kd_beam_section_between(&row->begin, &row->end, (i + 0.5) / row->n);
    e.phi_y = e.section.ky > 0 ? 12 * e.E * e.section.Iz / (e.section.ky * e.G * e.section.area * L * L) : 0;
    e.phi_z = e.section.kz > 0 ? 12 * e.E * e.section.Iy / (e.section.kz * e.G * e.section.area * L * L) : 0;
    return e;
}

void kd_beam_end_forces(const kd_fe_structure *s, const kd_beam_row *row, int i, const double *U, double f[12])
{
    const kd_beam_element *own = &s->element[row->first + i];
    const element          e = element_of(row, i, &own->axes, own->length);
    double                 K[12][12], u[12];
    element_stiffness(&e, K);
    // three shifts and three turns of each end, turned into the axes of the section
    for (int block = 0; block < 4; block++) {
        const kd_vec3 global = kd_vec_of(U + 6 * (size_t)own->node[block / 2] + 3 * (size_t)(block % 2));
        kd_vec_to(kd_mat_tvec(&own->axes, global), u + 3 * block);
    }
    for (int k = 0; k < 12; k++) {
        f[k] = 0;
        for (int l = 0; l < 12; l++) f[k] += K[k][l] * u[l];
    }
}

// One beam as a row of elements; *next: the next node that is free
static void add_beam(const kd_beam *b, const kd_vec3 *points, kd_fe_structure *s, int *next, sums *K, sums *mass,
                     sums *lift)
{
    const kd_beam_row row = {s->nelements, b->elements, b->E, b->G, b->density, b->begin, b->end};
    kd_mat3           R;
    double            length;
    (void)beam_axes(b, points, &R, &length);
    s->row[s->nrows++] = row;
    for (int i = 0; i < b->elements; i++) {
        const bool last = i + 1 == b->elements;
        element    e = element_of(&row, i, &R, length / b->elements);
        e.node[0] = i == 0 ? b->from : *next - 1;
        e.node[1] = last ? b->to : (*next)++;
        e.at[0] = kd_vec_axpy(points[b->from], i * e.L, e.R.x);
        e.at[1] = last ? points[b->to] : kd_vec_axpy(points[b->from], (i + 1) * e.L, e.R.x);
        s->at[e.node[1]] = e.at[1];
        s->element[s->nelements++] =
            (kd_beam_element){{e.node[0], e.node[1]}, e.L, e.E * e.section.area, e.R, s->nstations, PER_ELEMENT};
        add_stiffness(&e, K);
        add_stations(&e, s, mass, lift);
    }
}

// M = lift' (m in all three directions) lift
static kd_status mass_matrix(kd_fe_structure *s, kd_arena *scratch)
{
    const int        n = s->nstations;
    kd_sparse_matrix spread;
    int             *place = kd_cut_int(scratch, 3 * n);
    double          *value = kd_cut_double(scratch, 3 * n);
    if (scratch->failed) return KD_ERR_MEMORY;
    for (int i = 0; i < 3 * n; i++) {
        place[i] = i;
        value[i] = s->station_mass.value[i / 3];
    }
    kd_status status = kd_sparse_of_entries(3 * n, 3 * n, 3 * n, place, place, value, scratch, &spread);
    if (status == KD_OK) status = kd_sparse_congruence(&spread, &s->lift, &s->arena, &s->M);
    return status;
}

kd_status kd_beams_make(const char *const *names, const kd_vec3 *points, int npoints, const kd_beam *beams, int nbeams,
                        const kd_beam_mass *masses, int nmasses, kd_fe_structure *s, char *message, size_t size)
{
    kd_arena scratch = {0};
    sums     K, mass, lift;
    int      elements, next = npoints;
    *s = (kd_fe_structure){0};
    kd_text(message, size, "%s", "");
    kd_status status = check_beams(names, points, npoints, beams, nbeams, &elements, message, size);
    if (status == KD_OK) status = make_nodes(s, names, points, npoints, npoints + elements - nbeams);
    const int stations = status == KD_OK ? PER_ELEMENT * elements + PER_MASS * nmasses : 0;
    if (status == KD_OK) {
        s->element = kd_arena_cut(&s->arena, (size_t)elements, sizeof *s->element);
        s->row = kd_arena_cut(&s->arena, (size_t)nbeams, sizeof *s->row);
        s->station = kd_arena_cut(&s->arena, (size_t)stations, sizeof *s->station);
        const bool room = cut_sums(&K, 144 * elements, &scratch) && cut_sums(&mass, stations, &scratch) &&
                          cut_sums(&lift, 36 * stations, &scratch);
        if (!room || s->arena.failed) status = KD_ERR_MEMORY;
    }
    for (int i = 0; status == KD_OK && i < nbeams; i++) add_beam(&beams[i], points, s, &next, &K, &mass, &lift);
    for (int i = 0; status == KD_OK && i < nmasses; i++) status = add_mass(&masses[i], s, &mass, &lift, message, size);
    if (status == KD_OK) status = kd_sparse_of_entries(s->n, s->n, K.n, K.row, K.column, K.value, &s->arena, &s->K);
    if (status == KD_OK)
        status = kd_sparse_of_entries(stations, stations, mass.n, mass.row, mass.column, mass.value, &s->arena,
                                      &s->station_mass);
    if (status == KD_OK)
        status =
            kd_sparse_of_entries(3 * stations, s->n, lift.n, lift.row, lift.column, lift.value, &s->arena, &s->lift);
    if (status == KD_OK) status = mass_matrix(s, &scratch);
    kd_arena_release(&scratch);
    if (status == KD_ERR_MEMORY) kd_text(message, size, "out of memory");
    if (status < 0) kd_fe_structure_release(s);
    return status;
}
