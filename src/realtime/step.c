// step.c: one step of the linear-implicit Euler method for constrained systems (S4 sections 2 and 3).
//
//     ahead:             p~ = p0 oplus h v0, [p1 = p~ - P g(p~),] forces and matrices at p1, v1, which fits p1
//     positions first:   the same with forces at p0, extrapolated by h f_p v0 (S4 Eq. 6)
//     velocities first:  v1, then p1 = p0 oplus h v1
//     projection:        p1 = p~ - P g(p~), then v1 = v~ - inv(M) C' mu with C v1 + gI0 = 0 at p1
//
// Index 2 asks 0 = gI(p, v1) + alpha g(p) at the new position (velocities first: at p0 oplus h v0), index 1 asks
// 0 = gII + 2 alpha gI + beta g where the forces are taken. For linear forces, ahead and S4's way are the same; those
// that are left out of the matrix act as in the symplectic instead of the explicit Euler method.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include <math.h>
#include <string.h>
#include <time.h>

#include "core/text.h"
#include "realtime/internal.h"

// ---- reports --------------------------------------------------------------------------------------------------------
static kd_status tell_fault(kd_realtime *rt)
{
    kd_fault    what = kd_eom_data_fault(rt->data);
    char        lost[300];
    const bool  folds = rt->n.nw > 0 && what.status >= 0 && kd_rt_auxiliary_lost(rt, lost, sizeof lost);
    const char *words = folds ? lost : kd_eom_data_message(rt->data);
    kd_text(rt->message, sizeof rt->message, "step %ld from t = %.9g: %s; the state is that of t = %.9g", rt->steps + 1,
            rt->now->t, words && words[0] ? words : "a function of the equations refused", rt->now->t);
    if (folds) return KD_ERR_SINGULAR_DW;
    return what.status < 0 ? what.status : KD_ERR_RETRY_FAILED;
}

static kd_status tell_no_pivot(kd_realtime *rt)
{
    char words[sizeof rt->message];
    kd_text(words, sizeof words, "%s", rt->message);
    kd_text(rt->message, sizeof rt->message, "step %ld: %s", rt->steps + 1, words);
    return KD_ERR_RANK_CHANGE;
}

// Which number left the finite, by name
static kd_status tell_not_finite(kd_realtime *rt)
{
    char name[128] = "a multiplier";
    for (int i = 0; i < rt->n.np; i++)
        if (!isfinite(rt->next->p[i])) kd_eom_name(rt->eom, KD_NAME_P, i, name, sizeof name);
    for (int i = 0; i < rt->n.nr; i++)
        if (!isfinite(rt->next->r[i])) kd_eom_name(rt->eom, KD_NAME_R, i, name, sizeof name);
    for (int i = 0; i < rt->n.nv; i++)
        if (!isfinite(rt->next->v[i])) kd_eom_name(rt->eom, KD_NAME_V, i, name, sizeof name);
    kd_text(
        rt->message, sizeof rt->message,
        "step %ld from t = %.9g: %s left the finite: the step of %.3g s is too long for this motion, or a stiff force "
        "is treated explicitly; the state is that of t = %.9g",
        rt->steps + 1, rt->now->t, name, rt->opt.h, rt->now->t);
    return KD_ERR_NOT_FINITE;
}

// ---- positions ------------------------------------------------------------------------------------------------------
// to = p oplus h v (+ h z)
static kd_eval move_from_now(kd_realtime *rt, const double *v, double *to)
{
    for (int i = 0; i < rt->n.nv; i++) rt->increment[i] = rt->opt.h * v[i];
    kd_eval answer = kd_eom_oplus(rt->data, rt->now->p, rt->increment, to);
    for (int i = 0; rt->drifts && i < rt->n.np; i++) to[i] += rt->opt.h * rt->drift[i];
    if (rt->n.nq > 0) kd_eom_normalise(rt->data, to);
    return answer;
}

