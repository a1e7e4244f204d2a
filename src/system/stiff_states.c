// stiff_states.c: derivatives of the residual by inner states and of their rates, of the stiff loads only: what a step in
// real time needs beside stiff_part.c. A system has few states and many loads, and only loads that have states or read
// some are asked here; only the pairs that these read get columns.
//
// With s_k' the slopes of channel k and the Jacobian J of a load by its variables x_j (forces first, then rates of states)
//
//     residual_r -= s_k J_kj   (x_j a state)      b_r += J_ij   (x_j a state)      b_p, b_v += J_ij times the change of x_j
//
// in the order in which the assembly of all derivatives records these additions (derivatives.c).
#include <string.h>

#include "system/derivatives_impl.h"
#include "system/stiff_part.h"

// ---- structure ------------------------------------------------------------------------------------------------------

static bool is_state(const kd_system *s, const kd_load *load, int j)
{
    return s->slot[load->variable[j]].kind == KD_SLOT_STATE;
}

static bool reads_state(const kd_system *s, const kd_load *load)
{
    for (int j = 0; j < load->nvariables; j++)
        if (is_state(s, load, j)) return true;
    return false;
}

static bool concerns(const kd_system *s, const kd_load *load)
{
    return load->nstates > 0 || reads_state(s, load);
}

// Columns of a measure that are not prescribed
static int free_columns(const kd_work *w, int measure)
{
    const kd_measure *m = &w->system->measure[measure];
    int               n = 0;
    for (int l = 0; l < column_count(w, m); l++) n += column_v(w, m, l) >= 0;
    return n;
}

// How many additions a load makes
static void count_additions(const kd_work *w, const kd_load *load, int next[KD_STIFF_STATES])
{
    const kd_system *s = w->system;
    for (int j = 0; j < load->nvariables; j++) {
        const kd_slot at = s->slot[load->variable[j]];
        if (at.kind == KD_SLOT_MEASURE) {
            const int n = load->nstates * free_columns(w, at.index);
            next[KD_STIFF_B_P] += n;
            next[KD_STIFF_B_V] += at.level == 1 ? n : 0;
        } else if (is_state(s, load, j)) {
            for (int k = 0; k < load->nchannels; k++) next[KD_STIFF_R] += free_columns(w, load->channel[k]);
            next[KD_STIFF_B_R] += load->nstates;
        }
    }
}

// Measures whose slopes are needed: channels of what reads states, variables of what has some
static void mark_measures(const kd_system *s, const kd_load *load, bool *wanted)
{
    for (int k = 0; k < load->nchannels && reads_state(s, load); k++) wanted[load->channel[k]] = true;
    for (int j = 0; j < load->nvariables && load->nstates > 0; j++)
        if (s->slot[load->variable[j]].kind == KD_SLOT_MEASURE) wanted[s->slot[load->variable[j]].index] = true;
}

// The lists of measures and of their pairs; those of dofs have slopes for good
static void list_measures(kd_stiff_states *part, const kd_system *s, const bool *wanted)
{
    for (int i = 0; i < s->nmeasures; i++) {
        if (!wanted[i] || s->measure[i].kind == KD_MEASURE_DOF) continue;
        part->measure[part->nmeasures++] = i;
        bool known = false;
        for (int k = 0; k < part->npairs; k++) known = known || part->pair[k] == s->measure[i].pair;
        if (!known) part->pair[part->npairs++] = s->measure[i].pair;
    }
}

// The load in the list of stiff_part.c, if it is one of several pairs, whose derivatives are then always taken there; NULL: not
static kd_stiff_load *keep_derivatives(kd_work *w, int number)
{
    const kd_load *load = &w->system->load[number];
    for (int i = 0; i < w->stiff.nloads; i++) {
        kd_stiff_load *stiff = &w->stiff.load[i];
        if (stiff->number != number || stiff->pair >= 0) continue;
        stiff->kept = kd_cut_double(&w->arena, (load->nchannels + load->nstates) * load->nvariables);
        return stiff;
    }
    return NULL;
}

bool kd_stiff_states_create(kd_work *w)
{
    const kd_system            *s = w->system;
    kd_stiff_states            *part = &w->stiff_states;
    const kd_matrix_plan *const plan[KD_STIFF_STATES] = {&s->residual_r, &s->b_p, &s->b_v, &s->b_r};
    int                         next[KD_STIFF_STATES] = {0};
    bool                       *wanted = kd_arena_cut(&w->arena, (size_t)s->nmeasures, sizeof *wanted);
    part->load = kd_arena_cut(&w->arena, (size_t)s->nloads, sizeof *part->load);
    part->measure = kd_cut_int(&w->arena, s->nmeasures);
    part->pair = kd_cut_int(&w->arena, s->nmeasures);
    for (int i = 0; i < KD_STIFF_STATES; i++)
        part->matrix[i] =
            (kd_matrix_values){.plan = plan[i], .value = kd_cut_double(&w->arena, plan[i]->column[plan[i]->columns])};
    if (w->arena.failed) return false;
    // each load begins where those before it end, stiff or not
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *load = &s->load[i];
        if (!concerns(s, load)) continue;
        if (load->stiff) {
            kd_stiff_state_load *made = &part->load[part->nloads++];
            made->number = i;
            made->across = keep_derivatives(w, i);
            memcpy(made->next, next, sizeof next);
            mark_measures(s, load, wanted);
        }
        count_additions(w, load, next);
    }
    list_measures(part, s, wanted);
    return true;
}

