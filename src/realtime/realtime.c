// realtime.c: the stepper as an object: creation, ports, what may be asked between steps.
#include <kardan/initial.h>
#include <math.h>
#include <string.h>

#include "core/option.h"
#include "core/text.h"
#include "realtime/internal.h"

#define LARGEST_ORDER 3000 // unknowns; pivots are chosen on a full matrix
#define SAFE_DAMPING 0.1   // default alpha h: S4 4.3 found 1/h too stiff for vehicles and took this

kd_realtime_options kd_realtime_options_default(void)
{
    return (kd_realtime_options){
        .cookie = KD_OPTIONS_COOKIE,
        .h = 1e-3,
        .jacobian = KD_REALTIME_J2,
        .index = 2,
        .stabilisation = KD_REALTIME_GGL,
        .projector = KD_REALTIME_PROJECTOR_STEP,
        .ahead = true,
        .part = KD_PART_STIFF,
        .refresh = 1,
        .alpha = -1.0,
        .beta = -1.0,
        .epsilon = -1.0,
    };
}

// ---- creation -------------------------------------------------------------------------------------------------------
static kd_status refuse(char *message, size_t size, kd_status status, const char *words)
{
    kd_text(message, size, "%s", words);
    return status;
}

static kd_status check_options(const kd_realtime_options *o, kd_dims n, char *message, size_t size)
{
    if (!(o->h > 0.0) || !isfinite(o->h))
        return refuse(message, size, KD_ERR_ARGUMENT, "the step must be longer than 0");
    if (o->index != 1 && o->index != 2) return refuse(message, size, KD_ERR_ARGUMENT, "the index must be 1 or 2");
    if ((unsigned)o->jacobian >= KD_REALTIME_JACOBIAN_COUNT ||
        (unsigned)o->stabilisation >= KD_REALTIME_STABILISATION_COUNT ||
        (unsigned)o->projector >= KD_REALTIME_PROJECTOR_COUNT)
        return refuse(message, size, KD_ERR_ARGUMENT, "an option has no meaning");
    if (isnan(o->alpha) || isnan(o->beta) || isnan(o->epsilon) || isnan(o->deadline))
        return refuse(message, size, KD_ERR_ARGUMENT, "an option is not a number");
    if (o->stabilisation == KD_REALTIME_GGL && o->index == 1)
        return refuse(message, size, KD_ERR_UNSUPPORTED,
                      "ggl holds the velocity constraints: take index 2, or projection with index 1");
    if (o->stabilisation == KD_REALTIME_GGL && (o->velocities_first || o->jacobian == KD_REALTIME_EXACT))
        return refuse(message, size, KD_ERR_UNSUPPORTED,
                      "ggl corrects positions before the velocities are known: take projection, or j2 with positions "
                      "first");
    if (o->refresh < 1)
        return refuse(message, size, KD_ERR_ARGUMENT, "derivatives must be renewed in at least one part");
    if (n.nv == 0) return refuse(message, size, KD_ERR_UNSUPPORTED, "there is nothing that moves");
    if ((long)n.nv + n.nr + n.nlambda + n.nmu > LARGEST_ORDER)
        return refuse(message, size, KD_ERR_UNSUPPORTED,
                      "the equations have more than 3000 unknowns: too many for this method");
    return KD_OK;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

// Rows of constraints that are off: a hook's
static void find_open(kd_realtime *rt, const kd_state *x)
{
    for (int i = 0; i < rt->n.nlambda; i++) {
        rt->open[i] = rt->opt.open && !x->active_lambda[i];
        rt->nopen += rt->open[i];
    }
}

static bool cut_arrays(kd_realtime *rt, const kd_state *x)
{
    kd_arena      *a = &rt->arena;
    const kd_dims *n = &rt->n;
    int            most = larger(larger(n->nv, n->np), larger(larger(n->nlambda, n->nmu), larger(n->nr, n->nw)));
    rt->external = kd_cut_bool(a, n->nu);
    rt->open = kd_cut_bool(a, n->nlambda);
    if (!a->failed) find_open(rt, x);
    rt->d_w = kd_cut_matrix(a, n->nw, n->nw);
    rt->auxiliary.size = kd_cut_double(a, n->nw);
    rt->c_s = kd_cut_matrix(a, n->ns, n->ns);
    rt->pivot = kd_cut_int(a, larger(n->nw, n->ns));
    rt->epsilon = kd_cut_double(a, rt->nrows);
    rt->f = kd_cut_double(a, n->nv);
    rt->b = kd_cut_double(a, n->nr);
    rt->x = kd_cut_double(a, rt->nunknowns);
    rt->y = kd_cut_double(a, rt->nunknowns);
    rt->rows = kd_cut_double(a, rt->nrows);
    rt->increment = kd_cut_double(a, n->nv);
    rt->gain = kd_cut_double(a, n->nv);
    rt->impulse = kd_cut_double(a, n->nlambda);
    rt->small = kd_cut_double(a, larger(n->nw, n->ns));
    rt->f_moved = kd_cut_double(a, n->nv);
    rt->p_moved = kd_cut_double(a, n->np);
    rt->drift = kd_cut_double(a, n->np);
    rt->zero = kd_cut_double(a, most);
    rt->u = kd_cut_double(a, n->nu);
    rt->du = kd_cut_double(a, n->nu);
    rt->ddu = kd_cut_double(a, n->nu);
    rt->held = kd_cut_double(a, n->nu);
    rt->held_rate = kd_cut_double(a, n->nu);
    rt->u_placed = kd_cut_double(a, n->nu);
    rt->du_placed = kd_cut_double(a, n->nu);
    rt->held_kept = kd_cut_double(a, n->nu);
    return !a->failed && kd_rt_events_cut(rt) && kd_rt_drives_cut(rt) && kd_rt_blocks_cut(rt);
}

static kd_status make_states(kd_realtime *rt, const kd_state *x)
{
    kd_status status = kd_state_create(rt->eom, &rt->now);
    if (status == KD_OK) status = kd_state_create(rt->eom, &rt->next);
    if (status == KD_OK) status = kd_state_create(rt->eom, &rt->jump);
    if (status == KD_OK) status = kd_eom_data_create(rt->eom, &rt->data);
    if (status == KD_OK) status = kd_eom_data_reserve(rt->data);
    if (status == KD_OK && !cut_arrays(rt, x)) status = KD_ERR_MEMORY;
    if (status != KD_OK) return status;
    kd_state_copy(x, rt->now);
    if (x->theta) kd_eom_at_parameters(rt->data, x->theta);
    rt->next->theta = rt->now->theta = x->theta;
    return KD_OK;
}

// External inputs hold, until the first ones come, what the model says at the start.
static kd_eval first_inputs(kd_realtime *rt)
{
    // the model's inputs at the start
    for (int i = 0; i < rt->n.nu; i++) rt->external[i] = false;
    kd_eval answer = kd_rt_inputs(rt, rt->now->t);
    // external ones hold these until the first come
    bool all = true;
    for (int i = 0; i < rt->n.nu; i++) {
        rt->held[i] = rt->u[i];
        rt->external[i] = !rt->opt.external || rt->opt.external[i];
        all = all && rt->external[i];
    }
    if (all) rt->inputs.eval = NULL; // nothing is left to ask the model for
    return answer;
}

static bool all_zero(const double *x, int n)
{
    bool zero = true;
    for (int i = 0; i < n; i++) zero = zero && x[i] == 0.0;
    return zero;
}

// z = 0 now, but not for all times and inputs? Equations say no by zero[KD_KINEMATICS].
static bool may_drift_later(const kd_realtime *rt)
{
    const kd_eom_def *def = kd_eom_definition(rt->eom);
    return def->kinematics && def->Z && (!def->autonomous || rt->n.nu > 0) &&
           !(def->zero[KD_KINEMATICS] & KD_BIT(KD_T));
}

// Does anything move without velocities? z and gI at v = 0; gI = GZ v for all times only where time plays no part.
static kd_eval look_at_rest(kd_realtime *rt)
{
    const kd_eom_def *def = kd_eom_definition(rt->eom);
    bool              moving_inputs = false;
    for (int i = 0; i < rt->n.nu; i++) moving_inputs = moving_inputs || !rt->external[i];
    // z(p, t) = Z v + z at v = 0
    kd_eval answer = kd_rt_place(rt, rt->now->t, rt->now->p, rt->now->s);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_velocity(rt->data, rt->zero, rt->now->r);
    answer = kd_eom_eval(rt->data, KD_KINEMATICS, rt->drift);
    if (answer != KD_EVAL_OK) return answer;
    rt->drifts = !all_zero(rt->drift, rt->n.np) || may_drift_later(rt);
    // g_t = gI at v = 0
    if (rt->n.nlambda > 0) answer = kd_eom_eval(rt->data, KD_GI, rt->rows);
    bool by_inputs = rt->n.nu > 0 && kd_eom_depends(rt->eom, KD_G, KD_U);
    rt->scleronomic =
        def->autonomous && !moving_inputs && !by_inputs && !rt->drifts && all_zero(rt->rows, rt->n.nlambda);
    return answer;
}

// The second of two steps that are not kept counts the calls, which are the same in all later ones.
static kd_status count_work(kd_realtime *rt)
{
    kd_status           status = kd_rt_make_step(rt, NULL, NULL);
    kd_eom_counters     before = kd_eom_data_counters(rt->data);
    kd_elimination_size size = kd_elimination_size_of(rt->step.lu);
    if (status >= 0) status = kd_rt_make_step(rt, NULL, NULL);
    kd_eom_counters after = kd_eom_data_counters(rt->data);
    // factorisations and solves by the options
    bool projects = rt->opt.stabilisation == KD_REALTIME_PROJECTION && rt->nrows > 0;
    bool ggl = rt->opt.stabilisation == KD_REALTIME_GGL && rt->n.nlambda > 0;
    bool position = rt->n.nlambda > 0 && (projects || ggl);
    bool extra = position && (rt->opt.projector == KD_REALTIME_PROJECTOR_PREDICTED ||
                              (ggl && rt->opt.projector == KD_REALTIME_PROJECTOR_START));
    rt->work = (kd_realtime_work){.unknowns = rt->nunknowns,
                                  .entries = size.entries,
                                  .fill = size.fill,
                                  .factorisations = 1 + projects + extra,
                                  .solves = 1 + projects + position,
                                  .factor_operations = size.factor,
                                  .solve_operations = size.solve,
                                  .derivatives = (int)(after.derivative - before.derivative),
                                  .difference_calls = (int)(after.for_differences - before.for_differences)};
    for (int i = 0; i < KD_FN_COUNT; i++) rt->work.calls[i] = (int)(after.fn[i] - before.fn[i]);
    return status;
}

// Begin at a state. A new run samples at once; a state that was put aside has been sampled at its time, which z tells
// or must be believed.
static kd_status begin_at(kd_realtime *rt, const kd_state *x, bool created)
{
    const bool samples = rt->n.nz > 0 && (created || kd_eom_definition(rt->eom)->discrete_counts);
    if (x != rt->now) kd_state_copy(x, rt->now);
    // nothing is known there: matrices, inputs, drives
    rt->placed = rt->start_known = rt->step.known = rt->mass.known = rt->drives.known = false;
    rt->steps = 0;
    rt->fed = false;
    rt->message[0] = '\0';
    kd_rt_auxiliary_begin(rt);
    // samples that are due, sides of the switching functions
    kd_eval answer = samples ? kd_rt_sample(rt) : KD_EVAL_OK;
    if (!samples && rt->n.nz > 0) kd_rt_next_sample(rt);
    if (answer == KD_EVAL_OK) answer = kd_rt_events_begin(rt);
    if (answer == KD_EVAL_OK) return KD_OK;
    kd_text(rt->message, sizeof rt->message, "%s", kd_eom_data_message(rt->data));
    kd_status fault = kd_eom_data_fault(rt->data).status;
    return fault < 0 ? fault : KD_ERR_RETRY_FAILED;
}

// Matrices at the start, their pivots, and a first step on trial; message when it fails.
static kd_status prepare_steps(kd_realtime *rt, char *message, size_t size)
{
    // inputs, drift, f, M, C and derivatives at the start
    kd_status status = first_inputs(rt) == KD_EVAL_OK && look_at_rest(rt) == KD_EVAL_OK && kd_rt_start(rt) == KD_EVAL_OK
                           ? KD_OK
                           : KD_ERR_RETRY_FAILED;
    if (status != KD_OK)
        return refuse(message, size,
                      kd_eom_data_fault(rt->data).status < 0 ? kd_eom_data_fault(rt->data).status : status,
                      kd_eom_data_message(rt->data));
    // pivots of the matrices, for all steps
    status = kd_rt_systems_create(rt, message, size);
    if (status != KD_OK) return status;
    // two steps on trial, then back to the start
    if (kd_state_create(rt->eom, &rt->kept) != KD_OK) return KD_ERR_MEMORY;
    kd_state_copy(rt->now, rt->kept);
    status = count_work(rt);
    if (status < 0) return refuse(message, size, status, rt->message);
    status = begin_at(rt, rt->kept, true);
    return status < 0 ? refuse(message, size, status, rt->message) : status;
}

static bool has_inactive_rows(const kd_state *x, kd_dims n)
{
    bool inactive = false;
    for (int i = 0; i < n.nlambda; i++) inactive = inactive || !x->active_lambda[i];
    for (int i = 0; i < n.nmu; i++) inactive = inactive || !x->active_mu[i];
    return inactive;
}

// A hook finds impulses where forces are taken, from one solution.
static kd_status check_open(const kd_realtime_options *o, char *message, size_t size)
{
    const bool stabilised = o->stabilisation == KD_REALTIME_BAUMGARTE || o->stabilisation == KD_REALTIME_NONE;
    if (o->index == 1 && stabilised && o->jacobian != KD_REALTIME_EXACT) return KD_OK;
    return refuse(message, size, KD_ERR_UNSUPPORTED,
                  "modules that a hook holds together are stabilised by baumgarte, or not at all, with index 1 and any "
                  "Jacobian but exact");
}

// Rows that come and go: their instants do not lie on the steps.
static bool has_events(const kd_eom *eom, kd_dims n)
{
    bool any = false;
    for (int i = 0; i < n.nlambda; i++) any = any || kd_eom_one_sided(eom, i);
    for (int i = 0; i < n.nmu; i++) any = any || kd_eom_is_friction(eom, i);
    return any;
}

static void set_damping(kd_realtime *rt)
{
    rt->alpha = rt->opt.alpha >= 0.0 ? rt->opt.alpha : SAFE_DAMPING / rt->opt.h;
    rt->beta = rt->opt.beta >= 0.0 ? rt->opt.beta : rt->alpha * rt->alpha;
}

kd_status kd_realtime_create(const kd_eom *eom, const kd_inputs *inputs, const kd_realtime_options *opt,
                             const kd_state *x, kd_realtime **self, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (self) *self = NULL;
    if (!eom || !self || !kd_state_fits(eom, x))
        return refuse(message, size, KD_ERR_ARGUMENT,
                      !eom || !self
                          ? "kd_realtime_create: an argument is NULL"
                          : "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_realtime_options", message, size)) return KD_ERR_ARGUMENT;
    kd_realtime *rt = kd_alloc(sizeof *rt);
    if (!rt) return refuse(message, size, KD_ERR_MEMORY, kd_status_sentence(KD_ERR_MEMORY));
    rt->eom = eom;
    rt->n = kd_eom_dims(eom);
    rt->nrows = rt->n.nlambda + rt->n.nmu;
    rt->nunknowns = rt->n.nv + rt->n.nr + rt->nrows;
    // options, and what follows from them: exact needs all derivatives, only j1 and j2 look ahead
    rt->opt = opt ? *opt : kd_realtime_options_default();
    if (rt->opt.jacobian == KD_REALTIME_EXACT) rt->opt.part = KD_PART_ALL;
    bool matrix = rt->opt.jacobian == KD_REALTIME_J1 || rt->opt.jacobian == KD_REALTIME_J2;
    rt->opt.ahead = rt->opt.ahead && matrix && !rt->opt.velocities_first;
    if (inputs) rt->inputs = *inputs;
    rt->next_sample = HUGE_VAL;
    set_damping(rt);

    // what steps of fixed work cannot do is refused before memory is taken
    kd_status news = KD_OK, status = check_options(&rt->opt, rt->n, message, size);
    if (status == KD_OK && has_events(eom, rt->n))
        status = refuse(message, size, KD_ERR_UNSUPPORTED,
                        "real-time steps have no impacts and no dry friction that sticks: give stops and contacts "
                        "'stiffness' in place of 'restitution', and friction without 'stick'");
    if (status == KD_OK && kd_eom_definition(eom)->completed)
        status = refuse(message, size, KD_ERR_UNSUPPORTED,
                        "real-time steps do not tell foreign code of their ends: give blocks of FMUs a period");
    if (status == KD_OK && has_inactive_rows(x, rt->n))
        status = rt->opt.open ? check_open(&rt->opt, message, size)
                              : refuse(message, size, KD_ERR_UNSUPPORTED,
                                       "constraints that are switched off are not for steps of fixed work");
    // memory of all later steps, and the pattern of their matrix
    if (status == KD_OK) {
        status = make_states(rt, x);
        if (status != KD_OK) refuse(message, size, status, kd_status_sentence(status));
    }
    if (status == KD_OK && rt->opt.refresh > 1 && !rt->together)
        status = refuse(
            message, size, KD_ERR_UNSUPPORTED,
            "only derivatives of a model's stiff elements are renewed in parts: with j1 or j2, forces at the new "
            "position");
    // consistent start; then pivots from the matrices there, which hold for all steps
    if (status == KD_OK) news = status = kd_initial_consistent(eom, inputs, NULL, rt->now, message, size);
    bool redundant = news == KD_REDUNDANT && rt->opt.stabilisation != KD_REALTIME_REGULARISATION;
    if (status >= 0 && !redundant) status = prepare_steps(rt, message, size);
    if (redundant) {
        kd_text_append(message, size, "; take the stabilisation regularisation, or remove the redundant constraints");
        status = KD_ERR_REDUNDANT;
    }
    if (status < 0) {
        kd_realtime_destroy(rt);
        return status;
    }
    *self = rt;
    return news;
}

