// truck5.c: planar truck of five bodies, nine coordinates; the loading area is joined to the chassis by a revolute
// joint (constrained model) or by two more force elements (free model, no constraints).
//
//     p = (rear wheel y, chassis y, chassis angle, front wheel y, cabin y, cabin angle, load x, load y, load angle)
//     force element between a point A and a point B:  l = |B - A|,  F = k l + d l' + FN,  on A +F n, on B -F n
//     M v' = -(gravity) - sum F dl/dp - G' lambda
//     g = load point (cc1, cc2) - chassis point (ac1, ac2)
//     inputs u = (road height under the rear wheel, under the front wheel); F of the tyres needs u and u'
//
// Source: E. Eich-Soellner, C. Fuehrer, Numerical Methods in Multibody Dynamics (Teubner, 1998), the truck, both
// models. There M v' = f + G' lambda, so that the multipliers here have the opposite sign. Moments are those of the
// equations above; in circulating code the moment of a force about a body point below the reference point (h1) has a
// wrong sign.
#include "gallery.h"
#include "support.h"
#include "truck_road.h"
#include <math.h>

enum { NP = 9, NG = 2, NU = 2, NLOCAL = 5 };
enum { REAR, CHASSIS, CHASSIS_ANGLE, FRONT, CABIN, CABIN_ANGLE, LOAD_X, LOAD, LOAD_ANGLE };

static const double mass_of[NP] = {1450, 3335, 14313, 600, 1100, 948, 11515, 11515, 33000};
static const double weight[NP] = {1450 * 9.81, 3335 * 9.81, 0, 600 * 9.81, 1100 * 9.81, 0, 0, 11515 * 9.81, 0};
static const double ac1 = -3.07, ac2 = 0.15, cc1 = -1.61, cc2 = -0.75; // joint on chassis and load

#define A12 (-2.06) // rear axle
#define A23 2.44    // front axle
#define H1 (-1.34)  // suspension points on the chassis

// A body: coordinates of x, y and angle, or NONE; x0 where x is fixed.
enum { NONE = -1 };
typedef struct body {
    int    x, y, angle;
    double x0;
} body;

enum { ON_REAR, ON_CHASSIS, ON_FRONT, ON_CABIN, ON_LOAD };
static const body bodies[] = {
    [ON_REAR] = {NONE, REAR, NONE, A12},       [ON_CHASSIS] = {NONE, CHASSIS, CHASSIS_ANGLE, 0},
    [ON_FRONT] = {NONE, FRONT, NONE, A23},     [ON_CABIN] = {NONE, CABIN, CABIN_ANGLE, 1.94 + 0.8},
    [ON_LOAD] = {LOAD_X, LOAD, LOAD_ANGLE, 0},
};

// clang-format off
// Force elements between body points; the tyres, which are vertical, come apart.
typedef struct element {
    int    from, to;           // bodies
    double ax, ay, bx, by;     // body points
    double k, d, nominal;      // [N/m], [N s/m], [N]
    int    n, local[NLOCAL];   // coordinates of both bodies
} element;

enum { NJOINED = 5, NFREE = 7 }; // elements of the constrained and of the free model
static const element elements[NFREE] = {
    {ON_REAR,    ON_CHASSIS, 0,    0, A12,  H1, 8.247e5, 21593, -0.246872662e6,     3, {REAR, CHASSIS, CHASSIS_ANGLE}},
    {ON_FRONT,   ON_CHASSIS, 0,    0, A23,  H1, 2.711e5, 38537, -0.084924838e6,     3, {FRONT, CHASSIS, CHASSIS_ANGLE}},
    {ON_CHASSIS, ON_CABIN,   1.94, 0, -0.8, 0,  1.357e5, 12218, -0.12784288235294e6, 4,
     {CHASSIS, CHASSIS_ANGLE, CABIN, CABIN_ANGLE}},
    {ON_CHASSIS, ON_CABIN,   3.64, 0, 0.9,  0,  1.357e5, 12218, -0.12720811764706e6, 4,
     {CHASSIS, CHASSIS_ANGLE, CABIN, CABIN_ANGLE}},
    {ON_CHASSIS, ON_LOAD,    0.98, 0, 2.44, 0,  9.0e5,   38500, -0.85490594111111e6, 5,
     {CHASSIS, CHASSIS_ANGLE, LOAD_X, LOAD, LOAD_ANGLE}},
    {ON_CHASSIS, ON_LOAD,    -3.07, 0, -1.91, 0, 7.70e5, 33013, -0.76635491099974e6, 5,
     {CHASSIS, CHASSIS_ANGLE, LOAD_X, LOAD, LOAD_ANGLE}},
    {ON_CHASSIS, ON_LOAD,    -3.07, 0, -1.31, 0, 7.70e5, 33013, -0.76635491099974e6, 5,
     {CHASSIS, CHASSIS_ANGLE, LOAD_X, LOAD, LOAD_ANGLE}},
};
static const struct tyre {
    int    wheel;
    double k, d, nominal;
} tyres[NU] = {{REAR, 44e5, 600, -2.329145162e6}, {FRONT, 22e5, 300, -1.147434838e6}};
// clang-format on

