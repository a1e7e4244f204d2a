// check.c: does what a definition supplies agree with itself?
//
// At x, and at points moved at random around it, every supplied derivative is compared with differences of its
// function, every constraint level with derivatives of g and h along the motion, the residual with M, f and the
// constraint matrices, and the promises of the definition (zero[], autonomous, mass structure, q_p Z = 0, oplus) are
// tried out. The second opinion comes from a bare definition, from which levels and derivatives are taken away, so that
// the library makes them by differences. The first point with disagreements ends the check: more points would repeat
// them.
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/option.h"
#include "core/text.h"
#include "eom/check_impl.h"
#include "math/dense.h"

#define COARSE_STEP 1e-3 // the largest one, relative
#define CANCELLING 1e-3  // size of terms that may cancel where a function vanishes: 1e-11 apart is rounding
#define LATER 0.37       // [s] an autonomous system must not notice

kd_check_options kd_check_options_default(void)
{
    return (kd_check_options){.tolerance = 1e-5, .samples = 3, .spread = 0.1, .cookie = KD_OPTIONS_COOKIE};
}

// Smooth functions, rounding and steep ones (friction laws) want different increments.
static const double steps[STEPS] = {COARSE_STEP, 2e-5, 1e-6};

// ---- derivative blocks ----------------------------------------------------------------------------------------------

// supplied (rows x columns) against differences with all increments.
static kd_eval compare_block(kd_check_run *c, kd_fn fn, kd_var var, int columns, bool raw, const char *who)
{
    const int rows = c->eom->entry[fn].rows;
    kd_eval   answer = KD_EVAL_OK;
    double    largest = kd_norm_max(rows * columns, c->supplied);
    // differences with all increments
    for (int j = 0; j < columns && answer == KD_EVAL_OK; j++)
        for (int k = 0; k < STEPS && answer == KD_EVAL_OK; k++)
            answer = kd_check_difference_column(c, fn, var, j, steps[k], raw, c->by_differences[k] + j * rows);
    if (answer != KD_EVAL_OK) return answer;
    // the value itself: its rounding is in every difference
    answer = kd_check_value_moved(c, fn, KD_T, 0, 0.0, false, c->F);
    if (answer != KD_EVAL_OK) return answer;
    // what disagreement is measured by
    largest = fmax(largest, kd_norm_max(rows * columns, c->by_differences[0]));
    largest = fmax(largest, kd_norm_max(rows, c->F)); // differences are good to this size times 1e-10
    largest = fmax(largest, CANCELLING);              // where everything vanishes, rounding is left
    if (kd_check_answering(c, fn)->entry[fn].noisy) largest /= SMALL_ENTRY; // differences of differences: only to 1e-7
    // an entry is right if one of the increments confirms it
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            double a = c->supplied[j * rows + i], b = INFINITY; // the closest of the differences
            for (int k = 0; k < STEPS; k++) {
                const double other = c->by_differences[k][j * rows + i];
                if (fabs(a - other) < fabs(a - b)) b = other;
            }
            if (kd_check_differ(c, a, b, largest))
                kd_check_report(c, "%s by %s: %s %.6g, differences say %.6g", kd_check_row(c, fn, i).text,
                                kd_check_column(c, var, j, raw).text, who, a, b);
        }
    return KD_EVAL_OK;
}

