// linear_reduce.c: minimal coordinates of linear equations with constraints.
//
// States: independent increments x_p, independent velocities x_v, inner states r. For each state and each input:
//     c_s ds = -c_p e,   GZ e + g_u u = 0,   [GZ; HZ] dv + [gI_p; h_p] e + [gI_u; h_u] u + [gI_u'; h_u'] u' = 0
// give e, ds, dv (p with s eliminated); then one linear system gives da, dw, dlambda, dmu:
//     [M R_w R_lambda R_mu; 0 d_w d_lambda d_mu; GZ 0 0 0; HZ 0 0 0],
// and x_p' = (dv + N e) at the independent places, x_v' = da there, r' = db.
#include <math.h>
#include <string.h>

#include "analysis/internal.h"
#include "math/dense.h"

// A variation of everything, caused by one state or input.
typedef struct variation {
    double *by[KD_VAR_COUNT];
    double *level; // (nlambda + nmu) right-hand sides of constraints
    double *rhs;   // (size) of the last system, then (da, dw, dlambda, dmu)
} variation;

typedef struct reduction {
    kd_linearizer *l;
    int            size; // nv + nw + nlambda + nmu
    double        *K;    // (size x size) LU, rows and columns scaled
    int           *pivot;
    double        *row_scale, *column_scale;
    unsigned char *holds; // (nlambda + nmu) rows of the velocity chart
    variation      x;
} reduction;

// y += sign F_var x for one variable; nothing if the block vanishes
static void add_product(const kd_linearizer *l, kd_fn fn, kd_var var, double sign, const variation *x, double *y)
{
    const double *block = kd_block_at(l, fn, var);
    if (block) kd_gemv(kd_eom_rows(l->eom, fn), kd_eom_columns(l->eom, var), sign, block, x->by[var], 1, y);
}

static void add_products(const kd_linearizer *l, kd_fn fn, const kd_var *list, int count, double sign,
                         const variation *x, double *y)
{
    for (int i = 0; i < count; i++) add_product(l, fn, list[i], sign, x, y);
}

// ---- the last system ------------------------------------------------------------------------------------------------

static void place_block(reduction *q, int row, int column, kd_fn fn, kd_var var)
{
    const kd_linearizer *l = q->l;
    const double        *block = kd_block(l, fn, var);
    const int            rows = kd_eom_rows(l->eom, fn), columns = kd_eom_columns(l->eom, var);
    for (int j = 0; j < columns && block; j++)
        memcpy(q->K + row + (size_t)(column + j) * (size_t)q->size, block + (size_t)j * (size_t)rows,
               (size_t)rows * sizeof(double));
}

// Powers of 2 that bring the largest entry of each row, then of each column to about 1: masses, stiffnesses and lengths
// differ by many orders
static void equilibrate(reduction *q)
{
    const size_t n = (size_t)q->size;
    for (size_t i = 0; i < n; i++) {
        double most = 0;
        for (size_t j = 0; j < n; j++) most = fmax(most, fabs(q->K[i + j * n]));
        q->row_scale[i] = 1 / kd_power_of_2(most);
        for (size_t j = 0; j < n; j++) q->K[i + j * n] *= q->row_scale[i];
    }
    for (size_t j = 0; j < n; j++) {
        q->column_scale[j] = 1 / kd_power_of_2(kd_norm_max(q->size, q->K + j * n));
        for (size_t i = 0; i < n; i++) q->K[i + j * n] *= q->column_scale[j];
    }
}

// LU of the last system
static kd_status factor_system(reduction *q)
{
    const kd_linearizer *l = q->l;
    const kd_dims        n = l->n;
    const int            m = n.nlambda + n.nmu, w = n.nv, lambda = n.nv + n.nw, mu = lambda + n.nlambda;
    const struct {
        int    row;
        kd_fn  fn;
        int    column;
        kd_var var;
    } blocks[] = {
        {0, KD_RESIDUAL, 0, KD_A},   {0, KD_RESIDUAL, w, KD_W}, {0, KD_RESIDUAL, lambda, KD_LAMBDA},
        {0, KD_RESIDUAL, mu, KD_MU}, {w, KD_D, w, KD_W},        {w, KD_D, lambda, KD_LAMBDA},
        {w, KD_D, mu, KD_MU},
    };
    // K = [M R_w R_lambda R_mu; 0 d_w d_lambda d_mu; ...]
    for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; k++)
        place_block(q, blocks[k].row, blocks[k].column, blocks[k].fn, blocks[k].var);
    // ... [GZ; HZ] below, in the rows that hold and are independent
    for (int i = 0; i < l->velocity.rank; i++) q->holds[l->velocity.row[i]] = 1;
    for (int i = 0; i < m; i++) {
        double *row = q->K + lambda + i; // a row that does not hold, or follows from others: its multiplier stays
        if (!q->holds[i]) row[(size_t)(lambda + i) * (size_t)q->size] = 1;
        for (int j = 0; j < n.nv && q->holds[i]; j++) row[(size_t)j * (size_t)q->size] = l->J[i + j * m];
    }
    equilibrate(q);
    return kd_lu_factor(q->size, q->K, q->pivot) == 0 ? KD_OK : KD_ERR_SINGULAR_MASS;
}

