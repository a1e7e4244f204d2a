// pendulum_chain.c: n mathematical pendulums in a row on a moving suspension, without constraints.
//
//     p = absolute angles alpha_i of the rods from the downward vertical, m = l = 1; u = (x_s, y_s), the suspension
//     residual by recursion, O(n):
//         a_0 = (x_s'', y_s'' + g),   a_i = a_(i-1) + alpha_i'' t_i - alpha_i'^2 e_i,   F_i = F_(i+1) + a_i
//         r_i = t_i . F_i,            e_i = (sin alpha_i, -cos alpha_i),  t_i = (cos alpha_i, sin alpha_i)
//     the same written out, for M and the derivatives:
//         r_i = sum_j mu_ij [cos(alpha_i - alpha_j) alpha_j'' + sin(alpha_i - alpha_j) alpha_j'^2] + nu_i t_i . a_0
//         mu_ij = n - max(i, j),  nu_i = n - i  (i, j from 0)
//     explicit, O(n): the tensions S_i of the rods from a tridiagonal system, the rods keep their lengths:
//         cos(alpha_i - alpha_(i-1)) S_(i-1) - 2 S_i + cos(alpha_i - alpha_(i+1)) S_(i+1) = -alpha_i'^2
//         (first row: -S_0 + .. S_1 = -alpha_0'^2 + e_0 . a_0)
//         alpha_i'' = sin(alpha_(i-1) - alpha_i) S_(i-1) + sin(alpha_(i+1) - alpha_i) S_(i+1), first: - t_0 . a_0
//
// M. Arnold, A. Fuchs, C. Fuehrer, Efficient corrector iteration for DAE time integration in multibody dynamics,
// section 4.2.1: x_s = 2 + 0.3 sin(w t), y_s = 0.2 sin(w t), w = 0.05. The masses start at rest relative to the
// suspension, which moves: small vibrations remain.
#include "pendulum_chain.h"
#include "gallery.h"
#include "support.h"
#include <math.h>
#include <stdint.h>

#define GRAVITY 9.81

// What is kept between calls. The context of the equations is the number of rods itself.
typedef struct work {
    int           n;
    unsigned long position_stamp;
    double       *s, *c;         // (n) sine and cosine of the angles
    double       *S;             // (n) tensions
    double       *lower, *upper; // (n) elimination
    double        memory[];
} work;

static void *make_work(void *context)
{
    int   n = (int)(intptr_t)context;
    work *k = kd_alloc(sizeof *k + 5 * (size_t)n * sizeof *k->memory);
    if (!k) return NULL;
    k->n = n;
    k->position_stamp = KD_NO_STAMP;
    k->s = k->memory;
    k->c = k->s + n;
    k->S = k->c + n;
    k->lower = k->S + n;
    k->upper = k->lower + n;
    return k;
}

static void at_position(work *k, const kd_point *x)
{
    if (k->position_stamp == x->position_stamp) return;
    for (int i = 0; i < k->n; i++) k->s[i] = sin(x->p[i]), k->c[i] = cos(x->p[i]);
    k->position_stamp = x->position_stamp;
}

// sine and cosine of alpha_i - alpha_j
static double sine_of(const work *k, int i, int j)
{
    return k->s[i] * k->c[j] - k->c[i] * k->s[j];
}

static double cosine_of(const work *k, int i, int j)
{
    return k->c[i] * k->c[j] + k->s[i] * k->s[j];
}

static int masses_below(const work *k, int i, int j)
{
    return k->n - (i > j ? i : j);
}

// ---- equations ------------------------------------------------------------------------------------------------------

// Forces of the masses up to i, then from the last one back: F_i is the sum behind i.
static kd_eval residual(const kd_point *x, void *context, double *out)
{
    work  *k = context;
    int    n = k->n;
    double ax = x->ddu[0], ay = x->ddu[1] + GRAVITY, Fx = 0, Fy = 0;
    at_position(k, x);
    for (int i = 0; i < n; i++) {
        double a = x->a[i], v2 = x->v[i] * x->v[i];
        k->lower[i] = ax += k->c[i] * a - k->s[i] * v2;
        k->upper[i] = ay += k->s[i] * a + k->c[i] * v2;
    }
    for (int i = n - 1; i >= 0; i--) {
        Fx += k->lower[i];
        Fy += k->upper[i];
        out[i] = k->c[i] * Fx + k->s[i] * Fy;
    }
    return KD_EVAL_OK;
}

// Tensions by elimination from the last rod; all pivots are below -1.
static void tensions(work *k, const kd_point *x)
{
    int     n = k->n;
    double *pivot = k->lower, *right = k->upper;
    at_position(k, x);
    for (int i = n - 1; i >= 0; i--) {
        pivot[i] = i > 0 ? -2 : -1;
        right[i] = -x->v[i] * x->v[i];
        if (i == 0) right[i] += k->s[0] * x->ddu[0] - k->c[0] * (x->ddu[1] + GRAVITY);
        if (i == n - 1) continue;
        double factor = cosine_of(k, i, i + 1) / pivot[i + 1];
        pivot[i] -= factor * cosine_of(k, i, i + 1);
        right[i] -= factor * right[i + 1];
    }
    for (int i = 0; i < n; i++) k->S[i] = (right[i] - (i > 0 ? cosine_of(k, i, i - 1) * k->S[i - 1] : 0)) / pivot[i];
}

