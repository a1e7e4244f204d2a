// touch.c: two smooth surfaces in contact. Equations: touch.h, docs/methods/surface-contact.md
#include "element/touch.h"

#include <math.h>
#include <string.h>

enum { MOST_ITERATIONS = 40, ROUNDS = 4, MOST_ROUNDS = 60, MOST_TURNS = 200 };
static const double CONVERGED = 1e-10; // step of the last iteration but one: the next one is of rounding
static const double SINGULAR = 1e-11;  // pivot of c_s, relative
static const double FLAT = 1e-9;       // turn of the normal [rad]: it will not become better

// ---- the equations --------------------------------------------------------------------------------------------------
typedef struct frame_jets { // d and the columns of C
    kd_jet3 d, C[3];
} frame_jets;

typedef struct both { // places on both surfaces, that of B in the axes of A
    kd_spot a, b;
    kd_jet3 rho, m, D; // C r_B, C n_B, way from A to B
} both;

static kd_jet3 turned(const frame_jets *f, kd_jet3 a)
{
    return kd_jet3_add(kd_jet3_add(kd_jet3_mul(a.x, f->C[0]), kd_jet3_mul(a.y, f->C[1])), kd_jet3_mul(a.z, f->C[2]));
}

// C' a
static kd_jet3 turned_back(const frame_jets *f, kd_jet3 a)
{
    return (kd_jet3){kd_jet3_dot(f->C[0], a), kd_jet3_dot(f->C[1], a), kd_jet3_dot(f->C[2], a)};
}

static void places(const kd_touch_at *at, const frame_jets *f, const kd_jet s[4], bool curved, both *out)
{
    kd_smooth_at(&at->touch->a, at->a.pole, s[0], s[1], curved, &out->a);
    kd_smooth_at(&at->touch->b, at->b.pole, s[2], s[3], curved, &out->b);
    out->rho = turned(f, out->b.r);
    out->m = turned(f, out->b.n);
    out->D = kd_jet3_sub(kd_jet3_add(f->d, out->rho), out->a.r);
}

static void equations(const both *x, kd_jet c[4])
{
    for (int i = 0; i < 2; i++) {
        c[i] = kd_jet3_dot(x->a.t[i], x->m);
        c[2 + i] = kd_jet3_dot(x->a.t[i], x->D);
    }
}

static void frame_of(const kd_relative *rel, const kd_tangent *e, frame_jets *out)
{
    kd_relative_jets(rel, e, &out->d, out->C);
}

static void constants(const kd_touch_at *at, kd_jet s[4])
{
    const double value[4] = {at->a.u, at->a.v, at->b.u, at->b.v};
    for (int i = 0; i < 4; i++) s[i] = kd_jet_const(value[i]);
}

// Inverse of a matrix of four rows by elimination with pivots; false: it is singular
static bool invert(const double A[16], double out[16])
{
    double W[4][8], largest = 0.0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            W[i][j] = A[4 * i + j], W[i][4 + j] = i == j;
            largest = fmax(largest, fabs(A[4 * i + j]));
        }
    for (int k = 0; k < 4; k++) {
        int p = k;
        for (int i = k + 1; i < 4; i++)
            if (fabs(W[i][k]) > fabs(W[p][k])) p = i;
        if (!(fabs(W[p][k]) > SINGULAR * largest)) return false;
        for (int j = 0; j < 8 && p != k; j++) {
            const double t = W[k][j];
            W[k][j] = W[p][j], W[p][j] = t;
        }
        // all other rows, upwards and downwards
        for (int i = 0; i < 4; i++) {
            const double factor = i == k ? 0.0 : W[i][k] / W[k][k];
            for (int j = k; j < 8 && factor != 0.0; j++) W[i][j] -= factor * W[k][j];
        }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) out[4 * i + j] = W[i][4 + j] / W[i][i];
    return true;
}

// c and the inverse of c_s at the place of at; false: that is singular, or no number
static bool linearised(kd_touch_at *at, const frame_jets *f, double c[4])
{
    double c_s[16];
    kd_jet s[4], value[4];
    both   x;
    for (int k = 0; k < 4; k++) {
        constants(at, s);
        s[k].d = 1.0; // column by column as a tangent
        places(at, f, s, false, &x);
        equations(&x, value);
        for (int i = 0; i < 4; i++) c_s[4 * i + k] = value[i].d;
    }
    for (int i = 0; i < 4; i++) c[i] = value[i].x;
    return invert(c_s, at->inverse);
}

