// limit.c: what belongs to p, v, r at a time: the limits of a state from the left and from the right of an instant.
//
// On both sides of an instant p, v, r are known; s, a, w, lambda, mu follow from 0 = c, residual = 0, gII = 0, hI = 0,
// 0 = d. After a jump p and v are projected onto the constraints of the rows that are active behind it.
#include "simulation/limit.h"

#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "point/acceleration.h"
#include "simulation/fits.h"

#define AROUND 1e-8 // relative motion on the straight way: root of the unit roundoff

struct kd_limit {
    const kd_eom      *eom;
    kd_inputs          inputs;
    kd_dims            dims;
    kd_initial_options initial; // of projections that go far
    kd_event_rows     *rows;
    kd_acceleration   *acceleration; // solver for s, a, w, lambda, mu
    kd_arena           arena;
    bool               invariants;          // the formulation imposes 0 = e
    bool               needs_accelerations; // of the definition's functions
    int                count;               // switching functions, those of rows included
    double            *increment;           // (nv)
    double            *e;                   // (ne) invariants
    double            *level;               // (nlambda + nmu) residuals
    char               message[700];
};

kd_status kd_limit_create(kd_eom_data *point, const kd_inputs *inputs, const kd_simulation_options *opt,
                          const kd_state *x, kd_event_rows *rows, kd_limit **limit)
{
    const kd_eom *eom = kd_eom_data_eom(point);
    *limit = NULL;
    kd_limit *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    self->eom = eom;
    self->inputs = *inputs;
    self->dims = kd_eom_dims(eom);
    // as at the start, but without its conditions and held values: those were for one state only
    self->initial = opt->initial;
    self->initial.nconditions = 0; // of the start only
    self->initial.hold_p = self->initial.hold_v = NULL;
    self->initial.assume = false;
    self->initial.point = point;
    self->rows = rows;
    self->count = self->dims.nswitch + (rows ? kd_event_rows_count(rows) : 0);
    // invariants are imposed behind an instant where the formulation imposes them in its steps
    self->invariants = opt->formulation_options.invariants && self->dims.ne > 0 &&
                       kd_formulation_about(kd_method_named(opt).formulation)->keeps_invariants;
    // functions of motion only need no forces: dense output is enough for them
    self->needs_accelerations = kd_eom_depends(eom, KD_SWITCH, KD_A) || kd_eom_depends(eom, KD_SWITCH, KD_W) ||
                                kd_eom_depends(eom, KD_SWITCH, KD_LAMBDA) || kd_eom_depends(eom, KD_SWITCH, KD_MU);
    self->e = kd_cut_double(&self->arena, self->dims.ne);
    self->level = kd_cut_double(&self->arena, self->dims.nlambda + self->dims.nmu);
    self->increment = kd_cut_double(&self->arena, self->dims.nv);
    kd_status              status = self->arena.failed ? KD_ERR_MEMORY : KD_OK;
    kd_formulation_options options = opt->formulation_options;
    options.point = point;
    if (status >= 0) status = kd_acceleration_create(eom, &self->inputs, x, &options, &self->acceleration);
    if (status < 0) {
        kd_limit_destroy(self);
        return status;
    }
    *limit = self;
    return KD_OK;
}

void kd_limit_destroy(kd_limit *self)
{
    if (!self) return;
    kd_acceleration_destroy(self->acceleration);
    kd_arena_release(&self->arena);
    kd_free(self);
}

// ---- faults ---------------------------------------------------------------------------------------------------------

static kd_status status_of(kd_status fault, kd_eval answer)
{
    if (fault < 0) return fault;
    return answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
}

kd_status kd_limit_fault(kd_limit *self, kd_eval answer)
{
    if (answer == KD_EVAL_OK) return KD_OK;
    const kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_text(self->message, sizeof self->message, "%s", kd_eom_data_message(data));
    return status_of(kd_eom_data_fault(data).status, answer);
}

static kd_status solver_fault(kd_limit *self, kd_eval answer)
{
    if (answer == KD_EVAL_OK) return KD_OK;
    const char *text = "";
    kd_status   status = kd_acceleration_fault(self->acceleration, &text);
    kd_text(self->message, sizeof self->message, "%s", text);
    return status_of(status, answer);
}

