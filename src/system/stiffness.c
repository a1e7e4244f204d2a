// stiffness.c: which loads belong to the stiff part of the Jacobian: as the model says, or by how fast they are.
//
// A load with forces f_k along measures s_k, row s_k' = ds_k/dq, that read the variables x_j = s_j or its rate, has the
// stiffness  K = -sum_kj s_k (df_k/dx_j) s_j'  in the equations of motion. The eigenvalues of inv(M) K are those of the
// small matrix  B_kl = -sum_j (df_k/dx_j) s_j' inv(M) s_l;  for a symmetric positive K the largest is at most its
// trace, which does not depend on units: frequency^2 = sum |B_kk|. The same with rates: rate = sum |B_kk|.
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "system/system.h"

static const double default_bound = 0.1;

int kd_system_loads_count(const kd_system *s)
{
    if (!s) return 0;
    return s->nloads;
}

static bool has(const kd_system *s, int i)
{
    return s && i >= 0 && i < s->nloads;
}

const char *kd_system_load_name(const kd_system *s, int i)
{
    return has(s, i) ? s->load[i].name : "";
}

const char *kd_system_load_kind(const kd_system *s, int i)
{
    return has(s, i) ? kd_load_kind(&s->load[i]) : "";
}

bool kd_system_stiff(const kd_system *s, int i)
{
    return has(s, i) && s->load[i].stiff;
}

void kd_system_set_stiff(kd_system *s, int i, bool stiff)
{
    if (has(s, i)) s->load[i].stiff = stiff;
}

// ---- speeds ---------------------------------------------------------------------------------------------------------

// what kd_system_speeds works with
typedef struct search {
    const kd_system *system;
    kd_work         *work;
    kd_arena         arena;
    double          *u;      // (3 ninputs)
    double          *factor; // (nv x nv) Cholesky factor of M
    double          *J;      // of a load
    double          *answer; // (nv) inv(M) s_l
} search;

// s_m' y of a measure; with y = NULL its row into row instead
static double along(const kd_work *w, int measure, const double *y, double *row)
{
    const kd_system  *s = w->system;
    const kd_measure *m = &s->measure[measure];
    const int         n = m->kind == KD_MEASURE_DOF ? 1 : s->pair[m->pair].nsteps;
    double            sum = 0.0;
    for (int l = 0; l < n; l++) {
        const int v = s->tree.dof_v[m->kind == KD_MEASURE_DOF ? m->dof : s->pair[m->pair].step[l].dof];
        if (v < 0) continue;
        if (y)
            sum += w->slope[w->slope_at[measure] + l] * y[v];
        else
            row[v] += w->slope[w->slope_at[measure] + l];
    }
    return sum;
}

// Sums of |B_kk| of values and of rates
static void add_channels(search *f, const kd_load *load, double *stiffness, double *damping)
{
    const kd_system *s = f->system;
    const int        rows = load->nchannels + load->nstates;
    // inv(M) s_k once, then B_kk by values and by rates
    for (int k = 0; k < load->nchannels; k++) {
        double B[2] = {0.0, 0.0};
        memset(f->answer, 0, (size_t)s->nv * sizeof *f->answer);
        (void)along(f->work, load->channel[k], NULL, f->answer);
        kd_cholesky_solve(s->nv, f->factor, f->answer, 1);
        for (int j = 0; j < load->nvariables; j++) {
            const kd_slot at = s->slot[load->variable[j]];
            if (at.kind == KD_SLOT_MEASURE && at.level < 2)
                B[at.level] -= f->J[k + rows * j] * along(f->work, at.index, f->answer, NULL);
        }
        *stiffness += fabs(B[0]);
        *damping += fabs(B[1]);
    }
}

