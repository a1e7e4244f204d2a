// core/text.h: bounded text buffers for messages; hash and end of a text.
#ifndef KD_CORE_TEXT_H
#define KD_CORE_TEXT_H

#include <kardan/base.h>

// Write to buffer (may be NULL or of size 0: nothing happens); cuts off what does not fit.
void kd_text(char *buffer, size_t size, const char *format, ...) KD_PRINTF(3, 4);
// The words why something is refused, and the status that says so.
kd_status kd_refuse(kd_status status, char *message, size_t size, const char *format, ...) KD_PRINTF(4, 5);
// The same as kd_text, behind what the buffer holds already.
void kd_text_append(char *buffer, size_t size, const char *format, ...) KD_PRINTF(3, 4);

// A hash of the letters (FNV-1a, 32 bits) for tables of names.
unsigned kd_text_hash(const char *text);
bool     kd_text_ends_with(const char *text, const char *end);
bool     kd_text_has_ending(const char *text, const char *end); // the same in capitals or small letters

#endif
