// load.c: the content of a file in memory.
#include "modelfile/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

kd_status kd_load_file(const char *path, size_t limit, char **text, size_t *length, char *message, size_t size)
{
    size_t    capacity = 1 << 16;
    kd_status status = KD_ERR_MEMORY;
    char     *content = kd_alloc(capacity);
    errno = 0;
    FILE *file = fopen(path, "rb");
    *length = 0;
    if (!file) {
        kd_text(message, size, "%s: the file cannot be opened%s%s", path, errno ? ": " : "",
                errno ? strerror(errno) : "");
        status = KD_ERR_FILE;
    }
    while (file && content) {
        *length += fread(content + *length, 1, capacity - *length, file);
        if (ferror(file)) {
            kd_text(message, size, "%s: the file cannot be read", path);
            status = KD_ERR_FILE;
            break;
        }
        if (*length < capacity || *length > limit) { // the rest of what is too large is not needed
            status = KD_OK;
            break;
        }
        char *larger = kd_alloc(2 * capacity);
        if (larger) memcpy(larger, content, *length);
        kd_free(content);
        content = larger;
        capacity *= 2;
    }
    if (file) fclose(file);
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", path);
    if (status < 0) {
        kd_free(content);
        content = NULL;
    }
    *text = content;
    return status;
}
