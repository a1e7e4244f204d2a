// events.c: what happens at the end of a step, in the order of simulations: events, then samples. Steps of fixed length
// do not end where a switching function passes through zero: its event comes at the end of the step in which it did.
// Events of one instant come one after the other, in their order; then functions are looked at again.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "realtime/internal.h"

#define PASSES 100 // looks at the functions at one instant

bool kd_rt_events_cut(kd_realtime *rt)
{
    rt->events.value = kd_cut_double(&rt->arena, rt->n.nswitch);
    rt->events.last = kd_cut_double(&rt->arena, rt->n.nswitch);
    rt->events.near = kd_cut_double(&rt->arena, rt->n.nswitch);
    rt->events.side = kd_arena_cut(&rt->arena, (size_t)rt->n.nswitch, 1);
    rt->events.side_kept = kd_arena_cut(&rt->arena, (size_t)rt->n.nswitch, 1);
    rt->events.crossed = kd_arena_cut(&rt->arena, (size_t)rt->n.nswitch, 1);
    rt->events.alone = kd_arena_cut(&rt->arena, (size_t)rt->n.nswitch, 1);
    return !rt->arena.failed;
}

static signed char sign_of(double x)
{
    return (signed char)((x > 0) - (x < 0));
}

kd_eval kd_rt_look(kd_realtime *rt)
{
    kd_state *x = rt->now;
    kd_eval   answer = rt->placed ? KD_EVAL_OK : kd_rt_place(rt, x->t, x->p, x->s);
    if (answer != KD_EVAL_OK) return answer;
    rt->placed = true;
    memcpy(rt->u_placed, rt->u, (size_t)rt->n.nu * sizeof *rt->u);
    memcpy(rt->du_placed, rt->du, (size_t)rt->n.nu * sizeof *rt->du);
    kd_eom_at_velocity(rt->data, x->v, x->r);
    kd_eom_at_acceleration(rt->data, x->a, x->w, x->lambda, x->mu);
    return KD_EVAL_OK;
}

static kd_eval switching_values(kd_realtime *rt)
{
    kd_eval answer = kd_rt_look(rt);
    return answer == KD_EVAL_OK ? kd_eom_eval(rt->data, KD_SWITCH, rt->events.value) : answer;
}

kd_eval kd_rt_events_begin(kd_realtime *rt)
{
    if (rt->n.nswitch == 0) return KD_EVAL_OK;
    rt->placed = false;
    kd_eval answer = switching_values(rt);
    for (int i = 0; i < rt->n.nswitch && answer == KD_EVAL_OK; i++) rt->events.side[i] = sign_of(rt->events.value[i]);
    memcpy(rt->events.last, rt->events.value, (size_t)rt->n.nswitch * sizeof *rt->events.last);
    rt->placed = false;
    return answer;
}

void kd_rt_events_keep(kd_realtime *rt, bool back)
{
    if (rt->n.nswitch == 0) return;
    memcpy(back ? rt->events.side : rt->events.side_kept, back ? rt->events.side_kept : rt->events.side,
           (size_t)rt->n.nswitch);
}

// ---- one event ------------------------------------------------------------------------------------------------------

static bool rows_are_same(const kd_realtime *rt)
{
    const kd_state *from = rt->now, *to = rt->jump;
    return memcmp(from->active_lambda, to->active_lambda, (size_t)rt->n.nlambda) == 0 &&
           memcmp(from->active_mu, to->active_mu, (size_t)rt->n.nmu) == 0;
}

// What an event wrote becomes the state; velocities of constraints follow in the next step.
static void take_jump(kd_realtime *rt, const kd_jump *jump)
{
    kd_state *x = rt->now;
    memcpy(x->z, jump->z, (size_t)rt->n.nz * sizeof *x->z);
    if (jump->moved) {
        memcpy(x->p, jump->p, (size_t)rt->n.np * sizeof *x->p);
        memcpy(x->v, jump->v, (size_t)rt->n.nv * sizeof *x->v);
        memcpy(x->r, jump->r, (size_t)rt->n.nr * sizeof *x->r);
        rt->step.known = rt->mass.known = false;
    }
    rt->placed = rt->start_known = rt->auxiliary.follows = false;
}

static void say_stop(kd_realtime *rt, int i, const char *text)
{
    char name[128] = "";
    rt->events.stop = true;
    kd_eom_name(rt->eom, KD_NAME_SWITCH, i, name, sizeof name);
    kd_text(rt->message, sizeof rt->message, "stopped by an event at t = %.9g: %s", rt->now->t, text[0] ? text : name);
}