// every derivative that is supplied or said to vanish, block by block
static kd_eval check_blocks(kd_check_run *c)
{
    const kd_eom  *eom = c->eom;
    const kd_dims *n = &eom->def.dims;
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        const int rows = eom->entry[fn].rows;
        for (int var = 0; var < KD_VAR_COUNT && rows > 0; var++) {
            const int columns = eom->columns[var];
            // supplied blocks, and those that zero[] calls zero
            bool    given = kd_is_given(eom, (kd_fn)fn, (kd_var)var) && (eom->depends[fn] & KD_BIT(var));
            bool    zero = eom->def.zero[fn] & c->bare->depends[fn] & KD_BIT(var);
            bool    raw = given && fn == KD_Q && var == KD_P; // norm equations: by the coordinates
            kd_eval answer = KD_EVAL_OK;
            if (columns == 0 || (!given && !zero)) continue;
            if (var == KD_THETA && eom->def.theta_held) continue; // they cannot be moved
            kd_check_set_point(c, c->full_data, &c->base);
            memset(c->supplied, 0, (size_t)rows * (size_t)(raw ? n->np : columns) * sizeof(double));
            // the block as the definition gives it, against differences
            if (raw)
                answer =
                    eom->def.derivative(&c->full_data->x, KD_Q, KD_P, KD_PART_ALL, c->full_data->context, c->supplied);
            else if (given)
                answer = kd_supplied_block(c->full_data, (kd_fn)fn, (kd_var)var, KD_PART_ALL, c->supplied);
            if (answer == KD_EVAL_OK)
                answer = compare_block(c, (kd_fn)fn, (kd_var)var, raw ? n->np : columns, raw,
                                       given ? "supplied" : "zero[] says");
            if (answer != KD_EVAL_OK) return answer;
        }
    }
    return KD_EVAL_OK;
}

// ---- constraint levels ----------------------------------------------------------------------------------------------

// Column j of a level by v or a, which it is linear in, against GZ or HZ from the level below; then the whole value.
static kd_eval check_level(kd_check_run *c, kd_fn fn, kd_var var, const double *matrix)
{
    const int nv = c->eom->def.dims.nv, rows = c->eom->entry[fn].rows, before = c->found;
    double    largest = kd_norm_max(rows * nv, matrix);
    if (rows == 0 || !c->eom->entry[fn].user) return KD_EVAL_OK;
    kd_eval answer = kd_check_value_moved(c, fn, KD_T, 0, 0.0, false, c->values[0]);
    // column j: F(e_j) - F(0) against GZ e_j or HZ e_j
    for (int j = 0; j < nv && answer == KD_EVAL_OK; j++) {
        answer = kd_check_value_moved(c, fn, var, j, 1.0, false, c->values[1]);
        kd_axpy(rows, -1.0, c->values[0], c->values[1]);
        // the difference of two values is good to rounding of these
        double size = fmax(largest, 1e-3 * kd_norm_max(rows, c->values[0]));
        if (answer == KD_EVAL_OK)
            kd_check_compare_columns(c, fn, var, j, c->values[1], matrix + j * rows, size, "differences say");
    }
    if (answer != KD_EVAL_OK || c->found > before) return answer;
    // the value against differences of the level below
    kd_check_set_point(c, c->bare_data, &c->base);
    answer = kd_eom_eval(c->bare_data, fn, c->values[1]);
    if (answer == KD_EVAL_OK)
        kd_check_compare_values(c, fn, c->values[0], c->values[1], fmax(largest, kd_norm_max(rows, c->values[1])),
                                "differences along the motion say");
    return answer;
}

// h is linear in v: h(v) = h(0) + HZ v.
static kd_eval check_linear_h(kd_check_run *c)
{
    const int nv = c->eom->def.dims.nv, nmu = c->eom->def.dims.nmu;
    if (nmu == 0) return KD_EVAL_OK;
    kd_check_copy_spot(&c->base, &c->moved);
    memset(c->moved.v, 0, (size_t)nv * sizeof(double));
    kd_check_set_point(c, c->bare_data, &c->moved);
    kd_eval answer = kd_eom_eval(c->bare_data, KD_H, c->values[1]);
    // h(0) + HZ v
    kd_gemv(nmu, nv, 1.0, c->HZ, c->base.v, 1.0, c->values[1]);
    if (answer == KD_EVAL_OK) answer = kd_check_value_moved(c, KD_H, KD_T, 0, 0.0, false, c->values[0]);
    if (answer == KD_EVAL_OK)
        kd_check_compare_values(c, KD_H, c->values[0], c->values[1], fmax(1.0, kd_norm_max(nmu * nv, c->HZ)),
                                "linear in v it would be");
    return answer;
}

