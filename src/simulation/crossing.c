// crossing.c: the first change of sign in a step.
//
//     1. functions that sit at zero: their sign shortly behind the start, at h 1e-10, h 1e-9, ...
//     2. a change of sign between the ends: the Illinois variant of regula falsi on the earliest root of all functions
//     3. two changes of sign: bounds of the function exclude them, by bisection of the step; without bounds the minima
//        of |s| are searched from samples where one is plausible. One that is found: 2. with the part in front of it
//     4. three of them: the one that was located need not be the first. The part in front of it is looked at as in 3.
#include "simulation/crossing.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FIRST_PROBE 1e-10 // of the step: first look at a function that starts at zero
#define BISECTIONS 400    // of one step, to exclude double crossings by bounds
#define DEPTH 64          // of the bisection: no double can be halved more often
#define LAST_PART 1e-3    // of the part in front of a crossing, next to it: no more are expected there
#define ITERATIONS 200    // of the location, more than bisection alone needs
#define POLISHED 2        // evaluations behind a root that is known to the tolerance
#define BEHIND 4          // [ulp] so far behind it
#define SLOW 3            // iterations in which an interval must shrink to half
#define MINIMISATIONS 40  // evaluations for one minimum
#define IMPLAUSIBLE 0.3   // a minimum that is expected to keep this part of the value does not reach zero
#define NARROW 1e-8       // of the step: a minimum is no better known, root of the unit roundoff

void kd_crossing_cut(kd_crossing *self, kd_arena *arena, int n, int samples)
{
    self->n = n;
    self->samples = samples;
    self->side = kd_arena_cut(arena, (size_t)n, 1);
    self->crossed = kd_arena_cut(arena, (size_t)n, 1);
    self->band = kd_cut_double(arena, n);
    self->start = kd_cut_double(arena, n);
    self->end = kd_cut_double(arena, n);
    self->rate = kd_cut_double(arena, n);
    self->low = kd_cut_double(arena, n);
    self->high = kd_cut_double(arena, n);
    self->middle = kd_cut_double(arena, n);
    self->lower = kd_cut_double(arena, n);
    self->upper = kd_cut_double(arena, n);
    self->sample_t = kd_cut_double(arena, samples + 2);
    self->sample = kd_cut_matrix(arena, n, samples + 2);
}

static void copy(int n, const double *from, double *to)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

