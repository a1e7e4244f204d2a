// flexible_caution.c: where a flexible body is no longer what its modes describe.
//
// Small deformation: a turn by e of an interface is wrong by e^2/2 of it. Rotation: a part without geometric stiffness is too soft in
// the plane of rotation by w^2 M, and not stiffer across it, so that its frequencies are wrong by (w/omega_1)^2/2 and more; beyond
// omega_1 it is torn off, which the real one would not be.
#include <math.h>

#include "core/text.h"
#include "flexible/body.h"
#include "system/system.h"

static const double largest_turn = 0.2;  // rad: 2 % of the deflection
static const double largest_speed = 0.3; // of the lowest frequency: 5 % of it
static const double largest_shift = 0.2; // of the size of the body

// Lowest frequency of the modes; infinite where geometric stiffness is known for all rotations
double kd_flexible_slowest(const kd_flexible_body *f, kd_arena *scratch)
{
    double *omega = kd_cut_double(scratch, f->nq), lowest = INFINITY;
    if (!omega || (f->K0w && f->spin_axis == 0) || kd_flexible_body_frequencies(f, omega) != KD_OK) return INFINITY;
    for (int k = 0; k < f->nq; k++) lowest = fmin(lowest, omega[k]);
    return lowest;
}

// Half the largest distance of an interface from the middle of all
static double size_of(const kd_flexible_body *f)
{
    double size = 0;
    for (int i = 0; i < f->nframes; i++)
        for (int k = 0; k < i; k++) size = fmax(size, kd_vec_norm(kd_vec_sub(f->frame[i].at, f->frame[k].at)));
    return size;
}

// Interface that is shifted or turned too far
static bool bends_too_far(const kd_body *body, const double *q, char *text, size_t size)
{
    const kd_flexible_body *f = body->def.read;
    const double            length = size_of(f);
    for (int i = 0; i < f->nframes; i++) {
        double e[6] = {0};
        for (int k = 0; k < body->nmodes; k++)
            for (int d = 0; d < 3; d++) {
                e[d] += f->frame[i].Phi[d + 3 * k] * q[k];
                e[d + 3] += f->frame[i].Psi[d + 3 * k] * q[k];
            }
        const double turn = kd_vec_norm(kd_vec_of(e + 3)), shift = kd_vec_norm(kd_vec_of(e));
        if (turn > largest_turn) {
            kd_text(text, size, "body '%s': node '%s' is turned by %.2g rad: small deformation is assumed%s",
                    body->name, f->frame[i].name, turn, body->def.pieces > 1 ? ", more pieces help" : "");
            return true;
        }
        if (length > 0 && shift > largest_shift * length) {
            kd_text(text, size, "body '%s': node '%s' is shifted by %.2g of its length: small deformation is assumed",
                    body->name, f->frame[i].name, shift / length);
            return true;
        }
    }
    return false;
}

// Faster than a body without geometric stiffness may turn
static bool turns_too_fast(const kd_body *body, kd_vec3 w, double slowest, char *text, size_t size)
{
    const char axis = body->def.read->K0w ? body->def.read->spin_axis : 0;
    if (axis == 'x') w.x = 0;
    if (axis == 'y') w.y = 0;
    if (axis == 'z') w.z = 0;
    const double speed = kd_vec_norm(w);
    if (!(speed > largest_speed * slowest)) return false;
    kd_text(text, size, "body '%s': turns with %.3g rad/s, swings with %.3g, and has no geometric stiffness for that",
            body->name, speed, slowest);
    return true;
}

bool kd_flexible_caution(const kd_work *w, char *text, size_t size)
{
    const kd_system *s = w->system;
    for (int b = 0; b < s->model->nbodies; b++) {
        const kd_body *body = &s->model->body[b];
        if (body->nmodes == 0) continue;
        const kd_link        *link = &s->tree.link[s->wide_link[b]];
        const kd_link_motion *motion = &w->motion.link[s->wide_link[b]];
        if (bends_too_far(body, w->x + link->position, text, size)) return true;
        if (turns_too_fast(body, kd_mat_tvec(&motion->R, motion->w), s->slowest[b], text, size)) return true;
    }
    return false;
}
