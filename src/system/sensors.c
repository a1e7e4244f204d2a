// sensors.c: outputs: reactions of joints, multipliers, forces of elements and wheels as sensors read them.
#include "element/force.h"
#include "element/surfaces.h"
#include "flexible/stress.h"

// The load of a unit force along coordinate i of a joint; by tables: along the column that is the coordinate, if there is one
static void load_along(const kd_system *s, int joint, const kd_relative *rel, int i, kd_wrench *load)
{
    const kd_joint     *j = &s->model->joint[joint];
    const int           column = kd_joint_form_of(j->def.kind).curved ? kd_table_own_column(s->model, j) : -1;
    const kd_joint_form form = column >= 0 ? kd_joint_form_of(KD_CARDAN) : kd_model_joint_form(j);
    kd_joint_load(&form, &rel->C, rel->d, column >= 0 ? column : i, &load->N, &load->F);
}

// A joint of the tree: what its link needs (on the link at its P, world axes), less the forces of other elements along
// its coordinates (springs, friction, couplings).
static kd_wrench tree_reaction(const kd_work *w, int joint)
{
    const kd_system    *s = w->system;
    const kd_tree_edge *edge = &s->edge[joint];
    const kd_relative  *rel = &w->rel[edge->pair];
    const kd_wrench    *r = &w->motion.reaction[edge->link];
    const kd_joint_form form = kd_joint_form_of(s->model->joint[joint].def.kind);
    kd_vec3             arm = kd_vec_sub(w->motion.link[edge->link].P, rel->rB);
    double              sign = edge->reversed ? -1.0 : 1.0;
    kd_wrench           sum = {.N = kd_mat_tvec(&rel->RA, kd_vec_add(r->N, kd_vec_cross(arm, r->F))),
                               .F = kd_mat_tvec(&rel->RA, r->F)};
    // reversed: the link is the body of `from`, and the reaction acts on that of `to`
    sum = (kd_wrench){kd_vec_scale(sign, sum.N), kd_vec_scale(sign, sum.F)};
    // forces along its own coordinates are not the joint's: springs, friction, drives of other elements
    for (int i = 0; i < form.nscalars; i++) {
        int       dof = kd_edge_dof(s, joint, i);
        kd_wrench load;
        if (dof < 0) continue;
        load_along(s, joint, rel, i, &load);
        sum.N = kd_vec_axpy(sum.N, -w->joint_force[dof], load.N);
        sum.F = kd_vec_axpy(sum.F, -w->joint_force[dof], load.F);
    }
    return sum;
}

// The load of a force along a measure of a joint: a coordinate of the tree, or a measure of the joint's frames.
static kd_wrench measure_load(const kd_system *s, const kd_relative *rel, int joint, const kd_measure *m)
{
    kd_wrench           load = {.N = {0, 0, 0}};
    const kd_joint_form form = kd_joint_form_of(s->model->joint[joint].def.kind);
    if (m->kind != KD_MEASURE_DOF) {
        kd_measure_gradient(m, rel, &load.N, &load.F);
        // in the axes of `from`, where those of the measure are turned by half a turn
        const int about = m->pair >= 0 ? s->pair_ends[m->pair].turned - 1 : -1;
        if (about >= 0 && about != 0) load.F.x = -load.F.x;
        if (about >= 0 && about != 1) load.F.y = -load.F.y;
        if (about >= 0 && about != 2) load.F.z = -load.F.z;
        return load;
    }
    for (int i = 0; i < form.nscalars; i++)
        if (kd_edge_dof(s, joint, i) == m->dof) load_along(s, joint, rel, i, &load);
    return load;
}

// The forces of a joint's own rows: it closes a loop, or its motion is prescribed.
static kd_wrench row_reaction(kd_work *w, const kd_point *x, int joint)
{
    const kd_system   *s = w->system;
    const kd_relative *rel = &w->rel[s->edge[joint].pair];
    kd_wrench          sum = {.N = {0, 0, 0}};
    // all rows of the joint that are in the equations
    for (int number = s->edge[joint].row, end = number + s->edge[joint].nrows; number < end; number++) {
        const kd_row *row = &s->row_g[number];
        int           i = s->lambda_of[number];
        if (i >= 0) kd_row_gradient(row, w, w->small);
        for (int k = 0; i >= 0 && k < row->nterms; k++) {
            kd_wrench load = measure_load(s, rel, joint, &s->measure[s->slot[row->slot[k]].index]);
            sum.N = kd_vec_axpy(sum.N, -x->lambda[i] * w->small[k], load.N);
            sum.F = kd_vec_axpy(sum.F, -x->lambda[i] * w->small[k], load.F);
        }
    }
    return sum;
}

