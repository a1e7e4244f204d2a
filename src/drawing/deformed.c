// deformed.c: surfaces of nodes and shapes, and how they become small.
#include "drawing/deformed.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBERS = 30000, // nodes times shapes of a surface in a page
    MOST_NODES = 4000,
    FEWEST_NODES = 600,
    PLACES = 2,   // of stress for each node
    FINEST = 4096 // cells along the longest edge
};

static bool are_finite(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static bool are_nodes(const int *corner, int n, int nnodes)
{
    for (int i = 0; i < n; i++)
        if (corner[i] < 0 || corner[i] >= nnodes) return false;
    return true;
}

bool kd_deformed_is_sound(const kd_deformed *d, int nbodies)
{
    // counts first: the arrays are read by them
    if (d->body < 0 || d->body >= nbodies || d->nnodes < 1 || d->nshapes < 0 || d->ntriangles < 0 || d->nlines < 0)
        return false;
    if (!d->node || (d->nshapes && !d->shape) || (d->ntriangles && !d->triangle) || (d->nlines && !d->line))
        return false;
    if (d->nplaces < 0 || (d->nplaces && (!d->place_node || !d->stress))) return false;
    return are_nodes(d->place_node, d->nplaces, d->nnodes) &&
           are_finite(d->stress, 6 * (size_t)d->nplaces * (size_t)d->nshapes) &&
           are_nodes(d->triangle, 3 * d->ntriangles, d->nnodes) && are_nodes(d->line, 2 * d->nlines, d->nnodes) &&
           are_finite(d->node, 3 * (size_t)d->nnodes) &&
           are_finite(d->shape, 3 * (size_t)d->nnodes * (size_t)d->nshapes);
}

kd_vec3 kd_deformed_node(const kd_deformed *d, int node, const double *q)
{
    kd_vec3 x = kd_vec_of(d->node + 3 * (size_t)node);
    for (int j = 0; q && j < d->nshapes; j++)
        x = kd_vec_axpy(x, q[j], kd_vec_of(d->shape + 3 * ((size_t)j * (size_t)d->nnodes + (size_t)node)));
    return x;
}

int kd_deformed_most_nodes(int nshapes)
{
    const int most = NUMBERS / (nshapes > 0 ? nshapes : 1);
    return most < FEWEST_NODES ? FEWEST_NODES : most > MOST_NODES ? MOST_NODES : most;
}

// ---- fewer nodes ----------------------------------------------------------------------------------------------------
typedef struct cell { // a node and the cell that it is in
    uint64_t key;
    double   far; // from the middle of all: the outermost node stands for a cell, so that rims stay where they are
    int      node;
} cell;

static int by_key(const void *a, const void *b)
{
    const cell *p = a, *q = b;
    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    if (p->far != q->far) return p->far > q->far ? -1 : 1;
    return p->node - q->node;
}

// Cells with n of them along the longest edge of the box from low to high; how many have nodes. The first of each key stands for it then
static int sort_into_cells(const kd_deformed *d, kd_vec3 low, kd_vec3 high, int n, cell *cells)
{
    const kd_vec3 size = kd_vec_sub(high, low), middle = kd_vec_scale(0.5, size);
    const double  longest = fmax(size.x, fmax(size.y, size.z)), scale = longest > 0 ? n / longest : 0;
    int           count = 0;
    for (int i = 0; i < d->nnodes; i++) {
        const kd_vec3  r = kd_vec_sub(kd_deformed_node(d, i, NULL), low), at = kd_vec_scale(scale, r);
        const uint64_t x = (uint64_t)fmin(at.x, n - 1), y = (uint64_t)fmin(at.y, n - 1),
                       z = (uint64_t)fmin(at.z, n - 1);
        cells[i] = (cell){(z * FINEST + y) * FINEST + x, kd_vec_norm(kd_vec_sub(r, middle)), i};
    }
    qsort(cells, (size_t)d->nnodes, sizeof *cells, by_key);
    for (int i = 0; i < d->nnodes; i++) count += i == 0 || cells[i].key != cells[i - 1].key;
    return count;
}

// Faces or lines with `size` corners by new numbers, those that lose a corner left out; how many remain
static int renumber(const int *corner, int count, int size, const int *number, int *out)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const int a = number[corner[size * i]], b = number[corner[size * i + 1]];
        const int c = size == 3 ? number[corner[size * i + 2]] : -1;
        if (a == b || b == c || a == c) continue;
        out[size * kept] = a;
        out[size * kept + 1] = b;
        if (size == 3) out[size * kept + 2] = c;
        kept++;
    }
    return kept;
}

