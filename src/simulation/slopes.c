// slopes.c: what errors of positions and velocities make of the energy: differences along random directions.
//
// With signs s_i = +-1 and weights w_i (1 or the size of the component) the difference [E(x + d s w) - E(x)] / d is, but
// for terms of the size d, sum s_i w_i E_i, whose mean square is sum (w_i E_i)^2. One such difference instead of a
// gradient costs one evaluation, however many coordinates there are; the largest one along a run is meant. Work is an
// integral along the run: its error is that of the power times the time.
#include "simulation/slopes.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"

static const double STEP = 1e-6; // relative; rounding then is 1e-10 of the energy

// Random signs of a linear congruential generator: the same in every run
static double sign(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 31 ? 1 : -1;
}

// What changes at y, with accelerations a; false: it cannot be evaluated there. placed: the point is at its position already
static bool evaluate_energy(kd_eom_data *data, const kd_eom *eom, const kd_state *y, const double *a, bool placed,
                            double *energy, double *power, double *invariant)
{
    kd_energies e = {0};
    // position, velocity, acceleration of y; z and inputs are those of x
    if (!placed) kd_eom_at_position(data, y->p, y->s);
    kd_eom_at_velocity(data, y->v, y->r);
    kd_eom_at_acceleration(data, a, y->w, y->lambda, y->mu);
    *energy = *power = 0;
    if (kd_eom_definition(eom)->energies) {
        if (kd_eom_energies(data, &e) != KD_EVAL_OK) return false;
        *energy = e.kinetic + e.potential;
        *power = e.supplied - e.dissipated;
    }
    return kd_eom_dims(eom).ne == 0 || kd_eom_eval(data, KD_E, invariant) == KD_EVAL_OK;
}

// Errors of the components: their signs times STEP times their sizes (relative) or their largest one, at least 1.
// *unit: the absolute error
static void draw_errors(const kd_dims *n, const kd_state *x, int which, bool relative, unsigned *seed, double *e,
                        double *unit)
{
    const double *size = which == KD_SLOPE_VELOCITY ? x->v : x->p;
    const bool    paired = which == KD_SLOPE_VELOCITY || n->np == n->nv; // else increments of rotations
    const double  most = kd_norm_max(which == KD_SLOPE_VELOCITY ? n->nv : n->np, size);
    *unit = relative ? STEP : STEP * fmax(1, most);
    for (int i = 0; i < n->nv; i++) e[i] = sign(seed) * *unit * (!relative ? 1 : paired ? fabs(size[i]) : most);
}

// y: x with these errors
static bool go(kd_eom_data *data, const kd_dims *n, const kd_state *x, int which, const double *e, kd_state *y)
{
    kd_state_copy(x, y);
    // velocities are added, positions moved along the manifold
    if (which == KD_SLOPE_VELOCITY) {
        for (int i = 0; i < n->nv; i++) y->v[i] += e[i];
        return true;
    }
    return kd_eom_oplus(data, x->p, e, y->p) == KD_EVAL_OK;
}

bool kd_slopes_widen(kd_eom_data *data, const kd_eom *eom, const kd_state *x, const kd_energies *here,
                     kd_slope_kind kind, kd_state *y, double *e, double *invariant, kd_slopes *slopes)
{
    const kd_dims n = kd_eom_dims(eom);
    const double *a = kind.a ? kind.a : x->a;
    const bool    known = here && n.ne == 0;
    double        energy[2], power[2];
    // x itself, then velocities, where the position stays, and positions
    if (known) {
        energy[0] = here->kinetic + here->potential;
        power[0] = here->supplied - here->dissipated;
        kd_eom_at_position(data, x->p, x->s);
    } else if (!evaluate_energy(data, eom, x, a, false, &energy[0], &power[0], invariant)) {
        return false;
    }
    double *by_invariant = kind.relative ? &slopes->invariant_by_rtol : &slopes->invariant_by_atol;
    double *by_work = kind.relative ? &slopes->work_by_rtol : &slopes->work_by_atol;
    double *by_energy = kind.relative ? slopes->energy_by_rtol : slopes->energy_by_atol;
    for (int which = 0; which < KD_SLOPES; which++) {
        double unit;
        draw_errors(&n, x, which, kind.relative, &kind.seed, e, &unit);
        if (!go(data, &n, x, which, e, y) ||
            !evaluate_energy(data, eom, y, a, which == KD_SLOPE_VELOCITY, &energy[1], &power[1], invariant + n.ne))
            return false;
        // the largest along the run; work is the sum over the time that has passed
        *by_work += fabs(power[1] - power[0]) / unit * kind.passed;
        by_energy[which] = fmax(by_energy[which], fabs(energy[1] - energy[0]) / unit);
        for (int i = 0; i < n.ne; i++)
            *by_invariant = fmax(*by_invariant, fabs(invariant[n.ne + i] - invariant[i]) / unit);
    }
    return true;
}
