// operations.c: how many operations evaluations take, counted from the structure of a model: the algorithms' own sums,
// by link, dof, pair, step of a path, entry. Numbers are those of the scalar operations in the code (a product of a
// matrix of order 3 and a vector is 15, a cross product 9, a dot product of six terms 11), rounded up; branches count
// with their dearer side.
#include "element/force.h"

// additions, multiplications and the like; calls of functions
typedef struct tally {
    long operations, functions;
} tally;

// times as often as it is done
static void add(tally *t, long times, long operations, long functions)
{
    t->operations += times * operations;
    t->functions += times * functions;
}

enum { VECTOR = 15, PRODUCT = 45, CROSS = 9, SIX = 11, ROTATED = 90 }; // A b, A B, a x b, dot of six, R I R'

// ---- expressions ----------------------------------------------------------------------------------------------------
enum { JET_NUMBERS = sizeof(kd_jet) / sizeof(double), JET = 24, REVERSE = 3 }; // operations per node

// operations in an expression: its workspace has one jet for each
static long nodes(const kd_expr *e)
{
    return e ? kd_expr_work_size(e) / JET_NUMBERS : 0;
}

// ---- tree -----------------------------------------------------------------------------------------------------------
enum { OVER_SHIFT = 6, OVER_TURN = 18, OVER_BALL = PRODUCT + 35, OVER_TABLE = 1300 }; // jets of quaternions

static void add_links_placed(const kd_system *s, tally *t)
{
    for (int i = 1; i < s->tree.nlinks; i++) {
        const kd_joint_form *f = &s->tree.link[i].form;
        // axes and place of the link, then its letters
        add(t, 1, PRODUCT + VECTOR + 3, 0);
        add(t, f->nturns, OVER_TURN, 2);
        add(t, f->nletters - f->nturns, OVER_SHIFT, 0);
        if (f->lead) add(t, 1, 1, 0);
        if (f->ball) add(t, 1, OVER_BALL, 1);
        if (f->curved) add(t, 1, OVER_TABLE, 6);
    }
}

// ---- pairs and measures ---------------------------------------------------------------------------------------------
static void add_pairs_placed(const kd_system *s, int first, int end, tally *t)
{
    for (int i = first; i < end; i++) {
        // place and axes of B; those of A unless it is the ground; C and what comes with it
        add(t, 1, 2 * VECTOR + 9, 0);
        if (s->pair[i].a != 0) add(t, 1, PRODUCT + VECTOR + 3, 0);
        if (!s->pair[i].shifts_only) add(t, 1, 2 * PRODUCT, 0);
    }
}

static const struct { // of a value, a rate, a gradient, and a gradient along a step
    int value, value_functions, rate, rate_functions, gradient, functions, step;
} of_measure[] = {
    [KD_MEASURE_DOF] = {0, 0, 0, 0, 0, 0, 0},
    [KD_MEASURE_SHIFT] = {0, 0, 0, 0, 1, 0, 0},
    [KD_MEASURE_COSINE] = {0, 0, 23, 0, 12, 0, 11},
    [KD_MEASURE_LENGTH] = {5, 1, 11, 2, 8, 2, 5},
    [KD_MEASURE_ANGLE] = {6, 3, 52, 1, 41, 1, 11},
    [KD_MEASURE_PITCH] = {4, 2, 30, 2, 19, 2, 11},
    [KD_MEASURE_ROTATION] = {30, 3, 140, 3, 125, 3, 60},
    [KD_MEASURE_TILT] = {8, 2, 140, 2, 125, 2, 60},
    [KD_MEASURE_BEND] = {30, 4, 500, 12, 500, 12, 170},
    [KD_MEASURE_GAP] = {12000, 60, 20, 0, 10, 0, 2500},
    [KD_MEASURE_CURVED] = {4000, 30, 24000, 90, 24000, 90, 24000},
    [KD_MEASURE_TURN] = {0, 0, 0, 0, 1, 0, 0},
    [KD_MEASURE_OWN_TURN] = {0, 0, 11, 0, 1, 0, 11},
    [KD_MEASURE_OWN_SHIFT] = {0, 0, 11, 0, 1, 0, 11},
    [KD_MEASURE_SLIP] = {0, 0, 20, 0, 10, 0, 2500},
    [KD_MEASURE_SPIN] = {0, 0, 5, 0, 1, 0, 2500},
};

static void add_values(const kd_system *s, int first, int end, tally *t)
{
    for (int i = first; i < end; i++)
        add(t, 1, of_measure[s->measure[i].kind].value, of_measure[s->measure[i].kind].value_functions);
}

