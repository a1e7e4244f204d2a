// matio_late.c: matio, loaded when it is first used.
#ifdef KD_WITH_MATIO
#define KD_MATIO_AS_IT_IS
#include "core/matio_late.h"

#ifndef KD_MATIO_LIBRARY

bool kd_matio_load(char *why, size_t size)
{
    (void)why, (void)size;
    return true;
}

#else

#include <threads.h>

#include "core/late_library.h"
#include "core/text.h"

kd_matio_calls kd_matio;
static bool    loaded;
static char    reason[300];

static void load(void)
{
#define SYMBOL(name_) {#name_, (void *)&kd_matio.name_},
    static const kd_symbol symbol[] = {KD_MATIO_FUNCTIONS(SYMBOL)};
#undef SYMBOL
    loaded =
        kd_library_load(KD_MATIO_LIBRARY, KD_MATIO_NAME, symbol, sizeof symbol / sizeof *symbol, reason, sizeof reason);
}

bool kd_matio_load(char *why, size_t size)
{
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, load);
    if (!loaded) kd_text(why, size, "%s", reason);
    return loaded;
}

#endif
#else
typedef int kd_without_matio; // C wants something in a file
#endif
