// realtime_mujoco.c: the car of models/closed-loop-car.yaml in MuJoCo: the same bodies and joints as a tree, upper ball
// joints as "connect" equalities, tie rods as equalities of tendons, springs and dampers as tendons with stiffness and
// damping, tyres as a passive force with the law of docs/methods/tyre.md, here in plain numbers. Euler's method,
// Newton's solver, which takes one iteration as nothing but equalities is there; the softness of the equalities is the
// least that MuJoCo takes (solref 2 h, solimp near 1). Without MuJoCo the benchmark says so.
#include "realtime.h"

#include "core/memory.h"
#include "core/text.h"

#ifdef KD_WITH_MUJOCO

#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

#include "common_run.h"

struct realtime_peer {
    mjModel *model;
    mjData  *data;
    int      rack[2]; // sites at the inner ends of the front tie rods
    double   load[4]; // of the tyres, where they were evaluated last
};

// MuJoCo has one callback for all models: the car that is stepped now
static realtime_peer *present;

// Data of the model file.
static const double SPEED = 15, AXLE = 1.35, HALF = 0.75, HEIGHT = 0.31, ARM = 0.12, PI = 3.14159265358979323846;
static const double LOAD = (1400 + 4 * 49) * 9.81 / 4, KT = 220e3, CT = 200, SLIP = 0.1, FRICTION = 0.9, NOMINAL = 4000;
static const double BUMP = 0.05, ACROSS = 1, REACH = 1, ORIGIN = 0.55; // height of the car body's frame
static const double PUSH = 5482.54977680, K = 60e3, C = 5000;

// ---- tyre ----------------------------------------------------------------------------------------------------------

typedef struct road_point {
    double height, slope;
} road_point;

static road_point road_at(double x, double bump)
{
    const double along = x - (AXLE + REACH * SPEED);
    if (!(along >= 0 && along < ACROSS)) return (road_point){0, 0};
    const double s = sin(PI * along / ACROSS);
    return (road_point){bump * s * s, bump * PI / ACROSS * sin(2 * PI * along / ACROSS)};
}

static double slope_at_load(double C1, double C2, double Fz)
{
    const double linear = 2 * C1 - 0.5 * C2, square = C1 - 0.5 * C2;
    const double q = fmin(Fz / NOMINAL, 0.5 * linear / square);
    return q * (linear - square * q);
}

// Force and torque on the wheel: position r of its centre, axle n, velocity v, angular velocity w.
static void tyre(const double r[3], const double n[3], const double v[3], const double w[3], double bump,
                 double force[3], double torque[3])
{
    const road_point road = road_at(r[0], bump);
    const double     cosine = sqrt(n[0] * n[0] + n[1] * n[1]), rho = (r[2] - road.height) / cosine;
    const double     turning = n[2] * (w[0] * n[1] - w[1] * n[0]) / (cosine * cosine);
    const double     rate = (v[2] - road.slope * v[0]) / cosine + rho * turning, radius = HEIGHT + LOAD / KT;
    double           Fz = (KT * (radius - rho) - CT * rate) / cosine;
    memset(force, 0, 3 * sizeof *force);
    memset(torque, 0, 3 * sizeof *torque);
    if (rho >= radius || Fz <= 0) return;
    const double ex[2] = {n[1] / cosine, -n[0] / cosine}, ey[2] = {n[0] / cosine, n[1] / cosine}, f = -rho / cosine;
    const double c[3] = {-f * n[2] * n[0], -f * n[2] * n[1], f * (1 - n[2] * n[2])};
    const double slip[2] = {v[0] + w[1] * c[2] - w[2] * c[1], v[1] + w[2] * c[0] - w[0] * c[2]};
    const double vx = ex[0] * slip[0] + ex[1] * slip[1], vy = ey[0] * slip[0] + ey[1] * slip[1];
    const double V = hypot(vx + rho * (w[0] * n[0] + w[1] * n[1] + w[2] * n[2]), SLIP);
    const double Sx = -slope_at_load(100e3, 180e3, Fz) * vx / V, Sy = -slope_at_load(75e3, 130e3, Fz) * vy / V;
    const double y = sqrt(Sx * Sx + Sy * Sy) / (FRICTION * Fz), ratio = y < 1e-2 ? 1 - y * y / 3 : tanh(y) / y;
    force[0] = ratio * (Sx * ex[0] + Sy * ey[0]);
    force[1] = ratio * (Sx * ex[1] + Sy * ey[1]);
    force[2] = Fz;
    torque[0] = c[1] * force[2] - c[2] * force[1];
    torque[1] = c[2] * force[0] - c[0] * force[2];
    torque[2] = c[0] * force[1] - c[1] * force[0];
}

