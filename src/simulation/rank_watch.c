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
// their branch. With eps = u, the rounding of the positions, the same number is the angle by which rounding turns the
// directions that the constraints leave, and the velocities with them:
//
//     |dv| / |v| = K u / sigma^2
//
// Beyond the tolerance steps cannot be verified, as their defect is this noise and does not fall with their length: an
// explicit method goes on in steps of 1e-10 of the time towards the position. A step that could not be verified
// (kd_rank_watch_doubt) is the end of the run where this is the reason. sigma is found by inverse iteration with C C' = L L' (in its envelope), only where sigma may have
// become small since it was last known (|sigma - sigma_0| <= |C - C_0|, Weyl).
//
// A step may also jump over the place where branches cross. Where C may have lost its rank inside the step (Weyl again)
// the way between its ends is looked at: the cubic through positions and velocities of both ends, at s = 1/4 and 3/4.
// With the way d of the bodies of a row and K of that row alone it violates g by
//
//     0.0023 K d^2 and more    if the step turned by 30 degrees or more, wherever in the step that was (in the middle
//                              there would be two blind places: x y = (1 - 4 theta) (3 - 4 theta) d^2 / 64)
//     K d^4 / 683              if it went on smoothly along a circle
//
// The polynomial of degree 5 through the start of the step before, too, at s = 1/2 as well, tells more: 0.0008 K d^2 and
// more, and about 1e-4 K d^6 along a circle. The two fall apart as steps become shorter: a step that could be either is
// taken back and made shorter until it is one of them. Rows that hardly move, beside others that do, may look uneven: a
// singular position of them is within reach only if sigma <= K d with their own d. That is the way of the coordinates
// with an entry in the row; but a wheel turns rows of its axle whose entry for that turn is zero. A row that changes by
// more than any lever of the mechanism explains is told by this, and has the way of all coordinates of its bodies.
//
// Of redundant rows a set that was independent at the start is watched, and replaced where it becomes dependent.
#include "simulation/rank_watch.h"

#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "math/dense.h"
#include "simulation/rank_matrix.h"

#define LARGEST 600    // rows, or columns, beyond which a factorisation costs more than a step
#define CERTAIN 0.1    // of K eps / sigma^2; the turn into another branch happens at 0.5
#define ROUNDING 2e-16 // u: of positions, in natural units
#define NO_SIGMA 1e-7  // a singular value that is 0 up to rounding of C C'
#define FAR 0.5        // part of sigma that must be left for certain to look at nothing else
#define SMOOTH 5e-4    // of eps / (K d^2) inside a step, of the cubic: it did not turn
#define SMOOTHER 5e-4  // the same of the quintic
#define TURNED 0.25    // part of a step that cannot be taken back that would be smooth: it turned
#define LONGEST 3.0    // natural units of a step beyond which polynomials tell nothing, if it cannot be taken back
#define SHORT 0.01     // natural units of a step that is not taken back: it is smooth or it turned
#define SHORT_FROM_REST 1e-4 // the same from rest
#define KEPT 0.2             // part of the row that vanishes first that a step leaves far from singular positions
#define FASTER 2.0           // growth of the speed in a step that is looked at
#define AIMED 0.8            // of the size that would just be smooth
#define SHORTER 0.25         // part of a step to which it is shortened at most
#define MOST_OF_RATE 0.15    // s (1 - s)^2 at its largest
#define NO_VIOLATION 1e-12   // of a row of length 1, in natural units: rounding
#define MEASURABLE 1e-3      // way from which on a change of C tells K
#define MOST_PARTS 64        // of a step whose way is followed
#define MOST_CURVED 10       // K of a row of length 1 at most, in natural units
#define SAFETY 2             // of K beside what was seen of it

