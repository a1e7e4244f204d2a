// measure.c: scalar quantities of relative motion with their derivatives. Equations: measure.h
//
// Everything follows from the columns c_j of C and from d: c' = omega x c, c'' = alpha x c + omega x c', and along a
// tangent dc = w x c, dc' = domega x c + omega x dc, and so on.
#include "element/measure.h"

#include <math.h>
#include <stddef.h>

#include "element/rotation.h"
#include "element/touch.h"

static double component(kd_vec3 a, int i)
{
    return i == 0 ? a.x : i == 1 ? a.y : a.z;
}

static kd_vec3 unit(int i)
{
    return kd_vec(i == 0, i == 1, i == 2);
}

static kd_vec3 column(const kd_mat3 *C, int j)
{
    return j == 0 ? C->x : j == 1 ? C->y : C->z;
}

// ---- jets -----------------------------------------------------------------------------------------------------------
typedef struct kd_moving { // a vector with its time derivatives and their tangents
    kd_vec3 x, x1, x2, d, d1, d2;
} kd_moving;

static kd_moving moving_column(const kd_relative *rel, const kd_tangent *e, int j)
{
    kd_moving c;
    // c' = omega x c and so on, see the head
    c.x = column(&rel->C, j);
    c.x1 = kd_vec_cross(rel->omega, c.x);
    c.x2 = kd_vec_add(kd_vec_cross(rel->alpha, c.x), kd_vec_cross(rel->omega, c.x1));
    c.d = kd_vec_cross(e->w, c.x);
    c.d1 = kd_vec_add(kd_vec_cross(e->omega, c.x), kd_vec_cross(rel->omega, c.d));
    c.d2 = kd_vec_add(kd_vec_add(kd_vec_cross(e->alpha, c.x), kd_vec_cross(rel->alpha, c.d)),
                      kd_vec_add(kd_vec_cross(e->omega, c.x1), kd_vec_cross(rel->omega, c.d1)));
    return c;
}

static kd_jet jet_component(const kd_moving *a, int i)
{
    return (kd_jet){component(a->x, i), component(a->x1, i), component(a->x2, i),
                    component(a->d, i), component(a->d1, i), component(a->d2, i)};
}

static kd_jet3 jet_vector(const kd_moving *a)
{
    return (kd_jet3){jet_component(a, 0), jet_component(a, 1), jet_component(a, 2)};
}

void kd_relative_jets(const kd_relative *rel, const kd_tangent *e, kd_jet3 *d, kd_jet3 C[3])
{
    const kd_moving shift = {rel->d, rel->dd, rel->ddd, e->u, e->dd, e->ddd};
    *d = jet_vector(&shift);
    for (int j = 0; j < 3; j++) {
        const kd_moving c = moving_column(rel, e, j);
        C[j] = jet_vector(&c);
    }
}

static kd_jet jet_entry(const kd_relative *rel, const kd_tangent *e, kd_entry c)
{
    kd_moving axis = moving_column(rel, e, c.j);
    return kd_jet_scale(c.sign, jet_component(&axis, c.i));
}

static kd_jet jet_length(const kd_relative *rel, const kd_tangent *e)
{
    kd_moving d = {rel->d, rel->dd, rel->ddd, e->u, e->dd, e->ddd};
    // sqrt(sum d_i^2)
    kd_jet sum = kd_jet_const(0.0);
    for (int i = 0; i < 3; i++) {
        kd_jet di = jet_component(&d, i);
        sum = kd_jet_add(sum, kd_jet_mul(di, di));
    }
    return kd_jet_sqrt(sum);
}

// the angle closest to near
static double unwrap(double angle, double near)
{
    return isnan(near) ? angle : angle + 2.0 * KD_PI * round((near - angle) / (2.0 * KD_PI));
}

static kd_jet jet_angle(const kd_measure *s, const kd_relative *rel, const kd_tangent *e, double near)
{
    kd_jet angle = kd_jet_atan2(jet_entry(rel, e, s->sine), jet_entry(rel, e, s->cosine));
    angle.x = unwrap(angle.x, near);
    return angle;
}

