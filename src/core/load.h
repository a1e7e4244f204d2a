// core/load.h: the content of a file in memory.
#ifndef KD_CORE_LOAD_H
#define KD_CORE_LOAD_H

#include <kardan/base.h>

// Read an ordinary file; a pipe, a device or a folder is refused by name, without waiting for it. Of a file that is
// larger than limit bytes a little more than limit is read, for the caller to see. A zero byte follows the content.
// KD_OK: *text (for kd_free) and *length; KD_ERR_FILE: message says why; KD_ERR_MEMORY.
kd_status kd_load_file(const char *path, size_t limit, char **text, size_t *length, char *message,
                       size_t size) KD_NODISCARD;

// Where a byte of a text is, counted from 1.
typedef struct kd_text_place {
    int line, column;
} kd_text_place;

// The first zero byte inside of a text, which must not have any. false: there is none.
bool kd_find_zero_byte(const char *text, size_t length, kd_text_place *place);

#endif
