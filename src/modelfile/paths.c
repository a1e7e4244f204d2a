// paths.c: files that belong to a model. A model comes from anywhere: what it names must lie beside it.
#define _XOPEN_SOURCE 700 // realpath
#include "modelfile/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

const char *kd_path_inside(const char *folder, const char *place)
{
    const size_t length = strlen(folder);
    if (length == 1 && folder[0] == '/') return place + 1;
    return strncmp(folder, place, length) == 0 && place[length] == '/' ? place + length + 1 : NULL;
}

char *kd_real_path(const char *path)
{
    return realpath(path, NULL);
}

kd_status kd_folder_of(const char *file, char folder[KD_PATH_LENGTH])
{
    const char  *slash = strrchr(file, '/');
    const size_t length = slash ? (size_t)(slash - file) + (slash == file) : 1;
    if (length >= KD_PATH_LENGTH) return KD_ERR_MODEL;
    memcpy(folder, slash ? file : ".", length);
    folder[length] = '\0';
    return KD_OK;
}

kd_status kd_model_file_path(const char *folder, const char *written, char path[KD_PATH_LENGTH], char *why, size_t size)
{
    if (!folder)
        return kd_refuse(KD_ERR_MODEL, why, size,
                         "'%.100s' cannot be found: a model that was not read from a file has no folder", written);
    if (!written[0]) return kd_refuse(KD_ERR_MODEL, why, size, "the name of the file is empty");
    if (written[0] == '/')
        return kd_refuse(KD_ERR_MODEL, why, size, "'%.100s' must be relative to the folder of the model", written);
    if (strlen(folder) + strlen(written) + 2 > KD_PATH_LENGTH)
        return kd_refuse(KD_ERR_MODEL, why, size, "the name '%.100s..' is too long", written);
    kd_text(path, KD_PATH_LENGTH, "%s%s%s", strcmp(folder, ".") == 0 ? "" : folder, strcmp(folder, ".") == 0 ? "" : "/",
            written);
    // both without links and dots
    char     *home = realpath(folder, NULL), *place = realpath(path, NULL);
    kd_status status = KD_OK;
    if (!place)
        status = errno == ENOMEM
                     ? KD_ERR_MEMORY
                     : kd_refuse(KD_ERR_MODEL, why, size, "there is no file '%.100s' beside the model", written);
    else if (home && strcmp(home, place) == 0)
        status = kd_refuse(KD_ERR_MODEL, why, size, "'%.100s' is a folder, not a file", written);
    else if (!home || !kd_path_inside(home, place))
        status = kd_refuse(KD_ERR_MODEL, why, size, "'%.100s' is outside of the folder of the model", written);
    free(home); // of the C library
    free(place);
    return status;
}
