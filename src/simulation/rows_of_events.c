// rows_of_events.c: what one-sided rows and dry friction do at an instant.
//
// 1. Impact. Rows that are touched (g_i = 0) while they approach (gI_i < 0) are hit: kd_eom_impact from v to v+. Forces
//    of dry friction are finite, so its rows take no part. A hit row comes to rest if the flight that follows,
//    2 gI_i+ / -gII_i, would be shorter than options.rest: then the impact is taken back and done again with that row
//    among those that hold, gI_i+ = 0. This ends the infinitely many impacts of a ball that comes to rest in finite
//    time. A row that the impact lifts off for so short a flight stays where it is. Rows that the new velocities meet
//    are hit next.
// 2. Rows that hold are settled in simulation/settle.c: no row pulls, none is penetrated, no friction is above its
//    limit.
#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "math/dense.h"
#include "simulation/rows_internal.h"

#define OPENS 1e-10     // pull, relative to the forces of the last instant, at which a row opens: more than rounding
#define BELOW 1e-15     // rounding of g_i behind an instant, relative to the positions
#define PASSES 100      // impacts one after the other at one instant
#define FAR 4.0         // |h_i| in scales of friction at which a step to rest ends first
#define NEAR 3.0        // where the law begins to vary: exp(-9) of the difference of its levels
#define PENETRATED 1e-9 // g_i, relative to the positions, that a start may lie below zero

// ---- life cycle -----------------------------------------------------------------------------------------------------

// A line of friction, or the first row of a plane
static bool is_first(const kd_event_rows *self, int i)
{
    const int across = kd_eom_definition(self->eom)->friction_across[i];
    return kd_eom_is_friction(self->eom, i) && (across < 0 || across > i);
}

static void count_rows(kd_event_rows *self)
{
    for (int i = 0; i < self->dims.nlambda; i++) self->none_sided += kd_eom_one_sided(self->eom, i);
    for (int i = 0; i < self->dims.nmu; i++) self->nfriction += is_first(self, i);
}

static void cut_arrays(kd_event_rows *self)
{
    kd_arena *arena = &self->arena;
    kd_dims   n = self->dims;
    size_t    rows = (size_t)n.nlambda + (size_t)n.nmu;
    self->one_sided = kd_cut_int(arena, self->none_sided);
    self->friction = kd_cut_int(arena, self->nfriction);
    self->g = kd_cut_double(arena, n.nlambda);
    self->gI = kd_cut_double(arena, n.nlambda);
    self->gII = kd_cut_double(arena, n.nlambda);
    self->met = kd_cut_double(arena, n.nlambda);
    self->h = kd_cut_double(arena, n.nmu);
    self->hI = kd_cut_double(arena, n.nmu);
    self->limit = kd_cut_double(arena, n.nmu);
    self->noise = kd_cut_double(arena, n.nmu);
    self->force = kd_cut_double(arena, n.nv);
    self->v = kd_cut_double(arena, n.nv);
    self->implied = kd_cut_bool(arena, n.nlambda);
    self->base = kd_cut_double(arena, n.nlambda);
    self->held_by = kd_cut_bool(arena, n.nmu);
    self->GZ = kd_cut_matrix(arena, n.nlambda, n.nv);
    self->HZ = kd_cut_matrix(arena, n.nmu, n.nv);
    self->Q = kd_cut_matrix(arena, n.nv, n.nlambda + n.nmu < n.nv ? n.nlambda + n.nmu : n.nv);
    self->row = kd_cut_double(arena, n.nv);
    self->hit = kd_arena_cut(arena, rows, 1);
    self->holds = kd_arena_cut(arena, rows, 1);
    self->struck = kd_arena_cut(arena, rows, 1);
    self->leaves = kd_arena_cut(arena, rows, 1);
    self->lifted = kd_arena_cut(arena, rows, 1);
    self->held = kd_arena_cut(arena, rows, 1);
    self->p = kd_cut_double(arena, n.np);
    self->s = kd_cut_double(arena, n.ns);
    // lists of rows: one-sided ones of g, dry friction of h
    if (arena->failed) return;
    for (int i = 0, k = 0; i < n.nlambda; i++)
        if (kd_eom_one_sided(self->eom, i)) self->one_sided[k++] = i;
    for (int i = 0, k = 0; i < n.nmu; i++)
        if (is_first(self, i)) self->friction[k++] = i;
}