// An element at a position.
typedef struct geometry {
    double l, inverse, n[2];  // length, 1 / length, direction
    double column[NLOCAL][2]; // of d(B - A)/dp
    double gradient[NLOCAL];  // dl/dp = n . column
    double bend[NLOCAL];      // n . d2(B - A)/dangle2, 0 for other coordinates
} geometry;

typedef struct work {
    int           n; // elements; NJOINED: the joint is there
    unsigned long position_stamp;
    double        c3, s3, c9, s9;
    geometry      at[NFREE];
} work;

static void *make_work(void *context)
{
    const int *n = context;
    work      *k = kd_alloc(sizeof *k);
    if (k) *k = (work){.n = *n, .position_stamp = KD_NO_STAMP};
    return k;
}

// Columns of one end of an element, sign +1 for B and -1 for A; rotated is the body point minus the reference point.
static int add_end(geometry *q, int m, const body *b, const double rotated[2], double sign)
{
    if (b->x != NONE) q->column[m][0] = sign, q->column[m][1] = 0, q->bend[m] = 0, m++;
    q->column[m][0] = 0, q->column[m][1] = sign, q->bend[m] = 0, m++;
    if (b->angle != NONE) {
        q->column[m][0] = -sign * rotated[1], q->column[m][1] = sign * rotated[0];
        q->bend[m] = -sign * (q->n[0] * rotated[0] + q->n[1] * rotated[1]);
        m++;
    }
    return m;
}

// Body point minus reference point (rotated), and the point itself.
static void body_point(const body *b, const double *p, const double *c, const double *s, double x, double y,
                       double rotated[2], double point[2])
{
    const double cosine = b->angle == NONE ? 1 : c[b->angle], sine = b->angle == NONE ? 0 : s[b->angle];
    rotated[0] = x * cosine - y * sine;
    rotated[1] = x * sine + y * cosine;
    point[0] = rotated[0] + (b->x == NONE ? b->x0 : p[b->x]);
    point[1] = rotated[1] + p[b->y];
}

static const work *at_position(work *k, const kd_point *x)
{
    if (k->position_stamp == x->position_stamp) return k;
    const double *p = x->p;
    double        c[NP] = {0}, s[NP] = {0}; // only the angles' entries
    for (int i = CHASSIS_ANGLE; i < NP; i += 3) c[i] = cos(p[i]), s[i] = sin(p[i]);
    k->c3 = c[CHASSIS_ANGLE], k->s3 = s[CHASSIS_ANGLE], k->c9 = c[LOAD_ANGLE], k->s9 = s[LOAD_ANGLE];
    for (int i = 0; i < k->n; i++) {
        const element *el = &elements[i];
        geometry      *q = &k->at[i];
        double         a[2], b[2], from[2], to[2];
        body_point(&bodies[el->from], p, c, s, el->ax, el->ay, a, from);
        body_point(&bodies[el->to], p, c, s, el->bx, el->by, b, to);
        const double rho[2] = {to[0] - from[0], to[1] - from[1]};
        q->l = sqrt(rho[0] * rho[0] + rho[1] * rho[1]);
        q->inverse = 1 / q->l;
        q->n[0] = rho[0] * q->inverse;
        q->n[1] = rho[1] * q->inverse;
        const int m = add_end(q, 0, &bodies[el->from], a, -1);
        (void)add_end(q, m, &bodies[el->to], b, 1);
        for (int j = 0; j < el->n; j++) q->gradient[j] = q->n[0] * q->column[j][0] + q->n[1] * q->column[j][1];
    }
    k->position_stamp = x->position_stamp;
    return k;
}

