// builder.c: growing arrays of vertices and triangles.
#include "surface/builder.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_ROOM = 256 };

// Twice the room, old entries kept; false: no memory, nothing has changed
static bool grow(void **array, int *room, size_t size)
{
    const int wanted = *room > 0 ? 2 * *room : FIRST_ROOM;
    void     *larger = kd_alloc((size_t)wanted * size);
    if (!larger) return false;
    if (*array) memcpy(larger, *array, (size_t)*room * size);
    kd_free(*array);
    *array = larger;
    *room = wanted;
    return true;
}

// -0 and 0 are the same place
static uint64_t bits_of(double x)
{
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static int bucket_of(const kd_surface_builder *b, kd_vec3 r)
{
    uint64_t h =
        bits_of(r.x) * 0x9e3779b97f4a7c15u ^ bits_of(r.y) * 0xc2b2ae3d27d4eb4fu ^ bits_of(r.z) * 0x165667b19e3779f9u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return (int)(h >> 33 & (uint64_t)(b->nbuckets - 1));
}

static void put_in_bucket(kd_surface_builder *b, int vertex)
{
    const int at = bucket_of(b, b->vertex[vertex]);
    b->next[vertex] = b->bucket[at];
    b->bucket[at] = vertex + 1;
}

// Room for another vertex; as many buckets as there is room, so that chains stay short
static bool make_room(kd_surface_builder *b)
{
    int room = b->vertex_room;
    if (b->nvertices < b->vertex_room) return true;
    if (!grow((void **)&b->vertex, &room, sizeof *b->vertex)) return false;
    kd_free(b->bucket);
    kd_free(b->next);
    b->vertex_room = b->nbuckets = room; // a power of two
    b->bucket = kd_alloc((size_t)room * sizeof *b->bucket);
    b->next = kd_alloc((size_t)room * sizeof *b->next);
    if (!b->bucket || !b->next) return false;
    for (int i = 0; i < b->nvertices; i++) put_in_bucket(b, i);
    return true;
}

void kd_surface_begin(kd_surface_builder *b, double scale)
{
    *b = (kd_surface_builder){.scale = scale};
}

int kd_surface_add_vertex(kd_surface_builder *b, kd_vec3 r, bool known)
{
    r = kd_vec_scale(b->scale, r);
    if (b->failed || !make_room(b)) {
        b->failed = true;
        return 0;
    }
    if (known)
        for (int i = b->bucket[bucket_of(b, r)]; i > 0; i = b->next[i - 1])
            if (b->vertex[i - 1].x == r.x && b->vertex[i - 1].y == r.y && b->vertex[i - 1].z == r.z) return i - 1;
    b->vertex[b->nvertices] = r;
    put_in_bucket(b, b->nvertices);
    return b->nvertices++;
}

// Three different corners that are not on one line
static bool has_area(const kd_surface_builder *b, int i, int j, int k)
{
    if (i == j || j == k || k == i) return false;
    const kd_vec3 u = kd_vec_sub(b->vertex[j], b->vertex[i]), v = kd_vec_sub(b->vertex[k], b->vertex[i]);
    return kd_vec_norm(kd_vec_cross(u, v)) > 0.0;
}

void kd_surface_add_triangle(kd_surface_builder *b, int i, int j, int k)
{
    if (b->failed) return;
    if (!has_area(b, i, j, k)) {
        if (b->ndropped++ > 0) return;
        b->dropped = b->ntriangles + 1;
        b->dropped_at = b->vertex[i];
        return;
    }
    if (b->ntriangles == b->triangle_room && !grow((void **)&b->triangle, &b->triangle_room, sizeof *b->triangle)) {
        b->failed = true;
        return;
    }
    b->triangle[b->ntriangles++] = (kd_triangle){i, j, k};
}

kd_status kd_surface_end(kd_surface_builder *b, kd_surface *s)
{
    *s = (kd_surface){.nvertices = b->nvertices, .ntriangles = b->ntriangles, .ndropped = b->ndropped};
    s->dropped = b->dropped;
    s->dropped_at = b->dropped_at;
    if (!b->failed) {
        s->vertex = kd_arena_cut(&s->arena, (size_t)b->nvertices + 1, sizeof *s->vertex);
        s->triangle = kd_arena_cut(&s->arena, (size_t)b->ntriangles + 1, sizeof *s->triangle);
        b->failed = s->arena.failed;
    }
    if (!b->failed && b->vertex) memcpy(s->vertex, b->vertex, (size_t)b->nvertices * sizeof *s->vertex);
    if (!b->failed && b->triangle) memcpy(s->triangle, b->triangle, (size_t)b->ntriangles * sizeof *s->triangle);
    kd_free(b->vertex);
    kd_free(b->triangle);
    kd_free(b->bucket);
    kd_free(b->next);
    if (!b->failed) return KD_OK;
    kd_surface_release(s);
    return KD_ERR_MEMORY;
}
