// creep_impl.h: forces of a wheel on a rail besides the normal one: creep and flange. Compiled twice: creep.c (PARTS 0)
// for values, creep_derivatives.c (PARTS KD_CREEP_VARIABLES) with exact derivatives.
//
// With the point of contact r = d + rho, rho = xi n + R u, and directions e_x (along the rail), e_t (across, tangent to
// the head) and e_n (normal, upwards), the wheel slides on the rail, which rests in the ground, with
//
//     v = d' + omega x rho - d0' - omega0 x (r - d0)
//
// Creepages are v . e_x, v . e_t and the spin (omega - omega0) . e_n, over the speed of rolling
// |(omega - omega0) x rho - v_B|/2, v_B the velocity of the centre. Laws: docs/methods/wheel-rail.md
//
// A flange is a one-sided spring across the rail, at the point of contact, when the foot of the wheel has moved by more
// than the clearance; its force sets in quadratically.
//
// Derivatives are carried along (forward mode) in numbers with one part per variable.
#ifndef KARDAN_ELEMENT_CREEP_IMPL_H
#define KARDAN_ELEMENT_CREEP_IMPL_H

#include <math.h>

#include "core/pi.h"
#include "element/wheel.h"

#define LEAST_SHARE 1e-12 // of the load of a wheel that rolls

enum { N = PARTS, XI = KD_CREEP_VARIABLES - 2, LAMBDA = KD_CREEP_VARIABLES - 1 };

// ---- numbers with derivatives ---------------------------------------------------------------------------------------
typedef struct dual {
    double x, d[N > 0 ? N : 1];
} dual;

static dual number(double x)
{
    dual r = {.x = x};
    return r;
}
static dual combine(double x, double fa, const dual *a, double fb, const dual *b) // fa a' + fb b'
{
    dual r = {.x = x};
    for (int i = 0; i < N; i++) r.d[i] = fa * a->d[i] + fb * b->d[i];
    return r;
}
static dual chained(double x, double f, const dual *a)
{
    dual r = {.x = x};
    for (int i = 0; i < N; i++) r.d[i] = f * a->d[i];
    return r;
}
static dual add(dual a, dual b)
{
    return combine(a.x + b.x, 1.0, &a, 1.0, &b);
}
static dual sub(dual a, dual b)
{
    return combine(a.x - b.x, 1.0, &a, -1.0, &b);
}
static dual mul(dual a, dual b)
{
    return combine(a.x * b.x, b.x, &a, a.x, &b);
}
static dual divide(dual a, dual b)
{
    return combine(a.x / b.x, 1.0 / b.x, &a, -a.x / (b.x * b.x), &b);
}
static dual scale(double s, dual a)
{
    return chained(s * a.x, s, &a);
}
static dual root(dual a)
{
    double r = sqrt(a.x);
    return chained(r, r > 0.0 ? 0.5 / r : 0.0, &a);
}

typedef struct dual3 {
    dual x, y, z;
} dual3;

static dual3 add3(dual3 a, dual3 b)
{
    return (dual3){add(a.x, b.x), add(a.y, b.y), add(a.z, b.z)};
}
static dual3 sub3(dual3 a, dual3 b)
{
    return (dual3){sub(a.x, b.x), sub(a.y, b.y), sub(a.z, b.z)};
}
static dual3 scale3(dual s, dual3 a)
{
    return (dual3){mul(s, a.x), mul(s, a.y), mul(s, a.z)};
}
static dual dot(dual3 a, dual3 b)
{
    return add(add(mul(a.x, b.x), mul(a.y, b.y)), mul(a.z, b.z));
}
static dual3 cross(dual3 a, dual3 b)
{
    return (dual3){sub(mul(a.y, b.z), mul(a.z, b.y)), sub(mul(a.z, b.x), mul(a.x, b.z)),
                   sub(mul(a.x, b.y), mul(a.y, b.x))};
}

static dual variable(const double *x, int i)
{
    dual r = {.x = x[i]};
    if (N > 0) r.d[i < N ? i : 0] = 1.0;
    return r;
}
static dual3 vector(const double *x, int i)
{
    return (dual3){variable(x, i), variable(x, i + 1), variable(x, i + 2)};
}

// ---- the contact ----------------------------------------------------------------------------------------------------
typedef struct contact {
    dual3 rho;          // from the centre to the point of contact
    dual  sine, cosine; // of the angle of contact: e_t = (0, cosine, sine), e_n = (0, -sine, cosine)
    dual  slope;        // S'
} contact;