// ---- the place of contact -------------------------------------------------------------------------------------------
static kd_vec3 place_on(const kd_smooth *s, kd_surface_chart c, kd_vec3 *n)
{
    kd_spot x;
    kd_smooth_at(s, c.pole, kd_jet_const(c.u), kd_jet_const(c.v), false, &x);
    *n = kd_jet3_value(x.n);
    return kd_jet3_value(x.r);
}

// Opposite normals, and places that face each other
static void begin(const kd_touch *t, const kd_relative *rel, kd_touch_at *at)
{
    kd_vec3 n, r, m, q;
    // the normal of a plane is known
    if (t->b.def->kind == KD_SURFACE_PLANE) {
        n = kd_vec_scale(t->b.def->hollow ? 1.0 : -1.0, rel->C.z);
        at->a = kd_smooth_facing(&t->a, n, rel->d);
        r = place_on(&t->a, at->a, &n);
        at->b = kd_smooth_near(&t->b, kd_mat_tvec(&rel->C, kd_vec_sub(r, rel->d)));
        return;
    }
    // the place of B nearest to the middle of a ball
    if (t->a.def->kind == KD_SURFACE_SPHERE && !t->a.def->hollow && !t->b.def->hollow) {
        at->b = kd_smooth_near(&t->b, kd_mat_tvec(&rel->C, kd_vec_neg(rel->d)));
        place_on(&t->b, at->b, &m);
        at->a = kd_smooth_facing(&t->a, kd_vec_neg(kd_mat_vec(&rel->C, m)), rel->d);
        return;
    }
    // inside of a hollow B it is nearest on the side away from the middle of B
    at->a = kd_smooth_near(&t->a, t->b.def->hollow ? kd_vec_neg(rel->d) : rel->d);
    // the place of A nearest to that of B, the place of B that faces that of A, in turns
    const int  rounds = t->a.def->kind == KD_SURFACE_PLANE ? 1 : ROUNDS;
    const bool is_ball = t->b.def->kind == KD_SURFACE_SPHERE && !t->b.def->hollow;
    for (int k = 0; k < rounds; k++) {
        r = place_on(&t->a, at->a, &n);
        at->b =
            kd_smooth_facing(&t->b, kd_mat_tvec(&rel->C, kd_vec_neg(n)), kd_mat_tvec(&rel->C, kd_vec_sub(r, rel->d)));
        if (is_ball) return; // the place nearest to its middle, however deep they are in each other
        q = kd_vec_add(rel->d, kd_mat_vec(&rel->C, place_on(&t->b, at->b, &m)));
        at->a = kd_smooth_near(&t->a, q);
    }
}

// Places nearest to each other in turns: of bodies that are apart it ends where they are nearest, slowly
static void approach(const kd_touch *t, const kd_relative *rel, kd_touch_at *at)
{
    kd_vec3 n, r;
    at->a = kd_smooth_near(&t->a, rel->d);
    for (int k = 0; k < MOST_ROUNDS; k++) {
        r = place_on(&t->a, at->a, &n);
        at->b = kd_smooth_near(&t->b, kd_mat_tvec(&rel->C, kd_vec_sub(r, rel->d)));
        at->a = kd_smooth_near(&t->a, kd_vec_add(rel->d, kd_mat_vec(&rel->C, place_on(&t->b, at->b, &n))));
    }
}

// Places that face each other along n, and the way between them; n becomes the normal of A there. Straight surfaces do not have
// all normals: where B is one, n is first turned to one of its own
static kd_vec3 facing_along(const kd_touch *t, const kd_relative *rel, kd_touch_at *at, kd_vec3 *n, kd_vec3 *on_b)
{
    kd_vec3 m, r;
    if (t->b.def->kind == KD_SURFACE_CYLINDER || t->b.def->kind == KD_SURFACE_CONE) {
        const kd_surface_chart c = kd_smooth_facing(&t->b, kd_mat_tvec(&rel->C, kd_vec_neg(*n)),
                                                    kd_mat_tvec(&rel->C, kd_vec_sub(*on_b, rel->d)));
        place_on(&t->b, c, &m);
        *n = kd_vec_neg(kd_mat_vec(&rel->C, m));
    }
    at->a = kd_smooth_facing(&t->a, *n, *on_b);
    r = place_on(&t->a, at->a, n);
    at->b = kd_smooth_facing(&t->b, kd_mat_tvec(&rel->C, kd_vec_neg(*n)), kd_mat_tvec(&rel->C, kd_vec_sub(r, rel->d)));
    *on_b = kd_vec_add(rel->d, kd_mat_vec(&rel->C, place_on(&t->b, at->b, &m)));
    return kd_vec_sub(*on_b, r);
}

