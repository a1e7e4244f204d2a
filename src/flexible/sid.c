// sid.c: SID files. A file is a list of named matrices with terms of order zero and one in q,
//     mdCM / order / nrow / ncol / nq / nqn / structure / m0( 1, 1) = 1.0D+00 / m1( 1, 2, 1) = .. / end mdCM
// structure: 0 zero, 1 diagonal, 2 symmetric, 3 full, 4 unit; with 0 and 4 no entries follow. m1(row, q, column).
// Geometric stiffness is in the slopes: K0t those of Ct, K0r the part of those of Cr that is symmetric in both modes, K0w in those of
// Oe, -K0F those of phi of a node (where a force acts, points move along with the deformation to second order).
#include "flexible/sid.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/pi.h"
#include "core/read_number.h"
#include "core/shortest.h"
#include "core/text.h"
#include "flexible/fe_files.h"

enum { LONGEST_LINE = 400, MOST_MODES = 500, MOST_FRAMES = 20000, NAME = 40 };

// ---- one matrix -----------------------------------------------------------------------------------------------------

typedef struct taylor {
    int     order, nrow, ncol, nq, structure;
    double *m0, *m1; // (nrow x ncol), (nrow x ncol x nq): row, column, q
} taylor;

typedef struct reader {
    kd_lines         *text;
    char              line[LONGEST_LINE];
    kd_flexible_body *body;
    int               nq, nframes;
    double            mass;
    kd_arena          arena;
} reader;

// The text behind '='; NULL: there is none
static char *value_of(char *line)
{
    char *at = strchr(line, '=');
    if (!at) return NULL;
    at++;
    while (isspace((unsigned char)*at)) at++;
    return at;
}

static bool read_real(char *word, double *value)
{
    char *end;
    for (char *c = word; *c; c++)
        if (*c == 'D' || *c == 'd') *c = 'E';
    *value = kd_read_number(word, &end);
    return end != word && *end == '\0' && isfinite(*value);
}

