// data.c: one thread's evaluation point: stages and stamps, values of functions, faults in words, counters.
//
// Full matrices (M, Z, GZ, HZ, what differences need) are made with the object while they are small. Of large systems
// that give their blocks sparse they are made by kd_eom_data_reserve or at the first request for a full matrix, so that
// who lives on sparse blocks never pays for them.
//
// Every number that a user's function answers is checked here. A stamp is never given out twice: a point that is left
// for differences and restored gets its old stamps back, so that what was kept for it is valid again.
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "eom/internal.h"

#define RESERVED_AT_ONCE ((size_t)1 << 16) // entries of Z up to which full matrices are made with the object

// ---- life cycle -----------------------------------------------------------------------------------------------------

static int largest(const int *x, int n)
{
    int m = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > m) m = x[i];
    return m;
}

// Rows of the largest function; M is a matrix.
static int largest_rows(const kd_eom *eom)
{
    int m = 0;
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if (fn != KD_MASS && eom->entry[fn].rows > m) m = eom->entry[fn].rows;
    return m;
}

// Rows of the largest function with a supplied derivative by p, which passes through a buffer on its way to F_p Z.
static int supplied_rows(const kd_eom *eom)
{
    int m = 0;
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if (kd_is_given(eom, (kd_fn)fn, KD_P) && eom->entry[fn].rows > m) m = eom->entry[fn].rows;
    return eom->kinematics == KD_Z_IDENTITY ? 0 : m;
}

// KD_FRAMES copies of all that can be moved: differences of differences nest
static void cut_frames(kd_eom_data *d, const kd_dims *n)
{
    for (int i = 0; i < KD_FRAMES; i++) {
        kd_eom_frame *f = &d->frame[i];
        f->u = kd_cut_double(&d->arena, n->nu);
        f->du = kd_cut_double(&d->arena, n->nu);
        f->ddu = kd_cut_double(&d->arena, n->nu);
        f->theta = kd_cut_double(&d->arena, n->ntheta);
        f->p = kd_cut_double(&d->arena, n->np);
        f->s = kd_cut_double(&d->arena, n->ns);
        f->v = kd_cut_double(&d->arena, n->nv);
        f->r = kd_cut_double(&d->arena, n->nr);
        f->a = kd_cut_double(&d->arena, n->nv);
        f->w = kd_cut_double(&d->arena, n->nw);
        f->lambda = kd_cut_double(&d->arena, n->nlambda);
        f->mu = kd_cut_double(&d->arena, n->nmu);
    }
}

static void cut_arrays(kd_eom_data *d, const kd_dims *n)
{
    kd_arena *arena = &d->arena;
    const int unknowns[] = {n->np, n->nv, n->nr, n->nw, n->ns, n->nlambda, n->nmu, n->nu, n->nz, n->ntheta};
    const int constraints[] = {n->nlambda, n->nmu, n->ns};
    int       rows = largest_rows(d->eom), nc = largest(constraints, 3);

    // the point, zeros for what is not set
    d->u = kd_cut_double(arena, 3 * n->nu);
    d->zero = kd_cut_double(arena, largest(unknowns, 10) + 1);
    d->f = kd_cut_double(arena, n->nv);
    d->linear = kd_cut_double(arena, rows);
    d->pivot = kd_cut_int(arena, n->ns);
    // differences along the motion (levels.c)
    d->stencil = kd_cut_double(arena, nc);
    for (int i = 0; i < 8; i++) d->curve[i] = kd_cut_double(arena, nc);
    d->curve_e = kd_cut_double(arena, n->nv);
    d->curve_s = kd_cut_double(arena, n->ns);
    d->curve_c = kd_cut_double(arena, 2 * n->ns);
    d->curve_c_s = kd_cut_matrix(arena, n->ns, n->ns);
    d->curve_pivot = kd_cut_int(arena, n->ns);
    d->curve_best = kd_cut_double(arena, nc);
    d->curve_value = kd_cut_double(arena, nc);
    d->curve_p = kd_cut_double(arena, n->np);
    d->time_part = kd_cut_double(arena, n->nlambda);
    // moves and norm equations (kinematics.c)
    d->move_p = kd_cut_double(arena, n->np);
    d->move_z = kd_cut_double(arena, n->np);
    d->norm_p = kd_cut_double(arena, n->np);
    d->norm_q = kd_cut_double(arena, n->nq);
    d->norm_left = kd_cut_double(arena, n->nq);
    d->norm_pivot = kd_cut_int(arena, n->nq);
    // derivatives by differences (differences.c)
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if (fn != KD_MASS) d->base[fn] = kd_cut_double(arena, d->entry[fn].rows);
    d->right = kd_cut_double(arena, rows);
    d->left = kd_cut_double(arena, rows);
}

