// beam_stress.c: stress of the modes of own beams at the rim of the section, at all ends of elements.
//
// Internal forces N, Vy, Vz, T, My, Mz act on a cut from the side of larger x. The ends of an element have, by K_e u_e, the forces of an
// element that nothing loads in between; inertia does. N, Vy, Vz and T, constant in an element, are means over it: at the nodes stand
// the values of the parabolas that have the means of three elements. The change of V in an element, -q L, adds q L^2/12 to the
// bending moments of its ends. Concentrated loads act at the ends of beams only. Stress, y and z in the section:
//     sigma = N/A + My z/Iy - Mz y/Iz
//     round: tau = T r/J + V (R^2 + R r + r^2) cos(angle to the neutral axis)/(3 I), along the rim
//     box:   tau = 1.5 V/A in the middle of sides along V; T by Saint-Venant's series (Timoshenko, Goodier, Theory of Elasticity, 109)
#include <math.h>

#include "core/pi.h"
#include "core/text.h"
#include "flexible/beams.h"
#include "flexible/stress.h"

enum { ROUND = 16, BOX = 8, OUTER = 4, FORCES = 6, TERMS = 20 };
static const double CATALAN = 0.91596559417721901505; // 1 - 1/9 + 1/25 - ..
enum { N, VY, VZ, T, MY, MZ };

// A point of the rim: what each internal force does there to sigma_xx, sigma_xy, sigma_xz
typedef struct fibre {
    double y, z;
    double by[FORCES][3];
} fibre;

static int fibres_of(const kd_beam_section *s)
{
    return s->kind == KD_RIM_ROUND ? ROUND : s->kind == KD_RIM_BOX ? BOX : s->kind == KD_RIM_OUTER ? OUTER : 0;
}

static fibre fibre_at(const kd_beam_section *s, double y, double z)
{
    fibre f = {.y = y, .z = z};
    f.by[N][0] = 1 / s->area;
    f.by[MY][0] = z / s->Iy;
    f.by[MZ][0] = -y / s->Iz;
    return f;
}

static fibre round_fibre(const kd_beam_section *s, int i)
{
    const double R = s->rim[0], r = s->rim[1], c = cos(2 * KD_PI * i / ROUND), d = sin(2 * KD_PI * i / ROUND);
    const double rim = (R * R + R * r + r * r) / 3; // of V/I, on the neutral axis
    fibre        f = fibre_at(s, R * c, R * d);
    f.by[T][1] = -R * d / s->torsion;
    f.by[T][2] = R * c / s->torsion;
    // along the rim (-sin, cos)
    f.by[VZ][1] = -rim * c * d / s->Iy;
    f.by[VZ][2] = rim * c * c / s->Iy;
    f.by[VY][1] = rim * d * d / s->Iz;
    f.by[VY][2] = -rim * c * d / s->Iz;
    return f;
}

// Shear by twist in the middle of the long and the short sides, over G times the twist per length
static void twist_of_box(double a, double b, double *along, double *across)
{
    double inner = 0, outer = CATALAN, sign = 1;
    for (int k = 0; k < TERMS; k++, sign = -sign) {
        const double n = 2 * k + 1, x = n * KD_PI * a / (2 * b);
        inner += 1 / (n * n * cosh(fmin(x, 700)));
        outer -= sign * (1 - tanh(x)) / (n * n);
    }
    *along = b * (1 - 8 / (KD_PI * KD_PI) * inner);
    *across = b * 8 / (KD_PI * KD_PI) * outer;
}

// corners, then middles of the sides y = +-, z = +-
static fibre box_fibre(const kd_beam_section *s, int i)
{
    const double y = s->rim[0] / 2, z = s->rim[1] / 2, sign = i % 2 ? -1 : 1;
    double       along, across;
    if (i < 4) return fibre_at(s, i & 1 ? -y : y, i & 2 ? -z : z);
    twist_of_box(2 * fmax(y, z), 2 * fmin(y, z), &along, &across);
    const bool side_y = i < 6; // a side y = const is a long one if z is the longer edge
    fibre      f = side_y ? fibre_at(s, sign * y, 0) : fibre_at(s, 0, sign * z);
    if (side_y) {
        f.by[T][2] = sign * (z >= y ? along : across) / s->torsion;
        f.by[VZ][2] = 1.5 / s->area;
    } else {
        f.by[T][1] = -sign * (y >= z ? along : across) / s->torsion;
        f.by[VY][1] = 1.5 / s->area;
    }
    return f;
}

