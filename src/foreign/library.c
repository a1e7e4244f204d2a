// library.c: a controller in a shared object: init at the first sample of a run, step at each, terminate at the end.
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <kardan/controller.h>

#include "core/text.h"
#include "foreign/foreign.h"

typedef struct library {
    kd_foreign unit;
    void      *object, *controller;
    void *(*init)(const kd_controller_setup *setup, char *message, size_t size);
    int (*step)(void *controller, double t, const double *input, double *output, char *message, size_t size);
    void (*terminate)(void *controller);
    kd_controller_setup setup;
} library;

static void terminate(library *l)
{
    if (l->controller) l->terminate(l->controller);
    l->controller = NULL;
}

static kd_status start(kd_foreign *unit, double t, const double *u)
{
    library *l = (library *)unit;
    char     why[KD_FOREIGN_MESSAGE / 2] = "";
    (void)u;
    terminate(l);
    l->setup.t = t;
    l->controller = l->init(&l->setup, why, sizeof why);
    why[sizeof why - 1] = '\0';
    if (l->controller) return KD_OK;
    return kd_foreign_refuse(unit, KD_ERR_CALLBACK_STOP, "kardan_controller_init answered NULL%s%s", *why ? ": " : "",
                             why);
}

// It has no motion of its own
static kd_status advance(kd_foreign *unit, double t)
{
    (void)unit, (void)t;
    return KD_OK;
}

static kd_status answer(kd_foreign *unit, const double *u, double *y)
{
    library  *l = (library *)unit;
    char      why[KD_FOREIGN_MESSAGE / 2] = "";
    const int code = l->step(l->controller, unit->t, u, y, why, sizeof why);
    why[sizeof why - 1] = '\0';
    if (code == 0) return KD_OK;
    return kd_foreign_refuse(unit, KD_ERR_CALLBACK_STOP, "kardan_controller_step answered %d%s%s", code,
                             *why ? ": " : "", why);
}

static void change(kd_foreign *unit, double period, const double *parameter)
{
    (void)parameter;
    ((library *)unit)->setup.period = period;
}

static void destroy(kd_foreign *unit)
{
    library *l = (library *)unit;
    terminate(l);
    if (l->object) dlclose(l->object);
}

static const kd_foreign_class CLASS = {start, advance, answer, change, destroy};

// A function by its name; false: there is none
static bool find_function(library *l, const char *name, void *function, char *message, size_t size)
{
    void *found = dlsym(l->object, name);
    memcpy(function, &found, sizeof found);
    if (!found) kd_text(message, size, "the shared object has no function '%s'", name);
    return found;
}

static const char *keep(library *l, const char *text)
{
    const size_t length = strlen(text) + 1;
    char        *copy = kd_arena_cut(&l->unit.arena, length, 1);
    if (copy) memcpy(copy, text, length);
    return copy ? copy : "";
}

kd_status kd_foreign_open_library(const kd_foreign_setup *setup, kd_foreign **unit, char *message, size_t size)
{
    *unit = NULL;
    library *l = kd_alloc(sizeof *l);
    if (!l) return KD_ERR_MEMORY;
    kd_status status = kd_foreign_init(&l->unit, &CLASS, setup);
    l->setup = (kd_controller_setup){.version = KD_CONTROLLER_VERSION,
                                     .ninputs = setup->ninputs,
                                     .noutputs = setup->noutputs,
                                     .period = setup->period,
                                     .name = keep(l, setup->block),
                                     .arguments = keep(l, setup->arguments ? setup->arguments : "")};
    // a name without a folder would be looked for in those of the system
    char path[4200];
    kd_text(path, sizeof path, "%s%s", strchr(setup->path, '/') ? "" : "./", setup->path);
    if (status >= 0) l->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (status >= 0 && !l->object) {
        kd_text(message, size, "the shared object cannot be loaded: %s", dlerror());
        status = KD_ERR_FILE;
    }
    if (status >= 0 && !(find_function(l, "kardan_controller_init", &l->init, message, size) &&
                         find_function(l, "kardan_controller_step", &l->step, message, size) &&
                         find_function(l, "kardan_controller_terminate", &l->terminate, message, size)))
        status = KD_ERR_FILE;
    if (status < 0)
        kd_foreign_close(&l->unit);
    else
        *unit = &l->unit;
    return status;
}
