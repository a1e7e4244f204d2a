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

// ---- the mechanism --------------------------------------------------------------------------------------------------
static void put_vector(kd_json *json, const char *key, kd_vec3 a)
{
    double x[3];
    kd_vec_to(a, x);
    kd_json_numbers(json, key, x, 3);
}

// Points one after the other, with their own number of digits
static void put_points(kd_json *json, const char *key, const kd_vec3 *point, int n, const char *digits)
{
    const char *usual = json->digits;
    json->digits = digits;
    kd_json_list(json, key);
    for (int i = 0; i < n; i++) {
        double x[3];
        kd_vec_to(point[i], x);
        for (int k = 0; k < 3; k++) kd_json_number(json, NULL, x[k]);
    }
    kd_json_list_close(json);
    json->digits = usual;
}

static void put_bodies(kd_json *json, const kd_scene *s)
{
    kd_json_list(json, "bodies");
    for (int i = 0; i < s->film.model->nbodies; i++) {
        // name, mass and colour; the centre of mass in the frame of the body
        const kd_body *body = &s->film.model->body[i];
        kd_json_open(json, NULL);
        kd_json_text(json, "name", body->name);
        kd_json_number(json, "mass", body->def.mass);
        kd_json_count(json, "paint", s->paint[i]);
        put_vector(json, "centre", body->centre);
        kd_json_close(json);
    }
    kd_json_list_close(json);
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
    // forms are made once in the viewer and stretched
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
static void put_surfaces(kd_json *json, const kd_scene *s)
{
    kd_json_list(json, "surfaces");
    for (int i = KD_MESHES; i < s->nmeshes; i++) {
        const kd_mesh *m = &s->fine[i - KD_MESHES];
        kd_json_open(json, NULL);
        put_points(json, "v", m->vertex, m->nvertices, "%.5g");
        kd_json_counts(json, "f", m->corner, 3 * m->nfaces);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

static void put_solids(kd_json *json, const kd_scene *s)
{
    kd_json_list(json, "solids");
    for (int i = 0; i < s->nsolids; i++) {
        // place, turn and size in the frame of the body that the solid belongs to
        const kd_solid *solid = &s->solid[i];
        double          q[4], ratio;
        kd_quat_to(solid->q, q);
        kd_json_open(json, NULL);
        kd_json_count(json, "form", form_of(solid, &ratio));
        kd_json_count(json, "body", solid->body);
        kd_json_count(json, "paint", solid->paint);
        kd_json_number(json, "ratio", ratio);
        put_vector(json, "r", solid->r);
        kd_json_numbers(json, "q", q, 4);
        put_vector(json, "size", solid->size);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

// Springs and what else stretches, by their two ends, each in the frame of its body; lines that points leave behind
static void put_coils(kd_json *json, const kd_scene *s)
{
    // both ends with their bodies, how thick and by which look
    kd_json_list(json, "coils");
    for (int i = 0; i < s->ncoils; i++) {
        const kd_coil *coil = &s->coil[i];
        kd_json_open(json, NULL);
        kd_json_count(json, "from", coil->from.body);
        kd_json_count(json, "to", coil->to.body);
        put_vector(json, "fromR", coil->from.r);
        put_vector(json, "toR", coil->to.r);
        kd_json_number(json, "radius", coil->thick);
        kd_json_count(json, "look", (int)coil->look);
        kd_json_count(json, "paint", coil->look == KD_LINK_COIL ? KD_PAINT_SPRING : KD_PAINT_JOINT);
        kd_json_text(json, "name", coil->name ? coil->name : "");
        kd_json_close(json);
    }
    kd_json_list_close(json);
    // the points that leave a line behind
    kd_json_list(json, "traces");
    for (int i = 0; i < s->ntraces; i++) {
        kd_json_open(json, NULL);
        kd_json_count(json, "body", s->trace[i].at.body);
        kd_json_count(json, "paint", s->trace[i].paint);
        put_vector(json, "r", s->trace[i].at.r);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

static void put_colours(kd_json *json)
{
    kd_json_list(json, "colours");
    for (int i = 0; i < KD_PAINT_COUNT; i++) kd_json_text(json, NULL, kd_paint_colour(i));
    kd_json_list_close(json);
}

// Tracks, roads and curves as rows of points
static void put_lines(kd_json *json, const kd_scene *s)
{
    kd_json_list(json, "lines");
    for (int i = 0; i < s->nlines; i++) {
        const kd_line *line = &s->line[i];
        kd_json_open(json, NULL);
        kd_json_count(json, "body", line->body);
        kd_json_text(json, "name", line->name ? line->name : "");
        put_points(json, "points", line->point, line->count, "%.6g");
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

// Where it looks from, what it may not lose from sight
static void put_camera(kd_json *json, const kd_scene *s)
{
    // axes and angles of the first view
    const kd_camera *c = &s->camera;
    kd_json_open(json, "camera");
    put_vector(json, "centre", c->centre);
    put_vector(json, "up", c->up);
    put_vector(json, "front", c->front);
    put_vector(json, "right", c->right);
    kd_json_number(json, "azimuth", c->azimuth);
    kd_json_number(json, "elevation", c->elevation);
    kd_json_number(json, "distance", c->distance);
    kd_json_close(json);
    // what all of it measures, where the floor lies, and whether the camera goes along
    kd_json_number(json, "radius", s->radius);
    kd_json_number(json, "size", s->size);
    kd_json_number(json, "floor", s->floor);
    kd_json_number(json, "grid", s->grid);
    kd_json_bool(json, "follows", s->follows);
    kd_json_bool(json, "falls", s->falls);
    put_vector(json, "low", s->low);
    put_vector(json, "high", s->high);
}

void kd_viewer_put_mechanism(kd_json *json, const kd_scene *s)
{
    put_bodies(json, s);
    put_surfaces(json, s);
    put_solids(json, s);
    put_coils(json, s);
    put_colours(json);
    put_lines(json, s);
    put_camera(json, s);
    kd_sheets_put(json, s);
}

// Forces and reactions: where they act, and how large they become
static void put_loads(kd_json *json, const kd_loads *l)
{
    kd_json_count(json, "loadFrames", l ? l->frames : 0);
    kd_json_list(json, "loads");
    for (int i = 0; l && i < l->count; i++) {
        const kd_load_arrow *a = &l->arrow[i];
        kd_json_open(json, NULL);
        kd_json_count(json, "kind", (int)a->kind);
        kd_json_count(json, "body", a->at.body);
        kd_json_count(json, "under", a->normal.body);
        kd_json_text(json, "name", a->name);
        put_vector(json, "r", a->at.r);
        put_vector(json, "normal", a->normal.r);
        kd_json_number(json, "drop", a->drop);
        kd_json_number(json, "largest", a->largest);
        kd_json_close(json);
    }
    kd_json_list_close(json);
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
    for (int i = 0; i < all; i++)
        e->place[i] = few || !kd_result_has_column(r, i) || !kd_recording_knows(r->recording, i) ? -1 : 0;
    for (int i = 0; i < nplots; i++)
        for (int k = 0; k < plots[i].n; k++) e->place[plots[i].column[k]] = 0;
    for (int i = 0; i < all; i++)
        if (e->place[i] == 0) e->place[i] = e->columns++;
    return choose_rows(r->recording, most, e);
}

// In the order of their places in the page
static void put_channels(kd_json *json, const kd_result *r, const extent *e)
{
    kd_json_list(json, "channels");
    for (int i = 0; i < kd_recording_columns(r->recording); i++) {
        if (e->place[i] < 0) continue;
        kd_json_open(json, NULL);
        kd_json_text(json, "name", kd_recording_name(r->recording, i));
        kd_json_text(json, "unit", kd_recording_unit(r->recording, i));
        kd_json_count(json, "bytes", is_double(r->recording, i) ? 8 : 4);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

// Plots refer to channels by their places
static void put_plots(kd_json *json, const kd_viewer_plot *plots, int nplots, const extent *e)
{
    kd_json_list(json, "plots");
    for (int i = 0; i < nplots; i++) {
        kd_json_open(json, NULL);
        kd_json_text(json, "title", plots[i].title ? plots[i].title : "");
        kd_json_text(json, "unit", plots[i].unit ? plots[i].unit : "");
        kd_json_text(json, "note", plots[i].note ? plots[i].note : "");
        kd_json_bool(json, "log", plots[i].ylog);
        kd_json_list(json, "channels");
        for (int k = 0; k < plots[i].n; k++) kd_json_count(json, NULL, e->place[plots[i].column[k]]);
        kd_json_list_close(json);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

// Those that plots mark, the first ones, at their exact times
static void put_events(kd_json *json, const kd_event_log *log)
{
    const int   n = log ? kd_event_log_length(log) : 0;
    const char *usual = json->digits;
    json->digits = NULL;
    kd_json_list(json, "events");
    for (int i = 0; i < n && i < MOST_EVENTS; i++) {
        const kd_logged_event *e = kd_event_log_at(log, i);
        if (e->kind == KD_EVENT_SAMPLE || e->kind == KD_EVENT_BREAK) continue;
        kd_json_open(json, NULL);
        kd_json_number(json, "t", e->t);
        kd_json_text(json, "kind", kd_event_word(e->kind));
        kd_json_text(json, "element", e->element);
        kd_json_text(json, "text", e->text);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    json->digits = usual;
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

// Where the stress of flexible bodies is largest
static void put_spots(kd_json *json, const kd_result *r)
{
    if (r->nspots == 0) return;
    kd_json_list(json, "spots");
    for (int i = 0; i < r->nspots; i++) {
        const kd_result_spot *spot = &r->spots[i];
        kd_json_open(json, NULL);
        kd_json_text(json, "body", spot->body);
        kd_json_text(json, "where", spot->where);
        kd_json_numbers(json, "at", spot->at, 3);
        kd_json_number(json, "mises", spot->mises);
        kd_json_number(json, "t", spot->t);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

// ---- all ------------------------------------------------------------------------------------------------------------
static void put_scene(FILE *file, const kd_result *r, const kd_scene *s, const kd_viewer_plot *plots, int nplots,
                      const extent *e)
{
    static const char *const MECHANISM[] = {"bodies", "solids", "coils", "traces", "colours"};
    kd_json                  json = kd_block_begin(file, "scene");
    kd_json_text(&json, "title", r->title ? r->title : "");
    kd_json_bool(&json, "steps", true);
    kd_json_count(&json, "frames", s ? s->film.nframes : 0);
    kd_json_count(&json, "rows", e->rows);
    // without drawing the viewer still looks for the lists
    if (s) kd_viewer_put_mechanism(&json, s);
    for (size_t i = 0; !s && i < sizeof MECHANISM / sizeof *MECHANISM; i++) kd_json_raw(&json, MECHANISM[i], "[]");
    put_loads(&json, s ? kd_drawing_loads(r->drawing) : NULL);
    put_channels(&json, r, e);
    put_plots(&json, plots, nplots, e);
    put_events(&json, r->events);
    put_spots(&json, r);
    kd_block_end(&json);
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
    kd_json json = kd_block_begin(file, name[0]);
    kd_json_text(&json, "title", title ? title : "");
    kd_json_count(&json, "frames", film->nframes);
    kd_json_count(&json, "rows", film->nframes);
    kd_json_raw(&json, "channels", "[]");
    kd_json_raw(&json, "plots", "[]");
    kd_json_raw(&json, "events", "[]");
    kd_viewer_put_mechanism(&json, &scene);
    kd_block_end(&json);
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