// Memory of impacts: with the object where rows are one-sided, otherwise at the first request
bool kd_room_impact(kd_eom_data *d)
{
    const kd_dims *n = &d->eom->def.dims;
    kd_arena      *arena = &d->arena;
    int            most = n->nlambda + n->nmu;
    if (d->impact_L) return true;
    d->impact_W = kd_cut_matrix(arena, n->nv, most);
    d->impact_y = kd_cut_double(arena, n->nv);
    d->impact_step = kd_cut_double(arena, n->nv);
    d->impact_rate = kd_cut_double(arena, most);
    d->impact_c = kd_cut_double(arena, most);
    d->impact_u = kd_cut_double(arena, most);
    d->impact_row = kd_cut_int(arena, most);
    d->impact_one_sided = kd_cut_bool(arena, most);
    kd_least_distance_cut(&d->impact, arena, n->nv, most);
    if (arena->failed) return false;
    return kd_room(d, &d->impact_L, n->nv, n->nv);
}

bool kd_room(kd_eom_data *d, double **matrix, int rows, int columns)
{
    if (!*matrix) *matrix = kd_cut_matrix(&d->arena, rows, columns);
    return *matrix != NULL;
}

// F_p as it is supplied, on its way to F_p Z
bool kd_room_block(kd_eom_data *d)
{
    return kd_room(d, &d->block, supplied_rows(d->eom), d->eom->def.dims.np);
}

// M at the point and on both sides, for differences of M
bool kd_room_mass(kd_eom_data *d)
{
    const int nv = d->eom->def.dims.nv;
    return kd_room(d, &d->base[KD_MASS], nv, nv) && kd_room(d, &d->mass_right, nv, nv) &&
           kd_room(d, &d->mass_left, nv, nv);
}

kd_eval kd_fault_memory(kd_eom_data *d, kd_fn fn)
{
    return kd_fault_status(d, fn, KD_ERR_MEMORY, "out of memory for a full matrix", KD_EVAL_STOP);
}

// All full matrices now, so that no later call needs memory. Z_base, Z where differences start: not for Z = 1.
kd_status kd_eom_data_reserve(kd_eom_data *d)
{
    if (!d) return KD_ERR_ARGUMENT;
    const kd_dims *n = &d->eom->def.dims;
    const bool     flat = d->eom->kinematics == KD_Z_IDENTITY;
    bool           made = kd_room(d, &d->Z, n->np, n->nv) && kd_room(d, &d->M, n->nv, n->nv) &&
                kd_room(d, &d->GZ, n->nlambda, n->nv) && kd_room(d, &d->HZ, n->nmu, n->nv) && kd_room_block(d) &&
                kd_room(d, &d->g_s, n->nlambda, n->ns) && kd_room(d, &d->c_s, n->ns, n->ns) &&
                kd_room(d, &d->c_p, n->ns, n->nv) && kd_room(d, &d->norm_J, n->nq, n->np) &&
                kd_room(d, &d->norm_A, n->nq, n->nq) && (flat || kd_room(d, &d->Z_base, n->np, n->nv)) &&
                kd_room_mass(d);
    return made ? KD_OK : KD_ERR_MEMORY;
}

// Do full matrices belong to the object from the start?
static bool reserves_at_once(const kd_eom *eom)
{
    const kd_dims *n = &eom->def.dims;
    return !eom->def.pattern || !eom->def.sparse || (size_t)n->np * (size_t)n->nv <= RESERVED_AT_ONCE;
}

