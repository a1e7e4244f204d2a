// Selectors of constraint matrices: the identities that everything else rests on, for LU, QR and SVD; rank failures.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forms/selector.h"

enum { MOST = 12, WIDEST = 152 };
static const kd_decomposition kinds[] = {KD_DECOMPOSE_LU, KD_DECOMPOSE_QR, KD_DECOMPOSE_SVD};

// numbers in [-1, 1], the same in every run
static double random_number(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (double)(1u << 23) - 1;
}

static void fill_random(int m, int n, unsigned seed, double *C)
{
    for (int i = 0; i < m * n; i++) C[i] = random_number(&seed);
}

// largest |C X - D| for C (m x n), X (n x k); D NULL: zero
static double product_error(int m, int n, int k, const double *C, const double *X, const double *D)
{
    double most = 0;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < k; j++) {
            double sum = D ? -D[i + j * m] : 0;
            for (int l = 0; l < n; l++) sum += C[i + l * m] * X[l + j * n];
            most = fmax(most, fabs(sum));
        }
    }
    return most;
}

// largest |S X - D| for X (n x k), through kd_selector_pick; D is the identity or zero
static double pick_error(const kd_selector *s, const double *X, int k, bool identity)
{
    double most = 0, y[WIDEST];
    for (int j = 0; j < k; j++) {
        kd_selector_pick(s, X + j * s->n, y);
        for (int i = 0; i < s->n - s->rank; i++) most = fmax(most, fabs(y[i] - (identity && i == j ? 1 : 0)));
    }
    return most;
}

// C N = 0, S N = I, S P = 0, C P C = C
static void assert_identities(const kd_selector *s, int m, const double *C, double tolerance)
{
    int    n = s->n, k = n - s->rank;
    double CP[MOST * MOST];
    memset(CP, 0, sizeof CP);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            for (int l = 0; l < n; l++) CP[i + j * m] += C[i + l * m] * s->P[l + j * n];
    double size = 0;
    for (int i = 0; i < m * n; i++) size = fmax(size, fabs(C[i]));
    assert_true(product_error(m, n, k, C, s->N, NULL) <= tolerance * size);
    assert_true(pick_error(s, s->N, k, true) <= tolerance);
    double largest_P = 1e-300;
    for (int i = 0; i < n * m; i++) largest_P = fmax(largest_P, fabs(s->P[i]));
    assert_true(pick_error(s, s->P, m, false) <= tolerance * largest_P);
    assert_true(product_error(m, m, n, CP, C, C) <= tolerance * size);
    if (s->rank == m)
        for (int i = 0; i < m * m; i++) assert_true(fabs(CP[i] - (i % (m + 1) == 0 ? 1 : 0)) <= tolerance);
}

static kd_selector make(kd_arena *arena, int m, int n, kd_decomposition kind)
{
    kd_selector s;
    *arena = (kd_arena){0};
    kd_selector_init(&s, m, n, kind, 1e-8, arena);
    assert_false(arena->failed);
    return s;
}

// Random matrices of every shape up to 5 x 9 give selectors with all four identities; the rank is the number of rows.
static void random_matrices(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 3; kind++) {
        for (int n = 1; n <= 9; n++) {
            for (int m = 0; m <= n && m <= 5; m++) {
                kd_arena    arena;
                kd_selector s = make(&arena, m, n, kinds[kind]);
                double      C[MOST * MOST];
                bool        changed = false;
                fill_random(m, n, (unsigned)(17 * m + n), C);
                assert_int_equal(kd_selector_update(&s, m, C, false, &changed), KD_OK);
                assert_true(changed); // the first one is new
                assert_int_equal(s.rank, m);
                assert_identities(&s, m, C, 1e-12);
                kd_arena_release(&arena);
            }
        }
    }
}

// Rows whose sizes differ by 1e12 (metres beside angles of a stiff element) are scaled first.
static void badly_scaled_rows(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 3; kind++) {
        kd_arena    arena;
        kd_selector s = make(&arena, 3, 6, kinds[kind]);
        double      C[18], D[18];
        bool        changed;
        fill_random(3, 6, 5, C);
        const double scale[] = {1e-6, 1, 1e6};
        for (int i = 0; i < 18; i++) D[i] = C[i] * scale[i % 3];
        assert_int_equal(kd_selector_update(&s, 3, D, false, &changed), KD_OK);
        // C N = 0 relative to each row
        assert_true(product_error(3, 6, 3, C, s.N, NULL) <= 1e-13);
        assert_true(pick_error(&s, s.N, 3, true) <= 1e-13);
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 6; i++) s.P[i + 6 * j] *= scale[j]; // right inverse of C itself
        assert_true(product_error(3, 6, 3, C, s.P, (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1}) <= 1e-12);
        kd_arena_release(&arena);
    }
}