static double length_rate(const element *el, const geometry *q, const double *v)
{
    double rate = 0;
    for (int j = 0; j < el->n; j++) rate += q->gradient[j] * v[el->local[j]];
    return rate;
}

static double element_force(const element *el, const geometry *q, const double *v)
{
    return el->k * q->l + el->d * length_rate(el, q, v) + el->nominal;
}

static double tyre_force(const struct tyre *tyre, const kd_point *x, int i)
{
    const double l = x->p[tyre->wheel] - x->u[i], rate = x->v[tyre->wheel] - x->du[i];
    return tyre->k * l + tyre->d * rate + tyre->nominal;
}

// ---- equations ------------------------------------------------------------------------------------------------------

// M a + weight + sum F dl/dp + G' lambda
static kd_eval residual(const kd_point *x, void *context, double *out)
{
    const work   *k = at_position(context, x);
    const double *lambda = x->lambda;
    for (int i = 0; i < NP; i++) out[i] = mass_of[i] * x->a[i] + weight[i];
    for (int i = 0; i < NU; i++) out[tyres[i].wheel] += tyre_force(&tyres[i], x, i);
    for (int i = 0; i < k->n; i++) {
        const element *el = &elements[i];
        const double   F = element_force(el, &k->at[i], x->v);
        for (int j = 0; j < el->n; j++) out[el->local[j]] += F * k->at[i].gradient[j];
    }
    if (k->n != NJOINED) return KD_EVAL_OK;
    out[CHASSIS] -= lambda[1];
    out[CHASSIS_ANGLE] += (ac1 * k->s3 + ac2 * k->c3) * lambda[0] - (ac1 * k->c3 - ac2 * k->s3) * lambda[1];
    out[LOAD_X] += lambda[0];
    out[LOAD] += lambda[1];
    out[LOAD_ANGLE] += -(cc1 * k->s9 + cc2 * k->c9) * lambda[0] + (cc1 * k->c9 - cc2 * k->s9) * lambda[1];
    return KD_EVAL_OK;
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    memset(out, 0, NP * NP * sizeof *out);
    for (int i = 0; i < NP; i++) *kd_entry(out, NP, i, i) = mass_of[i];
    return KD_EVAL_OK;
}

static kd_eval g(const kd_point *x, void *context, double *out)
{
    const work *k = at_position(context, x);
    out[0] = x->p[LOAD_X] + cc1 * k->c9 - cc2 * k->s9 - ac1 * k->c3 + ac2 * k->s3;
    out[1] = x->p[LOAD] + cc1 * k->s9 + cc2 * k->c9 - x->p[CHASSIS] - ac1 * k->s3 - ac2 * k->c3;
    return KD_EVAL_OK;
}

// Coefficients of one level of the constraint: row 1 = chassis[0] in the chassis angle, 1 in load x, load[0] in the
// load angle; row 2 = -1 in chassis y, chassis[1], 1 in load y, load[1]. turn: derivatives of these by their angle.
typedef struct joint {
    double chassis[2], load[2], chassis_turn[2], load_turn[2];
} joint;

static joint joint_at(const work *k)
{
    const double ax = ac1 * k->c3 - ac2 * k->s3, ay = ac1 * k->s3 + ac2 * k->c3;
    const double cx = cc1 * k->c9 - cc2 * k->s9, cy = cc1 * k->s9 + cc2 * k->c9;
    return (joint){{ay, -ax}, {-cy, cx}, {ax, ay}, {-cx, -cy}};
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    const joint   q = joint_at(at_position(context, x));
    const double *v = x->v;
    out[0] = v[LOAD_X] + q.chassis[0] * v[CHASSIS_ANGLE] + q.load[0] * v[LOAD_ANGLE];
    out[1] = v[LOAD] - v[CHASSIS] + q.chassis[1] * v[CHASSIS_ANGLE] + q.load[1] * v[LOAD_ANGLE];
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    const joint   q = joint_at(at_position(context, x));
    const double *v = x->v, *a = x->a;
    const double  chassis2 = v[CHASSIS_ANGLE] * v[CHASSIS_ANGLE], load2 = v[LOAD_ANGLE] * v[LOAD_ANGLE];
    out[0] = a[LOAD_X];
    out[1] = a[LOAD] - a[CHASSIS];
    for (int i = 0; i < NG; i++)
        out[i] += q.chassis[i] * a[CHASSIS_ANGLE] + q.load[i] * a[LOAD_ANGLE] + q.chassis_turn[i] * chassis2 +
                  q.load_turn[i] * load2;
    return KD_EVAL_OK;
}

