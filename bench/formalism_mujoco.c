// formalism_mujoco.c: the same systems in MuJoCo, made from MJCF text in memory. Contacts, constraints, actuators and
// passive forces are switched off. Without MuJoCo (package libmujoco-dev) the benchmark says so.
#include "formalism.h"

#include "core/memory.h"
#include "core/text.h"

#ifdef KD_WITH_MUJOCO

#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

struct formalism_peer {
    mjModel *model;
    mjData  *data[FORMALISM_STATES]; // one for each state
    double  *result;                 // (nv x nv), without matrices (nv)
};

// ---- MJCF ----------------------------------------------------------------------------------------------------------

typedef struct text {
    char  *content;
    size_t size, length;
} text;

static void body_text(text *t, const kd_link *l, const kd_mat3 *axes, kd_vec3 J)
{
    const kd_quat q = kd_quat_of_matrix(&l->E), k = kd_quat_of_matrix(axes);
    t->length += (size_t)snprintf(t->content + t->length, t->size - t->length,
                                  "<body pos='%.17g %.17g %.17g' quat='%.17g %.17g %.17g %.17g'>"
                                  "<inertial mass='%.17g' pos='%.17g %.17g %.17g' quat='%.17g %.17g %.17g %.17g' "
                                  "diaginertia='%.17g %.17g %.17g'/>%s\n",
                                  l->r.x, l->r.y, l->r.z, q.w, q.x, q.y, q.z, l->mass, l->centre.x, l->centre.y,
                                  l->centre.z, k.w, k.x, k.y, k.z, J.x, J.y, J.z,
                                  l->kind == KD_FREE ? "<freejoint/>" : "<joint type='hinge' axis='0 0 1'/>");
}

static bool model_text(const formalism_system *s, text *t)
{
    const kd_tree *tree = &s->tree;
    t->size = 1000 + 600 * (size_t)tree->nlinks;
    t->content = kd_alloc(t->size);
    if (!t->content) return false;
    t->length = (size_t)snprintf(
        t->content, t->size,
        "<mujoco><compiler angle='radian' inertiafromgeom='false' boundmass='0' boundinertia='0'/>"
        "<option gravity='%.17g %.17g %.17g' integrator='Euler'>"
        "<flag contact='disable' constraint='disable' actuation='disable' passive='disable'/></option><worldbody>\n",
        s->g.x, s->g.y, s->g.z);
    for (int i = 1; i < tree->nlinks; i++) {
        body_text(t, &tree->link[i], &s->axes[i], s->central[i]);
        for (int j = i; j != 0 && tree->link[j].end == i + 1; j = tree->link[j].parent)
            t->length += (size_t)snprintf(t->content + t->length, t->size - t->length, "</body>");
    }
    t->length += (size_t)snprintf(t->content + t->length, t->size - t->length, "</worldbody></mujoco>\n");
    return t->length < t->size;
}

static mjModel *load(const text *t, char *message, size_t size)
{
    mjModel *model = NULL;
    mjVFS   *files = kd_alloc(sizeof *files);
    if (!files) return NULL;
    mj_defaultVFS(files);
    if (mj_makeEmptyFileVFS(files, "model.xml", (int)t->length) == 0) {
        memcpy(files->filedata[0], t->content, t->length);
        model = mj_loadXML("model.xml", files, message, (int)size);
    }
    mj_deleteVFS(files);
    kd_free(files);
    return model;
}

// ---- life ----------------------------------------------------------------------------------------------------------

const char *formalism_peer_version(void)
{
    return mj_versionString();
}

static mjData *make_data(const mjModel *model, const formalism_system *s, int k)
{
    mjData *d = mj_makeData(model);
    if (!d) return NULL;
    memcpy(d->qpos, s->x[k], (size_t)s->tree.nposition * sizeof(double));
    memcpy(d->qvel, s->dx[k], (size_t)s->tree.ndof * sizeof(double));
    memcpy(d->qacc, s->ddx[k], (size_t)s->tree.ndof * sizeof(double));
    return d;
}

formalism_peer *formalism_peer_create(const formalism_system *s, char *message, size_t size)
{
    text            t = {0};
    formalism_peer *p = kd_alloc(sizeof *p);
    kd_text(message, size, "out of memory");
    if (p && model_text(s, &t)) p->model = load(&t, message, size);
    kd_free(t.content);
    bool good = p && p->model;
    for (int k = 0; good && k < FORMALISM_STATES; k++) good = (p->data[k] = make_data(p->model, s, k)) != NULL;
    const size_t count = good ? (size_t)p->model->nv * (s->M ? (size_t)p->model->nv : 1) : 0;
    if (good) good = (p->result = kd_alloc(count * sizeof(double))) != NULL;
    if (good) return p;
    formalism_peer_destroy(p);
    return NULL;
}

void formalism_peer_destroy(formalism_peer *p)
{
    if (!p) return;
    for (int k = 0; k < FORMALISM_STATES; k++) mj_deleteData(p->data[k]);
    if (p->model) mj_deleteModel(p->model);
    kd_free(p->result);
    kd_free(p);
}

// ---- evaluations ---------------------------------------------------------------------------------------------------

void formalism_peer_run(formalism_peer *p, formalism_task task, int k)
{
    const mjModel *m = p->model;
    mjData        *d = p->data[k];
    if (task == FORWARD) {
        mj_forward(m, d);
        return;
    }
    mj_kinematics(m, d);
    mj_comPos(m, d);
    if (task == MASS) {
        mj_crb(m, d);
    } else {
        mj_comVel(m, d);
        mj_rne(m, d, 1, p->result);
    }
}

static double relative_error(int n, const double *a, const double *b)
{
    double scale = 0, error = 0;
    for (int i = 0; i < n; i++) {
        scale = fmax(scale, fabs(b[i]));
        error = fmax(error, fabs(a[i] - b[i]));
    }
    return error / scale;
}

double formalism_peer_error(formalism_peer *p, formalism_system *s, formalism_task task, int k)
{
    const kd_tree *t = &s->tree;
    formalism_run(s, task, k);
    if (task == INVERSE) memcpy(p->data[k]->qacc, s->ddx[k], (size_t)t->ndof * sizeof(double));
    formalism_peer_run(p, task, k);
    if (task == FORWARD) return relative_error(t->ndof, s->a, p->data[k]->qacc);
    if (task == INVERSE) return relative_error(t->ndof, s->tau, p->result);
    double *M = kd_alloc((size_t)t->nv * (size_t)t->nv * sizeof(double)); // dense
    if (!M) return INFINITY;
    for (int l = 0; l < t->nv; l++)
        for (int i = t->column[l]; i < t->column[l + 1]; i++) M[t->row[i] + l * t->nv] = s->M[i];
    mj_fullM(p->model, p->result, p->data[k]->qM);
    const double error = relative_error(t->nv * t->nv, M, p->result);
    kd_free(M);
    return error;
}

#else

const char *formalism_peer_version(void)
{
    return NULL;
}
formalism_peer *formalism_peer_create(const formalism_system *s, char *message, size_t size)
{
    (void)s;
    kd_text(message, size, "built without MuJoCo");
    return NULL;
}
void formalism_peer_destroy(formalism_peer *p)
{
    (void)p;
}
void formalism_peer_run(formalism_peer *p, formalism_task task, int k)
{
    (void)p;
    (void)task;
    (void)k;
}
double formalism_peer_error(formalism_peer *p, formalism_system *s, formalism_task task, int k)
{
    (void)p;
    (void)s;
    (void)task;
    (void)k;
    return NAN;
}

#endif
