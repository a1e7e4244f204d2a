// singular.c: singular positions of mechanisms, from the singular values of the constraint matrix C = [GZ; HZ].
//
// Rows are scaled by their largest length at the two states. Where a mechanism locks, the least singular value that was
// not zero before goes to zero; the entries of its left singular vector say which rows depend on each other there.
// Redundant rows, whose singular values are zero at both states, are no sign of it.
//
// The same of d_w, the matrix of the equations of auxiliary variables: where two solutions meet, as at a fold, its least
// singular value goes to zero, and the right singular vector says which variables have no solution beyond.
#include "simulation/singular.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "math/dense.h"

#define LARGEST 300        // rows or columns beyond which it takes too long
#define ZERO 1e-9          // singular values below this part of the largest belong to redundant rows
#define NAMED 0.3          // entries beside the largest one that are worth a name
#define PREFERRED 0.999999 // of entries as large as another one the first is taken, whatever the rounding

typedef struct workspace {
    kd_arena     arena;
    kd_eom_data *data;
    int          m, n;                                                // active rows, columns
    double      *GZ, *HZ, *C[2], *length, *U, *Vt, *sigma, *svd_work; // C (m x n)
    int         *rows;                                                // (m) numbers in [g; h]
} workspace;

static bool open(workspace *w, const kd_eom *eom)
{
    kd_dims   d = kd_eom_dims(eom);
    kd_arena *a = &w->arena;
    int       m = d.nlambda + d.nmu, n = d.nv;
    if (m == 0 || n == 0 || m > LARGEST || n > LARGEST) return false;
    w->n = n;
    w->GZ = kd_cut_matrix(a, d.nlambda, n);
    w->HZ = kd_cut_matrix(a, d.nmu, n);
    for (int k = 0; k < 2; k++) w->C[k] = kd_cut_matrix(a, m, n);
    w->length = kd_cut_double(a, m);
    w->U = kd_cut_matrix(a, m, m);
    w->Vt = kd_cut_matrix(a, n, n);
    w->sigma = kd_cut_double(a, m < n ? m : n);
    w->svd_work = kd_cut_double(a, kd_svd_work(m, n));
    w->rows = kd_cut_int(a, m);
    return !a->failed && kd_eom_data_create(eom, &w->data) >= 0;
}

// C at x, rows that are active there, whose largest lengths are kept. false: not to be had
static bool evaluate_constraints(workspace *w, const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, double *C)
{
    kd_dims d = kd_eom_dims(eom);
    if (kd_eom_at_state(w->data, inputs, x, KD_STAGE_POSITION) != KD_EVAL_OK) return false;
    if (kd_eom_constraint_matrices(w->data, d.nlambda > 0 ? w->GZ : NULL, d.nmu > 0 ? w->HZ : NULL) != KD_EVAL_OK)
        return false;
    // row by row, from columns of GZ and HZ
    for (int k = 0; k < w->m; k++) {
        int           i = w->rows[k], rows = i < d.nlambda ? d.nlambda : d.nmu;
        const double *row = i < d.nlambda ? w->GZ + i : w->HZ + (i - d.nlambda);
        double        sum = 0;
        for (int j = 0; j < w->n; j++) {
            double value = row[(ptrdiff_t)j * rows];
            C[k + (ptrdiff_t)j * w->m] = value;
            sum += value * value;
        }
        w->length[k] = fmax(w->length[k], sqrt(sum));
    }
    return true;
}

// Singular values of C with scaled rows
static bool decompose(workspace *w, double *C)
{
    // the same scales for both states: the longer one of each row
    for (int k = 0; k < w->m; k++)
        for (int j = 0; j < w->n && w->length[k] > 0; j++) C[k + (ptrdiff_t)j * w->m] /= w->length[k];
    return kd_svd(w->m, w->n, C, w->U, w->sigma, w->Vt, w->svd_work) == 0 && w->sigma[0] > 0;
}

static int rank_of(const workspace *w)
{
    int most = w->m < w->n ? w->m : w->n, rank = 0;
    while (rank < most && w->sigma[rank] > ZERO * w->sigma[0]) rank++;
    return rank;
}

// The rows with the largest entries of u (m), which is used up
static void name_rows(const workspace *w, double *u, kd_singularity *out)
{
    const double largest = kd_norm_max(w->m, u);
    out->nrows = 0;
    // the largest entry, then the next, down to NAMED of the first
    while (out->nrows < (int)(sizeof out->row / sizeof *out->row)) {
        double most = NAMED * largest;
        int    next = -1;
        for (int i = 0; i < w->m; i++) {
            if (!(fabs(u[i]) * PREFERRED > most)) continue;
            most = fabs(u[i]);
            next = i;
        }
        if (next < 0) return;
        out->row[out->nrows++] = w->rows[next];
        u[next] = 0;
    }
}

