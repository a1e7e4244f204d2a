// modelfile/paths.h: which files a model may read.
#ifndef KD_MODELFILE_PATHS_H
#define KD_MODELFILE_PATHS_H

#include <kardan/base.h>

enum { KD_PATH_LENGTH = 4096 };

// The file that a model names, as `file: data/road.csv`: relative to the folder of the file that names it, and inside of
// that folder after links are resolved. folder NULL: the text came from memory and has none. KD_OK: path can be opened
// (the name as it was written, behind the folder); KD_ERR_MODEL: why says what is wrong, a sentence without full stop.
kd_status kd_model_file_path(const char *folder, const char *written, char path[KD_PATH_LENGTH], char *why,
                             size_t size) KD_NODISCARD;
// The folder of a file: "models" of "models/car.yaml", "." of "car.yaml". KD_ERR_MODEL: the name is too long.
kd_status kd_folder_of(const char *file, char folder[KD_PATH_LENGTH]) KD_NODISCARD;
// What stands of the place behind the folder, NULL: it is not inside. Both without links.
const char *kd_path_inside(const char *folder, const char *place);
char       *kd_real_path(const char *path); // without links and dots, of malloc; NULL: there is no such place

#endif
