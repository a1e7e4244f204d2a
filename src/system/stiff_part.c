// stiff_part.c: derivatives of the residual by position and velocity, of the stiff loads only (S4 section 1): nothing
// of the tree, of constraints or of other loads is touched.
//
// A force f_k along the measure s_k is the load f_k (N_k, F_k) on its pair of frames, (N_k, F_k) the gradient of s_k
// (measure.h). A variable x_j that is a measure of the same pair changes with the pose by its gradient, its rate with
// the relative motion by the gradient and with the pose by e_j = (dN . omega + dF . d'), where (dN, dF) is the change
// of the gradient. So all loads of a pair together are one wrench with two matrices of order 6 (path_product.h):
//
//     K = sum (N_k, F_k) f_kj (N_j, F_j)' + (N_k, F_k) f_kj' e_j' + f_k d(N_k, F_k)
//     D = sum (N_k, F_k) f_kj' (N_j, F_j)'
//
// f_kj, f_kj' the derivatives of the law by the value and by the rate. What reads other pairs or acts along coordinates
// of joints is added as products of rows, -s_k' f_kj x_j.
#include <math.h>
#include <string.h>

#include "system/stiff_part.h"

// ---- structure ------------------------------------------------------------------------------------------------------

// a dof is a path of one step
static int steps_of(const kd_system *s, int measure)
{
    const kd_measure *m = &s->measure[measure];
    return m->kind == KD_MEASURE_DOF ? 1 : s->pair[m->pair].nsteps;
}

static int step_v(const kd_system *s, int measure, int l)
{
    const kd_measure *m = &s->measure[measure];
    return m->kind == KD_MEASURE_DOF ? s->tree.dof_v[m->dof] : s->pair[m->pair].step[l].v;
}

// accelerations are no variables of laws here
static bool is_measured(const kd_system *s, const kd_load *load, int j)
{
    const kd_slot at = s->slot[load->variable[j]];
    return at.kind == KD_SLOT_MEASURE && at.level < 2;
}

static bool is_plain(const kd_measure *m)
{
    return m->kind == KD_MEASURE_SHIFT || m->kind == KD_MEASURE_TURN;
}

// Component that a plain measure is
static int part_of(const kd_measure *m)
{
    return m->kind == KD_MEASURE_SHIFT ? 3 + m->i : m->i;
}

