// exchange.c: states of a foreign integrator, answers at the closest state on the constraints, instants by hybrid.c.
#include "simulation/exchange.h"

#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "simulation/hybrid.h"
#include "simulation/limit.h"

#define DRIFT 0.1        // of the tolerance: y is put back at the next instant
enum { AT_ONCE = 1000 }; // instants at one time

struct kd_exchange {
    const kd_eom         *eom;
    kd_inputs             inputs;
    kd_simulation_options opt;
    kd_dims               dims;
    kd_arena              arena;
    kd_state             *x;      // on the constraints, complete
    kd_eom_data          *data;   // the one evaluation point of all that follows
    kd_limit             *limit;  // solves and projects
    kd_hybrid            *hybrid; // NULL: nothing happens at instants
    double               *y;      // (np + nv + nr) as the client has them
    double                t;
    double                t_event; // of the last instant or step
    double right;   // the first time behind the last instant, which may be some ulp later than the client's
    bool   fresh;   // x is that of (t, y)
    bool   drifted; // y is to be put back
    char   message[900];
};

static kd_status refuse_exchange(kd_exchange *self, kd_status status, const char *why)
{
    if (status < 0) kd_text(self->message, sizeof self->message, "t = %.9g: %s", self->t, why);
    return status;
}

// There is no dense output: a client has found the instant
static kd_status no_motion(double t, kd_state *x, void *context)
{
    (void)context;
    return t == x->t ? KD_OK : KD_ERR_STAGE;
}

static void copy_states(const kd_dims *d, const kd_state *x, double *y)
{
    memcpy(y, x->p, (size_t)d->np * sizeof *y);
    memcpy(y + d->np, x->v, (size_t)d->nv * sizeof *y);
    if (d->nr > 0) memcpy(y + d->np + d->nv, x->r, (size_t)d->nr * sizeof *y);
}

static void put_states(const kd_dims *d, const double *y, kd_state *x)
{
    memcpy(x->p, y, (size_t)d->np * sizeof *y);
    memcpy(x->v, y + d->np, (size_t)d->nv * sizeof *y);
    if (d->nr > 0) memcpy(x->r, y + d->np + d->nv, (size_t)d->nr * sizeof *y);
}

// y and t are those of x, which is complete
static void take_state(kd_exchange *self)
{
    copy_states(&self->dims, self->x, self->y);
    self->t = self->t_event = self->right = self->x->t;
    self->fresh = true;
    self->drifted = false;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// Consistent values, then what is due at the start
static kd_status begin(kd_exchange *self)
{
    kd_status status = kd_initial_consistent(self->eom, &self->inputs, &self->opt.initial, self->x, self->message,
                                             sizeof self->message);
    if (status >= 0 && self->hybrid) {
        status = kd_hybrid_begin(self->hybrid, true);
        if (status < 0) kd_text(self->message, sizeof self->message, "%s", kd_hybrid_message(self->hybrid));
    }
    self->t = self->x->t;
    if (status >= 0)
        status = refuse_exchange(self, kd_limit_solve(self->limit, self->x), kd_limit_message(self->limit));
    if (status >= 0) take_state(self);
    return status;
}

kd_status kd_exchange_create(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt, kd_state *x,
                             kd_exchange **exchange, char *message, size_t size)
{
    *exchange = NULL;
    kd_exchange *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    self->eom = eom;
    self->inputs = *inputs;
    self->opt = *opt;
    self->dims = kd_eom_dims(eom);
    self->x = x;
    // tolerances of the run are those of the integrator options
    if (opt->rtol > 0) self->opt.integrator_options.rtol = opt->rtol;
    if (opt->atol > 0) self->opt.integrator_options.atol = opt->atol;
    self->y = kd_cut_double(&self->arena, self->dims.np + self->dims.nv + self->dims.nr);
    kd_status status = self->arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status >= 0) status = kd_eom_data_create(eom, &self->data);
    self->opt.initial.point = self->data;
    if (status >= 0) status = kd_limit_create(self->data, &self->inputs, &self->opt, x, NULL, &self->limit);
    if (status >= 0)
        status = kd_hybrid_create(self->data, &self->inputs, &self->opt, x, no_motion, self, &self->hybrid);
    if (status >= 0) status = begin(self);
    if (message && size > 0) kd_text(message, size, "%s", self->message);
    if (status < 0)
        kd_exchange_destroy(self);
    else
        *exchange = self;
    return status;
}

