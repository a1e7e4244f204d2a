// trust_passages.c: linkages of one degree of freedom that pass positions where they could turn over: kites,
// antiparallelograms, parallelograms with a third crank, and two loops in a row. Reference: J(q) q'' + J'(q) q'^2 / 2 =
// -V'(q) with points in closed form, whose derivatives are those of their Taylor series.
#include "trust.h"

#include <math.h>
#include <stdio.h>

#define POINTS 7
#define RODS 5
#define JOINTS 8
#define GROUND (-1)

// Value, first and second derivative by q
typedef struct jet {
    double a, b, c;
} jet;

typedef struct place {
    jet x, y;
} place;

typedef enum shape {
    KITE_SHORT,
    KITE_LONG,
    ANTI,
    THREE_CRANKS,
    TWO_PARALLELOGRAMS,
    KITE_AND_PARALLELOGRAM,
    SHAPES
} shape;

typedef struct rod {
    int    from, to; // points
    double m, l;
} rod;

typedef struct joint {
    int point, from, to; // rods, or GROUND
} joint;

typedef struct linkage {
    shape  shape;
    double r, l, g, side; // crank, the other length, gravity, branch of the start
    double q, v, t_end;
    int    nrods, njoints, npoints;
    rod    rod[RODS];
    joint  joint[JOINTS];
} linkage;

// ---- Taylor series --------------------------------------------------------------------------------------------------

static jet number(double a)
{
    return (jet){a, 0, 0};
}

static jet sum(jet u, double factor, jet w)
{
    return (jet){u.a + factor * w.a, u.b + factor * w.b, u.c + factor * w.c};
}

static jet product(jet u, jet w)
{
    return (jet){u.a * w.a, u.b * w.a + u.a * w.b, u.c * w.a + 2 * u.b * w.b + u.a * w.c};
}

// f(u) with f, f', f'' there
static jet chain(jet u, double f, double df, double ddf)
{
    return (jet){f, df * u.b, ddf * u.b * u.b + df * u.c};
}

static place combine(place p, double factor, place q)
{
    return (place){sum(p.x, factor, q.x), sum(p.y, factor, q.y)};
}

static place times(jet u, place p)
{
    return (place){product(u, p.x), product(u, p.y)};
}

static jet dot(place p, place q)
{
    return sum(product(p.x, q.x), 1, product(p.y, q.y));
}

static place fixed(double x, double y)
{
    return (place){number(x), number(y)};
}

// (cos, sin) of q / n
static place direction(double q, double n)
{
    double c = cos(q / n), s = sin(q / n);
    return (place){{c, -s / n, -c / (n * n)}, {s, c / n, -s / (n * n)}};
}

// ---- points ---------------------------------------------------------------------------------------------------------

// A pair of crank and coupler of one length, ground and rocker of the other: the rocker's end is the image of the origin
// in the line from a to d
static place mirrored(place a, place d)
{
    place along = combine(d, -1, a), across = {sum(number(0), -1, along.y), along.x};
    jet   square = dot(across, across);
    jet   part = product(dot(across, a),
                         chain(square, 1 / square.a, -1 / (square.a * square.a), 2 / (square.a * square.a * square.a)));
    return times(product(number(2), part), across);
}

// Antiparallelogram: the image of the origin in the perpendicular bisector of a and d
static place crossed(place a, place d)
{
    place along = combine(d, -1, a), middle = times(number(0.5), combine(d, 1, a));
    jet   square = dot(along, along);
    jet   part = product(dot(middle, along),
                         chain(square, 1 / square.a, -1 / (square.a * square.a), 2 / (square.a * square.a * square.a)));
    return times(product(number(2), part), along);
}

// Crank and ground of length r, the others of length l > r: along the bisector of the crank's angle
static place apex(const linkage *n, place a, place d, double q)
{
    place  middle = times(number(0.5), combine(a, 1, d)), half = direction(q, 2);
    jet    square = sum(number(n->l * n->l), -n->r * n->r, product(half.y, half.y));
    double root = sqrt(square.a);
    return combine(middle, n->side, times(chain(square, root, 0.5 / root, -0.25 / (root * square.a)), half));
}