static kd_entry pitch_sine(const kd_measure *s)
{
    return s->sine.sign != 0 ? s->sine : (kd_entry){2, 0, -1};
}

// cosine of the pitch from the other two entries of the row of its sine
static double pitch_cosine(const kd_measure *s, const kd_relative *rel)
{
    const kd_entry c = pitch_sine(s);
    return hypot(component(column(&rel->C, (c.j + 1) % 3), c.i), component(column(&rel->C, (c.j + 2) % 3), c.i));
}

// asin(y): derivatives 1/c, y/c^3, (1 + 2 y^2)/c^5 with c = sqrt(1 - y^2)
static kd_jet jet_pitch(const kd_measure *s, const kd_relative *rel, const kd_tangent *e)
{
    kd_jet y = jet_entry(rel, e, pitch_sine(s));
    double c2 = 1.0 - y.x * y.x, c = sqrt(c2 > 0.0 ? c2 : 0.0);
    double value = atan2(y.x, pitch_cosine(s, rel));
    return kd_jet_chain1(y, value, 1.0 / c, y.x / (c * c2), (1.0 + 2.0 * y.x * y.x) / (c * c2 * c2));
}

// Tilt of axis j: e_j x c_j times angle/sine, the factor 1/2 G(C_jj) of rotation.h. Component i of e_j x c_j is an
// entry: C_kj with the sign of the permutation (i, j, k).
static kd_entry tilt_entry(const kd_measure *s)
{
    return (kd_entry){3 - s->i - s->j, s->j, (s->j - s->i + 3) % 3 == 1 ? 1 : -1};
}

static void tilt_factor(const kd_measure *s, const kd_relative *rel, double G[4])
{
    const kd_vec3 c = column(&rel->C, s->j);
    kd_rotation_factor(component(c, s->j), hypot(component(c, (s->j + 1) % 3), component(c, (s->j + 2) % 3)), 3, G);
    for (int k = 0; k < 4; k++) G[k] *= 0.5;
}

static kd_jet jet_tilt(const kd_measure *s, const kd_relative *rel, const kd_tangent *e)
{
    const kd_jet y = jet_entry(rel, e, (kd_entry){s->j, s->j, 1});
    double       G[4];
    tilt_factor(s, rel, G);
    return kd_jet_mul(kd_jet_chain1(y, G[0], G[1], G[2], G[3]), jet_entry(rel, e, tilt_entry(s)));
}

// Bends: with the quaternion q of C, 2 atan2(q_i, q_0) and 2 atan2(q_j, sqrt(q_0^2 + q_i^2)).  q' = 1/2 omega q, and
// the same along a tangent: dq = 1/2 w q.
static kd_quat half_turn(kd_vec3 w, kd_quat q)
{
    return kd_quat_mul((kd_quat){0.0, 0.5 * w.x, 0.5 * w.y, 0.5 * w.z}, q);
}

static kd_quat add_quat(kd_quat a, kd_quat b)
{
    return (kd_quat){a.w + b.w, a.x + b.x, a.y + b.y, a.z + b.z};
}

static double quat_component(kd_quat q, int i)
{
    return i < 0 ? q.w : i == 0 ? q.x : i == 1 ? q.y : q.z;
}

// the quaternion of C with q_0 >= 0
static kd_quat quat_of(const kd_relative *rel)
{
    const kd_quat q = kd_quat_of_matrix(&rel->C);
    return q.w < 0.0 ? (kd_quat){-q.w, -q.x, -q.y, -q.z} : q;
}