static void swap(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

static bool has_crossed(const kd_crossing *self, int i, double value)
{
    // beyond zero by more than the band: within it, rounding decides
    return self->side[i] * value < 0 && fabs(value) > self->band[i];
}

static bool any_crossed(const kd_crossing *self, const double *values)
{
    for (int i = 0; i < self->n; i++)
        if (has_crossed(self, i, values[i])) return true;
    return false;
}

// ---- functions that start at zero -----------------------------------------------------------------------------------

// Values that tell a sign end the time at zero.
static bool settle(kd_crossing *self, const double *values)
{
    bool all = true;
    for (int i = 0; i < self->n; i++) {
        if (self->band[i] == 0) continue;
        // still within the band: no sign yet
        if (!(fabs(values[i]) > self->band[i])) {
            all = false;
            continue;
        }
        if (self->side[i] == 0) self->side[i] = values[i] > 0 ? 1 : -1;
        self->band[i] = 0;
    }
    return all;
}

static bool any_at_zero(const kd_crossing *self)
{
    for (int i = 0; i < self->n; i++)
        if (self->band[i] > 0) return true;
    return false;
}

// Move the start to where all functions have left zero, as far as they do; or the end to a crossing on the way.
static kd_status leave_zero(kd_crossing *self, const kd_step_functions *f, double *t0, double *t1, double tolerance)
{
    const double from = *t0, h = *t1 - *t0;
    if (!any_at_zero(self)) return KD_OK;
    // decades from 1e-10 of the step on: whoever leaves zero slowly is met at its own scale
    for (double part = FIRST_PROBE; part < 0.5; part *= 10) {
        double t = from + part * h;
        if (!(t > from + tolerance)) continue;
        kd_status status = f->values(t, f->context, self->middle);
        if (status < 0) return status;
        // a function that had its side crosses while others still leave zero
        if (any_crossed(self, self->middle)) {
            swap(&self->middle, &self->end);
            *t1 = t;
            return KD_OK;
        }
        bool all = settle(self, self->middle);
        // all of them have their sign from here on, or as many as have left zero
        swap(&self->middle, &self->start);
        *t0 = t;
        if (all) return KD_OK;
    }
    // those that stay at zero through the step show their sign at its end, if at all
    if (!any_crossed(self, self->end)) (void)settle(self, self->end);
    return KD_OK;
}

// ---- location -------------------------------------------------------------------------------------------------------

// The earliest root that straight lines between low and high predict; weights are those of the Illinois method.
static double predicted(const kd_crossing *self, double a, double b, double weight_a, double weight_b)
{
    double least = b;
    for (int i = 0; i < self->n; i++) {
        if (!has_crossed(self, i, self->high[i])) continue;
        // the weighted values keep the root of the line inside; a value on the wrong side counts as zero
        double fa = fmax(weight_a * self->side[i] * self->low[i], 0), fb = weight_b * fabs(self->high[i]);
        least = fmin(least, a + (b - a) * (fa / (fa + fb)));
    }
    return least;
}

// The interval a .. b with values low, high and the weights of the Illinois method
typedef struct interval {
    double a, b, weight_a, weight_b;
    int    kept; // > 0: a was kept so often, < 0: b was
} interval;

// A part of the interval that has the earliest root
static kd_status divide(kd_crossing *self, const kd_step_functions *f, double t, interval *in)
{
    kd_status status = f->values(t, f->context, self->middle);
    if (status < 0) return status;
    // crossed in front: the root is left of t. An end that stays twice in a row loses half of its weight (Illinois)
    if (any_crossed(self, self->middle)) {
        swap(&self->middle, &self->high);
        in->b = t;
        in->kept = in->kept > 0 ? in->kept + 1 : 1;
        in->weight_b = 1;
        if (in->kept > 1) in->weight_a *= 0.5;
    } else {
        swap(&self->middle, &self->low);
        in->a = t;
        in->kept = in->kept < 0 ? in->kept - 1 : -1;
        in->weight_a = 1;
        if (in->kept < -1) in->weight_b *= 0.5;
    }
    return KD_OK;
}

// The end goes to the earliest root between the start and the end, where a function has crossed: some ulp behind it
// where the function is smooth, at most the tolerance.
static kd_status locate(kd_crossing *self, const kd_step_functions *f, double t0, double *t1, double tolerance)
{
    interval  in = {t0, *t1, 1, 1, 0};
    double    width = in.b - in.a;
    kd_status status = KD_OK;
    copy(self->n, self->start, self->low);
    copy(self->n, self->end, self->high);
    for (int k = 1; in.b - in.a > tolerance && k <= ITERATIONS && status >= 0; k++) {
        // the earliest of the predicted roots; slow progress is ended by bisection
        double t = predicted(self, in.a, in.b, in.weight_a, in.weight_b);
        if (k % SLOW == 0) {
            if (in.b - in.a > 0.5 * width) t = in.a + 0.5 * (in.b - in.a);
            width = in.b - in.a;
        }
        t = fmin(fmax(t, in.a + 0.5 * tolerance), in.b - 0.5 * tolerance); // a root at an end is enclosed at once
        if (!(t > in.a && t < in.b)) break;
        status = divide(self, f, t, &in);
    }
    // known to the tolerance; a few evaluations more set the end some ulp behind a smooth root
    for (int k = 0; k < POLISHED && status >= 0; k++) {
        double t = predicted(self, in.a, in.b, 1, 1) + BEHIND * DBL_EPSILON * fabs(in.b);
        if (!(t > in.a && t < in.b)) break;
        status = divide(self, f, t, &in);
    }
    swap(&self->high, &self->end);
    *t1 = in.b;
    return status;
}

// Functions that cross within the tolerance behind the crossing belong to it.
static kd_status gather(kd_crossing *self, const kd_step_functions *f, double *t, double limit, double tolerance)
{
    // one look at the end of the tolerance: does another function cross until there?
    double    later = fmin(*t + tolerance, limit);
    bool      more = false;
    kd_status status = self->n > 1 && later > *t ? f->values(later, f->context, self->middle) : KD_OK;
    if (status < 0) return status;
    for (int i = 0; i < self->n && self->n > 1 && later > *t; i++)
        more = more || (has_crossed(self, i, self->middle[i]) && !has_crossed(self, i, self->end[i]));
    for (int i = 0; i < self->n && more; i++) // those that touch back within the tolerance have crossed as well
        more = !has_crossed(self, i, self->end[i]) || has_crossed(self, i, self->middle[i]);
    // they are one instant: its time moves on, all crossings belong to it
    if (more) {
        swap(&self->middle, &self->end);
        *t = later;
    }
    for (int i = 0; i < self->n; i++)
        self->crossed[i] = (signed char)(has_crossed(self, i, self->end[i]) ? -self->side[i] : 0);
    return KD_OK;
}

// ---- double crossings: bounds ---------------------------------------------------------------------------------------

// Can function i cross twice between the start and the end, or before it crosses at the end?
static bool is_open(const kd_crossing *self, int i)
{
    return self->side[i] != 0 && self->band[i] == 0;
}

static bool is_known(const kd_crossing *self, int i)
{
    return self->lower[i] > -HUGE_VAL || self->upper[i] < HUGE_VAL;
}

static bool is_excluded(const kd_crossing *self, int i)
{
    return self->side[i] > 0 ? self->lower[i] > 0 : self->upper[i] < 0;
}

// A time at which a function has crossed that has bounds: the step is halved until they exclude it. wanted[i]: no
// bounds, or too many halves.
static kd_status exclude(kd_crossing *self, const kd_step_functions *f, double t0, double t1, double tolerance,
                         bool *found, double *t, signed char *wanted)
{
    // right ends of the parts that are still to be looked at; a is the left end of the first
    double right[DEPTH], a = t0;
    int    depth = 0, halves = 0;
    right[depth++] = t1;
    while (depth > 0) {
        double    b = right[depth - 1], middle = a + 0.5 * (b - a);
        bool      all = true;
        kd_status status = f->bounds(a, b, f->context, self->lower, self->upper);
        if (status < 0) return status;
        // which functions are not excluded in a .. b? wanted 2: no bounds, their minima are searched later
        for (int i = 0; i < self->n; i++) {
            if (!wanted[i] || is_excluded(self, i)) continue;
            if (b == t1 && b - a <= LAST_PART * (t1 - t0) && has_crossed(self, i, self->end[i])) continue;
            if (!is_known(self, i))
                wanted[i] = 2;
            else if (wanted[i] == 1)
                all = false;
        }
        // nothing hides here, or it is too short to matter: the next part
        if (all || b - a <= tolerance || depth == DEPTH) {
            a = b;
            depth--;
            continue;
        }
        if (++halves > BISECTIONS) break;
        // the bisection looks at the middle anyway: a crossing there is the find
        status = f->values(middle, f->context, self->middle);
        if (status < 0) return status;
        if (any_crossed(self, self->middle)) {
            *found = true;
            *t = middle;
            return KD_OK;
        }
        right[depth++] = middle;
    }
    // all parts were excluded: nothing of these functions is left to search
    for (int i = 0; i < self->n; i++)
        if (wanted[i] == 1 && depth == 0) wanted[i] = 0;
    return KD_OK;
}

// ---- double crossings: minima ---------------------------------------------------------------------------------------

// A dip to zero changes the value by more than itself, in this step or in the one before.
static bool is_plausible(const kd_crossing *self, int i, double h)
{
    // the nearer end is farther from zero than anything it moved
    double least = fmin(fabs(self->start[i]), fabs(self->end[i]));
    double change = fmax(fabs(self->end[i] - self->start[i]), self->rate[i] * h);
    return !(least > change);
}

// Least value between two points of a function that is no steeper than that: distances of what flies past have corners, which no
// parabola shows
static double least_between(double ya, double yb, double h, double steepest)
{
    return 0.5 * (ya + yb - steepest * h);
}

// Minimum of side s_i between a and b from a point m inside with a smaller value: parabolas, golden section where they
// fail; ends where a function has crossed or none is expected to.
static kd_status minimise(kd_crossing *self, const kd_step_functions *f, int i, const double t3[3], const double y3[3],
                          double narrow, bool *found, double *t)
{
    const double golden = 0.381966011250105;
    double       a = t3[0], m = t3[1], b = t3[2], ya = y3[0], ym = y3[1], yb = y3[2];
    for (int k = 0; k < MINIMISATIONS && b - a > narrow; k++) {
        // vertex of the parabola through the three points
        double da = (ya - ym) / (a - m), db = (yb - ym) / (b - m), curvature = (db - da) / (b - a);
        double x = curvature > 0 ? m - 0.5 * (da + curvature * (m - a)) / curvature : NAN;
        double least = ym + (x - m) * (da + curvature * (x - a));
        // the parabola stays well above zero, and so does a corner: no dip
        const double steepest = fmax(fabs(da), fabs(db));
        const double corner = fmin(least_between(ya, ym, m - a, steepest), least_between(ym, yb, b - m, steepest));
        if (isfinite(x) && least > IMPLAUSIBLE * ym && corner > IMPLAUSIBLE * ym) return KD_OK;
        // outside, no progress or every fourth time: golden section of the larger part
        if (!(x > a + 0.01 * (b - a) && x < b - 0.01 * (b - a)) || fabs(x - m) < 0.01 * narrow || k % 4 == 3)
            x = m - a > b - m ? m - golden * (m - a) : m + golden * (b - m);
        kd_status status = f->values(x, f->context, self->middle);
        if (status < 0) return status;
        if (any_crossed(self, self->middle)) {
            *found = true;
            *t = x;
            return KD_OK;
        }
        // the smaller of both points is the new middle; the other one replaces an end on its own side
        double y = self->side[i] * self->middle[i];
        bool smaller = y<ym, right = x> m;
        double                         *ta = smaller == right ? &a : &b, *va = smaller == right ? &ya : &yb;
        *ta = smaller ? m : x;
        *va = smaller ? ym : y;
        if (smaller) m = x, ym = y;
    }
    return KD_OK;
}

static double value_of(const kd_crossing *self, int i, int k)
{
    return self->side[i] * self->sample[k * self->n + i];
}

// Three samples around a minimum near sample k; false: there is none.
static bool bracket(const kd_crossing *self, int i, int k, double t3[3], double y3[3])
{
    const int last = self->samples + 1;
    // three neighbours; at the ends the last three inside of the step
    const int first = k == 0 ? 0 : k == last ? last - 2 : k - 1;
    for (int j = 0; j < 3; j++) {
        t3[j] = self->sample_t[first + j];
        y3[j] = value_of(self, i, first + j);
    }
    if (k > 0 && k < last) return y3[1] <= y3[0] && y3[1] <= y3[2];
    // at an end: does the parabola fall from it into the step?
    double       d = t3[1] - t3[0];
    double       slope = k == 0 ? -3 * y3[0] + 4 * y3[1] - y3[2] : -3 * y3[2] + 4 * y3[1] - y3[0];
    double       curvature = y3[0] - 2 * y3[1] + y3[2];
    const double y = y3[k == 0 ? 0 : 2];
    if (y3[1] < y) return false;
    // below the end and distance from it: of the parabola, or of a corner with the slope that is seen behind the neighbour
    double depth = slope < 0 && curvature > 0 ? slope * slope / (8 * curvature) : 0, x = -0.5 * slope / curvature * d;
    const double rise = fabs(y3[k == 0 ? 2 : 0] - y3[1]), corner = least_between(y, y3[1], d, rise / d);
    if (y - depth > IMPLAUSIBLE * y && corner <= IMPLAUSIBLE * y) {
        depth = y - corner;
        x = 0.5 * d * (1 + (y - y3[1]) / rise);
    }
    if (y - depth > IMPLAUSIBLE * y) return false;
    // the bracket: end, predicted minimum, neighbour, in the order of time
    double end = k == 0 ? t3[0] : t3[2], neighbour = t3[1], y_neighbour = y3[1];
    bool   first_end = k == 0;
    x = first_end ? end + x : end - x;
    t3[0] = first_end ? end : neighbour;
    y3[0] = first_end ? y : y_neighbour;
    t3[2] = first_end ? neighbour : end;
    y3[2] = first_end ? y_neighbour : y;
    t3[1] = x;
    y3[1] = y - depth;
    return x > t3[0] && x < t3[2];
}

static kd_status take_samples(kd_crossing *self, const kd_step_functions *f, double t0, double t1, bool *found,
                              double *t)
{
    const int last = self->samples + 1;
    // equal distances; the ends are known
    for (int k = 0; k <= last; k++) {
        double *out = self->sample + k * self->n;
        self->sample_t[k] = k == last ? t1 : t0 + (t1 - t0) * k / last;
        if (k == 0 || k == last) {
            copy(self->n, k == 0 ? self->start : self->end, out);
            continue;
        }
        kd_status status = f->values(self->sample_t[k], f->context, out);
        if (status < 0) return status;
        // luck: a sample lies in the dip itself
        if (!any_crossed(self, out)) continue;
        copy(self->n, out, self->middle);
        *found = true;
        *t = self->sample_t[k];
        return KD_OK;
    }
    return KD_OK;
}

static kd_status search(kd_crossing *self, const kd_step_functions *f, double t0, double t1, const signed char *wanted,
                        bool *found, double *t)
{
    kd_status status = take_samples(self, f, t0, t1, found, t);
    for (int i = 0; i < self->n; i++) {
        if (!wanted[i] || has_crossed(self, i, self->end[i])) continue; // samples are enough before a crossing
        // around each sample that is lower than its neighbours
        for (int k = 0; k <= self->samples + 1 && status >= 0 && !*found; k++) {
            double t3[3], y3[3];
            if (!bracket(self, i, k, t3, y3)) continue;
            if (k == 0 || k == self->samples + 1) { // the point inside is only predicted
                status = f->values(t3[1], f->context, self->middle);
                if (status < 0) return status;
                *found = any_crossed(self, self->middle);
                if (*found) *t = t3[1];
                y3[1] = self->side[i] * self->middle[i];
                if (*found || !(y3[1] < y3[0] && y3[1] < y3[2])) continue;
            }
            status = minimise(self, f, i, t3, y3, NARROW * (t1 - t0), found, t);
        }
    }
    return status;
}

// ---- all together ---------------------------------------------------------------------------------------------------

// A time between the start and the end at which a function has crossed that has crossed back at the end.
static kd_status find_hidden(kd_crossing *self, const kd_step_functions *f, double t0, double t1, double tolerance,
                             bool *found, double *t)
{
    // crossed is free until a crossing is found: it holds the candidates
    signed char *wanted = self->crossed;
    bool         any = false;
    *found = false;
    for (int i = 0; i < self->n; i++) {
        wanted[i] = is_open(self, i) && (f->bounds || is_plausible(self, i, t1 - t0));
        any = any || wanted[i];
    }
    // too short a step hides nothing
    if (!any || !(t1 - t0 > 2 * tolerance)) return KD_OK;
    // bounds where there are some; what they leave open must also be plausible
    if (f->bounds) {
        kd_status status = exclude(self, f, t0, t1, tolerance, found, t, wanted);
        if (status < 0 || *found) return status;
        any = false;
        for (int i = 0; i < self->n; i++) {
            wanted[i] = wanted[i] && is_plausible(self, i, t1 - t0);
            any = any || wanted[i];
        }
    }
    return any ? search(self, f, t0, t1, wanted, found, t) : KD_OK;
}

kd_status kd_crossing_find(kd_crossing *self, const kd_step_functions *f, double t0, double t1, double tolerance,
                           bool *found, double *t)
{
    // a crossing at the end is located; then what hides in front of it, which is the next end to locate
    const double end = t1, h = t1 - t0;
    kd_status    status = leave_zero(self, f, &t0, &t1, tolerance);
    bool         hidden = true;
    *found = t1 < end; // met on the way from zero
    while (status >= 0 && hidden) {
        if (any_crossed(self, self->end)) {
            status = locate(self, f, t0, &t1, tolerance);
            *found = true;
        }
        if (status >= 0) status = find_hidden(self, f, t0, t1, tolerance, &hidden, &t1);
        if (status >= 0 && hidden) swap(&self->middle, &self->end);
    }
    if (status < 0) return status;
    // all that cross within the tolerance; otherwise rates for the next step
    if (*found) return *t = t1, gather(self, f, t, end, tolerance);
    memset(self->crossed, 0, (size_t)self->n);
    for (int i = 0; i < self->n; i++) self->rate[i] = h > 0 ? fabs(self->end[i] - self->start[i]) / h : HUGE_VAL;
    return KD_OK;
}
