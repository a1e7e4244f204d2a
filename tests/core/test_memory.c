// tests/core/test_memory.c: blocks, arenas and the hooks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "core/failing_allocator.h"
#include "core/memory.h"

#include <string.h>
#include <suitesparse/SuiteSparse_config.h>

static bool is_zero(const void *memory, size_t size)
{
    const unsigned char *byte = memory;
    for (size_t i = 0; i < size; i++)
        if (byte[i]) return false;
    return true;
}

// Blocks are zero-filled, aligned and writable; size 0 and NULL are legal.
static void test_block(void **state)
{
    (void)state;
    for (size_t size = 0; size < 300; size += 7) {
        void *memory = kd_alloc(size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        assert_true(is_zero(memory, size));
        memset(memory, 0xff, size);
        kd_free(memory);
    }
    kd_free(NULL);
}

// Sizes that no memory can have are refused instead of wrapping around.
static void test_overflow(void **state)
{
    (void)state;
    assert_null(kd_alloc(SIZE_MAX));
    assert_null(kd_alloc(SIZE_MAX - 64));
    const size_t counts[] = {SIZE_MAX, SIZE_MAX / 8, SIZE_MAX / 8 + 2, SIZE_MAX / 16 + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        kd_arena arena = {0};
        assert_null(kd_arena_cut(&arena, counts[i], 8));
        assert_true(arena.failed);
        kd_arena_release(&arena);
    }
    // full matrices whose entries an int does not count, of a size that a machine might have
    const int sizes[] = {46341, 65536, 65537, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        kd_arena     arena = {0};
        const size_t n = (size_t)sizes[i];
        assert_null(kd_cut_matrix(&arena, sizes[i], sizes[i]));
        assert_true(arena.failed);
        arena.failed = false;
        assert_null(kd_arena_cut(&arena, n * n, sizeof(int)));
        assert_true(arena.failed);
        kd_arena_release(&arena);
    }
}

// Arrays of an arena are zero, aligned and do not overlap, whatever their sizes; the arena is reusable after release.
static void test_arena(void **state)
{
    (void)state;
    enum { COUNT = 60 };
    kd_arena arena = {0};
    for (int round = 0; round < 2; round++) {
        unsigned char *array[COUNT];
        for (int i = 0; i < COUNT; i++) {
            const size_t size = (size_t)(i * i * 7 % 5000);
            array[i] = kd_arena_cut(&arena, size, 1);
            assert_non_null(array[i]);
            assert_int_equal((uintptr_t)array[i] % 16, 0);
            assert_true(is_zero(array[i], size));
            memset(array[i], i + 1, size);
        }
        for (int i = 0; i < COUNT; i++)
            for (int k = 0; k < i * i * 7 % 5000; k++) assert_int_equal(array[i][k], i + 1);
        assert_false(arena.failed);
        kd_arena_release(&arena);
        assert_null(arena.chunks);
    }
}

// A negative count is taken as none: the caller's sizes were checked before.
static void test_cut_of_type(void **state)
{
    (void)state;
    kd_arena arena = {0};
    assert_non_null(kd_cut_double(&arena, 3));
    assert_non_null(kd_cut_int(&arena, 0));
    assert_non_null(kd_cut_bool(&arena, -1));
    assert_false(arena.failed);
    kd_arena_release(&arena);
}

// A failed cut is remembered, later cuts may succeed, and nothing leaks.
static void test_arena_failure(void **state)
{
    (void)state;
    for (long fail_at = 1; fail_at <= 5; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        failing_allocator_use(&f);
        kd_arena arena = {0};
        int      missing = 0;
        for (int i = 0; i < 5; i++) missing += !kd_arena_cut(&arena, 1 << 20, 1); // each needs a chunk of its own
        assert_int_equal(missing, 1);
        assert_true(arena.failed);
        kd_arena_release(&arena);
        assert_false(arena.failed);
        assert_int_equal(f.live, 0);
        kd_set_allocator(NULL);
    }
}

// SuiteSparse allocates through the same hooks, and its realloc keeps the content.
static void test_suitesparse(void **state)
{
    (void)state;
    failing_allocator f = {0};
    failing_allocator_use(&f);
    int   ok = 0;
    char *memory = SuiteSparse_calloc(100, 1);
    assert_true(is_zero(memory, 100));
    memset(memory, 7, 100);
    memory = SuiteSparse_realloc(5000, 100, 1, memory, &ok);
    assert_true(ok);
    for (int i = 0; i < 100; i++) assert_int_equal(memory[i], 7);
    memory = SuiteSparse_realloc(10, 5000, 1, memory, &ok);
    assert_true(ok);
    for (int i = 0; i < 10; i++) assert_int_equal(memory[i], 7);
    assert_true(f.calls >= 2);
    f.fail_at = f.calls + 1;
    memory = SuiteSparse_realloc(100000, 10, 1, memory, &ok);
    assert_false(ok);
    for (int i = 0; i < 10; i++) assert_int_equal(memory[i], 7); // the old block survives
    SuiteSparse_free(memory);
    f.fail_at = f.calls + 1;
    assert_null(SuiteSparse_malloc(10, 8));
    assert_int_equal(f.live, 0);

    kd_set_allocator(NULL);
    const long calls = f.calls;
    SuiteSparse_free(SuiteSparse_malloc(10, 8));
    kd_free(kd_alloc(10));
    assert_int_equal(f.calls, calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block),       cmocka_unit_test(test_overflow),      cmocka_unit_test(test_arena),
        cmocka_unit_test(test_cut_of_type), cmocka_unit_test(test_arena_failure), cmocka_unit_test(test_suitesparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
