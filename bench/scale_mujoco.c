// scale_mujoco.c: the lattice of 1000 bodies and the rope of 50 links beside MuJoCo at the same error of the positions.
//
// MuJoCo gets the same bodies, springs and dampers (tendons between sites; stiffness and damping of joints), sparse
// Jacobians, no contacts and no constraints, and runs with constant steps by RK4, its only method of an order above 1.
// Its time is that of the steps alone, at the step whose error is wanted (interpolated between steps, each 0.7 times the last; where it is not stable before, the longest one that is); kardan's is
// that of making the simulation by default and of running it.
#include "scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_fit.h"
#include "common_run.h"
#include "core/memory.h"
#include "core/text.h"

#define ERROR 1e-6

typedef struct row {
    scale_kind  kind;
    int         n, quick;
    double      least; // goal of the ratio
    double      t_end;
    double      step; // [s] the longest of MuJoCo's
    const char *word;
} row;
static const row all[] = {{SCALE_LATTICE, 10, 4, 1.5, 1, 0.04, "lattice"}, {SCALE_ROPE, 50, 10, 10, 1, 2e-3, "rope"}};

#ifdef KD_WITH_MUJOCO

#include <mujoco/mujoco.h>

enum { TOLERANCES = 7, STEPS = 18 };
static const double MOST = 40; // [s] of processor time of one run

// ---- kardan ---------------------------------------------------------------------------------------------------------

// Largest error of a position [m, rad] or of a part of a quaternion, relative where these are larger than 1
static double distance(int n, const double *x, const double *reference)
{
    double worst = 0;
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - reference[i]) / fmax(1, fabs(reference[i])));
    return worst;
}

// Processor time of creation and run; NaN: failed
static double run_own(const scale_subject *s, scale_method m, double tolerance, double t_end, kd_state *x)
{
    char                  message[300];
    kd_simulation        *simulation = NULL;
    kd_simulation_options o = scale_options(s, m, tolerance);
    o.accelerations = false;
    kd_state_copy(s->start, x);
    const double started = bench_cpu_seconds();
    kd_status    status =
        kd_simulation_create(s->eom, kd_system_inputs(s->system), &o, x, &simulation, message, sizeof message);
    if (status >= 0) status = kd_simulation_run(simulation, t_end);
    const double seconds = bench_cpu_seconds() - started;
    kd_simulation_destroy(simulation);
    return status < 0 ? NAN : seconds;
}

// Time of the default at the wanted error
static double own_time(bench *b, const scale_subject *s, double t_end, const double *reference, kd_state *x)
{
    double error[TOLERANCES], seconds[TOLERANCES];
    for (int k = 0; k < TOLERANCES; k++) {
        seconds[k] = run_own(s, SCALE_DEFAULT, pow(10, -3 - k), t_end, x);
        error[k] = distance(kd_eom_dims(s->eom).np, x->p, reference);
        bench_say(b, "    %-16s kardan, tolerance %.0e: error %.1e, %.4g s\n", s->name, pow(10, -3 - k), error[k],
                  seconds[k]);
    }
    // one that is already there at the largest tolerance needs no more
    return error[0] <= ERROR ? seconds[0] : bench_crossing(TOLERANCES, error, seconds, ERROR);
}

// ---- MuJoCo ---------------------------------------------------------------------------------------------------------

static void write_head(FILE *f, double gravity)
{
    fprintf(f,
            "<mujoco><compiler angle='radian' inertiafromgeom='false' boundmass='0' boundinertia='0'/>"
            "<size nstack='8000000'/><option gravity='0 0 %.17g' integrator='RK4' jacobian='sparse'>"
            "<flag contact='disable' constraint='disable' actuation='disable'/></option><worldbody>\n",
            gravity);
}

static void write_lattice(FILE *f, int n)
{
    const int step[] = {1, n, n * n}, count = n * n * n;
    write_head(f, 0);
    for (int i = 0; i < count; i++) {
        fprintf(f,
                "<body pos='%d %d %d'><freejoint/><inertial mass='1' pos='0 0 0' diaginertia='0.1 0.1 0.1'/>"
                "<site name='x%d' pos='0.2 0 0'/><site name='y%d' pos='0 0.2 0'/><site name='z%d' pos='0 0 0.2'/>"
                "<site name='a%d' pos='-0.2 0 0'/><site name='b%d' pos='0 -0.2 0'/><site name='c%d' pos='0 0 -0.2'/>"
                "</body>\n",
                i % n, i / n % n, i / n / n, i, i, i, i, i, i);
    }
    fprintf(f, "</worldbody><tendon>\n");
    for (int i = 0; i < count; i++) {
        const int place[] = {i % n, i / n % n, i / n / n};
        for (int k = 0; k < 3; k++)
            if (place[k] + 1 < n)
                fprintf(f,
                        "<spatial stiffness='100' damping='1' springlength='0.6'><site site='%c%d'/><site "
                        "site='%c%d'/></spatial>\n",
                        "xyz"[k], i, "abc"[k], i + step[k]);
    }
    fprintf(f, "</tendon></mujoco>\n");
}

static void write_rope(FILE *f, int n)
{
    const double l = 0.1, m = 0.05, J = m * l * l / 12;
    write_head(f, -9.81);
    for (int i = 0; i < n; i++)
        fprintf(f,
                "<body pos='%.17g 0 0'><joint type='hinge' axis='0 1 0' stiffness='10' damping='0.1'/><inertial "
                "mass='%.17g' pos='%.17g 0 0' diaginertia='1e-6 %.17g %.17g'/>\n",
                i > 0 ? l : 0.0, m, l / 2, J, J);
    for (int i = 0; i < n; i++) fputs("</body>", f);
    fprintf(f, "</worldbody></mujoco>\n");
}

