// compare_channels.c: the numbers by which motions in different coordinates are compared, and their distance.
//
// Of models: position, orientation (unit quaternion, up to its sign), velocity and angular velocity of every body,
// which both coordinate sets have in common; inner states; outputs. Of equations written in C: p, v, r and outputs. A
// difference is divided by
//
//     floor + max over time |reference|
//
// which is what relative and absolute tolerances promise for it. Errors are those of the motion. Outputs are told
// apart: a stiff spring makes a large difference of forces from a small one of positions, and integrators do not
// control what depends on accelerations and multipliers. Outputs that do are found by changing these at the start.
#include <math.h>
#include <string.h>

#include "analysis/compare_internal.h"
#include "core/text.h"
#include "model/model.h"
#include "probe/probe.h"

enum { POSE = 7, RATE = 6 };

struct kd_observer {
    kd_arena               arena;
    const kd_compare_side *side;
    kd_dims                dims;
    int                    nbodies, nvalues;
    kd_certifier          *certifier;
    kd_probe              *probe;
};

static int body_count(const kd_compare_side *side)
{
    return side->system ? kd_system_model(side->system)->nbodies : 0;
}

static int motion_values(const kd_compare_side *side)
{
    kd_dims d = kd_eom_dims(side->eom);
    return (side->system ? (POSE + RATE) * body_count(side) : d.np + d.nv) + d.nr;
}

// ---- observer -------------------------------------------------------------------------------------------------------

kd_status kd_observer_create(const kd_compare_side *side, kd_observer **observer)
{
    *observer = NULL;
    kd_observer *o = kd_alloc(sizeof *o);
    if (!o) return KD_ERR_MEMORY;
    o->side = side;
    o->dims = kd_eom_dims(side->eom);
    o->nbodies = body_count(side);
    o->nvalues = motion_values(side) + o->dims.ny;
    kd_status status = side->system ? kd_probe_of_system(side->system, side->inputs, &o->probe)
                                    : kd_probe_create(side->eom, side->inputs, &o->probe);
    if (status >= 0) status = kd_certifier_create_by(o->probe, &o->certifier);
    if (status < 0) {
        kd_observer_destroy(o);
        return status;
    }
    *observer = o;
    return KD_OK;
}

void kd_observer_destroy(kd_observer *o)
{
    if (!o) return;
    kd_certifier_destroy(o->certifier);
    kd_probe_destroy(o->probe);
    kd_arena_release(&o->arena);
    kd_free(o);
}

int kd_observer_values(const kd_observer *o)
{
    return o->nvalues;
}

// Values of a group of channels; none: n is 0
static bool take_group(kd_observer *o, kd_group group, int n, double *out)
{
    const double *value = n > 0 ? kd_probe_values(o->probe, group) : NULL;
    if (value) memcpy(out, value, (size_t)n * sizeof *out);
    return n == 0 || value;
}

kd_status kd_observer_take(kd_observer *o, const kd_state *x, double *values, double violation[2])
{
    const kd_dims  d = o->dims;
    const bool     bodies = o->side->system != NULL;
    const kd_group of_motion[] = {bodies ? KD_GROUP_POSE : KD_GROUP_P, bodies ? KD_GROUP_RATE : KD_GROUP_V, KD_GROUP_R,
                                  KD_GROUP_Y};
    const int      size[] = {bodies ? POSE * o->nbodies : d.np, bodies ? RATE * o->nbodies : d.nv, d.nr, d.ny};
    // residuals of constraints
    kd_status status = kd_certifier_see(o->certifier, NULL, x);
    if (status < 0) return status;
    const kd_findings findings = kd_certifier_findings(o->certifier);
    violation[0] = findings.violation[KD_LEVEL_POSITION];
    violation[1] = findings.violation[KD_LEVEL_VELOCITY];
    // motion and outputs, one group behind the other
    bool taken = true;
    for (int k = 0; k < 4 && taken; values += size[k], k++) taken = take_group(o, of_motion[k], size[k], values);
    return taken ? KD_OK : KD_ERR_CALLBACK_STOP;
}

// ---- names ----------------------------------------------------------------------------------------------------------

static kd_channel *add_channel(kd_channels *c, int width)
{
    kd_channel *channel = &c->list[c->count++];
    channel->first = c->nvalues;
    channel->width = width;
    c->nvalues += width;
    return channel;
}

// Poses of all bodies, then their velocities, as a probe gives them
static void add_bodies(kd_channels *c, const kd_model *m)
{
    for (int b = 0; b < m->nbodies; b++) {
        kd_text(add_channel(c, 3)->name, sizeof c->list->name, "body.%s.pos", m->body[b].name);
        kd_channel *turn = add_channel(c, 4);
        kd_text(turn->name, sizeof turn->name, "body.%s.orientation", m->body[b].name);
        turn->is_quaternion = true;
    }
    for (int b = 0; b < m->nbodies; b++) {
        kd_text(add_channel(c, 3)->name, sizeof c->list->name, "body.%s.vel", m->body[b].name);
        kd_text(add_channel(c, 3)->name, sizeof c->list->name, "body.%s.omega", m->body[b].name);
    }
}

static void add_components(kd_channels *c, const kd_eom *eom, kd_kind kind, int n)
{
    for (int i = 0; i < n; i++) {
        kd_channel *channel = add_channel(c, 1);
        kd_eom_name(eom, kind, i, channel->name, sizeof channel->name);
    }
}

