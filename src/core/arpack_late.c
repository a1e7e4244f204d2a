// arpack_late.c: ARPACK, loaded when it is first used.
#ifdef KD_WITH_ARPACK
#define KD_ARPACK_AS_IT_IS
#include "core/arpack_late.h"

#include "core/late_library.h"

#ifdef KD_ARPACK_LIBRARY
kd_arpack_calls kd_arpack;

#define SYMBOL(name_) {#name_, (void *)&kd_arpack.name_},
static const kd_late_symbol SYMBOLS[] = {KD_ARPACK_FUNCTIONS(SYMBOL)};
KD_LATE_LOADER(kd_arpack_load, KD_ARPACK_LIBRARY, KD_ARPACK_NAME, SYMBOLS)
#else
KD_LINKED_LOADER(kd_arpack_load)
#endif

#else
typedef int kd_without_arpack; // C wants something in a file
#endif
