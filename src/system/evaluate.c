// evaluate.c: one thread's evaluation of a system, stage by stage: position, velocity, acceleration, loads.
#include <math.h>
#include <string.h>

#include "math/linsolve.h"
#include "system/stiff_part.h"

// ---- workspace ------------------------------------------------------------------------------------------------------
static int channel_count(const kd_system *s)
{
    int n = 0;
    for (int i = 0; i < s->nloads; i++) n += s->load[i].nchannels;
    return n;
}

static int expr_work_size(const kd_system *s)
{
    int size = 0;
    for (int i = 0; i < s->nexprs; i++) {
        int n = kd_expr_work_size(s->expr[i]);
        if (n > size) size = n;
    }
    return size;
}

// Most terms of a row, entries of a load's Jacobian, arguments of a user element.
static int small_size(const kd_system *s)
{
    int size = 0;
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *l = &s->load[i];
        int            n = (l->nchannels + l->nstates) * (l->nvariables + 2) + 3 * l->nvariables;
        if (n > size) size = n;
    }
    for (int i = 0; i < s->nalgebraic; i++)
        if (s->equation[i].nvariables > size) size = s->equation[i].nvariables;
    for (int i = 0; i < s->nrows_g; i++)
        if (s->row_g[i].nterms > size) size = s->row_g[i].nterms;
    for (int i = 0; i < s->nrows_h; i++)
        if (s->row_h[i].nterms > size) size = s->row_h[i].nterms;
    return size;
}

// the most variables of one expression
static int gradient_size(const kd_system *s)
{
    int size = 0;
    for (int i = 0; i < s->nexprs; i++) {
        int n = kd_expr_slot_count(s->expr[i]);
        if (n > size) size = n;
    }
    return size;
}

// of a block without period
static int most_states(const kd_system *s)
{
    int most = 0;
    for (int i = s->model->nstates; i < s->ncontrollers; i++)
        if (s->load[i].nstates > most) most = s->load[i].nstates;
    return most;
}

// sizes as in kd_work of system.h
static void cut_arrays(kd_work *w)
{
    const kd_system *s = w->system;
    kd_arena        *arena = &w->arena;
    // coordinates of the tree, their rates and forces
    w->x = kd_cut_double(arena, s->tree.nposition);
    w->x_moved = kd_cut_double(arena, s->tree.nposition);
    w->rates = kd_cut_double(arena, s->tree.nposition);
    w->turn = kd_cut_double(arena, 2 * s->nturns);
    w->dx = kd_cut_double(arena, s->tree.ndof);
    w->ddx = kd_cut_double(arena, s->tree.ndof);
    w->tau = kd_cut_double(arena, s->tree.ndof);
    w->increment = kd_cut_double(arena, s->tree.ndof);
    w->joint_force = kd_cut_double(arena, s->tree.ndof);
    // loads of links; pairs of frames and what is measured between them
    w->load = kd_arena_cut(arena, (size_t)s->tree.nlinks, sizeof *w->load);
    w->rel = kd_arena_cut(arena, (size_t)s->npairs + 1, sizeof *w->rel); // one more: see vector.h
    w->pair_load = kd_arena_cut(arena, (size_t)s->npairs, sizeof *w->pair_load);
    w->value = kd_cut_double(arena, s->nmeasures);
    w->rate = kd_cut_double(arena, s->nmeasures);
    w->acceleration = kd_cut_double(arena, s->nmeasures);
    // variables of expressions, and workspace of laws
    w->slot = kd_cut_double(arena, s->nslots);
    w->jet = kd_arena_cut(arena, (size_t)s->nslots, sizeof *w->jet);
    w->road = kd_arena_cut(arena, (size_t)s->nloads, sizeof *w->road);
    w->expr_work = kd_cut_double(arena, expr_work_size(s));
    w->gradient = kd_cut_double(arena, gradient_size(s));
    w->out_weight = kd_cut_double(arena, s->out_at[s->ncontrollers]);
    w->unit_x = kd_cut_double(arena, most_states(s));
    w->small = kd_cut_double(arena, small_size(s));
    w->user = kd_cut_double(arena, small_size(s));
    // forces and rates of states
    w->force = kd_cut_double(arena, channel_count(s));
    w->force_at = kd_cut_int(arena, s->nloads + 1);
    w->b = kd_cut_double(arena, s->nr);
    // contacts
    w->xi = kd_cut_double(arena, s->nwheels);
    w->spread = kd_arena_cut(arena, (size_t)s->nwheels, sizeof *w->spread);
    w->touch = kd_arena_cut(arena, (size_t)s->ntouches, sizeof *w->touch);
    w->touched = kd_arena_cut(arena, 2 * (size_t)s->ntouches, sizeof *w->touched);
    w->t_touched = NAN;
    w->passing = kd_arena_cut(arena, 2 * (size_t)s->ntouches, sizeof *w->passing);
    w->t_passing = NAN;
    for (int i = 0; w->touch && w->rel && i < s->ntouches; i++) w->rel[s->touch[i].pair].touch = &w->touch[i];
    w->rotation = kd_arena_cut(arena, (size_t)s->nrotations, sizeof *w->rotation);
    for (int i = 0; w->rotation && w->rel && i < s->nrotations; i++) w->rel[s->rotation[i]].turn = &w->rotation[i];
    // sensors, discrete values
    w->sensor = kd_cut_double(arena, s->nsensors);
    w->z_start = kd_cut_double(arena, s->nz);
    w->setting = kd_cut_double(arena, KD_MAX_SETTINGS * s->model->nevents);
}

