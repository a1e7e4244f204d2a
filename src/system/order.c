// order.c: signals that read each other (outputs of controllers, sensors), in an order in which each stands behind
// those that it reads. There are no circles: kd_model_finish refuses them.
#include "element/state.h"

// Depth first from each signal, with a stack of signals and of the variables that were looked at.
typedef struct walk {
    const kd_system *s;
    kd_slot_kind     kind;
    kd_expr *const  *expr; // (n); NULL: reads nothing
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

// The next signal that the one on top of the stack reads and that was not seen; -1: none
static int next_read(walk *w)
{
    const kd_expr *e = w->expr[w->stack[w->depth - 1]];
    for (int *i = &w->at[w->depth - 1]; e && *i < kd_expr_slot_count(e);) {
        kd_slot at = w->s->slot[kd_expr_slot(e, (*i)++)];
        if (at.kind == w->kind && !w->seen[at.index]) return at.index;
    }
    return -1;
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
    int       n = s->model->nstates;
    kd_expr **law = kd_arena_cut(&s->arena, (size_t)n, sizeof *law);
    // the order of states that are controllers; others read no output
    s->state_order = kd_cut_int(&s->arena, n);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < n; i++) law[i] = kd_states[s->model->state[i].def.kind]->output ? s->load[i].law[0] : NULL;
    return find_order(s, KD_SLOT_OUT, n, law, s->state_order) ? KD_OK : KD_ERR_MEMORY;
}

kd_status kd_system_order_signals(kd_system *s)
{
    int n = s->nsensors;
    s->sensor_order = kd_cut_int(&s->arena, n);
    s->sensor_slot = kd_cut_int(&s->arena, n);
    s->out_slot = kd_cut_int(&s->arena, s->model->nstates);
    s->next_slot = kd_cut_int(&s->arena, s->nslots);
    if (s->arena.failed || !find_order(s, KD_SLOT_SENSOR, n, s->sensor, s->sensor_order)) return KD_ERR_MEMORY;
    list_slots(s, KD_SLOT_SENSOR, n, s->sensor_slot, s->next_slot);
    list_slots(s, KD_SLOT_OUT, s->model->nstates, s->out_slot, s->next_slot);
    return KD_OK;
}