// xi as a variable, or with its changes along d_y, d_z, n
static dual contact_coordinate(const kd_wheel *w, const double *x)
{
    dual xi = variable(x, XI);
    if (w->unknown || N == 0) return xi;
    // c = 0 moves xi: xi_x = -c_x / c_xi
    const double   in[KD_WHEEL_INPUTS] = {x[1], x[2], x[3], x[4], x[5]};
    kd_wheel_point at;
    kd_wheel_at(w, in, xi.x, &at);
    xi = number(xi.x);
    for (int i = 0; i < KD_WHEEL_INPUTS && 1 + i < N; i++) xi.d[1 + i] = -at.c_x[i] / at.c_x[KD_WHEEL_INPUTS];
    return xi;
}

static contact contact_of(const kd_wheel *w, const double *x, dual xi)
{
    // u downwards from the axle, u_x = R' n_x (wheel.h); rho = xi n + R u
    dual3  d = vector(x, 0), n = vector(x, 3), u;
    double R[5], S[5];
    kd_wheel_tread(w, xi.x, R);
    dual r = chained(R[0], R[1], &xi), slope = chained(R[1], R[2], &xi);
    dual q = add(mul(n.y, n.y), mul(n.z, n.z)), p = divide(mul(slope, n.x), q);
    dual A = mul(p, n.x), B = root(sub(divide(number(1.0), q), mul(p, p)));
    u.x = mul(slope, n.x);
    u.y = sub(mul(B, n.z), mul(A, n.y));
    u.z = scale(-1.0, add(mul(A, n.z), mul(B, n.y)));
    contact c = {.rho = add3(scale3(xi, n), scale3(r, u))};
    // slope of the head at the point of contact: its angle
    dual Y = add(d.y, c.rho.y);
    kd_wheel_head(w, Y.x, S);
    c.slope = chained(S[1], S[2], &Y);
    c.cosine = divide(number(1.0), root(add(number(1.0), mul(c.slope, c.slope))));
    c.sine = mul(c.slope, c.cosine);
    return c;
}

// A quantity that follows the inputs d_y, d_z, n of wheel.h, which are variables 1 to 5
static dual by_inputs(double x, const double x_in[KD_WHEEL_INPUTS])
{
    dual r = number(x);
    for (int i = 0; i < KD_WHEEL_INPUTS && 1 + i < N; i++) r.d[1 + i] = x_in[i];
    return r;
}

// Quasi-elastic contact: tread or flange as one place
static contact contact_of_patch(const kd_wheel_patch *p)
{
    contact c = {.rho = {by_inputs(p->rho[0], p->rho_x[0]), by_inputs(p->rho[1], p->rho_x[1]),
                         by_inputs(p->rho[2], p->rho_x[2])},
                 .slope = by_inputs(p->slope, p->slope_x)};
    c.cosine = divide(number(1.0), root(add(number(1.0), mul(c.slope, c.slope))));
    c.sine = mul(c.slope, c.cosine);
    return c;
}

// ---- laws -----------------------------------------------------------------------------------------------------------
typedef struct creepages {
    dual x, y, spin;
} creepages;

typedef struct tangential {
    dual x, y, moment;
} tangential;

typedef struct coefficients { // of the linear law, at the normal force
    dual normal, f11, f22, f23, f33;
    dual growth; // of the half axes
} coefficients;

// f11 = G a b C11, f22 = G a b C22, f23 = G (ab)^1.5 C23, f33 = G (ab)^2 C33; a, b grow with N^(1/3)
static coefficients coefficients_of(const kd_wheel *w, dual normal)
{
    // kalker[] = C11, C22, C23, C33; a and b are those of the nominal load
    double ab = w->a * w->b, G = w->def->shear;
    dual   one = number(1.0), growth = one;
    if (w->by_load) {
        double g = cbrt(normal.x / w->def->load);
        growth = chained(g, g / (3.0 * normal.x), &normal);
    }
    dual g2 = mul(growth, growth), g3 = mul(g2, growth);
    return (coefficients){.normal = normal,
                          .growth = growth,
                          .f11 = scale(G * ab * w->kalker[0], g2),
                          .f22 = scale(G * ab * w->kalker[1], g2),
                          .f23 = scale(G * ab * sqrt(ab) * w->kalker[2], g3),
                          .f33 = scale(G * ab * ab * w->kalker[3], mul(g2, g2))};
}

