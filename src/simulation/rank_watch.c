// rank_watch.c: the rank of the constraints along a motion, for all formulations and integrators.
//
// C = R [GZ; HZ] D, with natural units D (1 rad, the size of the mechanism) and rows of length 1 at the start, has
// the least singular value sigma and changes by K per unit of motion: sigma / K is the distance to the next singular
// position. A point that violates its constraints by eps = |R g| lies eps / sigma from the constraints. It belongs to
// one branch of them only where it is much nearer to them than to a singular position (Newton-Kantorovich):
//
//     K eps / sigma^2 <= CERTAIN
//
// Level sets g = eps beside a point where branches cross (x y = eps) turn from one branch into another at
// K eps / sigma^2 = 1/2, with small steps and without a violation that grows: this is how motions that drift leave
// their branch. sigma is found by inverse iteration with C C' = L L' (in its envelope), only where sigma may have
// become small since it was last known (|sigma - sigma_0| <= |C - C_0|, Weyl).
//
// A step may also jump over the place where branches cross. Where C may have lost its rank inside the step (Weyl again)
// the way between its ends is looked at: the cubic through positions and velocities of both ends, in the middle,
// violates g by 1/64 to 3/64 of K d^2 (d: length of the way) if the step turned by a right angle, by d^4 / 384 and less
// if it went on smoothly.
//
// Of redundant rows a set that was independent at the start is watched, and replaced where it becomes dependent.
#include "simulation/rank_watch.h"

#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "math/dense.h"

#define LARGEST 600       // rows, or columns, beyond which a factorisation costs more than a step
#define CERTAIN 0.1       // of K eps / sigma^2; the turn into another branch happens at 0.5
#define NO_SIGMA 1e-7     // a singular value that is 0 up to rounding of C C'
#define INDEPENDENT 1e-12 // square of the sine of the angle between a row and those before it
#define FAR 0.5           // part of sigma that must be left for certain to look at nothing else
#define TURNED 0.008      // of eps / (K d^2) in the middle of a step
#define LONGEST 3         // natural units of a step beyond which a cubic tells nothing
#define MEASURABLE 1e-3   // way from which on a change of C tells K
#define MOST_CURVED 10    // K of a row of length 1 at most, in natural units
#define SAFETY 2          // of K beside what was seen of it
#define ITERATIONS 3      // of inverse iteration, the vector of the last time is a good guess
#define NAMED 0.3         // entries beside the largest one that are worth a name

struct kd_rank_watch {
    kd_arena      arena;
    const kd_eom *eom;
    kd_inputs     inputs;
    kd_eom_data  *data;
    kd_dims       dims;
    double       *g;      // (nlambda)
    double       *GZ;     // (nlambda x nv)
    double       *HZ;     // (nmu x nv)
    double       *D;      // (nv) columns
    double       *R;      // (m) rows
    int          *active; // (m) numbers in [g; h]
    int           nactive;
    int          *kept; // (m) places in active
    int           rank; // kept rows; -1: not known
    double       *C;    // (nactive x nv) row by row
    double       *C_last;
    int          *first; // (m) first column of each row of L
    double       *L;     // (m x m) row by row
    double       *pivot, *vector;
    double        t, sigma, K, eps, path, speed; // at the last look: sigma, K, eps were found path ago
    double       *p, *v;                         // (np), (nv) at the last look
    double       *middle, *rate;                 // (np)
    bool          known, stopped;                // there is a matrix to compare with; a function asked to stop
};

// ---- life cycle -----------------------------------------------------------------------------------------------------

// The point of a state
static bool go_to(kd_rank_watch *w, const kd_state *x)
{
    return kd_eom_at_state(w->data, &w->inputs, x, KD_STAGE_POSITION) == KD_EVAL_OK;
}

