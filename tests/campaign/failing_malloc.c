// tests/campaign/failing_malloc.c: a library for LD_PRELOAD that lets the n-th allocation of a process fail.
//
// KARDAN_FAIL_AT=n: the n-th call of malloc, calloc or realloc behind the start of main answers NULL; with
// KARDAN_FAIL_EVER all later ones do as well. KARDAN_FAIL_COUNT=file: the number of calls is written there at the end.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long calls;
static long        fail_at, ever, started;
static char        early[1 << 16]; // dlsym allocates before malloc is known
static size_t      early_used;

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t), *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);

static void find(void)
{
    static int busy;
    if (real_free || busy) return;
    busy = 1;
    real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    busy = 0;
}

static void *from_early(size_t size)
{
    void *memory = early + early_used;
    early_used += (size + 15) / 16 * 16;
    return early_used <= sizeof early ? memory : NULL;
}

static int fails(void)
{
    if (!started) return 0;
    const long n = ++calls;
    return fail_at > 0 && (n == fail_at || (ever && n > fail_at));
}

void *malloc(size_t size)
{
    find();
    if (!real_malloc) return from_early(size);
    return fails() ? NULL : real_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    find();
    if (!real_calloc) return from_early(count * size);
    return fails() ? NULL : real_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    find();
    return fails() ? NULL : real_realloc(memory, size);
}

void free(void *memory)
{
    const char *c = memory;
    find();
    if (memory && !(c >= early && c < early + sizeof early)) real_free(memory);
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("KARDAN_FAIL_AT");
    fail_at = at ? atol(at) : 0;
    ever = getenv("KARDAN_FAIL_EVER") != NULL;
    started = 1;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("KARDAN_FAIL_COUNT");
    started = 0;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) fprintf(file, "%ld\n", (long)calls);
    if (file) fclose(file);
}
