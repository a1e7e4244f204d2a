// stress.c: stress of flexible bodies: values, hot spots, and modes as combinations of the cases of another program.
//
// With displacements D and stress S of the cases, rigid motions taken out of D and of the modes U: the combination C with the least
// |U - D C| gives the stress modes S C. What is left of a mode is told, and refused where it is more than LEFT.
#include "flexible/stress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/pi.h"
#include "core/text.h"
#include "math/blas.h"
#include "math/dense.h"

static const double LEFT = 0.01, DOUBTFUL = 1e-3; // parts of a mode that the cases do not have
static const double SINGULAR = 1e-10;             // of the squares: results have five or six digits
static const double APART = 0.05;                 // of the body: hot spots that are nearer are one

// ---- values ---------------------------------------------------------------------------------------------------------

const char *kd_stress_word(kd_stress_kind kind)
{
    static const char *const words[KD_STRESS_KINDS] = {"xx",    "yy",     "zz", "xy", "yz", "zx",
                                                       "mises", "signed", "p1", "p2", "p3"};
    return words[kind];
}

static double mises_of(const double s[6])
{
    const double a = s[0] - s[1], b = s[1] - s[2], c = s[2] - s[0];
    return sqrt((a * a + b * b + c * c) / 2 + 3 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]));
}

// Eigenvalues of the deviator s, of the characteristic polynomial x^3 - J2 x - J3 = 0: x = 2 sqrt(J2/3) cos(angle)
static void principal(const double s[6], double p[3])
{
    const double mean = (s[0] + s[1] + s[2]) / 3, x = s[0] - mean, y = s[1] - mean, z = s[2] - mean;
    const double J2 = (x * x + y * y + z * z) / 2 + s[3] * s[3] + s[4] * s[4] + s[5] * s[5];
    const double J3 = x * (y * z - s[4] * s[4]) - s[3] * (s[3] * z - s[4] * s[5]) + s[5] * (s[3] * s[4] - y * s[5]);
    const double size = sqrt(J2 / 3);
    const double cosine = size > 0 ? fmax(-1, fmin(1, J3 / (2 * size * size * size))) : 1, angle = acos(cosine) / 3;
    for (int i = 0; i < 3; i++) p[i] = mean;
    if (!(size > 0)) return;
    p[0] += 2 * size * cos(angle);
    p[1] += 2 * size * cos(angle - 2 * KD_PI / 3);
    p[2] += 2 * size * cos(angle + 2 * KD_PI / 3);
}

double kd_stress_value(const double s[6], kd_stress_kind kind)
{
    double p[3];
    if (kind < KD_STRESS_MISES) return s[kind];
    if (kind == KD_STRESS_MISES) return mises_of(s);
    principal(s, p);
    // pure shear has no sign: it must not come from rounding
    if (kind == KD_STRESS_SIGNED) return p[0] + p[2] < -1e-6 * (p[0] - p[2]) ? -mises_of(s) : mises_of(s);
    return p[kind - KD_STRESS_P1];
}

void kd_stress_at(const kd_flexible_body *b, int place, int m, const double *q, double sigma[6])
{
    const size_t  wide = 6 * (size_t)b->nplaces;
    const double *S = b->stress + 6 * (size_t)place;
    for (int i = 0; i < 6; i++) sigma[i] = 0;
    for (int k = 0; k < m; k++, S += wide)
        for (int i = 0; i < 6; i++) sigma[i] += S[i] * q[k];
}

int kd_stress_find(const kd_flexible_body *b, const char *name, size_t length)
{
    for (int i = 0; i < b->nspots; i++)
        if (strlen(b->spot[i].name) == length && strncmp(b->spot[i].name, name, length) == 0) return i;
    return -1;
}

// ---- places ---------------------------------------------------------------------------------------------------------

bool kd_stress_cut(kd_flexible_body *b, int nplaces)
{
    b->nplaces = nplaces;
    b->place = kd_cut_matrix(&b->arena, 3, nplaces);
    b->stress = kd_cut_matrix(&b->arena, 6 * nplaces, b->nq);
    return !b->arena.failed;
}

