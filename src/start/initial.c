// initial.c: consistent initial values (S3 pages 12 to 14, S1 Eq. 22).
//
//     position      c(p,s,t) = 0, g(p,s,t) = 0, q(p) = 0       unknowns p, s;  p closest to the guess
//     velocity      gI = 0, h = 0, then with e = 0             unknown  v (r);  v closest to the guess
//     acceleration  M a - f + (GZ)' lambda + (HZ)' mu = 0,     unknowns a, lambda, mu, w;
//                   gII = 0, hI = 0, d = 0                     redundant constraints: least |lambda|, |mu|
//
// User conditions are rows of the level that they depend on. If one depends on p and v, both levels are solved
// together; if one depends on a, w, lambda or mu, all three. Equations and limits: docs/methods/initial.md
#include <kardan/initial.h>

#include "core/memory.h"
#include "core/text.h"
#include "math/dense.h"
#include "start/initial_system.h"
#include "start/initial_words.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CONTACT_RANK 1e-10  // pivots of c_s, d_w below this part of the first one are zero
#define VELOCITY_SLACK 10.0 // what redundant rows may leave over beyond the tolerance: p is exact to the tolerance only
#define ACCELERATION_SLACK 1e4
#define ROUNDED 1e3 // units of rounding that long sums may lose
#define SPARE 1e-6  // part of a gradient that is left over of a condition that follows from others

static const double restarts[] = {1e-4, 1e-2, 1e-1}; // relative moves of the guess where the iteration is stuck

enum {
    POSITION_UNKNOWNS = KD_BIT(KD_P) | KD_BIT(KD_S),
    VELOCITY_UNKNOWNS = KD_BIT(KD_V),
    FORCE_UNKNOWNS = KD_BIT(KD_A) | KD_BIT(KD_W) | KD_BIT(KD_LAMBDA) | KD_BIT(KD_MU),
    POSITION_ROWS = KD_BIT(KD_C) | KD_BIT(KD_G),
    VELOCITY_ROWS = KD_BIT(KD_GI) | KD_BIT(KD_H),
    FORCE_ROWS = KD_BIT(KD_RESIDUAL) | KD_BIT(KD_D) | KD_BIT(KD_GII) | KD_BIT(KD_HI),
};

kd_initial_options kd_initial_options_default(void)
{
    return (kd_initial_options){.compute_multipliers = true,
                                .tolerance = 1e-9,
                                .max_iterations = 50,
                                .require_unique = true,
                                .cookie = KD_OPTIONS_COOKIE};
}

// ---- singular blocks ------------------------------------------------------------------------------------------------

// Rank of the square block fn_var; the names of the unknowns without pivot are appended.
static kd_status square_rank(kd_iv *iv, kd_fn fn, kd_var var, kd_kind kind, kd_iv_name_list *list, bool *singular)
{
    kd_arena  arena = {0};
    kd_blocks blocks = {0};
    int       n = kd_eom_rows(iv->eom, fn);
    double   *A = kd_cut_double(&arena, n * n);
    int      *row = kd_cut_int(&arena, n), *column = kd_cut_int(&arena, n);
    kd_status st = arena.failed ? KD_ERR_MEMORY : KD_OK;
    *singular = false;
    if (st == KD_OK && n > 0) {
        // the block at the point, rows scaled to maximum 1
        kd_iv_set_point(iv);
        blocks.block[fn][var] = A;
        if (kd_eom_derivatives(iv->data, KD_PART_ALL, &blocks) != KD_EVAL_OK) {
            st = kd_eom_data_fault(iv->data).status;
        } else {
            for (int i = 0; i < n; i++) { // rows of the same size
                double top = 0.0;
                for (int j = 0; j < n; j++) top = fmax(top, fabs(A[i + n * j]));
                for (int j = 0; j < n && top > 0.0; j++) A[i + n * j] /= top;
            }
            // columns behind the rank have no pivot
            int rank = kd_norm_max(n * n, A) > 0.0 ? kd_lu_full(n, n, A, row, column, CONTACT_RANK) : 0;
            *singular = rank < n;
            for (int j = rank; j < n; j++) kd_iv_add_name(iv, list, kind, rank > 0 ? column[j] : j);
        }
    }
    kd_arena_release(&arena);
    return st;
}

// KD_ERR_SINGULAR_CS if c_s is singular at the point.
static kd_status check_contact(kd_iv *iv)
{
    char            text[KD_IV_STORY];
    bool            singular = false;
    kd_iv_name_list list = {.text = text};
    if (iv->n.ns == 0) return KD_OK;
    kd_text(text, sizeof text, "t = %g: the equations 0 = c do not determine the contact coordinates ", iv->now->t);
    kd_status st = kd_eom_depends(iv->eom, KD_C, KD_S) ? square_rank(iv, KD_C, KD_S, KD_NAME_S, &list, &singular)
                                                       : KD_ERR_SINGULAR_CS;
    kd_iv_end_names(&list);
    if (singular) st = KD_ERR_SINGULAR_CS;
    if (st == KD_ERR_SINGULAR_CS) kd_text(iv->message, iv->size, "%s", text);
    return st;
}

