// branch_watch.c: auxiliary variables w, 0 = d(p,v,r,w,..), followed along a motion, for all formulations.
//
// Equations with several solutions may lose one where it meets another (d_w singular, a fold). A step that jumps over
// such a place finds a solution behind it all the same: another one, from which the motion goes on as if nothing had
// happened. Therefore w is followed on the straight way between both ends of each step. From the last point Newton's
// method for the next one must contract from its first correction on,
//
//     |dw_k+1| <= CONTRACTS |dw_k|,
//
// otherwise the way to the next point is halved (Deuflhard's restricted monotonicity test). Where it becomes 0, or where
// what arrives is not the w of the step, the solution was lost. Mostly the whole way is one part, and costs two looks at
// d and d_w.
#include "simulation/branch_watch.h"

#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "math/dense.h"

#define LARGEST 200    // variables beyond which a factorisation costs more than a step
#define CONTRACTS 0.25 // of one correction to the next
#define CONVERGED 1e-9 // correction beside the largest w so far
#define SAME 1e-6      // the same, of two w that are one solution
#define ITERATIONS 12  // a quadratic iteration is there long before
#define SHORTEST 1e-9  // part of the step below which the solution is lost
#define MOST_PARTS 500 // of one step
#define NAMED 0.3      // differences beside the largest one that are worth a name

struct kd_branch_watch {
    kd_arena      arena;
    const kd_eom *eom;
    kd_inputs     inputs;
    kd_eom_data  *data;
    kd_dims       dims;
    double        t0;                                      // the point to follow from: its time
    double       *p0, *s0, *v0, *r0, *lambda0, *mu0;       // its state
    double       *w0;                                      // (nw) its w
    bool          exact;                                   // which satisfies its equations
    double       *p, *s, *v, *r, *lambda, *mu;             // between both ends
    double       *w, *end, *trial, *d, *d_w, *size, *zero; // (nw), d_w (nw x nw); size: largest |w| so far; zero (nv)
    int          *pivot;                                   // (nw)
};

typedef enum outcome { FOUND, LOST, UNKNOWN, STOPPED } outcome; // UNKNOWN: functions cannot be evaluated there

static bool is_moving(const kd_eom *eom)
{
    static const kd_var of[] = {KD_P, KD_V, KD_R, KD_U, KD_T};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (kd_eom_depends(eom, KD_D, of[i])) return true;
    return false;
}

static void cut(kd_branch_watch *b)
{
    kd_arena      *a = &b->arena;
    const kd_dims  d = b->dims;
    double **const ends[] = {&b->p0, &b->p, &b->s0,      &b->s,      &b->v0,  &b->v,
                             &b->r0, &b->r, &b->lambda0, &b->lambda, &b->mu0, &b->mu};
    const int      length[] = {d.np, d.ns, d.nv, d.nr, d.nlambda, d.nmu};
    for (int i = 0; i < 12; i++) *ends[i] = kd_cut_double(a, length[i / 2]);
    double **const of_w[] = {&b->w0, &b->w, &b->end, &b->trial, &b->d, &b->size};
    for (int i = 0; i < 6; i++) *of_w[i] = kd_cut_double(a, d.nw);
    b->d_w = kd_cut_matrix(a, d.nw, d.nw);
    b->zero = kd_cut_double(a, d.nv);
    b->pivot = kd_cut_int(a, d.nw);
}

kd_status kd_branch_watch_create(kd_eom_data *data, const kd_inputs *inputs, kd_branch_watch **watch)
{
    const kd_eom *eom = kd_eom_data_eom(data);
    const kd_dims d = kd_eom_dims(eom);
    *watch = NULL;
    if (d.nw == 0 || d.nw > LARGEST || !kd_eom_depends(eom, KD_D, KD_W) || !is_moving(eom)) return KD_OK;
    kd_branch_watch *b = kd_alloc(sizeof *b);
    if (!b) return KD_ERR_MEMORY;
    b->eom = eom;
    b->data = data;
    b->dims = d;
    if (inputs) b->inputs = *inputs;
    cut(b);
    if (b->arena.failed) {
        kd_branch_watch_destroy(b);
        return KD_ERR_MEMORY;
    }
    *watch = b;
    return KD_OK;
}

