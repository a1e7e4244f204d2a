// derivatives_plan.c: patterns of the sparse derivatives: all matrices and their plans in one order, from a run that
// records entries instead of adding numbers.
#include <stddef.h>

#include "element/force.h"
#include "math/linsolve.h"
#include "system/derivatives_impl.h"

// all matrices and their plans, which have the same names; so are the sizes in kd_system_plan ordered
#define MATRIX(name)                                                                                                   \
    {                                                                                                                  \
        offsetof(kd_work, name), offsetof(kd_system, name)                                                             \
    }
static const struct {
    size_t values, plan;
} places[] = {
    MATRIX(residual_p), MATRIX(residual_v), MATRIX(residual_r), MATRIX(G),
    MATRIX(H),          MATRIX(gI_p),       MATRIX(gII_p),      MATRIX(gII_v),
    MATRIX(h_p),        MATRIX(hI_p),       MATRIX(hI_v),       MATRIX(b_p),
    MATRIX(b_v),        MATRIX(b_r),        MATRIX(Z),          MATRIX(Z_p),
    MATRIX(g_p),        MATRIX(g_s),        MATRIX(c_p),        MATRIX(c_s),
    MATRIX(gI_s),       MATRIX(gII_s),      MATRIX(residual_s), MATRIX(residual_lambda),
    MATRIX(residual_w), MATRIX(d_lambda),   MATRIX(d_w),        MATRIX(b_w),
    MATRIX(d_p),        MATRIX(d_v),        MATRIX(d_r),
};
enum { NMATRICES = sizeof places / sizeof *places };

static kd_matrix_values *all_matrices(kd_work *w, int i)
{
    return i < NMATRICES ? (kd_matrix_values *)((char *)w + places[i].values) : NULL;
}

static const kd_matrix_plan *all_plans(const kd_system *s, int i)
{
    return (const kd_matrix_plan *)((const char *)s + places[i].plan);
}

const kd_matrix_values *kd_work_matrix(kd_work *w, const kd_matrix_plan *plan)
{
    const size_t place = (size_t)((const char *)plan - (const char *)w->system);
    for (int i = 0; i < NMATRICES; i++)
        if (places[i].plan == place) return all_matrices(w, i);
    return NULL;
}

// memory of the factors of K, the matrix of the accelerations' equations (topological.c)
static void cut_kkt(kd_work *w)
{
    const kd_topological *t = &w->system->topological;
    if (t->pivoting) {
        w->kkt_values = kd_cut_double(&w->arena, t->full_column[t->n]);
        if (kd_sparse_lu_create(t->n, t->full_column, t->full_row, &w->kkt_lu) != KD_OK) w->arena.failed = true;
    }
    w->kkt_L = kd_cut_double(&w->arena, t->L_column[t->n]);
    w->kkt_row = kd_cut_int(&w->arena, t->L_column[t->n]);
    w->kkt_D = kd_cut_double(&w->arena, t->n);
    w->kkt_y = kd_cut_double(&w->arena, t->n);
    w->kkt_b = kd_cut_double(&w->arena, t->n);
    w->kkt_zero = kd_cut_double(&w->arena, t->n);
    w->kkt_mark = kd_cut_int(&w->arena, t->n);
    w->kkt_pattern = kd_cut_int(&w->arena, t->n);
    w->kkt_filled = kd_cut_int(&w->arena, t->n);
}

bool kd_work_matrices(kd_work *w)
{
    const kd_system *s = w->system;
    int              n = w->change_at[s->npairs], entries = s->dense_tree ? s->tree.column[s->tree.nv] : 0;
    // changes of frozen loads by columns, slopes by measures
    w->frozen_N = kd_arena_cut(&w->arena, (size_t)n, sizeof *w->frozen_N);
    w->frozen_F = kd_arena_cut(&w->arena, (size_t)n, sizeof *w->frozen_F);
    w->slope_at = kd_cut_int(&w->arena, s->nmeasures + 1);
    for (int i = 0; w->slope_at && i < s->nmeasures; i++)
        w->slope_at[i + 1] = w->slope_at[i] + column_count(w, &s->measure[i]);
    w->slope = kd_cut_double(&w->arena, w->slope_at ? w->slope_at[s->nmeasures] : 0);
    for (int i = 0; w->slope_at && w->slope && i < s->nmeasures; i++) // for good
        if (s->measure[i].kind == KD_MEASURE_DOF) w->slope[w->slope_at[i]] = 1.0;
    w->kept_jet = kd_arena_cut(&w->arena, (size_t)s->nslots, sizeof *w->kept_jet);
    w->tree_p = kd_cut_double(&w->arena, entries);
    w->tree_v = kd_cut_double(&w->arena, entries);
    w->tree_M = kd_cut_double(&w->arena, entries);
    // without a plan this is the recording run, and matrices collect their entries
    w->recording = !s->planned;
    for (int i = 0; all_matrices(w, i); i++) {
        kd_matrix_values *m = all_matrices(w, i);
        m->plan = all_plans(s, i);
        m->recording = w->recording;
        if (s->planned) m->value = kd_cut_double(&w->arena, m->plan->column[m->plan->columns]);
    }
    w->joint_p = (kd_matrix_values){.plan = &s->joint_p, .recording = w->recording};
    w->joint_v = (kd_matrix_values){.plan = &s->joint_v, .recording = w->recording};
    if (s->planned && !w->arena.failed) kd_work_list_gradients(w);
    if (s->planned && s->topological.L_column) cut_kkt(w);
    return !w->arena.failed;
}

