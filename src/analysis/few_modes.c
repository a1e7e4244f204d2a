// few_modes.c: few eigenvalues of large equations by Arnoldi's method (ARPACK) with shift and inversion on the sparse
// descriptor form: the largest eigenvalues nu of OP = inv(A - sigma E) E belong to the eigenvalues sigma + 1/nu that
// are nearest to sigma. Constraints give nu = 0, in chains of length up to 3: three applications clear the first vector
// of them.
#include <complex.h>
#include <kardan/linearize.h>

#include "core/text.h"

#ifndef KD_WITH_ARPACK

kd_status kd_modes_near(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, int count, double frequency,
                        kd_modes **modes, char *message, size_t size)
{
    (void)inputs;
    (void)frequency;
    if (modes) *modes = NULL;
    if (!kd_state_fits(eom, x) || !modes || count < 1) return KD_ERR_ARGUMENT;
    kd_text(message, size, "few modes of large models: kardan was built without ARPACK (package libarpack2-dev)");
    return KD_ERR_UNAVAILABLE;
}

#else

#include <math.h>
#include <stdint.h>

#include "analysis/internal.h"
#include "analysis/pencil.h"
#include "core/arpack_late.h"
#include "math/blas.h"

#define TWO_PI 6.28318530717958647692

enum { RESTARTS = 1000, CLEAR = 3 };

typedef struct search {
    kd_pencil       pencil;
    double complex  sigma, target;
    int             n, wanted, room; // order of OP, eigenvalues, vectors of Arnoldi
    double complex *first, *V, *work, *inner, *value, *spare;
    double         *real;
    int            *chosen, *order;
    int             found;
    kd_arena        arena;
} search;

// ---- the shift ------------------------------------------------------------------------------------------------------

static double length_of(int n, const double complex *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
    return sqrt(sum);
}

// The same in every run
static void random_vector(int n, double complex *x)
{
    uint64_t seed = 1;
    for (int i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(int64_t)seed / 9223372036854775808.0;
    }
}

// The first vector, cleared of what constraints forbid; false: A - sigma E is singular up to rounding
static bool start_vector(search *s)
{
    random_vector(s->n, s->first);
    for (int k = 0; k < CLEAR; k++) {
        kd_pencil_apply(&s->pencil, s->first, s->first);
        const double length = length_of(s->n, s->first);
        if (!isfinite(length) || length > 1e13 || length == 0) return false;
        for (int i = 0; i < s->n; i++) s->first[i] /= length;
    }
    return true;
}

// Free motions have the eigenvalue 0: the shift goes aside where it meets one
static kd_status choose_shift(search *s)
{
    static const double ASIDE[] = {0, 0.1, 0.37};
    for (int k = 0; k < 3; k++) {
        // A - sigma E must be regular; the Jordan chains of the constraints are cleared by start_vector
        s->sigma = s->target + ASIDE[k];
        kd_status status = kd_pencil_shift(&s->pencil, s->sigma);
        if (status == KD_ERR_MEMORY) return status;
        if (status >= 0 && start_vector(s)) return KD_OK;
    }
    return KD_ERR_UNSUPPORTED;
}

// ---- Arnoldi --------------------------------------------------------------------------------------------------------