static void solve_system(const reduction *q, double *y)
{
    for (int i = 0; i < q->size; i++) y[i] *= q->row_scale[i];
    kd_lu_solve(q->size, q->K, q->pivot, y, 1);
    for (int i = 0; i < q->size; i++) y[i] *= q->column_scale[i];
}

// ---- one variation --------------------------------------------------------------------------------------------------

// e, then ds, then dv from what is set of e, dv, u
static void complete_velocities(reduction *q)
{
    const kd_linearizer *l = q->l;
    variation           *x = &q->x;
    const kd_dims        n = l->n;
    static const kd_var  from[] = {KD_P, KD_S, KD_U};
    // GZ e = -g_u u at the dependent places
    memset(x->level, 0, (size_t)(n.nlambda + n.nmu) * sizeof(double));
    add_product(l, KD_G, KD_U, 1, x, x->level);
    kd_linear_chart_complete(&l->position, x->level, x->by[KD_P]);
    // c_s ds = -c_p e
    if (n.ns > 0) {
        add_product(l, KD_C, KD_P, -1, x, x->by[KD_S]);
        kd_lu_solve(n.ns, l->c_s, l->c_pivot, x->by[KD_S], 1);
    }
    memset(x->level, 0, (size_t)(n.nlambda + n.nmu) * sizeof(double));
    // [GZ; HZ] dv = -[gI_p; h_p] e - [gI_s; h_s] ds - [gI_u; h_u] u
    add_products(l, KD_GI, from, 3, 1, x, x->level);
    add_products(l, KD_H, from, 3, 1, x, x->level + n.nlambda);
    kd_linear_chart_complete(&l->velocity, x->level, x->by[KD_V]);
}

static const kd_var given[] = {KD_P, KD_V, KD_R, KD_S, KD_U};

// da, dw, dlambda, dmu
static void accelerate(reduction *q)
{
    const kd_linearizer *l = q->l;
    variation           *x = &q->x;
    const kd_dims        n = l->n;
    const int            lambda = n.nv + n.nw;
    // right-hand side: what e, dv, dr, ds, u do to residual, d, gII, hI
    add_products(l, KD_RESIDUAL, given, 5, -1, x, x->rhs);
    add_products(l, KD_D, given, 5, -1, x, x->rhs + n.nv);
    add_products(l, KD_GII, given, 5, -1, x, x->rhs + lambda);
    add_products(l, KD_HI, given, 5, -1, x, x->rhs + lambda + n.nlambda);
    for (int i = 0; i < n.nlambda + n.nmu; i++)
        if (!q->holds[i]) x->rhs[lambda + i] = 0;
    solve_system(q, x->rhs);
}

// ---- all ------------------------------------------------------------------------------------------------------------

// Memory of a variation; a, w, lambda, mu are the solution of the last system
static kd_status prepare_system(reduction *q)
{
    kd_linearizer *l = q->l;
    const kd_dims  n = l->n;
    const int      m = n.nlambda + n.nmu, size = n.nv + n.nw + m;
    variation     *x = &q->x;
    q->size = size;
    // the system of a, w, lambda, mu for one right-hand side after the other
    q->K = kd_cut_matrix(&l->work, size, size);
    q->pivot = kd_cut_int(&l->work, size);
    q->row_scale = kd_cut_double(&l->work, size);
    q->column_scale = kd_cut_double(&l->work, size);
    q->holds = kd_arena_cut(&l->work, (size_t)m, 1);
    x->level = kd_cut_double(&l->work, m);
    x->rhs = kd_cut_double(&l->work, size);
    if (l->work.failed) return KD_ERR_MEMORY;
    // its solution lies in the order of the unknowns: parts of rhs are the variations themselves
    x->by[KD_A] = x->rhs;
    x->by[KD_W] = x->rhs + n.nv;
    x->by[KD_LAMBDA] = x->rhs + n.nv + n.nw;
    x->by[KD_MU] = x->rhs + n.nv + n.nw + n.nlambda;
    for (int i = 0; i < 5; i++) x->by[given[i]] = kd_cut_double(&l->work, kd_eom_columns(l->eom, given[i]));
    return l->work.failed ? KD_ERR_MEMORY : factor_system(q);
}

static void clear_variation(reduction *q)
{
    for (int i = 0; i < 5; i++)
        memset(q->x.by[given[i]], 0, (size_t)kd_eom_columns(q->l->eom, given[i]) * sizeof(double));
    memset(q->x.rhs, 0, (size_t)q->size * sizeof(double));
}

// The column of A and C, or of B and D, that the variation causes
static void write_column(const reduction *q, const kd_linear *linear, double *dx, double *y)
{
    const kd_linearizer *l = q->l;
    const variation     *x = &q->x;
    static const kd_var  all[] = {KD_P, KD_V, KD_A, KD_R, KD_W, KD_S, KD_LAMBDA, KD_MU, KD_U};
    const int            nv = l->n.nv;
    for (int k = 0; k < linear->nposition; k++) {
        const int i = linear->position[k];
        dx[k] = x->by[KD_V][i];
        for (int j = 0; j < nv; j++) dx[k] += l->N[i + j * nv] * x->by[KD_P][j];
    }
    for (int k = 0; k < linear->nvelocity; k++) dx[linear->nposition + k] = x->by[KD_A][linear->velocity[k]];
    add_products(l, KD_B, all, 9, 1, x, dx + linear->nposition + linear->nvelocity);
    add_products(l, KD_Y, all, 9, 1, x, y);
}

