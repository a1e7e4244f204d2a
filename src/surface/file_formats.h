// surface/file_formats.h: the readers of surface.c; each puts vertices and triangles into a builder.
#ifndef KD_SURFACE_FILE_FORMATS_H
#define KD_SURFACE_FILE_FORMATS_H

#include "core/lines.h"
#include "surface/builder.h"

// Three finite numbers of at most 1e30 at the beginning of a line; NULL: there are not, which has been told.
bool kd_surface_numbers(kd_lines *text, const char *words, kd_vec3 *r);

bool      kd_stl_is_binary(const char *bytes, size_t length); // by its length, which the number of triangles tells
kd_status kd_stl_read_binary(const char *path, const char *bytes, size_t length, kd_surface_builder *builder,
                             char *message, size_t size) KD_NODISCARD;
kd_status kd_stl_read_text(kd_lines *text, kd_surface_builder *builder) KD_NODISCARD;
kd_status kd_obj_read(kd_lines *text, kd_surface_builder *builder) KD_NODISCARD;

#endif