// ---- life cycle -----------------------------------------------------------------------------------------------------

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
    w->C_inner = kd_cut_matrix(a, m, d.nv);
    w->top = kd_cut_int(a, d.nv);
    w->first = kd_cut_int(a, m);
    w->L = kd_cut_matrix(a, m, m);
    w->pivot = kd_cut_double(a, m);
    w->vector = kd_cut_double(a, m);
    w->p = kd_cut_double(a, d.np);
    w->v = kd_cut_double(a, d.nv);
    w->inner = kd_cut_double(a, d.np);
    w->p_judged = kd_cut_double(a, d.np);
    double **const rows[] = {&w->row_K,   &w->row_eps,   &w->row_end,   &w->row_between,
                             &w->row_way, &w->row_noise, &w->row_hidden};
    for (int k = 0; k < 3; k++) w->rate[k] = kd_cut_double(a, d.np);
    for (int k = 0; k < 2; k++) w->left[k] = kd_cut_double(a, d.nv);
    w->p_before = kd_cut_double(a, d.np);
    w->v_before = kd_cut_double(a, d.nv);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) *rows[k] = kd_cut_double(a, m);
}

kd_status kd_rank_watch_create(kd_eom_data *data, const kd_inputs *inputs, kd_tolerances tolerances,
                               kd_rank_watch **watch, bool *unwatched)
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
    w->tolerances = tolerances;
    w->dims = d;
    if (inputs) w->inputs = *inputs;
    cut(w);
    kd_rank_rows_take(&w->rows, &w->arena, eom);
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

// ---- looking --------------------------------------------------------------------------------------------------------

static double change_of_C(const kd_rank_watch *w)
{
    return kd_rank_difference(w, w->C_last);
}

static kd_status outcome(const kd_rank_watch *w, kd_status status, char *message, size_t size)
{
    if (!w->stopped) return status;
    kd_text(message, size, "%s", kd_eom_data_message(w->data));
    return kd_eom_data_fault(w->data).status;
}

// |v| in the metric of D
static double speed_of(const kd_rank_watch *w, const kd_state *x)
{
    double sum = 0;
    for (int j = 0; j < w->dims.nv; j++) sum += x->v[j] / w->D[j] * (x->v[j] / w->D[j]);
    return sqrt(sum);
}

static bool is_position(const kd_rank_watch *w, int k)
{
    return w->active[k] < w->dims.nlambda;
}

// Violation of an active position constraint, scaled
static double row_violation(const kd_rank_watch *w, int k)
{
    return fabs(w->g[w->active[k]]) * w->R[k];
}

// The largest one; of each row as well. held: of the end of the step that was judged, where g was overwritten since
static double violation(kd_rank_watch *w, bool held)
{
    double eps = 0;
    for (int k = 0; k < w->nactive; k++) {
        w->row_eps[k] = held ? w->row_end[k] : is_position(w, k) ? row_violation(w, k) : 0;
        eps = fmax(eps, w->row_eps[k]);
    }
    return eps;
}

static bool is_certain(const kd_rank_watch *w)
{
    return w->sigma > NO_SIGMA && w->K * w->eps <= CERTAIN * w->sigma * w->sigma;
}

// Angle by which rounding, or the violation of constraints, turns velocities
static double turned_by_rounding(const kd_rank_watch *w)
{
    return w->K * fmax(w->eps, ROUNDING) / (w->sigma * w->sigma);
}

// Is that more than errors of the tolerance?
static bool is_noisy(const kd_rank_watch *w)
{
    return turned_by_rounding(w) * w->speed > w->tolerances.rtol * w->speed + w->tolerances.atol;
}

static void remember(kd_rank_watch *w, const kd_state *x)
{
    double *p = w->p_before, *v = w->v_before;
    w->t_before = w->t, w->p_before = w->p, w->v_before = w->v;
    w->p = p, w->v = v;
    w->t = x->t;
    w->speed = speed_of(w, x);
    memcpy(w->p, x->p, (size_t)w->dims.np * sizeof *w->p);
    memcpy(w->v, x->v, (size_t)w->dims.nv * sizeof *w->v);
}

// ---- the way inside a step ------------------------------------------------------------------------------------------

