// acceleration.c: a, lambda, mu, w at a given point (notes: one matrix serves all).
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
//
// Here: life cycle, the point, and who solves. Each way to solve has a file of its own (acceleration_impl.h).
#include "core/memory.h"
#include "core/text.h"
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <string.h>

#define LARGE 20     // unknowns from which on the elimination along the topology is the faster one
#define RESERVED 600 // unknowns up to which the full matrices are made at once

// Can the definition solve for a, lambda, mu itself? Small systems are faster with dense kernels.
static bool may_have_own_solution(const kd_acceleration *self)
{
    const kd_eom_def *def = kd_eom_definition(self->eom);
    const bool        projects = def->kkt_factor || self->nk == self->dims.nv; // or there is nothing to project on
    return projects && def->accelerations && self->linear && !self->svd && self->dims.ns == 0 && self->nk >= LARGE;
}

bool kd_acceleration_has_own_solution(const kd_acceleration *self)
{
    return may_have_own_solution(self) && kd_acceleration_all_active(self);
}

bool kd_acceleration_all_active(const kd_acceleration *self)
{
    for (int k = 0; k < self->nk - self->dims.nv; k++)
        if (!kd_acceleration_is_active(self, k)) return false;
    return true;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// A block of derivatives, if there is one, wanted from now on whenever the set is evaluated
static double *want(kd_acceleration *self, kd_blocks *set, kd_fn fn, kd_var var)
{
    if (!kd_eom_depends(self->eom, fn, var)) return NULL;
    double *block = kd_cut_matrix(&self->full_arena, kd_eom_rows(self->eom, fn), kd_eom_columns(self->eom, var));
    set->block[fn][var] = block;
    return block;
}

static void cut_blocks(kd_acceleration *self)
{
    kd_acceleration_blocks *b = &self->block;
    kd_arena               *full = &self->full_arena;
    kd_dims                 d = self->dims;

    // the matrix of a, lambda, mu, w
    kd_blocks *set = &self->wanted;
    b->M = want(self, set, KD_RESIDUAL, KD_A);
    b->C_lambda = want(self, set, KD_RESIDUAL, KD_LAMBDA);
    b->C_mu = want(self, set, KD_RESIDUAL, KD_MU);
    b->R_w = want(self, set, KD_RESIDUAL, KD_W);
    b->d_lambda = want(self, set, KD_D, KD_LAMBDA);
    b->d_mu = want(self, set, KD_D, KD_MU);
    b->d_w = want(self, set, KD_D, KD_W);
    self->wanted_mass.block[KD_RESIDUAL][KD_A] = b->M;

    // contact coordinates
    b->c_s = want(self, &self->wanted_c, KD_C, KD_S);

    // invariants, and how the velocity follows a move of the position
    set = &self->wanted_e;
    b->e_p = want(self, set, KD_E, KD_P);
    b->e_v = want(self, set, KD_E, KD_V);
    b->e_s = want(self, set, KD_E, KD_S);
    if (d.ne > 0) {
        b->gI_p = want(self, set, KD_GI, KD_P);
        b->gI_s = want(self, set, KD_GI, KD_S);
        b->h_p = want(self, set, KD_H, KD_P);
        b->h_s = want(self, set, KD_H, KD_S);
        b->c_p = want(self, set, KD_C, KD_P);
        set->block[KD_C][KD_S] = b->c_s;
    }

    // rows of constraints, here and at the other point of a stage
    b->GZ = kd_cut_matrix(full, d.nlambda, d.nv);
    b->HZ = kd_cut_matrix(full, d.nmu, d.nv);
    self->stage.GZ = kd_cut_matrix(full, d.nlambda, d.nv);
    self->stage.HZ = kd_cut_matrix(full, d.nmu, d.nv);
}

bool kd_acceleration_reserve(kd_acceleration *self)
{
    kd_full_matrix *m = &self->full;
    if (m->A) return true;
    kd_arena *full = &self->full_arena;
    const int nv = self->dims.nv, nrows = self->nk - nv, nf = self->nf, work = kd_svd_work(nf, nf);
    // made once, when the way that needs no full matrix fails for the first time
    cut_blocks(self);
    m->U = kd_cut_matrix(full, nf, nf);
    m->Vt = kd_cut_matrix(full, nf, nf);
    m->work = kd_cut_double(full, work > 4 * nf ? work : 4 * nf);
    kd_kkt_cut(&self->definite.kkt, full, nv, nrows);
    kd_kkt_mixed_cut(&self->stage.mixed, full, nv, nrows);
    m->A = kd_cut_matrix(full, nf, nf);
    if (!full->failed) return true;
    m->A = NULL;
    kd_arena_release(full);
    return false;
}

static void cut_point(kd_acceleration *self, kd_arena *arena)
{
    const kd_dims d = self->dims;
    kd_position_cut_norms(&self->position, arena, self->eom);
    self->u = kd_cut_double(arena, d.nu);
    self->du = kd_cut_double(arena, d.nu);
    self->ddu = kd_cut_double(arena, d.nu);
    self->rhs = kd_cut_double(arena, self->nf);
    self->zero = kd_cut_double(arena, self->nf);
    self->e_moved = kd_cut_double(arena, d.nv);
    self->p_moved = kd_cut_double(arena, d.np);
    self->contact.LU = kd_cut_matrix(arena, d.ns, d.ns);
    self->contact.pivot = kd_cut_int(arena, d.ns);
    self->contact.c = kd_cut_double(arena, d.ns);
}

static void cut_factors(kd_acceleration *self, kd_arena *arena)
{
    const kd_dims   d = self->dims;
    const int       nf = self->nf, nrows = d.nlambda + d.nmu;
    kd_full_matrix *full = &self->full;
    // the matrix of all equations
    full->sigma = kd_cut_double(arena, nf);
    full->row = kd_cut_double(arena, nf);
    full->column = kd_cut_double(arena, nf);
    full->pivot = kd_cut_int(arena, nf);
    full->iwork = kd_cut_int(arena, nf);

    // M, GZ, HZ where M is definite
    kd_definite *definite = &self->definite;
    definite->packed = kd_cut_int(arena, nrows);
    definite->packed_b = kd_cut_double(arena, self->nk);
    definite->active = kd_arena_cut(arena, (size_t)nrows, 1);
    definite->p = kd_cut_double(arena, d.np);
    definite->solution = kd_cut_double(arena, self->nk);

    // factors of an earlier point, with its solution
    self->kept.point = kd_cut_double(arena, nf);
    self->kept.guess = kd_cut_double(arena, nf);
    self->kept.active = kd_arena_cut(arena, (size_t)nrows, 1);

    // a half-explicit stage
    kd_stage_rows *stage = &self->stage;
    stage->rows = kd_cut_double(arena, nrows);
    stage->p = kd_cut_double(arena, d.np);
    stage->s = kd_cut_double(arena, d.ns);
    stage->left_out = kd_cut_bool(arena, nrows);
    stage->row_order = kd_cut_int(arena, nrows);
    stage->column_order = kd_cut_int(arena, d.nv);
}

static void cut_invariants(kd_acceleration *self, kd_arena *arena)
{
    const kd_dims       d = self->dims;
    kd_invariant_moves *m = &self->invariant;
    m->gradient = kd_cut_matrix(arena, d.nv, d.ne);
    m->along_p = kd_cut_matrix(arena, self->nf, d.ne);
    m->along_v = kd_cut_matrix(arena, self->nf, d.ne);
    m->p = kd_cut_double(arena, d.np);
    m->s = kd_cut_double(arena, d.ns);
    m->v = kd_cut_double(arena, d.nv);
    m->e = kd_cut_double(arena, d.ne);
    m->S = kd_cut_matrix(arena, d.ne, d.ne);
    m->U = kd_cut_matrix(arena, d.ne, d.ne);
    m->Vt = kd_cut_matrix(arena, d.ne, d.ne);
    m->sigma = kd_cut_double(arena, d.ne);
    m->work = kd_cut_double(arena, kd_svd_work(d.ne, d.ne) + d.ne);
    m->pivot = kd_cut_int(arena, d.ns);
    m->by_s = kd_cut_double(arena, d.ns);
}

kd_status kd_acceleration_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                                 const kd_formulation_options *opt, kd_acceleration **acceleration)
{
    *acceleration = NULL;
    kd_acceleration *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    self->eom = eom;
    self->data = opt->point;
    self->lent = opt->point != NULL;
    self->state = x;
    if (inputs) self->inputs = *inputs;
    self->dims = kd_eom_dims(eom);
    self->nk = self->dims.nv + self->dims.nlambda + self->dims.nmu;
    self->nf = self->nk + self->dims.nw;
    self->linear = self->dims.nw == 0 && !kd_eom_definition(eom)->force_of_multipliers;
    self->svd = opt->constraints == KD_DECOMPOSE_SVD;
    self->rank_tolerance = opt->rank_tolerance;
    cut_point(self, &self->arena);
    cut_factors(self, &self->arena);
    cut_invariants(self, &self->arena);
    kd_status status = self->arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status >= 0 && !self->lent) status = kd_eom_data_create(eom, &self->data);

    // full matrices: at once, unless the system is large and the definition will probably solve it
    if (status >= 0 && (self->nf <= RESERVED || self->dims.ne > 0 || !may_have_own_solution(self)) &&
        !kd_acceleration_reserve(self))
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
    if (!self->lent) kd_eom_data_destroy(self->data);
    kd_arena_release(&self->full_arena);
    kd_arena_release(&self->arena);
    kd_free(self);
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