kd_status kd_eom_data_create(const kd_eom *eom, kd_eom_data **data)
{
    if (data) *data = NULL;
    if (!eom || !data) return KD_ERR_ARGUMENT;
    kd_eom_data *d = kd_alloc(sizeof *d);
    if (!d) return KD_ERR_MEMORY;
    d->eom = eom;
    memcpy(d->entry, eom->entry, sizeof d->entry);
    // vectors; full matrices while they are small
    cut_frames(d, &eom->def.dims);
    cut_arrays(d, &eom->def.dims);
    if (reserves_at_once(eom) && kd_eom_data_reserve(d) != KD_OK) d->arena.failed = true;
    if (eom->def.restitution && !kd_room_impact(d)) d->arena.failed = true;
    // one thread's workspace of the definition
    d->context = eom->def.context;
    if (!d->arena.failed && eom->def.make_work) d->context = d->work = eom->def.make_work(eom->def.context);
    if (d->arena.failed || (eom->def.make_work && !d->work)) {
        kd_eom_data_destroy(d);
        return KD_ERR_MEMORY;
    }
    // a point where nothing is set yet
    const double *zero = d->zero;
    d->x = (kd_point){.u = zero,
                      .du = zero,
                      .ddu = zero,
                      .z = zero,
                      .p = zero,
                      .s = zero,
                      .v = zero,
                      .r = zero,
                      .a = zero,
                      .w = zero,
                      .lambda = zero,
                      .mu = zero};
    d->fault.row = -1;
    kd_eom_at_parameters(d, NULL);
    *data = d;
    return KD_OK;
}

void kd_eom_data_destroy(kd_eom_data *d)
{
    if (!d) return;
    if (d->work && d->eom->def.free_work) d->eom->def.free_work(d->work);
    kd_arena_release(&d->arena);
    kd_free(d);
}

// Values at a point follow from the point; what the work object remembers does not.
void kd_eom_data_archive(kd_eom_data *d, kd_archive *a)
{
    if (!d || !a) return;
    kd_archive_tag(a, "equations");
    if (d->work && d->eom->def.archive_work) d->eom->def.archive_work(d->work, a);
    if (!a->reads) return;
    d->stage = KD_STAGE_NONE;
    kd_restamp(d, KD_STAGE_TIME);
}

// ---- stages ---------------------------------------------------------------------------------------------------------

// A new stamp for a stage and for all behind it: what was kept for them is old. Stamps only rise
void kd_restamp(kd_eom_data *d, kd_stage from)
{
    unsigned long stamp = ++d->stamp;
    if (from <= KD_STAGE_TIME) d->x.time_stamp = stamp;
    if (from <= KD_STAGE_POSITION) d->x.position_stamp = stamp;
    if (from <= KD_STAGE_VELOCITY) d->x.velocity_stamp = stamp;
    d->x.acceleration_stamp = stamp;
}

static bool are_equal(int n, const double *a, const double *b)
{
    for (int i = 0; i < n && a != b; i++)
        if (a[i] != b[i]) return false;
    return true;
}

// Parameters belong to everything: like the time, with the time kept.
void kd_eom_at_parameters(kd_eom_data *d, const double *theta)
{
    if (!d) return;
    // theta is asked for at every stage: all of the point is new, and so is what depends on parameters alone, but for those of the
    // equations themselves, whose changes their generation tells
    const bool known = d->theta_stamp > 0 && d->x.theta == d->eom->theta;
    d->x.theta = theta && !d->eom->def.theta_held ? theta : d->eom->theta;
    d->foreign = theta && !are_equal(d->eom->def.dims.ntheta, theta, d->x.theta);
    if (d->stage > KD_STAGE_TIME) d->stage = KD_STAGE_TIME;
    if (d->foreign) d->stage = KD_STAGE_NONE;
    kd_restamp(d, KD_STAGE_TIME);
    if (!known || d->x.theta != d->eom->theta) d->theta_stamp = d->stamp;
}

void kd_eom_at_time(kd_eom_data *d, double t, const double *u, const double *du, const double *ddu, const double *z)
{
    if (!d) return;
    d->x.t = t;
    d->x.u = u ? u : d->zero;
    d->x.du = du ? du : d->zero;
    d->x.ddu = ddu ? ddu : d->zero;
    d->x.z = z ? z : d->zero;
    d->stage = d->foreign ? KD_STAGE_NONE : KD_STAGE_TIME;
    kd_restamp(d, KD_STAGE_TIME);
    if (d->generation == d->eom->generation) return;
    d->generation = d->eom->generation; // other parameters: what depends on nothing else is not known any more
    d->theta_stamp = d->stamp;
}

// The stage that is reached by setting one: only if the one before is there. What belongs to later stages may point to
// memory that is gone; functions that ask for more than their stage see zeros.
static void reach_stage(kd_eom_data *d, kd_stage stage)
{
    const double *zero = d->zero;
    if (d->stage >= stage - 1) d->stage = stage;
    if (stage < KD_STAGE_VELOCITY) d->x.v = d->x.r = zero;
    if (stage < KD_STAGE_ACCELERATION) d->x.a = d->x.w = d->x.lambda = d->x.mu = zero;
    kd_restamp(d, stage);
}

