// equilibrium.c: static equilibrium (S1 Eq. 3): Newton's method with trust in short steps, then damped dynamics, then
// the same from positions around the start.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analysis/balance.h"
#include "analysis/words.h"
#include "core/option.h"
#include "core/text.h"

enum { NEARBY = 3 }; // attempts by Newton's method from positions around the start
#define NOTICED 1e-6 // units of motion: a longer move is one

kd_equilibrium_options kd_equilibrium_options_default(void)
{
    return (kd_equilibrium_options){
        .tolerance = 1e-9, .max_iterations = 200, .starts = 4, .spread = 0.2, .cookie = KD_OPTIONS_COOKIE};
}

typedef struct search {
    const kd_equilibrium_options *opt;
    kd_balance                    balance;
    kd_state                     *start, *found; // found: an unstable one, kept in case there is no other
    double                       *e;             // (nv) move of a start
    double                       *v;             // (nv) velocities of the start
    bool                          has_found;
    double                        least; // |F| of the best attempt that failed
    kd_equilibrium_result         result, found_result, failed_result;
    kd_arena                      arena;
} search;

// Numbers in (-1, 1) that are the same in every run
static double next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*seed / 9223372036854775808.0;
}

// Largest of the differences p - p_start, by natural units: for coordinates that are angles or lengths the increment
// itself. In units
static double find_move(const search *s, kd_equilibrium_result *result)
{
    const kd_state *x = s->balance.x;
    double          most = 0;
    result->moved = 0;
    for (int i = 0; i < s->balance.n.np; i++) {
        const double move = fabs(x->p[i] - s->start->p[i]), share = move / kd_eom_position_unit(s->balance.base, i);
        if (share > most) most = share, result->moved = move, result->moved_row = i;
    }
    return most;
}

// Where an attempt begins: random moves by a share of the natural units
static void spread_start(search *s, double share, uint64_t *seed)
{
    for (int i = 0; i < s->balance.n.nv; i++) s->e[i] = share * s->balance.unit[i] * next_random(seed);
}

// Ask the equilibrium at x of the balance whether it will do; if not, keep it
static bool judge_equilibrium(search *s, bool by_dynamics, bool is_start)
{
    kd_balance            *b = &s->balance;
    kd_equilibrium_result *r = &s->result;
    kd_balance_report(b, r);
    const double moved = find_move(s, r);
    r->by_dynamics = by_dynamics;
    r->stability = kd_balance_stability(b, &r->free_directions);
    // good: not unstable, or unstable but where the start already was
    if (r->stability != KD_UNSTABLE || (is_start && moved < NOTICED && !s->opt->stable)) return true;
    if (!s->has_found) {
        kd_state_copy(b->x, s->found);
        s->found_result = *r;
        s->has_found = true;
    }
    return false;
}

// The attempt that came nearest
static void note_failure(search *s)
{
    if (s->balance.size >= s->least) return;
    s->least = s->balance.size;
    kd_balance_report(&s->balance, &s->failed_result);
    (void)find_move(s, &s->failed_result);
}

// One attempt from the start, moved by e
static bool attempt(search *s, const double *e, bool dynamics)
{
    kd_balance *b = &s->balance;
    s->result.attempts++;
    if (kd_balance_restart(b, s->start, e) != KD_EVAL_OK) return false;
    if (dynamics) (void)kd_balance_relax(b, s->opt->max_iterations);
    if (kd_balance_newton(b, s->opt->tolerance, s->opt->max_iterations))
        return judge_equilibrium(s, dynamics, !e && !dynamics);
    note_failure(s);
    return false;
}

