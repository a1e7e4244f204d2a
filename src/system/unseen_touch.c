// unseen_touch.c: surfaces that fly past each other in a step. Method: docs/methods/intervals.md
//
// Two small balls are far apart at both ends of a long step and may have met in between. Gaps and their rates at the ends show
// nothing of that; but a gap changes no faster than the surfaces move,
//
//     |gap'| <= L = |v| + sum over both of turn * reach,     v: of one origin relative to the other
//
// so that they have not met if gap(t0) + gap(t1) > L h. Where they are bounded, their balls about the origins, whose way is a
// cubic between the ends, may stay apart. Steps that are short compared with the sizes of the surfaces need none of this: gaps
// are smooth functions of time along them, and events and laws find what is inside.
#include <float.h>
#include <math.h>

#include "element/touch.h"
#include "system/unseen.h"

#define SHORT 0.25    // of the size of the surfaces: the way in a step along which the gap is smooth
#define TURNED 0.25   // [rad] the same of turns
#define SAFE 0.9      // of the longest step that would stand
#define LONGEST 0.8   // part of the step that is left at most
#define PARTS 32      // of a step, for balls about the origins
#define BENT 0.1      // of the way: so far from a parabola the cubic is trusted
#define REVERSED 1.5  // of the velocity: so much may it change there
#define LATER 0.5     // of the time in which gaps could close: nothing has to be looked at
#define TOGETHER 1e-9 // of the size: a gap that is kept by a row is no larger

bool kd_system_has_passing(const kd_system *s)
{
    for (int i = 0; i < s->ntouches; i++)
        if (!s->touch[i].kept) return true;
    return false;
}

// ---- surfaces -------------------------------------------------------------------------------------------------------

static bool is_sphere(const kd_surface_def *d)
{
    return d->kind == KD_SURFACE_SPHERE;
}

// Smallest radius of curvature; 0 where it is not known
static double radius_of(const kd_surface_def *d)
{
    const double *a = d->size;
    switch (d->kind) {
    case KD_SURFACE_PLANE:
        return INFINITY;
    case KD_SURFACE_SPHERE:
    case KD_SURFACE_CYLINDER:
        return a[0];
    case KD_SURFACE_ELLIPSOID: {
        const double least = fmin(a[0], fmin(a[1], a[2])), most = fmax(a[0], fmax(a[1], a[2]));
        return least * least / most;
    }
    case KD_SURFACE_TORUS:
        return fmin(a[1], a[0] - a[1]);
    default:
        return 0.0;
    }
}

// Radius of the ball about the origin that holds all of it
static double ball_of(const kd_surface_def *d)
{
    const double *a = d->size;
    if (d->hollow) return INFINITY;
    switch (d->kind) {
    case KD_SURFACE_SPHERE:
        return a[0];
    case KD_SURFACE_ELLIPSOID:
        return fmax(a[0], fmax(a[1], a[2]));
    case KD_SURFACE_TORUS:
        return a[0] + a[1];
    default:
        return INFINITY;
    }
}

// The length over which a gap is a smooth function of the way
static double size_of(const kd_touch *t)
{
    const kd_surface_def *a = t->a.def, *b = t->b.def;
    const double          ra = radius_of(a), rb = radius_of(b), least = fmin(ra, rb), sum = ra + rb;
    // along a plane the gap is the way itself
    if (!(sum < INFINITY)) return INFINITY;
    // inside of a hollow surface: between the centres of curvature
    if (a->hollow != b->hollow && ra != rb) return fabs(ra - rb);
    // the place on a ball is found however deep it is, others only near the surface
    return least > 0.0 && !is_sphere(b) ? 2.0 * least : sum;
}

// ---- the ends of a step ---------------------------------------------------------------------------------------------

// How fast a surface is turned out of itself: spheres not at all, others not about their axis
static double turn_of(const kd_surface_def *d, kd_vec3 omega, kd_vec3 axis)
{
    if (is_sphere(d)) return 0.0;
    const bool round = d->kind != KD_SURFACE_ELLIPSOID && d->kind != KD_SURFACE_SWEPT;
    return kd_vec_norm(round ? kd_vec_cross(axis, omega) : omega);
}

