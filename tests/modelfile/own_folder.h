// own_folder.h: a folder for the files of a test program, made before its tests and removed behind them.
#ifndef KARDAN_TESTS_OWN_FOLDER_H
#define KARDAN_TESTS_OWN_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

static char folder[200];

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/kardan-test-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

#endif