void kd_branch_watch_destroy(kd_branch_watch *b)
{
    if (!b) return;
    kd_arena_release(&b->arena);
    kd_free(b);
}

// ---- the way between two states -------------------------------------------------------------------------------------

static void copy(int n, const double *from, double *to)
{
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

static void mix(int n, double part, const double *from, const double *to, double *out)
{
    for (int i = 0; i < n; i++) out[i] = part < 1.0 ? from[i] + part * (to[i] - from[i]) : to[i];
}

// The velocity stage at a part of the way to x
static bool go_to(kd_branch_watch *b, const kd_state *x, double part)
{
    const kd_dims d = b->dims;
    const double  t = part < 1.0 ? b->t0 + part * (x->t - b->t0) : x->t;
    mix(d.np, part, b->p0, x->p, b->p), mix(d.ns, part, b->s0, x->s, b->s), mix(d.nv, part, b->v0, x->v, b->v);
    mix(d.nr, part, b->r0, x->r, b->r), mix(d.nlambda, part, b->lambda0, x->lambda, b->lambda);
    mix(d.nmu, part, b->mu0, x->mu, b->mu);
    if (kd_eom_at_instant(b->data, &b->inputs, t, x) != KD_EVAL_OK) return false;
    kd_eom_at_position(b->data, b->p, b->s);
    kd_eom_at_velocity(b->data, b->v, b->r);
    return true;
}

static void note_size(kd_branch_watch *b, const double *w)
{
    for (int i = 0; i < b->dims.nw; i++) b->size[i] = fmax(b->size[i], fabs(w[i]));
}

// d = d_w \ d at w; its size beside that of w
static outcome correction(kd_branch_watch *b, const double *w, double *size)
{
    kd_blocks blocks = {0};
    blocks.block[KD_D][KD_W] = b->d_w;
    kd_eom_at_acceleration(b->data, b->zero, w, b->lambda, b->mu);
    kd_eval answer = kd_eom_eval(b->data, KD_D, b->d);
    if (answer == KD_EVAL_OK) answer = kd_eom_derivatives(b->data, KD_PART_ALL, &blocks);
    if (answer != KD_EVAL_OK) return answer == KD_EVAL_STOP ? STOPPED : UNKNOWN;
    if (kd_lu_factor(b->dims.nw, b->d_w, b->pivot) != 0) return LOST;
    kd_lu_solve(b->dims.nw, b->d_w, b->pivot, b->d, 1);
    *size = 0.0;
    for (int i = 0; i < b->dims.nw; i++) {
        if (b->size[i] == 0.0) b->size[i] = fabs(b->d[i]); // it was 0 until now
        if (b->d[i] != 0.0) *size = fmax(*size, fabs(b->d[i]) / b->size[i]);
    }
    return isnan(*size) ? UNKNOWN : FOUND;
}

// Newton's method at the present point; w stays what it is unless the iteration contracts
static outcome solve(kd_branch_watch *b, double *w)
{
    const int n = b->dims.nw;
    double    last = INFINITY;
    copy(n, w, b->trial);
    for (int k = 0; k < ITERATIONS; k++) {
        double  size;
        outcome found = correction(b, b->trial, &size);
        if (found != FOUND) return found;
        if (size > CONVERGED && k > 0 && !(size <= CONTRACTS * last)) return LOST;
        for (int i = 0; i < n; i++) b->trial[i] -= b->d[i];
        if (size <= CONVERGED) {
            copy(n, b->trial, w);
            note_size(b, w);
            return FOUND;
        }
        last = size;
    }
    return LOST;
}

// b->w from the last point to x; *part: how far it came
static outcome follow(kd_branch_watch *b, const kd_state *x, double *part)
{
    double length = 1.0;
    *part = 0.0;
    copy(b->dims.nw, b->w0, b->w);
    for (int k = 0; k < MOST_PARTS && length >= SHORTEST; k++) {
        const double  next = fmin(*part + length, 1.0);
        const outcome found = go_to(b, x, next) ? solve(b, b->w) : UNKNOWN;
        if (found == STOPPED || found == UNKNOWN) return found;
        if (found == FOUND && next == 1.0) return FOUND;
        if (found == FOUND) *part = next;
        length *= found == FOUND ? 2.0 : 0.5;
    }
    return LOST;
}

// ---- words ----------------------------------------------------------------------------------------------------------

// Difference of the followed w and that of the step, in sizes of w
static double difference(const kd_branch_watch *b, int i)
{
    return b->w[i] == b->end[i] ? 0.0 : fabs(b->w[i] - b->end[i]) / b->size[i];
}

static double largest_difference(const kd_branch_watch *b)
{
    double largest = 0.0;
    for (int i = 0; i < b->dims.nw; i++) largest = fmax(largest, difference(b, i));
    return largest;
}

// lost: the solution that was followed is not there any more; otherwise the step has another one
static kd_status tell_branch(const kd_branch_watch *b, double t, bool lost, char *message, size_t size)
{
    const double largest = largest_difference(b);
    const char  *comma = "";
    kd_text(message, size, "at t = %.9g the equations of ", t);
    for (int i = 0, count = 0; i < b->dims.nw && count < 3; i++) {
        char name[128];
        if (!(difference(b, i) >= NAMED * largest)) continue;
        kd_text_append(message, size, "%s%s", comma, kd_eom_name(b->eom, KD_NAME_W, i, name, sizeof name));
        comma = ", ";
        count++;
    }
    kd_text_append(message, size,
                   " %s; write an equation that has one solution in every state, or end the run before by an event",
                   lost ? "lose the solution that the motion has followed: two solutions meet there (d_w is singular)"
                        : "have several solutions, and the step has gone over to another one than the motion has "
                          "followed: nearby two solutions meet (d_w is singular)");
    return KD_ERR_SINGULAR_DW;
}

// From x, with this w
static void take(kd_branch_watch *b, const kd_state *x, const double *w)
{
    const kd_dims d = b->dims;
    b->t0 = x->t;
    copy(d.np, x->p, b->p0), copy(d.ns, x->s, b->s0), copy(d.nv, x->v, b->v0), copy(d.nr, x->r, b->r0);
    copy(d.nlambda, x->lambda, b->lambda0), copy(d.nmu, x->mu, b->mu0), copy(d.nw, w, b->w0);
}

// The w of x as exact as it is followed from there: forms do not control its error
static outcome polish(kd_branch_watch *b, const kd_state *x)
{
    copy(b->dims.nw, x->w, b->end);
    note_size(b, x->w);
    return go_to(b, x, 1.0) ? solve(b, b->end) : UNKNOWN;
}

static kd_status stopped(double t, char *message, size_t size)
{
    kd_text(message, size, "a function asked to stop at t = %.9g", t);
    return KD_ERR_CALLBACK_STOP;
}

kd_status kd_branch_watch_start(kd_branch_watch *b, const kd_state *x, char *message, size_t size)
{
    const outcome polished = polish(b, x);
    b->exact = polished == FOUND;
    take(b, x, b->end);
    return polished == STOPPED ? stopped(x->t, message, size) : KD_OK;
}

kd_status kd_branch_watch_look(kd_branch_watch *b, const kd_state *x, char *message, size_t size)
{
    const double  from = b->t0;
    double        part = 0.0;
    const outcome polished = polish(b, x);
    if (polished == STOPPED) return stopped(x->t, message, size);
    const outcome found = b->exact && x->t > from ? follow(b, x, &part) : UNKNOWN;
    if (found == STOPPED) return stopped(x->t, message, size);
    // on from what was followed to here, otherwise from what the step has
    b->exact = polished == FOUND || found == FOUND;
    take(b, x, found == FOUND ? b->w : b->end);
    if (found == LOST) return tell_branch(b, from + part * (x->t - from), true, message, size);
    // functions may have no value on the straight way, and the w of the step may be too inexact to tell
    if (found == UNKNOWN || polished != FOUND) return KD_OK;
    return largest_difference(b) <= SAME ? KD_OK : tell_branch(b, x->t, false, message, size);
}

void kd_branch_watch_archive(kd_branch_watch *b, kd_archive *a)
{
    kd_archive_tag(a, "branch");
    kd_archive_arrays(a, &b->arena, b, sizeof *b);
    kd_archive_real(a, &b->t0);
    kd_archive_bool(a, &b->exact);
}