void kd_eom_at_position(kd_eom_data *d, const double *p, const double *s)
{
    if (!d) return;
    d->x.p = p ? p : d->zero;
    d->x.s = s ? s : d->zero;
    reach_stage(d, KD_STAGE_POSITION);
}

void kd_eom_at_velocity(kd_eom_data *d, const double *v, const double *r)
{
    if (!d) return;
    d->x.v = v ? v : d->zero;
    d->x.r = r ? r : d->zero;
    reach_stage(d, KD_STAGE_VELOCITY);
}

void kd_eom_at_acceleration(kd_eom_data *d, const double *a, const double *w, const double *lambda, const double *mu)
{
    if (!d) return;
    d->x.a = a ? a : d->zero;
    d->x.w = w ? w : d->zero;
    d->x.lambda = lambda ? lambda : d->zero;
    d->x.mu = mu ? mu : d->zero;
    reach_stage(d, KD_STAGE_ACCELERATION);
}

kd_eval kd_eom_at_instant(kd_eom_data *d, const kd_inputs *inputs, double t, const kd_state *x)
{
    if (!d || !x) return KD_EVAL_STOP;
    const int  nu = d->eom->def.dims.nu;
    double    *u = d->u, *du = u + nu, *ddu = du + nu;
    const bool given = inputs && inputs->eval;
    // nothing is set until the inputs have answered; t is there for the message
    d->stage = KD_STAGE_NONE;
    d->x.t = t;
    const kd_eval answer = given ? inputs->eval(t, inputs->context, u, du, ddu) : KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_Y, "the inputs", answer);
    kd_eom_at_parameters(d, x->theta);
    kd_eom_at_time(d, t, given ? u : NULL, given ? du : NULL, given ? ddu : NULL, x->z);
    return KD_EVAL_OK;
}

kd_eval kd_eom_at_state(kd_eom_data *d, const kd_inputs *inputs, const kd_state *x, kd_stage stage)
{
    const kd_eval answer = x ? kd_eom_at_instant(d, inputs, x->t, x) : KD_EVAL_STOP;
    if (answer != KD_EVAL_OK) return answer;
    if (stage >= KD_STAGE_POSITION) kd_eom_at_position(d, x->p, x->s);
    if (stage >= KD_STAGE_VELOCITY) kd_eom_at_velocity(d, x->v, x->r);
    if (stage >= KD_STAGE_ACCELERATION) kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    return KD_EVAL_OK;
}

const kd_point *kd_eom_point(const kd_eom_data *d)
{
    return d ? &d->x : NULL;
}

void *kd_eom_data_context(const kd_eom_data *d)
{
    return d ? d->context : NULL;
}

const kd_eom *kd_eom_data_eom(const kd_eom_data *d)
{
    return d ? d->eom : NULL;
}

kd_stage kd_eom_data_stage(const kd_eom_data *d)
{
    return d ? d->stage : KD_STAGE_NONE;
}

// Leave the point: it is kept in a frame with its stamps, so that what was computed for it is valid again behind pop
kd_eom_frame *kd_eom_frame_push(kd_eom_data *d)
{
    assert(d->depth < KD_FRAMES);
    kd_eom_frame *f = &d->frame[d->depth++];
    const double *zero = d->zero;
    f->saved = d->x;
    f->stage = d->stage;
    f->theta_stamp = d->theta_stamp;
    // what is not set may point to memory that is gone
    if (d->stage < KD_STAGE_TIME) d->x.u = d->x.du = d->x.ddu = d->x.z = zero;
    if (d->stage < KD_STAGE_POSITION) d->x.p = d->x.s = zero;
    if (d->stage < KD_STAGE_VELOCITY) d->x.v = d->x.r = zero;
    if (d->stage < KD_STAGE_ACCELERATION) d->x.a = d->x.w = d->x.lambda = d->x.mu = zero;
    return f;
}

void kd_eom_frame_pop(kd_eom_data *d)
{
    const kd_eom_frame *f = &d->frame[--d->depth];
    d->x = f->saved;
    d->stage = f->stage;
    d->theta_stamp = f->theta_stamp;
}

// ---- values ---------------------------------------------------------------------------------------------------------

// the payload of the NaN survives arithmetic, the sign may not: kd_is_unset masks it
#define UNSET UINT64_C(0x7ff86b64756e7365) // quiet NaN "kdunse"

void kd_mark_unset(double *out, int n)
{
    const uint64_t unset = UNSET;
    for (int i = 0; i < n; i++) memcpy(out + i, &unset, sizeof unset);
}

