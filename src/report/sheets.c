// sheets.c: nodes as parts of 1/65535 of the box around them and shapes as parts of 1/32767 of their largest component, both as 16-bit
// numbers, low byte first, in base64.
#include "report/sheets.h"

#include <math.h>

#include "core/memory.h"
#include "report/block.h"
#include "results/file.h"

static void put_number(FILE *file, double value)
{
    char number[40];
    fputs(kd_file_number(isfinite(value) ? value : 0.0, "%.9g", number, sizeof number), file);
}

// x (n) as parts of 1/units of `size`, from `low` on
typedef struct rounding {
    double low, size, units;
} rounding;

static void round_to(const rounding *r, double x, unsigned char *out)
{
    const unsigned value = r->size > 0 ? (unsigned)(lround(r->units * ((x - r->low) / r->size)) & 0xffff) : 0u;
    out[0] = (unsigned char)(value & 255u);
    out[1] = (unsigned char)(value >> 8);
}

static double largest_of(const double *x, size_t n, size_t stride)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i * stride]));
    return most;
}

static void put_nodes(FILE *file, const kd_deformed *d, unsigned char *bytes)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < 3 * d->nnodes; i++) {
        low[i % 3] = fmin(low[i % 3], d->node[i]);
        high[i % 3] = fmax(high[i % 3], d->node[i]);
    }
    for (int i = 0; i < 3 * d->nnodes; i++)
        round_to(&(rounding){low[i % 3], high[i % 3] - low[i % 3], 65535.0}, d->node[i], bytes + 2 * i);
    for (int side = 0; side < 2; side++) {
        fputs(side == 0 ? ",\"low\":[" : "],\"high\":[", file);
        for (int k = 0; k < 3; k++) {
            if (k > 0) fputc(',', file);
            put_number(file, side == 0 ? low[k] : high[k]);
        }
    }
    fputs("],\"nodes\":\"", file);
    kd_base64_write(file, bytes, 6 * (size_t)d->nnodes);
    fputc('"', file);
}

static void put_shape(FILE *file, const double *shape, int nnodes, double largest, unsigned char *bytes)
{
    for (int i = 0; i < 3 * nnodes; i++) round_to(&(rounding){0.0, largest, 32767.0}, shape[i], bytes + 2 * i);
    fputc('"', file);
    kd_base64_write(file, bytes, 6 * (size_t)nnodes);
    fputc('"', file);
}

static void put_indices(FILE *file, const char *key, const int *index, int n)
{
    fprintf(file, ",\"%s\":[", key);
    for (int i = 0; i < n; i++) fprintf(file, i == 0 ? "%d" : ",%d", index[i]);
    fputc(']', file);
}

// most: largest amplitude of each shape along the film
static void put_sheet(FILE *file, const kd_scene *s, const kd_deformed *d, int first, unsigned char *bytes)
{
    const kd_film *film = &s->film;
    const size_t   width = (size_t)film->namplitudes, n = 3 * (size_t)d->nnodes;
    fprintf(file, "{\"body\":%d,\"paint\":%d,\"first\":%d", d->body, s->paint[d->body], first);
    put_nodes(file, d, bytes);
    put_indices(file, "triangles", d->triangle, 3 * d->ntriangles);
    put_indices(file, "lines", d->line, 2 * d->nlines);
    fputs(",\"shapes\":[", file);
    for (int j = 0; j < d->nshapes; j++) {
        const double most = largest_of(d->shape + (size_t)j * n, n, 1);
        fputs(j == 0 ? "{\"size\":" : ",{\"size\":", file);
        put_number(file, most);
        fputs(",\"largest\":", file);
        put_number(file, largest_of(film->amplitude + first + j, (size_t)film->nframes, width));
        fputs(",\"at\":", file);
        put_shape(file, d->shape + (size_t)j * n, d->nnodes, most, bytes);
        fputc('}', file);
    }
    fputs("]}", file);
}

void kd_sheets_put(FILE *file, const kd_scene *s)
{
    int most = 0;
    for (int i = 0; i < s->film.ndeformed; i++) most = s->deformed[i].nnodes > most ? s->deformed[i].nnodes : most;
    unsigned char *bytes = most > 0 ? kd_alloc(6 * (size_t)most) : NULL;
    if (!bytes) return;
    fputs(",\n\"deformed\":[", file);
    for (int i = 0, first = 0; i < s->film.ndeformed; first += s->deformed[i++].nshapes) {
        if (i > 0) fputs(",\n", file);
        put_sheet(file, s, &s->deformed[i], first, bytes);
    }
    fputc(']', file);
    kd_free(bytes);
}

kd_status kd_sheets_write_amplitudes(FILE *file, const char *name, const kd_film *film)
{
    const size_t n = (size_t)film->namplitudes, frames = (size_t)film->nframes;
    if (n == 0) return KD_OK;
    double *largest = kd_alloc(n * sizeof *largest);
    if (!largest) return KD_ERR_MEMORY;
    for (size_t j = 0; j < n; j++) largest[j] = largest_of(film->amplitude + j, frames, n);
    kd_status status = kd_block_write_steps(file, name, film->amplitude, frames, n, largest);
    kd_free(largest);
    return status;
}
