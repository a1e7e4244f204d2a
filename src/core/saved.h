// core/saved.h: parts of what is saved, for those who save.
#ifndef KD_CORE_SAVED_H
#define KD_CORE_SAVED_H

#include "core/archive.h"
#include <kardan/saved.h>

// An empty one of time t.
kd_status kd_saved_create(double t, kd_saved **saved) KD_NODISCARD;
// A part that a writer has filled; the archive is released in any case. KD_ERR_MEMORY, or why the archive failed.
kd_status kd_saved_add(kd_saved *saved, const char *name, kd_archive *part) KD_NODISCARD;
// A reader of a part; false: there is none of that name.
bool kd_saved_part(const kd_saved *saved, const char *name, kd_archive *part);
// The walk over a part is over: all of it was read. KD_OK, or the failure, told in message.
kd_status kd_saved_end(const kd_archive *part, const char *name, char *message, size_t size) KD_NODISCARD;

#endif
