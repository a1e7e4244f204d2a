// thin.c: fewer rows where a motion is smooth, all of them where it is not.
#include "drawing/thin.h"

#include <math.h>
#include <string.h>

enum { FARTHEST = 256 };                // rows that one step may pass
static const double INVISIBLE = 1.5e-4; // of the mechanism: a tenth of a pixel of a picture of 700

// ---- which rows -----------------------------------------------------------------------------------------------------
static bool is_close(kd_row_error error, const void *context, int i, int j, double tolerance)
{
    for (int k = i + 1; k < j; k++)
        if (!(error(context, i, k, j) <= tolerance)) return false;
    return true;
}

int kd_thin(int n, kd_row_error error, const void *context, double tolerance, int *keep)
{
    int count = 0;
    for (int i = 0; i < n;) {
        keep[count++] = i;
        // twice as far as long as all between are close
        int step = 1;
        while (2 * step <= FARTHEST && i + 2 * step < n && is_close(error, context, i, i + 2 * step, tolerance))
            step *= 2;
        // the end is always there
        i = i + step < n || i == n - 1 ? i + step : n - 1;
    }
    return count;
}

int kd_thin_to(int n, int most, kd_row_error error, const void *context, double tolerance, int *keep)
{
    int count = kd_thin(n, error, context, tolerance, keep);
    for (double wider = 4 * tolerance; count > most && wider < 1; wider *= 4)
        count = kd_thin(n, error, context, wider, keep);
    if (count <= most) return count;
    // nothing is close to its neighbours: evenly
    for (int i = 0; i < most; i++) keep[i] = (int)((long long)i * (n - 1) / (most - 1));
    return most;
}

// ---- frames ---------------------------------------------------------------------------------------------------------
// q and -q are the same turn: the chord between them, from the nearer one
static double turn_between(kd_quat a, kd_quat b)
{
    const double dot = fabs(a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z);
    return dot < 1 ? 2 * sqrt(2 * (1 - dot)) : 0; // near 0 the angle itself
}

// along the great circle, as the viewer does
static kd_quat between(kd_quat a, kd_quat b, double part)
{
    double       dot = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
    const double sign = dot < 0 ? -1 : 1, angle = acos(fmin(sign * dot, 1)), s = sin(angle);
    const double f = s > 1e-9 ? sin((1 - part) * angle) / s : 1 - part,
                 g = sign * (s > 1e-9 ? sin(part * angle) / s : part);
    return (kd_quat){f * a.w + g * b.w, f * a.x + g * b.x, f * a.y + g * b.y, f * a.z + g * b.z};
}

double kd_error_of_frame(const void *context, int i, int k, int j)
{
    const kd_frame_error *e = context;
    const kd_film        *film = e->film;
    const size_t          n = (size_t)film->model->nbodies, m = (size_t)film->namplitudes;
    const double          part = (film->t[k] - film->t[i]) / (film->t[j] - film->t[i]);
    double                most = 0;
    for (size_t b = 0; b < n; b++) {
        const double *x = film->pose + 7 * ((size_t)i * n + b), *y = film->pose + 7 * ((size_t)j * n + b);
        const double *z = film->pose + 7 * ((size_t)k * n + b);
        for (int c = 0; c < 3; c++) most = fmax(most, fabs(x[c] + part * (y[c] - x[c]) - z[c]) / e->size);
        most = fmax(most, turn_between(between(kd_quat_of(x + 3), kd_quat_of(y + 3), part), kd_quat_of(z + 3)));
    }
    for (size_t c = 0; c < m && e->largest; c++) {
        const double *q = film->amplitude + c, x = q[(size_t)i * m], y = q[(size_t)j * m];
        if (e->largest[c] > 0) most = fmax(most, fabs(x + part * (y - x) - q[(size_t)k * m]) / e->largest[c]);
    }
    return most;
}

double kd_film_size(const kd_film *film)
{
    double       low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    const size_t count = (size_t)film->model->nbodies * (size_t)film->nframes;
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < 3; c++) {
            low[c] = fmin(low[c], film->pose[7 * i + (size_t)c]);
            high[c] = fmax(high[c], film->pose[7 * i + (size_t)c]);
        }
    const double size = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    return size > 0 ? size : 1;
}

kd_status kd_film_thin(const kd_film *film, kd_arena *arena, kd_film *thin)
{
    const size_t n = 7 * (size_t)film->model->nbodies, m = (size_t)film->namplitudes;
    int         *keep = kd_cut_int(arena, film->nframes);
    double      *largest = kd_cut_double(arena, film->namplitudes);
    *thin = *film;
    if (arena->failed) return KD_ERR_MEMORY;
    // the largest amplitude of each mode is the measure for its error
    for (size_t i = 0; i < (size_t)film->nframes * m; i++)
        largest[i % m] = fmax(largest[i % m], fabs(film->amplitude[i]));
    // the same for what moves little as for what travels far: by the size of the mechanism, not of its way
    const kd_frame_error e = {
        film,
        fmin(kd_film_size(film), kd_film_size(&(kd_film){.model = film->model, .nframes = 1, .pose = film->pose})),
        largest};
    // frames that linear interpolation does not need are left out
    const int count = kd_thin(film->nframes, kd_error_of_frame, &e, INVISIBLE, keep);
    double   *t = kd_cut_double(arena, count), *pose = kd_arena_cut(arena, (size_t)count * n, sizeof *pose);
    double   *amplitude = kd_arena_cut(arena, (size_t)count * m, sizeof *amplitude);
    if (arena->failed) return KD_ERR_MEMORY;
    // those that stay move together
    for (int i = 0; i < count; i++) {
        const size_t from = (size_t)keep[i], to = (size_t)i;
        t[i] = film->t[from];
        memcpy(pose + to * n, film->pose + from * n, n * sizeof *pose);
        if (m > 0) memcpy(amplitude + to * m, film->amplitude + from * m, m * sizeof *amplitude);
    }
    thin->nframes = count;
    thin->t = t;
    thin->pose = pose;
    thin->amplitude = amplitude;
    return KD_OK;
}
