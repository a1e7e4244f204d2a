// pencil.c: the sparse descriptor form of linear equations at a state (docs/methods/linearize.md):
//
//     e' = dv,  dv' = a,  r' = b,  0 = residual, d, c, g, h
//
// from the blocks of derivatives that the equations give sparse; others are made as full ones while they are small.
#include "analysis/pencil.h"

#include <kardan/initial.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"

enum { MOST_FULL = 1 << 22 }; // entries of a block that is not given sparse

static const kd_var UNKNOWN[] = {KD_P, KD_V, KD_R, KD_A, KD_W, KD_S, KD_LAMBDA, KD_MU};
static const kd_fn  EQUATION[] = {KD_B, KD_RESIDUAL, KD_D, KD_C, KD_G, KD_H};
enum { UNKNOWNS = 8, EQUATIONS = 6 };

// ---- which blocks there are -----------------------------------------------------------------------------------------

static bool add_block(kd_pencil *p, kd_fn fn, kd_var var, int row, int column, bool transposed)
{
    const int rows = kd_eom_rows(p->eom, fn), columns = kd_eom_columns(p->eom, var);
    if (p->nblocks == KD_PENCIL_BLOCKS) return false;
    kd_pencil_block *b = &p->block[p->nblocks];
    *b = (kd_pencil_block){.fn = fn, .var = var, .row = row, .column = column, .transposed = transposed};
    b->sparse = kd_eom_pattern(p->eom, fn, var, &b->pattern);
    // no pattern is given: all places of the block
    if (!b->sparse) {
        if ((long long)rows * columns > MOST_FULL) return false;
        int *first = kd_cut_int(&p->arena, columns + 1), *place = kd_cut_int(&p->arena, rows * columns);
        if (p->arena.failed) return false;
        for (int j = 0; j <= columns; j++) first[j] = j * rows;
        for (int i = 0; i < rows * columns; i++) place[i] = i % rows;
        b->pattern = (kd_pattern){rows, columns, first, place};
    }
    b->value = kd_cut_double(&p->arena, b->pattern.column[columns]);
    if (!b->sparse) p->wanted.block[fn][var] = b->value;
    p->nblocks++;
    return !p->arena.failed;
}

// Constraint forces (GZ)' lambda, (HZ)' mu: transposed matrices, and what forces themselves depend on multipliers
static bool add_multipliers(kd_pencil *p, kd_var var, int row, int column)
{
    const kd_fn fn = var == KD_LAMBDA ? KD_GI : KD_H;
    kd_pattern  pattern;
    if (!kd_eom_pattern(p->eom, fn, KD_V, &pattern)) return add_block(p, KD_RESIDUAL, var, row, column, false);
    if (!add_block(p, fn, KD_V, row, column, true)) return false;
    if (!kd_eom_definition(p->eom)->force_of_multipliers) return true;
    return kd_eom_pattern(p->eom, KD_RESIDUAL, var, &pattern) && add_block(p, KD_RESIDUAL, var, row, column, false);
}

// Derivatives of all equations by all unknowns, at their places below the rows of e' and dv'
static bool list_blocks(kd_pencil *p)
{
    int row = 2 * p->n.nv;
    // columns in the order of the unknowns: increments, velocities, then what is algebraic
    for (int k = 0; k < EQUATIONS; k++) {
        const kd_fn fn = EQUATION[k];
        int         column = 0;
        for (int j = 0; j < UNKNOWNS; j++) {
            const kd_var var = UNKNOWN[j];
            const int    columns = kd_eom_columns(p->eom, var);
            if (columns > 0 && kd_eom_rows(p->eom, fn) > 0 && kd_eom_depends(p->eom, fn, var)) {
                // constraint forces are the transposed rows, besides what forces take from multipliers
                const bool multiplier = fn == KD_RESIDUAL && (var == KD_LAMBDA || var == KD_MU);
                if (multiplier ? !add_multipliers(p, var, row, column) : !add_block(p, fn, var, row, column, false))
                    return false;
            }
            column += columns;
        }
        row += kd_eom_rows(p->eom, fn);
    }
    return true;
}

