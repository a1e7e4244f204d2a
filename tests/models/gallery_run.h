// gallery_run.h: run a model file of the gallery and keep its sensors; small integrator for reference motions.
#ifndef KARDAN_TESTS_GALLERY_RUN_H
#define KARDAN_TESTS_GALLERY_RUN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#define PI 3.14159265358979323846
#define GRAVITY 9.81

enum { MAX_TIMES = 101, MAX_SENSORS = 32, MAX_SETTINGS = 16, MAX_MODEL_TEXT = 4000 };

static const kd_coordinates BOTH[] = {KD_JOINT, KD_CARTESIAN};

// ---- comparing ------------------------------------------------------------------------------------------------------

#define assert_close(a, b, tolerance) close_to((a), (b), (tolerance), #a, __LINE__)
static inline void close_to(double a, double b, double tolerance, const char *what, int line)
{
    if (fabs(a - b) <= tolerance) return;
    print_error("line %d, %s: %.15g instead of %.15g, difference %.3g\n", line, what, a, b, a - b);
    fail();
}

// ---- a run ----------------------------------------------------------------------------------------------------------

// Sensors at equal intervals, the start among them.
typedef struct table {
    int            rows, columns;
    double         t[MAX_TIMES];
    double         value[MAX_TIMES][MAX_SENSORS];
    char           name[MAX_SENSORS][64];
    kd_system_info info;
    kd_certificate certificate;
} table;

typedef struct gallery_run {
    table         *table;
    const kd_eom  *eom;
    kd_inputs      inputs;
    kd_simulation *simulation;
    kd_certifier  *certifier;
    kd_eom_data   *data;
    kd_status      status;
} gallery_run;

static inline void keep_row(gallery_run *r, const kd_state *x)
{
    table  *t = r->table;
    kd_dims n = kd_eom_dims(r->eom);
    double  u[3 * 16] = {0};
    assert_true(t->rows < MAX_TIMES && n.nu <= 16);
    if (r->inputs.eval)
        assert_int_equal(r->inputs.eval(x->t, r->inputs.context, u, u + n.nu, u + 2 * n.nu), KD_EVAL_OK);
    kd_eom_at_time(r->data, x->t, u, u + n.nu, u + 2 * n.nu, x->z);
    kd_eom_at_position(r->data, x->p, x->s);
    kd_eom_at_velocity(r->data, x->v, x->r);
    kd_eom_at_acceleration(r->data, kd_certifier_findings(r->certifier).a, x->w, x->lambda, x->mu);
    if (n.ny > 0) assert_int_equal(kd_eom_eval(r->data, KD_Y, t->value[t->rows]), KD_EVAL_OK);
    t->t[t->rows++] = x->t;
}

static inline kd_eval take_row(const kd_state *x, bool at_time, void *context)
{
    gallery_run *r = context;
    r->status = kd_certifier_see(r->certifier, r->simulation, x);
    if (r->status >= 0 && (at_time || r->table->rows == 0)) keep_row(r, x);
    return r->status < 0 ? KD_EVAL_STOP : KD_EVAL_OK;
}

// "N=3 guard=0" -> settings; the text is cut in place
static inline int split_settings(char *text, kd_setting *settings)
{
    int n = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        assert_true(value && n < MAX_SETTINGS);
        *value++ = '\0';
        settings[n++] = (kd_setting){word, value};
    }
    return n;
}

static inline kd_model *read_gallery(const char *name, const char *settings)
{
    static const char *const library[] = {KD_SOURCE_DIR "/models"}; // of models of the tests
    char                     path[400], message[MAX_MODEL_TEXT] = "", text[400];
    kd_setting               list[MAX_SETTINGS];
    kd_model                *model = NULL;
    snprintf(path, sizeof path, "%s/models/%s%s", KD_SOURCE_DIR, name, strchr(name, '.') ? "" : ".yaml");
    snprintf(text, sizeof text, "%s", settings ? settings : "");
    int       n = split_settings(text, list);
    kd_status status = strstr(name, ".urdf")
                           ? kd_model_read_urdf(path, NULL, &model, NULL, 0, message, sizeof message)
                           : kd_model_read_with(path, list, n, library, 1, &model, message, sizeof message);
    if (status < 0) print_error("%s: %s\n", name, message);
    assert_true(status >= 0);
    return model;
}

static inline void must(kd_status status, const char *name, kd_coordinates c, const char *message)
{
    if (status >= 0) return;
    print_error("%s, %s coordinates: %s: %s\n", name, c == KD_CARTESIAN ? "cartesian" : "joint",
                kd_status_sentence(status), message);
    fail();
}

// The certificate must be clean: constraints, norms and energy.
static inline void assert_clean(const kd_certificate *c, const char *name)
{
    bool good = true;
    for (int level = 0; level < KD_LEVEL_COUNT; level++)
        good = good && (!c->has_constraints || kd_certificate_level(c, (kd_level)level).good);
    good = good && (!c->has_norms || kd_certificate_norm(c).good);
    good = good && (!c->has_energy || kd_certificate_energy(c).good);
    char text[4000];
    kd_certificate_describe(c, text, sizeof text);
    if (!good) print_error("%s:\n%s", name, text);
    assert_true(good);
}

