// results/table.h: a table of results (CSV) read back: title, names, units, columns of numbers.
#ifndef KD_RESULTS_TABLE_H
#define KD_RESULTS_TABLE_H

#include <kardan/base.h>

#include "core/memory.h"

typedef struct kd_table {
    kd_arena     arena;
    char        *text;  // that names and units are cut from
    const char  *title; // of the comment "title"; ""
    int          ncolumns, nrows;
    const char **name;   // (ncolumns) header line
    const char **unit;   // (ncolumns) of the comment "units"; ""
    double      *value;  // (nrows x ncolumns) row by row
    bool         is_cut; // the last line was cut off, as a run that was killed leaves it; it is not among the rows
} kd_table;

// Comment lines begin with '#'. message (may be NULL) says what is wrong, with file, line and column.
kd_status kd_table_read(const char *path, kd_table *table, char *message, size_t size) KD_NODISCARD;
void      kd_table_release(kd_table *table);
// -1: there is none
int kd_table_column(const kd_table *table, const char *name);

#endif
