// leaps.c: places of kept contacts that leap.
//
// The place of contact is found from the position alone (element/touch.c). Where surfaces osculate or touch along a line it
// passes to another side in no time: a marble that crosses the axis of a funnel, a ring that falls flat. Rows of velocities
// are others then, and what was kept by them so far is lost or gained. A step that jumps over such a place sees a contact
// as good as before at both ends; but between them it has moved by more than the rates at both ends explain:
//
//     |r(t1) - r(t0)| > FASTER h max(|r'(t0)|, |r'(t1)|),  and by a part of its distance from the origin that is no rounding
#include <math.h>

#include "system/system.h"

#define FASTER                                                                                                         \
    5.0 // than the rates of both ends: of smooth motion it is 1 for short steps, below 2 for any that is resolved
#define FARTHER 0.1 // part of the distance

bool kd_system_keeps_surfaces(const kd_system *s)
{
    for (int i = 0; i < s->ntouches; i++)
        if (s->touch[i].kept) return true;
    return false;
}

// false: one of them is not known there
static bool take_places(kd_work *w, const kd_point *x, kd_touch_places *out)
{
    const kd_system *s = w->system;
    kd_work_velocity(w, x, KD_FOR_ROWS);
    for (int i = 0; i < s->ntouches; i++) {
        if (!s->touch[i].kept) continue;
        if (!w->touch[i].found) return false;
        kd_touch_places_of(&w->touch[i], &w->rel[s->touch[i].pair], &out[i]);
    }
    return true;
}

static bool leaps(const kd_touch_places *a, const kd_touch_places *b, double h)
{
    for (int i = 0; i < 2; i++) {
        const double way = kd_vec_norm(kd_vec_sub(b->at[i], a->at[i]));
        const double rate = fmax(kd_vec_norm(a->rate[i]), kd_vec_norm(b->rate[i]));
        const double size = fmax(kd_vec_norm(a->at[i]), kd_vec_norm(b->at[i]));
        if (way > FASTER * h * rate && way > FARTHER * size) return true;
    }
    return false;
}

bool kd_work_leaps(kd_work *w, const kd_point *x0, const kd_point *x1, bool follows)
{
    const kd_system *s = w->system;
    w->leapt = 0;
    if (!kd_system_keeps_surfaces(s)) return false;
    kd_touch_places *const before = w->touched, *const now = w->touched + s->ntouches;
    // the start of this step is the end of the last one, mostly
    bool known = (follows && w->t_touched == x0->t) || take_places(w, x0, before);
    w->t_touched = NAN;
    if (!known || !take_places(w, x1, now)) return false;
    for (int i = 0; i < s->ntouches; i++)
        if (s->touch[i].kept && leaps(&before[i], &now[i], x1->t - x0->t)) w->leapt = i + 1;
    for (int i = 0; i < s->ntouches; i++) before[i] = now[i];
    w->t_touched = x1->t;
    return w->leapt > 0;
}
