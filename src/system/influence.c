// influence.c: how fast each force alone would make a velocity answer. A force f along a measure s acts on velocity i
// as f s_i, s_i = ds/dq_i; with k = -df/ds and d = -df/ds' of its law it adds k s_i^2 to the stiffness and d s_i^2 to
// the damping of row i:  frequency = sqrt(k s_i^2 / M_ii),  rate = d s_i^2 / M_ii.
#include <math.h>
#include <string.h>

#include "model/element.h"
#include "system/system.h"

typedef struct search {
    kd_work *work;
    kd_arena arena;
    kd_point at;
    double  *mass; // (entries of the tree's pattern)
    double  *J;    // of a load
    int      velocity;
    double   inertia; // M_ii
} search;

kd_point kd_point_of(const kd_state *x, const double *u, int nu)
{
    return (kd_point){.t = x->t,
                      .u = u,
                      .du = u + nu,
                      .ddu = u + 2 * nu,
                      .z = x->z,
                      .theta = x->theta,
                      .p = x->p,
                      .s = x->s,
                      .v = x->v,
                      .r = x->r,
                      .a = x->a,
                      .w = x->w,
                      .lambda = x->lambda,
                      .mu = x->mu,
                      .time_stamp = 1,
                      .position_stamp = 1,
                      .velocity_stamp = 1,
                      .acceleration_stamp = 1};
}

// s_i of a measure
static double slope_of(const kd_work *w, int measure, int velocity)
{
    const kd_system  *s = w->system;
    const kd_measure *m = &s->measure[measure];
    const int         n = m->kind == KD_MEASURE_DOF ? 1 : s->pair[m->pair].nsteps;
    double            sum = 0;
    for (int l = 0; l < n; l++) {
        const int dof = m->kind == KD_MEASURE_DOF ? m->dof : s->pair[m->pair].step[l].dof;
        if (s->tree.dof_v[dof] == velocity) sum += w->slope[w->slope_at[measure] + l];
    }
    return sum;
}

// Stiffness and damping that a load adds to row i; false: it does not act on it
static bool load_slopes(search *f, const kd_load *load, double *stiffness, double *damping)
{
    kd_work         *w = f->work;
    const kd_system *s = w->system;
    const int        rows = load->nchannels + load->nstates;
    bool             acts = false;
    *stiffness = *damping = 0;
    // the law is differentiated only if one of its channels moves this velocity
    for (int k = 0; k < load->nchannels; k++) acts = acts || slope_of(w, load->channel[k], f->velocity) != 0;
    if (!acts) return false;
    memset(f->J, 0, (size_t)rows * (size_t)load->nvariables * sizeof *f->J);
    if (load->class->jacobian(load, w->slot, w, f->J) != KD_EVAL_OK) return false;
    // -s_k (df_k/dx) x_i: by values stiffness, by rates damping
    for (int j = 0; j < load->nvariables; j++) {
        const kd_slot slot = s->slot[load->variable[j]];
        if (slot.kind != KD_SLOT_MEASURE || slot.level > 1) continue;
        const double by = slope_of(w, slot.index, f->velocity);
        for (int k = 0; k < load->nchannels; k++)
            *(slot.level == 0 ? stiffness : damping) -=
                slope_of(w, load->channel[k], f->velocity) * f->J[k + rows * j] * by;
    }
    return true;
}

static double speed(const kd_influence *a)
{
    return fmax(a->frequency, a->rate);
}

// Into the list of at most size, fastest first
static int insert(kd_influence *list, int n, int size, kd_influence a)
{
    // a full list loses its slowest, if that is slower
    int at = n < size ? n : size - 1;
    if (n == size && speed(&a) <= speed(&list[at])) return n;
    for (; at > 0 && speed(&list[at - 1]) < speed(&a); at--) list[at] = list[at - 1];
    list[at] = a;
    return n < size ? n + 1 : n;
}

const char *kd_load_kind(const kd_load *load)
{
    if (load->wheel) return "wheel_rail";
    if (load->row) return "modes";
    return load->def    ? kd_force_element((int)load->def->kind)->kind.word
           : load->user ? "user force"
           : load->unit ? "fmu"
                        : "state";
}

static bool prepare_search(search *f, const kd_system *s, const kd_state *x)
{
    const int nu = s->model->ninputs, entries = s->tree.column[s->nv];
    int       largest = 0;
    for (int i = 0; i < s->nloads; i++) {
        const int n = (s->load[i].nchannels + s->load[i].nstates) * s->load[i].nvariables;
        if (n > largest) largest = n;
    }
    // inputs with two derivatives, M and the slopes of all measures at the state
    double *u = kd_cut_double(&f->arena, 3 * nu);
    f->mass = kd_cut_double(&f->arena, entries);
    f->J = kd_cut_double(&f->arena, largest);
    f->work = kd_work_create(s);
    if (f->arena.failed || !f->work) return false;
    if (s->inputs.eval(x->t, s->inputs.context, u, u + nu, u + 2 * nu) != KD_EVAL_OK) return false;
    f->at = kd_point_of(x, u, nu);
    if (kd_work_derivatives(f->work, &f->at, KD_PART_ALL) != KD_EVAL_OK) return false;
    kd_tree_mass(&s->tree, &f->work->motion, f->mass);
    // M_ii from the pattern of the tree
    for (int k = s->tree.column[f->velocity]; k < s->tree.column[f->velocity + 1]; k++)
        if (s->tree.row[k] == f->velocity) f->inertia = f->mass[k];
    return f->inertia > 0;
}

int kd_system_influences(const kd_system *s, const kd_state *x, int velocity, kd_influence *list, int size)
{
    if (!s || !s->dense_tree || !kd_state_fits(s->eom, x) || velocity < 0 || velocity >= s->nv || !list || size < 1)
        return 0;
    search f = {.velocity = velocity};
    int    n = 0;
    if (prepare_search(&f, s, x)) {
        // without signs: a force that drives away is as fast as one that brings back
        for (int i = 0; i < s->nloads; i++) {
            double stiffness, damping;
            if (!load_slopes(&f, &s->load[i], &stiffness, &damping)) continue;
            n = insert(list, n, size,
                       (kd_influence){s->load[i].name, kd_load_kind(&s->load[i]), sqrt(fabs(stiffness) / f.inertia),
                                      fabs(damping) / f.inertia});
        }
    }
    kd_work_destroy(f.work);
    kd_arena_release(&f.arena);
    return n;
}