// Without rows every direction is independent: S = N = I up to a rotation, P is empty.
static void no_rows(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 3; kind++) {
        kd_arena    arena;
        kd_selector s = make(&arena, 0, 4, kinds[kind]);
        bool        changed;
        assert_int_equal(kd_selector_update(&s, 0, NULL, false, &changed), KD_OK);
        assert_int_equal(s.rank, 0);
        assert_true(pick_error(&s, s.N, 4, true) <= 1e-15);
        double y[4], x[4] = {1, 2, 3, 4}, size = 0;
        kd_selector_pick(&s, x, y);
        for (int i = 0; i < 4; i++) size += y[i] * y[i];
        assert_true(fabs(size - 30) < 1e-12);
        kd_arena_release(&arena);
    }
}

// A square regular matrix leaves no independent direction, and P is its inverse.
static void as_many_rows_as_columns(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 3; kind++) {
        kd_arena    arena;
        kd_selector s = make(&arena, 4, 4, kinds[kind]);
        double      C[16], I[16] = {0};
        bool        changed;
        fill_random(4, 4, 3, C);
        for (int i = 0; i < 4; i++) I[5 * i] = 1;
        assert_int_equal(kd_selector_update(&s, 4, C, false, &changed), KD_OK);
        assert_int_equal(s.n - s.rank, 0);
        assert_true(product_error(4, 4, 4, C, s.P, I) < 1e-12);
        assert_true(product_error(4, 4, 4, s.P, C, I) < 1e-12);
        kd_arena_release(&arena);
    }
}

// third row = 2 first - second
static void dependent_rows(int m, int n, double *C)
{
    fill_random(m, n, 11, C);
    for (int j = 0; j < n; j++) C[2 + j * m] = 2 * C[j * m] - C[1 + j * m];
}

// LU and QR refuse dependent rows and name the combination that vanishes; rows outside it are not named.
static void lu_and_qr_refuse_redundant_rows(void **state)
{
    (void)state;
    enum { M = 5, N = 8 };
    for (size_t kind = 0; kind < 2; kind++) {
        kd_arena    arena;
        kd_selector s = make(&arena, M, N, kinds[kind]);
        double      C[M * N], scaled[M * N];
        bool        changed;
        dependent_rows(M, N, C);
        assert_int_equal(kd_selector_update(&s, M, C, false, &changed), KD_ERR_REDUNDANT);
        assert_int_equal(s.rank, -1);
        double most = 0;
        for (int i = 0; i < M; i++) {
            most = fmax(most, fabs(s.left[i]));
            for (int j = 0; j < N; j++) scaled[i + j * M] = C[i + j * M] * s.scale[i];
        }
        assert_true(most > 1e-3);
        for (int j = 0; j < N; j++) { // left' (scaled C) = 0
            double sum = 0;
            for (int i = 0; i < M; i++) sum += s.left[i] * scaled[i + j * M];
            assert_true(fabs(sum) < 1e-12 * most);
        }
        for (int i = 0; i < 3; i++) assert_true(fabs(s.left[i]) > 0.1 * most);
        for (int i = 3; i < M; i++) assert_true(fabs(s.left[i]) < 1e-10 * most);
        kd_arena_release(&arena);
    }
}

// The SVD finds the rank, keeps all identities but C P = I, and reports the news.
static void svd_treats_redundant_rows(void **state)
{
    (void)state;
    enum { M = 5, N = 8 };
    kd_arena    arena;
    kd_selector s = make(&arena, M, N, KD_DECOMPOSE_SVD);
    double      C[M * N];
    bool        changed;
    dependent_rows(M, N, C);
    assert_int_equal(kd_selector_update(&s, M, C, false, &changed), KD_REDUNDANT);
    assert_int_equal(s.rank, 4);
    assert_identities(&s, M, C, 1e-12);
    kd_arena_release(&arena);
}

