// integrator.c: the list of integrators, their common options, and the way from a public call to a class.
#include "integrator/integrator.h"

#include <float.h>
#include <string.h>

#include "core/text.h"
#include "integrator/attempt.h"

static const double ULPS = 10;    // a t_end that lies so few units in the last place away is reached without a step
static const double PEAK = 1e3;   // times its mean that a velocity counts with in tolerances
static const double SLACK = 1e-4; // of the tightest tolerance, while a method iterates
static const double LEAST_SLACK = 1e-13; // smaller ones are rounding

static const kd_integrator_class *const classes[KD_INTEGRATOR_COUNT] = {
#define KD_INTEGRATOR_ENTRY(name, class_name) [name] = &kd_##class_name##_class,
    KD_INTEGRATOR_LIST(KD_INTEGRATOR_ENTRY)
#undef KD_INTEGRATOR_ENTRY
};

static const kd_integrator_class *class_of(kd_integrator_kind kind)
{
    return (int)kind >= 0 && (int)kind < KD_INTEGRATOR_COUNT ? classes[kind] : NULL;
}

// ---- options --------------------------------------------------------------------------------------------------------

#define O kd_integrator_options
// clang-format off
// those of all methods; .paper: the name in S3 or DASSL
static const kd_option common[] = {
    {KD_REAL("steps.rtol", O, rtol, 1e-6, 0, INFINITY, "relative tolerance"), .paper = "RTOL"},
    {KD_REAL("steps.atol", O, atol, 1e-6, 0, INFINITY, "absolute tolerance, in SI units or natural ones (form.natural)"), .above = true, .paper = "ATOL"},
    {KD_REAL("steps.rtol_position", O, rtol_position, 0, 0, INFINITY, "relative tolerance of positions alone; 0: rtol")},
    {KD_REAL("steps.rtol_velocity", O, rtol_velocity, 0, 0, INFINITY, "relative tolerance of velocities alone; 0: rtol")},
    {KD_REAL("steps.rtol_inner", O, rtol_inner, 0, 0, INFINITY, "relative tolerance of inner states alone; 0: rtol")},
    {KD_REAL("steps.atol_position", O, atol_position, 0, 0, INFINITY, "absolute tolerance of positions alone; 0: atol")},
    {KD_REAL("steps.atol_velocity", O, atol_velocity, 0, 0, INFINITY, "absolute tolerance of velocities alone; 0: atol")},
    {KD_REAL("steps.atol_inner", O, atol_inner, 0, 0, INFINITY, "absolute tolerance of inner states alone; 0: atol")},
    {KD_REAL("steps.h_first", O, h_first, 0, 0, INFINITY, "first step [s]; 0: estimated"), .unit = "s", .paper = "H"},
    {KD_REAL("steps.h_max", O, h_max, 0, 0, INFINITY, "longest step [s]; 0: as long as the run"), .unit = "s", .paper = "HMAX"},
    {KD_REAL("steps.h_fixed", O, h_fixed, 0, 0, DBL_MAX, "constant steps of this size [s] without error control, where the method has them; 0: none"), .unit = "s"},
    {.name = "steps.max_steps", .type = KD_OPTION_LONG, .standard = 100000, .least = 1, .most = 4611686018427387904.0,
     .sentence = "attempts of steps in one run; a further run goes on", .offset = offsetof(O, max_steps), .paper = "NMAX"},
    {KD_SWITCH("steps.dense_often", O, dense_often, 0, "dense output is asked for in most steps: choose what makes it cheap")},
};
// clang-format on
#undef O

enum { COMMON = sizeof common / sizeof *common };

int kd_integrator_common_options(const kd_option **options)
{
    if (options) *options = common;
    return COMMON;
}

int kd_integrator_own_options(kd_integrator_kind kind, const kd_option **options)
{
    const kd_integrator_class *how = class_of(kind);
    if (options) *options = how ? how->options : NULL;
    return how ? how->noptions : 0;
}

kd_integrator_options kd_integrator_options_default(void)
{
    // every row of every class writes its standard value
    kd_integrator_options o = {.cookie = KD_OPTIONS_COOKIE};
    kd_options_reset(common, COMMON, &o);
    for (int i = 0; i < KD_INTEGRATOR_COUNT; i++) kd_options_reset(classes[i]->options, classes[i]->noptions, &o);
    return o;
}

const kd_option *kd_integrator_variants(kd_integrator_kind kind)
{
    const kd_integrator_class *how = class_of(kind);
    // the option <prefix>.method chooses the variant
    for (int i = 0; how && i < how->noptions; i++) {
        const char *name = strchr(how->options[i].name, '.');
        if (name && strcmp(name, ".method") == 0) return &how->options[i];
    }
    return NULL;
}