// p' at the end (t, p, v) of a step of the length h; row_noise: how far a v that leaves its constraints leads the cubic
static bool rate_at(kd_rank_watch *w, double t, const double *p, const double *v, const kd_state *x, double h,
                    double *rate)
{
    if (kd_eom_at_instant(w->data, &w->inputs, t, x) != KD_EVAL_OK) return false;
    kd_eom_at_position(w->data, p, x->s);
    kd_eom_at_velocity(w->data, v, x->r);
    if (!kd_rank_is_good(w, kd_eom_eval(w->data, KD_KINEMATICS, rate))) return false;
    if (w->dims.nlambda == 0) return true;
    if (!kd_rank_is_good(w, kd_eom_eval(w->data, KD_GI, w->g))) return false;
    for (int k = 0; k < w->nactive; k++)
        if (is_position(w, k)) w->row_noise[k] += MOST_OF_RATE * h * row_violation(w, k);
    return true;
}

// The cubic from the last look to x at the part s of the way, c(s) = p0 + s^2 (3 - 2 s) (p1 - p0)
// + h s (1 - s) ((1 - s) p0' - s p1'), and its slope dc/ds
static double cubic(const kd_rank_watch *w, const kd_state *x, int i, double s, double *slope)
{
    const double h = x->t - w->t, rest = 1 - s, way = x->p[i] - w->p[i];
    const double a = h * w->rate[0][i], b = h * w->rate[1][i];
    *slope = 6 * s * rest * way + (1 - 4 * s + 3 * s * s) * a - (2 * s - 3 * s * s) * b;
    return w->p[i] + s * s * (3 - 2 * s) * way + s * rest * (rest * a - s * b);
}

// What the quintic adds to it, omega(s) (A + B (s + rho)), omega = s^2 (1 - s)^2: it has p and p' of the look before,
// at s = -rho
static double quintic_part(const kd_rank_watch *w, const kd_state *x, int i, double s)
{
    const double h = x->t - w->t, rho = (w->t - w->t_before) / h, omega = pow(rho * (1 + rho), 2);
    const double slope_of_omega = -2 * rho * (1 + rho) * (1 + 2 * rho);
    double       slope;
    const double A = (w->p_before[i] - cubic(w, x, i, -rho, &slope)) / omega;
    const double B = (h * w->rate[2][i] - slope - slope_of_omega * A) / omega;
    return pow(s * (1 - s), 2) * (A + B * (s + rho));
}

// row_between: at least the violations of one of the two polynomials at the part s of the way
static bool add_violations(kd_rank_watch *w, const kd_state *x, double s, bool quintic)
{
    const double h = x->t - w->t;
    double       slope;
    for (int i = 0; i < w->dims.np; i++)
        w->inner[i] = cubic(w, x, i, s, &slope) + (quintic ? quintic_part(w, x, i, s) : 0);
    if (kd_eom_at_instant(w->data, &w->inputs, w->t + s * h, x) != KD_EVAL_OK) return false;
    kd_eom_at_position(w->data, w->inner, x->s);
    if (!kd_rank_is_good(w, kd_eom_eval(w->data, KD_G, w->g))) return false;
    for (int k = 0; k < w->nactive; k++)
        if (is_position(w, k)) w->row_between[k] = fmax(w->row_between[k], row_violation(w, k));
    return true;
}

// Speed of row k, the larger one of the last look and of x: of coordinates with an entry in the row, or of all of its
// bodies; change: of the row since C_last
static double row_speed(const kd_rank_watch *w, const kd_state *x, int k, bool hidden, double *change)
{
    const double *row = w->C + (ptrdiff_t)k * w->dims.nv, *last = w->C_last + (ptrdiff_t)k * w->dims.nv;
    double        square[2] = {0, 0}, sum = 0;
    int           count;
    const int    *column = kd_rank_columns(w, k, &count);
    for (int e = 0; e < count; e++) {
        const int j = column[e];
        if (row[j] == 0 && last[j] == 0 && !(hidden && w->rows.listed)) continue;
        square[0] += w->v[j] / w->D[j] * (w->v[j] / w->D[j]);
        square[1] += x->v[j] / w->D[j] * (x->v[j] / w->D[j]);
        sum += (row[j] - last[j]) * (row[j] - last[j]);
    }
    *change = sqrt(sum);
    return sqrt(fmax(square[0], square[1]));
}

