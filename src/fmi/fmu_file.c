// fmu_file.c: an FMU is opened: archive, description, binary for this machine.
#include "fmi/fmu_file.h"

#include <string.h>

#include "core/load.h"
#include "core/text.h"

#if defined(__aarch64__)
static const char *const PLATFORM[2] = {"aarch64-linux", "aarch64-linux"};
#else
static const char *const PLATFORM[2] = {"linux64", "x86_64-linux"};
#endif

static void tell_finding(kd_fmu_finding tell, void *context, const char *format, const char *name)
{
    char text[1200];
    kd_text(text, sizeof text, format, name); // NOLINT: formats of this file
    if (tell) tell(0, false, text, context);
}

// Folders that the standard knows
static bool is_known(const char *name)
{
    static const char *const KNOWN[] = {
        "modelDescription.xml", "model.png", "binaries/",          "sources/", "resources/",
        "documentation/",       "licenses/", "terminalsAndIcons/", "extra/"};
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (strncmp(name, KNOWN[i], strlen(KNOWN[i])) == 0) return true;
    return false;
}

const char *kd_fmu_file_binary(const kd_fmu_file *fmu, bool exchange, char *name, size_t size)
{
    const char *identifier = exchange ? fmu->about.exchange.identifier : fmu->about.cosimulation.identifier;
    if (!identifier) return NULL;
    kd_text(name, size, "binaries/%s/%s.so", PLATFORM[fmu->about.version == 3], identifier);
    return kd_zip_find(fmu->zip, name) >= 0 ? name : NULL;
}

static void check_files(const kd_fmu_file *fmu, kd_fmu_finding tell, void *context)
{
    char name[600];
    bool any = false;
    for (int i = 0; i < kd_zip_count(fmu->zip); i++) {
        const kd_zip_entry e = kd_zip_at(fmu->zip, i);
        any = any || strncmp(e.name, "binaries/", 9) == 0 || strncmp(e.name, "sources/", 8) == 0;
        if (!is_known(e.name))
            tell_finding(tell, context, "the archive has '%.400s', of which the standard knows nothing", e.name);
    }
    if (!any) tell_finding(tell, context, "there are neither binaries nor sources%s", "");
    const bool here =
        kd_fmu_file_binary(fmu, true, name, sizeof name) || kd_fmu_file_binary(fmu, false, name, sizeof name);
    if (any && !here)
        tell_finding(tell, context, "there is no binary for this machine (%s)", PLATFORM[fmu->about.version == 3]);
}

kd_status kd_fmu_file_open(kd_fmu_file *fmu, const char *path, kd_fmu_finding tell, void *context, char *message,
                           size_t size)
{
    *fmu = (kd_fmu_file){0};
    // an archive with a description in it
    char      why[700] = "";
    kd_status status = kd_load_file(path, KD_ZIP_MAX_BYTES, &fmu->bytes, &fmu->size, why, sizeof why);
    if (status >= 0) status = kd_zip_open((const unsigned char *)fmu->bytes, fmu->size, &fmu->zip, why, sizeof why);
    const int i = status >= 0 ? kd_zip_find(fmu->zip, "modelDescription.xml") : -1;
    if (status >= 0 && i < 0) {
        kd_text(why, sizeof why, "there is no modelDescription.xml in it: this is no FMU");
        status = KD_ERR_FILE;
    }
    // the description is read, then what it promises to be in the archive
    if (status >= 0) status = kd_zip_unpack(fmu->zip, i, &fmu->text, why, sizeof why);
    if (status >= 0)
        status = kd_fmi_description_read(fmu->text, kd_zip_at(fmu->zip, i).size, &fmu->arena, &fmu->about, tell,
                                         context, why, sizeof why);
    if (status >= 0) check_files(fmu, tell, context);
    if (status < 0) {
        kd_text(message, size, "%s: %s", path, *why ? why : kd_status_sentence(status));
        kd_fmu_file_close(fmu);
    }
    return status;
}

void kd_fmu_file_close(kd_fmu_file *fmu)
{
    kd_zip_close(fmu->zip);
    kd_arena_release(&fmu->arena);
    kd_free(fmu->text);
    kd_free(fmu->bytes);
    *fmu = (kd_fmu_file){0};
}