int kd_integrator_variant(kd_integrator_kind kind, const kd_integrator_options *opt)
{
    const kd_option *row = kd_integrator_variants(kind);
    return row && opt ? (int)kd_option_number(row, opt) : 0;
}

void kd_integrator_set_variant(kd_integrator_kind kind, int variant, kd_integrator_options *opt)
{
    const kd_option *row = kd_integrator_variants(kind);
    if (row && opt) kd_option_set_number(row, opt, variant);
}

// ---- properties -----------------------------------------------------------------------------------------------------

const kd_integrator_info *kd_integrator_about(kd_integrator_kind kind, const kd_integrator_options *opt)
{
    const kd_integrator_class *how = class_of(kind);
    if (!how) return NULL;
    const kd_integrator_info *chosen = how->about && opt ? how->about(opt) : NULL;
    return chosen ? chosen : &how->info;
}

const char *kd_integrator_word(kd_integrator_kind kind)
{
    const kd_integrator_class *how = class_of(kind);
    return how ? how->info.word : kind == KD_INTEGRATOR_CHOSEN ? "chosen" : "unknown";
}

bool kd_integrator_parse(const char *word, kd_integrator_kind *kind)
{
    for (int i = 0; word && kind && i < KD_INTEGRATOR_COUNT; i++) {
        if (strcmp(word, classes[i]->info.word) != 0) continue;
        *kind = (kd_integrator_kind)i;
        return true;
    }
    return false;
}

// ---- creation -------------------------------------------------------------------------------------------------------

// Tolerances of a component: its own, those of its kind, those of all
static double tolerance_of(const kd_dae *dae, int i, const double *each, double all, const double of_kind[3])
{
    if (i >= 0 && i < dae->nstate && each) return each[i];
    const int    kind = i < 0                                        ? -1
                        : dae->component[i] == KD_COMPONENT_POSITION ? 0
                        : dae->component[i] == KD_COMPONENT_VELOCITY ? 1
                        : dae->component[i] == KD_COMPONENT_INNER    ? 2
                                                                     : -1;
    const double own = kind >= 0 ? of_kind[kind] : 0;
    return own > 0 ? own : all;
}

static double rtol_of(const kd_dae *dae, const kd_integrator_options *o, int i)
{
    const double of_kind[3] = {o->rtol_position, o->rtol_velocity, o->rtol_inner};
    return tolerance_of(dae, i, o->rtol_each, o->rtol, of_kind);
}

static double atol_of(const kd_dae *dae, const kd_integrator_options *o, int i)
{
    const double of_kind[3] = {o->atol_position, o->atol_velocity, o->atol_inner};
    return tolerance_of(dae, i, o->atol_each, o->atol, of_kind);
}

static kd_status check_tolerances(const kd_integrator_class *how, const kd_dae *dae, const kd_integrator_options *o,
                                  char *message, size_t size)
{
    const double least = how->least_rtol ? how->least_rtol(o) : DBL_MIN;
    // i = -1: the general pair, also where every component has its own
    for (int i = -1; i < dae->n; i++) {
        const double r = rtol_of(dae, o, i), a = atol_of(dae, o, i);
        if (r >= least && a > 0 && isfinite(r) && isfinite(a)) continue;
        if (i >= 0)
            kd_text(message, size, "tolerances of component %d are rtol = %g, atol = %g; they must be positive", i, r,
                    a);
        else
            kd_text(message, size, "rtol = %g, atol = %g: tolerances must be positive", r, a);
        if (least > DBL_MIN) kd_text_append(message, size, " (rtol at least %g)", least);
        return KD_ERR_TOLERANCE;
    }
    return KD_OK;
}

static kd_status check(const kd_integrator_class *how, const kd_dae *dae, const kd_integrator_options *o, char *message,
                       size_t size)
{
    // options that nobody has set to their defaults are garbage
    if (o->cookie != KD_OPTIONS_COOKIE) {
        kd_text(message, size, "kd_integrator_options do not start from kd_integrator_options_default");
        return KD_ERR_ARGUMENT;
    }
    // ranges of the method, tolerances, ranges common to all; then what fits together
    const kd_integrator_info *info = how->about ? how->about(o) : &how->info;
    kd_status                 status = kd_options_check(how->options, how->noptions, o, message, size);
    if (status >= 0) status = check_tolerances(how, dae, o, message, size);
    if (status >= 0) status = kd_options_check(common, COMMON, o, message, size);
    if (status < 0) return status;
    if (o->h_fixed > 0 && info && !info->fixed_steps) {
        kd_text(message, size, "%s has no steps of a fixed size (steps.h_fixed); %s has", how->info.word,
                kd_bdf_class.info.word);
        return KD_ERR_UNSUPPORTED;
    }
    return how->check ? how->check(dae, o, message, size) : KD_OK;
}

