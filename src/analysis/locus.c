// locus.c: root locus. Where the largest real part f changes its sign between two values a, b of the parameter, the
// critical value is found by the secant method of Illinois, which keeps a bracket: the next value is
//     c = (a f_b - b f_a) / (f_b - f_a),
// and f of the end that stays is halved, so that it does not stay for ever.
//
// Eigenvalues that are zero by nature (free coordinates) come out as zero up to rounding: as many of smallest magnitude
// as are near zero for every value of the parameter are left out of the judgement.
#include "analysis/locus.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

enum { MOST_SECANTS = 60, HALVED = 8 }; // every HALVED-th step halves the bracket: another mode may have taken over
static const double ZERO = 1e-6;        // eigenvalues below this times the largest are zero up to rounding

struct kd_locus {
    kd_arena arena;
    int      most, n;          // values
    double  *value;            // (most)
    int     *first;            // (most + 1) place of the first eigenvalue of each value
    double  *real, *imaginary; // (room) eigenvalues and gaps
    int      room;
    int      zeros; // eigenvalues that are zero for every value
};

kd_status kd_locus_create(int values, kd_locus **locus)
{
    *locus = NULL;
    kd_locus *l = kd_alloc(sizeof *l);
    if (!l) return KD_ERR_MEMORY;
    l->most = values;
    l->value = kd_cut_double(&l->arena, values);
    l->first = kd_cut_int(&l->arena, values + 1);
    if (l->arena.failed) {
        kd_locus_destroy(l);
        return KD_ERR_MEMORY;
    }
    *locus = l;
    return KD_OK;
}

void kd_locus_destroy(kd_locus *l)
{
    if (!l) return;
    kd_free(l->real);
    kd_free(l->imaginary);
    kd_arena_release(&l->arena);
    kd_free(l);
}

// ---- the eigenvalues ------------------------------------------------------------------------------------------------

static bool make_room(kd_locus *l, int more)
{
    const int count = l->first[l->n];
    if (count + more <= l->room) return true;
    // twice as much, so that all growth together costs as much as the last
    const int room = 2 * l->room + more;
    double   *real = kd_alloc((size_t)room * sizeof *real), *imaginary = kd_alloc((size_t)room * sizeof *imaginary);
    if (!real || !imaginary) {
        kd_free(real);
        kd_free(imaginary);
        return false;
    }
    if (count > 0) memcpy(real, l->real, (size_t)count * sizeof *real);
    if (count > 0) memcpy(imaginary, l->imaginary, (size_t)count * sizeof *imaginary);
    kd_free(l->real);
    kd_free(l->imaginary);
    l->real = real, l->imaginary = imaginary, l->room = room;
    return true;
}

// Eigenvalues of value i rise by magnitude: how many of the first ones are zero?
static int count_zeros(const kd_locus *l, int i)
{
    const int begin = l->first[i], end = l->first[i + 1];
    int       zeros = 0;
    if (end == begin) return 0;
    const double largest = hypot(l->real[end - 2], l->imaginary[end - 2]);
    while (begin + 2 * zeros < end &&
           hypot(l->real[begin + 2 * zeros], l->imaginary[begin + 2 * zeros]) <= ZERO * largest)
        zeros++;
    return zeros;
}

kd_status kd_locus_add(kd_locus *l, double value, const kd_modes *m)
{
    int at = l->first[l->n];
    if (l->n == l->most) return KD_ERR_ARGUMENT;
    if (!make_room(l, 2 * m->n)) return KD_ERR_MEMORY;
    for (int i = 0; i < m->n; i++) {
        l->real[at] = m->real[i], l->imaginary[at++] = m->imaginary[i];
        l->real[at] = NAN, l->imaginary[at++] = NAN;
    }
    l->value[l->n++] = value;
    l->first[l->n] = at;
    const int zeros = count_zeros(l, l->n - 1);
    if (l->n == 1 || zeros < l->zeros) l->zeros = zeros;
    return KD_OK;
}

int kd_locus_points(const kd_locus *l, const double **real, const double **imaginary)
{
    *real = l->real;
    *imaginary = l->imaginary;
    return l->first[l->n];
}

int kd_locus_slowest(const kd_modes *m)
{
    int slowest = m->n - 1;
    for (int i = 0; i < m->n - 1; i++)
        if (m->real[i] > m->real[slowest] && m->frequency[i] > ZERO * m->frequency[m->n - 1]) slowest = i;
    return slowest;
}

// ---- where stability changes ----------------------------------------------------------------------------------------

// f: the largest real part at value i
static double growth_at(const kd_locus *l, int i)
{
    double growth = -INFINITY;
    for (int k = l->first[i] + 2 * l->zeros; k < l->first[i + 1]; k += 2) growth = fmax(growth, l->real[k]);
    return growth;
}

// The same of modes, and whose it is
static double growth_of(const kd_locus *l, const kd_modes *m, int *mode)
{
    double growth = -INFINITY;
    for (int i = l->zeros; i < m->n; i++)
        if (m->real[i] > growth) growth = m->real[i], *mode = i;
    return growth;
}

// The value between a and b at which f, fa there and fb here, is zero. false: there are no modes on the way.
static bool refine(const kd_locus *l, const kd_locus_source *source, double a, double fa, double b, double fb,
                   kd_critical *found)
{
    const double scale = fmin(fabs(fa), fabs(fb));
    found->grows_above = (fb > 0) == (b > a);
    for (int k = 0; k < MOST_SECANTS; k++) {
        const double    width = fabs(b - a);
        const double    value = k % HALVED == HALVED - 1 ? (a + b) / 2 : (a * fb - b * fa) / (fb - fa);
        const kd_modes *modes = source->modes_at(value, source->context);
        int             mode = 0;
        const double    growth = modes ? growth_of(l, modes, &mode) : NAN;
        if (!isfinite(growth)) return false;
        found->value = value;
        found->frequency = modes->frequency[mode];
        if (k == 0 || fabs(growth) > 1e-3 * scale) // a mode that becomes zero gets mixed with free motions
            source->describe(mode, source->context, found->mode, sizeof found->mode);
        if (growth == 0 || width <= 1e-12 * fmax(fabs(a), fabs(b))) break;
        // the bracket: b is always the latest value
        if ((growth > 0) == (fb > 0)) {
            fa /= 2; // the end that stays counts half
        } else {
            a = b, fa = fb;
        }
        b = value, fb = growth;
        if (fabs(growth) < 1e-13 * (fabs(fa) + 1)) break;
    }
    return true;
}

int kd_locus_find_critical(kd_locus *l, const kd_locus_source *source, kd_critical *list)
{
    int n = 0;
    for (int i = 0; i + 1 < l->n && n < KD_LOCUS_CRITICAL; i++) {
        const double fa = growth_at(l, i), fb = growth_at(l, i + 1);
        if (!isfinite(fa) || !isfinite(fb) || (fa > 0) == (fb > 0)) continue;
        if (refine(l, source, l->value[i], fa, l->value[i + 1], fb, &list[n])) n++;
    }
    return n;
}
