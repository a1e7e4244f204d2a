// acceleration.c: a, lambda, mu, w at a given point, and projection onto g, gI, h (notes: one matrix serves all).
//
//     [ M   (GZ)'+..  (HZ)'+..  R_w ] [da     ]     [ residual ]
//     [ GZ                          ] [dlambda] = - [ gII      ]        inactive row i: lambda_i = 0
//     [ HZ                          ] [dmu    ]     [ hI       ]
//     [      d_lambda   d_mu    d_w ] [dw     ]     [ d        ]
//
// One solve where f and d do not depend on the multipliers, Newton's method otherwise. Redundant rows: minimum norm of
// the multipliers by SVD. M may be singular on its own as long as it is definite on the null space of [GZ; HZ].
//
// Where the definition solves the system itself (kkt_factor), large systems have no full matrices here: those are made
// when that solution fails for the first time, as at redundant rows.
#include "point/acceleration.h"
#include "core/memory.h"
#include "core/text.h"
#include "math/dense.h"
#include "point/kkt.h"
#include "point/kkt_mixed.h"
#include "point/position.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_ITERATIONS 25
#define CONVERGED 1e-13   // increment relative to the largest scaled unknown: rounding
#define STAGNATED 1e-8    // accepted when increments no longer fall
#define KEPT_ITERATIONS 8 // with the matrix of an earlier point
#define KEPT_RATE 0.15    // slowest convergence with it
#define KEPT_LEFT 1e-14   // estimated error relative to the largest scaled unknown
#define PROJECTIONS 4     // largest number of iterations of one projection
#define LARGE 20          // unknowns from which on the elimination along the topology is the faster one
#define RESERVED 600      // unknowns up to which the full matrices are made at once
#define SINGULAR 1e-14    // reciprocal condition of the scaled matrix that counts as redundant rows
#define PIVOTS 1e-7       // smallest pivot relative to the largest above which the condition is not estimated
#define NEAR 1e-4         // distance from the point of a matrix, relative, up to which it serves a neighbouring one
#define JUMP_NEAR 1e-3    // the same for jumps, of which a few digits are enough
#define JUMPS 100         // jumps that one matrix serves at most
#define BY_TOPOLOGY 25    // corrections of a stage with the factors of the definition
#define INDEPENDENT 1e-8  // part of a null vector beyond the others that counts
#define DEPENDENT 1e-10   // singular value of invariants, relative to the largest, of those that depend on others
#define MOVES 16          // towards invariants, with the matrix of where they began: a long one converges linearly
#define NEXT_TO 3         // corrections of a stage with the matrix of a neighbouring point
#define REDUCTION                                                                                                      \
    0.5 // a move towards 0 = e is kept if it leaves at most this fraction of e: at an equilibrium none does

typedef struct blocks {
    double *M, *C_lambda, *C_mu, *R_w; // (nv x nv), (nv x nlambda), (nv x nmu), (nv x nw) of the residual
    double *GZ, *HZ;                   // (nlambda x nv), (nmu x nv)
    double *d_lambda, *d_mu, *d_w;     // (nw x ...)
    double *c_s, *c_p;                 // (ns x ns), (ns x nv)
    double *e_p, *e_v, *e_s;           // (ne x nv), (ne x nv), (ne x ns)
    double *gI_p, *gI_s, *h_p, *h_s;   // velocity levels by p and s
    double *next_GZ, *next_HZ;         // GZ, HZ at the other point of a half-explicit stage
} blocks;

struct kd_acceleration {
    kd_arena        arena, full; // full: the matrices of order nf, made by reserve
    const kd_eom   *eom;
    const kd_state *state;
    kd_inputs       inputs;
    kd_dims         dims;
    kd_eom_data    *data;
    kd_position     position;
    bool            linear;    // one solve is exact
    bool            svd;       // asked for by the options
    bool            truncated; // the matrix in use was solved by SVD
    bool            least_change;
    bool            euclidean;
    bool            by_definition; // the projector in use was factored by the definition
    bool            definite;      // the matrix in use was factored by Cholesky's method
    bool            shares;        // a matrix may serve points close to its own
    bool            shared;        // it is [M C'; C 0] at (t_matrix, p_matrix), with its solution
    int             npacked;       // C has these active rows only
    int            *packed;        // (nlambda + nmu) which
    double         *packed_b;      // (nk)
    unsigned char  *shared_active; // (nlambda + nmu) rows of it
    double          t_matrix, *p_matrix;
    double         *solution; // (nk) a, lambda, mu there
    bool            solved;
    int             jumps; // that it has served
    kd_kkt          kkt;
    kd_kkt_mixed    mixed;     // of stages
    bool            staged;    // the rows are those of another point, next_GZ a + next_rows = 0
    bool            mixes;     // that factorisation is the one of a stage
    double         *next_rows; // (nlambda + nmu) gI, h there over the factor of a
    double         *next_s;    // (ns)
    double         *kept;      // (nk) solution at the point of the shared matrix
    bool           *left_out;  // (nlambda + nmu) not among the independent rows; stages only
    int            *row_order, *column_order;
    double          rank_tolerance;
    double         *u, *du, *ddu;
    blocks          block;
    kd_blocks       wanted, wanted_mass, wanted_c, wanted_e;
    int             nk, nf; // nv + nlambda + nmu, the same + nw
    double         *A;      // (nf x nf) scaled, then its LU
    double         *U, *Vt, *sigma, *work;
    double         *row, *column; // (nf) scale factors
    double         *rhs, *e_moved, *p_moved, *zero;
    double         *gradient;          // (nv x ne) of the invariants by p along the constraints
    double         *along_p, *along_v; // (nk x ne) directions in which they are projected, with multipliers
    double         *p_kept, *s_kept, *v_kept;
    double         *e, *S;                         // (ne), (ne x ne)
    double         *e_U, *e_sigma, *e_Vt, *e_work; // SVD of S
    double         *small;                         // (ns)
    double         *c_LU;                          // (ns x ns) of c_s at an earlier point
    bool            c_known;
    double         *kept_point;  // (nf) a, lambda, mu, w of the last solution
    double         *guess;       // (nf) lambda, mu, w that came as guess, behind nv places
    unsigned char  *kept_active; // (nlambda + nmu) rows of the matrix that may serve once more
    bool            keeps, kept_staged;
    int            *pivot, *iwork, *pivot_small, *c_pivot;
    kd_status       fault;
    char            message[256];
};