// From the simplest to the most patient; true: one was good
static bool attempt_all(search *s)
{
    uint64_t seed = 1;
    // Newton's method from the start
    if (attempt(s, NULL, false)) return true;
    // nonholonomic constraints: equilibria are no isolated points, and damped dynamics would slide away from them
    for (int k = 0; s->balance.n.nmu > 0 && k < NEARBY; k++) {
        spread_start(s, ldexp(1e-3, 3 * k), &seed);
        if (attempt(s, s->e, false)) return true;
    }
    // damped dynamics from the start
    if (!s->opt->no_dynamics && attempt(s, NULL, true)) return true;
    // the same from farther and farther positions around it
    for (int k = 0; k <= s->opt->starts; k++) {
        // the first one almost at the start: away from a saddle
        spread_start(s, k == 0 ? 1e-3 : s->opt->spread * k, &seed);
        if (!s->opt->no_dynamics && attempt(s, s->e, true)) return true;
        if (s->opt->no_dynamics && k > 0 && attempt(s, s->e, false)) return true;
    }
    return false;
}

// Everything at rest: v = a = 0
static kd_status prepare_search(search *s, const kd_eom *eom, const kd_inputs *inputs, const kd_state *x)
{
    const kd_dims n = kd_eom_dims(eom);
    s->e = kd_cut_double(&s->arena, n.nv);
    s->v = kd_cut_double(&s->arena, n.nv);
    kd_status status = s->arena.failed ? KD_ERR_MEMORY : kd_state_create(eom, &s->start);
    if (status >= 0) status = kd_state_create(eom, &s->found);
    if (status < 0) return status;
    kd_state_copy(x, s->start);
    memcpy(s->v, x->v, (size_t)n.nv * sizeof(double));
    memset(s->start->v, 0, (size_t)n.nv * sizeof(double));
    memset(s->start->a, 0, (size_t)n.nv * sizeof(double));
    s->least = INFINITY;
    return kd_balance_create(&s->balance, eom, inputs, s->start, &(kd_balance_request){0});
}

// ---- motion of the start --------------------------------------------------------------------------------------------

// Forces in balance at the velocities v, from the position and forces of x on; they become those of x.
static bool balance_in_motion(const search *s, const kd_eom *eom, const kd_inputs *inputs, const double *v, kd_state *x)
{
    kd_balance b;
    kd_state  *moving = NULL;
    bool       found = false;
    if (kd_state_create(eom, &moving) < 0) return false;
    // v given, a = 0
    kd_state_copy(x, moving);
    memcpy(moving->v, v, (size_t)kd_eom_dims(eom).nv * sizeof(double));
    memset(moving->a, 0, (size_t)kd_eom_dims(eom).nv * sizeof(double));
    if (kd_balance_create(&b, eom, inputs, moving, &(kd_balance_request){0}) >= 0)
        found = kd_balance_newton(&b, s->opt->tolerance, s->opt->max_iterations);
    if (found) kd_state_copy(b.x, x);
    kd_balance_release(&b);
    kd_state_destroy(moving);
    return found;
}

static void note_motion(const kd_eom *eom, const double *before, const double *now, kd_equilibrium_result *r)
{
    r->speed = r->dropped = 0;
    for (int i = 0; i < kd_eom_dims(eom).nv; i++) {
        if (fabs(now[i]) > r->speed) r->speed = fabs(now[i]), r->speed_row = i;
        if (fabs(now[i] - before[i]) > r->dropped) r->dropped = fabs(now[i] - before[i]), r->dropped_row = i;
    }
}

// From rest at x on: what no force opposes goes on. v: velocities of the start
static void go_on(search *s, const kd_eom *eom, const kd_inputs *inputs, const double *v, kd_state *x)
{
    const size_t    nv = (size_t)kd_eom_dims(eom).nv;
    kd_start_motion motion = KD_MOTION_DROPPED;
    memset(x->v, 0, nv * sizeof(double));
    if (s->opt->keep_motion && kd_balance_free_motion(&s->balance, v, s->e)) {
        motion = balance_in_motion(s, eom, inputs, s->e, x) ? KD_MOTION_STEADY : KD_MOTION_UNSTEADY;
        memcpy(x->v, s->e, nv * sizeof(double));
    }
    note_motion(eom, v, x->v, &s->result);
    s->result.motion = motion;
}

