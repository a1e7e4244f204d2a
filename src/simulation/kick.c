// kick.c: jumps of prescribed velocities, by impulses (docs/methods/events.md).
//
// Time prescribes the drives q(t) of the definition, and rows of g and h. With q', gI and h from the left (-) and from
// the right (+) of an instant, at unchanged positions,
//
//     M (v+ - v-) + M_vx (q'+ - q'-) + (GZ)' Lambda + (HZ)' Pi = 0,     gI(v+, t+) = 0,   h(v+, t+) = 0,
//
// which is the shortest jump of the velocities of all masses in the norm of the kinetic energy, in any coordinates.
// Forces are finite: they, and dry friction, have no impulse. What the drives do is the change of kinetic energy.
#include "simulation/kick.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "math/dense.h"

// What counts as a jump and what is the rounding of times and positions
#define POSITION_JUMP 1e-9 // jump of a position, relative to it and to its way at the velocities of both sides
#define ROW_JUMP 1e-11     // the same for a row, relative to the positions
#define TOLD 1e-9          // jump of a velocity that is worth a word, relative to the velocities of both sides
#define NOISE 1e-13        // the same, relative to position / time and to acceleration times time
#define MOVES 1e-11        // rate of a one-sided or sticking row that moves, relative to the velocities

// What time prescribes on one side: drives, and rows at v = 0
typedef struct side {
    double *q, *dq, *ddq; // (ndrives)
    double *g, *gI, *h;   // (nlambda), (nlambda), (nmu)
    double  kinetic;      // [J]
} side;

struct kd_kick {
    const kd_eom    *eom;
    kd_dims          dims;
    int              ndrives;
    kd_acceleration *acceleration; // the caller's: point of evaluation and solver
    kd_arena         arena;
    side             left, right;      // of the instant
    double          *zero, *v;         // (nv) standing still; velocities from the left
    double          *dx, *momentum;    // (ndrives), (nv) jumps of the drives, M_vx times them
    double          *impulse, *driven; // (nlambda + nmu), (ndrives)
    unsigned char   *active;           // (nlambda + nmu) rows before
    double          *rate;             // (nlambda + nmu) behind
    char             message[500];
};

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void cut_side(kd_kick *self, side *s)
{
    s->q = kd_cut_double(&self->arena, self->ndrives);
    s->dq = kd_cut_double(&self->arena, self->ndrives);
    s->ddq = kd_cut_double(&self->arena, self->ndrives);
    s->g = kd_cut_double(&self->arena, self->dims.nlambda);
    s->gI = kd_cut_double(&self->arena, self->dims.nlambda);
    s->h = kd_cut_double(&self->arena, self->dims.nmu);
}

kd_status kd_kick_create(const kd_eom *eom, kd_acceleration *acceleration, kd_kick **kick)
{
    *kick = NULL;
    kd_kick *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    kd_dims d = self->dims = kd_eom_dims(eom);
    self->eom = eom;
    self->ndrives = kd_eom_definition(eom)->ndrives;
    self->acceleration = acceleration;
    // both sides of the instant, then the equations of the jump
    cut_side(self, &self->left);
    cut_side(self, &self->right);
    self->zero = kd_cut_double(&self->arena, d.nv);
    self->v = kd_cut_double(&self->arena, d.nv);
    self->dx = kd_cut_double(&self->arena, self->ndrives);
    self->momentum = kd_cut_double(&self->arena, d.nv);
    self->impulse = kd_cut_double(&self->arena, d.nlambda + d.nmu);
    self->driven = kd_cut_double(&self->arena, self->ndrives);
    self->rate = kd_cut_double(&self->arena, d.nlambda + d.nmu);
    self->active = kd_arena_cut(&self->arena, (size_t)d.nlambda + (size_t)d.nmu, 1);
    if (self->arena.failed) {
        kd_kick_destroy(self);
        return KD_ERR_MEMORY;
    }
    *kick = self;
    return KD_OK;
}

