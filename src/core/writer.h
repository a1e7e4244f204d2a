// core/writer.h: long texts into a buffer that may be too small, with the length that the whole text has.
#ifndef KD_CORE_WRITER_H
#define KD_CORE_WRITER_H

#include <kardan/base.h>

typedef struct kd_writer {
    char  *text; // may be NULL with size 0
    size_t size;
    size_t length; // of the whole text so far
} kd_writer;

// An empty text in the buffer; NULL is fine
kd_writer kd_writer_of(char *text, size_t size);
void      kd_write(kd_writer *w, const char *format, ...) KD_PRINTF(2, 3);
void      kd_write_bytes(kd_writer *w, const char *text, size_t length); // as they are

#endif
