// wide_setup.c: what follows from the moments of a link that deforms and from the modes at its markers; memory of one thread; energies.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tree/wide.h"

// No four lies in two lines of the cache
double *kd_cut_fours(kd_arena *arena, int rows, int columns)
{
    enum { LINE = 64 };
    const size_t size = (size_t)(rows > 0 ? rows : 0) * (size_t)(columns > 0 ? columns : 0) * sizeof(double);
    char        *memory = kd_arena_cut(arena, size + LINE, 1);
    return memory ? (double *)(void *)(memory + (LINE - (uintptr_t)memory % LINE)) : NULL;
}

// ---- blocks of four modes ------------------------------------------------------------------------------------------

// What mode l gives to its rows: J_l of D, C, then b_l = int c x c_l of D = int c c_l'
static void put_rows(const double *D, const double *C, double *row)
{
    const double two = 2 * (D[0] + D[4] + D[8]);
    const double J[6] = {two - 2 * D[0], two - 2 * D[4], two - 2 * D[8], -D[1] - D[3], -D[2] - D[6], -D[5] - D[7]};
    const double b[3] = {D[7] - D[5], D[2] - D[6], D[3] - D[1]};
    for (int r = 0; r < 6; r++) row[4 * r] = J[r];
    for (int r = 0; C && r < 3; r++) row[4 * (6 + r)] = C[r];
    for (int r = 0; r < 3; r++) row[4 * (9 + r)] = b[r];
}

// where the rows of mode l start
static double *rows_of(double *row, int nrows, int l)
{
    return row + 4 * nrows * (l / 4) + l % 4;
}

static const double rounding = 1e-14; // part of the largest slope of its kind that is none

// largest entry of four i of n, for all k
static double largest_four(int i, int n, int m, const double *all)
{
    double largest = 0;
    for (int k = 0; k < m; k++)
        for (int e = 0; e < 4; e++) largest = fmax(largest, fabs(all[4 * (i + n * k) + e]));
    return largest;
}

// The fours of (4 n x m) that are not 0 for every k: how many, where they stand, and their slopes, those of one side by side, up to
// fours. Of nrows rows of a block those from first to end - 1, slopes of C, are of another kind than moments.
typedef struct kept_fours {
    int           nrows, first, end;
    int           n;
    const int    *at;
    const double *slope;
} kept_fours;

static void keep_fours(kept_fours *c, int n, int m, const double *all, kd_arena *arena)
{
    const int mp = (m + 3) / 4 * 4;
    int      *place = kd_cut_int(arena, n);
    double   *out = kd_cut_fours(arena, 4 * mp, n), largest[2] = {0, 0};
    if (arena->failed) return;
    for (int i = 0; i < n; i++) {
        double *kind = &largest[i % c->nrows >= c->first && i % c->nrows < c->end];
        *kind = fmax(*kind, largest_four(i, n, m, all));
    }
    for (int i = 0; i < n; i++) {
        const bool other = i % c->nrows >= c->first && i % c->nrows < c->end;
        if (!(largest_four(i, n, m, all) > rounding * largest[other])) continue;
        for (int k = 0; k < m; k++) memcpy(out + 4 * (k + mp * c->n), all + 4 * (i + n * k), 4 * sizeof *out);
        place[c->n++] = 4 * i;
    }
    c->at = place, c->slope = out;
}

// M with zeros below it. Modes that fill up the last four have an inertia of their own, so that they can be eliminated like the others.
static double *make_columns(const kd_wide *c, int mp, kd_arena *arena)
{
    const int ld = mp + KD_WIDE_TAIL;
    double   *column = kd_cut_fours(arena, ld, mp), largest = 0;
    if (!column) return NULL;
    for (int l = 0; l < c->m; l++) {
        memcpy(column + ld * l, c->M + c->m * l, (size_t)c->m * sizeof *column);
        largest = fmax(largest, c->M[l + c->m * l]);
    }
    for (int l = c->m; l < mp; l++) column[l + ld * l] = largest;
    return column;
}

