// magic_formula.c: the Magic Formula 5.2 (PAC2002) and 6.1.
//
// Sources: 5.2 as in Adams' PAC2002 without turn slip; 6.1: H. B. Pacejka, Tire and Vehicle Dynamics, 3rd ed., Eq. 4.E1 to
// 4.E78 with zeta = 1 and LMUV = 0. Choices where sources differ: docs/methods/magic-formula.md. With the load
// d = (Fz - F')/F', F' = LFZO FNOMIN, the pressure q = (p - p0)/p0 and
//
//     S(B, C, E, x) = C atan(B x - E (B x - atan(B x))),   E <= 1
//
// forces are D sin S and trails D cos S. Numbers carry their derivatives by load, slip, slip angle, camber and friction along.
// 6.1 reads tan alpha and sin gamma in place of alpha and gamma; the letters stay.
#define KD_DUAL_PARTS 5
#include "math/dual.h"

#include "core/pi.h"
#include "vehicle/magic_formula.h"

#define P(name) (m->tir->c[KD_TIR_##name])

// What all parts of the formula read
typedef struct magic {
    const kd_tir *tir;
    bool          is_61;
    double        F0, q;         // reference load F', pressure
    dual          mu[2];         // LMUX, LMUY times the friction of the road
    dual          reduced[2];    // the same in vertical shifts
    dual          Fz, d;         // load
    dual          kappa, alpha;  // 6.1: tan alpha
    dual          gamma, cosine; // 6.1: sin gamma; cos alpha
    dual          angle;         // gamma itself
} magic;

typedef struct curve { // D sin S(B, C, E, x) + V
    dual B, C, D, E, x, V, K, H;
} curve;

static dual at_most_one(dual E)
{
    return E.x > 1.0 ? d_const(1.0) : E;
}

static double sign(double x)
{
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
}

static dual shape(dual B, dual C, dual E, dual x)
{
    const dual y = d_mul(B, x);
    return d_mul(C, d_atan(d_sub(y, d_mul(E, d_sub(y, d_atan(y))))));
}

static dual value_of_curve(const curve *c)
{
    return d_add(d_mul(c->D, d_sin(shape(c->B, c->C, c->E, c->x))), c->V);
}

static magic magic_at(const kd_tir *t, const double in[KD_MAGIC_INPUTS])
{
    magic        m_ = {.tir = t, .is_61 = t->version == KD_TIR_61}, *m = &m_;
    const double p0 = P(NOMPRES);
    m->F0 = P(LFZO) * P(FNOMIN);
    m->q = p0 > 0.0 && t->given[KD_TIR_INFLPRES] ? (P(INFLPRES) - p0) / p0 : 0.0;
    // 6.1: 10 L/(1 + 9 L)
    m->mu[0] = d_scale(P(LMUX), d_variable(in[KD_MAGIC_ROAD], KD_MAGIC_ROAD));
    m->mu[1] = d_scale(P(LMUY), d_variable(in[KD_MAGIC_ROAD], KD_MAGIC_ROAD));
    for (int i = 0; i < 2; i++)
        m->reduced[i] = m->is_61 ? d_div(d_scale(10.0, m->mu[i]), d_poly(m->mu[i], 1.0, 9.0, 0.0)) : m->mu[i];
    const dual alpha = d_variable(in[KD_MAGIC_ALPHA], KD_MAGIC_ALPHA);
    m->angle = d_variable(in[KD_MAGIC_GAMMA], KD_MAGIC_GAMMA);
    m->Fz = d_variable(in[KD_MAGIC_FZ], KD_MAGIC_FZ);
    m->kappa = d_variable(in[KD_MAGIC_KAPPA], KD_MAGIC_KAPPA);
    m->d = d_scale(1.0 / m->F0, d_shift(-m->F0, m->Fz));
    m->cosine = d_cos(alpha);
    m->alpha = m->is_61 ? d_tan(alpha) : alpha;
    m->gamma = m->is_61 ? d_sin(m->angle) : m->angle;
    return m_;
}

// ---- along ----------------------------------------------------------------------------------------------------------

static dual curvature_along(const magic *m, dual x)
{
    return d_scale((1.0 - P(PEX4) * sign(x.x)) * P(LEX), d_poly(m->d, P(PEX1), P(PEX2), P(PEX3)));
}