void kd_kick_destroy(kd_kick *self)
{
    if (!self) return;
    kd_arena_release(&self->arena);
    kd_free(self);
}

int kd_kick_room(const kd_eom *eom)
{
    kd_dims d = kd_eom_dims(eom);
    return kd_eom_definition(eom)->ndrives + d.nlambda + d.nmu;
}

const char *kd_kick_message(const kd_kick *self)
{
    return self ? self->message : "";
}

// ---- both sides -----------------------------------------------------------------------------------------------------

static kd_status fault(kd_kick *self, kd_eval answer)
{
    if (answer == KD_EVAL_OK) return KD_OK;
    // whoever knows the reason: the point of evaluation, or the solver
    const kd_eom_data *data = kd_acceleration_data(self->acceleration);
    const char        *text = "";
    kd_status          status = kd_eom_data_fault(data).status;
    if (status < 0)
        text = kd_eom_data_message(data);
    else
        status = kd_acceleration_fault(self->acceleration, &text);
    kd_text(self->message, sizeof self->message, "%s", text);
    return status < 0 ? status : answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
}

static kd_eval look(kd_kick *self, const kd_state *x, side *s)
{
    // at v = 0 the rates of rows are those that time prescribes
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eval      answer = kd_acceleration_at(self->acceleration, x->t, x->p, x->s, self->zero, x->r);
    if (answer == KD_EVAL_OK) answer = kd_eom_drives(data, s->q, s->dq, s->ddq);
    if (answer == KD_EVAL_OK && self->dims.nlambda > 0) answer = kd_eom_eval(data, KD_G, s->g);
    if (answer == KD_EVAL_OK && self->dims.nlambda > 0) answer = kd_eom_eval(data, KD_GI, s->gI);
    if (answer == KD_EVAL_OK && self->dims.nmu > 0) answer = kd_eom_eval(data, KD_H, s->h);
    return answer;
}

// Kinetic energy with the velocities of x; NAN: the definition has no energies
static kd_eval find_kinetic(kd_kick *self, const kd_state *x, double *kinetic)
{
    // nothing to compare where the definition has no energies
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_energies  energies = {0};
    *kinetic = NAN;
    if (!kd_eom_definition(self->eom)->energies) return KD_EVAL_OK;
    kd_eval answer = kd_acceleration_at(self->acceleration, x->t, x->p, x->s, x->v, x->r);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_acceleration(data, x->a, x->w, x->lambda, x->mu);
    answer = kd_eom_energies(data, &energies);
    *kinetic = energies.kinetic;
    return answer;
}

kd_status kd_kick_before(kd_kick *self, const kd_state *x)
{
    kd_eval answer = look(self, x, &self->left);
    if (answer == KD_EVAL_OK) answer = find_kinetic(self, x, &self->left.kinetic);
    return fault(self, answer);
}

// ---- jumps of positions ---------------------------------------------------------------------------------------------

static kd_status refuse_jump(kd_kick *self, double t, kd_kind kind, int i, double from, double to)
{
    char name[128];
    kd_eom_name(self->eom, kind, i, name, sizeof name);
    kd_text(
        self->message, sizeof self->message,
        "the position that time prescribes for %s jumps by %.6g (from %.9g to %.9g) at t = %.9g, which no force can "
        "do; prescribe a way between the two, as a ramp or a smooth step",
        name, to - from, from, to, t);
    return KD_ERR_POSITION_JUMP;
}

static bool always_holds(const kd_kick *self, int k)
{
    const int nlambda = self->dims.nlambda;
    return k < nlambda ? !kd_eom_one_sided(self->eom, k) : !kd_eom_is_friction(self->eom, k - nlambda);
}

