// explain.c: what limits the steps, from the reports of the integrator about its attempts.
//
// An attempt with step h is shared out: component i gets w share_i, w = 1 + ln(h_ref / h), h_ref the largest step
// accepted so far. Accepted steps count if the error was near its bound (otherwise something else limited the step).
// Components are summed up by owner: the joint or body that their names tell. When it happened is kept in a fixed
// number of bins, which become twice as long when time runs beyond the last one.
#include <kardan/explain.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/memory.h"
#include "core/pi.h"
#include "core/text.h"

enum { BINS = 256, NAME = 96, COMPONENT = 160, MAX_VELOCITIES = 8 };

static const double LIMITED = 1e-2;          // norm of the error from which an accepted step counts as limited by it
static const double MOST = 0.8;              // part of the weight that the window of a limiter holds
static const double LOCAL = 0.1;             // part of the run that such a window may be long to be called local
static const double NEGLIGIBLE = 0.01;       // limiters with a smaller share are not told
static const double SLOW = 0.05, FAST = 1.5; // frequency * h of forces whose motion the steps resolve

// What a component may be blamed for: a short step, an error that was too large, Newton's method
typedef enum trouble { SMALL, ERROR, NEWTON, TROUBLES } trouble;

typedef struct owner {
    char   name[NAME];
    double weight[TROUBLES];
    double log_h; // sum of weight * ln(h)
} owner;

typedef struct bin {
    double h, t; // smallest limited step that begins here; h 0: none
    int    who;  // owner with the largest share in it
} bin;

struct kd_explainer {
    const kd_dae  *dae;
    const kd_eom  *eom;
    kd_arena       arena;
    int           *owner_of;  // (n)
    double        *component; // (n) weight of each component
    double        *part;      // (nowners) shares of the present attempt
    owner         *owner;     // (nowners)
    int            nowners;
    float         *history; // (BINS x nowners) weight in each bin
    bin            bin[BINS];
    int            used;        // bins that something has been put into, from the first on
    double         width;       // of a bin [s]; 0: nothing seen
    double         h_reference; // largest step accepted so far
    double         sum[TROUBLES];
    double         log_h;   // sum of ln(h) of accepted steps
    kd_explanation counted; // the counts of the result
};

// ---- owners ---------------------------------------------------------------------------------------------------------

// Name of component i by the equations of motion; false: internal
static bool plain_name(const kd_explainer *e, int i, char *name, size_t size)
{
    // x of the form begins with the components of a state
    const kd_dims d = kd_eom_dims(e->eom);
    const struct {
        int     n;
        kd_kind kind;
    } part[] = {{d.np, KD_NAME_P}, {d.nv, KD_NAME_V},           {d.nr, KD_NAME_R},  {d.nw, KD_NAME_W},
                {d.ns, KD_NAME_S}, {d.nlambda, KD_NAME_LAMBDA}, {d.nmu, KD_NAME_MU}};
    for (size_t k = 0; k < sizeof part / sizeof *part; i -= part[k].n, k++) {
        if (i >= part[k].n) continue;
        const bool paired = part[k].kind == KD_NAME_V && d.np == d.nv; // together with its position
        kd_eom_name(e->eom, paired ? KD_NAME_P : part[k].kind, i, name, size);
        return true;
    }
    return false;
}

// Without the word behind the last dot, if the name of an element is left
static void cut_last(char *name)
{
    char *first = strchr(name, '.'), *last = strrchr(name, '.');
    if (last > first) *last = '\0';
}

// "joint.left.hinge.q" -> "joint.left.hinge", "joint 'hinge' shift along x" -> "joint.hinge"; other names stay
static void cut_owner(char *name)
{
    char *quote = strstr(name, " '"), *end = quote ? strchr(quote + 2, '\'') : NULL;
    if (end) {
        *quote = '.';
        memmove(quote + 1, quote + 2, (size_t)(end - quote - 2));
        quote[end - quote - 1] = '\0';
        return;
    }
    // variables of the user are elements themselves; several states of one have numbers
    const char *last = strrchr(name, '.');
    const bool  number = last && strspn(last + 1, "0123456789") == strlen(last + 1);
    const bool  whole = strncmp(name, "algebraic.", 10) == 0 || (strncmp(name, "state.", 6) == 0 && !number);
    if (!last || strchr(name, ' ') || whole) return;
    cut_last(name);
    last = strrchr(name, '.');
    if (strncmp(name, "body.", 5) == 0 && (strcmp(last, ".com") == 0 || strcmp(last, ".com_v") == 0)) cut_last(name);
}