kd_acceleration *kd_limit_acceleration(kd_limit *self)
{
    return self ? self->acceleration : NULL;
}

const char *kd_limit_message(const kd_limit *self)
{
    return self ? self->message : "";
}

// ---- states ---------------------------------------------------------------------------------------------------------

kd_status kd_limit_solve(kd_limit *self, kd_state *x)
{
    // contact coordinates first: forces depend on them
    kd_eval answer = kd_acceleration_contacts(self->acceleration, x->t, x->p, x->s);
    if (answer == KD_EVAL_OK)
        answer = kd_acceleration_solve(self->acceleration, x->t, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu);
    if (answer == KD_EVAL_OK) x->unsolved = false;
    return solver_fault(self, answer);
}

// Largest residual of the active rows on position and velocity level
static kd_eval largest_residual(kd_limit *self, const kd_state *x, double *largest)
{
    kd_dims      d = self->dims;
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    *largest = 0;
    kd_eval answer = kd_acceleration_at(self->acceleration, x->t, x->p, x->s, x->v, x->r);
    // position level, velocity level, then the rows of h
    for (int level = 0; level < 2 && d.nlambda > 0 && answer == KD_EVAL_OK; level++) {
        answer = kd_eom_eval(data, level == 0 ? KD_G : KD_GI, self->level);
        for (int i = 0; i < d.nlambda && answer == KD_EVAL_OK; i++)
            if (x->active_lambda[i]) *largest = fmax(*largest, fabs(self->level[i]));
    }
    if (d.nmu > 0 && answer == KD_EVAL_OK) answer = kd_eom_eval(data, KD_H, self->level);
    for (int i = 0; i < d.nmu && answer == KD_EVAL_OK; i++)
        if (x->active_mu[i]) *largest = fmax(*largest, fabs(self->level[i]));
    return answer;
}

// Behind an event invariants that are "as at the start" begin anew: z takes what they are on the constraints there.
static kd_eval take_invariants(kd_limit *self, kd_state *x)
{
    const int *at = kd_eom_definition(self->eom)->e_at_start;
    if (!at || !self->invariants) return KD_EVAL_OK;
    kd_eval answer = kd_acceleration_project(self->acceleration, x->t, x->p, x->s, x->v, x->r, false);
    if (answer == KD_EVAL_OK) answer = kd_acceleration_at(self->acceleration, x->t, x->p, x->s, x->v, x->r);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(kd_acceleration_data(self->acceleration), KD_E, self->e);
    for (int i = 0; i < self->dims.ne && answer == KD_EVAL_OK; i++)
        if (at[i] >= 0) x->z[at[i]] += self->e[i];
    return answer;
}

kd_status kd_limit_project(kd_limit *self, kd_state *x, bool far)
{
    // one projection is enough near the constraints; far from them the whole start of initial.c is made
    double  left = 0;
    kd_eval answer = far ? take_invariants(self, x) : KD_EVAL_OK;
    if (answer == KD_EVAL_OK)
        answer = kd_acceleration_project(self->acceleration, x->t, x->p, x->s, x->v, x->r, self->invariants);
    if (answer == KD_EVAL_OK && far) answer = largest_residual(self, x, &left);
    if (far && (answer == KD_EVAL_RETRY || left > self->initial.tolerance)) {
        kd_status status =
            kd_initial_consistent(self->eom, &self->inputs, &self->initial, x, self->message, sizeof self->message);
        return status < 0 ? status : KD_OK;
    }
    kd_status status = solver_fault(self, answer);
    return status < 0 ? status : kd_limit_solve(self, x);
}

// ---- functions ------------------------------------------------------------------------------------------------------

kd_status kd_limit_at(kd_limit *self, const kd_state *x, kd_eom_data **data)
{
    kd_eom_data *d = kd_acceleration_data(self->acceleration);
    kd_eval      answer = kd_acceleration_at(self->acceleration, x->t, x->p, x->s, x->v, x->r);
    if (answer == KD_EVAL_OK) kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    if (data) *data = d;
    return solver_fault(self, answer);
}