// next->p, predicted, with contact coordinates; data there
static kd_eval predict(kd_realtime *rt, const double *v)
{
    kd_eval answer = move_from_now(rt, v, rt->next->p);
    memcpy(rt->next->s, rt->now->s, (size_t)rt->n.ns * sizeof *rt->next->s);
    if (answer != KD_EVAL_OK) return answer;
    // drives were looked at there, if nobody went elsewhere since
    const bool there = rt->drives.n > 0 && !rt->drifts && rt->step.known && rt->opt.ahead;
    return there ? kd_rt_replace(rt, rt->next->p, rt->next->s) : kd_rt_place(rt, rt->next->t, rt->next->p, rt->next->s);
}

// Impulse of a projection of positions: they have moved with v0 + dp/h, dp = -P g
static void take_impulse(kd_realtime *rt)
{
    const double  per_h = 1.0 / rt->opt.h;
    const double *nu = rt->x + rt->n.nv + rt->n.nr;
    for (int i = 0; i < rt->n.nv; i++) rt->gain[i] = per_h * rt->x[i];
    for (int i = 0; i < rt->n.nlambda; i++) rt->impulse[i] = -per_h * nu[i];
}

// next->p = next->p oplus -P g, P = the part of inv(K) that answers the multipliers' rows; data there
static kd_eval project_position(kd_realtime *rt, const kd_rt_matrix *matrix)
{
    const int lambda = rt->n.nv + rt->n.nr;
    memset(rt->x, 0, (size_t)rt->nunknowns * sizeof *rt->x);
    // right-hand side (0, 0, g)
    kd_eval answer = kd_eom_eval(rt->data, KD_G, rt->x + lambda);
    if (answer != KD_EVAL_OK) return answer;
    // dp = -P g
    kd_elimination_solve_marked(matrix->lu, rt->x);
    for (int i = 0; i < rt->n.nv; i++) rt->x[i] = -rt->x[i];
    if (rt->opt.stabilisation == KD_REALTIME_GGL) take_impulse(rt);
    // p1 = p~ oplus dp, q = 0
    memcpy(rt->p_moved, rt->next->p, (size_t)rt->n.np * sizeof *rt->p_moved);
    answer = kd_eom_oplus(rt->data, rt->p_moved, rt->x, rt->next->p);
    if (rt->n.nq > 0) kd_eom_normalise(rt->data, rt->next->p);
    // data stands at this time already
    return answer == KD_EVAL_OK ? kd_rt_replace(rt, rt->next->p, rt->next->s) : answer;
}

// Where data stands at the predicted position
static kd_status factor_predicted(kd_realtime *rt)
{
    if (kd_rt_mass_at(rt, &rt->M_end) != KD_EVAL_OK || kd_rt_constraints_at(rt, &rt->end) != KD_EVAL_OK)
        return tell_fault(rt);
    return kd_rt_factor_mass(rt, &rt->M_end, &rt->end, NULL) ? KD_OK : tell_no_pivot(rt);
}

// next->p by one Newton step, with the matrix that the options name
static kd_status project_onto_g(kd_realtime *rt)
{
    const kd_rt_matrix *matrix = rt->opt.projector == KD_REALTIME_PROJECTOR_STEP ? &rt->step : &rt->mass;
    kd_status           status = KD_OK;
    if (rt->n.nlambda == 0) return KD_OK;
    if (rt->opt.projector == KD_REALTIME_PROJECTOR_PREDICTED)
        status = factor_predicted(rt);
    else if (!matrix->known) // the first step, and with the mass matrix every one that did not project its velocities
        status = (matrix == &rt->step ? kd_rt_factor_step(rt, &rt->start, NULL)
                                      : kd_rt_factor_mass(rt, &rt->M, &rt->start, NULL))
                     ? KD_OK
                     : tell_no_pivot(rt);
    if (status != KD_OK) return status;
    return project_position(rt, matrix) == KD_EVAL_OK ? KD_OK : tell_fault(rt);
}

