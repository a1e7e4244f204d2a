// drawing.c: frames of a motion, and the section of a report that shows them: picture, script (drawing.js), data.
#include "drawing/drawing.h"

#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/memory.h"
#include "core/text.h"
#include "drawing/overlap.h"
#include "drawing/picture.h"
#include "drawing/scene.h"
#include "drawing/thin.h"
#include "model/part.h"
#include "results/file.h"

enum {
    NUMBERS = 24000,        // in a page with the small drawing that are aimed at
    ALL_NUMBERS = 14100000, // that are kept, for the viewer: 2001 frames of a thousand bodies
    FEWEST_FRAMES = 40,
    SINGLE_NODES = 2000,  // of a part without elements, that are drawn
    SHEET_NUMBERS = 9000, // nodes times shapes of a surface in the small drawing
    LOOKED_AT = 4,        // outputs for each frame that is kept, where there are more
    FILM_FRAMES = 501     // that the small drawing has at the most
};

extern const unsigned char kd_drawing_script[]; // src/drawing/drawing.js as bytes, made by cmake/embed.cmake
extern const size_t        kd_drawing_script_size;

struct kd_drawing {
    kd_film   film;
    double   *t, *pose;
    int       capacity, every, seen; // every so many outputs one is looked at
    int      *keep;                  // (capacity)
    kd_loads *loads;                 // NULL: none
    // of surfaces that deform
    double       *amplitude; // (capacity x film.namplitudes)
    kd_amplitudes amplitudes;
    void         *context;
    kd_arena      arena;
};

// ---- flexible bodies ------------------------------------------------------------------------------------------------

// Amplitudes of all flexible bodies, as the state of the probe has them: channels body.NAME.qK
typedef struct mode_reader {
    int             n;
    int            *place; // (n) in the positions; place[0] < 0: not looked for yet
    double         *q;     // (n)
    const kd_model *model;
} mode_reader;

// Of some parts nodes alone are known (SID files): lines between neighbours are drawn then, as long as there are not too many
static bool is_drawn(const kd_body *body)
{
    const kd_flexible_body *f = body->def.read;
    return body->nmodes > 0 && (f->ntriangles + f->nlines > 0 || (f->nnodes > 1 && f->nnodes <= SINGLE_NODES));
}

// false: a probe without these channels
static bool find_places(mode_reader *a, const kd_probe *probe)
{
    int first, count, n = 0;
    kd_probe_group(probe, KD_GROUP_P, &first, &count);
    for (int i = 0; i < a->model->nbodies; i++)
        for (int k = 0; is_drawn(&a->model->body[i]) && k < a->model->body[i].nmodes; k++) {
            char name[300];
            kd_text(name, sizeof name, "body.%s.q%d", a->model->body[i].name, k + 1);
            const int channel = kd_probe_find(probe, name);
            if (channel < first || channel >= first + count) return false;
            a->place[n++] = channel - first;
        }
    return true;
}

static const double *read_amplitudes(void *context, kd_probe *probe)
{
    mode_reader *a = context;
    if (a->place[0] < 0 && !find_places(a, probe)) return NULL;
    const double *p = kd_probe_values(probe, KD_GROUP_P);
    for (int i = 0; p && i < a->n; i++) a->q[i] = p[a->place[i]];
    return p ? a->q : NULL;
}

static double square_between(const double *a, const double *b)
{
    const kd_vec3 d = kd_vec_sub(kd_vec_of(a), kd_vec_of(b));
    return kd_vec_dot(d, d);
}

// Nodes without elements: the shortest lines that hold all of them together (Prim)
static kd_status take_nodes(const kd_flexible_body *f, kd_arena *arena, kd_deformed *d)
{
    const int n = f->nnodes;
    int      *line = kd_cut_int(arena, 2 * n), *nearest = kd_cut_int(arena, n);
    double   *way = kd_cut_double(arena, n); // to the tree; -1: in it
    if (arena->failed) return KD_ERR_MEMORY;
    // the tree begins with the first node
    for (int i = 1; i < n; i++) way[i] = square_between(f->node, f->node + 3 * (size_t)i);
    way[0] = -1;
    // the node next to the tree joins it, by a line to its nearest
    for (int k = 0; k < n - 1; k++) {
        int next = -1;
        for (int i = 1; i < n; i++)
            if (way[i] >= 0 && (next < 0 || way[i] < way[next])) next = i;
        line[2 * k] = nearest[next], line[2 * k + 1] = next;
        way[next] = -1;
        // ways of the others become shorter
        for (int i = 1; i < n; i++) {
            const double other = square_between(f->node + 3 * (size_t)next, f->node + 3 * (size_t)i);
            if (way[i] >= 0 && other < way[i]) way[i] = other, nearest[i] = next;
        }
    }
    d->nnodes = n;
    d->nlines = n - 1;
    d->node = f->node;
    d->shape = f->shape;
    d->line = line;
    return KD_OK;
}

