// operating_point.c: the linear equations of a model at its start or along its motion, with their modes.
#include "cli/operating_point.h"

#include <math.h>

#include "cli/equilibrium.h"
#include "cli/method.h"
#include "core/text.h"
#include "results/state_file.h"

enum { SHOWN = 3, NAME_SIZE = 200 };

static const double TOLERANCE = 1e-9; // of the simulation that leads to the point

int kd_operating_point_options(kd_operating_point *o, kd_cli_option *options)
{
    options[0] = (kd_cli_option){"--at", "T", "simulate to this time first; without it the start is taken",
                                 KD_CLI_NUMBER, &o->at};
    options[1] =
        (kd_cli_option){"--from-equilibrium", NULL, "take the equilibrium as the start", KD_CLI_FLAG, &o->rest};
    options[2] =
        (kd_cli_option){"--start-state", "FILE", "take a state that was written (by trim, equilibrium, simulate)",
                        KD_CLI_TEXT, &o->start};
    return 3 + kd_subject_options(&o->request, options + 3);
}

// The start is that of the model, an equilibrium or a state of a file
static bool find_start(kd_operating_point *o)
{
    kd_equilibrium_result result;
    kd_status             status = KD_OK;
    // one start only
    if (o->start && o->rest) {
        fputs("kardan: --start-state and --from-equilibrium are two starts; choose one\n", stderr);
        return false;
    }
    if (o->start)
        status = kd_state_file_load(o->start, NAN, o->subject.eom, kd_subject_inputs(&o->subject), o->subject.x,
                                    o->message, sizeof o->message);
    if (o->rest) status = kd_cli_rest(&o->subject, false, true, &result, o->message, sizeof o->message);
    // contacts and friction must be in one of their modes: derivatives are those of it
    if (!o->start && !o->rest) status = kd_cli_settle(&o->subject, o->message, sizeof o->message);
    if (status < 0)
        fprintf(stderr, "kardan: %s: %s\n",
                o->start  ? "--start-state"
                : o->rest ? "--from-equilibrium"
                          : "start",
                o->message[0] ? o->message : kd_status_sentence(status));
    if (o->rest && status >= 0) kd_text(o->subject.rest, sizeof o->subject.rest, "%s", o->message);
    o->message[0] = '\0';
    return status >= 0;
}

// By the method that kardan simulate would choose, with tight tolerances
static bool go_to(kd_operating_point *o)
{
    kd_subject *s = &o->subject;
    kd_method   method = {.rtol = TOLERANCE, .run = &s->run, .fixed = true};
    if (isnan(o->at)) return true;
    if (o->at < s->x->t) {
        fprintf(stderr, "kardan: --at %g lies before the start at %g s\n", o->at, s->x->t);
        return false;
    }
    if (!kd_method_read(&method)) return false;
    kd_method_decide(&method, s);
    kd_simulation_options opt = kd_method_for_run(&method);
    opt.rtol = opt.atol = TOLERANCE;
    kd_status status =
        kd_simulate(s->eom, kd_subject_inputs(s), &opt, s->x, o->at, NULL, o->message, sizeof o->message);
    if (status >= 0) return true;
    fprintf(stderr, "kardan: %s\n", o->message);
    return false;
}

// All modes of moderate models, few of large ones
static kd_status find_few(kd_operating_point *o)
{
    const kd_subject *s = &o->subject;
    return kd_modes_near(s->eom, kd_subject_inputs(s), s->x, o->count > 0 ? o->count : KD_FEW_MODES, o->near, &o->modes,
                         o->message, sizeof o->message);
}

// All modes, from the full matrices of the linear equations
static kd_status find_all(kd_operating_point *o)
{
    const kd_subject    *s = &o->subject;
    kd_linearize_options opt = kd_linearize_options_default();
    opt.descriptor = o->descriptor;
    kd_status status =
        kd_linearize(s->eom, kd_subject_inputs(s), &opt, s->x, &o->linear, o->message, sizeof o->message);
    return status >= 0 ? kd_modes_create(o->linear, &o->modes) : status;
}

