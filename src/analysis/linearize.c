// linearize.c: linear equations around a state (S1 Eq. 5 and 6): derivatives of all equations, second order form and
// descriptor form. Minimal coordinates: linear_reduce.c.
#include <kardan/initial.h>
#include <math.h>
#include <string.h>

#include "analysis/internal.h"
#include "core/option.h"
#include "core/text.h"
#include "math/dense.h"

enum { LARGEST = 4000 }; // velocities: beyond, full matrices are no answer

kd_linearize_options kd_linearize_options_default(void)
{
    return (kd_linearize_options){.rank_tolerance = 1e-9, .descriptor = true, .cookie = KD_OPTIONS_COOKIE};
}

// ---- the point ------------------------------------------------------------------------------------------------------

// The equations at x; u, u', u'' are kept
static kd_eval set_point(kd_linearizer *l, const kd_inputs *inputs)
{
    const size_t  size = (size_t)l->n.nu * sizeof *l->u;
    const kd_eval answer = kd_eom_at_state(l->data, inputs, l->x, KD_STAGE_ACCELERATION);
    if (answer != KD_EVAL_OK) return answer;
    const kd_point *x = kd_eom_point(l->data); // inputs for points next to it
    memcpy(l->u, x->u, size);
    memcpy(l->u + l->n.nu, x->du, size);
    memcpy(l->u + 2 * l->n.nu, x->ddu, size);
    return KD_EVAL_OK;
}

static const kd_fn  functions[] = {KD_RESIDUAL, KD_B, KD_D, KD_C, KD_G, KD_GI, KD_GII, KD_H, KD_HI, KD_Y};
static const kd_var variables[] = {KD_P, KD_V, KD_A, KD_R, KD_W, KD_S, KD_LAMBDA, KD_MU, KD_U};
enum { FUNCTIONS = sizeof functions / sizeof functions[0], VARIABLES = sizeof variables / sizeof variables[0] };

static void want_block(kd_linearizer *l, kd_fn fn, kd_var var)
{
    int rows = kd_eom_rows(l->eom, fn), columns = kd_eom_columns(l->eom, var);
    if (rows > 0 && columns > 0 && kd_eom_depends(l->eom, fn, var))
        l->f.block[fn][var] = kd_cut_matrix(&l->work, rows, columns);
}

static kd_status make_room(kd_linearizer *l)
{
    const kd_dims n = l->n;
    // derivatives of all functions by all variables, of Z v by p in addition
    for (int i = 0; i < FUNCTIONS; i++)
        for (int j = 0; j < VARIABLES; j++) want_block(l, functions[i], variables[j]);
    want_block(l, KD_KINEMATICS, KD_P);
    const int m = n.nlambda + n.nmu;
    // kinematics and constraints at the point
    l->u = kd_cut_double(&l->work, 3 * n.nu);
    l->unit = kd_cut_double(&l->work, n.nv);
    l->Z = kd_cut_matrix(&l->work, n.np, n.nv);
    l->N = kd_cut_matrix(&l->work, n.nv, n.nv);
    l->J = kd_cut_matrix(&l->work, m, n.nv);
    l->GZ = kd_cut_matrix(&l->work, n.nlambda, n.nv);
    l->c_s = kd_cut_matrix(&l->work, n.ns, n.ns);
    l->c_pivot = kd_cut_int(&l->work, n.ns);
    l->active = kd_arena_cut(&l->work, (size_t)m, 1);
    if (l->work.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < n.nv; i++) l->unit[i] = kd_eom_unit(l->eom, i);
    return KD_OK;
}

// ---- kinematics -----------------------------------------------------------------------------------------------------

// Z at p + h p', t + h
static kd_eval Z_moved(kd_linearizer *l, const double *rate, double h, double *p, double *Z)
{
    for (int i = 0; i < l->n.np; i++) p[i] = l->x->p[i] + h * rate[i];
    kd_eom_at_time(l->data, l->x->t + h, l->u, l->u + l->n.nu, l->u + 2 * l->n.nu, l->x->z);
    kd_eom_at_position(l->data, p, l->x->s);
    return kd_eom_Z(l->data, Z);
}