// "eta of 'slider x'" -> "slider x", "acceleration to joint.hinge.v" -> "joint.hinge.v"
static void cut_role(char *name)
{
    static const char *const roles[] = {"eta of ", "acceleration to "};
    for (size_t k = 0; k < sizeof roles / sizeof *roles; k++) {
        const size_t n = strlen(roles[k]), length = strlen(name);
        if (strncmp(name, roles[k], n) != 0) continue;
        const bool quoted = name[n] == '\'' && name[length - 1] == '\'';
        if (quoted) name[length - 1] = '\0';
        memmove(name, name + n + quoted, length - n - quoted + 1);
    }
}

// Number of the owner of this name, a new one if there is none yet. table: size places, a power of two, 1 + number
static int find_owner(kd_explainer *e, const char *name, int *table, uint32_t size)
{
    uint32_t at = kd_text_hash(name) & (size - 1);
    while (table[at] > 0 && strcmp(e->owner[table[at] - 1].name, name) != 0) at = (at + 1) & (size - 1);
    if (table[at] == 0) {
        kd_text(e->owner[e->nowners].name, NAME, "%s", name);
        table[at] = ++e->nowners;
    }
    return table[at] - 1;
}

static void find_owners(kd_explainer *e, int *table, uint32_t size)
{
    for (int i = 0; i < e->dae->n; i++) {
        char name[COMPONENT];
        // what the equations do not name is internal to the form, which tells what it belongs to
        if (!plain_name(e, i, name, sizeof name)) {
            e->dae->methods->component_name(e->dae->impl, i, name, sizeof name);
            cut_role(name);
        }
        cut_owner(name);
        name[NAME - 1] = '\0';
        e->owner_of[i] = find_owner(e, name, table, size);
    }
}

kd_status kd_explainer_create(const kd_dae *dae, const kd_eom *eom, kd_explainer **result)
{
    if (result) *result = NULL;
    if (!dae || !eom || !result) return KD_ERR_ARGUMENT;
    kd_explainer *e = kd_alloc(sizeof *e);
    kd_arena      scratch = {0};
    uint32_t      size = 16;
    if (!e) return KD_ERR_MEMORY;
    // a table at most half full, needed for creation only
    while (size < 2 * (uint32_t)dae->n) size *= 2;
    e->dae = dae;
    e->eom = eom;
    e->owner_of = kd_cut_int(&e->arena, dae->n);
    e->component = kd_cut_double(&e->arena, dae->n);
    e->owner = kd_arena_cut(&e->arena, (size_t)dae->n, sizeof *e->owner);
    int *table = kd_arena_cut(&scratch, size, sizeof *table);
    if (!e->arena.failed && !scratch.failed) find_owners(e, table, size);
    e->part = kd_cut_double(&e->arena, e->nowners);
    e->history = kd_arena_cut(&e->arena, (size_t)BINS * (size_t)e->nowners, sizeof *e->history);
    kd_status status = e->arena.failed || scratch.failed ? KD_ERR_MEMORY : KD_OK;
    kd_arena_release(&scratch);
    if (status == KD_OK) {
        *result = e;
    } else {
        kd_explainer_destroy(e);
    }
    return status;
}

void kd_explainer_destroy(kd_explainer *e)
{
    if (!e) return;
    kd_arena_release(&e->arena);
    kd_free(e);
}

// ---- listening ------------------------------------------------------------------------------------------------------

static bin merged(bin a, bin b)
{
    return a.h > 0 && (b.h == 0 || a.h <= b.h) ? a : b;
}