static bool read_whole(const char *word, long least, long most, int *value)
{
    char *end;
    errno = 0;
    const long n = strtol(word, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    if (end == word || *end || errno || n < least || n > most) return false;
    *value = (int)n;
    return true;
}

// Does the line begin with this word?
static bool begins(const char *line, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && !isalnum((unsigned char)line[n]);
}

// The number of a key of the head of a matrix
static kd_status read_head(reader *r, const char *key, long least, long most, int *value)
{
    if (!kd_lines_next(r->text, r->line, sizeof r->line))
        return kd_lines_refuse(r->text, "the file ends inside of a matrix", "");
    char *word = value_of(r->line);
    if (!begins(r->line, key) || !word || !read_whole(word, least, most, value)) {
        char what[80];
        kd_text(what, sizeof what, "'%s = number' is expected, not", key);
        return kd_lines_refuse(r->text, what, r->line);
    }
    return KD_OK;
}

// m0( 1, 2) or m1( 1, 3, 2)
static kd_status read_entry(reader *r, const taylor *m)
{
    char     *word = value_of(r->line), *at = strchr(r->line, '('), *end;
    const int order = r->line[1] == '1', n = order ? 3 : 2;
    long      index[3] = {0};
    double    value;
    bool      good = at && word && r->line[0] == 'm' && (r->line[1] == '0' || order);
    for (int i = 0; good && i < n; i++) {
        index[i] = strtol(at + 1, &end, 10);
        good = end != at + 1;
        while (isspace((unsigned char)*end)) end++;
        good = good && *end == (i + 1 < n ? ',' : ')');
        at = end;
    }
    const long row = index[0], q = order ? index[1] : 1, column = order ? index[2] : index[1];
    good = good && row >= 1 && row <= m->nrow && column >= 1 && column <= m->ncol && q >= 1 &&
           (!order || (m->m1 && q <= m->nq));
    if (!good || !read_real(word, &value))
        return kd_lines_refuse(r->text, "an entry inside of the matrix is expected, not", r->line);
    const size_t place = (size_t)(row - 1) + (size_t)(column - 1) * (size_t)m->nrow,
                 mirror = (size_t)(column - 1) + (size_t)(row - 1) * (size_t)m->nrow;
    if (order) {
        m->m1[place + (size_t)(q - 1) * (size_t)m->nrow * (size_t)m->ncol] = value;
    } else {
        m->m0[place] = value;
        if (m->structure == 2 && m->nrow == m->ncol) m->m0[mirror] = value;
    }
    return KD_OK;
}

// A matrix from behind its name up to its end
static kd_status read_matrix(reader *r, const char *name, int nrow, int ncol, taylor *m)
{
    int       nqn;
    kd_status status = read_head(r, "order", 0, 1, &m->order);
    if (status == KD_OK) status = read_head(r, "nrow", 0, 100000, &m->nrow);
    if (status == KD_OK) status = read_head(r, "ncol", 0, 100000, &m->ncol);
    if (status == KD_OK) status = read_head(r, "nq", 0, MOST_MODES, &m->nq);
    if (status == KD_OK) status = read_head(r, "nqn", 0, 100000, &nqn);
    if (status == KD_OK) status = read_head(r, "structure", 0, 4, &m->structure);
    if (status < 0) return status;
    const bool empty = m->structure == 0 && (m->nrow == 0 || m->ncol == 0);
    if (!empty && (m->nrow != nrow || m->ncol != ncol || m->nq > r->nq)) {
        char what[120];
        kd_text(what, sizeof what, "%s has %d x %d entries, %d x %d are expected", name, m->nrow, m->ncol, nrow, ncol);
        return kd_lines_refuse(r->text, what, "");
    }
    m->nrow = nrow, m->ncol = ncol, m->nq = r->nq;
    m->m0 = kd_cut_matrix(&r->arena, nrow, ncol);
    if (m->order > 0) m->m1 = kd_cut_matrix(&r->arena, nrow * ncol, r->nq);
    if (r->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; m->structure == 4 && i < nrow && i < ncol; i++) m->m0[(size_t)i * (size_t)(nrow + 1)] = 1;
    for (;;) {
        if (!kd_lines_next(r->text, r->line, sizeof r->line))
            return kd_lines_refuse(r->text, "the file ends inside of a matrix", "");
        if (begins(r->line, "end")) return KD_OK;
        status = read_entry(r, m);
        if (status < 0) return status;
    }
}

// ---- frames ---------------------------------------------------------------------------------------------------------

// Memory of frames that grows; they go into the body at the end
typedef struct frames {
    int                n, room;
    kd_flexible_frame *list;
    const double     **slope; // (n) m1 of phi (3 x nq x nq); NULL: it has none
} frames;

static kd_status read_frame(reader *r, frames *f)
{
    taylor      origin = {0}, phi = {0}, psi = {0};
    char       *name = kd_arena_cut(&r->body->arena, NAME, 1);
    const char *word = value_of(r->line);
    kd_status   status = KD_OK;
    if (!name) return KD_ERR_MEMORY;
    kd_text(name, NAME, "%s", word && *word ? word : "?");
    for (;;) {
        if (!kd_lines_next(r->text, r->line, sizeof r->line))
            return kd_lines_refuse(r->text, "the file ends inside of a node", "");
        if (begins(r->line, "end")) break;
        taylor other = {0};
        if (begins(r->line, "rframe")) continue;
        if (begins(r->line, "origin"))
            status = read_matrix(r, "origin", 3, 1, &origin);
        else if (begins(r->line, "phi"))
            status = read_matrix(r, "phi", 3, r->nq, &phi);
        else if (begins(r->line, "psi"))
            status = read_matrix(r, "psi", 3, r->nq, &psi);
        else if (begins(r->line, "AP"))
            status = read_matrix(r, "AP", 3, 3, &other);
        else if (begins(r->line, "sigma"))
            status = read_matrix(r, "sigma", 6, 1, &other);
        else
            status = kd_lines_refuse(r->text, "origin, phi, psi, AP or sigma of a node is expected, not", r->line);
        if (status < 0) return status;
    }
    if (!origin.m0 || !phi.m0 || !psi.m0)
        return kd_lines_refuse(r->text, "origin, phi or psi of this node is missing:", name);
    if (f->n >= MOST_FRAMES) return kd_lines_refuse(r->text, "too many nodes", "");
    if (f->n == f->room) {
        f->room = f->room > 0 ? 2 * f->room : 16;
        f->list = kd_fe_grow(f->list, (size_t)f->n, (size_t)f->room, sizeof *f->list);
        f->slope = f->list ? kd_fe_grow(f->slope, (size_t)f->n, (size_t)f->room, sizeof *f->slope) : f->slope;
        if (!f->list || !f->slope) return KD_ERR_MEMORY;
    }
    f->slope[f->n] = phi.m1;
    f->list[f->n++] = (kd_flexible_frame){.name = name, .at = kd_vec_of(origin.m0), .Phi = phi.m0, .Psi = psi.m0};
    return KD_OK;
}

// ---- the body -------------------------------------------------------------------------------------------------------

enum { MDCM, J, CT, CR, ME, GR, GE, OE, KSIGMA, KE, DE, MATRICES };
static const char *const matrix_name[MATRICES] = {"mdCM", "J",  "Ct",     "Cr", "Me", "Gr",
                                                  "Ge",   "Oe", "ksigma", "Ke", "De"};

static void sizes_of(int which, int nq, int *nrow, int *ncol)
{
    static const int rows[MATRICES] = {3, 6, 0, 0, 0, 3, 0, 0, 0, 0, 0},
                     columns[MATRICES] = {1, 1, 3, 3, -1, -3, -3, 6, -2, -1, -1};
    *nrow = rows[which] > 0 ? rows[which] : nq;
    *ncol = columns[which] > 0 ? columns[which] : columns[which] == -2 ? 1 : -columns[which] * nq;
}

static bool is_zero(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0) return false;
    return true;
}

