// truck7.c: planar truck of seven bodies with air springs, eleven coordinates, one constraint.
//
//     p = deviations from static equilibrium: rear wheel, front wheel, chassis and its pitch, engine and pitch,
//         cabin and pitch, seat, loading area and pitch
//     height of a body point at horizontal distance x: p_vertical + x sin(p_pitch)
//
//     force element: compression s = lower point - upper point, F(s, s') upward on the upper body
//     M v' = -weight - sum F ds/dp - G' lambda
//     linear elements:  F = F0 + k s + d s', tyres with s = u - p
//     axle suspensions: F = F0 (h / (h - s))^1.4 + d s' (1 + 0.5 tanh(s' / 0.2))
//     g = (chassis point xj) - (load point xj + 1.46)
//
//     inputs u = (road height under the rear wheel, under the front wheel); F of the tyres needs u and u'
//
// The structure (bodies, coordinates, one constraint, pneumatic suspension) is that of B. Simeon, F. Grupp, C. Fuehrer,
// P. Rentrop, A nonlinear truck model and its treatment as a multibody system, J. Comput. Appl. Math. 50 (1994)
// 523-532. The data are kardan's own: masses and positions are close to those of truck5.c, the article's were not at
// hand. Numbers of papers that use the article's truck can therefore not be compared.
#include "gallery.h"
#include "support.h"
#include "truck_road.h"
#include <math.h>

enum { NP = 11, NU = 2, NLOCAL = 4 };
enum { REAR, FRONT, CHASSIS, CHASSIS_PITCH, ENGINE, ENGINE_PITCH, CABIN, CABIN_PITCH, SEAT, LOAD, LOAD_PITCH };

#define GRAVITY 9.81
static const double mass_of[NP] = {1450, 600, 1980, 11000, 1355, 400, 1000, 950, 100, 11515, 33000};
static const double weight[NP] = {1450 * GRAVITY,
                                  600 * GRAVITY,
                                  1980 * GRAVITY,
                                  0,
                                  1355 * GRAVITY,
                                  0,
                                  1000 * GRAVITY,
                                  0,
                                  100 * GRAVITY,
                                  11515 * GRAVITY,
                                  0};
static const double joint_chassis = -3.07, joint_load = -3.07 + 1.46;
static const double exponent = 1.4, knee = 0.2; // air spring; damper [m/s]

// clang-format off
typedef struct element {
    int    lower, lower_pitch, upper, upper_pitch; // coordinates; -1: none
    double x_lower, x_upper;                       // distances on the bodies
    double F0, k, d;                               // k is the height h of the air spring in the first two
} element;

enum { NAIR = 2, NELEMENT = 8 };
static const element elements[NELEMENT] = {
    {REAR,    -1,            CHASSIS, CHASSIS_PITCH,  0,           -2.06,        109929.552,       0.28,    21593},
    {FRONT,   -1,            CHASSIS, CHASSIS_PITCH,  0,            2.44,         46539.948,       0.26,    38537},
    {CHASSIS, CHASSIS_PITCH, ENGINE,  ENGINE_PITCH,   1.20,         1.20 - 1.70,   6646.275,       8e5,     1e4},
    {CHASSIS, CHASSIS_PITCH, ENGINE,  ENGINE_PITCH,   2.20,         2.20 - 1.70,   6646.275,       8e5,     1e4},
    {CHASSIS, CHASSIS_PITCH, CABIN,   CABIN_PITCH,    1.94,         1.94 - 2.74,   5793.6705882353, 1.357e5, 12218},
    {CHASSIS, CHASSIS_PITCH, CABIN,   CABIN_PITCH,    3.64,         3.64 - 2.74,   4997.3294117647, 1.357e5, 12218},
    {CABIN,   CABIN_PITCH,   SEAT,    -1,             2.60 - 2.74,  0,              981,            3e4,     1e3},
    {CHASSIS, CHASSIS_PITCH, LOAD,    LOAD_PITCH,     0.98,         0.98 + 1.46,  44905.9411111111, 9e5,     38500},
};
static const struct tyre {
    int    wheel;
    double F0, k, d;
} tyres[NU] = {{REAR, 124154.052, 4.4e6, 600}, {FRONT, 52425.948, 2.2e6, 300}};
// clang-format on