// d and K of each row from what its own bodies do in the step to x, where C is known
static void measure_rows(kd_rank_watch *w, const kd_state *x)
{
    const double h = x->t - w->t, since = x->t - w->t_last;
    for (int k = 0; k < w->nactive; k++) {
        double change, speed = row_speed(w, x, k, w->row_hidden[k] != 0, &change);
        // no lever is so short: something turns the row that has no entry in it
        if (w->rows.listed && w->row_hidden[k] == 0 && change > MEASURABLE && change > MOST_CURVED * since * speed) {
            w->row_hidden[k] = 1;
            w->row_K[k] = 0;
            speed = row_speed(w, x, k, true, &change);
        }
        w->row_way[k] = h * speed;
        if (since * speed > MEASURABLE) w->row_K[k] = fmax(w->row_K[k], fmin(change / (since * speed), MOST_CURVED));
    }
}

// May C have lost its rank inside a step of this length, for all that is known at its start?
static bool may_turn(const kd_rank_watch *w, double step)
{
    const double before = w->sigma - SAFETY * w->K * w->path;
    return w->dims.ns == 0 && w->rank < w->dims.nv && (w->K == 0 || before < SAFETY * w->K * step);
}

// The same in the first step, K of which C at its end tells
static bool may_turn_at_first(const kd_rank_watch *w, double step)
{
    return w->K > 0 || w->sigma < SAFETY * change_of_C(w) / (w->path + step) * step;
}

// C at x, and the violations of the cubic that leads there. false: they are not to be had
static bool look_between(kd_rank_watch *w, const kd_state *x, double step)
{
    const double h = x->t - w->t;
    memset(w->row_between, 0, (size_t)w->nactive * sizeof *w->row_between);
    if (!kd_rank_evaluate(w, x)) return false;
    kd_rank_scale(w);
    if (!may_turn_at_first(w, step)) return false;
    measure_rows(w, x);
    // what both ends violate is no news
    for (int k = 0; k < w->nactive; k++) w->row_end[k] = is_position(w, k) ? row_violation(w, k) : 0;
    for (int k = 0; k < w->nactive; k++) w->row_noise[k] = 2 * fmax(w->row_eps[k], w->row_end[k]) + NO_VIOLATION;
    if (!rate_at(w, w->t, w->p, w->v, x, h, w->rate[0])) return false;
    if (!rate_at(w, x->t, x->p, x->v, x, h, w->rate[1])) return false;
    return add_violations(w, x, 0.25, false) && add_violations(w, x, 0.75, false);
}

// The same with the quintic, where there is one
static bool look_closer(kd_rank_watch *w, const kd_state *x)
{
    if (!(w->t_before < w->t) || !rate_at(w, w->t_before, w->p_before, w->v_before, x, 0, w->rate[2])) return false;
    memset(w->row_between, 0, (size_t)w->nactive * sizeof *w->row_between);
    for (int k = 1; k <= 3; k++)
        if (!add_violations(w, x, 0.25 * k, true)) return false;
    return true;
}

// eps / (K d^2) of a row inside the step, beyond what both ends violate
static double unevenness(const kd_rank_watch *w, int k)
{
    const double most = w->row_K[k] * w->row_way[k] * w->row_way[k];
    const double eps = w->row_between[k] - w->row_noise[k];
    return most > 0 && eps > 0 ? eps / most : 0; // without K a row has no branches
}

// What is left of all rows together in the direction that vanishes first, y = C' u, u the left singular vector of sigma
static void vanishing_row(const kd_rank_watch *w, const double *C, double *y)
{
    memset(y, 0, (size_t)w->dims.nv * sizeof *y);
    for (int k = 0; k < w->rank; k++) {
        const double *row = C + (ptrdiff_t)w->kept[k] * w->dims.nv;
        int           count;
        const int    *column = kd_rank_columns(w, w->kept[k], &count);
        for (int e = 0; e < count; e++) y[column[e]] += w->vector[k] * row[column[e]];
    }
}

// Did this row turn round, or lose most of itself, since the last matrix? It does so next to a singular position, where
// accelerations change fast; after: sigma at the end of the step
static bool has_passed(kd_rank_watch *w, double after)
{
    const int n = w->dims.nv;
    if (!(after > 0)) return true;
    vanishing_row(w, w->C_last, w->left[0]);
    vanishing_row(w, w->C, w->left[1]);
    const double then = kd_dot(n, w->left[0], w->left[0]), now = kd_dot(n, w->left[1], w->left[1]);
    return kd_dot(n, w->left[0], w->left[1]) < KEPT * fmax(then, now);
}