// Corners of sections that are known by numbers; shear by forces is not known
static fibre outer_fibre(const kd_beam_section *s, int i)
{
    const double y = i & 1 ? -s->rim[0] : s->rim[0], z = i & 2 ? -s->rim[1] : s->rim[1], far = hypot(y, z);
    fibre        f = fibre_at(s, y, z);
    f.by[T][1] = -z / far / s->twist;
    f.by[T][2] = y / far / s->twist;
    return f;
}

static fibre fibre_of(const kd_beam_section *s, int i)
{
    return s->kind == KD_RIM_ROUND ? round_fibre(s, i) : s->kind == KD_RIM_BOX ? box_fibre(s, i) : outer_fibre(s, i);
}

// ---- internal forces ------------------------------------------------------------------------------------------------

// The value at the left edge of interval j of a parabola with the means c of intervals j, j + 1 and j - 1 or j + 2; step: +-12
static double edge_of(const double *c, int step, bool before)
{
    return before ? (2 * c[-step] + 5 * c[0] - c[step]) / 6 : (11 * c[0] - 7 * c[step] + 2 * c[2 * step]) / 6;
}

// The value at node j = 0 .. n of a function with the means c[12 e] over the elements
static double from_means(const double *c, int n, int j)
{
    if (n == 1) return c[0];
    if (n == 2) return j == 0 ? (3 * c[0] - c[12]) / 2 : j == 1 ? (c[0] + c[12]) / 2 : (3 * c[12] - c[0]) / 2;
    const double *right = c + 12 * j, *left = c + 12 * (j - 1);
    if (j == 0) return edge_of(right, 12, false);
    if (j == n) return edge_of(left, -12, false);
    // from both sides where there are three
    if (j == n - 1) return edge_of(left, -12, true);
    if (j == 1) return edge_of(right, 12, true);
    return (edge_of(left, -12, true) + edge_of(right, 12, true)) / 2;
}

// At the nodes of a row, force (6 x (n + 1)), by displacements U; ends (12 x n): room
static void internal_forces(const kd_fe_structure *s, const kd_beam_row *row, const double *U, double *ends,
                            double *force)
{
    static const int even[] = {N, VY, VZ, T};
    const int        n = row->n;
    for (int e = 0; e < n; e++) kd_beam_end_forces(s, row, e, U, ends + 12 * e);
    // the far end has the sign of the cut
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= n; j++) force[even[i] + FORCES * j] = from_means(ends + 6 + even[i], n, j);
    // moments: the mean of both elements at a node
    for (int j = 0; j <= n; j++) force[MY + FORCES * j] = force[MZ + FORCES * j] = 0;
    for (int e = 0; e < n; e++) {
        const double *f = ends + 12 * e, L = s->element[row->first + e].length;
        const double  dVy = force[VY + FORCES * (e + 1)] - force[VY + FORCES * e];
        const double  dVz = force[VZ + FORCES * (e + 1)] - force[VZ + FORCES * e];
        for (int end = 0; end < 2; end++) {
            const int    j = e + end;
            const double share = j == 0 || j == n ? 1 : 0.5, sign = end ? 1 : -1;
            force[MY + FORCES * j] += share * (sign * f[6 * end + MY] + dVz * L / 12);
            force[MZ + FORCES * j] += share * (sign * f[6 * end + MZ] - dVy * L / 12);
        }
    }
}

