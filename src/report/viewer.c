// viewer.c: a run as data of the viewer: one JSON text and blocks of numbers, see viewer/src/data.ts.
//
// Positions are rounded to 1/65535 of the box around the motion and quaternions to 1/32767, both as differences from
// frame to frame; channels are single precision but for energies and violations, whose small differences are what one
// looks for.
//
//     scene      JSON: title, bodies, solids, camera, channels, plots, events
//     rows       times of the rows of channels, doubles
//     channels   one column behind the other, each in planes of its own bytes; floats as differences of their bits
//     times      of the frames, doubles
//     pose       (bodies x 7 x frames) 16-bit differences: position, quaternion
//     amplitudes of shapes of surfaces that deform (report/sheets.h)
//     load-times of forces and reactions, doubles; loads: (arrows x 3 x times) 16-bit differences, by their largest
#include "report/viewer.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/memory.h"
#include "core/shortest.h"
#include "core/text.h"
#include "drawing/drawing.h"
#include "drawing/mesh.h"
#include "drawing/picture.h"
#include "drawing/scene.h"
#include "drawing/thin.h"
#include "report/beside.h"
#include "report/block.h"
#include "report/sheets.h"
#include "results/file.h"

#ifdef KD_WITH_VIEWER
extern const unsigned char kd_viewer_script[]; // viewer/dist/viewer.js as bytes, made by cmake/embed.cmake
extern const size_t        kd_viewer_script_size;
extern const char          kd_viewer_script_hash[];
#else
static const unsigned char kd_viewer_script[] = "";
static const size_t        kd_viewer_script_size = 0;
static const char          kd_viewer_script_hash[] = "";
#endif

enum {
    MOST_NUMBERS = 1500000, // of channels in a page; more rows are thinned
    FEWEST_ROWS = 1000,
    MOST_EVENTS = 5000
};

bool kd_viewer_is_built(void)
{
    return kd_viewer_script_size > 0 && kd_block_is_available();
}

const char *kd_viewer_policy(void)
{
    return kd_viewer_is_built() ? kd_viewer_script_hash : "";
}

