// events.c: switching functions at the ends of steps. Steps of fixed length do not end where a function passes through
// zero: its event comes at the end of the step in which it did, once a step, with all functions that changed their
// sign.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "realtime/internal.h"

bool kd_rt_events_cut(kd_realtime *rt)
{
    rt->events.value = kd_cut_double(&rt->arena, rt->n.nswitch);
    rt->events.side = kd_arena_cut(&rt->arena, (size_t)rt->n.nswitch, 1);
    rt->events.crossed = kd_arena_cut(&rt->arena, (size_t)rt->n.nswitch, 1);
    return !rt->arena.failed;
}

static signed char sign_of(double x)
{
    return (signed char)((x > 0) - (x < 0));
}

static kd_eval values_at(kd_realtime *rt, const kd_state *x)
{
    kd_eom_at_velocity(rt->data, x->v, x->r);
    kd_eom_at_acceleration(rt->data, x->a, x->w, x->lambda, x->mu);
    return kd_eom_eval(rt->data, KD_SWITCH, rt->events.value);
}

// A function at zero has the sign that it had; of those that are given, or all (NULL).
static kd_eval take_sides(kd_realtime *rt, const signed char *given)
{
    kd_eval answer = kd_rt_place(rt, rt->now->t, rt->now->p, rt->now->s);
    if (answer == KD_EVAL_OK) answer = values_at(rt, rt->now);
    for (int i = 0; i < rt->n.nswitch && answer == KD_EVAL_OK; i++) {
        if (given && !given[i]) continue;
        signed char side = sign_of(rt->events.value[i]);
        if (side != 0) rt->events.side[i] = side;
    }
    return answer;
}

kd_eval kd_rt_events_begin(kd_realtime *rt)
{
    if (rt->n.nswitch == 0) return KD_EVAL_OK;
    memset(rt->events.side, 0, (size_t)rt->n.nswitch);
    return take_sides(rt, NULL);
}

static bool rows_are_same(const kd_realtime *rt)
{
    const kd_state *from = rt->next, *to = rt->jump;
    return memcmp(from->active_lambda, to->active_lambda, (size_t)rt->n.nlambda) == 0 &&
           memcmp(from->active_mu, to->active_mu, (size_t)rt->n.nmu) == 0;
}

kd_status kd_rt_events_look(kd_realtime *rt)
{
    bool any = false;
    rt->events.happened = rt->events.moved = rt->events.stop = false;
    if (rt->n.nswitch == 0) return KD_OK;
    if (values_at(rt, rt->next) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    for (int i = 0; i < rt->n.nswitch; i++) {
        const signed char side = sign_of(rt->events.value[i]), before = rt->events.side[i];
        rt->events.crossed[i] = (signed char)(side * before < 0 ? side : 0);
        any = any || rt->events.crossed[i];
        if (before == 0) rt->events.side[i] = side;
    }
    if (!any) return KD_OK;
    kd_state_copy(rt->next, rt->jump);
    memcpy(rt->jump->z, rt->now->z, (size_t)rt->n.nz * sizeof *rt->jump->z); // held over the step
    kd_state *j = rt->jump;
    kd_jump   jump = {
          .p = j->p, .v = j->v, .r = j->r, .z = j->z, .active_lambda = j->active_lambda, .active_mu = j->active_mu};
    if (kd_eom_event(rt->data, rt->events.crossed, &jump) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    if (!rows_are_same(rt)) {
        kd_text(
            rt->message, sizeof rt->message,
            "t = %.9g: an event switches constraints on or off, which steps of fixed work cannot; the state is that "
            "of t = %.9g",
            rt->next->t, rt->now->t);
        return KD_ERR_UNSUPPORTED;
    }
    rt->events.happened = true;
    rt->events.moved = jump.moved;
    rt->events.stop = jump.stop;
    jump.text[sizeof jump.text - 1] = '\0';
    kd_text(rt->events.text, sizeof rt->events.text, "%s", jump.text);
    return KD_OK;
}

static void say_stop(kd_realtime *rt)
{
    char name[128] = "";
    for (int i = rt->n.nswitch - 1; i >= 0; i--)
        if (rt->events.crossed[i]) kd_eom_name(rt->eom, KD_NAME_SWITCH, i, name, sizeof name);
    kd_text(rt->message, sizeof rt->message, "stopped by an event at t = %.9g: %s", rt->now->t,
            rt->events.text[0] ? rt->events.text : name);
}

kd_status kd_rt_events_take(kd_realtime *rt)
{
    const kd_state *j = rt->jump;
    kd_state       *x = rt->now;
    if (!rt->events.happened) return KD_OK;
    memcpy(x->z, j->z, (size_t)rt->n.nz * sizeof *x->z);
    if (rt->events.moved) { // the constraints' velocities follow in the next step
        memcpy(x->p, j->p, (size_t)rt->n.np * sizeof *x->p);
        memcpy(x->v, j->v, (size_t)rt->n.nv * sizeof *x->v);
        memcpy(x->r, j->r, (size_t)rt->n.nr * sizeof *x->r);
        rt->step.known = rt->mass.known = false;
    }
    rt->start_known = false;
    if (take_sides(rt, rt->events.crossed) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    rt->placed = false;
    if (!rt->events.stop) return KD_OK;
    say_stop(rt);
    return KD_STOPPED;
}