static void cut(kd_rank_watch *w)
{
    kd_arena *a = &w->arena;
    kd_dims   d = w->dims;
    int       m = d.nlambda + d.nmu;
    w->g = kd_cut_double(a, d.nlambda);
    w->GZ = kd_cut_matrix(a, d.nlambda, d.nv);
    w->HZ = kd_cut_matrix(a, d.nmu, d.nv);
    w->D = kd_cut_double(a, d.nv);
    w->R = kd_cut_double(a, m);
    w->active = kd_cut_int(a, m);
    w->kept = kd_cut_int(a, m);
    w->C = kd_cut_matrix(a, m, d.nv);
    w->C_last = kd_cut_matrix(a, m, d.nv);
    w->first = kd_cut_int(a, m);
    w->L = kd_cut_matrix(a, m, m);
    w->pivot = kd_cut_double(a, m);
    w->vector = kd_cut_double(a, m);
    w->p = kd_cut_double(a, d.np);
    w->v = kd_cut_double(a, d.nv);
    w->middle = kd_cut_double(a, d.np);
    w->rate = kd_cut_double(a, d.np);
}

kd_status kd_rank_watch_create(kd_eom_data *data, const kd_inputs *inputs, kd_rank_watch **watch, bool *unwatched)
{
    const kd_eom *eom = kd_eom_data_eom(data);
    kd_dims       d = kd_eom_dims(eom);
    int           m = d.nlambda + d.nmu;
    *watch = NULL;
    // small systems only: a look must not cost more than a step
    *unwatched = m > LARGEST || (m > 0 && d.nv > LARGEST);
    if (m == 0 || d.nv == 0 || *unwatched) return KD_OK;
    kd_rank_watch *w = kd_alloc(sizeof *w);
    if (!w) return KD_ERR_MEMORY;
    w->eom = eom;
    w->data = data;
    w->dims = d;
    if (inputs) w->inputs = *inputs;
    cut(w);
    kd_status status = w->arena.failed ? KD_ERR_MEMORY : KD_OK;
    for (int j = 0; j < d.nv && status >= 0; j++) w->D[j] = kd_eom_unit(eom, j);
    if (status < 0) {
        kd_rank_watch_destroy(w);
        return status;
    }
    *watch = w;
    return KD_OK;
}

void kd_rank_watch_destroy(kd_rank_watch *w)
{
    if (!w) return;
    kd_arena_release(&w->arena);
    kd_free(w);
}

// ---- the matrix -----------------------------------------------------------------------------------------------------

// A function that asks to stop is obeyed, others that cannot be evaluated are left to the integrator.
static bool is_good(kd_rank_watch *w, kd_eval answer)
{
    w->stopped = w->stopped || answer == KD_EVAL_STOP;
    return answer == KD_EVAL_OK;
}

static kd_status outcome(const kd_rank_watch *w, kd_status status, char *message, size_t size)
{
    if (!w->stopped) return status;
    kd_text(message, size, "%s", kd_eom_data_message(w->data));
    return kd_eom_data_fault(w->data).status;
}

// C of the active rows, without their scales. false: not to be had
static bool evaluate(kd_rank_watch *w, const kd_state *x)
{
    kd_dims d = w->dims;
    double *GZ = d.nlambda > 0 ? w->GZ : NULL, *HZ = d.nmu > 0 ? w->HZ : NULL;
    // columns in natural units: comparable for shifts and turns
    if (!go_to(w, x) || !is_good(w, kd_eom_constraint_matrices(w->data, GZ, HZ))) return false;
    if (d.nlambda > 0 && !is_good(w, kd_eom_eval(w->data, KD_G, w->g))) return false;
    for (int k = 0; k < w->nactive; k++) {
        int           i = w->active[k], rows = i < d.nlambda ? d.nlambda : d.nmu;
        const double *from = i < d.nlambda ? w->GZ + i : w->HZ + (i - d.nlambda);
        double       *row = w->C + (ptrdiff_t)k * d.nv;
        for (int j = 0; j < d.nv; j++) row[j] = from[(ptrdiff_t)j * rows] * w->D[j];
    }
    return true;
}

static void scale_rows(kd_rank_watch *w)
{
    int n = w->dims.nv;
    for (int k = 0; k < w->nactive; k++)
        for (int j = 0; j < n; j++) w->C[(ptrdiff_t)k * n + j] *= w->R[k];
}

static double product(const kd_rank_watch *w, int i, int k)
{
    int n = w->dims.nv;
    return kd_dot(n, w->C + (ptrdiff_t)i * n, w->C + (ptrdiff_t)k * n);
}

