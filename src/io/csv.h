// io/csv.h: table of results as text: one header line with names, then rows of numbers that read back exactly.
#ifndef KD_IO_CSV_H
#define KD_IO_CSV_H

#include <kardan/base.h>

typedef struct kd_csv kd_csv;

// Create the file and write the header line. Names with commas, quotes or line breaks are quoted. On failure *csv is
// NULL and message (may be NULL) says why.
kd_status kd_csv_create(const char *path, int ncolumns, const char *const *names, kd_csv **csv, char *message,
                        size_t size) KD_NODISCARD;
// One row of ncolumns values, %.17g. KD_ERR_NOT_FINITE: NaN or infinity, nothing is written. KD_ERR_FILE: failed.
kd_status kd_csv_row(kd_csv *csv, const double *values) KD_NODISCARD;
// Close the file and free the writer. KD_ERR_FILE if any write failed. NULL is fine.
kd_status kd_csv_close(kd_csv *csv, char *message, size_t size) KD_NODISCARD;

#endif
