// mode_pictures.c: pictures of mode shapes: the mechanism at p oplus e, e = scale (Re(shape) cos(phi) - Im(shape)
// sin(phi)), over half a period.
#include "cli/mode_pictures.h"

#include <math.h>
#include <stdlib.h>

#include "core/pi.h"
#include "drawing/drawing.h"

enum { FRAMES = 9, PATH_SIZE = 1200, TITLE_SIZE = 400 };

typedef struct stage {
    const kd_operating_point *point;
    kd_eom_data              *data;
    kd_probe                 *probe;
    kd_state                 *x;
    double                   *e; // (nv)
    double                    scale;
} stage;

static kd_status collect(stage *s, int mode, kd_drawing *drawing)
{
    const kd_subject *subject = &s->point->subject;
    const kd_modes   *m = s->point->modes;
    const double     *re = m->shape_re + (size_t)mode * (size_t)m->nv, *im = m->shape_im + (size_t)mode * (size_t)m->nv;
    for (int k = 0; k < FRAMES; k++) {
        const double phi = KD_PI * k / (FRAMES - 1);
        for (int i = 0; i < m->nv; i++) s->e[i] = s->scale * (re[i] * cos(phi) - im[i] * sin(phi));
        kd_state_copy(subject->x, s->x);
        if (kd_eom_at_state(s->data, kd_subject_inputs(subject), subject->x, KD_STAGE_POSITION) != KD_EVAL_OK ||
            kd_eom_oplus(s->data, subject->x->p, s->e, s->x->p) != KD_EVAL_OK)
            return KD_ERR_RETRY_FAILED;
        if (kd_probe_set(s->probe, s->x) < 0 || !kd_probe_values(s->probe, KD_GROUP_POSE)) return KD_ERR_RETRY_FAILED;
        kd_drawing_add(drawing, s->probe, k, k == FRAMES - 1);
    }
    return KD_OK;
}

static bool draw(stage *s, int mode, int number, const char *folder, bool quiet)
{
    const kd_subject *subject = &s->point->subject;
    const kd_modes   *m = s->point->modes;
    char              path[PATH_SIZE], title[TITLE_SIZE], message[1000] = "";
    kd_drawing       *drawing;
    snprintf(path, sizeof path, "%s/%s-mode-%d.svg", folder, subject->name, number);
    snprintf(title, sizeof title, "mode %d: %.5g Hz, damping %.3f", number, m->frequency[mode], m->damping[mode] + 0.0);
    kd_status status = kd_drawing_create(subject->system, FRAMES, &drawing);
    if (status >= 0) status = collect(s, mode, drawing);
    if (status >= 0) status = kd_drawing_save_svg(drawing, title, path, message, sizeof message);
    kd_drawing_destroy(drawing);
    if (status < 0) fprintf(stderr, "kardan: %s\n", message[0] ? message : kd_status_sentence(status));
    if (status >= 0 && !quiet) printf("%s\n", path);
    return status >= 0;
}

bool kd_cli_draw_modes(const kd_operating_point *point, const int *list, int count, double scale, const char *folder,
                       bool quiet)
{
    const kd_subject *subject = &point->subject;
    stage             s = {.point = point, .scale = scale};
    char              message[1000] = "";
    if (!subject->system) {
        fputs("kardan: pictures of modes are for model files\n", stderr);
        return false;
    }
    const kd_dims n = kd_eom_dims(subject->eom);
    kd_status     status = kd_cli_make_folder(folder, message, sizeof message);
    if (status >= 0) status = kd_eom_data_create(subject->eom, &s.data);
    if (status >= 0) status = kd_subject_probe(subject, NULL, &s.probe);
    if (status >= 0) status = kd_state_create(subject->eom, &s.x);
    s.e = calloc((size_t)n.nv + 1, sizeof *s.e);
    if (!s.e) status = KD_ERR_MEMORY;
    if (status < 0) fprintf(stderr, "kardan: %s\n", message[0] ? message : kd_status_sentence(status));
    bool good = status >= 0;
    if (good && !quiet && count > 0) printf("\n");
    for (int i = 0; i < count && i < KD_MODE_PICTURES && good; i++) good = draw(&s, list[i], i + 1, folder, quiet);
    kd_probe_destroy(s.probe);
    kd_eom_data_destroy(s.data);
    kd_state_destroy(s.x);
    free(s.e);
    return good;
}
