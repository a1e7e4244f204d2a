// flexible_cost.c: what modes cost: forward dynamics of chains of flexible bodies over the number of modes and of bodies, beside
// rigid ones; steps of a run with damped modes beside one whose modes creep.
#include <math.h>
#include <stdio.h>

#include "common_fit.h"
#include "common_run.h"
#include "flexible.h"

enum { ROUNDS = 7 };

typedef struct chain {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_eom_data *data;
} chain;

static void close_chain(chain *c)
{
    kd_eom_data_destroy(c->data);
    kd_state_destroy(c->x);
    kd_system_destroy(c->system);
    kd_model_destroy(c->model);
    *c = (chain){0};
}

// Bodies of 1 m in a row, turning about axes across each other; modes 0: rigid ones
static bool open_chain(chain *c, int nbodies, int modes, char *message, size_t size)
{
    const flexible_beam beam = {1, 1e4, 2, modes, true, 0.01};
    kd_body_def         body = kd_body_def_default();
    bool                good = kd_model_create(&c->model) >= 0;
    if (modes > 0)
        good = good && flexible_read(c->model, &beam, &body, message, size);
    else {
        body.mass = 2;
        body.centre[0] = 0.5, body.centre[1] = body.centre[2] = 0;
        for (int i = 0; i < 6; i++) body.inertia[i] = i < 3 ? 0.17 : 0;
    }
    for (int i = 0; good && i < nbodies; i++) {
        char         name[20], before[20];
        kd_joint_def joint = kd_joint_def_default(KD_REVOLUTE);
        snprintf(name, sizeof name, "b%d", i);
        snprintf(before, sizeof before, "b%d", i - 1);
        body.position[0] = i;
        joint.to = modes > 0 ? kd_at_node(name, "root") : kd_in(name, 0, 0, 0);
        if (i > 0) joint.from = modes > 0 ? kd_at_node(before, "tip") : kd_in(before, 1, 0, 0);
        joint.from.axis[1 + i % 2] = joint.to.axis[1 + i % 2] = 1;
        good = kd_model_add_body(c->model, name, &body) >= 0 && kd_model_add_joint(c->model, name, &joint) >= 0;
    }
    good = good && kd_model_finish(c->model) >= 0 && kd_system_create(c->model, NULL, &c->system, message, size) >= 0 &&
           kd_state_create(kd_system_eom(c->system), &c->x) >= 0 &&
           kd_system_start(c->system, c->x, message, size) >= 0 &&
           kd_eom_data_create(kd_system_eom(c->system), &c->data) >= 0;
    const kd_dims n = good ? kd_eom_dims(kd_system_eom(c->system)) : (kd_dims){0};
    for (int i = 0; i < n.nv; i++) c->x->v[i] = 0.1 * sin(1.0 + i);
    for (int i = 0; i < n.np; i++) c->x->p[i] += 1e-7 * cos(2.0 + i);
    return good;
}

// One evaluation of the accelerations at a new position, microseconds of this thread: the smallest of several rounds
static double forward_time(const chain *c, bool quick)
{
    double best = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = bench_cpu_seconds();
        int          count = 0;
        double       spent = 0;
        while (spent < (quick ? 2e-3 : 2e-2)) {
            for (int i = 0; i < 5; i++, count++) {
                kd_eom_at_time(c->data, 0, NULL, NULL, NULL, c->x->z);
                kd_eom_at_position(c->data, c->x->p, c->x->s);
                kd_eom_at_velocity(c->data, c->x->v, c->x->r);
                if (kd_eom_accelerations(c->data, c->x->a, c->x->lambda, c->x->mu) != KD_EVAL_OK) return NAN;
            }
            spent = bench_cpu_seconds() - start;
        }
        best = fmin(best, 1e6 * spent / count);
    }
    return best;
}

static double time_of(int nbodies, int modes, bool quick, char *message, size_t size)
{
    chain        c = {0};
    const double time = open_chain(&c, nbodies, modes, message, size) ? forward_time(&c, quick) : NAN;
    close_chain(&c);
    return time;
}

static void growth(bench *b)
{
    static const int modes[] = {1, 2, 4, 8, 16, 32}, bodies[] = {4, 16, 64};
    const bool       quick = bench_quick(b);
    double           n[6], time[6], count[3], by_count[3];
    char             message[600] = "", note[100];
    for (int i = 0; i < 6; i++) {
        n[i] = modes[i];
        time[i] = time_of(16, modes[i], quick, message, sizeof message);
        bench_row(b, bench_no_goal(false), NAN, time[i], "us", isnan(time[i]) ? message : "forward dynamics, 16 bodies",
                  "cost.modes.%d", modes[i]);
    }
    bench_row(b, bench_below(2), NAN, bench_slope(3, n + 3, time + 3), "", "time ~ modes^x, 8 to 32 modes",
              "cost.modes.exponent");
    for (int i = 0; i < 3; i++) {
        count[i] = bodies[i];
        by_count[i] = bodies[i] == 16 ? time[3] : time_of(bodies[i], 8, quick, message, sizeof message);
    }
    bench_row(b, bench_below(1.1), NAN, bench_slope(3, count, by_count), "", "time ~ bodies^x, 4 to 64 of 8 modes",
              "cost.modes.bodies");
    const double rigid = time_of(16, 0, quick, message, sizeof message);
    snprintf(note, sizeof note, "a body with 8 modes over a rigid one (%.2f us)", rigid / 16);
    bench_row(b, bench_below(6), NAN, time[3] / rigid, "", note, "cost.modes.rigid");
}

void flexible_cost(bench *b)
{
    if (bench_wants(b, "cost.modes.")) growth(b);
}