// Rows to watch: Cholesky's method with diagonal pivoting on C C', most independent rows first, in their order then.
// Up to `most` of them; returns their number.
static int choose_rows(kd_rank_watch *w, int most)
{
    int     m = w->nactive, rank = 0;
    double *left = w->pivot; // what is left of the squares of the lengths
    double *L = w->L;
    // lengths of the rows, of which each pivot takes away its part
    for (int i = 0; i < m; i++) left[i] = product(w, i, i);
    // the row that is most independent of those taken so far; -1 marks one that was taken
    while (rank < most) {
        int best = 0;
        for (int i = 1; i < m; i++)
            if (left[i] > left[best]) best = i;
        if (!(left[best] > INDEPENDENT)) break;
        double root = sqrt(left[best]);
        for (int i = 0; i < m; i++) {
            double sum = left[i] > 0 ? product(w, i, best) : 0;
            for (int k = 0; k < rank && left[i] > 0; k++) sum -= L[(ptrdiff_t)i * m + k] * L[(ptrdiff_t)best * m + k];
            L[(ptrdiff_t)i * m + rank] = sum / root;
            if (i != best) left[i] -= sum / root * (sum / root);
        }
        left[best] = -1;
        rank++;
    }
    // in the order of the equations, whose envelope is narrow
    int count = 0;
    for (int i = 0; i < m; i++)
        if (left[i] == -1) w->kept[count++] = i;
    return rank;
}

// C C' = L L' of the kept rows, each row of L from its first entry on. false: not positive definite
static bool factor(kd_rank_watch *w)
{
    int m = w->rank;
    // row by row; entries left of the first are zero and stay so (envelope)
    for (int i = 0; i < m; i++) {
        double *row = w->L + (ptrdiff_t)i * m;
        w->first[i] = i;
        for (int k = 0; k <= i; k++) {
            const double *other = w->L + (ptrdiff_t)k * m;
            double        sum = product(w, w->kept[i], w->kept[k]);
            if (sum != 0 && w->first[i] == i) w->first[i] = k;
            for (int l = w->first[i] > w->first[k] ? w->first[i] : w->first[k]; l < k; l++) sum -= row[l] * other[l];
            if (k < i) row[k] = k < w->first[i] ? 0 : sum / other[k];
            if (k == i && !(sum > 0)) return false;
            if (k == i) row[i] = sqrt(sum);
        }
    }
    return true;
}

// y = inv(C C') y
static void solve(const kd_rank_watch *w, double *y)
{
    int m = w->rank;
    // forward with L, then back with L'
    for (int i = 0; i < m; i++) {
        const double *row = w->L + (ptrdiff_t)i * m;
        for (int k = w->first[i]; k < i; k++) y[i] -= row[k] * y[k];
        y[i] /= row[i];
    }
    for (int i = m - 1; i >= 0; i--) {
        const double *row = w->L + (ptrdiff_t)i * m;
        y[i] /= row[i];
        for (int k = w->first[i]; k < i; k++) y[k] -= row[k] * y[i];
    }
}

// sigma of the kept rows; vector is its left singular vector, nearly
static double least_singular_value(kd_rank_watch *w)
{
    int    m = w->rank;
    double growth = 0;
    if (m == 0) return 1;
    // not positive definite: dependent rows, sigma is zero up to rounding
    if (!factor(w)) return 0;
    // inverse iteration: (C C')^-1 blows up the vector of the least singular value by 1 / sigma^2
    for (int k = 0; k < ITERATIONS; k++) {
        double length = sqrt(kd_dot(m, w->vector, w->vector));
        for (int i = 0; i < m; i++) // a guess that has a part of every vector
            w->vector[i] = length > 0 ? w->vector[i] / length + 1e-3 * (1 + 0.1 * i) / m : 1 + 0.1 * i;
        length = sqrt(kd_dot(m, w->vector, w->vector));
        solve(w, w->vector);
        growth = sqrt(kd_dot(m, w->vector, w->vector)) / length;
    }
    return 1 / sqrt(growth);
}

// ---- looking --------------------------------------------------------------------------------------------------------

// |v| in the metric of D
static double speed_of(const kd_rank_watch *w, const kd_state *x)
{
    double sum = 0;
    for (int j = 0; j < w->dims.nv; j++) sum += x->v[j] / w->D[j] * (x->v[j] / w->D[j]);
    return sqrt(sum);
}

