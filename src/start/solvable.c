// solvable.c: the generalised Gruebler condition (S1 Eq. 23) with auxiliary variables w.
//
// Constraints C = [GZ; HZ] that hold, residual R = M a - f + C' l, l = (lambda, mu):
//
//     N(tau) = C M^-1 (C' - tau F),   F = C' - (R_l - R_w d_w^-1 d_l)     must have the rank of C
//
// for tau = 1. F = f_l - f_w d_w^-1 d_l are the forces of multipliers; for tau = 0, without them, it has. In a basis U
// of the independent rows, C M^-1 C' = U S U', N(tau) is singular where 1/tau is an eigenvalue of
//
//     E = S^-1 U' C M^-1 F U:
//
// the largest real eigenvalue k says how much larger the forces may become, limit = 1/k. Beyond the limit N has full
// rank again, but where w is the magnitude of a reaction two solutions, or none, take the place of one: N for the
// reversed reaction has a determinant of the other sign then. So reversed reactions are looked at, too.
#include <kardan/initial.h>

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "math/dense.h"

#define LARGEST 300     // rows or columns beyond which it takes too long
#define MOST_W 16       // auxiliary variables that are reversed one by one
#define DEPENDENT 1e-10 // of the largest singular value: rows that depend on others
#define AT_LIMIT 1e-9   // distance of an eigenvalue from 1 that counts as singular
#define REAL 1e-9       // imaginary part beside the size of an eigenvalue that is real
#define NOTHING 1e-9    // eigenvalues below this set no limit
#define NAMED 0.3       // parts beside the largest one that are worth a name

typedef struct workspace {
    kd_arena     arena;
    kd_eom_data *data;
    kd_dims      d;
    int          m, n, nl, rank; // rows that hold, nv, nlambda + nmu, independent rows
    int         *rows;           // (m) numbers in [g; h]
    double      *u, *du, *ddu;
    double      *GZ, *HZ, *M, *R_lambda, *R_mu, *R_w, *d_lambda, *d_mu, *d_w;
    double      *C;                         // (m x n)
    double      *K;                         // (n x m) M^-1 C'
    double      *F;                         // (n x m)
    double      *D;                         // (nw x m) d_w^-1 d_l
    double      *S, *U, *sigma, *Vt, *work; // (m x m), singular values of C K
    double      *E, *real, *imaginary, *V;  // (rank x rank)
    double      *a, *w, *l, *rhs, *KF;      // (nv), (nw), (nl), (nv + nl), (m x m)
    double      *eigen_work;
    int         *pivot;
} workspace;

static double *cut_block(workspace *s, int rows, int columns)
{
    return kd_cut_matrix(&s->arena, rows, columns);
}

