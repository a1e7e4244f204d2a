// io/file.h: text files whose writes are checked, numbers that do not depend on the locale, text inside XML and HTML.
#ifndef KD_IO_FILE_H
#define KD_IO_FILE_H

#include <kardan/base.h>
#include <stdio.h>

// Open for writing. On failure *file is NULL and message (may be NULL) says why.
kd_status kd_file_open(const char *path, FILE **file, char *message, size_t size) KD_NODISCARD;
// Flush and close; KD_ERR_FILE if this or any earlier write to the file failed. NULL is fine.
kd_status kd_file_close(FILE *file, const char *path, char *message, size_t size) KD_NODISCARD;

// A number as printf writes it, with a decimal point in every locale. Returns buffer.
const char *kd_file_number(double value, const char *format, char *buffer, size_t size);

// Text with & < > " ' escaped and control characters dropped. If it has more than max_characters characters, an
// ellipsis replaces its middle.
void kd_file_escaped(FILE *file, const char *text, int max_characters);

#endif
