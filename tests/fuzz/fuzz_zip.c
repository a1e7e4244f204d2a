// tests/fuzz/fuzz_zip.c: any bytes as an archive.
//
// Whatever is read: a refusal says why; names of an accepted one stay inside, its files unpack to the sizes that it tells, or are
// refused.
#include "core/memory.h"
#include "fmi/zip.h"

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char            message[400] = "";
    kd_zip         *zip;
    const kd_status status = kd_zip_open(data, size, &zip, message, sizeof message);
    if (status < 0) {
        demand(!zip && (message[0] || status == KD_ERR_MEMORY));
        return 0;
    }
    for (int i = 0; i < kd_zip_count(zip); i++) {
        const kd_zip_entry e = kd_zip_at(zip, i);
        char              *bytes = NULL;
        demand(e.name[0] && e.name[0] != '/' && !strstr(e.name, "/../") && strncmp(e.name, "../", 3) != 0);
        demand(kd_zip_find(zip, e.name) == i);
        if (e.size > 1 << 20) continue; // the fuzzer's own memory
        if (kd_zip_unpack(zip, i, &bytes, message, sizeof message) >= 0)
            demand(bytes && bytes[e.size] == '\0');
        else
            demand(!bytes && message[0]);
        kd_free(bytes);
    }
    kd_zip_close(zip);
    return 0;
}
