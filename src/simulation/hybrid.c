// hybrid.c: instants of hybrid equations (S1 Eq. 30, 31), in the order of their actions:
//
//     events of switching functions, one-sided rows and dry friction, samples, consistent values, next times.
//
// Method: docs/methods/events.md
#include "simulation/hybrid_parts.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"

#define BEFORE 4 // [ulp] a step ends so far before a break
#define SLACK 8  // [ulp] times that are so close are one
#define AT_ZERO                                                                                                        \
    1e-14        // value of a function at the start that does not tell its sign; of rows: relative to what they compare
#define BAND 4.0 // a function that crossed has left zero when it is so many times as large as at its crossing
#define NOISE 64 // [ulp] or as its change in such a time
#define HARDLY 1.000001 // growth of that band by a crossing at its edge
#define SHORTEST 1e-12  // of the time: strides to rest
#define TOLD_PER_ROW 4  // events of one row at one instant
#define AT_ONCE 4       // breaks that come at once

// ---- life cycle -----------------------------------------------------------------------------------------------------

static bool is_hybrid(const kd_eom *eom, const kd_event_rows *rows)
{
    const kd_eom_def *def = kd_eom_definition(eom);
    return rows || def->switching || def->next_break || def->next_sample || def->discrete;
}

// Rows know how exact velocities are.
static void set_noise(kd_event_rows *rows, const kd_simulation_options *opt)
{
    const kd_integrator_options *own = &opt->integrator_options;
    kd_event_rows_tolerances(rows, own->rtol, own->atol, opt->formulation_options.natural);
}

static kd_status create_states(kd_hybrid *self)
{
    // before, jump, inside and both ends of a part of a step
    kd_state **const states[] = {&self->before, &self->jump, &self->inside, &self->end[0], &self->end[1]};
    kd_status        status = KD_OK;
    for (size_t i = 0; i < sizeof states / sizeof *states && status >= 0; i++)
        status = kd_state_create(self->eom, states[i]);
    return status;
}

kd_status kd_hybrid_create(kd_eom_data *point, const kd_inputs *inputs, const kd_simulation_options *opt, kd_state *x,
                           kd_dense_motion motion, void *context, kd_hybrid **hybrid)
{
    const kd_eom  *eom = kd_eom_data_eom(point);
    kd_event_rows *rows;
    *hybrid = NULL;
    kd_status status = kd_event_rows_create(point, inputs, &opt->events, &rows);
    if (status < 0 || !is_hybrid(eom, rows)) return status;
    kd_hybrid *self = kd_alloc(sizeof *self);
    if (!self) {
        kd_event_rows_destroy(rows);
        return KD_ERR_MEMORY;
    }
    self->eom = eom;
    self->opt = opt->events;
    self->dims = kd_eom_dims(eom);
    self->motion = motion;
    self->motion_context = context;
    self->x = x;
    self->rows = rows;
    if (rows) set_noise(rows, opt);
    self->next_break = self->next_sample = HUGE_VAL;
    // most events that one instant can tell: each function once, each row a few times, break, sample, kicks
    status = create_states(self);
    if (status >= 0) status = kd_limit_create(point, inputs, opt, x, rows, &self->limit);
    if (status >= 0) {
        int n = kd_limit_count(self->limit);
        int room = self->dims.nswitch + TOLD_PER_ROW * (n - self->dims.nswitch) + 2 + kd_kick_room(eom);
        kd_teller_cut(&self->teller, &self->arena, &opt->events, room);
        self->inputs = kd_cut_matrix(&self->arena, 6, self->dims.nu);
        kd_crossing_cut(&self->crossing, &self->arena, n,
                        kd_integrator_about(kd_method_named(opt).integrator, &opt->integrator_options)->turns);
        self->fall = kd_cut_double(&self->arena, n);
        self->alone = kd_arena_cut(&self->arena, (size_t)self->dims.nswitch, 1);
        self->seen = kd_arena_cut(&self->arena, (size_t)n, 1);
        self->moving = kd_arena_cut(&self->arena, (size_t)self->dims.nlambda + (size_t)self->dims.nmu, 1);
        self->kicked = kd_arena_cut(&self->arena, (size_t)(n - self->dims.nswitch), 1);
        if (self->arena.failed) status = KD_ERR_MEMORY;
        if (status >= 0 && kd_eom_definition(eom)->next_break)
            status = kd_kick_create(eom, kd_limit_acceleration(self->limit), &self->kick);
    }
    if (status < 0) {
        kd_hybrid_destroy(self);
        return status;
    }
    *hybrid = self;
    return KD_OK;
}

