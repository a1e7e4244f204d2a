// system.c: the two matrices of a step and their fixed elimination. R is the residual M a - f + ..., R_p = -f_p.
//
//     step:  [M + h R_v + h^2 R_p     h R_r        C'      ]        mass:  [M  0  C']
//            [-h (b_v + h b_p)        I - h b_r    0       ]               [0  I  0 ]
//            [C of the rows           0            -epsilon]               [C  0  0 ]
//
// in the unknowns (v1 - v0, r1 - r0, h lambda, h mu). J1 leaves the terms with h^2 away, J3 all but b_r. Rows that a hook keeps are
// those of the identity.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "realtime/internal.h"

// Default epsilon, relative to the mobility along a constraint. Redundant rows contradict each other a little beside
// the manifold; much smaller values make them lock the mechanism.
#define REGULARISATION 1e-3

// ---- parts ----------------------------------------------------------------------------------------------------------
typedef struct part {
    const kd_rt_block *block;
    int                row, column; // place of the block in the matrix
    bool               transposed;
    double             factor;
} part;

// What a matrix is made of.
typedef struct origin {
    bool                     mass; // K; otherwise the matrix of a step
    const kd_rt_block       *M;
    const kd_rt_constraints *rows, *columns;
} origin;

// The blocks of the matrix above, each with its place and factor
static void list_parts(const kd_realtime *rt, const origin *of, part list[KD_RT_PARTS])
{
    const double       h = rt->opt.h;
    const int          r = rt->n.nv, lambda = r + rt->n.nr, mu = lambda + rt->n.nlambda;
    const kd_rt_block *d = rt->derivative;
    // [M C'; C 0]
    list[KD_RT_MASS] = (part){of->M, 0, 0, false, 1.0};
    list[KD_RT_G_T] = (part){&of->columns->G, 0, lambda, true, 1.0};
    list[KD_RT_H_T] = (part){&of->columns->H, 0, mu, true, 1.0};
    list[KD_RT_G] = (part){&of->rows->G, lambda, 0, false, 1.0};
    list[KD_RT_H] = (part){&of->rows->H, mu, 0, false, 1.0};
    // explicit: nothing more; J3: I - h b_r
    for (int i = 0; i < KD_RT_DERIVATIVES; i++) list[i] = (part){0};
    if (of->mass || rt->opt.jacobian == KD_REALTIME_EXPLICIT) return;
    list[KD_RT_B_R] = (part){&d[KD_RT_B_R], r, r, false, -h};
    if (rt->opt.jacobian == KD_REALTIME_J3) return;
    // J1: h R_v, h R_r, -h b_v; together: h R_v + h^2 R_p in one, be it that of M
    if (rt->together && !rt->with_mass)
        list[KD_RT_F_P] = (part){&d[KD_RT_F_P], 0, 0, false, 1.0};
    else if (!rt->together)
        list[KD_RT_F_V] = (part){&d[KD_RT_F_V], 0, 0, false, h};
    list[KD_RT_F_R] = (part){&d[KD_RT_F_R], 0, r, false, h};
    list[KD_RT_B_V] = (part){&d[KD_RT_B_V], r, 0, false, -h};
    if (rt->opt.jacobian == KD_REALTIME_J1) return;
    // J2, exact: h^2 R_p, -h^2 b_p
    if (!rt->together) list[KD_RT_F_P] = (part){&d[KD_RT_F_P], 0, 0, false, h * h};
    list[KD_RT_B_P] = (part){&d[KD_RT_B_P], r, 0, false, -h * h};
}

static bool is_in(const part *p)
{
    return p->block && p->block->used;
}

// ---- creation -------------------------------------------------------------------------------------------------------
typedef struct collector {
    int    *row, *column;
    double *value;
    int     count;
} collector;

static void collect(collector *c, int row, int column, double value)
{
    if (c->row) {
        c->row[c->count] = row;
        c->column[c->count] = column;
        c->value[c->count] = value;
    }
    c->count++;
}

