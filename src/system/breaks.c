// breaks.c: when functions of time in a model are not smooth: inputs, prescribed motions, targets of constraints, laws,
// conditions of events.
// Method: docs/methods/intervals.md
//
// Each expression that can break has its next break in the work object, found when time has come to the one before.
// What sensors and samples read does not matter to the motion in between.
#include <math.h>

#include "system/system.h"

enum { SLOT_TIME = 0 }; // as system.c makes it

kd_status kd_system_list_breaks(kd_system *s)
{
    s->breaking = kd_arena_cut(&s->arena, (size_t)s->nexprs, sizeof *s->breaking);
    if (!s->breaking) return KD_ERR_MEMORY;
    // workspace: intervals that the largest expression needs
    for (int i = 0; i < s->nexprs; i++) {
        const int size = kd_expr_interval_size(s->expr[i]);
        if (size > s->max_interval) s->max_interval = size;
    }
    kd_interval *work = kd_alloc((size_t)s->max_interval * sizeof *work);
    if (!work) return KD_ERR_MEMORY;
    // expressions of the motion, which stand first, and conditions of events; what sensors read does not count
    for (int i = 0; i < s->nmotion; i++)
        if (kd_expr_has_breaks(s->expr[i], SLOT_TIME, work)) s->breaking[s->nbreaking++] = s->expr[i];
    for (int i = 0; i < s->model->nevents && !s->for_start; i++)
        if (kd_expr_has_breaks(s->event[i].when, SLOT_TIME, work)) s->breaking[s->nbreaking++] = s->event[i].when;
    kd_free(work);
    return KD_OK;
}

bool kd_breaks_create(const kd_system *s, kd_arena *arena, kd_breaks *breaks)
{
    breaks->from = kd_cut_double(arena, s->nbreaking);
    breaks->next = kd_cut_double(arena, s->nbreaking);
    breaks->unsearched = kd_cut_double(arena, s->nbreaking);
    breaks->work = kd_arena_cut(arena, (size_t)s->max_interval, sizeof *breaks->work);
    breaks->all_next = -INFINITY; // of no time
    for (int i = 0; !arena->failed && i < s->nbreaking; i++) breaks->next[i] = -INFINITY;
    return !arena->failed;
}

// What breaks within rounding of the first is one instant: the last of them.
double kd_work_next_break(kd_work *w, double t)
{
    const kd_system *s = w->system;
    kd_breaks       *b = &w->breaks;
    // still before the next one that was found
    if (b->all_from <= t && t < b->all_next) return b->all_next;
    double first = INFINITY, unsearched;
    // only what has come to its own break is searched again
    for (int i = 0; i < s->nbreaking; i++) {
        if (!(b->from[i] <= t && t < b->next[i])) {
            b->from[i] = t;
            b->next[i] = kd_expr_next_break(s->breaking[i], SLOT_TIME, t, INFINITY, b->work, &unsearched);
            b->unsearched[i] += unsearched;
        }
        first = fmin(first, b->next[i]);
    }
    double last = first;
    for (int i = 0; i < s->nbreaking; i++)
        if (b->next[i] <= first + 0x1p-44 * fabs(first)) last = fmax(last, b->next[i]);
    b->all_from = t;
    b->all_next = last;
    return last;
}
