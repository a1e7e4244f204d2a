// Tests of parameters that live: a system whose parameters were changed equals one that was read with these values, for
// every gallery model, in both coordinate sets; what cannot be changed is refused by name, and then nothing changes;
// nothing is allocated.
#include <kardan/kardan.h>

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "case.h"
#include "core/failing_allocator.h"
#include "core/memory.h"

enum { MOST = 400 };

// ---- a model twice --------------------------------------------------------------------------------------------------

typedef struct twins {
    kd_model      *model, *fresh_model;
    kd_system     *live, *fresh;
    kd_coordinates coordinates;
    const char    *path;
} twins;

static kd_system *system_of(const kd_model *m, kd_coordinates coordinates)
{
    char              text[500];
    kd_system        *s = NULL;
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    return kd_system_create(m, &opt, &s, text, sizeof text) >= 0 ? s : NULL;
}

// The model read again with these values; false: it cannot be
static bool read_fresh(twins *t, const double *theta)
{
    kd_parameter_info info[MOST];
    kd_setting        setting[MOST];
    char              value[MOST][40];
    int               n = kd_model_parameters(t->model, info, MOST), count = 0;
    for (int i = 0; i < n; i++) {
        if (!info[i].independent) continue;
        snprintf(value[i], sizeof value[i], "%.17g", theta[i]);
        setting[count++] = (kd_setting){info[i].name, value[i]};
    }
    kd_system_destroy(t->fresh);
    kd_model_destroy(t->fresh_model);
    t->fresh = NULL;
    t->fresh_model = NULL;
    if (kd_model_read(t->path, setting, count, &t->fresh_model, NULL, 0) < 0) return false;
    t->fresh = system_of(t->fresh_model, t->coordinates);
    return t->fresh != NULL;
}

static void release(twins *t)
{
    kd_system_destroy(t->live);
    kd_system_destroy(t->fresh);
    kd_model_destroy(t->model);
    kd_model_destroy(t->fresh_model);
}

// ---- comparison -----------------------------------------------------------------------------------------------------

static unsigned random_word = 12345;
static double   random_number(void) // -1 .. 1
{
    random_word = random_word * 1664525u + 1013904223u;
    return (double)(random_word >> 8) / (double)(1u << 23) - 1.0;
}

static double worst; // relative difference met
static void   compare(const twins *t, const char *what, int n, const double *a, const double *b)
{
    double size = 0;
    for (int i = 0; i < n; i++) size = fmax(size, isfinite(b[i]) ? fabs(b[i]) : 0);
    for (int i = 0; i < n; i++) {
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))) continue;
        const double difference = fabs(a[i] - b[i]) / fmax(size, 1e-300);
        worst = fmax(worst, difference);
        if (!(difference <= 1e-12))
            fail_msg("%s, %s, %s[%d]: %.17g changed, %.17g read", t->path, t->coordinates ? "cartesian" : "joint", what,
                     i, a[i], b[i]);
    }
}

static void place(kd_eom_data *d, const kd_system *s, const kd_state *x, double *u, int nu)
{
    const kd_inputs *inputs = kd_system_inputs(s);
    double           none[1];
    if (!u) u = none;
    assert_int_equal(inputs->eval(x->t, inputs->context, u, u + nu, u + 2 * nu), KD_EVAL_OK);
    kd_eom_at_time(d, x->t, u, u + nu, u + 2 * nu, x->z);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
}

// All functions and derivatives of both at one state
static void compare_at(const twins *t, kd_eom_data *dl, kd_eom_data *df, const kd_state *x)
{
    static const char *const name[KD_FN_COUNT] = {"kinematics", "residual", "b", "d", "c", "g",      "gI", "gII",
                                                  "h",          "hI",       "q", "e", "y", "switch", "f",  "M (full)"};
    const kd_eom            *eom = kd_system_eom(t->fresh);
    const kd_dims            n = kd_eom_dims(eom);
    double                  *u = kd_alloc((size_t)(6 * n.nu + 1) * sizeof *u);
    place(dl, t->live, x, u, n.nu);
    place(df, t->fresh, x, u + 3 * n.nu, n.nu);
    compare(t, "u", 3 * n.nu, u, u + 3 * n.nu);
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        const size_t rows = fn == KD_MASS ? (size_t)(n.nv * n.nv) : (size_t)kd_eom_rows(eom, (kd_fn)fn);
        if (rows == 0 || rows > 1000000) continue;
        double       *a = kd_alloc(2 * rows * sizeof *a), *b = a + rows;
        const kd_eval of_live = kd_eom_eval(dl, (kd_fn)fn, a), of_fresh = kd_eom_eval(df, (kd_fn)fn, b);
        assert_int_equal(of_live, of_fresh);
        if (of_live == KD_EVAL_OK) compare(t, name[fn], (int)rows, a, b);
        kd_free(a);
        for (int var = 0; var < KD_VAR_COUNT; var++) {
            kd_pattern p;
            if (!kd_eom_pattern(eom, (kd_fn)fn, (kd_var)var, &p)) continue;
            const int entries = p.column[p.columns];
            double   *l = kd_alloc((size_t)(2 * entries + 1) * sizeof *l);
            if (kd_eom_sparse(dl, (kd_fn)fn, (kd_var)var, KD_PART_ALL, l) == KD_EVAL_OK &&
                kd_eom_sparse(df, (kd_fn)fn, (kd_var)var, KD_PART_ALL, l + entries) == KD_EVAL_OK)
                compare(t, name[fn], entries, l, l + entries);
            kd_free(l);
        }
    }
    kd_energies el, ef;
    if (kd_eom_energies(dl, &el) == KD_EVAL_OK && kd_eom_energies(df, &ef) == KD_EVAL_OK)
        compare(t, "energies", (int)(sizeof el / sizeof(double)), (double *)&el, (double *)&ef);
    kd_free(u);
}