static double component_of(const kd_wrench *w, int i)
{
    const double all[] = {w->F.x, w->F.y, w->F.z, w->N.x, w->N.y, w->N.z};
    return i < 6 ? all[i] : 0.0;
}

// Reaction of a joint on the body of `to`, axes of `from`, at the origin of `to`; with the force of a prescribed
// motion.
static double reaction(kd_work *w, const kd_point *x, int joint, int component)
{
    kd_wrench sum = row_reaction(w, x, joint);
    if (w->system->edge[joint].link > 0) {
        kd_wrench tree = tree_reaction(w, joint);
        sum = (kd_wrench){kd_vec_add(sum.N, tree.N), kd_vec_add(sum.F, tree.F)};
    }
    return component_of(&sum, component);
}

static double multiplier(const kd_work *w, const kd_point *x, int constraint, int number)
{
    const kd_system *s = w->system;
    // rows of g first; a nonholonomic constraint has its rows in h
    const int row = kd_system_row_of(s, constraint, number);
    if (row >= 0) return kd_row_hold(s, row, x->lambda);
    for (int i = 0; i < s->nmu; i++)
        if (s->row_h[i].constraint == constraint && s->row_h[i].component == number) return x->mu[i];
    return 0.0; // left out as redundant
}

// Load on `to` of an element that acts between two frames, axes of `from`, at the origin of `to`.
kd_wrench kd_load_wrench(const kd_work *w, const kd_load *l)
{
    const kd_system *s = w->system;
    const double    *force = kd_load_forces(w, l);
    kd_wrench        sum = {.N = {0, 0, 0}};
    for (int k = 0; k < l->nchannels; k++) {
        const kd_measure *m = &s->measure[l->channel[k]];
        kd_vec3           N, F;
        kd_measure_gradient(m, &w->rel[m->pair], &N, &F);
        sum.N = kd_vec_axpy(sum.N, force[k], N);
        sum.F = kd_vec_axpy(sum.F, force[k], F);
    }
    return sum;
}

// All that a rail does to a wheel: the multiplier along the gradient of its row, creep and flange.
static kd_wrench wheel_wrench(kd_work *w, const kd_point *x, int constraint)
{
    const kd_system *s = w->system;
    const kd_row    *row = &s->row_g[s->constraint_row[constraint]];
    kd_wrench        sum = {.N = {0, 0, 0}};
    for (int i = 0; i < s->nloads; i++)
        if (s->load[i].wheel == row->wheel) sum = kd_load_wrench(w, &s->load[i]);
    // the normal force: multiplier along the gradient of the row
    kd_row_gradient(row, w, w->small);
    for (int k = 0; k < row->nterms && row->wheel->lambda >= 0; k++) {
        const kd_measure *m = &s->measure[s->slot[row->slot[k]].index];
        double            force = -x->lambda[row->wheel->lambda] * w->small[k];
        kd_vec3           N, F;
        kd_measure_gradient(m, &w->rel[m->pair], &N, &F);
        sum.N = kd_vec_axpy(sum.N, force, N);
        sum.F = kd_vec_axpy(sum.F, force, F);
    }
    return sum;
}

static double wheel_component(kd_work *w, const kd_point *x, int constraint, int i)
{
    const kd_row *row = &w->system->row_g[w->system->constraint_row[constraint]];
    // behind the six components: where it touches
    if (!row->wheel) return kd_touch_reading(w, w->system->measure[w->system->slot[row->slot[0]].index].pair, i);
    if (i > 5) return w->xi[row->wheel - w->system->wheel];
    kd_wrench sum = wheel_wrench(w, x, constraint);
    return component_of(&sum, i);
}

// Force of an element as sensors read it
static double element_force(const kd_work *w, const kd_point *x, int force, int number)
{
    const kd_load *l = kd_system_load_of(w->system, force);
    if (l->class->reading) return l->class->reading(l, w, x, number);
    return number < l->nchannels ? kd_load_forces(w, l)[number] : 0.0;
}

// Stress at a named place of a flexible body
static double stress(const kd_work *w, int body, int level)
{
    const kd_body          *b = &w->system->model->body[body];
    const kd_flexible_body *f = b->def.read;
    const kd_link          *link = &w->system->tree.link[w->system->wide_link[body]];
    double                  sigma[6];
    kd_stress_at(f, f->spot[level / KD_STRESS_KINDS].place, b->nmodes, w->x + link->position, sigma);
    return kd_stress_value(sigma, (kd_stress_kind)(level % KD_STRESS_KINDS));
}

// ---- as far as somebody reads ---------------------------------------------------------------------------------------
static bool needs_loads(kd_slot at)
{
    switch (at.kind) {
    case KD_SLOT_CHANNEL:
    case KD_SLOT_WHEEL:
    case KD_SLOT_W:
    case KD_SLOT_LAMBDA:
    case KD_SLOT_HOLD:
        return true;
    default:
        return false;
    }
}