void kd_realtime_destroy(kd_realtime *self)
{
    if (!self || self->busy) return;
    kd_elimination_destroy(self->step.lu);
    kd_elimination_destroy(self->mass.lu);
    kd_eom_data_destroy(self->data);
    kd_state_destroy(self->now);
    kd_state_destroy(self->next);
    kd_state_destroy(self->jump);
    kd_state_destroy(self->kept);
    kd_arena_release(&self->arena);
    kd_free(self);
}

// ---- steps and states -----------------------------------------------------------------------------------------------
kd_status kd_realtime_step(kd_realtime *self, const double *inputs, double *outputs)
{
    if (!self) return KD_ERR_ARGUMENT;
    if (self->busy) return KD_ERR_BUSY;
    self->busy = true;
    kd_status status = kd_rt_make_step(self, inputs, outputs);
    self->busy = false;
    return status;
}

kd_status kd_realtime_restore(kd_realtime *self, const kd_state *x)
{
    if (!self || !kd_state_fits(self->eom, x)) return KD_ERR_ARGUMENT;
    return self->busy ? KD_ERR_BUSY : begin_at(self, x, false);
}

const kd_state *kd_realtime_state(const kd_realtime *self)
{
    if (!self) return NULL;
    return self->now;
}

long kd_realtime_steps(const kd_realtime *self)
{
    if (!self) return 0;
    return self->steps;
}