// Bins twice as long
static void widen(kd_explainer *e)
{
    const size_t n = (size_t)e->nowners;
    const int    half = (e->used + 1) / 2;
    // two neighbours become one; those behind the last one that was used are empty and stay so
    for (int b = 0; b < half; b++) {
        const float *from = e->history + 2 * (size_t)b * n;
        float       *to = e->history + (size_t)b * n;
        for (size_t k = 0; k < n; k++) to[k] = from[k] + from[n + k];
        e->bin[b] = merged(e->bin[2 * b], e->bin[2 * b + 1]);
    }
    // the second half of them is free again
    memset(e->history + (size_t)half * n, 0, (size_t)(e->used - half) * n * sizeof *e->history);
    memset(e->bin + half, 0, (size_t)(e->used - half) * sizeof *e->bin);
    e->used = half;
    e->width *= 2;
}

// The bin of time t
static int place(kd_explainer *e, double t, double h)
{
    // the first step decides how fine the bins are at first
    if (e->width == 0) {
        e->width = h / 8;
        e->counted.t_first = t;
    }
    while (t - e->counted.t_first >= BINS * e->width) widen(e);
    const int b = (int)((t - e->counted.t_first) / e->width);
    return b < 0 ? 0 : b < BINS ? b : BINS - 1;
}

// The parts of an attempt to the history: an accepted step over its whole length, a rejected one at its start
static void remember(kd_explainer *e, const kd_attempt_report *r, double weight)
{
    const bool   accepted = r->outcome == KD_ATTEMPT_ACCEPTED;
    const double end = accepted ? r->t + r->h : r->t;
    const int    last = place(e, end, r->h), first = place(e, r->t, r->h); // in this order: bins may become longer
    // each bin gets the part of the step that lies in it
    for (int b = first; b <= last; b++) {
        const double from = fmax(r->t, e->counted.t_first + b * e->width);
        const double to = fmin(end, e->counted.t_first + (b + 1) * e->width);
        const double part = first == last ? 1 : fmax(0, to - from) / r->h;
        float       *history = e->history + (size_t)b * (size_t)e->nowners;
        for (int k = 0; k < e->nowners; k++) history[k] += (float)(part * weight * e->part[k]);
    }
    if (last >= e->used) e->used = last + 1;
}

static void share_out(kd_explainer *e, const kd_attempt_report *r, trouble kind)
{
    // short steps weigh more, by the logarithm of how much shorter they are
    const double weight = 1 + (e->h_reference > r->h ? log(e->h_reference / r->h) : 0), log_h = log(r->h);
    int          most = 0;
    memset(e->part, 0, (size_t)e->nowners * sizeof *e->part);
    // shares of components, summed up by owner
    for (int i = 0; i < e->dae->n; i++) {
        e->part[e->owner_of[i]] += r->share[i];
        e->component[i] += weight * r->share[i];
    }
    remember(e, r, weight);
    for (int k = 0; k < e->nowners; k++) {
        e->owner[k].weight[kind] += weight * e->part[k];
        e->owner[k].log_h += weight * e->part[k] * log_h;
        if (e->part[k] > e->part[most]) most = k;
    }
    e->sum[kind] += weight;
    // the smallest step of its bin, with its owner
    if (r->outcome != KD_ATTEMPT_ACCEPTED) return;
    bin *b = &e->bin[place(e, r->t, r->h)];
    *b = merged(*b, (bin){r->h, r->t, most});
}

void kd_explainer_see(const kd_attempt_report *r, void *context)
{
    if (!r) return;
    kd_explainer   *e = context;
    kd_explanation *c = &e->counted;
    // attempts of unknown size say nothing
    if (!(r->h > 0)) return;
    // even what nobody is blamed for moves the time on
    (void)place(e, r->t, r->h);
    c->attempts++;
    c->t_last = r->t;
    switch (r->outcome) {
    case KD_ATTEMPT_ACCEPTED:
        c->accepted++;
        c->t_last = r->t + r->h;
        e->log_h += log(r->h);
        if (c->h_least == 0 || r->h < c->h_least) c->h_least = r->h;
        if (r->h > e->h_reference) e->h_reference = r->h;
        if (r->share && r->error >= LIMITED)
            share_out(e, r, SMALL);
        else
            c->unlimited++;
        break;
    case KD_ATTEMPT_ERROR:
        c->rejected_error++;
        if (r->share) share_out(e, r, ERROR);
        break;
    case KD_ATTEMPT_NEWTON:
        c->rejected_newton++;
        if (r->share) share_out(e, r, NEWTON);
        break;
    case KD_ATTEMPT_EVALUATE:
        c->refused++;
        break;
    case KD_ATTEMPT_RETRACTED: // has been told as accepted before
        c->attempts--;
        c->accepted--;
        c->retracted++;
        e->log_h -= log(r->h);
        kd_text(c->why, sizeof c->why, "%s", r->why ? r->why : "");
        break;
    }
}