static bool is_late(kd_slot at)
{
    switch (at.kind) {
    case KD_SLOT_REACTION:
    case KD_SLOT_MULTIPLIER:
    case KD_SLOT_WHEEL:
    case KD_SLOT_CHANNEL:
    case KD_SLOT_ENERGY:
    case KD_SLOT_STRESS:
        return true;
    default:
        return false;
    }
}

kd_status kd_system_list_sensed(kd_system *s)
{
    s->sensed.slot = kd_cut_int(&s->arena, s->nslots);
    s->sensed.late = kd_cut_int(&s->arena, s->nslots);
    s->sensed.pair = kd_cut_int(&s->arena, s->npairs);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < s->nslots; i++) {
        const kd_slot at = s->slot[i];
        s->sensed.loads = s->sensed.loads || needs_loads(at);
        s->sensed.reactions = s->sensed.reactions || at.kind == KD_SLOT_REACTION;
        if (is_late(at)) s->sensed.late[s->sensed.nlate++] = i;
        if (at.kind != KD_SLOT_MEASURE || at.level != 2) continue;
        // a variable on acceleration level; each pair once
        const int pair = s->measure[at.index].pair;
        int       k = pair < 0 ? s->sensed.npairs : 0;
        s->sensed.slot[s->sensed.nslots++] = i;
        while (k < s->sensed.npairs && s->sensed.pair[k] != pair) k++;
        if (pair >= 0 && k == s->sensed.npairs) s->sensed.pair[s->sensed.npairs++] = pair;
    }
    return KD_OK;
}

// Accelerations of pairs and measures that are read; those of others stay as they are
static void bring_accelerations(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    if (s->sensed.nslots == 0) return;
    kd_work_accelerate_links(w, x);
    for (int k = 0; k < s->sensed.npairs; k++) {
        const int i = s->sensed.pair[k];
        kd_pair_accelerate(&s->pair[i], &w->motion, &w->rel[i]);
    }
    for (int k = 0; k < s->sensed.nslots; k++) {
        const int i = s->sensed.slot[k];
        w->slot[i] = kd_work_acceleration_of(w, s->slot[i].index);
    }
}

// Forces on links and the reactions of the tree, forces of elements alone, or nothing
static kd_eval bring_loads(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    if (s->sensed.reactions) return kd_work_residual(w, x);
    return s->sensed.loads ? kd_work_loads(w, x) : KD_EVAL_OK;
}

kd_eval kd_work_forces(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_energies      energy = {0};
    kd_eval          answer = s->reads_energy ? kd_work_energies(x, w, &energy) : KD_EVAL_OK;
    kd_work_velocity(w, x, KD_FOR_ALL);
    bring_accelerations(w, x);
    if (answer == KD_EVAL_OK) answer = bring_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    // levels of KD_SLOT_ENERGY
    const double levels[] = {energy.kinetic, energy.potential, energy.kinetic + energy.potential};
    for (int k = 0; k < s->sensed.nlate; k++) {
        const int     i = s->sensed.late[k];
        const kd_slot at = s->slot[i];
        if (at.kind == KD_SLOT_REACTION)
            w->slot[i] = reaction(w, x, at.index, at.level);
        else if (at.kind == KD_SLOT_MULTIPLIER)
            w->slot[i] = multiplier(w, x, at.index, at.level);
        else if (at.kind == KD_SLOT_WHEEL)
            w->slot[i] = wheel_component(w, x, at.index, at.level);
        else if (at.kind == KD_SLOT_CHANNEL)
            w->slot[i] = element_force(w, x, at.index, at.level);
        else if (at.kind == KD_SLOT_ENERGY)
            w->slot[i] = levels[at.level];
        else if (at.kind == KD_SLOT_STRESS)
            w->slot[i] = stress(w, at.index, at.level);
    }
    return KD_EVAL_OK;
}

void kd_work_sensors(kd_work *w, double *out)
{
    const kd_system *s = w->system;
    for (int k = 0; k < s->nsensors; k++) {
        int i = s->sensor_order[k]; // behind the sensors that it reads
        out[i] = kd_expr_value(s->sensor[i], w->slot, w->expr_work);
        for (int slot = s->sensor_slot[i]; slot >= 0; slot = s->next_slot[slot]) w->slot[slot] = out[i];
    }
}

kd_eval kd_work_outputs(const kd_point *x, void *context, double *out)
{
    kd_work      *w = context;
    const kd_eval answer = kd_work_forces(w, x);
    if (answer == KD_EVAL_OK) kd_work_sensors(w, out);
    return answer;
}
