// flexible/flex_file.h: a flexible body as an HDF5 file (.flex), for h5py and others.
#ifndef KD_FLEXIBLE_FLEX_FILE_H
#define KD_FLEXIBLE_FLEX_FILE_H

#include "flexible/body.h"

// The file is complete or not there. KD_OK; KD_ERR_FILE, KD_ERR_UNAVAILABLE (built without HDF5): message says why
kd_status kd_flex_write(const kd_flexible_body *body, const char *path, char *message, size_t size) KD_NODISCARD;
// KD_OK; KD_ERR_FILE: message says what is missing or has another size; KD_ERR_MEMORY, KD_ERR_UNAVAILABLE
kd_status kd_flex_read(const char *path, kd_flexible_body *body, char *message, size_t size) KD_NODISCARD;

#endif