// Place of an entry; behind the values: none, or prescribed
static int entry_of(const kd_matrix_plan *plan, int row, int column)
{
    const int none = plan->column[plan->columns];
    if (row < 0 || column < 0) return none;
    // rows rise within a column: bisection
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

// (nsteps x nsteps) places of a block along a path
static const int *find_places(const kd_matrix_plan *plan, const kd_pair *pair, kd_arena *arena)
{
    int  n = pair->nsteps;
    int *place = kd_arena_cut(arena, (size_t)n * (size_t)n, sizeof *place);
    for (int l = 0; place && l < n; l++)
        for (int k = 0; k < n; k++) place[l * n + k] = entry_of(plan, pair->step[k].v, pair->step[l].v);
    return place;
}

// Entries of a path in the pattern of M; false: one is not there, or no memory (arena->failed)
static bool find_runs(const kd_system *s, kd_stiff_path *path, kd_arena *arena)
{
    const kd_matrix_plan M = {.rows = s->nv, .columns = s->nv, .column = s->tree.column, .row = s->tree.row};
    const kd_pair       *pair = &s->pair[path->pair];
    const int            n = pair->nsteps, none = M.column[M.columns];
    path->run = kd_arena_cut(arena, (size_t)n * (size_t)n, sizeof *path->run);
    for (int l = 0; path->run && l < n; l++)
        for (int k = 0; k < n; k++) {
            // along prescribed dofs nothing is solved for
            if (pair->step[k].v < 0 || pair->step[l].v < 0) continue;
            const int    from = l * n + k, to = entry_of(&M, pair->step[k].v, pair->step[l].v);
            kd_path_run *last = &path->run[path->nruns - 1];
            if (to == none) return false;
            if (path->nruns > 0 && last->from + last->n == from && last->to + last->n == to)
                last->n++;
            else
                path->run[path->nruns++] = (kd_path_run){from, to, 1};
        }
    return path->run != NULL;
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

// in the order in which add_products walks
static void fill_outer(const kd_system *s, const kd_load *load, const kd_matrix_plan *plan, int *place)
{
    for (int k = 0; k < load->nchannels; k++)
        for (int j = 0; j < load->nvariables; j++) {
            if (!is_measured(s, load, j)) continue;
            int x = s->slot[load->variable[j]].index;
            for (int l = 0; l < steps_of(s, x); l++)
                for (int i = 0; i < steps_of(s, load->channel[k]); i++)
                    *place++ = entry_of(plan, step_v(s, load->channel[k], i), step_v(s, x, l));
        }
}

// Products of rows of a load of several pairs in the pattern of M; false: one is not there, or no memory (arena->failed)
static bool find_outer_of_mass(const kd_system *s, kd_stiff_load *load, kd_arena *arena)
{
    const kd_matrix_plan M = {.rows = s->nv, .columns = s->nv, .column = s->tree.column, .row = s->tree.row};
    const int            n = count_outer(s, &s->load[load->number]), none = M.column[M.columns];
    load->outer_mass = kd_cut_int(arena, n);
    if (!load->outer_mass) return false;
    fill_outer(s, &s->load[load->number], &M, load->outer_mass);
    // along prescribed dofs nothing is solved for
    for (int i = 0; i < n; i++) {
        if (load->outer_mass[i] < none) continue;
        if (load->outer_p[i] < s->residual_p.column[s->residual_p.columns]) return false;
        load->outer_mass[i] = -1;
    }
    return true;
}

// Does the sum of all blocks and products fit into the pattern of M?
static void find_mass_places(const kd_system *s, kd_arena *arena, kd_stiff_part *part)
{
    part->fits_mass = true;
    for (int i = 0; i < part->nloads && part->fits_mass; i++)
        if (part->load[i].pair < 0) part->fits_mass = find_outer_of_mass(s, &part->load[i], arena);
    for (int i = 0; i < part->npaths && part->fits_mass; i++) part->fits_mass = find_runs(s, &part->path[i], arena);
}

// Are sums of the blocks of each part, one of which is renewed in a step, less work than all blocks in each step?
static void cut_sums(const kd_system *s, kd_arena *arena, kd_stiff_part *part)
{
    const int n = part->fits_mass ? s->tree.column[s->nv] : 0;
    int       entries = 0;
    for (int i = 0; i < part->npaths; i++)
        entries += s->pair[part->path[i].pair].nsteps * s->pair[part->path[i].pair].nsteps;
    for (int k = 0; k < KD_STIFF_PARTS && n > 0 && entries > 2 * n; k++) part->sum[k] = kd_cut_double(arena, n);
}

// Is it a force that depends on shifts only?
static bool by_shifts(const kd_system *s, const kd_load *load)
{
    bool shifts = true;
    for (int k = 0; k < load->nchannels; k++) {
        kd_measure_kind kind = s->measure[load->channel[k]].kind;
        shifts = shifts && (kind == KD_MEASURE_SHIFT || kind == KD_MEASURE_LENGTH || kind == KD_MEASURE_DOF);
    }
    for (int j = 0; j < load->nvariables; j++) {
        if (!is_measured(s, load, j)) continue;
        kd_measure_kind kind = s->measure[s->slot[load->variable[j]].index].kind;
        shifts = shifts && (kind == KD_MEASURE_SHIFT || kind == KD_MEASURE_LENGTH || kind == KD_MEASURE_DOF);
    }
    return shifts;
}

static bool add_path(kd_stiff_part *part, const kd_system *s, int pair, kd_arena *arena)
{
    // one path for all loads of a pair; first = 3: shifts alone until a load turns
    if (part->path_of[pair] >= 0) return true;
    kd_stiff_path *path = &part->path[part->npaths];
    path->pair = pair;
    path->load.first = 3;
    path->load.place_p = find_places(&s->residual_p, &s->pair[pair], arena);
    path->load.place_v = find_places(&s->residual_v, &s->pair[pair], arena);
    path->block = kd_cut_double(arena, s->pair[pair].nsteps * s->pair[pair].nsteps + 4);
    if (!path->load.place_p || !path->load.place_v || !path->block) return false;
    part->path_of[pair] = part->npaths++;
    if (s->pair[pair].nsteps > part->longest) part->longest = s->pair[pair].nsteps;
    return true;
}

static bool is_spring(const kd_system *s, const kd_stiff_load *stiff)
{
    const kd_load *load = &s->load[stiff->number];
    // one force along a distance that reads nothing else of the motion
    bool spring = stiff->pair >= 0 && load->nchannels == 1 && s->measure[load->channel[0]].kind == KD_MEASURE_LENGTH;
    for (int j = 0; j < load->nvariables && spring; j++) {
        const kd_slot at = s->slot[load->variable[j]];
        if (at.kind == KD_SLOT_MEASURE) spring = at.index == load->channel[0] && at.level < 2;
    }
    return spring;
}

// Which component of the pose or of its rate each variable of a load with plain channels is. false: one is neither that nor
// a cosine
static bool find_components(const kd_system *s, const kd_load *load, int *component)
{
    for (int j = 0; j < load->nvariables; j++) {
        const kd_measure *m = &s->measure[s->slot[load->variable[j]].index];
        if (!is_measured(s, load, j)) continue;
        if (!is_plain(m) && (m->kind != KD_MEASURE_COSINE || s->slot[load->variable[j]].level > 0)) return false;
        component[j] = is_plain(m) ? part_of(m) : -1 - m->i;
    }
    return true;
}

static bool add_stiff_load(kd_stiff_part *part, const kd_system *s, int number, kd_arena *arena)
{
    const kd_load *load = &s->load[number];
    kd_stiff_load *made = &part->load[part->nloads++];
    made->number = number;
    // how it can be added: as a spring, by unit vectors alone or on one side, along one pair, or by products of rows
    made->pair = single_pair(s, load);
    made->spring = is_spring(s, made);
    made->plain = made->pair >= 0 && load->nchannels <= 6;
    for (int k = 0; k < load->nchannels && made->plain; k++) {
        const kd_measure *m = &s->measure[load->channel[k]];
        made->plain = is_plain(m);
        made->part[k] = part_of(m);
    }
    made->component = kd_cut_int(arena, load->nvariables);
    if (!made->component) return false;
    made->flat = made->plain && load->nchannels == 6 && find_components(s, load, made->component);
    for (int k = 0; k < load->nchannels; k++) {
        int pair = s->measure[load->channel[k]].pair;
        if (pair >= 0 && !add_path(part, s, pair, arena)) return false;
        if (pair >= 0 && !by_shifts(s, load)) part->path[part->path_of[pair]].load.first = 0;
    }
    if (made->pair >= 0) return true;
    // several pairs: places of all products
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
    // how many act at all
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
    part->scratch = kd_arena_cut(arena, kd_path_scratch(part->longest), sizeof *part->scratch);
    find_mass_places(s, arena, part);
    cut_sums(s, arena, part);
    return !arena->failed;
}

// ---- measures of one pair -------------------------------------------------------------------------------------------
// Moment and force, or turn and shift
typedef struct six {
    double c[6];
} six;

static six six_of(kd_vec3 w, kd_vec3 u)
{
    return (six){{w.x, w.y, w.z, u.x, u.y, u.z}};
}

static six gradient_of(const kd_measure *m, const kd_relative *rel)
{
    kd_vec3 N, F;
    kd_measure_gradient(m, rel, &N, &F);
    return six_of(N, F);
}

// i > 2: no motion
static kd_vec3 unit(int i)
{
    return kd_vec(i == 0, i == 1, i == 2);
}

// Change of the gradient along component i of the pose
static six curvature_along(const kd_measure *m, const kd_relative *rel, int i)
{
    kd_vec3 dN, dF;
    kd_measure_curvature(m, rel, unit(i), i < 3 ? unit(3) : unit(i - 3), &dN, &dF);
    return six_of(dN, dF);
}

// (dN . omega + dF . d') along the six components of the pose
static six change_of_rate(const kd_measure *m, const kd_relative *rel)
{
    if (m->kind == KD_MEASURE_LENGTH) { // (d' - n n.d') / l
        const kd_vec3 n = rel->n, none = {0, 0, 0};
        return six_of(none, kd_vec_scale(1.0 / rel->length, kd_vec_axpy(rel->dd, -kd_vec_dot(n, rel->dd), n)));
    }
    six e;
    for (int i = 0; i < 6; i++) {
        const six d = curvature_along(m, rel, i);
        e.c[i] = kd_vec_dot(kd_vec_of(d.c), rel->omega) + kd_vec_dot(kd_vec_of(d.c + 3), rel->dd);
    }
    return e;
}

// column += factor a
static void add_column(double *column, double factor, const six *a)
{
    for (int i = 0; i < 6; i++) column[i] += factor * a->c[i];
}

// A += a b', columns `first` to `end` - 1
static void add_outer(double A[6][6], const six *a, const six *b, int first, int end)
{
    for (int j = first; j < end; j++) add_column(A[j], b->c[j], a);
}

// K += force * change of the gradient
static void add_curvature(double K[6][6], const kd_measure *m, const kd_relative *rel, double force)
{
    if (m->kind == KD_MEASURE_LENGTH) { // (1 - n n') / l
        const double  f = force / rel->length;
        const kd_vec3 n = rel->n, none = {0, 0, 0};
        const six     a = six_of(none, kd_vec_scale(-f, n)), b = six_of(none, n);
        add_outer(K, &a, &b, 3, 6);
        for (int i = 3; i < 6; i++) K[i][i] += f;
        return;
    }
    for (int i = 0; i < 6; i++) {
        const six d = curvature_along(m, rel, i);
        add_column(K[i], force, &d);
    }
}

// sum over the channels (N_k, F_k) J_kj of a variable
static six wrench_of(const kd_system *s, const kd_stiff_load *stiff, const kd_relative *rel, const double *column)
{
    const kd_load *load = &s->load[stiff->number];
    six            sum = {{0, 0, 0, 0, 0, 0}};
    for (int k = 0; k < load->nchannels; k++) {
        if (stiff->plain) {
            sum.c[stiff->part[k]] = column[k];
            continue;
        }
        const six g = gradient_of(&s->measure[load->channel[k]], rel);
        add_column(sum.c, column[k], &g);
    }
    return sum;
}

static void add_variable_of_pair(kd_work *w, const kd_stiff_load *stiff, int j, const double *column, kd_path_load *out)
{
    const kd_system   *s = w->system;
    const kd_slot      at = s->slot[s->load[stiff->number].variable[j]];
    const kd_measure  *m = &s->measure[at.index];
    const kd_relative *rel = &w->rel[m->pair];
    // both are unit vectors: one entry for each channel
    if (is_plain(m) && stiff->plain) {
        double *by = at.level == 0 ? out->K[part_of(m)] : out->D[part_of(m)];
        for (int k = 0; k < s->load[stiff->number].nchannels; k++) by[stiff->part[k]] += column[k];
        return;
    }
    const six a = wrench_of(s, stiff, rel, column);
    // the variable is one, the channels are not
    if (is_plain(m)) {
        add_column(at.level == 0 ? out->K[part_of(m)] : out->D[part_of(m)], 1.0, &a);
        return;
    }
    // a length has no part by turns, a cosine none by shifts
    const int first = m->kind == KD_MEASURE_LENGTH ? 3 : 0, end = m->kind == KD_MEASURE_COSINE ? 3 : 6;
    const six g = gradient_of(m, rel);
    add_outer(at.level == 0 ? out->K : out->D, &a, &g, first, end);
    if (at.level == 0) return;
    const six e = change_of_rate(m, rel);
    add_outer(out->K, &a, &e, first, 6);
}

// A force along the distance of two points that depends on nothing else than the distance l and its rate: with n = d/l,
// e = (d' - n n.d')/l, the derivatives k and c of its law
//
//     load f n,  K = n (k n + c e)' + f/l (1 - n n'),  D = c n n'
static void add_spring(kd_work *w, const kd_stiff_load *stiff, const double *J, kd_path_load *out)
{
    const kd_system   *s = w->system;
    const kd_load     *load = &s->load[stiff->number];
    const kd_relative *rel = &w->rel[stiff->pair];
    const double       f = w->force[w->force_at[stiff->number]], inverse = 1.0 / rel->length, share = f * inverse;
    const kd_vec3      n = kd_vec_scale(inverse, rel->d);
    const kd_vec3      e = kd_vec_scale(inverse, kd_vec_axpy(rel->dd, -kd_vec_dot(n, rel->dd), n));
    double             by[2] = {0.0, 0.0};
    // k = df/dl, c = df/dl'
    for (int j = 0; j < load->nvariables; j++) {
        const kd_slot at = s->slot[load->variable[j]];
        if (at.kind == KD_SLOT_MEASURE) by[at.level] += J[j * (1 + load->nstates)];
    }
    // k n + c e - (f/l) n: the part -f/l n n' of the curvature goes with the first product
    const kd_vec3 along = kd_vec_axpy(kd_vec_scale(by[0] - share, n), by[1], e), rate = kd_vec_scale(by[1], n);
    const double  unit_n[3] = {n.x, n.y, n.z}, of_pose[3] = {along.x, along.y, along.z};
    const double  of_rate[3] = {rate.x, rate.y, rate.z};
    for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 3; i++) {
            out->K[3 + j][3 + i] += unit_n[i] * of_pose[j];
            out->D[3 + j][3 + i] += unit_n[i] * of_rate[j];
        }
        out->K[3 + j][3 + j] += share;
        out->load[3 + j] += f * unit_n[j];
    }
}