// Can the definition solve for a, lambda, mu itself? Small systems are faster with dense kernels.
static bool may_have_own_solution(const kd_acceleration *self)
{
    const kd_eom_def *def = kd_eom_definition(self->eom);
    return def->kkt_factor && def->accelerations && self->linear && !self->svd && self->dims.ns == 0 &&
           self->nk >= LARGE;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static double *want(kd_acceleration *self, kd_blocks *set, kd_fn fn, kd_var var)
{
    if (!kd_eom_depends(self->eom, fn, var)) return NULL;
    double *block = kd_cut_matrix(&self->full, kd_eom_rows(self->eom, fn), kd_eom_columns(self->eom, var));
    set->block[fn][var] = block;
    return block;
}

static void cut_blocks(kd_acceleration *self)
{
    blocks    *b = &self->block;
    kd_blocks *set = &self->wanted;
    b->M = want(self, set, KD_RESIDUAL, KD_A);
    b->C_lambda = want(self, set, KD_RESIDUAL, KD_LAMBDA);
    b->C_mu = want(self, set, KD_RESIDUAL, KD_MU);
    b->R_w = want(self, set, KD_RESIDUAL, KD_W);
    b->d_lambda = want(self, set, KD_D, KD_LAMBDA);
    b->d_mu = want(self, set, KD_D, KD_MU);
    b->d_w = want(self, set, KD_D, KD_W);
    b->c_s = want(self, &self->wanted_c, KD_C, KD_S);
    set = &self->wanted_e;
    b->e_p = want(self, set, KD_E, KD_P);
    b->e_v = want(self, set, KD_E, KD_V);
    b->e_s = want(self, set, KD_E, KD_S);
    if (self->dims.ne > 0) {
        b->gI_p = want(self, set, KD_GI, KD_P);
        b->gI_s = want(self, set, KD_GI, KD_S);
        b->h_p = want(self, set, KD_H, KD_P);
        b->h_s = want(self, set, KD_H, KD_S);
        b->c_p = want(self, set, KD_C, KD_P);
        set->block[KD_C][KD_S] = b->c_s;
    }
    self->wanted_mass.block[KD_RESIDUAL][KD_A] = b->M;
    b->GZ = kd_cut_matrix(&self->full, self->dims.nlambda, self->dims.nv);
    b->HZ = kd_cut_matrix(&self->full, self->dims.nmu, self->dims.nv);
    b->next_GZ = kd_cut_matrix(&self->full, self->dims.nlambda, self->dims.nv);
    b->next_HZ = kd_cut_matrix(&self->full, self->dims.nmu, self->dims.nv);
}

// The full matrices; false: out of memory.
static bool reserve(kd_acceleration *self)
{
    if (self->A) return true;
    kd_arena *full = &self->full;
    int       nf = self->nf, work = kd_svd_work(nf, nf);
    cut_blocks(self);
    self->U = kd_cut_matrix(full, nf, nf);
    self->Vt = kd_cut_matrix(full, nf, nf);
    self->work = kd_cut_double(full, work > 4 * nf ? work : 4 * nf);
    kd_kkt_cut(&self->kkt, full, self->dims.nv, self->nk - self->dims.nv);
    kd_kkt_mixed_cut(&self->mixed, full, self->dims.nv, self->nk - self->dims.nv);
    self->A = kd_cut_matrix(full, nf, nf);
    if (!full->failed) return true;
    self->A = NULL;
    kd_arena_release(full);
    return false;
}

static void cut_arrays(kd_acceleration *self)
{
    kd_dims   d = self->dims;
    kd_arena *arena = &self->arena;
    int       nf = self->nf;
    kd_position_cut_norms(&self->position, arena, self->eom);
    self->u = kd_cut_double(arena, d.nu);
    self->du = kd_cut_double(arena, d.nu);
    self->ddu = kd_cut_double(arena, d.nu);
    self->sigma = kd_cut_double(arena, nf);
    self->row = kd_cut_double(arena, nf);
    self->column = kd_cut_double(arena, nf);
    self->rhs = kd_cut_double(arena, nf);
    self->zero = kd_cut_double(arena, nf);
    self->e_moved = kd_cut_double(arena, d.nv);
    self->p_moved = kd_cut_double(arena, d.np);
    self->gradient = kd_cut_matrix(arena, d.nv, d.ne);
    self->along_p = kd_cut_matrix(arena, nf, d.ne);
    self->along_v = kd_cut_matrix(arena, nf, d.ne);
    self->p_kept = kd_cut_double(arena, d.np);
    self->s_kept = kd_cut_double(arena, d.ns);
    self->v_kept = kd_cut_double(arena, d.nv);
    self->e = kd_cut_double(arena, d.ne);
    self->S = kd_cut_matrix(arena, d.ne, d.ne);
    self->e_U = kd_cut_matrix(arena, d.ne, d.ne);
    self->e_Vt = kd_cut_matrix(arena, d.ne, d.ne);
    self->e_sigma = kd_cut_double(arena, d.ne);
    self->e_work = kd_cut_double(arena, kd_svd_work(d.ne, d.ne) + d.ne);
    self->small = kd_cut_double(arena, d.ns);
    self->c_LU = kd_cut_matrix(arena, d.ns, d.ns);
    self->c_pivot = kd_cut_int(arena, d.ns);
    self->kept_point = kd_cut_double(arena, nf);
    self->guess = kd_cut_double(arena, nf);
    self->kept_active = kd_arena_cut(arena, (size_t)(d.nlambda + d.nmu), 1);
    self->shared_active = kd_arena_cut(arena, (size_t)(d.nlambda + d.nmu), 1);
    self->packed = kd_cut_int(arena, self->nk - d.nv);
    self->packed_b = kd_cut_double(arena, self->nk);
    self->p_matrix = kd_cut_double(arena, d.np);
    self->solution = kd_cut_double(arena, self->nk);
    self->next_rows = kd_cut_double(arena, self->nk - d.nv);
    self->next_s = kd_cut_double(arena, d.ns);
    self->kept = kd_cut_double(arena, self->nk);
    self->left_out = kd_cut_bool(arena, self->nk - d.nv);
    self->row_order = kd_cut_int(arena, self->nk - d.nv);
    self->column_order = kd_cut_int(arena, d.nv);
    self->pivot = kd_cut_int(arena, nf);
    self->pivot_small = kd_cut_int(arena, d.ns > d.ne ? d.ns : d.ne);
    self->iwork = kd_cut_int(arena, nf);
}

kd_status kd_acceleration_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                                 const kd_formulation_options *opt, kd_acceleration **acceleration)
{
    *acceleration = NULL;
    kd_acceleration *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    self->eom = eom;
    self->state = x;
    if (inputs) self->inputs = *inputs;
    self->dims = kd_eom_dims(eom);
    self->nk = self->dims.nv + self->dims.nlambda + self->dims.nmu;
    self->nf = self->nk + self->dims.nw;
    self->linear = self->dims.nw == 0 && !kd_eom_definition(eom)->force_of_multipliers;
    self->svd = opt->constraints == KD_DECOMPOSE_SVD;
    self->rank_tolerance = opt->rank_tolerance;
    cut_arrays(self);
    kd_status status = self->arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(eom, &self->data);
    if (status >= 0 && (self->nf <= RESERVED || self->dims.ne > 0 || !may_have_own_solution(self)) && !reserve(self))
        status = KD_ERR_MEMORY;
    if (status >= 0) kd_eom_at_parameters(self->data, x->theta);
    if (status < 0)
        kd_acceleration_destroy(self);
    else
        *acceleration = self;
    return status;
}

void kd_acceleration_destroy(kd_acceleration *self)
{
    if (!self) return;
    kd_eom_data_destroy(self->data);
    kd_arena_release(&self->full);
    kd_arena_release(&self->arena);
    kd_free(self);
}

kd_eom_data *kd_acceleration_data(kd_acceleration *self)
{
    return self ? self->data : NULL;
}

const kd_eom *kd_acceleration_eom(const kd_acceleration *self)
{
    return self ? self->eom : NULL;
}

const kd_state *kd_acceleration_state(const kd_acceleration *self)
{
    return self ? self->state : NULL;
}

kd_status kd_acceleration_fault(const kd_acceleration *self, const char **message)
{
    if (message) *message = self->message;
    return self->fault;
}

// ---- the point ------------------------------------------------------------------------------------------------------

// Keep the words of an answer that was not OK.
static kd_eval note(kd_acceleration *self, kd_eval answer)
{
    if (answer == KD_EVAL_OK) return answer;
    kd_status status = kd_eom_data_fault(self->data).status;
    self->fault = status < 0 ? status : KD_ERR_DECOMPOSITION; // Z or q_p without full rank
    kd_text(self->message, sizeof self->message, "%s",
            status < 0 ? kd_eom_data_message(self->data)
                       : "the kinematic matrix Z or the norm equations lost their rank");
    return answer;
}

static kd_eval no_solution(kd_acceleration *self, kd_status status, double t, const char *what)
{
    self->fault = status;
    kd_text(self->message, sizeof self->message, "t = %.9g: %s", t, what);
    return KD_EVAL_RETRY;
}

static kd_eval no_room(kd_acceleration *self, double t)
{
    no_solution(self, KD_ERR_MEMORY, t, "out of memory for the full matrix of accelerations and multipliers");
    return KD_EVAL_STOP;
}

static kd_eval at_time(kd_acceleration *self, double t)
{
    if (self->inputs.eval && self->dims.nu > 0) {
        kd_eval answer = self->inputs.eval(t, self->inputs.context, self->u, self->du, self->ddu);
        if (answer != KD_EVAL_OK) {
            no_solution(self, answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED, t,
                        "the inputs have no value");
            return answer;
        }
    }
    kd_eom_at_time(self->data, t, self->u, self->du, self->ddu, self->state->z);
    return KD_EVAL_OK;
}

kd_eval kd_acceleration_at(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                           const double *r)
{
    kd_eval answer = at_time(self, t);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_position(self->data, p, s);
    kd_eom_at_velocity(self->data, v, r);
    return KD_EVAL_OK;
}

// ---- the matrix -----------------------------------------------------------------------------------------------------

static void put(const kd_acceleration *self, int n, int row, int column, int rows, int columns, const double *block)
{
    if (!block) return;
    for (int j = 0; j < columns; j++)
        memcpy(self->A + row + (size_t)(column + j) * (size_t)n, block + (size_t)j * (size_t)rows,
               (size_t)rows * sizeof(double));
}

static void put_transposed(const kd_acceleration *self, int n, int row, int column, int rows, int columns,
                           const double *block)
{
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) self->A[row + i + (column + j) * n] = block[j + i * columns];
}

// Row k of [g; h] holds. In stages those that depend on others are left out.
static bool is_active(const kd_acceleration *self, int k)
{
    int nlambda = self->dims.nlambda;
    if (self->staged && self->left_out[k]) return false;
    return k < nlambda ? self->state->active_lambda[k] : self->state->active_mu[k - nlambda];
}