// h linear in v first: HZ as matrix of h makes sense only then; then gI by v, gII and hI by a
static kd_eval check_levels(kd_check_run *c)
{
    kd_check_set_point(c, c->bare_data, &c->base);
    kd_eval answer = kd_eom_constraint_matrices(c->bare_data, c->GZ, c->HZ);
    if (answer == KD_EVAL_OK) answer = check_linear_h(c);
    if (answer == KD_EVAL_OK) answer = check_level(c, KD_GI, KD_V, c->GZ);
    if (answer == KD_EVAL_OK) answer = check_level(c, KD_GII, KD_A, c->GZ);
    if (answer == KD_EVAL_OK) answer = check_level(c, KD_HI, KD_A, c->HZ);
    return answer;
}

// ---- dynamics -------------------------------------------------------------------------------------------------------

// what mass_structure promises; M of the first sample is kept to see whether it is constant
static void check_mass(kd_check_run *c)
{
    const int         nv = c->eom->def.dims.nv;
    kd_mass_structure structure = c->eom->def.mass_structure;
    double            largest = kd_norm_max(nv * nv, c->M);
    bool              diagonal = structure == KD_MASS_DIAGONAL || structure == KD_MASS_DIAGONAL_CONSTANT;
    bool              constant = structure == KD_MASS_FULL_CONSTANT || structure == KD_MASS_DIAGONAL_CONSTANT;
    for (int j = 0; j < nv; j++) {
        for (int i = 0; i < nv; i++) {
            // diagonal, symmetric, constant: as promised?
            double a = c->M[j * nv + i], b = c->M[i * nv + j];
            if (diagonal && i != j && kd_check_differ(c, a, 0.0, largest))
                kd_check_report(c, "M[%d,%d] = %.6g, but mass_structure says diagonal", i, j, a);
            else if (i > j && kd_check_differ(c, a, b, largest))
                kd_check_report(c, "M[%d,%d] = %.6g and M[%d,%d] = %.6g: M must be symmetric", i, j, a, j, i, b);
            else if (constant && c->has_M_first && kd_check_differ(c, a, c->M_first[j * nv + i], largest))
                kd_check_report(c, "M[%d,%d] changes from %.6g to %.6g, but mass_structure says constant", i, j,
                                c->M_first[j * nv + i], a);
        }
    }
    if (!c->has_M_first) memcpy(c->M_first, c->M, (size_t)(nv * nv) * sizeof(double));
    c->has_M_first = true;
}

// M as the user's function gives it, without what the mass structure promises.
static kd_eval user_mass(kd_check_run *c)
{
    const int nv = c->eom->def.dims.nv;
    kd_check_set_point(c, c->bare_data, &c->base);
    if (!c->eom->def.M) return kd_linear_columns(c->bare_data, KD_RESIDUAL, KD_A, c->M);
    memset(c->M, 0, (size_t)(nv * nv) * sizeof(double));
    return c->eom->def.M(&c->bare_data->x, c->bare_data->context, c->M);
}

// Columns of the user's residual by lambda or mu against (GZ)', (HZ)'.
static kd_eval check_multiplier_columns(kd_check_run *c, kd_var var, const double *matrix)
{
    const int nv = c->eom->def.dims.nv, m = c->eom->columns[var];
    kd_eval   answer = kd_check_value_moved(c, KD_RESIDUAL, KD_T, 0, 0.0, false, c->values[0]);
    double    largest = fmax(kd_norm_max(m * nv, matrix), 1e-3 * kd_norm_max(nv, c->values[0]));
    for (int i = 0; i < m && answer == KD_EVAL_OK; i++) {
        // residual(e_i) - residual(0) against column i of (GZ)', (HZ)'
        answer = kd_check_value_moved(c, KD_RESIDUAL, var, i, 1.0, false, c->values[1]);
        kd_axpy(nv, -1.0, c->values[0], c->values[1]);
        for (int j = 0; j < nv; j++) c->values[2][j] = matrix[j * m + i];
        if (answer == KD_EVAL_OK)
            kd_check_compare_columns(c, KD_RESIDUAL, var, i, c->values[1], c->values[2], largest,
                                     var == KD_LAMBDA ? "(GZ)' by differences says" : "(HZ)' by differences says");
    }
    return answer;
}

