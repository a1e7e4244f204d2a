// impact.c: velocities behind an impact, from the impulse equations of the rows that take part:
//
//     M (v+ - v) = C' u        C: rows of GZ and HZ, u = -(Lambda, Pi)
//     C_i v+ + c0_i = 0                       rows that always hold: gI_i+ = 0, h_i+ = 0
//     C_i v+ + c0_i + e_i min(gI_i, 0) >= 0   one-sided rows that are hit, e_i = 0 for those that rest; u_i >= 0, and
//                                             one of both is an equality
//
// This is Newton's law of impact with the complementarity of Moreau. It is the condition of optimality of
//
//     min (v+ - v)' M (v+ - v) / 2    under the same rows,
//
// which is convex: v+ is unique, and so are the impulses where rows are independent. With M = L L', y = L'(v+ - v) it
// is a problem of least distance (math/least_distance.c). Rows that would pull are left out by its iteration, redundant
// equations are skipped. gI_i is the total derivative: its time part c0 does not jump. If all restitutions are equal
// the energy does not grow: (v+ + v)' M (v+ - v) / 2 = -(1 - e) u' gI / 2 for a scleronomic system.
//
// Where M is singular but definite along the equations, M + k C' C of the equations takes its place: the same
// minimiser, the same impulses. Matrices are full, also for large models: an impact costs about nv^3 / 3 operations, as
// the accelerations behind it do, whose rows have just changed.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "eom/internal.h"
#include "math/dense.h"

#define DEFINITE 1e-12 // smallest part that is left of a diagonal entry of M

