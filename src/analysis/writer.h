// analysis/writer.h: long texts into a buffer that may be too small, with the length that the whole text has.
#ifndef KD_ANALYSIS_WRITER_H
#define KD_ANALYSIS_WRITER_H

#include <kardan/base.h>

typedef struct kd_writer {
    char  *text; // may be NULL with size 0
    size_t size;
    size_t length; // of the whole text so far
} kd_writer;

void kd_write(kd_writer *w, const char *format, ...) KD_PRINTF(2, 3);
void kd_write_string(kd_writer *w, const char *text);                 // as a JSON string
void kd_write_number(kd_writer *w, const char *before, double value); // NaN and infinity: null

#endif
