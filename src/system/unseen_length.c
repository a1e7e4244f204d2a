// unseen_length.c: distances along a step. Method: docs/methods/intervals.md
//
// Two points that fly past each other are far apart at both ends of a step and near in between: |d| has a kink where d goes
// through zero, and the cubic of |d| by its values and rates at the ends shows half of the way in. Its vector moves along a
// cubic as well as coordinates do, component by component; length and rate come from the box of d and d'.
#include <math.h>

#include "math/space.h"
#include "system/unseen.h"

bool kd_unseen_is_length(const kd_work *w, int measure)
{
    return w->system->measure[measure].kind == KD_MEASURE_LENGTH && w->unseen.nplaces > 0 &&
           w->unseen.place[measure] >= 0;
}

// d and d' of a length where the work object is
void kd_unseen_take_way(const kd_work *w, int measure, double *way)
{
    const kd_relative *rel = &w->rel[w->system->measure[measure].pair];
    double            *at = way + 6 * w->unseen.place[measure];
    kd_vec_to(rel->d, at);
    kd_vec_to(rel->dd, at + 3);
}

// ---- boxes of vectors -----------------------------------------------------------------------------------------------

static kd_interval square(kd_interval a)
{
    const double l = a.lower * a.lower, u = a.upper * a.upper;
    return (kd_interval){a.lower <= 0.0 && a.upper >= 0.0 ? 0.0 : fmin(l, u), fmax(l, u)};
}

static kd_interval product(kd_interval a, kd_interval b)
{
    const double c[4] = {a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper};
    return (kd_interval){fmin(fmin(c[0], c[1]), fmin(c[2], c[3])), fmax(fmax(c[0], c[1]), fmax(c[2], c[3]))};
}

kd_interval kd_range_of_length(const kd_interval d[3])
{
    kd_interval sum = {0.0, 0.0};
    for (int i = 0; i < 3; i++) {
        const kd_interval s = square(d[i]);
        sum = (kd_interval){sum.lower + s.lower, sum.upper + s.upper};
    }
    return (kd_interval){sqrt(sum.lower), sqrt(sum.upper)};
}

kd_interval kd_range_of_length_rate(const kd_interval d[3], const kd_interval rate[3])
{
    const kd_interval length = kd_range_of_length(d), speed = kd_range_of_length(rate);
    kd_interval       sum = {0.0, 0.0}, n = {-speed.upper, speed.upper};
    for (int i = 0; i < 3; i++) {
        const kd_interval s = product(d[i], rate[i]);
        sum = (kd_interval){sum.lower + s.lower, sum.upper + s.upper};
    }
    if (!(length.lower > 0.0)) return n;
    // no faster than the vector itself
    const double lower = sum.lower / (sum.lower < 0.0 ? length.lower : length.upper),
                 upper = sum.upper / (sum.upper > 0.0 ? length.lower : length.upper);
    return (kd_interval){fmax(n.lower, lower), fmin(n.upper, upper)};
}

// ---- along the path -------------------------------------------------------------------------------------------------

// Component i of the vector in a piece of the path; *h: how long that is
static kd_cubic component(const kd_work *w, int measure, int piece, int i, double *h)
{
    const kd_unseen_work *u = &w->unseen;
    const int             at = 6 * u->place[measure] + i, all = 6 * u->nplaces;
    const bool            whole = u->pieces <= 1;
    const double *from = whole ? u->end[0].way : u->piece_way + piece * all, *to = whole ? u->end[1].way : from + all;
    *h = (u->end[1].t - u->end[0].t) / u->pieces;
    return (kd_cubic){{from[at], to[at]}, {*h * from[at + 3], *h * to[at + 3]}};
}

double kd_unseen_length(const kd_work *w, int measure, int piece, double inside, int level)
{
    double sum = 0.0, dot = 0.0, h = 1.0;
    for (int i = 0; i < 3; i++) {
        double         slope, bend;
        const kd_cubic c = component(w, measure, piece, i, &h);
        const double   d = kd_cubic_at(&c, inside, &slope, &bend);
        sum += d * d;
        dot += d * slope / h;
    }
    const double length = sqrt(sum);
    return level == 0 ? length : length > 0.0 ? dot / length : 0.0;
}

kd_interval kd_unseen_lengths(const kd_work *w, int measure, int piece, double a, double b, int level)
{
    kd_interval d[3], rate[3];
    for (int i = 0; i < 3; i++) {
        double         h;
        const kd_cubic c = component(w, measure, piece, i, &h);
        d[i] = kd_cubic_range(&c, a, b, 0);
        rate[i] = kd_cubic_range(&c, a, b, 1);
        rate[i] = (kd_interval){rate[i].lower / h, rate[i].upper / h};
    }
    return level == 0 ? kd_range_of_length(d) : kd_range_of_length_rate(d, rate);
}