bool kd_singularity_find(const kd_eom *eom, const kd_inputs *inputs, const kd_state *before, const kd_state *now,
                         kd_singularity *out)
{
    workspace w = {0};
    int       nlambda = kd_eom_dims(eom).nlambda, m = nlambda + kd_eom_dims(eom).nmu, rank = 0;
    bool      good = open(&w, eom);
    // rows that are active now, at both states
    for (int i = 0; i < m && good; i++)
        if (i < nlambda ? now->active_lambda[i] : now->active_mu[i - nlambda]) w.rows[w.m++] = i;
    good = good && w.m > 0 && evaluate_constraints(&w, eom, inputs, before, w.C[0]) &&
           evaluate_constraints(&w, eom, inputs, now, w.C[1]);
    // how many were independent before, and what has become of the weakest of them
    if (good && decompose(&w, w.C[0])) rank = rank_of(&w);
    if (rank > 0) out->before = w.sigma[rank - 1] / w.sigma[0];
    good = rank > 0 && decompose(&w, w.C[1]);
    if (good) {
        out->now = w.sigma[rank - 1] / w.sigma[0];
        name_rows(&w, w.U + (ptrdiff_t)(rank - 1) * w.m, out);
    }
    kd_eom_data_destroy(w.data);
    kd_arena_release(&w.arena);
    return good && out->nrows > 0;
}

// ---- auxiliary variables --------------------------------------------------------------------------------------------

static bool open_square(workspace *w, const kd_eom *eom)
{
    kd_arena *a = &w->arena;
    const int n = kd_eom_dims(eom).nw;
    if (n == 0 || n > LARGEST || !kd_eom_depends(eom, KD_D, KD_W)) return false;
    w->m = w->n = n;
    for (int k = 0; k < 2; k++) w->C[k] = kd_cut_matrix(a, n, n);
    w->length = kd_cut_double(a, n);
    w->U = kd_cut_matrix(a, n, n);
    w->Vt = kd_cut_matrix(a, n, n);
    w->sigma = kd_cut_double(a, n);
    w->svd_work = kd_cut_double(a, kd_svd_work(n, n));
    w->rows = kd_cut_int(a, n);
    for (int i = 0; i < n && !a->failed; i++) w->rows[i] = i;
    return !a->failed && kd_eom_data_create(eom, &w->data) >= 0;
}

// d_w at x, and the largest entries of its rows
static bool evaluate_square(workspace *w, const kd_inputs *inputs, const kd_state *x, double *C)
{
    kd_blocks blocks = {0};
    blocks.block[KD_D][KD_W] = C;
    if (kd_eom_at_state(w->data, inputs, x, KD_STAGE_ACCELERATION) != KD_EVAL_OK) return false;
    if (kd_eom_derivatives(w->data, KD_PART_ALL, &blocks) != KD_EVAL_OK) return false;
    for (int i = 0; i < w->m; i++)
        for (int j = 0; j < w->n; j++) w->length[i] = fmax(w->length[i], fabs(C[i + (ptrdiff_t)j * w->m]));
    return true;
}

bool kd_singularity_of_auxiliary(const kd_eom *eom, const kd_inputs *inputs, const kd_state *before,
                                 const kd_state *now, kd_singularity *out)
{
    workspace w = {0};
    bool      good = open_square(&w, eom) && evaluate_square(&w, inputs, before, w.C[0]) &&
                evaluate_square(&w, inputs, now, w.C[1]) && decompose(&w, w.C[0]);
    const int last = w.n - 1;
    // not beside the largest one: a single variable has no other
    if (good) out->before = w.sigma[last];
    good = good && decompose(&w, w.C[1]);
    if (good) {
        double *v = w.length; // row `last` of Vt; the lengths are used up
        for (int j = 0; j < w.n; j++) v[j] = w.Vt[last + (ptrdiff_t)j * w.n];
        out->now = w.sigma[last];
        name_rows(&w, v, out);
    }
    kd_eom_data_destroy(w.data);
    kd_arena_release(&w.arena);
    return good && out->nrows > 0;
}

// ---- words ----------------------------------------------------------------------------------------------------------

static void append_name(const kd_eom *eom, kd_kind kind, int i, int k, char *text, size_t size)
{
    char name[128];
    kd_eom_name(eom, kind, i, name, sizeof name);
    kd_text_append(text, size, "%s%s", k > 0 ? ", " : "", name);
}

void kd_singularity_names(const kd_eom *eom, const kd_singularity *found, char *text, size_t size)
{
    int nlambda = kd_eom_dims(eom).nlambda;
    kd_text(text, size, "%s", "");
    for (int k = 0; k < found->nrows; k++) {
        int i = found->row[k];
        append_name(eom, i < nlambda ? KD_NAME_LAMBDA : KD_NAME_MU, i < nlambda ? i : i - nlambda, k, text, size);
    }
}

void kd_singularity_variables(const kd_eom *eom, const kd_singularity *found, char *text, size_t size)
{
    kd_text(text, size, "%s", "");
    for (int k = 0; k < found->nrows; k++) append_name(eom, KD_NAME_W, found->row[k], k, text, size);
}
