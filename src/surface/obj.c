// obj.c: surfaces from OBJ files: vertices "v x y z", faces "f 1 2 3 4" of three or more corners, which become a fan of triangles.
// Corners may name textures and normals (1/2/3, 1//3), which are not read, and count from the end (-1). Other lines are passed over.
#include <stdlib.h>
#include <string.h>

#include "surface/file_formats.h"

enum { MOST_CORNERS = 1000 };

// Number of the vertex that a corner names, from 0; -1: there is none
static long vertex_of(const char **at, long nvertices)
{
    char      *end;
    const long i = strtol(*at, &end, 10);
    if (end == *at) return -1;
    while (*end == '/' || *end == '-' || (*end >= '0' && *end <= '9')) end++;
    *at = end;
    if (i > 0 && i <= nvertices) return i - 1;
    return i < 0 && i >= -nvertices ? nvertices + i : -1;
}

static kd_status read_face(kd_lines *text, const char *at, const int *place, long nvertices, kd_surface_builder *b)
{
    int corner[MOST_CORNERS], n = 0;
    for (;;) {
        while (*at == ' ' || *at == '\t') at++;
        if (!*at) break;
        const char *word = at;
        const long  vertex = vertex_of(&at, nvertices);
        if (vertex < 0 || (*at && *at != ' ' && *at != '\t')) return kd_lines_refuse(text, "no such vertex", word);
        if (n == MOST_CORNERS) return kd_lines_refuse(text, "a face with too many corners", "");
        corner[n++] = place[vertex];
    }
    if (n < 3) return kd_lines_refuse(text, "a face needs three corners", "");
    if (b->ntriangles > KD_SURFACE_MOST - n) return kd_lines_refuse(text, "too many triangles", "");
    for (int i = 1; i + 1 < n; i++) kd_surface_add_triangle(b, corner[0], corner[i], corner[i + 1]);
    return KD_OK;
}

kd_status kd_obj_read(kd_lines *text, kd_surface_builder *b)
{
    char      line[8000];
    long      nvertices = 0, room = 0;
    int      *place = NULL; // of the file's vertices among those of the builder
    kd_status status = KD_OK;
    while (status == KD_OK && kd_lines_next(text, line, sizeof line)) {
        if (line[0] == 'v' && (line[1] == ' ' || line[1] == '\t')) {
            kd_vec3 r;
            if (nvertices == room) {
                const long wanted = room > 0 ? 2 * room : 256;
                int       *larger = wanted > 4L * KD_SURFACE_MOST ? NULL : kd_alloc((size_t)wanted * sizeof *larger);
                if (!larger) {
                    status = KD_ERR_MEMORY;
                    break;
                }
                if (place) memcpy(larger, place, (size_t)room * sizeof *place);
                kd_free(place);
                place = larger;
                room = wanted;
            }
            if (!kd_surface_numbers(text, line + 1, &r))
                status = KD_ERR_FILE;
            else
                place[nvertices++] = kd_surface_add_vertex(b, r, true);
        } else if (line[0] == 'f' && (line[1] == ' ' || line[1] == '\t')) {
            status = read_face(text, line + 1, place, nvertices, b);
        }
    }
    kd_free(place);
    return status;
}
