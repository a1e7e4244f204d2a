// verdict.c: from the numbers of a certificate to words. Residuals are judged relative to the largest position,
// velocity or acceleration, energies relative to their own size.
#include "io/verdict.h"

#include <math.h>

static const double ROUNDING = 1e-11; // a relative residual of this size is rounding
static const double WITHIN_ATOL = 10; // a relative residual below this times atol is within tolerance
static const double BALANCED = 1e-2;  // relative error of the energy balance; the power is integrated coarsely
static const double AGREES_TO = 1e-2; // relative error of the positions; beyond, curves differ to the eye
static const char   FAILED[] = "run failed", EXPLODED[] = "exploded";

// Good words only for a run that deserves them
static kd_verdict judge(const kd_certificate *c, kd_status status, bool good, const char *words)
{
    if (c->exploded) return (kd_verdict){EXPLODED, false};
    if (good && status < 0) return (kd_verdict){FAILED, false};
    return (kd_verdict){words, good};
}

kd_verdict kd_verdict_residual(const kd_certificate *c, int level, double atol, kd_status status)
{
    double relative = c->residual[level] / c->scale[level];
    if (relative <= ROUNDING) return judge(c, status, true, "to rounding");
    if (relative <= WITHIN_ATOL * atol) return judge(c, status, true, "within tolerance");
    return judge(c, status, false, "drift");
}

double kd_verdict_energy_error(const kd_certificate *c)
{
    if (!c->has_energy) return NAN;
    return c->energy_scale > 0 ? c->energy_error / c->energy_scale : c->energy_error;
}

kd_verdict kd_verdict_energy(const kd_certificate *c, kd_status status)
{
    bool good = kd_verdict_energy_error(c) <= BALANCED;
    return judge(c, status, good, good ? "balanced" : "not balanced");
}

kd_verdict kd_verdict_reference(const kd_certificate *c, double error, kd_status status)
{
    bool good = error <= AGREES_TO;
    return judge(c, status, good, good ? "agrees" : "differs");
}