static kd_status open_workspace(workspace *s, const kd_eom *eom)
{
    kd_dims d = s->d = kd_eom_dims(eom);
    int     n = s->n = d.nv, m = s->nl = d.nlambda + d.nmu;
    if (m == 0 || n == 0 || m > LARGEST || n > LARGEST || d.nw > LARGEST) return KD_ERR_UNSUPPORTED;
    // derivatives of forces and rows by multipliers and forces across joints
    s->rows = kd_cut_int(&s->arena, m);
    s->pivot = kd_cut_int(&s->arena, d.nw);
    s->u = kd_cut_double(&s->arena, d.nu), s->du = kd_cut_double(&s->arena, d.nu);
    s->ddu = kd_cut_double(&s->arena, d.nu);
    s->GZ = cut_block(s, d.nlambda, n), s->HZ = cut_block(s, d.nmu, n), s->M = cut_block(s, n, n);
    s->R_lambda = cut_block(s, n, d.nlambda), s->R_mu = cut_block(s, n, d.nmu), s->R_w = cut_block(s, n, d.nw);
    s->d_lambda = cut_block(s, d.nw, d.nlambda), s->d_mu = cut_block(s, d.nw, d.nmu), s->d_w = cut_block(s, d.nw, d.nw);
    // rows C that hold, K = M^-1 C', forces F of the multipliers; S = C K and its singular values
    s->C = cut_block(s, m, n), s->K = cut_block(s, n, m), s->F = cut_block(s, n, m), s->D = cut_block(s, d.nw, m);
    s->S = cut_block(s, m, m), s->U = cut_block(s, m, m), s->Vt = cut_block(s, m, m), s->KF = cut_block(s, m, m);
    s->E = cut_block(s, m, m), s->V = cut_block(s, m, m);
    // eigenvalues of E, of which the largest real one is the limit
    s->sigma = kd_cut_double(&s->arena, m), s->real = kd_cut_double(&s->arena, m);
    s->imaginary = kd_cut_double(&s->arena, m);
    s->work = kd_cut_double(&s->arena, kd_svd_work(m, m));
    s->eigen_work = kd_cut_double(&s->arena, kd_eigen_work(m));
    s->a = kd_cut_double(&s->arena, n), s->w = kd_cut_double(&s->arena, d.nw), s->l = kd_cut_double(&s->arena, m);
    s->rhs = kd_cut_double(&s->arena, n + m);
    kd_status status = s->arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(eom, &s->data);
    return status >= 0 ? kd_eom_data_reserve(s->data) : status;
}

// ---- matrices -------------------------------------------------------------------------------------------------------

static void at_forces(workspace *s)
{
    kd_eom_at_acceleration(s->data, s->a, s->w, s->l, s->l + s->d.nlambda);
}

// C, K = M^-1 C' and the singular values of C K
static bool decompose_constraints(workspace *s, const kd_state *x)
{
    kd_dims d = s->d;
    // GZ, HZ, M = L L'
    kd_eom_at_position(s->data, x->p, x->s);
    if (kd_eom_constraint_matrices(s->data, d.nlambda > 0 ? s->GZ : NULL, d.nmu > 0 ? s->HZ : NULL) != KD_EVAL_OK ||
        kd_eom_eval(s->data, KD_MASS, s->M) != KD_EVAL_OK || kd_cholesky_factor(s->n, s->M) != 0)
        return false;
    // active rows C; K = M^-1 C'
    for (int k = 0; k < s->m; k++) {
        int           i = s->rows[k], rows = i < d.nlambda ? d.nlambda : d.nmu;
        const double *row = i < d.nlambda ? s->GZ + i : s->HZ + (i - d.nlambda);
        for (int j = 0; j < s->n; j++)
            s->C[k + (ptrdiff_t)j * s->m] = s->K[j + (ptrdiff_t)k * s->n] = row[(ptrdiff_t)j * rows];
    }
    kd_cholesky_solve(s->n, s->M, s->K, s->m);
    // C M^-1 C' = U S U', independent rows
    kd_gemm(s->m, s->m, s->n, 1, s->C, s->K, 0, s->S);
    if (kd_svd(s->m, s->m, s->S, s->U, s->sigma, s->Vt, s->work) != 0) return false;
    while (s->rank < s->m && s->sigma[s->rank] > DEPENDENT * s->sigma[0]) s->rank++;
    kd_eom_at_velocity(s->data, x->v, x->r);
    return s->rank > 0;
}