typedef struct work {
    unsigned long position_stamp;
    double        cosine[NP], sine[NP]; // 1 and 0 where the coordinate is no pitch
    double        s[NELEMENT];          // compression
    double        F[NELEMENT];          // force at rest
    double        Fs[NELEMENT];         // dF/ds
} work;

static void *make_work(void *context)
{
    (void)context;
    work *k = kd_alloc(sizeof *k);
    if (k) k->position_stamp = KD_NO_STAMP;
    return k;
}

// KD_EVAL_RETRY: an air spring is pressed to nothing.
static kd_eval at_position(work *k, const kd_point *x)
{
    if (k->position_stamp == x->position_stamp) return KD_EVAL_OK;
    static const int pitches[] = {CHASSIS_PITCH, ENGINE_PITCH, CABIN_PITCH, LOAD_PITCH};
    const double    *p = x->p;
    k->position_stamp = KD_NO_STAMP;
    for (size_t i = 0; i < sizeof pitches / sizeof *pitches; i++) {
        k->cosine[pitches[i]] = cos(p[pitches[i]]);
        k->sine[pitches[i]] = sin(p[pitches[i]]);
    }
    for (int i = 0; i < NELEMENT; i++) {
        const element *el = &elements[i];
        double         s = p[el->lower] - p[el->upper];
        if (el->lower_pitch >= 0) s += el->x_lower * k->sine[el->lower_pitch];
        if (el->upper_pitch >= 0) s -= el->x_upper * k->sine[el->upper_pitch];
        k->s[i] = s;
        if (i >= NAIR) {
            k->F[i] = el->F0 + el->k * s;
            k->Fs[i] = el->k;
        } else {
            const double gap = el->k - s;
            if (!(gap > 0)) return KD_EVAL_RETRY;
            k->F[i] = el->F0 * pow(el->k / gap, exponent);
            k->Fs[i] = exponent * k->F[i] / gap;
        }
    }
    k->position_stamp = x->position_stamp;
    return KD_EVAL_OK;
}

// Coordinates of an element and ds/dp there; returns their number.
static int gradient(const work *k, const element *el, int local[NLOCAL], double s_p[NLOCAL])
{
    int n = 0;
    local[n] = el->lower, s_p[n++] = 1;
    if (el->lower_pitch >= 0) local[n] = el->lower_pitch, s_p[n++] = el->x_lower * k->cosine[el->lower_pitch];
    local[n] = el->upper, s_p[n++] = -1;
    if (el->upper_pitch >= 0) local[n] = el->upper_pitch, s_p[n++] = -el->x_upper * k->cosine[el->upper_pitch];
    return n;
}

static double rate(const work *k, const element *el, const double *v)
{
    double ds = v[el->lower] - v[el->upper];
    if (el->lower_pitch >= 0) ds += el->x_lower * k->cosine[el->lower_pitch] * v[el->lower_pitch];
    if (el->upper_pitch >= 0) ds -= el->x_upper * k->cosine[el->upper_pitch] * v[el->upper_pitch];
    return ds;
}

// Damper force for a rate ds; slope (may be NULL) is its derivative by ds.
static double damper(int i, double ds, double *slope)
{
    const double d = elements[i].d;
    if (i >= NAIR) {
        if (slope) *slope = d;
        return d * ds;
    }
    const double th = tanh(ds / knee);
    if (slope) *slope = d * (1 + 0.5 * th + 0.5 * ds / knee * (1 - th * th));
    return d * ds * (1 + 0.5 * th);
}

static double tyre_force(int i, const kd_point *x)
{
    const struct tyre *tyre = &tyres[i];
    return tyre->F0 + tyre->k * (x->u[i] - x->p[tyre->wheel]) + tyre->d * (x->du[i] - x->v[tyre->wheel]);
}

// ---- equations ------------------------------------------------------------------------------------------------------