static void compare_systems(const twins *t, kd_eom_data *dl)
{
    char          text[500];
    const kd_eom *eom = kd_system_eom(t->fresh);
    const kd_dims n = kd_eom_dims(eom), n_live = kd_eom_dims(kd_system_eom(t->live));
    kd_eom_data  *df = NULL;
    kd_state     *x = NULL, *x_live = NULL;
    if (memcmp(&n, &n_live, sizeof n) != 0) fail_msg("%s: other sizes", t->path);
    assert_int_equal(kd_eom_data_create(eom, &df), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_int_equal(kd_state_create(eom, &x_live), KD_OK);
    const kd_status started = kd_system_start(t->fresh, x, text, sizeof text);
    assert_int_equal(kd_system_start(t->live, x_live, text, sizeof text), started);
    if (started >= 0) {
        compare(t, "start p", n.np, x_live->p, x->p);
        compare(t, "start v", n.nv, x_live->v, x->v);
        compare(t, "start r", n.nr, x_live->r, x->r);
    }
    for (int j = 0; j < n.nv; j++) x->v[j] += 0.3 * random_number(), x->a[j] = random_number();
    for (int i = 0; i < n.nlambda; i++) x->lambda[i] += random_number();
    x->t = 0.37;
    compare_at(t, dl, df, x);
    kd_eom_data_destroy(df);
    kd_state_destroy(x);
    kd_state_destroy(x_live);
}

// ---- the gallery ----------------------------------------------------------------------------------------------------

// Models of many parts have hundreds of parameters, most of them alike: every so many-th of them is tried
static bool is_tried(int i, int n)
{
    const int at_most = test_often(60, 12);
    return i % (n / at_most + 1) == 0;
}

// Which parameters can be changed alone
static int find_free(twins *t, int n, const kd_parameter_info *info, bool *is_free)
{
    char   text[1000];
    double theta[MOST];
    int    count = 0;
    for (int i = 0; i < n; i++) theta[i] = info[i].value;
    for (int i = 0; i < n; i++) {
        is_free[i] = false;
        if (!info[i].independent || !is_tried(i, n)) continue;
        theta[i] = info[i].value * 1.01 + (info[i].value == 0.0 ? 0.01 : 0.0);
        const kd_status status = kd_system_set_parameters(t->live, theta, text, sizeof text);
        is_free[i] = status >= 0;
        count += is_free[i];
        theta[i] = info[i].value;
        if (!is_free[i]) { // told, and all is as before
            assert_true(text[0] != '\0');
            for (int k = 0; k < n; k++) assert_true(kd_system_parameters(t->live)[k] == info[k].value);
        }
        assert_int_equal(kd_system_set_parameters(t->live, theta, text, sizeof text), KD_OK);
    }
    return count;
}

static int  changed, refused;
static void check_model(const char *path, kd_coordinates coordinates)
{
    char              text[2000];
    double            theta[MOST];
    bool              is_free[MOST];
    kd_parameter_info info[MOST];
    twins             t = {.path = path, .coordinates = coordinates};
    if (kd_model_read(path, NULL, 0, &t.model, text, sizeof text) < 0) fail_msg("%s", text);
    const int n = kd_model_parameters(t.model, info, MOST);
    assert_true(n <= MOST);
    t.live = system_of(t.model, coordinates);
    if (t.live && n > 0) {
        kd_eom_data *dl = NULL;
        assert_int_equal(kd_eom_data_create(kd_system_eom(t.live), &dl), KD_OK);
        const int count = find_free(&t, n, info, is_free);
        changed += count;
        for (int i = 0; i < n; i++) refused += info[i].independent && is_tried(i, n) && !is_free[i];
        for (int round = 0; round < 2 && count > 0; round++) {
            for (int i = 0; i < n; i++)
                theta[i] = is_free[i] && round == 0 ? info[i].value * (1 + 0.02 * random_number()) : info[i].value;
            const kd_status status = kd_system_set_parameters(t.live, theta, text, sizeof text);
            if (status >= 0 && read_fresh(&t, theta))
                compare_systems(&t, dl);
            else
                print_message("%s not compared: %s\n", path, text);
        }
        kd_eom_data_destroy(dl);
    }
    release(&t);
}

// A changed system evaluates as one that was read with the same values: all functions, derivatives, start values; and
// with the values of before as it did before.
static void changed_equals_read(void **state)
{
    (void)state;
    const char    *only = getenv("KARDAN_MODEL");
    DIR           *folder = opendir(KD_SOURCE_DIR "/models");
    struct dirent *entry;
    int            models = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        char        path[400];
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0 || (only && !strstr(entry->d_name, only))) continue;
        snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%.200s", entry->d_name);
        check_model(path, KD_JOINT);
        check_model(path, KD_CARTESIAN);
        models++;
    }
    closedir(folder);
    print_message("%d models, %d parameters changed, %d refused, worst difference %.1e\n", models, changed, refused,
                  worst);
    assert_true(only || (models > 50 && changed > 200));
}