// Multipliers for w = 0 and no other forces of multipliers: l = (C K)^+ (C M^-1 f + gII, hI at a = 0)
static bool find_multipliers(workspace *s)
{
    kd_dims d = s->d;
    double *level = s->rhs + s->n;
    // -f and gII, hI at a = 0 without multipliers
    memset(s->a, 0, (size_t)s->n * sizeof(double));
    memset(s->w, 0, (size_t)d.nw * sizeof(double));
    memset(s->l, 0, (size_t)s->nl * sizeof(double));
    at_forces(s);
    if (kd_eom_eval(s->data, KD_RESIDUAL, s->rhs) != KD_EVAL_OK ||
        (d.nlambda > 0 && kd_eom_eval(s->data, KD_GII, level) != KD_EVAL_OK) ||
        (d.nmu > 0 && kd_eom_eval(s->data, KD_HI, level + d.nlambda) != KD_EVAL_OK))
        return false;
    kd_cholesky_solve(s->n, s->M, s->rhs, 1); // -M^-1 f
    // C M^-1 f + (gII, hI)
    for (int k = 0; k < s->m; k++) s->real[k] = level[s->rows[k]];
    kd_gemv(s->m, s->n, -1, s->C, s->rhs, 1, s->real);
    // l = U S^-1 U' of it
    for (int j = 0; j < s->rank; j++) {
        double part = kd_dot(s->m, s->U + (ptrdiff_t)j * s->m, s->real) / s->sigma[j];
        for (int k = 0; k < s->m; k++) s->l[s->rows[k]] += part * s->U[k + (ptrdiff_t)j * s->m];
    }
    return true;
}

// F, and D = d_w^-1 d_l, at the multipliers of l
static bool evaluate_forces(workspace *s)
{
    kd_dims   d = s->d;
    kd_blocks blocks = {0};
    // R_l, R_w, d_l, d_w
    if (d.nlambda > 0) blocks.block[KD_RESIDUAL][KD_LAMBDA] = s->R_lambda;
    if (d.nmu > 0) blocks.block[KD_RESIDUAL][KD_MU] = s->R_mu;
    if (d.nw > 0) {
        blocks.block[KD_RESIDUAL][KD_W] = s->R_w, blocks.block[KD_D][KD_W] = s->d_w;
        if (d.nlambda > 0) blocks.block[KD_D][KD_LAMBDA] = s->d_lambda;
        if (d.nmu > 0) blocks.block[KD_D][KD_MU] = s->d_mu;
    }
    at_forces(s);
    if (kd_eom_derivatives(s->data, KD_PART_ALL, &blocks) != KD_EVAL_OK) return false;
    if (d.nw > 0 && kd_lu_factor(d.nw, s->d_w, s->pivot) != 0) return false;
    // column k of D = d_w^-1 d_l and of F = C' - (R_l - R_w D)
    for (int k = 0; k < s->m; k++) {
        int     i = s->rows[k];
        bool    of_g = i < d.nlambda;
        double *F = s->F + (ptrdiff_t)k * s->n, *D = s->D + (ptrdiff_t)k * d.nw;
        int     column = of_g ? i : i - d.nlambda;
        memcpy(F, (of_g ? s->R_lambda : s->R_mu) + (ptrdiff_t)column * s->n, (size_t)s->n * sizeof(double));
        if (d.nw > 0) {
            memcpy(D, (of_g ? s->d_lambda : s->d_mu) + (ptrdiff_t)column * d.nw, (size_t)d.nw * sizeof(double));
            kd_lu_solve(d.nw, s->d_w, s->pivot, D, 1);
            kd_gemv(s->n, d.nw, -1, s->R_w, D, 1, F);
        }
        for (int j = 0; j < s->n; j++) F[j] = s->C[k + (ptrdiff_t)j * s->m] - F[j];
    }
    return true;
}

// ---- eigenvalues ----------------------------------------------------------------------------------------------------

