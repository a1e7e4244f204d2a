// unseen_laws.c: the laws in which something may hide from a step: all expressions that the motion depends on, and the
// elements that tell bounds of their forces. Method: docs/methods/intervals.md
//
// A law is taken apart into the terms of its sum (kd_expr_terms); those that are polynomials of low degree are left
// out. Its variables are listed with those of the controllers that it reads.
#include "system/unseen.h"

#include <math.h>

#include "element/force.h"

// Times, coordinates and states move smoothly; inputs and outputs of controllers have laws of their own.
static bool is_smooth(int slot, const void *context)
{
    const kd_system *s = context;
    switch (s->slot[slot].kind) {
    case KD_SLOT_INPUT:
    case KD_SLOT_OUT:
        return false;
    default:
        return true;
    }
}

static bool has_slot(const kd_law *law, int slot)
{
    for (int i = 0; i < law->nslots; i++)
        if (law->slot[i] == slot) return true;
    return false;
}

static void add_slot(kd_law *law, int slot)
{
    if (!has_slot(law, slot)) law->slot[law->nslots++] = slot;
}

static void add_slots_of(kd_law *law, const kd_expr *e)
{
    for (int i = 0; e && i < kd_expr_slot_count(e); i++) add_slot(law, kd_expr_slot(e, i));
}

static bool reads_output(const kd_system *s, const kd_law *law, int load)
{
    for (int slot = s->out_slot ? s->out_slot[load] : -1; slot >= 0; slot = s->next_slot[slot])
        if (has_slot(law, slot)) return true;
    return false;
}

// Controllers whose outputs it reads, and what they read: from the last of their order to the first
static void add_controllers(const kd_system *s, kd_law *law)
{
    for (int k = s->ncontrollers - 1; k >= 0; k--) {
        const int load = s->state_order[k];
        if (!reads_output(s, law, load)) continue;
        law->pi[law->npi++] = load;
        add_slots_of(law, s->load[load].law[0]);
    }
    for (int k = 0; k < law->npi / 2; k++) { // those first that others read
        const int kept = law->pi[k];
        law->pi[k] = law->pi[law->npi - 1 - k];
        law->pi[law->npi - 1 - k] = kept;
    }
}

// The variables of a law, those of controllers that it reads among them
static bool add_slots(kd_system *s, kd_law *law, const kd_expr *e, const kd_load *load)
{
    int n = (e ? kd_expr_slot_count(e) : 0) + (load ? load->nvariables : 0);
    for (int k = 0; k < s->ncontrollers; k++)
        if (s->load[k].law[0]) n += kd_expr_slot_count(s->load[k].law[0]);
    law->slot = kd_cut_int(&s->arena, n);
    law->pi = kd_cut_int(&s->arena, s->ncontrollers);
    if (s->arena.failed) return false;
    add_slots_of(law, e);
    for (int i = 0; load && i < load->nvariables; i++) add_slot(law, load->variable[i]);
    add_controllers(s, law);
    law->of_time = true;
    for (int i = 0; i < law->nslots; i++) {
        const kd_slot at = s->slot[law->slot[i]];
        law->of_time = law->of_time && (at.kind == KD_SLOT_TIME || at.kind == KD_SLOT_INPUT);
        if (at.kind != KD_SLOT_MEASURE) continue;
        s->laws_of_motion = true;
        s->laws_of_places = s->laws_of_places || s->measure[at.index].kind != KD_MEASURE_DOF;
    }
    return true;
}

// Does an expression read outputs of a block without period, also through controllers? They have no ranges
static bool reads_unit(kd_system *s, const kd_expr *e)
{
    for (int i = 0; e && i < kd_expr_slot_count(e); i++) {
        const kd_slot at = s->slot[kd_expr_slot(e, i)];
        if (at.kind != KD_SLOT_OUT) continue;
        kd_load *load = &s->load[at.index];
        // each controller is asked once: chains of them, each with the two before, have 2^n ways
        if (load->by_unit == KD_BY_UNIT_UNKNOWN)
            load->by_unit = load->unit || reads_unit(s, load->law[0]) ? KD_BY_UNIT : KD_BY_NO_UNIT;
        if (load->by_unit == KD_BY_UNIT) return true;
    }
    return false;
}