void kd_hybrid_destroy(kd_hybrid *self)
{
    if (!self) return;
    kd_kick_destroy(self->kick);
    kd_limit_destroy(self->limit);
    kd_event_rows_destroy(self->rows);
    kd_state_destroy(self->before);
    kd_state_destroy(self->jump);
    kd_state_destroy(self->inside);
    for (int k = 0; k < 2; k++) kd_state_destroy(self->end[k]);
    kd_arena_release(&self->arena);
    kd_free(self);
}

long kd_hybrid_count(const kd_hybrid *self, kd_event_kind kind)
{
    return (int)kind >= 0 && kind < KD_EVENT_KIND_COUNT ? self->teller.count[kind] : 0;
}

const char *kd_hybrid_message(const kd_hybrid *self)
{
    return self ? self->message : "";
}

bool kd_hybrid_pending(const kd_hybrid *self)
{
    return self->pending;
}

bool kd_hybrid_is_smooth(const kd_hybrid *self)
{
    return self->smooth;
}

bool kd_hybrid_watch(const kd_hybrid *self)
{
    return self->crossing.n > 0;
}

kd_status kd_hybrid_failed(kd_hybrid *self, kd_status status, const char *where)
{
    if (status < 0)
        kd_text(self->message, sizeof self->message, "%s at t = %.9g: %s", where, self->x->t,
                kd_limit_message(self->limit));
    return status;
}

// ---- times ----------------------------------------------------------------------------------------------------------

double kd_hybrid_ulps(double t, int n)
{
    return n * DBL_EPSILON * fabs(t);
}

// Friction that varies close to rest would be stepped over: the way to rest is taken in strides, at the rates of the
// last step.
static double end_of_stride(const kd_hybrid *self, double t)
{
    // rows of friction that fell in the last step: not farther than their own stride at that rate
    for (int i = self->dims.nswitch; i < self->crossing.n; i++) {
        if (!(self->fall[i] > 0)) continue;
        double stride =
            kd_event_rows_stride(self->rows, self->x, i - self->dims.nswitch, fabs(self->crossing.start[i]));
        t = fmin(t, self->x->t + fmax(stride / self->fall[i], SHORTEST * fabs(self->x->t)));
    }
    return t;
}

double kd_hybrid_target(const kd_hybrid *self, double t_end)
{
    // the nearest of everything that is known in advance
    double t = end_of_stride(self, fmin(t_end, fmin(self->next_break, self->next_sample)));
    // events in quick succession: dense output of a long step would have no digits left for the next one
    t = kd_chatter_target(&self->chatter, self->x->t, t);
    // functions of time are one-sided: the step ends just before the break, on its left side
    if (self->next_break <= t + kd_hybrid_ulps(t, SLACK))
        t = self->next_break - kd_hybrid_ulps(self->next_break, BEFORE);
    return fmax(t, self->x->t);
}

void kd_hybrid_find_due(kd_hybrid *self, double t)
{
    // a break that is due pulls a sample at the same time with it
    double at = self->next_break <= t + kd_hybrid_ulps(t, SLACK) ? fmax(t, self->next_break) : t;
    self->at_break = at > t || self->next_break == t;
    self->at_sample = self->next_sample <= at + kd_hybrid_ulps(at, SLACK);
}

