// dense_output.c: quintic Hermite interpolation of the positions.
//
// The polynomial of degree 5 through (p, p', p'') at both ends has a local error of order h^6 in p and h^5 in p', one
// more than any of the integrators. p' = Z v; p'' = Z a + (Zv)_p Z v, with a from the equations at the ends; v = Z+
// p'(t). r is the cubic of (r, b) at both ends. s, a, w, lambda and mu are solved again at the point.
#include "point/dense_output.h"

#include "core/archive.h"
#include "core/memory.h"
#include "math/dense.h"
#include "point/position.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define ROUNDING 4            // errors of x1 - x0 and of h, in units of the last place
#define SECOND_INCREMENT 6e-6 // third root of the unit roundoff: central difference of Z v along the motion

typedef struct end {
    bool           known;
    double         t;
    double        *x;      // (n)
    double        *p1;     // (np) p'
    double        *p2;     // (np) p''
    double        *r1;     // (nr) r'
    double        *z;      // (nz)
    unsigned char *active; // (nlambda + nmu)
} end;

struct kd_dense_output {
    kd_arena         arena;
    kd_acceleration *acceleration;
    const kd_eom    *eom;
    kd_dims          dims;
    kd_position      position;
    bool             project;
    int              n;
    int              v, r, w, s, lambda, mu; // offsets in x
    end              ends[2];
    double          *a, *multipliers, *p_moved, *v_moved, *plus, *minus, *p1;
};

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void cut_end(end *e, kd_arena *arena, kd_dims d, int n)
{
    e->x = kd_cut_double(arena, n);
    e->p1 = kd_cut_double(arena, d.np);
    e->p2 = kd_cut_double(arena, d.np);
    e->r1 = kd_cut_double(arena, d.nr);
    e->z = kd_cut_double(arena, d.nz);
    e->active = kd_arena_cut(arena, (size_t)(d.nlambda + d.nmu), 1);
}

kd_status kd_dense_output_create(kd_acceleration *acceleration, bool project, kd_dense_output **dense)
{
    *dense = NULL;
    kd_dense_output *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    // whose motion it is, and where its parts stand in a whole state
    self->acceleration = acceleration;
    self->eom = kd_acceleration_eom(acceleration);
    self->project = project;
    kd_dims d = self->dims = kd_eom_dims(self->eom);
    self->v = d.np;
    self->r = self->v + d.nv;
    self->w = self->r + d.nr;
    self->s = self->w + d.nw;
    self->lambda = self->s + d.ns;
    self->mu = self->lambda + d.nlambda;
    self->n = self->mu + d.nmu;
    // v of p': by the definition, or by Z+
    kd_arena *arena = &self->arena;
    if (kd_eom_definition(self->eom)->velocities)
        kd_position_cut_norms(&self->position, arena, self->eom);
    else
        kd_position_cut(&self->position, arena, self->eom); // v = Z+ p'
    // both ends, and workspace between them
    for (int k = 0; k < 2; k++) cut_end(&self->ends[k], arena, d, self->n);
    self->a = kd_cut_double(arena, d.nv);
    self->multipliers = kd_cut_double(arena, d.nw + d.nlambda + d.nmu);
    self->p_moved = kd_cut_double(arena, d.np);
    self->v_moved = kd_cut_double(arena, d.nv);
    self->plus = kd_cut_double(arena, d.np);
    self->minus = kd_cut_double(arena, d.np);
    self->p1 = kd_cut_double(arena, d.np);
    if (arena->failed) {
        kd_dense_output_destroy(self);
        return KD_ERR_MEMORY;
    }
    *dense = self;
    return KD_OK;
}

void kd_dense_output_destroy(kd_dense_output *self)
{
    if (!self) return;
    kd_arena_release(&self->arena);
    kd_free(self);
}

void kd_dense_output_archive(kd_dense_output *self, kd_archive *a)
{
    kd_archive_tag(a, "dense output");
    kd_position_archive(&self->position, a);
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    for (int k = 0; k < 2; k++) {
        kd_archive_bool(a, &self->ends[k].known);
        kd_archive_real(a, &self->ends[k].t);
        kd_archive_flags(a, self->ends[k].active, (size_t)(self->dims.nlambda + self->dims.nmu));
    }
}

void kd_dense_output_forget(kd_dense_output *self)
{
    self->ends[0].known = self->ends[1].known = false;
}

