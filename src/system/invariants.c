// invariants.c: known invariants 0 = e(p, v, t) of a model, and conditions on its start.
//
//     energy             T + V
//     momentum           n . sum m v_c
//     angular momentum   n . sum ((c - o) x m v_c + I w)                     about the point o
//     expression         of coordinates, velocities and t
//
// less the value that is given, or that at the start, which stands in z (kd_eom_def.e_at_start). Gradients are exact.
// Those of energy and momentum come from the residual of the tree R(p, v, a) = M a + ..., at rest: for a = v it is M v =
// T_v, and v'R_p is 2 T_p; for a = 0 with gravity and springs it is V_p. For a ground that starts to move by n, or to
// turn by n about o, and takes all links along, R is the gradient of the momentum by v: virtual power; v'R_p is that by p.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/force.h"

// ---- making ---------------------------------------------------------------------------------------------------------

// It reads coordinates, velocities and t only
static bool is_of_motion(const kd_system *s, const kd_row *row)
{
    for (int i = 0; i < row->nterms; i++) {
        const kd_slot at = s->slot[row->slot[i]];
        if (at.kind != KD_SLOT_TIME && !(at.kind == KD_SLOT_MEASURE && at.level <= 1)) return false;
    }
    return true;
}

static void make_expression(kd_row_builder *b, const kd_source *source, const char *text, kd_row *row)
{
    char where[100] = "";
    kd_row_motion(b, row, text, source);
    if (b->status != KD_OK || is_of_motion(b->s, row)) return;
    if (source->file) kd_text(where, sizeof where, "%.60s:%d:%d: ", source->file, source->line, source->column);
    kd_text(b->message, b->size, "%s%s '%s': '%s' reads more than coordinates, velocities and t", where, b->kind,
            b->element, text);
    b->status = KD_ERR_MODEL;
}

// Power that a load gives or takes at a point where everything moves; what stores energy alone keeps it
static bool keeps_energy(const kd_load *load, kd_work *w)
{
    kd_energies e = {0};
    if (load->nchannels == 0) return true;
    if (!load->class->energy || load->nstates > 0) return false;
    load->class->energy(load, w->slot, w, &e);
    return e.dissipated == 0 && e.supplied == 0;
}

// The first load that gives or takes energy at the design position, moving; NULL: none does
static kd_status find_thief(const kd_system *s, const kd_load **thief)
{
    kd_arena  arena = {0};
    kd_work  *w = kd_work_create(s);
    const int nu = s->model->ninputs;
    double   *u = kd_cut_double(&arena, 3 * nu), *p = kd_cut_double(&arena, s->np), *v = kd_cut_double(&arena, s->nv);
    double   *r = kd_cut_double(&arena, s->nr), *zero = kd_cut_double(&arena, s->nlambda + s->nmu + s->nw);
    kd_status status = w && !arena.failed ? KD_OK : KD_ERR_MEMORY;
    *thief = NULL;
    if (status == KD_OK) {
        kd_point x = {.u = u, .du = u + nu, .ddu = u + 2 * nu, .z = w->z_start, .p = p, .v = v, .r = r};
        x.lambda = x.mu = x.w = zero;
        x.time_stamp = x.position_stamp = x.velocity_stamp = x.acceleration_stamp = 1;
        for (int i = 0; i < s->tree.nposition; i++)
            if (s->p_of_x[i] >= 0) p[s->p_of_x[i]] = s->design[i];
        for (int i = 0; i < s->nv; i++) v[i] = 0.1 + 0.01 * i;
        const kd_eval answer = kd_work_loads(w, &x);
        kd_work_velocity(w, &x, KD_FOR_LOADS);
        if (answer == KD_EVAL_OK)
            for (int i = 0; i < s->nloads && !*thief; i++)
                if (!keeps_energy(&s->load[i], w)) *thief = &s->load[i];
    }
    kd_work_destroy(w);
    kd_arena_release(&arena);
    return status;
}

kd_status kd_system_check_invariants(const kd_system *s, char *message, size_t size)
{
    const kd_load *thief = NULL;
    for (int i = 0; i < s->ninvariants; i++) {
        const kd_invariant *e = &s->model->invariant[i];
        if (e->def.kind != KD_INVARIANT_ENERGY) continue;
        const kd_status status = find_thief(s, &thief);
        if (status < 0) return status;
        if (!thief && !s->driven && !s->late) continue;
        kd_text(message, size, "%s%s%sinvariant '%s': the energy of this model changes: %s%s%s",
                e->source.file ? e->source.file : "", e->source.file ? ":" : "", e->source.file ? " " : "", e->name,
                thief ? "'" : "", thief ? thief->name : "motions are prescribed, or forces rub",
                thief ? "' gives or takes power, or has inner states" : "");
        return KD_ERR_MODEL;
    }
    return KD_OK;
}

