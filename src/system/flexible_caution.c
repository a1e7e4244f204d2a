// flexible_caution.c: where a flexible body is no longer what its modes describe.
//
// Small deformation: a turn by e of an interface is wrong by e^2/2 of it. Rotation: a part without geometric stiffness is too soft in
// the plane of rotation by w^2 M, and not stiffer across it, so that its frequencies are wrong by (w/omega_1)^2/2 and more; beyond
// omega_1 it is torn off, which the real one would not be. Loads: modes that are left out would deflect the interfaces by R f under the
// loads f at them, in place of F f by all modes (flexible/compliance.c); what inertia adds to that is not looked at.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "flexible/body.h"
#include "system/system.h"

static const double largest_turn = 0.2;  // rad: 2 % of the deflection
static const double largest_speed = 0.3; // of the lowest frequency: 5 % of it
static const double largest_shift = 0.2; // of the size of the body
static const double largest_rest = 0.2;  // of the deflection by loads; one bending mode of a cantilever leaves out 0.09
static const double smallest_rest = 1e-4; // of the size of the body: steel that is stretched by 20 N/mm^2

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

// ---- loads that the modes do not carry ------------------------------------------------------------------------------

kd_status kd_flexible_deflection(kd_system *s, int body)
{
    const kd_body          *b = &s->model->body[body];
    const kd_flexible_body *f = b->def.read;
    const int               n = 6 * f->nframes;
    if (b->nmodes == f->nq && !f->residual) return KD_OK;
    double *F = kd_cut_matrix(&s->arena, n, 2 * n);
    if (!F) return KD_ERR_MEMORY;
    const kd_status status = kd_flexible_body_compliance(f, b->nmodes, F, F + (size_t)n * (size_t)n);
    if (status == KD_OK) s->deflection[body] = F;
    // a stiffness that is not positive has no deflection to compare with
    return status == KD_ERR_MEMORY ? status : KD_OK;
}

// Force and moment on the body at an interface, in its axes: what its massless marker needs, turned round
static void load_at(const kd_work *w, const kd_mat3 *R, int link, double *load)
{
    const kd_wrench *reaction = &w->motion.reaction[link];
    kd_vec_to(kd_mat_tvec(R, kd_vec_scale(-1, reaction->F)), load);
    kd_vec_to(kd_mat_tvec(R, kd_vec_scale(-1, reaction->N)), load + 3);
}

// Size of a deflection: shift and turn, the latter as the shift of a point at that distance
static double size_of_deflection(const double e[6], double length)
{
    const double shift = kd_vec_norm(kd_vec_of(e)), turn = kd_vec_norm(kd_vec_of(e + 3));
    return sqrt(shift * shift + length * length * turn * turn);
}

// Deflection of interface i by the loads at all interfaces, C: F or R
static void deflect(const kd_work *w, int b, int i, const double *C, double e[6])
{
    const kd_system *s = w->system;
    const kd_mat3   *R = &w->motion.link[s->wide_link[b]].R;
    const int       *link = s->node_link + s->first_node[b], nframes = s->model->body[b].def.read->nframes;
    memset(e, 0, 6 * sizeof *e);
    for (int j = 0; j < nframes; j++) {
        double load[6];
        if (link[j] == 0) continue; // nobody stands there
        load_at(w, R, link[j], load);
        for (int d = 0; d < 6; d++)
            for (int c = 0; c < 6; c++)
                e[d] += C[(size_t)(6 * i + d) + (size_t)(6 * j + c) * (size_t)(6 * nframes)] * load[c];
    }
}

// Interface whose deflection is mostly that of modes that are left out; reactions are there
static bool leaves_loads_out(const kd_work *w, int b, char *text, size_t size)
{
    const kd_body          *body = &w->system->model->body[b];
    const kd_flexible_body *f = body->def.read;
    const double           *F = w->system->deflection[b], *R = F + 36 * (size_t)f->nframes * (size_t)f->nframes;
    const double            length = size_of(f);
    double                  e[6], all = 0, rest = 0;
    int                     worst = 0;
    for (int i = 0; i < f->nframes; i++) {
        deflect(w, b, i, F, e);
        all = fmax(all, size_of_deflection(e, length));
        deflect(w, b, i, R, e);
        const double own = size_of_deflection(e, length);
        if (own > rest) rest = own, worst = i;
    }
    if (!(rest > largest_rest * all) || !(rest > smallest_rest * length)) return false;
    kd_text(
        text, size,
        "body '%s': its modes leave out %.2g of the deflection by loads at its nodes, most at node '%s': more modes "
        "are needed",
        body->name, rest / all, f->frame[worst].name);
    return true;
}

// Loads are known where accelerations and multipliers are: behind the velocity stage
static bool carries_not_all(kd_work *w, const kd_point *x, char *text, size_t size)
{
    const kd_system *s = w->system;
    bool             solved = false;
    if (x->acceleration_stamp == x->velocity_stamp) return false;
    for (int b = 0; b < s->model->nbodies; b++) {
        if (s->model->body[b].nmodes == 0) continue;
        if (!s->deflection[b]) continue;
        if (!solved && kd_work_residual(w, x) != KD_EVAL_OK) return false;
        solved = true;
        if (leaves_loads_out(w, b, text, size)) return true;
    }
    return false;
}

// ---- all ------------------------------------------------------------------------------------------------------------

bool kd_flexible_caution(kd_work *w, const kd_point *x, char *text, size_t size)
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
    return carries_not_all(w, x, text, size);
}