// Columns of the pairs are needed for derivatives and constraint matrices.
static void cut_changes(kd_work *w)
{
    const kd_system *s = w->system;
    int              n = 0;
    w->change_at = kd_cut_int(&w->arena, s->npairs + 1);
    if (!w->change_at) return;
    // columns of pair i start at change_at[i]
    for (int i = 0; i < s->npairs; i++) {
        w->change_at[i] = n;
        n += s->pair[i].nsteps;
    }
    w->change_at[s->npairs] = n;
    w->change = kd_arena_cut(&w->arena, (size_t)n, sizeof *w->change);
}

static bool create_motion(kd_work *w)
{
    const kd_system *s = w->system;
    // a second motion for oplus, where counted angles are found at moved positions
    if (kd_motion_create(&s->tree, &w->arena, &w->motion) != KD_OK) return false;
    return s->nturns == 0 || kd_motion_create(&s->tree, &w->arena, &w->moved) == KD_OK;
}

// Start values have no equations for them: they stay where the search of the equations begins
static void fill_algebraic(kd_work *w)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nslots && s->for_start; i++)
        if (s->slot[i].kind == KD_SLOT_W) w->slot[i] = s->model->algebraic[s->slot[i].index].def.start;
}

kd_work *kd_work_create(const kd_system *s)
{
    kd_work *w = kd_alloc(sizeof *w);
    if (!w) return NULL;
    w->system = s;
    w->generation = s->generation;
    // motion and arrays first: matrices and what watches a step are cut behind them
    bool made = create_motion(w);
    cut_arrays(w);
    cut_changes(w);
    bool whole = s->planned && s->dense_tree && !s->for_start; // otherwise there is no Jacobian to take a part of
    made = made && kd_breaks_create(s, &w->arena, &w->breaks) && kd_enclosure_create(s, &w->arena, &w->enclosure) &&
           kd_unseen_cut(s, &w->arena, &w->unseen);
    made = made && kd_work_cut_invariants(w);
    made = made && !w->arena.failed && kd_work_matrices(w) &&
           (!whole || (kd_stiff_part_create(s, &w->arena, &w->stiff) && kd_stiff_states_create(w)));
    if (!made) {
        kd_work_destroy(w);
        return NULL;
    }
    for (int i = 0; i < s->nloads; i++) w->force_at[i + 1] = w->force_at[i] + s->load[i].nchannels;
    kd_system_start_z(s, 0.0, w->z_start);
    fill_algebraic(w);
    return w;
}