// The normal n turns to where the way n . D between the places that face each other along n is longest: a concave function of n
// where both are convex, whose gradient is the part of D across n. True of bodies that are pressed into each other, too.
static void turn(const kd_touch *t, const kd_relative *rel, kd_touch_at *at)
{
    kd_vec3 n, q = rel->d, across = kd_vec(0, 0, 0), best = kd_vec(0, 0, 0);
    double  most = -HUGE_VAL, rate = 1.0, length = 0.0;
    at->a = kd_smooth_near(&t->a, rel->d);
    place_on(&t->a, at->a, &n);
    for (int k = 0; k < MOST_TURNS; k++) {
        const kd_vec3 D = facing_along(t, rel, at, &n, &q);
        const double  way = kd_vec_dot(n, D);
        // longer: on along the gradient, the first time by half a radian; shorter: back, by less
        if (way >= most) {
            most = way, best = n, across = kd_vec_sub(D, kd_vec_scale(way, n));
            length = kd_vec_norm(across);
            rate = k == 0 && length > 0.0 ? 0.5 / length : 1.5 * rate;
        } else {
            rate *= 0.4;
        }
        if (!(rate * length > FLAT)) return;
        n = kd_vec_add(best, kd_vec_scale(rate, across));
        n = kd_vec_scale(1.0 / kd_vec_norm(n), n);
    }
}

static double clamped(double step, double reach)
{
    return fmax(-reach, fmin(reach, step));
}

// Newton's method for c = 0; its last step at most
static double iterate(kd_touch_at *at, const frame_jets *f, const double reach[4])
{
    double  c[4], most = 0.0;
    double *s[4] = {&at->a.u, &at->a.v, &at->b.u, &at->b.v};
    at->singular = !linearised(at, f, c);
    if (at->singular) return NAN;
    for (int i = 0; i < 4; i++) {
        double step = 0.0;
        for (int k = 0; k < 4; k++) step -= at->inverse[4 * i + k] * c[k];
        step = clamped(step, reach[i]);
        *s[i] += step;
        most = fmax(most, fabs(step));
        if (isnan(step)) return NAN;
    }
    return most;
}

// Unit directions in the plane of contact that do not depend on charts: along the meridian and along the parallel of A
static void directions(const kd_smooth *s, const kd_spot *x, kd_jet3 e[2])
{
    if (s->def->kind == KD_SURFACE_PLANE || s->def->kind == KD_SURFACE_SWEPT) {
        e[0] = kd_jet3_unit(x->t[0]), e[1] = x->t[1];
        return;
    }
    e[1] = kd_jet3_unit(kd_jet3_cross(kd_jet3_const(0.0, 0.0, 1.0), x->n));
    e[0] = kd_jet3_cross(e[1], x->n);
}

// From the start in at: c = 0, until a step is small, then once more, as it converges quadratically
static void refine(const kd_touch *t, const frame_jets *f, kd_touch_at *at)
{
    double  reach[4], step = HUGE_VAL, c[4];
    kd_jet  s[4];
    kd_jet3 e[2];
    both    x;
    kd_smooth_reach(&t->a, reach), kd_smooth_reach(&t->b, reach + 2);
    for (int i = 0; i < MOST_ITERATIONS && step > CONVERGED; i++) step = iterate(at, f, reach);
    if (step <= CONVERGED) step = iterate(at, f, reach);
    constants(at, s);
    places(at, f, s, false, &x);
    directions(&t->a, &x.a, e);
    at->n = kd_jet3_value(x.a.n), at->rho = kd_jet3_value(x.rho);
    for (int i = 0; i < 2; i++) at->e[i] = kd_jet3_value(e[i]);
    at->gap = kd_jet3_dot(x.a.n, x.D).x;
    // surfaces face each other
    at->found = step <= CONVERGED && kd_vec_dot(at->n, kd_jet3_value(x.m)) < 0.0 && linearised(at, f, c);
}

