// mesh_shape.c: files of triangles that bodies of a model are drawn by, and that give them mass where they are closed.
#include "model/mesh_shape.h"

#include <string.h>

#include "core/text.h"
#include "model/build.h"

static kd_status read_mesh(kd_model_mesh *mesh, const char *path, char *message, size_t size)
{
    kd_status status = kd_surface_read(path, 1.0, &mesh->surface, message, size);
    if (status < 0) return status == KD_ERR_MEMORY ? status : KD_ERR_MODEL;
    status = kd_surface_check(&mesh->surface, &mesh->faults);
    if (status < 0) kd_surface_release(&mesh->surface);
    if (status < 0) return status;
    mesh->moments = kd_surface_moments_of(&mesh->surface);
    mesh->closed = kd_surface_is_closed(&mesh->faults) && !mesh->faults.inside_out && mesh->moments.volume > 0.0;
    return KD_OK;
}

kd_status kd_model_mesh_read(kd_model *m, const char *path, const kd_model_mesh **mesh, char *message, size_t size)
{
    kd_model_mesh **end = &m->private->meshes;
    *mesh = NULL;
    // a file that is named again was read before
    for (; *end; end = &(*end)->next) {
        if (strcmp((*end)->path, path) != 0) continue;
        *mesh = *end;
        return KD_OK;
    }
    kd_model_mesh *new = kd_alloc(sizeof *new);
    const char *kept = kd_model_text(m, path);
    kd_status   status = new &&kept ? read_mesh(new, path, message, size) : KD_ERR_MEMORY;
    if (status < 0) {
        kd_free(new);
        return status;
    }
    new->path = kept;
    *mesh = *end = new;
    return KD_OK;
}

void kd_model_meshes_release(kd_model_mesh *first)
{
    while (first) {
        kd_model_mesh *next = first->next;
        kd_surface_release(&first->surface);
        kd_free(first);
        first = next;
    }
}