static void add_rates(const kd_system *s, int first, int end, tally *t)
{
    for (int i = first; i < end; i++)
        add(t, 1, of_measure[s->measure[i].kind].rate, of_measure[s->measure[i].kind].rate_functions);
}

static void add_gradient(const kd_system *s, int measure, tally *t)
{
    add(t, 1, of_measure[s->measure[measure].kind].gradient, of_measure[s->measure[measure].kind].functions);
}

// ---- loads ----------------------------------------------------------------------------------------------------------
// Force and rates of inner states; road profiles are jets
static void add_law(const kd_load *load, tally *t)
{
    const kd_law_cost *cost = &load->class->cost;
    for (int i = 0; i < 6; i++) add(t, nodes(load->law[i]), load->class->jets ? JET : 1, 1);
    add(t, 1, cost->operations, cost->functions);
    add(t, load->nchannels * load->nchannels, cost->per_pair, 0);
}

// Its derivatives by all variables
static void add_law_slopes(const kd_load *load, tally *t)
{
    const kd_law_cost *cost = &load->class->cost;
    for (int i = 0; i < 6; i++) add(t, nodes(load->law[i]), load->class->jets ? JET : REVERSE, REVERSE);
    add(t, 1, cost->slopes, cost->slope_functions);
    add(t, load->nvariables, cost->per_variable, 0);
    add(t, load->nchannels * load->nvariables, 1, 0);
}

// ---- items ----------------------------------------------------------------------------------------------------------

// stages as in evaluate.c, up to what rows need; loads add their part in residual
static tally position(const kd_system *s)
{
    tally t = {0, 0};
    add_links_placed(s, &t);
    add_pairs_placed(s, 0, s->upto[KD_FOR_ROWS].pairs, &t);
    add_values(s, 0, s->upto[KD_FOR_ROWS].measures, &t);
    for (int k = 0; s->prescribed && k < s->tree.ndof; k++) add(&t, nodes(s->motion[k]), JET, 1);
    for (int i = 0; i < s->nwheels; i++) { // where they touch: a grid for tables, then at most 30 iterations
        const kd_wheel *w = &s->wheel[i];
        const bool      table = w->tread.kind == KD_PROFILE_CURVE || w->head.kind == KD_PROFILE_CURVE;
        if (w->elastic)
            add(&t, KD_WHEEL_NODES, 60, 4);
        else if (!w->unknown)
            add(&t, table ? 232 : 31, 130, 12);
    }
    return t;
}

static tally velocity(const kd_system *s)
{
    tally t = {0, 0};
    // links, dofs, pairs, measures
    add(&t, s->tree.nlinks - 1, CROSS + 6, 0);
    add(&t, s->tree.ndof, 12, 0);
    add(&t, s->upto[KD_FOR_ROWS].pairs, 2 * VECTOR + 2 * CROSS + 18, 0);
    add_rates(s, 0, s->upto[KD_FOR_ROWS].measures, &t);
    return t;
}

static tally residual(const kd_system *s)
{
    tally           t = {0, 0};
    const kd_counts rows = s->upto[KD_FOR_ROWS], loads = s->upto[KD_FOR_LOADS];
    // what loads read beyond rows
    add_pairs_placed(s, rows.pairs, loads.pairs, &t);
    add_values(s, rows.measures, loads.measures, &t);
    add(&t, loads.pairs - rows.pairs, 2 * VECTOR + 2 * CROSS + 18, 0);
    add_rates(s, rows.measures, loads.measures, &t);
    // laws, then forces along their measures
    for (int i = 0; i < s->nloads; i++) {
        add_law(&s->load[i], &t);
        for (int k = 0; k < s->load[i].nchannels; k++) {
            add_gradient(s, s->load[i].channel[k], &t);
            add(&t, 1, 12, 0);
        }
    }
    add(&t, loads.pairs, 2 * VECTOR + 2 * CROSS + 18, 0);                  // on the links
    add(&t, s->tree.nlinks - 1, 7 * CROSS + 30, 0);                        // accelerations
    add(&t, s->tree.nlinks - 1, ROTATED + 3 * VECTOR + 6 * CROSS + 36, 0); // inertia forces
    add(&t, s->tree.ndof, 12 + SIX + 1, 0);                                // along the dofs
    return t;
}

static tally mass(const kd_system *s)
{
    tally t = {0, 0};
    add(&t, s->tree.nlinks - 1, ROTATED + 2 * VECTOR + 70, 0); // composite bodies
    add(&t, s->nv, VECTOR + 5 * CROSS + 18, 0);                // their forces and the motions
    if (s->dense_tree) add(&t, s->tree.column[s->nv], SIX, 0);
    return t;
}