static void collect_part(collector *c, const part *p)
{
    if (!is_in(p)) return;
    const kd_pattern *at = &p->block->pattern;
    for (int j = 0; j < at->columns; j++)
        for (int k = at->column[j]; k < at->column[j + 1]; k++) {
            int row = p->transposed ? j : at->row[k], column = p->transposed ? at->row[k] : j;
            collect(c, p->row + row, p->column + column, p->factor * p->block->values[k]);
        }
}

static void collect_all(collector *c, const kd_realtime *rt, const part list[KD_RT_PARTS], bool mass)
{
    c->count = 0;
    for (int i = 0; i < KD_RT_PARTS; i++) collect_part(c, &list[i]);
    for (int i = 0; i < rt->n.nr; i++) collect(c, rt->n.nv + i, rt->n.nv + i, 1.0);
    for (int i = 0; i < rt->nrows; i++)
        collect(c, rt->nunknowns - rt->nrows + i, rt->nunknowns - rt->nrows + i, mass ? 0.0 : -rt->epsilon[i]);
}

static int root_of(int *block, int i)
{
    while (block[i] != i) i = block[i] = block[block[i]];
    return i;
}

static void join_blocks(const kd_pattern *M, const bool *trunk, int *block)
{
    for (int j = 0; j < M->columns; j++)
        for (int k = M->column[j]; k < M->column[j + 1]; k++)
            if (trunk[j] == trunk[M->row[k]]) block[root_of(block, M->row[k])] = root_of(block, j);
}

// Velocities that M connects belong together (a body, a tree); of a tree those that it connects with all others (the
// trunk: a car body) stand apart, so that its branches are blocks. Inner states stand alone, multipliers nowhere.
static void find_blocks(const kd_realtime *rt, int *block, int *size, bool *trunk)
{
    const kd_pattern *M = &rt->M.pattern;
    // connected parts of the graph of M
    for (int i = 0; i < rt->nunknowns; i++) block[i] = i;
    join_blocks(M, trunk, block);
    for (int i = 0; i < rt->n.nv; i++) size[root_of(block, i)]++;
    // trunk: velocities whose column of M reaches all of their part
    for (int i = 0; i < rt->n.nv; i++) trunk[i] = M->column[i + 1] - M->column[i] == size[root_of(block, i)];
    // connected parts without the edges between trunk and branches
    for (int i = 0; i < rt->nunknowns; i++) block[i] = i;
    join_blocks(M, trunk, block);
    for (int i = 0; i < rt->n.nv; i++) block[i] = root_of(block, i);
    const int lambda = rt->nunknowns - rt->nrows;
    for (int i = 0; i < rt->nrows; i++) block[lambda + i] = i < rt->n.nlambda && rt->open[i] ? lambda + i : -1;
}

// The slots come in the order in which the entries were collected.
static void share_slots(kd_realtime *rt, kd_rt_matrix *m, const part list[KD_RT_PARTS], int *slot)
{
    for (int i = 0; i < KD_RT_PARTS; i++) {
        m->slot[i] = is_in(&list[i]) ? slot : NULL;
        if (is_in(&list[i])) slot += kd_rt_block_count(list[i].block);
    }
    m->slot_r = slot;
    m->slot_epsilon = slot + rt->n.nr;
}

// Parts whose entries nobody adds to; all: number of entries, uses: (places of the factors) entries of each, zero
static void find_alone(kd_rt_matrix *m, const part list[KD_RT_PARTS], const int *slot, int all, int *uses)
{
    for (int k = 0; k < all; k++) uses[slot[k]]++;
    for (int i = 0; i < KD_RT_PARTS; i++) {
        m->alone[i] = list[i].factor == 1.0;
        for (int k = 0; m->slot[i] && k < kd_rt_block_count(list[i].block); k++)
            m->alone[i] = m->alone[i] && uses[m->slot[i][k]] == 1;
    }
}

