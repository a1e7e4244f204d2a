// collapse.c: runs that get nowhere, and why.
//
// Stagnation. A force that jumps with a velocity or position and drives the motion back from both sides makes it slide
// along the jump. No step resolves that: integrators go on with steps as small as their tolerance makes them, thousands
// of times smaller than before, and reach the end after millions of them. Two things must come together for the run to
// be ended, again and again over thousands of steps:
//   - pace: with that of the last few hundred attempts the end is more than MOST attempts away;
//   - a jump next to the state, within a few tolerances. Along random lines through the state the interval with the
//     larger change of the forces is halved down to rounding: a smooth force changes by less and less there, one that
//     jumps keeps its change.
// Motion that is merely fast, stiff or long has no jump at the state; one that passes jumps now and then has none at
// most of the looks, whose distances vary.
//
// Steps that are taken back. Where the equations are rough on every scale, as by rounding or a function in C with noise,
// no step stands its check however short it is made: each is made a dozen times, kept in the end, and leads on by some
// 1e-10 of the time. The run is ended when, again and again over thousands of attempts, the pace is as above, most
// attempts were taken back, and some steps were kept that do not stand. Steps that feel their way to a jump are taken
// back as often, but stand then, or are accounted for.
//
// Steps that find no solution. Where Newton's method meets rounding, as next to a singular position with a tight tolerance,
// steps shrink until it converges, grow, and fail again, and lead on by some 1e-9 of the time. The run is
// ended when, again and again over thousands of attempts, the pace is as above and less than SLOWED of the best that the
// run has had, and many attempts failed that way. Runs that are merely long have the pace that they always had.
//
// Blow-up. The largest velocity doubles again and again in equal times, to more than EXPLODED times its size at the
// start (at least 1, and a natural velocity), and an element feeds as much energy as that takes. Motion that an applied
// force speeds up doubles more and more slowly; a tumbling pendulum gets its energy from nobody.
#include "simulation/collapse.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "math/dense.h"

#define MOST 2e5           // attempts to the end at the present pace that are too many
#define LOOKS 24           // that must find a jump ..
#define AGAINST 6          // .. less so many for each that does not
#define TAKEN_BACK 0.5     // part of the attempts, in LOOKS intervals in a row
#define FAILED 0.25        // part of the attempts without a solution, in as many
#define SLOWED 1e-3        // of the best pace
#define LEAST_INTERVAL 150 // attempts between two looks: from here ..
#define MORE_INTERVAL 131  // .. to so many more
#define LONGEST_WAIT 4096  // times that, after looks that found nothing
#define LINES 3            // random lines of each kind
#define NEAR 10.0          // [tolerances] how near a jump has to be
#define REAL 10.0          // times the change of a smooth force: a jump
#define LEAST_JUMP 1e-9    // of the largest force
#define RESOLVED 1e-13     // relative distance of the two sides of a jump
#define STEEP 0.5          // change that a jump keeps at least when its two sides come ..
#define CLOSER 16.0        // .. so many times closer; a steep law loses it
#define MOST_OF_IT 0.8     // of the change of a steep law, over whose way it is told

#define EXPLODED 1e5 // growth of velocities
#define DOUBLINGS 12 // the last ones must be as quick as each other: the second half ..
#define SLOWER 2.0   // .. takes at most so many times the first
#define FED 0.1      // part of the growth of the energy that an element feeds

// What a line moves
typedef enum kind { VELOCITY, POSITION, INNER, KINDS } kind;