// Limit at the multipliers of l; *top: number of the eigenvalue that sets it, -1: none; its vector is in V
static bool find_limit(workspace *s, double *limit, int *top, bool *singular)
{
    int r = s->rank;
    if (!evaluate_forces(s)) return false;
    // E = S^-1 U' (C M^-1 F) U
    kd_gemm_tn(s->m, s->m, s->n, 1, s->K, s->F, 0, s->KF); // C M^-1 F
    for (int j = 0; j < r; j++) {
        kd_gemv(s->m, s->m, 1, s->KF, s->U + (ptrdiff_t)j * s->m, 0, s->real);
        kd_gemv_t(s->m, r, 1, s->U, s->real, 0, s->E + (ptrdiff_t)j * r);
        for (int i = 0; i < r; i++) s->E[i + (ptrdiff_t)j * r] /= s->sigma[i];
    }
    if (kd_eigen(r, s->E, s->real, s->imaginary, s->V, s->eigen_work) != 0) return false;
    // largest real eigenvalue; one that is 1: singular now
    double most = 0;
    *top = -1;
    for (int i = 0; i < r; i++) {
        if (fabs(s->imaginary[i]) > REAL * fabs(s->real[i])) continue;
        *singular = *singular || fabs(s->real[i] - 1) < AT_LIMIT;
        if (s->real[i] > most) most = s->real[i], *top = i;
    }
    *limit = most > NOTHING ? 1 / most : INFINITY;
    return true;
}

// Names of the largest parts of the eigenvector: of w its forces, without w the multipliers
static void note_names(workspace *s, int top, kd_solvability *out)
{
    int    count = s->d.nw > 0 ? s->d.nw : s->m;
    double y[LARGEST], part[LARGEST], largest = 0;
    // y = U v: the direction of the multipliers; forces of w_i along it, |R_w e_i| |D_i y|
    kd_gemv(s->m, s->rank, 1, s->U, s->V + (ptrdiff_t)top * s->rank, 0, y);
    for (int i = 0; i < count; i++) {
        part[i] = fabs(y[i]);
        if (s->d.nw > 0) {
            double sum = 0;
            for (int k = 0; k < s->m; k++) sum += s->D[i + (ptrdiff_t)k * s->d.nw] * y[k];
            part[i] = fabs(sum) * sqrt(kd_dot(s->n, s->R_w + (ptrdiff_t)i * s->n, s->R_w + (ptrdiff_t)i * s->n));
        }
        largest = fmax(largest, part[i]);
    }
    // largest first
    out->nnames = 0;
    while (largest > 0 && out->nnames < (int)(sizeof out->name / sizeof *out->name)) {
        int next = 0;
        for (int i = 1; i < count; i++)
            if (part[i] > part[next]) next = i;
        if (!(part[next] > NAMED * largest)) return;
        out->name[out->nnames++] = s->d.nw > 0 ? next : s->rows[next];
        part[next] = 0;
    }
}

// Reverse the multipliers that auxiliary variable i depends on; -1: those of all
static void reverse_reactions(workspace *s, int i)
{
    for (int k = 0; k < s->m; k++) {
        bool reads = false;
        for (int j = 0; j < s->d.nw; j++) reads = reads || ((i < 0 || i == j) && s->D[j + (ptrdiff_t)k * s->d.nw] != 0);
        if (reads) s->l[s->rows[k]] = -s->l[s->rows[k]];
    }
}

// The least limit over reversed reactions
static bool find_reversed(workspace *s, kd_solvability *out)
{
    double limit, *kept = s->rhs;
    int    top;
    bool   singular = false;
    memcpy(kept, s->l, (size_t)s->nl * sizeof(double));
    for (int i = -1; i < s->d.nw && i < MOST_W; i++) {
        memcpy(s->l, kept, (size_t)s->nl * sizeof(double));
        if (!evaluate_forces(s)) return false; // D again: the reaction itself decides what is reversed
        reverse_reactions(s, i);
        if (!find_limit(s, &limit, &top, &singular)) return false;
        if (limit < fmin(out->limit, out->reversed) && top >= 0) note_names(s, top, out);
        out->reversed = fmin(out->reversed, limit);
    }
    return true;
}