static bool is_at_once(const kd_hybrid *self)
{
    const double t = self->x->t;
    return self->next_break <= t + kd_hybrid_ulps(t, SLACK) + DBL_MIN;
}

// ---- steps of somebody else -----------------------------------------------------------------------------------------

int kd_hybrid_functions(const kd_hybrid *self)
{
    return self ? self->crossing.n : 0;
}

double kd_hybrid_next_time(const kd_hybrid *self)
{
    // just before a break, on its left side
    return self ? fmin(self->next_break - kd_hybrid_ulps(self->next_break, BEFORE), self->next_sample) : HUGE_VAL;
}

kd_status kd_hybrid_values(kd_hybrid *self, const kd_state *x, double *out)
{
    const kd_crossing *c = &self->crossing;
    kd_status          status = kd_hybrid_failed(self, kd_limit_values(self->limit, x, out), "switching functions");
    for (int i = 0; i < c->n && status >= 0; i++)
        if (fabs(out[i]) <= fmax(c->band[i], DBL_MIN)) out[i] = c->side[i] < 0 ? -DBL_MIN : DBL_MIN;
    return status;
}

kd_status kd_hybrid_arrive(kd_hybrid *self, double t0)
{
    kd_crossing *c = &self->crossing;
    self->message[0] = '\0';
    self->has_crossed = false;
    self->from = t0;
    self->tolerance = fmax(self->opt.accuracy * (self->x->t - t0), kd_hybrid_ulps(self->x->t, 4));
    kd_hybrid_find_due(self, self->x->t);
    kd_status status =
        c->n > 0 ? kd_hybrid_failed(self, kd_limit_values(self->limit, self->x, c->end), "switching functions") : KD_OK;
    for (int i = 0; i < c->n && status >= 0; i++) {
        const double value = c->end[i];
        c->crossed[i] = 0;
        if (fabs(value) <= c->band[i]) continue;
        // it shows its side for the first time, or has changed it
        const bool crossed = c->side[i] != 0 && c->side[i] * value < 0;
        if (crossed) c->crossed[i] = (signed char)-c->side[i];
        self->has_crossed = self->has_crossed || crossed;
        if (c->side[i] == 0) c->side[i] = value > 0 ? 1 : -1;
        if (!crossed) c->band[i] = 0;
    }
    for (int i = 0; i < c->n && status >= 0; i++) {
        self->fall[i] = 0;
        if (!self->has_crossed) c->start[i] = c->end[i];
    }
    self->pending = self->has_crossed || self->at_break || self->at_sample;
    return status;
}

// ---- what happens at an instant -------------------------------------------------------------------------------------

static kd_status settle(kd_hybrid *self)
{
    kd_status status = KD_OK;
    // KD_NEED_PROJECT: positions, velocities and then forces; KD_NEED_SOLVE: forces and accelerations only
    if (self->need == KD_NEED_PROJECT) status = kd_limit_project(self->limit, self->x, true);
    if (self->need == KD_NEED_SOLVE) status = kd_limit_solve(self->limit, self->x);
    if (status >= 0) self->need = KD_NEED_NOTHING;
    return kd_hybrid_failed(self, status, "no consistent state behind an instant");
}

static void lack(kd_hybrid *self, kd_need what)
{
    if (what > self->need) self->need = what;
}

static kd_need lack_behind_break(const kd_hybrid *self)
{
    return self->dims.nlambda + self->dims.nmu > 0 ? KD_NEED_PROJECT : KD_NEED_SOLVE;
}

// A break that comes at once belongs to the present time, which becomes the first of its right side: at the start
// `if(t > 0, 1, 0)` has the value 0 of the left side at t = 0.
static kd_status next_times(kd_hybrid *self)
{
    kd_status status = KD_OK;
    // several breaks may stand at the same time; each one moves it on by some ulp
    for (int k = 0; k < AT_ONCE && status >= 0; k++) {
        status = kd_hybrid_failed(self, kd_limit_next(self->limit, self->x, &self->next_break, &self->next_sample),
                                  "next instants");
        if (status < 0 || !is_at_once(self)) break;
        self->x->t = self->next_break;
        lack(self, lack_behind_break(self));
        status = settle(self);
    }
    return status;
}

