// math/blas.c: threads in OpenBLAS and ARPACK.
//
// The work space of OpenBLAS is handed out by blas_memory_alloc, which its own functions call through the dynamic linker. A function
// of that name stands here before it and lets in one thread at a time; pieces are given back by a single store. So products of
// several threads go side by side. Where OpenBLAS was loaded before this library by somebody else (numpy), its calls are bound
// already and pass by. So calls are made alone until one has come by here, which small ones never do.
#define _GNU_SOURCE // RTLD_NEXT, RTLD_DEFAULT
#include "math/blas.h"

#include <dlfcn.h>
#include <kardan/base.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static pthread_once_t  once = PTHREAD_ONCE_INIT;
static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t search_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int      guard; // kd_blas_guard

// ---- work space of OpenBLAS -----------------------------------------------------------------------------------------

// weak: where OpenBLAS is linked statically, its own function stays
__attribute__((weak)) KD_API void *blas_memory_alloc(int place);

static pthread_once_t  found_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t space_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool     came_by; // somebody asked for work space here
static void *(*own_alloc)(int place);

static void find_own_alloc(void)
{
    void *found = dlsym(RTLD_NEXT, "blas_memory_alloc");
    memcpy(&own_alloc, &found, sizeof own_alloc);
}

void *blas_memory_alloc(int place)
{
    (void)pthread_once(&found_once, find_own_alloc);
    atomic_store(&came_by, true);
    if (!own_alloc) return NULL;
    (void)pthread_mutex_lock(&space_lock);
    void *piece = own_alloc(place);
    (void)pthread_mutex_unlock(&space_lock);
    return piece;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

// Is this OpenBLAS without threads? Others lock by themselves.
static bool is_serial(void)
{
    int (*parallel)(void);
    void *found = dlsym(RTLD_DEFAULT, "openblas_get_parallel");
    if (!found) found = dlsym(RTLD_NEXT, "openblas_get_parallel");
    if (!found) return false;
    memcpy(&parallel, &found, sizeof parallel);
    return parallel() == 0;
}

static void begin_guard(void)
{
    atomic_store(&guard, is_serial() ? KD_BLAS_ALONE : KD_BLAS_SAFE);
}

kd_blas_guard kd_blas_guard_now(void)
{
    (void)pthread_once(&once, begin_guard);
    return (kd_blas_guard)atomic_load(&guard);
}

// Who waited for the lock while another call came by needs it no more.
void kd_blas_enter(void)
{
    if (kd_blas_guard_now() != KD_BLAS_ALONE) return;
    (void)pthread_mutex_lock(&call_lock);
    if (kd_blas_guard_now() != KD_BLAS_ALONE) (void)pthread_mutex_unlock(&call_lock);
}

// Only who holds the lock changes the guard: here, ALONE means that it is held by this thread.
int kd_blas_leave(int answer)
{
    if (atomic_load(&guard) != KD_BLAS_ALONE) return answer;
    if (atomic_load(&came_by)) atomic_store(&guard, KD_BLAS_SPACE);
    (void)pthread_mutex_unlock(&call_lock);
    return answer;
}

void kd_arpack_enter(void)
{
    (void)pthread_mutex_lock(&search_lock);
}

void kd_arpack_leave(void)
{
    (void)pthread_mutex_unlock(&search_lock);
}