// Where the start moves, a steady motion may be what is sought: a driven wheel, a controller of speed, a guide that
// runs.
static void hint_at_motion(const kd_eom *eom, const kd_state *x, char *message, size_t size)
{
    char name[200];
    int  fastest = -1;
    for (int i = 0; i < kd_eom_dims(eom).nv; i++)
        if (x->v[i] != 0 && (fastest < 0 || fabs(x->v[i]) > fabs(x->v[fastest]))) fastest = i;
    if (fastest < 0) return;
    kd_text_append(message, size,
                   "; the start moves ('%s' with %.4g): what cannot rest may move steadily (kardan trim --moving)",
                   kd_eom_name(eom, KD_NAME_V, fastest, name, sizeof name), x->v[fastest]);
}

static bool moves(const kd_eom *eom, const double *v)
{
    bool moves = false;
    for (int i = 0; i < kd_eom_dims(eom).nv; i++) moves = moves || v[i] != 0;
    return moves;
}

// There is no rest; the start may move steadily.
static bool find_motion(search *s, const kd_eom *eom, const kd_inputs *inputs, kd_state *x, char *message, size_t size)
{
    if (!s->opt->keep_motion || !moves(eom, s->v) || !balance_in_motion(s, eom, inputs, s->v, x)) return false;
    s->result.motion = KD_MOTION_WHOLE;
    note_motion(eom, s->v, s->v, &s->result);
    kd_text(message, size, "%s", "");
    kd_describe_motion(eom, &s->result, message, size);
    return true;
}

// The state and the words for what was found
static kd_status conclude(search *s, bool found, kd_state *x, char *message, size_t size)
{
    kd_equilibrium_result *r = &s->result;
    const int              attempts = r->attempts, iterations = s->balance.iterations;
    // what was found; else an unstable equilibrium, if that will do; else the best failure
    if (found) {
        kd_state_copy(s->balance.x, x);
    } else if (s->has_found && !s->opt->stable) {
        *r = s->found_result;
        kd_state_copy(s->found, x);
    } else {
        *r = s->failed_result;
    }
    found = found || (s->has_found && !s->opt->stable);
    r->attempts = attempts;
    r->iterations = iterations;
    // in words
    if (found)
        kd_describe_equilibrium(s->balance.eom, r, message, size);
    else if (s->has_found)
        kd_text(message, size, "only an unstable equilibrium was found in %d attempts", attempts);
    else
        kd_describe_failure(s->balance.eom, r, message, size);
    if (!found) hint_at_motion(s->balance.eom, x, message, size);
    return found ? KD_OK : KD_ERR_NO_EQUILIBRIUM;
}

kd_status kd_equilibrium(const kd_eom *eom, const kd_inputs *inputs, const kd_equilibrium_options *opt, kd_state *x,
                         kd_equilibrium_result *result, char *message, size_t size)
{
    const kd_equilibrium_options standard = kd_equilibrium_options_default();
    search                       s = {.opt = opt ? opt : &standard};
    if (message && size > 0) message[0] = '\0';
    if (eom && !kd_state_fits(eom, x))
        kd_text(message, size,
                "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
    if (!kd_state_fits(eom, x) || !(s.opt->tolerance > 0) || s.opt->max_iterations < 1) return KD_ERR_ARGUMENT;
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_equilibrium_options", message, size)) return KD_ERR_ARGUMENT;
    kd_status status = prepare_search(&s, eom, inputs, x);
    if (status >= 0) {
        // rest first
        status = conclude(&s, attempt_all(&s), x, message, size);
        if (status >= 0 && moves(eom, s.v)) {
            // what no force opposes goes on as it was
            if (s.has_found) (void)!kd_balance_restart(&s.balance, x, NULL);
            go_on(&s, eom, inputs, s.v, x);
            kd_describe_motion(eom, &s.result, message, size);
        } else if (status < 0 && find_motion(&s, eom, inputs, x, message, size)) {
            status = KD_OK;
        }
    } else
        kd_describe_refusal(&s.balance, status, message, size);
    if (result) *result = s.result;
    kd_balance_release(&s.balance);
    kd_state_destroy(s.start);
    kd_state_destroy(s.found);
    kd_arena_release(&s.arena);
    return status;
}