bool kd_is_unset(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & (UINT64_MAX >> 1)) == UNSET;
}

kd_eval kd_eom_eval(kd_eom_data *d, kd_fn fn, double *out)
{
    if (!d) return KD_EVAL_STOP;
    const kd_eom_entry *entry = &d->entry[fn];
    if (d->stage < entry->stage) return kd_fault_stage(d, fn, entry->stage);
    if (entry->rows == 0) return KD_EVAL_OK;
    // what the definition does not give: from its other functions
    if (!entry->user) return entry->fallback(d, out);

    // the definition's own; its first answer must set all rows
    d->counters.fn[fn]++;
    d->counters.for_differences += d->depth > 0;
    if (!(d->complete & (1u << fn))) kd_mark_unset(out, entry->rows);
    kd_eval answer = entry->user(&d->x, d->context, out);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, fn, kd_fn_word(fn), answer);
    if (!kd_all_finite(out, entry->rows)) return kd_fault_not_finite(d, fn, kd_fn_word(fn), out, entry->rows);
    d->complete |= 1u << fn;
    return KD_EVAL_OK;
}

kd_eval kd_eom_energies(kd_eom_data *d, kd_energies *out)
{
    if (!d) return KD_EVAL_STOP;
    // at the velocity stage, zeros before the call: an element adds what it has
    if (d->stage < KD_STAGE_VELOCITY) return kd_fault_stage(d, KD_E, KD_STAGE_VELOCITY);
    if (!d->eom->def.energies)
        return kd_fault_status(d, KD_E, KD_ERR_UNSUPPORTED, "energies is not given", KD_EVAL_STOP);
    *out = (kd_energies){0};
    kd_eval answer = d->eom->def.energies(&d->x, d->context, out);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_E, "energies", answer);
    const double values[] = {out->kinetic, out->potential, out->dissipated, out->supplied};
    if (!kd_all_finite(values, 4)) return kd_fault_not_finite(d, KD_E, "energies", NULL, 0);
    return KD_EVAL_OK;
}

// Words of a function of the definition at the velocity stage
static bool tell_words(kd_eom_data *d, void (*words)(const kd_point *, void *, char *, size_t), char *text, size_t size)
{
    if (!text || size == 0) return false;
    text[0] = '\0';
    if (words && d->stage >= KD_STAGE_VELOCITY) words(&d->x, d->context, text, size);
    return text[0] != '\0';
}

bool kd_eom_caution(kd_eom_data *d, char *text, size_t size)
{
    return d && tell_words(d, d->eom->def.caution, text, size);
}

bool kd_eom_notice(kd_eom_data *d, char *text, size_t size)
{
    return d && tell_words(d, d->eom->def.notice, text, size);
}

kd_eval kd_eom_content(kd_eom_data *d, double *amount, double *slope)
{
    if (!d || !amount || !slope) return KD_EVAL_STOP;
    const int nr = d->eom->def.dims.nr;
    if (d->stage < KD_STAGE_VELOCITY) return kd_fault_stage(d, KD_B, KD_STAGE_VELOCITY);
    // without the function no amount is known (NAN); with it, what it leaves alone has none
    for (int i = 0; i < nr; i++) amount[i] = d->eom->def.content ? 0.0 : NAN, slope[i] = 0.0;
    if (!d->eom->def.content || nr == 0) return KD_EVAL_OK;
    const kd_eval answer = d->eom->def.content(&d->x, d->context, amount, slope);
    return answer == KD_EVAL_OK ? answer : kd_fault_answer(d, KD_B, "content", answer);
}

void kd_eom_jumps(kd_eom_data *d, const kd_point *x0, const kd_point *x1, char *text, size_t size)
{
    kd_text(text, size, "%s", "");
    if (d && x0 && x1 && d->eom->def.jumps) d->eom->def.jumps(x0, x1, d->context, text, size);
}

double kd_eom_feeds(kd_eom_data *d, char *text, size_t size)
{
    kd_text(text, size, "%s", "");
    return d && d->eom->def.feeds && d->stage >= KD_STAGE_VELOCITY ? d->eom->def.feeds(&d->x, d->context, text, size)
                                                                   : 0;
}