// Inactive rows and columns of multipliers: lambda_i = 0.
static void switch_off(const kd_acceleration *self, int n)
{
    int nv = self->dims.nv;
    for (int k = 0; k < self->nk - nv; k++) {
        if (is_active(self, k)) continue;
        for (int j = 0; j < n; j++) self->A[nv + k + j * n] = 0;
        self->A[nv + k + (nv + k) * n] = 1;
    }
}

static double larger(double x, double y)
{
    return x > y ? x : y;
}

// Scale: accelerations by 1/sqrt(M_ii) (of the largest in natural units where that is none), all multipliers by one
// number (their minimum norm keeps its meaning), rows and auxiliary columns to maximum 1.
static void scale(kd_acceleration *self, int n)
{
    int     nv = self->dims.nv, nk = self->nk;
    double *A = self->A, *row = self->row, *column = self->column;
    double  largest = 0, force = 0;
    for (int i = 0; i < nv; i++) {
        const double unit = kd_eom_unit(self->eom, i);
        largest = larger(largest, fabs(A[i + i * n]) * unit * unit);
    }
    if (largest == 0) largest = 1;
    for (int i = 0; i < nv; i++) {
        const double unit = kd_eom_unit(self->eom, i), m = fabs(A[i + i * n]) * unit * unit;
        row[i] = column[i] = unit / sqrt(m > 1e-12 * largest ? m : largest);
    }
    for (int j = nv; j < nk; j++)
        for (int i = 0; i < nv; i++) force = larger(force, row[i] * fabs(A[i + j * n]));
    for (int j = nv; j < nk; j++) column[j] = force > 0 ? 1 / force : 1;
    for (int j = nk; j < n; j++) {
        double most = 0;
        for (int i = 0; i < n; i++) most = larger(most, (i < nv ? row[i] : 1) * fabs(A[i + j * n]));
        column[j] = most > 0 ? 1 / most : 1;
    }
    for (int i = nv; i < n; i++) row[i] = 0;
    for (int j = 0; j < n; j++)
        for (int i = nv; i < n; i++) row[i] = larger(row[i], column[j] * fabs(A[i + j * n]));
    for (int i = nv; i < n; i++) row[i] = row[i] > 0 ? 1 / row[i] : 1;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) A[i + j * n] *= row[i] * column[j];
}

static double norm_1(int n, const double *A)
{
    double most = 0;
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += fabs(A[i + j * n]);
        most = fmax(most, sum);
    }
    return most;
}

static bool all_active(const kd_acceleration *self)
{
    for (int k = 0; k < self->nk - self->dims.nv; k++)
        if (!is_active(self, k)) return false;
    return true;
}

// ... and with the rows that are active now?
static bool has_own_solution(const kd_acceleration *self)
{
    return may_have_own_solution(self) && all_active(self);
}

// Only the active ones of `rows` rows of C (rows x nv), in place; their number
static int pack(kd_acceleration *self, int first, int rows, double *C)
{
    int count = 0;
    for (int i = 0; i < rows; i++)
        if (is_active(self, first + i)) self->packed[self->npacked + count++] = first + i;
    if (count == rows) return count;
    for (int j = 0; j < self->dims.nv; j++)
        for (int k = 0; k < count; k++) C[k + j * count] = C[self->packed[self->npacked + k] - first + j * rows];
    return count;
}

// [M C'; C 0] of the active rows
static bool factor_packed(kd_acceleration *self)
{
    kd_dims d = self->dims;
    blocks *b = &self->block;
    self->npacked = 0;
    int nlambda = pack(self, 0, d.nlambda, b->GZ);
    self->npacked = nlambda;
    int nmu = pack(self, d.nlambda, d.nmu, b->HZ);
    self->npacked += nmu;
    self->kkt.nrows = self->kkt.schur.n = self->npacked;
    for (int k = 0; k < self->nk - d.nv; k++) self->shared_active[k] = is_active(self, k);
    return kd_kkt_factor(&self->kkt, b->M, nlambda, b->GZ, nmu, b->HZ);
}

// b <- [M C'; C 0] \ b; multipliers of other rows stay as they are, 0
static void solve_packed(kd_acceleration *self, double *b)
{
    const int nv = self->dims.nv;
    double   *x = self->packed_b;
    if (self->npacked == self->nk - nv) {
        kd_kkt_solve(&self->kkt, b);
        return;
    }
    memcpy(x, b, (size_t)nv * sizeof *x);
    for (int k = 0; k < self->npacked; k++) x[nv + k] = b[nv + self->packed[k]];
    kd_kkt_solve(&self->kkt, x);
    memcpy(b, x, (size_t)nv * sizeof *x);
    for (int k = 0; k < self->npacked; k++) b[nv + self->packed[k]] = x[nv + k];
}

// M and C at the present point by Cholesky's method, where that is safe; *done tells. The acceleration must be set.
static kd_eval factor_definite(kd_acceleration *self, double t, const double *p, bool *done)
{
    kd_dims d = self->dims;
    blocks *b = &self->block;
    *done = self->shared = false;
    if ((self->svd && !self->staged) || !b->M || (self->staged && !all_active(self))) return KD_EVAL_OK;
    kd_eval answer = kd_eom_definition(self->eom)->M ? kd_eom_eval(self->data, KD_MASS, b->M)
                                                     : kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted_mass);
    if (answer == KD_EVAL_OK && d.nlambda + d.nmu > 0) answer = kd_eom_constraint_matrices(self->data, b->GZ, b->HZ);
    if (answer != KD_EVAL_OK) return note(self, answer);
    if (self->staged)
        *done = kd_kkt_mixed_factor(&self->mixed, b->M, d.nlambda, b->GZ, b->next_GZ, d.nmu, b->HZ, b->next_HZ);
    else
        *done = factor_packed(self);
    self->definite = *done;
    self->mixes = self->staged;
    self->shared = *done && !self->staged;
    self->solved = false;
    self->t_matrix = t;
    memcpy(self->p_matrix, p, (size_t)d.np * sizeof *p);
    return KD_EVAL_OK;
}

// Largest distance of a coordinate from the point of the matrix, in natural units
static double distance(const kd_acceleration *self, const double *p)
{
    double far = 0;
    for (int i = 0; i < self->dims.np; i++)
        far = larger(far, fabs(p[i] - self->p_matrix[i]) / kd_eom_position_unit(self->eom, i));
    return far;
}

// Largest entry of an increment, in natural units
static double natural_norm(const kd_acceleration *self, const double *y)
{
    double most = 0;
    for (int j = 0; j < self->dims.nv; j++) most = larger(most, fabs(y[j]) / kd_eom_unit(self->eom, j));
    return most;
}

// Does the matrix in use serve (t, p) as well? *far: largest distance of a coordinate
static bool is_near(const kd_acceleration *self, double t, const double *p, double *far)
{
    *far = 0;
    if (!self->shares || !self->shared || self->staged || self->t_matrix != t) return false;
    for (int k = 0; k < self->nk - self->dims.nv; k++)
        if (self->shared_active[k] != is_active(self, k)) return false;
    *far = distance(self, p);
    return *far <= NEAR;
}

// Does a pivot fall so much below the others that the matrix may be singular? Estimating its condition costs as much as
// the LU of a small matrix.
static bool has_small_pivot(int n, const double *LU)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < n; i++) {
        double u = fabs(LU[i + i * n]);
        least = u < least ? u : least;
        most = u > most ? u : most;
    }
    return !(least > PIVOTS * most);
}

// LU of the scaled matrix, or its SVD where rows are redundant. false: neither.
static bool factor(kd_acceleration *self, int n)
{
    self->definite = self->shared = self->keeps = false;
    scale(self, n);
    size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    self->truncated = self->svd && !self->staged;
    if (!self->truncated) {
        memcpy(self->U, self->A, bytes);
        self->truncated = kd_lu_factor(n, self->A, self->pivot) != 0 ||
                          (has_small_pivot(n, self->A) && kd_lu_rcond(n, self->A, self->pivot, norm_1(n, self->U),
                                                                      self->work, self->iwork) < SINGULAR);
        if (!self->truncated) return true;
        memcpy(self->A, self->U, bytes);
    }
    return kd_svd(n, n, self->A, self->U, self->sigma, self->Vt, self->work) == 0;
}