// The diagonal of the box around all places
static double size_of(const kd_flexible_body *b)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < 3 * b->nplaces; i++) {
        low[i % 3] = fmin(low[i % 3], b->place[i]);
        high[i % 3] = fmax(high[i % 3], b->place[i]);
    }
    return kd_vec_norm(kd_vec_sub(kd_vec_of(high), kd_vec_of(low)));
}

static double distance_of(const kd_flexible_body *b, int place, kd_vec3 at)
{
    return kd_vec_norm(kd_vec_sub(kd_vec_of(b->place + 3 * (size_t)place), at));
}

bool kd_stress_name(kd_flexible_body *b, const char *name, kd_vec3 at, double *far, kd_vec3 *nearest)
{
    kd_stress_spot *list = kd_arena_cut(&b->arena, (size_t)b->nspots + 1, sizeof *list);
    char           *own = kd_arena_cut(&b->arena, strlen(name) + 1, 1);
    int             best = 0;
    if (b->arena.failed || b->nplaces < 1) return false;
    strcpy(own, name);
    for (int i = 1; i < b->nplaces; i++)
        if (distance_of(b, i, at) < distance_of(b, best, at)) best = i;
    if (b->nspots > 0) memcpy(list, b->spot, (size_t)b->nspots * sizeof *list);
    list[b->nspots++] = (kd_stress_spot){own, best};
    b->spot = list;
    const double size = size_of(b);
    *far = size > 0 ? distance_of(b, best, at) / size : 0;
    *nearest = kd_vec_of(b->place + 3 * (size_t)best);
    return true;
}

void kd_stress_place_words(const kd_flexible_body *b, int place, char *text, size_t size)
{
    const double *x = b->place + 3 * (size_t)place;
    kd_text(text, size, "%s", "");
    for (int i = 0; i < b->nspots && !text[0]; i++)
        if (b->spot[i].place == place) kd_text(text, size, "'%s' at ", b->spot[i].name);
    // what is below a billionth of the others is rounding
    const double least = 1e-9 * (fabs(x[0]) + fabs(x[1]) + fabs(x[2]));
    kd_text_append(text, size, "(%.4g, %.4g, %.4g) m", fabs(x[0]) > least ? x[0] : 0, fabs(x[1]) > least ? x[1] : 0,
                   fabs(x[2]) > least ? x[2] : 0);
}

// ---- hot spots ------------------------------------------------------------------------------------------------------

bool kd_hot_spots_cut(const kd_flexible_body *b, int m, kd_arena *arena, kd_hot_spots *h)
{
    *h = (kd_hot_spots){.body = b,
                        .m = m,
                        .mises = kd_cut_double(arena, b->nplaces),
                        .signed_mises = kd_cut_double(arena, b->nplaces),
                        .t = kd_cut_double(arena, b->nplaces),
                        .sigma = kd_cut_double(arena, 6 * b->nplaces)};
    return !arena->failed;
}

void kd_hot_spots_see(kd_hot_spots *h, double t, const double *q)
{
    const int wide = 6 * h->body->nplaces;
    memset(h->sigma, 0, (size_t)wide * sizeof *h->sigma);
    for (int k = 0; k < h->m; k++) kd_axpy(wide, q[k], h->body->stress + (size_t)k * (size_t)wide, h->sigma);
    for (int i = 0; i < h->body->nplaces; i++) {
        const double *s = h->sigma + 6 * (size_t)i, mises = mises_of(s);
        if (!(mises > h->mises[i])) continue;
        h->mises[i] = mises;
        h->signed_mises[i] = kd_stress_value(s, KD_STRESS_SIGNED);
        h->t[i] = t;
    }
}