// ---- the result -----------------------------------------------------------------------------------------------------

static double weight_of(const owner *o)
{
    return o->weight[SMALL] + o->weight[ERROR] + o->weight[NEWTON];
}

// Number of bins, the heaviest first, that hold most of the weight of an owner
static int heavy_bins(const kd_explainer *e, int k, double total)
{
    const float *history = e->history + k;
    double       inside = 0, bound = INFINITY;
    int          count = 0;
    // heaviest first, equal ones together
    while (inside < MOST * total && count < BINS) {
        double next = -1; // the heaviest below the bound
        int    equal = 0;
        for (int b = 0; b < BINS; b++) {
            const double w = history[(size_t)b * (size_t)e->nowners];
            if (w >= bound || w < next) continue;
            equal = w > next ? 1 : equal + 1;
            next = w;
        }
        if (next <= 0) break;
        inside += equal * next;
        count += equal;
        bound = next;
    }
    return count;
}

// Shortest run of bins that holds most of the weight of an owner
static void find_window(const kd_explainer *e, int k, kd_limiter *out)
{
    const size_t n = (size_t)e->nowners;
    const float *history = e->history + k;
    double       total = 0, inside = 0;
    int          first = 0, best_first = 0, best_last = BINS - 1;
    for (int b = 0; b < BINS; b++) total += history[(size_t)b * n];
    // a window that slides: from the right as far as needed, from the left as far as possible
    for (int last = 0; last < BINS; last++) {
        inside += history[(size_t)last * n];
        while (first < last && inside - history[(size_t)first * n] >= MOST * total)
            inside -= history[(size_t)first++ * n];
        if (inside >= MOST * total && last - first < best_last - best_first) best_first = first, best_last = last;
    }
    // local: in a small part of the run; abrupt: in few bins, wherever they are
    const double few = fmax(1, LOCAL * (e->counted.t_last - e->counted.t_first) / e->width);
    out->from = e->counted.t_first + best_first * e->width;
    out->to = fmin(e->counted.t_first + (best_last + 1) * e->width, e->counted.t_last);
    out->local = best_last - best_first + 1 <= few;
    out->abrupt = heavy_bins(e, k, total) <= few;
}

static void name_component(const kd_explainer *e, int k, kd_limiter *out)
{
    int worst = -1;
    for (int i = 0; i < e->dae->n; i++)
        if (e->owner_of[i] == k && (worst < 0 || e->component[i] > e->component[worst])) worst = i;
    e->dae->methods->component_name(e->dae->impl, worst, out->component, sizeof out->component);
}

static double speed(const kd_suspect *s)
{
    return fmax(s->frequency, s->rate);
}

// Into the list of the limiter, which stays sorted; an element that is there already: with its fastest answer
static void add_suspect(kd_limiter *out, kd_suspect s)
{
    const int room = (int)(sizeof out->suspect / sizeof *out->suspect);
    int       at = 0;
    // known already: faster answer of both; else a new one, or instead of the slowest
    while (at < out->nsuspects && strcmp(out->suspect[at].name, s.name) != 0) at++;
    if (at < out->nsuspects) {
        s.frequency = fmax(s.frequency, out->suspect[at].frequency);
        s.rate = fmax(s.rate, out->suspect[at].rate);
    } else if (out->nsuspects < room) {
        out->nsuspects++;
    } else if (speed(&s) <= speed(&out->suspect[--at])) {
        return;
    }
    for (; at > 0 && speed(&out->suspect[at - 1]) < speed(&s); at--) out->suspect[at] = out->suspect[at - 1];
    out->suspect[at] = s;
}

