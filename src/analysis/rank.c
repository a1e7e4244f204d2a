// rank.c: rank of the constraint matrices [GZ; HZ] by elimination with full pivoting, at a pose and near it.
//
// Columns are those of natural units, rows are scaled to length 1, so that units do not matter. A rank that is smaller than the number of
// rows has two causes: redundant constraints (the same rank at all poses nearby) or a singular position (a larger rank
// nearby). Poses nearby are p oplus e, e random, brought back to the constraints.
#include "analysis/rank.h"

#include <kardan/initial.h>
#include <math.h>

#include "core/memory.h"
#include "math/dense.h"

enum { SAMPLES = 3 };                 // poses nearby
static const double TOLERANCE = 1e-8; // a pivot below this times the largest is zero
static const double SPREAD = 0.05;    // size of the moves to poses nearby, in natural units

struct kd_rank {
    kd_arena      arena;
    const kd_eom *eom;
    kd_dims       dims;
    kd_inputs     inputs;
    kd_eom_data  *data;
    kd_state     *moved;   // a pose nearby
    double       *e;       // (nv) the way to it
    double       *GZ, *HZ; // (nlambda x nv), (nmu x nv)
    double       *A;       // (nv x rows) the transposed of [GZ; HZ], its columns scaled
    int          *order;   // (rows) of the pivots
    int          *column;  // (nv) the same of velocities
    int           rows;
};

kd_status kd_rank_create(const kd_eom *eom, const kd_inputs *inputs, kd_rank **rank)
{
    *rank = NULL;
    kd_rank *r = kd_alloc(sizeof *r);
    if (!r) return KD_ERR_MEMORY;
    kd_dims d = r->dims = kd_eom_dims(eom);
    r->eom = eom;
    if (inputs) r->inputs = *inputs;
    r->rows = d.nlambda + d.nmu;
    r->e = kd_cut_double(&r->arena, d.nv);
    r->GZ = kd_cut_matrix(&r->arena, d.nlambda, d.nv);
    r->HZ = kd_cut_matrix(&r->arena, d.nmu, d.nv);
    r->A = kd_cut_matrix(&r->arena, d.nv, r->rows);
    r->order = kd_cut_int(&r->arena, r->rows);
    r->column = kd_cut_int(&r->arena, d.nv);
    kd_status status = r->arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(eom, &r->data);
    if (status >= 0) status = kd_state_create(eom, &r->moved);
    if (status < 0) {
        kd_rank_destroy(r);
        return status;
    }
    *rank = r;
    return KD_OK;
}

void kd_rank_destroy(kd_rank *r)
{
    if (!r) return;
    kd_state_destroy(r->moved);
    kd_eom_data_destroy(r->data);
    kd_arena_release(&r->arena);
    kd_free(r);
}

// ---- at a pose ------------------------------------------------------------------------------------------------------

// Column i of A: row i of [GZ; HZ], of length 1 or 0
static void list_scaled_rows(kd_rank *r)
{
    const kd_dims d = r->dims;
    for (int i = 0; i < r->rows; i++) {
        const double *matrix = i < d.nlambda ? r->GZ + i : r->HZ + (i - d.nlambda);
        const int     stride = i < d.nlambda ? d.nlambda : d.nmu;
        double       *column = r->A + (size_t)i * (size_t)d.nv, length = 0;
        for (int j = 0; j < d.nv; j++) length = hypot(length, matrix[j * stride] * kd_eom_unit(r->eom, j));
        for (int j = 0; j < d.nv; j++)
            column[j] = length > 0 ? matrix[j * stride] * kd_eom_unit(r->eom, j) / length : 0;
    }
}

int kd_rank_at(kd_rank *r, const kd_state *x)
{
    const kd_dims d = r->dims;
    if (kd_eom_at_state(r->data, &r->inputs, x, KD_STAGE_POSITION) != KD_EVAL_OK) return -1;
    if (kd_eom_constraint_matrices(r->data, d.nlambda ? r->GZ : NULL, d.nmu ? r->HZ : NULL) != KD_EVAL_OK) return -1;
    list_scaled_rows(r);
    return kd_lu_full(d.nv, r->rows, r->A, r->column, r->order, TOLERANCE);
}

// ---- nearby ---------------------------------------------------------------------------------------------------------

// A reproducible random number in [-1, 1]
static double random_number(unsigned long *seed)
{
    *seed = (*seed * 1103515245UL + 12345UL) & 0x7fffffffUL;
    return 2.0 * (double)*seed / 2147483647.0 - 1.0;
}

int kd_rank_nearby(kd_rank *r, const kd_state *x, int *found)
{
    kd_initial_options options = kd_initial_options_default();
    const kd_inputs   *inputs = r->inputs.eval ? &r->inputs : NULL;
    unsigned long      seed = 7;
    int                best = 0;
    options.compute_multipliers = false;
    *found = 0;
    for (int k = 0; k < SAMPLES; k++) {
        // p oplus e, e random
        for (int j = 0; j < r->dims.nv; j++) r->e[j] = SPREAD * random_number(&seed) * kd_eom_unit(r->eom, j);
        kd_state_copy(x, r->moved);
        if (kd_eom_oplus(r->data, x->p, r->e, r->moved->p) != KD_EVAL_OK) continue;
        // back to g = 0; where that is out of reach the pose says nothing
        if (kd_initial_consistent(r->eom, inputs, &options, r->moved, NULL, 0) < 0) continue;
        const int rank = kd_rank_at(r, r->moved);
        if (rank < 0) continue;
        ++*found;
        if (rank > best) best = rank;
    }
    return best;
}

// ---- queries --------------------------------------------------------------------------------------------------------

const int *kd_rank_order(const kd_rank *r)
{
    return r ? r->order : NULL;
}

const char *kd_rank_message(const kd_rank *r)
{
    return kd_eom_data_message(r->data);
}
