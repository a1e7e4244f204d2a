// modes.c: stiffness and damping of the modes of a flexible body, one load for each amplitude:
//
//     f_l = -sum_k (K_lk q_k + D_lk q_k')
#include <math.h>

#include "element/force.h"
#include "flexible/body.h"

static kd_eval eval(const kd_load *load, const double *x, kd_work *work, double *force, double *rate)
{
    double sum = 0;
    for (int j = 0; j < load->nvariables; j++) sum += load->row[j] * x[load->variable[j]];
    force[0] = -sum;
    (void)work;
    (void)rate;
    return KD_EVAL_OK;
}

static kd_eval jacobian(const kd_load *load, const double *x, kd_work *work, double *J)
{
    for (int j = 0; j < load->nvariables; j++) J[j] = -load->row[j];
    (void)x;
    (void)work;
    return KD_EVAL_OK;
}

// q_l K_lk q_k / 2, q_l' D_lk q_k'; the first variable is q_l
static void energy(const kd_load *load, const double *x, kd_work *work, kd_energies *sum)
{
    for (int j = 0; j < load->nvariables; j++) {
        const double part = load->row[j] * x[load->variable[j]];
        if (work->system->slot[load->variable[j]].level == 0)
            sum->potential += 0.5 * x[load->variable[0]] * part;
        else
            sum->dissipated += x[load->rate_slot[0]] * part;
    }
}

static const kd_load_class law = {
    .eval = eval, .jacobian = jacobian, .energy = energy, .cost = {.per_variable = 1, .operations = 4, .slopes = 2}};

// damping of all modes by one ratio, or as in the file
static double damping_of(const kd_body *b, int l, int k)
{
    const kd_flexible_body *f = b->def.read;
    const size_t            at = (size_t)l + (size_t)k * (size_t)f->nq, own = (size_t)l * (size_t)(f->nq + 1);
    if (isnan(b->def.damping)) return f->De[at];
    return l == k ? 2 * b->def.damping * sqrt(fmax(f->Ke[own] * f->Me[own], 0)) : 0;
}

// damping ratio below which formulas of BDF of order 4 are unstable for a mode: the cosine of their angle, 73.35 degrees
static const double LIGHT = 0.286;

static bool is_lightly_damped(const kd_body *b, int l)
{
    const kd_flexible_body *f = b->def.read;
    const size_t            own = (size_t)l * (size_t)(f->nq + 1);
    return damping_of(b, l, l) < 2 * LIGHT * sqrt(fmax(f->Ke[own] * f->Me[own], 0));
}

// row l: all that is not 0, q_l in any case
static void make_row(kd_load_builder *b, int body, int l)
{
    const kd_body          *model = &b->s->model->body[body];
    const kd_flexible_body *f = model->def.read;
    const int               m = model->nmodes;
    double                 *row = kd_cut_double(&b->s->arena, 2 * m);
    if (!row || !kd_load_start(b, &law, model->name, 1)) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    b->load->stiff = true;
    b->load->body = body;
    b->load->row = row;
    kd_load_add_channel(b, kd_system_amplitude(b->s, body, l));
    for (int level = 0; level < 2; level++)
        for (int i = 0; i < m && b->status == KD_OK; i++) {
            const int    k = (l + i) % m;
            const double value = level == 0 ? f->Ke[(size_t)l + (size_t)k * (size_t)f->nq] : damping_of(model, l, k);
            if (value == 0 && (level > 0 || k != l)) continue;
            row[b->load->nvariables] = value;
            kd_load_add_measured(b, kd_system_amplitude(b->s, body, k), level);
        }
}

// ---- all loads of a body at once ------------------------------------------------------------------------------------

// Entry of K or D, from the rows of the loads
static double entry_of(const kd_system *s, const kd_modal *modal, int l, int k, int level)
{
    const kd_load *load = &s->load[modal->first + l];
    for (int j = 0; j < load->nvariables; j++) {
        const kd_slot *slot = &s->slot[load->variable[j]];
        if (slot->level == level && s->measure[slot->index].dof == modal->dof + k) return load->row[j];
    }
    return 0;
}

static bool is_diagonal(const kd_system *s, const kd_modal *modal)
{
    for (int l = 0; l < modal->m; l++)
        for (int k = 0; k < modal->m; k++)
            if (k != l && (entry_of(s, modal, l, k, 0) != 0 || entry_of(s, modal, l, k, 1) != 0)) return false;
    return true;
}

// K, D (m), or row by row (m x m)
static kd_status gather(kd_system *s, kd_modal *modal)
{
    const int m = modal->m;
    modal->diagonal = is_diagonal(s, modal);
    const int n = modal->diagonal ? m : m * m;
    double   *K = kd_cut_double(&s->arena, n), *D = kd_cut_double(&s->arena, n);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        const int l = modal->diagonal ? i : i / m, k = modal->diagonal ? i : i % m;
        K[i] = entry_of(s, modal, l, k, 0);
        D[i] = entry_of(s, modal, l, k, 1);
    }
    modal->K = K, modal->D = D;
    return KD_OK;
}

void kd_modal_forces(const kd_modal *modal, const double *x, const double *dx, double *restrict force)
{
    const double *restrict q = x + modal->position, *restrict dq = dx + modal->dof;
    const double *restrict K = modal->K, *restrict D = modal->D;
    const int m = modal->m;
    if (modal->diagonal) {
        for (int l = 0; l < m; l++) force[l] = -(K[l] * q[l] + D[l] * dq[l]);
        return;
    }
    for (int l = 0; l < m; l++, K += m, D += m) {
        double sum = 0;
        for (int k = 0; k < m; k++) sum += K[k] * q[k] + D[k] * dq[k];
        force[l] = -sum;
    }
}

kd_status kd_system_modes(kd_system *s)
{
    kd_load_builder b = {.s = s};
    s->nplain = s->nloads;
    s->modal = kd_arena_cut(&s->arena, (size_t)s->model->nbodies, sizeof *s->modal);
    if (!s->modal) return KD_ERR_MEMORY;
    // loads of one body follow each other, so that they are one product with its matrices
    for (int i = 0; i < s->model->nbodies; i++) {
        const int m = s->model->body[i].nmodes;
        if (m == 0) continue;
        const kd_link *link = &s->tree.link[s->wide_link[i]];
        kd_modal      *modal = &s->modal[s->nmodal++];
        *modal = (kd_modal){.first = s->nloads, .m = m, .position = link->position, .dof = link->dof};
        for (int l = 0; l < m && b.status == KD_OK; l++) {
            make_row(&b, i, l);
            s->lightly_damped = s->lightly_damped || is_lightly_damped(&s->model->body[i], l);
        }
        if (b.status == KD_OK) b.status = gather(s, modal);
        if (b.status != KD_OK) return b.status;
    }
    return KD_OK;
}
