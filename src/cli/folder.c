// folder.c: the folder that results go to; names of one file.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/text.h"

kd_status kd_cli_make_folder(const char *folder, char *message, size_t size)
{
    char        path[4096];
    struct stat found;
    snprintf(path, sizeof path, "%s", folder);
    // each folder on the way, from the left; what is there already is fine
    for (char *c = path + 1;; c++) {
        if (*c != '/' && *c != '\0') continue;
        char end = *c;
        *c = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            kd_text(message, size, "cannot create the folder '%s': %s", path, strerror(errno));
            return KD_ERR_FILE;
        }
        if (end == '\0') break;
        *c = end;
    }
    // it must be a folder that can be written to
    int reason = stat(path, &found) != 0 ? errno : !S_ISDIR(found.st_mode) ? ENOTDIR : 0;
    if (reason == 0 && access(path, W_OK | X_OK) != 0) reason = errno;
    if (reason == 0) return KD_OK;
    kd_text(message, size, "cannot write to the folder '%s': %s", path, strerror(reason));
    return KD_ERR_FILE;
}

// two names, one inode
bool kd_cli_is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