// What an event has written, with the values of its jump, becomes the state.
static void take_jump(kd_hybrid *self, const kd_jump *jump)
{
    kd_state    *x = self->x;
    kd_dims      d = self->dims;
    const size_t bytes = (size_t)d.nz * sizeof(double);
    bool         z_changed = d.nz > 0 && memcmp(x->z, jump->z, bytes) != 0;
    if (jump->moved) {
        kd_state_copy(self->jump, x);
        // rows that do not act have no multipliers
        for (int i = 0; i < d.nlambda; i++)
            if (!x->active_lambda[i]) x->lambda[i] = 0;
        for (int i = 0; i < d.nmu; i++)
            if (!x->active_mu[i]) x->mu[i] = 0;
    } else if (z_changed) {
        memcpy(x->z, jump->z, bytes);
    }
    self->moved = self->moved || jump->moved;
    // z alone asks for forces anew; p, v, r or rows also for a projection
    if (jump->moved || z_changed) lack(self, jump->moved ? KD_NEED_PROJECT : KD_NEED_SOLVE);
}

static void tell_crossing(kd_hybrid *self, int i, const char *text)
{
    const signed char *wanted = kd_eom_definition(self->eom)->crossing;
    const int          direction = self->crossing.crossed[i];
    char               name[160], words[KD_TOLD_TEXT];
    // the definition may want one direction only
    if (wanted && wanted[i] == -direction) return;
    kd_limit_name(self->limit, i, name, sizeof name);
    kd_text(words, sizeof words, "%s %s through zero", name, direction > 0 ? "rose" : "fell");
    kd_teller_tell(KD_EVENT_SWITCH, i, direction, text[0] ? text : words, &self->teller);
}

static void stop_here(kd_hybrid *self, const char *text)
{
    const int told = self->teller.queued;
    self->stop = true;
    kd_text(self->message, sizeof self->message, "stopped by an event at t = %.9g: %s", self->x->t,
            told > 0 ? self->teller.queue[told - 1].text : text);
}

// The event of function i, at the state that those before it have left
static kd_status make_event(kd_hybrid *self, int i)
{
    kd_eom_data *data;
    // the event writes to a copy; what it moved tells jump.moved
    kd_state_copy(self->x, self->jump);
    kd_state *j = self->jump;
    kd_jump   jump = {
          .p = j->p, .v = j->v, .r = j->r, .z = j->z, .active_lambda = j->active_lambda, .active_mu = j->active_mu};
    // it sees its own crossing only: those before it have become part of the state
    memset(self->alone, 0, (size_t)self->dims.nswitch);
    self->alone[i] = self->crossing.crossed[i];
    kd_status status = kd_limit_at(self->limit, self->x, &data);
    if (status >= 0) status = kd_limit_fault(self->limit, kd_eom_event(data, self->alone, &jump));
    if (status < 0) return kd_hybrid_failed(self, status, "event");
    jump.text[sizeof jump.text - 1] = '\0';
    take_jump(self, &jump);
    tell_crossing(self, i, jump.text);
    if (jump.stop) stop_here(self, jump.text);
    return KD_OK;
}

static kd_status kick_failed(kd_hybrid *self, kd_status status)
{
    if (status < 0) kd_text(self->message, sizeof self->message, "%s", kd_kick_message(self->kick));
    return status;
}

