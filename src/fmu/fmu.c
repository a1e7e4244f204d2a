// fmu.c: what FMI 2.0 and 3.0 have in common: opening, order of calls, messages, values, saved states.
#include "fmu/fmu.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/load.h"
#include "core/memory.h"
#include "core/saved.h"
#include "core/text.h"

enum { LIST_BYTES = 1 << 16, PATH = 4096 };
#ifdef _WIN32
enum { ON_WINDOWS = 1 };
#else
enum { ON_WINDOWS = 0 };
#endif

void kd_fmu_tell(kd_fmu *fmu, int level, const char *category, const char *format, ...)
{
    char    text[2400];
    va_list arguments;
    if (!fmu->log || (level == 0 && !fmu->logs_events)) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fmu->log(fmu, level, category, text);
}

// ---- opening --------------------------------------------------------------------------------------------------------

static int hexadecimal(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

bool kd_fmu_folder(const char *uri, char *folder, size_t size)
{
    if (!uri || !*uri) return false;
    const bool  is_uri = strncmp(uri, "file:", 5) == 0;
    const char *path = is_uri ? uri + 5 : uri;
    // file://host/path: this machine only
    if (is_uri && strncmp(path, "//", 2) == 0) {
        path += 2;
        if (strncmp(path, "localhost/", 10) == 0) path += 9;
        if (*path != '/') return false;
    }
    size_t n = 0;
    for (; *path && n + 1 < size; path++) {
        const int high = is_uri && path[0] == '%' && path[1] ? hexadecimal(path[1]) : -1;
        const int low = high >= 0 ? hexadecimal(path[2]) : -1;
        folder[n++] = low >= 0 ? (char)(16 * high + low) : *path;
        if (low >= 0) path += 2;
    }
    while (n > 1 && (folder[n - 1] == '/' || (ON_WINDOWS && folder[n - 1] == '\\'))) n--;
    // file:///C:/folder: the path begins with the letter of the drive
    if (ON_WINDOWS && is_uri && n > 2 && folder[0] == '/' && folder[2] == ':') memmove(folder, folder + 1, n--);
    folder[n] = '\0';
    return *path == '\0';
}

// "kind me", "kind cs": what the description offers; a list without such lines has both
static bool has_kind(const char *list, kd_plant_mode kind)
{
    const bool exchange = strstr(list, "\nkind me\n"), steps = strstr(list, "\nkind cs\n");
    return exchange == steps || (kind == KD_PLANT_EXCHANGE ? exchange : steps);
}

// "token TEXT", the first line of plant.txt, and the kinds behind it
static bool fits_list(kd_fmu *fmu, const char *folder, const char *token, const char *call)
{
    char   path[PATH + 20], why[300], *text = NULL;
    size_t length = 0;
    bool   same = false;
    kd_text(path, sizeof path, "%s/plant.txt", folder);
    if (kd_load_file(path, LIST_BYTES, &text, &length, why, sizeof why) < 0) {
        kd_fmu_tell(fmu, 3, "logStatusError", "the resources of this FMU are not where the client says: %s", why);
        return false;
    }
    // the token of the description must be that of the resources
    const char  *line = strncmp(text, "token ", 6) == 0 ? text + 6 : NULL;
    const size_t n = line ? strcspn(line, "\n") : 0;
    same = line && token && strlen(token) == n && strncmp(line, token, n) == 0;
    if (!same)
        kd_fmu_tell(fmu, 3, "logStatusError", "the token of the client, %s, is not that of this FMU, %.*s",
                    token ? token : "none", (int)n, line ? line : "");
    // and the kind one of those that were exported
    const bool offered = !same || has_kind(text, fmu->kind);
    if (!offered)
        kd_fmu_tell(fmu, 3, "logStatusError", "%s: this FMU is for %s only, as its description says", call,
                    fmu->kind == KD_PLANT_EXCHANGE ? "co-simulation" : "model exchange");
    kd_free(text);
    return same && offered;
}

bool kd_fmu_open(kd_fmu *fmu, const char *folder, const char *token, const char *call)
{
    char message[2000] = "";
    if (!fits_list(fmu, folder, token, call)) return false;
    if (kd_plant_open(folder, &fmu->plant, message, sizeof message) < 0) {
        kd_fmu_tell(fmu, 3, "logStatusError", "the model cannot be read: %s", message);
        return false;
    }
    fmu->mode = KD_FMU_INSTANTIATED;
    return true;
}

void kd_fmu_close(kd_fmu *fmu)
{
    if (!fmu) return;
    kd_plant_close(fmu->plant);
    kd_free(fmu);
}

// ---- order of calls -------------------------------------------------------------------------------------------------

static const char *mode_word(kd_fmu_mode mode)
{
    switch (mode) {
    case KD_FMU_INSTANTIATED:
        return "before initialisation";
    case KD_FMU_INITIALISING:
        return "in initialisation mode";
    case KD_FMU_EVENT:
        return "in event mode";
    case KD_FMU_CONTINUOUS:
        return "in continuous-time mode";
    case KD_FMU_STEP:
        return "in step mode";
    case KD_FMU_STOPPED:
        return "after its end";
    default:
        return "after an error";
    }
}

bool kd_fmu_may(kd_fmu *fmu, const char *call, int modes)
{
    if (!fmu) return false;
    if (modes & (int)fmu->mode) return true;
    kd_fmu_tell(fmu, 3, "logStatusError", "%s must not be called %s", call, mode_word(fmu->mode));
    return false;
}

bool kd_fmu_given(kd_fmu *fmu, const char *call, size_t n, const void *first, const void *second)
{
    if (n == 0 || (first && second)) return true;
    if (fmu) kd_fmu_tell(fmu, 3, "logStatusError", "%s: an argument is NULL", call);
    return false;
}

bool kd_fmu_good(kd_fmu *fmu, const char *call, kd_status status)
{
    if (status >= 0) return true;
    const char *why = kd_plant_message(fmu->plant);
    kd_fmu_tell(fmu, 3, "logStatusError", "%s: %s", call, *why ? why : kd_status_sentence(status));
    return false;
}

// ---- values ---------------------------------------------------------------------------------------------------------

bool kd_fmu_get(kd_fmu *fmu, const char *call, const uint32_t *reference, size_t n, double *value)
{
    for (size_t i = 0; i < n; i++)
        if (!kd_fmu_good(fmu, call, kd_plant_get(fmu->plant, reference[i], value + i))) return false;
    return true;
}

bool kd_fmu_set(kd_fmu *fmu, const char *call, const uint32_t *reference, size_t n, const double *value)
{
    for (size_t i = 0; i < n; i++)
        if (!kd_fmu_good(fmu, call, kd_plant_set(fmu->plant, reference[i], value[i]))) return false;
    return true;
}

// ---- saved states ---------------------------------------------------------------------------------------------------

// Where the instance stands
static void walk(kd_fmu *fmu, kd_archive *a)
{
    int mode = (int)fmu->mode;
    kd_archive_tag(a, "fmu");
    kd_archive_int(a, &mode, 0, KD_FMU_ANY);
    KD_ARCHIVE_REALS(a, &fmu->tolerance, &fmu->t_start, &fmu->t_stop, &fmu->t);
    KD_ARCHIVE_BOOLS(a, &fmu->stopped, &fmu->terminated);
    if (a->reads && kd_archive_good(a)) fmu->mode = (kd_fmu_mode)mode;
}

bool kd_fmu_save(kd_fmu *fmu, void **state)
{
    kd_saved     *saved;
    kd_fmu_state *s = *state ? *state : kd_alloc(sizeof *s);
    if (!s || !kd_fmu_good(fmu, "saving", kd_plant_save(fmu->plant, &saved))) {
        if (!*state) kd_free(s);
        return false;
    }
    // the state of the interface joins that of the plant
    kd_archive part = kd_archive_writer();
    walk(fmu, &part);
    if (kd_saved_add(saved, "fmu", &part) < 0) {
        kd_saved_destroy(saved);
        if (!*state) kd_free(s);
        return false;
    }
    // the slot had another one before
    kd_saved_destroy(s->saved);
    s->saved = saved;
    *state = s;
    return true;
}

bool kd_fmu_restore(kd_fmu *fmu, void *state)
{
    kd_archive    part;
    char          message[400] = "";
    kd_fmu_state *s = state;
    if (!s || !kd_saved_part(s->saved, "fmu", &part)) {
        kd_fmu_tell(fmu, 3, "logStatusError", "this is no saved state of an FMU");
        return false;
    }
    if (!kd_fmu_good(fmu, "restoring", kd_plant_restore(fmu->plant, s->saved))) return false;
    walk(fmu, &part);
    if (kd_saved_end(&part, "fmu", message, sizeof message) >= 0) return true;
    kd_fmu_tell(fmu, 3, "logStatusError", "%s", message);
    return false;
}

void kd_fmu_free_state(void **state)
{
    kd_fmu_state *s = state ? *state : NULL;
    if (!s) return;
    kd_saved_destroy(s->saved);
    kd_free(s);
    *state = NULL;
}

bool kd_fmu_state_bytes(kd_fmu *fmu, void *state, const void **bytes, size_t *size)
{
    (void)fmu;
    kd_fmu_state *s = state;
    if (!s) return false;
    *bytes = kd_saved_bytes(s->saved, size);
    return true;
}

bool kd_fmu_state_of_bytes(kd_fmu *fmu, const void *bytes, size_t size, void **state)
{
    char          message[400] = "";
    kd_saved     *saved;
    kd_fmu_state *s = *state ? *state : kd_alloc(sizeof *s);
    if (!s) return false;
    if (kd_saved_of_bytes(bytes, size, &saved, message, sizeof message) < 0) {
        kd_fmu_tell(fmu, 3, "logStatusError", "%s", message);
        if (!*state) kd_free(s);
        return false;
    }
    kd_saved_destroy(s->saved);
    s->saved = saved;
    *state = s;
    return true;
}