static kd_status add_law(kd_system *s, int *capacity, kd_law law, const kd_load *of_bounds, double *work)
{
    if (reads_unit(s, law.expr ? law.expr : of_bounds->law[0])) return KD_OK; // kd_system_unsearched names the block
    const bool   is_even = of_bounds && (of_bounds->class->is_even || law.on_file);
    kd_expr_term term[KD_LAW_TERMS] = {{0, 1.0, !is_even, false, false}};
    const int    n = law.expr ? kd_expr_terms(law.expr, is_smooth, s, work, term, KD_LAW_TERMS) : 1;
    if (n == 0 && !(law.expr && kd_expr_has_parameters(law.expr))) return KD_OK;
    law.nterms = n;
    law.room = law.expr && kd_expr_has_parameters(law.expr) ? KD_LAW_TERMS : n;
    law.term = kd_arena_cut(&s->arena, (size_t)law.room, sizeof *law.term);
    if (!law.term || !add_slots(s, &law, law.expr ? law.expr : of_bounds->law[0], of_bounds)) return KD_ERR_MEMORY;
    for (int i = 0; i < n; i++) law.term[i] = term[i];
    kd_law *grown = kd_grow(s->law, s->nlaws, capacity, sizeof *grown);
    if (!grown) return KD_ERR_MEMORY;
    s->law = grown;
    law.box = s->nlaws > 0 ? s->law[s->nlaws - 1].box + s->law[s->nlaws - 1].nboxes : 0;
    law.nboxes = law.nslots + law.npi;
    s->law[s->nlaws++] = law;
    return KD_OK;
}

// Factors and terms again, for other values of parameters
void kd_system_set_laws(kd_system *s)
{
    kd_expr_term term[KD_LAW_TERMS];
    for (int i = 0; i < s->nlaws; i++) {
        kd_law *law = &s->law[i];
        if (!law->expr) continue;
        if (law->load && law->load->class->factor) law->factor = law->load->class->factor(law->load);
        const int n = kd_expr_terms(law->expr, is_smooth, s, s->expr_work, term, KD_LAW_TERMS);
        law->nterms = n < law->room ? n : law->room;
        for (int k = 0; k < law->nterms; k++) law->term[k] = term[k];
    }
}

// What a law of a load does: a force along a channel, the rate of a state, or (valve, inflow) more than is known
static kd_law law_of_load(const kd_load *load, int i)
{
    kd_law law = {.name = load->name, .expr = load->law[i], .load = load, .factor = 1.0};
    law.effect = load->class->effect;
    if (law.effect == KD_EFFECT_RATE)
        law.state = load->state;
    else if (load->nchannels == 0)
        law.effect = KD_EFFECT_VALUE;
    else if (law.effect == KD_EFFECT_FORCE)
        law.measure = load->channel[i < load->nchannels ? i : 0];
    if (load->class->factor) law.factor = load->class->factor(load);
    return law;
}

static kd_status add_load(kd_system *s, const kd_load *load, int *capacity, double *work)
{
    kd_status status = KD_OK;
    if (load->class->bounds)
        status =
            add_law(s, capacity, (kd_law){.name = load->name, .load = load, .measure = load->channel[0], .factor = 1.0},
                    load, work);
    // a road from a file: its elevation times the stiffness
    const kd_interval anywhere =
        load->class->elevation ? load->class->elevation(load, NULL, NULL) : (kd_interval){0, 0};
    if (anywhere.lower < anywhere.upper && status == KD_OK) {
        kd_law law = {.name = load->name, .load = load, .measure = load->channel[0], .factor = 1.0, .on_file = true};
        if (load->class->factor) law.factor = load->class->factor(load);
        status = add_law(s, capacity, law, load, work);
    }
    for (int i = 0; i < 6 && status == KD_OK; i++)
        if (load->law[i]) status = add_law(s, capacity, law_of_load(load, i), NULL, work);
    return status;
}

static kd_status add_rows(kd_system *s, const kd_row *row, int n, int *capacity, double *work)
{
    kd_status status = KD_OK;
    for (int i = 0; i < n && status == KD_OK; i++) {
        const kd_expr *const of[] = {row[i].target, row[i].expr};
        for (int k = 0; k < 2 && status == KD_OK; k++)
            if (of[k])
                status = add_law(s, capacity,
                                 (kd_law){.name = row[i].name, .expr = of[k], .effect = KD_EFFECT_VALUE, .factor = 1.0},
                                 NULL, work);
    }
    return status;
}

const char *kd_unseen_motion_name(const kd_system *s, int dof)
{
    for (int j = 0; j < s->model->njoints; j++)
        if (s->edge[j].link == s->tree.dof_link[dof]) return s->model->joint[j].name;
    return "motion";
}

