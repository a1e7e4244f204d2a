// bench_formalism.c: time of the tree algorithms per body and evaluation, chains and binary trees of 8 to 4096 bodies
// and a robot with 30 joints, beside MuJoCo: forward dynamics (explicit formalism; mj_forward without contact), inverse
// dynamics (residual formalism; kinematics + rne), mass matrix (kinematics + crb), Jacobian of the residual. Every
// evaluation starts from positions and velocities. Thread CPU time, interleaved, minimum of several repetitions; before
// that both must give the same results.
#include "formalism.h"

#include "common_fit.h"
#include "common_run.h"
#include "core/text.h"
#include <math.h>
#include <stdlib.h>

#define AGREEMENT 1e-8 // of the two programs, relative; MuJoCo's factorisation of long chains loses digits
enum {
    PEER_CHAIN_MAX = 64, // its reader refuses elements that are nested more deeply than 100
    PEER_TREE_MAX = 4096,
    MATRIX_MAX = 512,
};

static const char *const task_names[FORMALISM_TASKS] = {"forward", "inverse", "mass", "jacobian"};
static const char *const shape_names[] = {"chain", "tree", "robot"};

typedef struct result {
    double own[FORMALISM_TASKS], peer[FORMALISM_TASKS]; // [ns] per evaluation; NaN: not measured
    char   note[FORMALISM_TASKS][120];                  // why there is no peer
} result;

// ---- measuring -----------------------------------------------------------------------------------------------------

// [ns] per evaluation
static double measure_own(formalism_system *s, formalism_task task, int calls)
{
    const double start = bench_cpu_seconds();
    for (int i = 0; i < calls; i++) formalism_run(s, task, i % FORMALISM_STATES);
    return 1e9 * (bench_cpu_seconds() - start) / calls;
}

static double measure_peer(formalism_peer *p, formalism_task task, int calls)
{
    const double start = bench_cpu_seconds();
    for (int i = 0; i < calls; i++) formalism_peer_run(p, task, i % FORMALISM_STATES);
    return 1e9 * (bench_cpu_seconds() - start) / calls;
}

// as many calls as take about seconds
static int calls_for(double seconds, double ns)
{
    const double calls = ceil(1e9 * seconds / ns);
    return calls < FORMALISM_STATES ? FORMALISM_STATES : calls > 1e6 ? 1000000 : (int)calls;
}

// Do both programs agree in all states? The note says if not.
static bool agrees(formalism_system *s, formalism_peer *p, formalism_task task, char *note, size_t size)
{
    double error = 0;
    for (int k = 0; k < FORMALISM_STATES; k++) {
        const double e = formalism_peer_error(p, s, task, k);
        if (!(e <= error)) error = e;
    }
    if (error <= AGREEMENT) return true;
    kd_text(note, size, "MuJoCo gives other results: relative difference %.1e", error);
    return false;
}

static void measure_task(formalism_system *s, formalism_peer *p, formalism_task task, int repetitions, result *r)
{
    const double batch = 1.5e-3;
    const int    own = calls_for(batch, measure_own(s, task, FORMALISM_STATES));
    const int    peer = p ? calls_for(batch, measure_peer(p, task, FORMALISM_STATES)) : 0;
    for (int i = 0; i < repetitions; i++) {
        r->own[task] = fmin(r->own[task], measure_own(s, task, own)); // fmin: NaN gives way
        if (p) r->peer[task] = fmin(r->peer[task], measure_peer(p, task, peer));
    }
}