// the reason that an evaluation has left, or the decomposition itself
static kd_status last_fault(const kd_eom_data *d)
{
    return d->fault.status < 0 ? d->fault.status : KD_ERR_DECOMPOSITION;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// gI and h for v, in impact_rate
static kd_eval rates_before(kd_eom_data *d, const double *v)
{
    const kd_dims *n = &d->eom->def.dims;
    kd_eom_frame  *frame = kd_eom_frame_push(d);
    memcpy(frame->v, v, (size_t)n->nv * sizeof *v);
    d->x.v = frame->v;
    d->stage = KD_STAGE_VELOCITY;
    kd_restamp(d, KD_STAGE_VELOCITY);
    kd_eval answer = kd_eom_eval(d, KD_GI, d->impact_rate);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(d, KD_H, d->impact_rate + n->nlambda);
    kd_eom_frame_pop(d);
    return answer;
}

// row of [GZ; HZ] as number count of the problem of least distance, with what it asks for
static void take_row(kd_eom_data *d, int *count, int row, bool one_sided, double c)
{
    d->impact_row[*count] = row;
    d->impact_one_sided[*count] = one_sided;
    d->impact_c[(*count)++] = c;
}

// The rows that take part, and the jump of their rates that they ask for
static int collect_rows(kd_eom_data *d, const unsigned char *active_lambda, const unsigned char *active_mu,
                        const unsigned char *hit)
{
    const kd_dims *n = &d->eom->def.dims;
    int            count = 0;
    for (int i = 0; i < n->nlambda; i++) {
        bool one_sided = kd_eom_one_sided(d->eom, i), is_hit = one_sided && hit && hit[i];
        // jump of gI_i: -(1 + e_i) gI_i, e_i > 0 only where it is hit and closes
        double rate = d->impact_rate[i], e = is_hit && rate < 0 ? d->eom->def.restitution[i] : 0;
        if (active_lambda[i] || is_hit) take_row(d, &count, i, one_sided, -(1 + e) * rate);
    }
    for (int i = 0; i < n->nmu; i++)
        if (active_mu[i]) take_row(d, &count, n->nlambda + i, false, -d->impact_rate[n->nlambda + i]);
    return count;
}

// entry (row of [GZ; HZ], column j)
static double constraint_entry(const kd_eom_data *d, int row, int j)
{
    const int nlambda = d->eom->def.dims.nlambda, nmu = d->eom->def.dims.nmu;
    return row < nlambda ? d->GZ[row + j * nlambda] : d->HZ[row - nlambda + j * nmu];
}

// ---- M = L L' -------------------------------------------------------------------------------------------------------

// false: M is not safely definite
static bool factor_mass(kd_eom_data *d)
{
    const int nv = d->eom->def.dims.nv;
    double   *L = d->impact_L;
    // the diagonal of M before it is overwritten: pivots are judged by it
    for (int i = 0; i < nv; i++) d->impact_y[i] = L[i + i * nv];
    if (kd_cholesky_factor(nv, L) != 0) return false;
    for (int i = 0; i < nv; i++) {
        double pivot = L[i + i * nv];
        if (!(pivot * pivot > DEFINITE * d->impact_y[i])) return false;
    }
    return true;
}

// M + k C' C over the equations, C' C as large as M; *k
static void augment_mass(kd_eom_data *d, int count, double *k)
{
    const int nv = d->eom->def.dims.nv;
    double   *A = d->impact_L, mass = 0, rows = 0;
    memcpy(A, d->M, (size_t)nv * (size_t)nv * sizeof *A);
    // k = max M_jj / max (C' C)_jj
    for (int j = 0; j < nv; j++) {
        double sum = 0;
        for (int i = 0; i < count; i++)
            if (!d->impact_one_sided[i]) sum += pow(constraint_entry(d, d->impact_row[i], j), 2);
        mass = fmax(mass, fabs(A[j + j * nv]));
        rows = fmax(rows, sum);
    }
    *k = rows > 0 && mass > 0 ? mass / rows : 0;
    // M + k C' C
    for (int i = 0; i < count; i++) {
        if (d->impact_one_sided[i]) continue;
        for (int j = 0; j < nv; j++) {
            double factor_j = *k * constraint_entry(d, d->impact_row[i], j);
            if (factor_j == 0) continue;
            for (int l = 0; l < nv; l++) A[l + j * nv] += factor_j * constraint_entry(d, d->impact_row[i], l);
        }
    }
}

// x = L \ x
static void solve_L(const kd_eom_data *d, double *x)
{
    const int nv = d->eom->def.dims.nv;
    for (int j = 0; j < nv; j++) {
        const double *L = d->impact_L + j * nv;
        if (x[j] == 0) continue;
        x[j] /= L[j];
        for (int i = j + 1; i < nv; i++) x[i] -= L[i] * x[j];
    }
}

// x = L' \ x
static void solve_Lt(const kd_eom_data *d, double *x)
{
    const int nv = d->eom->def.dims.nv;
    for (int j = nv - 1; j >= 0; j--) {
        const double *L = d->impact_L + j * nv;
        x[j] = (x[j] - kd_dot(nv - j - 1, L + j + 1, x + j + 1)) / L[j];
    }
}

// |L' v|: root of twice the kinetic energy
static double energy_norm(const kd_eom_data *d, const double *v)
{
    const int nv = d->eom->def.dims.nv;
    double    sum = 0;
    for (int j = 0; j < nv; j++) {
        double along = kd_dot(nv - j, d->impact_L + j + j * nv, v + j);
        sum += along * along;
    }
    return sqrt(sum);
}

// ---- the impact -----------------------------------------------------------------------------------------------------

// L, then W = L \ C' of the rows in use. *k: equations that were added to M
static bool reduce_rows(kd_eom_data *d, int count, double *k)
{
    const int nv = d->eom->def.dims.nv;
    *k = 0;
    // M = L L', or M + k C' C
    memcpy(d->impact_L, d->M, (size_t)nv * (size_t)nv * sizeof(double));
    if (!factor_mass(d)) {
        augment_mass(d, count, k);
        if (!factor_mass(d)) return false;
    }
    // W = L \ C'
    for (int i = 0; i < count; i++) {
        double *w = d->impact_W + i * nv;
        for (int j = 0; j < nv; j++) w[j] = constraint_entry(d, d->impact_row[i], j);
        solve_L(d, w);
    }
    return true;
}

// With k C' C in M the shortest way is measured from y0 = k W c of the equations; y0 in impact_y, c reduced by it.
static void shift_origin(kd_eom_data *d, int count, double k)
{
    const int nv = d->eom->def.dims.nv;
    double   *y0 = d->impact_y;
    memset(y0, 0, (size_t)nv * sizeof *y0);
    for (int i = 0; i < count && k > 0; i++)
        if (!d->impact_one_sided[i]) kd_axpy(nv, k * d->impact_c[i], d->impact_W + i * nv, y0);
    for (int i = 0; i < count && k > 0; i++) d->impact_c[i] -= kd_dot(nv, d->impact_W + i * nv, y0);
}

// KD_LEAST_CONTRADICTION can name the row that cannot be met; otherwise the iteration did not end
static kd_status tell_failure(kd_eom_data *d, kd_least_answer answer, int worst)
{
    const int nlambda = d->eom->def.dims.nlambda;
    int       row = worst >= 0 ? d->impact_row[worst] : 0;
    kd_fn     fn = row < nlambda ? KD_GI : KD_H;
    char      name[64] = "", text[200] = "the rows of an impact do not settle";
    kd_row_name(d->eom, fn, fn == KD_GI ? row : row - nlambda, name, sizeof name);
    if (answer == KD_LEAST_CONTRADICTION)
        kd_text(text, sizeof text, "no velocities behind an impact satisfy %s together with the other rows", name);
    (void)kd_fault_status(d, fn, KD_ERR_DECOMPOSITION, text, KD_EVAL_STOP);
    d->fault.row = worst >= 0 ? row - (fn == KD_H ? nlambda : 0) : -1;
    return KD_ERR_DECOMPOSITION;
}

kd_status kd_eom_impact(kd_eom_data *d, const unsigned char *active_lambda, const unsigned char *active_mu,
                        const unsigned char *hit, double *v, double *impulse)
{
    if (!d) return KD_ERR_ARGUMENT;
    const kd_dims *n = &d->eom->def.dims;
    const int      nv = n->nv, rows = n->nlambda + n->nmu;
    int            dependent, worst;
    double         k;
    // without rows or coordinates there is no impulse
    if (impulse) memset(impulse, 0, (size_t)rows * sizeof *impulse);
    if (d->stage < KD_STAGE_POSITION) {
        (void)kd_fault_stage(d, KD_GI, KD_STAGE_POSITION);
        return KD_ERR_STAGE;
    }
    if (rows == 0 || nv == 0) return KD_OK;
    if (!kd_room_impact(d)) {
        (void)kd_fault_memory(d, KD_MASS);
        return KD_ERR_MEMORY;
    }
    // M, GZ, HZ at the position; gI and h of v
    kd_eval answer = kd_update_M(d);
    if (answer == KD_EVAL_OK) answer = kd_update_GZ(d);
    if (answer == KD_EVAL_OK) answer = kd_update_HZ(d);
    if (answer == KD_EVAL_OK) answer = rates_before(d, v);
    if (answer != KD_EVAL_OK) return last_fault(d);

    // rows in use as W' y = c, y = L' (v+ - v)
    int count = collect_rows(d, active_lambda, active_mu, hit);
    if (!reduce_rows(d, count, &k)) {
        (void)kd_fault_status(d, KD_MASS, KD_ERR_SINGULAR_MASS, "mass matrix and constraints do not determine impacts",
                              KD_EVAL_STOP);
        return KD_ERR_SINGULAR_MASS;
    }
    // least |y| under them, from y0 where M was augmented
    double       *y = d->impact_y;
    kd_least_rows set = {.count = count,
                         .W = d->impact_W,
                         .c = d->impact_c,
                         .one_sided = d->impact_one_sided,
                         .scale = energy_norm(d, v)};
    shift_origin(d, count, k);
    kd_least_answer found = kd_least_distance_solve(&d->impact, &set, d->impact_step, d->impact_u, &dependent, &worst);
    if (found != KD_LEAST_DONE) return tell_failure(d, found, worst);
    // v+ = v + L' \ y, (Lambda, Pi) = -u
    kd_axpy(nv, 1, d->impact_step, y);
    solve_Lt(d, y);
    kd_axpy(nv, 1, y, v);
    for (int i = 0; impulse && i < count; i++) impulse[d->impact_row[i]] = -d->impact_u[i];
    return dependent > 0 ? KD_REDUNDANT : KD_OK;
}
