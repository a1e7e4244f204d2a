// math/blas.c: threads in OpenBLAS and ARPACK.
//
// The work space of OpenBLAS is handed out by blas_memory_alloc, which its own functions call through the dynamic linker. A function
// of that name stands here before it and lets in one thread at a time; pieces are given back by a single store. So products of
// several threads go side by side. Where OpenBLAS was loaded before this library by somebody else (numpy), its calls are bound
// already and pass by: then each call of ours is made alone. Which of both holds is tried once.
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
static kd_blas_guard   guard;

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

// Does a product that needs work space come by here? 512 numbers are too many for OpenBLAS to take them from the stack.
static void try_guard(void)
{
    enum { ROWS = 512 };
    double A[ROWS], y[ROWS] = {0}, x = 1;
    for (int i = 0; i < ROWS; i++) A[i] = i;
    guard = KD_BLAS_SAFE;
    if (!is_serial()) return;
    atomic_store(&came_by, false);
    cblas_dgemv(CblasColMajor, CblasNoTrans, ROWS, 1, 1, A, ROWS, &x, 1, 1, y, 1);
    guard = atomic_load(&came_by) ? KD_BLAS_SPACE : KD_BLAS_ALONE;
}

kd_blas_guard kd_blas_guard_now(void)
{
    (void)pthread_once(&once, try_guard);
    return guard;
}

void kd_blas_enter(void)
{
    if (kd_blas_guard_now() == KD_BLAS_ALONE) (void)pthread_mutex_lock(&call_lock);
}

int kd_blas_leave(int answer)
{
    if (guard == KD_BLAS_ALONE) (void)pthread_mutex_unlock(&call_lock);
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