// The nodes of the surface alone: those inside and in the middle of edges are not seen
static kd_status take_skin(const kd_flexible_body *f, kd_arena *arena, kd_deformed *d)
{
    const int corners = 3 * f->ntriangles, ends = 2 * f->nlines;
    int      *number = kd_cut_int(arena, f->nnodes), *corner = kd_cut_int(arena, corners + ends), n = 0;
    if (arena->failed) return KD_ERR_MEMORY;
    // nodes that a face or line uses get numbers in their order
    for (int i = 0; i < corners; i++) number[f->triangle[i]] = 1;
    for (int i = 0; i < ends; i++) number[f->line[i]] = 1;
    for (int i = 0; i < f->nnodes; i++) number[i] = number[i] > 0 ? n++ : -1;
    double *node = kd_cut_matrix(arena, 3, n), *shape = kd_cut_matrix(arena, 3 * n, d->nshapes);
    if (arena->failed) return KD_ERR_MEMORY;
    // their places and shapes
    for (int i = 0; i < f->nnodes; i++) {
        const size_t from = 3 * (size_t)i, to = 3 * (size_t)number[i];
        if (number[i] < 0) continue;
        memcpy(node + to, f->node + from, 3 * sizeof *node);
        for (size_t k = 0; k < (size_t)d->nshapes; k++)
            memcpy(shape + 3 * k * (size_t)n + to, f->shape + 3 * k * (size_t)f->nnodes + from, 3 * sizeof *shape);
    }
    // faces and lines by the new numbers
    for (int i = 0; i < corners; i++) corner[i] = number[f->triangle[i]];
    for (int i = 0; i < ends; i++) corner[corners + i] = number[f->line[i]];
    d->nnodes = n;
    d->ntriangles = f->ntriangles;
    d->nlines = f->nlines;
    d->node = node;
    d->shape = shape;
    d->triangle = corner;
    d->line = corner + corners;
    return KD_OK;
}

// Nodes and modes of the parts
static kd_status add_flexible(kd_drawing *d)
{
    const kd_model *m = d->film.model;
    int             n = 0, modes = 0;
    for (int i = 0; i < m->nbodies; i++)
        if (is_drawn(&m->body[i])) n++, modes += m->body[i].nmodes;
    if (n == 0 || d->capacity == 0) return KD_OK;
    // a surface for each part, and room for the amplitudes of all modes
    kd_deformed *surface = kd_arena_cut(&d->arena, (size_t)n, sizeof *surface);
    mode_reader *a = kd_arena_cut(&d->arena, 1, sizeof *a);
    int         *place = kd_cut_int(&d->arena, modes);
    double      *q = kd_cut_double(&d->arena, modes);
    if (d->arena.failed) return KD_ERR_MEMORY;
    *a = (mode_reader){modes, place, q, m};
    place[0] = -1;
    n = 0;
    // bare parts have neither faces nor lines: their nodes are joined here
    for (int i = 0; i < m->nbodies; i++) {
        if (!is_drawn(&m->body[i])) continue;
        surface[n] = (kd_deformed){.body = i, .nshapes = m->body[i].nmodes};
        const kd_flexible_body *f = m->body[i].def.read;
        const bool              bare = f->ntriangles + f->nlines == 0;
        if ((bare ? take_nodes : take_skin)(f, &d->arena, &surface[n]) < 0 ||
            kd_deformed_take_stress(f, &d->arena, &surface[n]) < 0)
            return KD_ERR_MEMORY;
        n++;
    }
    return kd_drawing_deform(d, surface, n, read_amplitudes, a);
}