kd_status kd_exchange_foresee(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt, kd_state *x,
                              int *indicators)
{
    kd_hybrid   *hybrid = NULL;
    kd_eom_data *data;
    kd_status    status = kd_eom_data_create(eom, &data);
    if (status >= 0) status = kd_hybrid_create(data, inputs, opt, x, no_motion, NULL, &hybrid);
    *indicators = status < 0 ? 0 : kd_hybrid_functions(hybrid);
    kd_hybrid_destroy(hybrid);
    kd_eom_data_destroy(data);
    return status;
}

void kd_exchange_destroy(kd_exchange *self)
{
    if (!self) return;
    kd_hybrid_destroy(self->hybrid);
    kd_limit_destroy(self->limit);
    kd_eom_data_destroy(self->data);
    kd_arena_release(&self->arena);
    kd_free(self);
}

const char *kd_exchange_message(const kd_exchange *self)
{
    return self->message;
}

// ---- states ---------------------------------------------------------------------------------------------------------

int kd_exchange_count(const kd_exchange *self)
{
    return self->dims.np + self->dims.nv + self->dims.nr;
}

int kd_exchange_indicators(const kd_exchange *self)
{
    return kd_hybrid_functions(self->hybrid);
}

void kd_exchange_set_time(kd_exchange *self, double t)
{
    if (t != self->t) self->fresh = false;
    self->t = t;
}

void kd_exchange_set_states(kd_exchange *self, const double *y)
{
    const size_t bytes = (size_t)kd_exchange_count(self) * sizeof *y;
    if (memcmp(self->y, y, bytes) != 0) self->fresh = false;
    memcpy(self->y, y, bytes);
}

void kd_exchange_states(const kd_exchange *self, double *y)
{
    memcpy(y, self->y, (size_t)kd_exchange_count(self) * sizeof *y);
}

void kd_exchange_touch(kd_exchange *self)
{
    self->fresh = false;
}

// ---- answers --------------------------------------------------------------------------------------------------------

static bool is_constrained(const kd_exchange *self)
{
    return self->dims.nlambda + self->dims.nmu + self->dims.nq > 0;
}

kd_status kd_exchange_bring(kd_exchange *self)
{
    if (self->fresh) return KD_OK;
    self->x->t = fmax(self->t, self->right);
    put_states(&self->dims, self->y, self->x);
    const kd_status status =
        is_constrained(self) ? kd_limit_project(self->limit, self->x, false) : kd_limit_solve(self->limit, self->x);
    self->fresh = status >= 0;
    return refuse_exchange(self, status, kd_limit_message(self->limit));
}

// p' = Z v, v' = a, r' = b
kd_status kd_exchange_derivatives(kd_exchange *self, double *dy)
{
    const kd_dims *d = &self->dims;
    kd_eom_data   *data;
    kd_status      status = kd_exchange_bring(self);
    if (status >= 0)
        status = refuse_exchange(self, kd_limit_at(self->limit, self->x, &data), kd_limit_message(self->limit));
    if (status < 0) return status;
    kd_eval answer = d->np > 0 ? kd_eom_eval(data, KD_KINEMATICS, dy) : KD_EVAL_OK;
    if (d->nv > 0) memcpy(dy + d->np, self->x->a, (size_t)d->nv * sizeof *dy);
    if (d->nr > 0 && answer == KD_EVAL_OK) answer = kd_eom_eval(data, KD_B, dy + d->np + d->nv);
    return answer == KD_EVAL_OK ? KD_OK : refuse_exchange(self, KD_ERR_RETRY_FAILED, kd_eom_data_message(data));
}