// Rows that hold only as long as nothing moves them follow a kick: they are hit, leave or slide.
static kd_status move_rows(kd_hybrid *self)
{
    bool any = false;
    for (int k = 0; k < self->crossing.n - self->dims.nswitch; k++) {
        // -1: as if the function of the row had fallen through zero
        self->kicked[k] = (signed char)(self->moving[kd_event_rows_row(self->rows, k)] ? -1 : 0);
        any = any || self->kicked[k];
    }
    if (!any) return KD_OK;
    self->rows_changed = true;
    return kd_event_rows_instant(self->rows, self->x, self->kicked, self->crossing.side + self->dims.nswitch,
                                 kd_teller_tell, &self->teller, self->message, sizeof self->message);
}

// Time passes a break: velocities that it prescribes may jump.
static kd_status make_break(kd_hybrid *self, double t)
{
    // velocities of before, then the time passes, then their jump
    kd_status status = kick_failed(self, kd_kick_before(self->kick, self->x));
    self->x->t = t;
    kd_teller_tell(KD_EVENT_BREAK, -1, 0, "a function of time is not smooth here", &self->teller);
    if (status >= 0) status = kick_failed(self, kd_kick_make(self->kick, self->x, self->moving, &self->teller));
    if (status >= 0 && self->rows) status = move_rows(self);
    // no partial kick: the state of before
    if (status < 0) kd_state_copy(self->before, self->x);
    lack(self, KD_NEED_PROJECT);
    return status;
}

static kd_status make_rows(kd_hybrid *self)
{
    // functions of rows are numbered behind the switching functions
    const signed char *crossed = self->crossing.crossed + self->dims.nswitch;
    bool               any = false;
    for (int i = 0; i < self->crossing.n - self->dims.nswitch; i++) any = any || crossed[i];
    if (!any) return KD_OK;
    // rows decide with forces of a consistent state
    kd_status status = settle(self);
    if (status < 0) return status;
    status = kd_event_rows_instant(self->rows, self->x, crossed, self->crossing.side + self->dims.nswitch,
                                   kd_teller_tell, &self->teller, self->message, sizeof self->message);
    self->rows_changed = true;
    lack(self, KD_NEED_PROJECT);
    return status;
}

// At the start no sample may be due: one that is renews z.
static kd_status make_sample(kd_hybrid *self, bool due)
{
    kd_state    *x = self->x;
    const size_t bytes = (size_t)self->dims.nz * sizeof(double);
    kd_status    status = settle(self);
    // a controller reads a consistent state
    if (status >= 0) status = kd_hybrid_failed(self, kd_limit_sample(self->limit, x, self->jump->z), "sample");
    if (status < 0) return status;
    // only a z that changed makes forces anew
    if (bytes > 0 && memcmp(x->z, self->jump->z, bytes) != 0) {
        memcpy(x->z, self->jump->z, bytes);
        lack(self, KD_NEED_SOLVE);
        due = true;
    }
    if (due) kd_teller_tell(KD_EVENT_SAMPLE, -1, 0, "discrete states were renewed", &self->teller);
    return KD_OK;
}

static int sign_of(double x)
{
    return (x > 0) - (x < 0);
}

// The sign that a function at zero gets by the straight motion from there; 0: rounding hides it.
static int direction_of(const kd_crossing *c, int i, double value)
{
    // low, high: values shortly behind and before, on the straight motion
    int after = sign_of(c->low[i] - value), before = sign_of(value - c->high[i]);
    return after == before ? after : 0;
}

// A function that crossed sits at zero until its value tells more than where it was found. An event that moved the
// state may have sent it back to where it came from (an impact): its side is then that of its motion.
static void own_side(kd_hybrid *self, int i, double value)
{
    // band: how large the function may be by the inexactness of the time at which its crossing was found
    kd_crossing *c = &self->crossing;
    const double last = self->chatter.last;
    double       rate = fabs(c->start[i] - c->end[i]) / fmax(last - self->from, self->tolerance);
    double       band = BAND * fabs(c->end[i]) + rate * fmax(self->tolerance, kd_hybrid_ulps(last, NOISE)) + DBL_MIN;
    if (c->band[i] > 0) // it had not left zero: as wide as before
        band = self->moved ? fmax(c->band[i], HARDLY * fabs(c->end[i])) : c->band[i];
    // within the band its value tells nothing: its own motion does where the state moved, its crossing elsewhere
    bool near = !(fabs(value) > 2 * band);
    c->side[i] = (signed char)(!near ? sign_of(value) : self->moved ? direction_of(c, i, value) : c->crossed[i]);
    c->band[i] = near ? band : 0;
}