static kd_jet jet_bend(const kd_measure *s, const kd_relative *rel, const kd_tangent *e)
{
    // q, q', q'' and their changes along the tangent
    const kd_quat x = quat_of(rel), x1 = half_turn(rel->omega, x);
    const kd_quat x2 = add_quat(half_turn(rel->alpha, x), half_turn(rel->omega, x1));
    const kd_quat d = half_turn(e->w, x), d1 = add_quat(half_turn(e->omega, x), half_turn(rel->omega, d));
    const kd_quat d2 = add_quat(add_quat(half_turn(e->alpha, x), half_turn(rel->alpha, d)),
                                add_quat(half_turn(e->omega, x1), half_turn(rel->omega, d1)));
    kd_jet        q[4];
    for (int i = -1; i < 3; i++)
        q[i + 1] = (kd_jet){quat_component(x, i), quat_component(x1, i), quat_component(x2, i),
                            quat_component(d, i), quat_component(d1, i), quat_component(d2, i)};
    const kd_jet qi = q[s->sine.i + 1], qj = q[s->sine.j + 1];
    // first coordinate from q_i and q_0, second from q_j and the rest
    if (s->i == 0) return kd_jet_scale(2.0, kd_jet_atan2(qi, q[0]));
    return kd_jet_scale(2.0, kd_jet_atan2(qj, kd_jet_sqrt(kd_jet_add(kd_jet_mul(q[0], q[0]), kd_jet_mul(qi, qi)))));
}

// From jets: the change along a turn about one axis, and of the rate of a turn about it
static kd_vec3 bend_gradient(const kd_measure *s, const kd_relative *rel)
{
    const kd_relative at = {.C = rel->C};
    double            N[3];
    for (int k = 0; k < 3; k++) N[k] = jet_bend(s, &at, &(kd_tangent){.w = unit(k)}).d;
    return kd_vec_of(N);
}

static kd_vec3 bend_curvature(const kd_measure *s, const kd_relative *rel, kd_vec3 w)
{
    // a turn at unit rate about axis k: the tangent of its rate is the change of N_k
    kd_relative turning = {.C = rel->C};
    double      dN[3];
    for (int k = 0; k < 3; k++) {
        turning.omega = unit(k);
        dN[k] = jet_bend(s, &turning, &(kd_tangent){.w = w}).d1;
    }
    return kd_vec_of(dN);
}

// a . b of a moving axis and a moving velocity: the rate is the product, its derivative the acceleration
static kd_jet jet_own(const kd_moving *c, kd_vec3 v, kd_vec3 a, kd_vec3 v_d, kd_vec3 a_d)
{
    double rate = kd_vec_dot(c->x, v), change = kd_vec_dot(c->d, v) + kd_vec_dot(c->x, v_d);
    double acceleration = kd_vec_dot(c->x1, v) + kd_vec_dot(c->x, a);
    double a_change = kd_vec_dot(c->d1, v) + kd_vec_dot(c->x1, v_d) + kd_vec_dot(c->d, a) + kd_vec_dot(c->x, a_d);
    return (kd_jet){0.0, rate, acceleration, 0.0, change, a_change};
}

kd_jet kd_measure_jet(const kd_measure *s, const kd_relative *rel, const kd_tangent *e, double near)
{
    int i = s->i;
    switch (s->kind) {
    case KD_MEASURE_DOF:
        break;
    case KD_MEASURE_SHIFT:
        return (kd_jet){component(rel->d, i), component(rel->dd, i), component(rel->ddd, i),
                        component(e->u, i),   component(e->dd, i),   component(e->ddd, i)};
    case KD_MEASURE_COSINE:
        return jet_entry(rel, e, (kd_entry){s->i, s->j, 1});
    case KD_MEASURE_LENGTH:
        return jet_length(rel, e);
    case KD_MEASURE_ANGLE:
        return jet_angle(s, rel, e, near);
    case KD_MEASURE_PITCH:
        return jet_pitch(s, rel, e);
    case KD_MEASURE_ROTATION:
        return kd_rotation_jet(rel, e, i);
    case KD_MEASURE_TILT:
        return jet_tilt(s, rel, e);
    case KD_MEASURE_BEND:
        return jet_bend(s, rel, e);
    case KD_MEASURE_GAP:
    case KD_MEASURE_CURVED:
    case KD_MEASURE_SLIP:
    case KD_MEASURE_SPIN:
        return kd_touch_jet(s, rel, e);
    case KD_MEASURE_TURN:
        return (kd_jet){0.0, component(rel->omega, i), component(rel->alpha, i),
                        0.0, component(e->omega, i),   component(e->alpha, i)};
    case KD_MEASURE_OWN_TURN: {
        kd_moving c = moving_column(rel, e, i);
        return jet_own(&c, rel->omega, rel->alpha, e->omega, e->alpha);
    }
    case KD_MEASURE_OWN_SHIFT: {
        kd_moving c = moving_column(rel, e, i);
        return jet_own(&c, rel->dd, rel->ddd, e->dd, e->ddd);
    }
    }
    return kd_jet_const(0.0);
}