bool kd_limit_needs_accelerations(const kd_limit *self, const kd_state *x)
{
    return self->needs_accelerations || (self->rows && kd_event_rows_need_multipliers(self->rows, x));
}

int kd_limit_count(const kd_limit *self)
{
    return self->count;
}

kd_status kd_limit_values(kd_limit *self, const kd_state *x, double *out)
{
    kd_eom_data *data;
    if (self->count == 0) return KD_OK;
    kd_status status = kd_limit_at(self, x, &data);
    if (status < 0) return status;
    // functions of the definition, then those of the rows behind them
    kd_eval answer = self->dims.nswitch > 0 ? kd_eom_eval(data, KD_SWITCH, out) : KD_EVAL_OK;
    if (answer == KD_EVAL_OK && self->rows)
        answer = kd_event_rows_values(self->rows, data, x, out + self->dims.nswitch);
    return kd_limit_fault(self, answer);
}

static double largest(int n, const double *x)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

// The straight way has no curvature, so that a tau which rounding bears does not overtake a short flight.
kd_status kd_limit_around(kd_limit *self, const kd_state *x, kd_state *moved, double *after, double *before)
{
    // a motion that changes neither p nor v by more than root eps
    kd_dims      d = self->dims;
    kd_eom_data *data;
    double       speed = largest(d.nv, x->v) / (1 + largest(d.np, x->p));
    double       tau = AROUND / fmax(fmax(speed, largest(d.nv, x->a) / (1 + largest(d.nv, x->v))), AROUND);
    kd_status    status = KD_OK;
    for (int k = 0; k < 2 && status >= 0; k++) {
        double step = k == 0 ? tau : -tau;
        kd_state_copy(x, moved);
        status = kd_limit_at(self, x, &data);
        if (status < 0) return status;
        // p (+) tau v, v + tau a, r + tau b
        for (int i = 0; i < d.nv; i++) {
            self->increment[i] = step * x->v[i];
            moved->v[i] += step * x->a[i];
        }
        if (d.nr > 0) status = kd_limit_fault(self, kd_eom_eval(data, KD_B, moved->r));
        for (int i = 0; i < d.nr; i++) moved->r[i] = x->r[i] + step * moved->r[i];
        if (status >= 0) status = kd_limit_fault(self, kd_eom_oplus(data, x->p, self->increment, moved->p));
        if (status >= 0) status = kd_limit_values(self, moved, k == 0 ? after : before);
    }
    return status;
}

const char *kd_limit_name(const kd_limit *self, int i, char *buffer, size_t size)
{
    if (i >= self->dims.nswitch) return kd_event_rows_name(self->rows, i - self->dims.nswitch, buffer, size);
    char name[128];
    kd_eom_name(self->eom, KD_NAME_SWITCH, i, name, sizeof name);
    const char *quote = strchr(name, '\'') ? "" : "'"; // names of models bring their own
    kd_text(buffer, size, "switching function %s%s%s", quote, name, quote);
    return buffer;
}

kd_status kd_limit_sample(kd_limit *self, const kd_state *x, double *z)
{
    kd_eom_data *data;
    kd_status    status = kd_limit_at(self, x, &data);
    return status < 0 ? status : kd_limit_fault(self, kd_eom_discrete(data, z));
}

kd_status kd_limit_next(kd_limit *self, const kd_state *x, double *next_break, double *next_sample)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eval      answer = kd_acceleration_at(self->acceleration, x->t, x->p, x->s, x->v, x->r);
    if (answer != KD_EVAL_OK) return solver_fault(self, answer);
    // a definition that answers the present time would stop the run here for ever
    const char *wrong = NULL;
    *next_break = kd_eom_next_break(data);
    *next_sample = kd_eom_next_sample(data);
    if (!(*next_break > x->t)) wrong = "next_break";
    if (!(*next_sample > x->t)) wrong = "next_sample";
    if (!wrong) return KD_OK;
    kd_text(self->message, sizeof self->message, "%s answered a time that is not behind the present one, t = %.17g",
            wrong, x->t);
    return KD_ERR_DEFINITION;
}

void kd_limit_archive(kd_limit *self, kd_archive *a)
{
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    kd_acceleration_archive(self->acceleration, a);
}