struct kd_collapse {
    kd_arena           arena;
    const kd_eom      *eom;
    kd_inputs          inputs;
    kd_dims            dims;
    kd_tolerances      tolerances;
    kd_eom_data       *data;
    kd_state          *side[3];     // lower end, middle, upper end of an interval
    double            *force[3];    // (nv + nr) there: residual, rates of inner states
    double            *d;           // (nv + nr) direction of a line
    double             size[KINDS]; // largest velocity, position and inner state so far: scales of what is near
    unsigned long long seed;        // of draw
    bool               steep;       // the jump found last is none, but a law that changes within less than a tolerance
    double             steep_way;   // way along d in which it does
    // stagnation
    kd_effort mark;           // at the last look
    long      interval;       // attempts until the next
    double    t_mark, t_from; // time there; where the jumps began
    long      from;           // attempts there
    kd_effort stuck_from;     // where steps began to be taken back
    double    t_stuck;        // time there
    int       stuck;          // intervals since then
    kd_effort lost_from;      // where attempts began to find no solution
    double    t_lost;         // time there
    int       lost;           // intervals since then
    double    best;           // [s] per attempt in the quickest interval
    int       looks;          // that found a jump
    long      wait;           // factor of the interval
    double    pace;           // [s] per attempt when a look found nothing
    // blow-up
    double reference, doubled;
    double t_doubled[DOUBLINGS + 1]; // the last ones, latest behind
    int    ndoubled;
};

// ---- life cycle -----------------------------------------------------------------------------------------------------

kd_status kd_collapse_create(kd_eom_data *data, const kd_inputs *inputs, kd_tolerances tolerances,
                             kd_collapse **collapse)
{
    *collapse = NULL;
    kd_collapse *c = kd_alloc(sizeof *c);
    if (!c) return KD_ERR_MEMORY;
    const kd_eom *eom = c->eom = kd_eom_data_eom(data);
    c->data = data;
    c->inputs = *inputs;
    c->tolerances = tolerances;
    c->dims = kd_eom_dims(eom);
    // room for a line through the state and the forces at three points of it
    c->d = kd_cut_double(&c->arena, c->dims.nv + c->dims.nr);
    for (int k = 0; k < 3; k++) c->force[k] = kd_cut_double(&c->arena, c->dims.nv + c->dims.nr);
    kd_status status = c->arena.failed ? KD_ERR_MEMORY : KD_OK;
    for (int k = 0; k < 3 && status >= 0; k++) status = kd_state_create(eom, &c->side[k]);
    if (status < 0)
        kd_collapse_destroy(c);
    else
        *collapse = c;
    return status;
}

void kd_collapse_destroy(kd_collapse *c)
{
    if (!c) return;
    for (int k = 0; k < 3; k++) kd_state_destroy(c->side[k]);
    kd_arena_release(&c->arena);
    kd_free(c);
}

// Largest components so far
static void widen(kd_collapse *c, const kd_state *x)
{
    const kd_dims n = c->dims;
    c->size[VELOCITY] = fmax(c->size[VELOCITY], kd_norm_max(n.nv, x->v));
    c->size[POSITION] = fmax(c->size[POSITION], kd_norm_max(n.np, x->p));
    c->size[INNER] = fmax(c->size[INNER], kd_norm_max(n.nr, x->r));
}

// The largest natural velocity: that of small or quick models is far above 1
static double usual_speed(const kd_collapse *c)
{
    double most = 1;
    for (int j = 0; j < c->dims.nv; j++) most = fmax(most, kd_eom_unit(c->eom, j) / kd_eom_time(c->eom));
    return most;
}

void kd_collapse_begin(kd_collapse *c, const kd_state *x, kd_effort effort)
{
    // no look has been made; velocities are compared with those of here
    c->mark = c->stuck_from = c->lost_from = effort;
    c->from = effort.attempts;
    c->t_mark = c->t_from = c->t_stuck = c->t_lost = x->t;
    c->stuck = c->lost = 0;
    c->best = 0;
    c->interval = LEAST_INTERVAL;
    c->wait = 1;
    c->looks = 0;
    c->pace = INFINITY;
    c->reference = fmax(usual_speed(c), kd_norm_max(c->dims.nv, x->v));
    c->doubled = c->reference;
    c->ndoubled = 0;
    widen(c, x);
}