kd_status kd_event_rows_create(kd_eom_data *point, const kd_inputs *inputs, const kd_event_options *opt,
                               kd_event_rows **rows)
{
    const kd_eom *eom = kd_eom_data_eom(point);
    *rows = NULL;
    kd_event_rows *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    self->eom = eom;
    self->dims = kd_eom_dims(eom);
    self->rest = opt ? opt->rest : kd_event_options_default().rest;
    count_rows(self);
    // nothing to do for such equations: no object
    if (self->none_sided + self->nfriction == 0) {
        kd_free(self);
        return KD_OK;
    }
    cut_arrays(self);
    // a solver of its own: rows on trial must not disturb that of the limits
    kd_formulation_options options = kd_formulation_options_default();
    options.point = point;
    kd_status status = self->arena.failed ? KD_ERR_MEMORY : kd_state_create(eom, &self->x);
    if (status >= 0) status = kd_acceleration_create(eom, inputs, self->x, &options, &self->solver);
    if (status >= 0) status = kd_eom_data_reserve(point);
    if (status < 0)
        kd_event_rows_destroy(self);
    else
        *rows = self;
    return status < 0 ? status : KD_OK;
}

void kd_event_rows_destroy(kd_event_rows *self)
{
    if (!self) return;
    kd_acceleration_destroy(self->solver);
    kd_state_destroy(self->x);
    kd_arena_release(&self->arena);
    kd_free(self);
}

void kd_event_rows_tolerances(kd_event_rows *self, double rtol, double atol, bool natural)
{
    self->rtol = rtol;
    self->atol = atol;
    self->natural = natural;
}

double kd_event_rows_scale(const kd_event_rows *self, int i)
{
    const bool one_sided = i < self->none_sided;
    const int  row = one_sided ? self->one_sided[i] : self->friction[i - self->none_sided];
    if (one_sided) return self->x->active_lambda[row] ? self->largest_force : kd_rows_length(self);
    return kd_rows_sticks(self, self->x, row) ? fmax(self->limit[row], self->largest_force) : kd_rows_speed(self);
}

double kd_event_rows_noise(const kd_event_rows *self, int i)
{
    // only friction that slides has a velocity to be uncertain about
    int row = i < self->none_sided ? -1 : self->friction[i - self->none_sided];
    return row < 0 || !kd_rows_slides(self, self->x, row) ? 0 : self->noise[row];
}

double kd_event_rows_stride(const kd_event_rows *self, const kd_state *x, int i, double value)
{
    const double *scale = kd_eom_definition(self->eom)->friction_scale;
    int           row = i < self->none_sided ? -1 : self->friction[i - self->none_sided];
    // friction of one level, at rest already, or one-sided: no stride
    if (!scale || row < 0 || x->active_mu[row] || !(scale[row] > 0)) return HUGE_VAL;
    return value > FAR * scale[row] ? value - NEAR * scale[row] : scale[row];
}

int kd_event_rows_count(const kd_event_rows *self)
{
    return self ? self->none_sided + self->nfriction : 0;
}

int kd_event_rows_row(const kd_event_rows *self, int function)
{
    return function < self->none_sided ? self->one_sided[function]
                                       : self->dims.nlambda + self->friction[function - self->none_sided];
}

const char *kd_event_rows_name(const kd_event_rows *self, int i, char *buffer, size_t size)
{
    bool    one_sided = i < self->none_sided;
    int     row = one_sided ? self->one_sided[i] : self->friction[i - self->none_sided];
    kd_kind kind = one_sided ? KD_NAME_LAMBDA : KD_NAME_MU;
    char    name[96];
    kd_eom_name(self->eom, kind, row, name, sizeof name);
    bool says = strchr(name, '\'') || strchr(name, '['); // says what it is, or has no name
    if (says)
        kd_text(buffer, size, "%s", name);
    else
        kd_text(buffer, size, "constraint '%s'", name);
    return buffer;
}