// Of those equations that find the start
static kd_status make_conditions(kd_system *s, kd_row_builder *b)
{
    const kd_model *m = s->model;
    s->nconditions = s->joints ? 0 : m->nconditions;
    s->row_c = kd_arena_cut(&s->arena, (size_t)s->nconditions, sizeof *s->row_c);
    if (s->arena.failed) return KD_ERR_MEMORY;
    b->kind = "condition";
    for (int i = 0; i < s->nconditions && b->status == KD_OK; i++) {
        b->element = m->condition[i].name, b->component = 0;
        make_expression(b, &m->condition[i].source, m->condition[i].def.value, &s->row_c[i]);
    }
    return b->status;
}

kd_status kd_system_invariants(kd_system *s, kd_row_builder *b)
{
    const kd_model *m = s->model;
    s->ninvariants = s->for_start ? 0 : m->ninvariants;
    s->row_e = kd_arena_cut(&s->arena, (size_t)s->ninvariants, sizeof *s->row_e);
    s->invariant_z = kd_cut_int(&s->arena, s->ninvariants);
    if (s->arena.failed) return KD_ERR_MEMORY;
    b->kind = "invariant";
    for (int i = 0; i < s->ninvariants && b->status == KD_OK; i++) {
        const kd_invariant *e = &m->invariant[i];
        b->element = e->name, b->component = 0;
        s->invariant_z[i] = isnan(e->def.equals) ? kd_system_add_z(s, 1) : -1;
        if (e->def.kind == KD_INVARIANT_EXPRESSION) make_expression(b, &e->source, e->def.value, &s->row_e[i]);
    }
    return b->status == KD_OK ? make_conditions(s, b) : b->status;
}

// ---- values ---------------------------------------------------------------------------------------------------------

static kd_vec3 unit_axis(const kd_invariant_def *def)
{
    const kd_vec3 n = kd_vec_of(def->axis);
    return kd_vec_scale(1.0 / sqrt(kd_vec_dot(n, n)), n);
}

// n . P, or n . L about o; inertia, centre and mass of links are about their P
static double momentum(const kd_work *w, const kd_invariant_def *def)
{
    const kd_system *s = w->system;
    const bool       turns = def->kind == KD_INVARIANT_ANGULAR_MOMENTUM;
    kd_vec3          sum = {0, 0, 0};
    for (int i = 1; i < s->tree.nlinks; i++) {
        const kd_link        *link = &s->tree.link[i];
        const kd_link_motion *m = &w->motion.link[i];
        if (link->wide) {
            const kd_wide_state *state = kd_motion_wide(&w->motion, link);
            const kd_vec3        omega = kd_mat_tvec(&m->R, m->w), v = kd_mat_tvec(&m->R, m->v);
            const kd_vec3        p = kd_mat_vec(&m->R, kd_wide_momentum(link->wide, state, omega, v));
            const kd_vec3        L = kd_mat_vec(&m->R, kd_wide_spin(state, omega, v));
            const kd_vec3        arm = kd_vec_sub(m->P, kd_vec_of(def->point));
            sum = kd_vec_add(sum, turns ? kd_vec_add(kd_vec_cross(arm, p), L) : p);
            continue;
        }
        const kd_vec3 c = kd_mat_vec(&m->R, link->centre), omega = kd_mat_tvec(&m->R, m->w);
        const kd_vec3 p = kd_vec_scale(link->mass, kd_vec_add(m->v, kd_vec_cross(m->w, c)));
        if (!turns) {
            sum = kd_vec_add(sum, p);
            continue;
        }
        // (P - o) x p + c x m v + I w
        sum = kd_vec_add(sum, kd_vec_cross(kd_vec_sub(m->P, kd_vec_of(def->point)), p));
        sum = kd_vec_add(sum, kd_vec_scale(link->mass, kd_vec_cross(c, m->v)));
        sum = kd_vec_add(sum, kd_mat_vec(&m->R, kd_sym_vec(&link->inertia, omega)));
    }
    return kd_vec_dot(unit_axis(def), sum);
}

kd_eval kd_work_invariants(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_work_velocity(w, x, KD_FOR_ROWS);
    for (int i = 0; i < s->ninvariants; i++) {
        const kd_invariant_def *def = &s->model->invariant[i].def;
        const int               z = s->invariant_z[i];
        if (def->kind == KD_INVARIANT_ENERGY) {
            kd_energies   e = {0};
            const kd_eval answer = kd_work_energies(x, w, &e);
            if (answer != KD_EVAL_OK) return answer;
            out[i] = e.kinetic + e.potential;
        } else if (def->kind == KD_INVARIANT_EXPRESSION) {
            out[i] = kd_row_jet(&s->row_e[i], w).x;
        } else {
            out[i] = momentum(w, def);
        }
        out[i] -= z >= 0 ? x->z[z] : def->equals;
    }
    return KD_EVAL_OK;
}

kd_eval kd_work_conditions(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_work_velocity(w, x, KD_FOR_ROWS);
    for (int i = 0; i < s->nconditions; i++) out[i] = kd_row_jet(&s->row_c[i], w).x - s->model->condition[i].def.equals;
    return KD_EVAL_OK;
}

const char *kd_work_condition_name(int i, void *context)
{
    return ((const kd_work *)context)->system->model->condition[i].name;
}

// ---- gradients ------------------------------------------------------------------------------------------------------