// The nodes that remain, with their shapes; number (nnodes): that of the cell of each
static bool fill(const kd_deformed *d, const cell *cells, const int *number, int kept, kd_arena *arena, kd_deformed *t)
{
    const size_t from = 3 * (size_t)d->nnodes, to = 3 * (size_t)kept;
    // room for the nodes that are kept, and for all faces: few of them collapse
    double *node = kd_arena_cut(arena, to, sizeof *node);
    double *shape = kd_arena_cut(arena, to * (size_t)d->nshapes, sizeof *shape);
    int    *triangle = kd_arena_cut(arena, 3 * (size_t)d->ntriangles, sizeof *triangle);
    int    *line = kd_arena_cut(arena, 2 * (size_t)d->nlines, sizeof *line);
    if (arena->failed) return false;
    // the first node of each cell stands for all of it
    for (int i = 0, at = 0; i < d->nnodes; i++) {
        if (i > 0 && cells[i].key == cells[i - 1].key) continue;
        const size_t own = 3 * (size_t)cells[i].node;
        memcpy(node + 3 * at, d->node + own, 3 * sizeof *node);
        for (size_t j = 0; j < (size_t)d->nshapes; j++)
            memcpy(shape + j * to + 3 * (size_t)at, d->shape + j * from + own, 3 * sizeof *shape);
        at++;
    }
    // faces and lines by the new numbers; those whose corners fell together are left out
    *t = (kd_deformed){.body = d->body, .nnodes = kept, .nshapes = d->nshapes, .node = node, .shape = shape};
    t->ntriangles = renumber(d->triangle, d->ntriangles, 3, number, triangle);
    t->nlines = renumber(d->line, d->nlines, 2, number, line);
    t->triangle = triangle;
    t->line = line;
    return true;
}

kd_status kd_deformed_thin(const kd_deformed *d, int most, kd_arena *arena, kd_deformed *thin)
{
    *thin = *d;
    if (d->nnodes <= most)
        return d->nplaces > PLACES * most ? kd_deformed_thin_stress(d, NULL, PLACES * most, arena, thin) : KD_OK;
    kd_vec3 low = kd_deformed_node(d, 0, NULL), high = low;
    for (int i = 1; i < d->nnodes; i++) {
        const kd_vec3 x = kd_deformed_node(d, i, NULL);
        low = kd_vec(fmin(low.x, x.x), fmin(low.y, x.y), fmin(low.z, x.z));
        high = kd_vec(fmax(high.x, x.x), fmax(high.y, x.y), fmax(high.z, x.z));
    }
    cell *cells = kd_alloc((size_t)d->nnodes * sizeof *cells);
    int  *number = kd_alloc((size_t)d->nnodes * sizeof *number);
    bool  good = cells && number;
    // grids become coarser until few enough nodes remain; one cell holds all
    for (int n = FINEST, kept = 0; good && n >= 1; n = n > 8 ? n * 3 / 4 : n - 1) {
        kept = sort_into_cells(d, low, high, n, cells);
        if (kept > most && n > 1) continue;
        for (int i = 0, at = -1; i < d->nnodes; i++) {
            at += i == 0 || cells[i].key != cells[i - 1].key;
            number[cells[i].node] = at;
        }
        good = fill(d, cells, number, kept, arena, thin);
        // stress at the nodes that stand for their cells
        for (int i = 1; i < d->nnodes; i++)
            if (cells[i].key == cells[i - 1].key) number[cells[i].node] = -1;
        good = good && (d->nplaces == 0 || kd_deformed_thin_stress(d, number, PLACES * most, arena, thin) == KD_OK);
        break;
    }
    kd_free(cells);
    kd_free(number);
    return good ? KD_OK : KD_ERR_MEMORY;
}