// Largest violation of the active position constraints, scaled
static double violation(const kd_rank_watch *w)
{
    double eps = 0;
    for (int k = 0; k < w->nactive; k++)
        if (w->active[k] < w->dims.nlambda) eps = fmax(eps, fabs(w->g[w->active[k]]) * w->R[k]);
    return eps;
}

static bool is_certain(const kd_rank_watch *w)
{
    return w->sigma > NO_SIGMA && w->K * w->eps <= CERTAIN * w->sigma * w->sigma;
}

static void remember(kd_rank_watch *w, const kd_state *x)
{
    w->t = x->t;
    w->speed = speed_of(w, x);
    memcpy(w->p, x->p, (size_t)w->dims.np * sizeof *w->p);
    memcpy(w->v, x->v, (size_t)w->dims.nv * sizeof *w->v);
}

// middle += factor p' at p, v
static bool add_rate(kd_rank_watch *w, const double *p, const double *v, const kd_state *x, double factor)
{
    kd_eom_at_position(w->data, p, x->s);
    kd_eom_at_velocity(w->data, v, x->r);
    if (!is_good(w, kd_eom_eval(w->data, KD_KINEMATICS, w->rate))) return false;
    for (int i = 0; i < w->dims.np; i++) w->middle[i] += factor * w->rate[i];
    return true;
}

// Violation in the middle of the cubic from the last look to x
static double violation_between(kd_rank_watch *w, const kd_state *x)
{
    // (p0 + p1) / 2 + h/8 (p0' - p1'): the cubic of Hermite in the middle
    double h = x->t - w->t, t = w->t + h / 2;
    for (int i = 0; i < w->dims.np; i++) w->middle[i] = (w->p[i] + x->p[i]) / 2;
    if (!add_rate(w, x->p, x->v, x, -h / 8) || !add_rate(w, w->p, w->v, x, h / 8)) return 0;
    if (kd_eom_at_instant(w->data, &w->inputs, t, x) != KD_EVAL_OK) return 0;
    kd_eom_at_position(w->data, w->middle, x->s);
    return is_good(w, kd_eom_eval(w->data, KD_G, w->g)) ? violation(w) : 0;
}

kd_status kd_rank_watch_start(kd_rank_watch *w, const kd_state *x, char *message, size_t size)
{
    int n = w->dims.nv, nlambda = w->dims.nlambda, m = nlambda + w->dims.nmu;
    // the rows that hold from here on, with lengths that are 1 now
    w->nactive = 0;
    for (int i = 0; i < m; i++)
        if (i < nlambda ? x->active_lambda[i] : x->active_mu[i - nlambda]) w->active[w->nactive++] = i;
    w->stopped = false;
    w->known = evaluate(w, x);
    if (!w->known) return outcome(w, KD_OK, message, size);
    // scales at the start: from here on sigma is compared with what it was
    for (int k = 0; k < w->nactive; k++) {
        double length = sqrt(product(w, k, k));
        w->R[k] = length > 0 ? 1 / length : 1;
    }
    scale_rows(w);
    // as many independent rows as there are
    w->rank = choose_rows(w, w->nactive < n ? w->nactive : n);
    memset(w->vector, 0, (size_t)m * sizeof *w->vector);
    w->sigma = least_singular_value(w);
    w->eps = violation(w);
    w->K = 0;
    w->path = 0;
    remember(w, x);
    // K is measured between this matrix and the next
    memcpy(w->C_last, w->C, (size_t)w->nactive * (size_t)n * sizeof *w->C);
    return KD_OK;
}

// K from what C changed on the way since the last time; sigma and eps here
static void measure(kd_rank_watch *w)
{
    // |C - C_last| per way: how fast the matrix turns
    int    count = w->nactive * w->dims.nv;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double change = w->C[i] - w->C_last[i];
        sum += change * change;
    }
    // short ways show rounding only; K grows, it is not forgotten
    if (w->path > MEASURABLE) {
        w->K = fmax(w->K, fmin(sqrt(sum) / w->path, MOST_CURVED * sqrt(w->nactive)));
        memcpy(w->C_last, w->C, (size_t)count * sizeof *w->C);
        w->path = 0;
    }
    // the watched rows; where they are not certain, other ones of the redundant set may be
    w->sigma = least_singular_value(w);
    w->eps = violation(w);
    if (is_certain(w) || w->rank == w->nactive) return;
    if (choose_rows(w, w->rank) < w->rank) { // of redundant rows others may be better here
        w->sigma = 0;
        return;
    }
    memset(w->vector, 0, (size_t)w->rank * sizeof *w->vector);
    w->sigma = least_singular_value(w);
}