// Six forces along shifts and turns that read shifts, turns, their rates and cosines c_i of an axis c: unit vectors all of
// them, but for dc_i = w . (c x e_i), which has two components
static void add_flat(kd_work *w, const kd_stiff_load *stiff, const double *J, kd_path_load *out)
{
    const kd_system   *s = w->system;
    const kd_load     *load = &s->load[stiff->number];
    const kd_relative *rel = &w->rel[stiff->pair];
    const double      *force = w->force + w->force_at[stiff->number];
    const int          rows = 6 + load->nstates, *part = stiff->part;
    for (int j = 0; j < load->nvariables; j++) {
        const kd_slot at = s->slot[load->variable[j]];
        const double *by = J + rows * j;
        const int     i = -1 - stiff->component[j];
        if (at.kind != KD_SLOT_MEASURE) continue;
        if (i < 0) {
            double *column = at.level == 0 ? out->K[stiff->component[j]] : out->D[stiff->component[j]];
            for (int k = 0; k < 6; k++) column[part[k]] += by[k];
            continue;
        }
        const kd_mat3 *C = &rel->C;
        const int      axis = s->measure[at.index].j, y = (i + 1) % 3, z = (i + 2) % 3;
        const kd_vec3  a = axis == 0 ? C->x : axis == 1 ? C->y : C->z;
        const double   c[3] = {a.x, a.y, a.z};
        for (int k = 0; k < 6; k++) {
            out->K[y][part[k]] += c[z] * by[k];
            out->K[z][part[k]] -= c[y] * by[k];
        }
    }
    for (int k = 0; k < 6; k++) out->load[part[k]] += force[k];
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
    const int        rows = l->nchannels + l->nstates, *v = load->outer_v;
    const int       *p = part->with_mass ? load->outer_mass : load->outer_p;
    // -s_k f_kj x_j, channel by channel, along the steps of both
    for (int k = 0; k < l->nchannels; k++) {
        const double *along = w->slope + w->slope_at[l->channel[k]];
        const int     n = steps_of(s, l->channel[k]);
        for (int j = 0; j < l->nvariables; j++) {
            if (!is_measured(s, l, j)) continue;
            const kd_slot at = s->slot[l->variable[j]];
            for (int c = 0; c < steps_of(s, at.index); c++, p += n, v += n) {
                const double by_p = J[k + rows * j] * change_along(w, l->variable[j], c);
                const double by_v = at.level == 1 ? J[k + rows * j] * w->slope[w->slope_at[at.index] + c] : 0.0;
                // the weighted sum alone, or both matrices
                if (part->together) {
                    const double sum = part->by_p * by_p + part->by_v * by_v;
                    for (int i = 0; i < n; i++)
                        if (p[i] >= 0) part->together[p[i]] -= along[i] * sum;
                    continue;
                }
                for (int i = 0; i < n; i++) {
                    part->p.value[p[i]] -= along[i] * by_p;
                    part->v.value[v[i]] -= along[i] * by_v;
                }
            }
        }
    }
}