// A null vector that moves a or w: the reason is d_w if that is singular, otherwise mass and constraints.
static kd_status check_forces(kd_iv_system *s)
{
    kd_iv          *iv = s->iv;
    char            text[KD_IV_STORY];
    bool            singular = false;
    kd_iv_name_list list = {.text = text};
    if (s->c.rank == s->c.n || kd_iv_null_part(s, KD_BIT(KD_A) | KD_BIT(KD_W)) < KD_IV_TOUCHED) return KD_OK;
    // d_w singular?
    kd_text(text, sizeof text, "t = %g: the equations 0 = d do not determine the auxiliary variables ", iv->now->t);
    kd_status st = iv->n.nw > 0 && kd_eom_depends(iv->eom, KD_D, KD_W)
                       ? square_rank(iv, KD_D, KD_W, KD_NAME_W, &list, &singular)
                       : KD_OK;
    if (st != KD_OK) return st;
    if (singular || (iv->n.nw > 0 && !kd_eom_depends(iv->eom, KD_D, KD_W))) {
        kd_iv_end_names(&list);
        kd_text(iv->message, iv->size, "%s; start elsewhere, or write equations that depend on %s", text,
                list.count > 1 ? "them" : "it");
        return KD_ERR_SINGULAR_DW;
    }
    // directions without mass that no constraint holds
    list = (kd_iv_name_list){.text = text};
    kd_text(text, sizeof text, "t = %g: mass matrix and constraints do not determine the accelerations of ",
            iv->now->t);
    kd_iv_name_null_components(s, KD_A, KD_NAME_V, iv->n.nv, &list);
    kd_iv_end_names(&list);
    kd_text(iv->message, iv->size, "%s; give these directions mass or a constraint", text);
    return KD_ERR_SINGULAR_MASS;
}

// ---- one level ------------------------------------------------------------------------------------------------------

static bool needs_unique(const kd_iv *iv)
{
    return iv->opt->nconditions > 0 && iv->opt->require_unique;
}

// Gauss-Newton from the guess; where it is stuck, from points near the guess as well.
// story: what stopped the first try.
static kd_closest_end find_feasible(kd_iv_system *s, const char *level, char *story)
{
    unsigned seed = 1;
    // from the guess
    kd_closest_end first = kd_closest_feasible(&s->c);
    if (first == KD_CLOSEST_STUCK) kd_iv_describe_contradiction(s, level, story);
    if (first == KD_CLOSEST_LIMIT) kd_iv_describe_no_convergence(s, level, story);
    if (first != KD_CLOSEST_STUCK) return first;
    // from points near it
    for (size_t k = 0; k < sizeof restarts / sizeof *restarts && !s->iv->stopped; k++) {
        for (int j = 0; j < s->c.n; j++) s->c.y[j] = s->c.y_ref[j] + restarts[k] * s->c.size[j] * kd_iv_random(&seed);
        if (kd_closest_feasible(&s->c) == KD_CLOSEST_DONE) return KD_CLOSEST_DONE;
    }
    return first;
}

// Status and message of an iteration that did not find a solution.
static kd_status failure(kd_iv_system *s, kd_closest_end end, const char *story)
{
    kd_iv *iv = s->iv;
    if (end == KD_CLOSEST_REFUSED || iv->stopped) return iv->fault;
    // numerics failed, not the equations
    if (end == KD_CLOSEST_SVD) {
        kd_text(iv->message, iv->size, "t = %g: the singular value decomposition did not converge", iv->now->t);
        return KD_ERR_IV_DECOMPOSITION;
    }
    // contacts whose rows do not determine their coordinates explain more than the iteration does
    if (kd_iv_system_put(s, s->c.y) == KD_EVAL_OK && (s->unknown & KD_BIT(KD_S))) {
        kd_status contact = check_contact(iv);
        if (contact == KD_ERR_SINGULAR_CS || contact == KD_ERR_MEMORY) return contact;
    }
    kd_text(iv->message, iv->size, "%s", story);
    // with unknowns left the rows contradict each other; without any, what is held does
    if (end == KD_CLOSEST_LIMIT) return KD_ERR_IV_NO_CONVERGENCE;
    if (s->c.nx > 0 || !(s->unknown & (KD_BIT(KD_P) | KD_BIT(KD_V)))) return KD_ERR_IV_CONTRADICTORY;
    kd_text_append(iv->message, iv->size, "; all components are held");
    return KD_ERR_INCONSISTENT;
}

// No unknowns at all, but rows that do not hold.
static kd_status must_not_change(kd_iv_system *s, const char *level)
{
    char story[KD_IV_STORY];
    for (int i = 0; i < s->c.m; i++) s->c.row[i] = 1.0;
    kd_iv_describe_contradiction(s, level, story);
    return failure(s, KD_CLOSEST_STUCK, story);
}

