// locus.c: root locus: eigenvalues over a parameter. Where the largest real part changes its sign between two values,
// the critical value is found by the secant method of Illinois (a bracket is kept).
//
// Eigenvalues that are zero by nature (free coordinates) come out as zero up to rounding: as many of smallest magnitude
// as are near zero for every value of the parameter are left out of the judgement.
#include "cli/locus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/svg.h"

enum { MOST_STEPS = 2000, MOST_CRITICAL = 32, MOST_SECANTS = 60 };

static const double ZERO = 1e-6; // eigenvalues below this times the largest are zero up to rounding

typedef struct critical {
    double value, frequency; // of the parameter, of the mode [Hz]
    bool   grows_above;
    char   mode[600]; // what moves most
} critical;

typedef struct locus {
    kd_operating_point *point;
    const char         *output;
    bool                as_json;
    kd_json             json;
    // of --vary
    char   name[100];
    double from, to;
    int    steps;
    // eigenvalues so far; behind each a gap, so that the plot has points and no lines
    double *real, *imaginary;
    int     count, room;
    int     first[MOST_STEPS + 1]; // of each value
    int     zeros;                 // eigenvalues that are always zero
    // where stability changes
    critical critical[MOST_CRITICAL];
    int      ncritical;
    char     subject[KD_SUBJECT_NAME], message[1000];
} locus;

static bool read_range(locus *t, const char *vary)
{
    const char *equals = strchr(vary, '=');
    char        rest = 0;
    if (equals && equals > vary && (size_t)(equals - vary) < sizeof t->name &&
        sscanf(equals + 1, "%lf:%lf:%d%c", &t->from, &t->to, &t->steps, &rest) == 3 && isfinite(t->from) &&
        isfinite(t->to) && t->steps >= 2 && t->steps <= MOST_STEPS) {
        snprintf(t->name, sizeof t->name, "%.*s", (int)(equals - vary), vary);
        return true;
    }
    fprintf(stderr, "kardan: --vary '%s': write NAME=A:B:N with N from 2 to %d, for example cs=0:5000:26\n", vary,
            (int)MOST_STEPS);
    return false;
}

static double value_of(const locus *t, int i)
{
    return t->from + (t->to - t->from) * i / (t->steps - 1);
}

// The operating point with the parameter set: the model is read for the first value, and changed for the others. The
// setting is that of this call only.
static bool open_at(locus *t, double value, int *status)
{
    kd_cli_list *settings = &t->point->request.settings;
    char         setting[200];
    snprintf(setting, sizeof setting, "%s=%.17g", t->name, value);
    settings->word[settings->count++] = setting;
    bool good = kd_operating_point_change(t->point, t->name, value, status);
    settings->count--;
    return good;
}

// ---- the eigenvalues ------------------------------------------------------------------------------------------------

static bool keep(locus *t, int step, const kd_modes *m)
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
    t->first[step + 1] = t->count;
    return true;
}

static void tell_row(const kd_modes *m, double value)
{
    int worst = m->n - 1;
    for (int i = 0; i < m->n - 1; i++)
        if (m->real[i] > m->real[worst] && m->frequency[i] > ZERO * m->frequency[m->n - 1]) worst = i;
    if (m->n > 0)
        printf("  %14.7g %14.7g %14.7g %12.6g\n", value, m->real[worst], fabs(m->imaginary[worst]),
               m->frequency[worst]);
}

static void tell_step(locus *t, int step, const kd_modes *m)
{
    char key[40];
    if (!t->as_json) {
        tell_row(m, value_of(t, step));
        return;
    }
    snprintf(key, sizeof key, "%d", step);
    kd_json_open(&t->json, key);
    kd_json_number(&t->json, "value", value_of(t, step));
    kd_cli_tell_modes(&t->json, m);
    kd_json_close(&t->json);
}

static int one_value(locus *t, int step)
{
    int status;
    if (open_at(t, value_of(t, step), &status)) {
        snprintf(t->subject, sizeof t->subject, "%s", t->point->subject.name);
        if (keep(t, step, t->point->modes)) {
            tell_step(t, step, t->point->modes);
        } else {
            fputs("kardan: out of memory\n", stderr);
            status = KD_EXIT_FAILED;
        }
    }
    return status;
}

// ---- where stability changes ----------------------------------------------------------------------------------------

// They rise by magnitude
static int count_zeros(const locus *t, int step)
{
    const int begin = t->first[step], end = t->first[step + 1];
    int       zeros = 0;
    if (end == begin) return 0;
    const double largest = hypot(t->real[end - 2], t->imaginary[end - 2]);
    while (begin + 2 * zeros < end &&
           hypot(t->real[begin + 2 * zeros], t->imaginary[begin + 2 * zeros]) <= ZERO * largest)
        zeros++;
    return zeros;
}

static double growth_of_step(const locus *t, int step)
{
    double growth = -INFINITY;
    for (int i = t->first[step] + 2 * t->zeros; i < t->first[step + 1]; i += 2) growth = fmax(growth, t->real[i]);
    return growth;
}

static double growth_of_modes(const locus *t, const kd_modes *m, int *mode)
{
    double growth = -INFINITY;
    for (int i = t->zeros; i < m->n; i++)
        if (m->real[i] > growth) growth = m->real[i], *mode = i;
    return growth;
}

