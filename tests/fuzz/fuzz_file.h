// tests/fuzz/fuzz_file.h: bytes as a file in memory, for readers that want a path. Needs _GNU_SOURCE.
#ifndef KD_FUZZ_FILE_H
#define KD_FUZZ_FILE_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

// The path of a file with these bytes; the file of the call before is gone.
static inline const char *file_of(const uint8_t *data, size_t size)
{
    static int  file = -1;
    static char path[64];
    if (file < 0) file = memfd_create("fuzz", 0);
    demand(file >= 0 && ftruncate(file, 0) == 0);
    demand(pwrite(file, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return path;
}

#endif
