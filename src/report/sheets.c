// sheets.c: nodes as parts of 1/65535 of the box around them and shapes as parts of 1/32767 of their largest component, both as 16-bit
// numbers, low byte first, in base64.
#include "report/sheets.h"

#include <math.h>

#include "core/memory.h"
#include "report/block.h"

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

static void put_nodes(kd_json *json, const kd_deformed *d, unsigned char *bytes)
{
    // the box around all nodes, then each as parts of it
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < 3 * d->nnodes; i++) {
        low[i % 3] = fmin(low[i % 3], d->node[i]);
        high[i % 3] = fmax(high[i % 3], d->node[i]);
    }
    for (int i = 0; i < 3 * d->nnodes; i++)
        round_to(&(rounding){low[i % 3], high[i % 3] - low[i % 3], 65535.0}, d->node[i], bytes + 2 * i);
    kd_json_numbers(json, "low", low, 3);
    kd_json_numbers(json, "high", high, 3);
    kd_json_bytes(json, "nodes", bytes, 6 * (size_t)d->nnodes);
}

// Stress by an amplitude of 1 as parts of its largest component
static void put_stress(kd_json *json, const kd_deformed *d, int shape, unsigned char *bytes)
{
    const size_t  n = 6 * (size_t)d->nplaces;
    const double *stress = d->stress + (size_t)shape * n, most = largest_of(stress, n, 1);
    for (size_t i = 0; i < n; i++) round_to(&(rounding){0.0, most, 32767.0}, stress[i], bytes + 2 * i);
    kd_json_number(json, "pressure", most);
    kd_json_bytes(json, "stress", bytes, 2 * n);
}

// first: place of the amplitude of its first shape in a frame of the film
static void put_sheet(kd_json *json, const kd_scene *s, const kd_deformed *d, int first, unsigned char *bytes)
{
    const kd_film *film = &s->film;
    const size_t   width = (size_t)film->namplitudes, n = 3 * (size_t)d->nnodes;
    kd_json_open(json, NULL);
    kd_json_count(json, "body", d->body);
    kd_json_count(json, "paint", s->paint[d->body]);
    kd_json_count(json, "first", first);
    put_nodes(json, d, bytes);
    kd_json_counts(json, "triangles", d->triangle, 3 * d->ntriangles);
    kd_json_counts(json, "lines", d->line, 2 * d->nlines);
    if (d->nplaces > 0) kd_json_counts(json, "places", d->place_node, d->nplaces);
    // shapes as parts of their largest component; largest: of the amplitude along the film
    kd_json_list(json, "shapes");
    for (int j = 0; j < d->nshapes; j++) {
        const double *shape = d->shape + (size_t)j * n;
        const double  most = largest_of(shape, n, 1);
        for (size_t i = 0; i < n; i++) round_to(&(rounding){0.0, most, 32767.0}, shape[i], bytes + 2 * i);
        kd_json_open(json, NULL);
        kd_json_number(json, "size", most);
        kd_json_number(json, "largest", largest_of(film->amplitude + first + j, (size_t)film->nframes, width));
        kd_json_bytes(json, "at", bytes, 2 * n);
        if (d->nplaces > 0) put_stress(json, d, j, bytes);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    kd_json_close(json);
}

void kd_sheets_put(kd_json *json, const kd_scene *s)
{
    int most = 0; // numbers in a row
    for (int i = 0; i < s->film.ndeformed; i++) {
        const kd_deformed *d = &s->deformed[i];
        most = 3 * d->nnodes > most ? 3 * d->nnodes : most;
        most = 6 * d->nplaces > most ? 6 * d->nplaces : most;
    }
    unsigned char *bytes = most > 0 ? kd_alloc(2 * (size_t)most) : NULL;
    if (!bytes) return;
    kd_json_list(json, "deformed");
    for (int i = 0, first = 0; i < s->film.ndeformed; first += s->deformed[i++].nshapes)
        put_sheet(json, s, &s->deformed[i], first, bytes);
    kd_json_list_close(json);
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
