// mode_shape.c: poses of a mode: p(phi) = p oplus e(phi), e = scale (Re(shape) cos(phi) - Im(shape) sin(phi)), phi over
// a period, or half of it; the other half is e(phi + pi) = -e(phi).
#include "drawing/mode_shape.h"

#include <math.h>

#include "core/memory.h"
#include "core/pi.h"

typedef struct swing {
    const kd_state *x; // the middle
    kd_state       *moved;
    kd_eom_data    *data;
    kd_probe       *probe;
    double         *e; // (nv)
} swing;

// The probe at p oplus e(phi)
static kd_status set_pose(swing *s, const double *re, const double *im, int nv, double scale, double phi)
{
    for (int i = 0; i < nv; i++) s->e[i] = scale * (re[i] * cos(phi) - im[i] * sin(phi));
    kd_state_copy(s->x, s->moved);
    if (kd_eom_oplus(s->data, s->x->p, s->e, s->moved->p) != KD_EVAL_OK) return KD_ERR_RETRY_FAILED;
    if (kd_probe_set(s->probe, s->moved) < 0 || !kd_probe_values(s->probe, KD_GROUP_POSE)) return KD_ERR_RETRY_FAILED;
    return KD_OK;
}

// Poses at even phases from 0 to span, at even times
static kd_status draw(const kd_mode_place *place, const kd_modes *modes, int mode, double scale, int frames,
                      double span, double seconds, kd_drawing *drawing)
{
    const kd_eom *eom = kd_system_eom(place->system);
    const size_t  first = (size_t)mode * (size_t)modes->nv;
    kd_arena      arena = {0};
    swing         s = {.x = place->x, .e = kd_cut_double(&arena, modes->nv)};
    kd_status     status = arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(eom, &s.data);
    if (status >= 0) status = kd_state_create(eom, &s.moved);
    if (status >= 0) status = kd_probe_of_system(place->system, place->inputs, &s.probe);
    // increments e are taken from the pose of x
    if (status >= 0 && kd_eom_at_state(s.data, place->inputs, place->x, KD_STAGE_POSITION) != KD_EVAL_OK)
        status = KD_ERR_RETRY_FAILED;
    for (int k = 0; k < frames && status >= 0; k++) {
        const double phi = span * k / (frames - 1);
        status = set_pose(&s, modes->shape_re + first, modes->shape_im + first, modes->nv, scale, phi);
        if (status >= 0) kd_drawing_add(drawing, s.probe, seconds * k / (frames - 1), k == frames - 1);
    }
    kd_probe_destroy(s.probe);
    kd_state_destroy(s.moved);
    kd_eom_data_destroy(s.data);
    kd_arena_release(&arena);
    return status;
}

kd_status kd_mode_shape_draw(const kd_mode_place *place, const kd_modes *modes, int mode, double scale,
                             kd_drawing *drawing)
{
    return draw(place, modes, mode, scale, KD_MODE_FRAMES, KD_PI, KD_MODE_FRAMES - 1, drawing);
}

kd_status kd_mode_shape_film(const kd_mode_place *place, const kd_modes *modes, int mode, double scale, double seconds,
                             kd_drawing *drawing)
{
    return draw(place, modes, mode, scale, KD_MODE_FILM, 2 * KD_PI, seconds, drawing);
}