// *made may be there after a failure: the caller destroys it
static kd_status make(const kd_integrator_class *how, kd_dae *dae, const kd_integrator_options *o, kd_integrator **made)
{
    kd_integrator *self = *made = kd_alloc(how->size);
    if (!self) return KD_ERR_MEMORY;
    self->how = how;
    self->dae = dae;
    self->n = dae->n;
    self->opt = *o;
    // tolerances of all components are decided here, once; the class may sharpen them
    self->rtol = kd_cut_double(&self->arena, self->n);
    self->atol = kd_cut_double(&self->arena, self->n);
    if (self->arena.failed) return KD_ERR_MEMORY;
    double tightest = 1;
    for (int i = 0; i < self->n; i++) {
        self->rtol[i] = rtol_of(dae, o, i);
        self->atol[i] = atol_of(dae, o, i);
        tightest = fmin(tightest, fmin(self->rtol[i], self->atol[i]));
    }
    self->slack = SLACK * tightest > LEAST_SLACK ? SLACK * tightest : 0;
    self->opt.rtol_each = self->opt.atol_each = NULL; // copied
    // usual sizes, unless components change their meaning on the way
    if (!dae->methods->relabel) {
        self->way = kd_cut_double(&self->arena, self->n);
        self->added = kd_cut_double(&self->arena, self->n);
        self->usual = kd_cut_double(&self->arena, self->n);
        for (int i = 0; i < self->n && !self->arena.failed; i++) self->usual[i] = INFINITY;
    }
    const kd_status status = how->init(self);
    return status >= 0 && self->arena.failed ? KD_ERR_MEMORY : status;
}

kd_status kd_integrator_create(kd_dae *dae, kd_integrator_kind kind, const kd_integrator_options *opt,
                               kd_integrator **integrator, char *message, size_t size)
{
    const kd_integrator_class *how = class_of(kind);
    kd_text(message, size, "%s", "");
    if (integrator) *integrator = NULL;
    if (!dae || !integrator || !how) {
        kd_text(message, size,
                !how ? "this integrator is none of the list" : "an integrator needs a DAE and a place for the result");
        return KD_ERR_ARGUMENT;
    }
    // known by its name, but built without its library
    if (!how->info.available) {
        kd_text(message, size, "%s: %s", how->title, kd_status_sentence(KD_ERR_UNAVAILABLE));
        return KD_ERR_UNAVAILABLE;
    }
    const kd_integrator_options o = opt ? *opt : kd_integrator_options_default();
    kd_integrator              *self = NULL;
    // what fits together is asked before anything is made
    kd_status status = check(how, dae, &o, message, size);
    if (status < 0) return status;
    status = make(how, dae, &o, &self);
    if (status < 0) {
        kd_text(message, size, "%s: %s", how->title, kd_status_sentence(status));
        kd_integrator_destroy(self);
        return status;
    }
    self->kind = kind;
    *integrator = self;
    return status;
}

void kd_integrator_destroy(kd_integrator *self)
{
    if (!self) return;
    if (self->how->release) self->how->release(self);
    kd_arena_release(&self->arena);
    kd_free(self);
}

// ---- calls ----------------------------------------------------------------------------------------------------------

kd_status kd_integrator_start(kd_integrator *self, double t, const double *x)
{
    return kd_integrator_restart(self, t, x, KD_RESTART_FRESH);
}

void kd_integrator_propose(kd_integrator *self, double h)
{
    if (self && h > 0 && isfinite(h)) self->proposed = h;
}

// Sizes that velocities usually have: PEAK times the mean of |x| so far, at least the natural one. Nothing is usual yet
// where no time has passed.
static void find_usual(kd_integrator *self)
{
    const double elapsed = self->t - self->t_begin;
    for (int i = 0; self->usual && i < self->n; i++) {
        if (self->dae->component[i] != KD_COMPONENT_VELOCITY) continue;
        self->usual[i] = elapsed > 0 ? fmax(kd_attempt_unit(self->dae, i), PEAK * self->way[i] / elapsed) : INFINITY;
    }
}

// The step from t_old to t belongs to the mean
static void add_to_mean(kd_integrator *self)
{
    for (int i = 0; self->usual && i < self->n; i++) {
        self->added[i] = (self->t - self->t_old) * fabs(self->x[i]);
        self->way[i] += self->added[i];
    }
    find_usual(self);
}

static void take_from_mean(kd_integrator *self)
{
    for (int i = 0; self->usual && i < self->n; i++) {
        self->way[i] -= self->added[i];
        self->added[i] = 0;
    }
    find_usual(self);
}

