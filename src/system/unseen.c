// unseen.c: what laws hold between the ends of a step that the step has not seen.
// Method: docs/methods/intervals.md
//
// A method sees a law at its nodes. Between them the law may rise and fall again: a pulse in time, a band of a
// coordinate, a gap that closes and opens. The variables of a law move along cubics between the ends of the step (value
// and rate known at both), so that ranges of the law are known for every part of it. Each law is taken apart into the
// terms of its sum; of a term
//
//     seen      hull of the values at the nodes and of the cubic by values and slopes at the ends, widened by a quarter
//     over(I)   how far its range on a part I of the step reaches beyond that, sure(I): how far all of it does
//     effect    sum over(I) |I| h times the mobility: change of velocity in tolerances (forces), the largest of them
//               (prescribed positions)
//
// Parts are halved until the effect is below the threshold, or what is surely beyond it is above: then the step is too
// long, and should end where that begins.
//
// The laws are listed in unseen_laws.c, their path in unseen_path.c; kinks and jumps: unseen_jumps.c, prescribed motions:
// unseen_drives.c, boxes in which nothing can hide: unseen_box.c; surfaces that pass each other: unseen_touch.c.
#include "system/unseen.h"

#include <math.h>

#define THRESHOLD 5.0   // [tolerances] effects that matter
#define WIDER 0.25      // part of what was seen by which a smooth curve may leave it
#define SLOPE 1e-5      // part of the step for slopes at its ends
#define FOLLOWED 0.0625 // part of the step along which a slope must hold to count
#define BENT 0.3        // of a change: so far from a straight line is smooth
#define PARTS 64        // of one step, for one term
#define FILE_PARTS 256  // of a road from a file, which has a kink at every line of its grid
#define NARROW 1e-13    // a part that is not halved
#define SETTLED 0.125   // part of the step: what is over in shorter ones must have fallen with their length,
#define AS_FAST 4.0     // up to this factor
#define RENEWED 16      // looks after which mobilities are found anew
#define TURNED_AWAY 1.0 // [rad] turn of bodies after which they are
#define BESIDE 0.02     // of the threshold: effect of a part that belongs to what was found
#define BEGUN 4.0       // of the threshold: effect of what has begun where the step ends
#define SMALL 0.01      // part of the velocity: the same
#define DOUBLINGS 40    // of the length from its foot
#define ABRUPT 100.0    // [tolerances] most effect of what sets in or ends within a step
#define ABRUPT_WANTED 25.0
#define LEAST_CONSTANT 1e-3 // part of the step, at its ends
#define QUIET 10.0          // [tolerances] variables that move less leave a law at rest
#define PAUSE 16            // steps in which a law that bounds could not decide is left alone
#define QUICK_PARTS 8       // of the first look
#define PROBES 8
#define EDGE 1e-6       // of the step: so well are edges known
#define EDGE_EFFECT 0.5 // [tolerances] what lies between an edge and where it is taken to be
#define EDGE_DOUBLINGS 20
#define INSIDE 0.25 // of what was found: length of the step into it where that is not known
#define LONGEST 0.8 // part of the step that is left at most

static const kd_interval all = {-INFINITY, INFINITY};

// ---- what was seen --------------------------------------------------------------------------------------------------

static void widen(kd_interval *band, double value)
{
    if (!isfinite(value)) return;
    band->lower = fmin(band->lower, value);
    band->upper = fmax(band->upper, value);
}

static double term_at(kd_work *w, const kd_law *law, int k, const kd_point *x1, double part)
{
    double value[KD_LAW_TERMS];
    kd_unseen_values(w, law, x1, part, value);
    return value[k];
}

// The slope at an end where the term has the value f, inward along direction; 0 where the term does not follow it even
// for a short way: a jump, or the foot of a pulse
static double slope_at(kd_work *w, const kd_law *law, int k, const kd_point *x1, double end, double f, double direction)
{
    const double slope = (term_at(w, law, k, x1, end + direction * SLOPE) - f) / SLOPE;
    if (slope == 0.0) return 0.0;
    const double rest = term_at(w, law, k, x1, end + direction * FOLLOWED) - (f + slope * FOLLOWED);
    return fabs(rest) <= 0.5 * fabs(slope) * FOLLOWED ? direction * slope : 0.0;
}

