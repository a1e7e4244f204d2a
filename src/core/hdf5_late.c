// hdf5_late.c: HDF5, loaded when it is first used.
#ifdef KD_WITH_HDF5
#define KD_HDF5_AS_IT_IS
#include "core/hdf5_late.h"

#include "core/late_library.h"

#ifdef KD_HDF5_LIBRARY
kd_hdf5_calls kd_hdf5;

#define SYMBOL(name_) {#name_, (void *)&kd_hdf5.name_},
static const kd_late_symbol SYMBOLS[] = {KD_HDF5_FUNCTIONS(SYMBOL) KD_HDF5_NUMBERS(SYMBOL)};
KD_LATE_LOADER(kd_hdf5_load, KD_HDF5_LIBRARY, KD_HDF5_NAME, SYMBOLS)
#else
KD_LINKED_LOADER(kd_hdf5_load)
#endif

#else
typedef int kd_without_hdf5; // C wants something in a file
#endif