// What is left of row i of J, in natural sizes of the unknowns, beside k orthonormal rows; made a unit vector behind them
static double beside_rows(const kd_closest *c, int i, int k, double *basis)
{
    double *row = basis + (size_t)k * (size_t)c->n, whole = 0.0, rest = 0.0;
    for (int j = 0; j < c->n; j++) row[j] = c->J[(size_t)i + (size_t)j * (size_t)c->m] * c->size[j];
    whole = sqrt(kd_dot(c->n, row, row));
    // twice is enough
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < k; l++) {
            const double *other = basis + (size_t)l * (size_t)c->n;
            kd_axpy(c->n, -kd_dot(c->n, row, other), other, row);
        }
    rest = sqrt(kd_dot(c->n, row, row));
    if (!(rest > SPARE * whole)) return 0.0;
    for (int j = 0; j < c->n; j++) row[j] /= rest;
    return rest / whole;
}

// Conditions whose gradients are combinations of those of constraints and of conditions before them
static kd_status name_spare_conditions(kd_iv_system *s)
{
    const kd_closest *c = &s->c;
    kd_iv            *iv = s->iv;
    kd_arena          arena = {0};
    int               k = 0;
    if (!s->has_conditions || c->n == 0) return KD_OK;
    // an orthonormal basis of the gradients so far
    double *basis = kd_cut_matrix(&arena, c->n, c->m + 1);
    if (arena.failed) return KD_ERR_MEMORY;
    // constraints first, so that a condition is the one that is left over, then conditions in their order
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < c->m; i++) {
            const bool is_condition = s->fn[i] == KD_IV_CONDITION;
            if (is_condition != (pass == 1)) continue;
            if (k < c->n && beside_rows(c, i, k, basis) > 0.0) {
                k++;
            } else if (is_condition) {
                char name[KD_IV_STORY] = "";
                kd_iv_append_row(iv, s->fn[i], s->fn_index[i], name);
                kd_text_append(iv->spare, sizeof iv->spare, "%s%s", iv->spare[0] ? ", " : "", name);
            }
        }
    kd_arena_release(&arena);
    return KD_OK;
}

static kd_status solve_rows(kd_iv_system *s, const char *level, bool *moved)
{
    char        story[KD_IV_STORY];
    kd_closest *c = &s->c;
    // does the guess satisfy the rows?
    if (kd_closest_linearise(c) != KD_EVAL_OK) return s->iv->fault;
    if (c->ratio <= 1.0) return kd_iv_system_put(s, c->y_ref) == KD_EVAL_OK ? KD_OK : s->iv->fault; // do no harm
    if (c->n == 0) return must_not_change(s, level);
    // phase 1: a point with F = 0
    kd_closest_end end = find_feasible(s, level, story);
    if (end != KD_CLOSEST_DONE) return failure(s, end, story);
    if (kd_iv_system_put(s, c->y) != KD_EVAL_OK) return s->iv->fault;
    // conditions must determine p, v, r
    if (needs_unique(s->iv) && c->nx > 0 &&
        kd_iv_null_part(s, KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_R)) > KD_IV_TOUCHED) {
        if (!s->iv->flat && (s->unknown & KD_BIT(KD_P)) && kd_eom_Z(s->iv->data, s->iv->Z) != KD_EVAL_OK)
            return kd_eom_data_fault(s->iv->data).status;
        kd_iv_describe_undetermined(s, level, story);
        kd_text(s->iv->message, s->iv->size, "%s", story);
        return KD_ERR_IV_UNDETERMINED;
    }
    // phase 2: the closest one
    if (c->nx > 0) end = kd_closest_approach(c);
    if (end != KD_CLOSEST_DONE || s->iv->stopped) return failure(s, end, story);
    *moved = true;
    return kd_iv_system_put(s, c->y) == KD_EVAL_OK ? KD_OK : s->iv->fault;
}

static kd_status solve_level(kd_iv_system *s, const char *level, bool *moved)
{
    if (s->c.m == 0) return KD_OK;
    const kd_status st = solve_rows(s, level, moved);
    if (st != KD_OK || !s->has_conditions) return st;
    // gradients where the iteration has ended
    if (kd_closest_linearise(&s->c) != KD_EVAL_OK) return s->iv->fault;
    const kd_status named = name_spare_conditions(s);
    if (named != KD_OK) return named;
    return kd_iv_system_put(s, s->c.y) == KD_EVAL_OK ? KD_OK : s->iv->fault;
}

static bool has_rows(const kd_iv *iv, unsigned equation)
{
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if ((equation & KD_BIT(fn)) && kd_eom_rows(iv->eom, (kd_fn)fn) > 0) return true;
    return false;
}