// ---- places and values ----------------------------------------------------------------------------------------------

// Rows of constraints that do not hold read lambda_i = 0
static bool is_inactive(const kd_pencil *p, int row)
{
    const int first = p->order - p->n.nlambda - p->n.nmu, i = row - first;
    if (i < 0) return false;
    return i < p->n.nlambda ? !p->x->active_lambda[i] : !p->x->active_mu[i - p->n.nlambda];
}

// The pattern of A and of A - sigma E
static kd_status find_places(kd_pencil *p)
{
    const int nv = p->n.nv, first = p->order - p->n.nlambda - p->n.nmu;
    kd_places places = {.rows = p->order, .columns = p->order};
    // the diagonal, where the shift goes
    for (int i = 0; i < p->dynamic; i++) kd_places_add(&places, i, i);
    // e' = dv, dv' = a
    for (int i = 0; i < nv; i++) {
        kd_places_add(&places, i, nv + i);
        kd_places_add(&places, nv + i, p->dynamic + i);
    }
    // derivatives; constraint forces are blocks of GZ, HZ, transposed
    for (int k = 0; k < p->nblocks; k++) {
        const kd_pencil_block *b = &p->block[k];
        for (int j = 0; j < b->pattern.columns; j++)
            for (int i = b->pattern.column[j]; i < b->pattern.column[j + 1]; i++)
                kd_places_add(&places, b->row + (b->transposed ? j : b->pattern.row[i]),
                              b->column + (b->transposed ? b->pattern.row[i] : j));
    }
    // lambda_i = 0
    for (int i = first; i < p->order; i++)
        if (is_inactive(p, i)) kd_places_add(&places, i, i);
    kd_status status = kd_places_sort(&places, &p->pattern, &p->arena);
    kd_places_release(&places);
    return status;
}

static void add_entry(kd_pencil *p, int row, int column, double value)
{
    p->A[kd_columns_find(&p->pattern, row, column)] += value;
}

// The numbers of A
static void fill_matrix(kd_pencil *p)
{
    const int nv = p->n.nv, first = p->order - p->n.nlambda - p->n.nmu;
    // kinematics: e' = dv, and dv' is the acceleration among the algebraic unknowns
    for (int i = 0; i < nv; i++) {
        add_entry(p, i, nv + i, 1);
        add_entry(p, nv + i, p->dynamic + i, 1);
    }
    // derivatives, of transposed blocks the other way round
    for (int k = 0; k < p->nblocks; k++) {
        const kd_pencil_block *b = &p->block[k];
        for (int j = 0; j < b->pattern.columns; j++)
            for (int i = b->pattern.column[j]; i < b->pattern.column[j + 1]; i++) {
                const int row = b->row + (b->transposed ? j : b->pattern.row[i]);
                if (!is_inactive(p, row))
                    add_entry(p, row, b->column + (b->transposed ? b->pattern.row[i] : j), b->value[i]);
            }
    }
    // a multiplier that is switched off: 1 times itself is 0
    for (int i = first; i < p->order; i++)
        if (is_inactive(p, i)) add_entry(p, i, i, 1);
    // where the shift of A - sigma B is subtracted
    for (int i = 0; i < p->dynamic; i++) p->diagonal[i] = kd_columns_find(&p->pattern, i, i);
}

// Blocks that are given sparse one by one, all others at once
static kd_eval evaluate_blocks(kd_pencil *p, const kd_inputs *inputs)
{
    kd_eval answer = kd_eom_at_state(p->data, inputs, p->x, KD_STAGE_ACCELERATION);
    bool    full = false;
    for (int k = 0; k < p->nblocks && answer == KD_EVAL_OK; k++) {
        kd_pencil_block *b = &p->block[k];
        if (b->sparse) answer = kd_eom_sparse(p->data, b->fn, b->var, KD_PART_ALL, b->value);
        full = full || !b->sparse;
    }
    return full && answer == KD_EVAL_OK ? kd_eom_derivatives(p->data, KD_PART_ALL, &p->wanted) : answer;
}

