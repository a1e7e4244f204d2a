// kardan/saved.h: a running simulation as bytes: kept in memory, written to a file, read by another process.
//
// What goes on from it gives the same bits as what was not stopped (kd_simulation_save, kd_realtime_save). Bytes carry
// the version of kardan, the byte order and a checksum, and are checked field by field: they may come from anywhere.
// They fit the same version of kardan with the same equations and options. Guide: docs/guide/saved.md
#ifndef KARDAN_SAVED_H
#define KARDAN_SAVED_H

#include <kardan/base.h>

KD_EXTERN_C_BEGIN

typedef struct kd_saved kd_saved;

// From bytes that kd_saved_bytes gave; they are copied. KD_ERR_SAVED: message (may be NULL) says what is wrong.
KD_API kd_status kd_saved_of_bytes(const void *bytes, size_t size, kd_saved **saved, char *message,
                                   size_t message_size) KD_NODISCARD;
// A file; the name appears when all is written. KD_ERR_FILE, KD_ERR_SAVED, message says why.
KD_API kd_status kd_saved_write(const kd_saved *saved, const char *path, char *message, size_t size) KD_NODISCARD;
KD_API kd_status kd_saved_read(const char *path, kd_saved **saved, char *message, size_t size) KD_NODISCARD;

KD_API const void *kd_saved_bytes(const kd_saved *saved, size_t *size);   // valid as long as saved is
KD_API double      kd_saved_time(const kd_saved *saved);                  // [s] of the state
KD_API bool        kd_saved_has(const kd_saved *saved, const char *part); // "simulation", "realtime", "certificate"
KD_API void        kd_saved_destroy(kd_saved *saved);                     // NULL is fine

KD_EXTERN_C_END
#endif