void kd_work_destroy(kd_work *w)
{
    if (!w) return;
    kd_sparse_lu_destroy(w->kkt_lu);
    kd_twin_destroy(w->twin);
    kd_implicit_body_destroy(w->implicit);
    kd_arena_release(&w->arena);
    kd_free(w);
}

// ---- discrete states ------------------------------------------------------------------------------------------------
static void fill_z(kd_work *w, const double *z, int first, int end)
{
    const kd_system *s = w->system;
    // discrete states: constant between instants, so their jets have no rates
    for (int k = first; k < end; k++) {
        const int i = s->z_slot[k];
        w->slot[i] = z[s->slot[i].index];
        w->jet[i] = kd_jet_const(w->slot[i]);
    }
}

// ---- dofs -----------------------------------------------------------------------------------------------------------
void kd_work_time(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    if (w->time_stamp == x->time_stamp) return;
    if (w->generation != s->generation) kd_work_renew(w);
    w->time_stamp = x->time_stamp;
    w->t = x->t;
    for (int k = 0; k < s->ntime_slots; k++) { // variables that do not depend on the state
        const int     i = s->time_slot[k];
        const kd_slot at = s->slot[i];
        w->jet[i] = at.kind == KD_SLOT_TIME
                        ? (kd_jet){.x = x->t, .x1 = 1.0}
                        : (kd_jet){.x = x->u[at.index], .x1 = x->du[at.index], .x2 = x->ddu[at.index]};
        w->slot[i] = w->jet[i].x;
    }
    fill_z(w, x->z, 0, s->nz_slots);
    // prescribed dofs: x, x', x'' by the jet of their function
    for (int i = 0; i < s->ndrives; i++) {
        const int      k = s->drive[i];
        double         still;
        const kd_jet   q = kd_expr_is_constant(s->motion[k], &still) ? kd_jet_const(still)
                                                                     : kd_expr_jet(s->motion[k], w->jet, w->expr_work);
        const kd_link *link = &s->tree.link[s->tree.dof_link[k]];
        w->x[link->position + k - link->dof] = q.x + (x->drive_shift ? x->drive_shift[i] : 0);
        w->dx[k] = q.x1;
        w->ddx[k] = q.x2;
    }
}

// p into the coordinates that are not prescribed
static void place_coordinates(const kd_system *s, const double *p, double *x)
{
    const int n = s->np - s->nturns;
    if (n == s->tree.nposition)
        memcpy(x, p, (size_t)n * sizeof *x);
    else
        for (int i = 0; i < n; i++) x[s->x_of_p[i]] = p[i];
}

// v into the dofs that are not prescribed
static void spread(const kd_system *s, const double *v, double *dx)
{
    if (!s->prescribed)
        memcpy(dx, v, (size_t)s->tree.nv * sizeof *dx);
    else
        for (int i = 0; i < s->tree.nv; i++) dx[s->tree.v_dof[i]] = v[i];
}

// ---- measures -------------------------------------------------------------------------------------------------------
static const kd_tangent no_tangent;

double kd_work_acceleration_of(const kd_work *w, int measure)
{
    const kd_measure *m = &w->system->measure[measure];
    return m->kind == KD_MEASURE_DOF ? w->ddx[m->dof] : kd_measure_jet(m, &w->rel[m->pair], &no_tangent, NAN).x2;
}

static void fill_accelerations(kd_work *w, int first, int end)
{
    for (int i = first; i < end; i++) w->acceleration[i] = kd_work_acceleration_of(w, i);
}