static kd_eval acceleration(const kd_point *x, void *context, double *out)
{
    work *k = context;
    int   n = k->n;
    tensions(k, x);
    for (int i = 0; i < n; i++) {
        out[i] = i > 0 ? sine_of(k, i - 1, i) * k->S[i - 1] : -k->c[0] * x->ddu[0] - k->s[0] * (x->ddu[1] + GRAVITY);
        if (i < n - 1) out[i] += sine_of(k, i + 1, i) * k->S[i + 1];
    }
    return KD_EVAL_OK;
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    work *k = context;
    at_position(k, x);
    for (int j = 0; j < k->n; j++)
        for (int i = 0; i < k->n; i++) *kd_entry(out, k->n, i, j) = masses_below(k, i, j) * cosine_of(k, i, j);
    return KD_EVAL_OK;
}

// The suspension supplies power by the first rod.
static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    work  *k = context;
    double vx = x->du[0], vy = x->du[1], y = x->u[1];
    tensions(k, x);
    for (int i = 0; i < k->n; i++) {
        vx += k->c[i] * x->v[i];
        vy += k->s[i] * x->v[i];
        y -= k->c[i];
        out->kinetic += 0.5 * (vx * vx + vy * vy);
        out->potential += GRAVITY * y;
    }
    out->supplied = -k->S[0] * (k->s[0] * x->du[0] - k->c[0] * x->du[1]);
    return KD_EVAL_OK;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

static void residual_by_p(const work *k, const kd_point *x, double *out)
{
    int n = k->n;
    for (int i = 0; i < n; i++) {
        double own = (n - i) * (k->c[i] * (x->ddu[1] + GRAVITY) - k->s[i] * x->ddu[0]);
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            double change =
                masses_below(k, i, j) * (sine_of(k, i, j) * x->a[j] - cosine_of(k, i, j) * x->v[j] * x->v[j]);
            *kd_entry(out, n, i, j) = change;
            own -= change;
        }
        *kd_entry(out, n, i, i) = own;
    }
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    work *k = context;
    (void)part; // nothing is stiff
    if (fn != KD_RESIDUAL) return KD_EVAL_STOP;
    at_position(k, x);
    if (var == KD_A) return mass(x, context, out);
    if (var == KD_P) residual_by_p(k, x, out);
    if (var == KD_V)
        for (int j = 0; j < k->n; j++)
            for (int i = 0; i < k->n; i++)
                *kd_entry(out, k->n, i, j) = 2 * masses_below(k, i, j) * sine_of(k, i, j) * x->v[j];
    return KD_EVAL_OK;
}

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {"angle 1",  "angle 2",  "angle 3",  "angle 4",  "angle 5",  "angle 6",
                                    "angle 7",  "angle 8",  "angle 9",  "angle 10", "angle 11", "angle 12",
                                    "angle 13", "angle 14", "angle 15", "angle 16"};
    static const char *const u[] = {"suspension x", "suspension y"};
    (void)context;
    switch (kind) {
    case KD_NAME_P:
        return KD_NAME_OF(p, i);
    case KD_NAME_U:
        return KD_NAME_OF(u, i);
    default:
        return NULL;
    }
}

// ---- examples -------------------------------------------------------------------------------------------------------

// Gravity and inertia alone: nothing can hide between two points of a step but what the inputs do.
static const char *unsearched(int i, void *context)
{
    (void)i;
    (void)context;
    return NULL;
}

static kd_eval suspension(double t, void *context, double *u, double *du, double *ddu)
{
    static const double centre[2] = {2, 0}, amplitude[2] = {0.3, 0.2};
    double              w = *(const double *)context, sine = sin(w * t), cosine = cos(w * t);
    for (int i = 0; i < 2; i++) {
        u[i] = centre[i] + amplitude[i] * sine;
        du[i] = amplitude[i] * w * cosine;
        ddu[i] = -amplitude[i] * w * w * sine;
    }
    return KD_EVAL_OK;
}

kd_inputs kd_pendulum_chain_inputs(const double *w)
{
    return (kd_inputs){.eval = suspension, .context = (void *)(intptr_t)w}; // read only
}

kd_status kd_pendulum_chain_create(int n, kd_eom **eom, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "chain of pendulums";
    def.dims = (kd_dims){.np = n, .nv = n, .nu = 2};
    def.context = (void *)(intptr_t)n;
    def.residual = residual;
    def.acceleration = acceleration;
    def.M = mass;
    def.energies = energies;
    def.derivative = derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.zero[KD_RESIDUAL] = KD_BIT(KD_U) | KD_BIT(KD_T); // u'' alone matters
    def.autonomous = true;
    def.unsearched = unsearched;
    def.name = name;
    def.make_work = make_work;
    def.free_work = kd_free;
    return kd_gallery_create(&def, &(kd_start){0}, eom, x);
}