// ---- assembly -------------------------------------------------------------------------------------------------------

// the load of a force along a measure, and f d(N, F)
static void add_frozen(kd_work *w, int measure, double force)
{
    const kd_measure *m = &w->system->measure[measure];
    if (m->kind == KD_MEASURE_DOF) return;
    const kd_relative *rel = &w->rel[m->pair];
    kd_path_load      *out = &w->stiff.path[w->stiff.path_of[m->pair]].load;
    if (is_plain(m)) {
        out->load[part_of(m)] += force;
        return;
    }
    const six g = gradient_of(m, rel);
    add_column(out->load, force, &g);
    add_curvature(out->K, m, rel, force);
}

static kd_eval add_load(kd_work *w, kd_stiff_load *stiff)
{
    const kd_system *s = w->system;
    const kd_load   *load = &s->load[stiff->number];
    const int        rows = load->nchannels + load->nstates;
    memset(w->small, 0, (size_t)(rows * load->nvariables) * sizeof *w->small);
    kd_eval answer = load->class->jacobian(load, w->slot, w, w->small);
    if (answer != KD_EVAL_OK) return answer;
    // in the cheapest way that it allows
    if (stiff->spring) {
        add_spring(w, stiff, w->small, &w->stiff.path[w->stiff.path_of[stiff->pair]].load);
        return KD_EVAL_OK;
    }
    if (stiff->flat) {
        add_flat(w, stiff, w->small, &w->stiff.path[w->stiff.path_of[stiff->pair]].load);
        return KD_EVAL_OK;
    }
    for (int k = 0; k < load->nchannels; k++) add_frozen(w, load->channel[k], w->force[w->force_at[stiff->number] + k]);
    if (stiff->pair < 0) {
        add_products(w, stiff, w->small);
        if (stiff->kept) memcpy(stiff->kept, w->small, (size_t)(rows * load->nvariables) * sizeof *w->small);
        stiff->kept_stamp = w->load_stamp;
        return KD_EVAL_OK;
    }
    for (int j = 0; j < load->nvariables; j++)
        if (is_measured(s, load, j))
            add_variable_of_pair(w, stiff, j, w->small + rows * j, &w->stiff.path[w->stiff.path_of[stiff->pair]].load);
    return KD_EVAL_OK;
}