// MuJoCo calls this when positions and velocities are known; wheels are the bodies with the marks 1 (left), 2 (right).
static void add_tyres(const mjModel *m, mjData *d)
{
    for (int body = 1, k = 0; body < m->nbody; body++) {
        const double mark = m->body_user[body * m->nuser_body];
        if (mark == 0) continue;
        const mjtNum *R = d->xmat + 9 * body, *at = d->xpos + 3 * body;
        const double  axle[3] = {R[1], R[4], R[7]};
        mjtNum        velocity[6], force[3], torque[3];
        mj_objectVelocity(m, d, mjOBJ_XBODY, body, velocity, 0); // angular first
        tyre(at, axle, velocity + 3, velocity, BUMP / mark, force, torque);
        mj_applyFT(m, d, force, torque, at, body, d->qfrc_passive);
        if (present && k < 4) present->load[k++] = force[2];
    }
}

// ---- MJCF ----------------------------------------------------------------------------------------------------------

typedef struct text {
    char  *content;
    size_t size, length;
} text;

#define ADD(t, ...) ((t)->length += (size_t)snprintf((t)->content + (t)->length, (t)->size - (t)->length, __VA_ARGS__))

enum { TEXT = 40000 };
#define HARD "0.9999 0.9999 0.001"

static void add_inertial(text *t, double mass, double xx, double yy, double zz)
{
    ADD(t, "<inertial mass='%g' pos='0 0 0' diaginertia='%g %g %g'/>\n", mass, xx, yy, zz);
}

// Corner k; e = 1 in front, -1 at the rear; s = 1 left, -1 right. Positions are relative to the parent.
static void add_corner(text *t, int k, double e, double s)
{
    ADD(t, "<site name='inner%d' pos='%.17g %.17g %.17g'/><site name='top%d' pos='%.17g %.17g %.17g'/>\n", k,
        e * (AXLE - ARM), s * 0.39, 0.2404 - ORIGIN, k, e * AXLE, s * 0.50, 0.62 - ORIGIN);
    ADD(t, "<body name='upper%d' pos='%.17g %.17g %.17g'><joint type='hinge' axis='1 0 0' pos='0 %.17g %.17g'/>\n", k,
        e * AXLE, s * 0.55, 0.445 - ORIGIN, s * (0.45 - 0.55), 0.44 - 0.445);
    add_inertial(t, 4, 0.02, 0.02, 0.035);
    ADD(t,
        "</body><body name='lower%d' pos='%.17g %.17g %.17g'>"
        "<joint name='lower%d' type='hinge' axis='1 0 0' pos='0 %.17g %.17g'/><site name='seat%d' pos='0 %.17g 0'/>\n",
        k, e * AXLE, s * 0.53, 0.195 - ORIGIN, k, s * (0.38 - 0.53), 0.20 - 0.195, k, s * (0.58 - 0.53));
    add_inertial(t, 8, 0.09, 0.06, 0.14);
    ADD(t,
        "<body name='upright%d' pos='0 %.17g %.17g'><joint type='ball' pos='0 0 %.17g'/>"
        "<site name='outer%d' pos='%.17g %.17g %.17g'/>\n",
        k, s * (0.68 - 0.53), HEIGHT - 0.195, 0.19 - HEIGHT, k, -e * ARM, s * (0.675 - 0.68), 0.235 - HEIGHT);
    add_inertial(t, 15, 0.15, 0.15, 0.08);
    ADD(t, "<body name='wheel%d' pos='0 %.17g 0' user='%d'><joint name='spin%d' type='hinge' axis='0 1 0'/>\n", k,
        s * (HALF - 0.68), s > 0 ? 1 : 2, k);
    add_inertial(t, 22, 0.7, 1.2, 0.7);
    ADD(t, "</body></body></body>\n");
}