static bool linearize(kd_operating_point *o)
{
    const int nv = kd_eom_dims(o->subject.eom).nv;
    kd_status status = KD_ERR_UNSUPPORTED;
    // many velocities and few wanted modes: without full matrices
    if (o->few && nv >= (o->count > 0 ? KD_FEW_MODES_FROM : KD_ALL_MODES_TO)) status = find_few(o);
    // what few modes cannot do, full matrices may
    if (status == KD_ERR_UNSUPPORTED || status == KD_ERR_UNAVAILABLE) {
        const kd_status all = find_all(o);
        status = all >= 0 || status == KD_ERR_UNSUPPORTED ? all : status;
    }
    if (status >= 0) return true;
    fprintf(stderr, "kardan: %s\n", o->message[0] ? o->message : kd_status_sentence(status));
    return false;
}

// start, motion to the time, linear equations
static bool evaluate_point(kd_operating_point *o, int *exit_status)
{
    *exit_status = KD_EXIT_FAILED;
    if (!find_start(o) || !go_to(o) || !linearize(o)) return false;
    *exit_status = KD_EXIT_OK;
    return true;
}

// Before another operating point: what belongs to the last one
static void forget(kd_operating_point *o)
{
    kd_modes_destroy(o->modes);
    kd_linear_destroy(o->linear);
    o->modes = NULL;
    o->linear = NULL;
}

bool kd_operating_point_open(kd_operating_point *o, int *exit_status)
{
    return kd_subject_open(&o->subject, &o->request, exit_status) && evaluate_point(o, exit_status);
}

bool kd_operating_point_change(kd_operating_point *o, const char *name, double value, int *exit_status)
{
    // a changed parameter in place where that is possible, otherwise read again
    forget(o);
    if (o->subject.system && kd_subject_change(&o->subject, 1, &name, &value)) return evaluate_point(o, exit_status);
    kd_subject_close(&o->subject);
    return kd_operating_point_open(o, exit_status);
}

void kd_operating_point_close(kd_operating_point *o)
{
    forget(o);
    kd_subject_close(&o->subject);
}

// ---- what to say about modes ----------------------------------------------------------------------------------------

// The increments that move most in mode k, largest first; returns how many are worth telling
static int dominant(const kd_modes *m, int k, int list[SHOWN])
{
    int n = 0;
    // insertion into a list of the largest
    for (int i = 0; i < m->nv; i++) {
        const double *re = m->shape_re + (size_t)k * (size_t)m->nv, *im = m->shape_im + (size_t)k * (size_t)m->nv;
        double        size = hypot(re[i], im[i]);
        int           j = n < SHOWN ? n++ : SHOWN;
        if (j == SHOWN && size <= hypot(re[list[SHOWN - 1]], im[list[SHOWN - 1]])) continue;
        if (j == SHOWN) j--;
        for (; j > 0 && size > hypot(re[list[j - 1]], im[list[j - 1]]); j--) list[j] = list[j - 1];
        list[j] = i;
    }
    return n;
}

const char *kd_operating_point_moves_most(const kd_operating_point *o, int k, char *text, size_t size)
{
    const kd_modes *m = o->modes;
    int             list[SHOWN], n = dominant(m, k, list);
    char            name[NAME_SIZE];
    kd_text(text, size, "%s", "");
    for (int i = 0; i < n; i++) {
        size_t place = (size_t)list[i] + (size_t)k * (size_t)m->nv;
        double share = hypot(m->shape_re[place], m->shape_im[place]);
        // shapes are scaled to 1: below a hundredth nobody looks
        if (share < 0.01) break;
        kd_text(name, sizeof name, "%s", m->increment_name[list[i]]);
        kd_text_append(text, size, "%s%s %.2f", i > 0 ? ", " : "", name, share);
    }
    return text;
}

void kd_cli_tell_modes(kd_json *json, const kd_modes *m)
{
    kd_json_numbers(json, "real", m->real, m->n);
    kd_json_numbers(json, "imaginary", m->imaginary, m->n);
    kd_json_numbers(json, "frequency", m->frequency, m->n);
    kd_json_numbers(json, "damping", m->damping, m->n);
}