// ---- velocities -----------------------------------------------------------------------------------------------------
// Right-hand side of the dynamic rows: h (f + h f_p v0), h (b + h b_p v0)
static kd_eval force_rows(kd_realtime *rt)
{
    const double h = rt->opt.h, *v = rt->now->v;
    const bool   extrapolate = !rt->opt.velocities_first && !rt->opt.ahead;
    double      *y = rt->x, *r = rt->x + rt->n.nv;
    kd_eval      answer = KD_EVAL_OK;
    // f, b where forces are taken
    for (int i = 0; i < rt->n.nv; i++) y[i] = rt->f[i];
    for (int i = 0; i < rt->n.nr; i++) r[i] = rt->b[i];
    // S4 Eq. 6: + h f_p v0, + h b_p v0 (derivatives hold R_p = -f_p); J3 by a directional difference
    if (extrapolate) kd_rt_block_multiply(&rt->derivative[KD_RT_F_P], -h, v, y);
    if (extrapolate) kd_rt_block_multiply(&rt->derivative[KD_RT_B_P], h, v, r);
    if (extrapolate && rt->opt.jacobian == KD_REALTIME_J3) answer = kd_rt_add_directional(rt, y);
    for (int i = 0; i < rt->n.nv + rt->n.nr; i++) y[i] *= h;
    // regularisation solves for changes of the multipliers: - h (GZ)' lambda0 - h (HZ)' mu0
    if (rt->opt.stabilisation != KD_REALTIME_REGULARISATION) return answer;
    kd_rt_block_multiply_t(&rt->start.G, -h, rt->now->lambda, y);
    kd_rt_block_multiply_t(&rt->start.H, -h, rt->now->mu, y);
    return answer;
}

static bool is_stabilised(const kd_realtime *rt)
{
    return rt->opt.stabilisation == KD_REALTIME_BAUMGARTE || rt->opt.stabilisation == KD_REALTIME_REGULARISATION;
}

// Index 1, at now; rt->rows holds gII and hI for a = 0: C (v1 - v0) = -h (gII + 2 alpha gI + beta g)
static kd_eval acceleration_rows(kd_realtime *rt)
{
    const double h = rt->opt.h;
    double      *y = rt->x + rt->n.nv + rt->n.nr;
    // -h gII, -h hI
    for (int i = 0; i < rt->nrows; i++) y[i] = -h * rt->rows[i];
    if (!is_stabilised(rt)) return KD_EVAL_OK;
    // Baumgarte: -2 h alpha gI, -h alpha h
    kd_eval answer = kd_rt_velocity_rows(rt, &rt->start, rt->now->v);
    for (int i = 0; i < rt->n.nlambda; i++) y[i] -= 2.0 * h * rt->alpha * rt->rows[i];
    for (int i = rt->n.nlambda; i < rt->nrows; i++) y[i] -= h * rt->alpha * rt->rows[i];
    // -h beta g
    if (answer != KD_EVAL_OK || rt->n.nlambda == 0) return answer;
    answer = kd_eom_eval(rt->data, KD_G, rt->rows);
    for (int i = 0; i < rt->n.nlambda; i++) y[i] -= h * rt->beta * rt->rows[i];
    return answer;
}

// Index 2, where data stands with the matrices C: C (v1 - v0) = -gI(p, v0) - alpha g(p)
static kd_eval velocity_rows(kd_realtime *rt, const kd_rt_constraints *C)
{
    double    *y = rt->x + rt->n.nv + rt->n.nr;
    const bool moved = rt->opt.stabilisation == KD_REALTIME_GGL, at_once = moved && rt->scleronomic && rt->n.nmu == 0;
    // gI(p, v), h(p, v), v = v0; ggl: v0 + gain, the velocity with which the projection has moved positions
    for (int i = 0; at_once && i < rt->n.nv; i++) rt->increment[i] = rt->now->v[i] + rt->gain[i];
    kd_eval answer = kd_rt_velocity_rows(rt, C, at_once ? rt->increment : rt->now->v);
    if (moved && !at_once) {
        kd_rt_block_multiply(&C->G, 1.0, rt->gain, rt->rows);
        kd_rt_block_multiply(&C->H, 1.0, rt->gain, rt->rows + rt->n.nlambda);
    }
    // -gI; Baumgarte: -alpha g
    for (int i = 0; i < rt->nrows; i++) y[i] = -rt->rows[i];
    if (answer != KD_EVAL_OK || !is_stabilised(rt) || rt->n.nlambda == 0) return answer;
    answer = kd_eom_eval(rt->data, KD_G, rt->rows);
    for (int i = 0; i < rt->n.nlambda; i++) y[i] -= rt->alpha * rt->rows[i];
    return answer;
}