// |db/dr| of its own states
static double state_rate(const search *f, const kd_load *load)
{
    const int rows = load->nchannels + load->nstates;
    double    rate = 0.0;
    for (int j = 0; j < load->nvariables; j++) {
        const kd_slot at = f->system->slot[load->variable[j]];
        const int     own = at.kind == KD_SLOT_STATE ? at.index - load->state : -1;
        if (own >= 0 && own < load->nstates) rate += fabs(f->J[load->nchannels + own + rows * j]);
    }
    return rate;
}

// derivatives of its law, then both speeds
static kd_status load_speed(search *f, const kd_load *load, kd_influence *out)
{
    double stiffness = 0.0, damping = 0.0;
    size_t entries = (size_t)(load->nchannels + load->nstates) * (size_t)load->nvariables;
    *out = (kd_influence){.name = load->name, .kind = kd_load_kind(load)};
    memset(f->J, 0, entries * sizeof *f->J);
    if (load->class->jacobian(load, f->work->slot, f->work, f->J) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    add_channels(f, load, &stiffness, &damping);
    out->frequency = sqrt(stiffness);
    out->rate = fmax(damping, state_rate(f, load));
    return isfinite(out->frequency) && isfinite(out->rate) ? KD_OK : KD_ERR_NOT_FINITE;
}

// Slopes and laws at x, M factored
static kd_status prepare_search(search *f, const kd_state *x)
{
    const kd_system *s = f->system;
    const int        nu = s->model->ninputs;
    size_t           largest = 0;
    for (int i = 0; i < s->nloads; i++) {
        size_t n = (size_t)(s->load[i].nchannels + s->load[i].nstates) * (size_t)s->load[i].nvariables;
        if (n > largest) largest = n;
    }
    // M and slopes at the state, M factored once for all loads
    f->u = kd_cut_double(&f->arena, 3 * nu);
    f->factor = kd_cut_matrix(&f->arena, s->nv, s->nv);
    f->answer = kd_cut_double(&f->arena, s->nv);
    f->J = kd_arena_cut(&f->arena, largest, sizeof *f->J);
    f->work = kd_work_create(s);
    if (f->arena.failed || !f->work) return KD_ERR_MEMORY;
    if (s->inputs.eval(x->t, s->inputs.context, f->u, f->u + nu, f->u + 2 * nu) != KD_EVAL_OK)
        return KD_ERR_CALLBACK_STOP;
    kd_point at = kd_point_of(x, f->u, nu);
    if (kd_work_derivatives(f->work, &at, KD_PART_ALL) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    kd_tree_mass_dense(&s->tree, &f->work->motion, f->factor);
    return kd_cholesky_factor(s->nv, f->factor) == 0 ? KD_OK : KD_ERR_SINGULAR_MASS;
}

kd_status kd_system_speeds(const kd_system *s, const kd_state *x, kd_influence *list)
{
    if (!s || !kd_state_fits(s->eom, x) || !list) return KD_ERR_ARGUMENT;
    if (!s->dense_tree) return KD_ERR_UNSUPPORTED;
    search    f = {.system = s};
    kd_status status = prepare_search(&f, x);
    for (int i = 0; i < s->nloads && status == KD_OK; i++) status = load_speed(&f, &s->load[i], &list[i]);
    kd_work_destroy(f.work);
    kd_arena_release(&f.arena);
    return status;
}

kd_status kd_system_choose_stiff(kd_system *s, const kd_state *x, double h, double bound)
{
    if (!s || !kd_state_fits(s->eom, x) || !(h > 0.0)) return KD_ERR_ARGUMENT;
    kd_influence *list = kd_alloc((size_t)s->nloads * sizeof *list);
    kd_status     status = list ? kd_system_speeds(s, x, list) : KD_ERR_MEMORY;
    // faster than bound / h is stiff
    const double limit = (bound > 0.0 ? bound : default_bound) / h;
    for (int i = 0; i < s->nloads && status == KD_OK; i++)
        s->load[i].stiff = list[i].frequency > limit || list[i].rate > limit;
    kd_free(list);
    return status;
}