static kd_status make_room(search *s, int count)
{
    s->n = s->pencil.dynamic;
    s->wanted = 2 * count + 2; // both halves of pairs
    if (s->wanted > s->n - 2) s->wanted = s->n - 2;
    // vectors of Arnoldi: more than ARPACK's least, 2 wanted, so that restarts are few
    s->room = 2 * s->wanted + 20;
    if (s->room > s->n) s->room = s->n;
    if (s->wanted < 1) return KD_ERR_UNSUPPORTED;
    const size_t n = (size_t)s->n, room = (size_t)s->room, size = sizeof(double complex);
    s->first = kd_arena_cut(&s->arena, n, size);
    s->V = kd_arena_cut(&s->arena, n * room, size);
    s->work = kd_arena_cut(&s->arena, 3 * n, size);
    s->inner = kd_arena_cut(&s->arena, 3 * room * room + 5 * room, size);
    s->value = kd_arena_cut(&s->arena, (size_t)s->wanted + 1, size);
    s->spare = kd_arena_cut(&s->arena, 2 * room, size);
    s->real = kd_cut_double(&s->arena, s->room);
    s->chosen = kd_cut_int(&s->arena, s->room);
    s->order = kd_cut_int(&s->arena, s->wanted + 1);
    return s->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

// The eigenvalues of OP of largest magnitude, and their vectors in V: ARPACK asks for products with OP
static kd_status iterate_arnoldi(search *s)
{
    const int lengths = 3 * s->room * s->room + 5 * s->room;
    int       task = 0, info = 1, parameter[11] = {0}, place[14] = {0};
    parameter[0] = 1;        // exact shifts
    parameter[2] = RESTARTS; // most
    parameter[6] = 1;        // OP x alone
    // reverse communication: y = OP x as long as it is wanted
    for (;;) {
        KD_BLAS_DO(znaupd_c(&task, "I", s->n, "LM", s->wanted, 0, s->first, s->room, s->V, s->n, parameter, place,
                            s->work, s->inner, lengths, s->real, &info));
        if (task != 1 && task != -1) break;
        kd_pencil_apply(&s->pencil, s->work + place[0] - 1, s->work + place[1] - 1);
    }
    if (info < 0 || parameter[4] < 1) return KD_ERR_DECOMPOSITION;
    // eigenvalues and vectors from the last Krylov space
    KD_BLAS_DO(zneupd_c(1, "A", s->chosen, s->value, s->V, s->n, 0, s->spare, "I", s->n, "LM", s->wanted, 0, s->first,
                        s->room, s->V, s->n, parameter, place, s->work, s->inner, lengths, s->real, &info));
    s->found = parameter[4] < s->wanted ? parameter[4] : s->wanted;
    return info == 0 ? KD_OK : KD_ERR_DECOMPOSITION;
}

// ---- what was found -------------------------------------------------------------------------------------------------

static bool has_partner(const search *s, int k)
{
    for (int i = 0; i < s->found; i++)
        if (i != k && cabs(s->value[i] - conj(s->value[k])) < 1e-6 * cabs(s->value[k])) return true;
    return false;
}

// Eigenvalues from those of OP; real ones lose what rounding left. One half of each pair, nearest to the target first;
// returns how many.
static int list_halves(search *s)
{
    int n = 0;
    // mu = sigma + 1/nu
    for (int k = 0; k < s->found; k++) {
        double complex value = s->value[k] != 0 ? s->sigma + 1 / s->value[k] : INFINITY;
        if (fabs(cimag(value)) < 1e-9 * cabs(value)) value = creal(value);
        s->value[k] = value;
    }
    for (int k = 0; k < s->found; k++) {
        // insertion by the distance from the target
        if (!isfinite(cabs(s->value[k])) || (cimag(s->value[k]) < 0 && has_partner(s, k))) continue;
        int j = n++;
        for (; j > 0 && cabs(s->value[k] - s->target) < cabs(s->value[s->order[j - 1]] - s->target); j--)
            s->order[j] = s->order[j - 1];
        s->order[j] = k;
    }
    return n;
}

static void sort_by_magnitude(search *s, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && cabs(s->value[s->order[j]]) < cabs(s->value[s->order[j - 1]]); j--) {
            const int kept = s->order[j];
            s->order[j] = s->order[j - 1];
            s->order[j - 1] = kept;
        }
}

// The increments of vector k with the largest one 1; of the other half of a pair the conjugate
static void write_shape(const search *s, int k, bool conjugate, int nv, double *re, double *im)
{
    const double complex *x = s->V + (size_t)k * (size_t)s->n;
    int                   most = 0;
    for (int i = 1; i < nv; i++)
        if (cabs(x[i]) > cabs(x[most]) * (1 + 1e-9)) most = i;
    for (int i = 0; i < nv; i++) {
        const double complex value = cabs(x[most]) > 0 ? x[i] / x[most] : 0;
        re[i] = creal(value);
        im[i] = conjugate ? -cimag(value) : cimag(value);
    }
}