// Variables of rows, slots first .. end - 1, from the measures at a level: 0 position, 1 velocity, 2 acceleration. Rows read
// jets, all others values: those of a level below get their derivative, first or second
static void fill_jets(kd_work *w, int level, const double *known, int first, int end)
{
    const kd_system *s = w->system;
    for (int below = 0; below <= level; below++) {
        const kd_filled *f = &s->filled[below];
        for (int k = f->before[first]; k < f->before[end]; k++) {
            const double y = known[f->index[k]];
            kd_jet      *jet = &w->jet[f->slot[k]];
            if (below == level) {
                w->slot[f->slot[k]] = y;
                *jet = (kd_jet){.x = y};
            } else if (below == level - 1) {
                jet->x1 = y;
            } else {
                jet->x2 = y;
            }
        }
    }
}

// Variables of a list in slots first .. end - 1
static void fill_list(kd_work *w, const kd_filled *f, const double *known, int first, int end)
{
    if (first >= end) return;
    for (int k = f->before[first]; k < f->before[end]; k++) w->slot[f->slot[k]] = known[f->index[k]];
}

static void fill_slots(kd_work *w, int level, int first, int end)
{
    const kd_system *s = w->system;
    const double    *known = level == 0 ? w->value : level == 1 ? w->rate : w->acceleration;
    const int        rows = s->upto[KD_FOR_ROWS].slots;
    // variables of rows come first and have jets; behind them only values of this level
    if (first < rows) {
        fill_jets(w, level, known, first, rows);
        first = rows;
    }
    fill_list(w, &s->filled[level], known, first, end);
}

// Outputs of a block without period in the variables from this one on; without value they are no numbers, and its load tells why
static void show_unit(kd_work *w, const kd_load *unit, int slot)
{
    const kd_system *s = w->system;
    const double    *y;
    const bool       known = kd_unit_outputs(unit, w->slot, w, &y) == KD_EVAL_OK;
    for (; slot >= 0; slot = s->next_slot[slot]) w->slot[slot] = known ? y[s->slot[slot].level] : NAN;
}

// Outputs of controllers that somebody reads
static void fill_outputs(kd_work *w, const double *r)
{
    const kd_system *s = w->system;
    // each behind those that it reads: kp input + ki r
    for (int k = 0; k < s->ncontrollers; k++) {
        const kd_load *pi = &s->load[s->state_order[k]];
        int            slot = s->out_slot[s->state_order[k]];
        if (slot < 0) continue;
        if (pi->unit) {
            show_unit(w, pi, slot);
            continue;
        }
        double out = pi->feed[0] * kd_expr_value(pi->law[0], w->slot, w->expr_work) + pi->feed[1] * r[pi->state];
        for (; slot >= 0; slot = s->next_slot[slot]) w->slot[slot] = out;
    }
}

static void fill_states(kd_work *w, const double *r, int first, int end)
{
    fill_list(w, &w->system->filled[KD_FILLED_STATES], r, first, end);
    fill_outputs(w, r);
}

// Where wheels touch their rails: unknowns of the equations, or found here. Without s (start values) all are found.
static void find_contacts(kd_work *w, const double *contact)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nwheels; i++) {
        const kd_wheel *wheel = &s->wheel[i];
        double          in[KD_WHEEL_INPUTS];
        // rigid motion of the wheel against its rail
        for (int k = 0; k < KD_WHEEL_INPUTS; k++) in[k] = w->slot[wheel->slot[k]];
        if (wheel->elastic) {
            kd_wheel_spread_at(wheel, in, &w->spread[i]);
            w->xi[i] = w->spread[i].mean;
        } else if (wheel->unknown && contact)
            w->xi[i] = contact[wheel->contact];
        else
            w->xi[i] = kd_wheel_solve(wheel, in);
        // no contact where they are: the nominal point, so that the iteration has a start
        if (wheel->unknown && isnan(w->xi[i])) w->xi[i] = kd_wheel_nominal(wheel);
    }
}