static tangential linear(const coefficients *f, const creepages *c)
{
    return (tangential){
        .x = scale(-1.0, mul(f->f11, c->x)),
        .y = scale(-1.0, add(mul(f->f22, c->y), mul(f->f23, c->spin))),
        .moment = sub(mul(f->f23, c->y), mul(f->f33, c->spin)),
    };
}

// most tanh(a/most)
static dual saturated(dual a, dual most)
{
    dual   ratio = divide(a, most);
    double t = tanh(ratio.x);
    return mul(most, chained(t, 1.0 - t * t, &ratio));
}

// the moment is limited by friction on the radius sqrt(ab)
static dual saturated_moment(const kd_wheel *w, const coefficients *f, dual moment)
{
    return saturated(moment, scale(w->def->friction * sqrt(w->a * w->b), f->normal));
}

static tangential by_tanh(const kd_wheel *w, const coefficients *f, const creepages *c)
{
    // each component saturates, then both together lie in the circle of friction
    tangential t = linear(f, c);
    dual       most = scale(w->def->friction, f->normal);
    t.x = saturated(t.x, most);
    t.y = saturated(t.y, most);
    if (t.x.x * t.x.x + t.y.x * t.y.x > most.x * most.x) { // back to the circle
        dual back = divide(most, root(add(mul(t.x, t.x), mul(t.y, t.y))));
        t.x = mul(t.x, back);
        t.y = mul(t.y, back);
    }
    t.moment = saturated_moment(w, f, t.moment);
    return t;
}

// Polach 1999. The force grows with e, the ratio of the linear force to friction; spin adds a part across the rail.
static tangential by_polach(const kd_wheel *w, const coefficients *f, const creepages *c)
{
    const double pi = KD_PI, tiny = 1e-20;
    double       a = w->a, b = w->b;
    dual         friction = scale(w->def->friction, f->normal);
    // creepage with the part of spin: the larger one across the rail counts
    dual s2 = add(add(mul(c->x, c->x), mul(c->y, c->y)), number(tiny)), with_spin = add(c->y, scale(a, c->spin));
    dual across = fabs(with_spin.x) > fabs(c->y.x) ? with_spin : c->y;
    dual sc = root(add(add(mul(c->x, c->x), mul(across, across)), number(tiny)));
    dual f1 = mul(f->f11, c->x), f2 = mul(f->f22, c->y);
    // G a b C: of the direction of slip
    dual stiffness = root(divide(add(add(mul(f1, f1), mul(f2, f2)), scale(tiny, mul(f->f22, f->f22))), s2));
    // e: linear force over friction; F = 2/pi mu N (e/(1 + e^2) + atan e)
    dual   e = divide(scale(0.25 * pi, mul(stiffness, sc)), friction), e2 = mul(e, e);
    dual   arc = chained(atan(e.x), 1.0 / (1.0 + e.x * e.x), &e);
    dual   F = scale(2.0 / pi, mul(friction, add(divide(e, add(number(1.0), e2)), arc)));
    double k = 1.0 + 6.3 * (1.0 - exp(-a / b));
    // (8/3) G b sqrt(ab) C23 = (8/3) f23/a
    // part of spin across the rail, which saturates by its own ratio es
    dual size = root(add(mul(across, across), number(tiny)));
    dual es = divide(scale(8.0 / (3.0 * a * k), mul(f->f23, size)), friction), es2 = mul(es, es), one = number(1.0);
    dual d = divide(sub(es2, one), add(es2, one)), d2 = mul(d, d), rest = sub(one, d2);
    dual K = add(mul(es, sub(sub(scale(0.5, d2), scale(1.0 / 3.0, mul(d2, d))), number(1.0 / 6.0))),
                 scale(1.0 / 3.0, mul(rest, root(rest))));
    dual spin = divide(scale(9.0 / 16.0 * a * k, mul(mul(friction, K), c->spin)), sc), per = divide(F, sc);
    tangential t = linear(f, c);
    t.x = scale(-1.0, mul(per, c->x));
    t.y = scale(-1.0, add(mul(per, c->y), spin));
    t.moment = saturated_moment(w, f, t.moment);
    return t;
}

