// Published data that is not part of kardan: folders "flexible", "vehicle" of the folder KARDAN_DATA (environment), or beside the
// project. Tests that need it are skipped where it is not there.
#ifndef KD_TEST_PUBLISHED_H
#define KD_TEST_PUBLISHED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef KD_PUBLISHED
#define KD_PUBLISHED KD_SOURCE_DIR "/../shared"
#endif

// Path of a published file; "" if there is none
static inline const char *published_in(const char *subject, const char *name, char *path, size_t size)
{
    const char *folder = getenv("KARDAN_DATA");
    snprintf(path, size, "%s/%s/%s", folder ? folder : KD_PUBLISHED, subject, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        path[0] = '\0';
        return path;
    }
    fclose(file);
    return path;
}

static inline const char *published(const char *name, char *path, size_t size)
{
    return published_in("flexible", name, path, size);
}

#endif
