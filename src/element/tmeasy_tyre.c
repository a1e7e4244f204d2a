// tmeasy_tyre.c: a tyre on a road by the handful of numbers of TMeasy: slope, maximum and sliding force along and across, at a
// nominal load P and at twice that (G. Rill, Road Vehicle Dynamics, 2nd ed., ch. 3.4). Contact, slips and moments on the
// wheel: road_tyre.c. With q = Fz/P forces and slopes follow a parabola through 0, slips a straight line:
//
//     F = q (2 F_1 - F_2/2 - (F_1 - F_2/2) q),   s = s_1 + (s_2 - s_1)(q - 1)
//
// Slips s_x, s_y = -tan alpha are made alike by n_x = s_Mx/(s_Mx + s_My) + m_x/(m_x + m_y), m = F_M/F', and n_y likewise:
// x = s_x/n_x, y = s_y/n_y, s^2 = x^2 + y^2. Each number of the characteristic in the direction of the slip is
//
//     F' = |(F'_x n_x c, F'_y n_y d)|,  F_M = |(F_Mx c, F_My d)|,  s_M = |(s_Mx/n_x c, s_My/n_y d)|, ..,   c = x/s, d = y/s
//
// and the force along the slip
//
//     s <= s_M:  F = F' s/(1 + u (u + F' s_M/F_M - 2)),  u = s/s_M
//     .. s_S:    F = F_M - (F_M - F_S) u^2 (3 - 2 u),    u = (s - s_M)/(s_S - s_M);   beyond F_S
//
// c^2 = (x^2 + e^2)/(s^2 + 2 e^2) with e = 1e-3 s_M makes it smooth at zero slip.
#define KD_DUAL_PARTS 5
#include "math/dual.h"

#include "core/text.h"
#include "element/road_tyre.h"
#include "model/fields.h"

static const double rounding = 1e-3; // e, in slips of the maximum: changes forces by 1e-6

// Numbers of one direction at the load: slope, maximum and where, sliding force and where from
typedef struct branch {
    dual slope, FM, sM, FS, sS;
} branch;

static dual by_load(const double F[2], dual q)
{
    // q (linear - square q), from its maximum on constant
    const double linear = 2.0 * F[0] - 0.5 * F[1], square = F[0] - 0.5 * F[1];
    if (square > 0.0 && q.x > 0.5 * linear / square) return d_const(0.25 * linear * linear / square);
    return d_poly(q, 0.0, linear, -square);
}

static branch branch_at(const kd_tmeasy_branch *b, dual q, dual grip)
{
    const dual level = d_shift(-1.0, q);
    branch     r = {.slope = by_load(b->slope, q),
                    .FM = d_mul(grip, by_load(b->maximum, q)),
                    .FS = d_mul(grip, by_load(b->sliding, q)),
                    .sM = d_mul(grip, d_poly(level, b->maximum_slip[0], b->maximum_slip[1] - b->maximum_slip[0], 0.0)),
                    .sS = d_mul(grip, d_poly(level, b->sliding_slip[0], b->sliding_slip[1] - b->sliding_slip[0], 0.0))};
    return r;
}

// |(a c, b d)| of squares c2, d2
static dual blend(dual a, dual b, dual c2, dual d2)
{
    return d_sqrt(d_add(d_mul(d_square(a), c2), d_mul(d_square(b), d2)));
}

// F(s)/s
static dual force_per_slip(const branch *b, dual s)
{
    if (s.x <= b->sM.x) {
        const dual u = d_div(s, b->sM), steep = d_div(d_mul(b->slope, b->sM), b->FM);
        return d_div(b->slope, d_shift(1.0, d_mul(u, d_shift(-2.0, d_add(u, steep)))));
    }
    if (s.x >= b->sS.x) return d_div(b->FS, s);
    const dual u = d_div(d_sub(s, b->sM), d_sub(b->sS, b->sM));
    const dual fall = d_mul(d_square(u), d_poly(u, 3.0, -2.0, 0.0));
    return d_div(d_sub(b->FM, d_mul(d_sub(b->FM, b->FS), fall)), s);
}

static void put_force(kd_magic_force *out, int i, dual a)
{
    out->value[i] = a.x;
    KD_DUAL_EACH(k) out->by[i][k] = a.d[k];
}