// A method that does not evaluate at the start of a step knows the law there as far as it goes smoothly to the first
// node, compared with what it sees.
static bool is_start_seen(kd_work *w, const kd_law *law, int k, const kd_point *x1, const kd_step_seen *seen, double f0,
                          kd_interval band)
{
    double first = kd_unseen_is_blind(seen) ? 0.0 : 1.0;
    for (int i = 0; i < seen->nnodes; i++) first = fmin(first, seen->node[i]);
    if (first == 0.0) return true;
    const double f = term_at(w, law, k, x1, first), m = term_at(w, law, k, x1, 0.5 * first);
    return fabs(m - 0.5 * (f0 + f)) <= BENT * fmax(fabs(f - f0), band.upper - band.lower);
}

// Does the term go on smoothly from node to node? Forces that a node meets by chance spoil the error estimate; values of
// constraints do not, as positions follow them at each node alone.
static bool nodes_follow(kd_work *w, const kd_law *law, int k, const kd_point *x1, const kd_step_seen *seen, double f0,
                         double f1)
{
    kd_interval band = {fmin(f0, f1), fmax(f0, f1)};
    for (int i = 0; i < seen->nnodes; i++) widen(&band, term_at(w, law, k, x1, seen->node[i]));
    for (int i = 0; i < seen->nnodes; i++) {
        const double at = seen->node[i];
        double       beside[2] = {0.0, 1.0};
        if (!(at > 0.0 && at < 1.0)) continue;
        for (int j = 0; j < seen->nnodes; j++) {
            if (seen->node[j] < at) beside[0] = fmax(beside[0], seen->node[j]);
            if (seen->node[j] > at) beside[1] = fmin(beside[1], seen->node[j]);
        }
        // half way to the neighbours it is near the chord
        const double f = term_at(w, law, k, x1, at);
        for (int j = 0; j < 2; j++) {
            const double other = term_at(w, law, k, x1, beside[j]), m = term_at(w, law, k, x1, 0.5 * (at + beside[j]));
            if (!(fabs(m - 0.5 * (f + other)) <= BENT * (band.upper - band.lower))) return false;
        }
    }
    return true;
}

// Values at the nodes, and the cubic by values and slopes at the ends
static kd_interval seen_of(kd_work *w, const kd_law *law, int k, const kd_point *x1, const kd_step_seen *seen,
                           double f0, double f1)
{
    const kd_cubic c = {{f0, f1}, {slope_at(w, law, k, x1, 0.0, f0, 1.0), slope_at(w, law, k, x1, 1.0, f1, -1.0)}};
    kd_interval    band = {INFINITY, -INFINITY};
    double         slope, bend;
    widen(&band, f1);
    const bool count = law->effect != KD_EFFECT_VALUE || nodes_follow(w, law, k, x1, seen, f0, f1);
    for (int i = 0; i < seen->nnodes && count; i++)
        if (seen->node[i] > 0.0) widen(&band, term_at(w, law, k, x1, seen->node[i]));
    if (is_start_seen(w, law, k, x1, seen, f0, band))
        for (int i = 0; i < 8; i++) widen(&band, kd_cubic_at(&c, 0.125 * i, &slope, &bend));
    const double wider = WIDER * (band.upper - band.lower);
    return band.lower <= band.upper ? (kd_interval){band.lower - wider, band.upper + wider} : all;
}

// ---- the search -----------------------------------------------------------------------------------------------------

typedef struct part {
    double a, b, over, sure;
} part;

typedef struct hunt {
    const kd_law   *law;
    int             term;
    const kd_point *x1;
    kd_interval     band;    // what was seen
    double          unit;    // effect of a unit of the term over the whole step, in tolerances
    double          speed;   // velocity that it changes, the same
    double          most;    // effect of its whole range over the whole step, the same
    double          ends[2]; // values of the term there
    int             n;
    part            part[FILE_PARTS];
} hunt;

