// stiff_part.c: derivatives of the residual by position and velocity, of the stiff loads only (S4 section 1): nothing
// of the tree, of constraints or of other loads is touched.
//
// A force f_k along the measure s_k is the load f_k (N_k, F_k) on its pair of frames, (N_k, F_k) the gradient of s_k
// (measure.h). A variable x_j that is a measure of the same pair changes with the pose by its gradient, its rate with
// the relative motion by the gradient and with the pose by e_j = (dN . omega + dF . d'), where (dN, dF) is the change
// of the gradient. So all loads of a pair together are one wrench with two matrices of order 6 (path_product.h):
//
//     K = sum (N_k, F_k) f_kj (N_j, F_j)' + (N_k, F_k) f_kj' e_j' + f_k d(N_k, F_k),    D = sum (N_k, F_k) f_kj' (N_j,
//     F_j)'
//
// f_kj, f_kj' the derivatives of the law by the value and by the rate. What reads other pairs or acts along coordinates
// of joints is added as products of rows, -s_k' f_kj x_j.
#include <math.h>
#include <string.h>

#include "formalism/stiff_part.h"

// ---- structure ------------------------------------------------------------------------------------------------------
static int steps_of(const kd_system *s, int measure)
{
    const kd_measure *m = &s->measure[measure];
    return m->kind == KD_MEASURE_DOF ? 1 : s->pair[m->pair].nsteps;
}

static int step_v(const kd_system *s, int measure, int l)
{
    const kd_measure *m = &s->measure[measure];
    return s->tree.dof_v[m->kind == KD_MEASURE_DOF ? m->dof : s->pair[m->pair].step[l].dof];
}

static bool is_measured(const kd_system *s, const kd_load *load, int j)
{
    const kd_slot at = s->slot[load->variable[j]];
    return at.kind == KD_SLOT_MEASURE && at.level < 2;
}