// Potential energy of an element k l^2 / 2 + FN l; the road supplies the power -F u' through each tyre.
static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    const work *k = at_position(context, x);
    *out = (kd_energies){0};
    for (int i = 0; i < NP; i++) {
        out->kinetic += 0.5 * mass_of[i] * x->v[i] * x->v[i];
        out->potential += weight[i] * x->p[i];
    }
    for (int i = 0; i < NU; i++) {
        const struct tyre *tyre = &tyres[i];
        const double       l = x->p[tyre->wheel] - x->u[i], rate = x->v[tyre->wheel] - x->du[i];
        out->potential += (0.5 * tyre->k * l + tyre->nominal) * l;
        out->dissipated += tyre->d * rate * rate;
        out->supplied -= tyre_force(tyre, x, i) * x->du[i];
    }
    for (int i = 0; i < k->n; i++) {
        const element *el = &elements[i];
        const double   l = k->at[i].l, rate = length_rate(el, &k->at[i], x->v);
        out->potential += (0.5 * el->k * l + el->nominal) * l;
        out->dissipated += el->d * rate * rate;
    }
    return KD_EVAL_OK;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// Column i of the second derivative of l: l_ij = (column_i . column_j - l_i l_j) / l, plus bend on the diagonal
static double second(const geometry *q, int i, int j)
{
    const double dot = q->column[i][0] * q->column[j][0] + q->column[i][1] * q->column[j][1];
    return (dot - q->gradient[i] * q->gradient[j]) * q->inverse + (i == j ? q->bend[i] : 0);
}

// F l_pp + l_p (k l_p + d l_pp v)'
static void element_by_p(const element *el, const geometry *q, const double *v, double *out)
{
    const double F = element_force(el, q, v);
    for (int j = 0; j < el->n; j++) {
        double column[NLOCAL], rate = 0; // rate = dl'/dp_j
        for (int i = 0; i < el->n; i++) {
            column[i] = second(q, i, j);
            rate += column[i] * v[el->local[i]];
        }
        const double slope = el->k * q->gradient[j] + el->d * rate;
        for (int i = 0; i < el->n; i++)
            *kd_entry(out, NP, el->local[i], el->local[j]) += F * column[i] + slope * q->gradient[i];
    }
}

static void residual_by_p(const work *k, const kd_point *x, double *out)
{
    const joint q = joint_at(k);
    memset(out, 0, NP * NP * sizeof *out);
    for (int i = 0; i < NU; i++) *kd_entry(out, NP, tyres[i].wheel, tyres[i].wheel) = tyres[i].k;
    for (int i = 0; i < k->n; i++) element_by_p(&elements[i], &k->at[i], x->v, out);
    for (int i = 0; i < NG && k->n == NJOINED; i++) {
        *kd_entry(out, NP, CHASSIS_ANGLE, CHASSIS_ANGLE) += q.chassis_turn[i] * x->lambda[i];
        *kd_entry(out, NP, LOAD_ANGLE, LOAD_ANGLE) += q.load_turn[i] * x->lambda[i];
    }
}

// d l_p l_p'
static void residual_by_v(const work *k, double *out)
{
    memset(out, 0, NP * NP * sizeof *out);
    for (int i = 0; i < NU; i++) *kd_entry(out, NP, tyres[i].wheel, tyres[i].wheel) = tyres[i].d;
    for (int m = 0; m < k->n; m++) {
        const element *el = &elements[m];
        const double  *gradient = k->at[m].gradient;
        for (int j = 0; j < el->n; j++)
            for (int i = 0; i < el->n; i++)
                *kd_entry(out, NP, el->local[i], el->local[j]) += el->d * gradient[i] * gradient[j];
    }
}

