// tests/math/test_colouring.c: consistent groups, their number against the bound and against the best possible.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "core/failing_allocator.h"
#include "math/colouring.h"
#include "math/matrices.h"

enum { ORDER = 120, ENTRIES = ORDER * ORDER };

typedef struct pattern {
    int rows, columns;
    int column[ORDER + 1], row[ENTRIES];
} pattern;

static pattern a;
static bool    full[ORDER][ORDER]; // by rows and columns

static void compress(pattern *m, int rows, int columns)
{
    int count = 0;
    m->rows = rows;
    m->columns = columns;
    for (int j = 0; j < columns; j++) {
        m->column[j] = count;
        for (int i = 0; i < rows; i++)
            if (full[i][j]) m->row[count++] = i;
    }
    m->column[columns] = count;
}

// the definition itself: no row has two entries in one group, groups 0 .. n - 1 are all used
static void check_consistent(const kd_colouring *c, const bool *mask)
{
    const int *group = kd_colouring_group(c), groups = kd_colouring_groups(c);
    bool       used[ORDER] = {false};
    int        fullest = 0;
    for (int j = 0; j < a.columns; j++) {
        if (mask && !mask[j]) {
            assert_int_equal(group[j], -1);
            continue;
        }
        assert_in_range(group[j], 0, groups - 1);
        used[group[j]] = true;
        for (int k = 0; k < j; k++)
            for (int i = 0; group[k] == group[j] && i < a.rows; i++) assert_false(full[i][j] && full[i][k]);
    }
    for (int k = 0; k < groups; k++) assert_true(used[k]);
    for (int i = 0; i < a.rows; i++) {
        int count = 0;
        for (int j = 0; j < a.columns; j++) count += full[i][j] && (!mask || mask[j]);
        if (count > fullest) fullest = count;
    }
    assert_int_equal(kd_colouring_fullest_row(c), fullest);
    assert_true(groups >= fullest);
}

// groups of the matrix in full[][]
static int colour(int rows, int columns, const bool *mask)
{
    kd_colouring *c;
    compress(&a, rows, columns);
    assert_int_equal(kd_colouring_create(rows, columns, a.column[columns], &c), KD_OK);
    assert_int_equal(kd_colouring_update(c, a.column, a.row, mask), KD_OK);
    check_consistent(c, mask);
    const int groups = kd_colouring_groups(c);
    kd_colouring_destroy(c);
    return groups;
}

static void clear(void)
{
    memset(full, 0, sizeof full);
}

// The example (19) of S0: three groups for six columns.
static void test_example(void **state)
{
    (void)state;
    static const char *const row[] = {"*..*..", "***...", "*.*..*", "...**.", ".**.*.", "**...."};
    clear();
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) full[i][j] = row[i][j] == '*';
    assert_int_equal(colour(6, 6, NULL), 3);
}

// Banded matrices of every width, symmetric and one-sided, need as many groups as the band is wide.
static void test_banded(void **state)
{
    (void)state;
    for (int lower = 0; lower < 7; lower++)
        for (int upper = 0; upper < 7; upper++) {
            clear();
            for (int i = 0; i < ORDER; i++)
                for (int j = 0; j < ORDER; j++) full[i][j] = j >= i - lower && j <= i + upper;
            assert_int_equal(colour(ORDER, ORDER, NULL), lower + upper + 1);
        }
}

// Blocks of a tree of bodies, each with entries of itself, its parent and its children, reach the bound.
static void test_tree(void **state)
{
    (void)state;
    enum { BLOCK = 6, BODIES = ORDER / BLOCK };
    clear();
    for (int b = 0; b < BODIES; b++) {
        const int parent = b > 0 ? (b - 1) / 2 : 0;
        for (int i = 0; i < BLOCK; i++)
            for (int j = 0; j < BLOCK; j++)
                full[b * BLOCK + i][b * BLOCK + j] = full[b * BLOCK + i][parent * BLOCK + j] =
                    full[parent * BLOCK + i][b * BLOCK + j] = true;
    }
    assert_int_equal(colour(ORDER, ORDER, NULL), 4 * BLOCK);
}

// An arrow: its full row forces one group per column; without that row two groups are enough.
static void test_arrow(void **state)
{
    (void)state;
    clear();
    for (int i = 0; i < ORDER; i++) full[i][i] = full[0][i] = full[i][0] = true;
    assert_int_equal(colour(ORDER, ORDER, NULL), ORDER);
    for (int i = 1; i < ORDER; i++) full[0][i] = false;
    assert_int_equal(colour(ORDER, ORDER, NULL), 2);
}

// Fewest groups of a small matrix by trying all: columns from j on with colours below limit.
static bool colourable(int rows, int columns, int limit, int j, int used, int *group)
{
    if (j == columns) return true;
    for (int k = 0; k < limit && k <= used; k++) {
        bool free = true;
        for (int m = 0; m < j && free; m++)
            for (int i = 0; i < rows && free && group[m] == k; i++) free = !(full[i][m] && full[i][j]);
        group[j] = k;
        if (free && colourable(rows, columns, limit, j + 1, k == used ? used + 1 : used, group)) return true;
    }
    return false;
}