// ---- why there is no answer -----------------------------------------------------------------------------------------

kd_eval kd_acceleration_note(kd_acceleration *self, kd_eval answer)
{
    if (answer == KD_EVAL_OK) return answer;
    kd_status status = kd_eom_data_fault(self->data).status;
    self->fault = status < 0 ? status : KD_ERR_DECOMPOSITION; // Z or q_p without full rank
    kd_text(self->message, sizeof self->message, "%s",
            status < 0 ? kd_eom_data_message(self->data)
                       : "the kinematic matrix Z or the norm equations lost their rank");
    return answer;
}

kd_eval kd_acceleration_no_solution(kd_acceleration *self, kd_status status, double t, const char *what)
{
    self->fault = status;
    kd_text(self->message, sizeof self->message, "t = %.9g: %s", t, what);
    return KD_EVAL_RETRY;
}

kd_eval kd_acceleration_no_room(kd_acceleration *self, double t)
{
    kd_acceleration_no_solution(self, KD_ERR_MEMORY, t,
                                "out of memory for the full matrix of accelerations and multipliers");
    return KD_EVAL_STOP;
}

// ---- the point ------------------------------------------------------------------------------------------------------

kd_eval kd_acceleration_at_time(kd_acceleration *self, double t)
{
    if (self->inputs.eval && self->dims.nu > 0) {
        kd_eval answer = self->inputs.eval(t, self->inputs.context, self->u, self->du, self->ddu);
        if (answer != KD_EVAL_OK) {
            kd_acceleration_no_solution(self, answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED, t,
                                        "the inputs have no value");
            return answer;
        }
    }
    if (self->lent) kd_eom_at_parameters(self->data, self->state->theta); // others may have left theirs
    kd_eom_at_time(self->data, t, self->u, self->du, self->ddu, self->state->z);
    return KD_EVAL_OK;
}

