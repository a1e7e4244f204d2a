// lines.c: samples of tracks (x(s), y(s), 0), roads (x, y, road(x)) under the centre of a wheel, curves (x, 0, curve(x)) in
// the frame of their constraint, and grids on surfaces that touch: circles and meridians (r(s) cos v, r(s) sin v, z(s)), or
// (s, v, curve(s)). What has no end of its own goes as far as the motion did, and a little farther.
#include "drawing/lines.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "expr/curve.h"
#include "expr/expr.h"
#include "expr/track.h"

enum { POINTS = 240, MOST_LINES = 400 };
enum { CIRCLES = 5, MERIDIANS = 6, GRID_POINTS = 25 }; // of a surface

static kd_line *new_line(kd_scene *s, const char *name, int body, int points)
{
    kd_line *line = s->nlines < MOST_LINES ? &s->line[s->nlines] : NULL;
    if (!line) return NULL;
    *line =
        (kd_line){.name = name, .body = body, .point = kd_arena_cut(&s->arena, (size_t)points, sizeof *line->point)};
    if (!line->point) return NULL;
    s->nlines++;
    return line;
}

// Points that have no number (a curve outside of its rows) are left out
static void add_point(kd_line *line, kd_vec3 a)
{
    if (isfinite(a.x) && isfinite(a.y) && isfinite(a.z)) line->point[line->count++] = a;
}

static void add_track(kd_scene *s, const kd_model_track *t)
{
    double start, end;
    if (!t->track) return;
    kd_track_ends(t->track, &start, &end);
    kd_line *line = new_line(s, t->name, -1, POINTS);
    for (int i = 0; line && i < POINTS; i++) {
        const double at = start + (end - start) * i / (POINTS - 1);
        double       x[4], y[4];
        kd_track_eval(t->track, KD_TRACK_X, at, x);
        kd_track_eval(t->track, KD_TRACK_Y, at, y);
        add_point(line, kd_vec(x[0], y[0], 0));
    }
}

// Origin of `to` in the frame `from`
static kd_vec3 seen_from(const kd_scene *s, int frame, const kd_anchor *from, const kd_anchor *to)
{
    const kd_point_of end = {to->body, to->r};
    kd_vec3           r;
    kd_mat3           R;
    kd_film_pose(&s->film, frame, from->body, &r, &R);
    kd_vec3 in_body = kd_mat_tvec(&R, kd_vec_sub(kd_film_point(&s->film, frame, &end), r));
    return kd_mat_tvec(&from->R, kd_vec_sub(in_body, from->r));
}

static void range_of(const kd_scene *s, const kd_anchor *from, const kd_anchor *to, double *low, double *high)
{
    *low = INFINITY, *high = -INFINITY;
    for (int i = 0; i < s->film.nframes; i++) {
        const double x = seen_from(s, i, from, to).x;
        *low = fmin(*low, x), *high = fmax(*high, x);
    }
    const double over = 0.1 * (*high - *low) + 0.2 * s->size;
    *low -= over, *high += over;
}

// height(x) over the x axis of an anchor, at y beside it
static void add_profile(kd_scene *s, const char *name, const kd_anchor *from, const kd_anchor *to, double y,
                        double (*height)(double x, void *context), void *context)
{
    double   low, high;
    kd_line *line = new_line(s, name, from->body, POINTS);
    range_of(s, from, to, &low, &high);
    for (int i = 0; line && i < POINTS; i++) {
        const double x = low + (high - low) * i / (POINTS - 1);
        add_point(line, kd_vec_add(from->r, kd_mat_vec(&from->R, kd_vec(x, y, height(x, context)))));
    }
}

static double curve_height(double x, void *context)
{
    return kd_curve_value(context, x);
}

// ---- roads ----------------------------------------------------------------------------------------------------------
enum { SLOT_X, SLOT_T, SLOTS };

typedef struct road {
    kd_expr *expr;
    double  *work;
    double   t;
} road;

// x, the time, parameters and curves; a road that moves by an input has no line
static bool find_in_road(const char *name, void *context, kd_symbol *out)
{
    const kd_model *m = context;
    *out = (kd_symbol){.kind = KD_SYMBOL_VARIABLE, .slot = strcmp(name, "t") == 0 ? SLOT_T : SLOT_X};
    if (strcmp(name, "x") == 0 || strcmp(name, "t") == 0) return true;
    name = kd_plain_name(name);
    const kd_parameter *parameter = kd_model_parameter(m, name);
    if (parameter) {
        *out = (kd_symbol){.kind = KD_SYMBOL_NUMBER, .number = parameter->value};
        return true;
    }
    const int curve = kd_model_find(m, KD_SECTION_CURVE, name);
    *out = (kd_symbol){.kind = KD_SYMBOL_CURVE, .curve = curve >= 0 ? m->curve[curve].curve : NULL};
    return out->curve != NULL;
}