static curve along(const magic *m)
{
    const double q = m->q;
    const dual   lean = m->is_61 ? m->angle : d_scale(P(LGAX), m->gamma);
    curve        c;
    c.H = d_poly(m->d, P(PHX1) * P(LHX), P(PHX2) * P(LHX), 0.0);
    c.V = d_mul(d_mul(m->Fz, m->reduced[0]), d_poly(m->d, P(PVX1) * P(LVX), P(PVX2) * P(LVX), 0.0));
    c.x = d_add(m->kappa, c.H);
    c.C = d_const(P(PCX1) * P(LCX));
    // D = Fz mu, K = B C D the slope at zero
    const dual mu = d_mul(d_poly(m->d, P(PDX1), P(PDX2), 0.0), d_poly(lean, 1.0, 0.0, -P(PDX3)));
    c.D = d_mul(d_mul(m->Fz, m->mu[0]), d_scale(1.0 + q * (P(PPX3) + q * P(PPX4)), mu));
    c.E = at_most_one(curvature_along(m, c.x));
    c.K = d_mul(d_mul(m->Fz, d_poly(m->d, P(PKX1), P(PKX2), 0.0)), d_exp(d_scale(P(PKX3), m->d)));
    c.K = d_scale(P(LKX) * (1.0 + q * (P(PPX1) + q * P(PPX2))), c.K);
    c.B = d_div(c.K, d_mul(c.C, c.D));
    return c;
}

// ---- across ---------------------------------------------------------------------------------------------------------

// Cornering stiffness
static dual stiffness_across(const magic *m, dual lean)
{
    const double q = m->q, a = P(PKY1) * m->F0 * P(LKY) * (1.0 + P(PPY1) * q);
    const dual   less = d_poly(d_abs(lean), 1.0, -P(PKY3), 0.0);
    // load of the greatest stiffness
    const dual most = m->is_61 ? d_poly(lean, P(PKY2), 0.0, P(PKY5)) : d_const(P(PKY2));
    const dual load = d_div(m->Fz, d_scale(m->F0 * (1.0 + P(PPY2) * q), most));
    const dual rise = d_sin(d_scale(m->is_61 ? P(PKY4) : 2.0, d_atan(load)));
    return d_mul(d_scale(a, rise), less);
}

// Shifts of the lateral force by the camber
static void shift_across(const magic *m, dual lean, curve *c)
{
    const dual thrust = d_mul(d_mul(m->Fz, d_poly(m->d, P(PVY3), P(PVY4), 0.0)), lean);
    const dual own = d_mul(d_mul(m->Fz, m->reduced[1]), d_poly(m->d, P(PVY1) * P(LVY), P(PVY2) * P(LVY), 0.0));
    const dual H = d_poly(m->d, P(PHY1) * P(LHY), P(PHY2) * P(LHY), 0.0);
    if (!m->is_61) {
        c->V = d_add(own, d_mul(m->reduced[1], thrust));
        c->H = d_add(H, d_scale(P(PHY3), lean));
        return;
    }
    // the slope by camber is given, and so is the part of it in V: the rest goes into H
    const dual V = d_scale(P(LKYC), d_mul(m->reduced[1], thrust));
    const dual slope = d_mul(m->Fz, d_scale(P(LKYC) * (1.0 + P(PPY5) * m->q), d_poly(m->d, P(PKY6), P(PKY7), 0.0)));
    c->V = d_add(own, V);
    c->H = d_add(H, d_div(d_sub(d_mul(slope, lean), V), c->K));
}

static dual curvature_across(const magic *m, dual lean, dual x)
{
    const dual side = d_scale(-sign(x.x), d_poly(lean, P(PEY3), P(PEY4), 0.0));
    const dual rest = m->is_61 ? d_poly(lean, 1.0, 0.0, P(PEY5)) : d_const(1.0);
    return d_mul(d_scale(P(LEY), d_poly(m->d, P(PEY1), P(PEY2), 0.0)), d_add(rest, side));
}

static dual friction_across(const magic *m, dual lean)
{
    const double q = m->q, factor = 1.0 + q * (P(PPY3) + q * P(PPY4));
    const dual   mu = d_mul(d_poly(m->d, P(PDY1), P(PDY2), 0.0), d_poly(lean, 1.0, 0.0, -P(PDY3)));
    return d_scale(factor, d_mul(m->mu[1], mu));
}

static curve across(const magic *m, dual lean)
{
    curve c;
    c.K = stiffness_across(m, lean);
    shift_across(m, lean, &c);
    c.x = d_add(m->alpha, c.H);
    c.C = d_const(P(PCY1) * P(LCY));
    c.D = d_mul(m->Fz, friction_across(m, lean));
    c.E = at_most_one(curvature_across(m, lean, c.x));
    c.B = d_div(c.K, d_mul(c.C, c.D));
    return c;
}