static void clear_paths(kd_stiff_part *part)
{
    for (int i = 0; i < part->npaths; i++) {
        kd_path_load *load = &part->path[i].load;
        if (!part->path[i].renew) continue;
        memset(load->load, 0, sizeof load->load);
        memset(load->K, 0, sizeof load->K);
        memset(load->D, 0, sizeof load->D);
    }
}

// Slopes and columns for products of rows of pairs
static void fill_columns(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_work_axes(w, x, KD_FOR_LOADS);
    for (int i = 0; i < s->upto[KD_FOR_LOADS].pairs; i++)
        kd_pair_rates(&s->pair[i], &s->tree, &w->motion, &w->rel[i], w->dx, w->change + w->change_at[i]);
}

// K, D and load of the paths that are renewed; products of rows
static kd_eval add_loads(kd_work *w, const kd_point *x)
{
    kd_stiff_part *part = &w->stiff;
    kd_eval        answer = KD_EVAL_OK;
    // slopes first: loads of several pairs are products of them
    if (part->by_slopes) fill_columns(w, x);
    clear_paths(part);
    for (int i = 0; i < part->nloads && answer == KD_EVAL_OK; i++) {
        kd_stiff_load *load = &part->load[i];
        if (load->pair < 0 || part->path[part->path_of[load->pair]].renew) answer = add_load(w, load);
    }
    return answer;
}