// next: v, r, a and multipliers from the solution
static void advance(kd_realtime *rt)
{
    const double *x = rt->x, h = rt->opt.h;
    const bool    add = rt->opt.stabilisation == KD_REALTIME_REGULARISATION;
    // v1 = v0 + gain + dv,  a = (v1 - v0) / h
    for (int i = 0; i < rt->n.nv; i++, x++) {
        rt->next->v[i] = rt->now->v[i] + (rt->gain[i] + *x);
        rt->next->a[i] = (rt->gain[i] + *x) / h;
    }
    for (int i = 0; i < rt->n.nr; i++, x++) rt->next->r[i] = rt->now->r[i] + *x;
    // multipliers: impulses of the step and of the projection, over h
    for (int i = 0; i < rt->n.nlambda; i++, x++)
        rt->next->lambda[i] = (rt->impulse[i] + *x) / h + (add ? rt->now->lambda[i] : 0.0);
    for (int i = 0; i < rt->n.nmu; i++, x++) rt->next->mu[i] = *x / h + (add ? rt->now->mu[i] : 0.0);
}

// K (v1 - v0, r1 - r0, h lambda, h mu) = x, K the matrix of the step with C of these rows
static kd_status solve_velocities(kd_realtime *rt, const kd_rt_constraints *rows)
{
    return kd_rt_factor_step(rt, rows, rt->x) ? KD_OK : tell_no_pivot(rt);
}

// v1 = v~ - inv(M) C' mu, C v1 + gI0 = 0, exactly, at p1
static kd_status project_velocity(kd_realtime *rt)
{
    const int rows = rt->n.nv + rt->n.nr;
    // C, M and gI(p1, v~) at p1
    kd_eval answer = kd_rt_constraints_at(rt, &rt->end);
    if (answer == KD_EVAL_OK) answer = kd_rt_mass_at(rt, &rt->M_end);
    if (answer == KD_EVAL_OK) answer = kd_rt_velocity_rows(rt, &rt->end, rt->next->v);
    if (answer != KD_EVAL_OK) return tell_fault(rt);
    // [M C'; C 0] (dv, mu) = (0, -gI),  v1 = v~ + dv
    memset(rt->x, 0, (size_t)rows * sizeof *rt->x);
    for (int i = 0; i < rt->nrows; i++) rt->x[rows + i] = -rt->rows[i];
    if (!kd_rt_factor_mass(rt, &rt->M_end, &rt->end, rt->x)) return tell_no_pivot(rt);
    for (int i = 0; i < rt->n.nv; i++) rt->next->v[i] += rt->x[i];
    return KD_OK;
}

// ---- the step -------------------------------------------------------------------------------------------------------
static bool implicit_positions(const kd_realtime *rt)
{
    return rt->opt.jacobian == KD_REALTIME_EXACT || rt->opt.velocities_first;
}

// Positions before velocities, or where index 2 takes its rows. The projection of ggl needs x meanwhile.
static kd_status predict_positions(kd_realtime *rt)
{
    // p~ = p0 oplus h v0
    if (predict(rt, rt->now->v) != KD_EVAL_OK) return tell_fault(rt);
    if (rt->opt.stabilisation != KD_REALTIME_GGL) return KD_OK;
    // ggl: p1 = p~ - P g(p~)
    if (rt->opt.projector == KD_REALTIME_PROJECTOR_START) rt->mass.known = false;
    memcpy(rt->y, rt->x, (size_t)rt->nunknowns * sizeof *rt->x);
    kd_status status = project_onto_g(rt);
    memcpy(rt->x, rt->y, (size_t)rt->nunknowns * sizeof *rt->x);
    return status;
}