static kd_status create(int n, kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    static const double w = 0.05;
    if (inputs) *inputs = kd_pendulum_chain_inputs(&w);
    return kd_pendulum_chain_create(n, eom, x);
}

static kd_status create12(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    return create(12, eom, x, inputs);
}

static kd_status create14(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    return create(14, eom, x, inputs);
}

static kd_status create16(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    return create(16, eom, x, inputs);
}

// clang-format off
// [p v] at t = 200, quadruple precision, tolerance 1e-20.
static const double reference12[2 * 12] = {
     -4.0246362684711899e-05,  -4.0148381454834646e-05,  -4.0069569443853737e-05,  -4.0000672172408251e-05,
     -3.9930109524367470e-05,  -3.9847297311812631e-05,  -3.9743828120028787e-05,  -3.9605570908070809e-05,
     -3.9463084862259463e-05,  -3.9337554370882321e-05,  -3.9125937050264759e-05,  -3.8940569533306856e-05,
     -6.0148375488205538e-06,  -6.2292538199404713e-06,  -6.4425803433159838e-06,  -6.5726290826178138e-06,
     -6.6163713773769789e-06,  -6.8490556885160737e-06,  -7.1114720655270092e-06,  -7.1201418330700021e-06,
     -6.9464044552122427e-06,  -6.5684059279751226e-06,  -5.6536497485418651e-06,  -3.8177381065950688e-06,
};
static const double reference14[2 * 14] = {
     -4.2006382345915378e-05,  -4.2033027852533857e-05,  -4.2065519322060441e-05,  -4.2101365436271854e-05,
     -4.2130153777988760e-05,  -4.2144117671697175e-05,  -4.2142625798845172e-05,  -4.2119025621855630e-05,
     -4.2060750209140624e-05,  -4.1980444089876262e-05,  -4.1890679429861024e-05,  -4.1684854524230354e-05,
     -4.1307405873312177e-05,  -4.0622807475083410e-05,   1.0872071389050228e-07,   3.1468393270487190e-07,
      3.5602543470791987e-07,   3.8412426107755279e-07,   4.6338736462360721e-07,   5.8013604347382584e-07,
      7.3566019230067491e-07,   8.6780270802944615e-07,   8.6440221334271713e-07,   9.6174308138117390e-07,
      1.1977188704192233e-06,   1.2295747932502034e-06,   1.1149784680005722e-06,   3.5089251672931046e-07,
};
static const double reference16[2 * 16] = {
     -4.1155811919402830e-05,  -4.1137525620978877e-05,  -4.1125237459777735e-05,  -4.1123377567289679e-05,
     -4.1130178042912745e-05,  -4.1148959435670298e-05,  -4.1182960760682879e-05,  -4.1217091353885254e-05,
     -4.1255660247207784e-05,  -4.1309189158471238e-05,  -4.1417526056083645e-05,  -4.1580733345941738e-05,
     -4.1784668182759269e-05,  -4.2015888100133968e-05,  -4.2233332522377388e-05,  -4.2456482731717098e-05,
     -3.8379740703748944e-07,  -2.5528934571135162e-07,  -1.5427285255246753e-07,  -1.7179431843547180e-08,
      9.7075404881136982e-08,   2.2895930168525155e-07,   2.5980244562305135e-07,   3.3068029284471087e-07,
      5.3668042983428816e-07,   7.2106049000009849e-07,   1.2277333882158420e-06,   1.7775139243631102e-06,
      2.3125009540046199e-06,   3.3655003197743992e-06,   4.6556837019301816e-06,   4.4474358701246680e-06,
};
// clang-format on

#define ABOUT                                                                                                          \
    "Mildly nonlinear equations without constraints, driven by two inputs. Source: M. Arnold, A. Fuchs, C. Fuehrer, "  \
    "Efficient corrector iteration for DAE time integration in multibody dynamics, section 4.2.1."

const kd_example kd_example_pendulum_chain12 = {
    .name = "pendulum-chain12",
    .title = "chain of 12 pendulums on a moving suspension",
    .about = ABOUT,
    .t_end = 200,
    .create = create12,
    .reference = reference12,
    .digits = 15,
};

const kd_example kd_example_pendulum_chain14 = {
    .name = "pendulum-chain14",
    .title = "chain of 14 pendulums on a moving suspension",
    .about = ABOUT,
    .t_end = 200,
    .create = create14,
    .reference = reference14,
    .digits = 14,
};

const kd_example kd_example_pendulum_chain16 = {
    .name = "pendulum-chain16",
    .title = "chain of 16 pendulums on a moving suspension",
    .about = ABOUT,
    .t_end = 200,
    .create = create16,
    .reference = reference16,
    .digits = 14,
};