// Values of the functions at x, in middle; where an event moved the state, those around it as well
static kd_status values_behind(kd_hybrid *self)
{
    kd_crossing *c = &self->crossing;
    kd_status    status = kd_limit_values(self->limit, self->x, c->middle);
    if (status >= 0 && self->moved) status = kd_limit_around(self->limit, self->x, self->inside, c->low, c->high);
    return kd_hybrid_failed(self, status, "switching functions behind an instant");
}

// One event after the other, in the order of the functions. Those behind one see a consistent state; its function has
// the side that its own event gave it, so that it comes again if another one changes it.
static kd_status make_events(kd_hybrid *self)
{
    kd_crossing *c = &self->crossing;
    kd_status    status = KD_OK;
    int          last = self->dims.nswitch - 1;
    // behind the last one take_sides does the same for all
    while (last >= 0 && !c->crossed[last]) last--;
    for (int i = 0; i <= last && status >= 0; i++) {
        if (!c->crossed[i]) continue;
        status = make_event(self, i);
        if (status < 0 || i == last) return status;
        status = settle(self);
        if (status >= 0) status = values_behind(self);
        if (status < 0) return status;
        // its side for the events that follow; it may come again at this instant
        own_side(self, i, c->middle[i]);
        c->crossed[i] = 0;
    }
    return status;
}

// A row knows its side; a value that contradicts it is zero but for rounding. So is a velocity below the errors of the
// motion: friction of Stribeck breaks loose with v = 0 and v' = 0, and dense output has no sign as long as the true
// velocity, some tau^2, is below its own errors.
static void row_side(kd_hybrid *self, int i, double value)
{
    kd_crossing *c = &self->crossing;
    // rows that did not change keep their sides
    if (!self->rows_changed) return;
    const double noise = kd_event_rows_noise(self->rows, i - self->dims.nswitch);
    bool         near = c->side[i] * value <= noise;
    c->band[i] = !near ? 0 : fabs(value) < noise ? noise : BAND * fabs(value) + DBL_MIN;
}

// The signs that functions have behind the instant. A function that did not cross, but has another sign now, crosses by
// what happened: at the same time once more.
static kd_status take_sides(kd_hybrid *self)
{
    kd_crossing *c = &self->crossing;
    kd_status    status = values_behind(self);
    if (status < 0) return status;
    self->pending = self->has_crossed = false;
    for (int i = 0; i < c->n; i++) {
        // rows, functions that crossed, all others; then who has the wrong sign now
        double value = c->middle[i];
        if (i >= self->dims.nswitch)
            row_side(self, i, value);
        else if (c->crossed[i])
            own_side(self, i, value);
        c->crossed[i] = 0;
        // by what happened, another function changed its sign: the instant is passed once more
        if (c->band[i] == 0 && c->side[i] * value < 0) {
            c->crossed[i] = (signed char)-c->side[i];
            self->pending = self->has_crossed = true;
        }
        // the next step starts here, without a history of rates
        c->start[i] = value;
        self->fall[i] = 0;
        c->end[i] = c->crossed[i] ? 0 : value; // through zero by a jump: its value is no residual of a search
        c->rate[i] = HUGE_VAL;
    }
    return KD_OK;
}

// ---- chattering -----------------------------------------------------------------------------------------------------

