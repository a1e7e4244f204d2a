// model/tyre_file.h: tyre property files and roads that elements of a model name.
#ifndef KARDAN_MODEL_TYRE_FILE_H
#define KARDAN_MODEL_TYRE_FILE_H

#include "model/model.h"
#include "vehicle/crg.h"
#include "vehicle/tir.h"

// A file as it was read, with the curves of its tables; a model reads each file once.
typedef struct kd_model_tyre {
    const char           *path;
    kd_tir                tir;
    kd_curve             *deflection, *bottoming; // load over deflection; NULL: the file has no such table
    struct kd_model_tyre *next;
} kd_model_tyre;

// Read a file, or find it among those that were read. KD_ERR_MODEL: message says file, line and reason.
kd_status kd_model_tyre_read(kd_model *m, const char *path, const kd_model_tyre **tyre, char *message,
                             size_t size) KD_NODISCARD;
void      kd_model_tyres_release(kd_model_tyre *first);

// The same of OpenCRG files
typedef struct kd_model_road {
    const char           *path;
    kd_crg               *crg;
    struct kd_model_road *next;
} kd_model_road;
kd_status kd_model_road_read(kd_model *m, const char *path, const kd_model_road **road, char *message,
                             size_t size) KD_NODISCARD;
void      kd_model_roads_release(kd_model_road *first);

#endif