// With what C at the end of the step says (after: sigma there): can it have lost its rank on the way? By Weyl not if the
// singular values at both ends are larger than what C can have changed: as a whole, row by row, or in the rows that are not
// smooth, whose bodies alone can have turned. A row that hardly moves while others do may look uneven, but has no singular position within reach.
static bool lost_rank(kd_rank_watch *w, double step, double after)
{
    const double before = w->sigma - SAFETY * w->K * w->path, K = fmax(w->K, change_of_C(w) / (w->path + step));
    double       all = 0, uneven = 0;
    for (int k = 0; k < w->nactive; k++) {
        all += pow(w->row_K[k] * w->row_way[k], 2);
        if (unevenness(w, k) > SMOOTHER) uneven += pow(fmax(K, w->row_K[k]) * w->row_way[k], 2);
    }
    return before + after < SAFETY * fmin(K * step, sqrt(fmin(all, uneven)));
}

// Part of the step that would be smooth in all rows, 1: it is; by the polynomial that was looked at, eps / (K d^2) of
// which may be `most` and falls with the power of d
static double smooth_part(const kd_rank_watch *w, double most, double power)
{
    double uneven = 0;
    for (int k = 0; k < w->nactive; k++) uneven = fmax(uneven, unevenness(w, k));
    return uneven > most ? pow(most / uneven, 1 / power) : 1;
}

// Is the step so short that it is smooth or turned, in the rows that are not smooth? From rest the way is a square of time,
// and what is not smooth in it, too, so that it takes shorter ones
static bool is_short(const kd_rank_watch *w)
{
    const double most = w->speed > 0 ? SHORT : SHORT_FROM_REST;
    for (int k = 0; k < w->nactive; k++)
        if (unevenness(w, k) > SMOOTHER && w->row_way[k] > most) return false;
    return true;
}

// C and g at the part s of the way; the violation of all position constraints there, NAN: not to be had
static double evaluate_inside(kd_rank_watch *w, const kd_state *x, double s, bool quintic)
{
    double slope, sum = 0;
    for (int i = 0; i < w->dims.np; i++)
        w->inner[i] = cubic(w, x, i, s, &slope) + (quintic ? quintic_part(w, x, i, s) : 0);
    if (kd_eom_at_instant(w->data, &w->inputs, w->t + s * (x->t - w->t), x) != KD_EVAL_OK) return NAN;
    kd_eom_at_position(w->data, w->inner, x->s);
    if (!kd_rank_read(w)) return NAN;
    kd_rank_scale(w);
    for (int k = 0; k < w->nactive; k++)
        if (is_position(w, k)) sum += row_violation(w, k) * row_violation(w, k);
    return sqrt(sum);
}

// Is a point with this violation and at least this singular value beside one branch alone?
static bool is_beside(double K, double eps, double sigma)
{
    return sigma > NO_SIGMA && SAFETY * K * eps <= CERTAIN * sigma * sigma;
}

typedef enum way { WAY_LOST, WAY_COARSE, WAY_KEPT } way;

// Does the polynomial, looked at in so many parts, lead from one end of the step to the other beside one branch, by Newton
// and Kantorovich? Between two points sigma falls by half of what C changes at most, if it returns (Weyl). C is that of x then
static way follow_way(kd_rank_watch *w, const kd_state *x, int parts, double K, bool quintic)
{
    double eps_before = 0, sigma_before = 0;
    way    found = WAY_KEPT;
    for (int k = 0; k <= parts && found != WAY_LOST; k++) {
        const double eps = evaluate_inside(w, x, (double)k / parts, quintic);
        const double sigma = isnan(eps) ? 0 : kd_rank_least(w);
        if (!is_beside(K, eps, sigma)) found = WAY_LOST;
        const double least = k == 0 ? sigma : 0.5 * (sigma_before + sigma - SAFETY * kd_rank_difference(w, w->C_inner));
        if (found == WAY_KEPT && !is_beside(K, fmax(eps_before, eps), least)) found = WAY_COARSE;
        eps_before = eps, sigma_before = sigma;
        memcpy(w->C_inner, w->C, (size_t)w->nactive * (size_t)w->dims.nv * sizeof *w->C);
    }
    return found;
}