static kd_status new_velocities(kd_realtime *rt)
{
    // index 1: the rows were set up at the start
    if (rt->opt.index == 1) return solve_velocities(rt, &rt->start);
    // index 2: C and gI where data stands, at the predicted position
    if (kd_rt_constraints_at(rt, &rt->end) != KD_EVAL_OK || velocity_rows(rt, &rt->end) != KD_EVAL_OK)
        return tell_fault(rt);
    return solve_velocities(rt, &rt->end);
}

// The mass matrix of the start (Eq. 11) was factored when the last step projected its velocities.
static kd_status project_both_levels(kd_realtime *rt)
{
    kd_status status = project_onto_g(rt);
    return status == KD_OK && rt->nrows > 0 ? project_velocity(rt) : status;
}

// A projection takes the matrix of the last step, or the mass matrix of the start; the first step has none.
static kd_status provide_projector(kd_realtime *rt)
{
    bool projects = rt->opt.stabilisation == KD_REALTIME_PROJECTION;
    if ((!projects && rt->opt.stabilisation != KD_REALTIME_GGL) || rt->step.known) return KD_OK;
    if (kd_rt_start(rt) != KD_EVAL_OK) return tell_fault(rt);
    if (!projects || rt->opt.projector != KD_REALTIME_PROJECTOR_START || rt->n.nlambda == 0) return KD_OK;
    return kd_rt_factor_mass(rt, &rt->M, &rt->start, NULL) ? KD_OK : tell_no_pivot(rt);
}

// Forces and matrices at the new position, up to the increments of velocities and multipliers
static kd_status solve_ahead(kd_realtime *rt)
{
    // p1 = p0 oplus h v0, projected with the matrix at hand
    if (rt->drifts && kd_rt_stand(rt) != KD_EVAL_OK) return tell_fault(rt);
    kd_status status = provide_projector(rt);
    if (status == KD_OK) status = predict_positions(rt);
    if (status != KD_OK) return status;
    // f, M, C and derivatives at p1; rows of the constraints; jumps of drives
    rt->start_known = false;
    if (kd_rt_evaluate(rt) != KD_EVAL_OK || force_rows(rt) != KD_EVAL_OK) return tell_fault(rt);
    kd_eval answer = rt->opt.index == 1 ? acceleration_rows(rt) : velocity_rows(rt, &rt->start);
    if (answer == KD_EVAL_OK) answer = kd_rt_drives_kick(rt, rt->x);
    if (answer != KD_EVAL_OK) return tell_fault(rt);
    return solve_velocities(rt, &rt->start);
}

// Forces at the old one, up to the same
static kd_status solve_from_start(kd_realtime *rt)
{
    kd_status status = KD_OK;
    // f, M, C and derivatives at p0; right-hand sides that belong there
    if (kd_rt_start(rt) != KD_EVAL_OK) return tell_fault(rt);
    if (rt->opt.index == 1 && acceleration_rows(rt) != KD_EVAL_OK) return tell_fault(rt);
    if (force_rows(rt) != KD_EVAL_OK) return tell_fault(rt); // J3 leaves data beside the start
    if (kd_rt_drives_kick(rt, rt->x) != KD_EVAL_OK) return tell_fault(rt);
    // p1 or its prediction, v1 with rows there
    if (rt->opt.index == 2 || !implicit_positions(rt)) status = predict_positions(rt);
    return status == KD_OK ? new_velocities(rt) : status;
}

// v1 and what comes behind it: positions where they follow from v1, projections that the options ask for. *ends: rt->end holds the
// constraint matrices of p1.
static kd_status move_on(kd_realtime *rt, bool *ends)
{
    const bool projects = rt->opt.stabilisation == KD_REALTIME_PROJECTION;
    const bool late = !rt->opt.ahead && implicit_positions(rt);
    *ends = !rt->opt.ahead && ((rt->opt.index == 2 && !late && !projects) || (projects && rt->nrows > 0));
    advance(rt);
    if (late && predict(rt, rt->next->v) != KD_EVAL_OK) return tell_fault(rt);
    return projects ? project_both_levels(rt) : KD_OK;
}

