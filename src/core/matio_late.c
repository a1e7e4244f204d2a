// matio_late.c: matio, loaded when it is first used.
#ifdef KD_WITH_MATIO
#define KD_MATIO_AS_IT_IS
#include "core/matio_late.h"

#include "core/late_library.h"

#ifdef KD_MATIO_LIBRARY
kd_matio_calls kd_matio;

#define SYMBOL(name_) {#name_, (void *)&kd_matio.name_},
static const kd_late_symbol SYMBOLS[] = {KD_MATIO_FUNCTIONS(SYMBOL)};
#endif

// Linked as usual, it is there
bool kd_matio_load(char *why, size_t size)
{
#ifdef KD_MATIO_LIBRARY
    static kd_late_library library = {
        .path = KD_MATIO_LIBRARY, .name = KD_MATIO_NAME, .symbol = SYMBOLS, .count = sizeof SYMBOLS / sizeof *SYMBOLS};
    return kd_library_load_once(&library, why, size);
#else
    (void)why, (void)size;
    return true;
#endif
}

#else
typedef int kd_without_matio; // C wants something in a file
#endif
