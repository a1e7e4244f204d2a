// response_page.c: increments e of a forced swing, e = T inv(i omega I - A) (B + i omega B1 - omega^2 B2) u: the response of a linear system whose
// outputs are the increments.
#include "cli/response_page.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/text.h"
#include "drawing/mode_shape.h"
#include "report/modes_page.h"

enum { MOST_FILMS = 120, FILMS = 40 }; // in a page; frequencies of one input

static const double PERIOD = 2, SCALE = 0.2; // [s] of a swing in the page; [m], [rad] of the coordinate that moves most

typedef struct swings {
    const kd_operating_point *point;
    kd_linear                 linear;  // its outputs are the increments
    double                   *zero;    // (nv x nu)
    double                   *re, *im; // (nv x nu)
    kd_modes_page            *page;
} swings;

// A motion that is not a plain number may follow an input
static bool varies(const char *motion)
{
    char *end = NULL;
    return motion && (strtod(motion, &end), end == motion || *end != '\0');
}

// Does an input move bodies by itself?
static bool prescribes(const swings *s, int input)
{
    const kd_model *m = s->point->subject.model;
    bool            any = false;
    for (int i = 0; i < m->njoints; i++)
        for (int k = 0; k < 6; k++) any = any || varies(m->joint[i].def.motion[k]);
    for (int i = 0; i < m->nconstraints; i++) any = any || varies(m->constraint[i].def.motion);
    return any && s->point->linear->moves && s->point->linear->moves[input];
}

static kd_status add_swing(swings *s, int input, double frequency)
{
    const kd_subject *subject = &s->point->subject;
    const kd_linear  *l = s->point->linear;
    const double      omega = 2 * KD_PI * frequency;
    kd_drawing       *film = NULL;
    double    most = 0, *re = s->re + (size_t)input * (size_t)l->nv, *im = s->im + (size_t)input * (size_t)l->nv;
    char      moves[300] = "";
    kd_status status = kd_linear_response(&s->linear, 1, &omega, s->re, s->im);
    if (status < 0) return status;
    int largest = 0;
    for (int i = 0; i < l->nv; i++)
        if (hypot(re[i], im[i]) > most) most = hypot(re[i], im[i]), largest = i;
    // a response without number or motion has no film
    if (most > 0 && isfinite(most) && !prescribes(s, input)) {
        for (int i = 0; i < l->nv; i++) re[i] /= most, im[i] /= most;
        const kd_modes      shape = {.n = 1, .nv = l->nv, .shape_re = re, .shape_im = im};
        const kd_mode_place place = {subject->system, kd_subject_inputs(subject), subject->x};
        status = kd_drawing_create(subject->system, KD_MODE_FILM, &film);
        if (status >= 0) status = kd_mode_shape_film(&place, &shape, 0, SCALE, PERIOD, film);
        kd_text(moves, sizeof moves, "%s %.4g", l->increment_name[largest], most);
    }
    const kd_mode_entry entry = {.frequency = frequency, .value = input, .moves = moves, .film = film};
    if (status >= 0) status = kd_modes_page_add(s->page, &entry);
    kd_drawing_destroy(film);
    return status;
}

// Which frequencies have a swing: even ratios, and the peaks of the input
static bool is_wanted(int i, int n, int step, int input, const kd_response *response, int count)
{
    if (i % step == 0 || i == n - 1) return true;
    for (int k = 0; k < count; k++)
        if (response[k].input == input && response[k].peak == i) return true;
    return false;
}

static kd_status add_inputs(swings *s, const double *frequency, int n, const kd_response *response, int count)
{
    kd_status status = KD_OK;
    int       inputs = 0;
    // each input once
    for (int k = 0; k < count; k++) inputs += k == 0 || response[k].input != response[k - 1].input;
    const int films = inputs * FILMS > MOST_FILMS ? MOST_FILMS / inputs : FILMS,
              step = 1 + (n - 1) / (films > 1 ? films : 1);
    for (int k = 0; k < count && status >= 0; k++) {
        if (k > 0 && response[k].input == response[k - 1].input) continue;
        for (int i = 0; i < n && status >= 0; i++)
            if (is_wanted(i, n, step, response[k].input, response, count))
                status = add_swing(s, response[k].input, frequency[i]);
    }
    return status;
}

kd_status kd_cli_save_responses(const kd_operating_point *point, const char *path, const double *frequency, int n,
                                const kd_response *response, int count, char *message, size_t size)
{
    const kd_linear *l = point->linear;
    const size_t     room = (size_t)l->nv * (size_t)l->nu;
    char             title[400];
    // outputs of this system are the increments themselves
    swings s = {.point = point, .linear = *l, .zero = calloc(3 * room + 1, sizeof *s.zero)};
    if (!s.zero) return KD_ERR_MEMORY;
    s.re = s.zero + room;
    s.im = s.re + room;
    s.linear.ny = l->nv;
    s.linear.C = l->T;
    s.linear.D = s.zero;
    s.linear.D1 = s.linear.D2 = NULL;
    // lines of the diagram
    kd_text(title, sizeof title, "Frequency response: %s", point->subject.title);
    kd_bode_line line[KD_BODE_LINES];
    if (count > KD_BODE_LINES) count = KD_BODE_LINES;
    for (int k = 0; k < count; k++)
        line[k] = (kd_bode_line){response[k].name, response[k].input, l->input_name[response[k].input],
                                 response[k].level, response[k].phase};
    // the page: the diagram, then the motions of each input
    kd_status status = kd_modes_page_open(path, title, NULL, &s.page, message, size);
    if (status >= 0) {
        kd_modes_page_put_bode(s.page, frequency, n, line, count);
        status = add_inputs(&s, frequency, n, response, count);
    }
    status = kd_modes_page_close(s.page, status, message, size);
    free(s.zero);
    return status;
}