// levels: conditions that depend on nothing else take part
static kd_status run_level(kd_iv *iv, unsigned unknown, unsigned equation, unsigned levels, const char *level,
                           double slack, bool *moved)
{
    kd_iv_system *s = NULL;
    kd_arena      arena = {0};
    bool         *take = kd_cut_bool(&arena, iv->opt->nconditions);
    kd_status     st = arena.failed ? KD_ERR_MEMORY : KD_OK;
    // conditions that depend on these levels alone
    for (int i = 0; i < iv->opt->nconditions && st == KD_OK; i++)
        take[i] = (iv->levels[i] & ~levels) == 0 && (iv->levels[i] != 0 || (levels & KD_IV_POSITION));
    bool empty = iv->opt->nconditions == 0 && !has_rows(iv, equation);
    if (st == KD_OK && !empty) st = kd_iv_system_create(iv, unknown, equation, take, &s);
    if (st == KD_OK && s) {
        s->c.slack = slack;
        st = solve_level(s, level, moved);
    }
    if (st == KD_OK && s && (unknown & KD_BIT(KD_A))) st = check_forces(s);
    kd_iv_system_destroy(s);
    kd_arena_release(&arena);
    return st;
}

// ---- a, lambda, mu, w -----------------------------------------------------------------------------------------------

// y <- y - N (N'N)^-1 N' y: the multipliers of least norm; a and w have no part in N
static void take_least_norm(kd_closest *c, const kd_iv_system *s)
{
    int     k = kd_closest_null_space(c, c->N), n = c->n;
    double *gram = c->Vt; // n x n, recomputed by the next decomposition
    // N: the part of the multipliers
    for (int l = 0; l < k; l++)
        for (int j = 0; j < n; j++)
            if (s->var[j] == KD_A || s->var[j] == KD_W) c->N[j + n * l] = 0.0;
    // N'N z = N' y, y -= N z
    for (int l = 0; l < k; l++) {
        c->z[l] = kd_dot(n, c->N + (size_t)n * (size_t)l, c->y);
        for (int i = 0; i < k; i++)
            gram[i + k * l] = kd_dot(n, c->N + (size_t)n * (size_t)i, c->N + (size_t)n * (size_t)l);
    }
    if (kd_cholesky_factor(k, gram) != 0) return;
    kd_cholesky_solve(k, gram, c->z, 1);
    kd_gemv(n, k, -1.0, c->N, c->z, 1.0, c->y);
}

static kd_status solve_forces(kd_iv_system *s)
{
    static const char *level = "acceleration level";
    char               story[KD_IV_STORY];
    kd_closest        *c = &s->c;
    if (c->n == 0) return KD_OK;
    // LU where all is determined; otherwise the general way, which finds out what is not
    if (!kd_closest_newton(c)) {
        if (s->iv->stopped) return s->iv->fault;
        kd_closest_end end = find_feasible(s, level, story);
        if (end == KD_CLOSEST_REFUSED || end == KD_CLOSEST_SVD) return failure(s, end, story);
        kd_status st = check_forces(s);
        if (st != KD_OK) return st;
        if (end != KD_CLOSEST_DONE) return failure(s, end, story);
        // redundant constraints: multipliers of least norm
        s->iv->redundant = c->n - c->rank; // a and w are determined: what is left are multipliers
        if (c->rank < c->n) {
            memcpy(c->tangent, c->y, (size_t)c->n * sizeof(double));
            take_least_norm(c, s);
            if (kd_closest_feasible(c) != KD_CLOSEST_DONE) memcpy(c->y, c->tangent, (size_t)c->n * sizeof(double));
        }
    }
    return kd_iv_system_put(s, c->y) == KD_EVAL_OK ? KD_OK : s->iv->fault;
}

static bool all_active(const kd_iv *iv)
{
    bool active = true;
    for (int i = 0; i < iv->n.nlambda; i++) active = active && iv->now->active_lambda[i];
    for (int i = 0; i < iv->n.nmu; i++) active = active && iv->now->active_mu[i];
    return active;
}

// Largest entry of a function at the point; infinity: it cannot be evaluated.
static double row_norm(kd_iv *iv, kd_fn fn, int n)
{
    double  largest = INFINITY;
    double *value = n > 0 ? kd_alloc((size_t)n * sizeof *value) : NULL;
    if (value && kd_eom_eval(iv->data, fn, value) == KD_EVAL_OK) largest = kd_norm_max(n, value);
    kd_free(value);
    return n > 0 ? largest : 0.0;
}

// What rounding leaves of the residual M a + rest: the largest entry of rest, which M a balances, to some digits
static double rounding_of_residual(kd_iv *iv)
{
    const size_t bytes = (size_t)iv->n.nv * sizeof(double);
    double      *a = kd_alloc(bytes);
    if (!a) return 0.0;
    memcpy(a, iv->now->a, bytes);
    memset(iv->now->a, 0, bytes);
    kd_iv_set_point(iv);
    const double rest = row_norm(iv, KD_RESIDUAL, iv->n.nv);
    memcpy(iv->now->a, a, bytes);
    kd_iv_set_point(iv);
    kd_free(a);
    return isfinite(rest) ? ROUNDED * DBL_EPSILON * rest : 0.0;
}

