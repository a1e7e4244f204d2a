// integrator/attempt.c: weights, blame, shares, words and counters, see attempt.h.
#include "integrator/attempt.h"

#include <float.h>
#include <math.h>

#include "core/text.h"

static const double EQUAL = 10;     // last steps that are made equal
static const double EXACT = 1e-10;  // of a step: rounding of its end that counts
static const double STRETCHED = 3;  // last steps, one of which may be saved by making the others longer
static const double COUNTED = 1e-3; // least weight of velocities of index 2, whose errors stay in the motion,
static const double SHORTER = 0.03; // or this part of the longest step

void kd_attempt_weights(const kd_dae *dae, double h, double longest, const double *weight, double *weight_newton)
{
    h /= kd_attempt_time(dae);
    const double of_index[] = {0, 1, fmin(h, 1), fmin(h * h, 1)};
    const double least = fmin(COUNTED, SHORTER * longest / kd_attempt_time(dae));
    for (int i = 0; i < dae->n; i++) {
        const bool   lasts = dae->index[i] == 2 && dae->component[i] == KD_COMPONENT_VELOCITY;
        const double by_index = of_index[dae->index[i] < 3 ? dae->index[i] : 3];
        weight_newton[i] = weight[i] * (lasts && least > by_index ? least : by_index);
    }
}

int kd_attempt_worst(int n, const double *x, const double *weight)
{
    double most = -1;
    int    worst = 0;
    for (int i = 0; i < n; i++) {
        double size = fabs(x[i] * weight[i]);
        // not a number is worse than any number
        if (isnan(size)) return i;
        if (size > most) {
            most = size;
            worst = i;
        }
    }
    return worst;
}

const double *kd_attempt_shares(const kd_dae *dae, const double *x, const double *weight, bool controlled,
                                double *share)
{
    double sum = 0, lost = 0;
    for (int i = 0; i < dae->n; i++) {
        const double e = controlled && !dae->controlled[i] ? 0 : x[i] * weight[i];
        share[i] = e * e;
        sum += share[i];
        lost += !isfinite(share[i]);
    }
    // one component that is not finite would hide itself in the sum: such ones share everything equally
    for (int i = 0; i < dae->n; i++) share[i] = lost > 0 ? !isfinite(share[i]) / lost : share[i] / sum;
    return lost > 0 || sum > 0 ? share : NULL;
}

double kd_attempt_landing(double t, double t_end, double h, double stretch, double h_last)
{
    const double span = t_end - t;
    double       steps = ceil(span / h), part = h;
    // two or three steps to come: one less, if the others need not grow by more than stretch
    if (steps <= STRETCHED && span <= (steps - 1) * (1 + stretch) * h) steps--;
    // few steps: all equal, so that the last one is not a tiny rest
    if (steps <= EQUAL) part = span / fmax(1, steps);
    // rounding of t must not make another h: the factors of the last one serve again
    return fabs(part - h_last) <= 8 * DBL_EPSILON * fmax(fabs(t), fabs(t_end)) ? h_last : part;
}

double kd_attempt_exact(double t, double h)
{
    const double t1 = t + h, way = t1 - t;
    return fabs(way - h) > EXACT * h ? way : h;
}

const char *kd_attempt_advice(kd_status status)
{
    switch (status) {
    case KD_ERR_STEP_TOO_SMALL:
    case KD_ERR_NEWTON:
        return "look for a discontinuity or a singular position near this time, check supplied derivatives and "
               "constraint levels with kd_eom_check, or loosen the tolerances";
    case KD_ERR_NOT_FINITE:
        return "check the functions for divisions by zero and roots of negative numbers near this state";
    default:
        return "";
    }
}

const char *kd_attempt_advice_fixed(void)
{
    return "a step of fixed size cannot be made shorter: choose a smaller h_fixed, or let the step vary";
}

void kd_attempt_explain(const kd_dae *dae, const char *head, int worst, const char *advice, char *message, size_t size)
{
    char name[160], reason[400];
    // message is both reason and result: a copy first
    kd_text(reason, sizeof reason, "%s", message);
    kd_text(message, size, "%s", head);
    if (reason[0]) kd_text_append(message, size, ": %s", reason);
    if (worst >= 0 && dae->methods->component_name)
        kd_text_append(message, size, "; worst component: %s",
                       dae->methods->component_name(dae->impl, worst, name, sizeof name));
    if (advice[0]) kd_text_append(message, size, "; %s", advice);
}

void kd_attempt_counters(const kd_dae *dae, kd_stats *stats)
{
    const kd_dae_counters c = dae->methods->counters(dae->impl);
    stats->residuals = c.residuals;
    stats->for_differences = c.for_differences;
    stats->mass = c.mass;
    stats->jacobians = c.jacobians;
    stats->selectors = c.selectors;
    stats->predecompositions = c.predecompositions;
    stats->decompositions = c.decompositions;
    stats->solves = c.solves;
    stats->updates = c.updates;
    stats->pattern_changes = c.pattern_changes;
    stats->groups = c.groups;
    stats->fullest_row = c.fullest_row;
    stats->factorizations = c.factorizations;
    stats->refactorizations = c.refactorizations;
    stats->projections = c.projections;
}
