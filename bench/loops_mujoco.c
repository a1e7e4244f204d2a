// loops_mujoco.c: the ladder in MuJoCo: cranks and couplers as a tree of hinges, each loop closed by a "connect"
// equality, as stiff as the solver allows; RK4 with constant steps. Without MuJoCo the benchmark says so.
#include "loops.h"

#include "core/memory.h"
#include "core/text.h"

#ifdef KD_WITH_MUJOCO

#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

struct loops_peer {
    mjModel *model;
    mjData  *data;
    int      n;
};

enum { BODY_TEXT = 700 };

static size_t rod_text(char *text, size_t size, const char *name, int i, double x, double y, const double end[2])
{
    const double along = 1.0 / 12, thin = 1e-4;
    return (size_t)snprintf(text, size,
                            "<body name='%s%d' pos='%.17g %.17g 0'><joint name='%s%d' type='hinge' axis='0 0 -1'/>"
                            "<inertial mass='1' pos='%.17g %.17g 0' diaginertia='%.17g %.17g %.17g'/>\n",
                            name, i, x, y, name, i, end[0] / 2, end[1] / 2, end[0] == 0 ? along : thin,
                            end[0] == 0 ? thin : along, along);
}

static char *model_text(int n, size_t *length)
{
    static const double down[2] = {0, -1}, across[2] = {1, 0};
    const size_t        size = 1000 + (size_t)(2 * n + 1) * BODY_TEXT;
    char               *text = kd_alloc(size);
    if (!text) return NULL;
    size_t used = (size_t)snprintf(text, size,
                                   "<mujoco><compiler angle='radian' inertiafromgeom='false' boundmass='0' "
                                   "boundinertia='0'/><option gravity='0 %.17g 0' integrator='RK4' solver='Newton' "
                                   "tolerance='0' iterations='4' jacobian='%s'><flag contact='disable' "
                                   "actuation='disable' passive='disable'/></option><worldbody>\n",
                                   -LOOPS_GRAVITY, n > 4 ? "sparse" : "dense");
    for (int i = 0; i <= n; i++) {
        used += rod_text(text + used, size - used, "crank", i, i, 0, down);
        if (i < n) {
            used += rod_text(text + used, size - used, "coupler", i + 1, 0, -1, across);
            used += (size_t)snprintf(text + used, size - used, "</body>");
        }
        used += (size_t)snprintf(text + used, size - used, "</body>\n");
    }
    used += (size_t)snprintf(text + used, size - used, "</worldbody><equality>\n");
    for (int i = 1; i <= n; i++)
        used += (size_t)snprintf(text + used, size - used,
                                 "<connect body1='coupler%d' body2='crank%d' anchor='1 0 0' "
                                 "solimp='0.9999 0.9999 0.001'/>\n",
                                 i, i);
    used += (size_t)snprintf(text + used, size - used, "</equality></mujoco>\n");
    *length = used;
    return text;
}

static mjModel *load(const char *text, size_t length, char *message, size_t size)
{
    mjModel *model = NULL;
    mjVFS   *files = kd_alloc(sizeof *files);
    if (!files) return NULL;
    mj_defaultVFS(files);
    if (mj_makeEmptyFileVFS(files, "ladder.xml", (int)length) == 0) {
        memcpy(files->filedata[0], text, length);
        model = mj_loadXML("ladder.xml", files, message, (int)size);
    }
    mj_deleteVFS(files);
    kd_free(files);
    return model;
}

static const char *version(void)
{
    return mj_versionString();
}

static void destroy(loops_peer *p)
{
    if (!p) return;
    if (p->data) mj_deleteData(p->data);
    if (p->model) mj_deleteModel(p->model);
    kd_free(p);
}

static loops_peer *create(int n, char *message, size_t size)
{
    size_t      length = 0;
    loops_peer *p = kd_alloc(sizeof *p);
    char       *text = model_text(n, &length);
    kd_text(message, size, "out of memory");
    if (p && text) p->model = load(text, length, message, size);
    if (p && p->model) p->data = mj_makeData(p->model);
    kd_free(text);
    if (p) p->n = n;
    if (p && p->data) return p;
    destroy(p);
    return NULL;
}

// Joints in the order of the tree: crank 0, coupler 1, crank 1, coupler 2, ...
static loops_outcome run(loops_peer *p, int fineness, double exact, double (*clock)(void))
{
    mjModel     *m = p->model;
    mjData      *d = p->data;
    const long   steps = lrint(250 * pow(2, 0.5 * fineness));
    const double h = LOOPS_END / (double)steps;
    m->opt.timestep = h;
    for (int i = 0; i < m->neq; i++) m->eq_solref[i * mjNREF] = 2 * h; // the shortest that it takes
    mj_resetData(m, d);
    for (int i = 0; i < m->nv; i++) d->qvel[i] = i % 2 == 0 ? 1 : -1;
    const double start = clock();
    for (long k = 0; k < steps; k++) mj_step(m, d);
    loops_outcome out = {.seconds = clock() - start, .steps = steps};
    for (int i = 0; i <= p->n; i++) out.error = fmax(out.error, fabs(d->qpos[2 * i] - exact));
    return out;
}

#else

static const char *version(void)
{
    return NULL;
}
static loops_peer *create(int n, char *message, size_t size)
{
    (void)n;
    kd_text(message, size, "built without MuJoCo");
    return NULL;
}
static loops_outcome run(loops_peer *peer, int fineness, double exact, double (*clock)(void))
{
    (void)peer;
    (void)fineness;
    (void)exact;
    (void)clock;
    return (loops_outcome){0};
}
static void destroy(loops_peer *peer)
{
    (void)peer;
}

#endif

const loops_program loops_mujoco = {
    "MuJoCo", "mujoco rk4", version, create, run, destroy, {0, 0, 2}, 6,
};