static part judged(const hunt *f, kd_interval range, double a, double b)
{
    const kd_interval band = f->band;
    part              p = {a, b, fmax(fmax(range.upper - band.upper, band.lower - range.lower), 0.0), 0.0};
    p.sure = fmax(fmax(range.lower - band.upper, band.lower - range.upper), 0.0);
    return p;
}

static part look(kd_work *w, const hunt *f, double a, double b)
{
    kd_interval term[KD_LAW_TERMS];
    kd_unseen_ranges(w, f->law, f->x1, a, b, term);
    return judged(f, term[f->term], a, b);
}

// All together: sums over the step, or the largest
static void sum_up(const hunt *f, double *over, double *sure, int *worst)
{
    const bool of_values = f->law->effect == KD_EFFECT_VALUE;
    double     most = -1.0;
    *over = *sure = 0.0;
    *worst = -1;
    for (int i = 0; i < f->n; i++) {
        const part  *p = &f->part[i];
        const double width = p->b - p->a, share = of_values ? p->over : p->over * width;
        *over = of_values ? fmax(*over, share) : *over + share;
        *sure = of_values ? fmax(*sure, p->sure) : *sure + p->sure * width;
        if (share > most && width > NARROW) most = share, *worst = i;
    }
}

// Where it begins, and how long it lasts
static void interval_of(const hunt *f, double *from, double *to)
{
    *from = 1.0;
    for (int i = 0; i < f->n; i++)
        if (f->part[i].sure > 0.0) *from = fmin(*from, f->part[i].a);
    *to = *from;
    for (bool more = true; more;) { // what touches it and matters
        more = false;
        for (int i = 0; i < f->n; i++) {
            const part *p = &f->part[i];
            if (!(f->unit * p->over * (p->b - p->a) > BESIDE * THRESHOLD) && !(p->sure > 0.0)) continue;
            if (p->b == *from) *from = p->a, more = true;
            if (p->a == *to) *to = p->b, more = true;
        }
    }
}

// Where the step should end: not before what it has not seen, or the next one would not see it either, but so little
// behind its foot that the effect is a few tolerances, or a small part of the velocity: the end sees it then, and the
// error control takes over.
static double end_inside(kd_work *w, const hunt *f, double from, double to)
{
    const double wanted = fmax(BEGUN * THRESHOLD, SMALL * f->speed), length = to - from;
    double       effect = 0.0, last = 0.0;
    if (f->law->effect == KD_EFFECT_VALUE) return from + INSIDE * length;
    for (int j = DOUBLINGS; j >= 0; j--) { // lengths that double
        const double next = ldexp(length, -j), m = from + 0.5 * (last + next);
        effect += f->unit * look(w, f, m, m).sure * (next - last);
        if (effect > wanted) return from + next;
        last = next;
    }
    return from + INSIDE * length;
}

static void tell_hidden(kd_work *w, const hunt *f, double size, kd_hidden *out)
{
    double from, to;
    interval_of(f, &from, &to);
    const double cut = fmin(end_inside(w, f, from, to), LONGEST);
    if (!(cut < out->part)) return;
    out->part = cut;
    out->size = size / THRESHOLD;
    out->name = f->law->name;
}

typedef enum finding { CLEAN, HIDDEN, OPEN } finding;

// Along the motion constraints of several variables are 0, however their terms move: ranges of parts come nearer to that with
// their length, as intervals know nothing of how variables hang together. A bump stays as high until parts are as short as it.
static bool is_settling(const part *p, double *steepness)
{
    const double width = p->b - p->a;
    if (!isfinite(p->over)) return false;
    if (*steepness < 0.0) *steepness = p->over / width;
    return width <= SETTLED && p->over <= AS_FAST * *steepness * width;
}