static dual lean_across(const magic *m, dual gamma)
{
    return m->is_61 ? gamma : d_scale(P(LGAY), gamma);
}

// ---- combined slip --------------------------------------------------------------------------------------------------

// cos S(x + H)/cos S(H): 1 without the other slip
static dual weight(dual B, double C, dual E, dual x, dual H)
{
    const dual c = d_const(C), e = at_most_one(E);
    return d_div(d_cos(shape(B, c, e, d_add(x, H))), d_cos(shape(B, c, e, H)));
}

static dual weight_along(const magic *m)
{
    const dual width = m->is_61 ? d_poly(m->gamma, P(RBX1), 0.0, P(RBX3)) : d_const(P(RBX1));
    const dual B = d_mul(d_scale(P(LXAL), width), d_cos(d_atan(d_scale(P(RBX2), m->kappa))));
    return weight(B, P(RCX1), d_poly(m->d, P(REX1), P(REX2), 0.0), m->alpha, d_const(P(RHX1)));
}

static dual weight_across(const magic *m, dual gamma)
{
    const dual width = m->is_61 ? d_poly(gamma, P(RBY1), 0.0, P(RBY4)) : d_const(P(RBY1));
    const dual B = d_mul(d_scale(P(LYKA), width), d_cos(d_atan(d_scale(P(RBY2), d_shift(-P(RBY3), m->alpha)))));
    const dual H = d_poly(m->d, P(RHY1), P(RHY2), 0.0);
    return weight(B, P(RCY1), d_poly(m->d, P(REY1), P(REY2), 0.0), m->kappa, H);
}

// The lateral force that driving and braking bring
static dual shift_of_slip(const magic *m)
{
    const dual level = d_add(d_poly(m->d, P(RVY1), P(RVY2), 0.0), d_scale(P(RVY3), m->gamma));
    const dual D = d_mul(d_mul(m->Fz, friction_across(m, lean_across(m, m->gamma))), level);
    const dual fall = d_cos(d_atan(d_scale(P(RVY4), m->alpha)));
    const dual rise = d_sin(d_scale(P(RVY5), d_atan(d_scale(P(RVY6), m->kappa))));
    return d_scale(P(LVYKA), d_mul(d_mul(D, fall), rise));
}

// D sin S / x, which is K at x = 0
static dual secant(const curve *c, dual x)
{
    if (fabs(x.x) < 1e-9) return c->K;
    return d_div(d_sub(value_of_curve(c), c->V), x);
}

// mu/sqrt(mu^2 + (s x)^2): share of a force along one direction when the other one has the secant s at the slip x
static dual ellipse(dual mu, dual s, dual x)
{
    const dual m2 = d_square(mu), y = d_mul(s, x);
    return d_sqrt(d_div(m2, d_add(m2, d_square(y))));
}

// ---- moments --------------------------------------------------------------------------------------------------------

static dual equivalent(const magic *m, dual x, dual ratio)
{
    // pure slip: x itself, also beyond a right angle; else sqrt(x^2 + (Kx/Ky)^2 kappa^2) with the sign of x; 5.2: of tan x, as an angle
    if (ratio.x == 0.0) return x;
    const dual y = m->is_61 ? x : d_tan(x), slip = d_mul(ratio, m->kappa);
    const dual square = d_add(d_square(y), d_square(slip));
    if (!(square.x > 0.0)) return x;
    const dual root = x.x < 0.0 ? d_neg(d_sqrt(square)) : d_sqrt(square);
    return m->is_61 ? root : d_atan(root);
}

static dual trail(const magic *m, dual ratio)
{
    const dual gz = m->is_61 ? m->gamma : d_scale(P(LGAZ), m->gamma), d = m->d;
    const dual lean = m->is_61 ? d_abs(gz) : gz;
    // shift, slope, height
    const dual   shift = d_add(d_poly(d, P(QHZ1), P(QHZ2), 0.0), d_mul(d_poly(d, P(QHZ3), P(QHZ4), 0.0), gz));
    const dual   at = d_add(m->alpha, shift), x = equivalent(m, at, ratio);
    const dual   bend = d_add(d_shift(1.0, d_scale(P(QBZ4), gz)), d_scale(P(QBZ5), d_abs(gz)));
    const dual   B = d_div(d_scale(P(LKY), d_mul(d_poly(d, P(QBZ1), P(QBZ2), P(QBZ3)), bend)), m->mu[1]);
    const double pressure = m->is_61 ? 1.0 - P(PPZ1) * m->q : 1.0 + P(QPZ1) * m->q;
    const dual   height = d_mul(d_poly(d, P(QDZ1), P(QDZ2), 0.0), d_poly(lean, 1.0, P(QDZ3), P(QDZ4)));
    const dual   D = d_scale(P(UNLOADED_RADIUS) / m->F0 * P(LTR) * pressure, d_mul(m->Fz, height));
    const dual   turn = d_scale(2.0 / KD_PI, d_atan(d_scale(P(QCZ1), d_mul(B, at))));
    const dual   E = d_mul(d_poly(d, P(QEZ1), P(QEZ2), P(QEZ3)),
                           d_shift(1.0, d_mul(d_add(d_const(P(QEZ4)), d_scale(P(QEZ5), gz)), turn)));
    return d_mul(d_mul(D, d_cos(shape(B, d_const(P(QCZ1)), at_most_one(E), x))), m->cosine);
}