// Moments from the matrices of the file
static void take_moments(const reader *r, const taylor *m, kd_flexible_body *b)
{
    const int nq = r->nq;
    b->mass = r->mass;
    memcpy(b->first, m[MDCM].m0, sizeof b->first);
    // int x x' = tr(J)/2 - J
    const double *J0 = m[J].m0, half = (J0[0] + J0[1] + J0[2]) / 2;
    const double second[9] = {half - J0[0], -J0[3], -J0[4], -J0[3], half - J0[1], -J0[5], -J0[4], -J0[5], half - J0[2]};
    memcpy(b->second, second, sizeof second);
    for (int k = 0; k < nq; k++) {
        for (int d = 0; d < 3; d++) {
            b->C[d + 3 * k] = m[CT].m0[k + nq * d];
            b->Cr[d + 3 * k] = m[CR].m0[k + nq * d];
        }
        // A_k' = tr - Gr/2, tr = tr(Gr)/4
        const double *G = m[GR].m0 + 9 * k, t = (G[0] + G[4] + G[8]) / 4;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) b->A[j + 3 * i + 9 * k] = (i == j ? t : 0) - G[i + 3 * j] / 2;
        for (int l = 0; l < nq; l++) {
            double *B = b->B + 9 * ((size_t)k + (size_t)nq * (size_t)l);
            // symmetric part from Oe, tr = -(sum of the first three)/2; the other from Cr: int phi_l x phi_k
            double o[6] = {0}, c[3] = {0};
            for (int i = 0; m[OE].m1 && i < 6; i++) o[i] = m[OE].m1[(size_t)(k + nq * i) + (size_t)l * 6 * (size_t)nq];
            for (int i = 0; m[CR].m1 && i < 3; i++) c[i] = m[CR].m1[(size_t)(k + nq * i) + (size_t)l * 3 * (size_t)nq];
            const double tr = -(o[0] + o[1] + o[2]) / 2;
            for (int i = 0; i < 3; i++) B[4 * i] = o[i] + tr;
            // B_12 - B_21 = int phi_k1 phi_l2 - phi_k2 phi_l1 = -(phi_l x phi_k)_3
            B[3] = (o[3] - c[2]) / 2, B[1] = (o[3] + c[2]) / 2; // 12, 21
            B[7] = (o[4] - c[0]) / 2, B[5] = (o[4] + c[0]) / 2; // 23, 32
            B[6] = (o[5] + c[1]) / 2, B[2] = (o[5] - c[1]) / 2; // 13, 31
        }
    }
    const size_t n = (size_t)nq * (size_t)nq * sizeof(double);
    memcpy(b->Me, m[ME].m0, n);
    memcpy(b->Ke, m[KE].m0, n);
    memcpy(b->De, m[DE].m0, n);
}