kd_eval kd_eom_accelerations(kd_eom_data *d, double *a, double *lambda, double *mu)
{
    if (!d) return KD_EVAL_STOP;
    const kd_dims *n = &d->eom->def.dims;
    if (d->stage < KD_STAGE_VELOCITY) return kd_fault_stage(d, KD_RESIDUAL, KD_STAGE_VELOCITY);
    if (!d->eom->def.accelerations)
        return kd_fault_status(d, KD_RESIDUAL, KD_ERR_UNSUPPORTED, "accelerations is not given", KD_EVAL_STOP);
    kd_eval answer = d->eom->def.accelerations(&d->x, d->context, a, lambda, mu);
    // each of the three must be finite; the fault names the row by the level that determines it
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_RESIDUAL, "accelerations", answer);
    if (!kd_all_finite(a, n->nv)) return kd_fault_not_finite(d, KD_RESIDUAL, "accelerations", a, n->nv);
    if (!kd_all_finite(lambda, n->nlambda)) return kd_fault_not_finite(d, KD_GII, "multipliers", lambda, n->nlambda);
    if (!kd_all_finite(mu, n->nmu)) return kd_fault_not_finite(d, KD_HI, "multipliers", mu, n->nmu);
    return KD_EVAL_OK;
}

kd_eval kd_eom_kkt_factor(kd_eom_data *d)
{
    if (!d) return KD_EVAL_STOP;
    if (d->stage < KD_STAGE_POSITION) return kd_fault_stage(d, KD_MASS, KD_STAGE_POSITION);
    if (!d->eom->def.kkt_factor)
        return kd_fault_status(d, KD_MASS, KD_ERR_UNSUPPORTED, "kkt_factor is not given", KD_EVAL_STOP);
    return d->eom->def.kkt_factor(&d->x, d->context);
}

void kd_eom_kkt_solve(kd_eom_data *d, double *y)
{
    if (d && y && d->eom->def.kkt_solve) d->eom->def.kkt_solve(d->context, y);
}

bool kd_eom_implicit_reserve(kd_eom_data *d)
{
    return d && d->eom->def.implicit_reserve && d->eom->def.implicit_reserve(d->context);
}

kd_eval kd_eom_implicit_set(kd_eom_data *d)
{
    if (!d) return KD_EVAL_STOP;
    if (d->stage < KD_STAGE_ACCELERATION) return kd_fault_stage(d, KD_RESIDUAL, KD_STAGE_ACCELERATION);
    if (!d->eom->def.implicit_set)
        return kd_fault_status(d, KD_RESIDUAL, KD_ERR_UNSUPPORTED, "implicit_set is not given", KD_EVAL_STOP);
    const kd_eval answer = d->eom->def.implicit_set(&d->x, d->context);
    return answer == KD_EVAL_OK ? answer : kd_fault_answer(d, KD_RESIDUAL, "derivatives", answer);
}

kd_status kd_eom_implicit_pair(kd_eom_data *d, int k)
{
    if (!d) return KD_ERR_ARGUMENT;
    if (!d->eom->def.implicit_pair) return k == 0 ? KD_OK : KD_ERR_UNSUPPORTED;
    return d->eom->def.implicit_pair(d->context, k) ? KD_OK : KD_ERR_MEMORY;
}

bool kd_eom_implicit_factor(kd_eom_data *d, double re, double im)
{
    return d && d->eom->def.implicit_factor && d->eom->def.implicit_factor(d->context, re, im);
}

void kd_eom_implicit_solve(kd_eom_data *d, double *re, double *im)
{
    if (d && d->eom->def.implicit_solve) d->eom->def.implicit_solve(d->context, re, im);
}

bool kd_eom_normalise(kd_eom_data *d, double *p)
{
    if (!d) return false;
    if (!d->eom->def.normalise) return false;
    d->eom->def.normalise(p, d->context);
    return true;
}

bool kd_eom_velocities(kd_eom_data *d, const double *p, const double *rate, double *v)
{
    if (!d) return false;
    if (!d->eom->def.velocities) return false;
    d->eom->def.velocities(p, rate, d->context, v);
    return true;
}

bool kd_eom_pattern(const kd_eom *eom, kd_fn fn, kd_var var, kd_pattern *out)
{
    if (!eom || !out || (unsigned)fn >= KD_FN_COUNT || (unsigned)var >= KD_VAR_COUNT) return false;
    return eom->def.pattern && eom->def.pattern(fn, var, eom->def.context, out);
}

// Blocks of what is linear in v or a depend on the position only: Z, GZ, HZ, M.
static kd_stage sparse_stage(const kd_eom_data *d, kd_fn fn, kd_var var)
{
    bool linear_in_v = fn == KD_KINEMATICS || fn == KD_GI || fn == KD_H;
    if (var == KD_A || (var == KD_V && linear_in_v)) return KD_STAGE_POSITION;
    return d->entry[fn].stage;
}