// M a + weight + sum F ds/dp + G' lambda
static kd_eval residual(const kd_point *x, void *context, double *out)
{
    work *k = context;
    if (at_position(k, x) != KD_EVAL_OK) return KD_EVAL_RETRY;
    for (int i = 0; i < NP; i++) out[i] = mass_of[i] * x->a[i] + weight[i];
    for (int i = 0; i < NU; i++) out[tyres[i].wheel] -= tyre_force(i, x);
    for (int i = 0; i < NELEMENT; i++) {
        const element *el = &elements[i];
        const double   F = k->F[i] + damper(i, rate(k, el, x->v), NULL);
        out[el->lower] += F;
        out[el->upper] -= F;
        if (el->lower_pitch >= 0) out[el->lower_pitch] += F * el->x_lower * k->cosine[el->lower_pitch];
        if (el->upper_pitch >= 0) out[el->upper_pitch] -= F * el->x_upper * k->cosine[el->upper_pitch];
    }
    const double lambda = x->lambda[0];
    out[CHASSIS] += lambda;
    out[CHASSIS_PITCH] += joint_chassis * k->cosine[CHASSIS_PITCH] * lambda;
    out[LOAD] -= lambda;
    out[LOAD_PITCH] -= joint_load * k->cosine[LOAD_PITCH] * lambda;
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
    work *k = context;
    if (at_position(k, x) != KD_EVAL_OK) return KD_EVAL_RETRY;
    out[0] = x->p[CHASSIS] + joint_chassis * k->sine[CHASSIS_PITCH] - x->p[LOAD] - joint_load * k->sine[LOAD_PITCH];
    return KD_EVAL_OK;
}

// G y for a velocity or acceleration y
static double times_G(const work *k, const double *y)
{
    return y[CHASSIS] + joint_chassis * k->cosine[CHASSIS_PITCH] * y[CHASSIS_PITCH] - y[LOAD] -
           joint_load * k->cosine[LOAD_PITCH] * y[LOAD_PITCH];
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    work *k = context;
    if (at_position(k, x) != KD_EVAL_OK) return KD_EVAL_RETRY;
    out[0] = times_G(k, x->v);
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    work *k = context;
    if (at_position(k, x) != KD_EVAL_OK) return KD_EVAL_RETRY;
    const double chassis = x->v[CHASSIS_PITCH], load = x->v[LOAD_PITCH];
    out[0] = times_G(k, x->a) - joint_chassis * k->sine[CHASSIS_PITCH] * chassis * chassis +
             joint_load * k->sine[LOAD_PITCH] * load * load;
    return KD_EVAL_OK;
}

// Potential energy against equilibrium: F0 s + k s^2 / 2, or the work F0 h / 0.4 ((h / (h - s))^0.4 - 1) on an air
// spring.
static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    work *k = context;
    if (at_position(k, x) != KD_EVAL_OK) return KD_EVAL_RETRY;
    *out = (kd_energies){0};
    for (int i = 0; i < NP; i++) {
        out->kinetic += 0.5 * mass_of[i] * x->v[i] * x->v[i];
        out->potential += weight[i] * x->p[i];
    }
    for (int i = 0; i < NU; i++) {
        const struct tyre *tyre = &tyres[i];
        const double       s = x->u[i] - x->p[tyre->wheel], ds = x->du[i] - x->v[tyre->wheel];
        out->potential += (tyre->F0 + 0.5 * tyre->k * s) * s;
        out->dissipated += tyre->d * ds * ds;
        out->supplied += tyre_force(i, x) * x->du[i];
    }
    for (int i = 0; i < NELEMENT; i++) {
        const element *el = &elements[i];
        const double   s = k->s[i], ds = rate(k, el, x->v);
        out->potential +=
            i >= NAIR ? (el->F0 + 0.5 * el->k * s) * s : (k->F[i] * (el->k - s) - el->F0 * el->k) / (exponent - 1);
        out->dissipated += damper(i, ds, NULL) * ds;
    }
    return KD_EVAL_OK;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// F s_pp + s_p (F_s s_p + F_s' s_pp v)'; s_pp is diagonal, -x sin(pitch) for a lower, +x sin(pitch) for an upper body
static void element_by_p(const work *k, int m, const double *v, double *out)
{
    const element *el = &elements[m];
    int            local[NLOCAL];
    double         s_p[NLOCAL], slope;
    const int      n = gradient(k, el, local, s_p);
    const double   F = k->F[m] + damper(m, rate(k, el, v), &slope);
    for (int j = 0; j < n; j++) {
        double s_pp = 0;
        if (local[j] == el->lower_pitch) s_pp = -el->x_lower * k->sine[local[j]];
        if (local[j] == el->upper_pitch) s_pp = el->x_upper * k->sine[local[j]];
        const double by_p = k->Fs[m] * s_p[j] + slope * s_pp * v[local[j]];
        for (int i = 0; i < n; i++) *kd_entry(out, NP, local[i], local[j]) += s_p[i] * by_p;
        *kd_entry(out, NP, local[j], local[j]) += F * s_pp;
    }
}