// ---- geometric stiffness --------------------------------------------------------------------------------------------

static const double none = 1e-9; // part of the largest entry that is no symmetric part

// m1 of entry k, direction d, by q_l, of a matrix (nq x 3)
static double slope_of(const taylor *m, int k, int d, int l)
{
    return m->m1[(size_t)(k + m->nrow * d) + (size_t)l * (size_t)(m->nrow * m->ncol)];
}

// The slopes of Cr: is there more than int phi_l x phi_k, which changes its sign with both modes?
static bool has_symmetric_part(const taylor *Cr)
{
    double largest = 0, symmetric = 0;
    for (int d = 0; Cr->m1 && d < 3; d++)
        for (int k = 0; k < Cr->nrow; k++)
            for (int l = 0; l < Cr->nrow; l++) {
                largest = fmax(largest, fabs(slope_of(Cr, k, d, l)));
                symmetric = fmax(symmetric, fabs(slope_of(Cr, k, d, l) + slope_of(Cr, l, d, k)));
            }
    return symmetric > none * largest;
}

// Cr keeps the antisymmetric part of its slopes, K0r gets the other
static void split_turns(const taylor *Cr, double *K0r)
{
    const size_t nq = (size_t)Cr->nrow, other = 3 * nq;
    for (size_t d = 0; d < 3; d++)
        for (size_t k = 0; k < nq; k++)
            for (size_t l = 0; l <= k; l++) {
                double      *a = &Cr->m1[k + nq * d + l * other], *b = &Cr->m1[l + nq * d + k * other];
                const double sum = 0.5 * (*a + *b), difference = 0.5 * (*a - *b);
                K0r[d * nq * nq + k + nq * l] = K0r[d * nq * nq + l + nq * k] = sum;
                *a = difference, *b = -difference;
            }
}

static bool any_slope(const reader *r, const frames *f)
{
    for (int i = 0; i < f->n; i++)
        if (f->slope[i] && !is_zero(f->slope[i], 3 * (size_t)r->nq * (size_t)r->nq)) return true;
    return false;
}

// K0w is in Oe, where it counts as a part of the second moments of the modes, as the equations have their sum only
static kd_status take_stiffness(const reader *r, taylor *m, const frames *f, kd_flexible_body *b)
{
    const size_t nq = (size_t)r->nq, square = nq * nq;
    const bool   by_shift = m[CT].m1 && !is_zero(m[CT].m1, 3 * square), by_turn = has_symmetric_part(&m[CR]),
               by_force = any_slope(r, f);
    if (!by_shift && !by_turn && !by_force) return KD_OK;
    b->K0t = kd_cut_matrix(&b->arena, 3 * (int)nq, (int)nq);
    b->K0r = kd_cut_matrix(&b->arena, 3 * (int)nq, (int)nq);
    b->K0w = kd_cut_matrix(&b->arena, 6 * (int)nq, (int)nq);
    if (by_force) b->K0F = kd_cut_matrix(&b->arena, 3 * f->n * (int)nq, (int)nq);
    if (b->arena.failed) return KD_ERR_MEMORY;
    for (size_t d = 0; d < 3 && by_shift; d++)
        for (size_t k = 0; k < nq; k++)
            for (size_t l = 0; l < nq; l++) b->K0t[d * square + k + nq * l] = slope_of(&m[CT], (int)k, (int)d, (int)l);
    if (by_turn) split_turns(&m[CR], b->K0r);
    for (size_t i = 0; i < (size_t)f->n; i++)
        for (size_t d = 0; d < 3 && f->slope[i]; d++)
            for (size_t k = 0; k < nq; k++)
                for (size_t l = 0; l < nq && by_force; l++)
                    b->K0F[(3 * i + d) * square + k + nq * l] = -f->slope[i][d + 3 * k + 3 * nq * l];
    return KD_OK;
}

