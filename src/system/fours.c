// fours.c: loads that are alike (same class, same operations in their expressions) are evaluated four at a time.
#include "system/system.h"

static bool are_alike(const kd_load *a, const kd_load *b)
{
    return a->class == b->class && a->class->eval_four && a->nchannels == b->nchannels && a->nstates == b->nstates &&
           a->class->is_like(a, b);
}

// load and three behind it that are like it and not taken yet; false: there are not so many
static bool find_four(const kd_system *s, const bool *taken, int load, int four[4])
{
    int n = 0;
    for (int i = load; i < s->nplain && n < 4; i++)
        if (!taken[i] && are_alike(&s->load[load], &s->load[i])) four[n++] = i;
    return n == 4;
}

kd_status kd_system_list_fours(kd_system *s)
{
    kd_arena scratch = {0};
    bool    *taken = kd_cut_bool(&scratch, s->nplain);
    s->four = kd_cut_int(&s->arena, s->nplain);
    s->single = kd_cut_int(&s->arena, s->nplain);
    const bool good = !scratch.failed && !s->arena.failed;
    for (int i = 0; i < s->nplain && good; i++) {
        int *four = s->four + 4 * s->nfours;
        if (taken[i]) continue;
        if (s->nplain - i >= 4 && find_four(s, taken, i, four)) {
            for (int k = 0; k < 4; k++) taken[four[k]] = true;
            s->nfours++;
        } else {
            s->single[s->nsingles++] = i;
        }
    }
    kd_arena_release(&scratch);
    return good ? KD_OK : KD_ERR_MEMORY;
}

kd_eval kd_work_eval_loads(kd_work *w)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nfours; i++) {
        const int           *number = s->four + 4 * i;
        const kd_load *const load[4] = {&s->load[number[0]], &s->load[number[1]], &s->load[number[2]],
                                        &s->load[number[3]]};
        double              *force[4], *rate[4];
        for (int k = 0; k < 4; k++) force[k] = w->force + w->force_at[number[k]], rate[k] = w->b + load[k]->state;
        const kd_eval answer = load[0]->class->eval_four(load, w->slot, w, force, rate);
        if (answer != KD_EVAL_OK) return answer;
    }
    for (int i = 0; i < s->nsingles; i++) {
        const int      number = s->single[i];
        const kd_load *l = &s->load[number];
        const kd_eval  answer = l->class->eval(l, w->slot, w, w->force + w->force_at[number], w->b + l->state);
        if (answer != KD_EVAL_OK) return answer;
    }
    return KD_EVAL_OK;
}
