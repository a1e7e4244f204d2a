// unseen.c: asks the equations of motion whether laws took values inside a step that it has not seen.
#include "simulation/unseen.h"

#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "simulation/rounding.h"

static const double LONGER = 2; // than the last step that was looked at: so much may steps be that are not
// What steps may lose where a law has a kink or a jump inside, in tolerances: a part of what is left of the whole
static const double WHOLE = 200, PART = 0.05, LEAST = 1;
static const double PASSED = 1; // of that, in a step as long as those before: enough for a new start of methods with a
                                // memory
static const double JUMPED = 0.5; // of one tolerance: so much is lost at jumps, next to nothing at kinks
static const double FORGET = 0.9; // of the length of steps, from step to step

struct kd_unseen {
    const kd_integrator_info *method;

    kd_inputs       inputs;
    kd_eom_data    *data; // the driver's
    kd_arena        arena;
    int             nu;
    double         *u[2];               // (3 nu) inputs and their derivatives at both ends
    kd_state       *begun;              // start of the last step
    kd_state       *end;                // its end
    const kd_state *from;               // start of the step that is looked at; NULL: not known
    bool            is_begun, is_ended; // are they known?
    kd_step_seen    seen;
    double          clear_until, t_looked, h_looked; // behind t_looked steps that are not much longer need no look
    double          h_now, h_usual;                  // last step, and how long steps have been lately
    double          t_first;                         // where the method began; INFINITY: no step since then
    const char     *undecided;
    double       lost, lost_now; // by kinks and jumps, in tolerances: so far, and in the step that was looked at last
    const char  *lost_by, *lost_by_now;
    kd_rounding *rounding; // of times, where drives are fast; NULL: there are none
    char         why[200];
    char         kept[3][100]; // names that were read back
};

// Natural sizes of p, v, r; those of inner states are the form's
static const double *units_of(kd_unseen *self, const kd_eom *eom, const kd_dae *dae)
{
    const kd_dims d = kd_eom_dims(eom);
    double       *unit = kd_cut_double(&self->arena, d.np + d.nv + d.nr);
    int           k = d.np + d.nv;
    if (!unit) return NULL;
    for (int i = 0; i < d.np; i++) unit[i] = kd_eom_position_unit(eom, i);
    for (int j = 0; j < d.nv; j++) unit[d.np + j] = kd_eom_unit(eom, j) / kd_eom_time(eom);
    for (int i = 0; i < d.nr; i++) unit[k + i] = 1;
    for (int i = 0; i < dae->n && k < d.np + d.nv + d.nr; i++)
        if (dae->component[i] == KD_COMPONENT_INNER) unit[k++] = dae->unit[i];
    return unit;
}

kd_status kd_unseen_create(kd_eom_data *data, const kd_inputs *inputs, const kd_state *x,
                           const kd_integrator_info *method, double rtol, double atol, const kd_dae *dae,
                           kd_unseen **unseen)
{
    const kd_eom *eom = kd_eom_data_eom(data);
    *unseen = NULL;
    if (!kd_eom_definition(eom)->unseen) return KD_OK;
    kd_unseen *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    self->inputs = *inputs;
    self->nu = kd_eom_dims(eom).nu;
    self->seen = (kd_step_seen){rtol, atol, method->nnodes, method->nodes, false, 0.0, NULL};
    self->method = method;
    self->t_first = INFINITY;
    self->clear_until = -INFINITY;
    for (int k = 0; k < 2; k++) self->u[k] = kd_cut_double(&self->arena, 3 * self->nu);
    if (dae && dae->unit) self->seen.unit = units_of(self, eom, dae);
    self->data = data;
    kd_status status = self->arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status >= 0) status = kd_state_create(eom, &self->begun);
    if (status >= 0) status = kd_state_create(eom, &self->end);
    if (status >= 0) status = kd_rounding_create(eom, inputs, method, rtol, atol, &self->rounding);
    if (status < 0) {
        kd_unseen_destroy(self);
        return status;
    }
    kd_eom_at_parameters(self->data, x->theta);
    *unseen = self;
    return KD_OK;
}

void kd_unseen_destroy(kd_unseen *self)
{
    if (!self) return;
    kd_rounding_destroy(self->rounding);
    kd_state_destroy(self->begun);
    kd_state_destroy(self->end);
    kd_arena_release(&self->arena);
    kd_free(self);
}

// A point at the velocity stage, with its own inputs, which may be known already
static kd_eval point_of(kd_unseen *self, const kd_state *x, double *u, bool is_known, kd_point *point)
{
    const int nu = self->nu;
    // inputs at the end of the last look are those at the start of this one
    if (nu > 0 && !is_known) {
        memset(u, 0, 3 * (size_t)nu * sizeof *u);
        kd_eval answer =
            self->inputs.eval ? self->inputs.eval(x->t, self->inputs.context, u, u + nu, u + 2 * nu) : KD_EVAL_OK;
        if (answer != KD_EVAL_OK) return answer;
    }
    kd_eom_at_time(self->data, x->t, u, u + nu, u + 2 * nu, x->z);
    kd_eom_at_position(self->data, x->p, x->s);
    kd_eom_at_velocity(self->data, x->v, x->r);
    *point = *kd_eom_point(self->data);
    return KD_EVAL_OK;
}

void kd_unseen_restart(kd_unseen *self)
{
    self->is_begun = self->is_ended = false;
    self->seen.follows = false;
    self->clear_until = -INFINITY;
    self->t_first = INFINITY;
}