static void residual_by_p(const work *k, const kd_point *x, double *out)
{
    memset(out, 0, NP * NP * sizeof *out);
    for (int i = 0; i < NU; i++) *kd_entry(out, NP, tyres[i].wheel, tyres[i].wheel) = tyres[i].k;
    for (int i = 0; i < NELEMENT; i++) element_by_p(k, i, x->v, out);
    *kd_entry(out, NP, CHASSIS_PITCH, CHASSIS_PITCH) -= joint_chassis * k->sine[CHASSIS_PITCH] * x->lambda[0];
    *kd_entry(out, NP, LOAD_PITCH, LOAD_PITCH) += joint_load * k->sine[LOAD_PITCH] * x->lambda[0];
}

// F_s' s_p s_p'
static void residual_by_v(const work *k, const double *v, double *out)
{
    memset(out, 0, NP * NP * sizeof *out);
    for (int i = 0; i < NU; i++) *kd_entry(out, NP, tyres[i].wheel, tyres[i].wheel) = tyres[i].d;
    for (int m = 0; m < NELEMENT; m++) {
        int       local[NLOCAL];
        double    s_p[NLOCAL], slope;
        const int n = gradient(k, &elements[m], local, s_p);
        (void)damper(m, rate(k, &elements[m], v), &slope);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) *kd_entry(out, NP, local[i], local[j]) += slope * s_p[i] * s_p[j];
    }
}

// G (as a row or, for the residual by lambda, as a column: the same numbers)
static void constraint_row(const work *k, double *out)
{
    memset(out, 0, NP * sizeof *out);
    out[CHASSIS] = 1;
    out[CHASSIS_PITCH] = joint_chassis * k->cosine[CHASSIS_PITCH];
    out[LOAD] = -1;
    out[LOAD_PITCH] = -joint_load * k->cosine[LOAD_PITCH];
}

// gI by p = g_pp v, gII by v = 2 g_pp v, gII by p = g_pp a + g_ppp v v
static void level_row(const work *k, const kd_point *x, kd_fn fn, kd_var var, double *out)
{
    const double chassis = -joint_chassis * k->sine[CHASSIS_PITCH], load = joint_load * k->sine[LOAD_PITCH]; // g_pp
    const double vc = x->v[CHASSIS_PITCH], vl = x->v[LOAD_PITCH], factor = fn == KD_GI ? 1 : 2;
    memset(out, 0, NP * sizeof *out);
    out[CHASSIS_PITCH] = factor * chassis * vc;
    out[LOAD_PITCH] = factor * load * vl;
    if (fn == KD_GII && var == KD_P) {
        out[CHASSIS_PITCH] = chassis * x->a[CHASSIS_PITCH] - joint_chassis * k->cosine[CHASSIS_PITCH] * vc * vc;
        out[LOAD_PITCH] = load * x->a[LOAD_PITCH] + joint_load * k->cosine[LOAD_PITCH] * vl * vl;
    }
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    work *k = context;
    (void)part; // all elements count as stiff
    if (at_position(k, x) != KD_EVAL_OK) return KD_EVAL_RETRY;
    if (fn == KD_RESIDUAL) {
        if (var == KD_A) return mass(x, context, out);
        if (var == KD_P) residual_by_p(k, x, out);
        if (var == KD_V) residual_by_v(k, x->v, out);
        if (var == KD_LAMBDA) constraint_row(k, out);
    } else if ((fn == KD_G && var == KD_P) || (fn == KD_GI && var == KD_V) || (fn == KD_GII && var == KD_A)) {
        constraint_row(k, out);
    } else {
        level_row(k, x, fn, var, out);
    }
    return KD_EVAL_OK;
}

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {"rear wheel height", "front wheel height",  "chassis height",    "chassis pitch",
                                    "engine height",     "engine pitch",        "cabin height",      "cabin pitch",
                                    "seat height",       "loading area height", "loading area pitch"};
    static const char *const v[] = {"rear wheel velocity",   "front wheel velocity",   "chassis velocity",
                                    "chassis pitch rate",    "engine velocity",        "engine pitch rate",
                                    "cabin velocity",        "cabin pitch rate",       "seat velocity",
                                    "loading area velocity", "loading area pitch rate"};
    static const char *const lambda[] = {"loading area joint"};
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