static kd_status check_positions(kd_kick *self, const kd_state *x)
{
    // a position may differ by the way that it makes during the rounding of t
    const side  *l = &self->left, *r = &self->right;
    const double t = fabs(x->t), size = kd_norm_max(self->dims.np, x->p);
    for (int i = 0; i < self->ndrives; i++) {
        double scale = fabs(l->q[i]) + fabs(r->q[i]) + t * (fabs(l->dq[i]) + fabs(r->dq[i]));
        if (fabs(r->q[i] - l->q[i]) > POSITION_JUMP * scale)
            return refuse_jump(self, x->t, KD_NAME_DRIVE, i, l->q[i], r->q[i]);
    }
    // rows that hold, and may not open: one-sided ones simply open
    for (int i = 0; i < self->dims.nlambda; i++) {
        double scale = POSITION_JUMP * t * (fabs(l->gI[i]) + fabs(r->gI[i])) + ROW_JUMP * size;
        if (x->active_lambda[i] && always_holds(self, i) && fabs(r->g[i] - l->g[i]) > scale)
            return refuse_jump(self, x->t, KD_NAME_LAMBDA, i, l->g[i], r->g[i]);
    }
    return KD_OK;
}

// ---- the jump of the velocities -------------------------------------------------------------------------------------

static unsigned char *active_of(const kd_kick *self, kd_state *x, int k)
{
    return k < self->dims.nlambda ? &x->active_lambda[k] : &x->active_mu[k - self->dims.nlambda];
}

// v+ with the rows that always hold, and their impulses
static kd_eval jump(kd_kick *self, kd_state *x)
{
    const int    rows = self->dims.nlambda + self->dims.nmu;
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eval      answer = kd_acceleration_at(self->acceleration, x->t, x->p, x->s, x->v, x->r);
    for (int i = 0; i < self->ndrives; i++) self->dx[i] = self->right.dq[i] - self->left.dq[i];
    memcpy(self->v, x->v, (size_t)self->dims.nv * sizeof *x->v);
    // the momentum that the drives take with them, M_vx dx
    if (answer == KD_EVAL_OK && self->ndrives > 0)
        answer = kd_eom_impulses(data, NULL, self->dx, NULL, NULL, self->momentum, self->driven);
    // only rows that always hold take part; the activity of the others is restored
    for (int k = 0; k < rows; k++) {
        unsigned char *active = active_of(self, x, k);
        self->active[k] = *active;
        *active = *active && always_holds(self, k);
    }
    // v+ is the projection of v- in the norm of the kinetic energy
    if (answer == KD_EVAL_OK)
        answer = kd_acceleration_impulse(self->acceleration, x->t, x->p, x->s, x->v, x->r,
                                         self->ndrives > 0 ? self->momentum : NULL, self->impulse);
    for (int k = 0; k < rows; k++) *active_of(self, x, k) = self->active[k];
    return answer;
}

// One-sided rows that hold and friction that sticks, but move with v+
static kd_eval find_moving(kd_kick *self, const kd_state *x, unsigned char *moving)
{
    const int    nlambda = self->dims.nlambda, rows = nlambda + self->dims.nmu;
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    // what an impulse of the others moves, beyond rounding
    const double slow = MOVES * (1 + kd_norm_max(self->dims.nv, x->v));
    kd_eval      answer = kd_acceleration_at(self->acceleration, x->t, x->p, x->s, x->v, x->r);
    if (answer == KD_EVAL_OK && nlambda > 0) answer = kd_eom_eval(data, KD_GI, self->rate);
    if (answer == KD_EVAL_OK && self->dims.nmu > 0) answer = kd_eom_eval(data, KD_H, self->rate + nlambda);
    for (int k = 0; k < rows; k++)
        moving[k] = answer == KD_EVAL_OK && self->active[k] && !always_holds(self, k) && fabs(self->rate[k]) > slow;
    return answer;
}

// ---- words ----------------------------------------------------------------------------------------------------------

static void tell_kick(const kd_kick *self, kd_kind kind, int i, double from, double to, double impulse, double work,
                      kd_teller *teller)
{
    char name[96], text[KD_TOLD_TEXT], words[40] = "";
    kd_eom_name(self->eom, kind, i, name, sizeof name);
    if (isfinite(work)) kd_text(words, sizeof words, ", work %.6g J", work);
    kd_text(text, sizeof text, "velocity prescribed for %s jumps from %.6g to %.6g: impulse %.6g%s", name, from, to,
            impulse, words);
    kd_teller_tell_kick(teller, kind == KD_NAME_DRIVE ? -1 - i : i + (kind == KD_NAME_MU ? self->dims.nlambda : 0),
                        impulse, work, text);
}

