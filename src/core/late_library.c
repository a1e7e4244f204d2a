// late_library.c: shared libraries that are loaded when they are first used.
#include "core/late_library.h"

#include <dlfcn.h>
#include <string.h>

#include "core/text.h"

bool kd_library_load(const char *path, const char *name, const kd_symbol *symbol, size_t count, char *why, size_t size)
{
    // as it was found, or wherever the system has it now
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        kd_text(why, size, "%s cannot be loaded: %s", name, reason ? reason : "no reason");
        return false;
    }
    // what the program itself has goes first: it may have copies of the library's data, which the library then uses
    void *program = dlopen(NULL, RTLD_NOW);
    for (size_t i = 0; i < count; i++) {
        void *found = program ? dlsym(program, symbol[i].name) : NULL;
        if (!found) found = dlsym(handle, symbol[i].name);
        if (!found) {
            kd_text(why, size, "%s has no '%s'", name, symbol[i].name);
            return false;
        }
        memcpy(symbol[i].place, &found, sizeof found);
    }
    return true;
}
