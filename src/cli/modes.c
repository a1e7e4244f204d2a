// modes.c: kardan modes: eigenvalues of a model with frequency, damping and the coordinates that take part; root locus
// over a parameter.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/operating_point.h"
#include "io/svg.h"

enum { MOST_STEPS = 2000, SHOWN = 3 };

static const double ZERO = 1e-7; // eigenvalues below this times the largest are zero up to rounding

typedef struct task {
    kd_operating_point point;
    const char        *vary;   // "name=a:b:n"
    const char        *output; // folder of the root locus
    bool               json;
    // of --vary
    char   name[100];
    double from, to;
    int    steps;
    // eigenvalues so far
    double *real, *imaginary;
    int     count, room;
    char    message[1000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[4 + KD_SUBJECT_OPTIONS] = {
        {"--at", "T", "simulate to this time first; without it the start is taken", KD_CLI_NUMBER, &t->point.at},
        {"--vary", "NAME=A:B:N", "root locus: N values of a parameter from A to B", KD_CLI_TEXT, &t->vary},
        {"--output", "FOLDER", "write the root locus there as NAME-locus.svg", KD_CLI_TEXT, &t->output},
        {"--json", NULL, "print one JSON object", KD_CLI_FLAG, &t->json},
    };
    int                      count = 4 + kd_subject_options(&t->point.request, options + 4);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan modes MODEL [OPTION...]",
             .about = "Eigenvalues of MODEL, a file (.yaml, .urdf) or an example, at its start or along its motion:\n"
                           "frequency, damping ratio, and the coordinates that move most. A positive real part grows.",
             .details = "Examples:\n"
                             "  kardan modes models/quarter-car.yaml\n"
                             "  kardan modes models/four-bar-spring.yaml --at 40\n"
                             "  kardan modes models/quarter-car.yaml --vary cs=0:5000:26 --output results\n",
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &t->point.request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// ---- one point ------------------------------------------------------------------------------------------------------

// The increments that move most in mode k, largest first; returns how many are worth telling
static int dominant(const kd_modes *m, int k, int list[SHOWN])
{
    int n = 0;
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

static void tell_mode(const kd_operating_point *o, int k)
{
    const kd_modes *m = o->modes;
    int             list[SHOWN], n = dominant(m, k, list);
    printf("  %14.7g %14.7g %12.6g ", m->real[k] + 0.0, m->imaginary[k] + 0.0, m->frequency[k]); // no -0
    if (m->frequency[k] > ZERO * m->frequency[m->n - 1])
        printf("%10.5f ", m->damping[k]);
    else
        printf("%10s ", "-");
    for (int i = 0; i < n; i++) {
        size_t place = (size_t)list[i] + (size_t)k * (size_t)m->nv;
        double size = hypot(m->shape_re[place], m->shape_im[place]);
        if (size < 0.01) break;
        printf("%s %s %.2f", i > 0 ? "," : "", o->linear->increment_name[list[i]], size);
    }
    printf("\n");
}

static void tell_text(const task *t)
{
    const kd_operating_point *o = &t->point;
    const kd_linear          *l = o->linear;
    printf("%s: %s\n", o->subject.name, o->subject.title);
    if (l->speed > 0 || l->force > 1e-6)
        printf("not at rest: largest velocity %.3g, largest acceleration %.3g; the eigenvalues hold at this moment\n",
               l->speed, l->force);
    printf("\n  %14s %14s %12s %10s  moves most\n", "real [1/s]", "imag [rad/s]", "[Hz]", "damping");
    for (int k = 0; k < o->modes->n; k++)
        if (o->modes->imaginary[k] >= 0) tell_mode(o, k);
}

static void tell_list(kd_json *json, const char *key, int n, const double *value)
{
    fprintf(json->file, "%s\"%s\": [", json->first ? "\n" : ",\n", key);
    json->first = false;
    for (int i = 0; i < n; i++) fprintf(json->file, "%s%.17g", i > 0 ? ", " : "", value[i]);
    fputs("]", json->file);
}

static void tell_modes(kd_json *json, const kd_modes *m)
{
    tell_list(json, "real", m->n, m->real);
    tell_list(json, "imaginary", m->n, m->imaginary);
    tell_list(json, "frequency", m->n, m->frequency);
    tell_list(json, "damping", m->n, m->damping);
}

static int tell_one(task *t)
{
    int status;
    if (kd_operating_point_open(&t->point, &status)) {
        if (t->json) {
            kd_json json = {.file = stdout};
            kd_json_open(&json, NULL);
            kd_json_text(&json, "model", t->point.request.word);
            kd_json_number(&json, "t", t->point.linear->t);
            tell_modes(&json, t->point.modes);
            kd_json_close(&json);
            printf("\n");
        } else {
            tell_text(t);
        }
    }
    kd_operating_point_close(&t->point);
    return status;
}

// ---- root locus -----------------------------------------------------------------------------------------------------

static bool read_range(task *t)
{
    const char *equals = strchr(t->vary, '=');
    char        rest = 0;
    if (equals && equals > t->vary && (size_t)(equals - t->vary) < sizeof t->name &&
        sscanf(equals + 1, "%lf:%lf:%d%c", &t->from, &t->to, &t->steps, &rest) == 3 && isfinite(t->from) &&
        isfinite(t->to) && t->steps >= 2 && t->steps <= MOST_STEPS) {
        snprintf(t->name, sizeof t->name, "%.*s", (int)(equals - t->vary), t->vary);
        return true;
    }
    fprintf(stderr, "kardan: --vary '%s': write NAME=A:B:N with N from 2 to %d, for example cs=0:5000:26\n", t->vary,
            (int)MOST_STEPS);
    return false;
}

// Behind each eigenvalue a gap, so that the plot has points and no lines
static bool keep(task *t, const kd_modes *m)
{
    if (t->count + 2 * m->n > t->room) {
        int     room = 2 * t->room + 2 * m->n * t->steps;
        double *real = realloc(t->real, (size_t)room * sizeof *real);
        if (real) t->real = real;
        double *imaginary = realloc(t->imaginary, (size_t)room * sizeof *imaginary);
        if (imaginary) t->imaginary = imaginary;
        if (!real || !imaginary) return false;
        t->room = room;
    }
    for (int i = 0; i < m->n; i++) {
        t->real[t->count] = m->real[i], t->imaginary[t->count++] = m->imaginary[i];
        t->real[t->count] = NAN, t->imaginary[t->count++] = NAN;
    }
    return true;
}

// The largest real part tells stability; eigenvalues that are zero by nature (free coordinates) may hide in rounding
static void tell_row(const kd_modes *m, double value)
{
    int worst = 0;
    for (int i = 1; i < m->n; i++)
        if (m->real[i] > m->real[worst]) worst = i;
    if (m->n > 0)
        printf("  %14.7g %14.7g %14.7g %12.6g\n", value, m->real[worst], fabs(m->imaginary[worst]),
               m->frequency[worst]);
}

static int one_value(task *t, int i, kd_json *json, char *name, size_t size)
{
    kd_cli_list *settings = &t->point.request.settings;
    const double value = t->from + (t->to - t->from) * i / (t->steps - 1);
    char         setting[200];
    int          status;
    snprintf(setting, sizeof setting, "%s=%.17g", t->name, value);
    settings->word[settings->count++] = setting;
    if (kd_operating_point_open(&t->point, &status)) {
        snprintf(name, size, "%s", t->point.subject.name);
        if (!keep(t, t->point.modes)) {
            fputs("kardan: out of memory\n", stderr);
            status = KD_EXIT_FAILED;
        } else if (t->json) {
            char key[40];
            snprintf(key, sizeof key, "%d", i);
            kd_json_open(json, key);
            kd_json_number(json, "value", value);
            tell_modes(json, t->point.modes);
            kd_json_close(json);
        } else {
            tell_row(t->point.modes, value);
        }
    }
    settings->count--;
    kd_operating_point_close(&t->point);
    return status;
}

static bool draw(task *t, const char *name)
{
    char      path[1200], note[300];
    kd_series series = {.x = t->real, .y = t->imaginary, .n = t->count, .markers = true};
    kd_plot   plot = {.title = "Root locus",
                      .xlabel = "real part [1/s]",
                      .ylabel = "imaginary part [rad/s]",
                      .nseries = 1,
                      .series = &series,
                      .note = note,
                      .height = 480};
    snprintf(note, sizeof note, "%s = %.6g to %.6g, %d values", t->name, t->from, t->to, t->steps);
    snprintf(path, sizeof path, "%s/%s-locus.svg", t->output, name);
    if (kd_cli_make_folder(t->output, t->message, sizeof t->message) < 0 ||
        kd_svg_save(path, &plot, 1, 1, t->message, sizeof t->message) < 0) {
        fprintf(stderr, "kardan: %s\n", t->message);
        return false;
    }
    if (!t->json) printf("\n%s\n", path);
    return true;
}

static int tell_locus(task *t)
{
    char    name[KD_SUBJECT_NAME] = "";
    int     status = KD_EXIT_OK;
    kd_json json = {.file = stdout};
    if (!read_range(t)) return KD_EXIT_USAGE;
    if (t->point.request.settings.count >= KD_CLI_LONGEST_LIST) {
        fputs("kardan: too many --set\n", stderr);
        return KD_EXIT_USAGE;
    }
    if (t->json) kd_json_open(&json, NULL);
    if (!t->json)
        printf("The eigenvalue with the largest real part\n\n  %14s %14s %14s %12s\n", t->name, "real [1/s]",
               "imag [rad/s]", "[Hz]");
    for (int i = 0; i < t->steps && status == KD_EXIT_OK; i++) status = one_value(t, i, &json, name, sizeof name);
    if (t->json) kd_json_close(&json);
    if (t->json) printf("\n");
    if (status == KD_EXIT_OK && t->output && !draw(t, name)) status = KD_EXIT_FAILED;
    free(t->real);
    free(t->imaginary);
    return status;
}

int kd_cli_modes(int argc, char **argv)
{
    static task   t; // of this one command; large
    kd_cli_parsed parsed;
    t.point.at = NAN;
    parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    return t.vary ? tell_locus(&t) : tell_one(&t);
}