static void add_model(text *t, double h, bool sparse)
{
    ADD(t,
        "<mujoco><compiler angle='radian' inertiafromgeom='false' boundmass='0' boundinertia='0'/>"
        "<size nuser_body='1'/><option gravity='0 0 -9.81' integrator='Euler' timestep='%.17g' solver='Newton' "
        "tolerance='0' iterations='1' jacobian='%s'><flag contact='disable' limit='disable' frictionloss='disable' "
        "actuation='disable' warmstart='disable'/></option><worldbody><body name='chassis' pos='0 0 %.17g'>"
        "<freejoint/>\n",
        h, sparse ? "sparse" : "dense", ORIGIN);
    add_inertial(t, 1400, 500, 2100, 2400);
    for (int k = 0; k < 4; k++) add_corner(t, k, k < 2 ? 1 : -1, k % 2 == 0 ? 1 : -1);
    ADD(t, "</body></worldbody><tendon>\n");
    const double length = hypot(0.08, 0.62 - 0.195);
    for (int k = 0; k < 4; k++)
        ADD(t,
            "<spatial name='rod%d'><site site='inner%d'/><site site='outer%d'/></spatial>"
            "<spatial stiffness='%.17g' damping='%.17g' springlength='%.17g'><site site='top%d'/><site site='seat%d'/>"
            "</spatial>\n",
            k, k, k, K, C, length + PUSH / K, k, k);
    ADD(t, "</tendon><equality>\n");
    for (int k = 0; k < 4; k++)
        ADD(t,
            "<connect body1='upper%d' body2='upright%d' anchor='0 %.17g 0.005' solref='%.17g %.17g' solimp='%s'/>"
            "<tendon tendon1='rod%d' solref='%.17g %.17g' solimp='%s'/>\n",
            k, k, (k % 2 == 0 ? 1 : -1) * (0.65 - 0.55), -1 / (h * h), -1 / h, HARD, k, -1 / (h * h), -1 / h, HARD);
    ADD(t, "</equality><sensor>\n");
    static const char *const frame[] = {"framepos", "framequat", "framelinvel", "frameangvel", "framelinacc"};
    for (int i = 0; i < 5; i++) ADD(t, "<%s objtype='xbody' objname='chassis'/>\n", frame[i]);
    for (int k = 0; k < 4; k++) ADD(t, "<jointpos joint='lower%d'/>\n", k);
    ADD(t, "</sensor></mujoco>\n");
}

static mjModel *load(const text *t, char *message, size_t size)
{
    mjModel *model = NULL;
    mjVFS   *files = kd_alloc(sizeof *files);
    if (!files) return NULL;
    mj_defaultVFS(files);
    if (t->length < t->size && mj_makeEmptyFileVFS(files, "car.xml", (int)t->length) == 0) {
        memcpy(files->filedata[0], t->content, t->length);
        model = mj_loadXML("car.xml", files, message, (int)size);
    }
    mj_deleteVFS(files);
    kd_free(files);
    return model;
}

// ---- life ----------------------------------------------------------------------------------------------------------

const char *realtime_peer_version(void)
{
    return mj_versionString();
}

realtime_peer *realtime_peer_create(double h, bool sparse, char *message, size_t size)
{
    text           t = {.size = TEXT};
    realtime_peer *p = kd_alloc(sizeof *p);
    t.content = kd_alloc(t.size);
    kd_text(message, size, "out of memory");
    if (p && t.content) {
        add_model(&t, h, sparse);
        p->model = load(&t, message, size);
    }
    if (p && p->model) p->data = mj_makeData(p->model);
    kd_free(t.content);
    if (p && p->data) {
        for (int j = 0; j < 2; j++) p->rack[j] = mj_name2id(p->model, mjOBJ_SITE, j == 0 ? "inner0" : "inner1");
        mjcb_passive = add_tyres;
        realtime_peer_sense(p, false);
        realtime_peer_reset(p);
        return p;
    }
    realtime_peer_destroy(p);
    return NULL;
}

void realtime_peer_destroy(realtime_peer *p)
{
    if (!p) return;
    if (present == p) present = NULL;
    if (p->data) mj_deleteData(p->data);
    if (p->model) mj_deleteModel(p->model);
    kd_free(p);
}