// x = A \ b in place, unscaled; b has n rows
static void solve(kd_acceleration *self, int n, double *b)
{
    if (self->by_definition) {
        kd_eom_kkt_solve(self->data, b);
        return;
    }
    if (self->definite) {
        if (self->mixes)
            kd_kkt_mixed_solve(&self->mixed, b);
        else
            solve_packed(self, b);
        return;
    }
    for (int i = 0; i < n; i++) b[i] *= self->row[i];
    if (self->truncated) { // V diag(1/sigma) U' b over the singular values that count
        double *y = self->work;
        kd_gemv_t(n, n, 1, self->U, b, 0, y);
        for (int i = 0; i < n; i++)
            y[i] = self->sigma[i] > self->rank_tolerance * self->sigma[0] ? y[i] / self->sigma[i] : 0;
        kd_gemv_t(n, n, 1, self->Vt, y, 0, b);
    } else {
        kd_lu_solve(n, self->A, self->pivot, b, 1);
    }
    for (int i = 0; i < n; i++) b[i] *= self->column[i];
}

// ---- accelerations and multipliers ----------------------------------------------------------------------------------

static kd_eval evaluate_matrix(kd_acceleration *self)
{
    kd_dims d = self->dims;
    int     nv = d.nv, n = self->nf, at_mu = nv + d.nlambda, at_w = self->nk;
    blocks *b = &self->block;
    kd_eval answer = kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted);
    if (answer == KD_EVAL_OK && d.nlambda + d.nmu > 0 && !self->staged)
        answer = kd_eom_constraint_matrices(self->data, b->GZ, b->HZ);
    if (answer != KD_EVAL_OK) return note(self, answer);
    memset(self->A, 0, (size_t)n * (size_t)n * sizeof(double));
    put(self, n, 0, 0, nv, nv, b->M);
    put(self, n, 0, nv, nv, d.nlambda, b->C_lambda);
    put(self, n, 0, at_mu, nv, d.nmu, b->C_mu);
    put(self, n, 0, at_w, nv, d.nw, b->R_w);
    put(self, n, nv, 0, d.nlambda, nv, self->staged ? b->next_GZ : b->GZ);
    put(self, n, at_mu, 0, d.nmu, nv, self->staged ? b->next_HZ : b->HZ);
    put(self, n, at_w, nv, d.nw, d.nlambda, b->d_lambda);
    put(self, n, at_w, at_mu, d.nw, d.nmu, b->d_mu);
    put(self, n, at_w, at_w, d.nw, d.nw, b->d_w);
    switch_off(self, n);
    return KD_EVAL_OK;
}

// gII and hI at the present point, or the rows of a stage
static kd_eval evaluate_constraints(kd_acceleration *self, double *y)
{
    kd_dims       d = self->dims;
    const double *a = kd_eom_point(self->data)->a;
    if (!self->staged) {
        kd_eval answer = d.nlambda > 0 ? kd_eom_eval(self->data, KD_GII, y) : KD_EVAL_OK;
        return answer == KD_EVAL_OK && d.nmu > 0 ? kd_eom_eval(self->data, KD_HI, y + d.nlambda) : answer;
    }
    memcpy(y, self->next_rows, (size_t)(d.nlambda + d.nmu) * sizeof *y);
    kd_gemv(d.nlambda, d.nv, 1, self->block.next_GZ, a, 1, y);
    kd_gemv(d.nmu, d.nv, 1, self->block.next_HZ, a, 1, y + d.nlambda);
    return KD_EVAL_OK;
}

// rhs = -(residual, gII, hI, d), inactive rows -lambda_i
static kd_eval evaluate_rows(kd_acceleration *self, const double *lambda, const double *mu)
{
    kd_dims d = self->dims;
    double *y = self->rhs;
    kd_eval answer = kd_eom_eval(self->data, KD_RESIDUAL, y);
    if (answer == KD_EVAL_OK && d.nlambda + d.nmu > 0) answer = evaluate_constraints(self, y + d.nv);
    if (answer == KD_EVAL_OK && d.nw > 0) answer = kd_eom_eval(self->data, KD_D, y + self->nk);
    if (answer != KD_EVAL_OK) return note(self, answer);
    for (int i = 0; i < d.nlambda; i++)
        if (!is_active(self, i)) y[d.nv + i] = lambda[i];
    for (int i = 0; i < d.nmu; i++)
        if (!is_active(self, d.nlambda + i)) y[d.nv + d.nlambda + i] = mu[i];
    for (int i = 0; i < self->nf; i++) y[i] = -y[i];
    return KD_EVAL_OK;
}

static void add_increment(kd_acceleration *self, double *a, double *w, double *lambda, double *mu)
{
    kd_dims       d = self->dims;
    const double *y = self->rhs;
    kd_axpy(d.nv, 1, y, a);
    kd_axpy(d.nlambda, 1, y + d.nv, lambda);
    kd_axpy(d.nmu, 1, y + d.nv + d.nlambda, mu);
    kd_axpy(d.nw, 1, y + self->nk, w);
}

// largest component of (a, lambda, mu, w) in scaled units
static double scaled_size(const kd_acceleration *self, const double *a, const double *w, const double *lambda,
                          const double *mu)
{
    kd_dims       d = self->dims;
    const double *part[] = {a, lambda, mu, w};
    int           length[] = {d.nv, d.nlambda, d.nmu, d.nw};
    double        size = 0;
    for (int k = 0, j = 0; k < 4; k++)
        for (int i = 0; i < length[k]; i++, j++) size = fmax(size, fabs(part[k][i] / self->column[j]));
    return size;
}

static double scaled_increment(const kd_acceleration *self)
{
    double size = 0;
    for (int j = 0; j < self->nf; j++) size = fmax(size, fabs(self->rhs[j] / self->column[j]));
    return size;
}

void kd_acceleration_least_change(kd_acceleration *self)
{
    self->least_change = true;
}

void kd_acceleration_share(kd_acceleration *self)
{
    self->shares = true;
}

void kd_acceleration_euclidean(kd_acceleration *self)
{
    self->euclidean = true;
}

// self->solution += K \ -(residual, gII, hI) at the present point; *step, *size: largest parts of a
static kd_eval improve(kd_acceleration *self, const double *w, double *step, double *size)
{
    int     nv = self->dims.nv, nlambda = self->dims.nlambda;
    double *x = self->solution;
    kd_eom_at_acceleration(self->data, x, w, x + nv, x + nv + nlambda);
    kd_eval answer = evaluate_rows(self, x + nv, x + nv + nlambda);
    if (answer != KD_EVAL_OK) return answer;
    solve(self, self->nk, self->rhs);
    kd_axpy(self->nk, 1, self->rhs, x);
    *step = kd_norm_max(nv, self->rhs);
    *size = kd_norm_max(nv, x);
    return KD_EVAL_OK;
}

// Linear equations with definite M and independent rows, at the point that the data are at. Close to the point of the
// last matrix its solution is corrected with that matrix: what that leaves is bilinear in correction and distance.
static kd_eval solve_definite(kd_acceleration *self, double t, const double *p, const double *w, bool *done)
{
    double  far, step, size;
    kd_eval answer = KD_EVAL_OK;
    *done = false;
    if (is_near(self, t, p, &far) && self->solved) {
        answer = improve(self, w, &step, &size);
        *done = answer == KD_EVAL_OK && step * far <= DBL_EPSILON * size;
        if (*done || answer != KD_EVAL_OK) return answer;
    }
    memset(self->solution, 0, (size_t)self->nk * sizeof(double));
    kd_eom_at_acceleration(self->data, self->solution, w, self->solution, self->solution);
    answer = factor_definite(self, t, p, done);
    if (answer != KD_EVAL_OK || !*done) return answer;
    answer = improve(self, w, &step, &size);
    if (answer == KD_EVAL_OK && !isfinite(step))
        answer = no_solution(self, KD_ERR_NOT_FINITE, t, "no finite acceleration");
    self->solved = answer == KD_EVAL_OK;
    return answer;
}

static void take_solution(const kd_acceleration *self, double *a, double *lambda, double *mu)
{
    kd_dims d = self->dims;
    memcpy(a, self->solution, (size_t)d.nv * sizeof *a);
    for (int i = 0; i < d.nlambda; i++) lambda[i] = self->solution[d.nv + i];
    for (int i = 0; i < d.nmu; i++) mu[i] = self->solution[d.nv + d.nlambda + i];
}