static void find_points(const linkage *n, double q, place *p)
{
    p[0] = fixed(0, 0);
    p[1] = times(number(n->r), direction(q, 1));
    p[2] = fixed(n->shape == KITE_SHORT || n->shape == KITE_AND_PARALLELOGRAM ? n->r : n->l, 0);
    switch (n->shape) {
    case KITE_SHORT:
    case KITE_AND_PARALLELOGRAM:
        p[3] = apex(n, p[1], p[2], q);
        break;
    case KITE_LONG:
        p[3] = mirrored(p[1], p[2]);
        break;
    case ANTI:
        p[3] = crossed(p[1], p[2]);
        break;
    default:
        p[3] = combine(p[1], 1, p[2]);
    }
    // a further crank, or a second loop behind the first one
    const double further = n->shape == THREE_CRANKS ? -0.6 * n->l : 0.8 * n->r;
    p[4] = combine(p[2], 1, fixed(further, 0));
    p[5] = combine(p[3], 1, fixed(further, 0));
}

// ---- equation of motion ---------------------------------------------------------------------------------------------

static void slopes(double t, const double *y, double *dy, const void *context)
{
    const linkage *n = context;
    place          p[POINTS];
    double         J = 0, dJ = 0, dV = 0;
    (void)t;
    find_points(n, y[0], p);
    // thin rods: m l^2 / 12 about the centre, the angle's rate is (d x d') / l^2
    for (int i = 0; i < n->nrods; i++) {
        const rod *k = &n->rod[i];
        place      c = times(number(0.5), combine(p[k->from], 1, p[k->to])), d = combine(p[k->to], -1, p[k->from]);
        double     l2 = k->l * k->l, w = (d.x.a * d.y.b - d.y.a * d.x.b) / l2;
        double     dw = (d.x.a * d.y.c - d.y.a * d.x.c) / l2;
        J += k->m * (c.x.b * c.x.b + c.y.b * c.y.b + l2 / 12 * w * w);
        dJ += 2 * k->m * (c.x.b * c.x.c + c.y.b * c.y.c + l2 / 12 * w * dw);
        dV += k->m * n->g * c.y.b;
    }
    dy[0] = y[1];
    dy[1] = -(dV + 0.5 * dJ * y[1] * y[1]) / J;
}

static double step_of(double t, const double *y, const void *context)
{
    const linkage *n = context;
    (void)t;
    const double part =
        n->shape == KITE_SHORT || n->shape == KITE_AND_PARALLELOGRAM || n->shape == ANTI || n->shape == KITE_LONG
            ? fabs(n->l - n->r) / (n->l + n->r)
            : 1;
    return fmin(n->t_end / 100, 0.1 * part / fmax(fabs(y[1]), 1e-9 / n->t_end));
}

static void motion(const void *context, double delta, const double *wanted, double r[][3])
{
    const linkage *n = context;
    const rod     *last = &n->rod[n->nrods - 1];
    double         t = 0, y[2] = {n->q + delta, n->v * (1 + delta)};
    trust_ode      ode = {.n = 2, .f = slopes, .step = step_of, .context = n};
    for (int i = 0; i < TRUST_TIMES; i++) {
        place p[POINTS];
        trust_solve(&ode, y, t, wanted[i]);
        t = wanted[i];
        find_points(n, y[0], p);
        r[i][0] = 0.5 * (p[last->from].x.a + p[last->to].x.a);
        r[i][1] = 0.5 * (p[last->from].y.a + p[last->to].y.a);
        r[i][2] = 0;
    }
}

// ---- model ----------------------------------------------------------------------------------------------------------

static void add_rod(linkage *n, trust_dice *dice, int from, int to)
{
    n->rod[n->nrods++] = (rod){.from = from, .to = to, .m = trust_decades(dice, 0.2, 5)};
}

