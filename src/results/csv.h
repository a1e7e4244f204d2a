// results/csv.h: table of results as text: comment lines, one header line with names, then rows of numbers that read
// back exactly.
#ifndef KD_RESULTS_CSV_H
#define KD_RESULTS_CSV_H

#include <kardan/base.h>
#include <stdio.h>

typedef struct kd_csv kd_csv;

// Open the file. On failure *csv is NULL and message (may be NULL) says why.
kd_status kd_csv_create(const char *path, int ncolumns, kd_csv **csv, char *message, size_t size) KD_NODISCARD;
// A line "# name: value" in front of the table; line breaks inside the value become spaces.
void kd_csv_comment(kd_csv *csv, const char *name, const char *value);
// A comment line of ncolumns words, separated as the header line is; NULL words stand for none.
void kd_csv_comment_row(kd_csv *csv, const char *name, const char *const *words);
// The header line. Names with commas, quotes or line breaks are quoted.
void kd_csv_header(kd_csv *csv, const char *const *names);
// One row of ncolumns values that read back exactly. KD_ERR_NOT_FINITE: NaN or infinity, nothing is written.
// KD_ERR_FILE: failed.
kd_status kd_csv_row(kd_csv *csv, const double *values) KD_NODISCARD;
// Close the file and free the writer. KD_ERR_FILE if any write failed. NULL is fine.
kd_status kd_csv_close(kd_csv *csv, char *message, size_t size) KD_NODISCARD;
// Free the writer without leaving a file. NULL is fine.
void kd_csv_abandon(kd_csv *csv);

// A writer on a file that is open already, for the head of a table; unwrapping leaves that file open.
kd_status kd_csv_wrap(FILE *file, int ncolumns, kd_csv **csv) KD_NODISCARD;
void      kd_csv_unwrap(kd_csv *csv); // NULL is fine
FILE     *kd_csv_file(kd_csv *csv);   // for rows that are written already

// One cell of text; with commas, quotes or line breaks it is quoted.
void kd_csv_put_text(FILE *file, const char *text);

#endif