static kd_status name_singular(const kd_realtime *rt, int bad, char *message, size_t size)
{
    char name[128];
    int  lambda = rt->n.nv + rt->n.nr;
    if (bad >= lambda) {
        bool holonomic = bad < lambda + rt->n.nlambda;
        kd_eom_name(rt->eom, holonomic ? KD_NAME_LAMBDA : KD_NAME_MU,
                    holonomic ? bad - lambda : bad - lambda - rt->n.nlambda, name, sizeof name);
        kd_text(
            message, size,
            "the constraint %s depends on the others at t = %.9g: remove it, or take the stabilisation regularisation",
            name, rt->now->t);
    } else {
        kd_eom_name(rt->eom, bad < rt->n.nv ? KD_NAME_V : KD_NAME_R, bad < rt->n.nv ? bad : bad - rt->n.nv, name,
                    sizeof name);
        kd_text(
            message, size,
            "the matrix of the step does not determine %s at t = %.9g: is there a body without mass or inertia? Joint "
            "coordinates can do without",
            name, rt->now->t);
    }
    return KD_ERR_REDUNDANT;
}

// Projections of positions ask for the answer to the rows of holonomic constraints.
static void mark_constraints(const kd_realtime *rt, kd_elimination *lu, bool *marked)
{
    const int first = rt->n.nv + rt->n.nr, end = first + rt->n.nlambda;
    for (int i = 0; i < rt->nunknowns; i++) marked[i] = i >= first && i < end;
    kd_elimination_mark(lu, marked);
}

static kd_status create_matrix(kd_realtime *rt, bool mass, kd_rt_matrix *m, char *message, size_t size)
{
    kd_arena  scratch = {0};
    part      list[KD_RT_PARTS];
    collector c = {0};
    kd_status status = KD_ERR_MEMORY;
    int       bad = -1;
    // count the entries, then collect them
    list_parts(rt, &(origin){mass, &rt->M, &rt->start, &rt->start}, list);
    collect_all(&c, rt, list, mass);
    int  *slot = kd_cut_int(&rt->arena, c.count), *block = kd_cut_int(&scratch, rt->nunknowns);
    int  *count = kd_cut_int(&scratch, rt->nunknowns);
    bool *trunk = kd_cut_bool(&scratch, rt->nunknowns);
    c.row = kd_cut_int(&scratch, c.count);
    c.column = kd_cut_int(&scratch, c.count);
    c.value = kd_cut_double(&scratch, c.count);
    // order and pattern of the elimination from the numbers at the start
    if (!rt->arena.failed && !scratch.failed) {
        collect_all(&c, rt, list, mass);
        find_blocks(rt, block, count, trunk);
        status = kd_elimination_create(rt->nunknowns, block, &(kd_entries){c.count, c.row, c.column, c.value}, slot,
                                       &m->lu, &bad);
        share_slots(rt, m, list, slot);
        int *uses = status == KD_OK ? kd_cut_int(&scratch, (int)kd_elimination_numbers(m->lu)) : NULL;
        if (uses) find_alone(m, list, slot, c.count, uses);
        if (scratch.failed) status = KD_ERR_MEMORY;
        if (status == KD_OK) mark_constraints(rt, m->lu, trunk);
    }
    if (status == KD_ERR_DECOMPOSITION) status = name_singular(rt, bad, message, size);
    kd_arena_release(&scratch);
    return status;
}

// Mobility along each constraint, as the diagonal of M gives it: the scale of epsilon.
static void set_epsilon(kd_realtime *rt)
{
    // epsilon_i = REGULARISATION sum_j C_ij^2 / M_jj
    const kd_rt_block *C[2] = {&rt->start.G, &rt->start.H};
    for (int i = 0; i < rt->nrows; i++) rt->epsilon[i] = rt->opt.epsilon;
    if (rt->opt.epsilon >= 0) return;
    for (int i = 0; i < rt->nrows; i++) rt->epsilon[i] = 0.0;
    for (int j = 0; j < rt->n.nv; j++) {
        double mass = 0.0;
        for (int k = rt->M.pattern.column[j]; k < rt->M.pattern.column[j + 1]; k++)
            if (rt->M.pattern.row[k] == j) mass = rt->M.values[k];
        for (int b = 0; b < 2 && mass > 0.0; b++)
            for (int k = C[b]->used ? C[b]->pattern.column[j] : 0; C[b]->used && k < C[b]->pattern.column[j + 1]; k++)
                rt->epsilon[C[b]->pattern.row[k] + b * rt->n.nlambda] +=
                    REGULARISATION * C[b]->values[k] * C[b]->values[k] / mass;
    }
}

