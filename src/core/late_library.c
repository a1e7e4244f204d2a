// late_library.c: shared libraries that are loaded when they are first used.
#include "core/late_library.h"

#include <dlfcn.h>
#include <string.h>
#include <threads.h>

#include "core/text.h"

bool kd_library_load(const char *path, const char *name, const kd_late_symbol *symbol, size_t count, char *why,
                     size_t size)
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

// ---- once -----------------------------------------------------------------------------------------------------------

static mtx_t lock; // of all libraries that are loaded once
static void  make_lock(void)
{
    (void)mtx_init(&lock, mtx_plain);
}

bool kd_library_load_once(kd_late_library *l, char *why, size_t size)
{
    static once_flag made = ONCE_FLAG_INIT;
    call_once(&made, make_lock);
    (void)mtx_lock(&lock);
    if (!l->tried) l->loaded = kd_library_load(l->path, l->name, l->symbol, l->count, l->reason, sizeof l->reason);
    l->tried = true;
    (void)mtx_unlock(&lock);
    if (!l->loaded) kd_text(why, size, "%s", l->reason);
    return l->loaded;
}