// n numbers; those that there are none of may be NULL
static void copy(int n, const double *from, double *to)
{
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

// (a, lambda, mu, w) to or from one array
static void save(const kd_acceleration *self, const double *a, const double *w, const double *lambda, const double *mu,
                 double *to)
{
    kd_dims d = self->dims;
    copy(d.nv, a, to);
    copy(d.nlambda, lambda, to + d.nv);
    copy(d.nmu, mu, to + d.nv + d.nlambda);
    copy(d.nw, w, to + self->nk);
}
static void restore(const kd_acceleration *self, const double *from, double *a, double *w, double *lambda, double *mu)
{
    kd_dims d = self->dims;
    copy(d.nv, from, a);
    copy(d.nlambda, from + d.nv, lambda);
    copy(d.nmu, from + d.nv + d.nlambda, mu);
    copy(d.nw, from + self->nk, w);
}

// The matrix in use may serve later points with the same rows, unless it was truncated. That of a stage serves stages
// only: it may lack redundant rows, whose multipliers would stay what they came as.
static void keep_matrix(kd_acceleration *self, const double *a, const double *w, const double *lambda, const double *mu)
{
    kd_dims d = self->dims;
    save(self, a, w, lambda, mu, self->kept_point);
    self->keeps = !self->truncated;
    self->kept_staged = self->staged;
    memcpy(self->kept_active, self->state->active_lambda, (size_t)d.nlambda);
    memcpy(self->kept_active + d.nlambda, self->state->active_mu, (size_t)d.nmu);
}

// Simplified Newton's method with the matrix of an earlier point, from its accelerations and the guess that came;
// *done: it has converged. Otherwise all is as before.
static kd_eval solve_with_kept(kd_acceleration *self, double *a, double *w, double *lambda, double *mu, bool *done)
{
    kd_dims d = self->dims;
    double  last = 0;
    *done = false;
    if (!self->keeps || self->kept_staged != self->staged ||
        memcmp(self->kept_active, self->state->active_lambda, (size_t)d.nlambda) != 0 ||
        memcmp(self->kept_active + d.nlambda, self->state->active_mu, (size_t)d.nmu) != 0)
        return KD_EVAL_OK;
    save(self, a, w, lambda, mu, self->guess);
    memcpy(a, self->kept_point, (size_t)d.nv * sizeof *a);
    for (int k = 0; k < KEPT_ITERATIONS; k++) {
        kd_eom_at_acceleration(self->data, a, w, lambda, mu);
        kd_eval answer = evaluate_rows(self, lambda, mu);
        if (answer == KD_EVAL_STOP) return answer;
        if (answer != KD_EVAL_OK) break;
        solve(self, self->nf, self->rhs);
        double step = scaled_increment(self), rate = k > 0 && last > 0 ? step / last : KEPT_RATE;
        if (!isfinite(step) || rate > KEPT_RATE) break;
        add_increment(self, a, w, lambda, mu);
        *done = step * rate / (1 - rate) <= KEPT_LEFT * scaled_size(self, a, w, lambda, mu);
        if (*done) {
            save(self, a, w, lambda, mu, self->kept_point);
            return KD_EVAL_OK;
        }
        last = step;
    }
    restore(self, self->guess, a, w, lambda, mu);
    return KD_EVAL_OK;
}

// ---- multipliers of redundant rows ----------------------------------------------------------------------------------

// Null vectors of the matrix whose SVD is at hand, without its scale, orthonormal in the multipliers: N (nk - nv x k)
// in the columns of U. The norm that counts is that of lambda and mu, not of the scaled unknowns.
static int null_multipliers(kd_acceleration *self, int n)
{
    const int nv = self->dims.nv, rows = self->nk - nv;
    int       count = 0;
    for (int i = 0; i < n && count < rows; i++) {
        double *q = self->U + (size_t)count * (size_t)rows, length;
        if (self->sigma[i] > self->rank_tolerance * self->sigma[0]) continue;
        for (int j = 0; j < rows; j++) q[j] = self->Vt[i + (nv + j) * n] * self->column[nv + j];
        length = sqrt(kd_dot(rows, q, q));
        for (int b = 0; b < 2 * count; b++) { // twice is enough
            const double *other = self->U + (size_t)(b % count) * (size_t)rows;
            kd_axpy(rows, -kd_dot(rows, other, q), other, q);
        }
        double left = sqrt(kd_dot(rows, q, q));
        if (!(left > INDEPENDENT * length)) continue;
        for (int j = 0; j < rows; j++) q[j] /= left;
        count++;
    }
    return count;
}

// lambda, mu <- (I - N N') (lambda, mu): the same forces, the least norm
static void take_least_norm(kd_acceleration *self, int n, double *lambda, double *mu)
{
    const int nlambda = self->dims.nlambda, nmu = self->dims.nmu, rows = nlambda + nmu;
    const int count = null_multipliers(self, n);
    for (int k = 0; k < count; k++) {
        const double *q = self->U + (size_t)k * (size_t)rows;
        const double  part = kd_dot(nlambda, q, lambda) + kd_dot(nmu, q + nlambda, mu);
        kd_axpy(nlambda, -part, q, lambda);
        kd_axpy(nmu, -part, q + nlambda, mu);
    }
}

kd_eval kd_acceleration_least_norm(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                   const double *r, const double *a, const double *w, double *lambda, double *mu)
{
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK || self->nk == self->dims.nv) return answer;
    if (!reserve(self)) return no_room(self, t);
    kd_eom_at_acceleration(self->data, a, w, lambda, mu);
    self->by_definition = self->shared = false;
    answer = evaluate_matrix(self);
    if (answer != KD_EVAL_OK) return answer;
    if (!factor(self, self->nf))
        return no_solution(self, KD_ERR_SINGULAR_MASS, t, kd_status_sentence(KD_ERR_SINGULAR_MASS));
    if (self->truncated) take_least_norm(self, self->nf, lambda, mu);
    return KD_EVAL_OK;
}

kd_eval kd_acceleration_solve(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                              const double *r, double *a, double *w, double *lambda, double *mu)
{
    kd_dims d = self->dims;
    double  last = INFINITY;
    bool    least = self->least_change; // nothing is left to be done for the norm
    memset(a, 0, (size_t)d.nv * sizeof *a);
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK) return answer;
    if (!self->staged && has_own_solution(self) && kd_eom_accelerations(self->data, a, lambda, mu) == KD_EVAL_OK)
        return KD_EVAL_OK;
    self->by_definition = false;
    if (!reserve(self)) return no_room(self, t);
    if (self->linear) {
        bool done;
        answer = solve_definite(self, t, p, w, &done);
        if (answer != KD_EVAL_OK) return answer;
        if (done) {
            take_solution(self, a, lambda, mu);
            return KD_EVAL_OK;
        }
    } else {
        bool done;
        answer = solve_with_kept(self, a, w, lambda, mu, &done);
        if (answer != KD_EVAL_OK || done) return answer;
    }
    for (int k = 0; k < MAX_ITERATIONS; k++) {
        kd_eom_at_acceleration(self->data, a, w, lambda, mu);
        answer = evaluate_matrix(self);
        if (answer != KD_EVAL_OK) return answer;
        if (!factor(self, self->nf))
            return no_solution(self, KD_ERR_SINGULAR_MASS, t, kd_status_sentence(KD_ERR_SINGULAR_MASS));
        if (k == 0 && self->truncated && !self->least_change) { // minimum norm counts from zero
            for (int i = 0; i < d.nlambda; i++) lambda[i] = 0;
            for (int i = 0; i < d.nmu; i++) mu[i] = 0;
            kd_eom_at_acceleration(self->data, a, w, lambda, mu);
        }
        answer = evaluate_rows(self, lambda, mu);
        if (answer != KD_EVAL_OK) return answer;
        solve(self, self->nf, self->rhs);
        double step = scaled_increment(self);
        add_increment(self, a, w, lambda, mu);
        if (self->linear && !isfinite(step)) return no_solution(self, KD_ERR_NOT_FINITE, t, "no finite acceleration");
        if (self->linear && self->truncated && !least) take_least_norm(self, self->nf, lambda, mu);
        if (self->linear) return KD_EVAL_OK;
        double size = scaled_size(self, a, w, lambda, mu);
        if (step <= CONVERGED * size || (step >= 0.5 * last && step <= STAGNATED * size)) {
            if (self->truncated && !least) { // forces that depend on multipliers: once more from there
                take_least_norm(self, self->nf, lambda, mu);
                least = true;
                last = INFINITY;
                continue;
            }
            keep_matrix(self, a, w, lambda, mu);
            return KD_EVAL_OK;
        }
        if (!isfinite(step)) break;
        last = step;
    }
    return no_solution(
        self, KD_ERR_NEWTON, t,
        "the equations for accelerations, multipliers and auxiliary variables have no solution near the guess");
}

// ---- jumps ----------------------------------------------------------------------------------------------------------

// May the matrix in use serve a jump at p? Not for ever: it may depend on time.
static bool serves_jump(const kd_acceleration *self, const double *p)
{
    return self->shared && !self->staged && self->jumps < JUMPS && distance(self, p) <= JUMP_NEAR;
}