// ---- the ends -------------------------------------------------------------------------------------------------------

static bool same_end(const kd_dense_output *self, const end *e, double t, const double *x)
{
    kd_dims         d = self->dims;
    const kd_state *state = kd_acceleration_state(self->acceleration);
    return e->known && e->t == t && memcmp(e->x, x, (size_t)self->n * sizeof *x) == 0 &&
           (d.nz == 0 || memcmp(e->z, state->z, (size_t)d.nz * sizeof *x) == 0) &&
           memcmp(e->active, state->active_lambda, (size_t)d.nlambda) == 0 &&
           memcmp(e->active + d.nlambda, state->active_mu, (size_t)d.nmu) == 0;
}

// Z(p + delta p') v, at t + delta
static kd_eval moved_kinematics(kd_dense_output *self, const end *e, double delta, const double *v, double *out)
{
    for (int i = 0; i < self->dims.np; i++) self->p_moved[i] = e->x[i] + delta * e->p1[i];
    kd_eval answer =
        kd_acceleration_at(self->acceleration, e->t + delta, self->p_moved, e->x + self->s, v, e->x + self->r);
    return answer == KD_EVAL_OK ? kd_eom_eval(kd_acceleration_data(self->acceleration), KD_KINEMATICS, out) : answer;
}

// p' = Z v, p'' = Z a + Z' v; differences of Z only, so that rows of Z that do not change have no error of differences
static kd_eval position_rates(kd_dense_output *self, end *e)
{
    kd_dims d = self->dims;
    if (self->position.identity) {
        memcpy(e->p1, e->x + self->v, (size_t)d.np * sizeof(double));
        memcpy(e->p2, self->a, (size_t)d.np * sizeof(double));
        return KD_EVAL_OK;
    }
    kd_eval answer = kd_eom_eval(kd_acceleration_data(self->acceleration), KD_KINEMATICS, e->p1);
    if (answer != KD_EVAL_OK) return answer;
    // a time increment that moves p by a small part of its own size
    double        delta = SECOND_INCREMENT / fmax(kd_norm_max(d.np, e->p1), 1);
    const double *v = e->x + self->v;
    answer = moved_kinematics(self, e, delta, v, self->plus);
    if (answer == KD_EVAL_OK) answer = moved_kinematics(self, e, -delta, v, self->minus);
    for (int i = 0; i < d.np; i++) e->p2[i] = (self->plus[i] - self->minus[i]) / (2 * delta);
    // Z a: the kinematics are linear in v but for coordinates that move by themselves
    memset(self->v_moved, 0, (size_t)d.nv * sizeof *v);
    if (answer == KD_EVAL_OK) answer = moved_kinematics(self, e, 0, self->a, self->plus);
    if (answer == KD_EVAL_OK) answer = moved_kinematics(self, e, 0, self->v_moved, self->minus);
    for (int i = 0; i < d.np; i++) e->p2[i] += self->plus[i] - self->minus[i];
    return answer;
}

// The acceleration at an end, from the equations there unless it is known; the data are left at the acceleration stage
static kd_eval end_acceleration(kd_dense_output *self, const end *e, const double *known)
{
    const kd_dims d = self->dims;
    const double *p = e->x, *s = p + self->s, *v = p + self->v, *r = p + self->r;
    double       *w = self->multipliers, *lambda = w + d.nw, *mu = lambda + d.nlambda;
    memcpy(w, p + self->w, (size_t)d.nw * sizeof *w);
    memcpy(lambda, p + self->lambda, (size_t)(d.nlambda + d.nmu) * sizeof *w);
    if (known) memcpy(self->a, known, (size_t)d.nv * sizeof *known);
    kd_eval answer = known ? kd_acceleration_at(self->acceleration, e->t, p, s, v, r)
                           : kd_acceleration_solve(self->acceleration, e->t, p, s, v, r, self->a, w, lambda, mu);
    if (answer == KD_EVAL_OK) kd_eom_at_acceleration(kd_acceleration_data(self->acceleration), self->a, w, lambda, mu);
    return answer;
}