// ---- switching functions --------------------------------------------------------------------------------------------

static bool any_sticks(const kd_event_rows *self, const kd_state *x)
{
    bool any = false;
    for (int k = 0; k < self->nfriction; k++) any = any || kd_rows_sticks(self, x, self->friction[k]);
    return any;
}

bool kd_event_rows_need_multipliers(const kd_event_rows *self, const kd_state *x)
{
    bool any = any_sticks(self, x);
    for (int k = 0; k < self->none_sided; k++) any = any || x->active_lambda[self->one_sided[k]];
    return any;
}

kd_eval kd_event_rows_values(kd_event_rows *self, kd_eom_data *d, const kd_state *x, double *out)
{
    // g_i of rows that are off, lambda_i of rows that hold; h_i of sliding friction, its reserve while it sticks
    const kd_point *point = kd_eom_point(d);
    kd_eval         answer = kd_eom_eval(d, KD_G, self->g);
    if (answer == KD_EVAL_OK && self->nfriction > 0) {
        answer = kd_eom_eval(d, KD_H, self->h);
        if (answer == KD_EVAL_OK && any_sticks(self, x)) answer = kd_eom_breakaway(d, self->limit);
    }
    if (answer != KD_EVAL_OK) return answer;
    // all functions are positive where the row is content, and fall through zero at their event
    for (int k = 0; k < self->none_sided; k++) {
        int i = self->one_sided[k];
        if (x->active_lambda[i])
            out[k] = OPENS * self->largest_force - point->lambda[i];
        else
            out[k] = self->implied[i] ? 1 : self->g[i] - self->base[i];
    }
    for (int k = 0; k < self->nfriction; k++) {
        const int i = self->friction[k];
        double    value = 1; // open
        if (kd_rows_sticks(self, x, i))
            value = self->limit[i] - kd_rows_size(self, i, point->mu);
        else if (kd_rows_slides(self, x, i))
            value = kd_rows_along(self, x, i, self->h);
        out[self->none_sided + k] = value;
    }
    return KD_EVAL_OK;
}

// ---- impacts --------------------------------------------------------------------------------------------------------

// Rows that are off, touched and approach; any? Those that hardly move are settled later.
static bool find_hits(kd_event_rows *self)
{
    bool any = false;
    // off, met, and approaching
    for (int k = 0; k < self->none_sided; k++) {
        int i = self->one_sided[k];
        self->hit[i] = !self->x->active_lambda[i] && kd_rows_touches(self, i) && self->gI[i] < -kd_rows_slow(self);
        any = any || self->hit[i];
    }
    return any;
}