const char *kd_realtime_message(const kd_realtime *self)
{
    return self ? self->message : "";
}

double kd_realtime_seconds(const kd_realtime *self)
{
    if (!self) return 0;
    return self->seconds;
}

kd_realtime_work kd_realtime_work_of(const kd_realtime *self)
{
    if (!self) return (kd_realtime_work){0};
    return self->work;
}

// ---- ports ----------------------------------------------------------------------------------------------------------
// Inputs of models are called "input.steer"; "steer" is enough.
static bool is_called(const char *full, const char *name)
{
    static const char prefix[] = "input.";
    const char       *rest = strncmp(full, prefix, sizeof prefix - 1) == 0 ? full + sizeof prefix - 1 : full;
    return strcmp(full, name) == 0 || strcmp(rest, name) == 0;
}

static int find_port(const kd_realtime *rt, kd_kind kind, int n, const char *name)
{
    char full[256];
    for (int i = 0; i < n; i++)
        if (is_called(kd_eom_name(rt->eom, kind, i, full, sizeof full), name)) return i;
    return -1;
}

int kd_realtime_input(const kd_realtime *self, const char *name)
{
    if (!self || !name) return -1;
    return find_port(self, KD_NAME_U, self->n.nu, name);
}

int kd_realtime_output(const kd_realtime *self, const char *name)
{
    if (!self || !name) return -1;
    return find_port(self, KD_NAME_Y, self->n.ny, name);
}