// ---- jumps ----------------------------------------------------------------------------------------------------------

// Pseudo-random bits, the same in every run
static unsigned long long draw(kd_collapse *c)
{
    c->seed = (c->seed * 1103515245UL + 12345UL) & 0x7fffffffUL;
    return c->seed >> 16;
}

// Residual of the dynamics at a = 0, which is -f, and rates of inner states; multipliers stay
static bool forces_at(kd_collapse *c, const kd_state *x, double *force)
{
    const kd_dims n = c->dims;
    if (kd_eom_at_state(c->data, &c->inputs, x, KD_STAGE_VELOCITY) != KD_EVAL_OK) return false;
    kd_eom_at_acceleration(c->data, NULL, x->w, x->lambda, x->mu);
    if (kd_eom_eval(c->data, KD_RESIDUAL, force) != KD_EVAL_OK) return false;
    return n.nr == 0 || kd_eom_eval(c->data, KD_B, force + n.nv) == KD_EVAL_OK;
}

// y = x moved by s d
static bool move(kd_collapse *c, const kd_state *x, kind what, double s, kd_state *y)
{
    const kd_dims n = c->dims;
    kd_state_copy(x, y);
    // positions move along the manifold, p (+) s d; the room for the increment is that of v
    if (what == POSITION) {
        double *e = y->v; // borrowed
        for (int i = 0; i < n.nv; i++) e[i] = s * c->d[i];
        const bool moved = kd_eom_oplus(c->data, x->p, e, y->p) == KD_EVAL_OK;
        memcpy(y->v, x->v, (size_t)n.nv * sizeof *e);
        return moved;
    }
    for (int i = 0; i < n.nv && what == VELOCITY; i++) y->v[i] += s * c->d[i];
    for (int i = 0; i < n.nr && what == INNER; i++) y->r[i] += s * c->d[i];
    return true;
}

static double change(const kd_collapse *c, int a, int b, int *row)
{
    double most = 0;
    for (int i = 0; i < c->dims.nv + c->dims.nr; i++) {
        const double step = fabs(c->force[b][i] - c->force[a][i]);
        if (!(step > most)) continue;
        most = step;
        if (row) *row = i;
    }
    return most;
}

static void exchange(kd_collapse *c, int a, int b)
{
    kd_state *state = c->side[a];
    double   *force = c->force[a];
    c->side[a] = c->side[b], c->force[a] = c->force[b];
    c->side[b] = state, c->force[b] = force;
}

// The two ends of the rise of a steep law about the place at s, where forces change by `wanted`: side[0] and side[2]
static bool find_rise(kd_collapse *c, const kd_state *x, kind what, double s, double width, double size, double wanted)
{
    for (double half = width;; half *= 2) {
        if (!move(c, x, what, s - half, c->side[0]) || !forces_at(c, c->side[0], c->force[0])) return false;
        if (!move(c, x, what, s + half, c->side[2]) || !forces_at(c, c->side[2], c->force[2])) return false;
        c->steep_way = 2 * half;
        if (half > size || change(c, 0, 2, NULL) >= wanted) return true;
    }
}