static kd_status finish_body(reader *r, taylor *m, const frames *f)
{
    kd_flexible_body *b = r->body;
    for (int i = 0; i < MATRICES; i++)
        if (!m[i].m0 && i != KSIGMA) {
            kd_text(r->text->message, r->text->size, "%s: the matrix %s is missing", r->text->path, matrix_name[i]);
            return KD_ERR_FILE;
        }
    if (m[KSIGMA].m0 && !is_zero(m[KSIGMA].m0, (size_t)r->nq)) {
        kd_text(r->text->message, r->text->size, "%s: ksigma is not zero: bodies under initial stress are not read",
                r->text->path);
        return KD_ERR_FILE;
    }
    if (!kd_flexible_body_cut(b, r->nq, f->n, f->n) || take_stiffness(r, m, f, b) != KD_OK) return KD_ERR_MEMORY;
    take_moments(r, m, b);
    for (int i = 0; i < f->n; i++) {
        const kd_flexible_frame *from = &f->list[i];
        b->frame[i].name = from->name;
        b->frame[i].at = from->at;
        kd_vec_to(from->at, b->node + 3 * i);
        memcpy(b->frame[i].Phi, from->Phi, 3 * (size_t)r->nq * sizeof(double));
        memcpy(b->frame[i].Psi, from->Psi, 3 * (size_t)r->nq * sizeof(double));
        for (int k = 0; k < r->nq; k++)
            for (int d = 0; d < 3; d++)
                b->shape[(size_t)(3 * i + d) + (size_t)k * 3 * (size_t)f->n] = from->Phi[d + 3 * k];
    }
    kd_text(b->reference, sizeof b->reference, "%s", "as in the SID file");
    return KD_OK;
}

// mass and number of modes
static kd_status read_refmod(reader *r)
{
    bool has_mass = false, has_modes = false;
    while (kd_lines_next(r->text, r->line, sizeof r->line) && !begins(r->line, "end")) {
        char *word = value_of(r->line);
        if (begins(r->line, "mass")) {
            has_mass = word && read_real(word, &r->mass) && r->mass > 0;
            if (!has_mass) return kd_lines_refuse(r->text, "a positive mass is expected, not", r->line);
        } else if (begins(r->line, "nelastq")) {
            has_modes = word && read_whole(word, 1, MOST_MODES, &r->nq);
            if (!has_modes) return kd_lines_refuse(r->text, "the number of modes is expected, not", r->line);
        }
    }
    return has_mass && has_modes ? KD_OK : kd_lines_refuse(r->text, "mass or nelastq is missing in refmod", "");
}

static kd_status read_sections(reader *r, taylor m[MATRICES], frames *f)
{
    kd_status status = KD_OK;
    bool      any = false;
    // the first line is for people
    if (!kd_lines_next(r->text, r->line, sizeof r->line)) return kd_lines_refuse(r->text, "the file is empty", "");
    while (status == KD_OK && kd_lines_next(r->text, r->line, sizeof r->line)) {
        if (begins(r->line, "part") || begins(r->line, "new modal") || begins(r->line, "end") ||
            begins(r->line, "frame"))
            continue;
        if (begins(r->line, "refmod")) {
            any = true;
            status = read_refmod(r);
            continue;
        }
        if (!any) return kd_lines_refuse(r->text, "this is no SID file: refmod is expected, not", r->line);
        if (begins(r->line, "new node")) {
            status = read_frame(r, f);
            continue;
        }
        int which = 0, nrow, ncol;
        while (which < MATRICES && !begins(r->line, matrix_name[which])) which++;
        if (which == MATRICES) return kd_lines_refuse(r->text, "this matrix is not known:", r->line);
        if (m[which].m0) return kd_lines_refuse(r->text, "this matrix is there twice:", r->line);
        sizes_of(which, r->nq, &nrow, &ncol);
        status = read_matrix(r, matrix_name[which], nrow, ncol, &m[which]);
    }
    if (status == KD_OK && !any) return kd_lines_refuse(r->text, "this is no SID file: there is no refmod", "");
    return status;
}