kd_status kd_exchange_values(kd_exchange *self, double *indicators)
{
    kd_status status = kd_exchange_bring(self);
    if (status < 0 || !self->hybrid || kd_exchange_indicators(self) == 0) return status;
    return refuse_exchange(self, kd_hybrid_values(self->hybrid, self->x, indicators), kd_hybrid_message(self->hybrid));
}

// ---- steps and instants ---------------------------------------------------------------------------------------------

// Largest distance of y from x over the tolerance
static double drift(const kd_exchange *self)
{
    const kd_dims *d = &self->dims;
    const double   rtol = self->opt.integrator_options.rtol, atol = self->opt.integrator_options.atol;
    double         most = 0;
    for (int i = 0; i < d->np + d->nv; i++) {
        const double x = i < d->np ? self->x->p[i] : self->x->v[i - d->np];
        const double unit = i < d->np ? kd_eom_position_unit(self->eom, i) : kd_eom_unit(self->eom, i - d->np);
        most = fmax(most, fabs(self->y[i] - x) / (rtol * fabs(x) + atol * unit));
    }
    return most;
}

kd_status kd_exchange_completed(kd_exchange *self, bool *instant)
{
    *instant = false;
    if (!is_constrained(self)) {
        self->t_event = self->t;
        return KD_OK;
    }
    const kd_status status = kd_exchange_bring(self);
    if (status >= 0) self->drifted = self->drifted || drift(self) > DRIFT;
    *instant = status >= 0 && self->drifted;
    if (!*instant) self->t_event = self->t;
    return status;
}

double kd_exchange_next_time(const kd_exchange *self)
{
    return kd_hybrid_next_time(self->hybrid);
}

kd_status kd_exchange_instant(kd_exchange *self, bool *changed, bool *stop)
{
    *changed = *stop = false;
    kd_status status = kd_exchange_bring(self);
    if (status < 0) return status;
    bool passed = self->drifted;
    if (self->hybrid) {
        status = kd_hybrid_arrive(self->hybrid, self->t_event);
        for (int k = 0; k < AT_ONCE && status >= 0 && kd_hybrid_pending(self->hybrid); k++) {
            status = kd_hybrid_pass(self->hybrid);
            *stop = *stop || status == KD_STOPPED;
            passed = true;
        }
        if (status < 0) return refuse_exchange(self, status, kd_hybrid_message(self->hybrid));
    }
    if (!passed) return KD_OK;
    // the state behind it is that of the client from now on; the time may have moved on by rounding
    const double t = self->t;
    status = refuse_exchange(self, kd_limit_solve(self->limit, self->x), kd_limit_message(self->limit));
    if (status < 0) return status;
    double *y = self->y;
    *changed = memcmp(y, self->x->p, (size_t)self->dims.np * sizeof *y) != 0 ||
               memcmp(y + self->dims.np, self->x->v, (size_t)self->dims.nv * sizeof *y) != 0 ||
               (self->dims.nr > 0 &&
                memcmp(y + self->dims.np + self->dims.nv, self->x->r, (size_t)self->dims.nr * sizeof *y) != 0);
    take_state(self);
    self->t = t;
    return KD_OK;
}

// ---- saved ----------------------------------------------------------------------------------------------------------

void kd_exchange_archive(kd_exchange *self, kd_archive *a)
{
    kd_archive_tag(a, "exchange");
    kd_archive_same(a, kd_exchange_count(self), "the number of states");
    kd_archive_doubles(a, self->y, (size_t)kd_exchange_count(self));
    KD_ARCHIVE_REALS(a, &self->t, &self->t_event, &self->right);
    KD_ARCHIVE_BOOLS(a, &self->fresh, &self->drifted);
    kd_state_archive(self->x, a);
    kd_limit_archive(self->limit, a);
    if (self->hybrid) kd_hybrid_archive(self->hybrid, a);
}