static dual residual_moment(const magic *m, const curve *y, dual ratio)
{
    const dual gz = m->is_61 ? m->gamma : d_scale(P(LGAZ), m->gamma), d = m->d;
    const dual ar = d_add(m->alpha, d_add(y->H, d_div(y->V, y->K))), x = equivalent(m, ar, ratio);
    const dual B = d_add(d_div(d_const(P(QBZ9) * P(LKY)), m->mu[1]), d_scale(P(QBZ10), d_mul(y->B, y->C)));
    // by camber; 6.1: with a part of its square
    const double pressure = 1.0 + (m->is_61 ? P(PPZ2) : P(QPZ2)) * m->q;
    dual         lean = d_scale(pressure, d_poly(d, P(QDZ8), P(QDZ9), 0.0));
    if (m->is_61) lean = d_add(lean, d_mul(d_poly(d, P(QDZ10), P(QDZ11), 0.0), d_abs(gz)));
    lean = d_scale(m->is_61 ? P(LKZC) : 1.0, d_mul(lean, gz));
    const dual height = d_add(d_scale(P(LRES), d_poly(d, P(QDZ6), P(QDZ7), 0.0)), lean);
    const dual D = d_scale(P(UNLOADED_RADIUS), d_mul(d_mul(m->Fz, m->mu[1]), height));
    return d_mul(d_mul(D, d_cos(d_atan(d_mul(B, x)))), m->cosine);
}

// Of the longitudinal force about the vertical axis
static dual arm(const magic *m, dual Fy)
{
    const dual lean = d_mul(d_poly(m->d, P(SSZ3), P(SSZ4), 0.0), m->gamma);
    return d_scale(P(UNLOADED_RADIUS) * P(LS), d_add(d_shift(P(SSZ1), d_scale(P(SSZ2) / m->F0, Fy)), lean));
}

static dual overturning(const magic *m, dual Fy)
{
    const double F0 = m->is_61 ? P(FNOMIN) : m->F0, q = m->q;
    const dual   g = m->angle, y = d_scale(1.0 / F0, Fy), z = d_scale(1.0 / F0, m->Fz);
    dual         sum = d_shift(P(QSX1) * P(LVMX), d_scale(-P(QSX2) * (m->is_61 ? 1.0 + P(PPMX1) * q : 1.0), g));
    sum = d_add(sum, d_scale(P(QSX3), y));
    if (m->is_61) {
        const dual fall = d_cos(d_scale(P(QSX5), d_square(d_atan(d_scale(P(QSX6), z)))));
        const dual turn = d_sin(d_add(d_scale(P(QSX7), g), d_scale(P(QSX8), d_atan(d_scale(P(QSX9), y)))));
        sum = d_add(sum, d_scale(P(QSX4), d_mul(fall, turn)));
        sum = d_add(sum, d_scale(P(QSX10), d_mul(d_atan(d_scale(P(QSX11), z)), g)));
    }
    return d_scale(P(UNLOADED_RADIUS) * P(LMX), d_mul(m->Fz, sum));
}

// ---- relaxation -----------------------------------------------------------------------------------------------------

// Fz, from a tenth of F' down bent to a twentieth: a wheel that lifts off keeps a length
static dual kept_load(const magic *m)
{
    const double low = 0.1 * m->F0;
    if (m->Fz.x >= low) return m->Fz;
    return d_chain(m->Fz, 0.5 * low * (1.0 + m->Fz.x * m->Fz.x / (low * low)), m->Fz.x / low);
}