// Place of an entry; behind the values: none, or prescribed
static int place_of(const kd_matrix_plan *plan, int row, int column)
{
    const int none = plan->column[plan->columns];
    if (row < 0 || column < 0) return none;
    int low = plan->column[column], high = plan->column[column + 1];
    while (low < high) {
        int middle = (low + high) / 2;
        if (plan->row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < plan->column[column + 1] && plan->row[low] == row ? low : none;
}

static int *places_of_pair(const kd_system *s, const kd_matrix_plan *plan, const kd_pair *pair, kd_arena *arena)
{
    int  n = pair->nsteps;
    int *place = kd_arena_cut(arena, (size_t)n * (size_t)n, sizeof *place);
    for (int l = 0; place && l < n; l++)
        for (int k = 0; k < n; k++)
            place[l * n + k] = place_of(plan, s->tree.dof_v[pair->step[k].dof], s->tree.dof_v[pair->step[l].dof]);
    return place;
}

// The pair that all channels and measured variables of a load belong to; -1: there are several, or none
static int single_pair(const kd_system *s, const kd_load *load)
{
    int pair = load->nchannels > 0 ? s->measure[load->channel[0]].pair : -1;
    for (int k = 1; k < load->nchannels; k++)
        if (s->measure[load->channel[k]].pair != pair) return -1;
    for (int j = 0; j < load->nvariables; j++)
        if (is_measured(s, load, j) && s->measure[s->slot[load->variable[j]].index].pair != pair) return -1;
    return pair;
}

// Products of rows of a load: one for each channel and variable, or for those that are equal (a load along a
// coordinate)
static int count_outer(const kd_system *s, const kd_load *load)
{
    int n = 0;
    for (int k = 0; k < load->nchannels; k++)
        for (int j = 0; j < load->nvariables; j++)
            if (is_measured(s, load, j))
                n += steps_of(s, load->channel[k]) * steps_of(s, s->slot[load->variable[j]].index);
    return n;
}

static void fill_outer(const kd_system *s, const kd_load *load, const kd_matrix_plan *plan, int *place)
{
    for (int k = 0; k < load->nchannels; k++)
        for (int j = 0; j < load->nvariables; j++) {
            if (!is_measured(s, load, j)) continue;
            int x = s->slot[load->variable[j]].index;
            for (int l = 0; l < steps_of(s, x); l++)
                for (int i = 0; i < steps_of(s, load->channel[k]); i++)
                    *place++ = place_of(plan, step_v(s, load->channel[k], i), step_v(s, x, l));
        }
}

static bool add_path(kd_stiff_part *part, const kd_system *s, int pair, kd_arena *arena)
{
    if (part->path_of[pair] >= 0) return true;
    kd_stiff_path *path = &part->path[part->npaths];
    path->pair = pair;
    path->load.place_p = places_of_pair(s, &s->residual_p, &s->pair[pair], arena);
    path->load.place_v = places_of_pair(s, &s->residual_v, &s->pair[pair], arena);
    if (!path->load.place_p || !path->load.place_v) return false;
    part->path_of[pair] = part->npaths++;
    if (s->pair[pair].nsteps > part->scratch.width) part->scratch.width = s->pair[pair].nsteps;
    return true;
}

static bool add_stiff_load(kd_stiff_part *part, const kd_system *s, int number, kd_arena *arena)
{
    const kd_load *load = &s->load[number];
    kd_stiff_load *made = &part->load[part->nloads++];
    made->number = number;
    made->pair = single_pair(s, load);
    for (int k = 0; k < load->nchannels; k++) {
        int pair = s->measure[load->channel[k]].pair;
        if (pair >= 0 && !add_path(part, s, pair, arena)) return false;
    }
    if (made->pair >= 0) return true;
    int n = count_outer(s, load);
    made->outer_p = kd_cut_int(arena, n);
    made->outer_v = kd_cut_int(arena, n);
    if (!made->outer_p || !made->outer_v) return false;
    fill_outer(s, load, &s->residual_p, made->outer_p);
    fill_outer(s, load, &s->residual_v, made->outer_v);
    for (int j = 0; j < load->nvariables; j++)
        if (is_measured(s, load, j) && s->measure[s->slot[load->variable[j]].index].pair >= 0) part->by_slopes = true;
    for (int k = 0; k < load->nchannels; k++)
        part->by_slopes = part->by_slopes || s->measure[load->channel[k]].pair >= 0;
    return true;
}

static bool acts(const kd_load *load)
{
    return load->stiff && load->nchannels > 0;
}

// one more: for entries that are not there
static double *room_for(const kd_matrix_plan *plan, kd_arena *arena)
{
    return kd_cut_double(arena, plan->column[plan->columns] + 1);
}

bool kd_stiff_part_create(const kd_system *s, kd_arena *arena, kd_stiff_part *part)
{
    const int npairs = s->upto[KD_FOR_LOADS].pairs;
    int       n = 0;
    for (int i = 0; i < s->nloads; i++) n += acts(&s->load[i]);
    part->load = kd_arena_cut(arena, (size_t)n, sizeof *part->load);
    part->path = kd_arena_cut(arena, (size_t)npairs, sizeof *part->path);
    part->path_of = kd_cut_int(arena, npairs);
    part->p = (kd_matrix_values){.plan = &s->residual_p, .value = room_for(&s->residual_p, arena)};
    part->v = (kd_matrix_values){.plan = &s->residual_v, .value = room_for(&s->residual_v, arena)};
    if (arena->failed) return false;
    for (int i = 0; i < npairs; i++) part->path_of[i] = -1;
    for (int i = 0; i < s->nloads; i++)
        if (acts(&s->load[i]) && !add_stiff_load(part, s, i, arena)) return false;
    part->scratch.rows = kd_cut_double(arena, 6 * part->scratch.width);
    part->scratch.steps = kd_arena_cut(arena, (size_t)part->scratch.width, KD_STEP_SIZE);
    part->scratch.column = kd_cut_double(arena, part->scratch.width);
    return !arena->failed;
}

// ---- measures of one pair -------------------------------------------------------------------------------------------
typedef struct gradient {
    kd_vec3 N, F;
} gradient;

static gradient gradient_of(const kd_measure *m, const kd_relative *rel)
{
    gradient g;
    kd_measure_gradient(m, rel, &g.N, &g.F);
    return g;
}

// i = 3: no motion
static kd_vec3 unit(int i)
{
    return kd_vec(i == 0, i == 1, i == 2);
}

// (dN . omega + dF . d') along the six unit motions
static gradient change_of_rate(const kd_measure *m, const kd_relative *rel)
{
    double e[6];
    if (m->kind == KD_MEASURE_SHIFT || m->kind == KD_MEASURE_TURN) return (gradient){{0, 0, 0}, {0, 0, 0}};
    if (m->kind == KD_MEASURE_LENGTH) { // (d' - n n.d') / l
        const double  l = kd_vec_norm(rel->d);
        const kd_vec3 n = kd_vec_scale(1.0 / l, rel->d);
        return (gradient){{0, 0, 0}, kd_vec_scale(1.0 / l, kd_vec_axpy(rel->dd, -kd_vec_dot(n, rel->dd), n))};
    }
    for (int i = 0; i < 6; i++) {
        kd_vec3 dN, dF;
        kd_measure_curvature(m, rel, i < 3 ? unit(i) : unit(3), i < 3 ? unit(3) : unit(i - 3), &dN, &dF);
        e[i] = kd_vec_dot(dN, rel->omega) + kd_vec_dot(dF, rel->dd);
    }
    return (gradient){kd_vec_of(e), kd_vec_of(e + 3)};
}

// A += a b'
static void add_outer3(kd_mat3 *A, kd_vec3 a, kd_vec3 b)
{
    A->x = kd_vec_axpy(A->x, b.x, a);
    A->y = kd_vec_axpy(A->y, b.y, a);
    A->z = kd_vec_axpy(A->z, b.z, a);
}

static void add_outer6(kd_mat6 *A, const gradient *a, const gradient *b)
{
    add_outer3(&A->NN, a->N, b->N);
    add_outer3(&A->NF, a->N, b->F);
    add_outer3(&A->FN, a->F, b->N);
    add_outer3(&A->FF, a->F, b->F);
}

static kd_vec3 *column3(kd_mat3 *A, int i)
{
    return i == 0 ? &A->x : i == 1 ? &A->y : &A->z;
}

// K += force * change of the gradient
static void add_curvature(kd_mat6 *K, const kd_measure *m, const kd_relative *rel, double force)
{
    if (m->kind == KD_MEASURE_SHIFT || m->kind == KD_MEASURE_TURN) return;
    if (m->kind == KD_MEASURE_LENGTH) { // (1 - n n') / l
        const double  l = kd_vec_norm(rel->d), f = force / l;
        const kd_vec3 n = kd_vec_scale(1.0 / l, rel->d);
        add_outer3(&K->FF, kd_vec_scale(-f, n), n);
        K->FF.x.x += f, K->FF.y.y += f, K->FF.z.z += f;
        return;
    }
    for (int i = 0; i < 6; i++) {
        kd_vec3  dN, dF;
        kd_vec3 *N = column3(i < 3 ? &K->NN : &K->NF, i % 3), *F = column3(i < 3 ? &K->FN : &K->FF, i % 3);
        kd_measure_curvature(m, rel, i < 3 ? unit(i) : unit(3), i < 3 ? unit(3) : unit(i - 3), &dN, &dF);
        *N = kd_vec_axpy(*N, force, dN);
        *F = kd_vec_axpy(*F, force, dF);
    }
}

// sum over the channels (N_k, F_k) J_kj of a variable
static gradient wrench_of(const kd_system *s, const kd_load *load, const kd_relative *rel, const double *column)
{
    double   unit_part[6] = {0, 0, 0, 0, 0, 0};
    gradient sum;
    for (int k = 0; k < load->nchannels; k++) {
        const kd_measure *m = &s->measure[load->channel[k]];
        if (m->kind == KD_MEASURE_SHIFT) unit_part[3 + m->i] += column[k];
        if (m->kind == KD_MEASURE_TURN) unit_part[m->i] += column[k];
    }
    sum = (gradient){kd_vec_of(unit_part), kd_vec_of(unit_part + 3)};
    for (int k = 0; k < load->nchannels; k++) {
        const kd_measure *m = &s->measure[load->channel[k]];
        if (m->kind == KD_MEASURE_SHIFT || m->kind == KD_MEASURE_TURN) continue;
        gradient g = gradient_of(m, rel);
        sum.N = kd_vec_axpy(sum.N, column[k], g.N);
        sum.F = kd_vec_axpy(sum.F, column[k], g.F);
    }
    return sum;
}

static void add_variable_of_pair(kd_work *w, const kd_load *load, int j, const double *column, kd_path_load *out)
{
    const kd_system   *s = w->system;
    const kd_slot      at = s->slot[load->variable[j]];
    const kd_measure  *m = &s->measure[at.index];
    const kd_relative *rel = &w->rel[m->pair];
    const gradient     a = wrench_of(s, load, rel, column);
    const bool         plain = m->kind == KD_MEASURE_SHIFT || m->kind == KD_MEASURE_TURN;
    if (plain) { // the gradient is a unit vector
        const bool turn = m->kind == KD_MEASURE_TURN;
        kd_mat6   *A = at.level == 0 ? &out->K : &out->D;
        kd_vec3   *N = column3(turn ? &A->NN : &A->NF, m->i), *F = column3(turn ? &A->FN : &A->FF, m->i);
        *N = kd_vec_add(*N, a.N);
        *F = kd_vec_add(*F, a.F);
        return;
    }
    const gradient g = gradient_of(m, rel);
    if (at.level == 0) {
        add_outer6(&out->K, &a, &g);
        return;
    }
    const gradient e = change_of_rate(m, rel);
    add_outer6(&out->D, &a, &g);
    add_outer6(&out->K, &a, &e);
}

// ---- products of rows -----------------------------------------------------------------------------------------------
// Change of a variable along step l, by position
static double change_along(const kd_work *w, int slot, int l)
{
    const kd_slot     at = w->system->slot[slot];
    const kd_measure *m = &w->system->measure[at.index];
    if (at.level == 0) return w->slope[w->slope_at[at.index] + l];
    if (m->kind == KD_MEASURE_DOF) return 0.0;
    const kd_change *c = &w->change[w->change_at[m->pair] + l];
    kd_tangent       along = {c->w, c->u, c->omega_q, c->dd_q, c->alpha_q, c->ddd_q};
    return kd_measure_jet(m, &w->rel[m->pair], &along, NAN).d1;
}

static void add_products(kd_work *w, const kd_stiff_load *load, const double *J)
{
    const kd_system *s = w->system;
    const kd_load   *l = &s->load[load->number];
    kd_stiff_part   *part = &w->stiff;
    const int        rows = l->nchannels + l->nstates, *p = load->outer_p, *v = load->outer_v;
    for (int k = 0; k < l->nchannels; k++) {
        const double *along = w->slope + w->slope_at[l->channel[k]];
        const int     n = steps_of(s, l->channel[k]);
        for (int j = 0; j < l->nvariables; j++) {
            if (!is_measured(s, l, j)) continue;
            const kd_slot at = s->slot[l->variable[j]];
            for (int c = 0; c < steps_of(s, at.index); c++, p += n, v += n) {
                const double by_p = J[k + rows * j] * change_along(w, l->variable[j], c);
                const double by_v = at.level == 1 ? J[k + rows * j] * w->slope[w->slope_at[at.index] + c] : 0.0;
                for (int i = 0; i < n; i++) {
                    part->p.value[p[i]] -= along[i] * by_p;
                    part->v.value[v[i]] -= along[i] * by_v;
                }
            }
        }
    }
}

// ---- assembly -------------------------------------------------------------------------------------------------------
static void add_frozen(kd_work *w, int measure, double force)
{
    const kd_measure *m = &w->system->measure[measure];
    if (m->kind == KD_MEASURE_DOF) return;
    const kd_relative *rel = &w->rel[m->pair];
    kd_path_load      *out = &w->stiff.path[w->stiff.path_of[m->pair]].load;
    const gradient     g = gradient_of(m, rel);
    out->load.N = kd_vec_axpy(out->load.N, force, g.N);
    out->load.F = kd_vec_axpy(out->load.F, force, g.F);
    add_curvature(&out->K, m, rel, force);
}

static kd_eval add_load(kd_work *w, const kd_stiff_load *stiff)
{
    const kd_system *s = w->system;
    const kd_load   *load = &s->load[stiff->number];
    const int        rows = load->nchannels + load->nstates;
    memset(w->small, 0, (size_t)(rows * load->nvariables) * sizeof *w->small);
    kd_eval answer = load->class->jacobian(load, w->slot, w, w->small);
    if (answer != KD_EVAL_OK) return answer;
    for (int k = 0; k < load->nchannels; k++) add_frozen(w, load->channel[k], w->force[w->force_at[stiff->number] + k]);
    if (stiff->pair < 0) {
        add_products(w, stiff, w->small);
        return KD_EVAL_OK;
    }
    for (int j = 0; j < load->nvariables; j++)
        if (is_measured(s, load, j))
            add_variable_of_pair(w, load, j, w->small + rows * j, &w->stiff.path[w->stiff.path_of[stiff->pair]].load);
    return KD_EVAL_OK;
}

static void clear(kd_stiff_part *part)
{
    kd_matrix_start(&part->p);
    kd_matrix_start(&part->v);
    for (int i = 0; i < part->npaths; i++) {
        kd_path_load *load = &part->path[i].load;
        load->load = (kd_wrench){{0, 0, 0}, {0, 0, 0}};
        memset(&load->K, 0, sizeof load->K);
        memset(&load->D, 0, sizeof load->D);
    }
}

// Slopes and columns for products of rows of pairs
static void fill_columns(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_work_axes(w, x, KD_FOR_LOADS);
    for (int i = 0; i < s->upto[KD_FOR_LOADS].pairs; i++)
        kd_pair_rates(&s->pair[i], &w->rel[i], w->dx, w->change + w->change_at[i]);
}

kd_eval kd_work_stiff(kd_work *w, const kd_point *x)
{
    const kd_system    *s = w->system;
    kd_stiff_part      *part = &w->stiff;
    kd_eval             answer = kd_work_loads(w, x);
    const unsigned long stamp = s->by_multipliers ? x->acceleration_stamp : x->velocity_stamp;
    if (answer != KD_EVAL_OK || part->stamp == stamp) return answer;
    if (part->by_slopes) fill_columns(w, x);
    clear(part);
    for (int i = 0; i < part->nloads && answer == KD_EVAL_OK; i++) answer = add_load(w, &part->load[i]);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < part->npaths; i++) {
        const kd_stiff_path *path = &part->path[i];
        kd_path_product(&s->pair[path->pair], &s->tree, &w->motion, &w->rel[path->pair], w->dx, &path->load,
                        &part->scratch, part->p.value, part->v.value);
    }
    part->stamp = stamp;
    return KD_EVAL_OK;
}