// ---- one model ------------------------------------------------------------------------------------------------------

static const char text_of_model[] =
    "kardan: 1\n"
    "parameters: {m: 2, l: 0.5, k: 30, n: 2, half: l/2, mode: 1, mu: 0.1}\n"
    "bodies:\n"
    "  arm(i): {for: i = 1..n, mass: m*i, inertia: [m*l^2/12, m*l^2/12, 0.01], position: [0, 0, -i*l]}\n"
    "joints:\n"
    "  hinge(i): {for: i = 1..1, type: revolute, bodies: [ground, arm(1)], point: [0, 0, 0], axis: [0, 1, 0]}\n"
    "  second: {type: spherical, bodies: [arm(1), arm(2)], point: [0, 0, -l - half]}\n"
    "forces:\n"
    "  spring: {type: rsda, joint: hinge(1), stiffness: k, angle: 0, law: if(mode > 0.5, -mu*rate, -mu*rate^3)}\n"
    "sensors: {height: body.arm(1).com.z + half}\n";

static twins one_model(void)
{
    char  text[2000];
    twins t = {.path = "text"};
    if (kd_model_read_text("text", text_of_model, strlen(text_of_model), NULL, 0, &t.model, text, sizeof text) < 0)
        fail_msg("%s", text);
    t.live = system_of(t.model, KD_JOINT);
    assert_non_null(t.live);
    return t;
}

static double value_of(const twins *t, const char *name)
{
    return kd_system_parameters(t->live)[kd_model_parameter_index(t->model, name)];
}

static kd_status set(const twins *t, const char *name, double value, char *text, size_t size)
{
    double    theta[MOST];
    const int n = kd_model_parameters(t->model, NULL, 0);
    memcpy(theta, kd_system_parameters(t->live), (size_t)n * sizeof *theta);
    theta[kd_model_parameter_index(t->model, name)] = value;
    return kd_system_set_parameters(t->live, theta, text, size);
}

// Parameters are listed with values and texts; computed ones follow, and do not listen.
static void parameters_are_listed(void **state)
{
    (void)state;
    twins             t = one_model();
    kd_parameter_info info[MOST];
    char              text[500];
    assert_int_equal(kd_model_parameters(t.model, info, MOST), 7);
    assert_string_equal(info[4].name, "half");
    assert_string_equal(info[4].text, "l/2");
    assert_false(info[4].independent);
    assert_true(info[1].independent && info[1].value == 0.5);
    assert_int_equal(set(&t, "l", 0.8, text, sizeof text), KD_OK);
    assert_true(value_of(&t, "half") == 0.4);
    assert_int_equal(set(&t, "half", 7.0, text, sizeof text), KD_OK);
    assert_true(value_of(&t, "half") == 0.4);
    assert_int_equal(kd_model_parameter_index(t.model, "L"), -1);
    release(&t);
}