static tally constraints(const kd_system *s)
{
    tally t = {0, 0};
    for (int i = 0; i < s->nlambda; i++) {
        const kd_row *row = &s->row_g[s->kept[i]];
        add(&t, row->nterms, 2, 0);
        add(&t, nodes(row->target) + nodes(row->expr), JET, 1);
        if (row->wheel) add(&t, 1, 600, 20);
    }
    return t;
}

// Motion of a step of a path in the axes of the pair
enum { STEP = 2 * VECTOR + CROSS + 12 };

static tally GZ(const kd_system *s)
{
    tally t = {0, 0};
    for (int i = 0; i < s->upto[KD_FOR_ROWS].pairs; i++) add(&t, s->pair[i].nsteps, STEP, 0);
    for (int i = 0; i < s->upto[KD_FOR_ROWS].measures; i++) {
        const kd_measure *m = &s->measure[i];
        add_gradient(s, i, &t);
        if (m->pair >= 0) add(&t, s->pair[m->pair].nsteps, of_measure[m->kind].step, 0);
    }
    for (int i = 0; i < s->nlambda; i++) {
        const kd_row *row = &s->row_g[s->kept[i]];
        add(&t, nodes(row->expr), REVERSE, REVERSE);
        if (row->wheel) add(&t, 1, 150, 10);
    }
    // each addition: a product and a sum
    add(&t, s->G.nplaces + s->H.nplaces + s->g_p.nplaces + s->c_p.nplaces, 2, 0);
    return t;
}

static void add_stiff_load(const kd_system *s, const kd_load *load, bool *seen, tally *t)
{
    // derivatives of the law, then of each pair of frames once
    add_law_slopes(load, t);
    for (int k = 0; k < load->nchannels; k++) {
        const kd_measure *m = &s->measure[load->channel[k]];
        // gradient of the channel, then the matrices of its pair, once
        add_gradient(s, load->channel[k], t);
        add(t, 1, 12 + 40, 1); // load and its curvature
        if (m->pair < 0 || seen[m->pair]) continue;
        const long n = s->pair[m->pair].nsteps;
        seen[m->pair] = true;
        add(t, n, STEP + 4 * CROSS + 21, 0);       // motions and their changes
        add(t, n, 3 * 4 * 18 + 3 * CROSS + 12, 0); // matrices of order 6
        add(t, n * n, 2 * (SIX + 1), 0);           // entries
    }
    for (int j = 0; j < load->nvariables; j++) { // outer products into the matrices of order 6
        const kd_slot at = s->slot[load->variable[j]];
        if (at.kind != KD_SLOT_MEASURE) continue;
        const kd_measure *m = &s->measure[at.index];
        const bool        plain = m->kind == KD_MEASURE_SHIFT || m->kind == KD_MEASURE_TURN;
        add_gradient(s, at.index, t);
        add(t, load->nchannels, 12, 0);
        add(t, 1, plain ? 6 : at.level == 0 ? 72 : 180, plain ? 0 : 2);
        if (m->pair < 0)
            for (int k = 0; k < load->nchannels; k++) add(t, 1, 6, 0);
    }
}

static tally stiff(const kd_system *s)
{
    tally t = {0, 0};
    bool *seen = kd_alloc((size_t)s->npairs * sizeof *seen);
    for (int i = 0; seen && i < s->nloads; i++)
        if (s->load[i].stiff) add_stiff_load(s, &s->load[i], seen, &t);
    kd_free(seen);
    return t;
}

kd_operations kd_system_operations(const kd_system *s, kd_work_item item)
{
    static const struct {
        const char *name;
        tally (*count)(const kd_system *s);
    } items[KD_WORK_ITEM_COUNT] = {
        [KD_WORK_POSITION] = {"position", position},
        [KD_WORK_VELOCITY] = {"velocity", velocity},
        [KD_WORK_RESIDUAL] = {"forces and inertia forces", residual},
        [KD_WORK_MASS] = {"mass matrix", mass},
        [KD_WORK_CONSTRAINTS] = {"constraints", constraints},
        [KD_WORK_GZ] = {"constraint matrix", GZ},
        [KD_WORK_STIFF] = {"derivatives of stiff forces", stiff},
    };
    if (!s || item < 0 || item >= KD_WORK_ITEM_COUNT) return (kd_operations){"", 0, 0};
    tally t = items[item].count(s);
    return (kd_operations){items[item].name, t.operations, t.functions};
}