// The definition's own solution (topological elimination of models): linear in the number of bodies, and not troubled
// by a mass matrix of a long chain, whose condition would be taken for a lack of rank. It is accepted only if it
// satisfies the equations; everything unusual is left to the general way, which also finds out what is wrong.
static bool solve_by_definition(kd_iv *iv)
{
    const kd_eom_def *def = kd_eom_definition(iv->eom);
    kd_state         *x = iv->now;
    if (!def->accelerations || iv->n.nw > 0 || iv->n.ns > 0 || def->force_of_multipliers || !all_active(iv))
        return false;
    kd_iv_set_point(iv);
    if (kd_eom_accelerations(iv->data, x->a, x->lambda, x->mu) != KD_EVAL_OK) return false;
    kd_iv_set_point(iv);
    double       size = fmax(1.0, fmax(kd_norm_max(iv->n.nv, x->a), kd_norm_max(iv->n.nlambda, x->lambda)));
    const double left = row_norm(iv, KD_RESIDUAL, iv->n.nv);
    // moments of long chains are large beside what is left of them
    return (left <= iv->opt->tolerance * size || left <= rounding_of_residual(iv)) &&
           row_norm(iv, KD_GII, iv->n.nlambda) <= iv->opt->tolerance * size &&
           row_norm(iv, KD_HI, iv->n.nmu) <= iv->opt->tolerance * size;
}

// Friction that depends on reactions may be the reason why there is no solution.
static void tell_friction(kd_iv *iv)
{
    kd_state      *x = iv->now;
    kd_solvability found;
    char           words[KD_IV_STORY];
    memset(x->lambda, 0, (size_t)iv->n.nlambda * sizeof(double));
    memset(x->mu, 0, (size_t)iv->n.nmu * sizeof(double));
    kd_status st = kd_initial_solvable(iv->eom, iv->inputs, x, &found, words, sizeof words);
    if (st != KD_ERR_UNSUPPORTED && words[0])
        kd_text(iv->message, iv->size, "t = %g, acceleration level: %s", x->t, words);
}

static kd_status run_forces(kd_iv *iv)
{
    kd_iv_system *s = NULL;
    // the definition's own solution, where that will do
    if (solve_by_definition(iv)) return KD_OK;
    for (int i = 0; i < iv->n.nlambda; i++)
        if (!iv->now->active_lambda[i]) iv->now->lambda[i] = 0.0;
    for (int i = 0; i < iv->n.nmu; i++)
        if (!iv->now->active_mu[i]) iv->now->mu[i] = 0.0;
    // [M (GZ)' (HZ)'; GZ; HZ] and d = 0 in general
    kd_status st = kd_iv_system_create(iv, FORCE_UNKNOWNS, FORCE_ROWS, NULL, &s);
    if (st == KD_OK) {
        s->c.slack = ACCELERATION_SLACK;
        st = solve_forces(s);
    }
    kd_iv_system_destroy(s);
    // is friction the reason?
    if (st < 0 && !iv->stopped && st != KD_ERR_MEMORY &&
        (iv->n.nw > 0 || kd_eom_definition(iv->eom)->force_of_multipliers))
        tell_friction(iv);
    return st;
}

// ---- driver ---------------------------------------------------------------------------------------------------------

static kd_status check_arguments(const kd_eom *eom, const kd_initial_options *opt, const kd_state *x, char *message,
                                 size_t size)
{
    const char *wrong = NULL;
    if (!eom || !x)
        wrong = "the equations of motion or the state are missing";
    else if (!kd_state_fits(eom, x))
        wrong = "the state belongs to other equations: make it with kd_state_create(eom, ...)";
    else if (opt->point && kd_eom_data_eom(opt->point) != eom)
        wrong = "the evaluation point belongs to other equations";
    else if (opt->max_iterations < 1)
        wrong = "max_iterations must be at least 1";
    else if (opt->nconditions < 0)
        wrong = "the number of conditions must not be negative";
    else if (opt->nconditions > 0 && !opt->conditions)
        wrong = "the function of the conditions is missing";
    if (wrong) {
        kd_text(message, size, "%s", wrong);
        return KD_ERR_ARGUMENT;
    }
    if (!(opt->tolerance > 0.0) || !isfinite(opt->tolerance)) {
        kd_text(message, size, "the tolerance %g is not positive and finite", opt->tolerance);
        return KD_ERR_TOLERANCE;
    }
    return KD_OK;
}

static kd_status create_problem(kd_iv *iv, const kd_eom *eom, const kd_initial_options *opt)
{
    kd_dims   n = kd_eom_dims(eom);
    kd_arena *a = &iv->arena;
    iv->eom = eom;
    iv->def = kd_eom_definition(eom);
    iv->n = n;
    iv->opt = opt;
    iv->flat = !iv->def->kinematics && !iv->def->Z;
    iv->u = kd_cut_double(a, n.nu);
    iv->du = kd_cut_double(a, n.nu);
    iv->ddu = kd_cut_double(a, n.nu);
    iv->base = kd_cut_double(a, n.np);
    iv->e = kd_cut_double(a, n.nv);
    iv->p_right = kd_cut_double(a, n.np);
    iv->p_left = kd_cut_double(a, n.np);
    iv->q = kd_cut_double(a, n.nq);
    iv->value = kd_cut_double(a, opt->nconditions);
    iv->value_near = kd_cut_double(a, opt->nconditions);
    iv->levels = kd_arena_cut(a, (size_t)opt->nconditions, 1);
    if (a->failed) return KD_ERR_MEMORY;
    // whoever lends a point keeps it
    iv->data = opt->point;
    kd_status st = iv->data ? KD_OK : kd_eom_data_create(eom, &iv->data);
    return st == KD_OK ? kd_state_create(eom, &iv->now) : st;
}