// More rows than columns: LU and QR refuse, the SVD goes on as long as the matrix has a rank below the columns.
static void more_rows_than_columns(void **state)
{
    (void)state;
    enum { M = 6, N = 3 };
    for (size_t kind = 0; kind < 3; kind++) {
        kd_arena    arena;
        kd_selector s = make(&arena, M, N, kinds[kind]);
        double      C[M * N], a[2 * M], b[2 * N];
        bool        changed;
        fill_random(M, 2, 1, a);
        fill_random(N, 2, 2, b);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) C[i + j * M] = a[i] * b[j] + a[i + M] * b[j + N]; // rank 2
        kd_status status = kd_selector_update(&s, M, C, false, &changed);
        assert_int_equal(status, kinds[kind] == KD_DECOMPOSE_SVD ? KD_REDUNDANT : KD_ERR_REDUNDANT);
        if (status == KD_REDUNDANT) {
            assert_int_equal(s.rank, 2);
            assert_identities(&s, M, C, 1e-12);
        }
        kd_arena_release(&arena);
    }
}

// A row of zeros is a redundant row for itself.
static void row_of_zeros(void **state)
{
    (void)state;
    const double C[] = {1, 0, 2, 0, 3, 0}; // 2 x 3
    for (size_t kind = 0; kind < 3; kind++) {
        kd_arena    arena;
        kd_selector s = make(&arena, 2, 3, kinds[kind]);
        bool        changed;
        bool        svd = kinds[kind] == KD_DECOMPOSE_SVD;
        assert_int_equal(kd_selector_update(&s, 2, C, false, &changed), svd ? KD_REDUNDANT : KD_ERR_REDUNDANT);
        if (svd)
            assert_identities(&s, 2, C, 1e-13);
        else
            assert_true(fabs(s.left[1]) > 0.1 && fabs(s.left[0]) < 1e-14);
        kd_arena_release(&arena);
    }
}

// After a first regular matrix a loss of rank is a change of rank, not redundancy; then the old selector still stands.
static void later_loss_of_rank(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 3; kind++) {
        kd_arena    arena;
        kd_selector s = make(&arena, 2, 3, kinds[kind]);
        bool        changed;
        double      C[6] = {1, 0, 0, 1, 0.5, 0.2};
        assert_int_equal(kd_selector_update(&s, 2, C, false, &changed), KD_OK);
        const double flat[6] = {1, 2, 0, 0, 0.5, 1};
        assert_int_equal(kd_selector_update(&s, 2, flat, false, &changed), KD_ERR_RANK_CHANGE);
        assert_true(fabs(s.left[0]) > 0 && fabs(s.left[1]) > 0);
        assert_int_equal(kd_selector_update(&s, 2, C, false, &changed), KD_OK); // and it recovers
        assert_identities(&s, 2, C, 1e-13);
        kd_arena_release(&arena);
    }
}

// The SVD keeps the rank of the start while a "zero" singular value is as large as a constraint error, and reports a
// rise.
static void svd_keeps_its_rank(void **state)
{
    (void)state;
    kd_arena    arena;
    kd_selector s = make(&arena, 2, 3, KD_DECOMPOSE_SVD);
    bool        changed;
    double      C[6] = {1, 2, 2, 4, -1, -2};
    assert_int_equal(kd_selector_update(&s, 2, C, false, &changed), KD_REDUNDANT);
    assert_int_equal(s.rank, 1);
    C[1] += 1e-6; // above the rank tolerance 1e-8
    assert_int_equal(kd_selector_update(&s, 2, C, false, &changed), KD_REDUNDANT);
    assert_int_equal(s.rank, 1);
    C[1] += 1e-2;
    assert_int_equal(kd_selector_update(&s, 2, C, false, &changed), KD_ERR_RANK_CHANGE);
    kd_arena_release(&arena);
}

// LU and QR report a change exactly when the set of independent columns changes, or when a reset is asked for.
static void change_of_selectors(void **state)
{
    (void)state;
    const double down[] = {0.1, -1}, still_down[] = {0.6, -0.8}, aside[] = {0.9, -0.3}; // G of a pendulum, 1 x 2
    for (size_t kind = 0; kind < 2; kind++) {
        kd_arena    arena;
        kd_selector s = make(&arena, 1, 2, kinds[kind]);
        bool        changed;
        assert_int_equal(kd_selector_update(&s, 1, down, false, &changed), KD_OK);
        assert_true(changed);
        assert_int_equal(s.independent[0], 0);
        assert_int_equal(kd_selector_update(&s, 1, still_down, false, &changed), KD_OK);
        assert_false(changed);
        assert_int_equal(kd_selector_update(&s, 1, still_down, true, &changed), KD_OK);
        assert_true(changed);
        assert_int_equal(kd_selector_update(&s, 1, aside, false, &changed), KD_OK);
        assert_true(changed);
        assert_int_equal(s.independent[0], 1);
        kd_arena_release(&arena);
    }
}