// The start of a step is the end of the one before, or the start of one that was taken back.
static const kd_state *start_of(kd_unseen *self, double t0, const kd_state *x)
{
    // the end of before becomes the start: pointers change places
    if (self->is_ended && self->end->t == t0) {
        kd_state *end = self->end;
        self->end = self->begun;
        self->begun = end;
        self->is_begun = true;
    }
    self->is_ended = false;
    return self->is_begun && self->begun->t == t0 ? self->begun : x->t == t0 ? x : NULL;
}

// The step that was looked at last has come to stay, or was taken back
static void take_lost(kd_unseen *self, bool stays)
{
    if (stays && self->lost_now > 0) {
        self->lost += self->lost_now;
        self->lost_by = self->lost_by_now;
    }
    self->lost_now = 0;
}

kd_state *kd_unseen_end(kd_unseen *self, double t0, double t1, const kd_state *x)
{
    const bool goes_on = t0 >= self->t_looked; // or the last step that was looked at was taken back
    // methods that live by their past have seen nothing but the ends of their first step, also when it is made again
    self->t_first = fmin(self->t_first, t0);
    self->seen.nnodes = t0 > self->t_first || self->method->one_step ? self->method->nnodes : 0;
    self->h_now = t1 - t0;
    self->h_usual = fmax(self->h_now, FORGET * self->h_usual);
    if (self->rounding) kd_rounding_see(self->rounding, self->data, t0, t1, x);
    // the start is unknown after a restart
    self->from = start_of(self, t0, x);
    if (self->from) take_lost(self, goes_on);
    // the last look promised that nothing happens until here, for steps that are not much longer
    if (self->from && goes_on && t1 <= self->clear_until && t1 - t0 <= LONGER * self->h_looked) return NULL;
    kd_state_copy(x, self->end);
    self->is_ended = true;
    return self->end;
}

kd_status kd_unseen_look(kd_unseen *self, kd_step_verdict *verdict)
{
    kd_point        p0, p1;
    kd_hidden       found;
    const kd_state *x0 = self->from, *x1 = self->end;
    if (!x0) return KD_OK;
    self->clear_until = -INFINITY;
    // both ends of the step, each with its inputs
    const bool is_last = self->seen.follows && x0->t == self->t_looked; // inputs of the last end
    double    *last = self->u[1];
    if (is_last) self->u[1] = self->u[0], self->u[0] = last;
    kd_eval answer = point_of(self, x0, self->u[0], is_last, &p0);
    if (answer == KD_EVAL_OK) answer = point_of(self, x1, self->u[1], false, &p1);
    // what may still be lost at kinks and jumps in this step
    self->seen.land = fmax(PART * (WHOLE - self->lost), LEAST);
    if (answer == KD_EVAL_OK) answer = kd_eom_unseen(self->data, &p0, &p1, &self->seen, &found);
    if (answer == KD_EVAL_STOP) return KD_ERR_CALLBACK_STOP;
    if (answer != KD_EVAL_OK) return KD_OK; // the step was accepted without it
    // what the search found is kept until it is known whether the step stays
    if (found.undecided) self->undecided = found.undecided;
    self->lost_now = found.lost;
    self->lost_by_now = found.name;
    self->seen.follows = true;
    self->clear_until = x1->t + found.clear;
    self->t_looked = x1->t;
    self->h_looked = x1->t - x0->t;
    // a step that should end earlier: where a law has taken values that nobody saw
    const double h = found.part * (x1->t - x0->t);
    if (!(h < verdict->h)) return KD_OK;
    kd_text(self->why, sizeof self->why, "'%s' took values inside that they had not seen", found.name);
    *verdict = (kd_step_verdict){h, found.size, self->why};
    return KD_OK;
}

bool kd_unseen_accounts(const kd_unseen *self, const kd_step_verdict *verdict)
{
    return self && verdict->why == self->why && self->lost_now > 0;
}

bool kd_unseen_jumped(const kd_unseen *self)
{
    return self && self->lost_now > JUMPED;
}

bool kd_unseen_passed(const kd_unseen *self)
{
    return self && self->lost_now * self->h_usual > PASSED * self->h_now;
}

double kd_unseen_lost(const kd_unseen *self, const char **by)
{
    if (self && by) *by = self->lost_by ? self->lost_by : self->lost_by_now;
    return self ? self->lost + self->lost_now : 0;
}

double kd_unseen_rounding(kd_unseen *self, const char **by)
{
    return self && self->rounding ? kd_rounding_error(self->rounding, by) : 0;
}

const char *kd_unseen_undecided(const kd_unseen *self)
{
    return self ? self->undecided : "";
}

const kd_state *kd_unseen_ended(const kd_unseen *self)
{
    return self->end;
}

void kd_unseen_archive(kd_unseen *self, kd_archive *a)
{
    kd_archive_tag(a, "unseen"); // data is the driver's
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    kd_state_archive(self->begun, a);
    kd_state_archive(self->end, a);
    KD_ARCHIVE_BOOLS(a, &self->is_begun, &self->is_ended, &self->seen.follows);
    KD_ARCHIVE_REALS(a, &self->clear_until, &self->t_looked, &self->h_looked, &self->h_now, &self->h_usual, &self->lost,
                     &self->lost_now, &self->t_first);
    if (self->rounding) kd_rounding_archive(self->rounding, a);
    kd_archive_words(a, &self->undecided, self->kept[0], sizeof self->kept[0]);
    kd_archive_words(a, &self->lost_by, self->kept[1], sizeof self->kept[1]);
    kd_archive_words(a, &self->lost_by_now, self->kept[2], sizeof self->kept[2]);
    if (a->reads) self->from = NULL; // of a look that is over
}