kd_eval kd_work_stiff(kd_work *w, const kd_point *x)
{
    const kd_system    *s = w->system;
    kd_stiff_part      *part = &w->stiff;
    kd_eval             answer = kd_work_loads(w, x);
    const unsigned long stamp = s->late ? x->acceleration_stamp : x->velocity_stamp;
    if (answer != KD_EVAL_OK || part->stamp == stamp) return answer;
    // from zero, with all paths
    kd_matrix_start(&part->p);
    kd_matrix_start(&part->v);
    for (int i = 0; i < part->npaths; i++) part->path[i].renew = true;
    answer = add_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    // along each path: K, D and the wrench become entries of the patterns
    for (int i = 0; i < part->npaths; i++) {
        const kd_stiff_path *path = &part->path[i];
        kd_path_product(&s->pair[path->pair], &s->tree, &w->motion, &w->rel[path->pair], w->dx, &path->load,
                        part->scratch, part->p.value, part->v.value);
    }
    part->stamp = stamp;
    return KD_EVAL_OK;
}

static void renew_block(kd_work *w, kd_stiff_path *path)
{
    const kd_system *s = w->system;
    kd_path_load    *load = &path->load;
    // by_p K + by_v D: one matrix to carry along the path
    for (int j = 0; j < 6; j++)
        for (int k = 0; k < 6; k++) load->K[j][k] = w->stiff.by_p * load->K[j][k] + w->stiff.by_v * load->D[j][k];
    kd_path_congruence(&s->pair[path->pair], &s->tree, &w->motion, &w->rel[path->pair], load, w->stiff.scratch,
                       path->block);
}

