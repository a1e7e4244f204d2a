// surfaces.c: what elements with two surfaces in contact share.
#include "element/surfaces.h"

#include <math.h>

#include "core/text.h"

const char *const kd_words_surface[] = {"plane", "sphere",     "cylinder", "cone", "ellipsoid",
                                        "torus", "revolution", "swept",    NULL};

// ---- in models ------------------------------------------------------------------------------------------------------
static const int sizes[] = {[KD_SURFACE_SPHERE] = 1,    [KD_SURFACE_CYLINDER] = 1, [KD_SURFACE_CONE] = 1,
                            [KD_SURFACE_ELLIPSOID] = 3, [KD_SURFACE_TORUS] = 2,    [KD_SURFACE_SWEPT] = 0};

// What is wrong with the numbers; NULL: nothing
static const char *wrong_size(const kd_surface_def *d)
{
    const double *size = d->size;
    switch (d->kind) {
    case KD_SURFACE_CYLINDER:
        return size[0] > 0.0 ? NULL : "the radius of a cylinder must be positive";
    case KD_SURFACE_CONE:
        return size[0] > 0.0 && size[0] < 0.5 * KD_PI ? NULL : "the half angle of a cone lies between 0 and pi/2";
    case KD_SURFACE_ELLIPSOID:
        return size[0] > 0.0 && size[1] > 0.0 && size[2] > 0.0 ? NULL : "the half axes of an ellipsoid are positive";
    case KD_SURFACE_TORUS:
        return size[1] > 0.0 && size[0] > size[1] ? NULL : "the ring of a torus is larger than its section";
    default:
        return NULL;
    }
}

int kd_finish_surface(kd_model *m, kd_section section, int element, const char *place, const kd_surface_def *d)
{
    const bool by_curve = d->kind == KD_SURFACE_REVOLUTION || d->kind == KD_SURFACE_SWEPT;
    char       size[40], curve[40];
    int        given = 0, number = -1;
    kd_text(size, sizeof size, "%s_size", place);
    kd_text(curve, sizeof curve, "%s_curve", place);
    while (given < 3 && !isnan(d->size[given])) given++;
    // as many numbers as the kind has
    if (given != sizes[d->kind])
        kd_model_error(m, section, element, size, "the surface '%s' has %d numbers, not %d", kd_words_surface[d->kind],
                       sizes[d->kind], given);
    else if (wrong_size(d))
        kd_model_error(m, section, element, size, "%s", wrong_size(d));
    // a curve with two continuous derivatives
    if (by_curve && !d->curve)
        kd_model_error(m, section, element, curve, "the surface '%s' needs a curve", kd_words_surface[d->kind]);
    else if (!by_curve && d->curve)
        kd_model_error(m, section, element, curve, "the surface '%s' has no curve", kd_words_surface[d->kind]);
    else if (d->curve)
        number = kd_finish_curve(m, section, element, curve, d->curve);
    if (number >= 0 && m->curve[number].def.form != KD_CURVE_SPLINE)
        kd_model_error(m, section, element, curve,
                       "the curve '%s' must be a spline: the curvature of a surface is continuous", d->curve);
    return number;
}

// ---- in systems -----------------------------------------------------------------------------------------------------
void kd_system_touch(kd_system *s, int pair, const char *name, const kd_surface_def surface[2], int from_curve,
                     int to_curve)
{
    for (int i = 0; i < s->ntouches; i++)
        if (s->touch[i].pair == pair) return;
    s->touch[s->ntouches++] = (kd_touch){.a = {&surface[0], from_curve >= 0 ? s->model->curve[from_curve].curve : NULL},
                                         .b = {&surface[1], to_curve >= 0 ? s->model->curve[to_curve].curve : NULL},
                                         .pair = pair,
                                         .name = name};
}

const kd_touch_at *kd_work_touch(const kd_work *w, int pair)
{
    return w->rel[pair].touch;
}

// Both curvatures of the gap from trace and determinant
static double curvature(const kd_work *w, int pair, int larger)
{
    static const kd_tangent none;
    const kd_relative       rest = {.C = w->rel[pair].C, .d = w->rel[pair].d, .touch = w->rel[pair].touch};
    const kd_measure        trace = {KD_MEASURE_CURVED, .i = 0}, determinant = {KD_MEASURE_CURVED, .i = 1};
    const double            half = 0.5 * kd_touch_jet(&trace, &rest, &none).x;
    const double            root = sqrt(fmax(half * half - kd_touch_jet(&determinant, &rest, &none).x, 0.0));
    return larger ? half + root : half - root;
}

double kd_touch_reading(const kd_work *w, int pair, int number)
{
    const kd_touch_at *at = kd_work_touch(w, pair);
    const kd_vec3      r = kd_vec_add(w->rel[pair].d, at->rho);
    const double       read[] = {at->gap, r.x, r.y, r.z, at->n.x, at->n.y, at->n.z};
    const int          i = number - KD_TOUCH_FIRST;
    return i < 7 ? read[i] : curvature(w, pair, i - 7);
}