bool kd_wide_finish(kd_wide *c, kd_arena *arena)
{
    const int m = c->m, mp = (m + 3) / 4 * 4;
    kd_arena  scratch = {0};
    c->mp = mp;
    c->nturns = c->C_q || c->b_q ? 9 : 3;
    double *row = kd_cut_fours(arena, mp, KD_WIDE_ROWS), *row_q = kd_cut_matrix(&scratch, mp * KD_WIDE_ROWS, m);
    double *turn_q = kd_cut_matrix(&scratch, mp * c->nturns, m);
    for (int l = 0; l < m && !arena->failed && !scratch.failed; l++) {
        put_rows(c->D + 9 * l, c->C + 3 * l, rows_of(row, KD_WIDE_ROWS, l));
        for (int k = 0; k < m; k++) {
            const int at = k + m * l;
            double   *turn = rows_of(turn_q + k * mp * c->nturns, c->nturns, l);
            put_rows(c->D_q + 9 * at, c->C_q ? c->C_q + 3 * at : NULL,
                     rows_of(row_q + k * mp * KD_WIDE_ROWS, KD_WIDE_ROWS, l));
            for (int r = 0; r < 3; r++) {
                turn[4 * r] = c->T[3 * at + r];
                if (c->b_q) turn[4 * (3 + r)] = c->b_q[3 * at + r];
                if (c->C_q) turn[4 * (6 + r)] = c->C_q[3 * at + r];
            }
        }
    }
    // J = tr S - S
    const kd_mat3 *S = &c->second;
    c->J = (kd_sym3){S->y.y + S->z.z, S->x.x + S->z.z, S->x.x + S->y.y, -S->x.y, -S->x.z, -S->y.z};
    c->row = row, c->column = make_columns(c, mp, arena);
    kept_fours rows = {.nrows = KD_WIDE_ROWS, .first = 6, .end = 9}, turns = {.nrows = c->nturns, .first = 6, .end = 9};
    if (!arena->failed && !scratch.failed) {
        keep_fours(&rows, mp / 4 * KD_WIDE_ROWS, m, row_q, arena);
        keep_fours(&turns, mp / 4 * c->nturns, m, turn_q, arena);
        c->nfours = rows.n, c->four_at = rows.at, c->row_q = rows.slope;
        c->nturn_fours = turns.n, c->turn_at = turns.at, c->turn_q = turns.slope;
    }
    const bool failed = arena->failed || scratch.failed;
    kd_arena_release(&scratch);
    return !failed;
}

// slopes of the shifts in blocks of four modes, as far as they are not 0
static bool keep_bends(kd_marker *c, kd_arena *arena)
{
    const int m = c->m, n = c->mp / 4 * KD_MARKER_ROWS;
    kd_arena  scratch = {0};
    double   *all = kd_cut_matrix(&scratch, 4 * n, m);
    for (int l = 0; l < m && !scratch.failed; l++)
        for (int k = 0; k < m; k++)
            for (int a = 0; a < 3; a++)
                rows_of(all + 4 * n * l, KD_MARKER_ROWS, k)[4 * a] = c->bend[a + 3 * (k + m * l)];
    kept_fours bends = {.nrows = KD_MARKER_ROWS, .first = 3, .end = KD_MARKER_ROWS};
    if (!scratch.failed) keep_fours(&bends, n, m, all, arena);
    c->nbends = bends.n, c->bend_at = bends.at, c->bend_q = bends.slope;
    int *block = kd_cut_int(arena, c->nbends), *along = kd_cut_int(arena, c->nbends);
    for (int i = 0; i < c->nbends && !arena->failed; i++) {
        block[i] = c->bend_at[i] / 4 / KD_MARKER_ROWS;
        along[i] = c->bend_at[i] / 4 % KD_MARKER_ROWS;
    }
    c->bend_block = block, c->bend_along = along;
    const bool failed = arena->failed || scratch.failed;
    kd_arena_release(&scratch);
    return !failed;
}