// Kalker's simplified theory (FASTSIM, 1982). In coordinates x = a X, y = b Y of the ellipse tractions q, in units of mu
// times the largest pressure, grow along strips from the leading edge, and are cut off at 1 - X^2 - Y^2 where they slip:
//
//     dq_x/dX = A - B Y,  dq_y/dX = C + D X,  A = a c_x/(L_1 t), B = a b spin/(L_3 t), C = a c_y/(L_2 t), D = a^2 spin/(L_3 t)
//     t = 2 mu N/(pi a b),  1/L_1 = 3 f11/(8 a^2 b),  1/L_2 = 3 f22/(8 a^2 b),  1/L_3 = 4 f23/(pi a^3 b)
//
// Strips at the nodes of Gauss. Where a strip sticks its tractions are parabolas of X and Simpson's rule is exact, as the linear
// limit is; where it slips the mean bound of an element counts; the place where slip begins is found inside of its element.
typedef struct strip {
    double a, b, Y, l;  // half axes; where it lies, half its length
    dual   along, C, D; // dq_x/dX, parts of dq_y/dX
    dual   qx, qy;      // tractions, of X
    double X;           // from the leading edge on
    bool   slips;
    dual   x, y, moment; // sums of q and of X a q_y - Y b q_x
} strip;

static double bound_at(const strip *s, double X)
{
    return (s->l - X) * (s->l + X);
}

// Tractions that stick from X on, a way further
static void grow(const strip *s, double way, dual *qx, dual *qy)
{
    *qx = sub(s->qx, scale(way, s->along));
    *qy = sub(s->qy, scale(way, add(s->C, scale(s->X - 0.5 * way, s->D))));
}

static void add_part(strip *s, double width, double X, dual qx, dual qy)
{
    s->x = add(s->x, scale(width, qx));
    s->y = add(s->y, scale(width, qy));
    s->moment = add(s->moment, scale(width, sub(scale(s->a * X, qy), scale(s->b * s->Y, qx))));
}

// Cut off at a bound
static void cut_off(double bound, dual *qx, dual *qy)
{
    const dual back = divide(number(bound), root(add(mul(*qx, *qx), mul(*qy, *qy))));
    *qx = mul(*qx, back), *qy = mul(*qy, back);
}

static void stick_over(strip *s, double way)
{
    dual mx, my, qx, qy;
    grow(s, 0.5 * way, &mx, &my);
    grow(s, way, &qx, &qy);
    add_part(s, way / 6.0, s->X, s->qx, s->qy);
    add_part(s, way / 1.5, s->X - 0.5 * way, mx, my);
    add_part(s, way / 6.0, s->X - way, qx, qy);
    s->qx = qx, s->qy = qy;
    s->X -= way;
}

// Half the way, back to the bound; there its mean over the way counts, so that the sum of a strip that slips is exact
static void slip_over(strip *s, double way)
{
    const double middle = s->X - 0.5 * way, mean = bound_at(s, middle) - way * way / 12.0;
    dual         qx, qy;
    grow(s, 0.5 * way, &qx, &qy);
    cut_off(mean, &qx, &qy);
    add_part(s, way, middle, qx, qy);
    // to the end
    s->qx = qx, s->qy = qy, s->X = middle;
    grow(s, 0.5 * way, &qx, &qy);
    cut_off(bound_at(s, middle - 0.5 * way), &qx, &qy);
    s->qx = qx, s->qy = qy, s->X = middle - 0.5 * way;
    s->slips = true;
}

// Would it slip at the end of this way?
static bool exceeds(const strip *s, double way)
{
    const double qx = s->qx.x - way * s->along.x, qy = s->qy.x - way * (s->C.x + (s->X - 0.5 * way) * s->D.x);
    const double bound = bound_at(s, s->X - way);
    return qx * qx + qy * qy > bound * bound;
}

// Where slip begins. Tractions are continuous there, so that the place need not be differentiated
static double way_to_slip(const strip *s, double way)
{
    double low = 0.0, high = way;
    for (int k = 0; k < 30; k++) {
        const double half = 0.5 * (low + high);
        if (exceeds(s, half))
            high = half;
        else
            low = half;
    }
    return low;
}