// ---- value and rate -------------------------------------------------------------------------------------------------
static double entry_value(const kd_relative *rel, kd_entry c)
{
    return c.sign * component(column(&rel->C, c.j), c.i);
}

double kd_measure_value(const kd_measure *s, const kd_relative *rel, double near)
{
    switch (s->kind) {
    case KD_MEASURE_SHIFT:
        return component(rel->d, s->i);
    case KD_MEASURE_COSINE:
        return component(column(&rel->C, s->j), s->i);
    case KD_MEASURE_LENGTH:
        return rel->length;
    case KD_MEASURE_ANGLE:
        return unwrap(atan2(entry_value(rel, s->sine), entry_value(rel, s->cosine)), near);
    case KD_MEASURE_PITCH:
        return atan2(entry_value(rel, pitch_sine(s)), pitch_cosine(s, rel));
    case KD_MEASURE_ROTATION:
        return kd_rotation_value(rel, s->i);
    case KD_MEASURE_TILT: {
        double G[4];
        tilt_factor(s, rel, G);
        return G[0] * entry_value(rel, tilt_entry(s));
    }
    case KD_MEASURE_BEND: {
        static const kd_tangent none;
        const kd_relative       at = {.C = rel->C};
        return jet_bend(s, &at, &none).x;
    }
    case KD_MEASURE_GAP:
        return rel->touch ? rel->touch->gap : 0.0;
    case KD_MEASURE_CURVED: {
        static const kd_tangent none;
        const kd_relative       at = {.C = rel->C, .d = rel->d, .touch = rel->touch};
        return kd_touch_jet(s, &at, &none).x;
    }
    default:
        return 0.0;
    }
}

// Numbers of kd_relative: of a vector, of a column of C
static int place_of(size_t offset, int i)
{
    return (int)(offset / sizeof(double)) + i;
}

int kd_measure_place(const kd_measure *s, int level)
{
    switch (s->kind) {
    case KD_MEASURE_SHIFT:
        return place_of(level == 0 ? offsetof(kd_relative, d) : offsetof(kd_relative, dd), s->i);
    case KD_MEASURE_COSINE:
        return level == 0 ? place_of(offsetof(kd_relative, C), 3 * s->j + s->i) : -1;
    case KD_MEASURE_LENGTH:
        return level == 0 ? place_of(offsetof(kd_relative, length), 0) : -1;
    case KD_MEASURE_TURN:
        return level == 1 ? place_of(offsetof(kd_relative, omega), s->i) : -1;
    default:
        return -1;
    }
}

int kd_measure_component(const kd_measure *s)
{
    if (s->kind == KD_MEASURE_SHIFT) return place_of(offsetof(kd_wrench, F), s->i);
    return s->kind == KD_MEASURE_TURN ? place_of(offsetof(kd_wrench, N), s->i) : -1;
}

// omega x c, component i
static double turning_entry(kd_vec3 omega, kd_vec3 c, int i)
{
    return i == 0   ? omega.y * c.z - omega.z * c.y
           : i == 1 ? omega.z * c.x - omega.x * c.z
                    : omega.x * c.y - omega.y * c.x;
}