// ---- frames ---------------------------------------------------------------------------------------------------------
kd_status kd_drawing_create(const kd_system *system, int noutputs, kd_drawing **drawing)
{
    *drawing = NULL;
    kd_drawing *d = kd_alloc(sizeof *d);
    if (!d) return KD_ERR_MEMORY;
    d->film.system = system;
    d->film.model = kd_system_model(system);
    // as many frames as numbers allow, and an output every so many
    int n = d->film.model->nbodies, frames = n > 0 ? ALL_NUMBERS / (7 * n) : 0;
    if (frames < FEWEST_FRAMES) frames = FEWEST_FRAMES;
    if (frames > KD_DRAWING_FRAMES) frames = KD_DRAWING_FRAMES;
    if (noutputs > 0 && frames > noutputs) frames = noutputs;
    d->every = 1 + (noutputs > frames ? (noutputs - 1) / frames / LOOKED_AT : 0);
    d->capacity = n == 0 || n > KD_DRAWING_MOST ? 0 : frames + 2; // start and end besides
    // frames are taken while the motion runs; memory for all of them now
    d->t = kd_cut_double(&d->arena, d->capacity);
    d->pose = kd_cut_double(&d->arena, d->capacity * 7 * n);
    d->keep = kd_cut_int(&d->arena, d->capacity);
    kd_status status = d->arena.failed ? KD_ERR_MEMORY : add_flexible(d);
    d->film.t = d->t;
    d->film.pose = d->pose;
    if (status == KD_OK)
        *drawing = d;
    else
        kd_drawing_destroy(d);
    return status;
}

void kd_drawing_destroy(kd_drawing *d)
{
    if (!d) return;
    kd_loads_destroy(d->loads);
    kd_arena_release(&d->arena);
    kd_free(d);
}

kd_status kd_drawing_deform(kd_drawing *d, const kd_deformed *surface, int count, kd_amplitudes amplitudes,
                            void *context)
{
    int n = 0;
    if (d->film.nframes > 0 || count < 0 || !amplitudes) return KD_ERR_ARGUMENT;
    // before the first frame only, and with sound surfaces
    for (int i = 0; i < count; i++) {
        if (!kd_deformed_is_sound(&surface[i], d->film.model->nbodies)) return KD_ERR_ARGUMENT;
        n += surface[i].nshapes;
    }
    // own copies of the heads; nodes and shapes stay where they are
    kd_deformed *own = kd_arena_cut(&d->arena, (size_t)count, sizeof *own);
    d->amplitude = kd_cut_matrix(&d->arena, d->capacity, n);
    if (d->arena.failed) return KD_ERR_MEMORY;
    // from now on every frame asks for amplitudes
    if (count > 0) memcpy(own, surface, (size_t)count * sizeof *own);
    d->film.deformed = own;
    d->film.ndeformed = count;
    d->film.namplitudes = n;
    d->film.amplitude = d->amplitude;
    d->amplitudes = amplitudes;
    d->context = context;
    return KD_OK;
}

const double *kd_drawing_amplitudes(kd_drawing *d, kd_probe *probe)
{
    return d->film.namplitudes > 0 ? d->amplitudes(d->context, probe) : NULL;
}

int kd_drawing_length(const kd_drawing *d)
{
    return d->film.nframes;
}

