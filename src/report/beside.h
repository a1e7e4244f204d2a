// report/beside.h: the run of another report, to be shown beside the one of a page: its data are copied as they are.
#ifndef KD_REPORT_BESIDE_H
#define KD_REPORT_BESIDE_H

#include <kardan/base.h>
#include <stdio.h>

typedef struct kd_beside kd_beside;

// KD_ERR_FILE: no such file, or no report with the viewer's data; message says why, and *beside is NULL.
kd_status kd_beside_read(const char *path, kd_beside **beside, char *message, size_t size) KD_NODISCARD;
void      kd_beside_destroy(kd_beside *beside); // NULL is fine
// The data as parts of a page that no browser runs: <script data-kardan="beside-scene">, ..
void kd_beside_write(const kd_beside *beside, FILE *file);

#endif
