// core/late_library.h: shared libraries that are loaded when they are first used, so that a program that does not need them
// does not wait for them (HDF5 alone brings 36 others along).
#ifndef KD_CORE_LATE_LIBRARY_H
#define KD_CORE_LATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kd_late_symbol {
    const char *name;
    void       *place; // of the pointer to the function or to the data
} kd_late_symbol;

// Load the library from the path that it was found at when kardan was built, or by its name, and find its symbols. It
// stays loaded. false: why says what is missing.
bool kd_library_load(const char *path, const char *name, const kd_late_symbol *symbol, size_t count, char *why,
                     size_t size);

// A library of a program; static, and zero but for what is given
typedef struct kd_late_library {
    const char           *path, *name;
    const kd_late_symbol *symbol;
    size_t                count;
    bool                  tried, loaded;
    char                  reason[300];
} kd_late_library;
// The same, tried once: whoever asks again, in whatever thread, gets the same answer.
bool kd_library_load_once(kd_late_library *library, char *why, size_t size);

// The function that loads one library with these symbols, and that of a library which is linked as usual: it is there
#define KD_LATE_LOADER(loader_, path_, name_, symbols_)                                                                \
    bool loader_(char *why, size_t size)                                                                               \
    {                                                                                                                  \
        static kd_late_library library = {                                                                             \
            .path = path_, .name = name_, .symbol = symbols_, .count = sizeof symbols_ / sizeof *symbols_};            \
        return kd_library_load_once(&library, why, size);                                                              \
    }
#define KD_LINKED_LOADER(loader_)                                                                                      \
    bool loader_(char *why, size_t size)                                                                               \
    {                                                                                                                  \
        (void)why, (void)size;                                                                                         \
        return true;                                                                                                   \
    }

#endif
