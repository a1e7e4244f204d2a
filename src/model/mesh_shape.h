// model/mesh_shape.h: surfaces from files as shapes of bodies.
#ifndef KARDAN_MODEL_MESH_SHAPE_H
#define KARDAN_MODEL_MESH_SHAPE_H

#include "model/model.h"
#include "surface/surface.h"

// A file as it was read, lengths in its own unit; a model reads each file once.
typedef struct kd_model_mesh {
    const char           *path;
    kd_surface            surface;
    kd_surface_moments    moments; // of unit density; of what is closed
    kd_surface_faults     faults;
    bool                  closed; // and looks outwards: it has mass
    struct kd_model_mesh *next;
} kd_model_mesh;

// Read a file, or find it among those that were read. KD_ERR_MODEL: message says file, place and reason.
kd_status kd_model_mesh_read(kd_model *m, const char *path, const kd_model_mesh **mesh, char *message,
                             size_t size) KD_NODISCARD;
void      kd_model_meshes_release(kd_model_mesh *first);

#endif