// The user's residual against M a - f + (GZ)' lambda + (HZ)' mu.
static kd_eval check_residual(kd_check_run *c)
{
    const kd_eom_def *def = &c->eom->def;
    const kd_dims    *n = &def->dims;
    const int         before = c->found;
    kd_eval           answer = KD_EVAL_OK;
    if (!def->residual) return KD_EVAL_OK;
    // by lambda and mu
    if (!def->force_of_multipliers) {
        answer = check_multiplier_columns(c, KD_LAMBDA, c->GZ);
        if (answer == KD_EVAL_OK) answer = check_multiplier_columns(c, KD_MU, c->HZ);
    }
    if (answer != KD_EVAL_OK || c->found > before || !def->M || !def->f) return answer;
    // the whole: M a - f + (GZ)' lambda + (HZ)' mu
    kd_check_set_point(c, c->bare_data, &c->base);
    answer = kd_eom_eval(c->bare_data, KD_RESIDUAL, c->values[1]);
    if (answer == KD_EVAL_OK) answer = kd_check_value_moved(c, KD_RESIDUAL, KD_T, 0, 0.0, false, c->values[0]);
    if (answer == KD_EVAL_OK)
        kd_check_compare_values(c, KD_RESIDUAL, c->values[0], c->values[1], kd_norm_max(n->nv, c->values[1]),
                                "M a - f + (GZ)' lambda + (HZ)' mu says");
    return answer;
}

// f must not change with the multipliers unless the definition says so.
static kd_eval check_force(kd_check_run *c)
{
    const int nv = c->eom->def.dims.nv;
    kd_eval   answer = KD_EVAL_OK;
    if (c->eom->def.force_of_multipliers || !c->eom->def.f) return KD_EVAL_OK;
    // f as it is, then with each multiplier moved by 1: no entry may change
    answer = kd_check_value_moved(c, KD_FORCE, KD_T, 0, 0.0, false, c->values[0]);
    for (int k = 0; k < 2 && answer == KD_EVAL_OK; k++) {
        kd_var var = k == 0 ? KD_LAMBDA : KD_MU;
        for (int j = 0; j < c->eom->columns[var] && answer == KD_EVAL_OK; j++) {
            answer = kd_check_value_moved(c, KD_FORCE, var, j, 1.0, false, c->values[1]);
            for (int i = 0; i < nv && answer == KD_EVAL_OK; i++)
                if (kd_check_differ(c, c->values[0][i], c->values[1][i], 0.0))
                    kd_check_report(c, "%s depends on %s, but force_of_multipliers is not set",
                                    kd_check_row(c, KD_FORCE, i).text, kd_check_variable(c, var, j).text);
        }
    }
    return answer;
}