static double road_height(double x, void *context)
{
    const road  *r = context;
    const double variables[SLOTS] = {[SLOT_X] = x, [SLOT_T] = r->t};
    return kd_expr_value(r->expr, variables, r->work);
}

static void add_road(kd_scene *s, const kd_force *f)
{
    const kd_symbols symbols = {find_in_road, NULL, (void *)s->film.model};
    road             r = {.t = s->film.t[0]};
    if (!f->def.tyre.road || kd_expr_compile(f->def.tyre.road, &symbols, &r.expr, NULL) < 0) return;
    r.work = kd_alloc((size_t)kd_expr_work_size(r.expr) * sizeof *r.work + 1);
    // a level road is the ground, which is there already
    if (r.work && !kd_expr_is_constant(r.expr, NULL))
        add_profile(s, f->name, &f->from, &f->to, seen_from(s, 0, &f->from, &f->to).y, road_height, &r);
    kd_free(r.work);
    kd_expr_destroy(r.expr);
}

// ---- surfaces -------------------------------------------------------------------------------------------------------
typedef struct grid {
    const kd_surface_def *def;
    const kd_curve       *curve; // of revolution and swept
    double                s[2];  // along the profile
    double                v[2];  // about the axis, or along y
} grid;

// Least and largest coordinate of `other` in the axes of `own`, over the motion
static void reach_of(const kd_scene *s, const kd_anchor *own, const kd_anchor *other, kd_vec3 *low, kd_vec3 *high)
{
    *low = kd_vec(INFINITY, INFINITY, INFINITY), *high = kd_vec_scale(-1, *low);
    for (int i = 0; i < s->film.nframes; i++) {
        const kd_vec3 r = seen_from(s, i, own, other);
        *low = kd_vec(fmin(low->x, r.x), fmin(low->y, r.y), fmin(low->z, r.z));
        *high = kd_vec(fmax(high->x, r.x), fmax(high->y, r.y), fmax(high->z, r.z));
    }
}

static kd_vec3 on_surface(const grid *g, double s, double v)
{
    const double *e = g->def->size;
    switch (g->def->kind) {
    case KD_SURFACE_PLANE:
        return kd_vec(s, v, 0);
    case KD_SURFACE_SPHERE:
        return kd_vec(e[0] * sin(s) * cos(v), e[0] * sin(s) * sin(v), e[0] * cos(s));
    case KD_SURFACE_CYLINDER:
        return kd_vec(e[0] * cos(v), e[0] * sin(v), s);
    case KD_SURFACE_CONE:
        return kd_vec(s * tan(e[0]) * cos(v), s * tan(e[0]) * sin(v), s);
    case KD_SURFACE_ELLIPSOID:
        return kd_vec(e[0] * sin(s) * cos(v), e[1] * sin(s) * sin(v), e[2] * cos(s));
    case KD_SURFACE_TORUS:
        return kd_vec((e[0] + e[1] * cos(s)) * cos(v), (e[0] + e[1] * cos(s)) * sin(v), e[1] * sin(s));
    case KD_SURFACE_REVOLUTION:
        return kd_vec(kd_curve_value(g->curve, s) * cos(v), kd_curve_value(g->curve, s) * sin(v), s);
    case KD_SURFACE_SWEPT:
        return kd_vec(s, v, kd_curve_value(g->curve, s));
    }
    return kd_vec(NAN, NAN, NAN);
}

// Ranges of s and v; where a surface has no end, up to where the other one went
static void set_ranges(grid *g, kd_vec3 low, kd_vec3 high, double size)
{
    const bool   about = g->def->kind != KD_SURFACE_PLANE && g->def->kind != KD_SURFACE_SWEPT;
    const double over = 0.1 * size, wide = high.y - low.y;
    g->s[0] = 0, g->s[1] = g->def->kind == KD_SURFACE_TORUS ? 2 * KD_PI : KD_PI;
    g->v[0] = about ? 0 : low.y - 0.1 * wide - over, g->v[1] = about ? 2 * KD_PI : high.y + 0.1 * wide + over;
    if (g->curve) kd_curve_ends(g->curve, &g->s[0], &g->s[1]);
    if (g->def->kind == KD_SURFACE_SWEPT) { // as wide as long, and no wider than needed
        const double more = 0.25 * (g->s[1] - g->s[0]);
        g->v[0] = low.y - more, g->v[1] = high.y + more;
    } else if (g->def->kind == KD_SURFACE_PLANE) {
        g->s[0] = low.x - over, g->s[1] = high.x + over;
    } else if (g->def->kind == KD_SURFACE_CYLINDER) {
        g->s[0] = low.z - 4 * g->def->size[0], g->s[1] = high.z + 4 * g->def->size[0];
    } else if (g->def->kind == KD_SURFACE_CONE) {
        g->s[1] = high.z > 0 ? 1.2 * high.z : over;
    }
}