// Modes with both halves of pairs, shapes scaled to 1
static kd_status write_modes(search *s, int halves, kd_modes *m)
{
    kd_arena *arena = m->memory;
    const int nv = s->pencil.n.nv;
    int       n = 0;
    for (int i = 0; i < halves; i++) n += cimag(s->value[s->order[i]]) != 0 ? 2 : 1;
    double *real = kd_cut_double(arena, n), *imaginary = kd_cut_double(arena, n);
    double *frequency = kd_cut_double(arena, n), *damping = kd_cut_double(arena, n);
    double *re = kd_cut_matrix(arena, nv, n), *im = kd_cut_matrix(arena, nv, n);
    m->increment_name = kd_increment_names(s->pencil.eom, arena);
    if (arena->failed) return KD_ERR_MEMORY;
    // both halves of a pair side by side: mu, f = |mu|/2 pi, damping = -Re(mu)/|mu|
    for (int i = 0, j = 0; i < halves; i++) {
        const int            k = s->order[i];
        const double complex value = s->value[k];
        const double         size = cabs(value);
        for (int half = 0; half < (cimag(value) != 0 ? 2 : 1); half++, j++) {
            const double sign = half == 0 ? 1 : -1; // the positive half first
            real[j] = creal(value), imaginary[j] = sign * fabs(cimag(value));
            frequency[j] = size / TWO_PI;
            damping[j] = size > 0 ? -creal(value) / size : 0;
            write_shape(s, k, (imaginary[j] < 0) != (cimag(value) < 0), nv, re + (size_t)j * (size_t)nv,
                        im + (size_t)j * (size_t)nv);
        }
    }
    m->n = n, m->nv = nv;
    m->real = real, m->imaginary = imaginary, m->frequency = frequency, m->damping = damping;
    m->shape_re = re, m->shape_im = im;
    return KD_OK;
}

static kd_status find_modes(search *s, int count, kd_modes *m, char *message, size_t size)
{
    kd_status status = make_room(s, count);
    if (status == KD_ERR_UNSUPPORTED) kd_text(message, size, "too small for few modes");
    if (status >= 0) {
        status = choose_shift(s);
        if (status == KD_ERR_UNSUPPORTED)
            kd_text(message, size, "the linear equations are singular: constraints may be redundant");
    }
    // ARPACK keeps state of its own: one search at a time
    if (status >= 0) {
        kd_arpack_enter();
        status = iterate_arnoldi(s);
        kd_arpack_leave();
        if (status < 0) kd_text(message, size, "Arnoldi's method found no eigenvalue: ask for other ones or fewer");
    }
    if (status < 0) return status;
    // of a conjugate pair one half is told; nearest to the target first
    int halves = list_halves(s);
    if (halves > count) halves = count;
    sort_by_magnitude(s, halves);
    return write_modes(s, halves, m);
}

kd_status kd_modes_near(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, int count, double frequency,
                        kd_modes **modes, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (modes) *modes = NULL;
    if (!eom || !x || !modes || count < 1 || !(frequency >= 0) || !isfinite(frequency)) return KD_ERR_ARGUMENT;
    char why[300];
    if (!kd_arpack_load(why, sizeof why)) {
        kd_text(message, size, "few modes of large models: %s", why);
        return KD_ERR_UNAVAILABLE;
    }
    // eigenvalues next to i 2 pi f, of the pencil that is never made full
    search    s = {.target = I * TWO_PI * frequency};
    kd_modes *m = kd_alloc(sizeof *m);
    if (m) m->memory = kd_alloc(sizeof(kd_arena));
    kd_status status = m && m->memory ? KD_OK : KD_ERR_MEMORY;
    if (status >= 0) status = kd_pencil_create(&s.pencil, eom, inputs, x, message, size);
    if (status >= 0) status = find_modes(&s, count, m, message, size);
    kd_pencil_release(&s.pencil);
    kd_arena_release(&s.arena);
    // the modes own their memory
    if (status >= 0) {
        *modes = m;
        return KD_OK;
    }
    kd_modes_destroy(m);
    if (message && size > 0 && !message[0]) kd_text(message, size, "%s", kd_status_sentence(status));
    return status;
}

#endif