// R sigma R' of sigma with xx, xy, xz alone
static void turn_stress(const kd_mat3 *R, const double local[3], double sigma[6])
{
    // sigma = e x' + x e', e = xx x/2 + xy y + xz z
    const kd_vec3 x = R->x;
    const kd_vec3 e = kd_vec_axpy(kd_vec_axpy(kd_vec_scale(local[0] / 2, R->x), local[1], R->y), local[2], R->z);
    sigma[0] = 2 * e.x * x.x;
    sigma[1] = 2 * e.y * x.y;
    sigma[2] = 2 * e.z * x.z;
    sigma[3] = e.x * x.y + x.x * e.y;
    sigma[4] = e.y * x.z + x.y * e.z;
    sigma[5] = e.z * x.x + x.z * e.x;
}

// ---- places ---------------------------------------------------------------------------------------------------------

// Node j of a row in space
static kd_vec3 node_at(const kd_fe_structure *s, const kd_beam_row *row, int j)
{
    const kd_beam_element *e = &s->element[row->first + (j < row->n ? j : row->n - 1)];
    return s->at[e->node[j < row->n ? 0 : 1]];
}

// Places of a row from number `first` on, and the stress of all modes there; force (6 (n + 1) x nq)
static void fill_row(const kd_fe_structure *s, const kd_beam_row *row, const double *force, int first,
                     kd_flexible_body *b)
{
    const kd_mat3 *R = &s->element[row->first].axes;
    const size_t   wide = FORCES * ((size_t)row->n + 1);
    for (int j = 0, place = first; j <= row->n; j++) {
        const kd_beam_section section = kd_beam_section_between(&row->begin, &row->end, (double)j / row->n);
        for (int i = 0; i < fibres_of(&section); i++, place++) {
            const fibre   f = fibre_of(&section, i);
            const kd_vec3 at = kd_vec_axpy(kd_vec_axpy(node_at(s, row, j), f.y, R->y), f.z, R->z);
            kd_vec_to(at, b->place + 3 * (size_t)place);
            for (int k = 0; k < b->nq; k++) {
                const double *cut = force + (size_t)k * wide + FORCES * (size_t)j;
                double        local[3] = {0};
                for (int a = 0; a < FORCES; a++)
                    for (int d = 0; d < 3; d++) local[d] += f.by[a][d] * cut[a];
                turn_stress(R, local, b->stress + 6 * ((size_t)k * (size_t)b->nplaces + (size_t)place));
            }
        }
    }
}

static int most_elements(const kd_fe_structure *s)
{
    int most = 0;
    for (int r = 0; r < s->nrows; r++) most = s->row[r].n > most ? s->row[r].n : most;
    return most;
}

kd_status kd_beam_stress(const kd_fe_structure *s, const double *U, kd_flexible_body *b, char *message, size_t size)
{
    kd_arena  scratch = {0};
    const int most = most_elements(s);
    double   *ends = kd_cut_matrix(&scratch, 12, most), *force = kd_cut_matrix(&scratch, FORCES * (most + 1), b->nq);
    int       nplaces = 0;
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    for (int r = 0; status == KD_OK && r < s->nrows; r++) {
        const kd_beam_section middle = kd_beam_section_between(&s->row[r].begin, &s->row[r].end, 0.5);
        nplaces += fibres_of(&middle) * (s->row[r].n + 1);
        if (fibres_of(&middle) > 0) continue;
        kd_text(message, size,
                "stress of beam %d: its section must be round, tube or box at both ends, or have 'outer' and "
                "'twist_modulus'",
                r + 1);
        status = KD_ERR_MODEL;
    }
    if (status == KD_OK && !kd_stress_cut(b, nplaces)) status = KD_ERR_MEMORY;
    for (int r = 0, first = 0; status == KD_OK && r < s->nrows; r++) {
        const kd_beam_row *row = &s->row[r];
        for (int k = 0; k < b->nq; k++)
            internal_forces(s, row, U + (size_t)k * (size_t)s->n, ends,
                            force + (size_t)k * FORCES * ((size_t)row->n + 1));
        fill_row(s, row, force, first, b);
        first += fibres_of(&row->begin) * (row->n + 1);
    }
    kd_arena_release(&scratch);
    return status;
}