static kd_status check_chatter(kd_hybrid *self, double t)
{
    const kd_crossing *c = &self->crossing;
    int                first = 0;
    // the first function that crossed stands for the instant
    while (first < c->n - 1 && !c->crossed[first]) first++;
    const bool calm = kd_chatter_add(&self->chatter, t, first);
    // a quiet time ends the list of names
    if (self->chatter.count == 0) memset(self->seen, 0, (size_t)c->n);
    for (int i = 0; i < c->n; i++) self->seen[i] = self->seen[i] || c->crossed[i];
    if (calm) return KD_OK;
    char name[160];
    kd_text(self->message, sizeof self->message, "t = %.9g: events follow each other without end (", t);
    for (int i = 0, told_names = 0; i < c->n && told_names < 4; i++)
        if (self->seen[i])
            kd_text_append(self->message, sizeof self->message, "%s%s", told_names++ ? ", " : "",
                           kd_limit_name(self->limit, i, name, sizeof name));
    kd_text_append(self->message, sizeof self->message,
                   "; %ld events in less than %.2g s); let an event that comes back at once change what makes it come: "
                   "a state of rest for an impact, a band between switching on and off for a controller, or raise "
                   "events.max_chatter",
                   self->chatter.count + 1, kd_chatter_time(&self->chatter));
    return KD_ERR_CHATTER;
}

// ---- passing --------------------------------------------------------------------------------------------------------

// Nobody looks at the limit from the right of a sample: the integrator solves for the rest of the state anyway.
static bool is_left_alone(const kd_hybrid *self)
{
    return self->smooth && self->crossing.n == 0 && !kd_teller_tells_samples(&self->teller);
}

kd_status kd_hybrid_pass(kd_hybrid *self)
{
    kd_state *x = self->x;
    self->message[0] = '\0';
    kd_status status = self->has_crossed ? check_chatter(self, x->t) : KD_OK;
    if (status < 0) return status;
    // what is told is collected, and delivered when the state behind is complete
    kd_teller_forget(&self->teller);
    self->stop = self->moved = self->rows_changed = false;
    self->need = KD_NEED_NOTHING;
    kd_state_copy(x, self->before);
    // break and sample may differ by some ulp: the later time is that of the instant
    double now = self->at_sample ? self->next_sample : x->t;
    if (self->at_break) now = self->at_sample ? fmax(now, self->next_break) : self->next_break;
    // in this order: break, events of functions, rows, sample
    if (self->at_break) status = make_break(self, now);
    x->t = now;
    if (status >= 0 && self->has_crossed) status = make_events(self);
    if (status >= 0 && self->has_crossed && self->rows) status = make_rows(self);
    if (status >= 0 && self->at_sample) status = make_sample(self, true);
    // integrators may go on smoothly where only z or inputs changed
    self->smooth = self->need < KD_NEED_PROJECT && !self->at_break && !self->moved && !self->rows_changed;
    if (status >= 0 && !is_left_alone(self)) status = settle(self);
    if (status >= 0) status = next_times(self);
    self->pending = self->at_break = self->at_sample = false;
    // signs behind the instant; they may make it pending again
    if (status >= 0 && self->crossing.n > 0) status = take_sides(self);
    if (status < 0) return status;
    // listeners see both limits
    status = kd_teller_deliver(&self->teller, self->before, x);
    if (status == KD_STOPPED)
        kd_text(self->message, sizeof self->message, "stopped by the listener of events at t = %.9g", x->t);
    return status == KD_OK && self->stop ? KD_STOPPED : status;
}