// The time derivative of Z along the motion: central difference of order 4, exact where Z is linear in p
static kd_eval Z_rate(kd_linearizer *l, const double *rate, double *p, double *moved, double *out)
{
    static const double weight[] = {-1.0 / 12, 8.0 / 12, -8.0 / 12, 1.0 / 12}, place[] = {2, 1, -1, -2};
    const int           size = l->n.np * l->n.nv;
    double              fastest = 1 / kd_eom_time(l->eom); // in natural units
    for (int i = 0; i < l->n.np; i++) fastest = fmax(fastest, fabs(rate[i]) / kd_eom_position_unit(l->eom, i));
    const double h = 1e-3 / fastest;
    kd_eval      answer = KD_EVAL_OK;
    for (int k = 0; k < 4 && answer == KD_EVAL_OK; k++) {
        answer = Z_moved(l, rate, place[k] * h, p, moved);
        for (int i = 0; i < size; i++) out[i] += weight[k] / h * (moved[i] - l->Z[i]); // 0 where Z is constant
    }
    return answer;
}

// p = p0 oplus e means dp = Z e, and dp' = (Z v)_p Z e + Z dv gives Z e' = Z dv + ((Z v)_p Z - Z') e. So
// N = inv(Z'Z) Z' ((Z v)_p Z - dZ/dt), 0 where Z is constant.
static kd_status frame_rates(kd_linearizer *l)
{
    const int np = l->n.np, nv = l->n.nv;
    double   *by_p = kd_block(l, KD_KINEMATICS, KD_P);
    if (!by_p) return KD_OK;
    double *rate = kd_cut_double(&l->work, np), *p = kd_cut_double(&l->work, np);
    double *moved = kd_cut_matrix(&l->work, np, nv), *dZ = kd_cut_matrix(&l->work, np, nv);
    double *ZZ = kd_cut_matrix(&l->work, nv, nv);
    if (l->work.failed) return KD_ERR_MEMORY;
    // p' = Z v, and dZ/dt along it
    if (kd_eom_eval(l->data, KD_KINEMATICS, rate) != KD_EVAL_OK) return KD_ERR_RETRY_FAILED;
    if (Z_rate(l, rate, p, moved, dZ) != KD_EVAL_OK) return KD_ERR_RETRY_FAILED;
    // (Z v)_p Z - dZ/dt, then Z'Z \ Z' of it
    for (int i = 0; i < np * nv; i++) dZ[i] = by_p[i] - dZ[i];
    kd_gemm_tn(nv, nv, np, 1, l->Z, l->Z, 0, ZZ);
    kd_gemm_tn(nv, nv, np, 1, l->Z, dZ, 0, l->N);
    if (kd_cholesky_factor(nv, ZZ) != 0) return KD_ERR_DECOMPOSITION;
    kd_cholesky_solve(nv, ZZ, l->N, nv);
    return KD_OK;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// All blocks, Z, and J = [GZ; HZ]
static kd_eval evaluate_derivatives(kd_linearizer *l)
{
    const kd_dims n = l->n;
    const int     m = n.nlambda + n.nmu;
    kd_eval       answer = kd_eom_derivatives(l->data, KD_PART_ALL, &l->f);
    if (answer == KD_EVAL_OK) answer = kd_eom_Z(l->data, l->Z);
    double *HZ = l->J; // first the small matrix, then moved to its rows
    if (answer == KD_EVAL_OK && m > 0)
        answer = kd_eom_constraint_matrices(l->data, n.nlambda ? l->GZ : NULL, n.nmu ? HZ : NULL);
    if (answer != KD_EVAL_OK) return answer;
    // GZ and HZ become rows of one matrix, from the last column back: HZ lies where they go
    for (int j = n.nv - 1; j >= 0; j--) {
        for (int i = n.nmu - 1; i >= 0; i--) l->J[n.nlambda + i + j * m] = HZ[i + j * n.nmu];
        for (int i = 0; i < n.nlambda; i++) l->J[i + j * m] = l->GZ[i + j * n.nlambda];
    }
    // rows that are switched off hold nothing
    memcpy(l->active, l->x->active_lambda, (size_t)n.nlambda);
    memcpy(l->active + n.nlambda, l->x->active_mu, (size_t)n.nmu);
    return answer;
}

// Everything that the forms are made of
static kd_status differentiate(kd_linearizer *l, const kd_inputs *inputs, char *message, size_t size)
{
    kd_status status = make_room(l);
    if (status < 0) return status;
    kd_eval answer = set_point(l, inputs);
    if (answer == KD_EVAL_OK) answer = evaluate_derivatives(l);
    if (answer != KD_EVAL_OK) {
        kd_text(message, size, "%s", kd_eom_data_message(l->data));
        return answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
    }
    // ds = -c_s \ c_p e later: LU of c_s
    if (l->n.ns > 0) {
        double *by_s = kd_block(l, KD_C, KD_S);
        if (by_s) memcpy(l->c_s, by_s, (size_t)l->n.ns * (size_t)l->n.ns * sizeof(double));
        if (!by_s || kd_lu_factor(l->n.ns, l->c_s, l->c_pivot) != 0) return KD_ERR_SINGULAR_CS;
    }
    status = kd_linear_differences(l);
    return status < 0 ? status : frame_rates(l);
}

// ---- second order form ----------------------------------------------------------------------------------------------

static const double *copy_block(const kd_linearizer *l, kd_arena *arena, kd_fn fn, kd_var var, double sign)
{
    const int rows = kd_eom_rows(l->eom, fn), columns = kd_eom_columns(l->eom, var);
    double   *out = kd_cut_matrix(arena, rows, columns), *block = kd_block(l, fn, var);
    if (out && block) kd_axpy(rows * columns, sign, block, out);
    return out;
}

static void second_order(const kd_linearizer *l, kd_linear *linear, kd_arena *arena)
{
    linear->nv = l->n.nv;
    linear->nconstraints = l->n.nlambda + l->n.nmu;
    linear->M = copy_block(l, arena, KD_RESIDUAL, KD_A, 1);
    linear->R_v = copy_block(l, arena, KD_RESIDUAL, KD_V, 1);
    linear->R_p = copy_block(l, arena, KD_RESIDUAL, KD_P, 1);
    linear->F = copy_block(l, arena, KD_RESIDUAL, KD_U, -1);
    double *J = kd_cut_matrix(arena, linear->nconstraints, l->n.nv);
    if (J) kd_axpy(linear->nconstraints * l->n.nv, 1, l->J, J);
    linear->J = J;
}

// ---- descriptor form ------------------------------------------------------------------------------------------------

// The unknowns (e, dv, r, a, w, s, lambda, mu), where each stands
static const kd_var unknowns[] = {KD_P, KD_V, KD_R, KD_A, KD_W, KD_S, KD_LAMBDA, KD_MU};
enum { UNKNOWNS = sizeof unknowns / sizeof unknowns[0] };

// Write a block of fn at a row of A and its input part to B.
static void place_row(const kd_linearizer *l, kd_fn fn, int row, int rows, double *A, double *B)
{
    const int m = kd_eom_rows(l->eom, fn);
    int       column = 0;
    for (int k = 0; k < UNKNOWNS; k++) {
        const int     columns = kd_eom_columns(l->eom, unknowns[k]);
        const double *block = kd_block(l, fn, unknowns[k]);
        for (int j = 0; j < columns && block; j++)
            memcpy(A + row + (size_t)(column + j) * (size_t)rows, block + (size_t)j * (size_t)m,
                   (size_t)m * sizeof(double));
        column += columns;
    }
    const double *block = kd_block(l, fn, KD_U);
    for (int j = 0; j < l->n.nu && block; j++)
        memcpy(B + row + (size_t)j * (size_t)rows, block + (size_t)j * (size_t)m, (size_t)m * sizeof(double));
}

// A constraint that does not hold reads lambda_i = 0.
static void place_inactive(const kd_linearizer *l, int row, int column, int nd, double *A, double *B)
{
    for (int i = 0; i < l->n.nlambda + l->n.nmu; i++) {
        if (l->active[i]) continue;
        for (int j = 0; j < nd; j++) A[(size_t)(row + i) + (size_t)j * (size_t)nd] = j == column + i;
        for (int j = 0; j < l->n.nu; j++) B[(size_t)(row + i) + (size_t)j * (size_t)nd] = 0;
    }
}

// E x' = A x + B u, y = C x + D u with x = (e, dv, r, a, w, s, lambda, mu)
static void descriptor(const kd_linearizer *l, kd_linear *linear, kd_arena *arena)
{
    const kd_dims n = l->n;
    const int     nd = 3 * n.nv + n.nr + n.nw + n.ns + n.nlambda + n.nmu, ndynamic = 2 * n.nv + n.nr;
    double *E = kd_cut_matrix(arena, nd, nd), *A = kd_cut_matrix(arena, nd, nd), *B = kd_cut_matrix(arena, nd, n.nu);
    double *C = kd_cut_matrix(arena, n.ny, nd), *D = kd_cut_matrix(arena, n.ny, n.nu);
    if (arena->failed) return;
    linear->nd = nd;
    linear->E = E, linear->A_d = A, linear->B_d = B, linear->C_d = C, linear->D_d = D;
    // E = diag(I, 0)
    for (int i = 0; i < ndynamic; i++) E[(size_t)i + (size_t)i * (size_t)nd] = 1;
    for (int i = 0; i < n.nv; i++) { // e' = N e + dv, dv' = a
        for (int j = 0; j < n.nv; j++) A[(size_t)i + (size_t)j * (size_t)nd] = l->N[i + j * n.nv];
        A[(size_t)i + (size_t)(n.nv + i) * (size_t)nd] = 1;
        A[(size_t)(n.nv + i) + (size_t)(ndynamic + i) * (size_t)nd] = 1;
    }
    const struct {
        kd_fn fn;
        int   rows;
    } equations[] = {{KD_B, n.nr}, {KD_RESIDUAL, n.nv}, {KD_D, n.nw}, {KD_C, n.ns}, {KD_G, n.nlambda}, {KD_H, n.nmu}};
    // r' = b, 0 = residual, d, c, g, h
    int row = 2 * n.nv;
    for (int k = 0; k < 6; k++) {
        place_row(l, equations[k].fn, row, nd, A, B);
        row += equations[k].rows;
    }
    const int multipliers = nd - n.nlambda - n.nmu;
    place_inactive(l, multipliers, multipliers, nd, A, B);
    place_row(l, KD_Y, 0, n.ny, C, D);
}

// ---- all ------------------------------------------------------------------------------------------------------------

// Increments whose axes turn are made dependent where others can do: coordinates that spin with a wheel would hide that
// a motion is steady.
static double *column_weights(kd_linearizer *l)
{
    static const double AVOID = 100;
    const int           nv = l->n.nv;
    double              most = 0, *weight = kd_cut_double(&l->work, nv);
    // how fast each turns
    for (int i = 0; i < nv && weight; i++) {
        weight[i] = 0;
        for (int j = 0; j < nv; j++) weight[i] = fmax(weight[i], fabs(l->N[i + j * nv]) * l->unit[j] / l->unit[i]);
        most = fmax(most, weight[i]);
    }
    for (int i = 0; i < nv && weight; i++) weight[i] = 1 + (most > 0 ? AVOID * weight[i] / most : 0);
    return weight;
}

// Charts of positions and velocities, then minimal coordinates
static kd_status reduce_to_minimal(kd_linearizer *l, kd_linear *linear, kd_arena *arena, double tolerance)
{
    const kd_dims n = l->n;
    const int     m = n.nlambda + n.nmu;
    const double *weight = column_weights(l);
    if (!weight ||
        !kd_linear_chart_create(&l->position, &l->work, n.nlambda, n.nv, l->GZ, l->active, l->unit, weight,
                                tolerance) ||
        !kd_linear_chart_create(&l->velocity, &l->work, m, n.nv, l->J, l->active, l->unit, weight, tolerance))
        return l->work.failed ? KD_ERR_MEMORY : KD_ERR_DECOMPOSITION;
    // constraints that hold and follow from others
    int holding = 0;
    for (int i = 0; i < m; i++) holding += l->active[i] != 0;
    linear->nredundant = holding - l->velocity.rank;
    return kd_linear_reduce(l, linear, arena);
}

// Second order form, descriptor form, minimal form, names
static kd_status build_forms(kd_linearizer *l, const kd_linearize_options *opt, kd_linear *linear, kd_arena *arena)
{
    linear->t = l->x->t;
    linear->speed = kd_norm_max(l->n.nv, l->x->v);
    linear->force = kd_norm_max(l->n.nv, l->x->a);
    second_order(l, linear, arena);
    if (opt->descriptor) descriptor(l, linear, arena);
    if (arena->failed) return KD_ERR_MEMORY;
    kd_status status = reduce_to_minimal(l, linear, arena, opt->rank_tolerance);
    if (status >= 0 && !kd_linear_names(l, linear, arena)) status = KD_ERR_MEMORY;
    return status;
}

// A consistent copy of x with its accelerations and multipliers
static kd_status copy_state(kd_linearizer *l, const kd_inputs *inputs, const kd_state *x, char *message, size_t size)
{
    kd_status status = kd_state_create(l->eom, &l->x);
    if (status < 0) return status;
    kd_state_copy(x, l->x);
    l->x->theta = x->theta;
    return kd_initial_consistent(l->eom, inputs, NULL, l->x, message, size);
}

static kd_linear *new_linear(void)
{
    kd_linear *linear = kd_alloc(sizeof *linear);
    if (!linear) return NULL;
    linear->memory = kd_alloc(sizeof(kd_arena));
    if (linear->memory) return linear;
    kd_free(linear);
    return NULL;
}

kd_status kd_linearize(const kd_eom *eom, const kd_inputs *inputs, const kd_linearize_options *opt, const kd_state *x,
                       kd_linear **out, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (out) *out = NULL;
    if (eom && !kd_state_fits(eom, x))
        kd_text(message, size,
                "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
    if (!kd_state_fits(eom, x) || !out) return KD_ERR_ARGUMENT;
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_linearize_options", message, size)) return KD_ERR_ARGUMENT;
    const kd_linearize_options usual = kd_linearize_options_default();
    if (!opt) opt = &usual;
    kd_linearizer l = {.eom = eom, .n = kd_eom_dims(eom)};
    if (l.n.nv > LARGEST) {
        kd_text(message, size, "%d velocities are too many for full matrices (at most %d)", l.n.nv, (int)LARGEST);
        return KD_ERR_UNSUPPORTED;
    }
    // consistent point, derivatives there, then all forms
    kd_linear *linear = new_linear();
    kd_status  news = linear ? copy_state(&l, inputs, x, message, size) : KD_ERR_MEMORY, status = news;
    if (status >= 0) status = kd_eom_data_create(eom, &l.data);
    if (status >= 0) status = differentiate(&l, inputs, message, size);
    if (status >= 0) status = build_forms(&l, opt, linear, linear->memory);
    kd_eom_data_destroy(l.data);
    kd_state_destroy(l.x);
    kd_arena_release(&l.work);
    if (status >= 0) {
        if (linear->difference_error > KD_LINEAR_ERROR)
            kd_text_append(message, size, "%sthe derivative of %s is uncertain, by %.2g of it: a kink is near",
                           message && size > 0 && message[0] ? "; " : "", linear->difference_name,
                           linear->difference_error);
        *out = linear;
        return news;
    }
    kd_linear_destroy(linear);
    if (message && size > 0 && !message[0]) kd_text(message, size, "%s", kd_status_sentence(status));
    return status;
}

void kd_linear_destroy(kd_linear *linear)
{
    if (!linear) return;
    kd_arena_release(linear->memory);
    kd_free(linear->memory);
    kd_free(linear);
}
