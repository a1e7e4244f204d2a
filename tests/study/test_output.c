// Reductions of channels against closed forms.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/memory.h"
#include "core/pi.h"
#include "study/output.h"

enum { N = 2001, STRIDE = 3 };

typedef struct channel {
    double t[N], y[STRIDE * N];
} channel;

static double take(const channel *c, kd_study_reduction r, const char **why)
{
    double      *work = kd_alloc(kd_study_reduction_work(N) * sizeof *work);
    const double value = kd_study_reduce(&r, N, c->t, c->y, STRIDE, work, why);
    kd_free(work);
    return value;
}

static kd_study_reduction reduction(kd_study_reduction_kind kind)
{
    return (kd_study_reduction){.kind = kind, .from = NAN, .to = NAN, .time = NAN, .level = NAN, .band = NAN};
}

static void fill(channel *c, double (*f)(double))
{
    for (int i = 0; i < N; i++) c->t[i] = 4.0 * i / (N - 1), c->y[STRIDE * i] = f(c->t[i]), c->y[STRIDE * i + 1] = 77;
}

static double wave(double t)
{
    return 1 + 2 * sin(2 * KD_PI * 5 * t);
}

// Means, squares, extremes and the spectrum of a sine about 1.
static void of_a_sine(void **state)
{
    (void)state;
    static channel c;
    fill(&c, wave);
    assert_true(fabs(take(&c, reduction(KD_REDUCE_MAX), NULL) - 3) < 1e-4);
    assert_true(fabs(take(&c, reduction(KD_REDUCE_MIN), NULL) + 1) < 1e-4);
    assert_true(fabs(take(&c, reduction(KD_REDUCE_PEAK), NULL) - 3) < 1e-4);
    assert_true(fabs(take(&c, reduction(KD_REDUCE_RANGE), NULL) - 4) < 2e-4);
    assert_true(fabs(take(&c, reduction(KD_REDUCE_MEAN), NULL) - 1) < 1e-12);
    assert_true(fabs(take(&c, reduction(KD_REDUCE_RMS), NULL) - sqrt(3)) < 1e-3);
    assert_true(fabs(take(&c, reduction(KD_REDUCE_INTEGRAL), NULL) - 4) < 1e-12);
    assert_true(fabs(take(&c, reduction(KD_REDUCE_FREQUENCY), NULL) - 5) < 0.3);
    assert_true(fabs(take(&c, reduction(KD_REDUCE_AMPLITUDE), NULL) - 2) < 0.3);
    kd_study_reduction at = reduction(KD_REDUCE_AT);
    at.time = 0.0511;
    assert_true(fabs(take(&c, at, NULL) - wave(0.0511)) < 1e-3);
}

static double line(double t)
{
    return 2 * t - 1;
}

// Exact for straight lines, also on parts that begin and end between rows.
static void of_a_line(void **state)
{
    (void)state;
    static channel     c;
    const char        *why;
    kd_study_reduction r = reduction(KD_REDUCE_INTEGRAL);
    fill(&c, line);
    r.from = 1.00037, r.to = 2.5009;
    assert_true(fabs(take(&c, r, NULL) - (r.to * r.to - r.to - r.from * r.from + r.from)) < 1e-12);
    r.kind = KD_REDUCE_MAX;
    assert_true(fabs(take(&c, r, NULL) - line(r.to)) < 1e-12);
    r.kind = KD_REDUCE_END;
    assert_true(fabs(take(&c, r, NULL) - line(r.to)) < 1e-12);
    r = reduction(KD_REDUCE_CROSSING);
    r.level = 0.7503;
    assert_true(fabs(take(&c, r, &why) - 0.87515) < 1e-12);
    r.level = 9;
    assert_true(isnan(take(&c, r, &why)) && why);
    r = reduction(KD_REDUCE_SETTLING);
    r.level = 7, r.band = 0.5;
    assert_true(fabs(take(&c, r, &why) - 3.75) < 1e-12);
    r.level = 3;
    assert_true(isnan(take(&c, r, &why)) && why);
    r = reduction(KD_REDUCE_MEAN);
    r.from = 5;
    assert_true(isnan(take(&c, r, &why)) && why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_a_sine), cmocka_unit_test(of_a_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