// A state in which everything that a simulation solves for is another one
static void disturb(kd_dims d, kd_state *x, double *a)
{
    for (int i = 0; i < d.nv; i++) a[i] = x->a[i] + (1 + fabs(x->a[i])) * (0.3 + 0.1 * (i % 5));
    for (int i = 0; i < d.nlambda; i++) x->lambda[i] += (1 + fabs(x->lambda[i])) * (0.2 + 0.1 * (i % 7));
    for (int i = 0; i < d.nmu; i++) x->mu[i] += (1 + fabs(x->mu[i])) * (0.2 + 0.1 * (i % 7));
    for (int i = 0; i < d.nw; i++) x->w[i] += (1 + fabs(x->w[i])) * (0.2 + 0.1 * (i % 7));
}

// Mark the outputs that depend on accelerations and multipliers
static kd_status mark_forces(kd_channels *c, const kd_compare_side *side)
{
    kd_dims      d = kd_eom_dims(side->eom);
    kd_observer *o = NULL;
    kd_state    *x = NULL;
    double      *y = kd_cut_double(&c->arena, 2 * d.ny), *a = kd_cut_double(&c->arena, d.nv);
    kd_status    status = c->arena.failed ? KD_ERR_MEMORY : kd_observer_create(side, &o);
    if (status >= 0) status = kd_state_create(side->eom, &x);
    if (status < 0) goto done;
    // outputs at the start, and again with other a, w, lambda, mu: what changes depends on forces
    kd_state_copy(side->start, x);
    if (kd_probe_set_with(o->probe, x, x->a) < 0 || !take_group(o, KD_GROUP_Y, d.ny, y)) goto done; // runs will tell
    disturb(d, x, a);
    if (kd_probe_set_with(o->probe, x, a) < 0 || !take_group(o, KD_GROUP_Y, d.ny, y + d.ny)) goto done;
    for (int i = 0; i < d.ny; i++)
        c->list[c->count - d.ny + i].of_forces = fabs(y[d.ny + i] - y[i]) > 1e-9 * (1e-3 + fabs(y[i]));
done:
    kd_state_destroy(x);
    kd_observer_destroy(o);
    return status;
}

kd_status kd_channels_create(const kd_compare_side *side, kd_channels *c)
{
    kd_dims d = kd_eom_dims(side->eom);
    int     most = (side->system ? 4 * body_count(side) : d.np + d.nv) + d.nr + d.ny;
    *c = (kd_channels){0};
    c->list = kd_arena_cut(&c->arena, (size_t)most, sizeof *c->list);
    if (c->arena.failed) return KD_ERR_MEMORY;
    // motions of bodies are the same in all coordinate sets, components are those of one
    if (side->system) {
        add_bodies(c, kd_system_model(side->system));
    } else {
        add_components(c, side->eom, KD_NAME_P, d.np);
        add_components(c, side->eom, KD_NAME_V, d.nv);
    }
    add_components(c, side->eom, KD_NAME_R, d.nr);
    add_components(c, side->eom, KD_NAME_Y, d.ny);
    // outputs stand last; those that read forces are less accurate than motions
    for (int i = 0; i < d.ny; i++) c->list[c->count - d.ny + i].is_output = true;
    return d.ny > 0 ? mark_forces(c, side) : KD_OK;
}

void kd_channels_release(kd_channels *c)
{
    kd_arena_release(&c->arena);
    *c = (kd_channels){0};
}

// ---- distances ------------------------------------------------------------------------------------------------------

static double length(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

void kd_channel_scales(const kd_channels *c, const kd_track_of_run *track, int rows, double floor, double *scale)
{
    for (int k = 0; k < c->count; k++) {
        double largest = 0;
        for (int row = 0; row < rows && row < track->rows; row++)
            largest = fmax(largest, length(track->value + (size_t)row * (size_t)track->nvalues + c->list[k].first,
                                           c->list[k].width));
        scale[k] = floor + largest;
    }
}

double kd_channel_distance(const kd_channel *channel, const kd_track_of_run *a, const kd_track_of_run *b, int row)
{
    const double *x = a->value + (size_t)row * (size_t)a->nvalues + channel->first;
    const double *y = b->value + (size_t)row * (size_t)b->nvalues + channel->first;
    // q and -q are the same orientation
    double plus = 0, minus = 0;
    for (int i = 0; i < channel->width; i++) {
        minus += (x[i] - y[i]) * (x[i] - y[i]);
        plus += (x[i] + y[i]) * (x[i] + y[i]);
    }
    return sqrt(channel->is_quaternion ? fmin(plus, minus) : minus);
}

double kd_row_distance(const kd_channels *c, const double *scale, const kd_track_of_run *a, const kd_track_of_run *b,
                       int row, bool outputs)
{
    double largest = 0;
    for (int k = 0; k < c->count; k++)
        if (c->list[k].is_output == outputs)
            largest = fmax(largest, kd_channel_distance(&c->list[k], a, b, row) / scale[k]);
    return largest;
}

double kd_track_distance(const kd_channels *c, const double *scale, const kd_track_of_run *a, const kd_track_of_run *b,
                         int rows, bool outputs)
{
    double largest = 0;
    if (a->rows < rows || b->rows < rows) return INFINITY;
    for (int row = 0; row < rows; row++) largest = fmax(largest, kd_row_distance(c, scale, a, b, row, outputs));
    return largest;
}