int kd_hot_spots_rank(const kd_hot_spots *h, int count, int *place)
{
    const double apart = APART * size_of(h->body);
    int          n = 0;
    while (n < count) {
        int best = -1;
        for (int i = 0; i < h->body->nplaces; i++) {
            if (!(h->mises[i] > 0) || (best >= 0 && !(h->mises[i] > h->mises[best]))) continue;
            const kd_vec3 at = kd_vec_of(h->body->place + 3 * (size_t)i);
            bool          alone = true;
            for (int k = 0; k < n && alone; k++) alone = distance_of(h->body, place[k], at) >= apart && place[k] != i;
            if (alone) best = i;
        }
        if (best < 0) break;
        place[n++] = best;
    }
    return n;
}

// ---- cases of another program ---------------------------------------------------------------------------------------

typedef struct fit {
    int     n, cases; // rows, columns of D
    double *R;        // (n x 6) rigid motions, orthonormal
    double *D, *u;    // (n x cases) and (n) without rigid motions
    double *G, *w;    // (cases^2) eigenvectors of D'D, (cases) eigenvalues
    double *size;     // (cases) norms of the columns of D, which have norm 1 then
    double *c, *work; // (cases)
} fit;

static bool cut_fit(fit *f, int n, int cases, kd_arena *a)
{
    *f = (fit){.n = n, .cases = cases};
    f->R = kd_cut_matrix(a, n, 6);
    f->D = kd_cut_matrix(a, n, cases);
    f->u = kd_cut_double(a, n);
    f->G = kd_cut_matrix(a, cases, cases);
    f->w = kd_cut_double(a, cases);
    f->size = kd_cut_double(a, cases);
    f->c = kd_cut_double(a, cases);
    f->work = kd_cut_double(a, 64 * cases);
    return !a->failed;
}

static double norm_of(int n, const double *x)
{
    return sqrt(kd_dot(n, x, x));
}

// x without its parts along the first k columns of R, twice for rounding
static void take_out(int n, const double *R, int k, double *x)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < k; i++) {
            const double *r = R + (size_t)i * (size_t)n;
            kd_axpy(n, -kd_dot(n, r, x), r, x);
        }
}

static void orthonormalise(int n, double *R)
{
    for (int k = 0; k < 6; k++) {
        double *r = R + (size_t)k * (size_t)n;
        take_out(n, R, k, r);
        const double size = norm_of(n, r);
        for (int i = 0; i < n; i++) r[i] = size > 0 ? r[i] / size : 0;
    }
}

// Displacements inside of elements are in no file of results: they do not count
static void leave_inner(const kd_fe_structure *s, double *x)
{
    for (int i = 0; i < s->n; i++)
        if (kd_fe_is_inner(s, s->node[i])) x[i] = 0;
}

