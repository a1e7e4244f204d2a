// modes.c: kardan modes: eigenvalues of a model with frequency, damping and the coordinates that take part. Root locus
// over a parameter: locus.c.
#include <math.h>
#include <stdlib.h>

#include "cli/equilibrium.h"
#include "cli/locus.h"
#include "cli/mode_pictures.h"
#include "core/pi.h"

static const double ZERO = 1e-7; // eigenvalues below this times the largest are zero up to rounding

// one table of modes
typedef struct task {
    kd_operating_point point;
    const char        *vary;   // "name=a:b:n"
    const char        *output; // folder of the root locus, or of pictures of the modes
    double             scale;  // of the pictures
    int                jobs;   // threads of the root locus
    bool               json;
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[7 + KD_OPERATING_POINT_OPTIONS] = {
        {"--count", "K", "only K modes (of pairs one half); of large models 20 unless this says otherwise",
         KD_CLI_COUNT, &t->point.count},
        {"--near", "F", "those nearest to this frequency [Hz]; default 0", KD_CLI_NUMBER, &t->point.near},
        {"--vary", "NAME=A:B:N", "root locus: N values of a parameter from A to B, with those where stability changes",
         KD_CLI_TEXT, &t->vary},
        {"--output", "FOLDER",
         "write the root locus there as NAME-locus.svg and .html, or modes as NAME-mode-1.svg ... and NAME-modes.html",
         KD_CLI_TEXT, &t->output},
        {"--scale", "A", "of these pictures: the coordinate that moves most moves by A [m], [rad]; default 0.2",
         KD_CLI_POSITIVE, &t->scale},
        {"--jobs", "N", "threads of the root locus; default: one for each processor", KD_CLI_COUNT, &t->jobs},
        {"--json", NULL, "print one JSON object", KD_CLI_FLAG, &t->json},
    };
    int                      count = 7 + kd_operating_point_options(&t->point, options + 7);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan modes MODEL [OPTION...]",
             .about = "Eigenvalues of MODEL, a file (.yaml, .urdf) or an example, at its start or along its motion:\n"
                           "frequency, damping ratio, and the coordinates that move most. A positive real part grows.",
             .details = "Examples:\n"
                             "  kardan modes models/quarter-car.yaml\n"
                             "  kardan modes models/four-bar-spring.yaml --at 40\n"
                             "  kardan modes models/chain.yaml --set N=500 --set w=0 --count 5\n"
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

// damping of a mode that is zero up to rounding has no meaning
static void tell_mode(const kd_operating_point *o, int k)
{
    const kd_modes *m = o->modes;
    char            most[600];
    printf("  %14.7g %14.7g %12.6g ", m->real[k] + 0.0, m->imaginary[k] + 0.0, m->frequency[k]); // no -0
    if (m->frequency[k] > ZERO * m->frequency[m->n - 1])
        printf("%10.5f ", m->damping[k]);
    else
        printf("%10s ", "-");
    printf(" %s\n", kd_operating_point_moves_most(o, k, most, sizeof most));
}

// Is mode k among the wanted ones, the nearest to the frequency?
static bool is_wanted(const kd_operating_point *o, int k)
{
    const kd_modes *m = o->modes;
    // distance in the complex plane from the frequency on the imaginary axis
    const double omega = 2 * KD_PI * o->near, own = hypot(m->real[k], fabs(m->imaginary[k]) - omega);
    int          nearer = 0;
    if (o->count == 0) return true;
    for (int i = 0; i < m->n; i++)
        if (m->imaginary[i] >= 0 && i != k) {
            const double distance = hypot(m->real[i], m->imaginary[i] - omega);
            if (distance < own || (distance == own && i < k)) nearer++;
        }
    return nearer < o->count;
}

// The wanted ones, both halves of pairs; NULL: no memory
static double *wanted_values(const kd_operating_point *o, kd_modes *wanted)
{
    const kd_modes *m = o->modes;
    double         *room = calloc(4 * (size_t)m->n + 1, sizeof *room);
    *wanted = (kd_modes){0};
    if (!room) return NULL;
    double *real = room, *imaginary = room + m->n, *frequency = room + 2 * m->n, *damping = room + 3 * m->n;
    *wanted = (kd_modes){.real = real, .imaginary = imaginary, .frequency = frequency, .damping = damping};
    for (int k = 0; k < m->n; k++) {
        const bool second = m->imaginary[k] < 0; // behind its other half
        if (!is_wanted(o, second ? k - 1 : k)) continue;
        real[wanted->n] = m->real[k], imaginary[wanted->n] = m->imaginary[k];
        frequency[wanted->n] = m->frequency[k], damping[wanted->n++] = m->damping[k];
    }
    return room;
}

// not at rest the eigenvalues are those of a moment
static void tell_text(const task *t)
{
    const kd_operating_point *o = &t->point;
    const kd_linear          *l = o->linear;
    printf("%s: %s\n", o->subject.name, o->subject.title);
    kd_cli_tell_held(&o->subject);
    if (l && (l->speed > 0 || l->force > 1e-6))
        printf("not at rest: largest velocity %.3g, largest acceleration %.3g; the eigenvalues hold at this moment\n",
               l->speed, l->force);
    if (!l) printf("large model: the modes nearest to %.6g Hz\n", o->near);
    printf("\n  %14s %14s %12s %10s  moves most\n", "real [1/s]", "imag [rad/s]", "[Hz]", "damping");
    for (int k = 0; k < o->modes->n; k++)
        if (o->modes->imaginary[k] >= 0 && is_wanted(o, k)) tell_mode(o, k);
}

// One object: where the equations were linearized, then the modes that were wanted
static void tell_json(const task *t)
{
    kd_json  json = {.file = stdout};
    kd_modes wanted;
    double  *values = wanted_values(&t->point, &wanted);
    kd_json_open(&json, NULL);
    kd_json_text(&json, "model", t->point.request.word);
    if (t->point.subject.rest[0]) kd_json_text(&json, "from_equilibrium", t->point.subject.rest);
    kd_json_number(&json, "t", t->point.subject.x->t);
    if (values) kd_cli_tell_modes(&json, &wanted);
    kd_json_close(&json);
    printf("\n");
    free(values);
}

// Those that are told and swing
static bool draw(const task *t)
{
    const kd_operating_point *o = &t->point;
    int                       list[KD_MODE_PICTURES], count = 0;
    if (!t->output) return true;
    for (int k = 0; k < o->modes->n && count < KD_MODE_PICTURES; k++)
        if (o->modes->imaginary[k] > 0 && is_wanted(o, k)) list[count++] = k;
    return kd_cli_draw_modes(o, list, count, t->scale, t->output, t->json);
}

// table, then pictures if a folder was given
static int tell_one(task *t)
{
    int status;
    if (kd_operating_point_open(&t->point, &status)) {
        if (t->json) {
            tell_json(t);
        } else {
            tell_text(t);
        }
        if (!draw(t)) status = KD_EXIT_FAILED;
    }
    kd_operating_point_close(&t->point);
    return status;
}

int kd_cli_modes(int argc, char **argv)
{
    static task   t; // of this one command; large
    kd_cli_parsed parsed;
    t.point.at = NAN;
    t.point.few = true;
    t.scale = 0.2;
    parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    // a locus needs all eigenvalues
    if (t.vary) t.point.few = false;
    return t.vary ? kd_cli_locus(&t.point, t.vary, t.output, t.scale, t.jobs, t.json) : tell_one(&t);
}