static strip strip_at(const kd_wheel *w, double Y, dual A, dual B, dual C, dual D)
{
    enum { ELEMENTS = 32 };
    const dual zero = number(0.0);
    strip      s = {.a = w->a, .b = w->b, .Y = Y, .l = sqrt(1.0 - Y * Y), .along = sub(A, scale(Y, B)), .C = C, .D = D};
    s.qx = s.qy = s.x = s.y = s.moment = zero;
    s.X = s.l;
    for (int k = 0; k < ELEMENTS; k++) {
        const double way = s.X - s.l * (1.0 - 2.0 * (k + 1) / ELEMENTS);
        if (!exceeds(&s, way)) {
            stick_over(&s, way);
            s.slips = false;
            continue;
        }
        const double sticks = s.slips ? 0.0 : way_to_slip(&s, way);
        if (sticks > 0.0) stick_over(&s, sticks);
        slip_over(&s, way - sticks);
    }
    return s;
}

static tangential by_fastsim(const kd_wheel *w, const coefficients *f, const creepages *c)
{
    static const double node[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
    static const double weight[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
    const double        pi = KD_PI, a = w->a, b = w->b;
    // a/(L t) = 3 pi f/(16 mu N) and so on; what is left grows with the half axes
    const dual force = scale(w->def->friction, f->normal);
    const dual A = divide(scale(3.0 * pi / 16.0, mul(f->f11, c->x)), force);
    const dual C = divide(scale(3.0 * pi / 16.0, mul(f->f22, c->y)), force);
    const dual turn = divide(mul(f->f23, c->spin), force); // 4 f23/(pi a^3 b) pi a b/(2 mu N) = 2 f23/(a^2 mu N)
    const dual B = scale(2.0 * b / a, turn), D = scale(2.0, turn);
    strip      sum = {.x = number(0.0), .y = number(0.0), .moment = number(0.0)};
    for (int k = 0; k < 8; k++) {
        const strip s = strip_at(w, k < 4 ? node[k] : -node[k - 4], A, B, C, D);
        sum.x = add(sum.x, scale(weight[k % 4], s.x));
        sum.y = add(sum.y, scale(weight[k % 4], s.y));
        sum.moment = add(sum.moment, scale(weight[k % 4], s.moment));
    }
    const dual all = scale(2.0 / pi, force);
    return (tangential){mul(all, sum.x), mul(all, sum.y), mul(mul(all, f->growth), sum.moment)};
}

// ---- the element ----------------------------------------------------------------------------------------------------
static tangential law_of(const kd_wheel *w, dual normal, const creepages *c)
{
    coefficients f = coefficients_of(w, normal);
    switch (w->def->creep) {
    case KD_CREEP_LINEAR:
        return linear(&f, c);
    case KD_CREEP_TANH:
        return by_tanh(w, &f, c);
    case KD_CREEP_POLACH:
        return by_polach(w, &f, c);
    case KD_CREEP_FASTSIM:
        return by_fastsim(w, &f, c);
    case KD_CREEP_NONE:
        break;
    }
    return (tangential){number(0.0), number(0.0), number(0.0)};
}

// three components of a force into rows of J, derivatives by all variables
static void put(const dual3 *a, int row, double *force, double *J)
{
    const dual *part[3] = {&a->x, &a->y, &a->z};
    for (int i = 0; i < 3; i++) {
        force[row + i] = part[i]->x;
        for (int k = 0; J && k < N; k++) J[row + i + 6 * k] = part[i]->d[k];
    }
}

// Force of the flange towards the middle; energy (may be NULL): potential and its rate.
static dual flange_force(const kd_wheel *w, const double *x, double *energy)
{
    const kd_wheel_rail *def = w->def;
    dual3                n = vector(x, 3);
    // way of the foot of the wheel across, from where the flange meets the rail
    dual   foot = add(variable(x, 1), scale(def->radius, n.z));
    dual   depth = sub(scale(w->side, foot), number(def->clearance));
    double s = depth.x, k = def->flange, onset = def->onset, force, slope, potential;
    if (energy) energy[0] = energy[1] = 0.0;
    if (!(s > 0.0)) return number(0.0);
    // quadratic over the onset, then linear: force and slope are continuous
    if (s < onset)
        force = 0.5 * k * s * s / onset, slope = k * s / onset, potential = force * s / 3.0;
    else
        force = k * (s - 0.5 * onset), slope = k, potential = 0.5 * force * force / k + k * onset * onset / 24.0;
    if (energy) {
        double rate = x[7] + def->radius * (x[9] * x[4] - x[10] * x[3]); // d_y' + r (omega x n)_z
        energy[0] = potential, energy[1] = w->side * force * rate;
    }
    return chained(force, slope, &depth);
}

// Creep forces on the wheel at the contact: force, moment about the normal; slip for the power.
typedef struct creep_state {
    dual3  F, M;
    double lost;
} creep_state;

static creep_state creep_of(const kd_wheel *w, const double *x, const contact *c, dual share)
{
    creep_state out = {.lost = 0.0};
    if (w->def->creep == KD_CREEP_NONE || (w->by_load && !(x[LAMBDA] > 0.0))) return out; // lifted off
    // motion of the wheel and of the ground, both seen from the frame of the rail
    dual3 d = vector(x, 0), v = vector(x, 6), omega = vector(x, 9);
    dual3 d0 = vector(x, 12), v0 = vector(x, 15), omega0 = vector(x, 18);
    // velocity of the centre over the ground, rolling by the turn: their sum slips, half of their difference rolls
    dual3 turn = sub3(omega, omega0), rolling = cross(turn, c->rho);
    dual3 centre = sub3(v, add3(v0, cross(omega0, sub3(d, d0)))), slip = add3(centre, rolling);
    dual3 twice = sub3(rolling, centre);
    dual  speed = scale(0.5, root(dot(twice, twice)));
    dual3 e_t = {number(0.0), c->cosine, c->sine}, e_n = {number(0.0), scale(-1.0, c->sine), c->cosine};
    if (!(speed.x > 0.0)) return out; // at rest
    // creepages in the plane of contact, normal force from the vertical multiplier
    creepages creep = {divide(slip.x, speed), divide(dot(slip, e_t), speed), divide(dot(turn, e_n), speed)};
    dual      normal = w->by_load ? divide(variable(x, LAMBDA), c->cosine) : number(w->def->load);
    normal = mul(share, normal);
    tangential t = law_of(w, normal, &creep);
    out.F = scale3(t.y, e_t);
    out.F.x = t.x;
    if (w->def->moment) out.M = scale3(t.moment, e_n);
    out.lost = -dot(out.F, slip).x - dot(out.M, turn).x;
    return out;
}

// Force at the contact, moved to the centre of the wheel
static void move_to_centre(creep_state *s, const contact *c)
{
    s->M = add3(s->M, cross(c->rho, s->F));
}

static creep_state one_place(const kd_wheel *w, const double *x, contact *c)
{
    *c = contact_of(w, x, contact_coordinate(w, x));
    creep_state s = creep_of(w, x, c, number(1.0));
    move_to_centre(&s, c);
    return s;
}

// Tread and flange; c: where more is carried
static creep_state patches_of(const kd_wheel *w, const double *x, const kd_wheel_spread *spread, contact *c)
{
    creep_state    sum = {.lost = 0.0};
    kd_wheel_patch patch[2];
    kd_wheel_patches_at(w, x + 1, spread, patch);
    const int most = patch[1].share > patch[0].share;
    for (int side = 0; side < 2; side++) {
        const kd_wheel_patch *p = &patch[side];
        if (!(p->share > LEAST_SHARE)) continue;
        const contact at = contact_of_patch(p);
        creep_state   s = creep_of(w, x, &at, by_inputs(p->share, p->share_x));
        move_to_centre(&s, &at);
        sum.F = add3(sum.F, s.F), sum.M = add3(sum.M, s.M), sum.lost += s.lost;
        if (side == most) *c = at;
    }
    return sum;
}

// The force of a flange across the rail, at the contact
static void add_flange(creep_state *s, const contact *c, dual force)
{
    const dual3 F = {number(0.0), force, number(0.0)};
    s->F = add3(s->F, F);
    s->M = add3(s->M, cross(c->rho, F));
}

// energy (may be NULL): power lost in creep, potential of the flange, its rate
static void forces_of(const kd_wheel *w, const double x[KD_CREEP_VARIABLES], const kd_wheel_spread *spread,
                      double force[6], double *J, double energy[3])
{
    contact     c;
    creep_state s = w->elastic ? patches_of(w, x, spread, &c) : one_place(w, x, &c);
    if (!isinf(w->def->clearance))
        add_flange(&s, &c, scale(-w->side, flange_force(w, x, energy ? energy + 1 : NULL)));
    else if (energy)
        energy[1] = energy[2] = 0.0;
    put(&s.F, 0, force, J);
    put(&s.M, 3, force, J);
    if (energy) energy[0] = s.lost;
}

#endif