kd_eval kd_acceleration_at(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                           const double *r)
{
    kd_eval answer = kd_acceleration_at_time(self, t);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_position(self->data, p, s);
    kd_eom_at_velocity(self->data, v, r);
    return KD_EVAL_OK;
}

// gII and hI at the present point, or the rows of a stage
static kd_eval evaluate_constraints(kd_acceleration *self, double *y)
{
    const kd_dims d = self->dims;
    if (self->stage.in_use) {
        kd_stage_evaluate(self, y);
        return KD_EVAL_OK;
    }
    kd_eval answer = d.nlambda > 0 ? kd_eom_eval(self->data, KD_GII, y) : KD_EVAL_OK;
    return answer == KD_EVAL_OK && d.nmu > 0 ? kd_eom_eval(self->data, KD_HI, y + d.nlambda) : answer;
}

kd_eval kd_acceleration_rows(kd_acceleration *self, const double *lambda, const double *mu)
{
    const kd_dims d = self->dims;
    double       *y = self->rhs;
    kd_eval       answer = kd_eom_eval(self->data, KD_RESIDUAL, y);
    if (answer == KD_EVAL_OK && d.nlambda + d.nmu > 0) answer = evaluate_constraints(self, y + d.nv);
    if (answer == KD_EVAL_OK && d.nw > 0) answer = kd_eom_eval(self->data, KD_D, y + self->nk);
    if (answer != KD_EVAL_OK) return kd_acceleration_note(self, answer);

    // rows that do not hold: their multipliers go to 0
    for (int i = 0; i < d.nlambda; i++)
        if (!kd_acceleration_is_active(self, i)) y[d.nv + i] = lambda[i];
    for (int i = 0; i < d.nmu; i++)
        if (!kd_acceleration_is_active(self, d.nlambda + i)) y[d.nv + d.nlambda + i] = mu[i];
    for (int i = 0; i < self->nf; i++) y[i] = -y[i];
    return KD_EVAL_OK;
}