// Products with zero are zero for finite numbers only: one branch for the whole state.
static bool is_finite(const kd_state *x)
{
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0; // four sums that need not wait for each other
    int    i = 0;
    for (; i + 4 <= x->n; i += 4) {
        a += 0.0 * x->p[i];
        b += 0.0 * x->p[i + 1];
        c += 0.0 * x->p[i + 2];
        d += 0.0 * x->p[i + 3];
    }
    for (; i < x->n; i++) a += 0.0 * x->p[i];
    return (a + b) + (c + d) == 0.0;
}

static kd_eval outputs_at_now(kd_realtime *rt, double *outputs)
{
    if (!outputs || rt->n.ny == 0) return KD_EVAL_OK;
    kd_eval answer = kd_rt_look(rt);
    return answer == KD_EVAL_OK ? kd_eom_eval(rt->data, KD_Y, outputs) : answer;
}

// Time, state and matrices move on by one step. ends: rt->end holds the constraint matrices of p1.
static void accept(kd_realtime *rt, bool ends)
{
    kd_state         *state = rt->now;
    kd_rt_constraints C = rt->start;
    // z goes on; next becomes now
    memcpy(rt->next->z, rt->now->z, (size_t)rt->n.nz * sizeof *rt->now->z);
    rt->now = rt->next;
    rt->next = state;
    // the constraint matrices of p1 serve the next step at its start
    if (ends) {
        rt->start = rt->end;
        rt->end = C;
    }
    rt->start_known = ends;
    // where data stands, with the inputs that it has seen
    rt->placed = true;
    kd_rt_drives_accept(rt);
    memcpy(rt->u_placed, rt->u, (size_t)rt->n.nu * sizeof *rt->u);
    memcpy(rt->du_placed, rt->du, (size_t)rt->n.nu * sizeof *rt->du);
    rt->steps++;
}

// What a failed step must not leave behind
static void keep_for_retreat(kd_realtime *rt)
{
    memcpy(rt->held_kept, rt->held, (size_t)rt->n.nu * sizeof *rt->held);
    kd_rt_events_keep(rt, false);
    rt->next_sample_kept = rt->next_sample;
    rt->fed_kept = rt->fed;
}

// What a failed step leaves behind is not where the state is.
static kd_status reject(kd_realtime *rt, kd_status status)
{
    memcpy(rt->held, rt->held_kept, (size_t)rt->n.nu * sizeof *rt->held);
    kd_rt_events_keep(rt, true);
    rt->next_sample = rt->next_sample_kept;
    rt->fed = rt->fed_kept;
    rt->placed = rt->start_known = rt->step.known = rt->mass.known = false;
    return status;
}

// The next time: a whole number of steps where the present one is, so that no error of rounding grows and samples come
// at their steps after hours, too.
static double time_after(const kd_realtime *rt)
{
    const double h = rt->opt.h, t = rt->now->t + h, whole = h * round(t / h);
    return fabs(t - whole) <= KD_RT_ALMOST * h ? whole : t;
}

// At the end of an accepted step: events, then samples, then outputs. KD_OK, KD_STOPPED, < 0
static kd_status make_instant(kd_realtime *rt, double *outputs)
{
    const bool due = rt->now->t >= rt->next_sample - KD_RT_ALMOST * rt->opt.h;
    kd_status  status = kd_rt_events_make(rt);
    if (status == KD_ERR_UNSUPPORTED || status == KD_ERR_CHATTER) return status;
    if (status < 0 || (due && kd_rt_sample(rt) != KD_EVAL_OK) || outputs_at_now(rt, outputs) != KD_EVAL_OK)
        return KD_ERR_CALLBACK_STOP;
    return status;
}

// Back to the state before the step
static void take_back(kd_realtime *rt)
{
    kd_state *end = rt->now;
    rt->now = rt->next;
    rt->next = end;
    rt->drives.known = false;
    rt->steps--;
}