// Plans of the loads alone, where they act inside of joints
static kd_status plan_joints(kd_system *s, kd_work *w)
{
    if (!s->inside_joints) return KD_OK;
    (void)kd_work_assemble_joints(w); // in a recording run no law is asked
    kd_matrix_values *const values[] = {&w->joint_p, &w->joint_v};
    kd_matrix_plan *const   plan[] = {&s->joint_p, &s->joint_v};
    kd_status               status = KD_OK;
    for (int i = 0; i < 2; i++) {
        plan[i]->rows = plan[i]->columns = s->nv;
        kd_status made = kd_matrix_plan_make(plan[i], values[i], &s->arena);
        if (made < 0) status = made;
    }
    return status;
}

kd_status kd_system_plan(kd_system *s)
{
    const int rows[] = {s->nv,      s->nv,      s->nv,  s->nlambda, s->nmu,     s->nlambda, s->nlambda, s->nlambda,
                        s->nmu,     s->nmu,     s->nmu, s->nr,      s->nr,      s->nr,      s->np,      s->np,
                        s->nlambda, s->nlambda, s->ns,  s->ns,      s->nlambda, s->nlambda, s->nv,      s->nv,
                        s->nv,      s->nw,      s->nw,  s->nr,      s->nw,      s->nw,      s->nw};
    const int columns[] = {s->nv, s->nv,      s->nr, s->nv,      s->nv, s->nv, s->nv, s->nv, s->nv, s->nv, s->nv,
                           s->nv, s->nv,      s->nr, s->nv,      s->nv, s->nv, s->ns, s->nv, s->ns, s->ns, s->ns,
                           s->ns, s->nlambda, s->nw, s->nlambda, s->nw, s->nw, s->nv, s->nv, s->nr};
    s->planned = false;
    s->inside_joints = kd_system_acts_inside_joints(s);
    kd_work  *w = kd_work_create(s);
    double   *zero = kd_alloc((size_t)(s->nlambda + s->nmu) * sizeof *zero);
    kd_status status = w && zero ? KD_OK : KD_ERR_MEMORY;
    if (status == KD_OK) {
        kd_work_add_constraint_matrices(w);
        (void)kd_work_assemble(w, zero, zero); // in a recording run no law is asked
        kd_work_add_second_rows(w);
        kd_work_add_kinematics(w, false);
        kd_work_add_kinematics(w, true);
    }
    // entries of the recording run become patterns, of the sizes above
    for (int i = 0; status == KD_OK && all_matrices(w, i); i++) {
        kd_matrix_plan *plan = (kd_matrix_plan *)all_plans(s, i);
        plan->rows = rows[i];
        plan->columns = columns[i];
        const bool by_tree = (plan == &s->residual_p || plan == &s->residual_v) && kd_system_shares_tree(s);
        status = by_tree ? kd_matrix_plan_within(plan, all_matrices(w, i), s->tree.column, s->tree.row, &s->arena)
                         : kd_matrix_plan_make(plan, all_matrices(w, i), &s->arena);
    }
    for (int i = 0; w && all_matrices(w, i); i++)
        kd_free(all_matrices(w, i)->pair); // those that were not made a plan of
    if (status == KD_OK) status = plan_joints(s, w);
    kd_free(zero);
    kd_work_destroy(w);
    s->planned = status == KD_OK;
    return status == KD_OK ? kd_topological_plan(s) : status;
}