static void add_joint(linkage *n, int point, int from, int to)
{
    n->joint[n->njoints++] = (joint){point, from, to};
}

static void build(linkage *n, trust_dice *dice)
{
    add_rod(n, dice, 0, 1);
    add_rod(n, dice, 1, 3);
    add_rod(n, dice, 2, 3);
    add_joint(n, 0, GROUND, 0);
    add_joint(n, 1, 0, 1);
    add_joint(n, 3, 1, 2);
    add_joint(n, 2, GROUND, 2);
    if (n->shape == THREE_CRANKS) {
        add_rod(n, dice, 4, 5);
        add_joint(n, 4, GROUND, 3);
        add_joint(n, 5, 1, 3);
    }
    if (n->shape == TWO_PARALLELOGRAMS || n->shape == KITE_AND_PARALLELOGRAM) {
        add_rod(n, dice, 3, 5);
        add_rod(n, dice, 4, 5);
        add_joint(n, 3, 2, 3);
        add_joint(n, 5, 3, 4);
        add_joint(n, 4, GROUND, 4);
    }
    place p[POINTS];
    find_points(n, n->q, p);
    for (int i = 0; i < n->nrods; i++) {
        place d = combine(p[n->rod[i].to], -1, p[n->rod[i].from]);
        n->rod[i].l = hypot(d.x.a, d.y.a);
    }
}

static void write_model(trust_case *c, const linkage *n)
{
    place p[POINTS];
    find_points(n, n->q, p);
    trust_write(c, "kardan: 1\ngravity: [0, %.17g, 0]\nbodies:\n", -n->g);
    for (int i = 0; i < n->nrods; i++) {
        const rod  *k = &n->rod[i];
        const place a = p[k->from], b = p[k->to];
        double      J = k->m * k->l * k->l / 12;
        trust_write(c,
                    "  rod%d: {position: [%.17g, %.17g, 0], orientation: {axis: [0, 0, 1], angle: %.17g}, mass: %.17g, "
                    "inertia: [%.17g, %.17g, %.17g]}\n",
                    i, (a.x.a + b.x.a) / 2, (a.y.a + b.y.a) / 2, atan2(b.y.a - a.y.a, b.x.a - a.x.a), k->m, J / 100, J,
                    J);
    }
    trust_write(c, "joints:\n");
    for (int i = 0; i < n->njoints; i++) {
        const joint *k = &n->joint[i];
        char         from[20] = "ground", start[80] = "";
        if (k->from != GROUND) snprintf(from, sizeof from, "rod%d", k->from);
        if (i == 0) snprintf(start, sizeof start, ", v: %.17g, hold: true", n->v);
        trust_write(c, "  j%d: {type: revolute, bodies: [%s, rod%d], point: [%.17g, %.17g, 0], axis: [0, 0, 1]%s}\n", i,
                    from, k->to, p[k->point].x.a, p[k->point].y.a, start);
    }
}

void trust_passage(trust_dice *dice, trust_case *c)
{
    linkage n = {.shape = (shape)trust_choice(dice, SHAPES),
                 .r = trust_decades(dice, 0.05, 2),
                 .g = trust_choice(dice, 2) ? 9.81 : 0,
                 .side = trust_sign(dice)};
    n.l = n.r * trust_uniform(dice, 1.2, 3);
    // through the singular positions (q = k pi, of the short kite q = 2 k pi) at a good speed
    n.q = trust_uniform(dice, 0.3, 2.8);
    double fast = sqrt(4 * 9.81 / n.r);
    n.v = trust_sign(dice) * (n.g > 0 ? fast * trust_uniform(dice, 1.5, 4) : trust_decades(dice, 0.5, 30));
    n.t_end = trust_uniform(dice, 3, 20) / fabs(n.v);
    build(&n, dice);
    c->family = "passage";
    c->length = n.r + n.l;
    c->body = n.nrods - 1;
    write_model(c, &n);
    trust_case_solve(c, n.t_end, motion, &n);
}
