// model/part.h: flexible bodies from files as bodies of a model.
#ifndef KARDAN_MODEL_PART_H
#define KARDAN_MODEL_PART_H

#include "flexible/body.h"
#include "model/model.h"

// A file as it was read; a model reads each file once.
typedef struct kd_model_part {
    const char      *path;
    int              piece, pieces; // 1, 1: all of it
    kd_flexible_body body;
    // of a body in a subsystem that is mirrored: whose image it is, by which matrix; NULL: of none
    const kd_flexible_body *image_of;
    kd_mat3                 L;
    struct kd_model_part   *next;
} kd_model_part;

// The body of a file that was read before; NULL: it was not
const kd_flexible_body *kd_model_part_find(const kd_model *m, const char *path, int piece, int pieces);
// A body that was read from path: the model owns it from now on, also if this fails. NULL: memory is short
const kd_flexible_body *kd_model_part_enter(kd_model *m, const char *path, int piece, int pieces,
                                            kd_flexible_body *body);
// Read a file (.flex, .SID_FEM), or find it among those that were read. KD_ERR_MODEL: message says file and reason.
kd_status kd_model_part_read(kd_model *m, const char *path, const kd_flexible_body **body, char *message,
                             size_t size) KD_NODISCARD;
void      kd_model_parts_release(kd_model_part *first);

// part of kd_model_finish: modes, mass, centre and inertia of a flexible body. false: an error has been written
bool kd_finish_flexible(kd_model *m, int body);
// The file that a body was read from; NULL: it was not read here
const char *kd_model_part_path(const kd_model *model, const kd_flexible_body *body);

#endif