// Does a force jump on the line through x along d, within size on both sides? side[0] and side[2] are its two sides
// then
static bool jumps_along(kd_collapse *c, const kd_state *x, kind what, double size, int *row)
{
    // forces at both ends, then halve: the jump, if there is one, lies where they change more
    double lower = -size, upper = size, before = 0;
    if (!move(c, x, what, lower, c->side[0]) || !forces_at(c, c->side[0], c->force[0])) return false;
    if (!move(c, x, what, upper, c->side[2]) || !forces_at(c, c->side[2], c->force[2])) return false;
    // down to rounding of the components that move
    const double whole = change(c, 0, 2, NULL), width = fmax(RESOLVED * fmax(c->size[what], size), 1e-290);
    while (upper - lower > width) {
        const double middle = 0.5 * (lower + upper);
        if (!move(c, x, what, middle, c->side[1]) || !forces_at(c, c->side[1], c->force[1])) return false;
        if (change(c, 0, 1, NULL) > change(c, 1, 2, NULL)) {
            exchange(c, 1, 2);
            upper = middle;
        } else {
            exchange(c, 0, 1);
            lower = middle;
        }
        const double now = change(c, 0, 2, NULL);
        if (upper - lower > 0.5 * CLOSER * width) before = now;
    }
    // a smooth force would have changed in proportion to the interval
    const double jump = change(c, 0, 2, row), force = kd_norm_max(c->dims.nv + c->dims.nr, c->force[0]);
    if (!(jump > REAL * whole * (upper - lower) / (2 * size) && jump > LEAST_JUMP * force)) return false;
    c->steep = jump < STEEP * before;
    return !c->steep || find_rise(c, x, what, 0.5 * (lower + upper), upper - lower, size, MOST_OF_IT * whole);
}

// A jump next to x: *what has to change for it, *row: whose force
static bool find_jump(kd_collapse *c, const kd_state *x, kind *what, int *row)
{
    const kd_dims n = c->dims;
    // all velocities at once, all positions, all inner states: the signs of a line are random, its length is not
    for (int k = 0; k < KINDS; k++) {
        const int count = k == INNER ? n.nr : n.nv;
        for (int line = 0; line < LINES && line < count; line++) {
            for (int i = 0; i < count; i++) c->d[i] = draw(c) & 1 ? 1 : -1;
            *what = (kind)k;
            if (jumps_along(c, x, *what, NEAR * (c->tolerances.atol + c->tolerances.rtol * c->size[k]), row))
                return true;
        }
    }
    return false;
}

// Do the forces on both sides of a jump drive what jumps back to it? f = -residual; rates as they are
static bool drives_back(const kd_collapse *c, kind what)
{
    const int n = what == INNER ? c->dims.nr : c->dims.nv, first = what == INNER ? c->dims.nv : 0;
    double    sum = 0;
    // change of residuals or rates along the line: a force that falls as the motion goes on drives it back
    for (int i = 0; i < n; i++) sum += c->d[i] * (c->force[2][first + i] - c->force[0][first + i]);
    return what == INNER ? sum < 0 : sum > 0;
}

// The component whose move alone takes most of the jump with it
static void name_variable(kd_collapse *c, kind what, char *name, size_t size)
{
    static const kd_kind KIND[KINDS] = {KD_NAME_V, KD_NAME_P, KD_NAME_R};
    const kd_dims        n = c->dims;
    const double        *low = what == INNER ? c->side[0]->r : what == POSITION ? c->side[0]->p : c->side[0]->v;
    const double        *high = what == INNER ? c->side[2]->r : what == POSITION ? c->side[2]->p : c->side[2]->v;
    double               most = 0;
    const int            count = what == INNER ? n.nr : what == POSITION ? n.np : n.nv;
    for (int i = 0; i < count; i++) { // from the lower side with component i of the upper one, twice as far
        double *at = what == INNER ? c->side[1]->r : what == POSITION ? c->side[1]->p : c->side[1]->v;
        kd_state_copy(c->side[0], c->side[1]);
        at[i] += (1.0 + count) * (high[i] - low[i]);
        if (!forces_at(c, c->side[1], c->force[1]) || !(change(c, 0, 1, NULL) > most)) continue;
        most = change(c, 0, 1, NULL);
        kd_eom_name(c->eom, KIND[what], i, name, size);
    }
}