// ---- between steps --------------------------------------------------------------------------------------------------
static double largest(const double *x, int n)
{
    double most = 0.0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

// A look at the state does not change what the next step computes: where data stood it stands again.
static kd_eval look_at_now(kd_realtime *rt)
{
    kd_eval answer = kd_rt_inputs(rt, rt->now->t);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_time(rt->data, rt->now->t, rt->u, rt->du, rt->ddu, rt->now->z);
    kd_eom_at_position(rt->data, rt->now->p, rt->now->s);
    kd_eom_at_velocity(rt->data, rt->now->v, rt->now->r);
    kd_eom_at_acceleration(rt->data, rt->now->a, rt->now->w, rt->now->lambda, rt->now->mu);
    return KD_EVAL_OK;
}

static kd_status answer_of(kd_realtime *rt, kd_eval answer)
{
    if (answer == KD_EVAL_OK) return KD_OK;
    kd_fault what = kd_eom_data_fault(rt->data);
    kd_text(rt->message, sizeof rt->message, "%s", kd_eom_data_message(rt->data));
    return what.status < 0 ? what.status : KD_ERR_RETRY_FAILED;
}

kd_status kd_rt_rows_now(kd_realtime *rt, kd_fn fn, double *rows)
{
    if (rt->busy) return KD_ERR_BUSY;
    kd_eval answer = look_at_now(rt);
    return answer_of(rt, answer == KD_EVAL_OK ? kd_eom_eval(rt->data, fn, rows) : answer);
}

// Of the constraints that the stepper keeps itself
static double largest_kept(const kd_realtime *rt)
{
    for (int i = 0; i < rt->n.nlambda; i++)
        if (rt->open[i]) rt->rows[i] = 0.0;
    return largest(rt->rows, rt->nrows);
}

kd_status kd_realtime_defects(kd_realtime *self, kd_realtime_defect *out)
{
    if (!self || !out) return KD_ERR_ARGUMENT;
    if (self->busy) return KD_ERR_BUSY;
    const kd_dims *n = &self->n;
    kd_eval        answer = look_at_now(self);
    *out = (kd_realtime_defect){0};
    if (answer == KD_EVAL_OK && n->nlambda > 0) answer = kd_eom_eval(self->data, KD_G, self->rows);
    memset(self->rows + n->nlambda, 0, (size_t)n->nmu * sizeof *self->rows);
    if (answer == KD_EVAL_OK) out->position = largest_kept(self);
    if (answer == KD_EVAL_OK && n->nlambda > 0) answer = kd_eom_eval(self->data, KD_GI, self->rows);
    if (answer == KD_EVAL_OK && n->nmu > 0) answer = kd_eom_eval(self->data, KD_H, self->rows + n->nlambda);
    if (answer == KD_EVAL_OK) out->velocity = largest_kept(self);
    if (answer == KD_EVAL_OK) answer = kd_rt_auxiliary_defect(self, &out->auxiliary);
    return answer_of(self, answer);
}

kd_status kd_realtime_energies(kd_realtime *self, kd_energies *out)
{
    if (!self || !out) return KD_ERR_ARGUMENT;
    if (self->busy) return KD_ERR_BUSY;
    if (!kd_eom_definition(self->eom)->energies) return KD_ERR_UNSUPPORTED;
    kd_eval answer = look_at_now(self);
    if (answer == KD_EVAL_OK) answer = kd_eom_energies(self->data, out);
    return answer_of(self, answer);
}