// The constraints with the largest parts of the vector that vanishes
static void name_rows(const kd_rank_watch *w, char *text, size_t size)
{
    double      largest = kd_norm_max(w->rank, w->vector);
    const char *comma = "";
    // three names at most, in the order of the equations
    for (int k = 0, count = 0; k < w->rank && count < 3; k++) {
        char name[128];
        int  i = w->active[w->kept[k]], nlambda = w->dims.nlambda;
        if (!(fabs(w->vector[k]) >= NAMED * largest)) continue;
        kd_eom_name(w->eom, i < nlambda ? KD_NAME_LAMBDA : KD_NAME_MU, i < nlambda ? i : i - nlambda, name,
                    sizeof name);
        kd_text_append(text, size, "%s%s", comma, name);
        comma = ", ";
        count++;
    }
}

static kd_status tell(const kd_rank_watch *w, double t, const char *reason, char *message, size_t size)
{
    kd_text(message, size, "at t = %.9g the motion comes to a singular position of ", t);
    name_rows(w, message, size);
    kd_text_append(message, size,
                   ": these constraints nearly depend on each other (least singular value %.2g), and %s it cannot be "
                   "told on which branch it goes on; try a form that holds the positions (psf, statespace, or "
                   "projection: always) or a smaller tolerance",
                   w->sigma, reason);
    return KD_ERR_RANK_CHANGE;
}

kd_status kd_rank_watch_look(kd_rank_watch *w, const kd_state *x, char *message, size_t size)
{
    if (!w->known) return KD_OK;
    // step: way in natural units. By Weyl sigma falls by K per unit of way at most
    char   reason[80];
    double step = fabs(x->t - w->t) * fmax(speed_of(w, x), w->speed);
    double before = w->sigma - SAFETY * w->K * w->path; // for certain, as long as violations stay as they were
    double left = before - SAFETY * w->K * step, eps = w->eps;
    w->path += step;
    // far from singular: no matrix is evaluated
    bool      far = w->K > 0 && left > FAR * w->sigma && 10 * w->K * w->eps < CERTAIN * left * left;
    kd_status status = KD_OK;
    if (!far && evaluate(w, x)) { // the integrator will find out where it cannot be evaluated
        scale_rows(w);
        measure(w);
        // not certain at the end of the step; or the step may have jumped over the crossing of branches
        kd_text(reason, sizeof reason, "with a violation of %.2g", w->eps);
        if (!is_certain(w)) status = tell(w, x->t, reason, message, size);
        bool judged = w->dims.ns == 0 && w->rank < w->dims.nv && step < LONGEST;
        if (status == KD_OK && judged && before + w->sigma < w->K * step) {
            // violation in the middle beyond that of both ends
            double between = violation_between(w, x) - 2 * fmax(eps, w->eps);
            if (between > TURNED * w->K * step * step)
                status = tell(w, x->t, "with a step that turns there", message, size);
        }
    }
    remember(w, x);
    return outcome(w, status, message, size);
}

void kd_rank_watch_archive(kd_rank_watch *w, kd_archive *a)
{
    const int m = w->dims.nlambda + w->dims.nmu;
    kd_archive_tag(a, "rank");
    kd_archive_arrays(a, &w->arena, w, sizeof *w);
    kd_archive_int(a, &w->nactive, 0, m);
    kd_archive_int(a, &w->rank, -1, m);
    kd_archive_ints(a, w->active, (size_t)m, 0, m - 1);
    kd_archive_ints(a, w->kept, (size_t)m, 0, m - 1);
    kd_archive_ints(a, w->first, (size_t)m, 0, m);
    KD_ARCHIVE_REALS(a, &w->t, &w->sigma, &w->K, &w->eps, &w->path, &w->speed);
    KD_ARCHIVE_BOOLS(a, &w->known, &w->stopped);
}