// A long chain has a small singular value everywhere: where that alone lets its rank be in doubt, the way itself tells, in
// more and more parts
static bool keeps_branch(kd_rank_watch *w, const kd_state *x, double step, bool quintic)
{
    double K = fmax(w->K, change_of_C(w) / (w->path + step));
    way    found = WAY_COARSE;
    for (int k = 0; k < w->nactive; k++) K = fmax(K, w->row_K[k]);
    for (int parts = 4; parts <= MOST_PARTS && found == WAY_COARSE; parts *= 4)
        found = follow_way(w, x, parts, K, quintic);
    // what was judged is the end of the step
    if (found != WAY_KEPT && kd_rank_evaluate(w, x)) kd_rank_scale(w);
    return found == WAY_KEPT;
}

// t_judged, smooth of the step to x. false: nothing is to be feared, or nothing can be said
static bool judge(kd_rank_watch *w, const kd_state *x)
{
    const double step = fabs(x->t - w->t) * fmax(speed_of(w, x), w->speed);
    w->t_judged = NAN;
    if (!may_turn(w, step) || !look_between(w, x, step)) return false;
    w->smooth = smooth_part(w, SMOOTH, 2);
    const bool closer = w->smooth < 1 && look_closer(w, x);
    if (closer) w->smooth = fmax(w->smooth, smooth_part(w, SMOOTHER, 4));
    const double after = kd_rank_least(w);
    w->passed = has_passed(w, after);
    if (w->smooth < 1 && (!lost_rank(w, step, after) || keeps_branch(w, x, step, closer))) w->smooth = 1;
    w->t_judged = x->t;
    memcpy(w->p_judged, x->p, (size_t)w->dims.np * sizeof *x->p);
    return true;
}

kd_status kd_rank_watch_start(kd_rank_watch *w, const kd_state *x, char *message, size_t size)
{
    int n = w->dims.nv, nlambda = w->dims.nlambda, m = nlambda + w->dims.nmu;
    // the rows that hold from here on, with lengths that are 1 now
    w->nactive = 0;
    for (int i = 0; i < m; i++)
        if (i < nlambda ? x->active_lambda[i] : x->active_mu[i - nlambda]) w->active[w->nactive++] = i;
    w->stopped = false;
    memset(w->C, 0, (size_t)m * (size_t)n * sizeof *w->C); // rows have other places now
    w->known = kd_rank_evaluate(w, x);
    if (!w->known) return outcome(w, KD_OK, message, size);
    // scales at the start: from here on sigma is compared with what it was
    for (int k = 0; k < w->nactive; k++) {
        double length = sqrt(kd_rank_product(w, k, k));
        w->R[k] = length > 0 ? 1 / length : 1;
    }
    kd_rank_scale(w);
    // as many independent rows as there are
    w->rank = kd_rank_choose(w, w->nactive < n ? w->nactive : n);
    memset(w->vector, 0, (size_t)m * sizeof *w->vector);
    w->sigma = kd_rank_least(w);
    w->eps = violation(w, false);
    w->K = 0;
    w->path = 0;
    w->t_last = x->t;
    w->t_judged = NAN;
    w->doubtful = false;
    memset(w->row_K, 0, (size_t)m * sizeof *w->row_K);
    memset(w->row_hidden, 0, (size_t)m * sizeof *w->row_hidden);
    remember(w, x);
    w->t_before = NAN;
    // K is measured between this matrix and the next
    memcpy(w->C_last, w->C, (size_t)w->nactive * (size_t)n * sizeof *w->C);
    return KD_OK;
}