// Parts are halved until it is clear, at most `most` of them; size: effect of what is hidden
static finding search(kd_work *w, hunt *f, kd_interval whole, int most, double *size)
{
    const bool several = f->law->effect == KD_EFFECT_VALUE && !f->law->term[f->term].single;
    double     steepness = -1.0;
    f->n = 1;
    f->part[0] = judged(f, whole, 0.0, 1.0);
    for (;;) {
        double over, sure;
        int    worst;
        sum_up(f, &over, &sure, &worst);
        *size = f->unit * sure;
        if (*size > THRESHOLD) return HIDDEN;
        if (!(f->unit * over > THRESHOLD)) return CLEAN;
        if (several && worst >= 0 && is_settling(&f->part[worst], &steepness)) return CLEAN;
        if (f->n >= most || worst < 0) return OPEN;
        const part   p = f->part[worst];
        const double m = 0.5 * (p.a + p.b);
        f->part[worst] = look(w, f, p.a, m);
        f->part[f->n++] = look(w, f, m, p.b);
    }
}

// ---- where a law sets in or ends ------------------------------------------------------------------------------------

// A term that is constant up to a place and not behind it (a gap that closes, a band that is entered) has a kink or a
// jump there, of which error estimates know little. Such a step may not have much effect: it should end near this
// place.

// Seen from an end: the part of the step behind (direction 1) or before it
static double part_from(double end, double direction, double length)
{
    return end + direction * length;
}

// Length of the constant part at an end, where the term has the value f; 0: there is none, 1: all of it
static double constant_part(kd_work *w, const hunt *f, double end, double direction, double value)
{
    double a = LEAST_CONSTANT, b = 1.0;
    if (term_at(w, f->law, f->term, f->x1, part_from(end, direction, a)) != value) return 0.0;
    for (int i = 1; i <= PROBES; i++) {
        b = (double)i / PROBES;
        if (term_at(w, f->law, f->term, f->x1, part_from(end, direction, b)) != value) break;
        a = b;
    }
    while (b - a > EDGE && f->most * (b - a) > EDGE_EFFECT) {
        const double m = 0.5 * (a + b);
        if (term_at(w, f->law, f->term, f->x1, part_from(end, direction, m)) != value)
            b = m;
        else
            a = m;
    }
    return a;
}

// How far beyond the constant part the effect has grown to what is wanted; INFINITY: it stays below most
static double effect_reach(kd_work *w, const hunt *f, double end, double direction, double value, double constant)
{
    double effect = 0.0, last = 0.0, reach = INFINITY;
    for (int j = EDGE_DOUBLINGS; j >= 0; j--) {
        const double next = ldexp(1.0 - constant, -j), m = constant + 0.5 * (last + next);
        if (f->most * next <= EDGE_EFFECT) continue; // too short for any effect: part of the next one
        effect +=
            f->unit * fabs(term_at(w, f->law, f->term, f->x1, part_from(end, direction, m)) - value) * (next - last);
        if (effect > ABRUPT_WANTED && reach == INFINITY) reach = next;
        last = next;
    }
    return effect > ABRUPT ? reach : INFINITY;
}

static void look_at_edge(kd_work *w, const hunt *f, double end, double direction, kd_hidden *out)
{
    const double value = f->ends[end > 0.0];
    const double constant = constant_part(w, f, end, direction, value);
    if (!(constant > 0.0 && constant < 1.0)) return;
    const double reach = effect_reach(w, f, end, direction, value, constant);
    const double cut = part_from(end, direction, constant + reach); // towards the start: what is left of it then
    if (!(reach < INFINITY) || !(cut > 0.0 && cut < fmin(out->part, LONGEST))) return;
    out->part = cut;
    out->size = ABRUPT;
    out->name = f->law->name;
}

// ---- all laws -------------------------------------------------------------------------------------------------------

static double unit_of(const kd_work *w, int i, int term, const kd_step_seen *seen, kd_interval range)
{
    const kd_law *law = &w->system->law[i];
    const double  factor = fabs(law->factor * law->term[term].factor), h = w->unseen.end[1].t - w->unseen.end[0].t;
    if (law->effect != KD_EFFECT_VALUE) return factor * h * w->unseen.mobility[i];
    const double size = fmin(fabs(range.lower), fabs(range.upper));
    return factor / (seen->rtol * (isfinite(size) ? size : 0.0) + seen->atol);
}

bool kd_unseen_is_small(const kd_work *w, int law, int term, const kd_step_seen *seen, kd_interval range, double longer)
{
    return longer * unit_of(w, law, term, seen, range) * (range.upper - range.lower) <= THRESHOLD;
}

