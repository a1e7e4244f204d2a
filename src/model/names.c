// names.c: names of elements: look-up in constant time, the one that was meant by a mistyped word.
#include <stdint.h>
#include <string.h>

#include "core/text.h"
#include "model/build.h"

// of the letters, turned by the section: one name may stand in several
static uint32_t hash_of(kd_section section, const char *name)
{
    return (kd_text_hash(name) ^ (uint32_t)section) * 16777619u;
}

// the entry that holds the name, or the free one where it belongs; linear probing, the table is at most half full
static kd_name_entry *slot_of(const kd_names *names, kd_section section, const char *name)
{
    const uint32_t mask = (uint32_t)names->size - 1;
    for (uint32_t i = hash_of(section, name) & mask;; i = (i + 1) & mask) {
        kd_name_entry *e = &names->entry[i];
        if (!e->name || (e->section == section && strcmp(e->name, name) == 0)) return e;
    }
}

int kd_names_find(const kd_names *names, kd_section section, const char *name)
{
    if (names->size == 0) return -1;
    const kd_name_entry *e = slot_of(names, section, name);
    return e->name ? e->element : -1;
}

static kd_status make_room(kd_names *names)
{
    // at most half full: then probing stays short
    if (2 * (names->count + 1) <= names->size) return KD_OK;
    kd_names larger = {NULL, names->size ? 2 * names->size : 64, names->count};
    larger.entry = kd_alloc((size_t)larger.size * sizeof *larger.entry);
    if (!larger.entry) return KD_ERR_MEMORY;
    // every entry finds a new place
    for (int i = 0; i < names->size; i++) {
        const kd_name_entry *e = &names->entry[i];
        if (e->name) *slot_of(&larger, e->section, e->name) = *e;
    }
    kd_free(names->entry);
    *names = larger;
    return KD_OK;
}

kd_status kd_names_add(kd_names *names, kd_section section, const char *name, int element)
{
    const kd_status status = make_room(names);
    if (status < 0) return status;
    *slot_of(names, section, name) = (kd_name_entry){name, section, element};
    names->count++;
    return KD_OK;
}

void kd_names_release(kd_names *names)
{
    kd_free(names->entry);
    *names = (kd_names){NULL, 0, 0};
}

int kd_model_find(const kd_model *m, kd_section section, const char *name)
{
    return m && name ? kd_names_find(&m->private->names, section, name) : -1;
}

const char *kd_plain_name(const char *name)
{
    if (strncmp(name, "parameter.", 10) == 0) return name + 10;
    return strncmp(name, "curve.", 6) == 0 ? name + 6 : name;
}

const kd_parameter *kd_model_parameter(const kd_model *m, const char *name)
{
    const int i = kd_model_find(m, KD_SECTION_PARAMETER, name);
    return i < 0 ? NULL : &m->parameter[i];
}

// the ground is a body that nobody adds
const char *kd_model_nearest(const kd_model *m, kd_section section, const char *wanted)
{
    if (kd_model_error_count(m) > KD_MODEL_MAX_ERRORS) return NULL; // nobody will see it, and it takes time
    kd_nearest nearest = kd_nearest_start(wanted);
    if (section == KD_SECTION_BODY) kd_nearest_offer(&nearest, "ground");
    const int n = kd_section_count(m, section);
    for (int i = 0; i < n; i++) kd_nearest_offer(&nearest, kd_element_name(m, section, i));
    return nearest.best;
}

void kd_model_say_unknown(const kd_model *m, kd_section section, const char *name, char *text, size_t size)
{
    if (!text || size == 0) return;
    const char *near = kd_model_nearest(m, section, name);
    kd_text(text, size, "unknown %s '%s'", kd_section_word(section), name);
    if (near) kd_text_append(text, size, ", did you mean '%s'?", near);
}