static void constraint_matrix(const joint *q, double *out)
{
    memset(out, 0, NG * NP * sizeof *out);
    *kd_entry(out, NG, 0, LOAD_X) = 1;
    *kd_entry(out, NG, 1, CHASSIS) = -1;
    *kd_entry(out, NG, 1, LOAD) = 1;
    for (int i = 0; i < NG; i++) {
        *kd_entry(out, NG, i, CHASSIS_ANGLE) = q->chassis[i];
        *kd_entry(out, NG, i, LOAD_ANGLE) = q->load[i];
    }
}

// Blocks that have only the two angle columns.
static void angle_columns(const double chassis[2], const double load[2], double *out)
{
    memset(out, 0, NG * NP * sizeof *out);
    for (int i = 0; i < NG; i++) {
        *kd_entry(out, NG, i, CHASSIS_ANGLE) = chassis[i];
        *kd_entry(out, NG, i, LOAD_ANGLE) = load[i];
    }
}

static void residual_by_lambda(const joint *q, double *out)
{
    double G[NG * NP];
    constraint_matrix(q, G);
    for (int j = 0; j < NP; j++)
        for (int i = 0; i < NG; i++) *kd_entry(out, NP, j, i) = *kd_entry(G, NG, i, j);
}

// gI by p = turn v, gII by v = 2 turn v, gII by p = turn a - coefficient v^2
static void level_by_angles(const kd_point *x, const joint *q, kd_fn fn, kd_var var, double *out)
{
    const double vc = x->v[CHASSIS_ANGLE], vl = x->v[LOAD_ANGLE];
    double       chassis[NG], load[NG];
    for (int i = 0; i < NG; i++) {
        const double factor = fn == KD_GI ? 1 : 2;
        chassis[i] = var == KD_P && fn == KD_GII ? q->chassis_turn[i] * x->a[CHASSIS_ANGLE] - q->chassis[i] * vc * vc
                                                 : factor * q->chassis_turn[i] * vc;
        load[i] = var == KD_P && fn == KD_GII ? q->load_turn[i] * x->a[LOAD_ANGLE] - q->load[i] * vl * vl
                                              : factor * q->load_turn[i] * vl;
    }
    angle_columns(chassis, load, out);
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const work *k = at_position(context, x);
    const joint q = joint_at(k);
    (void)part; // all elements count as stiff
    if (fn == KD_RESIDUAL) {
        if (var == KD_A) return mass(x, context, out);
        if (var == KD_P) residual_by_p(k, x, out);
        if (var == KD_V) residual_by_v(k, out);
        if (var == KD_LAMBDA) residual_by_lambda(&q, out);
    } else if ((fn == KD_G && var == KD_P) || (fn == KD_GI && var == KD_V) || (fn == KD_GII && var == KD_A)) {
        constraint_matrix(&q, out);
    } else {
        level_by_angles(x, &q, fn, var, out);
    }
    return KD_EVAL_OK;
}

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {"rear wheel height",  "chassis height",      "chassis pitch",
                                    "front wheel height", "cabin height",        "cabin pitch",
                                    "loading area x",     "loading area height", "loading area pitch"};
    static const char *const v[] = {"rear wheel velocity",     "chassis velocity",        "chassis pitch rate",
                                    "front wheel velocity",    "cabin velocity",          "cabin pitch rate",
                                    "loading area velocity x", "loading area velocity y", "loading area pitch rate"};
    static const char *const lambda[] = {"loading area joint x", "loading area joint y"};
    static const char *const u[] = {"road height rear", "road height front"};
    (void)context;
    switch (kind) {
    case KD_NAME_P:
        return KD_NAME_OF(p, i);
    case KD_NAME_V:
        return KD_NAME_OF(v, i);
    case KD_NAME_LAMBDA:
        return KD_NAME_OF(lambda, i);
    case KD_NAME_U:
        return KD_NAME_OF(u, i);
    default:
        return NULL;
    }
}

// ---- example --------------------------------------------------------------------------------------------------------