const unsigned char *kd_viewer_bytes(size_t *size)
{
    *size = kd_viewer_is_built() ? kd_viewer_script_size : 0;
    return kd_viewer_script;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------
static void put_number(FILE *file, double value)
{
    // JSON has no NaN; the viewer shows such values as 0
    char number[40];
    if (isfinite(value))
        fputs(kd_file_number(fabs(value) < 1e-300 ? 0.0 : value, "%.9g", number, sizeof number), file);
    else
        fputs("0", file);
}

static void put_numbers(FILE *file, const char *key, const double *x, int n)
{
    fprintf(file, "\"%s\":[", key);
    for (int i = 0; i < n; i++) {
        if (i > 0) fputc(',', file);
        put_number(file, x[i]);
    }
    fputc(']', file);
}

static void put_vector(FILE *file, const char *key, kd_vec3 a)
{
    double x[3];
    kd_vec_to(a, x);
    put_numbers(file, key, x, 3);
}

static void put_member(FILE *file, const char *key, double value)
{
    fprintf(file, ",\"%s\":", key);
    put_number(file, value);
}

static void put_text(FILE *file, const char *key, const char *text)
{
    fprintf(file, "\"%s\":", key);
    kd_file_json(file, text ? text : "");
}

// ---- the mechanism --------------------------------------------------------------------------------------------------
static void put_bodies(FILE *file, const kd_scene *s)
{
    fputs(",\n\"bodies\":[", file);
    for (int i = 0; i < s->film.model->nbodies; i++) {
        // name, mass and colour; the centre of mass in the frame of the body
        const kd_body *body = &s->film.model->body[i];
        fputs(i == 0 ? "{" : ",\n{", file);
        put_text(file, "name", body->name);
        put_member(file, "mass", body->def.mass);
        put_member(file, "paint", s->paint[i]);
        fputc(',', file);
        put_vector(file, "centre", body->centre);
        fputc('}', file);
    }
    fputc(']', file);
}

// as in viewer/src/solids.ts
static int form_of(const kd_solid *solid, double *ratio)
{
    enum { BALL, BOX, CYLINDER, PYRAMID, TUBE, SURFACE };
    // ratio: of the radii of a tube, number of a surface; of all others their form says everything
    *ratio = 0.0;
    if (solid->mesh >= KD_MESHES) {
        *ratio = solid->mesh - KD_MESHES; // which
        return SURFACE;
    }
    switch (solid->mesh) {
    case KD_MESH_BALL:
        return BALL;
    case KD_MESH_BOX:
    case KD_MESH_BAR:
        return BOX;
    case KD_MESH_CYLINDER:
    case KD_MESH_LONG:
    case KD_MESH_DISC:
        return CYLINDER;
    case KD_MESH_PYRAMID:
        return PYRAMID;
    default:
        *ratio = kd_mesh_tube_ratio(solid->mesh);
        return TUBE;
    }
}

// Surfaces from files: corners of the triangles in a box with edges 1
static void put_surfaces(FILE *file, const kd_scene *s)
{
    fputs(",\n\"surfaces\":[", file);
    for (int i = KD_MESHES; i < s->nmeshes; i++) {
        const kd_mesh *m = &s->fine[i - KD_MESHES];
        char           number[40];
        fputs(i == KD_MESHES ? "{\"v\":[" : ",\n{\"v\":[", file);
        for (int k = 0; k < m->nvertices; k++) {
            double x[3];
            kd_vec_to(m->vertex[k], x);
            for (int j = 0; j < 3; j++)
                fprintf(file, "%s%s", k + j == 0 ? "" : ",", kd_file_number(x[j], "%.5g", number, sizeof number));
        }
        fputs("],\"f\":[", file);
        for (int k = 0; k < 3 * m->nfaces; k++) fprintf(file, k == 0 ? "%d" : ",%d", m->corner[k]);
        fputs("]}", file);
    }
    fputc(']', file);
}

static void put_solids(FILE *file, const kd_scene *s)
{
    fputs(",\n\"solids\":[", file);
    for (int i = 0; i < s->nsolids; i++) {
        // place, turn and size in the frame of the body that the solid belongs to
        const kd_solid *solid = &s->solid[i];
        double          q[4], ratio;
        const int       form = form_of(solid, &ratio);
        kd_quat_to(solid->q, q);
        fprintf(file, "%s{\"form\":%d,\"body\":%d,\"paint\":%d", i == 0 ? "" : ",\n", form, solid->body, solid->paint);
        put_member(file, "ratio", ratio);
        fputc(',', file);
        put_vector(file, "r", solid->r);
        fputc(',', file);
        put_numbers(file, "q", q, 4);
        fputc(',', file);
        put_vector(file, "size", solid->size);
        fputc('}', file);
    }
    fputs("],\n\"coils\":[", file);
    // springs and what else stretches: their two ends, each in the frame of its body
    for (int i = 0; i < s->ncoils; i++) {
        const kd_coil *coil = &s->coil[i];
        fprintf(file, "%s{\"from\":%d,\"to\":%d,", i == 0 ? "" : ",\n", coil->from.body, coil->to.body);
        put_vector(file, "fromR", coil->from.r);
        fputc(',', file);
        put_vector(file, "toR", coil->to.r);
        put_member(file, "radius", coil->thick);
        fprintf(file, ",\"look\":%d,\"paint\":%d,", (int)coil->look,
                coil->look == KD_LINK_COIL ? KD_PAINT_SPRING : KD_PAINT_JOINT);
        put_text(file, "name", coil->name);
        fputc('}', file);
    }
    fputs("],\n\"traces\":[", file);
    // lines that points of bodies leave behind
    for (int i = 0; i < s->ntraces; i++) {
        fprintf(file, "%s{\"body\":%d,\"paint\":%d,", i == 0 ? "" : ",", s->trace[i].at.body, s->trace[i].paint);
        put_vector(file, "r", s->trace[i].at.r);
        fputc('}', file);
    }
    fputs("],\n\"colours\":[", file);
    for (int i = 0; i < KD_PAINT_COUNT; i++) fprintf(file, "%s\"%s\"", i == 0 ? "" : ",", kd_paint_colour(i));
    fputc(']', file);
}

// Tracks, roads and curves as rows of points
static void put_lines(FILE *file, const kd_scene *s)
{
    fputs(",\n\"lines\":[", file);
    for (int i = 0; i < s->nlines; i++) {
        const kd_line *line = &s->line[i];
        char           number[40];
        fprintf(file, "%s{\"body\":%d,", i == 0 ? "" : ",\n", line->body);
        put_text(file, "name", line->name);
        fputs(",\"points\":[", file);
        for (int k = 0; k < line->count; k++) {
            double x[3];
            kd_vec_to(line->point[k], x);
            for (int j = 0; j < 3; j++)
                fprintf(file, "%s%s", k + j == 0 ? "" : ",", kd_file_number(x[j], "%.6g", number, sizeof number));
        }
        fputs("]}", file);
    }
    fputc(']', file);
}

static void put_camera(FILE *file, const kd_scene *s)
{
    // where it looks from, what it may not lose from sight
    const kd_camera *c = &s->camera;
    fputs(",\n\"camera\":{", file);
    put_vector(file, "centre", c->centre);
    fputc(',', file);
    put_vector(file, "up", c->up);
    fputc(',', file);
    put_vector(file, "front", c->front);
    fputc(',', file);
    put_vector(file, "right", c->right);
    put_member(file, "azimuth", c->azimuth);
    put_member(file, "elevation", c->elevation);
    put_member(file, "distance", c->distance);
    fputc('}', file);
    put_member(file, "radius", s->radius);
    put_member(file, "size", s->size);
    put_member(file, "floor", s->floor);
    put_member(file, "grid", s->grid);
    fprintf(file, ",\"follows\":%s,\"falls\":%s,\n", s->follows ? "true" : "false", s->falls ? "true" : "false");
    put_vector(file, "low", s->low);
    fputc(',', file);
    put_vector(file, "high", s->high);
}

void kd_viewer_put_mechanism(FILE *file, const kd_scene *s)
{
    put_bodies(file, s);
    put_surfaces(file, s);
    put_solids(file, s);
    put_lines(file, s);
    put_camera(file, s);
    kd_sheets_put(file, s);
}

// Forces and reactions: where they act, and how large they become
static void put_loads(FILE *file, const kd_loads *l)
{
    fprintf(file, ",\n\"loadFrames\":%d,\"loads\":[", l ? l->frames : 0);
    for (int i = 0; l && i < l->count; i++) {
        const kd_load_arrow *a = &l->arrow[i];
        fprintf(file, "%s{\"kind\":%d,\"body\":%d,\"under\":%d,", i == 0 ? "" : ",\n", (int)a->kind, a->at.body,
                a->normal.body);
        put_text(file, "name", a->name);
        fputc(',', file);
        put_vector(file, "r", a->at.r);
        fputc(',', file);
        put_vector(file, "normal", a->normal.r);
        put_member(file, "drop", a->drop);
        put_member(file, "largest", a->largest);
        fputc('}', file);
    }
    fputc(']', file);
}

// ---- channels -------------------------------------------------------------------------------------------------------
// Which columns and rows are in the page
typedef struct extent {
    int  rows, columns;
    int *place; // (columns of the recording) place in the page; -1: left out
    int *row;   // (rows) of the recording
} extent;

static bool is_double(const kd_recording *rec, int column)
{
    // neighbours of large values whose small differences matter
    int energy, nenergy, violation, nviolation;
    kd_recording_group(rec, KD_GROUP_ENERGY, &energy, &nenergy);
    kd_recording_group(rec, KD_GROUP_VIOLATION, &violation, &nviolation);
    return (column >= energy && column < energy + nenergy) || (column >= violation && column < violation + nviolation);
}

typedef struct row_error { // of channels
    const kd_recording *rec;
    const extent       *e;
    const double       *range; // (columns of the recording)
} row_error;

// In parts of the range of each channel
static double error_of_row(const void *context, int i, int k, int j)
{
    const row_error *r = context;
    const size_t     all = (size_t)kd_recording_columns(r->rec);
    const double    *t = kd_recording_times(r->rec), *value = kd_recording_values(r->rec);
    const double    *x = value + (size_t)i * all, *y = value + (size_t)j * all, *z = value + (size_t)k * all;
    const double     part = t[j] > t[i] ? (t[k] - t[i]) / (t[j] - t[i]) : 0;
    double           most = 0;
    for (size_t c = 0; c < all; c++)
        if (r->e->place[c] >= 0 && r->range[c] > 0)
            most = fmax(most, fabs(x[c] + part * (y[c] - x[c]) - z[c]) / r->range[c]);
    return most;
}

// At most so many rows: more of them where channels bend
static kd_status choose_rows(const kd_recording *rec, int most, extent *e)
{
    const int     length = kd_recording_length(rec);
    const size_t  all = (size_t)kd_recording_columns(rec);
    const double *value = kd_recording_values(rec);
    double       *range = kd_alloc((2 * all + 1) * sizeof *range), *low = range + all;
    e->row = kd_alloc(((size_t)length + 1) * sizeof *e->row);
    kd_status status = range && e->row ? KD_OK : KD_ERR_MEMORY;
    if (status < 0) goto done;
    if (length <= most) {
        for (int i = 0; i < length; i++) e->row[i] = i;
        e->rows = length;
        goto done;
    }
    // from the least to the largest value of each channel; what is not finite does not count
    for (size_t c = 0; c < all; c++) low[c] = INFINITY, range[c] = -INFINITY;
    for (size_t i = 0; i < (size_t)length * all; i++) {
        if (!isfinite(value[i])) continue;
        low[i % all] = fmin(low[i % all], value[i]);
        range[i % all] = fmax(range[i % all], value[i]);
    }
    for (size_t c = 0; c < all; c++) range[c] = range[c] > low[c] ? range[c] - low[c] : 0;
    const row_error error = {rec, e, range};
    e->rows = kd_thin_to(length, most, error_of_row, &error, 1e-5, e->row);
done:
    kd_free(range);
    return status;
}

// As much as a page can hold
static kd_status choose_extent(const kd_result *r, const kd_viewer_plot *plots, int nplots, extent *e)
{
    const int all = kd_recording_columns(r->recording), length = kd_recording_length(r->recording);
    *e = (extent){.place = kd_alloc(((size_t)all + 1) * sizeof *e->place)};
    if (!e->place) return KD_ERR_MEMORY;
    // rows are thinned first; where that is not enough only what is plotted remains
    int most = (double)all * length > MOST_NUMBERS ? MOST_NUMBERS / (all > 0 ? all : 1) : length;
    if (most < FEWEST_ROWS) most = length < FEWEST_ROWS ? length : FEWEST_ROWS;
    const bool few = (double)all * most > MOST_NUMBERS;
    // columns that are plotted always, others that are wanted where there is room
    for (int i = 0; i < all; i++) e->place[i] = few || !kd_result_has_column(r, i) ? -1 : 0;
    for (int i = 0; i < nplots; i++)
        for (int k = 0; k < plots[i].n; k++) e->place[plots[i].column[k]] = 0;
    for (int i = 0; i < all; i++)
        if (e->place[i] == 0) e->place[i] = e->columns++;
    return choose_rows(r->recording, most, e);
}

static void put_channels(FILE *file, const kd_result *r, const extent *e)
{
    bool first = true;
    fputs(",\n\"channels\":[", file);
    for (int i = 0; i < kd_recording_columns(r->recording); i++) {
        // in the order of their places in the page
        if (e->place[i] < 0) continue;
        fputs(first ? "{" : ",\n{", file);
        put_text(file, "name", kd_recording_name(r->recording, i));
        fputc(',', file);
        put_text(file, "unit", kd_recording_unit(r->recording, i));
        fprintf(file, ",\"bytes\":%d}", is_double(r->recording, i) ? 8 : 4);
        first = false;
    }
    fputc(']', file);
}

static void put_plots(FILE *file, const kd_viewer_plot *plots, int nplots, const extent *e)
{
    fputs(",\n\"plots\":[", file);
    // plots refer to channels by their places
    for (int i = 0; i < nplots; i++) {
        fputs(i == 0 ? "{" : ",\n{", file);
        put_text(file, "title", plots[i].title);
        fputc(',', file);
        put_text(file, "unit", plots[i].unit);
        fputc(',', file);
        put_text(file, "note", plots[i].note);
        fprintf(file, ",\"log\":%s,\"channels\":[", plots[i].ylog ? "true" : "false");
        for (int k = 0; k < plots[i].n; k++) fprintf(file, k == 0 ? "%d" : ",%d", e->place[plots[i].column[k]]);
        fputs("]}", file);
    }
    fputc(']', file);
}

static void put_events(FILE *file, const kd_event_log *log)
{
    const int n = log ? kd_event_log_length(log) : 0;
    bool      first = true;
    fputs(",\n\"events\":[", file);
    // those that plots mark, the first ones
    for (int i = 0; i < n && i < MOST_EVENTS; i++) {
        const kd_logged_event *e = kd_event_log_at(log, i);
        if (e->kind == KD_EVENT_SAMPLE || e->kind == KD_EVENT_BREAK) continue;
        char number[40];
        fprintf(file, "%s{\"t\":%s,", first ? "" : ",\n", kd_shortest_text(e->t, number));
        put_text(file, "kind", kd_event_word(e->kind));
        fputc(',', file);
        put_text(file, "element", e->element);
        fputc(',', file);
        put_text(file, "text", e->text);
        fputc('}', file);
        first = false;
    }
    fputc(']', file);
}

// ---- blocks ---------------------------------------------------------------------------------------------------------
// A number with its low byte first, whatever the machine has
static void put_bytes(unsigned char *out, const void *number, size_t size)
{
    // is the low byte of 1 its first one?
    static const unsigned short ONE = 1;
    const unsigned char        *in = number;
    const bool                  low_first = *(const unsigned char *)&ONE == 1;
    for (size_t i = 0; i < size; i++) out[i] = in[low_first ? i : size - 1 - i];
}

static kd_status write_doubles(FILE *file, const char *name, const double *x, size_t n)
{
    // low byte first, then in planes (block.c)
    unsigned char *bytes = kd_alloc(8 * n + 1);
    if (!bytes) return KD_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) put_bytes(bytes + 8 * i, &x[i], 8);
    kd_status status = kd_block_write(file, name, bytes, n, 8);
    kd_free(bytes);
    return status;
}