static bool all_finite(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static double *row_of(double *x, int width, int i)
{
    return x + (size_t)width * (size_t)i;
}

// Room for more frames: those go that follow from their neighbours, a quarter of all at least
static void make_room(kd_drawing *d)
{
    const int            n = 7 * d->film.model->nbodies, m = d->film.namplitudes, count = d->film.nframes;
    const kd_frame_error e = {&d->film, kd_film_size(&d->film), NULL};
    const int            kept = kd_thin_to(count, count * 3 / 4, kd_error_of_frame, &e, 1e-5, d->keep);
    for (int i = 0; i < kept; i++) {
        const int from = d->keep[i];
        d->t[i] = d->t[from];
        memmove(row_of(d->pose, n, i), row_of(d->pose, n, from), (size_t)n * sizeof *d->pose);
        if (m > 0) memmove(row_of(d->amplitude, m, i), row_of(d->amplitude, m, from), (size_t)m * sizeof *d->amplitude);
    }
    d->film.nframes = kept;
}

void kd_drawing_add(kd_drawing *d, kd_probe *probe, double t, bool is_end)
{
    int  n = 7 * d->film.model->nbodies;
    bool wanted = d->seen++ % d->every == 0 || is_end;
    if (wanted && d->film.nframes == d->capacity && d->capacity > FEWEST_FRAMES / 2) make_room(d);
    const int at = d->film.nframes;
    if (!wanted || at == d->capacity || (at > 0 && !(t > d->t[at - 1]))) return;
    const double *pose = kd_probe_values(probe, KD_GROUP_POSE);
    if (!pose || !all_finite(pose, n)) return;
    const int     m = d->film.namplitudes;
    const double *q = kd_drawing_amplitudes(d, probe);
    if (m > 0 && (!q || !all_finite(q, m))) return;
    if (m > 0) memcpy(d->amplitude + (size_t)at * (size_t)m, q, (size_t)m * sizeof *q);
    memcpy(d->pose + (size_t)at * (size_t)n, pose, (size_t)n * sizeof *pose);
    d->t[at] = t;
    d->film.nframes++;
}

kd_status kd_drawing_of_recording(const kd_system *system, kd_probe *probe, const kd_recording *rec,
                                  kd_drawing **drawing)
{
    const int n = kd_recording_length(rec), columns = kd_recording_columns(rec);
    kd_state *x = NULL;
    kd_status status = kd_drawing_create(system, n, drawing);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    for (int i = 0; status >= 0 && i < n; i++) {
        // the first columns are the state
        memcpy(x->p, kd_recording_values(rec) + (size_t)i * (size_t)columns, (size_t)x->n * sizeof *x->p);
        x->t = kd_recording_times(rec)[i];
        status = kd_probe_set(probe, x);
        if (status >= 0) kd_drawing_add(*drawing, probe, x->t, i == n - 1);
    }
    (void)!kd_probe_set(probe, NULL); // it has no state to be asked about any more
    kd_state_destroy(x);
    if (status < 0) {
        kd_drawing_destroy(*drawing);
        *drawing = NULL;
    }
    return status;
}

kd_status kd_drawing_read_loads(kd_drawing *d, kd_coordinates coordinates, const kd_inputs *inputs,
                                const kd_recording *recording)
{
    const kd_status status = kd_loads_read(d->film.model, coordinates, inputs, recording, &d->loads);
    return status == KD_ERR_MEMORY ? status : KD_OK;
}

const kd_loads *kd_drawing_loads(const kd_drawing *d)
{
    return d->loads;
}

// ---- data -----------------------------------------------------------------------------------------------------------
static void put_vector(kd_json *json, const char *key, kd_vec3 a)
{
    double x[3];
    kd_vec_to(a, x);
    kd_json_numbers(json, key, x, 3);
}

static void put_16_bits(unsigned char *out, long value)
{
    out[0] = (unsigned char)((unsigned long)value & 255u);
    out[1] = (unsigned char)((unsigned long)value >> 8 & 255u);
}

// Positions as fractions of the box around all of them, quaternions as multiples of 1/32767; low byte first
static kd_status put_poses(kd_json *json, const kd_scene *s)
{
    double low[3], high[3];
    kd_vec_to(s->low, low);
    kd_vec_to(s->high, high);
    const size_t   count = 7 * (size_t)s->film.nframes * (size_t)s->film.model->nbodies;
    unsigned char *bytes = kd_alloc(2 * count + 1);
    if (!bytes) return KD_ERR_MEMORY;
    // seven numbers for each body: three of position, four of the quaternion
    for (size_t i = 0; i < count; i++) {
        const size_t k = i % 7;
        const double x = s->film.pose[i];
        if (k < 3)
            put_16_bits(bytes + 2 * i, high[k] > low[k] ? lround(65535.0 * ((x - low[k]) / (high[k] - low[k]))) : 0);
        else
            put_16_bits(bytes + 2 * i, lround(32767.0 * x) & 0xffff);
    }
    kd_json_bytes(json, "pose", bytes, 2 * count);
    kd_free(bytes);
    return KD_OK;
}

static void put_mesh(kd_json *json, const kd_mesh *m, int form)
{
    kd_json_open(json, NULL);
    kd_json_count(json, "form", form);
    kd_json_count(json, "marked", m->nmarked);
    kd_json_bool(json, "hollow", m->hollow);
    kd_json_list(json, "v");
    for (int k = 0; k < m->nvertices; k++) put_vector(json, NULL, m->vertex[k]);
    kd_json_list_close(json);
    kd_json_list(json, "f");
    for (int k = 0; k < m->nfaces; k++)
        kd_json_counts(json, NULL, m->corner + m->first[k], m->first[k + 1] - m->first[k]);
    kd_json_list_close(json);
    kd_json_close(json);
}

// Only meshes that a solid is made of
static void put_meshes(kd_json *json, const kd_scene *s)
{
    kd_json_list(json, "mesh");
    for (int i = 0; i < s->nmeshes; i++) {
        bool used = false;
        for (int k = 0; k < s->nsolids; k++) used = used || s->solid[k].mesh == i;
        if (used)
            put_mesh(json, &s->mesh[i], (int)kd_form_of(i));
        else
            kd_json_text(json, NULL, NULL);
    }
    kd_json_list_close(json);
}

static void put_solids(kd_json *json, const kd_scene *s)
{
    kd_json_list(json, "solid");
    for (int i = 0; i < s->nsolids; i++) {
        const kd_solid *solid = &s->solid[i];
        double          q[4];
        kd_quat_to(solid->q, q);
        kd_json_list(json, NULL);
        kd_json_count(json, NULL, solid->mesh);
        kd_json_count(json, NULL, solid->body);
        kd_json_count(json, NULL, solid->paint);
        put_vector(json, NULL, solid->r);
        kd_json_numbers(json, NULL, q, 4);
        put_vector(json, NULL, solid->size);
        kd_json_list_close(json);
    }
    kd_json_list_close(json);
}

// Springs from end to end; lines that points leave behind
static void put_coils(kd_json *json, const kd_scene *s)
{
    // each by two points on bodies and its radius
    kd_json_list(json, "coil");
    for (int i = 0; i < s->ncoils; i++) {
        const kd_coil *coil = &s->coil[i];
        if (coil->look == KD_LINK_COUPLING) continue;
        kd_json_list(json, NULL);
        kd_json_count(json, NULL, coil->from.body);
        put_vector(json, NULL, coil->from.r);
        kd_json_count(json, NULL, coil->to.body);
        put_vector(json, NULL, coil->to.r);
        kd_json_number(json, NULL, coil->radius);
        kd_json_list_close(json);
    }
    kd_json_list_close(json);
    // and each trace by its point and colour
    kd_json_list(json, "trace");
    for (int i = 0; i < s->ntraces; i++) {
        kd_json_list(json, NULL);
        kd_json_count(json, NULL, s->trace[i].at.body);
        put_vector(json, NULL, s->trace[i].at.r);
        kd_json_count(json, NULL, s->trace[i].paint);
        kd_json_list_close(json);
    }
    kd_json_list_close(json);
}

static void put_camera(kd_json *json, const kd_camera *c)
{
    kd_json_open(json, "camera");
    put_vector(json, "centre", c->centre);
    put_vector(json, "up", c->up);
    put_vector(json, "front", c->front);
    put_vector(json, "right", c->right);
    kd_json_numbers(json, "low", c->low, 2);
    kd_json_numbers(json, "high", c->high, 2);
    kd_json_number(json, "azimuth", c->azimuth);
    kd_json_number(json, "elevation", c->elevation);
    kd_json_number(json, "distance", c->distance);
    kd_json_close(json);
}

// Names of all bodies; families with their colours, as many as a legend holds
static void put_names(kd_json *json, const kd_scene *s)
{
    enum { MOST = 12 };
    const kd_model *m = s->film.model;
    kd_json_list(json, "names");
    for (int i = 0; i < m->nbodies; i++) kd_json_text(json, NULL, m->body[i].name);
    kd_json_list_close(json);
    kd_json_list(json, "family");
    for (int i = 0, shown = 0; i < m->nbodies && shown < MOST; i++) {
        const char *name = m->body[i].name;
        size_t      length = kd_family_length(name);
        char        part[200];
        // the first of a family stands for it
        if (i > 0 && kd_family_length(m->body[i - 1].name) == length &&
            strncmp(name, m->body[i - 1].name, length) == 0 && name[length] == '(')
            continue; // one of many
        kd_text(part, sizeof part, "%.*s", (int)(length < sizeof part ? length : sizeof part - 1), name);
        kd_json_list(json, NULL);
        kd_json_text(json, NULL, part);
        kd_json_count(json, NULL, s->paint[i]);
        kd_json_list_close(json);
        shown++;
    }
    kd_json_list_close(json);
    kd_json_list(json, "colour");
    for (int i = 0; i < KD_PAINT_COUNT; i++) kd_json_text(json, NULL, kd_paint_colour(i));
    kd_json_list_close(json);
    kd_json_count(json, "jointPaint", KD_PAINT_JOINT);
    kd_json_count(json, "springPaint", KD_PAINT_SPRING);
}

// Parts of the largest as multiples of 1/32767, from every stride-th of x on; the largest
static double put_parts(unsigned char *bytes, const double *x, size_t n, size_t stride)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i * stride]));
    for (size_t i = 0; i < n; i++)
        put_16_bits(bytes + 2 * i, most > 0 ? lround(32767.0 * (x[i * stride] / most)) & 0xffff : 0);
    return most;
}