kd_eval kd_acceleration_jump(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                             const double *r, const double *a, const double *w, const double *lambda, const double *mu,
                             double *jump, bool *done)
{
    const int nv = self->dims.nv;
    *done = false;
    if (!self->linear || !all_active(self) || has_own_solution(self)) return KD_EVAL_OK;
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK) return answer;
    if (!reserve(self)) return no_room(self, t);
    kd_eom_at_acceleration(self->data, a, w, lambda, mu);
    if (serves_jump(self, p)) {
        self->jumps++;
    } else {
        bool factored;
        self->jumps = 0;
        answer = factor_definite(self, t, p, &factored);
        if (answer != KD_EVAL_OK || !factored) return answer;
    }
    answer = kd_eom_eval(self->data, KD_RESIDUAL, jump);
    if (answer != KD_EVAL_OK) return note(self, answer);
    for (int i = 0; i < nv; i++) jump[i] = -jump[i];
    for (int i = nv; i < self->nk; i++) jump[i] = 0;
    kd_kkt_solve(&self->kkt, jump);
    *done = isfinite(kd_norm_max(self->nk, jump));
    return KD_EVAL_OK;
}

// ---- half-explicit stages -------------------------------------------------------------------------------------------

kd_eval kd_acceleration_select(kd_acceleration *self, double t, const double *p, const double *s)
{
    kd_dims d = self->dims;
    int     m = d.nlambda + d.nmu, rows = 0;
    double *C = self->A;
    if (!self->svd || m == 0) return KD_EVAL_OK;
    kd_eval answer = at_time(self, t);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_position(self->data, p, s);
    answer = note(self, kd_eom_constraint_matrices(self->data, self->block.next_GZ, self->block.next_HZ));
    if (answer != KD_EVAL_OK) return answer;
    memset(self->left_out, 0, (size_t)m * sizeof *self->left_out);
    for (int k = 0; k < m; k++) {
        if (!is_active(self, k)) continue;
        const double *row = k < d.nlambda ? self->block.next_GZ + k : self->block.next_HZ + (k - d.nlambda);
        double        most = 0;
        int           ld = k < d.nlambda ? d.nlambda : d.nmu;
        for (int j = 0; j < d.nv; j++) most = larger(most, fabs(row[j * ld]));
        for (int j = 0; j < d.nv; j++) C[rows + j * m] = most > 0 ? row[j * ld] / most : 0;
        self->pivot[rows++] = k;
    }
    for (int j = 0; j < d.nv && rows < m; j++) memmove(C + j * rows, C + j * m, (size_t)rows * sizeof *C);
    int rank = kd_lu_full(rows, d.nv, C, self->row_order, self->column_order, self->rank_tolerance);
    for (int k = rank; k < rows; k++) self->left_out[self->pivot[self->row_order[k]]] = true;
    self->definite = self->shared = self->keeps = false;
    return KD_EVAL_OK;
}

// next_GZ a + next_rows = 0 with the rows of the other point
static kd_eval evaluate_next(kd_acceleration *self, const kd_next *next, const double *s, const double *r)
{
    kd_dims d = self->dims;
    blocks *b = &self->block;
    double *y = self->next_rows;
    if (d.ns > 0) memcpy(self->next_s, s, (size_t)d.ns * sizeof *s);
    kd_eval answer = kd_acceleration_contacts(self, next->t, next->p, self->next_s);
    if (answer == KD_EVAL_OK) answer = kd_acceleration_at(self, next->t, next->p, self->next_s, next->v, r);
    if (answer != KD_EVAL_OK) return answer;
    answer = kd_eom_constraint_matrices(self->data, b->next_GZ, b->next_HZ);
    if (answer == KD_EVAL_OK && d.nlambda > 0) answer = kd_eom_eval(self->data, KD_GI, y);
    if (answer == KD_EVAL_OK && d.nmu > 0) answer = kd_eom_eval(self->data, KD_H, y + d.nlambda);
    for (int i = 0; i < d.nlambda + d.nmu; i++) y[i] /= next->factor;
    return note(self, answer);
}

// A stage whose two points lie next to each other, as at the end of a step, with the matrix of the first one
static kd_eval solve_next_to(kd_acceleration *self, const kd_next *next, double t, const double *p, const double *w,
                             bool *done)
{
    double  far_p, far, step, size;
    kd_eval answer = KD_EVAL_OK;
    *done = false;
    if (!self->solved || next->t != t || !is_near(self, t, p, &far_p) || !is_near(self, t, next->p, &far))
        return answer;
    memcpy(self->kept, self->solution, (size_t)self->nk * sizeof *self->kept);
    self->staged = true;
    for (int k = 0; k < NEXT_TO && !*done && answer == KD_EVAL_OK; k++) {
        answer = improve(self, w, &step, &size);
        *done = answer == KD_EVAL_OK && step * (far_p + far) <= DBL_EPSILON * size;
    }
    self->staged = false;
    return answer;
}

// -(gI, h) / factor at the other point for the velocity v
static kd_eval rows_elsewhere(kd_acceleration *self, const kd_next *next, const double *v, const double *r, double *y)
{
    kd_dims d = self->dims;
    kd_eom_at_velocity(self->data, v, r);
    kd_eval answer = d.nlambda > 0 ? kd_eom_eval(self->data, KD_GI, y) : KD_EVAL_OK;
    if (answer == KD_EVAL_OK && d.nmu > 0) answer = kd_eom_eval(self->data, KD_H, y + d.nlambda);
    for (int i = 0; i < d.nlambda + d.nmu; i++) y[i] /= -next->factor;
    return note(self, answer);
}

// Large systems: K at (t, p), factored along the topology, corrects the rows of the other point until the velocity
// there no longer moves; each correction is smaller by the distance of the two points. Not done where that is too far.
static kd_eval solve_by_corrections(kd_acceleration *self, const kd_next *next, double t, const double *p,
                                    const double *s, const double *v, const double *r, bool *done)
{
    kd_dims d = self->dims;
    double *y = self->rhs, *x = self->solution, *moved = self->e_moved, last = INFINITY;
    *done = false;
    if (!has_own_solution(self)) return KD_EVAL_OK;
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK || kd_eom_kkt_factor(self->data) != KD_EVAL_OK) return answer;
    kd_eom_at_acceleration(self->data, self->zero, self->zero, self->zero, self->zero);
    answer = note(self, kd_eom_eval(self->data, KD_RESIDUAL, y));
    for (int i = 0; i < d.nv; i++) y[i] = -y[i];
    if (answer == KD_EVAL_OK) answer = kd_acceleration_at(self, next->t, next->p, s, next->v, r);
    self->solved = false;
    memset(x, 0, (size_t)self->nk * sizeof *x);
    memcpy(moved, next->v, (size_t)d.nv * sizeof *moved);
    for (int k = 0; k < BY_TOPOLOGY && answer == KD_EVAL_OK && !*done; k++) {
        answer = rows_elsewhere(self, next, moved, r, y + d.nv);
        if (answer != KD_EVAL_OK) break;
        kd_eom_kkt_solve(self->data, y);
        kd_axpy(self->nk, 1, y, x);
        kd_axpy(d.nv, next->factor, y, moved);
        double step = fabs(next->factor) * kd_norm_max(d.nv, y), size = kd_norm_max(d.nv, moved);
        *done = step * (k > 0 ? step / last : 1) <= DBL_EPSILON * size;
        if (!(k == 0 || step < 0.5 * last)) break;
        last = step;
        memset(y, 0, (size_t)d.nv * sizeof *y);
    }
    return answer == KD_EVAL_OK ? kd_acceleration_at(self, t, p, s, v, r) : answer;
}

kd_eval kd_acceleration_stage(kd_acceleration *self, const kd_next *next, double t, const double *p, const double *s,
                              const double *v, const double *r, double *a, double *w, double *lambda, double *mu)
{
    bool    done;
    kd_eval answer = solve_by_corrections(self, next, t, p, s, v, r, &done);
    if (answer != KD_EVAL_OK) return answer;
    if (done) {
        take_solution(self, a, lambda, mu);
        return KD_EVAL_OK;
    }
    if (!reserve(self)) return no_room(self, t);
    answer = evaluate_next(self, next, s, r);
    if (answer == KD_EVAL_OK) answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer == KD_EVAL_OK) answer = solve_next_to(self, next, t, p, w, &done);
    if (answer != KD_EVAL_OK) return answer;
    if (done) {
        take_solution(self, a, lambda, mu);
        memcpy(self->solution, self->kept, (size_t)self->nk * sizeof *self->kept);
        return KD_EVAL_OK;
    }
    self->staged = true;
    answer = kd_acceleration_solve(self, t, p, s, v, r, a, w, lambda, mu);
    self->staged = self->definite = self->solved = false;
    return answer;
}

// ---- projection -----------------------------------------------------------------------------------------------------