// ---- examples -------------------------------------------------------------------------------------------------------

static kd_status create(kd_eom **eom, kd_state **x)
{
    static const double lambda[] = {68056.2088888889};
    kd_eom_def          def = kd_eom_def_default();
    def.title = "planar truck of seven bodies";
    def.dims = (kd_dims){.np = NP, .nv = NP, .nlambda = 1, .nu = NU};
    def.residual = residual;
    def.M = mass;
    def.g = g;
    def.gI = gI;
    def.gII = gII;
    def.energies = energies;
    def.derivative = derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A) | KD_BIT(KD_LAMBDA);
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.zero[KD_G] = def.zero[KD_GI] = def.zero[KD_GII] = KD_BIT(KD_U);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true; // time enters through the inputs only
    def.name = name;
    def.make_work = make_work;
    def.free_work = kd_free;
    return kd_gallery_create(&def, &(kd_start){.lambda = lambda}, eom, x);
}

static kd_status create_hump(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    if (inputs) *inputs = (kd_inputs){.eval = kd_truck_road_hump};
    return create(eom, x);
}

static kd_status create_bump(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    if (inputs) *inputs = (kd_inputs){.eval = kd_truck_road_bump};
    return create(eom, x);
}

// clang-format off
// [p v lambda] at t = 20: index-1 form in 64-bit-mantissa arithmetic, extrapolation of order 16, steps 0.02 and 0.01
// agree to 1e-15 in p; an earlier solution, explicit method of order 8, tolerance 1e-13, agrees to 3e-13.
static const double hump_reference[2 * NP + 1] = {
    1.7816684741411948e-04, 1.4463684425374123e-04, 1.6123948387685843e-04, -7.3788407418501101e-06,
    1.4863562181404363e-04, -7.3755988632579494e-06, 1.4073239309817513e-04, -7.3374803555198390e-06,
    1.4153137086494265e-04, 1.7185785437883193e-04, -7.4749506676086316e-06,
    -1.2354484824418660e-04, -1.0096220244850803e-04, -1.1218954941280531e-04, 4.9733130066449413e-06,
    -1.0369608559415113e-04, 4.9713262360982940e-06, -9.8375066439238801e-05, 4.9470937362557004e-06,
    -9.8919211685884255e-05, -1.1935058437693904e-04, 5.0354260659191020e-06,
    6.8056791873913651e+04,
};
// [p v lambda] at t = 5, computed likewise with steps 0.005 and 0.0025 that end at the kinks of the road
static const double bump_reference[2 * NP + 1] = {
    -8.3360338301309182e-05, -3.2991673939090111e-07, -1.8584967678712621e-04, 7.1480727595800260e-05,
    -6.8328140089225770e-05, 7.7316547636580794e-05, 4.7562224901131233e-06, 5.3176038801776903e-05,
    -2.8308840806552652e-06, -3.0225514954262478e-04, 6.4000224128629458e-05,
    -1.1412545059779921e-03, 1.3081112946614430e-05, -6.0418391127223768e-03, 2.5034372713996717e-03,
    -1.8473581700233859e-03, 2.6062108606213644e-03, 9.2540204409492018e-04, 3.0670510703738863e-03,
    5.7432065206636305e-04, -1.0236298553456995e-02, 2.1683807266941334e-03,
    6.8298219550049063e+04,
};
// clang-format on

const kd_example kd_example_truck7 = {
    .name = "truck7",
    .title = "planar truck of seven bodies over a smooth hump",
    .about =
        "Eleven coordinates of size 0.1, one multiplier of size 7e4, air springs, road as input. Structure of Simeon, "
        "Grupp, Fuehrer and Rentrop (1994) with kardan's own data.",
    .t_end = 20,
    .create = create_hump,
    .reference = hump_reference,
    .digits = 12,
};

const kd_example kd_example_truck7_bump = {
    .name = "truck7-bump",
    .title = "planar truck of seven bodies over a short bump",
    .about =
        "As truck7, on a bump of 3 m whose slope has kinks: the step size must fall where a wheel meets or leaves it.",
    .t_end = 5,
    .create = create_bump,
    .reference = bump_reference,
    .digits = 12,
};