// The value between a and b at which the largest real part, fa there and fb here, is zero. false: no model there.
static bool refine(locus *t, double a, double fa, double b, double fb, critical *found)
{
    const double scale = fmin(fabs(fa), fabs(fb));
    found->grows_above = fb > 0;
    for (int k = 0; k < MOST_SECANTS; k++) {
        int          status, mode = 0;
        const double width = fabs(b - a);
        const double value = k % 8 == 7 ? (a + b) / 2 : (a * fb - b * fa) / (fb - fa); // a mode may take over: halve
        bool         good = open_at(t, value, &status);
        double       growth = good ? growth_of_modes(t, t->point->modes, &mode) : NAN;
        if (good) {
            found->value = value;
            found->frequency = t->point->modes->frequency[mode];
            if (k == 0 || fabs(growth) > 1e-3 * scale) // a mode that becomes zero gets mixed with free motions
                kd_operating_point_moves_most(t->point, mode, found->mode, sizeof found->mode);
        }
        if (!good || !isfinite(growth)) return false;
        if (growth == 0 || width <= 1e-12 * fmax(fabs(a), fabs(b))) break;
        if ((growth > 0) == (fb > 0)) {
            fa /= 2; // the end that stays counts half
        } else {
            a = b, fa = fb;
        }
        b = value, fb = growth;
        if (fabs(growth) < 1e-13 * (fabs(fa) + 1)) break;
    }
    return true;
}

static void find_critical(locus *t)
{
    t->zeros = count_zeros(t, 0);
    for (int i = 1; i < t->steps; i++) {
        const int zeros = count_zeros(t, i);
        if (zeros < t->zeros) t->zeros = zeros;
    }
    for (int i = 0; i + 1 < t->steps && t->ncritical < MOST_CRITICAL; i++) {
        const double fa = growth_of_step(t, i), fb = growth_of_step(t, i + 1);
        if (!isfinite(fa) || !isfinite(fb) || (fa > 0) == (fb > 0)) continue;
        if (refine(t, value_of(t, i), fa, value_of(t, i + 1), fb, &t->critical[t->ncritical])) t->ncritical++;
    }
}

static void tell_critical(locus *t)
{
    char key[40];
    if (t->as_json) kd_json_open(&t->json, "critical");
    for (int i = 0; i < t->ncritical; i++) {
        const critical *c = &t->critical[i];
        const bool      rising = c->grows_above == (t->to > t->from);
        snprintf(key, sizeof key, "%d", i);
        if (t->as_json) {
            kd_json_open(&t->json, key);
            kd_json_number(&t->json, "value", c->value);
            kd_json_number(&t->json, "frequency", c->frequency);
            kd_json_text(&t->json, "grows", rising ? "above" : "below");
            kd_json_text(&t->json, "mode", c->mode);
            kd_json_close(&t->json);
        } else {
            printf("%scritical %s = %.9g: %s it a mode of %.6g Hz grows; %s\n", i == 0 ? "\n" : "", t->name, c->value,
                   rising ? "above" : "below", c->frequency, c->mode);
        }
    }
    if (t->as_json) kd_json_close(&t->json);
}

// ---- all ------------------------------------------------------------------------------------------------------------

static bool draw(locus *t)
{
    char      path[1200], note[600];
    kd_series series = {.x = t->real, .y = t->imaginary, .n = t->count, .markers = true};
    kd_plot   plot = {.title = "Root locus",
                      .xlabel = "real part [1/s]",
                      .ylabel = "imaginary part [rad/s]",
                      .nseries = 1,
                      .series = &series,
                      .note = note,
                      .height = 480};
    int       length = snprintf(note, sizeof note, "%s = %.6g to %.6g, %d values", t->name, t->from, t->to, t->steps);
    for (int i = 0; i < t->ncritical && i < 4; i++)
        length += snprintf(note + length, sizeof note - (size_t)length, "%s%.6g", i == 0 ? "; critical: " : ", ",
                           t->critical[i].value);
    snprintf(path, sizeof path, "%s/%s-locus.svg", t->output, t->subject);
    if (kd_cli_make_folder(t->output, t->message, sizeof t->message) < 0 ||
        kd_svg_save(path, &plot, 1, 1, t->message, sizeof t->message) < 0) {
        fprintf(stderr, "kardan: %s\n", t->message);
        return false;
    }
    if (!t->as_json) printf("\n%s\n", path);
    return true;
}

int kd_cli_locus(kd_operating_point *point, const char *vary, const char *output, bool as_json)
{
    static locus t; // of this one command; large
    int          status = KD_EXIT_OK;
    t = (locus){.point = point, .output = output, .as_json = as_json, .json = {.file = stdout}};
    if (!read_range(&t, vary)) return KD_EXIT_USAGE;
    if (point->request.settings.count >= KD_CLI_LONGEST_LIST) {
        fputs("kardan: too many --set\n", stderr);
        return KD_EXIT_USAGE;
    }
    if (as_json)
        kd_json_open(&t.json, NULL);
    else
        printf("The eigenvalue with the largest real part, but for those that are zero\n\n  %14s %14s %14s %12s\n",
               t.name, "real [1/s]", "imag [rad/s]", "[Hz]");
    for (int i = 0; i < t.steps && status == KD_EXIT_OK; i++) status = one_value(&t, i);
    if (status == KD_EXIT_OK) find_critical(&t);
    if (status == KD_EXIT_OK) tell_critical(&t);
    if (as_json) kd_json_close(&t.json);
    if (as_json) printf("\n");
    if (status == KD_EXIT_OK && output && !draw(&t)) status = KD_EXIT_FAILED;
    free(t.real);
    free(t.imaginary);
    return status;
}