static void describe_jump(kd_collapse *c, kind what, int row, char *text, size_t size)
{
    static const char *const WORD[KINDS] = {"velocity", "position", "inner state"};
    char                     name[96] = "", source[500] = "";
    // the equations may know which element jumps between the two sides
    name_variable(c, what, name, sizeof name);
    if (forces_at(c, c->side[0], c->force[0])) {
        const kd_point low = *kd_eom_point(c->data);
        if (forces_at(c, c->side[2], c->force[2]))
            kd_eom_jumps(c->data, &low, kd_eom_point(c->data), source, sizeof source);
    }
    if (!source[0]) { // the equations do not tell
        char row_name[96];
        kd_eom_name(c->eom, row < c->dims.nv ? KD_NAME_V : KD_NAME_R, row < c->dims.nv ? row : row - c->dims.nv,
                    row_name, sizeof row_name);
        kd_text(source, sizeof source, "the %s of '%s' changes by %.4g", row < c->dims.nv ? "force" : "rate", row_name,
                change(c, 0, 2, NULL));
    }
    if (c->steep) {
        kd_text(text, size,
                "%s, not by a jump: within %.2g of %s '%s', which is less than the tolerance of it; steps must follow "
                "that rise: make the law less steep than the tolerance, or the absolute tolerance smaller than the "
                "rise",
                source, c->steep_way, WORD[what], name);
        return;
    }
    const bool back = drives_back(c, what);
    kd_text(text, size, "%s in a jump, with %s '%s'%s", source, WORD[what], name,
            back ? ", and drives it back from both sides: the motion slides along the jump" : ": the motion chatters");
    kd_text_append(text, size,
                   what == VELOCITY ? "; for friction take joint_friction with stick: true, otherwise an event that "
                                      "switches a variable, or a smooth law like tanh(v/0.01) for sign(v)"
                                    : "; take an event that switches a variable, with a hysteresis, or a smooth law");
}

void kd_collapse_cause(kd_collapse *c, const kd_state *x, char *text, size_t size)
{
    kind what;
    int  row = 0;
    kd_text(text, size, "%s", "");
    if (find_jump(c, x, &what, &row)) describe_jump(c, what, row, text, size);
}

// ---- stagnation -----------------------------------------------------------------------------------------------------

// A look found no jump: it counts against several that did. Without any the next ones come later, unless the pace falls
// further
static void calm_down(kd_collapse *c, long attempts, double pace)
{
    c->looks -= AGAINST;
    if (c->looks > 0) return;
    c->looks = 0;
    c->from = attempts;
    c->pace = pace;
    if (c->wait < LONGEST_WAIT) c->wait *= 2;
}

// In a slow interval that began with mark at the time t: were most steps taken back, and some kept all the same?
static kd_status look_for_retractions(kd_collapse *c, const kd_state *x, kd_effort now, kd_effort mark, double t,
                                      char *message, size_t size)
{
    const double back = (double)(now.retracted - mark.retracted), all = (double)(now.attempts - mark.attempts);
    if (!(back > TAKEN_BACK * all) || now.unverified == mark.unverified) {
        c->stuck = 0;
        return KD_OK;
    }
    if (c->stuck++ == 0) c->stuck_from = mark, c->t_stuck = t;
    if (c->stuck < LOOKS) return KD_OK;
    kd_text(
        message, size,
        "the last %ld attempts of steps led from t = %.9g s to t = %.9g s only: %ld of them were taken back, as the "
        "equations do not hold inside of them, and %ld steps do not hold however short they are made: forces or "
        "accelerations are rough on every scale, as by rounding or a function with noise; smooth the law, or take "
        "a larger tolerance",
        now.attempts - c->stuck_from.attempts, c->t_stuck, x->t, now.retracted - c->stuck_from.retracted,
        now.unverified - c->stuck_from.unverified);
    return KD_ERR_STAGNATION;
}