// K from what C changed on the way since the last time; sigma and eps here
static void measure(kd_rank_watch *w, double t, bool held)
{
    // |C - C_last| per way: how fast the matrix turns
    const int count = w->nactive * w->dims.nv;
    // short ways show rounding only; K grows, it is not forgotten
    if (w->path > MEASURABLE) {
        w->K = fmax(w->K, fmin(change_of_C(w) / w->path, MOST_CURVED * sqrt(w->nactive)));
        memcpy(w->C_last, w->C, (size_t)count * sizeof *w->C);
        w->path = 0;
        w->t_last = t;
    }
    // the watched rows; where they are not certain, other ones of the redundant set may be
    w->sigma = kd_rank_least(w);
    w->eps = violation(w, held);
    if (is_certain(w) || w->rank == w->nactive) return;
    if (kd_rank_choose(w, w->rank) < w->rank) { // of redundant rows others may be better here
        w->sigma = 0;
        return;
    }
    memset(w->vector, 0, (size_t)w->rank * sizeof *w->vector);
    w->sigma = kd_rank_least(w);
}

void kd_rank_watch_go_on(kd_rank_watch *w, const kd_state *x)
{
    if (w->known) remember(w, x);
    w->t_before = NAN; // another motion
}

bool kd_rank_watch_wants(const kd_rank_watch *w, double h)
{
    return w->known && may_turn(w, FASTER * h * w->speed);
}

double kd_rank_watch_judge(kd_rank_watch *w, const kd_state *x)
{
    if (!w->known || !judge(w, x) || w->smooth == 1 || is_short(w)) return INFINITY;
    return (x->t - w->t) * fmax(SHORTER, AIMED * w->smooth);
}

bool kd_rank_watch_passed(const kd_rank_watch *w, double t)
{
    return w->t_judged == t && w->passed;
}

void kd_rank_watch_doubt(kd_rank_watch *w)
{
    w->doubtful = true;
}

// sigma at x, as it is now: is it certain on which branch the motion is, and where it leads? held: C is that of x
static kd_status look_here(kd_rank_watch *w, const kd_state *x, bool doubtful, bool held, char *message, size_t size)
{
    char with[80];
    if (!held) kd_rank_scale(w);
    if (!held) measure_rows(w, x);
    measure(w, x->t, held);
    kd_text(with, sizeof with, "a violation of %.2g", w->eps);
    if (!is_certain(w)) return kd_rank_watch_tell_branch(w, x->t, with, message, size);
    // a step that cannot be verified: noise of the velocities, which shorter steps do not lessen
    return doubtful && is_noisy(w) ? kd_rank_watch_tell_noise(w, x->t, turned_by_rounding(w), message, size) : KD_OK;
}

kd_status kd_rank_watch_look(kd_rank_watch *w, const kd_state *x, char *message, size_t size)
{
    const bool doubtful = w->doubtful;
    w->doubtful = false;
    if (!w->known) return KD_OK;
    // step: way in natural units. By Weyl sigma falls by K per unit of way at most
    const double step = fabs(x->t - w->t) * fmax(speed_of(w, x), w->speed);
    const double before = w->sigma - SAFETY * w->K * w->path; // for certain, as long as violations stay as they were
    const double left = before - SAFETY * w->K * step;
    // far from singular: no matrix is evaluated
    const bool far = !doubtful && w->K > 0 && left > FAR * w->sigma && 10 * w->K * w->eps < CERTAIN * left * left;
    // the step may have jumped over the crossing of branches: it is short and not smooth, or it could not be taken back
    // and is far from smooth
    const bool judged = w->t_judged == x->t, looked = judged || (step < LONGEST && judge(w, x));
    kd_status  status = KD_OK;
    if (looked && w->smooth < (judged && is_short(w) ? 1 : TURNED))
        status = kd_rank_watch_tell_branch(w, x->t, "a step that turns there", message, size);
    w->path += step;
    // what was judged had C of this end, if nothing moved it since; the integrator will find out where it cannot be evaluated
    const bool held = looked && memcmp(w->p_judged, x->p, (size_t)w->dims.np * sizeof *x->p) == 0;
    if (status == KD_OK && !far && (held || kd_rank_evaluate(w, x)))
        status = look_here(w, x, doubtful, held, message, size);
    w->t_judged = NAN;
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
    KD_ARCHIVE_REALS(a, &w->t, &w->sigma, &w->K, &w->eps, &w->path, &w->speed, &w->t_last, &w->t_before);
    if (a->reads) w->t_judged = NAN, w->doubtful = false;
    KD_ARCHIVE_BOOLS(a, &w->known, &w->stopped);
}