// Symmetric matrices of two rows: 11, 12, 22
typedef struct sym2 {
    double a, b, c;
} sym2;

static double determinant(sym2 x)
{
    return x.a * x.c - x.b * x.b;
}

static bool is_definite(sym2 x)
{
    return x.a > 0.0 && determinant(x) > 0.0;
}

static sym2 plus(sym2 x, sym2 y)
{
    return (sym2){x.a + y.a, x.b + y.b, x.c + y.c};
}

static sym2 times_plus(sym2 x, double factor, double diagonal) // factor x + diagonal I
{
    return (sym2){factor * x.a + diagonal, factor * x.b, factor * x.c + diagonal};
}

// Curvatures of a surface along two directions in its axes
static sym2 curvatures(const kd_smooth *s, const kd_spot *x, const kd_jet3 e[2])
{
    return (sym2){kd_smooth_form(s, x, e[0], e[0]).x, kd_smooth_form(s, x, e[0], e[1]).x,
                  kd_smooth_form(s, x, e[1], e[1]).x};
}

// Where c = 0 the distance is least, greatest or a saddle. It is least where I + g H_A and H_B + H_A (I + g H_A)^-1 are positive
// definite: A grown by the gap g and B bend away from each other
static bool is_nearest(const kd_touch_at *at, const frame_jets *f)
{
    kd_jet       s[4];
    kd_jet3      e[2], in_b[2];
    both         x;
    const double g = at->gap;
    constants(at, s);
    places(at, f, s, true, &x);
    directions(&at->touch->a, &x.a, e);
    for (int i = 0; i < 2; i++) in_b[i] = turned_back(f, e[i]);
    const sym2 A = curvatures(&at->touch->a, &x.a, e), B = curvatures(&at->touch->b, &x.b, in_b);
    // H (I + g H)^-1 = (H + g det H I)/det(I + g H)
    const sym2   grown = times_plus(A, g, 1.0);
    const double det = determinant(grown);
    return is_definite(grown) && is_definite(plus(B, times_plus(A, 1.0 / det, g * determinant(A) / det)));
}

// Planes and balls begin at the place itself: no second look
static bool begins_there(const kd_smooth *s)
{
    return s->def->kind == KD_SURFACE_PLANE || s->def->kind == KD_SURFACE_SPHERE;
}

// Of these there is one place apart, and far sides are told by their depth; cones, thin at their tips, need more
static bool is_plain(const kd_smooth *s)
{
    return kd_smooth_is_round(s) || s->def->kind == KD_SURFACE_CYLINDER;
}

// Half of its least thickness, or of that at a place, where it is known at once
static double half_thickness(const kd_smooth *s, kd_surface_chart at)
{
    const double *size = s->def->size;
    switch (s->def->kind) {
    case KD_SURFACE_ELLIPSOID:
        return fmin(size[0], fmin(size[1], size[2]));
    case KD_SURFACE_TORUS:
        return size[1];
    case KD_SURFACE_REVOLUTION:
        return kd_curve_value(s->curve, at.u);
    case KD_SURFACE_CYLINDER:
        return size[0];
    default:
        return HUGE_VAL;
    }
}

// The far sides of both face each other as well, through both bodies: they are deeper in each other than one is thick. Other places
// are nearest in one direction only, or the far side of a ring. A kept contact stays where it is
static bool is_doubtful(const kd_touch_at *at, const frame_jets *f)
{
    const kd_smooth *a = &at->touch->a, *b = &at->touch->b;
    if (!at->found) return true;
    if (at->gap < 0.0 && -at->gap > fmin(half_thickness(a, at->a), half_thickness(b, at->b))) return true;
    if (at->touch->kept || begins_there(a) || begins_there(b) || (is_plain(a) && is_plain(b))) return false;
    return !is_nearest(at, f);
}

// Of two places that which is there; where both are, of bodies apart the nearer one, else that with the larger gap, since the other
// lies beyond
static void take_nearer(const kd_touch_at *before, kd_touch_at *at)
{
    const bool apart = before->gap > 0.0 && at->gap > 0.0;
    if (!at->found || (before->found && apart == (before->gap <= at->gap))) *at = *before;
}

