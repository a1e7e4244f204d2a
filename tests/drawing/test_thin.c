// Fewer rows: what is dropped follows from what is kept, by a second way to turn; jumps and fast turns stay.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>

#include "core/failing_allocator.h"
#include "core/pi.h"
#include "drawing/film.h"
#include "drawing/thin.h"

static const char TWO[] =
    "kardan: 1\nbodies:\n  a: {mass: 1, inertia: [1, 1, 1]}\n  b: {mass: 1, inertia: [1, 1, 1], position: [2, 0, 0]}\n";

static double value_error(const void *context, int i, int k, int j)
{
    const double *y = context;
    return fabs(y[i] + (y[j] - y[i]) * (k - i) / (j - i) - y[k]);
}

// Straight lines need their ends, a bend its corner; all that is dropped is as close as was asked for.
static void straight_lines_need_few_rows(void **state)
{
    (void)state;
    enum { N = 1000 };
    double y[N];
    int    keep[N];
    for (int i = 0; i < N; i++) y[i] = i < 640 ? 0.5 * i : 320 - 2.0 * (i - 640);
    int count = kd_thin(N, value_error, y, 1e-9, keep);
    assert_true(count < 40 && keep[0] == 0 && keep[count - 1] == N - 1);
    bool corner = false;
    for (int i = 0; i < count; i++) corner = corner || keep[i] == 640;
    assert_true(corner);
    // a curve: error of every row by hand
    for (double tolerance = 1e-5; tolerance < 0.1; tolerance *= 10) {
        for (int i = 0; i < N; i++) y[i] = sin(0.02 * i) + (i > 500 ? 1 : 0);
        count = kd_thin(N, value_error, y, tolerance, keep);
        assert_true(count < N);
        for (int c = 0; c + 1 < count; c++)
            for (int k = keep[c]; k < keep[c + 1]; k++)
                assert_true(fabs(y[keep[c]] + (y[keep[c + 1]] - y[keep[c]]) * (k - keep[c]) / (keep[c + 1] - keep[c]) -
                                 y[k]) <= tolerance);
    }
    // at most so many, whatever the rows are
    for (int i = 0; i < N; i++) y[i] = i * 7919 % 1009;
    for (int most = 2; most < 400; most = 2 * most + 1) {
        count = kd_thin_to(N, most, value_error, y, 1e-6, keep);
        assert_true(count <= most && count >= 2 && keep[0] == 0 && keep[count - 1] == N - 1);
        for (int i = 1; i < count; i++) assert_true(keep[i] > keep[i - 1]);
    }
    assert_int_equal(kd_thin(1, value_error, y, 1, keep), 1);
    assert_int_equal(kd_thin(0, value_error, y, 1, keep), 0);
}

// b turns about z by `angle` and a moves along x
static void set_frame(test_film *f, int i, double x, double angle)
{
    pose_of(f, i, 0)[0] = x;
    double *q = pose_of(f, i, 1) + 3;
    q[0] = cos(0.5 * angle), q[1] = q[2] = 0, q[3] = sin(0.5 * angle);
    if (i % 3 == 1) // the same turn
        for (int k = 0; k < 4; k++) q[k] = -q[k];
}

// A page's film: every frame that was dropped is where its neighbours put it, angles by hand; a jump keeps both of its sides.
static void dropped_frames_follow(void **state)
{
    (void)state;
    enum { N = 800 };
    test_film f = film_of(TWO, N);
    double    x[N], angle[N];
    for (int i = 0; i < N; i++) {
        f.t[i] = 0.01 * i;
        x[i] = 0.3 * sin(f.t[i]) + (i >= 401 ? 0.5 : 0);
        angle[i] = 3 * f.t[i] + 0.05 * sin(2 * f.t[i]);
        set_frame(&f, i, x[i], angle[i]);
    }
    kd_arena arena = {0};
    kd_film  thin;
    assert_int_equal(kd_film_thin(&f.film, &arena, &thin), KD_OK);
    assert_true(thin.nframes < N / 3 && thin.nframes > 10);
    bool before = false, after = false;
    for (int c = 0, from = 0; c + 1 < thin.nframes; c++) {
        const int to = (int)lround(thin.t[c + 1] / 0.01);
        before = before || from == 400, after = after || from == 401;
        for (int k = from; k <= to; k++) {
            const double part = (double)(k - from) / (to - from);
            assert_true(fabs(x[from] + part * (x[to] - x[from]) - x[k]) < 4e-4);
            assert_true(fabs(angle[from] + part * (angle[to] - angle[from]) - angle[k]) < 4e-4);
        }
        assert_true(angle[to] - angle[from] < KD_PI); // the shorter way is the right one
        from = to;
    }
    assert_true(before && after);
    kd_arena_release(&arena);
    close_film(&f);
}

// A wheel that turns evenly, but so fast that it would seem to stand still between frames that lie farther apart
static void fast_wheels_keep_their_frames(void **state)
{
    (void)state;
    enum { N = 100 };
    test_film f = film_of(TWO, N);
    for (int i = 0; i < N; i++) f.t[i] = 0.01 * i, set_frame(&f, i, 0, 0.7 * KD_PI * i);
    kd_arena arena = {0};
    kd_film  thin;
    assert_int_equal(kd_film_thin(&f.film, &arena, &thin), KD_OK);
    assert_int_equal(thin.nframes, N);
    kd_arena_release(&arena);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        failing_allocator_use(&a);
        const kd_status status = kd_film_thin(&f.film, &arena, &thin);
        kd_arena_release(&arena);
        arena = (kd_arena){0};
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
    }
    close_film(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_lines_need_few_rows),
        cmocka_unit_test(dropped_frames_follow),
        cmocka_unit_test(fast_wheels_keep_their_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