static void force_of(const void *data, const double in[KD_MAGIC_INPUTS], kd_magic_force *out)
{
    const kd_tmeasy_def *t = data;
    const dual           q = d_scale(1.0 / t->load, d_variable(in[KD_MAGIC_FZ], KD_MAGIC_FZ));
    const dual           grip = d_variable(in[KD_MAGIC_ROAD], KD_MAGIC_ROAD);
    const dual           sx = d_variable(in[KD_MAGIC_KAPPA], KD_MAGIC_KAPPA);
    const dual           sy = d_neg(d_tan(d_variable(in[KD_MAGIC_ALPHA], KD_MAGIC_ALPHA)));
    const branch         x = branch_at(&t->longitudinal, q, grip), y = branch_at(&t->lateral, q, grip);
    // slips that count alike
    const dual mx = d_div(x.FM, x.slope), my = d_div(y.FM, y.slope);
    const dual nx = d_add(d_div(x.sM, d_add(x.sM, y.sM)), d_div(mx, d_add(mx, my)));
    const dual ny = d_add(d_div(y.sM, d_add(x.sM, y.sM)), d_div(my, d_add(mx, my)));
    const dual a = d_div(sx, nx), b = d_div(sy, ny), e2 = d_scale(rounding * rounding, d_square(d_div(x.sM, nx)));
    const dual a2 = d_add(d_square(a), e2), b2 = d_add(d_square(b), e2), all = d_add(a2, b2);
    const dual c2 = d_div(a2, all), d2 = d_div(b2, all), s = d_sqrt(d_sub(all, e2));
    // the characteristic in that direction
    const branch along = {.slope = blend(d_mul(x.slope, nx), d_mul(y.slope, ny), c2, d2),
                          .FM = blend(x.FM, y.FM, c2, d2),
                          .sM = blend(d_div(x.sM, nx), d_div(y.sM, ny), c2, d2),
                          .FS = blend(x.FS, y.FS, c2, d2),
                          .sS = blend(d_div(x.sS, nx), d_div(y.sS, ny), c2, d2)};
    const dual   f = force_per_slip(&along, s), Fy = d_mul(f, b);
    const dual   zero = d_const(0.0);
    put_force(out, KD_MAGIC_FX, d_mul(f, a));
    put_force(out, KD_MAGIC_FY, Fy);
    put_force(out, KD_MAGIC_MX, zero);
    put_force(out, KD_MAGIC_MZ_TRAIL, zero);
    put_force(out, KD_MAGIC_MZ_ARM, zero);
}

static void load_of(const void *data, double depth, double out[2])
{
    const kd_tmeasy_def *t = data;
    out[0] = t->stiffness * depth;
    out[1] = t->stiffness;
}

static void relaxation_of(const void *data, double Fz, double gamma, double sigma[2], double by[2][2])
{
    const kd_tmeasy_def *t = data;
    (void)Fz, (void)gamma;
    for (int i = 0; i < 2; i++) {
        sigma[i] = t->relaxation[i];
        by[i][0] = by[i][1] = 0.0;
    }
}

static kd_road_tyre tyre_of(const kd_load *load)
{
    const kd_tmeasy_def *t = &load->def->tmeasy;
    return (kd_road_tyre){.data = t,
                          .road = &t->road,
                          .radius = t->radius,
                          .damping = t->damping,
                          .reference = t->load,
                          .mirror = 1.0,
                          .slip = t->slip,
                          .low = 1.0,
                          .settling = t->settling,
                          .rolling = {0.0, 0.0, t->give}, // R_e = R - give delta
                          .give = 1.0,
                          .resistance = {t->rolling_resistance, 0, 0, 0, 0, 0, 1, 1},
                          .speed = 1.0,
                          .load = load_of,
                          .relaxation = relaxation_of,
                          .force = force_of};
}

static double stiffness(const kd_load *load)
{
    return load->def->tmeasy.stiffness; // of a road
}

static const kd_road_tyre_class law = {
    .load = KD_ROAD_TYRE_LOAD_CLASS(stiffness, .notice = kd_road_tyre_notice, 6000, 30, 6500, 30), .describe = tyre_of};