static void fill_contacts(kd_work *w, int first, int end)
{
    const kd_system *s = w->system;
    for (int i = first; s->nwheels > 0 && i < end; i++)
        if (s->slot[i].kind == KD_SLOT_CONTACT) w->slot[i] = w->xi[s->slot[i].index];
}

// multipliers that creep forces read; 0 for start values and for rows that were left out
static void fill_multipliers(kd_work *w, const double *lambda)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nslots; i++) {
        if (s->slot[i].kind != KD_SLOT_LAMBDA) continue;
        int place = s->wheel[s->slot[i].index].lambda;
        w->slot[i] = place >= 0 && lambda ? lambda[place] : 0.0;
    }
}

// controllers may read them, too
static void fill_auxiliary(kd_work *w, const double *auxiliary, const double *r, const double *lambda)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nslots; i++)
        if (s->slot[i].kind == KD_SLOT_W) w->slot[i] = auxiliary ? auxiliary[s->slot[i].index] : 0.0;
    for (int i = 0; s->holds && i < s->nslots; i++)
        if (s->slot[i].kind == KD_SLOT_HOLD) w->slot[i] = kd_row_hold(s, s->slot[i].index, lambda);
    if (s->nalgebraic > 0) fill_outputs(w, r);
}

// Where the surfaces of pairs first to end - 1 touch
static void find_touches(kd_work *w, int first, int end)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->ntouches; i++)
        if (s->touch[i].pair >= first && s->touch[i].pair < end)
            kd_touch_find(&s->touch[i], &w->rel[s->touch[i].pair], &w->touch[i]);
}

// Rotation vectors of pairs first to end - 1
static void find_rotations(kd_work *w, int first, int end)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nrotations; i++)
        if (s->rotation[i] >= first && s->rotation[i] < end) kd_rotation_find(&w->rel[s->rotation[i]], &w->rotation[i]);
}

// ---- stages ---------------------------------------------------------------------------------------------------------
static const kd_counts nothing;

// rows: for values of rows alone, which may not need all links; the others are placed when somebody asks for more
__attribute__((noinline)) static void position_upto(kd_work *w, const kd_point *x, kd_extent extent, bool rows)
{
    const kd_system *s = w->system;
    const kd_counts  upto = s->upto[extent];
    const bool new = w->position_stamp != x->position_stamp;
    // another position: nothing of later stages holds
    if (new) {
        w->position_stamp = x->position_stamp;
        w->placed = w->moved_to = w->accelerated = nothing;
        kd_work_time(w, x);
        place_coordinates(s, x->p, w->x);
        w->left = rows && s->nplaced > 0;
        if (w->left)
            kd_tree_place_some(&s->tree, w->x, s->nplaced, s->placed, true, &w->motion);
        else
            kd_tree_place(&s->tree, w->x, &w->motion);
    } else if (w->left && !rows) {
        kd_tree_place_some(&s->tree, w->x, s->nleft, s->left, false, &w->motion);
        w->left = false;
    }
    // as far as extent asks and not yet done: pairs, measures, variables
    const kd_counts from = w->placed;
    if (!new &&from.slots >= upto.slots && from.pairs >= upto.pairs) return;
    for (int i = from.pairs; i < upto.pairs; i++) kd_pair_place(&s->pair[i], &w->motion, &w->rel[i]);
    find_touches(w, from.pairs, upto.pairs);
    find_rotations(w, from.pairs, upto.pairs);
    kd_work_fill_values(w, x->p, from.measures, upto.measures);
    fill_slots(w, 0, from.slots, upto.slots);
    if (new && s->nwheels > 0) find_contacts(w, x->s);
    fill_contacts(w, from.slots, upto.slots);
    w->placed = upto;
}

void kd_work_position(kd_work *w, const kd_point *x, kd_extent extent)
{
    position_upto(w, x, extent, false);
}

void kd_work_position_of_rows(kd_work *w, const kd_point *x)
{
    position_upto(w, x, KD_FOR_ROWS, true);
}

