// law.c: expressions inside the laws of elements, and what laws of several elements share.
#include <math.h>

#include "element/force.h"

const char *const kd_words_stiff[] = {"auto", "true", "false", NULL};
const char *const kd_words_in[] = {"world", "body", NULL};
const char *const kd_length_locals[] = {"length", "rate", NULL};

// ---- expressions inside laws ----------------------------------------------------------------------------------------
double kd_law_value(const kd_expr *e, const double *x, kd_work *w)
{
    return e ? kd_expr_value(e, x, w->expr_work) : 0.0;
}

kd_interval kd_road_range(const kd_load *load, const kd_interval *x, kd_work *w)
{
    const kd_expr *road = load->law[0];
    const int      n = road ? kd_expr_slot_count(road) : 0;
    int            points = 0;
    if (!road) return (kd_interval){0.0, 0.0};
    for (; points < n; points++) {
        const int slot = kd_expr_slot(road, points);
        if (x[slot].lower != x[slot].upper) break;
        w->slot[slot] = x[slot].lower;
    }
    // a range costs several values: of a point its value will do, unless the road has none there
    const double z = points == n ? kd_expr_value(road, w->slot, w->expr_work) : NAN;
    return isfinite(z) ? (kd_interval){z, z} : kd_expr_bounds(road, x, w->breaks.work);
}

static int variable_of(const kd_load *load, int slot)
{
    for (int i = 0; i < load->nvariables; i++)
        if (load->variable[i] == slot) return i;
    return -1;
}

// J[row, slot] += value; outputs of controllers wait.
static void add_entry(const kd_load *load, int row, int slot, double value, kd_work *w, double *J)
{
    const kd_slot *s = &w->system->slot[slot];
    if (s->kind == KD_SLOT_OUT) {
        w->out_weight[w->system->out_at[s->index] + s->level] += value;
        return;
    }
    int column = variable_of(load, slot);
    if (column >= 0) J[row + column * (load->nchannels + load->nstates)] += value;
}

static void add_own_gradient(const kd_load *load, int row, const kd_expr *e, double factor, const double *x, kd_work *w,
                             double *J)
{
    (void)kd_expr_gradient(e, x, w->gradient, w->expr_work);
    for (int i = 0; i < kd_expr_slot_count(e); i++)
        add_entry(load, row, kd_expr_slot(e, i), factor * w->gradient[i], w, J);
}

// Through the outputs of a block without period: y by its states, y by its inputs times their derivatives
static void add_unit_gradient(const kd_load *load, int row, const kd_load *unit, double *weight, const double *x,
                              kd_work *w, double *J)
{
    const int     n = unit->nstates, ny = unit->unit->block->def.noutputs, rows = n + ny;
    const double *slopes;
    double        own[KD_MAX_SIGNALS];
    for (int i = 0; i < ny; i++) own[i] = weight[i], weight[i] = 0.0;
    if (kd_unit_slopes(unit, x, w, &slopes) != KD_EVAL_OK || !slopes) return; // its own evaluation tells
    for (int j = 0; j < n + unit->unit->block->def.ninputs; j++) {
        double by = 0.0;
        for (int i = 0; i < ny; i++) by += own[i] * slopes[n + i + j * rows];
        if (by == 0.0) continue;
        if (j < n)
            add_entry(load, row, unit->variable[j], by, w, J);
        else
            add_own_gradient(load, row, unit->unit->input[j - n], by, x, w, J);
    }
}

static bool any_weight(const double *weight, int n)
{
    for (int i = 0; i < n; i++)
        if (weight[i] != 0.0) return true;
    return false;
}

// J[row, :] += factor * gradient of e, through the outputs of controllers, kp * input + ki * state: each after those
// that read it.
void kd_law_gradient(const kd_load *load, int row, const kd_expr *e, double factor, const double *x, kd_work *w,
                     double *J)
{
    const kd_system *s = w->system;
    if (!e || factor == 0.0) return;
    add_own_gradient(load, row, e, factor, x, w, J);
    // w->out_weight collects the weight of each output until all that read it are done
    for (int k = s->ncontrollers - 1; k >= 0; k--) {
        int            i = s->state_order[k], at = s->out_at[i];
        const kd_load *pi = &s->load[i];
        double         weight = w->out_weight[at];
        if (!any_weight(w->out_weight + at, s->out_at[i + 1] - at)) continue;
        if (pi->unit) {
            add_unit_gradient(load, row, pi, w->out_weight + at, x, w, J);
            continue;
        }
        w->out_weight[at] = 0.0;
        add_own_gradient(load, row, pi->law[0], weight * pi->feed[0], x, w, J);
        add_entry(load, row, pi->variable[0], weight * pi->feed[1], w, J);
    }
}

void kd_law_put(const kd_load *load, int row, int variable, double value, double *J)
{
    J[row + variable * (load->nchannels + load->nstates)] += value;
}

kd_interval kd_push_bounds(double stiffness, double damping, kd_interval depth, kd_interval speed)
{
    // without depth there is no force; least only where all of the range is deep
    if (!(depth.upper > 0.0)) return (kd_interval){0.0, 0.0};
    const double least = depth.lower > 0.0 ? stiffness * depth.lower + damping * speed.lower : 0.0;
    return (kd_interval){fmax(least, 0.0), fmax(stiffness * depth.upper + damping * speed.upper, 0.0)};
}

void kd_no_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    (void)load, (void)x, (void)w, (void)sum;
}

// ---- readings -------------------------------------------------------------------------------------------------------
const double *kd_load_forces(const kd_work *w, const kd_load *load)
{
    return w->force + w->force_at[load - w->system->load];
}

double kd_read_tension(const kd_load *load, const kd_work *w, const kd_point *x, int number)
{
    (void)x;
    return -kd_load_forces(w, load)[number];
}

double kd_read_wrench(const kd_load *load, const kd_work *w, const kd_point *x, int number)
{
    const kd_wrench sum = kd_load_wrench(w, load);
    const double    component[] = {sum.F.x, sum.F.y, sum.F.z, sum.N.x, sum.N.y, sum.N.z};
    (void)x;
    return component[number];
}

// Of sliding, or the multiplier while it sticks
double kd_read_sticking(const kd_load *load, const kd_work *w, const kd_point *x, int number)
{
    const kd_system *s = w->system;
    double           value = kd_load_forces(w, load)[number];
    for (int i = 0; load->direction >= 0 && i < s->nmu; i++)
        if (s->row_h[i].force == load->force) value -= x->mu[i];
    return value;
}

// ---- stops and contacts with restitution ----------------------------------------------------------------------------
static kd_eval rigid_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)load, (void)x, (void)w, (void)force, (void)rate;
    return KD_EVAL_OK;
}

static kd_eval rigid_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    (void)load, (void)x, (void)w, (void)J;
    return KD_EVAL_OK;
}

// The sum of the multipliers of its rows, along the measure that they are made of
static double rigid_reading(const kd_load *load, const kd_work *w, const kd_point *x, int number)
{
    const kd_system *s = w->system;
    double           sum = 0.0;
    if (number != kd_forces[load->def->kind]->rigid_reading) return 0.0;
    // one-sided rows are the last ones
    for (int i = s->nrows_g - s->none_sided; i < s->nrows_g; i++)
        if (s->row_g[i].force == load->force && s->lambda_of[i] >= 0)
            sum -= x->lambda[s->lambda_of[i]] * s->row_g[i].coefficient[0];
    return sum;
}

const kd_load_class kd_load_rigid = {
    .eval = rigid_eval, .jacobian = rigid_jacobian, .energy = kd_no_energy, .reading = rigid_reading};