// One unit of state k
static void set_state(reduction *q, const kd_linear *linear, int k)
{
    const int np = linear->nposition, nv = linear->nvelocity;
    if (k < np)
        q->x.by[KD_P][linear->position[k]] = 1;
    else if (k < np + nv)
        q->x.by[KD_V][linear->velocity[k - np]] = 1;
    else
        q->x.by[KD_R][k - np - nv] = 1;
}

// Then its rates count, too
static bool stands_in_constraints(const kd_linearizer *l, int input)
{
    static const kd_fn levels[] = {KD_G, KD_GI, KD_GII, KD_H, KD_HI};
    for (int k = 0; k < 5; k++) {
        const double *block = kd_block(l, levels[k], KD_U);
        const int     rows = kd_eom_rows(l->eom, levels[k]);
        if (block && kd_norm_max(rows, block + (size_t)input * (size_t)rows) > 0) return true;
    }
    return false;
}

static const int *copy_ints(kd_arena *arena, const int *from, int n)
{
    int *out = kd_cut_int(arena, n);
    if (out && n > 0) memcpy(out, from, (size_t)n * sizeof(int));
    return out;
}

static void set_sizes(const kd_linearizer *l, kd_linear *linear, kd_arena *arena)
{
    linear->nposition = l->n.nv - l->position.rank;
    linear->nvelocity = l->n.nv - l->velocity.rank;
    linear->ninner = l->n.nr;
    linear->nx = linear->nposition + linear->nvelocity + linear->ninner;
    linear->nu = l->n.nu;
    linear->ny = l->n.ny;
    linear->position = copy_ints(arena, l->position.independent, linear->nposition);
    linear->velocity = copy_ints(arena, l->velocity.independent, linear->nvelocity);
}

static bool is_zero(int n, const double *column)
{
    return kd_norm_max(n, column) == 0;
}

// One column of A and C (level -1), or of B and D for an input or a rate of it
static void one_column(reduction *q, const kd_linear *linear, int level, int j, double *dx, double *y)
{
    // one unit of a state or of an input, then everything that follows from it
    q->l->level = level > 0 ? level : 0;
    clear_variation(q);
    if (level < 0)
        set_state(q, linear, j);
    else
        q->x.by[KD_U][j] = 1;
    complete_velocities(q);
    accelerate(q);
    write_column(q, linear, dx, y);
    q->l->level = 0;
}

kd_status kd_linear_reduce(kd_linearizer *l, kd_linear *linear, kd_arena *arena)
{
    set_sizes(l, linear, arena);
    const int    nx = linear->nx, nu = linear->nu, ny = linear->ny, nv = l->n.nv;
    const size_t rows = (size_t)nx, wide = (size_t)ny;
    double      *A = kd_cut_matrix(arena, nx, nx), *C = kd_cut_matrix(arena, ny, nx);
    double      *B[3], *D[3], *T = kd_cut_matrix(arena, nv, nx), *S = kd_cut_matrix(arena, nv, nx);
    for (int k = 0; k < 3; k++) B[k] = kd_cut_matrix(arena, nx, nu), D[k] = kd_cut_matrix(arena, ny, nu);
    bool     *moves = kd_cut_bool(arena, nu);
    reduction q = {.l = l};
    kd_status status = arena->failed ? KD_ERR_MEMORY : prepare_system(&q);
    if (status < 0) return status;
    // columns of A, C; e = T x, dv = S x
    for (int k = 0; k < nx; k++) {
        one_column(&q, linear, -1, k, A + (size_t)k * rows, C + (size_t)k * wide);
        memcpy(T + (size_t)k * (size_t)nv, q.x.by[KD_P], (size_t)nv * sizeof(double));
        memcpy(S + (size_t)k * (size_t)nv, q.x.by[KD_V], (size_t)nv * sizeof(double));
    }
    // columns of B, D and, where an input moves constraints, of its rates: x' = A x + B u + B1 u' + B2 u''
    for (int j = 0; j < nu; j++) {
        moves[j] = stands_in_constraints(l, j);
        for (int k = 0; k < 3; k++) {
            double *dx = B[k] + (size_t)j * rows, *y = D[k] + (size_t)j * wide;
            one_column(&q, linear, k, j, dx, y);
            moves[j] = moves[j] || (k > 0 && (!is_zero(nx, dx) || !is_zero(ny, y)));
        }
    }
    linear->A = A, linear->C = C, linear->T = T, linear->S = S, linear->moves = moves;
    linear->B = B[0], linear->B1 = B[1], linear->B2 = B[2];
    linear->D = D[0], linear->D1 = D[1], linear->D2 = D[2];
    return KD_OK;
}
