// order.c: signals that read each other (outputs of controllers, sensors), in an order in which each stands behind
// those that it reads. There are no circles: kd_model_finish refuses them.
#include "element/state.h"

// Depth first from each signal, with a stack of signals and of the variables that were looked at.
typedef struct walk {
    const kd_system *s;
    kd_slot_kind     kind;
    kd_expr *const  *expr; // (n); NULL: reads nothing, or is a block without period
    bool            *seen; // (n)
    int             *stack, *at;
    int              depth;
} walk;

// on top of the stack, its variables still to be looked at
static void enter(walk *w, int signal)
{
    w->seen[signal] = true;
    w->stack[w->depth] = signal;
    w->at[w->depth++] = 0;
}

// Variable i of all that a signal reads; -1: there are no more
static int slot_of(const walk *w, int signal, int i)
{
    const kd_sampler *unit = w->kind == KD_SLOT_OUT ? w->s->load[signal].unit : NULL;
    const kd_expr    *own = w->expr[signal];
    const int         n = unit ? unit->block->def.ninputs : own ? 1 : 0;
    for (int k = 0; k < n; k++) {
        const kd_expr *e = unit ? unit->input[k] : own;
        if (i < kd_expr_slot_count(e)) return kd_expr_slot(e, i);
        i -= kd_expr_slot_count(e);
    }
    return -1;
}

// The next signal that the one on top of the stack reads and that was not seen; -1: none
static int next_read(walk *w)
{
    const int signal = w->stack[w->depth - 1];
    for (int *i = &w->at[w->depth - 1];;) {
        const int slot = slot_of(w, signal, (*i)++);
        if (slot < 0) return -1;
        kd_slot at = w->s->slot[slot];
        if (at.kind == w->kind && !w->seen[at.index]) return at.index;
    }
}

static bool find_order(const kd_system *s, kd_slot_kind kind, int n, kd_expr *const *expr, int *order)
{
    kd_arena scratch = {0};
    walk     w = {.s = s, .kind = kind, .expr = expr};
    int      count = 0;
    w.seen = kd_cut_bool(&scratch, n);
    w.stack = kd_cut_int(&scratch, n);
    w.at = kd_cut_int(&scratch, n);
    bool made = !scratch.failed;
    // a signal is done when all that it reads are
    for (int i = 0; made && i < n; i++) {
        if (!w.seen[i]) enter(&w, i);
        while (w.depth > 0) {
            int read = next_read(&w);
            if (read >= 0)
                enter(&w, read);
            else
                order[count++] = w.stack[--w.depth];
        }
    }
    kd_arena_release(&scratch);
    return made;
}

// The variables that show each signal, as lists.
static void list_slots(const kd_system *s, kd_slot_kind kind, int n, int *first, int *next)
{
    for (int i = 0; i < n; i++) first[i] = -1;
    for (int k = 0; k < s->nslots; k++)
        if (s->slot[k].kind == kind) next[k] = first[s->slot[k].index], first[s->slot[k].index] = k;
}

kd_status kd_system_order_controllers(kd_system *s)
{
    int       n = s->ncontrollers;
    kd_expr **law = kd_arena_cut(&s->arena, (size_t)n, sizeof *law);
    // the order of states that are controllers; others read no output
    s->state_order = kd_cut_int(&s->arena, n);
    s->out_at = kd_cut_int(&s->arena, n + 1);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        const kd_load *l = &s->load[i];
        law[i] = !l->unit && kd_states[l->state_def->kind]->output ? l->law[0] : NULL;
        s->out_at[i + 1] = s->out_at[i] + (l->unit ? l->unit->block->def.noutputs : 1);
    }
    return find_order(s, KD_SLOT_OUT, n, law, s->state_order) ? KD_OK : KD_ERR_MEMORY;
}

kd_status kd_system_order_signals(kd_system *s)
{
    int n = s->nsensors;
    s->sensor_order = kd_cut_int(&s->arena, n);
    s->sensor_slot = kd_cut_int(&s->arena, n);
    s->out_slot = kd_cut_int(&s->arena, s->ncontrollers);
    s->next_slot = kd_cut_int(&s->arena, s->nslots);
    if (s->arena.failed || !find_order(s, KD_SLOT_SENSOR, n, s->sensor, s->sensor_order)) return KD_ERR_MEMORY;
    list_slots(s, KD_SLOT_SENSOR, n, s->sensor_slot, s->next_slot);
    list_slots(s, KD_SLOT_OUT, s->ncontrollers, s->out_slot, s->next_slot);
    return KD_OK;
}