// Columns of norm 1 without rigid motions, and the eigenvalues of their products
static kd_status prepare_fit(const kd_fe_structure *s, fit *f)
{
    const kd_stress_cases *cases = s->cases;
    kd_fe_structure_rigid_motions(s, kd_vec(0, 0, 0), f->R);
    for (size_t k = 0; k < 6; k++) leave_inner(s, f->R + k * (size_t)f->n);
    orthonormalise(f->n, f->R);
    memcpy(f->D, cases->D, (size_t)f->n * (size_t)f->cases * sizeof *f->D);
    for (int j = 0; j < f->cases; j++) {
        double *d = f->D + (size_t)j * (size_t)f->n;
        leave_inner(s, d);
        take_out(f->n, f->R, 6, d);
        f->size[j] = norm_of(f->n, d);
        for (int i = 0; i < f->n; i++) d[i] = f->size[j] > 0 ? d[i] / f->size[j] : 0;
    }
    kd_gemm_tn(f->cases, f->cases, f->n, 1, f->D, f->D, 0, f->G);
    const int info = (int)KD_BLAS(
        LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', f->cases, f->G, f->cases, f->w, f->work, 64 * f->cases));
    return info == 0 ? KD_OK : KD_ERR_DECOMPOSITION;
}

// The combination of cases nearest to a mode, c; answers what is left of the mode, over its size
static double combine(const kd_fe_structure *s, const double *mode, fit *f)
{
    memcpy(f->u, mode, (size_t)f->n * sizeof *f->u);
    leave_inner(s, f->u);
    take_out(f->n, f->R, 6, f->u);
    const double size = norm_of(f->n, f->u);
    // c = V inv(w) V' D'u
    kd_gemv_t(f->n, f->cases, 1, f->D, f->u, 0, f->work);
    kd_gemv_t(f->cases, f->cases, 1, f->G, f->work, 0, f->c);
    for (int j = 0; j < f->cases; j++) f->work[j] = f->w[j] > SINGULAR * f->w[f->cases - 1] ? f->c[j] / f->w[j] : 0;
    kd_gemv(f->cases, f->cases, 1, f->G, f->work, 0, f->c);
    kd_gemv(f->n, f->cases, -1, f->D, f->c, 1, f->u);
    for (int j = 0; j < f->cases; j++) f->c[j] = f->size[j] > 0 ? f->c[j] / f->size[j] : 0;
    return size > 0 ? norm_of(f->n, f->u) / size : 0;
}

static kd_status stress_by_cases(const kd_fe_structure *s, const double *U, kd_flexible_body *b, char *message,
                                 size_t size)
{
    const kd_stress_cases *cases = s->cases;
    kd_arena               scratch = {0};
    fit                    f;
    double                 worst = 0;
    int                    which = 0;
    kd_status              status = KD_ERR_MEMORY;
    if (cut_fit(&f, s->n, cases->n, &scratch) && kd_stress_cut(b, cases->nplaces)) status = prepare_fit(s, &f);
    for (int i = 0; status == KD_OK && i < b->nplaces; i++) kd_vec_to(s->at[cases->node[i]], b->place + 3 * (size_t)i);
    for (int k = 0; status == KD_OK && k < b->nq; k++) {
        const double left = combine(s, U + (size_t)k * (size_t)s->n, &f);
        if (left > worst) worst = left, which = k;
        kd_gemv(6 * b->nplaces, cases->n, 1, cases->S, f.c, 0, b->stress + (size_t)k * 6 * (size_t)b->nplaces);
    }
    if (status == KD_OK && worst > LEFT) {
        kd_text(message, size,
                "%s: its displacements do not make up the modes: %.2g of mode %d is left (kardan flex --shapes "
                "writes a deck with all of them)",
                cases->name, worst, which + 1);
        status = KD_ERR_MODEL;
    } else if (status == KD_OK && worst > DOUBTFUL) {
        kd_text(message, size, "%s: displacements with stress make up the modes but for %.2g of mode %d", cases->name,
                worst, which + 1);
    }
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_flexible_body_stress(const kd_fe_structure *s, const double *U, kd_flexible_body *b, char *message,
                                  size_t size)
{
    return s->cases ? stress_by_cases(s, U, b, message, size) : kd_beam_stress(s, U, b, message, size);
}

kd_status kd_stress_write_shapes(const kd_fe_structure *s, const kd_flexible_body *b, const char *title, FILE *file)
{
    if (b->nnodes != s->nnodes) return KD_ERR_ARGUMENT;
    fprintf(file,
            "** %s\n** behind mesh, material and section: every step moves all nodes by one mode, for its stress\n",
            title);
    for (int k = 0; k < b->nq; k++) {
        const double *shape = b->shape + (size_t)k * 3 * (size_t)s->nnodes;
        fprintf(file, "** mode %d\n*STEP\n*STATIC\n*BOUNDARY\n", k + 1);
        for (int i = 0; i < s->nnodes - s->ninner; i++)
            for (int d = 0; d < 3; d++)
                if (s->first[6 * i + d] >= 0)
                    fprintf(file, "%d, %d, %d, %.12e\n", s->id[i], d + 1, d + 1,
                            shape[3 * (size_t)i + (size_t)d] / s->unit_length);
        fprintf(file, "*NODE FILE\nU\n*EL FILE\nS\n*END STEP\n");
    }
    return ferror(file) ? KD_ERR_FILE : KD_OK;
}
