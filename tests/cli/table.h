// cli/table.h: numbers of a table that a command has written
#ifndef KARDAN_TESTS_CLI_TABLE_H
#define KARDAN_TESTS_CLI_TABLE_H

#include "results/table.h"

static inline double value_of(const kd_table *t, int row, const char *name)
{
    const int column = kd_table_column(t, name);
    assert_true(column >= 0);
    return t->value[(size_t)row * (size_t)t->ncolumns + (size_t)column];
}

#endif