// N . omega + F . d'
double kd_measure_rate(const kd_measure *s, const kd_relative *rel)
{
    kd_vec3 N, F;
    switch (s->kind) {
    case KD_MEASURE_SHIFT:
        return component(rel->dd, s->i);
    case KD_MEASURE_LENGTH:
        return kd_vec_dot(rel->n, rel->dd);
    case KD_MEASURE_TURN:
        return component(rel->omega, s->i);
    case KD_MEASURE_COSINE:
        return turning_entry(rel->omega, column(&rel->C, s->j), s->i);
    default:
        kd_measure_gradient(s, rel, &N, &F);
        return kd_vec_dot(N, rel->omega) + kd_vec_dot(F, rel->dd);
    }
}

// ---- gradients ------------------------------------------------------------------------------------------------------
// C_ij = e_i . c_j changes by e_i . (turn x c_j) = (c_j x e_i) . turn
static kd_vec3 entry_gradient(const kd_relative *rel, kd_entry c)
{
    return kd_vec_scale(c.sign, kd_vec_cross(column(&rel->C, c.j), unit(c.i)));
}

static kd_vec3 entry_curvature(const kd_relative *rel, kd_entry c, kd_vec3 w)
{
    return kd_vec_scale(c.sign, kd_vec_cross(kd_vec_cross(w, column(&rel->C, c.j)), unit(c.i)));
}

// atan2(y, x): (x grad y - y grad x) / (x^2 + y^2)
static kd_vec3 angle_gradient(const kd_measure *s, const kd_relative *rel)
{
    double  y = entry_value(rel, s->sine), x = entry_value(rel, s->cosine);
    kd_vec3 gy = entry_gradient(rel, s->sine), gx = entry_gradient(rel, s->cosine);
    return kd_vec_scale(1.0 / (x * x + y * y), kd_vec_axpy(kd_vec_scale(x, gy), -y, gx));
}

static kd_vec3 angle_curvature(const kd_measure *s, const kd_relative *rel, kd_vec3 w)
{
    // quotient rule: change of the numerator less that of n = x^2 + y^2
    double  y = entry_value(rel, s->sine), x = entry_value(rel, s->cosine), n = x * x + y * y;
    kd_vec3 gy = entry_gradient(rel, s->sine), gx = entry_gradient(rel, s->cosine);
    double  dy = kd_vec_dot(gy, w), dx = kd_vec_dot(gx, w);
    kd_vec3 numerator = kd_vec_axpy(kd_vec_scale(x, gy), -y, gx);
    kd_vec3 change = kd_vec_axpy(kd_vec_scale(dx, gy), -dy, gx);
    change = kd_vec_axpy(change, x, entry_curvature(rel, s->sine, w));
    change = kd_vec_axpy(change, -y, entry_curvature(rel, s->cosine, w));
    return kd_vec_scale(1.0 / n, kd_vec_axpy(change, -2.0 * (x * dx + y * dy) / n, numerator));
}

// G(y) a with the entries y = C_jj, a
static kd_vec3 tilt_gradient(const kd_measure *s, const kd_relative *rel)
{
    const kd_entry y = {s->j, s->j, 1}, a = tilt_entry(s);
    double         G[4];
    tilt_factor(s, rel, G);
    return kd_vec_axpy(kd_vec_scale(G[0], entry_gradient(rel, a)), G[1] * entry_value(rel, a), entry_gradient(rel, y));
}

static kd_vec3 tilt_curvature(const kd_measure *s, const kd_relative *rel, kd_vec3 w)
{
    const kd_entry y = {s->j, s->j, 1}, a = tilt_entry(s);
    const kd_vec3  gy = entry_gradient(rel, y), ga = entry_gradient(rel, a);
    const double   dy = kd_vec_dot(gy, w), da = kd_vec_dot(ga, w), value = entry_value(rel, a);
    double         G[4];
    tilt_factor(s, rel, G);
    // product rule over G grad a + G' a grad y
    kd_vec3 out = kd_vec_axpy(kd_vec_scale(G[0], entry_curvature(rel, a, w)), G[1] * dy, ga);
    out = kd_vec_axpy(out, G[2] * dy * value + G[1] * da, gy);
    return kd_vec_axpy(out, G[1] * value, entry_curvature(rel, y, w));
}