// The same: did many attempts find no solution, and is the pace far below the best one?
static kd_status look_for_failures(kd_collapse *c, const kd_state *x, kd_effort now, kd_effort mark, double t,
                                   double pace, char *message, size_t size)
{
    const double failed = (double)(now.failed - mark.failed), all = (double)(now.attempts - mark.attempts);
    if (!(failed > FAILED * all && pace < SLOWED * c->best)) {
        c->lost = 0;
        return KD_OK;
    }
    if (c->lost++ == 0) c->lost_from = mark, c->t_lost = t;
    if (c->lost < LOOKS) return KD_OK;
    kd_text(message, size,
            "the last %ld attempts of steps led from t = %.9g s to t = %.9g s only: in %ld of them Newton's method "
            "found no "
            "solution, however short the steps are; the equations are next to a singular position, or rounding is "
            "larger than the tolerance: take a larger tolerance, or another method",
            now.attempts - c->lost_from.attempts, c->t_lost, x->t, now.failed - c->lost_from.failed);
    return KD_ERR_STAGNATION;
}

// In a slow interval that began after so many attempts at t_begun: is there a jump next to x, as there was before?
static kd_status look_for_jumps(kd_collapse *c, const kd_state *x, long attempts, long begun, double t_begun,
                                double pace, char *message, size_t size)
{
    kind what;
    int  row = 0;
    // looks that find nothing make the next ones rare, so that slow but regular runs cost little
    if (pace < 0.1 * c->pace) c->wait = 1; // worse than at the last look that found nothing
    if (c->wait > 1 && attempts - c->from < c->wait * LEAST_INTERVAL) return KD_OK;
    // the first look of a row that may become LOOKS long
    if (c->looks == 0) c->from = begun, c->t_from = t_begun;
    if (!find_jump(c, x, &what, &row)) {
        calm_down(c, attempts, pace);
        return KD_OK;
    }
    c->wait = 1;
    if (++c->looks < LOOKS) return KD_OK;
    char cause[900];
    describe_jump(c, what, row, cause, sizeof cause);
    kd_text(message, size, "the last %ld attempts of steps led from t = %.9g s to t = %.9g s only: %s",
            attempts - c->from, c->t_from, x->t, cause);
    return KD_ERR_STAGNATION;
}

// An interval has passed: does the run get on?
static kd_status look_at_pace(kd_collapse *c, const kd_state *x, kd_effort now, double t_end, char *message,
                              size_t size)
{
    // progress per attempt since the last look
    const kd_effort begun = c->mark;
    const double    t_begun = c->t_mark, pace = (x->t - t_begun) / (double)(now.attempts - begun.attempts);
    // the next look comes after a number of attempts that no rhythm of the motion follows
    c->mark = now;
    c->t_mark = x->t;
    c->interval = LEAST_INTERVAL + (long)(draw(c) % MORE_INTERVAL);
    c->best = fmax(c->best, pace);
    if (!(pace * MOST < t_end - x->t)) {
        c->wait = 1;
        c->looks = c->stuck = c->lost = 0;
        return KD_OK;
    }
    kd_status status = look_for_jumps(c, x, now.attempts, begun.attempts, t_begun, pace, message, size);
    if (status >= 0) status = look_for_retractions(c, x, now, begun, t_begun, message, size);
    return status < 0 ? status : look_for_failures(c, x, now, begun, t_begun, pace, message, size);
}

// ---- blow-up --------------------------------------------------------------------------------------------------------

// Note doublings of the largest velocity. true: it has grown beyond all measure, as fast as ever
static bool explodes(kd_collapse *c, const kd_state *x)
{
    const double v = kd_norm_max(c->dims.nv, x->v);
    // most steps end here: velocities are as large as they were
    if (!(v > 2 * c->doubled)) return false;
    while (v > 2 * c->doubled) {
        c->doubled *= 2;
        memmove(c->t_doubled, c->t_doubled + 1, DOUBLINGS * sizeof *c->t_doubled);
        c->t_doubled[DOUBLINGS] = x->t;
        if (c->ndoubled <= DOUBLINGS) c->ndoubled++;
    }
    // times of the last doublings, cut in halves: a force that is fed by the motion needs equal times for both
    const double *t = c->t_doubled, first = t[DOUBLINGS / 2] - t[0], second = t[DOUBLINGS] - t[DOUBLINGS / 2];
    return v > EXPLODED * c->reference && c->ndoubled > DOUBLINGS && second < SLOWER * first;
}

