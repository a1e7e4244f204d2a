// saved.c: saved runs know the model and the parameters that they belong to.
#include "cli/saved.h"

#include <stdint.h>
#include <string.h>

#include "core/saved.h"
#include "core/text.h"

static const char PART[] = "model";

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; text && *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

// The file itself and every --set; the walk fails where they are others
static void archive(kd_archive *a, const kd_subject *s, const kd_subject_request *request)
{
    char           name[200], here[200];
    const uint64_t hash = hash_of(s->text);
    kd_archive_same(a, (long)(hash >> 32), "the model file is another one, or was changed");
    kd_archive_same(a, (long)(hash & 0xffffffff), "the model file is another one, or was changed");
    kd_archive_same(a, request->settings.count, "number of --set");
    for (int i = 0; i < request->settings.count && kd_archive_good(a); i++) {
        char        there[200];
        const char *value = kd_subject_setting(request, i, "", name, sizeof name);
        kd_text(here, sizeof here, "%s=%s", name, value);
        kd_text(there, sizeof there, "%s", here);
        kd_archive_text(a, there, sizeof there);
        if (kd_archive_good(a) && strcmp(there, here) != 0)
            kd_archive_fail(a, KD_ERR_SAVED, "--set %.60s there, --set %.60s here", there, here);
    }
}

kd_status kd_cli_saved_mark(kd_saved *saved, const kd_subject *subject, const kd_subject_request *request)
{
    kd_archive a = kd_archive_writer();
    archive(&a, subject, request);
    return kd_saved_add(saved, PART, &a);
}

kd_status kd_cli_saved_check(const kd_saved *saved, const kd_subject *subject, const kd_subject_request *request,
                             char *message, size_t size)
{
    kd_archive a;
    if (!kd_saved_part(saved, PART, &a)) return KD_OK; // written by a program, not by kardan simulate
    archive(&a, subject, request);
    return kd_saved_end(&a, PART, message, size);
}

bool kd_cli_is_state_table(const char *path)
{
    return kd_text_has_ending(path, ".csv");
}