kd_status kd_integrator_restart(kd_integrator *self, double t, const double *x, kd_restart mode)
{
    if (!self || (!x && mode != KD_RESTART_SMOOTH)) return KD_ERR_ARGUMENT;
    if (mode == KD_RESTART_FRESH && self->usual) {
        self->t_begin = t;
        for (int i = 0; i < self->n; i++) {
            self->way[i] = self->added[i] = 0;
            self->usual[i] = INFINITY;
        }
    }
    // a proposal is for this start alone
    const double given = self->opt.h_first;
    if (self->proposed > 0) self->opt.h_first = self->proposed;
    const kd_status status = self->how->restart(self, t, x, mode);
    self->opt.h_first = given;
    self->proposed = 0;
    return status;
}

kd_status kd_integrator_step(kd_integrator *self, double t_end)
{
    if (!self) return KD_ERR_ARGUMENT;
    const double    t = self->t;
    const kd_status status = self->how->step(self, t_end);
    if (status >= 0 && self->t > t) add_to_mean(self);
    return status;
}

kd_status kd_integrator_retract(kd_integrator *self, double h)
{
    if (!self) return KD_ERR_ARGUMENT;
    if (!(h > 0) || self->opt.h_fixed > 0) return KD_ERR_STAGE;
    const kd_status status = self->how->retract(self, h);
    if (status >= 0) take_from_mean(self);
    return status;
}

bool kd_integrator_ends(kd_integrator *self, kd_step_ends *ends)
{
    return self && ends && self->how->ends(self, ends);
}

double kd_integrator_gamma(const kd_integrator *self)
{
    return self && self->how->gamma ? self->how->gamma(self) : -1;
}

double kd_integrator_lost(const kd_integrator *self)
{
    return self && self->how->lost ? self->how->lost(self) : 0;
}

void kd_integrator_refresh(kd_integrator *self)
{
    if (self && self->how->refresh) self->how->refresh(self);
}

kd_status kd_integrator_dense(kd_integrator *self, double t, double *x)
{
    if (!self || !x) return KD_ERR_ARGUMENT;
    return self->how->dense(self, t, x);
}

bool kd_integrator_is_there(const kd_integrator *self, double t_end)
{
    return t_end - self->t <= ULPS * DBL_EPSILON * fabs(self->t);
}

// ---- queries --------------------------------------------------------------------------------------------------------

double kd_integrator_time(const kd_integrator *self)
{
    return self ? self->t : 0;
}

double kd_integrator_time_old(const kd_integrator *self)
{
    if (!self) return 0;
    return self->kinked ? self->t : self->t_old;
}

const double *kd_integrator_x(const kd_integrator *self)
{
    return self ? self->x : NULL;
}

kd_stats kd_integrator_stats(const kd_integrator *self)
{
    return self ? self->how->stats(self) : (kd_stats){0};
}

const char *kd_integrator_message(const kd_integrator *self)
{
    return self ? self->message : "";
}

kd_integrator_kind kd_integrator_kind_of(const kd_integrator *self)
{
    return self ? self->kind : KD_INTEGRATOR_COUNT;
}

// ---- saved integrators ----------------------------------------------------------------------------------------------

static void archive_stats(kd_archive *a, kd_stats *s)
{
    KD_ARCHIVE_COUNTS(a, &s->accepted, &s->rejected_error, &s->rejected_newton, &s->retracted, &s->steps, &s->residuals,
                      &s->for_differences, &s->mass, &s->jacobians, &s->selectors, &s->predecompositions,
                      &s->decompositions, &s->solves, &s->newton_updates, &s->updates, &s->pattern_changes, &s->groups,
                      &s->fullest_row, &s->factorizations, &s->refactorizations, &s->projections, &s->accelerations);
    kd_archive_int(a, &s->order_last, 0, 1000);
    kd_archive_real(a, &s->h_last);
}

void kd_integrator_archive(kd_integrator *self, kd_archive *a)
{
    if (!self || !a) return;
    kd_archive_tag(a, "integrator");
    kd_archive_tag(a, self->how->info.word);
    kd_archive_same(a, self->n, "components of x");
    if (!self->how->archive) {
        kd_archive_fail(a, KD_ERR_UNSUPPORTED, "%s keeps its past to itself: such runs cannot be saved",
                        self->how->title);
        return;
    }
    // arrays by their sizes, then what all methods have, then their own
    kd_archive_arrays(a, &self->arena, self, self->how->size);
    KD_ARCHIVE_REALS(a, &self->t, &self->t_old, &self->proposed, &self->t_begin);
    kd_archive_bool(a, &self->kinked);
    archive_stats(a, &self->stats);
    kd_archive_int(a, &self->worst, -1, self->n - 1);
    kd_archive_text(a, self->message, sizeof self->message);
    if (kd_archive_good(a)) self->how->archive(self, a);
}