static result measure(const bench *b, formalism_shape shape, int nbodies)
{
    result           r;
    formalism_system s;
    char             message[120] = "";
    const bool       matrices = nbodies <= MATRIX_MAX;
    const int        limit = shape == FORMALISM_CHAIN ? PEER_CHAIN_MAX : PEER_TREE_MAX;
    formalism_peer  *p = NULL;
    for (int k = 0; k < FORMALISM_TASKS; k++) r.own[k] = r.peer[k] = NAN, r.note[k][0] = '\0';
    if (formalism_open(&s, shape, nbodies, matrices)) {
        if (nbodies <= limit) p = formalism_peer_create(&s, message, sizeof message);
        for (int k = 0; k < (matrices ? FORMALISM_TASKS : MASS); k++) {
            const formalism_task task = (formalism_task)k;
            const bool           compare = p && task != JACOBIAN && agrees(&s, p, task, r.note[k], sizeof r.note[k]);
            if (!p && nbodies <= limit) kd_text(r.note[k], sizeof r.note[k], "%s", message);
            measure_task(&s, compare ? p : NULL, task, bench_quick(b) ? 7 : 40, &r);
        }
    }
    formalism_peer_destroy(p);
    formalism_close(&s);
    return r;
}

// ---- rows ----------------------------------------------------------------------------------------------------------

static void time_rows(bench *b, formalism_shape shape, int nbodies, const result *r)
{
    for (int k = 0; k < FORMALISM_TASKS; k++) {
        if (isnan(r->own[k])) continue;
        bench_row(b, bench_no_goal(false), NAN, r->own[k] / nbodies, "ns/body", "", "%s.%s.%d", task_names[k],
                  shape_names[shape], nbodies);
        if (isnan(r->peer[k])) continue;
        bench_row(b, bench_no_goal(true), NAN, r->peer[k] / nbodies, "ns/body", "MuJoCo", "mujoco.%s.%s.%d",
                  task_names[k], shape_names[shape], nbodies);
    }
}

static void ratio_row(bench *b, formalism_task task, int nbodies, double goal, const result *r)
{
    if (formalism_peer_version())
        bench_row(b, bench_above(goal), NAN, r->peer[task] / r->own[task], "", r->note[task], "ratio.%s.%d",
                  task_names[task], nbodies);
    else
        bench_row_without(b, bench_above(goal), "MuJoCo", "libmujoco-dev", "ratio.%s.%d", task_names[task], nbodies);
}

// exponent of the time of forward dynamics from 32 to 4096 bodies
static void growth_row(bench *b, int count, const int *sizes, const result *chains)
{
    double n[16], time[16];
    int    used = 0;
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 32) continue;
        n[used] = sizes[i];
        time[used++] = chains[i].own[FORWARD];
    }
    bench_row(b, bench_below(1.1), NAN, bench_slope(used, n, time), "", "time ~ bodies^x, chain", "growth.forward");
}

static void goal_rows(bench *b, int count, const int *sizes, const result *chains)
{
    for (int i = 0; i < count; i++) {
        const result *r = &chains[i];
        if (sizes[i] == 8) ratio_row(b, FORWARD, 8, 2, r);
        if (sizes[i] != 32) continue;
        ratio_row(b, FORWARD, 32, 3, r);
        ratio_row(b, INVERSE, 32, 3.5, r);
        ratio_row(b, MASS, 32, 2.5, r);
        bench_row(b, bench_below(12), NAN, r->own[JACOBIAN] / r->own[INVERSE], "residuals", "derivatives by p, v and a",
                  "jacobian_cost.32");
    }
    growth_row(b, count, sizes, chains);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    int    exit_status;
    result chains[SIZES];
    bench *b = bench_create(argc, argv, "Tree algorithms: time per body and evaluation.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    if (formalism_peer_version())
        bench_say(b, "peer: MuJoCo %s, contacts, constraints, actuators and passive forces off\n",
                  formalism_peer_version());
    else
        bench_say(b, "MuJoCo is missing (package libmujoco-dev): no ratios\n");
    for (int i = 0; i < SIZES; i++) {
        chains[i] = measure(b, FORMALISM_CHAIN, sizes[i]);
        time_rows(b, FORMALISM_CHAIN, sizes[i], &chains[i]);
    }
    for (int i = 0; i < SIZES; i++) {
        const result r = measure(b, FORMALISM_TREE, sizes[i]);
        time_rows(b, FORMALISM_TREE, sizes[i], &r);
    }
    const result r = measure(b, FORMALISM_ROBOT, 31);
    time_rows(b, FORMALISM_ROBOT, 31, &r);
    goal_rows(b, SIZES, sizes, chains);
    return bench_end(b);
}