// v+ from self->v with the present rows
static kd_status strike(kd_event_rows *self)
{
    kd_state    *x = self->x;
    kd_eom_data *d = kd_acceleration_data(self->solver);
    // every trial starts from the velocities before this impact
    memcpy(x->v, self->v, (size_t)self->dims.nv * sizeof *x->v);
    // friction has no impulse; other rows of h hold
    for (int i = 0; i < self->dims.nmu; i++) self->holds[i] = x->active_mu[i] && !kd_eom_is_friction(self->eom, i);
    if (kd_rows_levels(self) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    kd_status status = kd_eom_impact(d, x->active_lambda, self->holds, self->hit, x->v, NULL);
    if (status < 0) return status;
    // rows that the impact lifts
    if (kd_rows_levels(self) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    for (int k = 0; k < self->none_sided; k++) {
        int i = self->one_sided[k];
        if (!x->active_lambda[i] || self->gI[i] <= kd_rows_slow(self)) continue;
        x->active_lambda[i] = 0;
        self->lifted[i] = 1;
    }
    kd_rows_directions(self);
    return KD_OK;
}

// Rows of a list whose flight would be too short rest from now on; *any? At the accelerations behind the impact.
static kd_eval find_rest(kd_event_rows *self, unsigned char *list, bool *any)
{
    // flight time 2 gI / -gII against options.rest
    *any = false;
    for (int k = 0; k < self->none_sided; k++) {
        int  i = self->one_sided[k];
        bool follows = false;
        if (!list[i] || !(self->gII[i] < 0) || !(2 * self->gI[i] <= -self->gII[i] * self->rest)) continue;
        kd_eval answer = kd_rows_follows(self, i, &follows);
        if (answer != KD_EVAL_OK) return answer;
        // a row that follows from others does not hold itself: its force would not be unique
        list[i] = 0;
        self->x->active_lambda[i] = !follows;
        *any = true;
    }
    return KD_EVAL_OK;
}

// All impacts of the instant, one after the other
static kd_status strike_all(kd_event_rows *self)
{
    for (int pass = 0; pass < PASSES; pass++) {
        // impacts until nothing approaches any more
        if (!find_hits(self)) return KD_OK;
        memcpy(self->v, self->x->v, (size_t)self->dims.nv * sizeof *self->v);
        // the first approach of each row is told; one that left is hit again
        for (int k = 0; k < self->none_sided; k++) {
            int i = self->one_sided[k];
            if (self->hit[i] && !self->struck[i]) self->met[i] = self->gI[i];
            self->struck[i] = self->struck[i] || self->hit[i];
            self->leaves[i] = self->leaves[i] && !self->hit[i];
        }
        bool again, kept;
        memset(self->lifted, 0, (size_t)self->dims.nlambda);
        // the same impact again, each time with the rows that come to rest by it among those that hold
        do {
            kd_status status = strike(self);
            if (status < 0) return status;
            if (kd_rows_solve(self) != KD_EVAL_OK || find_rest(self, self->hit, &again) != KD_EVAL_OK)
                return KD_ERR_CALLBACK_STOP;
        } while (again);
        if (find_rest(self, self->lifted, &kept) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    }
    return KD_ERR_CHATTER;
}

// ---- instants -------------------------------------------------------------------------------------------------------

// What crossed says about rows that hold or slide: they leave; a sliding row tries to stick.
static void take_crossings(kd_event_rows *self, const signed char *crossed)
{
    kd_state *x = self->x;
    // a row whose force vanished opens; friction beyond its limit, or at rest, changes
    for (int k = 0; k < self->none_sided; k++) {
        int i = self->one_sided[k];
        if (!crossed[k] || !x->active_lambda[i]) continue;
        x->active_lambda[i] = 0;
        self->leaves[i] = 1;
    }
    for (int k = 0; k < self->nfriction; k++) {
        int i = self->friction[k];
        if (!crossed[self->none_sided + k]) continue;
        const bool sticks = kd_rows_sticks(self, x, i);
        if (sticks) self->leaves[self->dims.nlambda + i] = 1;
        if (sticks)
            kd_rows_slide(self, i, x->mu);
        else
            kd_rows_stick(self, i);
    }
}

static void clear(kd_event_rows *self)
{
    size_t rows = (size_t)self->dims.nlambda + (size_t)self->dims.nmu;
    memset(self->struck, 0, rows);
    memset(self->leaves, 0, rows);
    memset(self->hit, 0, rows);
    memcpy(self->held, self->x->active_lambda, (size_t)self->dims.nlambda);
    memcpy(self->held + self->dims.nlambda, self->x->active_mu, (size_t)self->dims.nmu);
    self->matrices_known = false;
    // scales of this instant
    self->largest_force = 0;
    self->largest_acceleration = kd_norm_max(self->dims.nv, self->x->a); // of before the instant
}

// Why it failed, with time and cause
static kd_status explain(kd_event_rows *self, kd_status status, char *message, size_t size)
{
    const char *text = "";
    kd_status   fault = kd_acceleration_fault(self->solver, &text);
    double      t = self->x->t;
    // the most specific reason: rows, number of impacts, solver, functions
    if (status == KD_ERR_CHATTER && self->unsettled[0])
        kd_text(message, size, "t = %.9g: %s", t, self->unsettled);
    else if (status == KD_ERR_CHATTER)
        kd_text(message, size, "t = %.9g: %d impacts at one instant do not end; smaller restitutions may help", t,
                PASSES);
    else if (self->of_solver && text[0])
        kd_text(message, size, "at an event: %s", text);
    else
        kd_text(message, size, "at an event: %s", kd_eom_data_message(kd_acceleration_data(self->solver)));
    if (status != KD_ERR_CALLBACK_STOP) return status;
    if (self->of_solver && fault < 0) return fault;
    fault = kd_eom_data_fault(kd_acceleration_data(self->solver)).status;
    return fault < 0 ? fault : status;
}

// |HZ_ij|, of a plane of both rows
static double row_size(const kd_event_rows *self, int i, int j)
{
    return kd_rows_size(self, i, self->HZ + j * self->dims.nmu);
}

// Errors of h_i = (HZ v)_i that errors of v within the tolerances make
static kd_eval find_noise(kd_event_rows *self)
{
    kd_eval answer = self->nfriction > 0 ? kd_rows_matrices(self) : KD_EVAL_OK;
    // |HZ| times the errors of v
    for (int k = 0; k < self->nfriction && answer == KD_EVAL_OK; k++) {
        int i = self->friction[k];
        self->noise[i] = 0;
        for (int j = 0; j < self->dims.nv; j++) {
            const double unit = self->natural ? kd_eom_unit(self->eom, j) / kd_eom_time(self->eom) : 1;
            self->noise[i] += row_size(self, i, j) * (self->atol * unit + self->rtol * fabs(self->x->v[j]));
        }
    }
    return answer;
}

// From the state in self->x to the one behind the instant
static kd_status resolve(kd_event_rows *self)
{
    self->of_solver = false;
    self->unsettled[0] = '\0';
    // g, gI, h and their noise at this state; directions of what moves; impacts; then who holds
    if (kd_rows_levels(self) != KD_EVAL_OK || find_noise(self) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    kd_rows_directions(self);
    kd_status status = strike_all(self);
    if (status >= 0) status = kd_rows_settle(self);
    // a touched row may lie below zero by rounding: that is its zero from now on
    for (int k = 0; k < self->none_sided; k++) {
        int i = self->one_sided[k];
        self->base[i] = kd_rows_touches(self, i) ? fmin(self->g[i], 0) - BELOW * kd_rows_length(self) : 0;
    }
    return status;
}

static void tell_row(const kd_event_rows *self, kd_event_kind kind, int function, int row, int direction,
                     kd_event_teller tell, void *context)
{
    char name[128], text[256];
    kd_event_rows_name(self, function, name, sizeof name);
    switch (kind) {
    case KD_EVENT_IMPACT:
        kd_text(text, sizeof text, "impact on %s: speed %.6g before, %.6g after", name, -self->met[row], self->gI[row]);
        break;
    case KD_EVENT_REST:
        kd_text(text, sizeof text, "%s holds", name);
        break;
    case KD_EVENT_RELEASE:
        kd_text(text, sizeof text, "%s opens", name);
        break;
    case KD_EVENT_STICK:
        kd_text(text, sizeof text, "%s sticks", name);
        break;
    default:
        kd_text(text, sizeof text, "%s slides, direction %+d", name, direction);
    }
    tell(kind, row, direction, text, context);
}

// 1, -1 along a line, 1 in a plane, 0: it does not slide
static int told_direction(const kd_event_rows *self, const kd_state *x, int i)
{
    const kd_eom_def *def = kd_eom_definition(self->eom);
    if (!kd_rows_slides(self, x, i)) return 0;
    return def->friction_across[i] < 0 && x->z[def->friction[i]] < 0 ? -1 : 1;
}

// What has become other than it was in x
static void tell_all(const kd_event_rows *self, const kd_state *x, kd_event_teller tell, void *context)
{
    if (!tell) return;
    // impacts first, then who holds or opens, then friction
    for (int k = 0; k < self->none_sided; k++)
        if (self->struck[self->one_sided[k]]) tell_row(self, KD_EVENT_IMPACT, k, self->one_sided[k], 0, tell, context);
    for (int k = 0; k < self->none_sided; k++) {
        int i = self->one_sided[k], now = self->x->active_lambda[i];
        if (now != x->active_lambda[i]) tell_row(self, now ? KD_EVENT_REST : KD_EVENT_RELEASE, k, i, 0, tell, context);
    }
    for (int k = 0; k < self->nfriction; k++) {
        const int i = self->friction[k], was = told_direction(self, x, i), now = told_direction(self, self->x, i);
        if (kd_rows_is_open(self, self->x, i) || (self->x->active_mu[i] == x->active_mu[i] && was == now)) continue;
        tell_row(self, now == 0 ? KD_EVENT_STICK : KD_EVENT_SLIDE, self->none_sided + k, i, now, tell, context);
    }
}

kd_status kd_event_rows_instant(kd_event_rows *self, kd_state *x, const signed char *crossed, signed char *side,
                                kd_event_teller tell, void *context, char *message, size_t size)
{
    // on a copy: a failure leaves the state as it was
    kd_state_copy(x, self->x);
    clear(self);
    take_crossings(self, crossed);
    kd_status status = resolve(self);
    if (status < 0) return explain(self, status, message, size);
    for (int k = 0; k < kd_event_rows_count(self); k++) side[k] = 1; // all are defined to fall
    tell_all(self, x, tell, context);
    kd_state_copy(self->x, x);
    return KD_OK;
}

// Dry friction without motion tries to stick.
static void try_to_stick(kd_event_rows *self)
{
    for (int k = 0; k < self->nfriction; k++) {
        int i = self->friction[k];
        if (kd_rows_is_open(self, self->x, i))
            kd_rows_open(self, i);
        else if (kd_rows_size(self, i, self->h) <= kd_rows_slow(self))
            kd_rows_stick(self, i);
    }
}

kd_status kd_event_rows_start(kd_event_rows *self, kd_state *x, char *message, size_t size)
{
    char name[128];
    kd_state_copy(x, self->x);
    clear(self);
    self->of_solver = false;
    if (kd_rows_levels(self) != KD_EVAL_OK) return explain(self, KD_ERR_CALLBACK_STOP, message, size);
    // a start may not lie beyond a stop
    for (int k = 0; k < self->none_sided; k++) {
        int i = self->one_sided[k];
        if (x->active_lambda[i] || self->g[i] >= -PENETRATED * kd_rows_length(self)) continue;
        kd_text(message, size, "t = %.9g: %s is one-sided, but at the start it is violated by %.3g: start beyond it",
                x->t, kd_event_rows_name(self, k, name, sizeof name), -self->g[i]);
        return KD_ERR_INCONSISTENT;
    }
    try_to_stick(self);
    kd_status status = resolve(self);
    if (status < 0) return explain(self, status, message, size);
    kd_state_copy(self->x, x);
    return KD_OK;
}

void kd_event_rows_archive(kd_event_rows *self, kd_archive *a)
{
    const size_t   rows = (size_t)(self->dims.nlambda + self->dims.nmu);
    unsigned char *each[] = {self->hit, self->struck, self->holds, self->leaves, self->lifted, self->held};
    kd_archive_tag(a, "rows");
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    kd_state_archive(self->x, a);
    kd_acceleration_archive(self->solver, a);
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) kd_archive_flags(a, each[k], rows);
    kd_archive_bools(a, self->implied, (size_t)self->dims.nlambda);
    kd_archive_bools(a, self->held_by, (size_t)self->dims.nmu);
    KD_ARCHIVE_BOOLS(a, &self->matrices_known, &self->of_solver);
    KD_ARCHIVE_REALS(a, &self->largest_force, &self->largest_acceleration);
}