// ---- all ------------------------------------------------------------------------------------------------------------

static kd_status cut_matrices(kd_pencil *p)
{
    const size_t entries = (size_t)kd_columns_count(&p->pattern);
    p->A = kd_arena_cut(&p->arena, entries, sizeof *p->A);
    p->shifted = kd_arena_cut(&p->arena, entries, sizeof *p->shifted);
    p->rhs = kd_arena_cut(&p->arena, (size_t)p->order, sizeof *p->rhs);
    p->diagonal = kd_cut_int(&p->arena, p->dynamic);
    return p->arena.failed ? KD_ERR_MEMORY : kd_sparse_lu_create(p->order, p->pattern.column, p->pattern.row, &p->lu);
}

kd_status kd_pencil_create(kd_pencil *p, const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, char *message,
                           size_t size)
{
    // unknowns: increments, velocities, inner states, then what has no derivative in time
    const kd_dims n = kd_eom_dims(eom);
    *p = (kd_pencil){.eom = eom, .n = n, .dynamic = 2 * n.nv + n.nr};
    p->order = p->dynamic + n.nv + n.nw + n.ns + n.nlambda + n.nmu;
    if (kd_eom_definition(eom)->Z && kd_norm_max(n.nv, x->v) > 0)
        return kd_refuse(KD_ERR_UNSUPPORTED, message, size,
                         "few modes of a model in motion need coordinates without quaternions");
    // a consistent state of its own
    kd_status status = kd_state_create(eom, &p->x);
    if (status < 0) return status;
    kd_state_copy(x, p->x);
    p->x->theta = x->theta;
    status = kd_initial_consistent(eom, inputs, NULL, p->x, message, size);
    if (status >= 0) status = kd_eom_data_create(eom, &p->data);
    if (status < 0) return status;
    // derivatives that the equations have, and where they go
    if (!list_blocks(p))
        return p->arena.failed ? KD_ERR_MEMORY
                               : kd_refuse(KD_ERR_UNSUPPORTED, message, size,
                                           "the equations give no sparse derivatives, and are too large");
    status = find_places(p);
    if (status >= 0) status = cut_matrices(p);
    if (status < 0) return status;
    // their values, then the matrices
    if (evaluate_blocks(p, inputs) != KD_EVAL_OK) {
        kd_text(message, size, "%s", kd_eom_data_message(p->data));
        return KD_ERR_RETRY_FAILED;
    }
    fill_matrix(p);
    return KD_OK;
}

void kd_pencil_release(kd_pencil *p)
{
    kd_sparse_lu_destroy(p->lu);
    kd_eom_data_destroy(p->data);
    kd_state_destroy(p->x);
    kd_arena_release(&p->arena);
    *p = (kd_pencil){0};
}

kd_status kd_pencil_shift(kd_pencil *p, double complex sigma)
{
    const int entries = kd_columns_count(&p->pattern);
    for (int i = 0; i < entries; i++) p->shifted[i] = p->A[i];
    for (int i = 0; i < p->dynamic; i++) p->shifted[p->diagonal[i]] -= sigma;
    return kd_sparse_lu_factor_complex(p->lu, p->shifted);
}

void kd_pencil_apply(kd_pencil *p, const double complex *from, double complex *to)
{
    memset(p->rhs, 0, (size_t)p->order * sizeof *p->rhs);
    memcpy(p->rhs, from, (size_t)p->dynamic * sizeof *p->rhs);
    kd_sparse_lu_solve_complex(p->lu, p->rhs, 1);
    memcpy(to, p->rhs, (size_t)p->dynamic * sizeof *to);
}
