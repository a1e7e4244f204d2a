// lines.c: samples of tracks (x(s), y(s), 0), roads (x, y, road(x)) under the centre of a wheel, curves (x, 0, curve(x)) in
// the frame of their constraint. Roads and curves go as far as the motion did, and a little farther.
#include "drawing/lines.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "expr/curve.h"
#include "expr/expr.h"
#include "expr/track.h"

enum { POINTS = 240, MOST_LINES = 24 };

static kd_line *new_line(kd_scene *s, const char *name, int body)
{
    kd_line *line = s->nlines < MOST_LINES ? &s->line[s->nlines] : NULL;
    if (!line) return NULL;
    *line = (kd_line){.name = name, .body = body, .point = kd_arena_cut(&s->arena, POINTS, sizeof *line->point)};
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
    kd_line *line = new_line(s, t->name, -1);
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
    kd_line *line = new_line(s, name, from->body);
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
    }
    for (int i = 0; i < m->nforces; i++)
        if (m->force[i].def.kind == KD_TYRE) add_road(s, &m->force[i]);
}