// Small random matrices: never more than one group above the fewest possible, and seldom that.
static void test_fewest(void **state)
{
    (void)state;
    enum { TRIALS = 300, SMALL = 9 };
    uint64_t seed = 5;
    int      worse = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        int          fewest = 1, group[SMALL];
        const double density = 0.1 + 0.1 * (trial % 4);
        clear();
        for (int i = 0; i < SMALL; i++)
            for (int j = 0; j < SMALL; j++) full[i][j] = 0.5 * (1 + random_number(&seed)) < density;
        while (!colourable(SMALL, SMALL, fewest, 0, 0, group)) fewest++;
        const int groups = colour(SMALL, SMALL, NULL);
        assert_in_range(groups, fewest, fewest + 1);
        worse += groups > fewest;
    }
    assert_true(worse <= TRIALS / 100);
}

// Large sparse random matrices of any shape: consistent, and within half as much again of the bound.
static void test_random(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int trial = 0; trial < 40; trial++) {
        const int    rows = 20 + 5 * (trial % 20), columns = 120 - 4 * (trial % 17);
        const double density = 0.01 + 0.01 * (trial % 5);
        clear();
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++) full[i][j] = 0.5 * (1 + random_number(&seed)) < density;
        int fullest = 0;
        for (int i = 0; i < rows; i++) {
            int count = 0;
            for (int j = 0; j < columns; j++) count += full[i][j];
            if (count > fullest) fullest = count;
        }
        assert_true(colour(rows, columns, NULL) <= fullest + fullest / 2 + 1);
    }
}

// Columns without entries, rows without entries, no columns at all, all left out.
static void test_empty(void **state)
{
    (void)state;
    static const bool none[ORDER];
    clear();
    assert_int_equal(colour(0, 0, NULL), 0);
    assert_int_equal(colour(5, 0, NULL), 0);
    assert_int_equal(colour(0, 5, NULL), 1);
    assert_int_equal(colour(7, 5, NULL), 1);
    full[2][1] = full[2][3] = true;
    assert_int_equal(colour(7, 5, NULL), 2);
    assert_int_equal(colour(7, 5, none), 0);
}

// Columns left out have no group and do not keep others apart.
static void test_mask(void **state)
{
    (void)state;
    bool mask[ORDER];
    clear();
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++) full[i][j] = j >= i - 1 && j <= i + 1;
    for (int j = 0; j < ORDER; j++) mask[j] = j % 2 == 0;
    assert_int_equal(colour(ORDER, ORDER, mask), 2);
    for (int j = 0; j < ORDER; j++) mask[j] = j % 3 == 0;
    assert_int_equal(colour(ORDER, ORDER, mask), 1);
}

// A pattern that grows is coloured again without allocation, as by a new object; the same one again gives the same.
static void test_update(void **state)
{
    (void)state;
    kd_colouring     *c;
    failing_allocator hooks = {0};
    uint64_t          seed = 3;
    failing_allocator_use(&hooks);
    assert_int_equal(kd_colouring_create(ORDER, ORDER, ENTRIES, &c), KD_OK);
    const long created = hooks.calls;
    clear();
    for (int round = 0; round < 6; round++) {
        int group[ORDER];
        for (int k = 0; k < 80; k++)
            full[(int)(ORDER * 0.5 * (1 + random_number(&seed)))][(int)(ORDER * 0.5 * (1 + random_number(&seed)))] =
                true;
        compress(&a, ORDER, ORDER);
        assert_int_equal(kd_colouring_update(c, a.column, a.row, NULL), KD_OK);
        check_consistent(c, NULL);
        memcpy(group, kd_colouring_group(c), sizeof group);
        assert_int_equal(kd_colouring_update(c, a.column, a.row, NULL), KD_OK);
        assert_memory_equal(group, kd_colouring_group(c), sizeof group);
    }
    assert_int_equal(hooks.calls, created);
    kd_colouring_destroy(c);
    assert_int_equal(hooks.live, 0);
    kd_set_allocator(NULL);
}

// Too many entries and rows out of range are refused and leave the groups alone; allocation may fail anywhere.
static void test_refused(void **state)
{
    (void)state;
    kd_colouring *c;
    const int     column[] = {0, 1, 2}, row[] = {0, 0}, wrong[] = {0, 7}, many[] = {0, 2, 4}, rows[] = {0, 1, 0, 1};
    assert_int_equal(kd_colouring_create(2, -1, 2, &c), KD_ERR_ARGUMENT);
    assert_null(c);
    assert_int_equal(kd_colouring_create(2, 2, 2, &c), KD_OK);
    assert_int_equal(kd_colouring_update(c, column, row, NULL), KD_OK);
    assert_int_equal(kd_colouring_groups(c), 2);
    assert_int_equal(kd_colouring_update(c, column, wrong, NULL), KD_ERR_ARGUMENT);
    assert_int_equal(kd_colouring_update(c, many, rows, NULL), KD_ERR_ARGUMENT);
    assert_int_equal(kd_colouring_groups(c), 2);
    assert_int_not_equal(kd_colouring_group(c)[0], kd_colouring_group(c)[1]);
    kd_colouring_destroy(c);
    kd_colouring_destroy(NULL);

    failing_allocator hooks = {.fail_at = 1};
    failing_allocator_use(&hooks);
    kd_status status;
    while ((status = kd_colouring_create(9, 9, 9, &c)) == KD_ERR_MEMORY) {
        assert_int_equal(hooks.live, 0);
        hooks.calls = 0;
        hooks.fail_at++;
    }
    assert_int_equal(status, KD_OK);
    kd_colouring_destroy(c);
    kd_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_banded), cmocka_unit_test(test_tree),
        cmocka_unit_test(test_arrow),   cmocka_unit_test(test_fewest), cmocka_unit_test(test_random),
        cmocka_unit_test(test_empty),   cmocka_unit_test(test_mask),   cmocka_unit_test(test_update),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
