// hdf5_late.c: HDF5, loaded when it is first used.
#ifdef KD_WITH_HDF5
#define KD_HDF5_AS_IT_IS
#include "core/hdf5_late.h"

#include "core/late_library.h"

#ifdef KD_HDF5_LIBRARY
kd_hdf5_calls kd_hdf5;

#define SYMBOL(name_) {#name_, (void *)&kd_hdf5.name_},
static const kd_late_symbol SYMBOLS[] = {KD_HDF5_FUNCTIONS(SYMBOL) KD_HDF5_NUMBERS(SYMBOL)};
#endif

// Linked as usual, it is there
bool kd_hdf5_load(char *why, size_t size)
{
#ifdef KD_HDF5_LIBRARY
    static kd_late_library library = {
        .path = KD_HDF5_LIBRARY, .name = KD_HDF5_NAME, .symbol = SYMBOLS, .count = sizeof SYMBOLS / sizeof *SYMBOLS};
    return kd_library_load_once(&library, why, size);
#else
    (void)why, (void)size;
    return true;
#endif
}

#else
typedef int kd_without_hdf5; // C wants something in a file
#endif
