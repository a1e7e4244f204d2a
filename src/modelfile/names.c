// names.c: open addressing with linear probing, FNV-1a.
#include "modelfile/names.h"

#include <stdint.h>
#include <string.h>

#include "core/memory.h"

typedef struct kd_name_entry entry;

static entry *slot_of(const kd_names *names, const char *name)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t mask = (size_t)names->capacity - 1;
    size_t i = (size_t)(hash ^ (hash >> 32)) & mask;
    while (names->entry[i].name && strcmp(names->entry[i].name, name) != 0) i = (i + 1) & mask;
    return &names->entry[i];
}

static bool grow(kd_names *names)
{
    kd_names larger = {names->capacity > 0 ? 2 * names->capacity : 64, names->count, NULL};
    larger.entry = kd_alloc((size_t)larger.capacity * sizeof *larger.entry);
    if (!larger.entry) return false;
    for (int i = 0; i < names->capacity; i++) {
        if (names->entry[i].name) *slot_of(&larger, names->entry[i].name) = names->entry[i];
    }
    kd_free(names->entry);
    *names = larger;
    return true;
}

int kd_names_put(kd_names *names, const char *name, int value)
{
    if (2 * (names->count + 1) > names->capacity && !grow(names)) return -2;
    entry *at = slot_of(names, name);
    if (at->name) return at->value;
    *at = (entry){name, value};
    names->count++;
    return -1;
}

int kd_names_find(const kd_names *names, const char *name)
{
    if (names->count == 0) return -1;
    const entry *at = slot_of(names, name);
    return at->name ? at->value : -1;
}

void kd_names_release(kd_names *names)
{
    kd_free(names->entry);
    *names = (kd_names){0};
}
