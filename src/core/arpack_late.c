// arpack_late.c: ARPACK, loaded when it is first used.
#ifdef KD_WITH_ARPACK
#define KD_ARPACK_AS_IT_IS
#include "core/arpack_late.h"

#include "core/late_library.h"

#ifdef KD_ARPACK_LIBRARY
kd_arpack_calls kd_arpack;

#define SYMBOL(name_) {#name_, (void *)&kd_arpack.name_},
static const kd_late_symbol SYMBOLS[] = {KD_ARPACK_FUNCTIONS(SYMBOL)};
#endif

// Linked as usual, it is there
bool kd_arpack_load(char *why, size_t size)
{
#ifdef KD_ARPACK_LIBRARY
    static kd_late_library library = {.path = KD_ARPACK_LIBRARY,
                                      .name = KD_ARPACK_NAME,
                                      .symbol = SYMBOLS,
                                      .count = sizeof SYMBOLS / sizeof *SYMBOLS};
    return kd_library_load_once(&library, why, size);
#else
    (void)why, (void)size;
    return true;
#endif
}

#else
typedef int kd_without_arpack; // C wants something in a file
#endif