static void relaxation(const magic *m, dual out[2])
{
    const dual   Fz = kept_load(m), d = d_scale(1.0 / m->F0, d_shift(-m->F0, Fz));
    const double R = P(UNLOADED_RADIUS), top = P(PTY2);
    const dual   height = d_mul(d_mul(Fz, d_poly(d, P(PTX1), P(PTX2), 0.0)), d_exp(d_scale(-P(PTX3), d)));
    out[0] = d_scale(R / m->F0 * P(LSGKP), height);
    out[1] = d_const(0.0);
    if (top == 0.0) return;
    const dual rise = d_sin(d_scale(2.0, d_atan(d_scale(1.0 / (top * m->F0), Fz))));
    const dual less = d_poly(d_abs(lean_across(m, m->gamma)), 1.0, -P(PKY3), 0.0);
    out[1] = d_scale(P(PTY1) * R * P(LFZO) * P(LSGAL), d_mul(rise, less));
}

// ---- all ------------------------------------------------------------------------------------------------------------

static void put_force(kd_magic_force *out, int i, dual a)
{
    out->value[i] = a.x;
    KD_DUAL_EACH(k) out->by[i][k] = a.d[k];
}

void kd_magic_formula(const kd_tir *tir, kd_magic_mode mode, const double in[KD_MAGIC_INPUTS], kd_magic_force *out)
{
    const magic at = magic_at(tir, in), *m = &at;
    const curve x = along(m), y = across(m, lean_across(m, m->gamma));
    dual        Fx = value_of_curve(&x), Fy = value_of_curve(&y), bent = Fy, ratio = d_const(0.0), side = d_const(0.0);
    // 6.1 takes the trail times the force without camber
    if (m->is_61) {
        const curve upright = across(m, d_const(0.0));
        bent = value_of_curve(&upright);
    }
    if (mode == KD_MAGIC_COMBINED && tir->ellipse) {
        const dual sine = d_sin(y.x);
        Fx = d_mul(Fx, ellipse(y.D, secant(&x, x.x), sine));
        bent = Fy = d_mul(Fy, ellipse(x.D, secant(&y, sine), x.x));
    } else if (mode == KD_MAGIC_COMBINED) {
        side = shift_of_slip(m);
        Fx = d_mul(Fx, weight_along(m));
        bent = d_mul(bent, weight_across(m, m->is_61 ? d_const(0.0) : m->gamma));
        Fy = d_add(d_mul(Fy, weight_across(m, m->gamma)), side);
    }
    // combined: both slips bend the trail, and the longitudinal force has an arm
    if (mode == KD_MAGIC_COMBINED) ratio = d_div(x.K, y.K);
    put_force(out, KD_MAGIC_FX, Fx);
    put_force(out, KD_MAGIC_FY, Fy);
    put_force(out, KD_MAGIC_MX, overturning(m, Fy));
    put_force(out, KD_MAGIC_MZ_TRAIL, d_sub(residual_moment(m, &y, ratio), d_mul(trail(m, ratio), bent)));
    put_force(out, KD_MAGIC_MZ_ARM, mode == KD_MAGIC_COMBINED ? d_mul(arm(m, Fy), Fx) : d_const(0.0));
}

bool kd_magic_has_relaxation(const kd_tir *tir, int direction)
{
    return direction == 0 ? tir->c[KD_TIR_PTX1] != 0.0 : tir->c[KD_TIR_PTY1] != 0.0 && tir->c[KD_TIR_PTY2] != 0.0;
}

void kd_magic_relaxation(const kd_tir *tir, double Fz, double gamma, double sigma[2], double by[2][2])
{
    const double in[KD_MAGIC_INPUTS] = {[KD_MAGIC_FZ] = Fz, [KD_MAGIC_GAMMA] = gamma, [KD_MAGIC_ROAD] = 1.0};
    const magic  m = magic_at(tir, in);
    dual         length[2];
    relaxation(&m, length);
    for (int i = 0; i < 2; i++) {
        sigma[i] = length[i].x;
        by[i][0] = length[i].d[KD_MAGIC_FZ];
        by[i][1] = length[i].d[KD_MAGIC_GAMMA];
    }
}

void kd_magic_kinks(const kd_tir *tir, const double in[KD_MAGIC_INPUTS], double kink[KD_MAGIC_KINKS])
{
    const magic at = magic_at(tir, in), *m = &at;
    const curve x = along(m), y = across(m, lean_across(m, m->gamma));
    kink[0] = in[KD_MAGIC_GAMMA];
    kink[1] = x.x.x;
    kink[2] = y.x.x;
    kink[3] = 1.0 - curvature_along(m, x.x).x;
    kink[4] = 1.0 - curvature_across(m, lean_across(m, m->gamma), y.x).x;
}