// ---- who solves -----------------------------------------------------------------------------------------------------

void kd_acceleration_apply(kd_acceleration *self, int n, double *b)
{
    switch (self->factors) {
    case KD_FACTORS_BY_DEFINITION:
        kd_eom_kkt_solve(self->data, b);
        break;
    case KD_FACTORS_DEFINITE:
        kd_definite_solve(self, b);
        break;
    default: // of the full matrix, scaled
        kd_full_solve(self, n, b);
    }
}

kd_eval kd_acceleration_solve(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                              const double *r, double *a, double *w, double *lambda, double *mu)
{
    kd_eval answer = kd_stage_at(self, t, p, s, v, r);
    return answer == KD_EVAL_OK ? kd_acceleration_solve_here(self, a, w, lambda, mu) : answer;
}

kd_eval kd_acceleration_solve_here(kd_acceleration *self, double *a, double *w, double *lambda, double *mu)
{
    const kd_point *here = kd_eom_point(self->data);
    const double    t = here->t, *p = here->p;
    bool            done;
    kd_eval         answer;
    memset(a, 0, (size_t)self->dims.nv * sizeof *a);

    // large systems: the definition eliminates along the topology
    if (!self->stage.in_use && kd_acceleration_has_own_solution(self) &&
        kd_eom_accelerations(self->data, a, lambda, mu) == KD_EVAL_OK)
        return KD_EVAL_OK;
    if (!kd_acceleration_reserve(self)) return kd_acceleration_no_room(self, t);

    // linear equations with definite M and independent rows: Cholesky's method
    if (self->linear) {
        answer = kd_definite_accelerations(self, t, p, w, &done);
        if (answer == KD_EVAL_OK && done) kd_definite_take(self, a, lambda, mu);
    } else { // forces of multipliers: perhaps the matrix of the last point is good enough
        answer = kd_newton_with_kept(self, a, w, lambda, mu, &done);
    }
    if (answer != KD_EVAL_OK || done) return answer;

    // all others: the full matrix
    return kd_newton_accelerations(self, t, a, w, lambda, mu);
}