// LU of c_s at the point that the data are at
static kd_eval factor_contacts(kd_acceleration *self, double t)
{
    int     ns = self->dims.ns;
    kd_eval answer = kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted_c);
    self->c_known = false;
    if (answer != KD_EVAL_OK) return note(self, answer);
    if (self->block.c_s) memcpy(self->c_LU, self->block.c_s, (size_t)ns * (size_t)ns * sizeof(double));
    self->c_known = self->block.c_s && kd_lu_factor(ns, self->c_LU, self->c_pivot) == 0;
    return self->c_known ? KD_EVAL_OK
                         : no_solution(self, KD_ERR_SINGULAR_CS, t, kd_status_sentence(KD_ERR_SINGULAR_CS));
}

kd_eval kd_acceleration_contacts(kd_acceleration *self, double t, const double *p, double *s)
{
    int ns = self->dims.ns;
    if (ns == 0) return KD_EVAL_OK;
    double *c = self->small, last = INFINITY;
    kd_eval answer = at_time(self, t);
    if (answer != KD_EVAL_OK) return answer;
    for (int k = 0; k < MAX_ITERATIONS; k++) {
        kd_eom_at_position(self->data, p, s);
        answer = kd_eom_eval(self->data, KD_C, c);
        if (answer != KD_EVAL_OK) return note(self, answer);
        if (k > 0 || !self->c_known) { // at first with the matrix of an earlier point: often there is little to do
            answer = factor_contacts(self, t);
            if (answer != KD_EVAL_OK) return answer;
        }
        kd_lu_solve(ns, self->c_LU, self->c_pivot, c, 1);
        kd_axpy(ns, -1, c, s);
        double step = kd_norm_max(ns, c), size = kd_norm_max(ns, s) + 1e-3;
        if (step <= CONVERGED * size || (step >= 0.5 * last && step <= STAGNATED * size)) {
            kd_eom_at_position(self->data, p, s);
            return KD_EVAL_OK;
        }
        last = step;
    }
    return no_solution(self, KD_ERR_SINGULAR_CS, t, "Newton's method finds no contact coordinates");
}

// K = [M C'; C 0] with C = [GZ; HZ], or I for M
static kd_eval evaluate_projector(kd_acceleration *self, double t, const double *p, double *far)
{
    bool done;
    if (!self->euclidean && is_near(self, t, p, far)) return KD_EVAL_OK;
    *far = 0;
    self->definite = self->shared = self->keeps = false;
    self->by_definition = !self->euclidean && has_own_solution(self) && kd_eom_kkt_factor(self->data) == KD_EVAL_OK;
    if (self->by_definition) return KD_EVAL_OK;
    if (!reserve(self)) return no_room(self, kd_eom_point(self->data)->t);
    kd_dims d = self->dims;
    int     nv = d.nv, n = self->nk, at_mu = nv + d.nlambda;
    blocks *b = &self->block;
    kd_eom_at_acceleration(self->data, self->zero, self->zero, self->zero, self->zero);
    if (!self->euclidean) {
        kd_eval definite = factor_definite(self, t, p, &done);
        if (definite != KD_EVAL_OK || done) return definite;
    }
    kd_eval answer = self->euclidean ? KD_EVAL_OK : kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted_mass);
    if (answer == KD_EVAL_OK) answer = kd_eom_constraint_matrices(self->data, b->GZ, b->HZ);
    if (answer != KD_EVAL_OK) return note(self, answer);
    memset(self->A, 0, (size_t)n * (size_t)n * sizeof(double));
    if (!self->euclidean) put(self, n, 0, 0, nv, nv, b->M);
    for (int i = 0; i < nv && self->euclidean; i++) self->A[i + i * n] = 1;
    put(self, n, nv, 0, d.nlambda, nv, b->GZ);
    put(self, n, at_mu, 0, d.nmu, nv, b->HZ);
    put_transposed(self, n, 0, nv, nv, d.nlambda, b->GZ);
    put_transposed(self, n, 0, at_mu, nv, d.nmu, b->HZ);
    switch_off(self, n);
    return KD_EVAL_OK;
}

static void clear_inactive(kd_acceleration *self)
{
    double *y = self->rhs + self->dims.nv;
    for (int i = 0; i < self->dims.nlambda; i++)
        if (!self->state->active_lambda[i]) y[i] = 0;
    for (int i = 0; i < self->dims.nmu; i++)
        if (!self->state->active_mu[i]) y[self->dims.nlambda + i] = 0;
}

// p <- p oplus e_moved, with q and s
static kd_eval move_position(kd_acceleration *self, double t, double *p, double *s)
{
    kd_eval answer = note(self, kd_eom_oplus(self->data, p, self->e_moved, self->p_moved));
    if (answer != KD_EVAL_OK) return answer;
    memcpy(p, self->p_moved, (size_t)self->dims.np * sizeof(double));
    answer = note(self, kd_position_normalise(&self->position, self->data, s, p));
    return answer == KD_EVAL_OK ? kd_acceleration_contacts(self, t, p, s) : answer;
}

// p <- p oplus -P g; *moved = size of the increment
static kd_eval project_position(kd_acceleration *self, double t, double *p, double *s, double *moved)
{
    kd_dims d = self->dims;
    double *y = self->rhs;
    memset(y, 0, (size_t)self->nk * sizeof *y);
    kd_eval answer = kd_eom_eval(self->data, KD_G, y + d.nv);
    if (answer != KD_EVAL_OK) return note(self, answer);
    for (int i = 0; i < d.nlambda; i++) y[d.nv + i] = -y[d.nv + i];
    clear_inactive(self);
    solve(self, self->nk, y);
    memcpy(self->e_moved, y, (size_t)d.nv * sizeof(double));
    *moved = natural_norm(self, y);
    return move_position(self, t, p, s);
}

// v <- v - P (gI, h); *moved = size of the increment
static kd_eval project_velocity(kd_acceleration *self, double *v, double *moved)
{
    kd_dims d = self->dims;
    double *y = self->rhs;
    memset(y, 0, (size_t)self->nk * sizeof *y);
    kd_eval answer = d.nlambda > 0 ? kd_eom_eval(self->data, KD_GI, y + d.nv) : KD_EVAL_OK;
    if (answer == KD_EVAL_OK && d.nmu > 0) answer = kd_eom_eval(self->data, KD_H, y + d.nv + d.nlambda);
    if (answer != KD_EVAL_OK) return note(self, answer);
    for (int i = d.nv; i < self->nk; i++) y[i] = -y[i];
    clear_inactive(self);
    solve(self, self->nk, y);
    kd_axpy(d.nv, 1, y, v);
    *moved = natural_norm(self, y) * kd_eom_time(self->eom);
    return KD_EVAL_OK;
}

// Newton onto g (with c, q), then onto gI and h; *far: distance from the point of the matrix. What an iteration leaves
// is bilinear in its increment and that distance: at the end of an integration step one is enough.
static kd_eval project_levels(kd_acceleration *self, double t, double *p, double *s, double *v, const double *r,
                              double *far)
{
    double  step;
    kd_eval answer = KD_EVAL_OK;
    for (int k = 0; k < PROJECTIONS && self->dims.nlambda > 0; k++) {
        kd_eom_at_position(self->data, p, s);
        answer = project_position(self, t, p, s, &step);
        if (answer != KD_EVAL_OK) return answer;
        *far += step;
        if (step * *far <= DBL_EPSILON) break;
    }
    for (int k = 0; k < PROJECTIONS; k++) {
        kd_eom_at_position(self->data, p, s);
        kd_eom_at_velocity(self->data, v, r);
        answer = project_velocity(self, v, &step);
        if (answer != KD_EVAL_OK || step * *far <= DBL_EPSILON) break;
    }
    return answer;
}

// ---- projection onto invariants -------------------------------------------------------------------------------------
//
// The shortest move (dp, dv) in the norm of M, with 1 s as unit of time, along the constraints back to 0 = e. A move dp
// carries v along by V_p dp, where GZ V_p = -gI_p and HZ V_p = -h_p, so that
//     e_p dp + e_v (V_p dp + dv) = -e,   GZ dp = 0, HZ dp = 0,   GZ dv = 0, HZ dv = 0.
// With K [b; nu] = [e_v'; 0] symmetry of K gives e_v V_p = -nu' [gI_p; h_p]. It is well determined where e_v vanishes
// but e_p does not, as the energy at a turning point.

// out += factor A' y, A (rows x columns) or NULL: zero
static void add_product(int rows, int columns, double factor, const double *y, const double *A, double *out)
{
    if (A) kd_gemv_t(rows, columns, factor, A, y, 1, out);
}