// ---- values ---------------------------------------------------------------------------------------------------------

static void add_forces(kd_work *w, const kd_load *load, int state, const double *column)
{
    for (int k = 0; k < load->nchannels; k++) {
        const kd_measure *m = &w->system->measure[load->channel[k]];
        for (int i = 0; i < column_count(w, m); i++) {
            const int row = column_v(w, m, i);
            if (row >= 0) kd_matrix_add(&w->stiff_states.matrix[KD_STIFF_R], row, state, -column[k] * slope(w, m, i));
        }
    }
}

// rate of a state by a measure or its rate
static void add_rate(kd_work *w, kd_slot at, int row, double factor)
{
    kd_stiff_states  *part = &w->stiff_states;
    const kd_measure *x = &w->system->measure[at.index];
    for (int by_rate = 0; by_rate <= (at.level == 1); by_rate++)
        for (int l = 0; l < column_count(w, x); l++) {
            const int column = column_v(w, x, l);
            if (column >= 0)
                kd_matrix_add(&part->matrix[by_rate ? KD_STIFF_B_V : KD_STIFF_B_P], row, column,
                              factor * variable_change(w, x, at.level, l, by_rate));
        }
}

// stamp: of the loads; derivatives that stiff_part.c took there are not taken again
static kd_eval add_load(kd_work *w, const kd_stiff_state_load *stiff, unsigned long stamp)
{
    const kd_system *s = w->system;
    const kd_load   *load = &s->load[stiff->number];
    const int        rows = load->nchannels + load->nstates;
    const double    *J = w->small;
    if (stiff->across && stiff->across->kept_stamp == stamp) {
        J = stiff->across->kept;
    } else {
        memset(w->small, 0, (size_t)(rows * load->nvariables) * sizeof *w->small);
        const kd_eval answer = load->class->jacobian(load, w->slot, w, w->small);
        if (answer != KD_EVAL_OK) return answer;
    }
    for (int i = 0; i < KD_STIFF_STATES; i++) w->stiff_states.matrix[i].next = stiff->next[i];
    // variable by variable: forces by states, then rates of states
    for (int j = 0; j < load->nvariables; j++) {
        const kd_slot at = s->slot[load->variable[j]];
        const double *column = J + j * rows;
        const bool    state = is_state(s, load, j);
        if (state) add_forces(w, load, at.index, column);
        for (int k = 0; k < load->nstates; k++) {
            if (at.kind == KD_SLOT_MEASURE)
                add_rate(w, at, load->state + k, column[load->nchannels + k]);
            else if (state)
                kd_matrix_add(&w->stiff_states.matrix[KD_STIFF_B_R], load->state + k, at.index,
                              column[load->nchannels + k]);
        }
    }
    return KD_EVAL_OK;
}

kd_eval kd_work_stiff_states(kd_work *w, const kd_point *x)
{
    const kd_system    *s = w->system;
    kd_stiff_states    *part = &w->stiff_states;
    kd_eval             answer = kd_work_loads(w, x);
    const unsigned long stamp = s->late ? x->acceleration_stamp : x->velocity_stamp;
    if (answer != KD_EVAL_OK || part->stamp == stamp) return answer;
    // columns of the pairs, then slopes of the measures that are needed
    for (int k = 0; k < part->npairs; k++) {
        const int  i = part->pair[k];
        kd_change *columns = w->change + w->change_at[i];
        kd_pair_axes(&s->pair[i], &s->tree, &w->motion, &w->rel[i], columns);
        kd_pair_rates(&s->pair[i], &s->tree, &w->motion, &w->rel[i], w->dx, columns);
    }
    for (int k = 0; k < part->nmeasures; k++) kd_work_slope(w, part->measure[k]);
    for (int i = 0; i < KD_STIFF_STATES; i++) kd_matrix_start(&part->matrix[i]);
    part->stamp = 0;
    for (int i = 0; i < part->nloads && answer == KD_EVAL_OK; i++) answer = add_load(w, &part->load[i], stamp);
    if (answer == KD_EVAL_OK) part->stamp = stamp;
    return answer;
}
