// results/file.h: files that are complete or not there; text inside XML and HTML.
#ifndef KD_RESULTS_FILE_H
#define KD_RESULTS_FILE_H

#include <kardan/base.h>
#include <stdio.h>

// Open for writing. What is written goes to a temporary file beside path, which takes its place when it is closed
// without error: whoever finds a file under the name finds all of it. What is no ordinary file (a device, a pipe) is
// written directly. On failure *file is NULL and message (may be NULL) says why.
kd_status kd_file_open(const char *path, FILE **file, char *message, size_t size) KD_NODISCARD;
// Flush, close and give the file its name; KD_ERR_FILE if this or any earlier write failed: then the temporary file is
// removed, and what was there before under the name stays. NULL is fine.
kd_status kd_file_close(FILE *file, const char *path, char *message, size_t size) KD_NODISCARD;
// Close and remove what was written. NULL is fine.
void kd_file_abandon(FILE *file, const char *path);

// Text with & < > " ' escaped and control characters dropped. If it has more than max_characters characters, an
// ellipsis replaces its middle.
void kd_file_escaped(FILE *file, const char *text, int max_characters);
// The whole text, line breaks and tabulators included.
void kd_file_escaped_lines(FILE *file, const char *text);

#endif