static void destroy_problem(kd_iv *iv)
{
    kd_state_destroy(iv->now);
    if (!iv->opt->point) kd_eom_data_destroy(iv->data);
    kd_arena_release(&iv->arena);
}

static kd_status set_time(kd_iv *iv, const kd_inputs *inputs)
{
    iv->inputs = inputs;
    // u, u', u'' at the start; what is not finite is named
    if (inputs && inputs->eval) {
        if (inputs->eval(iv->now->t, inputs->context, iv->u, iv->du, iv->ddu) != KD_EVAL_OK) {
            kd_text(iv->message, iv->size, "the inputs cannot be evaluated at t = %g", iv->now->t);
            return KD_ERR_IV_CALLBACK;
        }
        for (int i = 0; i < iv->n.nu; i++) {
            if (isfinite(iv->u[i]) && isfinite(iv->du[i]) && isfinite(iv->ddu[i])) continue;
            char name[96];
            kd_text(iv->message, iv->size, "input %s is not finite at t = %g",
                    kd_iv_quoted(iv->eom, KD_NAME_U, i, name, sizeof name), iv->now->t);
            return KD_ERR_NOT_FINITE;
        }
    }
    kd_eom_at_time(iv->data, iv->now->t, iv->u, iv->du, iv->ddu, iv->now->z);
    return KD_OK;
}

static kd_status check_finite(kd_iv *iv, const double *x, int n, kd_kind kind)
{
    for (int i = 0; i < n; i++) {
        if (isfinite(x[i])) continue;
        char name[96];
        kd_text(iv->message, iv->size, "the guess of %s is not a finite number",
                kd_iv_quoted(iv->eom, kind, i, name, sizeof name));
        return KD_ERR_NOT_FINITE;
    }
    return KD_OK;
}

// p, v, r, s must be numbers; a, w, lambda, mu are results and start from 0 where the guess is none
static kd_status check_guess(kd_iv *iv)
{
    kd_state *x = iv->now;
    kd_status st = check_finite(iv, x->p, iv->n.np, KD_NAME_P);
    if (st == KD_OK) st = check_finite(iv, x->v, iv->n.nv, KD_NAME_V);
    if (st == KD_OK) st = check_finite(iv, x->r, iv->n.nr, KD_NAME_R);
    if (st == KD_OK) st = check_finite(iv, x->s, iv->n.ns, KD_NAME_S);
    // unknowns of linear equations: any number will do as a guess
    double *results[] = {x->a, x->w, x->lambda, x->mu};
    int     counts[] = {iv->n.nv, iv->n.nw, iv->n.nlambda, iv->n.nmu};
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < counts[k]; i++)
            if (!isfinite(results[k][i])) results[k][i] = 0.0;
    // rows that are switched off carry no multiplier
    for (int i = 0; i < iv->n.nlambda; i++)
        if (!x->active_lambda[i]) x->lambda[i] = 0.0;
    for (int i = 0; i < iv->n.nmu; i++)
        if (!x->active_mu[i]) x->mu[i] = 0.0;
    return st;
}

static kd_status correct_norms(kd_iv *iv, bool *moved)
{
    if (iv->n.nq == 0) return KD_OK;
    kd_iv_set_point(iv);
    if (kd_iv_evaluate(iv, KD_Q, iv->q) != KD_EVAL_OK) return iv->fault;
    if (kd_norm_max(iv->n.nq, iv->q) <= iv->opt->tolerance) return KD_OK;
    *moved = true;
    return kd_iv_normalise(iv, iv->now->p) == KD_EVAL_OK ? KD_OK : iv->fault;
}

// Invariants that are "as at the start" begin here: z takes their values.
static kd_status take_invariants(kd_iv *iv)
{
    const int *at = iv->def->e_at_start;
    if (!at || iv->n.ne == 0) return KD_OK;
    double *e = kd_cut_double(&iv->arena, iv->n.ne);
    if (!e) return KD_ERR_MEMORY;
    kd_iv_set_point(iv);
    if (kd_iv_evaluate(iv, KD_E, e) != KD_EVAL_OK) return iv->fault;
    for (int i = 0; i < iv->n.ne; i++)
        if (at[i] >= 0) iv->now->z[at[i]] += e[i];
    kd_eom_at_time(iv->data, iv->now->t, iv->u, iv->du, iv->ddu, iv->now->z);
    return KD_OK;
}