// Counts, branches of laws and values out of range are refused by name; the values of before stay.
static void refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double      value;
        const char *said, *and;
    } cases[] = {{"n", 3, "parameter 'n'", "'for' of body 'arm(i)'"},
                 {"mode", 0, "parameter 'mode'", "another branch"},
                 {"m", -1, "body 'arm(1)'", "mass"},
                 {"k", NAN, "parameter 'k'", "not finite"}};
    twins t = one_model();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char         text[500];
        const double before = value_of(&t, cases[i].name);
        assert_int_equal(set(&t, cases[i].name, cases[i].value, text, sizeof text), KD_ERR_MODEL);
        if (!strstr(text, cases[i].said) || !strstr(text, cases[i].and)) fail_msg("'%s'", text);
        assert_true(value_of(&t, cases[i].name) == before);
    }
    release(&t);
}

// A change does not allocate.
static void no_allocation(void **state)
{
    (void)state;
    twins             t = one_model();
    failing_allocator counter = {0};
    char              text[500];
    assert_int_equal(set(&t, "m", 2.5, text, sizeof text), KD_OK);
    failing_allocator_use(&counter);
    const kd_status status = set(&t, "l", 0.7, text, sizeof text);
    kd_set_allocator(NULL);
    assert_int_equal(status, KD_OK);
    assert_int_equal(counter.calls, 0);
    release(&t);
}