// Elements that act on the velocities of an owner
static void find_suspects(const kd_explainer *e, int k, kd_suspects suspects, void *context, kd_limiter *out)
{
    const kd_dims d = kd_eom_dims(e->eom);
    int           asked = 0;
    // velocities of this owner; a few are enough to find its elements
    for (int i = 0; suspects && i < d.nv && asked < MAX_VELOCITIES; i++) {
        kd_suspect list[4];
        if (e->owner_of[d.np + i] != k) continue;
        const int n = suspects(i, list, 4, context);
        for (int j = 0; j < n; j++) add_suspect(out, list[j]);
        asked++;
    }
}

static bool is_one_of(const char *word, const char *const *list)
{
    while (*list && strcmp(word, *list) != 0) list++;
    return *list != NULL;
}

// First suspect of an abrupt kind; NULL: none
static const kd_suspect *abrupt(const kd_limiter *l)
{
    static const char *const kinds[] = {"joint_stop", "contact", "joint_friction", "tyre", NULL};
    for (int i = 0; i < l->nsuspects; i++)
        if (is_one_of(l->suspect[i].kind, kinds)) return &l->suspect[i];
    return NULL;
}

static void advise_newton(const kd_limiter *l, char *text, size_t size)
{
    const kd_suspect *s = l->nsuspects > 0 ? &l->suspect[0] : NULL;
    kd_text(text, size,
            "Newton's method has trouble here: the equations are strongly nonlinear, or a derivative is wrong");
    if (s) kd_text_append(text, size, "; of the forces '%s' (%s) is the stiffest", s->name, s->kind);
    kd_text_append(text, size,
                   ". Check the derivatives (kardan check --derivatives), smooth what is sharp (a larger slip velocity "
                   "of friction, a softer contact), or set --max-step");
}

// The force whose motion steps of this length resolve, the fastest of them; NULL: none
static const kd_suspect *resolved(const kd_limiter *l, double h)
{
    for (int i = 0; i < l->nsuspects; i++) {
        const double phase = speed(&l->suspect[i]) * h;
        if (phase > SLOW && phase < FAST) return &l->suspect[i];
    }
    return NULL;
}

static void advise_abrupt(const kd_explainer *e, const kd_limiter *l, char *text, size_t size)
{
    const kd_suspect *s = abrupt(l);
    // at the beginning of the run, or somewhere inside, or several times
    if (l->local && l->from - e->counted.t_first < 0.5 * (l->to - l->from)) {
        kd_text(text, size, "it settles at the start, which costs short steps once");
        if (l->nsuspects > 0) kd_text_append(text, size, "; '%s' is the fastest force on it", l->suspect[0].name);
        kd_text_append(text, size, ". A start in equilibrium avoids that");
        return;
    }
    if (l->local)
        kd_text(text, size, "it changes abruptly near t = %.6g s", 0.5 * (l->from + l->to));
    else
        kd_text(text, size, "it changes abruptly several times");
    if (s) kd_text_append(text, size, ", probably by '%s' (%s)", s->name, s->kind);
    kd_text_append(text, size, l->newton > l->small ? ": a singular position, an" : ": an");
    kd_text_append(text, size,
                   " impact, a stop, or a jump of an input, a curve or a law. Make it smoother where that does no "
                   "harm; the steps around it are short for a reason");
}

static void advise_resolved(const kd_suspect *s, double h, char *text, size_t size)
{
    if (s->frequency >= s->rate)
        kd_text(text, size,
                "'%s' (%s) is stiff: alone it makes it swing with a period of %.3g s, and steps of %.3g s resolve "
                "that. Soften it, damp it, or loosen the tolerance",
                s->name, s->kind, 2 * KD_PI / s->frequency, h);
    else
        kd_text(text, size,
                "'%s' (%s) damps strongly: alone it brings it to rest within %.3g s, and steps of %.3g s follow that. "
                "Use less damping, or loosen the tolerance",
                s->name, s->kind, 1 / s->rate, h);
}