// Known invariants must hold at the start, or the first step would bring them about: by the closest velocities.
static kd_status run_invariants(kd_iv *iv, bool *moved)
{
    bool hold = true;
    if (iv->n.ne == 0) return KD_OK;
    kd_status st = take_invariants(iv);
    if (st == KD_OK) st = kd_iv_invariants_hold(iv, &hold);
    if (st == KD_OK && !hold) {
        st = run_level(iv, VELOCITY_UNKNOWNS, VELOCITY_ROWS | KD_BIT(KD_E), KD_IV_VELOCITY,
                       "velocity level with invariants", VELOCITY_SLACK, moved);
        iv->by_invariants = true;
        if (st == KD_OK) st = take_invariants(iv); // of the velocities that were found
    }
    return st == KD_OK ? kd_iv_invariants_rank(iv) : st;
}

// All levels at once: a good start for a, lambda, mu, w first, which also finds out whether the guess is consistent.
static kd_status run_all(kd_iv *iv, const kd_state *x, bool *moved)
{
    kd_status st = run_forces(iv);
    if (iv->stopped || st == KD_ERR_MEMORY) return st;
    if (st != KD_OK) {
        memcpy(iv->now->a, x->a, (size_t)iv->n.nv * sizeof(double));
        memcpy(iv->now->w, x->w, (size_t)iv->n.nw * sizeof(double));
        memcpy(iv->now->lambda, x->lambda, (size_t)iv->n.nlambda * sizeof(double));
        memcpy(iv->now->mu, x->mu, (size_t)iv->n.nmu * sizeof(double));
        st = check_guess(iv);
    }
    if (st != KD_OK) return st;
    return run_level(iv, POSITION_UNKNOWNS | VELOCITY_UNKNOWNS | KD_BIT(KD_R) | FORCE_UNKNOWNS,
                     POSITION_ROWS | VELOCITY_ROWS | FORCE_ROWS, KD_IV_POSITION | KD_IV_VELOCITY | KD_IV_ACCELERATION,
                     "all levels together", ACCELERATION_SLACK, moved);
}

static kd_status run_levels(kd_iv *iv, const kd_state *x, bool *moved)
{
    unsigned mixed = 0; // levels that one condition ties together
    unsigned r = iv->opt->nconditions > 0 ? KD_BIT(KD_R) : 0;
    bool     force = iv->opt->compute_multipliers;
    if (iv->opt->assume) {
        const kd_status taken = take_invariants(iv);
        return taken == KD_OK && force ? run_forces(iv) : taken;
    }
    // which levels do the conditions tie together?
    kd_status st = kd_iv_find_levels(iv, x);
    if (st == KD_OK) st = check_guess(iv);
    if (st == KD_OK) st = correct_norms(iv, moved);
    if (st != KD_OK) return st;
    for (int i = 0; i < iv->opt->nconditions; i++)
        if (iv->levels[i] == (KD_IV_POSITION | KD_IV_VELOCITY) || (iv->levels[i] & KD_IV_ACCELERATION))
            mixed |= iv->levels[i];
    // all three levels at once
    if (mixed & KD_IV_ACCELERATION) {
        st = run_all(iv, x, moved);
        if (st == KD_OK) st = check_contact(iv);
        return st == KD_OK ? run_invariants(iv, moved) : st;
    }
    // positions and velocities at once, or one after the other
    if (mixed) {
        st = run_level(iv, POSITION_UNKNOWNS | VELOCITY_UNKNOWNS | r, POSITION_ROWS | VELOCITY_ROWS,
                       KD_IV_POSITION | KD_IV_VELOCITY, "position and velocity level together", VELOCITY_SLACK, moved);
        if (st == KD_OK) st = check_contact(iv);
    } else {
        // large systems by their own factors of K
        bool found;
        st = kd_iv_large(iv, &found, moved);
        if (st == KD_OK && found) st = run_invariants(iv, moved);
        if (st != KD_OK || found) return st == KD_OK && force ? run_forces(iv) : st;
        st = run_level(iv, POSITION_UNKNOWNS, POSITION_ROWS, KD_IV_POSITION, "position level", 1.0, moved);
        if (st == KD_OK) st = check_contact(iv);
        if (st == KD_OK)
            st = run_level(iv, VELOCITY_UNKNOWNS | r, VELOCITY_ROWS, KD_IV_VELOCITY, "velocity level", VELOCITY_SLACK,
                           moved);
    }
    if (st == KD_OK) st = run_invariants(iv, moved);
    return st == KD_OK && force ? run_forces(iv) : st;
}

kd_status kd_initial_consistent(const kd_eom *eom, const kd_inputs *inputs, const kd_initial_options *opt, kd_state *x,
                                char *message, size_t size)
{
    kd_initial_options defaults = kd_initial_options_default();
    kd_iv              iv = {.message = message, .size = size};
    bool               moved = false;
    if (!opt) opt = &defaults;
    kd_text(message, size, "%s", "");
    kd_status st = check_arguments(eom, opt, x, message, size);
    if (st != KD_OK || opt->known) return st;
    // a copy of the guess, which is kept if something fails
    st = create_problem(&iv, eom, opt);
    if (st == KD_OK) {
        kd_state_copy(x, iv.now);
        kd_eom_at_parameters(iv.data, x->theta);
        st = check_guess(&iv);
    }
    // consistent values; what has moved, in words
    if (st == KD_OK) st = set_time(&iv, inputs);
    if (st == KD_OK) st = run_levels(&iv, x, &moved);
    if (st == KD_OK && iv.opt->compute_multipliers && !iv.opt->assume) st = kd_iv_invariants_stay(&iv);
    if (st == KD_OK) {
        st = kd_iv_tell_news(&iv, x);
        kd_state_copy(iv.now, x);
    }
    if (st == KD_ERR_MEMORY) kd_text(message, size, "out of memory");
    destroy_problem(&iv);
    return st;
}

