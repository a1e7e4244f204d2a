// load.h: the content of a file in memory.
#ifndef KD_MODELFILE_LOAD_H
#define KD_MODELFILE_LOAD_H

#include <kardan/base.h>

// Read a file; of one that is larger than limit bytes a little more than limit is read, for the caller to see.
// KD_OK: *text (for kd_free) and *length; KD_ERR_FILE: message says why; KD_ERR_MEMORY.
kd_status kd_load_file(const char *path, size_t limit, char **text, size_t *length, char *message,
                       size_t size) KD_NODISCARD;

#endif