static void take_forces(workspace *s, const kd_state *x, bool *without)
{
    kd_dims d = s->d;
    memcpy(s->a, x->a, (size_t)d.nv * sizeof(double));
    memcpy(s->w, x->w, (size_t)d.nw * sizeof(double));
    memcpy(s->l, x->lambda, (size_t)d.nlambda * sizeof(double));
    memcpy(s->l + d.nlambda, x->mu, (size_t)d.nmu * sizeof(double));
    *without = true;
    for (int i = 0; i < s->nl; i++) *without = *without && s->l[i] == 0;
}

static bool find_solvability(workspace *s, const kd_inputs *inputs, const kd_state *x, kd_solvability *out)
{
    int  top;
    bool singular = false;
    // active rows, multipliers of the state
    for (int i = 0; i < s->nl; i++)
        if (i < s->d.nlambda ? x->active_lambda[i] : x->active_mu[i - s->d.nlambda]) s->rows[s->m++] = i;
    if (s->m == 0) return false;
    if (kd_eom_at_state(s->data, inputs, x, KD_STAGE_TIME) != KD_EVAL_OK) return false;
    take_forces(s, x, &out->without);
    // limit at these multipliers, then at reversed ones
    if (!decompose_constraints(s, x) || (out->without && !find_multipliers(s)) ||
        !find_limit(s, &out->limit, &top, &singular))
        return false;
    out->rows = s->rank;
    out->rank = s->rank - singular;
    if (top >= 0) note_names(s, top, out);
    return s->d.nw == 0 || find_reversed(s, out);
}

// ---- words ----------------------------------------------------------------------------------------------------------

static void tell_jamming(const kd_eom *eom, const kd_solvability *found, char *text, size_t size)
{
    kd_kind kind = kd_eom_dims(eom).nw > 0 ? KD_NAME_W : KD_NAME_LAMBDA;
    double  limit = fmin(found->limit, found->reversed);
    int     nlambda = kd_eom_dims(eom).nlambda;
    // below the limit in both directions of sliding, with full rank: nothing to tell
    if (limit > 1 && found->rank == found->rows) return;
    kd_text(text, size,
            "friction is too large for unique accelerations and reactions, the mechanism jams: most of all");
    for (int k = 0; k < found->nnames; k++) {
        char name[128];
        int  i = found->name[k];
        bool of_h = kind == KD_NAME_LAMBDA && i >= nlambda;
        kd_text_append(text, size, "%s %s", k > 0 ? "," : "",
                       kd_eom_name(eom, of_h ? KD_NAME_MU : kind, of_h ? i - nlambda : i, name, sizeof name));
    }
    kd_text_append(text, size,
                   "; coefficients of friction must be below %.4g times those given (generalised Gruebler condition)",
                   limit);
}

kd_status kd_initial_solvable(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, kd_solvability *out,
                              char *message, size_t size)
{
    workspace s = {0};
    kd_text(message, size, "%s", "");
    if (eom && !kd_state_fits(eom, x))
        kd_text(message, size,
                "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
    if (!kd_state_fits(eom, x) || !out) return KD_ERR_ARGUMENT;
    *out = (kd_solvability){.limit = INFINITY, .reversed = INFINITY};
    // forces that do not depend on multipliers cannot jam anything
    if (kd_eom_dims(eom).nw == 0 && !kd_eom_definition(eom)->force_of_multipliers) return KD_ERR_UNSUPPORTED;
    kd_status status = open_workspace(&s, eom);
    // a function that stopped the run is told, all other faults mean that nothing can be said
    if (status >= 0 && !find_solvability(&s, inputs, x, out)) {
        status = kd_eom_data_fault(s.data).status == KD_ERR_CALLBACK_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_UNSUPPORTED;
        if (status == KD_ERR_CALLBACK_STOP) kd_text(message, size, "%s", kd_eom_data_message(s.data));
    }
    if (status >= 0) tell_jamming(eom, out, message, size);
    if (status >= 0 && out->rank < out->rows) status = KD_ERR_SINGULAR_MASS;
    kd_eom_data_destroy(s.data);
    kd_arena_release(&s.arena);
    return status;
}