static const double p_start[NP] = {0.5, 2, 0, 0.5, 2.9, 0, -1.46, 2.9, 0}, lambda_start[NG] = {0, -6.80562088888888e4};

static kd_status create(const int *elements_used, const char *title, kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    const bool joined = *elements_used == NJOINED;
    kd_eom_def def = kd_eom_def_default();
    def.title = title;
    def.dims = (kd_dims){.np = NP, .nv = NP, .nlambda = joined ? NG : 0, .nu = NU};
    def.context = (void *)elements_used; // only read
    def.residual = residual;
    def.M = mass;
    if (joined) def.g = g, def.gI = gI, def.gII = gII;
    def.energies = energies;
    def.derivative = derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A) | (joined ? KD_BIT(KD_LAMBDA) : 0);
    if (joined) {
        def.given[KD_G] = KD_BIT(KD_P);
        def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V);
        def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
        def.zero[KD_G] = def.zero[KD_GI] = def.zero[KD_GII] = KD_BIT(KD_U);
    }
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true; // time enters through the inputs only
    def.name = name;
    def.make_work = make_work;
    def.free_work = kd_free;
    if (inputs) *inputs = (kd_inputs){.eval = kd_truck_road_hump};
    return kd_gallery_create(&def, &(kd_start){.p = p_start, .lambda = joined ? lambda_start : NULL}, eom, x);
}

static kd_status create_joined(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    static const int n = NJOINED;
    return create(&n, "planar truck of five bodies", eom, x, inputs);
}

static kd_status create_free(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    static const int n = NFREE;
    return create(&n, "planar truck of five bodies, without joint", eom, x, inputs);
}

// clang-format off
// [p v lambda] at t = 20: index-1 form in 64-bit-mantissa arithmetic, extrapolation of order 16, steps 0.01 and 0.005
// agree to 1e-15.
static const double reference[2 * NP + NG] = {
    5.0018010546941538e-01, 2.0001506675280649e+00, -1.8845440976269775e-05, 5.0014075848778283e-01,
    2.9000988186778982e+00, -1.8789348194748614e-05, -1.4599828918439395e+00, 2.9001778661366164e+00,
    -1.9041448844465545e-05,
    -1.2484837256136635e-04, -1.0511120371978079e-04, 1.2656357135691983e-05, -9.8354457782858184e-05,
    -7.0291579694681534e-05, 1.2621457422712097e-05, -1.1488495767916343e-05, -1.2338010823578858e-04,
    1.2786269259943539e-05,
    7.6841095228803513e-01, -6.8056468148541782e+04,
};
// [p v] at t = 20, computed likewise; an earlier solution with Radau IIa and tolerance 1e-12 agrees to 1e-12.
static const double free_reference[2 * NP] = {
    5.0018002760219682e-01, 2.0001500979008124e+00, -1.8928241224639838e-05, 5.0014092379261754e-01,
    2.9000982554926464e+00, -1.8811922559046687e-05, -1.4599730805788962e+00, 2.9001772620102972e+00,
    -1.8993060654625442e-05,
    -1.2542442025305519e-04, -9.9453092832109700e-05, 1.7353523101830523e-05, -9.7192482938754282e-05,
    -5.1870344990644955e-05, 1.7288062869964857e-05, -5.1450261440058442e-05, -1.2447300255462396e-04,
    1.7875980391279906e-05,
};
// clang-format on

const kd_example kd_example_truck5 = {
    .name = "truck5",
    .title = "planar truck of five bodies over a hump",
    .about =
        "Nine coordinates, one revolute joint, multipliers of size 7e4 beside coordinates of size 1, road as input. "
        "Source: Eich-Soellner and Fuehrer, Numerical Methods in Multibody Dynamics (1998).",
    .t_end = 20,
    .create = create_joined,
    .reference = reference,
    .digits = 13,
};

const kd_example kd_example_truck5_free = {
    .name = "truck5-free",
    .title = "planar truck of five bodies over a hump, without constraints",
    .about = "As truck5, with two force elements instead of the joint: an ordinary differential equation. Source: "
             "Eich-Soellner and Fuehrer, Numerical Methods in Multibody Dynamics (1998).",
    .t_end = 20,
    .create = create_free,
    .reference = free_reference,
    .digits = 13,
};