// The explicit formalism: its acceleration makes the residual vanish. Where M is singular (a body without inertia whose
// joints move it) it cannot answer, which is no mistake.
static kd_eval check_acceleration(kd_check_run *c)
{
    const int nv = c->eom->def.dims.nv;
    if (!c->eom->def.acceleration) return KD_EVAL_OK;
    // a by the explicit formalism
    kd_check_set_point(c, c->full_data, &c->base);
    kd_eval answer = kd_eom_acceleration(c->full_data, c->e);
    if (answer == KD_EVAL_RETRY) return KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return answer;
    // residual(a) = 0, relative to M a
    kd_eom_data *d = kd_check_answering(c, KD_RESIDUAL);
    kd_check_copy_spot(&c->base, &c->moved);
    memcpy(c->moved.a, c->e, (size_t)nv * sizeof(double));
    kd_check_set_point(c, d, &c->moved);
    answer = kd_eom_eval(d, KD_RESIDUAL, c->values[0]);
    if (answer != KD_EVAL_OK) return answer;
    kd_gemv(nv, nv, 1.0, c->M, c->e, 0.0, c->values[1]); // the size of the terms
    double size = fmax(kd_norm_max(nv, c->values[1]), SMALL_ENTRY);
    for (int i = 0; i < nv; i++)
        if (fabs(c->values[0][i]) > c->opt.tolerance * size)
            kd_check_report(c, "acceleration leaves %.6g in %s, should be 0", c->values[0][i],
                            kd_check_row(c, KD_RESIDUAL, i).text);
    return KD_EVAL_OK;
}

// M first: the residual is compared with M a, and the size of M a measures what an acceleration leaves
static kd_eval check_dynamics(kd_check_run *c)
{
    if (c->eom->def.dims.nv == 0) return KD_EVAL_OK;
    kd_eval answer = user_mass(c);
    if (answer == KD_EVAL_OK) check_mass(c);
    if (answer == KD_EVAL_OK) answer = check_residual(c);
    if (answer == KD_EVAL_OK) answer = check_force(c);
    if (answer == KD_EVAL_OK) answer = check_acceleration(c);
    return answer;
}

// ---- kinematics -----------------------------------------------------------------------------------------------------

// Kinematics without motion: what coordinates do by themselves
static kd_eval kinematics_at_rest(kd_check_run *c, double *out)
{
    kd_check_copy_spot(&c->base, &c->moved);
    memset(c->moved.v, 0, (size_t)c->eom->def.dims.nv * sizeof(double));
    kd_check_set_point(c, c->bare_data, &c->moved);
    return kd_eom_eval(c->bare_data, KD_KINEMATICS, out);
}

// kinematics = Z v + z; q does not change along Z e_j.
static kd_eval check_Z(kd_check_run *c)
{
    const kd_dims *n = &c->eom->def.dims;
    kd_eval        answer = KD_EVAL_OK;
    // kinematics(v) - kinematics(0) = Z v
    if (c->eom->def.kinematics && c->eom->def.Z) {
        answer = kd_check_value_moved(c, KD_KINEMATICS, KD_T, 0, 0.0, false, c->values[0]);
        if (answer == KD_EVAL_OK) answer = kinematics_at_rest(c, c->values[1]);
        kd_gemv(n->np, n->nv, 1.0, c->Z, c->base.v, 1.0, c->values[1]);
        if (answer == KD_EVAL_OK)
            kd_check_compare_values(c, KD_KINEMATICS, c->values[0], c->values[1], kd_norm_max(n->np, c->values[1]),
                                    "Z v says");
    }
    // q_p Z e_j = 0
    for (int j = 0; j < n->nv && n->nq > 0 && answer == KD_EVAL_OK; j++) {
        answer = kd_check_difference_column(c, KD_Q, KD_P, j, COARSE_STEP, false, c->values[0]);
        for (int i = 0; i < n->nq && answer == KD_EVAL_OK; i++)
            if (fabs(c->values[0][i]) > c->opt.tolerance)
                kd_check_report(c, "%s changes along %s: q_p Z = %.6g, must be 0", kd_check_row(c, KD_Q, i).text,
                                kd_check_variable(c, KD_V, j).text, c->values[0][i]);
    }
    return answer;
}

