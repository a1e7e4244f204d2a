// Models at their start with their linear equations, for tests of the analyses.
#ifndef KD_TESTS_ANALYSIS_LINEAR_SUBJECT_H
#define KD_TESTS_ANALYSIS_LINEAR_SUBJECT_H

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

#include "math/dense.h"

#define MODELS KD_SOURCE_DIR "/models/"

static const kd_coordinates BOTH[] = {KD_JOINT, KD_CARTESIAN};

#define assert_close(a, b, tolerance) close_to((a), (b), (tolerance), #a, __LINE__)
static inline void close_to(double a, double b, double tolerance, const char *what, int line)
{
    if (fabs(a - b) <= tolerance) return;
    print_error("line %d, %s: %.15g instead of %.15g, difference %.3g\n", line, what, a, b, a - b);
    fail();
}

typedef struct subject {
    kd_model     *model;
    kd_system    *system;
    const kd_eom *eom;
    kd_state     *x;
    kd_linear    *linear;
    kd_modes     *modes;
    kd_dims       n;
} subject;

static inline void must(kd_status status, const char *message)
{
    if (status < 0) print_error("%s: %s\n", kd_status_name(status), message);
    assert_true(status >= 0);
}

// A file of the gallery or a text (with line breaks) at its start
static inline subject open_model(const char *source, const kd_setting *settings, int nsettings,
                                 kd_coordinates coordinates, bool keep_redundant)
{
    subject           s = {0};
    char              message[4000] = "", path[1000];
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    opt.keep_redundant = keep_redundant;
    if (strchr(source, '\n')) {
        must(kd_model_read_text("text", source, strlen(source), settings, nsettings, &s.model, message, sizeof message),
             message);
    } else {
        snprintf(path, sizeof path, MODELS "%s", source);
        must(kd_model_read(path, settings, nsettings, &s.model, message, sizeof message), message);
    }
    must(kd_system_create(s.model, &opt, &s.system, message, sizeof message), message);
    s.eom = kd_system_eom(s.system);
    s.n = kd_eom_dims(s.eom);
    must(kd_state_create(s.eom, &s.x), "");
    must(kd_system_start(s.system, s.x, message, sizeof message), message);
    return s;
}

static inline void linearize(subject *s)
{
    char message[2000] = "";
    must(kd_linearize(s->eom, kd_system_inputs(s->system), NULL, s->x, &s->linear, message, sizeof message), message);
    must(kd_modes_create(s->linear, &s->modes), "");
}

static inline void close_model(subject *s)
{
    kd_modes_destroy(s->modes);
    kd_linear_destroy(s->linear);
    kd_state_destroy(s->x);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
}

static inline void assert_has_pair(const kd_modes *m, double real, double imaginary, double tolerance)
{
    double best = INFINITY;
    for (int i = 0; i < m->n; i++) best = fmin(best, hypot(m->real[i] - real, m->imaginary[i] - imaginary));
    if (best > tolerance) {
        print_error("no eigenvalue near %.12g + %.12g i, nearest off by %.3g\n", real, imaginary, best);
        for (int i = 0; i < m->n; i++) print_error("  %.12g %+.12g i\n", m->real[i], m->imaginary[i]);
    }
    assert_true(best <= tolerance);
}

// exp(A) by scaling and the series
static inline void exponential(int n, const double *A, double *out)
{
    double *term = calloc((size_t)(n * n), sizeof *term), *next = calloc((size_t)(n * n), sizeof *next);
    for (int i = 0; i < n * n; i++) out[i] = term[i] = i % (n + 1) == 0;
    for (int k = 1; k <= 18; k++) {
        kd_gemm(n, n, n, ldexp(1, -6) / k, A, term, 0, next);
        memcpy(term, next, (size_t)(n * n) * sizeof *term);
        kd_axpy(n * n, 1, term, out);
    }
    for (int k = 0; k < 6; k++) {
        kd_gemm(n, n, n, 1, out, out, 0, next);
        memcpy(out, next, (size_t)(n * n) * sizeof *out);
    }
    free(term);
    free(next);
}

// Move one state by amount; the dependent coordinates and velocities follow from the constraints.
static inline void move_state(const subject *s, int k, double amount, kd_state *x)
{
    const kd_linear   *l = s->linear;
    bool              *hold_p = calloc((size_t)s->n.nv, 1), *hold_v = calloc((size_t)s->n.nv, 1);
    double            *e = calloc((size_t)s->n.nv, sizeof *e);
    kd_initial_options opt = kd_initial_options_default();
    char               message[1000] = "";
    kd_eom_data       *d;
    kd_state_copy(s->x, x);
    for (int i = 0; i < l->nposition; i++) hold_p[l->position[i]] = true;
    for (int i = 0; i < l->nvelocity; i++) hold_v[l->velocity[i]] = true;
    opt.hold_p = hold_p, opt.hold_v = hold_v, opt.tolerance = 1e-13;
    must(kd_eom_data_create(s->eom, &d), "");
    kd_eom_at_time(d, x->t, NULL, NULL, NULL, x->z);
    if (k < l->nposition) { // along T, so that little is left to be corrected
        for (int i = 0; i < s->n.nv; i++) e[i] = amount * l->T[i + k * s->n.nv];
        kd_eom_at_position(d, x->p, x->s);
        assert_int_equal(kd_eom_oplus(d, s->x->p, e, x->p), KD_EVAL_OK);
    }
    if (k < l->nposition + l->nvelocity)
        for (int i = 0; i < s->n.nv; i++) x->v[i] += amount * l->S[i + k * s->n.nv];
    else
        x->r[k - l->nposition - l->nvelocity] += amount;
    must(kd_initial_consistent(s->eom, kd_system_inputs(s->system), &opt, x, message, sizeof message), message);
    kd_eom_data_destroy(d);
    free(e);
    free(hold_p);
    free(hold_v);
}

static inline void make_consistent(subject *s)
{
    char message[1000] = "";
    must(kd_initial_consistent(s->eom, kd_system_inputs(s->system), NULL, s->x, message, sizeof message), message);
}

static inline void run(subject *s, kd_state *x, double t_end)
{
    char                  message[1000] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = opt.atol = 1e-13;
    must(kd_simulate(s->eom, kd_system_inputs(s->system), &opt, x, t_end, NULL, message, sizeof message), message);
}

#endif
