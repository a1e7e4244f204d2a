// rank.c: rank of the constraint matrices by elimination with full pivoting.
#include "cli/rank.h"

#include <math.h>

#include "core/memory.h"

static const double TOLERANCE = 1e-8; // a pivot below this times the largest is zero

struct kd_rank {
    kd_arena     arena;
    kd_dims      dims;
    kd_inputs    inputs;
    kd_eom_data *data;
    double      *u;       // (3 nu)
    double      *GZ, *HZ; // (nlambda x nv), (nmu x nv)
    double      *A;       // (rows x nv) row-major, scaled
    int         *order;   // (rows)
    int          rows;
};

kd_status kd_rank_create(const kd_eom *eom, const kd_inputs *inputs, kd_rank **rank)
{
    *rank = NULL;
    kd_rank *r = kd_alloc(sizeof *r);
    if (!r) return KD_ERR_MEMORY;
    kd_dims d = r->dims = kd_eom_dims(eom);
    if (inputs) r->inputs = *inputs;
    r->rows = d.nlambda + d.nmu;
    r->u = kd_cut_double(&r->arena, 3 * d.nu);
    r->GZ = kd_arena_cut(&r->arena, (size_t)d.nlambda * (size_t)d.nv, sizeof(double));
    r->HZ = kd_arena_cut(&r->arena, (size_t)d.nmu * (size_t)d.nv, sizeof(double));
    r->A = kd_arena_cut(&r->arena, (size_t)r->rows * (size_t)d.nv, sizeof(double));
    r->order = kd_cut_int(&r->arena, r->rows);
    kd_status status = r->arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(eom, &r->data);
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
    kd_eom_data_destroy(r->data);
    kd_arena_release(&r->arena);
    kd_free(r);
}

static void swap(double *a, double *b)
{
    double old = *a;
    *a = *b;
    *b = old;
}

// Rank of A (rows x columns, row-major), which is overwritten; order as above
static int eliminate(double *A, int rows, int columns, int *order)
{
    double largest = 0;
    for (int i = 0; i < rows; i++) order[i] = i;
    for (int k = 0; k < rows && k < columns; k++) {
        int    pi = k, pj = k;
        double pivot = 0;
        for (int i = k; i < rows; i++)
            for (int j = k; j < columns; j++)
                if (fabs(A[i * columns + j]) > pivot) pivot = fabs(A[i * columns + j]), pi = i, pj = j;
        if (k == 0) largest = pivot;
        if (pivot <= TOLERANCE * largest) return k;
        for (int j = 0; j < columns; j++) swap(&A[k * columns + j], &A[pi * columns + j]);
        for (int i = 0; i < rows; i++) swap(&A[i * columns + k], &A[i * columns + pj]);
        int row = order[k];
        order[k] = order[pi];
        order[pi] = row;
        for (int i = k + 1; i < rows; i++) {
            double factor = A[i * columns + k] / A[k * columns + k];
            for (int j = k; j < columns; j++) A[i * columns + j] -= factor * A[k * columns + j];
        }
    }
    return rows < columns ? rows : columns;
}

int kd_rank_at(kd_rank *r, const kd_state *x)
{
    kd_dims d = r->dims;
    if (kd_eom_at_state(r->data, &r->inputs, x, KD_STAGE_POSITION) != KD_EVAL_OK) return -1;
    if (kd_eom_constraint_matrices(r->data, d.nlambda ? r->GZ : NULL, d.nmu ? r->HZ : NULL) != KD_EVAL_OK) return -1;
    for (int i = 0; i < r->rows; i++) {
        const double *matrix = i < d.nlambda ? r->GZ + i : r->HZ + (i - d.nlambda);
        int           stride = i < d.nlambda ? d.nlambda : d.nmu;
        double        length = 0;
        for (int j = 0; j < d.nv; j++) length = hypot(length, matrix[j * stride]);
        for (int j = 0; j < d.nv; j++) r->A[i * d.nv + j] = length > 0 ? matrix[j * stride] / length : 0;
    }
    return eliminate(r->A, r->rows, d.nv, r->order);
}

const int *kd_rank_order(const kd_rank *r)
{
    return r ? r->order : NULL;
}

kd_eom_data *kd_rank_data(kd_rank *r)
{
    return r ? r->data : NULL;
}

const char *kd_rank_message(const kd_rank *r)
{
    return kd_eom_data_message(r->data);
}