// Most steps: the law goes from one end to the other, through the first node where the start is not seen.
static bool is_between_ends(kd_work *w, hunt *f, kd_interval whole, const kd_step_seen *seen)
{
    const double f0 = f->ends[0], f1 = f->ends[1];
    kd_interval  band = {f1, f1};
    double       size;
    if (seen->nnodes > 0 && seen->node[0] > 0.0 && f->law->effect != KD_EFFECT_VALUE)
        widen(&band, term_at(w, f->law, f->term, f->x1, seen->node[0]));
    if (!is_start_seen(w, f->law, f->term, f->x1, seen, f0, band)) return false;
    widen(&band, f0);
    const double wider = WIDER * (band.upper - band.lower);
    f->band = (kd_interval){band.lower - wider, band.upper + wider};
    return search(w, f, whole, QUICK_PARTS, &size) == CLEAN;
}

static void look_closely(kd_work *w, hunt *f, kd_interval whole, const kd_step_seen *seen, kd_hidden *out)
{
    double size, over;
    int    worst;
    f->band = seen_of(w, f->law, f->term, f->x1, seen, f->ends[0], f->ends[1]);
    const finding answer = search(w, f, whole, f->law->on_file ? FILE_PARTS : PARTS, &size);
    if (answer == HIDDEN) tell_hidden(w, f, size, out);
    if (answer != OPEN || f->law->term[f->term].sum) return; // the terms of a sum have been looked at themselves
    sum_up(f, &over, &size, &worst);
    if (f->unit * over <= KD_HARMLESS) return;
    w->unseen.pause[f->law - w->system->law] = PAUSE;
    out->undecided = f->law->name;
}

// Do the variables of a law move by no more than their errors? A stiff law at rest changes by that alone.
static bool is_at_rest(const kd_work *w, const kd_law *law, const kd_step_seen *seen)
{
    for (int k = 0; k < law->nslots; k++) {
        const kd_slot_kind kind = w->system->slot[law->slot[k]].kind;
        const kd_interval  range = w->enclosure.slot[law->slot[k]];
        if (kind != KD_SLOT_MEASURE && kind != KD_SLOT_STATE && kind != KD_SLOT_DISCRETE) return false;
        const double size = fmax(fabs(range.lower), fabs(range.upper));
        if (!(range.upper - range.lower <= QUIET * (seen->rtol * size + kd_unseen_atol(w, seen, law->slot[k]))))
            return false;
    }
    return true;
}

static void look_at_law(kd_work *w, int i, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out)
{
    const kd_law *law = &w->system->law[i];
    kd_interval  *whole = w->unseen.term;
    double        ends[2][KD_LAW_TERMS];
    bool          known = false;
    const bool    paused = w->unseen.pause[i] > 0 && w->unseen.pause[i]-- > 0;
    const bool    crosses = law->effect != KD_EFFECT_VALUE && kd_unseen_is_abrupt(law);
    // ranges of its terms over the whole step
    if (paused && !crosses) return;
    kd_unseen_ranges(w, law, x1, 0.0, 1.0, whole);
    // has it jumped, and does anything move?
    const bool rests = is_at_rest(w, law, seen);
    const bool crossed = crosses && !kd_unseen_one_branch(w, law, whole[0]) && kd_unseen_jumps(w, i, x1, seen, out);
    if (paused || rests) return;
    // terms that could matter: their ends, then between them
    for (int k = 0; k < law->nterms; k++) {
        const double unit = unit_of(w, i, k, seen, whole[k]);
        if (unit * (whole[k].upper - whole[k].lower) <= THRESHOLD) continue;
        hunt f;
        if (!known && !crossed && kd_box_is_plain_step(w, i, seen)) return;
        if (!known) {
            kd_unseen_values(w, law, x1, 0.0, ends[0]);
            kd_unseen_values(w, law, x1, 1.0, ends[1]);
            known = true;
        }
        // beyond the ends: a closer look, and at the edges of a jump
        f.ends[0] = ends[0][k], f.ends[1] = ends[1][k];
        f.law = law, f.term = k, f.x1 = x1, f.unit = unit, f.speed = w->unseen.speed[i];
        f.most = unit * (whole[k].upper - whole[k].lower);
        if (!is_between_ends(w, &f, whole[k], seen)) look_closely(w, &f, whole[k], seen, out);
        if (!crossed || !law->term[k].abrupt || law->term[k].sum || !(f.most > ABRUPT)) continue;
        look_at_edge(w, &f, 0.0, 1.0, out);
        look_at_edge(w, &f, 1.0, -1.0, out);
    }
}