bool kd_rt_needs_mass(const kd_realtime_options *opt)
{
    return opt->stabilisation == KD_REALTIME_PROJECTION ||
           (opt->stabilisation == KD_REALTIME_GGL && opt->projector != KD_REALTIME_PROJECTOR_STEP);
}

kd_status kd_rt_systems_create(kd_realtime *rt, char *message, size_t size)
{
    memset(rt->epsilon, 0, (size_t)rt->nrows * sizeof *rt->epsilon);
    if (rt->opt.stabilisation == KD_REALTIME_REGULARISATION) set_epsilon(rt);
    // open rows: 1 on the diagonal, nothing beside it
    for (int i = 0; i < rt->n.nlambda; i++)
        if (rt->open[i]) rt->epsilon[i] = -1.0;
    kd_status status = create_matrix(rt, false, &rt->step, message, size);
    if (status == KD_OK && kd_rt_needs_mass(&rt->opt)) status = create_matrix(rt, true, &rt->mass, message, size);
    return status;
}

// ---- numbers --------------------------------------------------------------------------------------------------------
// A part that nobody adds to is written, four entries at a time
static void write_part(double *values, const int *slot, const part *p)
{
    const int     n = kd_rt_block_count(p->block);
    const double *from = p->block->values;
    int           k = 0;
    for (; k + 4 <= n; k += 4) {
        values[slot[k]] = from[k];
        values[slot[k + 1]] = from[k + 1];
        values[slot[k + 2]] = from[k + 2];
        values[slot[k + 3]] = from[k + 3];
    }
    for (; k < n; k++) values[slot[k]] = from[k];
}

// Four at a time; most parts enter as they are
static void add_part(double *values, const int *slot, const part *p)
{
    const int     n = kd_rt_block_count(p->block);
    const double *from = p->block->values, factor = p->factor;
    int           k = 0;
    for (; factor == 1.0 && k + 4 <= n; k += 4) {
        values[slot[k]] += from[k];
        values[slot[k + 1]] += from[k + 1];
        values[slot[k + 2]] += from[k + 2];
        values[slot[k + 3]] += from[k + 3];
    }
    for (; k < n; k++) values[slot[k]] += factor * from[k];
}

static bool factor_parts(kd_realtime *rt, kd_rt_matrix *m, const origin *of, double *x)
{
    part    list[KD_RT_PARTS];
    double *values = kd_elimination_clear(m->lu);
    // sum of the parts, each entry to its slot
    list_parts(rt, of, list);
    for (int i = 0; i < KD_RT_PARTS; i++) {
        if (m->slot[i] && m->alone[i]) write_part(values, m->slot[i], &list[i]);
        if (m->slot[i] && !m->alone[i]) add_part(values, m->slot[i], &list[i]);
    }
    // I of the inner states, -epsilon of the multipliers
    for (int i = 0; i < rt->n.nr; i++) values[m->slot_r[i]] += 1.0;
    for (int i = 0; i < rt->nrows && !of->mass; i++) values[m->slot_epsilon[i]] -= rt->epsilon[i];
    // K = L U, and x = K \ x on the way
    int bad = kd_elimination_factor(m->lu, x);
    m->known = bad < 0;
    if (bad >= 0) name_singular(rt, bad, rt->message, sizeof rt->message);
    return m->known;
}

bool kd_rt_factor_step(kd_realtime *rt, const kd_rt_constraints *rows, double *x)
{
    return factor_parts(rt, &rt->step, &(origin){false, &rt->M, rows, &rt->start}, x);
}

bool kd_rt_factor_mass(kd_realtime *rt, const kd_rt_block *M, const kd_rt_constraints *both, double *x)
{
    return factor_parts(rt, &rt->mass, &(origin){true, M, both, both}, x);
}