// Does mode k move the letter, now or once others have moved?
static bool is_moved(const kd_marker *c, int letter, int k)
{
    const int along = kd_marker_along[letter];
    if (c->Phi[along + 6 * k] != 0) return true;
    for (int l = 0; kd_marker_bends(c, letter) && l < c->m; l++)
        if (c->bend[along + 3 * (k + c->m * l)] != 0) return true;
    return false;
}

bool kd_marker_finish(kd_marker *c, kd_arena *arena)
{
    const int m = c->m, mp = (m + 3) / 4 * 4, most = KD_MARKER_LETTERS * m;
    double   *row = kd_cut_fours(arena, mp, KD_MARKER_ROWS);
    int      *letter = kd_cut_int(arena, most), *mode = kd_cut_int(arena, most), n = 0;
    if (arena->failed) return false;
    c->mp = mp;
    if (c->bend && !keep_bends(c, arena)) return false;
    for (int k = 0; k < m; k++)
        for (int a = 0; a < 6; a++) rows_of(row, KD_MARKER_ROWS, k)[4 * a] = c->Phi[6 * k + a];
    // steps of paths letter by letter
    for (int a = 0; a < KD_MARKER_LETTERS; a++)
        for (int k = 0; k < m; k++)
            if (is_moved(c, a, k)) letter[n] = a, mode[n++] = k;
    c->row = row, c->letter = letter, c->mode = mode, c->nsteps = n;
    c->still = n == 0;
    return true;
}

// ---- memory and energies -------------------------------------------------------------------------------------------

bool kd_wide_cut(const kd_wide *c, kd_arena *arena, kd_wide_state *s)
{
    const int m = c->m, mp = c->mp, ld = mp + KD_WIDE_TAIL;
    double  **six[] = {&s->U, &s->S, &s->by_p, &s->by_v}, **one[] = {&s->q, &s->dq, &s->ddq, &s->Q, &s->pivot};
    double  **square[] = {&s->W, &s->block_p, &s->block_v};
    for (int i = 0; i < 4; i++) *six[i] = kd_cut_fours(arena, 6, mp);
    for (int i = 0; i < 5; i++) *one[i] = kd_cut_fours(arena, 1, mp);
    for (int i = 0; i < 3; i++) *square[i] = kd_cut_matrix(arena, m, m);
    s->row = kd_cut_fours(arena, mp, KD_WIDE_ROWS);
    s->gyro = kd_cut_fours(arena, mp, c->nturns);
    s->column = kd_cut_fours(arena, ld, mp);
    s->factor = kd_cut_fours(arena, mp, mp);
    s->IS = kd_cut_fours(arena, KD_WIDE_TAIL, mp);
    s->B = kd_cut_double(arena, 3 * m);
    if (!arena->failed) memcpy(s->row, c->row, (size_t)(KD_WIDE_ROWS * mp) * sizeof *s->row);
    return !arena->failed;
}

// T = m v v/2 + v (w x h) + w J w/2 + v p + w b + q' M q'/2
double kd_wide_energy(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v)
{
    double T = 0.5 * c->mass * kd_vec_dot(v, v) + kd_vec_dot(v, kd_vec_add(kd_vec_cross(w, s->h), s->p));
    T += 0.5 * kd_vec_dot(w, kd_sym_vec(&s->J, w));
    for (int l = 0; l < c->m; l++) {
        double Mq = 0;
        for (int k = 0; k < c->m; k++) Mq += c->M[k + c->m * l] * s->dq[k];
        T += s->dq[l] * (kd_vec_dot(w, kd_wide_b(s, l)) + 0.5 * Mq);
    }
    return T;
}

kd_vec3 kd_wide_momentum(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v)
{
    return kd_vec_axpy(kd_vec_add(kd_vec_cross(w, s->h), s->p), c->mass, v);
}

kd_vec3 kd_wide_spin(const kd_wide_state *s, kd_vec3 w, kd_vec3 v)
{
    return kd_vec_add(kd_vec_add(kd_vec_cross(s->h, v), kd_sym_vec(&s->J, w)), s->beta);
}