// Run a model with the tolerances of its file, with a factor, and keep its sensors at `intervals` equal steps.
static inline void run_with(const char *name, const char *settings, kd_coordinates c, double t_end, int intervals,
                            double factor, table *out)
{
    char              message[MAX_MODEL_TEXT] = "";
    kd_model         *model = read_gallery(name, settings);
    const kd_run_def *run = kd_model_run(model);
    kd_system_options options = kd_system_options_default();
    kd_system        *system = NULL;
    kd_state         *x = NULL;
    double            times[MAX_TIMES];
    options.coordinates = c;
    *out = (table){0};
    must(kd_system_create(model, &options, &system, message, sizeof message), name, c, message);
    gallery_run r = {.table = out, .eom = kd_system_eom(system)};
    if (kd_system_inputs(system)) r.inputs = *kd_system_inputs(system);
    out->info = kd_system_info_of(system);
    out->columns = kd_eom_dims(r.eom).ny;
    assert_true(out->columns <= MAX_SENSORS && intervals < MAX_TIMES);
    for (int i = 0; i < out->columns; i++) kd_eom_name(r.eom, KD_NAME_Y, i, out->name[i], sizeof out->name[i]);
    must(kd_state_create(r.eom, &x), name, c, "");
    must(kd_system_start(system, x, message, sizeof message), name, c, message);
    must(kd_certifier_create(r.eom, &r.inputs, &r.certifier), name, c, "");
    must(kd_eom_data_create(r.eom, &r.data), name, c, "");

    kd_simulation_options opt = kd_simulation_options_default();
    opt.rtol = factor * run->rtol;
    opt.atol = factor * run->atol;
    for (int i = 0; i < intervals; i++) times[i] = t_end * (i + 1) / intervals;
    if (out->info.dof == 0)
        opt.integrator_options.h_max = t_end / 100; // nothing else limits the steps of a driven mechanism
    if (run->max_step > 0) opt.integrator_options.h_max = run->max_step; // bumps that a long step would jump over
    opt.times = times;
    opt.ntimes = intervals;
    opt.output = take_row;
    opt.context = &r;
    must(kd_simulation_create(r.eom, &r.inputs, &opt, x, &r.simulation, message, sizeof message), name, c, message);
    kd_status status = kd_simulation_run(r.simulation, t_end);
    must(status, name, c, kd_simulation_message(r.simulation));
    must(r.status, name, c, "certifier");
    assert_int_equal(out->rows, intervals + 1);
    out->certificate = kd_certifier_certificate(r.certifier);
    out->certificate.status = status;
    out->certificate.atol = opt.atol;
    assert_clean(&out->certificate, name);

    kd_simulation_destroy(r.simulation);
    kd_eom_data_destroy(r.data);
    kd_certifier_destroy(r.certifier);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

static inline void run_model(const char *name, const char *settings, kd_coordinates c, double t_end, int intervals,
                             table *out)
{
    run_with(name, settings, c, t_end, intervals, 1.0, out);
}

// Value of a sensor in a row; row -1: the last one.
static inline double at(const table *t, int row, const char *sensor)
{
    for (int i = 0; i < t->columns; i++)
        if (strcmp(t->name[i], sensor) == 0) return t->value[row < 0 ? t->rows - 1 : row][i];
    print_error("no sensor '%s'\n", sensor);
    fail();
    return NAN;
}

// ---- reference motions ----------------------------------------------------------------------------------------------

enum { MAX_ODE = 8 };
typedef void (*ode)(double t, const double *y, void *context, double *dy);

// y(t1) from y(t0) by n steps of the classical Runge-Kutta method
static inline void runge_kutta(ode f, void *context, int dim, double t0, double t1, int n, double *y)
{
    double h = (t1 - t0) / n, k[4][MAX_ODE], z[MAX_ODE];
    for (int step = 0; step < n; step++) {
        double t = t0 + step * h;
        f(t, y, context, k[0]);
        for (int stage = 1; stage < 4; stage++) {
            double c = stage == 3 ? 1.0 : 0.5;
            for (int i = 0; i < dim; i++) z[i] = y[i] + c * h * k[stage - 1][i];
            f(t + c * h, z, context, k[stage]);
        }
        for (int i = 0; i < dim; i++) y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
}

// One degree of freedom with kinetic energy J(q) q'^2/2 and potential V(q): J q'' + J' q'^2/2 + V' + damping(q) q' = 0
typedef struct one_dof {
    double (*J)(double q);
    double (*V)(double q);
    double (*damping)(double q); // may be NULL
} one_dof;

static inline double slope(double (*f)(double), double q)
{
    const double h = 1e-3; // central differences of order 6
    return (45 * (f(q + h) - f(q - h)) - 9 * (f(q + 2 * h) - f(q - 2 * h)) + f(q + 3 * h) - f(q - 3 * h)) / (60 * h);
}

static inline void one_dof_rate(double t, const double *y, void *context, double *dy)
{
    const one_dof *m = context;
    (void)t;
    dy[0] = y[1];
    dy[1] = -(0.5 * slope(m->J, y[0]) * y[1] * y[1] + slope(m->V, y[0]) + (m->damping ? m->damping(y[0]) * y[1] : 0)) /
            m->J(y[0]);
}

// ---- reference files ------------------------------------------------------------------------------------------------

// The row of models/reference/NAME.csv at time t; returns the number of values, t first.
static inline int reference_row(const char *name, double t, double *row, int room)
{
    char path[400], line[4000];
    snprintf(path, sizeof path, "%s/models/reference/%s.csv", KD_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    int   n = 0;
    assert_non_null(file);
    while (n == 0 && fgets(line, sizeof line, file)) {
        char *next = line;
        if (fabs(strtod(line, &next) - t) > 1e-9 || next == line) continue;
        for (char *p = line; n < room; p = next + 1) {
            row[n++] = strtod(p, &next);
            if (*next != ',') break;
        }
    }
    fclose(file);
    if (n == 0) print_error("%s has no row at t = %g\n", path, t);
    assert_true(n > 0);
    return n;
}

#endif
