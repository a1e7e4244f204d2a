// smooth.c: smooth surfaces by surface coordinates. Equations: smooth.h
#include "element/smooth.h"

enum { GRID = 96, NEARER = 20 }; // places of a curve that a search looks at; iterations of the nearest place, at most

// ---- meridians and profiles -----------------------------------------------------------------------------------------
// f and five derivatives of a curve by its argument: those of a cubic beyond the third vanish
static void curve_at(const kd_curve *curve, double u, double f[6])
{
    kd_curve_eval(curve, u, f);
    f[4] = f[5] = 0.0;
}

// r(u), z(u) of a surface of revolution, each with five derivatives
static void meridian(const kd_smooth *s, double u, double r[6], double z[6])
{
    const double *size = s->def->size;
    for (int i = 0; i < 6; i++) r[i] = z[i] = 0.0;
    switch (s->def->kind) {
    case KD_SURFACE_CONE:
        r[0] = u * sin(size[0]), r[1] = sin(size[0]);
        z[0] = u * cos(size[0]), z[1] = cos(size[0]);
        break;
    case KD_SURFACE_TORUS: { // cos, -sin, -cos, sin, ..
        const double c = size[1] * cos(u), q = size[1] * sin(u);
        const double cosine[6] = {c, -q, -c, q, c, -q}, sine[6] = {q, c, -q, -c, q, c};
        for (int i = 0; i < 6; i++) r[i] = cosine[i], z[i] = sine[i];
        r[0] += size[0];
        break;
    }
    case KD_SURFACE_REVOLUTION:
        curve_at(s->curve, u, r);
        z[0] = u, z[1] = 1.0;
        break;
    default: // a cylinder
        r[0] = size[0];
        z[0] = u, z[1] = 1.0;
    }
}

static kd_jet chain(kd_jet x, const double *f) // f and three derivatives
{
    return kd_jet_chain1(x, f[0], f[1], f[2], f[3]);
}

// The same with a third derivative that does not matter
static kd_jet chain_last(kd_jet x, const double *f)
{
    return kd_jet_chain1(x, f[0], f[1], f[2], 0.0);
}

bool kd_smooth_is_round(const kd_smooth *s)
{
    return s->def->kind == KD_SURFACE_SPHERE || s->def->kind == KD_SURFACE_ELLIPSOID;
}

// half axis i of a sphere or ellipsoid
static double half_axis(const kd_smooth *s, int i)
{
    return s->def->kind == KD_SURFACE_SPHERE ? s->def->size[0] : s->def->size[i];
}

static kd_jet *part(kd_jet3 *a, int i)
{
    return i == 0 ? &a->x : i == 1 ? &a->y : &a->z;
}

// ---- places ---------------------------------------------------------------------------------------------------------
// (u, v, f(u)); a plane has f = 0
static void sheet_at(const kd_smooth *s, kd_jet u, kd_jet v, bool curved, kd_spot *out)
{
    double f[6] = {0.0};
    if (s->def->kind == KD_SURFACE_SWEPT) curve_at(s->curve, u.x, f);
    const kd_jet slope = chain(u, f + 1), one = kd_jet_const(1.0), none = kd_jet_const(0.0);
    const kd_jet length = kd_jet_sqrt(kd_jet_add(one, kd_jet_mul(slope, slope)));
    out->r = (kd_jet3){u, v, chain(u, f)};
    out->t[0] = (kd_jet3){one, none, slope};
    out->t[1] = (kd_jet3){none, one, none};
    out->n = (kd_jet3){kd_jet_neg(kd_jet_div(slope, length)), none, kd_jet_div(one, length)};
    if (!curved) return;
    // -f''/(1 + f'^2)^1.5 along the profile, straight across
    out->e[0] = kd_jet3_unit(out->t[0]), out->e[1] = out->t[1];
    out->kappa[0] = kd_jet_neg(kd_jet_div(chain_last(u, f + 2), kd_jet_mul(length, kd_jet_mul(length, length))));
    out->kappa[1] = none;
}

// (r cos v, r sin v, z)
static void revolution_at(const kd_smooth *s, kd_jet u, kd_jet v, bool curved, kd_spot *out)
{
    double f[6], g[6];
    meridian(s, u.x, f, g);
    const kd_jet r = chain(u, f), r1 = chain(u, f + 1), z1 = chain(u, g + 1), none = kd_jet_const(0.0);
    const kd_jet c = kd_jet_cos(v), sine = kd_jet_sin(v);
    const kd_jet length = kd_jet_sqrt(kd_jet_add(kd_jet_mul(r1, r1), kd_jet_mul(z1, z1)));
    const kd_jet nr = kd_jet_div(z1, length), nz = kd_jet_neg(kd_jet_div(r1, length));
    out->r = (kd_jet3){kd_jet_mul(r, c), kd_jet_mul(r, sine), chain(u, g)};
    out->n = (kd_jet3){kd_jet_mul(nr, c), kd_jet_mul(nr, sine), nz};
    out->t[0] = (kd_jet3){kd_jet_mul(r1, c), kd_jet_mul(r1, sine), z1};
    out->t[1] = (kd_jet3){kd_jet_neg(sine), c, none};
    if (!curved) return;
    // along the meridian (r'z'' - z'r'')/(r'^2 + z'^2)^1.5, along the parallel n_r/r
    const kd_jet r2 = chain_last(u, f + 2), z2 = chain_last(u, g + 2);
    const kd_jet bend = kd_jet_sub(kd_jet_mul(r1, z2), kd_jet_mul(z1, r2));
    out->e[0] = kd_jet3_unit(out->t[0]), out->e[1] = out->t[1];
    out->kappa[0] = kd_jet_div(bend, kd_jet_mul(length, kd_jet_mul(length, length)));
    out->kappa[1] = kd_jet_div(nr, r);
}