// the component of a pose as a 16-bit number; quaternions go on with the sign that is closer to the last one
static unsigned rounded(const kd_scene *s, const double *pose, int k, double sign)
{
    double low[3], high[3];
    // turns are signed parts of 32767, positions unsigned parts of the box
    if (k >= 3) return (unsigned)(lround(sign * 32767.0 * pose[k]) & 0xffff);
    kd_vec_to(s->low, low);
    kd_vec_to(s->high, high);
    return high[k] > low[k] ? (unsigned)lround(65535.0 * ((pose[k] - low[k]) / (high[k] - low[k]))) & 0xffffu : 0u;
}

// differences of one body's components along the frames
static void fill_body(const kd_scene *s, int body, unsigned char *out)
{
    // each component of a body in a row of its own along the frames
    const size_t  n = (size_t)s->film.model->nbodies, frames = (size_t)s->film.nframes;
    unsigned      last[7] = {0};
    double        sign = 1.0;
    const double *before = NULL;
    for (size_t i = 0; i < frames; i++) {
        const double *pose = s->film.pose + 7 * (i * n + (size_t)body);
        double        dot = 0.0;
        // q and -q are the same: take the one that is nearer to the last
        for (int k = 3; before && k < 7; k++) dot += before[k] * pose[k];
        if (dot < 0.0) sign = -sign;
        before = pose;
        for (int k = 0; k < 7; k++) {
            // differences are small numbers, which compress well
            const unsigned value = rounded(s, pose, k, sign), step = (value - last[k]) & 0xffffu;
            const size_t   at = 2 * (((size_t)body * 7 + (size_t)k) * frames + i);
            out[at] = (unsigned char)(step & 255u);
            out[at + 1] = (unsigned char)(step >> 8);
            last[k] = value;
        }
    }
}