// gradient of invariant k by p along the constraints, e_p - nu' [gI_p; h_p], where s follows p by c_s ds = -c_p dp
static void reduced_gradient(kd_acceleration *self, int k)
{
    kd_dims       d = self->dims;
    const blocks *b = &self->block;
    const double *nu = self->along_v + k * self->nk + d.nv;
    double       *out = self->gradient + k * d.nv, *by_s = self->small;
    for (int i = 0; i < d.nv; i++) out[i] = b->e_p ? b->e_p[k + i * d.ne] : 0;
    add_product(d.nlambda, d.nv, -1, nu, b->gI_p, out);
    add_product(d.nmu, d.nv, -1, nu + d.nlambda, b->h_p, out);
    if (d.ns == 0) return;
    for (int i = 0; i < d.ns; i++) by_s[i] = b->e_s ? b->e_s[k + i * d.ne] : 0;
    add_product(d.nlambda, d.ns, -1, nu, b->gI_s, by_s);
    add_product(d.nmu, d.ns, -1, nu + d.nlambda, b->h_s, by_s);
    kd_lu_solve_t(d.ns, b->c_s, self->pivot_small, by_s, 1);
    add_product(d.ns, d.nv, -1, by_s, b->c_p, out);
}

// K \ [force; 0]
static void tangent_direction(kd_acceleration *self, const double *force, int stride, double *out)
{
    memset(out, 0, (size_t)self->nk * sizeof *out);
    for (int i = 0; i < self->dims.nv; i++) out[i] = force[i * stride];
    solve(self, self->nk, out);
}

// Directions at the present point and S = change of e by them, its SVD; not regular: nothing can be projected
static kd_eval invariant_directions(kd_acceleration *self, bool *regular)
{
    kd_dims       d = self->dims;
    const blocks *b = &self->block;
    kd_eval       answer = note(self, kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted_e));
    *regular = false;
    if (answer != KD_EVAL_OK) return answer;
    if (d.ns > 0 && kd_lu_factor(d.ns, b->c_s, self->pivot_small) != 0) return KD_EVAL_OK;
    for (int k = 0; k < d.ne; k++) {
        tangent_direction(self, b->e_v + k, d.ne, self->along_v + k * self->nk);
        reduced_gradient(self, k);
        tangent_direction(self, self->gradient + k * d.nv, 1, self->along_p + k * self->nk);
    }
    for (int k = 0; k < d.ne; k++) {
        kd_gemv(d.ne, d.nv, 1, b->e_v, self->along_v + k * self->nk, 0, self->S + k * d.ne);
        kd_gemv_t(d.nv, d.ne, 1, self->gradient, self->along_p + k * self->nk, 1, self->S + k * d.ne);
    }
    *regular = kd_svd(d.ne, d.ne, self->S, self->e_U, self->e_sigma, self->e_Vt, self->e_work) == 0 &&
               self->e_sigma[0] > DBL_MIN;
    return KD_EVAL_OK;
}

// One move towards 0 = e from the point where directions and self->e belong; *moved = its size
static kd_eval move_along(kd_acceleration *self, double t, double *p, double *s, double *v, double *moved)
{
    kd_dims d = self->dims;
    double *y = self->e, *dp = self->e_moved;
    kd_gemv_t(d.ne, d.ne, 1, self->e_U, y, 0, self->e_work); // dependent invariants: the shortest move for all
    for (int k = 0; k < d.ne; k++)
        self->e_work[k] *= self->e_sigma[k] > DEPENDENT * self->e_sigma[0] ? 1 / self->e_sigma[k] : 0;
    kd_gemv_t(d.ne, d.ne, 1, self->e_Vt, self->e_work, 0, y);
    *moved = 0;
    memset(dp, 0, (size_t)d.nv * sizeof *dp);
    for (int k = 0; k < d.ne; k++) {
        kd_axpy(d.nv, -y[k], self->along_p + k * self->nk, dp);
        kd_axpy(d.nv, -y[k], self->along_v + k * self->nk, v);
        *moved += fabs(y[k]) * kd_norm_max(d.nv, self->along_v + k * self->nk);
    }
    *moved += kd_norm_max(d.nv, dp);
    return move_position(self, t, p, s);
}

// size of e at the present point
static kd_eval invariant_size(kd_acceleration *self, const double *p, const double *s, const double *v, const double *r,
                              double *size)
{
    kd_eom_at_position(self->data, p, s);
    kd_eom_at_velocity(self->data, v, r);
    kd_eval answer = note(self, kd_eom_eval(self->data, KD_E, self->e));
    *size = kd_norm_max(self->dims.ne, self->e);
    return answer;
}

static kd_eval project_invariants(kd_acceleration *self, double t, double *p, double *s, double *v, const double *r,
                                  double *far)
{
    kd_dims d = self->dims;
    double  size, left, moved;
    kd_eval answer = invariant_size(self, p, s, v, r, &size);
    for (int k = 0; k < MOVES && answer == KD_EVAL_OK && size > 0; k++) {
        bool regular;
        answer = invariant_directions(self, &regular);
        if (answer != KD_EVAL_OK || !regular) return answer;
        memcpy(self->p_kept, p, (size_t)d.np * sizeof *p);
        memcpy(self->v_kept, v, (size_t)d.nv * sizeof *v);
        if (d.ns > 0) memcpy(self->s_kept, s, (size_t)d.ns * sizeof *s);
        answer = move_along(self, t, p, s, v, &moved);
        *far += moved;
        if (answer == KD_EVAL_OK) answer = project_levels(self, t, p, s, v, r, far);
        if (answer == KD_EVAL_OK) answer = invariant_size(self, p, s, v, r, &left);
        if (answer != KD_EVAL_OK || !(left <= REDUCTION * size)) {
            memcpy(p, self->p_kept, (size_t)d.np * sizeof *p);
            memcpy(v, self->v_kept, (size_t)d.nv * sizeof *v);
            if (d.ns > 0) memcpy(s, self->s_kept, (size_t)d.ns * sizeof *s);
            return answer == KD_EVAL_STOP ? answer : KD_EVAL_OK;
        }
        size = left;
        if (moved * *far <= DBL_EPSILON) break;
    }
    return answer;
}

// K [dv; Lambda] = -[momentum; gI, h], at the right-hand limit of an instant
kd_eval kd_acceleration_impulse(kd_acceleration *self, double t, const double *p, const double *s, double *v,
                                const double *r, const double *momentum, double *impulse)
{
    kd_dims d = self->dims;
    double  far = 0, *y = self->rhs;
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK) return answer;
    self->keeps = self->shared = false; // the matrix of this very point
    answer = evaluate_projector(self, t, p, &far);
    if (answer != KD_EVAL_OK) return answer;
    if (!(self->by_definition || self->definite || factor(self, self->nk)))
        return no_solution(self, KD_ERR_SINGULAR_MASS, t, kd_status_sentence(KD_ERR_SINGULAR_MASS));
    memset(y, 0, (size_t)self->nk * sizeof *y);
    if (d.nlambda > 0) answer = kd_eom_eval(self->data, KD_GI, y + d.nv);
    if (answer == KD_EVAL_OK && d.nmu > 0) answer = kd_eom_eval(self->data, KD_H, y + d.nv + d.nlambda);
    if (answer != KD_EVAL_OK) return note(self, answer);
    if (momentum) memcpy(y, momentum, (size_t)d.nv * sizeof *y);
    for (int i = 0; i < self->nk; i++) y[i] = -y[i];
    clear_inactive(self);
    solve(self, self->nk, y);
    kd_axpy(d.nv, 1, y, v);
    memcpy(impulse, y + d.nv, (size_t)(d.nlambda + d.nmu) * sizeof *y);
    return KD_EVAL_OK;
}

kd_eval kd_acceleration_project(kd_acceleration *self, double t, double *p, double *s, double *v, const double *r,
                                bool invariants)
{
    kd_dims d = self->dims;
    kd_eval answer = at_time(self, t);
    if (answer == KD_EVAL_OK) answer = note(self, kd_position_normalise(&self->position, self->data, s, p));
    if (answer == KD_EVAL_OK) answer = kd_acceleration_contacts(self, t, p, s);
    invariants = invariants && self->block.e_v;
    if (answer != KD_EVAL_OK || (d.nlambda + d.nmu == 0 && !invariants)) return answer;

    kd_eom_at_position(self->data, p, s);
    kd_eom_at_velocity(self->data, v, r);
    double far = 0;
    answer = evaluate_projector(self, t, p, &far);
    if (answer != KD_EVAL_OK) return answer;
    if (!(self->by_definition || self->definite || factor(self, self->nk)))
        return no_solution(self, KD_ERR_SINGULAR_MASS, t, kd_status_sentence(KD_ERR_SINGULAR_MASS));
    answer = project_levels(self, t, p, s, v, r, &far);
    return answer == KD_EVAL_OK && invariants ? project_invariants(self, t, p, s, v, r, &far) : answer;
}