kd_eval kd_eom_sparse(kd_eom_data *d, kd_fn fn, kd_var var, kd_part part, double *values)
{
    if (!d || !values || (unsigned)fn >= KD_FN_COUNT) return KD_EVAL_STOP;
    kd_pattern pattern;
    kd_stage   needed = sparse_stage(d, fn, var);
    if (d->stage < needed) return kd_fault_stage(d, fn, needed);
    if (!kd_eom_pattern(d->eom, fn, var, &pattern))
        return kd_fault_status(d, fn, KD_ERR_UNSUPPORTED, "this block is not given sparse", KD_EVAL_STOP);
    d->counters.derivative++;
    kd_eval answer = d->eom->def.sparse(&d->x, fn, var, part, d->context, values);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, fn, "sparse derivative", answer);
    // entries of the pattern, by compressed columns
    int n = pattern.column[pattern.columns];
    if (!kd_all_finite(values, n)) return kd_fault_not_finite(d, fn, "sparse derivative", values, n);
    return KD_EVAL_OK;
}

typedef kd_eval (*stiffness_fn)(const kd_point *x, double by_p, double by_v, int part, int parts, void *context,
                                double *values);

// A sum with derivatives of the stiff elements, in the pattern of a block
static kd_eval sum_stiffness(kd_eom_data *d, stiffness_fn sum, const kd_pattern *pattern, double by_p, double by_v,
                             int part, int parts, double *values)
{
    static const char what[] = "stiffness";
    if (d->stage < KD_STAGE_ACCELERATION) return kd_fault_stage(d, KD_RESIDUAL, KD_STAGE_ACCELERATION);
    d->counters.derivative++;
    kd_eval answer = sum(&d->x, by_p, by_v, part, parts, d->context, values);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_RESIDUAL, what, answer);
    int n = pattern->column[pattern->columns];
    return kd_all_finite(values, n) ? KD_EVAL_OK : kd_fault_not_finite(d, KD_RESIDUAL, what, values, n);
}

// by_p residual_p + by_v residual_v of the stiff elements, in the pattern of residual by p
kd_eval kd_eom_stiffness(kd_eom_data *d, double by_p, double by_v, int part, int parts, double *values)
{
    if (!d) return KD_EVAL_STOP;
    kd_pattern pattern;
    if (!d->eom->def.stiffness || !kd_eom_pattern(d->eom, KD_RESIDUAL, KD_P, &pattern))
        return kd_fault_status(d, KD_RESIDUAL, KD_ERR_UNSUPPORTED, "stiffness is not given", KD_EVAL_STOP);
    return sum_stiffness(d, d->eom->def.stiffness, &pattern, by_p, by_v, part, parts, values);
}

bool kd_eom_fits_mass(const kd_eom_data *d)
{
    kd_pattern pattern;
    if (!d || !d->eom->def.mass_and_stiffness || !d->eom->def.fits_mass) return false;
    return kd_eom_pattern(d->eom, KD_MASS, KD_A, &pattern) && d->eom->def.fits_mass(d->context);
}

// M + by_p residual_p + by_v residual_v, in the pattern of M
kd_eval kd_eom_mass_and_stiffness(kd_eom_data *d, double by_p, double by_v, int part, int parts, double *values)
{
    if (!d) return KD_EVAL_STOP;
    kd_pattern pattern;
    if (!d->eom->def.mass_and_stiffness || !kd_eom_pattern(d->eom, KD_MASS, KD_A, &pattern))
        return kd_fault_status(d, KD_RESIDUAL, KD_ERR_UNSUPPORTED, "mass with stiffness is not given", KD_EVAL_STOP);
    return sum_stiffness(d, d->eom->def.mass_and_stiffness, &pattern, by_p, by_v, part, parts, values);
}

kd_eval kd_eom_acceleration(kd_eom_data *d, double *a)
{
    if (!d) return KD_EVAL_STOP;
    if (d->stage < KD_STAGE_ACCELERATION) return kd_fault_stage(d, KD_RESIDUAL, KD_STAGE_ACCELERATION);
    if (!d->eom->def.acceleration)
        return kd_fault_status(d, KD_RESIDUAL, KD_ERR_UNSUPPORTED, "acceleration is not given", KD_EVAL_STOP);
    const int nv = d->eom->def.dims.nv;
    // the first answer must set all entries, as in kd_eom_eval; bit KD_FN_COUNT stands for it
    if (!(d->complete & (1u << KD_FN_COUNT))) kd_mark_unset(a, nv);
    kd_eval answer = d->eom->def.acceleration(&d->x, d->context, a);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_RESIDUAL, "acceleration", answer);
    if (!kd_all_finite(a, nv)) return kd_fault_not_finite(d, KD_RESIDUAL, "acceleration", a, nv);
    d->complete |= 1u << KD_FN_COUNT;
    return KD_EVAL_OK;
}