void kd_touch_take_end(const kd_work *w, kd_touch_pass *out)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->ntouches; i++) {
        const kd_touch    *t = &s->touch[i];
        const kd_relative *rel = &w->rel[t->pair];
        const kd_touch_at *at = &w->touch[i];
        if (t->kept) continue;
        const kd_vec3 way = kd_vec_sub(rel->rB, rel->rA), omega = w->motion.link[s->pair[t->pair].a].w;
        const kd_vec3 other = kd_vec_add(omega, kd_mat_vec(&rel->RA, rel->omega));
        const kd_vec3 place = kd_vec_axpy(kd_vec_add(rel->d, at->rho), -at->gap, at->n); // on A
        out[i].way = way, out[i].gap = at->gap;
        out[i].rate = kd_vec_add(kd_mat_vec(&rel->RA, rel->dd), kd_vec_cross(omega, way));
        out[i].turn[0] = turn_of(t->a.def, omega, rel->RA.z);
        out[i].turn[1] = turn_of(t->b.def, other, kd_mat_vec(&rel->RA, rel->C.z));
        out[i].reach[0] = is_sphere(t->a.def) ? 0.0 : kd_vec_norm(place);
        out[i].reach[1] = is_sphere(t->b.def) ? 0.0 : kd_vec_norm(at->rho);
    }
}

static void take_end(kd_work *w, const kd_point *x, kd_touch_pass *out)
{
    kd_work_velocity(w, x, KD_FOR_LOADS);
    kd_touch_take_end(w, out);
}

// ---- between them ---------------------------------------------------------------------------------------------------

typedef struct pass {
    const kd_touch_pass *e[2];
    double               h, size;
    double               speed; // of the origins, at most
    double               turn;  // of both surfaces
    double               rate;  // of the gap, at most
} pass;

static pass pass_of(const kd_touch *t, const kd_touch_pass *a, const kd_touch_pass *b, double h)
{
    pass          p = {{a, b}, h, size_of(t), 0.0, 0.0, 0.0};
    const kd_vec3 mean = kd_vec_scale(0.5, kd_vec_add(a->rate, b->rate));
    const kd_vec3 bend = kd_vec_sub(kd_vec_scale(1.0 / h, kd_vec_sub(b->way, a->way)), mean);
    // in the middle of the cubic the velocity is mean + 1.5 bend
    p.speed = fmax(kd_vec_norm(a->rate), kd_vec_norm(b->rate)) + 1.5 * kd_vec_norm(bend);
    p.rate = p.speed;
    for (int k = 0; k < 2; k++) {
        const double turn = fmax(a->turn[k], b->turn[k]);
        const double ball = ball_of(k == 0 ? t->a.def : t->b.def);
        p.turn += turn;
        // a place on an unbounded surface moves along it meanwhile
        if (turn > 0.0) p.rate += turn * fmin(ball, fmax(a->reach[k], b->reach[k]) + 0.5 * h * p.speed);
    }
    return p;
}

static bool is_short(const pass *p, double h)
{
    return p->speed * h <= SHORT * p->size && p->turn * h <= TURNED;
}

kd_interval kd_range_of_gap(const kd_touch *t, const kd_touch_pass ends[2], double h, kd_interval smooth)
{
    const pass p = pass_of(t, &ends[0], &ends[1], h);
    if (!(h > 0.0) || is_short(&p, h)) return smooth;
    // |gap'| <= L: between the ends it is within L h / 2 of their mean
    const double mean = 0.5 * (ends[0].gap + ends[1].gap), most = 0.5 * p.rate * h;
    return (kd_interval){mean - most, mean + most};
}