// p oplus h v + p oplus -h v - 2 p = h^2 (Z v)_p Z v: the same second derivative as the midpoint rule.
static kd_eval check_oplus_second(kd_check_run *c, kd_eom_data *d)
{
    const kd_dims *n = &c->eom->def.dims;
    // moves of 1e-3 in the fastest coordinate: h^2 is then far above rounding, h^4 below the limit 1e-3
    const double h = 1e-3 / fmax(kd_norm_max(n->nv, c->base.v), 1e-3);
    kd_eval      answer = KD_EVAL_OK;
    // p oplus h v and p oplus -h v, by the definition and by the midpoint rule
    for (int k = 0; k < 4 && answer == KD_EVAL_OK; k++) {
        for (int i = 0; i < n->nv; i++) c->e[i] = (k % 2 == 0 ? h : -h) * c->base.v[i];
        answer =
            k < 2 ? kd_eom_oplus(d, c->base.p, c->e, c->values[k]) : kd_move_midpoint(d, c->base.p, c->e, c->values[k]);
    }
    double size = kd_norm_max(n->nv, c->base.v);
    for (int i = 0; i < n->np && answer == KD_EVAL_OK; i++) {
        // second differences of both
        double user = (c->values[0][i] + c->values[1][i] - 2.0 * c->base.p[i]) / (h * h);
        double ours = (c->values[2][i] + c->values[3][i] - 2.0 * c->base.p[i]) / (h * h);
        if (fabs(user - ours) > 1e-3 * size * size)
            kd_check_report(c, "oplus is not of second order in %s: second derivative %.6g, should be %.6g",
                            kd_check_variable(c, KD_P, i).text, user, ours);
    }
    return answer;
}

// oplus moves along Z: (p oplus h e_j - p oplus -h e_j) / 2 h = Z e_j.
static kd_eval check_oplus(kd_check_run *c)
{
    const kd_dims *n = &c->eom->def.dims;
    const double   h = 1e-4;
    const int      before = c->found;
    kd_eom_data   *d = c->full_data;
    kd_eval        answer = KD_EVAL_OK;
    if (!c->eom->def.oplus) return KD_EVAL_OK;
    kd_check_set_point(c, d, &c->base);
    for (int j = 0; j < n->nv && answer == KD_EVAL_OK; j++) {
        // (p oplus h e_j - p oplus -h e_j) / 2 h
        memset(c->e, 0, (size_t)n->nv * sizeof(double));
        c->e[j] = h;
        answer = kd_eom_oplus(d, c->base.p, c->e, c->values[0]);
        c->e[j] = -h;
        if (answer == KD_EVAL_OK) answer = kd_eom_oplus(d, c->base.p, c->e, c->values[1]);
        for (int i = 0; i < n->np && answer == KD_EVAL_OK; i++) {
            double slope = (c->values[0][i] - c->values[1][i]) / (2.0 * h);
            if (fabs(slope - c->Z[j * n->np + i]) > fmax(c->opt.tolerance, 1e-6))
                kd_check_report(c, "oplus moves %s by %.6g along %s, Z says %.6g", kd_check_variable(c, KD_P, i).text,
                                slope, kd_check_variable(c, KD_V, j).text, c->Z[j * n->np + i]);
        }
    }
    // order 2 is asked for only where order 1 is right
    if (answer == KD_EVAL_OK && c->found == before) answer = check_oplus_second(c, d);
    return answer;
}

// ---- time -----------------------------------------------------------------------------------------------------------

