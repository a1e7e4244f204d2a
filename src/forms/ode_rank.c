// ode_rank.c: are the active constraints of the form ode independent? Decided at a start, once for every set of active
// rows; later the rank is not watched: a singular position makes itself felt in the accelerations.
#include "core/text.h"
#include "forms/ode_impl.h"
#include "math/dense.h"
#include <math.h>
#include <string.h>

#define RANK_ENTRIES 40000 // entries of [GZ; HZ] up to which its rank is decided by a dense decomposition

void kd_ode_cut_rank(kd_ode *self)
{
    kd_ode_rank *rank = &self->rank;
    kd_arena    *arena = &self->arena;
    kd_dims      d = self->dims;
    int          m = d.nlambda + d.nmu;
    if (m == 0 || self->opt.constraints == KD_DECOMPOSE_SVD || (double)m * d.nv >= RANK_ENTRIES) return;
    rank->watched = true;
    rank->GZ = kd_cut_matrix(arena, d.nlambda, d.nv);
    rank->HZ = kd_cut_matrix(arena, d.nmu, d.nv);
    rank->C = kd_cut_matrix(arena, m, d.nv);
    rank->active = kd_arena_cut(arena, (size_t)m, 1);
    rank->rows = kd_cut_int(arena, m);
    kd_selector_init(&rank->selector, m, d.nv, self->opt.constraints, self->opt.rank_tolerance, arena);
    rank->selector.size = kd_eom_definition(self->eom)->unit;
}

// Words for redundant rows: those with large entries in the left null vector.
static void tell_redundant(kd_ode *self, int count, kd_status status)
{
    const kd_ode_rank *rank = &self->rank;
    char               text[400] = "redundant constraints, use the SVD decomposition: ", name[96];
    const char        *comma = "";
    double             most = kd_norm_max(count, rank->selector.left);
    for (int k = 0; k < count; k++) {
        int i = rank->rows[k], nlambda = self->dims.nlambda;
        if (fabs(rank->selector.left[k]) < 0.1 * most) continue;
        kd_eom_name(self->eom, i < nlambda ? KD_NAME_LAMBDA : KD_NAME_MU, i < nlambda ? i : i - nlambda, name,
                    sizeof name);
        kd_text_append(text, sizeof text, "%s%s", comma, name);
        comma = ", ";
    }
    kd_ode_fail(self, status, text);
}

// C = active rows of [GZ; HZ]; returns their number
static int collect_active_rows(kd_ode *self)
{
    kd_ode_rank *rank = &self->rank;
    kd_dims      d = self->dims;
    int          count = 0;
    for (int i = 0; i < d.nlambda + d.nmu; i++)
        if (rank->active[i]) rank->rows[count++] = i;
    for (int k = 0; k < count; k++) {
        int           i = rank->rows[k], ld = i < d.nlambda ? d.nlambda : d.nmu;
        const double *from = i < d.nlambda ? rank->GZ + i : rank->HZ + (i - d.nlambda);
        for (int j = 0; j < d.nv; j++) rank->C[k + (ptrdiff_t)j * count] = from[(ptrdiff_t)j * ld];
    }
    return count;
}

kd_eval kd_ode_check_rank(kd_ode *self, double t, const double *x)
{
    kd_ode_rank    *rank = &self->rank;
    kd_dims         d = self->dims;
    const kd_state *state = self->state;
    kd_eom_data    *data = kd_acceleration_data(self->acceleration);
    bool            changed;
    if (!rank->watched || (rank->known && memcmp(rank->active, state->active_lambda, (size_t)d.nlambda) == 0 &&
                           memcmp(rank->active + d.nlambda, state->active_mu, (size_t)d.nmu) == 0))
        return KD_EVAL_OK;
    // C = active rows of [GZ; HZ] at the start
    memcpy(rank->active, state->active_lambda, (size_t)d.nlambda);
    memcpy(rank->active + d.nlambda, state->active_mu, (size_t)d.nmu);
    kd_eval answer = kd_acceleration_at(self->acceleration, t, x, self->guess + d.nw, x + self->xv, x + self->xr);
    if (answer != KD_EVAL_OK) return kd_ode_note(self, answer, "");
    answer = kd_eom_constraint_matrices(data, d.nlambda > 0 ? rank->GZ : NULL, d.nmu > 0 ? rank->HZ : NULL);
    if (answer != KD_EVAL_OK) {
        kd_ode_fail(self, kd_eom_data_fault(data).status, kd_eom_data_message(data));
        return answer;
    }
    int count = collect_active_rows(self);
    // rank C = number of rows?
    rank->selector.rank = -1;
    kd_status status = count > 0 ? kd_selector_update(&rank->selector, count, rank->C, true, &changed) : KD_OK;
    rank->known = status >= 0;
    if (rank->known) return KD_EVAL_OK;
    tell_redundant(self, count, status);
    return KD_EVAL_RETRY;
}