static kd_status write_poses(FILE *file, const char *name, const kd_scene *s)
{
    const size_t   count = 7 * (size_t)s->film.model->nbodies * (size_t)s->film.nframes;
    unsigned char *bytes = kd_alloc(2 * count + 1);
    if (!bytes) return KD_ERR_MEMORY;
    for (int b = 0; b < s->film.model->nbodies; b++) fill_body(s, b, bytes);
    kd_status status = kd_block_write(file, name, bytes, count, 2);
    kd_free(bytes);
    return status;
}

// each component along time, as parts of 1/32767 of the largest force of its arrow
static kd_status write_loads(FILE *file, const kd_loads *l)
{
    const size_t frames = (size_t)l->frames, width = 3 * (size_t)l->count;
    double      *largest = kd_alloc(width * sizeof *largest + 1);
    if (!largest) return KD_ERR_MEMORY;
    for (size_t c = 0; c < width; c++) largest[c] = l->arrow[c / 3].largest;
    kd_status status = write_doubles(file, "load-times", l->t, frames);
    if (status == KD_OK) status = kd_block_write_steps(file, "loads", l->force, frames, width, largest);
    kd_free(largest);
    return status;
}

// Columns one behind the other, each in planes of its own; as its planes differ in size they are made here
static kd_status write_channels(FILE *file, const kd_result *r, const extent *e)
{
    // room for doubles, of which most channels need half
    const int      all = kd_recording_columns(r->recording);
    const double  *values = kd_recording_values(r->recording);
    const size_t   rows = (size_t)e->rows;
    unsigned char *bytes = kd_alloc(8 * rows * (size_t)e->columns + 1), *out = bytes;
    if (!bytes) return KD_ERR_MEMORY;
    for (int column = 0; column < all; column++) {
        if (e->place[column] < 0) continue;
        // energies and violations as doubles, all else as floats
        const size_t size = is_double(r->recording, column) ? 8 : 4;
        uint32_t     before = 0;
        for (size_t i = 0; i < rows; i++) {
            const double  x = values[(size_t)e->row[i] * (size_t)all + (size_t)column];
            const float   shorter = (float)x;
            unsigned char number[8];
            uint32_t      bits;
            // floats of one sign are ordered as their bits: those of neighbours differ by little
            memcpy(&bits, &shorter, sizeof bits);
            const uint32_t step = bits - before;
            before = bits;
            put_bytes(number, size == 8 ? (const void *)&x : (const void *)&step, size);
            // byte k of row i to plane k
            for (size_t k = 0; k < size; k++) out[k * rows + i] = number[k];
        }
        out += size * rows;
    }
    kd_status status = kd_block_write(file, "channels", bytes, (size_t)(out - bytes), 1);
    kd_free(bytes);
    return status;
}

