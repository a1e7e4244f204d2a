// blas_core.c: which kernels the BLAS library runs, and better ones where it does not know the processor.
//
// OpenBLAS with DYNAMIC_ARCH chooses its kernels when it is loaded, by a list of processors; on those that are newer than
// the library it falls back to SSE3 (Prescott), which makes dense matrices about twice as slow. What a processor can do is
// known by its instructions: AVX2 and FMA are enough for the kernels of Haswell, AVX-512 F, CD, BW, DQ, VL for SkylakeX.
// Who sets OPENBLAS_CORETYPE has chosen. Other BLAS libraries have none of these functions, and are left alone.
#define _POSIX_C_SOURCE 200809L
#include <kardan/base.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__)

// of OpenBLAS; NULL elsewhere
extern char *openblas_get_corename(void) __attribute__((weak));
extern void  gotoblas_dynamic_init(void) __attribute__((weak));
extern void  gotoblas_dynamic_quit(void) __attribute__((weak));

static const char ENVIRONMENT[] = "OPENBLAS_CORETYPE";

const char *kd_blas_kernels(void)
{
    return openblas_get_corename ? openblas_get_corename() : "unknown";
}

// Kernels without AVX
static bool is_old(const char *core)
{
    static const char *const old[] = {"Prescott", "Core2",   "Penryn",  "Dunnington",  "Nehalem",
                                      "Atom",     "Generic", "Katmai",  "Coppermine",  "Northwood",
                                      "Banias",   "Athlon",  "Opteron", "Opteron_SSE3"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcmp(core, old[i]) == 0) return true;
    return false;
}

static const char *best_core(void)
{
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    if (avx512) return "SkylakeX";
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell" : NULL;
}

const char *kd_blas_choose_kernels(void)
{
    const bool can = openblas_get_corename && gotoblas_dynamic_init && gotoblas_dynamic_quit && !getenv(ENVIRONMENT);
    if (!can || !is_old(openblas_get_corename())) return kd_blas_kernels();
    const char *best = best_core();
    // the library reads the environment when it chooses: let it choose again
    if (best && setenv(ENVIRONMENT, best, 0) == 0) {
        gotoblas_dynamic_quit();
        gotoblas_dynamic_init();
        (void)unsetenv(ENVIRONMENT);
    }
    return kd_blas_kernels();
}

#else

const char *kd_blas_kernels(void)
{
    return "unknown";
}

const char *kd_blas_choose_kernels(void)
{
    return kd_blas_kernels();
}

#endif