static void advise_motion(const kd_explainer *e, const kd_limiter *l, double h, char *text, size_t size)
{
    const double run = e->counted.t_last - e->counted.t_first;
    kd_text(text, size, "its motion asks for steps of %.3g s", h);
    if (l->to - l->from > MOST * MOST * run)
        kd_text_append(text, size, " all the time");
    else
        kd_text_append(text, size, " from t = %.4g s to t = %.4g s", l->from, l->to);
    kd_text_append(text, size, "; a looser tolerance (--rtol, --atol) makes them longer");
}

// h: typical step that it limited
static void advise(const kd_explainer *e, const kd_limiter *l, const double weight[TROUBLES], double h, char *text,
                   size_t size)
{
    // in this order: abrupt, Newton, a force that is resolved, the motion itself
    const kd_suspect *s = resolved(l, h);
    if (l->local || l->abrupt)
        advise_abrupt(e, l, text, size);
    else if (weight[NEWTON] > 0.5 * (weight[SMALL] + weight[ERROR] + weight[NEWTON]))
        advise_newton(l, text, size);
    else if (s)
        advise_resolved(s, h, text, size);
    else
        advise_motion(e, l, h, text, size);
}

static void describe_owner(const kd_explainer *e, int k, double all, kd_suspects suspects, void *context,
                           kd_limiter *out)
{
    const owner *o = &e->owner[k];
    *out = (kd_limiter){.share = weight_of(o) / all};
    kd_text(out->name, sizeof out->name, "%s", o->name);
    // its part in each kind of trouble, then where, when and by whom
    double *part[TROUBLES] = {&out->small, &out->error, &out->newton};
    for (int i = 0; i < TROUBLES; i++) *part[i] = e->sum[i] > 0 ? o->weight[i] / e->sum[i] : 0;
    name_component(e, k, out);
    find_window(e, k, out);
    find_suspects(e, k, suspects, context, out);
    advise(e, out, o->weight, exp(o->log_h / weight_of(o)), out->advice, sizeof out->advice);
}

// Owner with the largest weight below that of the last one told; equal ones by number. -1: none
static int next_owner(const kd_explainer *e, int last)
{
    int best = -1;
    for (int k = 0; k < e->nowners; k++) {
        const double w = weight_of(&e->owner[k]), bound = last < 0 ? INFINITY : weight_of(&e->owner[last]);
        if (w > bound || (w == bound && k <= last)) continue;
        if (best < 0 || w > weight_of(&e->owner[best])) best = k;
    }
    return best;
}

// The smallest limited steps, one of each stretch of time
static void find_steps(const kd_explainer *e, kd_explanation *out)
{
    const int apart = BINS / 32; // bins between two that are told
    int       taken[KD_EXPLAIN_STEPS];
    // the smallest of all that is far enough from those taken
    while (out->nsteps < KD_EXPLAIN_STEPS) {
        int best = -1;
        for (int b = 0; b < BINS; b++) {
            bool far = e->bin[b].h > 0;
            for (int i = 0; i < out->nsteps; i++) far = far && (b - taken[i] > apart || taken[i] - b > apart);
            if (far && (best < 0 || e->bin[b].h < e->bin[best].h)) best = b;
        }
        if (best < 0) return;
        kd_small_step *s = &out->step[out->nsteps];
        s->t = e->bin[best].t;
        s->h = e->bin[best].h;
        kd_text(s->name, sizeof s->name, "%s", e->owner[e->bin[best].who].name);
        taken[out->nsteps++] = best;
    }
}

void kd_explainer_result(const kd_explainer *e, kd_suspects suspects, void *context, kd_explanation *out)
{
    if (!e || !out) return;
    // largest weight first, until shares are negligible
    const double all = e->sum[SMALL] + e->sum[ERROR] + e->sum[NEWTON];
    *out = e->counted;
    if (out->accepted > 0) out->h_typical = exp(e->log_h / (double)out->accepted);
    for (int k = -1; all > 0 && out->nlimiters < KD_EXPLAIN_LIMITERS; out->nlimiters++) {
        k = next_owner(e, k);
        if (k < 0 || weight_of(&e->owner[k]) < NEGLIGIBLE * all) break;
        describe_owner(e, k, all, suspects, context, &out->limiter[out->nlimiters]);
    }
    find_steps(e, out);
}
