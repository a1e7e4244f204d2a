// modelfile/csv.h: numbers of a file of comma-separated values.
//
// Values are separated by commas, semicolons, tabs or blanks, whichever the first line has, in this order. Lines that are
// empty or begin with '#' are passed over. The first line is a header if one of its values is no number; names may stand
// in quotes. Everything else must be finite numbers with a point, as many in each line.
#ifndef KD_MODELFILE_CSV_H
#define KD_MODELFILE_CSV_H

#include "core/memory.h"

enum {
    KD_CSV_MAX_BYTES = 1 << 28,
    KD_CSV_MAX_COLUMNS = 4096,
    KD_CSV_MAX_NUMBERS = 1 << 24,
};

typedef struct kd_csv_table {
    int          rows, columns;
    double      *number; // (rows x columns) row by row
    int         *line;   // (rows) where each row stands, from 1 on
    const char **name;   // (columns) of the header; NULL: there is none
    kd_arena     arena;
} kd_csv_table;

// Read the text of a file; path is for messages ("road.csv:3: .."). grid: the first line holds numbers behind its first
// value, which is not looked at and stays 0. KD_OK, KD_ERR_MODEL (message), KD_ERR_MEMORY; on failure there is nothing to
// release.
kd_status kd_csv_parse(const char *path, const char *text, size_t length, bool grid, kd_csv_table *table, char *message,
                       size_t size) KD_NODISCARD;
void      kd_csv_release(kd_csv_table *table);
// A column by its name or its number from 1 on; -1: there is none, message says what there is.
int kd_csv_column(const char *path, const kd_csv_table *table, const char *word, char *message, size_t size);

#endif