void kd_work_velocity(kd_work *w, const kd_point *x, kd_extent extent)
{
    const kd_system *s = w->system;
    const kd_counts  upto = s->upto[extent];
    const bool new = w->velocity_stamp != x->velocity_stamp;
    kd_work_position(w, x, extent);
    // another velocity: dx of all dofs, links move; then pairs, measures, variables as far as asked
    if (new) {
        w->velocity_stamp = x->velocity_stamp;
        w->moved_to = nothing;
        spread(s, x->v, w->dx);
        kd_tree_move(&s->tree, w->dx, &w->motion);
    }
    const kd_counts from = w->moved_to;
    if (!new &&from.slots >= upto.slots && from.pairs >= upto.pairs) return;
    for (int i = from.pairs; i < upto.pairs; i++) kd_pair_move(&s->pair[i], &w->motion, &w->rel[i]);
    kd_work_fill_rates(w, from.measures, upto.measures);
    fill_slots(w, 1, from.slots, upto.slots);
    if (extent >= KD_FOR_FORCES) fill_states(w, x->r, from.slots, upto.slots);
    w->moved_to = upto;
}

void kd_work_dofs(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    // without moving the tree: coordinates of joints are dofs
    kd_work_time(w, x);
    place_coordinates(s, x->p, w->x);
    spread(s, x->v, w->dx);
    for (int i = 0; i < s->upto[KD_FOR_LOADS].measures; i++) {
        if (s->measure[i].kind != KD_MEASURE_DOF) continue;
        w->value[i] = kd_work_dof_value(w, s->measure[i].dof);
        w->rate[i] = w->dx[s->measure[i].dof];
    }
}

static kd_vec3 gravity_of(const kd_system *s)
{
    return kd_vec_of(s->model->gravity);
}

// Accelerations of the links alone
void kd_work_accelerate_links(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    if (w->link_acceleration_stamp == x->acceleration_stamp) return;
    kd_work_velocity(w, x, KD_FOR_ROWS);
    w->link_acceleration_stamp = x->acceleration_stamp;
    spread(s, x->a, w->ddx);
    kd_tree_accelerate(&s->tree, w->dx, w->ddx, gravity_of(s), &w->motion);
}

void kd_work_acceleration(kd_work *w, const kd_point *x, kd_extent extent)
{
    const kd_system *s = w->system;
    const kd_counts  upto = s->upto[extent];
    const bool new = w->acceleration_stamp != x->acceleration_stamp;
    kd_work_velocity(w, x, extent);
    kd_work_accelerate_links(w, x);
    // links have their accelerations; pairs and measures follow as far as asked
    if (new) {
        w->acceleration_stamp = x->acceleration_stamp;
        w->accelerated = nothing;
    }
    const kd_counts from = w->accelerated;
    if (!new &&from.slots >= upto.slots && from.pairs >= upto.pairs) return;
    for (int i = from.pairs; i < upto.pairs; i++) kd_pair_accelerate(&s->pair[i], &w->motion, &w->rel[i]);
    fill_accelerations(w, from.measures, upto.measures);
    fill_slots(w, 2, from.slots, upto.slots);
    w->accelerated = upto;
}

kd_eval kd_work_loads(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_work_velocity(w, x, KD_FOR_FORCES);
    // loads belong to the velocity, or to the multipliers that they read
    unsigned long stamp = s->late ? x->acceleration_stamp : x->velocity_stamp;
    if (w->load_stamp == stamp) return KD_EVAL_OK;
    // variables that come from later stages, then all laws
    if (s->by_multipliers) fill_multipliers(w, x->lambda);
    if (s->nw > 0) fill_auxiliary(w, x->w, x->r, x->lambda);
    const kd_eval answer = s->nplain > 0 ? kd_work_eval_loads(w) : KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < s->nmodal; i++)
        kd_modal_forces(&s->modal[i], w->x, w->dx, w->force + w->force_at[s->modal[i].first]);
    w->load_stamp = stamp;
    return KD_EVAL_OK;
}