kd_status kd_sid_parse(kd_lines *text, kd_flexible_body *body)
{
    reader    r = {.text = text, .body = body};
    taylor    m[MATRICES] = {{0}};
    frames    f = {0};
    kd_status status;
    *body = (kd_flexible_body){0};
    status = read_sections(&r, m, &f);
    if (status == KD_OK) status = finish_body(&r, m, &f);
    if (status == KD_ERR_MEMORY) kd_text(text->message, text->size, "%s: out of memory", text->path);
    if (status < 0) kd_flexible_body_release(body);
    kd_free(f.list);
    kd_free(f.slope);
    kd_arena_release(&r.arena);
    return status;
}

kd_status kd_sid_read(const char *path, kd_flexible_body *body, char *message, size_t size)
{
    char  *bytes = NULL;
    size_t length;
    *body = (kd_flexible_body){0};
    kd_status status = kd_fe_load(path, &bytes, &length, message, size);
    if (status < 0) return status;
    kd_lines text = {.path = path, .at = bytes, .end = bytes + length, .message = message, .size = size};
    status = kd_sid_parse(&text, body);
    kd_free(bytes);
    return status;
}

// ---- writing --------------------------------------------------------------------------------------------------------

typedef struct writer {
    FILE *file;
    int   nq;
} writer;

static void put_entry(const writer *w, const char *place, double value)
{
    char digits[KD_SHORTEST_SIZE];
    if (value != 0) fprintf(w->file, "                          %-22s= %s\n", place, kd_shortest_text(value, digits));
}

static void put_head(const writer *w, const char *name, int order, int nrow, int ncol, int structure)
{
    fprintf(w->file, "           %s\n", name);
    const struct {
        const char *key;
        int         value;
    } row[] = {{"order", order}, {"nrow", nrow}, {"ncol", ncol}, {"nq", w->nq}, {"nqn", 0}, {"structure", structure}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        fprintf(w->file, "                          %-22s= %4d\n", row[i].key, row[i].value);
}

// m0 (nrow x ncol), m1 (nrow x ncol x nq) or NULL
static void put_matrix(const writer *w, const char *name, int nrow, int ncol, const double *m0, const double *m1)
{
    const size_t count = (size_t)nrow * (size_t)ncol;
    const bool   zero = is_zero(m0, count) && (!m1 || is_zero(m1, count * (size_t)w->nq));
    char         place[60];
    put_head(w, name, m1 ? 1 : 0, nrow, ncol, zero ? 0 : 3);
    for (int j = 0; j < ncol; j++)
        for (int i = 0; i < nrow; i++) {
            snprintf(place, sizeof place, "m0(%2d,%2d)", i + 1, j + 1);
            put_entry(w, place, m0[(size_t)i + (size_t)j * (size_t)nrow]);
        }
    for (int q = 0; m1 && q < w->nq; q++)
        for (int j = 0; j < ncol; j++)
            for (int i = 0; i < nrow; i++) {
                snprintf(place, sizeof place, "m1(%2d,%2d,%2d)", i + 1, q + 1, j + 1);
                put_entry(w, place, m1[(size_t)i + (size_t)j * (size_t)nrow + (size_t)q * count]);
            }
    fprintf(w->file, "           end %s\n", name);
}

// entry k, l of one of the matrices of geometric stiffness, symmetric; 0 where it is not known
static double stiffness_entry(const double *K, size_t nq, size_t i, size_t k, size_t l)
{
    return K ? 0.5 * (K[i * nq * nq + k + nq * l] + K[i * nq * nq + l + nq * k]) : 0;
}

// number: of the frame in the body
static void put_frame(const writer *w, const kd_flexible_body *b, int number, double *work)
{
    const kd_flexible_frame *f = &b->frame[number];
    const size_t             nq = (size_t)w->nq;
    double                   at[3];
    kd_vec_to(f->at, at);
    fprintf(w->file,
            "                new node                        = %s\n                     rframe                     =   "
            " body ref\n",
            f->name);
    put_matrix(w, "origin", 3, 1, at, f->Phi);
    for (size_t d = 0; d < 3 && b->K0F; d++)
        for (size_t k = 0; k < nq; k++)
            for (size_t l = 0; l < nq; l++)
                work[d + 3 * k + 3 * nq * l] = -stiffness_entry(b->K0F, nq, 3 * (size_t)number + d, k, l);
    put_matrix(w, "phi", 3, w->nq, f->Phi, b->K0F ? work : NULL);
    put_matrix(w, "psi", 3, w->nq, f->Psi, NULL);
    // A = 1 + (psi_q)~
    static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int q = 0; q < w->nq; q++) {
        const double *p = f->Psi + 3 * q, turned[9] = {0, p[2], -p[1], -p[2], 0, p[0], p[1], -p[0], 0};
        memcpy(work + 9 * q, turned, sizeof turned);
    }
    put_matrix(w, "AP", 3, 3, unit, work);
    fprintf(w->file, "                end node\n");
}

