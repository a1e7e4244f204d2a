// stl.c: surfaces from STL files.
//
// Binary: 80 bytes of anything, the number of triangles (4 bytes), then 50 bytes each: normal and three corners as single precision
// numbers, low byte first, and two bytes of anything. Text: facet normal .. / outer loop / vertex x y z (three times) / endloop /
// endfacet. Normals are not read: the order of the corners tells the outside.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/text.h"
#include "surface/file_formats.h"

enum { HEAD = 84, FACET = 50, COUNT_AT = 80, NORMAL = 12 };

static uint32_t word_at(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static double number_at(const char *bytes)
{
    const uint32_t word = word_at(bytes);
    float          x;
    memcpy(&x, &word, sizeof x);
    return (double)x;
}

bool kd_stl_is_binary(const char *bytes, size_t length)
{
    return length >= HEAD && (length - HEAD) / FACET == word_at(bytes + COUNT_AT) && (length - HEAD) % FACET == 0;
}

kd_status kd_stl_read_binary(const char *path, const char *bytes, size_t length, kd_surface_builder *b, char *message,
                             size_t size)
{
    const size_t n = (length - HEAD) / FACET;
    if (n > KD_SURFACE_MOST) {
        kd_text(message, size, "%s: %zu triangles; at most %d are read", path, n, KD_SURFACE_MOST);
        return KD_ERR_FILE;
    }
    for (size_t i = 0; i < n; i++) {
        const char *corner = bytes + HEAD + i * FACET + NORMAL;
        int         vertex[3];
        for (int k = 0; k < 3; k++, corner += 12) {
            const kd_vec3 r = {number_at(corner), number_at(corner + 4), number_at(corner + 8)};
            if (!(isfinite(r.x) && isfinite(r.y) && isfinite(r.z))) {
                kd_text(message, size, "%s: triangle %zu has a corner that is not finite", path, i + 1);
                return KD_ERR_FILE;
            }
            vertex[k] = kd_surface_add_vertex(b, r, true);
        }
        kd_surface_add_triangle(b, vertex[0], vertex[1], vertex[2]);
    }
    return KD_OK;
}

// the words behind `word`; NULL: the line begins otherwise
static const char *behind(const char *line, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\t' || line[n] == '\0') ? line + n : NULL;
}

kd_status kd_stl_read_text(kd_lines *text, kd_surface_builder *b)
{
    char line[200];
    int  corner = -1, vertex[3] = {0}; // corner -1: outside of a facet
    if (!kd_lines_next(text, line, sizeof line) || !behind(line, "solid"))
        return kd_lines_refuse(
            text, "this is no STL file: text begins with 'solid', and as binary file its length is wrong", "");
    while (kd_lines_next(text, line, sizeof line)) {
        const char *words;
        if ((words = behind(line, "vertex"))) {
            kd_vec3 r;
            if (corner < 0 || corner > 2) return kd_lines_refuse(text, "a vertex that belongs to no triangle", "");
            if (!kd_surface_numbers(text, words, &r)) return KD_ERR_FILE;
            vertex[corner++] = kd_surface_add_vertex(b, r, true);
        } else if (behind(line, "facet")) {
            if (corner >= 0) return kd_lines_refuse(text, "a facet begins before the one above has ended", "");
            corner = 0;
        } else if (behind(line, "endfacet")) {
            if (corner != 3) return kd_lines_refuse(text, "a facet needs three vertices", "");
            if (b->ntriangles == KD_SURFACE_MOST) return kd_lines_refuse(text, "too many triangles", "");
            kd_surface_add_triangle(b, vertex[0], vertex[1], vertex[2]);
            corner = -1;
        } else if (!behind(line, "outer") && !behind(line, "endloop") && !behind(line, "endsolid") &&
                   !behind(line, "solid")) {
            return kd_lines_refuse(text, "unknown word", line);
        }
    }
    return corner >= 0 ? kd_lines_refuse(text, "the file ends inside of a facet", "") : KD_OK;
}