void kd_touch_find(const kd_touch *t, const kd_relative *rel, kd_touch_at *at)
{
    static const kd_tangent none;
    frame_jets              f;
    const kd_relative       rest = {.C = rel->C, .d = rel->d};
    *at = (kd_touch_at){.touch = t};
    frame_of(&rest, &none, &f);
    begin(t, rel, at);
    refine(t, &f, at);
    // few turns find most places; where one surface is much flatter than the other they lead away, and slower ways are taken
    if (!t->a.def->hollow && !t->b.def->hollow && is_doubtful(at, &f)) {
        const kd_touch_at first = *at;
        approach(t, rel, at);
        refine(t, &f, at);
        take_nearer(&first, at);
        // only of bodies that are apart this is the right way
        if (!at->found || at->gap < 0.0) {
            const kd_touch_at second = *at;
            turn(t, rel, at);
            refine(t, &f, at);
            take_nearer(&second, at);
        }
    }
    if (!at->found) at->gap = NAN;
}

const char *kd_touch_reason(const kd_touch_at *at)
{
    if (at->singular)
        return "the surfaces osculate or touch along a line: their curvatures agree at the contact, whose place is not "
               "determined (c_s is singular)";
    return "no place was found where the surfaces face each other";
}

// ---- jets -----------------------------------------------------------------------------------------------------------
// Surface coordinates move so that c = 0: each part of their jets is minus the inverse of c_s times the same part of c.
// parts 1: x', d; 2: x'', d' as well; 3: all
static void follow(const kd_touch_at *at, const frame_jets *f, int parts, kd_jet s[4])
{
    both   x;
    kd_jet c[4];
    constants(at, s);
    for (int k = 1; k <= parts; k++) {
        places(at, f, s, false, &x);
        equations(&x, c);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                const double inverse = at->inverse[4 * i + j];
                if (k == 1) s[i].x1 -= inverse * c[j].x1, s[i].d -= inverse * c[j].d;
                if (k == 2) s[i].x2 -= inverse * c[j].x2, s[i].d1 -= inverse * c[j].d1;
                if (k == 3) s[i].d2 -= inverse * c[j].d2;
            }
    }
}

// the gap does not change with s: first parts suffice
static kd_jet gap_jet(const kd_touch_at *at, const frame_jets *f)
{
    kd_jet s[4];
    both   x;
    follow(at, f, 1, s);
    places(at, f, s, false, &x);
    return kd_jet3_dot(x.a.n, x.D);
}

static kd_jet3 vector_jets(kd_vec3 x, kd_vec3 x1, kd_vec3 d, kd_vec3 d1)
{
    return (kd_jet3){{.x = x.x, .x1 = x1.x, .d = d.x, .d1 = d1.x},
                     {.x = x.y, .x1 = x1.y, .d = d.y, .d1 = d1.y},
                     {.x = x.z, .x1 = x1.z, .d = d.z, .d1 = d1.z}};
}

// e . (d' + omega x rho), or n . omega, as the rate of a measure without value
static kd_jet rate_jet(const kd_measure *m, const kd_relative *rel, const kd_tangent *t, const frame_jets *f)
{
    const kd_touch_at *at = rel->touch;
    const kd_jet3      omega = vector_jets(rel->omega, rel->alpha, t->omega, t->alpha);
    const kd_jet3      v = vector_jets(rel->dd, rel->ddd, t->dd, t->ddd);
    kd_jet             s[4], rate;
    kd_jet3            e[2];
    both               x;
    // contact points that move with the surfaces, and the frame there
    follow(at, f, 2, s);
    places(at, f, s, false, &x);
    if (m->kind == KD_MEASURE_SPIN)
        rate = kd_jet3_dot(x.a.n, omega);
    else {
        directions(&at->touch->a, &x.a, e);
        rate = kd_jet3_dot(e[m->i], kd_jet3_add(v, kd_jet3_cross(omega, x.rho)));
    }
    return (kd_jet){0.0, rate.x, rate.x1, 0.0, rate.d, rate.d1};
}