// Do the balls about both origins stay apart?
static bool stay_apart(const pass *p, double balls)
{
    const kd_touch_pass *a = p->e[0], *b = p->e[1];
    if (!(balls < INFINITY)) return false;
    // a way that goes round is no cubic
    const kd_vec3 mean = kd_vec_scale(0.5, kd_vec_add(a->rate, b->rate)), way = kd_vec_sub(b->way, a->way);
    const double  most = fmax(kd_vec_norm(a->rate), kd_vec_norm(b->rate));
    if (kd_vec_norm(kd_vec_axpy(way, -p->h, mean)) > BENT * p->h * most) return false;
    if (kd_vec_norm(kd_vec_sub(b->rate, a->rate)) > REVERSED * most) return false;
    const kd_cubic c[3] = {{{a->way.x, b->way.x}, {p->h * a->rate.x, p->h * b->rate.x}},
                           {{a->way.y, b->way.y}, {p->h * a->rate.y, p->h * b->rate.y}},
                           {{a->way.z, b->way.z}, {p->h * a->rate.z, p->h * b->rate.z}}};
    for (int k = 0; k < PARTS; k++) {
        double sum = 0.0;
        for (int i = 0; i < 3; i++) {
            const kd_interval d = kd_cubic_range(&c[i], (double)k / PARTS, (k + 1.0) / PARTS, 0);
            const double      least = fmax(fmax(d.lower, -d.upper), 0.0);
            sum += least * least;
        }
        if (!(sum > balls * balls)) return false;
    }
    return true;
}

// Part of the step that would stand; INFINITY: all of it does
static double standing_part(const kd_touch *t, const pass *p)
{
    const double g0 = p->e[0]->gap;
    double       g1 = p->e[1]->gap;
    // so deep that no event is found on the way there, or that there is no gap any more: they have met. A long step may also
    // have gone through, and be about to leave on the other side
    if (!(g1 >= (is_short(p, p->h) ? -SHORT * p->size : 0.0))) g1 = DBL_MIN;
    // in touch at an end, or kept by a row: seen there
    if (!(g0 > 0.0 && g1 > 0.0) || fmax(g0, g1) <= TOGETHER * fmin(p->size, 1.0)) return INFINITY;
    if (is_short(p, p->h) || g0 + g1 > p->rate * p->h) return INFINITY;
    if (stay_apart(p, ball_of(t->a.def) + ball_of(t->b.def))) return INFINITY;
    const double by_size = fmin(SHORT * p->size / p->speed, p->turn > 0.0 ? TURNED / p->turn : INFINITY);
    return fmin(SAFE * fmax(g0 / p->rate, by_size) / p->h, LONGEST);
}

// How long steps that follow cannot meet anything, or are short
static double clear_of(const pass *p)
{
    const double gap = p->e[1]->gap, by_gap = gap > 0.0 ? gap / p->rate : 0.0;
    const double by_size = fmin(SHORT * p->size / p->speed, p->turn > 0.0 ? TURNED / p->turn : INFINITY);
    return LATER * fmax(by_gap, by_size);
}

double kd_unseen_touches(kd_work *w, const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out)
{
    const kd_system *s = w->system;
    double           clear = INFINITY;
    if (!kd_system_has_passing(s)) return INFINITY;
    // the start of this step is the end of the last one, mostly
    kd_touch_pass *const before = w->passing, *const now = w->passing + s->ntouches;
    if (!(seen->follows && w->t_passing == x0->t)) take_end(w, x0, before);
    take_end(w, x1, now);
    for (int i = 0; i < s->ntouches; i++) {
        const kd_touch *t = &s->touch[i];
        if (t->kept) continue;
        const pass   p = pass_of(t, &before[i], &now[i], x1->t - x0->t);
        const double part = standing_part(t, &p);
        clear = fmin(clear, clear_of(&p));
        if (!(part < out->part)) continue;
        out->part = part;
        out->size = 1.0;
        out->name = t->name;
    }
    for (int i = 0; i < s->ntouches; i++) before[i] = now[i];
    w->t_passing = x1->t;
    return clear;
}
