// distribution.c: see distribution.h.
#include "study/distribution.h"

#include <math.h>

#include "math/random.h"

double kd_distribution_quantile(const kd_distribution *d, double u)
{
    switch (d->kind) {
    case KD_NORMAL:
        return d->a + d->b * kd_normal_quantile(u);
    case KD_LOGNORMAL:
        return d->a * exp(d->b * kd_normal_quantile(u));
    case KD_DISCRETE: {
        const int i = (int)(u * d->n);
        return d->value[i < d->n ? i : d->n - 1];
    }
    default:
        return d->a + (d->b - d->a) * u;
    }
}

double kd_distribution_level(const kd_distribution *d, int i, int n)
{
    if (d->kind == KD_DISCRETE) return d->value[i < d->n ? i : d->n - 1];
    if (d->kind == KD_UNIFORM) return n == 1 ? 0.5 * (d->a + d->b) : d->a + (d->b - d->a) * i / (n - 1);
    return kd_distribution_quantile(d, (i + 0.5) / n);
}