// x_k = a_k y_k on the ellipsoid with y on the unit sphere; normal (y_k/a_k), of a sphere y itself, also where a = 0
static void ellipsoid_at(const kd_smooth *s, int pole, kd_jet u, kd_jet v, bool curved, kd_spot *out)
{
    const bool   sphere = s->def->kind == KD_SURFACE_SPHERE;
    const int    at[3] = {(pole + 1) % 3, (pole + 2) % 3, pole};
    const kd_jet cu = kd_jet_cos(u), su = kd_jet_sin(u), cv = kd_jet_cos(v), sv = kd_jet_sin(v);
    const kd_jet y[3] = {kd_jet_mul(cu, cv), kd_jet_mul(cu, sv), su}, none = kd_jet_const(0.0);
    const kd_jet along_u[3] = {kd_jet_neg(kd_jet_mul(su, cv)), kd_jet_neg(kd_jet_mul(su, sv)), cu};
    const kd_jet along_v[3] = {kd_jet_neg(sv), cv, none};
    kd_jet3      gradient;
    for (int i = 0; i < 3; i++) {
        const double a = half_axis(s, at[i]), b = sphere ? 1.0 : a;
        *part(&out->r, at[i]) = kd_jet_scale(a, y[i]);
        *part(&out->t[0], at[i]) = kd_jet_scale(b, along_u[i]);
        *part(&out->t[1], at[i]) = kd_jet_scale(b, along_v[i]);
        *part(&gradient, at[i]) = kd_jet_scale(1.0 / b, y[i]);
    }
    out->n = sphere ? gradient : kd_jet3_unit(gradient);
    if (!curved) return;
    // second derivatives of sum (x_k/a_k)^2/2 over the length of its gradient
    const kd_jet length = kd_jet_sqrt(kd_jet3_dot(gradient, gradient));
    for (int i = 0; i < 3; i++) {
        const double a = half_axis(s, i);
        out->kappa[i] = kd_jet_div(kd_jet_const(sphere ? 1.0 / a : 1.0 / (a * a)), length);
    }
}

void kd_smooth_at(const kd_smooth *s, int pole, kd_jet u, kd_jet v, bool curved, kd_spot *out)
{
    if (kd_smooth_is_round(s))
        ellipsoid_at(s, pole, u, v, curved, out);
    else if (s->def->kind == KD_SURFACE_PLANE || s->def->kind == KD_SURFACE_SWEPT)
        sheet_at(s, u, v, curved, out);
    else
        revolution_at(s, u, v, curved, out);
    if (!s->def->hollow) return;
    // touched from the other side
    out->n = kd_jet3_mul(kd_jet_const(-1.0), out->n);
    for (int i = 0; curved && i < 3; i++) out->kappa[i] = kd_jet_neg(out->kappa[i]);
}

kd_jet kd_smooth_form(const kd_smooth *s, const kd_spot *at, kd_jet3 a, kd_jet3 c)
{
    kd_jet sum = kd_jet_const(0.0);
    if (kd_smooth_is_round(s)) {
        sum = kd_jet_mul(at->kappa[0], kd_jet_mul(a.x, c.x));
        sum = kd_jet_add(sum, kd_jet_mul(at->kappa[1], kd_jet_mul(a.y, c.y)));
        return kd_jet_add(sum, kd_jet_mul(at->kappa[2], kd_jet_mul(a.z, c.z)));
    }
    for (int k = 0; k < 2; k++)
        sum = kd_jet_add(sum, kd_jet_mul(at->kappa[k], kd_jet_mul(kd_jet3_dot(at->e[k], a), kd_jet3_dot(at->e[k], c))));
    return sum;
}

// ---- where a search begins ------------------------------------------------------------------------------------------
// Coordinates of a point y of the unit sphere, with the pole along the axis that is farthest from it
static kd_surface_chart chart_of(kd_vec3 y)
{
    const double c[3] = {y.x, y.y, y.z};
    const double length = kd_vec_norm(y);
    int          pole = 0;
    if (!(length > 0.0)) return (kd_surface_chart){0.0, 0.0, 2};
    for (int k = 1; k < 3; k++)
        if (fabs(c[k]) <= fabs(c[pole])) pole = k;
    return (kd_surface_chart){asin(c[pole] / length), atan2(c[(pole + 2) % 3], c[(pole + 1) % 3]), pole};
}

