// certify.c: what a co-simulation is worth: energy that the coupling has created, its estimated error, the runs of the systems.
//
// A bond carries an effort e (a force) one way and a flow f (a velocity) the other way. Over a step the systems have reckoned with
// e~ and f~, extrapolated, while e and f came out: the coupling has created the energy  int (e~ f - e f~) dt.
#include <math.h>

#include "core/text.h"
#include "cosim/cosim.h"

void kd_cosim_count_energy(kd_cosim *c, double t_end)
{
    // Gauss' formula with three points
    static const double NODE[3] = {0.11270166537925831, 0.5, 0.88729833462074169},
                        WEIGHT[3] = {5. / 18, 4. / 9, 5. / 18};
    const double H = t_end - c->T;
    for (int i = 0; i < c->nbonds; i++) {
        const int e = c->bond[i].effort, f = c->bond[i].flow;
        // what the system that gives an effort told, and what the other one took for it, as courses over this step
        const kd_signal effort = kd_cosim_smooth(c, e, t_end), flow = kd_cosim_smooth(c, f, t_end);
        double          created = 0, passed = 0;
        for (int j = 0; j < 3; j++) {
            // power on either side: what one gives with the flow that it was told, and what the other takes
            const double t = c->T + NODE[j] * H, given = kd_signal_at(&c->course[e], t) * kd_signal_at(&flow, t),
                         taken = kd_signal_at(&effort, t) * kd_signal_at(&c->course[f], t);
            created += H * WEIGHT[j] * (given - taken);
            passed += H * WEIGHT[j] * fabs(taken);
        }
        c->certificate.energy_scale += passed;
        // created and lost work are told apart: one may not hide the other
        if (created > 0)
            c->certificate.energy += created;
        else
            c->certificate.energy_lost -= created;
    }
}

static kd_check *add(kd_cosim_certificate *z, const char *name, kd_check_verdict verdict, double figure)
{
    if (z->nchecks == KD_MOST_CHECKS) return NULL;
    kd_check *check = &z->check[z->nchecks++];
    *check = (kd_check){.verdict = verdict, .figure = figure};
    kd_text(check->name, sizeof check->name, "%s", name);
    return check;
}

static void judge_error(const kd_cosim *c, kd_cosim_certificate *z)
{
    const double figure = c->opt.control == KD_COSIM_HALVES ? z->error_sum : z->error;
    const bool   good = figure <= z->tolerance;
    kd_check    *check = add(z, "coupling error", good ? KD_CHECK_GOOD : KD_CHECK_BAD, figure);
    if (!check) return;
    if (c->opt.control == KD_COSIM_HALVES)
        kd_text(check->sentence, sizeof check->sentence,
                "the errors of all steps add up to %.2e of the largest values, %s the tolerance %.2g", figure,
                good ? "within" : "above", z->tolerance);
    else
        kd_text(check->sentence, sizeof check->sentence,
                "inputs were wrong by at most %.2e of their largest value (%s at t = %.6g s), %s the tolerance %.2g%s",
                figure, z->error_name[0] ? z->error_name : "none", z->error_time, good ? "within" : "above",
                z->tolerance, good ? "" : "; a shorter macro step, or control: extrapolation, helps");
}

static void judge_energy(kd_cosim_certificate *z)
{
    // good: ten tolerances of all work that went through the coupling
    const double net = z->energy - z->energy_lost, bound = 10 * z->tolerance * z->energy_scale;
    const bool   good = fabs(net) <= bound;
    kd_check    *check;
    if (!z->has_energy) {
        check = add(z, "coupling energy", KD_CHECK_NOT_SEARCHED, NAN);
        if (check)
            kd_text(check->sentence, sizeof check->sentence,
                    "the file names no pairs of force and velocity (energy: [[a.F, b.v]])");
        return;
    }
    check = add(z, "coupling energy", good ? KD_CHECK_GOOD : KD_CHECK_BAD, net);
    if (check)
        kd_text(check->sentence, sizeof check->sentence,
                "%.3g J created and %.3g J lost by the coupling, of %.4g J that passed through it", z->energy,
                z->energy_lost, z->energy_scale);
}

static void judge_joints(const kd_cosim *c, kd_cosim_certificate *z)
{
    const double scale = fmax(c->position_scale, 1e-3);
    const bool   good = z->joint_position <= z->tolerance * scale;
    kd_check    *check = add(z, "rigid joints", good ? KD_CHECK_GOOD : KD_CHECK_BAD, z->joint_position);
    if (check)
        kd_text(
            check->sentence, sizeof check->sentence,
            "positions apart by at most %.2e, velocities by %.2e, index %d; contraction %.3g without preconditioning%s",
            z->joint_position, z->joint_velocity, c->joint_index, z->contraction,
            z->preconditioned ? ", all Delassus blocks taken" : "");
    check = add(z, "forces of rigid joints", KD_CHECK_NOT_SEARCHED, NAN);
    if (check)
        kd_text(check->sentence, sizeof check->sentence,
                "they are held over a macro step, and what that does to the motion is not estimated: compare with half "
                "the step");
}

static void judge_system(kd_cosim_certificate *z, kd_cosim_system *s)
{
    char sentence[320] = "", name[64];
    if (!s->class->verdict) return;
    const bool good = s->class->verdict(s, sentence, sizeof sentence);
    kd_text(name, sizeof name, "system %.50s", s->name);
    kd_check *check = add(z, name, good ? KD_CHECK_GOOD : KD_CHECK_BAD, NAN);
    if (check) kd_text(check->sentence, sizeof check->sentence, "%s", sentence);
}

// Beside the largest value of the whole run
static void find_error(const kd_cosim *c, kd_cosim_certificate *z)
{
    z->error = 0, z->error_name = "";
    for (int k = 0; k < c->nconnections; k++) {
        const kd_connection *l = &c->connection[k];
        const double         e = l->error / kd_cosim_scale(c, k);
        if (e <= z->error) continue;
        z->error = e, z->error_time = l->error_time;
        z->error_name = kd_cosim_channel(c, c->nchannels - c->nconnections + k);
    }
}

void kd_cosim_certify(kd_cosim *c, kd_cosim_certificate *out)
{
    if (!c || !out) return;
    *out = c->certificate;
    out->tolerance = c->opt.rtol;
    out->has_energy = c->nbonds > 0;
    out->nchecks = 0;
    // what the run itself measured first, then one judgement for each kind of error
    find_error(c, out);
    if (out->status < 0) {
        kd_check *check = add(out, "run", KD_CHECK_BAD, NAN);
        if (check) kd_text(check->sentence, sizeof check->sentence, "%.300s", c->why);
    }
    judge_error(c, out);
    judge_energy(out);
    out->has_joints = c->nrows_joined > 0;
    out->contraction = c->contraction, out->preconditioned = c->preconditioned;
    if (out->has_joints) judge_joints(c, out);
    for (int s = 0; s < c->nsystems; s++) judge_system(out, c->system[s]);
    // one bad check spoils the verdict
    out->clean = true;
    for (int i = 0; i < out->nchecks; i++) out->clean = out->clean && out->check[i].verdict != KD_CHECK_BAD;
}
