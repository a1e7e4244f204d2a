// natural.c: natural sizes of the components of a DAE.
//
// Positions u_i, velocities u_j / T and accelerations u_j / T^2 by the natural units of the model. Energy
// E = max M_jj u_j^2 / T^2; a multiplier of a row c does the work lambda c u: its size is E / max_j |c_j u_j|; eta of
// ggl is a rate, 1 / T. An auxiliary variable has the size that its equation gives it, max |d_y| u_y / |d_w| over positions,
// velocities and multipliers y. An inner state has the size at which it acts as other forces do, E / max_j |f_r u_j|; one
// that moves other states alone the size at which it does so within T; one that acts on nothing the size that positions and
// velocities give it within T. Where derivatives at the start say nothing: 1.
#include "forms/natural.h"

#include <math.h>

#include "core/memory.h"

typedef struct sizes {
    const kd_eom  *eom;
    kd_formulation form;
    kd_dims        dims;
    double         T, energy;
    double        *GZ, *HZ, *M, *u;       // (nlambda x nv), (nmu x nv), (nv x nv), (3 nu)
    double        *d_w, *d_y[4];          // (nw x nw) and by p, v, lambda, mu
    double        *f_r, *b_r, *b_p, *b_v; // (nv x nr), (nr x nr), (nr x nv), (nr x nv)
    kd_eom_data   *data;
} sizes;

// The start; false: its functions do not answer
static bool go_to(sizes *s, const kd_inputs *inputs, const kd_state *x)
{
    return kd_eom_at_state(s->data, inputs, x, KD_STAGE_VELOCITY) == KD_EVAL_OK &&
           kd_eom_eval(s->data, KD_MASS, s->M) == KD_EVAL_OK &&
           (s->dims.nlambda + s->dims.nmu == 0 || kd_eom_constraint_matrices(s->data, s->GZ, s->HZ) == KD_EVAL_OK);
}

static void find_energy(sizes *s)
{
    const int nv = s->dims.nv;
    s->energy = 0;
    for (int j = 0; j < nv; j++) {
        const double speed = kd_eom_unit(s->eom, j) / s->T;
        s->energy = fmax(s->energy, fabs(s->M[j + nv * j]) * speed * speed);
    }
    if (!(s->energy > 0)) s->energy = 1;
}

// E / max_j |c_j u_j| of row i
static double multiplier_size(const sizes *s, const double *C, int rows, int i)
{
    double most = 0;
    for (int j = 0; j < s->dims.nv; j++) most = fmax(most, fabs(C[i + rows * j]) * kd_eom_unit(s->eom, j));
    return most > 0 ? s->energy / most : 1;
}

static void fill_units(const sizes *s, kd_dae *dae)
{
    const kd_dims d = s->dims;
    const int     lambda = d.np + d.nv + d.nr + d.nw + d.ns, all = lambda + d.nlambda + d.nmu;
    dae->time = s->T;
    for (int i = 0; i < dae->n; i++) {
        // p: u_i, v: u_j / T, lambda and mu by their rows, a: u_j / T^2, eta: 1 / T; others 1
        double *unit = &dae->unit[i];
        *unit = 1;
        if (i < dae->nstate && i < d.np)
            *unit = kd_eom_position_unit(s->eom, i);
        else if (i < dae->nstate && i < d.np + d.nv)
            *unit = kd_eom_unit(s->eom, i - d.np) / s->T;
        else if (i >= lambda && i < lambda + d.nlambda)
            *unit = multiplier_size(s, s->GZ, d.nlambda, i - lambda);
        else if (i >= lambda + d.nlambda && i < all)
            *unit = multiplier_size(s, s->HZ, d.nmu, i - lambda - d.nlambda);
        else if (i >= all && dae->component[i] == KD_COMPONENT_INTERNAL)
            *unit = s->form == KD_PSF ? kd_eom_unit(s->eom, i - all) / (s->T * s->T) : 1 / s->T;
    }
}

// Largest |d_y| u_y of row i, one variable
static double row_size(const sizes *s, const double *d_y, int i, int n, const double *unit)
{
    double most = 0;
    for (int j = 0; j < n; j++) most = fmax(most, fabs(d_y[i + s->dims.nw * j]) * unit[j]);
    return most;
}

// Auxiliary variables by their equations; where these do not answer, or say nothing, they keep 1
static void fill_auxiliary_units(const sizes *s, const kd_inputs *inputs, const kd_state *x, double *increment,
                                 kd_dae *dae)
{
    const kd_dims d = s->dims;
    const int     w = d.np + d.nv + d.nr, lambda = w + d.nw + d.ns;
    kd_blocks     wanted = {0};
    if (d.nw == 0 || dae->nstate < lambda + d.nlambda + d.nmu) return;
    wanted.block[KD_D][KD_W] = s->d_w;
    wanted.block[KD_D][KD_P] = s->d_y[0];
    wanted.block[KD_D][KD_V] = s->d_y[1];
    if (d.nlambda > 0) wanted.block[KD_D][KD_LAMBDA] = s->d_y[2];
    if (d.nmu > 0) wanted.block[KD_D][KD_MU] = s->d_y[3];
    // multipliers of their natural size: those of the start may not be known yet, and |lambda| has no slope at 0
    if (kd_eom_at_state(s->data, inputs, x, KD_STAGE_VELOCITY) != KD_EVAL_OK) return;
    kd_eom_at_acceleration(s->data, x->a, x->w, dae->unit + lambda, dae->unit + lambda + d.nlambda);
    if (kd_eom_derivatives(s->data, KD_PART_ALL, &wanted) != KD_EVAL_OK) return;
    for (int j = 0; j < d.nv; j++) increment[j] = kd_eom_unit(s->eom, j);
    for (int i = 0; i < d.nw; i++) {
        double most = row_size(s, s->d_y[0], i, d.nv, increment);
        most = fmax(most, row_size(s, s->d_y[1], i, d.nv, dae->unit + d.np));
        most = fmax(most, row_size(s, s->d_y[2], i, d.nlambda, dae->unit + lambda));
        most = fmax(most, row_size(s, s->d_y[3], i, d.nmu, dae->unit + lambda + d.nlambda));
        const double own = most / fabs(s->d_w[i + d.nw * i]);
        if (own > 0 && isfinite(own)) dae->unit[w + i] = own;
    }
}