// a: known acceleration; NULL: none
static kd_eval set_end(kd_dense_output *self, end *e, double t, const double *x, const double *a)
{
    kd_dims         d = self->dims;
    const kd_state *state = kd_acceleration_state(self->acceleration);
    e->known = false;
    e->t = t;
    // discrete variables and active rows belong to the end, too
    memcpy(e->x, x, (size_t)self->n * sizeof *x);
    if (d.nz > 0) memcpy(e->z, state->z, (size_t)d.nz * sizeof *x);
    memcpy(e->active, state->active_lambda, (size_t)d.nlambda);
    memcpy(e->active + d.nlambda, state->active_mu, (size_t)d.nmu);

    // a, r' and p' at the end: slopes of the interpolation
    kd_eval answer = end_acceleration(self, e, a);
    if (answer == KD_EVAL_OK && d.nr > 0) answer = kd_eom_eval(kd_acceleration_data(self->acceleration), KD_B, e->r1);
    if (answer == KD_EVAL_OK) answer = position_rates(self, e);
    e->known = answer == KD_EVAL_OK;
    return answer;
}

// ends[0], ends[1] at (t0, x0), (t1, x1); the end of the last interval is often the start of this one. with_a:
// accelerations stand behind x0, x1
static kd_eval set_ends(kd_dense_output *self, double t0, const double *x0, double t1, const double *x1, bool with_a)
{
    const double *a0 = with_a ? x0 + self->n : NULL, *a1 = with_a ? x1 + self->n : NULL;
    kd_eval       answer = KD_EVAL_OK;
    if (!same_end(self, &self->ends[0], t0, x0) && same_end(self, &self->ends[1], t0, x0)) {
        end other = self->ends[0];
        self->ends[0] = self->ends[1];
        self->ends[1] = other;
    }
    if (!same_end(self, &self->ends[0], t0, x0)) answer = set_end(self, &self->ends[0], t0, x0, a0);
    if (answer == KD_EVAL_OK && !same_end(self, &self->ends[1], t1, x1))
        answer = set_end(self, &self->ends[1], t1, x1, a1);
    return answer;
}

// ---- the polynomials ------------------------------------------------------------------------------------------------

// The quartic of (x', x'') at both ends, and what it misses x1 by: miss (10 s^3 - 15 s^4 + 6 s^5). The derivative of
// that is of order miss / h, which is nothing but rounding where x1 - x0, or h, has no more digits than that.
void kd_quintic(double t0, double t1, double t, double x0, double d0, double dd0, double x1, double d1, double dd1,
                double *value, double *rate)
{
    const double h = t1 - t0, s = (t - t0) / h;
    double       b = d1 - d0 - h * dd0, c = h * (dd1 - dd0);
    double       r2 = 3 * b - c, r3 = c - 2 * b; // x' = d0 + h dd0 s + r2 s^2 + r3 s^3
    double       miss = x1 - x0 - h * (d0 + 0.5 * h * dd0 + r2 / 3 + r3 / 4);
    double       times = fmax(fabs(t0), fabs(t1)) * fmax(fabs(d0), fabs(d1));
    double       rounding = ROUNDING * DBL_EPSILON * (fmax(fabs(x0), fabs(x1)) + times);
    *value =
        x0 + s * (h * (d0 + s * (0.5 * h * dd0 + s * (r2 / 3 + s * r3 / 4))) + s * s * (10 + s * (6 * s - 15)) * miss);
    *rate = d0 + s * (h * dd0 + s * (r2 + s * r3));
    if (fabs(miss) > rounding) *rate += 30 * s * s * (1 - s) * (1 - s) * miss / h;
}

static double cubic(double theta, double h, double x0, double d0, double x1, double d1)
{
    double a = x1 - x0 - h * d0, b = h * (d1 - d0);
    return x0 + theta * (h * d0 + theta * (3 * a - b + theta * (b - 2 * a)));
}

// v from p' = Z v + z: coordinates may move by themselves (z: kinematics at v = 0)
static kd_eval velocity_of_rates(kd_dense_output *self, const double *r, double *v)
{
    kd_dims      d = self->dims;
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eval      answer = kd_position_update(&self->position, data);
    if (answer != KD_EVAL_OK) return answer;
    memset(v, 0, (size_t)d.nv * sizeof *v);
    kd_eom_at_velocity(data, v, r);
    answer = kd_eom_eval(data, KD_KINEMATICS, self->plus);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < d.np; i++) self->p1[i] -= self->plus[i];
    kd_gemv(d.nv, d.np, 1, self->position.Zplus, self->p1, 0, v); // v = Z+ (p' - z)
    return KD_EVAL_OK;
}