// by[j] += factor * sum v_k R_p[k, j] of the last residual
static void add_by_position(kd_work *w, const kd_point *x, const double *ddx, double factor, double *by, int stride)
{
    const kd_tree *tree = &w->system->tree;
    kd_tree_residual_derivatives(tree, &w->rest, w->at_rest, ddx, w->tree_p, w->tree_v);
    for (int j = 0; j < tree->nv; j++)
        for (int k = tree->column[j]; k < tree->column[j + 1]; k++)
            by[j * stride] += factor * x->v[tree->row[k]] * w->tree_p[k];
}

static kd_eval energy_gradient(kd_work *w, const kd_point *x, double *by_p, double *by_v, int stride)
{
    const kd_system *s = w->system;
    const kd_tree   *tree = &s->tree;
    const kd_eval    answer = kd_work_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    // V_p: what would hold it at rest against gravity and springs
    w->tau_stamp = 0;
    kd_work_clear_forces(w);
    kd_work_apply_loads(w);
    kd_work_spread_forces(w);
    kd_tree_accelerate(tree, w->at_rest, w->at_rest, kd_vec_of(s->model->gravity), &w->rest);
    kd_tree_residual(tree, &w->rest, w->load, w->tau);
    for (int j = 0; j < s->nv; j++) by_p[j * stride] = w->tau[tree->v_dof[j]] - w->joint_force[tree->v_dof[j]];
    // T_v = M v, T_p = v'(M v)_p / 2
    kd_tree_accelerate(tree, w->at_rest, w->dx, (kd_vec3){0, 0, 0}, &w->rest);
    kd_tree_residual(tree, &w->rest, NULL, w->tau);
    for (int j = 0; j < s->nv; j++) by_v[j * stride] = w->tau[tree->v_dof[j]];
    add_by_position(w, x, w->dx, 0.5, by_p, stride);
    return KD_EVAL_OK;
}

static void momentum_gradient(kd_work *w, const kd_point *x, const kd_invariant_def *def, double *by_p, double *by_v,
                              int stride)
{
    const kd_system *s = w->system;
    const kd_vec3    n = unit_axis(def), none = {0, 0, 0};
    const bool       turns = def->kind == KD_INVARIANT_ANGULAR_MOMENTUM;
    // all links move with the ground, modes rest
    w->tau_stamp = 0;
    kd_tree_accelerate(&s->tree, w->at_rest, w->at_rest, none, &w->rest);
    for (int i = 0; i < s->tree.nlinks; i++) {
        kd_link_motion *m = &w->rest.link[i];
        m->dw = turns ? n : none;
        m->dv = turns ? kd_vec_cross(n, kd_vec_sub(m->P, kd_vec_of(def->point))) : n;
    }
    kd_tree_residual(&s->tree, &w->rest, NULL, w->tau);
    for (int j = 0; j < s->nv; j++) {
        by_v[j * stride] = w->tau[s->tree.v_dof[j]];
        by_p[j * stride] = 0;
    }
    add_by_position(w, x, w->at_rest, 1.0, by_p, stride);
    w->rest.link[0].dw = none; // the ground stands still for all others
}

static kd_eval find_gradients(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    const int        n = s->ninvariants;
    kd_eval          answer = KD_EVAL_OK;
    kd_work_velocity(w, x, KD_FOR_ROWS);
    kd_tree_place(&s->tree, w->x, &w->rest);
    kd_tree_move(&s->tree, w->at_rest, &w->rest);
    for (int i = 0; i < n && answer == KD_EVAL_OK; i++) {
        const kd_invariant_def *def = &s->model->invariant[i].def;
        if (def->kind == KD_INVARIANT_EXPRESSION)
            kd_work_row_gradient(w, x, &s->row_e[i], n, w->e_p + i, w->e_v + i);
        else if (def->kind == KD_INVARIANT_ENERGY)
            answer = energy_gradient(w, x, w->e_p + i, w->e_v + i, n);
        else
            momentum_gradient(w, x, def, w->e_p + i, w->e_v + i, n);
    }
    return answer;
}

kd_eval kd_work_invariants_by(kd_work *w, const kd_point *x, kd_var var, double *out)
{
    const size_t size = (size_t)w->system->ninvariants * (size_t)w->system->nv * sizeof *out;
    if (w->e_stamp != x->velocity_stamp) {
        w->e_stamp = 0;
        const kd_eval answer = find_gradients(w, x);
        if (answer != KD_EVAL_OK) return answer;
        w->e_stamp = x->velocity_stamp;
    }
    memcpy(out, var == KD_P ? w->e_p : w->e_v, size);
    return KD_EVAL_OK;
}

bool kd_work_cut_invariants(kd_work *w)
{
    const kd_system *s = w->system;
    if (s->ninvariants == 0) return true;
    w->e_p = kd_cut_matrix(&w->arena, s->ninvariants, s->nv);
    w->e_v = kd_cut_matrix(&w->arena, s->ninvariants, s->nv);
    w->at_rest = kd_cut_double(&w->arena, s->tree.ndof);
    return kd_motion_create(&s->tree, &w->arena, &w->rest) == KD_OK && !w->arena.failed;
}