// Nor does it where springs are relaxed at the start, which moves: their free length is the new one.
static void no_allocation_for_lengths(void **state)
{
    (void)state;
    static const char text[] = "kardan: 1\n"
                               "parameters: {l: 0.5, k: 100}\n"
                               "bodies:\n"
                               "  slide: {position: [l, 0, 0], mass: 1, inertia: [1, 1, 1]}\n"
                               "joints:\n"
                               "  rail: {type: prismatic, bodies: [ground, slide], point: [0, 0, 0], axis: [1, 0, 0]}\n"
                               "forces:\n"
                               "  spring: {type: tsda, from: ground, to: slide, stiffness: k}\n"
                               "sensors:\n"
                               "  pull: force.spring.force\n"
                               "  length: force.spring.length\n";
    kd_model         *model = NULL;
    kd_system        *system = NULL;
    kd_state         *x = NULL;
    kd_probe         *probe = NULL;
    failing_allocator counter = {0};
    char              message[500] = "";
    if (kd_model_read_text("lengths", text, sizeof text - 1, NULL, 0, &model, message, sizeof message) < 0 ||
        kd_system_create(model, NULL, &system, message, sizeof message) < 0)
        fail_msg("%s", message);
    failing_allocator_use(&counter);
    const kd_status status = kd_system_set_parameters(system, (double[]){0.8, 200}, message, sizeof message);
    kd_set_allocator(NULL);
    if (status < 0) fail_msg("%s", message);
    assert_int_equal(counter.calls, 0);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    assert_true(kd_probe_of_system(system, NULL, &probe) >= 0 && kd_probe_set(probe, x) >= 0);
    assert_true(fabs(kd_probe_read(probe, "length") - 0.8) < 1e-14 && fabs(kd_probe_read(probe, "pull")) < 1e-12);
    kd_probe_destroy(probe);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// Two systems of one model have their own values.
static void systems_are_independent(void **state)
{
    (void)state;
    twins      t = one_model();
    kd_system *other = system_of(t.model, KD_JOINT);
    char       text[500];
    assert_int_equal(set(&t, "m", 5.0, text, sizeof text), KD_OK);
    assert_true(value_of(&t, "m") == 5.0 && kd_system_parameters(other)[0] == 2.0);
    kd_system_destroy(other);
    release(&t);
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

static const double BESIDE = 3e-4, TOLERANCE = 1e-8; // the second: rounding of places, 1e-16 m, in stiff bushings

// A second way: differences of order 4 across the parameter, by another system of the same model, at the same inputs
static bool slope_beside(kd_system *other, const kd_inputs *inputs, kd_eom_data *d, const kd_state *x, kd_fn fn, int i,
                         double *out, double *work)
{
    static const double weight[] = {8.0 / 12, -1.0 / 12};
    const int n = kd_model_parameters(kd_system_model(other), NULL, 0), rows = kd_eom_rows(kd_system_eom(other), fn);
    double    theta[MOST];
    memcpy(theta, kd_system_parameters(other), (size_t)n * sizeof *theta);
    const double at = theta[i], h = BESIDE * (at != 0 ? fabs(at) : 1);
    bool         good = true;
    for (int k = 0; k < rows; k++) out[k] = 0;
    for (int step = 0; step < 4 && good; step++) {
        const double side = step % 2 == 0 ? 1 : -1;
        theta[i] = at + side * (1 + step / 2) * h;
        good = kd_system_set_parameters(other, theta, NULL, 0) >= 0 &&
               kd_eom_at_state(d, inputs, x, KD_STAGE_ACCELERATION) == KD_EVAL_OK &&
               kd_eom_eval(d, fn, work) == KD_EVAL_OK;
        for (int k = 0; k < rows && good; k++) out[k] += side * weight[step / 2] / h * work[k];
    }
    theta[i] = at;
    assert_int_equal(kd_system_set_parameters(other, theta, NULL, 0), KD_OK);
    return good;
}

typedef struct slope_count {
    int exact, estimated;
} slope_count;

// The block of all parameters of a function; NULL: too much for a test
static double *block_of(const kd_system *s, kd_eom_data *d, kd_fn fn)
{
    const int rows = kd_eom_rows(kd_system_eom(s), fn), n = kd_eom_columns(kd_system_eom(s), KD_THETA);
    assert_int_equal(n, kd_model_parameters(kd_system_model(s), NULL, 0));
    if (rows == 0 || n == 0 || n > 6) return NULL;
    double   *all = kd_alloc((size_t)(rows * n) * sizeof *all);
    kd_blocks blocks = {0};
    blocks.block[fn][KD_THETA] = all;
    assert_int_equal(kd_eom_derivatives(d, KD_PART_ALL, &blocks), KD_EVAL_OK);
    return all;
}

static void check_slopes(const char *path, kd_coordinates coordinates, slope_count *count)
{
    enum { LARGE = 150 };
    static const kd_fn functions[] = {KD_RESIDUAL, KD_G, KD_GII, KD_Y};
    kd_model          *m = NULL;
    kd_parameter_info  info[MOST];
    if (kd_model_read(path, NULL, 0, &m, NULL, 0) < 0) fail_msg("%s", path);
    // vehicles of many parts: hundreds of parameters of the same elements, a minute each
    if (kd_model_parameters(m, NULL, 0) > LARGE) {
        print_message("not compared, %d parameters: %s\n", kd_model_parameters(m, NULL, 0), path);
        kd_model_destroy(m);
        return;
    }
    kd_system   *a = system_of(m, coordinates), *b = system_of(m, coordinates);
    kd_eom_data *da = NULL, *db = NULL;
    kd_state    *x = NULL;
    assert_true(a && b && kd_eom_data_create(kd_system_eom(a), &da) >= 0 &&
                kd_eom_data_create(kd_system_eom(b), &db) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(a), &x), KD_OK);
    const int started = kd_system_start(a, x, NULL, 0);
    double   *all[4] = {NULL};
    if (started >= 0) assert_int_equal(kd_eom_at_state(da, kd_system_inputs(a), x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    for (int f = 0; f < 4 && started >= 0; f++) all[f] = block_of(a, da, functions[f]);
    const int n = kd_model_parameters(m, info, MOST);
    for (int i = 0; i < n && started >= 0; i++) {
        for (int f = 0; f < 4 && info[i].independent && is_tried(i, n); f++) {
            double             by[1000], other[1000], work[1000], size = 0;
            const int          rows = kd_eom_rows(kd_system_eom(a), functions[f]);
            kd_parameter_slope about;
            if (rows == 0 || rows > 1000) continue;
            assert_int_equal(kd_eom_at_state(da, kd_system_inputs(a), x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
            assert_int_equal(kd_eom_eval(da, functions[f], work), KD_EVAL_OK);
            for (int k = 0; k < rows; k++) size = fmax(size, fabs(work[k]));
            // forces that cancel each other in a residual have a size, too: what all parameters together do
            for (int j = 0; j < n && all[f]; j++)
                for (int k = 0; k < rows; k++) size = fmax(size, fabs(all[f][k + j * rows] * info[j].value));
            const kd_status status = kd_system_by_parameter(a, da, functions[f], i, by, &about);
            // the same numbers in the block; the column of one that cannot be changed is 0
            for (int k = 0; k < rows && all[f]; k++) assert_true(all[f][k + i * rows] == (status < 0 ? 0 : by[k]));
            if (status < 0 || !slope_beside(b, kd_system_inputs(a), db, x, functions[f], i, other, work)) continue;
            for (int k = 0; k < rows; k++) size = fmax(size, fabs(by[k] * info[i].value));
            const double unit = fmax(size, 1e-3) / (info[i].value != 0 ? fabs(info[i].value) : 1);
            for (int k = 0; k < rows; k++) {
                // offsets that are taken from the start position are exact as the assembly is, to 5e-9
                const double assembly = 5e-9 / (BESIDE * (info[i].value != 0 ? fabs(info[i].value) : 1));
                const double error = about.exact ? about.error : 20 * about.error;
                if (fabs(by[k] - other[k]) <= TOLERANCE * unit + error + assembly) continue;
                fail_msg("%s, %s, function %d, row %d: %.12g, by short differences %.12g, error %.1e%s", path,
                         info[i].name, (int)functions[f], k, by[k], other[k], about.error,
                         about.exact ? ", exact" : "");
            }
            *(about.exact ? &count->exact : &count->estimated) += 1;
        }
    }
    for (int f = 0; f < 4; f++) kd_free(all[f]);
    kd_state_destroy(x);
    kd_eom_data_destroy(da);
    kd_eom_data_destroy(db);
    kd_system_destroy(a);
    kd_system_destroy(b);
    kd_model_destroy(m);
}

// Derivatives of residual, constraints and outputs by every parameter of every gallery model, in both coordinate sets,
// wheels on rails included, are those of differences of order 4 in another system, within the error that is told (20
// times, where it is estimated); most are exact.
static void gallery_slopes(void **state)
{
    (void)state;
    DIR           *folder = opendir(KD_SOURCE_DIR "/models");
    struct dirent *entry;
    slope_count    count = {0, 0};
    while ((entry = readdir(folder)) != NULL) {
        const char *ending = strrchr(entry->d_name, '.');
        char        path[600];
        if (!ending || strcmp(ending, ".yaml") != 0) continue;
        snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s", entry->d_name);
        check_slopes(path, KD_JOINT, &count);
        check_slopes(path, KD_CARTESIAN, &count);
    }
    closedir(folder);
    print_message("derivatives by parameters: %d exact, %d estimated\n", count.exact, count.estimated);
    assert_true(count.exact > 2 * count.estimated && count.estimated > 0);
}

// ---- what must not change -------------------------------------------------------------------------------------------

static kd_status change_one(const char *text, const char *name, double value, char *message, size_t size)
{
    kd_model *m = NULL;
    double    theta[MOST];
    if (kd_model_read_text("t.yaml", text, strlen(text), NULL, 0, &m, message, size) < 0) fail_msg("%s", message);
    kd_system *s = system_of(m, KD_JOINT);
    assert_non_null(s);
    const int n = kd_model_parameters(m, NULL, 0);
    memcpy(theta, kd_system_parameters(s), (size_t)n * sizeof *theta);
    const double before = theta[kd_model_parameter_index(m, name)];
    theta[kd_model_parameter_index(m, name)] = value;
    const kd_status status = kd_system_set_parameters(s, theta, message, size);
    if (status < 0) assert_true(kd_system_parameters(s)[kd_model_parameter_index(m, name)] == before);
    kd_system_destroy(s);
    kd_model_destroy(m);
    return status;
}

// A planar loop in space has rows that follow from others as long as its axes are parallel: with one of them tilted they
// do not, and the change is refused with the row; another length is fine.
static void left_out_rows_are_looked_at(void **state)
{
    (void)state;
    static const char text[] = "kardan: 1\n"
                               "parameters: {l: 1, tilt: 0}\n"
                               "bodies:\n"
                               "  crank: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 0]}\n"
                               "  coupler: {mass: 1, inertia: [1, 1, 1], position: [0, l, 0]}\n"
                               "  rocker: {mass: 1, inertia: [1, 1, 1], position: [2, l, 0]}\n"
                               "joints:\n"
                               "  a: {type: revolute, from: ground, to: crank}\n"
                               "  b: {type: revolute, from: {body: crank, point: [0, l, 0]}, to: coupler}\n"
                               "  c: {type: revolute, from: {body: coupler, point: [2, 0, 0]}, to: rocker}\n"
                               "  d: {type: revolute, from: {body: ground, point: [2, 0, 0], axis: [tilt, 0, 1]}, "
                               "to: {body: rocker, point: [0, -l, 0], axis: [tilt, 0, 1]}}\n";
    char              message[500] = "";
    assert_int_equal(change_one(text, "l", 1.5, message, sizeof message), KD_OK);
    assert_int_equal(change_one(text, "tilt", 0.3, message, sizeof message), KD_ERR_MODEL);
    assert_non_null(strstr(message, "parameter 'tilt' cannot be changed so"));
    assert_non_null(strstr(message, "a loop that cannot be closed"));
}

// A body that nothing but its hinge holds needs inertia about it, also after a change; a spring that becomes one, from a
// motor, is stiff.
static void inertia_and_stiffness_are_looked_at(void **state)
{
    (void)state;
    static const char text[] = "kardan: 1\n"
                               "parameters: {m: 1, k: 0}\n"
                               "bodies: {bob: {mass: m, inertia: [0, 0, 0], centre: [1, 0, 0]}}\n"
                               "joints: {hinge: {type: revolute, from: ground, to: bob}}\n"
                               "forces: {drive: {type: joint_spring, joint: hinge, stiffness: k, law: 't'}}\n";
    char              message[500] = "";
    assert_int_equal(change_one(text, "m", 2, message, sizeof message), KD_OK);
    assert_int_equal(change_one(text, "m", 0, message, sizeof message), KD_ERR_MODEL);
    assert_non_null(strstr(message, "give no inertia to its motion"));
    assert_int_equal(change_one(text, "k", 10, message, sizeof message), KD_ERR_MODEL);
    assert_non_null(strstr(message, "force 'drive' would"));
}

// The residual is linear in the mass and in the stiffness: the derivative is the difference of any two values; the
// error that is told holds; afterwards the system is as before.
static void derivatives_by_parameters(void **state)
{
    (void)state;
    twins              t = one_model();
    char               text[500];
    const kd_dims      n = kd_eom_dims(kd_system_eom(t.live));
    kd_eom_data       *d = NULL;
    kd_state          *x = NULL;
    double             low[16], high[16], by[16];
    kd_parameter_slope about;
    assert_true(n.nv <= 16);
    assert_int_equal(kd_eom_data_create(kd_system_eom(t.live), &d), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(t.live), &x), KD_OK);
    assert_true(kd_system_start(t.live, x, text, sizeof text) >= 0);
    x->p[0] = 0.3;
    for (int j = 0; j < n.nv; j++) x->v[j] = 0.4 - 0.1 * j, x->a[j] = 0.2 * j;
    static const char *const names[] = {"m", "k", "mu"};
    for (int k = 0; k < 3; k++) {
        const double at = value_of(&t, names[k]);
        place(d, t.live, x, NULL, 0);
        assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, low), KD_EVAL_OK);
        const int parameter = kd_model_parameter_index(t.model, names[k]);
        assert_int_equal(kd_system_by_parameter(t.live, d, KD_RESIDUAL, parameter, by, &about), KD_OK);
        assert_true(about.exact && about.error < 1e-9);
        assert_true(value_of(&t, names[k]) == at);
        assert_int_equal(set(&t, names[k], 3 * at, text, sizeof text), KD_OK);
        place(d, t.live, x, NULL, 0);
        assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, high), KD_EVAL_OK);
        assert_int_equal(set(&t, names[k], at, text, sizeof text), KD_OK);
        for (int j = 0; j < n.nv; j++)
            assert_true(fabs(by[j] - (high[j] - low[j]) / (2 * at)) <= 1e-9 * (fabs(high[j]) + 1) / at + about.error);
    }
    assert_int_equal(kd_system_by_parameter(t.live, d, KD_RESIDUAL, 3, by, NULL), KD_ERR_MODEL);    // n
    assert_int_equal(kd_system_by_parameter(t.live, d, KD_RESIDUAL, 4, by, NULL), KD_ERR_ARGUMENT); // half
    kd_eom_data_destroy(d);
    kd_state_destroy(x);
    release(&t);
}