// Sizes of states by their forces, 0 where they have none
static void by_forces(const sizes *s, double *unit)
{
    for (int i = 0; i < s->dims.nr; i++) {
        double most = 0;
        for (int j = 0; j < s->dims.nv; j++)
            most = fmax(most, fabs(s->f_r[j + s->dims.nv * i]) * kd_eom_unit(s->eom, j));
        unit[i] = most > 0 && isfinite(most) ? s->energy / most : 0;
    }
}

// By the rates of states whose size is known, as far as that leads
static void by_states(const sizes *s, double *unit)
{
    const int n = s->dims.nr;
    bool      found = true;
    while (found) {
        found = false;
        for (int i = 0; i < n; i++) {
            if (unit[i] != 0) continue;
            double most = 0;
            for (int k = 0; k < n; k++)
                if (k != i && unit[k] > 0) most = fmax(most, fabs(s->b_r[k + n * i]) * s->T / unit[k]);
            if (!(most > 0 && isfinite(most))) continue;
            unit[i] = 1 / most;
            found = true;
        }
    }
}

// By what the motion makes of them; 1 where that is nothing
static void by_motion(const sizes *s, double *unit)
{
    const int n = s->dims.nr;
    for (int i = 0; i < n; i++) {
        double most = 0;
        if (unit[i] != 0) continue;
        for (int j = 0; j < s->dims.nv; j++) {
            const double u = kd_eom_unit(s->eom, j);
            most = fmax(most, fmax(fabs(s->b_p[i + n * j]) * s->T, fabs(s->b_v[i + n * j])) * u);
        }
        unit[i] = most > 0 && isfinite(most) ? most : 1;
    }
}

// Inner states, wherever the form has them
static void fill_state_units(const sizes *s, const kd_inputs *inputs, const kd_state *x, double *unit, kd_dae *dae)
{
    kd_blocks wanted = {0};
    int       k = 0;
    if (s->dims.nr == 0) return;
    wanted.block[KD_RESIDUAL][KD_R] = s->f_r;
    wanted.block[KD_B][KD_R] = s->b_r;
    wanted.block[KD_B][KD_P] = s->b_p;
    wanted.block[KD_B][KD_V] = s->b_v;
    if (kd_eom_at_state(s->data, inputs, x, KD_STAGE_ACCELERATION) != KD_EVAL_OK) return;
    if (kd_eom_derivatives(s->data, KD_PART_ALL, &wanted) != KD_EVAL_OK) return;
    by_forces(s, unit);
    by_states(s, unit);
    by_motion(s, unit);
    for (int i = 0; i < dae->n && k < s->dims.nr; i++)
        if (dae->component[i] == KD_COMPONENT_INNER) dae->unit[i] = unit[k++];
}

kd_status kd_natural_units(const kd_eom *eom, kd_formulation form, const kd_inputs *inputs, const kd_state *x,
                           kd_dae *dae)
{
    kd_arena arena = {0};
    sizes    s = {.eom = eom, .form = form, .dims = kd_eom_dims(eom), .T = kd_eom_time(eom)};
    dae->unit = kd_alloc((size_t)dae->n * sizeof *dae->unit);
    s.GZ = kd_cut_matrix(&arena, s.dims.nlambda, s.dims.nv);
    s.HZ = kd_cut_matrix(&arena, s.dims.nmu, s.dims.nv);
    s.M = kd_cut_matrix(&arena, s.dims.nv, s.dims.nv);
    s.u = kd_cut_double(&arena, 3 * s.dims.nu);
    s.d_w = kd_cut_matrix(&arena, s.dims.nw, s.dims.nw);
    const int columns[] = {s.dims.nv, s.dims.nv, s.dims.nlambda, s.dims.nmu};
    for (int k = 0; k < 4; k++) s.d_y[k] = kd_cut_matrix(&arena, s.dims.nw, columns[k]);
    s.f_r = kd_cut_matrix(&arena, s.dims.nv, s.dims.nr);
    s.b_r = kd_cut_matrix(&arena, s.dims.nr, s.dims.nr);
    s.b_p = kd_cut_matrix(&arena, s.dims.nr, s.dims.nv);
    s.b_v = kd_cut_matrix(&arena, s.dims.nr, s.dims.nv);
    double   *state = kd_cut_double(&arena, s.dims.nr);
    double   *increment = kd_cut_double(&arena, s.dims.nv);
    kd_status status = !dae->unit || arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(eom, &s.data);
    if (status >= 0 && !go_to(&s, inputs, x)) status = kd_eom_data_fault(s.data).status;
    if (status >= 0) {
        find_energy(&s);
        fill_units(&s, dae);
        fill_auxiliary_units(&s, inputs, x, increment, dae);
        fill_state_units(&s, inputs, x, state, dae);
    }
    kd_eom_data_destroy(s.data);
    kd_arena_release(&arena);
    return status;
}