// Trace (i = 0) or determinant (1) of the curvature of the gap in the plane of contact, sum of both surfaces
static kd_jet curved_jet(const kd_measure *m, const kd_touch_at *at, const frame_jets *f)
{
    kd_jet  s[4], H[3];
    kd_jet3 e[2], b[2];
    both    x;
    follow(at, f, 3, s);
    places(at, f, s, true, &x);
    directions(&at->touch->a, &x.a, e);
    for (int i = 0; i < 2; i++) b[i] = turned_back(f, e[i]);
    for (int i = 0; i < 3; i++) { // 11, 12, 22
        const int j = i == 2, k = i > 0;
        H[i] = kd_jet_add(kd_smooth_form(&at->touch->a, &x.a, e[j], e[k]),
                          kd_smooth_form(&at->touch->b, &x.b, b[j], b[k]));
    }
    return m->i == 0 ? kd_jet_add(H[0], H[2]) : kd_jet_sub(kd_jet_mul(H[0], H[2]), kd_jet_mul(H[1], H[1]));
}

kd_jet kd_touch_jet(const kd_measure *m, const kd_relative *rel, const kd_tangent *e)
{
    frame_jets f;
    if (!rel->touch || !rel->touch->found) return (kd_jet){NAN, NAN, NAN, NAN, NAN, NAN};
    frame_of(rel, e, &f);
    if (m->kind == KD_MEASURE_GAP) return gap_jet(rel->touch, &f);
    if (m->kind == KD_MEASURE_CURVED) return curved_jet(m, rel->touch, &f);
    return rate_jet(m, rel, e, &f);
}

void kd_touch_places_of(const kd_touch_at *at, const kd_relative *rel, kd_touch_places *out)
{
    static const kd_tangent none;
    frame_jets              f;
    kd_jet                  s[4];
    both                    x;
    frame_of(rel, &none, &f);
    follow(at, &f, 1, s);
    places(at, &f, s, false, &x);
    const kd_jet3 *const r[2] = {&x.a.r, &x.b.r};
    for (int i = 0; i < 2; i++) {
        out->at[i] = kd_jet3_value(*r[i]);
        out->rate[i] = kd_vec(r[i]->x.x1, r[i]->y.x1, r[i]->z.x1);
    }
}

// ---- gradients ------------------------------------------------------------------------------------------------------
void kd_touch_gradient(const kd_measure *m, const kd_relative *rel, kd_vec3 *N, kd_vec3 *F)
{
    const kd_touch_at *at = rel->touch;
    if (!at) return;
    if (m->kind == KD_MEASURE_GAP || m->kind == KD_MEASURE_SLIP) {
        *F = m->kind == KD_MEASURE_GAP ? at->n : at->e[m->i];
        *N = kd_vec_cross(at->rho, *F);
    } else if (m->kind == KD_MEASURE_SPIN) {
        *N = at->n;
    } else { // no force acts along a curvature: its changes along turns and shifts
        const kd_relative rest = {.C = rel->C, .d = rel->d, .touch = at};
        double            by[6];
        for (int k = 0; k < 6; k++) {
            const kd_vec3    axis = kd_vec(k % 3 == 0, k % 3 == 1, k % 3 == 2);
            const kd_tangent e = {.w = k < 3 ? axis : kd_vec(0, 0, 0), .u = k < 3 ? kd_vec(0, 0, 0) : axis};
            by[k] = kd_touch_jet(m, &rest, &e).d;
        }
        *N = kd_vec_of(by), *F = kd_vec_of(by + 3);
    }
}

void kd_touch_curvature(const kd_measure *m, const kd_relative *rel, kd_vec3 w, kd_vec3 u, kd_vec3 *dN, kd_vec3 *dF)
{
    const kd_touch_at *at = rel->touch;
    const kd_relative  rest = {.C = rel->C, .d = rel->d};
    const kd_tangent   along = {.w = w, .u = u};
    frame_jets         f;
    kd_jet             s[4];
    kd_jet3            e[2], F, N;
    both               x;
    if (!at || !at->found || m->kind == KD_MEASURE_CURVED) return;
    // the tangent of the force's direction and arm, contact points included
    frame_of(&rest, &along, &f);
    follow(at, &f, 1, s);
    places(at, &f, s, false, &x);
    directions(&at->touch->a, &x.a, e);
    F = m->kind == KD_MEASURE_SLIP ? e[m->i] : x.a.n;
    N = kd_jet3_cross(x.rho, F);
    if (m->kind == KD_MEASURE_SPIN) N = F, F = kd_jet3_const(0.0, 0.0, 0.0);
    *dN = kd_vec(N.x.d, N.y.d, N.z.d), *dF = kd_vec(F.x.d, F.y.d, F.z.d);
}
