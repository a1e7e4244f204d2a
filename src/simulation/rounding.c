// rounding.c: what the rounding of the time costs where drives are very fast.
//
// In joint coordinates the load of a drive q(t) has the velocity v with v' = -q'' + ..: a method sums up q'' at its nodes
// t0 + c h, which are rounded to half a unit in the last place of t, e = u |t| / 2. Each step leaves up to
//
//     b h |q'''| e   <=   e |q''(t1) - q''(t0)|         in v
//
// of either sign, so that n steps leave the root of the sum of squares. A drive that takes seconds leaves nothing to speak
// of; one that moves 4 cm in 1e-8 s (accelerations of 1e14 m/s^2) leaves 1e-3 m/s, which no step control sees.
#include "simulation/rounding.h"

#include <float.h>
#include <math.h>

#include "core/archive.h"

#define BRIEF 1e5 // units in the last place of t over rtol: in longer steps rounding is nothing beside the tolerance

struct kd_rounding {
    kd_arena      arena;
    const kd_eom *eom;
    kd_inputs     inputs;
    int           n;           // drives
    double        rtol, atol;  // of velocities
    double       *q, *dq;      // (n)
    double       *start, *end; // (n) q'' at both ends of the last step
    double       *sum, *last;  // (n) squares so far, and of the last step
    double        t0, t1;      // of the last step
    char          name[100];   // of the drive with the largest error
};

kd_status kd_rounding_create(const kd_eom *eom, const kd_inputs *inputs, const kd_integrator_info *method, double rtol,
                             double atol, kd_rounding **rounding)
{
    const int n = kd_eom_definition(eom)->ndrives;
    *rounding = NULL;
    if (n == 0 || method->nnodes <= 1) return KD_OK;
    kd_rounding *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    self->inputs = *inputs;
    self->eom = eom;
    self->n = n;
    self->rtol = rtol;
    self->atol = atol;
    self->t0 = self->t1 = NAN;
    double **vector[] = {&self->q, &self->dq, &self->start, &self->end, &self->sum, &self->last};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++) *vector[k] = kd_cut_double(&self->arena, n);
    if (self->arena.failed) {
        kd_rounding_destroy(self);
        return KD_ERR_MEMORY;
    }
    *rounding = self;
    return KD_OK;
}

void kd_rounding_destroy(kd_rounding *self)
{
    if (!self) return;
    kd_arena_release(&self->arena);
    kd_free(self);
}

// q'' at a time
static bool take(kd_rounding *self, kd_eom_data *data, double t, const kd_state *x, double *ddq)
{
    return kd_eom_at_instant(data, &self->inputs, t, x) == KD_EVAL_OK &&
           kd_eom_drives(data, self->q, self->dq, ddq) == KD_EVAL_OK;
}

void kd_rounding_see(kd_rounding *self, kd_eom_data *data, double t0, double t1, const kd_state *x)
{
    const double ulp = DBL_EPSILON * fmax(fabs(t0), fabs(t1));
    // the last step stays, unless this one takes its place
    for (int i = 0; i < self->n; i++) {
        if (t0 >= self->t1) self->sum[i] += self->last[i];
        self->last[i] = 0;
    }
    const bool follows = t0 == self->t1, again = t0 == self->t0;
    self->t0 = self->t1 = NAN;
    if (!(self->rtol * (t1 - t0) < BRIEF * ulp)) return;
    // accelerations at its ends; those of its start are known from the step before, or from its first attempt
    if (follows) {
        double *start = self->start;
        self->start = self->end;
        self->end = start;
    } else if (!again && !take(self, data, t0, x, self->start)) {
        return;
    }
    if (!take(self, data, t1, x, self->end)) return;
    for (int i = 0; i < self->n; i++) {
        const double error = 0.5 * ulp * fabs(self->end[i] - self->start[i]) / self->atol;
        self->last[i] = error * error;
    }
    self->t0 = t0;
    self->t1 = t1;
}

double kd_rounding_error(kd_rounding *self, const char **by)
{
    double most = 0;
    int    worst = 0;
    for (int i = 0; i < self->n; i++) {
        const double error = sqrt(self->sum[i] + self->last[i]);
        if (error > most) most = error, worst = i;
    }
    *by = kd_eom_name(self->eom, KD_NAME_DRIVE, worst, self->name, sizeof self->name);
    return most;
}

void kd_rounding_archive(kd_rounding *self, kd_archive *a)
{
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    KD_ARCHIVE_REALS(a, &self->t0, &self->t1);
}