// J1 = 2 tr(A) - A - A' as 11 22 33 12 13 23
static void inertia_slope(const double *A, double J1[6])
{
    const double t = 2 * (A[0] + A[4] + A[8]);
    J1[0] = t - 2 * A[0], J1[1] = t - 2 * A[4], J1[2] = t - 2 * A[8];
    J1[3] = -A[1] - A[3], J1[4] = -A[2] - A[6], J1[5] = -A[5] - A[7];
}

// slopes of Cr: int phi_l x phi_k, and K0r
static void turn_slopes(const kd_flexible_body *b, bool stiffened, double *m1)
{
    const size_t nq = (size_t)b->nq;
    for (size_t k = 0; k < nq; k++)
        for (size_t l = 0; l < nq; l++) {
            const double *B = b->B + 9 * (k + nq * l), c1[3] = {B[5] - B[7], B[6] - B[2], B[1] - B[3]};
            for (size_t d = 0; d < 3; d++)
                m1[k + nq * d + l * 3 * nq] = c1[d] + (stiffened ? stiffness_entry(b->K0r, nq, d, k, l) : 0);
        }
}

static void put_inertia(const writer *w, const kd_flexible_body *b, double *m0, double *m1)
{
    const int     nq = b->nq;
    const double *S = b->second, t = S[0] + S[4] + S[8];
    const double  J0[6] = {t - S[0], t - S[4], t - S[8], -S[3], -S[6], -S[7]};
    double        J1[6];
    put_matrix(w, "mdCM", 3, 1, b->first, b->C);
    for (int k = 0; k < nq; k++) inertia_slope(b->A + 9 * k, m1 + 6 * k);
    put_matrix(w, "J", 6, 1, J0, m1);
    for (int k = 0; k < nq; k++)
        for (int d = 0; d < 3; d++) m0[k + nq * d] = b->C[d + 3 * k];
    for (int l = 0; l < nq && b->K0t; l++)
        for (int k = 0; k < nq; k++)
            for (int d = 0; d < 3; d++)
                m1[(size_t)(k + nq * d) + (size_t)l * 3 * (size_t)nq] =
                    stiffness_entry(b->K0t, (size_t)nq, (size_t)d, (size_t)k, (size_t)l);
    put_matrix(w, "Ct", nq, 3, m0, b->K0t ? m1 : NULL);
    // Cr: int x x phi_k
    for (int k = 0; k < nq; k++)
        for (int d = 0; d < 3; d++) m0[k + nq * d] = b->Cr[d + 3 * k];
    turn_slopes(b, true, m1);
    put_matrix(w, "Cr", nq, 3, m0, m1);
    turn_slopes(b, false, m1);
    put_matrix(w, "Me", nq, nq, b->Me, NULL);
    for (int k = 0; k < nq; k++) {
        const double *A = b->A + 9 * k, tr = A[0] + A[4] + A[8];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) m0[i + 3 * j + 9 * k] = 2 * ((i == j ? tr : 0) - A[j + 3 * i]);
    }
    put_matrix(w, "Gr", 3, 3 * nq, m0, NULL);
    // Ge: the columns of all modes for one component of the angular velocity side by side
    for (int k = 0; k < nq; k++)
        for (int l = 0; l < nq; l++)
            for (int d = 0; d < 3; d++)
                m0[k + nq * (l + nq * d)] = 2 * m1[(size_t)(k + nq * d) + (size_t)l * 3 * (size_t)nq];
    put_matrix(w, "Ge", nq, 3 * nq, m0, NULL);
    // Oe: 11 22 33 12 23 13
    for (int k = 0; k < nq; k++) {
        inertia_slope(b->A + 9 * k, J1);
        const double o[6] = {-J1[0] / 2, -J1[1] / 2, -J1[2] / 2, -J1[3], -J1[5], -J1[4]};
        for (int i = 0; i < 6; i++) m0[k + nq * i] = o[i];
        for (int l = 0; l < nq; l++) {
            const double *B = b->B + 9 * ((size_t)k + (size_t)nq * (size_t)l), tr = B[0] + B[4] + B[8];
            const double  o1[6] = {B[0] - tr, B[4] - tr, B[8] - tr, B[1] + B[3], B[5] + B[7], B[2] + B[6]};
            for (int i = 0; i < 6; i++)
                m1[(size_t)(k + nq * i) + (size_t)l * 6 * (size_t)nq] =
                    o1[i] + stiffness_entry(b->K0w, (size_t)nq, (size_t)i, (size_t)k, (size_t)l);
        }
    }
    put_matrix(w, "Oe", nq, 6, m0, m1);
}