void kd_measure_gradient(const kd_measure *s, const kd_relative *rel, kd_vec3 *N, kd_vec3 *F)
{
    *N = *F = kd_vec(0, 0, 0);
    switch (s->kind) {
    case KD_MEASURE_DOF:
        break;
    case KD_MEASURE_SHIFT:
        *F = unit(s->i);
        break;
    case KD_MEASURE_COSINE:
        *N = entry_gradient(rel, (kd_entry){s->i, s->j, 1});
        break;
    case KD_MEASURE_LENGTH:
        *F = rel->n;
        break;
    case KD_MEASURE_ANGLE:
        *N = angle_gradient(s, rel);
        break;
    case KD_MEASURE_PITCH:
        *N = kd_vec_scale(1.0 / pitch_cosine(s, rel), entry_gradient(rel, pitch_sine(s)));
        break;
    case KD_MEASURE_ROTATION:
        *N = kd_rotation_gradient(rel, s->i);
        break;
    case KD_MEASURE_TILT:
        *N = tilt_gradient(s, rel);
        break;
    case KD_MEASURE_BEND:
        *N = bend_gradient(s, rel);
        break;
    case KD_MEASURE_TURN:
        *N = unit(s->i);
        break;
    case KD_MEASURE_OWN_TURN:
        *N = column(&rel->C, s->i);
        break;
    case KD_MEASURE_OWN_SHIFT:
        *F = column(&rel->C, s->i);
        break;
    case KD_MEASURE_GAP:
    case KD_MEASURE_CURVED:
    case KD_MEASURE_SLIP:
    case KD_MEASURE_SPIN:
        kd_touch_gradient(s, rel, N, F);
        break;
    }
}

void kd_measure_curvature(const kd_measure *s, const kd_relative *rel, kd_vec3 w, kd_vec3 u, kd_vec3 *dN, kd_vec3 *dF)
{
    *dN = *dF = kd_vec(0, 0, 0);
    switch (s->kind) {
    case KD_MEASURE_DOF:
    case KD_MEASURE_SHIFT:
    case KD_MEASURE_TURN:
        break;
    case KD_MEASURE_COSINE:
        *dN = entry_curvature(rel, (kd_entry){s->i, s->j, 1}, w);
        break;
    case KD_MEASURE_LENGTH: // d (d/l) = (u - n (n . u)) / l
        *dF = kd_vec_scale(1.0 / rel->length, kd_vec_axpy(u, -kd_vec_dot(rel->n, u), rel->n));
        break;
    case KD_MEASURE_ANGLE:
        *dN = angle_curvature(s, rel, w);
        break;
    case KD_MEASURE_PITCH: { // grad y / c, dc = -y dy / c
        double  y = entry_value(rel, pitch_sine(s)), c = pitch_cosine(s, rel);
        kd_vec3 g = entry_gradient(rel, pitch_sine(s));
        *dN = kd_vec_axpy(kd_vec_scale(1.0 / c, entry_curvature(rel, pitch_sine(s), w)),
                          y * kd_vec_dot(g, w) / (c * c * c), g);
        break;
    }
    case KD_MEASURE_ROTATION:
        *dN = kd_rotation_curvature(rel, s->i, w);
        break;
    case KD_MEASURE_TILT:
        *dN = tilt_curvature(s, rel, w);
        break;
    case KD_MEASURE_BEND:
        *dN = bend_curvature(s, rel, w);
        break;
    case KD_MEASURE_OWN_TURN:
        *dN = kd_vec_cross(w, column(&rel->C, s->i));
        break;
    case KD_MEASURE_OWN_SHIFT:
        *dF = kd_vec_cross(w, column(&rel->C, s->i));
        break;
    case KD_MEASURE_GAP:
    case KD_MEASURE_CURVED:
    case KD_MEASURE_SLIP:
    case KD_MEASURE_SPIN:
        kd_touch_curvature(s, rel, w, u, dN, dF);
        break;
    }
}