// ---- residuals ------------------------------------------------------------------------------------------------------

// largest |fn_i| of active rows into *top, its row + shift into *worst (may be NULL)
static kd_eval largest_of_rows(kd_iv *iv, kd_fn fn, double *value, double *top, int *worst, int shift)
{
    int rows = kd_eom_rows(iv->eom, fn);
    if (rows == 0) return KD_EVAL_OK;
    kd_eval              e = kd_iv_evaluate(iv, fn, value);
    const unsigned char *active = NULL;
    if (fn == KD_G || fn == KD_GI || fn == KD_GII) active = iv->now->active_lambda;
    if (fn == KD_H || fn == KD_HI) active = iv->now->active_mu;
    for (int i = 0; i < rows && e == KD_EVAL_OK; i++) {
        if (active && !active[i]) continue;
        if (worst && (*worst < 0 || fabs(value[i]) > *top)) *worst = i + shift;
        *top = fmax(*top, fabs(value[i]));
    }
    return e;
}

static kd_eval all_residuals(kd_iv *iv, double *value, kd_consistency *out)
{
    double rest = 0.0; // of rows that are not ranked
    // positions: g, contacts, norms of quaternions
    kd_eval e = largest_of_rows(iv, KD_G, value, &out->position, &out->worst_position, 0);
    if (e == KD_EVAL_OK) e = largest_of_rows(iv, KD_C, value, &out->position, NULL, 0);
    if (e == KD_EVAL_OK) e = largest_of_rows(iv, KD_Q, value, &out->position, NULL, 0);
    // velocities: hidden constraints, nonholonomic rows, invariants
    if (e == KD_EVAL_OK) e = largest_of_rows(iv, KD_GI, value, &out->velocity, &out->worst_velocity, 0);
    if (e == KD_EVAL_OK) e = largest_of_rows(iv, KD_H, value, &out->velocity, &out->worst_velocity, iv->n.nlambda);
    if (e == KD_EVAL_OK) e = largest_of_rows(iv, KD_E, value, &rest, NULL, 0);
    out->velocity = fmax(out->velocity, rest);
    // accelerations: both kinds differentiated once more
    if (e == KD_EVAL_OK) e = largest_of_rows(iv, KD_GII, value, &out->acceleration, &out->worst_acceleration, 0);
    if (e == KD_EVAL_OK)
        e = largest_of_rows(iv, KD_HI, value, &out->acceleration, &out->worst_acceleration, iv->n.nlambda);
    // forces and auxiliary equations
    if (e == KD_EVAL_OK) e = largest_of_rows(iv, KD_RESIDUAL, value, &out->dynamics, NULL, 0);
    if (e == KD_EVAL_OK) e = largest_of_rows(iv, KD_D, value, &out->auxiliary, NULL, 0);
    return e;
}

kd_status kd_initial_residuals(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, kd_consistency *out)
{
    return kd_initial_residuals_at(eom, NULL, inputs, x, out);
}

kd_status kd_initial_residuals_at(const kd_eom *eom, kd_eom_data *point, const kd_inputs *inputs, const kd_state *x,
                                  kd_consistency *out)
{
    kd_initial_options opt = kd_initial_options_default();
    kd_iv              iv = {0};
    if (!kd_state_fits(eom, x) || !out || (point && kd_eom_data_eom(point) != eom)) return KD_ERR_ARGUMENT;
    opt.point = point;
    *out = (kd_consistency){.worst_position = -1, .worst_velocity = -1, .worst_acceleration = -1};
    kd_status st = create_problem(&iv, eom, &opt);
    // room for the function with most rows
    int n = 0;
    for (int fn = 0; fn <= KD_E && st == KD_OK; fn++)
        n = n > kd_eom_rows(eom, (kd_fn)fn) ? n : kd_eom_rows(eom, (kd_fn)fn);
    double *value = st == KD_OK ? kd_cut_double(&iv.arena, n) : NULL;
    if (st == KD_OK && !value) st = KD_ERR_MEMORY;
    // the state as it is: nothing is corrected here
    if (st == KD_OK) {
        kd_state_copy(x, iv.now);
        kd_eom_at_parameters(iv.data, x->theta);
        st = set_time(&iv, inputs);
    }
    if (st == KD_OK) {
        kd_iv_set_point(&iv);
        if (all_residuals(&iv, value, out) != KD_EVAL_OK) st = iv.fault;
    }
    destroy_problem(&iv);
    return st;
}