// four at a time; entries that are not there all go to the place behind the values
static void subtract_block(const kd_stiff_path *path, int n, double *values)
{
    const int    *place = path->load.place_p;
    const double *block = path->block;
    int           k = 0;
    for (; k + 4 <= n * n; k += 4) {
        values[place[k]] -= block[k];
        values[place[k + 1]] -= block[k + 1];
        values[place[k + 2]] -= block[k + 2];
        values[place[k + 3]] -= block[k + 3];
    }
    for (; k < n * n; k++) values[place[k]] -= block[k];
}

// Blocks of one part in turn, all of them until they are known; old ones stay as they were. Products of rows are added to
// values.
static kd_eval renew_blocks(kd_work *w, const kd_point *x, double by_p, double by_v, int number, int parts,
                            double *values)
{
    kd_stiff_part *part = &w->stiff;
    part->stamp = 0;
    part->by_p = by_p;
    part->by_v = by_v;
    part->together = values;
    for (int i = 0; i < part->npaths; i++) part->path[i].renew = !part->blocks_known || i % parts == number;
    kd_eval answer = add_loads(w, x);
    part->together = NULL;
    part->blocks_known = answer == KD_EVAL_OK;
    for (int i = 0; i < part->npaths && answer == KD_EVAL_OK; i++)
        if (part->path[i].renew) renew_block(w, &part->path[i]);
    return answer;
}

// Entries that are not there go behind the values: there is room for them in part->p only.
kd_eval kd_work_stiff_sum(kd_work *w, const kd_point *x, double by_p, double by_v, int number, int parts,
                          double *values)
{
    const kd_system *s = w->system;
    kd_stiff_part   *part = &w->stiff;
    kd_eval          answer = kd_work_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    kd_matrix_start(&part->p);
    answer = renew_blocks(w, x, by_p, by_v, number, parts, part->p.value);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < part->npaths; i++)
        subtract_block(&part->path[i], s->pair[part->path[i].pair].nsteps, part->p.value);
    memcpy(values, part->p.value, (size_t)part->p.plan->column[part->p.plan->columns] * sizeof *values);
    return KD_EVAL_OK;
}

// values -= blocks of one part
static void subtract_blocks(const kd_work *w, int number, int parts, double *values)
{
    const kd_stiff_part *part = &w->stiff;
    for (int i = number; i < part->npaths; i += parts)
        kd_path_subtract(&w->motion, part->path[i].nruns, part->path[i].run, part->path[i].block, values);
}

// Sums of all blocks of each part: that of the part which was renewed anew, all where others stand there
static void renew_sums(kd_work *w, int number, int parts)
{
    kd_stiff_part *part = &w->stiff;
    const size_t   size = (size_t)w->system->tree.column[w->system->nv] * sizeof **part->sum;
    for (int k = 0; k < KD_STIFF_PARTS; k++) {
        if (part->summed == parts && k != number) continue;
        memset(part->sum[k], 0, size);
        if (k < parts) subtract_blocks(w, k, parts, part->sum[k]);
    }
    part->summed = parts;
}

kd_eval kd_work_mass_and_stiff(kd_work *w, const kd_point *x, double by_p, double by_v, int number, int parts,
                               double *values)
{
    const kd_tree *tree = &w->system->tree;
    kd_stiff_part *part = &w->stiff;
    kd_eval        answer = kd_work_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    // M, then products of rows, then the blocks
    kd_tree_mass(tree, &w->motion, values);
    part->with_mass = true;
    if (!part->blocks_known) part->summed = 0;
    answer = renew_blocks(w, x, by_p, by_v, number, parts, values);
    part->with_mass = false;
    if (answer != KD_EVAL_OK) return answer;
    if (!part->sum[0] || parts == 1 || parts > KD_STIFF_PARTS) {
        subtract_blocks(w, 0, 1, values);
        part->summed = 0;
    } else {
        renew_sums(w, number, parts);
        kd_path_add(&w->motion, tree->column[w->system->nv], (const double *const *)part->sum, values);
    }
    return KD_EVAL_OK;
}