static kd_status add_all(kd_system *s, int *capacity, double *work)
{
    kd_status status = KD_OK;
    for (int i = 0; i < s->nloads && status == KD_OK; i++) status = add_load(s, &s->load[i], capacity, work);
    for (int i = 0; i < s->nalgebraic && status == KD_OK; i++) {
        const kd_load *e = &s->equation[i];
        status =
            add_law(s, capacity, (kd_law){.name = e->name, .expr = e->law[0], .effect = KD_EFFECT_VALUE, .factor = 1.0},
                    NULL, work);
    }
    if (status == KD_OK) status = add_rows(s, s->row_g, s->nrows_g, capacity, work);
    if (status == KD_OK) status = add_rows(s, s->row_h, s->nrows_h, capacity, work);
    for (int i = 0; s->motion && i < s->tree.ndof && status == KD_OK; i++)
        if (s->motion[i])
            status = add_law(s, capacity,
                             (kd_law){.name = kd_unseen_motion_name(s, i),
                                      .expr = s->motion[i],
                                      .effect = KD_EFFECT_VALUE,
                                      .factor = 1.0},
                             NULL, work);
    return status;
}

kd_status kd_system_list_laws(kd_system *s)
{
    int size = 0, capacity = 0;
    for (int i = 0; i < s->nexprs; i++)
        size = kd_expr_work_size(s->expr[i]) > size ? kd_expr_work_size(s->expr[i]) : size;
    double *work = kd_alloc((size_t)(size > 0 ? size : 1) * sizeof *work);
    if (!work) return KD_ERR_MEMORY;
    kd_status status = s->for_start ? KD_OK : add_all(s, &capacity, work);
    kd_free(work);
    return status;
}

// Elements written in C and blocks without period tell nothing about their laws.
const char *kd_system_unsearched(int i, void *context)
{
    const kd_system *s = context;
    for (int k = 0; k < s->nloads; k++)
        if ((s->load[k].user || s->load[k].unit) && i-- == 0) return s->load[k].name;
    return NULL;
}

kd_interval kd_law_bounds(const kd_law *law, const kd_interval *x, kd_work *w)
{
    const kd_load_class *c = law->load->class;
    return law->on_file ? c->elevation(law->load, x, w) : c->bounds(law->load, x, w);
}

// Nothing is known about the motion from here on.
void kd_unseen_forget(const kd_system *s, kd_unseen_work *u)
{
    for (int i = 0; i < s->nlaws; i++) u->box_limit[i] = -1.0, u->until[i] = -INFINITY;
    u->drive_until = -INFINITY;
}

bool kd_unseen_cut(const kd_system *s, kd_arena *arena, kd_unseen_work *u)
{
    // both ends of a step
    for (int i = 0; i < 2 && s->nlaws > 0; i++) {
        u->end[i].state = kd_cut_double(arena, s->np + s->nv + s->nr);
        u->end[i].value = kd_cut_double(arena, s->nmeasures);
        u->end[i].rate = kd_cut_double(arena, s->nmeasures);
        u->end[i].u = kd_cut_double(arena, 2 * s->model->ninputs);
    }
    // effects of laws, and pauses
    u->mobility = kd_cut_double(arena, s->nlaws);
    u->speed = kd_cut_double(arena, s->nlaws);
    u->pause = kd_cut_int(arena, s->nlaws);
    // ranges of terms, boxes
    u->term = kd_arena_cut(arena, 2 * KD_LAW_TERMS, sizeof *u->term);
    const int boxes = s->nlaws > 0 ? s->law[s->nlaws - 1].box + s->law[s->nlaws - 1].nboxes : 0;
    u->box = kd_arena_cut(arena, (size_t)boxes + 1, sizeof *u->box);
    u->box_limit = kd_cut_double(arena, s->nlaws);
    u->box_share = kd_cut_double(arena, s->nlaws);
    u->box_step = kd_cut_double(arena, s->nlaws);
    // jumps, and times that are clear
    u->crossed = kd_arena_cut(arena, 2 * (size_t)s->nlaws, sizeof *u->crossed);
    u->until = kd_cut_double(arena, s->nlaws);
    u->reach = kd_cut_double(arena, s->nlaws);
    u->drive_jet = kd_arena_cut(arena, (size_t)(KD_DRIVE_NODES * (s->ndrives + s->nrows_g)), sizeof *u->drive_jet);
    u->wait = kd_cut_int(arena, s->nlaws);
    u->waited = kd_cut_int(arena, s->nlaws);
    if (!arena->failed) kd_unseen_forget(s, u);
    if (!kd_unseen_cut_turns(s, arena, u)) return false;
    u->mass = kd_cut_double(arena, s->nlaws > 0 && s->tree.column ? s->tree.column[s->nv] : 0);
    return !arena->failed;
}
