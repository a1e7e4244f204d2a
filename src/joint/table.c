// table.c: poses by curves of one coordinate, with their first three derivatives. Equations: table.h
//
// Rotations are quaternions e with their derivatives by q (jets). Of a unit quaternion
//
//     w = 2 e' e*,   w' = 2 (e'' e* + e' e*'),   w'' = 2 (e''' e* + 2 e'' e*' + e' e*'')          e*: conjugate
#include "joint/table.h"

#include <math.h>

enum { N = 4 }; // a value and three derivatives

typedef struct jet { // of a number
    double f[N];
} jet;

typedef struct quat_jet {
    kd_quat e[N];
} quat_jet;

static const double binomial[N][N] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}};

// ---- jets -----------------------------------------------------------------------------------------------------------

static jet jet_of(const kd_curve *curve, double q)
{
    jet j = {{0}};
    if (curve) kd_curve_eval(curve, q, j.f);
    return j;
}

static kd_quat quat_axpy(kd_quat a, double s, kd_quat b)
{
    return (kd_quat){a.w + s * b.w, a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

// (a b)^(n) = sum binom(n, k) a^(k) b^(n-k)
static quat_jet product(const quat_jet *a, const quat_jet *b)
{
    quat_jet c = {{{0}}};
    for (int n = 0; n < N; n++)
        for (int k = 0; k <= n; k++) c.e[n] = quat_axpy(c.e[n], binomial[n][k], kd_quat_mul(a->e[k], b->e[n - k]));
    return c;
}

static quat_jet conjugate(const quat_jet *a)
{
    quat_jet c;
    for (int n = 0; n < N; n++) c.e[n] = kd_quat_conjugate(a->e[n]);
    return c;
}

static quat_jet quat_of_parts(const jet *w, const jet *x, const jet *y, const jet *z)
{
    quat_jet c;
    for (int n = 0; n < N; n++) c.e[n] = (kd_quat){w->f[n], x->f[n], y->f[n], z->f[n]};
    return c;
}

// cosine and sine of half an angle
static void half_turn(const jet *angle, jet *cosine, jet *sine)
{
    const double a1 = 0.5 * angle->f[1], a2 = 0.5 * angle->f[2], a3 = 0.5 * angle->f[3];
    const double c = cos(0.5 * angle->f[0]), s = sin(0.5 * angle->f[0]);
    *cosine = (jet){{c, -s * a1, -s * a2 - c * a1 * a1, -s * a3 - 3.0 * c * a1 * a2 + s * a1 * a1 * a1}};
    *sine = (jet){{s, c * a1, c * a2 - s * a1 * a1, c * a3 - 3.0 * s * a1 * a2 - c * a1 * a1 * a1}};
}

static quat_jet turn_about(int axis, const kd_curve *curve, double q)
{
    const jet angle = jet_of(curve, q), none = {{0}};
    jet       c, s;
    half_turn(&angle, &c, &s);
    return quat_of_parts(&c, axis == 0 ? &s : &none, axis == 1 ? &s : &none, axis == 2 ? &s : &none);
}

static double dot4(kd_quat a, kd_quat b)
{
    return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
}

// e/|e|: with n = e.e, the derivatives of n^(-1/2)
static quat_jet normalised(const quat_jet *a)
{
    const kd_quat *e = a->e;
    const double   n = dot4(e[0], e[0]), n1 = 2.0 * dot4(e[0], e[1]), n2 = 2.0 * (dot4(e[1], e[1]) + dot4(e[0], e[2]));
    const double   n3 = 2.0 * (3.0 * dot4(e[1], e[2]) + dot4(e[0], e[3]));
    const double   r = 1.0 / sqrt(n), r3 = r / n, r5 = r3 / n, r7 = r5 / n;
    const jet      none = {{0}};
    const jet      length = {{r, -0.5 * r3 * n1, -0.5 * r3 * n2 + 0.75 * r5 * n1 * n1,
                              -0.5 * r3 * n3 + 2.25 * r5 * n1 * n2 - 1.875 * r7 * n1 * n1 * n1}};
    const quat_jet s = quat_of_parts(&length, &none, &none, &none);
    return product(&s, a);
}

// ---- the pose -------------------------------------------------------------------------------------------------------

static quat_jet rotation_at(const kd_joint_table *t, double q)
{
    if (t->quaternion[0]) {
        const jet w = jet_of(t->quaternion[0], q), x = jet_of(t->quaternion[1], q), y = jet_of(t->quaternion[2], q),
                  z = jet_of(t->quaternion[3], q);
        const quat_jet e = quat_of_parts(&w, &x, &y, &z);
        return normalised(&e);
    }
    const quat_jet z = turn_about(2, t->turn[0], q), x = turn_about(0, t->turn[1], q), y = turn_about(1, t->turn[2], q);
    const quat_jet zx = product(&z, &x);
    return product(&zx, &y);
}

// in the mirror y -> -y: turns about x and z go the other way round
static void mirror(quat_jet *e, quat_jet *d)
{
    for (int n = 0; n < N; n++) {
        e->e[n].x = -e->e[n].x;
        e->e[n].z = -e->e[n].z;
        d->e[n].y = -d->e[n].y;
    }
}

// the inverse pose: e*, -e* d e
static void turn_round(quat_jet *e, quat_jet *d)
{
    const quat_jet back = conjugate(e), left = product(&back, d);
    *d = product(&left, e);
    *e = back;
    for (int n = 0; n < N; n++) d->e[n] = (kd_quat){0.0, -d->e[n].x, -d->e[n].y, -d->e[n].z};
}

static kd_vec3 part(kd_quat a, double s)
{
    return kd_vec(s * a.x, s * a.y, s * a.z);
}

// w, w', w'' = 2 e' e* with its derivatives
static void turning(const quat_jet *e, kd_vec3 w[3])
{
    const quat_jet rate = {{e->e[1], e->e[2], e->e[3], {0, 0, 0, 0}}}, back = conjugate(e);
    const quat_jet both = product(&rate, &back); // its last derivative would need the fourth of e
    for (int n = 0; n < 3; n++) w[n] = part(both.e[n], 2.0);
}

void kd_joint_table_pose(const kd_joint_table *t, double q, kd_mat3 *C, kd_vec3 *d, kd_axis *axis)
{
    const jet none = {{0}}, x = jet_of(t->shift[0], q), y = jet_of(t->shift[1], q), z = jet_of(t->shift[2], q);
    quat_jet  e = rotation_at(t, q), shift = quat_of_parts(&none, &x, &y, &z);
    if (t->mirrored) mirror(&e, &shift);
    if (t->back) turn_round(&e, &shift);
    *C = kd_quat_matrix(e.e[0]);
    *d = part(shift.e[0], 1.0);
    if (!axis) return;
    // S, S', S'' at the fixed point where the origin of B is now
    const kd_vec3 d1 = part(shift.e[1], 1.0), d2 = part(shift.e[2], 1.0), d3 = part(shift.e[3], 1.0);
    kd_vec3       w[3];
    turning(&e, w);
    axis[0] = (kd_axis){w[0], d1};
    axis[1] = (kd_axis){w[1], kd_vec_sub(d2, kd_vec_cross(w[0], d1))};
    axis[2] = (kd_axis){w[2], kd_vec_sub(kd_vec_axpy(d3, -2.0, kd_vec_cross(w[1], d1)), kd_vec_cross(w[0], d2))};
}

// ---- its rows -------------------------------------------------------------------------------------------------------

enum { CURVES = 10 };

static const kd_curve *curve_of(const kd_joint_table *t, int i)
{
    return i < 3 ? t->shift[i] : i < 6 ? t->turn[i - 3] : t->quaternion[i - 6];
}

const kd_curve *kd_joint_table_outside(const kd_joint_table *t, double q)
{
    for (int i = 0; i < CURVES; i++)
        if (curve_of(t, i) && kd_curve_is_outside(curve_of(t, i), q)) return curve_of(t, i);
    return NULL;
}

void kd_joint_table_ends(const kd_joint_table *t, double *first, double *last)
{
    *first = -INFINITY, *last = INFINITY;
    for (int i = 0; i < CURVES; i++) {
        double a, b;
        if (!curve_of(t, i)) continue;
        kd_curve_ends(curve_of(t, i), &a, &b);
        *first = fmax(*first, a);
        *last = fmin(*last, b);
    }
}

// ---- the coordinate of a pose ---------------------------------------------------------------------------------------

// What leads from the pose at q to the given one: half the sum of e_i x a_i for the turn (its axis times its sine), and
// the shift; *slope: their parts along the motion, for Newton's method.
static double distance(const kd_joint_table *t, double q, const kd_mat3 *C, kd_vec3 d, double *slope, double *square)
{
    kd_mat3 Cq;
    kd_vec3 dq;
    kd_axis axis[KD_TABLE_AXES];
    kd_joint_table_pose(t, q, &Cq, &dq, axis);
    const kd_vec3 turn = kd_vec_scale(
        0.5, kd_vec_add(kd_vec_cross(Cq.x, C->x), kd_vec_add(kd_vec_cross(Cq.y, C->y), kd_vec_cross(Cq.z, C->z))));
    const kd_vec3 shift = kd_vec_sub(d, dq);
    *slope = kd_vec_dot(turn, axis->w) + kd_vec_dot(shift, axis->u);
    *square = kd_vec_dot(axis->w, axis->w) + kd_vec_dot(axis->u, axis->u);
    // |C_q - C|^2/2 = 2 (1 - cos) in place of the sine: half a turn is far off
    const kd_vec3 x = kd_vec_sub(Cq.x, C->x), y = kd_vec_sub(Cq.y, C->y), z = kd_vec_sub(Cq.z, C->z);
    const double  apart = 0.5 * (kd_vec_dot(x, x) + kd_vec_dot(y, y) + kd_vec_dot(z, z));
    return kd_vec_dot(shift, shift) + apart;
}

// The nearest of many places, then Gauss-Newton from there; what would lead off is halved.
double kd_joint_table_coordinate(const kd_joint_table *t, const kd_mat3 *C, kd_vec3 d)
{
    enum { PLACES = 400, STEPS = 60 };
    double first, last, q = 0.0, best = INFINITY, slope, square;
    kd_joint_table_ends(t, &first, &last);
    if (!isfinite(first) || !isfinite(last)) return 0.0; // it has no curve at all
    // a coarse search, so that the nearest branch of the curve is found
    for (int i = 0; i <= PLACES; i++) {
        const double at = first + (last - first) * i / PLACES, far = distance(t, at, C, d, &slope, &square);
        if (far < best) best = far, q = at;
    }
    // Gauss-Newton on the distance of poses
    for (int i = 0; i < STEPS; i++) {
        best = distance(t, q, C, d, &slope, &square);
        double step = slope / square, next = q;
        if (!isfinite(step)) break;
        for (int k = 0; k < STEPS && step != 0.0; k++, step *= 0.5) {
            double unused, also;
            next = fmin(fmax(q + step, first), last);
            if (distance(t, next, C, d, &unused, &also) <= best) break;
            next = q;
        }
        if (fabs(next - q) <= 1e-15 * (last - first)) return next;
        q = next;
    }
    return q;
}