static kd_eval interpolate_motion(kd_dense_output *self, double t, double *x)
{
    kd_dims    d = self->dims;
    const end *e0 = &self->ends[0], *e1 = &self->ends[1];
    double     h = e1->t - e0->t, theta = (t - e0->t) / h;
    double    *p = x, *v = x + self->v;
    for (int i = 0; i < d.np; i++)
        kd_quintic(e0->t, e1->t, t, e0->x[i], e0->p1[i], e0->p2[i], e1->x[i], e1->p1[i], e1->p2[i], &p[i],
                   &self->p1[i]);
    for (int i = 0; i < d.nr; i++)
        x[self->r + i] = cubic(theta, h, e0->x[self->r + i], e0->r1[i], e1->x[self->r + i], e1->r1[i]);
    // guesses for what is solved at the point
    for (int i = self->w; i < self->n; i++) x[i] = (1 - theta) * e0->x[i] + theta * e1->x[i];
    if (self->position.identity) {
        memcpy(v, self->p1, (size_t)d.nv * sizeof(double));
        return KD_EVAL_OK;
    }
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eval      answer = kd_acceleration_at(self->acceleration, t, p, x + self->s, e0->x + self->v, e0->x + self->r);
    if (answer == KD_EVAL_OK) answer = kd_position_normalise(&self->position, data, x + self->s, p);
    if (answer == KD_EVAL_OK && kd_eom_velocities(data, p, self->p1, v)) return KD_EVAL_OK;
    return answer == KD_EVAL_OK ? velocity_of_rates(self, e0->x + self->r, v) : answer;
}

// Algebraic components at (t, p, v, r); x has guesses
static kd_eval solve_at(kd_dense_output *self, double t, double *x, double *a)
{
    return kd_acceleration_solve(self->acceleration, t, x, x + self->s, x + self->v, x + self->r, a ? a : self->a,
                                 x + self->w, x + self->lambda, x + self->mu);
}

static kd_eval project_at(kd_dense_output *self, double t, double *x)
{
    return kd_acceleration_project(self->acceleration, t, x, x + self->s, x + self->v, x + self->r, false);
}

kd_eval kd_dense_output_settle(kd_dense_output *self, double t, double *x, double *a)
{
    if (!self->project) return KD_EVAL_OK;
    kd_eval answer = KD_EVAL_OK;
    if (!self->position.identity) {
        kd_eom_data *data = kd_acceleration_data(self->acceleration);
        answer = kd_acceleration_at(self->acceleration, t, x, x + self->s, x + self->v, x + self->r);
        if (answer == KD_EVAL_OK) answer = kd_position_normalise(&self->position, data, x + self->s, x);
    }
    if (answer == KD_EVAL_OK) answer = project_at(self, t, x);
    return answer == KD_EVAL_OK ? solve_at(self, t, x, a) : answer;
}

// p, v, r, s at t inside of the interval
static kd_eval motion_inside(kd_dense_output *self, double t0, const double *x0, double t1, const double *x1, double t,
                             double *x, bool with_a)
{
    kd_eval answer = set_ends(self, t0, x0, t1, x1, with_a);
    if (answer == KD_EVAL_OK) answer = interpolate_motion(self, t, x);
    if (answer != KD_EVAL_OK) return answer;
    return self->project ? project_at(self, t, x) : kd_acceleration_contacts(self->acceleration, t, x, x + self->s);
}

kd_eval kd_dense_output_motion(kd_dense_output *self, double t0, const double *x0, double t1, const double *x1,
                               double t, double *x)
{
    if (t != t0 && t != t1) return motion_inside(self, t0, x0, t1, x1, t, x, true);
    memcpy(x, t == t1 ? x1 : x0, (size_t)self->n * sizeof *x);
    return KD_EVAL_OK;
}

kd_eval kd_dense_output_eval(kd_dense_output *self, double t0, const double *x0, double t1, const double *x1, double t,
                             double *x, double *a)
{
    kd_eval answer = KD_EVAL_OK;
    if (t == t0 || t == t1) {
        memcpy(x, t == t1 ? x1 : x0, (size_t)self->n * sizeof *x);
        if (!a) return answer;
    } else {
        answer = motion_inside(self, t0, x0, t1, x1, t, x, false);
    }
    return answer == KD_EVAL_OK ? solve_at(self, t, x, a) : answer;
}