// Both ends: the start is that of the step, or the end of the last one that was looked at, which the motion has
// smoothly come from.
static void take_ends(kd_work *w, const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out)
{
    const kd_system *s = w->system;
    kd_unseen_work  *u = &w->unseen;
    if (u->known && (kd_unseen_is_end(s, &u->end[1], x0) || (seen->follows && u->end[1].t < x0->t))) {
        const kd_unseen_end kept = u->end[0];
        u->end[0] = u->end[1];
        u->end[1] = kept;
    } else {
        kd_unseen_forget(s, u);
        if (!u->known || !kd_unseen_is_end(s, &u->end[0], x0)) kd_unseen_take_end(w, x0, &u->end[0]);
    }
    kd_unseen_take_end(w, x1, &u->end[1]);
    const bool first = !u->known || ++u->age >= RENEWED;
    if (first) kd_unseen_check_inputs(w, &u->end[1]);
    // where bodies turn forces meet them elsewhere soon
    if (first || u->age * kd_unseen_turn(w) > TURNED_AWAY) kd_unseen_mobilities(w, seen, x1, false);
    u->known = true;
    kd_unseen_make_path(w, x0, x1, seen, out);
}

// Until when nothing has to be looked at again; kept contacts are looked at in every step
static double clear_time(const kd_system *s, const kd_hidden *out, double time)
{
    return out->part < INFINITY || kd_system_keeps_surfaces(s) ? 0.0 : fmax(time, 0.0);
}

kd_eval kd_work_unseen(const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, void *context, kd_hidden *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_unseen_work  *u = &w->unseen;
    const double     h = x1->t - x0->t;
    double           until = INFINITY;
    // both ends of the step
    if (!(h > 0.0)) return KD_EVAL_OK;
    if (kd_work_leaps(w, x0, x1, seen->follows)) return KD_EVAL_STOP;
    if (seen->unit) u->length = kd_system_length(s), u->time = kd_system_time(s);
    // surfaces that pass each other
    until = x1->t + kd_unseen_touches(w, x0, x1, seen, out);
    if (s->nlaws == 0) return out->clear = clear_time(s, out, until - x1->t), KD_EVAL_OK;
    take_ends(w, x0, x1, seen, out);
    // laws: those that stay in a box in which nothing can hide are left alone
    for (int i = 0; i < s->nlaws; i++) {
        if (s->law[i].nterms == 0) continue; // polynomials of low degree: nothing can hide in them
        const bool blind = kd_unseen_is_blind(seen) && s->law[i].expr; // boxes are for methods that see bends
        const bool rests = !blind && kd_box_rests(w, i, h);
        const bool clear = !blind && (rests || kd_box_holds(w, i, x1, h) || kd_box_make(w, i, x1, h, seen));
        if (clear && !kd_unseen_hides_jumps(w, i, seen)) {
            if (!rests) u->until[i] = kd_box_until(w, i, h);
        } else {
            u->until[i] = -INFINITY;
            if (u->end[0].t != x0->t) kd_unseen_take_end(w, x0, &u->end[0]); // steps in between were not looked at
            (clear ? kd_unseen_brief_jumps : look_at_law)(w, i, x1, seen, out);
        }
        until = fmin(until, u->until[i]);
    }
    // prescribed motions, all together
    if (kd_unseen_has_drives(s)) {
        kd_unseen_drives(w, x0, seen, h, out);
        until = fmin(until, u->drive_until);
    }
    // until when nothing has to be looked at again
    out->clear = clear_time(s, out, until - x1->t);
    if (u->foreign) out->undecided = u->foreign;
    return KD_EVAL_OK;
}