bool kd_sid_write(const kd_flexible_body *b, FILE *file)
{
    const writer w = {file, b->nq};
    kd_arena     scratch = {0};
    double      *m0 = kd_cut_matrix(&scratch, 9 * b->nq, b->nq), *m1 = kd_cut_matrix(&scratch, 9 * b->nq, b->nq);
    double      *omega = kd_cut_double(&scratch, b->nq);
    const bool   ready = !scratch.failed && kd_flexible_body_frequencies(b, omega) == KD_OK;
    if (ready) {
        fprintf(file,
                "%5d%5d    :No. nodes, No. modes: written by kardan, reference %s, %s\n part\n     "
                " new modal\n           refmod\n",
                b->nframes, b->nq, b->reference,
                b->K0t || b->K0w || b->K0F ? "with geometric stiffness" : "no geometric stiffness");
        char digits[KD_SHORTEST_SIZE];
        fprintf(file,
                "                mass                            = %s\n                nelastq                         "
                "= %5d\n",
                kd_shortest_text(b->mass, digits), b->nq);
        for (int k = 0; k < b->nq; k++)
            fprintf(file, "                ielastq (%4d)                  = Eigen Mode %4d : %s Hz\n", k + 1, k + 1,
                    kd_shortest_text(omega[k] / (2 * KD_PI), digits));
        fprintf(file, "           end refmod\n           frame\n");
        for (int i = 0; i < b->nframes; i++) put_frame(&w, b, i, m1);
        fprintf(file, "           end frame\n");
        put_inertia(&w, b, m0, m1);
        memset(m0, 0, (size_t)b->nq * sizeof *m0);
        put_matrix(&w, "ksigma", b->nq, 1, m0, NULL);
        put_matrix(&w, "Ke", b->nq, b->nq, b->Ke, NULL);
        put_matrix(&w, "De", b->nq, b->nq, b->De, NULL);
        fprintf(file, "      end modal\n end part\n");
    }
    kd_arena_release(&scratch);
    return ready && !ferror(file);
}