// Of a curve: the place of the grid where score is greatest
static double best_of(const kd_smooth *s, double a, double b, double (*score)(double u, double f, double a, double b))
{
    double first, last, best = 0.0, greatest = -HUGE_VAL;
    kd_curve_ends(s->curve, &first, &last);
    for (int i = 0; i <= GRID; i++) {
        const double u = first + (last - first) * i / GRID, value = score(u, kd_curve_value(s->curve, u), a, b);
        if (value > greatest) greatest = value, best = u;
    }
    return best;
}

// nearness to (a, b) and height along (a, b), of points (u, f)
static double nearness(double u, double f, double a, double b)
{
    return -((u - a) * (u - a) + (f - b) * (f - b));
}

static double height(double u, double f, double a, double b)
{
    return u * a + f * b;
}

// The place of an ellipsoid nearest to q outside of it is x_k = a_k^2 q_k/(a_k^2 + t), where t solves
// sum (a_k q_k/(a_k^2 + t))^2 = 1: convex and falling, so that Newton's method comes near from below. Inside: along the ray from
// the centre.
static kd_surface_chart near_ellipsoid(const double a[3], kd_vec3 q)
{
    const double c[3] = {q.x, q.y, q.z};
    double       t = 0.0, y[3];
    for (int i = 0; i < NEARER; i++) {
        double sum = -1.0, slope = 0.0;
        for (int k = 0; k < 3; k++) {
            const double below = a[k] * a[k] + t;
            y[k] = a[k] * c[k] / below;
            sum += y[k] * y[k], slope += 2.0 * y[k] * y[k] / below;
        }
        if (!(sum > 1e-6) || !(slope > 0.0)) break;
        t += sum / slope;
    }
    return chart_of(kd_vec(y[0], y[1], y[2]));
}

kd_surface_chart kd_smooth_near(const kd_smooth *s, kd_vec3 q)
{
    const double *size = s->def->size, rho = hypot(q.x, q.y), v = atan2(q.y, q.x);
    switch (s->def->kind) {
    case KD_SURFACE_SPHERE:
        return chart_of(q);
    case KD_SURFACE_ELLIPSOID:
        return near_ellipsoid(size, q);
    case KD_SURFACE_CYLINDER:
        return (kd_surface_chart){q.z, v, 2};
    case KD_SURFACE_CONE: // foot on the generator
        return (kd_surface_chart){rho * sin(size[0]) + q.z * cos(size[0]), v, 2};
    case KD_SURFACE_TORUS:
        return (kd_surface_chart){atan2(q.z, rho - size[0]), v, 2};
    case KD_SURFACE_REVOLUTION:
        return (kd_surface_chart){best_of(s, q.z, rho, nearness), v, 2};
    case KD_SURFACE_SWEPT:
        return (kd_surface_chart){best_of(s, q.x, q.z, nearness), q.y, 2};
    default:
        return (kd_surface_chart){q.x, q.y, 2};
    }
}

kd_surface_chart kd_smooth_facing(const kd_smooth *s, kd_vec3 m, kd_vec3 q)
{
    const double *size = s->def->size;
    if (s->def->hollow) m = kd_vec_neg(m);
    const double rho = hypot(m.x, m.y), v = rho > 0.0 ? atan2(m.y, m.x) : 0.0;
    switch (s->def->kind) {
    case KD_SURFACE_SPHERE:
        return chart_of(m);
    case KD_SURFACE_ELLIPSOID: // y_k proportional to a_k m_k
        return chart_of(kd_vec(size[0] * m.x, size[1] * m.y, size[2] * m.z));
    case KD_SURFACE_TORUS:
        return (kd_surface_chart){atan2(m.z, rho), v, 2};
    case KD_SURFACE_REVOLUTION: // greatest height along m of the meridian (z, r) = (u, f)
        return (kd_surface_chart){best_of(s, m.z, rho, height), v, 2};
    case KD_SURFACE_SWEPT:
        return (kd_surface_chart){best_of(s, m.x, m.z, height), q.y, 2};
    case KD_SURFACE_CYLINDER:
        return (kd_surface_chart){q.z, v, 2};
    case KD_SURFACE_CONE: // foot on the generator
        return (kd_surface_chart){(q.x * cos(v) + q.y * sin(v)) * sin(size[0]) + q.z * cos(size[0]), v, 2};
    default:
        return (kd_surface_chart){q.x, q.y, 2};
    }
}

void kd_smooth_reach(const kd_smooth *s, double reach[2])
{
    static const double TURN = 0.4, PART = 0.1;
    double              first, last;
    reach[0] = reach[1] = HUGE_VAL; // straight: Newton's method may go anywhere
    if (kd_smooth_is_round(s) || s->def->kind == KD_SURFACE_TORUS) reach[0] = TURN;
    if (s->def->kind != KD_SURFACE_PLANE && s->def->kind != KD_SURFACE_SWEPT) reach[1] = TURN;
    if (!s->curve) return;
    kd_curve_ends(s->curve, &first, &last);
    reach[0] = PART * (last - first);
}