// The event of function i at the state that those before it have left; its side behind it
static kd_status make_event(kd_realtime *rt, int i)
{
    kd_state *j = rt->jump;
    kd_jump   jump = {
          .p = j->p, .v = j->v, .r = j->r, .z = j->z, .active_lambda = j->active_lambda, .active_mu = j->active_mu};
    // values from the left; the event writes those from the right
    kd_state_copy(rt->now, rt->jump);
    memset(rt->events.alone, 0, (size_t)rt->n.nswitch);
    rt->events.alone[i] = rt->events.crossed[i];
    if (kd_rt_look(rt) != KD_EVAL_OK || kd_eom_event(rt->data, rt->events.alone, &jump) != KD_EVAL_OK)
        return KD_ERR_CALLBACK_STOP;
    // rows that come and go would change the matrix
    if (!rows_are_same(rt)) {
        kd_text(rt->message, sizeof rt->message,
                "t = %.9g: an event switches constraints on or off, which steps of fixed work cannot; the state is "
                "that of t = %.9g",
                rt->now->t, rt->next->t);
        return KD_ERR_UNSUPPORTED;
    }
    // the state behind it, and the side of the function there
    take_jump(rt, &jump);
    jump.text[sizeof jump.text - 1] = '\0';
    if (jump.stop) say_stop(rt, i, jump.text);
    if (switching_values(rt) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    const double value = rt->events.value[i];
    rt->events.side[i] = fabs(value) > rt->events.near[i] ? sign_of(value) : rt->events.crossed[i];
    return KD_OK;
}

// ---- all of an instant ----------------------------------------------------------------------------------------------

// Where a function is zero up to rounding at the end of a step it has passed through zero there, not a step later.
static void find_near(kd_realtime *rt)
{
    for (int i = 0; i < rt->n.nswitch; i++)
        rt->events.near[i] = KD_RT_ALMOST * fabs(rt->events.value[i] - rt->events.last[i]);
}

// step: that has just been made; otherwise what events have changed
static kd_eval find_crossed(kd_realtime *rt, bool step, bool *any)
{
    kd_eval answer = switching_values(rt);
    *any = false;
    if (step && answer == KD_EVAL_OK) find_near(rt);
    for (int i = 0; i < rt->n.nswitch && answer == KD_EVAL_OK; i++) {
        const double      value = rt->events.value[i], near = rt->events.near[i];
        const signed char side = sign_of(value), before = rt->events.side[i];
        // reached: zero up to rounding at the end of this step; crosses: that, or another sign
        const bool reached = step && fabs(value) <= near && before * (rt->events.last[i] - value) > 0;
        const bool crosses = before != 0 && (reached || (side * before < 0 && fabs(value) > near));
        rt->events.crossed[i] = (signed char)(crosses ? -before : 0);
        *any = *any || rt->events.crossed[i];
        if (before == 0) rt->events.side[i] = side;
    }
    return answer;
}

static kd_status without_end(kd_realtime *rt)
{
    char name[128];
    kd_text(rt->message, sizeof rt->message, "t = %.9g: events follow each other without end (", rt->now->t);
    for (int i = 0, told = 0; i < rt->n.nswitch && told < 4; i++)
        if (rt->events.crossed[i])
            kd_text_append(rt->message, sizeof rt->message, "%s%s", told++ ? ", " : "",
                           kd_eom_name(rt->eom, KD_NAME_SWITCH, i, name, sizeof name));
    kd_text_append(rt->message, sizeof rt->message, "; looked at %d times); the state is that of t = %.9g", PASSES,
                   rt->next->t);
    return KD_ERR_CHATTER;
}

kd_status kd_rt_events_make(kd_realtime *rt)
{
    bool any = true;
    rt->events.stop = false;
    if (rt->n.nswitch == 0) return KD_OK;
    for (int pass = 0; pass <= PASSES; pass++) {
        // which functions have crossed: by the step, then by events of this instant
        if (find_crossed(rt, pass == 0, &any) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
        if (!any) {
            memcpy(rt->events.last, rt->events.value, (size_t)rt->n.nswitch * sizeof *rt->events.last);
            return rt->events.stop ? KD_STOPPED : KD_OK;
        }
        // their events, one after the other
        for (int i = 0; i < rt->n.nswitch; i++) {
            kd_status status = rt->events.crossed[i] ? make_event(rt, i) : KD_OK;
            if (status != KD_OK) return status;
        }
    }
    return without_end(rt);
}

kd_eval kd_rt_sample(kd_realtime *rt)
{
    kd_state *x = rt->now;
    kd_eval   answer = kd_rt_look(rt);
    if (answer == KD_EVAL_OK) answer = kd_eom_discrete(rt->data, rt->jump->z);
    if (answer != KD_EVAL_OK) return answer;
    memcpy(x->z, rt->jump->z, (size_t)rt->n.nz * sizeof *x->z);
    rt->placed = rt->start_known = rt->auxiliary.follows = false;
    kd_rt_next_sample(rt);
    return KD_EVAL_OK;
}

// One that lies hardly ahead has been made: steps hit their times up to rounding.
void kd_rt_next_sample(kd_realtime *rt)
{
    rt->placed = false;
    kd_eom_at_time(rt->data, rt->now->t + 2.0 * KD_RT_ALMOST * rt->opt.h, rt->u, rt->du, rt->ddu, rt->now->z);
    rt->next_sample = kd_eom_next_sample(rt->data);
}