// Lines of the grid with the same s (across) or the same v
static void add_lines(kd_scene *s, const char *name, const kd_anchor *own, const grid *g, bool across, int count,
                      bool both_ends)
{
    const double *fixed = across ? g->s : g->v, *along = across ? g->v : g->s;
    for (int i = 0; i < count; i++) {
        const double at = fixed[0] + (fixed[1] - fixed[0]) * i / (both_ends ? count - 1 : count);
        kd_line     *line = new_line(s, name, own->body, GRID_POINTS);
        if (line) line->grid = true;
        for (int k = 0; line && k < GRID_POINTS; k++) {
            const double  run = along[0] + (along[1] - along[0]) * k / (GRID_POINTS - 1);
            const kd_vec3 a = across ? on_surface(g, at, run) : on_surface(g, run, at);
            add_point(line, kd_vec_add(own->r, kd_mat_vec(&own->R, a)));
        }
    }
}

// A ball that is drawn as a shape already, a point, and the level ground need no grid
static bool is_seen_already(const kd_scene *s, const kd_surface_def *def, const kd_anchor *own)
{
    const kd_model *m = s->film.model;
    if (def->kind == KD_SURFACE_PLANE) return own->body >= 0 || fabs(kd_vec_dot(own->R.z, s->camera.up)) > 0.9999;
    if (def->kind != KD_SURFACE_SPHERE) return false;
    bool ball = def->size[0] == 0;
    for (int i = 0; own->body >= 0 && i < m->body[own->body].def.nshapes; i++) {
        const kd_shape *shape = &m->body[own->body].def.shape[i];
        ball = ball || (shape->kind == KD_SPHERE && fabs(shape->size[0] - def->size[0]) < 1e-6 * def->size[0]);
    }
    return ball;
}

static void add_grid(kd_scene *s, const char *name, const kd_surface_def *def, const kd_anchor *own,
                     const kd_anchor *other)
{
    const kd_model *m = s->film.model;
    const int       number = def->curve ? kd_model_find(m, KD_SECTION_CURVE, def->curve) : -1;
    grid            g = {.def = def, .curve = number >= 0 ? m->curve[number].curve : NULL};
    kd_vec3         low, high;
    const bool      wants_curve = def->kind == KD_SURFACE_REVOLUTION || def->kind == KD_SURFACE_SWEPT;
    if (is_seen_already(s, def, own) || (wants_curve && !g.curve)) return;
    reach_of(s, own, other, &low, &high);
    set_ranges(&g, low, high, s->size);
    add_lines(s, name, own, &g, true, CIRCLES, def->kind != KD_SURFACE_TORUS);
    add_lines(s, name, own, &g, false, MERIDIANS, def->kind == KD_SURFACE_PLANE || def->kind == KD_SURFACE_SWEPT);
}

static void add_grids(kd_scene *s, const char *name, const kd_surface_def surface[2], const kd_anchor *from,
                      const kd_anchor *to)
{
    add_grid(s, name, &surface[0], from, to);
    add_grid(s, name, &surface[1], to, from);
}

void kd_lines_find(kd_scene *s)
{
    const kd_model *m = s->film.model;
    s->line = kd_arena_cut(&s->arena, MOST_LINES, sizeof *s->line);
    if (!s->line) return;
    for (int i = 0; i < m->ntracks; i++) add_track(s, &m->track[i]);
    for (int i = 0; i < m->nconstraints; i++) {
        const kd_constraint *c = &m->constraint[i];
        if (c->def.kind == KD_POINT_ON_CURVE && c->curve >= 0 && m->curve[c->curve].curve)
            add_profile(s, c->name, &c->from, &c->to, 0.0, curve_height, m->curve[c->curve].curve);
        if (c->def.kind == KD_SURFACE_KEPT) add_grids(s, c->name, c->def.surface, &c->from, &c->to);
    }
    for (int i = 0; i < m->nforces; i++) {
        const kd_force *f = &m->force[i];
        if (f->def.kind == KD_TYRE) add_road(s, f);
        if (f->def.kind == KD_SURFACE_CONTACT) add_grids(s, f->name, f->def.surfaces.surface, &f->from, &f->to);
    }
}
