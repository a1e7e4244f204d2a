// matio_late.c: matio, loaded when it is first used.
#ifdef KD_WITH_MATIO
#define KD_MATIO_AS_IT_IS
#include "core/matio_late.h"

#include "core/late_library.h"

#ifdef KD_MATIO_LIBRARY
kd_matio_calls kd_matio;

#define SYMBOL(name_) {#name_, (void *)&kd_matio.name_},
static const kd_late_symbol SYMBOLS[] = {KD_MATIO_FUNCTIONS(SYMBOL)};
KD_LATE_LOADER(kd_matio_load, KD_MATIO_LIBRARY, KD_MATIO_NAME, SYMBOLS)
#else
KD_LINKED_LOADER(kd_matio_load)
#endif

#else
typedef int kd_without_matio; // C wants something in a file
#endif
