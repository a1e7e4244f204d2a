// hdf5_late.c: HDF5, loaded when it is first used.
#ifdef KD_WITH_HDF5
#define KD_HDF5_AS_IT_IS
#include "core/hdf5_late.h"

#ifndef KD_HDF5_LIBRARY

bool kd_hdf5_load(char *why, size_t size)
{
    (void)why, (void)size;
    return true;
}

#else

#include <threads.h>

#include "core/late_library.h"
#include "core/text.h"

kd_hdf5_calls kd_hdf5;
static bool   loaded;
static char   reason[300];

static void load(void)
{
#define SYMBOL(name_) {#name_, (void *)&kd_hdf5.name_},
    static const kd_symbol symbol[] = {KD_HDF5_FUNCTIONS(SYMBOL) KD_HDF5_NUMBERS(SYMBOL)};
#undef SYMBOL
    loaded =
        kd_library_load(KD_HDF5_LIBRARY, KD_HDF5_NAME, symbol, sizeof symbol / sizeof *symbol, reason, sizeof reason);
}

bool kd_hdf5_load(char *why, size_t size)
{
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, load);
    if (!loaded) kd_text(why, size, "%s", reason);
    return loaded;
}

#endif
#else
typedef int kd_without_hdf5; // C wants something in a file
#endif