static bool is_told(double from, double to, double noise)
{
    return fabs(to - from) > TOLD * (fabs(from) + fabs(to)) + noise;
}

// Each jump with its impulse; the work is that of all together. A row that reads `coordinate - target` has the rate
// -target' at v = 0, and its impulse on the coordinate is -Lambda.
static void tell_all(const kd_kick *self, const kd_state *x, double work, kd_teller *teller)
{
    const kd_eom_def *def = kd_eom_definition(self->eom);
    const side       *l = &self->left, *r = &self->right;
    const double      t = fabs(x->t);
    // drives, rows of g, rows of h: each with from, to and impulse
    for (int i = 0; i < self->ndrives; i++) {
        double noise = NOISE * (t * (fabs(l->ddq[i]) + fabs(r->ddq[i])) + (fabs(l->q[i]) + fabs(r->q[i])) / t);
        if (is_told(l->dq[i], r->dq[i], noise))
            tell_kick(self, KD_NAME_DRIVE, i, l->dq[i], r->dq[i], self->driven[i], work, teller);
    }
    for (int i = 0; i < self->dims.nlambda; i++)
        if (self->active[i] && always_holds(self, i) && (!def->timed || def->timed[i]) &&
            is_told(l->gI[i], r->gI[i], NOISE * kd_norm_max(self->dims.np, x->p) / t))
            tell_kick(self, KD_NAME_LAMBDA, i, -l->gI[i], -r->gI[i], -self->impulse[i], work, teller);
    for (int i = 0; i < self->dims.nmu; i++)
        if (self->active[self->dims.nlambda + i] && always_holds(self, self->dims.nlambda + i) &&
            is_told(l->h[i], r->h[i], NOISE * kd_norm_max(self->dims.nv, x->v)))
            tell_kick(self, KD_NAME_MU, i, -l->h[i], -r->h[i], -self->impulse[self->dims.nlambda + i], work, teller);
}

// Impulses of the drives, from the jumps of everything
static kd_eval find_driven(kd_kick *self, const kd_state *x)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    if (self->ndrives == 0) return KD_EVAL_OK;
    // v becomes the jump v+ - v-, which the impulses of the drives belong to
    for (int i = 0; i < self->dims.nv; i++) self->v[i] = x->v[i] - self->v[i];
    kd_eval answer = kd_acceleration_at(self->acceleration, x->t, x->p, x->s, x->v, x->r);
    if (answer != KD_EVAL_OK) return answer;
    return kd_eom_impulses(data, self->v, self->dx, self->impulse, self->impulse + self->dims.nlambda, self->momentum,
                           self->driven);
}

kd_status kd_kick_make(kd_kick *self, kd_state *x, unsigned char *moving, kd_teller *teller)
{
    // the right side; positions that jump are refused before anything moves
    double    kinetic = NAN;
    kd_status status = fault(self, look(self, x, &self->right));
    if (status >= 0) status = check_positions(self, x);
    if (status < 0) return status;
    // new velocities, rows that they move, impulses, energy; then words for each
    kd_eval answer = jump(self, x);
    if (answer == KD_EVAL_OK) answer = find_moving(self, x, moving);
    if (answer == KD_EVAL_OK) answer = find_driven(self, x);
    if (answer == KD_EVAL_OK) answer = find_kinetic(self, x, &kinetic);
    if (answer == KD_EVAL_OK) tell_all(self, x, kinetic - self->left.kinetic, teller);
    return fault(self, answer);
}

void kd_kick_archive(kd_kick *self, kd_archive *a)
{
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    KD_ARCHIVE_REALS(a, &self->left.kinetic, &self->right.kinetic);
    kd_archive_flags(a, self->active, (size_t)(self->dims.nlambda + self->dims.nmu));
}