static mjModel *load(const row *r, int n, char *message, size_t size)
{
    char    *text = NULL;
    size_t   length = 0;
    FILE    *f = open_memstream(&text, &length);
    mjModel *model = NULL;
    mjVFS   *files = kd_alloc(sizeof *files);
    kd_text(message, size, "out of memory");
    if (f && r->kind == SCALE_LATTICE) write_lattice(f, n);
    if (f && r->kind == SCALE_ROPE) write_rope(f, n);
    if (f) fclose(f);
    if (files && text) {
        mj_defaultVFS(files);
        if (mj_makeEmptyFileVFS(files, "scale.xml", (int)length) == 0) {
            memcpy(files->filedata[0], text, length);
            model = mj_loadXML("scale.xml", files, message, (int)size);
        }
        mj_deleteVFS(files);
    }
    kd_free(files);
    free(text);
    return model;
}

// Beyond its stability it tells so, and starts again from the model's position
static bool is_stable(const mjData *d)
{
    return d->warning[mjWARN_BADQPOS].number + d->warning[mjWARN_BADQVEL].number + d->warning[mjWARN_BADQACC].number ==
           0;
}

static void be_quiet(const char *warning)
{
    (void)warning;
}

// Its positions and velocities are those of kardan, number by number: velocities of free bodies along the axes of the
// world, turning in those of the body, which stand alike at the start
static double run_peer(const mjModel *model, mjData *d, const kd_state *start, double t_end)
{
    const long steps = lrint(t_end / model->opt.timestep);
    mj_resetData(model, d);
    memcpy(d->qpos, start->p, (size_t)model->nq * sizeof *d->qpos);
    memcpy(d->qvel, start->v, (size_t)model->nv * sizeof *d->qvel);
    const double started = bench_cpu_seconds();
    for (long k = 0; k < steps && bench_cpu_seconds() - started < MOST && is_stable(d); k++) mj_step(model, d);
    return d->time < (1 - 1e-9) * t_end || !is_stable(d) ? NAN : bench_cpu_seconds() - started;
}

static double peer_time(bench *b, const row *r, const scale_subject *s, int n, const double *reference, double *h)
{
    char     message[500];
    double   error[STEPS], seconds[STEPS], step[STEPS];
    int      count = 0;
    mjModel *model = load(r, n, message, sizeof message);
    mjData  *d = model ? mj_makeData(model) : NULL;
    if (!d || model->nq != kd_eom_dims(s->eom).np || model->nv != kd_eom_dims(s->eom).nv) {
        bench_say(b, "    MuJoCo: %s\n", d ? "other sizes" : message);
        if (d) mj_deleteData(d);
        if (model) mj_deleteModel(model);
        return NAN;
    }
    mju_user_warning = be_quiet;
    for (int k = 0; k < STEPS; k++) {
        model->opt.timestep = step[k] = r->t_end / (double)lrint(r->t_end / r->step * pow(2, 0.5 * k));
        seconds[k] = run_peer(model, d, s->start, r->t_end);
        error[k] = isnan(seconds[k]) ? NAN : distance(model->nq, d->qpos, reference);
        bench_say(b, "    %-16s MuJoCo, step %.2e s: error %.1e, %.4g s\n", s->name, step[k], error[k], seconds[k]);
        count = k + 1;
        if (error[k] <= ERROR || (isnan(seconds[k]) && is_stable(d))) break;
    }
    mj_deleteData(d);
    mj_deleteModel(model);
    // the first stable step may be good enough
    const int  last = count - 1;
    const bool at_once = error[last] <= ERROR && (last == 0 || isnan(error[last - 1]));
    *h = at_once ? step[last] : bench_crossing(count, error, step, ERROR);
    return at_once ? seconds[last] : bench_crossing(count, error, seconds, ERROR);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static void compare(bench *b, const row *r, int n)
{
    char               message[400] = "", note[200];
    scale_subject      s;
    kd_state          *x = NULL, *reference = NULL;
    const scale_method tight = {.formulation = KD_ODE, .integrator = r->kind == SCALE_ROPE ? KD_RADAU : KD_DOP853};
    double             own = NAN, peer = NAN, h = NAN;
    const bool         good = scale_open(&s, r->kind, n, message, sizeof message) && kd_state_create(s.eom, &x) >= 0 &&
                      kd_state_create(s.eom, &reference) >= 0;
    if (good && !isnan(run_own(&s, tight, 1e-11, r->t_end, reference))) {
        own = own_time(b, &s, r->t_end, reference->p, x);
        peer = peer_time(b, r, &s, n, reference->p, &h);
    }
    kd_text(note, sizeof note, "error %.0e of positions after %g s: kardan %.3g s, MuJoCo %s %.3g s (RK4, step %.2e s)",
            ERROR, r->t_end, own, mj_versionString(), peer, h);
    bench_row(b, bench_quick(b) ? bench_no_goal(true) : bench_above(r->least), NAN, peer / own, "", note,
              "ratio.mujoco.%s", r->word);
    kd_state_destroy(x);
    kd_state_destroy(reference);
    scale_close(&s);
}

void scale_mujoco(bench *b)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (bench_wants(b, "ratio.mujoco.%s", all[i].word))
            compare(b, &all[i], bench_quick(b) ? all[i].quick : all[i].n);
}

#else

void scale_mujoco(bench *b)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (bench_wants(b, "ratio.mujoco.%s", all[i].word))
            bench_row_without(b, bench_above(all[i].least), "MuJoCo", "libmujoco-dev", "ratio.mujoco.%s", all[i].word);
}

#endif