bool kd_work_show(kd_work *w, const kd_point *x, const double *z, int first, int end)
{
    // only if somebody reads these places; controllers may read them
    const int *at = w->system->z_slot_at;
    if (at[first] == at[end]) return false;
    fill_z(w, z, at[first], at[end]);
    fill_outputs(w, x->r);
    return true;
}

void kd_work_forget(kd_work *w)
{
    w->time_stamp = w->position_stamp = w->velocity_stamp = w->acceleration_stamp = w->link_acceleration_stamp = 0;
    w->tau_stamp = 0;
}

// ---- forces on the links --------------------------------------------------------------------------------------------

// without pairs that loads act between nothing is written there
static bool has_link_loads(const kd_system *s)
{
    return s->upto[KD_FOR_LOADS].pairs > 0;
}

void kd_work_clear_forces(kd_work *w)
{
    const kd_system *s = w->system;
    if (has_link_loads(s)) memset(w->load, 0, (size_t)s->tree.nlinks * sizeof *w->load);
    memset(w->joint_force, 0, (size_t)s->tree.ndof * sizeof *w->joint_force);
    memset(w->pair_load, 0, (size_t)s->upto[KD_FOR_LOADS].pairs * sizeof *w->pair_load);
}

void kd_work_apply_loads(kd_work *w)
{
    const kd_system *s = w->system;
    kd_work_apply_channels(w);
    // modes: one channel each, along their dofs
    for (int i = 0; i < s->nmodal; i++) {
        const kd_modal *modal = &s->modal[i];
        const double   *force = w->force + w->force_at[modal->first];
        for (int l = 0; l < modal->m; l++) w->joint_force[modal->dof + l] += force[l];
    }
}

// multipliers of 0 exert nothing: rows that are not active
void kd_work_apply_rows(kd_work *w, const double *lambda, const double *mu)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->nlambda; i++)
        if (lambda[i] != 0.0) kd_row_apply(&s->row_g[s->kept[i]], false, w, lambda[i]);
    for (int i = 0; i < s->nmu; i++)
        if (mu[i] != 0.0) kd_row_apply(&s->row_h[i], true, w, mu[i]);
}

void kd_work_spread_forces(kd_work *w)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->upto[KD_FOR_LOADS].pairs; i++)
        kd_pair_load(&s->pair[i], &w->motion, &w->rel[i], &w->pair_load[i], w->load);
}

kd_eval kd_work_residual(kd_work *w, const kd_point *x)
{
    w->tau_stamp = 0;
    kd_work_accelerate_links(w, x);
    kd_eval answer = kd_work_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    // forces and rows summed up by pair, spread to the links, then tau of the tree less forces along dofs
    kd_work_clear_forces(w);
    kd_work_apply_loads(w);
    kd_work_apply_rows(w, x->lambda, x->mu);
    kd_work_spread_forces(w);
    kd_tree_residual(&w->system->tree, &w->motion, w->load, w->tau);
    for (int k = 0; k < w->system->tree.ndof; k++) w->tau[k] -= w->joint_force[k];
    return KD_EVAL_OK;
}

// The motion's accelerations are overwritten: the stamp goes.
bool kd_work_explicit(kd_work *w, const kd_point *x, int *bad)
{
    const kd_system *s = w->system;
    // all but inertia as loads on links and dofs
    kd_work_clear_forces(w);
    kd_work_apply_loads(w);
    kd_work_apply_rows(w, x->lambda, x->mu);
    kd_work_spread_forces(w);
    w->acceleration_stamp = w->link_acceleration_stamp = 0;
    const kd_wrench *load = has_link_loads(s) ? w->load : NULL;
    return kd_tree_explicit(&s->tree, &w->motion, w->dx, gravity_of(s), load, w->joint_force, w->ddx, bad);
}