// A surface that deforms, with few nodes; its shapes in units of their largest component, its amplitudes at all frames
static kd_status put_sheet(kd_json *json, const kd_scene *s, const kd_deformed *d, int first)
{
    const size_t   n = 3 * (size_t)d->nnodes, frames = (size_t)s->film.nframes;
    unsigned char *bytes = kd_alloc(2 * (n > frames ? n : frames));
    if (!bytes) return KD_ERR_MEMORY;
    // what does not move: nodes, faces, lines
    kd_json_open(json, NULL);
    kd_json_count(json, "body", d->body);
    kd_json_count(json, "paint", s->paint[d->body]);
    kd_json_numbers(json, "node", d->node, (int)n);
    kd_json_counts(json, "triangle", d->triangle, 3 * d->ntriangles);
    kd_json_counts(json, "line", d->line, 2 * d->nlines);
    // each shape by bytes and one size: that of the largest component times that of the largest amplitude
    kd_json_list(json, "shape");
    for (int j = 0; j < d->nshapes; j++) {
        const double *amplitude = s->film.amplitude + first + j;
        kd_json_open(json, NULL);
        double size = put_parts(bytes, d->shape + (size_t)j * n, n, 1);
        kd_json_bytes(json, "at", bytes, 2 * n);
        size *= put_parts(bytes, amplitude, frames, (size_t)s->film.namplitudes);
        kd_json_bytes(json, "q", bytes, 2 * frames);
        kd_json_number(json, "size", size);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    kd_json_close(json);
    kd_free(bytes);
    return KD_OK;
}

static kd_status put_sheets(kd_json *json, const kd_scene *s)
{
    kd_arena  arena = {0};
    kd_status status = KD_OK;
    kd_json_list(json, "sheet");
    for (int i = 0, first = 0; i < s->film.ndeformed && status == KD_OK; first += s->deformed[i++].nshapes) {
        const kd_deformed *d = &s->deformed[i];
        const int          most = SHEET_NUMBERS / (d->nshapes > 0 ? d->nshapes : 1);
        kd_deformed        thin;
        status = kd_deformed_thin(d, most < 60 ? 60 : most > 600 ? 600 : most, &arena, &thin);
        if (status == KD_OK) status = put_sheet(json, s, &thin, first);
    }
    kd_json_list_close(json);
    kd_arena_release(&arena);
    return status;
}

static kd_status put_data(FILE *file, const kd_scene *s)
{
    kd_json json = {.file = file, .layout = KD_JSON_DENSE, .digits = "%.8g", .none = "0", .in_page = true};
    // names and times, with digits enough to tell frames apart
    kd_json_open(&json, NULL);
    put_names(&json, s);
    kd_json_numbers(&json, "t", s->film.t, s->film.nframes);
    // five digits are enough for a picture
    json.digits = "%.5g";
    kd_json_list(&json, "box");
    put_vector(&json, NULL, s->low);
    put_vector(&json, NULL, s->high);
    kd_json_list_close(&json);
    // what moves, then what is drawn in its axes
    kd_status status = put_poses(&json, s);
    if (status == KD_OK) status = put_sheets(&json, s);
    put_meshes(&json, s);
    put_solids(&json, s);
    put_coils(&json, s);
    // how it is looked at
    put_camera(&json, &s->camera);
    kd_json_number(&json, "radius", s->radius);
    kd_json_number(&json, "floor", s->floor);
    kd_json_number(&json, "grid", s->grid);
    kd_json_count(&json, "follows", s->follows);
    kd_json_count(&json, "falls", s->falls);
    kd_json_close(&json);
    return status;
}

// ---- page and picture -----------------------------------------------------------------------------------------------
const kd_film *kd_drawing_film(const kd_drawing *d)
{
    return &d->film;
}

// As many frames as the small drawing and the picture show, the first and the last one among them; memory of arena
static kd_status few_frames(const kd_film *film, kd_arena *arena, kd_film *few)
{
    const int    n = 7 * film->model->nbodies, most = NUMBERS / n > FEWEST_FRAMES ? NUMBERS / n : FEWEST_FRAMES;
    const int    count = film->nframes < most ? film->nframes : most < FILM_FRAMES ? most : FILM_FRAMES;
    double      *t = kd_cut_double(arena, count), *pose = kd_cut_double(arena, count * n);
    const size_t m = (size_t)film->namplitudes;
    double      *amplitude = kd_arena_cut(arena, (size_t)count * m, sizeof *amplitude);
    if (arena->failed) return KD_ERR_MEMORY;
    // equally spaced among all frames
    for (int i = 0; i < count; i++) {
        const size_t from = count > 1 ? (size_t)i * (size_t)(film->nframes - 1) / (size_t)(count - 1) : 0;
        t[i] = film->t[from];
        memcpy(pose + (size_t)i * (size_t)n, film->pose + from * (size_t)n, (size_t)n * sizeof *pose);
        if (m > 0) memcpy(amplitude + (size_t)i * m, film->amplitude + from * m, m * sizeof *amplitude);
    }
    *few = *film;
    few->nframes = count;
    few->t = t;
    few->pose = pose;
    few->amplitude = amplitude;
    return KD_OK;
}

kd_status kd_drawing_write_still(const kd_drawing *d, const char *title, FILE *file)
{
    kd_arena  arena = {0};
    kd_film   few;
    kd_scene  scene;
    kd_status status = few_frames(&d->film, &arena, &few);
    if (status == KD_OK) status = kd_scene_build(&few, &scene);
    if (status == KD_OK) {
        status = kd_picture_write(file, &scene, title);
        kd_scene_release(&scene);
    }
    kd_arena_release(&arena);
    return status;
}

kd_status kd_drawing_write(const kd_drawing *d, const char *title, FILE *file)
{
    kd_scene scene;
    if (d->film.model->nbodies > KD_DRAWING_BODIES) {
        fprintf(file,
                "<h2>Motion</h2>\n<section class=\"card\"><p class=\"muted\">%d bodies are not drawn; at most %d "
                "are.</p></section>\n",
                d->film.model->nbodies, KD_DRAWING_BODIES);
        return KD_OK;
    }
    if (d->film.nframes == 0) return KD_OK;
    kd_arena arena = {0};
    // few frames, then all that stands in the picture
    kd_film   few;
    kd_status status = few_frames(&d->film, &arena, &few);
    if (status == KD_OK) status = kd_scene_build(&few, &scene);
    if (status != KD_OK) {
        kd_arena_release(&arena);
        return status;
    }
    // the still picture, which the script replaces
    fputs("<h2>Motion</h2>\n<section class=\"card drawing\">\n<div class=\"stage\">\n", file);
    status = kd_picture_write(file, &scene, title);
    // script and data
    fputs("</div>\n<script>\n", file);
    fwrite(kd_drawing_script, 1, kd_drawing_script_size, file);
    fputs("kardanDrawing(document.currentScript.parentNode,", file);
    if (status == KD_OK) status = put_data(file, &scene);
    kd_scene_release(&scene);
    fputs(");\n</script>\n</section>\n", file);
    kd_arena_release(&arena);
    return status;
}

kd_status kd_drawing_save_svg(const kd_drawing *d, const char *title, const char *path, char *message, size_t size)
{
    FILE     *file;
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", file);
    status = kd_drawing_write_still(d, title, file);
    if (status == KD_OK) return kd_file_close(file, path, message, size);
    kd_text(message, size, "out of memory while writing '%s'", path);
    kd_file_abandon(file, path);
    return status;
}