kd_eom_counters kd_eom_data_counters(const kd_eom_data *d)
{
    if (!d) return (kd_eom_counters){0};
    return d->counters;
}

// ---- faults ---------------------------------------------------------------------------------------------------------

// t of the point; the row by its number, -1: none
static void set_fault(kd_eom_data *d, kd_status status, kd_fn fn, int row)
{
    d->fault = (kd_fault){.status = status, .fn = fn, .row = row, .t = d->x.t};
}

kd_eval kd_fault_stage(kd_eom_data *d, kd_fn fn, kd_stage needed)
{
    static const char *const words[] = {"nothing", "the time", "the position", "the velocity", "the acceleration"};
    set_fault(d, KD_ERR_STAGE, fn, -1);
    kd_text(d->message, sizeof d->message, "%s was asked for before %s was set (set so far: up to %s)", kd_fn_word(fn),
            words[needed], words[d->stage]);
    return KD_EVAL_STOP;
}

// What the definition knows about it
static void append_reason(kd_eom_data *d)
{
    char text[256] = "";
    if (!d->eom->def.reason || d->stage < KD_STAGE_VELOCITY) return;
    d->eom->def.reason(&d->x, d->context, text, sizeof text);
    text[sizeof text - 1] = '\0';
    if (text[0]) kd_text_append(d->message, sizeof d->message, ": %s", text);
}

kd_eval kd_fault_answer(kd_eom_data *d, kd_fn fn, const char *what, kd_eval answer)
{
    bool retry = answer == KD_EVAL_RETRY;
    set_fault(d, retry ? KD_ERR_RETRY_FAILED : KD_ERR_CALLBACK_STOP, fn, -1);
    kd_text(d->message, sizeof d->message, "%s %s at t = %g", what, retry ? "cannot be evaluated" : "asked to stop",
            d->x.t);
    // functions that asked to stop are left alone, but for the search through a step, which knows why
    if (retry || strcmp(what, "unseen") == 0) append_reason(d);
    return retry ? KD_EVAL_RETRY : KD_EVAL_STOP;
}

kd_eval kd_fault_not_finite(kd_eom_data *d, kd_fn fn, const char *what, const double *x, int n)
{
    int i = 0;
    // the first number that is not finite tells row and column; it may be the mark of one that was never set
    while (i < n && isfinite(x[i])) i++;
    const bool  unset = i < n && kd_is_unset(x[i]);
    const char *number = i < n && isinf(x[i]) ? "infinity" : "NaN";
    int         rows = fn == KD_MASS ? d->eom->def.dims.nv : d->entry[fn].rows;
    int         row = i < n && rows > 0 ? i % rows : -1;
    set_fault(d, unset ? KD_ERR_DEFINITION : KD_ERR_NOT_FINITE, fn, row);
    if (row >= 0) {
        char name[96];
        kd_row_name(d->eom, fn, row, name, sizeof name);
        if (unset)
            kd_text(d->message, sizeof d->message, "%s: row %d (%s) was not set", what, row, name);
        else
            kd_text(d->message, sizeof d->message, "%s returned %s in row %d (%s)", what, number, row, name);
        if (i >= rows) kd_text_append(d->message, sizeof d->message, ", column %d", i / rows);
    } else {
        kd_text(d->message, sizeof d->message, "%s returned a number that is not finite", what);
    }
    kd_text_append(d->message, sizeof d->message, " at t = %g", d->x.t);
    if (!unset) append_reason(d);
    return unset ? KD_EVAL_STOP : KD_EVAL_RETRY; // a smaller step would not set it
}

kd_eval kd_fault_status(kd_eom_data *d, kd_fn fn, kd_status status, const char *what, kd_eval answer)
{
    set_fault(d, status, fn, -1);
    kd_text(d->message, sizeof d->message, "%s at t = %g", what, d->x.t);
    return answer;
}

kd_fault kd_eom_data_fault(const kd_eom_data *d)
{
    if (!d) return (kd_fault){0};
    return d->fault;
}

const char *kd_eom_data_message(const kd_eom_data *d)
{
    return d ? d->message : "";
}