kd_status kd_hybrid_begin(kd_hybrid *self, bool created)
{
    kd_crossing *c = &self->crossing;
    kd_status    status = KD_OK;
    self->message[0] = '\0';
    self->pending = self->at_break = self->at_sample = self->has_crossed = false;
    self->need = KD_NEED_NOTHING;
    // chattering is counted from the start on
    kd_chatter_begin(&self->chatter, &self->opt);
    // which rows hold may change p, v and activity of what the caller gave
    if (self->rows) {
        kd_state_copy(self->x, self->before);
        status = kd_event_rows_start(self->rows, self->x, self->message, sizeof self->message);
        if (memcmp(self->before->p, self->x->p, self->x->size * sizeof(double)) != 0) lack(self, KD_NEED_PROJECT);
        if (memcmp(self->before->active_lambda, self->x->active_lambda, (size_t)(self->dims.nlambda)) != 0 ||
            memcmp(self->before->active_mu, self->x->active_mu, (size_t)(self->dims.nmu)) != 0)
            lack(self, KD_NEED_PROJECT);
    }
    // only a new simulation samples at once: a restart keeps z
    if (status >= 0 && created && kd_eom_definition(self->eom)->discrete) status = make_sample(self, false);
    if (status >= 0) status = settle(self);
    if (status >= 0) status = next_times(self);
    if (status >= 0)
        status = kd_hybrid_failed(self, kd_limit_values(self->limit, self->x, c->start), "switching functions");
    // signs at the start; what is at zero shows its sign later (crossing.c, 1.)
    for (int i = 0; i < c->n && status >= 0; i++) {
        bool   row = i >= self->dims.nswitch;
        double noise = row ? kd_event_rows_noise(self->rows, i - self->dims.nswitch) : 0;
        double zero = row ? AT_ZERO * kd_event_rows_scale(self->rows, i - self->dims.nswitch) : AT_ZERO;
        bool   near = (row ? c->start[i] : fabs(c->start[i])) <= fmax(zero, noise);
        c->side[i] = (signed char)(row ? 1 : near ? 0 : sign_of(c->start[i])); // rows: all are defined to fall
        c->band[i] = !near ? 0 : fabs(c->start[i]) < noise ? noise : BAND * fabs(c->start[i]) + zero;
        c->rate[i] = HUGE_VAL;
    }
    return status;
}

// ---- saved simulations ----------------------------------------------------------------------------------------------

static void archive_chatter(kd_archive *a, kd_chatter *c, int functions)
{
    KD_ARCHIVE_REALS(a, &c->last, &c->gap);
    kd_archive_count(a, &c->count);
    kd_archive_int(a, &c->repeated, 0, INT_MAX / 2);
    kd_archive_int(a, &c->function, -1, functions);
}

// Between calls nothing is queued: only what was counted is kept
static void archive_teller(kd_archive *a, kd_teller *t)
{
    for (int k = 0; k < KD_EVENT_KIND_COUNT; k++) kd_archive_count(a, &t->count[k]);
    if (a->reads) t->queued = 0;
}

void kd_hybrid_archive(kd_hybrid *self, kd_archive *a)
{
    const kd_dims d = self->dims;
    const size_t  n = (size_t)self->crossing.n;
    kd_state     *state[] = {self->before, self->jump, self->inside, self->end[0], self->end[1]};
    kd_archive_tag(a, "instants");
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    for (int k = 0; k < 5; k++) kd_state_archive(state[k], a);
    if (self->rows) kd_event_rows_archive(self->rows, a);
    kd_limit_archive(self->limit, a);
    if (self->kick) kd_kick_archive(self->kick, a);
    // functions and rows
    kd_archive_signs(a, self->crossing.side, n);
    kd_archive_signs(a, self->crossing.crossed, n);
    kd_archive_signs(a, self->alone, (size_t)d.nswitch);
    kd_archive_flags(a, self->seen, n);
    kd_archive_flags(a, self->moving, (size_t)(d.nlambda + d.nmu));
    kd_archive_signs(a, self->kicked, n - (size_t)d.nswitch);
    // what comes next
    KD_ARCHIVE_REALS(a, &self->next_break, &self->next_sample, &self->from, &self->tolerance);
    KD_ARCHIVE_BOOLS(a, &self->pending, &self->at_break, &self->at_sample, &self->has_crossed, &self->moved,
                     &self->rows_changed, &self->smooth, &self->stop);
    KD_ARCHIVE_ENUM(a, kd_need, self->need, KD_NEED_PROJECT);
    archive_chatter(a, &self->chatter, (int)n);
    archive_teller(a, &self->teller);
}