// functions of an autonomous definition, now and LATER seconds later
static kd_eval check_autonomous(kd_check_run *c)
{
    if (!c->eom->def.autonomous) return KD_EVAL_OK;
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        const int rows = c->eom->entry[fn].rows;
        if (rows == 0 || !(c->eom->entry[fn].user || (fn == KD_MASS && c->eom->def.M))) continue;
        kd_eom_data *d = c->full_data;
        kd_eval      answer = KD_EVAL_OK;
        for (int k = 0; k < 2 && answer == KD_EVAL_OK; k++) {
            // the same point now and later
            kd_check_copy_spot(&c->base, &c->moved);
            c->moved.t += k * LATER;
            kd_check_set_point(c, d, &c->moved);
            memset(c->values[k], 0, (size_t)rows * sizeof(double));
            // M is kept when it is said to be constant: ask the function itself
            answer = fn == KD_MASS ? c->eom->def.M(&d->x, d->context, c->values[k])
                                   : kd_eom_eval(d, (kd_fn)fn, c->values[k]);
        }
        if (answer != KD_EVAL_OK) return answer;
        for (int i = 0; i < rows; i++)
            if (kd_check_differ(c, c->values[0][i], c->values[1][i], 0.0))
                kd_check_report(c, "%s changes with t from %.6g to %.6g, but autonomous is set",
                                kd_check_row(c, (kd_fn)fn, i).text, c->values[0][i], c->values[1][i]);
    }
    return KD_EVAL_OK;
}

// ---- all ------------------------------------------------------------------------------------------------------------

// Every function once: an entry that is never set shows.
static kd_eval check_written(kd_check_run *c)
{
    kd_eval answer = KD_EVAL_OK;
    for (int fn = 0; fn < KD_FN_COUNT && answer == KD_EVAL_OK; fn++)
        if (fn != KD_MASS) answer = kd_check_value_moved(c, (kd_fn)fn, KD_T, 0, 0.0, false, c->values[0]);
    return answer;
}

// one sample: all checks, until a function cannot be evaluated
static kd_eval check_point(kd_check_run *c)
{
    // kinematics, levels, dynamics, time, derivatives: what later checks use comes first
    kd_eval answer = check_written(c);
    kd_check_set_point(c, c->bare_data, &c->base);
    if (answer == KD_EVAL_OK) answer = kd_eom_Z(c->bare_data, c->Z);
    if (answer == KD_EVAL_OK) answer = check_Z(c);
    if (answer == KD_EVAL_OK) answer = check_oplus(c);
    if (answer == KD_EVAL_OK) answer = check_levels(c);
    if (answer == KD_EVAL_OK) answer = check_dynamics(c);
    if (answer == KD_EVAL_OK) answer = check_autonomous(c);
    if (answer == KD_EVAL_OK) answer = check_blocks(c);
    return answer;
}

// The reason of an answer that was not OK, from the data that gave it.
static void report_fault(kd_check_run *c)
{
    const char *full = kd_eom_data_message(c->full_data), *bare = kd_eom_data_message(c->bare_data);
    kd_check_report(c, "%s", bare[0] ? bare : (full[0] ? full : "a function could not be evaluated"));
}

kd_status kd_eom_check(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, const kd_check_options *opt,
                       char *report, size_t size)
{
    // arguments: a state of these equations, options that make sense
    kd_text(report, size, "%s", "");
    if (eom && !kd_state_fits(eom, x))
        kd_text(report, size,
                "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
    if (!kd_state_fits(eom, x)) return KD_ERR_ARGUMENT;
    kd_check_run c = {
        .eom = eom, .inputs = inputs, .x = x, .report = report, .size = size, .random = 0x9e3779b97f4a7c15u};
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_check_options", report, size)) return KD_ERR_ARGUMENT;
    c.opt = opt ? *opt : kd_check_options_default();
    if (!(c.opt.tolerance > 0.0) || c.opt.samples < 0 || !(c.opt.spread >= 0.0)) return KD_ERR_ARGUMENT;

    // x, then points around it, until something is found
    kd_status status = kd_check_create(&c);
    for (int sample = 0; sample <= c.opt.samples && status == KD_OK; sample++) {
        kd_eval answer = kd_check_make_point(&c, sample);
        if (answer == KD_EVAL_OK) answer = check_point(&c);
        // x itself must be possible; a point around it may lie outside the domain
        if (answer == KD_EVAL_STOP || (answer == KD_EVAL_RETRY && sample == 0)) report_fault(&c);
        if (c.found > 0) status = KD_ERR_CHECK;
    }
    kd_check_release(&c);
    return status;
}
