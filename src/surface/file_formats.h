// surface/file_formats.h: the readers of surface.c; each puts vertices and triangles into a builder.
#ifndef KD_SURFACE_FILE_FORMATS_H
#define KD_SURFACE_FILE_FORMATS_H

#include "surface/builder.h"

// The text of a file that is read line by line, with a zero byte behind it.
typedef struct kd_surface_text {
    const char *path, *at, *end;
    int         line;
    char       *message;
    size_t      size;
} kd_surface_text;

// The next line that is not empty, without its end, in words of at most 200 bytes; false: there is none.
bool kd_surface_next_line(kd_surface_text *text, char *line, size_t size);
// Three finite numbers of at most 1e30 at the beginning of a line; NULL: there are not, which has been told.
bool kd_surface_numbers(kd_surface_text *text, const char *words, kd_vec3 *r);
// "path:line: ..." into the message; answers KD_ERR_FILE.
kd_status kd_surface_refuse(kd_surface_text *text, const char *what, const char *word);

bool      kd_stl_is_binary(const char *bytes, size_t length); // by its length, which the number of triangles tells
kd_status kd_stl_read_binary(const char *path, const char *bytes, size_t length, kd_surface_builder *builder,
                             char *message, size_t size) KD_NODISCARD;
kd_status kd_stl_read_text(kd_surface_text *text, kd_surface_builder *builder) KD_NODISCARD;
kd_status kd_obj_read(kd_surface_text *text, kd_surface_builder *builder) KD_NODISCARD;

#endif