// Who feeds it? E grows by the factor 4 with each doubling of v
static kd_status look_for_feeder(kd_collapse *c, const kd_state *x, char *message, size_t size)
{
    char        feeder[400];
    kd_energies e;
    if (!explodes(c, x) || !kd_eom_definition(c->eom)->energies || !forces_at(c, x, c->force[0])) return KD_OK;
    const double period = (c->t_doubled[DOUBLINGS] - c->t_doubled[0]) / DOUBLINGS; // of doubling
    const double power = kd_eom_feeds(c->data, feeder, sizeof feeder);
    if (!(power > 0) || kd_eom_energies(c->data, &e) != KD_EVAL_OK) return KD_OK;
    const double energy = e.kinetic + fabs(e.potential);
    // in one doubling the energy grows by ln 4 times itself; a good part of it must come from the element
    if (!(power * period > FED * log(4.0) * energy)) return KD_OK;
    kd_text(
        message, size,
        "the motion blows up: velocities have doubled every %.3g s, to %.3g at t = %.9g s, where the energy is %.3g J; "
        "%s feeds it, now with %.3g W: look at the sign of its damping or law",
        period, kd_norm_max(c->dims.nv, x->v), x->t, energy, feeder, power);
    return KD_ERR_BLOW_UP;
}

kd_status kd_collapse_see(kd_collapse *c, const kd_state *x, kd_effort effort, double t_end, char *message, size_t size)
{
    widen(c, x);
    kd_status status = look_for_feeder(c, x, message, size);
    // velocities at every step, jumps only now and then
    if (status < 0 || effort.attempts - c->mark.attempts < c->interval) return status;
    return look_at_pace(c, x, effort, t_end, message, size);
}

void kd_collapse_archive(kd_collapse *c, kd_archive *a)
{
    kd_archive_tag(a, "collapse");
    kd_archive_arrays(a, &c->arena, c, sizeof *c);
    for (int k = 0; k < 3; k++) kd_state_archive(c->side[k], a);
    kd_archive_doubles(a, c->size, KINDS);
    // the seed has all bits of its type
    int part[] = {(int)(c->seed & 0xffffff), (int)(c->seed >> 24 & 0xffffff), (int)(c->seed >> 48)};
    kd_archive_ints(a, part, 3, 0, 0xffffff);
    c->seed = (unsigned long long)part[2] << 48 | (unsigned long long)part[1] << 24 | (unsigned long long)part[0];
    kd_archive_bool(a, &c->steep);
    KD_ARCHIVE_REALS(a, &c->steep_way, &c->t_mark, &c->t_from, &c->t_stuck, &c->pace);
    KD_ARCHIVE_REALS(a, &c->t_lost, &c->best);
    // both are at least 1: velocities are doubled from there
    kd_archive_least(a, &c->reference, 1);
    kd_archive_least(a, &c->doubled, 1);
    KD_ARCHIVE_COUNTS(a, &c->mark.attempts, &c->mark.retracted, &c->mark.unverified, &c->interval, &c->from, &c->wait);
    KD_ARCHIVE_COUNTS(a, &c->stuck_from.attempts, &c->stuck_from.retracted, &c->stuck_from.unverified);
    KD_ARCHIVE_COUNTS(a, &c->mark.failed, &c->stuck_from.failed, &c->lost_from.attempts, &c->lost_from.failed);
    kd_archive_int(a, &c->looks, 0, INT_MAX / 2);
    kd_archive_int(a, &c->stuck, 0, LOOKS);
    kd_archive_int(a, &c->lost, 0, LOOKS);
    kd_archive_doubles(a, c->t_doubled, DOUBLINGS + 1);
    kd_archive_int(a, &c->ndoubled, 0, DOUBLINGS + 1);
}