// Other active rows are a new question: the rank may fall without being an error.
static void other_rows(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 3; kind++) {
        kd_arena    arena;
        kd_selector s = make(&arena, 3, 5, kinds[kind]);
        double      C[15];
        bool        changed;
        fill_random(3, 5, 9, C);
        assert_int_equal(kd_selector_update(&s, 3, C, false, &changed), KD_OK);
        fill_random(1, 5, 10, C);
        assert_int_equal(kd_selector_update(&s, 1, C, false, &changed), KD_OK);
        assert_true(changed);
        assert_int_equal(s.rank, 1);
        assert_identities(&s, 1, C, 1e-13);
        kd_arena_release(&arena);
    }
}

// Blocks with a fence behind them that is looked at when they are released; LAPACK is not watched by a sanitizer.
enum { FENCE = 1 << 17, FENCE_BYTE = 0x5a };

static void *fenced_allocate(size_t size, void *context)
{
    (void)context;
    char *block = malloc(64 + size + FENCE);
    if (!block) return NULL;
    memcpy(block, &size, sizeof size);
    memset(block + 64 + size, FENCE_BYTE, FENCE);
    return block + 64;
}

static void fenced_release(void *memory, void *context)
{
    char  *block = (char *)memory - 64;
    size_t size;
    memcpy(&size, block, sizeof size);
    for (int i = 0; i < FENCE; i++) *(long *)context += block[64 + size + (size_t)i] != FENCE_BYTE;
    free(block);
}

// Fewer active rows than at the start stay inside the workspace of the SVD, whose size does not grow with the rows
// alone, and keep all identities.
static void svd_with_fewer_rows(void **state)
{
    (void)state;
    const struct {
        int m, n, rows;
    } shape[] = {{96, 152, 95}, {96, 152, 94}, {96, 152, 1}, {96, 152, 0}, {8, 5, 7}, {6, 4, 5},
                 {9, 2, 8},     {9, 2, 2},     {9, 2, 1},    {12, 3, 11},  {12, 1, 5}};
    long broken = 0;
    kd_set_allocator(&(kd_allocator){fenced_allocate, fenced_release, &broken});
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
        int         m = shape[k].m, n = shape[k].n, rows = shape[k].rows;
        kd_arena    arena;
        kd_selector s = make(&arena, m, n, KD_DECOMPOSE_SVD);
        double     *C = test_malloc((size_t)(m * n) * sizeof *C);
        bool        changed;
        // all rows first, so that what is written beyond `rows` would be seen
        fill_random(m, n, (unsigned)k, C);
        assert_true(kd_selector_update(&s, m, C, false, &changed) >= 0);
        fill_random(rows, n, (unsigned)k + 100, C);
        int rank = rows < n ? rows : n;
        assert_int_equal(kd_selector_update(&s, rows, C, false, &changed), rank < rows ? KD_REDUNDANT : KD_OK);
        assert_true(changed);
        assert_int_equal(s.rank, rank);
        double *CP = test_calloc((size_t)(rows * rows) + 1, sizeof *CP), largest_P = 1;
        for (int j = 0; j < rows; j++)
            for (int l = 0; l < n; l++)
                for (int i = 0; i < rows; i++) CP[i + j * rows] += C[i + l * rows] * s.P[l + j * n];
        for (int i = 0; i < n * rows; i++) largest_P = fmax(largest_P, fabs(s.P[i]));
        assert_true(product_error(rows, rows, n, CP, C, C) < 1e-12 * largest_P); // C P C = C
        assert_true(product_error(rows, n, n - rank, C, s.N, NULL) < 1e-12);     // C N = 0
        assert_true(pick_error(&s, s.N, n - rank, true) < 1e-12);                // S N = I
        assert_true(pick_error(&s, s.P, rows, false) < 1e-12 * largest_P);       // S P = 0
        test_free(CP);
        test_free(C);
        kd_arena_release(&arena);
        assert_int_equal(broken, 0);
    }
    kd_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_matrices),
        cmocka_unit_test(badly_scaled_rows),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(as_many_rows_as_columns),
        cmocka_unit_test(lu_and_qr_refuse_redundant_rows),
        cmocka_unit_test(svd_treats_redundant_rows),
        cmocka_unit_test(more_rows_than_columns),
        cmocka_unit_test(row_of_zeros),
        cmocka_unit_test(later_loss_of_rank),
        cmocka_unit_test(svd_keeps_its_rank),
        cmocka_unit_test(change_of_selectors),
        cmocka_unit_test(other_rows),
        cmocka_unit_test(svd_with_fewer_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