static kd_status write_rows(FILE *file, const kd_result *r, const extent *e)
{
    double *t = kd_alloc(((size_t)e->rows + 1) * sizeof *t);
    if (!t) return KD_ERR_MEMORY;
    for (int i = 0; i < e->rows; i++) t[i] = kd_recording_times(r->recording)[e->row[i]];
    kd_status status = write_doubles(file, "rows", t, (size_t)e->rows);
    kd_free(t);
    return status;
}

// ---- all ------------------------------------------------------------------------------------------------------------
static void put_scene(FILE *file, const kd_result *r, const kd_scene *s, const kd_viewer_plot *plots, int nplots,
                      const extent *e)
{
    fputs("<script type=\"application/json\" data-kardan=\"scene\">{", file);
    put_text(file, "title", r->title);
    fprintf(file, ",\"steps\":true,\"frames\":%d,\"rows\":%d", s ? s->film.nframes : 0, e->rows);
    if (s) {
        kd_viewer_put_mechanism(file, s);
    } else {
        fputs(",\"bodies\":[],\"solids\":[],\"coils\":[],\"traces\":[],\"colours\":[]", file);
    }
    put_loads(file, s ? kd_drawing_loads(r->drawing) : NULL);
    put_channels(file, r, e);
    put_plots(file, plots, nplots, e);
    put_events(file, r->events);
    fputs("}</script>\n", file);
}