// ---- in models ------------------------------------------------------------------------------------------------------
// A characteristic rises to its maximum at once steeper than a straight line to it twice over, and then falls
static void check_branch(kd_model *m, int i, const kd_tmeasy_branch *b, const char *word)
{
    char key[40];
    for (int k = 0; k < 2; k++) {
        kd_text(key, sizeof key, "%s_maximum", word);
        if (!(b->maximum[k] >= b->sliding[k]))
            kd_model_error(m, KD_SECTION_FORCE, i, key, "the maximum %s must not be below the sliding force", word);
        if (!(b->slope[k] * b->maximum_slip[k] >= 2.0 * b->maximum[k] * (1.0 - 1e-12)))
            kd_model_error(m, KD_SECTION_FORCE, i, key,
                           "the slope %s must be at least twice the maximum over its slip, %.6g N", word,
                           2.0 * b->maximum[k] / b->maximum_slip[k]);
        if (!(b->sliding_slip[k] > b->maximum_slip[k]))
            kd_model_error(m, KD_SECTION_FORCE, i, key, "sliding %s must begin behind the maximum", word);
    }
}

static kd_status take(kd_model *m, void *def, char *why, size_t size)
{
    return kd_road_tyre_take(m, &((kd_force_def *)def)->tmeasy.road, why, size);
}

static void finish(kd_model *m, int i)
{
    (void)kd_road_tyre_finish(m, i, &m->force[i].def.tmeasy.road);
    check_branch(m, i, &m->force[i].def.tmeasy.longitudinal, "longitudinal");
    check_branch(m, i, &m->force[i].def.tmeasy.lateral, "lateral");
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
#define BRANCH(word, member) \
    {word, KD_FIELD_NUMBER, O(member.slope), 2, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "N", \
     .doc = "force per slip " word " at zero slip, at the nominal load and at twice that"}, \
    {word "_maximum", KD_FIELD_NUMBER, O(member.maximum), 2, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "N", \
     .doc = "largest force " word}, \
    {word "_maximum_slip", KD_FIELD_NUMBER, O(member.maximum_slip), 2, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "", \
     .doc = "slip at which it is reached"}, \
    {word "_sliding", KD_FIELD_NUMBER, O(member.sliding), 2, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "N", \
     .doc = "force " word " while the whole tyre slides"}, \
    {word "_sliding_slip", KD_FIELD_NUMBER, O(member.sliding_slip), 2, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "", \
     .doc = "slip from which on it does"}
static const kd_field fields[] = {
    KD_ROAD_TYRE_PLACES,
    {"radius", KD_FIELD_NUMBER, O(tmeasy.radius), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "radius of the relaxed tyre"},
    {"stiffness", KD_FIELD_NUMBER, O(tmeasy.stiffness), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "N/m",
     .doc = "vertical stiffness"},
    {"damping", KD_FIELD_NUMBER, O(tmeasy.damping), 1, ALL, 0, 0, NOT_NEGATIVE, "N s/m",
     .doc = "vertical damping"},
    {"load", KD_FIELD_NUMBER, O(tmeasy.load), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "N",
     .doc = "nominal load"},
    BRANCH("longitudinal", tmeasy.longitudinal),
    BRANCH("lateral", tmeasy.lateral),
    {"relaxation", KD_FIELD_NUMBER, O(tmeasy.relaxation), 2, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "relaxation lengths along and across"},
    {"give", KD_FIELD_NUMBER, O(tmeasy.give), 1, ALL, 0, 1.0/3.0, BETWEEN(0, 1), "",
     .doc = "share of the deflection by which the radius of rolling falls"},
    {"rolling_resistance", KD_FIELD_NUMBER, O(tmeasy.rolling_resistance), 1, ALL, 0, 0, NOT_NEGATIVE, "",
     .doc = "coefficient of the moment against rolling"},
    KD_ROAD_FIELDS(tmeasy.road),
    KD_ROAD_TYRE_STANDING(tmeasy, "1 m/s"),
    KD_FORCE_STIFF("it does"),
};
// clang-format on

const kd_force_class kd_force_tmeasy_tyre = {
    .element = {KD_ROAD_TYRE_ELEMENT("tmeasy_tyre",
                                     "tyre on a road by slope, maximum and sliding force along and across (TMeasy) "
                                     "with relaxation, down to standstill",
                                     tmeasy.radius)},
    KD_ROAD_TYRE_FORCE,
};