// The equations have as many parameters as the model, under their names; a point can be at no others, and asking for
// them leaves it without a stage; differentiating changes nothing that others see.
static void equations_have_the_parameters(void **state)
{
    (void)state;
    twins         t = one_model();
    const kd_eom *eom = kd_system_eom(t.live);
    const int     n = kd_model_parameters(t.model, NULL, 0);
    kd_eom_data  *d[2] = {NULL, NULL};
    kd_state     *x = NULL;
    double        theta[MOST], low[16], high[16], by[16];
    char          name[100];
    assert_int_equal(kd_eom_dims(eom).ntheta, n);
    assert_string_equal(kd_eom_name(eom, KD_NAME_THETA, kd_model_parameter_index(t.model, "k"), name, sizeof name),
                        "k");
    for (int k = 0; k < 2; k++) assert_int_equal(kd_eom_data_create(eom, &d[k]), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(t.live, x, NULL, 0) >= 0);
    memcpy(theta, kd_system_parameters(t.live), (size_t)n * sizeof *theta);
    x->theta = theta; // the same values: as without
    assert_int_equal(kd_eom_at_state(d[1], kd_system_inputs(t.live), x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(d[1], KD_RESIDUAL, low), KD_EVAL_OK);
    // one point is differentiated at, the other one does not see it
    x->theta = NULL;
    assert_int_equal(kd_eom_at_state(d[0], kd_system_inputs(t.live), x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    const int k = kd_model_parameter_index(t.model, "k");
    assert_int_equal(kd_system_by_parameter(t.live, d[0], KD_RESIDUAL, k, by, NULL), KD_OK);
    assert_memory_equal(theta, kd_system_parameters(t.live), (size_t)n * sizeof *theta);
    assert_int_equal(kd_eom_eval(d[1], KD_RESIDUAL, high), KD_EVAL_OK);
    assert_memory_equal(low, high, (size_t)kd_eom_dims(eom).nv * sizeof *low);
    // other values
    theta[k] *= 2;
    kd_eom_at_parameters(d[0], theta);
    kd_eom_at_time(d[0], 0, NULL, NULL, NULL, x->z);
    kd_eom_at_position(d[0], x->p, x->s);
    assert_int_equal(kd_eom_data_stage(d[0]), KD_STAGE_NONE);
    assert_int_equal(kd_eom_eval(d[0], KD_Q, low) == KD_EVAL_OK && kd_eom_dims(eom).nq > 0, 0);
    kd_eom_at_parameters(d[0], NULL);
    kd_eom_at_time(d[0], 0, NULL, NULL, NULL, x->z);
    assert_int_equal(kd_eom_data_stage(d[0]), KD_STAGE_TIME);
    // those of a model are not for kd_trim
    kd_adjustable adjust = {KD_THETA, k, 1};
    assert_int_equal(kd_trim(eom, NULL, NULL, x, &adjust, 1, NULL, NULL, 0), KD_ERR_ARGUMENT);
    kd_eom_data_destroy(d[0]);
    kd_eom_data_destroy(d[1]);
    kd_state_destroy(x);
    release(&t);
}

// Numbers that are any function of a parameter, also through a parameter that is computed: the residual
// M a + d v + k (q - q0) - c q^3 is linear in them, so that its derivative is exact, by the derivatives of the functions.
static void derivatives_through_expressions(void **state)
{
    (void)state;
    static const char text[] =
        "kardan: 1\n"
        "parameters: {p: 0.7, s: sin(p)^2, unused: 3}\n"
        "gravity: [0, 0, 0]\n"
        "bodies: {block: {mass: 2*exp(0.3*p)}}\n"
        "joints: {slide: {type: prismatic, from: ground, to: block}}\n"
        "forces:\n"
        "  spring: {type: joint_spring, joint: slide, stiffness: 1000/(1 + p^2), damping: 5*sqrt(p), "
        "rest: 0.1*log(1 + s)}\n"
        "  cubic: {type: joint_spring, joint: slide, law: '(40*tan(s) + 1)*q^3'}\n";
    kd_model    *m = NULL;
    kd_eom_data *d = NULL;
    kd_state    *x = NULL;
    char         message[500] = "";
    double       by = 0;
    if (kd_model_read_text("t.yaml", text, strlen(text), NULL, 0, &m, message, sizeof message) < 0)
        fail_msg("%s", message);
    kd_system *system = system_of(m, KD_JOINT);
    assert_non_null(system);
    assert_int_equal(kd_eom_data_create(kd_system_eom(system), &d), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    for (int k = 0; k < 12; k++) {
        const double p = 0.2 + 0.11 * k, q = 0.3 - 0.07 * k, v = 1.5 - 0.4 * k, a = 0.8 * k - 3;
        const double theta[] = {p, 0, 3};
        assert_int_equal(kd_system_set_parameters(system, theta, message, sizeof message), KD_OK);
        x->p[0] = q, x->v[0] = v, x->a[0] = a;
        place(d, system, x, NULL, 0);
        // numbers, and their derivatives by hand
        const double       s = sin(p) * sin(p), ds = 2 * sin(p) * cos(p), dm = 0.6 * exp(0.3 * p);
        const double       stiffness = 1000 / (1 + p * p), dk = -2 * p * stiffness / (1 + p * p), dd = 2.5 / sqrt(p);
        const double       rest = 0.1 * log(1 + s), drest = 0.1 * ds / (1 + s), dc = 40 * ds / (cos(s) * cos(s));
        const double       expected = dm * a + dd * v + dk * (q - rest) - stiffness * drest - dc * q * q * q;
        kd_parameter_slope about;
        assert_int_equal(kd_system_by_parameter(system, d, KD_RESIDUAL, 0, &by, &about), KD_OK);
        assert_true(about.exact);
        if (fabs(by - expected) > about.error || about.error > 1e-9)
            fail_msg("p = %g: %.17g, expected %.17g, told %g", p, by, expected, about.error);
        assert_int_equal(kd_system_by_parameter(system, d, KD_RESIDUAL, 2, &by, &about), KD_OK);
        assert_true(about.exact && by == 0);
    }
    kd_eom_data_destroy(d);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_through_expressions),
        cmocka_unit_test(equations_have_the_parameters),
        cmocka_unit_test(changed_equals_read),
        cmocka_unit_test(parameters_are_listed),
        cmocka_unit_test(refused_by_name),
        cmocka_unit_test(no_allocation),
        cmocka_unit_test(no_allocation_for_lengths),
        cmocka_unit_test(systems_are_independent),
        cmocka_unit_test(derivatives_by_parameters),
        cmocka_unit_test(gallery_slopes),
        cmocka_unit_test(left_out_rows_are_looked_at),
        cmocka_unit_test(inertia_and_stiffness_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