// The first half of a step, or the state as it was
static kd_status attempt(kd_realtime *rt)
{
    rt->next->t = time_after(rt);
    // drives at both ends; a position that jumps is beyond any force
    kd_status status = kd_rt_drives_begin(rt) == KD_EVAL_OK ? KD_OK : tell_fault(rt);
    if (status == KD_OK && kd_rt_drives_leap(rt)) status = KD_ERR_POSITION_JUMP;
    if (status == KD_OK) status = rt->opt.ahead ? solve_ahead(rt) : solve_from_start(rt);
    return status == KD_OK ? KD_OK : reject(rt, status);
}

// The second one
kd_status kd_rt_end_step(kd_realtime *rt, double *outputs)
{
    bool      ends = false;
    kd_status status = move_on(rt, &ends);
    if (status == KD_OK && !is_finite(rt->next)) status = tell_not_finite(rt);
    if (status != KD_OK) return reject(rt, status);
    // end of the step: events, samples, outputs; a failure there takes the step back
    accept(rt, ends);
    status = make_instant(rt, outputs);
    if (status >= 0) return status;
    take_back(rt);
    return reject(rt, status == KD_ERR_CALLBACK_STOP ? tell_fault(rt) : status);
}

void kd_rt_undo(kd_realtime *rt, bool whole)
{
    if (whole) take_back(rt);
    (void)reject(rt, KD_OK);
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// An input that is no number is refused before anything is done with it.
static kd_status check_inputs(kd_realtime *rt, const double *inputs)
{
    double sum = 0.0;
    for (int i = 0; inputs && i < rt->n.nu; i++) sum += rt->external[i] ? 0.0 * inputs[i] : 0.0;
    if (sum == 0.0) return KD_OK;
    char name[128] = "";
    for (int i = 0; i < rt->n.nu; i++)
        if (rt->external[i] && !isfinite(inputs[i])) kd_eom_name(rt->eom, KD_NAME_U, i, name, sizeof name);
    kd_text(rt->message, sizeof rt->message, "step %ld from t = %.9g: %s is not finite; the state is that of t = %.9g",
            rt->steps + 1, rt->now->t, name, rt->now->t);
    return KD_ERR_NOT_FINITE;
}

// Held over the step; their rates are those from the last step to this one, for constraints that they move.
static void take_inputs(kd_realtime *rt, const double *inputs)
{
    for (int i = 0; i < rt->n.nu; i++) {
        if (!rt->external[i]) continue;
        const double value = inputs ? inputs[i] : rt->held[i];
        rt->held_rate[i] = rt->fed ? (value - rt->held[i]) / rt->opt.h : 0.0;
        rt->held[i] = value;
    }
    rt->fed = rt->fed || inputs;
}

kd_status kd_rt_begin_step(kd_realtime *rt, const double *inputs)
{
    rt->message[0] = '\0';
    kd_status status = check_inputs(rt, inputs);
    if (status != KD_OK) return status;
    keep_for_retreat(rt);
    take_inputs(rt, inputs);
    return attempt(rt);
}

// Nothing acts on open rows
static void leave_open(kd_realtime *rt)
{
    double *x = rt->x + rt->n.nv + rt->n.nr;
    for (int i = 0; i < rt->n.nlambda && rt->nopen > 0; i++)
        if (rt->open[i]) x[i] = 0.0;
}

kd_status kd_rt_make_step(kd_realtime *rt, const double *inputs, double *outputs)
{
    const bool watched = rt->opt.deadline > 0.0;
    double     start = watched ? clock_seconds() : 0.0;
    // the step, from inputs that are numbers
    kd_status status = kd_rt_begin_step(rt, inputs);
    if (status == KD_OK) {
        leave_open(rt);
        status = kd_rt_end_step(rt, outputs);
    }
    // was it in time?
    rt->seconds = watched ? clock_seconds() - start : 0.0;
    if (status != KD_OK || !watched || rt->seconds <= rt->opt.deadline) return status;
    kd_text(rt->message, sizeof rt->message, "step %ld took %.3g s, its deadline is %.3g s", rt->steps, rt->seconds,
            rt->opt.deadline);
    return KD_LATE;
}
