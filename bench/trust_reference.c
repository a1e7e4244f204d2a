// trust_reference.c: random numbers and the solver behind the references, independent of kardan's integrators.
#include "trust.h"

#include <float.h>
#include <math.h>
#include <string.h>

// ---- random numbers -------------------------------------------------------------------------------------------------

static uint64_t next(trust_dice *dice)
{
    uint64_t z = dice->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double trust_uniform(trust_dice *dice, double low, double high)
{
    return low + (high - low) * (double)(next(dice) >> 11) * 0x1p-53;
}

double trust_decades(trust_dice *dice, double low, double high)
{
    return exp(trust_uniform(dice, log(low), log(high)));
}

int trust_choice(trust_dice *dice, int n)
{
    return (int)(next(dice) % (uint64_t)n);
}

double trust_sign(trust_dice *dice)
{
    return trust_choice(dice, 2) ? 1 : -1;
}

// ---- extrapolation of the midpoint rule -----------------------------------------------------------------------------

#define COLUMNS 5   // order 10
#define RIGHT 1e-10 // part of a substep
#define EDGE (4 * DBL_EPSILON)

// f as it is in the part between two multiples of the pitch from which the step starts, at y0: a step that leaves the
// part sees nothing of the next one, so that its end tells whether it turns or passes
static void slopes_in_part(const trust_ode *ode, double t, const double *y, double y0, double *dy)
{
    double inside[TRUST_STATES];
    memcpy(inside, y, (size_t)ode->n * sizeof *y);
    if (ode->pitch > 0) {
        const double low = ode->pitch * floor(y0 / ode->pitch), high = low + ode->pitch;
        const double edge = EDGE * (fabs(y0) + ode->pitch);
        inside[0] = fmin(fmax(y[0], low + edge), high - edge);
    }
    ode->f(t, inside, dy, ode->context);
}

// Gragg's midpoint rule with an even number of substeps: y(t + h) with an expansion in (h / count)^2
static void midpoint(const trust_ode *ode, double t, double h, int count, const double *y, double *end)
{
    double before[TRUST_STATES], now[TRUST_STATES], slope[TRUST_STATES], part = h / count;
    slopes_in_part(ode, t + RIGHT * part, y, y[0], slope); // the limit from the right, where f jumps at t
    for (int i = 0; i < ode->n; i++) {
        before[i] = y[i];
        now[i] = y[i] + part * slope[i];
    }
    for (int k = 1; k < count; k++) {
        slopes_in_part(ode, t + k * part, now, y[0], slope);
        for (int i = 0; i < ode->n; i++) {
            double after = before[i] + 2 * part * slope[i];
            before[i] = now[i];
            now[i] = after;
        }
    }
    memcpy(end, now, sizeof now);
}

// One step by Aitken and Neville's scheme over 2, 4, .. substeps
static void macro_step(const trust_ode *ode, double t, double h, const double *y, double *end)
{
    double table[COLUMNS][TRUST_STATES];
    for (int k = 0; k < COLUMNS; k++) {
        midpoint(ode, t, h, 2 * (k + 1), y, table[k]);
        for (int j = k - 1; j >= 0; j--) {
            double ratio = (double)(k + 1) / (j + 1);
            for (int i = 0; i < ode->n; i++)
                table[j][i] = table[j + 1][i] + (table[j + 1][i] - table[j][i]) / (ratio * ratio - 1);
        }
    }
    memcpy(end, table[0], sizeof table[0]);
}

// The place strictly between two values of y[0], the nearest to the first; NaN: none
static double place_between(const trust_ode *ode, double from, double to)
{
    double found = NAN;
    for (int i = 0; i < ode->nplaces; i++) {
        double place = ode->places[i];
        if (!((place - from) * (to - place) > 0)) continue;
        if (isnan(found) || fabs(place - from) < fabs(found - from)) found = place;
    }
    if (ode->pitch > 0) { // the nearest multiple on the way
        double near = ode->pitch * (to > from ? floor(from / ode->pitch) + 1 : ceil(from / ode->pitch) - 1);
        if ((near - from) * (to - near) > 0) found = near;
    }
    return found;
}

// Shorten the step so that y[0] ends just behind the place (bisection on h; the way is monotonous in a short step): so
// far that rounding in f does not see it before
static double step_to(const trust_ode *ode, double t, double h, const double *y, double place, double *end)
{
    const double way = y[0] < place ? 1 : -1, behind = 8 * DBL_EPSILON * fabs(place);
    double       low = 0, high = h;
    for (int i = 0; i < 60 && high - low > 1e-16 * fabs(t + h); i++) {
        double middle = 0.5 * (low + high);
        macro_step(ode, t, middle, y, end);
        if (way * (end[0] - place) > behind)
            high = middle;
        else
            low = middle;
    }
    macro_step(ode, t, high, y, end);
    return high;
}

// Shorten the step to where y[0] turns, y[1] being its rate: places that are passed to and fro are seen then
static double step_to_turn(const trust_ode *ode, double t, double h, const double *y, double *end)
{
    double low = 0, high = h;
    for (int i = 0; i < 60 && high - low > 1e-16 * fabs(t + h); i++) {
        double middle = 0.5 * (low + high);
        macro_step(ode, t, middle, y, end);
        if (y[1] * end[1] <= 0)
            high = middle;
        else
            low = middle;
    }
    macro_step(ode, t, high, y, end);
    return high;
}

void trust_solve(const trust_ode *ode, double *y, double t0, double t1)
{
    const bool placed = ode->nplaces > 0 || ode->pitch > 0;
    double     t = t0, end[TRUST_STATES];
    while (t < t1) {
        double h = fmin(ode->step(t, y, ode->context), t1 - t);
        for (int i = 0; i < ode->ntimes; i++)
            if (ode->times[i] > t && ode->times[i] < t + h) h = ode->times[i] - t;
        bool last = t + h >= t1;
        macro_step(ode, t, h, y, end);
        if (placed && y[1] * end[1] < 0) {
            h = step_to_turn(ode, t, h, y, end);
            last = false;
        }
        double place = place_between(ode, y[0], end[0]);
        if (!isnan(place)) {
            h = step_to(ode, t, h, y, place, end);
            last = false;
        }
        memcpy(y, end, (size_t)ode->n * sizeof *y);
        t = last ? t1 : t + h;
    }
}

// ---- integrals ------------------------------------------------------------------------------------------------------

#define GAUSS 40

// Nodes and weights of Gauss and Legendre by Newton's method
static void gauss(double *node, double *weight)
{
    for (int i = 0; i < GAUSS; i++) {
        double x = cos(3.14159265358979323846 * (i + 0.75) / (GAUSS + 0.5)), slope = 1;
        for (int k = 0; k < 50; k++) {
            double p0 = 1, p1 = x;
            for (int j = 2; j <= GAUSS; j++) {
                double p2 = ((2 * j - 1) * x * p1 - (j - 1) * p0) / j;
                p0 = p1;
                p1 = p2;
            }
            slope = GAUSS * (x * p1 - p0) / (x * x - 1);
            double change = p1 / slope;
            x -= change;
            if (fabs(change) < 1e-16) break;
        }
        node[i] = x;
        weight[i] = 2 / ((1 - x * x) * slope * slope);
    }
}

double trust_integral(double (*f)(double x, const void *context), const void *context, double a, double b, int n)
{
    double node[GAUSS], weight[GAUSS], sum = 0, half = (b - a) / n / 2;
    gauss(node, weight);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < GAUSS; i++) sum += half * weight[i] * f(a + half * (2 * k + 1 + node[i]), context);
    return sum;
}