void realtime_peer_reset(realtime_peer *p)
{
    static const char *const spin[4] = {"spin0", "spin1", "spin2", "spin3"};
    mj_resetData(p->model, p->data);
    p->data->qvel[0] = SPEED;
    for (int k = 0; k < 4; k++)
        p->data->qvel[p->model->jnt_dofadr[mj_name2id(p->model, mjOBJ_JOINT, spin[k])]] = SPEED / HEIGHT;
}

void realtime_peer_sense(realtime_peer *p, bool on)
{
    if (on)
        p->model->opt.disableflags &= ~mjDSBL_SENSOR;
    else
        p->model->opt.disableflags |= mjDSBL_SENSOR;
}

// MuJoCo's sensors belong to the point at which forces were evaluated: the start of the step.
void realtime_peer_read(const realtime_peer *p, double y[REALTIME_SENSORS])
{
    const mjtNum *at = p->data->sensordata, *q = at + 3, *v = at + 7, *omega = at + 10, *a = at + 13, *travel = at + 16;
    mjtNum        R[9];
    mju_quat2Mat(R, q);
    for (int i = 0; i < 3; i++) y[i] = at[i];
    y[3] = atan2(R[3], R[0]);
    y[4] = atan2(R[7], R[8]);
    y[5] = -asin(R[6]);
    y[6] = v[0] * R[0] + v[1] * R[3];
    y[7] = omega[2];
    y[8] = a[1] * R[4] + a[0] * R[1];
    for (int k = 0; k < 4; k++) {
        y[9 + k] = travel[k];
        y[13 + k] = p->load[k];
    }
}

void realtime_peer_step(realtime_peer *p, double steer)
{
    present = p;
    for (int j = 0; j < 2; j++) p->model->site_pos[3 * p->rack[j] + 1] = (j == 0 ? 0.39 : -0.39) - ARM * steer;
    mj_step(p->model, p->data);
}

realtime_motion realtime_peer_motion(const realtime_peer *p)
{
    static const char *const lower[4] = {"lower0", "lower1", "lower2", "lower3"};
    const mjtNum            *q = p->data->qpos;
    realtime_motion          out = {.x = q[0], .y = q[1], .z = q[2]};
    out.roll = atan2(2 * (q[3] * q[4] + q[5] * q[6]), 1 - 2 * (q[4] * q[4] + q[5] * q[5]));
    for (int k = 0; k < 4; k++) out.travel[k] = q[p->model->jnt_qposadr[mj_name2id(p->model, mjOBJ_JOINT, lower[k])]];
    return out;
}

double realtime_peer_defect(realtime_peer *p)
{
    double worst = 0;
    mj_fwdPosition(p->model, p->data);
    for (int i = 0; i < p->data->nefc; i++) worst = fmax(worst, fabs(p->data->efc_pos[i]));
    return worst;
}

double realtime_peer_tyres(realtime_peer *p)
{
    enum { REPETITIONS = 1000 };
    mj_forward(p->model, p->data);
    const double start = bench_cpu_seconds();
    for (int k = 0; k < REPETITIONS; k++) add_tyres(p->model, p->data);
    return (bench_cpu_seconds() - start) / REPETITIONS;
}

#else

const char *realtime_peer_version(void)
{
    return NULL;
}
realtime_peer *realtime_peer_create(double h, bool sparse, char *message, size_t size)
{
    (void)h;
    (void)sparse;
    kd_text(message, size, "built without MuJoCo");
    return NULL;
}
void realtime_peer_destroy(realtime_peer *p)
{
    (void)p;
}
void realtime_peer_reset(realtime_peer *p)
{
    (void)p;
}
void realtime_peer_sense(realtime_peer *p, bool on)
{
    (void)p;
    (void)on;
}
void realtime_peer_read(const realtime_peer *p, double y[REALTIME_SENSORS])
{
    (void)p;
    (void)y;
}
void realtime_peer_step(realtime_peer *p, double steer)
{
    (void)p;
    (void)steer;
}
realtime_motion realtime_peer_motion(const realtime_peer *p)
{
    (void)p;
    return (realtime_motion){0};
}
double realtime_peer_defect(realtime_peer *p)
{
    (void)p;
    return 0;
}
double realtime_peer_tyres(realtime_peer *p)
{
    (void)p;
    return 0;
}

#endif