static kd_status write_blocks(FILE *file, const kd_result *r, const kd_scene *s, const extent *e)
{
    kd_status status = write_rows(file, r, e);
    if (status == KD_OK) status = write_channels(file, r, e);
    if (status == KD_OK) status = write_doubles(file, "times", s ? s->film.t : NULL, s ? (size_t)s->film.nframes : 0);
    if (status == KD_OK)
        status = s ? write_poses(file, "pose", s) : kd_block_write(file, "pose", (const unsigned char *)"", 0, 2);
    if (status == KD_OK && s) status = kd_sheets_write_amplitudes(file, "amplitudes", &s->film);
    const kd_loads *loads = s ? kd_drawing_loads(r->drawing) : NULL;
    if (status == KD_OK && loads) status = write_loads(file, loads);
    return status;
}

void kd_viewer_put_script(FILE *file)
{
    fputs("<script>", file);
    fwrite(kd_viewer_script, 1, kd_viewer_script_size, file);
    fputs("</script>\n", file);
}

kd_status kd_viewer_put_film(FILE *file, const char *front, const char *title, const kd_film *film)
{
    char      name[6][60];
    kd_scene  scene;
    kd_status status = kd_scene_build(film, &scene);
    if (status < 0) return status;
    static const char *const NAME[] = {"scene", "rows", "channels", "times", "pose", "amplitudes"};
    for (int i = 0; i < 6; i++) kd_text(name[i], sizeof name[i], "%s%s", front, NAME[i]);
    fprintf(file, "<script type=\"application/json\" data-kardan=\"%s\">{", name[0]);
    put_text(file, "title", title);
    fprintf(file, ",\"frames\":%d,\"rows\":%d,\"channels\":[],\"plots\":[],\"events\":[]", film->nframes,
            film->nframes);
    kd_viewer_put_mechanism(file, &scene);
    fputs("}</script>\n", file);
    // the rows are the frames, and there are no channels
    status = write_doubles(file, name[1], film->t, (size_t)film->nframes);
    if (status == KD_OK) status = kd_block_write(file, name[2], (const unsigned char *)"", 0, 1);
    if (status == KD_OK) status = write_doubles(file, name[3], film->t, (size_t)film->nframes);
    if (status == KD_OK) status = write_poses(file, name[4], &scene);
    if (status == KD_OK) status = kd_sheets_write_amplitudes(file, name[5], film);
    kd_scene_release(&scene);
    return status;
}

