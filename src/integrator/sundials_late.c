// sundials_late.c: SUNDIALS, loaded when an integrator of it is first made.
#ifdef KD_WITH_SUNDIALS
#define KD_SUNDIALS_AS_IT_IS
#include "integrator/sundials_late.h"

#include "core/late_library.h"

#ifdef KD_SUNDIALS_LATE
kd_sundials_library kd_sundials_of;

#define SYMBOL(name_) {#name_, (void *)&kd_sundials_of.name_},
static const kd_late_symbol IDA[] = {KD_SUNDIALS_FUNCTIONS(SYMBOL) KD_IDA_FUNCTIONS(SYMBOL)};
static const kd_late_symbol CVODE[] = {KD_CVODE_FUNCTIONS(SYMBOL)};
static const kd_late_symbol ARKODE[] = {KD_ARKODE_FUNCTIONS(SYMBOL)};
#define LIBRARY(path_, name_, list_)                                                                                   \
    {                                                                                                                  \
        .path = path_, .name = name_, .symbol = list_, .count = sizeof list_ / sizeof *list_                           \
    }

bool kd_sundials_load(char *why, size_t size)
{
    static kd_late_library library[] = {LIBRARY(KD_IDA_LIBRARY, KD_IDA_NAME, IDA),
                                        LIBRARY(KD_CVODE_LIBRARY, KD_CVODE_NAME, CVODE),
                                        LIBRARY(KD_ARKODE_LIBRARY, KD_ARKODE_NAME, ARKODE)};
    bool                   loaded = true;
    for (size_t i = 0; loaded && i < sizeof library / sizeof *library; i++)
        loaded = kd_library_load_once(&library[i], why, size);
    return loaded;
}
#else
KD_LINKED_LOADER(kd_sundials_load)
#endif

#else
typedef int kd_without_sundials; // C wants something in a file
#endif