kd_status kd_viewer_write(FILE *file, const kd_result *r, const kd_viewer_plot *plots, int nplots)
{
    // without frames the plots alone
    const kd_film *film = r->drawing ? kd_drawing_film(r->drawing) : NULL;
    bool           draws = film && film->nframes > 0;
    kd_scene       scene = {0};
    extent         e = {0};
    kd_arena       arena = {0};
    kd_film        few = {0};
    kd_status      status = draws ? kd_film_thin(film, &arena, &few) : KD_OK;
    if (status == KD_OK && draws) status = kd_scene_build(&few, &scene);
    if (status != KD_OK) draws = false;
    if (status == KD_OK) status = choose_extent(r, plots, nplots, &e);
    if (status < 0) goto done;

    fputs("<h2>Motion</h2>\n<section class=\"card\" data-kardan-viewer>\n", file);
    // the mechanism as the script will show it, seen at once, and instead where the script does not run or cannot draw
    if (draws) {
        fputs("<div class=\"viewer\">\n<div class=\"stage3d\"><div class=\"still\">\n", file);
        status = kd_picture_write_first(file, &scene, r->title);
        fputs("</div></div>\n<aside></aside>\n</div>\n", file);
    }
    fputs("<noscript><p class=\"muted\">Plots and motion need scripts; the numbers are in the results beside this "
          "page.</p></noscript>\n</section>\n",
          file);
    if (status == KD_OK) {
        // names and shapes as JSON, numbers in compressed blocks
        put_scene(file, r, draws ? &scene : NULL, plots, nplots, &e);
        status = write_blocks(file, r, draws ? &scene : NULL, &e);
    }
    if (status == KD_OK && r->beside) kd_beside_write(r->beside, file);
    if (status == KD_OK) kd_viewer_put_script(file);
done:
    kd_free(e.place);
    kd_free(e.row);
    if (draws) kd_scene_release(&scene);
    kd_arena_release(&arena);
    return status;
}
